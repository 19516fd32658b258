/* When waiting jobs will start, as the service says: on a twin with a long queue, which all tests use one after the
 * other. */
#include "service_check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_US INT64_C(60000000)
#define OPTIONS     "interval_s: 0.1, cpu_share: 0.5, futures: 4"

static int64_t begin_us; /* when the service was started */

static void write_config(const char *policy, const char *learned, const char *forecast)
{
    char text[300];
    snprintf(text, sizeof text,
             "engine: sim\nscenario: twin.yaml\nspeed: 600\npolicy: {name: %s}\nlearned: %s\nforecast: {%s}\n", policy,
             learned, forecast);
    assert_true(service_write("c.yaml", text));
}

static void reload(const char *policy, const char *forecast)
{
    write_config(policy, "true", forecast);
    expect(200, NULL, "POST /v1/reload");
}

/* Two GPUs, a few jobs that end soon, and many that take long. */
static void start_twin(void)
{
    assert_true(service_make(""));
    write_config("fcfs", "false", OPTIONS);
    assert_true(service_write(
        "twin.yaml",
        "name: twin\ndescription: two GPUs\ncatalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
        "cluster:\n  network_gbs: 10\n  nodes:\n"
        "    - {name: n, cpu_cores: 64, memory_mib: 500000, link_gbs: 32, gpus: [{type: v100, count: 2}]}\n"
        "workload:\n  jobs: 24\n  arrivals: {process: backlog}\n  mix:\n"
        "    - {class: resnet50-b64, duration_s: {median: 60}, reference: v100, gpus: [{count: 1}]}\n"));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
    wait_known(24);
    submit("long", "0", 0, ",\"time_limit_s\":72000,\"array\":\"0-59\"");
}

/* Of the last answer; -1 if it is null or absent. */
static double number_in(const cJSON *json, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(value) ? value->valuedouble : -1;
}

static const char *text_in(const cJSON *json, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsString(value) ? value->valuestring : "";
}

/* Waits for a list of waiting jobs in which at least so many have a forecast on this basis, made after a time. */
static cJSON *wait_forecasts(int least, const char *basis, double after_s)
{
    for (const int64_t until_us = service_now_us() + PATIENCE_US;;) {
        expect(200, NULL, "GET /v1/jobs?state=PD&limit=1000");
        cJSON *json = client_json(&http);
        const cJSON *job;
        int count = 0;
        cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(json, "jobs"))
        {
            count += number_in(job, "start_p50") > 0 && strcmp(text_in(job, "start_basis"), basis) == 0 &&
                     number_in(job, "forecast_at") > after_s;
        }
        if (count >= least)
            return json;
        cJSON_Delete(json);
        if (service_now_us() > until_us)
            fail_msg("%d forecasts from %s instead of %d: %.500s", count, basis, least, http.body);
        nap_ms(20);
    }
}

static double cluster_number(const char *key)
{
    expect(200, NULL, "GET /v1/cluster");
    cJSON *json = client_json(&http);
    const double value = number_in(cJSON_GetObjectItemCaseSensitive(json, "forecast"), key);
    cJSON_Delete(json);
    return value;
}

/* The first job of a list that has a forecast on this basis. */
static const cJSON *first_of(const cJSON *json, const char *basis)
{
    const cJSON *job;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(json, "jobs"))
    {
        if (strcmp(text_in(job, "start_basis"), basis) == 0 && number_in(job, "start_p50") > 0)
            return job;
    }
    return NULL;
}

static void forecasts_rest_on_time_limits_until_run_times_are_learned(void **state)
{
    (void)state;
    begin_us = service_now_us();
    start_twin();
    cJSON *json = wait_forecasts(10, "time_limit", 0);
    const cJSON *job = first_of(json, "time_limit");
    assert_true(number_in(job, "start_p50") == number_in(job, "start_p90"));
    assert_true(number_in(job, "end_p50") > number_in(job, "start_p50"));
    cJSON_Delete(json);
    for (uint64_t id = 1; id <= 24; id++)
        wait_for(id, "stage", "ended");
    reload("fcfs", OPTIONS);
    json = wait_forecasts(10, "futures", 0);
    cJSON_Delete(json);
    assert_true(cluster_number("ended_jobs") >= cluster_number("ended_jobs_needed"));
}

static void a_forecast_is_ordered_and_dated_and_follows_events(void **state)
{
    (void)state;
    cJSON *json = wait_forecasts(10, "futures", 0), *next;
    const cJSON *job;
    double made_s = 0;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(json, "jobs"))
    {
        const double p50 = number_in(job, "start_p50"), p90 = number_in(job, "start_p90");
        if (p50 < 0 || strcmp(text_in(job, "start_basis"), "futures") != 0)
            continue;
        made_s = number_in(job, "forecast_at");
        assert_true(p50 <= p90 && made_s > 0 && made_s < p50);
        assert_true(number_in(job, "end_p50") > p50 && number_in(job, "end_p90") >= p90);
    }
    cJSON_Delete(json);
    /* In the queue twice, as it accepts one GPU or two: it has one forecast. */
    const uint64_t mine = submit("mine", "0", 0, ",\"time_limit_s\":600,\"gpus\":\"v100:2|v100:1\"");
    next = wait_forecasts(10, "futures", made_s);
    cJSON_Delete(next);
    for (const int64_t until_us = service_now_us() + PATIENCE_US; job_number(mine, "start_p50") <= 0; nap_ms(20)) {
        if (service_now_us() > until_us || strcmp(job_text(mine, "state"), "PD") != 0)
            fail_msg("the submitted job has no forecast: %.300s", http.body);
    }
}

/* Each copy is followed by 49 times as long without one. */
static void copies_for_forecasts_take_a_fiftieth_of_the_time(void **state)
{
    (void)state;
    cJSON_Delete(wait_forecasts(10, "futures", 0));
    expect(200, NULL, "GET /metrics");
    const double passed_s = (double)(service_now_us() - begin_us) * 1e-6;
    double copy_s = -1, longest_s = -1, cpu_s = -1;
    const char *at = strstr(http.body, "\nadlro_engine_copy_seconds_total ");
    assert_true(at && sscanf(at, "\nadlro_engine_copy_seconds_total %lf", &copy_s) == 1);
    at = strstr(http.body, "\nadlro_engine_copy_longest_seconds ");
    assert_true(at && sscanf(at, "\nadlro_engine_copy_longest_seconds %lf", &longest_s) == 1);
    at = strstr(http.body, "\nadlro_forecast_cpu_seconds_total ");
    assert_true(at && sscanf(at, "\nadlro_forecast_cpu_seconds_total %lf", &cpu_s) == 1 && cpu_s > 0);
    assert_true(copy_s <= passed_s / 50 + longest_s);
    expect_text("adlro_forecast_age_seconds");
    expect_text("adlro_forecast_within_total{quantile=\"0.9\"}");
}

static void a_reload_changes_the_policy_under_forecasts_or_switches_them_off(void **state)
{
    (void)state;
    cJSON *json = wait_forecasts(10, "futures", 0);
    double made_s = number_in(first_of(json, "futures"), "forecast_at");
    cJSON_Delete(json);
    for (int i = 0; i < 2; i++) {
        reload(i % 2 ? "easy" : "sjf", OPTIONS);
        json = wait_forecasts(10, "futures", made_s);
        made_s = number_in(first_of(json, "futures"), "forecast_at");
        cJSON_Delete(json);
    }
    reload("fcfs", "futures: 0");
    for (const int64_t until_us = service_now_us() + PATIENCE_US;; nap_ms(20)) {
        expect(200, NULL, "GET /v1/jobs?state=PD&limit=1000");
        json = client_json(&http);
        const bool any = first_of(json, "futures") != NULL;
        cJSON_Delete(json);
        if (!any)
            break;
        assert_true(service_now_us() < until_us);
    }
    assert_true(cluster_number("jobs") < 0);
}

static void the_service_ends_while_futures_are_played(void **state)
{
    (void)state;
    reload("fcfs", "interval_s: 0.1, cpu_share: 1, futures: 256");
    cJSON_Delete(wait_forecasts(1, "futures", 0));
    assert_int_equal(service_signal(SIGTERM), 0);
}

static void the_queue_lists_expected_starts_as_squeue_does(void **state)
{
    (void)state;
    char command[400], line[300], before[32] = "";
    cJSON_Delete(wait_forecasts(10, "futures", 0));
    snprintf(command, sizeof command, "%s queue --start --socket %s 2>&1", ADL_PROGRAM, service.socket);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    int rows = 0;
    bool titles = false, dated = false;
    while (fgets(line, sizeof line, out)) {
        char state_word[8], p50[32], p90[32];
        titles = titles || strstr(line, "ST START_TIME          START_P90           GPUS");
        dated = dated || strstr(line, "as of 20");
        if (sscanf(line, "%*s %*s %*s %7s %31s %31s", state_word, p50, p90) != 3 || strcmp(state_word, "PD") != 0 ||
            strcmp(p50, "N/A") == 0)
            continue;
        assert_true(strcmp(before, p50) <= 0 && (strcmp(p90, "N/A") == 0 || strcmp(p50, p90) <= 0));
        snprintf(before, sizeof before, "%s", p50);
        rows++;
    }
    assert_int_equal(pclose(out), 0);
    assert_true(titles && dated && rows >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecasts_rest_on_time_limits_until_run_times_are_learned),
        cmocka_unit_test(a_forecast_is_ordered_and_dated_and_follows_events),
        cmocka_unit_test(copies_for_forecasts_take_a_fiftieth_of_the_time),
        cmocka_unit_test(the_queue_lists_expected_starts_as_squeue_does),
        cmocka_unit_test(a_reload_changes_the_policy_under_forecasts_or_switches_them_off),
        cmocka_unit_test(the_service_ends_while_futures_are_played),
    };
    return cmocka_run_group_tests(tests, NULL, remove_service);
}
