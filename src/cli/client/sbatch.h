/* sbatch: the options in the #SBATCH lines at the head of a batch script.
 *
 * Lines are read up to the first that is neither blank nor a comment; words are split at blanks, quotes ' and " and
 * backslashes work as in Slurm, and a word that begins with '#' ends the line. Options of Slurm that have no meaning
 * here give a warning each; an option that Slurm does not know is an error. */
#ifndef ADLRO_CLI_CLIENT_SBATCH_H
#define ADLRO_CLI_CLIENT_SBATCH_H

#include "base/error.h"
#include "base/text.h"
#include "cli/client/job_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero = the script does not say. Numbers have been read. */
struct adl_sbatch {
    struct adl_job_form form; /* options that the command line has too: of the right form */
    int64_t time_s;
    int64_t checkpoint_s;    /* of --checkpoint-every, or --checkpoint as Slurm knew it until 20.02 */
    int64_t cpus;            /* of the whole job */
    int64_t cpus_per_gpu;    /* of each GPU */
    int64_t mem_mib;         /* of the whole job */
    int64_t mem_per_cpu_mib; /* the last of the three memory options counts, as in Slurm; the others are 0 */
    int64_t mem_per_gpu_mib;
    bool no_requeue;
    struct adl_text warnings; /* one a line */
    char *words;              /* memory of the strings */
};

/* name is what messages call the script; its bytes may hold anything. On failure *ret is untouched. */
int adl_sbatch_read(const char *script, size_t size, const char *name, struct adl_sbatch *ret, struct adl_error *err);
void adl_sbatch_clear(struct adl_sbatch *sbatch); /* accepts a zeroed one */

/* The least number of GPUs among the alternatives of a request: "v100:4|a100" is 1. Malformed ones count as 1. */
int64_t adl_gpu_request_least(const char *gpus);

#endif
