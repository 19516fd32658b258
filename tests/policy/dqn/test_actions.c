/* Choices: whatever is offered may be done, the oldest job goes first or holds a promise that is kept, and nothing is
 * left out. On random worlds that share, fail and preempt. */
#include "action_driver.h"
#include "engine/validate.h"

#include <cmocka.h>

#define WORLDS 80
#define JOBS   60

static struct adl_validator *validator;
static uint64_t lists, offered, shared, has_reservation, taken;

static void for_random_worlds(void (*visit)(const struct adl_state *, const struct adl_actions *, uint32_t))
{
    lists = offered = shared = has_reservation = taken = 0;
    driver_visit = visit;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = random_scenario(seed, JOBS);
        assert_int_equal(adl_validator_create(&scenario.cluster, &validator), 0);
        driver_run(&scenario, seed, NULL);
        adl_validator_destroy(validator);
        adl_scenario_clear(&scenario);
    }
    assert_true(lists > WORLDS * JOBS && offered > WORLDS * JOBS);
}

static void count_list(const struct adl_actions *actions)
{
    lists++;
    offered += actions->count;
    has_reservation += actions->has_reservation;
}

static void validate_choice(const struct adl_state *state, const struct adl_actions *actions, uint32_t c)
{
    const struct adl_action *action = &actions->list[c];
    const uint32_t *gpus = &actions->gpus[action->gpu_offset];
    const struct adl_command start = {.kind = ADL_COMMAND_START, .gpu_count = action->gpu_count, .job = action->job};
    struct adl_error err;
    uint32_t held = 0;
    if (adl_validate(validator, state, &start, gpus, &err) && !action->preempts)
        fail_msg("choice %u of %u: %s", c, actions->count, err.text);
    for (uint32_t i = 0; i < action->gpu_count; i++) {
        assert_int_equal(adl_gpu_type_of(state->cluster, gpus[i]), action->type);
        held += state->gpus[gpus[i]].job[0] != ADL_NONE;
    }
    if (action->preempts)
        assert_true(held > 0 && !action->shared);
    else
        assert_int_equal(held, action->shared ? action->gpu_count : 0);
    for (uint32_t other = 0; other < c; other++)
        assert_false(actions->list[other].job == action->job && actions->list[other].type == action->type);
}

static void validate_all(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    count_list(actions);
    uint32_t gpus = 0;
    for (uint32_t c = 0; c < actions->count; c++) {
        validate_choice(state, actions, c);
        gpus += actions->list[c].gpu_count;
        shared += actions->list[c].shared;
        taken += actions->list[c].preempts;
    }
    assert_int_equal(gpus, actions->gpu_count);
}

static void every_choice_would_pass_validation_and_none_is_listed_twice(void **state)
{
    (void)state;
    for_random_worlds(validate_all);
    assert_true(shared > 0 && has_reservation > 0 && taken > 0);
}

/* One of the oldest among all slots; the head may be another that was submitted at the same time. */
static uint32_t find_oldest(const struct adl_state *state)
{
    uint32_t oldest = ADL_NONE;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING &&
            (oldest == ADL_NONE || state->jobs[slot].submit_us < state->jobs[oldest].submit_us))
            oldest = slot;
    return oldest;
}

/* On how many types the head fits; it is listed for each of them and for no other. */
static uint32_t count_fits(const struct adl_state *state, const struct adl_actions *actions)
{
    uint32_t fits = 0, gpus[64];
    for (uint32_t left = state->jobs[actions->head].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        bool found = false;
        for (uint32_t c = 0; c < actions->count && !found; c++) {
            const struct adl_action *action = &actions->list[c];
            found = action->job == actions->head && action->type == type && !action->preempts;
        }
        const bool fit = adl_fit_find(state, actions->head, type, NULL, gpus) ||
                         (actions->share && adl_fit_share(state, actions->head, type, NULL, gpus));
        assert_int_equal(found, fit);
        fits += fit;
    }
    return fits;
}

static uint32_t awaited; /* for which jobs were stopped last, or ADL_NONE */
static uint64_t alone;

/* A claim that is waited for lists nothing, and one that came true its job alone. True if this list is of a claim. */
static bool is_of_claim(const struct adl_actions *actions)
{
    if (awaited == ADL_NONE)
        return false;
    if (actions->reserved_job != ADL_NONE) {
        assert_true(actions->reserved_job == awaited && actions->count == 0);
        return true;
    }
    const bool served = actions->count == 1 && actions->list[0].job == awaited && !actions->list[0].preempts;
    awaited = ADL_NONE;
    return served;
}

static void look_for_the_oldest(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    count_list(actions);
    const uint32_t oldest = find_oldest(state);
    if (oldest == ADL_NONE) {
        assert_int_equal(actions->count, 0);
        return;
    }
    assert_int_equal(state->jobs[actions->head].submit_us, state->jobs[oldest].submit_us);
    if (is_of_claim(actions))
        return;
    const uint32_t fits = count_fits(state, actions);
    if (fits > 0) {
        assert_int_equal(actions->count, fits);
        alone++;
    } else if (actions->count > 0 && actions->list[chosen].preempts) {
        assert_true(actions->count == 1 && actions->list[0].job == actions->head);
        assert_true(state->now_us - state->jobs[actions->head].submit_us >= actions->preempt_after_us);
        awaited = actions->head;
        taken++;
    }
}

static void the_oldest_job_alone_is_offered_wherever_it_fits_and_only_where_it_does_not_may_it_take(void **state)
{
    (void)state;
    awaited = ADL_NONE;
    alone = 0;
    for_random_worlds(look_for_the_oldest);
    assert_true(alone > 1000 && taken > 100);
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

static void compare_promises(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    count_list(actions);
    if (before.holds && before.now_us == state->now_us && before.head == actions->head && actions->has_reservation) {
        compared++;
        if (actions->reservation.start_us > before.start_us)
            fail_msg("at %lld us a %s start moved the promise from %lld to %lld us", (long long)state->now_us,
                     before.shared ? "shared" : "plain", (long long)before.start_us,
                     (long long)actions->reservation.start_us);
    }
    before.holds = actions->count > 0 && actions->has_reservation && actions->list[chosen].job != actions->head &&
                   !fits_now(state, actions->head);
    before.now_us = state->now_us;
    before.head = actions->head;
    before.start_us = actions->reservation.start_us;
    before.shared = before.holds && actions->list[chosen].shared;
}

static void no_choice_delays_the_promise_to_an_oldest_job_that_has_to_wait(void **state)
{
    (void)state;
    before.holds = false;
    for_random_worlds(compare_promises);
    assert_true(compared > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_would_pass_validation_and_none_is_listed_twice),
        cmocka_unit_test(the_oldest_job_alone_is_offered_wherever_it_fits_and_only_where_it_does_not_may_it_take),
        cmocka_unit_test(no_choice_delays_the_promise_to_an_oldest_job_that_has_to_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
