/* slurm_layout: the nodes, their GPUs and the partitions that a slurm.conf describes. */
#ifndef ADLRO_EXECUTOR_SLURM_SLURM_LAYOUT_H
#define ADLRO_EXECUTOR_SLURM_SLURM_LAYOUT_H

#include "executor/slurm/slurm_conf.h"

#define ADL_LAYOUT_NODES_MAX 262144u
#define ADL_LAYOUT_TYPE_SIZE 64u
#define ADL_LAYOUT_TYPES_MAX 8u /* of GPUs in one node */

struct adl_layout_node {
    char *name;
    size_t line; /* of the configuration */
};

struct adl_layout_partition {
    const char *name; /* points into the configuration */
    size_t line;      /* of the configuration */
    uint32_t *nodes;  /* indices, ascending, each once */
    size_t node_count, node_capacity;
    char absent[64]; /* a name in Nodes= that is no node and no set of nodes; "" if there is none */
};

/* Nodes by name. Everything points into the configuration, which has to outlive it. */
struct adl_slurm_layout {
    const struct adl_slurm_conf *conf;
    struct adl_layout_node *nodes;
    struct adl_layout_partition *partitions;
    size_t node_count, partition_count;
    size_t node_capacity, partition_capacity;
};

/* GPUs of one node by type; the type of those that have none is "". */
struct adl_layout_gpus {
    struct {
        char type[ADL_LAYOUT_TYPE_SIZE];
        uint64_t count;
    } kinds[ADL_LAYOUT_TYPES_MAX];
    size_t count;
};

int adl_slurm_layout_read(const struct adl_slurm_conf *conf, struct adl_slurm_layout *ret, struct adl_error *err);
void adl_slurm_layout_clear(struct adl_slurm_layout *layout); /* accepts a zeroed one */

uint32_t adl_layout_node_find(const struct adl_slurm_layout *layout, const char *name); /* ADL_NONE if there is none */

/* What Gres= says of GPUs: "gpu:volta:4,gpu:2,shard:8". A text of NULL has none. */
void adl_layout_gpus_read(const char *gres, struct adl_layout_gpus *ret);
void adl_layout_gpus_add(struct adl_layout_gpus *gpus, const char *type, uint64_t count);
/* GPUs that a line of gres.conf lists: "File=/dev/nvidia[0-3]" or "Count=4". */
uint64_t adl_layout_gres_count(const struct adl_slurm_conf *gres, size_t line);
uint64_t adl_layout_gpus_total(const struct adl_layout_gpus *gpus);
bool adl_layout_gpus_typed(const struct adl_layout_gpus *gpus); /* all of them; true if there are none */

#endif
