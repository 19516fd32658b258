/* estimates: how fast each kind of job runs on each type of GPU, alone and beside each other kind: what is believed,
 * how sure it is, and how often it was measured.
 *
 * Jobs that behave alike share a profile. A new profile gets first estimates (P1, predict/estimate_initial.h) from what
 * its submission says, the specifications of the GPUs and what was measured of the profiles most like it. Each
 * measurement of one cell refines the profile's other cells (P2, predict/estimate_refine.h). A cell that was measured
 * keeps what was measured: a guess never overwrites it.
 *
 * Everything it knows came in through adl_estimates_know and adl_estimates_measure, whose arguments come from recorded
 * events: equal events and equal questions in between give equal estimates. Memory is fixed: so many profiles as it was
 * created for; of more, the one not heard of for longest is forgotten. */
#ifndef ADLRO_PREDICT_ESTIMATES_H
#define ADLRO_PREDICT_ESTIMATES_H

#include "base/error.h"
#include "base/index.h"
#include "model/cluster.h"
#include "model/job.h"

#include <stdbool.h>
#include <stddef.h>

enum adl_estimate_source {
    ADL_ESTIMATE_INITIAL,  /* of this profile nothing was measured */
    ADL_ESTIMATE_REFINED,  /* other cells of it were */
    ADL_ESTIMATE_MEASURED, /* this very cell was */
};

struct adl_estimate {
    double steps_per_s;    /* of the whole job */
    double low, high;      /* 90 % interval (conformal) */
    uint32_t measurements; /* of this cell */
    uint8_t source;        /* enum adl_estimate_source */
};

struct adl_estimates;

/* model: the networks' bytes, NULL = the shipped ones. */
int adl_estimates_create(const struct adl_cluster *cluster, uint32_t profiles, const void *model, size_t model_size,
                         struct adl_estimates **ret, struct adl_error *err);
void adl_estimates_destroy(struct adl_estimates *estimates); /* accepts NULL */

/* The profile of such a job, made if it is new: a small number, valid until it is forgotten. Jobs of one class (or,
 * where classes say nothing, one name), one number of GPUs and one way to be placed behave alike. spans: its GPUs are
 * on several nodes. Allocates nothing, nor do the others. */
uint32_t adl_estimates_know(struct adl_estimates *estimates, const struct adl_job_spec *spec, bool spans);

/* What the profile stands for; another figure once its number went to other jobs. */
uint64_t adl_estimates_key(const struct adl_estimates *estimates, uint32_t profile);

/* Steps/s of such a job were measured on a type, beside a job of another (or the same) profile or alone (ADL_NONE). */
void adl_estimates_measure(struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                           double steps_per_s);

/* What is believed of one cell. steps_per_s 0: it does not run there. */
void adl_estimates_find(const struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                        struct adl_estimate *ret);

#endif
