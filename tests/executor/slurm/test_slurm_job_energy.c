/* test_slurm_job_energy: the energy of jobs and the power of GPUs from the meters of nodes. */
#include "slurm_double.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define METER(kind, used, read_s, joules, watts)                                                                       \
    "{\"ev\":\"node\",\"name\":\"v0\",\"usable\":true,\"why\":\"\",\"gpus\":[{\"type\":\"volta\",\"count\":2,"         \
    "\"used\":" used "}],\"meter\":\"" kind "\",\"read_s\":" read_s ",\"joules\":" joules ",\"watts\":" watts "}"

static void assert_power(uint32_t gpu, double watts, bool blurred)
{
    const struct adl_report report = next_report(ADL_REPORT_SAMPLE);
    assert_int_equal(report.gpu, gpu);
    assert_true(fabs((double)report.sample.readings.value[ADL_READ_POWER] - watts) < 0.01);
    assert_true(report.sample.blurred == blurred);
}

/* On GPU 0 of v0 since 1000 s, at 200 W; 20 W each, as the catalogue says, is what the node draws idle. At the last
 * reading, which is taken to be of 1010.5 s, it had drawn 1800 J since the first. */
static struct adl_job_entry run_metered(const char *kind, bool power)
{
    uint32_t slot;
    const struct adl_job_entry job = service_takes(1, 7, PENDING("7"), &slot);
    service_starts(&job, slot, 0);
    adapter_sends("{\"ev\":\"done\",\"seq\":1,\"ok\":true}");
    adapter_sends(RUNNING("7", "v0"));
    next_report(ADL_REPORT_NONE);
    slurm.now_us += 11 * S;
    char line[400];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, METER("%s", "1", "%d", "%d", "220"), kind, 1000 + 10 * i, 5000 + 2000 * i);
        adapter_sends(line);
        if (power) {
            assert_power(0, 200, false);
            assert_power(1, 20, false);
        }
    }
    next_report(ADL_REPORT_NONE);
    return job;
}

static void the_energy_of_a_job_is_reported_at_its_end(void **state)
{
    (void)state;
    run_metered("gpus", true);
    slurm.now_us += S / 2; /* a second later than the reading */
    adapter_sends(ENDED("7", "CD"));
    assert_true(fabs(next_report(ADL_REPORT_ENDED).outcome.energy_j - 2000) < 0.01);
}

static void a_meter_of_the_whole_node_gives_energy_of_jobs_and_no_power_of_gpus(void **state)
{
    (void)state;
    run_metered("node", false);
    adapter_sends(ENDED("7", "CD"));
    assert_true(fabs(next_report(ADL_REPORT_ENDED).outcome.energy_j - 1900) < 0.01);
}

static void a_meter_of_cpus_gives_nothing(void **state)
{
    (void)state;
    run_metered("cpus", false);
    adapter_sends(ENDED("7", "CD"));
    assert_true(next_report(ADL_REPORT_ENDED).outcome.energy_j == 0);
}

static void energy_of_earlier_runs_is_added(void **state)
{
    (void)state;
    struct adl_job_entry job = run_metered("gpus", true);
    slurm.now_us = 1010 * S + S / 2;
    adapter_sends(
        "{\"ev\":\"job\",\"id\":7,\"state\":\"PD\",\"ours\":true,\"placed\":false,\"eligible\":true,\"why\":\"\","
        "\"request\":\"volta:1\",\"nodes_min\":1,\"restarts\":1}");
    next_report(ADL_REPORT_INELIGIBLE);
    assert_true(fabs(next_report(ADL_REPORT_REQUEUED).requeue.energy_j - 1800) < 0.01);
    job.energy_j = 1000; /* as if it had been read from the store after a restart */
    slurm.executor.ops->introduce(slurm.executor.self, &job);
    adapter_sends(ENDED("7", "CA"));
    struct adl_report report;
    do { /* it may be allowed to start before */
        while (slurm.executor.ops->poll(slurm.executor.self, slurm.now_us, &report, NULL) != 1)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    } while (report.kind != ADL_REPORT_ENDED);
    assert_true(fabs(report.outcome.energy_j - 2800) < 0.01);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, slurm_double_setup, slurm_double_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_energy_of_a_job_is_reported_at_its_end),
        TEST(a_meter_of_the_whole_node_gives_energy_of_jobs_and_no_power_of_gpus),
        TEST(a_meter_of_cpus_gives_nothing),
        TEST(energy_of_earlier_runs_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
