/* live_health: GPUs and types whose speed has changed, and predictions that do not hold: an event when that is found,
 * and a drain or another policy if the configuration allows it. */
#include "predict/drift/drift.h"
#include "service/live/live_internal.h"
#include "service/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_US    INT64_C(250000) /* of this machine's time */
#define SHARE_LEAST 10              /* one GPU in so many may be drained, at least one */

static struct adl_gpu_drift about(const struct adl_live *live, uint32_t gpu)
{
    struct adl_gpu_drift found;
    adl_drift_gpu(adl_engine_drift(live->shared->engine), gpu, &found);
    return found;
}

static uint32_t changes_of(const struct adl_live *live, uint32_t type)
{
    struct adl_type_drift found;
    adl_drift_type(adl_engine_drift(live->shared->engine), type, &found);
    return found.changes;
}

/* ---- events ---- */

int adl_live_tell(struct adl_live *live, const char *kind, uint32_t gpu, const char *text)
{
    struct adl_error err = {""};
    struct adl_text payload = {0};
    struct adl_json json = adl_json_start(&payload, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "what", kind);
    if (gpu != ADL_NONE)
        adl_json_put_uint(&json, "gpu", gpu);
    adl_json_put_string(&json, "text", text);
    adl_json_end(&json);
    if (adl_text_status(&payload))
        return ADL_ENOMEM;
    adl_events_publish(live->shared->events, "health", payload.data, NULL, NULL);
    adl_hooks_post(live->shared->hooks,
                   &(struct adl_hook_note){.event = strcmp(kind, "shadow") == 0 ? ADL_HOOK_GATE : ADL_HOOK_DRIFT,
                                           .time_us = live->now_us,
                                           .what = kind,
                                           .text = text});
    adl_service_state_unlock(live->shared);
    const int status = adl_live_log(live, kind, 0, &payload, &err);
    adl_service_state_lock(live->shared);
    if (live->config.say)
        live->config.say(status ? err.text : text);
    return status;
}

static bool see_gpu(struct adl_live *live, uint32_t gpu)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    const struct adl_node *node = &cluster->nodes[adl_gpu_node_of(cluster, gpu)];
    struct adl_live_health *known = &live->health[gpu];
    const struct adl_gpu_drift found = about(live, gpu);
    const bool first = known->kind == ADL_DRIFT_NONE;
    char text[ADL_HEALTH_SIZE];
    if (found.kind == known->kind && found.confirmed == known->confirmed)
        return false;
    known->kind = found.kind;
    known->confirmed = found.confirmed;
    known->spared &= found.kind != ADL_DRIFT_NONE;
    live->shared->counts.gpu_alarms += first;
    if (!adl_view_say_gpu(live->shared, gpu, text, sizeof text))
        snprintf(text, sizeof text, "%s:gpu%u runs as its type does again", node->name, gpu - node->gpu_first);
    adl_live_tell(live, found.kind == ADL_DRIFT_NONE ? "gpu_recovered" : "gpu_slow", gpu, text);
    return true;
}

static bool see_type(struct adl_live *live, uint32_t type)
{
    const uint32_t changes = changes_of(live, type);
    char text[ADL_HEALTH_SIZE];
    if (changes == live->type_changes[type])
        return false;
    live->type_changes[type] = changes;
    if (!adl_view_say_type(live->shared, type, text, sizeof text))
        return false;
    live->shared->counts.type_alarms++;
    adl_live_tell(live, "type_speed", ADL_NONE, text);
    return true;
}

/* ---- predictions ---- */

static bool does_alarm(const struct adl_live *live)
{
    return adl_belief_calibration(adl_engine_belief(live->shared->engine))->alarm;
}

static bool see_predictions(struct adl_live *live)
{
    char text[ADL_HEALTH_SIZE];
    const bool alarm = does_alarm(live);
    if (alarm == live->model_alarm)
        return false;
    live->model_alarm = alarm;
    live->shared->counts.model_alarms += alarm;
    adl_view_say_predictions(live->shared, text, sizeof text);
    adl_live_tell(live, alarm ? "model_drift" : "model_recovered", ADL_NONE, text);
    return true;
}

/* Between two decisions; running jobs run on. */
static void decide_policy(struct adl_live *live)
{
    const struct adl_service_state_health *health = &live->shared->health;
    const bool able = health->fallback && (health->fallback->limits_power || live->shared->power.limit_w <= 0);
    const bool wanted = does_alarm(live) && able; /* a power limit is kept, whatever predictions are worth */
    struct adl_error err = {""};
    char text[ADL_HEALTH_SIZE];
    if (wanted == health->fallen_back || !live->config.switch_policy)
        return;
    snprintf(text, sizeof text,
             wanted ? "policy %s decides in place of %s until predictions hold again" : "policy %s decides again",
             wanted ? health->fallback->name : health->configured->name, health->configured->name);
    const int status = live->config.switch_policy(live->config.context, wanted, &err);
    if (status < 0 && live->config.say)
        live->config.say(err.text);
    if (status <= 0)
        return;
    live->moving = true;
    adl_live_tell(live, wanted ? "fallback" : "fallback_end", ADL_NONE, text);
}

/* ---- drains ---- */

/* So far below its type, beyond what is uncertain, and not by the word of one user. */
static bool is_bad(const struct adl_live *live, const struct adl_gpu_drift *found)
{
    const double below = live->shared->health.drain_below;
    return below > 0 && found->kind != ADL_DRIFT_NONE && found->impartial && found->separable &&
           1 - (found->factor + found->error) >= below;
}

static bool takes_jobs(const struct adl_live *live, uint32_t gpu)
{
    const struct adl_service_state_gpu *it = &live->shared->gpus[gpu];
    return !it->drain && !it->lost && it->foreign == 0 && !live->health[gpu].asked;
}

/* Another GPU of the type takes jobs, and not too many were drained. */
static bool may_drain(const struct adl_live *live, uint32_t gpu)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    const uint32_t tenth = cluster->gpu_count / SHARE_LEAST, most = tenth > 0 ? tenth : 1;
    uint32_t drained = 0, others = 0;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        drained += live->shared->gpus[g].drained_slow || live->health[g].asked;
        others += g != gpu && adl_gpu_type_of(cluster, g) == adl_gpu_type_of(cluster, gpu) && takes_jobs(live, g);
    }
    return others > 0 && drained < most;
}

static void answer_nobody(struct adl_request *request)
{
    free(request);
}

/* As an administrator would: it is written, logged and shown in the same way. */
static bool ask(struct adl_live *live, uint32_t gpu, int kind, const char *why)
{
    struct adl_request *request = calloc(1, sizeof *request);
    if (!request)
        return false;
    request->kind = kind;
    request->gpu = gpu;
    request->caller.known = request->caller.admin = true;
    request->answer = answer_nobody;
    if (kind == ADL_REQUEST_DRAIN)
        snprintf(request->text, sizeof request->text, ADL_DRAINED_SLOW "%.180s", why);
    if (adl_request_queue_post(live->shared->request_queue, request))
        return true;
    free(request);
    return false;
}

static void decide_drain(struct adl_live *live, uint32_t gpu)
{
    const struct adl_service_state_gpu *it = &live->shared->gpus[gpu];
    const struct adl_gpu_drift found = about(live, gpu);
    struct adl_live_health *known = &live->health[gpu];
    char text[ADL_HEALTH_SIZE];
    if (it->drained_slow && found.kind == ADL_DRIFT_NONE) {
        ask(live, gpu, ADL_REQUEST_RESUME, "");
    } else if (!it->drain && !known->asked && !known->spared && is_bad(live, &found) && may_drain(live, gpu)) {
        adl_view_say_gpu(live->shared, gpu, text, sizeof text);
        known->asked = ask(live, gpu, ADL_REQUEST_DRAIN, text);
    }
}

void adl_live_health_drained(struct adl_live *live, uint32_t gpu, const char *why)
{
    struct adl_service_state_gpu *it = &live->shared->gpus[gpu];
    struct adl_live_health *known = &live->health[gpu];
    it->drained_slow = it->drain && strncmp(why, ADL_DRAINED_SLOW, strlen(ADL_DRAINED_SLOW)) == 0;
    known->asked = false;
    known->spared = !it->drain && about(live, gpu).kind != ADL_DRIFT_NONE;
}

/* ---- the check ---- */

void adl_live_health_begin(struct adl_live *live)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const struct adl_gpu_drift found = about(live, g);
        live->health[g] = (struct adl_live_health){
            .kind = found.kind, .confirmed = found.confirmed, .spared = found.kind != ADL_DRIFT_NONE};
    }
    for (uint32_t t = 0; t < cluster->type_count; t++)
        live->type_changes[t] = changes_of(live, t);
    live->model_alarm = does_alarm(live);
}

void adl_live_health_check(struct adl_live *live)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    bool changed;
    if (live->steady_us < live->health_us || live->retry_us > 0 || live->disk_full)
        return;
    live->health_us = live->steady_us + (int64_t)(CHECK_US * live->config.clock->speed);
    changed = see_predictions(live);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        changed |= see_type(live, t);
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        changed |= see_gpu(live, g);
        decide_drain(live, g);
    }
    if (changed)
        adl_live_belief_save(live, true);
    decide_policy(live);
}
