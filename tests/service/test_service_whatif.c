/* What-if questions to a running service: answers that come true, refusals with reasons, a queue with a bound. */
#include "service_check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* One v100 and one a100, which do not exist: jobs sleep on them. */
static const char two_types[] = "virtual: true\n"
                                "policy: {name: easy}\n"
                                "cluster:\n"
                                "  network_gbs: 1\n"
                                "  nodes:\n"
                                "    - {name: n, cpu_cores: 100, memory_mib: 100000, link_gbs: 16,\n"
                                "       gpus: [{type: v100, count: 1}, {type: a100, count: 1}]}\n"
                                "jobs: {root: true, grace_s: 1}\n";

static double number_at(const char *body, const char *first, const char *second, const char *third)
{
    cJSON *json = cJSON_Parse(body);
    const cJSON *alternative = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "alternatives"), 0);
    const cJSON *at = first ? cJSON_GetObjectItemCaseSensitive(json, first) : alternative;
    at = cJSON_GetObjectItemCaseSensitive(at, second);
    at = third ? cJSON_GetObjectItemCaseSensitive(at, third) : at;
    const double number = cJSON_IsNumber(at) ? at->valuedouble : NAN;
    cJSON_Delete(json);
    return number;
}

/* The second job waits for the v100 that the first one has. */
static uint64_t fill(void)
{
    start_service(two_types);
    const uint64_t first = submit("first", "30", 0, ",\"gpus\":\"v100\",\"time_limit_s\":600");
    wait_for(first, "state", "R");
    return submit("second", "0", 0, ",\"gpus\":\"v100\",\"time_limit_s\":60");
}

static void a_job_that_accepts_an_idle_type_would_start_at_once_and_does(void **state)
{
    (void)state;
    char body[200];
    const uint64_t second = fill();
    snprintf(body, sizeof body, "{\"job\":%llu,\"types\":\"+a100\"}", (unsigned long long)second);
    expect(200, body, "POST /v1/whatif");
    expect_text("allowing a100: starts ");
    expect_text("\"basis\":\"time_limit\""); /* no job has ended that one could learn from */
    assert_true(number_at(http.body, "as_it_is", "start_in_s", "p10") > 0);
    assert_float_equal(number_at(http.body, NULL, "job", "never_starts"), 0, 1e-9);
    assert_float_equal(number_at(http.body, NULL, "sooner", NULL), 1, 1e-9);
    assert_true(number_at(http.body, NULL, "start_s", "hi") < 0);
    snprintf(body, sizeof body, "{\"job\":%llu}", (unsigned long long)second);
    expect(200, body, "POST /v1/whatif");
    expect_text("\"cheapest\":\"allowing a100\"");
    const uint64_t third = submit("third", "0", 0, ",\"gpus\":\"v100:1|a100:1\",\"time_limit_s\":60");
    wait_for(third, "state", "CD"); /* the first still runs */
    assert_string_equal(job_text(second, "state"), "PD");
}

static void what_is_not_possible_is_refused_with_the_reason(void **state)
{
    (void)state;
    char body[200];
    const uint64_t second = fill();
    snprintf(body, sizeof body, "{\"job\":%llu,\"gpus\":9}", (unsigned long long)second);
    expect(200, body, "POST /v1/whatif");
    expect_text("not possible: it can never run");
    snprintf(body, sizeof body, "{\"job\":%llu,\"types\":\"+v100\"}", (unsigned long long)second);
    expect(200, body, "POST /v1/whatif");
    expect_text("not possible: it asks for that already");
    snprintf(body, sizeof body, "{\"job\":%llu,\"types\":\"+v100\",\"gpus\":1,\"time_limit_s\":60}",
             (unsigned long long)second);
    expect(200, body, "POST /v1/whatif");
    expect_text("not possible: it asks for that already");
    expect(200, "{\"job\":1,\"types\":\"+a100\"}", "POST /v1/whatif");
    expect_text("the job runs already");
    expect(400, "{\"job\":1,\"types\":\"+h999\"}", "POST /v1/whatif");
    expect_text("the types are ");
    expect(400, "{\"policy\":\"nosuch\"}", "POST /v1/whatif");
    expect(400, "{\"gpus\":1}", "POST /v1/whatif");
    expect(400, "{\"drain\":\"nosuch\"}", "POST /v1/whatif");
    expect(400, "{\"drain\":\"nosuch\",\"drain_s\":1000}", "POST /v1/whatif");
    expect_text("drain_s: 1000 has passed");
    expect(404, "{\"job\":77}", "POST /v1/whatif");
    expect(200, NULL, "POST /v1/jobs/%llu/hold", (unsigned long long)second);
    snprintf(body, sizeof body, "{\"job\":%llu}", (unsigned long long)second);
    expect(409, body, "POST /v1/whatif");
    expect_text("is not in the queue now");
}

static void a_submission_other_policies_and_more_nodes_can_be_asked_about(void **state)
{
    (void)state;
    fill();
    expect(200, "{\"submit\":{\"command\":[\"true\"],\"directory\":\"/\",\"gpus\":\"v100:1\",\"time_limit_s\":300}}",
           "POST /v1/whatif");
    expect_text("\"change\":\"allowing a100\"");
    expect_text("\"request\":{\"add_type\":\"a100\"}");
    expect(200, NULL, "GET /v1/jobs?state=all");
    assert_null(strstr(http.body, "\"id\":3")); /* nothing was submitted */
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/whatif");
    expect_text("\"change\":\"under sjf\"");
    expect(200, "{\"job\":2,\"add_nodes\":\"1xv100:2\"}", "POST /v1/whatif");
    assert_float_equal(number_at(http.body, NULL, "sooner", NULL), 1, 1e-9);
}

#define LATER 1503 /* 503, and when to ask again */

static void *ask_once(void *answer)
{
    struct service_client client = client_make(service.socket);
    *(int *)answer = client_askf(&client, "{\"policy\":\"sjf\",\"futures\":64}", "POST /v1/whatif");
    if (*(int *)answer == 503 && strstr(client.bytes, "\r\nRetry-After: "))
        *(int *)answer = LATER;
    client_clear(&client);
    return NULL;
}

/* However many ask, each gets an answer, and the service goes on. */
static void many_questions_at_once_are_answered_or_sent_away(void **state)
{
    (void)state;
    enum { ASKERS = 12 };
    pthread_t threads[ASKERS];
    int answers[ASKERS], answered = 0;
    fill();
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &answers[i]), 0);
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(answers[i] == 200 || answers[i] == LATER);
        answered += answers[i] == 200;
    }
    assert_true(answered >= 1);
    expect(200, NULL, "GET /v1/jobs");
}

static void *ask_often(void *answers)
{
    for (int i = 0; i < 4; i++)
        ask_once((int *)answers + i);
    return NULL;
}

/* Whichever policy a fork met, it is played to its end. */
static void questions_are_answered_while_the_policy_changes_under_them(void **state)
{
    static const char *const policies[] = {"fcfs", "adlro", "easy", "srtf"};
    int answers[4], answered = 0;
    char text[sizeof two_types + 20];
    pthread_t thread;
    (void)state;
    fill();
    assert_int_equal(pthread_create(&thread, NULL, ask_often, answers), 0);
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "virtual: true\npolicy: {name: %s}\n%s", policies[i % 4],
                 strstr(two_types, "cluster:"));
        assert_true(service_write("c.yaml", text));
        expect(200, NULL, "POST /v1/reload");
        nap_ms(20);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) {
        assert_true(answers[i] == 200 || answers[i] == LATER);
        answered += answers[i] == 200;
    }
    assert_true(answered >= 1);
    expect(200, "{\"policy\":\"sjf\"}", "POST /v1/whatif");
    expect_text("\"policy\":\"srtf\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_job_that_accepts_an_idle_type_would_start_at_once_and_does),
        SERVICE_TEST(what_is_not_possible_is_refused_with_the_reason),
        SERVICE_TEST(a_submission_other_policies_and_more_nodes_can_be_asked_about),
        SERVICE_TEST(questions_are_answered_while_the_policy_changes_under_them),
        SERVICE_TEST(many_questions_at_once_are_answered_or_sent_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
