#include "rl/agents.h"

#include "base/real.h"
#include "engine/engine.h"
#include "experiment/run.h"
#include "metrics/reward.h"
#include "policy/market/inquiries.h"
#include "rl/library.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A scenario that an environment loaded, for it and its clones. */
struct shared_scenario {
    struct adl_scenario scenario;
    atomic_uint holders;
};

struct adlro_agents {
    const struct adl_scenario *scenario;
    struct shared_scenario *shared;    /* scenario points into it; NULL: the caller owns the scenario */
    struct adlro_agents_config config; /* for clones; without the scenario */
    char *settings;                    /* of the scenario, then of the caller */
    struct adlro_agents_shape shape;
    struct adl_world_sim *world;
    struct adl_engine *engine;
    struct adl_metrics *metrics;
    struct adl_market *market; /* the engine's policy */
    struct adl_plan plan;
    struct adl_reward reward_terms;
    double shared_reward; /* since the last step */
    double *rewards;      /* [agents] likewise */
    uint32_t *paid;       /* agents that have one */
    uint32_t paid_count;
    int64_t decided_us;
    bool done;
};

/* ---- create ---- */

static void credit(struct adlro_agents *env, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase != ADL_PHASE_RUNNING && job->phase != ADL_PHASE_STOPPING)
        return;
    const uint32_t agent = env->market->node_agent[adl_gpu_node_of(&env->scenario->cluster, job->first_gpu)];
    const double completion_s = (double)(event->time_us - job->submit_us) * 1e-6;
    if (completion_s > 0 && !(env->rewards[agent] < 0))
        env->paid[env->paid_count++] = agent;
    env->rewards[agent] -= completion_s;
}

static int see_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adlro_agents *env = self;
    env->shared_reward += adl_reward_until(&env->reward_terms, state, event);
    if (event->kind == ADL_EVENT_FINISH && event->job < state->job_capacity)
        credit(env, event, state);
    return 0;
}

static int create_engine(struct adlro_agents *env, struct adl_error *err)
{
    struct adl_engine_config engine = {.cluster = &env->scenario->cluster,
                                       .policy = &adl_market_asking,
                                       .policy_config = adl_run_policy_config(env->scenario),
                                       .world_ops = &adl_world_sim_ops,
                                       .world = env->world,
                                       .observer_count = 2};
    engine.policy_config.model = &env->market;
    engine.policy_config.settings = env->settings;
    engine.observers[0] = adl_metrics_observer(env->metrics);
    engine.observers[1] = (struct adl_observer){.self = env, .event = see_event};
    return adl_engine_create(&engine, &env->engine, err);
}

/* Settings of the caller win over those of the scenario: the last of equal lines counts. */
static int join_settings(struct adlro_agents *env, const char *more)
{
    const char *first = env->scenario->policy.settings ? env->scenario->policy.settings : "";
    const size_t length = strlen(first), size = length + (more ? strlen(more) : 0) + 2;
    env->settings = malloc(size);
    if (!env->settings)
        return ADL_ENOMEM;
    snprintf(env->settings, size, "%s%s%s", first, length > 0 && first[length - 1] != '\n' ? "\n" : "",
             more ? more : "");
    return 0;
}

static bool is_option(const char *name, size_t length)
{
    for (uint32_t i = 0; i < adl_policy_market.option_count; i++)
        if (strlen(adl_policy_market.options[i].name) == length &&
            memcmp(adl_policy_market.options[i].name, name, length) == 0)
            return true;
    return false;
}

/* A line that names no option of policy market would be ignored, so it is refused. */
static int check_settings(const char *settings, struct adl_error *err)
{
    for (const char *at = settings; at && *at;) {
        const size_t length = strcspn(at, "\n"), name = strcspn(at, "=\n");
        if (name == length || length >= ADL_POLICY_VALUE_SIZE)
            return adl_fail(err, ADL_EINVAL, "config.settings: '%.60s' is not a line of OPTION=VALUE", at);
        if (!is_option(at, name))
            return adl_fail(err, ADL_EINVAL,
                            "config.settings: policy market has no option '%.*s'; `adlro policies market` lists them",
                            (int)(name < 60 ? name : 60), at);
        at += length + (at[length] == '\n');
    }
    return 0;
}

/* On failure the caller frees env. */
static int build(struct adlro_agents *env, const struct adlro_agents_config *config, struct adl_error *err)
{
    const struct adl_scenario *scenario = env->scenario;
    env->config = *config;
    env->config.scenario = env->config.settings = NULL;
    env->done = true;
    env->reward_terms = (struct adl_reward){.lambda = scenario->lambda, .tail = config->tail};
    int status =
        adl_world_sim_create(scenario, 0, config->oracle ? ADL_REGIME_ORACLE : ADL_REGIME_DECLARED, &env->world, err);
    if (status)
        return status;
    if (join_settings(env, config->settings) || adl_metrics_create(scenario->lambda, &env->metrics) ||
        adl_plan_create(&env->plan, scenario->cluster.gpu_count))
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    status = create_engine(env, err);
    if (status)
        return status;
    env->shape = (struct adlro_agents_shape){
        .agents = env->market->agent_count, .rows = ADL_ASKED_MAX, .features = ADL_BID_FEATURES};
    env->rewards = calloc(env->shape.agents, sizeof *env->rewards);
    env->paid = calloc(env->shape.agents, sizeof *env->paid);
    return env->rewards && env->paid ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
}

int adl_agents_create(const struct adl_scenario *scenario, const struct adlro_agents_config *config,
                      struct adlro_agents **ret, struct adl_error *err)
{
    struct adlro_agents *env = calloc(1, sizeof *env);
    if (!env)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    env->scenario = scenario;
    const int status = build(env, config, err);
    if (status) {
        adlro_agents_destroy(env);
        return status;
    }
    *ret = env;
    return 0;
}

static int report(const struct adl_error *err, int status, char *error)
{
    if (error && status)
        snprintf(error, ADLRO_ERROR_SIZE, "%s", err->text);
    return status;
}

static int load(struct adlro_agents *env, const struct adlro_agents_config *config, struct adl_error *err)
{
    if (!config->scenario)
        return adl_fail(err, ADL_EINVAL, "config.scenario must be the path of a scenario file");
    if (config->load < 0 || !isfinite(config->load))
        return adl_fail(err, ADL_EINVAL, "config.load is %g; it must be above 0, or 0 for the scenario's",
                        config->load);
    int status = check_settings(config->settings, err);
    if (status)
        return status;
    env->shared = calloc(1, sizeof *env->shared);
    if (!env->shared)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    env->shared->holders = 1;
    struct adl_scenario *scenario = &env->shared->scenario;
    status = adl_scenario_load(config->scenario, scenario, NULL, err);
    if (status)
        return status;
    env->scenario = scenario;
    if (config->jobs)
        scenario->workload.jobs = config->jobs;
    if (config->load > 0)
        scenario->workload.arrivals.rate_per_h *= config->load;
    return build(env, config, err);
}

int adlro_agents_create(const struct adlro_agents_config *config, struct adlro_agents **ret,
                        char error[ADLRO_ERROR_SIZE])
{
    const struct adl_caller_struct given = {"config", config, config->size,
                                            ADL_SIZE_UP_TO(adlro_agents_config, settings)};
    struct adl_error err = {{0}};
    struct adlro_agents_config taken;
    int status = adl_struct_read(&given, &taken, sizeof taken, &err);
    if (status)
        return report(&err, status, error);
    struct adlro_agents *env = calloc(1, sizeof *env);
    if (!env)
        return report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    status = load(env, &taken, &err);
    if (status) {
        adlro_agents_destroy(env);
        return report(&err, status, error);
    }
    *ret = env;
    return 0;
}

static void release(struct shared_scenario *shared)
{
    if (!shared || atomic_fetch_sub(&shared->holders, 1) > 1)
        return;
    adl_scenario_clear(&shared->scenario);
    free(shared);
}

void adlro_agents_destroy(struct adlro_agents *env)
{
    if (!env)
        return;
    adl_engine_destroy(env->engine);
    adl_metrics_destroy(env->metrics);
    adl_world_sim_destroy(env->world);
    adl_plan_clear(&env->plan);
    free(env->rewards);
    free(env->paid);
    free(env->settings);
    release(env->shared);
    free(env);
}

void adlro_agents_shape(const struct adlro_agents *env, struct adlro_agents_shape *ret, size_t size)
{
    adl_struct_write(&env->shape, sizeof env->shape, ret, size);
}

const char *adlro_agents_feature_name(uint32_t index)
{
    return index < ADL_BID_FEATURES ? adl_bid_feature_names[index] : NULL;
}

/* ---- observing ---- */

static void show_rows(const struct adlro_agents *env, const struct adlro_agents_buffers *b)
{
    const struct adl_inquiries *inquiries = env->market->inquiries;
    const struct adl_state *state = adl_engine_state(env->engine);
    const uint32_t count = env->done ? 0 : inquiries->count;
    for (uint32_t r = 0; r < count; r++) {
        const struct adl_inquiry *it = &inquiries->items[r];
        b->agents[r] = (int32_t)it->bid.from;
        b->jobs[r] = state->jobs[it->bid.job.job].spec.id;
        b->bid_s[r] = it->bid.cost_us * 1e-6;
        memcpy(&b->observations[(size_t)r * ADL_BID_FEATURES], it->features, sizeof it->features);
    }
    *b->row_count = (int32_t)count;
    *b->done = env->done;
}

static void show_rewards(struct adlro_agents *env, const struct adlro_agents_buffers *b)
{
    const int64_t now_us = adl_engine_state(env->engine)->now_us;
    *b->shared_reward = env->shared_reward;
    *b->elapsed_s = (double)(now_us - env->decided_us) * 1e-6;
    env->shared_reward = 0;
    env->decided_us = now_us;
    if (b->rewards)
        memcpy(b->rewards, env->rewards, env->shape.agents * sizeof *b->rewards);
    for (; env->paid_count > 0; env->paid_count--)
        env->rewards[env->paid[env->paid_count - 1]] = 0;
}

/* ---- acting ---- */

static int take_buffers(const struct adlro_agents_buffers *buffers, struct adlro_agents_buffers *ret,
                        struct adl_error *err)
{
    const struct adl_caller_struct given = {"buffers", buffers, buffers->size,
                                            ADL_SIZE_UP_TO(adlro_agents_buffers, done)};
    return adl_struct_read(&given, ret, sizeof *ret, err);
}

/* The plan is complete: it is executed; if it starts nothing, time passes to the next instant. */
static int execute(struct adlro_agents *env, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(env->engine);
    bool refused = false, starts = false;
    for (uint32_t i = 0; i < env->plan.command_count; i++)
        starts |= env->plan.commands[i].kind == ADL_COMMAND_START;
    int status = adl_engine_act(env->engine, &env->plan, &refused, err);
    if (status == 0 && refused)
        return adl_fail(err, ADL_EREFUSED, "%s", adl_engine_counts(env->engine)->last_refusal.text);
    if (status == 0 && !starts) {
        status = adl_engine_settle(env->engine, err);
        if (status == 0)
            status = adl_engine_advance(env->engine, err);
        env->done = status == 0;
    }
    if (status < 0 || env->done)
        return status;
    adl_plan_reset(&env->plan);
    adl_market_begin(env->market, state, &env->plan);
    return 0;
}

/* To the next announcement, or the end. */
static int advance(struct adlro_agents *env, struct adl_error *err)
{
    int status = 0;
    while (!env->done && status == 0) {
        status = adl_market_continue(env->market, adl_engine_state(env->engine), &env->plan);
        if (status == ADL_ENOMEM)
            return adl_fail(err, status, "out of memory in policy market");
        if (status == 0)
            status = execute(env, err);
    }
    return status < 0 ? status : 0;
}

static int reset(struct adlro_agents *env, uint64_t seed, struct adl_error *err)
{
    env->done = true;
    int status = adl_world_sim_reset(env->world, seed, err);
    if (status == 0)
        status = adl_engine_reset(env->engine, seed, err);
    if (status)
        return status;
    adl_metrics_reset(env->metrics);
    adl_plan_reset(&env->plan);
    memset(env->rewards, 0, env->shape.agents * sizeof *env->rewards);
    env->paid_count = 0;
    env->reward_terms.submit_s = env->reward_terms.submit_s2 = 0;
    env->shared_reward = 0;
    env->decided_us = 0;
    status = adl_engine_advance(env->engine, err);
    if (status <= 0)
        return status;
    env->done = false;
    adl_market_begin(env->market, adl_engine_state(env->engine), &env->plan);
    return advance(env, err);
}

int adlro_agents_reset(struct adlro_agents *env, uint64_t seed, const struct adlro_agents_buffers *buffers,
                       char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_agents_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0)
        status = reset(env, seed, &err);
    if (status)
        return report(&err, status, error);
    memset(taken.won, 0, env->shape.rows);
    show_rows(env, &taken);
    show_rewards(env, &taken);
    return 0;
}

static int check_actions(const struct adlro_agents *env, const double *actions, struct adl_error *err)
{
    const struct adl_inquiries *inquiries = env->market->inquiries;
    if (env->done)
        return adl_fail(err, ADL_EINVAL, "the episode has ended; reset the environment");
    for (uint32_t r = 0; r < inquiries->count; r++)
        if (!(actions[r] >= -ADLRO_AGENTS_ACTION_MAX && actions[r] <= ADLRO_AGENTS_ACTION_MAX))
            return adl_fail(err, ADL_EINVAL, "the action of row %u, agent %u, is %g; it must be between -%g and %g", r,
                            inquiries->items[r].bid.from, actions[r], ADLRO_AGENTS_ACTION_MAX, ADLRO_AGENTS_ACTION_MAX);
    return 0;
}

static int step(struct adlro_agents *env, const double *actions, const struct adlro_agents_buffers *b,
                struct adl_error *err)
{
    double factors[ADL_ASKED_MAX];
    const struct adl_inquiries *inquiries = env->market->inquiries;
    int status = check_actions(env, actions, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < inquiries->count; r++)
        factors[r] = adl_exp(actions[r]);
    adl_inquiries_answer(env->market, factors);
    status = advance(env, err);
    if (status)
        return status;
    memset(b->won, 0, env->shape.rows);
    for (uint32_t r = 0; r < inquiries->answered_count; r++)
        b->won[r] = inquiries->answered[r].won;
    return 0;
}

int adlro_agents_step(struct adlro_agents *env, const double *actions, const struct adlro_agents_buffers *buffers,
                      char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_agents_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0)
        status = step(env, actions, &taken, &err);
    if (status)
        return report(&err, status, error);
    show_rows(env, &taken);
    show_rewards(env, &taken);
    return 0;
}

/* ---- copies ---- */

static void copy_plan(struct adl_plan *to, const struct adl_plan *from)
{
    memcpy(to->commands, from->commands, from->command_count * sizeof *to->commands);
    memcpy(to->gpus, from->gpus, from->gpu_count * sizeof *to->gpus);
    to->command_count = from->command_count;
    to->gpu_count = from->gpu_count;
}

static int copy(struct adlro_agents *to, const struct adlro_agents *from, struct adl_error *err)
{
    to->done = true;
    int status = adl_world_sim_copy(to->world, from->world, err);
    if (status == 0)
        status = adl_engine_copy(to->engine, from->engine, err);
    if (status == 0 && adl_metrics_copy(to->metrics, from->metrics))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a copy of an environment");
    if (status)
        return status;
    copy_plan(&to->plan, &from->plan);
    memcpy(to->rewards, from->rewards, to->shape.agents * sizeof *to->rewards);
    memcpy(to->paid, from->paid, from->paid_count * sizeof *to->paid);
    to->paid_count = from->paid_count;
    to->reward_terms = from->reward_terms;
    to->shared_reward = from->shared_reward;
    to->decided_us = from->decided_us;
    to->done = from->done;
    return 0;
}

int adlro_agents_clone(const struct adlro_agents *env, struct adlro_agents **ret, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_agents *clone = calloc(1, sizeof *clone);
    if (!clone)
        return report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    struct adlro_agents_config config = env->config;
    config.settings = env->settings; /* those of the scenario come twice: the same values */
    clone->scenario = env->scenario;
    clone->shared = env->shared;
    if (clone->shared)
        atomic_fetch_add(&clone->shared->holders, 1);
    int status = build(clone, &config, &err);
    if (status == 0)
        status = copy(clone, env, &err);
    if (status) {
        adlro_agents_destroy(clone);
        return report(&err, status, error);
    }
    *ret = clone;
    return 0;
}

int adlro_agents_restore(struct adlro_agents *env, const struct adlro_agents *from,
                         const struct adlro_agents_buffers *buffers, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_agents_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0 && (env->scenario != from->scenario || env->config.oracle != from->config.oracle))
        status = adl_fail(&err, ADL_EINVAL, "an environment is restored from a clone of it; these are not related");
    if (status == 0 && env != from)
        status = copy(env, from, &err);
    if (status)
        return report(&err, status, error);
    memset(taken.won, 0, env->shape.rows);
    show_rows(env, &taken);
    *taken.shared_reward = *taken.elapsed_s = 0;
    if (taken.rewards)
        memset(taken.rewards, 0, env->shape.agents * sizeof *taken.rewards);
    return 0;
}

/* ---- results ---- */

void adlro_agents_result(struct adlro_agents *env, struct adlro_result *ret, size_t size)
{
    const struct adl_lower_bound none = {0};
    struct adl_result all;
    adl_metrics_result(env->metrics, env->engine, &none, &all);
    adl_result_publish(&all, ret, size);
}
