#include "report/training_log.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const adl_training_column_names[ADL_TRAINING_COLUMNS] = {
    [ADL_TRAINING_EPISODES] = "episodes",
    [ADL_TRAINING_DECISIONS] = "decisions",
    [ADL_TRAINING_UPDATES] = "updates",
    [ADL_TRAINING_RETURN] = "return",
    [ADL_TRAINING_LOSS] = "loss",
    [ADL_TRAINING_BEST] = "best",
    [ADL_TRAINING_HELD_RETURN] = "validation_return",
    [ADL_TRAINING_HELD_JCT_MEAN] = "validation_jct_mean_s",
    [ADL_TRAINING_HELD_JCT_P99] = "validation_jct_p99_s",
    [ADL_TRAINING_HELD_THROUGHPUT] = "validation_throughput_jobs_per_h",
    [ADL_TRAINING_HELD_UTILIZATION] = "validation_gpu_utilization",
};

int adl_training_log_add(struct adl_training_log *log, const struct adl_training_row *rows, size_t count)
{
    if (count > log->row_capacity - log->row_count) {
        const size_t capacity = 2 * (log->row_count + count);
        struct adl_training_row *grown = realloc(log->rows, capacity * sizeof *grown);
        if (!grown)
            return ADL_ENOMEM;
        log->rows = grown;
        log->row_capacity = capacity;
    }
    if (count > 0)
        memcpy(log->rows + log->row_count, rows, count * sizeof *rows);
    log->row_count += count;
    return 0;
}

void adl_training_log_clear(struct adl_training_log *log)
{
    free(log->rows);
    log->rows = NULL;
    log->row_count = log->row_capacity = 0;
}

const struct adl_training_row *adl_training_log_best(const struct adl_training_log *log)
{
    for (size_t i = log->row_count; i > 0; i--)
        if (log->rows[i - 1].value[ADL_TRAINING_BEST] > 0)
            return &log->rows[i - 1];
    return NULL;
}

int adl_training_column_metric(enum adl_training_column column)
{
    switch (column) {
    case ADL_TRAINING_HELD_JCT_MEAN:
        return ADL_METRIC_JCT_MEAN;
    case ADL_TRAINING_HELD_JCT_P99:
        return ADL_METRIC_JCT_P99;
    case ADL_TRAINING_HELD_THROUGHPUT:
        return ADL_METRIC_THROUGHPUT;
    case ADL_TRAINING_HELD_UTILIZATION:
        return ADL_METRIC_UTILIZATION;
    default:
        return -1;
    }
}
