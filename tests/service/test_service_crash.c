/* The service is killed with kill -9 at random moments under load: 15 times, or as often as the argument says. */
#include "service_crash.h"

#include <setjmp.h>

#include <cmocka.h>

static uint32_t kills = 15;

static void what_was_acknowledged_before_a_kill_is_there_after_it_and_runs_exactly_once(void **state)
{
    (void)state;
    const bool good = crash_rounds(kills, 6);
    print_message(
        "%u kills: %u jobs acknowledged, %u stored without an answer, %u ran, %u requeued, %u cancelled; down "
        "for %.0f ms at most\n",
        crash.kills, crash.acked, crash.unacked, crash.ran, crash.requeued, crash.cancelled, crash.down_ms_max);
    if (!good)
        fail_msg("%s", crash.trouble);
    assert_int_equal(crash.kills, kills);
    assert_true(crash.acked > kills && crash.ran > kills && crash.cancelled > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_before_a_kill_is_there_after_it_and_runs_exactly_once),
    };
    if (argc > 1)
        kills = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
