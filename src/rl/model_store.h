/* model_store: trained networks as files. */
#ifndef ADLRO_RL_MODEL_STORE_H
#define ADLRO_RL_MODEL_STORE_H

#include "nn/model_file.h"

/* The bytes, for adl_model_decode(), at most ADL_MODEL_SIZE_MAX of them; the caller frees them.
 * Messages begin with the path. */
int adl_model_store_read_bytes(const char *path, char **ret_bytes, size_t *ret_size, struct adl_error *err);

/* 0 if they are a network that a policy of this program can use: of dqn, adlro or market. */
int adl_model_store_check(const void *bytes, size_t size, struct adl_error *err);

/* The policy whose network begins with these bytes: "dqn", "adlro" or "market"; NULL if it is none's. */
const char *adl_model_store_policy(const void *bytes, size_t size);

/* Atomic, also if power is lost: the file is complete, or the previous one is still there. */
int adl_model_store_write(const char *path, const struct adl_model *model, struct adl_error *err);
int adl_model_store_write_bytes(const char *path, const struct adl_text *bytes, struct adl_error *err);

#endif
