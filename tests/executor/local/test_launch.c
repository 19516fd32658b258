/* The service's side of tasks: services that are killed, shepherds that are killed, and tasks that no service
 * watches. */
#include "task_fixture.h"

#include <sys/prctl.h>

/* Runs f in a process of its own and waits for its end, as a service that is gone afterwards. */
static void in_another_service(void (*f)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        f();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void launch_short(void)
{
    const struct adl_task_spec spec = shell_spec("echo x >> count; exit 6");
    launch("t", &spec);
}

static void launch_long(void)
{
    const struct adl_task_spec spec = shell_spec("echo x >> count; while [ ! -e end ]; do sleep 0.01; done; exit 7");
    launch("t", &spec);
}

static void a_task_that_ended_while_nobody_watched_has_its_result(void **state)
{
    (void)state;
    in_another_service(launch_short);
    wait_for_file("t/result");
    struct adl_task task = adopt("t");
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_EXITED);
    assert_int_equal(result.exit_code, 6);
}

static void a_running_task_is_adopted_by_the_next_service(void **state)
{
    (void)state;
    struct adl_task_result result;
    in_another_service(launch_long);
    wait_for_file("count");
    struct adl_task task = adopt("t");
    assert_int_equal(task.state, ADL_TASK_RUNNING);
    assert_true(task.fd >= 0);
    assert_int_equal(poll_task(&task, &result), ADL_TASK_RUNNING);
    task_write_text("end", "", 0644);
    assert_int_equal(task_finish(&task).exit_code, 7);
    assert_string_equal(task_read_text("count"), "x\n");
}

static void launching_again_finds_what_was_launched_before(void **state)
{
    (void)state;
    const struct adl_task_spec spec = shell_spec("echo y >> count; exit 1");
    in_another_service(launch_long);
    struct adl_task task = launch("t", &spec); /* the first shepherd may not have begun yet: one of the two does */
    task_write_text("end", "", 0644);
    const struct adl_task_result result = task_finish(&task);
    const bool first = result.exit_code == 7;
    assert_true(first || result.exit_code == 1);
    assert_int_equal(strlen(task_read_text("count")), 2);
    task = launch("t", &spec);
    assert_int_equal(task_finish(&task).exit_code, first ? 7 : 1);
    assert_int_equal(strlen(task_read_text("count")), 2);
}

static void a_cancelled_task_of_an_earlier_service_ends(void **state)
{
    (void)state;
    struct adl_error err;
    in_another_service(launch_long);
    wait_for_file("count");
    struct adl_task task = adopt("t");
    assert_int_equal(adl_task_cancel(&task, "enough", &err), 0);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
    assert_string_equal(result.reason, "enough");
}

static void a_task_cancelled_before_its_start_never_runs(void **state)
{
    (void)state;
    struct adl_error err;
    const struct adl_task_spec spec = shell_spec("echo x >> count");
    assert_int_equal(mkdir(in_home("t"), 0700), 0);
    struct adl_task task = adopt("t");
    assert_int_equal(task.state, ADL_TASK_WAITING);
    assert_int_equal(adl_task_cancel(&task, "changed my mind", &err), 0);
    adl_task_close(&task);
    task = launch("t", &spec);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
    assert_string_equal(result.reason, "changed my mind");
    assert_null(task_read_text("count"));
}

static void killing_a_shepherd_kills_its_task(void **state)
{
    (void)state;
    /* One with the task's mark in another session, one in the task's session without any environment. */
    const struct adl_task_spec spec =
        shell_spec("echo x >> count; setsid sh -c 'echo $$ > far; exec sleep 300' & env -i sleep 300 & echo $! > near; "
                   "while [ ! -s far ]; do sleep 0.01; done; echo $$ > lead; exec sleep 300");
    struct adl_task task = launch("t", &spec);
    wait_for_file("lead");
    const int64_t far = strtoll(task_read_text("far"), NULL, 10), near = strtoll(task_read_text("near"), NULL, 10),
                  lead = strtoll(task_read_text("lead"), NULL, 10);
    assert_true(pid_lives(far) && pid_lives(near) && pid_lives(lead));
    assert_int_equal(kill((pid_t)task.shepherd.pid, SIGKILL), 0);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_LOST);
    assert_false(pid_lives(far));
    assert_false(pid_lives(near));
    assert_false(pid_lives(lead));
    task = launch("t", &spec); /* stays lost, is not run again */
    assert_int_equal(task_finish(&task).outcome, ADL_TASK_LOST);
    assert_string_equal(task_read_text("count"), "x\n");
}

static pid_t start_innocent(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setsid();
        for (;;)
            pause();
    }
    nap_ms(50);
    return pid;
}

static void check_innocent(const struct adl_task_start *start, pid_t innocent, const char *reason)
{
    struct adl_error err;
    assert_int_equal(mkdir(in_home("t"), 0700), 0);
    const int dir = open(in_home("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(adl_record_store(dir, "started", &adl_task_start_form, start, 0, &err), 0);
    close(dir);
    struct adl_task task = adopt("t");
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_LOST);
    assert_non_null(strstr(result.reason, reason));
    assert_true(pid_lives(innocent));
    assert_int_equal(kill(innocent, SIGKILL), 0);
    assert_int_equal(waitpid(innocent, NULL, 0), innocent);
}

static void a_process_with_a_reused_pid_is_left_alone(void **state)
{
    (void)state;
    const pid_t innocent = start_innocent();
    struct adl_task_start start = {.shepherd = {innocent, 1}, .command = {innocent, 1}, .start_us = 1};
    assert_int_equal(adl_boot_id_read(start.boot_id), 0);
    check_innocent(&start, innocent, "is gone");
}

static void after_a_restart_of_the_machine_nothing_is_killed(void **state)
{
    (void)state;
    struct adl_process process;
    const pid_t innocent = start_innocent();
    assert_int_equal(adl_process_find(innocent, &process), 0);
    const struct adl_task_start start = {
        .shepherd = process, .command = process, .boot_id = "another boot", .start_us = 1};
    check_innocent(&start, innocent, "restarted");
}

static void polling_does_without_pidfds(void **state)
{
    (void)state;
    const struct adl_launch_options options = {.no_pidfd = true};
    const struct adl_task_spec spec = shell_spec("sleep 0.1; exit 8");
    struct adl_task task = launch_with("t", &spec, &options);
    assert_int_equal(task.fd, -1);
    assert_int_equal(task_finish(&task).exit_code, 8);
}

static void a_launch_that_fails_starts_nothing(void **state)
{
    (void)state;
    struct adl_error err;
    struct adl_task task;
    const struct adl_launch_options options = {.program = "/no/such/program"};
    struct adl_task_spec spec = shell_spec("echo x >> count");
    assert_int_equal(adl_task_launch(in_home("t"), &spec, &options, &task, &err), ADL_EIO);
    assert_non_null(strstr(err.text, "/no/such/program"));
    assert_int_equal(adl_task_launch(in_home("no/such/parent"), &spec, NULL, &task, &err), ADL_EIO);
    assert_int_equal(adl_task_launch("relative", &spec, NULL, &task, &err), ADL_EINVAL);
    struct adl_task waiting = adopt("t");
    assert_int_equal(waiting.state, ADL_TASK_WAITING);
    adl_task_close(&waiting);
    spec.cwd = "relative";
    assert_int_equal(adl_task_launch(in_home("t"), &spec, NULL, &task, &err), ADL_EINVAL);
    assert_null(task_read_text("count"));
}

static void a_shepherd_that_fails_at_once_leaves_the_task_waiting(void **state)
{
    (void)state;
    const struct adl_launch_options options = {.program = "/bin/false"};
    struct adl_task_spec spec = shell_spec("exit 0");
    struct adl_task task = launch_with("t", &spec, &options);
    wait_for_state(&task, ADL_TASK_WAITING);
    adl_task_close(&task);
    assert_int_equal(task_run("t", &spec).outcome, ADL_TASK_EXITED);
}

static void neither_descriptors_nor_zombies_are_left(void **state)
{
    (void)state;
    const struct adl_task_spec spec = shell_spec("exit 0");
    struct adl_task tasks[50];
    const uint32_t before = count_descriptors();
    for (int i = 0; i < 50; i++) {
        char name[24];
        snprintf(name, sizeof name, "t%d", i);
        tasks[i] = launch(name, &spec);
    }
    for (int i = 0; i < 50; i++)
        assert_int_equal(task_finish(&tasks[i]).outcome, ADL_TASK_EXITED);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

#define CRASH_TASKS 200

/* A service: launches all tasks or takes them up. */
static void serve_all(void)
{
    for (int i = 0; i < CRASH_TASKS; i++) {
        char name[24], text[64];
        struct adl_task task;
        struct adl_error err;
        snprintf(name, sizeof name, "t%d", i);
        snprintf(text, sizeof text, "echo x >> count%d; exit %d", i, i % 100);
        const struct adl_task_spec spec = shell_spec(text);
        if (adl_task_launch(in_home(name), &spec, NULL, &task, &err))
            _exit(1);
    }
}

/* Whatever its services left becomes ours, so that it can be waited for and counted. */
static void whenever_the_service_is_killed_every_task_runs_once(void **state)
{
    (void)state;
    int kills = 0, status = 0;
    unsigned seed = 12345;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (;;) {
        const pid_t pid = fork();
        if (pid == 0) {
            serve_all();
            _exit(0);
        }
        seed = seed * 1103515245u + 12345u;
        /* From too short to launch one to some dozens at once; longer and longer, so that it comes to an end. */
        const long longest_ns = kills < 250 ? 2000000 + kills * 3000000L : 900000000;
        nanosleep(&(struct timespec){.tv_nsec = (long)(seed >> 4) % longest_ns}, NULL);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status))
            break;
        assert_true(++kills < 900);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int i = 0; i < CRASH_TASKS; i++) {
        char name[24];
        snprintf(name, sizeof name, "t%d", i);
        struct adl_task task = adopt(name);
        struct adl_task_result result = {0};
        const int64_t until_us = adl_clock_boot_us() + PATIENCE_US;
        while (poll_task(&task, &result) != ADL_TASK_ENDED) {
            assert_true(adl_clock_boot_us() < until_us);
            nap_ms(1); /* WAITING too: the last shepherds may not have begun yet */
        }
        adl_task_close(&task);
        assert_int_equal(result.outcome, ADL_TASK_EXITED);
        assert_int_equal(result.exit_code, i % 100);
    }
    while (waitpid(-1, &status, 0) > 0)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < CRASH_TASKS; i++) {
        char name[24];
        snprintf(name, sizeof name, "count%d", i);
        assert_string_equal(task_read_text(name), "x\n");
    }
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    print_message("%d tasks over %d kills\n", CRASH_TASKS, kills);
    assert_true(kills > 5);
}

int main(int argc, char **argv)
{
    shepherd_or_return(argc, argv);
    const struct CMUnitTest tests[] = {
        TASK_TEST(a_task_that_ended_while_nobody_watched_has_its_result),
        TASK_TEST(a_running_task_is_adopted_by_the_next_service),
        TASK_TEST(launching_again_finds_what_was_launched_before),
        TASK_TEST(a_cancelled_task_of_an_earlier_service_ends),
        TASK_TEST(a_task_cancelled_before_its_start_never_runs),
        TASK_TEST(killing_a_shepherd_kills_its_task),
        TASK_TEST(a_process_with_a_reused_pid_is_left_alone),
        TASK_TEST(after_a_restart_of_the_machine_nothing_is_killed),
        TASK_TEST(polling_does_without_pidfds),
        TASK_TEST(a_launch_that_fails_starts_nothing),
        TASK_TEST(a_shepherd_that_fails_at_once_leaves_the_task_waiting),
        TASK_TEST(neither_descriptors_nor_zombies_are_left),
        TASK_TEST(whenever_the_service_is_killed_every_task_runs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
