#include "executor/local/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The C library of Debian 12 wraps these only under _GNU_SOURCE, older ones not at all. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define DEPTH_MAX 64 /* of descendants that are signalled one by one */

/* Reads a small file of /proc whole; its length, or -1. */
static ssize_t read_small(const char *path, char *ret, size_t size)
{
    size_t length = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (;;) {
        const ssize_t got = read(fd, ret + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            close(fd);
            return -1;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    close(fd);
    ret[length] = 0;
    return (ssize_t)length;
}

int adl_process_stat_parse(const char *text, struct adl_process_stat *ret_stat)
{
    struct adl_process_stat stat;
    const char *at = strrchr(text, ')'); /* the name before it may hold brackets and blanks */
    if (!at || at[1] != ' ' || !isalpha((unsigned char)at[2]))
        return -1;
    stat.state = at[2];
    at += 3;
    int64_t field[20]; /* field 4, the parent, is the first */
    for (int i = 0; i < 19; i++) {
        char *end;
        errno = 0;
        field[i] = strtoll(at, &end, 10);
        /* Limits in between may overflow an int64_t; the fields that are used may not. */
        if (end == at || (errno && (i < 3 || i == 18)))
            return -1;
        at = end;
    }
    stat.parent = field[0];
    stat.group = field[1];
    stat.session = field[2];
    stat.start_ticks = field[18];
    *ret_stat = stat;
    return 0;
}

int adl_process_stat_read(int64_t pid, struct adl_process_stat *ret_stat)
{
    char path[40], text[1024];
    if (pid <= 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    return read_small(path, text, sizeof text) < 0 ? -1 : adl_process_stat_parse(text, ret_stat);
}

int adl_process_find(int64_t pid, struct adl_process *ret_process)
{
    struct adl_process_stat stat;
    if (adl_process_stat_read(pid, &stat))
        return -1;
    *ret_process = (struct adl_process){pid, stat.start_ticks};
    return 0;
}

bool adl_process_alive(struct adl_process process)
{
    struct adl_process_stat stat;
    return adl_process_stat_read(process.pid, &stat) == 0 && stat.start_ticks == process.start_ticks &&
           stat.state != 'Z' && stat.state != 'X';
}

int adl_process_open(struct adl_process process)
{
    struct adl_process_stat stat;
    if (process.pid <= 0 || process.pid > INT32_MAX)
        return -1;
    const int fd = (int)syscall(SYS_pidfd_open, (pid_t)process.pid, 0u);
    if (fd < 0)
        return -1;
    /* Checked while we hold the descriptor: from here on the PID cannot be reused. */
    if (adl_process_stat_read(process.pid, &stat) == 0 && stat.start_ticks == process.start_ticks)
        return fd;
    close(fd);
    return -1;
}

int adl_process_signal(struct adl_process process, int signal)
{
    const int fd = adl_process_open(process);
    if (fd >= 0) {
        const long status = syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0u);
        close(fd);
        return status ? -1 : 0;
    }
    /* Kernels before 5.3, or no descriptor left: the PID could be reused between the two calls. */
    return adl_process_alive(process) && kill((pid_t)process.pid, signal) == 0 ? 0 : -1;
}

int adl_process_each(bool (*visit)(void *arg, int64_t pid), void *arg)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return -1;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!visit(arg, strtoll(entry->d_name, NULL, 10)))
            break;
    }
    closedir(dir);
    return 0;
}

/* Calls visit with each child of any of the process's threads. -1 if the kernel does not list children. */
static int each_child(int64_t pid, void (*visit)(void *arg, int64_t pid), void *arg)
{
    char path[64];
    int status = -1;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", pid);
    DIR *threads = opendir(path);
    const struct dirent *thread;
    while (threads && (thread = readdir(threads))) {
        char word[24];
        if (!isdigit((unsigned char)thread->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%.20s/children", pid, thread->d_name);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        status = 0;
        while (fscanf(file, "%23s", word) == 1)
            visit(arg, strtoll(word, NULL, 10));
        fclose(file);
    }
    if (threads)
        closedir(threads);
    return status;
}

static void kill_child(void *arg, int64_t pid)
{
    struct adl_process_stat stat;
    (void)arg;
    /* A child of ours keeps its PID until we reap it, so no other process can be hit. */
    if (adl_process_stat_read(pid, &stat) == 0 && stat.parent == getpid() && stat.state != 'Z')
        kill((pid_t)pid, SIGKILL);
}

static bool kill_any_child(void *arg, int64_t pid)
{
    kill_child(arg, pid);
    return true;
}

void adl_process_kill_children(void)
{
    /* Lists only our children: with a thousand jobs, scanning all processes at each end would be costly. */
    if (each_child(getpid(), kill_child, NULL))
        adl_process_each(kill_any_child, NULL);
}

struct descent {
    int64_t except_group;
    int64_t except_pid;
    int signal;
    int depth; /* left to go */
    int count; /* found and not yet signalled */
    struct adl_process found[256];
};

static void signal_found(struct descent *descent)
{
    for (int i = 0; i < descent->count; i++)
        adl_process_signal(descent->found[i], descent->signal);
    descent->count = 0;
}

/* Parents first. */
// NOLINTNEXTLINE(misc-no-recursion): depth bounds it
static void find_child(void *arg, int64_t pid)
{
    struct descent *descent = arg;
    struct adl_process_stat stat;
    if (adl_process_stat_read(pid, &stat))
        return;
    if (descent->count == (int)(sizeof descent->found / sizeof *descent->found))
        signal_found(descent);
    if (stat.group != descent->except_group && pid != descent->except_pid)
        descent->found[descent->count++] = (struct adl_process){pid, stat.start_ticks};
    descent->depth--;
    if (descent->depth > 0)
        each_child(pid, find_child, descent);
    descent->depth++;
}

/* All are found before one is signalled, because the children of a process that ends are reparented. Parents come
 * before their children: a shell whose command ends first would go on with the next line. */
void adl_process_signal_descendants(int64_t except_group, int64_t except_pid, int signal)
{
    struct descent descent = {
        .except_group = except_group, .except_pid = except_pid, .signal = signal, .depth = DEPTH_MAX};
    each_child(getpid(), find_child, &descent);
    signal_found(&descent);
}

int adl_boot_id_read(char ret_id[ADL_BOOT_ID_SIZE])
{
    char text[64];
    if (read_small("/proc/sys/kernel/random/boot_id", text, sizeof text) < 0)
        return -1;
    text[strcspn(text, "\n")] = 0;
    if (strlen(text) >= ADL_BOOT_ID_SIZE || !*text)
        return -1;
    snprintf(ret_id, ADL_BOOT_ID_SIZE, "%.*s", ADL_BOOT_ID_SIZE - 1, text);
    return 0;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t adl_clock_boot_us(void)
{
    return clock_us(CLOCK_BOOTTIME);
}

int64_t adl_clock_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

void adl_close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
    const long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (limit > 0 && limit < 65536 ? limit : 65536); fd++)
        close(fd);
}
