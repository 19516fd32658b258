/* Why the running service starts and stops jobs, as people see it: events, decisions and times that add up. */
#include "service_check.h"

#include <math.h>

/* Where an event of a job is, with its time and what it says. */
static struct told {
    double time_s;
    char why[400];
} told[16];

/* The events of one kind, in order; how many. The event of the submission has no reason. */
static int gather(uint64_t id, const char *kind)
{
    int count = 0;
    expect(200, NULL, "GET /v1/jobs/%llu/events", (unsigned long long)id);
    cJSON *json = client_json(&http);
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(json, "events"))
    {
        const char *it = json_string(event, "kind");
        if (!it || strcmp(it, kind) != 0 || count == 16)
            continue;
        const char *why = json_string(cJSON_GetObjectItemCaseSensitive(event, "data"), "why");
        told[count].time_s = json_number(event, "time_s", -1);
        snprintf(told[count++].why, sizeof told->why, "%s", why ? why : "");
    }
    cJSON_Delete(json);
    return count;
}

/* What "waited 12 s", "waited 3 min" says, in seconds. */
static double waited_s(const char *why)
{
    const char *at = strstr(why, "; waited ");
    double number = -1;
    char unit[8] = "";
    if (!at || sscanf(at, "; waited %lf %7s", &number, unit) != 2)
        fail_msg("no wait in '%s'", why);
    return strcmp(unit, "min") == 0 ? 60 * number : number;
}

/* A start is in memory before it is in the state. */
static void wait_for_starts(uint64_t id, int count)
{
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    while (gather(id, "start") < count && service_now_us() < until_us)
        nap_ms(3);
    assert_int_equal(gather(id, "start"), count);
}

static uint64_t evicted_job(uint64_t *ret_short)
{
    start_service(service_slots_yaml(1, "policy: {name: srtf-strict}\n"));
    const uint64_t id = submit("long", "60", 0, ",\"requeue\":true,\"time_limit_s\":90000");
    marked_pid("long");
    nap_ms(700);
    *ret_short = submit("short", "0.5", 0, ",\"time_limit_s\":60");
    wait_for(*ret_short, "state", "R");
    return id;
}

/* The wait that the last start tells is what the events say: until the first start, and from each end of an attempt. */
static void check_wait(uint64_t id)
{
    struct told submitted, evicted;
    assert_int_equal(gather(id, "submit"), 1);
    submitted = told[0];
    assert_int_equal(gather(id, "evict"), 1);
    evicted = told[0];
    wait_for_starts(id, 2);
    const double ran_s = evicted.time_s - told[0].time_s;
    const double expected_s = told[0].time_s - submitted.time_s + told[1].time_s - evicted.time_s;
    const double said_s = waited_s(told[1].why), rounding_s = said_s >= 120 ? 31 : said_s >= 10 ? 0.6 : 0.1;
    assert_true(ran_s >= 0.6);
    if (fabs(said_s - expected_s) > rounding_s)
        fail_msg("it waited %.2f s and ran %.2f s before, but is told '%s'", expected_s, ran_s, told[1].why);
}

static void a_stop_names_the_job_that_gets_the_gpu_and_a_wait_leaves_out_what_the_job_ran(void **state)
{
    (void)state;
    uint64_t next;
    char words[80];
    const uint64_t id = evicted_job(&next);
    assert_int_equal(gather(id, "preempt"), 1);
    snprintf(words, sizeof words, "srtf-strict: makes room for job %llu, which has 60 s left (this one 25.0 h)",
             (unsigned long long)next);
    assert_string_equal(told[0].why, words);
    expect(200, NULL, "GET /v1/decisions?limit=10");
    expect_text(words);
    wait_for_starts(next, 1);
    snprintf(words, sizeof words, "srtf-strict: the jobs that were stopped for it have left; waited ");
    if (strncmp(told[0].why, words, strlen(words)) != 0)
        fail_msg("%s", told[0].why);
    wait_for(next, "state", "CD");
    wait_for(id, "state", "R");
    check_wait(id);
}

static void a_wait_is_told_right_after_the_service_came_back(void **state)
{
    (void)state;
    uint64_t next;
    const uint64_t id = evicted_job(&next);
    client_hang_up(&http);
    service_signal(SIGKILL);
    start_again();
    wait_for(next, "state", "CD");
    wait_for(id, "state", "R");
    check_wait(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_stop_names_the_job_that_gets_the_gpu_and_a_wait_leaves_out_what_the_job_ran),
        SERVICE_TEST(a_wait_is_told_right_after_the_service_came_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
