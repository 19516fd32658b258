#include "rl/environment.h"

#include "engine/engine.h"
#include "experiment/run.h"
#include "metrics/reward.h"
#include "policy/dqn/actions.h"
#include "policy/dqn/observation.h"
#include "rl/library.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One environment of the vector. */
struct cell {
    struct adl_actions *actions;
    struct adl_world_sim *world;
    struct adl_engine *engine;
    struct adl_metrics *metrics;
    struct adl_reward reward_terms;
    double reward; /* since the last decision */
    int64_t decided_us;
    bool done;
};

/* A scenario that an environment loaded, for it and its clones. */
struct loaded {
    struct adl_scenario scenario;
    atomic_uint holders;
};

struct adlro_environment {
    const struct adl_scenario *scenario;
    struct loaded *loaded;      /* scenario points into it; NULL: the caller owns the scenario */
    struct adlro_config config; /* for clones; without the scenario */
    struct adlro_shape shape;
    enum adl_observation_kind observation;
    struct adl_normalizer normalizer;
    bool learning; /* the normalizer is fitted to observations */
    struct adl_observation rows;
    struct adl_plan plan;
    struct cell *cells;
};

/* ---- create ---- */

/* The engine needs a policy; here the caller decides. The actions of the cell, which stand in the place of a model, are
 * told which jobs join. */
static int caller_create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                         void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed, (void)err;
    *ret_policy = (void *)config->model;
    return 0;
}

static int64_t caller_rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    adl_outlook_join(&((struct adl_actions *)policy)->outlook, state, slot);
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

static int add_reward(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct cell *cell = self;
    cell->reward += adl_reward_until(&cell->reward_terms, state, event);
    adl_outlook_observe(&cell->actions->outlook, event, state);
    return 0;
}

static int create_cell(struct adlro_environment *env, const struct adlro_config *config, struct cell *cell,
                       struct adl_error *err)
{
    const struct adl_scenario *scenario = env->scenario;
    const size_t jobs = (size_t)scenario->workload.jobs;
    int status =
        adl_world_sim_create(scenario, 0, config->oracle ? ADL_REGIME_ORACLE : ADL_REGIME_DECLARED, &cell->world, err);
    if (status)
        return status;
    cell->reward_terms = (struct adl_reward){.lambda = scenario->lambda, .tail = config->tail};
    if (adl_metrics_create(scenario->lambda, &cell->metrics) || adl_metrics_reserve(cell->metrics, jobs) ||
        adl_world_sim_reserve(cell->world, jobs) || adl_outlook_reserve(&cell->actions->outlook, jobs))
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment of %zu jobs", jobs);
    struct adl_engine_config engine = {.cluster = &scenario->cluster,
                                       .policy = &caller,
                                       .policy_config = adl_run_policy_config(scenario),
                                       .world_ops = &adl_world_sim_ops,
                                       .world = cell->world,
                                       .observer_count = 2};
    engine.policy_config.model = cell->actions;
    engine.observers[0] = adl_metrics_observer(cell->metrics);
    engine.observers[1] = (struct adl_observer){.self = cell, .event = add_reward};
    status = adl_engine_create(&engine, &cell->engine, err);
    if (status == 0 && adl_engine_reserve(cell->engine, jobs))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for an environment of %zu jobs", jobs);
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
    env->shape.members = env->observation == ADL_OBSERVATION_ACTIONS ? 1 : env->cells[0].actions->gpu_capacity;
    return 0;
}

static void set_shape(struct adlro_environment *env, const struct adlro_config *config)
{
    static const enum adl_observation_kind kinds[] = {[ADLRO_OBSERVATION_ALL] = ADL_OBSERVATION_ALL,
                                                      [ADLRO_OBSERVATION_PAPER] = ADL_OBSERVATION_PAPER,
                                                      [ADLRO_OBSERVATION_ACTIONS] = ADL_OBSERVATION_ACTIONS};
    env->observation = kinds[config->observation];
    const struct adl_observation_shape observation = adl_observation_shape(env->observation, &env->scenario->cluster);
    env->shape = (struct adlro_shape){.count = config->count ? config->count : 1,
                                      .gpus = observation.gpus,
                                      .gpu_features = observation.gpu_features,
                                      .state_features = observation.state_features,
                                      .actions = ADL_ACTIONS_MAX,
                                      .action_features = observation.action_features};
}

/* On failure the caller frees env. */
static int build(struct adlro_environment *env, const struct adlro_config *config, struct adl_error *err)
{
    env->config = *config;
    env->config.scenario = NULL;
    set_shape(env, config);
    adl_normalizer_init(&env->normalizer);
    if (create_tables(env))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u environments", env->shape.count);
    int status = 0;
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = create_cell(env, config, &env->cells[i], err);
    return status;
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

static int report(const struct adl_error *err, int status, char *error)
{
    if (error && status)
        snprintf(error, ADLRO_ERROR_SIZE, "%s", err->text);
    return status;
}

static int take_config(const struct adlro_config *config, struct adlro_config *ret, struct adl_error *err)
{
    const struct adl_caller_struct given = {"config", config, config->size, ADL_SIZE_UP_TO(adlro_config, tail)};
    return adl_struct_read(&given, ret, sizeof *ret, err);
}

static int load(struct adlro_environment *env, const struct adlro_config *config, struct adl_error *err)
{
    if (!config->scenario)
        return adl_fail(err, ADL_EINVAL, "config.scenario must be the path of a scenario file");
    env->loaded = calloc(1, sizeof *env->loaded);
    if (!env->loaded)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an environment");
    env->loaded->holders = 1;
    struct adl_scenario *scenario = &env->loaded->scenario;
    const int status = adl_scenario_load(config->scenario, scenario, NULL, err);
    if (status)
        return status;
    env->scenario = scenario;
    if (config->jobs)
        scenario->workload.jobs = config->jobs;
    if (config->load > 0)
        scenario->workload.arrivals.rate_per_h *= config->load;
    return build(env, config, err);
}

int adlro_create(const struct adlro_config *config, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_config taken;
    int status = take_config(config, &taken, &err);
    if (status)
        return report(&err, status, error);
    struct adlro_environment *env = calloc(1, sizeof *env);
    if (!env)
        return report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    status = load(env, &taken, &err);
    if (status) {
        adlro_destroy(env);
        return report(&err, status, error);
    }
    *ret = env;
    return 0;
}

static void release(struct loaded *loaded)
{
    if (!loaded || atomic_fetch_sub(&loaded->holders, 1) > 1)
        return;
    adl_scenario_clear(&loaded->scenario);
    free(loaded);
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
        }
    }
    adl_plan_clear(&env->plan);
    free(env->rows.gpus);
    free(env->rows.state);
    free(env->rows.actions);
    free(env->cells);
    release(env->loaded);
    free(env);
}

void adlro_shape(const struct adlro_environment *env, struct adlro_shape *ret, size_t size)
{
    adl_struct_write(&env->shape, sizeof env->shape, ret, size);
}

const struct adl_normalizer *adl_environment_normalizer(const struct adlro_environment *env)
{
    return &env->normalizer;
}

void adl_environment_set_normalizer(struct adlro_environment *env, const struct adl_normalizer *normalizer)
{
    env->normalizer = *normalizer;
}

void adl_environment_set_lambda(struct adlro_environment *env, double lambda)
{
    for (uint32_t i = 0; i < env->shape.count; i++)
        env->cells[i].reward_terms.lambda = env->cells[i].actions->lambda = lambda;
}

/* ---- observing ---- */

static void write_actions(const struct adlro_environment *env, uint32_t index, const struct adlro_buffers *buffers)
{
    const struct adlro_shape *shape = &env->shape;
    const struct adl_actions *actions = env->cells[index].actions;
    int32_t *offset = &buffers->member_offset[(size_t)index * (shape->actions + 1)];
    int32_t *members = &buffers->members[(size_t)index * shape->members];
    uint8_t *mask = &buffers->mask[(size_t)index * shape->actions];
    offset[0] = 0;
    for (uint32_t c = 0; c < actions->count; c++) {
        const struct adl_action *action = &actions->list[c];
        const uint32_t named = env->observation == ADL_OBSERVATION_ACTIONS ? 0 : action->gpu_count;
        for (uint32_t i = 0; i < named; i++)
            members[offset[c] + (int32_t)i] = (int32_t)actions->gpus[action->gpu_offset + i];
        offset[c + 1] = offset[c] + (int32_t)named;
    }
    memset(mask, 0, shape->actions);
    memset(mask, 1, actions->count);
    buffers->action_count[index] = (int32_t)actions->count;
}

static void write_rows(struct adlro_environment *env, uint32_t index, const struct adl_state *state,
                       const struct adlro_buffers *buffers)
{
    const struct adlro_shape *shape = &env->shape;
    struct adl_observation out = {&buffers->gpus[(size_t)index * shape->gpus * shape->gpu_features],
                                  &buffers->state[(size_t)index * shape->state_features],
                                  &buffers->actions[(size_t)index * shape->actions * shape->action_features]};
    struct adl_observation *rows = env->observation == ADL_OBSERVATION_PAPER ? &env->rows : &out;
    if (env->observation == ADL_OBSERVATION_ACTIONS)
        out.gpus = NULL;
    const struct adl_actions *actions = env->cells[index].actions;
    if (env->learning) {
        adl_observation_raw(state, actions, rows);
        adl_observation_learn(&env->normalizer, rows, shape->gpus, actions->count);
        adl_observation_normalize(&env->normalizer, rows, shape->gpus, actions->count);
    } else {
        adl_observation_fill(&env->normalizer, state, actions, rows);
    }
    if (env->observation == ADL_OBSERVATION_PAPER) {
        adl_observation_paper(rows, shape->gpus, &out);
        memset(out.actions, 0, (size_t)actions->count * shape->action_features * sizeof *out.actions);
    }
}

static void show(struct adlro_environment *env, uint32_t index, const struct adlro_buffers *buffers)
{
    buffers->done[index] = env->cells[index].done;
    if (env->cells[index].done) {
        buffers->action_count[index] = 0;
        memset(&buffers->mask[(size_t)index * env->shape.actions], 0, env->shape.actions);
        return;
    }
    write_rows(env, index, adl_engine_state(env->cells[index].engine), buffers);
    write_actions(env, index, buffers);
}

/* ---- acting ---- */

static int take_buffers(const struct adlro_buffers *buffers, struct adlro_buffers *ret, struct adl_error *err)
{
    const struct adl_caller_struct given = {"buffers", buffers, buffers->size, ADL_SIZE_UP_TO(adlro_buffers, done)};
    return adl_struct_read(&given, ret, sizeof *ret, err);
}

/* To the next event. */
static int pass_time(struct cell *cell, struct adl_error *err)
{
    int status = adl_engine_settle(cell->engine, err);
    if (status == 0)
        status = adl_engine_advance(cell->engine, err);
    cell->done = status == 0;
    return status < 0 ? status : 0;
}

static int execute(struct adlro_environment *env, struct cell *cell, uint32_t index, struct adl_error *err)
{
    const struct adl_action *action = &cell->actions->list[index];
    bool refused;
    if (action->waits)
        return pass_time(cell, err);
    adl_plan_reset(&env->plan);
    if (adl_actions_execute(cell->actions, action, &env->plan))
        return adl_fail(err, ADL_EINVAL, "a start of %u GPUs does not fit into a plan", action->gpu_count);
    const int status = adl_engine_act(cell->engine, &env->plan, &refused, err);
    if (status == 0 && refused)
        return adl_fail(err, ADL_EREFUSED, "%s", adl_engine_counts(cell->engine)->last_refusal.text);
    return status;
}

/* Advances until there are several actions to choose from, or the end. A single action is taken at once. */
static int advance(struct adlro_environment *env, uint32_t index, const struct adlro_buffers *buffers,
                   struct adl_error *err)
{
    struct cell *cell = &env->cells[index];
    struct adl_actions *actions = cell->actions;
    const struct adl_state *state = adl_engine_state(cell->engine);
    while (!cell->done) {
        adl_actions_find(actions, state);
        if (env->observation == ADL_OBSERVATION_PAPER)
            adl_actions_keep_one_job(actions, state);
        if (actions->count > 1)
            break;
        const int status = actions->count == 1 ? execute(env, cell, 0, err) : pass_time(cell, err);
        if (status)
            return status;
    }
    buffers->reward[index] = cell->reward;
    buffers->elapsed_s[index] = (double)(state->now_us - cell->decided_us) * 1e-6;
    cell->reward = 0;
    cell->decided_us = state->now_us;
    show(env, index, buffers);
    return 0;
}

static int reset_cell(struct adlro_environment *env, uint32_t index, uint64_t seed, const struct adlro_buffers *buffers,
                      struct adl_error *err)
{
    struct cell *cell = &env->cells[index];
    cell->done = true;
    int status = adl_world_sim_reset(cell->world, seed, err);
    if (status == 0)
        status = adl_engine_reset(cell->engine, seed, err);
    if (status)
        return status;
    adl_metrics_reset(cell->metrics);
    adl_actions_reset(cell->actions);
    cell->reward_terms.submit_s = cell->reward_terms.submit_s2 = 0;
    cell->reward = 0;
    cell->decided_us = 0;
    status = adl_engine_advance(cell->engine, err);
    cell->done = status == 0;
    if (status < 0)
        return status;
    return advance(env, index, buffers, err);
}

int adlro_reset(struct adlro_environment *env, uint32_t index, uint64_t seed, const struct adlro_buffers *buffers,
                char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0)
        status = index < env->shape.count ? reset_cell(env, index, seed, &taken, &err)
                                          : adl_fail(&err, ADL_EINVAL, "environment %u of %u", index, env->shape.count);
    return report(&err, status, error);
}

static int check_action(const struct adlro_environment *env, uint32_t index, int32_t action, struct adl_error *err)
{
    const uint32_t offered = env->cells[index].actions->count;
    if (action < 0 || (uint32_t)action >= offered)
        return adl_fail(err, ADL_EINVAL, "action %d of environment %u is not offered; 0 to %u are", action, index,
                        offered - 1);
    return 0;
}

static int step_cell(struct adlro_environment *env, uint32_t index, int32_t action, const struct adlro_buffers *buffers,
                     struct adl_error *err)
{
    struct cell *cell = &env->cells[index];
    if (cell->done)
        return adl_fail(err, ADL_EINVAL, "environment %u has ended its episode; reset it", index);
    int status = check_action(env, index, action, err);
    if (status)
        return status;
    status = execute(env, cell, (uint32_t)action, err);
    return status ? status : advance(env, index, buffers, err);
}

int adlro_step_one(struct adlro_environment *env, uint32_t index, int32_t action, const struct adlro_buffers *buffers,
                   char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0)
        status = index < env->shape.count ? step_cell(env, index, action, &taken, &err)
                                          : adl_fail(&err, ADL_EINVAL, "environment %u of %u", index, env->shape.count);
    return report(&err, status, error);
}

int adlro_step(struct adlro_environment *env, const int32_t *actions, const struct adlro_buffers *buffers,
               char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = env->cells[i].done ? 0 : check_action(env, i, actions[i], &err);
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++) {
        if (env->cells[i].done)
            taken.reward[i] = taken.elapsed_s[i] = 0;
        else
            status = step_cell(env, i, actions[i], &taken, &err);
    }
    return report(&err, status, error);
}

/* ---- copies ---- */

static int copy_cell(struct cell *to, const struct cell *from, struct adl_error *err)
{
    to->done = true;
    int status = adl_world_sim_copy(to->world, from->world, err);
    if (status == 0)
        status = adl_engine_copy(to->engine, from->engine, err);
    if (status == 0 && (adl_metrics_copy(to->metrics, from->metrics) || adl_actions_copy(to->actions, from->actions)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a copy of an environment");
    if (status)
        return status;
    to->reward_terms = from->reward_terms;
    to->reward = from->reward;
    to->decided_us = from->decided_us;
    to->done = from->done;
    return 0;
}

int adlro_clone(const struct adlro_environment *env, struct adlro_environment **ret, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_environment *clone = calloc(1, sizeof *clone);
    if (!clone)
        return report(&err, adl_fail(&err, ADL_ENOMEM, "out of memory for an environment"), error);
    clone->scenario = env->scenario;
    clone->loaded = env->loaded;
    if (clone->loaded)
        atomic_fetch_add(&clone->loaded->holders, 1);
    int status = build(clone, &env->config, &err);
    clone->normalizer = env->normalizer;
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = copy_cell(&clone->cells[i], &env->cells[i], &err);
    if (status) {
        adlro_destroy(clone);
        return report(&err, status, error);
    }
    *ret = clone;
    return 0;
}

static int check_restore(const struct adlro_environment *env, uint32_t index, const struct adlro_environment *from,
                         uint32_t from_index, struct adl_error *err)
{
    if (index >= env->shape.count)
        return adl_fail(err, ADL_EINVAL, "environment %u of %u", index, env->shape.count);
    if (from_index >= from->shape.count)
        return adl_fail(err, ADL_EINVAL, "environment %u of the %u to restore from", from_index, from->shape.count);
    if (env->scenario != from->scenario || env->observation != from->observation ||
        env->config.oracle != from->config.oracle)
        return adl_fail(err, ADL_EINVAL, "an environment is restored from itself or a clone; these are not related");
    return 0;
}

int adlro_restore(struct adlro_environment *env, uint32_t index, const struct adlro_environment *from,
                  uint32_t from_index, const struct adlro_buffers *buffers, char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adlro_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    if (status == 0)
        status = check_restore(env, index, from, from_index, &err);
    if (status == 0 && &env->cells[index] != &from->cells[from_index])
        status = copy_cell(&env->cells[index], &from->cells[from_index], &err);
    if (status)
        return report(&err, status, error);
    taken.reward[index] = taken.elapsed_s[index] = 0;
    show(env, index, &taken);
    return 0;
}

/* ---- fitting and results ---- */

int adlro_fit(struct adlro_environment *env, uint64_t first_seed, uint32_t episodes, char error[ADLRO_ERROR_SIZE])
{
    const struct adl_error no_memory = {"out of memory for fitting"};
    struct adlro_buffers buffers = {0};
    if (adl_buffers_create(&env->shape, &buffers))
        return report(&no_memory, ADL_ENOMEM, error);
    int status = 0;
    env->learning = true;
    for (uint32_t e = 0; e < episodes && status == 0; e++) {
        status = adlro_reset(env, 0, first_seed + e, &buffers, error);
        while (status == 0 && !buffers.done[0])
            status = adlro_step_one(env, 0, 0, &buffers, error);
    }
    env->learning = false;
    adl_normalizer_settle(&env->normalizer);
    adl_buffers_clear(&buffers);
    return status;
}

void adl_environment_result(struct adlro_environment *env, uint32_t index, struct adl_result *ret)
{
    const struct adl_lower_bound none = {0};
    adl_metrics_result(env->cells[index].metrics, env->cells[index].engine, &none, ret);
}
