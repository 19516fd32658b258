/* reason: why a job waits, in words for the person who submitted it. */
#ifndef ADLRO_DECIDE_REASON_H
#define ADLRO_DECIDE_REASON_H

#include "state/state.h"

#include <stddef.h>

#define ADL_REASON_SIZE 240

/* What the state alone says, whatever the policy: too few GPUs are free, they are not together, cores or memory lack,
 * or it is not its turn. For a job that waits; ret is always ended with a zero. */
void adl_reason_waiting(const struct adl_state *state, uint32_t slot, char *ret, size_t size);

/* The names of the types of a mask, "a100, v100", cut short where there is no room. */
void adl_reason_types(const struct adl_state *state, uint32_t types, char *ret, size_t size);

#endif
