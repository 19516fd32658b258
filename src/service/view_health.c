/* view_health: GPUs and types that are no longer as fast as they were, in words and as JSON. */
#include "predict/drift/report.h"
#include "service/view.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define WEEK_US (INT64_C(6) * 86400 * 1000000)

/* A date of this machine's clock: "Tue 14:10", or with the day if that was not of late. */
static void put_date(const void *context, int64_t time_us, struct adl_text *ret)
{
    const struct adl_service_state *shared = context;
    const int64_t wall_us = time_us + shared->wall_ahead_us;
    const time_t seconds = (time_t)(wall_us / 1000000);
    struct tm parts;
    char text[40] = "";
    if (localtime_r(&seconds, &parts))
        strftime(text, sizeof text, shared->now_us(shared) - wall_us < WEEK_US ? "%a %H:%M" : "%Y-%m-%d %H:%M", &parts);
    adl_text_put(ret, text);
}

bool adl_view_say_gpu(const struct adl_service_state *shared, uint32_t gpu, char *ret, size_t size)
{
    const struct adl_drift_times dates = {put_date, shared};
    const struct adl_drift *drift = adl_engine_drift(shared->engine);
    struct adl_gpu_drift found;
    struct adl_text text = {0};
    ret[0] = '\0';
    if (!drift)
        return false;
    adl_drift_gpu(drift, gpu, &found);
    if (found.kind == ADL_DRIFT_NONE)
        return false;
    adl_drift_say_gpu(&shared->inventory->scenario.cluster, gpu, &found, &dates, &text);
    snprintf(ret, size, "%s", adl_text_status(&text) == 0 ? text.data : "");
    adl_text_clear(&text);
    return true;
}

bool adl_view_say_type(const struct adl_service_state *shared, uint32_t type, char *ret, size_t size)
{
    const struct adl_drift_times dates = {put_date, shared};
    const struct adl_drift *drift = adl_engine_drift(shared->engine);
    struct adl_type_drift found;
    struct adl_text text = {0};
    ret[0] = '\0';
    if (!drift)
        return false;
    adl_drift_type(drift, type, &found);
    if (found.changes == 0)
        return false;
    adl_drift_say_type(&shared->inventory->scenario.cluster, type, &found, &dates, &text);
    snprintf(ret, size, "%s", adl_text_status(&text) == 0 ? text.data : "");
    adl_text_clear(&text);
    return true;
}

static void put_rounded(struct adl_json *json, const char *key, double value)
{
    adl_json_put_real(json, key, round(value * 10000) / 10000);
}

static void put_gpu(struct adl_json *json, const struct adl_service_state *shared, uint32_t gpu)
{
    static const char *const kinds[] = {"none", "slow", "throttled"};
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    struct adl_gpu_drift found;
    char text[ADL_HEALTH_SIZE];
    if (!adl_view_say_gpu(shared, gpu, text, sizeof text))
        return;
    adl_drift_gpu(adl_engine_drift(shared->engine), gpu, &found);
    adl_json_object(json);
    adl_json_put_uint(json, "gpu", gpu);
    adl_json_put_string(json, "id", shared->inventory->gpus[gpu].id);
    adl_json_put_string(json, "node", cluster->nodes[adl_gpu_node_of(cluster, gpu)].name);
    adl_json_put_string(json, "type", cluster->types[adl_gpu_type_of(cluster, gpu)].name);
    adl_json_put_string(json, "state", adl_gpu_state_name(adl_service_state_gpu_state(shared, gpu)));
    adl_json_put_string(json, "kind", kinds[found.kind]);
    adl_json_put_bool(json, "confirmed", found.confirmed);
    adl_json_put_bool(json, "drained", shared->gpus[gpu].drained_slow);
    put_rounded(json, "speed", found.factor);
    put_rounded(json, "error", found.error);
    adl_view_time(json, "since_s", found.since_us + shared->wall_ahead_us);
    adl_json_put_uint(json, "jobs", found.jobs);
    put_rounded(json, "lost_gpu_hours", found.lost_s / 3600);
    adl_json_put_string(json, "text", text);
    adl_json_end(json);
}

static void put_type(struct adl_json *json, const struct adl_service_state *shared, uint32_t type)
{
    struct adl_type_drift found;
    char text[ADL_HEALTH_SIZE];
    if (!adl_view_say_type(shared, type, text, sizeof text))
        return;
    adl_drift_type(adl_engine_drift(shared->engine), type, &found);
    adl_json_object(json);
    adl_json_put_string(json, "type", shared->inventory->scenario.cluster.types[type].name);
    put_rounded(json, "speed", found.factor);
    put_rounded(json, "error", found.error);
    adl_view_time(json, "since_s", found.since_us + shared->wall_ahead_us);
    adl_json_put_uint(json, "changes", found.changes);
    adl_json_put_string(json, "text", text);
    adl_json_end(json);
}

void adl_view_health(struct adl_json *json, const struct adl_service_state *shared)
{
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    adl_json_object(json);
    adl_json_key(json, "drain_slow_gpus"); /* in percent; null: off */
    if (shared->health.drain_below > 0)
        adl_json_real(json, round(100 * shared->health.drain_below));
    else
        adl_json_null(json);
    adl_json_key(json, "gpus");
    adl_json_array(json);
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        put_gpu(json, shared, g);
    adl_json_end(json);
    adl_json_key(json, "types");
    adl_json_array(json);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        put_type(json, shared, t);
    adl_json_end(json);
    adl_json_end(json);
}
