#include "solve/prices.h"

#include "base/real.h"

#include <stdlib.h>
#include <string.h>

/* Chosen by bench/run solve. Temperatures are shares of the mean saving of an offer: the first, the one at which all
 * offers replace the sample, and the last. */
#define T_FIRST  0.1
#define T_MIDDLE 0.02
#define T_LAST   0.004
#define ROUGH    40 /* rounds with the sample */
#define FINE     64 /* and after it */
#define SAMPLE   1500
/* Rounds between passes over all offers; between them only offers count whose surplus is within the reach of the shape.
 */
#define REFRESH 8
#define REACH   8
/* Half the step for a single constraint, because an offer is in up to four that are scaled at once. */
#define STEP 0.5
/* Power is one constraint over all offers, so its step differs. */
#define WATT_STEP 1

int adl_prices_init(struct adl_prices *self, uint32_t groups, uint32_t pools, uint32_t offers)
{
    const size_t g = (size_t)groups + 1, p = (size_t)pools + 1, o = (size_t)offers + 1;
    *self = (struct adl_prices){0};
    self->gpu = calloc(p, sizeof *self->gpu);
    self->job = calloc(g, sizeof *self->job);
    self->surplus = calloc(o, sizeof *self->surplus);
    self->amount = calloc(o, sizeof *self->amount);
    self->active = calloc(o, sizeof *self->active);
    self->pool_load = calloc(p, sizeof *self->pool_load);
    self->group_load = calloc(g, sizeof *self->group_load);
    if (self->gpu && self->job && self->surplus && self->amount && self->active && self->pool_load && self->group_load)
        return 0;
    adl_prices_clear(self);
    return ADL_ENOMEM;
}

void adl_prices_clear(struct adl_prices *self)
{
    free(self->gpu);
    free(self->job);
    free(self->surplus);
    free(self->amount);
    free(self->active);
    free(self->pool_load);
    free(self->group_load);
    *self = (struct adl_prices){0};
}

/* An offer with its second group, or the extra group whose price is 0. */
static struct adl_priced_offer offer_of(const struct adl_packing *packing, uint32_t o)
{
    const struct adl_offer *offer = &packing->problem->offers[o];
    return (struct adl_priced_offer){
        .saving = packing->saving[o],
        .weight = 1,
        .power = (double)packing->power[o],
        .gpus = offer->gpus,
        .pool = offer->pool,
        .group = {offer->group[0], adl_offer_is_pair(offer) ? offer->group[1] : packing->problem->group_count}};
}

static inline double surplus_of(const struct adl_prices *self, const struct adl_priced_offer *offer)
{
    return offer->saving - self->job[offer->group[0]] - self->job[offer->group[1]] -
           self->gpu[offer->pool] * offer->gpus - self->watt * offer->power;
}

/* Replaces exp(z). */
static inline double shape(double z)
{
    double y = 1 + (z < 4 ? z : 4) * 0.125;
    y = y > 0 ? y : 0;
    y *= y;
    y *= y;
    return y * y;
}

/* All prices are 0. */
static void start(struct adl_prices *self, const struct adl_packing *packing)
{
    const struct adl_allotment_problem *problem = packing->problem;
    double sum = 0;
    memset(self->job, 0, ((size_t)problem->group_count + 1) * sizeof *self->job);
    memset(self->gpu, 0, problem->pool_count * sizeof *self->gpu);
    self->watt = 0;
    self->power_cap = packing->power_cap < INT64_MAX ? (double)packing->power_cap : 0;
    self->power_mean = 0;
    for (uint32_t i = 0; i < packing->order_count; i++)
        sum += packing->saving[packing->order[i]];
    for (uint32_t i = 0; i < packing->order_count; i++)
        self->power_mean += (double)packing->power[packing->order[i]] / packing->order_count;
    if (!(self->power_mean > 0))
        self->power_cap = 0; /* nothing draws any */
    self->mean = packing->order_count > 0 ? sum / packing->order_count : 0;
}

static void collect(struct adl_prices *self, const struct adl_packing *packing, double least)
{
    self->active_count = 0;
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const struct adl_priced_offer offer = offer_of(packing, packing->order[i]);
        if (surplus_of(self, &offer) >= least)
            self->active[self->active_count++] = offer;
    }
}

/* All single offers, and about every `stride`-th pair, weighted accordingly. */
static void sample(struct adl_prices *self, const struct adl_packing *packing, uint32_t stride)
{
    self->active_count = 0;
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        const bool pair = adl_offer_is_pair(&packing->problem->offers[o]);
        if (pair && (o * UINT32_C(2654435761) >> 8) % stride != 0)
            continue;
        self->active[self->active_count] = offer_of(packing, o);
        self->active[self->active_count++].weight = pair ? stride : 1;
    }
}

static double scaled(double price, double load, double limit, double step)
{
    const double over = load / limit;
    const double next = price + step * adl_log(over > 1e-3 ? over : 1e-3);
    return next > 0 ? next : 0;
}

/* Computes the demand at temperature t, raises the prices of violated constraints and lowers the others. */
static void scale(struct adl_prices *self, const struct adl_packing *packing, double t)
{
    const struct adl_allotment_problem *problem = packing->problem;
    const double per_t = 1 / t;
    double power = 0;
    memset(self->group_load, 0, ((size_t)problem->group_count + 1) * sizeof *self->group_load);
    memset(self->pool_load, 0, problem->pool_count * sizeof *self->pool_load);
    for (uint32_t i = 0; i < self->active_count; i++) {
        const struct adl_priced_offer *offer = &self->active[i];
        const double x = offer->weight * shape(surplus_of(self, offer) * per_t);
        self->group_load[offer->group[0]] += x;
        self->group_load[offer->group[1]] += x;
        self->pool_load[offer->pool] += x * offer->gpus;
        power += x * offer->power;
    }
    for (uint32_t g = 0; g < problem->group_count; g++)
        if (problem->group_jobs[g] > 0)
            self->job[g] = scaled(self->job[g], self->group_load[g], problem->group_jobs[g], STEP * t);
    for (uint32_t p = 0; p < problem->pool_count; p++)
        if (problem->pool_gpus[p] > 0)
            self->gpu[p] = scaled(self->gpu[p], self->pool_load[p], problem->pool_gpus[p], STEP * t);
    if (self->power_cap > 0)
        self->watt = scaled(self->watt * self->power_mean, power, self->power_cap, WATT_STEP * t) / self->power_mean;
}

/* Rounds from one temperature to another; refresh 0: with the active offers only. */
static void cool(struct adl_prices *self, const struct adl_packing *packing, double from, double to, int rounds,
                 int refresh)
{
    const double factor = adl_exp(adl_log(to / from) / rounds);
    double t = from;
    for (int round = 0; round < rounds; round++) {
        if (refresh > 0 && round % refresh == 0)
            collect(self, packing, -REACH * t);
        t *= factor;
        scale(self, packing, t);
    }
}

void adl_prices_apply(struct adl_prices *self, const struct adl_packing *packing)
{
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        const struct adl_priced_offer offer = offer_of(packing, o);
        self->surplus[o] = surplus_of(self, &offer);
    }
}

void adl_prices_find(struct adl_prices *self, const struct adl_packing *packing)
{
    start(self, packing);
    const double mean = self->mean;
    if (!(mean > 0))
        return;
    sample(self, packing, 1 + packing->order_count / SAMPLE);
    cool(self, packing, T_FIRST * mean, T_MIDDLE * mean, ROUGH, 0);
    cool(self, packing, T_MIDDLE * mean, T_LAST * mean, FINE, REFRESH);
    adl_prices_apply(self, packing);
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        self->amount[o] = shape(self->surplus[o] / (T_LAST * mean));
    }
}

double adl_prices_bound(const struct adl_prices *self, const struct adl_packing *packing)
{
    const struct adl_allotment_problem *problem = packing->problem;
    double bound = self->watt > 0 ? self->watt * (double)packing->power_cap : 0;
    for (uint32_t g = 0; g < problem->group_count; g++)
        bound += self->job[g] * problem->group_jobs[g];
    for (uint32_t p = 0; p < problem->pool_count; p++)
        bound += self->gpu[p] * problem->pool_gpus[p];
    for (uint32_t i = 0; i < packing->order_count; i++) {
        const uint32_t o = packing->order[i];
        if (self->surplus[o] > 0)
            bound += self->surplus[o] * adl_packing_most(packing, o);
    }
    return bound;
}
