/* Hooks: what is sent to a page and by mail, what is repeated, and that nobody waits for it. */
#include "http_server.h"
#include "scratch.h"
#include "service/hooks/hooks.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECRET "correct-horse-battery"
#define ALL    ((1u << ADL_HOOK_EVENTS) - 1)

static struct {
    char home[64], secret[96], program[96], mails[96];
    struct http_server server;
    pthread_mutex_t lock;
    char said[8000];
} fixture = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *read_file(const char *path)
{
    static char text[16000];
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void say(const char *text)
{
    pthread_mutex_lock(&fixture.lock);
    const size_t at = strlen(fixture.said);
    snprintf(fixture.said + at, sizeof fixture.said - at, "%s\n", text);
    pthread_mutex_unlock(&fixture.lock);
}

static int begin(void **state)
{
    (void)state;
    char script[400];
    strcpy(fixture.home, "/tmp/adlro-hooks-XXXXXX");
    assert_non_null(mkdtemp(fixture.home));
    snprintf(fixture.secret, sizeof fixture.secret, "%s/secret", fixture.home);
    snprintf(fixture.program, sizeof fixture.program, "%s/sendmail", fixture.home);
    snprintf(fixture.mails, sizeof fixture.mails, "%s/mails", fixture.home);
    write_file(fixture.secret, SECRET "\nnot this\n");
    snprintf(script, sizeof script,
             "#!/bin/sh\nread -r first || exit 3\n{ echo \"$# $*\"; echo \"$first\"; cat; } >>%s\n", fixture.mails);
    write_file(fixture.program, script);
    assert_int_equal(chmod(fixture.program, 0755), 0);
    fixture.said[0] = '\0';
    server_start(&fixture.server);
    return 0;
}

static int end(void **state)
{
    (void)state;
    server_stop(&fixture.server);
    remove_tree(fixture.home);
    return 0;
}

static struct adl_hooks *make(const struct adl_hook *hooks, uint32_t count)
{
    struct adl_hooks *it = NULL;
    struct adl_error err;
    const struct adl_hooks_config config = {
        .hooks = hooks, .count = count, .sendmail = fixture.program, .from = "adlro@box", .first_retry_us = 20000};
    assert_int_equal(adl_hooks_create(&config, say, &it, &err), 0);
    return it;
}

static const struct adl_hook_note job_end = {.event = ADL_HOOK_JOB_END,
                                             .time_us = 1700000000000000,
                                             .what = "end",
                                             .text = "job 12 of ann ended",
                                             .job = 12,
                                             .label = "12",
                                             .name = "a\"b\nBcc: all@example.org\n$(touch x)",
                                             .user = "ann",
                                             .state = "CD"};

/* Until the queue is empty. */
static struct adl_hooks_counts drain(struct adl_hooks *hooks)
{
    for (int i = 0; i < 3000 && adl_hooks_counts(hooks).queued > 0; i++)
        nap_ms(10);
    assert_int_equal(adl_hooks_counts(hooks).queued, 0);
    return adl_hooks_counts(hooks);
}

static void a_page_gets_json_with_the_secret_and_the_log_gets_neither_it_nor_the_address(void **state)
{
    (void)state;
    char request[8192];
    const struct adl_hook hook = {.kind = ADL_HOOK_WEBHOOK,
                                  .events = 1u << ADL_HOOK_JOB_END,
                                  .target = fixture.server.url,
                                  .secret_file = fixture.secret,
                                  .secret_header = "X-Key"};
    struct adl_hooks *hooks = make(&hook, 1);
    server_set(&fixture.server, "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n", "", 0, 1);
    adl_hooks_post(hooks, &job_end);
    adl_hooks_post(hooks, &(struct adl_hook_note){.event = ADL_HOOK_DRIFT, .what = "gpu_slow", .text = "not wanted"});
    while (atomic_load(&fixture.server.served) < 2)
        nap_ms(5);
    server_set(&fixture.server, NULL, "", 0, 1);
    const struct adl_hooks_counts counts = drain(hooks);
    assert_int_equal(counts.sent[ADL_HOOK_WEBHOOK], 1);
    assert_true(counts.retried[ADL_HOOK_WEBHOOK] >= 2);
    assert_int_equal(counts.failed[ADL_HOOK_WEBHOOK], 0);
    server_last(&fixture.server, request, sizeof request);
    assert_non_null(strstr(request, "POST /metrics HTTP/1.1"));
    assert_non_null(strstr(request, "X-Key: " SECRET "\r\n"));
    assert_null(strstr(request, "not this"));
    assert_non_null(strstr(request, "Content-Type: application/json"));
    assert_non_null(strstr(request, "\"event\":\"job_end\",\"what\":\"end\",\"time_s\":1700000000"));
    assert_non_null(strstr(request, "\"name\":\"a\\\"b\\nBcc: all@example.org\\n$(touch x)\",\"user\":\"ann\""));
    adl_hooks_destroy(hooks);
    assert_non_null(strstr(fixture.said, "hook 1 (webhook): cannot deliver and will retry: the answer was HTTP 500"));
    assert_non_null(strstr(fixture.said, "hook 1 (webhook): delivers again"));
    assert_null(strstr(fixture.said, SECRET));
    assert_null(strstr(fixture.said, "/metrics"));
}

static void a_mail_goes_through_the_program_without_a_shell_and_nothing_of_a_job_becomes_a_header(void **state)
{
    (void)state;
    const struct adl_hook hooks_of[] = {{.kind = ADL_HOOK_MAIL, .events = ALL, .target = ADL_HOOK_OWNER},
                                        {.kind = ADL_HOOK_MAIL, .events = ALL, .target = "ops@example.org"}};
    struct adl_hooks *hooks = make(hooks_of, 2);
    struct adl_hook_note strange = job_end;
    strange.user = "-Xbad";
    adl_hooks_post(hooks, &job_end);
    adl_hooks_post(hooks, &strange); /* its owner cannot be addressed, ops can */
    adl_hooks_post(hooks, &(struct adl_hook_note){.event = ADL_HOOK_GATE, .what = "shadow", .text = "gate open"});
    assert_int_equal(drain(hooks).sent[ADL_HOOK_MAIL], 4); /* of the gate the owner of no job gets none */
    adl_hooks_destroy(hooks);
    const char *mails = read_file(fixture.mails);
    const char *body = strstr(mails, "\n\n");
    assert_non_null(strstr(mails, "3 -i -- ann\nFrom: adlro@box\nTo: ann\nSubject: adlro: job 12: end\n"));
    assert_non_null(strstr(mails, "3 -i -- ops@example.org\n"));
    assert_non_null(strstr(mails, "Subject: adlro: gate: shadow\n"));
    assert_null(strstr(mails, "\nBcc:"));
    assert_null(strstr(mails, "3 -i -- -Xbad"));
    assert_non_null(strstr(body, "Name: a\"b Bcc: all@example.org $(touch x)\n"));
}

static void a_dead_page_is_given_up_and_holds_up_nobody_else(void **state)
{
    (void)state;
    const struct adl_hook hooks_of[] = {
        {.kind = ADL_HOOK_WEBHOOK, .events = ALL, .target = "http://127.0.0.1:1/closed"},
        {.kind = ADL_HOOK_MAIL, .events = ALL, .target = "ops"}};
    struct adl_hooks *hooks = make(hooks_of, 2);
    adl_hooks_post(hooks, &job_end);
    while (adl_hooks_counts(hooks).sent[ADL_HOOK_MAIL] == 0)
        nap_ms(5);
    assert_int_equal(adl_hooks_counts(hooks).failed[ADL_HOOK_WEBHOOK], 0);
    const struct adl_hooks_counts counts = drain(hooks);
    assert_int_equal(counts.failed[ADL_HOOK_WEBHOOK], 1);
    assert_int_equal(counts.retried[ADL_HOOK_WEBHOOK], ADL_HOOK_ATTEMPTS - 1);
    adl_hooks_destroy(hooks);
    assert_non_null(strstr(fixture.said, "gave a message up"));
}

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void a_page_that_never_answers_makes_nobody_wait_and_a_full_queue_drops(void **state)
{
    (void)state;
    const struct adl_hook hook = {.kind = ADL_HOOK_WEBHOOK, .events = ALL, .target = fixture.server.url};
    fixture.server.mute = true;
    struct adl_hooks *hooks = make(&hook, 1);
    const int64_t from_ms = now_ms();
    adl_hooks_post(hooks, &job_end);
    while (atomic_load(&fixture.server.served) == 0)
        nap_ms(5);
    for (int i = 0; i < ADL_HOOK_QUEUE + 50; i++)
        adl_hooks_post(hooks, &job_end);
    const struct adl_hooks_counts counts = adl_hooks_counts(hooks);
    assert_int_equal(counts.queued, ADL_HOOK_QUEUE);
    assert_int_equal(counts.dropped[ADL_HOOK_WEBHOOK], 51); /* the first is under way, and still in the queue */
    assert_int_equal(counts.sent[ADL_HOOK_WEBHOOK], 0);
    adl_hooks_destroy(hooks);               /* aborts it */
    assert_true(now_ms() - from_ms < 9000); /* a delivery may take 10 s */
}

static void a_mail_program_that_fails_is_called_again(void **state)
{
    (void)state;
    char script[300];
    const struct adl_hook hook = {.kind = ADL_HOOK_MAIL, .events = ALL, .target = "ops"};
    snprintf(script, sizeof script, "#!/bin/sh\ncat >/dev/null\necho x >>%s\n[ $(grep -c x %s) -ge 3 ]\n",
             fixture.mails, fixture.mails);
    write_file(fixture.program, script);
    struct adl_hooks *hooks = make(&hook, 1);
    adl_hooks_post(hooks, &job_end);
    const struct adl_hooks_counts counts = drain(hooks);
    assert_int_equal(counts.sent[ADL_HOOK_MAIL], 1);
    assert_int_equal(counts.retried[ADL_HOOK_MAIL], 2);
    adl_hooks_destroy(hooks);
    assert_non_null(strstr(fixture.said, "the mail program ended with 1"));
}

static void only_a_printable_first_line_is_a_secret(void **state)
{
    (void)state;
    char secret[ADL_SECRET_MAX + 1] = "", longer[ADL_SECRET_MAX + 3];
    struct adl_error err;
    assert_int_equal(adl_hook_secret_read(fixture.secret, secret, &err), 0);
    assert_string_equal(secret, SECRET);
    write_file(fixture.secret, "\nsecond\n");
    assert_int_equal(adl_hook_secret_read(fixture.secret, secret, &err), ADL_EINVAL);
    write_file(fixture.secret, "a\001b\n");
    assert_int_equal(adl_hook_secret_read(fixture.secret, secret, &err), ADL_EINVAL);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    write_file(fixture.secret, longer);
    assert_int_equal(adl_hook_secret_read(fixture.secret, secret, &err), ADL_EINVAL);
    assert_int_equal(adl_hook_secret_read("/nowhere/secret", secret, &err), ADL_EIO);
    assert_true(adl_hook_address_ok("ann.b+c@example.org"));
    assert_false(adl_hook_address_ok("-oops"));
    assert_false(adl_hook_address_ok("a b"));
    assert_false(adl_hook_address_ok(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_gets_json_with_the_secret_and_the_log_gets_neither_it_nor_the_address,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            a_mail_goes_through_the_program_without_a_shell_and_nothing_of_a_job_becomes_a_header, begin, end),
        cmocka_unit_test_setup_teardown(a_dead_page_is_given_up_and_holds_up_nobody_else, begin, end),
        cmocka_unit_test_setup_teardown(a_page_that_never_answers_makes_nobody_wait_and_a_full_queue_drops, begin, end),
        cmocka_unit_test_setup_teardown(a_mail_program_that_fails_is_called_again, begin, end),
        cmocka_unit_test_setup_teardown(only_a_printable_first_line_is_a_secret, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
