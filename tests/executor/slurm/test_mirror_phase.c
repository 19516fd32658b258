/* test_mirror_phase: the transition table of jobs in the mirror. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/slurm/mirror_phase.h"

static uint8_t after(uint8_t phase, const int *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        phase = adl_mirror_next(phase, events[i]);
    return phase;
}

#define AFTER(phase, ...) after(phase, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void a_job_goes_from_its_arrival_to_its_end(void **state)
{
    (void)state;
    assert_int_equal(AFTER(ADL_MIRROR_NEW, ADL_MIRROR_ON_REPORT), ADL_MIRROR_REPORTED);
    assert_int_equal(AFTER(ADL_MIRROR_REPORTED, ADL_MIRROR_ON_INTRODUCE), ADL_MIRROR_QUEUED);
    assert_int_equal(AFTER(ADL_MIRROR_QUEUED, ADL_MIRROR_ON_PLACE), ADL_MIRROR_PLACING);
    assert_int_equal(AFTER(ADL_MIRROR_PLACING, ADL_MIRROR_ON_ANSWER), ADL_MIRROR_PLACED);
    assert_int_equal(AFTER(ADL_MIRROR_PLACED, ADL_MIRROR_ON_RUN), ADL_MIRROR_RUNNING);
    assert_int_equal(AFTER(ADL_MIRROR_RUNNING, ADL_MIRROR_ON_END), ADL_MIRROR_OVER);
    assert_int_equal(AFTER(ADL_MIRROR_OVER, ADL_MIRROR_ON_FORGET), ADL_MIRROR_NEW);
}

/* Slurm may begin a job before the adapter has answered, and take one back that runs. */
static void whoever_has_no_gpus_any_more_is_queued(void **state)
{
    (void)state;
    static const uint8_t from[] = {ADL_MIRROR_QUEUED, ADL_MIRROR_PLACING, ADL_MIRROR_PLACED, ADL_MIRROR_RUNNING};
    for (size_t i = 0; i < sizeof from; i++) {
        assert_int_equal(AFTER(from[i], ADL_MIRROR_ON_REQUEUE), ADL_MIRROR_QUEUED);
        assert_int_equal(AFTER(from[i], ADL_MIRROR_ON_RUN), ADL_MIRROR_RUNNING);
    }
}

static void an_end_that_was_reported_is_final(void **state)
{
    (void)state;
    for (int event = 0; event < ADL_MIRROR_EVENT_COUNT; event++)
        if (event != ADL_MIRROR_ON_FORGET && event != ADL_MIRROR_ON_DROP)
            assert_int_equal(AFTER(ADL_MIRROR_OVER, event), ADL_MIRROR_OVER);
}

static void a_job_that_was_dropped_stays_so_until_slurm_has_it_no_more(void **state)
{
    (void)state;
    for (int event = 0; event < ADL_MIRROR_EVENT_COUNT; event++)
        assert_int_equal(AFTER(ADL_MIRROR_DROPPED, event), ADL_MIRROR_DROPPED);
}

static void an_answer_concerns_only_who_waits_for_it(void **state)
{
    (void)state;
    for (int phase = 0; phase < ADL_MIRROR_PHASE_COUNT; phase++)
        if (phase != ADL_MIRROR_PLACING)
            assert_int_equal(AFTER((uint8_t)phase, ADL_MIRROR_ON_ANSWER), phase);
}

static void no_two_rows_speak_of_one_phase_and_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < adl_mirror_move_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(adl_mirror_moves[i].event == adl_mirror_moves[k].event &&
                         adl_mirror_moves[i].from & adl_mirror_moves[k].from);
}

static void every_phase_can_be_reached(void **state)
{
    (void)state;
    unsigned reached = ADL_MIRROR_IN(NEW);
    for (int round = 0; round < ADL_MIRROR_PHASE_COUNT; round++)
        for (size_t i = 0; i < adl_mirror_move_count; i++)
            if (adl_mirror_moves[i].from & reached)
                reached |= 1u << adl_mirror_moves[i].to;
    assert_int_equal(reached, (1u << ADL_MIRROR_PHASE_COUNT) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_from_its_arrival_to_its_end),
        cmocka_unit_test(whoever_has_no_gpus_any_more_is_queued),
        cmocka_unit_test(an_end_that_was_reported_is_final),
        cmocka_unit_test(a_job_that_was_dropped_stays_so_until_slurm_has_it_no_more),
        cmocka_unit_test(an_answer_concerns_only_who_waits_for_it),
        cmocka_unit_test(no_two_rows_speak_of_one_phase_and_event),
        cmocka_unit_test(every_phase_can_be_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
