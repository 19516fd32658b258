/* stops: running jobs that are stopped because a waiting job needs their GPUs more.
 *
 * A waiting job takes the GPUs of running ones in one bank if each of them needs much more GPU time to complete there
 * than it does, after the price of the stop, and if it gains more than they lose: it starts now instead of at its
 * planned place, and they run later by its run time and what a stop costs. Both times are the belief's expected cost of
 * a completion, so that a job of which little is known gets a chance, and one that has outlived most jobs gives way.
 * The GPUs are held for the waiting job until the others have stopped. */
#ifndef ADLRO_POLICY_ADLRO_STOPS_H
#define ADLRO_POLICY_ADLRO_STOPS_H

#include "policy/adlro/moves.h"
#include "policy/adlro/place.h"

struct adl_stops {
    uint64_t *seen; /* [bank] the last search that looked at it */
    uint64_t search;
    struct adl_stop_need {
        uint64_t decision; /* in which it was computed */
        double us;
    } * needs; /* [first GPU of a job] what it needs to complete */
    uint64_t decision;
};

int adl_stops_create(struct adl_stops *ret, const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_stops_clear(struct adl_stops *stops);                                  /* frees; accepts a zeroed one */

/* Adds stops for the first of these jobs that they pay for, if any: 1, else 0, or ADL_EREFUSED. waiting: planned jobs
 * in order of rank; places [slot]. */
int adl_stops_decide(struct adl_stops *stops, struct adl_moves *moves, const struct adl_moves_view *view,
                     const uint32_t *waiting, uint32_t count, const struct adl_place *places, struct adl_plan *plan);

#endif
