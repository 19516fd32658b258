/* Newton's step of shares.c. */
#include "solve/shares_internal.h"

#include <math.h>
#include <string.h>

/* A pack's block of the step: how its shares and its goal's multiplier omega respond to a force on each share, to the
 * goal's row and to the row of its time. */
struct block {
    adl_lanes *pull;  /* [share][pulled share] */
    adl_lanes *goal;  /* [share] also, negated, how omega responds to a force */
    adl_lanes *share; /* [share] the response without prices */
    adl_lanes time[ADL_SHARES_TYPES_MAX];
    adl_lanes omega_goal, omega_time;
    adl_lanes omega; /* the response without prices */
};

/* Inverts the block of each kind: with d = x^2 / jobs, of dx_a / d_a + tau + speed_a omega = pull_a, sum dx = time^2 /
 * jobs tau - h, speed dx = p / jobs omega - g. Written out by Cramer's rule as sums whose terms do not cancel: the
 * obvious elimination loses all digits once a slack is small. */
ADL_SHARES_INLINE void invert(const struct adl_shares *self, uint32_t types, uint32_t p, struct block *block)
{
    const struct adl_shares_pack *pack = &self->packs[p];
    const adl_lanes *s = &self->speed[(size_t)p * types], *share = &self->share[(size_t)p * types];
    const adl_lanes st = pack->time * pack->time / pack->jobs, sg = pack->curvature.p / pack->jobs;
    adl_lanes d[ADL_SHARES_TYPES_MAX], sum = {0}, sum_s = {0}, sum_ss = {0}, spread = {0};
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++) {
        d[a] = share[a] * share[a] / pack->jobs;
        sum += d[a];
        sum_s += d[a] * s[a];
        sum_ss += d[a] * s[a] * s[a];
#pragma GCC unroll 3
        for (uint32_t b = 0; b < a; b++)
            spread += d[a] * d[b] * (s[a] - s[b]) * (s[a] - s[b]);
    }
    const adl_lanes det = st * sg + st * sum_ss + sg * sum + spread;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++) {
        adl_lanes own = st * sg, goal = -s[a] * st, of_time = sg;
#pragma GCC unroll 3
        for (uint32_t b = 0; b < types; b++) {
            goal += d[b] * (s[b] - s[a]);
            of_time += d[b] * s[b] * (s[b] - s[a]);
            if (b == a)
                continue;
            adl_lanes pull = -st * s[a] * s[b] - sg;
#pragma GCC unroll 3
            for (uint32_t c = 0; c < types; c++)
                pull += d[c] * (s[b] - s[c]) * (s[c] - s[a]);
            block->pull[a * types + b] = d[a] * d[b] * pull / det;
            own += st * d[b] * s[b] * s[b] + sg * d[b];
#pragma GCC unroll 3
            for (uint32_t c = 0; c < b; c++)
                if (c != a)
                    own += d[b] * d[c] * (s[b] - s[c]) * (s[b] - s[c]);
        }
        block->pull[a * types + a] = d[a] * own / det;
        block->goal[a] = d[a] * goal / det;
        block->time[a] = -d[a] * of_time / det;
    }
    block->omega_goal = (st + sum) / det;
    block->omega_time = -sum_s / det;
}

ADL_SHARES_INLINE void begin_block(const struct adl_shares *self, uint32_t types, uint32_t p, struct block *ret)
{
    ret->pull = &self->blocks[(size_t)p * types * (types + 2)];
    ret->goal = &ret->pull[(size_t)types * types];
    ret->share = &ret->goal[types];
}

/* The block and its response to the barriers of the shares, of the time and of the goal. */
ADL_SHARES_INLINE void respond(const struct adl_shares *self, uint32_t types, uint32_t p, struct block *block)
{
    const struct adl_shares_pack *pack = &self->packs[p];
    const adl_lanes *share = &self->share[(size_t)p * types];
    begin_block(self, types, p, block);
    invert(self, types, p, block);
    block->omega = block->omega_goal * pack->curvature.step + block->omega_time * pack->time;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++)
        block->share[a] = block->goal[a] * pack->curvature.step + block->time[a] * pack->time;
#pragma GCC unroll 3
    for (uint32_t b = 0; b < types; b++) {
        const adl_lanes pull =
            (adl_lanes)((adl_lane_mask)(pack->jobs / share[b]) & self->usable[(size_t)p * types + b]);
        block->omega -= block->goal[b] * pull;
#pragma GCC unroll 3
        for (uint32_t a = 0; a < types; a++)
            block->share[a] += block->pull[a * types + b] * pull;
    }
}

/* Adds kinds to the rows of the common unknowns: for a type, slack^2 * price - slack is its additional use; for t. */
ADL_SHARES_INLINE void gather(struct adl_shares *self, uint32_t types, uint32_t p, const struct block *block)
{
    const struct adl_shares_pack *pack = &self->packs[p];
    const struct adl_shares_curvature *curvature = &pack->curvature;
    const uint32_t count = pack->count;
    adl_lanes terms;
#pragma GCC unroll 3
    for (uint32_t a = 0; a < types; a++) {
        double *row = self->matrix[a];
#pragma GCC unroll 3
        for (uint32_t b = 0; b < types; b++) {
            terms = pack->demand * pack->demand * block->pull[a * types + b];
            row[b] = adl_shares_add(row[b], &terms, count);
        }
        terms = pack->demand * block->goal[a] * curvature->ratio;
        self->matrix[types][a] = adl_shares_add(self->matrix[types][a], &terms, count);
        terms = -terms;
        row[types] = adl_shares_add(row[types], &terms, count);
        terms = pack->demand * block->share[a];
        row[types + 1] = adl_shares_add(row[types + 1], &terms, count);
    }
    double *last = self->matrix[types];
    terms = pack->jobs * curvature->rest + curvature->ratio * curvature->ratio * block->omega_goal;
    last[types] = adl_shares_add(last[types], &terms, count);
    terms = -(pack->jobs * curvature->t_rest + curvature->ratio * block->omega);
    last[types + 1] = adl_shares_add(last[types + 1], &terms, count);
}

/* Gaussian elimination with pivoting; the solution replaces the last column. */
ADL_SHARES_INLINE bool eliminate(struct adl_shares *self, uint32_t types)
{
    const uint32_t n = types + 1;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t pivot = c;
        for (uint32_t r = c + 1; r < n; r++)
            if (fabs(self->matrix[r][c]) > fabs(self->matrix[pivot][c]))
                pivot = r;
        if (!(fabs(self->matrix[pivot][c]) > 0))
            return false;
        for (uint32_t i = 0; pivot != c && i <= n; i++) {
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

static void clear_matrix(struct adl_shares *self)
{
    const uint32_t types = self->problem->types;
    for (uint32_t a = 0; a <= types; a++)
        memset(self->matrix[a], 0, (types + 2) * sizeof **self->matrix);
    for (uint32_t a = 0; a < types; a++) {
        self->matrix[a][a] = self->problem->capacity[a] > 0 ? self->slack[a] * self->slack[a] : 1;
        self->matrix[a][types + 1] = self->slack[a];
    }
    self->matrix[types][types] = adl_shares_has_t(self) ? 0 : 1;
    self->matrix[types][types + 1] = -adl_shares_t_gradient(self);
}

ADL_SHARES_INLINE bool find_step_over(struct adl_shares *self, uint32_t types)
{
    struct block block;
    adl_shares_measure(self, types, 0, self->slack);
    clear_matrix(self);
    for (uint32_t p = 0; p < self->pack_count; p++) {
        struct adl_shares_pack *pack = &self->packs[p];
        adl_shares_evaluate(self, types, p, 0, &pack->u, &pack->time);
        adl_shares_curvature_at(self, pack, &pack->u, self->t, &pack->curvature);
        respond(self, types, p, &block);
        gather(self, types, p, &block);
    }
    if (!eliminate(self, types))
        return false;
    self->dt = self->matrix[types][types + 1];
    for (uint32_t p = 0; p < self->pack_count; p++) {
        const struct adl_shares_pack *pack = &self->packs[p];
        begin_block(self, types, p, &block);
#pragma GCC unroll 3
        for (uint32_t a = 0; a < types; a++) {
            adl_lanes dx = block.share[a] + block.goal[a] * pack->curvature.ratio * self->dt;
#pragma GCC unroll 3
            for (uint32_t b = 0; b < types; b++)
                dx -= block.pull[a * types + b] * pack->demand * self->matrix[b][types + 1];
            self->dx[(size_t)p * types + a] = dx;
        }
    }
    return true;
}

ADL_SHARES_WIDE static bool find_step_wide(struct adl_shares *self)
{
    return self->problem->types == 3 ? find_step_over(self, 3) : find_step_over(self, self->problem->types);
}

bool adl_shares_find_step(struct adl_shares *self)
{
    if (self->wide)
        return find_step_wide(self);
    return self->problem->types == 3 ? find_step_over(self, 3) : find_step_over(self, self->problem->types);
}
