/* dependency: what a job depends on, as users of Slurm write it: "afterok:1:2,afternotok:3", "afterany:4?afterok:5",
 * "singleton". */
#ifndef ADLRO_CLI_CLIENT_DEPENDENCY_H
#define ADLRO_CLI_CLIENT_DEPENDENCY_H

#include "base/error.h"

#include <stdbool.h>

/* Receives the submission's key for the dependency ("after_ok") and the job as written, "12" or "12_3"; NULL with
 * "singleton". */
typedef int adl_dependency_visit(void *context, const char *key, const char *job, struct adl_error *err);

/* Calls visit for each (NULL: only checks the syntax). *ret_any: one of them suffices (they are separated by '?'). */
int adl_dependency_read(const char *text, adl_dependency_visit *visit, void *context, bool *ret_any,
                        struct adl_error *err);

#endif
