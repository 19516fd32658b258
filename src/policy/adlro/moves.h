/* moves: running jobs that are stopped because they end earlier on free GPUs of another type.
 *
 * A move has to save a tenth of what the job costs where it is and, beside that, several times what the move itself
 * costs, more for each earlier stop. The GPUs that the job will get are held until it has stopped; then it starts
 * there. */
#ifndef ADLRO_POLICY_ADLRO_MOVES_H
#define ADLRO_POLICY_ADLRO_MOVES_H

#include "model/plan.h"
#include "policy/adlro/energy.h"
#include "policy/adlro/prices.h"
#include "policy/adlro/profile.h"
#include "policy/adlro/rest.h"

#define ADL_MOVES_MAX 8 /* at one time */

struct adl_moves {
    struct adl_move {
        uint32_t slot, type;
        struct adl_opening target;
    } list[ADL_MOVES_MAX];
    uint32_t count;
    uint32_t gpus[ADL_BANK_GPUS_MAX]; /* scratch */
};

/* Holds the GPUs of moves under way. A job that has stopped is written to ret_starts, ready to start at its target;
 * their number is returned. */
uint32_t adl_moves_hold(struct adl_moves *moves, const struct adl_state *state, struct adl_free_profile *profile,
                        struct adl_move ret_starts[ADL_MOVES_MAX]);

void adl_moves_forget(struct adl_moves *moves, uint32_t slot); /* the job is gone; accepts one that does not move */

struct adl_moves_view {
    const struct adl_state *state;
    struct adl_free_profile *profile;
    const struct adl_corrections *corrections;
    const struct adl_type_prices *prices;
    const struct adl_energy *energy;
    double price_weight;
    int64_t switch_us;
};

/* Adds stops of jobs that move, after the waiting jobs were planned. 0 or ADL_EREFUSED. */
int adl_moves_decide(struct adl_moves *moves, const struct adl_moves_view *view, struct adl_plan *plan);

#endif
