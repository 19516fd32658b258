/* Whose processes are on a GPU. */
#include "executor/local/foreign_processes.h"
#include "task_fixture.h"

static int64_t pid_in(const char *name)
{
    wait_for_file(name);
    return strtoll(task_read_text(name), NULL, 10);
}

static void processes_of_tasks_are_ours_and_others_are_foreign(void **state)
{
    (void)state;
    uint32_t which, foreign[3];
    /* A child, and one that left session and group and lost its parent. */
    const struct adl_task_spec spec =
        shell_spec("sleep 300 & echo $! > child; (setsid sh -c 'echo $$ > far; exec sleep 300' &); exec sleep 300");
    const struct adl_task_spec other = shell_spec("echo $$ > other; exec sleep 300");
    struct adl_task tasks[2] = {launch("t1", &other), launch("t2", &spec)};
    const int64_t child = pid_in("child"), far = pid_in("far"), first = pid_in("other");
    wait_for_state(&tasks[0], ADL_TASK_RUNNING);
    wait_for_state(&tasks[1], ADL_TASK_RUNNING);
    const struct adl_task_start starts[] = {tasks[0].start, tasks[1].start};

    assert_int_equal(adl_gpu_owner_find(child, starts, 2, &which), ADL_GPU_OWNER_OURS);
    assert_int_equal(which, 1);
    assert_int_equal(adl_gpu_owner_find(far, starts, 2, &which), ADL_GPU_OWNER_OURS);
    assert_int_equal(which, 1);
    assert_int_equal(adl_gpu_owner_find(first, starts, 2, &which), ADL_GPU_OWNER_OURS);
    assert_int_equal(which, 0);
    assert_int_equal(adl_gpu_owner_find(getpid(), starts, 2, &which), ADL_GPU_OWNER_FOREIGN);
    assert_int_equal(which, 2);
    assert_int_equal(adl_gpu_owner_find(child, starts, 1, NULL), ADL_GPU_OWNER_FOREIGN);
    assert_int_equal(adl_gpu_owner_find(child, NULL, 0, NULL), ADL_GPU_OWNER_FOREIGN);

    const struct adl_gpu_process uses[] = {{0, child}, {1, getpid()}, {1, getppid()}, {1, far}, {2, 0}, {9, getpid()}};
    adl_foreign_processes_count(uses, 6, starts, 2, foreign, 3);
    assert_int_equal(foreign[0], 0);
    assert_int_equal(foreign[1], 2);
    assert_int_equal(foreign[2], 0);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(adl_task_cancel(&tasks[i], "done", NULL), 0);
        task_finish(&tasks[i]);
    }
    assert_int_equal(adl_gpu_owner_find(far, starts, 2, NULL), ADL_GPU_OWNER_GONE);
}

static void a_dead_process_occupies_nothing(void **state)
{
    (void)state;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(adl_gpu_owner_find(pid, NULL, 0, NULL), ADL_GPU_OWNER_GONE); /* a zombie */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(adl_gpu_owner_find(pid, NULL, 0, NULL), ADL_GPU_OWNER_GONE);
    assert_int_equal(adl_gpu_owner_find(-1, NULL, 0, NULL), ADL_GPU_OWNER_GONE);
    assert_int_equal(adl_gpu_owner_find(INT64_MAX, NULL, 0, NULL), ADL_GPU_OWNER_GONE);
}

static void an_earlier_process_with_the_same_pid_owns_nothing(void **state)
{
    (void)state;
    /* A task of ours had this number, but its process started at another time. */
    struct adl_process self;
    assert_int_equal(adl_process_find(getpid(), &self), 0);
    const struct adl_task_start stale = {.shepherd = {self.pid, self.start_ticks - 1}};
    assert_int_equal(adl_gpu_owner_find(getpid(), &stale, 1, NULL), ADL_GPU_OWNER_FOREIGN);
    const struct adl_task_start right = {.shepherd = self};
    assert_int_equal(adl_gpu_owner_find(getpid(), &right, 1, NULL), ADL_GPU_OWNER_OURS);
}

static void names_of_processes_cannot_fake_their_pids(void **state)
{
    (void)state;
    struct adl_process_stat stat;
    char text[512] = "12 (a) R 1 2 3) S 77 88 99 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 18446744073709551615 9";
    assert_int_equal(adl_process_stat_parse(text, &stat), 0);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent, 77);
    assert_int_equal(stat.group, 88);
    assert_int_equal(stat.session, 99);
    assert_int_equal(stat.start_ticks, 4242);
    for (size_t size = 0; size < strlen("12 (a) R 1 2 3) S 77 88 99 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0"); size++) {
        char part[512];
        snprintf(part, sizeof part, "%.*s", (int)size, text);
        assert_int_equal(adl_process_stat_parse(part, &stat), -1);
    }
}

int main(int argc, char **argv)
{
    shepherd_or_return(argc, argv);
    const struct CMUnitTest tests[] = {
        TASK_TEST(processes_of_tasks_are_ours_and_others_are_foreign),
        TASK_TEST(a_dead_process_occupies_nothing),
        TASK_TEST(an_earlier_process_with_the_same_pid_owns_nothing),
        TASK_TEST(names_of_processes_cannot_fake_their_pids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
