#include "executor/slurm/slurm_nodes.h"

#include "scenario/scenario_internal.h"

#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#define LINK_GBS    16.0 /* between GPUs of a node: Slurm does not say */
#define NETWORK_GBS 1.25

/* A type of the cluster for a name of gres.conf; its figures are the catalogue's if it has it. */
static int add_type(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                    struct adl_cluster *cluster, const char *gres, uint32_t *ret, struct adl_error *err)
{
    const char *name = gres;
    *ret = adl_cluster_find_type(cluster, gres);
    if (*ret != ADL_NONE)
        return 0;
    for (uint32_t i = 0; i < config->alias_count; i++)
        if (strcmp(config->aliases[i].gres, gres) == 0)
            name = config->aliases[i].type;
    const struct adl_catalogue_type *known = adl_catalogue_find_type(catalogue, name);
    struct adl_gpu_type type = known ? known->gpu : adl_inventory_guess();
    snprintf(type.name, sizeof type.name, "%s", gres);
    *ret = cluster->type_count;
    return adl_cluster_add_type(cluster, &type, err);
}

/* 0 to 1e9, whatever the message has. */
static int32_t bounded(const cJSON *message, const char *name)
{
    const double value = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, name));
    return value >= 0 ? (int32_t)(value < 1e9 ? value : 1e9) : 0;
}

static int add_node(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                    struct adl_cluster *cluster, const cJSON *message, struct adl_error *err)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "name"));
    struct adl_node node = {.link_gbs = LINK_GBS};
    struct adl_bank_spec banks[ADL_TYPES_MAX];
    uint32_t count = 0;
    const cJSON *gpu;
    int status = 0;
    snprintf(node.name, sizeof node.name, "%s", name ? name : "");
    for (uint32_t n = 0; n < cluster->node_count; n++)
        if (strcmp(cluster->nodes[n].name, node.name) == 0)
            return 0;
    node.cpu_cores = bounded(message, "cpus");
    node.memory_mib = bounded(message, "memory_mib");
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(message, "gpus"))
    {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gpu, "type"));
        const double gpus = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(gpu, "count"));
        if (!type || !*type || !(gpus >= 1 && gpus <= ADL_BANK_GPUS_MAX) || count == ADL_TYPES_MAX)
            continue;
        status = status ? status : add_type(config, catalogue, cluster, type, &banks[count].type, err);
        banks[count++].gpu_count = (uint32_t)gpus;
    }
    return status || count == 0 ? status : adl_cluster_add_node(cluster, &node, banks, count, err);
}

int adl_slurm_nodes_add(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                        const struct cJSON *messages, struct adl_inventory *inventory, struct adl_error *err)
{
    struct adl_cluster *cluster = &inventory->scenario.cluster;
    const cJSON *message;
    int status = 0;
    cluster->network_gbs = NETWORK_GBS;
    cJSON_ArrayForEach(message, messages)
    {
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
        if (status == 0 && event && strcmp(event, "node") == 0)
            status = add_node(config, catalogue, cluster, message, err);
    }
    if (status == 0 && cluster->gpu_count == 0)
        status = adl_fail(err, ADL_EINVAL,
                          "no node of these partitions has GPUs with a type (`adlro slurm check` says "
                          "what to change)");
    if (status == 0)
        status = adl_inventory_name_gpus(inventory, "Slurm's", err);
    inventory->virtual = false;
    for (uint32_t g = 0; status == 0 && g < cluster->gpu_count; g++) {
        const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, g)];
        inventory->gpus[g].vendor = strcmp(type->vendor, "amd") == 0 ? ADL_GPU_AMD : ADL_GPU_NVIDIA;
    }
    return status;
}
