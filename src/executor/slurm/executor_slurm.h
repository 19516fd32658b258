/* executor_slurm: a Slurm cluster as the service's executor. Its users submit the jobs; Slurm starts, stops and
 * accounts for them where the service says. The adapter talks to Slurm (executor/slurm/slurm_link.h). */
#ifndef ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_H
#define ADLRO_EXECUTOR_SLURM_EXECUTOR_SLURM_H

#include "executor/executor.h"
#include "executor/inventory.h"
#include "slurm/wire.h"

/* What a type is called in gres.conf, and what it is in the catalogue. */
struct adl_slurm_alias {
    const char *gres;
    const char *type;
};

/* All of it stays the caller's and has to outlast the executor. */
struct adl_executor_slurm_config {
    const char *adapter; /* path of the program */
    const char *conf;    /* slurm.conf; NULL: where the adapter finds it */
    const char *const *partitions;
    uint32_t partition_count;
    const struct adl_slurm_alias *aliases;
    uint32_t alias_count;
    int mode;        /* enum adl_slurm_mode */
    bool requeue;    /* the policy may preempt jobs that Slurm may requeue */
    int64_t wait_us; /* at the start, until the cluster has answered */
};

/* Asks the cluster what it has, and puts the GPUs of the nodes of these partitions into the inventory, which is empty
 * but for what does not depend on them. */
int adl_executor_slurm_open(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                            struct adl_inventory *inventory, struct adl_executor *ret, struct adl_error *err);

#endif
