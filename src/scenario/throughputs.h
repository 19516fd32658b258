/* throughputs: measured steps/s of jobs on GPU types, as Gavel publishes them.
 *
 * JSON: {"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 9.3, ...}}}: GPU type, then job and GPUs as a Python
 * tuple in text, then "null" for the job alone, and other jobs for the speeds of both if they share GPUs: [a, b], where
 * [0, 0] means that the pair was not measured or did not fit. */
#ifndef ADLRO_SCENARIO_THROUGHPUTS_H
#define ADLRO_SCENARIO_THROUGHPUTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct adl_throughputs;

int adl_throughputs_load(const char *path, struct adl_throughputs **ret, struct adl_error *err);
/* name is the file's name in messages. */
int adl_throughputs_parse(const char *name, const char *text, size_t size, struct adl_throughputs **ret,
                          struct adl_error *err);
void adl_throughputs_destroy(struct adl_throughputs *throughputs); /* accepts NULL */

/* Steps/s of the whole job on that many GPUs of the type, whose name is compared without case; 0 = not measured, or it
 * does not run there. */
double adl_throughputs_find(const struct adl_throughputs *throughputs, const char *type, const char *job,
                            uint32_t gpus);

/* Steps/s of a job that shares one GPU of the type with another; 0 = not measured, or they do not fit. */
double adl_throughputs_find_pair(const struct adl_throughputs *throughputs, const char *type, const char *job,
                                 const char *beside);

#endif
