/* `adlro backup` while jobs come in: a service started on the copy has every job that was acknowledged before. */
#include "service_check.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_ullong acknowledged; /* the last number */
static atomic_bool stop;

static void *submit_on(void *unused)
{
    (void)unused;
    struct service_client client = client_make(service.socket);
    while (!atomic_load(&stop))
        if (service_submit(&client, "load", "0", 0, ",\"hold\":true") == 201)
            atomic_store(&acknowledged, (unsigned long long)client_number(&client, "id", 0));
    client_clear(&client);
    return NULL;
}

/* Its exit code; what it said is in home/said. */
static int backup(const char *dest, const char *from, const char *option)
{
    char command[600];
    snprintf(command, sizeof command, "%s backup %s --state %s %s >%s 2>&1", ADL_PROGRAM, service_path(dest),
             service_path(from), option, service_path("said"));
    const int status = system(command); // NOLINT(cert-env33-c)
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_service_on_a_copy_has_every_job_that_was_acknowledged_before_the_backup(void **state)
{
    (void)state;
    pthread_t thread;
    struct stat about;
    start_service(service_slots_yaml(2, ""));
    const uint64_t ended = submit("ended", "0", 3, "");
    wait_for(ended, "state", "F");
    expect(200, "{\"reason\":\"broken fan\"}", "POST /v1/gpus/1/drain");
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, submit_on, NULL), 0);
    while (atomic_load(&acknowledged) < 30)
        nap_ms(1);
    const uint64_t before = atomic_load(&acknowledged);
    const int code = backup("copy", "state", "");
    const uint64_t after = atomic_load(&acknowledged);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    if (code != 0)
        fail_msg("%s", service_read("said"));
    assert_non_null(strstr(service_read("said"), "checked"));
    assert_int_equal(stat(service_path("copy"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(stat(service_path("copy/adlro.db"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    client_hang_up(&http);
    assert_int_equal(service_signal(SIGTERM), 0);
    service.state = "copy";
    start_again();
    for (uint64_t id = 2; id <= before; id++)
        assert_string_equal(job_text(id, "stage"), "held");
    assert_string_equal(job_text(ended, "exit_code"), "3");
    expect(200, NULL, "GET /v1/cluster");
    expect_text("broken fan");
    const uint64_t next = submit("next", "0", 0, "");
    assert_true(next > before && after >= before);
    wait_for(next, "state", "CD");
}

static void a_backup_overwrites_nothing_and_leaves_nothing_behind_when_it_fails(void **state)
{
    (void)state;
    start_service(service_slots_yaml(2, ""));
    submit("held", "0", 0, ",\"hold\":true");
    assert_int_equal(backup("copy", "state", "--json"), 0);
    cJSON *said = cJSON_Parse(service_read("said"));
    assert_int_equal((int)json_number(said, "jobs", -1), 1);
    assert_int_equal((int)json_number(said, "live_jobs", -1), 1);
    assert_int_equal((int)json_number(said, "last_job", -1), 1);
    cJSON_Delete(said);
    assert_int_equal(backup("copy", "state", ""), 2);
    assert_non_null(strstr(service_read("said"), "already exists; a backup overwrites nothing"));
    assert_int_equal(backup("no/where", "state", ""), 1);
    assert_int_equal(access(service_path("copy.part"), F_OK), -1);
    assert_int_equal(backup("other", "marks", ""), 1);
    assert_non_null(strstr(service_read("said"), "there is no state of a service here"));
    assert_int_equal(access(service_path("other"), F_OK), -1);
}

/* Without a service too: from the state as it was left. */
static void a_state_that_no_service_uses_is_copied_as_well(void **state)
{
    (void)state;
    start_service(service_slots_yaml(2, ""));
    submit("held", "0", 0, ",\"hold\":true");
    client_hang_up(&http);
    service_signal(SIGKILL);
    assert_int_equal(backup("copy", "state", ""), 0);
    assert_non_null(strstr(service_read("said"), "1 jobs, 1 of them live"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVICE_TEST(a_service_on_a_copy_has_every_job_that_was_acknowledged_before_the_backup),
        SERVICE_TEST(a_backup_overwrites_nothing_and_leaves_nothing_behind_when_it_fails),
        SERVICE_TEST(a_state_that_no_service_uses_is_copied_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
