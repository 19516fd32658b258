#include "predict/residuals.h"

#include "base/real.h"

#include <stdbool.h>

#define WIDTH 0.1 /* of a bin */
#define LEAST (-0.5 * ADL_RESIDUAL_BINS * WIDTH)
#define KEPT  (1.0 - 1.0 / 2000) /* of the weight of all jobs, when another has ended */

void adl_residuals_init(struct adl_residuals *ret)
{
    *ret = (struct adl_residuals){0};
    double sum = 0;
    for (int i = 0; i < ADL_RESIDUAL_BINS; i++) {
        const double z = LEAST + (i + 0.5) * WIDTH;
        ret->weight[i] = adl_exp(z < 0 ? z : -z);
        sum += ret->weight[i];
    }
    for (int i = 0; i < ADL_RESIDUAL_BINS; i++)
        ret->weight[i] /= sum;
}

void adl_residuals_learn(struct adl_residuals *residuals, double z)
{
    const double at = (z - LEAST) / WIDTH;
    const int bin = !(at > 0) ? 0 : at >= ADL_RESIDUAL_BINS ? ADL_RESIDUAL_BINS - 1 : (int)at;
    for (int i = 0; i < ADL_RESIDUAL_BINS; i++)
        residuals->weight[i] *= KEPT;
    residuals->weight[bin] += 1;
    residuals->count++;
}

/* Where a distribution is cut: by jobs that have run u. */
struct cut {
    int first;    /* the first bin that is not wholly below */
    double part;  /* of that bin above the cut, 0..1 */
    double alive; /* weight above; 0: u is beyond all bins */
};

static struct cut cut_at(const struct adl_residuals *residuals, double scale, double u)
{
    struct cut cut = {0, 1, 0};
    const double at = u > 0 ? (adl_log(u) / scale - LEAST) / WIDTH : 0;
    if (at >= ADL_RESIDUAL_BINS)
        return (struct cut){ADL_RESIDUAL_BINS, 0, 0};
    if (at > 0) {
        cut.first = (int)at;
        cut.part = 1 - (at - cut.first);
    }
    cut.alive = cut.part * residuals->weight[cut.first];
    for (int i = cut.first + 1; i < ADL_RESIDUAL_BINS; i++)
        cut.alive += residuals->weight[i];
    return cut;
}

double adl_residuals_within(const struct adl_residuals *residuals, double scale, double u, double t)
{
    if (!(t > 0))
        return 0;
    const struct cut from = cut_at(residuals, scale, u);
    if (!(from.alive > 0)) /* beyond all that was seen: as likely as not as long again */
        return t / (u + t);
    const struct cut to = cut_at(residuals, scale, u + t);
    const double p = 1 - to.alive / from.alive;
    return p > 0 ? p : 0;
}

double adl_residuals_quantile(const struct adl_residuals *residuals, double scale, double u, double q)
{
    const struct cut cut = cut_at(residuals, scale, u);
    if (!(cut.alive > 0))
        return u * q / (1 - q);
    double left = q * cut.alive, part = cut.part;
    int i = cut.first;
    while (i + 1 < ADL_RESIDUAL_BINS && left > part * residuals->weight[i]) {
        left -= part * residuals->weight[i++];
        part = 1;
    }
    const double inside = residuals->weight[i] > 0 ? left / residuals->weight[i] : 0;
    const double z = LEAST + (i + 1 - part + (inside < part ? inside : part)) * WIDTH;
    const double rest = adl_exp(scale * z) - u;
    return rest > 0 ? rest : 0;
}

/* Over the bins above a cut: the weight of each, and the time at which its jobs end, the middle of the bin. */
struct walk {
    const struct adl_residuals *residuals;
    int next;
    double part;           /* of the next bin above the cut */
    double factor, middle; /* time at the end, and in the middle, of a bin relative to its beginning */
    double upper;          /* time at the end of this bin */
    double weight, time;   /* of this bin */
};

static struct walk walk_from(const struct adl_residuals *residuals, double scale, const struct cut *cut)
{
    const double half = adl_exp(scale * WIDTH / 2);
    return (struct walk){.residuals = residuals,
                         .next = cut->first,
                         .part = cut->part,
                         .upper = adl_exp(scale * (LEAST + cut->first * WIDTH)),
                         .factor = half * half,
                         .middle = half};
}

static bool walk_on(struct walk *walk, double u)
{
    if (walk->next >= ADL_RESIDUAL_BINS)
        return false;
    const double lower = walk->upper > u ? walk->upper : u;
    walk->upper *= walk->factor;
    walk->weight = walk->part * walk->residuals->weight[walk->next++];
    walk->time = walk->part < 1 ? (lower + walk->upper) / 2 : lower * walk->middle;
    walk->part = 1;
    return true;
}

double adl_residuals_mean(const struct adl_residuals *residuals, double scale, double u)
{
    const struct cut cut = cut_at(residuals, scale, u);
    if (!(cut.alive > 0))
        return u;
    struct walk walk = walk_from(residuals, scale, &cut);
    double sum = 0;
    while (walk_on(&walk, u))
        sum += walk.weight * (walk.time - u);
    return sum > 0 ? sum / cut.alive : 0;
}

double adl_residuals_cost(const struct adl_residuals *residuals, double scale, double u)
{
    const struct cut cut = cut_at(residuals, scale, u);
    if (!(cut.alive > 0))
        return u;
    struct walk walk = walk_from(residuals, scale, &cut);
    double ended = 0, ended_time = 0, best = -1;
    while (walk_on(&walk, u)) {
        if (!(walk.weight > 0))
            continue;
        ended += walk.weight;
        ended_time += walk.weight * (walk.time - u);
        const double cost = (ended_time + (cut.alive - ended) * (walk.upper - u)) / ended;
        best = best < 0 || cost < best ? cost : best;
    }
    return best > 0 ? best : 0;
}
