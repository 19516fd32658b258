/* preemption: preemptive list scheduling. All live jobs stand in one order; going down it each is given GPUs while they
 * last, one that does not fit is passed over, running jobs left out are stopped, and chosen jobs that wait start as
 * soon as GPUs are free. The order is the policy's: it gives every job a key, least first, and may change it at any
 * time.
 *
 * Jobs whose demand is a number of GPUs and nothing else (they may span nodes and ask for no cores or memory) are
 * chosen by count, exactly as that pass would. For others a place is sought: a node that suffices once jobs further
 * down have left it. Nobody is stopped for a job that could then not start. Jobs do not share GPUs.
 *
 * At one instant nothing is stopped twice: a job is stopped only for one before it in the order, and the order of two
 * jobs does not change by one of them starting or stopping. Policies have to keep that. */
#ifndef ADLRO_POLICY_MECHANISM_PREEMPTION_H
#define ADLRO_POLICY_MECHANISM_PREEMPTION_H

#include "base/order.h"
#include "model/plan.h"
#include "state/fit.h"
#include "state/queue.h"
#include "state/state.h"

#define ADL_PREEMPT_WAITS_MAX 32 /* places kept for jobs that wait for others to stop */

struct adl_preempt_tally;

enum adl_preempt_place { ADL_PREEMPT_ABSENT, ADL_PREEMPT_WAITING, ADL_PREEMPT_HOLDING };

struct adl_preempt_job {
    uint32_t lane; /* while it waits */
    uint32_t chain;
    uint16_t type; /* of its GPUs, while it holds some */
    uint8_t place; /* enum adl_preempt_place */
};

struct adl_preempt {
    const struct adl_cluster *cluster;
    struct adl_order_node *nodes; /* [slot] of the queue or of holding[type] */
    struct adl_preempt_job *jobs; /* [slot] */
    size_t node_capacity, job_capacity;
    struct adl_queue queue;                  /* those that wait, by key */
    struct adl_order holding[ADL_TYPES_MAX]; /* those that hold GPUs, by key */
    uint32_t holding_count;
    /* Why of these two jobs the first comes before the other, or, if stops, why it is stopped for the other. The policy
     * sets it. */
    struct adl_reason (*reason)(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                bool stops);
    const void *reason_context;
    int64_t bonus;       /* a job that holds GPUs counts as if its key were lower by this */
    bool weighs_loss;    /* keys of jobs that hold GPUs count what a stop would lose; else adl_stop_pays decides */
    uint64_t sequence;   /* of insertions into holding */
    uint32_t heir;       /* a job that others were stopped for and that still waits, or ADL_NONE ... */
    uint32_t heir_place; /* ... for the bank that they leave; or any of the type */
    uint32_t heir_type;
    uint32_t last_start; /* the job of the last START that was proposed, or ADL_NONE */
    bool goes_on;        /* the pass that proposed it can go on behind it ... */
    int64_t pass_us;     /* ... if these are still as they were */
    uint64_t pass_releases;
    uint32_t pass_down_gpus;

    /* one decision */
    int64_t stopping[ADL_TYPES_MAX]; /* GPUs of jobs that are about to leave */
    int64_t claimed[ADL_TYPES_MAX];  /* GPUs that jobs further up wait for */
    struct adl_reservation waits[ADL_PREEMPT_WAITS_MAX];
    uint32_t wait_count;
    bool blocks;   /* a job waits for room on several nodes, and which cores and memory it will need is not known */
    bool by_count; /* numbers of GPUs alone decided on those passed over so far */
    struct adl_preempt_tally *tallies; /* [bank] */
    uint64_t epoch;
};

int adl_preempt_create(struct adl_preempt *ret, const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_preempt_clear(struct adl_preempt *list);                                   /* frees; accepts a zeroed one */

/* From rank() or observe(): a job waits, new or back from its GPUs, 0 or ADL_ENOMEM; it is gone. */
int adl_preempt_join(struct adl_preempt *list, uint32_t slot, const struct adl_job_spec *spec, int64_t key);
void adl_preempt_leave(struct adl_preempt *list, uint32_t slot); /* accepts one that is not there */

void adl_preempt_rerank(struct adl_preempt *list, uint32_t slot, int64_t key); /* of a live job */

/* Gives every job that holds GPUs the key that the function says now, in time linear in their number if their order has
 * hardly changed. */
void adl_preempt_refresh(struct adl_preempt *list, const struct adl_state *state,
                         int64_t (*key)(const struct adl_state *, uint32_t slot, const void *context),
                         const void *context);

/* At the beginning of each decide(): the job that started since the last call, or ADL_NONE; call until ADL_NONE. It has
 * kept its key. */
uint32_t adl_preempt_next_started(struct adl_preempt *list, const struct adl_state *state);

/* The reason of the START or PREEMPT that was just added to the plan: of a stop, for whom; else compared with the first
 * that waits, or the second. */
void adl_preempt_because(const struct adl_preempt *list, const struct adl_state *state, uint32_t wanted,
                         struct adl_plan *plan);

/* Adds one START, or PREEMPTs in order of keys, or nothing. */
int adl_preempt_decide(struct adl_preempt *list, const struct adl_state *state, struct adl_plan *plan);

#endif
