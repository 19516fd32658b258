/* quarters: how well each quarter of a run, by time until its last end, used its GPUs and its energy.
 *
 * When a run ends is known at its end only, so what happens is kept in bins whose width doubles as the run grows; a bin
 * that a quarter begins in is split in proportion, an error of less than one part in 250 of a quarter. Sums
 * over the quarters are exact.
 *
 * What a job did in an attempt is spread evenly over the attempt. What it drew is known for all its attempts together
 * and goes to each by its time and by what its GPUs draw at most; GPUs that are up and free draw their idle power. What
 * meters counted beyond that is spread evenly over the run. */
#ifndef ADLRO_METRICS_RUN_QUARTERS_H
#define ADLRO_METRICS_RUN_QUARTERS_H

#include "engine/engine.h"

#define ADL_RUN_QUARTERS 4

struct adl_run_quarter {
    double useful_gpu_s; /* GPU time that what was done of completed jobs takes alone on their best type */
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

/* Of the run so far, up to the last end. */
void adl_run_quarters_result(struct adl_run_quarters *quarters, struct adl_run_quarter ret[ADL_RUN_QUARTERS]);

const char *adl_run_quarter_figure_name(int figure);                              /* in JSON */
double adl_run_quarter_figure(const struct adl_run_quarter *quarter, int figure); /* 0 if nothing was done */

#endif
