/* objective: what a policy is to optimize, as weights that an administrator chooses. Only ratios to `mean` count.
 *
 * As text: the name of a preset, weights, or both: "frugal", "tail:2,energy:0.5", "fast,fairness:1". A weight that is
 * not given is that of the preset, and without a preset that of `balanced`. */
#ifndef ADLRO_POLICY_OBJECTIVE_H
#define ADLRO_POLICY_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

struct adl_objective {
    double mean;     /* completion times, on average */
    double tail;     /* completion times of those that wait longest */
    double energy;   /* energy of all GPUs */
    double fairness; /* users get their shares */
};

#define ADL_OBJECTIVE_TERMS 4

extern const char *const adl_objective_names[ADL_OBJECTIVE_TERMS + 1]; /* of the weights, ends with NULL */
extern const char *const adl_objective_presets[];                      /* ends with NULL */
#define ADL_OBJECTIVE_DEFAULT "balanced"

/* On false, reason is the end of a sentence that begins with "objective": " must be ...", or ".tail must be ...". */
bool adl_objective_read(const char *text, struct adl_objective *ret, char *reason, size_t size);

#endif
