#include "predict/estimates.h"

#include "base/real.h"
#include "predict/estimate_initial.h"
#include "predict/estimate_refine.h"
#include "predict/estimator.h"
#include "predict/shipped_estimator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOVED     0.02  /* a measurement that changes its cell by less than this does not refine the others */
#define RELIABLE  0.01  /* least standard deviation of a measured log speed */
#define NORMAL_90 1.645 /* half the 90 % interval of a normal distribution */
#define EFFECTIVE 12.0  /* effective sample size of an exponentially weighted mean, at most */
#define LOG_RATE  40.0  /* logarithms of rates are clipped to this */

/* Cache of predicted shares: computed on demand, valid until measurements of one of the two profiles, or many
 * measurements of others, have been added. */
struct memo {
    uint64_t *rate_stamp;          /* [capacity] */
    uint64_t *share_stamp;         /* [capacity][capacity] */
    struct adl_prediction *shares; /* [capacity][capacity][type_count] */
    uint8_t *refined;              /* [capacity][capacity] true: by P2 */
};

struct adl_estimates {
    struct adl_estimate_table *table;
    struct adl_estimator *estimator;
    struct memo memo;
    uint64_t *versions;                 /* [capacity] increases with its measurements */
    uint64_t cells, pairs;              /* measured so far */
    struct adl_estimator_input *inputs; /* [type_count] */
    struct adl_prediction *predictions;
};

int adl_estimates_create(const struct adl_cluster *cluster, uint32_t profiles, const void *model, size_t model_size,
                         struct adl_estimates **ret, struct adl_error *err)
{
    struct adl_estimates *e = calloc(1, sizeof *e);
    if (!e)
        return adl_fail(err, ADL_ENOMEM, "out of memory for estimates");
    const size_t types = cluster->type_count, rows = profiles;
    int status = adl_estimate_table_create(profiles, &e->table, err);
    if (!status)
        status = adl_estimate_table_set_types(e->table, cluster->types, cluster->type_count, err);
    if (!status)
        status = model ? adl_estimator_decode(model, model_size, &e->estimator, err)
                       : adl_estimator_decode(adl_shipped_estimator, adl_shipped_estimator_size, &e->estimator, err);
    if (!status) {
        e->memo.rate_stamp = calloc(rows, sizeof *e->memo.rate_stamp);
        e->memo.share_stamp = calloc(rows * rows, sizeof *e->memo.share_stamp);
        e->memo.shares = calloc(rows * rows * types + 1, sizeof *e->memo.shares);
        e->memo.refined = calloc(rows * rows, sizeof *e->memo.refined);
        e->versions = calloc(rows, sizeof *e->versions);
        e->inputs = calloc(types + 1, sizeof *e->inputs);
        e->predictions = calloc(types + 1, sizeof *e->predictions);
        if (!e->memo.rate_stamp || !e->memo.share_stamp || !e->memo.shares || !e->memo.refined || !e->versions ||
            !e->inputs || !e->predictions)
            status = adl_fail(err, ADL_ENOMEM, "out of memory for estimates of %u profiles", profiles);
    }
    if (status)
        adl_estimates_destroy(e);
    else
        *ret = e;
    return status;
}

void adl_estimates_destroy(struct adl_estimates *estimates)
{
    if (!estimates)
        return;
    adl_estimate_table_destroy(estimates->table);
    adl_estimator_destroy(estimates->estimator);
    free(estimates->memo.rate_stamp);
    free(estimates->memo.share_stamp);
    free(estimates->memo.shares);
    free(estimates->memo.refined);
    free(estimates->versions);
    free(estimates->inputs);
    free(estimates->predictions);
    free(estimates);
}

void adl_estimates_copy(struct adl_estimates *to, const struct adl_estimates *from)
{
    const size_t rows = from->table->capacity, types = from->table->type_count;
    adl_estimate_table_copy(to->table, from->table);
    memcpy(to->memo.rate_stamp, from->memo.rate_stamp, rows * sizeof *to->memo.rate_stamp);
    memcpy(to->memo.share_stamp, from->memo.share_stamp, rows * rows * sizeof *to->memo.share_stamp);
    memcpy(to->memo.shares, from->memo.shares, rows * rows * types * sizeof *to->memo.shares);
    memcpy(to->memo.refined, from->memo.refined, rows * rows * sizeof *to->memo.refined);
    memcpy(to->versions, from->versions, rows * sizeof *to->versions);
    to->cells = from->cells;
    to->pairs = from->pairs;
}

/* ---- rates alone ---- */

/* The standard deviation of a measured mean log rate. */
static double measured_deviation(const struct adl_cell *cell)
{
    const double n = cell->count < EFFECTIVE ? (double)cell->count : EFFECTIVE;
    return sqrt((double)cell->variance / n + RELIABLE * RELIABLE);
}

static bool is_measured(const struct adl_estimate_table *k, uint32_t profile)
{
    return k->profiles[profile].measured_alone + k->profiles[profile].measured_beside > 0;
}

static void predict_rates(const struct adl_estimates *e, uint32_t profile)
{
    const struct adl_estimate_table *k = e->table;
    const size_t row = adl_estimate_table_at(k, profile, 0);
    for (uint32_t t = 0; t < k->type_count; t++)
        adl_estimate_initial_rate_input(k, profile, t, &e->inputs[t]);
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_INITIAL_RATE, e->inputs, (int)k->type_count, k->initial + row);
    for (uint32_t t = 0; t < k->type_count; t++)
        k->rates[row + t] = k->initial[row + t];
    adl_estimate_table_update_rates(e->table, profile);
}

static void refine_rates(const struct adl_estimates *e, uint32_t profile)
{
    const struct adl_estimate_table *k = e->table;
    struct adl_prediction *rates = k->rates + adl_estimate_table_at(k, profile, 0);
    for (uint32_t t = 0; t < k->type_count; t++)
        if (!adl_estimate_refine_rate_input(k, profile, t, &e->inputs[t]))
            return;
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_REFINE_RATE, e->inputs, (int)k->type_count, e->predictions);
    for (uint32_t t = 0; t < k->type_count; t++) {
        const struct adl_cell *cell = adl_estimate_table_cell(k, profile, t, ADL_NONE);
        rates[t] = cell->count == 0 ? e->predictions[t]
                                    : (struct adl_prediction){cell->log_rate, (float)measured_deviation(cell)};
    }
}

/* Initial estimates of an unmeasured profile are recomputed from new measurements of others each time an event uses the
 * profile; queries change nothing. */
static void refresh_rates(const struct adl_estimates *e, uint32_t profile)
{
    if (is_measured(e->table, profile) || e->memo.rate_stamp[profile] == e->cells + 1)
        return;
    predict_rates(e, profile);
    e->memo.rate_stamp[profile] = e->cells + 1;
}

/* ---- shares ---- */

static void predict_shares(const struct adl_estimates *e, uint32_t profile, uint32_t neighbour,
                           struct adl_prediction *ret)
{
    const struct adl_estimate_table *k = e->table;
    for (uint32_t t = 0; t < k->type_count; t++)
        adl_estimate_initial_share_input(k, profile, t, neighbour, &e->inputs[t]);
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_INITIAL_SHARE, e->inputs, (int)k->type_count, ret);
}

/* All shares are predicted again each time the number of measured pairs has doubled: often at first, when each pair is
 * informative, and seldom later, when it would cost more than it gains. */
static uint64_t doublings(uint64_t pairs)
{
    uint64_t count = 0;
    for (uint64_t left = pairs / 4; left > 0; left /= 2)
        count++;
    return count;
}

static void refresh_shares(const struct adl_estimates *e, uint32_t profile, uint32_t neighbour)
{
    const struct adl_estimate_table *k = e->table;
    const size_t pair = (size_t)profile * k->capacity + neighbour;
    const uint64_t stamp = 1 + e->versions[profile] + e->versions[neighbour] + doublings(e->pairs);
    struct adl_prediction *shares = e->memo.shares + pair * k->type_count;
    if (e->memo.share_stamp[pair] == stamp)
        return;
    e->memo.share_stamp[pair] = stamp;
    predict_shares(e, profile, neighbour, shares);
    e->memo.refined[pair] = 0;
    for (uint32_t t = 0; t < k->type_count; t++)
        if (!adl_estimate_refine_share_input(k, profile, t, neighbour, &shares[t], &e->inputs[t]))
            return;
    adl_estimator_predict(e->estimator, ADL_ESTIMATE_REFINE_SHARE, e->inputs, (int)k->type_count, shares);
    e->memo.refined[pair] = 1;
}

/* ---- interface ---- */

uint32_t adl_estimates_profile(struct adl_estimates *estimates, const struct adl_job_spec *spec, bool spans)
{
    bool is_new = false;
    const uint32_t profile = adl_estimate_table_profile(estimates->table, spec, spans, &is_new);
    if (is_new) {
        estimates->versions[profile]++;
        estimates->memo.rate_stamp[profile] = 0;
    }
    refresh_rates(estimates, profile);
    return profile;
}

static bool is_valid(const struct adl_estimate_table *k, uint32_t profile)
{
    return profile < k->capacity && k->profiles[profile].key != 0;
}

uint64_t adl_estimates_key(const struct adl_estimates *estimates, uint32_t profile)
{
    return profile < estimates->table->capacity ? estimates->table->profiles[profile].key : 0;
}

void adl_estimates_measure(struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                           double steps_per_s)
{
    struct adl_estimate_table *k = estimates->table;
    if (!is_valid(k, profile) || type >= k->type_count || !(neighbour == ADL_NONE || is_valid(k, neighbour)) ||
        !(steps_per_s > 0) || !isfinite(steps_per_s))
        return;
    struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, neighbour);
    const double log_rate = adl_log(steps_per_s);
    refresh_rates(estimates, profile);
    if (neighbour != ADL_NONE && cell->count == 0) {
        refresh_rates(estimates, neighbour);
        predict_shares(estimates, profile, neighbour, estimates->predictions);
        cell->initial = estimates->predictions[type].mean;
    }
    const float before = cell->log_rate;
    const bool is_new = adl_estimate_table_measure(k, profile, type, neighbour, log_rate);
    if (is_new) {
        estimates->cells++;
        estimates->pairs += neighbour != ADL_NONE;
    }
    if (is_new || fabs((double)cell->log_rate - (double)before) > MOVED) {
        refine_rates(estimates, profile);
        adl_estimate_table_update_rates(k, profile);
        estimates->versions[profile]++;
    } else if (neighbour == ADL_NONE) {
        k->rates[adl_estimate_table_at(k, profile, type)] =
            (struct adl_prediction){cell->log_rate, (float)measured_deviation(cell)};
    }
}

static void fill(double mean, double half, uint32_t measurements, int source, struct adl_estimate *ret)
{
    mean = mean > LOG_RATE ? LOG_RATE : mean < -LOG_RATE ? -LOG_RATE : mean;
    *ret = (struct adl_estimate){.steps_per_s = adl_exp(mean),
                                 .low = adl_exp(mean - half),
                                 .high = adl_exp(mean + half),
                                 .measurements = measurements,
                                 .source = (uint8_t)source};
}

/* Half the interval of the rate alone. */
static double rate_half(const struct adl_estimates *e, uint32_t profile, uint32_t type)
{
    const struct adl_estimate_table *k = e->table;
    const struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, ADL_NONE);
    const double spread = (double)k->rates[adl_estimate_table_at(k, profile, type)].spread;
    if (cell->count > 0)
        return NORMAL_90 * measured_deviation(cell);
    return is_measured(k, profile) ? adl_estimator_half(e->estimator, ADL_ESTIMATE_REFINE_RATE,
                                                        (int)k->profiles[profile].measured_alone, spread)
                                   : adl_estimator_half(e->estimator, ADL_ESTIMATE_INITIAL_RATE, 0, spread);
}

static bool fits(const struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour)
{
    const int64_t with = neighbour == ADL_NONE ? 0 : k->profiles[neighbour].gpu_memory_mib;
    return k->types[type].memory_mib <= 0 || k->profiles[profile].gpu_memory_mib + with <= k->types[type].memory_mib;
}

void adl_estimates_find(const struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                        struct adl_estimate *ret)
{
    const struct adl_estimates *e = estimates;
    const struct adl_estimate_table *k = e->table;
    *ret = (struct adl_estimate){.source = ADL_ESTIMATE_INITIAL};
    if (!is_valid(k, profile) || type >= k->type_count || !(neighbour == ADL_NONE || is_valid(k, neighbour)))
        return;
    const struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, neighbour);
    if (cell->count > 0) {
        fill((double)cell->log_rate, NORMAL_90 * measured_deviation(cell), cell->count, ADL_ESTIMATE_MEASURED, ret);
        return;
    }
    if (!fits(k, profile, type, neighbour))
        return;
    const struct adl_prediction *rate = &k->rates[adl_estimate_table_at(k, profile, type)];
    const double half = rate_half(e, profile, type);
    const int source = is_measured(k, profile) ? ADL_ESTIMATE_REFINED : ADL_ESTIMATE_INITIAL;
    if (neighbour == ADL_NONE) {
        fill((double)rate->mean, half, 0, source, ret);
        return;
    }
    refresh_shares(e, profile, neighbour);
    const size_t pair = (size_t)profile * k->capacity + neighbour;
    const struct adl_prediction *share = &e->memo.shares[pair * k->type_count + type];
    const int facts = (int)k->profiles[profile].measured_beside;
    const double wide =
        adl_estimator_half(e->estimator, e->memo.refined[pair] ? ADL_ESTIMATE_REFINE_SHARE : ADL_ESTIMATE_INITIAL_SHARE,
                           facts, (double)share->spread);
    /* No job runs faster beside another. */
    const double mean = share->mean < 0 ? (double)share->mean : 0.0;
    fill((double)rate->mean + mean, sqrt(half * half + wide * wide), 0,
         e->memo.refined[pair] && source == ADL_ESTIMATE_INITIAL ? ADL_ESTIMATE_REFINED : source, ret);
}

/* ---- bytes ---- */

#define STAMP_MOST (UINT64_C(1) << 62)

static bool is_memo(const struct adl_estimates *e, uint32_t profile, uint32_t neighbour)
{
    return is_valid(e->table, profile) && is_valid(e->table, neighbour) &&
           e->memo.share_stamp[(size_t)profile * e->table->capacity + neighbour] != 0;
}

static void encode_memo(const struct adl_estimates *e, uint32_t profile, uint32_t neighbour, struct adl_text *ret)
{
    const struct adl_estimate_table *k = e->table;
    const size_t pair = (size_t)profile * k->capacity + neighbour;
    adl_bytes_put_u32(ret, profile);
    adl_bytes_put_u32(ret, neighbour);
    adl_bytes_put_u64(ret, e->memo.share_stamp[pair]);
    adl_text_char(ret, (char)e->memo.refined[pair]);
    for (uint32_t t = 0; t < k->type_count; t++)
        adl_bytes_put_floats(ret,
                             (const float[]){e->memo.shares[pair * k->type_count + t].mean,
                                             e->memo.shares[pair * k->type_count + t].spread},
                             2);
}

void adl_estimates_encode(const struct adl_estimates *estimates, struct adl_text *ret)
{
    const struct adl_estimates *e = estimates;
    const uint32_t capacity = e->table->capacity;
    uint32_t memos = 0;
    adl_estimate_table_encode(e->table, ret);
    adl_bytes_put_u64(ret, e->cells);
    adl_bytes_put_u64(ret, e->pairs);
    for (uint32_t p = 0; p < capacity; p++) {
        if (is_valid(e->table, p)) {
            adl_bytes_put_u64(ret, e->versions[p]);
            adl_bytes_put_u64(ret, e->memo.rate_stamp[p]);
        }
        for (uint32_t n = 0; n < capacity; n++)
            memos += is_memo(e, p, n);
    }
    adl_bytes_put_u32(ret, memos);
    for (uint32_t p = 0; p < capacity && memos > 0; p++)
        for (uint32_t n = 0; n < capacity; n++)
            if (is_memo(e, p, n))
                encode_memo(e, p, n, ret);
}

static uint64_t read_stamp(struct adl_unpack *from)
{
    const uint64_t stamp = adl_unpack_u64(from);
    from->failed |= stamp > STAMP_MOST;
    return from->failed ? 0 : stamp;
}

static void decode_memo(struct adl_estimates *e, struct adl_unpack *from)
{
    const struct adl_estimate_table *k = e->table;
    const uint32_t profile = adl_unpack_u32(from, k->capacity - 1), neighbour = adl_unpack_u32(from, k->capacity - 1);
    const size_t pair = (size_t)profile * k->capacity + neighbour;
    const uint64_t stamp = read_stamp(from);
    const uint8_t refined = adl_unpack_u8(from);
    from->failed |=
        stamp == 0 || refined > 1 || !is_valid(k, profile) || !is_valid(k, neighbour) || e->memo.share_stamp[pair] != 0;
    for (uint32_t t = 0; t < k->type_count && !from->failed; t++) {
        e->memo.shares[pair * k->type_count + t].mean = adl_unpack_float(from, 1e3f);
        e->memo.shares[pair * k->type_count + t].spread = adl_unpack_float(from, 1e3f);
    }
    if (from->failed)
        return;
    e->memo.share_stamp[pair] = stamp;
    e->memo.refined[pair] = refined;
}

/* In place of the memo: what was estimated of other types or classes is estimated again, from what was measured. */
static void estimate_again(struct adl_estimates *e)
{
    struct adl_estimate_table *k = e->table;
    for (uint32_t p = 0; p < k->capacity; p++)
        if (is_valid(k, p))
            predict_rates(e, p);
    for (uint32_t p = 0; p < k->capacity; p++)
        if (is_valid(k, p) && is_measured(k, p)) {
            refine_rates(e, p);
            adl_estimate_table_update_rates(k, p);
        }
}

/* What follows the table, in bytes of numbers that mean the same here. */
static int decode_state(struct adl_estimates *e, struct adl_unpack *from, struct adl_error *err)
{
    e->cells = read_stamp(from);
    e->pairs = read_stamp(from);
    for (uint32_t p = 0; p < e->table->capacity; p++)
        if (is_valid(e->table, p)) {
            e->versions[p] = read_stamp(from);
            e->memo.rate_stamp[p] = read_stamp(from);
        }
    const uint32_t memos = adl_unpack_u32(from, UINT32_MAX);
    for (uint32_t i = 0; i < memos && !from->failed; i++)
        decode_memo(e, from);
    return from->failed ? adl_fail(err, ADL_EINVAL, "its estimated shares are damaged") : 0;
}

/* Of other numbers: they are as many as the table says, and are passed over. */
static int skip_state(struct adl_estimates *e, struct adl_unpack *from, const struct adl_translation *to,
                      uint32_t profiles, struct adl_error *err)
{
    e->cells = read_stamp(from);
    e->pairs = read_stamp(from);
    adl_unpack_bytes(from, (size_t)profiles * 16);
    const uint32_t memos = adl_unpack_u32(from, UINT32_MAX);
    adl_unpack_bytes(from, (size_t)memos * (17 + 8 * (size_t)to->type_count));
    if (from->failed)
        return adl_fail(err, ADL_EINVAL, "its estimated shares are damaged");
    estimate_again(e);
    return 0;
}

int adl_estimates_decode(struct adl_estimates *estimates, struct adl_unpack *from, const struct adl_translation *to,
                         struct adl_estimate_account *ret, struct adl_error *err)
{
    const int status = adl_estimate_table_decode(estimates->table, from, to, ret, err);
    if (status)
        return status;
    return to->same ? decode_state(estimates, from, err)
                    : skip_state(estimates, from, to, ret->profiles + ret->forgotten, err);
}
