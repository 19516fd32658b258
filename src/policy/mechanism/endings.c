#include "policy/mechanism/endings.h"

uint32_t adl_endings_bank_beside(const struct adl_cluster *cluster, uint32_t bank, uint32_t type)
{
    const struct adl_node *node = &cluster->nodes[cluster->banks[bank].node];
    for (uint32_t b = node->bank_first; b < node->bank_first + node->bank_count; b++)
        if (cluster->banks[b].type == type)
            return b;
    return ADL_NONE;
}

/* The running job that ends next on any of the types; cursors has the first of each type that has not ended. */
static uint32_t next_end(const struct adl_state *state, uint32_t types, const uint32_t *cursors)
{
    uint32_t found = ADL_NONE;
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t slot = cursors[__builtin_ctz(left)];
        if (slot != ADL_NONE && (found == ADL_NONE || state->jobs[slot].expected_us < state->jobs[found].expected_us))
            found = slot;
    }
    return found;
}

/* Lists the end of a job, for each bank in turn. */
static void list_ending(struct adl_endings *endings, const struct adl_state *state, uint32_t type, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool own = job->type == type, shares = job->spec.flags & ADL_JOB_SHARE;
    uint32_t at = ADL_NONE;
    struct adl_ending *last = NULL;
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
        if (!last || (!shares && state->cluster->gpu_bank[gpu] != at)) {
            at = state->cluster->gpu_bank[gpu];
            last = &endings->list[endings->count++];
            *last = (struct adl_ending){.end_us = job->expected_us,
                                        .slot = slot,
                                        .bank = shares ? ADL_NONE
                                                : own  ? at
                                                       : adl_endings_bank_beside(state->cluster, at, type),
                                        .shares = shares,
                                        .own = own};
        }
        last->gpus++;
        last->cores += job->spec.cpu_cores;
        last->memory_mib += job->spec.memory_mib;
    }
}

void adl_endings_begin(struct adl_endings *it, const struct adl_state *state, uint32_t types)
{
    if (it->types == types && it->sequence == state->running_sequence && it->releases == state->releases &&
        it->revisions == state->revisions)
        return;
    it->types = types;
    it->count = 0;
    it->sequence = state->running_sequence;
    it->releases = state->releases;
    it->revisions = state->revisions;
    for (uint32_t left = types; left; left &= left - 1)
        it->cursors[__builtin_ctz(left)] = state->running[__builtin_ctz(left)].first;
}

const struct adl_ending *adl_endings_list_next(struct adl_endings *endings, const struct adl_state *state,
                                               uint32_t type)
{
    const uint32_t slot = next_end(state, endings->types, endings->cursors), first = endings->count;
    if (slot == ADL_NONE)
        return NULL;
    endings->cursors[state->jobs[slot].type] = state->nodes[slot].next;
    list_ending(endings, state, type, slot);
    return &endings->list[first];
}
