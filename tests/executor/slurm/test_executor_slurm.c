/* test_executor_slurm: jobs of a Slurm cluster from their arrival to their end. */
#include "slurm_double.h"

static void a_job_that_is_placed_runs_and_ends(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    assert_true(adapter_received(
        "\"op\":\"place\",\"seq\":1,\"job\":7,\"nodes\":[{\"node\":\"v0\",\"gpus\":1}],\"type\":\"volta\","
        "\"comment\":\"adlro: test: because\""));
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "v0"));
    adapter_sends(ENDED("7", "F"));
    const struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.exit_code, 3);
    assert_int_equal(report.outcome.end, ADL_END_FAILED);
    slurm.executor.ops->forget(slurm.executor.self, 1, 1);
    adapter_sends(ENDED("7", "F"));
    next_report(ADL_REPORT_NONE);
}

static void a_job_cancelled_before_it_had_a_slot_is_not_placed_for_ever(void **state)
{
    (void)state;
    adapter_sends(PENDING("7"));
    next_report(ADL_REPORT_ARRIVED);
    adapter_sends(ENDED("7", "CA"));
    next_report(ADL_REPORT_NONE);
    const struct adl_job_entry job = service_job(1, 7);
    service_admits(&job);
    const struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
}

static void a_job_that_its_user_holds_may_not_start(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    adapter_sends(HELD("7"));
    struct adl_report report = next_report(ADL_REPORT_INELIGIBLE);
    assert_true(report.number == 1);
    assert_string_equal(report.text, "held by its user");
    service_starts(&job, slot, 0); /* was decided before the service knew */
    report = next_report(ADL_REPORT_REQUEUED);
    assert_true(report.number == 1);
    assert_true(adapter_received_nothing_of("\"op\":\"place\""));
    adapter_sends(PENDING("7"));
    report = next_report(ADL_REPORT_ELIGIBLE);
    assert_string_equal(report.text, "");
}

static void a_placed_job_that_is_held_is_requeued(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(HELD("7"));
    assert_string_equal(next_report(ADL_REPORT_INELIGIBLE).text,
                        "held by its user"); /* before it is back in the queue */
    next_report(ADL_REPORT_REQUEUED);
}

static void a_message_from_before_a_placement_does_not_undo_it(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends(PENDING("7"));
    next_report(ADL_REPORT_NONE);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    slurm.now_us += 3 * S; /* all jobs are looked at again meanwhile */
    next_report(ADL_REPORT_NONE);
    adapter_sends(RUNNING("7", "v0"));
    next_report(ADL_REPORT_NONE);
}

#define PLACED(id, crowded)                                                                                            \
    "{\"ev\":\"job\",\"id\":" id                                                                                       \
    ",\"state\":\"PD\",\"ours\":true,\"placed\":true,\"eligible\":false,\"crowded\":" crowded                          \
    ",\"why\":\"placed\",\"request\":\"volta:1\",\"nodes_min\":1}"

static void a_placed_job_is_reported_as_started_when_slurm_runs_it(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    assert_true(slurm.executor.ops->confirms_start);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(PLACED("7", "false"));
    next_report(ADL_REPORT_NONE);
    assert_int_equal(slurm.begin, ADL_REPORT_NONE);
    adapter_sends(RUNNING("7", "v0"));
    next_report(ADL_REPORT_NONE);
    assert_int_equal(slurm.begin, ADL_REPORT_STARTED);
}

static void a_job_whose_node_was_taken_by_others_is_placed_elsewhere(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(PLACED("7", "true"));
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received_nothing_of("\"op\":\"hold\""));
    slurm.now_us += 3 * S;
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received("\"op\":\"hold\",\"seq\":2,\"job\":7"));
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"exclude\":[\"v0\"]}");
    assert_string_equal(next_report(ADL_REPORT_REQUEUED).text, "it did not begin where it was placed");
    service_starts(&job, slot, 0); /* the policy knows types, and not nodes */
    assert_true(adapter_received("\"op\":\"place\",\"seq\":3,\"job\":7,\"nodes\":[{\"node\":\"v1\",\"gpus\":1}]"));
}

static void a_job_whose_demand_changes_is_queued_anew(void **state)
{
    (void)state;
    uint32_t slot;
    service_takes(1, 7, PENDING("7"), &slot);
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":2}");
    struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
    assert_string_equal(report.text, "what it asks for was changed: it is queued again");
    slurm.executor.ops->withdraw(slurm.executor.self, slot);
    slurm.executor.ops->forget(slurm.executor.self, 1, 1);
    report = next_report(ADL_REPORT_ARRIVED);
    assert_true(report.submit.arrival->external == 7);
    assert_int_equal(report.submit.spec->gpus, 2);
}

static void a_job_that_runs_elsewhere_is_reported_with_its_gpus(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "v1"));
    const struct adl_report report = next_report(ADL_REPORT_CLUSTER_STARTED);
    assert_int_equal(report.running.gpu_count, 1);
    assert_int_equal(report.running.gpus[0], 2);
    assert_int_equal(report.slot, slot);
}

static void a_job_that_ran_before_the_service_started_is_taken_over(void **state)
{
    (void)state;
    uint32_t slot;
    service_takes(1, 7, RUNNING("7", "v1"), &slot);
    const struct adl_report report = next_report(ADL_REPORT_CLUSTER_STARTED);
    assert_int_equal(report.running.gpu_count, 1);
    assert_int_equal(report.running.gpus[0], 2);
}

static void a_cancelled_job_that_slurm_still_has_is_cancelled_again_and_does_not_come_back(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    slurm.executor.ops->drop(slurm.executor.self, &job, "not needed");
    slurm.executor.ops->withdraw(slurm.executor.self, slot);
    assert_true(adapter_received("\"op\":\"cancel\",\"seq\":1,\"job\":7"));
    slurm.now_us += 4 * S;
    adapter_sends(PENDING("7"));
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received("\"op\":\"cancel\",\"seq\":2,\"job\":7"));
    adapter_sends(ENDED("7", "CA"));
    next_report(ADL_REPORT_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, slurm_double_setup, slurm_double_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_is_placed_runs_and_ends),
        TEST(a_job_cancelled_before_it_had_a_slot_is_not_placed_for_ever),
        TEST(a_job_that_its_user_holds_may_not_start),
        TEST(a_placed_job_that_is_held_is_requeued),
        TEST(a_message_from_before_a_placement_does_not_undo_it),
        TEST(a_placed_job_is_reported_as_started_when_slurm_runs_it),
        TEST(a_job_whose_node_was_taken_by_others_is_placed_elsewhere),
        TEST(a_job_whose_demand_changes_is_queued_anew),
        TEST(a_job_that_runs_elsewhere_is_reported_with_its_gpus),
        TEST(a_job_that_ran_before_the_service_started_is_taken_over),
        TEST(a_cancelled_job_that_slurm_still_has_is_cancelled_again_and_does_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
