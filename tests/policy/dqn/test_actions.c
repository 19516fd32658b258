/* Actions: whatever is offered may be done, nothing that fits is left out of a short queue, an overdue job goes first
 * or holds a reservation that is kept, and a wait is offered only while something runs. On random worlds that share and
 * fail. */
#include "action_driver.h"
#include "engine/validate.h"

#include <cmocka.h>

#define WORLDS 80
#define JOBS   60

static struct adl_validator *validator;
static uint64_t lists, offered, shared, waits, has_reservation;

static void for_random_worlds(void (*visit)(const struct adl_state *, const struct adl_actions *, uint32_t))
{
    lists = offered = shared = waits = has_reservation = 0;
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

static void validate_action(const struct adl_state *state, const struct adl_actions *actions, uint32_t c)
{
    const struct adl_action *action = &actions->list[c];
    const uint32_t *gpus = &actions->gpus[action->gpu_offset];
    const struct adl_command start = {.kind = ADL_COMMAND_START, .gpu_count = action->gpu_count, .job = action->job};
    struct adl_error err;
    uint32_t held = 0;
    if (action->waits) {
        assert_true(c == actions->count - 1 && c > 0 && state->running_jobs > 0);
        return;
    }
    if (adl_validate(validator, state, &start, gpus, &err))
        fail_msg("action %u of %u: %s", c, actions->count, err.text);
    for (uint32_t i = 0; i < action->gpu_count; i++) {
        assert_int_equal(adl_gpu_type_of(state->cluster, gpus[i]), action->type);
        held += state->gpus[gpus[i]].job[0] != ADL_NONE;
    }
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
        validate_action(state, actions, c);
        gpus += actions->list[c].gpu_count;
        shared += actions->list[c].shared;
        waits += actions->list[c].waits;
    }
    assert_int_equal(gpus, actions->gpu_count);
}

static void every_action_would_pass_validation_and_none_is_listed_twice(void **state)
{
    (void)state;
    for_random_worlds(validate_all);
    assert_true(shared > 0 && waits > 0);
}

static bool is_listed(const struct adl_actions *actions, uint32_t slot, uint32_t type)
{
    for (uint32_t c = 0; c < actions->count; c++)
        if (actions->list[c].job == slot && actions->list[c].type == type && !actions->list[c].waits)
            return true;
    return false;
}

/* Of a lane, its first job; where the list is not full. */
static void look_for_what_fits(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    uint32_t gpus[64];
    count_list(actions);
    if (actions->reserved != ADL_NONE || actions->count >= ADL_ACTION_STARTS ||
        state->queue.heap_count > ADL_ACTION_LANES)
        return;
    for (uint32_t i = 0; i < state->queue.heap_count; i++) {
        const uint32_t slot = state->queue.lanes[state->queue.heap[i]].jobs.first;
        for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
            const uint32_t type = (uint32_t)__builtin_ctz(left);
            if (adl_fit_find(state, slot, type, NULL, gpus))
                assert_true(is_listed(actions, slot, type));
        }
    }
}

static void the_oldest_job_of_each_lane_is_offered_on_every_type_where_it_fits(void **state)
{
    (void)state;
    for_random_worlds(look_for_what_fits);
}

static uint64_t alone;

static bool fits_now(const struct adl_state *state, const struct adl_actions *actions, uint32_t slot)
{
    uint32_t gpus[64];
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (adl_fit_find(state, slot, type, NULL, gpus) ||
            (actions->share && adl_fit_share(state, slot, type, NULL, gpus)))
            return true;
    }
    return false;
}

static void look_for_the_overdue(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    (void)chosen;
    count_list(actions);
    if (actions->overdue == ADL_NONE)
        return;
    const double waited_us = (double)adl_state_waited_us(state, actions->overdue);
    assert_true(waited_us > actions->guard * actions->typical_us);
    if (!fits_now(state, actions, actions->overdue))
        return;
    for (uint32_t c = 0; c < actions->count; c++)
        assert_true(actions->list[c].job == actions->overdue && !actions->list[c].waits);
    assert_true(actions->count > 0);
    alone++;
}

static void an_overdue_job_alone_is_offered_wherever_it_fits(void **state)
{
    (void)state;
    alone = 0;
    driver_guard = 1;
    for_random_worlds(look_for_the_overdue);
    driver_guard = 0;
    assert_true(alone > 100);
}

/* The reservation at the last decision, if what was started then was not the reserved job. */
static struct {
    int64_t now_us, start_us;
    uint32_t reserved;
    bool holds, shared;
} before;
static uint64_t compared;

static void compare_reservations(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    count_list(actions);
    if (before.holds && before.now_us == state->now_us && before.reserved == actions->reserved &&
        actions->has_reservation) {
        compared++;
        if (actions->reservation.start_us > before.start_us)
            fail_msg("at %lld us a %s start moved the reservation from %lld to %lld us", (long long)state->now_us,
                     before.shared ? "shared" : "plain", (long long)before.start_us,
                     (long long)actions->reservation.start_us);
    }
    before.holds = actions->count > 0 && actions->has_reservation && actions->list[chosen].job != actions->reserved;
    before.now_us = state->now_us;
    before.reserved = actions->reserved;
    before.start_us = actions->reservation.start_us;
    before.shared = before.holds && actions->list[chosen].shared;
}

static void no_action_delays_the_reservation_of_an_overdue_job(void **state)
{
    (void)state;
    before.holds = false;
    compared = 0;
    driver_guard = 1;
    for_random_worlds(compare_reservations);
    driver_guard = 0;
    assert_true(compared > 100);
}

static uint64_t bottlenecks;

static void look_for_the_bottleneck(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    compare_reservations(state, actions, chosen);
    bottlenecks += actions->reserved != ADL_NONE && actions->overdue == ADL_NONE && actions->has_reservation;
}

static void nor_that_of_a_job_that_only_the_bottleneck_can_run(void **state)
{
    (void)state;
    before.holds = false;
    bottlenecks = compared = 0;
    driver_guard = 1e6;
    for_random_worlds(look_for_the_bottleneck);
    driver_guard = 0;
    assert_true(bottlenecks > 100 && compared > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_would_pass_validation_and_none_is_listed_twice),
        cmocka_unit_test(the_oldest_job_of_each_lane_is_offered_on_every_type_where_it_fits),
        cmocka_unit_test(an_overdue_job_alone_is_offered_wherever_it_fits),
        cmocka_unit_test(no_action_delays_the_reservation_of_an_overdue_job),
        cmocka_unit_test(nor_that_of_a_job_that_only_the_bottleneck_can_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
