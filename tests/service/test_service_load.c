/* Many jobs at once, in short: bench/run service does it with 10,000 that wait and 1,000 that run. */
#include "service_load.h"

#include <setjmp.h>

#include <cmocka.h>

static void of_many_jobs_at_once_none_is_lost_or_runs_twice(void **state)
{
    (void)state;
    const struct load_plan plan = {.slots = 100, .jobs = 400, .connections = 8, .sleep_s = "0.5", .read = true};
    const bool good = load_run(&plan);
    print_message("submit p50 %.1f ms, p99 %.1f ms; %u waited and %u ran at once; all in %.1f s; %ld KiB\n",
                  load_quantile(load.submit_ms, plan.jobs, 0.5), load_quantile(load.submit_ms, plan.jobs, 0.99),
                  load.pending_max, load.running_max, load.all_s, load.service_kib);
    if (!good)
        fail_msg("%s", load.trouble);
    assert_int_equal(service_signal(SIGTERM), 0);
    assert_true(load.pages > 10);
    assert_true(load.running_max > 1 && load.running_max <= plan.slots);
}

static int remove_all(void **state)
{
    (void)state;
    service_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(of_many_jobs_at_once_none_is_lost_or_runs_twice, remove_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
