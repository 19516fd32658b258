#include "predict/drift/report.h"

#include <math.h>

static void put_day(const void *context, int64_t time_us, struct adl_text *ret)
{
    (void)context;
    const int64_t minutes = time_us / 60000000, day = 1 + minutes / 1440, hour = minutes / 60 % 24;
    adl_text_printf(ret, "day %lld, %02lld:%02lld", (long long)day, (long long)hour, (long long)minutes % 60);
}

void adl_drift_say_gpu(const struct adl_cluster *cluster, uint32_t gpu, const struct adl_gpu_drift *found,
                       const struct adl_drift_times *times, struct adl_text *ret)
{
    const struct adl_node *node = &cluster->nodes[adl_gpu_node_of(cluster, gpu)];
    adl_text_printf(ret, "%s:gpu%u ", node->name, gpu - node->gpu_first);
    if (found->kind == ADL_DRIFT_THROTTLED)
        adl_text_printf(ret, "throttles: now and then %.0f %% below its type, %.0f %% on average",
                        100 * (1 - found->low), 100 * (1 - found->factor));
    else
        adl_text_printf(ret, "runs %.0f %% below its type", 100 * (1 - found->factor));
    adl_text_put(ret, " since ");
    times->put(times->context, found->since_us, ret);
    if (found->kind == ADL_DRIFT_SLOW)
        adl_text_printf(ret, " (+-%.0f %%)", ceil(100 * found->error));
    adl_text_printf(ret, "; %u job%s lost %.1f GPU-hours to it", found->jobs, found->jobs == 1 ? "" : "s",
                    found->lost_s / 3600);
    if (!found->separable)
        adl_text_put(ret, "; it is the only one of its type, which may have changed instead");
    if (!found->confirmed)
        adl_text_put(ret, "; only one user says so");
}

void adl_drift_say_type(const struct adl_cluster *cluster, uint32_t type, const struct adl_type_drift *found,
                        const struct adl_drift_times *times, struct adl_text *ret)
{
    adl_text_printf(ret, "%s: all GPUs run at %.0f %% (+-%.0f %%) of the speed at first since ",
                    cluster->types[type].name, 100 * found->factor, ceil(100 * found->error));
    times->put(times->context, found->since_us, ret);
}

void adl_drift_report(const struct adl_drift *drift, const struct adl_cluster *cluster, struct adl_text *ret)
{
    const struct adl_drift_times days = {.put = put_day};
    const size_t before = ret->size;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        struct adl_type_drift it;
        adl_drift_type(drift, t, &it);
        if (it.changes == 0)
            continue;
        adl_drift_say_type(cluster, t, &it, &days, ret);
        adl_text_put(ret, "\n");
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        struct adl_gpu_drift it;
        adl_drift_gpu(drift, g, &it);
        if (it.kind == ADL_DRIFT_NONE)
            continue;
        adl_drift_say_gpu(cluster, g, &it, &days, ret);
        adl_text_put(ret, "\n");
    }
    if (ret->size == before)
        adl_text_put(ret, "every GPU runs as its type does, and every type as at first\n");
}
