/* job_script: a job's script as a file that its user may read and run, but not change. */
#ifndef ADLRO_EXECUTOR_LOCAL_JOB_SCRIPT_H
#define ADLRO_EXECUTOR_LOCAL_JOB_SCRIPT_H

#include "base/error.h"

#include <sys/types.h>

/* Writes the script to path, in place of an earlier one. If the service runs as root it owns the file, and user uid
 * gets access by an access control list; on a file system without them, group gid does. */
int adl_job_script_write(const char *path, const char *text, uid_t uid, gid_t gid, struct adl_error *err);

#endif
