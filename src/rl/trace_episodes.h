/* trace_episodes: the jobs of a trace in memory, as episodes that begin where a seed says. */
#ifndef ADLRO_RL_TRACE_EPISODES_H
#define ADLRO_RL_TRACE_EPISODES_H

#include "model/scenario.h"
#include "sim/source.h"

#define ADL_TRACE_EPISODES_JOBS_MAX (UINT64_C(1) << 20)

struct adl_trace_episodes_config {
    const char *trace, *throughputs;     /* files; throughputs may be NULL */
    const struct adl_scenario *scenario; /* from adl_cluster_load(); read while it is created */
    uint64_t jobs;                       /* of an episode; 0 = the whole trace */
    double load;                         /* multiplies the rate of submissions; 0 = 1 */
};

struct adl_trace_episodes;

int adl_trace_episodes_create(const struct adl_trace_episodes_config *config, struct adl_trace_episodes **ret,
                              struct adl_error *err);
void adl_trace_episodes_destroy(struct adl_trace_episodes *episodes); /* accepts NULL */

uint64_t adl_trace_episodes_jobs(const struct adl_trace_episodes *episodes); /* of one */
bool adl_trace_episodes_limited(const struct adl_trace_episodes *episodes);  /* a job of the trace has a limit */

/* The jobs of the seed's episode, the first at time 0. It can be rewound and copied. */
int adl_trace_episodes_open(const struct adl_trace_episodes *episodes, uint64_t seed, struct adl_job_source *ret,
                            struct adl_error *err);

#endif
