#include "policy/dqn/plain_observation.h"

#include <math.h>

enum state_column {
    STATE_LAMBDA,
    STATE_QUEUE,
    STATE_RUNNING,
    STATE_BUSY,
    STATE_DOWN,
    STATE_DEMAND,
    STATE_OLDEST,
    STATE_RESERVATION_IN,
    STATE_RESERVED_GPUS,
    STATE_FREE_TYPES,
    STATE_STARTS,
    STATE_KIND,
    STATE_GANG = STATE_KIND + ADL_KIND_COUNT,
    STATE_COLUMNS = STATE_GANG + 4,
};

enum action_column {
    ACTION_WAIT,
    ACTION_REST_OF_BEST,
    ACTION_REST,
    ACTION_GPUS,
    ACTION_GPUS_OF_NODE,
    ACTION_AREA,
    ACTION_AGE,
    ACTION_SLOWDOWN,
    ACTION_PRIORITY,
    ACTION_KIND,
    ACTION_OF_FREE = ACTION_KIND + ADL_KIND_COUNT,
    ACTION_BANK_LEFT,
    ACTION_SPANS,
    ACTION_TYPES,
    ACTION_FREE_ELSEWHERE,
    ACTION_WANTED,
    ACTION_SHARED,
    ACTION_EQUALS,
    ACTION_DEADLINE,
    ACTION_COLUMNS,
};

static const uint8_t state_features[STATE_COLUMNS] = {
    [STATE_LAMBDA] = ADL_STATE_LAMBDA,
    [STATE_QUEUE] = ADL_STATE_QUEUE,
    [STATE_RUNNING] = ADL_STATE_RUNNING,
    [STATE_BUSY] = ADL_STATE_BUSY,
    [STATE_DOWN] = ADL_STATE_DOWN,
    [STATE_DEMAND] = ADL_STATE_DEMAND,
    [STATE_OLDEST] = ADL_STATE_OLDEST,
    [STATE_RESERVATION_IN] = ADL_STATE_RESERVATION_IN,
    [STATE_RESERVED_GPUS] = ADL_STATE_RESERVED_GPUS,
    [STATE_FREE_TYPES] = ADL_STATE_FREE_TYPES,
    [STATE_STARTS] = ADL_STATE_STARTS,
    [STATE_KIND] = ADL_STATE_KIND_TRAINING,
    ADL_STATE_KIND_INFERENCE,
    ADL_STATE_KIND_SIMULATION,
    ADL_STATE_KIND_DATA,
    [STATE_GANG] = ADL_STATE_GANG_1,
    ADL_STATE_GANG_2,
    ADL_STATE_GANG_4,
    ADL_STATE_GANG_8,
};

static const uint8_t action_features[ACTION_COLUMNS] = {
    [ACTION_WAIT] = ADL_ACTION_WAIT,
    [ACTION_REST_OF_BEST] = ADL_ACTION_REST_OF_BEST,
    [ACTION_REST] = ADL_ACTION_REST,
    [ACTION_GPUS] = ADL_ACTION_GPUS,
    [ACTION_GPUS_OF_NODE] = ADL_ACTION_GPUS_OF_NODE,
    [ACTION_AREA] = ADL_ACTION_AREA,
    [ACTION_AGE] = ADL_ACTION_AGE,
    [ACTION_SLOWDOWN] = ADL_ACTION_SLOWDOWN,
    [ACTION_PRIORITY] = ADL_ACTION_PRIORITY,
    [ACTION_KIND] = ADL_ACTION_KIND_TRAINING,
    ADL_ACTION_KIND_INFERENCE,
    ADL_ACTION_KIND_SIMULATION,
    ADL_ACTION_KIND_DATA,
    [ACTION_OF_FREE] = ADL_ACTION_OF_FREE,
    [ACTION_BANK_LEFT] = ADL_ACTION_BANK_LEFT,
    [ACTION_SPANS] = ADL_ACTION_SPANS,
    [ACTION_TYPES] = ADL_ACTION_TYPES,
    [ACTION_FREE_ELSEWHERE] = ADL_ACTION_FREE_ELSEWHERE,
    [ACTION_WANTED] = ADL_ACTION_WANTED,
    [ACTION_SHARED] = ADL_ACTION_SHARED,
    [ACTION_EQUALS] = ADL_ACTION_EQUALS,
    [ACTION_DEADLINE] = ADL_ACTION_DEADLINE,
};

uint32_t adl_plain_columns(enum adl_feature_row row)
{
    return row == ADL_ROW_STATE ? STATE_COLUMNS : row == ADL_ROW_ACTION ? ACTION_COLUMNS : 0;
}

enum adl_feature adl_plain_feature(enum adl_feature_row row, uint32_t column)
{
    if (column >= adl_plain_columns(row))
        return ADL_FEATURE_COUNT;
    return (enum adl_feature)(row == ADL_ROW_STATE ? state_features : action_features)[column];
}

static float share(double part, double whole)
{
    return whole > 0 ? (float)(part / whole) : 0.0f;
}

/* ---- the state ---- */

/* GPUs that waiting jobs ask for. */
struct demand {
    uint32_t gpus;
    uint32_t by_kind[ADL_KIND_COUNT];
    uint32_t by_gang[4]; /* of 1, 2 to 3, 4 to 7, more */
    uint32_t by_type[ADL_TYPES_MAX];
};

static void demand_of(const struct adl_state *state, struct demand *ret)
{
    *ret = (struct demand){0};
    for (uint32_t i = 0; i < state->queue.heap_count; i++) {
        const struct adl_lane *lane = &state->queue.lanes[state->queue.heap[i]];
        const uint32_t each = lane->shape.gpus, gpus = lane->jobs.count * each;
        ret->gpus += gpus;
        ret->by_kind[lane->shape.kind] += gpus;
        ret->by_gang[(each >= 2) + (each >= 4) + (each >= 8)] += gpus;
        for (uint32_t left = lane->shape.types; left; left &= left - 1)
            ret->by_type[__builtin_ctz(left)] += gpus;
    }
}

static void fill_state(const struct adl_state *state, const struct adl_actions *actions, const struct demand *demand,
                       float *row)
{
    const double gpus = state->cluster->gpu_count, typical_us = actions->typical_us;
    uint32_t free_types = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        free_types += state->pool.free_gpus[t] > 0;
    row[STATE_LAMBDA] = (float)actions->lambda;
    row[STATE_QUEUE] = share(state->queue.count, gpus);
    row[STATE_RUNNING] = share(state->running_jobs, gpus);
    row[STATE_BUSY] = share(state->busy_gpus, gpus);
    row[STATE_DOWN] = share(state->down_gpus, gpus);
    row[STATE_DEMAND] = share(demand->gpus, gpus);
    row[STATE_OLDEST] = actions->head == ADL_NONE
                            ? NAN
                            : share((double)(state->now_us - state->jobs[actions->head].submit_us), typical_us);
    row[STATE_RESERVATION_IN] =
        actions->has_reservation ? share((double)(actions->reservation.start_us - state->now_us), typical_us) : NAN;
    row[STATE_RESERVED_GPUS] = actions->has_reservation ? share(actions->reservation.gpus, gpus) : NAN;
    row[STATE_FREE_TYPES] = share(free_types, state->cluster->type_count);
    row[STATE_STARTS] = (float)actions->count;
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        row[STATE_KIND + k] = share(demand->by_kind[k], demand->gpus);
    for (int c = 0; c < 4; c++)
        row[STATE_GANG + c] = share(demand->by_gang[c], demand->gpus);
}

/* ---- actions ---- */

static void fill_place(const struct adl_state *state, const struct adl_action *action, const uint32_t *gpus, float *row)
{
    const struct adl_cluster *cluster = state->cluster;
    const uint32_t bank = cluster->gpu_bank[gpus[0]], node = cluster->banks[bank].node;
    const uint32_t free_here = adl_pool_bank_free(&state->pool, bank);
    const uint32_t taken = action->shared ? 0 : action->gpu_count < free_here ? action->gpu_count : free_here;
    row[ACTION_SPANS] = action->gpu_count > 1 && adl_gpu_node_of(cluster, gpus[action->gpu_count - 1]) != node;
    row[ACTION_GPUS_OF_NODE] = share(action->gpu_count, cluster->nodes[node].gpu_count);
    row[ACTION_OF_FREE] = action->shared ? NAN : share(action->gpu_count, state->pool.free_gpus[action->type]);
    row[ACTION_BANK_LEFT] = share(free_here - taken, cluster->banks[bank].gpu_count);
}

static bool free_elsewhere(const struct adl_state *state, const struct adl_action *action, uint32_t eligible)
{
    for (uint32_t left = eligible & ~(1u << action->type); left; left &= left - 1)
        if (state->pool.free_gpus[__builtin_ctz(left)] >= action->gpu_count)
            return true;
    return false;
}

static void fill_start(const struct adl_state *state, const struct adl_actions *actions, const struct demand *demand,
                       const struct adl_action *action, float *row)
{
    const struct adl_job *job = &state->jobs[action->job];
    const double age_us = (double)(state->now_us - job->submit_us), typical_us = actions->typical_us;
    row[ACTION_WAIT] = 0;
    row[ACTION_REST_OF_BEST] = share(action->rest_us, action->best_us);
    row[ACTION_REST] = share(action->rest_us, typical_us);
    row[ACTION_GPUS] = action->gpu_count;
    row[ACTION_AREA] = row[ACTION_REST] * action->gpu_count;
    row[ACTION_AGE] = share(age_us, typical_us);
    row[ACTION_SLOWDOWN] = 1.0f + share(age_us, action->best_us);
    row[ACTION_PRIORITY] = job->spec.priority;
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        row[ACTION_KIND + k] = job->spec.kind == k;
    row[ACTION_TYPES] = share(__builtin_popcount(job->eligible), state->cluster->type_count);
    row[ACTION_FREE_ELSEWHERE] = free_elsewhere(state, action, job->eligible);
    row[ACTION_WANTED] = share(demand->by_type[action->type], demand->gpus);
    row[ACTION_SHARED] = action->shared;
    row[ACTION_EQUALS] = (float)state->queue.lanes[job->lane].jobs.count;
    row[ACTION_DEADLINE] = job->spec.deadline_us ? share((double)job->spec.deadline_us - age_us, action->rest_us) : NAN;
    fill_place(state, action, &actions->gpus[action->gpu_offset], row);
}

void adl_plain_observation_raw(const struct adl_state *state, const struct adl_actions *actions,
                               struct adl_observation *ret)
{
    struct demand demand;
    demand_of(state, &demand);
    fill_state(state, actions, &demand, ret->state);
    for (uint32_t a = 0; a < actions->count; a++) {
        float *row = &ret->actions[(size_t)a * ACTION_COLUMNS];
        if (!actions->list[a].waits) {
            fill_start(state, actions, &demand, &actions->list[a], row);
            continue;
        }
        for (int c = 0; c < ACTION_COLUMNS; c++)
            row[c] = NAN;
        row[ACTION_WAIT] = 1;
    }
}

void adl_plain_observation_learn(struct adl_normalizer *normalizer, const struct adl_observation *raw, uint32_t actions)
{
    for (int c = 0; c < STATE_COLUMNS; c++)
        adl_normalizer_learn(normalizer, (enum adl_feature)state_features[c], (double)raw->state[c]);
    for (uint32_t a = 0; a < actions; a++)
        for (int c = 0; c < ACTION_COLUMNS; c++)
            adl_normalizer_learn(normalizer, (enum adl_feature)action_features[c],
                                 (double)raw->actions[(size_t)a * ACTION_COLUMNS + (size_t)c]);
}

/* Columns of actions whose range is not 0..1. */
static const uint8_t scaled[] = {ACTION_REST_OF_BEST, ACTION_REST,     ACTION_GPUS,   ACTION_GPUS_OF_NODE, ACTION_AREA,
                                 ACTION_AGE,          ACTION_SLOWDOWN, ACTION_EQUALS, ACTION_DEADLINE};

/* As adl_normalize of a column whose range is 0..1, and of one that was normalized. */
static float bounded(float value)
{
    return isnan(value) ? ADL_MISSING : value > 1.0f ? 1.0f : value;
}

static void normalize_start(const struct adl_normalizer *normalizer, float *row)
{
    for (size_t i = 0; i < sizeof scaled; i++)
        row[scaled[i]] = adl_normalize(normalizer, (enum adl_feature)action_features[scaled[i]], row[scaled[i]]);
    for (int c = 0; c < ACTION_COLUMNS; c++)
        row[c] = bounded(row[c]);
}

void adl_plain_observation_normalize(const struct adl_normalizer *normalizer, struct adl_observation *rows,
                                     uint32_t actions)
{
    for (int c = 0; c < STATE_COLUMNS; c++)
        rows->state[c] = adl_normalize(normalizer, (enum adl_feature)state_features[c], rows->state[c]);
    for (uint32_t a = 0; a < actions; a++)
        normalize_start(normalizer, &rows->actions[(size_t)a * ACTION_COLUMNS]);
}
