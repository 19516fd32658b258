/* gpus_table: the cluster as sinfo might show it: a line about the service, then a row for each GPU. */
#ifndef ADLRO_CLI_CLIENT_GPUS_TABLE_H
#define ADLRO_CLI_CLIENT_GPUS_TABLE_H

#include "base/text.h"

#include <stddef.h>

struct cJSON;

void adl_gpus_table(struct adl_text *text, const struct cJSON *cluster, size_t width);

/* "easy, simulated at 60x", and the service's trouble, if any; escaped for the terminal. */
void adl_policy_line(struct adl_text *text, const struct cJSON *cluster);

/* The jobs on it, "12 ann train", or why there can be none; escaped for the terminal. */
void adl_gpu_users(struct adl_text *text, const struct cJSON *gpu);

#endif
