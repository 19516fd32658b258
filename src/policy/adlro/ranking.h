/* ranking: waiting jobs, the first in rank on top of a heap, and before them those that were popped, in order.
 *
 * The rank, highest first, is (1 + age) / (rest * size) with age = 1 / (1 / (2 (wait / rest)^1.5) + 1 / 50): jobs
 * that are soon done first, and those that have waited long for what they need, but not before all that need less. */
#ifndef ADLRO_POLICY_ADLRO_RANKING_H
#define ADLRO_POLICY_ADLRO_RANKING_H

#include "base/error.h"
#include "state/state.h"

struct adl_ranking {
    struct adl_ranked {
        double score;
        uint32_t slot;
    } * jobs;
    uint32_t count;
    size_t capacity;
    uint32_t *popped; /* in order of rank */
    size_t popped_capacity;
    uint32_t popped_count, next; /* next: the one whose turn is next */
    uint64_t sequence;           /* of the caller, when it was ranked */
};

int adl_ranking_reserve(struct adl_ranking *ranking, size_t jobs); /* 0 or ADL_ENOMEM; what follows allocates nothing */
void adl_ranking_clear(struct adl_ranking *ranking);               /* frees; accepts a zeroed one */
int adl_ranking_copy(struct adl_ranking *to, const struct adl_ranking *from); /* 0 or ADL_ENOMEM */

/* How much of the cluster a job takes, for its score. A gang that may span nodes takes any GPUs, and the rate of
 * completions per GPU is what counts: its number of GPUs. One that needs a node waits for more than GPUs, and would
 * wait too long by that: the root. */
double adl_ranking_size(const struct adl_job_spec *spec);

/* Of a job that has waited that long. rest_us: run time that is left on its best type. */
double adl_ranking_score(double wait_us, double rest_us, double size);

/* Jobs are added in any order after adl_ranking_begin; adl_ranking_sort makes the heap. */
void adl_ranking_begin(struct adl_ranking *ranking, uint64_t sequence);
void adl_ranking_add(struct adl_ranking *ranking, double score, uint32_t slot);
void adl_ranking_sort(struct adl_ranking *ranking, const struct adl_state *state);

/* A job that was stopped joins the order again: after those popped, in place of what it had of it. false: there is no
 * memory, or most of the jobs in it wait no more; all have to be ranked. */
bool adl_ranking_rejoin(struct adl_ranking *ranking, const struct adl_state *state, double score, uint32_t slot);

/* The jobs in turn, the first in rank first; ADL_NONE after the last. adl_ranking_again: from the first on, with the
 * scores that they had; jobs that wait no more have to be left out by the caller. */
uint32_t adl_ranking_next(struct adl_ranking *ranking, const struct adl_state *state);
void adl_ranking_again(struct adl_ranking *ranking);
uint32_t adl_ranking_left(const struct adl_ranking *ranking); /* jobs that have not had their turn */

/* With a queue much longer than planned_max most decisions plan only part of that: until no GPU is free, and fewer the
 * longer the queue is. They leave prices as they are. */
uint32_t adl_ranking_part(const struct adl_ranking *ranking, uint32_t planned_max);

#endif
