/* cgroup: a cgroup v2 folder that holds one task, if the machine lets us make one. */
#ifndef ADLRO_EXECUTOR_LOCAL_CGROUP_H
#define ADLRO_EXECUTOR_LOCAL_CGROUP_H

#include "executor/local/task.h"

/* Makes the folder in spec->cgroup_parent and sets the limits. A limit that cannot be set becomes a note in the result,
 * and the task runs without it. Without a folder, ret_path is empty and *ret_join is -1. Otherwise a process that
 * writes "0" to the descriptor *ret_join has joined. */
void adl_cgroup_create(const struct adl_task_spec *spec, struct adl_task_result *result, char *ret_path, size_t size,
                       int *ret_join);
void adl_cgroup_kill(const char *path);   /* kills all processes in it, if the kernel can; an empty path: none */
bool adl_cgroup_remove(const char *path); /* true: there is no such folder any more */

/* Calls visit with every process in it. -1 if it cannot be read. */
int adl_cgroup_each(const char *path, void (*visit)(void *arg, int64_t pid), void *arg);

#endif
