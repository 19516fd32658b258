/* store_internal: private to store*.c. */
#ifndef ADLRO_STORE_STORE_INTERNAL_H
#define ADLRO_STORE_STORE_INTERNAL_H

#include "base/text.h"
#include "store/store.h"

#include <sqlite3.h>
#include <sys/types.h>

enum adl_store_sql {
    ADL_SQL_BEGIN,
    ADL_SQL_COMMIT,
    ADL_SQL_ROLLBACK,
    ADL_SQL_EVENT_APPEND,
    ADL_SQL_EVENTS,
    ADL_SQL_EVENTS_OF_JOB,
    ADL_SQL_EVENT_LAST,
    ADL_SQL_EVENTS_GENERAL,
    ADL_SQL_STARTS,
    ADL_SQL_END_OF,
    ADL_SQL_ENDS,
    ADL_SQL_ENDS_OF_USER,
    ADL_SQL_RUNS,
    ADL_SQL_GPU_ADD,
    ADL_SQL_SAMPLE_APPEND,
    ADL_SQL_SAMPLES,
    ADL_SQL_SAMPLES_OF_GPU,
    ADL_SQL_SAMPLE_COUNT,
    ADL_SQL_PRUNE,
    ADL_SQL_SWAP_APPEND,
    ADL_SQL_SWAP_LAST,
    ADL_SQL_BELIEF_SET,
    ADL_SQL_BELIEF,
    ADL_SQL_DRAIN_SET,
    ADL_SQL_DRAIN_END,
    ADL_SQL_DRAINS,
    ADL_SQL_EXTERNAL,
    ADL_SQL_JOB_LAST,
    ADL_SQL_USAGE,
    ADL_SQL_ENDED,
    ADL_SQL_ENDED_OF_USER,
    ADL_SQL_EVENTS_DELETE, /* the order of these four is that of a purge */
    ADL_SQL_JOB_DELETE,
    ADL_SQL_SUBMISSION_DELETE,
    ADL_SQL_PAYLOAD_DELETE,
    ADL_SQL_GENERAL_DELETE,
    ADL_SQL_FIXED_COUNT, /* from here on store_jobs.c generates them from its table of fields */
    ADL_SQL_SUBMISSION_ADD = ADL_SQL_FIXED_COUNT,
    ADL_SQL_PAYLOAD_ADD,
    ADL_SQL_JOB_ADD,
    ADL_SQL_JOB_UPDATE,
    ADL_SQL_PAYLOAD_READ,
    ADL_SQL_JOB_READ,
    ADL_SQL_JOBS_ALL, /* each of the three is followed by its newest-first form */
    ADL_SQL_JOBS_OF_USER = ADL_SQL_JOBS_ALL + 2,
    ADL_SQL_JOBS_LIVE = ADL_SQL_JOBS_OF_USER + 2,
    ADL_SQL_COUNT = ADL_SQL_JOBS_LIVE + 2,
};

enum { ADL_STORE_LISTS = 5 }; /* fields of a job that are lists */

/* Buffer of a list: written to the database as bytes, read from it as items. */
struct adl_store_list {
    struct adl_text bytes;
    void *items;
    size_t capacity; /* of items, in bytes */
};

/* Identity of the file behind a name. */
struct adl_store_file {
    dev_t device;
    ino_t number; /* 0: not known yet */
};

struct adl_store_folder {
    char *path;
    int fd, lock, reserve; /* descriptors, or -1 */
    struct adl_store_file self, database, wal;
};

struct adl_store {
    char *path; /* of the database, for messages */
    sqlite3 *db;
    struct adl_store_folder folder; /* of one that serves */
    bool full;                      /* the last failure was a full disk */
    bool read_only;
    bool grouped;
    bool doomed;   /* a write of the group failed: it can only be rolled back */
    bool visiting; /* a visitor runs */
    uint64_t samples;
    uint64_t samples_before; /* when the group began */
    sqlite3_stmt *sql[ADL_SQL_COUNT];
    struct adl_store_list lists[ADL_STORE_LISTS];
    struct adl_store_job shared; /* the payload read last, and its id; 0 = none */
};

/* ---- store.c ---- */

/* The status and text of SQLite's last error; doing completes "cannot". */
int adl_store_failed(struct adl_store *store, int code, const char *doing, struct adl_error *err);
/* Runs a bound statement that returns no rows, and resets it. */
int adl_store_run(struct adl_store *store, sqlite3_stmt *sql, const char *doing, struct adl_error *err);

/* Enclose the writes of one call, which are a transaction of their own unless a group is open. */
int adl_store_enter(struct adl_store *store, const char *doing, bool *ret_own, struct adl_error *err);
int adl_store_leave(struct adl_store *store, bool own, int status, struct adl_error *err);

/* Steps through the rows of a bound statement. row reads one and calls the visitor, whose result it returns. */
typedef int adl_store_row(struct adl_store *store, sqlite3_stmt *sql, void *visitor, struct adl_error *err);
int adl_store_each(struct adl_store *store, sqlite3_stmt *sql, const char *doing, adl_store_row *row, void *visitor,
                   struct adl_error *err);

/* ---- store_folder.c ---- */

/* On failure too the caller closes what was opened. */
int adl_store_folder_open(const char *directory, struct adl_store_folder *ret, struct adl_error *err);
void adl_store_folder_close(struct adl_store_folder *folder); /* accepts one that is not open */
/* Fails if the directory or the database was replaced or is gone. */
int adl_store_folder_check(struct adl_store_folder *folder, struct adl_error *err);
/* Builds the reserve if needed; false: there is not twice as much space. */
bool adl_store_folder_reserve(struct adl_store_folder *folder);
bool adl_store_folder_spend(struct adl_store_folder *folder); /* false: there was none */

/* ---- store_schema.c ---- */

#define ADL_STORE_APPLICATION 0x41444c52 /* "ADLR", in the header of the database */

/* Refuses a database of another program, and a schema newer than version_max. */
int adl_store_identify(sqlite3 *db, const char *path, int version_max, int *ret_version, struct adl_error *err);
/* Reads every page and refuses a damaged database. */
int adl_store_check(sqlite3 *db, const char *path, struct adl_error *err);
/* Each step migrates the schema from its index to the next version, in a transaction of its own. */
int adl_store_migrate(sqlite3 *db, const char *path, const char *const *steps, int step_count, struct adl_error *err);

extern const char *const adl_store_steps[];
extern const int adl_store_step_count;

/* ---- store_jobs.c, store_log.c ---- */

int adl_store_jobs_prepare(struct adl_store *store, struct adl_error *err);
int adl_store_log_prepare(struct adl_store *store, struct adl_error *err);
int adl_store_prepare(struct adl_store *store, int which, const char *text, struct adl_error *err);

/* The first column of the only row of a bound statement, 0 if there is none. */
int adl_store_number(struct adl_store *store, sqlite3_stmt *sql, const char *doing, int64_t *ret,
                     struct adl_error *err);

/* ---- store_ended.c ---- */

/* A page that has by_end. */
int adl_store_ended_page(struct adl_store *store, const struct adl_store_page *page, adl_store_job_visit *visit,
                         void *context, struct adl_error *err);

/* ---- store_list.c: lists as bytes ---- */

int adl_store_pack_strings(const char *const *strings, int64_t max, const char *column, struct adl_text *bytes,
                           struct adl_error *err);
int adl_store_pack_dependencies(const struct adl_store_job *job, struct adl_text *bytes, struct adl_error *err);
/* ADL_EIO: the bytes are damaged. The strings point into the bytes. */
int adl_store_unpack_strings(struct adl_store_list *list, const char *bytes, size_t size, const char *const **ret);
int adl_store_unpack_dependencies(struct adl_store_list *list, const unsigned char *bytes, size_t size,
                                  struct adl_store_job *ret);
void adl_store_lists_clear(struct adl_store *store);

/* Length of a string that may be NULL, or -1 with a text if it is longer than max. */
int adl_store_length(const char *string, int64_t max, const char *what, struct adl_error *err);
int adl_store_bind_text(sqlite3_stmt *sql, int at, const char *string);

#endif
