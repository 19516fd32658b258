#include "model/cluster.h"

#include <stdlib.h>
#include <string.h>

/* Grows *array to hold count elements; growth by doubling keeps 12,500 nodes cheap to add one by one. */
static int reserve(void **array, uint32_t old_count, uint32_t count, size_t size)
{
    uint32_t capacity = 1;
    while (capacity < old_count)
        capacity *= 2;
    if (*array && count <= capacity)
        return 0;
    while (capacity < count)
        capacity *= 2;
    void *grown = realloc(*array, capacity * size);
    if (!grown)
        return ADL_ENOMEM;
    *array = grown;
    return 0;
}

int adl_cluster_add_type(struct adl_cluster *cluster, const struct adl_gpu_type *type, struct adl_error *err)
{
    if (cluster->type_count == ADL_TYPES_MAX)
        return adl_fail(err, ADL_EINVAL, "more than %d GPU types in one cluster", ADL_TYPES_MAX);
    if (adl_cluster_find_type(cluster, type->name) != ADL_NONE)
        return adl_fail(err, ADL_EINVAL, "GPU type '%s' is given twice", type->name);
    if (reserve((void **)&cluster->types, cluster->type_count, cluster->type_count + 1, sizeof *type))
        return adl_fail(err, ADL_ENOMEM, "out of memory for GPU types");
    cluster->types[cluster->type_count++] = *type;
    return 0;
}

static int check_banks(const struct adl_cluster *cluster, const struct adl_node *node,
                       const struct adl_bank_spec *banks, uint32_t bank_count, uint32_t *ret_gpus,
                       struct adl_error *err)
{
    uint32_t seen = 0, gpus = 0;
    for (uint32_t i = 0; i < bank_count; i++) {
        if (banks[i].type >= cluster->type_count)
            return adl_fail(err, ADL_EINVAL, "node '%s' has a GPU type that is not in the catalogue", node->name);
        if (banks[i].gpu_count < 1 || banks[i].gpu_count > ADL_BANK_GPUS_MAX)
            return adl_fail(err, ADL_EINVAL, "node '%s' has %u GPUs of one type; 1 to %d are possible", node->name,
                            banks[i].gpu_count, ADL_BANK_GPUS_MAX);
        if (seen & (1u << banks[i].type))
            return adl_fail(err, ADL_EINVAL, "node '%s' lists GPU type '%s' twice", node->name,
                            cluster->types[banks[i].type].name);
        seen |= 1u << banks[i].type;
        gpus += banks[i].gpu_count;
    }
    if (gpus > ADL_CLUSTER_GPUS_MAX - cluster->gpu_count)
        return adl_fail(err, ADL_EINVAL, "more than %u GPUs in one cluster", ADL_CLUSTER_GPUS_MAX);
    *ret_gpus = gpus;
    return 0;
}

int adl_cluster_add_node(struct adl_cluster *cluster, const struct adl_node *node, const struct adl_bank_spec *banks,
                         uint32_t bank_count, struct adl_error *err)
{
    uint32_t gpus = 0;
    const int status = check_banks(cluster, node, banks, bank_count, &gpus, err);
    if (status)
        return status;
    if (reserve((void **)&cluster->nodes, cluster->node_count, cluster->node_count + 1, sizeof *node) ||
        reserve((void **)&cluster->banks, cluster->bank_count, cluster->bank_count + bank_count,
                sizeof *cluster->banks) ||
        reserve((void **)&cluster->gpu_bank, cluster->gpu_count, cluster->gpu_count + gpus, sizeof *cluster->gpu_bank))
        return adl_fail(err, ADL_ENOMEM, "out of memory for node '%s'", node->name);

    struct adl_node *added = &cluster->nodes[cluster->node_count];
    *added = *node;
    added->bank_first = cluster->bank_count;
    added->bank_count = bank_count;
    added->gpu_first = cluster->gpu_count;
    added->gpu_count = gpus;
    for (uint32_t i = 0; i < bank_count; i++) {
        cluster->banks[cluster->bank_count] = (struct adl_bank){.node = cluster->node_count,
                                                                .gpu_first = cluster->gpu_count,
                                                                .type = (uint16_t)banks[i].type,
                                                                .gpu_count = (uint16_t)banks[i].gpu_count};
        for (uint32_t g = 0; g < banks[i].gpu_count; g++)
            cluster->gpu_bank[cluster->gpu_count + g] = cluster->bank_count;
        cluster->type_gpus[banks[i].type] += banks[i].gpu_count;
        cluster->gpu_count += banks[i].gpu_count;
        cluster->bank_count++;
    }
    cluster->node_count++;
    return 0;
}

void adl_cluster_clear(struct adl_cluster *cluster)
{
    free(cluster->types);
    free(cluster->nodes);
    free(cluster->banks);
    free(cluster->gpu_bank);
    *cluster = (struct adl_cluster){0};
}

uint32_t adl_cluster_find_type(const struct adl_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->type_count; i++)
        if (strcmp(cluster->types[i].name, name) == 0)
            return i;
    return ADL_NONE;
}
