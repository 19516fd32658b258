/* dependency: whether the dependencies of a job are met. Slurm does not test those of held jobs. */
#ifndef ADLRO_SLURM_DEPENDENCY_H
#define ADLRO_SLURM_DEPENDENCY_H

#include <stdint.h>

/* State of a job, or of all tasks of an array, that another depends on. */
enum adl_slurm_dependee {
    ADL_DEPENDEE_FORGOTTEN, /* Slurm has no record of it, which counts as done */
    ADL_DEPENDEE_PENDING,
    ADL_DEPENDEE_RUNNING,
    ADL_DEPENDEE_SUCCEEDED, /* it ended with exit code 0 */
    ADL_DEPENDEE_FAILED,
};

/* array_index: -1 = the job, or all tasks of the array. */
typedef enum adl_slurm_dependee adl_slurm_dependee_of(void *context, uint32_t job, int64_t array_index);

/* 1 if "afterok:12(unfulfilled),afterany:13_4(unfulfilled)" is met, 0 if not yet or never; ADL_EINVAL for what only
 * Slurm can test: singleton, aftercorr, burst buffers. Terms are joined by , (all) or ? (any). */
int adl_slurm_dependency_met(const char *dependency, adl_slurm_dependee_of *dependee_of, void *context);

#endif
