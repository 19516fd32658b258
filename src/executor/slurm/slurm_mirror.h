/* slurm_mirror: the cluster by the adapter's last messages: its nodes, the jobs of our partitions, and who holds which
 * GPU. */
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
    ADL_SLURM_ABSENT, /* Slurm does not know it, or has not named it yet */
    ADL_SLURM_STATE_COUNT,
};

/* Of a node's driver, by its feature "driver=VERSION". */
struct adl_mirror_version {
    char text[ADL_VERSION_SIZE]; /* empty = it has none */
    bool fresh;                  /* it changed, and was not reported yet */
};
void adl_mirror_version_read(struct adl_mirror_version *version, const struct cJSON *features);

/* A job of the cluster. */
struct adl_mirror_job {
    int64_t external; /* its number in Slurm */
    uint64_t number;  /* in the service; 0 = none yet */
    uint8_t phase;    /* enum adl_mirror_phase: what the service knows of it */

    /* By the last message about it: */
    int state; /* enum adl_slurm_state */
    int end;   /* enum adl_job_end, once ENDED */
    int32_t exit_code, signal;
    uint8_t eligibility; /* enum adl_slurm_eligibility; pending */
    bool ours;           /* the hook held it for adlro */
    bool requeued;       /* at least once, by Slurm's count */

    double energy_j;   /* drawn so far; negative: nothing was measured */
    bool metered;      /* what its GPUs draw is counted */
    bool moved;        /* placed on other GPUs than the service thinks */
    bool nodes_full;   /* it may not start: the nodes that it may use are full */
    bool changed;      /* it asks for something else than was reported */
    int stopping;      /* enum adl_stage_order: what the service asked for, until Slurm has done it */
    uint32_t refusals; /* of placements in a row */
    int64_t placed_us, began_us, left_us, asked_us;     /* asked: when an order to stop or hold it was last sent */
    int64_t failed_us;                                  /* when its last placement failed; 0 = it did not */
    int64_t full_us;                                    /* when nodes_full was first found, before it ran; 0 = never */
    uint64_t seq;                                       /* of the message that placed it */
    uint64_t demand;                                    /* hash of what it asks for, as spec has it */
    uint32_t sync;                                      /* the round of reconciliation that last named it */
    uint32_t nodes;                                     /* that it asks for, with as many GPUs on each */
    bool *excluded;                                     /* [node] owned; NULL: none */
    uint32_t slots[ADL_ALTERNATIVES_MAX];               /* ADL_NONE: none */
    struct adl_alternative wants[ADL_ALTERNATIVES_MAX]; /* the alternative of each slot */
    uint32_t run_slot;                                  /* of the alternative it runs as; ADL_NONE: none */
    uint32_t *gpus;                                     /* owned; NULL: it holds none */
    uint32_t gpu_count;
    struct adl_job_spec spec;
    struct adl_arrival arrival;
    char why[120];          /* why it is not eligible, or how it ended */
    char reported_why[120]; /* why it may not start, as last reported; "": it may */
    char unfit[120];        /* why adlro cannot place it; "": it can */
};

struct adl_slurm_mirror {
    const struct adl_inventory *inventory;
    struct adl_mirror_job **jobs; /* by rising external number */
    size_t job_capacity;
    uint32_t job_count;
    int64_t *holder;                     /* [gpu] external number of the job that holds it; 0 = none of ours */
    uint32_t *used;                      /* [bank] GPUs in use, by Slurm's count */
    bool *usable;                        /* [node] */
    struct adl_mirror_version *versions; /* [node] */
    char (*why)[120];
    struct adl_slurm_energy *energy;
    bool preempts;  /* the policy may preempt jobs that Slurm may requeue */
    int64_t now_us; /* of the last poll */
};

/* Changes the job's phase as the table in mirror_phase.c says. */
void adl_mirror_job_apply(struct adl_mirror_job *job, int event);
bool adl_mirror_job_in(const struct adl_mirror_job *job, unsigned phases); /* a mask of them */
bool adl_mirror_job_waits(const struct adl_mirror_job *job);               /* in Slurm: PENDING or RELEASED */

int adl_slurm_mirror_create(struct adl_slurm_mirror *ret, const struct adl_inventory *inventory);
void adl_slurm_mirror_clear(struct adl_slurm_mirror *mirror); /* accepts a zeroed one */

struct adl_mirror_job *adl_slurm_mirror_find(const struct adl_slurm_mirror *mirror, int64_t external);
struct adl_mirror_job *adl_slurm_mirror_add(struct adl_slurm_mirror *mirror,
                                            int64_t external);                             /* NULL: out of memory */
void adl_slurm_mirror_remove(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job); /* with its GPUs */

/* Adds the job of a message or updates it. One that has ended is added only if all are; else NULL. */
struct adl_mirror_job *adl_slurm_mirror_read_job(struct adl_slurm_mirror *mirror, const struct cJSON *message,
                                                 bool all);
/* Whether a message with the number of this job is about this job: Slurm may have reused it. A requeue changes the time
 * of submission. */
bool adl_slurm_mirror_is_same(const struct adl_mirror_job *job, const struct cJSON *message);
bool adl_slurm_mirror_is_known(const struct adl_mirror_job *job,
                               const struct adl_job_entry *known); /* the same of the service's entry */
void adl_slurm_mirror_read_node(struct adl_slurm_mirror *mirror, const struct cJSON *message);

/* The GPUs of a running job: the message names nodes, types and counts; of each it has those that it holds already,
 * then the first that are free. 0: there are not so many, or it has none. gpus has room for ADL_JOB_GPUS_MAX. */
uint32_t adl_slurm_mirror_find_gpus(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                                    const struct cJSON *message, uint32_t *gpus);
/* As many of each node and type. Which of them a job has Slurm does not say. */
bool adl_slurm_mirror_alike(const struct adl_slurm_mirror *mirror, const uint32_t *a, uint32_t a_count,
                            const uint32_t *b, uint32_t b_count);
int adl_slurm_mirror_hold(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job, const uint32_t *gpus,
                          uint32_t count);
void adl_slurm_mirror_release(struct adl_slurm_mirror *mirror, struct adl_mirror_job *job);

/* Free GPUs of the type as Slurm can give them to the job: as many on each of the nodes it wants, and on none that it
 * may not use or that is down. 0: there are not so many, else wanted. */
uint32_t adl_slurm_mirror_find_free(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                                    uint32_t type, uint32_t wanted, const bool *down, uint32_t *gpus);
/* Whether a job that may not use every node has room for one of its alternatives. For other jobs the service counts the
 * free GPUs itself: true. */
bool adl_slurm_mirror_has_room(const struct adl_slurm_mirror *mirror, const struct adl_mirror_job *job,
                               const bool *down);

uint32_t adl_slurm_mirror_foreign(const struct adl_slurm_mirror *mirror,
                                  uint32_t bank); /* GPUs in use by jobs that are not ours */

#endif
