/* Tasks from start to end, with real processes. */
#include "task_fixture.h"

#include <sys/resource.h>

static void exit_codes_are_recorded(void **state)
{
    (void)state;
    const int codes[] = {0, 1, 3, 255};
    for (int i = 0; i < 4; i++) {
        char text[32], name[24];
        snprintf(text, sizeof text, "exit %d", codes[i]);
        snprintf(name, sizeof name, "t%d", i);
        const struct adl_task_spec spec = shell_spec(text);
        const struct adl_task_result result = task_run(name, &spec);
        assert_int_equal(result.outcome, ADL_TASK_EXITED);
        assert_int_equal(result.exit_code, codes[i]);
        assert_int_equal(result.signal, 0);
        assert_true(result.end_us >= result.start_us && result.start_us > 0);
        assert_true(result.elapsed_us > 0 && result.elapsed_us < PATIENCE_US);
        assert_string_equal(result.notes, "");
    }
}

static void a_signal_that_ends_the_command_is_recorded(void **state)
{
    (void)state;
    const struct adl_task_spec spec = shell_spec("kill -SEGV $$");
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    assert_int_equal(result.exit_code, 0);
}

static void resources_of_descendants_are_counted(void **state)
{
    (void)state;
    const struct adl_task_spec spec = shell_spec("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 0");
    const struct adl_task_result result = task_run("t", &spec);
    assert_true(result.user_us + result.system_us > 10000);
    assert_true(result.memory_max_kib > 500);
}

static void the_time_limit_ends_a_command_by_term(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("exec sleep 300");
    spec.time_limit_us = 200000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_int_equal(result.signal, SIGTERM);
    assert_true(result.elapsed_us >= 200000 && result.elapsed_us < 20000000);
    assert_string_equal(result.reason, "its time limit of 0.200 s was over");
}

static void a_command_that_ignores_term_is_killed_after_the_grace(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("trap '' TERM; while :; do sleep 1; done");
    spec.time_limit_us = 300000;
    spec.grace_us = 300000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_int_equal(result.signal, SIGKILL);
    assert_true(result.elapsed_us >= 600000 && result.elapsed_us < 20000000);
}

static void a_command_may_use_its_grace_to_save_its_work(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("trap 'echo saved; exit 9' TERM; while :; do sleep 0.05; done");
    spec.stderr_path = "err"; /* where the shell tells of its sleep */
    spec.time_limit_us = 300000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_int_equal(result.exit_code, 9);
    assert_string_equal(task_read_text("out"), "saved\n");
}

static void the_grace_is_also_for_processes_that_outlive_the_command(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("(trap 'sleep 0.3; echo saved > late; exit' TERM; touch ready; while :; do "
                                           "sleep 0.05; done) & while :; do sleep 0.05; done");
    spec.time_limit_us = 500000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_int_equal(result.signal, SIGTERM);
    assert_non_null(task_read_text("late"));
    assert_true(result.elapsed_us < 25000000); /* and it does not wait for the whole of it */
}

static void processes_that_left_the_group_are_asked_to_end_as_well(void **state)
{
    (void)state;
    struct adl_task_spec spec =
        shell_spec("(setsid sh -c 'trap \"echo far >> asked; exit\" TERM; while :; do sleep 0.05; done' &); "
                   "setsid sh -c 'trap \"echo near >> asked; exit\" TERM; while :; do sleep 0.05; done' & "
                   "exec sleep 300");
    spec.stderr_path = "err";
    spec.time_limit_us = 500000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_true(result.elapsed_us < 20000000); /* nobody had to be waited for until the grace was over */
    const char *asked = task_read_text("asked");
    assert_non_null(asked);
    assert_true(strstr(asked, "far\n") && strstr(asked, "near\n"));
    assert_int_equal(strlen(asked), strlen("far\nnear\n")); /* once each */
}

static void a_stopped_command_ends_at_its_limit_too(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("kill -STOP $$");
    spec.time_limit_us = 200000;
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_TIMED_OUT);
    assert_int_equal(result.signal, SIGTERM);
}

static void nothing_of_a_task_outlives_its_end(void **state)
{
    (void)state;
    /* Forked twice, in sessions of their own, deaf to TERM and HUP. */
    const struct adl_task_spec spec =
        shell_spec("for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'trap \"\" TERM HUP; echo $$ >> pids; "
                   "sh -c \"echo \\$\\$ >> pids; sleep 300; :\"; :' &); done; "
                   "while [ \"$(wc -l < pids)\" -lt 20 ]; do sleep 0.01; done; exit 4");
    task_write_text("pids", "", 0666);
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_EXITED);
    assert_int_equal(result.exit_code, 4);
    assert_string_equal(result.notes, "");
    int seen = 0;
    char *rest = NULL;
    char *text = strdup(task_read_text("pids"));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_false(pid_lives(strtoll(line, NULL, 10)));
        seen++;
    }
    free(text);
    assert_int_equal(seen, 20);
}

static void the_environment_is_exactly_what_was_given(void **state)
{
    (void)state;
    const char *argv[] = {"/usr/bin/env", "-0", NULL};
    const char *env[] = {"A=1", "WITH SPACE=x y", "QUOTES='\"$(id)`", "EMPTY=", NULL};
    struct adl_task_spec spec = plain_spec();
    spec.argv = (struct adl_strings){argv, 2};
    spec.env = (struct adl_strings){env, 4};
    struct adl_task task = launch("t", &spec);
    char expected[256];
    snprintf(expected, sizeof expected, "A=1\nWITH SPACE=x y\nQUOTES='\"$(id)`\nEMPTY=\nADLRO_SHEPHERD=%lld.%lld\n",
             (long long)task.shepherd.pid, (long long)task.shepherd.start_ticks);
    assert_int_equal(task_finish(&task).exit_code, 0);
    assert_string_equal(task_read_text("out"), expected);
}

static void arguments_arrive_byte_for_byte_and_no_shell_sees_them(void **state)
{
    (void)state;
    const char *argv[] = {"printf",          "[%s]",  "a b",      "",  "'", "\"", "line\nfeed",
                          "$HOME; `id` | *", "end\n", "\xff\x01", NULL};
    struct adl_task_spec spec = plain_spec();
    spec.argv = (struct adl_strings){argv, 10};
    assert_int_equal(task_run("t", &spec).exit_code, 0);
    assert_string_equal(task_read_text("out"), "[a b][]['][\"][line\nfeed][$HOME; `id` | *][end\n][\xff\x01]");
}

static void check_unstarted(const struct adl_task_spec *spec, const char *name, int code, const char *part)
{
    const struct adl_task_result result = task_run(name, spec);
    assert_int_equal(result.outcome, ADL_TASK_UNSTARTED);
    assert_int_equal(result.exit_code, code);
    assert_int_equal(result.signal, 0);
    if (!strstr(result.reason, part))
        fail_msg("\"%s\" is not in \"%s\"", part, result.reason);
}

static void a_command_that_cannot_be_run_says_why(void **state)
{
    (void)state;
    const char *missing[] = {"no-such-command", NULL}, *plain[] = {"./script", NULL}, *naked[] = {"./naked", NULL};
    struct adl_task_spec spec = plain_spec();
    task_write_text("script", "#!/bin/sh\nexit 0\n", 0644);
    task_write_text("naked", "exit 0\n", 0755);
    spec.argv = (struct adl_strings){missing, 1};
    check_unstarted(&spec, "t1", 127, "no-such-command cannot be run: No such file");
    spec.argv.items = plain;
    check_unstarted(&spec, "t2", 126, "./script cannot be run: Permission denied (chmod +x");
    spec.argv.items = naked;
    check_unstarted(&spec, "t3", 126, "#!/bin/sh");
    spec = shell_spec("exit 0");
    spec.cwd = "/no/such/folder";
    check_unstarted(&spec, "t4", 126, "working directory /no/such/folder: No such file");
    spec = shell_spec("exit 0");
    spec.stdout_path = "no/such/out";
    check_unstarted(&spec, "t5", 126, "standard output no/such/out: No such file");
}

static void a_script_is_run_directly_with_its_arguments(void **state)
{
    (void)state;
    const char *argv[] = {"./script", "one two", NULL};
    struct adl_task_spec spec = plain_spec();
    task_write_text("script", "#!/bin/sh\necho \"$# $1\"\nexit 5\n", 0755);
    spec.argv = (struct adl_strings){argv, 2};
    assert_int_equal(task_run("t", &spec).exit_code, 5);
    assert_string_equal(task_read_text("out"), "1 one two\n");
}

static void output_goes_to_its_files(void **state)
{
    (void)state;
    struct stat info;
    struct adl_task_spec spec = shell_spec("echo out; echo err >&2");
    task_run("t1", &spec);
    assert_string_equal(task_read_text("out"), "out\nerr\n");
    assert_int_equal(stat(in_home("out"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    spec.stderr_path = "err";
    spec.mask = 077;
    spec.append = true;
    task_run("t2", &spec);
    assert_string_equal(task_read_text("out"), "out\nerr\nout\n");
    assert_string_equal(task_read_text("err"), "err\n");
    assert_int_equal(stat(in_home("err"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    spec.append = false;
    task_run("t3", &spec);
    assert_string_equal(task_read_text("out"), "out\n");
    task_write_text("in", "given\n", 0644);
    spec = shell_spec("cat");
    spec.stdin_path = "in";
    task_run("t4", &spec);
    assert_string_equal(task_read_text("out"), "given\n");
}

static void output_does_not_follow_links_or_wait_for_readers(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("echo overwritten");
    task_write_text("precious", "precious\n", 0644);
    assert_int_equal(symlink("precious", in_home("link")), 0);
    assert_int_equal(mkfifo(in_home("pipe"), 0666), 0);
    spec.stdout_path = "link";
    check_unstarted(&spec, "t1", 126, "standard output link: is a symbolic link");
    assert_string_equal(task_read_text("precious"), "precious\n");
    spec.stdout_path = "pipe";
    check_unstarted(&spec, "t2", 126, "standard output pipe");
}

static void the_command_gets_clean_signals_session_and_descriptors(void **state)
{
    (void)state;
    sigset_t some, before;
    const struct adl_task_spec spec = shell_spec(
        "read pid name s parent group session rest < /proc/$$/stat; [ $pid = $group ] && [ $pid = $session ] "
        "&& echo leads; grep -E 'Sig(Blk|Ign)' /proc/self/status; for i in $(seq 3 60); do [ -e "
        "/proc/$$/fd/$i ] && echo open $i; done; exit 0");
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_BLOCK, &some, &before);
    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
    int leaks[20];
    for (int i = 0; i < 20; i++)
        leaks[i] = open("/dev/null", O_RDONLY); /* not closed on exec */
    assert_int_equal(task_run("t", &spec).exit_code, 0);
    for (int i = 0; i < 20; i++)
        close(leaks[i]);
    signal(SIGPIPE, pipe_before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_string_equal(task_read_text("out"), "leads\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void resource_limits_hold(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("ulimit -n; ulimit -c");
    spec.limits[ADL_RESOURCE_NOFILE] = 123;
    assert_int_equal(task_run("t", &spec).exit_code, 0);
    assert_string_equal(task_read_text("out"), "123\n0\n");
}

static void limits_are_soft_and_never_above_the_hard_ones(void **state)
{
    (void)state;
    struct rlimit before, lower;
    struct adl_task_spec spec = shell_spec("ulimit -Sn; ulimit -Hn; ulimit -Sf; umask");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = (struct rlimit){100, 200};
    spec.limits[ADL_RESOURCE_NOFILE] = 300;
    spec.limits[ADL_RESOURCE_FSIZE] = 512000;
    spec.mask = 027;
    const pid_t pid = fork();
    if (pid == 0) { /* a service of its own, for nobody gets a hard limit back */
        if (setrlimit(RLIMIT_NOFILE, &lower))
            _exit(1);
        struct adl_task task = launch("t", &spec);
        task_finish(&task);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_equal(task_read_text("out"), "200\n200\n1000\n0027\n");
}

static void root_runs_a_task_as_its_user(void **state)
{
    (void)state;
    struct stat info;
    const char *groups[] = {"12345", NULL};
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    struct adl_task_spec spec = shell_spec("id -u; id -g; id -G; cat secret; touch ../forbidden; exit 0");
    assert_int_equal(mkdir(in_home("nobody"), 0700), 0);
    assert_int_equal(chown(in_home("nobody"), 65534, 65534), 0);
    task_write_text("nobody/secret", "root's\n", 0600);
    spec.cwd = in_home("nobody");
    spec.uid = spec.gid = 65534;
    spec.groups = (struct adl_strings){groups, 1};
    spec.root = false;
    spec.stderr_path = "err";
    const struct adl_task_result result = task_run("t", &spec);
    assert_int_equal(result.outcome, ADL_TASK_EXITED);
    assert_string_equal(task_read_text("nobody/out"), "65534\n65534\n65534 12345\n");
    assert_null(task_read_text("forbidden"));
    assert_int_equal(stat(in_home("nobody/out"), &info), 0);
    assert_int_equal(info.st_uid, 65534);
    assert_int_equal(info.st_gid, 65534);
    /* Where the user may not write, the task has no output file. */
    spec.cwd = home;
    check_unstarted(&spec, "t2", 126, "Permission denied");
    assert_null(task_read_text("out"));
    assert_int_equal(stat(in_home("t"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

static void a_user_that_was_forgotten_is_not_root(void **state)
{
    (void)state;
    struct adl_task task;
    struct adl_error err;
    struct adl_task_spec spec = shell_spec("exit 0");
    spec.uid = spec.gid = 0;
    spec.root = false;
    assert_int_equal(adl_task_launch(in_home("t"), &spec, NULL, &task, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "uid 0"));
}

static void cancelling_ends_a_running_command(void **state)
{
    (void)state;
    struct adl_error err;
    const struct adl_task_spec spec = shell_spec("echo x; exec sleep 300");
    struct adl_task task = launch("t", &spec);
    wait_for_file("out");
    assert_int_equal(adl_task_cancel(&task, "by its user", &err), 0);
    assert_int_equal(adl_task_cancel(&task, "twice", &err), 0);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
    assert_int_equal(result.signal, SIGTERM);
    assert_string_equal(result.reason, "by its user");
}

static void cancelling_at_any_moment_of_the_start_takes_effect(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        char name[24];
        struct adl_error err;
        const struct adl_task_spec spec = shell_spec("exec sleep 300");
        snprintf(name, sizeof name, "t%d", i);
        struct adl_task task = launch(name, &spec);
        nanosleep(&(struct timespec){.tv_nsec = i * 150000L}, NULL);
        assert_int_equal(adl_task_cancel(&task, "early", &err), 0);
        const struct adl_task_result result = task_finish(&task);
        assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
        assert_string_equal(result.reason, "early");
        assert_true(result.elapsed_us < 20000000); /* TERM got through, not only KILL */
    }
}

static void a_shepherd_that_is_told_to_end_ends_its_task(void **state)
{
    (void)state;
    const struct adl_task_spec spec = shell_spec("echo x; exec sleep 300");
    struct adl_task task = launch("t", &spec);
    wait_for_file("out");
    assert_int_equal(kill((pid_t)task.shepherd.pid, SIGTERM), 0);
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_CANCELLED);
    assert_non_null(strstr(result.reason, "sent signal 15"));
}

static void of_many_shepherds_in_one_folder_one_runs_the_command(void **state)
{
    (void)state;
    pid_t pids[20];
    struct adl_error err;
    struct adl_task_spec spec = shell_spec("echo x >> count; exec sleep 0.2");
    assert_int_equal(mkdir(in_home("t"), 0700), 0);
    const int dir = open(in_home("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(adl_record_store(dir, "job", &adl_task_spec_form, &spec, 0, &err), 0);
    close(dir);
    for (int i = 0; i < 20; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            execl("/proc/self/exe", "adlro", "shepherd", in_home("t"), (char *)NULL);
            _exit(99);
        }
    }
    for (int i = 0; i < 20; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct adl_task task = adopt("t");
    assert_int_equal(task_finish(&task).outcome, ADL_TASK_EXITED);
    assert_string_equal(task_read_text("count"), "x\n");
}

static void a_broken_description_is_a_result(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_home("t"), 0700), 0);
    task_write_text("t/job", "adlro-job 1\nshell=99:exit", 0600);
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "adlro", "shepherd", in_home("t"), (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct adl_task task = adopt("t");
    const struct adl_task_result result = task_finish(&task);
    assert_int_equal(result.outcome, ADL_TASK_UNSTARTED);
    assert_non_null(strstr(result.reason, "neither a complete field"));
}

static void limits_that_no_cgroup_can_hold_are_noted(void **state)
{
    (void)state;
    struct adl_task_spec spec = shell_spec("exit 3");
    spec.memory_max_mib = 100;
    struct adl_task_result result = task_run("t1", &spec);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.notes, "no cgroup to set limits in");
    spec.cgroup_parent = home; /* no cgroup file system, so there are no such files */
    result = task_run("t2", &spec);
    assert_int_equal(result.exit_code, 3);
    assert_non_null(strstr(result.notes, "memory.max 104857600 was not set: No such file"));
    spec.cgroup_parent = "/no/such/cgroup";
    result = task_run("t3", &spec);
    assert_int_equal(result.exit_code, 3);
    assert_non_null(strstr(result.notes, "no cgroup /no/such/cgroup/job-7-"));
}

/* ADL_TEST_CGROUP names a cgroup v2 folder in which the test may make others. */
static void a_cgroup_holds_and_ends_a_task(void **state)
{
    (void)state;
    const char *parent = getenv("ADL_TEST_CGROUP");
    if (!parent) {
        print_message("ADL_TEST_CGROUP names no cgroup v2 folder to work in\n");
        skip();
    }
    struct adl_task_spec spec = shell_spec("grep ^0:: /proc/self/cgroup; (setsid sleep 300 & echo $! > pid); exit 0");
    spec.cgroup_parent = parent;
    struct adl_task task = launch("t", &spec);
    wait_for_state(&task, ADL_TASK_RUNNING);
    const struct adl_task_start start = task.start;
    const struct adl_task_result result = task_finish(&task);
    assert_string_equal(result.notes, "");
    assert_non_null(strstr(task_read_text("out"), strrchr(start.cgroup, '/')));
    assert_false(pid_lives(strtoll(task_read_text("pid"), NULL, 10)));
    assert_int_equal(access(start.cgroup, F_OK), -1);
}

int main(int argc, char **argv)
{
    shepherd_or_return(argc, argv);
    const struct CMUnitTest tests[] = {
        TASK_TEST(exit_codes_are_recorded),
        TASK_TEST(a_signal_that_ends_the_command_is_recorded),
        TASK_TEST(resources_of_descendants_are_counted),
        TASK_TEST(the_time_limit_ends_a_command_by_term),
        TASK_TEST(a_command_that_ignores_term_is_killed_after_the_grace),
        TASK_TEST(a_command_may_use_its_grace_to_save_its_work),
        TASK_TEST(the_grace_is_also_for_processes_that_outlive_the_command),
        TASK_TEST(processes_that_left_the_group_are_asked_to_end_as_well),
        TASK_TEST(a_stopped_command_ends_at_its_limit_too),
        TASK_TEST(nothing_of_a_task_outlives_its_end),
        TASK_TEST(the_environment_is_exactly_what_was_given),
        TASK_TEST(arguments_arrive_byte_for_byte_and_no_shell_sees_them),
        TASK_TEST(a_command_that_cannot_be_run_says_why),
        TASK_TEST(a_script_is_run_directly_with_its_arguments),
        TASK_TEST(output_goes_to_its_files),
        TASK_TEST(output_does_not_follow_links_or_wait_for_readers),
        TASK_TEST(the_command_gets_clean_signals_session_and_descriptors),
        TASK_TEST(resource_limits_hold),
        TASK_TEST(limits_are_soft_and_never_above_the_hard_ones),
        TASK_TEST(root_runs_a_task_as_its_user),
        TASK_TEST(a_user_that_was_forgotten_is_not_root),
        TASK_TEST(cancelling_ends_a_running_command),
        TASK_TEST(cancelling_at_any_moment_of_the_start_takes_effect),
        TASK_TEST(a_shepherd_that_is_told_to_end_ends_its_task),
        TASK_TEST(of_many_shepherds_in_one_folder_one_runs_the_command),
        TASK_TEST(a_broken_description_is_a_result),
        TASK_TEST(limits_that_no_cgroup_can_hold_are_noted),
        TASK_TEST(a_cgroup_holds_and_ends_a_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
