#include "state/state.h"
#include "base/copy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void set_tables(struct adl_state *state)
{
    const struct adl_cluster *cluster = state->cluster;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        state->gpus[g] = (struct adl_gpu_use){
            .job = {ADL_NONE, ADL_NONE},
            .free_memory_mib = cluster->types[adl_gpu_type_of(cluster, g)].memory_mib,
        };
        state->telemetry[g].missing = (1u << ADL_READ_COUNT) - 1;
        state->telemetry_us[g] = INT64_MIN;
        state->gpu_speed[g] = 1;
    }
    for (uint32_t n = 0; n < cluster->node_count; n++)
        state->nodes_use[n] = (struct adl_node_use){cluster->nodes[n].cpu_cores, cluster->nodes[n].memory_mib};
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        adl_order_init(&state->running[t]);
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        state->type_speed[t] = 1;
    state->drifted = false;
}

static int create_tables(struct adl_state *state)
{
    const struct adl_cluster *cluster = state->cluster;
    state->gpus = calloc(cluster->gpu_count + 1, sizeof *state->gpus);
    state->nodes_use = calloc(cluster->node_count + 1, sizeof *state->nodes_use);
    state->telemetry = calloc(cluster->gpu_count + 1, sizeof *state->telemetry);
    state->telemetry_us = calloc(cluster->gpu_count + 1, sizeof *state->telemetry_us);
    state->gpu_speed = calloc(cluster->gpu_count + 1, sizeof *state->gpu_speed);
    state->running = calloc(ADL_TYPES_MAX, sizeof *state->running);
    if (!state->gpus || !state->nodes_use || !state->running || !state->telemetry || !state->telemetry_us ||
        !state->gpu_speed)
        return ADL_ENOMEM;
    set_tables(state);
    const int status = adl_pool_create(&state->pool, cluster);
    return status ? status : adl_queue_create(&state->queue);
}

int adl_state_create(const struct adl_cluster *cluster, struct adl_state **ret)
{
    struct adl_state *state = calloc(1, sizeof *state);
    if (!state)
        return ADL_ENOMEM;
    state->cluster = cluster;
    if (create_tables(state)) {
        adl_state_destroy(state);
        return ADL_ENOMEM;
    }
    *ret = state;
    return 0;
}

void adl_state_destroy(struct adl_state *state)
{
    if (!state)
        return;
    adl_pool_clear(&state->pool);
    adl_queue_clear(&state->queue);
    free(state->jobs);
    free(state->runtime_us);
    free(state->spanning_us);
    free(state->nodes);
    free(state->gpus);
    free(state->nodes_use);
    free(state->running);
    free(state->telemetry);
    free(state->telemetry_us);
    free(state->gpu_speed);
    free(state);
}

static int grow_jobs(struct adl_state *state, size_t count)
{
    const size_t row_size = state->cluster->type_count * sizeof *state->runtime_us;
    size_t jobs = state->job_capacity, nodes = jobs, rows = jobs, spanning = jobs;
    if (adl_grow((void **)&state->jobs, &jobs, count, sizeof *state->jobs) ||
        adl_grow((void **)&state->nodes, &nodes, count, sizeof *state->nodes) ||
        adl_grow((void **)&state->runtime_us, &rows, count, row_size) ||
        adl_grow((void **)&state->spanning_us, &spanning, count, row_size))
        return ADL_ENOMEM;
    for (size_t slot = state->job_capacity; slot < jobs; slot++)
        state->jobs[slot].phase = ADL_PHASE_NONE;
    state->job_capacity = jobs;
    state->queue.nodes = state->nodes;
    return 0;
}

void adl_state_reset(struct adl_state *state)
{
    set_tables(state);
    for (size_t slot = 0; slot < state->job_capacity; slot++)
        state->jobs[slot].phase = ADL_PHASE_NONE;
    adl_pool_reset(&state->pool);
    adl_queue_reset(&state->queue);
    state->now_us = 0;
    state->running_jobs = state->stopping_jobs = state->busy_gpus = state->down_gpus = 0;
    state->releases = state->revisions = 0;
    state->unrevised = false;
}

/* Slots beyond those of the other stay, unused. */
static void copy_jobs(struct adl_state *to, const struct adl_state *own, const struct adl_state *from)
{
    const size_t types = from->cluster->type_count;
    ADL_COPY_ARRAY(to, *own, from, jobs, from->job_capacity);
    ADL_COPY_ARRAY(to, *own, from, nodes, from->job_capacity);
    ADL_COPY_ARRAY(to, *own, from, runtime_us, from->job_capacity * types);
    ADL_COPY_ARRAY(to, *own, from, spanning_us, from->job_capacity * types);
    to->job_capacity = own->job_capacity;
    for (size_t slot = from->job_capacity; slot < to->job_capacity; slot++)
        to->jobs[slot].phase = ADL_PHASE_NONE;
}

int adl_state_copy(struct adl_state *to, const struct adl_state *from)
{
    const uint32_t gpus = from->cluster->gpu_count;
    if (from->job_capacity > to->job_capacity && grow_jobs(to, from->job_capacity))
        return ADL_ENOMEM;
    if (adl_queue_copy(&to->queue, &from->queue, to->nodes))
        return ADL_ENOMEM;
    adl_pool_copy(&to->pool, &from->pool);
    const struct adl_state own = *to;
    *to = *from;
    to->cluster = own.cluster;
    to->belief = own.belief;
    to->queue = own.queue;
    to->pool = own.pool;
    copy_jobs(to, &own, from);
    ADL_COPY_ARRAY(to, own, from, gpus, gpus);
    ADL_COPY_ARRAY(to, own, from, nodes_use, from->cluster->node_count);
    ADL_COPY_ARRAY(to, own, from, running, ADL_TYPES_MAX);
    ADL_COPY_ARRAY(to, own, from, telemetry, gpus);
    ADL_COPY_ARRAY(to, own, from, telemetry_us, gpus);
    ADL_COPY_ARRAY(to, own, from, gpu_speed, gpus);
    return 0;
}

int adl_state_reserve(struct adl_state *state, size_t jobs)
{
    if (jobs > state->job_capacity && grow_jobs(state, jobs))
        return ADL_ENOMEM;
    return adl_queue_reserve(&state->queue, jobs);
}

/* Member by member: a literal would clear the row first, and loads would wait for its parts to be stored. */
static void set_pending(const struct adl_state *state, struct adl_job *job, const struct adl_job_spec *spec,
                        uint32_t eligible)
{
    job->spec = *spec;
    job->submit_us = state->now_us;
    job->start_us = job->expected_us = job->stop_us = job->attained_us = 0;
    job->slowest = 0;
    job->remaining = 1.0;
    job->eligible = eligible;
    job->lane = job->first_gpu = job->bank = ADL_NONE;
    job->type = 0;
    job->phase = ADL_PHASE_PENDING;
    job->reports = false;
    job->attempts = 0;
}

int adl_state_admit(struct adl_state *state, uint32_t slot, const struct adl_job_spec *spec, const int64_t *runtime_us)
{
    const struct adl_cluster *cluster = state->cluster;
    if (slot >= state->job_capacity && grow_jobs(state, (size_t)slot + 1))
        return ADL_ENOMEM;
    struct adl_job *job = &state->jobs[slot];
    if (job->phase != ADL_PHASE_NONE)
        return ADL_EINVAL;
    uint32_t fits = 0;
    int64_t *row = &state->runtime_us[(size_t)slot * cluster->type_count],
            *across = &state->spanning_us[(size_t)slot * cluster->type_count];
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        row[t] = across[t] = runtime_us[t];
        fits |= (uint32_t)((runtime_us[t] > 0) & (spec->gpu_memory_mib <= cluster->types[t].memory_mib)) << t;
    }
    set_pending(state, job, spec, spec->types & fits);
    return 0;
}

void adl_state_set_spanning(struct adl_state *state, uint32_t slot, const int64_t *spanning_us)
{
    const size_t types = state->cluster->type_count;
    memcpy(&state->spanning_us[slot * types], spanning_us, types * sizeof *spanning_us);
}

int64_t adl_state_shortest_us(const struct adl_state *state, uint32_t slot)
{
    int64_t shortest = INT64_MAX;
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const int64_t there = adl_state_remaining_us(state, slot, (uint32_t)__builtin_ctz(left));
        shortest = there < shortest ? there : shortest;
    }
    return shortest;
}

int adl_state_enqueue(struct adl_state *state, uint32_t slot, int64_t rank)
{
    struct adl_job *job = &state->jobs[slot];
    assert(job->phase == ADL_PHASE_PENDING && job->lane == ADL_NONE);
    const uint32_t lane = adl_queue_lane(&state->queue, &job->spec);
    if (lane == ADL_NONE)
        return ADL_ENOMEM;
    job->lane = lane;
    adl_queue_push(&state->queue, slot, lane, rank, adl_state_shortest_us(state, slot));
    return 0;
}

/* What the GPUs of one bank that a gang takes or leaves have in common. */
struct gang {
    struct adl_gpu_use *uses;
    uint32_t slot;
    int32_t memory_mib;
    struct adl_bitmap *half; /* NULL if the job does not share */
};

static struct gang gang_of(struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    struct adl_bitmap *half = job->spec.flags & ADL_JOB_SHARE ? &state->pool.half[job->type] : NULL;
    return (struct gang){state->gpus, slot, job->spec.gpu_memory_mib, half};
}

/* Places a job that shares on one GPU; true if the GPU was free before. *link: where the chain continues. */
static inline bool occupy(const struct gang *gang, uint32_t gpu, uint32_t **link)
{
    struct adl_gpu_use *use = &gang->uses[gpu];
    const uint32_t place = use->job[0] == ADL_NONE ? 0 : 1;
    assert(use->job[place] == ADL_NONE && !use->down);
    use->job[place] = gang->slot;
    use->free_memory_mib -= gang->memory_mib;
    **link = gpu;
    *link = &use->next_gpu[place];
    if (place == 0)
        adl_bitmap_add(gang->half, gpu);
    else
        adl_bitmap_remove(gang->half, gpu);
    return place == 0;
}

/* Puts a job into the order of expected ends, if anyone reads that. */
static void track(struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    if (state->sorts_running)
        adl_order_insert_later(state->nodes, &state->running[job->type], slot, job->expected_us,
                               state->running_sequence++, 0);
    else if (state->track_running)
        adl_order_insert(state->nodes, &state->running[job->type], slot, job->expected_us, state->running_sequence++,
                         0);
}

/* Takes cores and memory for that many GPUs of a bank, of which those of the mask were free. A negative number gives
 * them back and frees the mask. GPUs of one bank are usually consecutive in a gang, so each bank is updated once. */
static void account(struct adl_state *state, uint32_t bank, const struct adl_job_spec *spec, int32_t gpus,
                    uint64_t mask)
{
    struct adl_node_use *node = &state->nodes_use[state->cluster->banks[bank].node];
    node->free_cores -= gpus * spec->cpu_cores;
    node->free_memory_mib -= gpus * spec->memory_mib;
    if (!mask)
        return;
    const uint32_t type = state->cluster->banks[bank].type, free_before = state->pool.free_gpus[type];
    if (gpus > 0)
        adl_pool_take(&state->pool, bank, mask);
    else
        adl_pool_give(&state->pool, bank, mask);
    state->busy_gpus += free_before - state->pool.free_gpus[type];
}

void adl_state_start(struct adl_state *state, uint32_t slot, const uint32_t *gpus)
{
    struct adl_job *job = &state->jobs[slot];
    assert(job->phase == ADL_PHASE_PENDING && job->lane != ADL_NONE);
    adl_queue_remove(&state->queue, slot, job->lane);
    job->lane = ADL_NONE;
    job->phase = ADL_PHASE_RUNNING;
    job->bank = state->cluster->gpu_bank[gpus[0]];
    job->type = (uint16_t)state->cluster->banks[job->bank].type;
    job->start_us = state->now_us;
    job->attempts++;
    state->running_jobs++;

    const struct gang gang = gang_of(state, slot);
    const uint32_t count = job->spec.gpus;
    uint32_t *link = &job->first_gpu;
    const uint32_t node = state->cluster->banks[job->bank].node;
    bool spans = false;
    for (uint32_t i = 0; i < count;) {
        const uint32_t bank = state->cluster->gpu_bank[gpus[i]], before = i;
        const struct adl_bank it = state->cluster->banks[bank];
        uint64_t mask = 0;
        spans |= it.node != node;
        if (gang.half)
            for (uint32_t at; i < count && (at = gpus[i] - it.gpu_first) < it.gpu_count; i++)
                mask |= (uint64_t)occupy(&gang, gpus[i], &link) << at;
        else /* alone: the pool asserts that they are free */
            for (uint32_t at; i < count && (at = gpus[i] - it.gpu_first) < it.gpu_count; i++) {
                struct adl_gpu_use *use = &gang.uses[gpus[i]];
                use->job[0] = slot;
                use->free_memory_mib -= gang.memory_mib;
                *link = gpus[i];
                link = &use->next_gpu[0];
                mask |= UINT64_C(1) << at;
            }
        account(state, bank, &job->spec, (int32_t)(i - before), mask);
    }
    *link = ADL_NONE;
    const int64_t *whole_us = spans ? state->spanning_us : state->runtime_us;
    job->expected_us =
        state->now_us + adl_state_left_us(job, whole_us[(size_t)slot * state->cluster->type_count + job->type]);
    job->slowest = 1;
    state->unrevised |= state->drifted;
    track(state, slot);
}

static void set_end(struct adl_state *state, uint32_t slot, int64_t expected_us)
{
    struct adl_job *job = &state->jobs[slot];
    job->expected_us = expected_us;
    if (!state->track_running)
        return;
    adl_order_remove(state->nodes, &state->running[job->type], slot);
    track(state, slot);
}

void adl_state_began(struct adl_state *state, uint32_t slot, int64_t start_us)
{
    struct adl_job *job = &state->jobs[slot];
    if (job->phase != ADL_PHASE_RUNNING || start_us >= job->start_us)
        return;
    const int64_t earlier_us = job->start_us - start_us;
    job->start_us = start_us;
    set_end(state, slot, job->expected_us - earlier_us);
}

void adl_state_stopping(struct adl_state *state, uint32_t slot)
{
    assert(state->jobs[slot].phase == ADL_PHASE_RUNNING);
    state->jobs[slot].phase = ADL_PHASE_STOPPING;
    state->jobs[slot].stop_us = state->now_us;
    state->stopping_jobs++;
}

/* The GPUs of one bank that a job leaves. */
struct leaving {
    uint64_t empty, down; /* bit i: GPU gpu_first + i has no job now; of these, those that are down */
    int32_t count;
    uint32_t next_gpu; /* the first of the job's GPUs beyond the bank, or ADL_NONE, which is in no bank */
};

/* Removes a job that does not share from its GPUs of a bank, of which gpu is the first. */
static struct leaving vacate(const struct gang *gang, const struct adl_bank *bank, uint32_t gpu)
{
    struct leaving left = {0};
    for (uint32_t at; (at = gpu - bank->gpu_first) < bank->gpu_count; left.count++) {
        struct adl_gpu_use *use = &gang->uses[gpu];
        assert(use->job[1] == ADL_NONE);
        use->job[0] = ADL_NONE;
        use->free_memory_mib += gang->memory_mib;
        left.empty |= UINT64_C(1) << at;
        left.down |= (uint64_t)use->down << at;
        gpu = use->next_gpu[0];
    }
    left.next_gpu = gpu;
    return left;
}

/* Removes a job that shares from one GPU; true if the GPU has no job now. Writes the next GPU of the job. A GPU that is
 * down is not in the bitmap of GPUs to be shared. */
static bool vacate_shared_gpu(const struct gang *gang, uint32_t gpu, uint32_t *ret_next_gpu)
{
    struct adl_gpu_use *use = &gang->uses[gpu];
    const uint32_t place = use->job[0] == gang->slot ? 0 : 1;
    const bool empty = use->job[1] == ADL_NONE;
    *ret_next_gpu = use->next_gpu[place];
    use->free_memory_mib += gang->memory_mib;
    use->job[0] = use->job[1 - place];
    use->next_gpu[0] = use->next_gpu[1 - place];
    use->job[1] = ADL_NONE;
    if (!use->down && empty)
        adl_bitmap_remove(gang->half, gpu);
    else if (!use->down)
        adl_bitmap_add(gang->half, gpu); /* a job that shared before may share again */
    return empty;
}

static struct leaving vacate_shared(const struct gang *gang, const struct adl_bank *bank, uint32_t gpu)
{
    struct leaving left = {0};
    for (uint32_t at, next; (at = gpu - bank->gpu_first) < bank->gpu_count; gpu = next, left.count++) {
        const bool empty = vacate_shared_gpu(gang, gpu, &next);
        left.empty |= (uint64_t)empty << at;
        left.down |= (uint64_t)(empty && gang->uses[gpu].down) << at;
    }
    left.next_gpu = gpu;
    return left;
}

/* Frees the resources of a running job. */
static void release(struct adl_state *state, uint32_t slot)
{
    struct adl_job *job = &state->jobs[slot];
    if (state->track_running)
        adl_order_remove(state->nodes, &state->running[job->type], slot);
    const struct gang gang = gang_of(state, slot);
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE;) {
        const uint32_t bank = gpu == job->first_gpu ? job->bank : state->cluster->gpu_bank[gpu];
        const struct adl_bank *it = &state->cluster->banks[bank];
        const struct leaving left = gang.half ? vacate_shared(&gang, it, gpu) : vacate(&gang, it, gpu);
        for (uint64_t down = left.down; down; down &= down - 1) { /* the pool gets back the others, which counts them */
            state->busy_gpus--;
            state->down_gpus++;
        }
        account(state, bank, &job->spec, -left.count, left.empty & ~left.down);
        gpu = left.next_gpu;
    }
    job->first_gpu = ADL_NONE;
    state->running_jobs--;
    state->stopping_jobs -= job->phase == ADL_PHASE_STOPPING;
    state->releases++;
}

void adl_state_evict(struct adl_state *state, uint32_t slot, double remaining)
{
    struct adl_job *job = &state->jobs[slot];
    assert(job->phase == ADL_PHASE_RUNNING || job->phase == ADL_PHASE_STOPPING);
    release(state, slot);
    job->attained_us += state->now_us - job->start_us;
    job->remaining = remaining;
    job->phase = ADL_PHASE_PENDING;
}

void adl_state_finish(struct adl_state *state, uint32_t slot)
{
    struct adl_job *job = &state->jobs[slot];
    assert(job->phase != ADL_PHASE_NONE);
    if (job->phase == ADL_PHASE_PENDING) {
        adl_queue_remove(&state->queue, slot, job->lane);
        state->releases++; /* nothing became free, but another job may be first in the queue now */
    } else {
        release(state, slot);
    }
    job->phase = ADL_PHASE_NONE;
}

static void pool_change(struct adl_state *state, uint32_t gpu, bool give)
{
    const uint32_t bank = state->cluster->gpu_bank[gpu];
    const uint64_t mask = UINT64_C(1) << (gpu - state->cluster->banks[bank].gpu_first);
    if (give)
        adl_pool_give(&state->pool, bank, mask);
    else
        adl_pool_take(&state->pool, bank, mask);
}

/* True if the only job on a GPU may share it. */
static bool shareable(const struct adl_state *state, const struct adl_gpu_use *use)
{
    return use->job[1] == ADL_NONE && (state->jobs[use->job[0]].spec.flags & ADL_JOB_SHARE);
}

void adl_state_gpu_down(struct adl_state *state, uint32_t gpu)
{
    struct adl_gpu_use *use = &state->gpus[gpu];
    assert(!use->down);
    use->down = true;
    if (use->job[0] == ADL_NONE) {
        state->down_gpus++;
        pool_change(state, gpu, false);
    } else if (shareable(state, use)) {
        adl_bitmap_remove(&state->pool.half[adl_gpu_type_of(state->cluster, gpu)], gpu);
    }
}

void adl_state_gpu_up(struct adl_state *state, uint32_t gpu)
{
    struct adl_gpu_use *use = &state->gpus[gpu];
    assert(use->down);
    use->down = false;
    state->releases++;
    if (use->job[0] == ADL_NONE) {
        state->down_gpus--;
        pool_change(state, gpu, true);
    } else if (shareable(state, use)) {
        adl_bitmap_add(&state->pool.half[adl_gpu_type_of(state->cluster, gpu)], gpu);
    }
}

void adl_state_cap(struct adl_state *state, const uint32_t *gpus, uint32_t gpu_count, double power_w)
{
    for (uint32_t i = 0; i < gpu_count; i++)
        state->gpus[gpus[i]].cap_w = power_w;
}

double adl_state_slowest(const struct adl_state *state, uint32_t slot)
{
    double slowest = 1;
    for (uint32_t gpu = state->jobs[slot].first_gpu; state->drifted && gpu != ADL_NONE;
         gpu = adl_state_next_gpu(state, slot, gpu))
        slowest = state->gpu_speed[gpu] < slowest ? state->gpu_speed[gpu] : slowest;
    return slowest;
}

/* What is left takes longer, or less long, by what the speed of its slowest GPU was and is. A job that has outlived its
 * prediction stays so. */
static void revise_end(struct adl_state *state, uint32_t slot)
{
    struct adl_job *job = &state->jobs[slot];
    const double slowest = adl_state_slowest(state, slot);
    const int64_t left_us = job->expected_us - state->now_us;
    if (job->phase != ADL_PHASE_RUNNING || slowest == job->slowest)
        return;
    const double left = (double)left_us * job->slowest / slowest;
    job->slowest = slowest;
    if (left_us <= 0)
        return;
    set_end(state, slot, state->now_us + (int64_t)(left < ADL_REMAINING_MAX_US ? left : ADL_REMAINING_MAX_US));
    state->revisions++;
    state->releases++; /* nothing became free, but reservations move */
}

static void revise_ends_on(struct adl_state *state, uint32_t gpu)
{
    for (uint32_t i = 0; i < ADL_GPU_JOBS_MAX; i++)
        if (state->gpus[gpu].job[i] != ADL_NONE)
            revise_end(state, state->gpus[gpu].job[i]);
}

void adl_state_revise_ends(struct adl_state *state)
{
    state->unrevised = false;
    for (uint32_t g = 0; g < state->cluster->gpu_count; g++)
        if (state->gpu_speed[g] != 1)
            revise_ends_on(state, g);
}

void adl_state_set_gpu_speed(struct adl_state *state, uint32_t gpu, double speed)
{
    state->gpu_speed[gpu] = speed;
    state->drifted = false;
    for (uint32_t g = 0; g < state->cluster->gpu_count && !state->drifted; g++)
        state->drifted = state->gpu_speed[g] != 1;
    revise_ends_on(state, gpu);
}

void adl_state_set_type_speed(struct adl_state *state, uint32_t type, double speed)
{
    const double ratio = state->type_speed[type] / speed;
    const size_t types = state->cluster->type_count;
    state->type_speed[type] = speed;
    for (size_t slot = 0; slot < state->job_capacity; slot++) {
        if (state->jobs[slot].phase != ADL_PHASE_PENDING || !(state->jobs[slot].eligible >> type & 1))
            continue;
        int64_t *here_us = &state->runtime_us[slot * types + type],
                *across_us = &state->spanning_us[slot * types + type];
        *here_us = (int64_t)((double)*here_us * ratio) + 1;
        *across_us = (int64_t)((double)*across_us * ratio) + 1;
    }
}

double adl_state_gang_speed(const struct adl_state *state, uint32_t slot)
{
    return adl_state_slowest(state, slot) * state->type_speed[state->jobs[slot].type];
}

bool adl_state_spans_nodes(const struct adl_state *state, uint32_t slot)
{
    const uint32_t first = state->jobs[slot].first_gpu, node = adl_gpu_node_of(state->cluster, first);
    for (uint32_t gpu = first; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (adl_gpu_node_of(state->cluster, gpu) != node)
            return true;
    return false;
}
