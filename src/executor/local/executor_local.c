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

#define LOOK_US   INT64_C(500000) /* how often tasks are asked that nothing announces */
#define WATCH_TAG UINT32_MAX
#define READY_MAX 64
#define LAUNCH_US 3000 /* that are spent on launching before people's requests are looked at again */
#define TRIES                                                                                                          \
    120 /* of a launch that fails because of the machine, not the job: a minute, in which disks are cleared            \
         */

struct hand {
    struct adl_task task;           /* open: it was launched */
    const struct adl_job_entry *it; /* once it is started */
    uint64_t job;
    uint32_t attempt;
    uint32_t tries; /* launches that failed */
    bool used;
    bool wanted;        /* stands in line to be launched */
    bool retry;         /* is to be launched again, for the last time failed */
    bool requeue;       /* it is stopped to be run again */
    bool stopped;       /* it is to end; text says why, unless it failed */
    bool untold;        /* and its shepherd could not be told */
    bool again;         /* its job may be run again if its shepherd is lost */
    bool saves_on_stop; /* its job saves its work when it is told to stop */
    bool failed;        /* it could not be launched: text says why */
    bool unknown;       /* nor is it known whether it was begun before: it is not to be run again */
    bool asked;         /* is to be looked at without being announced */
    char text[200];
    uint32_t next; /* behind a free slot, or behind one that is to be launched or forgotten */
};

/* Slots in order of arrival. */
struct line {
    uint32_t first, last;
};

struct executor {
    struct adl_executor_local_config config;
    struct hand *slots;
    size_t slot_capacity;
    uint32_t slot_count, free_slot;
    uint32_t ended_slot; /* the first of those that ended and were not forgotten */
    struct line wanted;  /* to be launched */
    uint32_t asked_count;
    int64_t looked_us;
    int epoll;
    struct epoll_event ready[READY_MAX];
    uint32_t ready_first, ready_count;
    struct adl_telemetry_thread_sample *samples; /* [gpus] taken and not yet reported */
    uint32_t sample_first, sample_count;
    bool sample_told; /* of the first of these: its telemetry; its state is still to be told */
    bool *down;       /* [gpu] as reported */
};

static void destroy(void *self)
{
    struct executor *executor = self;
    if (!executor)
        return;
    for (uint32_t i = 0; i < executor->slot_count; i++)
        adl_task_close(&executor->slots[i].task);
    adl_telemetry_thread_destroy(executor->config.watch);
    if (executor->epoll >= 0)
        close(executor->epoll);
    free(executor->slots);
    free(executor->samples);
    free(executor->down);
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
    executor->slots[slot] = (struct hand){.task = {.fd = -1}, .job = spec->id, .used = true, .next = ADL_NONE};
    *ret_slot = slot;
    return 0;
}

static void set_asked(struct executor *executor, struct hand *hand, bool asked)
{
    executor->asked_count += (uint32_t)asked - (uint32_t)hand->asked;
    hand->asked = asked;
}

static void withdraw(void *self, uint32_t slot)
{
    struct executor *executor = self;
    struct hand *hand = &executor->slots[slot];
    set_asked(executor, hand, false);
    adl_task_close(&hand->task);
    *hand = (struct hand){.task = {.fd = -1}, .next = executor->free_slot};
    executor->free_slot = slot;
}

/* Has the task's descriptor announced, or, without one, has it asked now and then. */
static void attend(struct executor *executor, uint32_t slot)
{
    struct hand *hand = &executor->slots[slot];
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = slot};
    bool announced = hand->task.fd >= 0 && epoll_ctl(executor->epoll, EPOLL_CTL_ADD, hand->task.fd, &event) == 0;
    if (!announced && hand->task.fd >= 0 && errno == EEXIST)
        announced = epoll_ctl(executor->epoll, EPOLL_CTL_MOD, hand->task.fd, &event) == 0;
    set_asked(executor, hand, !announced);
}

/* ---- launching ---- */

/* A disk that is full or a machine with too many processes is tried again; else the failure is reported as the end of
 * the job. */
static void launch_failed(struct executor *executor, struct hand *hand, int status, const char *text)
{
    hand->retry = status == ADL_EIO && hand->tries++ < TRIES && !hand->stopped;
    hand->failed = !hand->retry;
    if (!hand->stopped)
        snprintf(hand->text, sizeof hand->text, "%s", text);
    set_asked(executor, hand, true);
}

static void launch(struct executor *executor, uint32_t slot)
{
    struct adl_error err = {""};
    struct hand *hand = &executor->slots[slot];
    adl_task_close(&hand->task);
    hand->retry = false;
    const int status = adl_job_task_launch(&executor->config, hand->it, &hand->task, &err);
    if (status == 0)
        attend(executor, slot);
    else
        launch_failed(executor, hand, status, err.text);
    if (hand->failed)
        executor->looked_us = 0;
}

static void prepare(struct hand *hand, const struct adl_job_entry *job)
{
    hand->it = job;
    hand->attempt = job->attempts;
    hand->tries = 0;
    hand->requeue = hand->failed = hand->unknown = hand->retry = hand->stopped = hand->untold = false;
    hand->again = job->spec.flags & ADL_JOB_PREEMPTIBLE;
    hand->saves_on_stop = job->spec.stop_loss == ADL_LOSS_NOTHING;
}

/* A decision may start a thousand, at a millisecond or more each. They stand in line, and poll launches one at a time:
 * in between, people get their answers. */
static int start(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    (void)err, (void)gpus;
    struct executor *executor = self;
    prepare(&executor->slots[slot], job);
    executor->slots[slot].wanted = true;
    executor->slots[slot].next = ADL_NONE;
    *(executor->wanted.first == ADL_NONE ? &executor->wanted.first : &executor->slots[executor->wanted.last].next) =
        slot;
    executor->wanted.last = slot;
    return 0;
}

/* Takes a slot out of the line and launches its job; most often it is the first. */
static void launch_wanted(struct executor *executor, uint32_t slot)
{
    struct hand *hand = &executor->slots[slot];
    uint32_t *at = &executor->wanted.first, before = ADL_NONE;
    for (; *at != slot; at = &executor->slots[*at].next)
        before = *at;
    *at = hand->next;
    if (executor->wanted.last == slot)
        executor->wanted.last = before;
    hand->wanted = false;
    launch(executor, slot);
}

static void launch_some(struct executor *executor)
{
    const int64_t until_us = adl_clock_boot_us() + LAUNCH_US;
    struct pollfd urgent = {executor->config.urgent_fd, POLLIN, 0};
    while (executor->wanted.first != ADL_NONE) {
        launch_wanted(executor, executor->wanted.first);
        if (adl_clock_boot_us() >= until_us || poll(&urgent, 1, 0) > 0)
            return;
    }
}

static bool adopt(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus)
{
    struct adl_error err;
    struct executor *executor = self;
    struct hand *hand = &executor->slots[slot];
    char folder[ADL_STORE_PATH_MAX];
    prepare(hand, job);
    if (gpus) { /* begun before or not: it is wanted, and begins at most once */
        launch(executor, slot);
        return true;
    }
    adl_spool_task(executor->config.directory, job->id, job->attempts, folder, sizeof folder);
    if (adl_task_adopt(folder, NULL, &hand->task, &err) == 0) {
        attend(executor, slot);
        return true;
    }
    if (access(folder, F_OK) && errno == ENOENT)
        return false; /* it was never begun */
    hand->failed = hand->unknown = true;
    snprintf(hand->text, sizeof hand->text, "%.199s", err.text);
    set_asked(executor, hand, true);
    return true;
}

static int stop(void *self, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    (void)job;
    struct executor *executor = self;
    struct hand *hand = &executor->slots[slot];
    if (hand->wanted)
        launch_wanted(executor, slot); /* so that there is something to be stopped */
    hand->requeue = requeue;
    hand->stopped = true;
    if (!hand->failed)
        snprintf(hand->text, sizeof hand->text, "%s", reason);
    if (hand->retry) { /* it was never begun; whatever there is of it is told below that it never will be */
        hand->retry = false;
        hand->failed = !hand->task.open;
    }
    const int status = hand->task.open ? adl_task_cancel(&hand->task, reason, err) : 0;
    hand->untold = status != 0; /* again, then, until it can be */
    set_asked(executor, hand, hand->asked || hand->untold || hand->task.fd < 0);
    executor->looked_us = executor->asked_count > 0 ? 0 : executor->looked_us;
    return 0;
}

/* Power limits are set by nobody yet who would be allowed to: the drivers want privileges that this process gave up. */
static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    (void)self, (void)gpus, (void)gpu_count, (void)power_w;
    return adl_fail(err, ADL_EREFUSED, "power limits cannot be set on this machine's GPUs from here");
}

/* A slot whose end was told names its job until that is written: only now may it name another. */
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

/* By the shepherd, who was there, in the time of the service, which may not have been. */
static void tell_times(const struct executor *executor, const struct hand *hand, const struct adl_task_result *result,
                       struct adl_report *ret)
{
    if (result->end_us == 0)
        return; /* it was never begun */
    ret->end_us = adl_service_clock_of_boot(executor->config.clock, adl_task_end_boot_us(&hand->task, result));
    ret->start_us =
        result->elapsed_us > 0 ? ret->end_us - result->elapsed_us : 0; /* nobody knows of one that is lost */
}

static void tell_end(struct executor *executor, uint32_t slot, const struct adl_task_result *result,
                     struct adl_report *ret)
{
    struct hand *hand = &executor->slots[slot];
    const bool lost = result->outcome == ADL_TASK_LOST && hand->again;
    const bool evict = lost || (hand->requeue && result->outcome == ADL_TASK_CANCELLED);
    *ret = (struct adl_report){.event = {.kind = evict ? ADL_EVENT_EVICT : ADL_EVENT_FINISH, .job = slot},
                               .exit_code = (int32_t)result->exit_code,
                               .signal = (int32_t)result->signal};
    tell_times(executor, hand, result, ret);
    if (evict) {
        /* One that saves its work when it is told to stop was not told. */
        ret->event.evict.remaining = lost && hand->saves_on_stop ? 1.0 : -1;
        ret->event.evict.fault = lost;
    } else {
        ret->event.outcome.end = end_of(result);
        ret->event.outcome.run_us = result->elapsed_us;
    }
    snprintf(ret->text, sizeof ret->text, "%.120s%s%.70s", result->reason,
             result->reason[0] != '\0' && result->notes[0] != '\0' ? "; " : "", result->notes);
    set_asked(executor, hand, false);
    adl_task_close(&hand->task);
    if (!evict) {
        hand->next = executor->ended_slot;
        executor->ended_slot = slot;
    }
}

/* The end of a task that was never begun. */
static void tell_unstarted(struct executor *executor, uint32_t slot, struct adl_report *ret)
{
    struct hand *hand = &executor->slots[slot];
    const bool cancelled = hand->stopped && !hand->unknown;
    struct adl_task_result result = {.outcome = cancelled ? ADL_TASK_CANCELLED : ADL_TASK_UNSTARTED,
                                     .exit_code = cancelled ? 0 : 126};
    snprintf(result.reason, sizeof result.reason, "%s", hand->text);
    hand->failed = false;
    tell_end(executor, slot, &result, ret);
}

/* 1 and a report if the task has ended. */
static int look(struct executor *executor, uint32_t slot, struct adl_report *ret)
{
    struct adl_error err = {""};
    struct hand *hand = &executor->slots[slot];
    struct adl_task_result result = {0};
    if (hand->used && hand->retry)
        launch(executor, slot);
    if (!hand->used || (!hand->task.open && !hand->failed) || hand->retry)
        return 0;
    if (!hand->failed && hand->untold)
        hand->untold = adl_task_cancel(&hand->task, hand->text, &err) != 0;
    if (!hand->failed && adl_task_poll(&hand->task, &result, &err)) {
        set_asked(executor, hand, true); /* a disk that fails may come back */
        return 0;
    }
    if (!hand->failed && hand->task.state == ADL_TASK_WAITING)
        launch_failed(executor, hand, ADL_EIO, "its shepherd failed before it began");
    if (hand->failed) {
        tell_unstarted(executor, slot, ret);
        return 1;
    }
    if (hand->retry)
        return 0;
    if (hand->task.state == ADL_TASK_ENDED) {
        tell_end(executor, slot, &result, ret);
        return 1;
    }
    attend(executor, slot);
    set_asked(executor, hand, hand->asked || hand->untold);
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
        struct hand *hand = &executor->slots[i];
        if (hand->task.open && hand->task.state == ADL_TASK_STARTING) {
            adl_task_poll(&hand->task, &result, &err);
            attend(executor, i); /* who has just ended has no descriptor any more that would say so */
        }
        if (hand->task.open && hand->task.state == ADL_TASK_RUNNING)
            starts[task_count++] = hand->task.start;
    }
    const uint32_t seen = sample->pid_count < ADL_GPU_PIDS_MAX ? sample->pid_count : ADL_GPU_PIDS_MAX;
    for (uint32_t i = 0; i < seen; i++)
        processes[i] = (struct adl_gpu_process){.gpu = 0, .pid = sample->pids[i]};
    adl_foreign_processes_count(processes, seen, starts, task_count, &foreign, 1);
    free(starts);
    return foreign;
}

/* First the readings, then whether the GPU is to be used: 1 and a report, or 0. */
static int tell_sample(struct executor *executor, struct adl_report *ret)
{
    while (executor->sample_first < executor->sample_count) {
        const struct adl_telemetry_thread_sample *it = &executor->samples[executor->sample_first];
        if (!executor->sample_told) {
            executor->sample_told = true;
            *ret = (struct adl_report){.event = {.kind = ADL_EVENT_TELEMETRY, .gpu = it->gpu},
                                       .memory_used_mib = it->sample.memory_used_mib,
                                       .energy_j = it->sample.energy_j};
            ret->event.telemetry = it->sample.telemetry;
            return 1;
        }
        executor->sample_told = false;
        executor->sample_first++;
        const uint32_t foreign = it->sample.lost ? 0 : count_foreign(executor, &it->sample);
        const bool down = it->sample.lost || foreign > 0;
        if (down == executor->down[it->gpu])
            continue;
        executor->down[it->gpu] = down;
        *ret = (struct adl_report){.event = {.kind = down ? ADL_EVENT_GPU_DOWN : ADL_EVENT_GPU_UP, .gpu = it->gpu},
                                   .foreign = foreign};
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
    executor->sample_told = false;
    executor->sample_count = adl_telemetry_thread_take(executor->config.watch, executor->samples,
                                                       executor->config.inventory->scenario.cluster.gpu_count);
}

/* ---- the interface ---- */

static int poll_asked(struct executor *executor, int64_t now_us, struct adl_report *ret)
{
    if (executor->asked_count == 0 || (executor->looked_us > 0 && now_us < executor->looked_us + LOOK_US))
        return 0;
    for (uint32_t slot = 0; slot < executor->slot_count; slot++)
        if (executor->slots[slot].asked && look(executor, slot, ret))
            return 1;
    executor->looked_us = now_us;
    return 0;
}

static int poll_executor(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    (void)err;
    struct executor *executor = self;
    if (tell_sample(executor, ret))
        return 1;
    for (;;) {
        while (executor->ready_first < executor->ready_count) {
            const uint32_t tag = executor->ready[executor->ready_first++].data.u32;
            if (tag == WATCH_TAG) {
                take_samples(executor);
                if (tell_sample(executor, ret))
                    return 1;
            } else if (look(executor, tag, ret)) {
                return 1;
            }
        }
        const int ready = epoll_wait(executor->epoll, executor->ready, READY_MAX, 0);
        executor->ready_first = 0;
        executor->ready_count = ready > 0 ? (uint32_t)ready : 0;
        if (ready <= 0) {
            launch_some(executor);
            return poll_asked(executor, now_us, ret);
        }
    }
}

static int64_t due_us(void *self)
{
    const struct executor *executor = self;
    if (executor->sample_first < executor->sample_count || executor->ready_first < executor->ready_count ||
        executor->wanted.first != ADL_NONE)
        return 0;
    return executor->asked_count > 0 ? executor->looked_us + LOOK_US : INT64_MAX;
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
    executor->config.watch = NULL; /* the caller's, until all else has come to be */
    executor->free_slot = executor->ended_slot = executor->wanted.first = ADL_NONE;
    executor->epoll = epoll_create1(EPOLL_CLOEXEC);
    const uint32_t gpus = config->inventory->scenario.cluster.gpu_count;
    executor->samples = calloc(gpus + 1, sizeof *executor->samples);
    executor->down = calloc(gpus + 1, sizeof *executor->down);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = WATCH_TAG};
    int status = 0;
    if (executor->epoll < 0 || !executor->samples || !executor->down)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for running jobs");
    if (status == 0)
        status = adl_spool_create(config->directory, err);
    if (status == 0)
        adl_spool_sweep(config->directory, config->store);
    if (status == 0 && config->watch &&
        epoll_ctl(executor->epoll, EPOLL_CTL_ADD, adl_telemetry_thread_fd(config->watch), &event))
        status = adl_fail(err, ADL_EIO, "cannot watch telemetry: %s", strerror(errno));
    if (status) {
        destroy(executor);
        return status;
    }
    executor->config.watch = config->watch;
    *ret = (struct adl_executor){&ops, executor};
    return 0;
}
