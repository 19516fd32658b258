/* corrections: how completed jobs of a class related to their predictions: longer or shorter on which GPU type, with
 * how many GPUs, and across nodes. ln(actual / predicted) = a(class, gang) + b(class, type) + w(class) * traits(type) +
 * s(class) [across nodes] by ridge regression: what was seen little is corrected little. Traits are what specifications
 * tell of a type, such as its FP64 rate: a class that is slow on one type without FP64 is expected to be on others. */
#ifndef ADLRO_POLICY_ADLRO_CORRECTIONS_H
#define ADLRO_POLICY_ADLRO_CORRECTIONS_H

#include "model/cluster.h"
#include "model/job.h"

struct adl_corrections;

/* Run time across nodes relative to one node, at least: so much a run in one node is preferred, because a gang that
 * starts early across nodes delays others. More where energy counts: one that turns out to be slow there keeps the
 * whole cluster on. */
#define ADL_ACROSS_LEAST        1.2
#define ADL_ACROSS_LEAST_FRUGAL 1.6487212707001282 /* e^0.5 */

int adl_corrections_create(const struct adl_cluster *cluster, double across_least,
                           struct adl_corrections **ret);          /* 0 or ADL_ENOMEM */
void adl_corrections_destroy(struct adl_corrections *corrections); /* accepts NULL */

/* What was learned. What is expected of runs across nodes stays as it was created: the least may be another. */
void adl_corrections_copy(struct adl_corrections *to, const struct adl_corrections *from);
void adl_corrections_reset(struct adl_corrections *corrections); /* as after create */

/* Run time across nodes relative to one node, until completed jobs or measured speeds tell: the least, or more where
 * the links within all nodes of the type are known to be much faster than the network between them. */
double adl_corrections_across(const struct adl_corrections *corrections, uint32_t type);

/* ln of its part above the least. Completed jobs correct that part. The least stays, whatever they show. */
double adl_corrections_beyond(const struct adl_corrections *corrections, uint32_t type);

/* A job completed. log_ratio: ln(actual / predicted run time); of a run across nodes that was predicted as one in a
 * node, less the part of the prior that is corrected. */
void adl_corrections_learn(struct adl_corrections *corrections, const struct adl_job_spec *spec, uint32_t type,
                           bool across, double log_ratio);

/* A job reported its speed, and predictions of jobs like it use that: only its class's term across nodes counts from
 * now on. */
void adl_corrections_measured(struct adl_corrections *corrections, const struct adl_job_spec *spec);

/* Factor for the predicted run time of such a job, relative to that of all jobs. */
double adl_corrections_factor(const struct adl_corrections *corrections, const struct adl_job_spec *spec, uint32_t type,
                              bool across);

/* The same for all types, in one node: that of a type is at ADL_CORRECTIONS_STRIDE times its index. */
#define ADL_CORRECTIONS_STRIDE 16
const double *adl_corrections_factors(const struct adl_corrections *corrections, const struct adl_job_spec *spec);

/* Begins to load the factors of the first classes (base/fetch.h). */
void adl_corrections_fetch(const struct adl_corrections *corrections);

#endif
