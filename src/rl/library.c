#include "rl/library.h"

#include "policy/dqn/plain_observation.h"
#include "rl/environment.h"
#include <adlro/adlro.h>

#include <string.h>

const char *adlro_version(void)
{
    return ADL_VERSION;
}

/* ---- structs ---- */

static bool is_zero(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i])
            return false;
    return true;
}

int adl_struct_read(const struct adl_caller_struct *caller, void *ret, size_t size, struct adl_error *err)
{
    const size_t given = caller->size ? caller->size : caller->first;
    if (given < caller->first)
        return adl_fail(err, ADL_EINVAL, "%s.size is %zu, but the struct has at least %zu bytes; set it to sizeof %s",
                        caller->name, given, caller->first, caller->name);
    if (given > size && !is_zero((const unsigned char *)caller->data + size, given - size))
        return adl_fail(err, ADL_EINVAL,
                        "%s.size is %zu, and members are set that libadlro " ADL_VERSION
                        " does not know (it knows %zu bytes); use the library that belongs to the header",
                        caller->name, given, size);
    memset(ret, 0, size);
    memcpy(ret, caller->data, given < size ? given : size);
    return 0;
}

void adl_struct_write(const void *data, size_t size, void *ret, size_t caller_size)
{
    memset(ret, 0, caller_size);
    memcpy(ret, data, caller_size < size ? caller_size : size);
}

/* ---- features ---- */

/* Of the paper's observation; ADL_FEATURE_COUNT: there is no such column. */
static enum adl_feature paper_feature(int row, uint32_t index)
{
    static const uint8_t state[ADL_PAPER_STATE_FEATURES] = {
        ADL_STATE_QUEUE,           ADL_ACTION_PRIORITY,        ADL_ACTION_KIND_TRAINING,
        ADL_ACTION_KIND_INFERENCE, ADL_ACTION_KIND_SIMULATION, ADL_ACTION_KIND_DATA};
    if (row == ADLRO_ROW_GPU && index < ADL_PAPER_GPU_FEATURES)
        return ADL_GPU_READ_UTILIZATION;
    if (row == ADLRO_ROW_STATE && index < ADL_PAPER_STATE_FEATURES)
        return (enum adl_feature)state[index];
    return ADL_FEATURE_COUNT;
}

static enum adl_feature find_feature(int observation, int row, uint32_t index)
{
    static const enum adl_feature_row rows[] = {ADL_ROW_GPU, ADL_ROW_STATE, ADL_ROW_ACTION};
    if (observation == ADLRO_OBSERVATION_PAPER)
        return paper_feature(row, index);
    if (observation == ADLRO_OBSERVATION_PLAIN)
        return row < ADLRO_ROW_GPU || row > ADLRO_ROW_ACTION ? ADL_FEATURE_COUNT : adl_plain_feature(rows[row], index);
    const bool all = observation == ADLRO_OBSERVATION_ALL;
    if ((!all && (observation != ADLRO_OBSERVATION_ACTIONS || row == ADLRO_ROW_GPU)) || row < ADLRO_ROW_GPU ||
        row > ADLRO_ROW_ACTION || index >= (uint32_t)adl_row_size(rows[row]))
        return ADL_FEATURE_COUNT;
    return (enum adl_feature)((uint32_t)adl_row_first(rows[row]) + index);
}

const char *adlro_feature_name(int observation, int row, uint32_t index)
{
    const enum adl_feature feature = find_feature(observation, row, index);
    return feature == ADL_FEATURE_COUNT ? NULL : adl_feature_table[feature].name;
}

int adlro_feature(int observation, int row, uint32_t index, struct adlro_feature *ret, size_t size)
{
    static const int scales[] = {[ADL_TRANSFORM_FLAG] = ADLRO_SCALE_FLAG,
                                 [ADL_TRANSFORM_LINEAR] = ADLRO_SCALE_LINEAR,
                                 [ADL_TRANSFORM_LOG] = ADLRO_SCALE_LOG,
                                 [ADL_TRANSFORM_SPREAD] = ADLRO_SCALE_SPREAD,
                                 [ADL_TRANSFORM_SPREAD_LOG] = ADLRO_SCALE_SPREAD_LOG};
    const enum adl_feature feature = find_feature(observation, row, index);
    if (feature == ADL_FEATURE_COUNT)
        return -1;
    const struct adl_feature_info *info = &adl_feature_table[feature];
    const struct adlro_feature out = {.name = info->name,
                                      .source = info->source,
                                      .unit = info->unit,
                                      .low = (double)info->low,
                                      .high = (double)info->high,
                                      .scale = scales[info->transform],
                                      .stale_s = info->stale_s};
    adl_struct_write(&out, sizeof out, ret, size);
    return 0;
}

/* ---- results ---- */

void adl_result_publish(const struct adl_result *all, struct adlro_result *ret, size_t size)
{
    const struct adlro_result result = {.jobs = all->jobs,
                                        .jct_mean_s = all->value[ADL_METRIC_JCT_MEAN],
                                        .jct_p99_s = all->value[ADL_METRIC_JCT_P99],
                                        .throughput_jobs_per_h = all->value[ADL_METRIC_THROUGHPUT],
                                        .gpu_utilization = all->value[ADL_METRIC_UTILIZATION],
                                        .makespan_s = all->value[ADL_METRIC_MAKESPAN],
                                        .reward = all->value[ADL_METRIC_REWARD],
                                        .energy_j = all->value[ADL_METRIC_ENERGY],
                                        .sla_attainment = all->value[ADL_METRIC_SLA],
                                        .sla_jobs = all->sla_jobs,
                                        .wait_mean_s = all->value[ADL_METRIC_WAIT_MEAN],
                                        .slowdown_mean = all->value[ADL_METRIC_SLOWDOWN_MEAN],
                                        .timeouts = all->timeouts,
                                        .evictions = all->evictions};
    adl_struct_write(&result, sizeof result, ret, size);
}

void adlro_result(struct adlro_environment *env, uint32_t index, struct adlro_result *ret, size_t size)
{
    struct adl_result all;
    adl_environment_result(env, index, &all);
    adl_result_publish(&all, ret, size);
}
