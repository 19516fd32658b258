#include "executor/local/orphans.h"

#include "executor/local/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PASSES        200 /* until none is found; processes in the kernel's executor may not die */
#define PASS_SLEEP_NS 5000000
#define ENV_SIZE      262144 /* as far into an environment as we look */

struct hunt {
    const struct adl_task_start *start;
    char mark[80];
    bool session_ours; /* its number has not come to mean another */
    uint32_t found;
};

/* Whether the zero-separated entries hold the mark. */
static bool has_mark(int64_t pid, const char *mark)
{
    static const size_t chunk = 4096;
    char path[40], buffer[4096 + 80];
    const size_t length = strlen(mark) + 1; /* with the zero behind it */
    size_t kept = 0, total = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got;
    while (!found && total < ENV_SIZE && (got = read(fd, buffer + kept, chunk)) > 0) {
        const size_t size = kept + (size_t)got;
        for (size_t at = 0; !found && at + length <= size; at++)
            found = buffer[at] == mark[0] && memcmp(buffer + at, mark, length) == 0;
        kept = size < length - 1 ? size : length - 1;
        memmove(buffer, buffer + size - kept, kept);
        total += (size_t)got;
    }
    close(fd);
    return found;
}

static bool kill_if_stray(void *arg, int64_t pid)
{
    struct hunt *hunt = arg;
    struct adl_process_stat stat;
    if (pid == getpid() || adl_process_stat_read(pid, &stat) || stat.state == 'Z' || stat.state == 'X' ||
        stat.start_ticks < hunt->start->shepherd.start_ticks)
        return true;
    const bool in_session =
        hunt->session_ours && (stat.session == hunt->start->command.pid || stat.group == hunt->start->command.pid);
    if (!in_session && !has_mark(pid, hunt->mark))
        return true;
    if (adl_process_signal((struct adl_process){pid, stat.start_ticks}, SIGKILL) == 0)
        hunt->found++;
    return true;
}

static void kill_member(void *arg, int64_t pid)
{
    struct hunt *hunt = arg;
    struct adl_process process;
    if (pid > 0 && adl_process_find(pid, &process) == 0 && adl_process_signal(process, SIGKILL) == 0)
        hunt->found++;
}

uint32_t adl_orphans_kill(const struct adl_task_start *start)
{
    struct adl_process leader;
    struct hunt hunt = {.start = start};
    uint32_t killed = 0;
    if (start->shepherd.pid == 0)
        return 0;
    snprintf(hunt.mark, sizeof hunt.mark, "ADLRO_SHEPHERD=%" PRId64 ".%" PRId64, start->shepherd.pid,
             start->shepherd.start_ticks);
    for (int pass = 0; pass < PASSES; pass++) {
        hunt.found = 0;
        /* A number in use as a session's is not given to a new process; if a process has it that is not the task's, the
         * session has ended. */
        hunt.session_ours = start->command.pid > 0 && (adl_process_find(start->command.pid, &leader) ||
                                                       leader.start_ticks == start->command.start_ticks);
        adl_cgroup_kill(start->cgroup);
        adl_cgroup_each(start->cgroup, kill_member, &hunt);
        adl_process_each(kill_if_stray, &hunt);
        if (hunt.found == 0)
            break;
        killed += pass == 0 ? hunt.found : 0;
        nanosleep(&(struct timespec){.tv_nsec = PASS_SLEEP_NS}, NULL);
    }
    adl_cgroup_remove(start->cgroup);
    return killed;
}
