/* slurm_nodes: the nodes that a Slurm cluster says it has, as an inventory. */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_NODES_H
#define ADLRO_EXECUTOR_SLURM_SLURM_NODES_H

#include "executor/slurm/executor_slurm.h"

struct cJSON;

/* From an array of messages of the adapter, of which those about nodes count. */
int adl_slurm_nodes_take(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                         const struct cJSON *heard, struct adl_inventory *inventory, struct adl_error *err);

#endif
