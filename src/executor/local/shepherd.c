#include "executor/local/shepherd.h"

#include "executor/local/cgroup.h"
#include "executor/local/command.h"
#include "executor/local/task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_US      30000000
#define KILL_US       10000000 /* how long to try to kill what is left: processes in uninterruptible sleep may not die */
#define KILL_STEP_MS  5
#define STORE_WAIT_MS 50 /* before a result that could not be written is retried; doubled each time up to */
#define STORE_MOST_MS 5000

enum phase { RUNNING, STOPPING, OVER };

struct shepherd {
    int folder;
    int signals; /* signalfd */
    int timer;   /* timerfd, CLOCK_BOOTTIME: the time limit, then the grace */
    struct adl_task_spec spec;
    struct adl_record record; /* holds spec's strings */
    struct adl_task_start start;
    struct adl_task_result result;
    struct adl_command_process command;
    int join;
    int64_t start_boot_us;
    enum phase phase;
    bool released; /* the command was released to exec */
    bool warned;   /* that its time limit is near */
    bool command_ended;
    bool childless;
};

/* ---- set-up ---- */

static int set_up(struct shepherd *self, const char *folder, struct adl_error *err)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* The folder is opened before chdir: its path may be relative. */
    self->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (self->folder < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", folder, strerror(errno));
    if (self->folder != 3) {
        if (dup2(self->folder, 3) < 0)
            return adl_fail(err, ADL_EIO, "%s: %s", folder, strerror(errno));
        self->folder = 3;
        fcntl(3, F_SETFD, FD_CLOEXEC);
    }
    adl_close_from(4);
    setsid(); /* fails if it is a session leader already, which is fine */
    if (chdir("/"))
        return adl_fail(err, ADL_EIO, "/: %s", strerror(errno));
    sigset_t mask;
    sigemptyset(&mask);
    const int signals_read[] = {SIGCHLD, SIGTERM, SIGINT, SIGUSR1};
    for (size_t i = 0; i < sizeof signals_read / sizeof *signals_read; i++)
        sigaddset(&mask, signals_read[i]);
    self->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    self->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (self->signals < 0 || self->timer < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1))
        return adl_fail(err, ADL_EIO, "no signalfd, timerfd or subreaper: %s", strerror(errno));
    /* If SIGCHLD is ignored, children leave no status. */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, NULL);
    if (adl_process_find(getpid(), &self->start.shepherd) || adl_boot_id_read(self->start.boot_id))
        return adl_fail(err, ADL_EIO, "/proc does not identify this process");
    return 0;
}

static int read_spec(struct shepherd *self, struct adl_error *err)
{
    const int status = adl_record_load(self->folder, "job", &adl_task_spec_form, &self->spec, &self->record, err);
    if (status == ADL_RECORD_MISSING)
        return adl_fail(err, ADL_EINVAL, "job: there is no description of the task");
    return status ? status : adl_task_spec_check(&self->spec, err);
}

static void fail_to_start(struct shepherd *self, int code, const char *text)
{
    self->result.outcome = ADL_TASK_UNSTARTED;
    self->result.exit_code = code;
    snprintf(self->result.reason, sizeof self->result.reason, "%s", text);
    self->phase = OVER;
}

/* True if the service wants the task to end; the first reason stays. */
static bool was_cancelled(struct shepherd *self)
{
    struct adl_task_cancel cancel = {0};
    struct adl_record record = {0};
    struct adl_error err;
    const int status = adl_record_load(self->folder, "cancel", &adl_task_cancel_form, &cancel, &record, &err);
    if (status == ADL_RECORD_MISSING)
        return false;
    adl_record_clear(&record, &adl_task_cancel_form, &cancel);
    snprintf(self->result.reason, sizeof self->result.reason, "%s", status ? "cancelled" : cancel.reason);
    return true;
}

/* ---- while it runs ---- */

static void set_timer(struct shepherd *self, int64_t boot_us)
{
    /* A time of zero would disarm the timer. */
    const struct itimerspec when = {
        .it_value = {.tv_sec = boot_us / 1000000, .tv_nsec = boot_us % 1000000 * 1000 + (boot_us == 0)}};
    timerfd_settime(self->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Ends the task: SIGTERM now, SIGKILL after the grace period. */
static void stop(struct shepherd *self, enum adl_task_outcome outcome)
{
    const int64_t grace_us = self->spec.grace_us == 0 ? GRACE_US : self->spec.grace_us < 0 ? 0 : self->spec.grace_us;
    if (self->phase != RUNNING)
        return;
    self->result.outcome = outcome;
    self->phase = STOPPING;
    if (!self->command_ended) {
        /* Processes outside the group are signalled one by one, and first: they are found while their parents live. */
        adl_process_signal_descendants(self->command.pid, 0, SIGTERM);
        if (kill(-self->command.pid, SIGTERM))
            kill(self->command.pid, SIGTERM); /* it does not lead a group yet */
        kill(-self->command.pid, SIGCONT);
    }
    const int64_t now_us = adl_clock_boot_us();
    set_timer(self, grace_us > INT64_MAX - now_us ? INT64_MAX : now_us + grace_us);
}

/* The command could not be run, or is running now. */
static void read_report(struct shepherd *self)
{
    char text[1 + ADL_TASK_TEXT_SIZE];
    const ssize_t got = read(self->command.report, text, sizeof text - 1);
    if (got < 0 && errno == EINTR)
        return;
    close(self->command.report);
    self->command.report = -1;
    if (got < 2)
        return;
    text[got] = 0;
    fail_to_start(self, (unsigned char)text[0], text + 1);
}

static void note_end(struct shepherd *self, int status)
{
    self->command_ended = true;
    if (self->command.report >= 0)
        read_report(self);
    if (!self->released || self->result.outcome == ADL_TASK_UNSTARTED)
        return;
    self->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    self->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    self->result.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
    if (self->phase == RUNNING) {
        self->result.outcome = WIFEXITED(status) ? ADL_TASK_EXITED : ADL_TASK_SIGNALLED;
        self->phase = OVER;
    }
}

/* Reaps all children that have ended; orphans of the command are our children too. */
static void reap(struct shepherd *self)
{
    siginfo_t info = {0};
    if (self->command.pid > 0 && !self->command_ended && self->phase == RUNNING &&
        waitid(P_PID, (id_t)self->command.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
        kill(-self->command.pid, SIGKILL); /* while the PID of the group cannot be reused */
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0 && pid == self->command.pid)
            note_end(self, status);
        if (pid < 0 && errno == EINTR)
            continue;
        self->childless = pid < 0;
        if (pid <= 0)
            return;
    }
}

static void read_signals(struct shepherd *self)
{
    struct signalfd_siginfo info;
    while (read(self->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            reap(self);
        } else if (self->phase == RUNNING && info.ssi_signo != SIGUSR1) {
            snprintf(self->result.reason, sizeof self->result.reason, "its shepherd was sent signal %u by process %u",
                     info.ssi_signo, info.ssi_pid);
            stop(self, ADL_TASK_CANCELLED);
        } else if (self->phase == RUNNING && was_cancelled(self)) {
            stop(self, ADL_TASK_CANCELLED);
        }
    }
}

/* When the time limit ends, on the timer's clock. */
static int64_t limit_boot_us(const struct shepherd *self)
{
    return self->spec.time_limit_us > INT64_MAX - self->start_boot_us ? INT64_MAX
                                                                      : self->start_boot_us + self->spec.time_limit_us;
}

/* Sends the signal that the user asked for before the time limit; how to react is up to the job. */
static void warn(struct shepherd *self)
{
    const int signal = (int)self->spec.warn_signal;
    self->warned = true;
    set_timer(self, limit_boot_us(self));
    if (self->command_ended)
        return;
    if (!self->spec.warn_command)
        adl_process_signal_descendants(0, self->spec.warn_others ? self->command.pid : 0, signal);
    else
        kill((pid_t)self->command.pid, signal);
}

static void read_timer(struct shepherd *self)
{
    uint64_t times;
    if (read(self->timer, &times, sizeof times) != sizeof times)
        return;
    if (self->phase == STOPPING) {
        self->phase = OVER;
        return;
    }
    if (self->spec.warn_signal > 0 && !self->warned) {
        warn(self);
        return;
    }
    snprintf(self->result.reason, sizeof self->result.reason, "its time limit of %" PRId64 ".%03" PRId64 " s was over",
             self->spec.time_limit_us / 1000000, self->spec.time_limit_us / 1000 % 1000);
    stop(self, ADL_TASK_TIMED_OUT);
}

static void supervise(struct shepherd *self)
{
    while (self->phase != OVER && !(self->phase == STOPPING && self->childless)) {
        struct pollfd fds[] = {{self->signals, POLLIN, 0}, {self->timer, POLLIN, 0}, {self->command.report, POLLIN, 0}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return;
        /* First, because the report that a command could not be run must be read before the end of its process. */
        if (fds[2].revents)
            read_report(self);
        if (fds[0].revents && self->phase != OVER)
            read_signals(self);
        if (fds[1].revents && self->phase != OVER)
            read_timer(self);
    }
}

/* ---- the end ---- */

/* Kills what is left. Orphans become our children, so without children there are no descendants. */
static void kill_remaining(struct shepherd *self)
{
    const int64_t until_us = adl_clock_boot_us() + KILL_US;
    adl_cgroup_kill(self->start.cgroup);
    for (reap(self); !self->childless; reap(self)) {
        struct signalfd_siginfo info;
        struct pollfd fd = {self->signals, POLLIN, 0};
        adl_process_kill_children();
        if (adl_clock_boot_us() > until_us) {
            adl_task_note(&self->result, "processes of the task could not be killed");
            break;
        }
        poll(&fd, 1, KILL_STEP_MS);
        while (read(self->signals, &info, sizeof info) == sizeof info)
            ;
    }
    if (!adl_cgroup_remove(self->start.cgroup))
        adl_task_note(&self->result, "cgroup %s could not be removed: %s", self->start.cgroup, strerror(errno));
}

static int64_t time_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* If the folder was removed, nobody can read a result. */
static bool folder_is_gone(const struct shepherd *self)
{
    struct stat info;
    return fstat(self->folder, &info) == 0 && info.st_nlink == 0;
}

/* The space is reserved, so a full disk does not matter. If the disk fails otherwise or is read-only, retries without
 * limit, because a task without a result counts as lost. */
static int store_result(struct shepherd *self, struct adl_error *err)
{
    for (int wait_ms = STORE_WAIT_MS;; wait_ms = wait_ms * 2 < STORE_MOST_MS ? wait_ms * 2 : STORE_MOST_MS) {
        const int status = adl_record_fill(self->folder, "result", &adl_task_result_form, &self->result, err);
        if (status == 0 || status == ADL_EREFUSED || folder_is_gone(self))
            return status;
        nanosleep(&(struct timespec){.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L}, NULL);
    }
}

static int write_result(struct shepherd *self, struct adl_error *err)
{
    struct rusage usage = {0};
    struct adl_task_result *result = &self->result;
    getrusage(RUSAGE_CHILDREN, &usage);
    result->start_us = self->start.start_us;
    result->end_us = adl_clock_wall_us();
    result->end_boot_us = adl_clock_boot_us();
    result->elapsed_us = result->end_boot_us - self->start_boot_us;
    result->user_us = time_us(usage.ru_utime);
    result->system_us = time_us(usage.ru_stime);
    result->memory_max_kib = usage.ru_maxrss;
    return store_result(self, err);
}

/* ---- from start to end ---- */

/* Reserves space for the records that are written later, and claims the task: only one shepherd can. Otherwise the
 * waiting process ends without exec. The last sync is that of the folder, which has all three records by then. */
static int claim_task(struct shepherd *self, struct adl_error *err)
{
    int status = adl_record_reserve(self->folder, "cancel", &adl_task_cancel_form, 0, err);
    if (!status)
        status = adl_record_reserve(self->folder, "result", &adl_task_result_form, ADL_RECORD_SYNC, err);
    if (status)
        return status;
    self->start.start_us = adl_clock_wall_us();
    self->start_boot_us = adl_clock_boot_us();
    return adl_record_store(self->folder, "started", &adl_task_start_form, &self->start,
                            ADL_RECORD_EXCLUSIVE | ADL_RECORD_SYNC, err);
}

/* Another shepherd has the task: undoes the preparations. */
static void abandon(struct shepherd *self)
{
    close(self->command.go);
    self->command.go = -1;
    kill_remaining(self);
}

static void begin(struct shepherd *self)
{
    if (was_cancelled(self)) {
        self->result.outcome = ADL_TASK_CANCELLED;
        self->phase = OVER;
        return;
    }
    if (self->spec.time_limit_us > 0)
        set_timer(self, limit_boot_us(self) - (self->spec.warn_signal > 0 ? self->spec.warn_us : 0));
    self->released = true;
    if (write(self->command.go, "g", 1) != 1)
        fail_to_start(self, 126, "the process for its command is gone");
}

static int run(struct shepherd *self, struct adl_error *err)
{
    char marker[80];
    struct adl_error spec_err;
    struct adl_process_stat stat;
    if (adl_record_load(self->folder, "started", &adl_task_start_form, &(struct adl_task_start){0}, &self->record,
                        err) != ADL_RECORD_MISSING)
        return adl_fail(err, ADL_EREFUSED, "started: is there already");
    int spec_status = read_spec(self, &spec_err);
    if (!spec_status) {
        adl_cgroup_create(&self->spec, &self->result, self->start.cgroup, sizeof self->start.cgroup, &self->join);
        snprintf(marker, sizeof marker, "ADLRO_SHEPHERD=%" PRId64 ".%" PRId64, self->start.shepherd.pid,
                 self->start.shepherd.start_ticks);
        spec_status = adl_command_fork(&self->spec, marker, self->join, &self->command, &spec_err);
    }
    if (!spec_status && adl_process_stat_read(self->command.pid, &stat) == 0)
        self->start.command = (struct adl_process){self->command.pid, stat.start_ticks};
    const int status = claim_task(self, err);
    if (status) {
        abandon(self);
        return status;
    }
    if (spec_status)
        fail_to_start(self, 126, spec_err.text);
    else
        begin(self);
    close(self->command.go);
    self->command.go = -1;
    supervise(self);
    kill_remaining(self);
    return write_result(self, err);
}

int adl_shepherd_run(const char *folder, struct adl_error *err)
{
    struct shepherd self = {.folder = -1, .signals = -1, .timer = -1, .join = -1, .command = {.go = -1, .report = -1}};
    int status = set_up(&self, folder, err);
    if (!status)
        status = run(&self, err);
    const int fds[] = {self.folder, self.signals, self.timer, self.join, self.command.go, self.command.report};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    adl_record_clear(&self.record, &adl_task_spec_form, &self.spec);
    return status;
}
