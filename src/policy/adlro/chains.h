/* chains: a running job moves to free GPUs of another type so that a waiting job gets its GPUs (an ejection chain of
 * two jobs).
 *
 * It pays if the waiting job saves more, against its planned place and with prices, than the running one loses with the
 * price of its move. The GPUs of both are held until the running job has stopped. */
#ifndef ADLRO_POLICY_ADLRO_CHAINS_H
#define ADLRO_POLICY_ADLRO_CHAINS_H

#include "policy/adlro/moves.h"
#include "policy/adlro/place.h"

struct adl_chains {
    struct adl_known_relocation {
        uint64_t search; /* in which it was computed */
        bool found;
        struct adl_relocation it;
    } * known; /* [first GPU of a job] where it could go */
    uint64_t search;
};

int adl_chains_create(struct adl_chains *ret, const struct adl_cluster *cluster); /* 0 or ADL_ENOMEM */
void adl_chains_clear(struct adl_chains *chains);                                 /* frees; accepts a zeroed one */

/* Adds moves that make room for the first of these jobs, where that pays: their number, or ADL_EREFUSED. waiting:
 * planned jobs in order of rank; places [slot]. */
int adl_chains_decide(struct adl_chains *chains, struct adl_moves *moves, const struct adl_moves_view *view,
                      const uint32_t *waiting, uint32_t count, const struct adl_place *places, struct adl_plan *plan);

#endif
