/* speed_regression: how fast jobs run on each GPU type and across nodes, from the run times of completed jobs:
 *
 *     ln(limit / run time) = ln(speed by specification) + a(family, gang) + b(family, type) + s(family) * [spans nodes]
 *
 * A family is a class, or a name where jobs have one. b and s are shrunk to 0, which is what specifications say, by a
 * ridge as strong as run times are noisy. Without s a type whose nodes are small would be taken for a slow one.
 *
 * Memory is fixed: 128 families, of which the least recently seen is forgotten; at 2,000 jobs a family's sums are
 * halved, so that old jobs lose weight. Nothing allocates after creation. */
#ifndef ADLRO_PREDICT_SPEED_REGRESSION_H
#define ADLRO_PREDICT_SPEED_REGRESSION_H

#include "base/error.h"
#include "model/cluster.h"
#include "model/job.h"
#include "predict/packing.h"

#include <stdbool.h>

struct adl_speed_regression;

int adl_speed_regression_create(uint32_t types, struct adl_speed_regression **ret); /* 0 or ADL_ENOMEM */
void adl_speed_regression_destroy(struct adl_speed_regression *regression);         /* accepts NULL */
void adl_speed_regression_copy(struct adl_speed_regression *to, const struct adl_speed_regression *from);

/* A job that ran to its end at once, alone on GPUs of a type. specified: speed [type] by specification. */
void adl_speed_regression_learn(struct adl_speed_regression *regression, const struct adl_job_spec *spec, uint32_t type,
                                bool spans, int64_t run_us, const double *specified);

/* Relative speeds [type] within a node and across nodes. False if no job of its family has completed. */
bool adl_speed_regression_find(const struct adl_speed_regression *regression, const struct adl_job_spec *spec,
                               const double *specified, double *ret, double *ret_across);

/* As bytes, and back into one that has learned nothing. False: they are damaged. What was learned of classes and types
 * that this cluster does not have is left out. */
void adl_speed_regression_encode(const struct adl_speed_regression *regression, struct adl_text *ret);
bool adl_speed_regression_decode(struct adl_speed_regression *regression, struct adl_unpack *from,
                                 const struct adl_translation *to);

#endif
