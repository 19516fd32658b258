/* resource_limits: the resource limits of processes (setrlimit) by the names that limits.conf has for them, and umasks.
 */
#ifndef ADLRO_JOBS_RESOURCE_LIMITS_H
#define ADLRO_JOBS_RESOURCE_LIMITS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum adl_resource {
    ADL_RESOURCE_AS,
    ADL_RESOURCE_CORE,
    ADL_RESOURCE_CPU,
    ADL_RESOURCE_DATA,
    ADL_RESOURCE_FSIZE,
    ADL_RESOURCE_MEMLOCK,
    ADL_RESOURCE_NOFILE,
    ADL_RESOURCE_NPROC,
    ADL_RESOURCE_RSS,
    ADL_RESOURCE_STACK,
    ADL_RESOURCE_COUNT,
};

const char *adl_resource_name(enum adl_resource resource); /* "nofile" */

/* Limits are soft ones: 0 leaves one as it is, -1 stands for zero, INT64_MAX for none. */

/* Reads "nofile=1024" or "stack=unlimited", in the units of setrlimit. */
int adl_resource_read(const char *text, enum adl_resource *ret, int64_t *ret_limit, struct adl_error *err);
/* The soft limit of this process in the same form; "" if the system does not say. */
void adl_resource_print_own(enum adl_resource resource, char *ret, size_t size);
/* Sets the soft limit of this process, to the hard one if it would be above that. 0, or -1 and errno. */
int adl_resource_set(enum adl_resource resource, int64_t limit);

/* Reads "022" or "0022"; "" is 022. */
int adl_umask_read(const char *text, unsigned *ret, struct adl_error *err);

#endif
