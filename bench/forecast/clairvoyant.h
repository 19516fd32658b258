/* clairvoyant: when waiting jobs start in futures that know what no forecast can: true run times, the true process of
 * submissions, or the true submissions. How near their p50 comes to the starts says how good any forecast could be.
 *
 * Futures of its own, beside src/twin/fork.h, so that the product has no way to the truth. */
#ifndef ADLRO_BENCH_CLAIRVOYANT_H
#define ADLRO_BENCH_CLAIRVOYANT_H

#include "engine/engine.h"
#include "sim/source.h"
#include "twin/recent.h"

/* What is known, as a mask; what is not is drawn as src/twin/fork.c does. */
enum {
    CLAIRVOYANT_RUNS = 1,        /* run times of the jobs that are there */
    CLAIRVOYANT_PROCESS = 2,     /* further submissions are other draws from the process of the true ones */
    CLAIRVOYANT_SUBMISSIONS = 4, /* further submissions are the true ones */
    CLAIRVOYANT_KINDS = 8,       /* how long jobs of the same name, GPUs and limit run, in the process of the true ones:
                                  * the most that can be known of a run time before it ends */
};

/* Jobs in order of submission, with their true run times. */
struct clairvoyant_jobs {
    struct adl_true_job *list;
    size_t count, capacity;
};

int clairvoyant_jobs_read(struct clairvoyant_jobs *ret, const struct adl_job_source *source, struct adl_error *err);
void clairvoyant_jobs_clear(struct clairvoyant_jobs *jobs);

struct clairvoyant_config {
    const struct adl_engine *engine; /* read when it is created */
    struct adl_preemption preemption;
    bool kill_at_limit, one_by_one;
    int known;
    uint32_t futures;
    double horizon_s;
    uint64_t events_max;                   /* of a future */
    const struct clairvoyant_jobs *truth;  /* of the run; ids are indices */
    const struct clairvoyant_jobs *others; /* draws of the process; a future takes one of them */
    uint32_t other_count;
};

struct clairvoyant;

int clairvoyant_create(const struct clairvoyant_config *config, struct clairvoyant **ret, struct adl_error *err);
void clairvoyant_destroy(struct clairvoyant *self); /* accepts NULL */

/* Plays the futures of a base for all its waiting jobs, or for the one in a slot (ADL_NONE: all). */
int clairvoyant_refresh(struct clairvoyant *self, const struct adl_engine *base, const struct adl_recent *recent,
                        uint64_t seed, uint32_t slot, struct adl_error *err);

/* Of a job that waited then: its starts, ascending, ADL_NEVER_US where a future did not reach it; NULL: it did not
 * wait. */
const int64_t *clairvoyant_starts(const struct clairvoyant *self, uint32_t slot);
uint64_t clairvoyant_events(const struct clairvoyant *self); /* that were played for it */

#endif
