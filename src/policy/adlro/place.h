/* place: where a waiting job is planned, on which GPU type and from when on, and what that costs:
 *   wait_weight * wait + rest of the run + price_weight * price(type) * GPUs * rest of the run + energy of the rest of
 * the run + delay_weight * delay of planned jobs. */
#ifndef ADLRO_POLICY_ADLRO_PLACE_H
#define ADLRO_POLICY_ADLRO_PLACE_H

#include "policy/adlro/due.h"
#include "policy/adlro/energy.h"
#include "policy/adlro/job_factors.h"
#include "policy/adlro/prices.h"
#include "policy/adlro/profile.h"
#include "policy/adlro/rank_time.h"
#include "policy/adlro/rest.h"

struct adl_place {
    struct adl_opening opening; /* start_us INT64_MAX: nowhere */
    uint32_t type, now_type;    /* now_type: the cheapest type where it could start at once, or ADL_NONE */
    double cost_us, next_cost_us, now_cost_us; /* here; on the next best type (0: none); on now_type */
    double rest_us;                            /* on its best type, when it was last planned */
    double need_us;                            /* run time that its completion costs there, the same */
    double rank_us;                            /* run time that it is ranked by, the same (policy/adlro/rank_time.h) */
    uint64_t learned;                          /* jobs that had ended when that was expected */
    uint32_t rank;                             /* in the order of the last decision, from 1 on; 0: it was not planned */
    bool due;                                  /* it pays no price (policy/adlro/due.h) */
};

#define ADL_WAIT_WEIGHT 1.5 /* jobs run longer than believed, and better ones come in between */

/* What a place is chosen by. */
struct adl_place_view {
    const struct adl_state *state;
    struct adl_free_profile *profile;
    const struct adl_corrections *corrections;
    const struct adl_type_prices *prices;
    const struct adl_energy *energy;       /* NULL: it has no price */
    const struct adl_job_factors *factors; /* of prices and waiting for each job; NULL: there are none */
    double price_weight, delay_weight;
    double wait_weight;  /* above 1: the wait for a planned place tends to be longer than believed */
    bool reasons_unread; /* the cost on the next best type, which only reasons have, may be left out */
};

/* A job that joins the queue: nowhere yet, and what is left of its run. */
struct adl_place adl_place_begin(const struct adl_rank_time *rank_time, const struct adl_state *state, uint32_t slot);

/* Sets what is left of the job's run, if the belief has learned since. */
void adl_place_expect(const struct adl_rank_time *rank_time, const struct adl_state *state, uint32_t slot,
                      struct adl_place *place);

/* The cheapest opening of all types, given what is left of the job's run. */
void adl_place_choose(const struct adl_place_view *view, uint32_t slot, struct adl_place *place);

/* True if a job keeps the place that it has: it is still to come, and to start on GPUs on offer now costs no less. Its
 * cost is that from now on. */
bool adl_place_keep(const struct adl_place_view *view, uint32_t slot, struct adl_place *place);

/* For a job behind the planned ones: an opening now that delays none of them, if it would be served no better behind
 * them. last_us [type]: when the last of all who wait would start there. */
void adl_place_leftover(const struct adl_place_view *view, uint32_t slot, const int64_t *last_us,
                        struct adl_place *place);

/* Why a job starts at its place: its rank, what that costs here and on the next best type, and whom it delays.
 * places [slot]; planned: jobs that wait at a planned place; ranked: how many jobs the order has. */
struct adl_reason adl_place_reason(const struct adl_state *state, uint32_t slot, const struct adl_place *places,
                                   const uint32_t *planned, uint32_t count, const struct adl_due *due, uint32_t ranked);

/* For which type a job waits, when its place is planned, and how much cheaper that is than to start now.
 * ranked: how many jobs the order of the last decision had. */
void adl_place_explain(const struct adl_place *place, uint32_t ranked, const struct adl_state *state, uint32_t slot,
                       char *ret, size_t size);

#endif
