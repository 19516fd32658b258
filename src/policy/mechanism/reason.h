/* reason: why a job waits, starts or is stopped, in words for the person who submitted it. */
#ifndef ADLRO_POLICY_MECHANISM_REASON_H
#define ADLRO_POLICY_MECHANISM_REASON_H

#include "model/reason.h"
#include "state/state.h"

#include <stddef.h>

#define ADL_REASON_SIZE 240

/* What the state alone says, whatever the policy: too few GPUs are free, they are not together, cores or memory lack,
 * or it is not its turn. For a job that waits; ret is always ended with a zero. */
void adl_reason_waiting(const struct adl_state *state, uint32_t slot, char *ret, size_t size);

/* The reason of a start that goes by the order of a queue, which is the state's or one of the policy's own: compared
 * with the first in that order or, if the job is that itself, with the second. Of ADL_RULE_FIRST keys are times of
 * submission, else microseconds of whatever the rule counts. */
struct adl_reason adl_reason_ranked(const struct adl_state *state, const struct adl_queue *queue, uint32_t slot,
                                    enum adl_rule rule);

/* What a reason says, in words: "shortest time left (12 min against 40 min of job 17); waited 3 s". other_name is what
 * the other job is called, NULL = by its number. ret is always ended with a zero. */
void adl_reason_words(const struct adl_reason *reason, const char *other_name, char *ret, size_t size);

/* The names of the types of a mask, "a100, v100", cut short where there is no room. */
void adl_reason_types(const struct adl_state *state, uint32_t types, char *ret, size_t size);

#endif
