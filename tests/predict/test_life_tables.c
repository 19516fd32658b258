/* Tests of life tables: what jobs that still run tell, how groups are shrunk, and that bytes keep them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict/life_tables.h"

#define MINUTE_US 60e6
#define HOUR_US   3600e6

static const struct adl_life_group first = {1, 4}, second = {2, 4};

static struct adl_life_tables *create(void)
{
    struct adl_life_tables *tables = NULL;
    assert_int_equal(adl_life_tables_create(&tables), 0);
    return tables;
}

static void end_jobs(struct adl_life_tables *tables, struct adl_life_group group, int count, double age_us)
{
    for (int i = 0; i < count; i++)
        adl_life_tables_end(tables, group, &(struct adl_life){0}, age_us);
}

/* The share of jobs that run longer than that. */
static double share_above(const struct adl_life_tables *tables, struct adl_life_group group, double age_us)
{
    float hazards[ADL_LIFE_BINS];
    double alive = 1;
    adl_life_tables_hazards(tables, group, hazards);
    for (int i = 0; i < (int)adl_life_place(log(age_us)); i++)
        alive *= 1 - (double)hazards[i];
    return alive;
}

static void jobs_that_still_run_count_at_the_ages_they_reached(void **unused)
{
    (void)unused;
    struct adl_life_tables *tables = create();
    end_jobs(tables, first, 20, MINUTE_US);
    assert_true(share_above(tables, first, HOUR_US) < 0.01);
    for (int i = 0; i < 20; i++) {
        struct adl_life life = {0};
        adl_life_tables_age(tables, first, &life, HOUR_US);
        adl_life_tables_age(tables, first, &life, 2 * HOUR_US);
    }
    assert_true(share_above(tables, first, HOUR_US) > 0.3);
    adl_life_tables_destroy(tables);
}

static void a_job_counts_once_at_each_age(void **unused)
{
    (void)unused;
    struct adl_life_tables *at_once = create(), *by_and_by = create();
    for (int i = 0; i < 20; i++) {
        struct adl_life life = {0};
        adl_life_tables_end(at_once, first, &(struct adl_life){0}, HOUR_US);
        for (double age_us = MINUTE_US; age_us < HOUR_US; age_us *= 1.5)
            adl_life_tables_age(by_and_by, first, &life, age_us);
        adl_life_tables_end(by_and_by, first, &life, HOUR_US);
    }
    for (double age_us = MINUTE_US; age_us < 3 * HOUR_US; age_us *= 1.3)
        assert_true(share_above(at_once, first, age_us) == share_above(by_and_by, first, age_us));
    adl_life_tables_destroy(at_once);
    adl_life_tables_destroy(by_and_by);
}

static void a_group_is_like_all_until_it_has_jobs_of_its_own(void **unused)
{
    (void)unused;
    const struct adl_life_group nobody = {3, 4};
    struct adl_life_tables *tables = create();
    end_jobs(tables, first, 50, MINUTE_US);
    end_jobs(tables, second, 50, HOUR_US);
    const double of_all = share_above(tables, nobody, 10 * MINUTE_US);
    assert_true(of_all > 0.4 && of_all < 0.6);
    assert_true(share_above(tables, first, 10 * MINUTE_US) < 0.3);
    assert_true(share_above(tables, second, 10 * MINUTE_US) > 0.7);
    adl_life_tables_destroy(tables);
}

static void nobody_is_expected_to_run_longer_than_anybody_did(void **unused)
{
    (void)unused;
    struct adl_life_tables *tables = create();
    struct adl_life life = {0};
    adl_life_tables_age(tables, first, &life, HOUR_US);
    assert_true(share_above(tables, first, HOUR_US) > 0);
    assert_true(share_above(tables, first, 2 * HOUR_US) == 0);
    adl_life_tables_destroy(tables);
}

static void the_jobs_of_one_group_outlast_thousands_of_others(void **unused)
{
    (void)unused;
    struct adl_life_tables *tables = create();
    end_jobs(tables, first, 200, HOUR_US);
    for (uint64_t owner = 100; owner < 3100; owner++)
        adl_life_tables_end(tables, (struct adl_life_group){owner, 1}, &(struct adl_life){0}, MINUTE_US);
    assert_true(share_above(tables, first, 10 * MINUTE_US) > 0.5);
    assert_true(share_above(tables, (struct adl_life_group){5000, 1}, 10 * MINUTE_US) < 0.1);
    adl_life_tables_destroy(tables);
}

/* Long jobs begin first and end last: what counts is that short ones began after them. */
static void jobs_that_began_last_count_most(void **unused)
{
    (void)unused;
    struct adl_life_tables *tables = create();
    struct adl_life lives[100] = {{0}};
    for (int i = 0; i < 100; i++)
        adl_life_tables_age(tables, first, &lives[i], MINUTE_US);
    end_jobs(tables, first, 100, MINUTE_US);
    for (int i = 0; i < 100; i++)
        adl_life_tables_end(tables, first, &lives[i], HOUR_US);
    assert_true(share_above(tables, first, 10 * MINUTE_US) < 0.2);
    adl_life_tables_destroy(tables);
}

static void a_job_is_counted_when_its_next_age_has_come(void **unused)
{
    (void)unused;
    struct adl_life_tables *tables = create();
    struct adl_life life = {0};
    adl_life_tables_age(tables, first, &life, HOUR_US);
    const uint8_t reached = life.reached;
    const double next_us = adl_life_next_us(&life);
    assert_true(next_us > HOUR_US && next_us < 1.2 * HOUR_US);
    adl_life_tables_age(tables, first, &life, 0.999 * next_us);
    assert_int_equal(life.reached, reached);
    adl_life_tables_age(tables, first, &life, 1.001 * next_us);
    assert_int_equal(life.reached, reached + 1);
    adl_life_tables_destroy(tables);
}

static void bytes_keep_groups_where_users_mean_the_same(void **unused)
{
    (void)unused;
    for (int same = 0; same < 2; same++) {
        struct adl_life_tables *written = create(), *read = create();
        struct adl_text bytes = {0};
        end_jobs(written, first, 50, MINUTE_US);
        end_jobs(written, second, 50, HOUR_US);
        adl_life_tables_encode(written, &bytes);
        const unsigned char *data = (const unsigned char *)bytes.data;
        struct adl_unpack from = {data, data + bytes.size, false};
        adl_life_tables_decode(read, &from, same);
        assert_false(from.failed);
        assert_ptr_equal(from.at, from.end);
        const double share = share_above(read, second, 10 * MINUTE_US);
        assert_true(same ? share == share_above(written, second, 10 * MINUTE_US) : share < 0.6);
        struct adl_unpack cut = {data, data + bytes.size - 1, false};
        adl_life_tables_decode(read, &cut, same);
        assert_true(cut.failed);
        adl_text_clear(&bytes);
        adl_life_tables_destroy(written);
        adl_life_tables_destroy(read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_still_run_count_at_the_ages_they_reached),
        cmocka_unit_test(a_job_counts_once_at_each_age),
        cmocka_unit_test(a_group_is_like_all_until_it_has_jobs_of_its_own),
        cmocka_unit_test(nobody_is_expected_to_run_longer_than_anybody_did),
        cmocka_unit_test(the_jobs_of_one_group_outlast_thousands_of_others),
        cmocka_unit_test(jobs_that_began_last_count_most),
        cmocka_unit_test(a_job_is_counted_when_its_next_age_has_come),
        cmocka_unit_test(bytes_keep_groups_where_users_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
