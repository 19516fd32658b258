/* live_power: what all GPUs together may draw: by the schedule of the configuration, by request of an administrator, or
 * as the simulated scenario says. A change is an event of the engine, so the policy follows it with its next decision.
 */
#include "service/live/live_internal.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- which limit is in force ---- */

/* The last entry before this time of the day; before the first, the last of the day before. */
static double scheduled_w(const struct adl_power_schedule *schedule, int64_t wall_us)
{
    const time_t wall_s = (time_t)(wall_us / 1000000);
    struct tm parts = {0};
    if (schedule->count == 0 || !localtime_r(&wall_s, &parts))
        return 0;
    const int32_t minute = 60 * parts.tm_hour + parts.tm_min;
    uint32_t at = schedule->count - 1;
    for (uint32_t i = 0; i < schedule->count && schedule->entries[i].minute <= minute; i++)
        at = i;
    return schedule->entries[at].limit_w;
}

static double wanted_w(struct adl_live *live)
{
    struct adl_service_state_power *power = &live->shared->power;
    if (power->source == ADL_POWER_REQUEST && power->until_us > 0 && live->now_us >= power->until_us)
        power->source = ADL_POWER_SCHEDULE;
    return power->source == ADL_POWER_REQUEST    ? power->requested_w
           : power->source == ADL_POWER_SCENARIO ? power->scenario_w
                                                 : scheduled_w(&power->schedule, live->now_us);
}

static void tell(struct adl_live *live, double limit_w)
{
    char text[120];
    if (limit_w > 0)
        snprintf(text, sizeof text, "all GPUs together may draw %.0f W from now on", limit_w);
    else
        snprintf(text, sizeof text, "there is no limit on what GPUs may draw from now on");
    adl_live_tell(live, "power_limit", ADL_NONE, text);
}

void adl_live_power_check(struct adl_live *live)
{
    struct adl_service_state_power *power = &live->shared->power;
    if (live->retry_us > 0)
        return;
    const double limit_w = wanted_w(live);
    const bool fresh = live->power_engine != live->shared->engine; /* it knows of no limit yet */
    if (limit_w == power->limit_w && !(fresh && limit_w > 0)) {
        live->power_engine = live->shared->engine;
        return;
    }
    struct adl_live_item item = {.event = {.kind = ADL_EVENT_POWER_LIMIT, .job = ADL_NONE, .gpu = ADL_NONE}};
    item.event.limit_w = limit_w;
    if (adl_live_post(live, &item))
        return; /* out of memory: tried again */
    live->power_engine = live->shared->engine;
    const bool changed = limit_w != power->limit_w;
    power->limit_w = limit_w;
    if (changed)
        tell(live, limit_w);
}

void adl_live_power_scenario(struct adl_live *live, double limit_w)
{
    struct adl_service_state_power *power = &live->shared->power;
    power->scenario_w = limit_w;
    if (power->source != ADL_POWER_REQUEST)
        power->source = ADL_POWER_SCENARIO;
}

/* ---- requests ---- */

static int keep(struct adl_live *live, const struct adl_request *request, struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    if (request->limit_w >= 0)
        adl_json_put_real(&json, "limit_w", request->limit_w);
    adl_json_put_int(&json, "until_us", request->for_us > 0 ? live->now_us + request->for_us : 0);
    adl_json_end(&json);
    const struct adl_store_belief stored = {.time_us = live->now_us, .content = text.data, .size = text.size};
    const int status = adl_text_status(&text) ? adl_fail(err, ADL_ENOMEM, "out of memory")
                                              : adl_store_belief_set(live->config.store, ADL_STORE_POWER, &stored, err);
    adl_text_clear(&text);
    return status;
}

int adl_live_power_prepare(struct adl_live *live, struct adl_request *request)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    if (!request->caller.admin)
        return adl_fail(&request->err, ADL_EDENIED, "only administrators limit the power of the cluster");
    if (request->limit_w > 0 && !live->shared->policy->limits_power)
        return adl_fail(&request->err, ADL_EREFUSED,
                        "policy %s cannot follow a power limit: gogh can (policy.name in the configuration)",
                        live->shared->policy->name);
    const int status = keep(live, request, &request->err);
    if (status)
        return status;
    adl_json_object(&json);
    adl_json_put_string(&json, "by", request->caller.account.name);
    if (request->limit_w >= 0)
        adl_json_put_real(&json, "limit_w", request->limit_w);
    adl_json_put_real(&json, "for_s", (double)request->for_us * 1e-6);
    adl_json_end(&json);
    return adl_live_log(live, "power_limit_request", 0, &text, &request->err);
}

void adl_live_power_apply(struct adl_live *live, const struct adl_request *request)
{
    struct adl_service_state_power *power = &live->shared->power;
    const bool simulated = live->shared->inventory->scenario.power_limit_count > 0;
    power->source = request->limit_w >= 0 ? ADL_POWER_REQUEST : simulated ? ADL_POWER_SCENARIO : ADL_POWER_SCHEDULE;
    power->requested_w = request->limit_w;
    power->until_us = request->for_us > 0 ? live->now_us + request->for_us : 0;
    adl_live_power_check(live);
}

/* ---- after a restart ---- */

static int take_stored(void *context, const struct adl_store_belief *belief, struct adl_error *err)
{
    struct adl_service_state_power *power = context;
    (void)err;
    cJSON *json = cJSON_ParseWithLength(belief->content, belief->size);
    const cJSON *limit_w = cJSON_GetObjectItemCaseSensitive(json, "limit_w");
    const cJSON *until_us = cJSON_GetObjectItemCaseSensitive(json, "until_us");
    if (cJSON_IsNumber(limit_w) && limit_w->valuedouble >= 0 && cJSON_IsNumber(until_us)) {
        power->source = ADL_POWER_REQUEST;
        power->requested_w = limit_w->valuedouble;
        power->until_us = (int64_t)until_us->valuedouble;
    }
    cJSON_Delete(json);
    return 0;
}

void adl_live_power_load(struct adl_live *live)
{
    struct adl_error err = {""};
    if (adl_store_belief_read(live->config.store, ADL_STORE_POWER, take_stored, &live->shared->power, &err) < 0 &&
        live->config.say)
        live->config.say(err.text);
}
