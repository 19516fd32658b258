/* What a job finds in its environment. */
#include "executor/local/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char *value_of(const struct adl_strings *env, const char *name)
{
    const char *found = NULL;
    const size_t length = strlen(name);
    for (uint32_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], name, length) == 0 && env->items[i][length] == '=') {
            assert_null(found); /* a name is there once */
            found = env->items[i] + length + 1;
        }
    }
    return found;
}

static struct adl_strings build(const struct adl_environment *environment, const char **submitted)
{
    struct adl_error err;
    struct adl_strings env = {0}, given = {submitted, 0};
    while (submitted[given.count])
        given.count++;
    assert_int_equal(adl_environment_build(environment, &given, &env, &err), 0);
    assert_null(env.items[env.count]);
    return env;
}

static void gpus_are_named_as_their_runtimes_want_them(void **state)
{
    (void)state;
    const char *none[] = {NULL};
    const struct adl_environment_gpu gpus[] = {
        {ADL_GPU_NVIDIA, 0, "GPU-aa"}, {ADL_GPU_AMD, 5, "5"}, {ADL_GPU_NVIDIA, 2, "GPU-bb"}, {ADL_GPU_AMD, 7, "7"}};
    const struct adl_environment environment = {.job_id = 9, .array_index = -1, .gpus = gpus, .gpu_count = 4};
    struct adl_strings env = build(&environment, none);
    assert_string_equal(value_of(&env, "CUDA_VISIBLE_DEVICES"), "GPU-aa,GPU-bb");
    assert_string_equal(value_of(&env, "ROCR_VISIBLE_DEVICES"), "5,7");
    assert_string_equal(value_of(&env, "HIP_VISIBLE_DEVICES"), "0,1");
    assert_string_equal(value_of(&env, "SLURM_JOB_GPUS"), "0,5,2,7");
    assert_string_equal(value_of(&env, "SLURM_GPUS_ON_NODE"), "4");
    adl_environment_clear(&env);
    adl_environment_clear(&env);
}

static void gpus_that_are_not_the_jobs_are_hidden(void **state)
{
    (void)state;
    const char *submitted[] = {"CUDA_VISIBLE_DEVICES=0,1,2,3", NULL};
    const struct adl_environment_gpu virtual[] = {{ADL_GPU_VIRTUAL, 3, "virtual-3"}};
    const struct adl_environment environment = {.job_id = 9, .array_index = -1, .gpus = virtual, .gpu_count = 1};
    struct adl_strings env = build(&environment, submitted);
    assert_string_equal(value_of(&env, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal(value_of(&env, "ROCR_VISIBLE_DEVICES"), "");
    assert_string_equal(value_of(&env, "HIP_VISIBLE_DEVICES"), "");
    assert_string_equal(value_of(&env, "SLURM_JOB_GPUS"), "3");
    adl_environment_clear(&env);
}

static void scripts_for_slurm_find_their_names(void **state)
{
    (void)state;
    const char *none[] = {NULL};
    const struct adl_environment environment = {.job_id = 41,
                                                .name = "a name",
                                                .submit_dir = "/home/u",
                                                .user = "u",
                                                .home = "/home/u",
                                                .node = "box",
                                                .array_id = 40,
                                                .array_index = 0,
                                                .array_count = 5,
                                                .array_min = 0,
                                                .array_max = 8,
                                                .array_step = 2,
                                                .uid = 1001,
                                                .gid = 1002,
                                                .start_us = 1700000000000000,
                                                .limit_us = 60000000,
                                                .cpu_count = 4,
                                                .memory_mib = 2048,
                                                .restart_count = 2};
    struct adl_strings env = build(&environment, none);
    static const char *expected[][2] = {{"SLURM_JOB_ID", "41"},
                                        {"SLURM_JOB_NAME", "a name"},
                                        {"SLURM_SUBMIT_DIR", "/home/u"},
                                        {"SLURM_ARRAY_JOB_ID", "40"},
                                        {"SLURM_ARRAY_TASK_ID", "0"},
                                        {"SLURM_CPUS_PER_TASK", "4"},
                                        {"SLURM_MEM_PER_NODE", "2048"},
                                        {"SLURM_RESTART_COUNT", "2"},
                                        {"SLURM_JOB_NODELIST", "box"},
                                        {"SLURM_GPUS_ON_NODE", "0"},
                                        {"HOME", "/home/u"},
                                        {"USER", "u"},
                                        {"SLURM_ARRAY_TASK_COUNT", "5"},
                                        {"SLURM_ARRAY_TASK_MIN", "0"},
                                        {"SLURM_ARRAY_TASK_MAX", "8"},
                                        {"SLURM_ARRAY_TASK_STEP", "2"},
                                        {"SLURM_JOB_USER", "u"},
                                        {"SLURM_JOB_UID", "1001"},
                                        {"SLURM_JOB_GID", "1002"},
                                        {"SLURM_JOB_NUM_NODES", "1"},
                                        {"SLURM_GPUS", "0"},
                                        {"SLURM_CPUS_ON_NODE", "4"},
                                        {"SLURM_JOB_CPUS_PER_NODE", "4"},
                                        {"SLURM_JOB_START_TIME", "1700000000"},
                                        {"SLURM_JOB_END_TIME", "1700000060"},
                                        {"SLURM_NPROCS", "1"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(value_of(&env, expected[i][0]), expected[i][1]);
    adl_environment_clear(&env);
}

static void what_was_submitted_beats_what_a_login_would_set(void **state)
{
    (void)state;
    const char *submitted[] = {"PATH=/opt/bin", "SHELL=", NULL};
    const struct adl_environment environment = {.job_id = 9,
                                                .array_index = -1,
                                                .user = "u",
                                                .home = "/home/u",
                                                .shell = "/bin/bash",
                                                .path = "/usr/bin:/bin",
                                                .lang = "C.UTF-8",
                                                .socket = "/run/adlro/socket"};
    struct adl_strings env = build(&environment, submitted);
    static const char *expected[][2] = {
        {"PATH", "/opt/bin"}, {"SHELL", ""},       {"HOME", "/home/u"},     {"USER", "u"},
        {"LOGNAME", "u"},     {"LANG", "C.UTF-8"}, {"SLURM_JOB_USER", "u"}, {"ADLRO_SOCKET", "/run/adlro/socket"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(value_of(&env, expected[i][0]), expected[i][1]);
    adl_environment_clear(&env);
}

static void what_was_submitted_stays_but_for_names_of_another_job(void **state)
{
    (void)state;
    const char *submitted[] = {"B=first", "A=1",          "B=last",          "SLURM_ARRAY_TASK_ID=7", "SLURM_JOB_ID=1",
                               "HOME=/x", "SLURMY=stays", "EQUALS=a=b=\"c ", "ADLRO_SHEPHERD=1.2",    NULL};
    const struct adl_environment environment = {.job_id = 9, .array_index = -1};
    struct adl_strings env = build(&environment, submitted);
    assert_string_equal(value_of(&env, "A"), "1");
    assert_string_equal(value_of(&env, "B"), "last");
    assert_string_equal(value_of(&env, "HOME"), "/x");
    assert_string_equal(value_of(&env, "SLURMY"), "stays");
    assert_string_equal(value_of(&env, "EQUALS"), "a=b=\"c ");
    assert_string_equal(value_of(&env, "SLURM_JOB_ID"), "9");
    assert_null(value_of(&env, "SLURM_ARRAY_TASK_ID"));
    assert_null(value_of(&env, "SLURM_CPUS_PER_TASK"));
    assert_null(value_of(&env, "ADLRO_SHEPHERD"));
    assert_string_equal(env.items[0], "A=1"); /* in the order they came */
    assert_string_equal(env.items[1], "B=last");
    adl_environment_clear(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_named_as_their_runtimes_want_them),
        cmocka_unit_test(gpus_that_are_not_the_jobs_are_hidden),
        cmocka_unit_test(scripts_for_slurm_find_their_names),
        cmocka_unit_test(what_was_submitted_beats_what_a_login_would_set),
        cmocka_unit_test(what_was_submitted_stays_but_for_names_of_another_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
