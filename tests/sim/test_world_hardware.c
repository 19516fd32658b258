/* What the simulated hardware does by itself: it fails and is repaired, draws power, and reports readings. */
#include "scripted_run.h"
#include "tiny_scenario.h"

#include <math.h>

#define S       1000000 /* microseconds in a second */
#define ROWS(r) (r), (uint32_t)(sizeof(r) / sizeof *(r))

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

static void release(struct kept_run *kept, struct adl_scenario *s)
{
    free(kept->events);
    adl_scenario_clear(s);
}

/* ---- faults ---- */

/* One GPU and one job of 1,000 s; the GPU fails every 10 minutes or so. */
static struct adl_scenario failing(double interval_s, double restart_s)
{
    struct adl_scenario s = tiny_plain(1, 1, 1000, 0);
    s.faults = (struct adl_faults){.gpu_mtbf_h = 1 / 6.0, .gpu_repair_h = 0.01};
    s.preemption = (struct adl_preemption){.restart_s = restart_s, .interval_s = interval_s};
    return s;
}

/* Follows the one job of failing() under fcfs, which starts it at once and again after each repair, and
 * checks what each failure left. Returns the number of failures. */
static uint32_t check_failures(const struct kept_run *kept, double interval_s, double restart_s)
{
    double started_s = 0, remaining = 1;
    uint32_t failures = 0;
    for (size_t i = 0; i < kept->count; i++) {
        const struct adl_event *event = &kept->events[i].event;
        const double now_s = (double)event->time_us * 1e-6;
        const double pause_s = failures ? restart_s : 0;
        if (event->kind == ADL_EVENT_GPU_UP) {
            started_s = now_s;
        } else if (event->kind == ADL_EVENT_FINISH) {
            assert_true(fabs(now_s - started_s - pause_s - remaining * 1000) < 1e-5);
        } else if (event->kind == ADL_EVENT_EVICT) {
            const double worked_s = fmax(0, now_s - started_s - pause_s);
            const double lost_s = worked_s - (remaining - event->evict.remaining) * 1000;
            assert_true(event->evict.fault);
            assert_true(lost_s > -1e-5);
            assert_true(interval_s > 0 ? lost_s <= interval_s : event->evict.remaining == remaining);
            if (failures == 0 && interval_s > 0)
                assert_true(fabs(lost_s - fmod(now_s, interval_s)) < 1e-5);
            remaining = event->evict.remaining;
            failures++;
        }
    }
    return failures;
}

static void a_failure_loses_the_work_since_the_last_checkpoint_and_no_more(void **state)
{
    (void)state;
    struct adl_scenario s = failing(60, 7);
    uint32_t failures = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct kept_run kept = run_kept(&s, seed, &adl_policy_fcfs);
        failures += check_failures(&kept, 60, 7);
        assert_int_equal(outcome_of(&kept, 1)->end, ADL_END_COMPLETED);
        free(kept.events);
    }
    assert_true(failures > 50);
    adl_scenario_clear(&s);
}

static void without_checkpoints_a_failure_loses_the_whole_attempt(void **state)
{
    (void)state;
    struct adl_scenario s = failing(0, 0);
    uint32_t failures = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct kept_run kept = run_kept(&s, seed, &adl_policy_fcfs);
        failures += check_failures(&kept, 0, 0);
        free(kept.events);
    }
    assert_true(failures > 20);
    adl_scenario_clear(&s);
}

static void the_job_leaves_before_its_gpu_goes_down_in_one_batch(void **state)
{
    (void)state;
    struct adl_scenario s = failing(60, 0);
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct kept_run kept = run_kept(&s, seed, &adl_policy_fcfs);
        for (size_t i = 1; i < kept.count; i++)
            if (kept.events[i].event.kind == ADL_EVENT_GPU_DOWN) {
                const struct adl_event *before = &kept.events[i - 1].event;
                assert_int_equal(before->kind, ADL_EVENT_EVICT);
                assert_int_equal(before->time_us, kept.events[i].event.time_us);
                assert_true(before->more);
                assert_false(kept.events[i].event.more);
                seen++;
            }
        free(kept.events);
    }
    assert_true(seen > 20);
    adl_scenario_clear(&s);
}

static void a_failed_gpu_takes_the_whole_gang_and_both_neighbours_with_it(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 2, 3600, ADL_JOB_SHARE);
    s.workload.mix[0].gang_gpus[0] = 2;
    s.classes[0].activity = 0.4;
    s.faults = (struct adl_faults){.gpu_mtbf_h = 0.5, .gpu_repair_h = 0.01};
    s.preemption.interval_s = 60;
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 2, {0, 1}}, {0, SCRIPT_START, 2, 2, {0, 1}}, {0, SCRIPT_START, 1, 2, {0, 1}}};
    script_now = (struct script){.rows = rows, .count = 3, .woken_us = -1};
    struct kept_run kept = run_kept(&s, 1, &script_policy);
    const struct kept_event *down = find_event(&kept, ADL_EVENT_GPU_DOWN, 0, 0);
    assert_non_null(down);
    for (uint64_t id = 1; id <= 2; id++) {
        const struct kept_event *evict = find_event(&kept, ADL_EVENT_EVICT, id, 0);
        assert_non_null(evict);
        assert_int_equal(evict->event.time_us, down->event.time_us);
        assert_true(evict < down);
    }
    release(&kept, &s);
}

/* A long job keeps the world going while 64 GPUs fail and are repaired. */
static void times_to_failure_and_repair_have_their_stated_means(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 64, 3.6e6, 0);
    s.faults = (struct adl_faults){.gpu_mtbf_h = 10, .gpu_repair_h = 2};
    s.preemption.interval_s = 600;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_fcfs);
    int64_t since_us[64] = {0};
    double up_h = 0, down_h = 0, ups = 0, downs = 0;
    for (size_t i = 0; i < kept.count; i++) {
        const struct adl_event *event = &kept.events[i].event;
        if (event->kind != ADL_EVENT_GPU_DOWN && event->kind != ADL_EVENT_GPU_UP)
            continue;
        const double hours = (double)(event->time_us - since_us[event->gpu]) / 3600e6;
        since_us[event->gpu] = event->time_us;
        *(event->kind == ADL_EVENT_GPU_DOWN ? &up_h : &down_h) += hours;
        *(event->kind == ADL_EVENT_GPU_DOWN ? &ups : &downs) += 1;
    }
    assert_true(ups > 4000);
    assert_true(fabs(up_h / ups - 10) < 5 * 10 / sqrt(ups));
    assert_true(fabs(down_h / downs - 2) < 5 * 2 / sqrt(downs));
    release(&kept, &s);
}

static void failures_come_at_the_same_times_whatever_the_policy_does(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(40, 4, 300, 0);
    s.workload.mix[0].gang_count = 2;
    s.workload.mix[0].gang_gpus[1] = 3;
    s.workload.mix[0].gang_weight[1] = 1;
    s.faults = (struct adl_faults){.gpu_mtbf_h = 0.5, .gpu_repair_h = 0.1, .node_mtbf_h = 1, .node_repair_h = 0.1};
    s.preemption.interval_s = 30;
    struct kept_run a = run_kept(&s, 3, &adl_policy_fcfs), b = run_kept(&s, 3, &adl_policy_easy);
    assert_true(a.counts.plan_hash != b.counts.plan_hash);
    uint32_t compared = 0;
    for (uint32_t nth = 0;; nth++) {
        const struct kept_event *x = find_event(&a, ADL_EVENT_GPU_DOWN, 0, nth);
        const struct kept_event *y = find_event(&b, ADL_EVENT_GPU_DOWN, 0, nth);
        if (!x || !y)
            break;
        assert_int_equal(x->event.time_us, y->event.time_us);
        assert_int_equal(x->event.gpu, y->event.gpu);
        compared++;
    }
    assert_true(compared > 10);
    free(a.events);
    release(&b, &s);
}

static void a_node_failure_takes_all_gpus_of_the_node_at_once(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(1);
    const uint32_t type = tiny_type(&s);
    for (int n = 0; n < 3; n++)
        tiny_node(&s, type, 4);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1);
    tiny_mix(&s, 0, 36000, 4, 0);
    s.faults = (struct adl_faults){.node_mtbf_h = 2, .node_repair_h = 0.5};
    s.preemption.interval_s = 60;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_fcfs);
    uint32_t failures = 0;
    for (size_t i = 0; i < kept.count; i++) {
        const struct adl_event *event = &kept.events[i].event;
        if (event->kind != ADL_EVENT_GPU_DOWN && event->kind != ADL_EVENT_GPU_UP)
            continue;
        assert_int_equal(event->gpu % 4, 0);
        for (uint32_t g = 1; g < 4; g++) {
            const struct adl_event *next = &kept.events[i + g].event;
            assert_int_equal(next->kind, event->kind);
            assert_int_equal(next->gpu, event->gpu + g);
            assert_int_equal(next->time_us, event->time_us);
            assert_int_equal(kept.events[i + g - 1].event.more, true);
        }
        i += 3;
        failures++;
    }
    assert_true(failures > 5);
    release(&kept, &s);
}

static void a_gpu_that_fails_twice_over_is_down_once(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 8, 360000, 0);
    s.faults = (struct adl_faults){.gpu_mtbf_h = 1, .gpu_repair_h = 1, .node_mtbf_h = 2, .node_repair_h = 1};
    s.preemption.interval_s = 60;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_fcfs);
    bool down[8] = {false};
    uint32_t changes = 0;
    for (size_t i = 0; i < kept.count; i++) {
        const struct adl_event *event = &kept.events[i].event;
        if (event->kind == ADL_EVENT_GPU_DOWN || event->kind == ADL_EVENT_GPU_UP) {
            assert_int_equal(down[event->gpu], event->kind == ADL_EVENT_GPU_UP);
            down[event->gpu] = event->kind == ADL_EVENT_GPU_DOWN;
            changes++;
        }
    }
    assert_true(changes > 100);
    release(&kept, &s);
}

/* ---- power ---- */

static double meter_j(const struct kept_run *kept, uint32_t gpu)
{
    const struct kept_event *meter = find_event(kept, ADL_EVENT_METER, 0, gpu);
    assert_non_null(meter);
    assert_int_equal(meter->event.gpu, gpu);
    return meter->event.energy_j;
}

static void a_gpu_draws_idle_context_and_active_power_in_their_times(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 3, 100, ADL_JOB_PREEMPTIBLE);
    s.classes[0].activity = 0.5;
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 3};
    const struct script_row rows[] = {
        {10, SCRIPT_START, 1, 1, {0}}, {50, SCRIPT_PREEMPT, 1, 0, {0}}, {60, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double end_s = 60 + 3 + 60, active_w = 40 + 0.5 * 200;
    assert_close(meter_j(&kept, 0), 10 * 10 + 40 * active_w + 5 * 40 + (end_s - 55) * 10);
    assert_close(meter_j(&kept, 1), 60 * 10 + 3 * 40 + 60 * active_w);
    assert_close(meter_j(&kept, 2), end_s * 10);
    assert_close(outcome_of(&kept, 1)->energy_j, 100 * active_w + 8 * 40);
    assert_close(kept.result.value[ADL_METRIC_ENERGY], meter_j(&kept, 0) + meter_j(&kept, 1) + meter_j(&kept, 2));
    release(&kept, &s);
}

static void two_jobs_on_a_gpu_share_its_draw_which_never_exceeds_the_board_limit(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 100, ADL_JOB_SHARE);
    s.classes[0].activity = 0.75;
    s.classes[0].bandwidth = 0.1;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {20, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double alone_w = 40 + 0.75 * 200, pair_s = 80 / (0.95 / 1.5); /* both at 240 W */
    assert_true(fabs(outcome_of(&kept, 1)->energy_j - (20 * alone_w + pair_s * 120)) < 1e-3);
    assert_true(fabs(outcome_of(&kept, 2)->energy_j - (20 * alone_w + pair_s * 120)) < 1e-3);
    assert_close(meter_j(&kept, 0), outcome_of(&kept, 1)->energy_j + outcome_of(&kept, 2)->energy_j);
    release(&kept, &s);
}

static void a_gpu_that_is_down_draws_nothing(void **state)
{
    (void)state;
    struct adl_scenario s = failing(60, 0);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct kept_run kept = run_kept(&s, seed, &adl_policy_fcfs);
        const struct adl_outcome *outcome = outcome_of(&kept, 1);
        /* Up, it always holds the job: its own draw and nothing else. */
        assert_close(meter_j(&kept, 0), (double)outcome->run_us * 1e-6 * 240);
        assert_close(outcome->energy_j, meter_j(&kept, 0));
        free(kept.events);
    }
    adl_scenario_clear(&s);
}

/* ---- telemetry ---- */

static void every_gpu_is_sampled_at_every_interval(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 3, 95, 0);
    s.telemetry.interval_s = 10;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_TELEMETRY), 9 * 3);
    for (uint32_t nth = 0; nth < 27; nth++) {
        const struct adl_event *event = &find_event(&kept, ADL_EVENT_TELEMETRY, 0, nth)->event;
        assert_int_equal(event->time_us, (int64_t)(nth / 3 + 1) * 10 * S);
        assert_int_equal(event->gpu, nth % 3);
        assert_int_equal(event->more, nth % 3 < 2);
        const float *value = event->telemetry.value;
        assert_int_equal(event->telemetry.missing & ((1 << ADL_READ_COARSE) - 1), 0);
        assert_true(value[ADL_READ_UTILIZATION] == (event->gpu == 1 ? 1.0f : 0.0f));
        assert_true(value[ADL_READ_BANDWIDTH] == (event->gpu == 1 ? 0.5f : 0.0f));
        assert_true(value[ADL_READ_POWER] == (event->gpu == 1 ? 240.0f : 10.0f));
        assert_true(value[ADL_READ_CLOCK] == 1.0f);
    }
    release(&kept, &s);
}

static void temperature_follows_power_with_a_lag(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 300, 0);
    s.telemetry.interval_s = 10;
    const struct script_row rows[] = {{100, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    float before = 0;
    for (uint32_t nth = 9; nth < 38; nth++) {
        const float now = find_event(&kept, ADL_EVENT_TELEMETRY, 0, nth)->event.telemetry.value[ADL_READ_TEMPERATURE];
        assert_true(now >= before && now <= 90);
        before = now;
    }
    const float idle = find_event(&kept, ADL_EVENT_TELEMETRY, 0, 8)->event.telemetry.value[ADL_READ_TEMPERATURE];
    const float warming = find_event(&kept, ADL_EVENT_TELEMETRY, 0, 10)->event.telemetry.value[ADL_READ_TEMPERATURE];
    assert_true(idle < 40 && warming > idle + 5 && before > 80 && warming < before - 5);
    release(&kept, &s);
}

static void readings_carry_the_stated_noise_and_gaps(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 4, 10000, 0);
    s.classes[0].activity = 0.5;
    s.telemetry = (struct adl_telemetry_model){.interval_s = 1, .noise = 0.1, .dropout = 0.2};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    double n = 0, missing = 0, readings = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < kept.count; i++) {
        const struct adl_event *event = &kept.events[i].event;
        if (event->kind != ADL_EVENT_TELEMETRY)
            continue;
        for (int r = 0; r < ADL_READ_COARSE; r++)
            missing += event->telemetry.missing >> r & 1;
        readings += ADL_READ_COARSE;
        const uint32_t fine = (1u << ADL_READ_THROTTLED) - (1u << ADL_READ_COARSE);
        assert_int_equal(event->telemetry.missing & fine, fine);
        assert_int_equal(event->telemetry.missing >> ADL_READ_THROTTLED & 1,
                         event->telemetry.missing >> ADL_READ_CLOCK & 1);
        if (event->gpu != 0 || event->telemetry.missing >> ADL_READ_UTILIZATION & 1)
            continue;
        const double error = (double)event->telemetry.value[ADL_READ_UTILIZATION] / 0.5 - 1;
        sum += error;
        squares += error * error;
        n++;
    }
    assert_true(n > 7000);
    assert_true(fabs(sum / n) < 5 * 0.1 / sqrt(n));
    assert_true(fabs(sqrt(squares / n) - 0.1) < 5 * 0.1 / sqrt(2 * n));
    assert_true(fabs(missing / readings - 0.2) < 5 * sqrt(0.2 * 0.8 / readings));
    release(&kept, &s);
}

static void gaps_do_not_change_the_readings_that_do_come(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, 0);
    s.telemetry = (struct adl_telemetry_model){.interval_s = 1, .noise = 0.1};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run whole = run_script(&s, 1, ROWS(rows));
    s.telemetry.dropout = 0.5;
    struct kept_run gaps = run_script(&s, 1, ROWS(rows));
    assert_int_equal(whole.count, gaps.count);
    for (size_t i = 0; i < whole.count; i++)
        for (int r = 0; whole.events[i].event.kind == ADL_EVENT_TELEMETRY && r < ADL_READ_COUNT; r++)
            if (!(gaps.events[i].event.telemetry.missing >> r & 1))
                assert_true(whole.events[i].event.telemetry.value[r] == gaps.events[i].event.telemetry.value[r]);
    free(whole.events);
    release(&gaps, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_loses_the_work_since_the_last_checkpoint_and_no_more),
        cmocka_unit_test(without_checkpoints_a_failure_loses_the_whole_attempt),
        cmocka_unit_test(the_job_leaves_before_its_gpu_goes_down_in_one_batch),
        cmocka_unit_test(a_failed_gpu_takes_the_whole_gang_and_both_neighbours_with_it),
        cmocka_unit_test(times_to_failure_and_repair_have_their_stated_means),
        cmocka_unit_test(failures_come_at_the_same_times_whatever_the_policy_does),
        cmocka_unit_test(a_node_failure_takes_all_gpus_of_the_node_at_once),
        cmocka_unit_test(a_gpu_that_fails_twice_over_is_down_once),
        cmocka_unit_test(a_gpu_draws_idle_context_and_active_power_in_their_times),
        cmocka_unit_test(two_jobs_on_a_gpu_share_its_draw_which_never_exceeds_the_board_limit),
        cmocka_unit_test(a_gpu_that_is_down_draws_nothing),
        cmocka_unit_test(every_gpu_is_sampled_at_every_interval),
        cmocka_unit_test(temperature_follows_power_with_a_lag),
        cmocka_unit_test(readings_carry_the_stated_noise_and_gaps),
        cmocka_unit_test(gaps_do_not_change_the_readings_that_do_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
