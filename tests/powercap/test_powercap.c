/* The power helper as a process, and the service's end of it: limits are set within the allow list, and restored when
 * the client ends, crashes or falls silent, when the helper was killed, and at boot. NVML is a stub that keeps limits
 * in files, AMD's GPU a tree like /sys. */
#include "executor/local/power_link.h"
#include "powercap/allow_list.h"
#include "powercap/powercap.h"
#include "scratch.h"
#include "sysfs_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FIRST "GPU-11111111-2222-3333-4444-555555555555"
#define OTHER "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"
#define AMD   "GPU-2135a6d5fbd82a1c"
#define CAP   MI50 "hwmon/hwmon4/power1_cap"

static struct {
    char home[64], allow[96], state[96], gpus[96];
    struct sysfs_tree tree;
} fixture;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static long read_number(const char *folder, const char *name)
{
    char path[300], text[40] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return size > 0 ? strtol(text, NULL, 10) : -1;
}

static int begin(void **state)
{
    (void)state;
    strcpy(fixture.home, "/tmp/adlro-powercap-XXXXXX");
    assert_non_null(mkdtemp(fixture.home));
    snprintf(fixture.allow, sizeof fixture.allow, "%s/allow", fixture.home);
    snprintf(fixture.state, sizeof fixture.state, "%s/state", fixture.home);
    snprintf(fixture.gpus, sizeof fixture.gpus, "%s/gpus", fixture.home);
    write_file(fixture.gpus, FIRST " 40960 50 60 200000 0 0\n" OTHER " 40960 50 60 200000 0 0\n");
    write_file(fixture.allow, "# which GPUs\n" FIRST " 150 350\n" AMD " 100 225\n");
    chmod(fixture.allow, 0600);
    setenv("STUB_NVML_FILE", fixture.gpus, 1);
    setenv("STUB_NVML_LIMITS", fixture.home, 1);
    unsetenv("STUB_NVML_DENY");
    tree_make(&fixture.tree);
    tree_put(&fixture.tree, MI50 "hwmon/hwmon4/power1_cap_max", "225000000\n");
    tree_put(&fixture.tree, MI50 "hwmon/hwmon4/power1_cap_min", "90000000\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_tree(fixture.home);
    remove_tree(fixture.tree.root);
    return 0;
}

static struct adl_power_link_config config(void)
{
    return (struct adl_power_link_config){.helper = ADL_POWERCAP,
                                          .allow = fixture.allow,
                                          .state = fixture.state,
                                          .nvml = STUB_DIR "/stub_nvml.so",
                                          .sysfs = fixture.tree.root};
}

static struct adl_power_link *open_link(void)
{
    struct adl_power_link *link = NULL;
    struct adl_error err = {""};
    const struct adl_power_link_config it = config();
    if (adl_power_link_open(&it, &link, &err))
        fail_msg("%s", err.text);
    return link;
}

static void expect_refused(struct adl_power_link *link, const char *gpu, double power_w, const char *why)
{
    struct adl_error err = {""};
    assert_int_equal(adl_power_link_cap(link, gpu, power_w, &err), ADL_EREFUSED);
    if (!strstr(err.text, why))
        fail_msg("'%s' has no '%s'", err.text, why);
}

static void limits_are_set_within_the_allow_list_and_restored_at_the_end(void **state)
{
    (void)state;
    struct adl_error err = {""};
    struct adl_power_link *link = open_link();
    assert_int_equal(adl_power_link_cap(link, FIRST, 200, &err), 0);
    assert_int_equal(read_number(fixture.home, FIRST), 200000);
    assert_int_equal(access(fixture.state, F_OK), 0);
    assert_int_equal(adl_power_link_cap(link, AMD, 150, &err), 0);
    assert_int_equal(read_number(fixture.tree.root, CAP), 150000000);
    expect_refused(link, FIRST, 149, "allow list has 150 to 350 W");
    expect_refused(link, FIRST, 360, "allow list has 150 to 350 W");
    expect_refused(link, OTHER, 200, "not in the allow list");
    expect_refused(link, "GPU-none", 200, "no such GPU");
    assert_int_equal(read_number(fixture.home, FIRST), 200000);
    assert_int_equal(adl_power_link_check(link, FIRST, 350, &err), 0);
    assert_int_equal(adl_power_link_check(link, OTHER, 200, &err), ADL_EREFUSED);
    assert_int_equal(adl_power_link_cap(link, FIRST, 0, &err), 0);
    assert_int_equal(read_number(fixture.home, FIRST), 400000);
    assert_int_equal(adl_power_link_cap(link, FIRST, 300, &err), 0);
    assert_int_equal(adl_power_link_ping(link, &err), 0);
    adl_power_link_close(link);
    assert_int_equal(read_number(fixture.home, FIRST), 400000);
    assert_int_equal(read_number(fixture.tree.root, CAP), 225000000);
    assert_int_not_equal(access(fixture.state, F_OK), 0);
}

/* A helper whose other end is ours to speak with; its process. */
static pid_t start_helper(int *ret_fd)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 0);
        execl(ADL_POWERCAP, ADL_POWERCAP, "--allow", fixture.allow, "--state", fixture.state, "--nvml",
              STUB_DIR "/stub_nvml.so", "--sysfs", fixture.tree.root, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    *ret_fd = ends[0];
    return pid;
}

static void say(int fd, const char *line)
{
    assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
}

static void await_limit(long wanted)
{
    for (int i = 0; i < 1000 && read_number(fixture.home, FIRST) != wanted; i++)
        nap_ms(5);
    assert_int_equal(read_number(fixture.home, FIRST), wanted);
}

static int await_end(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void a_client_that_vanishes_or_is_told_to_end_leaves_no_limit_behind(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        int fd;
        const pid_t pid = start_helper(&fd);
        say(fd, "cap " FIRST " 250000\n");
        await_limit(250000);
        if (i == 0)
            close(fd); /* as when the service is killed */
        else if (i == 1)
            kill(pid, SIGTERM);
        else
            say(fd, "cap " FIRST " 250000 and more\n"); /* not the language */
        assert_int_equal(await_end(pid), 0);
        assert_int_equal(read_number(fixture.home, FIRST), 400000);
        assert_int_not_equal(access(fixture.state, F_OK), 0);
        if (i > 0)
            close(fd);
    }
}

static void a_killed_helper_is_made_good_by_the_next_one_and_at_boot(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int fd, status;
        const pid_t pid = start_helper(&fd);
        say(fd, "cap " FIRST " 250000\n");
        await_limit(250000);
        kill(pid, SIGKILL);
        await_end(pid);
        close(fd);
        assert_int_equal(read_number(fixture.home, FIRST), 250000);
        if (i == 0) {
            adl_power_link_close(open_link());
        } else {
            const pid_t boot = fork();
            if (boot == 0)
                execl(ADL_POWERCAP, ADL_POWERCAP, "--restore", "--state", fixture.state, "--nvml",
                      STUB_DIR "/stub_nvml.so", "--sysfs", fixture.tree.root, (char *)NULL);
            assert_int_equal(waitpid(boot, &status, 0), boot);
            assert_int_equal(status, 0);
        }
        assert_int_equal(read_number(fixture.home, FIRST), 400000);
        assert_int_not_equal(access(fixture.state, F_OK), 0);
    }
}

static void a_client_that_falls_silent_is_taken_for_dead(void **state)
{
    (void)state;
    int ends[2];
    struct adl_error err = {""};
    char greeting[400];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    say(ends[0], "cap " FIRST " 250000\n");
    const struct adl_powercap_options options = {.allow = fixture.allow,
                                                 .state = fixture.state,
                                                 .nvml = STUB_DIR "/stub_nvml.so",
                                                 .sysfs = fixture.tree.root,
                                                 .silence_ms = 200,
                                                 .fd = ends[1],
                                                 .end_fd = -1};
    assert_int_equal(adl_powercap_serve(&options, &err), 0); /* returns though the client is there */
    const ssize_t size = recv(ends[0], greeting, sizeof greeting - 1, 0);
    assert_true(size > 0);
    greeting[size] = '\0';
    assert_non_null(strstr(greeting, "gpu " FIRST " 400000 150000 350000\n"));
    assert_non_null(strstr(greeting, "ready\nok\n"));
    assert_null(strstr(greeting, OTHER));
    assert_int_equal(read_number(fixture.home, FIRST), 400000);
    close(ends[0]);
    close(ends[1]);
}

static void a_driver_that_denies_is_reported_and_nothing_is_left_to_restore_wrongly(void **state)
{
    (void)state;
    struct adl_error err = {""};
    setenv("STUB_NVML_DENY", "1", 1);
    struct adl_power_link *link = open_link();
    assert_int_equal(adl_power_link_cap(link, FIRST, 200, &err), ADL_EREFUSED);
    assert_non_null(strstr(err.text, "NVML does not set its limit"));
    adl_power_link_close(link);
    assert_int_equal(read_number(fixture.home, FIRST), -1);
}

static void a_list_says_what_is_wrong_with_it_and_belongs_to_root(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"x 1\n", "list:1: a line is GPU LEAST_W MOST_W"},
                                           {"\n* 300 200\n", "list:2: watts must be between 1 and 2500"},
                                           {"* 1 9999\n", "list:1: watts must be"},
                                           {"a/b 100 200\n", "list:1: a line is"},
                                           {"a 100 200\na 100 200\n", "list:2: a stands in the list twice"},
                                           {"# nothing\n", "list: no GPU is allowed"}};
    struct adl_allow_list list;
    struct adl_error err = {""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(adl_allow_list_read("list", wrong[i][0], &list, &err), ADL_EINVAL);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("'%s' has no '%s'", err.text, wrong[i][1]);
    }
    assert_int_equal(adl_allow_list_read("list", "* 100 200\nGPU-1 150 250 # one\n", &list, &err), 0);
    assert_int_equal(adl_allow_list_find(&list, "GPU-1")->most_mw, 250000);
    assert_int_equal(adl_allow_list_find(&list, "GPU-2")->most_mw, 200000);
    chmod(fixture.allow, 0666);
    assert_int_equal(adl_allow_list_load(fixture.allow, &list, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "nobody else can write"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limits_are_set_within_the_allow_list_and_restored_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(a_client_that_vanishes_or_is_told_to_end_leaves_no_limit_behind, begin, end),
        cmocka_unit_test_setup_teardown(a_killed_helper_is_made_good_by_the_next_one_and_at_boot, begin, end),
        cmocka_unit_test_setup_teardown(a_client_that_falls_silent_is_taken_for_dead, begin, end),
        cmocka_unit_test_setup_teardown(a_driver_that_denies_is_reported_and_nothing_is_left_to_restore_wrongly, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_list_says_what_is_wrong_with_it_and_belongs_to_root, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
