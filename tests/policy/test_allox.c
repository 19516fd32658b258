/* AlloX: starts that a matching by hand gives, optimal sums of completion times, gangs that do not starve, the window.
 */
#include "experiment/run.h"
#include "policy/allox.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"
#include "toy_world.h"

#include <stdlib.h>
#include <string.h>

static struct adl_policy_config config;

static struct toy_world *toy_world_on(const struct adl_cluster *cluster)
{
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = cluster;
    return world;
}

static struct adl_cluster two_types(uint32_t first, uint32_t second)
{
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, first);
    fixture_node(&cluster, 1, second);
    return cluster;
}

static void set_times(struct toy_job *job, int64_t first_us, int64_t second_us)
{
    job->believed_us[0] = job->true_us[0] = first_us;
    job->believed_us[1] = job->true_us[1] = second_us;
}

static void a_job_waits_for_the_fast_gpu_when_that_ends_sooner(void **state)
{
    (void)state;
    struct adl_cluster cluster = two_types(1, 1);
    struct toy_world *world = toy_world_on(&cluster);
    set_times(toy_add(world, 0, 1, 0), 10, 100);
    set_times(toy_add(world, 1, 1, 0), 20, 200);
    struct adl_engine_counts counts;
    /* The second ends at 30 on the fast GPU, at 201 on the idle slow one. */
    assert_int_equal(toy_run(world, &adl_policy_allox, &config, &counts), 10 + 29);
    assert_int_equal(world->jobs[1].type, 0);
    assert_int_equal(counts.refused, 0);
    free(world);
    adl_cluster_clear(&cluster);
}

static void jobs_go_to_the_type_where_the_difference_is_worth_most(void **state)
{
    (void)state;
    struct adl_cluster cluster = two_types(1, 1);
    struct toy_world *world = toy_world_on(&cluster);
    set_times(toy_add(world, 0, 1, 0), 10, 12);
    set_times(toy_add(world, 0, 1, 0), 10, 90);
    assert_int_equal(toy_run(world, &adl_policy_allox, &config, NULL), 12 + 10);
    assert_int_equal(world->jobs[0].type, 1);
    assert_int_equal(world->jobs[1].type, 0);
    free(world);
    adl_cluster_clear(&cluster);
}

/* The least sum of completion times of jobs that are all there at 0, by trying every queue of every GPU. */
static void try_queues(const struct toy_world *world, uint32_t left, const int64_t *ends, int64_t sum, int64_t *best)
{
    const struct adl_cluster *cluster = world->cluster;
    if (sum >= *best)
        return;
    if (left == 0)
        *best = sum;
    for (uint32_t j = 0; j < world->count; j++)
        for (uint32_t gpu = 0; (left >> j & 1) && gpu < cluster->gpu_count; gpu++) {
            int64_t after[8];
            memcpy(after, ends, sizeof after);
            after[gpu] += world->jobs[j].true_us[adl_gpu_type_of(cluster, gpu)];
            try_queues(world, left & ~(1u << j), after, sum + after[gpu], best);
        }
}

static void jobs_there_from_the_start_finish_with_the_least_sum(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "allox");
    for (int round = 0; round < 60; round++) {
        struct adl_cluster cluster = two_types(1 + adl_rng_below(&rng, 2), 1);
        struct toy_world *world = toy_world_on(&cluster);
        const uint32_t count = 1 + adl_rng_below(&rng, 5);
        const int64_t ends[8] = {0};
        int64_t best = INT64_MAX;
        for (uint32_t i = 0; i < count; i++)
            set_times(toy_add(world, 0, 1, 0), 1 + adl_rng_below(&rng, 50), 1 + adl_rng_below(&rng, 50));
        try_queues(world, (1u << count) - 1, ends, 0, &best);
        assert_int_equal(toy_run(world, &adl_policy_allox, &config, NULL), best);
        free(world);
        adl_cluster_clear(&cluster);
    }
}

static void a_gang_starts_though_short_jobs_keep_coming(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(4);
    struct toy_world *world = toy_world_on(&cluster);
    for (int i = 0; i < 4; i++)
        toy_add(world, i, 1, 40);
    toy_add(world, 5, 4, 100);
    const uint32_t gang = world->count - 1;
    for (int i = 0; i < 300; i++)
        toy_add(world, 6 + 10 * i, 1, 40);
    toy_run(world, &adl_policy_allox, &(struct adl_policy_config){.settings = "allox_patience=5"}, NULL);
    /* It is the longest job all the time, until it has waited five times its run time and the mean of the five jobs so
     * far, 100 + 52; then what runs may end. */
    assert_true(world->jobs[gang].start_us >= 5 + 760);
    assert_true(world->jobs[gang].start_us <= 5 + 760 + 40 + 10);
    free(world);
    adl_cluster_clear(&cluster);
}

static void random_worlds_finish_without_a_refusal_or_a_preemption(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "allox");
    for (int round = 0; round < 100; round++) {
        struct adl_cluster cluster = two_types(fixture_between(&rng, 4, 8), fixture_between(&rng, 1, 8));
        struct toy_world *world = toy_world_on(&cluster);
        struct adl_engine_counts counts;
        toy_random_jobs(world, &rng, round % 2 ? 4 : 1);
        toy_run(world, &adl_policy_allox, &config, &counts);
        assert_int_equal(counts.refused, 0);
        for (uint32_t i = 0; i < world->count; i++)
            assert_int_equal(world->jobs[i].evictions, 0);
        free(world);
        adl_cluster_clear(&cluster);
    }
}

/* One decision on a state made by hand, with the queue longer than the window. */
static void a_queue_beyond_the_window_is_told(void **state)
{
    (void)state;
    for (uint32_t jobs = ADL_ALLOX_WINDOW; jobs <= ADL_ALLOX_WINDOW + 1; jobs++) {
        struct adl_cluster cluster = two_types(2, 2);
        struct adl_state *now = fixture_state(&cluster);
        struct adl_plan plan = {0};
        void *policy = NULL;
        struct adl_error err;
        assert_int_equal(adl_plan_create(&plan, cluster.gpu_count), 0);
        assert_int_equal(adl_policy_create(&adl_policy_allox, &config, &cluster, 1, &policy, &err), 0);
        for (uint32_t i = 0; i < jobs; i++) {
            const struct adl_job_spec spec = fixture_spec(i, 1);
            const struct adl_event event = {.kind = ADL_EVENT_SUBMIT, .job = i, .submit = {.spec = &spec}};
            adl_policy_allox.observe(policy, &event, now);
            fixture_queue(now, i, &spec, 1000 + i, 1000 + i);
        }
        assert_int_equal(adl_policy_allox.decide(policy, now, &plan), 0);
        assert_int_equal(plan.command_count, 1);
        assert_int_equal(adl_allox_counts(policy)->matchings, 1);
        assert_int_equal(adl_allox_counts(policy)->windowed, jobs > ADL_ALLOX_WINDOW);
        adl_policy_allox.destroy(policy);
        adl_plan_clear(&plan);
        adl_state_destroy(now);
        adl_cluster_clear(&cluster);
    }
}

static void more_free_gpus_than_the_window_holds_jobs_are_all_used(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    for (int n = 0; n < 3; n++)
        fixture_node(&cluster, 0, 60);
    struct toy_world *world = toy_world_on(&cluster);
    for (int i = 0; i < 180; i++)
        toy_add(world, 0, 1, 50);
    assert_int_equal(toy_run(world, &adl_policy_allox, &config, NULL), 180 * 50);
    free(world);
    adl_cluster_clear(&cluster);
}

static double mean_jct_s(const struct adl_scenario *s, int regime)
{
    struct adl_error err = {.text = ""};
    double sum_s = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const struct adl_run run = {.scenario = s, .policy = &adl_policy_allox, .seed = seed, .regime = regime};
        struct adl_result result;
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        sum_s += result.value[ADL_METRIC_JCT_MEAN];
    }
    return sum_s / 6;
}

/* With allox_patience 8 surge16 takes longer in regime oracle than in declared. */
static void better_information_gives_shorter_completion_times(void **state)
{
    (void)state;
    static const char *const paths[] = {ADL_SOURCE_DIR "/scenarios/paper16.yaml",
                                        ADL_SOURCE_DIR "/scenarios/surge16.yaml"};
    for (int i = 0; i < 2; i++) {
        struct adl_scenario s;
        struct adl_error err = {.text = ""};
        if (adl_scenario_load(paths[i], &s, NULL, &err))
            fail_msg("%s", err.text);
        const double oracle_s = mean_jct_s(&s, ADL_REGIME_ORACLE), declared_s = mean_jct_s(&s, ADL_REGIME_DECLARED),
                     learned_s = mean_jct_s(&s, ADL_REGIME_LEARNED);
        if (oracle_s > declared_s || declared_s > 1.05 * learned_s)
            fail_msg("%s: oracle %.1f s, declared %.1f s, learned %.1f s", paths[i], oracle_s, declared_s, learned_s);
        adl_scenario_clear(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_the_fast_gpu_when_that_ends_sooner),
        cmocka_unit_test(jobs_go_to_the_type_where_the_difference_is_worth_most),
        cmocka_unit_test(jobs_there_from_the_start_finish_with_the_least_sum),
        cmocka_unit_test(a_gang_starts_though_short_jobs_keep_coming),
        cmocka_unit_test(random_worlds_finish_without_a_refusal_or_a_preemption),
        cmocka_unit_test(a_queue_beyond_the_window_is_told),
        cmocka_unit_test(better_information_gives_shorter_completion_times),
        cmocka_unit_test(more_free_gpus_than_the_window_holds_jobs_are_all_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
