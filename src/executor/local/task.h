/* task: one run of a job's command on this machine: what is to be run, that it was begun, and how it ended, each a
 * record in the task's folder.
 *
 *     job      the description (struct adl_task_spec), from the service
 *     started  who runs it (struct adl_task_start); made once, before the command is: it is the licence to run it
 *     cancel   the service wants it to end (struct adl_task_cancel)
 *     result   how it ended (struct adl_task_result)
 *
 * Room for cancel and result is reserved before the command runs: a full disk keeps neither from being written. */
#ifndef ADLRO_EXECUTOR_LOCAL_TASK_H
#define ADLRO_EXECUTOR_LOCAL_TASK_H

#include "executor/local/process.h"
#include "executor/local/record.h"
#include "jobs/resource_limits.h"

#define ADL_TASK_GROUPS_MAX 256
#define ADL_TASK_TEXT_SIZE  400

/* What is to be run. Strings are the caller's, or in a file that was read, the file's. */
struct adl_task_spec {
    int64_t job_id;
    struct adl_strings argv; /* run without a shell; the first is looked for in env's PATH unless it has a slash */
    const char *shell;       /* or instead of argv: text for /bin/sh -c */
    struct adl_strings env;  /* NAME=value, all of it (executor/local/environment.h makes it) */
    const char *cwd;         /* absolute */
    /* Opened as the user, relative to cwd; NULL is /dev/null, but for stderr the same file as stdout. */
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path;
    bool append;  /* to the output files; else they are emptied */
    int64_t mask; /* umask; 0 is 022, -1 stands for 0 */

    /* Taken on if the shepherd is root; otherwise they have to be its own. */
    int64_t uid;
    int64_t gid;
    struct adl_strings groups; /* further groups, as numbers */
    bool root;                 /* uid 0 is meant, not forgotten */

    int64_t time_limit_us; /* 0: none */
    int64_t grace_us;      /* from TERM to KILL; 0 is 30 s, -1 none */
    int64_t warn_signal;   /* sent warn_us before the time limit; 0: none */
    int64_t warn_us;
    bool warn_command;                  /* to the command's own process alone */
    bool warn_others;                   /* to all of its processes but that one; neither: to all of them */
    int64_t limits[ADL_RESOURCE_COUNT]; /* soft ones, as in resource.h; hard ones stay as the service has them */

    const char *cgroup_parent; /* a cgroup v2 folder in which one for the task is made; NULL: none */
    int64_t memory_max_mib;    /* 0: no limit, here and below */
    int64_t cpus_milli;        /* thousandths of a CPU */
    int64_t pids_max;
    const char *cpuset; /* "0-3,8" */
};

/* Who runs it. With another boot id all of it is gone. */
struct adl_task_start {
    struct adl_process shepherd;
    struct adl_process command; /* leads the command's session and process group; none: it was never to run */
    char boot_id[ADL_BOOT_ID_SIZE];
    char cgroup[512]; /* its folder, or empty */
    int64_t start_us; /* wall clock */
};

struct adl_task_cancel {
    char reason[ADL_TASK_TEXT_SIZE];
};

enum adl_task_outcome {
    ADL_TASK_EXITED = 1, /* by itself, with exit_code */
    ADL_TASK_SIGNALLED,  /* by a signal that nobody here sent */
    ADL_TASK_TIMED_OUT,  /* ended at the time limit */
    ADL_TASK_CANCELLED,  /* ended, or not even begun, because it was asked for */
    ADL_TASK_UNSTARTED,  /* the command could not be run; reason says why */
    ADL_TASK_LOST,       /* its shepherd is gone: how the command ended is not known, whether it did anything neither */
};

struct adl_task_result {
    int64_t outcome;   /* enum adl_task_outcome */
    int64_t exit_code; /* of the command, if it exited; 126 and 127 as a shell has it if UNSTARTED */
    int64_t signal;    /* that ended the command, or 0 */
    bool core_dumped;
    int64_t start_us; /* wall clock */
    int64_t end_us;
    /* By a clock that is never set: */
    int64_t elapsed_us;
    int64_t end_boot_us; /* since the boot that the start was in; 0 = not known */
    /* The command and its descendants. */
    int64_t user_us;
    int64_t system_us;
    int64_t memory_max_kib; /* largest resident set of one process */
    char reason[ADL_TASK_TEXT_SIZE];
    char notes[ADL_TASK_TEXT_SIZE]; /* limits that could not be set and the like */
};

extern const struct adl_record_form adl_task_spec_form;
extern const struct adl_record_form adl_task_start_form;
extern const struct adl_record_form adl_task_cancel_form;
extern const struct adl_record_form adl_task_result_form;

/* Contradictions and values out of range, before anything is written or run. */
int adl_task_spec_check(const struct adl_task_spec *spec, struct adl_error *err);

/* Adds a note behind the others, as far as there is room. */
void adl_task_note(struct adl_task_result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
