/* service_access: a running service and two who ask it: its administrator over the Unix socket (`http`), and a user
 * without rights over TCP with a token (`user`). It plays a twin of two GPUs, both taken by a job of the scenario, so
 * that jobs of any user can wait and nothing has to be run. */
#ifndef SERVICE_ACCESS_H
#define SERVICE_ACCESS_H

#include "service_check.h"

#include "http/auth.h"

static struct service_client user;

/* Job 1 is the scenario's. */
static inline bool access_write_scenario(void)
{
    static const char scenario[] = "name: small\n"
                                   "description: one job that keeps both GPUs\n"
                                   "catalogue: " ADL_SOURCE_DIR "/scenarios/catalogue.yaml\n"
                                   "cluster:\n"
                                   "  network_gbs: 10\n"
                                   "  nodes:\n"
                                   "    - {name: n, cpu_cores: 64, memory_mib: 500000, link_gbs: 32,\n"
                                   "       gpus: [{type: v100, count: 2}]}\n"
                                   "workload:\n"
                                   "  jobs: 1\n"
                                   "  arrivals: {process: backlog}\n"
                                   "  mix:\n"
                                   "    - class: resnet50-b64\n"
                                   "      duration_s: {median: 1000000}\n"
                                   "      reference: v100\n"
                                   "      gpus: [{count: 2}]\n";
    return service_write("small.yaml", scenario);
}

/* The line of a new token goes to the end of home/tokens. */
static inline void access_add_token(const char *name, char ret[ADL_TOKEN_SIZE])
{
    char line[ADL_TOKEN_LINE_SIZE], all[8192];
    struct adl_error err = {{0}};
    assert_int_equal(adl_token_create(name, 0, ret, line, &err), ADL_OK);
    snprintf(all, sizeof all, "%.7000s%s\n", service_read("tokens"), line);
    assert_true(service_write("tokens", all) && chmod(service_path("tokens"), 0600) == 0);
}

/* Runs the program with these words, which end with NULL; its exit code. What it prints goes to home/out. */
static inline int access_run(const char *const *words)
{
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = open(service_path("out"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(ADL_PROGRAM, (char *const *)(uintptr_t)words); // NOLINT(performance-no-int-to-ptr)
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void access_start_again(void)
{
    service_write("err", "");
    client_hang_up(&user);
    start_again();
    user.port = tcp_port();
}

/* more: further keys of the configuration. */
static inline void access_start(const char *more)
{
    static char tokens[128];
    char yaml[1000], token[ADL_TOKEN_SIZE];
    snprintf(yaml, sizeof yaml, "engine: sim\nscenario: small.yaml\n%s", more);
    assert_true(service_make(yaml) && access_write_scenario());
    client_clear(&http);
    client_clear(&user);
    http = client_make(service.socket);
    user = client_make("");
    access_add_token("nobody", token);
    snprintf(user.token, sizeof user.token, "%s", token);
    snprintf(tokens, sizeof tokens, "%s", service_path("tokens"));
    const char *const args[] = {"--tcp", "127.0.0.1:0", "--tokens", tokens};
    memcpy(service.args, args, sizeof args);
    access_start_again();
    for (int i = 0; i < 3000; i++) { /* until the scenario's job has both GPUs */
        expect(200, NULL, "GET /v1/jobs?state=R");
        if (strstr(http.body, "user0"))
            return;
        nap_ms(10);
    }
    fail_msg("the scenario's job does not run: %.300s", http.body);
}

/* The user asks. */
#define expect_user(status, ...)                                                                                       \
    do {                                                                                                               \
        const int got_ = client_askf(&user, __VA_ARGS__);                                                              \
        if (got_ != (status))                                                                                          \
            fail_msg("%d instead of %d: %.300s; %s", got_, status, got_ > 0 ? user.body : "", service_said());         \
    } while (0)

static inline void expect_user_text(const char *text)
{
    if (!strstr(user.body, text))
        fail_msg("no '%s' in %.400s", text, user.body);
}

/* A job of whoever asks; more: further keys, with a comma in front. */
static inline uint64_t access_submit(struct service_client *who, const char *name, const char *more)
{
    char body[600];
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"directory\":\"/tmp\",\"command\":[\"true\"]%s}", name, more);
    const int status = client_ask(who, "POST /v1/jobs", body);
    if (status != 201)
        fail_msg("%d: %.300s", status, status > 0 ? who->body : service_said());
    return (uint64_t)client_number(who, "id", 0);
}

#endif
