/* Drift found from events alone: what is slow, a GPU or its type, now or now and then; and what must not be believed.
 */
#include "state_fixture.h"

#include "predict/drift/bytes.h"
#include "predict/drift/drift.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 2, GPUS = 8, ALL = 7, HOUR = 30 }; /* GPUs of each type; samples an hour */

/* Two types of eight GPUs and one GPU of a third; on each GPU a job, another every hour, of one of six users. */
struct lab {
    struct adl_cluster cluster;
    struct adl_state *state;
    struct adl_drift *drift;
    struct adl_rng rng;
    uint32_t sample;
    uint32_t users;
    uint32_t liar; /* a user who reports a tenth of the speed; ADL_NONE = nobody */
    double noise;
    double speed[2 * GPUS + 1]; /* true, relative to new */
    bool clocks;
    float throttled; /* share of time by every driver; negative = they do not say */
    uint32_t hot;    /* a GPU whose driver says that it throttles; ADL_NONE = none */
};

static void lab_create(struct lab *lab, bool clocks)
{
    *lab =
        (struct lab){.users = 6, .liar = ADL_NONE, .noise = 0.03, .clocks = clocks, .throttled = -1, .hot = ADL_NONE};
    fixture_types(&lab->cluster, 3);
    for (uint32_t type = 0; type < 2; type++)
        for (int n = 0; n < NODES; n++)
            fixture_node(&lab->cluster, type, GPUS / NODES);
    fixture_node(&lab->cluster, 2, 1);
    lab->state = fixture_state(&lab->cluster);
    assert_int_equal(adl_drift_create(&lab->cluster, ALL, &lab->drift), 0);
    adl_rng_seed(&lab->rng, 1, "drift");
    for (uint32_t g = 0; g < lab->cluster.gpu_count; g++)
        lab->speed[g] = 1;
}

static void lab_clear(struct lab *lab)
{
    adl_drift_destroy(lab->drift);
    adl_state_destroy(lab->state);
    adl_cluster_clear(&lab->cluster);
}

static double noisy(struct lab *lab, double value)
{
    return value * (1 + lab->noise * adl_rng_normal(&lab->rng));
}

static void tell(struct lab *lab, struct adl_event event)
{
    event.time_us = lab->state->now_us;
    adl_drift_observe(lab->drift, &event, lab->state);
}

/* The job on a GPU ends and another begins. */
static void change_job(struct lab *lab, uint32_t gpu)
{
    if (lab->sample > 0)
        adl_state_finish(lab->state, gpu);
    struct adl_job_spec spec = fixture_spec(1 + lab->sample * lab->cluster.gpu_count + gpu, 1);
    spec.user = (gpu + lab->sample / HOUR) % lab->users;
    spec.class_index = (uint16_t)(spec.id % 2);
    fixture_run(lab->state, gpu, &spec, 1000000, gpu);
}

static void report(struct lab *lab, uint32_t gpu)
{
    const struct adl_job_spec *spec = &lab->state->jobs[gpu].spec;
    const double steps = (10 + 3 * spec->class_index) * lab->speed[gpu] * (spec->user == lab->liar ? 0.1 : 1);
    struct adl_event event = {.kind = ADL_EVENT_PROGRESS, .job = gpu, .steps_per_s = noisy(lab, steps)};
    tell(lab, event);
    if (!lab->clocks)
        return;
    event = (struct adl_event){.kind = ADL_EVENT_TELEMETRY, .gpu = gpu};
    event.telemetry.value[ADL_READ_UTILIZATION] = 1;
    event.telemetry.value[ADL_READ_CLOCK] = (float)fmin(noisy(lab, lab->speed[gpu]), 1);
    event.telemetry.value[ADL_READ_THROTTLED] = gpu == lab->hot ? 1 : lab->throttled;
    event.telemetry.missing = lab->throttled < 0 ? 1u << ADL_READ_THROTTLED : 0;
    tell(lab, event);
}

static void set_speed(struct lab *lab, uint32_t first, uint32_t end, double speed)
{
    for (uint32_t g = first; g < end; g++)
        lab->speed[g] = speed;
}

static void run(struct lab *lab, uint32_t samples)
{
    for (uint32_t i = 0; i < samples; i++, lab->sample++) {
        lab->state->now_us += 120000000;
        for (uint32_t g = 0; g < lab->cluster.gpu_count; g++) {
            if (lab->sample % HOUR == g % HOUR || lab->sample == 0)
                change_job(lab, g);
            report(lab, g);
        }
    }
}

static struct adl_gpu_drift about(const struct lab *lab, uint32_t gpu)
{
    struct adl_gpu_drift ret;
    adl_drift_gpu(lab->drift, gpu, &ret);
    return ret;
}

static uint32_t flagged(const struct lab *lab)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < lab->cluster.gpu_count; g++)
        count += about(lab, g).kind != ADL_DRIFT_NONE;
    return count;
}

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

static void test_noise_alone_flags_nothing_and_every_factor_is_exactly_one(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    run(&lab, 40 * HOUR);
    assert_int_equal(flagged(&lab), 0);
    for (uint32_t g = 0; g < lab.cluster.gpu_count; g++)
        assert_true(adl_drift_gpu_factor(lab.drift, g) == 1);
    for (uint32_t t = 0; t < 3; t++)
        assert_true(adl_drift_type_factor(lab.drift, t) == 1);
    lab_clear(&lab);
}

static void test_a_step_of_one_gpu_is_found_within_20_samples_and_is_only_its_own(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    run(&lab, 10 * HOUR);
    const int64_t began_us = lab.state->now_us;
    lab.speed[3] = 0.82;
    run(&lab, 20);
    assert_int_equal(about(&lab, 3).kind, ADL_DRIFT_SLOW);
    run(&lab, 5 * HOUR);
    const struct adl_gpu_drift it = about(&lab, 3);
    assert_int_equal(it.kind, ADL_DRIFT_SLOW);
    assert_true(it.confirmed && it.separable);
    assert_near(it.factor, 0.82, 0.04);
    assert_true(it.since_us >= began_us && it.since_us <= began_us + INT64_C(10) * 120000000);
    assert_int_equal(flagged(&lab), 1);
    assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
    lab_clear(&lab);
}

static void test_slow_wear_is_found_before_it_costs_a_tenth(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    run(&lab, 10 * HOUR);
    while (lab.speed[9] > 0.9) {
        lab.speed[9] -= 0.002;
        run(&lab, HOUR);
    }
    assert_int_equal(about(&lab, 9).kind, ADL_DRIFT_SLOW);
    assert_int_equal(flagged(&lab), 1);
    lab_clear(&lab);
}

static void test_a_gpu_that_is_hot_half_of_the_time_throttles_and_is_not_worn(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    run(&lab, 10 * HOUR);
    for (int half = 0; half < 8; half++) {
        lab.speed[5] = half % 2 ? 1 : 0.7;
        run(&lab, 45);
    }
    const struct adl_gpu_drift it = about(&lab, 5);
    assert_int_equal(it.kind, ADL_DRIFT_THROTTLED);
    assert_near(it.low, 0.7, 0.05);
    assert_near(it.factor, 0.85, 0.12);
    assert_int_equal(flagged(&lab), 1);
    lab_clear(&lab);
}

static void test_a_low_clock_is_throttling_at_once_if_its_driver_says_so(void **unused)
{
    (void)unused;
    static const float says[] = {-1, 0, 1};
    for (int i = 0; i < 3; i++) {
        struct lab lab;
        lab_create(&lab, true);
        lab.throttled = says[i];
        run(&lab, 10 * HOUR);
        assert_int_equal(flagged(&lab), 0); /* at its power limit with a clock as of its type */
        lab.speed[3] = 0.8;
        run(&lab, 20);
        assert_int_equal(flagged(&lab), 1);
        assert_int_equal(about(&lab, 3).kind, says[i] > 0 ? ADL_DRIFT_THROTTLED : ADL_DRIFT_SLOW);
        assert_near(about(&lab, 3).factor, 0.8, 0.03);
        lab_clear(&lab);
    }
}

static void test_a_driver_that_says_when_tells_throttling_from_wear_in_the_first_hot_spell(void **unused)
{
    (void)unused;
    for (int hot = 0; hot < 2; hot++) {
        struct lab lab;
        lab_create(&lab, true);
        lab.throttled = 0;
        run(&lab, 10 * HOUR);
        lab.hot = hot ? 3 : ADL_NONE;
        lab.speed[3] = 0.8;
        run(&lab, 10);
        assert_int_equal(flagged(&lab), 1);
        assert_int_equal(about(&lab, 3).kind, hot ? ADL_DRIFT_THROTTLED : ADL_DRIFT_SLOW);
        assert_true(about(&lab, 3).impartial);
        lab.hot = ADL_NONE;
        lab.speed[3] = 1;
        run(&lab, HOUR);
        assert_int_equal(about(&lab, 3).kind, hot ? ADL_DRIFT_THROTTLED : ADL_DRIFT_NONE); /* it will again */
        run(&lab, 30 * HOUR);
        assert_int_equal(flagged(&lab), 0);
        assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
        lab_clear(&lab);
    }
}

static void test_gpus_that_throttle_together_are_no_change_of_their_type(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    lab.throttled = 0;
    run(&lab, 10 * HOUR);
    lab.throttled = 1;
    run(&lab, 1); /* drivers say so before jobs report it */
    set_speed(&lab, 0, GPUS, 0.75);
    run(&lab, 10);
    for (uint32_t g = 0; g < GPUS; g++)
        assert_int_equal(about(&lab, g).kind, ADL_DRIFT_THROTTLED);
    assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
    lab_clear(&lab);
}

static void test_an_update_is_a_step_of_the_type_and_of_none_of_its_gpus(void **unused)
{
    (void)unused;
    static const double steps[] = {0.8, 1.25};
    for (int i = 0; i < 2; i++) {
        struct lab lab;
        lab_create(&lab, false);
        run(&lab, 10 * HOUR);
        for (uint32_t g = GPUS; g < 2 * GPUS; g++)
            lab.speed[g] = steps[i];
        run(&lab, 2); /* 16 measurements */
        assert_near(adl_drift_type_factor(lab.drift, 1), steps[i], 0.04 * steps[i]);
        run(&lab, 5 * HOUR);
        assert_int_equal(flagged(&lab), 0);
        assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
        assert_near(adl_drift_type_factor(lab.drift, 1), steps[i], 0.03 * steps[i]);
        lab_clear(&lab);
    }
}

static void tell_version(struct lab *lab, uint32_t first, uint32_t end, const char *version)
{
    for (uint32_t g = first; g < end; g++) {
        struct adl_event event = {.kind = ADL_EVENT_VERSION, .gpu = g};
        snprintf(event.version, sizeof event.version, "%s", version);
        tell(lab, event);
    }
}

static void test_a_new_version_is_measured_within_10_samples_of_its_type(void **unused)
{
    (void)unused;
    static const double steps[] = {0.85, 0.9, 1.1, 1.3};
    for (int i = 0; i < 4; i++) {
        struct lab lab;
        lab_create(&lab, false);
        tell_version(&lab, GPUS, 2 * GPUS, "535.1");
        run(&lab, 10 * HOUR);
        set_speed(&lab, GPUS, 2 * GPUS, steps[i]);
        tell_version(&lab, GPUS, 2 * GPUS, "550.54");
        run(&lab, 1); /* 8 measurements */
        assert_near(log(adl_drift_type_factor(lab.drift, 1)), log(steps[i]), lab.noise);
        run(&lab, 5 * HOUR);
        assert_int_equal(flagged(&lab), 0);
        assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
        lab_clear(&lab);
    }
}

static void test_gpus_that_still_have_the_version_before_keep_their_speed(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, false);
    tell_version(&lab, 0, 2 * GPUS, "a");
    run(&lab, 10 * HOUR);
    set_speed(&lab, 0, GPUS / 2, 1.25);
    tell_version(&lab, 0, GPUS / 2, "b");
    run(&lab, HOUR);
    assert_near(adl_drift_type_factor(lab.drift, 0), 1.25, 0.04);
    assert_near(adl_drift_gpu_factor(lab.drift, GPUS - 1), 0.8, 0.03);
    assert_true(adl_drift_gpu_factor(lab.drift, 0) == 1);
    set_speed(&lab, GPUS / 2, GPUS, 1.25);
    tell_version(&lab, GPUS / 2, GPUS, "b");
    run(&lab, 5 * HOUR);
    assert_near(adl_drift_type_factor(lab.drift, 0), 1.25, 0.04);
    assert_true(adl_drift_gpu_factor(lab.drift, GPUS - 1) == 1);
    assert_int_equal(flagged(&lab), 0);
    lab_clear(&lab);
}

static void test_a_new_version_that_changes_no_speed_changes_no_factor(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    for (int i = 0; i < 8; i++) {
        char version[8];
        snprintf(version, sizeof version, "%d", i);
        tell_version(&lab, 0, 2 * GPUS, version);
        run(&lab, 3 * HOUR);
        for (uint32_t t = 0; t < 3; t++)
            assert_true(adl_drift_type_factor(lab.drift, t) == 1);
    }
    assert_int_equal(flagged(&lab), 0);
    lab_clear(&lab);
}

/* After an update as at any time. */
static void test_what_one_user_reports_changes_no_factor(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, false);
    run(&lab, 10 * HOUR);
    lab.liar = 2;
    run(&lab, 30 * HOUR);
    tell_version(&lab, 0, 2 * GPUS, "a");
    tell_version(&lab, 0, 2 * GPUS, "b");
    run(&lab, 5 * HOUR);
    for (uint32_t g = 0; g < lab.cluster.gpu_count; g++) {
        assert_false(about(&lab, g).confirmed);
        assert_true(adl_drift_gpu_factor(lab.drift, g) == 1);
    }
    for (uint32_t t = 0; t < 3; t++)
        assert_true(adl_drift_type_factor(lab.drift, t) == 1);
    lab_clear(&lab);
}

static void test_two_jobs_of_the_only_user_confirm_but_are_not_impartial(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, false);
    lab.users = 1;
    run(&lab, 5 * HOUR);
    lab.speed[3] = 0.8;
    run(&lab, 5 * HOUR);
    assert_true(about(&lab, 3).confirmed);
    assert_false(about(&lab, 3).impartial);
    lab.users = 6;
    run(&lab, 5 * HOUR);
    assert_true(about(&lab, 3).confirmed);
    assert_true(about(&lab, 3).impartial);
    lab_clear(&lab);
}

static void test_the_only_gpu_of_a_type_is_not_told_apart_from_its_type(void **unused)
{
    (void)unused;
    struct lab lab;
    const uint32_t only = 2 * GPUS;
    lab_create(&lab, true);
    run(&lab, 10 * HOUR);
    lab.speed[only] = 0.75;
    run(&lab, 5 * HOUR);
    assert_int_equal(about(&lab, only).kind, ADL_DRIFT_SLOW);
    assert_false(about(&lab, only).separable);
    assert_true(adl_drift_type_factor(lab.drift, 2) == 1);
    lab_clear(&lab);
}

/* A clock that steps makes a run look ten times as long; a counter that jumps, a speed a thousand times as high. */
static void test_readings_that_jump_and_clocks_that_step_flag_nothing(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, true);
    for (int day = 0; day < 20; day++) {
        run(&lab, 3 * HOUR);
        struct adl_event event = {.kind = ADL_EVENT_PROGRESS, .job = 1, .steps_per_s = day % 2 ? 1e4 : 1e-3};
        tell(&lab, event);
        event = (struct adl_event){.kind = ADL_EVENT_TELEMETRY, .gpu = 6};
        event.telemetry.value[ADL_READ_UTILIZATION] = 1;
        event.telemetry.value[ADL_READ_CLOCK] = day % 2 ? 0.05f : NAN;
        tell(&lab, event);
        event = (struct adl_event){.kind = ADL_EVENT_FINISH, .job = 2};
        event.outcome.steps = 1000;
        event.outcome.run_us = day % 2 ? 1000 : INT64_C(1000000000000);
        tell(&lab, event);
        lab.state->now_us += day % 2 ? 0 : INT64_C(3600000000);
    }
    assert_int_equal(flagged(&lab), 0);
    lab_clear(&lab);
}

static void test_equal_events_give_equal_answers(void **unused)
{
    (void)unused;
    struct lab labs[2];
    struct adl_gpu_drift a, b;
    for (int i = 0; i < 2; i++) {
        lab_create(&labs[i], true);
        run(&labs[i], 5 * HOUR);
        labs[i].speed[3] = 0.7;
        run(&labs[i], 5 * HOUR);
    }
    for (uint32_t g = 0; g < labs[0].cluster.gpu_count; g++) {
        adl_drift_gpu(labs[0].drift, g, &a);
        adl_drift_gpu(labs[1].drift, g, &b);
        assert_true(a.factor == b.factor && a.error == b.error && a.since_us == b.since_us && a.kind == b.kind);
    }
    lab_clear(&labs[0]);
    lab_clear(&labs[1]);
}

/* ---- as bytes ---- */

static struct adl_text bytes_of(const struct lab *lab)
{
    struct adl_text text = {0};
    adl_drift_encode(lab->drift, &text);
    assert_int_equal(adl_text_status(&text), 0);
    return text;
}

static int read_bytes(struct adl_drift *drift, const struct adl_text *text, size_t size, struct adl_drift_account *ret)
{
    const struct adl_translation here = {.same = true, .same_users = true, .same_time = true};
    struct adl_unpack from = {(const unsigned char *)text->data, (const unsigned char *)text->data + size, false};
    struct adl_error err = {""};
    return adl_drift_decode(drift, &from, &here, ret, &err);
}

static void test_what_was_written_and_read_goes_on_bit_for_bit(void **unused)
{
    (void)unused;
    struct lab labs[2];
    struct adl_drift_account account;
    for (int i = 0; i < 2; i++) {
        lab_create(&labs[i], true);
        run(&labs[i], 5 * HOUR);
        labs[i].speed[3] = 0.7;
        run(&labs[i], HOUR / 3);
    }
    struct adl_text before = bytes_of(&labs[0]);
    adl_drift_reset(labs[0].drift);
    assert_int_equal(read_bytes(labs[0].drift, &before, before.size, &account), 0);
    assert_true(account.used);
    assert_int_equal(account.gpus, labs[0].cluster.gpu_count);
    assert_int_equal(account.skipped, 0);
    run(&labs[0], 3 * HOUR);
    run(&labs[1], 3 * HOUR);
    assert_int_equal(about(&labs[0], 3).kind, ADL_DRIFT_SLOW);
    struct adl_text a = bytes_of(&labs[0]), b = bytes_of(&labs[1]);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    adl_text_clear(&before);
    adl_text_clear(&a);
    adl_text_clear(&b);
    lab_clear(&labs[0]);
    lab_clear(&labs[1]);
}

static void test_gpus_that_are_gone_are_skipped_and_an_unknown_version_is_not_used(void **unused)
{
    (void)unused;
    struct lab lab, other;
    struct adl_drift_account account;
    lab_create(&lab, true);
    run(&lab, 2 * HOUR);
    struct adl_text text = bytes_of(&lab);
    lab_create(&other, true);
    snprintf(other.cluster.nodes[1].name, sizeof other.cluster.nodes[1].name, "renamed");
    assert_int_equal(read_bytes(other.drift, &text, text.size, &account), 0);
    assert_int_equal(account.skipped, GPUS / NODES);
    text.data[0] = 99;
    adl_drift_reset(other.drift);
    assert_int_equal(read_bytes(other.drift, &text, text.size, &account), 0);
    assert_false(account.used);
    adl_text_clear(&text);
    lab_clear(&lab);
    lab_clear(&other);
}

static void test_bytes_that_were_cut_off_are_refused(void **unused)
{
    (void)unused;
    struct lab lab;
    struct adl_drift_account account;
    lab_create(&lab, true);
    run(&lab, HOUR);
    struct adl_text text = bytes_of(&lab);
    for (size_t size = 0; size < text.size; size += 97) {
        adl_drift_reset(lab.drift);
        assert_int_equal(read_bytes(lab.drift, &text, size, &account), ADL_EINVAL);
    }
    adl_text_clear(&text);
    lab_clear(&lab);
}

/* A job beside another is slower, and faster when that one has left: neither its GPU nor its type has changed. */
static void test_a_neighbour_that_comes_and_goes_is_no_drift(void **unused)
{
    (void)unused;
    struct lab lab;
    lab_create(&lab, false);
    run(&lab, 10 * HOUR);
    for (int i = 0; i < 6; i++) {
        const uint32_t first = 100;
        for (uint32_t g = 0; g < GPUS; g++) {
            struct adl_job_spec spec = fixture_spec(100000 + (uint64_t)i * GPUS + g, 1);
            spec.flags = ADL_JOB_SHARE;
            spec.gpu_memory_mib = 0;
            spec.class_index = 7;
            lab.state->jobs[g].spec.flags |= ADL_JOB_SHARE;
            fixture_run(lab.state, first + g, &spec, 1000000, g);
            lab.speed[g] = 0.6;
        }
        for (int s = 0; s < 20; s++)
            for (uint32_t g = 0; g < GPUS; g++)
                report(&lab, g);
        for (uint32_t g = 0; g < GPUS; g++) {
            adl_state_finish(lab.state, first + g);
            lab.speed[g] = 1;
        }
        for (int s = 0; s < 20; s++)
            for (uint32_t g = 0; g < GPUS; g++)
                report(&lab, g);
    }
    assert_int_equal(flagged(&lab), 0);
    assert_true(adl_drift_type_factor(lab.drift, 0) == 1);
    lab_clear(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_alone_flags_nothing_and_every_factor_is_exactly_one),
        cmocka_unit_test(test_a_step_of_one_gpu_is_found_within_20_samples_and_is_only_its_own),
        cmocka_unit_test(test_slow_wear_is_found_before_it_costs_a_tenth),
        cmocka_unit_test(test_a_gpu_that_is_hot_half_of_the_time_throttles_and_is_not_worn),
        cmocka_unit_test(test_a_low_clock_is_throttling_at_once_if_its_driver_says_so),
        cmocka_unit_test(test_a_driver_that_says_when_tells_throttling_from_wear_in_the_first_hot_spell),
        cmocka_unit_test(test_gpus_that_throttle_together_are_no_change_of_their_type),
        cmocka_unit_test(test_an_update_is_a_step_of_the_type_and_of_none_of_its_gpus),
        cmocka_unit_test(test_a_new_version_is_measured_within_10_samples_of_its_type),
        cmocka_unit_test(test_gpus_that_still_have_the_version_before_keep_their_speed),
        cmocka_unit_test(test_a_new_version_that_changes_no_speed_changes_no_factor),
        cmocka_unit_test(test_what_one_user_reports_changes_no_factor),
        cmocka_unit_test(test_two_jobs_of_the_only_user_confirm_but_are_not_impartial),
        cmocka_unit_test(test_the_only_gpu_of_a_type_is_not_told_apart_from_its_type),
        cmocka_unit_test(test_readings_that_jump_and_clocks_that_step_flag_nothing),
        cmocka_unit_test(test_equal_events_give_equal_answers),
        cmocka_unit_test(test_what_was_written_and_read_goes_on_bit_for_bit),
        cmocka_unit_test(test_gpus_that_are_gone_are_skipped_and_an_unknown_version_is_not_used),
        cmocka_unit_test(test_bytes_that_were_cut_off_are_refused),
        cmocka_unit_test(test_a_neighbour_that_comes_and_goes_is_no_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
