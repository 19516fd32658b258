#include "policy/adlro/corrections.h"

#include "base/copy.h"
#include "base/fetch.h"
#include "base/real.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_MAX 64
#define GANGS       8 /* 1, 2, 3-4, 5-8 ... GPUs */
#define FEW_CLASSES 8 /* as scenarios have, numbered from 0 on */
#define SWEEPS      4

/* Completed jobs after which half of what was seen is believed. */
#define GANG_DOUBT 4
#define TYPE_DOUBT 8
#define SPAN_DOUBT 1

/* The same of each trait, for jobs on types that differ in it by a factor of e. */
#define TRAIT_DOUBT 16

/* FP64, FP16 and memory bandwidth relative to FP32, and FP32. */
#define TRAITS 4

/* Of the time of a step in one node, spent on its link. */
#define LINK_SHARE 0.2

struct cell {
    double count, sum;
};

struct adl_corrections {
    uint32_t types;
    double count, sum;                    /* over all */
    struct cell *cells;                   /* [class][type][gang][across] */
    double *type_terms;                   /* [class][type] what a class has on a type beyond its traits */
    double traits[ADL_TYPES_MAX][TRAITS]; /* logarithms, around the average of all GPUs */
    double trait_terms[CLASSES_MAX][TRAITS];
    double gang_terms[CLASSES_MAX][GANGS];
    double span_terms[CLASSES_MAX];
    double across[ADL_TYPES_MAX]; /* prior of a run across nodes */
    double beyond[ADL_TYPES_MAX]; /* ln(across / the least of it) */
    bool measured[CLASSES_MAX];
    double *factors; /* [class][type][gang][across] their exponentials, because they are read often */
};

static void read_traits(const struct adl_gpu_type *type, double ret[TRAITS])
{
    const double fp32 = fmax(type->fp32_tflops, 0.1), fp16 = type->fp16_tflops > 0 ? type->fp16_tflops : fp32;
    const double fp64 = type->fp64_tflops > 0 ? type->fp64_tflops : fp32 / 32; /* as on GPUs that are not made for it */
    ret[0] = adl_log(fp64 / fp32);
    ret[1] = adl_log(fp16 / fp32);
    ret[2] = adl_log(fmax(type->bandwidth_gbs, 1) / fp32);
    ret[3] = adl_log(fp32);
}

static void set_traits(const struct adl_cluster *cluster, double ret[ADL_TYPES_MAX][TRAITS])
{
    for (uint32_t t = 0; t < cluster->type_count; t++)
        read_traits(&cluster->types[t], ret[t]);
    for (uint32_t i = 0; i < TRAITS; i++) {
        double mean = 0;
        for (uint32_t t = 0; t < cluster->type_count; t++)
            mean += ret[t][i] * cluster->type_gpus[t] / cluster->gpu_count;
        for (uint32_t t = 0; t < cluster->type_count; t++)
            ret[t][i] -= mean;
    }
}

/* Run time across nodes relative to one node, by the slowest link of each type's nodes and the network. */
static void expect_across(const struct adl_cluster *cluster, double least, double ret[ADL_TYPES_MAX])
{
    double link_gbs[ADL_TYPES_MAX];
    for (uint32_t t = 0; t < cluster->type_count; t++)
        link_gbs[t] = HUGE_VAL;
    for (uint32_t b = 0; b < cluster->bank_count; b++)
        link_gbs[cluster->banks[b].type] =
            fmin(link_gbs[cluster->banks[b].type], cluster->nodes[cluster->banks[b].node].link_gbs);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const bool known = cluster->network_gbs > 0 && cluster->type_gpus[t] > 0;
        const double across = known ? 1 + LINK_SHARE * (link_gbs[t] / cluster->network_gbs - 1) : 0;
        ret[t] = fmax(across, least);
    }
}

int adl_corrections_create(const struct adl_cluster *cluster, double across_least, struct adl_corrections **ret)
{
    assert(cluster->type_count > 0);
    struct adl_corrections *corrections = calloc(1, sizeof *corrections);
    if (!corrections)
        return ADL_ENOMEM;
    corrections->types = cluster->type_count;
    set_traits(cluster, corrections->traits);
    expect_across(cluster, across_least, corrections->across);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        corrections->beyond[t] = adl_log(corrections->across[t] / across_least);
    corrections->cells = calloc((size_t)CLASSES_MAX * cluster->type_count * GANGS * 2, sizeof *corrections->cells);
    corrections->type_terms = calloc((size_t)CLASSES_MAX * cluster->type_count, sizeof *corrections->type_terms);
    corrections->factors = calloc((size_t)CLASSES_MAX * cluster->type_count * GANGS * 2, sizeof *corrections->factors);
    if (!corrections->cells || !corrections->type_terms || !corrections->factors) {
        adl_corrections_destroy(corrections);
        return ADL_ENOMEM;
    }
    adl_corrections_reset(corrections);
    *ret = corrections;
    return 0;
}

void adl_corrections_destroy(struct adl_corrections *corrections)
{
    if (!corrections)
        return;
    free(corrections->cells);
    free(corrections->type_terms);
    free(corrections->factors);
    free(corrections);
}

void adl_corrections_copy(struct adl_corrections *to, const struct adl_corrections *from)
{
    const struct adl_corrections own = *to;
    *to = *from;
    memcpy(to->across, own.across, sizeof to->across);
    memcpy(to->beyond, own.beyond, sizeof to->beyond);
    ADL_COPY_ARRAY(to, own, from, cells, (size_t)CLASSES_MAX * from->types * GANGS * 2);
    ADL_COPY_ARRAY(to, own, from, type_terms, (size_t)CLASSES_MAX * from->types);
    ADL_COPY_ARRAY(to, own, from, factors, (size_t)CLASSES_MAX * from->types * GANGS * 2);
}

double adl_corrections_across(const struct adl_corrections *corrections, uint32_t type)
{
    return corrections->across[type];
}

double adl_corrections_beyond(const struct adl_corrections *corrections, uint32_t type)
{
    return corrections->beyond[type];
}

void adl_corrections_reset(struct adl_corrections *corrections)
{
    const size_t types = corrections->types;
    memset(corrections->cells, 0, CLASSES_MAX * types * GANGS * 2 * sizeof *corrections->cells);
    memset(corrections->type_terms, 0, CLASSES_MAX * types * sizeof *corrections->type_terms);
    memset(corrections->trait_terms, 0, sizeof corrections->trait_terms);
    memset(corrections->gang_terms, 0, sizeof corrections->gang_terms);
    memset(corrections->span_terms, 0, sizeof corrections->span_terms);
    corrections->count = corrections->sum = 0;
    for (size_t i = 0; i < CLASSES_MAX * types * GANGS * 2; i++)
        corrections->factors[i] = 1;
}

static uint32_t gang_of(uint32_t gpus)
{
    const uint32_t gang = gpus > 1 ? 32 - (uint32_t)__builtin_clz(gpus - 1) : 0;
    return gang < GANGS ? gang : GANGS - 1;
}

static size_t index_of(const struct adl_corrections *corrections, uint32_t class, uint32_t type, uint32_t gang,
                       uint32_t across)
{
    return (((size_t) class * corrections->types + type) * GANGS + gang) * 2 + across;
}

static struct cell *cell_at(const struct adl_corrections *corrections, uint32_t class, uint32_t type, uint32_t gang,
                            uint32_t across)
{
    return &corrections->cells[index_of(corrections, class, type, gang, across)];
}

/* What the traits of a type say of a class. */
static double by_traits(const struct adl_corrections *corrections, uint32_t class, uint32_t type)
{
    double sum = 0;
    for (uint32_t i = 0; i < TRAITS; i++)
        sum += corrections->trait_terms[class][i] * corrections->traits[type][i];
    return sum;
}

static double type_term(const struct adl_corrections *corrections, uint32_t class, uint32_t type)
{
    return corrections->type_terms[(size_t) class * corrections->types + type] + by_traits(corrections, class, type);
}

/* Jobs of a class on a type, and the sum of what gangs and runs across nodes leave. */
static struct cell left_on_type(const struct adl_corrections *corrections, uint32_t class, uint32_t type, double mean)
{
    struct cell left = {0, 0};
    for (uint32_t g = 0; g < GANGS; g++)
        for (uint32_t x = 0; x < 2; x++) {
            const struct cell *cell = cell_at(corrections, class, type, g, x);
            left.count += cell->count;
            left.sum += cell->sum -
                        cell->count * (mean + corrections->gang_terms[class][g] + x * corrections->span_terms[class]);
        }
    return left;
}

/* left: [type]. What a type has beyond its traits, then each trait by all types, so that what is seen on one type says
 * something of others that are like it. */
static void sweep_types(struct adl_corrections *corrections, uint32_t class, const struct cell *left)
{
    double *own = &corrections->type_terms[(size_t) class * corrections->types];
    for (uint32_t t = 0; t < corrections->types; t++)
        own[t] = (left[t].sum - left[t].count * by_traits(corrections, class, t)) / (left[t].count + TYPE_DOUBT);
    for (uint32_t i = 0; i < TRAITS; i++) {
        double square = 0, product = 0;
        const double term = corrections->trait_terms[class][i];
        for (uint32_t t = 0; t < corrections->types; t++) {
            const double trait = corrections->traits[t][i], others = type_term(corrections, class, t) - term * trait;
            square += left[t].count * trait * trait;
            product += trait * (left[t].sum - left[t].count * others);
        }
        corrections->trait_terms[class][i] = product / (square + TRAIT_DOUBT);
    }
}

/* One pass of backfitting: each term in turn from what the others leave. */
static void sweep(struct adl_corrections *corrections, uint32_t class)
{
    double *gangs = corrections->gang_terms[class];
    double gang_count[GANGS] = {0}, gang_sum[GANGS] = {0}, span_count = 0, span_sum = 0;
    struct cell left[ADL_TYPES_MAX];
    const double mean = corrections->sum / corrections->count;
    for (uint32_t t = 0; t < corrections->types; t++) {
        const double here = mean + type_term(corrections, class, t);
        for (uint32_t g = 0; g < GANGS; g++)
            for (uint32_t x = 0; x < 2; x++) {
                const struct cell *cell = cell_at(corrections, class, t, g, x);
                gang_count[g] += cell->count;
                gang_sum[g] += cell->sum - cell->count * (here + x * corrections->span_terms[class]);
            }
    }
    for (uint32_t g = 0; g < GANGS; g++)
        gangs[g] = gang_sum[g] / (gang_count[g] + GANG_DOUBT);
    for (uint32_t t = 0; t < corrections->types; t++)
        left[t] = left_on_type(corrections, class, t, mean);
    sweep_types(corrections, class, left);
    for (uint32_t t = 0; t < corrections->types; t++)
        for (uint32_t g = 0; g < GANGS; g++) {
            const struct cell *cell = cell_at(corrections, class, t, g, 1);
            span_count += cell->count;
            span_sum += cell->sum - cell->count * (mean + type_term(corrections, class, t) + gangs[g]);
        }
    corrections->span_terms[class] = span_sum / (span_count + SPAN_DOUBT);
}

static void set_factors(struct adl_corrections *corrections, uint32_t class)
{
    for (uint32_t t = 0; t < corrections->types; t++) {
        const double type = type_term(corrections, class, t);
        for (uint32_t g = 0; g < GANGS; g++)
            for (uint32_t x = 0; x < 2; x++) {
                const double here = corrections->gang_terms[class][g] + type;
                corrections->factors[index_of(corrections, class, t, g, x)] =
                    adl_exp((corrections->measured[class] ? 0 : here) + (x ? corrections->span_terms[class] : 0));
            }
    }
}

void adl_corrections_learn(struct adl_corrections *corrections, const struct adl_job_spec *spec, uint32_t type,
                           bool across, double log_ratio)
{
    const uint32_t class = spec->class_index % CLASSES_MAX;
    struct cell *cell = cell_at(corrections, class, type, gang_of(spec->gpus), across);
    cell->count++;
    cell->sum += log_ratio;
    corrections->count++;
    corrections->sum += log_ratio;
    for (int i = 0; i < SWEEPS; i++)
        sweep(corrections, class);
    set_factors(corrections, class);
}

void adl_corrections_measured(struct adl_corrections *corrections, const struct adl_job_spec *spec)
{
    const uint32_t class = spec->class_index % CLASSES_MAX;
    if (corrections->measured[class])
        return;
    corrections->measured[class] = true;
    set_factors(corrections, class);
}

static_assert(ADL_CORRECTIONS_STRIDE == 2 * GANGS, "from one type to the next");

const double *adl_corrections_factors(const struct adl_corrections *corrections, const struct adl_job_spec *spec)
{
    return &corrections->factors[index_of(corrections, spec->class_index % CLASSES_MAX, 0, gang_of(spec->gpus), false)];
}

double adl_corrections_factor(const struct adl_corrections *corrections, const struct adl_job_spec *spec, uint32_t type,
                              bool across)
{
    return corrections
        ->factors[index_of(corrections, spec->class_index % CLASSES_MAX, type, gang_of(spec->gpus), across)];
}

void adl_corrections_fetch(const struct adl_corrections *corrections)
{
    adl_fetch(corrections->factors, index_of(corrections, FEW_CLASSES, 0, 0, 0) * sizeof *corrections->factors);
}
