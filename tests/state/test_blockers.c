/* Tests of state/blockers: each answer is played out in the state itself. */
#include "state_fixture.h"

#include "state/blockers.h"
#include "state/fit.h"

#include <stdbool.h>
#include <stdlib.h>

#define GPUS    12
#define RUNNING 12 /* slots 0..11 may run, the next one waits */
#define ME      RUNNING

static struct adl_cluster random_cluster(struct adl_rng *rng)
{
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    while (cluster.gpu_count < GPUS) {
        const uint32_t left = GPUS - cluster.gpu_count, count = fixture_between(rng, 1, left < 5 ? left : 5);
        fixture_node_of(&cluster, &(struct adl_bank_spec){adl_rng_below(rng, 2), count}, 1, 4 * (int32_t)count, 1000);
    }
    return cluster;
}

/* Runs jobs on consecutive GPUs of one bank, leaves some free, and queues one more. */
static struct adl_state *random_state(const struct adl_cluster *cluster, struct adl_rng *rng, bool cores)
{
    struct adl_state *state = fixture_state(cluster);
    uint32_t slot = 0;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count && slot < RUNNING;) {
        const struct adl_bank *bank = &cluster->banks[cluster->gpu_bank[gpu]];
        const uint32_t left = bank->gpu_first + bank->gpu_count - gpu, count = fixture_between(rng, 1, left);
        struct adl_job_spec spec = fixture_spec(slot + 1, (uint16_t)count);
        spec.cpu_cores = cores ? (int32_t)adl_rng_below(rng, 5) : 0;
        if (adl_rng_below(rng, 5) > 0)
            fixture_run(state, slot++, &spec, 1000000 * (int64_t)fixture_between(rng, 1, 50), gpu);
        else if (adl_rng_below(rng, 4) == 0)
            adl_state_gpu_down(state, gpu);
        gpu += count;
    }
    struct adl_job_spec spec = fixture_spec(ME + 1, (uint16_t)fixture_between(rng, 1, 5));
    spec.flags = adl_rng_below(rng, 2) ? ADL_JOB_SPAN : 0;
    spec.cpu_cores = cores ? (int32_t)adl_rng_below(rng, 5) : 0;
    fixture_queue(state, ME, &spec, 1000000, 0);
    return state;
}

static bool fits(const struct adl_state *state)
{
    uint32_t gpus[GPUS];
    return adl_fit_find(state, ME, 0, NULL, gpus) || adl_fit_find(state, ME, 1, NULL, gpus);
}

/* The running job with the earliest predicted end, or ADL_NONE. */
static uint32_t next_to_end(const struct adl_state *state)
{
    uint32_t next = ADL_NONE;
    for (uint32_t slot = 0; slot < RUNNING; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING &&
            (next == ADL_NONE || state->jobs[slot].expected_us < state->jobs[next].expected_us))
            next = slot;
    return next;
}

static bool find(const struct adl_state *state, struct adl_blockers_demand demand, struct adl_blockers *ret)
{
    bool found;
    assert_int_equal(adl_blockers_find(state, ME, &demand, 1, ret, &found), 0);
    return found;
}

/* When it fits if jobs end as predicted; -1: never. Ends jobs. */
static int64_t play_until_room(struct adl_state *state)
{
    int64_t time_us = state->now_us;
    while (!fits(state)) {
        const uint32_t next = next_to_end(state);
        if (next == ADL_NONE)
            return -1;
        time_us = state->jobs[next].expected_us;
        adl_state_finish(state, next);
    }
    return time_us;
}

static void finish_listed(struct adl_state *state, const struct adl_blockers *blockers, uint32_t from)
{
    for (uint32_t i = from; i < blockers->count; i++)
        adl_state_finish(state, blockers->jobs[i]);
}

static struct adl_state *copy_of(const struct adl_state *state)
{
    struct adl_state *copy = fixture_state(state->cluster);
    assert_int_equal(adl_state_copy(copy, state), 0);
    return copy;
}

static void there_is_room_exactly_when_it_was_predicted(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct adl_rng rng = {0};
        adl_rng_seed(&rng, seed, "blockers");
        struct adl_cluster cluster = random_cluster(&rng);
        struct adl_state *state = random_state(&cluster, &rng, seed % 2 == 0);
        struct adl_blockers blockers;
        const bool found = find(state, (struct adl_blockers_demand){0}, &blockers);
        const int64_t played_us = play_until_room(state);
        assert_int_equal(found, played_us >= 0);
        if (found)
            assert_int_equal(blockers.room_us, played_us);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

static void the_end_of_the_jobs_named_and_of_no_fewer_makes_room(void **unused)
{
    uint32_t blocked = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct adl_rng rng = {0};
        adl_rng_seed(&rng, seed, "blockers");
        struct adl_cluster cluster = random_cluster(&rng);
        struct adl_state *state = random_state(&cluster, &rng, false);
        struct adl_blockers blockers;
        uint32_t gpus[GPUS];
        if (find(state, (struct adl_blockers_demand){0}, &blockers) && blockers.count > 0) {
            struct adl_state *without_last = copy_of(state), *with_all = copy_of(state);
            finish_listed(without_last, &blockers, 1);
            finish_listed(with_all, &blockers, 0);
            assert_true(adl_fit_find(with_all, ME, blockers.type, NULL, gpus));
            assert_false(adl_fit_find(without_last, ME, blockers.type, NULL, gpus));
            if (blockers.node != ADL_NONE)
                assert_int_equal(adl_gpu_node_of(&cluster, gpus[0]), blockers.node);
            adl_state_destroy(without_last);
            adl_state_destroy(with_all);
            blocked++;
        }
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
    assert_true(blocked > 200);
}

static void fewer_gpus_and_other_types_are_answered_for_what_is_asked(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, 4);
    fixture_node(&cluster, 1, 4);
    struct adl_state *state = fixture_state(&cluster);
    struct adl_blockers blockers;
    struct adl_job_spec runs = fixture_spec(1, 3), waits = fixture_spec(ME + 1, 4);
    waits.types = 1;
    fixture_run(state, 0, &runs, 7000000, 0);
    fixture_queue(state, ME, &waits, 1000000, 0);
    state->jobs[ME].eligible = 1;
    assert_true(find(state, (struct adl_blockers_demand){0}, &blockers));
    assert_int_equal(blockers.room_us, 7000000);
    assert_int_equal(blockers.count, 1);
    assert_int_equal(blockers.jobs[0], 0);
    assert_true(find(state, (struct adl_blockers_demand){.types = 2}, &blockers));
    assert_int_equal(blockers.room_us, state->now_us);
    assert_int_equal(blockers.type, 1);
    assert_int_equal(blockers.count, 0);
    assert_true(find(state, (struct adl_blockers_demand){.gpus = 1}, &blockers));
    assert_int_equal(blockers.room_us, state->now_us);
    assert_false(find(state, (struct adl_blockers_demand){.gpus = 5}, &blockers));
    assert_int_equal(state->jobs[ME].spec.gpus, 4);
    assert_int_equal(state->running_jobs, 1);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_room_exactly_when_it_was_predicted),
        cmocka_unit_test(the_end_of_the_jobs_named_and_of_no_fewer_makes_room),
        cmocka_unit_test(fewer_gpus_and_other_types_are_answered_for_what_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
