/* scripted_run: a policy that follows a script, and a run in the simulated world that keeps every event. */
#ifndef ADLRO_TESTS_SCRIPTED_RUN_H
#define ADLRO_TESTS_SCRIPTED_RUN_H

#include "engine/engine.h"
#include "metrics/metrics.h"
#include "sim/world_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Each row waits until its time has come and it can be done; the rows after it wait for it. */
struct script_row {
    double time_s;
    enum { SCRIPT_START, SCRIPT_PREEMPT, SCRIPT_CAP } what;
    uint64_t job; /* id, from 1 in order of submission; of a CAP, the watts */
    uint32_t gpu_count;
    uint32_t gpus[8];
};

struct script {
    const struct script_row *rows;
    uint32_t count;
    uint32_t done;
    int64_t woken_us;
};

/* Policies have no argument of their own: the script of the run that is under way. */
static struct script script_now;

static inline uint32_t script_slot(const struct adl_state *state, uint64_t id)
{
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && state->jobs[slot].spec.id == id)
            return slot;
    return ADL_NONE;
}

static inline bool script_can(const struct script_row *row, const struct adl_state *state, uint32_t slot)
{
    if (row->what == SCRIPT_CAP)
        return true;
    if (slot == ADL_NONE)
        return false;
    for (uint32_t i = 0; i < row->gpu_count; i++)
        if (state->gpus[row->gpus[i]].down)
            return false;
    return state->jobs[slot].phase == (row->what == SCRIPT_START ? ADL_PHASE_PENDING : ADL_PHASE_RUNNING);
}

static inline int script_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    if (script_now.done == script_now.count)
        return 0;
    const struct script_row *row = &script_now.rows[script_now.done];
    const int64_t time_us = (int64_t)(row->time_s * 1e6 + 0.5);
    if (time_us > state->now_us) {
        if (script_now.woken_us == time_us)
            return 0;
        script_now.woken_us = time_us;
        return adl_plan_wake(plan, time_us);
    }
    const uint32_t slot = script_slot(state, row->job);
    if (!script_can(row, state, slot))
        return 0;
    script_now.done++;
    if (row->what == SCRIPT_PREEMPT)
        return adl_plan_preempt(plan, slot);
    uint32_t *gpus = adl_plan_gpus(plan, row->gpu_count);
    assert_non_null(gpus);
    memcpy(gpus, row->gpus, row->gpu_count * sizeof *gpus);
    if (row->what == SCRIPT_START)
        return adl_plan_start(plan, slot, row->gpu_count);
    adl_plan_cap(plan, row->gpu_count, (double)row->job);
    return script_decide(policy, state, plan); /* a plan of caps alone is not followed by another question */
}

static inline int script_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                                uint64_t seed, void **ret_policy, struct adl_error *err)
{
    (void)config, (void)cluster, (void)seed, (void)err;
    *ret_policy = &script_now;
    return 0;
}

static inline void script_destroy(void *policy)
{
    (void)policy;
}

static const struct adl_policy_ops script_policy = {.name = "script",
                                                    .summary = "does what the test wrote down",
                                                    .create = script_create,
                                                    .destroy = script_destroy,
                                                    .decide = script_decide};

struct kept_event {
    struct adl_event event; /* what SUBMIT points to is gone */
    uint64_t id;            /* of the job; 0 = not about one */
};

struct kept_run {
    struct kept_event *events;
    size_t count, capacity;
    struct adl_result result;
    struct adl_engine_counts counts;
};

static inline int keep_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct kept_run *kept = self;
    if (kept->count == kept->capacity) {
        kept->capacity = kept->capacity ? kept->capacity * 2 : 256;
        kept->events = realloc(kept->events, kept->capacity * sizeof *kept->events);
        assert_non_null(kept->events);
    }
    uint64_t id = 0;
    if (event->kind == ADL_EVENT_SUBMIT)
        id = event->submit.spec->id;
    else if (event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT || event->kind == ADL_EVENT_PROGRESS)
        id = state->jobs[event->job].spec.id;
    kept->events[kept->count++] = (struct kept_event){*event, id};
    return 0;
}

#define INSTANTS_MAX 200000u /* no test here needs as many: the world would go on for ever */

/* One run of any policy with all its events; the caller frees events. */
static inline struct kept_run run_kept(const struct adl_scenario *scenario, uint64_t seed,
                                       const struct adl_policy_ops *policy)
{
    struct kept_run kept = {0};
    struct adl_world_sim *world = NULL;
    struct adl_metrics *metrics = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    assert_int_equal(adl_world_sim_create(scenario, seed, ADL_REGIME_DECLARED, &world, &err), 0);
    assert_int_equal(adl_metrics_create(scenario->lambda, &metrics), 0);
    struct adl_engine_config config = {.cluster = &scenario->cluster,
                                       .policy = policy,
                                       .policy_config = scenario->policy,
                                       .seed = seed,
                                       .world_ops = &adl_world_sim_ops,
                                       .world = world,
                                       .taps = {adl_metrics_tap(metrics), {.self = &kept, .event = keep_event}},
                                       .tap_count = 2};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    uint32_t instants = 0;
    int status;
    while ((status = adl_engine_step(engine, &err)) > 0)
        if (++instants == INSTANTS_MAX)
            fail_msg("the world does not end");
    if (status < 0)
        fail_msg("the run failed: %s", err.text);
    adl_metrics_result(metrics, engine, &(struct adl_floor){0}, &kept.result);
    kept.counts = *adl_engine_counts(engine);
    kept.counts.decision_ns = NULL;
    adl_engine_destroy(engine);
    adl_metrics_destroy(metrics);
    adl_world_sim_destroy(world);
    return kept;
}

/* The script must have been followed to its end, with nothing refused. */
static inline struct kept_run run_script(const struct adl_scenario *scenario, uint64_t seed,
                                         const struct script_row *rows, uint32_t count)
{
    script_now = (struct script){.rows = rows, .count = count, .woken_us = -1};
    struct kept_run kept = run_kept(scenario, seed, &script_policy);
    if (kept.counts.refused)
        fail_msg("refused: %s", kept.counts.last_refusal.text);
    assert_int_equal(script_now.done, count);
    return kept;
}

/* The nth (from 0) event of a kind, about this job (0 = any). NULL if there are fewer. */
static inline const struct kept_event *find_event(const struct kept_run *kept, int kind, uint64_t id, uint32_t nth)
{
    for (size_t i = 0; i < kept->count; i++)
        if (kept->events[i].event.kind == kind && (id == 0 || kept->events[i].id == id) && nth-- == 0)
            return &kept->events[i];
    return NULL;
}

static inline uint32_t count_events(const struct kept_run *kept, int kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < kept->count; i++)
        count += kept->events[i].event.kind == kind;
    return count;
}

/* When the job ended; it must have. */
static inline int64_t end_of(const struct kept_run *kept, uint64_t id)
{
    const struct kept_event *end = find_event(kept, ADL_EVENT_FINISH, id, 0);
    assert_non_null(end);
    return end->event.time_us;
}

static inline const struct adl_outcome *outcome_of(const struct kept_run *kept, uint64_t id)
{
    const struct kept_event *end = find_event(kept, ADL_EVENT_FINISH, id, 0);
    assert_non_null(end);
    return &end->event.outcome;
}

#endif
