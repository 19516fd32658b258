/* validate: may this command be executed? Checked against the plain tables, independently of the policy's code. */
#ifndef ADLRO_ENGINE_VALIDATE_H
#define ADLRO_ENGINE_VALIDATE_H

#include "base/error.h"
#include "model/plan.h"
#include "state/state.h"

struct adl_validator; /* scratch */

int adl_validator_create(const struct adl_cluster *cluster, struct adl_validator **ret); /* 0 or ADL_ENOMEM */
void adl_validator_destroy(struct adl_validator *validator);                             /* accepts NULL */

/* 0, or ADL_EREFUSED with the reason. */
int adl_validate(struct adl_validator *validator, const struct adl_state *state, const struct adl_command *command,
                 const uint32_t *gpus, struct adl_error *err);

#endif
