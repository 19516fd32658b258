/* The quarters of a run: what was done and drawn in each, and that they add up to the run. */
#include "experiment/run.h"
#include "random_scenario.h"
#include "scenario/scenario.h"
#include "scripted_run.h"

#include <math.h>

#define ROWS(r) (r), (uint32_t)(sizeof(r) / sizeof *(r))

static void assert_about(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* A scripted run with its quarters, in the regime that tells how much of a preempted job is left. */
static void run_quarters(const struct adl_scenario *s, const struct script_row *rows, uint32_t count,
                         struct adl_run_quarter ret[ADL_RUN_QUARTERS])
{
    struct adl_result result;
    struct adl_error err;
    script_now = (struct script){.rows = rows, .count = count, .woken_us = -1};
    const struct adl_run run = {.scenario = s, .policy = &script_policy, .seed = 1, .regime = ADL_REGIME_ORACLE};
    if (adl_run(&run, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(script_now.done, count);
    memcpy(ret, result.quarters, sizeof result.quarters);
}

/* Two jobs of 100 s on one of two GPUs, from 0 s and from 300 s on: 240 W at work, 10 W idle. */
static void work_and_energy_count_where_they_were_done(void **state)
{
    (void)state;
    struct adl_run_quarter q[ADL_RUN_QUARTERS];
    struct adl_scenario s = tiny_plain(2, 2, 100, 0);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {300, SCRIPT_START, 2, 1, {1}}};
    run_quarters(&s, ROWS(rows), q);
    for (int i = 0; i < ADL_RUN_QUARTERS; i++) {
        const bool busy = i == 0 || i == 3;
        assert_about(q[i].useful_gpu_s, busy ? 100 : 0, 0.3);
        assert_about(q[i].busy_gpu_s, busy ? 100 : 0, 0.3);
        assert_about(q[i].energy_j, busy ? 25000 : 2000, 50);
    }
    assert_about(adl_run_quarter_figure(&q[0], ADL_RUN_QUARTER_ENERGY), 250, 1);
    assert_about(adl_run_quarter_figure(&q[0], ADL_RUN_QUARTER_EFFICIENCY), 1, 0.01);
    assert_true(adl_run_quarter_figure(&(struct adl_run_quarter){.energy_j = 5}, ADL_RUN_QUARTER_ENERGY) == 0);
    assert_true(adl_run_quarter_figure(&(struct adl_run_quarter){0}, ADL_RUN_QUARTER_EFFICIENCY) == 0);
    adl_scenario_clear(&s);
}

/* Half of a job on a GPU of half the speed, until 100 s; another job from 200 to 300 s; the other half from 350 s on.
 */
static void a_preempted_jobs_work_counts_in_each_attempt(void **state)
{
    (void)state;
    struct adl_run_quarter q[ADL_RUN_QUARTERS];
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1)->steps_per_s[1] = 0.5;
    tiny_mix(&s, 0, 100, 1, ADL_JOB_PREEMPTIBLE);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {1}},
                                      {100, SCRIPT_PREEMPT, 1, 0, {0}},
                                      {200, SCRIPT_START, 2, 1, {0}},
                                      {350, SCRIPT_START, 1, 1, {0}}};
    run_quarters(&s, ROWS(rows), q);
    assert_about(q[0].useful_gpu_s, 50, 0.2);
    assert_about(q[1].useful_gpu_s, 0, 0.2);
    assert_about(q[2].useful_gpu_s, 100, 0.4);
    assert_about(q[3].useful_gpu_s, 50, 0.4);
    assert_about(adl_run_quarter_figure(&q[0], ADL_RUN_QUARTER_EFFICIENCY), 0.5, 0.01);
    adl_scenario_clear(&s);
}

/* The second of two is killed halfway: what it did was of no use. */
static void what_a_killed_job_did_is_not_useful(void **state)
{
    (void)state;
    struct adl_run_quarter q[ADL_RUN_QUARTERS];
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1);
    tiny_mix(&s, 0, 100, 1, 0);
    s.workload.limits = (struct adl_limits){.median_factor = 1};
    s.drift.update_count = 1;
    s.drift.updates[0].time_s = 100;
    s.drift.updates[0].factor = 0.5;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {100, SCRIPT_START, 2, 1, {0}}};
    run_quarters(&s, ROWS(rows), q);
    double useful = 0, busy = 0;
    for (int i = 0; i < ADL_RUN_QUARTERS; i++) {
        useful += q[i].useful_gpu_s;
        busy += q[i].busy_gpu_s;
    }
    assert_about(useful, 100, 1e-6);
    assert_about(busy, 200, 1e-6);
    assert_about(q[3].useful_gpu_s, 0, 1e-9);
    adl_scenario_clear(&s);
}

static void the_quarters_of_random_runs_add_up_to_the_run(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 60; i++) {
        struct adl_scenario s = random_scenario(i + 900, 60);
        struct adl_result result;
        struct adl_error err;
        const struct adl_run run = {
            .scenario = &s, .policy = adl_policy_at((uint32_t)i % adl_policy_count()), .seed = i};
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        const double *value = result.value;
        const double busy_s = value[ADL_METRIC_UTILIZATION] * value[ADL_METRIC_MAKESPAN] * s.cluster.gpu_count;
        struct adl_run_quarter sum = {0};
        for (int q = 0; q < ADL_RUN_QUARTERS; q++) {
            assert_true(result.quarters[q].busy_gpu_s > -1e-6 && result.quarters[q].useful_gpu_s > -1e-6);
            sum.useful_gpu_s += result.quarters[q].useful_gpu_s;
            sum.busy_gpu_s += result.quarters[q].busy_gpu_s;
            sum.energy_j += result.quarters[q].energy_j;
        }
        assert_about(sum.energy_j, value[ADL_METRIC_ENERGY], 1e-9 * value[ADL_METRIC_ENERGY]);
        assert_about(sum.busy_gpu_s, busy_s, 1e-9 * busy_s);
        assert_about(sum.useful_gpu_s, value[ADL_METRIC_EFFICIENCY] * busy_s, 1e-9 * busy_s);
        adl_scenario_clear(&s);
    }
}

/* ---- against readings ---- */

/* The energy of quarters whose length is known beforehand, from exact readings of power. */
struct readings {
    double length_us, interval_s;
    double energy_j[ADL_RUN_QUARTERS];
};

static int add_reading(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct readings *readings = self;
    if (event->kind != ADL_EVENT_TELEMETRY || readings->length_us <= 0)
        return 0;
    const double at = (double)event->time_us / readings->length_us;
    readings->energy_j[at < ADL_RUN_QUARTERS ? (int)at : ADL_RUN_QUARTERS - 1] +=
        (double)event->telemetry.value[ADL_READ_POWER] * readings->interval_s;
    return 0;
}

static void energy_is_where_readings_of_power_say_that_it_was_drawn(void **state)
{
    (void)state;
    static const char *const policies[] = {"easy", "srtf", "las"};
    struct adl_scenario s;
    struct adl_error err;
    struct adl_result result;
    assert_int_equal(adl_scenario_load(ADL_SOURCE_DIR "/scenarios/mixed64.yaml", &s, NULL, &err), 0);
    s.workload.jobs = 600;
    s.telemetry = (struct adl_telemetry_model){.interval_s = 10};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        struct readings readings = {.interval_s = 10};
        const struct adl_observer observer = {.self = &readings, .event = add_reading};
        for (int pass = 0; pass < 2; pass++) {
            const struct adl_run run = {
                .scenario = &s, .policy = adl_policy_find(policies[p]), .seed = 1, .observer = &observer};
            if (adl_run(&run, &result, &err))
                fail_msg("%s", err.text);
            readings.length_us = result.value[ADL_METRIC_MAKESPAN] * 1e6 / ADL_RUN_QUARTERS;
        }
        for (int q = 0; q < ADL_RUN_QUARTERS; q++)
            assert_about(result.quarters[q].energy_j / readings.energy_j[q], 1, 0.001);
    }
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_and_energy_count_where_they_were_done),
        cmocka_unit_test(a_preempted_jobs_work_counts_in_each_attempt),
        cmocka_unit_test(what_a_killed_job_did_is_not_useful),
        cmocka_unit_test(the_quarters_of_random_runs_add_up_to_the_run),
        cmocka_unit_test(energy_is_where_readings_of_power_say_that_it_was_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
