/* similar: the run time and the class of a job, predicted from the completed jobs with the most similar submissions.
 *
 * A submission is encoded as one hypervector (hdc/encoder.h); the nearest remembered ones are its neighbours. The
 * prediction is the median of their run times, weighted by distance, after removing what the users' limits explain (a
 * regression of the logarithms on one variable, shrunk to the slope over all jobs while neighbours are uninformative).
 * The distribution of a job without a limit is that of its neighbours, shrunk to that of its user's jobs
 * (predict/life_tables.h).
 *
 * Memory is fixed: as many jobs as it was created for; the oldest is forgotten first. */
#ifndef ADLRO_PREDICT_SIMILAR_H
#define ADLRO_PREDICT_SIMILAR_H

#include "hdc/encoder.h"
#include "model/job.h"
#include "predict/life_tables.h"
#include "predict/packing.h"

/* Traits of a submission. A new one needs a line here and one in the table of similar.c. */
enum adl_trait {
    ADL_TRAIT_NAME,  /* hash of the job's or model's name */
    ADL_TRAIT_CLASS, /* declared job class */
    ADL_TRAIT_USER,
    ADL_TRAIT_GROUP, /* virtual cluster, partition or project */
    ADL_TRAIT_KIND,  /* enum adl_job_kind */
    ADL_TRAIT_FLAGS, /* enum adl_job_flag */
    ADL_TRAIT_TYPES, /* mask of acceptable GPU types */
    ADL_TRAIT_GANG,  /* its number of GPUs as a symbol, because jobs with one GPU and with two differ in kind */
    ADL_TRAIT_GPUS,  /* the same as a number, log2 */
    ADL_TRAIT_CORES, /* per GPU, log2 */
    ADL_TRAIT_MEMORY_MIB,
    ADL_TRAIT_GPU_MEMORY_MIB,
    ADL_TRAIT_PRIORITY,
    ADL_TRAIT_THROUGHPUT, /* required steps/s, log2 */
    ADL_TRAIT_LIMIT_US,   /* natural logarithm */
    ADL_TRAIT_DAYTIME_US, /* when it was submitted */
    ADL_TRAIT_SUBMIT_US,
    ADL_TRAIT_COUNT,
};

struct adl_traits {
    struct adl_value values[ADL_TRAIT_COUNT];
};

/* Reads a specification; what it leaves open (no cores, no limit, ...) is unknown. */
void adl_traits_read(struct adl_traits *ret, const struct adl_job_spec *spec, int64_t submit_us);

uint64_t adl_traits_owner(const struct adl_traits *traits); /* user and group */

#define ADL_CLASS_UNKNOWN UINT32_MAX

struct adl_similar_prediction {
    int64_t run_us;       /* predicted time, at least 1: the median among the neighbours */
    double spread;        /* standard deviation of its logarithm among the neighbours */
    uint32_t class_index; /* of most neighbours by weight; ADL_CLASS_UNKNOWN if none has one */
    double class_share;   /* their share of the weight, 0..1 */
    uint32_t neighbours;
    float deciles[9]; /* of ln(run time / run_us) among the neighbours, as if they had the job's limit; without a limit,
                         among them and the user's jobs */
};

struct adl_similar;

int adl_similar_create(uint32_t capacity, struct adl_similar **ret, struct adl_error *err);
void adl_similar_destroy(struct adl_similar *similar);                         /* accepts NULL */
void adl_similar_copy(struct adl_similar *to, const struct adl_similar *from); /* of the same capacity */

/* A job completed after run_us. class_index: its class, or ADL_CLASS_UNKNOWN. Neither this nor predict allocates. */
void adl_similar_learn(struct adl_similar *similar, const struct adl_traits *traits, int64_t run_us,
                       uint32_t class_index);

/* A job without a limit is age_us old, as it runs, when it ends, and when it is first seen (predict/life_tables.h). */
void adl_similar_age(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life,
                     double age_us);
void adl_similar_end(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life,
                     double age_us);
void adl_similar_enter(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life,
                       double age_us);

/* False, with ret untouched, if no job has completed yet. */
bool adl_similar_predict(struct adl_similar *similar, const struct adl_traits *traits,
                         struct adl_similar_prediction *ret);

/* What it knows, as bytes: the traits of the jobs, not their hypervectors, which a later program may encode otherwise.
 */
void adl_similar_encode(const struct adl_similar *similar, struct adl_text *ret);

struct adl_similar_account {
    uint32_t jobs;            /* that are remembered */
    uint32_t skipped;         /* because this cluster has none of the GPU types they accept */
    double learned;           /* jobs ever learned from that had a limit */
    double first_us, last_us; /* submission of the jobs; 0 = not known */
};

/* How long jobs without a limit run. */
struct adl_life_tables *adl_similar_life_tables(const struct adl_similar *similar);

/* Reads them into one that has learned nothing; the last jobs if it has room for fewer. On failure it is to be
 * destroyed. */
int adl_similar_decode(struct adl_similar *similar, struct adl_unpack *from, const struct adl_translation *to,
                       struct adl_similar_account *ret, struct adl_error *err);

#endif
