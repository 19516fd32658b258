/* /metrics: what it counts, and promtool's opinion of it. */
#include "routes_fixture.h"

static struct adl_text metrics(bool openmetrics)
{
    struct adl_text answer = {0}, page = {0};
    assert_int_equal(fixture_ask(fixture_connect_unix(fixture->http),
                                 openmetrics ? "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text"
                                             : "GET /metrics HTTP/1.1",
                                 NULL, &answer),
                     200);
    assert_non_null(strstr(answer.data, openmetrics ? "application/openmetrics-text" : "text/plain; version=0.0.4"));
    adl_text_put(&page, strstr(answer.data, "\r\n\r\n") + 4);
    adl_text_clear(&answer);
    return page;
}

static void metrics_count_jobs_gpus_and_answers(void **state)
{
    static const char *const lines[] = {
        "adlro_jobs{stage=\"queued\"} 1\n",
        "adlro_jobs_submitted_total 6\n",
        "adlro_jobs_ended_total{end=\"failed\"} 1\n",
        "adlro_gpus{type=\"v100\",state=\"busy\"} 1\n",
        "adlro_gpus{type=\"a100\",state=\"idle\"} 1\n",
        "adlro_gpu_utilization_ratio{gpu=\"0\",id=\"GPU-0\",node=\"box\",type=\"v100\"} 0.75\n",
        "adlro_gpu_energy_joules_total{gpu=\"0\",id=\"GPU-0\",node=\"box\",type=\"v100\"} 5000\n",
        "adlro_gpu_memory_used_bytes{gpu=\"0\",id=\"GPU-0\",node=\"box\",type=\"v100\"} 1048576000\n",
        "adlro_queue_oldest_wait_seconds 90\n",
        "adlro_policy_info{policy=\"easy\"} 1\n",
        "adlro_build_info{version=\"0.1.0\",engine=\"local\"} 1\n",
        "adlro_decision_seconds_count 0\n",
        "\nprocess_resident_memory_bytes ",
        "\nadlro_http_requests_total ",
        "# EOF\n",
    };
    struct adl_text page = metrics(true);
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(page.data, lines[i]))
            fail_msg("'%s' is not in the page:\n%s", lines[i], page.data);
    assert_null(strstr(page.data, "adlro_gpu_temperature_celsius")); /* no GPU says */
    assert_non_null(strstr(page.data, "\nadlro_energy_joules_total 5000\n"));
    adl_text_clear(&page);
}

static void energy_that_nobody_measured_is_not_told_as_none(void **state)
{
    (void)state;
    adl_service_state_lock(&fixture->shared);
    const double energy_j = fixture->shared.counts.energy_j;
    fixture->shared.counts.energy_j = 0;
    adl_service_state_unlock(&fixture->shared);
    struct adl_text page = metrics(true);
    assert_null(strstr(page.data, "adlro_energy_joules"));
    adl_text_clear(&page);
    adl_service_state_lock(&fixture->shared);
    fixture->shared.counts.energy_j = energy_j;
    adl_service_state_unlock(&fixture->shared);
}

static void promtool_accepts_the_page(void **state)
{
    (void)state;
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        print_message("skipped: there is no promtool (package prometheus)\n");
        skip();
    }
    struct adl_text page = metrics(false);
    FILE *pipe = popen("promtool check metrics", "w");
    assert_non_null(pipe);
    fwrite(page.data, 1, page.size, pipe);
    assert_int_equal(pclose(pipe), 0);
    adl_text_clear(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_count_jobs_gpus_and_answers),
        cmocka_unit_test(energy_that_nobody_measured_is_not_told_as_none),
        cmocka_unit_test(promtool_accepts_the_page),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
