/* bench_launch: what starting real jobs costs: the service's time in a launch, the time until the command runs, and how
 * many empty tasks complete in a second. It is its own shepherd; it runs in a folder beside the program, on a real
 * disk. */
#include "executor/local/launch.h"
#include "executor/local/shepherd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SINGLE_COUNT 200
#define BATCH_COUNT  1000
#define FILES        (rlim_t)2000 /* more than a pidfd for each */

static char top[256];

static _Noreturn void die(const char *text)
{
    fprintf(stderr, "bench_launch: %s\n", text);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void show(const char *what, int64_t *us, int count)
{
    qsort(us, (size_t)count, sizeof *us, compare);
    const int64_t median_us = us[count / 2], p99_us = us[count * 99 / 100];
    printf("%-44s best %7.2f ms   median %7.2f ms   p99 %7.2f ms\n", what, (double)us[0] / 1e3, (double)median_us / 1e3,
           (double)p99_us / 1e3);
}

static struct adl_task start(const char *kind, int index, const char **argv, uint32_t argc)
{
    char folder[300];
    struct adl_task task;
    struct adl_error err;
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct adl_task_spec spec = {.job_id = index,
                                       .argv = {argv, argc},
                                       .env = {env, 1},
                                       .cwd = "/",
                                       .uid = geteuid(),
                                       .gid = getegid(),
                                       .root = geteuid() == 0};
    snprintf(folder, sizeof folder, "%s/%s%d", top, kind, index);
    if (adl_task_launch(folder, &spec, NULL, &task, &err))
        die(err.text);
    return task;
}

static bool ended(struct adl_task *task, struct adl_task_result *ret_result)
{
    struct adl_error err;
    if (adl_task_poll(task, ret_result, &err))
        die(err.text);
    return task->state == ADL_TASK_ENDED;
}

/* Waits for the next change of any of them. */
static void wait_any(const struct adl_task *tasks, int count)
{
    static struct pollfd fds[BATCH_COUNT];
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){tasks[i].open ? tasks[i].fd : -1, POLLIN, 0};
    poll(fds, (nfds_t)count, 100);
}

static void one_by_one(void)
{
    static int64_t call_us[SINGLE_COUNT], run_us[SINGLE_COUNT], whole_us[SINGLE_COUNT];
    const char *argv[] = {"/bin/date", "+%s%N", NULL};
    for (int i = 0; i < SINGLE_COUNT; i++) {
        struct adl_task_result result = {0};
        const int64_t begin_us = adl_clock_boot_us(), wall_us = adl_clock_wall_us();
        struct adl_task task = start("one", i, argv, 2);
        call_us[i] = adl_clock_boot_us() - begin_us;
        while (!ended(&task, &result))
            wait_any(&task, 1);
        whole_us[i] = adl_clock_boot_us() - begin_us;
        /* The command does nothing, so its end is nearly its start; from the result, before that is synced. */
        run_us[i] = result.end_us - wall_us;
        if (result.outcome != ADL_TASK_EXITED || result.exit_code != 0)
            die("a command failed");
        adl_task_close(&task);
    }
    show("launch: the service's call", call_us, SINGLE_COUNT);
    show("launch to the end of a command of no work", run_us, SINGLE_COUNT);
    show("launch to the result in the service's hands", whole_us, SINGLE_COUNT);
}

static void all_at_once(void)
{
    static struct adl_task tasks[BATCH_COUNT];
    const char *argv[] = {"/bin/true", NULL};
    int left = BATCH_COUNT;
    const int64_t begin_us = adl_clock_boot_us();
    for (int i = 0; i < BATCH_COUNT; i++)
        tasks[i] = start("all", i, argv, 1);
    const int64_t launched_us = adl_clock_boot_us();
    while (left > 0) {
        wait_any(tasks, BATCH_COUNT);
        for (int i = 0; i < BATCH_COUNT; i++) {
            struct adl_task_result result;
            if (!tasks[i].open || !ended(&tasks[i], &result))
                continue;
            if (result.outcome != ADL_TASK_EXITED || result.exit_code != 0)
                die("a command failed");
            adl_task_close(&tasks[i]);
            left--;
        }
    }
    const int64_t end_us = adl_clock_boot_us();
    printf("%d at once: %.0f launches/s by the service, %.0f tasks/s from launch to result\n", BATCH_COUNT,
           BATCH_COUNT * 1e6 / (double)(launched_us - begin_us), BATCH_COUNT * 1e6 / (double)(end_us - begin_us));
}

/* What a waiting shepherd keeps in memory, from /proc. */
static void memory(void)
{
    char path[64], line[128];
    long private_kib = 0, value;
    struct adl_task_result result;
    const char *argv[] = {"/bin/sleep", "1", NULL};
    struct adl_task task = start("memory", 0, argv, 2);
    while (!ended(&task, &result) && task.state != ADL_TASK_RUNNING)
        poll(NULL, 0, 1);
    poll(NULL, 0, 300); /* until the command is another program, it shares the shepherd's pages */
    snprintf(path, sizeof path, "/proc/%lld/smaps_rollup", (long long)task.shepherd.pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %ld", &value) == 1 || sscanf(line, "Private_Dirty: %ld", &value) == 1)
            private_kib += value;
    if (file)
        fclose(file);
    printf("a shepherd has %ld KiB to itself\n", private_kib);
    while (!ended(&task, &result))
        wait_any(&task, 1);
    adl_task_close(&task);
}

static void remove_all(void)
{
    const char *kinds[] = {"one", "all", "memory"}, *names[] = {"job", "started", "result"};
    char path[600];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < BATCH_COUNT; i++) {
            for (int n = 0; n < 3; n++) {
                snprintf(path, sizeof path, "%s/%s%d/%s", top, kinds[k], i, names[n]);
                unlink(path);
            }
            snprintf(path, sizeof path, "%s/%s%d", top, kinds[k], i);
            rmdir(path);
        }
    rmdir(top);
}

int main(int argc, char **argv)
{
    struct adl_error err;
    if (argc == 3 && strcmp(argv[1], "shepherd") == 0) {
        const int status = adl_shepherd_run(argv[2], &err);
        return status && status != ADL_EREFUSED;
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES) {
        files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    snprintf(top, sizeof top, "%s", "/var/tmp/adlro-launch-XXXXXX");
    if (!mkdtemp(top))
        die(strerror(errno));
    one_by_one();
    all_at_once();
    memory();
    remove_all();
    return 0;
}
