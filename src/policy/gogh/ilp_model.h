/* ilp_model: the integer program of the present state (solve/allotment.h): who could be given GPUs, grouped by where
 * they stand, and every way to serve them, alone or in pairs, with its price. */
#ifndef ADLRO_POLICY_GOGH_ILP_MODEL_H
#define ADLRO_POLICY_GOGH_ILP_MODEL_H

#include "policy/gogh/claims.h"
#include "policy/gogh/cost_model.h"
#include "solve/allotment.h"
#include "state/state.h"

/* Bounds on one program. Of more waiting jobs the oldest are looked at; of more pairs than there is room for, each
 * group keeps its best. */
#define ADL_ILP_MODEL_QUEUE    512
#define ADL_ILP_MODEL_GROUPS   1024
#define ADL_ILP_MODEL_OFFERS   16384
#define ADL_ILP_MODEL_PARTNERS 6 /* groups that a group is offered to share each type with */

struct adl_ilp_model_group {
    struct adl_standing standing;
    struct adl_prospect prospect;
    uint32_t first, last; /* its jobs: chain through next[] */
};

/* How often it was solved. */
struct adl_ilp_model_counts {
    uint64_t solved;
    uint64_t proved; /* of these, best within the gap */
    uint64_t greedy; /* of these, where the exact solver was not asked or found nothing better within its limits */
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
    double *cap_w; /* [offer] each of its GPUs held to this; 0 = not held */
    uint32_t offer_count;
    uint32_t *times; /* [offer] how often it is taken, after solving */
    uint32_t *group_jobs;
    double *wait_cost;
    uint32_t pool_gpus[ADL_TYPES_MAX];
    const struct adl_claims *claims; /* whose GPUs and jobs have no part in it; or NULL */
    double caps[ADL_POWER_CAPS_MAX]; /* shares of a type's max_w that GPUs may be held to */
    uint32_t cap_count;
    double power_limit_w; /* of all GPUs together; 0 = none */
    double stopping_w;    /* what jobs draw beyond idle that were told to stop */
    bool ripens;          /* of those that wait, some will stand otherwise after a while */
    bool share;           /* pairs are offered */
    bool stay;            /* running jobs are not moved */
    struct adl_allotment_limits limits;
    struct adl_allotment *allotment;
    struct adl_ilp_model_counts counts;
};

/* 0 or ADL_ENOMEM. The appraisal outlives it. */
int adl_ilp_model_create(struct adl_ilp_model *ret, const struct adl_policy_config *config,
                         const struct adl_cluster *cluster, struct adl_cost_model *cost_model);
void adl_ilp_model_clear(struct adl_ilp_model *program); /* accepts a zeroed one */

/* Builds and solves it, beginning with what runs. Allocates nothing unless the exact solver is asked. claims may be
 * NULL. */
void adl_ilp_model_solve(struct adl_ilp_model *program, const struct adl_state *state, const struct adl_claims *claims,
                         struct adl_allotment_answer *ret);

#endif
