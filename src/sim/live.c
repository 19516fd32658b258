/* live: the simulated world driven from outside: the caller sets the time and adds and removes jobs. */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* True if the counters are to be read next: after each sweep of telemetry. */
static bool meters_due(const struct adl_world_sim *world)
{
    return !adl_sim_reports_waiting(world) && world->swept_us > world->metered_us;
}

static void drop_stale(struct adl_world_sim *world)
{
    for (const struct adl_heap_item *top; (top = adl_heap_top(&world->heap)) && adl_sim_stale(world, top);)
        adl_heap_pop(&world->heap);
}

static int out_of_memory(const struct adl_world_sim *world, struct adl_error *err)
{
    return adl_fail(err, ADL_ENOMEM, "out of memory in the simulator with %u live jobs", world->live_jobs);
}

int64_t adl_world_sim_now_us(const struct adl_world_sim *world)
{
    return world->now_us;
}

int64_t adl_world_sim_next_us(struct adl_world_sim *world)
{
    if (adl_sim_reports_waiting(world) || meters_due(world))
        return world->now_us;
    drop_stale(world);
    return adl_sim_next_time(world);
}

bool adl_sim_due_now(struct adl_world_sim *world)
{
    return adl_world_sim_next_us(world) == world->now_us;
}

bool adl_sim_due(struct adl_world_sim *world)
{
    if (meters_due(world)) {
        world->metered_us = world->swept_us;
        world->sweep = 0;
        world->sweep_end = world->scenario->cluster.gpu_count;
        world->sweep_kind = ADL_EVENT_METER;
    }
    return adl_world_sim_next_us(world) <= world->until_us;
}

int adl_world_sim_advance(struct adl_world_sim *world, int64_t time_us, struct adl_event *ret, struct adl_error *err)
{
    world->live = true;
    world->until_us = time_us;
    const int status = adl_world_sim_ops.next_event(world, ret, err);
    if (status == 0 && time_us > world->now_us)
        world->now_us = time_us;
    return status;
}

int adl_world_sim_inject(struct adl_world_sim *world, const struct adl_true_job *truth, uint32_t *ret_slot)
{
    const uint32_t slot = adl_sim_add_job(world, truth);
    if (slot == ADL_NONE)
        return ADL_ENOMEM;
    *ret_slot = slot;
    return 0;
}

void adl_world_sim_withdraw(struct adl_world_sim *world, uint32_t slot)
{
    assert(world->jobs[slot].phase == SIM_QUEUED);
    world->jobs[slot].phase = SIM_GONE;
    world->live_jobs--;
    adl_sim_free_slot(world, slot);
}

void adl_world_sim_release(struct adl_world_sim *world, uint32_t slot)
{
    assert(world->live && world->jobs[slot].phase == SIM_GONE);
    adl_sim_free_slot(world, slot);
}

/* Before all others: later events about its GPUs must find them free. */
static int post_first(struct adl_world_sim *world, struct pending_event event)
{
    if (adl_sim_post(world, event))
        return ADL_ENOMEM;
    struct pending_event *first = &world->outbox[world->outbox_first];
    memmove(first + 1, first, (world->outbox_count - world->outbox_first - 1) * sizeof *first);
    *first = event;
    return 0;
}

int adl_world_sim_start(struct adl_world_sim *world, uint32_t slot, const uint32_t *gpus, uint16_t gpu_count,
                        struct adl_error *err)
{
    const struct adl_command command = {.kind = ADL_COMMAND_START, .gpu_count = gpu_count, .job = slot};
    assert(world->jobs[slot].phase == SIM_QUEUED && world->jobs[slot].gpus == gpu_count);
    bool whole = true;
    for (uint32_t i = 0; i < gpu_count; i++)
        whole = whole && world->gpus[gpus[i]].down == 0;
    if (whole)
        return adl_world_sim_ops.submit(world, &command, gpus, err);
    const struct pending_event evict = {ADL_EVENT_EVICT, true, slot, adl_sim_revealed_remaining(world, slot), 0};
    return post_first(world, evict) ? out_of_memory(world, err) : 0;
}

/* The event about this job that was not reported yet, or NULL. */
static struct pending_event *find_pending(struct adl_world_sim *world, uint8_t kind, uint32_t slot)
{
    for (uint32_t i = world->outbox_first; i < world->outbox_count; i++)
        if (world->outbox[i].kind == kind && world->outbox[i].ref == slot)
            return &world->outbox[i];
    return NULL;
}

/* Progress not reported yet would name a job that no longer runs. */
static void drop_progress(struct adl_world_sim *world, uint32_t slot)
{
    const struct pending_event *found = find_pending(world, ADL_EVENT_PROGRESS, slot);
    if (!found)
        return;
    struct pending_event *at = &world->outbox[found - world->outbox];
    memmove(at, at + 1, (size_t)(&world->outbox[world->outbox_count] - (at + 1)) * sizeof *at);
    world->outbox_count--;
}

static int cancel(struct adl_world_sim *world, uint32_t slot)
{
    struct sim_job *job = &world->jobs[slot];
    if (job->phase == SIM_QUEUED) {
        struct pending_event *evict = find_pending(world, ADL_EVENT_EVICT, slot);
        if (evict)
            evict->kind = ADL_EVENT_FINISH;
        return 0;
    }
    if (adl_sim_leave(world, slot))
        return ADL_ENOMEM;
    job->phase = SIM_GONE;
    drop_progress(world, slot);
    return post_first(world, (struct pending_event){.kind = ADL_EVENT_FINISH, .ref = slot});
}

int adl_world_sim_stop(struct adl_world_sim *world, uint32_t slot, bool requeue, struct adl_error *err)
{
    const uint8_t phase = world->jobs[slot].phase;
    const struct adl_command command = {.kind = ADL_COMMAND_PREEMPT, .job = slot};
    if (phase == SIM_GONE)
        return 0;
    if (!requeue)
        return cancel(world, slot) ? out_of_memory(world, err) : 0;
    if (phase == SIM_QUEUED || phase == SIM_STOPPING)
        return 0;
    drop_progress(world, slot);
    return adl_world_sim_ops.submit(world, &command, NULL, err);
}

int64_t adl_world_sim_start_us(const struct adl_world_sim *world, uint32_t slot)
{
    return world->jobs[slot].start_us;
}

int64_t adl_world_sim_end_us(const struct adl_world_sim *world, uint32_t slot)
{
    const struct sim_job *job = &world->jobs[slot];
    const struct adl_cluster *cluster = &world->scenario->cluster;
    if (job->phase != SIM_STARTING && job->phase != SIM_RUNNING)
        return INT64_MAX;
    const uint32_t type = adl_gpu_type_of(cluster, job->first_gpu);
    const double whole_us = (double)world->runtime_us[(size_t)slot * cluster->type_count + type];
    const double left_us = job->remaining * (job->phase == SIM_RUNNING ? 1 / job->rate : whole_us);
    const int64_t since_us = job->phase == SIM_RUNNING ? job->since_us : world->now_us, most_us = INT64_MAX / 4;
    const int64_t end_us = since_us + (left_us < (double)most_us ? (int64_t)left_us : most_us);
    const bool late = world->scenario->kill_at_limit && end_us > job->start_us + job->limit_us;
    return late ? job->start_us + job->limit_us : end_us;
}

double adl_world_sim_energy_j(struct adl_world_sim *world, uint32_t gpu)
{
    adl_sim_count_power(world, gpu);
    return world->gpus[gpu].meter.energy_j;
}

int64_t adl_world_sim_memory_mib(const struct adl_world_sim *world, uint32_t gpu)
{
    int64_t memory_mib = 0;
    for (int place = 0; place < 2; place++)
        if (world->gpus[gpu].job[place] != ADL_NONE)
            memory_mib += world->scenario->classes[world->jobs[world->gpus[gpu].job[place]].class_index].gpu_memory_mib;
    return memory_mib;
}
