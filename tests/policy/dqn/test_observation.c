/* Sight: what a network sees is bounded, says what the state says, and tells a gap from a 0. On random worlds with
 * telemetry, faults and sharing. */
#include "action_driver.h"
#include "policy/dqn/observation.h"

#include <math.h>

#include <cmocka.h>

#define WORLDS   40
#define JOBS     60
#define GPUS_MAX 128

enum { GPU_SIZE = ADL_STATE_LAMBDA, STATE_SIZE = ADL_ACTION_WAIT - ADL_STATE_LAMBDA };
enum { ACTION_SIZE = ADL_FEATURE_COUNT - ADL_ACTION_WAIT };

static float gpu_rows[GPUS_MAX * GPU_SIZE], state_row[STATE_SIZE], choice_rows[ADL_ACTIONS_MAX * ACTION_SIZE];
static struct adl_observation rows = {gpu_rows, state_row, choice_rows};
static struct adl_normalizer normalizer;
static uint64_t seen[ADL_FEATURE_COUNT], missing[ADL_FEATURE_COUNT];

static void look_at(const struct adl_state *state, const struct adl_actions *actions)
{
    assert_true(state->cluster->gpu_count <= GPUS_MAX);
    adl_observation_raw(state, actions, &rows);
}

static void for_random_worlds(void (*visit)(const struct adl_state *, const struct adl_actions *, uint32_t))
{
    driver_visit = visit;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        driver_run(&scenario, seed, NULL);
        adl_scenario_clear(&scenario);
    }
}

static void check_rows(const float *row, uint32_t count, int first, int size)
{
    for (uint32_t r = 0; r < count; r++)
        for (int f = 0; f < size; f++) {
            const float value = row[(size_t)r * (size_t)size + (size_t)f];
            const struct adl_feature_info *info = &adl_feature_table[first + f];
            if (value == ADL_MISSING) {
                missing[first + f]++;
                continue;
            }
            if (!(value >= 0 && value <= 1) || (info->transform == ADL_TRANSFORM_FLAG && value != 0 && value != 1))
                fail_msg("%s is %g", info->name, (double)value);
            seen[first + f]++;
        }
}

static void check_bounds(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    if (actions->count == 0)
        return;
    look_at(state, actions);
    adl_observation_normalize(&normalizer, &rows, state->cluster->gpu_count, actions->count);
    check_rows(gpu_rows, state->cluster->gpu_count, 0, GPU_SIZE);
    check_rows(state_row, 1, ADL_STATE_LAMBDA, STATE_SIZE);
    check_rows(choice_rows, actions->count, ADL_ACTION_WAIT, ACTION_SIZE);
}

/* Seen at once, and raw and then normalized, into buffers that held other things before. */
static void compare_ways(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    if (actions->count == 0)
        return;
    static float gpus[GPUS_MAX * GPU_SIZE], row[STATE_SIZE], action[ADL_ACTIONS_MAX * ACTION_SIZE];
    struct adl_observation at_once = {gpus, row, action};
    memset(gpus, 0x55, sizeof gpus);
    memset(row, 0x55, sizeof row);
    memset(action, 0x55, sizeof action);
    adl_observation_fill(&normalizer, state, actions, &at_once);
    look_at(state, actions);
    adl_observation_normalize(&normalizer, &rows, state->cluster->gpu_count, actions->count);
    assert_memory_equal(gpus, gpu_rows, state->cluster->gpu_count * GPU_SIZE * sizeof *gpus);
    assert_memory_equal(row, state_row, sizeof row);
    assert_memory_equal(action, choice_rows, actions->count * ACTION_SIZE * sizeof *action);
}

static void learn(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    if (actions->count == 0)
        return;
    look_at(state, actions);
    adl_observation_learn(&normalizer, &rows, state->cluster->gpu_count, actions->count);
}

static void every_value_is_from_0_to_1_or_missing(void **state)
{
    (void)state;
    adl_normalizer_init(&normalizer);
    driver_guard = 1; /* some jobs are overdue and hold reservations */
    for_random_worlds(check_bounds);
    for_random_worlds(learn);
    adl_normalizer_settle(&normalizer);
    memset(seen, 0, sizeof seen);
    memset(missing, 0, sizeof missing);
    for_random_worlds(check_bounds);
    /* The simulator reads what every driver gives, and whether it throttles; what is finer comes from other worlds
     * (test_normalize). */
    for (int f = 0; f < ADL_FEATURE_COUNT; f++) {
        const bool fine = f > ADL_GPU_READ_CLOCK && f < ADL_GPU_READ_THROTTLED;
        if ((seen[f] == 0) != fine)
            fail_msg("%s was seen %llu times", adl_feature_table[f].name, (unsigned long long)seen[f]);
    }
    driver_guard = 0;
    assert_true(missing[ADL_GPU_READ_UTILIZATION] > 0 && missing[ADL_GPU_LEFT] > 0);
    assert_int_equal(missing[ADL_GPU_BUSY], 0);
    assert_int_equal(missing[ADL_ACTION_WAIT], 0);
}

static void what_is_seen_at_once_is_bit_for_bit_what_is_raw_and_then_normalized(void **state)
{
    (void)state;
    adl_normalizer_init(&normalizer);
    for_random_worlds(compare_ways);
    for_random_worlds(learn);
    adl_normalizer_settle(&normalizer);
    for_random_worlds(compare_ways);
}

static float choice_value(uint32_t c, int feature)
{
    return choice_rows[c * (uint32_t)ACTION_SIZE + (uint32_t)(feature - ADL_ACTION_WAIT)];
}

static float state_value(int feature)
{
    return state_row[feature - ADL_STATE_LAMBDA];
}

/* Job by job, of all slots: the worlds are smaller than what is summed up of a long queue. */
static void compare_ages(const struct adl_state *state, double typical_us)
{
    double jobs = 0, ages_us = 0, ages_us2 = 0, work = 0, wide_work = 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++) {
        const struct adl_job *job = &state->jobs[slot];
        if (job->phase != ADL_PHASE_PENDING)
            continue;
        const double age_us = (double)(state->now_us - job->submit_us);
        const double its_work = (double)state->nodes[slot].weight * job->spec.gpus;
        jobs += 1;
        ages_us += age_us;
        ages_us2 += age_us * age_us;
        work += its_work;
        wide_work += job->spec.gpus >= 4 ? its_work : 0;
    }
    const double gpus = state->cluster->gpu_count;
    const struct {
        int feature;
        double value;
    } expected[] = {{ADL_STATE_WORK, work / gpus / typical_us},
                    {ADL_STATE_WORK_WIDE, wide_work / gpus / typical_us},
                    {ADL_STATE_AGE_MEAN, ages_us / jobs / typical_us},
                    {ADL_STATE_AGE_RMS, sqrt(ages_us2 / jobs) / typical_us},
                    {ADL_STATE_QUEUE, jobs / gpus}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const double value = (double)state_value(expected[i].feature);
        if (fabs(value - expected[i].value) > 1e-5 * (1 + expected[i].value))
            fail_msg("%s is %g instead of %g", adl_feature_table[expected[i].feature].name, value, expected[i].value);
    }
}

static void compare_with_state(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    if (actions->count == 0)
        return;
    const uint32_t gpus = state->cluster->gpu_count;
    uint32_t busy = 0, down = 0;
    look_at(state, actions);
    for (uint32_t g = 0; g < gpus; g++) {
        const float *row = &gpu_rows[g * GPU_SIZE];
        const struct adl_gpu_use *use = &state->gpus[g];
        assert_int_equal(row[ADL_GPU_BUSY] > 0, use->job[0] != ADL_NONE);
        assert_int_equal(row[ADL_GPU_SHARED] > 0, use->job[1] != ADL_NONE);
        assert_int_equal(row[ADL_GPU_DOWN] > 0, use->down);
        assert_int_equal(isnan(row[ADL_GPU_GANG]), use->job[0] == ADL_NONE);
        busy += use->job[0] != ADL_NONE;
        down += use->down;
    }
    compare_ages(state, actions->typical_us);
    assert_true(fabsf(state_value(ADL_STATE_BUSY) - (float)busy / (float)gpus) < 1e-6f);
    assert_true(fabsf(state_value(ADL_STATE_DOWN) - (float)down / (float)gpus) < 1e-6f);
    assert_true(state_value(ADL_STATE_LAMBDA) == (float)actions->lambda);
    for (uint32_t c = 0; c < actions->count; c++) {
        const struct adl_action *action = &actions->list[c];
        const struct adl_job *job = &state->jobs[action->job];
        assert_int_equal(choice_value(c, ADL_ACTION_WAIT) > 0, action->waits);
        if (action->waits) {
            assert_true(isnan(choice_value(c, ADL_ACTION_GPUS)));
            continue;
        }
        const double rest = (double)choice_value(c, ADL_ACTION_REST) * actions->typical_us;
        assert_true(action->rest_us > 0 && fabs(rest / action->rest_us - 1) < 1e-5);
        assert_true(choice_value(c, ADL_ACTION_GPUS) == (float)job->spec.gpus);
        assert_true(choice_value(c, ADL_ACTION_COST_OF_LEAST) >= 1);
        assert_true(choice_value(c, ADL_ACTION_RATE_OF_BEST) <= 1);
        assert_true(choice_value(c, ADL_ACTION_KIND_TRAINING + job->spec.kind) == 1);
        assert_int_equal(choice_value(c, ADL_ACTION_SHARED) > 0, action->shared);
        assert_int_equal(isnan(choice_value(c, ADL_ACTION_DEADLINE)), job->spec.deadline_us == 0);
    }
}

static void rows_say_what_the_state_says(void **state)
{
    (void)state;
    for_random_worlds(compare_with_state);
}

static void check_paper(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    if (actions->count == 0)
        return;
    float gpus[GPUS_MAX], row[ADL_PAPER_STATE_FEATURES], none[1];
    struct adl_observation paper = {gpus, row, none};
    const struct adl_observation_shape shape = adl_observation_shape(ADL_OBSERVATION_PAPER, state->cluster);
    assert_true(shape.gpus == state->cluster->gpu_count && shape.gpu_features == 1);
    assert_int_equal(shape.state_features, ADL_PAPER_STATE_FEATURES);
    look_at(state, actions);
    adl_observation_normalize(&normalizer, &rows, state->cluster->gpu_count, actions->count);
    adl_observation_paper(&rows, state->cluster->gpu_count, &paper);
    for (uint32_t g = 0; g < shape.gpus; g++) {
        const bool read = gpu_rows[g * GPU_SIZE + ADL_GPU_READ_UTILIZATION] >= 0;
        assert_true(gpus[g] >= 0 && gpus[g] <= 1);
        assert_true(read || gpus[g] == (state->gpus[g].job[0] != ADL_NONE ? 1.0f : 0.0f));
    }
    float kinds = 0;
    for (int f = 0; f < ADL_PAPER_STATE_FEATURES; f++) {
        assert_true(row[f] >= 0 && row[f] <= 1);
        kinds += f >= 2 ? row[f] : 0;
    }
    assert_true(kinds == 1);
}

static void the_papers_observation_is_utilization_queue_priority_and_one_kind(void **state)
{
    (void)state;
    adl_normalizer_init(&normalizer);
    for_random_worlds(check_paper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_from_0_to_1_or_missing),
        cmocka_unit_test(what_is_seen_at_once_is_bit_for_bit_what_is_raw_and_then_normalized),
        cmocka_unit_test(rows_say_what_the_state_says),
        cmocka_unit_test(the_papers_observation_is_utilization_queue_priority_and_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
