#include "engine/correction.h"

#include <float.h>
#include <math.h>

#define STEP 0.01 /* least change of a type's believed speed, because all waiting jobs follow it */

void adl_correction_set_gpu(const struct adl_correction *correction, uint32_t gpu, double speed)
{
    if (correction->state->gpu_speed[gpu] != speed)
        adl_state_set_gpu_speed(correction->state, gpu, speed);
}

void adl_correction_set_type(const struct adl_correction *correction, uint32_t type, double speed)
{
    if (fabs(speed / correction->state->type_speed[type] - 1) < (speed == 1 ? DBL_MIN : STEP))
        return;
    adl_state_set_type_speed(correction->state, type, speed);
    adl_belief_set_type_speed(correction->belief, type, speed);
}

static void believe(const struct adl_correction *correction, uint32_t gpu)
{
    const uint32_t type = adl_gpu_type_of(correction->state->cluster, gpu);
    adl_correction_set_gpu(correction, gpu, adl_drift_gpu_factor(correction->drift, gpu));
    adl_correction_set_type(correction, type, adl_drift_type_factor(correction->drift, type));
}

void adl_correction_learn(const struct adl_correction *correction, const struct adl_event *event)
{
    const struct adl_state *state = correction->state;
    if (!correction->drift || !adl_drift_observe(correction->drift, event, state))
        return;
    if (event->kind == ADL_EVENT_TELEMETRY || event->kind == ADL_EVENT_VERSION)
        believe(correction, event->gpu);
    else
        for (uint32_t gpu = state->jobs[event->job].first_gpu; gpu != ADL_NONE;
             gpu = adl_state_next_gpu(state, event->job, gpu))
            believe(correction, gpu);
}

void adl_correction_inherit(struct adl_correction *correction, struct adl_correction *from)
{
    struct adl_drift *mine = correction->drift;
    if (!mine || !from->drift)
        return;
    correction->drift = from->drift;
    from->drift = mine;
    adl_correction_believe(correction);
}

void adl_correction_believe(const struct adl_correction *correction)
{
    for (uint32_t g = 0; correction->drift && g < correction->state->cluster->gpu_count; g++)
        believe(correction, g);
}

void adl_correction_reset(const struct adl_correction *correction)
{
    for (uint32_t t = 0; t < correction->state->cluster->type_count; t++)
        adl_belief_set_type_speed(correction->belief, t, 1);
    if (correction->drift)
        adl_drift_reset(correction->drift);
}
