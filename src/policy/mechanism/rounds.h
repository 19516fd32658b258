/* rounds: turns shares of time into who runs where, round by round: the mechanism of Gavel (D. Narayanan et al.,
 * "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020, section 5 and algorithm 1).
 *
 * X_ja is the share of time that job j is to spend on GPUs of type a. In each round the jobs are taken in descending
 * order of (X_ja / f_ja, deficit, X_ja) as long as GPUs are left, where f_ja is the job's part of the time that all
 * jobs have had on type a, and placed largest gang first. A job that stays on its type keeps its GPUs and runs on; the
 * others are preempted. What ends or comes within a round waits for the next one, which begins at once if nothing runs.
 *
 * The order forgets: clocks start anew with the shares, so a share far below the others' is never reached before the
 * next start. by_owed_time ranks instead by deficit + X_ja time - time had, at the end of the round to come, which
 * adds up until it is the job's turn.
 *
 * As in the authors' scheduler each job is credited half a round on every type when clocks start anew, shares are
 * computed anew when jobs came or went and at least 16/3 rounds after the last time (1,920 s for rounds of 360 s), and
 * a job that has no share yet takes what others leave. Beyond it: jobs that are not preemptible stay where they are; a
 * job that was chosen but found no place together goes first in the next round. */
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
    int64_t round_us;
    bool type_by_type;   /* GPUs of the first type are given out, then those of the second ...; else by rank alone */
    bool types_shuffled; /* the same in a new random order in each round */
    bool by_owed_time;   /* rank by the time that a job should have had beyond what it had, also in the past */
    bool new_jobs_wait;  /* a job without a share yet is ranked and holds GPUs, but does not run */
};

int adl_rounds_create(const struct adl_cluster *cluster, const struct adl_rounds_config *config, uint64_t seed,
                      struct adl_rounds **ret);
void adl_rounds_destroy(struct adl_rounds *rounds); /* accepts NULL */

/* Keeps the list of jobs and the time they had. Grows the tables: out of memory is told by the next decision. */
void adl_rounds_observe(struct adl_rounds *rounds, const struct adl_event *event, const struct adl_state *state);

int adl_rounds_decide(struct adl_rounds *rounds, const struct adl_state *state, adl_rounds_allocate *allocate,
                      void *context, struct adl_plan *plan);

#endif
