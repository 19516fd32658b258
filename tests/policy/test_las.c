/* Tests of least attained service: queues, demotion and promotion by hand. */
#include "peer_check.h"
#include "toy_world.h"

extern const struct adl_policy_ops adl_policy_las;

#define JOBS_MAX 8

/* When each job of a short list ended, in seconds, on a node of equal GPUs. */
struct ends {
    double end_s[JOBS_MAX];
    uint64_t evictions;
};

static int note_end(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct ends *ends = self;
    ends->evictions += event->kind == ADL_EVENT_EVICT;
    if (event->kind == ADL_EVENT_FINISH)
        ends->end_s[state->jobs[event->job].spec.id] = (double)event->time_us * 1e-6;
    return 0;
}

static struct ends run(struct peer_job *jobs, size_t count, uint32_t gpus, const struct adl_policy_config *config,
                       int regime)
{
    struct peer_trace trace = {.jobs = jobs, .count = count};
    struct adl_scenario scenario = peer_check_scenario(1, gpus);
    struct ends ends = {0};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    const struct adl_job_source source = {.self = &trace, .next = peer_next, .close = peer_close};
    assert_true(count <= JOBS_MAX);
    assert_int_equal(adl_world_sim_create_from(&scenario, source, 1, regime, &world, &err), 0);
    const struct adl_engine_config engine_config = {.cluster = &scenario.cluster,
                                                    .policy = &adl_policy_las,
                                                    .policy_config = *config,
                                                    .world_ops = &adl_world_sim_ops,
                                                    .world = world,
                                                    .observers = {{.self = &ends, .event = note_end}},
                                                    .observer_count = 1};
    assert_int_equal(adl_engine_create(&engine_config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("the run failed: %s", err.text);
    assert_int_equal(adl_engine_counts(engine)->refused, 0);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&scenario);
    return ends;
}

static void a_job_yields_at_the_moment_its_service_reaches_the_limit(void **unused)
{
    (void)unused;
    const struct adl_policy_config config = {.settings = "las_limits_gpu_s=10"};
    struct peer_job jobs[] = {{0, 0, 1, 100}, {1, 5, 1, 8}};
    const struct ends ends = run(jobs, 2, 1, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[1] == 18);
    assert_true(ends.end_s[0] == 108);
    assert_int_equal(ends.evictions, 1);
}

static void service_is_time_times_gpus(void **unused)
{
    (void)unused;
    const struct adl_policy_config config = {.settings = "las_limits_gpu_s=10"};
    struct peer_job jobs[] = {{0, 0, 4, 100}, {1, 1, 4, 2}};
    const struct ends ends = run(jobs, 2, 4, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[1] == 4.5);
}

static void several_limits_make_several_queues(void **unused)
{
    (void)unused;
    const struct adl_policy_config config = {.settings = "las_limits_gpu_s=3600,7200,18000\nlas_running_first=false"};
    struct peer_job jobs[] = {{0, 0, 1, 4000}, {1, 100, 1, 10}, {2, 8000, 1, 30000}, {3, 8001, 1, 3700}};
    const struct ends ends = run(jobs, 4, 1, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[1] == 3610);
    /* 2 runs to 3,600, then 3 does, then in the second queue 2 is first, until 7,200 */
    assert_true(ends.end_s[3] == 8000 + 3600 + 3600 + 3600 + 100);
}

/* The first job ends with 10 GPU-seconds: the second, which has not ended at 20, goes to the next queue at 30. */
static void without_limits_they_follow_from_the_jobs_that_have_ended(void **unused)
{
    (void)unused;
    const struct adl_policy_config config = {.settings = "las_limits_medians=2\nlas_running_first=false"};
    struct peer_job jobs[] = {{0, 0, 1, 10}, {1, 10, 1, 100}, {2, 12, 1, 5}};
    const struct ends ends = run(jobs, 3, 1, &config, ADL_REGIME_DECLARED);
    assert_true(ends.end_s[2] > 33 && ends.end_s[2] < 37);
    assert_true(ends.end_s[1] == 115);
}

/* Two GPUs. 0 is demoted at 5, 1 and 2 at 15, when 3 takes one GPU: of the second queue only 1 fits beside it, not 0,
 * which wants both. At 20 3 ends: 0 was submitted before 1, but 1 runs. */
static void inside_a_queue_the_earlier_submitted_comes_first_unless_those_that_run_do(void **unused)
{
    (void)unused;
    struct adl_policy_config config = {.settings = "las_limits_gpu_s=10\nlas_running_first=false"};
    struct peer_job jobs[] = {{0, 0, 2, 100}, {1, 1, 1, 30}, {2, 2, 1, 30}, {3, 6, 1, 5}};
    struct ends ends = run(jobs, 4, 2, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[3] == 20 && ends.end_s[0] == 115 && ends.end_s[1] == 130 && ends.end_s[2] == 135);
    config.settings = "las_limits_gpu_s=10\nlas_running_first=true";
    ends = run(jobs, 4, 2, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[3] == 20 && ends.end_s[0] == 135 && ends.end_s[1] == 35 && ends.end_s[2] == 40);
}

static void a_job_that_waited_long_enough_is_promoted(void **unused)
{
    (void)unused;
    struct adl_policy_config config = {.settings = "las_limits_gpu_s=10\nlas_running_first=false"};
    struct peer_job jobs[] = {{0, 0, 1, 100}, {1, 1, 1, 10}, {2, 2, 1, 10}, {3, 3, 1, 10}};
    assert_true(run(jobs, 4, 1, &config, ADL_REGIME_ORACLE).end_s[2] == 30);
    config.settings =
        "las_limits_gpu_s=10\nlas_promote=1\nlas_running_first=false"; /* at 20 job 0 has waited the 10 s that it ran */
    assert_true(run(jobs, 4, 1, &config, ADL_REGIME_ORACLE).end_s[2] == 40);
    config.settings = "las_limits_gpu_s=10\nlas_promote=1.5\nlas_running_first=false"; /* at 25 */
    const struct ends ends = run(jobs, 4, 1, &config, ADL_REGIME_ORACLE);
    assert_true(ends.end_s[1] == 20 && ends.end_s[2] == 40);
}

static void durations_are_not_looked_at(void **unused)
{
    (void)unused;
    const struct adl_policy_config config = {.settings = "las_limits_gpu_s=10,20"};
    struct peer_job jobs[] = {{0, 0, 2, 90}, {1, 1, 1, 15}, {2, 2, 2, 70}, {3, 9, 4, 3}, {4, 30, 1, 45}};
    const struct ends known = run(jobs, 5, 4, &config, ADL_REGIME_ORACLE);
    const struct ends unknown = run(jobs, 5, 4, &config, ADL_REGIME_DECLARED);
    for (int i = 0; i < 5; i++)
        assert_true(known.end_s[i] == unknown.end_s[i]);
}

/* Jobs that ask for all there is to ask for, on nodes of two types. */
static void every_job_ends_and_nothing_is_refused(void **unused)
{
    (void)unused;
    struct toy_world *world = calloc(1, sizeof *world);
    struct adl_rng rng;
    assert_non_null(world);
    adl_rng_seed(&rng, 9, "las");
    for (int round = 0; round < 200; round++) {
        struct adl_cluster cluster = {0};
        toy_demanding_round(world, &cluster, &rng, round);
        char settings[128];
        snprintf(settings, sizeof settings, "%s\nlas_promote=%d\n%s%s",
                 round % 3 ? "las_limits_gpu_s=20e-6,60e-6" : "las_limits_medians=0.5,2", round % 5,
                 round % 2 ? "" : "las_running_first=false\n", round % 7 == 0 ? "las_lazy=true" : "");
        const struct adl_policy_config config = {.settings = settings};
        struct adl_engine_counts counts;
        toy_run(world, &adl_policy_las, &config, &counts);
        if (counts.refused)
            fail_msg("round %d: refused: %s", round, counts.last_refusal.text);
        adl_cluster_clear(&cluster);
    }
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_yields_at_the_moment_its_service_reaches_the_limit),
        cmocka_unit_test(service_is_time_times_gpus),
        cmocka_unit_test(several_limits_make_several_queues),
        cmocka_unit_test(without_limits_they_follow_from_the_jobs_that_have_ended),
        cmocka_unit_test(inside_a_queue_the_earlier_submitted_comes_first_unless_those_that_run_do),
        cmocka_unit_test(a_job_that_waited_long_enough_is_promoted),
        cmocka_unit_test(durations_are_not_looked_at),
        cmocka_unit_test(every_job_ends_and_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
