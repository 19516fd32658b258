#include "executor/local/foreign_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MAX 256
#define CGROUP_SIZE   1024

/* The cgroup v2 path of a process (the line that starts with 0::), or empty. */
static void read_cgroup(int64_t pid, char ret[CGROUP_SIZE])
{
    char path[40], text[CGROUP_SIZE];
    ret[0] = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/cgroup", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(text, sizeof text, file)) {
        if (strncmp(text, "0::", 3) != 0)
            continue;
        text[strcspn(text, "\n")] = 0;
        memmove(ret, text + 3, strlen(text + 3) + 1);
        break;
    }
    fclose(file);
}

/* folder is a full path below the mount of the hierarchy, cgroup the path within it. The last component of a task's
 * cgroup holds the job and the shepherd, so it is enough to compare that. */
static bool in_cgroup(const char *folder, const char *cgroup)
{
    const char *name = strrchr(folder, '/');
    const char *at = name && name[1] ? strstr(cgroup, name) : NULL;
    const size_t length = name ? strlen(name) : 0;
    return at && (at[length] == 0 || at[length] == '/');
}

static uint32_t find_task(int64_t pid, const struct adl_process_stat *stat, const struct adl_task_start *tasks,
                          uint32_t task_count, const char *cgroup)
{
    for (uint32_t i = 0; i < task_count; i++) {
        const struct adl_task_start *task = &tasks[i];
        if (task->shepherd.pid == 0 || stat->start_ticks < task->shepherd.start_ticks)
            continue;
        if (pid == task->shepherd.pid && stat->start_ticks == task->shepherd.start_ticks)
            return i;
        if (task->command.pid > 0 && (stat->session == task->command.pid || stat->group == task->command.pid))
            return i;
        if (*task->cgroup && *cgroup && in_cgroup(task->cgroup, cgroup))
            return i;
    }
    return task_count;
}

enum adl_gpu_owner adl_gpu_owner_find(int64_t pid, const struct adl_task_start *tasks, uint32_t task_count,
                                      uint32_t *ret_task)
{
    char cgroup[CGROUP_SIZE] = "";
    struct adl_process_stat stat;
    uint32_t task = task_count;
    if (ret_task)
        *ret_task = task_count;
    if (pid <= 0 || pid > INT32_MAX)
        return ADL_GPU_OWNER_GONE;
    if (adl_process_stat_read(pid, &stat)) /* gone, or hidden from us (hidepid) */
        return kill((pid_t)pid, 0) == 0 || errno == EPERM ? ADL_GPU_OWNER_FOREIGN : ADL_GPU_OWNER_GONE;
    if (stat.state == 'Z' || stat.state == 'X')
        return ADL_GPU_OWNER_GONE;
    read_cgroup(pid, cgroup);
    int64_t at = pid;
    for (int i = 0; i < ANCESTORS_MAX && task == task_count; i++) {
        task = find_task(at, &stat, tasks, task_count, cgroup);
        at = stat.parent;
        cgroup[0] = 0; /* an ancestor's cgroup says nothing about its descendants */
        if (at <= 1 || adl_process_stat_read(at, &stat))
            break;
    }
    if (ret_task)
        *ret_task = task;
    return task < task_count ? ADL_GPU_OWNER_OURS : ADL_GPU_OWNER_FOREIGN;
}

void adl_foreign_processes_count(const struct adl_gpu_process *processes, uint32_t process_count,
                                 const struct adl_task_start *tasks, uint32_t task_count, uint32_t *ret_foreign,
                                 uint32_t gpu_count)
{
    for (uint32_t i = 0; i < gpu_count; i++)
        ret_foreign[i] = 0;
    for (uint32_t i = 0; i < process_count; i++) {
        if (processes[i].gpu < gpu_count &&
            adl_gpu_owner_find(processes[i].pid, tasks, task_count, NULL) == ADL_GPU_OWNER_FOREIGN)
            ret_foreign[processes[i].gpu]++;
    }
}
