#include "rl/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int create_batch(struct adl_rollout *player)
{
    const struct adlro_shape *shape = &player->shape;
    const size_t cells = shape->count, actions = cells * shape->actions;
    player->gpus = malloc(cells * shape->gpus * shape->gpu_features * sizeof *player->gpus);
    player->state = malloc(cells * shape->state_features * sizeof *player->state);
    player->actions = malloc(actions * shape->action_features * sizeof *player->actions);
    player->q = malloc(actions * sizeof *player->q);
    player->gpu_offset = malloc((cells + 1) * sizeof *player->gpu_offset);
    player->action_offset = malloc((cells + 1) * sizeof *player->action_offset);
    player->member_offset = malloc((actions + 1) * sizeof *player->member_offset);
    player->members = malloc(cells * shape->members * sizeof *player->members);
    return player->gpus && player->state && player->actions && player->q && player->gpu_offset &&
                   player->action_offset && player->member_offset && player->members
               ? 0
               : ADL_ENOMEM;
}

int adl_rollout_create(const struct adl_scenario *scenario, const struct adlro_config *config,
                       const struct adl_qnet *net, struct adl_rollout **ret, struct adl_error *err)
{
    struct adl_rollout *player = calloc(1, sizeof *player);
    struct adlro_config several = *config;
    several.count = ADL_ROLLOUT_CELLS;
    if (!player)
        return adl_fail(err, ADL_ENOMEM, "out of memory for training");
    int status = adl_environment_create(scenario, &several, &player->env, err);
    if (status == 0) {
        player->net = net;
        adlro_shape(player->env, &player->shape, sizeof player->shape);
        const struct adl_qnet_limits limits = {ADL_ROLLOUT_CELLS, (int)(ADL_ROLLOUT_CELLS * player->shape.gpus),
                                               (int)(ADL_ROLLOUT_CELLS * player->shape.actions)};
        if (adl_buffers_create(&player->shape, &player->buffers) || create_batch(player))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for training");
        else
            status = adl_qnet_workspace_create(net, &limits, &player->workspace, err);
    }
    if (status) {
        adl_rollout_destroy(player);
        return status;
    }
    *ret = player;
    return 0;
}

void adl_rollout_destroy(struct adl_rollout *player)
{
    if (!player)
        return;
    adlro_destroy(player->env);
    adl_buffers_clear(&player->buffers);
    adl_qnet_workspace_destroy(player->workspace);
    free(player->gpus);
    free(player->state);
    free(player->actions);
    free(player->q);
    free(player->gpu_offset);
    free(player->action_offset);
    free(player->member_offset);
    free(player->members);
    free(player);
}

/* ---- choosing ---- */

static uint32_t action_count(const struct adl_rollout *player, uint32_t place)
{
    return (uint32_t)player->buffers.action_count[player->cells[place]];
}

/* Puts action `a` of a cell at place `at` of the batch's actions. */
static void put_action(struct adl_rollout *player, uint32_t cell, uint32_t a, int at)
{
    const struct adlro_shape *shape = &player->shape;
    const struct adlro_buffers *b = &player->buffers;
    const size_t size = shape->action_features;
    const int32_t *offset = &b->member_offset[(size_t)cell * (shape->actions + 1) + a];
    const int first = player->member_offset[at];
    memcpy(&player->actions[(size_t)at * size], &b->actions[((size_t)cell * shape->actions + a) * size],
           size * sizeof(float));
    memcpy(&player->members[first], &b->members[(size_t)cell * shape->members + (size_t)offset[0]],
           (size_t)(offset[1] - offset[0]) * sizeof *player->members);
    player->member_offset[at + 1] = first + offset[1] - offset[0];
}

/* The states of all cells that play, with all their actions. */
static struct adl_qnet_batch gather(struct adl_rollout *player)
{
    const struct adlro_shape *shape = &player->shape;
    const size_t gpu_size = (size_t)shape->gpus * shape->gpu_features, state_size = shape->state_features;
    int at = 0;
    player->gpu_offset[0] = player->action_offset[0] = player->member_offset[0] = 0;
    for (uint32_t i = 0; i < player->cell_count; i++) {
        const uint32_t cell = player->cells[i];
        memcpy(&player->gpus[i * gpu_size], &player->buffers.gpus[cell * gpu_size], gpu_size * sizeof(float));
        memcpy(&player->state[i * state_size], &player->buffers.state[cell * state_size], state_size * sizeof(float));
        player->gpu_offset[i + 1] = (int)((i + 1) * shape->gpus);
        for (uint32_t a = 0; a < action_count(player, i); a++)
            put_action(player, cell, a, at++);
        player->action_offset[i + 1] = at;
    }
    return (struct adl_qnet_batch){.states = (int)player->cell_count,
                                   .gpu_offset = player->gpu_offset,
                                   .gpus = player->gpus,
                                   .state = player->state,
                                   .action_offset = player->action_offset,
                                   .actions = player->actions,
                                   .member_offset = player->member_offset,
                                   .members = player->members};
}

/* What the target network says of the agent's own choices. */
static void value_own(struct adl_rollout *player, const struct adl_agent *agent, const struct adl_qnet_batch *batch)
{
    adl_qnet_forward(player->net, agent->target, batch, player->workspace, player->q);
    for (uint32_t i = 0; i < player->cell_count; i++)
        player->value[i] =
            (double)player->q[batch->action_offset[i] + player->own[i]] * agent->value_scale + agent->value_offset;
}

static void choose_by_network(struct adl_rollout *player, const struct adl_agent *agent, bool valued)
{
    const struct adl_qnet_batch batch = gather(player);
    adl_qnet_forward(player->net, agent->params, &batch, player->workspace, player->q);
    for (uint32_t i = 0; i < player->cell_count; i++) {
        const int first = player->action_offset[i];
        int best = first;
        for (int a = first + 1; a < player->action_offset[i + 1]; a++)
            best = player->q[a] > player->q[best] ? a : best;
        player->own[i] = best - first;
        player->value[i] = (double)player->q[best] * agent->value_scale + agent->value_offset;
    }
    if (!valued || !agent->target)
        return;
    value_own(player, agent, &batch);
}

/* The rule, and what the network (if there is one yet) makes of its choice. */
static void choose_by_rule(struct adl_rollout *player, const struct adl_agent *agent, bool valued)
{
    const struct adlro_shape *shape = &player->shape;
    const size_t size = shape->action_features;
    for (uint32_t i = 0; i < player->cell_count; i++) {
        const float *rows = player->buffers.actions + (size_t)player->cells[i] * shape->actions * size;
        float best = -HUGE_VALF;
        for (uint32_t a = 0; a < action_count(player, i); a++) {
            float sum = 0;
            for (size_t f = 0; f < size; f++)
                sum += agent->rule[f] * rows[a * size + f];
            if (sum > best) {
                best = sum;
                player->own[i] = (int32_t)a;
            }
        }
        player->value[i] = 0;
    }
    if (!valued || !agent->target)
        return;
    const struct adl_qnet_batch batch = gather(player);
    value_own(player, agent, &batch);
}

static void explore(struct adl_rollout *player, const struct adl_agent *agent, struct adl_rng *rng)
{
    for (uint32_t i = 0; i < player->cell_count; i++) {
        const bool at_random = agent->explore > 0 && adl_rng_uniform(rng) < agent->explore;
        player->chosen[i] = at_random ? (int32_t)adl_rng_below(rng, action_count(player, i)) : player->own[i];
    }
}

/* ---- playing ---- */

static int begin(struct adl_rollout *player, const uint64_t *seeds, uint32_t count, struct adl_error *err)
{
    player->cell_count = 0;
    for (uint32_t c = 0; c < count; c++) {
        const int status = adlro_reset(player->env, c, seeds[c], &player->buffers, err->text);
        if (status)
            return status;
        player->time_s[c] = player->buffers.elapsed_s[c];
        if (!player->buffers.done[c])
            player->cells[player->cell_count++] = c;
    }
    return 0;
}

/* One step of every cell that plays; last: [cell] the last decision of each, ADL_NONE before the first. */
static int step(struct adl_rollout *player, struct adl_experience *experience, uint32_t *last, double *returns,
                struct adl_error *err)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < player->cell_count; i++) {
        const uint32_t cell = player->cells[i];
        uint32_t at = ADL_NONE;
        if (experience) {
            if (adl_experience_add(experience, &player->shape, &player->buffers, cell, player->chosen[i], &at))
                return adl_fail(err, ADL_ENOMEM, "out of memory for experience");
            if (last[cell] != ADL_NONE)
                experience->lessons[last[cell]].next = at;
            last[cell] = at;
            experience->lessons[at].value = player->value[i];
            experience->lessons[at].time_s = player->time_s[cell];
            experience->lessons[at].replica = (uint16_t)cell;
        }
        const int status = adlro_step_one(player->env, cell, player->chosen[i], &player->buffers, err->text);
        if (status)
            return status;
        returns[cell] += player->buffers.reward[cell];
        player->time_s[cell] += player->buffers.elapsed_s[cell];
        if (experience) {
            experience->lessons[at].reward = player->buffers.reward[cell];
            experience->lessons[at].elapsed_s = player->buffers.elapsed_s[cell];
        }
        if (!player->buffers.done[cell])
            player->cells[left++] = cell;
    }
    player->cell_count = left;
    return 0;
}

int adl_rollout_play(struct adl_rollout *player, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                     struct adl_rng *rng, struct adl_experience *experience, struct adl_result *ret_results,
                     double *ret_returns, struct adl_error *err)
{
    uint32_t last[ADL_ROLLOUT_CELLS];
    double returns[ADL_ROLLOUT_CELLS] = {0};
    for (uint32_t c = 0; c < count; c++)
        last[c] = ADL_NONE;
    int status = begin(player, seeds, count, err);
    while (status == 0 && player->cell_count > 0) {
        if (agent->params)
            choose_by_network(player, agent, experience != NULL);
        else
            choose_by_rule(player, agent, experience != NULL);
        explore(player, agent, rng);
        status = step(player, experience, last, returns, err);
    }
    for (uint32_t c = 0; c < count && status == 0; c++) {
        if (ret_results)
            adl_environment_result(player->env, c, &ret_results[c]);
        if (ret_returns)
            ret_returns[c] = returns[c];
    }
    return status;
}
