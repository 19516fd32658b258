/* command: the process that becomes a task's command: user, limits, files, environment, and then exec. */
#ifndef ADLRO_EXECUTOR_LOCAL_COMMAND_H
#define ADLRO_EXECUTOR_LOCAL_COMMAND_H

#include "executor/local/task.h"

#include <sys/types.h>

/* A forked process that waits to be released to exec. */
struct adl_command_process {
    pid_t pid;
    int go;     /* writing a byte releases the command; closing it ends the process instead */
    int report; /* if it cannot run the command: an exit code byte and a text; else end of file */
};

/* Forks a process in a session of its own that does nothing yet. marker (NAME=value) is added to its environment. join
 * is a cgroup.procs descriptor, or -1. The caller has blocked all signals; the command runs with none blocked. */
int adl_command_fork(const struct adl_task_spec *spec, const char *marker, int join,
                     struct adl_command_process *ret_command, struct adl_error *err);

#endif
