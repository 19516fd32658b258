/* cluster: the hardware: GPU types, nodes, and the banks of equal GPUs in each node. Plain data, fixed for a run.
 *
 * GPUs are numbered 0..gpu_count-1, node by node and within a node type by type, so a bank (the GPUs of one type in one
 * node) is a run of consecutive numbers and what is free in it fits one 64-bit mask. */
#ifndef ADLRO_MODEL_CLUSTER_H
#define ADLRO_MODEL_CLUSTER_H

#include "base/error.h"
#include "base/index.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_TYPES_MAX        32 /* GPU types in one cluster: a set of types is a 32-bit mask */
#define ADL_BANK_GPUS_MAX    64 /* GPUs of one type in one node */
#define ADL_CLUSTER_GPUS_MAX (1u << 22)
#define ADL_NAME_SIZE        48
#define ADL_TYPE_ANY         "any" /* a GPU type of this name stands for all: nobody said on which jobs ran */

struct adl_gpu_type {
    char name[ADL_NAME_SIZE];
    char vendor[16];
    char source[160]; /* where the figures come from */
    bool modelled;    /* speeds on it come from specifications, not from measurements */
    int32_t memory_mib;
    double bandwidth_gbs;
    double fp32_tflops;
    double fp16_tflops; /* tensor or matrix units where present; 0 = none stated */
    double fp64_tflops;
    double idle_w;    /* no process has the GPU open */
    double context_w; /* a process holds a context and does nothing */
    double max_w;     /* board power limit */
};

struct adl_node {
    char name[ADL_NAME_SIZE];
    uint32_t bank_first; /* its banks are bank_first .. bank_first + bank_count - 1 */
    uint32_t bank_count;
    uint32_t gpu_first;
    uint32_t gpu_count;
    int32_t cpu_cores;
    int32_t memory_mib;
    double link_gbs; /* between two GPUs of the node */
};

struct adl_bank {
    uint32_t node;
    uint32_t gpu_first;
    uint16_t type;
    uint16_t gpu_count;
};

struct adl_cluster {
    struct adl_gpu_type *types;
    struct adl_node *nodes;
    struct adl_bank *banks;
    uint32_t *gpu_bank; /* [gpu] -> bank */
    uint32_t type_count;
    uint32_t node_count;
    uint32_t bank_count;
    uint32_t gpu_count;
    uint32_t type_gpus[ADL_TYPES_MAX]; /* GPUs of each type */
    double network_gbs;                /* between two nodes */
};

struct adl_bank_spec {
    uint32_t type;
    uint32_t gpu_count;
};

/* Building: types first, then nodes, in order. A failed call changes nothing. */
int adl_cluster_add_type(struct adl_cluster *cluster, const struct adl_gpu_type *type, struct adl_error *err);
int adl_cluster_add_node(struct adl_cluster *cluster, const struct adl_node *node, const struct adl_bank_spec *banks,
                         uint32_t bank_count, struct adl_error *err);
void adl_cluster_clear(struct adl_cluster *cluster); /* accepts a zeroed or half-built one */

/* The type's index, or ADL_NONE. */
uint32_t adl_cluster_find_type(const struct adl_cluster *cluster, const char *name);

static inline uint32_t adl_gpu_type_of(const struct adl_cluster *cluster, uint32_t gpu)
{
    return cluster->banks[cluster->gpu_bank[gpu]].type;
}

static inline uint32_t adl_gpu_node_of(const struct adl_cluster *cluster, uint32_t gpu)
{
    return cluster->banks[cluster->gpu_bank[gpu]].node;
}

#endif
