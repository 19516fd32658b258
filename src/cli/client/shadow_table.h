/* shadow table: what the service knows of the policy that shadows, as text. */
#ifndef ADLRO_CLI_CLIENT_SHADOW_TABLE_H
#define ADLRO_CLI_CLIENT_SHADOW_TABLE_H

#include "base/text.h"

struct cJSON;

void adl_shadow_table(struct adl_text *text, const struct cJSON *shadow);

#endif
