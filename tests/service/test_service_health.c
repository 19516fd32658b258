/* GPUs that are below their type, in a running service on a simulated cluster: found, shown, told as events, and
 * drained only if the configuration says so. */
#include "service_check.h"

#include <math.h>

static const char off[] = "engine: sim\nscenario: twin.yaml\nspeed: 15000\nseed: 5\npolicy: {name: fcfs}\n";
static const char on[] =
    "engine: sim\nscenario: twin.yaml\nspeed: 15000\nseed: 5\npolicy: {name: fcfs}\ndrain_slow_gpus: 15\n";

/* Eight GPUs, of which the first is at 60 % from the eighth hour on, for two days. */
static void start_twin(const char *config)
{
    assert_true(service_make(config));
    assert_true(service_write(
        "twin.yaml",
        "name: twin\ndescription: slow GPUs\ncatalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
        "cluster:\n  network_gbs: 10\n  nodes:\n"
        "    - {name: n, cpu_cores: 64, memory_mib: 500000, link_gbs: 32, gpus: [{type: v100, count: 8}]}\n"
        "workload:\n  jobs: 5000\n  users: 5\n  arrivals: {process: backlog}\n  mix:\n"
        "    - {class: resnet50-b64, duration_s: {median: 3000}, reference: v100, gpus: [{count: 1}]}\n"
        "drift: {throttle_share: 0.2, throttle_factor: 0.6, throttle_period_s: 400000}\n"
        "telemetry: {interval_s: 100, dropout: 0, noise: 0.02, progress: true}\n"));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

/* The first GPU of /v1/health, one of its fields as text. */
static const char *slow_gpu(const char *key)
{
    static char text[300];
    expect(200, NULL, "GET /v1/health");
    cJSON *json = client_json(&http);
    const cJSON *gpu = cJSON_GetObjectItemCaseSensitive(json, "gpus")->child;
    const cJSON *value = gpu ? cJSON_GetObjectItemCaseSensitive(gpu, key) : NULL;
    snprintf(text, sizeof text, "%s", value && cJSON_IsString(value) ? value->valuestring : "");
    if (value && cJSON_IsNumber(value))
        snprintf(text, sizeof text, "%.15g", value->valuedouble);
    if (value && cJSON_IsBool(value))
        snprintf(text, sizeof text, "%s", cJSON_IsTrue(value) ? "true" : "false");
    cJSON_Delete(json);
    return text;
}

static double service_time(void)
{
    expect(200, NULL, "GET /v1/cluster");
    cJSON *json = client_json(&http);
    const double now_s = cJSON_GetObjectItemCaseSensitive(json, "now_s")->valuedouble;
    cJSON_Delete(json);
    return now_s;
}

/* Until the service has looked at speeds twice more. */
static void wait_checks(void)
{
    const double until_s = service_time() + 15000 * 0.75;
    while (service_time() < until_s)
        nap_ms(20);
}

static void a_gpu_below_its_type_is_shown_everywhere_and_not_drained_unless_allowed(void **state)
{
    (void)state;
    start_twin(off);
    wait_text("/v1/health", "\"confirmed\":true");
    char name[80] = "";
    snprintf(name, sizeof name, "n:gpu%s ", slow_gpu("gpu"));
    assert_non_null(strstr(slow_gpu("text"), name));
    assert_non_null(strstr(slow_gpu("text"), " below its type"));
    assert_null(strstr(slow_gpu("text"), "since day")); /* a date of the clock */
    wait_text("/v1/cluster", "\"health\":\"n:gpu");
    wait_text("/metrics", "adlro_gpu_speed_ratio{gpu=\"");
    wait_no_text("/metrics", "adlro_drift_alarms_total{kind=\"gpu\"} 0\n");
    expect_text("adlro_drift_alarms_total{kind=\"gpu\"} ");
    wait_checks();
    assert_string_equal(slow_gpu("drained"), "false");
    assert_non_null(strstr(service_said(), " below its type"));
}

static void drain_all_but(const char *slow, const char *verb)
{
    for (int g = 0; g < 8; g++)
        if (g != atoi(slow))
            expect(200, strcmp(verb, "drain") == 0 ? "{\"reason\":\"test\"}" : NULL, "POST /v1/gpus/%d/%s", g, verb);
}

static void a_slow_gpu_is_drained_if_allowed_but_not_as_the_last_of_its_type(void **state)
{
    (void)state;
    char slow[20];
    start_twin(off);
    wait_text("/v1/health", "\"confirmed\":true");
    snprintf(slow, sizeof slow, "%s", slow_gpu("gpu"));
    drain_all_but(slow, "drain");
    assert_true(service_write("c.yaml", on));
    expect(200, NULL, "POST /v1/reload");
    wait_text("/v1/health", "\"drain_slow_gpus\":15");
    wait_checks();
    assert_string_equal(slow_gpu("drained"), "false");
    drain_all_but(slow, "resume");
    wait_text("/v1/health", "\"drained\":true");
    wait_text("/v1/cluster", "drained by adlro: n:gpu");
    expect(200, NULL, "GET /v1/health");
    const char *first = strstr(http.body, "\"drained\":true"); /* one GPU in ten, at least one */
    assert_null(strstr(first + 1, "\"drained\":true"));
}

static void an_administrator_who_resumes_a_slow_gpu_is_obeyed(void **state)
{
    (void)state;
    char slow[20];
    start_twin(on);
    wait_text("/v1/health", "\"drained\":true");
    assert_null(strstr(http.body, "\"drained\":true,\"drained_s\":null"));
    expect(200, NULL, "GET /v1/cluster");
    cJSON *json = client_json(&http);
    const cJSON *gpu;
    slow[0] = '\0';
    cJSON_ArrayForEach(gpu,
                       cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "nodes")->child, "gpus"))
    {
        const char *reason = cJSON_GetObjectItemCaseSensitive(gpu, "reason")->valuestring;
        if (strstr(reason, "drained by adlro"))
            snprintf(slow, sizeof slow, "%d", cJSON_GetObjectItemCaseSensitive(gpu, "gpu")->valueint);
    }
    cJSON_Delete(json);
    assert_true(slow[0] != '\0');
    drain_all_but(slow, "drain"); /* no other is drained in its place */
    expect(200, NULL, "POST /v1/gpus/%s/resume", slow);
    wait_checks();
    expect(200, NULL, "GET /v1/health");
    assert_null(strstr(http.body, "\"drained\":true"));
}

static void what_was_found_outlives_a_restart_and_is_not_told_again(void **state)
{
    (void)state;
    start_twin(off);
    wait_text("/v1/health", "\"confirmed\":true");
    const double since_s = atof(slow_gpu("since_s"));
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    expect(200, NULL, "GET /v1/health");
    expect_text("\"confirmed\":true");
    assert_true(fabs(atof(slow_gpu("since_s")) - since_s) < 600); /* its clock runs 15,000 times as fast as this one */
    expect(200, NULL, "GET /metrics");
    expect_text("adlro_drift_alarms_total{kind=\"gpu\"} 0\n");
    assert_non_null(strstr(service_said(), "; speeds of 8 GPUs"));
}

/* A service that learns no run times finds slow GPUs all the same, and keeps them. */
static void what_was_found_outlives_a_kill_and_a_change_of_learned(void **state)
{
    (void)state;
    char limits[300];
    snprintf(limits, sizeof limits, "%slearned: false\n", off);
    start_twin(limits);
    wait_text("/v1/health", "\"confirmed\":true");
    wait_checks(); /* findings are written when the service has looked */
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
    start_again();
    assert_string_equal(slow_gpu("confirmed"), "true");
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    assert_true(service_write("c.yaml", off));
    start_again();
    assert_string_equal(slow_gpu("confirmed"), "true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_gpu_below_its_type_is_shown_everywhere_and_not_drained_unless_allowed),
        SERVICE_TEST(a_slow_gpu_is_drained_if_allowed_but_not_as_the_last_of_its_type),
        SERVICE_TEST(what_was_found_outlives_a_restart_and_is_not_told_again),
        SERVICE_TEST(what_was_found_outlives_a_kill_and_a_change_of_learned),
        SERVICE_TEST(an_administrator_who_resumes_a_slow_gpu_is_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
