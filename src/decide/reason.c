#include "decide/reason.h"

#include "state/fit.h"

#include <stdio.h>

void adl_reason_types(const struct adl_state *state, uint32_t types, char *ret, size_t size)
{
    size_t at = 0;
    ret[0] = '\0';
    for (uint32_t left = types; left && at < size; left &= left - 1) {
        const int wrote =
            snprintf(ret + at, size - at, "%s%s", at > 0 ? ", " : "", state->cluster->types[__builtin_ctz(left)].name);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* Jobs that stand before it in the queue, counted up to a bound. */
static uint32_t before(const struct adl_state *state, uint32_t slot)
{
    uint32_t count = 0;
    adl_walk_begin(&state->queue);
    for (uint32_t at; count < 1000 && (at = adl_walk_job(&state->queue)) != ADL_NONE && at != slot; count++)
        adl_walk_next(&state->queue);
    return count;
}

/* True if the nodes' cores and memory would do for one GPU of the job where one of the type is free. */
static bool hosts_suffice(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type)
{
    for (uint32_t b = 0; b < state->cluster->bank_count; b++) {
        const struct adl_bank *bank = &state->cluster->banks[b];
        const struct adl_node_use *node = &state->nodes_use[bank->node];
        if (bank->type == type && adl_pool_bank_free(&state->pool, b) > 0 && node->free_cores >= spec->cpu_cores &&
            node->free_memory_mib >= spec->memory_mib)
            return true;
    }
    return false;
}

void adl_reason_waiting(const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct adl_job *job = &state->jobs[slot];
    const uint32_t gpus = job->spec.gpus;
    uint32_t enough = 0, hosted = 0, most = 0;
    char names[96];
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        most = state->pool.free_gpus[type] > most ? state->pool.free_gpus[type] : most;
        enough |= (uint32_t)(state->pool.free_gpus[type] >= gpus) << type;
        hosted |= (uint32_t)(state->pool.free_gpus[type] >= gpus && hosts_suffice(state, &job->spec, type)) << type;
    }
    adl_reason_types(state, enough ? enough : job->eligible, names, sizeof names);
    if (!enough)
        snprintf(ret, size, "GPUs: it needs %u of %s, and at most %u of one type %s free", gpus, names, most,
                 most == 1 ? "is" : "are");
    else if (!hosted)
        snprintf(ret, size, "host: GPUs of %s are free, but not the %d cores and %d MiB it needs for each", names,
                 job->spec.cpu_cores, job->spec.memory_mib);
    else
        snprintf(ret, size, "turn: GPUs of %s are free%s; %u jobs stand before it", names,
                 gpus > 1 ? ", maybe not together" : "", before(state, slot));
}
