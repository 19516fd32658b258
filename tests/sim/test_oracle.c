/* Regime oracle is the truth: every class and gang of the shipped scenarios, alone on every type and placement, takes
 * as long as the policy was told. */
#include "experiment/run.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DRAWN 4000 /* jobs in which every class and gang occurs */
#define GPUS  ADL_JOB_GPUS_MAX

/* Policies have no argument of their own: where the one job of the run starts, and what came of it. */
static struct {
    uint32_t gpus[GPUS];
    const struct adl_true_job *truth;
    bool given;
    int64_t told_us, expected_us, took_us; /* for the type; for the placement; in truth */
} now;

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed, void **ret,
                  struct adl_error *err)
{
    (void)config, (void)cluster, (void)seed, (void)err;
    *ret = &now;
    return 0;
}

static void destroy(void *policy)
{
    (void)policy;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *ret)
{
    (void)policy;
    const struct adl_job *job = &state->jobs[0];
    if (state->job_capacity == 0 || job->phase != ADL_PHASE_PENDING)
        return 0;
    memcpy(adl_plan_gpus(ret, job->spec.gpus), now.gpus, job->spec.gpus * sizeof *now.gpus);
    adl_plan_start(ret, 0, job->spec.gpus);
    adl_plan_because(ret, (struct adl_reason){.rule = ADL_RULE_FIRST, .other = ADL_NONE});
    return 0;
}

static const struct adl_policy_ops start_there = {
    .name = "start-there", .create = create, .destroy = destroy, .decide = decide};

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)self;
    if (event->kind != ADL_EVENT_FINISH)
        return 0;
    const struct adl_job *job = &state->jobs[event->job];
    now.told_us = adl_state_runtime(state, event->job, job->type);
    now.expected_us = job->expected_us - job->start_us;
    now.took_us = event->time_us - job->start_us;
    return 0;
}

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)self, (void)err;
    if (now.given)
        return 0;
    *ret = *now.truth;
    ret->submit_us = 0;
    return now.given = true;
}

static int open_job(void *self, uint64_t seed, struct adl_job_source *ret, struct adl_error *err)
{
    (void)seed, (void)err;
    now.given = false;
    *ret = (struct adl_job_source){.self = self, .next = next_job, .close = destroy};
    return 0;
}

/* GPUs of the type for the job: all in one node, or across nodes. False if there is no such placement. */
static bool place(const struct adl_cluster *cluster, const struct adl_job_spec *spec, uint32_t type, bool across)
{
    uint32_t count = 0, banks = 0;
    for (uint32_t b = 0; b < cluster->bank_count && count < spec->gpus; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        const uint32_t usable = bank->type == type ? adl_bank_usable_gpus(cluster, bank, spec) : 0;
        if (usable == 0 || (!across && usable < spec->gpus))
            continue;
        const uint32_t most = across && banks == 0 ? spec->gpus - 1u : spec->gpus; /* leave one for another node */
        banks++;
        for (uint32_t i = 0; i < usable && count < most; i++)
            now.gpus[count++] = bank->gpu_first + i;
    }
    return count == spec->gpus && (banks > 1) == across;
}

/* Compares what was told of one type with all its placements; returns how many there are. */
static uint32_t check_type(const struct adl_scenario *scenario, uint32_t type)
{
    const struct adl_job_spec *spec = &now.truth->spec;
    const struct adl_job_supply supply = {&now, open_job};
    const struct adl_observer observer = {.self = &now, .event = on_event};
    const struct adl_run run = {.scenario = scenario,
                                .policy = &start_there,
                                .regime = ADL_REGIME_ORACLE,
                                .supply = &supply,
                                .observer = &observer};
    int64_t least_us = INT64_MAX, told_us = 0;
    uint32_t placements = 0;
    for (int across = 0; across < (spec->flags & ADL_JOB_SPAN ? 2 : 1); across++) {
        struct adl_result result;
        struct adl_error err = {.text = ""};
        if (!place(&scenario->cluster, spec, type, across))
            continue;
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        assert_int_equal(result.jobs, 1);
        if (llabs(now.expected_us - now.took_us) > 1)
            fail_msg("%s: class %u with %u GPUs of type %u%s: told %lld us, took %lld", scenario->name,
                     spec->class_index, spec->gpus, type, across ? ", across nodes" : "", (long long)now.expected_us,
                     (long long)now.took_us);
        least_us = now.took_us < least_us ? now.took_us : least_us;
        told_us = now.told_us;
        placements++;
    }
    if (placements > 0 && llabs(told_us - least_us) > 1)
        fail_msg("%s: class %u with %u GPUs: told %lld us of type %u before a placement is chosen, its best takes %lld",
                 scenario->name, spec->class_index, spec->gpus, (long long)told_us, type, (long long)least_us);
    return placements;
}

/* The first of each class and gang; returns placements seen. */
static uint32_t check_scenario(const char *path)
{
    struct adl_scenario scenario;
    struct adl_workload_stream stream;
    struct adl_true_job truth;
    struct adl_error err = {.text = ""};
    uint32_t placements = 0;
    if (adl_scenario_load(path, &scenario, NULL, &err))
        fail_msg("%s", err.text);
    scenario.faults = (struct adl_faults){0};
    scenario.drift = (struct adl_drift_model){.wear_floor = 1};
    scenario.kill_at_limit = false;
    assert_int_equal(adl_workload_begin(&stream, &scenario, 1), 0);
    bool *seen = calloc((size_t)scenario.class_count * (GPUS + 1), sizeof *seen);
    assert_non_null(seen);
    for (int i = 0; i < DRAWN && adl_workload_next(&stream, &truth); i++) {
        bool *it = &seen[(size_t)truth.spec.class_index * (GPUS + 1) + truth.spec.gpus];
        now.truth = &truth;
        for (uint32_t t = 0; !*it && t < scenario.cluster.type_count; t++)
            if (truth.spec.types >> t & 1 && truth.runtime_us[t] > 0)
                placements += check_type(&scenario, t);
        *it = true;
    }
    free(seen);
    adl_workload_end(&stream);
    adl_scenario_clear(&scenario);
    return placements;
}

static void oracle_tells_how_long_every_gang_takes_on_every_type_and_placement(void **unused)
{
    (void)unused;
    static const char *const names[] = {"paper16", "paper16p", "surge16", "mixed64", "wear64", "campus512"};
    uint32_t placements = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, ADL_SOURCE_DIR "/scenarios/%s.yaml", names[i]);
        placements += check_scenario(path);
    }
    print_message("%u placements\n", placements);
    assert_true(placements > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_tells_how_long_every_gang_takes_on_every_type_and_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
