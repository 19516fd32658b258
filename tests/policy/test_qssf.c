/* Tests of quasi-shortest service first: what history expects, what it may not know, and the order that follows. */
#include "peer_check.h"
#include "predict/history.h"

#include <string.h>

extern const struct adl_policy_ops adl_policy_qssf, adl_policy_qssf_strict, adl_policy_sjf;

#define SECOND INT64_C(1000000)

static struct adl_job_spec spec_of(uint32_t user, uint32_t name_id, uint16_t gpus, int64_t limit_s)
{
    return (struct adl_job_spec){
        .user = user, .name_id = name_id, .gpus = gpus, .types = 1, .limit_us = limit_s * SECOND};
}

/* Far more users than there is room for. */
static void those_heard_of_last_are_remembered(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    for (uint32_t user = 0; user < 100000; user++) {
        const struct adl_job_spec spec = spec_of(user, 1, 1, 100);
        adl_history_learn(&history, &spec, (user < 99990 ? 1 : 70) * SECOND);
    }
    /* Half of what is expected is the rolling mean, half the regression, which says little more than a second. */
    const struct adl_job_spec last = spec_of(99990, 1, 1, 100), first = spec_of(0, 1, 8, 100);
    assert_true(adl_history_predict(&history, &last) > 35 * SECOND);
    assert_true(adl_history_predict(&history, &first) < 2 * SECOND);
    adl_history_clear(&history);
}

static void nothing_is_expected_before_anything_ended(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    const struct adl_job_spec spec = spec_of(1, 1, 1, 100);
    assert_int_equal(adl_history_predict(&history, &spec), 0);
    adl_history_clear(&history);
}

static void the_users_own_name_counts_before_his_gpus_and_those_before_everybodys(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    const struct adl_job_spec own = spec_of(1, 1, 1, 100), other_name = spec_of(1, 2, 1, 100),
                              other_user = spec_of(2, 2, 1, 100), nobody = spec_of(3, 1, 8, 100);
    adl_history_learn(&history, &own, 10 * SECOND);
    adl_history_learn(&history, &other_name, 30 * SECOND);
    assert_int_equal(adl_history_predict(&history, &own), 10 * SECOND);
    assert_int_equal(adl_history_predict(&history, &other_name), 30 * SECOND);
    const struct adl_job_spec third = spec_of(1, 3, 1, 100);
    assert_int_equal(adl_history_predict(&history, &third), 20 * SECOND);
    assert_int_equal(adl_history_predict(&history, &other_user), 20 * SECOND);
    assert_int_equal(adl_history_predict(&history, &nobody), 0);
    adl_history_clear(&history);
}

/* Were no name a name, the mean of his two jobs would be 20 s. */
static void jobs_without_a_name_are_not_taken_for_one_another(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    const struct adl_job_spec small = spec_of(1, 0, 1, 100), large = spec_of(1, 0, 8, 100);
    adl_history_learn(&history, &small, 10 * SECOND);
    adl_history_learn(&history, &large, 30 * SECOND);
    assert_int_equal(adl_history_predict(&history, &small), 10 * SECOND);
    assert_int_equal(adl_history_predict(&history, &large), 30 * SECOND);
    assert_int_equal(adl_job_name_id(""), 0);
    assert_true(adl_job_name_id("a") != 0 && adl_job_name_id("a") != adl_job_name_id("b"));
    adl_history_clear(&history);
}

static void a_rolling_mean_follows_what_changed(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    const struct adl_job_spec spec = spec_of(1, 1, 1, 100);
    for (int i = 0; i < 6; i++)
        adl_history_learn(&history, &spec, 10 * SECOND);
    for (int i = 0; i < 9; i++)
        adl_history_learn(&history, &spec, 90 * SECOND);
    assert_true(adl_history_predict(&history, &spec) > 75 * SECOND);
    adl_history_clear(&history);
}

/* A tenth of what they asked for, whoever asks: a user never seen before is expected to do the same. */
static void the_regression_learns_how_limits_relate_to_times(void **unused)
{
    (void)unused;
    struct adl_history history;
    assert_int_equal(adl_history_create(&history), 0);
    for (uint32_t i = 0; i < 400; i++) {
        const int64_t limit_s = 100 + 97 * (int64_t)(i % 41);
        const struct adl_job_spec spec = spec_of(i, i, (uint16_t)(1 + i % 4), limit_s);
        adl_history_learn(&history, &spec, limit_s * SECOND / 10);
    }
    for (int64_t limit_s = 200; limit_s <= 3200; limit_s *= 2) {
        const struct adl_job_spec spec = spec_of(100000, 60000, 64, limit_s); /* nobody had 64 GPUs: no rolling mean */
        const double expected_s = (double)adl_history_predict(&history, &spec) / (double)SECOND;
        assert_true(expected_s > 0.08 * (double)limit_s && expected_s < 0.12 * (double)limit_s);
    }
    adl_history_clear(&history);
}

/* Runs of a class take the same time, and all users ask for the same limit. */
struct class_trace {
    uint32_t next;
};

#define CLASS_JOBS 60

/* Classes 0 and 1 in turn; 0 takes ten times as long. All but the first two come while the GPU is busy. */
static int class_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct class_trace *trace = self;
    if (trace->next == CLASS_JOBS)
        return 0;
    const uint32_t index = trace->next++;
    ret->spec = spec_of(1, adl_job_name_id(index % 2 ? "short" : "long"), 1, 1000);
    ret->spec.class_index = (uint16_t)(index % 2);
    ret->spec.id = index;
    ret->submit_us = index < 2 ? 0 : 115 * SECOND;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = index % 2 ? 10 * SECOND : 100 * SECOND;
    return 1;
}

struct order_seen {
    uint32_t class_index[CLASS_JOBS];
    uint32_t count;
};

static int note_finish(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct order_seen *seen = self;
    if (event->kind == ADL_EVENT_FINISH)
        seen->class_index[seen->count++] = state->jobs[event->job].spec.class_index;
    return 0;
}

static struct order_seen run_classes(const struct adl_policy_ops *policy, int regime)
{
    struct class_trace trace = {0};
    struct order_seen seen = {0};
    struct adl_scenario scenario = peer_check_scenario(1, 1);
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    scenario.classes = realloc(scenario.classes, 2 * sizeof *scenario.classes);
    assert_non_null(scenario.classes);
    memset(scenario.classes, 0, 2 * sizeof *scenario.classes);
    scenario.class_count = 2;
    const struct adl_job_source source = {.self = &trace, .next = class_next, .close = peer_close};
    assert_int_equal(adl_world_sim_create_from(&scenario, source, 1, regime, &world, &err), 0);
    const struct adl_engine_config config = {.cluster = &scenario.cluster,
                                             .policy = policy,
                                             .learned = regime == ADL_REGIME_LEARNED,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &seen, .event = note_finish}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("the run failed: %s", err.text);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&scenario);
    return seen;
}

static void the_class_that_ended_sooner_goes_first_once_that_was_seen(void **unused)
{
    (void)unused;
    const struct order_seen seen = run_classes(&adl_policy_qssf, ADL_REGIME_DECLARED);
    assert_int_equal(seen.count, CLASS_JOBS);
    assert_int_equal(seen.class_index[0], 0); /* nothing was known: by submission */
    for (uint32_t i = 2; i < CLASS_JOBS; i++)
        assert_int_equal(seen.class_index[i], i < 2 + (CLASS_JOBS - 2) / 2 ? 1 : 0);
}

/* sjf knows no more than it is given: the same limits for all, or what similar jobs took. */
static void in_the_learned_regime_every_policy_is_given_what_similar_jobs_took(void **unused)
{
    (void)unused;
    const struct order_seen told = run_classes(&adl_policy_sjf, ADL_REGIME_DECLARED);
    assert_int_equal(told.class_index[2], 0);
    assert_int_equal(told.class_index[3], 1);
    const struct adl_policy_ops *policies[] = {&adl_policy_sjf, &adl_policy_qssf};
    for (int p = 0; p < 2; p++) {
        const struct order_seen learned = run_classes(policies[p], ADL_REGIME_LEARNED);
        assert_int_equal(learned.class_index[0], 0); /* nothing was known: by submission */
        for (uint32_t i = 2; i < CLASS_JOBS; i++)
            assert_int_equal(learned.class_index[i], i < 2 + (CLASS_JOBS - 2) / 2 ? 1 : 0);
    }
}

static void a_revealed_time_needs_no_history(void **unused)
{
    (void)unused;
    const struct order_seen seen = run_classes(&adl_policy_qssf, ADL_REGIME_ORACLE);
    assert_int_equal(seen.class_index[0], 1);
}

static void of_equal_times_the_one_with_fewer_gpus_goes_first(void **unused)
{
    (void)unused;
    struct peer_job jobs[] = {{0, 0, 4, 10}, {1, 1, 4, 10}, {2, 2, 2, 10}};
    struct peer_trace trace = {.jobs = jobs, .count = 3};
    struct adl_scenario scenario = peer_check_scenario(1, 4);
    const struct peer_answer answer = peer_check_run(&scenario, &trace, &adl_policy_qssf);
    assert_int_equal(answer.jct_us, (10 + 29 + 18) * SECOND);
    adl_scenario_clear(&scenario);
}

/* 3 GPUs are free when the first in line wants 4. */
static void the_first_in_line_blocks_unless_first_fit(void **unused)
{
    (void)unused;
    struct peer_job jobs[] = {{0, 0, 1, 100}, {1, 1, 4, 10}, {2, 2, 2, 50}};
    struct peer_trace trace = {.jobs = jobs, .count = 3};
    struct adl_scenario scenario = peer_check_scenario(1, 4);
    assert_int_equal(peer_check_run(&scenario, &trace, &adl_policy_qssf).jct_us, (100 + 109 + 50) * SECOND);
    assert_int_equal(peer_check_run(&scenario, &trace, &adl_policy_qssf_strict).jct_us, (100 + 109 + 158) * SECOND);
    scenario.policy.settings = "first_fit=false";
    assert_int_equal(peer_check_run(&scenario, &trace, &adl_policy_qssf).jct_us, (100 + 109 + 158) * SECOND);
    adl_scenario_clear(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_expected_before_anything_ended),
        cmocka_unit_test(those_heard_of_last_are_remembered),
        cmocka_unit_test(the_users_own_name_counts_before_his_gpus_and_those_before_everybodys),
        cmocka_unit_test(jobs_without_a_name_are_not_taken_for_one_another),
        cmocka_unit_test(a_rolling_mean_follows_what_changed),
        cmocka_unit_test(the_regression_learns_how_limits_relate_to_times),
        cmocka_unit_test(the_class_that_ended_sooner_goes_first_once_that_was_seen),
        cmocka_unit_test(in_the_learned_regime_every_policy_is_given_what_similar_jobs_took),
        cmocka_unit_test(a_revealed_time_needs_no_history),
        cmocka_unit_test(of_equal_times_the_one_with_fewer_gpus_goes_first),
        cmocka_unit_test(the_first_in_line_blocks_unless_first_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
