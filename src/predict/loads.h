/* loads: the load that jobs of each profile put on GPUs of each type (predict/power.h), learned from power readings.
 *
 * A profile is an index of jobs that behave alike: a class, or a profile of predict/estimates.h. The estimate is the
 * mean measured on the type, else the mean over the measured types, else the default for that kind of job. Memory is
 * fixed. */
#ifndef ADLRO_PREDICT_LOADS_H
#define ADLRO_PREDICT_LOADS_H

#include "model/cluster.h"
#include "model/job.h"

struct adl_load {
    double load;       /* 0..1 */
    uint32_t readings; /* of this profile on this type; 0: estimated from other types or from the kind */
    uint32_t types;    /* on which the profile was measured */
};

struct adl_loads;

int adl_loads_create(const struct adl_cluster *cluster, uint32_t profiles, struct adl_loads **ret); /* or ADL_ENOMEM */
void adl_loads_destroy(struct adl_loads *loads);                                                    /* accepts NULL */
void adl_loads_copy(struct adl_loads *to, const struct adl_loads *from); /* created in the same way */

/* Adds a power reading of a GPU of this type that such a job holds alone, under this cap (0 = none). Under a cap the
 * load is derived from the power law, less reliably. Allocates nothing. */
void adl_loads_measure(struct adl_loads *loads, uint32_t profile, uint32_t type, double power_w, double cap_w);

/* kind: enum adl_job_kind of the profile's jobs. */
struct adl_load adl_loads_find(const struct adl_loads *loads, uint32_t profile, uint32_t type, int kind);

/* Drops the profile's readings, because its index is reused for other jobs. */
void adl_loads_forget(struct adl_loads *loads, uint32_t profile);

#endif
