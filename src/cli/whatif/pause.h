/* pause: a run that stands still at some time: of a scenario, of a trace on a cluster, or of a recording. */
#ifndef ADLRO_CLI_WHATIF_PAUSE_H
#define ADLRO_CLI_WHATIF_PAUSE_H

#include "cli/choices.h"
#include "twin/fork.h"

struct adl_pause_request {
    const char *path;    /* scenario, trace or recording */
    const char *cluster; /* of a trace; NULL: it is none */
    const char *policy;  /* of a scenario or trace */
    struct adl_choice_options choice;
    const char *throughputs;
    int regime; /* enum adl_regime; not oracle, which knows too much */
    int64_t seed;
    int64_t jobs;    /* of the scenario or trace; 0 = all */
    int64_t at_us;   /* negative: when the job has been submitted */
    const char *job; /* its number, or of a trace its id; NULL = none */
};

struct adl_pause;

/* ADL_EINVAL: the run does not come to that time, or there is no such job. */
int adl_pause_open(const struct adl_pause_request *request, struct adl_pause **ret, struct adl_error *err);
void adl_pause_close(struct adl_pause *pause); /* accepts NULL */

struct adl_pause_view {
    struct adl_fork_config fork; /* of its engine; without an observer */
    const struct adl_recent *recent;
    const struct adl_scenario *scenario;
    uint64_t job;
};
struct adl_pause_view adl_pause_view(const struct adl_pause *pause);

#endif
