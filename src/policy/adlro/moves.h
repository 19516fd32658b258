/* moves: running jobs that are stopped because they end earlier on free GPUs of another type, and the GPUs that are
 * held for jobs that will start when they or others have stopped.
 *
 * A move has to save a twentieth of what the job costs where it is and, beside that, several times what the move itself
 * costs, more for each earlier stop. The GPUs that the job will get are held until it has stopped; then it starts
 * there. */
#ifndef ADLRO_POLICY_ADLRO_MOVES_H
#define ADLRO_POLICY_ADLRO_MOVES_H

#include "model/plan.h"
#include "policy/adlro/due.h"
#include "policy/adlro/energy.h"
#include "policy/adlro/prices.h"
#include "policy/adlro/profile.h"
#include "policy/adlro/rest.h"

#define ADL_MOVES_MAX       16 /* at one time */
#define ADL_MOVES_LOOKED_AT 32 /* running jobs of each type, those that end last */

struct adl_moves {
    struct adl_move {
        uint32_t slot, type;
        struct adl_opening target;
        bool cleared; /* it waits, and others stop for it (policy/adlro/stops.h) */
    } list[ADL_MOVES_MAX];
    uint32_t count;
    uint32_t gpus[ADL_BANK_GPUS_MAX]; /* scratch */
};

/* The next job that has stopped, or that others have stopped for, and can start at its target now; false if there is
 * none. The caller starts it before it asks again, because two targets may be on one node. */
bool adl_moves_next_start(struct adl_moves *moves, const struct adl_state *state, struct adl_free_profile *profile,
                          struct adl_move *ret);

/* Holds the GPUs of the moves that are left. */
void adl_moves_hold(struct adl_moves *moves, const struct adl_state *state, struct adl_free_profile *profile);

/* GPUs are held for the job; or GPUs of the node are. */
static inline bool adl_moves_hold_for(const struct adl_moves *moves, uint32_t slot)
{
    for (uint32_t i = 0; i < moves->count; i++)
        if (moves->list[i].slot == slot)
            return true;
    return false;
}
bool adl_moves_hold_in(const struct adl_moves *moves, const struct adl_cluster *cluster, uint32_t node);

void adl_moves_forget(struct adl_moves *moves, uint32_t slot); /* the job is gone; accepts one that does not move */

struct adl_moves_view {
    const struct adl_state *state;
    struct adl_free_profile *profile;
    const struct adl_corrections *corrections;
    const struct adl_type_prices *prices;
    const struct adl_energy *energy; /* NULL: it has no price */
    const struct adl_due *due;
    double price_weight, stop_margin;
    int64_t switch_us;
};

/* True if a running job may be stopped, and not at the instant at which it started. */
bool adl_moves_may_stop(const struct adl_state *state, uint32_t slot);

/* What the rest of a job's run costs on a type: time, price and energy. */
double adl_moves_cost_us(const struct adl_moves_view *view, uint32_t slot, uint32_t type, double rest_us);

/* Where a running job could go. */
struct adl_relocation {
    struct adl_move move;
    double here_us, there_us, margin_us; /* what it costs as it is; there with the move; what a move has to save */
};

/* The cheapest free GPUs of another type, in one node, whose use delays no planned job; false if there are none. */
bool adl_moves_find(const struct adl_moves_view *view, uint32_t slot, struct adl_relocation *ret);

/* Stops the job for a move and holds its target; there is room in the list. 0 or ADL_EREFUSED. */
int adl_moves_begin(struct adl_moves *moves, const struct adl_moves_view *view, const struct adl_move *move,
                    struct adl_reason reason, struct adl_plan *plan);

/* Adds stops of jobs that move, after the waiting jobs were planned. 0 or ADL_EREFUSED. */
int adl_moves_decide(struct adl_moves *moves, const struct adl_moves_view *view, struct adl_plan *plan);

#endif
