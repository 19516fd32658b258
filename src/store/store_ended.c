/* store_ended: jobs in the order in which they ended, and where jobs were started. */
#include "store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- pages, the last end first ---- */

struct ids {
    uint64_t at[ADL_STORE_PAGE_MAX];
    uint32_t count;
};

static int take_id(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    struct ids *ids = self;
    (void)store;
    (void)err;
    ids->at[ids->count++] = (uint64_t)sqlite3_column_int64(sql, 0);
    return 0;
}

/* A user is found by the index over users, or by name along the ends of all jobs. After a job that waits again, or is
 * gone with all that ended before it, there is nothing. */
static int find_ids(struct adl_store *store, const struct adl_store_page *page, struct ids *ids, struct adl_error *err)
{
    sqlite3_stmt *sql = store->sql[page->by_user ? ADL_SQL_ENDS_OF_USER : ADL_SQL_ENDS];
    const uint32_t ended = (1u << ADL_STORE_STATE_COUNT) - (1u << ADL_STORE_ENDED);
    const int64_t after = page->after > INT64_MAX ? INT64_MAX : (int64_t)page->after;
    int64_t end_us = INT64_MAX;
    sqlite3_bind_int64(store->sql[ADL_SQL_END_OF], 1, after);
    const int status =
        after == 0 ? 0 : adl_store_number(store, store->sql[ADL_SQL_END_OF], "read an end", &end_us, err);
    if (status)
        return status;
    sqlite3_bind_int64(sql, 1, end_us);
    sqlite3_bind_int64(sql, 2, after);
    sqlite3_bind_int64(sql, 3, page->states ? page->states : ended);
    sqlite3_bind_int64(sql, 4, page->limit);
    adl_store_bind_text(sql, 5, page->user);
    sqlite3_bind_int64(sql, 6, page->by_user ? (int64_t)page->uid : -1);
    return adl_store_each(store, sql, "read the ends of jobs", take_id, ids, err);
}

int adl_store_ended_page(struct adl_store *store, const struct adl_store_page *page, adl_store_job_visit *visit,
                         void *context, struct adl_error *err)
{
    struct ids *ids = calloc(1, sizeof *ids);
    if (!ids)
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read jobs: out of memory", store->path);
    int status = find_ids(store, page, ids, err), count = 0;
    for (uint32_t i = 0; status >= 0 && i < ids->count; i++) {
        status = adl_store_job_read(store, ids->at[i], visit, context, err);
        count += status > 0;
    }
    free(ids);
    return status < 0 ? status : count;
}

/* ---- runs ---- */

struct run_visitor {
    adl_store_run_visit *visit;
    void *context;
};

/* Each name in a list ends with a zero byte. */
static uint32_t count_names(const char *bytes, int size)
{
    uint32_t count = 0;
    for (int i = 0; i < size; i++)
        count += bytes[i] == '\0';
    return count;
}

static int read_run(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    const struct run_visitor *visitor = self;
    const struct adl_store_run run = {
        .user = (const char *)sqlite3_column_text(sql, 0),
        .uid = (uint32_t)sqlite3_column_int64(sql, 1),
        .state = (uint8_t)sqlite3_column_int(sql, 2),
        .submit_us = sqlite3_column_int64(sql, 3),
        .eligible_us = sqlite3_column_int64(sql, 4),
        .start_us = sqlite3_column_int64(sql, 5),
        .end_us = sqlite3_column_int64(sql, 6),
        .ran_us = sqlite3_column_int64(sql, 7),
        .gpus = count_names(sqlite3_column_blob(sql, 8), sqlite3_column_bytes(sql, 8)),
        .idle_us = sqlite3_column_int64(sql, 9),
    };
    if (!run.user)
        return adl_fail(err, ADL_ENOMEM, "%.150s: cannot read a run: out of memory", store->path);
    return visitor->visit(visitor->context, &run, err);
}

int adl_store_runs_ended(struct adl_store *store, int64_t from_us, uint32_t limit, adl_store_run_visit *visit,
                         void *context, struct adl_error *err)
{
    struct run_visitor visitor = {visit, context};
    sqlite3_stmt *sql = store->sql[ADL_SQL_RUNS];
    sqlite3_bind_int64(sql, 1, from_us > 0 ? from_us : 1);
    sqlite3_bind_int64(sql, 2, limit);
    return adl_store_each(store, sql, "read runs", read_run, &visitor, err);
}
