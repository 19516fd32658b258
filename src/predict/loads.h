/* loads: how hard jobs of each profile work GPUs of each type (predict/power.h), learned from power readings.
 *
 * A profile is a small number for jobs that behave alike: a class, or a profile of predict/estimates.h. What was
 * measured on the type is believed; failing that, the mean over the types where something was measured; failing that,
 * what is usual for jobs of that kind. Memory is fixed. */
#ifndef ADLRO_PREDICT_LOADS_H
#define ADLRO_PREDICT_LOADS_H

#include "model/cluster.h"
#include "model/job.h"

struct adl_load {
    double load;       /* 0..1 */
    uint32_t readings; /* of this profile on this type; 0: it is told from other types or from the kind */
    uint32_t types;    /* on which the profile was measured */
};

struct adl_loads;

int adl_loads_create(const struct adl_cluster *cluster, uint32_t profiles, struct adl_loads **ret); /* or ADL_ENOMEM */
void adl_loads_destroy(struct adl_loads *loads);                                                    /* accepts NULL */

/* A GPU of this type, which such a job holds alone, drew so much under this cap (0 = none). What a cap hides is told by
 * the law, less surely. Allocates nothing. */
void adl_loads_measure(struct adl_loads *loads, uint32_t profile, uint32_t type, double power_w, double cap_w);

/* kind: enum adl_job_kind of the profile's jobs. */
struct adl_load adl_loads_find(const struct adl_loads *loads, uint32_t profile, uint32_t type, int kind);

/* The profile's number goes to other jobs from now on. */
void adl_loads_forget(struct adl_loads *loads, uint32_t profile);

#endif
