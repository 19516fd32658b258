/* forecast: when a queued job could start if running jobs end as predicted and earlier reservations are kept. */
#ifndef ADLRO_POLICY_MECHANISM_FORECAST_H
#define ADLRO_POLICY_MECHANISM_FORECAST_H

#include "state/fit.h"

struct adl_forecast; /* scratch for one policy instance */

int adl_forecast_create(const struct adl_cluster *cluster, uint32_t reservations_max, struct adl_forecast **ret);
void adl_forecast_destroy(struct adl_forecast *forecast); /* accepts NULL */
/* The reservations of another that was created in the same way. */
void adl_forecast_copy(struct adl_forecast *to, const struct adl_forecast *from);

/* The reservations so far, in the order they were made. */
void adl_forecast_clear(struct adl_forecast *forecast);
const struct adl_reservation *adl_forecast_reservations(const struct adl_forecast *forecast, uint32_t *ret_count);

/* Removes a reservation that was used or withdrawn: those after it move up by one. What the others spare stays as it
 * is, as if the job ran at its reserved place and time. */
void adl_forecast_remove(struct adl_forecast *forecast, uint32_t index);

/* Reserves the earliest place and time for the job; false if there is none, or there are reservations_max already.
 * Needs state->running. */
bool adl_forecast_reserve(struct adl_forecast *forecast, const struct adl_state *state, uint32_t slot);

#endif
