/* run_quarters: use of GPUs and energy in each quarter of a run's makespan, to show whether a policy improves over
 * time.
 *
 * The makespan is known only at the end, so figures are kept in bins whose width doubles as the run grows; a bin at the
 * boundary of two quarters is split in proportion, an error of less than 1/250 of a quarter. Sums over the quarters are
 * exact.
 *
 * The work of an attempt is spread evenly over the attempt. How much of a preempted job's work an attempt did is what
 * was predicted when it was stopped, and exact in regime oracle alone. The energy of a job is known for all its
 * attempts together and is divided by their time and their GPUs' maximum draw; GPUs that are up and free draw idle
 * power. Metered energy beyond that is spread evenly over the run. */
#ifndef ADLRO_METRICS_RUN_QUARTERS_H
#define ADLRO_METRICS_RUN_QUARTERS_H

#include "engine/engine.h"

#define ADL_RUN_QUARTERS 4

struct adl_run_quarter {
    double useful_gpu_s; /* GPU time that the work done of completed jobs takes alone on their best type */
    double busy_gpu_s;   /* in which GPUs held at least one job */
    double energy_j;     /* of all GPUs, idle ones included */
};

enum adl_run_quarter_figure {
    ADL_RUN_QUARTER_ENERGY,     /* J per useful GPU-second */
    ADL_RUN_QUARTER_EFFICIENCY, /* useful over busy GPU time: the allocation efficiency */
    ADL_RUN_QUARTER_FIGURES,
};

struct adl_run_quarters;

int adl_run_quarters_create(struct adl_run_quarters **ret);       /* 0 or ADL_ENOMEM */
void adl_run_quarters_destroy(struct adl_run_quarters *quarters); /* accepts NULL */
struct adl_observer adl_run_quarters_observer(struct adl_run_quarters *quarters);

/* Of the run so far, up to the last job's end. */
void adl_run_quarters_result(struct adl_run_quarters *quarters, struct adl_run_quarter ret[ADL_RUN_QUARTERS]);

const char *adl_run_quarter_figure_name(int figure);                              /* in JSON */
double adl_run_quarter_figure(const struct adl_run_quarter *quarter, int figure); /* 0 if nothing was done */

#endif
