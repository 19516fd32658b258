/* What the parts of shares.c have in common: the program in packs of kinds, and its value and slopes at a point. */
#ifndef ADLRO_SOLVE_SHARES_INTERNAL_H
#define ADLRO_SOLVE_SHARES_INTERNAL_H

#include "solve/shares.h"

#include <stddef.h>

#define ADL_SHARES_LANES 4 /* kinds that are computed together; the operations on each are the same as one by one */

/* A second body of a function for processors whose vectors are as long, chosen at run time. Without contraction both
 * give the same bits. */
#if defined(__x86_64__)
#define ADL_SHARES_WIDE __attribute__((target("avx2")))
#else
#define ADL_SHARES_WIDE
#endif

/* Loops over types are short: for three, the most frequent number, they are unrolled. */
#define ADL_SHARES_INLINE static inline __attribute__((always_inline))

typedef double adl_lanes __attribute__((vector_size(ADL_SHARES_LANES * sizeof(double)), aligned(16)));
typedef int64_t adl_lane_mask __attribute__((vector_size(ADL_SHARES_LANES * sizeof(int64_t)), aligned(16)));

/* Derivatives of the goal's barrier f for one job at (u, t): p = 1 / f_uu, ratio = f_ut / f_uu. Small differences of
 * large numbers, where a slack vanishes, are separate members. */
struct adl_shares_curvature {
    adl_lanes u, t; /* f_u, f_t */
    adl_lanes p, ratio;
    adl_lanes rest;   /* f_tt - f_ut^2 / f_uu */
    adl_lanes t_rest; /* f_t - ratio f_u */
    adl_lanes step;   /* p f_u */
};

/* Up to ADL_SHARES_LANES kinds, and where they stand now; the last of the problem is repeated in lanes that are not
 * used. */
struct adl_shares_pack {
    adl_lanes jobs, demand, weight, age, left; /* demand: jobs * gpus */
    adl_lanes u, time;                         /* speed, and slack of a job's time */
    struct adl_shares_curvature curvature;
    uint32_t count;
};

struct adl_shares {
    uint32_t kinds_max, types_max;
    struct adl_shares_pack *packs;
    uint32_t pack_count;
    adl_lanes *speed, *share, *dx;      /* [pack][type] */
    adl_lane_mask *usable;              /* [pack][type] */
    adl_lanes *blocks;                  /* [pack][(types + 2) * types]: pull, goal and share of its block */
    double slack[ADL_SHARES_TYPES_MAX]; /* capacity left */
    double matrix[ADL_SHARES_TYPES_MAX + 1][ADL_SHARES_TYPES_MAX + 2]; /* rows and columns: the types' prices, t; the
                                                                          last column is the right-hand side */
    const struct adl_shares_problem *problem;
    double t, dt, mu, scale;
    bool wide; /* the processor has AVX2 */
};

static inline bool adl_shares_has_t(const struct adl_shares *self)
{
    return self->problem->goal == ADL_SHARES_MAX_MIN || self->problem->goal == ADL_SHARES_FINISH;
}

/* u and the slack of the time of a pack's jobs, at a point along the step. A share that is not usable is 0 and stays
 * so. */
ADL_SHARES_INLINE void adl_shares_evaluate(const struct adl_shares *self, uint32_t types, uint32_t p, double along,
                                           adl_lanes *ret_u, adl_lanes *ret_time)
{
    const adl_lanes *speed = &self->speed[(size_t)p * types], *share = &self->share[(size_t)p * types],
                    *dx = &self->dx[(size_t)p * types];
    adl_lanes u = {0}, time = 1 + u;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++) {
        const adl_lanes x = share[a] + along * dx[a];
        u += speed[a] * x;
        time -= x;
    }
    *ret_u = u;
    *ret_time = time;
}

/* The slack of the kinds' rows of the goal; it must stay above 0. */
ADL_SHARES_INLINE void adl_shares_goal_slack(const struct adl_shares *self, const struct adl_shares_pack *pack,
                                             const adl_lanes *u, double t, adl_lanes *ret)
{
    switch (self->problem->goal) {
    case ADL_SHARES_MAX_MIN:
        *ret = pack->weight * *u - t;
        return;
    case ADL_SHARES_FINISH: {
        const adl_lane_mask late = t > pack->age;
        const adl_lanes inside = *u * (t - pack->age) - pack->left, outside = pack->age * 0 - 1;
        *ret = (adl_lanes)(((adl_lane_mask)inside & late) | ((adl_lane_mask)outside & ~late));
        return;
    }
    case ADL_SHARES_FLOOR:
        *ret = pack->weight * *u - self->problem->floor;
        return;
    default:
        *ret = *u;
    }
}

/* The finish goal is the cone y u >= 1, t - age - left y >= 0 with y at its best: the logarithms of both slacks are
 * then 2 log(u (t - age) - left) - log(u) and a constant. */
ADL_SHARES_INLINE void adl_shares_curvature_at(const struct adl_shares *self, const struct adl_shares_pack *pack,
                                               const adl_lanes *at, double t, struct adl_shares_curvature *ret)
{
    adl_lanes y;
    const adl_lanes u = *at, w = pack->weight, since = t - pack->age;
    adl_shares_goal_slack(self, pack, at, t, &y);
    *ret = (struct adl_shares_curvature){.step = -y / w};
    switch (self->problem->goal) {
    case ADL_SHARES_MAX_MIN:
        ret->u = -w / y;
        ret->t = 1 / y;
        ret->p = y * y / (w * w);
        ret->ratio = -1 / w;
        return;
    case ADL_SHARES_FLOOR:
        ret->u = -w / y;
        ret->p = y * y / (w * w);
        return;
    case ADL_SHARES_FINISH: {
        const adl_lanes uu = 2 * since * since - y * y / (u * u); /* y^2 f_uu */
        ret->u = -2 * since / y + 1 / u;
        ret->t = -2 * u / y;
        ret->p = y * y / uu;
        ret->ratio = 2 * pack->left / uu;
        ret->rest = (2 + 8 * pack->left / y) / uu;
        ret->t_rest = (-4 * since + 2 * (y - pack->left) / u) / uu;
        ret->step = y * (-2 * since + y / u) / uu;
        return;
    }
    default: {
        const adl_lanes cost = pack->left * self->scale / self->mu;
        ret->u = -cost / (u * u);
        ret->p = u * u * u / (2 * cost);
        ret->step = -u / 2;
    }
    }
}

static inline double adl_shares_t_gradient(const struct adl_shares *self)
{
    double gradient = 0;
    if (self->problem->goal == ADL_SHARES_MAX_MIN)
        gradient = -self->scale / self->mu;
    else if (self->problem->goal == ADL_SHARES_FINISH)
        gradient = self->scale / self->mu;
    return gradient;
}

/* Adds the lanes of a pack's kinds one by one: a sum over kinds is the same as without packs. */
ADL_SHARES_INLINE double adl_shares_add(double sum, const adl_lanes *terms, uint32_t count)
{
    if (count == ADL_SHARES_LANES) { /* all packs but the last */
#pragma GCC unroll 4
        for (uint32_t l = 0; l < ADL_SHARES_LANES; l++)
            sum += (*terms)[l];
        return sum;
    }
    for (uint32_t l = 0; l < count; l++)
        sum += (*terms)[l];
    return sum;
}

ADL_SHARES_INLINE void adl_shares_measure(const struct adl_shares *self, uint32_t types, double along,
                                          double *ret_slack)
{
    const struct adl_shares_problem *problem = self->problem;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++)
        ret_slack[a] = problem->capacity[a];
    for (uint32_t p = 0; p < self->pack_count; p++)
#pragma GCC unroll 3
        for (uint32_t a = 0; a < types; a++) {
            const size_t at = (size_t)p * types + a;
            const adl_lanes taken = -(self->packs[p].demand * (self->share[at] + along * self->dx[at]));
            ret_slack[a] = adl_shares_add(ret_slack[a], &taken, self->packs[p].count);
        }
}

/* Newton's step dx, dt from where the packs stand; false if there is none. */
bool adl_shares_find_step(struct adl_shares *self);

#endif
