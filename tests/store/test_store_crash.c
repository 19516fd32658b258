/* The store under kill -9 at random moments: 20 times, or as often as the argument says. */
#include "store_crash.h"

static uint32_t rounds = 20;

static void every_acknowledged_job_is_there_once_and_whole_after_kill_9(void **state)
{
    (void)state;
    const struct crash_tally tally = store_crash_rounds(rounds, 250000, rounds);
    print_message("%u rounds, %u answers, %u in flight, %d jobs\n", tally.rounds, tally.acknowledged, tally.in_flight,
                  tally.jobs);
    assert_true(tally.in_flight > 3);
    assert_true(tally.acknowledged > 20);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_acknowledged_job_is_there_once_and_whole_after_kill_9),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
