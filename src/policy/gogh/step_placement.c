#include "policy/gogh/step_placement.h"
#include "base/copy.h"

#include <stdlib.h>

enum { UNAVAILABLE, FREE_NOW, FREE_LATER }; /* later: once the jobs that hold the GPU have left */

struct adl_node_room {
    int64_t cores, memory_mib;         /* once stopping jobs have left and reserved jobs have started */
    int64_t cores_now, memory_mib_now; /* free now */
};

int adl_step_placement_create(struct adl_step_placement *ret, const struct adl_ilp_model *ilp)
{
    const struct adl_cluster *cluster = ilp->cluster;
    struct adl_step_placement it = {.cluster = cluster};
    it.availability = calloc((size_t)cluster->gpu_count + 1, sizeof *it.availability);
    it.next_gpu = calloc((size_t)cluster->gpu_count + 1, sizeof *it.next_gpu);
    it.assigned_job = calloc((size_t)cluster->gpu_count + 1, sizeof *it.assigned_job);
    it.rooms = calloc((size_t)cluster->node_count + 1, sizeof *it.rooms);
    it.list = calloc((size_t)ilp->job_capacity + 1, sizeof *it.list);
    if (!it.availability || !it.next_gpu || !it.assigned_job || !it.rooms || !it.list) {
        adl_step_placement_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_step_placement_clear(struct adl_step_placement *placement)
{
    free(placement->availability);
    free(placement->next_gpu);
    free(placement->assigned_job);
    free(placement->rooms);
    free(placement->list);
    *placement = (struct adl_step_placement){0};
}

void adl_step_placement_copy(struct adl_step_placement *to, const struct adl_step_placement *from)
{
    const struct adl_step_placement own = *to;
    const uint32_t gpus = from->cluster->gpu_count;
    *to = *from;
    ADL_COPY_ARRAY(to, own, from, availability, gpus);
    ADL_COPY_ARRAY(to, own, from, next_gpu, gpus);
    ADL_COPY_ARRAY(to, own, from, assigned_job, gpus);
    ADL_COPY_ARRAY(to, own, from, rooms, from->cluster->node_count);
    ADL_COPY_ARRAY(to, own, from, list, from->count);
}

/* ---- available GPUs, cores and memory ---- */

static bool leaves(const struct adl_transition_plan *transitions, const struct adl_state *state, uint32_t slot)
{
    if (state->jobs[slot].phase == ADL_PHASE_STOPPING)
        return true;
    for (uint32_t i = 0; i < transitions->stop_count; i++)
        if (transitions->stops[i].job == slot)
            return true;
    return false;
}

static uint8_t availability_of(const struct adl_state *state, const struct adl_transition_plan *transitions,
                               uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down)
        return UNAVAILABLE;
    for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++)
        if (!leaves(transitions, state, use->job[place]))
            return UNAVAILABLE;
    return use->job[0] == ADL_NONE ? FREE_NOW : FREE_LATER;
}

static void release(struct adl_node_room *room, const struct adl_job_spec *spec)
{
    room->cores += spec->cpu_cores;
    room->memory_mib += spec->memory_mib;
}

static void begin_placing(struct adl_step_placement *placement, const struct adl_state *state,
                          const struct adl_gpu_reservations *reservations,
                          const struct adl_transition_plan *transitions)
{
    placement->count = 0;
    for (uint32_t n = 0; n < placement->cluster->node_count; n++) {
        const struct adl_node_use *use = &state->nodes_use[n];
        placement->rooms[n] =
            (struct adl_node_room){use->free_cores, use->free_memory_mib, use->free_cores, use->free_memory_mib};
    }
    for (uint32_t gpu = 0; gpu < placement->cluster->gpu_count; gpu++) {
        const struct adl_gpu_use *use = &state->gpus[gpu];
        struct adl_node_room *room = &placement->rooms[adl_gpu_node_of(placement->cluster, gpu)];
        placement->assigned_job[gpu] = ADL_NONE;
        placement->availability[gpu] =
            reservations->reserved[gpu] ? UNAVAILABLE : availability_of(state, transitions, gpu);
        for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++)
            if (leaves(transitions, state, use->job[place]))
                release(room, &state->jobs[use->job[place]].spec);
    }
    for (uint32_t i = 0; i < reservations->count; i++)
        for (uint32_t gpu = reservations->list[i].first_gpu; gpu != ADL_NONE; gpu = reservations->next_gpu[gpu]) {
            struct adl_node_room *room = &placement->rooms[adl_gpu_node_of(placement->cluster, gpu)];
            room->cores -= state->jobs[reservations->list[i].job].spec.cpu_cores;
            room->memory_mib -= state->jobs[reservations->list[i].job].spec.memory_mib;
        }
}

/* ---- placing one step ---- */

/* Number of GPUs of a bank that the job could use, up to `most`. */
static uint32_t usable(const struct adl_step_placement *placement, const struct adl_job_spec *spec, uint32_t bank,
                       bool now, uint32_t most)
{
    const struct adl_bank *it = &placement->cluster->banks[bank];
    const struct adl_node_room *room = &placement->rooms[it->node];
    int64_t cores = room->cores, memory_mib = room->memory_mib;
    uint32_t count = 0;
    if (now && room->cores_now < cores)
        cores = room->cores_now;
    if (now && room->memory_mib_now < memory_mib)
        memory_mib = room->memory_mib_now;
    for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count < most; gpu++)
        count += placement->availability[gpu] == FREE_NOW || (!now && placement->availability[gpu] == FREE_LATER);
    while (count > 0 && ((int64_t)count * spec->cpu_cores > cores || (int64_t)count * spec->memory_mib > memory_mib))
        count--;
    return count;
}

static void take(struct adl_step_placement *placement, const struct adl_job_spec *spec, struct adl_placed_step *placed,
                 uint32_t gpu)
{
    struct adl_node_room *room = &placement->rooms[adl_gpu_node_of(placement->cluster, gpu)];
    room->cores -= spec->cpu_cores;
    room->memory_mib -= spec->memory_mib;
    if (placed->now) {
        room->cores_now -= spec->cpu_cores;
        room->memory_mib_now -= spec->memory_mib;
    }
    placement->availability[gpu] = UNAVAILABLE;
    placement->assigned_job[gpu] = placed->step.job;
    placement->next_gpu[gpu] = placed->first_gpu;
    placed->first_gpu = gpu;
}

/* A job that starts now takes free GPUs; one that waits for others anyway takes theirs first. */
static void take_from_bank(struct adl_step_placement *placement, const struct adl_job_spec *spec,
                           struct adl_placed_step *placed, uint32_t bank, uint32_t count)
{
    const struct adl_bank *it = &placement->cluster->banks[bank];
    for (uint8_t availability = FREE_LATER; availability >= FREE_NOW; availability--)
        for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count > 0; gpu++)
            if (placement->availability[gpu] == availability && !(placed->now && availability == FREE_LATER)) {
                take(placement, spec, placed, gpu);
                count--;
            }
}

static bool may_span(const struct adl_step_placement *placement, const struct adl_state *state,
                     const struct adl_job_spec *spec, const struct adl_transition_step *step)
{
    if (!step->may_span)
        return false;
    for (uint32_t b = 0; b < placement->cluster->bank_count && state->placement != ADL_PLACEMENT_BEST_FIT; b++)
        if (placement->cluster->banks[b].type == step->type && placement->cluster->banks[b].gpu_count >= spec->gpus)
            return false;
    return true;
}

static bool span(struct adl_step_placement *placement, const struct adl_job_spec *spec, uint32_t type,
                 struct adl_placed_step *placed)
{
    const struct adl_cluster *cluster = placement->cluster;
    uint32_t sum = 0, missing = spec->gpus;
    for (uint32_t b = 0; b < cluster->bank_count && sum < missing; b++)
        sum += cluster->banks[b].type == type ? usable(placement, spec, b, placed->now, missing) : 0;
    if (sum < missing)
        return false;
    while (missing > 0) {
        uint32_t best = ADL_NONE, most = 0;
        for (uint32_t b = 0; b < cluster->bank_count; b++) {
            const uint32_t count =
                cluster->banks[b].type == type ? usable(placement, spec, b, placed->now, missing) : 0;
            best = count > most ? b : best;
            most = count > most ? count : most;
        }
        take_from_bank(placement, spec, placed, best, most);
        missing -= most;
    }
    return true;
}

/* Best fit: in the bank with the fewest available GPUs, else over several banks. */
static bool place_alone(struct adl_step_placement *placement, const struct adl_state *state,
                        struct adl_placed_step *placed)
{
    const struct adl_cluster *cluster = placement->cluster;
    const struct adl_job_spec *spec = &state->jobs[placed->step.job].spec;
    const uint32_t type = placed->step.type;
    uint32_t best = ADL_NONE, fewest = UINT32_MAX;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const uint32_t count = cluster->banks[b].type == type && cluster->banks[b].gpu_count >= spec->gpus
                                   ? usable(placement, spec, b, placed->now, UINT32_MAX)
                                   : 0;
        if (count >= spec->gpus && count < fewest) {
            best = b;
            fewest = count;
        }
    }
    if (best == ADL_NONE)
        return may_span(placement, state, spec, &placed->step) && span(placement, spec, type, placed);
    take_from_bank(placement, spec, placed, best, spec->gpus);
    return true;
}

/* Beside a job that runs and stays there; its present neighbour, if any, has to leave first. */
static bool place_beside(struct adl_step_placement *placement, const struct adl_state *state,
                         const struct adl_gpu_reservations *reservations, const struct adl_transition_plan *transitions,
                         struct adl_placed_step *placed)
{
    const struct adl_transition_step *step = &placed->step;
    const struct adl_job *other = &state->jobs[step->beside];
    const struct adl_job_spec *spec = &state->jobs[step->job].spec;
    if (other->phase != ADL_PHASE_RUNNING || other->type != step->type || leaves(transitions, state, step->beside))
        return false;
    const uint32_t gpu = other->first_gpu, third = adl_state_neighbour(state, step->beside);
    const struct adl_gpu_use *use = &state->gpus[gpu];
    const struct adl_node_room *room = &placement->rooms[adl_gpu_node_of(placement->cluster, gpu)];
    if (third != ADL_NONE && (placed->now || !leaves(transitions, state, third)))
        return false;
    const int64_t left_mib = third == ADL_NONE ? 0 : state->jobs[third].spec.gpu_memory_mib;
    if (use->down || reservations->reserved[gpu] || placement->assigned_job[gpu] != ADL_NONE ||
        use->free_memory_mib + left_mib < spec->gpu_memory_mib || room->cores < spec->cpu_cores ||
        room->memory_mib < spec->memory_mib ||
        (placed->now && (room->cores_now < spec->cpu_cores || room->memory_mib_now < spec->memory_mib)))
        return false;
    take(placement, spec, placed, gpu);
    return true;
}

static bool place(struct adl_step_placement *placement, const struct adl_state *state,
                  const struct adl_gpu_reservations *reservations, const struct adl_transition_plan *transitions,
                  const struct adl_transition_step *step)
{
    const bool waits = state->jobs[step->job].phase == ADL_PHASE_PENDING;
    struct adl_placed_step placed = {.step = *step, .first_gpu = ADL_NONE, .now = waits};
    bool found = false;
    for (int late = waits ? 0 : 1; late < 2 && !found; late++) {
        placed.now = !late;
        found = step->beside != ADL_NONE ? place_beside(placement, state, reservations, transitions, &placed)
                                         : place_alone(placement, state, &placed);
    }
    if (found)
        placement->list[placement->count++] = placed;
    return found;
}

/* ---- the whole plan ---- */

static const struct adl_transition_step *find_placed(const struct adl_step_placement *placement, uint32_t slot)
{
    for (uint32_t i = 0; i < placement->count; i++)
        if (placement->list[i].step.job == slot)
            return &placement->list[i].step;
    return NULL;
}

/* A step that needs this job's cores or memory on its node. */
static const struct adl_transition_step *find_by_node_room(const struct adl_step_placement *placement,
                                                           const struct adl_state *state, uint32_t slot)
{
    for (uint32_t i = 0; i < placement->count; i++) {
        const struct adl_placed_step *placed = &placement->list[i];
        if (placed->now || placed->step.job == slot)
            continue;
        for (uint32_t gpu = placed->first_gpu; gpu != ADL_NONE; gpu = placement->next_gpu[gpu]) {
            const uint32_t node = adl_gpu_node_of(placement->cluster, gpu);
            const struct adl_node_room *room = &placement->rooms[node];
            const struct adl_job_spec *spec = &state->jobs[slot].spec;
            if (node == adl_gpu_node_of(placement->cluster, state->jobs[slot].first_gpu) &&
                (room->cores < spec->cpu_cores || room->memory_mib < spec->memory_mib))
                return &placed->step;
        }
    }
    return NULL;
}

const struct adl_transition_step *adl_step_placement_successor(const struct adl_step_placement *placement,
                                                               const struct adl_state *state, uint32_t slot)
{
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (placement->assigned_job[gpu] != ADL_NONE && placement->assigned_job[gpu] != slot)
            return find_placed(placement, placement->assigned_job[gpu]);
    return find_by_node_room(placement, state, slot);
}

/* A move is needed if the job has a place and it lowers the cost or makes room; a preemption, if it makes room or saves
 * power. */
static bool is_needed(const struct adl_step_placement *placement, const struct adl_state *state,
                      const struct adl_transition_step *stop, bool saves_power)
{
    const bool moves = stop->type < ADL_TYPES_MAX;
    if (moves && !find_placed(placement, stop->job))
        return false;
    if (moves ? stop->cost_w < stop->current_w : saves_power)
        return true;
    return adl_step_placement_successor(placement, state, stop->job) != NULL;
}

static uint16_t gpus_of(const struct adl_state *state, const struct adl_transition_step *step)
{
    return state->jobs[step->job].spec.gpus;
}

/* Largest first, because they are hardest to place; of equals, moves before starts, because they free GPUs. */
static void place_all(struct adl_step_placement *placement, const struct adl_state *state,
                      const struct adl_gpu_reservations *reservations, const struct adl_transition_plan *transitions)
{
    uint32_t start = 0;
    for (uint32_t size = UINT16_MAX; size > 0;) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < transitions->stop_count; i++) {
            const uint32_t gpus = gpus_of(state, &transitions->stops[i]);
            if (gpus == size && transitions->stops[i].type < ADL_TYPES_MAX)
                place(placement, state, reservations, transitions, &transitions->stops[i]);
            next = gpus < size && gpus > next ? gpus : next;
        }
        for (; start < transitions->start_count && gpus_of(state, &transitions->starts[start]) >= size; start++)
            place(placement, state, reservations, transitions, &transitions->starts[start]);
        if (start < transitions->start_count && gpus_of(state, &transitions->starts[start]) > next)
            next = gpus_of(state, &transitions->starts[start]);
        size = next;
    }
}

void adl_step_placement_find(struct adl_step_placement *placement, const struct adl_state *state,
                             const struct adl_gpu_reservations *reservations, struct adl_transition_plan *transitions,
                             bool saves_power)
{
    for (bool again = true; again;) {
        uint32_t kept = 0;
        begin_placing(placement, state, reservations, transitions);
        place_all(placement, state, reservations, transitions);
        for (uint32_t i = 0; i < transitions->stop_count; i++)
            if (is_needed(placement, state, &transitions->stops[i], saves_power))
                transitions->stops[kept++] = transitions->stops[i];
        again = kept < transitions->stop_count;
        transitions->stop_count = kept;
    }
}
