/* runtime: the predicted run time of a job on each GPU type, before it has run.
 *
 * Declared: the user's limit holds for the slowest type the job accepts; on faster types it is scaled by the ratio of
 * speeds by specification for that kind of job. Learned: the time on the best type is predicted from completed jobs
 * (predict/similar.h), and scaled to other types by measured speeds (predict/speeds.h), until there are any in the same
 * way. Oracle: the world tells the true times. */
#ifndef ADLRO_PREDICT_RUNTIME_H
#define ADLRO_PREDICT_RUNTIME_H

#include "base/error.h"
#include "model/cluster.h"
#include "model/event.h"
#include "state/state.h"

struct adl_runtime;

/* Of a whole job [type], 0 = not acceptable. */
struct adl_runtimes {
    int64_t best_us[ADL_TYPES_MAX];   /* on the best placement that the type has */
    int64_t across_us[ADL_TYPES_MAX]; /* across nodes */
};

int adl_runtime_create(const struct adl_cluster *cluster, bool learned, struct adl_runtime **ret); /* 0 or ADL_ENOMEM */
void adl_runtime_destroy(struct adl_runtime *runtime);                                             /* accepts NULL */

/* Takes over what another of the same cluster has learned, which gets what this one has. */
void adl_runtime_inherit(struct adl_runtime *runtime, struct adl_runtime *from);

/* Of the job that a SUBMIT tells of. This and what follows allocate nothing. */
void adl_runtime_predict(struct adl_runtime *runtime, const struct adl_event *event, struct adl_runtimes *ret);

/* From a FINISH or PROGRESS, before the state knows of it. No effect unless run times are learned. */
void adl_runtime_learn(struct adl_runtime *runtime, const struct adl_event *event, const struct adl_state *state);

#endif
