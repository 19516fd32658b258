#include "executor/local/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets the mode of a folder that we own; follows no link. name ".": the parent itself. */
static int set_mode(int parent, const char *directory, const char *name, mode_t mode, struct adl_error *err)
{
    struct stat about = {0};
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int failed = fd < 0 || fstat(fd, &about) ? errno : 0;
    if (!failed && about.st_uid != geteuid())
        failed = EPERM;
    if (!failed && (about.st_mode & 07777) != mode && fchmod(fd, mode))
        failed = errno;
    if (fd >= 0)
        close(fd);
    return failed ? adl_fail(err, ADL_EIO, "cannot set the mode of %s/%s: %s", directory, name, strerror(failed)) : 0;
}

static int make_folder(int parent, const char *directory, const char *name, mode_t mode, struct adl_error *err)
{
    if (mkdirat(parent, name, mode) && errno != EEXIST)
        return adl_fail(err, ADL_EIO, "cannot make %s/%s: %s", directory, name, strerror(errno));
    return set_mode(parent, directory, name, mode, err);
}

int adl_spool_create(const char *directory, struct adl_error *err)
{
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "cannot open %s: %s", directory, strerror(errno));
    int status = make_folder(fd, directory, "tasks", 0700, err);
    if (status == 0)
        status = make_folder(fd, directory, "scripts", 0711, err);
    /* Users run their scripts from below this folder; the mode of each file beside them keeps it private to the
     * service. */
    if (status == 0 && geteuid() == 0)
        status = set_mode(fd, directory, ".", 0711, err);
    close(fd);
    return status;
}

void adl_spool_task(const char *directory, uint64_t job, uint32_t attempt, char *ret, size_t size)
{
    snprintf(ret, size, "%s/tasks/%llu.%u", directory, (unsigned long long)job, attempt);
}

void adl_spool_script(const char *directory, uint64_t job, char *ret, size_t size)
{
    snprintf(ret, size, "%s/scripts/%llu", directory, (unsigned long long)job);
}

/* Removes its records, and drafts of records whose writing was interrupted. A task's folder has no subfolders. */
static void remove_folder(const char *folder)
{
    char path[ADL_STORE_PATH_MAX + 256];
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path)
            unlink(path);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

void adl_spool_remove(const char *directory, uint64_t job, uint32_t attempt)
{
    char path[ADL_STORE_PATH_MAX];
    adl_spool_task(directory, job, attempt, path, sizeof path);
    remove_folder(path);
    adl_spool_script(directory, job, path, sizeof path);
    unlink(path);
}

struct running {
    bool runs;
    uint32_t attempt;
};

static int see_job(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    *(struct running *)context =
        (struct running){job->status.state == ADL_STORE_RUNNING, (uint32_t)job->status.attempts};
    return 0;
}

/* Names are "JOB.ATTEMPT" in tasks/ and "JOB" in scripts/; others are not ours and stay. */
static void sweep(const char *directory, const char *name, struct adl_store *store)
{
    char folder[ADL_STORE_PATH_MAX], path[ADL_STORE_PATH_MAX + 256];
    const struct dirent *entry;
    const bool tasks = strcmp(name, "tasks") == 0;
    snprintf(folder, sizeof folder, "%s/%s", directory, name);
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        char *end = NULL;
        struct running running = {0};
        const unsigned long long job = strtoull(entry->d_name, &end, 10);
        const unsigned long attempt = tasks && *end == '.' ? strtoul(end + 1, &end, 10) : 0;
        if (job == 0 || *end != '\0' || adl_store_job_read(store, job, see_job, &running, NULL) < 0 ||
            (running.runs && (!tasks || running.attempt == attempt)))
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        if (tasks)
            remove_folder(path);
        else
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

void adl_spool_sweep(const char *directory, struct adl_store *store)
{
    sweep(directory, "tasks", store);
    sweep(directory, "scripts", store);
}
