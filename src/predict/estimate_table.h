/* estimate_table: what is known of profiles of jobs on types of GPUs: what they said of themselves, how alike they are,
 * what was measured of them, and what is believed of their speeds alone. The networks are asked about it (initial.h,
 * refine.h); estimates.c owns it, and training makes many of them.
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

/* What a submission says, as logarithms. */
struct adl_profile {
    uint64_t key;   /* 0 = nobody's */
    uint64_t heard; /* when it was last named: what is forgotten is who was not heard of for longest */
    uint32_t kin;   /* class or name without the number of GPUs */
    uint8_t kind;
    bool spans;
    bool knows_gflop, knows_gb, knows_least;
    int32_t gpu_memory_mib;
    double log_gpus, log_memory, log_cores;
    double log_gflop, log_gb;                 /* of a step on one GPU */
    double log_least;                         /* steps/s asked for */
    uint32_t measured_alone, measured_beside; /* cells of it that were measured */
    uint32_t near_count;
    uint32_t near[ADL_PROFILE_NEIGHBOURS]; /* the profiles most like it, nearest first */
};

/* Specifications as logarithms: TFLOP/s, GB/s, MiB. */
struct adl_type_traits {
    double log_fp32, log_matrix, log_fp64; /* matrix: what learning gets of matrix units, as TFLOP/s of FP32 */
    double log_bandwidth, log_memory;
    double log_fp16_gain; /* FP16 relative to FP32 */
    int32_t memory_mib;
    bool nvidia;
};

/* What was measured of a profile on a type, alone or beside another. */
struct adl_cell {
    float log_rate; /* mean, the last ones counting most */
    float variance; /* of single measurements */
    float share;    /* beside: log_rate less the rate alone, measured or believed */
    float initial;  /* beside: the share that was expected before it was measured */
    uint32_t count;
};

struct adl_belief {
    float mean, spread; /* of the logarithm; spread is the scale of a Laplace distribution */
};

/* How a profile uses a GPU, as far as speed and specification tell: features of co-location. */
#define ADL_DUTY_FEATURES 11
enum { ADL_DUTY_COMPUTE = 1, ADL_DUTY_SLOPE = 4, ADL_DUTY_STEP = 9 };
struct adl_duty {
    float features[ADL_DUTY_FEATURES];
};

#define ADL_EFFECT_TERMS 3

/* The normal equations of a type's shares, each side; made when they are asked for. */
struct adl_effects {
    bool fresh;
    struct {
        double square[ADL_EFFECT_TERMS][ADL_EFFECT_TERMS], moment[ADL_EFFECT_TERMS], weight;
    } sides[2];
};

struct adl_sum {
    double sum, count;
};

/* Parts of a step's time by specification alone, 0..1, and the logarithm of the rate that they make. */
struct adl_nominal {
    double compute, memory, host;
    double log_rate;
};
struct adl_estimate_table {
    uint32_t type_count, capacity;
    uint64_t clock; /* counts calls that name a profile */
    struct adl_type_traits types[ADL_TYPES_MAX];
    struct adl_encoder *encoder;
    const struct adl_hyper_ops *ops;
    struct adl_profile *profiles;    /* [capacity] */
    struct adl_hypervector *vectors; /* [capacity] */
    float *likeness;                 /* [capacity][capacity] 0 = unrelated .. 1 = equal */
    struct adl_cell *cells;          /* [capacity][capacity + 1][type_count]; neighbour capacity = alone */
    struct adl_belief *initial;      /* [capacity][type_count] rate alone, before anything was measured of it */
    struct adl_belief *rates;        /* [capacity][type_count] rate alone, as believed now */
    struct adl_sum *as_victim;       /* [capacity][type_count] of its shares beside others */
    struct adl_sum *as_neighbour;    /* [capacity][type_count] of others' shares beside it */
    struct adl_sum all_shares[ADL_TYPES_MAX];
    struct adl_duty *duties;      /* [capacity][type_count] */
    struct adl_effects *effects;  /* [type_count] */
    struct adl_nominal *nominals; /* [capacity][type_count] */
};

int adl_estimate_table_create(uint32_t capacity, struct adl_estimate_table **ret, struct adl_error *err);
void adl_estimate_table_destroy(struct adl_estimate_table *knowledge); /* accepts NULL */
/* Room for so many types, and what they are; forgets everything. */
int adl_estimate_table_set_types(struct adl_estimate_table *knowledge, const struct adl_gpu_type *types, uint32_t count,
                                 struct adl_error *err);
void adl_estimate_table_clear(struct adl_estimate_table *knowledge); /* of all profiles; keeps the types */

/* The profile of such a job; *ret_new if it had to be made (then nothing is believed of it yet). */
uint32_t adl_estimate_table_know(struct adl_estimate_table *knowledge, const struct adl_job_spec *spec, bool spans,
                                 bool *ret_new);

/* Notes a measurement; true if the cell had none before. neighbour ADL_NONE = alone. */
bool adl_estimate_table_measure(struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                uint32_t neighbour, double log_rate);

/* Rates alone of a profile changed, measured or believed: its shares and duties are taken anew. */
void adl_estimate_table_rerate(struct adl_estimate_table *knowledge, uint32_t profile);

static inline struct adl_cell *adl_estimate_table_cell(const struct adl_estimate_table *knowledge, uint32_t profile,
                                                       uint32_t type, uint32_t neighbour)
{
    const size_t beside = neighbour == ADL_NONE ? knowledge->capacity : neighbour;
    return &knowledge->cells[((size_t)profile * (knowledge->capacity + 1) + beside) * knowledge->type_count + type];
}

static inline size_t adl_estimate_table_at(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type)
{
    return (size_t)profile * knowledge->type_count + type;
}

static inline double adl_estimate_table_likeness(const struct adl_estimate_table *knowledge, uint32_t a, uint32_t b)
{
    return a == b ? 1.0 : (double)knowledge->likeness[(size_t)a * knowledge->capacity + b];
}

static inline const struct adl_nominal *adl_estimate_table_nominal(const struct adl_estimate_table *knowledge,
                                                                   uint32_t profile, uint32_t type)
{
    return &knowledge->nominals[adl_estimate_table_at(knowledge, profile, type)];
}

static inline const float *adl_estimate_table_duty(const struct adl_estimate_table *knowledge, uint32_t profile,
                                                   uint32_t type)
{
    return knowledge->duties[adl_estimate_table_at(knowledge, profile, type)].features;
}

/* A job's effect on the shares of one side, above the mean of the type, as a linear function of its duty: slopes fitted
 * to all profiles but one, this type's shares counting most. side 0: what it suffers, 1: what its neighbours do. */
void adl_estimate_table_fit_effect(const struct adl_estimate_table *knowledge, int side, uint32_t type,
                                   uint32_t left_out, double ret_slopes[ADL_EFFECT_TERMS], double *ret_weight);
void adl_estimate_table_effect_terms(const struct adl_estimate_table *knowledge, uint32_t profile, uint32_t type,
                                     double ret[ADL_EFFECT_TERMS]);

/* A question to a network. */
#define ADL_QUESTION_FACTS 12
#define ADL_QUERY_FEATURES 34 /* the most of any */
#define ADL_FACT_FEATURES  13
struct adl_question {
    double base; /* what the answer's mean is relative to */
    int fact_count;
    float query[ADL_QUERY_FEATURES];
    float facts[ADL_QUESTION_FACTS][ADL_FACT_FEATURES]; /* the weightiest last */
};

static inline float adl_clip(double x, double most)
{
    return (float)(x > most ? most : x < -most ? -most : x);
}

#endif
