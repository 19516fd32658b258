#include "twin/alternatives.h"

#include "base/hash.h"

#include <stdlib.h>

/* Joins a slot to those of the same job that are in the table, or puts it there. */
static void join(struct adl_alternatives *alternatives, const struct adl_state *state, size_t size, uint32_t slot)
{
    const uint64_t id = state->jobs[slot].spec.id;
    size_t at = adl_hash_u64(adl_hash_start(), id) & (size - 1);
    for (; alternatives->table[at] != ADL_NONE; at = (at + 1) & (size - 1)) {
        const uint32_t other = alternatives->table[at];
        if (state->jobs[other].spec.id != id)
            continue;
        alternatives->next[slot] = alternatives->next[other];
        alternatives->next[other] = slot;
        return;
    }
    alternatives->table[at] = slot;
}

int adl_alternatives_list(struct adl_alternatives *alternatives, const struct adl_state *state)
{
    size_t size = 4;
    while (size < 2 * (size_t)state->queue.count)
        size *= 2;
    if (adl_grow((void **)&alternatives->next, &alternatives->capacity, state->job_capacity + 1,
                 sizeof *alternatives->next) ||
        adl_grow((void **)&alternatives->table, &alternatives->table_capacity, size, sizeof *alternatives->table))
        return ADL_ENOMEM;
    for (size_t i = 0; i < size; i++)
        alternatives->table[i] = ADL_NONE;
    for (uint32_t slot = 0; slot < alternatives->capacity; slot++)
        alternatives->next[slot] = slot;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING)
            join(alternatives, state, size, slot);
    return 0;
}

void adl_alternatives_clear(struct adl_alternatives *alternatives)
{
    free(alternatives->next);
    free(alternatives->table);
    *alternatives = (struct adl_alternatives){0};
}
