/* ilp_model: the integer program of the current state (solve/allotment.h): the jobs, grouped by equal features, and
 * every way to serve them, alone or in pairs, with its cost. */
#ifndef ADLRO_POLICY_GOGH_ILP_MODEL_H
#define ADLRO_POLICY_GOGH_ILP_MODEL_H

#include "policy/gogh/cost_model.h"
#include "policy/gogh/gpu_reservations.h"
#include "solve/allotment.h"
#include "state/state.h"

/* Size limits of one program. Only the oldest waiting jobs enter it; each group keeps only its best pairs. */
#define ADL_ILP_MODEL_QUEUE    512
#define ADL_ILP_MODEL_GROUPS   1024
#define ADL_ILP_MODEL_OFFERS   16384
#define ADL_ILP_MODEL_PARTNERS 6 /* groups that a group may share GPUs of one type with */

struct adl_ilp_model_group {
    struct adl_job_features features;
    struct adl_job_estimates estimates;
    uint32_t first, last; /* its jobs: chain through next[] */
};

/* How often the program was solved. */
struct adl_ilp_model_counts {
    uint64_t solved;
    uint64_t proved; /* of these, proved optimal within the gap */
    uint64_t greedy; /* of these, exact solver off, or it found nothing better within its limits */
};

struct adl_ilp_model {
    const struct adl_cluster *cluster;
    struct adl_cost_model *cost_model; /* not owned */
    struct adl_ilp_model_group *groups;
    uint32_t group_count;
    uint32_t *table;                  /* open hash of groups */
    uint32_t *jobs, *next;            /* [member] slot, and the next of its group or ADL_NONE */
    uint32_t job_count, job_capacity; /* members */
    struct adl_offer *offers;
    double *cap_w; /* [offer] power cap of each of its GPUs; 0 = none */
    uint32_t offer_count;
    uint32_t first_count; /* of the offers: those of the first stage, or all if there was one stage */
    uint32_t *times;      /* [offer] how often it is taken, after solving */
    uint32_t *group_jobs;
    uint32_t *jobs_left; /* [group] of the jobs: what the present stage may serve */
    double *wait_cost;
    uint32_t pool_gpus[ADL_TYPES_MAX];
    const struct adl_gpu_reservations *reservations; /* whose GPUs and jobs are left out; or NULL */
    double caps[ADL_POWER_CAPS_MAX];                 /* permitted power caps, as shares of a type's max_w */
    uint32_t cap_count;
    double power_limit_w;   /* of all GPUs together; 0 = none */
    bool promised_first;    /* jobs with an SLA that can still be met are served before all others, limit or not */
    uint32_t short_next;    /* in so many programs power is taken to be short, so they are, too */
    double stopping_w;      /* draw beyond idle of stopping jobs */
    bool changes_with_time; /* the features of some waiting jobs do */
    bool share;             /* jobs may share a GPU */
    bool stay;              /* running jobs are not moved */
    struct adl_allotment_limits limits;
    struct adl_allotment *allotment;
    struct adl_ilp_model_counts counts;
};

/* 0 or ADL_ENOMEM. The cost model outlives it. */
int adl_ilp_model_create(struct adl_ilp_model *ret, const struct adl_policy_config *config,
                         const struct adl_cluster *cluster, struct adl_cost_model *cost_model);
void adl_ilp_model_clear(struct adl_ilp_model *ilp);                                 /* accepts a zeroed one */
void adl_ilp_model_copy(struct adl_ilp_model *to, const struct adl_ilp_model *from); /* created in the same way */
/* limit_w: of all GPUs; 0 = none. promised_first: even if the limit does not bind. */
void adl_ilp_model_set_limit(struct adl_ilp_model *ilp, double limit_w, bool promised_first);

/* Builds and solves the program, starting from what runs. Allocates only if the exact solver is used. reservations may
 * be NULL. ret is the answer of the first stage if there are two. */
void adl_ilp_model_solve(struct adl_ilp_model *ilp, const struct adl_state *state,
                         const struct adl_gpu_reservations *reservations, struct adl_allotment_answer *ret);

#endif
