/* training_log: the figures of a training run, round by round, and the baseline policies. */
#ifndef ADLRO_REPORT_TRAINING_LOG_H
#define ADLRO_REPORT_TRAINING_LOG_H

#include "metrics/metrics.h"
#include "model/scenario.h"

#include <stddef.h>

enum adl_training_column {
    ADL_TRAINING_EPISODES,
    ADL_TRAINING_DECISIONS,
    ADL_TRAINING_UPDATES,
    ADL_TRAINING_RETURN, /* mean over the round's episodes */
    ADL_TRAINING_LOSS,
    ADL_TRAINING_BEST, /* 1: better on the validation seeds than all before */
    /* Means over the validation seeds; not a number in a round without validation. */
    ADL_TRAINING_HELD_RETURN,
    ADL_TRAINING_HELD_JCT_MEAN,
    ADL_TRAINING_HELD_JCT_P99,
    ADL_TRAINING_HELD_THROUGHPUT,
    ADL_TRAINING_HELD_UTILIZATION,
    ADL_TRAINING_COLUMNS,
};

extern const char *const adl_training_column_names[ADL_TRAINING_COLUMNS]; /* in CSV and JSON */

struct adl_training_row {
    double value[ADL_TRAINING_COLUMNS]; /* nothing else, so that rows can be stored as bytes */
};

#define ADL_TRAINING_BASELINES 3

/* A policy's means over the same validation seeds. */
struct adl_training_baseline {
    const char *name;
    struct adl_result result;
};

/* A zeroed struct is an empty log. */
struct adl_training_log {
    const struct adl_scenario *scenario; /* not owned */
    const char *policy;                  /* that is trained */
    const char *network;
    uint64_t seed;
    uint64_t episodes; /* planned */
    uint32_t validation_episodes;
    uint32_t baseline_count;
    struct adl_training_baseline baselines[ADL_TRAINING_BASELINES];
    struct adl_training_row *rows;
    size_t row_count, row_capacity;
};

int adl_training_log_add(struct adl_training_log *log, const struct adl_training_row *rows, size_t count); /* 0 or
                                                                                                              ENOMEM */
void adl_training_log_clear(struct adl_training_log *log); /* frees; accepts a zeroed one */

/* The row of the best model; NULL before the first validation. */
const struct adl_training_row *adl_training_log_best(const struct adl_training_log *log);
/* The metric of a held-out column; -1 if it has none. */
int adl_training_column_metric(enum adl_training_column column);

#endif
