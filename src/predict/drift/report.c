#include "predict/drift/report.h"

#include <math.h>

static void put_time(struct adl_text *text, int64_t time_us)
{
    const int64_t minutes = time_us / 60000000, day = 1 + minutes / 1440, hour = minutes / 60 % 24;
    adl_text_printf(text, "day %lld, %02lld:%02lld", (long long)day, (long long)hour, (long long)minutes % 60);
}

static void put_gpu(const struct adl_cluster *cluster, uint32_t gpu, const struct adl_gpu_drift *it,
                    struct adl_text *text)
{
    const struct adl_node *node = &cluster->nodes[adl_gpu_node_of(cluster, gpu)];
    adl_text_printf(text, "%s:gpu%u ", node->name, gpu - node->gpu_first);
    if (it->kind == ADL_DRIFT_THROTTLED)
        adl_text_printf(text, "throttles: now and then %.0f %% below its type, %.0f %% on average", 100 * (1 - it->low),
                        100 * (1 - it->factor));
    else
        adl_text_printf(text, "runs %.0f %% below its type", 100 * (1 - it->factor));
    adl_text_put(text, " since ");
    put_time(text, it->since_us);
    if (it->kind == ADL_DRIFT_SLOW)
        adl_text_printf(text, " (+-%.0f %%)", ceil(100 * it->error));
    adl_text_printf(text, "; %u job%s lost %.1f GPU-hours to it", it->jobs, it->jobs == 1 ? "" : "s",
                    it->lost_s / 3600);
    if (!it->separable)
        adl_text_put(text, "; it is the only one of its type, which may have changed instead");
    adl_text_put(text, it->confirmed ? "\n" : "; only one user says so\n");
}

void adl_drift_report(const struct adl_drift *drift, const struct adl_cluster *cluster, struct adl_text *ret)
{
    uint32_t lines = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        struct adl_type_drift it;
        adl_drift_type(drift, t, &it);
        if (it.changes == 0)
            continue;
        adl_text_printf(ret, "%s: all GPUs run at %.0f %% (+-%.0f %%) of the speed at first since ",
                        cluster->types[t].name, 100 * it.factor, ceil(100 * it.error));
        put_time(ret, it.since_us);
        adl_text_put(ret, "\n");
        lines++;
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        struct adl_gpu_drift it;
        adl_drift_gpu(drift, g, &it);
        if (it.kind == ADL_DRIFT_NONE)
            continue;
        put_gpu(cluster, g, &it, ret);
        lines++;
    }
    if (lines == 0)
        adl_text_put(ret, "every GPU runs as its type does, and every type as at first\n");
}
