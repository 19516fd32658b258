/* The store's events, telemetry and swaps: appended in order, read back the same, and samples alone are ever deleted.
 */
#include "store_fixture.h"

#include "store/store_internal.h"

#include <math.h>

/* ---- events ---- */

struct log {
    struct adl_store_event events[64];
    char kinds[64][32];
    char payloads[64][64];
    int count;
};

static int keep_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    struct log *log = context;
    log->events[log->count] = *event;
    snprintf(log->kinds[log->count], 32, "%s", event->kind);
    snprintf(log->payloads[log->count++], 64, "%s", event->payload);
    return 0;
}

static uint64_t append(struct adl_store *store, int64_t time_us, uint64_t job, const char *payload)
{
    struct adl_error err;
    uint64_t sequence = 0;
    const struct adl_store_event event = {.time_us = time_us, .kind = "decision", .job = job, .payload = payload};
    if (adl_store_event_append(store, &event, &sequence, &err))
        fail_msg("%s", err.text);
    return sequence;
}

static void events_are_read_back_in_order_after_any_sequence_number(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    uint64_t sequences[30];
    for (int i = 0; i < 30; i++) {
        char payload[64];
        snprintf(payload, sizeof payload, "{\"i\":%d,\"who\":\"\xc3\xa4\"}", i);
        sequences[i] = append(store, 1000 - i, (uint64_t)(i % 3), payload);
        assert_true(i == 0 || sequences[i] > sequences[i - 1]);
    }
    adl_store_close(store);
    store = store_open(&place);
    struct log log = {0}, of_job = {0};
    assert_int_equal(adl_store_events(store, sequences[9], 0, 15, keep_event, &log, &err), 15);
    for (int i = 0; i < 15; i++) {
        char payload[64];
        snprintf(payload, sizeof payload, "{\"i\":%d,\"who\":\"\xc3\xa4\"}", i + 10);
        assert_int_equal(log.events[i].sequence, sequences[i + 10]);
        assert_int_equal(log.events[i].time_us, 1000 - (i + 10));
        assert_int_equal(log.events[i].job, (i + 10) % 3);
        assert_string_equal(log.kinds[i], "decision");
        assert_string_equal(log.payloads[i], payload);
    }
    assert_int_equal(adl_store_events(store, sequences[9], 2, 50, keep_event, &of_job, &err), 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(of_job.events[i].job, 2);
    assert_int_equal(adl_store_events(store, sequences[29], 0, 50, keep_event, &log, &err), 0);
    assert_int_equal(adl_store_events(store, 0, 0, 0, keep_event, &log, &err), ADL_EINVAL);
    adl_store_close(store);
    place_remove(&place);
}

static void an_event_whose_payload_is_not_json_or_too_long_is_refused(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct log log = {0};
    char *payload = malloc(ADL_STORE_PAYLOAD_MAX + 2);
    assert_non_null(payload);
    memset(payload, '1', ADL_STORE_PAYLOAD_MAX + 1);
    payload[ADL_STORE_PAYLOAD_MAX + 1] = '\0';
    const char *const bad[] = {"{", "", NULL, "{'a':1}", payload};
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int i = 0; i < 5; i++) {
        const struct adl_store_event event = {.kind = "submit", .payload = bad[i]};
        assert_int_equal(adl_store_event_append(store, &event, NULL, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, "payload"));
    }
    append(store, 1, 0, "{}");
    assert_int_equal(adl_store_commit(store, &err), 0);
    assert_int_equal(adl_store_events(store, 0, 0, 9, keep_event, &log, &err), 1);
    free(payload);
    adl_store_close(store);
    place_remove(&place);
}

static void what_was_written_once_is_not_changed_and_events_of_a_live_job_are_not_deleted(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    static const char *const attempts[] = {"UPDATE event SET time_us = 0", "DELETE FROM event",
                                           "UPDATE submission SET uid = 0", "UPDATE payload SET script = ''",
                                           "UPDATE swap SET name = ''"};
    struct adl_error err;
    const uint64_t job = store_numbered(store, 1);
    append(store, 1, job, "{}");
    assert_int_equal(adl_store_job_update(store, job, &(struct adl_store_status){.state = ADL_STORE_RUNNING}, &err), 0);
    assert_int_equal(adl_store_swap_append(store, &(struct adl_store_swap){.name = "a"}, &err), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sqlite3_exec(store->db, attempts[i], NULL, NULL, NULL) & 0xff, SQLITE_CONSTRAINT);
    adl_store_close(store);
    place_remove(&place);
}

/* ---- telemetry ---- */

struct samples {
    struct adl_store_sample samples[256];
    char gpus[256][16];
    int count;
};

static int keep_sample(void *context, const struct adl_store_sample *sample, struct adl_error *err)
{
    (void)err;
    struct samples *samples = context;
    samples->samples[samples->count] = *sample;
    snprintf(samples->gpus[samples->count++], 16, "%s", sample->gpu);
    return 0;
}

static void take_sample(struct adl_store *store, int64_t time_us, const char *gpu)
{
    struct adl_store_sample sample = {.time_us = time_us, .gpu = gpu, .readings.missing = 1u << (time_us % 3)};
    struct adl_error err;
    for (int i = 0; i < ADL_READ_COUNT; i++)
        sample.readings.value[i] = i == time_us % 3 ? NAN : (float)time_us / (float)(i + 3);
    if (adl_store_sample_append(store, &sample, &err))
        fail_msg("%s", err.text);
}

static int count_samples(struct adl_store *store)
{
    static struct samples all;
    struct adl_error err;
    all.count = 0;
    return adl_store_samples(store, NULL, INT64_MIN, INT64_MAX, 256, keep_sample, &all, &err);
}

static void samples_are_read_back_by_time_and_gpu_with_what_was_missing(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    static struct samples all, one;
    for (int64_t t = 0; t < 20; t++) {
        take_sample(store, t, "GPU-a");
        take_sample(store, t, "GPU-b");
        take_sample(store, t, "GPU-b"); /* at the same instant: the first is kept */
    }
    assert_int_equal(adl_store_samples(store, NULL, 5, 10, 256, keep_sample, &all, &err), 10);
    assert_int_equal(adl_store_samples(store, "GPU-b", 5, 10, 3, keep_sample, &one, &err), 3);
    assert_int_equal(adl_store_samples(store, "GPU-c", 5, 10, 3, keep_sample, &one, &err), 0);
    for (int i = 0; i < 3; i++) {
        const struct adl_telemetry *readings = &one.samples[i].readings;
        assert_string_equal(one.gpus[i], "GPU-b");
        assert_int_equal(one.samples[i].time_us, 5 + i);
        assert_int_equal(readings->missing, 1u << ((5 + i) % 3));
        for (int r = 0; r < ADL_READ_COUNT; r++)
            assert_true(r == (5 + i) % 3 || readings->value[r] == (float)(5 + i) / (float)(r + 3));
    }
    adl_store_close(store);
    place_remove(&place);
}

static void readings_that_an_older_version_did_not_know_are_missing(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    static struct samples all;
    take_sample(store, 1, "GPU-a");
    assert_int_equal(sqlite3_exec(store->db, "UPDATE sample SET readings = substr(readings, 1, 9)", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(adl_store_samples(store, NULL, 0, 9, 9, keep_sample, &all, &err), 1);
    assert_int_equal(all.samples[0].readings.missing, (1u << ADL_READ_COUNT) - 1 - 1);
    adl_store_close(store);
    place_remove(&place);
}

static void old_samples_are_deleted_by_age_and_by_number_in_small_steps(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    static struct samples left;
    assert_int_equal(adl_store_begin(store, &err), 0);
    for (int64_t t = 99; t >= 0; t--) /* not in the order of time */
        take_sample(store, t, t % 2 ? "GPU-a" : "GPU-b");
    adl_store_rollback(store); /* these were never there, and must not be counted */
    for (int64_t t = 99; t >= 0; t--)
        take_sample(store, t, t % 2 ? "GPU-a" : "GPU-b");
    assert_int_equal(adl_store_prune(store, INT64_MIN, 100, 7, &err), 0);
    assert_int_equal(adl_store_prune(store, 10, 1000, 7, &err), 7);
    assert_int_equal(adl_store_prune(store, 10, 1000, 7, &err), 3);
    assert_int_equal(adl_store_prune(store, 10, 1000, 7, &err), 0);
    assert_int_equal(count_samples(store), 90);
    adl_store_close(store);
    store = store_open(&place); /* counts again */
    int deleted = 0, steps = 0;
    for (int count = 7; count == 7; steps++)
        deleted += count = adl_store_prune(store, 12, 50, 7, &err);
    assert_int_equal(deleted, 40);
    assert_int_equal(steps, 6);
    assert_int_equal(adl_store_samples(store, NULL, INT64_MIN, INT64_MAX, 256, keep_sample, &left, &err), 50);
    assert_int_equal(left.samples[0].time_us, 50);
    assert_int_equal(left.samples[49].time_us, 99);
    assert_int_equal(adl_store_prune(store, 0, 0, 0, &err), ADL_EINVAL);
    adl_store_close(store);
    place_remove(&place);
}

static void the_file_stays_bounded_when_samples_come_and_go(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    char path[128];
    struct stat about;
    off_t size = 0;
    snprintf(path, sizeof path, "%s/adlro.db", place.path);
    for (int64_t round = 0; round < 10; round++) {
        assert_int_equal(adl_store_begin(store, &err), 0);
        for (int64_t t = 0; t < 2000; t++)
            take_sample(store, round * 2000 + t, "GPU-a");
        assert_int_equal(adl_store_prune(store, INT64_MIN, 2000, 2000, &err), round ? 2000 : 0);
        assert_int_equal(adl_store_commit(store, &err), 0);
        assert_int_equal(sqlite3_wal_checkpoint(store->db, NULL), SQLITE_OK);
        assert_int_equal(stat(path, &about), 0);
        size = round == 1 ? about.st_size : size;
    }
    assert_true(about.st_size <= size + size / 4);
    adl_store_close(store);
    place_remove(&place);
}

/* ---- swaps ---- */

struct last {
    int64_t time_us;
    char name[32];
    unsigned char content[16];
    size_t size;
};

static int keep_swap(void *context, const struct adl_store_swap *swap, struct adl_error *err)
{
    (void)err;
    struct last *last = context;
    last->time_us = swap->time_us;
    last->size = swap->size;
    snprintf(last->name, sizeof last->name, "%s", swap->name);
    if (swap->size > 0)
        memcpy(last->content, swap->content, swap->size);
    return 0;
}

static void the_last_configuration_and_the_last_model_are_found(void **state)
{
    (void)state;
    struct place place = place_make();
    struct adl_store *store = store_open(&place);
    struct adl_error err;
    struct last last = {0};
    const struct adl_store_swap swaps[] = {
        {1, ADL_SWAP_CONFIGURATION, "old.yaml", "old", 3},
        {2, ADL_SWAP_MODEL, "a.model", "\0\1\2", 3},
        {3, ADL_SWAP_CONFIGURATION, "new.yaml", NULL, 0},
    };
    assert_int_equal(adl_store_swap_last(store, ADL_SWAP_MODEL, keep_swap, &last, &err), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(adl_store_swap_append(store, &swaps[i], &err), 0);
    assert_int_equal(adl_store_swap_last(store, ADL_SWAP_MODEL, keep_swap, &last, &err), 1);
    assert_int_equal(last.time_us, 2);
    assert_string_equal(last.name, "a.model");
    assert_int_equal(last.size, 3);
    assert_memory_equal(last.content, "\0\1\2", 3);
    assert_int_equal(adl_store_swap_last(store, ADL_SWAP_CONFIGURATION, keep_swap, &last, &err), 1);
    assert_string_equal(last.name, "new.yaml");
    assert_int_equal(last.size, 0);
    struct adl_store_swap bad = swaps[0];
    bad.kind = ADL_SWAP_COUNT;
    assert_int_equal(adl_store_swap_append(store, &bad, &err), ADL_EINVAL);
    bad = swaps[0];
    bad.size = ADL_STORE_CONTENT_MAX + 1;
    assert_int_equal(adl_store_swap_append(store, &bad, &err), ADL_EINVAL);
    adl_store_close(store);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_back_in_order_after_any_sequence_number),
        cmocka_unit_test(an_event_whose_payload_is_not_json_or_too_long_is_refused),
        cmocka_unit_test(what_was_written_once_is_not_changed_and_events_of_a_live_job_are_not_deleted),
        cmocka_unit_test(samples_are_read_back_by_time_and_gpu_with_what_was_missing),
        cmocka_unit_test(readings_that_an_older_version_did_not_know_are_missing),
        cmocka_unit_test(old_samples_are_deleted_by_age_and_by_number_in_small_steps),
        cmocka_unit_test(the_file_stays_bounded_when_samples_come_and_go),
        cmocka_unit_test(the_last_configuration_and_the_last_model_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
