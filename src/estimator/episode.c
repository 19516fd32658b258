#include "estimator/episode.h"

#include "predict/estimate_initial.h"
#include "predict/estimate_refine.h"

#include <math.h>
#include <stdlib.h>

#define NOISE 0.03 /* standard deviation of a measurement's logarithm */

struct episode {
    struct adl_estimate_table *k;
    struct adl_estimator *estimator;
    const struct adl_lab *lab;
    struct adl_rng *rng;
    struct adl_examples *examples;
    uint32_t job; /* the new one */
    uint32_t known_count;
    uint32_t known[ADL_LAB_JOBS];   /* jobs */
    uint32_t profile[ADL_LAB_JOBS]; /* [job], ADL_NONE = not known */
    bool failed;
};

static bool chance(struct adl_rng *rng, double p)
{
    return adl_rng_uniform(rng) < p;
}

static void emit(struct episode *e, const struct adl_estimator_input *question, double truth, int facts, uint32_t job,
                 uint32_t beside, uint32_t type)
{
    struct adl_examples *all = e->examples;
    if (isnan(truth))
        return;
    if (adl_grow((void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items) != 0) {
        e->failed = true;
        return;
    }
    all->items[all->count++] = (struct adl_example){*question, truth, facts, job, beside, type};
}

static void measure(struct episode *e, uint32_t job, uint32_t type, uint32_t beside)
{
    const double alone = e->lab->rate[job][type], share = beside == ADL_NONE ? 0 : e->lab->share[job][beside][type];
    if (isnan(alone) || isnan(share))
        return;
    adl_estimate_table_measure(e->k, e->profile[job], type, beside == ADL_NONE ? ADL_NONE : e->profile[beside],
                               alone + share + NOISE * adl_rng_normal(e->rng));
}

/* Sets a known job's rates: measured ones, and elsewhere the nominal rate corrected by its mean error. */
static void set_rates(struct episode *e, uint32_t job)
{
    const struct adl_estimate_table *k = e->k;
    double sum = 0, count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t t = 0; t < k->type_count; t++) {
            const struct adl_cell *cell = adl_estimate_table_cell(k, e->profile[job], t, ADL_NONE);
            const double nominal = adl_estimate_table_nominal(k, e->profile[job], t)->log_rate;
            struct adl_prediction *rate = &k->rates[adl_estimate_table_at(k, e->profile[job], t)];
            if (pass == 0 && cell->count > 0) {
                sum += (double)cell->log_rate - nominal;
                count += 1;
            } else if (pass == 1) {
                const double guess = nominal + (count > 0 ? sum / count : 0);
                *rate = cell->count > 0 ? (struct adl_prediction){cell->log_rate, 0.05f}
                                        : (struct adl_prediction){(float)guess, count > 0 ? 0.3f : 1.0f};
            }
        }
    adl_estimate_table_update_rates(e->k, e->profile[job]);
}

static void add_profile(struct episode *e, uint32_t job)
{
    bool is_new;
    e->profile[job] = adl_estimate_table_profile(e->k, &e->lab->jobs[job], e->lab->spans[job], &is_new);
}

static void prepare(struct episode *e, const struct adl_episode_rule *rule)
{
    static const double pair_parts[] = {0, 0.1, 0.4, 1};
    const struct adl_lab *lab = e->lab;
    const bool is_new_family = chance(e->rng, rule->new_family);
    const double part = rule->all_known ? 1 : adl_rng_uniform(e->rng);
    const double alone = rule->all_known ? 1 : 0.3 + 0.7 * adl_rng_uniform(e->rng);
    const double beside = rule->all_known ? 1 : pair_parts[adl_rng_below(e->rng, 4)];
    e->job = adl_rng_below(e->rng, lab->job_count);
    for (uint32_t j = 0; j < lab->job_count; j++) {
        e->profile[j] = ADL_NONE;
        if (j == e->job || (is_new_family && lab->family[j] == lab->family[e->job]) || !chance(e->rng, part))
            continue;
        e->known[e->known_count++] = j;
        add_profile(e, j);
        for (uint32_t t = 0; t < lab->type_count; t++)
            if (chance(e->rng, alone))
                measure(e, j, t, ADL_NONE);
        set_rates(e, j);
    }
    for (uint32_t i = 0; i < e->known_count; i++)
        for (uint32_t j = 0; j < e->known_count; j++)
            for (uint32_t t = 0; t < lab->type_count; t++)
                if (chance(e->rng, beside))
                    measure(e, e->known[i], t, e->known[j]);
    add_profile(e, e->job);
}

static void predict_rates(struct episode *e)
{
    struct adl_estimator_input questions[ADL_LAB_TYPES];
    const struct adl_estimate_table *k = e->k;
    struct adl_prediction *initial = k->initial + adl_estimate_table_at(k, e->profile[e->job], 0);
    for (uint32_t t = 0; t < k->type_count; t++)
        adl_estimate_initial_rate_input(k, e->profile[e->job], t, &questions[t]);
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_INITIAL_RATE, questions, (int)k->type_count, initial);
    for (uint32_t t = 0; t < k->type_count; t++)
        k->rates[adl_estimate_table_at(k, e->profile[e->job], t)] = initial[t];
    adl_estimate_table_update_rates(e->k, e->profile[e->job]);
}

/* Rates of the new job after measurements of it alone; with P2 only if it is trained. */
static void update_rates(struct episode *e, bool refine)
{
    struct adl_estimator_input question;
    const struct adl_estimate_table *k = e->k;
    const uint32_t profile = e->profile[e->job];
    for (uint32_t t = 0; t < k->type_count; t++) {
        const struct adl_cell *cell = adl_estimate_table_cell(k, profile, t, ADL_NONE);
        struct adl_prediction *rate = &k->rates[adl_estimate_table_at(k, profile, t)];
        if (cell->count > 0)
            *rate = (struct adl_prediction){cell->log_rate, 0.05f};
        else if (adl_estimate_refine_rate_input(k, profile, t, &question)) {
            if (refine)
                adl_estimator_predict(e->estimator, ADL_ESTIMATE_REFINE_RATE, &question, 1, rate);
            else
                *rate = (struct adl_prediction){(float)question.base, 0.3f};
        }
    }
    adl_estimate_table_update_rates(e->k, profile);
}

static void ask_rates(struct episode *e)
{
    struct adl_estimator_input question;
    for (uint32_t t = 0; t < e->lab->type_count; t++) {
        adl_estimate_initial_rate_input(e->k, e->profile[e->job], t, &question);
        emit(e, &question, e->lab->rate[e->job][t], 0, e->job, ADL_NONE, t);
    }
}

/* Alone on none, one or several types. */
static void measure_some_alone(struct episode *e, double none)
{
    if (chance(e->rng, none))
        return;
    const double part = adl_rng_uniform(e->rng);
    for (uint32_t t = 0; t < e->lab->type_count; t++)
        if (chance(e->rng, part))
            measure(e, e->job, t, ADL_NONE);
}

static uint32_t another(struct episode *e)
{
    const uint32_t i = adl_rng_below(e->rng, e->known_count + 1);
    return i < e->known_count ? e->known[i] : e->job;
}

static void ask_shares(struct episode *e)
{
    struct adl_estimator_input question;
    predict_rates(e);
    measure_some_alone(e, 0.5);
    update_rates(e, false);
    for (int i = 0; i < 6; i++) {
        const uint32_t other = another(e), a = i % 2 ? other : e->job, b = i % 2 ? e->job : other;
        const uint32_t t = adl_rng_below(e->rng, e->lab->type_count);
        if (i % 2 && other == e->job)
            continue;
        adl_estimate_initial_share_input(e->k, e->profile[a], t, e->profile[b], &question);
        emit(e, &question, e->lab->share[a][b][t], 0, a, b, t);
    }
}

/* Measures a co-located pair, and records what was predicted. */
static void measure_beside(struct episode *e, uint32_t job, uint32_t type, uint32_t beside)
{
    struct adl_estimator_input question;
    struct adl_prediction belief;
    if (isnan(e->lab->share[job][beside][type]))
        return;
    adl_estimate_initial_share_input(e->k, e->profile[job], type, e->profile[beside], &question);
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_INITIAL_SHARE, &question, 1, &belief);
    adl_estimate_table_cell(e->k, e->profile[job], type, e->profile[beside])->initial = belief.mean;
    measure(e, job, type, beside);
}

static void ask_refined_rates(struct episode *e)
{
    struct adl_estimator_input question;
    const uint32_t types = e->lab->type_count, profile = e->profile[e->job];
    const uint32_t rounds = 1 + adl_rng_below(e->rng, types < 4 ? types - 1 : 3);
    predict_rates(e);
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t type = adl_rng_below(e->rng, types);
        if (e->known_count > 0 && chance(e->rng, 0.25))
            measure_beside(e, e->job, type, e->known[adl_rng_below(e->rng, e->known_count)]);
        else
            measure(e, e->job, type, ADL_NONE);
        for (uint32_t t = 0; t < types; t++)
            if (adl_estimate_table_cell(e->k, profile, t, ADL_NONE)->count == 0 &&
                adl_estimate_refine_rate_input(e->k, profile, t, &question))
                emit(e, &question, e->lab->rate[e->job][t], (int)e->k->profiles[profile].measured_alone, e->job,
                     ADL_NONE, t);
    }
}

static void ask_refined_shares(struct episode *e)
{
    struct adl_estimator_input first, question;
    struct adl_prediction belief;
    const uint32_t types = e->lab->type_count, rounds = 1 + adl_rng_below(e->rng, 8);
    predict_rates(e);
    measure_some_alone(e, 0.2);
    update_rates(e, true);
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t other = another(e);
        if (other != e->job && chance(e->rng, 0.2))
            measure_beside(e, other, adl_rng_below(e->rng, types), e->job);
        else
            measure_beside(e, e->job, adl_rng_below(e->rng, types), other);
    }
    update_rates(e, true);
    for (int i = 0; i < 6; i++) {
        const uint32_t other = another(e), t = adl_rng_below(e->rng, types);
        const bool back = i % 3 == 2 && other != e->job;
        const uint32_t a = back ? other : e->job, b = back ? e->job : other;
        if (adl_estimate_table_cell(e->k, e->profile[a], t, e->profile[b])->count > 0)
            continue;
        adl_estimate_initial_share_input(e->k, e->profile[a], t, e->profile[b], &first);
        adl_estimator_predict(e->estimator, ADL_ESTIMATE_INITIAL_SHARE, &first, 1, &belief);
        if (adl_estimate_refine_share_input(e->k, e->profile[a], t, e->profile[b], &belief, &question))
            emit(e, &question, e->lab->share[a][b][t], (int)e->k->profiles[e->profile[a]].measured_beside, a, b, t);
    }
}

int adl_episode_run(struct adl_estimate_table *table, struct adl_estimator *estimator, const struct adl_lab *lab,
                    struct adl_rng *rng, enum adl_estimator_part part, const struct adl_episode_rule *rule,
                    struct adl_examples *examples, struct adl_error *err)
{
    static void (*const parts[ADL_ESTIMATOR_PARTS])(struct episode *) = {
        [ADL_ESTIMATE_INITIAL_RATE] = ask_rates,
        [ADL_ESTIMATE_INITIAL_SHARE] = ask_shares,
        [ADL_ESTIMATE_REFINE_RATE] = ask_refined_rates,
        [ADL_ESTIMATE_REFINE_SHARE] = ask_refined_shares,
    };
    struct episode e = {.k = table, .estimator = estimator, .lab = lab, .rng = rng, .examples = examples};
    const int status = adl_estimate_table_set_types(table, lab->types, lab->type_count, err);
    if (status)
        return status;
    prepare(&e, rule);
    parts[part](&e);
    return e.failed ? adl_fail(err, ADL_ENOMEM, "out of memory for examples") : 0;
}
