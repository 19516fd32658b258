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
#ifndef ADLRO_POLICY_MECHANISM_PREEMPTIVE_LIST_H
#define ADLRO_POLICY_MECHANISM_PREEMPTIVE_LIST_H

#include "base/order.h"
#include "model/plan.h"
#include "state/fit.h"
#include "state/queue.h"
#include "state/state.h"

#define ADL_PREEMPTIVE_RESERVATIONS_MAX 32 /* places kept for jobs that wait for others to stop */

struct adl_bank_capacity;

enum adl_preemptive_phase { ADL_PREEMPTIVE_ABSENT, ADL_PREEMPTIVE_WAITING, ADL_PREEMPTIVE_HOLDING };

struct adl_preemptive_job {
    uint32_t lane; /* while it waits */
    uint32_t chain;
    uint16_t type; /* of its GPUs, while it holds some */
    uint8_t phase; /* enum adl_preemptive_phase */
};

struct adl_preemptive_list {
    const struct adl_cluster *cluster;
    struct adl_order_node *nodes;    /* [slot] of the queue or of holding[type] */
    struct adl_preemptive_job *jobs; /* [slot] */
    size_t node_capacity, job_capacity;
    struct adl_queue queue;                  /* those that wait, by key */
    struct adl_order holding[ADL_TYPES_MAX]; /* those that hold GPUs, by key */
    uint32_t holding_count;
    /* Why of these two jobs the first comes before the other, or, if stops, why it is stopped for the other. The policy
     * sets it. */
    struct adl_reason (*reason)(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                bool stops);
    const void *reason_context;
    int64_t bonus;            /* a job that holds GPUs counts as if its key were lower by this */
    bool weighs_loss;         /* keys of jobs that hold GPUs count what a stop would lose; else adl_stop_pays decides */
    uint64_t sequence;        /* of insertions into holding */
    uint32_t preemptor;       /* a job that others were stopped for and that still waits, or ADL_NONE ... */
    uint32_t preemptor_place; /* ... for the bank that they leave; or any of the type */
    uint32_t preemptor_type;
    uint32_t last_start; /* the job of the last START that was proposed, or ADL_NONE */
    bool resumable;      /* the pass that proposed it can go on behind it ... */
    int64_t pass_us;     /* ... if these are still as they were */
    uint64_t pass_releases;
    uint32_t pass_down_gpus;

    /* one decision */
    int64_t stopping[ADL_TYPES_MAX]; /* GPUs of jobs that are about to leave */
    int64_t reserved[ADL_TYPES_MAX]; /* GPUs that jobs further up wait for */
    struct adl_reservation reservations[ADL_PREEMPTIVE_RESERVATIONS_MAX];
    uint32_t reservation_count;
    bool blocks;   /* a job waits for room on several nodes, and which cores and memory it will need is not known */
    bool by_count; /* numbers of GPUs alone decided on those passed over so far */
    struct adl_bank_capacity *capacities; /* [bank] */
    uint64_t epoch;
};

int adl_preemptive_list_create(struct adl_preemptive_list *ret,
                               const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_preemptive_list_clear(struct adl_preemptive_list *list);  /* frees; accepts a zeroed one */

/* From rank() or observe(): a job waits, new or back from its GPUs, 0 or ADL_ENOMEM; it is gone. */
int adl_preemptive_list_add(struct adl_preemptive_list *list, uint32_t slot, const struct adl_job_spec *spec,
                            int64_t key);
void adl_preemptive_list_remove(struct adl_preemptive_list *list, uint32_t slot); /* accepts one that is not there */

void adl_preemptive_list_rerank(struct adl_preemptive_list *list, uint32_t slot, int64_t key); /* of a live job */

/* Gives every job that holds GPUs the key that the function says now, in time linear in their number if their order has
 * hardly changed. */
void adl_preemptive_list_refresh(struct adl_preemptive_list *list, const struct adl_state *state,
                                 int64_t (*key)(const struct adl_state *, uint32_t slot, const void *context),
                                 const void *context);

/* At the beginning of each decide(): the job that started since the last call, or ADL_NONE; call until ADL_NONE. It has
 * kept its key. */
uint32_t adl_preemptive_list_next_started(struct adl_preemptive_list *list, const struct adl_state *state);

/* The reason of the START or PREEMPT that was just added to the plan: of a stop, for whom; else compared with the first
 * that waits, or the second. */
void adl_preemptive_list_explain(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t wanted,
                                 struct adl_plan *plan);

/* Adds one START, or PREEMPTs in order of keys, or nothing. */
int adl_preemptive_list_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan);

#endif
