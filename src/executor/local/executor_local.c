#include "executor/local/executor_local.h"

#include "base/index.h"
#include "executor/local/foreign_processes.h"
#include "executor/local/job_task.h"
#include "executor/local/spool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_US       INT64_C(500000) /* how often tasks without a pidfd are polled */
#define TELEMETRY_TAG UINT32_MAX
#define READY_MAX     64
#define LAUNCH_US     3000 /* spent on launching before requests are served again */
#define TRIES                                                                                                          \
    120 /* launches that may fail because of the machine, not the job: a minute, enough to clear a disk                \
         */

struct run {
    struct adl_task task;           /* open: it was launched */
    const struct adl_job_entry *it; /* once it is started */
    uint64_t job;
    uint32_t attempt;
    uint32_t tries; /* launches that failed */
    bool used;
    bool queued;         /* to be launched */
    bool retry;          /* to be launched again, because the last launch failed */
    bool requeue;        /* it is stopped to be run again */
    bool stopped;        /* it was asked to end; text says why, unless it failed */
    bool cancel_pending; /* and the request could not be written for its shepherd yet */
    bool restartable;    /* its job may be run again if its shepherd is lost */
    bool saves_on_stop;  /* its job saves its work when it is asked to stop */
    bool failed;         /* it could not be launched: text says why */
    bool unknown;        /* whether it was started before is not known: it must not be run again */
    bool polled;         /* polled, because no descriptor reports its end */
    char text[200];
    uint32_t next; /* free slot, or slot to be launched or forgotten */
};

/* Slots, first in, first out. */
struct launch_queue {
    uint32_t first, last;
};

struct executor {
    struct adl_executor_local_config config;
    struct run *slots;
    size_t slot_capacity;
    uint32_t slot_count, free_slot;
    uint32_t ended_slot;       /* first of those that ended and were not forgotten */
    struct launch_queue queue; /* to be launched */
    uint32_t polled_count;
    int64_t polled_us;
    int epoll;
    struct epoll_event ready[READY_MAX];
    uint32_t ready_first, ready_count;
    struct adl_telemetry_thread_sample *samples; /* [gpus] taken and not yet reported */
    uint32_t sample_first, sample_count;
    bool sample_reported;               /* the telemetry of the first is reported; its state is not */
    bool *down;                         /* [gpu] as reported */
    char (*versions)[ADL_VERSION_SIZE]; /* the same */
};

static void destroy(void *self)
{
    struct executor *executor = self;
    if (!executor)
        return;
    for (uint32_t i = 0; i < executor->slot_count; i++)
        adl_task_close(&executor->slots[i].task);
    adl_telemetry_thread_destroy(executor->config.telemetry);
    adl_gpu_caps_close(executor->config.caps);
    if (executor->epoll >= 0)
        close(executor->epoll);
    free(executor->slots);
    free(executor->samples);
    free(executor->down);
    free(executor->versions);
    free(executor);
}

/* ---- slots ---- */

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct executor *executor = self;
    uint32_t slot = executor->free_slot;
    if (slot != ADL_NONE) {
        executor->free_slot = executor->slots[slot].next;
    } else {
        if (adl_grow((void **)&executor->slots, &executor->slot_capacity, (size_t)executor->slot_count + 1,
                     sizeof *executor->slots))
            return adl_fail(err, ADL_ENOMEM, "out of memory for one more job");
        slot = executor->slot_count++;
    }
    executor->slots[slot] = (struct run){.task = {.fd = -1}, .job = spec->id, .used = true, .next = ADL_NONE};
    *ret_slot = slot;
    return 0;
}

static void set_polled(struct executor *executor, struct run *run, bool polled)
{
    executor->polled_count += (uint32_t)polled - (uint32_t)run->polled;
    run->polled = polled;
}

static void withdraw(void *self, uint32_t slot)
{
    struct executor *executor = self;
    struct run *run = &executor->slots[slot];
    set_polled(executor, run, false);
    adl_task_close(&run->task);
    *run = (struct run){.task = {.fd = -1}, .next = executor->free_slot};
    executor->free_slot = slot;
}

/* Waits for the task's descriptor, or, without one, polls the task. */
static void watch_task(struct executor *executor, uint32_t slot)
{
    struct run *run = &executor->slots[slot];
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = slot};
    bool announced = run->task.fd >= 0 && epoll_ctl(executor->epoll, EPOLL_CTL_ADD, run->task.fd, &event) == 0;
    if (!announced && run->task.fd >= 0 && errno == EEXIST)
        announced = epoll_ctl(executor->epoll, EPOLL_CTL_MOD, run->task.fd, &event) == 0;
    set_polled(executor, run, !announced);
}

/* ---- launching ---- */

/* The launch is retried if the disk is full or the machine has too many processes; any other failure is reported as the
 * end of the job. */
static void launch_failed(struct executor *executor, struct run *run, int status, const char *text)
{
    run->retry = status == ADL_EIO && run->tries++ < TRIES && !run->stopped;
    run->failed = !run->retry;
    if (!run->stopped)
        snprintf(run->text, sizeof run->text, "%s", text);
    set_polled(executor, run, true);
}

static void launch(struct executor *executor, uint32_t slot)
{
    struct adl_error err = {""};
    struct run *run = &executor->slots[slot];
    adl_task_close(&run->task);
    run->retry = false;
    const int status = adl_job_task_launch(&executor->config, run->it, &run->task, &err);
    if (status == 0)
        watch_task(executor, slot);
    else
        launch_failed(executor, run, status, err.text);
    if (run->failed)
        executor->polled_us = 0;
}

static void prepare(struct run *run, const struct adl_job_entry *job)
{
    run->it = job;
    run->attempt = job->attempts;
    run->tries = 0;
    run->requeue = run->failed = run->unknown = run->retry = run->stopped = run->cancel_pending = false;
    run->restartable = job->spec.flags & ADL_JOB_PREEMPTIBLE;
    run->saves_on_stop = job->spec.stop_loss == ADL_LOSS_NOTHING;
}

/* A decision may start a thousand jobs, at a millisecond or more each. They are queued, and poll launches one at a
 * time, so that requests are answered in between. */
static int start(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    (void)err, (void)gpus;
    struct executor *executor = self;
    prepare(&executor->slots[slot], job);
    executor->slots[slot].queued = true;
    executor->slots[slot].next = ADL_NONE;
    *(executor->queue.first == ADL_NONE ? &executor->queue.first : &executor->slots[executor->queue.last].next) = slot;
    executor->queue.last = slot;
    return 0;
}

/* Takes a slot out of the queue and launches its job; most often it is the first. */
static void launch_queued(struct executor *executor, uint32_t slot)
{
    struct run *run = &executor->slots[slot];
    uint32_t *at = &executor->queue.first, before = ADL_NONE;
    for (; *at != slot; at = &executor->slots[*at].next)
        before = *at;
    *at = run->next;
    if (executor->queue.last == slot)
        executor->queue.last = before;
    run->queued = false;
    launch(executor, slot);
}

static void launch_some(struct executor *executor)
{
    const int64_t until_us = adl_clock_boot_us() + LAUNCH_US;
    struct pollfd urgent = {executor->config.urgent_fd, POLLIN, 0};
    while (executor->queue.first != ADL_NONE) {
        launch_queued(executor, executor->queue.first);
        if (adl_clock_boot_us() >= until_us || poll(&urgent, 1, 0) > 0)
            return;
    }
}

static bool adopt(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus)
{
    struct adl_error err;
    struct executor *executor = self;
    struct run *run = &executor->slots[slot];
    char folder[ADL_STORE_PATH_MAX];
    prepare(run, job);
    if (gpus) { /* started before or not: it is to run, and starts at most once */
        launch(executor, slot);
        return true;
    }
    adl_spool_task(executor->config.directory, job->id, job->attempts, folder, sizeof folder);
    if (adl_task_adopt(folder, NULL, &run->task, &err) == 0) {
        watch_task(executor, slot);
        return true;
    }
    if (access(folder, F_OK) && errno == ENOENT)
        return false; /* it was never started */
    run->failed = run->unknown = true;
    snprintf(run->text, sizeof run->text, "%.199s", err.text);
    set_polled(executor, run, true);
    return true;
}

static int stop(void *self, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    (void)job;
    struct executor *executor = self;
    struct run *run = &executor->slots[slot];
    if (run->queued)
        launch_queued(executor, slot); /* so that there is a task to stop */
    run->requeue = requeue;
    run->stopped = true;
    if (!run->failed)
        snprintf(run->text, sizeof run->text, "%s", reason);
    if (run->retry) { /* it was never started, and the cancellation below keeps it from starting */
        run->retry = false;
        run->failed = !run->task.open;
    }
    const int status = run->task.open ? adl_task_cancel(&run->task, reason, err) : 0;
    run->cancel_pending = status != 0; /* retried until it succeeds */
    set_polled(executor, run, run->polled || run->cancel_pending || run->task.fd < 0);
    executor->polled_us = executor->polled_count > 0 ? 0 : executor->polled_us;
    return 0;
}

static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    const struct executor *executor = self;
    return executor->config.caps
               ? adl_gpu_caps_set(executor->config.caps, gpus, gpu_count, power_w, err)
               : adl_fail(err, ADL_EREFUSED, "power limits need a helper (power.helper in the configuration)");
}

/* A slot keeps its job after the end was reported, until the service has written it; then it can be reused. */
static void release(struct executor *executor, uint64_t job)
{
    for (uint32_t *at = &executor->ended_slot; *at != ADL_NONE; at = &executor->slots[*at].next) {
        const uint32_t slot = *at;
        if (executor->slots[slot].job != job)
            continue;
        *at = executor->slots[slot].next;
        withdraw(executor, slot);
        return;
    }
}

static void forget(void *self, uint64_t job, uint32_t attempt)
{
    struct executor *executor = self;
    adl_spool_remove(executor->config.directory, job, attempt);
    release(executor, job);
}

/* ---- what became of tasks ---- */

static uint8_t end_of(const struct adl_task_result *result)
{
    switch (result->outcome) {
    case ADL_TASK_EXITED:
        return result->exit_code == 0 ? ADL_END_COMPLETED : ADL_END_FAILED;
    case ADL_TASK_TIMED_OUT:
        return ADL_END_TIMEOUT;
    case ADL_TASK_CANCELLED:
        return ADL_END_CANCELLED;
    default:
        return ADL_END_FAILED;
    }
}

/* As the shepherd measured them, on the service's clock; the service may have been down at the time. */
static void report_times(const struct executor *executor, const struct run *run, const struct adl_task_result *result,
                         struct adl_report *ret)
{
    if (result->end_us == 0)
        return; /* it was never started */
    ret->time_us = adl_service_clock_of_boot(executor->config.clock, adl_task_end_boot_us(&run->task, result));
    ret->start_us =
        result->elapsed_us > 0 ? ret->time_us - result->elapsed_us : 0; /* not known of a task that is lost */
}

static void report_end(struct executor *executor, uint32_t slot, const struct adl_task_result *result,
                       struct adl_report *ret)
{
    struct run *run = &executor->slots[slot];
    const bool lost = result->outcome == ADL_TASK_LOST && run->restartable;
    const bool evict = lost || (run->requeue && result->outcome == ADL_TASK_CANCELLED);
    *ret = (struct adl_report){.kind = evict ? ADL_REPORT_REQUEUED : ADL_REPORT_ENDED,
                               .slot = slot,
                               .exit_code = (int32_t)result->exit_code,
                               .signal = (int32_t)result->signal};
    report_times(executor, run, result, ret);
    if (evict) {
        /* A job that saves its work on a stop was not asked to stop. */
        ret->requeue.remaining = lost && run->saves_on_stop ? 1.0 : -1;
        ret->requeue.fault = lost;
    } else {
        ret->outcome.end = end_of(result);
        ret->outcome.run_us = result->elapsed_us;
    }
    snprintf(ret->text, sizeof ret->text, "%.120s%s%.70s", result->reason,
             result->reason[0] != '\0' && result->notes[0] != '\0' ? "; " : "", result->notes);
    set_polled(executor, run, false);
    adl_task_close(&run->task);
    if (!evict) {
        run->next = executor->ended_slot;
        executor->ended_slot = slot;
    }
}

/* The end of a task that was never started. */
static void report_unstarted(struct executor *executor, uint32_t slot, struct adl_report *ret)
{
    struct run *run = &executor->slots[slot];
    const bool cancelled = run->stopped && !run->unknown;
    struct adl_task_result result = {.outcome = cancelled ? ADL_TASK_CANCELLED : ADL_TASK_UNSTARTED,
                                     .exit_code = cancelled ? 0 : 126};
    snprintf(result.reason, sizeof result.reason, "%s", run->text);
    run->failed = false;
    report_end(executor, slot, &result, ret);
}

/* 1 and a report if the task has ended. */
static int check_task(struct executor *executor, uint32_t slot, struct adl_report *ret)
{
    struct adl_error err = {""};
    struct run *run = &executor->slots[slot];
    struct adl_task_result result = {0};
    if (run->used && run->retry)
        launch(executor, slot);
    if (!run->used || (!run->task.open && !run->failed) || run->retry)
        return 0;
    if (!run->failed && run->cancel_pending)
        run->cancel_pending = adl_task_cancel(&run->task, run->text, &err) != 0;
    if (!run->failed && adl_task_poll(&run->task, &result, &err)) {
        set_polled(executor, run, true); /* the disk may recover */
        return 0;
    }
    if (!run->failed && run->task.state == ADL_TASK_WAITING)
        launch_failed(executor, run, ADL_EIO, "its shepherd failed before it started the task");
    if (run->failed) {
        report_unstarted(executor, slot, ret);
        return 1;
    }
    if (run->retry)
        return 0;
    if (run->task.state == ADL_TASK_ENDED) {
        report_end(executor, slot, &result, ret);
        return 1;
    }
    watch_task(executor, slot);
    set_polled(executor, run, run->polled || run->cancel_pending);
    return 0;
}

/* ---- telemetry ---- */

/* Processes on a GPU that belong to none of the tasks. */
static uint32_t count_foreign(struct executor *executor, const struct adl_gpu_sample *sample)
{
    struct adl_task_result result;
    struct adl_gpu_process processes[ADL_GPU_PIDS_MAX];
    struct adl_error err;
    if (!executor->config.avoid_foreign || !sample->pids_known || sample->pid_count == 0)
        return 0;
    struct adl_task_start *starts = calloc((size_t)executor->slot_count + 1, sizeof *starts);
    uint32_t task_count = 0, foreign = 0;
    if (!starts)
        return 0;
    for (uint32_t i = 0; i < executor->slot_count; i++) {
        struct run *run = &executor->slots[i];
        if (run->task.open && run->task.state == ADL_TASK_STARTING) {
            adl_task_poll(&run->task, &result, &err);
            watch_task(executor, i); /* a task that has just ended has no descriptor left */
        }
        if (run->task.open && run->task.state == ADL_TASK_RUNNING)
            starts[task_count++] = run->task.start;
    }
    const uint32_t seen = sample->pid_count < ADL_GPU_PIDS_MAX ? sample->pid_count : ADL_GPU_PIDS_MAX;
    for (uint32_t i = 0; i < seen; i++)
        processes[i] = (struct adl_gpu_process){.gpu = 0, .pid = sample->pids[i]};
    adl_foreign_processes_count(processes, seen, starts, task_count, &foreign, 1);
    free(starts);
    return foreign;
}

/* First the readings, then whether the GPU can be used: 1 and a report, or 0. */
static int report_sample(struct executor *executor, struct adl_report *ret)
{
    while (executor->sample_first < executor->sample_count) {
        const struct adl_telemetry_thread_sample *it = &executor->samples[executor->sample_first];
        if (!executor->sample_reported) {
            executor->sample_reported = true;
            *ret = (struct adl_report){.kind = ADL_REPORT_SAMPLE,
                                       .gpu = it->gpu,
                                       .sample = {.readings = it->sample.telemetry,
                                                  .memory_used_mib = it->sample.memory_used_mib,
                                                  .energy_j = it->sample.energy_j}};
            return 1;
        }
        if (it->sample.version[0] && strcmp(it->sample.version, executor->versions[it->gpu]) != 0) {
            *ret = (struct adl_report){.kind = ADL_REPORT_VERSION, .gpu = it->gpu};
            memcpy(ret->version, it->sample.version, sizeof ret->version);
            memcpy(executor->versions[it->gpu], it->sample.version, sizeof it->sample.version);
            return 1;
        }
        executor->sample_reported = false;
        executor->sample_first++;
        const uint32_t foreign = it->sample.lost ? 0 : count_foreign(executor, &it->sample);
        const bool down = it->sample.lost || foreign > 0;
        if (down == executor->down[it->gpu])
            continue;
        executor->down[it->gpu] = down;
        *ret = (struct adl_report){
            .kind = down ? ADL_REPORT_GPU_DOWN : ADL_REPORT_GPU_UP, .gpu = it->gpu, .foreign = foreign};
        if (it->sample.lost)
            snprintf(ret->text, sizeof ret->text, "its driver says that it is lost");
        else if (foreign > 0)
            snprintf(ret->text, sizeof ret->text, "%u process%s from outside the queue, the first is %d", foreign,
                     foreign == 1 ? "" : "es", it->sample.pids[0]);
        return 1;
    }
    return 0;
}

static void take_samples(struct executor *executor)
{
    executor->sample_first = 0;
    executor->sample_reported = false;
    executor->sample_count = adl_telemetry_thread_take(executor->config.telemetry, executor->samples,
                                                       executor->config.inventory->scenario.cluster.gpu_count);
}

/* ---- the interface ---- */

static int poll_tasks(struct executor *executor, int64_t now_us, struct adl_report *ret)
{
    if (executor->polled_count == 0 || (executor->polled_us > 0 && now_us < executor->polled_us + POLL_US))
        return 0;
    for (uint32_t slot = 0; slot < executor->slot_count; slot++)
        if (executor->slots[slot].polled && check_task(executor, slot, ret))
            return 1;
    executor->polled_us = now_us;
    return 0;
}

static int poll_executor(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    (void)err;
    struct executor *executor = self;
    adl_gpu_caps_keep(executor->config.caps, now_us);
    if (report_sample(executor, ret))
        return 1;
    for (;;) {
        while (executor->ready_first < executor->ready_count) {
            const uint32_t tag = executor->ready[executor->ready_first++].data.u32;
            if (tag == TELEMETRY_TAG) {
                take_samples(executor);
                if (report_sample(executor, ret))
                    return 1;
            } else if (check_task(executor, tag, ret)) {
                return 1;
            }
        }
        const int ready = epoll_wait(executor->epoll, executor->ready, READY_MAX, 0);
        executor->ready_first = 0;
        executor->ready_count = ready > 0 ? (uint32_t)ready : 0;
        if (ready <= 0) {
            launch_some(executor);
            return poll_tasks(executor, now_us, ret);
        }
    }
}

static int64_t due_us(void *self)
{
    const struct executor *executor = self;
    if (executor->sample_first < executor->sample_count || executor->ready_first < executor->ready_count ||
        executor->queue.first != ADL_NONE)
        return 0;
    return executor->polled_count > 0 ? executor->polled_us + POLL_US : INT64_MAX;
}

static int descriptor(void *self)
{
    const struct executor *executor = self;
    return executor->epoll;
}

static const struct adl_executor_ops ops = {
    .name = "local",
    .destroy = destroy,
    .admit = admit,
    .withdraw = withdraw,
    .start = start,
    .stop = stop,
    .cap = cap,
    .adopt = adopt,
    .forget = forget,
    .poll = poll_executor,
    .due_us = due_us,
    .fd = descriptor,
};

int adl_executor_local_create(const struct adl_executor_local_config *config, struct adl_executor *ret,
                              struct adl_error *err)
{
    struct executor *executor = calloc(1, sizeof *executor);
    if (!executor)
        return adl_fail(err, ADL_ENOMEM, "out of memory for running jobs");
    executor->config = *config;
    executor->config.telemetry = NULL; /* the caller's, until everything else is created, as are caps */
    executor->config.caps = NULL;
    executor->free_slot = executor->ended_slot = executor->queue.first = ADL_NONE;
    executor->epoll = epoll_create1(EPOLL_CLOEXEC);
    const uint32_t gpus = config->inventory->scenario.cluster.gpu_count;
    executor->samples = calloc(gpus + 1, sizeof *executor->samples);
    executor->down = calloc(gpus + 1, sizeof *executor->down);
    executor->versions = calloc(gpus + 1, sizeof *executor->versions);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = TELEMETRY_TAG};
    int status = 0;
    if (executor->epoll < 0 || !executor->samples || !executor->down || !executor->versions)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for running jobs");
    if (status == 0)
        status = adl_spool_create(config->directory, err);
    if (status == 0)
        adl_spool_sweep(config->directory, config->store);
    if (status == 0 && config->telemetry &&
        epoll_ctl(executor->epoll, EPOLL_CTL_ADD, adl_telemetry_thread_fd(config->telemetry), &event))
        status = adl_fail(err, ADL_EIO, "cannot poll the telemetry thread: %s", strerror(errno));
    if (status) {
        destroy(executor);
        return status;
    }
    executor->config.telemetry = config->telemetry;
    executor->config.caps = config->caps;
    *ret = (struct adl_executor){&ops, executor};
    return 0;
}
