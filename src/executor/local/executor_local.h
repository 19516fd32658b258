/* executor_local: jobs as processes of this machine, each under its shepherd (executor/local/launch.h), and the
 * telemetry of its GPUs. */
#ifndef ADLRO_EXECUTOR_LOCAL_EXECUTOR_LOCAL_H
#define ADLRO_EXECUTOR_LOCAL_EXECUTOR_LOCAL_H

#include "executor/clock.h"
#include "executor/executor.h"
#include "executor/inventory.h"
#include "executor/local/gpu_caps.h"
#include "executor/local/telemetry_thread.h"

struct adl_executor_local_config {
    const char *directory; /* the service's state: tasks/ and scripts/ are made in it; absolute */
    struct adl_store *store;
    const struct adl_inventory *inventory;
    const struct adl_service_clock *clock;
    struct adl_telemetry_thread *telemetry; /* the executor takes it over; NULL: none is read */
    struct adl_gpu_caps *caps;              /* the same; NULL: power caps are refused */
    int64_t grace_us;
    int urgent_fd;        /* readable while a client waits: launching then pauses; -1: none */
    const char *socket;   /* of the service, for its jobs; NULL: they are not told */
    const char *shepherd; /* program that supervises a task; NULL: this one */
    const char *cgroup;   /* parent of the jobs' cgroups; NULL: none */
    int64_t file_limit;   /* open files of a job without a limit of its own (jobs/resource_limits.h); 0: as many as this
                             process */
    bool avoid_foreign;   /* a GPU with processes from outside the queue is reported down */
};

/* All pointers stay the caller's and have to outlast the executor. */
int adl_executor_local_create(const struct adl_executor_local_config *config, struct adl_executor *ret,
                              struct adl_error *err);

#endif
