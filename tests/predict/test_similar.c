/* Tests of predictions from similar jobs: what they may know, what they make of it, and how good they have to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared_data.h"

#include "foresight.h"

#define SECOND  INT64_C(1000000)
#define CHRONUS SHARED_DATA "data/chronus/trace_job_Philly_MIX1.csv"

static struct adl_similar *create(uint32_t capacity)
{
    struct adl_similar *similar = NULL;
    struct adl_error err = {.text = ""};
    if (adl_similar_create(capacity, &similar, &err))
        fail_msg("%s", err.text);
    return similar;
}

static struct adl_traits traits_of(uint32_t user, uint16_t class_index, uint16_t gpus, int64_t limit_s)
{
    const struct adl_job_spec spec = {
        .user = user, .class_index = class_index, .gpus = gpus, .types = 1, .limit_us = limit_s * SECOND};
    struct adl_traits traits;
    adl_traits_read(&traits, &spec, 0);
    return traits;
}

static double predict_s(struct adl_similar *similar, const struct adl_traits *traits)
{
    struct adl_similar_prediction answer;
    assert_true(adl_similar_predict(similar, traits, &answer));
    return (double)answer.run_us / (double)SECOND;
}

static void nothing_is_said_before_anything_was_learned(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(8);
    struct adl_similar_prediction answer = {.run_us = 77};
    const struct adl_traits traits = traits_of(1, 1, 1, 100);
    assert_false(adl_similar_predict(similar, &traits, &answer));
    assert_int_equal(answer.run_us, 77);
    adl_similar_learn(similar, &traits, 5 * SECOND, ADL_CLASS_UNKNOWN);
    assert_true(adl_similar_predict(similar, &traits, &answer));
    assert_in_range(answer.run_us, 5 * SECOND - 1, 5 * SECOND + 1);
    assert_int_equal(answer.class_index, ADL_CLASS_UNKNOWN);
    assert_int_equal(answer.neighbours, 1);
    adl_similar_destroy(similar);
}

static void jobs_of_the_same_class_say_more_than_others(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(1000);
    for (uint32_t i = 0; i < 600; i++) {
        const struct adl_traits traits = traits_of(i % 7, (uint16_t)(i % 3), 1, 3600);
        adl_similar_learn(similar, &traits, (i % 3 == 0 ? 10 : i % 3 == 1 ? 100 : 1000) * SECOND, i % 3);
    }
    for (uint16_t class_index = 0; class_index < 3; class_index++) {
        const struct adl_traits traits = traits_of(5, class_index, 1, 3600);
        const double truth = class_index == 0 ? 10 : class_index == 1 ? 100 : 1000;
        struct adl_similar_prediction answer;
        assert_true(adl_similar_predict(similar, &traits, &answer));
        assert_true(fabs(log((double)answer.run_us / (double)SECOND / truth)) < 0.1);
        assert_int_equal(answer.class_index, class_index);
        assert_true(answer.class_share > 0.9 && answer.spread < 0.5);
    }
    adl_similar_destroy(similar);
}

/* A tenth of what they asked for, whoever asks: so will one who asks for more than anybody did. */
static void what_limits_explain_is_carried_to_other_limits(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(1000);
    for (uint32_t i = 0; i < 400; i++) {
        const int64_t limit_s = 100 + 97 * (int64_t)(i % 41);
        const struct adl_traits traits = traits_of(i, 1, 1, limit_s);
        adl_similar_learn(similar, &traits, limit_s * SECOND / 10, 1);
    }
    for (int64_t limit_s = 200; limit_s <= 12800; limit_s *= 2) {
        const struct adl_traits traits = traits_of(1000, 1, 1, limit_s);
        assert_true(fabs(log(predict_s(similar, &traits) / (0.1 * (double)limit_s))) < 0.1);
    }
    adl_similar_destroy(similar);
}

/* Those without a limit run for a second; if that were taken for a limit of 0 it would pull the others down. */
static void a_missing_limit_is_not_a_limit_of_nothing(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(1000);
    struct adl_traits without = traits_of(1, 1, 1, 0);
    assert_false(without.values[ADL_TRAIT_LIMIT_US].known);
    assert_false(without.values[ADL_TRAIT_CORES].known);
    for (uint32_t i = 0; i < 40; i++) {
        const struct adl_traits with = traits_of(1, 1, 1, 1000);
        adl_similar_learn(similar, &with, 500 * SECOND, 1);
        adl_similar_learn(similar, &without, SECOND, 1);
    }
    const struct adl_traits with = traits_of(1, 1, 1, 1000);
    assert_true(fabs(log(predict_s(similar, &with) / 500)) < 0.01);
    assert_true(predict_s(similar, &without) < 20);
    adl_similar_destroy(similar);
}

static void what_was_forgotten_has_no_say(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(10);
    const struct adl_traits traits = traits_of(1, 1, 1, 1000);
    for (int i = 0; i < 30; i++)
        adl_similar_learn(similar, &traits, (i < 20 ? 900 : 9) * SECOND, 1);
    assert_true(fabs(log(predict_s(similar, &traits) / 9)) < 0.01);
    adl_similar_destroy(similar);
}

static void hold_to_bars(const struct foresight *seen, bool limits_too)
{
    const double ours = seen->error[BY_SIMILAR];
    assert_true(seen->count[BY_SIMILAR] > 3000);
    if (limits_too)
        assert_true(ours <= 0.7 * seen->error[BY_LIMIT]);
    assert_true(ours <= 0.9 * seen->error[BY_MEAN] && ours <= 0.9 * seen->error[BY_GEOMETRIC_MEAN]);
    assert_true(ours <= 0.9 * seen->error[BY_LAST_TWO]);
}

static void campus_jobs_are_told_better_than_by_limits_means_and_history(void **unused)
{
    (void)unused;
    struct adl_scenario scenario;
    struct adl_error err = {.text = ""};
    size_t count = 0;
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/campus512.yaml", &scenario, NULL, &err))
        fail_msg("%s", err.text);
    scenario.workload.jobs = 4000;
    struct past_job *jobs = jobs_of_scenario(&scenario, 9, &count);
    struct adl_similar *similar = create(4096);
    const struct foresight seen = look_ahead(jobs, count, 100, false, similar);
    hold_to_bars(&seen, true);
    assert_true(seen.error[BY_SIMILAR] < seen.error[BY_HISTORY]);
    assert_true(seen.spread_covers > 0.5 && seen.spread_covers < 0.85); /* a normal spread covers 0.68 */
    adl_similar_destroy(similar);
    free(jobs);
    adl_scenario_clear(&scenario);
}

static void chronus_jobs_are_told_better_than_by_deadlines_and_means(void **unused)
{
    (void)unused;
    size_t count = 0;
    struct past_job *jobs = jobs_of_chronus(CHRONUS, true, &count);
    assert_int_equal(count, 30940);
    struct adl_similar *similar = create(4096);
    const struct foresight seen = look_ahead(jobs + count / 3, 6000, 200, true, similar);
    hold_to_bars(&seen, true);
    adl_similar_destroy(similar);
    free(jobs);
}

/* Two users of equal habits but for one job in five, which runs for ten hours. */
static void without_a_limit_the_outer_deciles_are_those_of_the_users_jobs(void **unused)
{
    (void)unused;
    struct adl_similar *similar = create(16); /* neighbours are few */
    struct adl_similar_prediction steady, wild;
    for (int i = 0; i < 200; i++)
        for (uint32_t user = 0; user < 2; user++) {
            const struct adl_traits traits = traits_of(user, 0, 1, 0);
            const int64_t run_us = user == 1 && i % 5 == 0 && i < 190 ? 36000 * SECOND : 60 * SECOND;
            adl_similar_learn(similar, &traits, run_us, 0);
            adl_similar_end(similar, &traits, &(struct adl_life){0}, (double)run_us);
        }
    const struct adl_traits of_steady = traits_of(0, 0, 1, 0), of_wild = traits_of(1, 0, 1, 0);
    assert_true(adl_similar_predict(similar, &of_steady, &steady));
    assert_true(adl_similar_predict(similar, &of_wild, &wild));
    assert_true(wild.run_us < 61 * SECOND);
    assert_true(steady.deciles[8] < 1);
    assert_true(wild.deciles[8] > steady.deciles[8] + 1);
    adl_similar_destroy(similar);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_before_anything_was_learned),
        cmocka_unit_test(jobs_of_the_same_class_say_more_than_others),
        cmocka_unit_test(what_limits_explain_is_carried_to_other_limits),
        cmocka_unit_test(a_missing_limit_is_not_a_limit_of_nothing),
        cmocka_unit_test(what_was_forgotten_has_no_say),
        cmocka_unit_test(without_a_limit_the_outer_deciles_are_those_of_the_users_jobs),
        cmocka_unit_test(campus_jobs_are_told_better_than_by_limits_means_and_history),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(chronus_jobs_are_told_better_than_by_deadlines_and_means),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, tests, shared);
}
