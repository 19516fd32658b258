/* service_reload: another configuration or policy, while jobs run. */
#include "base/json.h"
#include "service/service_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hardware is detected at the start of the service; the policy may change while it runs. */
static bool same_hardware(const struct adl_inventory *a, const struct adl_inventory *b)
{
    const struct adl_cluster *x = &a->scenario.cluster, *y = &b->scenario.cluster;
    bool same = x->gpu_count == y->gpu_count && x->node_count == y->node_count && x->type_count == y->type_count;
    for (uint32_t g = 0; same && g < x->gpu_count; g++)
        same = strcmp(a->gpus[g].id, b->gpus[g].id) == 0 && adl_gpu_type_of(x, g) == adl_gpu_type_of(y, g);
    return same;
}

/* A wrong configuration fails here, while the earlier one is still in force. */
static int prepare(struct adl_service *service, struct adl_service_config *ret, struct adl_engine **ret_engine,
                   struct adl_error *err)
{
    int status = adl_service_load_config(&service->options, ret, err);
    if (status == 0 &&
        (ret->engine != service->config.engine ||
         (ret->engine != ADL_ENGINE_SLURM && !same_hardware(&ret->inventory, &service->config.inventory))))
        status = adl_fail(err, ADL_EREFUSED,
                          "GPUs or engine differ from what runs: that needs a restart, which jobs survive");
    if (status == 0 && ret->engine == ADL_ENGINE_SLURM)
        status = adl_service_config_settle(ret, &service->config.inventory, err);
    if (status == 0)
        status = adl_service_create_engine(service, ret, ret->policy, ret_engine, err);
    if (status == 0)
        status = adl_auth_reload(service->auth, err);
    return status ? status : adl_service_record_config(service, ret, err);
}

static void publish(struct adl_service *service, const char *what, const char *text)
{
    struct adl_text payload = {0};
    struct adl_json json = adl_json_start(&payload, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "what", what);
    adl_json_put_string(&json, "text", text);
    adl_json_end(&json);
    if (adl_text_status(&payload) == 0)
        adl_events_publish(service->shared.events, "service", payload.data, NULL, NULL);
    adl_text_clear(&payload);
    if (service->options.say)
        service->options.say(text);
}

int adl_service_read_again(void *context, char *ret_text, size_t size, struct adl_error *err)
{
    char text[500];
    struct adl_service *service = context;
    struct adl_service_config next = {0};
    struct adl_engine *engine = NULL;
    const int status = prepare(service, &next, &engine, err);
    if (status) {
        snprintf(text, sizeof text, "the configuration stays as it was: %s", err->text);
        publish(service, "reload", text);
        adl_engine_destroy(engine);
        adl_service_config_clear(&next);
        return status;
    }
    adl_engine_destroy(service->next_engine);
    adl_service_config_clear(&service->next);
    service->next = next;
    service->next_engine = engine;
    service->next_policy = next.policy;
    service->next_read = true;
    snprintf(ret_text, size, "policy %s", next.policy->name);
    return 1;
}

const struct adl_policy_ops *adl_service_wanted(const struct adl_service *service)
{
    const struct adl_policy_ops *promoted = adl_shadowing_promoted(service->shared.shadowing, NULL);
    return promoted ? promoted : service->config.policy;
}

void adl_service_set_promoted(const struct adl_service *service, const struct adl_policy_ops *policy,
                              struct adl_policy_config *config)
{
    struct adl_policy_config own;
    if (adl_shadowing_promoted(service->shared.shadowing, &own) == policy)
        *config = own;
}

int adl_service_switch_policy(void *context, bool fall_back, struct adl_error *err)
{
    struct adl_service *service = context;
    const struct adl_policy_ops *policy = fall_back ? service->shared.health.fallback : adl_service_wanted(service);
    struct adl_engine *engine = NULL;
    const int status = adl_service_create_engine(service, &service->config, policy, &engine, err);
    if (status)
        return status;
    adl_engine_destroy(service->next_engine);
    service->next_engine = engine;
    service->next_policy = policy;
    service->next_read = false;
    service->next_fallen = fall_back;
    return 1;
}

/* A policy that reads no predictions does not suffer if they are wrong, nor one for which limits alone count. */
void adl_service_set_health(struct adl_service *service)
{
    const struct adl_service_config *config = &service->config;
    const struct adl_policy_ops *policy = adl_service_wanted(service);
    const bool rests = config->learned && !policy->blind && policy != config->fallback;
    struct adl_service_state_health *health = &service->shared.health;
    health->drain_below = config->drain_below;
    health->configured = config->policy;
    service->shared.idle = config->idle;
    service->shared.power.schedule = config->power.schedule;
    service->shared.gate_auto = config->gate_auto;
    health->fallback = rests ? config->fallback : NULL;
    health->fallen_back = false;
}

/* Puts in force what was read again. An administrator who reloads knows if predictions do not hold. */
static void change_config(struct adl_service *service)
{
    service->config.policy = service->next.policy;
    service->config.fallback = service->next.fallback;
    service->config.gate_auto = service->next.gate_auto;
    service->config.learned = service->next.learned;
    service->config.drain_below = service->next.drain_below;
    service->config.idle = service->next.idle;
    service->config.power.schedule = service->next.power.schedule;
    service->config.forecast = service->next.forecast;
    adl_forecasts_set(service->shared.forecasts, &service->config.forecast);
    adl_scenario_move_policy(&service->config.inventory.scenario, &service->next.inventory.scenario);
    free(service->config.model);
    service->config.model = service->next.model; /* the policy's settings point to it */
    service->config.model_size = service->next.model_size;
    service->next.model = NULL;
    adl_calibration_accept(adl_belief_calibration(adl_engine_belief(service->shared.engine)));
    adl_service_set_health(service);
}

/* Another engine takes over all jobs. */
int adl_service_change_engine(struct adl_service *service, struct adl_error *err)
{
    char text[100];
    struct adl_service_state *shared = &service->shared;
    const bool learned = adl_engine_state(shared->engine)->learned;
    adl_live_belief_keep(service->live);
    adl_engine_inherit(service->next_engine, shared->engine);
    adl_engine_destroy(shared->engine);
    shared->engine = service->next_engine;
    service->next_engine = NULL;
    adl_snapshots_change(shared->snapshots);
    if (!learned)
        adl_live_belief_load(service->live, false);
    shared->policy = service->next_policy;
    adl_shadowing_change(shared->shadowing, service->next_read);
    if (service->next_read) {
        change_config(service);
    } else {
        adl_service_set_health(service);
        shared->health.fallen_back = service->next_fallen;
    }
    const int status = adl_live_move(service->live, shared->engine, err);
    if (status)
        return status;
    snprintf(text, sizeof text,
             service->next_read ? "the configuration was read again: policy %s" : "policy %s decides",
             shared->policy->name);
    publish(service, service->next_read ? "reload" : "policy", text);
    return 0;
}
