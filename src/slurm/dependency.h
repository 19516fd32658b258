/* dependency: whether what a job waits for has happened. Slurm does not look at dependencies of jobs that are held. */
#ifndef ADLRO_SLURM_DEPENDENCY_H
#define ADLRO_SLURM_DEPENDENCY_H

#include <stdint.h>

/* Of another job, or of all tasks of an array. */
enum adl_slurm_fate {
    ADL_FATE_UNKNOWN, /* Slurm has forgotten it, which counts as done */
    ADL_FATE_WAITS,
    ADL_FATE_RUNS,
    ADL_FATE_GOOD, /* over, with exit code 0 */
    ADL_FATE_BAD,
};

/* array_index: -1 = the job, or all tasks of the array. */
typedef enum adl_slurm_fate adl_slurm_fate_of(void *context, uint32_t job, int64_t array_index);

/* 1 if "afterok:12(unfulfilled),afterany:13_4(unfulfilled)" has come true, 0 if not yet or never; ADL_EINVAL for what
 * only Slurm can judge: singleton, aftercorr, burst buffers. Terms are joined by , (all) or ? (any). */
int adl_slurm_dependency_met(const char *dependency, adl_slurm_fate_of *fate_of, void *context);

#endif
