#include "executor/local/launch.h"

#include "executor/local/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_folder(const char *folder, int *ret_fd, struct adl_error *err)
{
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return *ret_fd < 0 ? adl_fail(err, ADL_EIO, "task folder %s: %s", folder, strerror(errno)) : 0;
}

/* For records without lists or strings, whose bytes need not be kept. */
static int load(int dir, const char *name, const struct adl_record_form *form, void *ret, struct adl_error *err)
{
    struct adl_record record = {0};
    const int status = adl_record_load(dir, name, form, ret, &record, err);
    free(record.bytes);
    return status;
}

static bool same_boot(const struct adl_task_start *start)
{
    char boot_id[ADL_BOOT_ID_SIZE];
    return adl_boot_id_read(boot_id) == 0 && strcmp(boot_id, start->boot_id) == 0;
}

static bool same_process(struct adl_process a, struct adl_process b)
{
    return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

static void release_shepherd(struct adl_task *task)
{
    if (task->fd >= 0)
        close(task->fd);
    task->fd = -1;
    task->ours = false;
    task->shepherd = (struct adl_process){0};
}

static void watch_shepherd(struct adl_task *task, struct adl_process shepherd, bool ours)
{
    release_shepherd(task);
    task->shepherd = shepherd;
    task->ours = ours;
    task->fd = task->no_pidfd ? -1 : adl_process_open(shepherd);
}

/* True once the shepherd is gone and, if it was our child, reaped. */
static bool shepherd_gone(struct adl_task *task)
{
    if (task->shepherd.pid == 0)
        return true;
    if (task->ours) {
        int status;
        const pid_t pid = waitpid((pid_t)task->shepherd.pid, &status, WNOHANG);
        return pid != 0 && !(pid < 0 && errno == EINTR);
    }
    if (task->fd >= 0) {
        struct pollfd fd = {task->fd, POLLIN, 0};
        return poll(&fd, 1, 0) == 1;
    }
    return !adl_process_alive(task->shepherd);
}

/* No shepherd is left to write the result: kills the processes that still run and writes "lost". */
static int record_lost(int dir, const struct adl_task_start *start, struct adl_task_result *ret_result,
                       struct adl_error *err)
{
    struct adl_task_cancel cancel = {0};
    struct adl_task_result result = {.outcome = ADL_TASK_LOST, .start_us = start->start_us};
    if (same_boot(start)) {
        const uint32_t killed = adl_orphans_kill(start);
        snprintf(result.reason, sizeof result.reason, "its shepherd, process %lld, is gone",
                 (long long)start->shepherd.pid);
        if (killed > 0)
            adl_task_note(&result, "%u processes it left were killed", killed);
    } else {
        snprintf(result.reason, sizeof result.reason, "the machine was restarted while it ran");
    }
    if (load(dir, "cancel", &adl_task_cancel_form, &cancel, NULL) == 0) {
        result.outcome = ADL_TASK_CANCELLED;
        adl_task_note(&result, "%s", result.reason);
        snprintf(result.reason, sizeof result.reason, "%s", cancel.reason);
    }
    result.end_us = adl_clock_wall_us();
    const int status = adl_record_fill(dir, "result", &adl_task_result_form, &result, err);
    if (status)
        return status;
    *ret_result = result;
    return 0;
}

/* Derives the task's state from its records. */
static int read_records(struct adl_task *task, int dir, struct adl_task_result *ret_result, struct adl_error *err)
{
    struct adl_task_start start = {0};
    struct adl_task_result result = {0};
    int status = load(dir, "started", &adl_task_start_form, &start, err);
    if (status == ADL_RECORD_MISSING) {
        task->state = task->shepherd.pid ? ADL_TASK_STARTING : ADL_TASK_WAITING;
        return 0;
    }
    if (status)
        return status;
    task->start = start;
    task->state = ADL_TASK_RUNNING;
    if (task->shepherd.pid && same_process(start.shepherd, task->shepherd))
        return 0; /* it was alive a moment ago */
    if (same_boot(&start) && adl_process_alive(start.shepherd)) {
        /* An earlier shepherd was first; ours, if there is one, ends by itself. */
        if (!task->shepherd.pid)
            watch_shepherd(task, start.shepherd, false);
        return 0;
    }
    if (task->shepherd.pid)
        return 0; /* as above; this is called again once ours was reaped */
    status = load(dir, "result", &adl_task_result_form, &result, err);
    if (status == ADL_RECORD_MISSING)
        status = record_lost(dir, &start, &result, err);
    if (status)
        return status;
    release_shepherd(task);
    task->state = ADL_TASK_ENDED;
    *ret_result = result;
    return 0;
}

int adl_task_poll(struct adl_task *task, struct adl_task_result *ret_result, struct adl_error *err)
{
    int dir;
    const bool gone = shepherd_gone(task);
    if (!gone && task->state == ADL_TASK_RUNNING)
        return 0;
    if (gone)
        release_shepherd(task);
    int status = open_folder(task->folder, &dir, err);
    if (status)
        return status;
    status = read_records(task, dir, ret_result, err);
    close(dir);
    return status;
}

int64_t adl_task_end_boot_us(const struct adl_task *task, const struct adl_task_result *result)
{
    if (result->end_boot_us > 0 && same_boot(&task->start))
        return result->end_boot_us;
    const int64_t ago_us = adl_clock_wall_us() - result->end_us;
    return adl_clock_boot_us() - (ago_us > 0 ? ago_us : 0);
}

/* The shepherd starts with all signals blocked until it reads them, in a session of its own, so that signals to our
 * group do not reach it, and without our descriptors except 0, 1, 2. */
static int spawn(const char *folder, const char *program, pid_t *ret_pid, struct adl_error *err)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t all;
    /* argv is older than const; it is not written to. */
    char *const argv[] = {"adlro", "shepherd", (char *)(uintptr_t)folder, NULL}; // NOLINT(performance-no-int-to-ptr)
    char *const env[] = {NULL};
    sigfillset(&all);
    if (posix_spawnattr_init(&attributes))
        return adl_fail(err, ADL_ENOMEM, "out of memory to start a shepherd");
    if (posix_spawn_file_actions_init(&files)) {
        posix_spawnattr_destroy(&attributes);
        return adl_fail(err, ADL_ENOMEM, "out of memory to start a shepherd");
    }
    int error = posix_spawnattr_setsigmask(&attributes, &all);
    if (!error)
        error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error)
        error =
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    for (int fd = 0; !error && fd <= 2; fd++)
        error = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    if (!error)
        error = posix_spawn(ret_pid, program, &files, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error ? adl_fail(err, ADL_EIO, "the shepherd %s cannot be started: %s", program, strerror(error)) : 0;
}

static int start_shepherd(struct adl_task *task, int dir, const struct adl_task_spec *spec, const char *program,
                          struct adl_error *err)
{
    pid_t pid = 0;
    struct adl_process shepherd;
    /* Not synced: after a power failure a task that was started is lost, and any other gets a new description. */
    int status = adl_record_store(dir, "job", &adl_task_spec_form, spec, ADL_RECORD_REPLACE, err);
    if (!status)
        status = spawn(task->folder, program ? program : "/proc/self/exe", &pid, err);
    if (status)
        return status;
    /* Our child stays in the process table until we reap it, so it is found. */
    if (adl_process_find(pid, &shepherd))
        shepherd = (struct adl_process){pid, -1};
    watch_shepherd(task, shepherd, true);
    task->state = ADL_TASK_STARTING;
    return 0;
}

static int open_task(const char *folder, const struct adl_launch_options *options, struct adl_task *ret_task,
                     struct adl_error *err)
{
    char *copy = folder[0] == '/' ? strdup(folder) : NULL;
    if (folder[0] != '/')
        return adl_fail(err, ADL_EINVAL, "task folder %s: must be an absolute path", folder);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a task");
    *ret_task = (struct adl_task){.folder = copy, .fd = -1, .no_pidfd = options && options->no_pidfd, .open = true};
    return 0;
}

/* 0 if any shepherd has started the task; ADL_RECORD_MISSING if none has. */
static int read_start(struct adl_task *task, int dir, struct adl_error *err)
{
    struct adl_task_start start = {0};
    const int status = load(dir, "started", &adl_task_start_form, &start, err);
    if (status)
        return status;
    task->state = ADL_TASK_RUNNING;
    task->start = start;
    if (same_boot(&start) && adl_process_alive(start.shepherd))
        watch_shepherd(task, start.shepherd, false);
    return 0;
}

int adl_task_launch(const char *folder, const struct adl_task_spec *spec, const struct adl_launch_options *options,
                    struct adl_task *ret_task, struct adl_error *err)
{
    int dir = -1;
    struct adl_task task = {.fd = -1};
    int status = adl_task_spec_check(spec, err);
    if (!status)
        status = open_task(folder, options, &task, err);
    if (status)
        return status;
    if (mkdir(folder, 0700) && errno != EEXIST)
        status = adl_fail(err, ADL_EIO, "task folder %s: %s", folder, strerror(errno));
    if (!status)
        status = open_folder(folder, &dir, err);
    if (!status)
        status = read_start(&task, dir, err);
    if (status == ADL_RECORD_MISSING)
        status = start_shepherd(&task, dir, spec, options ? options->program : NULL, err);
    if (dir >= 0)
        close(dir);
    if (status)
        adl_task_close(&task);
    else
        *ret_task = task;
    return status;
}

int adl_task_adopt(const char *folder, const struct adl_launch_options *options, struct adl_task *ret_task,
                   struct adl_error *err)
{
    int dir;
    struct adl_task task = {.fd = -1};
    int status = open_task(folder, options, &task, err);
    if (status)
        return status;
    status = open_folder(folder, &dir, err);
    if (!status) {
        status = read_start(&task, dir, err);
        close(dir);
    }
    if (status < 0) {
        adl_task_close(&task);
        return status;
    }
    *ret_task = task;
    return 0;
}

/* Claims the task for nobody, so that no shepherd can start it. ADL_EREFUSED: one has started it. */
static int prevent_start(int dir, const char *reason, struct adl_error *err)
{
    struct adl_task_start nobody = {.start_us = adl_clock_wall_us()};
    struct adl_task_result result = {.outcome = ADL_TASK_CANCELLED, .start_us = nobody.start_us};
    if (adl_boot_id_read(nobody.boot_id))
        return adl_fail(err, ADL_EIO, "/proc does not say which boot this is");
    int status =
        adl_record_store(dir, "started", &adl_task_start_form, &nobody, ADL_RECORD_EXCLUSIVE | ADL_RECORD_SYNC, err);
    if (status)
        return status;
    result.end_us = adl_clock_wall_us();
    snprintf(result.reason, sizeof result.reason, "%s", reason);
    return adl_record_fill(dir, "result", &adl_task_result_form, &result, err);
}

int adl_task_cancel(struct adl_task *task, const char *reason, struct adl_error *err)
{
    int dir;
    struct adl_task_cancel cancel = {{0}};
    struct adl_task_start start = {0};
    if (task->state == ADL_TASK_ENDED)
        return 0;
    snprintf(cancel.reason, sizeof cancel.reason, "%s", reason);
    int status = open_folder(task->folder, &dir, err);
    if (status)
        return status;
    status = adl_record_fill(dir, "cancel", &adl_task_cancel_form, &cancel, err);
    if (status == 0 || status == ADL_EREFUSED) /* if it was started, that is all there is to write */
        status = load(dir, "started", &adl_task_start_form, &start, err);
    if (status == ADL_RECORD_MISSING && (status = prevent_start(dir, cancel.reason, err)) == ADL_EREFUSED)
        status = load(dir, "started", &adl_task_start_form, &start, err); /* started just now */
    if (status == 0 && start.shepherd.pid && same_boot(&start))
        adl_process_signal(start.shepherd, SIGUSR1); /* a shepherd that is gone is noticed at the next poll */
    close(dir);
    return status < 0 ? status : 0;
}

void adl_task_close(struct adl_task *task)
{
    if (!task->open)
        return;
    if (task->ours && shepherd_gone(task))
        task->ours = false;
    release_shepherd(task);
    free(task->folder);
    *task = (struct adl_task){.fd = -1};
}
