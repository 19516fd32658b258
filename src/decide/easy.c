/* easy: backfill. Jobs are taken in order of submission; the first `depth` that do not fit are promised the earliest
 * place and time they can have, and a later job may start if it disturbs no promise. Depth 1 is EASY, every job a
 * promise is conservative backfill.
 *
 * Reading taken where the name leaves one open: promises are made anew at each decision; a later job may start if it is
 * believed to end by the promised start, or uses only GPUs that the promise spares; candidates go in queue order. */
#include "decide/forecast.h"
#include "decide/place.h"
#include "decide/policy.h"

#include <stdlib.h>

#define CONSERVATIVE_DEPTH 1024

struct easy {
    struct adl_place place;
    struct adl_forecast *forecast;
    uint32_t depth;
};

static void destroy(void *policy)
{
    struct easy *self = policy;
    if (self)
        adl_forecast_destroy(self->forecast);
    free(self);
}

static int create_depth(uint32_t depth, bool share, const struct adl_cluster *cluster, void **ret_policy,
                        struct adl_error *err)
{
    struct easy *self = calloc(1, sizeof *self);
    if (!self || adl_forecast_create(cluster, depth, &self->forecast)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for backfill with %u promises", depth);
    }
    self->depth = depth;
    self->place = (struct adl_place){.types = UINT32_MAX, .fastest = true, .share = share};
    *ret_policy = self;
    return 0;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    return create_depth(config->backfill_depth, config->share, cluster, ret_policy, err);
}

static int create_conservative(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                               void **ret_policy, struct adl_error *err)
{
    (void)seed;
    return create_depth(CONSERVATIVE_DEPTH, config->share, cluster, ret_policy, err);
}

/* True if some GPUs would take the job were there no promises. */
static bool fits_at_all(const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct adl_place bare = {.types = UINT32_MAX};
    const bool fits = adl_place_start(state, slot, &bare, plan);
    adl_plan_reset(plan);
    return fits;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct easy *self = policy;
    const struct adl_queue *queue = &state->queue;
    adl_forecast_clear(self->forecast);
    self->place.reservation_count = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE;) {
        if (adl_place_start(state, slot, &self->place, plan))
            return 0;
        if (self->place.reservation_count < self->depth && adl_forecast_promise(self->forecast, state, slot)) {
            self->place.reservations = adl_forecast_reservations(self->forecast, &self->place.reservation_count);
            adl_walk_next(queue);
        } else if (fits_at_all(state, slot, plan)) {
            /* Its equals that run no shorter would disturb the same promise. */
            adl_walk_narrow(queue, adl_state_shortest_us(state, slot) - 1);
        } else {
            adl_walk_leave(queue);
        }
    }
    return 0;
}

const struct adl_policy_ops adl_policy_easy = {
    .name = "easy",
    .summary = "EASY backfill: later jobs may overtake if they do not delay the first that waits",
    .track_running = true,
    .create = create,
    .destroy = destroy,
    .decide = decide,
};

const struct adl_policy_ops adl_policy_conservative = {
    .name = "conservative",
    .summary = "conservative backfill: later jobs may overtake if they delay no job before them",
    .track_running = true,
    .create = create_conservative,
    .destroy = destroy,
    .decide = decide,
};
