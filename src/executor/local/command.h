/* command: the process that becomes a task's command: user, limits, files, environment, and then exec. */
#ifndef ADLRO_EXECUTOR_LOCAL_COMMAND_H
#define ADLRO_EXECUTOR_LOCAL_COMMAND_H

#include "executor/local/task.h"

#include <sys/types.h>

/* A command that was forked and waits for the word. */
struct adl_command_process {
    pid_t pid;
    int go;     /* a byte into it lets the command run; closing it ends the process instead */
    int report; /* what it says if it cannot run the command: an exit code byte and a text; end of file if it could */
};

/* Forks a process in a session of its own that does nothing yet. marker (NAME=value) joins its environment. join is a
 * descriptor to join a cgroup by, or -1. All signals have to be blocked; the command gets none blocked. */
int adl_command_fork(const struct adl_task_spec *spec, const char *marker, int join,
                     struct adl_command_process *ret_command, struct adl_error *err);

#endif
