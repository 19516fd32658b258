/* job_task: a job of the queue made into a task of this machine: its command, environment, files, user and limits. */
#ifndef ADLRO_EXECUTOR_LOCAL_JOB_TASK_H
#define ADLRO_EXECUTOR_LOCAL_JOB_TASK_H

#include "executor/local/executor_local.h"
#include "executor/local/launch.h"

/* Launches the job's current attempt on the GPUs it holds, unless it was started before. ADL_EIO: it failed because of
 * the machine, not the job. */
int adl_job_task_launch(const struct adl_executor_local_config *config, const struct adl_job_entry *job,
                        struct adl_task *ret, struct adl_error *err);

#endif
