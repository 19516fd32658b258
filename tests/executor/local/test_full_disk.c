/* Tasks whose folders are on a disk that is full, or read-only, when they start or end. */
#include "small_disk.h"
#include "task_fixture.h"

static struct adl_error err;

static int remove_disk(void **state)
{
    small_disk_unmount();
    return remove_home(state);
}

static void need_disk(void)
{
    if (!small_disk_mount(in_home("disk")))
        skip();
}

/* One that waits for the file "end", which is not on the disk. */
static struct adl_task launch_waiting(void)
{
    const struct adl_task_spec spec = shell_spec("echo x >> count; while [ ! -e end ]; do sleep 0.01; done; exit 9");
    struct adl_task task = launch("disk/t", &spec);
    wait_for_file("count");
    return task;
}

static void a_task_that_ends_on_a_full_disk_has_its_result(void **state)
{
    (void)state;
    need_disk();
    struct adl_task task = launch_waiting();
    small_disk_fill();
    task_write_text("end", "", 0644);
    const struct adl_task_result result = task_finish(&task); /* and the disk stays full */
    assert_int_equal(result.outcome, ADL_TASK_EXITED);
    assert_int_equal(result.exit_code, 9);
}

static void a_cancel_reaches_a_task_on_a_full_disk(void **state)
{
    (void)state;
    need_disk();
    struct adl_task task = launch_waiting();
    small_disk_fill();
    assert_int_equal(adl_task_cancel(&task, "no more", &err), 0);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
    assert_string_equal(result.reason, "no more");
}

static void a_task_whose_shepherd_was_killed_is_lost_on_a_full_disk_too(void **state)
{
    (void)state;
    need_disk();
    struct adl_task task = launch_waiting();
    small_disk_fill();
    assert_int_equal(kill((pid_t)task.shepherd.pid, SIGKILL), 0);
    assert_int_equal(task_finish(&task).outcome, ADL_TASK_LOST);
}

/* There is a page for its description, and none for its result. */
static void without_space_for_its_result_a_task_is_not_started(void **state)
{
    (void)state;
    struct stat ballast;
    need_disk();
    const struct adl_task_spec spec = shell_spec("echo x >> count");
    assert_int_equal(mkdir(in_home("disk/t"), 0700), 0);
    small_disk_fill();
    assert_int_equal(stat(small_disk_ballast(), &ballast), 0);
    assert_int_equal(truncate(small_disk_ballast(), ballast.st_size - 4096), 0);
    struct adl_task task = launch("disk/t", &spec);
    wait_for_state(&task, ADL_TASK_WAITING);
    adl_task_close(&task);
    assert_null(task_read_text("count"));
    small_disk_clear();
    assert_int_equal(task_run("disk/t", &spec).outcome, ADL_TASK_EXITED);
    assert_string_equal(task_read_text("count"), "x\n");
}

static void a_result_waits_for_a_disk_that_is_read_only(void **state)
{
    (void)state;
    struct adl_task_result result;
    need_disk();
    struct adl_task task = launch_waiting();
    const int64_t command = strtoll(strstr(task_read_text("disk/t/started"), "command_pid=") + 14, NULL, 10);
    small_disk_set_read_only(true);
    task_write_text("end", "", 0644);
    while (command > 0 && pid_lives(command))
        nap_ms(5);
    nap_ms(200);
    assert_int_equal(poll_task(&task, &result), ADL_TASK_RUNNING);
    small_disk_set_read_only(false);
    assert_int_equal(task_finish(&task).exit_code, 9);
}

static void a_shepherd_whose_folder_was_removed_ends(void **state)
{
    (void)state;
    int status;
    const struct adl_task_spec spec = shell_spec("echo x >> count; while [ ! -e end ]; do sleep 0.01; done");
    struct adl_task task = launch("t", &spec);
    wait_for_file("count");
    const pid_t shepherd = (pid_t)task.shepherd.pid;
    remove_tree(in_home("t"));
    task_write_text("end", "", 0644);
    assert_int_equal(waitpid(shepherd, &status, 0), shepherd);
    adl_task_close(&task);
}

#define DISK_TEST(f) cmocka_unit_test_setup_teardown(f, make_home, remove_disk)

int main(int argc, char **argv)
{
    shepherd_or_return(argc, argv);
    const struct CMUnitTest tests[] = {
        DISK_TEST(a_task_that_ends_on_a_full_disk_has_its_result),
        DISK_TEST(a_cancel_reaches_a_task_on_a_full_disk),
        DISK_TEST(a_task_whose_shepherd_was_killed_is_lost_on_a_full_disk_too),
        DISK_TEST(without_space_for_its_result_a_task_is_not_started),
        DISK_TEST(a_result_waits_for_a_disk_that_is_read_only),
        DISK_TEST(a_shepherd_whose_folder_was_removed_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
