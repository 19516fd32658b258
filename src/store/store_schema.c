/* store_schema: the tables of the store, version by version, and the identity of a database. */
#include "store/store_internal.h"

/* Ids of jobs and events come from sqlite_sequence (AUTOINCREMENT), so that committed ones are never reused. A
 * submission is kept apart from the job's status, so that a change of status writes a hundred bytes and not a script.
 * Lists are their strings, each followed by a zero byte; dependencies are nine bytes each (store_jobs.c). */
static const char step_1[] =
    "CREATE TABLE submission ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " user_id INTEGER NOT NULL, name_id INTEGER NOT NULL, class_index INTEGER NOT NULL, gpus INTEGER NOT NULL,"
    " types INTEGER NOT NULL, kind INTEGER NOT NULL, flags INTEGER NOT NULL, cpu_cores INTEGER NOT NULL,"
    " memory_mib INTEGER NOT NULL, gpu_memory_mib INTEGER NOT NULL, submitted_priority REAL NOT NULL,"
    " min_steps_per_s REAL NOT NULL, limit_us INTEGER NOT NULL, deadline_us INTEGER NOT NULL,"
    " uid INTEGER NOT NULL, gid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL,"
    " argv BLOB NOT NULL, script TEXT NOT NULL, directory TEXT NOT NULL, environment BLOB NOT NULL,"
    " stdout_path TEXT NOT NULL, stderr_path TEXT NOT NULL, dependencies BLOB NOT NULL,"
    " array_id INTEGER NOT NULL, array_index INTEGER NOT NULL, submit_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX submission_user ON submission (uid);"
    "CREATE TABLE job ("
    " id INTEGER PRIMARY KEY, state INTEGER NOT NULL, hold INTEGER NOT NULL, priority REAL NOT NULL,"
    " reason TEXT NOT NULL, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, exit_code INTEGER NOT NULL,"
    " signal INTEGER NOT NULL, attempts INTEGER NOT NULL, held_gpus BLOB NOT NULL, pid INTEGER NOT NULL,"
    " pid_ticks INTEGER NOT NULL, boot TEXT NOT NULL, energy_j REAL NOT NULL) STRICT;"
    "CREATE INDEX job_live ON job (id) WHERE state <= 1;"
    "CREATE TABLE event ("
    " sequence INTEGER PRIMARY KEY AUTOINCREMENT, time_us INTEGER NOT NULL, kind TEXT NOT NULL, job INTEGER,"
    " payload TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_job ON event (job) WHERE job IS NOT NULL;"
    "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE sample ("
    " time_us INTEGER NOT NULL, gpu INTEGER NOT NULL, missing INTEGER NOT NULL, readings BLOB NOT NULL,"
    " PRIMARY KEY (time_us, gpu)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE swap ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, time_us INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,"
    " content BLOB NOT NULL) STRICT;"
    "CREATE INDEX swap_kind ON swap (kind);"
    /* These rows are immutable. */
    "CREATE TRIGGER submission_kept BEFORE UPDATE ON submission BEGIN SELECT RAISE(ABORT, 'written once'); END;"
    "CREATE TRIGGER event_kept BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'written once'); END;"
    "CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'never deleted'); END;"
    "CREATE TRIGGER swap_kept BEFORE UPDATE ON swap BEGIN SELECT RAISE(ABORT, 'written once'); END;";

/* Drained GPUs, by name; members of submissions that were not stored before; and the id of a job in the cluster it came
 * from. */
static const char step_2[] =
    "CREATE TABLE drain (gpu TEXT PRIMARY KEY, reason TEXT NOT NULL, time_us INTEGER NOT NULL) STRICT;"
    "ALTER TABLE submission ADD COLUMN share_slowdown REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE submission ADD COLUMN step_gflop REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE submission ADD COLUMN step_gb REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE submission ADD COLUMN external INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX submission_external ON submission (external) WHERE external > 0;";

/* The part that can be large and is equal for all jobs of an array is stored once: submission.payload is the id of the
 * job that has it, 0 = this one. Equal payloads of existing arrays are merged. */
#define TEXT_OF(number)   #number
#define DIGITS(number)    TEXT_OF(number)
#define JOB_SIZE          DIGITS(ADL_STORE_JOB_SIZE)
#define PAYLOAD_COLUMNS   "request, argv, script, directory, environment, stdout_path, stderr_path, dependencies"
#define SAME(column)      " AND f." column " = s." column
#define TEXT_SIZE(column) "length(CAST(" column " AS BLOB))"
#define COUNT_IN(uid, bytes)                                                                                           \
    "INSERT INTO usage (uid, bytes) VALUES (" uid ", " bytes ") ON CONFLICT (uid) DO UPDATE SET bytes = bytes + "      \
    "excluded.bytes;"
#define COUNT_OUT(uid, bytes) "UPDATE usage SET bytes = bytes - " bytes " WHERE uid = " uid ";"
#define SUBMISSION_COLUMNS                                                                                             \
    "id, user_id, name_id, class_index, gpus, types, kind, flags, cpu_cores, memory_mib, gpu_memory_mib,"              \
    " submitted_priority, min_steps_per_s, limit_us, deadline_us, uid, gid, user, name, array_id, array_index,"        \
    " submit_us, share_slowdown, step_gflop, step_gb, external"
/* clang-format off */
static const char step_3[] =
    "CREATE TABLE payload ("
    " id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, bytes INTEGER NOT NULL, request TEXT NOT NULL, argv BLOB NOT NULL,"
    " script TEXT NOT NULL, directory TEXT NOT NULL, environment BLOB NOT NULL, stdout_path TEXT NOT NULL,"
    " stderr_path TEXT NOT NULL, dependencies BLOB NOT NULL) STRICT;"
    "INSERT INTO payload (id, uid, bytes, " PAYLOAD_COLUMNS ") SELECT id, uid, length(argv) + length(environment)"
    " + length(dependencies) + " TEXT_SIZE("script") " + " TEXT_SIZE("request") " + " TEXT_SIZE("directory")
    " + " TEXT_SIZE("stdout_path") " + " TEXT_SIZE("stderr_path") ", " PAYLOAD_COLUMNS " FROM submission s WHERE NOT"
    " EXISTS (SELECT 1 FROM submission f WHERE f.id = s.array_id AND f.id < s.id AND f.array_id = 0" SAME("uid")
    SAME("request") SAME("argv") SAME("script") SAME("directory") SAME("environment") SAME("stdout_path")
    SAME("stderr_path") SAME("dependencies") ");"
    "CREATE TABLE submission_3 ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " user_id INTEGER NOT NULL, name_id INTEGER NOT NULL, class_index INTEGER NOT NULL, gpus INTEGER NOT NULL,"
    " types INTEGER NOT NULL, kind INTEGER NOT NULL, flags INTEGER NOT NULL, cpu_cores INTEGER NOT NULL,"
    " memory_mib INTEGER NOT NULL, gpu_memory_mib INTEGER NOT NULL, submitted_priority REAL NOT NULL,"
    " min_steps_per_s REAL NOT NULL, limit_us INTEGER NOT NULL, deadline_us INTEGER NOT NULL,"
    " uid INTEGER NOT NULL, gid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,"
    " array_id INTEGER NOT NULL, array_index INTEGER NOT NULL, submit_us INTEGER NOT NULL,"
    " share_slowdown REAL NOT NULL, step_gflop REAL NOT NULL, step_gb REAL NOT NULL, external INTEGER NOT NULL,"
    " payload INTEGER NOT NULL) STRICT;"
    "INSERT INTO submission_3 (" SUBMISSION_COLUMNS ", payload) SELECT " SUBMISSION_COLUMNS ","
    " iif(EXISTS (SELECT 1 FROM payload p WHERE p.id = s.id), 0, array_id) FROM submission s;"
    "DROP TABLE submission;"
    "ALTER TABLE submission_3 RENAME TO submission;"
    "CREATE INDEX submission_user ON submission (uid);"
    "CREATE INDEX submission_external ON submission (external) WHERE external > 0;"
    "CREATE INDEX submission_payload ON submission (payload) WHERE payload > 0;"
    "CREATE TRIGGER submission_kept BEFORE UPDATE ON submission BEGIN SELECT RAISE(ABORT, 'written once'); END;"
    "CREATE TRIGGER payload_kept BEFORE UPDATE ON payload BEGIN SELECT RAISE(ABORT, 'written once'); END;";

/* The umask and the resource limits of the submitter. */
static const char step_4[] = "ALTER TABLE payload ADD COLUMN mask TEXT NOT NULL DEFAULT '';"
                             "ALTER TABLE payload ADD COLUMN limits BLOB NOT NULL DEFAULT x'';";

/* Ended jobs can be deleted with their events, by age; the events of a live job cannot. usage counts the space of a
 * user's jobs: the bytes of payloads, and for each job a flat ADL_STORE_JOB_SIZE, because a job without a payload is
 * not free either. */
static const char step_5[] =
    "CREATE TABLE usage (uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"
    "INSERT INTO usage (uid, bytes) SELECT uid, count(*) * " JOB_SIZE " + (SELECT ifnull(sum(p.bytes), 0) FROM payload p"
    " WHERE p.uid = s.uid) FROM submission s GROUP BY uid;"
    "CREATE TRIGGER submission_in AFTER INSERT ON submission BEGIN " COUNT_IN("new.uid", JOB_SIZE) " END;"
    "CREATE TRIGGER submission_out AFTER DELETE ON submission BEGIN " COUNT_OUT("old.uid", JOB_SIZE) " END;"
    "CREATE TRIGGER payload_in AFTER INSERT ON payload BEGIN " COUNT_IN("new.uid", "new.bytes") " END;"
    "CREATE TRIGGER payload_out AFTER DELETE ON payload BEGIN " COUNT_OUT("old.uid", "old.bytes") " END;"
    "CREATE INDEX job_ended ON job (end_us) WHERE state >= 2;"
    "CREATE INDEX event_general ON event (time_us) WHERE job IS NULL;"
    "DROP TRIGGER event_stays;"
    "CREATE TRIGGER event_stays BEFORE DELETE ON event"
    " WHEN EXISTS (SELECT 1 FROM job WHERE id = old.job AND state <= 1)"
    " BEGIN SELECT RAISE(ABORT, 'kept as long as its job is live'); END;";
/* clang-format on */

/* What a stop loses. Older jobs that may be stopped (flag 2) restart from their beginning. */
static const char step_6[] = "ALTER TABLE submission ADD COLUMN stop_loss INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE submission ADD COLUMN checkpoint_us INTEGER NOT NULL DEFAULT 0;"
                             "DROP TRIGGER submission_kept;"
                             "UPDATE submission SET stop_loss = 2 WHERE flags & 2;"
                             "CREATE TRIGGER submission_kept BEFORE UPDATE ON submission BEGIN SELECT RAISE(ABORT, "
                             "'written once'); END;";

/* More options of Slurm: a limit on the jobs of an array that run at once, and the size of the array; an earliest
 * start; a signal before the time limit; any one of several dependencies. A requeued job that had ended: jobs submitted
 * before the requeue do not wait for it again. */
static const char step_7[] = "ALTER TABLE payload ADD COLUMN dependency_any INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN begin_us INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN warn_signal TEXT NOT NULL DEFAULT '';"
                             "ALTER TABLE payload ADD COLUMN array_count INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN array_limit INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN array_min INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN array_max INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE payload ADD COLUMN array_step INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE job ADD COLUMN requeue_us INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE job ADD COLUMN requeue_end INTEGER NOT NULL DEFAULT 0;";

/* Since when a job is eligible, and how long it ran since then: reported waits exclude the time that it ran. */
static const char step_8[] = "ALTER TABLE job ADD COLUMN eligible_us INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE job ADD COLUMN ran_us INTEGER NOT NULL DEFAULT 0;";

/* What was learned about jobs: the present belief, and one that could not be read. */
static const char step_9[] = "CREATE TABLE belief (name TEXT PRIMARY KEY, time_us INTEGER NOT NULL, sequence INTEGER "
                             "NOT NULL, content BLOB NOT NULL) STRICT;";

/* GPU time that a job held and did not use. */
static const char step_10[] = "ALTER TABLE job ADD COLUMN idle_us INTEGER NOT NULL DEFAULT 0;";

const char *const adl_store_steps[] = {step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9, step_10};
const int adl_store_step_count = sizeof adl_store_steps / sizeof adl_store_steps[0];

static int failed(sqlite3 *db, const char *path, const char *doing, struct adl_error *err)
{
    struct adl_store about = {.path = (char *)path, .db = db};
    return adl_store_failed(&about, sqlite3_extended_errcode(db), doing, err);
}

/* The first column of the only row. */
static int ask(sqlite3 *db, const char *path, const char *question, sqlite3_int64 *ret, struct adl_error *err)
{
    sqlite3_stmt *sql = NULL;
    int status = 0;
    if (sqlite3_prepare_v2(db, question, -1, &sql, NULL) == SQLITE_OK && sqlite3_step(sql) == SQLITE_ROW)
        *ret = sqlite3_column_int64(sql, 0);
    else
        status = failed(db, path, "read it", err);
    sqlite3_finalize(sql);
    return status;
}

int adl_store_check(sqlite3 *db, const char *path, struct adl_error *err)
{
    sqlite3_stmt *sql = NULL;
    int status = 0;
    if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &sql, NULL) != SQLITE_OK ||
        sqlite3_step(sql) != SQLITE_ROW) {
        status = failed(db, path, "check it", err);
    } else {
        const char *verdict = (const char *)sqlite3_column_text(sql, 0);
        if (!verdict || sqlite3_stricmp(verdict, "ok") != 0)
            status = adl_fail(err, ADL_EIO,
                              "%s: the database is damaged (%.150s); put a backup in its place, or move it away to "
                              "start from scratch",
                              path, verdict ? verdict : "no memory to say how");
    }
    sqlite3_finalize(sql);
    return status;
}

int adl_store_identify(sqlite3 *db, const char *path, int version_max, int *ret_version, struct adl_error *err)
{
    sqlite3_int64 application = 0, version = 0, tables = 0;
    int status = ask(db, path, "PRAGMA application_id", &application, err);
    if (!status)
        status = ask(db, path, "PRAGMA user_version", &version, err);
    if (!status)
        status = ask(db, path, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status)
        return status;
    if (application != ADL_STORE_APPLICATION && (application || version || tables))
        return adl_fail(err, ADL_EINVAL, "%s: a database of another program; give the service a directory of its own",
                        path);
    if (version > version_max)
        return adl_fail(err, ADL_EREFUSED,
                        "%s: written by a newer version of adlro (schema %lld, this one knows up to %d); use that "
                        "version, or another directory",
                        path, (long long)version, version_max);
    *ret_version = (int)version;
    return 0;
}

static int migrate_once(sqlite3 *db, const char *path, const char *step, int version, struct adl_error *err)
{
    char mark[96];
    sqlite3_snprintf(sizeof mark, mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                     ADL_STORE_APPLICATION, version);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, step, NULL, NULL, NULL) == SQLITE_OK && sqlite3_exec(db, mark, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    struct adl_error inner = {{0}};
    const int status = failed(db, path, "migrate its tables", &inner);
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return adl_fail(err, status, "%.300s (to schema %d; it is still at %d)", inner.text, version, version - 1);
}

int adl_store_migrate(sqlite3 *db, const char *path, const char *const *steps, int step_count, struct adl_error *err)
{
    sqlite3_int64 version = 0;
    int status = ask(db, path, "PRAGMA user_version", &version, err);
    for (int i = (int)version; !status && i < step_count; i++)
        status = migrate_once(db, path, steps[i], i + 1, err);
    return status;
}
