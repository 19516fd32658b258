/* job_form: builds a submission for the service from a command line, the #SBATCH lines of a script, and the caller's
 * environment and folder. The command line overrides the script. */
#ifndef ADLRO_CLI_CLIENT_JOB_FORM_H
#define ADLRO_CLI_CLIENT_JOB_FORM_H

#include "base/error.h"
#include "base/text.h"
#include "cli/client/client.h"

#include <stdbool.h>

struct cJSON;

/* As written on the command line; NULL = not given. */
struct adl_job_form {
    const char *gpus;
    const char *time;
    const char *name;
    const char *kind;
    const char *class_name;
    const char *cpus_per_gpu;
    const char *mem_per_gpu;
    const char *gpu_mem;
    const char *priority;
    const char *deadline;
    const char *min_steps;
    const char *share_slowdown;
    const char *checkpoint_every;
    const char *after;
    const char *after_ok;
    const char *dependency; /* in Slurm's form */
    const char *begin;
    const char *signal;
    const char *array;
    const char *output;
    const char *error;
    const char *chdir;
    const char *exported;
    const char *wrap;
    bool share;
    bool requeue;
    bool checkpoint_on_stop;
    bool hold;
};

/* operands: a command and its arguments, or, unless is_command, a batch script and its arguments; the script "-", or no
 * operand at all, stands for standard input. The client is used to look up members of arrays that it waits for. Appends
 * warnings, one a line. */
int adl_job_form_build(const struct adl_job_form *form, char *const *operands, int operand_count, bool is_command,
                       struct adl_client *client, struct cJSON **ret, struct adl_text *warnings, struct adl_error *err);

/* The part of the environment to export: "ALL", "NONE", "A,B=x", "ALL,B=x"; as a JSON array of "NAME=value". Never
 * exports this program's tokens. */
struct cJSON *adl_environment_export(const char *what, char *const *environment, struct adl_text *warnings);

#endif
