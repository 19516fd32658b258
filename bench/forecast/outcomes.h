/* outcomes: how forecasts of starts turned out, and what they amount to beside the bars. */
#ifndef ADLRO_BENCH_OUTCOMES_H
#define ADLRO_BENCH_OUTCOMES_H

#include "twin/starts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AT_SUBMISSION = 0, EACH_HOUR = 1, KINDS = 2 };

struct outcome {
    int kind;
    bool late; /* it was made after the last submission of its run */
    uint64_t submissions;
    double raw50, raw90;
    double within[ADL_START_LEVELS]; /* of the calibrated quantiles */
    double loss, raw_loss;
    double ours_s, raw_s, classic_s; /* errors of p50: calibrated, as drawn, and of the classic estimate */
};

/* Of all runs of a row. */
struct outcomes {
    struct outcome *list;
    size_t count, capacity;
};

struct outcome *outcomes_add(struct outcomes *outcomes); /* NULL: out of memory */

/* Those from the first on that were made when all jobs of the run had been submitted. */
void outcomes_mark_late(struct outcomes *outcomes, size_t first, uint64_t submissions);

/* Prints a row; returns true if its bars are met, or there is none. */
bool outcomes_report(const struct outcomes *outcomes, const char *name, const char *policy, int kind);
void outcomes_report_reliability(const struct outcomes *outcomes, const char *name, const char *policy);

#endif
