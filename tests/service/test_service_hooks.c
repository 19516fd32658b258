/* Hooks of a running service: a page on loopback and a fake sendmail are told of jobs that end, of idle GPUs and of a
 * lost one; the metrics count it, and no log has the secret. */
#include "http_server.h"
#include "service_check.h"

#include <sys/stat.h>

#define FIRST  "GPU-11111111-2222-3333-4444-555555555555"
#define SECRET "staple-of-the-secret"

static struct http_server page;

static void tell(unsigned busy, unsigned lost)
{
    char text[300];
    snprintf(text, sizeof text, FIRST " 40960 %u 35 55000 %u 0\n", busy, lost);
    assert_true(service_write("gpus.new", text));
    assert_int_equal(rename(service_path("gpus.new"), service_path("gpus")), 0);
}

static void start_hooked(const char *events)
{
    char yaml[900], script[300];
    server_start(&page);
    snprintf(yaml, sizeof yaml,
             "telemetry: {interval_s: 0.1, nvml: %s/stub_nvml.so, sysfs: /nowhere}\nidle: {after_s: 1}\n"
             "jobs: {grace_s: 1}\nsendmail: {program: sendmail}\nhooks:\n"
             "  - {events: [%s], webhook: '%s', secret_file: secret}\n"
             "  - {events: [job_end, idle], mail: owner}\n",
             STUB_DIR, events, page.url);
    assert_true(service_make(yaml));
    snprintf(script, sizeof script, "#!/bin/sh\necho \"$*\" >>%s\ncat >>%s\n", service_path("mails"),
             service_path("mails"));
    assert_true(service_write("sendmail", script));
    assert_int_equal(chmod(service_path("sendmail"), 0755), 0);
    assert_true(service_write("secret", SECRET "\n"));
    setenv("STUB_NVML_FILE", service_path("gpus"), 1);
    tell(0, 0);
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void wait_post(const char *text)
{
    char request[8192] = "";
    for (int i = 0; i < 1000; i++) {
        server_last(&page, request, sizeof request);
        if (strstr(request, text))
            return;
        nap_ms(10);
    }
    fail_msg("never '%s' in %s", text, request);
}

static void jobs_that_end_and_idle_gpus_are_told_to_a_page_and_their_owner(void **state)
{
    (void)state;
    start_hooked("job_end, idle");
    const uint64_t id = submit("sleeper", "30", 0, "");
    wait_post("\"event\":\"idle\",\"what\":\"idle\"");
    wait_post("X-Adlro-Secret: " SECRET);
    wait_post("1 of its 1 GPUs were used less than 5 %");
    expect(200, NULL, "DELETE /v1/jobs/%llu", (unsigned long long)id);
    wait_post("\"event\":\"job_end\",\"what\":\"end\"");
    wait_post("\"name\":\"sleeper\"");
    wait_post("\"state\":\"CA\"");
    wait_text("/metrics", "adlro_hook_deliveries_total{kind=\"mail\",result=\"sent\"} 2\n");
    expect_text("adlro_hook_deliveries_total{kind=\"webhook\",result=\"sent\"} 2\n");
    expect_text("adlro_hook_queue 0\n");
    assert_non_null(strstr(service_read("mails"), "Subject: adlro: job 1: end\n"));
    assert_null(strstr(service_said(), SECRET));
    server_stop(&page);
}

static void a_lost_gpu_is_an_alert(void **state)
{
    (void)state;
    start_hooked("alert");
    wait_text("/v1/cluster", "\"utilization\":0");
    tell(0, 1);
    wait_post("\"event\":\"alert\",\"what\":\"gpu_down\"");
    tell(0, 0);
    wait_post("\"event\":\"alert\",\"what\":\"gpu_up\"");
    server_stop(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(jobs_that_end_and_idle_gpus_are_told_to_a_page_and_their_owner),
        SERVICE_TEST(a_lost_gpu_is_an_alert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
