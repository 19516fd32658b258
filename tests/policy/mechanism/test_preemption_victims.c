/* Taking: only younger jobs that may be stopped lose GPUs. */
#include "policy/mechanism/preemption_victims.h"
#include "state_fixture.h"

#include <cmocka.h>

enum { STOPS = ADL_JOB_PREEMPTIBLE };

/* ---- by hand: the waiting job is slot 0 and came at 10 us ---- */

static void run_at(struct adl_state *state, uint32_t slot, int64_t submit_us, uint16_t gpus, int flags,
                   uint32_t first_gpu)
{
    struct adl_job_spec spec = fixture_spec(100 + slot, gpus);
    spec.flags = (uint8_t)flags;
    state->now_us = submit_us;
    fixture_run(state, slot, &spec, 1000, first_gpu);
}

static void wait_at(struct adl_state *state, uint16_t gpus, int flags)
{
    struct adl_job_spec spec = fixture_spec(100, gpus);
    spec.flags = (uint8_t)flags;
    state->now_us = 10;
    fixture_queue(state, 0, &spec, 1000, 10);
}

static void only_a_younger_job_that_may_be_stopped_and_shares_with_nobody_loses_its_gpu(void **unused)
{
    (void)unused;
    static const struct {
        int64_t submit_us;
        int flags;
        bool stopping, shared, down, taken;
    } cases[] = {
        {11, STOPS, false, false, false, true}, {10, STOPS, false, false, false, false},
        {9, STOPS, false, false, false, false}, {11, 0, false, false, false, false},
        {11, STOPS, true, false, false, false}, {11, STOPS | ADL_JOB_SHARE, false, true, false, false},
        {11, STOPS, false, false, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_cluster cluster = fixture_plain(1);
        struct adl_state *state = fixture_state(&cluster);
        uint32_t gpu = 77;
        wait_at(state, 1, 0);
        run_at(state, 1, cases[i].submit_us, 1, cases[i].flags, 0);
        if (cases[i].shared)
            run_at(state, 2, 12, 1, STOPS | ADL_JOB_SHARE, 0);
        if (cases[i].stopping)
            adl_state_stopping(state, 1);
        state->gpus[0].down = cases[i].down;
        if (adl_preemption_victims_find(state, 0, 0, &gpu) != cases[i].taken)
            fail_msg("case %zu", i);
        assert_true(!cases[i].taken || gpu == 0);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

static void free_gpus_are_chosen_before_those_of_single_jobs_and_these_before_those_of_gangs(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(6);
    struct adl_state *state = fixture_state(&cluster);
    uint32_t gpus[6], victims[6];
    wait_at(state, 3, 0);
    run_at(state, 1, 11, 3, STOPS, 0);
    run_at(state, 2, 11, 1, STOPS, 3);
    run_at(state, 3, 11, 1, STOPS, 5);
    assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
    assert_true(gpus[0] == 4 && gpus[1] == 3 && gpus[2] == 5);
    assert_int_equal(adl_preemption_victims_list(state, gpus, 3, victims), 2);
    assert_true(victims[0] == 2 && victims[1] == 3);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_finish(state, 2);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_finish(state, 3);
    assert_true(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_gpu_down(state, 4);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void a_gang_that_holds_several_of_the_gpus_is_one_victim(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(5);
    struct adl_state *state = fixture_state(&cluster);
    uint32_t gpus[5], victims[5];
    wait_at(state, 5, 0);
    run_at(state, 1, 11, 2, STOPS, 0);
    run_at(state, 2, 11, 2, STOPS, 2);
    assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
    assert_int_equal(adl_preemption_victims_list(state, gpus, 5, victims), 2);
    assert_true(victims[0] == 1 && victims[1] == 2);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void one_node_is_enough_where_it_can_be_and_only_a_job_that_may_spans_several(void **unused)
{
    (void)unused;
    for (int spans = 0; spans < 2; spans++) {
        struct adl_cluster cluster = {0};
        fixture_types(&cluster, 1);
        fixture_node(&cluster, 0, 2);
        fixture_node(&cluster, 0, 2);
        fixture_node(&cluster, 0, 2);
        struct adl_state *state = fixture_state(&cluster);
        uint32_t gpus[6];
        wait_at(state, 2, spans ? ADL_JOB_SPAN : 0);
        run_at(state, 1, 9, 1, STOPS, 0); /* older: stays */
        run_at(state, 2, 9, 1, STOPS, 2);
        run_at(state, 3, 11, 2, STOPS, 4);
        assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
        assert_true(gpus[0] == 4 && gpus[1] == 5);
        adl_state_finish(state, 3);
        run_at(state, 3, 9, 1, STOPS, 4);
        run_at(state, 4, 11, 1, STOPS, 5);
        run_at(state, 5, 11, 1, STOPS, 1);
        assert_int_equal(adl_preemption_victims_find(state, 0, 0, gpus), spans);
        assert_true(!spans || (gpus[0] == 1 && gpus[1] == 3));
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

static void cores_and_memory_count_as_they_will_be_once_the_holders_are_gone(void **unused)
{
    (void)unused;
    for (int32_t cores = 1; cores <= 8; cores++)
        for (int memory = 0; memory < 2; memory++) {
            struct adl_cluster cluster = {0};
            fixture_types(&cluster, 1);
            fixture_node_of(&cluster, &(struct adl_bank_spec){0, 3}, 1, 8, 8);
            struct adl_state *state = fixture_state(&cluster);
            struct adl_job_spec young = fixture_spec(1, 2), old = fixture_spec(2, 1), waits = fixture_spec(100, 2);
            uint32_t gpus[3];
            young.flags = STOPS;
            *(memory ? &young.memory_mib : &young.cpu_cores) = 2;
            *(memory ? &old.memory_mib : &old.cpu_cores) = 2;
            *(memory ? &waits.memory_mib : &waits.cpu_cores) = cores;
            state->now_us = 9;
            fixture_run(state, 1, &old, 1000, 2);
            state->now_us = 10;
            fixture_queue(state, 0, &waits, 1000, 10);
            state->now_us = 11;
            fixture_run(state, 2, &young, 1000, 0);
            /* 8 of the node, less 2 that stay with the old job: 3 for each of the two GPUs. */
            assert_int_equal(adl_preemption_victims_find(state, 0, 0, gpus), cores <= 3);
            adl_state_destroy(state);
            adl_cluster_clear(&cluster);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_younger_job_that_may_be_stopped_and_shares_with_nobody_loses_its_gpu),
        cmocka_unit_test(free_gpus_are_chosen_before_those_of_single_jobs_and_these_before_those_of_gangs),
        cmocka_unit_test(a_gang_that_holds_several_of_the_gpus_is_one_victim),
        cmocka_unit_test(one_node_is_enough_where_it_can_be_and_only_a_job_that_may_spans_several),
        cmocka_unit_test(cores_and_memory_count_as_they_will_be_once_the_holders_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
