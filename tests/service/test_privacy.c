/* What is left of texts about jobs for a user who may only see the user's own. */
#include "service/privacy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { ANN = 1001, BOB = 1002 };

static struct adl_service_state shared;

static void add_job(uint64_t id, uint32_t uid, int64_t external)
{
    const struct adl_store_job job = {.spec = {.id = id, .gpus = 1},
                                      .uid = uid,
                                      .user = "u",
                                      .name = "n",
                                      .request = "1",
                                      .script = "",
                                      .directory = "/",
                                      .stdout_path = "",
                                      .stderr_path = "",
                                      .array_index = -1,
                                      .external = external,
                                      .status = {.reason = ""}};
    assert_non_null(adl_job_table_add(&shared.job_table, &job));
}

static int make_state(void **state)
{
    (void)state;
    shared = (struct adl_service_state){.private_jobs = true};
    assert_int_equal(adl_job_table_create(&shared.job_table), 0);
    add_job(7, ANN, 0);
    add_job(8, BOB, 0);
    add_job(9, ANN, 12);
    return 0;
}

static int clear_state(void **state)
{
    (void)state;
    adl_job_table_clear(&shared.job_table);
    return 0;
}

static void assert_reads(const char *text, const char *expected)
{
    struct adl_text out = {0};
    adl_privacy_redact_text(&out, &shared, ANN, text);
    assert_string_equal(out.data, expected);
    adl_text_clear(&out);
}

static void jobs_of_others_and_jobs_that_are_not_known_are_not_named(void **state)
{
    (void)state;
    assert_reads("", "");
    assert_reads("behind job 7, which runs", "behind job 7, which runs");
    assert_reads("behind job 8, which runs", "behind another job, which runs");
    assert_reads("job 8", "another job");
    assert_reads("job 8_3 and job 7 and job 99", "another job and job 7 and another job");
    assert_reads("{\"why\":\"after job 8\",\"job\":7}", "{\"why\":\"after another job\",\"job\":7}");
    assert_reads("job 9 is called otherwise below", "another job is called otherwise below");
    assert_reads("a job waits; Djob 8", "a job waits; Djob 8"); /* words that name none */
}

static void administrators_and_open_listings_see_every_name(void **state)
{
    (void)state;
    struct adl_caller ann = {.known = true, .account = {.uid = ANN}}, root = {.known = true, .admin = true};
    char text[16] = "behind job 8";
    assert_false(adl_privacy_shows(&shared, &ann, BOB));
    assert_true(adl_privacy_shows(&shared, &ann, ANN) && adl_privacy_shows(&shared, &root, BOB));
    adl_privacy_redact(&shared, &root, text, sizeof text);
    assert_string_equal(text, "behind job 8");
    adl_privacy_redact(&shared, &ann, text, sizeof text);
    assert_string_equal(text, "behind another "); /* as much as there is room for */
    shared.private_jobs = false;
    assert_true(adl_privacy_shows(&shared, &ann, BOB));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_of_others_and_jobs_that_are_not_known_are_not_named, make_state,
                                        clear_state),
        cmocka_unit_test_setup_teardown(administrators_and_open_listings_see_every_name, make_state, clear_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
