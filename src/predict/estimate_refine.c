#include "predict/estimate_refine.h"

#include "base/real.h"
#include "predict/estimate_initial.h"

#include <math.h>

#define NOISE       0.15 /* least error when a measurement is transferred to another cell */
#define BESIDE_PART 0.4  /* weight of a rate measured beside another against one measured alone */
#define REVERSE     UINT32_MAX

/* ---- rates ---- */

/* Error of the initial estimate of a measured cell. */
static double off_rate(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour)
{
    const struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, neighbour);
    const double alone = (double)k->initial[adl_estimate_table_at(k, profile, type)].mean;
    return (double)cell->log_rate - alone - (neighbour == ADL_NONE ? 0.0 : (double)cell->initial);
}

/* Cells alone, and beside others on types where it was not measured alone. Similar types have more weight. */
static void offer_rates(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, struct adl_fact_list *list)
{
    for (uint32_t t = 0; t < k->type_count; t++) {
        const double near = -fabs(k->types[t].log_fp32 - k->types[type].log_fp32);
        if (adl_estimate_table_cell(k, profile, t, ADL_NONE)->count > 0) {
            adl_fact_offer(list, 10 + near, t, ADL_NONE, 0);
            continue;
        }
        for (uint32_t i = 0; i < k->capacity && k->profiles[profile].measured_beside > 0; i++)
            if (adl_estimate_table_cell(k, profile, t, i)->count > 0)
                adl_fact_offer(list, near, t, i, 0);
    }
}

struct offsets {
    double mean, weight, low, high;
    double slope; /* over log compute rate, 0 with less than two types */
};

static void sum_offsets(const struct adl_estimate_table *k, uint32_t profile, const struct adl_fact_list *list,
                        struct offsets *ret)
{
    double sum = 0, weight = 0, x = 0, xx = 0, xy = 0;
    *ret = (struct offsets){.low = HUGE_VAL, .high = -HUGE_VAL};
    for (int i = 0; i < list->count; i++) {
        const double w = list->ids[i][1] == ADL_NONE ? 1.0 : BESIDE_PART;
        const double off = off_rate(k, profile, list->ids[i][0], list->ids[i][1]);
        const double u = k->types[list->ids[i][0]].log_fp32;
        sum += w * off;
        weight += w;
        x += w * u;
        xx += w * u * u;
        xy += w * u * off;
        ret->low = off < ret->low ? off : ret->low;
        ret->high = off > ret->high ? off : ret->high;
    }
    ret->mean = sum / weight;
    ret->weight = weight;
    ret->slope = (xy - x * sum / weight) / (xx - x * x / weight + 0.2);
}

static void rate_query(const struct adl_estimate_table *k, uint32_t profile, uint32_t type,
                       const struct offsets *offsets, float *ret)
{
    const struct adl_profile *p = &k->profiles[profile];
    const struct adl_type_traits *t = &k->types[type];
    const struct adl_nominal *nominal = adl_estimate_table_nominal(k, profile, type);
    *ret++ = adl_clip(offsets->mean, 3);
    *ret++ = (float)(offsets->weight / (offsets->weight + 1.0));
    *ret++ = adl_clip(offsets->high - offsets->low, 3);
    *ret++ = adl_clip(offsets->slope, 3);
    *ret++ = adl_clip((double)k->initial[adl_estimate_table_at(k, profile, type)].spread, 3);
    *ret++ = adl_clip(t->log_fp32 - 2.64, 3);
    *ret++ = adl_clip(t->log_fp16_gain / 2, 3);
    *ret++ = adl_clip(t->log_bandwidth - 6.8, 3);
    *ret++ = adl_clip((t->log_fp64 - t->log_fp32 + 2) / 2, 3);
    *ret++ = t->nvidia;
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        *ret++ = p->kind == kind;
    *ret++ = (float)nominal->compute;
    *ret++ = (float)nominal->memory;
    *ret++ = (float)nominal->host;
    *ret++ = p->knows_gflop;
    *ret++ = p->knows_gb;
    *ret++ = adl_clip(p->log_gpus / 2, 3);
    *ret++ = p->spans;
    *ret++ = adl_clip((nominal->log_rate - p->log_gpus - 1) / 2, 3);
    *ret++ = adl_clip(p->log_memory - 8.5, 3);
    *ret++ = adl_clip(p->log_cores - 1.4, 3);
}

bool adl_estimate_refine_rate_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                    struct adl_estimator_input *ret)
{
    const struct adl_estimate_table *k = table;
    const struct adl_prediction *first = &k->initial[adl_estimate_table_at(k, profile, type)];
    struct adl_fact_list list = {.count = 0};
    struct offsets offsets;
    offer_rates(k, profile, type, &list);
    if (list.count == 0)
        return false;
    sum_offsets(k, profile, &list, &offsets);
    const double variance = 2.0 * (double)first->spread * (double)first->spread; /* of a Laplace distribution */
    ret->base = (double)first->mean + offsets.mean * variance / (variance + NOISE * NOISE / offsets.weight);
    rate_query(k, profile, type, &offsets, ret->query);
    ret->fact_count = list.count;
    for (int i = 0; i < list.count; i++) {
        const uint32_t t = list.ids[i][0], neighbour = list.ids[i][1];
        const struct adl_type_traits *here = &k->types[type], *there = &k->types[t];
        const struct adl_prediction *expected = &k->initial[adl_estimate_table_at(k, profile, t)];
        const uint32_t count = adl_estimate_table_cell(k, profile, t, neighbour)->count;
        float *at = ret->facts[i];
        *at++ = adl_clip(off_rate(k, profile, t, neighbour) - offsets.mean, 3);
        *at++ = neighbour != ADL_NONE;
        *at++ = t == type;
        *at++ = adl_clip(there->log_fp32 - here->log_fp32, 3);
        *at++ = adl_clip(there->log_bandwidth - here->log_bandwidth, 3);
        *at++ = adl_clip((there->log_fp16_gain - here->log_fp16_gain) / 2, 3);
        *at++ = adl_clip((double)expected->spread, 3);
        *at++ = adl_clip((double)expected->mean - (double)first->mean, 3);
        *at++ = there->nvidia == here->nvidia;
        *at++ = count > 4 ? 1.0f : (float)count / 4;
    }
    return true;
}

/* ---- shares ---- */

static double off_share(const struct adl_cell *cell)
{
    return (double)cell->share - (double)cell->initial;
}

/* Cells of profile beside others, and those of neighbour beside profile (third id REVERSE). */
static void offer_shares(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour,
                         struct adl_fact_list *list)
{
    for (uint32_t t = 0; t < k->type_count; t++) {
        const double here = t == type ? 0.3 : 0.0;
        for (uint32_t d = 0; d < k->capacity && k->profiles[profile].measured_beside > 0; d++)
            if (adl_estimate_table_cell(k, profile, t, d)->count > 0)
                adl_fact_offer(list, adl_estimate_table_likeness(k, neighbour, d) + here, d, t, 0);
        if (neighbour != profile && adl_estimate_table_cell(k, neighbour, t, profile)->count > 0)
            adl_fact_offer(list, 0.8 + here, neighbour, t, REVERSE);
    }
}

static void share_fact(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour,
                       const uint32_t *ids, double mean, const float *duty, float *ret)
{
    const bool reverse = ids[2] == REVERSE;
    const struct adl_cell *cell = reverse ? adl_estimate_table_cell(k, neighbour, ids[1], profile)
                                          : adl_estimate_table_cell(k, profile, ids[1], ids[0]);
    const float *theirs = adl_estimate_table_duty(k, ids[0], ids[1]);
    *ret++ = adl_clip(off_share(cell) - (reverse ? 0.0 : mean), 2);
    *ret++ = reverse;
    *ret++ = ids[1] == type;
    *ret++ = (float)adl_estimate_table_likeness(k, neighbour, ids[0]);
    *ret++ = adl_clip(k->types[ids[1]].log_fp32 - k->types[type].log_fp32, 3);
    *ret++ = adl_clip((double)cell->initial, 3);
    *ret++ = theirs[ADL_DUTY_COMPUTE] - duty[ADL_DUTY_COMPUTE];
    *ret++ = theirs[ADL_DUTY_SLOPE] - duty[ADL_DUTY_SLOPE];
    *ret++ = theirs[ADL_DUTY_STEP] - duty[ADL_DUTY_STEP];
    *ret++ = cell->count > 4 ? 1.0f : (float)cell->count / 4;
    *ret++ = adl_estimate_table_cell(k, reverse ? neighbour : profile, ids[1], ADL_NONE)->count >
             0; /* measured share, not a predicted one */
}

bool adl_estimate_refine_share_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     uint32_t neighbour, const struct adl_prediction *first,
                                     struct adl_estimator_input *ret)
{
    const struct adl_estimate_table *k = table;
    struct adl_fact_list list = {.count = 0};
    offer_shares(k, profile, type, neighbour, &list);
    if (list.count == 0)
        return false;
    double sum = 0, weight = 0;
    for (int i = 0; i < list.count; i++)
        if (list.ids[i][2] != REVERSE) {
            const double w =
                0.2 + adl_estimate_table_likeness(k, neighbour, list.ids[i][0]) + (list.ids[i][1] == type) * 0.5;
            sum += w * off_share(adl_estimate_table_cell(k, profile, list.ids[i][1], list.ids[i][0]));
            weight += w;
        }
    const double mean = weight > 0 ? sum / weight : 0;
    const float *duty_a = adl_estimate_table_duty(k, profile, type),
                *duty_b = adl_estimate_table_duty(k, neighbour, type);
    ret->base = (double)first->mean + mean * weight / (weight + 1.0);
    float *at = ret->query;
    *at++ = adl_clip(mean, 3);
    *at++ = (float)(weight / (weight + 1.0));
    *at++ = adl_clip((double)first->mean, 3);
    *at++ = adl_clip((double)first->spread * 3, 3);
    *at++ = adl_clip(k->types[type].log_fp32 - 2.64, 3);
    *at++ = adl_clip(k->types[type].log_bandwidth - 6.8, 3);
    *at++ = profile == neighbour;
    for (int f = 0; f < 5; f++) {
        static const int taken[] = {0, ADL_DUTY_COMPUTE, ADL_DUTY_SLOPE, 5, ADL_DUTY_STEP};
        *at++ = duty_a[taken[f]];
        *at++ = duty_b[taken[f]];
    }
    ret->fact_count = list.count;
    for (int i = 0; i < list.count; i++)
        share_fact(k, profile, type, neighbour, list.ids[i], mean, duty_b, ret->facts[i]);
    return true;
}
