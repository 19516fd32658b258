#include "rl/rollout.h"

#include "base/real.h"
#include "policy/dqn/actions.h"

#include <stdlib.h>
#include <string.h>

#define DRAWN        (ADL_ROLLOUT_CELLS - 1) /* the cell of the decision that is compared */
#define BEST_TRIED   4                       /* of the actions that are tried: those of the highest values */
#define HORIZONS_MAX 4                       /* rewards after that many horizons are left out */

static int create_batch(struct adl_rollout *rollout)
{
    const struct adlro_shape *shape = &rollout->shape;
    const size_t cells = shape->count, actions = cells * shape->actions;
    rollout->gpus = malloc((cells * shape->gpus * shape->gpu_features + 1) * sizeof *rollout->gpus);
    rollout->state = malloc(cells * shape->state_features * sizeof *rollout->state);
    rollout->actions = malloc(actions * shape->action_features * sizeof *rollout->actions);
    rollout->q = malloc(actions * sizeof *rollout->q);
    rollout->gpu_offset = malloc((cells + 1) * sizeof *rollout->gpu_offset);
    rollout->action_offset = malloc((cells + 1) * sizeof *rollout->action_offset);
    rollout->member_offset = malloc((actions + 1) * sizeof *rollout->member_offset);
    rollout->members = malloc((cells * shape->members + 1) * sizeof *rollout->members);
    return rollout->gpus && rollout->state && rollout->actions && rollout->q && rollout->gpu_offset &&
                   rollout->action_offset && rollout->member_offset && rollout->members
               ? 0
               : ADL_ENOMEM;
}

int adl_rollout_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                       const struct adl_qnet *net, struct adl_rollout **ret, struct adl_error *err)
{
    struct adl_rollout *rollout = calloc(1, sizeof *rollout);
    struct adlro_config several = *config;
    several.count = ADL_ROLLOUT_CELLS;
    if (!rollout)
        return adl_fail(err, ADL_ENOMEM, "out of memory for training");
    int status = adl_environment_create(scenario, &several, &rollout->env, err);
    if (status == 0) {
        rollout->net = net;
        adlro_shape(rollout->env, &rollout->shape, sizeof rollout->shape);
        const struct adl_qnet_limits limits = {ADL_ROLLOUT_CELLS, (int)(ADL_ROLLOUT_CELLS * rollout->shape.gpus),
                                               (int)(ADL_ROLLOUT_CELLS * rollout->shape.actions)};
        if (adl_buffers_create(&rollout->shape, &rollout->buffers) || create_batch(rollout))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for training");
        else
            status = adl_qnet_workspace_create(net, &limits, &rollout->workspace, err);
    }
    if (status) {
        adl_rollout_destroy(rollout);
        return status;
    }
    *ret = rollout;
    return 0;
}

void adl_rollout_destroy(struct adl_rollout *rollout)
{
    if (!rollout)
        return;
    adlro_destroy(rollout->env);
    adl_buffers_clear(&rollout->buffers);
    adl_qnet_workspace_destroy(rollout->workspace);
    free(rollout->gpus);
    free(rollout->state);
    free(rollout->actions);
    free(rollout->q);
    free(rollout->gpu_offset);
    free(rollout->action_offset);
    free(rollout->member_offset);
    free(rollout->members);
    free(rollout);
}

/* ---- actions ---- */

static uint32_t action_count(const struct adl_rollout *rollout, uint32_t place)
{
    return (uint32_t)rollout->buffers.action_count[rollout->cells[place]];
}

/* Puts action `a` of a cell at place `at` of the batch's actions. */
static void put_action(struct adl_rollout *rollout, uint32_t cell, uint32_t a, int at)
{
    const struct adlro_shape *shape = &rollout->shape;
    const struct adlro_buffers *b = &rollout->buffers;
    const size_t size = shape->action_features;
    const int32_t *offset = &b->member_offset[(size_t)cell * (shape->actions + 1) + a];
    const int first = rollout->member_offset[at];
    memcpy(&rollout->actions[(size_t)at * size], &b->actions[((size_t)cell * shape->actions + a) * size],
           size * sizeof(float));
    memcpy(&rollout->members[first], &b->members[(size_t)cell * shape->members + (size_t)offset[0]],
           (size_t)(offset[1] - offset[0]) * sizeof *rollout->members);
    rollout->member_offset[at + 1] = first + offset[1] - offset[0];
}

/* The states of all running cells, with all their actions. */
static struct adl_qnet_batch gather(struct adl_rollout *rollout)
{
    const struct adlro_shape *shape = &rollout->shape;
    const size_t gpu_size = (size_t)shape->gpus * shape->gpu_features, state_size = shape->state_features;
    int at = 0;
    rollout->gpu_offset[0] = rollout->action_offset[0] = rollout->member_offset[0] = 0;
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const uint32_t cell = rollout->cells[i];
        memcpy(&rollout->gpus[i * gpu_size], &rollout->buffers.gpus[cell * gpu_size], gpu_size * sizeof(float));
        memcpy(&rollout->state[i * state_size], &rollout->buffers.state[cell * state_size], state_size * sizeof(float));
        rollout->gpu_offset[i + 1] = (int)((i + 1) * shape->gpus);
        for (uint32_t a = 0; a < action_count(rollout, i); a++)
            put_action(rollout, cell, a, at++);
        rollout->action_offset[i + 1] = at;
    }
    return (struct adl_qnet_batch){.states = (int)rollout->cell_count,
                                   .gpu_offset = rollout->gpu_offset,
                                   .gpus = rollout->gpus,
                                   .state = rollout->state,
                                   .action_offset = rollout->action_offset,
                                   .actions = rollout->actions,
                                   .member_offset = rollout->member_offset,
                                   .members = rollout->members};
}

static void choose_by_network(struct adl_rollout *rollout, const struct adl_agent *agent)
{
    const struct adl_qnet_batch batch = gather(rollout);
    adl_qnet_forward(rollout->net, agent->params, &batch, rollout->workspace, rollout->q);
}

static float value_by_rule(const struct adl_rollout *rollout, const struct adl_agent *agent, uint32_t cell, uint32_t a)
{
    const size_t size = rollout->shape.action_features;
    const float *row = rollout->buffers.actions + ((size_t)cell * rollout->shape.actions + a) * size;
    float sum = 0;
    for (size_t f = 0; f < size; f++)
        sum += agent->rule[f] * row[f];
    return sum;
}

static void choose_by_rule(struct adl_rollout *rollout, const struct adl_agent *agent)
{
    int at = 0;
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        rollout->action_offset[i] = at;
        for (uint32_t a = 0; a < action_count(rollout, i); a++)
            rollout->q[at++] = value_by_rule(rollout, agent, rollout->cells[i], a);
    }
    rollout->action_offset[rollout->cell_count] = at;
}

/* The greedy action of each running cell. Values stay in q. */
static void choose(struct adl_rollout *rollout, const struct adl_agent *agent)
{
    if (agent->params)
        choose_by_network(rollout, agent);
    else
        choose_by_rule(rollout, agent);
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const int first = rollout->action_offset[i];
        int best = first;
        for (int a = first + 1; a < rollout->action_offset[i + 1]; a++)
            best = rollout->q[a] > rollout->q[best] ? a : best;
        rollout->chosen[i] = best - first;
    }
}

/* ---- episodes ---- */

static int begin(struct adl_rollout *rollout, const uint64_t *seeds, uint32_t count, struct adl_error *err)
{
    rollout->cell_count = 0;
    for (uint32_t c = 0; c < count; c++) {
        const int status = adlro_reset(rollout->env, c, seeds[c], &rollout->buffers, err->text);
        if (status)
            return status;
        rollout->returns[c] = rollout->time_s[c] = 0;
        if (!rollout->buffers.done[c])
            rollout->cells[rollout->cell_count++] = c;
    }
    return 0;
}

/* Adds the last reward, which is spread evenly over the time: its discount is the mean of exp over that time. */
static void add_reward(struct adl_rollout *rollout, uint32_t cell, double horizon_s)
{
    const double elapsed_s = rollout->buffers.elapsed_s[cell], span = elapsed_s / horizon_s;
    const double mean = span > 0 ? (1.0 - adl_exp(-span)) / span : 1.0;
    if (rollout->time_s[cell] < HORIZONS_MAX * horizon_s)
        rollout->returns[cell] += rollout->buffers.reward[cell] * mean * adl_exp(-rollout->time_s[cell] / horizon_s);
    rollout->time_s[cell] += elapsed_s;
}

/* One step of every running cell. horizon_s: 0 = rewards are not discounted. */
static int step(struct adl_rollout *rollout, double horizon_s, struct adl_error *err)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const uint32_t cell = rollout->cells[i];
        const int status = adlro_step_one(rollout->env, cell, rollout->chosen[i], &rollout->buffers, err->text);
        if (status)
            return status;
        if (horizon_s > 0)
            add_reward(rollout, cell, horizon_s);
        else
            rollout->returns[cell] += rollout->buffers.reward[cell];
        if (!rollout->buffers.done[cell])
            rollout->cells[left++] = cell;
    }
    rollout->cell_count = left;
    return 0;
}

int adl_rollout_run(struct adl_rollout *rollout, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                    struct adl_result *ret_results, double *ret_returns, struct adl_error *err)
{
    int status = begin(rollout, seeds, count, err);
    while (status == 0 && rollout->cell_count > 0) {
        choose(rollout, agent);
        status = step(rollout, 0, err);
    }
    for (uint32_t c = 0; c < count && status == 0; c++) {
        adl_environment_result(rollout->env, c, &ret_results[c]);
        ret_returns[c] = rollout->returns[c];
    }
    return status;
}

/* ---- comparisons ---- */

/* Runs the episode in cell 0. DRAWN becomes the state of one of its decisions, any with the same probability, and
 * returns[0] is summed from there on. */
static int run_and_draw(struct adl_rollout *rollout, const struct adl_agent *agent, double horizon_s,
                        struct adl_rng *rng, double *ret_return, uint64_t *ret_decisions, struct adl_error *err)
{
    uint32_t decisions = 0;
    *ret_return = 0;
    while (rollout->cell_count > 0) {
        if (adl_rng_below(rng, ++decisions) == 0) {
            const int status = adlro_restore(rollout->env, DRAWN, rollout->env, 0, &rollout->buffers, err->text);
            if (status)
                return status;
            rollout->returns[0] = rollout->time_s[0] = 0;
        }
        choose(rollout, agent);
        const int status = step(rollout, horizon_s, err);
        if (status)
            return status;
        *ret_return += rollout->buffers.reward[0];
    }
    *ret_decisions = decisions;
    return 0;
}

/* Lists other actions than the greedy one: first those of the highest values, then any. Returns their number. */
static uint32_t draw_actions(const struct adl_rollout *rollout, uint32_t count, int32_t greedy, struct adl_rng *rng,
                             int32_t ret[ADL_ROLLOUT_CELLS - 1])
{
    int32_t left[ADL_ACTIONS_MAX];
    uint32_t left_count = 0, drawn = 0;
    for (uint32_t a = 0; a < count; a++)
        if ((int32_t)a != greedy)
            left[left_count++] = (int32_t)a;
    while (drawn < ADL_ROLLOUT_CELLS - 1 && left_count > 0) {
        uint32_t at = drawn < BEST_TRIED ? 0 : adl_rng_below(rng, left_count);
        for (uint32_t i = 1; drawn < BEST_TRIED && i < left_count; i++)
            at = rollout->q[left[i]] > rollout->q[left[at]] ? i : at;
        ret[drawn++] = left[at];
        left[at] = left[--left_count];
    }
    return drawn;
}

/* Of the running cells, those before that time; returns their number. */
static uint32_t keep_early(struct adl_rollout *rollout, double most_s)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < rollout->cell_count; i++)
        if (rollout->time_s[rollout->cells[i]] < most_s)
            rollout->cells[left++] = rollout->cells[i];
    return rollout->cell_count = left;
}

/* Plays actions from DRAWN on; [index] is the cell of each, the last one that of DRAWN itself. */
static int play_actions(struct adl_rollout *rollout, const struct adl_agent *agent, double horizon_s,
                        const int32_t *actions, uint32_t count, uint64_t *decisions, struct adl_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t cell = i + 1 < count ? i : DRAWN;
        const int status = adlro_restore(rollout->env, cell, rollout->env, DRAWN, &rollout->buffers, err->text);
        if (status)
            return status;
        rollout->returns[cell] = rollout->time_s[cell] = 0;
        rollout->cells[i] = cell;
        rollout->chosen[i] = actions[i];
    }
    rollout->cell_count = count;
    int status = step(rollout, horizon_s, err);
    while (status == 0 && keep_early(rollout, HORIZONS_MAX * horizon_s) > 0) {
        *decisions += rollout->cell_count;
        choose(rollout, agent);
        status = step(rollout, horizon_s, err);
    }
    return status;
}

int adl_rollout_compare(struct adl_rollout *rollout, const struct adl_agent *agent, uint64_t seed, double horizon_s,
                        struct adl_rng *rng, struct adl_experience *experience, double *ret_return,
                        uint64_t *ret_decisions, struct adl_error *err)
{
    int32_t actions[ADL_ROLLOUT_CELLS - 1];
    float *targets, rules[ADL_ACTIONS_MAX];
    int status = begin(rollout, &seed, 1, err);
    if (status == 0)
        status = run_and_draw(rollout, agent, horizon_s, rng, ret_return, ret_decisions, err);
    if (status || *ret_decisions == 0)
        return status;
    const double own = rollout->returns[0];
    rollout->cells[0] = DRAWN;
    rollout->cell_count = 1;
    choose(rollout, agent);
    const int32_t greedy = rollout->chosen[0];
    const uint32_t offered = action_count(rollout, 0), count = draw_actions(rollout, offered, greedy, rng, actions);
    if (adl_experience_add(experience, &rollout->shape, &rollout->buffers, DRAWN, greedy, &targets))
        return adl_fail(err, ADL_ENOMEM, "out of memory for experience");
    for (uint32_t a = 0; a < offered; a++)
        rules[a] = agent->prior > 0 ? value_by_rule(rollout, agent, DRAWN, a) : 0;
    status = play_actions(rollout, agent, horizon_s, actions, count, ret_decisions, err);
    for (uint32_t i = 0; i < count; i++)
        targets[actions[i]] = (float)((rollout->returns[i + 1 < count ? i : DRAWN] - own) / horizon_s +
                                      agent->prior * (double)(rules[actions[i]] - rules[greedy]));
    return status;
}
