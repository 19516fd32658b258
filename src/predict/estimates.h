/* estimates: how fast each kind of job runs on each type of GPU, alone and beside each other kind: the estimate, its
 * uncertainty, and the number of measurements.
 *
 * Jobs that behave alike share a profile. A new profile gets initial estimates (P1, predict/estimate_initial.h) from
 * its submission, the specifications of the GPUs and measurements of similar profiles. Each measurement of one cell
 * refines the profile's other cells (P2, predict/estimate_refine.h). A prediction never overwrites a measured cell.
 *
 * All data come in through adl_estimates_profile and adl_estimates_measure, whose arguments come from recorded events:
 * equal sequences of calls give equal estimates. Memory is fixed: if there are more profiles than it was created for,
 * the least recently used is forgotten. */
#ifndef ADLRO_PREDICT_ESTIMATES_H
#define ADLRO_PREDICT_ESTIMATES_H

#include "base/error.h"
#include "base/index.h"
#include "model/cluster.h"
#include "model/job.h"
#include "predict/estimate_bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum adl_estimate_source {
    ADL_ESTIMATE_INITIAL,  /* no cell of this profile was measured */
    ADL_ESTIMATE_REFINED,  /* other cells of this profile were measured */
    ADL_ESTIMATE_MEASURED, /* this cell was measured */
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
void adl_estimates_destroy(struct adl_estimates *estimates);                         /* accepts NULL */
void adl_estimates_copy(struct adl_estimates *to, const struct adl_estimates *from); /* created in the same way */

/* The profile of such a job, created if it is new: an index, valid until the profile is forgotten. Jobs with equal
 * class (or name, if there are no classes), number of GPUs and kind of placement share a profile. spans: its GPUs are
 * on several nodes. This and the functions below allocate nothing. */
uint32_t adl_estimates_profile(struct adl_estimates *estimates, const struct adl_job_spec *spec, bool spans);

/* Identifies the jobs of the profile; changes when the index is reused for other jobs. */
uint64_t adl_estimates_key(const struct adl_estimates *estimates, uint32_t profile);

/* Adds measured steps/s of such a job on a type, beside a job of some profile or alone (ADL_NONE). */
void adl_estimates_measure(struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                           double steps_per_s);

/* The estimate of one cell. steps_per_s 0: it does not run there. */
void adl_estimates_find(const struct adl_estimates *estimates, uint32_t profile, uint32_t type, uint32_t neighbour,
                        struct adl_estimate *ret);

/* All measurements and what was estimated from them, as bytes; and back, into one without profiles. On failure it is to
 * be destroyed. */
void adl_estimates_encode(const struct adl_estimates *estimates, struct adl_text *ret);
int adl_estimates_decode(struct adl_estimates *estimates, struct adl_unpack *from, const struct adl_translation *to,
                         struct adl_estimate_account *ret, struct adl_error *err);

#endif
