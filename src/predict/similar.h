/* similar: how long a job will take and of which class it is, from the jobs that were submitted most like it and have
 * ended.
 *
 * What a submission says is one hypervector (hdc/encoder.h); the nearest of those remembered are its neighbours.
 * Their run times are averaged in log space, the nearer the more, after the part that the users' limits explain among
 * them has been taken out (a regression of one variable, held to the slope over all jobs while neighbours say little).
 *
 * Memory is fixed: so many jobs as it was created for, the oldest forgotten first. */
#ifndef ADLRO_PREDICT_SIMILAR_H
#define ADLRO_PREDICT_SIMILAR_H

#include "hdc/encoder.h"
#include "model/job.h"

/* What may be known of a submission. Adding one takes a line here and one in the table of similar.c. */
enum adl_trait {
    ADL_TRAIT_NAME,  /* hash of the job's or model's name */
    ADL_TRAIT_CLASS, /* job class it says it is */
    ADL_TRAIT_USER,
    ADL_TRAIT_GROUP, /* virtual cluster, partition or project */
    ADL_TRAIT_KIND,  /* enum adl_job_kind */
    ADL_TRAIT_FLAGS, /* enum adl_job_flag */
    ADL_TRAIT_TYPES, /* mask of acceptable GPU types */
    ADL_TRAIT_GANG,  /* its number of GPUs, as a symbol: one GPU and two are different worlds */
    ADL_TRAIT_GPUS,  /* the same as a number, log2 */
    ADL_TRAIT_CORES, /* per GPU, log2 */
    ADL_TRAIT_MEMORY_MIB,
    ADL_TRAIT_GPU_MEMORY_MIB,
    ADL_TRAIT_PRIORITY,
    ADL_TRAIT_THROUGHPUT, /* least steps/s it asks for, log2 */
    ADL_TRAIT_LIMIT_US,   /* natural logarithm */
    ADL_TRAIT_DAYTIME_US, /* when it was submitted */
    ADL_TRAIT_SUBMIT_US,
    ADL_TRAIT_COUNT,
};

struct adl_traits {
    struct adl_value values[ADL_TRAIT_COUNT];
};

/* What a specification says; what it leaves open (no cores, no limit, ...) is not known. */
void adl_traits_read(struct adl_traits *ret, const struct adl_job_spec *spec, int64_t submit_us);

#define ADL_CLASS_UNKNOWN UINT32_MAX

struct adl_similar_answer {
    int64_t run_us;       /* the time it is expected to take, at least 1 */
    double spread;        /* standard deviation of its logarithm among the neighbours */
    uint32_t class_index; /* of most neighbours, by weight; ADL_CLASS_UNKNOWN if none has one */
    double class_share;   /* their share of the weight, 0..1 */
    uint32_t neighbours;
};

struct adl_similar;

int adl_similar_create(uint32_t capacity, struct adl_similar **ret, struct adl_error *err);
void adl_similar_destroy(struct adl_similar *similar); /* accepts NULL */

/* A job ended after this time. class_index: what it was, or ADL_CLASS_UNKNOWN. Allocates nothing, nor does predict. */
void adl_similar_learn(struct adl_similar *similar, const struct adl_traits *traits, int64_t run_us,
                       uint32_t class_index);

/* False, and ret untouched, if nothing has been learned yet. */
bool adl_similar_predict(struct adl_similar *similar, const struct adl_traits *traits, struct adl_similar_answer *ret);

#endif
