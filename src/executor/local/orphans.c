#include "executor/local/orphans.h"

#include "executor/local/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PASSES        200 /* at most, until none is found; processes in uninterruptible sleep may not die */
#define PASS_SLEEP_NS 5000000
#define ENV_SIZE      262144 /* bytes of an environment that are searched */

struct search {
    const struct adl_task_start *start;
    char marker[80];
    bool session_ours; /* its PID was not reused */
    uint32_t found;
};

/* Whether the zero-separated entries hold the marker. */
static bool has_marker(int64_t pid, const char *marker)
{
    static const size_t chunk = 4096;
    char path[40], buffer[4096 + 80];
    const size_t length = strlen(marker) + 1; /* with the terminating zero */
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
            found = buffer[at] == marker[0] && memcmp(buffer + at, marker, length) == 0;
        kept = size < length - 1 ? size : length - 1;
        memmove(buffer, buffer + size - kept, kept);
        total += (size_t)got;
    }
    close(fd);
    return found;
}

static bool kill_if_orphan(void *arg, int64_t pid)
{
    struct search *search = arg;
    struct adl_process_stat stat;
    if (pid == getpid() || adl_process_stat_read(pid, &stat) || stat.state == 'Z' || stat.state == 'X' ||
        stat.start_ticks < search->start->shepherd.start_ticks)
        return true;
    const bool in_session = search->session_ours &&
                            (stat.session == search->start->command.pid || stat.group == search->start->command.pid);
    if (!in_session && !has_marker(pid, search->marker))
        return true;
    if (adl_process_signal((struct adl_process){pid, stat.start_ticks}, SIGKILL) == 0)
        search->found++;
    return true;
}

static void kill_member(void *arg, int64_t pid)
{
    struct search *search = arg;
    struct adl_process process;
    if (pid > 0 && adl_process_find(pid, &process) == 0 && adl_process_signal(process, SIGKILL) == 0)
        search->found++;
}

uint32_t adl_orphans_kill(const struct adl_task_start *start)
{
    struct adl_process leader;
    struct search search = {.start = start};
    uint32_t killed = 0;
    if (start->shepherd.pid == 0)
        return 0;
    snprintf(search.marker, sizeof search.marker, "ADLRO_SHEPHERD=%" PRId64 ".%" PRId64, start->shepherd.pid,
             start->shepherd.start_ticks);
    for (int pass = 0; pass < PASSES; pass++) {
        search.found = 0;
        /* The kernel does not reuse a PID that is a session's id. If another process has it, the session has ended. */
        search.session_ours = start->command.pid > 0 && (adl_process_find(start->command.pid, &leader) ||
                                                         leader.start_ticks == start->command.start_ticks);
        adl_cgroup_kill(start->cgroup);
        adl_cgroup_each(start->cgroup, kill_member, &search);
        adl_process_each(kill_if_orphan, &search);
        if (search.found == 0)
            break;
        killed += pass == 0 ? search.found : 0;
        nanosleep(&(struct timespec){.tv_nsec = PASS_SLEEP_NS}, NULL);
    }
    adl_cgroup_remove(start->cgroup);
    return killed;
}
