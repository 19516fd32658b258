/* actual: what happened to the jobs of a trace, by its own start and end times, as figures to put beside those of
 * policies. */
#ifndef ADLRO_EXPERIMENT_ACTUAL_H
#define ADLRO_EXPERIMENT_ACTUAL_H

#include "metrics/metrics.h"
#include "sim/source.h"

/* What the figures rest on. */
struct adl_actual {
    uint64_t jobs;      /* 0 = too few start times are known, and there are no figures */
    uint64_t without;   /* jobs whose start is not known, in no figure */
    uint32_t gpus_most; /* that were held at one time */
};

/* supply: adl_trace_supply_jobs(). At least nine of ten jobs must have times. */
int adl_actual_read(const struct adl_scenario *scenario, const struct adl_job_supply *supply, struct adl_actual *ret,
                    struct adl_result *ret_result, struct adl_error *err);

#endif
