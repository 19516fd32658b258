/* cgroup: a cgroup v2 folder that holds one task, where the machine lets us make one. */
#ifndef ADLRO_EXECUTOR_LOCAL_CGROUP_H
#define ADLRO_EXECUTOR_LOCAL_CGROUP_H

#include "executor/local/task.h"

/* Makes the folder in spec->cgroup_parent and sets the limits. What cannot be had becomes a note in the result and the
 * task goes on without. ret_path is empty if there is no folder to use; then *ret_join is -1. Otherwise a process that
 * writes "0" to the descriptor *ret_join has joined. */
void adl_cgroup_create(const struct adl_task_spec *spec, struct adl_task_result *result, char *ret_path, size_t size,
                       int *ret_join);
void adl_cgroup_kill(const char *path);   /* KILL to all in it, if the system can; an empty path is none */
bool adl_cgroup_remove(const char *path); /* true: there is no such folder any more */

/* Calls visit with every process in it. -1 if it cannot be read. */
int adl_cgroup_each(const char *path, void (*visit)(void *arg, int64_t pid), void *arg);

#endif
