/* What running jobs report of their speed: when, how much, and what the engine believes of it. */
#include "scripted_run.h"
#include "tiny_scenario.h"

#include <math.h>

#define S       1000000 /* microseconds in a second */
#define ROWS(r) (r), (uint32_t)(sizeof(r) / sizeof *(r))

/* One GPU node; jobs of 1,000 steps in 1,000 s that share and can be stopped; reports every 10 s, exact. */
static struct adl_scenario reporting(uint64_t jobs, uint32_t gpus)
{
    struct adl_scenario s = tiny_plain(jobs, gpus, 1000, ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE);
    s.classes[0].activity = 0.95;
    s.telemetry = (struct adl_telemetry_model){.interval_s = 10, .progress = true};
    return s;
}

/* What the job reported at that time; negative if nothing. */
static double reported(const struct kept_run *kept, uint64_t id, double time_s)
{
    for (size_t i = 0; i < kept->count; i++) {
        const struct adl_event *event = &kept->events[i].event;
        if (event->kind == ADL_EVENT_PROGRESS && kept->events[i].id == id &&
            event->time_us == (int64_t)(time_s * 1e6 + 0.5))
            return event->steps_per_s;
    }
    return -1;
}

static void assert_speed(const struct kept_run *kept, uint64_t id, double time_s, double expected)
{
    const double got = reported(kept, id, time_s);
    if (!(fabs(got - expected) <= 1e-9))
        fail_msg("job %llu at %g s: %.12g steps/s, expected %.12g", (unsigned long long)id, time_s, got, expected);
}

static void release(struct kept_run *kept, struct adl_scenario *s)
{
    free(kept->events);
    adl_scenario_clear(s);
}

static void a_running_job_reports_its_speed_with_every_telemetry(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 2);
    s.classes[0].steps_per_s[0] = 2.5;
    const struct script_row rows[] = {{4, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_PROGRESS), 100);
    for (int i = 1; i <= 100; i++)
        assert_speed(&kept, 1, 10.0 * i, 2.5);
    release(&kept, &s);
}

static void reports_and_readings_of_one_instant_are_decided_on_together(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(2, 2);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {0, SCRIPT_START, 2, 1, {1}}};
    for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
        s.one_by_one = one_by_one;
        struct kept_run kept = run_script(&s, 1, ROWS(rows));
        uint32_t seen = 0;
        for (size_t i = 0; i < kept.count && kept.events[i].event.time_us <= 10 * S; i++) {
            const struct adl_event *event = &kept.events[i].event;
            if (event->time_us < 10 * S)
                continue;
            assert_true(event->kind == ADL_EVENT_PROGRESS || event->kind == ADL_EVENT_TELEMETRY);
            assert_int_equal(event->more, ++seen < 4);
        }
        assert_int_equal(seen, 4);
        free(kept.events);
    }
    adl_scenario_clear(&s);
}

static void nothing_is_reported_unless_the_scenario_says_so(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 1);
    s.telemetry.progress = false;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_PROGRESS), 0);
    assert_int_equal(count_events(&kept, ADL_EVENT_TELEMETRY), 99);
    release(&kept, &s);
}

static void the_steps_left_are_told_only_where_the_scenario_says_so(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct adl_scenario s = reporting(1, 1);
        s.telemetry.steps_left = told;
        const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
        struct kept_run kept = run_script(&s, 1, ROWS(rows));
        for (size_t i = 0; i < kept.count; i++) {
            const struct adl_event *event = &kept.events[i].event;
            if (event->kind == ADL_EVENT_PROGRESS)
                assert_true(fabs(event->steps_left - (told ? 1000 - (double)event->time_us * 1e-6 : 0)) < 1e-6);
        }
        release(&kept, &s);
    }
}

static void an_interval_in_which_a_neighbour_comes_or_goes_is_not_reported(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(2, 1);
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 1, {0}}, {15, SCRIPT_START, 2, 1, {0}}, {35, SCRIPT_PREEMPT, 2, 0, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_speed(&kept, 1, 10, 1);
    assert_speed(&kept, 1, 20, -1);
    assert_speed(&kept, 2, 20, 0.5); /* since it started */
    assert_speed(&kept, 1, 30, 0.5);
    assert_speed(&kept, 2, 30, 0.5);
    assert_speed(&kept, 1, 40, -1);
    assert_speed(&kept, 1, 50, 1);
    assert_speed(&kept, 2, 50, -1);
    release(&kept, &s);
}

static void a_neighbour_that_came_and_went_between_two_reports_spoils_one(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(2, 1);
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 1, {0}}, {12, SCRIPT_START, 2, 1, {0}}, {15, SCRIPT_PREEMPT, 2, 0, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_speed(&kept, 1, 10, 1);
    assert_speed(&kept, 1, 20, -1);
    assert_speed(&kept, 1, 30, 1);
    release(&kept, &s);
}

/* Stopped at 20 s, gone at 34 s; back at 41 s, at work from 67 s on. */
static void beside_a_checkpoint_that_is_read_or_written_nothing_is_reported(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(2, 1);
    s.preemption = (struct adl_preemption){.checkpoint_s = 14, .restart_s = 26};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}},
                                      {0, SCRIPT_START, 2, 1, {0}},
                                      {20, SCRIPT_PREEMPT, 2, 0, {0}},
                                      {41, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_speed(&kept, 1, 10, 0.5);
    assert_speed(&kept, 1, 20, 0.5);
    assert_speed(&kept, 1, 30, -1); /* beside a checkpoint being written */
    assert_speed(&kept, 2, 30, -1);
    assert_speed(&kept, 1, 40, -1); /* it left at 34 s */
    assert_speed(&kept, 1, 50, -1); /* beside a checkpoint being read */
    assert_speed(&kept, 1, 60, -1);
    assert_speed(&kept, 2, 50, -1);
    assert_speed(&kept, 1, 70, -1); /* at work from 67 s on */
    assert_speed(&kept, 2, 70, 0.5);
    assert_speed(&kept, 1, 80, 0.5);
    release(&kept, &s);
}

static void an_interval_with_a_software_update_is_not_reported(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 1);
    s.drift.update_count = 1;
    s.drift.updates[0].time_s = 25;
    s.drift.updates[0].factor = 0.5;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_speed(&kept, 1, 20, 1);
    assert_speed(&kept, 1, 30, -1);
    assert_speed(&kept, 1, 40, 0.5);
    release(&kept, &s);
}

static void an_update_reports_its_version_if_the_scenario_names_it(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 2);
    s.drift.update_count = 1;
    s.drift.updates[0].time_s = 25;
    s.drift.updates[0].factor = 0.5;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_VERSION), 0);
    free(kept.events);
    strcpy(s.drift.updates[0].version, "550.54");
    kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_VERSION), 4);
    assert_string_equal(find_event(&kept, ADL_EVENT_VERSION, 0, 1)->event.version, "0");
    const struct kept_event *last = find_event(&kept, ADL_EVENT_VERSION, 0, 3);
    assert_string_equal(last->event.version, "550.54");
    release(&kept, &s);
}

static void a_gang_reports_once_and_for_all_its_gpus(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 4);
    s.workload.mix[0].gang_gpus[0] = 4;
    s.classes[0].scaling = 0.9;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 4, {2, 0, 3, 1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(count_events(&kept, ADL_EVENT_PROGRESS), 99);
    assert_speed(&kept, 1, 10, outcome_of(&kept, 1)->steps / 1000);
    assert_true(reported(&kept, 1, 10) > 3);
    release(&kept, &s);
}

static void reports_carry_the_noise_of_telemetry_and_do_not_move_its_readings(void **state)
{
    (void)state;
    struct adl_scenario s = reporting(1, 1);
    s.telemetry = (struct adl_telemetry_model){.interval_s = 0.1, .noise = 0.2, .progress = true};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run with = run_script(&s, 1, ROWS(rows));
    s.telemetry.progress = false;
    struct kept_run without = run_script(&s, 1, ROWS(rows));
    double n = 0, sum = 0, squares = 0;
    for (size_t i = 0, k = 0; i < with.count; i++) {
        const struct adl_event *event = &with.events[i].event;
        if (event->kind == ADL_EVENT_PROGRESS) {
            const double error = event->steps_per_s - 1;
            assert_true(event->steps_per_s >= 0);
            sum += error;
            squares += error * error;
            n++;
            continue;
        }
        const struct adl_event *other = &without.events[k++].event;
        assert_int_equal(other->kind, event->kind);
        if (event->kind == ADL_EVENT_TELEMETRY)
            assert_memory_equal(&other->telemetry, &event->telemetry, sizeof event->telemetry);
    }
    assert_int_equal(with.count - without.count, (size_t)n);
    assert_true(n > 9990);
    assert_true(fabs(sum / n) < 5 * 0.2 / sqrt(n));
    assert_true(fabs(sqrt(squares / n) - 0.2) < 5 * 0.2 / sqrt(2 * n));
    free(without.events);
    release(&with, &s);
}

/* ---- what the engine believes ---- */

/* A world of two jobs on one GPU; the first is started at 0; then comes one report. */
struct forged_world {
    struct adl_job_spec specs[2];
    struct adl_event report;
    uint32_t given;
};

static int forged_next(void *self, struct adl_event *ret, struct adl_error *err)
{
    (void)err;
    struct forged_world *world = self;
    if (world->given == 3)
        return 0;
    if (world->given == 2) {
        *ret = world->report;
    } else {
        *ret = (struct adl_event){.kind = ADL_EVENT_SUBMIT, .job = world->given, .more = world->given == 0};
        ret->submit.spec = &world->specs[world->given];
    }
    world->given++;
    return 1;
}

static int forged_submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)self, (void)command, (void)gpus, (void)err;
    return 0;
}

static uint32_t observed;

static void count_progress(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    (void)policy, (void)state;
    observed += event->kind == ADL_EVENT_PROGRESS;
}

static int run_forged(uint32_t slot, double steps_per_s, struct adl_error *err)
{
    static const struct adl_world_ops ops = {.name = "forged", .next_event = forged_next, .submit = forged_submit};
    struct adl_policy_ops policy = adl_policy_fcfs;
    policy.observe = count_progress;
    struct adl_scenario s = reporting(1, 1);
    struct forged_world world = {
        .report = {.time_us = 5, .kind = ADL_EVENT_PROGRESS, .job = slot, .steps_per_s = steps_per_s}};
    for (uint32_t i = 0; i < 2; i++)
        world.specs[i] = (struct adl_job_spec){.id = i + 1, .gpus = 1, .types = 1, .limit_us = S};
    const struct adl_engine_config config = {
        .cluster = &s.cluster, .policy = &policy, .policy_config = s.policy, .world_ops = &ops, .world = &world};
    struct adl_engine *engine = NULL;
    observed = 0;
    assert_int_equal(adl_engine_create(&config, &engine, err), 0);
    const int status = adl_engine_run(engine, err);
    adl_engine_destroy(engine);
    adl_scenario_clear(&s);
    return status;
}

static void progress_that_cannot_be_is_refused_before_a_policy_sees_it(void **state)
{
    (void)state;
    struct adl_error err;
    assert_int_equal(run_forged(0, 0.0, &err), 0);
    assert_int_equal(observed, 1);
    static const struct {
        uint32_t slot;
        double steps_per_s;
        const char *text;
    } wrong[] = {
        {1, 1.0, "event progress names slot 1, which holds no such job"}, /* it waits */
        {2, 1.0, "event progress names slot 2, which holds no such job"},
        {1u << 30, 1.0, "event progress names slot 1073741824, which holds no such job"},
        {0, -1.0, "event progress gives slot 0 -1 steps/s: it must be finite and at least 0"},
        {0, HUGE_VAL, "event progress gives slot 0 inf steps/s: it must be finite and at least 0"},
        {0, NAN, "event progress gives slot 0 nan steps/s: it must be finite and at least 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(run_forged(wrong[i].slot, wrong[i].steps_per_s, &err), ADL_EINVAL);
        assert_string_equal(err.text, wrong[i].text);
        assert_int_equal(observed, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_job_reports_its_speed_with_every_telemetry),
        cmocka_unit_test(reports_and_readings_of_one_instant_are_decided_on_together),
        cmocka_unit_test(nothing_is_reported_unless_the_scenario_says_so),
        cmocka_unit_test(the_steps_left_are_told_only_where_the_scenario_says_so),
        cmocka_unit_test(an_interval_in_which_a_neighbour_comes_or_goes_is_not_reported),
        cmocka_unit_test(a_neighbour_that_came_and_went_between_two_reports_spoils_one),
        cmocka_unit_test(beside_a_checkpoint_that_is_read_or_written_nothing_is_reported),
        cmocka_unit_test(an_interval_with_a_software_update_is_not_reported),
        cmocka_unit_test(an_update_reports_its_version_if_the_scenario_names_it),
        cmocka_unit_test(a_gang_reports_once_and_for_all_its_gpus),
        cmocka_unit_test(reports_carry_the_noise_of_telemetry_and_do_not_move_its_readings),
        cmocka_unit_test(progress_that_cannot_be_is_refused_before_a_policy_sees_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
