#include "executor/local/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 600

/* 0, or the errno. Creates no file: a missing file means a missing controller. */
static int write_file(const char *folder, const char *name, const char *value)
{
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return ENAMETOOLONG;
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno;
    const int error = write(fd, value, strlen(value)) < 0 ? errno : 0;
    close(fd);
    return error;
}

/* Sets one limit; enables its controller for the children of parent if needed. */
static void set_limit(const char *parent, const char *folder, const char *controller, const char *name,
                      const char *value, struct adl_task_result *result)
{
    char enable[24];
    int error = write_file(folder, name, value);
    if (error == ENOENT) {
        snprintf(enable, sizeof enable, "+%s", controller);
        if (write_file(parent, "cgroup.subtree_control", enable) == 0)
            error = write_file(folder, name, value);
    }
    if (error)
        adl_task_note(result, "%s %s was not set: %s", name, value, strerror(error));
}

static void set_limits(const struct adl_task_spec *spec, const char *folder, struct adl_task_result *result)
{
    char value[48];
    const char *parent = spec->cgroup_parent;
    if (spec->memory_max_mib > 0) {
        snprintf(value, sizeof value, "%" PRId64, spec->memory_max_mib << 20);
        set_limit(parent, folder, "memory", "memory.max", value, result);
    }
    if (spec->cpus_milli > 0) {
        /* Microseconds of CPU in every period of 100 ms. */
        snprintf(value, sizeof value, "%" PRId64 " 100000", spec->cpus_milli * 100);
        set_limit(parent, folder, "cpu", "cpu.max", value, result);
    }
    if (spec->pids_max > 0) {
        snprintf(value, sizeof value, "%" PRId64, spec->pids_max);
        set_limit(parent, folder, "pids", "pids.max", value, result);
    }
    if (spec->cpuset)
        set_limit(parent, folder, "cpuset", "cpuset.cpus", spec->cpuset, result);
}

void adl_cgroup_create(const struct adl_task_spec *spec, struct adl_task_result *result, char *ret_path, size_t size,
                       int *ret_join)
{
    char join[PATH_SIZE];
    *ret_join = -1;
    ret_path[0] = 0;
    if (!spec->cgroup_parent) {
        if (spec->memory_max_mib > 0 || spec->cpus_milli > 0 || spec->pids_max > 0 || spec->cpuset)
            adl_task_note(result, "no cgroup to set limits in");
        return;
    }
    if ((size_t)snprintf(ret_path, size, "%s/job-%" PRId64 "-%ld", spec->cgroup_parent, spec->job_id, (long)getpid()) >=
        size) {
        ret_path[0] = 0;
        adl_task_note(result, "no cgroup: its path is too long");
        return;
    }
    if (mkdir(ret_path, 0755) && errno != EEXIST) {
        adl_task_note(result, "no cgroup %s: %s", ret_path, strerror(errno));
        ret_path[0] = 0;
        return;
    }
    set_limits(spec, ret_path, result);
    snprintf(join, sizeof join, "%s/cgroup.procs", ret_path);
    *ret_join = open(join, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_join >= 0)
        return;
    adl_task_note(result, "cgroup %s cannot be joined: %s", ret_path, strerror(errno));
    rmdir(ret_path);
    ret_path[0] = 0;
}

void adl_cgroup_kill(const char *path)
{
    if (*path)
        write_file(path, "cgroup.kill", "1");
}

bool adl_cgroup_remove(const char *path)
{
    return !*path || rmdir(path) == 0 || errno == ENOENT;
}

int adl_cgroup_each(const char *path, void (*visit)(void *arg, int64_t pid), void *arg)
{
    char procs[PATH_SIZE], line[32];
    snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
    FILE *file = *path ? fopen(procs, "re") : NULL;
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        visit(arg, strtoll(line, NULL, 10));
    fclose(file);
    return 0;
}
