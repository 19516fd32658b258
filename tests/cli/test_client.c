/* The client of the service, and how numbers of jobs are found: against a server that answers as the service does. */
#include "cli/client/job_number.h"
#include "cli/display.h"
#include "service_double.h"

#include <sys/wait.h>

static void without_a_service_the_message_says_where_and_what_to_do(void **state)
{
    const struct adl_client_options options = {.socket = "/tmp/adlro-no-such-folder/socket"};
    struct adl_client *client;
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_client_create(&options, &client, &err), 0);
    assert_int_equal(adl_client_get(client, "/v1/cluster", NULL, &err), ADL_EIO);
    assert_string_equal(err.text, "no service is listening at /tmp/adlro-no-such-folder/socket: start one with `adlro "
                                  "serve --state DIR`");
    adl_client_destroy(client);
}

static void a_path_that_no_socket_can_have_is_refused(void **state)
{
    char path[300];
    const struct adl_client_options options = {.socket = path}, empty = {.socket = ""};
    struct adl_client *client;
    struct adl_error err;
    (void)state;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(adl_client_create(&options, &client, &err), ADL_EINVAL);
    assert_int_equal(adl_client_create(&empty, &client, &err), ADL_EINVAL);
}

static void answers_are_documents_and_refusals_have_the_services_message(void **state)
{
    struct service_double *service = double_open();
    struct adl_error err;
    cJSON *answer = NULL;
    (void)state;
    assert_int_equal(adl_client_get(service->client, "/v1/jobs/1", &answer, &err), 0);
    assert_string_equal(adl_member_text(answer, "name"), "train");
    cJSON_Delete(answer);
    assert_int_equal(adl_client_get(service->client, "/v1/problem", &answer, &err), ADL_EINVAL);
    assert_string_equal(err.text, "the key ?]0;owned? is not known. Leave it out.");
    assert_int_equal(adl_client_get(service->client, "/v1/jobs/99", &answer, &err), ADL_EABSENT);
    assert_string_equal(err.text, "there is no job with this number");
    assert_int_equal(adl_client_call(service->client, "DELETE", "/v1/jobs/3", NULL, &answer, &err), ADL_EREFUSED);
    assert_int_equal(adl_client_call(service->client, "DELETE", "/v1/cluster", NULL, &answer, &err), ADL_EINVAL);
    assert_int_equal(adl_client_get(service->client, "/v1/garbage", &answer, &err), ADL_EIO);
    assert_non_null(strstr(err.text, "not JSON"));
    double_close(service);
}

static void the_time_is_that_of_the_service(void **state)
{
    struct service_double *service = double_open();
    struct adl_error err;
    int64_t now_s = 0;
    (void)state;
    assert_int_equal(adl_client_now(service->client, &now_s, &err), 0);
    assert_int_equal(now_s, 1700003823);
    double_close(service);
}

static void an_answer_without_end_is_cut_off(void **state)
{
    struct service_double *service = double_open();
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_client_get(service->client, "/v1/huge", NULL, &err), ADL_EIO);
    assert_string_equal(err.text, "the service's answer is longer than 64 MiB");
    assert_int_equal(adl_client_get(service->client, "/v1/cluster", NULL, &err), 0); /* and it goes on */
    double_close(service);
}

static void pages_are_put_together(void **state)
{
    struct service_double *service = double_open();
    struct adl_error err;
    cJSON *list = NULL;
    const cJSON *job;
    int count = 0;
    double before = 0;
    (void)state;
    assert_int_equal(adl_client_jobs(service->client, "state=all", &list, &err), 0);
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(list, "jobs"))
    {
        assert_true(adl_member_number(job, "id", 0) > before);
        before = adl_member_number(job, "id", 0);
        count++;
    }
    assert_int_equal(count, DOUBLE_JOBS - 1); /* 9 is gone */
    assert_int_equal(adl_member_number(cJSON_GetObjectItemCaseSensitive(list, "counts"), "pending", 0), 36);
    assert_null(cJSON_GetObjectItemCaseSensitive(list, "next"));
    cJSON_Delete(list);
    double_close(service);
}

static void a_member_of_an_array_is_found_by_its_index(void **state)
{
    static const struct {
        const char *name;
        uint64_t id;
    } good[] = {{"12", 12}, {"10_0", 10}, {"10_2", 11}, {"10_4", 12}, {"10_7", 13}, {"1", 1}};
    static const char *const absent[] = {"10_1", "10_3", "10_8", "10_500", "1_0", "9", "99"};
    static const char *const bad[] = {"",     "x",  "1x", "10_", "_1", "10_1_2", "0", "-1", "99999999999999999",
                                      "10_*", "1.5"};
    struct service_double *service = double_open();
    struct adl_error err;
    uint64_t id;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (adl_job_number_find(service->client, good[i].name, &id, NULL, &err))
            fail_msg("%s: %s", good[i].name, err.text);
        assert_int_equal(id, good[i].id);
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_int_equal(adl_job_number_find(service->client, absent[i], &id, NULL, &err), ADL_EABSENT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (adl_job_number_find(service->client, bad[i], &id, NULL, &err) != ADL_EINVAL)
            fail_msg("'%s' is taken for a job", bad[i]);
    double_close(service);
}

static void the_number_of_an_array_stands_for_its_members(void **state)
{
    struct service_double *service = double_open();
    struct adl_error err;
    struct adl_job_name *names = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(adl_job_numbers_find(service->client, "10", false, &names, &count, &err), 0);
    assert_int_equal(count, 3); /* 10 has failed */
    assert_int_equal(names[0].id, 11);
    assert_string_equal(names[0].label, "10_2");
    assert_int_equal(names[2].id, 13);
    free(names);
    assert_int_equal(adl_job_numbers_find(service->client, "10_*", false, &names, &count, &err), 0);
    assert_int_equal(count, 3);
    free(names);
    assert_int_equal(adl_job_numbers_find(service->client, "10_0", false, &names, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(names[0].label, "10_0");
    free(names);
    assert_int_equal(adl_job_numbers_find(service->client, "1_*", false, &names, &count, &err), ADL_EABSENT);
    /* Slurm's arrays: no job has the number of the array. */
    assert_int_equal(adl_job_numbers_find(service->client, "70", false, &names, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_true(names[0].id == 4294967366 && names[1].id == 8589934662);
    assert_string_equal(names[1].label, "70_1");
    free(names);
    assert_int_equal(adl_job_numbers_find(service->client, "70_*", false, &names, &count, &err), 0);
    free(names);
    assert_int_equal(adl_job_numbers_find(service->client, "71", false, &names, &count, &err), ADL_EABSENT);
    double_close(service);
}

static int try_url(const char *url, const char *token_file, struct adl_client **ret, struct adl_error *err)
{
    const struct adl_client_options options = {.url = url, .token_file = token_file};
    return adl_client_create(&options, ret, err);
}

static void over_tcp_a_token_is_sent_and_never_shown(void **state)
{
    struct service_double *service = double_open();
    struct adl_client *client = NULL;
    struct adl_error err;
    char url[64], file[128];
    (void)state;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", adl_http_port(service->fixture->http));
    snprintf(file, sizeof file, "%s/token", service->fixture->folder);
    fixture_write(file, service->fixture->token, 0600);
    assert_int_equal(try_url(url, file, &client, &err), 0);
    assert_int_equal(adl_client_get(client, "/v1/cluster", NULL, &err), 0);
    adl_client_destroy(client);

    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(try_url(url, file, &client, &err), ADL_EIO);
    assert_non_null(strstr(err.text, "chmod 600"));
    unlink(file);

    setenv("ADLRO_TOKEN", "adl_00000000_not_a_token", 1);
    assert_int_equal(try_url(url, NULL, &client, &err), 0);
    assert_int_equal(adl_client_get(client, "/v1/cluster", NULL, &err), ADL_EDENIED);
    assert_null(strstr(err.text, "not_a_token"));
    adl_client_destroy(client);
    setenv("ADLRO_TOKEN", "x\r\nEvil: 1", 1);
    assert_int_equal(try_url(url, NULL, &client, &err), ADL_EINVAL);
    assert_null(strstr(err.text, "Evil"));
    unsetenv("ADLRO_TOKEN");
    double_close(service);
}

static void an_address_that_would_give_a_token_away_is_refused(void **state)
{
    static const char *const bad[] = {
        "http://example.org:8080", "ftp://127.0.0.1", "https://me:secret@example.org", "", "box", "file:///etc/passwd"};
    struct adl_client *client;
    struct adl_error err;
    (void)state;
    setenv("ADLRO_TOKEN", "adl_x", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (try_url(bad[i], NULL, &client, &err) != ADL_EINVAL)
            fail_msg("'%s' is taken", bad[i]);
        assert_null(strstr(err.text, "secret"));
    }
    unsetenv("ADLRO_TOKEN");
    assert_int_equal(try_url("https://example.org", NULL, &client, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "needs a token"));
}

static void what_goes_into_an_address_is_escaped(void **state)
{
    struct adl_text text = {0};
    (void)state;
    adl_client_escape(&text, "a b&c=d/\xc3\xa9?%-_.~");
    assert_string_equal(text.data, "a%20b%26c%3Dd%2F%C3%A9%3F%25-_.~");
    adl_text_clear(&text);
}

#define LISTENER_UID 65533
#define CLIENT_UID   65532

/* In a child process: the message if another user listens on the default socket. */
static int ask_somebody_elses(const char *folder)
{
    static const struct adl_client_options options = {.socket = NULL};
    struct adl_client *client = NULL;
    struct adl_error err = {{0}};
    unsetenv("ADLRO_SOCKET");
    setenv("XDG_RUNTIME_DIR", folder, 1);
    if (setuid(CLIENT_UID) != 0 || adl_client_create(&options, &client, &err) != 0)
        return 2;
    const int status = adl_client_get(client, "/v1/cluster", NULL, &err);
    adl_client_destroy(client);
    return status == ADL_EIO && strstr(err.text, "another user") ? 0 : 1;
}

static void a_socket_of_another_user_in_the_default_place_is_not_used(void **state)
{
    char folder[] = "/tmp/adlro-client-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int status = -1;
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can make a socket that is another user's\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/adlro.sock", folder);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(seteuid(LISTENER_UID), 0); /* listen() notes whose it is */
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(address.sun_path, 0777), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(ask_somebody_elses(folder));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* Nothing was sent: each connection that was made is at its end. */
    for (struct pollfd ready = {.fd = listener, .events = POLLIN}; poll(&ready, 1, 0) == 1;) {
        char byte;
        const int fd = accept(listener, NULL, NULL);
        assert_int_equal(recv(fd, &byte, 1, 0), 0);
        close(fd);
    }
    close(listener);
    unlink(address.sun_path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_service_the_message_says_where_and_what_to_do),
        cmocka_unit_test(a_path_that_no_socket_can_have_is_refused),
        cmocka_unit_test(answers_are_documents_and_refusals_have_the_services_message),
        cmocka_unit_test(the_time_is_that_of_the_service),
        cmocka_unit_test(an_answer_without_end_is_cut_off),
        cmocka_unit_test(pages_are_put_together),
        cmocka_unit_test(a_member_of_an_array_is_found_by_its_index),
        cmocka_unit_test(the_number_of_an_array_stands_for_its_members),
        cmocka_unit_test(over_tcp_a_token_is_sent_and_never_shown),
        cmocka_unit_test(an_address_that_would_give_a_token_away_is_refused),
        cmocka_unit_test(a_socket_of_another_user_in_the_default_place_is_not_used),
        cmocka_unit_test(what_goes_into_an_address_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
