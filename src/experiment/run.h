/* run: one policy on one seed of a scenario in the simulated world. */
#ifndef ADLRO_EXPERIMENT_RUN_H
#define ADLRO_EXPERIMENT_RUN_H

#include "metrics/metrics.h"
#include "metrics/timeline.h"
#include "model/scenario.h"
#include "policy/policy.h"
#include "sim/source.h"

struct adl_run {
    const struct adl_scenario *scenario;
    const struct adl_policy_ops *policy;
    uint64_t seed;
    int regime;                          /* enum adl_regime */
    const struct adl_job_supply *supply; /* NULL: the scenario's workload */
    struct adl_lower_bound bound;
    struct adl_timeline *timeline;       /* filled if not NULL */
    const struct adl_observer *observer; /* one more observer, or NULL */
};

/* HyperScore is 0 if the scenario has no references. */
int adl_run(const struct adl_run *run, struct adl_result *ret, struct adl_error *err);

/* The policy configuration of a scenario, completed from its other parts. */
struct adl_policy_config adl_run_policy_config(const struct adl_scenario *scenario);

int64_t adl_clock_ns(void); /* monotonic wall clock */

#endif
