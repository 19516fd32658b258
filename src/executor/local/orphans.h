/* orphans: processes of a task whose shepherd is gone. */
#ifndef ADLRO_EXECUTOR_LOCAL_ORPHANS_H
#define ADLRO_EXECUTOR_LOCAL_ORPHANS_H

#include "executor/local/task.h"

/* Kills the processes in the task's cgroup or session, or with its shepherd's marker in their environment, until none
 * is found. Removes the cgroup. Returns how many were killed. For tasks of this boot. */
uint32_t adl_orphans_kill(const struct adl_task_start *start);

#endif
