/* learning: a belief from jobs that have ended: those of a trace, in the order of their ends. */
#ifndef ADLRO_EXPERIMENT_LEARNING_H
#define ADLRO_EXPERIMENT_LEARNING_H

#include "model/scenario.h"
#include "predict/belief.h"
#include "sim/source.h"

struct adl_learning {
    const struct adl_job_supply *supply;
    const struct adl_scenario *scenario; /* its cluster: jobs ran on the fastest type that they accept */
    const void *belief;                  /* bytes to go on from; NULL = from nothing */
    size_t belief_size;
    const char *origin;
};

/* The belief as bytes, and what is in it. A job is taken to have started when it was submitted, because a trace does
 * not tell its wait; each is predicted from jobs that ended before it was submitted. */
int adl_learning_run(const struct adl_learning *learning, struct adl_text *ret, uint64_t *ret_jobs,
                     struct adl_error *err);

/* A cluster of one type that stands for all, with room for any job. */
int adl_learning_any_cluster(struct adl_cluster *ret, struct adl_error *err);

#endif
