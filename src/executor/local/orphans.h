/* orphans: processes of a task whose shepherd is gone. */
#ifndef ADLRO_EXECUTOR_LOCAL_ORPHANS_H
#define ADLRO_EXECUTOR_LOCAL_ORPHANS_H

#include "executor/local/task.h"

/* Kills those that can be told to be the task's: in its cgroup, in its session, or with its shepherd's mark in their
 * environment; again until none is found. Removes the cgroup. Returns how many were killed. For tasks of this boot. */
uint32_t adl_orphans_kill(const struct adl_task_start *start);

#endif
