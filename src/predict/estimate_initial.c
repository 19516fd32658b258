#include "predict/estimate_initial.h"

#include "base/real.h"

#include <string.h>

#define KERNEL       8.0    /* a profile whose likeness is lower by 1/8 has 1/e of the weight */
#define SAME_TYPE    0.15   /* bonus to likeness for the same type */
#define SHARE_PRIOR  (-0.5) /* ln 0.6: prior share before any measurement */
#define LOG_FP32_MID 2.64   /* 14 TFLOP/s */
#define LOG_BW_MID   6.8    /* 900 GB/s */

void adl_fact_offer(struct adl_fact_list *list, double weight, uint32_t a, uint32_t b, uint32_t c)
{
    int at = list->count;
    if (at == ADL_INPUT_FACTS_MAX) {
        if (weight <= list->weights[0])
            return;
        memmove(list->weights, list->weights + 1, (ADL_INPUT_FACTS_MAX - 1) * sizeof *list->weights);
        memmove(list->ids, list->ids + 1, (ADL_INPUT_FACTS_MAX - 1) * sizeof *list->ids);
        at--;
    } else {
        list->count++;
    }
    while (at > 0 && list->weights[at - 1] > weight) {
        list->weights[at] = list->weights[at - 1];
        memcpy(list->ids[at], list->ids[at - 1], sizeof *list->ids);
        at--;
    }
    list->weights[at] = weight;
    list->ids[at][0] = a;
    list->ids[at][1] = b;
    list->ids[at][2] = c;
}

/* ---- rates ---- */

/* Residuals of the time by specification for other profiles, weighted by likeness. */
struct residuals {
    double here, weight_here;    /* on the same type */
    double anywhere, weight;     /* mean over each profile's types */
    double effect, effect_count; /* of the type: here minus the same profiles' mean over their types */
    double nearest;              /* likeness of the nearest measured profile */
};

static double residual(const struct adl_estimate_table *k, uint32_t profile, uint32_t type)
{
    return (double)adl_estimate_table_cell(k, profile, type, ADL_NONE)->log_rate -
           adl_estimate_table_nominal(k, profile, type)->log_rate;
}

static void sum_residuals(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, struct residuals *ret)
{
    struct residuals c = {0};
    for (uint32_t p = 0; p < k->capacity; p++) {
        if (p == profile || k->profiles[p].key == 0 || k->profiles[p].measured_alone == 0)
            continue;
        const double likeness = adl_estimate_table_likeness(k, profile, p), weight = adl_exp(KERNEL * (likeness - 1.0));
        double sum = 0, count = 0, here = 0;
        bool is_here = false;
        for (uint32_t t = 0; t < k->type_count; t++) {
            if (adl_estimate_table_cell(k, p, t, ADL_NONE)->count == 0)
                continue;
            const double off = residual(k, p, t);
            sum += off;
            count += 1;
            if (t == type) {
                here = off;
                is_here = true;
            }
        }
        c.anywhere += weight * sum / count;
        c.weight += weight;
        c.nearest = likeness > c.nearest ? likeness : c.nearest;
        if (!is_here)
            continue;
        c.here += weight * here;
        c.weight_here += weight;
        if (count > 1) {
            c.effect += here - sum / count;
            c.effect_count += 1;
        }
    }
    c.here = c.weight_here > 0 ? c.here / c.weight_here : 0;
    c.anywhere = c.weight > 0 ? c.anywhere / c.weight : 0;
    c.effect /= c.effect_count + 1;
    *ret = c;
}

/* One fact: a cell of a similar profile. */
static void rate_fact(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t other,
                      uint32_t other_type, double offset, float *ret)
{
    const struct adl_profile *p = &k->profiles[profile], *q = &k->profiles[other];
    const struct adl_type_traits *t = &k->types[type], *u = &k->types[other_type];
    const struct adl_nominal *mine = adl_estimate_table_nominal(k, profile, type);
    const struct adl_nominal *theirs = adl_estimate_table_nominal(k, other, other_type);
    const double count = adl_estimate_table_cell(k, other, other_type, ADL_NONE)->count;
    *ret++ = adl_clip(residual(k, other, other_type) - offset, 4);
    *ret++ = (float)(2.0 * adl_estimate_table_likeness(k, profile, other) - 1.0);
    *ret++ = type == other_type;
    *ret++ = adl_clip(u->log_fp32 - t->log_fp32, 3);
    *ret++ = adl_clip(u->log_bandwidth - t->log_bandwidth, 3);
    *ret++ = adl_clip(q->log_gpus - p->log_gpus, 3);
    *ret++ = p->kind == q->kind;
    *ret++ = p->knows_gflop && q->knows_gflop ? adl_clip((q->log_gflop - p->log_gflop) / 2, 3) : 0;
    *ret++ = (float)(theirs->compute - mine->compute);
    *ret++ = (float)(theirs->host - mine->host);
    *ret++ = p->family == q->family;
    *ret++ = (float)(count > 8 ? 1.0 : count / 8);
}

static void rate_query(const struct adl_profile *p, const struct adl_type_traits *t, const struct adl_nominal *nominal,
                       const struct residuals *residuals, float *ret)
{
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        *ret++ = p->kind == kind;
    *ret++ = p->knows_gflop;
    *ret++ = p->knows_gb;
    *ret++ = p->knows_least;
    *ret++ = p->knows_gflop ? adl_clip((p->log_gflop - 5) / 3, 3) : 0;
    *ret++ = p->knows_gb ? adl_clip((p->log_gb - 1.5) / 3, 3) : 0;
    *ret++ = p->knows_gflop && p->knows_gb ? adl_clip((p->log_gflop - p->log_gb - 3.5) / 2, 3) : 0;
    *ret++ = adl_clip(p->log_memory - 8.5, 3);
    *ret++ = p->knows_least ? adl_clip((p->log_least - nominal->log_rate) / 2, 3) : 0;
    *ret++ = adl_clip(p->log_cores - 1.4, 3);
    *ret++ = adl_clip(p->log_gpus / 2, 3);
    *ret++ = p->spans;
    *ret++ = adl_clip(t->log_fp32 - LOG_FP32_MID, 3);
    *ret++ = adl_clip(t->log_fp16_gain / 2, 3);
    *ret++ = adl_clip(t->log_bandwidth - LOG_BW_MID, 3);
    *ret++ = adl_clip((t->log_fp64 - t->log_fp32 + 2) / 2, 3);
    *ret++ = adl_clip(t->log_memory - 9.7, 3);
    *ret++ = t->nvidia;
    *ret++ = (float)nominal->compute;
    *ret++ = (float)nominal->memory;
    *ret++ = (float)nominal->host;
    *ret++ = adl_clip(residuals->here, 3);
    *ret++ = (float)(residuals->weight_here / (residuals->weight_here + 0.2));
    *ret++ = adl_clip(residuals->anywhere, 3);
    *ret++ = adl_clip(residuals->effect, 3);
    *ret++ = (float)(residuals->effect_count / (residuals->effect_count + 2));
    *ret++ = (float)residuals->nearest;
}

void adl_estimate_initial_rate_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     struct adl_estimator_input *ret)
{
    const struct adl_profile *p = &table->profiles[profile];
    struct adl_fact_list list = {.count = 0};
    const struct adl_nominal *nominal = adl_estimate_table_nominal(table, profile, type);
    struct residuals residuals;
    sum_residuals(table, profile, type, &residuals);
    const double offset = residuals.weight_here > 0
                              ? residuals.here * residuals.weight_here / (residuals.weight_here + 0.02)
                              : residuals.anywhere * residuals.weight / (residuals.weight + 0.02);
    ret->base = nominal->log_rate + offset;
    rate_query(p, &table->types[type], nominal, &residuals, ret->query);
    for (uint32_t i = 0; i < p->near_count; i++)
        for (uint32_t t = 0; t < table->type_count; t++)
            if (adl_estimate_table_cell(table, p->near[i], t, ADL_NONE)->count > 0)
                adl_fact_offer(&list, adl_estimate_table_likeness(table, profile, p->near[i]) + (t == type) * SAME_TYPE,
                               p->near[i], t, 0);
    ret->fact_count = list.count;
    for (int i = 0; i < list.count; i++)
        rate_fact(table, profile, type, list.ids[i][0], list.ids[i][1], offset, ret->facts[i]);
}

/* ---- shares ---- */

static double effect_of(const struct adl_estimate_table *k, const double *slopes, uint32_t profile, uint32_t type)
{
    double x[ADL_EFFECT_TERMS], sum = 0;
    adl_estimate_table_effect_terms(k, profile, type, x);
    for (int i = 0; i < ADL_EFFECT_TERMS; i++)
        sum += slopes[i] * x[i];
    return sum;
}

struct share_effects {
    double level, level_known; /* mean share on the type */
    double victim, victim_known;
    double neighbour, neighbour_known;
};

/* The measured effect of this very neighbour on others, mostly on this type. */
static double own_effect(const struct adl_estimate_table *k, uint32_t neighbour, uint32_t type, double *ret_weight)
{
    double sum = 0, weight = 0;
    for (uint32_t t = 0; t < k->type_count; t++) {
        const struct adl_sum *seen = &k->as_neighbour[adl_estimate_table_at(k, neighbour, t)], *all = &k->all_shares[t];
        if (seen->count < 0.5 || all->count < 0.5)
            continue;
        const double w = (t == type ? 1.0 : 0.2) * seen->count;
        sum += w * (seen->sum / seen->count - all->sum / all->count);
        weight += w;
    }
    *ret_weight = weight;
    return weight > 0 ? sum / weight : 0;
}

static void estimate_effects(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour,
                             struct share_effects *ret)
{
    struct adl_sum level = {0};
    double victim[ADL_EFFECT_TERMS], harm[ADL_EFFECT_TERMS], victims = 0, harms = 0;
    for (uint32_t t = 0; t < k->type_count; t++) {
        const double w = t == type ? 1.0 : 0.02;
        level.sum += w * k->all_shares[t].sum;
        level.count += w * k->all_shares[t].count;
    }
    adl_estimate_table_fit_effect(k, 0, type, profile, victim, &victims);
    adl_estimate_table_fit_effect(k, 1, type, neighbour, harm, &harms);
    double weight = 0;
    const double own = neighbour == profile ? 0 : own_effect(k, neighbour, type, &weight);
    const double fitted = effect_of(k, harm, neighbour, type);
    *ret = (struct share_effects){.level = (level.sum + 3.0 * SHARE_PRIOR) / (level.count + 3.0),
                                  .level_known = level.count / (level.count + 3.0),
                                  .victim = effect_of(k, victim, profile, type),
                                  .victim_known = victims / (victims + 4.0),
                                  .neighbour = (weight * own + 2.0 * fitted) / (weight + 2.0),
                                  .neighbour_known = weight / (weight + 2.0)};
}

static void share_fact(const struct adl_estimate_table *k, const float *duty_a, const float *duty_b, uint32_t a,
                       uint32_t b, uint32_t type, const uint32_t *ids, double base, float *ret)
{
    const uint32_t c = ids[0], d = ids[1], u = ids[2];
    const struct adl_cell *cell = adl_estimate_table_cell(k, c, u, d);
    const float *duty_c = adl_estimate_table_duty(k, c, u), *duty_d = adl_estimate_table_duty(k, d, u);
    *ret++ = adl_clip((double)cell->share - base, 2);
    *ret++ = (float)adl_estimate_table_likeness(k, a, c);
    *ret++ = (float)adl_estimate_table_likeness(k, b, d);
    *ret++ = type == u;
    *ret++ = adl_clip(k->types[u].log_fp32 - k->types[type].log_fp32, 3);
    *ret++ = duty_c[ADL_DUTY_COMPUTE] - duty_a[ADL_DUTY_COMPUTE];
    *ret++ = duty_c[ADL_DUTY_SLOPE] - duty_a[ADL_DUTY_SLOPE];
    *ret++ = duty_c[ADL_DUTY_STEP] - duty_a[ADL_DUTY_STEP];
    *ret++ = duty_d[ADL_DUTY_COMPUTE] - duty_b[ADL_DUTY_COMPUTE];
    *ret++ = duty_d[ADL_DUTY_SLOPE] - duty_b[ADL_DUTY_SLOPE];
    *ret++ = duty_d[ADL_DUTY_STEP] - duty_b[ADL_DUTY_STEP];
    *ret++ = (a == b) == (c == d);
    *ret++ = cell->count > 4 ? 1.0f : (float)cell->count / 4;
}

static void offer_shares(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour,
                         struct adl_fact_list *list)
{
    const struct adl_profile *p = &k->profiles[profile], *q = &k->profiles[neighbour];
    for (uint32_t i = 0; i < p->near_count; i++)
        for (uint32_t j = 0; j < q->near_count + 1; j++) {
            const uint32_t c = p->near[i], d = j < q->near_count ? q->near[j] : neighbour;
            const double likeness =
                adl_estimate_table_likeness(k, profile, c) + adl_estimate_table_likeness(k, neighbour, d);
            if (d == profile || k->profiles[c].measured_beside == 0)
                continue;
            for (uint32_t t = 0; t < k->type_count; t++)
                if (adl_estimate_table_cell(k, c, t, d)->count > 0)
                    adl_fact_offer(list, likeness + (t == type) * 2 * SAME_TYPE, c, d, t);
        }
}

void adl_estimate_initial_share_input(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                      uint32_t neighbour, struct adl_estimator_input *ret)
{
    const struct adl_estimate_table *k = table;
    struct adl_fact_list list = {.count = 0};
    struct share_effects share_effects;
    const float *duty_a = adl_estimate_table_duty(k, profile, type),
                *duty_b = adl_estimate_table_duty(k, neighbour, type);
    estimate_effects(k, profile, type, neighbour, &share_effects);
    ret->base = share_effects.level + share_effects.victim + share_effects.neighbour;
    float *at = ret->query;
    memcpy(at, duty_a, ADL_DUTY_FEATURES * sizeof *at);
    memcpy(at + ADL_DUTY_FEATURES, duty_b, ADL_DUTY_FEATURES * sizeof *at);
    at += (size_t)2 * ADL_DUTY_FEATURES;
    *at++ = adl_clip(k->types[type].log_fp32 - LOG_FP32_MID, 3);
    *at++ = adl_clip(k->types[type].log_bandwidth - LOG_BW_MID, 3);
    *at++ = adl_clip(k->types[type].log_fp16_gain / 2, 3);
    *at++ = (float)share_effects.level_known;
    *at++ = (float)share_effects.level;
    *at++ = (float)share_effects.victim;
    *at++ = (float)share_effects.victim_known;
    *at++ = (float)share_effects.neighbour;
    *at++ = (float)share_effects.neighbour_known;
    *at++ = profile == neighbour;
    *at++ = adl_clip(ret->base, 3);
    offer_shares(k, profile, type, neighbour, &list);
    ret->fact_count = list.count;
    for (int i = 0; i < list.count; i++)
        share_fact(k, duty_a, duty_b, profile, neighbour, type, list.ids[i], ret->base, ret->facts[i]);
}
