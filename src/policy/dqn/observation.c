#include "policy/dqn/observation.h"

#include "base/real.h"
#include "policy/dqn/plain_observation.h"
#include "predict/belief.h"

#include <math.h>
#include <string.h>

#define GPU_SIZE    (ADL_STATE_LAMBDA - ADL_GPU_BUSY)
#define STATE_SIZE  (ADL_ACTION_WAIT - ADL_STATE_LAMBDA)
#define ACTION_SIZE (ADL_FEATURE_COUNT - ADL_ACTION_WAIT)

struct adl_observation_shape adl_observation_shape(enum adl_observation_kind kind, const struct adl_cluster *cluster)
{
    if (kind == ADL_OBSERVATION_PAPER)
        return (struct adl_observation_shape){cluster->gpu_count, ADL_PAPER_GPU_FEATURES, ADL_PAPER_STATE_FEATURES, 1};
    if (kind == ADL_OBSERVATION_ACTIONS)
        return (struct adl_observation_shape){0, 1, STATE_SIZE, ACTION_SIZE};
    if (kind == ADL_OBSERVATION_PLAIN)
        return (struct adl_observation_shape){0, 1, adl_plain_columns(ADL_ROW_STATE),
                                              adl_plain_columns(ADL_ROW_ACTION)};
    return (struct adl_observation_shape){cluster->gpu_count, GPU_SIZE, STATE_SIZE, ACTION_SIZE};
}

static float share(double part, double whole)
{
    return whole > 0 ? (float)(part / whole) : 0.0f;
}

/* ---- GPUs ---- */

struct best {
    double compute, bandwidth, memory;
};

static double compute_of(const struct adl_gpu_type *type)
{
    return type->fp32_tflops + type->fp16_tflops;
}

static struct best best_of(const struct adl_cluster *cluster)
{
    struct best best = {0, 0, 0};
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const struct adl_gpu_type *type = &cluster->types[t];
        best.compute = compute_of(type) > best.compute ? compute_of(type) : best.compute;
        best.bandwidth = type->bandwidth_gbs > best.bandwidth ? type->bandwidth_gbs : best.bandwidth;
        best.memory = type->memory_mib > best.memory ? type->memory_mib : best.memory;
    }
    return best;
}

/* Features that all GPUs of a bank have in common. */
static void fill_bank(const struct adl_state *state, const struct adl_actions *actions, const struct best *best,
                      uint32_t index, float *ret)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_bank *bank = &cluster->banks[index];
    const struct adl_node *node = &cluster->nodes[bank->node];
    const struct adl_node_use *use = &state->nodes_use[bank->node];
    const struct adl_gpu_type *type = &cluster->types[bank->type];
    const struct adl_reservation *reservation = &actions->reservation;
    for (int f = 0; f < GPU_SIZE; f++)
        ret[f] = NAN;
    ret[ADL_GPU_COMPUTE] = share(compute_of(type), best->compute);
    ret[ADL_GPU_BANDWIDTH] = share(type->bandwidth_gbs, best->bandwidth);
    ret[ADL_GPU_MEMORY] = share(type->memory_mib, best->memory);
    ret[ADL_GPU_BANK_FREE] = share(adl_pool_bank_free(&state->pool, index), bank->gpu_count);
    ret[ADL_GPU_NODE_CORES] = share(use->free_cores, node->cpu_cores);
    ret[ADL_GPU_NODE_MEMORY] = share(use->free_memory_mib, node->memory_mib);
    ret[ADL_GPU_NODE_FIRST] = 0;
    ret[ADL_GPU_RESERVED] = actions->has_reservation && reservation->type == bank->type &&
                            (reservation->bank == ADL_NONE || reservation->bank == index);
}

/* The normalized value, or the raw one if there is no normalizer. */
static float put(const struct adl_normalizer *normalizer, enum adl_feature feature, float value)
{
    return normalizer ? adl_normalize(normalizer, feature, value) : value;
}

static void normalize_rows(const struct adl_normalizer *normalizer, float *rows, uint32_t count, int first, int size)
{
    for (uint32_t r = 0; r < count; r++)
        for (int f = 0; f < size; f++) {
            float *value = &rows[(size_t)r * (size_t)size + (size_t)f];
            *value = adl_normalize(normalizer, (enum adl_feature)(first + f), *value);
        }
}

static void fill_readings(const struct adl_normalizer *normalizer, const struct adl_state *state, uint32_t gpu,
                          float *ret)
{
    const int64_t at_us = state->telemetry_us[gpu];
    if (at_us == INT64_MIN)
        return;
    const struct adl_telemetry *telemetry = &state->telemetry[gpu];
    const float limit_w = (float)state->cluster->types[adl_gpu_type_of(state->cluster, gpu)].max_w;
    for (int r = 0; r < ADL_READ_COUNT; r++) {
        const int f = ADL_GPU_READ_UTILIZATION + r;
        if (!(telemetry->missing >> r & 1) && state->now_us - at_us <= adl_feature_table[f].stale_s * INT64_C(1000000))
            ret[f] = put(normalizer, (enum adl_feature)f,
                         r == ADL_READ_POWER ? telemetry->value[r] / limit_w : telemetry->value[r]);
    }
}

static void fill_gpu(const struct adl_normalizer *normalizer, const struct adl_state *state, double typical_us,
                     uint32_t gpu, float *ret)
{
    const struct adl_gpu_use *use = &state->gpus[gpu];
    ret[ADL_GPU_BUSY] = use->job[0] != ADL_NONE;
    ret[ADL_GPU_DOWN] = use->down;
    ret[ADL_GPU_SHARED] = use->job[1] != ADL_NONE;
    if (use->job[0] != ADL_NONE) {
        const struct adl_job *job = &state->jobs[use->job[0]];
        ret[ADL_GPU_LEFT] =
            put(normalizer, ADL_GPU_LEFT, share((double)(job->expected_us - state->now_us), typical_us));
        ret[ADL_GPU_HELD] = put(normalizer, ADL_GPU_HELD, share((double)(state->now_us - job->start_us), typical_us));
        ret[ADL_GPU_GANG] = put(normalizer, ADL_GPU_GANG, job->spec.gpus);
    }
    fill_readings(normalizer, state, gpu, ret);
}

/* Flags are the same raw and normalized; the common features of a bank are normalized once. */
static void fill_gpus(const struct adl_normalizer *normalizer, const struct adl_state *state,
                      const struct adl_actions *actions, float *ret)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct best best = best_of(cluster);
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        float common[GPU_SIZE];
        const struct adl_bank *bank = &cluster->banks[b];
        fill_bank(state, actions, &best, b, common);
        if (normalizer)
            normalize_rows(normalizer, common, 1, ADL_GPU_BUSY, GPU_SIZE);
        for (uint32_t g = bank->gpu_first; g < bank->gpu_first + bank->gpu_count; g++) {
            float *row = &ret[(size_t)g * GPU_SIZE];
            for (int f = 0; f < GPU_SIZE; f++)
                row[f] = common[f];
            row[ADL_GPU_NODE_FIRST] = g == cluster->nodes[bank->node].gpu_first;
            fill_gpu(normalizer, state, actions->typical_us, g, row);
        }
    }
}

/* ---- the state ---- */

/* Demand of all waiting jobs. Wide are gangs of WIDE GPUs or more, which are hard to place. */
#define WIDE       4
#define SAMPLE_MAX 1024 /* jobs whose ages and times are summed up, at most */

struct demand {
    double gpus;
    double jobs, ages_us, ages_us2, work_us; /* of the jobs sampled; work in GPU us */
    double wide_work_us;
    double by_kind[ADL_KIND_COUNT];
    double by_gang[4];
    double by_type[ADL_TYPES_MAX];
};

static int gang_class(uint32_t gpus)
{
    return gpus < 2 ? 0 : gpus < 4 ? 1 : gpus < 8 ? 2 : 3;
}

static void add_ages(const struct adl_state *state, const struct adl_lane *lane, struct demand *demand)
{
    const double gpus = lane->shape.gpus;
    for (uint32_t slot = lane->jobs.first; slot != ADL_NONE && demand->jobs < SAMPLE_MAX;
         slot = state->nodes[slot].next) {
        const double age_us = (double)(state->now_us - state->jobs[slot].submit_us);
        const double work_us = gpus * (double)state->nodes[slot].weight;
        demand->jobs++;
        demand->ages_us += age_us;
        demand->ages_us2 += age_us * age_us;
        demand->work_us += work_us;
        demand->wide_work_us += lane->shape.gpus >= WIDE ? work_us : 0;
    }
}

/* Lane by lane. */
static struct demand demand_of(const struct adl_state *state)
{
    struct demand demand = {.gpus = 0};
    for (uint32_t i = 0; i < state->queue.heap_count; i++) {
        const struct adl_lane *lane = &state->queue.lanes[state->queue.heap[i]];
        const double gpus = (double)lane->jobs.count * lane->shape.gpus;
        demand.gpus += gpus;
        add_ages(state, lane, &demand);
        demand.by_kind[lane->shape.kind] += gpus;
        demand.by_gang[gang_class(lane->shape.gpus)] += gpus;
        for (uint32_t left = state->jobs[lane->jobs.first].eligible; left; left &= left - 1)
            demand.by_type[__builtin_ctz(left)] += gpus;
    }
    return demand;
}

static uint32_t types_with_free_gpus(const struct adl_state *state)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        count += state->pool.free_gpus[t] > 0;
    return count;
}

static void fill_state(const struct adl_state *state, const struct adl_actions *actions, const struct demand *demand,
                       float *row)
{
    const double gpus = state->cluster->gpu_count, typical_us = actions->typical_us;
    row[ADL_STATE_LAMBDA] = (float)actions->lambda;
    row[ADL_STATE_QUEUE] = share(state->queue.count, gpus);
    row[ADL_STATE_RUNNING] = share(state->running_jobs, gpus);
    row[ADL_STATE_BUSY] = share(state->busy_gpus, gpus);
    row[ADL_STATE_DOWN] = share(state->down_gpus, gpus);
    row[ADL_STATE_DEMAND] = share(demand->gpus, gpus);
    row[ADL_STATE_WORK] = share(demand->work_us, gpus * typical_us);
    row[ADL_STATE_WORK_WIDE] = share(demand->wide_work_us, gpus * typical_us);
    row[ADL_STATE_OLDEST] = actions->head == ADL_NONE
                                ? NAN
                                : share((double)(state->now_us - state->jobs[actions->head].submit_us), typical_us);
    row[ADL_STATE_AGE_MEAN] = share(demand->ages_us, demand->jobs * typical_us);
    row[ADL_STATE_AGE_RMS] = share((double)sqrtf(share(demand->ages_us2, demand->jobs)), typical_us);
    row[ADL_STATE_RESERVATION_IN] =
        actions->has_reservation ? share((double)(actions->reservation.start_us - state->now_us), typical_us) : NAN;
    row[ADL_STATE_RESERVED_GPUS] = actions->has_reservation ? share(actions->reservation.gpus, gpus) : NAN;
    row[ADL_STATE_FREE_TYPES] = share(types_with_free_gpus(state), state->cluster->type_count);
    row[ADL_STATE_STARTS] = (float)actions->count;
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        row[ADL_STATE_KIND_TRAINING + k] = share(demand->by_kind[k], demand->gpus);
    for (int c = 0; c < 4; c++)
        row[ADL_STATE_GANG_1 + c] = share(demand->by_gang[c], demand->gpus);
}

/* ---- actions ---- */

/* Features of a start's GPUs: what stays free of their bank and node, and whether they span nodes. */
static void fill_place(const struct adl_state *state, const struct adl_action *action, const uint32_t *gpus, float *row)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_job_spec *spec = &state->jobs[action->job].spec;
    const uint32_t bank = cluster->gpu_bank[gpus[0]], node = cluster->banks[bank].node;
    const struct adl_node *its_node = &cluster->nodes[node];
    const double cores_share = share(its_node->cpu_cores, its_node->gpu_count);
    const double memory_share = share(its_node->memory_mib, its_node->gpu_count);
    const bool spans = adl_gpu_node_of(cluster, gpus[action->gpu_count - 1]) != node;
    const uint32_t free_here = adl_pool_bank_free(&state->pool, bank);
    const uint32_t taken = action->shared ? 0 : action->gpu_count < free_here ? action->gpu_count : free_here;
    const double cores_left = state->nodes_use[node].free_cores - (double)spec->cpu_cores * taken;
    row[ADL_ACTION_SPANS] = spans;
    row[ADL_ACTION_GPUS_OF_NODE] = share(action->gpu_count, its_node->gpu_count);
    row[ADL_ACTION_OF_FREE] = action->shared ? NAN : share(action->gpu_count, state->pool.free_gpus[action->type]);
    row[ADL_ACTION_BANK_LEFT] = share(free_here - taken, cluster->banks[bank].gpu_count);
    row[ADL_ACTION_CORES] = share(spec->cpu_cores, cores_share);
    row[ADL_ACTION_MEMORY] = share(spec->memory_mib, memory_share);
    row[ADL_ACTION_GPU_MEMORY] = share(spec->gpu_memory_mib, cluster->types[action->type].memory_mib);
    row[ADL_ACTION_CORES_LEFT] = free_here > taken ? share(cores_left / (double)(free_here - taken), cores_share) : NAN;
}

static bool free_elsewhere(const struct adl_state *state, const struct adl_action *action)
{
    for (uint32_t left = state->jobs[action->job].eligible & ~(1u << action->type); left; left &= left - 1)
        if (state->pool.free_gpus[__builtin_ctz(left)] >= action->gpu_count)
            return true;
    return false;
}

/* How much longer than usual the run may be: its quantile of 0.9 over its median. */
static float longest(const struct adl_state *state, uint32_t slot)
{
    if (!state->belief)
        return NAN;
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    return share(adl_belief_quantile_us(state->belief, slot, done_us, 0.9),
                 adl_belief_quantile_us(state->belief, slot, done_us, 0.5));
}

/* What holds of the start, and of the wait that is like it. */
static void fill_rates(const struct adl_actions *actions, const struct adl_action *action, float *row)
{
    const double best_rate = actions->list[0].rate, here = action->rest_us / action->best_us;
    row[ADL_ACTION_WAIT] = action->waits;
    row[ADL_ACTION_PLANNED] = action->planned;
    row[ADL_ACTION_RATE_OF_BEST] = share(action->rate, best_rate);
    row[ADL_ACTION_COST_OF_LEAST] = share(action->cost_us, action->least_cost_us);
    row[ADL_ACTION_REST_OF_BEST] = (float)here;
    row[ADL_ACTION_ADVANTAGE] = (float)(here / adl_exp(actions->slower[action->type]));
    row[ADL_ACTION_RATE] = (float)(action->rate * actions->typical_us);
}

static void fill_job(const struct adl_state *state, const struct adl_actions *actions, const struct adl_action *action,
                     float *row)
{
    const struct adl_job *job = &state->jobs[action->job];
    const double age_us = (double)(state->now_us - job->submit_us), typical_us = actions->typical_us;
    const struct adl_order *equals = &state->queue.lanes[job->lane].jobs;
    row[ADL_ACTION_REST] = share(action->rest_us, typical_us);
    row[ADL_ACTION_LONGEST] = longest(state, action->job);
    row[ADL_ACTION_GPUS] = job->spec.gpus;
    row[ADL_ACTION_AREA] = share(action->rest_us * job->spec.gpus, typical_us);
    row[ADL_ACTION_AGE] = share(age_us, typical_us);
    row[ADL_ACTION_SLOWDOWN] = 1.0f + share(age_us, action->best_us);
    row[ADL_ACTION_PRIORITY] = job->spec.priority;
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        row[ADL_ACTION_KIND_TRAINING + k] = job->spec.kind == k;
    row[ADL_ACTION_TYPES] = share(__builtin_popcount(job->eligible), state->cluster->type_count);
    row[ADL_ACTION_FREE_ELSEWHERE] = free_elsewhere(state, action);
    row[ADL_ACTION_SHARED] = action->shared;
    row[ADL_ACTION_EQUALS] = (float)equals->count;
    row[ADL_ACTION_DEADLINE] =
        job->spec.deadline_us ? share((double)job->spec.deadline_us - age_us, action->rest_us) : NAN;
}

static void fill_action(const struct adl_state *state, const struct adl_actions *actions, const struct demand *demand,
                        const struct adl_action *action, float *row)
{
    for (int f = ADL_ACTION_WAIT; f < ADL_FEATURE_COUNT; f++)
        row[f] = NAN;
    fill_rates(actions, action, row);
    if (action->waits)
        return;
    fill_job(state, actions, action, row);
    fill_place(state, action, &actions->gpus[action->gpu_offset], row);
    row[ADL_ACTION_WANTED] = share(demand->by_type[action->type], demand->gpus);
    row[ADL_ACTION_PRICE] = (float)actions->outlook.prices.of[action->type];
}

static void fill(const struct adl_normalizer *normalizer, const struct adl_state *state,
                 const struct adl_actions *actions, struct adl_observation *ret)
{
    const struct demand demand = demand_of(state);
    float row[ADL_FEATURE_COUNT]; /* indexed by feature */
    if (ret->gpus)
        fill_gpus(normalizer, state, actions, ret->gpus);
    fill_state(state, actions, &demand, row);
    memcpy(ret->state, &row[ADL_STATE_LAMBDA], STATE_SIZE * sizeof *row);
    for (uint32_t c = 0; c < actions->count; c++) {
        fill_action(state, actions, &demand, &actions->list[c], row);
        memcpy(&ret->actions[(size_t)c * ACTION_SIZE], &row[ADL_ACTION_WAIT], ACTION_SIZE * sizeof *row);
    }
}

void adl_observation_raw(const struct adl_state *state, const struct adl_actions *actions, struct adl_observation *ret)
{
    fill(NULL, state, actions, ret);
}

void adl_observation_fill(const struct adl_normalizer *normalizer, const struct adl_state *state,
                          const struct adl_actions *actions, struct adl_observation *ret)
{
    fill(normalizer, state, actions, ret);
    normalize_rows(normalizer, ret->state, 1, ADL_STATE_LAMBDA, STATE_SIZE);
    normalize_rows(normalizer, ret->actions, actions->count, ADL_ACTION_WAIT, ACTION_SIZE);
}

static void learn_rows(struct adl_normalizer *normalizer, const float *rows, uint32_t count, int first, int size)
{
    for (uint32_t r = 0; r < count; r++)
        for (int f = 0; f < size; f++)
            adl_normalizer_learn(normalizer, (enum adl_feature)(first + f),
                                 (double)rows[(size_t)r * (size_t)size + (size_t)f]);
}

void adl_observation_learn(struct adl_normalizer *normalizer, const struct adl_observation *raw, uint32_t gpus,
                           uint32_t actions)
{
    learn_rows(normalizer, raw->gpus, gpus, ADL_GPU_BUSY, GPU_SIZE);
    learn_rows(normalizer, raw->state, 1, ADL_STATE_LAMBDA, STATE_SIZE);
    learn_rows(normalizer, raw->actions, actions, ADL_ACTION_WAIT, ACTION_SIZE);
}

void adl_observation_normalize(const struct adl_normalizer *normalizer, struct adl_observation *rows, uint32_t gpus,
                               uint32_t actions)
{
    normalize_rows(normalizer, rows->gpus, gpus, ADL_GPU_BUSY, GPU_SIZE);
    normalize_rows(normalizer, rows->state, 1, ADL_STATE_LAMBDA, STATE_SIZE);
    normalize_rows(normalizer, rows->actions, actions, ADL_ACTION_WAIT, ACTION_SIZE);
}

void adl_observation_paper(const struct adl_observation *rows, uint32_t gpus, struct adl_observation *ret)
{
    for (uint32_t g = 0; g < gpus; g++) {
        const float *row = &rows->gpus[(size_t)g * GPU_SIZE];
        const float measured = row[ADL_GPU_READ_UTILIZATION];
        ret->gpus[g] = measured >= 0 ? measured : row[ADL_GPU_BUSY];
    }
    ret->state[0] = rows->state[ADL_STATE_QUEUE - ADL_STATE_LAMBDA];
    ret->state[1] = rows->actions[ADL_ACTION_PRIORITY - ADL_ACTION_WAIT];
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        ret->state[2 + k] = rows->actions[ADL_ACTION_KIND_TRAINING - ADL_ACTION_WAIT + k];
    ret->actions[0] = 0;
}
