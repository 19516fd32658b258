/* statistics: the distributions, tests and fits that reports use. */
#include "metrics/statistics.h"

#include "base/error.h"
#include "base/real.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define WILCOXON_EXACT_MAX 25

static const double HALF_LN_TWO_PI = 0.91893853320467274178;
static const double SQRT_PI = 1.7724538509055160273;
static const double TINY = 1e-300; /* replaces 0 in a continued fraction's denominators */
static const double CONVERGED = 0x1.0p-52;
static const double DF_MAX = 1e7; /* beyond it Student's t is the normal distribution to 7 digits */

/* ---- distributions ---- */

/* ln of the gamma function for x > 0: Stirling's series, which at x >= 10 is good to the last bit with seven
 * terms; below, by x * gamma(x) = gamma(x + 1). */
static double log_gamma(double x)
{
    static const double terms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                   1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    double product = 1.0;
    while (x < 10.0) {
        product *= x;
        x += 1.0;
    }
    const double inverse = 1.0 / x;
    double sum = 0.0;
    for (size_t i = sizeof terms / sizeof terms[0]; i-- > 0;)
        sum = sum * inverse * inverse + terms[i];
    return (x - 0.5) * adl_log(x) - x + HALF_LN_TWO_PI + sum * inverse - adl_log(product);
}

static double not_zero(double x)
{
    return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated from the
 * front by Lentz's method; converges in some sqrt(max(a, b)) steps for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1.0;
    double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    double value = d;
    for (int i = 1; i < 100000; i++) {
        const double m = i;
        const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1.0) <= CONVERGED)
            break;
    }
    return value;
}

/* The regularized incomplete beta function I_x(a, b). The caller passes y = 1 - x, which it knows to more digits. */
static double incomplete_beta(double a, double b, double x, double y)
{
    if (x <= 0.0)
        return 0.0;
    if (y <= 0.0)
        return 1.0;
    const double log_front = a * adl_log(x) + b * adl_log(y) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    const double front = adl_exp(log_front);
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, y) / b;
}

static double clamp_probability(double p)
{
    return p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p;
}

double adl_student_t_p(double t, double df)
{
    if (!(df > 0.0))
        return 1.0;
    if (df > DF_MAX)
        df = DF_MAX;
    const double square = t * t;
    if (!isfinite(square))
        return 0.0;
    const double sum = df + square;
    return clamp_probability(incomplete_beta(df / 2.0, 0.5, df / sum, square / sum));
}

double adl_student_t_quantile(double df)
{
    if (!(df > 0.0))
        return HUGE_VAL;
    const double tail = 0.05; /* both sides */
    double low = 1.0, high = 2.0;
    while (adl_student_t_p(high, df) > tail) {
        low = high;
        high *= 2.0;
    }
    for (;;) {
        const double middle = low + (high - low) / 2.0;
        if (middle <= low || middle >= high)
            return middle;
        if (adl_student_t_p(middle, df) > tail)
            low = middle;
        else
            high = middle;
    }
}

/* P(|Z| >= z) of the standard normal distribution, z >= 0: erfc(z / sqrt 2), by the series of erf where it is
 * short and by the continued fraction of erfc (A&S 7.1.14) where that is. */
static double normal_p(double z)
{
    const double x = z / sqrt(2.0);
    if (x < 2.0) {
        double term = x, sum = x;
        for (int i = 1; term > CONVERGED * sum; i++) {
            term *= 2.0 * x * x / (2.0 * i + 1.0);
            sum += term;
        }
        return clamp_probability(1.0 - 2.0 / SQRT_PI * adl_exp(-x * x) * sum);
    }
    double fraction = x;
    for (int i = 120; i >= 1; i--)
        fraction = x + 0.5 * i / fraction;
    return adl_exp(-x * x) / (SQRT_PI * fraction);
}

/* ---- summaries ---- */

/* Relative to the first value, so that equal values have exactly their own mean, and no spread. */
static double mean_of(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 1; i < count; i++)
        sum += values[i] - values[0];
    return count > 0 ? values[0] + sum / (double)count : 0.0;
}

/* Sum of (u - mean u) * (v - mean v). */
static double centered_product(const double *u, double u_mean, const double *v, double v_mean, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (u[i] - u_mean) * (v[i] - v_mean);
    return sum;
}

struct adl_summary adl_summarize(const double *values, size_t count)
{
    const double mean = mean_of(values, count);
    struct adl_summary summary = {.mean = mean, .lo = mean, .hi = mean};
    if (count < 2)
        return summary;
    const double df = (double)count - 1.0;
    summary.sd = sqrt(centered_product(values, mean, values, mean, count) / df);
    if (summary.sd > 0.0) {
        const double half = adl_student_t_quantile(df) * summary.sd / sqrt((double)count);
        summary.lo = mean - half;
        summary.hi = mean + half;
    }
    return summary;
}

/* ---- paired tests ---- */

static double paired_t_p(const double *differences, size_t count, double mean)
{
    if (count < 2)
        return 1.0;
    const double df = (double)count - 1.0;
    const double squares = centered_product(differences, mean, differences, mean, count);
    if (squares <= 0.0)
        return mean == 0.0 ? 1.0 : 0.0;
    return adl_student_t_p(mean / sqrt(squares / df / (double)count), df);
}

static int by_magnitude(const void *left, const void *right)
{
    const double a = fabs(*(const double *)left);
    const double b = fabs(*(const double *)right);
    return (a > b) - (a < b);
}

/* 2 P(W <= rank_sum) where each of the ranks 1..count is in W with probability 1/2: subsets counted by their
 * sum. */
static double signed_rank_exact_p(size_t count, double rank_sum)
{
    double ways[WILCOXON_EXACT_MAX * (WILCOXON_EXACT_MAX + 1) / 2 + 1] = {1.0};
    size_t top = 0;
    for (size_t rank = 1; rank <= count; rank++) {
        top += rank;
        for (size_t sum = top; sum >= rank; sum--)
            ways[sum] += ways[sum - rank];
    }
    double below = 0.0;
    for (size_t sum = 0; sum <= (size_t)rank_sum; sum++)
        below += ways[sum];
    return clamp_probability(2.0 * ldexp(below, -(int)count));
}

/* Sorts the differences. Zeros have no direction and are dropped (as Wilcoxon did). */
static double signed_rank_p(double *differences, size_t count)
{
    qsort(differences, count, sizeof *differences, by_magnitude);
    while (count > 0 && differences[0] == 0.0) {
        differences++;
        count--;
    }
    if (count == 0)
        return 1.0;
    double positive = 0.0, ties = 0.0;
    for (size_t first = 0, next; first < count; first = next) {
        size_t above = 0;
        for (next = first; next < count && !(fabs(differences[next]) > fabs(differences[first])); next++)
            above += differences[next] > 0.0;
        const double size = (double)(next - first);
        positive += (double)above * ((double)(first + 1 + next) / 2.0);
        ties += size * size * size - size;
    }
    const double n = (double)count;
    const double total = n * (n + 1.0) / 2.0;
    if (count <= WILCOXON_EXACT_MAX && ties == 0.0)
        return signed_rank_exact_p(count, positive < total - positive ? positive : total - positive);
    const double variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    const double distance = fabs(positive - total / 2.0) - 0.5;
    return distance > 0.0 ? normal_p(distance / sqrt(variance)) : 1.0;
}

int adl_compare_pairs(const double *a, const double *b, size_t count, struct adl_paired *ret)
{
    if (count == 0) {
        *ret = (struct adl_paired){.t_p = 1.0, .wilcoxon_p = 1.0};
        return 0;
    }
    if (count > SIZE_MAX / sizeof(double))
        return ADL_ENOMEM;
    double *differences = malloc(count * sizeof *differences);
    if (!differences)
        return ADL_ENOMEM;
    for (size_t i = 0; i < count; i++)
        differences[i] = a[i] - b[i];
    struct adl_paired paired = {.difference = mean_of(differences, count)};
    paired.t_p = paired_t_p(differences, count, paired.difference);
    paired.wilcoxon_p = signed_rank_p(differences, count);
    free(differences);
    *ret = paired;
    return 0;
}

struct ranked_p {
    double p;
    size_t index;
};

static int by_p(const void *left, const void *right)
{
    const struct ranked_p *a = left;
    const struct ranked_p *b = right;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

int adl_holm(double *p, size_t count)
{
    if (count == 0)
        return 0;
    if (count > SIZE_MAX / sizeof(struct ranked_p))
        return ADL_ENOMEM;
    struct ranked_p *ranked = malloc(count * sizeof *ranked);
    if (!ranked)
        return ADL_ENOMEM;
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked_p){.p = p[i], .index = i};
    qsort(ranked, count, sizeof *ranked, by_p);
    double least = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double corrected = clamp_probability((double)(count - i) * ranked[i].p);
        if (corrected > least)
            least = corrected;
        p[ranked[i].index] = least;
    }
    free(ranked);
    return 0;
}

/* ---- regression ---- */

struct adl_regression adl_regress(const double *x, const double *y, size_t count)
{
    const double x_mean = mean_of(x, count);
    const double y_mean = mean_of(y, count);
    struct adl_regression fit = {.intercept = y_mean, .slope_p = 1.0, .count = count};
    const double xx = centered_product(x, x_mean, x, x_mean, count);
    const double yy = centered_product(y, y_mean, y, y_mean, count);
    if (count < 2 || xx <= 0.0 || yy <= 0.0)
        return fit;
    fit.slope = centered_product(x, x_mean, y, y_mean, count) / xx;
    fit.intercept = y_mean - fit.slope * x_mean;
    double residual = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double error = (y[i] - y_mean) - fit.slope * (x[i] - x_mean);
        residual += error * error;
    }
    fit.r2 = clamp_probability(1.0 - residual / yy);
    if (count > 2) {
        const double df = (double)count - 2.0;
        fit.slope_p = residual > 0.0 ? adl_student_t_p(fit.slope / sqrt(residual / df / xx), df) : 0.0;
    }
    return fit;
}

/* Hoare's selection: afterwards values[rank] is as if sorted, and nothing before it is larger. */
static void select_rank(double *values, size_t count, size_t rank)
{
    size_t lo = 0, hi = count - 1;
    while (lo < hi) {
        const double pivot = values[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            const double swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (rank <= j)
            hi = j;
        else
            lo = j + 1;
    }
}

double adl_quantile(double *values, size_t count, double q)
{
    if (count == 0)
        return 0.0;
    const double position = q * (double)(count - 1);
    const size_t rank = (size_t)position;
    select_rank(values, count, rank);
    if (rank + 1 == count)
        return values[rank];
    double next = values[rank + 1];
    for (size_t i = rank + 2; i < count; i++)
        next = values[i] < next ? values[i] : next;
    return values[rank] + (position - (double)rank) * (next - values[rank]);
}
