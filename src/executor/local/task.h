/* task: one run of a job's command on this machine: its description, its start, and how it ended, each a record in the
 * task's folder.
 *
 *     job      the description (struct adl_task_spec), from the service
 *     started  who runs it (struct adl_task_start); created exclusively before the command runs: it claims the task
 *     cancel   the service wants it to end (struct adl_task_cancel)
 *     result   how it ended (struct adl_task_result)
 *
 * Space for cancel and result is reserved before the command runs, so that both can be written to a full disk. */
#ifndef ADLRO_EXECUTOR_LOCAL_TASK_H
#define ADLRO_EXECUTOR_LOCAL_TASK_H

#include "executor/local/process.h"
#include "executor/local/record.h"
#include "jobs/resource_limits.h"

#define ADL_TASK_GROUPS_MAX 256
#define ADL_TASK_TEXT_SIZE  400

/* The description. The caller owns the strings; in one that was loaded, the record does. */
struct adl_task_spec {
    int64_t job_id;
    struct adl_strings argv; /* run without a shell; the first is searched in env's PATH unless it has a slash */
    const char *shell;       /* or instead of argv: text for /bin/sh -c */
    struct adl_strings env;  /* NAME=value, the whole environment (executor/local/environment.h builds it) */
    const char *cwd;         /* absolute */
    /* Opened as the user, relative to cwd. NULL: /dev/null, or for stderr the same file as stdout. */
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path;
    bool append;  /* to the output files; else they are emptied */
    int64_t mask; /* umask; 0 is 022, -1 stands for 0 */

    /* Set if the shepherd is root; otherwise they must equal its own. */
    int64_t uid;
    int64_t gid;
    struct adl_strings groups; /* further groups, as numbers */
    bool root;                 /* uid 0 is intended */

    int64_t time_limit_us; /* 0: none */
    int64_t grace_us;      /* from TERM to KILL; 0 is 30 s, -1 none */
    int64_t warn_signal;   /* sent warn_us before the time limit; 0: none */
    int64_t warn_us;
    bool warn_command;                  /* to the command's own process alone */
    bool warn_others;                   /* to all of its processes but that one; neither: to all of them */
    int64_t limits[ADL_RESOURCE_COUNT]; /* soft limits, as in resource.h; hard limits stay as the service has them */

    const char *cgroup_parent; /* a cgroup v2 folder in which the task's own is made; NULL: none */
    int64_t memory_max_mib;    /* 0: no limit, here and below */
    int64_t cpus_milli;        /* thousandths of a CPU */
    int64_t pids_max;
    const char *cpuset; /* "0-3,8" */
};

/* Who runs it. If the boot id is not the current one, no process of it exists. */
struct adl_task_start {
    struct adl_process shepherd;
    struct adl_process command; /* leads the command's session and process group; zero: it is never run */
    char boot_id[ADL_BOOT_ID_SIZE];
    char cgroup[512]; /* its folder, or empty */
    int64_t start_us; /* wall clock */
};

struct adl_task_cancel {
    char reason[ADL_TASK_TEXT_SIZE];
};

enum adl_task_outcome {
    ADL_TASK_EXITED = 1, /* with exit_code */
    ADL_TASK_SIGNALLED,  /* by a signal that neither the service nor the shepherd sent */
    ADL_TASK_TIMED_OUT,  /* ended at the time limit */
    ADL_TASK_CANCELLED,  /* ended, or never started, on request */
    ADL_TASK_UNSTARTED,  /* the command could not be run; reason says why */
    ADL_TASK_LOST,       /* its shepherd is gone: whether the command did anything and how it ended is not known */
};

struct adl_task_result {
    int64_t outcome;   /* enum adl_task_outcome */
    int64_t exit_code; /* of the command, if it exited; 126 or 127 as in a shell if UNSTARTED */
    int64_t signal;    /* which ended the command, or 0 */
    bool core_dumped;
    int64_t start_us; /* wall clock */
    int64_t end_us;
    /* On a clock that is never set: */
    int64_t elapsed_us;
    int64_t end_boot_us; /* since the boot that the start was in; 0 = not known */
    /* The command and its descendants. */
    int64_t user_us;
    int64_t system_us;
    int64_t memory_max_kib; /* largest resident set of one process */
    char reason[ADL_TASK_TEXT_SIZE];
    char notes[ADL_TASK_TEXT_SIZE]; /* for example limits that could not be set */
};

extern const struct adl_record_form adl_task_spec_form;
extern const struct adl_record_form adl_task_start_form;
extern const struct adl_record_form adl_task_cancel_form;
extern const struct adl_record_form adl_task_result_form;

/* Contradictions and values out of range, before anything is written or run. */
int adl_task_spec_check(const struct adl_task_spec *spec, struct adl_error *err);

/* Appends a note, truncated to the space left. */
void adl_task_note(struct adl_task_result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
