/* Gavel: shares of time that are known, rounds, gangs, random worlds. tests/experiment/test_agreement.c has its
 * authors' trace. */
#include "policy/gavel.h"

#include "peer_check.h"
#include "random_scenario.h"
#include "scripted_run.h"
#include "toy_world.h"

#include <math.h>
#include <string.h>

/* One policy object is reached through this wrapper, so that its counts can be read after a run. */
static const struct adl_policy_ops *wrapped;
static void *created;

static int create_noted(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                        void **ret_policy, struct adl_error *err)
{
    struct adl_policy_config own = *config;
    const int status = adl_policy_create(wrapped, &own, cluster, seed, ret_policy, err);
    created = status ? NULL : *ret_policy;
    return status;
}

struct tally {
    uint64_t finished, evicted;
    double jct_s;
    double end_s;
    double round_s;
    struct adl_gavel_counts counts;
    double type_s[TOY_TYPES_MAX]; /* GPU time by type */
};

static int note_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct tally *tally = self;
    if (event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT) {
        const struct adl_job *job = &state->jobs[event->job];
        tally->type_s[job->type] += (double)(event->time_us - job->start_us) * 1e-6;
    }
    if (event->kind == ADL_EVENT_FINISH) {
        tally->finished++;
        tally->jct_s += (double)(event->time_us - state->jobs[event->job].submit_us) * 1e-6;
        tally->end_s = (double)event->time_us * 1e-6;
    }
    tally->evicted += event->kind == ADL_EVENT_EVICT;
    return 0;
}

/* Runs a world to its end; nothing may be refused. */
static struct tally run_world(const struct adl_scenario *scenario, struct adl_world_sim *world,
                              const struct adl_policy_ops *policy)
{
    struct tally tally = {0};
    struct adl_error err = {.text = ""};
    struct adl_engine *engine = NULL;
    struct adl_policy_ops ops = *policy;
    wrapped = policy;
    ops.create = create_noted;
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = &ops,
                                             .policy_config = scenario->policy,
                                             .seed = 1,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &tally, .event = note_event}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("%s: %s", policy->name, err.text);
    if (adl_engine_counts(engine)->refused)
        fail_msg("%s was refused: %s", policy->name, adl_engine_counts(engine)->last_refusal.text);
    tally.counts = *adl_gavel_counts(created);
    tally.round_s = policy->round_s(created);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return tally;
}

static struct tally run_scenario(const struct adl_scenario *scenario, const struct adl_policy_ops *policy,
                                 uint64_t seed)
{
    struct adl_world_sim *world = NULL;
    struct adl_error err = {.text = ""};
    if (adl_world_sim_create(scenario, seed, ADL_REGIME_ORACLE, &world, &err))
        fail_msg("%s", err.text);
    return run_world(scenario, world, policy);
}

static void equal_jobs_take_turns_on_one_gpu(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 3600, ADL_JOB_PREEMPTIBLE);
    set_option(&s, "round_s", "360");
    const struct tally tally = run_scenario(&s, &adl_policy_gavel, 1);
    /* 20 rounds of 360 s in turn, the first job ends one round before the second. */
    assert_int_equal(tally.finished, 2);
    assert_true(fabs(tally.jct_s - (7200 + 7200 - 360)) < 1);
    assert_int_equal(tally.evicted, 18);
    adl_scenario_clear(&s);
}

static void the_length_of_a_round_is_a_parameter(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 3600, ADL_JOB_PREEMPTIBLE);
    set_option(&s, "round_s", "900");
    assert_int_equal(run_scenario(&s, &adl_policy_gavel, 1).evicted, 6);
    adl_scenario_clear(&s);
}

static void rounds_follow_from_run_times_and_the_cost_of_a_stop(void **state)
{
    (void)state;
    for (double run_s = 36; run_s < 4e6; run_s *= 100) {
        struct adl_scenario s = tiny_plain(2, 1, run_s, ADL_JOB_PREEMPTIBLE);
        set_option(&s, "gavel_round_part", "0.1");
        set_option(&s, "gavel_round_stops", "5");
        const struct tally tally = run_scenario(&s, &adl_policy_gavel, 1);
        assert_true(fabs(tally.round_s / run_s - 0.1) < 0.01);
        assert_true(tally.evicted >= 17 && tally.evicted <= 21);
        s.policy.preemption_us = (int64_t)(run_s * 0.04e6);
        assert_true(fabs(run_scenario(&s, &adl_policy_gavel, 1).round_s / run_s - 0.2) < 1e-6);
        adl_scenario_clear(&s);
    }
}

/* The first job alone would have rounds of 1,000 s; after the short ones have come they are 1 s. */
static void a_round_ends_early_when_the_work_turns_out_to_be_short(void **state)
{
    (void)state;
    struct peer_job jobs[] = {{0, 0, 1, 10000}, {1, 10, 1, 10}, {2, 10, 1, 10}, {3, 10, 1, 10}, {4, 10, 1, 10}};
    struct peer_trace trace = {.jobs = jobs, .count = 5};
    struct adl_scenario scenario = peer_check_scenario(1, 1);
    scenario.policy.settings = "gavel_round_part=0.1";
    const struct peer_answer answer = peer_check_run(&scenario, &trace, &adl_policy_gavel);
    assert_true(answer.jct_us < (10040 + 4 * 100) * INT64_C(1000000));
    scenario.policy.settings = NULL;
    adl_scenario_clear(&scenario);
}

static void jobs_that_may_not_be_preempted_run_to_their_end(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(3, 1, 3600, 0);
    const struct tally tally = run_scenario(&s, &adl_policy_gavel, 1);
    assert_int_equal(tally.evicted, 0);
    assert_true(fabs(tally.jct_s - (1 + 2 + 3) * 3600) < 1);
    adl_scenario_clear(&s);
}

/* Rounds of a tenth of the run time, 360 s: a turn ends only at the end of a round in which the job has written a
 * checkpoint. */
static void no_turn_ends_before_something_of_it_is_kept(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 3600, ADL_JOB_PREEMPTIBLE);
    s.workload.mix[0].stop_loss = ADL_LOSS_ALL;
    const struct tally all = run_scenario(&s, &adl_policy_gavel, 1);
    assert_int_equal(all.evicted, 0);
    assert_true(fabs(all.end_s - 7200) < 1);
    s.workload.mix[0].stop_loss = ADL_LOSS_SINCE_CHECKPOINT;
    s.workload.mix[0].checkpoint_us = INT64_C(400000000);
    const struct tally some = run_scenario(&s, &adl_policy_gavel, 1);
    assert_int_equal(some.finished, 2);
    assert_true(some.evicted > 2 && some.end_s > 7200 && some.end_s < 2 * 7200);
    adl_scenario_clear(&s);
}

static void jobs_that_keep_their_gpus_are_not_restarted(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(4, 4, 3600, ADL_JOB_PREEMPTIBLE);
    s.preemption.restart_s = 100;
    const struct tally tally = run_scenario(&s, &adl_policy_gavel, 1);
    assert_int_equal(tally.evicted, 0);
    assert_true(fabs(tally.end_s - 3600) < 1);
    adl_scenario_clear(&s);
}

/* Two classes: one is 10 times as fast on type 0, the other equally fast on both. */
static struct adl_scenario two_speeds(uint64_t jobs)
{
    struct adl_scenario s = tiny_start(jobs);
    const uint32_t first = tiny_type(&s), second = tiny_type(&s);
    tiny_node(&s, first, 1);
    tiny_node(&s, second, 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5)->steps_per_s[1] = 0.1;
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_mix(&s, 0, 36000, 1, ADL_JOB_PREEMPTIBLE);
    tiny_mix(&s, 1, 36000, 1, ADL_JOB_PREEMPTIBLE);
    return s;
}

static void the_job_that_gains_most_from_a_type_runs_on_it(void **state)
{
    (void)state;
    struct adl_scenario s = two_speeds(2);
    const uint64_t seed = tiny_seed_for(&s, (const uint16_t[]){1, 0}, 2);
    /* Only so does each run as fast as it can. Max-min would not mind if the second lost some of it. */
    const struct tally tally = run_scenario(&s, &adl_policy_gavel_jct, seed);
    assert_true(fabs(tally.end_s - 36000) < 1);
    assert_int_equal(tally.evicted, 0);
    assert_int_equal(tally.counts.unsolved, 0);
    set_option(&s, "gavel_objective", "makespan"); /* known to 5 % */
    assert_true(run_scenario(&s, &adl_policy_gavel, seed).end_s < 36000 * 1.05);
    set_option(&s, "gavel_objective", "agnostic"); /* both as often here as there */
    assert_true(run_scenario(&s, &adl_policy_gavel, seed).end_s > 36000 * 1.3);
    adl_scenario_clear(&s);
}

static void a_new_job_waits_for_shares_if_told_to(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(3, 4, 3600, ADL_JOB_PREEMPTIBLE);
    s.workload.arrivals = (struct adl_arrivals){.process = ADL_ARRIVAL_POISSON, .rate_per_h = 20};
    const double at_once_s = run_scenario(&s, &adl_policy_gavel, 2).jct_s;
    set_flag(&s, "gavel_new_jobs_wait", true);
    /* The first has shares at once; each of the others waits until 16/3 rounds after the last time. */
    const struct tally waited = run_scenario(&s, &adl_policy_gavel, 2);
    assert_int_equal(waited.finished, 3);
    assert_true(waited.jct_s > at_once_s + 360);
    assert_true(waited.jct_s < at_once_s + 2 * 2160);
    adl_scenario_clear(&s);
}

/* One job, twice as fast on the second type: the first is filled before the second is looked at. */
static void types_are_filled_one_after_another_if_told_to(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(1);
    const uint32_t first = tiny_type(&s), second = tiny_type(&s);
    tiny_node(&s, first, 1);
    tiny_node(&s, second, 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5)->steps_per_s[1] = 2;
    tiny_mix(&s, 0, 36000, 1, ADL_JOB_PREEMPTIBLE);
    assert_true(fabs(run_scenario(&s, &adl_policy_gavel, 1).end_s - 18000) < 1);
    set_flag(&s, "gavel_type_by_type", true);
    assert_true(fabs(run_scenario(&s, &adl_policy_gavel, 1).end_s - 36000) < 1);
    adl_scenario_clear(&s);
}

/* Ten days of work, and minutes of it behind that whose best share is far smaller: they do not wait for its end. */
static void a_small_share_is_had_in_the_end(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(20);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_mix(&s, 0, 864000, 1, ADL_JOB_PREEMPTIBLE)->weight = 0.05;
    tiny_mix(&s, 1, 300, 1, ADL_JOB_PREEMPTIBLE);
    s.workload.arrivals = (struct adl_arrivals){.process = ADL_ARRIVAL_POISSON, .rate_per_h = 1};
    uint16_t classes[20] = {0};
    for (int i = 1; i < 20; i++)
        classes[i] = 1;
    const struct tally tally = run_scenario(&s, &adl_policy_gavel_jct, tiny_seed_for(&s, classes, 20));
    assert_int_equal(tally.finished, 20);
    assert_true(tally.jct_s - tally.end_s < 19 * 24 * 3600.0);
    adl_scenario_clear(&s);
}

static void a_gang_gets_its_turn_among_small_jobs(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(40);
    tiny_node(&s, tiny_type(&s), 4);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_mix(&s, 0, 7200, 1, ADL_JOB_PREEMPTIBLE);
    tiny_mix(&s, 1, 3600, 4, ADL_JOB_PREEMPTIBLE)->weight = 0.1;
    const struct tally tally = run_scenario(&s, &adl_policy_gavel, 3);
    assert_int_equal(tally.finished, 40);
    assert_true(tally.evicted > 0);
    adl_scenario_clear(&s);
}

static void random_worlds_finish_without_a_refusal(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct adl_scenario s = random_scenario(seed, 60);
        const struct adl_policy_ops *policy = seed % 2 ? &adl_policy_gavel : &adl_policy_gavel_jct;
        static const char *const objectives[] = {"max_min", "agnostic", "finish_time", "makespan"};
        set_option(&s, "round_s", seed % 3 ? "5" : "360");
        set_option(&s, "gavel_objective", "%s", objectives[seed / 2 % 4]);
        set_flag(&s, "gavel_type_by_type", seed % 5 < 2);
        set_flag(&s, "gavel_new_jobs_wait", seed % 7 < 3);
        set_flag(&s, "gavel_by_owed_time", seed % 11 < 5);
        const struct tally tally = run_scenario(&s, policy, seed);
        if (tally.finished != 60)
            fail_msg("seed %d: %d of 60 jobs finished", (int)seed, (int)tally.finished);
        assert_true(tally.counts.programs > 0);
        assert_int_equal(tally.counts.unsolved, 0);
        adl_scenario_clear(&s);
    }
}

/* Wake-ups are a convenience: a world that sends none is not stuck. */
static void a_world_without_wake_ups_finishes(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    struct adl_rng rng;
    struct toy_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, 4);
    fixture_node(&cluster, 1, 4);
    world->cluster = &cluster;
    adl_rng_seed(&rng, 5, "gavel");
    for (int round = 0; round < 30; round++) {
        struct adl_engine_counts counts;
        const struct adl_policy_config config = {.settings = "round_s=1"};
        toy_random_jobs(world, &rng, 4);
        for (uint32_t i = 0; i < world->count; i++) {
            world->jobs[i].spec.flags = (uint8_t)(adl_rng_below(&rng, 2) ? ADL_JOB_PREEMPTIBLE : 0);
            world->jobs[i].submit_us *= 50000;
            for (uint32_t t = 0; t < 2; t++) {
                world->jobs[i].true_us[t] *= 50000;
                world->jobs[i].believed_us[t] *= 50000;
            }
        }
        toy_run(world, round % 2 ? &adl_policy_gavel : &adl_policy_gavel_jct, &config, &counts);
        assert_int_equal(counts.refused, 0);
    }
    free(world);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_jobs_take_turns_on_one_gpu),
        cmocka_unit_test(the_length_of_a_round_is_a_parameter),
        cmocka_unit_test(rounds_follow_from_run_times_and_the_cost_of_a_stop),
        cmocka_unit_test(a_round_ends_early_when_the_work_turns_out_to_be_short),
        cmocka_unit_test(jobs_that_may_not_be_preempted_run_to_their_end),
        cmocka_unit_test(no_turn_ends_before_something_of_it_is_kept),
        cmocka_unit_test(jobs_that_keep_their_gpus_are_not_restarted),
        cmocka_unit_test(the_job_that_gains_most_from_a_type_runs_on_it),
        cmocka_unit_test(a_new_job_waits_for_shares_if_told_to),
        cmocka_unit_test(types_are_filled_one_after_another_if_told_to),
        cmocka_unit_test(a_small_share_is_had_in_the_end),
        cmocka_unit_test(a_gang_gets_its_turn_among_small_jobs),
        cmocka_unit_test(random_worlds_finish_without_a_refusal),
        cmocka_unit_test(a_world_without_wake_ups_finishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
