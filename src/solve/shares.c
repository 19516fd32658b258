#include "solve/shares_internal.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX  600
#define MU_FACTOR  0.1
#define NEAR       1e-3 /* squared Newton decrement that ends the steps for one mu */
#define GAP        1e-7 /* relative, of the goal */
#define HALVES_MAX 40

int adl_shares_create(uint32_t kinds_max, uint32_t types_max, struct adl_shares **ret)
{
    struct adl_shares *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    const size_t packs = (size_t)kinds_max / ADL_SHARES_LANES + 1, rows = packs * types_max;
    self->kinds_max = kinds_max;
    self->types_max = types_max;
#if defined(__x86_64__)
    self->wide = __builtin_cpu_supports("avx2");
#endif
    self->packs = calloc(packs, sizeof *self->packs);
    self->speed = calloc(rows, sizeof *self->speed);
    self->share = calloc(rows, sizeof *self->share);
    self->dx = calloc(rows, sizeof *self->dx);
    self->usable = calloc(rows, sizeof *self->usable);
    self->blocks = calloc(rows * (types_max + 2), sizeof *self->blocks);
    if (!self->packs || !self->speed || !self->share || !self->dx || !self->usable || !self->blocks) {
        adl_shares_destroy(self);
        return ADL_ENOMEM;
    }
    *ret = self;
    return 0;
}

void adl_shares_destroy(struct adl_shares *self)
{
    if (!self)
        return;
    free(self->packs);
    free(self->speed);
    free(self->share);
    free(self->dx);
    free(self->usable);
    free(self->blocks);
    free(self);
}

/* ---- along a step ---- */

ADL_SHARES_INLINE bool any(const adl_lane_mask *flags)
{
    int64_t all = 0;
    for (uint32_t l = 0; l < ADL_SHARES_LANES; l++)
        all |= (*flags)[l];
    return all != 0;
}

/* Adds the slope of a pack's part of the function. False outside the bounds. */
ADL_SHARES_INLINE bool add_slope(const struct adl_shares *self, uint32_t types, uint32_t p, double along,
                                 const struct adl_shares_pack *pack, const double *slack, double *slope)
{
    const struct adl_shares_curvature *curvature = &pack->curvature;
    adl_lanes terms[ADL_SHARES_TYPES_MAX + 1];
    adl_lane_mask outside = ~(pack->time > 0);
    terms[0] = pack->jobs * curvature->t * self->dt;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++) {
        const size_t at = (size_t)p * types + a;
        const adl_lanes dx = self->dx[at], x = self->share[at] + along * dx;
        /* A pack's own gradient, and the capacity's part. */
        const adl_lanes own = pack->jobs * (-1 / x + 1 / pack->time + curvature->u * self->speed[at]);
        outside |= self->usable[at] & ~(x > 0);
        terms[a + 1] = (adl_lanes)((adl_lane_mask)(dx * (own + pack->demand / slack[a])) & self->usable[at]);
    }
    if (any(&outside))
        return false;
    for (uint32_t l = 0; l < pack->count; l++)
#pragma GCC unroll 3
        for (uint32_t a = 0; a <= types; a++)
            *slope += terms[a][l];
    return true;
}

/* The slope of the function where the step was found. */
ADL_SHARES_INLINE double slope_here_over(const struct adl_shares *self, uint32_t types)
{
    double slope = adl_shares_t_gradient(self) * self->dt;
    for (uint32_t p = 0; p < self->pack_count; p++)
        if (!add_slope(self, types, p, 0, &self->packs[p], self->slack, &slope))
            return HUGE_VAL;
    return slope;
}

ADL_SHARES_WIDE static double slope_here_wide(const struct adl_shares *self)
{
    return self->problem->types == 3 ? slope_here_over(self, 3) : slope_here_over(self, self->problem->types);
}

static double slope_here(const struct adl_shares *self)
{
    if (self->wide)
        return slope_here_wide(self);
    return self->problem->types == 3 ? slope_here_over(self, 3) : slope_here_over(self, self->problem->types);
}

/* The slope of the function at a point along the step; HUGE_VAL outside the bounds. */
ADL_SHARES_INLINE double slope_over(const struct adl_shares *self, uint32_t types, double along)
{
    const struct adl_shares_problem *problem = self->problem;
    const double t = self->t + along * self->dt;
    double slope = adl_shares_t_gradient(self) * self->dt, slack[ADL_SHARES_TYPES_MAX] = {0};
    adl_shares_measure(self, types, along, slack);
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++)
        if (problem->capacity[a] > 0 && !(slack[a] > 0))
            return HUGE_VAL;
    for (uint32_t p = 0; p < self->pack_count; p++) {
        struct adl_shares_pack there = self->packs[p];
        adl_lanes y;
        adl_shares_evaluate(self, types, p, along, &there.u, &there.time);
        adl_shares_goal_slack(self, &there, &there.u, t, &y);
        const adl_lane_mask outside = ~(y > 0);
        if (any(&outside))
            return HUGE_VAL;
        adl_shares_curvature_at(self, &there, &there.u, t, &there.curvature);
        if (!add_slope(self, types, p, along, &there, slack, &slope))
            return HUGE_VAL;
    }
    return slope;
}

ADL_SHARES_WIDE static double slope_wide(const struct adl_shares *self, double along)
{
    return self->problem->types == 3 ? slope_over(self, 3, along) : slope_over(self, self->problem->types, along);
}

static double slope_at(const struct adl_shares *self, double along)
{
    if (self->wide)
        return slope_wide(self, along);
    return self->problem->types == 3 ? slope_over(self, 3, along) : slope_over(self, self->problem->types, along);
}

/* The longest step before a share becomes 0. */
ADL_SHARES_INLINE double reach_over(const struct adl_shares *self, uint32_t types)
{
    double along = 1;
    for (uint32_t p = 0; p < self->pack_count; p++) {
        const adl_lanes *share = &self->share[(size_t)p * types], *dx = &self->dx[(size_t)p * types];
        adl_lane_mask near = {0};
#pragma GCC unroll 3
        for (uint32_t a = 0; a < types; a++)
            near |= (dx[a] < 0) & (share[a] + along * dx[a] < 0.05 * share[a]);
        for (uint32_t l = 0; any(&near) && l < self->packs[p].count; l++)
            for (uint32_t a = 0; a < types; a++)
                if (dx[a][l] < 0 && share[a][l] + along * dx[a][l] < 0.05 * share[a][l])
                    along = -0.95 * share[a][l] / dx[a][l];
    }
    return along;
}

ADL_SHARES_WIDE static double reach_wide(const struct adl_shares *self)
{
    return self->problem->types == 3 ? reach_over(self, 3) : reach_over(self, self->problem->types);
}

static double reach(const struct adl_shares *self)
{
    if (self->wide)
        return reach_wide(self);
    return self->problem->types == 3 ? reach_over(self, 3) : reach_over(self, self->problem->types);
}

/* A Newton step, shortened until the function still decreases there. False if it cannot. */
static bool move(struct adl_shares *self, double decrement)
{
    double along = reach(self), slope = HUGE_VAL;
    for (int halves = 0; halves < HALVES_MAX; halves++, along *= 0.5)
        if ((slope = slope_at(self, along)) <= 0.1 * decrement)
            break;
    if (!(slope <= 0.1 * decrement))
        return false;
    for (uint32_t i = 0; i < self->pack_count * self->problem->types; i++)
        self->share[i] += along * self->dx[i];
    self->t += along * self->dt;
    return true;
}

/* Moves to the centre for this mu. False if it reached the limit of steps or of precision first. */
static bool centre(struct adl_shares *self, uint32_t *steps)
{
    while (*steps < STEPS_MAX) {
        ++*steps;
        if (!adl_shares_find_step(self))
            return false;
        const double decrement = -slope_here(self);
        if (!(decrement > NEAR))
            return decrement > -NEAR;
        if (!move(self, decrement))
            return false;
    }
    return false;
}

/* ---- a program ---- */

static bool usable(const struct adl_shares *self, const struct adl_shares_kind *kind, uint32_t type)
{
    return kind->speed[type] > 0 && self->problem->capacity[type] > 0;
}

static void load(struct adl_shares *self)
{
    const struct adl_shares_problem *problem = self->problem;
    const uint32_t types = problem->types;
    self->pack_count = (problem->count + ADL_SHARES_LANES - 1) / ADL_SHARES_LANES;
    for (uint32_t p = 0; p < self->pack_count; p++) {
        struct adl_shares_pack *pack = &self->packs[p];
        pack->count = problem->count - p * ADL_SHARES_LANES < ADL_SHARES_LANES ? problem->count - p * ADL_SHARES_LANES
                                                                               : ADL_SHARES_LANES;
        for (uint32_t l = 0; l < ADL_SHARES_LANES; l++) {
            const struct adl_shares_kind *kind =
                &problem->kinds[p * ADL_SHARES_LANES + (l < pack->count ? l : pack->count - 1)];
            pack->jobs[l] = kind->jobs;
            pack->demand[l] = kind->jobs * kind->gpus;
            pack->weight[l] = kind->weight;
            pack->age[l] = kind->age;
            pack->left[l] = kind->left;
            for (uint32_t a = 0; a < types; a++) {
                const size_t at = (size_t)p * types + a;
                self->speed[at][l] = kind->speed[a];
                self->share[at][l] = kind->share[a];
                self->dx[at][l] = 0;
                self->usable[at][l] = usable(self, kind, a) ? -1 : 0;
            }
        }
    }
}

static void store(const struct adl_shares *self)
{
    const struct adl_shares_problem *problem = self->problem;
    for (uint32_t k = 0; k < problem->count; k++)
        for (uint32_t a = 0; a < problem->types; a++)
            problem->kinds[k].share[a] =
                self->share[(size_t)(k / ADL_SHARES_LANES) * problem->types + a][k % ADL_SHARES_LANES];
}

static double speed_of(const struct adl_shares *self, const struct adl_shares_kind *kind)
{
    double u = 0;
    for (uint32_t a = 0; a < self->problem->types; a++)
        if (usable(self, kind, a))
            u += kind->speed[a] * kind->share[a];
    return u;
}

/* Half of an equal division, so that no constraint is active. */
static void start(struct adl_shares *self)
{
    const struct adl_shares_problem *problem = self->problem;
    double wanted = 0;
    for (uint32_t k = 0; k < problem->count; k++)
        wanted += problem->kinds[k].jobs * problem->kinds[k].gpus;
    for (uint32_t k = 0; k < problem->count; k++) {
        struct adl_shares_kind *kind = &problem->kinds[k];
        for (uint32_t a = 0; a < problem->types; a++) {
            const double equal = problem->capacity[a] / wanted, most = 1.0 / problem->types;
            kind->share[a] = usable(self, kind, a) ? 0.5 * (equal < most ? equal : most) : 0;
        }
    }
}

/* A feasible t, and the factor that scales the goal to the order of 1. */
static void start_goal(struct adl_shares *self)
{
    const struct adl_shares_problem *problem = self->problem;
    double least = HUGE_VAL, most = 0, sum = 0;
    for (uint32_t k = 0; k < problem->count; k++) {
        const struct adl_shares_kind *kind = &problem->kinds[k];
        const double u = speed_of(self, kind);
        const double worth = kind->weight * u, end = kind->age + kind->left / u;
        least = worth < least ? worth : least;
        most = end > most ? end : most;
        sum += kind->jobs * kind->left / u;
    }
    self->t = problem->goal == ADL_SHARES_MAX_MIN ? 0.5 * least : 2 * most;
    self->scale = 1 / (problem->goal == ADL_SHARES_MAX_MIN ? least : problem->goal == ADL_SHARES_FINISH ? most : sum);
}

static double goal_of(const struct adl_shares *self)
{
    double sum = 0;
    for (uint32_t k = 0; k < self->problem->count; k++) {
        const struct adl_shares_kind *kind = &self->problem->kinds[k];
        sum += kind->jobs * kind->left / speed_of(self, kind);
    }
    return adl_shares_has_t(self) ? self->t : sum;
}

struct adl_shares_answer adl_shares_solve(struct adl_shares *self, const struct adl_shares_problem *problem)
{
    struct adl_shares_answer answer = {.solved = true};
    self->problem = problem;
    assert(problem->count <= self->kinds_max && problem->types <= self->types_max);
    self->dt = self->t = 0;
    self->mu = self->scale = 1;
    if (problem->goal == ADL_SHARES_FLOOR) {
        load(self);
        answer.solved = centre(self, &answer.steps);
        store(self);
        return answer;
    }
    start(self);
    start_goal(self);
    load(self);
    double bounds = problem->types;
    for (uint32_t k = 0; k < problem->count; k++)
        bounds += problem->kinds[k].jobs * (problem->types + 3);
    for (self->mu = 1 / bounds; self->mu * bounds > GAP && answer.solved; self->mu *= MU_FACTOR)
        answer.solved = centre(self, &answer.steps);
    store(self);
    answer.goal = goal_of(self);
    /* Missing the centre for lack of precision costs less than the remaining gap. */
    answer.solved = answer.solved || self->mu * bounds < 1e-4;
    return answer;
}
