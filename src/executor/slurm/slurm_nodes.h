/* slurm_nodes: the nodes of a Slurm cluster as an inventory. */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_NODES_H
#define ADLRO_EXECUTOR_SLURM_SLURM_NODES_H

#include "executor/slurm/executor_slurm.h"

struct cJSON;

/* From an array of messages of the adapter, of which it reads those about nodes. */
int adl_slurm_nodes_add(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                        const struct cJSON *messages, struct adl_inventory *inventory, struct adl_error *err);

#endif
