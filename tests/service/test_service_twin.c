/* The service on a simulated cluster (engine: sim), as users see it through REST: jobs that end, GPUs that fail and are
 * measured, jobs that say how fast they are. */
#include "service_check.h"

static void start_twin(const char *workload, const char *rest)
{
    char text[2000];
    assert_true(service_make("engine: sim\nscenario: twin.yaml\nspeed: 600\npolicy: {name: fcfs}\n"));
    snprintf(text, sizeof text,
             "name: twin\ndescription: two GPUs\ncatalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
             "cluster:\n  network_gbs: 10\n  nodes:\n"
             "    - {name: n, cpu_cores: 64, memory_mib: 500000, link_gbs: 32, gpus: [{type: v100, count: 2}]}\n"
             "workload:\n  %s\n  arrivals: {process: backlog}\n  mix:\n"
             "    - {class: resnet50-b64, duration_s: {median: 60}, reference: v100, gpus: [{count: 1}]}\n%s",
             workload, rest);
    assert_true(service_write("twin.yaml", text));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void jobs_of_the_scenario_run_and_end(void **state)
{
    (void)state;
    start_twin("jobs: 3", "");
    wait_known(3);
    wait_for(3, "state", "CD");
    assert_true(job_number(3, "run_s") > 0);
    wait_for(1, "state", "CD");
    wait_for(2, "state", "CD");
}

static void a_gpu_is_measured_and_its_job_has_its_energy(void **state)
{
    (void)state;
    start_twin("jobs: 2", "telemetry: {interval_s: 5, dropout: 0, progress: true}\n");
    wait_text("/metrics", "\nadlro_gpu_energy_joules");
    wait_known(1);
    wait_for(1, "state", "CD");
    assert_true(job_number(1, "energy_j") > 0);
}

static void a_gpu_that_fails_stops_its_job_which_runs_again(void **state)
{
    (void)state;
    start_twin("jobs: 200", "faults: {gpu_mtbf_h: 0.05, gpu_repair_h: 0.01}\n");
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    int again = 0;
    while (again == 0) {
        expect(200, NULL, "GET /v1/jobs?state=all&limit=1000");
        cJSON *json = client_json(&http);
        const cJSON *job;
        cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(json, "jobs"))
        {
            const cJSON *attempts = cJSON_GetObjectItemCaseSensitive(job, "attempts");
            again += cJSON_IsNumber(attempts) && attempts->valueint > 1;
        }
        cJSON_Delete(json);
        assert_true(service_now_us() < until_us);
        nap_ms(5);
    }
    wait_text("/v1/decisions", "start");
    wait_text("/v1/cluster", "it failed, in the simulation");
}

static void a_job_that_is_submitted_runs_among_those_of_the_scenario(void **state)
{
    (void)state;
    start_twin("jobs: 2", "");
    const uint64_t mine = submit("mine", "0", 0, ",\"time_limit_s\":600");
    wait_for(mine, "stage", "ended");
    assert_int_equal(count_marks("mine"), 0); /* nothing is executed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(jobs_of_the_scenario_run_and_end),
        SERVICE_TEST(a_gpu_is_measured_and_its_job_has_its_energy),
        SERVICE_TEST(a_gpu_that_fails_stops_its_job_which_runs_again),
        SERVICE_TEST(a_job_that_is_submitted_runs_among_those_of_the_scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
