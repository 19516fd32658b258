/* Power caps in the simulated world: what GPUs draw and when jobs end while caps come, change and go. */
#include "predict/power.h"
#include "scripted_run.h"
#include "tiny_scenario.h"

#include <math.h>

#define ROWS(r) (r), (uint32_t)(sizeof(r) / sizeof *(r))

static void assert_near_us(int64_t value_us, double expected_s)
{
    if (fabs((double)value_us - expected_s * 1e6) > 5)
        fail_msg("%lld us is not %.6f s", (long long)value_us, expected_s);
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g is not %.9g", value, expected);
}

static void release(struct kept_run *kept, struct adl_scenario *s)
{
    free(kept->events);
    adl_scenario_clear(s);
}

static double meter_j(const struct kept_run *kept, uint32_t gpu)
{
    const struct kept_event *meter = find_event(kept, ADL_EVENT_METER, 0, gpu);
    assert_non_null(meter);
    assert_int_equal(meter->event.gpu, gpu);
    return meter->event.energy_j;
}

/* The figures of the worlds' one type (tiny_type: 40 W with a context, 240 W at most). */
static const struct adl_gpu_type tiny = {.idle_w = 10, .context_w = 40, .max_w = 240};

static double draw_w(double load, double cap_w)
{
    return adl_power_draw_w(&tiny, load, cap_w);
}

static double speed(double load, double cap_w)
{
    return adl_power_cap_speed(&tiny, load, cap_w);
}

static void a_capped_job_takes_longer_and_its_gpu_draws_the_cap(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 100, 0);
    const struct script_row rows[] = {{0, SCRIPT_CAP, 144, 1, {0}}, {0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    /* Full load: 104 of 200 W above the context give the speed 1 - (1 - 0.52)^2.14 = 0.792. */
    assert_near_us(kept_end(&kept, 1), 100 / (1 - pow(0.48, 2.14)));
    assert_close(meter_j(&kept, 0), 144 * 100 / (1 - pow(0.48, 2.14)));
    assert_close(outcome_of(&kept, 1)->energy_j, meter_j(&kept, 0));
    assert_true(meter_j(&kept, 0) < 0.8 * 240 * 100);
    release(&kept, &s);
}

static void energy_adds_up_and_the_end_is_right_under_caps_that_change_and_go(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, 0);
    const double load = 0.8;
    s.classes[0].activity = load;
    const struct script_row rows[] = {{5, SCRIPT_START, 1, 1, {0}},
                                      {15, SCRIPT_CAP, 150, 2, {1, 0}},
                                      {45, SCRIPT_CAP, 80, 1, {0}},
                                      {75, SCRIPT_CAP, 0, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double left_s = 100 - 10 - 30 * speed(load, 150) - 30 * speed(load, 80), end_s = 75 + left_s;
    const double job_j = (10 + left_s) * draw_w(load, 0) + 30 * draw_w(load, 150) + 30 * draw_w(load, 80);
    assert_true(left_s > 10 && left_s < 75);
    assert_near_us(kept_end(&kept, 1), end_s);
    assert_close(outcome_of(&kept, 1)->energy_j, job_j);
    assert_close(meter_j(&kept, 0), 5 * 10 + job_j);
    assert_close(meter_j(&kept, 1), end_s * 10);
    assert_close(kept.result.value[ADL_METRIC_ENERGY], meter_j(&kept, 0) + meter_j(&kept, 1));
    release(&kept, &s);
}

static void a_cap_on_an_idle_gpu_waits_for_its_job_and_outlasts_it(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 50, 0);
    const struct script_row rows[] = {
        {0, SCRIPT_CAP, 120, 1, {0}}, {10, SCRIPT_START, 1, 1, {0}}, {200, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double run_s = 50 / speed(1, 120);
    assert_near_us(kept_end(&kept, 1), 10 + run_s);
    assert_near_us(kept_end(&kept, 2), 200 + run_s);
    assert_close(meter_j(&kept, 0), (200 - run_s) * 10 + 2 * run_s * draw_w(1, 120));
    release(&kept, &s);
}

static void a_cap_lifted_before_the_start_leaves_no_trace(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 50, 0);
    const struct script_row rows[] = {
        {0, SCRIPT_CAP, 120, 1, {0}}, {1, SCRIPT_CAP, 0, 1, {0}}, {10, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_near_us(kept_end(&kept, 1), 60);
    assert_close(meter_j(&kept, 0), 10 * 10 + 50 * 240);
    release(&kept, &s);
}

/* A neighbour makes the GPU's load heavier and the cap bind harder, until it leaves. */
static void a_neighbour_changes_what_the_cap_leaves_to_both(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 100, ADL_JOB_SHARE);
    s.classes[0].activity = 0.4;
    s.classes[0].bandwidth = 0.1;
    const double alone = speed(0.4, 110), both = 0.95 * speed(0.8, 110);
    const struct script_row rows[] = {
        {0, SCRIPT_CAP, 110, 1, {0}}, {0, SCRIPT_START, 1, 1, {0}}, {30, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double pair_s = (100 - 30 * alone) / both, rest_s = (100 - pair_s * both) / alone;
    assert_true(both < 0.95 * alone && alone < 1);
    assert_near_us(kept_end(&kept, 1), 30 + pair_s);
    assert_near_us(kept_end(&kept, 2), 30 + pair_s + rest_s);
    assert_close(outcome_of(&kept, 1)->energy_j, 30 * draw_w(0.4, 110) + pair_s * draw_w(0.8, 110) / 2);
    assert_close(meter_j(&kept, 0), outcome_of(&kept, 1)->energy_j + outcome_of(&kept, 2)->energy_j);
    release(&kept, &s);
}

static void a_gang_goes_at_the_pace_of_its_lowest_cap(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(1);
    tiny_node(&s, tiny_type(&s), 3);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 0.5);
    tiny_mix(&s, 0, 60, 3, 0);
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 3, {0, 1, 2}}, {0, SCRIPT_CAP, 200, 3, {0, 1, 2}}, {20, SCRIPT_CAP, 100, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double rest_s = (60 - 20 * speed(1, 200)) / speed(1, 100);
    assert_near_us(kept_end(&kept, 1), 20 + rest_s);
    assert_close(meter_j(&kept, 0), (20 + rest_s) * draw_w(1, 200));
    assert_close(meter_j(&kept, 1), 20 * draw_w(1, 200) + rest_s * draw_w(1, 100));
    assert_close(outcome_of(&kept, 1)->energy_j, meter_j(&kept, 0) + meter_j(&kept, 1) + meter_j(&kept, 2));
    release(&kept, &s);
}

/* Writing and reading a checkpoint loads nothing, so a cap takes nothing from it. */
static void checkpoints_take_their_time_whatever_the_cap(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 100, ADL_JOB_PREEMPTIBLE);
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 3};
    const struct script_row rows[] = {{0, SCRIPT_CAP, 100, 1, {0}},
                                      {0, SCRIPT_START, 1, 1, {0}},
                                      {40, SCRIPT_PREEMPT, 1, 0, {0}},
                                      {45, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double run_s = 100 / speed(1, 100);
    assert_near_us(kept_end(&kept, 1), run_s + 8);
    assert_close(meter_j(&kept, 0), run_s * draw_w(1, 100) + 8 * 40);
    release(&kept, &s);
}

static void telemetry_reads_the_capped_draw_and_a_lower_clock(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, 0);
    s.telemetry = (struct adl_telemetry_model){.interval_s = 10};
    const struct script_row rows[] = {{0, SCRIPT_CAP, 144, 2, {0, 1}}, {0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const struct adl_telemetry *busy = &find_event(&kept, ADL_EVENT_TELEMETRY, 0, 0)->event.telemetry,
                               *idle = &find_event(&kept, ADL_EVENT_TELEMETRY, 0, 1)->event.telemetry;
    assert_close((double)busy->value[ADL_READ_POWER], 144);
    assert_close((double)busy->value[ADL_READ_CLOCK], speed(1, 144));
    assert_close((double)idle->value[ADL_READ_POWER], 10);
    assert_close((double)idle->value[ADL_READ_CLOCK], 1);
    release(&kept, &s);
}

/* The end of the first job, started on GPU 0 as soon as it is there. */
static int64_t first_end_us(struct adl_world_sim *world)
{
    struct adl_event event;
    struct adl_error err;
    const uint32_t gpu = 0;
    while (adl_world_sim_ops.next_event(world, &event, &err) > 0) {
        const struct adl_command start = {.kind = ADL_COMMAND_START, .job = event.job, .gpu_count = 1};
        if (event.kind == ADL_EVENT_SUBMIT)
            assert_int_equal(adl_world_sim_ops.submit(world, &start, &gpu, &err), 0);
        if (event.kind == ADL_EVENT_FINISH)
            return event.time_us;
    }
    fail_msg("no job ended");
    return 0;
}

static void a_world_begins_anew_without_caps(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 100, 0);
    struct adl_world_sim *world = NULL;
    struct adl_error err;
    const uint32_t gpu = 0;
    const struct adl_command cap = {.kind = ADL_COMMAND_CAP, .gpu_count = 1, .power_w = 144};
    assert_int_equal(adl_world_sim_create(&s, 1, ADL_REGIME_DECLARED, &world, &err), 0);
    assert_int_equal(adl_world_sim_ops.submit(world, &cap, &gpu, &err), 0);
    assert_near_us(first_end_us(world), 100 / speed(1, 144));
    assert_int_equal(adl_world_sim_reset(world, 1, &err), 0);
    assert_near_us(first_end_us(world), 100);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capped_job_takes_longer_and_its_gpu_draws_the_cap),
        cmocka_unit_test(energy_adds_up_and_the_end_is_right_under_caps_that_change_and_go),
        cmocka_unit_test(a_cap_on_an_idle_gpu_waits_for_its_job_and_outlasts_it),
        cmocka_unit_test(a_cap_lifted_before_the_start_leaves_no_trace),
        cmocka_unit_test(a_neighbour_changes_what_the_cap_leaves_to_both),
        cmocka_unit_test(a_gang_goes_at_the_pace_of_its_lowest_cap),
        cmocka_unit_test(checkpoints_take_their_time_whatever_the_cap),
        cmocka_unit_test(telemetry_reads_the_capped_draw_and_a_lower_clock),
        cmocka_unit_test(a_world_begins_anew_without_caps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
