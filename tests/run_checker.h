/* run_checker: a second opinion on a run. It watches events and commands, keeps its own books from the
 * scenario and the generated jobs alone, and objects to whatever may not be. It shares no table and no code
 * with state or metrics. */
#ifndef ADLRO_TESTS_RUN_CHECKER_H
#define ADLRO_TESTS_RUN_CHECKER_H

#include "engine/engine.h"
#include "predict/power.h"
#include "sim/drift.h"
#include "sim/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum checked_phase { CHECK_ABSENT, CHECK_PENDING, CHECK_RUNNING, CHECK_STOPPING, CHECK_DONE };

struct checked_job {
    struct adl_true_job truth;
    enum checked_phase phase;
    int64_t submit_us, start_us, stop_us, held_us, jct_us;
    int64_t resume_us; /* this attempt: when its checkpoint is read and it works */
    uint32_t attempts;
    uint16_t gpu_count;
    bool failed_now; /* evicted by a fault at this instant: one of its GPUs must go down */
    uint32_t gpus[64];
};

struct checked_gpu {
    uint32_t count;
    uint64_t ids[2];
    bool down;
    double cap_w;
};

struct checker {
    const struct adl_scenario *scenario;
    struct checked_job *jobs; /* [id - 1] */
    uint64_t job_count, arrived, done, evictions, timeouts;
    uint64_t *slot_id; /* [slot] 0 = free */
    size_t slot_capacity;
    struct checked_gpu gpus[256];
    int64_t now_us, last_end_us;
    bool any_event, more_before;
    /* In whole microseconds, so that sums are exact. */
    int64_t jct_us, idle_us, busy_us, busy_at_last_end_us;
    double job_energy_j, idle_energy_j, meter_j;
    double drawn_j; /* what GPUs must have drawn, by their jobs, phases and caps */
    uint64_t caps;
    uint32_t meters;
    uint64_t sla_jobs, sla_met;
    double wait_s, slowdown, ideal_gpu_s, held_gpu_s;
    char wrong[300];
};

#define CHECK_THAT(checker, condition, ...)                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            snprintf((checker)->wrong, sizeof(checker)->wrong, __VA_ARGS__);                                           \
            return ADL_EINVAL;                                                                                         \
        }                                                                                                              \
    } while (0)

static inline int checker_start(struct checker *checker, const struct adl_scenario *scenario, uint64_t seed)
{
    struct adl_workload_stream stream;
    *checker = (struct checker){.scenario = scenario, .job_count = scenario->workload.jobs};
    checker->jobs = calloc(checker->job_count, sizeof *checker->jobs);
    if (!checker->jobs)
        return ADL_ENOMEM;
    if (adl_workload_begin(&stream, scenario, seed))
        return ADL_ENOMEM;
    for (uint64_t i = 0; i < checker->job_count; i++)
        adl_workload_next(&stream, &checker->jobs[i].truth);
    adl_workload_end(&stream);
    return 0;
}

static inline void checker_clear(struct checker *checker)
{
    free(checker->jobs);
    free(checker->slot_id);
}

static inline struct checked_job *checked_at(struct checker *checker, uint32_t slot)
{
    if (slot >= checker->slot_capacity || checker->slot_id[slot] == 0)
        return NULL;
    return &checker->jobs[checker->slot_id[slot] - 1];
}

/* What a held GPU drew from now to until_us, in the order of its jobs' phases: one that reads or writes its checkpoint
 * does not load it. */
static inline double checked_draw_j(const struct checker *checker, uint32_t g, int64_t until_us)
{
    const struct adl_cluster *cluster = &checker->scenario->cluster;
    const struct checked_gpu *gpu = &checker->gpus[g];
    double drawn_j = 0;
    for (int64_t from_us = checker->now_us, to_us; from_us < until_us; from_us = to_us) {
        double load = 0;
        to_us = until_us;
        for (uint32_t i = 0; i < gpu->count; i++) {
            const struct checked_job *job = &checker->jobs[gpu->ids[i] - 1];
            if (job->phase == CHECK_STOPPING)
                continue;
            if (job->resume_us <= from_us)
                load += checker->scenario->classes[job->truth.spec.class_index].activity;
            else if (job->resume_us < to_us)
                to_us = job->resume_us;
        }
        drawn_j += adl_power_draw_w(&cluster->types[adl_gpu_type_of(cluster, g)], load, gpu->cap_w) *
                   (double)(to_us - from_us) * 1e-6;
    }
    return drawn_j;
}

/* What passed since the last event: GPU time by use, and the energy of the GPUs that nobody held. */
static inline void checker_pass(struct checker *checker, int64_t until_us)
{
    const struct adl_cluster *cluster = &checker->scenario->cluster;
    const int64_t passed_us = until_us - checker->now_us;
    for (uint32_t g = 0; passed_us > 0 && g < cluster->gpu_count; g++) {
        const struct checked_gpu *gpu = &checker->gpus[g];
        if (gpu->count > 0) {
            checker->busy_us += passed_us;
            checker->drawn_j += checked_draw_j(checker, g, until_us);
        } else if (!gpu->down) {
            checker->idle_us += passed_us;
            checker->idle_energy_j += cluster->types[adl_gpu_type_of(cluster, g)].idle_w * (double)passed_us * 1e-6;
        }
    }
    checker->now_us = until_us;
}

static inline int check_submit(struct checker *checker, const struct adl_event *event)
{
    const struct adl_job_spec *spec = event->submit.spec;
    CHECK_THAT(checker, spec->id >= 1 && spec->id <= checker->job_count, "job %llu was never generated",
               (unsigned long long)spec->id);
    struct checked_job *job = &checker->jobs[spec->id - 1];
    CHECK_THAT(checker, job->phase == CHECK_ABSENT, "job %llu came twice", (unsigned long long)spec->id);
    CHECK_THAT(checker, event->time_us == job->truth.submit_us, "job %llu came at the wrong time",
               (unsigned long long)spec->id);
    CHECK_THAT(checker, !checked_at(checker, event->job), "slot %u was given to two live jobs", event->job);
    if (event->job >= checker->slot_capacity) {
        const size_t capacity = (size_t)event->job * 2 + 16;
        uint64_t *grown = realloc(checker->slot_id, capacity * sizeof *grown);
        CHECK_THAT(checker, grown, "out of memory");
        memset(grown + checker->slot_capacity, 0, (capacity - checker->slot_capacity) * sizeof *grown);
        checker->slot_id = grown;
        checker->slot_capacity = capacity;
    }
    checker->slot_id[event->job] = spec->id;
    job->phase = CHECK_PENDING;
    job->submit_us = event->time_us;
    checker->arrived++;
    return 0;
}

static inline void check_out(struct checker *checker, struct checked_job *job)
{
    for (uint32_t i = 0; i < job->gpu_count; i++) {
        struct checked_gpu *gpu = &checker->gpus[job->gpus[i]];
        if (gpu->ids[0] == job->truth.spec.id)
            gpu->ids[0] = gpu->ids[1];
        gpu->count--;
    }
    job->held_us += checker->now_us - job->start_us;
}

static inline void check_promises(struct checker *checker, const struct checked_job *job,
                                  const struct adl_outcome *outcome)
{
    const struct adl_job_spec *spec = &job->truth.spec;
    if (spec->deadline_us == 0 && spec->min_steps_per_s == 0)
        return;
    const double steps_per_s = job->truth.steps / ((double)job->held_us * 1e-6);
    checker->sla_jobs++;
    checker->sla_met += outcome->end == ADL_END_COMPLETED &&
                        (spec->deadline_us == 0 || job->jct_us <= spec->deadline_us) &&
                        (spec->min_steps_per_s == 0 || steps_per_s >= (double)spec->min_steps_per_s);
}

static inline int check_finish(struct checker *checker, const struct adl_event *event)
{
    struct checked_job *job = checked_at(checker, event->job);
    const struct adl_outcome *outcome = &event->outcome;
    CHECK_THAT(checker, job && job->phase == CHECK_RUNNING, "slot %u finished and was not running", event->job);
    const struct adl_job_spec *spec = &job->truth.spec;
    const unsigned long long id = spec->id;
    int64_t ideal_us = INT64_MAX;
    for (uint32_t t = 0; t < checker->scenario->cluster.type_count; t++)
        if (job->truth.runtime_us[t] > 0 && job->truth.runtime_us[t] < ideal_us)
            ideal_us = job->truth.runtime_us[t];
    const bool killed = outcome->end == ADL_END_TIMEOUT;
    check_out(checker, job);
    CHECK_THAT(checker, outcome->run_us == job->held_us, "job %llu: ran %lld us, reported %lld", id,
               (long long)job->held_us, (long long)outcome->run_us);
    CHECK_THAT(checker, outcome->ideal_us == ideal_us, "job %llu: wrong ideal run time", id);
    CHECK_THAT(checker, killed || outcome->end == ADL_END_COMPLETED, "job %llu ended as %u", id, outcome->end);
    CHECK_THAT(checker,
               !killed || (checker->scenario->kill_at_limit && event->time_us - job->start_us == spec->limit_us),
               "job %llu was killed, but not at its limit", id);
    CHECK_THAT(checker, killed || outcome->steps == job->truth.steps, "job %llu: work is missing", id);
    CHECK_THAT(checker, outcome->energy_j > 0, "job %llu drew nothing", id);
    job->phase = CHECK_DONE;
    job->jct_us = event->time_us - job->submit_us;
    checker->slot_id[event->job] = 0;
    checker->done++;
    checker->timeouts += killed;
    checker->jct_us += job->jct_us;
    checker->job_energy_j += outcome->energy_j;
    checker->last_end_us = event->time_us;
    checker->busy_at_last_end_us = checker->busy_us;
    checker->wait_s += (double)(job->jct_us - job->held_us) * 1e-6;
    checker->slowdown += (double)job->jct_us / (double)ideal_us;
    checker->held_gpu_s += (double)job->held_us * 1e-6 * spec->gpus;
    if (!killed)
        checker->ideal_gpu_s += (double)ideal_us * 1e-6 * spec->gpus;
    check_promises(checker, job, outcome);
    return 0;
}

static inline int check_evict(struct checker *checker, const struct adl_event *event)
{
    struct checked_job *job = checked_at(checker, event->job);
    CHECK_THAT(checker, job && (job->phase == CHECK_RUNNING || job->phase == CHECK_STOPPING),
               "slot %u was evicted and held nothing", event->job);
    const unsigned long long id = job->truth.spec.id;
    const int64_t save_us = (int64_t)(checker->scenario->preemption.checkpoint_s * 1e6 + 0.5);
    const bool may_grow = checker->scenario->preemption.rework_by_gpus_s[0] > 0;
    CHECK_THAT(checker,
               event->evict.fault || (job->phase == CHECK_STOPPING && event->time_us == job->stop_us + save_us),
               "job %llu stopped without being told, or at the wrong time", id);
    CHECK_THAT(checker, event->evict.remaining >= 0 && (event->evict.remaining <= 1 || may_grow),
               "job %llu has %g of its work left", id, event->evict.remaining);
    check_out(checker, job);
    job->phase = CHECK_PENDING;
    job->failed_now = event->evict.fault;
    checker->evictions++;
    return 0;
}

/* A report comes from a job at work, and none is faster than the best GPU at its best with six standard deviations of
 * noise. */
static inline int check_progress(struct checker *checker, const struct adl_event *event)
{
    const struct adl_scenario *s = checker->scenario;
    const struct checked_job *job = checked_at(checker, event->job);
    CHECK_THAT(checker, job && job->phase == CHECK_RUNNING, "slot %u reports and does not run", event->job);
    CHECK_THAT(checker, s->telemetry.progress, "job %llu reports unasked", (unsigned long long)job->truth.spec.id);
    const uint32_t type = adl_gpu_type_of(&s->cluster, job->gpus[0]);
    const double alone = job->truth.steps * 1e6 / (double)job->truth.runtime_us[type];
    const double most = alone * (1 + 6 * s->telemetry.noise) * adl_drift_ceiling(s, type);
    CHECK_THAT(checker, event->steps_per_s >= 0 && event->steps_per_s <= most, "job %llu reports %g of at most %g",
               (unsigned long long)job->truth.spec.id, event->steps_per_s, most);
    return 0;
}

static inline int check_gpu_event(struct checker *checker, const struct adl_event *event)
{
    CHECK_THAT(checker, event->gpu < checker->scenario->cluster.gpu_count, "there is no GPU %u", event->gpu);
    struct checked_gpu *gpu = &checker->gpus[event->gpu];
    if (event->kind == ADL_EVENT_GPU_DOWN) {
        CHECK_THAT(checker, !gpu->down && gpu->count == 0, "GPU %u went down while down or in use", event->gpu);
        gpu->down = true;
    } else if (event->kind == ADL_EVENT_GPU_UP) {
        CHECK_THAT(checker, gpu->down, "GPU %u came up while up", event->gpu);
        gpu->down = false;
    } else if (event->kind == ADL_EVENT_METER) {
        checker->meter_j += event->energy_j;
        checker->meters++;
    }
    return 0;
}

/* After `more` the next event is of the same instant; without it only what the decision caused, or the
 * meters, may be. */
static inline int check_time(struct checker *checker, const struct adl_event *event)
{
    CHECK_THAT(checker, event->time_us >= checker->now_us, "time went back to %lld", (long long)event->time_us);
    const bool same = checker->any_event && event->time_us == checker->now_us;
    CHECK_THAT(checker, !checker->more_before || same, "`more` was promised at %lld us", (long long)checker->now_us);
    CHECK_THAT(checker,
               !same || checker->more_before || checker->scenario->one_by_one || event->kind == ADL_EVENT_METER ||
                   (event->kind == ADL_EVENT_EVICT && !event->evict.fault),
               "an event of kind %u at %lld us came after its instant was over", event->kind,
               (long long)event->time_us);
    checker->any_event = true;
    checker->more_before = event->more;
    return 0;
}

static inline int checker_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct checker *checker = self;
    const int status = check_time(checker, event);
    if (status)
        return status;
    checker_pass(checker, event->time_us);
    if (event->kind == ADL_EVENT_SUBMIT)
        return check_submit(checker, event);
    if (event->kind == ADL_EVENT_FINISH)
        return check_finish(checker, event);
    if (event->kind == ADL_EVENT_EVICT)
        return check_evict(checker, event);
    if (event->kind == ADL_EVENT_PROGRESS)
        return check_progress(checker, event);
    return event->kind == ADL_EVENT_WAKE ? 0 : check_gpu_event(checker, event);
}

/* What the node's jobs ask of it together, the new one included. */
static inline int check_node_room(struct checker *checker, uint32_t node_index)
{
    const struct adl_node *node = &checker->scenario->cluster.nodes[node_index];
    int64_t cores = 0, memory_mib = 0;
    for (uint32_t g = node->gpu_first; g < node->gpu_first + node->gpu_count; g++)
        for (uint32_t i = 0; i < checker->gpus[g].count; i++) {
            const struct adl_job_spec *spec = &checker->jobs[checker->gpus[g].ids[i] - 1].truth.spec;
            cores += spec->cpu_cores;
            memory_mib += spec->memory_mib;
        }
    CHECK_THAT(checker, cores <= node->cpu_cores && memory_mib <= node->memory_mib,
               "node %u: %lld of %d cores and %lld of %d MiB", node_index, (long long)cores, node->cpu_cores,
               (long long)memory_mib, node->memory_mib);
    return 0;
}

static inline int check_gpu_room(struct checker *checker, const struct checked_job *job, uint32_t gpu_index)
{
    const struct adl_cluster *cluster = &checker->scenario->cluster;
    const struct adl_job_spec *spec = &job->truth.spec;
    struct checked_gpu *gpu = &checker->gpus[gpu_index];
    const uint32_t type = adl_gpu_type_of(cluster, gpu_index), first = job->gpus[0];
    const unsigned long long id = spec->id;
    CHECK_THAT(checker, !gpu->down, "job %llu was put on GPU %u, which is down", id, gpu_index);
    CHECK_THAT(checker, spec->types >> type & 1 && job->truth.runtime_us[type] > 0, "job %llu does not run on type %u",
               id, type);
    CHECK_THAT(checker, type == adl_gpu_type_of(cluster, first), "job %llu got GPUs of two types", id);
    CHECK_THAT(checker,
               spec->flags & ADL_JOB_SPAN || adl_gpu_node_of(cluster, gpu_index) == adl_gpu_node_of(cluster, first),
               "job %llu spans nodes", id);
    CHECK_THAT(checker, gpu->count < 2, "GPU %u got a third job", gpu_index);
    int64_t memory_mib = spec->gpu_memory_mib;
    if (gpu->count == 1) {
        const struct adl_job_spec *other = &checker->jobs[gpu->ids[0] - 1].truth.spec;
        CHECK_THAT(checker, other->id != spec->id, "job %llu got GPU %u twice", id, gpu_index);
        CHECK_THAT(checker, spec->flags & other->flags & ADL_JOB_SHARE, "GPU %u: one of two does not share", gpu_index);
        memory_mib += other->gpu_memory_mib;
    }
    CHECK_THAT(checker, memory_mib <= cluster->types[type].memory_mib, "GPU %u: memory is short", gpu_index);
    gpu->ids[gpu->count++] = spec->id;
    return check_node_room(checker, adl_gpu_node_of(cluster, gpu_index));
}

static inline int checker_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                                  const struct adl_state *state)
{
    (void)state;
    struct checker *checker = self;
    if (command->kind == ADL_COMMAND_WAKE)
        return 0;
    if (command->kind == ADL_COMMAND_CAP) {
        for (uint32_t i = 0; i < command->gpu_count; i++)
            checker->gpus[gpus[i]].cap_w = command->power_w;
        checker->caps++;
        return 0;
    }
    struct checked_job *job = checked_at(checker, command->job);
    CHECK_THAT(checker, job, "a command names slot %u, which holds no job", command->job);
    if (command->kind == ADL_COMMAND_PREEMPT) {
        CHECK_THAT(checker, job->phase == CHECK_RUNNING && job->truth.spec.flags & ADL_JOB_PREEMPTIBLE,
                   "job %llu may not be preempted", (unsigned long long)job->truth.spec.id);
        job->phase = CHECK_STOPPING;
        job->stop_us = checker->now_us;
        return 0;
    }
    CHECK_THAT(checker, job->phase == CHECK_PENDING, "job %llu was started and was not pending",
               (unsigned long long)job->truth.spec.id);
    CHECK_THAT(checker, command->gpu_count == job->truth.spec.gpus && command->gpu_count <= 64, "job %llu got %u GPUs",
               (unsigned long long)job->truth.spec.id, command->gpu_count);
    job->phase = CHECK_RUNNING;
    job->start_us = job->resume_us = checker->now_us;
    if (job->attempts++ > 0)
        job->resume_us += (int64_t)(checker->scenario->preemption.restart_s * 1e6 + 0.5);
    job->gpu_count = command->gpu_count;
    memcpy(job->gpus, gpus, command->gpu_count * sizeof *gpus);
    for (uint32_t i = 0; i < command->gpu_count; i++) {
        const int status = check_gpu_room(checker, job, gpus[i]);
        if (status)
            return status;
    }
    return 0;
}

/* At the end of an instant: the engine's own tallies are ours, and every faulty eviction had a fault. */
static inline int checker_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    struct checker *checker = self;
    uint32_t busy = 0, down = 0;
    uint64_t running = 0, pending = 0;
    for (uint32_t g = 0; g < checker->scenario->cluster.gpu_count; g++) {
        busy += checker->gpus[g].count > 0;
        down += checker->gpus[g].down;
    }
    for (uint64_t i = 0; i < checker->job_count; i++) {
        struct checked_job *job = &checker->jobs[i];
        running += job->phase == CHECK_RUNNING || job->phase == CHECK_STOPPING;
        pending += job->phase == CHECK_PENDING;
        bool cause = !job->failed_now;
        for (uint32_t k = 0; !cause && k < job->gpu_count; k++)
            cause = checker->gpus[job->gpus[k]].down;
        CHECK_THAT(checker, cause || job->phase == CHECK_RUNNING, "job %llu failed on GPUs that are all up",
                   (unsigned long long)i + 1);
        job->failed_now = false;
    }
    CHECK_THAT(checker, state->busy_gpus == busy && state->down_gpus == down, "the state counts GPUs wrongly");
    CHECK_THAT(checker, state->running_jobs == running && state->queue.count == pending,
               "the state counts jobs wrongly");
    return 0;
}

static inline struct adl_tap checker_tap(struct checker *checker)
{
    return (struct adl_tap){
        .self = checker, .event = checker_event, .command = checker_command, .decided = checker_decided};
}

#endif
