#include "solve/shares.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TYPES      ADL_SHARES_TYPES_MAX
#define STEPS_MAX  600
#define MU_FACTOR  0.1
#define NEAR       1e-3 /* squared Newton decrement that ends the steps for one mu */
#define GAP        1e-7 /* relative, of the goal */
#define HALVES_MAX 40

/* Derivatives of the goal's barrier f for one job at (u, t): p = 1 / f_uu, ratio = f_ut / f_uu. Small differences of
 * large numbers, where a slack vanishes, are separate members. */
struct curvature {
    double u, t; /* f_u, f_t */
    double p, ratio;
    double rest;   /* f_tt - f_ut^2 / f_uu */
    double t_rest; /* f_t - ratio f_u */
    double step;   /* p f_u */
};

/* A kind's block of the step: how its shares and its goal's multiplier omega respond to a force on each share, to the
 * goal's row and to the row of its time. */
struct block {
    double pull[TYPES][TYPES]; /* [share][pulled share] */
    double goal[TYPES];        /* also, negated, how omega responds to a force */
    double time[TYPES];
    double omega_goal, omega_time;
    double share[TYPES]; /* the response without prices */
    double omega;        /* the same */
};

struct adl_shares {
    uint32_t kinds_max;
    double *dx;                  /* [kind][type] of the step */
    struct curvature *curvature; /* [kind] */
    struct block block;
    double slack[TYPES]; /* capacity left */
    double matrix[TYPES + 1]
                 [TYPES + 2]; /* rows and columns: the types' prices, t; the last column is the right-hand side */
    const struct adl_shares_problem *problem;
    double t, dt, mu, scale;
};

int adl_shares_create(uint32_t kinds_max, struct adl_shares **ret)
{
    struct adl_shares *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    self->kinds_max = kinds_max;
    self->dx = calloc((size_t)kinds_max + 1, TYPES * sizeof *self->dx);
    self->curvature = calloc((size_t)kinds_max + 1, sizeof *self->curvature);
    if (!self->dx || !self->curvature) {
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
    free(self->dx);
    free(self->curvature);
    free(self);
}

static bool has_t(const struct adl_shares *self)
{
    return self->problem->goal == ADL_SHARES_MAX_MIN || self->problem->goal == ADL_SHARES_FINISH;
}

static bool usable(const struct adl_shares *self, const struct adl_shares_kind *kind, uint32_t type)
{
    return kind->speed[type] > 0 && self->problem->capacity[type] > 0;
}

/* u and the slack of the job's time, at a point along the step. */
static void evaluate(const struct adl_shares *self, uint32_t k, double along, double *ret_u, double *ret_time)
{
    const struct adl_shares_kind *kind = &self->problem->kinds[k];
    double u = 0, time = 1;
    for (uint32_t a = 0; a < self->problem->types; a++)
        if (usable(self, kind, a)) {
            const double x = kind->share[a] + along * self->dx[(size_t)k * TYPES + a];
            u += kind->speed[a] * x;
            time -= x;
        }
    *ret_u = u;
    *ret_time = time;
}

/* The slack of the kind's row of the goal; it must stay above 0. */
static double goal_slack(const struct adl_shares *self, const struct adl_shares_kind *kind, double u, double t)
{
    switch (self->problem->goal) {
    case ADL_SHARES_MAX_MIN:
        return kind->weight * u - t;
    case ADL_SHARES_FINISH:
        return t > kind->age ? u * (t - kind->age) - kind->left : -1;
    case ADL_SHARES_FLOOR:
        return kind->weight * u - self->problem->floor;
    default:
        return u;
    }
}

/* The finish goal is the cone y u >= 1, t - age - left y >= 0 with y at its best: the logarithms of both slacks are
 * then 2 log(u (t - age) - left) - log(u) and a constant. */
static struct curvature curvature_at(const struct adl_shares *self, const struct adl_shares_kind *kind, double u,
                                     double t)
{
    const double y = goal_slack(self, kind, u, t), w = kind->weight, since = t - kind->age;
    switch (self->problem->goal) {
    case ADL_SHARES_MAX_MIN:
        return (struct curvature){.u = -w / y, .t = 1 / y, .p = y * y / (w * w), .ratio = -1 / w, .step = -y / w};
    case ADL_SHARES_FLOOR:
        return (struct curvature){.u = -w / y, .p = y * y / (w * w), .step = -y / w};
    case ADL_SHARES_FINISH: {
        const double uu = 2 * since * since - y * y / (u * u); /* y^2 f_uu */
        return (struct curvature){.u = -2 * since / y + 1 / u,
                                  .t = -2 * u / y,
                                  .p = y * y / uu,
                                  .ratio = 2 * kind->left / uu,
                                  .rest = (2 + 8 * kind->left / y) / uu,
                                  .t_rest = (-4 * since + 2 * (y - kind->left) / u) / uu,
                                  .step = y * (-2 * since + y / u) / uu};
    }
    default: {
        const double cost = kind->left * self->scale / self->mu;
        return (struct curvature){.u = -cost / (u * u), .p = u * u * u / (2 * cost), .step = -u / 2};
    }
    }
}

static double t_gradient(const struct adl_shares *self)
{
    double gradient = 0;
    if (self->problem->goal == ADL_SHARES_MAX_MIN)
        gradient = -self->scale / self->mu;
    else if (self->problem->goal == ADL_SHARES_FINISH)
        gradient = self->scale / self->mu;
    return gradient;
}

/* ---- a step ---- */

/* The kind's gradient for one type, without the capacity's part. */
static double own_gradient(const struct adl_shares_kind *kind, const struct curvature *curvature, uint32_t a, double x,
                           double time)
{
    return kind->jobs * (-1 / x + 1 / time + curvature->u * kind->speed[a]);
}

/* Inverts the kind's block: with d = x^2 / jobs, of dx_a / d_a + tau + speed_a omega = pull_a, sum dx = time^2 / jobs
 * tau - h, speed dx = p / jobs omega - g. Written out by Cramer's rule as sums whose terms do not cancel: the obvious
 * elimination loses all digits once a slack is small. */
static void invert(struct adl_shares *self, const struct adl_shares_kind *kind, const struct curvature *curvature,
                   double time)
{
    struct block *block = &self->block;
    const uint32_t types = self->problem->types;
    const double *s = kind->speed, st = time * time / kind->jobs, sg = curvature->p / kind->jobs;
    double d[TYPES], sum = 0, sum_s = 0, sum_ss = 0, spread = 0;
    for (uint32_t a = 0; a < types; a++) {
        d[a] = kind->share[a] * kind->share[a] / kind->jobs;
        sum += d[a];
        sum_s += d[a] * s[a];
        sum_ss += d[a] * s[a] * s[a];
        for (uint32_t b = 0; b < a; b++)
            spread += d[a] * d[b] * (s[a] - s[b]) * (s[a] - s[b]);
    }
    const double det = st * sg + st * sum_ss + sg * sum + spread;
    for (uint32_t a = 0; a < types; a++) {
        double own = st * sg, goal = -s[a] * st, of_time = sg;
        for (uint32_t b = 0; b < types; b++) {
            double pull = -st * s[a] * s[b] - sg;
            for (uint32_t c = 0; c < types; c++)
                pull += d[c] * (s[b] - s[c]) * (s[c] - s[a]);
            block->pull[a][b] = d[a] * d[b] * pull / det;
            goal += d[b] * (s[b] - s[a]);
            of_time += d[b] * s[b] * (s[b] - s[a]);
            if (b == a)
                continue;
            own += st * d[b] * s[b] * s[b] + sg * d[b];
            for (uint32_t c = 0; c < b; c++)
                own += c == a ? 0 : d[b] * d[c] * (s[b] - s[c]) * (s[b] - s[c]);
        }
        block->pull[a][a] = d[a] * own / det;
        block->goal[a] = d[a] * goal / det;
        block->time[a] = -d[a] * of_time / det;
    }
    block->omega_goal = (st + sum) / det;
    block->omega_time = -sum_s / det;
}

/* The block and its response to the barriers of the shares, of the time and of the goal. */
static void respond(struct adl_shares *self, uint32_t k)
{
    const struct adl_shares_kind *kind = &self->problem->kinds[k];
    const struct curvature *curvature = &self->curvature[k];
    struct block *block = &self->block;
    const uint32_t types = self->problem->types;
    double u, time;
    evaluate(self, k, 0, &u, &time);
    invert(self, kind, curvature, time);
    block->omega = block->omega_goal * curvature->step + block->omega_time * time;
    for (uint32_t a = 0; a < types; a++)
        block->share[a] = block->goal[a] * curvature->step + block->time[a] * time;
    for (uint32_t b = 0; b < types; b++) {
        if (!usable(self, kind, b))
            continue;
        const double pull = kind->jobs / kind->share[b];
        block->omega -= block->goal[b] * pull;
        for (uint32_t a = 0; a < types; a++)
            block->share[a] += block->pull[a][b] * pull;
    }
}

/* Adds a kind to the rows of the common unknowns: for a type, slack^2 * price - slack is its additional use; for t. */
static void gather(struct adl_shares *self, uint32_t k)
{
    const struct adl_shares_kind *kind = &self->problem->kinds[k];
    const struct curvature *curvature = &self->curvature[k];
    const struct block *block = &self->block;
    const uint32_t types = self->problem->types;
    const double demand = kind->jobs * kind->gpus;
    for (uint32_t a = 0; a < types; a++) {
        for (uint32_t b = 0; b < types; b++)
            self->matrix[a][b] += demand * demand * block->pull[a][b];
        self->matrix[a][types] -= demand * block->goal[a] * curvature->ratio;
        self->matrix[types][a] += demand * block->goal[a] * curvature->ratio;
        self->matrix[a][types + 1] += demand * block->share[a];
    }
    self->matrix[types][types] +=
        kind->jobs * curvature->rest + curvature->ratio * curvature->ratio * block->omega_goal;
    self->matrix[types][types + 1] -= kind->jobs * curvature->t_rest + curvature->ratio * block->omega;
}

/* Gaussian elimination with pivoting; the solution replaces the last column. */
static bool eliminate(struct adl_shares *self)
{
    const uint32_t n = self->problem->types + 1;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t pivot = c;
        for (uint32_t r = c + 1; r < n; r++)
            if (fabs(self->matrix[r][c]) > fabs(self->matrix[pivot][c]))
                pivot = r;
        if (!(fabs(self->matrix[pivot][c]) > 0))
            return false;
        for (uint32_t i = 0; i <= n; i++) {
            const double kept = self->matrix[c][i];
            self->matrix[c][i] = self->matrix[pivot][i];
            self->matrix[pivot][i] = kept;
        }
        for (uint32_t r = 0; r < n; r++) {
            const double factor = r == c ? 0 : self->matrix[r][c] / self->matrix[c][c];
            for (uint32_t i = c; factor != 0 && i <= n; i++)
                self->matrix[r][i] -= factor * self->matrix[c][i];
        }
    }
    for (uint32_t r = 0; r < n; r++)
        self->matrix[r][n] /= self->matrix[r][r];
    return true;
}

static void measure(const struct adl_shares *self, double along, double *ret_slack)
{
    const struct adl_shares_problem *problem = self->problem;
    for (uint32_t a = 0; a < problem->types; a++) {
        ret_slack[a] = problem->capacity[a];
        for (uint32_t k = 0; k < problem->count; k++)
            if (usable(self, &problem->kinds[k], a))
                ret_slack[a] -= problem->kinds[k].jobs * problem->kinds[k].gpus *
                                (problem->kinds[k].share[a] + along * self->dx[(size_t)k * TYPES + a]);
    }
}

static bool find_step(struct adl_shares *self)
{
    const struct adl_shares_problem *problem = self->problem;
    const uint32_t types = problem->types;
    measure(self, 0, self->slack);
    memset(self->matrix, 0, sizeof self->matrix);
    for (uint32_t a = 0; a < types; a++) {
        self->matrix[a][a] = problem->capacity[a] > 0 ? self->slack[a] * self->slack[a] : 1;
        self->matrix[a][types + 1] = self->slack[a];
    }
    self->matrix[types][types] = has_t(self) ? 0 : 1;
    self->matrix[types][types + 1] = -t_gradient(self);
    for (uint32_t k = 0; k < problem->count; k++) {
        double u, time;
        evaluate(self, k, 0, &u, &time);
        self->curvature[k] = curvature_at(self, &problem->kinds[k], u, self->t);
        respond(self, k);
        gather(self, k);
    }
    if (!eliminate(self))
        return false;
    self->dt = self->matrix[types][types + 1];
    for (uint32_t k = 0; k < problem->count; k++) {
        const double demand = problem->kinds[k].jobs * problem->kinds[k].gpus;
        respond(self, k);
        for (uint32_t a = 0; a < types; a++) {
            double dx = self->block.share[a] + self->block.goal[a] * self->curvature[k].ratio * self->dt;
            for (uint32_t b = 0; b < types; b++)
                dx -= self->block.pull[a][b] * demand * self->matrix[b][types + 1];
            self->dx[(size_t)k * TYPES + a] = dx;
        }
    }
    return true;
}

/* ---- along a step ---- */

/* The slope of the function at a point along the step; HUGE_VAL outside the bounds. */
static double slope_at(const struct adl_shares *self, double along)
{
    const struct adl_shares_problem *problem = self->problem;
    const double t = self->t + along * self->dt;
    double slope = t_gradient(self) * self->dt, slack[TYPES] = {0};
    measure(self, along, slack);
    for (uint32_t a = 0; a < problem->types; a++)
        if (problem->capacity[a] > 0 && !(slack[a] > 0))
            return HUGE_VAL;
    for (uint32_t k = 0; k < problem->count; k++) {
        const struct adl_shares_kind *kind = &problem->kinds[k];
        double u, time;
        evaluate(self, k, along, &u, &time);
        if (!(time > 0) || !(goal_slack(self, kind, u, t) > 0))
            return HUGE_VAL;
        const struct curvature curvature = curvature_at(self, kind, u, t);
        slope += kind->jobs * curvature.t * self->dt;
        for (uint32_t a = 0; a < problem->types; a++) {
            if (!usable(self, kind, a))
                continue;
            const double dx = self->dx[(size_t)k * TYPES + a], x = kind->share[a] + along * dx;
            if (!(x > 0))
                return HUGE_VAL;
            slope += dx * (own_gradient(kind, &curvature, a, x, time) + kind->jobs * kind->gpus / slack[a]);
        }
    }
    return slope;
}

/* The longest step before a share becomes 0. */
static double reach(const struct adl_shares *self)
{
    double along = 1;
    for (uint32_t k = 0; k < self->problem->count; k++)
        for (uint32_t a = 0; a < self->problem->types; a++) {
            const double dx = self->dx[(size_t)k * TYPES + a], x = self->problem->kinds[k].share[a];
            if (dx < 0 && x + along * dx < 0.05 * x)
                along = -0.95 * x / dx;
        }
    return along;
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
    for (uint32_t k = 0; k < self->problem->count; k++)
        for (uint32_t a = 0; a < self->problem->types; a++)
            self->problem->kinds[k].share[a] += along * self->dx[(size_t)k * TYPES + a];
    self->t += along * self->dt;
    return true;
}

/* Moves to the centre for this mu. False if it reached the limit of steps or of precision first. */
static bool centre(struct adl_shares *self, uint32_t *steps)
{
    while (*steps < STEPS_MAX) {
        ++*steps;
        if (!find_step(self))
            return false;
        const double decrement = -slope_at(self, 0);
        if (!(decrement > NEAR))
            return decrement > -NEAR;
        if (!move(self, decrement))
            return false;
    }
    return false;
}

/* ---- a program ---- */

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
        double u, time;
        evaluate(self, k, 0, &u, &time);
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
        double u, time;
        evaluate(self, k, 0, &u, &time);
        sum += self->problem->kinds[k].jobs * self->problem->kinds[k].left / u;
    }
    return has_t(self) ? self->t : sum;
}

struct adl_shares_answer adl_shares_solve(struct adl_shares *self, const struct adl_shares_problem *problem)
{
    struct adl_shares_answer answer = {.solved = true};
    self->problem = problem;
    memset(self->dx, 0, (size_t)problem->count * TYPES * sizeof *self->dx);
    self->dt = self->t = 0;
    self->mu = self->scale = 1;
    if (problem->goal == ADL_SHARES_FLOOR) {
        answer.solved = centre(self, &answer.steps);
        return answer;
    }
    start(self);
    start_goal(self);
    double bounds = problem->types;
    for (uint32_t k = 0; k < problem->count; k++)
        bounds += problem->kinds[k].jobs * (problem->types + 3);
    for (self->mu = 1 / bounds; self->mu * bounds > GAP && answer.solved; self->mu *= MU_FACTOR)
        answer.solved = centre(self, &answer.steps);
    answer.goal = goal_of(self);
    /* Missing the centre for lack of precision costs less than the remaining gap. */
    answer.solved = answer.solved || self->mu * bounds < 1e-4;
    return answer;
}
