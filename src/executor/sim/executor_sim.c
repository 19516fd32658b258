#include "executor/sim/executor_sim.h"

#include "base/index.h"
#include "sim/world_sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct twin {
    const struct adl_inventory *inventory;
    struct adl_world_sim *world;
    int64_t start_us;
    uint64_t *jobs; /* [slot] the number of the job that was started there last */
    size_t job_capacity;
    uint32_t *ended; /* slots of jobs whose end was reported and which are not forgotten yet */
    size_t ended_capacity;
    uint32_t ended_count;
};

static void destroy(void *self)
{
    struct twin *twin = self;
    if (!twin)
        return;
    adl_world_sim_destroy(twin->world);
    free(twin->jobs);
    free(twin->ended);
    free(twin);
}

/* Speed of a class on one GPU of the type; if the scenario has none, its slowest. */
static double speed_on(const struct adl_job_class *class, uint32_t type, uint32_t type_count)
{
    double slowest = 0;
    if (class->steps_per_s[type] > 0)
        return class->steps_per_s[type];
    for (uint32_t t = 0; t < type_count; t++)
        if (class->steps_per_s[t] > 0 && (slowest <= 0 || class->steps_per_s[t] < slowest))
            slowest = class->steps_per_s[t];
    return slowest > 0 ? slowest : 1;
}

static void make_truth(const struct twin *twin, const struct adl_job_spec *spec, struct adl_true_job *ret)
{
    const struct adl_scenario *scenario = &twin->inventory->scenario;
    const uint32_t types = scenario->cluster.type_count;
    const uint16_t class_index = spec->class_index < scenario->class_count ? spec->class_index : 0;
    const struct adl_job_class *class = &scenario->classes[class_index];
    double slowest = 0;
    *ret = (struct adl_true_job){.spec = *spec, .submit_us = adl_world_sim_now_us(twin->world), .ideal_us = INT64_MAX};
    ret->spec.class_index = class_index;
    for (uint32_t t = 0; t < types; t++) {
        const double speed = speed_on(class, t, types);
        if (spec->types >> t & 1 && (slowest <= 0 || speed < slowest))
            slowest = speed;
    }
    const double whole_us = ADL_TWIN_SHARE_OF_LIMIT * (double)spec->limit_us;
    for (uint32_t t = 0; t < types; t++) {
        const double there_us = whole_us * (slowest > 0 ? slowest : 1) / speed_on(class, t, types);
        ret->runtime_us[t] = there_us < 1 ? 1 : (int64_t)there_us;
        if (spec->types >> t & 1 && ret->runtime_us[t] < ret->ideal_us)
            ret->ideal_us = ret->runtime_us[t];
    }
    ret->steps = whole_us * 1e-6 * slowest * spec->gpus;
}

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct twin *twin = self;
    struct adl_true_job truth;
    make_truth(twin, spec, &truth);
    return adl_world_sim_inject(twin->world, &truth, ret_slot) ? adl_fail(err, ADL_ENOMEM, "out of memory for a job")
                                                               : 0;
}

static void withdraw(void *self, uint32_t slot)
{
    struct twin *twin = self;
    adl_world_sim_withdraw(twin->world, slot);
}

static int start(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    struct twin *twin = self;
    if (adl_grow((void **)&twin->jobs, &twin->job_capacity, (size_t)slot + 1, sizeof *twin->jobs) ||
        adl_grow((void **)&twin->ended, &twin->ended_capacity, (size_t)slot + 1, sizeof *twin->ended))
        return adl_fail(err, ADL_ENOMEM, "out of memory to start job %llu", (unsigned long long)job->id);
    twin->jobs[slot] = job->id;
    return adl_world_sim_start(twin->world, slot, gpus, job->spec.gpus, err);
}

static int stop(void *self, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    struct twin *twin = self;
    (void)job;
    (void)reason;
    return adl_world_sim_stop(twin->world, slot, requeue, err);
}

static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    struct twin *twin = self;
    for (uint32_t first = 0, count; first < gpu_count; first += count) {
        count = gpu_count - first < UINT16_MAX ? gpu_count - first : UINT16_MAX;
        const struct adl_command command = {.kind = ADL_COMMAND_CAP, .gpu_count = (uint16_t)count, .power_w = power_w};
        const int status = adl_world_sim_ops.submit(twin->world, &command, gpus + first, err);
        if (status)
            return status;
    }
    return 0;
}

/* The simulated cluster does not survive a restart. */
static bool adopt(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus)
{
    (void)self;
    (void)job;
    (void)slot;
    (void)gpus;
    return false;
}

static void forget(void *self, uint64_t job, uint32_t attempt)
{
    struct twin *twin = self;
    (void)attempt;
    for (uint32_t i = 0; i < twin->ended_count; i++) {
        const uint32_t slot = twin->ended[i];
        if (twin->jobs[slot] != job)
            continue;
        adl_world_sim_release(twin->world, slot);
        twin->ended[i] = twin->ended[--twin->ended_count];
        return;
    }
}

/* False: an event that is not reported. */
static bool report_event(struct twin *twin, const struct adl_event *event, struct adl_report *ret)
{
    *ret = (struct adl_report){.time_us = twin->start_us + event->time_us, .slot = event->job, .gpu = event->gpu};
    switch (event->kind) {
    case ADL_EVENT_SUBMIT:
        ret->kind = ADL_REPORT_GENERATED;
        ret->submit.spec = event->submit.spec;
        return true;
    case ADL_EVENT_FINISH:
        ret->kind = ADL_REPORT_ENDED;
        ret->outcome = event->outcome;
        ret->start_us = twin->start_us + adl_world_sim_start_us(twin->world, event->job);
        ret->signal = event->outcome.end == ADL_END_COMPLETED ? 0 : SIGTERM;
        twin->ended[twin->ended_count++] = event->job;
        return true;
    case ADL_EVENT_EVICT:
        ret->kind = ADL_REPORT_REQUEUED;
        ret->requeue.remaining = event->evict.remaining;
        ret->requeue.fault = event->evict.fault;
        ret->start_us = twin->start_us + adl_world_sim_start_us(twin->world, event->job);
        snprintf(ret->text, sizeof ret->text, "%s", event->evict.fault ? "one of its GPUs failed" : "");
        return true;
    case ADL_EVENT_PROGRESS:
        ret->kind = ADL_REPORT_PROGRESS;
        ret->steps_per_s = event->steps_per_s;
        ret->steps_left = event->steps_left;
        return true;
    case ADL_EVENT_GPU_DOWN:
        ret->kind = ADL_REPORT_GPU_DOWN;
        snprintf(ret->text, sizeof ret->text, "it failed, in the simulation");
        return true;
    case ADL_EVENT_GPU_UP:
        ret->kind = ADL_REPORT_GPU_UP;
        return true;
    case ADL_EVENT_TELEMETRY:
        ret->kind = ADL_REPORT_SAMPLE;
        ret->sample.readings = event->telemetry;
        ret->sample.memory_used_mib = adl_world_sim_memory_mib(twin->world, event->gpu);
        ret->sample.energy_j = adl_world_sim_energy_j(twin->world, event->gpu);
        return true;
    case ADL_EVENT_METER:
        ret->kind = ADL_REPORT_METER;
        ret->energy_j = event->energy_j;
        return true;
    case ADL_EVENT_POWER_LIMIT:
        ret->kind = ADL_REPORT_POWER_LIMIT;
        ret->limit_w = event->limit_w;
        return true;
    case ADL_EVENT_VERSION:
        ret->kind = ADL_REPORT_VERSION;
        memcpy(ret->version, event->version, sizeof ret->version);
        return true;
    default:
        return false;
    }
}

static int poll(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    struct twin *twin = self;
    struct adl_event event = {0};
    int status;
    do
        status = adl_world_sim_advance(twin->world, now_us - twin->start_us, &event, err);
    while (status > 0 && !report_event(twin, &event, ret));
    return status;
}

static int64_t due_us(void *self)
{
    struct twin *twin = self;
    const int64_t next_us = adl_world_sim_next_us(twin->world);
    return next_us > INT64_MAX - twin->start_us ? INT64_MAX : twin->start_us + next_us;
}

static int fd(void *self)
{
    (void)self;
    return -1;
}

static const struct adl_executor_ops ops = {.name = "sim",
                                            .reports_speed = true,
                                            .destroy = destroy,
                                            .admit = admit,
                                            .withdraw = withdraw,
                                            .start = start,
                                            .stop = stop,
                                            .cap = cap,
                                            .adopt = adopt,
                                            .forget = forget,
                                            .poll = poll,
                                            .due_us = due_us,
                                            .fd = fd};

int adl_executor_sim_create(const struct adl_inventory *inventory, uint64_t seed, int64_t start_us,
                            struct adl_executor *ret, struct adl_error *err)
{
    struct twin *twin = calloc(1, sizeof *twin);
    if (!twin)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the twin");
    twin->inventory = inventory;
    twin->start_us = start_us;
    const int status = adl_world_sim_create(&inventory->scenario, seed, ADL_REGIME_DECLARED, &twin->world, err);
    if (status) {
        destroy(twin);
        return status;
    }
    *ret = (struct adl_executor){.ops = &ops, .self = twin};
    return 0;
}
