#include "base/copy.h"
#include "sim/runtimes.h"
#include "sim/sim.h"
#include "sim/workload.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const adl_regime_names[] = {"declared", "oracle", "learned", NULL};

const char *adl_regime_name(int regime)
{
    return adl_regime_names[regime];
}

const char *adl_regime_told(int regime)
{
    static const char *const told[] = {
        "run times are users' time limits, speeds of GPU types are ratios of specifications (gogh and adlro also use "
        "those that jobs report), and the work left of a stopped job follows from the time that it has run",
        "true run times by GPU type and placement, and the true work left of a stopped job, which no real cluster "
        "knows",
        "run times are predicted from completed jobs, speeds of GPU types from what running jobs reported and "
        "completed ones took, else from specifications, and the work left of a stopped job from the time that it has "
        "run",
    };
    return told[regime];
}

#define NO_LIMIT_US (INT64_MAX / 4)

static int grow_jobs(struct adl_world_sim *world, size_t count)
{
    size_t jobs = world->job_capacity, rows = world->job_capacity;
    if (adl_grow((void **)&world->jobs, &jobs, count, sizeof *world->jobs) ||
        adl_grow((void **)&world->runtime_us, &rows, count,
                 world->scenario->cluster.type_count * sizeof *world->runtime_us))
        return ADL_ENOMEM;
    if (world->adopts && adl_grow((void **)&world->spanning_us, &world->spanning_capacity, jobs,
                                  world->scenario->cluster.type_count * sizeof *world->spanning_us))
        return ADL_ENOMEM;
    world->job_capacity = jobs;
    return 0;
}

static uint32_t take_slot(struct adl_world_sim *world)
{
    if (world->free_slot != ADL_NONE) {
        const uint32_t slot = world->free_slot;
        world->free_slot = world->jobs[slot].next_free;
        return slot;
    }
    if (world->job_count == world->job_capacity && grow_jobs(world, (size_t)world->job_count + 1))
        return ADL_NONE;
    world->jobs[world->job_count].generation = 0;
    return world->job_count++;
}

/* Fetches the next job. The error of a source that fails is kept in the world. */
static int fetch(struct adl_world_sim *world)
{
    const int status =
        world->source.next(world->source.self, &world->arrivals[world->next_arrival], &world->source_error);
    world->more_arrivals = status > 0;
    world->source_failed = status < 0;
    return status < 0 ? status : 0;
}

void adl_sim_set_job(struct adl_world_sim *world, uint32_t slot, const struct adl_true_job *truth)
{
    const uint32_t types = world->scenario->cluster.type_count;
    struct sim_job *job = &world->jobs[slot];
    /* Member by member, because a literal would clear the row first. */
    job->remaining = job->saved = 1.0;
    job->rate = job->energy_j = 0;
    job->since_us = job->start_us = job->run_us = 0;
    job->limit_us = truth->without_limit ? NO_LIMIT_US : truth->spec.limit_us;
    job->ideal_us = truth->ideal_us;
    job->steps = truth->steps;
    job->first_gpu = ADL_NONE;
    job->generation++;
    job->attempts = 0;
    job->checkpoint_us = truth->spec.checkpoint_us;
    job->stop_loss = truth->spec.stop_loss;
    job->class_index = world->adopts ? 0 : truth->spec.class_index;
    job->gpus = truth->spec.gpus;
    job->phase = SIM_QUEUED;
    job->out_of_time = false;
    job->next_free = 0;
    memcpy(&world->runtime_us[(size_t)slot * types], truth->runtime_us, types * sizeof *world->runtime_us);
    if (world->adopts)
        memcpy(&world->spanning_us[(size_t)slot * types], truth->spanning_us, types * sizeof *world->spanning_us);
    world->live_jobs++;
}

uint32_t adl_sim_add_job(struct adl_world_sim *world, const struct adl_true_job *truth)
{
    const uint32_t slot = take_slot(world);
    if (slot != ADL_NONE)
        adl_sim_set_job(world, slot, truth);
    return slot;
}

int adl_sim_skip_slots(struct adl_world_sim *world, uint32_t slot)
{
    if (grow_jobs(world, (size_t)slot + 1))
        return ADL_ENOMEM;
    for (; world->job_count < slot; world->job_count++) {
        world->jobs[world->job_count] = (struct sim_job){.phase = SIM_GONE};
        adl_sim_free_slot(world, world->job_count);
    }
    world->jobs[world->job_count++].generation = 0;
    return 0;
}

double adl_sim_revealed_remaining(const struct adl_world_sim *world, uint32_t slot)
{
    return world->regime == ADL_REGIME_ORACLE ? world->jobs[slot].remaining : -1.0;
}

/* Regime oracle: the true run times of a job by type and placement. */
static void reveal_runtimes(struct adl_world_sim *world, const struct adl_true_job *truth, struct adl_event *ret)
{
    ret->submit.runtime_us = truth->runtime_us;
    const bool alike = world->scenario->classes[truth->spec.class_index].sync_share <= 0;
    if (truth->spec.gpus == 1 || !(truth->spec.flags & ADL_JOB_SPAN) || alike)
        return;
    adl_runtimes_by_placement(world->scenario, truth, world->revealed_us[0], world->revealed_us[1]);
    ret->submit.runtime_us = world->revealed_us[0];
    ret->submit.spanning_us = world->revealed_us[1];
}

static int arrive(struct adl_world_sim *world, struct adl_event *ret)
{
    const struct adl_true_job *truth = &world->arrivals[world->next_arrival];
    const uint32_t slot = adl_sim_add_job(world, truth);
    if (slot == ADL_NONE)
        return ADL_ENOMEM;
    world->next_arrival ^= 1;
    if (fetch(world))
        return ADL_EIO;
    *ret = (struct adl_event){.kind = ADL_EVENT_SUBMIT, .job = slot, .gpu = ADL_NONE};
    ret->submit.spec = &truth->spec;
    if (world->regime == ADL_REGIME_ORACLE)
        reveal_runtimes(world, truth, ret);
    return 0;
}

void adl_sim_free_slot(struct adl_world_sim *world, uint32_t slot)
{
    world->jobs[slot].next_free = world->free_slot;
    world->free_slot = slot;
}

/* The end of a job that has left its GPUs. In a live world the caller releases the slot later. */
static void report_end(struct adl_world_sim *world, uint32_t slot, enum adl_job_end end, struct adl_event *ret)
{
    struct sim_job *job = &world->jobs[slot];
    *ret = (struct adl_event){.kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE};
    ret->outcome = (struct adl_outcome){
        .end = (uint8_t)end,
        .energy_j = job->energy_j,
        .run_us = job->run_us,
        .ideal_us = job->ideal_us,
        .steps =
            end != ADL_END_COMPLETED ? job->steps * (job->remaining < 1.0 ? 1.0 - job->remaining : 0.0) : job->steps,
    };
    job->phase = SIM_GONE;
    world->live_jobs--;
    if (!world->live)
        adl_sim_free_slot(world, slot);
}

static int finish(struct adl_world_sim *world, uint32_t slot, struct adl_event *ret)
{
    if (adl_sim_leave(world, slot))
        return ADL_ENOMEM;
    report_end(world, slot, world->jobs[slot].out_of_time ? ADL_END_TIMEOUT : ADL_END_COMPLETED, ret);
    return 0;
}

/* True while an event about a job can still occur without a command. */
static bool alive(const struct adl_world_sim *world)
{
    return world->more_arrivals || world->held_jobs > 0 ||
           (world->live_jobs > 0 && (world->repairs > 0 || world->wakes > 0));
}

/* Reports the speeds of jobs whose speed did not change since the last telemetry. */
static int post_progress(struct adl_world_sim *world)
{
    for (uint32_t gpu = 0; gpu < world->scenario->cluster.gpu_count; gpu++)
        for (int place = 0; place < 2; place++) {
            const uint32_t slot = world->gpus[gpu].job[place];
            const double steps_per_s =
                slot != ADL_NONE && world->jobs[slot].first_gpu == gpu ? adl_sim_steady_steps_per_s(world, slot) : 0;
            if (!(steps_per_s > 0))
                continue;
            const struct pending_event report = {
                .kind = ADL_EVENT_PROGRESS,
                .ref = slot,
                .value = adl_sampler_progress(&world->sampler, steps_per_s),
                .steps_left = world->scenario->telemetry.steps_left ? adl_sim_steps_left(world, slot) : 0};
            if (adl_sim_post(world, report))
                return ADL_ENOMEM;
        }
    return 0;
}

/* Processes one event of the heap. 1: *ret is an event; 0: nothing to report (it may have posted events); negative. */
static int process_next(struct adl_world_sim *world, struct adl_event *ret)
{
    const struct adl_heap_item item = adl_heap_pop(&world->heap);
    const uint32_t ref = (uint32_t)item.tag;
    if (adl_sim_stale(world, &item))
        return 0;
    const enum sim_event what = (enum sim_event)(item.tag >> 60);
    world->now_us = item.time_us;
    switch (what) {
    case SIM_EVENT_FINISH:
        return finish(world, ref, ret) ? ADL_ENOMEM : 1;
    case SIM_EVENT_EVICT:
        *ret = (struct adl_event){.kind = ADL_EVENT_EVICT, .job = ref, .gpu = ADL_NONE};
        if (adl_sim_evict(world, ref, false))
            return ADL_ENOMEM;
        ret->evict.remaining = adl_sim_revealed_remaining(world, ref);
        return 1;
    case SIM_EVENT_RESUME:
        return adl_sim_set_phase(world, ref, SIM_RUNNING);
    case SIM_EVENT_GPU_UP:
    case SIM_EVENT_NODE_UP:
    case SIM_EVENT_GPU_FAIL:
    case SIM_EVENT_NODE_FAIL:
    case SIM_EVENT_DRAIN:
    case SIM_EVENT_THROTTLE:
    case SIM_EVENT_UPDATE:
        return adl_sim_fault(world, what, ref);
    case SIM_EVENT_POWER_LIMIT:
        world->repairs--;
        *ret = (struct adl_event){.kind = ADL_EVENT_POWER_LIMIT, .job = ADL_NONE, .gpu = ADL_NONE};
        ret->limit_w = world->scenario->power_limits[ref].limit_w;
        return 1;
    case SIM_EVENT_WAKE:
        world->wakes--;
        *ret = (struct adl_event){.kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE};
        return 1;
    case SIM_EVENT_TELEMETRY:
        world->sweep = 0;
        world->sweep_end = world->scenario->cluster.gpu_count;
        world->sweep_kind = ADL_EVENT_TELEMETRY;
        if (world->scenario->telemetry.progress && post_progress(world))
            return ADL_ENOMEM;
        world->swept_us = world->now_us;
        return adl_sim_schedule(world, world->now_us + adl_sim_us(world->scenario->telemetry.interval_s),
                                SIM_EVENT_TELEMETRY, 0, 0);
    }
    return 0;
}

static void report_gpu(struct adl_world_sim *world, uint32_t gpu, struct adl_event *ret)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    const uint32_t type = adl_gpu_type_of(cluster, gpu);
    *ret = (struct adl_event){.kind = world->sweep_kind, .job = ADL_NONE, .gpu = gpu};
    if (world->sweep_kind == ADL_EVENT_METER) {
        adl_sim_count_power(world, gpu);
        ret->energy_j = world->gpus[gpu].meter.energy_j;
        return;
    }
    const double capped = world->gpus[gpu].job[0] == ADL_NONE ? 1.0 : world->caps[gpu].speed;
    struct adl_gpu_truth truth = {.power_w = world->gpus[gpu].meter.power_w,
                                  .speed = adl_true_drift_speed(&world->drift, gpu, type) * capped,
                                  .throttled = capped < 1 || (world->drift.gpus && world->drift.gpus[gpu].hot)};
    adl_sim_activity(world, gpu, &truth.activity, &truth.bandwidth);
    adl_sampler_read(&world->sampler, gpu, &cluster->types[type], &truth, &ret->telemetry);
}

static void take_posted(struct adl_world_sim *world, struct adl_event *ret)
{
    const struct pending_event *it = &world->outbox[world->outbox_first++];
    if (it->kind == ADL_EVENT_FINISH) {
        report_end(world, it->ref, ADL_END_CANCELLED, ret);
        return;
    }
    *ret = (struct adl_event){.kind = it->kind, .job = it->ref, .gpu = it->ref};
    if (it->kind == ADL_EVENT_PROGRESS) {
        ret->steps_per_s = it->value;
        ret->steps_left = it->steps_left;
    } else if (it->kind == ADL_EVENT_VERSION) {
        static const char before[ADL_VERSION_SIZE] = "0"; /* the first update */
        const int update = (int)it->value;
        const char *version = update < 0 ? before : world->scenario->drift.updates[update].version;
        memcpy(ret->version, version, sizeof ret->version);
    } else if (it->kind == ADL_EVENT_EVICT) {
        ret->evict.remaining = it->value;
        ret->evict.fault = it->fault;
    }
}

static int64_t next_arrival_us(const struct adl_world_sim *world)
{
    return world->arrivals[world->next_arrival].submit_us;
}

int64_t adl_sim_next_time(const struct adl_world_sim *world)
{
    const struct adl_heap_item *top = adl_heap_top(&world->heap);
    const int64_t heap_us = top ? top->time_us : INT64_MAX;
    return world->more_arrivals && next_arrival_us(world) < heap_us ? next_arrival_us(world) : heap_us;
}

/* One step of the world: 1 and an event; 0 if something changed without an event; negative on failure. */
static int step(struct adl_world_sim *world, struct adl_event *ret)
{
    if (world->outbox_first < world->outbox_count) {
        take_posted(world, ret);
        return 1;
    }
    if (world->sweep < world->sweep_end) {
        report_gpu(world, world->sweep++, ret);
        return 1;
    }
    const struct adl_heap_item *top = adl_heap_top(&world->heap);
    if (world->more_arrivals && (!top || next_arrival_us(world) < top->time_us)) {
        world->now_us = next_arrival_us(world);
        const int status = arrive(world, ret);
        return status ? status : 1;
    }
    return process_next(world, ret);
}

/* Processes the events of this instant that are not reported, so that `more` is exact. */
static int process_silent(struct adl_world_sim *world)
{
    struct adl_event none;
    for (const struct adl_heap_item *top;
         !adl_sim_reports_waiting(world) && (top = adl_heap_top(&world->heap)) && top->time_us == world->now_us;) {
        const enum sim_event what = (enum sim_event)(top->tag >> 60);
        const bool silent = what == SIM_EVENT_RESUME || (what >= SIM_EVENT_GPU_UP && what <= SIM_EVENT_UPDATE);
        if (!silent && !adl_sim_stale(world, top))
            break;
        if (process_next(world, &none))
            return ADL_ENOMEM;
    }
    return 0;
}

/* True if the next event belongs to the instant of this event. With one_by_one, only the evictions of one plan do. */
static bool more_follows(const struct adl_world_sim *world, const struct adl_event *event)
{
    if (world->ended || adl_sim_next_time(world) != world->now_us)
        return false;
    const struct adl_heap_item *top = adl_heap_top(&world->heap);
    return !world->scenario->one_by_one || (event->kind == ADL_EVENT_EVICT && top && top->time_us == world->now_us &&
                                            (enum sim_event)(top->tag >> 60) == SIM_EVENT_EVICT);
}

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct adl_world_sim *world = self;
    int status = 0;
    while (status == 0) {
        if (world->live) {
            if (!adl_sim_due(world))
                return 0;
        } else if (!adl_sim_reports_waiting(world) && !alive(world)) {
            if (world->ended)
                return 0;
            world->ended = true;
            world->sweep = 0;
            world->sweep_end = world->scenario->cluster.gpu_count;
            world->sweep_kind = ADL_EVENT_METER;
        }
        status = step(world, ret);
    }
    if (status > 0 && process_silent(world))
        status = ADL_ENOMEM;
    if (world->source_failed)
        return adl_fail(err, ADL_EINVAL, "%s", world->source_error.text);
    if (status < 0)
        return adl_fail(err, status, "out of memory in the simulator with %u live jobs", world->live_jobs);
    ret->time_us = world->now_us;
    ret->more = adl_sim_reports_waiting(world) || more_follows(world, ret) || (world->live && adl_sim_due_now(world));
    return 1;
}

static int submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct adl_world_sim *world = self;
    int status = 0;
    if (command->kind == ADL_COMMAND_WAKE) {
        world->wakes++;
        status = adl_sim_schedule(world, command->time_us, SIM_EVENT_WAKE, 0, 0);
    } else if (command->kind == ADL_COMMAND_START) {
        status = adl_sim_start(world, command, gpus);
    } else if (command->kind == ADL_COMMAND_CAP) {
        status = adl_sim_cap(world, command, gpus);
    } else {
        status = adl_sim_stop(world, command->job);
    }
    return status ? adl_fail(err, status, "out of memory in the simulator") : 0;
}

/* The next event and those that may become the next one. Their own rows are fetched here, and that of the next job. */
static uint32_t upcoming(const void *self, uint32_t *ret_jobs, uint32_t most)
{
    const struct adl_world_sim *world = self;
    uint32_t count = 0;
    if (world->free_slot != ADL_NONE)
        __builtin_prefetch(&world->runtime_us[(size_t)world->free_slot * world->scenario->cluster.type_count], 1);
    for (size_t i = 0; i < world->heap.count && count < most; i++) {
        const struct adl_heap_item *item = &world->heap.items[i];
        const uint32_t slot = (uint32_t)item->tag;
        if ((enum sim_event)(item->tag >> 60) != SIM_EVENT_FINISH)
            continue;
        const char *job = (const char *)&world->jobs[slot];
        if (count == 0 && world->jobs[slot].first_gpu != ADL_NONE) {
            const struct sim_gpu *gpu = &world->gpus[world->jobs[slot].first_gpu];
            __builtin_prefetch(gpu, 1);
            __builtin_prefetch(&gpu->down, 1); /* which may be on the next line */
        }
        __builtin_prefetch(job, 1);
        __builtin_prefetch(job + 64, 1);
        ret_jobs[count++] = slot;
    }
    return count;
}

const struct adl_world_ops adl_world_sim_ops = {
    .name = "sim", .next_event = next_event, .submit = submit, .upcoming = upcoming};

int adl_world_sim_create(const struct adl_scenario *scenario, uint64_t seed, int regime, struct adl_world_sim **ret,
                         struct adl_error *err)
{
    struct adl_job_source source;
    const struct adl_job_supply supply = adl_workload_supply(scenario);
    const int status = supply.open(supply.self, seed, &source, err);
    return status ? status : adl_world_sim_create_from(scenario, source, seed, regime, ret, err);
}

/* Initializes a world: empty, with its first events scheduled and the first job fetched. */
static int begin(struct adl_world_sim *world, uint64_t seed, struct adl_error *err)
{
    const struct adl_scenario *scenario = world->scenario;
    adl_rng_seed(&world->faults, seed, "faults");
    for (uint32_t g = 0; g < scenario->cluster.gpu_count; g++) {
        world->gpus[g] = (struct sim_gpu){.job = {ADL_NONE, ADL_NONE}, .meter.since_us = world->now_us};
        world->caps[g] = (struct sim_cap){0, 1.0};
        adl_sim_set_power(world, g);
    }
    if (adl_sim_schedule_faults(world) ||
        (scenario->telemetry.interval_s > 0 &&
         adl_sim_schedule(world, world->now_us + adl_sim_us(scenario->telemetry.interval_s), SIM_EVENT_TELEMETRY, 0,
                          0)))
        return adl_fail(err, ADL_ENOMEM, "out of memory for the simulator");
    return fetch(world) ? adl_fail(err, ADL_EINVAL, "%s", world->source_error.text) : 0;
}

int adl_world_sim_create_from(const struct adl_scenario *scenario, struct adl_job_source source, uint64_t seed,
                              int regime, struct adl_world_sim **ret, struct adl_error *err)
{
    struct adl_world_sim *world = calloc(1, sizeof *world);
    if (!world) {
        source.close(source.self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for the simulator");
    }
    world->scenario = scenario;
    world->source = source;
    world->regime = regime;
    world->free_slot = ADL_NONE;
    world->gpus = calloc(scenario->cluster.gpu_count + 1, sizeof *world->gpus);
    world->caps = calloc(scenario->cluster.gpu_count + 1, sizeof *world->caps);
    if (!world->gpus || !world->caps || adl_true_drift_create(&world->drift, scenario, seed) ||
        adl_sampler_create(&world->sampler, scenario, seed)) {
        adl_world_sim_destroy(world);
        return adl_fail(err, ADL_ENOMEM, "out of memory for a simulated cluster of %u GPUs",
                        scenario->cluster.gpu_count);
    }
    world->steady = !world->drift.gpus && scenario->drift.update_count == 0;
    const int status = begin(world, seed, err);
    if (status) {
        adl_world_sim_destroy(world);
        return status;
    }
    *ret = world;
    return 0;
}

int adl_sim_restart(struct adl_world_sim *world, int64_t now_us, uint64_t seed, struct adl_error *err)
{
    if (!world->source.rewind || world->source.rewind(world->source.self, seed))
        return adl_fail(err, ADL_EINVAL, "these jobs cannot be restarted with another seed");
    adl_true_drift_reset(&world->drift, world->scenario, seed);
    adl_sampler_reset(&world->sampler, world->scenario, seed);
    world->heap.count = 0;
    world->now_us = now_us;
    world->next_arrival = 0;
    world->source_failed = world->ended = false;
    world->job_count = world->live_jobs = world->held_jobs = world->wakes = world->repairs = world->shared_gpus = 0;
    world->capped_gpus = 0;
    world->free_slot = ADL_NONE;
    world->outbox_first = world->outbox_count = 0;
    world->sweep = world->sweep_end = 0;
    world->swept_us = 0;
    return begin(world, seed, err);
}

int adl_world_sim_reset(struct adl_world_sim *world, uint64_t seed, struct adl_error *err)
{
    return adl_sim_restart(world, 0, seed, err);
}

int adl_world_sim_reserve(struct adl_world_sim *world, size_t jobs)
{
    const struct adl_cluster *cluster = &world->scenario->cluster;
    /* A job leaves at most a finish and a stale event behind, a GPU or node one event each. */
    const size_t events = 4 * jobs + 4 * (size_t)cluster->gpu_count + cluster->node_count + ADL_UPDATES_MAX + 1;
    return grow_jobs(world, jobs) || adl_heap_reserve(&world->heap, events) ||
                   adl_grow((void **)&world->outbox, &world->outbox_capacity, 3 * (size_t)cluster->gpu_count,
                            sizeof *world->outbox)
               ? ADL_ENOMEM
               : 0;
}

static int grow_like(struct adl_world_sim *to, const struct adl_world_sim *from)
{
    return (from->job_capacity > to->job_capacity && grow_jobs(to, from->job_capacity)) ||
                   adl_heap_reserve(&to->heap, from->heap.count) ||
                   adl_grow((void **)&to->outbox, &to->outbox_capacity, from->outbox_count, sizeof *to->outbox)
               ? ADL_ENOMEM
               : 0;
}

int adl_world_sim_copy(struct adl_world_sim *to, const struct adl_world_sim *from, struct adl_error *err)
{
    const uint32_t gpus = from->scenario->cluster.gpu_count;
    assert(!to->adopts && !from->adopts);
    if (!from->source.copy || from->source.copy(to->source.self, from->source.self))
        return adl_fail(err, ADL_EINVAL, "a world whose jobs come from a trace cannot be copied");
    if (grow_like(to, from))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a copy of the simulator with %u live jobs",
                        from->live_jobs);
    const struct adl_world_sim own = *to;
    *to = *from;
    to->scenario = own.scenario;
    to->source = own.source;
    to->heap = own.heap;
    to->heap.count = from->heap.count;
    memcpy(to->heap.items, from->heap.items, from->heap.count * sizeof *to->heap.items);
    to->job_capacity = own.job_capacity;
    to->outbox_capacity = own.outbox_capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, from->job_count);
    ADL_COPY_ARRAY(to, own, from, runtime_us, (size_t)from->job_count * from->scenario->cluster.type_count);
    ADL_COPY_ARRAY(to, own, from, gpus, gpus);
    ADL_COPY_ARRAY(to, own, from, caps, gpus);
    ADL_COPY_ARRAY(to, own, from, outbox, from->outbox_count);
    to->drift.model = own.drift.model;
    ADL_COPY_ARRAY(to, own, from, drift.gpus, own.drift.gpus ? gpus : 0);
    to->sampler.model = own.sampler.model;
    ADL_COPY_ARRAY(to, own, from, sampler.temperature_c, own.sampler.temperature_c ? gpus : 0);
    return 0;
}

void adl_world_sim_destroy(struct adl_world_sim *world)
{
    if (!world)
        return;
    adl_heap_clear(&world->heap);
    world->source.close(world->source.self);
    adl_true_drift_clear(&world->drift);
    adl_sampler_clear(&world->sampler);
    free(world->jobs);
    free(world->runtime_us);
    free(world->spanning_us);
    free(world->gpus);
    free(world->caps);
    free(world->outbox);
    free(world);
}
