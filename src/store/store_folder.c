/* store_folder: the directory of a state: its ownership, the lock of the service that uses it, whether it is still in
 * place, and the reserve of disk space for essential writes. */
#include "store/store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DATABASE    "adlro.db"
#define RESERVE_MAX ((int64_t)8 << 20) /* bytes; on a small disk an eighth of it */

static int fail_file(const char *path, const char *what, struct adl_error *err)
{
    return adl_fail(err, ADL_EIO, "%.200s: cannot %s: %s; the service keeps its state here and must be able to write",
                    path, what, strerror(errno));
}

/* ---- making and opening ---- */

/* A new name is durable only once its directory is synced. */
static int sync_parent(const char *path, struct adl_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "%.200s: no memory to open it", path);
    const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int status = fd < 0 || fsync(fd) != 0 ? fail_file(path, "sync the directory it is in", err) : 0;
    if (fd >= 0)
        close(fd);
    free(copy);
    return status;
}

/* The path without a suffix that makes the kernel follow a link: "a/", "a/." */
static char *plain_path(const char *path)
{
    char *copy = strdup(path);
    size_t size = copy ? strlen(copy) : 0;
    while (size > 1 && (copy[size - 1] == '/' || (size > 2 && copy[size - 1] == '.' && copy[size - 2] == '/')))
        copy[--size] = '\0';
    return copy;
}

static bool is_own_name(const char *name)
{
    static const char wal[] = DATABASE "-wal", shm[] = DATABASE "-shm";
    static const char *const names[] = {".",    "..",      DATABASE,  wal,     shm,
                                        "lock", "reserve", "scripts", "tasks", "lost+found"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* 1: it has a database, or only files of a service; 0: it has another file, whose name is in ret_other; -1: it cannot
 * be read. */
static int is_ours(int fd, bool *ret_empty, char *ret_other, size_t size)
{
    struct stat about;
    const int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    ret_other[0] = '\0';
    *ret_empty = true;
    if (!dir) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    while ((entry = readdir(dir))) {
        *ret_empty = *ret_empty && entry->d_name[0] == '.' && is_own_name(entry->d_name);
        if (ret_other[0] == '\0' && !is_own_name(entry->d_name))
            snprintf(ret_other, size, "%.50s", entry->d_name);
    }
    closedir(dir);
    return ret_other[0] == '\0' || (fstatat(fd, DATABASE, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode) &&
                                    about.st_uid == geteuid());
}

/* Does not change a directory that is not ours. Sets the mode of an empty one to its owner only. */
static int claim(int fd, const char *path, struct adl_error *err)
{
    char other[60];
    bool empty;
    struct stat about;
    if (fstat(fd, &about))
        return fail_file(path, "look at the directory", err);
    if (about.st_uid != geteuid())
        return adl_fail(err, ADL_EINVAL,
                        "%.200s: belongs to uid %u, and the service runs as uid %u; give it a directory of its own",
                        path, (unsigned)about.st_uid, (unsigned)geteuid());
    const int ours = is_ours(fd, &empty, other, sizeof other);
    if (ours < 0)
        return fail_file(path, "list the directory", err);
    if (ours == 0)
        return adl_fail(err, ADL_EINVAL,
                        "%.200s: is not a state of adlro: it holds '%s' and no " DATABASE
                        "; give the service an empty directory, or one that does not exist yet",
                        path, other);
    if (empty && (about.st_mode & 077) && fchmod(fd, about.st_mode & 0700))
        return fail_file(path, "set the mode of the directory", err);
    return 0;
}

static int open_directory(const char *path, int *ret_fd, struct adl_error *err)
{
    const bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        return fail_file(path, "create the directory", err);
    struct stat about;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && lstat(path, &about) == 0 && S_ISLNK(about.st_mode))
        return adl_fail(err, ADL_EINVAL, "%.200s: is a symbolic link; give the service the directory itself", path);
    if (fd < 0)
        return fail_file(path, "open the directory", err);
    const int status = made ? sync_parent(path, err) : claim(fd, path, err);
    if (status)
        close(fd);
    else
        *ret_fd = fd;
    return status;
}

/* ---- the lock ---- */

static int fail_locked(const char *directory, int fd, struct adl_error *err)
{
    struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0)
        return adl_fail(
            err, ADL_EREFUSED,
            "%.200s: in use by another service (pid %ld); stop it first, or give each a directory of its own",
            directory, (long)holder.l_pid);
    return adl_fail(err, ADL_EREFUSED,
                    "%.200s: in use by another service; stop it first, or give each a directory of its own", directory);
}

/* A record lock: the kernel releases it when the process ends, and children do not inherit it. */
static int take_lock(struct adl_store_folder *folder, struct adl_error *err)
{
    int status = 0;
    const int fd = openat(folder->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0)
        status = fail_file(folder->path, "open the lock", err);
    else if (fcntl(fd, F_SETLK, &whole) != 0)
        status = errno == EACCES || errno == EAGAIN ? fail_locked(folder->path, fd, err)
                                                    : fail_file(folder->path, "take the lock", err);
    if (status && fd >= 0)
        close(fd);
    if (!status)
        folder->lock = fd;
    return status;
}

/* ---- the database's file ---- */

/* Creates the file privately, because SQLite would create it readable by all; the WAL gets the same mode. Does not open
 * an existing file: closing it would release SQLite's locks on it in this process. */
static int make_private(struct adl_store_folder *folder, struct adl_error *err)
{
    struct stat about;
    const int fd = openat(folder->fd, DATABASE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return fail_file(folder->path, "create the database", err);
    if (fstatat(folder->fd, DATABASE, &about, AT_SYMLINK_NOFOLLOW) || !S_ISREG(about.st_mode))
        return adl_fail(err, ADL_EINVAL, "%.200s: its " DATABASE " is not a plain file", folder->path);
    return 0;
}

int adl_store_folder_open(const char *directory, struct adl_store_folder *ret, struct adl_error *err)
{
    ret->path = plain_path(directory);
    if (!ret->path)
        return adl_fail(err, ADL_ENOMEM, "%.200s: no memory to open it", directory);
    int status = open_directory(ret->path, &ret->fd, err);
    if (!status)
        status = take_lock(ret, err);
    return status ? status : make_private(ret, err);
}

void adl_store_folder_close(struct adl_store_folder *folder)
{
    int *const fds[] = {&folder->lock, &folder->reserve, &folder->fd};
    for (int i = 0; i < 3; i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
    free(folder->path);
}

/* ---- whether it is still in place ---- */

struct checked_file {
    const char *name; /* NULL: the directory itself */
    struct adl_store_file *file;
};

/* A name that was not seen before is accepted. */
static bool is_same(const struct adl_store_folder *folder, const struct checked_file *it)
{
    struct stat about;
    const int found =
        it->name ? fstatat(folder->fd, it->name, &about, AT_SYMLINK_NOFOLLOW) : lstat(folder->path, &about);
    if (found != 0)
        return it->name && it->file->number == 0;
    if (it->file->number == 0)
        *it->file = (struct adl_store_file){about.st_dev, about.st_ino};
    return about.st_dev == it->file->device && about.st_ino == it->file->number;
}

int adl_store_folder_check(struct adl_store_folder *folder, struct adl_error *err)
{
    struct stat about;
    const struct checked_file all[] = {
        {NULL, &folder->self}, {DATABASE, &folder->database}, {DATABASE "-wal", &folder->wal}};
    if (folder->self.number == 0 && fstat(folder->fd, &about) == 0)
        folder->self = (struct adl_store_file){about.st_dev, about.st_ino};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!is_same(folder, &all[i]))
            return adl_fail(err, ADL_EIO,
                            "%.200s: %s%swas moved, replaced or deleted while the service uses it, so nothing can be "
                            "kept; put it back, or stop the service",
                            folder->path, all[i].name ? all[i].name : "the directory", all[i].name ? " in it " : " ");
    return 0;
}

/* ---- the reserve ---- */

static int64_t reserve_size(const struct statvfs *disk)
{
    const int64_t share = (int64_t)(disk->f_blocks / 8) * (int64_t)disk->f_frsize;
    return share < RESERVE_MAX ? share : RESERVE_MAX;
}

bool adl_store_folder_reserve(struct adl_store_folder *folder)
{
    struct statvfs disk;
    if (folder->reserve < 0)
        folder->reserve = openat(folder->fd, "reserve", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat about;
    if (folder->reserve < 0 || fstatvfs(folder->fd, &disk) || fstat(folder->reserve, &about))
        return false;
    const int64_t size = reserve_size(&disk), room = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    const int64_t has = (int64_t)about.st_blocks * 512;
    if (has >= size)
        return room >= size;
    return room >= 2 * size - has && posix_fallocate(folder->reserve, 0, size) == 0;
}

bool adl_store_folder_spend(struct adl_store_folder *folder)
{
    struct stat about;
    if (folder->reserve < 0)
        folder->reserve = openat(folder->fd, "reserve", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return folder->reserve >= 0 && fstat(folder->reserve, &about) == 0 && about.st_size > 0 &&
           ftruncate(folder->reserve, 0) == 0;
}
