/* trace_openb: the pods of Alibaba's 2023 GPU trace, with shares of a GPU and lists of GPU types. */
#include "trace/trace_internal.h"

#include <limits.h>

enum { NAME, CPU_MILLI, MEMORY_MIB, NUM_GPU, GPU_MILLI, GPU_SPEC, CREATION, DELETION, SCHEDULED, COLUMN_COUNT };

static const struct adl_trace_column columns[COLUMN_COUNT] = {
    [NAME] = {"name", true},
    [CPU_MILLI] = {"cpu_milli", false},
    [MEMORY_MIB] = {"memory_mib", false},
    [NUM_GPU] = {"num_gpu", true},
    [GPU_MILLI] = {"gpu_milli", true},
    [GPU_SPEC] = {"gpu_spec", false},
    [CREATION] = {"creation_time", true},
    [DELETION] = {"deletion_time", true},
    [SCHEDULED] = {"scheduled_time", true},
};

static int read_amount(const struct adl_trace_reading *reading, int column, int32_t *ret)
{
    const char *text = adl_trace_cell(reading, column);
    if (adl_cell_is_none(text))
        return ADL_TRACE_USED;
    uint32_t amount;
    const int reason = adl_trace_take_count(reading, columns[column].name, text, INT32_MAX, &amount);
    if (reason == ADL_TRACE_USED)
        *ret = (int32_t)amount;
    return reason;
}

static int read_demand(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason = adl_trace_take_gpus(reading, "num_gpu", adl_trace_cell(reading, NUM_GPU), &ret->gpus);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_count(reading, "gpu_milli", adl_trace_cell(reading, GPU_MILLI), 1000, &ret->gpu_milli);
    if (reason == ADL_TRACE_USED && ret->gpu_milli == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NO_GPU, "the pod uses no share of its GPUs (gpu_milli is 0)");
    if (reason == ADL_TRACE_USED)
        reason = read_amount(reading, CPU_MILLI, &ret->cpu_milli);
    if (reason == ADL_TRACE_USED)
        reason = read_amount(reading, MEMORY_MIB, &ret->memory_mib);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_types(reading, "gpu_spec", adl_trace_cell(reading, GPU_SPEC), ret->types);
    return reason;
}

static int read_times(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    const char *scheduled = adl_trace_cell(reading, SCHEDULED);
    const char *deletion = adl_trace_cell(reading, DELETION);
    if (adl_cell_is_none(scheduled))
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the pod was never scheduled (no scheduled_time)");
    if (adl_cell_is_none(deletion))
        return adl_trace_refuse(reading, ADL_TRACE_NOT_STARTED, "the pod still ran (no deletion_time)");
    int64_t start_us = 0;
    int64_t end_us = 0;
    int reason = adl_trace_take_time(reading, "creation_time", adl_trace_cell(reading, CREATION), 1, &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_time(reading, "scheduled_time", scheduled, 1, &start_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_time(reading, "deletion_time", deletion, 1, &end_us);
    if (reason != ADL_TRACE_USED)
        return reason;
    ret->duration_us = end_us - start_us;
    ret->start_us = start_us;
    ret->end_us = end_us;
    return adl_trace_check_duration(reading, ret->duration_us);
}

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason = adl_trace_take_id(reading, "name", adl_trace_cell(reading, NAME), ret->id);
    if (reason == ADL_TRACE_USED)
        reason = read_demand(reading, ret);
    if (reason == ADL_TRACE_USED)
        reason = read_times(reading, ret);
    return reason;
}

const struct adl_trace_form adl_trace_form_openb = {
    .name = "openb",
    .separator = ',',
    .has_header = true,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .read = read_row,
};
