/* The estimates: what is measured stays, what is guessed follows, what is not heard of is forgotten. */
#include "base/rng.h"
#include "estimates_fixture.h"
#include "estimator/lab.h"

#include <stdlib.h>

static struct adl_estimate look(const struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t beside)
{
    struct adl_estimate found;
    adl_estimates_find(estimates, profile, type, beside, &found);
    return found;
}

static void equal_jobs_share_a_profile_and_others_do_not(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 8);
    struct adl_job_spec a = job_make(0), again = job_make(0), b = job_make(1), gang = job_make(0);
    again.id = 99;
    again.user = 5;
    gang.gpus = 2;
    const uint32_t first = adl_estimates_profile(e, &a, false);
    assert_int_equal(adl_estimates_profile(e, &again, false), first);
    assert_int_not_equal(adl_estimates_profile(e, &b, false), first);
    const uint32_t two = adl_estimates_profile(e, &gang, false);
    assert_int_not_equal(two, first);
    assert_int_not_equal(adl_estimates_profile(e, &gang, true), two);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void a_measured_cell_is_never_overwritten_by_a_guess(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_rng rng;
    cluster_make(&cluster);
    adl_rng_seed(&rng, 3, "measured");
    struct adl_estimates *e = estimates_make(&cluster, 12);
    enum { JOBS = 10 };
    uint32_t profile[JOBS];
    double kept[JOBS][JOBS + 1][TYPES] = {{{0}}};
    for (uint32_t j = 0; j < JOBS; j++) {
        const struct adl_job_spec spec = job_make(j);
        profile[j] = adl_estimates_profile(e, &spec, false);
    }
    for (int i = 0; i < 600; i++) {
        const uint32_t a = adl_rng_below(&rng, JOBS), b = adl_rng_below(&rng, JOBS + 1), t = adl_rng_below(&rng, TYPES);
        if (kept[a][b][t] > 0)
            continue;
        kept[a][b][t] = 0.5 + 20 * adl_rng_uniform(&rng);
        adl_estimates_measure(e, profile[a], t, b < JOBS ? profile[b] : ADL_NONE, kept[a][b][t]);
        for (uint32_t c = 0; c < JOBS; c++)
            for (uint32_t d = 0; d < JOBS + 1; d++)
                for (uint32_t u = 0; u < TYPES; u++) {
                    const struct adl_estimate found = look(e, profile[c], u, d < JOBS ? profile[d] : ADL_NONE);
                    assert_int_equal(found.source == ADL_ESTIMATE_MEASURED, kept[c][d][u] > 0);
                    assert_int_equal(found.measurements, kept[c][d][u] > 0);
                    if (kept[c][d][u] > 0)
                        assert_true(fabs(found.steps_per_s / kept[c][d][u] - 1) < 1e-5);
                }
    }
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void repeated_measurements_follow_the_newest_and_narrow_the_interval(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 4);
    const struct adl_job_spec spec = job_make(0);
    const uint32_t p = adl_estimates_profile(e, &spec, false);
    adl_estimates_measure(e, p, 1, ADL_NONE, 10);
    const struct adl_estimate once = look(e, p, 1, ADL_NONE);
    for (int i = 0; i < 9; i++)
        adl_estimates_measure(e, p, 1, ADL_NONE, 10);
    const struct adl_estimate often = look(e, p, 1, ADL_NONE);
    assert_int_equal(often.measurements, 10);
    assert_true(often.high - often.low < once.high - once.low);
    for (int i = 0; i < 60; i++)
        adl_estimates_measure(e, p, 1, ADL_NONE, 20);
    assert_true(fabs(look(e, p, 1, ADL_NONE).steps_per_s - 20) < 0.1);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void nonsense_is_not_a_measurement(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 4);
    const struct adl_job_spec spec = job_make(0);
    const uint32_t p = adl_estimates_profile(e, &spec, false);
    const struct adl_estimate before = look(e, p, 0, ADL_NONE);
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        adl_estimates_measure(e, p, 0, ADL_NONE, bad[i]);
    adl_estimates_measure(e, p, TYPES, ADL_NONE, 1);
    adl_estimates_measure(e, p, 0, 3, 1);
    adl_estimates_measure(e, 77, 0, ADL_NONE, 1);
    const struct adl_estimate after = look(e, p, 0, ADL_NONE);
    assert_memory_equal(&before.steps_per_s, &after.steps_per_s, sizeof before.steps_per_s);
    assert_int_equal(after.source, ADL_ESTIMATE_INITIAL);
    assert_true(look(e, 77, 0, ADL_NONE).steps_per_s == 0);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void intervals_hold_their_estimate_and_company_never_speeds_up(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_rng rng;
    cluster_make(&cluster);
    adl_rng_seed(&rng, 9, "intervals");
    struct adl_estimates *e = estimates_make(&cluster, 6);
    uint32_t profile[6];
    for (uint32_t j = 0; j < 6; j++) {
        const struct adl_job_spec spec = job_make(j);
        profile[j] = adl_estimates_profile(e, &spec, false);
    }
    for (int i = 0; i < 40; i++) {
        adl_estimates_measure(e, profile[adl_rng_below(&rng, 6)], adl_rng_below(&rng, TYPES),
                              i % 2 ? ADL_NONE : profile[adl_rng_below(&rng, 6)], 0.1 + 30 * adl_rng_uniform(&rng));
        for (uint32_t a = 0; a < 6; a++)
            for (uint32_t b = 0; b < 7; b++)
                for (uint32_t t = 0; t < TYPES; t++) {
                    const struct adl_estimate found = look(e, profile[a], t, b < 6 ? profile[b] : ADL_NONE);
                    assert_true(isfinite(found.high) && found.low > 0);
                    assert_true(found.low < found.steps_per_s && found.steps_per_s < found.high);
                    const struct adl_estimate alone = look(e, profile[a], t, ADL_NONE);
                    if (b < 6 && found.source != ADL_ESTIMATE_MEASURED)
                        assert_true(found.steps_per_s <= alone.steps_per_s * (1 + 1e-6));
                }
    }
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void what_does_not_fit_does_not_run(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 4);
    struct adl_job_spec large = job_make(0), small = job_make(1);
    large.gpu_memory_mib = 14000;
    small.gpu_memory_mib = 2000;
    const uint32_t p = adl_estimates_profile(e, &large, false), q = adl_estimates_profile(e, &small, false);
    assert_true(look(e, p, 0, ADL_NONE).steps_per_s == 0); /* 12 GB */
    assert_true(look(e, p, 1, ADL_NONE).steps_per_s > 0);
    assert_true(look(e, p, 1, q).steps_per_s > 0);
    assert_true(look(e, p, 1, p).steps_per_s == 0);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

static void equal_events_give_equal_estimates(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *twins[2] = {estimates_make(&cluster, 5), estimates_make(&cluster, 5)};
    struct adl_rng rng;
    adl_rng_seed(&rng, 4, "twins");
    for (int i = 0; i < 300; i++) {
        const struct adl_job_spec a = job_make(adl_rng_below(&rng, 8)), b = job_make(adl_rng_below(&rng, 8));
        const uint32_t t = adl_rng_below(&rng, TYPES);
        const double speed = 0.5 + 10 * adl_rng_uniform(&rng);
        const bool alone = adl_rng_uniform(&rng) < 0.5;
        for (int w = 0; w < 2; w++) {
            const uint32_t p = adl_estimates_profile(twins[w], &a, false),
                           q = adl_estimates_profile(twins[w], &b, false);
            /* One of them is also asked in between: looking must change nothing. */
            if (w == 1 && i % 3 == 0)
                look(twins[w], q, t, p);
            adl_estimates_measure(twins[w], p, t, alone ? ADL_NONE : q, speed);
        }
        for (uint32_t p = 0; p < 5; p++)
            for (uint32_t u = 0; u < TYPES; u++) {
                const struct adl_estimate x = look(twins[0], p, u, ADL_NONE), y = look(twins[1], p, u, ADL_NONE);
                assert_true(x.steps_per_s == y.steps_per_s && x.low == y.low && x.high == y.high);
                assert_int_equal(x.source, y.source);
            }
    }
    for (uint32_t p = 0; p < 5; p++)
        for (uint32_t q = 0; q < 5; q++)
            assert_true(look(twins[0], p, 1, q).steps_per_s == look(twins[1], p, 1, q).steps_per_s);
    adl_estimates_destroy(twins[0]);
    adl_estimates_destroy(twins[1]);
    adl_cluster_clear(&cluster);
}

static void of_too_many_profiles_the_one_not_heard_of_for_longest_is_forgotten(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    struct adl_estimates *e = estimates_make(&cluster, 3);
    struct adl_job_spec spec[4];
    uint32_t profile[4];
    for (uint32_t j = 0; j < 4; j++)
        spec[j] = job_make(j);
    for (uint32_t j = 0; j < 3; j++)
        profile[j] = adl_estimates_profile(e, &spec[j], false);
    adl_estimates_measure(e, profile[1], 0, profile[2], 5);
    adl_estimates_measure(e, profile[0], 0, ADL_NONE, 5);
    adl_estimates_profile(e, &spec[2], false);
    const uint64_t key = adl_estimates_key(e, profile[1]);
    assert_true(key == adl_estimates_key(e, profile[1]) && key != adl_estimates_key(e, profile[0]));
    profile[3] = adl_estimates_profile(e, &spec[3], false);
    assert_int_equal(profile[3], profile[1]); /* in its place, and nothing of it is left */
    assert_true(adl_estimates_key(e, profile[3]) != key);
    for (uint32_t t = 0; t < TYPES; t++) {
        assert_int_equal(look(e, profile[3], t, ADL_NONE).source, ADL_ESTIMATE_INITIAL);
        assert_int_equal(look(e, profile[3], t, profile[2]).measurements, 0);
    }
    assert_int_equal(look(e, profile[0], 0, ADL_NONE).source, ADL_ESTIMATE_MEASURED);
    adl_estimates_destroy(e);
    adl_cluster_clear(&cluster);
}

/* ---- on the prior, in labs that the shipped networks were not trained on ---- */

struct record {
    double error[4], inside, count; /* error after 0, 1, 2, 3 measurements on the cells that none of these are */
};

static void try_lab(const struct adl_lab *lab, struct adl_rng *rng, struct record *record)
{
    struct adl_cluster cluster = {.types = (struct adl_gpu_type *)lab->types, .type_count = lab->type_count};
    struct adl_estimates *e = estimates_make(&cluster, ADL_LAB_JOBS);
    const uint32_t job = adl_rng_below(rng, lab->job_count), first = adl_rng_below(rng, lab->type_count);
    for (uint32_t j = 0; j < lab->job_count; j++)
        if (lab->family[j] != lab->family[job]) {
            const uint32_t p = adl_estimates_profile(e, &lab->jobs[j], lab->spans[j]);
            for (uint32_t t = 0; t < lab->type_count; t++)
                adl_estimates_measure(e, p, t, ADL_NONE, exp(lab->rate[j][t]));
        }
    const uint32_t p = adl_estimates_profile(e, &lab->jobs[job], lab->spans[job]);
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t t = 3; t < lab->type_count; t++) {
            const uint32_t type = (first + t) % lab->type_count;
            const struct adl_estimate found = look(e, p, type, ADL_NONE);
            if (!(found.steps_per_s > 0))
                continue; /* too large for it */
            record->error[k] += fabs(log(found.steps_per_s) - lab->rate[job][type]);
            record->inside += exp(lab->rate[job][type]) >= found.low && exp(lab->rate[job][type]) <= found.high;
            record->count += 1;
        }
        if (k < 3)
            adl_estimates_measure(e, p, (first + k) % lab->type_count, ADL_NONE,
                                  exp(lab->rate[job][(first + k) % lab->type_count]));
    }
    adl_estimates_destroy(e);
}

static void each_measurement_lowers_the_error_elsewhere_and_intervals_cover(void **state)
{
    (void)state;
    struct adl_lab *lab = malloc(sizeof *lab);
    struct record record = {{0}, 0, 0};
    struct adl_rng rng;
    assert_non_null(lab);
    adl_rng_seed(&rng, 4242, "labs never seen");
    for (int i = 0; i < 300; i++) {
        adl_lab_draw(&rng, lab);
        try_lab(lab, &rng, &record);
    }
    free(lab);
    for (int k = 1; k < 4; k++)
        assert_true(record.error[k] < record.error[k - 1]);
    assert_true(record.error[2] < 0.7 * record.error[0]);
    assert_true(record.inside / record.count > 0.86 && record.inside / record.count < 0.94);
}

static void too_many_profiles_and_bad_models_are_refused(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_estimates *e = NULL;
    struct adl_error err = {{0}};
    cluster_make(&cluster);
    assert_int_equal(adl_estimates_create(&cluster, 0, NULL, 0, &e, &err), ADL_EINVAL);
    assert_int_equal(adl_estimates_create(&cluster, 1u << 20, NULL, 0, &e, &err), ADL_EINVAL);
    assert_int_equal(adl_estimates_create(&cluster, 4, "no model", 8, &e, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "ADLROEST"));
    assert_null(e);
    adl_estimates_destroy(NULL);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_jobs_share_a_profile_and_others_do_not),
        cmocka_unit_test(a_measured_cell_is_never_overwritten_by_a_guess),
        cmocka_unit_test(repeated_measurements_follow_the_newest_and_narrow_the_interval),
        cmocka_unit_test(nonsense_is_not_a_measurement),
        cmocka_unit_test(intervals_hold_their_estimate_and_company_never_speeds_up),
        cmocka_unit_test(what_does_not_fit_does_not_run),
        cmocka_unit_test(equal_events_give_equal_estimates),
        cmocka_unit_test(of_too_many_profiles_the_one_not_heard_of_for_longest_is_forgotten),
        cmocka_unit_test(each_measurement_lowers_the_error_elsewhere_and_intervals_cover),
        cmocka_unit_test(too_many_profiles_and_bad_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
