/* shadow table: what the service knows of the policy that shadows, as text. */
#ifndef ADLRO_CLI_CLIENT_SHADOW_TABLE_H
#define ADLRO_CLI_CLIENT_SHADOW_TABLE_H

#include "base/error.h"

#include <stdbool.h>

struct cJSON;

/* On standard output, as a table or as the service returned it. */
int adl_shadow_print(const struct cJSON *shadow, bool json, struct adl_error *err);

#endif
