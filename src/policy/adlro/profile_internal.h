/* profile_internal: private header of profile.c (openings) and profile_create.c (its memory). */
#ifndef ADLRO_POLICY_ADLRO_PROFILE_INTERNAL_H
#define ADLRO_POLICY_ADLRO_PROFILE_INTERNAL_H

#include "policy/adlro/profile.h"

/* The banks of one type. */
struct type_banks {
    uint32_t *banks;
    uint32_t count, widest;
    int64_t *ready;     /* [(n - 1) * count + index] when a bank first has n free GPUs: no opening for n is earlier */
    int64_t *unplanned; /* the same without planned jobs */
};

/* What was found of a bank: no opening for a job that needs as much or more, and starts later than now, is earlier.
 * Jobs that are planned only make it later. */
struct bank_bound {
    int64_t run_us, start_us; /* start_us 0: nothing was found */
    int32_t gpus, cores, memory_mib;
};

/* Of a running job: when it is believed to end, for as long as that is taken to be the same. */
struct known_end {
    uint32_t slot;
    int phase;
    int64_t start_us, until_us, end_us;
};

#define ADL_STALE INT64_MIN

struct adl_free_profile {
    const struct adl_cluster *cluster;
    const struct adl_state *state;
    int64_t switch_us;
    const struct adl_corrections *corrections;
    struct adl_node_profile *nodes;
    int64_t *due_us; /* [node] when it has to be read again, because a job outlives its believed end; ADL_STALE: now */
    struct type_banks types[ADL_TYPES_MAX];
    uint32_t *index;           /* [bank] in its type */
    struct known_end *ends;    /* [first GPU of the job] */
    uint64_t *known;           /* [bank] free GPUs when its node was read */
    uint8_t *free_in;          /* [bank] their number */
    struct bank_bound *bounds; /* [bank] */
    uint32_t *planned;         /* nodes with planned jobs */
    uint32_t planned_count;
    uint32_t *behind; /* nodes whose ready times may be later, because jobs were planned since they were indexed */
    bool *is_behind;  /* [node] */
    uint32_t behind_count;
    uint32_t free_now[ADL_TYPES_MAX];
    uint32_t offered;        /* mask of types whose free GPUs are on offer */
    uint32_t reserved_types; /* mask of types with a planned job that no start may delay */
    int64_t *earliest;       /* scratch of find_spanning */
    uint8_t *may_have;       /* [index of a bank in its type] scratch of take_spanning */
    struct adl_step *steps;
    int32_t *gpus;
    int64_t *ready; /* and as many unplanned */
    uint32_t *banks;
    size_t step_count, gpu_count, ready_count; /* of these */
};

#endif
