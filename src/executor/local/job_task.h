/* job_task: a job of the queue made into a task of this machine: its command, environment, files, user and limits. */
#ifndef ADLRO_EXECUTOR_LOCAL_JOB_TASK_H
#define ADLRO_EXECUTOR_LOCAL_JOB_TASK_H

#include "executor/local/executor_local.h"
#include "executor/local/launch.h"

/* Launches the attempt that the job is at, on the GPUs it holds, unless that was begun before. ADL_EIO: the machine,
 * not the job, is the reason that it cannot be. */
int adl_job_task_launch(const struct adl_executor_local_config *config, const struct adl_job_entry *job,
                        struct adl_task *ret, struct adl_error *err);

#endif
