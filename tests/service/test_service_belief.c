/* What the service has learned about jobs: it outlives a stop and a kill, and if it cannot be read it is kept aside,
 * said, and learned again from the jobs in the state. */
#include "predict/belief.h"
#include "service_check.h"
#include "store/store.h"

static const char two_types[] = "virtual: true\n"
                                "cluster:\n"
                                "  network_gbs: 1\n"
                                "  nodes:\n"
                                "    - {name: n, cpu_cores: 100, memory_mib: 100000, link_gbs: 16,\n"
                                "       gpus: [{type: v100, count: 2}, {type: a100, count: 2}]}\n"
                                "jobs: {root: true, grace_s: 1}\n";

static void stop_service(int signal)
{
    client_hang_up(&http);
    assert_int_equal(service_signal(signal), signal == SIGTERM ? 0 : 128 + signal);
}

static void run_jobs(int count)
{
    uint64_t ids[8];
    for (int i = 0; i < count; i++)
        ids[i] = submit(i % 2 ? "odd" : "even", i % 2 ? "0.02" : "0.1", i == 3, ",\"gpus\":\"v100|a100\"");
    for (int i = 0; i < count; i++)
        wait_for(ids[i], "state", i == 3 ? "F" : "CD");
}

static int take(void *context, const struct adl_store_belief *belief, struct adl_error *err)
{
    (void)err;
    adl_text_bytes(context, belief->content, belief->size);
    return 0;
}

static struct adl_text stored(const char *name)
{
    struct adl_store *store = NULL;
    struct adl_error err = {""};
    struct adl_text text = {0};
    assert_int_equal(adl_store_open(service_path("state"), ADL_STORE_READ, &store, &err), 0);
    assert_int_equal(adl_store_belief_read(store, name, take, &text, &err), 1);
    adl_store_close(store);
    return text;
}

static void put_stored_as(const char *name, const struct adl_text *text)
{
    struct adl_store *store = NULL;
    struct adl_error err = {""};
    const struct adl_store_belief belief = {1, 0, text->data, text->size};
    assert_int_equal(adl_store_open(service_path("state"), ADL_STORE_SERVE, &store, &err), 0);
    assert_int_equal(adl_store_belief_set(store, name, &belief, &err), 0);
    adl_store_close(store);
}

static void put_stored(const struct adl_text *text)
{
    put_stored_as(ADL_BELIEF_PRESENT, text);
}

static void assert_equal_text(const struct adl_text *a, const struct adl_text *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* The remembered jobs alone, as bytes, and how many they are; without the times of submission, which the engine and the
 * store know to a few microseconds. */
static struct adl_text jobs_of(const struct adl_text *text, uint32_t *ret_count)
{
    struct adl_cluster cluster = {0};
    struct adl_similar *similar = NULL;
    struct adl_belief_account account;
    struct adl_error err = {""};
    struct adl_text jobs = {0};
    assert_int_equal(adl_belief_types(text->data, text->size, &cluster, &err), 0);
    assert_int_equal(adl_similar_create(ADL_REMEMBERED_JOBS, &similar, &err), 0);
    const struct adl_belief_parts parts = {.similar = similar};
    const struct adl_belief_terms terms = {.cluster = &cluster, .users = ADL_USERS_UID};
    assert_int_equal(adl_belief_parts_decode(text->data, text->size, &terms, &parts, &account, &err), 0);
    adl_similar_encode(similar, &jobs);
    *ret_count = account.jobs.jobs;
    adl_similar_destroy(similar);
    adl_cluster_clear(&cluster);
    return jobs;
}

static void what_was_learned_is_the_same_bit_for_bit_after_a_clean_restart(void **state)
{
    (void)state;
    start_service(two_types);
    run_jobs(6);
    stop_service(SIGTERM);
    struct adl_text before = stored(ADL_BELIEF_PRESENT);
    start_again();
    stop_service(SIGTERM);
    struct adl_text after = stored(ADL_BELIEF_PRESENT);
    assert_equal_text(&before, &after);
    assert_non_null(strstr(service_said(), "what was learned before: 6 jobs"));
    adl_text_clear(&before);
    adl_text_clear(&after);
}

static void recent_submissions_are_known_after_a_restart_unless_their_bytes_were_changed(void **state)
{
    (void)state;
    start_service(two_types);
    run_jobs(4);
    stop_service(SIGTERM);
    struct adl_text before = stored(ADL_STORE_RECENT), levels = stored(ADL_STORE_LEVELS);
    start_again();
    stop_service(SIGTERM);
    struct adl_text again = stored(ADL_STORE_LEVELS);
    assert_equal_text(&levels, &again);
    adl_text_clear(&levels);
    adl_text_clear(&again);
    struct adl_text after = stored(ADL_STORE_RECENT);
    assert_true(after.size >= before.size); /* each submission takes bytes */
    assert_null(strstr(service_said(), "recent submissions"));
    after.data[after.size / 2] ^= 1;
    put_stored_as(ADL_STORE_RECENT, &after);
    start_again();
    stop_service(SIGTERM);
    assert_non_null(strstr(service_said(), "recent submissions were not read"));
    adl_text_clear(&after);
    after = stored(ADL_STORE_RECENT);
    assert_true(after.size < before.size);
    adl_text_clear(&before);
    adl_text_clear(&after);
}

static void a_kill_loses_no_job_that_had_ended(void **state)
{
    (void)state;
    uint32_t killed_count = 0, again_count = 0;
    start_service(two_types);
    run_jobs(3);
    expect(200, NULL, "POST /v1/reload"); /* writes what was learned so far */
    run_jobs(5);
    stop_service(SIGKILL);
    start_again();
    stop_service(SIGTERM);
    struct adl_text killed = stored(ADL_BELIEF_PRESENT), garbage = {0};
    adl_text_put(&garbage, "garbage");
    put_stored(&garbage);
    start_again(); /* learns all again */
    stop_service(SIGTERM);
    struct adl_text again = stored(ADL_BELIEF_PRESENT);
    struct adl_text a = jobs_of(&killed, &killed_count), b = jobs_of(&again, &again_count);
    assert_int_equal(killed_count, 8);
    assert_int_equal(again_count, 8);
    assert_int_equal(a.size, b.size);
    adl_text_clear(&a);
    adl_text_clear(&b);
    adl_text_clear(&killed);
    adl_text_clear(&garbage);
    adl_text_clear(&again);
}

/* Jobs one after the other, so that they end in the order of their numbers. */
static void jobs_that_are_learned_again_from_the_state_are_what_the_engine_saw(void **state)
{
    (void)state;
    uint32_t seen_count = 0, again_count = 0;
    start_service(two_types);
    for (int i = 0; i < 4; i++)
        run_jobs(1);
    stop_service(SIGTERM);
    struct adl_text seen = stored(ADL_BELIEF_PRESENT), garbage = {0};
    adl_text_put(&garbage, "garbage");
    put_stored(&garbage);
    start_again();
    stop_service(SIGTERM);
    struct adl_text again = stored(ADL_BELIEF_PRESENT);
    struct adl_text a = jobs_of(&seen, &seen_count), b = jobs_of(&again, &again_count);
    assert_int_equal(seen_count, 4);
    assert_equal_text(&a, &b);
    adl_text_clear(&a);
    adl_text_clear(&b);
    adl_text_clear(&seen);
    adl_text_clear(&garbage);
    adl_text_clear(&again);
}

static void what_cannot_be_read_is_kept_aside_and_said(void **state)
{
    (void)state;
    start_service(two_types);
    run_jobs(2);
    stop_service(SIGTERM);
    struct adl_text newer = stored(ADL_BELIEF_PRESENT);
    newer.data[8] = 99;
    put_stored(&newer);
    start_again();
    assert_non_null(strstr(service_said(), "a belief of version 99"));
    expect(200, NULL, "GET /v1/cluster");
    expect_text("it is kept aside in the state, and 2 ended jobs were learned again");
    expect(200, NULL, "GET /healthz");
    expect_text("\"notice\":\"what was learned about jobs cannot be read");
    stop_service(SIGTERM);
    struct adl_text aside = stored(ADL_BELIEF_REFUSED), present = stored(ADL_BELIEF_PRESENT);
    assert_equal_text(&newer, &aside);
    assert_int_equal(present.data[8], ADL_BELIEF_VERSION);
    adl_text_clear(&newer);
    adl_text_clear(&aside);
    adl_text_clear(&present);
}

static void a_running_service_gives_and_takes_what_was_learned(void **state)
{
    (void)state;
    char checksum[48] = "";
    start_service(two_types);
    run_jobs(2);
    expect(200, NULL, "GET /v1/belief");
    expect_text("\"belief\":\"41444c524f42454c"); /* ADLROBEL */
    snprintf(checksum, sizeof checksum, "%.29s", strstr(http.body, "\"checksum\""));
    const char *belief = strstr(http.body, "\"belief\"");
    char *body = malloc(strlen(belief) + 2);
    assert_non_null(body);
    body[0] = '{';
    memcpy(body + 1, belief, strlen(belief) + 1);
    run_jobs(2);
    expect(200, NULL, "GET /v1/belief");
    assert_null(strstr(http.body, checksum));
    expect(200, body, "POST /v1/belief");
    expect_text("2 jobs");
    expect(200, NULL, "GET /v1/belief");
    expect_text(checksum); /* bit for bit */
    expect(400, "{\"belief\":\"414243\"}", "POST /v1/belief");
    expect_text("not a belief");
    stop_service(SIGKILL); /* it was written before the answer */
    start_again();
    expect(200, NULL, "GET /v1/belief");
    expect_text(checksum);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(what_was_learned_is_the_same_bit_for_bit_after_a_clean_restart),
        SERVICE_TEST(recent_submissions_are_known_after_a_restart_unless_their_bytes_were_changed),
        SERVICE_TEST(a_kill_loses_no_job_that_had_ended),
        SERVICE_TEST(jobs_that_are_learned_again_from_the_state_are_what_the_engine_saw),
        SERVICE_TEST(what_cannot_be_read_is_kept_aside_and_said),
        SERVICE_TEST(a_running_service_gives_and_takes_what_was_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
