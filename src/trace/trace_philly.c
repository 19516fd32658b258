/* trace_philly: the jobs of Microsoft's Philly clusters as one CSV: time, duration, number of GPUs, cluster. */
#include "trace/trace_internal.h"

enum { TIMESTAMP, DURATION, NUM_GPUS, GPU_TIME, CLUSTER, COLUMN_COUNT };

static const struct adl_trace_column columns[COLUMN_COUNT] = {
    [TIMESTAMP] = {"timestamp", true}, [DURATION] = {"duration", true}, [NUM_GPUS] = {"num_gpus", true},
    [GPU_TIME] = {"gpu_time", false},  [CLUSTER] = {"cluster", false},
};

static int read_row(const struct adl_trace_reading *reading, struct adl_trace_row *ret)
{
    int reason = adl_trace_take_gpus(reading, "num_gpus", adl_trace_cell(reading, NUM_GPUS), &ret->gpus);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_timestamp(reading, "timestamp", adl_trace_cell(reading, TIMESTAMP), &ret->submit_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_take_time(reading, "duration", adl_trace_cell(reading, DURATION), 1, &ret->duration_us);
    if (reason == ADL_TRACE_USED)
        reason = adl_trace_check_duration(reading, ret->duration_us);
    adl_trace_take_word(ret->user, adl_trace_cell(reading, CLUSTER));
    adl_trace_number_id(reading, ret->id);
    return reason;
}

const struct adl_trace_form adl_trace_form_philly = {
    .name = "philly",
    .separator = ',',
    .has_header = true,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .read = read_row,
};
