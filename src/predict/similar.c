#include "predict/similar.h"

#include "base/real.h"
#include "hdc/memory.h"

#include <math.h>
#include <stdlib.h>

#define HOUR_US      3.6e9
#define SEED         UINT64_C(0x73696d696c6172)
#define NEIGHBOURS   64
#define CANDIDATES   256
#define KERNEL_BITS  300.0 /* a neighbour farther than the nearest by this has 1/e of its weight */
#define SLOPE_WEIGHT 1.0   /* weight of the slope over all jobs, against the sum of w x^2 among neighbours */
#define LOG_LIMIT    34.0  /* of the logarithm of a time in us: 18 years */

/* Weights, spans and the constants above were chosen on the first third of the Chronus trace and on seeds 101 and 102
 * of campus512 (docs/hdc.md); bench/bench_hdc.c reports on the rest. */
static const struct adl_field fields[ADL_TRAIT_COUNT] = {
    [ADL_TRAIT_NAME] = {"name", ADL_FIELD_SYMBOL, 4, 0, 0},
    [ADL_TRAIT_CLASS] = {"class", ADL_FIELD_SYMBOL, 8, 0, 0},
    [ADL_TRAIT_USER] = {"user", ADL_FIELD_SYMBOL, 2, 0, 0},
    [ADL_TRAIT_GROUP] = {"group", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_KIND] = {"kind", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_FLAGS] = {"flags", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_TYPES] = {"types", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_GANG] = {"gang", ADL_FIELD_SYMBOL, 4, 0, 0},
    [ADL_TRAIT_GPUS] = {"gpus", ADL_FIELD_NUMBER, 2, 0, 8},
    [ADL_TRAIT_CORES] = {"cores", ADL_FIELD_NUMBER, 1, 0, 8},
    [ADL_TRAIT_MEMORY_MIB] = {"memory", ADL_FIELD_NUMBER, 1, 8, 22},
    [ADL_TRAIT_GPU_MEMORY_MIB] = {"gpu memory", ADL_FIELD_NUMBER, 1, 8, 18},
    [ADL_TRAIT_PRIORITY] = {"priority", ADL_FIELD_NUMBER, 1, 0, 1},
    [ADL_TRAIT_THROUGHPUT] = {"throughput", ADL_FIELD_NUMBER, 1, -10, 20},
    [ADL_TRAIT_LIMIT_US] = {"limit", ADL_FIELD_NUMBER, 12, 16, 29}, /* 9 s to 45 days */
    [ADL_TRAIT_DAYTIME_US] = {"time of day", ADL_FIELD_MOMENT, 1, 6, 4 * HOUR_US},
    [ADL_TRAIT_SUBMIT_US] = {"submission", ADL_FIELD_MOMENT, 4, 0, 24 * HOUR_US},
};

struct past {
    double log_us;
    double log_limit;
    bool has_limit;
    uint32_t class_index;
};

/* Sums over all jobs that had a limit, for the slope of log run time on log limit. */
struct moments {
    double count, x, y, xx, xy;
};

struct adl_similar {
    struct adl_encoder *encoder;
    struct adl_memory *memory;
    struct past *past; /* [place in memory] */
    struct moments moments;
};

static struct adl_value symbol(uint64_t value)
{
    return (struct adl_value){.known = true, .symbol = value};
}

static struct adl_value number(double value)
{
    return (struct adl_value){.known = true, .number = value};
}

/* Unknown if not positive. */
static struct adl_value log2_of(double value)
{
    return value > 0 ? number(adl_log(value) * 1.4426950408889634) : (struct adl_value){0};
}

void adl_traits_read(struct adl_traits *ret, const struct adl_job_spec *spec, int64_t submit_us)
{
    *ret = (struct adl_traits){0};
    struct adl_value *values = ret->values;
    values[ADL_TRAIT_CLASS] = symbol(spec->class_index);
    if (spec->name_id)
        values[ADL_TRAIT_NAME] = symbol(spec->name_id);
    values[ADL_TRAIT_USER] = symbol(spec->user);
    values[ADL_TRAIT_KIND] = symbol(spec->kind);
    values[ADL_TRAIT_FLAGS] = symbol(spec->flags);
    values[ADL_TRAIT_TYPES] = symbol(spec->types);
    values[ADL_TRAIT_GANG] = symbol(spec->gpus);
    values[ADL_TRAIT_GPUS] = log2_of(spec->gpus);
    values[ADL_TRAIT_CORES] = log2_of(spec->cpu_cores);
    values[ADL_TRAIT_MEMORY_MIB] = log2_of(spec->memory_mib);
    values[ADL_TRAIT_GPU_MEMORY_MIB] = log2_of(spec->gpu_memory_mib);
    values[ADL_TRAIT_PRIORITY] = number((double)spec->priority);
    values[ADL_TRAIT_THROUGHPUT] = log2_of((double)spec->min_steps_per_s);
    if (spec->limit_us > 0)
        values[ADL_TRAIT_LIMIT_US] = number(adl_log((double)spec->limit_us));
    if (submit_us >= 0)
        values[ADL_TRAIT_DAYTIME_US] = values[ADL_TRAIT_SUBMIT_US] = number((double)submit_us);
}

int adl_similar_create(uint32_t capacity, struct adl_similar **ret, struct adl_error *err)
{
    struct adl_similar *similar = calloc(1, sizeof *similar);
    if (!similar)
        return adl_fail(err, ADL_ENOMEM, "out of memory for past jobs");
    int status = adl_memory_create(capacity, NULL, &similar->memory, err);
    if (status == 0)
        status = adl_encoder_create(fields, ADL_TRAIT_COUNT, SEED, NULL, &similar->encoder, err);
    if (status == 0 && !(similar->past = calloc(capacity, sizeof *similar->past)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for %u past jobs", capacity);
    if (status)
        adl_similar_destroy(similar);
    else
        *ret = similar;
    return status;
}

void adl_similar_destroy(struct adl_similar *similar)
{
    if (!similar)
        return;
    adl_encoder_destroy(similar->encoder);
    adl_memory_destroy(similar->memory);
    free(similar->past);
    free(similar);
}

void adl_similar_learn(struct adl_similar *similar, const struct adl_traits *traits, int64_t run_us,
                       uint32_t class_index)
{
    const struct adl_value *limit = &traits->values[ADL_TRAIT_LIMIT_US];
    const struct past past = {.log_us = adl_log(run_us > 1 ? (double)run_us : 1.0),
                              .log_limit = limit->number,
                              .has_limit = limit->known,
                              .class_index = class_index};
    struct adl_hypervector vector;
    adl_encoder_encode(similar->encoder, traits->values, &vector);
    similar->past[adl_memory_add(similar->memory, &vector)] = past;
    if (past.has_limit) {
        struct moments *m = &similar->moments;
        m->count += 1.0;
        m->x += past.log_limit;
        m->y += past.log_us;
        m->xx += past.log_limit * past.log_limit;
        m->xy += past.log_limit * past.log_us;
    }
}

static double overall_slope(const struct moments *m)
{
    if (m->count < 2.0)
        return 1.0;
    const double xx = m->xx - m->x * m->x / m->count, xy = m->xy - m->x * m->y / m->count;
    const double slope = (xy + 1.0) / (xx + 1.0);
    return slope < 0.0 ? 0.0 : slope > 1.0 ? 1.0 : slope;
}

struct vote {
    const struct past *past;
    double weight;
};

/* For a job with a limit: keeps the votes of jobs that have one. */
static uint32_t keep_limited(struct vote *votes, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (votes[i].past->has_limit)
            votes[kept++] = votes[i];
    return kept;
}

static void estimate(const struct vote *votes, uint32_t count, const double *log_limit, double prior_slope,
                     struct adl_similar_prediction *ret)
{
    double sum = 0, x = 0, y = 0, xx = 0, xy = 0, spread = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += votes[i].weight;
        x += votes[i].weight * votes[i].past->log_limit;
        y += votes[i].weight * votes[i].past->log_us;
    }
    x /= sum;
    y /= sum;
    for (uint32_t i = 0; i < count; i++) {
        const double dx = votes[i].past->log_limit - x;
        xx += votes[i].weight * dx * dx;
        xy += votes[i].weight * dx * (votes[i].past->log_us - y);
    }
    const double slope = log_limit ? (xy + SLOPE_WEIGHT * prior_slope) / (xx + SLOPE_WEIGHT) : 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const double off = votes[i].past->log_us - y - slope * (votes[i].past->log_limit - x);
        spread += votes[i].weight * off * off;
    }
    double log_us = y + (log_limit ? slope * (*log_limit - x) : 0.0);
    log_us = log_us > 0 ? log_us < LOG_LIMIT ? log_us : LOG_LIMIT : 0;
    ret->run_us = (int64_t)adl_exp(log_us);
    ret->run_us += ret->run_us == 0;
    ret->spread = sqrt(spread / sum);
    ret->neighbours = count;
}

/* Quadratic in the votes: there are few, and this needs no table. */
static void vote_on_class(const struct vote *votes, uint32_t count, struct adl_similar_prediction *ret)
{
    double all = 0, most = 0;
    ret->class_index = ADL_CLASS_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t class_index = votes[i].past->class_index;
        double sum = 0;
        for (uint32_t j = 0; j < count; j++)
            sum += votes[j].past->class_index == class_index ? votes[j].weight : 0.0;
        all += votes[i].weight;
        if (class_index != ADL_CLASS_UNKNOWN && sum > most) {
            most = sum;
            ret->class_index = class_index;
        }
    }
    ret->class_share = all > 0 ? most / all : 0;
}

bool adl_similar_predict(struct adl_similar *similar, const struct adl_traits *traits,
                         struct adl_similar_prediction *ret)
{
    const struct adl_value *limit = &traits->values[ADL_TRAIT_LIMIT_US];
    struct adl_neighbour near[NEIGHBOURS];
    struct vote votes[NEIGHBOURS];
    struct adl_hypervector query;
    struct adl_similar_prediction prediction = {0};
    if (adl_memory_count(similar->memory) == 0)
        return false;
    adl_encoder_encode(similar->encoder, traits->values, &query);
    const uint32_t count = adl_memory_nearest_quickly(similar->memory, &query, CANDIDATES, NEIGHBOURS, near);
    for (uint32_t i = 0; i < count; i++)
        votes[i] = (struct vote){&similar->past[near[i].place],
                                 adl_exp(((double)near[0].distance - (double)near[i].distance) / KERNEL_BITS)};
    vote_on_class(votes, count, &prediction);
    const uint32_t limited = limit->known ? keep_limited(votes, count) : 0;
    estimate(votes, limited ? limited : count, limited ? &limit->number : NULL, overall_slope(&similar->moments),
             &prediction);
    *ret = prediction;
    return true;
}
