/* test_slurm_reconcile: requeues, restarts of the service, and jobs that Slurm forgot. */
#include "slurm_double.h"

static void a_job_that_slurm_requeues_after_its_end_is_held_and_arrives_again(void **state)
{
    (void)state;
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"why\":\"placed\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received("\"op\":\"hold\",\"seq\":1,\"job\":7"));
    adapter_sends(PENDING("7"));
    assert_string_equal(next_report(ADL_REPORT_ARRIVED).submit.arrival->ineligible, "its last run has only just ended");
    const struct adl_job_entry job = service_job(1, 7);
    service_admits(&job);
    slurm.now_us += 3 * S;
    assert_string_equal(next_report(ADL_REPORT_ELIGIBLE).text, "");
}

static void a_job_that_slurm_requeues_is_ineligible_for_a_moment(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "v0"));
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"why\":\"placed\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    assert_true(next_report(ADL_REPORT_INELIGIBLE).text[0] != '\0');
    next_report(ADL_REPORT_REQUEUED);
    slurm.now_us += 3 * S;
    assert_string_equal(next_report(ADL_REPORT_INELIGIBLE).text, "placed"); /* another reason by now */
    assert_true(adapter_received("\"op\":\"hold\",\"seq\":2,\"job\":7"));   /* or Slurm starts it where it was */
    adapter_sends(PENDING("7"));
    assert_string_equal(next_report(ADL_REPORT_ELIGIBLE).text, "");
}

static void a_job_that_a_resync_does_not_name_has_ended(void **state)
{
    (void)state;
    uint32_t slot;
    service_takes(1, 7, PENDING("7"), &slot);
    adapter_sends("{\"ev\":\"down\",\"why\":\"x\"}");
    adapter_sends("{\"ev\":\"up\"}");
    next_report(ADL_REPORT_NONE);
    adapter_sends("{\"ev\":\"synced\",\"seq\":2}");
    assert_int_equal(next_report(ADL_REPORT_ENDED).outcome.end, ADL_END_CANCELLED);
}

static int open_while_it_waits(void **state)
{
    (void)state;
    slurm_double_open(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"limit_s\":120}");
    return 0;
}

static void an_unchanged_demand_survives_a_restart_of_the_service(void **state)
{
    (void)state;
    struct adl_job_entry job = service_job(1, 7);
    job.spec.limit_us = 120 * S;
    service_admits(&job);
    next_report(ADL_REPORT_NONE);
}

static void a_demand_that_changed_while_the_service_was_down_ends_the_job(void **state)
{
    (void)state;
    struct adl_job_entry job = service_job(1, 7);
    job.spec.limit_us = 60 * S;
    service_admits(&job);
    assert_string_equal(next_report(ADL_REPORT_ENDED).text, "what it asks for was changed: it is queued again");
}

static int open_after_an_end(void **state)
{
    (void)state;
    slurm_double_open(ENDED("7", "F"));
    return 0;
}

static void how_a_job_ended_while_the_service_was_down_is_reported(void **state)
{
    (void)state;
    const struct adl_job_entry job = service_job(1, 7);
    const uint32_t slot = service_admits(&job);
    assert_true(slurm.executor.ops->adopt(slurm.executor.self, &job, slot, (const uint32_t[]){0}));
    const struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.exit_code, 3);
    assert_int_equal(report.outcome.end, ADL_END_FAILED);
}

static int open_after_a_crash(void **state)
{
    (void)state;
    slurm_double_open(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"submit_s\":99,\"restarts\":0}");
    return 0;
}

static void a_number_that_slurm_reused_while_the_service_was_down_ends_the_first_job(void **state)
{
    (void)state;
    struct adl_job_entry job = service_job(1, 7);
    job.submit_us = 42 * S;
    service_admits(&job);
    bool ended = false, arrived = false;
    for (int i = 0; i < 2; i++) {
        struct adl_report report;
        assert_int_equal(slurm.executor.ops->poll(slurm.executor.self, slurm.now_us, &report, NULL), 1);
        ended |= report.kind == ADL_REPORT_ENDED && report.number == 1;
        arrived |= report.kind == ADL_REPORT_ARRIVED && report.submit.arrival->external == 7;
    }
    assert_true(ended && arrived);
}

static void a_number_that_slurm_reuses_ends_the_first_job(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"submit_s\":99,\"restarts\":0}");
    struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    report = next_report(ADL_REPORT_ARRIVED);
    assert_true(report.submit.arrival->external == 7);
    slurm.executor.ops->forget(slurm.executor.self, 1, 1);
    struct adl_job_entry other = service_job(2, 7);
    other.submit_us = 99 * S;
    assert_int_not_equal(service_admits(&other), slot);
    next_report(ADL_REPORT_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, slurm_double_setup, slurm_double_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_slurm_requeues_after_its_end_is_held_and_arrives_again),
        TEST(a_job_that_slurm_requeues_is_ineligible_for_a_moment),
        TEST(a_job_that_a_resync_does_not_name_has_ended),
        TEST(a_number_that_slurm_reuses_ends_the_first_job),
        cmocka_unit_test_setup_teardown(an_unchanged_demand_survives_a_restart_of_the_service, open_while_it_waits,
                                        slurm_double_teardown),
        cmocka_unit_test_setup_teardown(a_demand_that_changed_while_the_service_was_down_ends_the_job,
                                        open_while_it_waits, slurm_double_teardown),
        cmocka_unit_test_setup_teardown(how_a_job_ended_while_the_service_was_down_is_reported, open_after_an_end,
                                        slurm_double_teardown),
        cmocka_unit_test_setup_teardown(a_number_that_slurm_reused_while_the_service_was_down_ends_the_first_job,
                                        open_after_a_crash, slurm_double_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
