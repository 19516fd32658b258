/* forecast: when a queued job could start if running jobs end as believed and earlier promises are kept. */
#ifndef ADLRO_POLICY_MECHANISM_FORECAST_H
#define ADLRO_POLICY_MECHANISM_FORECAST_H

#include "state/fit.h"

struct adl_forecast; /* scratch for one policy instance */

int adl_forecast_create(const struct adl_cluster *cluster, uint32_t reservations_max, struct adl_forecast **ret);
void adl_forecast_destroy(struct adl_forecast *forecast); /* accepts NULL */

/* The promises so far, in the order they were made. */
void adl_forecast_clear(struct adl_forecast *forecast);
const struct adl_reservation *adl_forecast_reservations(const struct adl_forecast *forecast, uint32_t *ret_count);

/* A promise that was kept or taken back: those after it move up by one. What the others spare stays as it is, as if the
 * job ran at its promised place and time. */
void adl_forecast_remove(struct adl_forecast *forecast, uint32_t index);

/* Promises the job the earliest place and time it can have; false if it can have none, or there are promises enough.
 * Needs state->running. */
bool adl_forecast_reserve(struct adl_forecast *forecast, const struct adl_state *state, uint32_t slot);

#endif
