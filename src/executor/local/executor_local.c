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
#define LAUNCH_US 3000 /* that are spent on launching before people's wishes are looked at again */
#define TRIES                                                                                                          \
    120 /* of a launch that fails because of the machine, not the job: a minute, in which disks are cleared            \
         */

struct hand {
    struct adl_task task;            /* open: it was launched */
    const struct adl_roster_job *it; /* once it is started */
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

struct hands {
    struct adl_hands_local_config config;
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
    struct adl_watch_sample *samples; /* [gpus] taken and not yet reported */
    uint32_t sample_first, sample_count;
    bool sample_told; /* of the first of these: its telemetry; its state is still to be told */
    bool *down;       /* [gpu] as reported */
};

static void destroy(void *self)
{
    struct hands *hands = self;
    if (!hands)
        return;
    for (uint32_t i = 0; i < hands->slot_count; i++)
        adl_task_close(&hands->slots[i].task);
    adl_watch_destroy(hands->config.watch);
    if (hands->epoll >= 0)
        close(hands->epoll);
    free(hands->slots);
    free(hands->samples);
    free(hands->down);
    free(hands);
}

/* ---- slots ---- */

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct hands *hands = self;
    uint32_t slot = hands->free_slot;
    if (slot != ADL_NONE) {
        hands->free_slot = hands->slots[slot].next;
    } else {
        if (adl_grow((void **)&hands->slots, &hands->slot_capacity, (size_t)hands->slot_count + 1,
                     sizeof *hands->slots))
            return adl_fail(err, ADL_ENOMEM, "out of memory for one more job");
        slot = hands->slot_count++;
    }
    hands->slots[slot] = (struct hand){.task = {.fd = -1}, .job = spec->id, .used = true, .next = ADL_NONE};
    *ret_slot = slot;
    return 0;
}

static void set_asked(struct hands *hands, struct hand *hand, bool asked)
{
    hands->asked_count += (uint32_t)asked - (uint32_t)hand->asked;
    hand->asked = asked;
}

static void withdraw(void *self, uint32_t slot)
{
    struct hands *hands = self;
    struct hand *hand = &hands->slots[slot];
    set_asked(hands, hand, false);
    adl_task_close(&hand->task);
    *hand = (struct hand){.task = {.fd = -1}, .next = hands->free_slot};
    hands->free_slot = slot;
}

/* Has the task's descriptor announced, or, without one, has it asked now and then. */
static void attend(struct hands *hands, uint32_t slot)
{
    struct hand *hand = &hands->slots[slot];
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = slot};
    bool announced = hand->task.fd >= 0 && epoll_ctl(hands->epoll, EPOLL_CTL_ADD, hand->task.fd, &event) == 0;
    if (!announced && hand->task.fd >= 0 && errno == EEXIST)
        announced = epoll_ctl(hands->epoll, EPOLL_CTL_MOD, hand->task.fd, &event) == 0;
    set_asked(hands, hand, !announced);
}

/* ---- launching ---- */

/* A disk that is full or a machine with too many processes is tried again; else the failure is reported as the end of
 * the job. */
static void launch_failed(struct hands *hands, struct hand *hand, int status, const char *text)
{
    hand->retry = status == ADL_EIO && hand->tries++ < TRIES && !hand->stopped;
    hand->failed = !hand->retry;
    if (!hand->stopped)
        snprintf(hand->text, sizeof hand->text, "%s", text);
    set_asked(hands, hand, true);
}

static void launch(struct hands *hands, uint32_t slot)
{
    struct adl_error err = {""};
    struct hand *hand = &hands->slots[slot];
    adl_task_close(&hand->task);
    hand->retry = false;
    const int status = adl_job_task_launch(&hands->config, hand->it, &hand->task, &err);
    if (status == 0)
        attend(hands, slot);
    else
        launch_failed(hands, hand, status, err.text);
    if (hand->failed)
        hands->looked_us = 0;
}

static void prepare(struct hand *hand, const struct adl_roster_job *job)
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
static int start(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    (void)err, (void)gpus;
    struct hands *hands = self;
    prepare(&hands->slots[slot], job);
    hands->slots[slot].wanted = true;
    hands->slots[slot].next = ADL_NONE;
    *(hands->wanted.first == ADL_NONE ? &hands->wanted.first : &hands->slots[hands->wanted.last].next) = slot;
    hands->wanted.last = slot;
    return 0;
}

/* Takes a slot out of the line and launches its job; most often it is the first. */
static void launch_wanted(struct hands *hands, uint32_t slot)
{
    struct hand *hand = &hands->slots[slot];
    uint32_t *at = &hands->wanted.first, before = ADL_NONE;
    for (; *at != slot; at = &hands->slots[*at].next)
        before = *at;
    *at = hand->next;
    if (hands->wanted.last == slot)
        hands->wanted.last = before;
    hand->wanted = false;
    launch(hands, slot);
}

static void launch_some(struct hands *hands)
{
    const int64_t until_us = adl_clock_boot_us() + LAUNCH_US;
    struct pollfd urgent = {hands->config.urgent_fd, POLLIN, 0};
    while (hands->wanted.first != ADL_NONE) {
        launch_wanted(hands, hands->wanted.first);
        if (adl_clock_boot_us() >= until_us || poll(&urgent, 1, 0) > 0)
            return;
    }
}

static bool adopt(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus)
{
    struct adl_error err;
    struct hands *hands = self;
    struct hand *hand = &hands->slots[slot];
    char folder[ADL_STORE_PATH_MAX];
    prepare(hand, job);
    if (gpus) { /* begun before or not: it is wanted, and begins at most once */
        launch(hands, slot);
        return true;
    }
    adl_traces_task(hands->config.directory, job->id, job->attempts, folder, sizeof folder);
    if (adl_task_adopt(folder, NULL, &hand->task, &err) == 0) {
        attend(hands, slot);
        return true;
    }
    if (access(folder, F_OK) && errno == ENOENT)
        return false; /* it was never begun */
    hand->failed = hand->unknown = true;
    snprintf(hand->text, sizeof hand->text, "%.199s", err.text);
    set_asked(hands, hand, true);
    return true;
}

static int stop(void *self, const struct adl_roster_job *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    (void)job;
    struct hands *hands = self;
    struct hand *hand = &hands->slots[slot];
    if (hand->wanted)
        launch_wanted(hands, slot); /* so that there is something to be stopped */
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
    set_asked(hands, hand, hand->asked || hand->untold || hand->task.fd < 0);
    hands->looked_us = hands->asked_count > 0 ? 0 : hands->looked_us;
    return 0;
}

/* Power limits are set by nobody yet who would be allowed to: the drivers want privileges that this process gave up. */
static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    (void)self, (void)gpus, (void)gpu_count, (void)power_w;
    return adl_fail(err, ADL_EREFUSED, "power limits cannot be set on this machine's GPUs from here");
}

/* A slot whose end was told names its job until that is written: only now may it name another. */
static void release(struct hands *hands, uint64_t job)
{
    for (uint32_t *at = &hands->ended_slot; *at != ADL_NONE; at = &hands->slots[*at].next) {
        const uint32_t slot = *at;
        if (hands->slots[slot].job != job)
            continue;
        *at = hands->slots[slot].next;
        withdraw(hands, slot);
        return;
    }
}

static void forget(void *self, uint64_t job, uint32_t attempt)
{
    struct hands *hands = self;
    adl_traces_remove(hands->config.directory, job, attempt);
    release(hands, job);
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
static void tell_times(const struct hands *hands, const struct hand *hand, const struct adl_task_result *result,
                       struct adl_report *ret)
{
    if (result->end_us == 0)
        return; /* it was never begun */
    ret->end_us = adl_service_clock_of_boot(hands->config.clock, adl_task_end_boot_us(&hand->task, result));
    ret->start_us =
        result->elapsed_us > 0 ? ret->end_us - result->elapsed_us : 0; /* nobody knows of one that is lost */
}

static void tell_end(struct hands *hands, uint32_t slot, const struct adl_task_result *result, struct adl_report *ret)
{
    struct hand *hand = &hands->slots[slot];
    const bool lost = result->outcome == ADL_TASK_LOST && hand->again;
    const bool evict = lost || (hand->requeue && result->outcome == ADL_TASK_CANCELLED);
    *ret = (struct adl_report){.event = {.kind = evict ? ADL_EVENT_EVICT : ADL_EVENT_FINISH, .job = slot},
                               .exit_code = (int32_t)result->exit_code,
                               .signal = (int32_t)result->signal};
    tell_times(hands, hand, result, ret);
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
    set_asked(hands, hand, false);
    adl_task_close(&hand->task);
    if (!evict) {
        hand->next = hands->ended_slot;
        hands->ended_slot = slot;
    }
}

/* The end of a task that was never begun. */
static void tell_unstarted(struct hands *hands, uint32_t slot, struct adl_report *ret)
{
    struct hand *hand = &hands->slots[slot];
    const bool cancelled = hand->stopped && !hand->unknown;
    struct adl_task_result result = {.outcome = cancelled ? ADL_TASK_CANCELLED : ADL_TASK_UNSTARTED,
                                     .exit_code = cancelled ? 0 : 126};
    snprintf(result.reason, sizeof result.reason, "%s", hand->text);
    hand->failed = false;
    tell_end(hands, slot, &result, ret);
}

/* 1 and a report if the task has ended. */
static int look(struct hands *hands, uint32_t slot, struct adl_report *ret)
{
    struct adl_error err = {""};
    struct hand *hand = &hands->slots[slot];
    struct adl_task_result result = {0};
    if (hand->used && hand->retry)
        launch(hands, slot);
    if (!hand->used || (!hand->task.open && !hand->failed) || hand->retry)
        return 0;
    if (!hand->failed && hand->untold)
        hand->untold = adl_task_cancel(&hand->task, hand->text, &err) != 0;
    if (!hand->failed && adl_task_poll(&hand->task, &result, &err)) {
        set_asked(hands, hand, true); /* a disk that fails may come back */
        return 0;
    }
    if (!hand->failed && hand->task.state == ADL_TASK_WAITING)
        launch_failed(hands, hand, ADL_EIO, "its shepherd failed before it began");
    if (hand->failed) {
        tell_unstarted(hands, slot, ret);
        return 1;
    }
    if (hand->retry)
        return 0;
    if (hand->task.state == ADL_TASK_ENDED) {
        tell_end(hands, slot, &result, ret);
        return 1;
    }
    attend(hands, slot);
    set_asked(hands, hand, hand->asked || hand->untold);
    return 0;
}

/* ---- telemetry ---- */

/* Processes on a GPU that belong to none of the tasks. */
static uint32_t count_foreign(struct hands *hands, const struct adl_gpu_sample *sample)
{
    struct adl_task_result result;
    struct adl_gpu_process processes[ADL_GPU_PIDS_MAX];
    struct adl_error err;
    if (!hands->config.avoid_foreign || !sample->pids_known || sample->pid_count == 0)
        return 0;
    struct adl_task_start *starts = calloc((size_t)hands->slot_count + 1, sizeof *starts);
    uint32_t task_count = 0, foreign = 0;
    if (!starts)
        return 0;
    for (uint32_t i = 0; i < hands->slot_count; i++) {
        struct hand *hand = &hands->slots[i];
        if (hand->task.open && hand->task.state == ADL_TASK_STARTING) {
            adl_task_poll(&hand->task, &result, &err);
            attend(hands, i); /* who has just ended has no descriptor any more that would say so */
        }
        if (hand->task.open && hand->task.state == ADL_TASK_RUNNING)
            starts[task_count++] = hand->task.start;
    }
    const uint32_t seen = sample->pid_count < ADL_GPU_PIDS_MAX ? sample->pid_count : ADL_GPU_PIDS_MAX;
    for (uint32_t i = 0; i < seen; i++)
        processes[i] = (struct adl_gpu_process){.gpu = 0, .pid = sample->pids[i]};
    adl_occupied_count(processes, seen, starts, task_count, &foreign, 1);
    free(starts);
    return foreign;
}

/* First the readings, then whether the GPU is to be used: 1 and a report, or 0. */
static int tell_sample(struct hands *hands, struct adl_report *ret)
{
    while (hands->sample_first < hands->sample_count) {
        const struct adl_watch_sample *it = &hands->samples[hands->sample_first];
        if (!hands->sample_told) {
            hands->sample_told = true;
            *ret = (struct adl_report){.event = {.kind = ADL_EVENT_TELEMETRY, .gpu = it->gpu},
                                       .memory_used_mib = it->sample.memory_used_mib,
                                       .energy_j = it->sample.energy_j};
            ret->event.telemetry = it->sample.telemetry;
            return 1;
        }
        hands->sample_told = false;
        hands->sample_first++;
        const uint32_t foreign = it->sample.lost ? 0 : count_foreign(hands, &it->sample);
        const bool down = it->sample.lost || foreign > 0;
        if (down == hands->down[it->gpu])
            continue;
        hands->down[it->gpu] = down;
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

static void take_samples(struct hands *hands)
{
    hands->sample_first = 0;
    hands->sample_told = false;
    hands->sample_count =
        adl_watch_take(hands->config.watch, hands->samples, hands->config.inventory->scenario.cluster.gpu_count);
}

/* ---- the interface ---- */

static int poll_asked(struct hands *hands, int64_t now_us, struct adl_report *ret)
{
    if (hands->asked_count == 0 || (hands->looked_us > 0 && now_us < hands->looked_us + LOOK_US))
        return 0;
    for (uint32_t slot = 0; slot < hands->slot_count; slot++)
        if (hands->slots[slot].asked && look(hands, slot, ret))
            return 1;
    hands->looked_us = now_us;
    return 0;
}

static int poll_hands(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    (void)err;
    struct hands *hands = self;
    if (tell_sample(hands, ret))
        return 1;
    for (;;) {
        while (hands->ready_first < hands->ready_count) {
            const uint32_t tag = hands->ready[hands->ready_first++].data.u32;
            if (tag == WATCH_TAG) {
                take_samples(hands);
                if (tell_sample(hands, ret))
                    return 1;
            } else if (look(hands, tag, ret)) {
                return 1;
            }
        }
        const int ready = epoll_wait(hands->epoll, hands->ready, READY_MAX, 0);
        hands->ready_first = 0;
        hands->ready_count = ready > 0 ? (uint32_t)ready : 0;
        if (ready <= 0) {
            launch_some(hands);
            return poll_asked(hands, now_us, ret);
        }
    }
}

static int64_t due_us(void *self)
{
    const struct hands *hands = self;
    if (hands->sample_first < hands->sample_count || hands->ready_first < hands->ready_count ||
        hands->wanted.first != ADL_NONE)
        return 0;
    return hands->asked_count > 0 ? hands->looked_us + LOOK_US : INT64_MAX;
}

static int descriptor(void *self)
{
    const struct hands *hands = self;
    return hands->epoll;
}

static const struct adl_hands_ops ops = {
    .name = "local",
    .destroy = destroy,
    .admit = admit,
    .withdraw = withdraw,
    .start = start,
    .stop = stop,
    .cap = cap,
    .adopt = adopt,
    .forget = forget,
    .poll = poll_hands,
    .due_us = due_us,
    .fd = descriptor,
};

int adl_hands_local_create(const struct adl_hands_local_config *config, struct adl_hands *ret, struct adl_error *err)
{
    struct hands *hands = calloc(1, sizeof *hands);
    if (!hands)
        return adl_fail(err, ADL_ENOMEM, "out of memory for running jobs");
    hands->config = *config;
    hands->config.watch = NULL; /* the caller's, until all else has come to be */
    hands->free_slot = hands->ended_slot = hands->wanted.first = ADL_NONE;
    hands->epoll = epoll_create1(EPOLL_CLOEXEC);
    const uint32_t gpus = config->inventory->scenario.cluster.gpu_count;
    hands->samples = calloc(gpus + 1, sizeof *hands->samples);
    hands->down = calloc(gpus + 1, sizeof *hands->down);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = WATCH_TAG};
    int status = 0;
    if (hands->epoll < 0 || !hands->samples || !hands->down)
        status = adl_fail(err, ADL_ENOMEM, "out of memory for running jobs");
    if (status == 0)
        status = adl_traces_create(config->directory, err);
    if (status == 0)
        adl_traces_sweep(config->directory, config->store);
    if (status == 0 && config->watch && epoll_ctl(hands->epoll, EPOLL_CTL_ADD, adl_watch_fd(config->watch), &event))
        status = adl_fail(err, ADL_EIO, "cannot watch telemetry: %s", strerror(errno));
    if (status) {
        destroy(hands);
        return status;
    }
    hands->config.watch = config->watch;
    *ret = (struct adl_hands){&ops, hands};
    return 0;
}
