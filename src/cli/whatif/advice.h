/* advice: what would start a job sooner, before it is submitted, and which of that its user takes. */
#ifndef ADLRO_CLI_WHATIF_ADVICE_H
#define ADLRO_CLI_WHATIF_ADVICE_H

#include "cli/client/client.h"

struct cJSON;

/* Asks the service, prints its answer on stderr, and asks the user on the terminal; with yes it takes the cheapest
 * change if that is another type, without asking. 1: submit the job, which may have changed; 0: do not; negative. */
int adl_advice_take(struct adl_client *client, struct cJSON *job, bool yes, struct adl_error *err);

/* Puts the change that an alternative of an answer proposes into a submission. 0 or ADL_ENOMEM. */
int adl_advice_apply(struct cJSON *job, const struct cJSON *alternative);

#endif
