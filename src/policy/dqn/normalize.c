#include "policy/dqn/normalize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU    ADL_ROW_GPU
#define STATE  ADL_ROW_STATE
#define ACTION ADL_ROW_ACTION
#define FLAG   ADL_TRANSFORM_FLAG
#define LINEAR ADL_TRANSFORM_LINEAR
#define LOG    ADL_TRANSFORM_LOG
#define SPREAD ADL_TRANSFORM_SPREAD
#define SPRLOG ADL_TRANSFORM_SPREAD_LOG

#define OF_TYPICAL "", 1e-4f, 1e6f /* a time relative to a typical run time */
#define SHARE      "", 0, 1
#define READING_S  120
#define SPREAD_MAX 4.0f /* values are clipped this many quartile ranges from the median */

const struct adl_feature_info adl_feature_table[ADL_FEATURE_COUNT] = {
    [ADL_GPU_BUSY] = {"gpu_busy", "state", SHARE, FLAG, GPU, 0},
    [ADL_GPU_DOWN] = {"gpu_down", "state", SHARE, FLAG, GPU, 0},
    [ADL_GPU_SHARED] = {"gpu_shared", "state", SHARE, FLAG, GPU, 0},
    [ADL_GPU_LEFT] = {"gpu_job_left_of_typical", "belief", OF_TYPICAL, SPRLOG, GPU, 0},
    [ADL_GPU_HELD] = {"gpu_job_held_of_typical", "state", OF_TYPICAL, SPRLOG, GPU, 0},
    [ADL_GPU_GANG] = {"gpu_job_gang", "job", "GPUs", 1, 64, LOG, GPU, 0},
    [ADL_GPU_COMPUTE] = {"gpu_compute_of_best", "cluster", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_BANDWIDTH] = {"gpu_bandwidth_of_best", "cluster", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_MEMORY] = {"gpu_memory_of_best", "cluster", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_BANK_FREE] = {"gpu_bank_free", "state", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_NODE_CORES] = {"gpu_node_cores_free", "state", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_NODE_MEMORY] = {"gpu_node_memory_free", "state", SHARE, LINEAR, GPU, 0},
    [ADL_GPU_NODE_FIRST] = {"gpu_first_of_node", "cluster", SHARE, FLAG, GPU, 0},
    [ADL_GPU_RESERVED] = {"gpu_promised", "belief", SHARE, FLAG, GPU, 0},
    [ADL_GPU_READ_UTILIZATION] = {"read_utilization", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_BANDWIDTH] = {"read_memory_bandwidth", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_TEMPERATURE] = {"read_temperature", "telemetry", "C", 20, 110, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_POWER] = {"read_power_of_limit", "telemetry", "", 0, 1.2f, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_CLOCK] = {"read_clock_of_highest", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_SM] = {"read_sm_active", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_TENSOR] = {"read_tensor_active", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_DRAM] = {"read_dram_active", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_GPU_READ_PCIE] = {"read_pcie_traffic", "telemetry", "GB/s", 0.01f, 64, LOG, GPU, READING_S},
    [ADL_GPU_READ_NVLINK] = {"read_nvlink_traffic", "telemetry", "GB/s", 0.01f, 900, LOG, GPU, READING_S},
    [ADL_GPU_READ_THROTTLED] = {"read_throttled", "telemetry", SHARE, LINEAR, GPU, READING_S},
    [ADL_STATE_LAMBDA] = {"lambda", "state", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_QUEUE] = {"queue_of_gpus", "state", "", 0.01f, 1e5f, SPRLOG, STATE, 0},
    [ADL_STATE_RUNNING] = {"running_of_gpus", "state", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_BUSY] = {"busy_gpus", "state", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_DOWN] = {"down_gpus", "state", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_DEMAND] = {"waiting_gpus_of_all", "job", "", 0.01f, 1e5f, SPRLOG, STATE, 0},
    [ADL_STATE_WORK] = {"waiting_work_of_typical", "belief", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_WORK_WIDE] = {"waiting_work_of_wide_of_typical", "belief", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_OLDEST] = {"oldest_wait_of_typical", "state", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_AGE_MEAN] = {"wait_mean_of_typical", "state", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_AGE_RMS] = {"wait_rms_of_typical", "state", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_RESERVATION_IN] = {"reservation_in_of_typical", "belief", OF_TYPICAL, SPRLOG, STATE, 0},
    [ADL_STATE_RESERVED_GPUS] = {"reserved_gpus", "belief", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_FREE_TYPES] = {"types_with_free_gpus", "state", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_STARTS] = {"starts_listed", "state", "", 1, 32, LOG, STATE, 0},
    [ADL_STATE_KIND_TRAINING] = {"waiting_training", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_KIND_INFERENCE] = {"waiting_inference", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_KIND_SIMULATION] = {"waiting_simulation", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_KIND_DATA] = {"waiting_data", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_GANG_1] = {"waiting_gangs_of_1", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_GANG_2] = {"waiting_gangs_of_2", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_GANG_4] = {"waiting_gangs_of_4", "job", SHARE, LINEAR, STATE, 0},
    [ADL_STATE_GANG_8] = {"waiting_gangs_of_8", "job", SHARE, LINEAR, STATE, 0},
    [ADL_ACTION_WAIT] = {"wait", "state", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_PLANNED] = {"planned", "belief", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_RATE_OF_BEST] = {"rate_of_best", "belief", "", 0x1p-16f, 1, LOG, ACTION, 0},
    [ADL_ACTION_COST_OF_LEAST] = {"cost_of_least", "belief", "", 1, 64, LOG, ACTION, 0},
    [ADL_ACTION_REST_OF_BEST] = {"rest_of_best_type", "belief", "", 1, 64, LOG, ACTION, 0},
    [ADL_ACTION_ADVANTAGE] = {"advantage", "belief", "", 0.0625f, 16, LOG, ACTION, 0},
    [ADL_ACTION_RATE] = {"rate_of_typical", "belief", "", 1e-6f, 1e6f, SPRLOG, ACTION, 0},
    [ADL_ACTION_REST] = {"rest_of_typical", "belief", OF_TYPICAL, SPRLOG, ACTION, 0},
    [ADL_ACTION_LONGEST] = {"rest_p90_of_median", "belief", "", 1, 64, LOG, ACTION, 0},
    [ADL_ACTION_GPUS] = {"gpus", "job", "GPUs", 1, 64, LOG, ACTION, 0},
    [ADL_ACTION_GPUS_OF_NODE] = {"gpus_of_node", "job", "", 0.0625f, 16, LOG, ACTION, 0},
    [ADL_ACTION_AREA] = {"gpu_time_of_typical", "belief", "", 1e-4f, 1e8f, SPRLOG, ACTION, 0},
    [ADL_ACTION_AGE] = {"age_of_typical", "state", OF_TYPICAL, SPRLOG, ACTION, 0},
    [ADL_ACTION_SLOWDOWN] = {"slowdown", "belief", "", 1, 1e6f, SPRLOG, ACTION, 0},
    [ADL_ACTION_PRIORITY] = {"priority", "job", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_KIND_TRAINING] = {"training", "job", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_KIND_INFERENCE] = {"inference", "job", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_KIND_SIMULATION] = {"simulation", "job", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_KIND_DATA] = {"data", "job", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_OF_FREE] = {"gpus_of_free", "state", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_BANK_LEFT] = {"bank_left", "state", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_SPANS] = {"spans_nodes", "state", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_CORES] = {"cores_of_share", "job", "", 0, 4, LINEAR, ACTION, 0},
    [ADL_ACTION_MEMORY] = {"memory_of_share", "job", "", 0, 4, LINEAR, ACTION, 0},
    [ADL_ACTION_GPU_MEMORY] = {"gpu_memory_of_all", "job", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_TYPES] = {"types_of_all", "job", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_FREE_ELSEWHERE] = {"free_elsewhere", "state", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_WANTED] = {"type_wanted", "job", SHARE, LINEAR, ACTION, 0},
    [ADL_ACTION_PRICE] = {"type_price", "job", "", 0.01f, 100, LOG, ACTION, 0},
    [ADL_ACTION_SHARED] = {"beside_another", "state", SHARE, FLAG, ACTION, 0},
    [ADL_ACTION_EQUALS] = {"equals_waiting", "job", "jobs", 1, 1024, LOG, ACTION, 0},
    [ADL_ACTION_CORES_LEFT] = {"cores_left_of_share", "state", "", 0, 4, LINEAR, ACTION, 0},
    [ADL_ACTION_DEADLINE] = {"deadline_over_time", "job", "", 0.1f, 1000, LOG, ACTION, 0},
};

int adl_row_first(enum adl_feature_row row)
{
    int first = 0;
    while (adl_feature_table[first].row != row)
        first++;
    return first;
}

int adl_row_size(enum adl_feature_row row)
{
    int size = 0;
    for (int f = 0; f < ADL_FEATURE_COUNT; f++)
        size += adl_feature_table[f].row == row;
    return size;
}

float adl_log2_rough(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const float exponent = (float)((int32_t)(bits >> 23) - 127);
    bits = (bits & 0x7fffffu) | 0x3f800000u;
    float m;
    memcpy(&m, &bits, sizeof m); /* 1..2; the polynomial is exact at both ends */
    const float u = m - 1.0f;
    return exponent + u * (1.4387257f + u * (-0.6778898f + u * (0.3218538f + u * -0.0826897f)));
}

static bool is_log(int feature)
{
    const int transform = adl_feature_table[feature].transform;
    return transform == LOG || transform == SPRLOG;
}

static bool is_spread(int feature)
{
    return adl_feature_table[feature].transform >= SPREAD;
}

static float clipped(const struct adl_feature_info *info, float value)
{
    return value < info->low ? info->low : value > info->high ? info->high : value;
}

void adl_normalizer_init(struct adl_normalizer *ret)
{
    memset(ret, 0, sizeof *ret);
    adl_normalizer_settle(ret);
}

void adl_normalizer_settle(struct adl_normalizer *normalizer)
{
    for (int f = 0; f < ADL_FEATURE_COUNT; f++) {
        const struct adl_feature_info *info = &adl_feature_table[f];
        const struct adl_quartiles *q = &normalizer->quartiles[f];
        float low = is_log(f) ? adl_log2_rough(info->low) : info->low;
        float high = is_log(f) ? adl_log2_rough(info->high) : info->high;
        if (is_spread(f) && q->count >= 5) {
            const float spread = (float)(q->height[3] - q->height[1]), middle = (float)q->height[2];
            const float reach = SPREAD_MAX * (spread > 1e-3f ? spread : 1e-3f);
            low = middle - reach;
            high = middle + reach;
        }
        normalizer->scale[f] = 1.0f / (high - low);
        normalizer->offset[f] = -low / (high - low);
    }
}

float adl_normalize(const struct adl_normalizer *normalizer, enum adl_feature feature, float value)
{
    if (isnan(value))
        return ADL_MISSING;
    const float bounded = clipped(&adl_feature_table[feature], value);
    const float x = is_log((int)feature) ? adl_log2_rough(bounded) : bounded;
    const float y = normalizer->offset[feature] + normalizer->scale[feature] * x;
    return y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
}

/* ---- quartiles ---- */

static void insert_first_five(struct adl_quartiles *q, double x)
{
    uint64_t at = q->count;
    for (; at > 0 && q->height[at - 1] > x; at--)
        q->height[at] = q->height[at - 1];
    q->height[at] = x;
    q->position[q->count] = (double)q->count;
    q->count++;
}

/* Moves marker i by d, +1 or -1, along a parabola through its neighbours where that keeps the order. */
static void move_marker(struct adl_quartiles *q, int i, double d)
{
    const double *h = q->height, *n = q->position;
    const double parabolic = h[i] + d / (n[i + 1] - n[i - 1]) *
                                        ((n[i] - n[i - 1] + d) * (h[i + 1] - h[i]) / (n[i + 1] - n[i]) +
                                         (n[i + 1] - n[i] - d) * (h[i] - h[i - 1]) / (n[i] - n[i - 1]));
    const int j = d > 0 ? i + 1 : i - 1;
    const double linear = h[i] + d * (h[j] - h[i]) / (n[j] - n[i]);
    q->height[i] = h[i - 1] < parabolic && parabolic < h[i + 1] ? parabolic : linear;
    q->position[i] += d;
}

static void add_quartiles(struct adl_quartiles *q, double x)
{
    if (q->count < 5) {
        insert_first_five(q, x);
        return;
    }
    q->height[0] = x < q->height[0] ? x : q->height[0];
    q->height[4] = x > q->height[4] ? x : q->height[4];
    for (int i = 1; i < 5; i++)
        q->position[i] += x < q->height[i] || i == 4;
    q->count++;
    for (int i = 1; i < 4; i++) {
        const double off = 0.25 * i * (double)(q->count - 1) - q->position[i];
        if (off >= 1 && q->position[i + 1] - q->position[i] > 1)
            move_marker(q, i, 1);
        else if (off <= -1 && q->position[i - 1] - q->position[i] < -1)
            move_marker(q, i, -1);
    }
}

void adl_normalizer_learn(struct adl_normalizer *normalizer, enum adl_feature feature, double value)
{
    const int f = (int)feature;
    if (isnan(value) || !is_spread(f))
        return;
    const float bounded = clipped(&adl_feature_table[f], (float)value);
    add_quartiles(&normalizer->quartiles[f], (double)(is_log(f) ? adl_log2_rough(bounded) : bounded));
}

/* ---- as text ---- */

/* Hexadecimal floats keep the bits. The extremes are not used after training, so quartiles suffice. */
size_t adl_normalizer_encode(const struct adl_normalizer *normalizer, char *ret, size_t size)
{
    size_t used = (size_t)snprintf(ret, size, "schema %d\n", ADL_SCHEMA_VERSION);
    for (int f = 0; f < ADL_FEATURE_COUNT && used < size; f++) {
        const struct adl_quartiles *q = &normalizer->quartiles[f];
        if (is_spread(f) && q->count >= 5)
            used += (size_t)snprintf(ret + used, size - used, "%s %a %a %a\n", adl_feature_table[f].name, q->height[1],
                                     q->height[2], q->height[3]);
    }
    return used;
}

static int find_feature(const char *name, size_t length)
{
    for (int f = 0; f < ADL_FEATURE_COUNT; f++)
        if (strlen(adl_feature_table[f].name) == length && memcmp(adl_feature_table[f].name, name, length) == 0)
            return f;
    return -1;
}

/* One line, without the newline: name and three quartiles. */
static int decode_line(struct adl_normalizer *ret, const char *line, struct adl_error *err)
{
    const char *space = strchr(line, ' ');
    const int f = space ? find_feature(line, (size_t)(space - line)) : -1;
    if (f < 0 || !is_spread(f))
        return adl_fail(err, ADL_EINVAL, "normalizer: \"%.40s\" names no feature that is scaled by its spread", line);
    struct adl_quartiles *q = &ret->quartiles[f];
    char *end = (char *)space;
    for (int i = 1; i < 4; i++) {
        const char *from = end;
        q->height[i] = strtod(from, &end);
        if (end == from || !isfinite(q->height[i]) || (i > 1 && q->height[i] < q->height[i - 1]))
            return adl_fail(err, ADL_EINVAL, "normalizer: %s wants three quartiles in rising order",
                            adl_feature_table[f].name);
    }
    if (*end)
        return adl_fail(err, ADL_EINVAL, "normalizer: \"%.40s\" follows the quartiles of %s and should not", end,
                        adl_feature_table[f].name);
    q->count = 5;
    return 0;
}

int adl_normalizer_decode(struct adl_normalizer *ret, const char *text, size_t size, struct adl_error *err)
{
    struct adl_normalizer normalizer;
    char line[160];
    adl_normalizer_init(&normalizer);
    bool versioned = false;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        if (length >= sizeof line)
            return adl_fail(err, ADL_EINVAL, "normalizer: a line of %zu characters, at most %zu would be right", length,
                            sizeof line - 1);
        memcpy(line, text + at, length);
        line[length] = 0;
        at += length + 1;
        if (!versioned && strncmp(line, "schema ", 7) == 0) {
            char *rest;
            versioned = true;
            if (strtoll(line + 7, &rest, 10) != ADL_SCHEMA_VERSION || *rest)
                return adl_fail(err, ADL_EINVAL, "features of schema %.20s, this program has schema %d", line + 7,
                                ADL_SCHEMA_VERSION);
            continue;
        }
        const int status = versioned ? decode_line(&normalizer, line, err)
                                     : adl_fail(err, ADL_EINVAL, "normalizer: the first line must be its schema");
        if (status)
            return status;
    }
    if (!versioned)
        return adl_fail(err, ADL_EINVAL, "normalizer: the first line must be its schema");
    adl_normalizer_settle(&normalizer);
    *ret = normalizer;
    return 0;
}
