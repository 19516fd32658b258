/* environment_create: environments come to be: what they load, their memory, and clones. */
#include "rl/environment_internal.h"

#include "experiment/run.h"
#include "rl/library.h"
#include "scenario/scenario.h"
#include "sim/workload.h"

#include <stdlib.h>

#define COUNT_MAX 65536u

/* The engine needs a policy; here the caller decides. The actions of the cell, which stand in the place of a model, are
 * told which jobs join. */
static int caller_create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                         void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed, (void)err;
    *ret_policy = (void *)config->model;
    return 0;
}

/* A job that was evicted joins the queue again. */
static int64_t caller_rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct adl_environment_cell *cell = policy;
    if (cell->planned)
        adl_outlook_join(&cell->actions->outlook, state, slot);
    else if (state->jobs[slot].attempts == 0)
        cell->actions->outlook.failed |=
            adl_typical_time_join(&cell->typical, slot, adl_state_shortest_us(state, slot)) != 0;
    return state->jobs[slot].submit_us;
}

static void caller_destroy(void *policy)
{
    (void)policy;
}

static int caller_copy(void *policy, const void *from)
{
    (void)policy, (void)from;
    return 0;
}

static const struct adl_policy_ops caller = {
    .name = "caller",
    .summary = "the caller of the environment",
    .track_running = true,
    .create = caller_create,
    .destroy = caller_destroy,
    .copy = caller_copy,
    .rank = caller_rank,
};

static const struct adl_policy_ops plain_caller = {
    .name = "caller",
    .summary = "the caller of the environment, who observes no plan",
    .points_only = true,
    .track_running = true,
    .sorts_running = true,
    .create = caller_create,
    .destroy = caller_destroy,
    .copy = caller_copy,
    .rank = caller_rank,
};

static int add_reward(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_environment_cell *cell = self;
    cell->reward += adl_reward_until(&cell->reward_terms, state, event);
    if (cell->planned)
        adl_outlook_observe(&cell->actions->outlook, event, state);
    else if (event->kind == ADL_EVENT_FINISH)
        adl_typical_time_leave(&cell->typical, event->job);
    return 0;
}

static int open_jobs(const struct adlro_environment *env, struct adl_job_source *ret, struct adl_error *err)
{
    const struct adl_trace_episodes *episodes = env->input ? env->input->episodes : NULL;
    const struct adl_job_supply supply = adl_workload_supply(env->scenario);
    return episodes ? adl_trace_episodes_open(episodes, 0, ret, err) : supply.open(supply.self, 0, ret, err);
}

static struct adl_engine_config engine_config(const struct adlro_environment *env,
                                              const struct adl_environment_cell *cell)
{
    struct adl_engine_config config = {.cluster = &env->scenario->cluster,
                                       .policy = cell->planned ? &caller : &plain_caller,
                                       .policy_config = adl_run_policy_config(env->scenario),
                                       .learned = env->regime == ADL_REGIME_LEARNED,
                                       .world_ops = &adl_world_sim_ops,
                                       .world = cell->world,
                                       .belief_unread = !cell->planned,
                                       .reasons_unread = true};
    config.policy_config.model = cell;
    return config;
}

static int create_engine(const struct adlro_environment *env, struct adl_environment_cell *cell, struct adl_error *err)
{
    struct adl_engine_config config = engine_config(env, cell);
    config.observers[config.observer_count++] = adl_metrics_observer(cell->metrics);
    config.observers[config.observer_count++] = (struct adl_observer){.self = cell, .event = add_reward};
    return adl_engine_create(&config, &cell->engine, err);
}

static int create_cell(struct adlro_environment *env, struct adl_environment_cell *cell, struct adl_error *err)
{
    const double lambda = env->scenario->lambda;
    struct adl_job_source source;
    int status = open_jobs(env, &source, err);
    if (status == 0)
        status = adl_world_sim_create_from(env->scenario, source, 0, env->regime, &cell->world, err);
    if (status)
        return status;
    cell->planned = env->observation != ADL_OBSERVATION_PLAIN;
    cell->reward_terms = (struct adl_reward){.lambda = lambda, .tail = env->config.tail};
    if (adl_metrics_create(lambda, &cell->metrics) || adl_metrics_reserve(cell->metrics, env->jobs) ||
        adl_world_sim_reserve(cell->world, env->jobs) || adl_outlook_reserve(&cell->actions->outlook, env->jobs) ||
        adl_typical_time_reserve(&cell->typical, env->jobs))
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment of %zu jobs", env->jobs);
    status = create_engine(env, cell, err);
    if (status == 0)
        cell->state = adl_engine_state(cell->engine);
    if (status == 0 && adl_engine_reserve(cell->engine, env->jobs))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for an environment of %zu jobs", env->jobs);
    cell->done = true;
    return status;
}

static int create_tables(struct adlro_environment *env)
{
    const struct adl_observation_shape all = adl_observation_shape(ADL_OBSERVATION_ALL, &env->scenario->cluster);
    const uint32_t count = env->shape.count;
    env->rows.gpus = calloc((size_t)all.gpus * all.gpu_features + 1, sizeof *env->rows.gpus);
    env->rows.state = calloc(all.state_features, sizeof *env->rows.state);
    env->rows.actions = calloc((size_t)ADL_ACTIONS_MAX * all.action_features, sizeof *env->rows.actions);
    env->cells = calloc(count, sizeof *env->cells);
    if (!env->rows.gpus || !env->rows.state || !env->rows.actions || !env->cells ||
        adl_plan_create(&env->plan, env->scenario->cluster.gpu_count))
        return ADL_ENOMEM;
    struct adl_policy_config policy = adl_run_policy_config(env->scenario);
    struct adl_dqn_options dqn = {0};
    if (adl_policy_options_fill(&adl_policy_dqn, &policy, &env->scenario->cluster, &dqn, NULL))
        return ADL_EINVAL;
    dqn.lambda = env->scenario->lambda;
    for (uint32_t i = 0; i < count; i++)
        if (adl_actions_create(&env->scenario->cluster, &dqn, policy.preemption_us, &env->cells[i].actions))
            return ADL_ENOMEM;
    env->shape.members = env->shape.gpus == 0 ? 1 : env->cells[0].actions->gpu_capacity;
    return 0;
}

static void set_shape(struct adlro_environment *env, const struct adlro_config *config)
{
    static const enum adl_observation_kind kinds[] = {[ADLRO_OBSERVATION_ALL] = ADL_OBSERVATION_ALL,
                                                      [ADLRO_OBSERVATION_PAPER] = ADL_OBSERVATION_PAPER,
                                                      [ADLRO_OBSERVATION_ACTIONS] = ADL_OBSERVATION_ACTIONS,
                                                      [ADLRO_OBSERVATION_PLAIN] = ADL_OBSERVATION_PLAIN};
    env->observation = kinds[config->observation];
    const struct adl_observation_shape observation = adl_observation_shape(env->observation, &env->scenario->cluster);
    env->shape = (struct adlro_shape){.count = config->count ? config->count : 1,
                                      .gpus = observation.gpus,
                                      .gpu_features = observation.gpu_features,
                                      .state_features = observation.state_features,
                                      .actions = ADL_ACTIONS_MAX,
                                      .action_features = observation.action_features};
}

/* What an episode's jobs tell policies, and how many there are. */
static void set_jobs(struct adlro_environment *env)
{
    const struct adl_trace_episodes *episodes = env->input ? env->input->episodes : NULL;
    const bool learned = env->config.learned || (episodes && !adl_trace_episodes_limited(episodes));
    env->regime = env->config.oracle ? ADL_REGIME_ORACLE : learned ? ADL_REGIME_LEARNED : ADL_REGIME_DECLARED;
    env->jobs = (size_t)(episodes ? adl_trace_episodes_jobs(episodes) : env->scenario->workload.jobs);
}

/* On failure the caller frees env. */
static int build(struct adlro_environment *env, const struct adlro_config *config, struct adl_error *err)
{
    env->config = *config;
    env->config.scenario = env->config.trace = env->config.throughputs = NULL;
    env->ahead = ADL_NONE;
    set_shape(env, config);
    set_jobs(env);
    adl_normalizer_init(&env->normalizer);
    if (create_tables(env))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u environments", env->shape.count);
    int status = 0;
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = create_cell(env, &env->cells[i], err);
    if (status || env->regime != ADL_REGIME_LEARNED)
        return status;
    const struct adl_engine_config blank = engine_config(env, &env->cells[0]);
    return adl_engine_create(&blank, &env->blank, err);
}

int adl_environment_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                           struct adlro_environment **ret, struct adl_error *err)
{
    struct adlro_environment *env = calloc(1, sizeof *env);
    if (!env)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    env->scenario = scenario;
    const int status = build(env, config, err);
    if (status) {
        adlro_destroy(env);
        return status;
    }
    *ret = env;
    return 0;
}

/* ---- what the caller asks for ---- */

static int check_number(const char *name, double value, struct adl_error *err)
{
    return value >= 0 && value <= 1e9
               ? 0
               : adl_fail(err, ADL_EINVAL, "config.%s must be between 0 and 1e9, not %g", name, value);
}

static int check_config(const struct adlro_config *config, struct adl_error *err)
{
    if (!config->scenario)
        return adl_fail(err, ADL_EINVAL, "config.scenario must be the path of a scenario file");
    if (config->observation < ADLRO_OBSERVATION_ALL || config->observation > ADLRO_OBSERVATION_PLAIN)
        return adl_fail(err, ADL_EINVAL, "config.observation must be one of enum adlro_observation, %d to %d, not %d",
                        ADLRO_OBSERVATION_ALL, ADLRO_OBSERVATION_PLAIN, config->observation);
    if (config->count > COUNT_MAX)
        return adl_fail(err, ADL_EINVAL, "config.count must be at most %u, not %u", COUNT_MAX, config->count);
    if (config->jobs > ADL_TRACE_EPISODES_JOBS_MAX)
        return adl_fail(err, ADL_EINVAL, "config.jobs must be at most %llu, not %llu",
                        (unsigned long long)ADL_TRACE_EPISODES_JOBS_MAX, (unsigned long long)config->jobs);
    if (config->oracle && config->learned)
        return adl_fail(err, ADL_EINVAL, "config.oracle and config.learned exclude each other");
    if (check_number("load", config->load, err) || check_number("tail", config->tail, err) ||
        check_number("max_s", config->max_s, err))
        return ADL_EINVAL;
    return 0;
}

static int take_config(const struct adlro_config *config, struct adlro_config *ret, struct adl_error *err)
{
    const struct adl_caller_struct given = {"config", config, config->size, ADL_SIZE_UP_TO(adlro_config, tail)};
    const int status = adl_struct_read(&given, ret, sizeof *ret, err);
    return status ? status : check_config(ret, err);
}

static int load_scenario(const struct adlro_config *config, struct adl_scenario *ret, struct adl_error *err)
{
    const int status = adl_scenario_load_measured(config->scenario, config->throughputs, ret, NULL, err);
    if (status)
        return status;
    if (config->jobs)
        ret->workload.jobs = config->jobs;
    if (config->load > 0)
        ret->workload.arrivals.rate_per_h *= config->load;
    return 0;
}

static int load_trace(const struct adlro_config *config, struct adl_environment_input *input, struct adl_error *err)
{
    const struct adl_trace_episodes_config episodes = {.trace = config->trace,
                                                       .throughputs = config->throughputs,
                                                       .scenario = &input->scenario,
                                                       .jobs = config->jobs,
                                                       .load = config->load};
    const int status = adl_cluster_load(config->scenario, &input->scenario, err);
    return status ? status : adl_trace_episodes_create(&episodes, &input->episodes, err);
}

static int load(struct adlro_environment *env, const struct adlro_config *config, struct adl_error *err)
{
    env->input = calloc(1, sizeof *env->input);
    if (!env->input)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    env->input->holders = 1;
    env->scenario = &env->input->scenario;
    const int status =
        config->trace ? load_trace(config, env->input, err) : load_scenario(config, &env->input->scenario, err);
    return status ? status : build(env, config, err);
}

int adlro_create(const struct adlro_config *config, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_config taken;
    int status = take_config(config, &taken, &err);
    if (status)
        return adl_environment_report(&err, status, error);
    struct adlro_environment *env = calloc(1, sizeof *env);
    if (!env)
        return adl_environment_report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    status = load(env, &taken, &err);
    if (status) {
        adlro_destroy(env);
        return adl_environment_report(&err, status, error);
    }
    *ret = env;
    return 0;
}

static void release(struct adl_environment_input *input)
{
    if (!input || atomic_fetch_sub(&input->holders, 1) > 1)
        return;
    adl_trace_episodes_destroy(input->episodes);
    adl_scenario_clear(&input->scenario);
    free(input);
}

void adlro_destroy(struct adlro_environment *env)
{
    if (!env)
        return;
    for (uint32_t i = 0; i < env->shape.count; i++) {
        if (env->cells) {
            adl_actions_destroy(env->cells[i].actions);
            adl_engine_destroy(env->cells[i].engine);
            adl_metrics_destroy(env->cells[i].metrics);
            adl_world_sim_destroy(env->cells[i].world);
            adl_typical_time_clear(&env->cells[i].typical);
        }
    }
    adl_environment_dismiss(env);
    adl_engine_destroy(env->blank);
    adl_plan_clear(&env->plan);
    free(env->rows.gpus);
    free(env->rows.state);
    free(env->rows.actions);
    free(env->cells);
    release(env->input);
    free(env);
}

/* ---- copies ---- */

int adl_environment_copy_cell(struct adl_environment_cell *to, const struct adl_environment_cell *from,
                              struct adl_error *err)
{
    to->done = true;
    int status = adl_world_sim_copy(to->world, from->world, err);
    if (status == 0)
        status = adl_engine_copy(to->engine, from->engine, err);
    if (status == 0 && (adl_metrics_copy(to->metrics, from->metrics) || adl_actions_copy(to->actions, from->actions) ||
                        adl_typical_time_copy(&to->typical, &from->typical)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a copy of an environment");
    if (status)
        return status;
    to->reward_terms = from->reward_terms;
    to->reward = from->reward;
    to->decided_us = from->decided_us;
    to->decisions = from->decisions;
    to->done = from->done;
    to->truncated = from->truncated;
    return 0;
}

int adlro_clone(const struct adlro_environment *env, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_environment *clone = calloc(1, sizeof *clone);
    if (!clone)
        return adl_environment_report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    clone->scenario = env->scenario;
    clone->input = env->input;
    if (clone->input)
        atomic_fetch_add(&clone->input->holders, 1);
    int status = build(clone, &env->config, &err);
    clone->normalizer = env->normalizer;
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = adl_environment_copy_cell(&clone->cells[i], &env->cells[i], &err);
    if (status) {
        adlro_destroy(clone);
        return adl_environment_report(&err, status, error);
    }
    *ret = clone;
    return 0;
}
