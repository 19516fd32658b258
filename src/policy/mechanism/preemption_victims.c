#include "policy/mechanism/preemption_victims.h"

#include "state/stop.h"

/* How a GPU is held, easiest to get first. */
enum held { HELD_FREE, HELD_BY_ONE, HELD_BY_GANG, HELD_KINDS };

/* How a GPU is held, or HELD_KINDS if the job cannot get it. */
static enum held held_how(const struct adl_state *state, uint32_t slot, uint32_t gpu)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    if (use->down || use->job[1] != ADL_NONE)
        return HELD_KINDS;
    if (use->job[0] == ADL_NONE)
        return HELD_FREE;
    const struct adl_job *holder = &state->jobs[use->job[0]];
    if (holder->phase != ADL_PHASE_RUNNING || !(holder->spec.flags & ADL_JOB_PREEMPTIBLE) ||
        holder->submit_us <= state->jobs[slot].submit_us || !adl_stop_pays(state, use->job[0], slot))
        return HELD_KINDS;
    return holder->spec.gpus == 1 ? HELD_BY_ONE : HELD_BY_GANG;
}

/* Lists up to `most` GPUs of a bank, easiest to get first, as long as the node's cores and memory suffice once their
 * holders have left; returns their number. */
static uint32_t list_bank(const struct adl_state *state, uint32_t slot, uint32_t bank, uint32_t most,
                          uint32_t *ret_gpus)
{
    const struct adl_bank *it = &state->cluster->banks[bank];
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    int64_t cores = state->nodes_use[it->node].free_cores, memory_mib = state->nodes_use[it->node].free_memory_mib;
    uint32_t count = 0;
    for (int how = HELD_FREE; how < HELD_KINDS; how++)
        for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count < most; gpu++) {
            if (held_how(state, slot, gpu) != (enum held)how)
                continue;
            const struct adl_job_spec *holder = how == HELD_FREE ? NULL : &state->jobs[state->gpus[gpu].job[0]].spec;
            const int64_t cores_then = cores + (holder ? holder->cpu_cores : 0) - spec->cpu_cores;
            const int64_t memory_then = memory_mib + (holder ? holder->memory_mib : 0) - spec->memory_mib;
            if (cores_then < 0 || memory_then < 0)
                continue;
            cores = cores_then;
            memory_mib = memory_then;
            ret_gpus[count++] = gpu;
        }
    return count;
}

bool adl_preemption_victims_find(const struct adl_state *state, uint32_t slot, uint32_t type, uint32_t *ret_gpus)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t best = ADL_NONE, most_free = 0, all = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        if (cluster->banks[b].type != type || cluster->banks[b].gpu_count < spec->gpus)
            continue;
        const uint32_t free_here = adl_pool_bank_free(&state->pool, b);
        if ((best == ADL_NONE || free_here > most_free) &&
            list_bank(state, slot, b, spec->gpus, ret_gpus) == spec->gpus) {
            best = b;
            most_free = free_here;
        }
    }
    if (best != ADL_NONE)
        return list_bank(state, slot, best, spec->gpus, ret_gpus) == spec->gpus;
    if (!(spec->flags & ADL_JOB_SPAN))
        return false;
    for (uint32_t b = 0; b < cluster->bank_count && all < spec->gpus; b++)
        if (cluster->banks[b].type == type)
            all += list_bank(state, slot, b, spec->gpus - all, ret_gpus + all);
    return all == spec->gpus;
}

bool adl_preemption_victims_ready(const struct adl_state *state, uint32_t slot, const uint32_t *gpus)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t node = ADL_NONE;
    int64_t cores = 0, memory_mib = 0;
    for (uint32_t i = 0; i < spec->gpus; i++) {
        const struct adl_gpu_use *use = &state->gpus[gpus[i]];
        const uint32_t its_node = adl_gpu_node_of(state->cluster, gpus[i]);
        if (its_node != node) { /* GPUs of a node follow each other */
            node = its_node;
            cores = state->nodes_use[node].free_cores;
            memory_mib = state->nodes_use[node].free_memory_mib;
        }
        cores -= spec->cpu_cores;
        memory_mib -= spec->memory_mib;
        if (use->down || use->job[0] != ADL_NONE || cores < 0 || memory_mib < 0)
            return false;
    }
    return true;
}

uint32_t adl_preemption_victims_list(const struct adl_state *state, const uint32_t *gpus, uint32_t gpu_count,
                                     uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gpu_count; i++) {
        const uint32_t slot = state->gpus[gpus[i]].job[0];
        bool known = slot == ADL_NONE;
        for (uint32_t v = 0; v < count && !known; v++)
            known = ret[v] == slot;
        if (!known)
            ret[count++] = slot;
    }
    return count;
}

struct adl_reason adl_preemption_victims_reason(const struct adl_state *state, uint32_t victim, uint32_t claimant)
{
    return adl_reason_make(ADL_RULE_FOR_OLDER, claimant, (double)(state->now_us - state->jobs[victim].submit_us) * 1e-6,
                           (double)(state->now_us - state->jobs[claimant].submit_us) * 1e-6);
}
