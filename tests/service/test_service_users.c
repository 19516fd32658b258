/* Jobs of users other than the service's, which runs as root: what they can reach, and what they get. Without root the
 * tests are skipped, and say so. */
#include "service_check.h"

#include <sys/resource.h>

#define USER_ID  65534 /* a user that every system has */
#define OTHER_ID 65533

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("only a service of root runs jobs of other users: skipped\n");
        skip();
    }
    start_service(service_slots_yaml(4, ""));
    assert_int_equal(chmod(service_path("marks"), 0777), 0);
}

/* Submits as USER_ID a script that runs in home/marks and writes to out there; its number. */
static uint64_t submit_script(const char *script, const char *more)
{
    char body[2000];
    snprintf(body, sizeof body, "{\"directory\":\"%s\",\"stdout\":\"out\",\"script\":\"#!/bin/sh\\n%s\"%s}",
             service_path("marks"), script, more);
    client_hang_up(&http);
    assert_int_equal(setegid(USER_ID), 0);
    assert_int_equal(seteuid(USER_ID), 0);
    const int status = client_ask(&http, "POST /v1/jobs", body);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    client_hang_up(&http);
    if (status != 201)
        fail_msg("%d: %.300s", status, status > 0 ? http.body : service_said());
    return (uint64_t)client_number(&http, "id", 0);
}

static bool may_open(uid_t uid, const char *path, int flags)
{
    assert_int_equal(seteuid(uid), 0);
    const int fd = open(path, flags | O_CLOEXEC);
    assert_int_equal(seteuid(0), 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void a_job_can_read_its_script_and_nobody_can_write_to_it(void **state)
{
    (void)state;
    char path[64];
    need_root();
    const uint64_t job = submit_script(
        "(echo more >> \\\"$0\\\") 2>/dev/null || echo refused; chmod u+w \\\"$0\\\" 2>/dev/null || echo so;"
        "(: > \\\"${0%/*}/other\\\") 2>/dev/null || echo there; tail -n 1 \\\"$0\\\" > copy; id -u;"
        "while [ ! -e go ]; do sleep 0.01; done\\n# the last line",
        "");
    for (int i = 0; strcmp(service_read("marks/out"), "refused\nso\nthere\n65534\n") != 0; i++) {
        if (i > 10000)
            fail_msg("the job said '%s'", service_read("marks/out"));
        nap_ms(2);
    }
    assert_string_equal(service_read("marks/copy"), "# the last line");
    snprintf(path, sizeof path, "state/scripts/%llu", (unsigned long long)job);
    assert_true(may_open(USER_ID, service_path(path), O_RDONLY));
    assert_false(may_open(USER_ID, service_path(path), O_WRONLY));
    assert_false(may_open(OTHER_ID, service_path(path), O_RDONLY));
    assert_true(service_write("marks/go", ""));
    wait_for(job, "state", "CD");
    assert_int_equal(access(service_path(path), F_OK), -1);
}

static void a_job_has_the_umask_and_the_limits_of_its_submission(void **state)
{
    (void)state;
    need_root();
    const uint64_t job = submit_script("umask; ulimit -Sn; ulimit -Ss; ulimit -Sc",
                                       ",\"umask\":\"0\",\"limits\":[\"nofile=77\",\"stack=4194304\",\"core=0\"]");
    wait_for(job, "state", "CD");
    assert_string_equal(service_read("marks/out"), "0000\n77\n4096\n0\n");
}

/* The service raises its own limit of open files; jobs do not get that. */
static void a_job_that_does_not_say_has_the_defaults(void **state)
{
    (void)state;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 500;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    need_root();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    const uint64_t job = submit_script("umask; ulimit -Sn", "");
    wait_for(job, "state", "CD");
    assert_string_equal(service_read("marks/out"), "0022\n500\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_job_can_read_its_script_and_nobody_can_write_to_it),
        SERVICE_TEST(a_job_has_the_umask_and_the_limits_of_its_submission),
        SERVICE_TEST(a_job_that_does_not_say_has_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
