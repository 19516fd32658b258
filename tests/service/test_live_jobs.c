/* A live job's moves in the service. */
#include "service/live/live_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static char said[200];

static void hear(const char *text)
{
    snprintf(said, sizeof said, "%s", text);
}

static void a_move_that_the_table_does_not_have_is_told_and_counted_and_changes_nothing(void **state)
{
    (void)state;
    struct adl_service_state shared = {.version = ""};
    struct adl_live live = {.config.say = hear, .shared = &shared, .now_us = 5};
    const struct adl_store_job row = {.spec = {.id = 7, .gpus = 1}, .name = "a", .array_index = -1};
    assert_int_equal(adl_job_table_create(&shared.job_table), 0);
    struct adl_job_entry *job = adl_job_table_add(&shared.job_table, &row);
    assert_non_null(job);
    assert_int_equal(adl_live_transition(&live, job, ADL_ON_RECOVER), 0);
    assert_string_equal(said, "");
    assert_int_equal(adl_live_transition(&live, job, ADL_ON_START), ADL_EREFUSED);
    assert_string_equal(said,
                        "internal error: job 7: 'start' is impossible in stage 'running'; the job stays as it is");
    assert_int_equal(shared.counts.impossible_moves, 1);
    assert_int_equal(job->stage, ADL_STAGE_RUNNING);
    assert_int_equal(job->attempts, 0);
    adl_job_table_clear(&shared.job_table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_that_the_table_does_not_have_is_told_and_counted_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
