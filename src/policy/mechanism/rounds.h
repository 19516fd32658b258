/* rounds: turns shares of time into placements, round by round: the mechanism of Gavel (D. Narayanan et al.,
 * "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020, section 5 and algorithm 1).
 *
 * X_ja is the share of time that job j is to spend on GPUs of type a. In each round jobs are chosen in descending order
 * of (X_ja / f_ja, deficit, X_ja) while GPUs are left, where f_ja is the job's fraction of the time that all jobs have
 * received on type a, and placed largest gang first. A job that stays on its type keeps its GPUs; the others are
 * preempted. GPUs that become free and jobs that arrive within a round wait for the next one, which begins at once if
 * nothing runs.
 *
 * This order has no memory: clocks restart with the shares, so a job with a share far below the others' may never run
 * before the next restart. by_owed_time ranks instead by deficit + X_ja * time - time received, at the end of the
 * coming round, which grows until it is the job's turn.
 *
 * As in the authors' scheduler each job is credited half a round on every type when clocks restart, shares are
 * recomputed when jobs have arrived or ended and at least 16/3 rounds have passed (1,920 s for rounds of 360 s), and a
 * job that has no share yet takes GPUs that are left over. In addition, jobs that are not preemptible stay where they
 * are, and a chosen job that found no room for its gang goes first in the next round.
 *
 * A round that follows from the work is set when shares are recomputed, which happens at once if it would be less than
 * half as long. */
#ifndef ADLRO_POLICY_MECHANISM_ROUNDS_H
#define ADLRO_POLICY_MECHANISM_ROUNDS_H

#include "model/plan.h"
#include "state/state.h"

struct adl_rounds;

struct adl_rounds_jobs {
    const uint32_t *slots; /* in order of arrival */
    uint32_t count;
    const uint32_t *types; /* [slot] mask of types on which it can ever run */
    double *share;         /* [slot * types of the cluster + type] X_ja, zeros for these jobs; to be filled */
};

/* Computes the shares. 0 or negative. */
typedef int adl_rounds_allocate(void *context, const struct adl_state *state, const struct adl_rounds_jobs *jobs);

struct adl_rounds_config {
    int64_t round_us;       /* 0 = it follows from the work: */
    double round_part;      /* ... this part of the median predicted run time of the jobs so far */
    int64_t round_least_us; /* ... and at least this */
    bool type_by_type;      /* assign GPUs of the first type, then those of the second ...; else by rank alone */
    bool types_shuffled;    /* the same, in a new random order each round */
    bool by_owed_time;      /* rank by the time that a job is owed, including earlier periods */
    bool new_jobs_wait;     /* a job without a share yet is ranked and blocks GPUs, but does not run */
};

int adl_rounds_create(const struct adl_cluster *cluster, const struct adl_rounds_config *config, uint64_t seed,
                      struct adl_rounds **ret);
void adl_rounds_destroy(struct adl_rounds *rounds);                        /* accepts NULL */
int adl_rounds_copy(struct adl_rounds *to, const struct adl_rounds *from); /* created in the same way; or ADL_ENOMEM */

/* Tracks the jobs and the time they receive. Grows the tables: the next decision reports that memory ran out. */
void adl_rounds_observe(struct adl_rounds *rounds, const struct adl_event *event, const struct adl_state *state);

double adl_rounds_length_s(const struct adl_rounds *rounds); /* of the present round; 0 = there was none yet */

int adl_rounds_decide(struct adl_rounds *rounds, const struct adl_state *state, adl_rounds_allocate *allocate,
                      void *context, struct adl_plan *plan);

#endif
