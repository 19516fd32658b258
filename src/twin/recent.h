/* recent: what happened lately, for futures that resemble it: who submitted what in which hour of the week, what it
 * took, and how often GPUs failed and for how long.
 *
 * An observer of the engine: it sees what any user of the cluster sees, and nothing of what is to come. */
#ifndef ADLRO_TWIN_RECENT_H
#define ADLRO_TWIN_RECENT_H

#include "base/text.h"
#include "engine/engine.h"

#define ADL_RECENT_JOBS  4096 /* submissions that are remembered */
#define ADL_RECENT_HOURS 1344 /* and hours: eight weeks */

/* A submission. */
struct adl_recent_job {
    struct adl_job_spec spec;
    int64_t submit_us;
    double work_us; /* what it took, as time on its best type; 0: it has not ended */
    uint32_t slot;  /* while it is live; ADL_NONE = it has ended */
    uint32_t slots; /* that it has: more than one if it accepts alternatives */
    float rank; /* of what it took in what the belief expected (adl_belief_rank); 0: it has not ended, or never ran */
    float here[ADL_TYPES_MAX], across[ADL_TYPES_MAX]; /* when it has ended: run time on a type relative to work_us */
};

/* The end of a job, before the state knows of it: what its attempts amounted to. */
void adl_recent_learn(struct adl_recent_job *job, const struct adl_event *event, const struct adl_state *state);

struct adl_recent;

int adl_recent_create(const struct adl_cluster *cluster, struct adl_recent **ret); /* 0 or ADL_ENOMEM */
void adl_recent_destroy(struct adl_recent *recent);                                /* accepts NULL */

/* Of one engine from its first event on, or of one after the other if they have the same jobs in the same slots: a job
 * that is known in its slot, or that was submitted in an earlier hour, is no new submission. It fails only for lack of
 * memory. */
struct adl_observer adl_recent_observer(struct adl_recent *recent);

/* Becomes equal to another of the same cluster, which stays as it is: 0 or ADL_ENOMEM. */
int adl_recent_copy(struct adl_recent *to, const struct adl_recent *from);

/* As bytes with a version and a checksum, for an engine of the same GPU types that follows after a pause: jobs that
 * were live are found again by their ids when it names them, and hours that nobody looked at are left out. Engine times
 * differ from wall time by wall_ahead_us; between the two engines they move by whole hours. Decode fails with a text if
 * bytes are not usable, and then changes nothing. */
void adl_recent_encode(const struct adl_recent *recent, int64_t wall_ahead_us, struct adl_text *ret);
int adl_recent_decode(struct adl_recent *recent, const void *bytes, size_t size, int64_t wall_ahead_us, int64_t now_us,
                      struct adl_error *err);

/* Failures of GPUs so far, in the form in which the simulator draws them: 0 = there were none. */
struct adl_faults adl_recent_faults(const struct adl_recent *recent);

/* How much alike the run times of one user's jobs are, beyond what was expected of each: the share of jobs, 0 to 1,
 * that take the rank of their user in place of one of their own. */
double adl_recent_likeness(const struct adl_recent *recent);

/* What a live job that has run done_us will take from now on, at a rank from 0 to 1 of what is expected of it: the
 * belief, corrected by how many jobs have ended at each age (twin/age_ratios.h). NULL: the belief alone. */
double adl_recent_left_us(const struct adl_recent *recent, const struct adl_belief *belief, uint32_t slot,
                          double done_us, double rank);

/* Waits below that are much alike here: a part of how long jobs run. NULL: nothing is known. */
double adl_recent_alike_us(const struct adl_recent *recent);

/* A past hour to take the submissions from that the hour of this time will have: the same hour of a past week if it is
 * known often enough, else of a past day or one of the last, else any. draw: uniform in [0, 1). The hour as an index
 * for adl_recent_jobs; ADL_NONE: nothing is known. */
uint32_t adl_recent_hour(const struct adl_recent *recent, int64_t time_us, double draw);

/* The submissions of that hour: the first, and their number. The hour began at *ret_us. */
uint32_t adl_recent_jobs(const struct adl_recent *recent, uint32_t hour, uint64_t *ret_first, int64_t *ret_us);
const struct adl_recent_job *adl_recent_job(const struct adl_recent *recent, uint64_t number);

#endif
