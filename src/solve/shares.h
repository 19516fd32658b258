/* shares: the share of time that each job spends on each type of GPU, optimal for a goal; the analytic centre of all
 * optima, by an interior-point method.
 *
 * x_ka >= 0 is the share of time that a job of kind k spends on type a, u_k = sum_a speed_ka x_ka its resulting speed;
 * always sum_a x_ka <= 1 and sum_k jobs_k gpus_k x_ka <= capacity_a. Most such programs have many optima. The simplex
 * method returns a vertex, which puts arbitrary jobs on arbitrary types; this returns their analytic centre, where the
 * product of all slacks is largest. Equal jobs get equal shares, so they can be given as one kind, and nothing depends
 * on their order.
 *
 * Newton's method on goal / mu - sum of the logarithms of the slacks, mu falling (S. Boyd and L. Vandenberghe, "Convex
 * Optimization", 2004, section 11.3). Each step is linear in the kinds: a kind's part of the matrix is diagonal but for
 * two rows, and the kinds meet only in the types' capacities and the goal. No allocation after create, no logarithm is
 * ever computed, and equal calls give equal results. */
#ifndef ADLRO_SOLVE_SHARES_H
#define ADLRO_SOLVE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#define ADL_SHARES_TYPES_MAX 32

enum adl_shares_goal {
    ADL_SHARES_MAX_MIN, /* maximize t, t <= weight_k u_k */
    ADL_SHARES_FINISH,  /* minimize t, t >= age_k + left_k / u_k */
    ADL_SHARES_SUM,     /* minimize sum_k jobs_k left_k / u_k */
    ADL_SHARES_FLOOR,   /* the centre of all shares with u_k >= floor / weight_k */
};

struct adl_shares_kind {
    double jobs, gpus;
    double weight;                      /* max-min, floor: above 0 */
    double age, left;                   /* finish, sum: left above 0 */
    double speed[ADL_SHARES_TYPES_MAX]; /* 0 = not there */
    double share[ADL_SHARES_TYPES_MAX]; /* the answer */
};

struct adl_shares_problem {
    int goal; /* enum adl_shares_goal */
    uint32_t types;
    const double *capacity; /* [types]; a type of capacity 0 is not used */
    double floor;           /* floor: it must be below the max-min goal that the shares now in the kinds reach */
    uint32_t count;
    struct adl_shares_kind *kinds;
};

struct adl_shares_answer {
    bool solved; /* else the shares are feasible, but not optimal */
    uint32_t steps;
    double goal; /* t or the sum */
};

struct adl_shares;

int adl_shares_create(uint32_t kinds_max, uint32_t types_max, struct adl_shares **ret); /* 0 or ADL_ENOMEM */
void adl_shares_destroy(struct adl_shares *shares);                                     /* accepts NULL */

/* At most kinds_max kinds and types_max types, each kind with a speed on a type that has capacity. */
struct adl_shares_answer adl_shares_solve(struct adl_shares *shares, const struct adl_shares_problem *problem);

#endif
