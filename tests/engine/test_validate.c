/* Tests of engine/validate: every reason to refuse, by its text, and what may be done is not refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/validate.h"
#include "state_fixture.h"

/* GPUs 0-3 type 0 on node-0, 4-7 type 0 on node-1, 8-9 type 1 on node-1. */
struct bench {
    struct adl_cluster cluster;
    struct adl_state *state;
    struct adl_validator *validator;
};

static void bench_start(struct bench *bench)
{
    *bench = (struct bench){0};
    fixture_types(&bench->cluster, 2);
    fixture_node(&bench->cluster, 0, 4);
    fixture_node_of(&bench->cluster, (struct adl_bank_spec[]){{0, 4}, {1, 2}}, 2, FIXTURE_CORES, FIXTURE_NODE_MIB);
    bench->state = fixture_state(&bench->cluster);
    assert_int_equal(adl_validator_create(&bench->cluster, &bench->validator), 0);
}

static void bench_end(struct bench *bench)
{
    adl_validator_destroy(bench->validator);
    adl_state_destroy(bench->state);
    adl_cluster_clear(&bench->cluster);
}

static int start(struct bench *bench, uint32_t slot, uint16_t count, const uint32_t *gpus, struct adl_error *err)
{
    const struct adl_command command = {.kind = ADL_COMMAND_START, .job = slot, .gpu_count = count};
    return adl_validate(bench->validator, bench->state, &command, gpus, err);
}

/* text NULL: it may be done. */
static void check_start(struct bench *bench, uint32_t slot, uint16_t count, const uint32_t *gpus, const char *text)
{
    struct adl_error err = {.text = ""};
    assert_int_equal(start(bench, slot, count, gpus, &err), text ? ADL_EREFUSED : 0);
    assert_string_equal(err.text, text ? text : "");
}

static void check_command(struct bench *bench, struct adl_command command, const char *text)
{
    struct adl_error err = {.text = ""};
    assert_int_equal(adl_validate(bench->validator, bench->state, &command, NULL, &err), text ? ADL_EREFUSED : 0);
    assert_string_equal(err.text, text ? text : "");
}

#define GPUS(...)                                                                                                      \
    sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                                           \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void a_start_on_free_gpus_of_one_node_may_be_done(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 2);
    fixture_queue(bench.state, 3, &spec, 10, 0);
    check_start(&bench, 3, GPUS(0, 3), NULL);
    check_start(&bench, 3, GPUS(9, 8), NULL);
    bench_end(&bench);
}

static void only_a_pending_job_can_be_started(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 1);
    fixture_run(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(1), "job slot 0 is not pending");
    adl_state_stopping(bench.state, 0);
    check_start(&bench, 0, GPUS(1), "job slot 0 is not pending");
    check_start(&bench, 1, GPUS(1), "job slot 1 is not pending");
    check_start(&bench, UINT32_MAX, GPUS(1), "job slot 4294967295 is not pending");
    bench_end(&bench);
}

static void a_gang_gets_neither_more_nor_fewer_gpus_than_it_asks_for(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 2);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(1), "job 7 asks for 2 GPUs, the plan gives it 1");
    check_start(&bench, 0, GPUS(1, 2, 3), "job 7 asks for 2 GPUs, the plan gives it 3");
    check_start(&bench, 0, 0, NULL, "job 7 asks for 2 GPUs, the plan gives it 0");
    bench_end(&bench);
}

static void a_gpu_must_exist(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 2);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(10, 0), "GPU 10 does not exist");
    check_start(&bench, 0, GPUS(0, 10), "GPU 10 does not exist");
    check_start(&bench, 0, GPUS(0, UINT32_MAX), "GPU 4294967295 does not exist");
    bench_end(&bench);
}

static void a_gpu_may_be_named_once(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 3);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(0, 1, 0), "GPU 0 is named twice");
    check_start(&bench, 0, GPUS(0, 1, 2), NULL);
    check_start(&bench, 0, GPUS(0, 1, 2), NULL);
    bench_end(&bench);
}

static void a_gpu_that_is_down_takes_no_job(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    const struct adl_job_spec spec = fixture_spec(7, 1);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    adl_state_gpu_down(bench.state, 2);
    check_start(&bench, 0, GPUS(2), "GPU 2 is down");
    adl_state_gpu_up(bench.state, 2);
    check_start(&bench, 0, GPUS(2), NULL);
    bench_end(&bench);
}

static void a_gang_is_of_one_type_that_the_job_accepts_and_runs_on(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 2);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(4, 8), "GPU 8 is of another type than the rest of the gang");
    spec.types = 1;
    fixture_queue(bench.state, 1, &spec, 10, 0);
    check_start(&bench, 1, GPUS(8, 9), "job 7 does not accept GPUs of type type-1");
    spec.types = 3;
    assert_int_equal(adl_state_admit(bench.state, 2, &spec, (int64_t[]){0, 10}), 0);
    assert_int_equal(adl_state_enqueue(bench.state, 2, 0), 0);
    check_start(&bench, 2, GPUS(0, 1), "job 7 does not accept GPUs of type type-0");
    check_start(&bench, 2, GPUS(8, 9), NULL);
    bench_end(&bench);
}

static void a_gpu_must_have_the_memory(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 1);
    spec.flags = ADL_JOB_SHARE;
    spec.gpu_memory_mib = FIXTURE_GPU_MIB;
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(0), NULL);
    spec.gpu_memory_mib = 1;
    fixture_run(bench.state, 1, &spec, 10, 0);
    check_start(&bench, 0, GPUS(0), "GPU 0 has 16383 MiB free, the job needs 16384");
    spec.gpu_memory_mib = FIXTURE_GPU_MIB + 1;
    fixture_queue(bench.state, 2, &spec, 10, 0);
    check_start(&bench, 2, GPUS(1), "GPU 1 has 16384 MiB free, the job needs 16385");
    bench_end(&bench);
}

static void a_gpu_is_shared_by_two_willing_jobs_at_most(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 1);
    fixture_run(bench.state, 0, &spec, 10, 0);
    spec.flags = ADL_JOB_SHARE;
    fixture_run(bench.state, 1, &spec, 10, 1);
    fixture_run(bench.state, 2, &spec, 10, 2);
    fixture_run(bench.state, 3, &spec, 10, 2);
    fixture_queue(bench.state, 4, &spec, 10, 0);
    check_start(&bench, 4, GPUS(0), "GPU 0 is busy and one of the two jobs does not share");
    check_start(&bench, 4, GPUS(1), NULL);
    check_start(&bench, 4, GPUS(2), "GPU 2 already holds two jobs");
    spec.flags = 0;
    fixture_queue(bench.state, 5, &spec, 10, 0);
    check_start(&bench, 5, GPUS(1), "GPU 1 is busy and one of the two jobs does not share");
    bench_end(&bench);
}

static void a_node_must_have_the_cores_and_memory_for_all_gpus_of_the_gang_on_it(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 2);
    spec.flags = ADL_JOB_SPAN;
    spec.cpu_cores = FIXTURE_CORES / 2 + 1;
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(0, 1), "node node-0 has 64 cores free, too few");
    check_start(&bench, 0, GPUS(0, 4), NULL);
    spec.cpu_cores = 0;
    spec.memory_mib = FIXTURE_NODE_MIB / 2 + 1;
    fixture_queue(bench.state, 1, &spec, 10, 0);
    check_start(&bench, 1, GPUS(4, 5), "node node-1 has 65536 MiB free, too little");
    check_start(&bench, 1, GPUS(4, 0), NULL);
    /* Each GPU of a node asks little, all of them together more than 32 bits hold. */
    spec.memory_mib = INT32_MAX;
    fixture_queue(bench.state, 2, &spec, 10, 0);
    check_start(&bench, 2, GPUS(0, 1), "node node-0 has 65536 MiB free, too little");
    bench_end(&bench);
}

static void a_gang_spans_nodes_only_if_it_may(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 2);
    fixture_queue(bench.state, 0, &spec, 10, 0);
    check_start(&bench, 0, GPUS(3, 4), "job 7 may not span nodes");
    spec.flags = ADL_JOB_SPAN;
    fixture_queue(bench.state, 1, &spec, 10, 0);
    check_start(&bench, 1, GPUS(3, 4), NULL);
    bench_end(&bench);
}

static void only_a_running_job_that_allows_it_can_be_preempted(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    struct adl_job_spec spec = fixture_spec(7, 1);
    fixture_run(bench.state, 0, &spec, 10, 0);
    spec.flags = ADL_JOB_PREEMPTIBLE;
    fixture_run(bench.state, 1, &spec, 10, 1);
    fixture_queue(bench.state, 2, &spec, 10, 0);
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_PREEMPT, .job = 0}, "job 7 may not be preempted");
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_PREEMPT, .job = 1}, NULL);
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_PREEMPT, .job = 2}, "job slot 2 is not running");
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_PREEMPT, .job = 999}, "job slot 999 is not running");
    adl_state_stopping(bench.state, 1);
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_PREEMPT, .job = 1}, "job slot 1 is not running");
    bench_end(&bench);
}

static void a_wake_up_lies_in_the_future(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    bench.state->now_us = 100;
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_WAKE, .time_us = 99},
                  "a wake-up must lie in the future");
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_WAKE, .time_us = 100},
                  "a wake-up must lie in the future");
    check_command(&bench, (struct adl_command){.kind = ADL_COMMAND_WAKE, .time_us = 101}, NULL);
    bench_end(&bench);
}

static void check_cap(struct bench *bench, double power_w, uint16_t count, const uint32_t *gpus, const char *text)
{
    const struct adl_command command = {.kind = ADL_COMMAND_CAP, .gpu_count = count, .power_w = power_w};
    struct adl_error err = {.text = ""};
    assert_int_equal(adl_validate(bench->validator, bench->state, &command, gpus, &err), text ? ADL_EREFUSED : 0);
    assert_string_equal(err.text, text ? text : "");
}

static void a_cap_lies_between_three_tenths_and_all_of_the_limit_of_its_gpus(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    bench.cluster.types[0].max_w = 200;
    bench.cluster.types[1].max_w = 300;
    adl_state_gpu_down(bench.state, 2);
    check_cap(&bench, 60, GPUS(0, 2, 5), NULL); /* also one that is down */
    check_cap(&bench, 200, GPUS(1), NULL);
    check_cap(&bench, 0, GPUS(0, 8), NULL);
    check_cap(&bench, 150, GPUS(0, 8), NULL);
    check_cap(&bench, 59, GPUS(0), "GPU 0 cannot be capped at 59 W: type-0 takes 60 to 200 W, or 0 for no cap");
    check_cap(&bench, -1, GPUS(0), "GPU 0 cannot be capped at -1 W: type-0 takes 60 to 200 W, or 0 for no cap");
    check_cap(&bench, 60, GPUS(0, 9), "GPU 9 cannot be capped at 60 W: type-1 takes 90 to 300 W, or 0 for no cap");
    check_cap(&bench, 250, GPUS(8, 4), "GPU 4 cannot be capped at 250 W: type-0 takes 60 to 200 W, or 0 for no cap");
    check_cap(&bench, NAN, GPUS(8), "GPU 8 cannot be capped at nan W: type-1 takes 90 to 300 W, or 0 for no cap");
    check_cap(&bench, 100, GPUS(3, 10), "GPU 10 does not exist");
    check_cap(&bench, 100, 0, NULL, "a power cap names no GPU");
    bench_end(&bench);
}

static void a_state_keeps_caps_until_they_are_lifted_or_it_is_reset(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    assert_true(bench.state->gpus[0].cap_w == 0);
    adl_state_cap(bench.state, (const uint32_t[]){0, 5}, 2, 120);
    adl_state_gpu_down(bench.state, 5);
    adl_state_gpu_up(bench.state, 5);
    assert_true(bench.state->gpus[0].cap_w == 120 && bench.state->gpus[5].cap_w == 120);
    assert_true(bench.state->gpus[1].cap_w == 0);
    adl_state_cap(bench.state, (const uint32_t[]){0}, 1, 0);
    assert_true(bench.state->gpus[0].cap_w == 0 && bench.state->gpus[5].cap_w == 120);
    adl_state_reset(bench.state);
    assert_true(bench.state->gpus[5].cap_w == 0);
    bench_end(&bench);
}

static void an_unknown_command_is_refused(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench);
    check_command(&bench, (struct adl_command){.kind = 77}, "unknown command 77");
    bench_end(&bench);
}

/* A random start that passes can be carried out, and the tables stay within their bounds. */
static void what_passes_leaves_no_table_below_zero(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t passed = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct bench bench;
        bench_start(&bench);
        adl_rng_seed(&rng, seed, "validate");
        for (uint32_t slot = 0; slot < 40; slot++) {
            struct adl_job_spec spec = fixture_spec(slot, (uint16_t)fixture_between(&rng, 1, 3));
            uint32_t gpus[3];
            spec.flags = (uint8_t)(adl_rng_below(&rng, 8) | (adl_rng_below(&rng, 2) ? ADL_JOB_SHARE : 0));
            spec.cpu_cores = (int32_t)adl_rng_below(&rng, 20);
            spec.memory_mib = (int32_t)adl_rng_below(&rng, 20000);
            spec.gpu_memory_mib = (int32_t)adl_rng_below(&rng, 12000);
            fixture_queue(bench.state, slot, &spec, 10, 0);
            for (uint32_t i = 0; i < spec.gpus; i++)
                gpus[i] = adl_rng_below(&rng, 10);
            if (start(&bench, slot, spec.gpus, gpus, NULL)) {
                refused++;
                continue;
            }
            passed++;
            adl_state_start(bench.state, slot, gpus);
            for (uint32_t g = 0; g < 10; g++)
                assert_true(bench.state->gpus[g].free_memory_mib >= 0);
            for (uint32_t n = 0; n < 2; n++)
                assert_true(bench.state->nodes_use[n].free_cores >= 0 &&
                            bench.state->nodes_use[n].free_memory_mib >= 0);
        }
        for (uint32_t slot = 0; slot < 40; slot++)
            adl_state_finish(bench.state, slot);
        assert_int_equal(bench.state->busy_gpus, 0);
        for (uint32_t n = 0; n < 2; n++)
            assert_int_equal(bench.state->nodes_use[n].free_cores, FIXTURE_CORES);
        for (uint32_t g = 0; g < 10; g++)
            assert_int_equal(bench.state->gpus[g].free_memory_mib, FIXTURE_GPU_MIB);
        bench_end(&bench);
    }
    assert_true(passed > 1000 && refused > 1000);
}

static void no_validator_can_be_destroyed(void **state)
{
    (void)state;
    adl_validator_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_on_free_gpus_of_one_node_may_be_done),
        cmocka_unit_test(only_a_pending_job_can_be_started),
        cmocka_unit_test(a_gang_gets_neither_more_nor_fewer_gpus_than_it_asks_for),
        cmocka_unit_test(a_gpu_must_exist),
        cmocka_unit_test(a_gpu_may_be_named_once),
        cmocka_unit_test(a_gpu_that_is_down_takes_no_job),
        cmocka_unit_test(a_gang_is_of_one_type_that_the_job_accepts_and_runs_on),
        cmocka_unit_test(a_gpu_must_have_the_memory),
        cmocka_unit_test(a_gpu_is_shared_by_two_willing_jobs_at_most),
        cmocka_unit_test(a_node_must_have_the_cores_and_memory_for_all_gpus_of_the_gang_on_it),
        cmocka_unit_test(a_gang_spans_nodes_only_if_it_may),
        cmocka_unit_test(only_a_running_job_that_allows_it_can_be_preempted),
        cmocka_unit_test(a_wake_up_lies_in_the_future),
        cmocka_unit_test(a_cap_lies_between_three_tenths_and_all_of_the_limit_of_its_gpus),
        cmocka_unit_test(a_state_keeps_caps_until_they_are_lifted_or_it_is_reset),
        cmocka_unit_test(an_unknown_command_is_refused),
        cmocka_unit_test(what_passes_leaves_no_table_below_zero),
        cmocka_unit_test(no_validator_can_be_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
