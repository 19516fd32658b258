/* run: one policy on one seed of a scenario in the simulated world. */
#ifndef ADLRO_EXPERIMENT_RUN_H
#define ADLRO_EXPERIMENT_RUN_H

#include "metrics/metrics.h"
#include "metrics/timeline.h"
#include "model/scenario.h"
#include "policy/policy.h"
#include "predict/belief_bytes.h"
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
    const void *belief;                  /* bytes that it starts with, as adl_belief_encode wrote them; NULL = none */
    size_t belief_size;
    struct adl_text *learned; /* gets what it has learned at the end, if not NULL ... */
    const char *origin;       /* ... from this */
    struct adl_text *health;  /* gets what was found about slow GPUs at the end, if not NULL */
};

/* HyperScore is 0 if the scenario has no references. */
int adl_run(const struct adl_run *run, struct adl_result *ret, struct adl_error *err);

/* The policy configuration of a scenario, completed from its other parts. */
struct adl_policy_config adl_run_policy_config(const struct adl_scenario *scenario);

/* What the numbers of simulated jobs mean: of a trace if supply is not NULL, else of the scenario's workload. */
struct adl_belief_terms adl_run_terms(const struct adl_scenario *scenario, const struct adl_job_supply *supply);

int64_t adl_clock_ns(void); /* monotonic wall clock */

#endif
