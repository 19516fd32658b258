/* model_store: trained networks as files. */
#ifndef ADLRO_RL_MODEL_STORE_H
#define ADLRO_RL_MODEL_STORE_H

#include "nn/model_file.h"

/* Messages begin with the path. schema as in adl_model_decode(); adl_model_clear() frees what was read. */
int adl_model_store_read(const char *path, uint32_t schema, struct adl_model *ret, struct adl_error *err);

/* Only the bytes, unread, at most ADL_MODEL_SIZE_MAX of them; the caller frees them. */
int adl_model_store_read_bytes(const char *path, char **ret_bytes, size_t *ret_size, struct adl_error *err);

/* The file is there whole, also after power is lost, or what was there before still is. */
int adl_model_store_write(const char *path, const struct adl_model *model, struct adl_error *err);

#endif
