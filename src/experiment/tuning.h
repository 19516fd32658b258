/* tuning: searches the options of a policy that its table gives a range to tune in, on recent jobs.
 *
 * Candidates play the first part of the history; the best of them and the policy as it is then play the second part,
 * once. Only that second comparison says whether the candidate is better. Equal requests give equal results, unless the
 * budget of time ends the search. */
#ifndef ADLRO_EXPERIMENT_TUNING_H
#define ADLRO_EXPERIMENT_TUNING_H

#include "metrics/statistics.h"
#include "model/scenario.h"
#include "policy/policy.h"
#include "sim/source.h"

/* A supply cut into parts of equal numbers of jobs, in order of time: the seed is the number of the part. */
struct adl_parts {
    const struct adl_job_supply *jobs;
    uint64_t count; /* of all jobs */
    uint32_t parts;
};

int adl_parts_count(struct adl_parts *parts, struct adl_error *err); /* sets count; reads all jobs once */
struct adl_job_supply adl_parts_supply(struct adl_parts *parts);

struct adl_tuning_request {
    const struct adl_scenario *scenario;
    const struct adl_job_supply *supply; /* NULL: the scenario's workload */
    const struct adl_policy_ops *policy;
    struct adl_objective objective;
    uint64_t first_seed; /* the first half of the seeds is to search on, the second to check */
    uint32_t seed_count; /* at least 4 */
    uint32_t trials;
    double budget_s; /* of the search; 0 = no limit */
    uint64_t seed;   /* of the candidates */
    int regime;      /* enum adl_regime */
    uint32_t threads;
    void (*progress)(void *self, uint64_t done, uint64_t total); /* of the trials; may be NULL */
    void *progress_self;
};

enum adl_tuning_figure { ADL_TUNING_JCT, ADL_TUNING_P99, ADL_TUNING_ENERGY, ADL_TUNING_FIGURES };

#define ADL_TUNING_SETTINGS_SIZE 1024

struct adl_tuning {
    char settings[ADL_TUNING_SETTINGS_SIZE]; /* lines of OPTION=VALUE of the best candidate; "" = the policy as it is */
    uint32_t trials;                         /* made */
    bool better;                             /* the interval of `gain` lies above 0 */
    struct adl_summary searched;             /* gain over the first part, which the candidate was chosen by */
    struct adl_summary
        gain; /* over the second part: 1 - weighted geometric mean of after / before, each seed a value */
    double before[ADL_TUNING_FIGURES], after[ADL_TUNING_FIGURES]; /* means over the second part */
};

/* ADL_EINVAL if the policy has no option to tune. */
int adl_tuning_run(const struct adl_tuning_request *request, struct adl_tuning *ret, struct adl_error *err);

#endif
