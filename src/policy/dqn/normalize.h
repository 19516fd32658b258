/* normalize: job, telemetry and cluster data as bounded features, through one versioned table.
 *
 * A feature that is present lies in 0..1. One that is missing or stale is ADL_MISSING, outside that range, so a gap is
 * never mistaken for a measured 0. Features without a natural range are scaled by their own quartiles, learned in
 * training and stored in the model that was trained with them. */
#ifndef ADLRO_POLICY_DQN_NORMALIZE_H
#define ADLRO_POLICY_DQN_NORMALIZE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_SCHEMA_VERSION 2
#define ADL_MISSING        (-1.0f)

/* Which row of the network's input a feature belongs to. */
enum adl_feature_row {
    ADL_ROW_GPU,    /* one for each GPU */
    ADL_ROW_STATE,  /* one for all */
    ADL_ROW_ACTION, /* one for each action */
    ADL_ROW_COUNT,
};

enum adl_feature {
    ADL_GPU_BUSY,
    ADL_GPU_DOWN,
    ADL_GPU_SHARED,
    ADL_GPU_LEFT,
    ADL_GPU_HELD,
    ADL_GPU_GANG,
    ADL_GPU_COMPUTE,
    ADL_GPU_BANDWIDTH,
    ADL_GPU_MEMORY,
    ADL_GPU_BANK_FREE,
    ADL_GPU_NODE_CORES,
    ADL_GPU_NODE_MEMORY,
    ADL_GPU_NODE_FIRST,
    ADL_GPU_RESERVED,
    ADL_GPU_READ_UTILIZATION, /* this and the next in the order of enum adl_reading */
    ADL_GPU_READ_BANDWIDTH,
    ADL_GPU_READ_TEMPERATURE,
    ADL_GPU_READ_POWER,
    ADL_GPU_READ_CLOCK,
    ADL_GPU_READ_SM,
    ADL_GPU_READ_TENSOR,
    ADL_GPU_READ_DRAM,
    ADL_GPU_READ_PCIE,
    ADL_GPU_READ_NVLINK,
    ADL_GPU_READ_THROTTLED,
    ADL_STATE_LAMBDA,
    ADL_STATE_QUEUE,
    ADL_STATE_RUNNING,
    ADL_STATE_BUSY,
    ADL_STATE_DOWN,
    ADL_STATE_DEMAND,
    ADL_STATE_WORK,
    ADL_STATE_WORK_WIDE,
    ADL_STATE_OLDEST,
    ADL_STATE_AGE_MEAN,
    ADL_STATE_AGE_RMS,
    ADL_STATE_RESERVATION_IN,
    ADL_STATE_RESERVED_GPUS,
    ADL_STATE_FREE_TYPES,
    ADL_STATE_STARTS,
    ADL_STATE_KIND_TRAINING, /* four, in the order of enum adl_job_kind */
    ADL_STATE_KIND_INFERENCE,
    ADL_STATE_KIND_SIMULATION,
    ADL_STATE_KIND_DATA,
    ADL_STATE_GANG_1, /* four: demand of gangs of 1, 2 to 3, 4 to 7, more */
    ADL_STATE_GANG_2,
    ADL_STATE_GANG_4,
    ADL_STATE_GANG_8,
    ADL_ACTION_WAIT,
    ADL_ACTION_PLANNED,
    ADL_ACTION_RATE_OF_BEST,
    ADL_ACTION_COST_OF_LEAST,
    ADL_ACTION_REST_OF_BEST,
    ADL_ACTION_ADVANTAGE,
    ADL_ACTION_RATE,
    ADL_ACTION_REST,
    ADL_ACTION_LONGEST,
    ADL_ACTION_GPUS,
    ADL_ACTION_GPUS_OF_NODE,
    ADL_ACTION_AREA,
    ADL_ACTION_AGE,
    ADL_ACTION_SLOWDOWN,
    ADL_ACTION_PRIORITY,
    ADL_ACTION_KIND_TRAINING, /* four, in the order of enum adl_job_kind */
    ADL_ACTION_KIND_INFERENCE,
    ADL_ACTION_KIND_SIMULATION,
    ADL_ACTION_KIND_DATA,
    ADL_ACTION_OF_FREE,
    ADL_ACTION_BANK_LEFT,
    ADL_ACTION_SPANS,
    ADL_ACTION_CORES,
    ADL_ACTION_MEMORY,
    ADL_ACTION_GPU_MEMORY,
    ADL_ACTION_TYPES,
    ADL_ACTION_FREE_ELSEWHERE,
    ADL_ACTION_WANTED,
    ADL_ACTION_PRICE,
    ADL_ACTION_SHARED,
    ADL_ACTION_EQUALS,
    ADL_ACTION_CORES_LEFT,
    ADL_ACTION_DEADLINE,
    ADL_FEATURE_COUNT,
};

enum adl_transform {
    ADL_TRANSFORM_FLAG,   /* 0 or 1 */
    ADL_TRANSFORM_LINEAR, /* low..high onto 0..1 */
    ADL_TRANSFORM_LOG,    /* the same on a logarithmic scale */
    ADL_TRANSFORM_SPREAD, /* distance from the median in quartile ranges, -4..4 onto 0..1 */
    ADL_TRANSFORM_SPREAD_LOG,
};

struct adl_feature_info {
    const char *name;
    const char *source; /* "job", "telemetry", "cluster", "state" or "belief" */
    const char *unit;
    float low, high;   /* values beyond are clipped to this */
    uint8_t transform; /* enum adl_transform */
    uint8_t row;       /* enum adl_feature_row */
    int32_t stale_s;   /* older values count as missing; 0 = never stale */
};

extern const struct adl_feature_info adl_feature_table[ADL_FEATURE_COUNT];

/* The features of a row are consecutive. */
int adl_row_first(enum adl_feature_row row);
int adl_row_size(enum adl_feature_row row);

/* Quartiles of a stream without keeping it: the P-square algorithm (Jain and Chlamtac, CACM 1985) for the median, whose
 * five markers are the extremes and the quartiles. */
struct adl_quartiles {
    double height[5];
    double position[5];
    uint64_t count;
};

struct adl_normalizer {
    struct adl_quartiles quartiles[ADL_FEATURE_COUNT];
    /* From the table and the quartiles: feature = offset + scale * (value or log2 of it), then clipped. */
    float offset[ADL_FEATURE_COUNT], scale[ADL_FEATURE_COUNT];
};

void adl_normalizer_init(struct adl_normalizer *ret);

/* Adds a value of a feature that is scaled by its spread; NAN and features with a fixed range are ignored. */
void adl_normalizer_learn(struct adl_normalizer *normalizer, enum adl_feature feature, double value);
void adl_normalizer_settle(struct adl_normalizer *normalizer); /* computes offset and scale from what was learned */

/* value: in the table's unit; NAN = missing. */
float adl_normalize(const struct adl_normalizer *normalizer, enum adl_feature feature, float value);

/* The normalizer as text, one line a feature; decode refuses another schema. */
#define ADL_NORMALIZER_TEXT_MAX 8192
size_t adl_normalizer_encode(const struct adl_normalizer *normalizer, char *ret, size_t size);
int adl_normalizer_decode(struct adl_normalizer *ret, const char *text, size_t size, struct adl_error *err);

/* log2 to about 1e-4, with the same bits on every machine; x > 0. */
float adl_log2_rough(float x);

#endif
