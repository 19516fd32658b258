#include "policy/gogh/gpu_reservations.h"

#include "base/copy.h"
#include "policy/mechanism/preemption_victims.h"

#include <assert.h>
#include <stdlib.h>

int adl_gpu_reservations_create(struct adl_gpu_reservations *ret, const struct adl_cluster *cluster)
{
    struct adl_gpu_reservations it = {.capacity = ADL_GPU_JOBS_MAX * cluster->gpu_count};
    it.list = malloc((it.capacity + 1) * sizeof *it.list);
    it.next_gpu = malloc((cluster->gpu_count + 1) * sizeof *it.next_gpu);
    it.reserved = calloc(cluster->gpu_count + 1, sizeof *it.reserved);
    if (!it.list || !it.next_gpu || !it.reserved) {
        adl_gpu_reservations_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_gpu_reservations_clear(struct adl_gpu_reservations *reservations)
{
    free(reservations->list);
    free(reservations->next_gpu);
    free(reservations->reserved);
    *reservations = (struct adl_gpu_reservations){0};
}

void adl_gpu_reservations_copy(struct adl_gpu_reservations *to, const struct adl_gpu_reservations *from)
{
    const struct adl_gpu_reservations own = *to;
    const uint32_t gpus = from->capacity / ADL_GPU_JOBS_MAX;
    *to = *from;
    ADL_COPY_ARRAY(to, own, from, list, from->count);
    ADL_COPY_ARRAY(to, own, from, next_gpu, gpus);
    ADL_COPY_ARRAY(to, own, from, reserved, gpus);
}

void adl_gpu_reservations_add(struct adl_gpu_reservations *reservations, struct adl_gpu_reservation reservation,
                              const uint32_t *gpus)
{
    assert(reservations->count < reservations->capacity);
    reservation.first_gpu = ADL_NONE;
    for (uint32_t i = reservation.gpu_count; i-- > 0;) {
        assert(!reservations->reserved[gpus[i]]);
        reservations->reserved[gpus[i]] = true;
        reservations->next_gpu[gpus[i]] = reservation.first_gpu;
        reservation.first_gpu = gpus[i];
    }
    reservations->list[reservations->count++] = reservation;
}

/* Keeps the order of the others. */
static void drop(struct adl_gpu_reservations *reservations, uint32_t index)
{
    for (uint32_t gpu = reservations->list[index].first_gpu; gpu != ADL_NONE; gpu = reservations->next_gpu[gpu])
        reservations->reserved[gpu] = false;
    reservations->count--;
    for (uint32_t i = index; i < reservations->count; i++)
        reservations->list[i] = reservations->list[i + 1];
}

static bool is_stopping(const struct adl_state *state, uint32_t slot)
{
    return slot != ADL_NONE && state->jobs[slot].phase == ADL_PHASE_STOPPING;
}

/* True if the GPU is free for the reservation, or will be once stopping jobs have left. */
static bool gpu_usable(const struct adl_state *state, const struct adl_gpu_reservation *reservation, uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down)
        return false;
    for (int place = 0; place < ADL_GPU_JOBS_MAX; place++)
        if (use->job[place] != ADL_NONE && use->job[place] != reservation->beside &&
            !is_stopping(state, use->job[place]))
            return false;
    return reservation->beside == ADL_NONE || use->job[0] == reservation->beside || use->job[1] == reservation->beside;
}

/* True if a job is stopping on a node of the reservation. */
static bool node_frees_up(const struct adl_gpu_reservations *reservations, const struct adl_state *state,
                          const struct adl_gpu_reservation *reservation)
{
    for (uint32_t gpu = reservation->first_gpu; gpu != ADL_NONE; gpu = reservations->next_gpu[gpu]) {
        const struct adl_node *node = &state->cluster->nodes[adl_gpu_node_of(state->cluster, gpu)];
        for (uint32_t g = node->gpu_first; g < node->gpu_first + node->gpu_count; g++)
            if (is_stopping(state, state->gpus[g].job[0]) || is_stopping(state, state->gpus[g].job[1]))
                return true;
    }
    return false;
}

static bool can_share_now(const struct adl_state *state, const struct adl_gpu_reservation *reservation)
{
    const struct adl_job_spec *spec = &state->jobs[reservation->job].spec;
    const struct adl_gpu_use *use = &state->gpus[reservation->first_gpu];
    const struct adl_node_use *node = &state->nodes_use[adl_gpu_node_of(state->cluster, reservation->first_gpu)];
    return use->job[0] == reservation->beside && use->job[1] == ADL_NONE &&
           use->free_memory_mib >= spec->gpu_memory_mib && node->free_cores >= spec->cpu_cores &&
           node->free_memory_mib >= spec->memory_mib;
}

static bool is_ready(const struct adl_gpu_reservations *reservations, const struct adl_state *state,
                     const struct adl_gpu_reservation *reservation, uint32_t *ret_gpus)
{
    uint32_t count = 0;
    for (uint32_t gpu = reservation->first_gpu; gpu != ADL_NONE; gpu = reservations->next_gpu[gpu])
        ret_gpus[count++] = gpu;
    if (state->jobs[reservation->job].phase != ADL_PHASE_PENDING)
        return false;
    return reservation->beside != ADL_NONE ? can_share_now(state, reservation)
                                           : adl_preemption_victims_ready(state, reservation->job, ret_gpus);
}

static bool is_valid(const struct adl_gpu_reservations *reservations, const struct adl_state *state,
                     const struct adl_gpu_reservation *reservation)
{
    const struct adl_job *job = &state->jobs[reservation->job];
    if (job->spec.id != reservation->id || (job->phase != ADL_PHASE_PENDING && job->phase != ADL_PHASE_STOPPING))
        return false;
    if (reservation->beside != ADL_NONE && state->jobs[reservation->beside].phase != ADL_PHASE_RUNNING)
        return false;
    for (uint32_t gpu = reservation->first_gpu; gpu != ADL_NONE; gpu = reservations->next_gpu[gpu])
        if (!gpu_usable(state, reservation, gpu))
            return false;
    return true;
}

void adl_gpu_reservations_drop_broken(struct adl_gpu_reservations *reservations, const struct adl_state *state)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    for (uint32_t i = reservations->count; i-- > 0;) {
        const struct adl_gpu_reservation *reservation = &reservations->list[i];
        const bool waits = state->jobs[reservation->job].phase == ADL_PHASE_PENDING;
        if (!is_valid(reservations, state, reservation) ||
            (waits && !is_ready(reservations, state, reservation, gpus) &&
             !node_frees_up(reservations, state, reservation)))
            drop(reservations, i);
    }
}

bool adl_gpu_reservations_take_ready(struct adl_gpu_reservations *reservations, const struct adl_state *state,
                                     struct adl_gpu_reservation *ret, uint32_t *ret_gpus)
{
    for (uint32_t i = 0; i < reservations->count; i++)
        if (is_ready(reservations, state, &reservations->list[i], ret_gpus)) {
            *ret = reservations->list[i];
            drop(reservations, i);
            return true;
        }
    return false;
}

bool adl_gpu_reservations_has(const struct adl_gpu_reservations *reservations, uint32_t slot)
{
    for (uint32_t i = 0; i < reservations->count; i++)
        if (reservations->list[i].job == slot)
            return true;
    return false;
}

double adl_gpu_reservations_power_w(const struct adl_gpu_reservations *reservations)
{
    double power_w = 0;
    for (uint32_t i = 0; i < reservations->count; i++)
        power_w += reservations->list[i].power_w;
    return power_w;
}
