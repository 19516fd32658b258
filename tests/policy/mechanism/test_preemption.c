/* Tests of preemptive list scheduling, through srtf by time and by GPU-time: the pass over all live jobs against a
 * plain one, places for jobs that need more than a number of GPUs, and what stopping costs. */
#include "peer_check.h"
#include "toy_world.h"

static const struct adl_policy_config by_time = {.settings = "first_fit=true"};
static const struct adl_policy_config by_gpu_time = {.settings = "by_gpu_time=true"};
static const struct adl_policy_config by_count = {.settings = "by_count=true\nplacement=consolidated"};

static struct toy_job *add_preemptible(struct toy_world *world, int64_t submit_us, uint16_t gpus, int64_t run_us)
{
    struct toy_job *job = toy_add(world, submit_us, gpus, run_us);
    job->spec.flags = ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN;
    return job;
}

static void only_those_left_out_of_the_pass_are_stopped(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(7);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    add_preemptible(world, 0, 1, 100);
    add_preemptible(world, 0, 4, 200);
    add_preemptible(world, 0, 1, 300);
    add_preemptible(world, 0, 1, 400);
    add_preemptible(world, 10, 3, 50); /* leaves 4 of 7: 1 stays, 4 does not fit behind it, 1 and 1 do */
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    const uint32_t evictions[] = {0, 1, 0, 0, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(world->jobs[i].evictions, evictions[i]);
    assert_int_equal(world->jobs[4].end_us, 60);
    free(world);
    adl_cluster_clear(&cluster);
}

static void a_small_long_job_comes_before_a_large_short_one_by_gpu_time(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(4);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    add_preemptible(world, 0, 4, 100);
    add_preemptible(world, 10, 1, 200);
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    assert_int_equal(world->jobs[0].evictions, 0);
    toy_run(world, &adl_policy_srtf, &by_gpu_time, NULL);
    assert_int_equal(world->jobs[0].evictions, 1);
    assert_int_equal(world->jobs[1].end_us, 210);
    free(world);
    adl_cluster_clear(&cluster);
}

static void nobody_is_stopped_for_a_job_that_could_then_not_start(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 2);
    fixture_node(&cluster, 0, 2);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    for (int i = 0; i < 4; i++) /* one of each node's jobs may not be stopped */
        toy_add(world, 0, 1, 1000)->spec.flags = i % 2 ? ADL_JOB_PREEMPTIBLE : 0;
    toy_add(world, 10, 2, 5); /* needs both GPUs of a node */
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(world->jobs[i].evictions, 0);
    world->jobs[4].spec.flags = ADL_JOB_SPAN;
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    assert_int_equal(world->jobs[1].evictions + world->jobs[3].evictions, 2);
    assert_int_equal(world->jobs[4].end_us, 15);
    free(world);
    adl_cluster_clear(&cluster);
}

/* A place is cleared while jobs write their checkpoints; those further down do not take it meanwhile. */
static void a_place_that_is_being_cleared_is_kept(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 2);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    world->checkpoint_us = 20;
    toy_add(world, 0, 1, 1000)->spec.flags = ADL_JOB_PREEMPTIBLE;
    toy_add(world, 10, 2, 50)->spec.cpu_cores = 1;
    toy_add(world, 15, 1, 60); /* fits what is free, but comes after */
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    assert_int_equal(world->jobs[1].end_us, 80);
    assert_int_equal(world->jobs[2].start_us, 80);
    free(world);
    adl_cluster_clear(&cluster);
}

/* Two nodes of two GPUs, one of each taken: by count there is room for a job of two, but no node has it. */
static void a_job_chosen_by_count_that_finds_no_place_keeps_its_gpus_from_others(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 2);
    fixture_node(&cluster, 0, 2);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    add_preemptible(world, 0, 2, 5);   /* one node, until 5 */
    add_preemptible(world, 0, 1, 20);  /* the other, until 20 */
    add_preemptible(world, 0, 1, 40);  /* beside it */
    add_preemptible(world, 6, 1, 30);  /* the empty node */
    add_preemptible(world, 10, 2, 10); /* chosen before 30 and 40; 40 is stopped, and it still has no node */
    toy_run(world, &adl_policy_srtf, &by_count, NULL);
    assert_int_equal(world->jobs[2].evictions, 1);
    assert_int_equal(world->jobs[3].evictions, 0);
    assert_int_equal(world->jobs[4].start_us, 20);
    assert_int_equal(world->jobs[2].start_us, 20); /* until then two GPUs were idle */
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    assert_int_equal(world->jobs[4].start_us, 10); /* spans */
    free(world);
    adl_cluster_clear(&cluster);
}

static void of_equals_by_count_the_one_that_waits_is_chosen_once(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(1);
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->cluster = &cluster;
    add_preemptible(world, 0, 1, 100);
    add_preemptible(world, 10, 1, 90);
    toy_run(world, &adl_policy_srtf, &by_count, NULL);
    assert_int_equal(world->jobs[0].evictions, 1);
    assert_int_equal(world->jobs[1].evictions, 0);
    assert_int_equal(world->jobs[1].end_us, 100);
    toy_run(world, &adl_policy_srtf, &by_time, NULL);
    assert_int_equal(world->jobs[0].evictions, 0);
    free(world);
    adl_cluster_clear(&cluster);
}

#define LIVE_MAX 400

struct live {
    int64_t key;
    uint32_t slot;
    bool runs;
};

static int compare_live(const void *a, const void *b)
{
    const struct live *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->runs != y->runs)
        return x->runs ? -1 : 1;
    return 0;
}

struct watch {
    bool by_gpu_time;
    uint32_t gpus;
    uint32_t compared;
};

/* After each instant those that run are those that a plain pass chooses. Equal jobs of which one runs are left alone:
 * the pass may choose either. */
static int compare_with_plain_pass(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    struct watch *watch = self;
    struct live live[LIVE_MAX];
    uint32_t count = 0;
    int64_t left = watch->gpus;
    if (state->stopping_jobs)
        return 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++) {
        const struct adl_job *job = &state->jobs[slot];
        if (job->phase == ADL_PHASE_NONE)
            continue;
        const bool runs = job->phase == ADL_PHASE_RUNNING;
        const int64_t time = runs ? job->expected_us - state->now_us : adl_state_shortest_us(state, slot);
        const int64_t key = (time > 0 ? time : 0) * (watch->by_gpu_time ? job->spec.gpus : 1);
        assert_true(count < LIVE_MAX);
        live[count++] = (struct live){key, slot, runs};
    }
    qsort(live, count, sizeof *live, compare_live);
    for (uint32_t i = 1; i < count; i++)
        if (live[i].key == live[i - 1].key)
            return 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t gpus = state->jobs[live[i].slot].spec.gpus;
        const bool chosen = gpus <= left;
        left -= chosen ? gpus : 0;
        assert_int_equal(live[i].runs, chosen);
    }
    watch->compared++;
    return 0;
}

static void watched_run(struct toy_world *world, const struct adl_policy_config *config, struct watch *watch)
{
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    const struct adl_engine_config engine_config = {.cluster = world->cluster,
                                                    .policy = &adl_policy_srtf,
                                                    .policy_config = *config,
                                                    .world_ops = &toy_world_ops,
                                                    .world = world,
                                                    .observers = {{.self = watch, .decided = compare_with_plain_pass}},
                                                    .observer_count = 1};
    toy_rewind(world);
    assert_int_equal(adl_engine_create(&engine_config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("the run failed: %s", err.text);
    assert_int_equal(adl_engine_counts(engine)->refused, 0);
    adl_engine_destroy(engine);
}

static void those_that_run_are_those_that_a_plain_pass_chooses(void **unused)
{
    (void)unused;
    struct toy_world *world = calloc(1, sizeof *world);
    struct adl_rng rng;
    struct watch watch = {.gpus = 0};
    assert_non_null(world);
    adl_rng_seed(&rng, 7, "preempt");
    for (int round = 0; round < 200; round++) {
        watch.gpus = fixture_between(&rng, 1, 24);
        watch.by_gpu_time = round % 2;
        struct adl_cluster cluster = fixture_plain(watch.gpus);
        world->cluster = &cluster;
        toy_random_jobs(world, &rng, watch.gpus);
        for (uint32_t i = 0; i < world->count; i++) {
            world->jobs[i].spec.flags = ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN;
            world->jobs[i].submit_us *= 1000;
            for (int t = 0; t < TOY_TYPES_MAX; t++) /* few equals */
                world->jobs[i].true_us[t] = world->jobs[i].believed_us[t] =
                    world->jobs[i].true_us[t] * 1000 + (int64_t)adl_rng_below(&rng, 1000);
        }
        watched_run(world, watch.by_gpu_time ? &by_gpu_time : &by_time, &watch);
        adl_cluster_clear(&cluster);
    }
    assert_true(watch.compared > 10000);
    free(world);
}

/* Jobs that ask for all there is to ask for, on nodes of two types, with checkpoints that take time. */
static void every_job_ends_and_nothing_is_refused(void **unused)
{
    (void)unused;
    struct toy_world *world = calloc(1, sizeof *world);
    struct adl_rng rng;
    assert_non_null(world);
    adl_rng_seed(&rng, 8, "preempt");
    for (int round = 0; round < 300; round++) {
        struct adl_cluster cluster = {0};
        toy_demanding_round(world, &cluster, &rng, round);
        struct adl_engine_counts counts;
        static const char *const with_count[] = {"first_fit=true\nby_count=true", "by_gpu_time=true\nby_count=true"};
        struct adl_policy_config config = round % 2 ? by_gpu_time : by_time;
        if (round % 5 == 0)
            config.settings = with_count[round % 2];
        config.preemption_us = adl_rng_below(&rng, 2) ? world->checkpoint_us : 0;
        toy_run(world, &adl_policy_srtf, &config, &counts);
        if (counts.refused)
            fail_msg("round %d: refused: %s", round, counts.last_refusal.text);
        adl_cluster_clear(&cluster);
    }
    free(world);
}

static int64_t end_after_stop(uint16_t gpus, const struct adl_preemption *preemption)
{
    struct peer_job jobs[] = {{0, 0, gpus, 200}, {1, 10, gpus, 10}};
    struct peer_trace trace = {.jobs = jobs, .count = 2};
    struct adl_scenario scenario = peer_check_scenario(1, gpus);
    scenario.preemption = *preemption;
    scenario.policy = by_time;
    const struct peer_answer answer = peer_check_run(&scenario, &trace, &adl_policy_srtf);
    adl_scenario_clear(&scenario);
    assert_int_equal(answer.evictions, 1);
    return answer.makespan_us / 1000000;
}

static void a_restart_takes_the_time_stated_for_its_number_of_gpus(void **unused)
{
    (void)unused;
    const struct adl_preemption cost = {.restart_s = 5, .restart_by_gpus_s = {7, 30, 60}};
    assert_int_equal(end_after_stop(1, &cost), 20 + 7 + 190);
    assert_int_equal(end_after_stop(2, &cost), 20 + 30 + 190);
    assert_int_equal(end_after_stop(8, &cost), 20 + 30 + 190);
    assert_int_equal(end_after_stop(9, &cost), 20 + 60 + 190);
}

static void a_preemption_adds_the_work_stated_for_its_number_of_gpus(void **unused)
{
    (void)unused;
    const struct adl_preemption cost = {.rework_by_gpus_s = {7, 30, 60}};
    assert_int_equal(end_after_stop(1, &cost), 20 + 7 + 190);
    assert_int_equal(end_after_stop(8, &cost), 20 + 30 + 190);
    assert_int_equal(end_after_stop(9, &cost), 20 + 60 + 190);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_those_left_out_of_the_pass_are_stopped),
        cmocka_unit_test(a_small_long_job_comes_before_a_large_short_one_by_gpu_time),
        cmocka_unit_test(nobody_is_stopped_for_a_job_that_could_then_not_start),
        cmocka_unit_test(a_place_that_is_being_cleared_is_kept),
        cmocka_unit_test(a_job_chosen_by_count_that_finds_no_place_keeps_its_gpus_from_others),
        cmocka_unit_test(of_equals_by_count_the_one_that_waits_is_chosen_once),
        cmocka_unit_test(those_that_run_are_those_that_a_plain_pass_chooses),
        cmocka_unit_test(every_job_ends_and_nothing_is_refused),
        cmocka_unit_test(a_restart_takes_the_time_stated_for_its_number_of_gpus),
        cmocka_unit_test(a_preemption_adds_the_work_stated_for_its_number_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
