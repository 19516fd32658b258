/* engine_adopt: an engine takes over the state of one with another policy or fewer nodes, or what it has learned, and a
 * waiting job changes. */
#include "engine/engine_internal.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a job has done before, from where it was. */
static void take_past(struct adl_job *to, const struct adl_job *from)
{
    to->submit_us = from->submit_us;
    to->attained_us = from->attained_us;
    to->remaining = from->remaining;
    to->attempts = from->attempts;
    to->reports = from->reports;
}

/* A job that waited before joins the queue, with these run times [type], in one node and across nodes. */
static int take_waiting(struct adl_engine *to, uint32_t slot, const struct adl_job_spec *spec,
                        const struct adl_job *past, const int64_t *best_us, const int64_t *across_us)
{
    struct adl_event event = {.time_us = to->state->now_us, .kind = ADL_EVENT_SUBMIT, .job = slot, .gpu = ADL_NONE};
    event.submit.spec = spec;
    event.submit.since_us = past->submit_us;
    if (to->config.policy->observe)
        to->config.policy->observe(to->policy, &event, to->state);
    if (adl_state_admit(to->state, slot, spec, best_us))
        return ADL_ENOMEM;
    adl_state_set_spanning(to->state, slot, across_us);
    take_past(&to->state->jobs[slot], past);
    to->state->jobs[slot].attempts = 0; /* the policy sees it for the first time */
    const int status = adl_engine_enqueue(to, slot);
    to->state->jobs[slot].attempts = past->attempts;
    return status;
}

static void take_running(struct adl_engine *to, const struct adl_state *from, uint32_t slot, uint32_t *gpus)
{
    const struct adl_job *job = &from->jobs[slot];
    uint32_t count = 0;
    for (uint32_t g = job->first_gpu; g != ADL_NONE; g = adl_state_next_gpu(from, slot, g))
        gpus[count++] = g;
    assert(count == job->spec.gpus);
    adl_state_start(to->state, slot, gpus);
    adl_state_began(to->state, slot, job->start_us);
    to->state->jobs[slot].attempts = job->attempts;
    if (job->phase != ADL_PHASE_STOPPING)
        return;
    adl_state_stopping(to->state, slot);
    to->state->jobs[slot].stop_us = job->stop_us;
}

static void take_gpus(struct adl_state *to, const struct adl_state *from)
{
    for (uint32_t g = 0; g < from->cluster->gpu_count; g++) {
        to->telemetry[g] = from->telemetry[g];
        to->telemetry_us[g] = from->telemetry_us[g];
        if (from->gpus[g].down)
            adl_state_gpu_down(to, g);
        if (from->gpus[g].cap_w > 0)
            adl_state_cap(to, &g, 1, from->gpus[g].cap_w);
    }
}

static void take_speeds(struct adl_state *to, const struct adl_state *from)
{
    for (uint32_t t = 0; t < from->cluster->type_count; t++)
        if (from->type_speed[t] != 1)
            adl_state_set_type_speed(to, t, from->type_speed[t]);
    for (uint32_t g = 0; g < from->cluster->gpu_count; g++)
        if (from->gpu_speed[g] != 1)
            adl_state_set_gpu_speed(to, g, from->gpu_speed[g]);
}

/* In order of submission. */
struct taken {
    int64_t submit_us;
    uint32_t slot;
};

static int compare_taken(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    if (x->submit_us != y->submit_us)
        return x->submit_us < y->submit_us ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static uint32_t list_jobs(const struct adl_state *state, struct taken *ret)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE)
            ret[count++] = (struct taken){state->jobs[slot].submit_us, slot};
    qsort(ret, count, sizeof *ret, compare_taken);
    return count;
}

static int take_jobs(struct adl_engine *to, const struct adl_state *from, struct taken *taken, uint32_t *gpus)
{
    const uint32_t count = list_jobs(from, taken);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t slot = taken[i].slot;
        const size_t row = (size_t)slot * from->cluster->type_count;
        const struct adl_job *job = &from->jobs[slot];
        if (take_waiting(to, slot, &job->spec, job, &from->runtime_us[row], &from->spanning_us[row]))
            return ADL_ENOMEM;
        if (job->phase != ADL_PHASE_PENDING)
            take_running(to, from, slot, gpus);
    }
    return 0;
}

/* All but what the policy has learned is forgotten. */
static int begin_again(struct adl_engine *engine, struct adl_error *err)
{
    void *policy;
    const struct adl_policy_ops *ops = engine->config.policy;
    const int status = adl_policy_create(ops, &engine->config.policy_config, engine->config.cluster,
                                         engine->config.seed, &policy, err);
    if (status)
        return status;
    if (ops->inherit)
        ops->inherit(policy, engine->policy);
    ops->destroy(engine->policy);
    engine->policy = policy;
    adl_state_reset(engine->state);
    engine->counts = (struct adl_engine_counts){.plan_hash = adl_hash_start(), .decision_ns = engine->decision_ns};
    engine->preempted_us = 0;
    engine->preempted_count = engine->wake_count = 0;
    engine->observer_failed = false;
    return 0;
}

int adl_engine_adopt(struct adl_engine *to, const struct adl_engine *from, struct adl_error *err)
{
    const struct adl_state *state = from->state;
    assert(to->config.learned == from->config.learned && to->config.cluster->type_count == state->cluster->type_count &&
           to->config.cluster->gpu_count >= state->cluster->gpu_count);
    assert(to->config.ignore_drift || (from->correction.drift && to->config.cluster == from->config.cluster));
    if (begin_again(to, err))
        return ADL_EINVAL;
    struct taken *taken = malloc((state->job_capacity + 1) * sizeof *taken);
    uint32_t *gpus = malloc(((size_t)state->cluster->gpu_count + 1) * sizeof *gpus);
    int status = taken && gpus ? 0 : ADL_ENOMEM;
    if (status == 0)
        status = adl_belief_copy(to->belief, from->belief);
    if (status == 0) {
        if (to->correction.drift)
            adl_drift_copy(to->correction.drift, from->correction.drift);
        to->state->now_us = state->now_us;
        take_speeds(to->state, state);
        status = take_jobs(to, state, taken, gpus);
    }
    if (status == 0)
        take_gpus(to->state, state);
    free(taken);
    free(gpus);
    return status ? adl_fail(err, status, "out of memory for the state of another engine") : 0;
}

int adl_engine_change_job(struct adl_engine *engine, uint32_t slot, const struct adl_job_spec *spec,
                          struct adl_error *err)
{
    const struct adl_job before = engine->state->jobs[slot];
    const double done_us = adl_belief_done_us(engine->belief, engine->state, slot);
    const size_t row = (size_t)slot * engine->config.cluster->type_count;
    const size_t size = engine->config.cluster->type_count * sizeof *engine->state->runtime_us;
    struct adl_runtimes times;
    const char *why = NULL;
    assert(before.phase == ADL_PHASE_PENDING);
    if (!adl_demand_possible(engine->config.cluster, spec, &why))
        return adl_fail(err, ADL_EINVAL, "it can never run: %s", why);
    memcpy(times.best_us, &engine->state->runtime_us[row], size);
    memcpy(times.across_us, &engine->state->spanning_us[row], size);
    struct adl_event gone = {
        .time_us = engine->state->now_us, .kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE, .more = true};
    gone.outcome.end = ADL_END_CANCELLED;
    const int status = adl_engine_tell(engine, &gone, err);
    if (status)
        return status;
    adl_belief_change(engine->belief, slot, &before.spec, spec, engine->state->now_us, &times);
    adl_belief_set_done(engine->belief, slot, done_us);
    if (take_waiting(engine, slot, spec, &before, times.best_us, times.across_us))
        return adl_fail(err, ADL_ENOMEM, "out of memory for job %llu", (unsigned long long)spec->id);
    if (engine->state->jobs[slot].eligible == 0)
        return adl_fail(err, ADL_EINVAL, "it can never run: its run time is unknown on every type it accepts");
    return 0;
}

/* ---- what was learned ---- */

/* Passes what a policy has learned to the present one if it is of the same kind, else keeps it for later. */
static void take_learner(struct adl_engine *engine, struct adl_former_policy learner)
{
    int i = 0;
    if (learner.ops == engine->config.policy) {
        learner.ops->inherit(engine->policy, learner.policy);
        learner.ops->destroy(learner.policy);
        return;
    }
    while (engine->learners[i].ops && i + 1 < LEARNERS_MAX)
        i++;
    assert(!engine->learners[i].ops);
    engine->learners[i] = learner;
}

void adl_engine_inherit(struct adl_engine *engine, struct adl_engine *from)
{
    assert(engine->config.cluster == from->config.cluster);
    adl_belief_inherit(engine->belief, from->belief);
    adl_correction_inherit(&engine->correction, &from->correction);
    for (int i = 0; i < LEARNERS_MAX; i++)
        if (from->learners[i].ops)
            take_learner(engine, from->learners[i]);
    memset(from->learners, 0, sizeof from->learners);
    if (from->config.policy->inherit) {
        take_learner(engine, (struct adl_former_policy){from->config.policy, from->policy});
        from->policy = NULL;
    }
}
