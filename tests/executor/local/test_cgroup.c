/* Cgroups, in folders that look like them. A real one is used by test_shepherd, if it is given one. */
#include "executor/local/cgroup.h"
#include "task_fixture.h"

static void make_folder(const char *ret_name[5])
{
    static char names[5][96];
    static const char *files[] = {"cgroup.procs", "memory.max", "cpu.max", "pids.max", "cpuset.cpus"};
    char folder[64];
    snprintf(folder, sizeof folder, "job-7-%ld", (long)getpid());
    assert_int_equal(mkdir(in_home(folder), 0755), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
        task_write_text(names[i], "", 0644);
        ret_name[i] = names[i];
    }
}

static void limits_are_written_in_the_kernels_units(void **state)
{
    (void)state;
    int join = -1;
    char path[512];
    const char *names[5];
    struct adl_task_result result = {0};
    struct adl_task_spec spec = shell_spec("exit 0");
    spec.cgroup_parent = home;
    spec.memory_max_mib = 3;
    spec.cpus_milli = 1500;
    spec.pids_max = 50;
    spec.cpuset = "0-1";
    make_folder(names);
    adl_cgroup_create(&spec, &result, path, sizeof path, &join);
    assert_true(join >= 0);
    assert_string_equal(result.notes, "");
    assert_string_equal(task_read_text(names[1]), "3145728");
    assert_string_equal(task_read_text(names[2]), "150000 100000");
    assert_string_equal(task_read_text(names[3]), "50");
    assert_string_equal(task_read_text(names[4]), "0-1");
    close(join);
}

static void a_limit_without_its_controller_is_noted_and_the_others_hold(void **state)
{
    (void)state;
    int join = -1;
    char path[512];
    const char *names[5];
    struct adl_task_result result = {0};
    struct adl_task_spec spec = shell_spec("exit 0");
    spec.cgroup_parent = home;
    spec.memory_max_mib = 3;
    spec.pids_max = 50;
    make_folder(names);
    task_write_text("cgroup.subtree_control", "", 0644);
    assert_int_equal(unlink(in_home(names[1])), 0);
    adl_cgroup_create(&spec, &result, path, sizeof path, &join);
    assert_true(join >= 0);
    assert_string_equal(task_read_text("cgroup.subtree_control"), "+memory"); /* it was asked for */
    assert_string_equal(result.notes, "memory.max 3145728 was not set: No such file or directory");
    assert_string_equal(task_read_text(names[3]), "50");
    close(join);
}

static void a_path_that_is_too_long_is_no_cgroup(void **state)
{
    (void)state;
    int join = 5;
    char path[16];
    struct adl_task_result result = {0};
    struct adl_task_spec spec = shell_spec("exit 0");
    spec.cgroup_parent = home;
    adl_cgroup_create(&spec, &result, path, sizeof path, &join);
    assert_int_equal(join, -1);
    assert_string_equal(path, "");
    assert_string_equal(result.notes, "no cgroup: its path is too long");
}

static void without_a_cgroup_kill_and_remove_do_nothing(void **state)
{
    (void)state;
    adl_cgroup_kill("");
    assert_true(adl_cgroup_remove(""));
    assert_true(adl_cgroup_remove(in_home("none")));
    assert_int_equal(adl_cgroup_each("", NULL, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASK_TEST(limits_are_written_in_the_kernels_units),
        TASK_TEST(a_limit_without_its_controller_is_noted_and_the_others_hold),
        TASK_TEST(a_path_that_is_too_long_is_no_cgroup),
        TASK_TEST(without_a_cgroup_kill_and_remove_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
