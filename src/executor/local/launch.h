/* launch: the service's side of tasks: starts shepherds, finds them again after a restart, and learns how tasks ended.
 *
 * A task lives in its folder. Whoever comes back to a folder, after whatever kind of end, calls adl_task_launch() if
 * the task is still wanted, or adl_task_adopt() if it must not be started now; both find out what became of it. */
#ifndef ADLRO_EXECUTOR_LOCAL_LAUNCH_H
#define ADLRO_EXECUTOR_LOCAL_LAUNCH_H

#include "executor/local/task.h"

enum adl_task_state {
    ADL_TASK_WAITING,  /* nobody has begun it and no shepherd of ours is on the way: it may be launched */
    ADL_TASK_STARTING, /* a shepherd is on the way */
    ADL_TASK_RUNNING,
    ADL_TASK_ENDED, /* there is a result, and no process of it is left that could be found */
};

struct adl_launch_options {
    const char *program; /* what is run as `PROGRAM shepherd FOLDER`; NULL is this very program */
    bool no_pidfd;       /* as on a system that has none */
};

/* A task as the service holds it. A zeroed one is closed. */
struct adl_task {
    char *folder;
    int fd; /* readable when it is time for adl_task_poll(); -1 if the system cannot: then it is to be called now and
               then */
    struct adl_process shepherd;
    enum adl_task_state state;
    struct adl_task_start start; /* once RUNNING */
    bool no_pidfd;
    bool ours; /* the shepherd is our child and has to be waited for */
    bool open;
};

/* Writes the description and sends a shepherd, unless the task was begun before. The folder is made if its parent is
 * there. On failure nothing was begun. */
int adl_task_launch(const char *folder, const struct adl_task_spec *spec, const struct adl_launch_options *options,
                    struct adl_task *ret_task, struct adl_error *err);

/* Takes up a task from its folder. WAITING is an answer: nothing was begun. */
int adl_task_adopt(const char *folder, const struct adl_launch_options *options, struct adl_task *ret_task,
                   struct adl_error *err);

/* What has become of it; *ret_result is set if the state is ENDED. Does not wait for the task. If its shepherd was
 * killed, kills what the task left behind and leaves the result "lost". A shepherd that failed before it began leaves
 * the task WAITING. */
int adl_task_poll(struct adl_task *task, struct adl_task_result *ret_result, struct adl_error *err);

/* When a task that has ENDED did so, by the clock of this boot that is never set (adl_clock_boot_us). If the machine
 * was restarted since, the wall clock says how long ago that is. */
int64_t adl_task_end_boot_us(const struct adl_task *task, const struct adl_task_result *result);

/* Asks for its end; the result comes as with any other. A task that nobody has begun never will be. Cancelling what has
 * ended changes nothing. */
int adl_task_cancel(struct adl_task *task, const char *reason, struct adl_error *err);

/* Lets go; the task runs on. A shepherd of ours that ends after this stays a zombie until we end, so a service that
 * goes on closes tasks that have ENDED. */
void adl_task_close(struct adl_task *task);

#endif
