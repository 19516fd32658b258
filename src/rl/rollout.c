#include "rl/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The target network's values of the agent's greedy actions. */
static void value_greedy(struct adl_rollout *rollout, const struct adl_agent *agent, const struct adl_qnet_batch *batch)
{
    adl_qnet_forward(rollout->net, agent->target, batch, rollout->workspace, rollout->q);
    for (uint32_t i = 0; i < rollout->cell_count; i++)
        rollout->value[i] =
            (double)rollout->q[batch->action_offset[i] + rollout->greedy[i]] * agent->value_scale + agent->value_offset;
}

static void choose_by_network(struct adl_rollout *rollout, const struct adl_agent *agent, bool valued)
{
    const struct adl_qnet_batch batch = gather(rollout);
    adl_qnet_forward(rollout->net, agent->params, &batch, rollout->workspace, rollout->q);
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const int first = rollout->action_offset[i];
        int best = first;
        for (int a = first + 1; a < rollout->action_offset[i + 1]; a++)
            best = rollout->q[a] > rollout->q[best] ? a : best;
        rollout->greedy[i] = best - first;
        rollout->value[i] = (double)rollout->q[best] * agent->value_scale + agent->value_offset;
    }
    if (!valued || !agent->target)
        return;
    value_greedy(rollout, agent, &batch);
}

/* By the linear rule; the target network, if there is one yet, values its action. */
static void choose_by_rule(struct adl_rollout *rollout, const struct adl_agent *agent, bool valued)
{
    const struct adlro_shape *shape = &rollout->shape;
    const size_t size = shape->action_features;
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const float *rows = rollout->buffers.actions + (size_t)rollout->cells[i] * shape->actions * size;
        float best = -HUGE_VALF;
        for (uint32_t a = 0; a < action_count(rollout, i); a++) {
            float sum = 0;
            for (size_t f = 0; f < size; f++)
                sum += agent->rule[f] * rows[a * size + f];
            if (sum > best) {
                best = sum;
                rollout->greedy[i] = (int32_t)a;
            }
        }
        rollout->value[i] = 0;
    }
    if (!valued || !agent->target)
        return;
    const struct adl_qnet_batch batch = gather(rollout);
    value_greedy(rollout, agent, &batch);
}

static void explore(struct adl_rollout *rollout, const struct adl_agent *agent, struct adl_rng *rng)
{
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const bool at_random = agent->explore > 0 && adl_rng_uniform(rng) < agent->explore;
        rollout->chosen[i] = at_random ? (int32_t)adl_rng_below(rng, action_count(rollout, i)) : rollout->greedy[i];
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
        rollout->time_s[c] = rollout->buffers.elapsed_s[c];
        if (!rollout->buffers.done[c])
            rollout->cells[rollout->cell_count++] = c;
    }
    return 0;
}

/* One step of every running cell; last: [cell] the last decision of each, ADL_NONE before the first. */
static int step(struct adl_rollout *rollout, struct adl_experience *experience, uint32_t *last, double *returns,
                struct adl_error *err)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < rollout->cell_count; i++) {
        const uint32_t cell = rollout->cells[i];
        uint32_t at = ADL_NONE;
        if (experience) {
            if (adl_experience_add(experience, &rollout->shape, &rollout->buffers, cell, rollout->chosen[i], &at))
                return adl_fail(err, ADL_ENOMEM, "out of memory for experience");
            if (last[cell] != ADL_NONE)
                experience->transitions[last[cell]].next = at;
            last[cell] = at;
            experience->transitions[at].value = rollout->value[i];
            experience->transitions[at].time_s = rollout->time_s[cell];
            experience->transitions[at].replica = (uint16_t)cell;
        }
        const int status = adlro_step_one(rollout->env, cell, rollout->chosen[i], &rollout->buffers, err->text);
        if (status)
            return status;
        returns[cell] += rollout->buffers.reward[cell];
        rollout->time_s[cell] += rollout->buffers.elapsed_s[cell];
        if (experience) {
            experience->transitions[at].reward = rollout->buffers.reward[cell];
            experience->transitions[at].elapsed_s = rollout->buffers.elapsed_s[cell];
        }
        if (!rollout->buffers.done[cell])
            rollout->cells[left++] = cell;
    }
    rollout->cell_count = left;
    return 0;
}

int adl_rollout_run(struct adl_rollout *rollout, const struct adl_agent *agent, const uint64_t *seeds, uint32_t count,
                    struct adl_rng *rng, struct adl_experience *experience, struct adl_result *ret_results,
                    double *ret_returns, struct adl_error *err)
{
    uint32_t last[ADL_ROLLOUT_CELLS];
    double returns[ADL_ROLLOUT_CELLS] = {0};
    for (uint32_t c = 0; c < count; c++)
        last[c] = ADL_NONE;
    int status = begin(rollout, seeds, count, err);
    while (status == 0 && rollout->cell_count > 0) {
        if (agent->params)
            choose_by_network(rollout, agent, experience != NULL);
        else
            choose_by_rule(rollout, agent, experience != NULL);
        explore(rollout, agent, rng);
        status = step(rollout, experience, last, returns, err);
    }
    for (uint32_t c = 0; c < count && status == 0; c++) {
        if (ret_results)
            adl_environment_result(rollout->env, c, &ret_results[c]);
        if (ret_returns)
            ret_returns[c] = returns[c];
    }
    return status;
}
