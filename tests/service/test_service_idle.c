/* Jobs that hold GPUs and do not use them, in a running service: shown, told to their owners, counted, and stopped only
 * if the configuration says so. The driver is a stub that reads from a file how busy its GPUs are. */
#include "service_check.h"

#define FIRST  "GPU-11111111-2222-3333-4444-555555555555"
#define SECOND "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"

/* How busy both GPUs are, in percent. */
static void set_busy(unsigned first, unsigned second)
{
    char text[400];
    snprintf(text, sizeof text, FIRST " 40960 %u 35 55000 0 0\n" SECOND " 40960 %u 71 312000 0 0\n", first, second);
    assert_true(service_write("gpus.new", text));
    assert_int_equal(rename(service_path("gpus.new"), service_path("gpus")), 0);
}

static void start_idle(const char *idle, unsigned first, unsigned second)
{
    char yaml[500];
    snprintf(yaml, sizeof yaml,
             "telemetry: {interval_s: 0.1, nvml: %s/stub_nvml.so, sysfs: /nowhere}\njobs: {grace_s: 1}\nidle: {%s}\n",
             STUB_DIR, idle);
    assert_true(service_make(yaml));
    setenv("STUB_NVML_FILE", service_path("gpus"), 1);
    set_busy(first, second);
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static uint64_t submit_two(const char *name)
{
    char body[300];
    snprintf(body, sizeof body, "{\"command\":[\"sleep\",\"100\"],\"directory\":\"%s\",\"gpus\":2,\"name\":\"%s\"}",
             service.home, name);
    expect(201, body, "POST /v1/jobs");
    return (uint64_t)client_number(&http, "id", 0);
}

static void wait_job(uint64_t id, const char *path, const char *text)
{
    char where[80];
    snprintf(where, sizeof where, "/v1/jobs/%llu%s", (unsigned long long)id, path);
    wait_text(where, text);
}

static void a_job_that_uses_one_of_its_two_gpus_is_shown_told_and_not_stopped(void **state)
{
    (void)state;
    start_idle("after_s: 1.5, stop: true, notice_s: 1", 0, 87);
    const uint64_t id = submit_two("half");
    wait_job(id, "", "\"idle_gpus\":1");
    expect_text("1 of 2 GPUs idle for ");
    expect_text("\"idle_stop_s\":null");
    wait_job(id, "/events", "\"kind\":\"idle\"");
    expect_text("1 of its 2 GPUs were used less than 5 %");
    wait_job(id, "/timeline", "\"phase\":\"idle\"");
    wait_text("/metrics", "adlro_idle_gpus 1\n");
    expect_text("adlro_idle_jobs 1\n");
    expect_text("adlro_user_idle_gpu_seconds_total{user=\"");
    assert_non_null(strstr(service_said(), "1 of its 2 GPUs were used less than 5 %"));
    nap_ms(1500); /* longer than the notice */
    assert_string_equal(job_text(id, "state"), "R");
    set_busy(50, 87);
    wait_job(id, "", "\"idle_gpus\":0");
    wait_job(id, "/events", "\"kind\":\"idle_end\"");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
}

static void lost_gpu_time_outlives_the_job_and_the_service(void **state)
{
    (void)state;
    start_idle("after_s: 1", 0, 0);
    const uint64_t id = submit_two("sleeper");
    wait_job(id, "", "\"idle_gpus\":2");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    wait_for(id, "state", "CA");
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    const double hours = client_number(&http, "idle_gpu_hours", 0);
    assert_true(hours * 3600 >= 2 && hours * 3600 < 60); /* two GPUs, a second at least */
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    assert_true(client_number(&http, "idle_gpu_hours", 0) >= hours * 0.999);
    expect(200, NULL, "GET /v1/users");
    cJSON *json = client_json(&http);
    const cJSON *user = cJSON_GetObjectItemCaseSensitive(json, "users")->child;
    assert_true(cJSON_GetObjectItemCaseSensitive(user, "idle_gpu_hours")->valuedouble >= hours * 0.999);
    cJSON_Delete(json);
}

static void a_job_that_uses_nothing_gets_notice_and_is_then_stopped(void **state)
{
    (void)state;
    start_idle("after_s: 1, stop: true, notice_s: 1.5", 0, 0);
    const uint64_t id = submit_two("idler");
    wait_job(id, "/events", "it will be stopped in ");
    assert_string_equal(job_text(id, "state"), "R");
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    expect_text("will be stopped");
    assert_null(strstr(http.body, "\"idle_stop_s\":null"));
    wait_for(id, "state", "CA");
    assert_non_null(strstr(job_text(id, "reason"), "cancelled: its GPUs were used less than 5 %"));
    wait_text("/metrics", "adlro_idle_jobs_stopped_total 1\n");
}

static void notice_is_taken_back_when_a_gpu_is_used(void **state)
{
    (void)state;
    start_idle("after_s: 1, stop: true, notice_s: 2", 0, 0);
    const uint64_t id = submit_two("late");
    wait_job(id, "/events", "it will be stopped in ");
    set_busy(0, 90);
    wait_job(id, "", "\"idle_stop_s\":null");
    nap_ms(2500);
    assert_string_equal(job_text(id, "state"), "R");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
}

static void nothing_is_looked_for_if_it_is_off_nor_without_a_reading(void **state)
{
    (void)state;
    start_idle("after_s: 0", 0, 0);
    const uint64_t id = submit_two("off");
    wait_for(id, "stage", "running");
    nap_ms(1500);
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    expect_text("\"idle_gpus\":0");
    expect_text("\"idle_gpu_hours\":0");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_job_that_uses_one_of_its_two_gpus_is_shown_told_and_not_stopped),
        SERVICE_TEST(lost_gpu_time_outlives_the_job_and_the_service),
        SERVICE_TEST(a_job_that_uses_nothing_gets_notice_and_is_then_stopped),
        SERVICE_TEST(notice_is_taken_back_when_a_gpu_is_used),
        SERVICE_TEST(nothing_is_looked_for_if_it_is_off_nor_without_a_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
