#include "rl/library.h"

#include "policy/dqn/observation.h"
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

static const char *paper_feature(int row, uint32_t index)
{
    static const uint8_t state[ADL_PAPER_STATE_FEATURES] = {
        ADL_STATE_QUEUE,           ADL_ACTION_PRIORITY,        ADL_ACTION_KIND_TRAINING,
        ADL_ACTION_KIND_INFERENCE, ADL_ACTION_KIND_SIMULATION, ADL_ACTION_KIND_DATA};
    if (row == ADLRO_ROW_GPU && index < ADL_PAPER_GPU_FEATURES)
        return adl_feature_table[ADL_GPU_READ_UTILIZATION].name;
    if (row == ADLRO_ROW_STATE && index < ADL_PAPER_STATE_FEATURES)
        return adl_feature_table[state[index]].name;
    return NULL;
}

const char *adlro_feature_name(int observation, int row, uint32_t index)
{
    static const enum adl_feature_row rows[] = {ADL_ROW_GPU, ADL_ROW_STATE, ADL_ROW_ACTION};
    if (observation == ADLRO_OBSERVATION_PAPER)
        return paper_feature(row, index);
    const bool all = observation == ADLRO_OBSERVATION_ALL;
    if ((!all && (observation != ADLRO_OBSERVATION_ACTIONS || row == ADLRO_ROW_GPU)) || row < ADLRO_ROW_GPU ||
        row > ADLRO_ROW_ACTION || index >= (uint32_t)adl_row_size(rows[row]))
        return NULL;
    return adl_feature_table[(uint32_t)adl_row_first(rows[row]) + index].name;
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
                                        .reward = all->value[ADL_METRIC_REWARD]};
    adl_struct_write(&result, sizeof result, ret, size);
}

void adlro_result(struct adlro_environment *env, uint32_t index, struct adlro_result *ret, size_t size)
{
    struct adl_result all;
    adl_environment_result(env, index, &all);
    adl_result_publish(&all, ret, size);
}
