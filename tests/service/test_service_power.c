/* Power in a running service: caps reach the GPUs through the helper and are restored when the service is killed; a
 * limit is set by request, followed, kept over a restart, and refused where nothing would follow it. */
#include "service_check.h"

#include <sys/stat.h>

#define FIRST  "GPU-11111111-2222-3333-4444-555555555555"
#define SECOND "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"

static void start_capped(void)
{
    char yaml[700];
    snprintf(yaml, sizeof yaml,
             "telemetry: {interval_s: 0.2, nvml: %s/stub_nvml.so, sysfs: /nowhere}\njobs: {grace_s: 1}\n"
             "policy: {name: gogh, power_caps: [0.5]}\npower: {helper: %s, allow: allow}\n",
             STUB_DIR, ADL_POWERCAP);
    assert_true(service_make(yaml));
    assert_true(service_write("allow", "* 100 400\n"));
    assert_int_equal(chmod(service_path("allow"), 0600), 0);
    assert_true(service_write("gpus", FIRST " 40960 99 60 390000 0 0\n" SECOND " 40960 99 60 390000 0 0\n"));
    setenv("STUB_NVML_FILE", service_path("gpus"), 1);
    setenv("STUB_NVML_LIMITS", service.home, 1);
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void await_limits(const char *one, const char *other)
{
    for (int i = 0; i < 1500; i++) {
        char first[40];
        snprintf(first, sizeof first, "%s", service_read(FIRST));
        const char *second = service_read(SECOND);
        if (strcmp(first, one) == 0 && strcmp(second, other) == 0)
            return;
        nap_ms(10);
    }
    fail_msg("limits are '%s' and '%s'; %s", service_read(FIRST), service_read(SECOND), service_said());
}

static void caps_reach_the_gpus_and_are_restored_when_the_service_is_killed(void **state)
{
    (void)state;
    start_capped();
    submit("one", "100", 0, "");
    submit("two", "100", 0, "");
    expect(200, "{\"limit_w\":450}", "POST /v1/power-limit");
    expect_text("\"limit_w\":450,\"source\":\"request\",\"until_s\":null,\"followed\":true,\"policy\":\"gogh\"");
    await_limits("200000\n", "200000\n");
    wait_text("/v1/cluster", "\"cap_w\":200");
    assert_non_null(strstr(service_said(), "all GPUs together may draw 450 W"));
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
    await_limits("400000\n", "400000\n");
    start_again(); /* the request was acknowledged, so it counts again */
    wait_text("/v1/power-limit", "\"limit_w\":450,\"source\":\"request\"");
    await_limits("200000\n", "200000\n");
    expect(200, "{\"limit_w\":null}", "POST /v1/power-limit");
    expect_text("\"limit_w\":0,\"source\":\"none\"");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    await_limits("400000\n", "400000\n");
}

static void a_limit_ends_after_its_time_and_bad_ones_are_refused(void **state)
{
    (void)state;
    start_service("virtual: true\npolicy: {name: gogh}\n");
    expect(200, "{\"limit_w\":5000,\"for_s\":1}", "POST /v1/power-limit");
    expect_text("\"limit_w\":5000");
    wait_text("/v1/power-limit", "\"limit_w\":0,\"source\":\"none\"");
    expect(400, "{\"limit_w\":-5}", "POST /v1/power-limit");
    expect(400, "{\"limit_w\":\"x\"}", "POST /v1/power-limit");
    expect(400, "{\"for_s\":5}", "POST /v1/power-limit");
    expect(400, "{\"limit_w\":5000,\"for_s\":0}", "POST /v1/power-limit");
}

static void a_policy_that_cannot_follow_a_limit_says_so(void **state)
{
    (void)state;
    start_service("virtual: true\npolicy: {name: easy}\n");
    expect(409, "{\"limit_w\":5000}", "POST /v1/power-limit");
    expect_text("policy easy cannot follow a power limit: gogh can");
    expect(200, NULL, "GET /v1/power-limit");
    expect_text("\"followed\":false");
}

static void a_schedule_of_the_day_is_in_force(void **state)
{
    (void)state;
    start_service("virtual: true\npolicy: {name: gogh}\npower: {limits: [{at: '00:00', limit_w: 3000}]}\n");
    wait_text("/v1/power-limit", "\"limit_w\":3000,\"source\":\"schedule\"");
    expect_text("\"schedule\":[{\"minute\":0,\"limit_w\":3000}]");
    expect(200, "{\"limit_w\":0}", "POST /v1/power-limit");
    wait_text("/v1/power-limit", "\"limit_w\":0,\"source\":\"request\"");
    expect(200, "{\"limit_w\":null}", "POST /v1/power-limit");
    wait_text("/v1/power-limit", "\"limit_w\":3000,\"source\":\"schedule\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(caps_reach_the_gpus_and_are_restored_when_the_service_is_killed),
        SERVICE_TEST(a_limit_ends_after_its_time_and_bad_ones_are_refused),
        SERVICE_TEST(a_policy_that_cannot_follow_a_limit_says_so),
        SERVICE_TEST(a_schedule_of_the_day_is_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
