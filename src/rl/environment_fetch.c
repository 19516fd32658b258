/* environment_fetch: the memory of the environment that is stepped next, fetched while one is stepped. 256 environments
 * are more than fits into the caches, and a decision with a plan reads hundreds of lines: all jobs that wait. They are
 * fetched in parts, because the processor has few lines on their way at a time. */
#include "base/fetch.h"
#include "rl/environment_internal.h"

/* What points to the rest. The beginnings of the engine and the world have most of what a step reads of them. */
#define BEGIN_BYTES ((size_t)12 * ADL_LINE)

void adl_environment_fetch_heads(const struct adlro_environment *env, uint32_t index)
{
    if (index >= env->shape.count)
        return;
    const struct adl_environment_cell *cell = &env->cells[index];
    const struct adl_actions *actions = cell->actions;
    const struct adl_state *state = cell->state;
    adl_fetch(cell->engine, BEGIN_BYTES);
    adl_fetch(cell->world, BEGIN_BYTES);
    adl_fetch(&actions->count, offsetof(struct adl_actions, price) - offsetof(struct adl_actions, count));
    adl_fetch(state, offsetof(struct adl_state, type_speed));
    adl_fetch(&state->pool, ADL_LINE);
    adl_fetch(&state->queue, sizeof *state - offsetof(struct adl_state, queue));
}

/* The worlds reuse the last slot first, so live jobs are in the first slots, or nearly all of them. */
static uint32_t live_jobs(const struct adl_state *state)
{
    return state->queue.count + state->running_jobs;
}

void adl_environment_fetch_jobs(const struct adlro_environment *env)
{
    if (env->ahead >= env->shape.count)
        return;
    const struct adl_environment_cell *cell = &env->cells[env->ahead];
    const struct adl_state *state = cell->state;
    const uint32_t jobs = live_jobs(state);
    for (uint32_t s = 0; s < jobs; s++) {
        adl_fetch(&state->nodes[s], ADL_LINE);
        adl_fetch(&state->jobs[s], (size_t)2 * ADL_LINE);
    }
    adl_fetch(state->runtime_us, (size_t)jobs * state->cluster->type_count * sizeof *state->runtime_us);
    adl_fetch(state->gpus, state->cluster->gpu_count * sizeof *state->gpus);
    adl_fetch(cell->actions->outlook.profile, BEGIN_BYTES);
}

void adl_environment_fetch_plan(const struct adlro_environment *env)
{
    if (env->ahead >= env->shape.count)
        return;
    const struct adl_environment_cell *cell = &env->cells[env->ahead];
    adl_outlook_fetch(&cell->actions->outlook, cell->state, live_jobs(cell->state));
}

void adl_environment_fetch_buffers(const struct adlro_environment *env, const struct adlro_buffers *buffers)
{
    if (env->ahead >= env->shape.count)
        return;
    const struct adlro_shape *shape = &env->shape;
    const size_t index = env->ahead, gpu_row = (size_t)shape->gpus * shape->gpu_features,
                 columns = shape->action_features;
    adl_fetch(&buffers->gpus[index * gpu_row], gpu_row * sizeof *buffers->gpus);
    adl_fetch(&buffers->state[index * shape->state_features], shape->state_features * sizeof *buffers->state);
    adl_fetch(&buffers->actions[index * shape->actions * columns],
              env->cells[index].row_count * columns * sizeof *buffers->actions);
}
