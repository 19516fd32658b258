/* catalogue: the project's catalogue for scenarios that a bench makes in memory. */
#ifndef ADLRO_BENCH_CATALOGUE_H
#define ADLRO_BENCH_CATALOGUE_H

#include "base/error.h"

#include <stdlib.h>

/* Fits adl_scenario_source.read. */
int read_catalogue(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err);

#endif
