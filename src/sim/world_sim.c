#include "sim/world_sim.h"

#include "base/heap.h"
#include "base/real.h"
#include "sim/drift.h"
#include "sim/power.h"
#include "sim/sampler.h"
#include "sim/workload.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What lies in the heap, the more urgent first: at one instant things end before others begin. */
enum happening {
    HAPPEN_FINISH,    /* of a job: done or out of time */
    HAPPEN_EVICT,     /* of a job: its checkpoint is written */
    HAPPEN_RESUME,    /* of a job: its checkpoint is read; inside the world only */
    HAPPEN_GPU_UP,
    HAPPEN_NODE_UP,
    HAPPEN_GPU_FAIL,
    HAPPEN_NODE_FAIL,
    HAPPEN_THROTTLE,  /* of a GPU: it becomes hot or cool; inside the world only */
    HAPPEN_UPDATE,    /* of a type: a software update; inside the world only */
    HAPPEN_WAKE,
    HAPPEN_TELEMETRY,
};

#define GENERATION_MASK 0x0fffffffu

enum sim_phase { SIM_GONE, SIM_QUEUED, SIM_STARTING, SIM_RUNNING, SIM_STOPPING };

struct sim_job {
    double remaining;        /* share of the work still to do at since_us */
    double saved;            /* the same, as a failure would leave it: the start of this attempt */
    double rate;             /* share of the work done per us */
    int64_t since_us;
    int64_t start_us;        /* of this attempt */
    int64_t run_us;          /* earlier attempts */
    int64_t limit_us;
    int64_t ideal_us;
    double steps;
    double energy_j;
    uint32_t first_gpu;
    uint32_t generation;     /* of the one happening of this job in the heap that is not stale */
    uint32_t attempts;
    uint16_t class_index;
    uint16_t gpus;
    uint8_t phase;
    bool out_of_time;        /* its FINISH is its limit */
    uint32_t next_free;
};

struct sim_gpu {
    uint32_t job[2];
    uint32_t next_gpu[2];
    struct adl_power_meter meter;
    uint32_t down;           /* reasons to be down: itself, its node */
};

/* An event ready to be given out. */
struct pending_event {
    uint8_t kind;
    bool fault;
    uint32_t ref;
    double value;
};

struct adl_world_sim {
    const struct adl_scenario *scenario;
    int regime;
    int64_t now_us;
    struct adl_heap heap;
    struct adl_workload_stream stream;
    struct adl_true_job arrival;     /* the next to come */
    struct adl_true_job arrived;     /* the last that came: its event points here */
    bool more_arrivals;
    struct sim_job *jobs;
    int64_t *runtime_us;             /* [slot][type] */
    size_t job_capacity;
    uint32_t job_count;              /* slots ever used */
    uint32_t free_slot;
    uint32_t live_jobs, held_jobs;   /* in the world; holding GPUs */
    uint32_t wakes, repairs;         /* of these, in the heap */
    struct sim_gpu *gpus;
    struct adl_drift_state drift;
    struct adl_sampler sampler;
    struct adl_rng faults;
    struct pending_event *outbox;
    size_t outbox_capacity;
    uint32_t outbox_first, outbox_count;
    uint32_t sweep, sweep_end;       /* GPUs still to be reported */
    uint8_t sweep_kind;
    bool ended;
};

static const char *const regime_names[] = {"declared", "oracle"};

const char *adl_regime_name(int regime)
{
    return regime_names[regime];
}

int adl_regime_find(const char *name)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(regime_names[i], name) == 0)
            return i;
    return -1;
}

static int64_t from_seconds(double seconds)
{
    return (int64_t)(seconds * 1e6 + 0.5);
}

static int schedule(struct adl_world_sim *world, int64_t time_us, enum happening what, uint32_t ref,
                    uint32_t generation)
{
    const struct adl_heap_item item = {time_us, (uint64_t)what << 60 | (uint64_t)(generation & GENERATION_MASK) << 32 | ref};
    return adl_heap_push(&world->heap, item);
}

/* ---- speed and power ---- */

/* Two jobs on a GPU get what is left when both press on compute units or bandwidth, less 5 % for switching. */
static double interference(const struct adl_job_class *a, const struct adl_job_class *b)
{
    double pressure = 1.0;
    pressure = a->activity + b->activity > pressure ? a->activity + b->activity : pressure;
    pressure = a->bandwidth + b->bandwidth > pressure ? a->bandwidth + b->bandwidth : pressure;
    return 0.95 / pressure;
}

static const struct adl_job_class *class_of(const struct adl_world_sim *world, uint32_t slot)
{
    return &world->scenario->classes[world->jobs[slot].class_index];
}

/* A step takes its share of talking times as long over the network as over the node's link. */
static double spanning_speed(const struct adl_world_sim *world, uint32_t slot)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t first = world->jobs[slot].first_gpu;
    const uint32_t node = adl_gpu_node_of(cluster, first);
    double link_gbs = cluster->nodes[node].link_gbs;
    bool spans = false;
    for (uint32_t gpu = first, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        const uint32_t other = adl_gpu_node_of(cluster, gpu);
        spans |= other != node;
        link_gbs = cluster->nodes[other].link_gbs < link_gbs ? cluster->nodes[other].link_gbs : link_gbs;
    }
    if (!spans || cluster->network_gbs >= link_gbs)
        return 1.0;
    const double share = class_of(world, slot)->sync_share;
    return 1.0 / ((1.0 - share) + share * link_gbs / cluster->network_gbs);
}

/* Speed relative to a job alone on new GPUs of one node: a gang goes at the pace of its slowest GPU. */
static double relative_speed(const struct adl_world_sim *world, uint32_t slot)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    double slowest = HUGE_VAL;
    for (uint32_t gpu = world->jobs[slot].first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        const struct sim_gpu *it = &world->gpus[gpu];
        place = it->job[0] == slot ? 0 : 1;
        double speed = adl_drift_speed(&world->drift, gpu, adl_gpu_type_of(cluster, gpu));
        const uint32_t other = it->job[1 - place];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING)
            speed *= interference(class_of(world, slot), class_of(world, other));
        slowest = speed < slowest ? speed : slowest;
    }
    return world->jobs[slot].gpus > 1 ? slowest * spanning_speed(world, slot) : slowest;
}

static void activity_of(const struct adl_world_sim *world, uint32_t gpu, double *ret_activity, double *ret_bandwidth)
{
    *ret_activity = *ret_bandwidth = 0;
    for (int place = 0; place < 2; place++) {
        const uint32_t slot = world->gpus[gpu].job[place];
        if (slot == ADL_NONE || world->jobs[slot].phase != SIM_RUNNING)
            continue;
        *ret_activity += class_of(world, slot)->activity;
        *ret_bandwidth += class_of(world, slot)->bandwidth;
    }
}

/* Counts what the GPU drew, to the jobs on it in equal parts. Call before anything about it changes. */
static void count_power(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    const double drawn_j = adl_power_count(&it->meter, world->now_us);
    if (it->job[0] == ADL_NONE)
        return;
    const double share = it->job[1] == ADL_NONE ? 1.0 : 0.5;
    world->jobs[it->job[0]].energy_j += share * drawn_j;
    if (it->job[1] != ADL_NONE)
        world->jobs[it->job[1]].energy_j += share * drawn_j;
}

/* Sets what it draws from now on. Call after it changed. */
static void set_power(struct adl_world_sim *world, uint32_t gpu)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    struct sim_gpu *it = &world->gpus[gpu];
    double activity, bandwidth;
    activity_of(world, gpu, &activity, &bandwidth);
    it->meter.power_w = it->down ? 0.0
                                 : adl_power_w(&cluster->types[adl_gpu_type_of(cluster, gpu)], it->job[0] != ADL_NONE,
                                               activity);
}

/* ---- the life of a job ---- */

static void progress(struct adl_world_sim *world, struct sim_job *job)
{
    if (job->phase == SIM_RUNNING) {
        job->remaining -= job->rate * (double)(world->now_us - job->since_us);
        job->remaining = job->remaining > 0 ? job->remaining : 0;
    }
    job->since_us = world->now_us;
}

/* Gives a running job its present speed and its end a new time. */
static int set_pace(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    const struct adl_cluster *cluster = &world->scenario->cluster;
    progress(world, job);
    const uint32_t type = adl_gpu_type_of(cluster, job->first_gpu);
    const double whole_us = (double)world->runtime_us[(size_t)slot * cluster->type_count + type];
    const double speed = relative_speed(world, slot);
    job->rate = speed / whole_us;
    const double left_us = floor(job->remaining * whole_us / speed + 0.5);
    int64_t end_us = world->now_us + (left_us < 1.0 ? 1 : (int64_t)left_us);
    job->out_of_time = world->scenario->kill_at_limit && end_us > job->start_us + job->limit_us;
    if (job->out_of_time)
        end_us = job->start_us + job->limit_us;
    return schedule(world, end_us, HAPPEN_FINISH, slot, ++job->generation);
}

/* The neighbours' speeds, after something changed on the job's GPUs. */
static int set_pace_of_neighbours(struct adl_world_sim *world, uint32_t slot)
{
    for (uint32_t gpu = world->jobs[slot].first_gpu, place; gpu != ADL_NONE;
         gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        const uint32_t other = world->gpus[gpu].job[1 - place];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING && set_pace(world, other))
            return ADL_ENOMEM;
    }
    return 0;
}

/* From starting to running, or into stopping: power and neighbours follow. */
static int set_phase(struct adl_world_sim *world, uint32_t slot, enum sim_phase phase)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    for (uint32_t gpu = job->first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        count_power(world, gpu);
    }
    job->phase = (uint8_t)phase;
    for (uint32_t gpu = job->first_gpu, place; gpu != ADL_NONE; gpu = world->gpus[gpu].next_gpu[place]) {
        place = world->gpus[gpu].job[0] == slot ? 0 : 1;
        set_power(world, gpu);
    }
    const int status = set_pace_of_neighbours(world, slot);
    return status || phase != SIM_RUNNING ? status : set_pace(world, slot);
}

static int start(struct adl_world_sim *world, const struct adl_command *command, const uint32_t *gpus)
{
    struct sim_job *job = &world->jobs[command->job];
    const int64_t restart_us = job->attempts > 0 ? from_seconds(world->scenario->preemption.restart_s) : 0;
    job->first_gpu = gpus[0];
    job->start_us = job->since_us = world->now_us;
    job->saved = job->remaining;
    job->attempts++;
    job->phase = SIM_STARTING;
    world->held_jobs++;
    bool shared = false;
    for (uint32_t i = 0; i < command->gpu_count; i++) {
        struct sim_gpu *it = &world->gpus[gpus[i]];
        count_power(world, gpus[i]);
        const uint32_t place = it->job[0] == ADL_NONE ? 0 : 1;
        assert(it->job[place] == ADL_NONE);
        it->job[place] = command->job;
        it->next_gpu[place] = i + 1 < command->gpu_count ? gpus[i + 1] : ADL_NONE;
        shared |= place == 1;
    }
    if (restart_us == 0)
        job->phase = SIM_RUNNING;
    for (uint32_t i = 0; i < command->gpu_count; i++)
        set_power(world, gpus[i]);
    if (restart_us > 0)
        return schedule(world, world->now_us + restart_us, HAPPEN_RESUME, command->job, ++job->generation);
    if (shared && set_pace_of_neighbours(world, command->job))
        return ADL_ENOMEM;
    return set_pace(world, command->job);
}

/* Takes a job off its GPUs. */
static int leave_gpus(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    const uint32_t first = job->first_gpu;
    for (uint32_t gpu = first, next; gpu != ADL_NONE; gpu = next) {
        struct sim_gpu *it = &world->gpus[gpu];
        next = it->next_gpu[it->job[0] == slot ? 0 : 1];
        count_power(world, gpu);
        if (world->drift.gpus)
            world->drift.gpus[gpu].busy_s += (double)(world->now_us - job->start_us) * 1e-6;
        if (it->job[0] == slot) {
            it->job[0] = it->job[1];
            it->next_gpu[0] = it->next_gpu[1];
        }
        it->job[1] = ADL_NONE;
        set_power(world, gpu);
        const uint32_t other = it->job[0];
        if (other != ADL_NONE && world->jobs[other].phase == SIM_RUNNING && set_pace(world, other))
            return ADL_ENOMEM;
    }
    job->first_gpu = ADL_NONE;
    job->run_us += world->now_us - job->start_us;
    job->generation++;
    world->held_jobs--;
    return 0;
}

/* What a failure leaves of the work: the last checkpoint of this attempt, or its beginning. */
static double after_failure(const struct adl_world_sim *world, const struct sim_job *job)
{
    const double interval_us = world->scenario->preemption.interval_s * 1e6;
    const double ran_us = (double)(world->now_us - job->start_us);
    if (interval_us <= 0 || ran_us < interval_us)
        return job->saved;
    return job->saved - (job->saved - job->remaining) * (floor(ran_us / interval_us) * interval_us / ran_us);
}

static uint32_t take_slot(struct adl_world_sim *world)
{
    if (world->free_slot != ADL_NONE) {
        const uint32_t slot = world->free_slot;
        world->free_slot = world->jobs[slot].next_free;
        return slot;
    }
    size_t jobs = world->job_capacity, rows = world->job_capacity;
    const size_t count = (size_t)world->job_count + 1;
    if (adl_grow((void **)&world->jobs, &jobs, count, sizeof *world->jobs) ||
        adl_grow((void **)&world->runtime_us, &rows, count,
                 world->scenario->cluster.type_count * sizeof *world->runtime_us))
        return ADL_NONE;
    world->job_capacity = jobs;
    return world->job_count++;
}

static int arrive(struct adl_world_sim *world, struct adl_event *ret)
{
    const uint32_t slot = take_slot(world), types = world->scenario->cluster.type_count;
    if (slot == ADL_NONE)
        return ADL_ENOMEM;
    world->arrived = world->arrival;
    const struct adl_true_job *truth = &world->arrived;
    struct sim_job *job = &world->jobs[slot];
    const uint32_t generation = job->generation;
    *job = (struct sim_job){.remaining = 1.0,
                            .saved = 1.0,
                            .limit_us = truth->spec.limit_us,
                            .ideal_us = adl_true_job_ideal_us(truth, types),
                            .steps = truth->steps,
                            .first_gpu = ADL_NONE,
                            .generation = generation + 1,
                            .class_index = truth->spec.class_index,
                            .gpus = truth->spec.gpus,
                            .phase = SIM_QUEUED};
    memcpy(&world->runtime_us[(size_t)slot * types], truth->runtime_us, types * sizeof *world->runtime_us);
    world->live_jobs++;
    world->more_arrivals = adl_workload_next(&world->stream, &world->arrival);
    *ret = (struct adl_event){.kind = ADL_EVENT_SUBMIT, .job = slot, .gpu = ADL_NONE};
    ret->submit.spec = &world->arrived.spec;
    ret->submit.runtime_us = world->regime == ADL_REGIME_ORACLE ? world->arrived.runtime_us : NULL;
    return 0;
}

static int finish(struct adl_world_sim *world, uint32_t slot, struct adl_event *ret)
{
    struct sim_job *job = &world->jobs[slot];
    if (leave_gpus(world, slot))
        return ADL_ENOMEM;
    *ret = (struct adl_event){.kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE};
    ret->outcome = (struct adl_outcome){
        .end = job->out_of_time ? ADL_END_TIMEOUT : ADL_END_COMPLETED,
        .energy_j = job->energy_j,
        .run_us = job->run_us,
        .ideal_us = job->ideal_us,
        .steps = job->out_of_time ? job->steps * (1.0 - job->remaining) : job->steps,
    };
    job->phase = SIM_GONE;
    job->next_free = world->free_slot;
    world->free_slot = slot;
    world->live_jobs--;
    return 0;
}

static int evict(struct adl_world_sim *world, uint32_t slot, bool fault)
{
    struct sim_job *job = &world->jobs[slot];
    progress(world, job);
    if (fault)
        job->remaining = after_failure(world, job);
    if (leave_gpus(world, slot))
        return ADL_ENOMEM;
    job->phase = SIM_QUEUED;
    return 0;
}

/* ---- faults ---- */

static int post(struct adl_world_sim *world, struct pending_event event)
{
    if (world->outbox_first == world->outbox_count)
        world->outbox_first = world->outbox_count = 0;
    if (adl_grow((void **)&world->outbox, &world->outbox_capacity, (size_t)world->outbox_count + 1,
                 sizeof *world->outbox))
        return ADL_ENOMEM;
    world->outbox[world->outbox_count++] = event;
    return 0;
}

static int gpu_down(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    if (it->down > 0) {
        it->down++;
        return 0;
    }
    for (uint32_t slot; (slot = it->job[0]) != ADL_NONE;) {
        if (evict(world, slot, true) ||
            post(world, (struct pending_event){ADL_EVENT_EVICT, true, slot, world->jobs[slot].remaining}))
            return ADL_ENOMEM;
    }
    count_power(world, gpu);
    it->down = 1;
    set_power(world, gpu);
    return post(world, (struct pending_event){.kind = ADL_EVENT_GPU_DOWN, .ref = gpu});
}

static int gpu_up(struct adl_world_sim *world, uint32_t gpu)
{
    struct sim_gpu *it = &world->gpus[gpu];
    if (--it->down > 0)
        return 0;
    count_power(world, gpu);
    set_power(world, gpu);
    return post(world, (struct pending_event){.kind = ADL_EVENT_GPU_UP, .ref = gpu});
}

static int for_node(struct adl_world_sim *world, uint32_t index, int (*change)(struct adl_world_sim *, uint32_t))
{
    const struct adl_node *node = &world->scenario->cluster.nodes[index];
    for (uint32_t gpu = node->gpu_first; gpu < node->gpu_first + node->gpu_count; gpu++)
        if (change(world, gpu))
            return ADL_ENOMEM;
    return 0;
}

/* Fails now, is repaired after an exponential time, fails again after another: the times do not depend on the policy. */
static int fail_or_repair(struct adl_world_sim *world, enum happening what, uint32_t ref)
{
    const struct adl_faults *faults = &world->scenario->faults;
    const bool fails = what == HAPPEN_GPU_FAIL || what == HAPPEN_NODE_FAIL;
    const bool node = what == HAPPEN_NODE_FAIL || what == HAPPEN_NODE_UP;
    const double mean_h = fails ? (node ? faults->node_repair_h : faults->gpu_repair_h)
                                : (node ? faults->node_mtbf_h : faults->gpu_mtbf_h);
    const int64_t next_us = world->now_us + from_seconds(adl_rng_exponential(&world->faults) * mean_h * 3600.0) + 1;
    const enum happening then = fails ? (node ? HAPPEN_NODE_UP : HAPPEN_GPU_UP)
                                      : (node ? HAPPEN_NODE_FAIL : HAPPEN_GPU_FAIL);
    int (*change)(struct adl_world_sim *, uint32_t) = fails ? gpu_down : gpu_up;
    world->repairs = fails ? world->repairs + 1 : world->repairs - 1;
    if (schedule(world, next_us, then, ref, 0))
        return ADL_ENOMEM;
    return node ? for_node(world, ref, change) : change(world, ref);
}

/* ---- drift ---- */

static int set_pace_on(struct adl_world_sim *world, uint32_t gpu)
{
    for (int place = 0; place < 2; place++) {
        const uint32_t slot = world->gpus[gpu].job[place];
        if (slot != ADL_NONE && world->jobs[slot].phase == SIM_RUNNING && set_pace(world, slot))
            return ADL_ENOMEM;
    }
    return 0;
}

static int throttle(struct adl_world_sim *world, uint32_t gpu)
{
    world->drift.gpus[gpu].hot = !world->drift.gpus[gpu].hot;
    const int64_t half_us = from_seconds(world->scenario->drift.throttle_period_s / 2);
    if (schedule(world, world->now_us + half_us, HAPPEN_THROTTLE, gpu, 0))
        return ADL_ENOMEM;
    return set_pace_on(world, gpu);
}

static int update(struct adl_world_sim *world, uint32_t index)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t type = world->scenario->drift.updates[index].type;
    world->drift.update_factor[type] *= world->scenario->drift.updates[index].factor;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count; gpu++)
        if (adl_gpu_type_of(cluster, gpu) == type && set_pace_on(world, gpu))
            return ADL_ENOMEM;
    return 0;
}

/* ---- events ---- */

/* True while something may still happen to a job by itself: otherwise only clocks tick. */
static bool alive(const struct adl_world_sim *world)
{
    return world->more_arrivals || world->held_jobs > 0 || world->repairs > 0 || world->wakes > 0;
}

static bool stale(const struct adl_world_sim *world, const struct adl_heap_item *item)
{
    const enum happening what = (enum happening)(item->tag >> 60);
    return what <= HAPPEN_RESUME &&
           (world->jobs[(uint32_t)item->tag].generation & GENERATION_MASK) != (item->tag >> 32 & GENERATION_MASK);
}

/* Takes one happening off the heap. 1: *ret is an event; 0: nothing to tell (it may have posted events); negative. */
static int happen(struct adl_world_sim *world, struct adl_event *ret)
{
    const struct adl_heap_item item = adl_heap_pop(&world->heap);
    const uint32_t ref = (uint32_t)item.tag;
    if (stale(world, &item))
        return 0;
    const enum happening what = (enum happening)(item.tag >> 60);
    world->now_us = item.time_us;
    switch (what) {
    case HAPPEN_FINISH:
        return finish(world, ref, ret) ? ADL_ENOMEM : 1;
    case HAPPEN_EVICT:
        *ret = (struct adl_event){.kind = ADL_EVENT_EVICT, .job = ref, .gpu = ADL_NONE};
        if (evict(world, ref, false))
            return ADL_ENOMEM;
        ret->evict.remaining = world->jobs[ref].remaining;
        return 1;
    case HAPPEN_RESUME:
        return set_phase(world, ref, SIM_RUNNING);
    case HAPPEN_GPU_UP:
    case HAPPEN_NODE_UP:
    case HAPPEN_GPU_FAIL:
    case HAPPEN_NODE_FAIL:
        return fail_or_repair(world, what, ref);
    case HAPPEN_THROTTLE:
        return throttle(world, ref);
    case HAPPEN_UPDATE:
        return update(world, ref);
    case HAPPEN_WAKE:
        world->wakes--;
        *ret = (struct adl_event){.kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE};
        return 1;
    case HAPPEN_TELEMETRY:
        world->sweep = 0;
        world->sweep_end = world->scenario->cluster.gpu_count;
        world->sweep_kind = ADL_EVENT_TELEMETRY;
        return schedule(world, world->now_us + from_seconds(world->scenario->telemetry.interval_s), HAPPEN_TELEMETRY, 0,
                        0);
    }
    return 0;
}

static void report_gpu(struct adl_world_sim *world, uint32_t gpu, struct adl_event *ret)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t type = adl_gpu_type_of(cluster, gpu);
    *ret = (struct adl_event){.kind = world->sweep_kind, .job = ADL_NONE, .gpu = gpu};
    if (world->sweep_kind == ADL_EVENT_METER) {
        count_power(world, gpu);
        ret->energy_j = world->gpus[gpu].meter.energy_j;
        return;
    }
    struct adl_gpu_truth truth = {.power_w = world->gpus[gpu].meter.power_w,
                                  .speed = adl_drift_speed(&world->drift, gpu, type)};
    activity_of(world, gpu, &truth.activity, &truth.bandwidth);
    adl_sampler_read(&world->sampler, gpu, &cluster->types[type], &truth, &ret->telemetry);
}

static void unpost(struct adl_world_sim *world, struct adl_event *ret)
{
    const struct pending_event *it = &world->outbox[world->outbox_first++];
    *ret = (struct adl_event){.kind = it->kind, .job = it->ref, .gpu = it->ref};
    if (it->kind == ADL_EVENT_EVICT) {
        ret->evict.remaining = it->value;
        ret->evict.fault = it->fault;
    }
}

/* The time of the next thing to happen; INT64_MAX if nothing will. */
static int64_t next_time(const struct adl_world_sim *world)
{
    const struct adl_heap_item *top = adl_heap_top(&world->heap);
    const int64_t heap_us = top ? top->time_us : INT64_MAX;
    return world->more_arrivals && world->arrival.submit_us < heap_us ? world->arrival.submit_us : heap_us;
}

static bool reports_waiting(const struct adl_world_sim *world)
{
    return world->outbox_first < world->outbox_count || world->sweep < world->sweep_end;
}

/* One step of the world: 1 and an event; 0 and none, but something changed; negative on failure. */
static int step(struct adl_world_sim *world, struct adl_event *ret)
{
    if (world->outbox_first < world->outbox_count) {
        unpost(world, ret);
        return 1;
    }
    if (world->sweep < world->sweep_end) {
        report_gpu(world, world->sweep++, ret);
        return 1;
    }
    const struct adl_heap_item *top = adl_heap_top(&world->heap);
    if (world->more_arrivals && (!top || world->arrival.submit_us < top->time_us)) {
        world->now_us = world->arrival.submit_us;
        return arrive(world, ret) ? ADL_ENOMEM : 1;
    }
    return happen(world, ret);
}

/* What happens at this very instant without an event of its own is done now, so that `more` can be told truly. */
static int settle(struct adl_world_sim *world)
{
    for (const struct adl_heap_item *top; !reports_waiting(world) && (top = adl_heap_top(&world->heap)) &&
                                          top->time_us == world->now_us;) {
        const enum happening what = (enum happening)(top->tag >> 60);
        const bool silent = what == HAPPEN_RESUME || (what >= HAPPEN_GPU_UP && what <= HAPPEN_UPDATE);
        if (!silent && !stale(world, top))
            break;
        if (happen(world, NULL))
            return ADL_ENOMEM;
    }
    return 0;
}

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct adl_world_sim *world = self;
    int status = 0;
    while (status == 0) {
        if (!reports_waiting(world) && !alive(world)) {
            if (world->ended)
                return 0;
            world->ended = true;
            world->sweep = 0;
            world->sweep_end = world->scenario->cluster.gpu_count;
            world->sweep_kind = ADL_EVENT_METER;
        }
        status = step(world, ret);
    }
    if (status > 0 && settle(world))
        status = ADL_ENOMEM;
    if (status < 0)
        return adl_fail(err, status, "out of memory in the simulator with %u live jobs", world->live_jobs);
    ret->time_us = world->now_us;
    ret->more = reports_waiting(world) || (!world->ended && next_time(world) == world->now_us);
    return 1;
}

static int submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct adl_world_sim *world = self;
    int status = 0;
    if (command->kind == ADL_COMMAND_WAKE) {
        world->wakes++;
        status = schedule(world, command->time_us, HAPPEN_WAKE, 0, 0);
    } else if (command->kind == ADL_COMMAND_START) {
        status = start(world, command, gpus);
    } else {
        const int64_t end_us = world->now_us + from_seconds(world->scenario->preemption.checkpoint_s);
        status = set_phase(world, command->job, SIM_STOPPING);
        if (status == 0)
            status = schedule(world, end_us, HAPPEN_EVICT, command->job, ++world->jobs[command->job].generation);
    }
    return status ? adl_fail(err, status, "out of memory in the simulator") : 0;
}

const struct adl_world_ops adl_world_sim_ops = {.name = "sim", .next_event = next_event, .submit = submit};

/* ---- creation ---- */

static int schedule_faults(struct adl_world_sim *world)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const struct adl_faults *faults = &world->scenario->faults;
    for (uint32_t g = 0; faults->gpu_mtbf_h > 0 && g < cluster->gpu_count; g++)
        if (schedule(world, from_seconds(adl_rng_exponential(&world->faults) * faults->gpu_mtbf_h * 3600.0),
                     HAPPEN_GPU_FAIL, g, 0))
            return ADL_ENOMEM;
    for (uint32_t n = 0; faults->node_mtbf_h > 0 && n < cluster->node_count; n++)
        if (schedule(world, from_seconds(adl_rng_exponential(&world->faults) * faults->node_mtbf_h * 3600.0),
                     HAPPEN_NODE_FAIL, n, 0))
            return ADL_ENOMEM;
    return 0;
}

static int schedule_drift(struct adl_world_sim *world)
{
    const struct adl_scenario *scenario = world->scenario;
    for (uint32_t i = 0; i < scenario->drift.update_count; i++)
        if (schedule(world, from_seconds(scenario->drift.updates[i].time_s), HAPPEN_UPDATE, i, 0))
            return ADL_ENOMEM;
    const int64_t half_us = from_seconds(scenario->drift.throttle_period_s / 2);
    for (uint32_t g = 0; world->drift.gpus && g < scenario->cluster.gpu_count; g++)
        if (world->drift.gpus[g].throttles &&
            schedule(world, half_us * (int64_t)(g % 7 + 1) / 7, HAPPEN_THROTTLE, g, 0))
            return ADL_ENOMEM;
    if (scenario->telemetry.interval_s > 0)
        return schedule(world, from_seconds(scenario->telemetry.interval_s), HAPPEN_TELEMETRY, 0, 0);
    return 0;
}

int adl_world_sim_create(const struct adl_scenario *scenario, uint64_t seed, int regime, struct adl_world_sim **ret,
                         struct adl_error *err)
{
    struct adl_world_sim *world = calloc(1, sizeof *world);
    if (!world)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the simulator");
    world->scenario = scenario;
    world->regime = regime;
    world->free_slot = ADL_NONE;
    adl_rng_seed(&world->faults, seed, "faults");
    world->gpus = calloc(scenario->cluster.gpu_count + 1, sizeof *world->gpus);
    if (!world->gpus || adl_drift_create(&world->drift, scenario, seed) ||
        adl_sampler_create(&world->sampler, scenario, seed) || schedule_faults(world) || schedule_drift(world)) {
        adl_world_sim_destroy(world);
        return adl_fail(err, ADL_ENOMEM, "out of memory for a simulated cluster of %u GPUs",
                        scenario->cluster.gpu_count);
    }
    for (uint32_t g = 0; g < scenario->cluster.gpu_count; g++) {
        world->gpus[g].job[0] = world->gpus[g].job[1] = ADL_NONE;
        set_power(world, g);
    }
    adl_workload_begin(&world->stream, scenario, seed);
    world->more_arrivals = adl_workload_next(&world->stream, &world->arrival);
    *ret = world;
    return 0;
}

void adl_world_sim_destroy(struct adl_world_sim *world)
{
    if (!world)
        return;
    adl_heap_clear(&world->heap);
    adl_drift_clear(&world->drift);
    adl_sampler_clear(&world->sampler);
    free(world->jobs);
    free(world->runtime_us);
    free(world->gpus);
    free(world->outbox);
    free(world);
}
