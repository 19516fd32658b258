/* preemptive_list: preemptive list scheduling. All live jobs are in one order. A pass down the order gives each job
 * GPUs while they last and skips jobs that do not fit; running jobs that get none are preempted, and chosen jobs that
 * wait start as soon as their GPUs are free. The policy defines the order: it gives every job a key, least first, and
 * may change it at any time.
 *
 * Jobs that need only a number of GPUs (they may span nodes and ask for no cores or memory) are chosen by count,
 * exactly as that pass would. For others it finds a place: a node that suffices once jobs of lower rank have left it.
 * No job is preempted for one that could not start then. Jobs do not share GPUs.
 *
 * No job is stopped twice at one instant: a job is preempted only for one of higher rank, and the order of two jobs
 * must not change because one of them starts or stops. Policies have to ensure that. */
#ifndef ADLRO_POLICY_MECHANISM_PREEMPTIVE_LIST_H
#define ADLRO_POLICY_MECHANISM_PREEMPTIVE_LIST_H

#include "base/order.h"
#include "model/plan.h"
#include "state/fit.h"
#include "state/queue.h"
#include "state/state.h"

#define ADL_PREEMPTIVE_RESERVATIONS_MAX 32 /* places reserved for jobs that wait for others to stop */

/* What a bank would have free once the jobs considered so far have left. */
struct adl_bank_capacity {
    uint64_t epoch;
    uint32_t gpus;
    int32_t cores;
    int32_t memory_mib;
};

enum adl_preemptive_phase { ADL_PREEMPTIVE_ABSENT, ADL_PREEMPTIVE_WAITING, ADL_PREEMPTIVE_HOLDING };

struct adl_preemptive_job {
    int64_t key;   /* while it waits */
    uint32_t lane; /* while it waits in the list's own queue */
    uint32_t chain;
    uint16_t type; /* of its GPUs, while it holds some */
    uint8_t phase; /* enum adl_preemptive_phase */
};

struct adl_preemptive_list {
    const struct adl_cluster *cluster;
    struct adl_order_node *nodes;    /* [slot] of the queue or of holding[type] */
    struct adl_preemptive_job *jobs; /* [slot] */
    size_t node_capacity, job_capacity;
    struct adl_queue queue;                  /* waiting jobs, by key; empty if ranked */
    struct adl_order holding[ADL_TYPES_MAX]; /* jobs that hold GPUs, by key */
    uint32_t holding_count;
    /* Set by the policy: why the first job ranks above the other or, if stops, why it is preempted for the other. */
    struct adl_reason (*reason)(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                bool stops);
    const void *reason_context;
    bool ranked;              /* keys are the policy's ranks, so the state's queue has waiting jobs by key already */
    int64_t bonus;            /* a job that holds GPUs counts as if its key were lower by this */
    bool weighs_loss;         /* keys of holders include the work a stop would lose; else adl_stop_pays decides */
    uint64_t sequence;        /* of insertions into holding */
    uint32_t preemptor;       /* a job that others were stopped for and that still waits, or ADL_NONE ... */
    uint32_t preemptor_place; /* ... for the bank that they leave; or any of the type */
    uint32_t preemptor_type;
    uint32_t last_start; /* the job of the last proposed START, or ADL_NONE */
    bool resumable;      /* the pass that proposed it, or stops, can go on behind it ... */
    int64_t pass_us;     /* ... if these are still as they were */
    uint64_t pass_releases;
    uint32_t pass_down_gpus, pass_stopping;

    /* one decision */
    int64_t stopping[ADL_TYPES_MAX]; /* GPUs of stopping jobs */
    int64_t reserved[ADL_TYPES_MAX]; /* GPUs that jobs of higher rank wait for */
    struct adl_reservation reservations[ADL_PREEMPTIVE_RESERVATIONS_MAX];
    uint32_t reservation_count;
    bool blocks;   /* a spanning job waits; which nodes' cores and memory it will need is unknown */
    bool by_count; /* all jobs skipped so far need only a number of GPUs */
    struct adl_bank_capacity *capacities; /* [bank] */
    uint64_t epoch;
};

int adl_preemptive_list_create(struct adl_preemptive_list *ret,
                               const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_preemptive_list_clear(struct adl_preemptive_list *list);  /* frees; accepts a zeroed one */
/* Becomes equal to another of the same cluster; 0 or ADL_ENOMEM. */
int adl_preemptive_list_copy(struct adl_preemptive_list *to, const struct adl_preemptive_list *from,
                             const void *reason_context);

/* The waiting jobs, by key. */
static inline const struct adl_queue *adl_preemptive_list_queue(const struct adl_preemptive_list *list,
                                                                const struct adl_state *state)
{
    return list->ranked ? &state->queue : &list->queue;
}

/* From rank() or observe(): a new or preempted job waits (0 or ADL_ENOMEM); a job is gone. */
int adl_preemptive_list_add(struct adl_preemptive_list *list, uint32_t slot, const struct adl_job_spec *spec,
                            int64_t key);
void adl_preemptive_list_remove(struct adl_preemptive_list *list,
                                uint32_t slot); /* accepts a job that is not in the list */

/* Of a job that holds GPUs or, unless the list is ranked, waits. */
void adl_preemptive_list_rerank(struct adl_preemptive_list *list, uint32_t slot, int64_t key);

/* Recomputes the key of every job that holds GPUs, in linear time if their order has hardly changed. Inline,
 * because the key is computed for all of them at each instant. */
static inline void adl_preemptive_list_refresh(struct adl_preemptive_list *list, const struct adl_state *state,
                                               int64_t (*key)(const struct adl_state *, uint32_t slot,
                                                              const void *context),
                                               const void *context)
{
    struct adl_order_node *nodes = list->nodes;
    list->resumable = false;
    for (uint32_t t = 0; t < list->cluster->type_count; t++) {
        uint32_t moved = ADL_NONE;
        int64_t last_key = INT64_MIN;
        uint64_t last_sequence = 0;
        for (uint32_t slot = list->holding[t].first, next; slot != ADL_NONE; slot = next) {
            struct adl_order_node *node = &nodes[slot];
            next = node->next;
            node->key = key(state, slot, context);
            if (node->key > last_key || (node->key == last_key && node->sequence > last_sequence)) {
                last_key = node->key;
                last_sequence = node->sequence;
                continue;
            }
            adl_order_remove(nodes, &list->holding[t], slot);
            list->jobs[slot].chain = moved;
            moved = slot;
        }
        for (; moved != ADL_NONE; moved = list->jobs[moved].chain)
            adl_order_insert(nodes, &list->holding[t], moved, nodes[moved].key, nodes[moved].sequence, 0);
    }
}

/* At the beginning of each decide(): a job that started since the last call, or ADL_NONE; call until ADL_NONE. The job
 * keeps its key. */
uint32_t adl_preemptive_list_next_started(struct adl_preemptive_list *list, const struct adl_state *state);

/* Sets the reason of the START or PREEMPT that was just added to the plan: for a PREEMPT the preemptor; for a START the
 * comparison with the first waiting job, or the second. */
void adl_preemptive_list_explain(const struct adl_preemptive_list *list, const struct adl_state *state, uint32_t wanted,
                                 struct adl_plan *plan);

/* Adds one START, or PREEMPTs in order of keys, or nothing. */
int adl_preemptive_list_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan);

#endif
