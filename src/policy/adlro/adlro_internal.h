/* adlro_internal: the state of policy adlro, for the two files that have its functions: adlro.c, what a job or an event
 * changes, and decide.c, the decision. */
#ifndef ADLRO_POLICY_ADLRO_ADLRO_INTERNAL_H
#define ADLRO_POLICY_ADLRO_ADLRO_INTERNAL_H

#include "policy/adlro/chains.h"
#include "policy/adlro/corrections.h"
#include "policy/adlro/due.h"
#include "policy/adlro/fairness.h"
#include "policy/adlro/moves.h"
#include "policy/adlro/place.h"
#include "policy/adlro/ranking.h"
#include "policy/adlro/stops.h"
#include "policy/policy.h"

struct adlro {
    struct adl_objective objective;
    double price_weight, delay_weight;
    uint32_t planned_max;
    struct adl_corrections *corrections;
    struct adl_free_profile *profile;
    struct adl_energy *energy;
    struct adl_type_prices prices;
    struct adl_moves moves;
    struct adl_chains chains;
    struct adl_stops stops;
    bool may_move, may_stop;
    double stop_margin;
    int64_t switch_us;
    struct adl_due due;
    struct adl_fairness fairness;
    struct adl_job_factors factors;
    struct adl_rank_time rank_time;
    struct adl_ranking ranking; /* grown when a job joins, as all that follow */
    struct adl_place *places;   /* [slot] */
    uint64_t *lane_left;        /* [lane] the decision that found no place for its jobs */
    size_t place_capacity, lane_capacity;
    uint32_t *planned; /* jobs that wait at a planned place, of the last decision */
    uint32_t planned_count;
    uint32_t turn, ranked;          /* jobs that had their turn in this decision, and how many it ranks */
    double typical_us;              /* average run time of completed jobs; 0: none has completed */
    double waits[ADL_TYPES_MAX];    /* jobs that the plan lets wait for a type */
    int64_t last_us[ADL_TYPES_MAX]; /* when the last of them starts */
    bool reserved;                  /* a job of this plan holds a reservation */
    bool ranks;                     /* this decision ranked the queue */
    bool failed;
    uint64_t decision;
    uint32_t plans;     /* since the last that set prices */
    uint32_t looks;     /* since the last for jobs that move */
    int64_t settled_us; /* nothing more to do until one of these changes */
    uint64_t settled_releases, settled_sequence;
    uint64_t rejoined; /* jobs that were stopped and are in the order again: no reason to rank all */
};

int adl_adlro_decide(void *policy, const struct adl_state *state, struct adl_plan *plan);

/* The rank of a waiting job. */
double adl_adlro_score(struct adlro *self, const struct adl_state *state, uint32_t slot);

/* Jobs that have joined the queue, but for those that were stopped and are in the order. */
static inline uint64_t adl_adlro_sequence(const struct adlro *self, const struct adl_state *state)
{
    return state->queue.next_sequence - self->rejoined;
}

#endif
