/* live_drain: administrators take GPUs out of use and put them back. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <string.h>

static bool is_named(const struct adl_live *live, const struct adl_request *request, uint32_t gpu)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    if (request->gpu != ADL_NONE)
        return gpu == request->gpu;
    return strcmp(cluster->nodes[adl_gpu_node_of(cluster, gpu)].name, request->node) == 0;
}

int adl_live_drain_prepare(struct adl_live *live, struct adl_request *request)
{
    const uint32_t gpus = live->shared->inventory->scenario.cluster.gpu_count;
    const bool drain = request->kind == ADL_REQUEST_DRAIN;
    uint32_t found = 0;
    int status = 0;
    if (!request->caller.admin)
        return adl_fail(&request->err, ADL_EDENIED, "only administrators drain and resume GPUs");
    for (uint32_t g = 0; status == 0 && g < gpus; g++) {
        if (!is_named(live, request, g))
            continue;
        found++;
        status = adl_store_drain_set(live->config.store, live->shared->inventory->gpus[g].id,
                                     drain ? request->text : NULL, live->now_us, &request->err);
    }
    if (found == 0)
        return adl_fail(&request->err, ADL_EABSENT, "there is no such GPU or node");
    return status ? status : adl_live_log_request(live, request, drain ? "drain" : "resume", &request->err);
}

void adl_live_drain_apply(struct adl_live *live, const struct adl_request *request)
{
    for (uint32_t g = 0; g < live->shared->inventory->scenario.cluster.gpu_count; g++) {
        if (!is_named(live, request, g))
            continue;
        struct adl_service_state_gpu *gpu = &live->shared->gpus[g];
        gpu->drain = request->kind == ADL_REQUEST_DRAIN;
        gpu->drain_us = live->now_us;
        adl_live_health_drained(live, g, request->text);
        if (!gpu->lost && gpu->foreign == 0)
            snprintf(gpu->reason, sizeof gpu->reason, "%s", gpu->drain ? request->text : "");
        adl_live_gpu_changed(live, g);
    }
}
