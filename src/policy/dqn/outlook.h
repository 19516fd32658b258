/* outlook: where and when the waiting jobs would start if policy adlro planned them (policy/adlro/place.h). Its places
 * and costs are features of actions, and its plan is what training begins with.
 *
 * The plan is made again when something changed that it did not expect; a start that it planned leaves it as it is. */
#ifndef ADLRO_POLICY_DQN_OUTLOOK_H
#define ADLRO_POLICY_DQN_OUTLOOK_H

#include "policy/adlro/place.h"
#include "policy/adlro/ranking.h"
#include "policy/dqn/bottleneck.h"

#define ADL_OUTLOOK_JOBS 64 /* waiting jobs that get a place, in order of rank */

/* A start that is planned for now. */
struct adl_planned_start {
    uint32_t slot, type;
    const uint32_t *gpus;
};

struct adl_outlook {
    struct adl_corrections *corrections;
    struct adl_free_profile *profile;
    struct adl_type_prices prices;
    struct adl_ranking ranking;
    struct adl_bottleneck bottleneck;
    uint32_t widest[ADL_TYPES_MAX]; /* most GPUs of the type in one node */
    uint32_t reserved;              /* the job that is planned first, or ADL_NONE */
    struct adl_place *places;       /* [slot] */
    size_t place_capacity;
    struct adl_planned_start starts[ADL_OUTLOOK_JOBS];
    uint32_t start_count;
    uint32_t *gpus;     /* [gpu_count] of those starts */
    uint32_t gpu_count; /* of the cluster */
    bool failed;        /* there was no memory for a job */
    bool outdated;      /* an action was executed that was not planned */
    int64_t planned_us;
    uint64_t planned_releases, planned_sequence;
};

int adl_outlook_create(const struct adl_cluster *cluster, int64_t preemption_us, struct adl_outlook *ret);
void adl_outlook_clear(struct adl_outlook *outlook); /* frees; accepts a zeroed one */
void adl_outlook_reset(struct adl_outlook *outlook); /* as after create */
/* Of an outlook on the same cluster. 0 or ADL_ENOMEM. */
int adl_outlook_copy(struct adl_outlook *to, const struct adl_outlook *from);
int adl_outlook_reserve(struct adl_outlook *outlook, size_t jobs); /* room for that many; 0 or ADL_ENOMEM */

/* A job joins the queue. */
void adl_outlook_join(struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot);

/* Every event, before it changes the state: learns from jobs that complete. */
void adl_outlook_observe(struct adl_outlook *outlook, const struct adl_event *event, const struct adl_state *state);

/* Plans the waiting jobs, unless the last plan still holds. Reserved is the overdue job, if there is one; else, the
 * more readily the higher lambda, the first in rank of those that can run only on the bottleneck, while other GPUs are
 * going to be idle before it is. */
void adl_outlook_find(struct adl_outlook *outlook, const struct adl_state *state, uint32_t overdue, double lambda);

/* Begins to load what a plan reads, of so many slots (base/fetch.h). */
void adl_outlook_fetch(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slots);

/* The start of a waiting job that is planned for now on a type, or NULL. */
const struct adl_planned_start *adl_outlook_start(const struct adl_outlook *outlook, uint32_t slot, uint32_t type);

/* Rank of a waiting job (policy/adlro/ranking.h). */
double adl_outlook_rank(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot);

/* Rest of a waiting job's run on a type, and what it would cost to start it there now. */
double adl_outlook_rest_us(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot,
                           uint32_t type, bool across);
double adl_outlook_cost_us(const struct adl_outlook *outlook, const struct adl_state *state, uint32_t slot,
                           uint32_t type, bool across);

#endif
