/* foreign_processes: whether the processes on a GPU belong to our tasks or are not ours. */
#ifndef ADLRO_EXECUTOR_LOCAL_FOREIGN_PROCESSES_H
#define ADLRO_EXECUTOR_LOCAL_FOREIGN_PROCESSES_H

#include "executor/local/task.h"

struct adl_gpu_process {
    uint32_t gpu;
    int64_t pid; /* as telemetry reports it */
};

enum adl_gpu_owner {
    ADL_GPU_OWNER_GONE,    /* has ended since */
    ADL_GPU_OWNER_OURS,    /* of one of the tasks */
    ADL_GPU_OWNER_FOREIGN, /* of none of the tasks, or it cannot be inspected */
};

/* A process is a task's if the task's shepherd is among its ancestors, or if it is in the task's session or cgroup.
 * ret_task, if not NULL, gets the index of the task, or task_count. Meaningless in a container with a PID namespace
 * other than the telemetry's. */
enum adl_gpu_owner adl_gpu_owner_find(int64_t pid, const struct adl_task_start *tasks, uint32_t task_count,
                                      uint32_t *ret_task);

/* ret_foreign[gpu] becomes how many foreign processes are on it, for gpu_count GPUs; processes on others are ignored.
 */
void adl_foreign_processes_count(const struct adl_gpu_process *processes, uint32_t process_count,
                                 const struct adl_task_start *tasks, uint32_t task_count, uint32_t *ret_foreign,
                                 uint32_t gpu_count);

#endif
