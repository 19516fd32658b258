/* environment: a job's environment variables: those submitted, its GPUs, and those that scripts written for Slurm rely
 * on. */
#ifndef ADLRO_EXECUTOR_LOCAL_ENVIRONMENT_H
#define ADLRO_EXECUTOR_LOCAL_ENVIRONMENT_H

#include "base/error.h"
#include "executor/local/record.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_gpu_vendor { ADL_GPU_VIRTUAL, ADL_GPU_NVIDIA, ADL_GPU_AMD };

struct adl_environment_gpu {
    enum adl_gpu_vendor vendor;
    uint32_t index; /* in this machine, as adlro numbers them */
    const char *id; /* what the vendor's runtime calls it: its UUID, or its number */
};

struct adl_environment {
    int64_t job_id;
    const char *name;
    const char *submit_dir;
    /* For USER and LOGNAME, HOME, SHELL, PATH, LANG and ADLRO_SOCKET where the submission does not have them; NULL:
     * nothing. */
    const char *user, *home, *shell, *path, *lang, *socket;
    const char *node; /* or NULL */
    int64_t array_id; /* job id of the array; used if array_index is not -1 */
    int64_t array_index;
    uint32_t array_count; /* jobs of the array as submitted, with their least and highest index and the step between
                           * them; 0: not known */
    int32_t array_min;
    int32_t array_max;
    int32_t array_step;
    uint32_t uid;
    uint32_t gid;
    int64_t start_us;   /* wall clock; 0: not said */
    int64_t limit_us;   /* 0: none */
    uint32_t cpu_count; /* 0: not said */
    int64_t memory_mib; /* 0: not said */
    uint32_t restart_count;
    const struct adl_environment_gpu *gpus;
    uint32_t gpu_count;
};

/* Defaults, the submitted entries (NAME=value; the last of equal names wins), then those of the job. A vendor's GPUs
 * are hidden from a job that has none of them. The list is one allocation, free with adl_environment_clear(). */
int adl_environment_build(const struct adl_environment *environment, const struct adl_strings *submitted,
                          struct adl_strings *ret_env, struct adl_error *err);
void adl_environment_clear(struct adl_strings *env);

#endif
