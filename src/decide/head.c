#include "decide/head.h"

#include <stdlib.h>

int adl_head_create(const struct adl_place *place, void **ret_policy, struct adl_error *err)
{
    struct adl_head *self = malloc(sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a policy");
    *self = (struct adl_head){.place = *place, .blocked_job = ADL_NONE};
    *ret_policy = self;
    return 0;
}

int adl_head_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_head *self = policy;
    const uint32_t head = adl_queue_head(&state->queue);
    if (head == ADL_NONE || (head == self->blocked_job && state->releases == self->blocked_releases))
        return 0;
    if (!adl_place_start(state, head, &self->place, plan)) {
        self->blocked_job = head;
        self->blocked_releases = state->releases;
    }
    return 0;
}
