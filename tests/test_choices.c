/* Choices: whatever is offered may be done, keeps the promise to the oldest job, and leaves out nothing that it should
 * hold. On random worlds that share, fail and preempt. */
#include "choice_driver.h"
#include "engine/validate.h"

#include <cmocka.h>

#define WORLDS 60
#define JOBS   60

static struct adl_validator *validator;
static uint64_t lists, offered, shared, promised;

static void for_random_worlds(void (*visit)(const struct adl_state *, const struct adl_choices *, uint32_t))
{
    lists = offered = shared = promised = 0;
    driver_visit = visit;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        assert_int_equal(adl_validator_create(&scenario.cluster, &validator), 0);
        driver_run(&scenario, seed, NULL);
        adl_validator_destroy(validator);
        adl_scenario_clear(&scenario);
    }
    assert_true(lists > WORLDS * JOBS && offered > 2 * WORLDS * JOBS);
}

static void count_list(const struct adl_choices *choices)
{
    lists++;
    offered += choices->count;
    promised += choices->promised;
}

static void validate_all(const struct adl_state *state, const struct adl_choices *choices, uint32_t chosen)
{
    (void)chosen;
    count_list(choices);
    uint32_t gpus = 0;
    for (uint32_t c = 0; c < choices->count; c++) {
        const struct adl_choice *choice = &choices->list[c];
        const struct adl_command start = {
            .kind = ADL_COMMAND_START, .gpu_count = choice->gpu_count, .job = choice->job};
        struct adl_error err;
        if (adl_validate(validator, state, &start, &choices->gpus[choice->gpu_offset], &err))
            fail_msg("choice %u of %u: %s", c, choices->count, err.text);
        for (uint32_t i = 0; i < choice->gpu_count; i++) {
            const uint32_t gpu = choices->gpus[choice->gpu_offset + i];
            assert_int_equal(adl_gpu_type_of(state->cluster, gpu), choice->type);
            assert_int_equal(state->gpus[gpu].job[0] != ADL_NONE, choice->shared);
        }
        for (uint32_t other = 0; other < c; other++)
            assert_false(choices->list[other].job == choice->job && choices->list[other].type == choice->type);
        gpus += choice->gpu_count;
        shared += choice->shared;
    }
    assert_int_equal(gpus, choices->gpu_count);
}

static void every_choice_would_pass_validation_and_none_is_listed_twice(void **state)
{
    (void)state;
    for_random_worlds(validate_all);
    assert_true(shared > 0 && promised > 0);
}

static void look_for_the_oldest(const struct adl_state *state, const struct adl_choices *choices, uint32_t chosen)
{
    (void)chosen;
    count_list(choices);
    uint32_t oldest = ADL_NONE, gpus[64];
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING &&
            (oldest == ADL_NONE || state->jobs[slot].submit_us < state->jobs[oldest].submit_us))
            oldest = slot;
    if (oldest == ADL_NONE) {
        assert_int_equal(choices->count, 0);
        return;
    }
    assert_int_equal(state->jobs[choices->head].submit_us, state->jobs[oldest].submit_us);
    for (uint32_t left = state->jobs[choices->head].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        bool found = false;
        for (uint32_t c = 0; c < choices->count && !found; c++)
            found = choices->list[c].job == choices->head && choices->list[c].type == type;
        const bool fits = adl_fit_find(state, choices->head, type, NULL, gpus) ||
                          (choices->share && adl_fit_share(state, choices->head, type, NULL, gpus));
        assert_int_equal(found, fits);
    }
}

static void the_oldest_job_is_offered_wherever_it_fits(void **state)
{
    (void)state;
    for_random_worlds(look_for_the_oldest);
}

/* The promise at the last decision, if what was started then was not the oldest job itself and that did not fit: a
 * forecast is of jobs that have to wait. */
static struct {
    int64_t now_us, start_us;
    uint32_t head;
    bool holds, shared;
} before;
static uint64_t compared;

static bool fits_now(const struct adl_state *state, uint32_t slot)
{
    uint32_t gpus[64];
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1)
        if (adl_fit_find(state, slot, (uint32_t)__builtin_ctz(left), NULL, gpus))
            return true;
    return false;
}

static void compare_promises(const struct adl_state *state, const struct adl_choices *choices, uint32_t chosen)
{
    count_list(choices);
    if (before.holds && before.now_us == state->now_us && before.head == choices->head && choices->promised) {
        compared++;
        if (choices->promise.start_us > before.start_us)
            fail_msg("at %lld us a %s start moved the promise from %lld to %lld us", (long long)state->now_us,
                     before.shared ? "shared" : "plain", (long long)before.start_us,
                     (long long)choices->promise.start_us);
    }
    before.holds = choices->count > 0 && choices->promised && choices->list[chosen].job != choices->head &&
                   !fits_now(state, choices->head);
    before.now_us = state->now_us;
    before.head = choices->head;
    before.start_us = choices->promise.start_us;
    before.shared = before.holds && choices->list[chosen].shared;
}

static void no_choice_delays_the_promise_to_an_oldest_job_that_has_to_wait(void **state)
{
    (void)state;
    before.holds = false;
    for_random_worlds(compare_promises);
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_would_pass_validation_and_none_is_listed_twice),
        cmocka_unit_test(the_oldest_job_is_offered_wherever_it_fits),
        cmocka_unit_test(no_choice_delays_the_promise_to_an_oldest_job_that_has_to_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
