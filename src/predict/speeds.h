/* speeds: how fast a job runs on each GPU type, from speeds that running jobs reported: P1 and P2 (predict/estimates.h)
 * for every policy, in regime learned. */
#ifndef ADLRO_PREDICT_SPEEDS_H
#define ADLRO_PREDICT_SPEEDS_H

#include "predict/estimates.h"
#include "state/state.h"

struct adl_speeds;

int adl_speeds_create(const struct adl_cluster *cluster, struct adl_speeds **ret, struct adl_error *err);
void adl_speeds_destroy(struct adl_speeds *speeds); /* accepts NULL */

/* A running job reported its speed. This and find allocate nothing. */
void adl_speeds_measure(struct adl_speeds *speeds, const struct adl_state *state, uint32_t slot, double steps_per_s);

/* Steps/s of such a job [type], on the best placement that the type has and across nodes; 0 = not acceptable. False if
 * no job like it was measured: specifications are all there is. */
bool adl_speeds_find(struct adl_speeds *speeds, const struct adl_job_spec *spec, double ret[ADL_TYPES_MAX],
                     double ret_across[ADL_TYPES_MAX]);

/* As bytes, and back into one that was not told anything; on failure it is to be destroyed. */
void adl_speeds_encode(const struct adl_speeds *speeds, struct adl_text *ret);
int adl_speeds_decode(struct adl_speeds *speeds, struct adl_unpack *from, const struct adl_translation *to,
                      struct adl_estimate_account *ret, struct adl_error *err);

#endif
