/* webdriver: a headless Chromium, told what to do by the W3C's WebDriver protocol through chromedriver. */
#ifndef ADLRO_TESTS_WEBDRIVER_H
#define ADLRO_TESTS_WEBDRIVER_H

#include "base/text.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct webdriver {
    pid_t pid; /* of chromedriver, the leader of its group */
    CURL *curl;
    char address[96]; /* of the session, once there is one */
};

static inline void webdriver_sleep_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static inline int64_t webdriver_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A port of loopback that nobody has now. */
static inline int webdriver_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* Runs a program with its output thrown away, as the leader of a group of its own. */
static inline pid_t webdriver_spawn(char *const argv[], const char *output)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    setpgid(0, 0);
    if (!freopen(output, "a", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(126);
    execvp(argv[0], argv);
    _exit(127);
}

/* --- the protocol --- */

static inline size_t webdriver_take(char *data, size_t size, size_t count, void *context)
{
    adl_text_bytes(context, data, size * count);
    return size * count;
}

/* The value of the answer, to be deleted by the caller, or NULL and the answer in *ret_problem if it is an error. */
static inline cJSON *webdriver_try(struct webdriver *driver, const char *method, const char *path, const cJSON *body,
                                   struct adl_text *ret_problem)
{
    struct adl_text answer = {0};
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    char url[256];
    long status = 0;
    char *text = body ? cJSON_PrintUnformatted(body) : NULL;
    snprintf(url, sizeof url, "%s%s", driver->address, path);
    curl_easy_reset(driver->curl);
    curl_easy_setopt(driver->curl, CURLOPT_URL, url);
    curl_easy_setopt(driver->curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(driver->curl, CURLOPT_TIMEOUT_MS, 30000L);
    curl_easy_setopt(driver->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(driver->curl, CURLOPT_WRITEFUNCTION, webdriver_take);
    curl_easy_setopt(driver->curl, CURLOPT_WRITEDATA, &answer);
    if (text)
        curl_easy_setopt(driver->curl, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(driver->curl, CURLOPT_CUSTOMREQUEST, method);
    const CURLcode code = curl_easy_perform(driver->curl);
    curl_easy_getinfo(driver->curl, CURLINFO_RESPONSE_CODE, &status);
    cJSON *json = code == CURLE_OK ? cJSON_Parse(answer.data ? answer.data : "") : NULL;
    cJSON *value = status == 200 ? cJSON_DetachItemFromObject(json, "value") : NULL;
    if (!value && ret_problem)
        adl_text_printf(ret_problem, "%s %s: %s: %.800s", method, path, curl_easy_strerror(code),
                        answer.data ? answer.data : "");
    cJSON_Delete(json);
    cJSON_free(text);
    adl_text_clear(&answer);
    curl_slist_free_all(headers);
    return value;
}

static inline cJSON *webdriver_call(struct webdriver *driver, const char *method, const char *path, const cJSON *body)
{
    struct adl_text problem = {0};
    cJSON *value = webdriver_try(driver, method, path, body, &problem);
    if (!value)
        fail_msg("%s", problem.data);
    adl_text_clear(&problem);
    return value;
}

/* As above with a body as text, of which nothing but success is wanted. */
static inline void webdriver_tell(struct webdriver *driver, const char *path, const char *json)
{
    cJSON *body = cJSON_Parse(json);
    assert_non_null(body);
    cJSON_Delete(webdriver_call(driver, "POST", path, body));
    cJSON_Delete(body);
}

/* --- start and end --- */

static inline bool webdriver_there(void)
{
    return system("command -v chromedriver >/dev/null 2>&1 && command -v chromium >/dev/null 2>&1") == 0;
}

static inline void webdriver_open(struct webdriver *driver)
{
    char port[32];
    const int number = webdriver_free_port();
    snprintf(port, sizeof port, "--port=%d", number);
    char name[] = "chromedriver", silent[] = "--silent";
    char *argv[] = {name, port, silent, NULL};
    driver->pid = webdriver_spawn(argv, "/dev/null");
    driver->curl = curl_easy_init();
    assert_non_null(driver->curl);
    snprintf(driver->address, sizeof driver->address, "http://127.0.0.1:%d", number);
    cJSON *status = NULL;
    for (int i = 0; i < 200 && !status; i++) {
        webdriver_sleep_ms(50);
        status = webdriver_try(driver, "GET", "/status", NULL, NULL);
    }
    assert_non_null(status);
    cJSON_Delete(status);
    cJSON *wanted = cJSON_Parse(
        "{\"capabilities\":{\"alwaysMatch\":{\"browserName\":\"chrome\",\"goog:loggingPrefs\":{\"browser\":\"ALL\"},"
        "\"goog:chromeOptions\":{\"args\":[\"--headless=new\",\"--no-sandbox\",\"--disable-dev-shm-usage\","
        "\"--disable-gpu\",\"--no-proxy-server\",\"--window-size=1280,900\"]}}}}");
    cJSON *session = webdriver_call(driver, "POST", "/session", wanted);
    snprintf(driver->address, sizeof driver->address, "http://127.0.0.1:%d/session/%.48s", number,
             cJSON_GetStringValue(cJSON_GetObjectItem(session, "sessionId")));
    cJSON_Delete(session);
    cJSON_Delete(wanted);
}

static inline void webdriver_close(struct webdriver *driver)
{
    if (driver->curl)
        cJSON_Delete(webdriver_try(driver, "DELETE", "", NULL, NULL));
    curl_easy_cleanup(driver->curl);
    if (driver->pid > 0) {
        kill(-driver->pid, SIGTERM);
        waitpid(driver->pid, NULL, 0);
    }
}

/* --- what a person does --- */

/* The value that the body of a function gives. */
static inline cJSON *webdriver_run(struct webdriver *driver, const char *script)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "script", script);
    cJSON_AddArrayToObject(body, "args");
    cJSON *value = webdriver_call(driver, "POST", "/execute/sync", body);
    cJSON_Delete(body);
    return value;
}

static inline bool webdriver_is(struct webdriver *driver, const char *expression)
{
    char script[1024];
    snprintf(script, sizeof script, "return Boolean(%s)", expression);
    cJSON *value = webdriver_run(driver, script);
    const bool is = cJSON_IsTrue(value);
    cJSON_Delete(value);
    return is;
}

static inline void webdriver_wait(struct webdriver *driver, const char *expression)
{
    const int64_t end_ms = webdriver_now_ms() + 15000;
    while (!webdriver_is(driver, expression)) {
        if (webdriver_now_ms() > end_ms) {
            cJSON *page = webdriver_run(driver, "return document.body.innerText");
            fail_msg("never became true: %s\n%.3000s", expression, cJSON_GetStringValue(page));
        }
        webdriver_sleep_ms(40);
    }
}

/* The path of the element that a selector finds. */
static inline void webdriver_find(struct webdriver *driver, const char *selector, char *ret, size_t size)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "using", "css selector");
    cJSON_AddStringToObject(body, "value", selector);
    cJSON *value = webdriver_call(driver, "POST", "/element", body);
    assert_non_null(value->child);
    snprintf(ret, size, "/element/%s", cJSON_GetStringValue(value->child));
    cJSON_Delete(value);
    cJSON_Delete(body);
}

static inline void webdriver_click(struct webdriver *driver, const char *selector)
{
    char path[160];
    webdriver_find(driver, selector, path, sizeof path - 8);
    strcat(path, "/click");
    webdriver_tell(driver, path, "{}");
}

/* In place of what the field holds. */
static inline void webdriver_type(struct webdriver *driver, const char *selector, const char *text)
{
    char element[160], path[176];
    webdriver_find(driver, selector, element, sizeof element);
    snprintf(path, sizeof path, "%s/clear", element);
    webdriver_tell(driver, path, "{}");
    snprintf(path, sizeof path, "%s/value", element);
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "text", text);
    cJSON_Delete(webdriver_call(driver, "POST", path, body));
    cJSON_Delete(body);
}

/* One key, wherever the focus is; those without a character have WebDriver's code points, U+E00C for Esc. */
static inline void webdriver_press(struct webdriver *driver, const char *key)
{
    char json[300];
    snprintf(json, sizeof json,
             "{\"actions\":[{\"type\":\"key\",\"id\":\"keys\",\"actions\":[{\"type\":\"keyDown\",\"value\":\"%s\"},"
             "{\"type\":\"keyUp\",\"value\":\"%s\"}]}]}",
             key, key);
    webdriver_tell(driver, "/actions", json);
}

/* The page as on a screen of this size with this preference of colours. */
static inline void webdriver_screen(struct webdriver *driver, int width, int height, const char *scheme)
{
    char json[300];
    snprintf(json, sizeof json,
             "{\"cmd\":\"Emulation.setDeviceMetricsOverride\",\"params\":{\"width\":%d,\"height\":%d,"
             "\"deviceScaleFactor\":1,\"mobile\":%s}}",
             width, height, width < 600 ? "true" : "false");
    webdriver_tell(driver, "/goog/cdp/execute", json);
    snprintf(json, sizeof json,
             "{\"cmd\":\"Emulation.setEmulatedMedia\",\"params\":{\"features\":[{\"name\":\"prefers-color-scheme\","
             "\"value\":\"%s\"}]}}",
             scheme);
    webdriver_tell(driver, "/goog/cdp/execute", json);
}

#endif
