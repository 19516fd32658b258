/* task_fixture: tasks with real processes, in a folder of their own. The test program is its own shepherd. */
#ifndef TASK_FIXTURE_H
#define TASK_FIXTURE_H

#include "executor/local/launch.h"
#include "executor/local/shepherd.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US 60000000 /* a machine may be busy */

static char home[64]; /* of the running test; the job's working directory */

static inline int make_home(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/adlro-task-XXXXXX");
    return mkdtemp(home) && chmod(home, 0755) == 0 ? 0 : -1;
}

static inline int remove_home(void **state)
{
    (void)state;
    remove_tree(home);
    return 0;
}

/* "home/name"; a few live at a time. */
static inline const char *in_home(const char *name)
{
    static char paths[8][640];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", home, name);
    return paths[next];
}

static inline void write_text(const char *name, const char *text, mode_t mode)
{
    const int fd = open(in_home(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* The text of home/name, or NULL if there is no such file. Zero bytes become line feeds. */
static inline const char *read_text(const char *name)
{
    static char text[65536];
    const int fd = open(in_home(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    const ssize_t size = read(fd, text, sizeof text - 1);
    assert_true(size >= 0);
    close(fd);
    for (ssize_t i = 0; i < size; i++)
        text[i] = text[i] ? text[i] : '\n';
    text[size] = 0;
    return text;
}

static inline void wait_for_file(const char *name)
{
    const int64_t until_us = adl_clock_boot_us() + PATIENCE_US;
    while (!read_text(name) || !*read_text(name)) {
        assert_true(adl_clock_boot_us() < until_us);
        nap_ms(2);
    }
}

static const char *plain_env[] = {"PATH=/usr/bin:/bin", NULL};

/* As the user who runs the test, in home, output to home/out. */
static inline struct adl_task_spec plain_spec(void)
{
    return (struct adl_task_spec){.job_id = 7,
                                  .cwd = home,
                                  .stdout_path = "out",
                                  .env = {plain_env, 1},
                                  .uid = geteuid(),
                                  .gid = getegid(),
                                  .root = geteuid() == 0,
                                  .limits = {[ADL_RESOURCE_CORE] = -1}};
}

static inline struct adl_task_spec shell_spec(const char *text)
{
    struct adl_task_spec spec = plain_spec();
    spec.shell = text;
    return spec;
}

static inline struct adl_task launch_with(const char *name, const struct adl_task_spec *spec,
                                          const struct adl_launch_options *options)
{
    struct adl_task task = {0};
    struct adl_error err = {{0}};
    if (adl_task_launch(in_home(name), spec, options, &task, &err))
        fail_msg("%s", err.text);
    return task;
}

static inline struct adl_task launch(const char *name, const struct adl_task_spec *spec)
{
    return launch_with(name, spec, NULL);
}

static inline struct adl_task adopt(const char *name)
{
    struct adl_task task = {0};
    struct adl_error err = {{0}};
    if (adl_task_adopt(in_home(name), NULL, &task, &err))
        fail_msg("%s", err.text);
    return task;
}

static inline enum adl_task_state poll_task(struct adl_task *task, struct adl_task_result *result)
{
    struct adl_error err = {{0}};
    if (adl_task_poll(task, result, &err))
        fail_msg("%s", err.text);
    return task->state;
}

static inline void wait_for_state(struct adl_task *task, enum adl_task_state state)
{
    struct adl_task_result result;
    const int64_t until_us = adl_clock_boot_us() + PATIENCE_US;
    while (poll_task(task, &result) != state) {
        assert_true(adl_clock_boot_us() < until_us);
        nap_ms(1);
    }
}

/* Waits as a service would, by its descriptor if it has one; closes the task. */
static inline struct adl_task_result finish(struct adl_task *task)
{
    struct adl_task_result result = {0};
    const int64_t until_us = adl_clock_boot_us() + PATIENCE_US;
    while (poll_task(task, &result) != ADL_TASK_ENDED) {
        struct pollfd fd = {task->fd, POLLIN, 0};
        assert_true(adl_clock_boot_us() < until_us);
        poll(&fd, task->fd >= 0, task->fd >= 0 ? 1000 : 5);
    }
    adl_task_close(task);
    return result;
}

static inline struct adl_task_result run(const char *name, const struct adl_task_spec *spec)
{
    struct adl_task task = launch(name, spec);
    return finish(&task);
}

static inline bool pid_lives(int64_t pid)
{
    struct adl_process_stat stat;
    return adl_process_stat_read(pid, &stat) == 0 && stat.state != 'Z' && stat.state != 'X';
}

static inline uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* For main: a shepherd does its work and ends here. */
static inline void shepherd_or_return(int argc, char **argv)
{
    struct adl_error err;
    if (argc != 3 || strcmp(argv[1], "shepherd") != 0)
        return;
    const int status = adl_shepherd_run(argv[2], &err);
    exit(status && status != ADL_EREFUSED);
}

#define TASK_TEST(f) cmocka_unit_test_setup_teardown(f, make_home, remove_home)

#endif
