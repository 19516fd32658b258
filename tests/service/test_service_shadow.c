/* A policy that shadows the one in force, in a running service on a simulated cluster: it is compared, refused,
 * promoted by force, rolled back by hand, and known after a restart. */
#include "service_check.h"
#include <signal.h>

/* Where there is more to do than the cluster can, the queue grows while windows are played: time runs so slowly that
 * the thread sanitizer, ten times as slow, keeps up with it. */
static void start_loaded(const char *more, int rate_per_h)
{
    char config[300], scenario[900];
    snprintf(config, sizeof config, "engine: sim\nscenario: twin.yaml\nspeed: 5000\nseed: 5\n%s", more);
    assert_true(service_make(config));
    snprintf(scenario, sizeof scenario,
             "name: twin\ndescription: a queue\ncatalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
             "cluster:\n  network_gbs: 10\n  nodes:\n"
             "    - {name: n, cpu_cores: 64, memory_mib: 500000, link_gbs: 32, gpus: [{type: v100, count: 8}]}\n"
             "workload:\n  jobs: 20000\n  users: 5\n  arrivals: {process: poisson, rate_per_h: %d}\n"
             "  limits: {median_factor: 3, sigma: 0.3}\n  mix:\n"
             "    - {class: resnet50-b64, duration_s: {median: 600, sigma: 0.9, min: 30, max: 9000}, reference: v100, "
             "gpus: [{count: 1}]}\n",
             rate_per_h);
    assert_true(service_write("twin.yaml", scenario));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

static void start_twin(const char *more)
{
    start_loaded(more, 28);
}

static void wait_windows(void)
{
    const int64_t until_us = service_now_us() + INT64_C(150000000);
    do {
        expect(200, NULL, "GET /v1/shadow");
        if (service_now_us() > until_us)
            fail_msg("no window was played: %.900s", http.body);
        nap_ms(10);
    } while (strstr(http.body, "\"windows\":0,"));
}

/* The service prints it after it began to answer, or when the thread of low priority that plays windows has seen
 * enough: that takes long on a busy machine. */
static void wait_said(const char *words)
{
    const int64_t until_us = service_now_us() + INT64_C(150000000);
    while (!strstr(service_read("err"), words)) {
        if (service_now_us() > until_us)
            fail_msg("it did not say '%s': %s", words, service_said());
        nap_ms(10);
    }
}

static void a_policy_shadows_and_its_promotion_is_refused_with_the_numbers(void **state)
{
    (void)state;
    start_twin("policy: {name: fcfs}\n");
    expect(200, NULL, "GET /v1/shadow");
    expect_text("{\"in_force\":\"fcfs\",\"state\":\"none\"}");
    expect(409, NULL, "POST /v1/promote");
    expect(409, NULL, "DELETE /v1/shadow");
    expect(400, "{\"policy\":\"nobody\"}", "POST /v1/shadow");
    expect_text("there is no policy 'nobody'");
    expect(400, "{\"policy\":\"sjf\",\"options\":{\"nonsense\":\"1\"}}", "POST /v1/shadow");
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/shadow");
    expect_text("\"in_force\":\"fcfs\",\"state\":\"closed\",\"candidate\":\"sjf\"");
    wait_windows();
    expect_text("\"jct_s\":{\"real\":");
    expect(409, NULL, "POST /v1/promote");
    expect_text("it has to be below 0 over 7.0 days");
    wait_text("/metrics", "adlro_shadow_stage 0\n");
    assert_non_null(strstr(service_said(), "policy sjf shadows"));
}

static void a_promoted_policy_decides_and_stop_ends_that(void **state)
{
    (void)state;
    start_twin("policy: {name: fcfs}\n");
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/shadow");
    expect(200, "{\"force\":true}", "POST /v1/promote");
    wait_text("/v1/shadow", "\"in_force\":\"sjf\",\"state\":\"on trial\",\"candidate\":\"sjf\"");
    expect(409, "{\"policy\":\"easy\"}", "POST /v1/shadow");
    wait_windows();
    expect(200, NULL, "DELETE /v1/shadow");
    wait_text("/v1/shadow", "\"in_force\":\"fcfs\",\"state\":\"rolled back\"");
    assert_non_null(strstr(service_said(), "promoted by force"));
}

static void what_is_known_of_a_shadow_survives_a_restart(void **state)
{
    (void)state;
    start_twin("policy: {name: fcfs}\n");
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/shadow");
    expect(200, "{\"force\":true}", "POST /v1/promote");
    wait_text("/v1/shadow", "\"in_force\":\"sjf\",\"state\":\"on trial\"");
    assert_int_equal(service_signal(SIGTERM), 0);
    start_again();
    expect(200, NULL, "GET /v1/shadow");
    expect_text("\"in_force\":\"sjf\",\"state\":\"on trial\",\"candidate\":\"sjf\"");
    assert_null(strstr(http.body, "\"started_at\":null"));
    wait_said("policy sjf (promoted in place of fcfs)");
    expect(200, NULL, "POST /v1/reload");
    wait_text("/v1/shadow", "{\"in_force\":\"fcfs\",\"state\":\"none\"}");
}

static void the_configuration_says_whether_a_candidate_is_promoted_by_itself(void **state)
{
    (void)state;
    start_twin("policy: {name: fcfs}\ngate: auto\n");
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/shadow");
    expect_text("\"gate\":\"auto\",\"started_at\":");
    assert_null(strstr(http.body, "\"started_at\":null"));
    expect(200, "{\"policy\":\"sjf\",\"gate\":\"manual\"}", "POST /v1/shadow");
    expect_text("\"gate\":\"manual\"");
    assert_int_equal(service_signal(SIGTERM), 0);
    assert_true(service_write("c.yaml", "engine: sim\nscenario: twin.yaml\ngate: open\n"));
    assert_false(service_start());
    assert_non_null(strstr(service_said(), "gate"));
}

/* With more to do than 8 GPUs can, who is first decides how long most wait: a few windows show it. It is confirmed
 * after four times as long. */
static void a_better_candidate_is_promoted_by_itself_where_the_gate_says_so(void **state)
{
    (void)state;
    start_loaded("policy: {name: fcfs}\ngate: auto\n", 40);
    expect(200, "{\"policy\":\"sjf\",\"days\":0.5}", "POST /v1/shadow");
    expect_text("\"state\":\"closed\"");
    wait_said("policy sjf may be promoted: a gain is shown, and no guarantee was broken");
    wait_said("policy sjf decides");
    wait_text("/v1/shadow", "\"in_force\":\"sjf\",\"state\":\"confirmed\",\"candidate\":\"sjf\"");
    wait_text("/metrics", "adlro_shadow_promotions_total 1\n");
    wait_text("/metrics", "adlro_shadow_rollbacks_total 0\n");
    assert_null(strstr(service_said(), "promoted by force"));
}

/* Looking ahead shows that the queue gets longer. */
static void a_worse_policy_that_was_promoted_is_rolled_back_by_itself(void **state)
{
    (void)state;
    start_loaded("policy: {name: sjf}\ngate: auto\n", 40);
    expect(200, "{\"policy\":\"fcfs\"}", "POST /v1/shadow");
    wait_windows();
    expect(200, "{\"force\":true}", "POST /v1/promote");
    wait_text("/v1/shadow", "\"in_force\":\"sjf\",\"state\":\"rolled back\",\"candidate\":\"fcfs\"");
    wait_text("/metrics", "adlro_shadow_rollbacks_total 1\n");
    expect(200, NULL, "GET /v1/shadow");
    expect_text("the policy before does better");
    wait_said("policy fcfs is rolled back");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_policy_shadows_and_its_promotion_is_refused_with_the_numbers),
        SERVICE_TEST(a_promoted_policy_decides_and_stop_ends_that),
        SERVICE_TEST(a_better_candidate_is_promoted_by_itself_where_the_gate_says_so),
        SERVICE_TEST(a_worse_policy_that_was_promoted_is_rolled_back_by_itself),
        SERVICE_TEST(the_configuration_says_whether_a_candidate_is_promoted_by_itself),
        SERVICE_TEST(what_is_known_of_a_shadow_survives_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
