#include "predict/residuals.h"

#include "base/real.h"

#include <math.h>
#include <stdbool.h>

#define WIDTH       0.1 /* of a bin */
#define BINS        ADL_RESIDUAL_BINS
#define KNOTS       ADL_SHAPE_KNOTS
#define PER_KNOT    4  /* bins between two knots */
#define FIRST       64 /* the bin that begins at the first knot */
#define LAST        (FIRST + PER_KNOT * (KNOTS - 1))
#define TAIL        1.0        /* slope outside the deciles: past them, z counts e-folds */
#define LEAST_STEP  0.004      /* between deciles: equal run times are equal within one percent */
#define TAIL_SHARE  1e-3       /* of a distribution: more cannot lower the cost of a completion by more than that */
#define SERVED_MORE (1 + 1e-9) /* than rounding can make of a difference */
#define KEPT        (1.0 - 1.0 / 2000) /* of the weight of all jobs, when another has ended */

/* ---- shapes; places are bins and parts of bins, 0 to BINS ---- */

static void set_growth(struct adl_shape *shape)
{
    shape->growth[0] = shape->growth[KNOTS] = (float)adl_exp(WIDTH * (double)shape->tail);
    for (int k = 1; k < KNOTS; k++)
        shape->growth[k] = (float)adl_exp(((double)shape->knots[k] - (double)shape->knots[k - 1]) / PER_KNOT);
}

struct adl_shape adl_shape_linear(double slope)
{
    struct adl_shape shape = {.tail = (float)slope};
    for (int k = 0; k < KNOTS; k++)
        shape.knots[k] = (float)(slope * WIDTH * (PER_KNOT * k + FIRST - 0.5 * BINS));
    set_growth(&shape);
    return shape;
}

struct adl_shape adl_shape_of_deciles(const float deciles[ADL_SHAPE_KNOTS])
{
    struct adl_shape shape = {.tail = (float)TAIL};
    for (int k = 0; k < KNOTS; k++)
        shape.knots[k] = deciles[k] + (float)(LEAST_STEP * (k - 0.5 * (KNOTS - 1)));
    set_growth(&shape);
    return shape;
}

static double log_at(const struct adl_shape *shape, double place)
{
    if (place <= FIRST)
        return (double)shape->knots[0] + (place - FIRST) * WIDTH * (double)shape->tail;
    if (place >= LAST)
        return (double)shape->knots[KNOTS - 1] + (place - LAST) * WIDTH * (double)shape->tail;
    const int k = (int)((place - FIRST) / PER_KNOT);
    const double from = (double)shape->knots[k], step = (double)shape->knots[k + 1] - from;
    return from + step * ((place - FIRST) / PER_KNOT - k);
}

/* The inverse; infinite and absurd ones are beyond all bins. */
static double place_of(const struct adl_shape *shape, double log_ratio)
{
    const float *knots = shape->knots;
    double place = FIRST + (log_ratio - (double)knots[0]) / (WIDTH * (double)shape->tail);
    if (log_ratio >= (double)knots[KNOTS - 1]) {
        place = LAST + (log_ratio - (double)knots[KNOTS - 1]) / (WIDTH * (double)shape->tail);
    } else if (log_ratio > (double)knots[0]) {
        int k = 0;
        while (log_ratio >= (double)knots[k + 1])
            k++;
        place = FIRST + PER_KNOT * (k + (log_ratio - (double)knots[k]) / ((double)knots[k + 1] - (double)knots[k]));
    }
    return !(place > 0) ? 0 : place < BINS ? place : BINS;
}

/* ---- learning ---- */

void adl_residuals_init(struct adl_residuals *ret)
{
    *ret = (struct adl_residuals){0};
    double sum = 0;
    for (int i = 0; i < BINS; i++) {
        const double z = WIDTH * (i + 0.5 - 0.5 * BINS);
        ret->weight[i] = adl_exp(z < 0 ? z : -z);
        sum += ret->weight[i];
    }
    for (int i = 0; i < BINS; i++)
        ret->weight[i] /= sum;
    adl_residuals_sum(ret);
}

void adl_residuals_sum(struct adl_residuals *residuals)
{
    residuals->above[BINS] = 0;
    for (int i = BINS; i-- > 0;)
        residuals->above[i] = residuals->above[i + 1] + residuals->weight[i];
}

void adl_residuals_learn(struct adl_residuals *residuals, const struct adl_shape *shape, double ratio)
{
    const double place = ratio > 0 ? place_of(shape, ratio < HUGE_VAL ? adl_log(ratio) : HUGE_VAL) : 0;
    for (int i = 0; i < BINS; i++)
        residuals->weight[i] *= KEPT;
    residuals->weight[place < BINS ? (int)place : BINS - 1] += 1;
    residuals->count++;
    adl_residuals_sum(residuals);
}

/* ---- reading ---- */

/* Where a distribution is cut: by jobs that have run u. */
struct cut {
    int first;    /* the first bin that is not wholly below */
    double part;  /* of that bin above the cut, 0..1 */
    double alive; /* weight above; 0: u is beyond all bins */
};

static struct cut cut_at(const struct adl_residuals *residuals, const struct adl_shape *shape, double u)
{
    const double place = u > 0 ? place_of(shape, u < HUGE_VAL ? adl_log(u) : HUGE_VAL) : 0;
    if (place >= BINS)
        return (struct cut){BINS, 0, 0};
    struct cut cut = {.first = (int)place};
    cut.part = 1 - (place - cut.first);
    cut.alive = cut.part * residuals->weight[cut.first] + residuals->above[cut.first + 1];
    return cut;
}

double adl_residuals_within(const struct adl_residuals *residuals, const struct adl_shape *shape, double u, double t)
{
    if (!(t > 0))
        return 0;
    const struct cut from = cut_at(residuals, shape, u);
    if (!(from.alive > 0)) /* beyond all that was seen: as likely as not as long again */
        return t / (u + t);
    const struct cut to = cut_at(residuals, shape, u + t);
    const double p = 1 - to.alive / from.alive;
    return p > 0 ? p : 0;
}

double adl_residuals_quantile(const struct adl_residuals *residuals, const struct adl_shape *shape, double u, double q)
{
    const struct cut cut = cut_at(residuals, shape, u);
    if (!(cut.alive > 0))
        return u * q / (1 - q);
    double left = q * cut.alive, part = cut.part;
    int i = cut.first;
    while (i + 1 < BINS && left > part * residuals->weight[i]) {
        left -= part * residuals->weight[i++];
        part = 1;
    }
    const double inside = residuals->weight[i] > 0 ? left / residuals->weight[i] : 0;
    const double rest = adl_exp(log_at(shape, i + 1 - part + (inside < part ? inside : part))) - u;
    return rest > 0 ? rest : 0;
}

/* Over the bins above a cut: the weight of each, and the time at which its jobs end, the middle of the bin. */
struct walk {
    const struct adl_shape *shape;
    int next;              /* bin, after the first */
    double factor, middle; /* time at the end, and in the middle, of a bin relative to its beginning */
    double upper;          /* time at the end of the last bin */
    double weight, time;   /* of the first bin, of which a part is above the cut */
};

static void set_factor(struct walk *walk, int bin)
{
    walk->factor = (double)walk->shape->growth[bin < FIRST ? 0 : bin < LAST ? 1 + (bin - FIRST) / PER_KNOT : KNOTS];
    walk->middle = sqrt(walk->factor);
}

static struct walk walk_from(const struct adl_residuals *residuals, const struct adl_shape *shape,
                             const struct cut *cut, double u)
{
    const double begin = adl_exp(log_at(shape, cut->first)), lower = begin > u ? begin : u;
    struct walk walk = {.shape = shape, .next = cut->first + 1, .weight = cut->part * residuals->weight[cut->first]};
    set_factor(&walk, cut->first);
    walk.upper = begin * walk.factor;
    walk.time = cut->part < 1 ? (lower + walk.upper) / 2 : lower * walk.middle;
    return walk;
}

/* The bins from the next one on for which time grows alike; returns the first after them. */
static inline int begin_segment(struct walk *walk)
{
    const int bin = walk->next;
    if (bin >= FIRST && bin <= LAST && (bin - FIRST) % PER_KNOT == 0)
        set_factor(walk, bin);
    return bin < FIRST ? FIRST : bin < LAST ? bin + PER_KNOT - (bin - FIRST) % PER_KNOT : BINS;
}

/* c[0] + c[1] x + c[2] x^2 + ..., in four parts that do not wait for each other. */
static double polynomial(const double *c, int count, double x)
{
    const double x2 = x * x, x4 = x2 * x2;
    double parts[4] = {0};
    for (int k = 0; k < count % 4; k++)
        parts[k] = c[count - count % 4 + k];
    for (int i = count - count % 4 - 4; i >= 0; i -= 4)
        for (int k = 0; k < 4; k++)
            parts[k] = parts[k] * x4 + c[i + k];
    return parts[0] + x * parts[1] + x2 * (parts[2] + x * parts[3]);
}

double adl_residuals_mean(const struct adl_residuals *residuals, const struct adl_shape *shape, double u)
{
    const struct cut cut = cut_at(residuals, shape, u);
    if (!(cut.alive > 0))
        return u;
    struct walk walk = walk_from(residuals, shape, &cut, u);
    double sum = walk.weight * walk.time;
    while (walk.next < LAST) {
        const int end = begin_segment(&walk);
        double part = 0, upper = walk.upper;
        for (int i = end; i-- > walk.next; upper *= walk.factor)
            part = part * walk.factor + residuals->weight[i];
        sum += walk.upper * walk.middle * part;
        walk.upper = upper;
        walk.next = end;
    }
    begin_segment(&walk);
    sum += walk.upper * walk.middle * polynomial(&residuals->weight[walk.next], BINS - walk.next, walk.factor);
    const double rest = sum / cut.alive - u;
    return rest > 0 ? rest : 0;
}

double adl_residuals_cost(const struct adl_residuals *residuals, const struct adl_shape *shape, double u)
{
    const struct cut cut = cut_at(residuals, shape, u);
    if (!(cut.alive > 0))
        return u;
    struct walk walk = walk_from(residuals, shape, &cut, u);
    const double least = TAIL_SHARE * cut.alive;
    const double *weight = residuals->weight, *above = residuals->above;
    double ended = walk.weight, ended_time = walk.weight * (walk.time - u);
    double best_served = ended > 0 ? ended_time + (cut.alive - ended) * (walk.upper - u) : 1; /* undivided */
    double best_ended = ended, served_max = SERVED_MORE * best_served * cut.alive;
    while (walk.next < BINS && above[walk.next] > least)
        for (const int end = begin_segment(&walk); walk.next < end && above[walk.next] > least; walk.next++) {
            const double lower = walk.upper > u ? walk.upper : u;
            walk.upper *= walk.factor;
            ended += weight[walk.next];
            ended_time += weight[walk.next] * (lower * walk.middle - u);
            const double served = ended_time + (cut.alive - ended) * (walk.upper - u);
            if (served * best_ended < best_served * ended) {
                best_served = served;
                best_ended = ended;
                served_max = SERVED_MORE * best_served * cut.alive;
            } else if (served * best_ended > served_max) {
                return best_served / best_ended; /* it only grows, and no more than all end */
            }
        }
    return best_served > 0 && best_ended > 0 ? best_served / best_ended : 0;
}
