/* service_check: what tests of the running service say and expect, with cmocka. */
#ifndef SERVICE_CHECK_H
#define SERVICE_CHECK_H

#include "service_fixture.h"

#include <setjmp.h>

#include <cmocka.h>

static struct service_client http;

static inline void start_again(void)
{
    client_hang_up(&http);
    if (!service_start())
        fail_msg("the service does not start: %s", service_said());
}

static inline void start_service(const char *yaml)
{
    assert_true(service_make(yaml));
    client_clear(&http);
    http = client_make(service.socket);
    start_again();
}

/* The port of the service's last start. It is told after the service answers on its socket. */
static inline int tcp_port(void)
{
    int port = 0;
    for (int i = 0; i < 500 && port == 0; i++) {
        const char *said = NULL;
        for (const char *at = service_read("err"); (at = strstr(at, "TCP port ")); at++)
            said = at;
        if (!said || sscanf(said, "TCP port %d\n", &port) != 1)
            nap_ms(10);
    }
    assert_true(port > 0);
    return port;
}

static inline int remove_service(void **state)
{
    (void)state;
    client_clear(&http);
    service_remove();
    return 0;
}

#define SERVICE_TEST(f) cmocka_unit_test_teardown(f, remove_service)

#define expect(status, ...)                                                                                            \
    do {                                                                                                               \
        const int got_ = client_askf(&http, __VA_ARGS__);                                                              \
        if (got_ != (status))                                                                                          \
            fail_msg("%d instead of %d: %.300s; %s", got_, status, got_ > 0 ? http.body : "", service_said());         \
    } while (0)

static inline uint64_t submit(const char *name, const char *sleep_s, int exit_code, const char *more)
{
    const int status = service_submit(&http, name, sleep_s, exit_code, more);
    if (status != 201)
        fail_msg("%d: %.300s", status, status > 0 ? http.body : service_said());
    return (uint64_t)client_number(&http, "id", 0);
}

/* One field of a job as text; numbers without a fraction. */
static inline const char *job_text(uint64_t id, const char *key)
{
    static char text[4][512];
    static int next;
    next = (next + 1) % 4;
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    cJSON *json = client_json(&http);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (cJSON_IsString(item))
        snprintf(text[next], sizeof text[next], "%s", item->valuestring);
    else
        snprintf(text[next], sizeof text[next], "%.0f", cJSON_IsNumber(item) ? item->valuedouble : -1);
    cJSON_Delete(json);
    return text[next];
}

static inline double job_number(uint64_t id, const char *key)
{
    expect(200, NULL, "GET /v1/jobs/%llu", (unsigned long long)id);
    return client_number(&http, key, -1);
}

/* Waits for a field of a job to become so; a job that has ended otherwise does not. */
static inline void wait_for(uint64_t id, const char *key, const char *value)
{
    const int64_t until_us = service_now_us() + INT64_C(30000000);
    while (strcmp(job_text(id, key), value) != 0) {
        const bool ended = strcmp(job_text(id, "stage"), "ended") == 0 && strcmp(job_text(id, key), value) != 0;
        if (ended || service_now_us() > until_us)
            fail_msg("%s of job %llu is %s, not %s: %.400s", key, (unsigned long long)id, job_text(id, key), value,
                     http.body);
        service_reap();
        nap_ms(3);
    }
}

static inline int count_marks(const char *name)
{
    char path[64];
    int lines = 0;
    snprintf(path, sizeof path, "marks/%s", name);
    for (const char *at = service_read(path); *at; at++)
        lines += *at == '\n';
    return lines;
}

/* The process of a job that left its mark; waits for that. */
static inline pid_t marked_pid(const char *name)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "marks/%s", name);
    for (int i = 0; i < 10000 && sscanf(service_read(path), "%*u %*u %d\n", &pid) != 1; i++)
        nap_ms(1);
    assert_true(pid > 0);
    return pid;
}

static inline bool process_lives(pid_t pid)
{
    service_reap();
    return kill(pid, 0) == 0;
}

/* Whether the last answer has the text. */
static inline void expect_text(const char *text)
{
    if (!strstr(http.body, text))
        fail_msg("no '%s' in %.400s", text, http.body);
}

#endif
