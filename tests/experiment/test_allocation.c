/* Tests of memory: decisions allocate nothing, and an allocation refused anywhere is reported and leaks
 * nothing.
 *
 * Needs the linker's --wrap for malloc, calloc, realloc, aligned_alloc and free (tests/experiment/allocation.cmake);
 * libraries are not wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "settings.h"

#include "engine/engine.h"
#include "estimates_fixture.h"
#include "experiment/comparison.h"
#include "experiment/run.h"
#include "metrics/metrics.h"
#include "nn/adam.h"
#include "nn/model_file.h"
#include "nn/onnx.h"
#include "nn_fixture.h"
#include "rl/environment.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"
#include "solve/allotment.h"

/* ---- the allocator in between ---- */

static uint64_t allocations; /* asked for so far */
static int64_t live;         /* given out and not given back */
static uint64_t refuse_at;   /* the allocation that fails; 0 = none */

/* NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's */
/* Weak, so that without --wrap it is a test that fails and not the build. */
void *__real_malloc(size_t size) __attribute__((weak));
void *__real_calloc(size_t count, size_t size) __attribute__((weak));
void *__real_realloc(void *old, size_t size) __attribute__((weak));
void *__real_aligned_alloc(size_t alignment, size_t size) __attribute__((weak));
void __real_free(void *memory) __attribute__((weak));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return ++allocations == refuse_at ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return ++allocations == refuse_at ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (++allocations == refuse_at)
        return NULL;
    void *memory = __real_realloc(old, size);
    live += memory && !old;
    return memory;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return ++allocations == refuse_at ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void the_linker_hands_allocations_to_this_test(void **state)
{
    (void)state;
    const uint64_t before = allocations;
    void *volatile memory = malloc(10);
    assert_non_null(memory);
    assert_int_equal(allocations, before + 1);
    void *volatile larger = realloc(memory, 20);
    assert_non_null(larger);
    assert_int_equal(allocations, before + 2);
    assert_int_equal(live, 1);
    free(larger);
    assert_int_equal(live, 0);
}

/* ---- no allocation in decisions ---- */

static const struct adl_policy_ops *watched;
static uint64_t decisions, allocated_in_decide;

static int watched_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const uint64_t before = allocations;
    const int status = watched->decide(policy, state, plan);
    allocated_in_decide += allocations - before;
    decisions++;
    return status;
}

static void load(const char *file, struct adl_scenario *ret)
{
    char path[400];
    struct adl_error err = {.text = ""};
    assert_true(snprintf(path, sizeof path, "%s/scenarios/%s", ADL_SOURCE_DIR, file) < (int)sizeof path);
    if (adl_scenario_load(path, ret, NULL, &err))
        fail_msg("%s", err.text);
}

static int note_submission(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    *(uint64_t *)self += event->kind == ADL_EVENT_SUBMIT;
    return 0;
}

/* One run of a policy, watched: what its decisions allocate, and how often a step allocates though no more
 * jobs are live than there were before and warm_up jobs have come. */
static uint64_t run_watched(const struct adl_scenario *scenario, const struct adl_policy_ops *policy, uint64_t warm_up)
{
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    struct adl_policy_ops ops = *policy;
    uint64_t needless = 0, most_live = 0, submitted = 0;
    watched = policy;
    ops.decide = watched_decide;
    decisions = allocated_in_decide = 0;
    assert_int_equal(adl_world_sim_create(scenario, 1, ADL_REGIME_LEARNED, &world, &err), 0);
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = &ops,
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = 1,
                                             .learned = true, /* learning may not allocate either */
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &submitted, .event = note_submission}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    for (int status = 1; status > 0;) {
        const uint64_t before = allocations;
        status = adl_engine_step(engine, &err);
        assert_true(status >= 0);
        const struct adl_state *state = adl_engine_state(engine);
        const uint64_t live_jobs = (uint64_t)state->queue.count + state->running_jobs;
        if (submitted >= warm_up && live_jobs <= most_live)
            needless += allocations - before;
        most_live = live_jobs > most_live ? live_jobs : most_live;
    }
    assert_true(decisions > scenario->workload.jobs);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return needless;
}

static void no_policy_allocates_in_a_decision(void **state)
{
    (void)state;
    struct adl_scenario scenario;
    load("paper16.yaml", &scenario);
    set_flag(&scenario, "greedy", true); /* the exact solver is another's code */
    for (int share = 0; share < 2; share++)
        for (uint32_t p = 0; p < adl_policy_count(); p++) {
            set_flag(&scenario, "share", share);
            run_watched(&scenario, adl_policy_at(p), 0);
            if (allocated_in_decide)
                fail_msg("%s allocated %llu times in %llu decisions", adl_policy_at(p)->name,
                         (unsigned long long)allocated_in_decide, (unsigned long long)decisions);
        }
    adl_scenario_clear(&scenario);
}

/* Tables double when more jobs are live than ever before; nothing else may ask for memory once the run is
 * under way. */
static void a_warm_engine_allocates_only_for_more_live_jobs_than_ever(void **state)
{
    (void)state;
    struct adl_scenario scenario;
    load("paper16.yaml", &scenario);
    assert_int_equal(scenario.workload.jobs, 256);
    set_flag(&scenario, "greedy", true);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const uint64_t needless = run_watched(&scenario, adl_policy_at(p), 200);
        if (needless)
            fail_msg("%s: %llu allocations after 200 jobs", adl_policy_at(p)->name, (unsigned long long)needless);
    }
    adl_scenario_clear(&scenario);
}

/* ---- environments ---- */

/* Several episodes at random in two environments: nothing is asked for. */
static void play_watched(const struct adl_scenario *scenario, int observation)
{
    struct adlro_environment *env = NULL;
    struct adlro_shape shape;
    struct adlro_buffers shown;
    struct adl_result result;
    struct adl_error err;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "actions");
    assert_int_equal(adl_environment_create(scenario,
                                            &(struct adlro_config){.count = 2, .observation = observation, .tail = 0.3},
                                            &env, &err),
                     0);
    adlro_shape(env, &shape, sizeof shape);
    assert_int_equal(adl_buffers_create(&shape, &shown), 0);
    const uint64_t before = allocations;
    uint64_t steps = 0, evictions = 0;
    for (uint32_t episode = 0; episode < 12; episode++) {
        const uint32_t i = episode % 2;
        assert_int_equal(adlro_reset(env, i, episode, &shown, NULL), 0);
        for (; !shown.done[i]; steps++) {
            const int32_t action = (int32_t)adl_rng_below(&rng, (uint32_t)shown.action_count[i]);
            assert_int_equal(adlro_step_one(env, i, action, &shown, NULL), 0);
            if (steps % 7 == 0)
                assert_int_equal(adlro_restore(env, 1 - i, env, i, &shown, NULL), 0);
        }
        adl_environment_result(env, i, &result);
        assert_int_equal(result.jobs, scenario->workload.jobs);
        evictions += result.evictions;
    }
    if (allocations != before)
        fail_msg("%s: %llu allocations in %llu steps", scenario->name, (unsigned long long)(allocations - before),
                 (unsigned long long)steps);
    assert_true(steps > 50 && (scenario->faults.gpu_mtbf_h == 0 || evictions > 0));
    adl_buffers_clear(&shown);
    adlro_destroy(env);
}

static void an_environment_allocates_nothing_after_it_was_created(void **state)
{
    (void)state;
    static const char *const files[] = {"paper16.yaml", "wear64.yaml", "mixed64.yaml"};
    for (int i = 0; i < 3; i++) {
        struct adl_scenario scenario;
        load(files[i], &scenario);
        if (i > 0) {
            scenario.workload.jobs = 200;
            scenario.faults.gpu_mtbf_h = scenario.faults.node_mtbf_h = 20;
            scenario.telemetry.interval_s = 30;
        }
        play_watched(&scenario, ADLRO_OBSERVATION_ALL);
        play_watched(&scenario, ADLRO_OBSERVATION_PAPER);
        play_watched(&scenario, ADLRO_OBSERVATION_PLAIN);
        adl_scenario_clear(&scenario);
    }
}

/* ---- refused allocations ---- */

/* Preemptible, sharing, failing, drifting and measured, so that every part of the simulator asks for memory. */
static int make_eventful(struct adl_scenario *scenario, struct adl_error *err)
{
    scenario->workload.jobs = 24;
    for (uint32_t i = 0; i < scenario->workload.mix_count; i++)
        scenario->workload.mix[i].flags = ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN;
    if (adl_scenario_add_setting(scenario, "share", "true"))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a setting");
    scenario->faults =
        (struct adl_faults){.gpu_mtbf_h = 0.05, .gpu_repair_h = 0.01, .node_mtbf_h = 0.1, .node_repair_h = 0.01};
    scenario->drift.throttle_share = 0.5;
    scenario->drift.throttle_factor = 0.8;
    scenario->drift.throttle_period_s = 10;
    scenario->drift.wear_per_kh = 0.01;
    scenario->drift.wear_floor = 0.5;
    scenario->telemetry.interval_s = 20;
    return 0;
}

/* Loads, runs and compares; a failure must be ADL_ENOMEM, say so, and leave the results alone. */
static int load_and_compare(struct adl_error *err)
{
    static const char path[] = ADL_SOURCE_DIR "/scenarios/paper16.yaml";
    const struct adl_policy_ops *policies[16];
    const uint32_t policy_count = adl_policy_count() < 16 ? adl_policy_count() : 16;
    for (uint32_t p = 0; p < policy_count; p++)
        policies[p] = adl_policy_at(p);
    struct adl_scenario scenario, untouched_scenario;
    struct adl_comparison comparison, untouched_comparison;
    memset(&scenario, 0x5a, sizeof scenario);
    memset(&comparison, 0x5a, sizeof comparison);
    memcpy(&untouched_scenario, &scenario, sizeof scenario);
    memcpy(&untouched_comparison, &comparison, sizeof comparison);
    int status = adl_scenario_load(path, &scenario, NULL, err);
    if (status) {
        assert_memory_equal(&scenario, &untouched_scenario, sizeof scenario);
        return status;
    }
    status = make_eventful(&scenario, err);
    if (status) {
        adl_scenario_clear(&scenario);
        return status;
    }
    const struct adl_comparison_request request = {.scenario = &scenario,
                                                   .policies = policies,
                                                   .policy_count = policy_count,
                                                   .first_seed = 1,
                                                   .seed_count = 2,
                                                   .regime = ADL_REGIME_LEARNED,
                                                   .threads = 1,
                                                   .timelines = true};
    status = adl_comparison_run(&request, &comparison, err);
    if (status)
        assert_memory_equal(&comparison, &untouched_comparison, sizeof comparison);
    else
        adl_comparison_clear(&comparison);
    adl_scenario_clear(&scenario);
    return status;
}

static void a_refused_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    struct adl_error err = {.text = ""};
    const int64_t live_before = live;
    const uint64_t first = allocations;
    if (load_and_compare(&err))
        fail_msg("with all memory there is: %s", err.text);
    assert_int_equal(live, live_before);
    const uint64_t total = allocations - first;
    uint64_t reported = 0, tried = 0;
    /* Every place early on, where much different code follows; later the same tables grow for policy after
     * policy. */
    for (uint64_t k = 1; k <= total; k += k < 300 ? 1 : 1 + total / 200) {
        err = (struct adl_error){.text = ""};
        refuse_at = allocations + k;
        const int status = load_and_compare(&err);
        refuse_at = 0;
        if (status && status != ADL_ENOMEM)
            fail_msg("allocation %llu of %llu refused: status %d, %s", (unsigned long long)k, (unsigned long long)total,
                     status, err.text);
        if (status && !err.text[0])
            fail_msg("allocation %llu of %llu refused: no text says so", (unsigned long long)k,
                     (unsigned long long)total);
        if (live != live_before)
            fail_msg("allocation %llu of %llu refused: %lld pieces leaked", (unsigned long long)k,
                     (unsigned long long)total, (long long)(live - live_before));
        reported += status != 0;
        tried++;
    }
    /* Some may be done without, but not most. */
    assert_true(tried > 50 && reported > tried / 2);
}

/* ---- networks ---- */

static const struct adl_qnet_shape networks[] = {{ADL_QNET_SHARED, 3, 2, 4, 16, 16, 0},
                                                 {ADL_QNET_PAPER, 1, 2, 0, 16, 16, 5}};

static void a_network_at_work_allocates_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct adl_qnet net;
        struct adl_qnet_workspace *workspace = NULL;
        struct adl_adam *adam = NULL;
        struct nn_sample sample;
        struct adl_rng rng;
        struct adl_error err;
        adl_rng_seed(&rng, 1, "allocation");
        assert_int_equal(adl_qnet_make(&networks[i], adl_kernels_choose(true), &net, &err), 0);
        assert_int_equal(adl_qnet_workspace_create(&net, &(struct adl_qnet_limits){4, 24, 24}, &workspace, &err), 0);
        assert_int_equal(adl_adam_create(&(struct adl_adam_config){0}, net.parameter_count, &adam, &err), 0);
        nn_sample_make(&rng, &networks[i], 4, 6, 6, &sample);
        float *params = random_numbers(&rng, net.parameter_count), *grads = nn_numbers(net.parameter_count);
        float q[24], dq[24] = {0};
        const uint64_t before = allocations;
        adl_qnet_forward(&net, params, &sample.batch, workspace, q);
        adl_huber(sample.action_offset[4], q, dq, NULL, 1, dq);
        adl_qnet_backward(&net, params, &sample.batch, workspace, dq, grads);
        adl_adam_step(adam, net.kernels, 1e-3, grads, params);
        assert_int_equal(allocations, before);
        nn_sample_clear(&sample);
        free(params), free(grads);
        adl_adam_destroy(adam);
        adl_qnet_workspace_destroy(workspace);
    }
}

/* Everything of a model that allocates, once; negative if memory lacked. */
static int encode_and_decode(const struct adl_model *model)
{
    struct adl_text bytes = {0}, onnx = {0};
    struct adl_model again = {.block = NULL};
    struct adl_qnet net;
    struct adl_qnet_workspace *workspace = NULL;
    struct adl_adam *adam = NULL;
    struct adl_error err;
    int status = adl_model_encode(model, &bytes, &err);
    if (!status)
        status = adl_model_decode(bytes.data, bytes.size, 0, &again, &err);
    if (!status)
        status = adl_qnet_make(&again.shape, adl_kernels_choose(true), &net, &err);
    if (!status)
        status = adl_qnet_workspace_create(&net, &(struct adl_qnet_limits){1, 5, 5}, &workspace, &err);
    if (!status)
        status = adl_adam_create(&(struct adl_adam_config){0}, net.parameter_count, &adam, &err);
    if (!status)
        status = adl_onnx_write(&net, again.params, &onnx, &err);
    adl_adam_destroy(adam);
    adl_qnet_workspace_destroy(workspace);
    adl_model_clear(&again);
    adl_text_clear(&bytes);
    adl_text_clear(&onnx);
    return status;
}

static void a_model_reports_refused_allocations_and_leaks_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct adl_qnet net;
        struct adl_error err;
        assert_int_equal(adl_qnet_make(&networks[i], adl_kernels_choose(true), &net, &err), 0);
        float *params = nn_numbers(net.parameter_count);
        struct adl_model model = {
            .shape = networks[i], .params = params, .parameter_count = net.parameter_count, .section_count = 0};
        adl_model_section_add(&model, ADL_MODEL_SCORES, "x", 1);
        const int64_t live_before = live;
        int status = ADL_ENOMEM;
        uint64_t refused = 0;
        while (status == ADL_ENOMEM) {
            refuse_at = allocations + ++refused;
            status = encode_and_decode(&model);
            refuse_at = 0;
            assert_true(status == 0 || status == ADL_ENOMEM);
            assert_int_equal(live, live_before);
        }
        assert_true(refused > 20);
        free(params);
    }
}

/* ---- allotments ---- */

#define GROUPS 12
#define POOLS  3
#define OFFERS (GROUPS * POOLS + GROUPS * GROUPS)

/* Alone on every pool, and every pair on one; more jobs than GPUs. */
static struct adl_allotment_answer allot(struct adl_allotment *allotment, uint32_t nodes)
{
    static struct adl_offer offers[OFFERS];
    static uint32_t times[OFFERS];
    uint32_t jobs[GROUPS], count = 0;
    const uint32_t gpus[POOLS] = {7, 9, 5};
    double wait[GROUPS];
    for (uint32_t g = 0; g < GROUPS; g++) {
        jobs[g] = 2 + g % 3;
        wait[g] = 9 + g % 5;
        for (uint32_t p = 0; p < POOLS; p++)
            offers[count++] = (struct adl_offer){.group = {g, ADL_NONE},
                                                 .pool = p,
                                                 .gpus = 1 + (g + p) % 2,
                                                 .cost = (g * 7 + p * 5) % 8,
                                                 .power_w = 200};
        for (uint32_t h = 0; h < GROUPS; h++)
            offers[count++] = (struct adl_offer){
                .group = {g, h}, .pool = (g + h) % POOLS, .gpus = 1, .cost = 3 + (g * 5 + h * 3) % 11, .power_w = 250};
    }
    const struct adl_allotment_problem problem = {GROUPS, POOLS, OFFERS, jobs, wait, gpus, offers, 3900};
    const struct adl_allotment_limits limits = {.swaps = 300, .nodes = nodes, .iterations = 4000};
    struct adl_allotment_answer answer;
    memset(times, 0, sizeof times);
    adl_allotment_solve(allotment, &problem, &limits, times, &answer);
    return answer;
}

static void a_greedy_allotment_allocates_nothing(void **state)
{
    (void)state;
    struct adl_allotment *allotment = NULL;
    assert_int_equal(adl_allotment_create(GROUPS, POOLS, OFFERS, &allotment), 0);
    const uint64_t before = allocations;
    assert_true(allot(allotment, 0).swaps > 0);
    assert_int_equal(allocations, before);
    adl_allotment_destroy(allotment);
}

static void an_allotment_survives_refused_allocations(void **state)
{
    (void)state;
    const int64_t live_before = live;
    struct adl_allotment *allotment = NULL;
    uint64_t refused = 0;
    int status = ADL_ENOMEM;
    while (status == ADL_ENOMEM) {
        refuse_at = allocations + ++refused;
        status = adl_allotment_create(GROUPS, POOLS, OFFERS, &allotment);
        refuse_at = 0;
        assert_true(status == 0 || (!allotment && live == live_before));
    }
    assert_true(refused > 40);
    const double greedy = allot(allotment, 0).cost;
    const int64_t live_after = live;
    const uint64_t first = allocations;
    const struct adl_allotment_answer exact = allot(allotment, 1000);
    const uint64_t total = allocations - first;
    assert_true(exact.nodes > 0 && total > 0);
    for (uint64_t k = 1; k <= total; k++) {
        refuse_at = allocations + k;
        const struct adl_allotment_answer answer = allot(allotment, 1000);
        refuse_at = 0;
        assert_true(answer.cost <= greedy && answer.bound <= exact.cost + 1e-9);
        assert_int_equal(live, live_after);
    }
    adl_allotment_destroy(allotment);
    assert_int_equal(live, live_before);
}

static void estimates_allocate_nothing_after_they_were_created(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 5);
    const uint64_t before = allocations;
    for (uint32_t i = 0; i < 60; i++) {
        const struct adl_job_spec a = job_make(i % 8), b = job_make((i + 3) % 8);
        const uint32_t p = adl_estimates_profile(e, &a, false), q = adl_estimates_profile(e, &b, false);
        struct adl_estimate found;
        adl_estimates_find(e, p, i % TYPES, q, &found);
        adl_estimates_measure(e, p, i % TYPES, i % 2 ? q : ADL_NONE, 1 + i);
        adl_estimates_find(e, q, i % TYPES, p, &found);
    }
    assert_int_equal(allocations, before);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void estimates_report_refused_allocations_and_leak_nothing(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    const int64_t held = live;
    int status = ADL_ENOMEM;
    for (uint64_t n = 1; status != 0; n++) {
        struct adl_estimates *e = NULL;
        struct adl_error err = {{0}};
        refuse_at = allocations + n;
        status = adl_estimates_create(&cluster, 4, NULL, 0, &e, &err);
        refuse_at = 0;
        if (status != 0) {
            assert_int_equal(status, ADL_ENOMEM);
            assert_true(!e && err.text[0] != '\0' && live == held);
        }
        adl_estimates_destroy(e);
        assert_true(n < 200);
    }
    assert_true(live == held);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_linker_hands_allocations_to_this_test),
        cmocka_unit_test(no_policy_allocates_in_a_decision),
        cmocka_unit_test(a_warm_engine_allocates_only_for_more_live_jobs_than_ever),
        cmocka_unit_test(an_environment_allocates_nothing_after_it_was_created),
        cmocka_unit_test(a_refused_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_network_at_work_allocates_nothing),
        cmocka_unit_test(estimates_allocate_nothing_after_they_were_created),
        cmocka_unit_test(estimates_report_refused_allocations_and_leak_nothing),
        cmocka_unit_test(a_model_reports_refused_allocations_and_leaks_nothing),
        cmocka_unit_test(a_greedy_allotment_allocates_nothing),
        cmocka_unit_test(an_allotment_survives_refused_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
