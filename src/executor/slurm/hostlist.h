/* hostlist: a list of host names as Slurm writes it: "login,v[0-3,7],rack[0-1]n[00-15]". */
#ifndef ADLRO_EXECUTOR_SLURM_HOSTLIST_H
#define ADLRO_EXECUTOR_SLURM_HOSTLIST_H

#include "base/error.h"

#include <stddef.h>

#define ADL_HOST_SIZE     256u   /* of one name, with its zero */
#define ADL_HOSTLIST_MAX  65536u /* names in one list */
#define ADL_HOST_BRACKETS 4u     /* in one name */

/* Visits every name in the order of the list, numbers with the zeros they were written with. A visit that returns
 * non-zero ends it, and that is returned. An error says what is wrong; the caller adds where. */
int adl_hostlist_each(const char *list, int (*visit)(void *arg, const char *name), void *arg, struct adl_error *err);

#endif
