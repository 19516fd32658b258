/* The service on GPUs that drivers tell of: found, watched, given to jobs by their names, avoided while others use
 * them. The driver is a stub that reads what it says from a file. */
#include "service_check.h"

#define FIRST  "GPU-11111111-2222-3333-4444-555555555555"
#define SECOND "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"

/* What the driver says of the second GPU; the first is idle. */
static void tell(unsigned lost, int pid)
{
    char text[400];
    snprintf(text, sizeof text, FIRST " 40960 0 35 55000 0 0\n" SECOND " 40960 87 71 312000 %u %d\n", lost, pid);
    assert_true(service_write("gpus.new", text));
    assert_int_equal(rename(service_path("gpus.new"), service_path("gpus")), 0);
}

static void start_on_gpus(void)
{
    char yaml[400];
    snprintf(yaml, sizeof yaml,
             "telemetry: {interval_s: 0.1, nvml: %s/stub_nvml.so, sysfs: /nowhere}\njobs: {grace_s: 1}\n", STUB_DIR);
    assert_true(service_make(yaml));
    setenv("STUB_NVML_FILE", service_path("gpus"), 1);
    tell(0, 0);
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

/* Waits until the cluster's answer has the text. */
static void await_cluster(const char *text)
{
    for (int i = 0; i < 1000; i++) {
        expect(200, NULL, "GET /v1/cluster");
        if (strstr(http.body, text))
            return;
        nap_ms(10);
    }
    fail_msg("never '%s' in %.1500s", text, http.body);
}

static void gpus_are_found_and_what_they_say_is_shown(void **state)
{
    (void)state;
    start_on_gpus();
    await_cluster("\"utilization\":0.87");
    expect_text("\"virtual\":false");
    expect_text(FIRST);
    expect_text("\"type\":\"a100\"");
    expect_text("\"temperature_c\":71");
    expect_text("\"power_w\":312");
    expect(200, NULL, "GET /metrics");
    expect_text("312");
}

static void a_job_finds_its_gpu_by_the_name_the_driver_has_for_it(void **state)
{
    (void)state;
    start_on_gpus();
    char body[300];
    snprintf(
        body, sizeof body,
        "{\"command\":[\"/bin/sh\",\"-c\",\"echo $CUDA_VISIBLE_DEVICES\"],\"directory\":\"%s\",\"gpus\":\"a100:2\","
        "\"stdout\":\"out\"}",
        service.home);
    expect(201, body, "POST /v1/jobs");
    const uint64_t id = (uint64_t)client_number(&http, "id", 0);
    wait_for(id, "state", "CD");
    assert_string_equal(service_read("out"), FIRST "," SECOND "\n");
}

static void a_gpu_that_somebody_else_uses_is_avoided_until_they_are_gone(void **state)
{
    (void)state;
    start_on_gpus();
    tell(0, getppid()); /* who is nobody of ours */
    await_cluster("\"state\":\"occupied\"");
    const uint64_t first = submit("first", "0.3", 0, ""), second = submit("second", "0", 0, "");
    wait_for(first, "stage", "running");
    assert_string_equal(job_text(second, "state"), "PD");
    wait_for(second, "state", "CD");
    assert_true(job_number(second, "start_s") >= job_number(first, "end_s"));
    tell(0, 0);
    for (int i = 0; i < 1000; i++) {
        expect(200, NULL, "GET /v1/cluster");
        if (!strstr(http.body, "occupied\""))
            break;
        nap_ms(10);
    }
    const uint64_t third = submit("third", "0.3", 0, ""), fourth = submit("fourth", "0.3", 0, "");
    wait_for(third, "stage", "running");
    wait_for(fourth, "stage", "running");
}

/* Who is whose is looked up at every sample, also of jobs that end in that moment. */
static void short_jobs_all_end_while_processes_are_being_sorted(void **state)
{
    (void)state;
    uint64_t last = 0;
    start_on_gpus();
    tell(0, getppid());
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "short%d", i);
        last = submit(name, "0", 0, "");
    }
    for (uint64_t id = last - 59; id <= last; id++)
        wait_for(id, "state", "CD");
}

static void our_own_process_on_a_gpu_is_not_somebody_elses(void **state)
{
    (void)state;
    start_on_gpus();
    const uint64_t id = submit("mine", "0.6", 0, "");
    tell(0, marked_pid("mine"));
    nap_ms(300); /* three samples */
    expect(200, NULL, "GET /v1/cluster");
    assert_null(strstr(http.body, "\"state\":\"occupied\""));
    wait_for(id, "state", "CD");
}

static void a_gpu_that_is_lost_takes_no_jobs_and_comes_back(void **state)
{
    (void)state;
    start_on_gpus();
    tell(1, 0);
    await_cluster("\"state\":\"lost\"");
    expect_text("its driver says that it is lost");
    tell(0, 0);
    await_cluster("\"lost\":0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(gpus_are_found_and_what_they_say_is_shown),
        SERVICE_TEST(a_job_finds_its_gpu_by_the_name_the_driver_has_for_it),
        SERVICE_TEST(a_gpu_that_somebody_else_uses_is_avoided_until_they_are_gone),
        SERVICE_TEST(short_jobs_all_end_while_processes_are_being_sorted),
        SERVICE_TEST(our_own_process_on_a_gpu_is_not_somebody_elses),
        SERVICE_TEST(a_gpu_that_is_lost_takes_no_jobs_and_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
