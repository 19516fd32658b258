/* dependency: what a job is to come after, as Slurm's users write it: "afterok:1:2,afternotok:3",
 * "afterany:4?afterok:5", "singleton". */
#ifndef ADLRO_CLI_CLIENT_DEPENDENCY_H
#define ADLRO_CLI_CLIENT_DEPENDENCY_H

#include "base/error.h"

#include <stdbool.h>

/* Is given the key of a submission that the job goes under ("after_ok"), and the job as written, "12" or "12_3"; NULL
 * with "singleton". */
typedef int adl_dependency_visit(void *context, const char *key, const char *job, struct adl_error *err);

/* Calls visit (NULL: only the form is checked) for each. *ret_any: one of them suffices ('?' stands between them). */
int adl_dependency_read(const char *text, adl_dependency_visit *visit, void *context, bool *ret_any,
                        struct adl_error *err);

#endif
