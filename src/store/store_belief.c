/* store_belief: what was learned about jobs. */
#include "store/store_internal.h"

int adl_store_belief_set(struct adl_store *store, const char *name, const struct adl_store_belief *belief,
                         struct adl_error *err)
{
    bool own = false;
    sqlite3_stmt *sql = store->sql[ADL_SQL_BELIEF_SET];
    if (belief->size > ADL_STORE_CONTENT_MAX)
        return adl_fail(err, ADL_EINVAL, "a belief has more than %ld bytes", ADL_STORE_CONTENT_MAX);
    int status = adl_store_enter(store, "store what was learned", &own, err);
    if (status)
        return status;
    adl_store_bind_text(sql, 1, name);
    sqlite3_bind_int64(sql, 2, belief->time_us);
    sqlite3_bind_int64(sql, 3, (sqlite3_int64)belief->sequence);
    sqlite3_bind_blob(sql, 4, belief->size ? belief->content : "", (int)belief->size, SQLITE_STATIC);
    status = adl_store_run(store, sql, "store what was learned", err);
    return adl_store_leave(store, own, status, err);
}

struct visitor {
    adl_store_belief_visit *visit;
    void *context;
};

static int read_belief(struct adl_store *store, sqlite3_stmt *sql, void *self, struct adl_error *err)
{
    (void)store;
    const struct visitor *visitor = self;
    const struct adl_store_belief belief = {.time_us = sqlite3_column_int64(sql, 0),
                                            .sequence = (uint64_t)sqlite3_column_int64(sql, 1),
                                            .content = sqlite3_column_blob(sql, 2),
                                            .size = (size_t)sqlite3_column_bytes(sql, 2)};
    if (belief.size > 0 && !belief.content)
        return adl_fail(err, ADL_ENOMEM, "out of memory for what was learned");
    return visitor->visit(visitor->context, &belief, err);
}

int adl_store_belief_read(struct adl_store *store, const char *name, adl_store_belief_visit *visit, void *context,
                          struct adl_error *err)
{
    sqlite3_stmt *sql = store->sql[ADL_SQL_BELIEF];
    struct visitor visitor = {visit, context};
    adl_store_bind_text(sql, 1, name);
    return adl_store_each(store, sql, "read what was learned", read_belief, &visitor, err);
}
