#include "estimate_baselines.h"

#include <math.h>
#include <string.h>

enum { BASE_FEATURES = 4 };

const struct baseline baseline_options[BASELINE_OPTIONS] = {
    {1, false, 1},  {2, false, 1},  {3, false, 1}, {5, false, 1}, {8, false, 1}, {26, false, 1},
    {1, true, 0.1}, {2, true, 0.3}, {3, true, 1},  {5, true, 3},  {8, true, 10}, {26, true, 30},
};

static bool is_known(const struct known *known, uint32_t job)
{
    return !(known->families >> known->lab->family[job] & 1);
}

static void features_of(const struct adl_lab *lab, uint32_t job, double *ret)
{
    const struct adl_job_spec *spec = &lab->jobs[job];
    ret[0] = spec->step_gflop > 0 ? log((double)spec->step_gflop) / 2 : 2.5;
    ret[1] = log(spec->gpu_memory_mib);
    ret[2] = log(spec->cpu_cores);
    ret[3] = spec->step_gflop > 0;
}

static double distance_of(const struct adl_lab *lab, uint32_t a, uint32_t b)
{
    double x[BASE_FEATURES], y[BASE_FEATURES], sum = 0;
    features_of(lab, a, x);
    features_of(lab, b, y);
    for (int f = 0; f < BASE_FEATURES; f++)
        sum += (x[f] - y[f]) * (x[f] - y[f]);
    return sum;
}

/* The k known jobs nearest to one, itself not among them; how many. */
static uint32_t nearest_jobs(const struct known *known, uint32_t job, int k, uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < known->lab->job_count; j++) {
        if (j == job || !is_known(known, j))
            continue;
        uint32_t at = count < (uint32_t)k ? count++ : count;
        while (at > 0 && distance_of(known->lab, job, ret[at - 1]) > distance_of(known->lab, job, j)) {
            if (at < (uint32_t)k)
                ret[at] = ret[at - 1];
            at--;
        }
        if (at < (uint32_t)k)
            ret[at] = j;
    }
    return count;
}

static double work_of(const struct adl_lab *lab, uint32_t job)
{
    return lab->jobs[job].step_gflop > 0 ? log((double)lab->jobs[job].step_gflop) : NAN;
}

/* Cold: the neighbours' rates there, scaled by declared work if that is chosen. With measured cells: the measured ones
 * moved by what lies between the types for the neighbours. */
static double nearest_rate(const struct known *known, const struct baseline *how, uint32_t job, uint32_t type)
{
    uint32_t near[ADL_LAB_JOBS];
    const struct adl_lab *lab = known->lab;
    const uint32_t count = nearest_jobs(known, job, how->k, near);
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double there = lab->rate[near[i]][type], scale = work_of(lab, near[i]) - work_of(lab, job);
        if (isnan(there))
            continue;
        if (!known->measured) {
            sum += there + (how->scaled && !isnan(scale) ? scale : 0);
            n += 1;
        }
        for (uint32_t t = 0; t < lab->type_count; t++)
            if (known->measured >> t & 1 && !isnan(lab->rate[near[i]][t])) {
                sum += lab->rate[job][t] + there - lab->rate[near[i]][t];
                n += 1;
            }
    }
    return n > 0 ? sum / n : 0;
}

/* Effects of jobs and types over the known jobs, by alternating means. */
static void fit_additive(const struct known *known, double *ret_job, double *ret_type)
{
    const struct adl_lab *lab = known->lab;
    memset(ret_job, 0, ADL_LAB_JOBS * sizeof *ret_job);
    memset(ret_type, 0, ADL_LAB_TYPES * sizeof *ret_type);
    for (int round = 0; round < 30; round++) {
        for (uint32_t j = 0; j < lab->job_count; j++) {
            double sum = 0, n = 0;
            for (uint32_t t = 0; t < lab->type_count && is_known(known, j); t++)
                if (!isnan(lab->rate[j][t])) {
                    sum += lab->rate[j][t] - ret_type[t];
                    n += 1;
                }
            ret_job[j] = n > 0 ? sum / n : 0;
        }
        for (uint32_t t = 0; t < lab->type_count; t++) {
            double sum = 0, n = 0;
            for (uint32_t j = 0; j < lab->job_count; j++)
                if (is_known(known, j) && !isnan(lab->rate[j][t])) {
                    sum += lab->rate[j][t] - ret_job[j];
                    n += 1;
                }
            ret_type[t] = n > 0 ? sum / n : 0;
        }
    }
}

/* Solves a x = b in place, a symmetric and positive. */
static void solve_small(int n, double a[BASE_FEATURES + 1][BASE_FEATURES + 1], double *b)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const double f = a[j][i] / a[i][i];
            for (int c = i; c < n; c++)
                a[j][c] -= f * a[i][c];
            b[j] -= f * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int c = i + 1; c < n; c++)
            b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

/* The effect of a job of which nothing was measured: ridge regression on its features, or its neighbours' mean. */
static double cold_effect(const struct known *known, const struct baseline *how, uint32_t job, const double *effects)
{
    enum { N = BASE_FEATURES + 1 };
    uint32_t near[ADL_LAB_JOBS];
    double a[N][N] = {{0}}, b[N] = {0}, x[N], mean = 0, count = 0;
    const uint32_t near_count = nearest_jobs(known, job, how->k, near);
    for (uint32_t i = 0; i < near_count && !how->scaled; i++)
        mean += effects[near[i]] / near_count;
    if (!how->scaled)
        return mean;
    for (uint32_t j = 0; j < known->lab->job_count; j++) {
        if (!is_known(known, j))
            continue;
        features_of(known->lab, j, x);
        x[BASE_FEATURES] = 1;
        for (int r = 0; r < N; r++) {
            for (int c = 0; c < N; c++)
                a[r][c] += x[r] * x[c];
            b[r] += x[r] * effects[j];
        }
        count += 1;
    }
    for (int r = 0; r < BASE_FEATURES; r++)
        a[r][r] += how->ridge;
    a[BASE_FEATURES][BASE_FEATURES] += 1e-6;
    solve_small(N, a, b);
    features_of(known->lab, job, x);
    x[BASE_FEATURES] = 1;
    for (int r = 0; r < N; r++)
        mean += b[r] * x[r];
    return count > 0 ? mean : 0;
}

static double additive_rate(const struct known *known, const struct baseline *how, uint32_t job, uint32_t type)
{
    double jobs[ADL_LAB_JOBS], types[ADL_LAB_TYPES], sum = 0, n = 0;
    fit_additive(known, jobs, types);
    for (uint32_t t = 0; t < known->lab->type_count; t++)
        if (known->measured >> t & 1) {
            sum += known->lab->rate[job][t] - types[t];
            n += 1;
        }
    return types[type] + (n > 0 ? sum / n : cold_effect(known, how, job, jobs));
}

double baseline_rate(int model, const struct known *known, const struct baseline *how, uint32_t job, uint32_t type)
{
    return model == BASE_NEAREST ? nearest_rate(known, how, job, type) : additive_rate(known, how, job, type);
}

/* ---- shares, as ratios of rates ---- */

double ratio_of(const struct adl_lab *lab, uint32_t a, uint32_t b, uint32_t t)
{
    return exp(lab->share[a][b][t]);
}

double nearest_share(const struct known *known, const struct baseline *how, uint32_t a, uint32_t b, uint32_t type)
{
    uint32_t like_a[ADL_LAB_JOBS] = {a}, like_b[ADL_LAB_JOBS] = {b};
    const uint32_t count_a = is_known(known, a) ? 1 : nearest_jobs(known, a, how->k, like_a);
    const uint32_t count_b = is_known(known, b) ? 1 : nearest_jobs(known, b, how->k, like_b);
    double sum = 0, n = 0, all = 0, count = 0;
    for (uint32_t i = 0; i < count_a; i++)
        for (uint32_t j = 0; j < count_b; j++)
            if (!isnan(known->lab->share[like_a[i]][like_b[j]][type])) {
                sum += ratio_of(known->lab, like_a[i], like_b[j], type);
                n += 1;
            }
    if (n > 0)
        return sum / n;
    for (uint32_t i = 0; i < known->lab->job_count; i++)
        for (uint32_t j = 0; j < known->lab->job_count; j++)
            if (is_known(known, i) && is_known(known, j) && !isnan(known->lab->share[i][j][type])) {
                all += ratio_of(known->lab, i, j, type);
                count += 1;
            }
    return count > 0 ? all / count : 0.6;
}

double moved(double guess, double off_sum, double count)
{
    return guess + (count > 0 ? off_sum / (count + 0.3) : 0);
}

enum { SIDE_MEAN, SIDE_VICTIM, SIDE_NEIGHBOUR, SIDES };

/* One side's effects, those of the others as they are. */
static void fit_side(const struct known *known, uint32_t type, int side, struct share_effects *ret)
{
    const struct adl_lab *lab = known->lab;
    double sums[ADL_LAB_JOBS] = {0}, counts[ADL_LAB_JOBS] = {0};
    for (uint32_t cell = 0; cell < lab->job_count * lab->job_count; cell++) {
        const uint32_t i = cell / lab->job_count, j = cell % lab->job_count;
        const uint32_t at = side == SIDE_VICTIM ? i : side == SIDE_NEIGHBOUR ? j : 0;
        if (!is_known(known, i) || !is_known(known, j) || isnan(lab->share[i][j][type]))
            continue;
        sums[at] += ratio_of(lab, i, j, type) - (side == SIDE_MEAN ? 0 : ret->mean) -
                    (side == SIDE_VICTIM ? 0 : ret->victim[i]) - (side == SIDE_NEIGHBOUR ? 0 : ret->neighbour[j]);
        counts[at] += 1;
    }
    if (side == SIDE_MEAN) {
        ret->mean = counts[0] > 0 ? sums[0] / counts[0] : 0.6;
        return;
    }
    double *effects = side == SIDE_VICTIM ? ret->victim : ret->neighbour;
    for (uint32_t i = 0; i < lab->job_count; i++)
        effects[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
}

void fit_shares(const struct known *known, uint32_t type, struct share_effects *ret)
{
    memset(ret, 0, sizeof *ret);
    for (int round = 0; round < 20; round++)
        for (int side = 0; side < SIDES; side++)
            fit_side(known, type, side, ret);
}

double additive_share(const struct known *known, const struct baseline *how, const struct share_effects *effects,
                      uint32_t a, uint32_t b)
{
    return effects->mean + (is_known(known, a) ? effects->victim[a] : cold_effect(known, how, a, effects->victim)) +
           (is_known(known, b) ? effects->neighbour[b] : cold_effect(known, how, b, effects->neighbour));
}
