/* test_slurm_refusals: jobs that Slurm would not start, or not on the chosen nodes: limits, refusals, full nodes. */
#include "slurm_double.h"

#include <stdio.h>

static void a_job_that_slurm_refuses_three_times_is_given_back(void **state)
{
    (void)state;
    uint32_t slot;
    struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    for (int i = 1; i <= 3; i++) {
        char line[100];
        service_starts(&job, slot, 0);
        snprintf(line, sizeof line, "{\"ev\":\"done\",\"seq\":%d,\"ok\":false,\"error\":\"no\",\"absent\":false}", i);
        adapter_sends(line);
        assert_string_equal(next_report(ADL_REPORT_INELIGIBLE).text, "Slurm would not place it: no");
        next_report(ADL_REPORT_REQUEUED); /* at once: its GPU is free for others */
        next_report(ADL_REPORT_NONE);
        slurm.now_us += 6 * S;
        assert_string_equal(next_report(ADL_REPORT_ELIGIBLE).text, "");
    }
    assert_true(adapter_received("\"op\":\"giveback\",\"seq\":4,\"job\":7"));
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":false,\"request\":\"volta:1\",\"eligible\":true}");
    const struct adl_report report = next_report(ADL_REPORT_ENDED);
    assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
    slurm.executor.ops->forget(slurm.executor.self, 1, 3);
    adapter_sends("{\"ev\":\"job\",\"id\":7,\"state\":\"R\",\"ours\":false,\"request\":\"volta:1\",\"eligible\":false,"
                  "\"gpus\":[{\"node\":\"v0\",\"type\":\"volta\",\"count\":1}]}");
    next_report(ADL_REPORT_NONE);
}

#define LIMITED(id, why)                                                                                               \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":false,"                \
    "\"why\":\"" why "\",\"request\":\"volta:1\",\"nodes_min\":1}"

static void a_job_beyond_a_limit_arrives_with_the_limit_as_its_reason(void **state)
{
    (void)state;
    adapter_sends(LIMITED("7", "limit of QOS small: 2 GPUs at once (GrpTRES)"));
    struct adl_report report = next_report(ADL_REPORT_ARRIVED);
    assert_string_equal(report.submit.arrival->ineligible, "limit of QOS small: 2 GPUs at once (GrpTRES)");
    const struct adl_job_entry job = service_job(1, 7);
    service_admits(&job);
    next_report(ADL_REPORT_NONE); /* nothing else to say of it */
    adapter_sends(LIMITED("7", "limit of QOS small: 3 GPUs at once (GrpTRES)"));
    report = next_report(ADL_REPORT_INELIGIBLE);
    assert_string_equal(report.text, "limit of QOS small: 3 GPUs at once (GrpTRES)");
    adapter_sends(PENDING("7"));
    report = next_report(ADL_REPORT_ELIGIBLE);
    assert_string_equal(report.text, "");
}

static void a_placement_refused_by_a_limit_does_not_count_as_a_refusal(void **state)
{
    (void)state;
    uint32_t slot;
    struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    for (int i = 1; i <= 4; i++) {
        char line[160];
        service_starts(&job, slot, 0);
        snprintf(line, sizeof line,
                 "{\"ev\":\"done\",\"seq\":%d,\"ok\":false,\"error\":\"limit of QOS q: 1 job at once (GrpJobs)\"}", i);
        adapter_sends(line);
        struct adl_report report = next_report(ADL_REPORT_INELIGIBLE); /* before it is back in the queue */
        assert_string_equal(report.text, "Slurm would not place it: limit of QOS q: 1 job at once (GrpJobs)");
        next_report(ADL_REPORT_REQUEUED);
        adapter_sends(LIMITED("7", "limit of QOS q: 1 job at once (GrpJobs)"));
        assert_string_equal(next_report(ADL_REPORT_INELIGIBLE).text, "limit of QOS q: 1 job at once (GrpJobs)");
        adapter_sends(PENDING("7"));
        report = next_report(ADL_REPORT_ELIGIBLE);
        assert_string_equal(report.text, "");
    }
    assert_true(adapter_received_nothing_of("giveback"));
}

static void a_job_that_fits_on_no_allowed_node_is_given_back_and_never_arrives(void **state)
{
    (void)state;
    adapter_sends("{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"eligible\":true,\"request\":\"volta:1\","
                  "\"exclude\":[\"v0\",\"v1\",\"m0\"]}");
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received("\"op\":\"giveback\",\"seq\":1,\"job\":7"));
}

#define ONLY_M0(id)                                                                                                    \
    "{\"ev\":\"job\",\"id\":" id ",\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","    \
    "\"request\":\"volta:1\",\"nodes_min\":1,\"require\":[\"m0\"]}"

static void a_job_that_requires_a_node_is_placed_there(void **state)
{
    (void)state;
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, ONLY_M0("7"), &slot);
    service_starts(&job, slot, 0);
    assert_true(adapter_received("\"op\":\"place\",\"seq\":1,\"job\":7,\"nodes\":[{\"node\":\"m0\",\"gpus\":1}]"));
    next_report(ADL_REPORT_NONE);
}

static void a_job_whose_nodes_are_full_waits_without_holding_gpus(void **state)
{
    (void)state;
    uint32_t slot, other;
    const struct adl_job_entry first = service_takes(1, 7, ONLY_M0("7"), &slot),
                               second = service_takes(2, 8, ONLY_M0("8"), &other);
    service_starts(&first, slot, 0);
    service_starts(&second, other, 0);
    struct adl_report report = next_report(ADL_REPORT_INELIGIBLE);
    assert_true(report.number == 2);
    assert_string_equal(report.text, "the nodes that it may use are full");
    report = next_report(ADL_REPORT_REQUEUED); /* what was chosen for it is free again at once */
    assert_true(report.number == 2);
    slurm.now_us += 3 * S;
    next_report(ADL_REPORT_NONE);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "m0"));
    report = next_report(ADL_REPORT_CLUSTER_STARTED); /* the service thought it on v0 */
    assert_true(report.number == 1);
    assert_int_equal(report.running.gpus[0], 5);
    adapter_sends(ENDED("7", "CD"));
    report = next_report(ADL_REPORT_ENDED);
    assert_true(report.number == 1);
    report = next_report(ADL_REPORT_ELIGIBLE);
    assert_true(report.number == 2);
    assert_string_equal(report.text, "");
}

static void a_job_whose_nodes_stay_full_is_given_back(void **state)
{
    (void)state;
    uint32_t slot, other;
    const struct adl_job_entry first = service_takes(1, 7, ONLY_M0("7"), &slot),
                               second = service_takes(2, 8, ONLY_M0("8"), &other);
    service_starts(&first, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "m0"));
    next_report(ADL_REPORT_CLUSTER_STARTED);
    service_starts(&second, other, 0);
    next_report(ADL_REPORT_INELIGIBLE);
    next_report(ADL_REPORT_REQUEUED);
    slurm.now_us += 601 * S;
    next_report(ADL_REPORT_NONE);
    assert_true(adapter_received("\"op\":\"giveback\",\"seq\":2,\"job\":8"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, slurm_double_setup, slurm_double_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_slurm_refuses_three_times_is_given_back),
        TEST(a_job_beyond_a_limit_arrives_with_the_limit_as_its_reason),
        TEST(a_placement_refused_by_a_limit_does_not_count_as_a_refusal),
        TEST(a_job_that_fits_on_no_allowed_node_is_given_back_and_never_arrives),
        TEST(a_job_that_requires_a_node_is_placed_there),
        TEST(a_job_whose_nodes_are_full_waits_without_holding_gpus),
        TEST(a_job_whose_nodes_stay_full_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
