#include "policy/gogh/placing.h"

#include <stdlib.h>

enum { HAD_NOT, HAD_NOW, HAD_SOON }; /* a GPU is not to be had, is free, is held by jobs that are to be stopped */

struct adl_placing_room {
    int64_t cores, memory_mib;         /* when those who are stopped have left and those with claims have come */
    int64_t cores_now, memory_mib_now; /* of what is free now */
};

int adl_placing_create(struct adl_placing *ret, const struct adl_ilp_model *program)
{
    const struct adl_cluster *cluster = program->cluster;
    struct adl_placing it = {.cluster = cluster};
    it.had = calloc((size_t)cluster->gpu_count + 1, sizeof *it.had);
    it.next_gpu = calloc((size_t)cluster->gpu_count + 1, sizeof *it.next_gpu);
    it.taker = calloc((size_t)cluster->gpu_count + 1, sizeof *it.taker);
    it.rooms = calloc((size_t)cluster->node_count + 1, sizeof *it.rooms);
    it.list = calloc((size_t)program->job_capacity + 1, sizeof *it.list);
    if (!it.had || !it.next_gpu || !it.taker || !it.rooms || !it.list) {
        adl_placing_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_placing_clear(struct adl_placing *placing)
{
    free(placing->had);
    free(placing->next_gpu);
    free(placing->taker);
    free(placing->rooms);
    free(placing->list);
    *placing = (struct adl_placing){0};
}

/* ---- what there is ---- */

static bool leaves(const struct adl_transition_plan *transitions, const struct adl_state *state, uint32_t slot)
{
    if (state->jobs[slot].phase == ADL_PHASE_STOPPING)
        return true;
    for (uint32_t i = 0; i < transitions->stop_count; i++)
        if (transitions->stops[i].job == slot)
            return true;
    return false;
}

static uint8_t had_of(const struct adl_state *state, const struct adl_transition_plan *transitions, uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down)
        return HAD_NOT;
    for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++)
        if (!leaves(transitions, state, use->job[place]))
            return HAD_NOT;
    return use->job[0] == ADL_NONE ? HAD_NOW : HAD_SOON;
}

static void give_back(struct adl_placing_room *room, const struct adl_job_spec *spec)
{
    room->cores += spec->cpu_cores;
    room->memory_mib += spec->memory_mib;
}

static void begin_placing(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                          const struct adl_transition_plan *transitions)
{
    placing->count = 0;
    for (uint32_t n = 0; n < placing->cluster->node_count; n++) {
        const struct adl_node_use *use = &state->nodes_use[n];
        placing->rooms[n] =
            (struct adl_placing_room){use->free_cores, use->free_memory_mib, use->free_cores, use->free_memory_mib};
    }
    for (uint32_t gpu = 0; gpu < placing->cluster->gpu_count; gpu++) {
        const struct adl_gpu_use *use = &state->gpus[gpu];
        struct adl_placing_room *room = &placing->rooms[adl_gpu_node_of(placing->cluster, gpu)];
        placing->taker[gpu] = ADL_NONE;
        placing->had[gpu] = claims->withheld[gpu] ? HAD_NOT : had_of(state, transitions, gpu);
        for (int place = 0; place < ADL_GPU_JOBS_MAX && use->job[place] != ADL_NONE; place++)
            if (leaves(transitions, state, use->job[place]))
                give_back(room, &state->jobs[use->job[place]].spec);
    }
    for (uint32_t i = 0; i < claims->count; i++)
        for (uint32_t gpu = claims->list[i].first_gpu; gpu != ADL_NONE; gpu = claims->next_gpu[gpu]) {
            struct adl_placing_room *room = &placing->rooms[adl_gpu_node_of(placing->cluster, gpu)];
            room->cores -= state->jobs[claims->list[i].job].spec.cpu_cores;
            room->memory_mib -= state->jobs[claims->list[i].job].spec.memory_mib;
        }
}

/* ---- a place for one ---- */

/* GPUs of a bank that the job could have, up to `most`. */
static uint32_t usable(const struct adl_placing *placing, const struct adl_job_spec *spec, uint32_t bank, bool now,
                       uint32_t most)
{
    const struct adl_bank *it = &placing->cluster->banks[bank];
    const struct adl_placing_room *room = &placing->rooms[it->node];
    int64_t cores = room->cores, memory_mib = room->memory_mib;
    uint32_t count = 0;
    if (now && room->cores_now < cores)
        cores = room->cores_now;
    if (now && room->memory_mib_now < memory_mib)
        memory_mib = room->memory_mib_now;
    for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count < most; gpu++)
        count += placing->had[gpu] == HAD_NOW || (!now && placing->had[gpu] == HAD_SOON);
    while (count > 0 && ((int64_t)count * spec->cpu_cores > cores || (int64_t)count * spec->memory_mib > memory_mib))
        count--;
    return count;
}

static void take(struct adl_placing *placing, const struct adl_job_spec *spec, struct adl_placed *placed, uint32_t gpu)
{
    struct adl_placing_room *room = &placing->rooms[adl_gpu_node_of(placing->cluster, gpu)];
    room->cores -= spec->cpu_cores;
    room->memory_mib -= spec->memory_mib;
    if (placed->now) {
        room->cores_now -= spec->cpu_cores;
        room->memory_mib_now -= spec->memory_mib;
    }
    placing->had[gpu] = HAD_NOT;
    placing->taker[gpu] = placed->step.job;
    placing->next_gpu[gpu] = placed->first_gpu;
    placed->first_gpu = gpu;
}

/* Who starts now takes free GPUs; who has to wait for others anyway takes theirs first. */
static void take_in(struct adl_placing *placing, const struct adl_job_spec *spec, struct adl_placed *placed,
                    uint32_t bank, uint32_t count)
{
    const struct adl_bank *it = &placing->cluster->banks[bank];
    for (uint8_t had = HAD_SOON; had >= HAD_NOW; had--)
        for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count > 0; gpu++)
            if (placing->had[gpu] == had && !(placed->now && had == HAD_SOON)) {
                take(placing, spec, placed, gpu);
                count--;
            }
}

static bool may_span(const struct adl_placing *placing, const struct adl_state *state, const struct adl_job_spec *spec,
                     uint32_t type)
{
    if (!(spec->flags & ADL_JOB_SPAN) || spec->gpus == 1)
        return false;
    for (uint32_t b = 0; b < placing->cluster->bank_count && state->placement != ADL_PLACEMENT_BEST_FIT; b++)
        if (placing->cluster->banks[b].type == type && placing->cluster->banks[b].gpu_count >= spec->gpus)
            return false;
    return true;
}

static bool span(struct adl_placing *placing, const struct adl_job_spec *spec, uint32_t type, struct adl_placed *placed)
{
    const struct adl_cluster *cluster = placing->cluster;
    uint32_t sum = 0, missing = spec->gpus;
    for (uint32_t b = 0; b < cluster->bank_count && sum < missing; b++)
        sum += cluster->banks[b].type == type ? usable(placing, spec, b, placed->now, missing) : 0;
    if (sum < missing)
        return false;
    while (missing > 0) {
        uint32_t best = ADL_NONE, most = 0;
        for (uint32_t b = 0; b < cluster->bank_count; b++) {
            const uint32_t count = cluster->banks[b].type == type ? usable(placing, spec, b, placed->now, missing) : 0;
            best = count > most ? b : best;
            most = count > most ? count : most;
        }
        take_in(placing, spec, placed, best, most);
        missing -= most;
    }
    return true;
}

/* In the bank with the fewest to spare, else over several. */
static bool place_alone(struct adl_placing *placing, const struct adl_state *state, struct adl_placed *placed)
{
    const struct adl_cluster *cluster = placing->cluster;
    const struct adl_job_spec *spec = &state->jobs[placed->step.job].spec;
    const uint32_t type = placed->step.type;
    uint32_t best = ADL_NONE, fewest = UINT32_MAX;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const uint32_t count = cluster->banks[b].type == type && cluster->banks[b].gpu_count >= spec->gpus
                                   ? usable(placing, spec, b, placed->now, UINT32_MAX)
                                   : 0;
        if (count >= spec->gpus && count < fewest) {
            best = b;
            fewest = count;
        }
    }
    if (best == ADL_NONE)
        return may_span(placing, state, spec, type) && span(placing, spec, type, placed);
    take_in(placing, spec, placed, best, spec->gpus);
    return true;
}

/* Beside a job that runs there already and stays; who shares the GPU with it now has to leave first. */
static bool place_beside(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                         const struct adl_transition_plan *transitions, struct adl_placed *placed)
{
    const struct adl_transition_step *step = &placed->step;
    const struct adl_job *other = &state->jobs[step->beside];
    const struct adl_job_spec *spec = &state->jobs[step->job].spec;
    if (other->phase != ADL_PHASE_RUNNING || other->type != step->type || leaves(transitions, state, step->beside))
        return false;
    const uint32_t gpu = other->first_gpu, third = adl_state_neighbour(state, step->beside);
    const struct adl_gpu_use *use = &state->gpus[gpu];
    const struct adl_placing_room *room = &placing->rooms[adl_gpu_node_of(placing->cluster, gpu)];
    if (third != ADL_NONE && (placed->now || !leaves(transitions, state, third)))
        return false;
    const int64_t left_mib = third == ADL_NONE ? 0 : state->jobs[third].spec.gpu_memory_mib;
    if (use->down || claims->withheld[gpu] || placing->taker[gpu] != ADL_NONE ||
        use->free_memory_mib + left_mib < spec->gpu_memory_mib || room->cores < spec->cpu_cores ||
        room->memory_mib < spec->memory_mib ||
        (placed->now && (room->cores_now < spec->cpu_cores || room->memory_mib_now < spec->memory_mib)))
        return false;
    take(placing, spec, placed, gpu);
    return true;
}

static bool place(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                  const struct adl_transition_plan *transitions, const struct adl_transition_step *step)
{
    const bool waits = state->jobs[step->job].phase == ADL_PHASE_PENDING;
    struct adl_placed placed = {.step = *step, .first_gpu = ADL_NONE, .now = waits};
    bool found = false;
    for (int late = waits ? 0 : 1; late < 2 && !found; late++) {
        placed.now = !late;
        found = step->beside != ADL_NONE ? place_beside(placing, state, claims, transitions, &placed)
                                         : place_alone(placing, state, &placed);
    }
    if (found)
        placing->list[placing->count++] = placed;
    return found;
}

/* ---- the whole plan ---- */

static const struct adl_transition_step *find_placed(const struct adl_placing *placing, uint32_t slot)
{
    for (uint32_t i = 0; i < placing->count; i++)
        if (placing->list[i].step.job == slot)
            return &placing->list[i].step;
    return NULL;
}

/* Who is to come and needs cores or memory of the job's node that are not free now. */
static const struct adl_transition_step *find_crowded(const struct adl_placing *placing, const struct adl_state *state,
                                                      uint32_t slot)
{
    for (uint32_t i = 0; i < placing->count; i++) {
        const struct adl_placed *placed = &placing->list[i];
        if (placed->now || placed->step.job == slot)
            continue;
        for (uint32_t gpu = placed->first_gpu; gpu != ADL_NONE; gpu = placing->next_gpu[gpu]) {
            const uint32_t node = adl_gpu_node_of(placing->cluster, gpu);
            const struct adl_placing_room *room = &placing->rooms[node];
            const struct adl_job_spec *spec = &state->jobs[slot].spec;
            if (node == adl_gpu_node_of(placing->cluster, state->jobs[slot].first_gpu) &&
                (room->cores < spec->cpu_cores || room->memory_mib < spec->memory_mib))
                return &placed->step;
        }
    }
    return NULL;
}

const struct adl_transition_step *adl_placing_taker_of(const struct adl_placing *placing, const struct adl_state *state,
                                                       uint32_t slot)
{
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (placing->taker[gpu] != ADL_NONE && placing->taker[gpu] != slot)
            return find_placed(placing, placing->taker[gpu]);
    return find_crowded(placing, state, slot);
}

/* A job that moves must have a place, and gain by it or make room; one that gets nothing must make room, or save power.
 */
static bool is_needed(const struct adl_placing *placing, const struct adl_state *state,
                      const struct adl_transition_step *stop, bool saves_power)
{
    const bool moves = stop->type < ADL_TYPES_MAX;
    if (moves && !find_placed(placing, stop->job))
        return false;
    if (moves ? stop->cost_w < stop->else_w : saves_power)
        return true;
    return adl_placing_taker_of(placing, state, stop->job) != NULL;
}

static uint16_t gpus_of(const struct adl_state *state, const struct adl_transition_step *step)
{
    return state->jobs[step->job].spec.gpus;
}

/* Largest first: they are hardest to place; of equals those that move, without whom others have no place. */
static void place_all(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                      const struct adl_transition_plan *transitions)
{
    uint32_t start = 0;
    for (uint32_t size = UINT16_MAX; size > 0;) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < transitions->stop_count; i++) {
            const uint32_t gpus = gpus_of(state, &transitions->stops[i]);
            if (gpus == size && transitions->stops[i].type < ADL_TYPES_MAX)
                place(placing, state, claims, transitions, &transitions->stops[i]);
            next = gpus < size && gpus > next ? gpus : next;
        }
        for (; start < transitions->start_count && gpus_of(state, &transitions->starts[start]) >= size; start++)
            place(placing, state, claims, transitions, &transitions->starts[start]);
        if (start < transitions->start_count && gpus_of(state, &transitions->starts[start]) > next)
            next = gpus_of(state, &transitions->starts[start]);
        size = next;
    }
}

void adl_placing_find(struct adl_placing *placing, const struct adl_state *state, const struct adl_claims *claims,
                      struct adl_transition_plan *transitions, bool saves_power)
{
    for (bool again = true; again;) {
        uint32_t kept = 0;
        begin_placing(placing, state, claims, transitions);
        place_all(placing, state, claims, transitions);
        for (uint32_t i = 0; i < transitions->stop_count; i++)
            if (is_needed(placing, state, &transitions->stops[i], saves_power))
                transitions->stops[kept++] = transitions->stops[i];
        again = kept < transitions->stop_count;
        transitions->stop_count = kept;
    }
}
