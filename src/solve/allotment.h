/* allotment: which jobs get which kind of GPUs, alone or in pairs, at least cost: the integer program of the second
 * source as reconstructed here (docs/gogh.md).
 *
 *     minimize    sum over offers o of  cost[o] x[o]  +  sum over groups g of  wait_cost[g] w[g]
 *     subject to  sum of x[o] times how often g is in o, + w[g]  =  count[g]     every job is served once or waits
 *                 sum of gpus[o] x[o] over offers of pool p     <=  pool_gpus[p]
 *                 sum of power_w[o] x[o]                        <=  power_cap_w
 *                 x, w whole and not negative
 *
 * A group is a set of equal jobs; an offer is one way to serve one job of a group, or one of each of two groups
 * together on one GPU. The penalty of a missed SLA is part of an offer's cost: because each job takes one offer this is
 * exact, and the bound of the relaxation is tight. */
#ifndef ADLRO_SOLVE_ALLOTMENT_H
#define ADLRO_SOLVE_ALLOTMENT_H

#include "base/error.h"
#include "base/index.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_offer {
    uint32_t group[2]; /* the second is ADL_NONE if the job is alone; both may be the same group */
    uint32_t pool;
    uint32_t gpus; /* of the pool, each time it is taken */
    double cost;
    double power_w; /* not negative */
};

struct adl_allotment_problem {
    uint32_t group_count, pool_count, offer_count;
    const uint32_t *group_jobs; /* [group] */
    const double *wait_cost;    /* [group] of one job that is not served */
    const uint32_t *pool_gpus;  /* [pool] */
    const struct adl_offer *offers;
    double power_cap_w; /* HUGE_VAL = none */
};

struct adl_allotment_limits {
    uint32_t swaps;      /* most tries of local search */
    uint32_t nodes;      /* of the exact solver; 0 = it is not used */
    uint32_t iterations; /* of its simplex method */
    double gap;          /* accepted relative optimality gap: 0.001 */
};

enum adl_allotment_by {
    ADL_ALLOTMENT_GREEDY, /* and swaps */
    ADL_ALLOTMENT_EXACT,  /* the solver found a better solution, or proved this one optimal */
};

struct adl_allotment_answer {
    double cost;
    double bound;   /* no allotment costs less; -HUGE_VAL if the solver was not used or stopped too early */
    uint8_t by;     /* enum adl_allotment_by */
    bool optimal;   /* proved, within the gap */
    uint32_t swaps; /* work done */
    uint32_t nodes;
};

struct adl_allotment;

/* Room for problems up to these sizes; after that the greedy part allocates nothing. 0 or ADL_ENOMEM. */
int adl_allotment_create(uint32_t groups, uint32_t pools, uint32_t offers, struct adl_allotment **ret);
void adl_allotment_destroy(struct adl_allotment *allotment); /* accepts NULL */

/* times is [offer], how often each is taken: on entry an initial solution (parts that do not fit are left out; zeros:
 * none), on return the best found, which is always feasible. Equal calls give equal results. */
void adl_allotment_solve(struct adl_allotment *allotment, const struct adl_allotment_problem *problem,
                         const struct adl_allotment_limits *limits, uint32_t *times, struct adl_allotment_answer *ret);

#endif
