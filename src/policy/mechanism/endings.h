/* endings: running jobs of some types in the order of their predicted ends, bank by bank. */
#ifndef ADLRO_POLICY_MECHANISM_ENDINGS_H
#define ADLRO_POLICY_MECHANISM_ENDINGS_H

#include "state/state.h"

/* The end of a running job on the GPUs of one bank. */
struct adl_ending {
    int64_t end_us;
    uint32_t slot;
    uint32_t bank; /* ADL_NONE = none of the pass's type beside it */
    bool shares;   /* it may share its GPUs: this is all of it, and has no bank */
    bool own;      /* of the pass's type; else it is the bank of that type beside, which gets cores and memory */
    int32_t gpus, cores, memory_mib;
};

/* Running jobs of some types in the order of their ends, as far as a pass has asked: the passes of one decision ask for
 * the same. */
struct adl_endings {
    struct adl_ending *list; /* room for all jobs that the GPUs of these types can hold */
    uint32_t count;
    uint32_t types;                         /* mask; 0 = none are listed */
    uint32_t cursors[ADL_TYPES_MAX];        /* the next of each type */
    uint64_t sequence, releases, revisions; /* of the state that they were listed in */
};

/* Those of the types, for a pass over one of them; from the last pass if nothing has changed since. */
void adl_endings_begin(struct adl_endings *endings, const struct adl_state *state, uint32_t types);

/* Lists the next job to end and returns its first ending; NULL = no more jobs run. */
const struct adl_ending *adl_endings_list_next(struct adl_endings *endings, const struct adl_state *state,
                                               uint32_t type);

/* The ending at an index that is at most the number of those listed; NULL = no more jobs run. */
static inline const struct adl_ending *adl_endings_at(struct adl_endings *endings, const struct adl_state *state,
                                                      uint32_t type, uint32_t index)
{
    return index < endings->count ? &endings->list[index] : adl_endings_list_next(endings, state, type);
}

/* The bank of a type on the node of another bank; ADL_NONE if there is none. */
uint32_t adl_endings_bank_beside(const struct adl_cluster *cluster, uint32_t bank, uint32_t type);

#endif
