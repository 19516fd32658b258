/* Normalization: features are bounded, a gap is never a 0, quartiles are those of the data, and what is written comes
 * back bit for bit. `test_normalize tables` prints the tables of docs/features.md. */
#include "action_driver.h"
#include "policy/dqn/normalize.h"
#include "policy/dqn/observation.h"

#include <math.h>

#include <cmocka.h>

#define TEXT_OF(number) #number
#define TEXT(macro)     TEXT_OF(macro)
#define SCHEMA          "schema " TEXT(ADL_SCHEMA_VERSION)

/* ---- single values ---- */

static void a_feature_is_bounded_rises_with_its_value_and_missing_is_never_0(void **state)
{
    (void)state;
    struct adl_normalizer n;
    adl_normalizer_init(&n);
    for (int f = 0; f < ADL_FEATURE_COUNT; f++) {
        const struct adl_feature_info *info = &adl_feature_table[f];
        const enum adl_feature feature = (enum adl_feature)f;
        const float values[] = {-INFINITY,  -1e30f, info->low, (info->low + info->high) / 2,
                                info->high, 1e30f,  INFINITY};
        float last = 0;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            const float y = adl_normalize(&n, feature, values[i]);
            if (!(y >= last && y <= 1))
                fail_msg("%s: %g gives %g after %g", info->name, (double)values[i], (double)y, (double)last);
            last = y;
        }
        assert_true(adl_normalize(&n, feature, info->low) < 1e-3f);
        assert_true(adl_normalize(&n, feature, info->high) > 1 - 1e-3f);
        assert_true(adl_normalize(&n, feature, NAN) == ADL_MISSING);
    }
    assert_true(ADL_MISSING < 0);
}

static void rows_are_consecutive_and_make_up_all_features(void **state)
{
    (void)state;
    int next = 0;
    for (int row = 0; row < ADL_ROW_COUNT; row++) {
        assert_int_equal(adl_row_first((enum adl_feature_row)row), next);
        next += adl_row_size((enum adl_feature_row)row);
        for (int f = adl_row_first((enum adl_feature_row)row); f < next; f++)
            assert_int_equal(adl_feature_table[f].row, row);
    }
    assert_int_equal(next, ADL_FEATURE_COUNT);
    for (int f = 0; f < ADL_FEATURE_COUNT; f++)
        for (int g = 0; g < f; g++)
            assert_string_not_equal(adl_feature_table[f].name, adl_feature_table[g].name);
}

static void the_rough_logarithm_is_the_logarithm_to_a_thousandth(void **state)
{
    (void)state;
    for (double x = 1e-6; x < 1e12; x *= 1.003)
        assert_true(fabs((double)adl_log2_rough((float)x) - log2(x)) < 1e-3);
}

/* ---- quartiles ---- */

#define VALUES 20000

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Log-normal ages of days to seconds; one in ten is missing. */
static void learn_random(struct adl_normalizer *n, uint64_t seed, enum adl_feature feature, double *ret_values,
                         size_t *ret_count)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "values");
    *ret_count = 0;
    for (int i = 0; i < VALUES; i++) {
        const double value = exp(3 + 1.5 * adl_rng_normal(&rng));
        adl_normalizer_learn(n, feature, i % 10 ? value : NAN);
        if (i % 10)
            ret_values[(*ret_count)++] = value;
    }
    qsort(ret_values, *ret_count, sizeof *ret_values, by_size);
}

static void quartiles_of_a_stream_are_near_the_exact_ones(void **state)
{
    (void)state;
    static double values[VALUES];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct adl_normalizer n;
        size_t count;
        adl_normalizer_init(&n);
        learn_random(&n, seed, ADL_ACTION_REST, values, &count);
        const struct adl_quartiles *q = &n.quartiles[ADL_ACTION_REST];
        assert_int_equal(q->count, count);
        for (int i = 1; i < 4; i++) {
            const double exact = log2(values[count * (size_t)i / 4]);
            if (fabs(q->height[i] - exact) > 0.05)
                fail_msg("seed %llu: quartile %d is %g, exactly %g", (unsigned long long)seed, i, q->height[i], exact);
        }
        /* Half of all lies within half a quartile range or so of the median: 1/16 of the scale. */
        adl_normalizer_settle(&n);
        const float low = adl_normalize(&n, ADL_ACTION_REST, (float)values[count / 4]);
        const float high = adl_normalize(&n, ADL_ACTION_REST, (float)values[count * 3 / 4]);
        assert_true(fabsf(adl_normalize(&n, ADL_ACTION_REST, (float)values[count / 2]) - 0.5f) < 0.01f);
        assert_true(fabsf(high - low - 0.125f) < 0.01f);
    }
}

static void features_with_a_range_of_their_own_learn_nothing(void **state)
{
    (void)state;
    struct adl_normalizer n, untouched;
    adl_normalizer_init(&n);
    adl_normalizer_init(&untouched);
    for (int i = 0; i < 100; i++)
        adl_normalizer_learn(&n, ADL_STATE_BUSY, i * 0.01);
    adl_normalizer_settle(&n);
    assert_memory_equal(&n, &untouched, sizeof n);
}

static void a_feature_that_never_varied_is_scaled_all_the_same(void **state)
{
    (void)state;
    struct adl_normalizer n;
    adl_normalizer_init(&n);
    for (int i = 0; i < 100; i++)
        adl_normalizer_learn(&n, ADL_ACTION_AGE, 7);
    adl_normalizer_settle(&n);
    assert_true(fabsf(adl_normalize(&n, ADL_ACTION_AGE, 7) - 0.5f) < 1e-3f);
    assert_true(adl_normalize(&n, ADL_ACTION_AGE, 8) == 1.0f);
}

/* ---- as text ---- */

static struct adl_normalizer taught(void)
{
    static double values[VALUES];
    struct adl_normalizer n;
    size_t count;
    adl_normalizer_init(&n);
    for (int f = 0; f < ADL_FEATURE_COUNT; f++)
        learn_random(&n, (uint64_t)f, (enum adl_feature)f, values, &count);
    adl_normalizer_settle(&n);
    return n;
}

static void what_is_written_is_read_back_bit_for_bit(void **state)
{
    (void)state;
    char text[ADL_NORMALIZER_TEXT_MAX], again_text[ADL_NORMALIZER_TEXT_MAX];
    struct adl_normalizer n = taught(), again;
    struct adl_error err;
    const size_t size = adl_normalizer_encode(&n, text, sizeof text);
    assert_true(size < sizeof text);
    assert_int_equal(adl_normalizer_decode(&again, text, size, &err), 0);
    assert_memory_equal(again.offset, n.offset, sizeof n.offset);
    assert_memory_equal(again.scale, n.scale, sizeof n.scale);
    assert_int_equal(adl_normalizer_encode(&again, again_text, sizeof again_text), size);
    assert_memory_equal(again_text, text, size);
}

static void refused(const char *text, const char *part)
{
    struct adl_normalizer n, before;
    struct adl_error err = {.text = ""};
    memset(&n, 0x5a, sizeof n);
    memcpy(&before, &n, sizeof n);
    assert_int_equal(adl_normalizer_decode(&n, text, strlen(text), &err), ADL_EINVAL);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" should speak of: %s", err.text, part);
    assert_memory_equal(&n, &before, sizeof n);
}

static void another_schema_and_garbage_are_refused_with_a_message(void **state)
{
    (void)state;
    char long_line[300];
    memset(long_line, 'x', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = 0;
    refused("schema 999\n", "schema 999, this program has schema");
    refused(SCHEMA "x\n", "this program has schema");
    refused("", "first line must be its schema");
    refused("rest_of_typical 1 2 3\n", "first line must be its schema");
    refused(SCHEMA "\nnonsense 1 2 3\n", "\"nonsense 1 2 3\" names no feature");
    refused(SCHEMA "\ngpu_busy 1 2 3\n", "names no feature that is scaled by its spread");
    refused(SCHEMA "\nrest_of_typical 1 2\n", "rest_of_typical wants three quartiles");
    refused(SCHEMA "\nrest_of_typical 3 2 1\n", "rest_of_typical wants three quartiles in rising order");
    refused(SCHEMA "\nrest_of_typical 1 nan 3\n", "rest_of_typical wants three quartiles");
    refused(SCHEMA "\nrest_of_typical 1 2 3 4\n", "follows the quartiles of rest_of_typical");
    refused(long_line, "a line of 299 characters");
}

/* ---- telemetry, from the event to the row ---- */

#define READ_AT_US  INT64_C(1000000)
#define STALE_AT_US (READ_AT_US + INT64_C(120000000)) /* READING_S later */

/* Two GPUs, of which the second is read once, at 1 s; the jobs that come at other times are there to be decided on. */
static struct adl_job_spec tape_spec = {.id = 1, .gpus = 1, .types = 1, .limit_us = 1000000000};
static const int64_t tape_runtime_us[] = {1000000000};
static uint32_t tape_at;
static float tape_rows[4][2 * ADL_STATE_LAMBDA]; /* normalized GPU rows at the decision after each event */

static int tape_next(void *self, struct adl_event *ret, struct adl_error *err)
{
    (void)self, (void)err;
    static const int64_t submit_us[] = {0, READ_AT_US, STALE_AT_US, STALE_AT_US + 1};
    if (tape_at == 4)
        return 0;
    *ret = (struct adl_event){.time_us = submit_us[tape_at], .kind = ADL_EVENT_SUBMIT, .job = tape_at};
    ret->submit.spec = &tape_spec;
    ret->submit.runtime_us = tape_runtime_us;
    if (tape_at == 1) {
        ret->kind = ADL_EVENT_TELEMETRY;
        ret->gpu = 1;
        ret->telemetry = (struct adl_telemetry){.missing = 1u << ADL_READ_TENSOR | 1u << ADL_READ_NVLINK,
                                                .value = {[ADL_READ_UTILIZATION] = 0.75f,
                                                          [ADL_READ_TEMPERATURE] = 65,
                                                          [ADL_READ_POWER] = 120,
                                                          [ADL_READ_SM] = 0.5f,
                                                          [ADL_READ_DRAM] = 0.25f,
                                                          [ADL_READ_PCIE] = 64,
                                                          [ADL_READ_THROTTLED] = 0}};
    }
    tape_at++;
    return 1;
}

static int tape_submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)self, (void)command, (void)gpus, (void)err;
    return 0;
}

static int tape_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct driver *driver = policy;
    float row[ADL_FEATURE_COUNT];
    static float actions[ADL_ACTIONS_MAX * ADL_FEATURE_COUNT];
    struct adl_observation rows = {tape_rows[tape_at - 1], row, actions};
    struct adl_normalizer n;
    (void)plan;
    adl_normalizer_init(&n);
    adl_actions_find(driver->actions, state);
    adl_observation_raw(state, driver->actions, &rows);
    adl_observation_normalize(&n, &rows, 2, driver->actions->count);
    return 0;
}

static void watch_tape(void)
{
    struct adl_scenario scenario = tiny_plain(1, 2, 1, 0);
    struct adl_policy_ops policy = driver_policy;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    policy.decide = tape_decide;
    const struct adl_world_ops tape = {.name = "tape", .next_event = tape_next, .submit = tape_submit};
    const struct adl_engine_config config = {.cluster = &scenario.cluster, .policy = &policy, .world_ops = &tape};
    tape_at = 0;
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("%s", err.text);
    adl_engine_destroy(engine);
    adl_scenario_clear(&scenario);
}

static void expect(int moment, int gpu, enum adl_reading reading, float expected)
{
    const int feature = ADL_GPU_READ_UTILIZATION + (int)reading;
    const float value = tape_rows[moment][gpu * ADL_STATE_LAMBDA + feature];
    if (!(fabsf(value - expected) < 1e-3f))
        fail_msg("moment %d, GPU %d: %s is %g, not %g", moment, gpu, adl_feature_table[feature].name, (double)value,
                 (double)expected);
}

static void readings_show_in_the_rows_when_an_event_brings_them_and_else_are_missing(void **state)
{
    (void)state;
    watch_tape();
    for (int r = 0; r < ADL_READ_COUNT; r++) {
        expect(0, 0, (enum adl_reading)r, ADL_MISSING);
        expect(0, 1, (enum adl_reading)r, ADL_MISSING);
        expect(1, 0, (enum adl_reading)r, ADL_MISSING);
    }
    for (int moment = 1; moment <= 2; moment++) {
        expect(moment, 1, ADL_READ_UTILIZATION, 0.75f);
        expect(moment, 1, ADL_READ_TEMPERATURE, 0.5f);
        expect(moment, 1, ADL_READ_POWER, 120.0f / 240.0f / 1.2f);
        expect(moment, 1, ADL_READ_SM, 0.5f);
        expect(moment, 1, ADL_READ_DRAM, 0.25f);
        expect(moment, 1, ADL_READ_PCIE, 1);
        expect(moment, 1, ADL_READ_THROTTLED, 0);
        expect(moment, 1, ADL_READ_TENSOR, ADL_MISSING);
        expect(moment, 1, ADL_READ_NVLINK, ADL_MISSING);
    }
}

static void a_reading_is_missing_once_it_is_stale(void **state)
{
    (void)state;
    assert_int_equal(adl_feature_table[ADL_GPU_READ_SM].stale_s, 120);
    watch_tape();
    expect(2, 1, ADL_READ_SM, 0.5f);
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect(3, 1, (enum adl_reading)r, ADL_MISSING);
}

/* ---- the reference ---- */

static void describe(char *text, size_t size)
{
    static const char *const titles[ADL_ROW_COUNT] = {"One row for each GPU", "One row for the state",
                                                      "One row for each action"};
    static const char *const transforms[] = {"flag", "linear", "logarithmic", "by its spread",
                                             "by its spread, logarithmic"};
    size_t used = (size_t)snprintf(text, size, "This is " SCHEMA ".\n");
    for (int row = 0; row < ADL_ROW_COUNT; row++) {
        used += (size_t)snprintf(text + used, size - used,
                                 "\n## %s\n\n| | feature | from | unit | low | high | scale | stale after s |\n"
                                 "|---|---|---|---|---|---|---|---|\n",
                                 titles[row]);
        const int first = adl_row_first((enum adl_feature_row)row);
        for (int f = first; f < first + adl_row_size((enum adl_feature_row)row); f++) {
            const struct adl_feature_info *info = &adl_feature_table[f];
            char stale[16] = "";
            if (info->stale_s)
                snprintf(stale, sizeof stale, "%d", (int)info->stale_s);
            used += (size_t)snprintf(text + used, size - used, "| %d | `%s` | %s | %s | %g | %g | %s | %s |\n",
                                     f - first, info->name, info->source, info->unit, (double)info->low,
                                     (double)info->high, transforms[info->transform], stale);
            assert_true(used < size);
        }
    }
}

static void the_reference_says_what_the_table_says(void **state)
{
    (void)state;
    static char tables[1 << 15], document[1 << 16];
    describe(tables, sizeof tables);
    FILE *file = fopen(ADL_SOURCE_DIR "/docs/features.md", "rb");
    assert_non_null(file);
    assert_true(fread(document, 1, sizeof document - 1, file) > 0);
    fclose(file);
    if (!strstr(document, tables))
        fail_msg("docs/features.md differs from the table; `test_normalize tables` prints what belongs there");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "tables") == 0) {
        static char tables[1 << 15];
        describe(tables, sizeof tables);
        printf("%s", tables);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_feature_is_bounded_rises_with_its_value_and_missing_is_never_0),
        cmocka_unit_test(rows_are_consecutive_and_make_up_all_features),
        cmocka_unit_test(the_rough_logarithm_is_the_logarithm_to_a_thousandth),
        cmocka_unit_test(quartiles_of_a_stream_are_near_the_exact_ones),
        cmocka_unit_test(features_with_a_range_of_their_own_learn_nothing),
        cmocka_unit_test(a_feature_that_never_varied_is_scaled_all_the_same),
        cmocka_unit_test(what_is_written_is_read_back_bit_for_bit),
        cmocka_unit_test(another_schema_and_garbage_are_refused_with_a_message),
        cmocka_unit_test(readings_show_in_the_rows_when_an_event_brings_them_and_else_are_missing),
        cmocka_unit_test(a_reading_is_missing_once_it_is_stale),
        cmocka_unit_test(the_reference_says_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
