/* effort: how much a decision looks at, by the size of the cluster. Twice as many GPUs have twice as many events, and
 * each has twice as much to look at. Clusters below ADL_EFFORT_GPUS look at all each time. */
#ifndef ADLRO_POLICY_ADLRO_EFFORT_H
#define ADLRO_POLICY_ADLRO_EFFORT_H

#include "model/cluster.h"

#include <stdbool.h>

#define ADL_EFFORT_GPUS 128

/* What is expected of running jobs, and the order of waiting ones, is kept for a while. */
bool adl_effort_is_saved(const struct adl_cluster *cluster);

/* With a queue n times as long as what one decision plans, at least that many times n decisions from one plan of all
 * jobs to the next. */
uint32_t adl_effort_plans_apart(const struct adl_cluster *cluster);

/* One of so many decisions looks for jobs that move. The others look only at free GPUs of types of which more are free
 * than before. */
uint32_t adl_effort_looks_apart(const struct adl_cluster *cluster);

#endif
