/* estimate_table: data about profiles of jobs on types of GPUs: their specifications, their similarity, measurements,
 * and estimates of their speeds alone. It is the input of the networks (estimate_initial.h, estimate_refine.h);
 * estimates.c owns one, and training creates many.
 *
 * Rates are natural logarithms of steps/s of the whole job; a share is the logarithm of a rate beside another job
 * relative to the rate alone. */
#ifndef ADLRO_PREDICT_ESTIMATE_TABLE_H
#define ADLRO_PREDICT_ESTIMATE_TABLE_H

#include "base/error.h"
#include "base/index.h"
#include "hdc/encoder.h"
#include "model/cluster.h"
#include "model/job.h"

#include <stdbool.h>

#define ADL_PROFILES_MAX       512
#define ADL_PROFILE_NEIGHBOURS 8

/* A submission's specification, as logarithms. */
struct adl_profile {
    uint64_t key;       /* 0 = unused */
    uint64_t last_used; /* clock of its last use; the least recently used is evicted */
    uint32_t family;    /* class or name, without the number of GPUs */
    uint32_t name_id;
    uint16_t class_index, gpus;
    uint8_t kind;
    bool spans;
    bool knows_gflop, knows_gb, knows_least;
    int32_t gpu_memory_mib;
    double log_gpus, log_memory, log_cores;
    double log_gflop, log_gb;                 /* of a step on one GPU */
    double log_least;                         /* required steps/s */
    uint32_t measured_alone, measured_beside; /* its measured cells */
    uint32_t near_count;
    uint32_t near[ADL_PROFILE_NEIGHBOURS]; /* the most similar profiles, nearest first */
};

/* Specifications as logarithms: TFLOP/s, GB/s, MiB. */
struct adl_type_traits {
    double log_fp32, log_matrix, log_fp64; /* matrix: throughput of training on matrix units, as TFLOP/s of FP32 */
    double log_bandwidth, log_memory;
    double log_fp16_gain; /* FP16 relative to FP32 */
    int32_t memory_mib;
    bool nvidia;
};

/* Measurements of a profile on a type, alone or beside another. */
struct adl_cell {
    float log_rate; /* exponentially weighted mean */
    float variance; /* of single measurements */
    float share;    /* beside: log_rate minus the rate alone, measured or estimated */
    float initial;  /* beside: the share that was predicted before it was measured */
    uint32_t count;
};

struct adl_prediction {
    float mean, spread; /* of the logarithm; spread is the scale of a Laplace distribution */
};

/* How a profile uses a GPU, from its speed and specification: features for co-location. */
#define ADL_DUTY_FEATURES 11
enum { ADL_DUTY_COMPUTE = 1, ADL_DUTY_SLOPE = 4, ADL_DUTY_STEP = 9 };
struct adl_duty {
    float features[ADL_DUTY_FEATURES];
};

#define ADL_EFFECT_TERMS 3

/* The normal equations of a type's shares, for each side; computed on demand. */
struct adl_effects {
    bool fresh;
    struct {
        double square[ADL_EFFECT_TERMS][ADL_EFFECT_TERMS], moment[ADL_EFFECT_TERMS], weight;
    } sides[2];
};

struct adl_sum {
    double sum, count;
};

/* Parts of a step's time by specification alone, 0..1, and the logarithm of the resulting rate. */
struct adl_nominal {
    double compute, memory, host;
    double log_rate;
};
struct adl_estimate_table {
    uint32_t type_count, capacity;
    uint64_t clock; /* counts uses of profiles */
    struct adl_type_traits types[ADL_TYPES_MAX];
    struct adl_encoder *encoder;
    const struct adl_hyper_ops *ops;
    struct adl_profile *profiles;    /* [capacity] */
    struct adl_hypervector *vectors; /* [capacity] */
    float *likeness;                 /* [capacity][capacity] 0 = unrelated .. 1 = equal */
    struct adl_cell *cells;          /* [capacity][capacity + 1][type_count]; neighbour capacity = alone */
    struct adl_prediction *initial;  /* [capacity][type_count] rate alone, before any measurement of the profile */
    struct adl_prediction *rates;    /* [capacity][type_count] current estimate of the rate alone */
    struct adl_sum *as_victim;       /* [capacity][type_count] of its shares beside others */
    struct adl_sum *as_neighbour;    /* [capacity][type_count] of others' shares beside it */
    struct adl_sum all_shares[ADL_TYPES_MAX];
    struct adl_duty *duties;      /* [capacity][type_count] */
    struct adl_effects *effects;  /* [type_count] */
    struct adl_nominal *nominals; /* [capacity][type_count] */
};

int adl_estimate_table_create(uint32_t capacity, struct adl_estimate_table **ret, struct adl_error *err);
void adl_estimate_table_destroy(struct adl_estimate_table *table); /* accepts NULL */
void adl_estimate_table_copy(struct adl_estimate_table *to,
                             const struct adl_estimate_table *from); /* of the same size */
/* Sets the types; forgets all profiles. */
int adl_estimate_table_set_types(struct adl_estimate_table *table, const struct adl_gpu_type *types, uint32_t count,
                                 struct adl_error *err);
void adl_estimate_table_clear(struct adl_estimate_table *table); /* forgets all profiles; keeps the types */

/* The profile of such a job, created if it is new: then *ret_new, and it has no estimates yet. */
uint32_t adl_estimate_table_profile(struct adl_estimate_table *table, const struct adl_job_spec *spec, bool spans,
                                    bool *ret_new);

/* The same at an index that is unused, as it was read from bytes, with its key and what follows from it. False: there
 * is such a profile already. */
bool adl_estimate_table_restore(struct adl_estimate_table *table, uint32_t index, const struct adl_profile *profile);

/* Adds a measurement; true if the cell had none before. neighbour ADL_NONE = alone. */
bool adl_estimate_table_measure(struct adl_estimate_table *table, uint32_t profile, uint32_t type, uint32_t neighbour,
                                double log_rate);

/* Rates alone of a profile changed: recomputes its shares and duties. */
void adl_estimate_table_update_rates(struct adl_estimate_table *table, uint32_t profile);

static inline struct adl_cell *adl_estimate_table_cell(const struct adl_estimate_table *table, uint32_t profile,
                                                       uint32_t type, uint32_t neighbour)
{
    const size_t beside = neighbour == ADL_NONE ? table->capacity : neighbour;
    return &table->cells[((size_t)profile * (table->capacity + 1) + beside) * table->type_count + type];
}

static inline size_t adl_estimate_table_at(const struct adl_estimate_table *table, uint32_t profile, uint32_t type)
{
    return (size_t)profile * table->type_count + type;
}

static inline double adl_estimate_table_likeness(const struct adl_estimate_table *table, uint32_t a, uint32_t b)
{
    return a == b ? 1.0 : (double)table->likeness[(size_t)a * table->capacity + b];
}

static inline const struct adl_nominal *adl_estimate_table_nominal(const struct adl_estimate_table *table,
                                                                   uint32_t profile, uint32_t type)
{
    return &table->nominals[adl_estimate_table_at(table, profile, type)];
}

static inline const float *adl_estimate_table_duty(const struct adl_estimate_table *table, uint32_t profile,
                                                   uint32_t type)
{
    return table->duties[adl_estimate_table_at(table, profile, type)].features;
}

/* A job's effect on shares, relative to the mean of the type, as a linear function of its duty: slopes fitted to all
 * profiles but one, with most weight on this type. side 0: on its own share, 1: on its neighbours' shares. */
void adl_estimate_table_fit_effect(const struct adl_estimate_table *table, int side, uint32_t type, uint32_t left_out,
                                   double ret_slopes[ADL_EFFECT_TERMS], double *ret_weight);
void adl_estimate_table_effect_terms(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     double ret[ADL_EFFECT_TERMS]);

/* The input of a network. */
#define ADL_INPUT_FACTS_MAX 12
#define ADL_QUERY_FEATURES  34 /* the most of any */
#define ADL_FACT_FEATURES   13
struct adl_estimator_input {
    double base; /* the network predicts the difference from this */
    int fact_count;
    float query[ADL_QUERY_FEATURES];
    float facts[ADL_INPUT_FACTS_MAX][ADL_FACT_FEATURES]; /* the weightiest last */
};

static inline float adl_clip(double x, double most)
{
    return (float)(x > most ? most : x < -most ? -most : x);
}

#endif
