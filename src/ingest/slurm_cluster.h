/* slurm_cluster: the nodes, their GPUs and the partitions that a slurm.conf describes. */
#ifndef ADLRO_INGEST_SLURM_CLUSTER_H
#define ADLRO_INGEST_SLURM_CLUSTER_H

#include "ingest/slurm_conf.h"

#define ADL_SLURM_NODES_MAX 262144u
#define ADL_SLURM_TYPE_SIZE 64u
#define ADL_SLURM_TYPES_MAX 8u  /* of GPUs in one node */

struct adl_slurm_node {
    char *name;
    size_t line; /* of the configuration */
};

struct adl_slurm_partition {
    const char *name; /* the configuration's */
    size_t line;      /* of the configuration */
    uint32_t *nodes;  /* indices, ascending, each once */
    size_t node_count, node_capacity;
    char absent[64]; /* a name in Nodes= that is no node and no set of nodes; "" if there is none */
};

/* Nodes by name. Everything points into the configuration, which has to outlive it. */
struct adl_slurm_cluster {
    const struct adl_slurm_conf *conf;
    struct adl_slurm_node *nodes;
    struct adl_slurm_partition *partitions;
    size_t node_count, partition_count;
    size_t node_capacity, partition_capacity;
};

/* GPUs of one node by type; the type of those that have none is "". */
struct adl_slurm_gpus {
    struct {
        char type[ADL_SLURM_TYPE_SIZE];
        uint64_t count;
    } kinds[ADL_SLURM_TYPES_MAX];
    size_t count;
};

int adl_slurm_cluster_read(const struct adl_slurm_conf *conf, struct adl_slurm_cluster *ret, struct adl_error *err);
void adl_slurm_cluster_clear(struct adl_slurm_cluster *cluster); /* accepts a zeroed one */

uint32_t adl_slurm_node_find(const struct adl_slurm_cluster *cluster, const char *name); /* ADL_NONE if there is none */

/* What Gres= says of GPUs: "gpu:volta:4,gpu:2,shard:8". A text of NULL has none. */
void adl_slurm_gpus_read(const char *gres, struct adl_slurm_gpus *ret);
void adl_slurm_gpus_add(struct adl_slurm_gpus *gpus, const char *type, uint64_t count);
uint64_t adl_slurm_gpus_total(const struct adl_slurm_gpus *gpus);
bool adl_slurm_gpus_typed(const struct adl_slurm_gpus *gpus); /* all of them; true if there are none */

#endif
