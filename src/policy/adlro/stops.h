/* stops: running jobs that are stopped because a waiting job needs their GPUs more.
 *
 * A waiting job takes the GPUs of running ones in one bank if each of them needs much more time to complete there than
 * it does, after the price of the stop, and if it gains more than they lose: it starts now instead of at its
 * planned place, and they run later by its run time and what a stop costs. Both times are the belief's expected cost of
 * a completion, so that a job of which little is known gets a chance, and one that has outlived most jobs gives way.
 * The GPUs are held for the waiting job until the others have stopped. */
#ifndef ADLRO_POLICY_ADLRO_STOPS_H
#define ADLRO_POLICY_ADLRO_STOPS_H

#include "policy/adlro/moves.h"
#include "policy/adlro/place.h"

/* Waiting jobs for which others may be stopped: those that need least run time, because one that has waited long comes
 * first in rank, but gains less than is lost. */
#define ADL_STOPS_WAITING 4

struct adl_stops {
    uint64_t *seen; /* [bank] the last search that looked at it */
    uint64_t search;
    uint32_t least[ADL_STOPS_WAITING]; /* waiting jobs that need least run time when last offered, least first */
    uint32_t least_count;
    uint32_t gpus;
    struct adl_stop_try {
        uint32_t slot;
        int64_t submit_us, until_us;
        double cost_us;
    } tried[ADL_STOPS_WAITING]; /* waiting jobs that found nobody to stop: until then, at that cost of their places */
    struct adl_stop_need {
        uint32_t slot; /* of the job, and when it started: what is known of another is not of this one */
        int64_t start_us, until_us;
        double left_us; /* run time to its completion, until then */
    } * needs;          /* [first GPU of a job] */
};

int adl_stops_create(struct adl_stops *ret, const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_stops_copy(struct adl_stops *to, const struct adl_stops *from);        /* of the same cluster */
void adl_stops_clear(struct adl_stops *stops);                                  /* frees; accepts a zeroed one */

/* Each waiting job is offered after that. places [slot]. */
void adl_stops_begin(struct adl_stops *stops);
void adl_stops_offer(struct adl_stops *stops, const struct adl_place *places, uint32_t slot);

/* Adds stops for the first of these planned jobs that they pay for, if any: 1, else 0, or ADL_EREFUSED. */
int adl_stops_decide(struct adl_stops *stops, struct adl_moves *moves, const struct adl_moves_view *view,
                     const uint32_t *waiting, uint32_t count, const struct adl_place *places, struct adl_plan *plan);

#endif
