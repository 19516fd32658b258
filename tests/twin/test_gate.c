/* The gate: it opens on a gain that was shown for long enough, stays shut on noise, and rolls back on a loss. */
#include "twin/gate.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DAY_US INT64_C(86400000000)

static const struct adl_gate_terms terms = ADL_GATE_TERMS;

static struct adl_rng rng_of(uint64_t seed)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "gate");
    return rng;
}

/* A window of a day in which the candidate's mean JCT is this share of 1,000 s more. */
static void add_window(struct adl_shadow_evidence *evidence, double change, double tail, double missed)
{
    const int64_t begin_us = (int64_t)evidence->windows * DAY_US;
    const struct adl_shadow_sample sample = {
        .real.figures = {1000, 2000, 0, 0.1},
        .in_force.figures = {1000, 2000, 1e6, 0.1},
        .candidate.figures = {1000 * (1 + change), 2000 * (1 + tail), 1e6, 0.1 + missed},
        .jobs = 100,
        .begin_us = begin_us,
        .end_us = begin_us + DAY_US};
    adl_shadow_learn(evidence, &sample);
}

static void test_interval_holds_at_all_times(void **unused)
{
    (void)unused;
    enum { RUNS = 400, LOOKS = 200 };
    int left = 0;
    for (int run = 0; run < RUNS; run++) {
        struct adl_rng rng = rng_of(700000 + (uint64_t)run);
        struct adl_confidence confidence = {0};
        bool outside = false;
        for (int look = 0; look < LOOKS; look++) {
            adl_confidence_add(&confidence, 3 + 0.5 * adl_rng_normal(&rng));
            const struct adl_interval interval = adl_confidence_interval(&confidence, 0.05);
            outside |= interval.lo > 3 || interval.hi < 3;
        }
        left += outside;
    }
    assert_true(left <= RUNS * 0.05);
}

static void test_interval_shrinks_to_the_mean(void **unused)
{
    (void)unused;
    struct adl_rng rng = rng_of(700001);
    struct adl_confidence confidence = {0};
    adl_confidence_add(&confidence, 1);
    assert_true(isinf(adl_confidence_interval(&confidence, 0.01).hi));
    for (int i = 0; i < 1000; i++)
        adl_confidence_add(&confidence, 1 + adl_rng_normal(&rng));
    const struct adl_interval interval = adl_confidence_interval(&confidence, 0.01);
    assert_true(interval.lo > 0.8 && interval.hi < 1.2 && interval.lo < interval.hi);
}

static void test_gate_opens_on_a_gain_only_after_the_stated_time(void **unused)
{
    (void)unused;
    struct adl_shadow_evidence evidence = {0};
    struct adl_gate gate;
    struct adl_error err;
    struct adl_rng rng = rng_of(700002);
    int action = 0;
    adl_gate_begin(&gate, &terms);
    for (int day = 0; day < 6; day++) {
        add_window(&evidence, -0.2 + 0.01 * adl_rng_normal(&rng), 0, 0);
        assert_int_equal(adl_gate_judge(&gate, &evidence), ADL_GATE_NOTHING);
    }
    assert_int_equal(adl_gate_promote(&gate, &evidence, false, &err), ADL_EREFUSED);
    assert_non_null(strstr(err.text, "of 7.0 days"));
    assert_non_null(strstr(err.text, "6 windows"));
    for (int day = 6; day < 8; day++) {
        add_window(&evidence, -0.2 + 0.01 * adl_rng_normal(&rng), 0, 0);
        action |= adl_gate_judge(&gate, &evidence);
    }
    assert_int_equal(action, ADL_GATE_MAY_PROMOTE);
    assert_int_equal(adl_gate_promote(&gate, &evidence, false, &err), 0);
    assert_int_equal(gate.stage, ADL_GATE_ON_TRIAL);
}

static void test_gate_stays_shut_without_a_gain(void **unused)
{
    (void)unused;
    int opened = 0;
    for (int run = 0; run < 1000; run++) {
        struct adl_shadow_evidence evidence = {0};
        struct adl_gate gate;
        struct adl_rng rng = rng_of(710000 + (uint64_t)run);
        bool open = false;
        adl_gate_begin(&gate, &terms);
        for (int day = 0; day < 120; day++) {
            add_window(&evidence, 0.2 * adl_rng_normal(&rng), 0, 0);
            open |= adl_gate_judge(&gate, &evidence) == ADL_GATE_MAY_PROMOTE;
        }
        opened += open;
    }
    if (opened > 10)
        fail_msg("%d of 1,000 opened, at most 10 may", opened);
}

static void test_gate_closes_when_a_guarantee_is_broken(void **unused)
{
    (void)unused;
    const struct {
        double tail, missed;
        uint64_t refused;
        const char *reason;
    } cases[] = {{0, 0.05, 0, "deadlines"}, {0.6, 0, 0, "99th percentile"}, {0, 0, 1, "not valid"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_shadow_evidence evidence = {.refused = cases[i].refused};
        struct adl_gate gate;
        struct adl_error err;
        struct adl_rng rng = rng_of(700003);
        adl_gate_begin(&gate, &terms);
        for (int day = 0; day < 30; day++)
            add_window(&evidence, -0.2 + 0.01 * adl_rng_normal(&rng), cases[i].tail + 0.01 * adl_rng_normal(&rng),
                       cases[i].missed + 0.001 * adl_rng_normal(&rng));
        assert_int_equal(adl_gate_judge(&gate, &evidence), ADL_GATE_NOTHING);
        assert_int_equal(adl_gate_promote(&gate, &evidence, false, &err), ADL_EREFUSED);
        assert_non_null(strstr(err.text, cases[i].reason));
        assert_int_equal(adl_gate_promote(&gate, &evidence, true, &err), 0); /* by force */
    }
}

static void promote(struct adl_gate *gate)
{
    const struct adl_shadow_evidence none = {0};
    struct adl_error err;
    adl_gate_begin(gate, &terms);
    assert_int_equal(adl_gate_promote(gate, &none, true, &err), 0);
}

static void test_promoted_policy_is_rolled_back_on_a_loss(void **unused)
{
    (void)unused;
    struct adl_shadow_evidence evidence = {0};
    struct adl_gate gate;
    struct adl_rng rng = rng_of(700004);
    int action = ADL_GATE_NOTHING;
    promote(&gate);
    for (int day = 0; day < 20 && action == ADL_GATE_NOTHING; day++) {
        add_window(&evidence, -0.2 + 0.02 * adl_rng_normal(&rng), 0, 0); /* the policy before would have done better */
        action = adl_gate_judge(&gate, &evidence);
    }
    assert_int_equal(action, ADL_GATE_ROLL_BACK);
    assert_int_equal(gate.stage, ADL_GATE_ROLLED_BACK);
    assert_int_equal(adl_gate_judge(&gate, &evidence), ADL_GATE_NOTHING);
}

static void test_promoted_policy_is_confirmed_without_a_loss(void **unused)
{
    (void)unused;
    struct adl_shadow_evidence evidence = {0};
    struct adl_gate gate;
    struct adl_rng rng = rng_of(700005);
    int action = ADL_GATE_NOTHING, days = 0;
    promote(&gate);
    for (; days < 60 && action == ADL_GATE_NOTHING; days++) {
        add_window(&evidence, 0.1 + 0.1 * adl_rng_normal(&rng), 0, 0);
        action = adl_gate_judge(&gate, &evidence);
    }
    assert_int_equal(action, ADL_GATE_CONFIRM);
    assert_int_equal(days, 28);
}

static void test_look_ahead_rolls_back_a_large_loss_at_once(void **unused)
{
    (void)unused;
    struct adl_trial bad = {.in_force = 1}, good = {.in_force = 1};
    struct adl_gate gate;
    struct adl_rng rng = rng_of(700006);
    for (int i = 0; i < ADL_TRIAL_FUTURES; i++) {
        adl_confidence_add(&bad.change, -0.4 + 0.1 * adl_rng_normal(&rng));
        adl_confidence_add(&good.change, 0.1 * adl_rng_normal(&rng));
    }
    promote(&gate);
    for (int look = 0; look < 100; look++)
        assert_int_equal(adl_gate_try(&gate, &good), ADL_GATE_NOTHING);
    assert_int_equal(adl_gate_try(&gate, &bad), ADL_GATE_ROLL_BACK);
    assert_int_equal(adl_gate_try(&gate, &bad), ADL_GATE_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval_holds_at_all_times),
        cmocka_unit_test(test_interval_shrinks_to_the_mean),
        cmocka_unit_test(test_gate_opens_on_a_gain_only_after_the_stated_time),
        cmocka_unit_test(test_gate_stays_shut_without_a_gain),
        cmocka_unit_test(test_gate_closes_when_a_guarantee_is_broken),
        cmocka_unit_test(test_promoted_policy_is_rolled_back_on_a_loss),
        cmocka_unit_test(test_promoted_policy_is_confirmed_without_a_loss),
        cmocka_unit_test(test_look_ahead_rolls_back_a_large_loss_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
