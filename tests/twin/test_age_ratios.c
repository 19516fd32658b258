/* What jobs take beyond what the belief says of each, by how many of all have ended at an age. */
#include "learned_run.h"

#include "twin/age_ratios.h"

#include <cmocka.h>
#include <math.h>

#define HOUR_US 3.6e9

/* Until some jobs have ended, and one that the belief knows is there. Returns its slot. */
static uint32_t open_run(struct learned_run *run)
{
    run->scenario = random_scenario(5, 80);
    learned_run_play(run, 80, NULL);
    const struct adl_state *state = adl_engine_state(run->engine);
    uint32_t slot = 0;
    while (slot < state->job_capacity && state->jobs[slot].phase == ADL_PHASE_NONE)
        slot++;
    assert_true(slot < state->job_capacity);
    return slot;
}

static void a_job_takes_what_the_belief_says_until_others_show_something_else(void **state)
{
    (void)state;
    struct learned_run run;
    const uint32_t slot = open_run(&run);
    const struct adl_belief *belief = adl_engine_belief(run.engine);
    const struct adl_age_ratios none = {{0}, {0}};
    for (double rank = 0.05; rank < 1; rank += 0.1) {
        const double said_us = adl_belief_quantile_us(belief, slot, 0, rank);
        assert_true(adl_age_ratios_left_us(&none, belief, slot, 0, 0, rank) == said_us);
        const double found_us = adl_age_ratios_left_us(&none, belief, slot, 0, 10 * said_us, rank);
        if (fabs(found_us / said_us - 1) > 1e-3)
            fail_msg("rank %g: %g h in place of %g h", rank, found_us / HOUR_US, said_us / HOUR_US);
    }
    learned_run_end(&run);
}

static void no_job_takes_longer_than_the_longest_one_that_has_ended_unless_it_has_already(void **state)
{
    (void)state;
    struct learned_run run;
    const uint32_t slot = open_run(&run);
    const struct adl_belief *belief = adl_engine_belief(run.engine);
    const struct adl_age_ratios none = {{0}, {0}};
    const double longest_us = adl_belief_quantile_us(belief, slot, 0, 0.7);
    double last_us = 0;
    for (double rank = 0.01; rank < 1; rank += 0.02) {
        const double left_us = adl_age_ratios_left_us(&none, belief, slot, 0, longest_us, rank);
        assert_true(left_us >= last_us && left_us <= longest_us);
        last_us = left_us;
        assert_true(adl_age_ratios_left_us(&none, belief, slot, longest_us, longest_us, rank) ==
                    adl_belief_quantile_us(belief, slot, longest_us, rank));
    }
    assert_true(last_us == longest_us);
    learned_run_end(&run);
}

static void a_job_that_is_expected_to_take_longer_than_any_before_may_do_so(void **state)
{
    (void)state;
    struct learned_run run;
    const uint32_t slot = open_run(&run);
    const struct adl_belief *belief = adl_engine_belief(run.engine);
    const struct adl_age_ratios none = {{0}, {0}};
    const double longest_us = adl_belief_quantile_us(belief, slot, 0, 0.3);
    assert_true(adl_age_ratios_left_us(&none, belief, slot, 0, longest_us, 0.9) ==
                adl_belief_quantile_us(belief, slot, 0, 0.9));
    learned_run_end(&run);
}

/* The median of a job when others have ended at a part of the longest run time. */
static double median_after(const struct adl_belief *belief, uint32_t slot, double longest_us, double part)
{
    struct adl_age_ratios ratios = {{0}, {0}};
    for (int i = 0; i < 200; i++)
        adl_age_ratios_learn(&ratios, belief, slot, part * longest_us, longest_us);
    return adl_age_ratios_left_us(&ratios, belief, slot, 0, longest_us, 0.5);
}

static void jobs_are_longer_where_others_were_stopped_only_at_the_longest_run_time(void **state)
{
    (void)state;
    struct learned_run run;
    const uint32_t slot = open_run(&run);
    const struct adl_belief *belief = adl_engine_belief(run.engine);
    const double said_us = adl_belief_quantile_us(belief, slot, 0, 0.5), longest_us = 3 * said_us;
    const double stopped_us = median_after(belief, slot, longest_us, 1),
                 ended_us = median_after(belief, slot, longest_us, 0.1);
    print_message("a median of %.2f h is %.2f h where all are stopped after %.2f h, %.2f h where they end before\n",
                  said_us / HOUR_US, stopped_us / HOUR_US, longest_us / HOUR_US, ended_us / HOUR_US);
    assert_true(stopped_us > 1.5 * said_us && stopped_us <= longest_us);
    assert_true(ended_us < 0.9 * said_us);
    learned_run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_takes_what_the_belief_says_until_others_show_something_else),
        cmocka_unit_test(no_job_takes_longer_than_the_longest_one_that_has_ended_unless_it_has_already),
        cmocka_unit_test(a_job_that_is_expected_to_take_longer_than_any_before_may_do_so),
        cmocka_unit_test(jobs_are_longer_where_others_were_stopped_only_at_the_longest_run_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
