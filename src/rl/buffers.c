/* buffers: those that an environment of some shape fills. */
#include "rl/agents.h"
#include "rl/environment.h"

#include <stdlib.h>

int adl_buffers_create(const struct adlro_shape *shape, struct adlro_buffers *ret)
{
    const uint32_t count = shape->count;
    struct adlro_buffers b = {
        .gpus = calloc((size_t)count * shape->gpus * shape->gpu_features + 1, sizeof *b.gpus),
        .state = calloc((size_t)count * shape->state_features, sizeof *b.state),
        .actions = calloc((size_t)count * shape->actions * shape->action_features, sizeof *b.actions),
        .mask = calloc((size_t)count * shape->actions, sizeof *b.mask),
        .action_count = calloc(count, sizeof *b.action_count),
        .member_offset = calloc((size_t)count * (shape->actions + 1), sizeof *b.member_offset),
        .members = calloc((size_t)count * shape->members, sizeof *b.members),
        .reward = calloc(count, sizeof *b.reward),
        .elapsed_s = calloc(count, sizeof *b.elapsed_s),
        .done = calloc(count, sizeof *b.done),
    };
    if (!b.gpus || !b.state || !b.actions || !b.mask || !b.action_count || !b.member_offset || !b.members ||
        !b.reward || !b.elapsed_s || !b.done) {
        adl_buffers_clear(&b);
        return ADL_ENOMEM;
    }
    *ret = b;
    return 0;
}

void adl_buffers_clear(struct adlro_buffers *buffers)
{
    free(buffers->gpus);
    free(buffers->state);
    free(buffers->actions);
    free(buffers->mask);
    free(buffers->action_count);
    free(buffers->member_offset);
    free(buffers->members);
    free(buffers->reward);
    free(buffers->elapsed_s);
    free(buffers->done);
    *buffers = (struct adlro_buffers){0};
}

int adl_agents_buffers_create(const struct adlro_agents_shape *shape, struct adlro_agents_buffers *ret)
{
    struct adlro_agents_buffers b = {
        .row_count = calloc(1, sizeof *b.row_count),
        .agents = calloc(shape->rows, sizeof *b.agents),
        .jobs = calloc(shape->rows, sizeof *b.jobs),
        .observations = calloc((size_t)shape->rows * shape->features, sizeof *b.observations),
        .bid_s = calloc(shape->rows, sizeof *b.bid_s),
        .won = calloc(shape->rows, sizeof *b.won),
        .shared_reward = calloc(1, sizeof *b.shared_reward),
        .elapsed_s = calloc(1, sizeof *b.elapsed_s),
        .done = calloc(1, sizeof *b.done),
    };
    if (!b.row_count || !b.agents || !b.jobs || !b.observations || !b.bid_s || !b.won || !b.shared_reward ||
        !b.elapsed_s || !b.done) {
        adl_agents_buffers_clear(&b);
        return ADL_ENOMEM;
    }
    *ret = b;
    return 0;
}

void adl_agents_buffers_clear(struct adlro_agents_buffers *buffers)
{
    free(buffers->row_count);
    free(buffers->agents);
    free(buffers->jobs);
    free(buffers->observations);
    free(buffers->bid_s);
    free(buffers->won);
    free(buffers->rewards);
    free(buffers->shared_reward);
    free(buffers->elapsed_s);
    free(buffers->done);
    *buffers = (struct adlro_agents_buffers){0};
}
