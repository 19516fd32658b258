#include "store/store_backup.h"

#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths of the copy: it is written to dest.part and renamed when it is complete. */
struct copy {
    char part[ADL_STORE_PATH_MAX + 8];
    char database[ADL_STORE_PATH_MAX + 32];
};

static int fail_path(const char *path, const char *what, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%.250s: cannot %s: %s", path, what, strerror(errno));
}

static int check_owner(const char *directory, struct adl_error *err)
{
    char path[ADL_STORE_PATH_MAX + 16];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/adlro.db", directory) >= (int)sizeof path || stat(path, &about))
        return adl_fail(err, ADL_EIO,
                        "%.250s: there is no state of a service here (adlro.db): %s; name its folder with --state DIR",
                        directory, strerror(errno));
    if (geteuid() != 0 && about.st_uid != geteuid())
        return adl_fail(err, ADL_EDENIED, "%.250s: belongs to uid %u; only that user and root may copy it", directory,
                        (unsigned)about.st_uid);
    return 0;
}

/* Creates an empty database file that only its owner can read; SQLite keeps that mode. */
static int make_copy(const char *dest, struct copy *ret, struct adl_error *err)
{
    struct stat about;
    const size_t size = strlen(dest);
    if (size == 0 || size >= ADL_STORE_PATH_MAX)
        return adl_fail(err, ADL_EINVAL, "the path of a backup has 1 to %d bytes", ADL_STORE_PATH_MAX - 1);
    if (lstat(dest, &about) == 0)
        return adl_fail(err, ADL_EINVAL, "%.250s: already exists; a backup overwrites nothing, give another name",
                        dest);
    snprintf(ret->part, sizeof ret->part, "%s.part", dest);
    snprintf(ret->database, sizeof ret->database, "%s/adlro.db", ret->part);
    if (mkdir(ret->part, 0700))
        return errno == EEXIST ? adl_fail(err, ADL_EINVAL,
                                          "%.250s: is left from an interrupted backup, or one is running; "
                                          "remove it first",
                                          ret->part)
                               : fail_path(ret->part, "make the directory", err);
    const int fd = open(ret->database, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd)) {
        const int status = fail_path(ret->database, "create it", err);
        rmdir(ret->part);
        return status;
    }
    return 0;
}

static void discard(const struct copy *copy)
{
    char journal[sizeof copy->database + 16];
    snprintf(journal, sizeof journal, "%s-journal", copy->database);
    unlink(journal);
    unlink(copy->database);
    rmdir(copy->part);
}

/* One read transaction: it sees what was committed before and does not block the writer. */
static int fill(struct adl_store *store, const struct copy *copy, struct adl_error *err)
{
    sqlite3_stmt *sql = NULL;
    int code = sqlite3_prepare_v2(store->db, "VACUUM INTO ?1", -1, &sql, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(sql, 1, copy->database, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(sql);
    sqlite3_finalize(sql);
    return code == SQLITE_DONE ? 0 : adl_store_failed(store, code, "copy it", err);
}

static int ask(sqlite3 *db, const char *question, sqlite3_int64 *ret)
{
    sqlite3_stmt *sql = NULL;
    int code = sqlite3_prepare_v2(db, question, -1, &sql, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(sql);
    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int64(sql, 0);
    sqlite3_finalize(sql);
    return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : ADL_EIO;
}

static int count(sqlite3 *db, const char *path, struct adl_store_backup *ret, struct adl_error *err)
{
    sqlite3_int64 sound = 0, jobs = 0, live = 0, last = 0;
    /* Without an argument, because SQLite 3.46 takes a number as the name of a table. */
    if (ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", &sound) || !sound)
        return adl_fail(err, ADL_EIO, "%.250s: the copy is damaged; check the disk and the state itself", path);
    if (ask(db, "SELECT count(*) FROM job", &jobs) || ask(db, "SELECT count(*) FROM job WHERE state <= 1", &live) ||
        ask(db, "SELECT seq FROM sqlite_sequence WHERE name = 'submission'", &last))
        return adl_fail(err, ADL_EIO, "%.250s: the copy cannot be read: %s", path, sqlite3_errmsg(db));
    *ret = (struct adl_store_backup){.jobs = jobs, .live = live, .last_job = (uint64_t)last};
    return 0;
}

/* Reads the whole copy. */
static int verify(const struct copy *copy, struct adl_store_backup *ret, struct adl_error *err)
{
    sqlite3 *db = NULL;
    struct stat about;
    int version, status = 0;
    if (sqlite3_open_v2(copy->database, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        status = adl_fail(err, ADL_EIO, "%.250s: the copy cannot be opened: %s", copy->database, sqlite3_errmsg(db));
    if (!status)
        status = adl_store_identify(db, copy->database, adl_store_step_count, &version, err);
    if (!status)
        status = count(db, copy->database, ret, err);
    sqlite3_close(db);
    if (!status && stat(copy->database, &about))
        status = fail_path(copy->database, "look at it", err);
    if (!status)
        ret->bytes = about.st_size;
    return status;
}

static int sync_path(const char *path, struct adl_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int status = fd < 0 || fsync(fd) ? fail_path(path, "sync it", err) : 0;
    if (fd >= 0)
        close(fd);
    return status;
}

static int publish(const struct copy *copy, const char *dest, struct adl_error *err)
{
    char parent[ADL_STORE_PATH_MAX];
    int status = sync_path(copy->database, err);
    if (!status)
        status = sync_path(copy->part, err);
    if (!status && rename(copy->part, dest))
        status = fail_path(dest, "give the copy its name", err);
    snprintf(parent, sizeof parent, "%s", dest);
    return status ? status : sync_path(dirname(parent), err);
}

int adl_store_backup(const char *directory, const char *dest, struct adl_store_backup *ret, struct adl_error *err)
{
    struct adl_store *store = NULL;
    struct copy copy;
    int status = check_owner(directory, err);
    if (!status)
        status = adl_store_open(directory, ADL_STORE_READ, &store, err);
    if (!status)
        status = make_copy(dest, &copy, err);
    if (status) {
        adl_store_close(store);
        return status;
    }
    status = fill(store, &copy, err);
    if (!status)
        status = verify(&copy, ret, err);
    if (!status)
        status = publish(&copy, dest, err);
    if (status)
        discard(&copy);
    adl_store_close(store);
    return status;
}
