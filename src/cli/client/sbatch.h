/* sbatch: the options in the #SBATCH lines at the head of a batch script.
 *
 * Lines are read up to the first that is neither blank nor a comment; words are split at blanks, quotes ' and " and
 * backslashes work as in Slurm, and a word that begins with '#' ends the line. Options of Slurm that have no meaning
 * here give a warning each; an option that Slurm does not know is an error. */
#ifndef ADLRO_CLI_CLIENT_SBATCH_H
#define ADLRO_CLI_CLIENT_SBATCH_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL, 0 or negative = the script does not say. */
struct adl_sbatch {
    const char *name;
    const char *output;
    const char *error;
    const char *chdir;
    const char *array;
    const char *exported;   /* of --export */
    const char *gpus;       /* "2", "v100:2", "v100:2|a100:1" */
    const char *dependency; /* "afterok:3:4,singleton", of the right form */
    const char *begin;
    const char *signal; /* "B:USR1@60" */
    int64_t time_s;
    int64_t checkpoint_s;    /* of --checkpoint-every, or --checkpoint as Slurm knew it until 20.02 */
    int64_t cpus;            /* of the whole job */
    int64_t cpus_per_gpu;    /* of each GPU */
    int64_t mem_mib;         /* of the whole job */
    int64_t mem_per_cpu_mib; /* the last of the three memory options counts, as in Slurm; the others are 0 */
    int64_t mem_per_gpu_mib;
    int hold;    /* 1 */
    int requeue; /* 0 or 1 */
    bool checkpoint_on_stop;
    struct adl_text warnings; /* one a line */
    char *words;              /* memory of the strings */
};

/* name is what messages call the script; its bytes may hold anything. On failure *ret is untouched. */
int adl_sbatch_read(const char *script, size_t size, const char *name, struct adl_sbatch *ret, struct adl_error *err);
void adl_sbatch_clear(struct adl_sbatch *sbatch); /* accepts a zeroed one */

/* The least number of GPUs among the alternatives of a request: "v100:4|a100" is 1. Malformed ones count as 1. */
int64_t adl_gpu_request_least(const char *gpus);

#endif
