/* store_jobs: jobs as rows. One table maps the fields of a job to columns; reading and writing are both generated from
 * it, so nothing can be written that is not read. */
#include "store/store_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const state_names[ADL_STORE_STATE_COUNT] = {"PD", "R", "CD", "F", "CA", "TO"};

const char *adl_store_state_name(int state)
{
    return state_names[state];
}

int adl_store_state_find(const char *name)
{
    for (int i = 0; i < ADL_STORE_STATE_COUNT; i++)
        if (strcmp(state_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- the fields ---- */

enum form { U8, U16, U32, I32, U64, I64, F32, F64, TEXT, LIST, AFTER };

struct field {
    const char *column;
    uint16_t offset;
    uint8_t form;
    uint8_t list; /* LIST and AFTER: index of its buffer in store->lists */
    int64_t max;  /* the largest number, or the most bytes */
};

#define SUBMISSION(column, member, form, max)                                                                          \
    {                                                                                                                  \
        column, offsetof(struct adl_store_job, member), form, 0, max                                                   \
    }
#define SUBMISSION_LIST(column, member, form, list, max)                                                               \
    {                                                                                                                  \
        column, offsetof(struct adl_store_job, member), form, list, max                                                \
    }
#define STATUS(column, member, form, max)                                                                              \
    {                                                                                                                  \
        column, offsetof(struct adl_store_status, member), form, 0, max                                                \
    }

#define GPUS_BYTES_MAX ((int64_t)ADL_JOB_GPUS_MAX * (ADL_STORE_WORD_MAX + 1))

static const struct field submission_fields[] = {
    SUBMISSION("user_id", spec.user, U32, UINT32_MAX),
    SUBMISSION("name_id", spec.name_id, U32, UINT32_MAX),
    SUBMISSION("class_index", spec.class_index, U16, UINT16_MAX),
    SUBMISSION("gpus", spec.gpus, U16, ADL_JOB_GPUS_MAX),
    SUBMISSION("types", spec.types, U32, UINT32_MAX),
    SUBMISSION("kind", spec.kind, U8, ADL_KIND_COUNT - 1),
    SUBMISSION("flags", spec.flags, U8, UINT8_MAX),
    SUBMISSION("stop_loss", spec.stop_loss, U8, ADL_LOSS_COUNT - 1),
    SUBMISSION("cpu_cores", spec.cpu_cores, I32, INT32_MAX),
    SUBMISSION("memory_mib", spec.memory_mib, I32, INT32_MAX),
    SUBMISSION("gpu_memory_mib", spec.gpu_memory_mib, I32, INT32_MAX),
    SUBMISSION("submitted_priority", spec.priority, F32, 0),
    SUBMISSION("min_steps_per_s", spec.min_steps_per_s, F32, 0),
    SUBMISSION("share_slowdown", spec.share_slowdown, F32, 0),
    SUBMISSION("step_gflop", spec.step_gflop, F32, 0),
    SUBMISSION("step_gb", spec.step_gb, F32, 0),
    SUBMISSION("limit_us", spec.limit_us, I64, INT64_MAX),
    SUBMISSION("deadline_us", spec.deadline_us, I64, INT64_MAX),
    SUBMISSION("checkpoint_us", spec.checkpoint_us, I64, INT64_MAX),
    SUBMISSION("external", external, I64, INT64_MAX),
    SUBMISSION("uid", uid, U32, UINT32_MAX),
    SUBMISSION("gid", gid, U32, UINT32_MAX),
    SUBMISSION("user", user, TEXT, ADL_STORE_WORD_MAX),
    SUBMISSION("name", name, TEXT, ADL_STORE_WORD_MAX),
    SUBMISSION("array_id", array_id, U64, INT64_MAX),
    SUBMISSION("array_index", array_index, I32, INT32_MAX),
    SUBMISSION("payload", payload, U64, INT64_MAX),
    SUBMISSION("submit_us", submit_us, I64, INT64_MAX),
};

/* The part that can be large and is equal for all jobs of an array: a row that they share. */
static const struct field payload_fields[] = {
    SUBMISSION("uid", uid, U32, UINT32_MAX),
    SUBMISSION("request", request, TEXT, ADL_STORE_REASON_MAX),
    SUBMISSION_LIST("argv", argv, LIST, 0, ADL_STORE_LIST_MAX),
    SUBMISSION("script", script, TEXT, ADL_STORE_SCRIPT_MAX),
    SUBMISSION("directory", directory, TEXT, ADL_STORE_PATH_MAX),
    SUBMISSION_LIST("environment", environment, LIST, 1, ADL_STORE_LIST_MAX),
    SUBMISSION("stdout_path", stdout_path, TEXT, ADL_STORE_PATH_MAX),
    SUBMISSION("stderr_path", stderr_path, TEXT, ADL_STORE_PATH_MAX),
    SUBMISSION("mask", mask, TEXT, ADL_STORE_WORD_MAX),
    SUBMISSION_LIST("limits", limits, LIST, 4, ADL_STORE_REASON_MAX),
    SUBMISSION_LIST("dependencies", dependencies, AFTER, 2, 0),
    SUBMISSION("dependency_any", dependency_any, U8, 1),
    SUBMISSION("begin_us", begin_us, I64, INT64_MAX),
    SUBMISSION("warn_signal", warn_signal, TEXT, ADL_STORE_WORD_MAX),
    SUBMISSION("array_count", array.count, U32, UINT32_MAX),
    SUBMISSION("array_limit", array.limit, U32, UINT32_MAX),
    SUBMISSION("array_min", array.min, I32, INT32_MAX),
    SUBMISSION("array_max", array.max, I32, INT32_MAX),
    SUBMISSION("array_step", array.step, I32, INT32_MAX),
};

static const struct field status_fields[] = {
    STATUS("state", state, U8, ADL_STORE_STATE_COUNT - 1),
    STATUS("hold", hold, U8, ADL_HOLD_ADMIN),
    STATUS("priority", priority, F32, 0),
    STATUS("reason", reason, TEXT, ADL_STORE_REASON_MAX),
    STATUS("start_us", start_us, I64, INT64_MAX),
    STATUS("eligible_us", eligible_us, I64, INT64_MAX),
    STATUS("ran_us", ran_us, I64, INT64_MAX),
    STATUS("end_us", end_us, I64, INT64_MAX),
    STATUS("exit_code", exit_code, I32, INT32_MAX),
    STATUS("signal", signal, I32, INT32_MAX),
    STATUS("attempts", attempts, U32, UINT32_MAX),
    {"held_gpus", offsetof(struct adl_store_status, gpus), LIST, 3, GPUS_BYTES_MAX},
    STATUS("pid", pid, I64, INT64_MAX),
    STATUS("pid_ticks", pid_ticks, U64, INT64_MAX),
    STATUS("boot", boot, TEXT, ADL_STORE_WORD_MAX),
    STATUS("energy_j", energy_j, F64, 0),
    STATUS("requeue_us", requeue_us, I64, INT64_MAX),
    STATUS("requeue_end", requeue_end, U8, ADL_STORE_STATE_COUNT - ADL_STORE_ENDED - 1),
    STATUS("idle_us", idle_us, I64, INT64_MAX),
};

enum {
    SUBMISSION_COUNT = sizeof submission_fields / sizeof submission_fields[0],
    PAYLOAD_COUNT = sizeof payload_fields / sizeof payload_fields[0],
    STATUS_COUNT = sizeof status_fields / sizeof status_fields[0],
};

static int64_t whole_get(const struct field *field, const void *at)
{
    switch (field->form) {
    case U8:
        return *(const uint8_t *)at;
    case U16:
        return *(const uint16_t *)at;
    case U32:
        return *(const uint32_t *)at;
    case I32:
        return *(const int32_t *)at;
    case U64: {
        const uint64_t value = *(const uint64_t *)at;
        return value > INT64_MAX ? -1 : (int64_t)value; /* refused as negative */
    }
    default:
        return *(const int64_t *)at;
    }
}

static void whole_set(const struct field *field, void *at, int64_t value)
{
    switch (field->form) {
    case U8:
        *(uint8_t *)at = (uint8_t)value;
        break;
    case U16:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case U32:
        *(uint32_t *)at = (uint32_t)value;
        break;
    case I32:
        *(int32_t *)at = (int32_t)value;
        break;
    case U64:
        *(uint64_t *)at = (uint64_t)value;
        break;
    default:
        *(int64_t *)at = value;
    }
}

static bool whole_fits(const struct field *field, int64_t value)
{
    const int64_t min = field->form == I64 ? INT64_MIN : field->form == I32 ? INT32_MIN : 0;
    return value >= min && value <= field->max;
}

/* ---- writing ---- */

static int bind_bytes(struct adl_store *store, sqlite3_stmt *sql, int at, const struct adl_text *bytes,
                      const char *doing, struct adl_error *err)
{
    if (adl_text_status(bytes))
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot %s: out of memory", store->path, doing);
    const int code = sqlite3_bind_blob(sql, at, bytes->data ? bytes->data : "", (int)bytes->size, SQLITE_STATIC);
    return code == SQLITE_OK ? 0 : adl_store_failed(store, code, doing, err);
}

static int bind_list(struct adl_store *store, sqlite3_stmt *sql, int at, const struct field *field, const void *object,
                     const char *doing, struct adl_error *err)
{
    struct adl_text *bytes = &store->lists[field->list].bytes;
    if (bytes->failed) /* by an earlier job; there may be memory again */
        adl_text_clear(bytes);
    const int status = field->form == AFTER
                           ? adl_store_pack_dependencies(object, bytes, err)
                           : adl_store_pack_strings(*(const char *const *const *)((const char *)object + field->offset),
                                                    field->max, field->column, bytes, err);
    return status ? status : bind_bytes(store, sql, at, bytes, doing, err);
}

static int bind_field(struct adl_store *store, sqlite3_stmt *sql, int at, const struct field *field, const void *object,
                      const char *doing, struct adl_error *err)
{
    const void *place = (const char *)object + field->offset;
    int code;
    if (field->form == LIST || field->form == AFTER)
        return bind_list(store, sql, at, field, object, doing, err);
    if (field->form == TEXT) {
        const char *string = *(const char *const *)place;
        if (adl_store_length(string, field->max, field->column, err) < 0)
            return ADL_EINVAL;
        code = adl_store_bind_text(sql, at, string);
    } else if (field->form == F32 || field->form == F64) {
        const double value = field->form == F32 ? *(const float *)place : *(const double *)place;
        if (!isfinite(value))
            return adl_fail(err, ADL_EINVAL, "%s is not a number", field->column);
        code = sqlite3_bind_double(sql, at, value);
    } else {
        const int64_t value = whole_get(field, place);
        if (!whole_fits(field, value))
            return adl_fail(err, ADL_EINVAL, "%s is %" PRId64 " and at most %" PRId64 " is possible", field->column,
                            value, field->max);
        code = sqlite3_bind_int64(sql, at, value);
    }
    return code == SQLITE_OK ? 0 : adl_store_failed(store, code, doing, err);
}

static int bind_fields(struct adl_store *store, sqlite3_stmt *sql, int first, const struct field *fields, int count,
                       const void *object, const char *doing, struct adl_error *err)
{
    int status = 0;
    for (int i = 0; !status && i < count; i++)
        status = bind_field(store, sql, first + i, &fields[i], object, doing, err);
    return status;
}

size_t adl_store_payload_size(const struct adl_store_job *job)
{
    size_t size = job->dependency_count * sizeof *job->dependencies;
    for (int i = 0; i < PAYLOAD_COUNT; i++) {
        const void *place = (const char *)job + payload_fields[i].offset;
        if (payload_fields[i].form == TEXT) {
            const char *text = *(const char *const *)place;
            size += text ? strlen(text) : 0;
        } else if (payload_fields[i].form == LIST) {
            for (const char *const *at = *(const char *const *const *)place; at && *at; at++)
                size += strlen(*at) + 1;
        }
    }
    return size;
}

/* Runs a bound statement that adds a row with this id. */
static int run_with_id(struct adl_store *store, int which, sqlite3_int64 id, const char *doing, struct adl_error *err)
{
    sqlite3_bind_int64(store->sql[which], 1, id);
    return adl_store_run(store, store->sql[which], doing, err);
}

static int insert(struct adl_store *store, const struct adl_store_job *job, uint64_t *ret_id, struct adl_error *err)
{
    static const char doing[] = "add a job";
    sqlite3_stmt **sql = store->sql;
    const bool brings = job->payload == 0;
    int status =
        bind_fields(store, sql[ADL_SQL_SUBMISSION_ADD], 1, submission_fields, SUBMISSION_COUNT, job, doing, err);
    if (!status && brings)
        status = bind_fields(store, sql[ADL_SQL_PAYLOAD_ADD], 3, payload_fields, PAYLOAD_COUNT, job, doing, err);
    if (!status)
        status = bind_fields(store, sql[ADL_SQL_JOB_ADD], 2, status_fields, STATUS_COUNT, &job->status, doing, err);
    if (status) {
        for (int which = ADL_SQL_SUBMISSION_ADD; which <= ADL_SQL_JOB_ADD; which++)
            sqlite3_clear_bindings(sql[which]);
        return status;
    }
    status = adl_store_run(store, sql[ADL_SQL_SUBMISSION_ADD], doing, err);
    const sqlite3_int64 id = sqlite3_last_insert_rowid(store->db);
    if (!status && brings) {
        sqlite3_bind_int64(sql[ADL_SQL_PAYLOAD_ADD], 2, (sqlite3_int64)adl_store_payload_size(job));
        status = run_with_id(store, ADL_SQL_PAYLOAD_ADD, id, doing, err);
    }
    if (!status)
        status = run_with_id(store, ADL_SQL_JOB_ADD, id, doing, err);
    /* Part of a job must not be committed, whatever the database refused. */
    store->doomed = store->doomed || status;
    if (!status)
        *ret_id = (uint64_t)id;
    return status;
}

int adl_store_job_add(struct adl_store *store, const struct adl_store_job *job, uint64_t *ret_id, struct adl_error *err)
{
    bool own;
    uint64_t id = 0;
    int status = adl_store_enter(store, "add a job", &own, err);
    if (status)
        return status;
    status = adl_store_leave(store, own, insert(store, job, &id, err), err);
    if (!status)
        *ret_id = id;
    return status;
}

int adl_store_job_update(struct adl_store *store, uint64_t id, const struct adl_store_status *status_now,
                         struct adl_error *err)
{
    static const char doing[] = "change a job";
    sqlite3_stmt *sql = store->sql[ADL_SQL_JOB_UPDATE];
    bool own;
    int status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    status = bind_fields(store, sql, 2, status_fields, STATUS_COUNT, status_now, doing, err);
    if (status) {
        sqlite3_clear_bindings(sql);
    } else {
        sqlite3_bind_int64(sql, 1, (sqlite3_int64)id);
        status = adl_store_run(store, sql, doing, err);
        if (!status && sqlite3_changes(store->db) != 1)
            status = adl_fail(err, ADL_EINVAL, "there is no job %" PRIu64, id);
    }
    return adl_store_leave(store, own, status, err);
}

/* ---- reading ---- */

static int read_bytes(struct adl_store *store, sqlite3_stmt *sql, int at, const struct field *field, void *object)
{
    const void *bytes = sqlite3_column_blob(sql, at);
    const size_t size = (size_t)sqlite3_column_bytes(sql, at);
    if (size > 0 && !bytes)
        return ADL_ENOMEM;
    struct adl_store_list *list = &store->lists[field->list];
    if (field->form == AFTER)
        return adl_store_unpack_dependencies(list, bytes, size, object);
    return adl_store_unpack_strings(list, bytes, size, (const char *const **)((char *)object + field->offset));
}

static int read_field(struct adl_store *store, sqlite3_stmt *sql, int at, const struct field *field, void *object)
{
    void *place = (char *)object + field->offset;
    if (field->form == LIST || field->form == AFTER)
        return read_bytes(store, sql, at, field, object);
    if (field->form == TEXT) {
        const char *text = (const char *)sqlite3_column_text(sql, at);
        *(const char **)place = text;
        return text ? 0 : ADL_ENOMEM;
    }
    if (field->form == F32) {
        *(float *)place = (float)sqlite3_column_double(sql, at);
    } else if (field->form == F64) {
        *(double *)place = sqlite3_column_double(sql, at);
    } else {
        const int64_t value = sqlite3_column_int64(sql, at);
        if (!whole_fits(field, value))
            return ADL_EIO;
        whole_set(field, place, value);
    }
    return 0;
}

struct visitor {
    adl_store_job_visit *visit;
    void *context;
};

static int fail_row(const struct adl_store *store, int status, uint64_t id, const char *column, struct adl_error *err)
{
    if (status == ADL_ENOMEM)
        return adl_fail(err, status, "%.150s: cannot read job %" PRIu64 ": out of memory", store->path, id);
    return adl_fail(err, status,
                    "%.150s: job %" PRIu64 ": its %s is damaged; put a backup of the database in its place",
                    store->path, id, column);
}

static int read_fields(struct adl_store *store, sqlite3_stmt *sql, int first, const struct field *fields, int count,
                       uint64_t id, void *object, struct adl_error *err)
{
    for (int i = 0; i < count; i++) {
        const int status = read_field(store, sql, first + i, &fields[i], object);
        if (status)
            return fail_row(store, status, id, fields[i].column, err);
    }
    return 0;
}

/* A payload may be megabytes, so it is read once for consecutive jobs that share it, as those of an array do. It stays
 * in its statement's row, and in the store's lists, until drop_payload(). */
static int load_payload(struct adl_store *store, uint64_t id, uint64_t number, struct adl_error *err)
{
    sqlite3_stmt *sql = store->sql[ADL_SQL_PAYLOAD_READ];
    if (store->shared.payload == number)
        return 0;
    store->shared = (struct adl_store_job){0};
    sqlite3_reset(sql);
    sqlite3_bind_int64(sql, 1, (sqlite3_int64)number);
    const int code = sqlite3_step(sql);
    if (code == SQLITE_DONE)
        return fail_row(store, ADL_EIO, id, "payload", err);
    if (code != SQLITE_ROW)
        return adl_store_failed(store, code, "read a job", err);
    const int status = read_fields(store, sql, 0, payload_fields, PAYLOAD_COUNT, id, &store->shared, err);
    if (!status)
        store->shared.payload = number;
    return status;
}

static void drop_payload(struct adl_store *store)
{
    sqlite3_reset(store->sql[ADL_SQL_PAYLOAD_READ]);
    store->shared = (struct adl_store_job){0};
}

static int read_row(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct visitor *visitor = self;
    const uint64_t id = (uint64_t)sqlite3_column_int64(sql, 0), payload = (uint64_t)sqlite3_column_int64(sql, 1);
    int status = load_payload(store, id, payload, err);
    struct adl_store_job job = store->shared;
    job.spec.id = id;
    if (!status)
        status = read_fields(store, sql, 2, submission_fields, SUBMISSION_COUNT, id, &job, err);
    if (!status)
        status = read_fields(store, sql, 2 + SUBMISSION_COUNT, status_fields, STATUS_COUNT, id, &job.status, err);
    if (status)
        return status;
    job.payload = payload;
    /* An array has the id of its first job, which was not known when that was written. */
    if (job.array_index >= 0 && job.array_id == 0)
        job.array_id = id;
    return visitor->visit(visitor->context, &job, err);
}

static int visit_jobs(struct adl_store *store, sqlite3_stmt *sql, const char *doing, adl_store_job_visit *visit,
                      void *context, struct adl_error *err)
{
    struct visitor visitor = {visit, context};
    const int count = adl_store_each(store, sql, doing, read_row, &visitor, err);
    drop_payload(store);
    return count;
}

int adl_store_job_read(struct adl_store *store, uint64_t id, adl_store_job_visit *visit, void *context,
                       struct adl_error *err)
{
    sqlite3_stmt *sql = store->sql[ADL_SQL_JOB_READ];
    sqlite3_bind_int64(sql, 1, (sqlite3_int64)id);
    return visit_jobs(store, sql, "read a job", visit, context, err);
}

enum { LIVE = 1 << ADL_STORE_PENDING | 1 << ADL_STORE_RUNNING };

static int read_jobs(struct adl_store *store, const struct adl_store_page *page, int64_t limit,
                     adl_store_job_visit *visit, void *context, struct adl_error *err)
{
    const uint32_t states = page->states ? page->states : (1u << ADL_STORE_STATE_COUNT) - 1;
    const int form = !(states & ~(uint32_t)LIVE) ? ADL_SQL_JOBS_LIVE
                     : page->by_user             ? ADL_SQL_JOBS_OF_USER
                                                 : ADL_SQL_JOBS_ALL;
    const bool from_end = page->newest_first && page->after == 0;
    sqlite3_stmt *sql = store->sql[form + page->newest_first];
    sqlite3_bind_int64(sql, 1, from_end || page->after > INT64_MAX ? INT64_MAX : (int64_t)page->after);
    sqlite3_bind_int64(sql, 2, states);
    sqlite3_bind_int64(sql, 3, limit);
    sqlite3_bind_int64(sql, 4, page->by_user ? (int64_t)page->uid : -1);
    adl_store_bind_text(sql, 5, page->user);
    return visit_jobs(store, sql, "read jobs", visit, context, err);
}

int adl_store_jobs_live(struct adl_store *store, adl_store_job_visit *visit, void *context, struct adl_error *err)
{
    const struct adl_store_page all = {.states = LIVE};
    return read_jobs(store, &all, -1, visit, context, err);
}

int adl_store_jobs_page(struct adl_store *store, const struct adl_store_page *page, adl_store_job_visit *visit,
                        void *context, struct adl_error *err)
{
    if (page->limit < 1 || page->limit > ADL_STORE_PAGE_MAX)
        return adl_fail(err, ADL_EINVAL, "a page has 1..%d jobs, not %" PRIu32, ADL_STORE_PAGE_MAX, page->limit);
    return page->by_end ? adl_store_ended_page(store, page, visit, context, err)
                        : read_jobs(store, page, page->limit, visit, context, err);
}

/* ---- statements, generated from the fields ---- */

static void put_columns(struct adl_text *text, const char *before, const char *after, const struct field *fields,
                        int count)
{
    for (int i = 0; i < count; i++)
        adl_text_printf(text, "%s%s%s%s", i ? ", " : "", before, fields[i].column, after);
}

static int prepare_text(struct adl_store *store, int which, struct adl_text *text, struct adl_error *err)
{
    const int status = adl_text_status(text)
                           ? adl_fail(err, ADL_ENOMEM, "%.150s: cannot open it: out of memory", store->path)
                           : adl_store_prepare(store, which, text->data, err);
    adl_text_clear(text);
    return status;
}

/* Columns that are not fields come first. */
static int prepare_insert(struct adl_store *store, int which, const char *into, int before, const struct field *fields,
                          int count, struct adl_error *err)
{
    struct adl_text text = {0};
    adl_text_printf(&text, "INSERT INTO %s", into);
    put_columns(&text, "", "", fields, count);
    adl_text_put(&text, ") VALUES (?1");
    for (int i = 2; i <= before + count; i++)
        adl_text_printf(&text, ", ?%d", i);
    adl_text_put(&text, ")");
    return prepare_text(store, which, &text, err);
}

static int prepare_writes(struct adl_store *store, struct adl_error *err)
{
    struct adl_text text = {0};
    int status =
        prepare_insert(store, ADL_SQL_SUBMISSION_ADD, "submission (", 0, submission_fields, SUBMISSION_COUNT, err);
    if (!status)
        status =
            prepare_insert(store, ADL_SQL_PAYLOAD_ADD, "payload (id, bytes, ", 2, payload_fields, PAYLOAD_COUNT, err);
    if (!status)
        status = prepare_insert(store, ADL_SQL_JOB_ADD, "job (id, ", 1, status_fields, STATUS_COUNT, err);
    if (status)
        return status;
    adl_text_put(&text, "UPDATE job SET ");
    for (int i = 0; i < STATUS_COUNT; i++)
        adl_text_printf(&text, "%s%s = ?%d", i ? ", " : "", status_fields[i].column, i + 2);
    adl_text_put(&text, " WHERE id = ?1");
    return prepare_text(store, ADL_SQL_JOB_UPDATE, &text, err);
}

static int prepare_payload(struct adl_store *store, struct adl_error *err)
{
    struct adl_text text = {0};
    adl_text_put(&text, "SELECT ");
    put_columns(&text, "", "", payload_fields, PAYLOAD_COUNT);
    adl_text_put(&text, " FROM payload WHERE id = ?1");
    return prepare_text(store, ADL_SQL_PAYLOAD_READ, &text, err);
}

static int prepare_read(struct adl_store *store, int which, const char *from, struct adl_error *err)
{
    struct adl_text text = {0};
    adl_text_put(&text, "SELECT s.id, iif(s.payload = 0, s.id, s.payload), ");
    put_columns(&text, "s.", "", submission_fields, SUBMISSION_COUNT);
    adl_text_put(&text, ", ");
    put_columns(&text, "j.", "", status_fields, STATUS_COUNT);
    adl_text_put(&text, from);
    return prepare_text(store, which, &text, err);
}

/* CROSS JOIN fixes the outer table, so that rows come in order and the cost of a page is proportional to its rows: all
 * by id, one user's by the index over users, live ones by the index of live jobs. */
#define PAGE(id, order, compare)                                                                                       \
    " AND " id " " compare " ?1 AND (?2 >> j.state) & 1 = 1 AND (?5 = '' OR s.user = ?5) ORDER BY " id " " order       \
    " LIMIT ?3"
#define ALL     " FROM submission s CROSS JOIN job j ON j.id = s.id WHERE ?4 = -1"
#define OF_USER " FROM submission s INDEXED BY submission_user CROSS JOIN job j ON j.id = s.id WHERE s.uid = ?4"
#define OF_LIVE                                                                                                        \
    " FROM job j INDEXED BY job_live CROSS JOIN submission s ON s.id = j.id WHERE j.state <= 1"                        \
    " AND (?4 = -1 OR s.uid = ?4)"

int adl_store_jobs_prepare(struct adl_store *store, struct adl_error *err)
{
    static const struct {
        int which;
        const char *from;
    } reads[] = {
        {ADL_SQL_JOB_READ, " FROM submission s JOIN job j ON j.id = s.id WHERE s.id = ?1"},
        {ADL_SQL_JOBS_ALL, ALL PAGE("s.id", "ASC", ">")},
        {ADL_SQL_JOBS_ALL + 1, ALL PAGE("s.id", "DESC", "<")},
        {ADL_SQL_JOBS_OF_USER, OF_USER PAGE("s.id", "ASC", ">")},
        {ADL_SQL_JOBS_OF_USER + 1, OF_USER PAGE("s.id", "DESC", "<")},
        {ADL_SQL_JOBS_LIVE, OF_LIVE PAGE("j.id", "ASC", ">")},
        {ADL_SQL_JOBS_LIVE + 1, OF_LIVE PAGE("j.id", "DESC", "<")},
    };
    int status = store->read_only ? 0 : prepare_writes(store, err);
    if (!status)
        status = prepare_payload(store, err);
    for (size_t i = 0; !status && i < sizeof reads / sizeof reads[0]; i++)
        status = prepare_read(store, reads[i].which, reads[i].from, err);
    return status;
}
