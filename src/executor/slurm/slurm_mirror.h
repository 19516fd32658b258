/* slurm_mirror: what the cluster was last heard to have: its nodes, the jobs of our partitions, and which GPU is whose.
 */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_MIRROR_H
#define ADLRO_EXECUTOR_SLURM_SLURM_MIRROR_H

#include "executor/executor.h"
#include "executor/inventory.h"
#include "executor/slurm/mirror_phase.h"
#include "executor/slurm/slurm_energy.h"
#include "slurm/wire.h"

#include <stdbool.h>

struct cJSON;

/* Where a job stands in Slurm, by the last message about it. */
enum adl_slurm_state {
    ADL_SLURM_PENDING,
    ADL_SLURM_RELEASED, /* pending where it was placed: Slurm may start it any time */
    ADL_SLURM_RUNS,
    ADL_SLURM_ENDED,
    ADL_SLURM_ABSENT, /* Slurm does not know it, or was not asked yet */
    ADL_SLURM_STATE_COUNT,
};

/* A job of the cluster. */
struct adl_slurm_job {
    int64_t external; /* its number there */
    uint64_t number;  /* here; 0 = none yet */
    uint8_t phase;    /* enum adl_mirror_phase: what the service knows of it */

    /* By the last message about it: */
    int state; /* enum adl_slurm_state */
    int end;   /* enum adl_job_end, once ENDED */
    int32_t exit_code, signal;
    uint8_t eligibility; /* enum adl_slurm_eligibility; pending */
    bool ours;           /* the hook has caught it for us */
    bool requeued;       /* by Slurm's count, at least once */

    double energy_j;                                    /* drawn so far; negative: nothing was measured */
    bool metered;                                       /* what its GPUs draw is counted */
    bool moved;                                         /* placed on other GPUs than the service thinks */
    bool nodes_full;                                    /* it may not start: the nodes that it may use are full */
    bool changed;                                       /* it asks for something else than was reported */
    int stopping;                                       /* enum adl_stage_order: what was asked for, until it is seen */
    uint32_t refusals;                                  /* of placements, one after the other */
    int64_t placed_us, began_us, left_us, asked_us;     /* asked: when it was last told to stop or to wait again */
    int64_t failed_us;                                  /* when it could not be placed; 0 = it could */
    int64_t full_us;                                    /* when nodes_full was first found, before it ran; 0 = never */
    uint64_t seq;                                       /* of the message that placed it */
    uint64_t demand;                                    /* hash of what it asks for, as spec has it */
    uint32_t sync;                                      /* the round of reconciliation in which it was last heard of */
    uint32_t nodes;                                     /* that it wants, with as many GPUs on each */
    bool *excluded;                                     /* [node] owned; NULL: none */
    uint32_t slots[ADL_ALTERNATIVES_MAX];               /* ADL_NONE: none */
    struct adl_alternative wants[ADL_ALTERNATIVES_MAX]; /* what each of these is for, or was */
    uint32_t taken;                                     /* the slot it runs under */
    uint32_t *gpus;                                     /* owned: while it holds any */
    uint32_t gpu_count;
    struct adl_job_spec spec;
    struct adl_arrival arrival;
    char why[120];   /* it is not eligible, or ended */
    char bar[120];   /* why it may not start, as the service was told; "": it may */
    char unfit[120]; /* why it cannot be decided about here; "": it can */
};

struct adl_slurm_mirror {
    const struct adl_inventory *inventory;
    struct adl_slurm_job **jobs; /* by rising number there */
    size_t job_capacity;
    uint32_t job_count;
    int64_t *holder; /* [gpu] number there of who holds it; 0 = nobody of ours */
    uint32_t *used;  /* [bank] GPUs in use by the cluster's own account */
    bool *usable;    /* [node] */
    char (*why)[120];
    struct adl_slurm_energy *energy;
    bool stops;     /* jobs that Slurm may requeue may be stopped */
    int64_t now_us; /* as the executor were told last */
};

/* Changes the job's phase as the table in mirror_phase.c says. */
void adl_slurm_job_apply(struct adl_slurm_job *job, int event);
bool adl_slurm_job_in(const struct adl_slurm_job *job, unsigned phases); /* a mask of them */
bool adl_slurm_job_waits(const struct adl_slurm_job *job);               /* in Slurm: PENDING or RELEASED */

int adl_slurm_mirror_create(struct adl_slurm_mirror *ret, const struct adl_inventory *inventory);
void adl_slurm_mirror_clear(struct adl_slurm_mirror *mirror); /* accepts a zeroed one */

struct adl_slurm_job *adl_slurm_mirror_find(const struct adl_slurm_mirror *mirror, int64_t external);
struct adl_slurm_job *adl_slurm_mirror_add(struct adl_slurm_mirror *mirror, int64_t external); /* NULL: out of memory */
void adl_slurm_mirror_remove(struct adl_slurm_mirror *mirror, struct adl_slurm_job *job);      /* with its GPUs */

/* From messages of the adapter. A job that is not there yet is added, one that has ended only if all are; else NULL. */
struct adl_slurm_job *adl_slurm_mirror_read_job(struct adl_slurm_mirror *mirror, const struct cJSON *message, bool all);
/* Whether a message about this number is about this job. A requeue changes the time of submission. */
bool adl_slurm_mirror_is_same(const struct adl_slurm_job *job, const struct cJSON *message);
bool adl_slurm_mirror_is_known(const struct adl_slurm_job *job, const struct adl_job_entry *known); /* to the service */
void adl_slurm_mirror_read_node(struct adl_slurm_mirror *mirror, const struct cJSON *message);

/* The GPUs that a running job must have, by where the message says it runs: those of that kind that it holds, then the
 * first that nobody holds. 0: the books do not agree with that, or it has none. gpus has room for ADL_JOB_GPUS_MAX. */
uint32_t adl_slurm_mirror_find_gpus(const struct adl_slurm_mirror *mirror, const struct adl_slurm_job *job,
                                    const struct cJSON *message, uint32_t *gpus);
/* As many of each node and type: which of them it is nobody here can know. */
bool adl_slurm_mirror_alike(const struct adl_slurm_mirror *mirror, const uint32_t *a, uint32_t a_count,
                            const uint32_t *b, uint32_t b_count);
int adl_slurm_mirror_hold(struct adl_slurm_mirror *mirror, struct adl_slurm_job *job, const uint32_t *gpus,
                          uint32_t count);
void adl_slurm_mirror_leave(struct adl_slurm_mirror *mirror, struct adl_slurm_job *job);

/* Free GPUs of the type as Slurm can give them to the job: as many on each of the nodes it wants, and on none that it
 * may not use; down are those that cannot be had. 0: there are not so many, else wanted. */
uint32_t adl_slurm_mirror_seek(const struct adl_slurm_mirror *mirror, const struct adl_slurm_job *job, uint32_t type,
                               uint32_t wanted, const bool *down, uint32_t *gpus);
/* Whether there are for one of the wants of a job that is particular about its nodes. Those of others are the service's
 * to count. */
bool adl_slurm_mirror_has_room(const struct adl_slurm_mirror *mirror, const struct adl_slurm_job *job,
                               const bool *down);

uint32_t adl_slurm_mirror_foreign(const struct adl_slurm_mirror *mirror, uint32_t bank); /* in use, by nobody of ours */

#endif
