/* spool: files of running jobs in the service's state folder: a folder for each task, a file for each script. They are
 * removed when the job's end is written, or, after a crash, at the next start. */
#ifndef ADLRO_EXECUTOR_LOCAL_SPOOL_H
#define ADLRO_EXECUTOR_LOCAL_SPOOL_H

#include "store/store.h"

/* Creates tasks/ and scripts/ in the directory, if missing. */
int adl_spool_create(const char *directory, struct adl_error *err);

void adl_spool_task(const char *directory, uint64_t job, uint32_t attempt, char *ret, size_t size); /* its folder */
void adl_spool_script(const char *directory, uint64_t job, char *ret, size_t size);                 /* its file */

/* Of a task that has ended. */
void adl_spool_remove(const char *directory, uint64_t job, uint32_t attempt);

/* Removes the files of jobs that do not run according to the store. */
void adl_spool_sweep(const char *directory, struct adl_store *store);

#endif
