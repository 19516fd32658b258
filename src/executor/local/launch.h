/* launch: the service's side of tasks: starts shepherds, finds them again after a restart, and reads how tasks ended.
 *
 * A task's whole state is in its folder. After a restart or crash the service calls adl_task_launch() if the task shall
 * still run, or adl_task_adopt() if it must not be started now; both find out what became of it. */
#ifndef ADLRO_EXECUTOR_LOCAL_LAUNCH_H
#define ADLRO_EXECUTOR_LOCAL_LAUNCH_H

#include "executor/local/task.h"

enum adl_task_state {
    ADL_TASK_WAITING,  /* not started, and no shepherd of ours is starting: it may be launched */
    ADL_TASK_STARTING, /* a shepherd is starting */
    ADL_TASK_RUNNING,
    ADL_TASK_ENDED, /* there is a result, and no process of the task can be found any more */
};

struct adl_launch_options {
    const char *program; /* run as `PROGRAM shepherd FOLDER`; NULL: this program */
    bool no_pidfd;       /* act as on a system without pidfd */
};

/* A task as the service holds it. A zeroed one is closed. */
struct adl_task {
    char *folder;
    int fd; /* readable when adl_task_poll() should be called; -1: no pidfd, the caller has to poll */
    struct adl_process shepherd;
    enum adl_task_state state;
    struct adl_task_start start; /* once RUNNING */
    bool no_pidfd;
    bool ours; /* the shepherd is our child and has to be reaped */
    bool open;
};

/* Writes the description and starts a shepherd, unless the task was started before. Creates the folder, but not its
 * parent. On failure nothing was started. */
int adl_task_launch(const char *folder, const struct adl_task_spec *spec, const struct adl_launch_options *options,
                    struct adl_task *ret_task, struct adl_error *err);

/* Reads the state of a task from its folder. WAITING is a valid answer: nothing was started. */
int adl_task_adopt(const char *folder, const struct adl_launch_options *options, struct adl_task *ret_task,
                   struct adl_error *err);

/* Updates the state; *ret_result is set if it is ENDED. Does not wait for the task. If its shepherd was killed, kills
 * the processes it left behind and writes the result "lost". A shepherd that failed before it started the task leaves
 * it WAITING. */
int adl_task_poll(struct adl_task *task, struct adl_task_result *ret_result, struct adl_error *err);

/* When an ENDED task ended, on this boot's monotonic clock (adl_clock_boot_us). If the machine was restarted since,
 * estimated from the wall clock. */
int64_t adl_task_end_boot_us(const struct adl_task *task, const struct adl_task_result *result);

/* Asks the task to end; its result comes as usual. A task that was not started never will be. Cancelling one that has
 * ended changes nothing. */
int adl_task_cancel(struct adl_task *task, const char *reason, struct adl_error *err);

/* Releases the handle; the task runs on. A shepherd of ours that ends after this stays a zombie until we end, so a
 * running service closes only tasks that have ENDED. */
void adl_task_close(struct adl_task *task);

#endif
