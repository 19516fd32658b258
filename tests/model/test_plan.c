/* Tests of model/plan: commands in order, GPUs where a command says, and a plan that is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/plan.h"

static void commands_keep_their_order_and_their_gpus(void **state)
{
    (void)state;
    struct adl_plan plan = {0};
    assert_int_equal(adl_plan_create(&plan, 8), 0);
    uint32_t *gpus = adl_plan_gpus(&plan, 3);
    assert_non_null(gpus);
    for (uint32_t i = 0; i < 3; i++)
        gpus[i] = 5 + i;
    assert_int_equal(adl_plan_start(&plan, 40, 3), 0);
    assert_int_equal(adl_plan_preempt(&plan, 41), 0);
    gpus = adl_plan_gpus(&plan, 1);
    gpus[0] = 2;
    assert_int_equal(adl_plan_start(&plan, 42, 1), 0);
    assert_int_equal(adl_plan_wake(&plan, 77), 0);
    gpus = adl_plan_gpus(&plan, 2);
    gpus[0] = 6;
    gpus[1] = 1;
    assert_int_equal(adl_plan_cap(&plan, 2, 150.5), 0);

    assert_int_equal(plan.command_count, 5);
    const struct adl_command *c = plan.commands;
    assert_true(c[0].kind == ADL_COMMAND_START && c[0].job == 40 && c[0].gpu_count == 3);
    assert_true(c[1].kind == ADL_COMMAND_PREEMPT && c[1].job == 41 && c[1].gpu_count == 0);
    assert_true(c[2].kind == ADL_COMMAND_START && c[2].job == 42 && c[2].gpu_count == 1);
    assert_true(c[3].kind == ADL_COMMAND_WAKE && c[3].time_us == 77 && c[3].gpu_count == 0);
    assert_true(c[4].kind == ADL_COMMAND_CAP && c[4].power_w == 150.5 && c[4].gpu_count == 2);
    assert_true(plan.gpus[c[4].gpu_offset] == 6 && plan.gpus[c[4].gpu_offset + 1] == 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(plan.gpus[c[0].gpu_offset + i], 5 + i);
    assert_int_equal(plan.gpus[c[2].gpu_offset], 2);
    adl_plan_clear(&plan);
}

static void a_reset_plan_is_empty_and_keeps_its_room(void **state)
{
    (void)state;
    struct adl_plan plan = {0};
    assert_int_equal(adl_plan_create(&plan, 4), 0);
    const uint32_t commands = plan.command_capacity, gpus = plan.gpu_capacity;
    adl_plan_gpus(&plan, 4)[0] = 1;
    assert_int_equal(adl_plan_start(&plan, 1, 4), 0);
    adl_plan_reset(&plan);
    assert_int_equal(plan.command_count, 0);
    assert_int_equal(plan.gpu_count, 0);
    assert_int_equal(plan.command_capacity, commands);
    assert_int_equal(plan.gpu_capacity, gpus);
    adl_plan_clear(&plan);
}

/* Two jobs on every GPU, each of them stopped first, a cap and a wake-up: the most that one instant can need. */
static void every_gpu_can_be_given_out_twice_and_capped_and_every_job_on_it_stopped(void **state)
{
    (void)state;
    enum { GPUS = 16 };
    struct adl_plan plan = {0};
    assert_int_equal(adl_plan_create(&plan, GPUS), 0);
    for (uint32_t i = 0; i < 2 * GPUS; i++) {
        assert_int_equal(adl_plan_preempt(&plan, i), 0);
        uint32_t *gpu = adl_plan_gpus(&plan, 1);
        assert_non_null(gpu);
        *gpu = i % GPUS;
        assert_int_equal(adl_plan_start(&plan, 100 + i, 1), 0);
    }
    for (uint32_t i = 0; i < GPUS; i++) {
        *adl_plan_gpus(&plan, 1) = i;
        assert_int_equal(adl_plan_cap(&plan, 1, 100.0 + i), 0);
    }
    assert_int_equal(adl_plan_wake(&plan, 1), 0);
    assert_null(adl_plan_gpus(&plan, 1));
    adl_plan_clear(&plan);
}

static void a_full_plan_refuses_and_stays_as_it_is(void **state)
{
    (void)state;
    struct adl_plan plan = {0};
    assert_int_equal(adl_plan_create(&plan, 2), 0);
    assert_null(adl_plan_gpus(&plan, plan.gpu_capacity + 1));
    assert_int_equal(adl_plan_start(&plan, 1, plan.gpu_capacity + 1), ADL_EREFUSED);
    assert_int_equal(plan.command_count, 0);
    while (plan.command_count < plan.command_capacity)
        assert_int_equal(adl_plan_preempt(&plan, plan.command_count), 0);
    assert_int_equal(adl_plan_start(&plan, 1, 1), ADL_EREFUSED);
    assert_int_equal(adl_plan_preempt(&plan, 1), ADL_EREFUSED);
    assert_int_equal(adl_plan_cap(&plan, 1, 100), ADL_EREFUSED);
    assert_int_equal(adl_plan_wake(&plan, 1), ADL_EREFUSED);
    assert_int_equal(plan.command_count, plan.command_capacity);
    assert_int_equal(plan.gpu_count, 0);
    for (uint32_t i = 0; i < plan.command_count; i++)
        assert_int_equal(plan.commands[i].job, i);
    adl_plan_clear(&plan);
}

static void a_plan_for_no_gpu_has_room_for_a_wake_only(void **state)
{
    (void)state;
    struct adl_plan plan = {0};
    assert_int_equal(adl_plan_create(&plan, 0), 0);
    assert_null(adl_plan_gpus(&plan, 1));
    assert_int_equal(adl_plan_wake(&plan, 5), 0);
    assert_int_equal(adl_plan_wake(&plan, 6), ADL_EREFUSED);
    adl_plan_clear(&plan);
    adl_plan_clear(&plan);
    assert_null(plan.commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_keep_their_order_and_their_gpus),
        cmocka_unit_test(a_reset_plan_is_empty_and_keeps_its_room),
        cmocka_unit_test(every_gpu_can_be_given_out_twice_and_capped_and_every_job_on_it_stopped),
        cmocka_unit_test(a_full_plan_refuses_and_stays_as_it_is),
        cmocka_unit_test(a_plan_for_no_gpu_has_room_for_a_wake_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
