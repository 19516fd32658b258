/* store_log: what the store keeps besides jobs: events, samples of telemetry, the configurations and models put in
 * force, and drained GPUs. */
#include "store/store_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define EVENT_COLUMNS "SELECT sequence, time_us, kind, ifnull(job, 0), payload FROM event "
#define SAMPLE_COLUMNS                                                                                                 \
    "SELECT s.time_us, g.name, s.missing, s.readings FROM sample s JOIN gpu g ON g.id = s.gpu "                        \
    "WHERE s.time_us >= ?1 AND s.time_us < ?2 "
/* Ended jobs before an end, in the order of ends; those of one instant by number. */
#define ENDS_PAGE                                                                                                      \
    " AND j.state >= 2 AND (j.end_us, j.id) < (?1, ?2) AND (?3 >> j.state) & 1 = 1 AND (?5 = '' OR s.user = ?5)"       \
    " ORDER BY j.end_us DESC, j.id DESC LIMIT ?4"
#define SAMPLE_ORDER "ORDER BY s.time_us, s.gpu LIMIT ?3"

static const char *const fixed_sql[ADL_SQL_FIXED_COUNT] = {
    [ADL_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [ADL_SQL_COMMIT] = "COMMIT",
    [ADL_SQL_ROLLBACK] = "ROLLBACK",
    [ADL_SQL_EVENT_APPEND] = "INSERT INTO event (time_us, kind, job, payload) "
                             "SELECT ?1, ?2, nullif(?3, 0), ?4 WHERE json_valid(?4)",
    [ADL_SQL_EVENTS] = EVENT_COLUMNS "WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
    [ADL_SQL_EVENTS_OF_JOB] =
        EVENT_COLUMNS "INDEXED BY event_job WHERE job = ?3 AND sequence > ?1 ORDER BY sequence LIMIT ?2",
    [ADL_SQL_EVENT_LAST] = EVENT_COLUMNS "ORDER BY sequence DESC LIMIT 1",
    [ADL_SQL_EVENTS_GENERAL] = EVENT_COLUMNS "INDEXED BY event_general WHERE job IS NULL AND time_us >= ?1"
                                             " AND kind <> 'point' ORDER BY time_us DESC LIMIT ?2",
    [ADL_SQL_STARTS] = EVENT_COLUMNS "WHERE sequence < ?1 AND sequence >= ?1 - ?2 AND kind IN ('start', 'move')"
                                     " AND instr(payload, ?4) > 0 ORDER BY sequence DESC LIMIT ?3",
    [ADL_SQL_END_OF] = "SELECT end_us FROM job WHERE id = ?1 AND state >= 2",
    [ADL_SQL_ENDS] =
        "SELECT j.id FROM job j INDEXED BY job_ended CROSS JOIN submission s ON s.id = j.id WHERE ?6 = -1" ENDS_PAGE,
    [ADL_SQL_ENDS_OF_USER] = "SELECT j.id FROM submission s INDEXED BY submission_user CROSS JOIN job j ON j.id = s.id"
                             " WHERE s.uid = ?6" ENDS_PAGE,
    [ADL_SQL_RUNS] = "SELECT s.user, s.uid, j.state, s.submit_us, j.eligible_us, j.start_us, j.end_us, j.ran_us,"
                     " j.held_gpus, j.idle_us FROM job j INDEXED BY job_ended CROSS JOIN submission s ON s.id = j.id"
                     " WHERE j.state >= 2 AND j.end_us >= ?1 ORDER BY j.end_us DESC LIMIT ?2",
    [ADL_SQL_GPU_ADD] = "INSERT INTO gpu (name) VALUES (?1) ON CONFLICT (name) DO NOTHING",
    [ADL_SQL_SAMPLE_APPEND] = "INSERT INTO sample (time_us, gpu, missing, readings) "
                              "VALUES (?1, (SELECT id FROM gpu WHERE name = ?2), ?3, ?4) "
                              "ON CONFLICT (time_us, gpu) DO NOTHING",
    [ADL_SQL_SAMPLES] = SAMPLE_COLUMNS SAMPLE_ORDER,
    [ADL_SQL_SAMPLES_OF_GPU] = SAMPLE_COLUMNS "AND s.gpu = (SELECT id FROM gpu WHERE name = ?4) " SAMPLE_ORDER,
    [ADL_SQL_SAMPLE_COUNT] = "SELECT count(*) FROM sample",
    [ADL_SQL_PRUNE] = "DELETE FROM sample WHERE (time_us, gpu) IN "
                      "(SELECT time_us, gpu FROM sample WHERE time_us < ?1 ORDER BY time_us, gpu LIMIT ?2)",
    [ADL_SQL_SWAP_APPEND] = "INSERT INTO swap (time_us, kind, name, content) VALUES (?1, ?2, ?3, ?4)",
    [ADL_SQL_BELIEF_SET] = "INSERT OR REPLACE INTO belief (name, time_us, sequence, content) VALUES (?1, ?2, ?3, ?4)",
    [ADL_SQL_BELIEF] = "SELECT time_us, sequence, content FROM belief WHERE name = ?1",
    [ADL_SQL_SWAP_LAST] = "SELECT time_us, kind, name, content FROM swap WHERE kind = ?1 ORDER BY id DESC LIMIT 1",
    [ADL_SQL_DRAIN_SET] = "INSERT OR REPLACE INTO drain (gpu, reason, time_us) VALUES (?1, ?2, ?3)",
    [ADL_SQL_DRAIN_END] = "DELETE FROM drain WHERE gpu = ?1",
    [ADL_SQL_EXTERNAL] = "SELECT max(id) FROM submission WHERE external = ?1 AND external > 0",
    [ADL_SQL_JOB_LAST] = "SELECT seq FROM sqlite_sequence WHERE name = 'submission'",
    [ADL_SQL_USAGE] = "SELECT bytes FROM usage WHERE uid = ?1",
    [ADL_SQL_ENDED] = "SELECT j.id, iif(s.payload = 0, s.id, s.payload) FROM job j INDEXED BY job_ended"
                      " CROSS JOIN submission s ON s.id = j.id WHERE j.state >= 2 AND j.end_us > 0 AND j.end_us < ?1"
                      " ORDER BY j.end_us LIMIT ?2",
    [ADL_SQL_ENDED_OF_USER] = "SELECT s.id, iif(s.payload = 0, s.id, s.payload) FROM submission s"
                              " INDEXED BY submission_user CROSS JOIN job j ON j.id = s.id"
                              " WHERE s.uid = ?1 AND j.state >= 2 ORDER BY s.id LIMIT ?2",
    [ADL_SQL_EVENTS_DELETE] =
        "DELETE FROM event WHERE sequence IN (SELECT sequence FROM event WHERE job = ?1 LIMIT ?2)",
    [ADL_SQL_JOB_DELETE] = "DELETE FROM job WHERE id = ?1",
    [ADL_SQL_SUBMISSION_DELETE] = "DELETE FROM submission WHERE id = ?1",
    [ADL_SQL_PAYLOAD_DELETE] = "DELETE FROM payload WHERE id = ?1"
                               " AND NOT EXISTS (SELECT 1 FROM submission WHERE id = ?1)"
                               " AND NOT EXISTS (SELECT 1 FROM submission WHERE payload = ?1 AND payload > 0)",
    [ADL_SQL_GENERAL_DELETE] =
        "DELETE FROM event WHERE sequence IN (SELECT sequence FROM event INDEXED BY event_general"
        " WHERE job IS NULL AND time_us < ?1 ORDER BY time_us LIMIT ?2)",
    [ADL_SQL_DRAINS] = "SELECT gpu, reason, time_us FROM drain ORDER BY gpu",
};

static int take_count(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    (void)self;
    (void)err;
    store->samples = (uint64_t)sqlite3_column_int64(sql, 0);
    return 0;
}

int adl_store_log_prepare(struct adl_store *store, struct adl_error *err)
{
    int status = 0;
    for (int i = 0; !status && i < ADL_SQL_FIXED_COUNT; i++)
        status = adl_store_prepare(store, i, fixed_sql[i], err);
    if (!status && !store->read_only)
        status = adl_store_each(store, store->sql[ADL_SQL_SAMPLE_COUNT], "count the samples", take_count, NULL, err);
    return status < 0 ? status : 0;
}

static int check_limit(uint32_t limit, struct adl_error *err)
{
    if (limit < 1 || limit > ADL_STORE_PAGE_MAX)
        return adl_fail(err, ADL_EINVAL, "a page has 1..%d rows, not %" PRIu32, ADL_STORE_PAGE_MAX, limit);
    return 0;
}

/* ---- events ---- */

int adl_store_event_append(struct adl_store *store, const struct adl_store_event *event, uint64_t *ret_sequence,
                           struct adl_error *err)
{
    static const char doing[] = "append an event";
    sqlite3_stmt *sql = store->sql[ADL_SQL_EVENT_APPEND];
    bool own;
    if (adl_store_length(event->kind, ADL_STORE_WORD_MAX, "the kind of an event", err) < 0 ||
        adl_store_length(event->payload, ADL_STORE_PAYLOAD_MAX, "the payload of an event", err) < 0)
        return ADL_EINVAL;
    int status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    sqlite3_bind_int64(sql, 1, event->time_us);
    adl_store_bind_text(sql, 2, event->kind);
    sqlite3_bind_int64(sql, 3, (sqlite3_int64)event->job);
    adl_store_bind_text(sql, 4, event->payload);
    status = adl_store_run(store, sql, doing, err);
    if (!status && sqlite3_changes(store->db) != 1)
        status = adl_fail(err, ADL_EINVAL, "the payload of an event of kind %s is not JSON: %.100s", event->kind,
                          event->payload ? event->payload : "nothing");
    const uint64_t sequence = (uint64_t)sqlite3_last_insert_rowid(store->db);
    status = adl_store_leave(store, own, status, err);
    if (!status && ret_sequence)
        *ret_sequence = sequence;
    return status;
}

struct event_visitor {
    adl_store_event_visit *visit;
    void *context;
};

static int read_event(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct event_visitor *visitor = self;
    const struct adl_store_event event = {
        .sequence = (uint64_t)sqlite3_column_int64(sql, 0),
        .time_us = sqlite3_column_int64(sql, 1),
        .kind = (const char *)sqlite3_column_text(sql, 2),
        .job = (uint64_t)sqlite3_column_int64(sql, 3),
        .payload = (const char *)sqlite3_column_text(sql, 4),
    };
    if (!event.kind || !event.payload)
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read an event: out of memory", store->path);
    return visitor->visit(visitor->context, &event, err);
}

int adl_store_events(struct adl_store *store, uint64_t after, uint64_t job, uint32_t limit,
                     adl_store_event_visit *visit, void *context, struct adl_error *err)
{
    struct event_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[job ? ADL_SQL_EVENTS_OF_JOB : ADL_SQL_EVENTS];
    if (check_limit(limit, err))
        return ADL_EINVAL;
    sqlite3_bind_int64(sql, 1, after > INT64_MAX ? INT64_MAX : (int64_t)after);
    sqlite3_bind_int64(sql, 2, limit);
    if (job)
        sqlite3_bind_int64(sql, 3, (sqlite3_int64)job);
    return adl_store_each(store, sql, "read events", read_event, &visitor, err);
}

int adl_store_event_last(struct adl_store *store, adl_store_event_visit *visit, void *context, struct adl_error *err)
{
    struct event_visitor visitor = {visit, context};
    return adl_store_each(store, store->sql[ADL_SQL_EVENT_LAST], "read the last event", read_event, &visitor, err);
}

int adl_store_events_general(struct adl_store *store, int64_t from_us, uint32_t limit, adl_store_event_visit *visit,
                             void *context, struct adl_error *err)
{
    struct event_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[ADL_SQL_EVENTS_GENERAL];
    if (check_limit(limit, err))
        return ADL_EINVAL;
    sqlite3_bind_int64(sql, 1, from_us);
    sqlite3_bind_int64(sql, 2, limit);
    return adl_store_each(store, sql, "read events", read_event, &visitor, err);
}

int adl_store_starts(struct adl_store *store, const struct adl_store_starts *which, adl_store_event_visit *visit,
                     void *context, struct adl_error *err)
{
    struct event_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[ADL_SQL_STARTS];
    if (check_limit(which->limit, err))
        return ADL_EINVAL;
    sqlite3_bind_int64(sql, 1, which->before > INT64_MAX ? INT64_MAX : (int64_t)which->before);
    sqlite3_bind_int64(sql, 2, which->scan);
    sqlite3_bind_int64(sql, 3, which->limit);
    adl_store_bind_text(sql, 4, which->gpu);
    return adl_store_each(store, sql, "read starts", read_event, &visitor, err);
}

/* ---- telemetry: readings are little-endian floats; later versions may add more ---- */

enum { READING_SIZE = 4 };

static void pack_readings(const struct adl_telemetry *telemetry, unsigned char *bytes)
{
    for (int i = 0; i < ADL_READ_COUNT; i++) {
        const float value = telemetry->missing >> i & 1 ? 0 : telemetry->value[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        for (int byte = 0; byte < READING_SIZE; byte++)
            *bytes++ = (unsigned char)(bits >> (8 * byte) & 0xff);
    }
}

/* Readings that the writer did not have are missing; those that the reader does not know are ignored. */
static void unpack_readings(const unsigned char *bytes, size_t size, struct adl_telemetry *ret)
{
    for (size_t i = 0; i < ADL_READ_COUNT; i++) {
        if ((i + 1) * READING_SIZE > size) {
            ret->missing |= 1u << i;
            continue;
        }
        uint32_t bits = 0;
        for (int byte = 0; byte < READING_SIZE; byte++)
            bits |= (uint32_t)*bytes++ << (8 * byte);
        memcpy(&ret->value[i], &bits, sizeof bits);
    }
}

int adl_store_sample_append(struct adl_store *store, const struct adl_store_sample *sample, struct adl_error *err)
{
    static const char doing[] = "append a sample";
    sqlite3_stmt *gpu = store->sql[ADL_SQL_GPU_ADD], *sql = store->sql[ADL_SQL_SAMPLE_APPEND];
    unsigned char readings[ADL_READ_COUNT * READING_SIZE];
    bool own;
    if (adl_store_length(sample->gpu, ADL_STORE_WORD_MAX, "the name of a GPU", err) < 0)
        return ADL_EINVAL;
    int status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    pack_readings(&sample->readings, readings);
    adl_store_bind_text(gpu, 1, sample->gpu);
    status = adl_store_run(store, gpu, doing, err);
    if (!status) {
        sqlite3_bind_int64(sql, 1, sample->time_us);
        adl_store_bind_text(sql, 2, sample->gpu);
        sqlite3_bind_int64(sql, 3, sample->readings.missing);
        sqlite3_bind_blob(sql, 4, readings, sizeof readings, SQLITE_STATIC);
        status = adl_store_run(store, sql, doing, err);
        if (!status)
            store->samples += (uint64_t)sqlite3_changes(store->db);
    }
    return adl_store_leave(store, own, status, err);
}

struct sample_visitor {
    adl_store_sample_visit *visit;
    void *context;
};

static int read_sample(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct sample_visitor *visitor = self;
    struct adl_store_sample sample = {
        .time_us = sqlite3_column_int64(sql, 0),
        .gpu = (const char *)sqlite3_column_text(sql, 1),
        .readings.missing = (uint32_t)sqlite3_column_int64(sql, 2),
    };
    const unsigned char *readings = sqlite3_column_blob(sql, 3);
    if (!sample.gpu)
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read a sample: out of memory", store->path);
    unpack_readings(readings, readings ? (size_t)sqlite3_column_bytes(sql, 3) : 0, &sample.readings);
    return visitor->visit(visitor->context, &sample, err);
}

int adl_store_samples(struct adl_store *store, const char *gpu, int64_t from_us, int64_t to_us, uint32_t limit,
                      adl_store_sample_visit *visit, void *context, struct adl_error *err)
{
    struct sample_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[gpu ? ADL_SQL_SAMPLES_OF_GPU : ADL_SQL_SAMPLES];
    if (check_limit(limit, err))
        return ADL_EINVAL;
    sqlite3_bind_int64(sql, 1, from_us);
    sqlite3_bind_int64(sql, 2, to_us);
    sqlite3_bind_int64(sql, 3, limit);
    if (gpu)
        adl_store_bind_text(sql, 4, gpu);
    return adl_store_each(store, sql, "read samples", read_sample, &visitor, err);
}

static int delete_oldest(struct adl_store *store, int64_t before_us, uint64_t count_max, uint64_t *ret_count,
                         struct adl_error *err)
{
    sqlite3_stmt *sql = store->sql[ADL_SQL_PRUNE];
    sqlite3_bind_int64(sql, 1, before_us);
    sqlite3_bind_int64(sql, 2, (sqlite3_int64)count_max);
    const int status = adl_store_run(store, sql, "delete old samples", err);
    if (!status) {
        *ret_count = (uint64_t)sqlite3_changes(store->db);
        store->samples -= *ret_count;
    }
    return status;
}

int adl_store_prune(struct adl_store *store, int64_t before_us, uint64_t rows_max, uint32_t step, struct adl_error *err)
{
    bool own;
    uint64_t aged = 0, beyond = 0;
    if (step < 1 || step > INT32_MAX)
        return adl_fail(err, ADL_EINVAL, "a step deletes 1..%d samples, not %" PRIu32, INT32_MAX, step);
    int status = adl_store_enter(store, "delete old samples", &own, err);
    if (status)
        return status;
    status = delete_oldest(store, before_us, step, &aged, err);
    if (!status && aged < step && store->samples > rows_max) {
        const uint64_t excess = store->samples - rows_max;
        status = delete_oldest(store, INT64_MAX, excess < step - aged ? excess : step - aged, &beyond, err);
    }
    status = adl_store_leave(store, own, status, err);
    return status ? status : (int)(aged + beyond);
}

/* ---- swaps ---- */

int adl_store_swap_append(struct adl_store *store, const struct adl_store_swap *swap, struct adl_error *err)
{
    static const char doing[] = "record a configuration or model";
    sqlite3_stmt *sql = store->sql[ADL_SQL_SWAP_APPEND];
    bool own;
    if (swap->kind >= ADL_SWAP_COUNT)
        return adl_fail(err, ADL_EINVAL, "there is no kind of swap %d", swap->kind);
    if (adl_store_length(swap->name, ADL_STORE_PATH_MAX, "the name of what was put in force", err) < 0)
        return ADL_EINVAL;
    if (swap->size > ADL_STORE_CONTENT_MAX)
        return adl_fail(err, ADL_EINVAL, "%.150s has more than %ld bytes", swap->name ? swap->name : "",
                        ADL_STORE_CONTENT_MAX);
    int status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    sqlite3_bind_int64(sql, 1, swap->time_us);
    sqlite3_bind_int64(sql, 2, swap->kind);
    adl_store_bind_text(sql, 3, swap->name);
    sqlite3_bind_blob(sql, 4, swap->size ? swap->content : "", (int)swap->size, SQLITE_STATIC);
    status = adl_store_run(store, sql, doing, err);
    return adl_store_leave(store, own, status, err);
}

struct swap_visitor {
    adl_store_swap_visit *visit;
    void *context;
};

static int read_swap(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct swap_visitor *visitor = self;
    const struct adl_store_swap swap = {
        .time_us = sqlite3_column_int64(sql, 0),
        .kind = (uint8_t)sqlite3_column_int(sql, 1),
        .name = (const char *)sqlite3_column_text(sql, 2),
        .content = sqlite3_column_blob(sql, 3),
        .size = (size_t)sqlite3_column_bytes(sql, 3),
    };
    if (!swap.name || (swap.size > 0 && !swap.content))
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read what is in force: out of memory", store->path);
    return visitor->visit(visitor->context, &swap, err);
}

int adl_store_swap_last(struct adl_store *store, int kind, adl_store_swap_visit *visit, void *context,
                        struct adl_error *err)
{
    struct swap_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[ADL_SQL_SWAP_LAST];
    sqlite3_bind_int64(sql, 1, kind);
    return adl_store_each(store, sql, "read what is in force", read_swap, &visitor, err);
}

/* ---- drained GPUs ---- */

int adl_store_drain_set(struct adl_store *store, const char *gpu, const char *reason, int64_t time_us,
                        struct adl_error *err)
{
    static const char doing[] = "record that a GPU is drained";
    sqlite3_stmt *sql = store->sql[reason ? ADL_SQL_DRAIN_SET : ADL_SQL_DRAIN_END];
    bool own;
    if (adl_store_length(gpu, ADL_STORE_WORD_MAX, "the name of a GPU", err) < 0 ||
        adl_store_length(reason, ADL_STORE_REASON_MAX, "the reason of a drain", err) < 0)
        return ADL_EINVAL;
    int status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    adl_store_bind_text(sql, 1, gpu);
    if (reason) {
        adl_store_bind_text(sql, 2, reason);
        sqlite3_bind_int64(sql, 3, time_us);
    }
    status = adl_store_run(store, sql, doing, err);
    return adl_store_leave(store, own, status, err);
}

struct drain_visitor {
    adl_store_drain_visit *visit;
    void *context;
};

static int read_drain(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct drain_visitor *visitor = self;
    const char *gpu = (const char *)sqlite3_column_text(sql, 0), *reason = (const char *)sqlite3_column_text(sql, 1);
    if (!gpu || !reason)
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read a drain: out of memory", store->path);
    return visitor->visit(visitor->context, gpu, reason, sqlite3_column_int64(sql, 2), err);
}

int adl_store_drains(struct adl_store *store, adl_store_drain_visit *visit, void *context, struct adl_error *err)
{
    struct drain_visitor visitor = {visit, context};
    return adl_store_each(store, store->sql[ADL_SQL_DRAINS], "read drains", read_drain, &visitor, err);
}

static int take_number(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    (void)store, (void)err;
    *(int64_t *)self = sqlite3_column_int64(sql, 0);
    return 0;
}

int adl_store_number(struct adl_store *store, sqlite3_stmt *sql, const char *doing, int64_t *ret, struct adl_error *err)
{
    int64_t number = 0;
    const int found = adl_store_each(store, sql, doing, take_number, &number, err);
    if (found >= 0)
        *ret = number;
    return found < 0 ? found : 0;
}

uint64_t adl_store_job_of_external(struct adl_store *store, int64_t external)
{
    int64_t number = 0;
    sqlite3_bind_int64(store->sql[ADL_SQL_EXTERNAL], 1, external);
    adl_store_number(store, store->sql[ADL_SQL_EXTERNAL], "look for a job", &number, NULL);
    return (uint64_t)number;
}

uint64_t adl_store_job_last(struct adl_store *store)
{
    int64_t number = 0;
    adl_store_number(store, store->sql[ADL_SQL_JOB_LAST], "look for the last job", &number, NULL);
    return (uint64_t)number;
}
