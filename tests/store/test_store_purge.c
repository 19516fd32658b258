/* Ended jobs are deleted by their age or for room, in small steps, with all that is theirs and nothing else. */
#include "store_fixture.h"

#include "store/store_internal.h"

#define DAY INT64_C(86400000000)

static struct place place;
static struct adl_store *store;
static struct adl_error err;

static int open_it(void **state)
{
    (void)state;
    place = place_make_fast();
    store = store_open(&place);
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    adl_store_close(store);
    place_remove(&place);
    return 0;
}

/* A job of uid 1000 that ended at this time (0: it runs), with two events; of an array if payload is above 0. */
static uint64_t add(int64_t end_us, uint64_t payload)
{
    struct adl_store_job job = {
        .uid = 1000,
        .name = "job-1",
        .script = "0123456789",
        .array_id = payload,
        .array_index = 1,
        .payload = payload,
        .status = {.state = end_us ? ADL_STORE_COMPLETED : ADL_STORE_RUNNING, .end_us = end_us}};
    uint64_t id = 0;
    assert_int_equal(adl_store_job_add(store, &job, &id, &err), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_store_event_append(store,
                                                &(struct adl_store_event){.kind = "submit", .job = id, .payload = "{}"},
                                                NULL, &err),
                         0);
    return id;
}

static int64_t count(const char *question)
{
    sqlite3_stmt *sql = NULL;
    assert_int_equal(sqlite3_prepare_v2(store->db, question, -1, &sql, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(sql), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(sql, 0);
    sqlite3_finalize(sql);
    return number;
}

static int64_t usage(uint32_t uid)
{
    int64_t bytes = -1;
    assert_int_equal(adl_store_usage(store, uid, &bytes, &err), 0);
    return bytes;
}

static int see(void *context, const struct adl_store_job *job, struct adl_error *error)
{
    (void)context, (void)error;
    assert_string_equal(job->script, "0123456789");
    return 0;
}

static bool is_there(uint64_t id)
{
    return adl_store_job_read(store, id, see, NULL, &err) == 1;
}

static void jobs_that_ended_long_ago_are_deleted_with_their_events_and_live_ones_stay(void **state)
{
    (void)state;
    const uint64_t lives = add(0, 0), old = add(DAY, 0), young = add(20 * DAY, 0);
    const struct adl_store_event general[] = {{.time_us = DAY, .kind = "point", .payload = "{}"},
                                              {.time_us = 20 * DAY, .kind = "point", .payload = "{}"}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_store_event_append(store, &general[i], NULL, &err), 0);
    assert_int_equal(adl_store_purge(store, 10 * DAY, 50, &err), 1);
    assert_true(is_there(lives) && is_there(young) && !is_there(old));
    assert_int_equal(count("SELECT count(*) FROM event"), 5);
    assert_int_equal(count("SELECT count(*) FROM payload"), 2);
    assert_int_equal(adl_store_purge(store, 10 * DAY, 50, &err), 0);
    assert_int_equal(adl_store_job_last(store), young);
    assert_int_equal(adl_store_purge(store, INT64_MAX, 50, &err), 1);
    assert_int_equal(adl_store_job_last(store), young);
    assert_int_equal(add(0, 0), young + 1); /* no number is given twice */
}

static void what_an_array_shares_stays_as_long_as_one_of_its_jobs(void **state)
{
    (void)state;
    const uint64_t first = add(DAY, 0), second = add(0, first), third = add(2 * DAY, first);
    assert_int_equal(adl_store_purge(store, 10 * DAY, 50, &err), 2);
    assert_true(!is_there(first) && is_there(second) && !is_there(third));
    assert_int_equal(count("SELECT count(*) FROM payload"), 1);
    assert_int_equal(adl_store_job_update(
                         store, second, &(struct adl_store_status){.state = ADL_STORE_FAILED, .end_us = 3 * DAY}, &err),
                     0);
    assert_int_equal(adl_store_purge(store, 10 * DAY, 50, &err), 1);
    assert_int_equal(count("SELECT (SELECT count(*) FROM payload) + (SELECT count(*) FROM submission)"
                           " + (SELECT count(*) FROM job) + (SELECT count(*) FROM event)"),
                     0);
    assert_int_equal(usage(1000), 0);
}

static void a_step_deletes_so_many_and_no_more_oldest_end_first(void **state)
{
    (void)state;
    uint64_t ids[30];
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int i = 0; i < 30; i++)
        ids[i] = add((31 - i) * DAY, 0);
    assert_int_equal(adl_store_commit(store, &err), 0);
    assert_int_equal(adl_store_purge(store, INT64_MAX, 20, &err), 20);
    assert_true(is_there(ids[9]) && !is_there(ids[10]));
    assert_int_equal(adl_store_purge(store, INT64_MAX, 20, &err), 10);
    assert_int_equal(adl_store_purge(store, INT64_MAX, ADL_STORE_PURGE_MAX + 1, &err), ADL_EINVAL);
}

static void a_job_with_very_many_events_is_deleted_in_several_steps(void **state)
{
    (void)state;
    const uint64_t id = add(DAY, 0);
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int i = 0; i < 2500; i++)
        assert_int_equal(adl_store_event_append(
                             store, &(struct adl_store_event){.kind = "hold", .job = id, .payload = "{}"}, NULL, &err),
                         0);
    assert_int_equal(adl_store_commit(store, &err), 0);
    assert_int_equal(adl_store_purge(store, INT64_MAX, 1, &err), 1);
    assert_true(is_there(id));
    assert_int_equal(adl_store_purge(store, INT64_MAX, 1, &err), 1);
    assert_false(is_there(id));
}

static void usage_counts_the_payload_once_and_each_job_and_other_users_apart(void **state)
{
    (void)state;
    static struct made_job made;
    const uint64_t first = add(DAY, 0);
    const int64_t one = usage(1000);
    assert_int_equal(one, ADL_STORE_JOB_SIZE + 10);
    add(DAY, first);
    assert_int_equal(usage(1000), one + ADL_STORE_JOB_SIZE);
    make_job(1, &made);
    made.job.uid = 1001;
    uint64_t id = 0;
    assert_int_equal(adl_store_job_add(store, &made.job, &id, &err), 0);
    assert_int_equal(usage(1001), ADL_STORE_JOB_SIZE + adl_store_payload_size(&made.job));
    assert_int_equal(usage(1000), one + ADL_STORE_JOB_SIZE);
    assert_int_equal(usage(7), 0);
}

static void a_users_first_ended_jobs_are_deleted_when_space_is_needed(void **state)
{
    (void)state;
    const uint64_t lives = add(0, 0), first = add(5 * DAY, 0), second = add(DAY, 0);
    assert_int_equal(adl_store_purge_user(store, 1001, 10, &err), 0);
    assert_int_equal(adl_store_purge_user(store, 1000, 1, &err), 1);
    assert_true(is_there(lives) && !is_there(first) && is_there(second));
    assert_int_equal(adl_store_purge_user(store, 1000, 10, &err), 1);
    assert_true(is_there(lives));
}

#define PURGE_TEST(f) cmocka_unit_test_setup_teardown(f, open_it, close_it)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PURGE_TEST(jobs_that_ended_long_ago_are_deleted_with_their_events_and_live_ones_stay),
        PURGE_TEST(what_an_array_shares_stays_as_long_as_one_of_its_jobs),
        PURGE_TEST(a_step_deletes_so_many_and_no_more_oldest_end_first),
        PURGE_TEST(a_job_with_very_many_events_is_deleted_in_several_steps),
        PURGE_TEST(usage_counts_the_payload_once_and_each_job_and_other_users_apart),
        PURGE_TEST(a_users_first_ended_jobs_are_deleted_when_space_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
