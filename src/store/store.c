/* store: opening, the lock, transactions and errors of the store; its rows are in store_jobs.c and store_log.c. */
#include "store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUSY_MS = 2000 }; /* only the service writes; this is how long it waits for somebody with an SQLite shell */

/* ---- errors ---- */

static int status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ADL_ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ADL_EREFUSED;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
        return ADL_EINVAL;
    default:
        return ADL_EIO;
    }
}

static const char *advice(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return "; nothing of it was written: free some space and try again";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return "; the directory and its files must be writable for the service";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "; the database is damaged: put a backup in its place, or move it away to start from scratch";
    case SQLITE_IOERR:
        return "; nothing of it was written: check the disk's health and space";
    case SQLITE_BUSY:
        return "; another program writes to it but should not";
    default:
        return "";
    }
}

int adl_store_failed(struct adl_store *store, int code, const char *doing, struct adl_error *err)
{
    const int problem = sqlite3_system_errno(store->db);
    const bool told = problem && ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN);
    const int status = status_of(code);
    store->full = (code & 0xff) == SQLITE_FULL || (told && (problem == ENOSPC || problem == EDQUOT));
    if (store->grouped && status != ADL_EINVAL)
        store->doomed = true;
    return adl_fail(err, status, "%.150s: cannot %s: %s%s%s%s", store->path, doing,
                    code == SQLITE_ERROR ? sqlite3_errmsg(store->db) : sqlite3_errstr(code), told ? ": " : "",
                    told ? strerror(problem) : "", advice(code));
}

/* ---- statements ---- */

int adl_store_prepare(struct adl_store *store, int which, const char *text, struct adl_error *err)
{
    const int code = sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT, &store->sql[which], NULL);
    return code == SQLITE_OK ? 0 : adl_store_failed(store, code, "read its tables", err);
}

static void reset_statement(sqlite3_stmt *sql)
{
    sqlite3_reset(sql);
    sqlite3_clear_bindings(sql);
}

int adl_store_run(struct adl_store *store, sqlite3_stmt *sql, const char *doing, struct adl_error *err)
{
    const int code = sqlite3_step(sql);
    const int status = code == SQLITE_DONE ? 0 : adl_store_failed(store, code, doing, err);
    reset_statement(sql);
    return status;
}

int adl_store_each(struct adl_store *store, sqlite3_stmt *sql, const char *doing, adl_store_row *row, void *visitor,
                   struct adl_error *err)
{
    assert(!store->visiting);
    store->visiting = true;
    int count = 0, result = 0, code = SQLITE_ROW;
    while (result == 0 && (code = sqlite3_step(sql)) == SQLITE_ROW) {
        result = row(store, sql, visitor, err);
        count += result >= 0;
    }
    store->visiting = false;
    if (result == 0 && code != SQLITE_DONE)
        result = adl_store_failed(store, code, doing, err);
    reset_statement(sql);
    return result < 0 ? result : count;
}

/* strnlen() stops at max, which is far below INT_MAX. */
int adl_store_length(const char *string, int64_t max, const char *what, struct adl_error *err)
{
    const size_t length = string ? strnlen(string, (size_t)max + 1) : 0;
    if (length > (size_t)max)
        return adl_fail(err, ADL_EINVAL, "%s has more than %lld bytes", what, (long long)max);
    return (int)length;
}

int adl_store_bind_text(sqlite3_stmt *sql, int at, const char *string)
{
    return sqlite3_bind_text(sql, at, string ? string : "", -1, SQLITE_STATIC);
}

/* ---- transactions ---- */

int adl_store_begin(struct adl_store *store, struct adl_error *err)
{
    assert(!store->grouped && !store->read_only && !store->visiting);
    const int status = adl_store_run(store, store->sql[ADL_SQL_BEGIN], "begin to write", err);
    if (status)
        return status;
    store->grouped = true;
    store->doomed = false;
    store->full = false;
    store->samples_before = store->samples;
    return 0;
}

void adl_store_rollback(struct adl_store *store)
{
    if (!store->grouped)
        return;
    /* After some failures SQLite has rolled back already. */
    if (!sqlite3_get_autocommit(store->db))
        adl_store_run(store, store->sql[ADL_SQL_ROLLBACK], "undo", NULL);
    store->samples = store->samples_before;
    store->grouped = false;
    store->doomed = false;
}

static int fail_doomed(const struct adl_store *store, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%.150s: an earlier write of this transaction failed, so it was rolled back",
                    store->path);
}

int adl_store_commit(struct adl_store *store, struct adl_error *err)
{
    assert(store->grouped && !store->visiting);
    int status =
        store->doomed || sqlite3_get_autocommit(store->db) ? fail_doomed(store, err) : adl_store_present(store, err);
    if (!status)
        status = adl_store_run(store, store->sql[ADL_SQL_COMMIT], "commit", err);
    if (status)
        adl_store_rollback(store);
    store->grouped = false;
    return status;
}

int adl_store_enter(struct adl_store *store, const char *doing, bool *ret_own, struct adl_error *err)
{
    assert(!store->visiting);
    if (store->read_only)
        return adl_fail(err, ADL_EREFUSED, "%.150s: cannot %s: it was opened for reading", store->path, doing);
    if (store->doomed)
        return fail_doomed(store, err);
    *ret_own = !store->grouped;
    return *ret_own ? adl_store_begin(store, err) : 0;
}

int adl_store_leave(struct adl_store *store, bool own, int status, struct adl_error *err)
{
    if (own && status)
        adl_store_rollback(store);
    else if (own)
        return adl_store_commit(store, err);
    return status;
}

/* ---- space for essential writes ---- */

bool adl_store_is_full(const struct adl_store *store)
{
    return store->full;
}

/* Checkpoints the WAL after each commit, so that it does not grow; or every 1000 pages, as usual. */
static void set_small_wal(struct adl_store *store, bool small)
{
    sqlite3_wal_autocheckpoint(store->db, small ? 1 : 1000);
    if (!small)
        return;
    sqlite3_busy_timeout(store->db, 0); /* does not wait for a reader that blocks the checkpoint */
    sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(store->db, BUSY_MS);
}

void adl_store_limit_wal(struct adl_store *store)
{
    assert(!store->grouped);
    set_small_wal(store, true);
}

bool adl_store_reserve_spend(struct adl_store *store)
{
    return adl_store_folder_spend(&store->folder);
}

bool adl_store_reserve_build(struct adl_store *store)
{
    assert(!store->grouped);
    set_small_wal(store, true);
    if (!adl_store_folder_reserve(&store->folder))
        return false;
    set_small_wal(store, false);
    return true;
}

int adl_store_present(struct adl_store *store, struct adl_error *err)
{
    return adl_store_folder_check(&store->folder, err);
}

/* ---- opening ---- */

static int set_up(struct adl_store *store, const char *pragma, const char *doing, struct adl_error *err)
{
    const int code = sqlite3_exec(store->db, pragma, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : adl_store_failed(store, code, doing, err);
}

/* Only WAL mode lets readers work while the service writes; some network file systems do not support it. */
static int set_wal(struct adl_store *store, struct adl_error *err)
{
    sqlite3_stmt *sql = NULL;
    int status = 0;
    int code = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode = WAL", -1, &sql, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(sql);
    if (code != SQLITE_ROW)
        status = adl_store_failed(store, code, "switch to WAL mode", err);
    else if (sqlite3_stricmp((const char *)sqlite3_column_text(sql, 0), "wal") != 0)
        status = adl_fail(err, ADL_EIO, "%.200s: WAL mode is not possible here; use a directory on a local disk",
                          store->path);
    sqlite3_finalize(sql);
    return status;
}

static int connect(struct adl_store *store, struct adl_error *err)
{
    const int flags = SQLITE_OPEN_NOMUTEX | (store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    const int code = sqlite3_open_v2(store->path, &store->db, flags, NULL);
    if (code != SQLITE_OK)
        return adl_store_failed(store, code, "open it", err);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    /* FULL: a commit is synced before it returns. Temporary tables are in memory, so that a full disk does not affect
     * them. */
    return set_up(store,
                  "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
                  "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;",
                  "open it", err);
}

static int open_tables(struct adl_store *store, struct adl_error *err)
{
    int version = 0;
    int status = connect(store, err);
    if (!status)
        status = adl_store_identify(store->db, store->path, adl_store_step_count, &version, err);
    if (!status && store->read_only && version < adl_store_step_count)
        return adl_fail(err, ADL_EREFUSED,
                        "%.200s: schema %d is older than this program's %d; start the service once to migrate it",
                        store->path, version, adl_store_step_count);
    if (!status && !store->read_only) {
        status = adl_store_check(store->db, store->path, err);
        if (!status)
            status = set_wal(store, err);
        if (!status)
            status = adl_store_migrate(store->db, store->path, adl_store_steps, adl_store_step_count, err);
    }
    if (!status)
        status = adl_store_jobs_prepare(store, err);
    if (!status)
        status = adl_store_log_prepare(store, err);
    return status;
}

static bool ran_out(const struct adl_store *store)
{
    const int problem = store->db ? sqlite3_system_errno(store->db) : 0;
    return store->full || problem == ENOSPC || problem == EDQUOT;
}

static void close_tables(struct adl_store *store)
{
    for (int i = 0; i < ADL_SQL_COUNT; i++) {
        sqlite3_finalize(store->sql[i]);
        store->sql[i] = NULL;
    }
    sqlite3_close(store->db);
    store->db = NULL;
}

static int open_parts(struct adl_store *store, const char *directory, struct adl_error *err)
{
    struct adl_text path = {0};
    adl_text_printf(&path, "%s/adlro.db", directory);
    if (adl_text_status(&path)) {
        adl_text_clear(&path);
        return adl_fail(err, ADL_ENOMEM, "%.200s: no memory to open it", directory);
    }
    store->path = path.data;
    if (store->read_only && access(store->path, F_OK) != 0)
        return adl_fail(err, ADL_EIO, "%.200s: cannot read it: %s; the service creates it when it first starts here",
                        store->path, strerror(errno));
    if (store->read_only)
        return open_tables(store, err);
    int status = adl_store_folder_open(directory, &store->folder, err);
    if (!status)
        status = open_tables(store, err);
    if (status && ran_out(store) && adl_store_reserve_spend(store)) {
        close_tables(store);
        status = open_tables(store, err);
    }
    if (!status)
        status = adl_store_present(store, err);
    return status;
}

int adl_store_open(const char *directory, enum adl_store_mode mode, struct adl_store **ret, struct adl_error *err)
{
    struct adl_store *store = calloc(1, sizeof *store);
    if (!store)
        return adl_fail(err, ADL_ENOMEM, "%.200s: no memory to open it", directory);
    store->folder.fd = store->folder.lock = store->folder.reserve = -1;
    store->read_only = mode == ADL_STORE_READ;
    const int status = open_parts(store, directory, err);
    if (status)
        adl_store_close(store);
    else
        *ret = store;
    return status;
}

void adl_store_close(struct adl_store *store)
{
    if (!store)
        return;
    adl_store_rollback(store);
    close_tables(store);
    adl_store_folder_close(&store->folder);
    adl_store_lists_clear(store);
    free(store->path);
    free(store);
}
