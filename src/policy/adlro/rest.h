/* rest: what is believed of the rest of a job's run: the belief's expectation, corrected by what completed jobs of its
 * class showed (policy/adlro/corrections.h). */
#ifndef ADLRO_POLICY_ADLRO_REST_H
#define ADLRO_POLICY_ADLRO_REST_H

#include "policy/adlro/corrections.h"
#include "predict/belief.h"
#include "state/state.h"

/* Expected run time that is left of a waiting job on its best type; multiply by adl_rest_factor. */
double adl_rest_us(const struct adl_state *state, uint32_t slot);

/* Expected run time on its best type that a completion costs: the reciprocal of the Gittins index. */
double adl_rest_cost_us(const struct adl_state *state, uint32_t slot);

/* Run time on a type, in one node or across nodes, relative to the best type. */
double adl_rest_factor(const struct adl_corrections *corrections, const struct adl_state *state, uint32_t slot,
                       uint32_t type, bool across);

/* The same in one node, of a job for which several types are looked at in one decision. */
struct adl_rest_factors {
    const double *predicted, *corrected; /* predicted NULL: each is found for itself */
    const struct adl_corrections *corrections;
    const struct adl_state *state;
    uint32_t slot;
};

static inline struct adl_rest_factors adl_rest_factors(const struct adl_corrections *corrections,
                                                       const struct adl_state *state, uint32_t slot)
{
    return (struct adl_rest_factors){state->belief ? adl_belief_type_factors(state->belief, state, slot) : NULL,
                                     adl_corrections_factors(corrections, &state->jobs[slot].spec), corrections, state,
                                     slot};
}

static inline double adl_rest_factor_on(const struct adl_rest_factors *factors, uint32_t type)
{
    if (factors->predicted)
        return factors->predicted[type] * factors->corrected[(size_t)type * ADL_CORRECTIONS_STRIDE];
    return adl_rest_factor(factors->corrections, factors->state, factors->slot, type, false);
}

/* Corrects by a job that ends, before the state forgets it. Only a first attempt that completed tells: the run time, or
 * 0. limits: ln(what its limit tells / what was expected of it), 0 if nothing: that says nothing of its GPUs. */
double adl_rest_learn(struct adl_corrections *corrections, const struct adl_event *event, const struct adl_state *state,
                      double limits);

/* When a job that holds GPUs is believed to leave them. switch_us: how long a job takes to stop. */
int64_t adl_rest_end_us(const struct adl_corrections *corrections, const struct adl_state *state, uint32_t slot,
                        int64_t switch_us);

#endif
