/* gpus_table: the cluster as sinfo might show it: a line about the service, then a row for each GPU. */
#ifndef ADLRO_CLI_CLIENT_GPUS_TABLE_H
#define ADLRO_CLI_CLIENT_GPUS_TABLE_H

#include "base/text.h"

#include <stddef.h>

struct cJSON;

void adl_gpus_table(struct adl_text *text, const struct cJSON *cluster, size_t width);

/* "easy, simulated at 60x", and what troubles the service; safe to show. */
void adl_policy_line(struct adl_text *text, const struct cJSON *cluster);

/* Who runs on it, "12 ann train", or why nobody can; safe to show. */
void adl_gpu_users(struct adl_text *text, const struct cJSON *gpu);

#endif
