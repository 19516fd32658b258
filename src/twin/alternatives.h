/* alternatives: the slots of jobs that are in the queue more than once, because they accept several demands. When one
 * of them starts, the others leave the queue. */
#ifndef ADLRO_TWIN_ALTERNATIVES_H
#define ADLRO_TWIN_ALTERNATIVES_H

#include "state/state.h"

struct adl_alternatives {
    uint32_t *next; /* [slot] the next slot of the same job, in a ring; itself if it has no other */
    size_t capacity;
    uint32_t *table; /* slots, by their jobs' numbers */
    size_t table_capacity;
};

/* Lists the slots of all waiting jobs of a state. Memory is kept. 0 or ADL_ENOMEM. */
int adl_alternatives_list(struct adl_alternatives *alternatives, const struct adl_state *state);
void adl_alternatives_clear(struct adl_alternatives *alternatives);

#endif
