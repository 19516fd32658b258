/* engine_copy: an engine becomes equal to another, for a world of its own. */
#include "engine/engine_internal.h"

#include <assert.h>
#include <string.h>

static int copy_parts(struct adl_engine *to, const struct adl_engine *from)
{
    if (adl_state_copy(to->state, from->state) || adl_belief_copy(to->belief, from->belief) ||
        from->config.policy->copy(to->policy, from->policy))
        return ADL_ENOMEM;
    if (from->correction.drift)
        adl_drift_copy(to->correction.drift, from->correction.drift);
    return 0;
}

int adl_engine_copy(struct adl_engine *to, const struct adl_engine *from, struct adl_error *err)
{
    const struct adl_policy_ops *ops = from->config.policy;
    assert(to->config.policy == ops && to->config.learned == from->config.learned &&
           to->config.ignore_drift == from->config.ignore_drift);
    if (!ops->copy)
        return adl_fail(err, ADL_EINVAL, "policy %s cannot be copied; one that defines copy() can", ops->name);
    if (copy_parts(to, from))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a copy of the engine");
    const float *decision_ns = to->counts.decision_ns;
    to->counts = from->counts;
    to->counts.decision_ns = decision_ns;
    to->counts.decision_count = 0;
    to->instant_hash = from->instant_hash;
    memcpy(to->wakes_us, from->wakes_us, sizeof to->wakes_us);
    to->wake_count = from->wake_count;
    to->preempted_us = from->preempted_us;
    to->preempted_count = from->preempted_count;
    to->observer_failed = from->observer_failed;
    return 0;
}

void adl_engine_set_now(struct adl_engine *engine, int64_t now_us)
{
    if (now_us > engine->state->now_us)
        engine->state->now_us = now_us;
}

const struct adl_engine_config *adl_engine_config(const struct adl_engine *engine)
{
    return &engine->config;
}

uint32_t adl_engine_wakes(const struct adl_engine *engine, int64_t ret_us[ADL_WAKES_MAX])
{
    const uint32_t known = engine->wake_count < ADL_WAKES_MAX ? engine->wake_count : ADL_WAKES_MAX;
    uint32_t count = 0;
    for (uint32_t i = 0; i < known; i++)
        if (engine->wakes_us[i] > engine->state->now_us)
            ret_us[count++] = engine->wakes_us[i];
    return count;
}
