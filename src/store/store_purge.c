/* store_purge: deletes ended jobs, each with its events, and the last of an array with the shared payload. */
#include "store/store_internal.h"

#include <inttypes.h>

enum { EVENTS_MAX = 2000 }; /* of a job that one step deletes; a job with more is deleted by a later step */

static const char doing[] = "delete ended jobs";

struct ended {
    uint64_t id, payload;
};

struct found {
    struct ended jobs[ADL_STORE_PURGE_MAX];
    uint32_t count;
};

static int find_one(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    (void)store, (void)err;
    struct found *found = self;
    found->jobs[found->count++] =
        (struct ended){(uint64_t)sqlite3_column_int64(sql, 0), (uint64_t)sqlite3_column_int64(sql, 1)};
    return 0;
}

static int delete_job(struct adl_store *store, const struct ended *job, struct adl_error *err)
{
    sqlite3_bind_int64(store->sql[ADL_SQL_EVENTS_DELETE], 2, EVENTS_MAX);
    for (int which = ADL_SQL_EVENTS_DELETE; which <= ADL_SQL_PAYLOAD_DELETE; which++) {
        const uint64_t id = which == ADL_SQL_PAYLOAD_DELETE ? job->payload : job->id;
        sqlite3_bind_int64(store->sql[which], 1, (sqlite3_int64)id);
        const int status = adl_store_run(store, store->sql[which], doing, err);
        if (status)
            return status;
        if (which == ADL_SQL_EVENTS_DELETE && sqlite3_changes(store->db) == EVENTS_MAX)
            return 0;
    }
    return 0;
}

/* Deletes the jobs that a bound statement finds. */
static int delete_found(struct adl_store *store, sqlite3_stmt *sql, uint32_t step, uint32_t *ret_count,
                        struct adl_error *err)
{
    struct found found = {.count = 0};
    sqlite3_bind_int64(sql, 2, step);
    int status = adl_store_each(store, sql, doing, find_one, &found, err);
    for (uint32_t i = 0; status >= 0 && i < found.count; i++)
        status = delete_job(store, &found.jobs[i], err);
    *ret_count = found.count;
    return status < 0 ? status : 0;
}

static int check_step(uint32_t step, struct adl_error *err)
{
    if (step < 1 || step > ADL_STORE_PURGE_MAX)
        return adl_fail(err, ADL_EINVAL, "a step deletes 1..%d jobs, not %" PRIu32, ADL_STORE_PURGE_MAX, step);
    return 0;
}

int adl_store_purge(struct adl_store *store, int64_t before_us, uint32_t step, struct adl_error *err)
{
    bool own;
    uint32_t count = 0;
    sqlite3_stmt *general = store->sql[ADL_SQL_GENERAL_DELETE];
    int status = check_step(step, err);
    if (!status)
        status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    sqlite3_bind_int64(store->sql[ADL_SQL_ENDED], 1, before_us);
    status = delete_found(store, store->sql[ADL_SQL_ENDED], step, &count, err);
    if (!status) {
        sqlite3_bind_int64(general, 1, before_us);
        sqlite3_bind_int64(general, 2, EVENTS_MAX);
        status = adl_store_run(store, general, doing, err);
    }
    if (!status && sqlite3_changes(store->db) == EVENTS_MAX)
        count = step; /* there may be more */
    status = adl_store_leave(store, own, status, err);
    return status ? status : (int)count;
}

int adl_store_purge_user(struct adl_store *store, uint32_t uid, uint32_t step, struct adl_error *err)
{
    bool own;
    uint32_t count = 0;
    int status = check_step(step, err);
    if (!status)
        status = adl_store_enter(store, doing, &own, err);
    if (status)
        return status;
    sqlite3_bind_int64(store->sql[ADL_SQL_ENDED_OF_USER], 1, uid);
    status = delete_found(store, store->sql[ADL_SQL_ENDED_OF_USER], step, &count, err);
    status = adl_store_leave(store, own, status, err);
    return status ? status : (int)count;
}

int adl_store_usage(struct adl_store *store, uint32_t uid, int64_t *ret, struct adl_error *err)
{
    sqlite3_bind_int64(store->sql[ADL_SQL_USAGE], 1, uid);
    return adl_store_number(store, store->sql[ADL_SQL_USAGE], "read what a user's jobs take", ret, err);
}
