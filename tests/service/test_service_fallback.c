/* Predictions that cease to hold, in a running service on a simulated cluster: run times become five times as long, and
 * nothing measures speeds. The service says so, and the fallback policy decides until they hold again. */
#include "predict/belief.h"
#include "service_check.h"
#include "store/store.h"

static void start_twin(const char *more)
{
    char config[300];
    snprintf(config, sizeof config, "engine: sim\nscenario: twin.yaml\nspeed: 10000\nseed: 5\n%s", more);
    assert_true(service_make(config));
    assert_true(service_write(
        "twin.yaml",
        "name: twin\ndescription: run times change\ncatalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
        "cluster:\n  network_gbs: 10\n  nodes:\n"
        "    - {name: n, count: 8, cpu_cores: 64, memory_mib: 500000, link_gbs: 32, gpus: [{type: v100, count: 8}]}\n"
        "workload:\n  jobs: 20000\n  users: 5\n  arrivals: {process: poisson, rate_per_h: 150}\n"
        "  limits: {median_factor: 20, sigma: 0.3}\n  mix:\n"
        "    - {class: resnet50-b64, duration_s: {median: 900, sigma: 0.3, min: 300, max: 3000}, reference: v100, "
        "gpus: [{count: 1}]}\n"
        "drift:\n  updates:\n    - {time_s: 25000, type: v100, factor: 0.2}\n"));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

/* A service that has stored that its predictions do not hold. */
static void start_with_alarm(const char *policy)
{
    struct adl_cluster cluster = {0};
    struct adl_gpu_type type = {.memory_mib = 1, .bandwidth_gbs = 1, .fp32_tflops = 1, .max_w = 1};
    struct adl_belief *belief = NULL;
    struct adl_store *store = NULL;
    struct adl_error err = {""};
    struct adl_text text = {0};
    char config[400];
    snprintf(type.name, sizeof type.name, "v100");
    assert_int_equal(adl_cluster_add_type(&cluster, &type, &err), 0);
    assert_int_equal(adl_belief_create(&cluster, true, &belief), 0);
    struct adl_calibration *calibration = adl_belief_calibration(belief);
    for (int i = 0; i < 3000 && !calibration->alarm; i++)
        adl_calibration_learn(calibration, i < 1000 ? i % 100 * 0.01 : 0.99, i < 1000 ? 1 : 5, 1);
    assert_true(calibration->alarm);
    const struct adl_belief_terms terms = {.cluster = &cluster, .users = ADL_USERS_UID, .dated = true};
    adl_belief_encode(belief, NULL, &terms, &text);
    snprintf(config, sizeof config,
             "virtual: true\ncluster:\n  network_gbs: 1\n  nodes:\n"
             "    - {name: n, cpu_cores: 9, memory_mib: 9000, link_gbs: 16, gpus: [{type: v100, count: 2}]}\n"
             "jobs: {root: true, grace_s: 1}\n%s",
             policy);
    assert_true(service_make(config));
    assert_int_equal(adl_store_open(service_path("state"), ADL_STORE_SERVE, &store, &err), 0);
    const struct adl_store_belief stored = {1, 0, text.data, text.size};
    assert_int_equal(adl_store_belief_set(store, ADL_BELIEF_PRESENT, &stored, &err), 0);
    adl_store_close(store);
    adl_text_clear(&text);
    adl_belief_destroy(belief);
    adl_cluster_clear(&cluster);
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void run_times_five_times_as_long_make_the_fallback_decide(void **state)
{
    (void)state;
    start_twin("policy: {name: sjf}\n");
    wait_text("/v1/health", "\"fallback\":\"easy\"");
    wait_text("/metrics", "adlro_policy_fallback 1\n");
    wait_text("/metrics", "adlro_drift_alarms_total{kind=\"model\"} ");
    assert_null(strstr(http.body, "adlro_drift_alarms_total{kind=\"model\"} 0\n"));
    assert_non_null(strstr(service_read("err"), "predictions of run times do not hold: "));
    assert_non_null(strstr(service_read("err"), "policy easy decides in place of sjf"));
}

static void the_fallback_decides_after_a_restart_too_until_the_administrator_reloads(void **state)
{
    (void)state;
    start_with_alarm("policy: {name: sjf}\n");
    wait_text("/v1/health", "\"configured\":\"sjf\",\"in_force\":\"easy\",\"fallback\":\"easy\",\"fallen_back\":true");
    expect_text("\"proposal\":\"adlro tune JOBS --cluster CLUSTER.yaml --policy sjf --regime learned\"");
    const uint64_t running = submit("runs", "60", 0, "");
    wait_for(running, "state", "R");
    expect(200, NULL, "GET /metrics");
    expect_text("adlro_policy_info{policy=\"easy\"} 1\n");
    expect(200, NULL, "POST /v1/reload"); /* the administrator has seen it */
    wait_text("/v1/health", "\"configured\":\"sjf\",\"in_force\":\"sjf\"");
    expect_text("\"fallen_back\":false");
    wait_for(running, "state", "R"); /* it was not touched */
    assert_int_equal(job_number(running, "attempts"), 1);
}

static void a_policy_that_reads_no_predictions_stays(void **state)
{
    (void)state;
    start_with_alarm("policy: {name: fcfs}\n");
    wait_text("/v1/health", "\"alarm\":true");
    expect_text("\"in_force\":\"fcfs\",\"fallback\":null,\"fallen_back\":false");
}

static void fallback_policy_off_keeps_the_policy(void **state)
{
    (void)state;
    start_with_alarm("policy: {name: sjf}\nfallback_policy: off\n");
    wait_text("/v1/health", "\"alarm\":true");
    expect_text("\"in_force\":\"sjf\",\"fallback\":null,\"fallen_back\":false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(run_times_five_times_as_long_make_the_fallback_decide),
        SERVICE_TEST(the_fallback_decides_after_a_restart_too_until_the_administrator_reloads),
        SERVICE_TEST(a_policy_that_reads_no_predictions_stays),
        SERVICE_TEST(fallback_policy_off_keeps_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
