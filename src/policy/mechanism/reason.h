/* reason: why a job waits, starts or is stopped, as text for the user who submitted it. */
#ifndef ADLRO_POLICY_MECHANISM_REASON_H
#define ADLRO_POLICY_MECHANISM_REASON_H

#include "model/reason.h"
#include "state/state.h"

#include <stddef.h>

#define ADL_REASON_SIZE        240
#define ADL_REASON_FIGURE_SIZE 32

/* Why a job waits, as far as the state tells, whatever the policy: too few free GPUs, not in one node, too few cores or
 * too little memory, or not its turn. ret is always terminated. */
void adl_reason_waiting(const struct adl_state *state, uint32_t slot, char *ret, size_t size);

/* The reason of a start in the order of a queue, the state's or the policy's own: compared with the first job in that
 * order or, if the job is that itself, with the second. With ADL_RULE_FIRST keys are times of submission, else
 * microseconds of whatever the rule counts. */
struct adl_reason adl_reason_ranked(const struct adl_state *state, const struct adl_queue *queue, uint32_t slot,
                                    enum adl_rule rule);

/* The text of a reason: "shortest time left (12 min against 40 min of job 17); waited 3 s". other_name is the name of
 * the other job, NULL = use its number. ret is always terminated. */
void adl_reason_words(const struct adl_reason *reason, const char *other_name, char *ret, size_t size);

/* "3.2 s", "12 min", "5.5 h". Returns ret. */
const char *adl_reason_time(double s, char ret[ADL_REASON_FIGURE_SIZE]);

/* The names of the types of a mask, "a100, v100", cut short where there is no room. */
void adl_reason_types(const struct adl_state *state, uint32_t types, char *ret, size_t size);

#endif
