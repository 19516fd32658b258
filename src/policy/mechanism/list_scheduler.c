#include "policy/mechanism/list_scheduler.h"

#include "policy/mechanism/reason.h"

#include <stdlib.h>

int adl_list_scheduler_create(const struct adl_placement_request *request, enum adl_rule rule, bool first_fit,
                              void **ret_policy, struct adl_error *err)
{
    struct adl_list_scheduler *self = malloc(sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a policy");
    *self =
        (struct adl_list_scheduler){.request = *request, .rule = rule, .first_fit = first_fit, .blocked_job = ADL_NONE};
    *ret_policy = self;
    return 0;
}

int adl_list_scheduler_copy(void *policy, const void *from)
{
    *(struct adl_list_scheduler *)policy = *(const struct adl_list_scheduler *)from;
    return 0;
}

static bool start(const struct adl_list_scheduler *self, const struct adl_state *state, uint32_t slot,
                  struct adl_plan *plan)
{
    if (!adl_placement_start(state, slot, &self->request, plan))
        return false;
    if (!plan->reasons_unread)
        adl_plan_because(plan, adl_reason_ranked(state, &state->queue, slot, self->rule));
    return true;
}

/* If one job of a lane does not fit, none does, so each lane is tried at most once. */
static void start_first_that_fits(struct adl_list_scheduler *self, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    uint32_t free_gpus = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        free_gpus += state->pool.free_gpus[t];
    if (free_gpus == 0 && !self->request.share)
        return;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE; adl_walk_leave(queue))
        if ((self->request.share || adl_fit_room(state, slot)) && start(self, state, slot, plan))
            return;
}

int adl_list_scheduler_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_list_scheduler *self = policy;
    if (self->first_fit) {
        start_first_that_fits(self, state, plan);
        return 0;
    }
    const uint32_t head = adl_queue_head(&state->queue);
    if (head == ADL_NONE || (head == self->blocked_job && state->releases == self->blocked_releases))
        return 0;
    if (!start(self, state, head, plan)) {
        self->blocked_job = head;
        self->blocked_releases = state->releases;
    }
    return 0;
}
