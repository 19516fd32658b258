/* view_health: GPUs and types that are no longer as fast as they were, and whether predictions hold, in words and as
 * JSON. */
#include "predict/drift/report.h"
#include "service/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
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

static const struct adl_calibration *calibration_of(const struct adl_service_state *shared)
{
    return adl_belief_calibration(adl_engine_belief(shared->engine));
}

void adl_view_say_predictions(const struct adl_service_state *shared, char *ret, size_t size)
{
    struct adl_text text = {0};
    adl_calibration_say(calibration_of(shared), &text);
    snprintf(ret, size, "%s", adl_text_status(&text) == 0 ? text.data : "");
    adl_text_clear(&text);
}

/* What an administrator could do, as a command; empty while predictions hold. */
static void propose(const struct adl_service_state *shared, char *ret, size_t size)
{
    const char *policy = shared->health.configured ? shared->health.configured->name : shared->policy->name;
    ret[0] = '\0';
    if (!calibration_of(shared)->alarm)
        return;
    if (strcmp(policy, "dqn") == 0)
        snprintf(ret, size, "adlro train dqn --scenario CLUSTER.yaml --out dqn.model");
    else
        snprintf(ret, size, "adlro tune JOBS --cluster CLUSTER.yaml --policy %s --regime learned", policy);
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
    adl_view_time(json, "drained_s", shared->gpus[gpu].drain ? shared->gpus[gpu].drain_us : 0);
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

static void put_predictions(struct adl_json *json, const struct adl_service_state *shared)
{
    const struct adl_calibration *it = calibration_of(shared);
    char text[ADL_HEALTH_SIZE], proposal[160];
    adl_view_say_predictions(shared, text, sizeof text);
    propose(shared, proposal, sizeof proposal);
    adl_json_object(json);
    adl_json_put_uint(json, "ends", it->ends);
    adl_json_put_bool(json, "alarm", it->alarm);
    adl_view_time(json, "since_s", it->alarm ? it->since_us + shared->wall_ahead_us : 0);
    adl_json_key(json, "figures");
    adl_json_array(json);
    for (int f = 0; f < ADL_CALIBRATION_FIGURES; f++) {
        const struct adl_calibration_view view = adl_calibration_see(it, f);
        adl_json_object(json);
        adl_json_put_string(json, "name", adl_calibration_name(f));
        put_rounded(json, "value", view.value);
        put_rounded(json, "low", view.low);
        put_rounded(json, "high", view.high);
        adl_json_put_bool(json, "outside", view.outside);
        adl_json_end(json);
    }
    adl_json_end(json);
    adl_json_put_string(json, "text", text);
    adl_json_put_string(json, "proposal", proposal);
    adl_json_end(json);
}

static void put_policy(struct adl_json *json, const struct adl_service_state *shared)
{
    const struct adl_service_state_health *health = &shared->health;
    adl_json_object(json);
    adl_json_put_string(json, "configured", health->configured ? health->configured->name : shared->policy->name);
    adl_json_put_string(json, "in_force", shared->policy->name);
    adl_json_put_string(json, "fallback", health->fallback ? health->fallback->name : NULL);
    adl_json_put_bool(json, "fallen_back", health->fallen_back);
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
    adl_json_key(json, "predictions");
    put_predictions(json, shared);
    adl_json_key(json, "policy");
    put_policy(json, shared);
    adl_json_end(json);
}
