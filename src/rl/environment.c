#include "rl/environment_internal.h"

#include "policy/dqn/plain_actions.h"
#include "policy/dqn/plain_observation.h"
#include "rl/library.h"

#include <stdio.h>
#include <string.h>

int adl_environment_report(const struct adl_error *err, int status, char *error)
{
    if (error && status)
        snprintf(error, ADLRO_ERROR_SIZE, "%s", err->text);
    return status;
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
        const uint32_t named = env->shape.gpus == 0 ? 0 : action->gpu_count;
        for (uint32_t i = 0; i < named; i++)
            members[offset[c] + (int32_t)i] = (int32_t)actions->gpus[action->gpu_offset + i];
        offset[c + 1] = offset[c] + (int32_t)named;
    }
    memset(mask, 0, shape->actions);
    memset(mask, 1, actions->count);
    buffers->action_count[index] = (int32_t)actions->count;
}

static bool is_clear(const float *row, uint32_t columns)
{
    for (uint32_t c = 0; c < columns; c++)
        if (row[c] != 0)
            return false;
    return true;
}

/* An observation does not depend on what was offered before: rows behind those that are offered are 0. In the buffer
 * that was written last these are so behind the first that is clear, because an action's row never is (it has a kind,
 * or it waits). A vector's rows that nobody is offered then stay out of the caches. */
static void clear_rows(const struct adlro_environment *env, uint32_t index, float *rows)
{
    const struct adlro_shape *shape = &env->shape;
    struct adl_environment_cell *cell = &env->cells[index];
    const uint32_t columns = shape->action_features, count = cell->actions->count;
    uint32_t end = cell->rows && cell->rows == rows ? cell->row_count : shape->actions;
    end = end > count ? end : count;
    while (end < shape->actions && !is_clear(&rows[(size_t)end * columns], columns))
        end++;
    memset(&rows[(size_t)count * columns], 0, (size_t)(end - count) * columns * sizeof *rows);
    cell->rows = rows;
    cell->row_count = count;
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
    if (env->observation == ADL_OBSERVATION_PLAIN) {
        adl_plain_observation_raw(state, actions, &out);
        if (env->learning)
            adl_plain_observation_learn(&env->normalizer, &out, actions->count);
        adl_plain_observation_normalize(&env->normalizer, &out, actions->count);
    } else if (env->learning) {
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
    clear_rows(env, index, out.actions);
}

static void show(struct adlro_environment *env, uint32_t index, const struct adlro_buffers *buffers)
{
    const struct adl_environment_cell *cell = &env->cells[index];
    buffers->done[index] = cell->done;
    if (buffers->truncated)
        buffers->truncated[index] = cell->truncated;
    if (cell->done && !cell->truncated) {
        buffers->action_count[index] = 0;
        memset(&buffers->mask[(size_t)index * env->shape.actions], 0, env->shape.actions);
        return;
    }
    write_rows(env, index, adl_engine_state(cell->engine), buffers);
    write_actions(env, index, buffers);
}

/* ---- acting ---- */

static int take_buffers(const struct adlro_buffers *buffers, struct adlro_buffers *ret, struct adl_error *err)
{
    const struct adl_caller_struct given = {"buffers", buffers, buffers->size, ADL_SIZE_UP_TO(adlro_buffers, done)};
    return adl_struct_read(&given, ret, sizeof *ret, err);
}

/* To the next event. */
static int pass_time(struct adl_environment_cell *cell, struct adl_error *err)
{
    int status = adl_engine_settle(cell->engine, err);
    if (status == 0)
        status = adl_engine_advance(cell->engine, err);
    cell->done = status == 0;
    return status < 0 ? status : 0;
}

static int execute(struct adlro_environment *env, struct adl_environment_cell *cell, uint32_t index,
                   struct adl_error *err)
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

/* After the last decision that it may have, or the first event that is too late. */
static bool is_over(const struct adlro_environment *env, const struct adl_environment_cell *cell)
{
    const double now_s = (double)adl_engine_state(cell->engine)->now_us * 1e-6;
    const uint64_t decisions = env->config.max_decisions;
    return (decisions > 0 && cell->actions->count > 1 && cell->decisions >= decisions) ||
           (env->config.max_s > 0 && now_s >= env->config.max_s);
}

static void find_actions(struct adl_environment_cell *cell)
{
    const struct adl_state *state = adl_engine_state(cell->engine);
    if (cell->planned)
        adl_actions_find(cell->actions, state);
    else
        adl_plain_actions_find(cell->actions, state, adl_typical_time_us(&cell->typical));
}

/* Advances until there are several actions to choose from, or the end. A single action is taken at once. */
static int advance(struct adlro_environment *env, uint32_t index, const struct adlro_buffers *buffers,
                   struct adl_error *err)
{
    struct adl_environment_cell *cell = &env->cells[index];
    struct adl_actions *actions = cell->actions;
    const struct adl_state *state = adl_engine_state(cell->engine);
    adl_environment_fetch_plan(env);
    while (!cell->done) {
        find_actions(cell);
        if (env->observation == ADL_OBSERVATION_PAPER)
            adl_actions_keep_one_job(actions, state);
        cell->truncated = is_over(env, cell);
        if (actions->count > 1 || cell->truncated)
            break;
        const int status = actions->count == 1 ? execute(env, cell, 0, err) : pass_time(cell, err);
        if (status)
            return status;
    }
    cell->done |= cell->truncated;
    buffers->reward[index] = cell->reward;
    buffers->elapsed_s[index] = (double)(state->now_us - cell->decided_us) * 1e-6;
    cell->reward = 0;
    cell->decided_us = state->now_us;
    adl_environment_fetch_buffers(env, buffers);
    show(env, index, buffers);
    return 0;
}

static int reset_cell(struct adlro_environment *env, uint32_t index, uint64_t seed, const struct adlro_buffers *buffers,
                      struct adl_error *err)
{
    struct adl_environment_cell *cell = &env->cells[index];
    cell->done = true;
    int status = adl_world_sim_reset(cell->world, seed, err);
    if (status == 0 && env->blank)
        status = adl_engine_copy(cell->engine, env->blank, err);
    if (status == 0)
        status = adl_engine_reset(cell->engine, seed, err);
    if (status)
        return status;
    adl_metrics_reset(cell->metrics);
    if (cell->planned)
        adl_actions_reset(cell->actions);
    adl_typical_time_reset(&cell->typical);
    cell->reward_terms.submit_s = cell->reward_terms.submit_s2 = 0;
    cell->reward = 0;
    cell->decided_us = 0;
    cell->decisions = 0;
    cell->truncated = false;
    cell->rows = NULL; /* the buffer may be new */
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
    return adl_environment_report(&err, status, error);
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
    struct adl_environment_cell *cell = &env->cells[index];
    if (cell->done)
        return adl_fail(err, ADL_EINVAL, "environment %u has ended its episode; reset it", index);
    int status = check_action(env, index, action, err);
    if (status)
        return status;
    cell->decisions++;
    adl_environment_fetch_jobs(env);
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
    return adl_environment_report(&err, status, error);
}

int adlro_step(struct adlro_environment *env, const int32_t *actions, const struct adlro_buffers *buffers,
               char error[ADLRO_ERROR_SIZE])
{
    const bool planned = env->observation != ADL_OBSERVATION_PLAIN;
    struct adl_error err = {{0}};
    struct adlro_buffers taken;
    int status = take_buffers(buffers, &taken, &err);
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++)
        status = env->cells[i].done ? 0 : check_action(env, i, actions[i], &err);
    for (uint32_t i = 0; i < env->shape.count && status == 0; i++) {
        if (planned) {
            env->ahead = i + 1;
            adl_environment_fetch_heads(env, i + 2);
        }
        if (env->cells[i].done)
            taken.reward[i] = taken.elapsed_s[i] = 0;
        else
            status = step_cell(env, i, actions[i], &taken, &err);
    }
    env->ahead = ADL_NONE;
    return adl_environment_report(&err, status, error);
}

static int check_restore(const struct adlro_environment *env, uint32_t index, const struct adlro_environment *from,
                         uint32_t from_index, struct adl_error *err)
{
    if (index >= env->shape.count)
        return adl_fail(err, ADL_EINVAL, "environment %u of %u", index, env->shape.count);
    if (from_index >= from->shape.count)
        return adl_fail(err, ADL_EINVAL, "environment %u of the %u to restore from", from_index, from->shape.count);
    if (env->scenario != from->scenario || env->observation != from->observation || env->regime != from->regime)
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
        status = adl_environment_copy_cell(&env->cells[index], &from->cells[from_index], &err);
    if (status)
        return adl_environment_report(&err, status, error);
    taken.reward[index] = taken.elapsed_s[index] = 0;
    env->cells[index].rows = NULL;
    show(env, index, &taken);
    return 0;
}

/* ---- fitting and results ---- */

int adlro_fit(struct adlro_environment *env, uint64_t first_seed, uint32_t episodes, char error[ADLRO_ERROR_SIZE])
{
    const struct adl_error no_memory = {"out of memory for fitting"};
    struct adlro_buffers buffers = {0};
    if (adl_buffers_create(&env->shape, &buffers))
        return adl_environment_report(&no_memory, ADL_ENOMEM, error);
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
