/* The running service and what its users may do beside its administrators. */
#include "service_access.h"

#include <math.h>

typedef unsigned long long number;

static void users_lower_priorities_and_only_administrators_raise_them(void **state)
{
    (void)state;
    access_start("");
    const number id = access_submit(&user, "mine", "");
    expect_user(403, "{\"priority\":0.9}", "PATCH /v1/jobs/%llu", id);
    expect_user_text("has priority 0.5: users may lower it, only administrators raise it");
    expect_user(200, "{\"priority\":0.2}", "PATCH /v1/jobs/%llu", id);
    expect_user(200, "{\"priority\":0.2}", "PATCH /v1/jobs/%llu", id);
    expect_user(403, "{\"priority\":0.5}", "PATCH /v1/jobs/%llu", id);
    expect(200, "{\"priority\":1}", "PATCH /v1/jobs/%llu", id);
    expect_user(200, "{\"priority\":0.7}", "PATCH /v1/jobs/%llu", id); /* lower than what was given */
    expect_user(403, "{\"priority\":0.71}", "PATCH /v1/jobs/%llu", id);
    assert_true(fabs(job_number(id, "priority") - 0.7) < 1e-6);
}

static void a_user_submits_with_at_most_the_priority_that_is_configured(void **state)
{
    (void)state;
    static const char urgent[] = "{\"directory\":\"/tmp\",\"command\":[\"true\"],\"priority\":0.6}";
    access_start("");
    expect_user(403, urgent, "POST /v1/jobs");
    expect_user_text("users may ask for at most 0.5 here (jobs.priority_max");
    expect_user(403, urgent, "POST /v1/jobs?dry_run=1");
    access_submit(&user, "plain", ",\"priority\":0.5");
    access_submit(&http, "administrator", ",\"priority\":1");
    assert_true(service_signal(SIGTERM) == 0);
    assert_true(service_write("c.yaml", "engine: sim\nscenario: small.yaml\njobs: {priority_max: 0.6}\n"));
    access_start_again();
    expect_user(201, urgent, "POST /v1/jobs");
}

static void an_administrators_hold_is_released_by_administrators_alone(void **state)
{
    (void)state;
    access_start("");
    const number own = access_submit(&user, "own", ",\"hold\":true"), held = access_submit(&user, "held", "");
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", own);
    expect_user(200, NULL, "POST /v1/jobs/%llu/hold", own);
    expect(200, NULL, "POST /v1/jobs/%llu/hold", held);
    expect_text("\"reason\":\"held by an administrator: by ");
    for (int round = 0; round < 2; round++) { /* the second after a restart */
        expect_user(403, NULL, "POST /v1/jobs/%llu/release", held);
        expect_user_text("is held by an administrator, who alone can release it");
        expect_user(200, NULL, "POST /v1/jobs/%llu/hold", held); /* which must not make it a hold of its user's */
        expect_user_text("\"reason\":\"held by an administrator");
        if (round == 0) {
            assert_int_equal(service_signal(SIGKILL), 128 + SIGKILL);
            access_start_again();
        }
    }
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", own);
    expect_user_text("\"hold\":false");
    expect(200, NULL, "POST /v1/jobs/%llu/release", held);
    expect_text("\"hold\":false");
    expect_user(200, NULL, "POST /v1/jobs/%llu/hold", held);
    expect_user(200, NULL, "POST /v1/jobs/%llu/release", held); /* what its user held, its user releases */
}

static int remove_access(void **state)
{
    client_clear(&user);
    return remove_service(state);
}

#define ACCESS_TEST(f) cmocka_unit_test_teardown(f, remove_access)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ACCESS_TEST(users_lower_priorities_and_only_administrators_raise_them),
        ACCESS_TEST(a_user_submits_with_at_most_the_priority_that_is_configured),
        ACCESS_TEST(an_administrators_hold_is_released_by_administrators_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
