/* service_double: stands in for the service: the HTTP server with answers as docs say them, and a way to run a verb of
 * the command line against it and read what it printed. */
#ifndef ADLRO_TESTS_SERVICE_DOUBLE_H
#define ADLRO_TESTS_SERVICE_DOUBLE_H

#include "cli/cli.h"
#include "cli/client/client.h"
#include "http_fixture.h"

#define DOUBLE_JOBS 40

/* Jobs 1..9 and the array 10 with the indices 0, 2, 4, 7 (numbers 10..13); 14.. are more single ones, but for the last
 * two: tasks 0 and 1 of 70, an array of Slurm's. */
struct service_double {
    struct http_fixture *fixture;
    struct adl_client *client;
    char body[65536]; /* of the last submission */
    char last[256];   /* method and target of the last request that changes something */
    int asked;        /* how often single jobs were asked for */
    int ends_after;   /* job 5 runs until it was asked for so often */
    const char *state_of_1;
    char output[128];    /* file of job 5 */
    const char *refuses; /* why nothing may be changed; NULL = it may */
};

static const int double_indices[] = {0, 2, 4, 7};

static inline bool double_has(int id)
{
    return id >= 1 && id <= DOUBLE_JOBS && id != 9; /* 9 is gone */
}

/* The number that it is shown with. */
static inline long long double_number(int id)
{
    return id > DOUBLE_JOBS - 2 ? 70 + ((id - DOUBLE_JOBS + 2LL) << 32) : id;
}

static inline const char *double_label(int id, char ret[32])
{
    if (id >= 10 && id <= 13)
        snprintf(ret, 32, "10_%d", double_indices[id - 10]);
    else if (id > DOUBLE_JOBS - 2)
        snprintf(ret, 32, "70_%d", id - DOUBLE_JOBS + 1);
    else
        snprintf(ret, 32, "%d", id);
    return ret;
}

static inline const char *double_state(const struct service_double *service, int id)
{
    if (id == 1)
        return service->state_of_1 ? service->state_of_1 : "R";
    if (id == 5)
        return service->asked > service->ends_after ? "CD" : "R";
    return id == 3 || id == 10 ? "F" : "PD";
}

static inline void double_put_job(struct adl_text *text, const struct service_double *service, int id)
{
    char label[32];
    const char *index = strchr(double_label(id, label), '_'), *state = double_state(service, id);
    const bool runs = strcmp(state, "R") == 0;
    adl_text_printf(
        text,
        "{\"id\":%lld,\"label\":\"%s\",\"name\":\"%s\",\"user\":\"ann\",\"state\":\"%s\",\"reason\":\"%s\",\"stage\":"
        "\"%s\","
        "\"hold\":false,\"priority\":0.5,\"kind\":\"training\",\"class\":null,\"request\":\"v100:2|a100:1\","
        "\"gpus\":2,\"types\":[\"v100\"],\"cpus_per_gpu\":4,\"memory_mib_per_gpu\":1024,"
        "\"gpu_memory_mib\":0,\"share\":false,\"requeue\":true,\"stop_loses\":\"all\",\"checkpoint_every_s\":null,"
        "\"time_limit_s\":3600,\"deadline_s\":null,"
        "\"command\":\"python t.py\",\"directory\":\"/home/ann\",\"stdout\":\"%s\",\"stderr\":\"%s\","
        "\"after\":[{\"job\":3,\"ok\":true}],",
        double_number(id), label, id == 2 ? "evil\\u001b[2J\\u009b31m" : "train", state,
        strcmp(state, "PD") == 0  ? "2 GPUs of type v100 are not free"
        : strcmp(state, "F") == 0 ? "exit code 3"
                                  : "",
        runs ? "running" : "queued", service->output, service->output);
    if (index)
        adl_text_printf(text, "\"array_id\":%.2s,\"array_index\":%s,", label, index + 1);
    else
        adl_text_put(text, "\"array_id\":null,\"array_index\":null,");
    adl_text_printf(text,
                    "\"submit_s\":1.7e9,\"eligible_s\":1.7e9,\"start_s\":%s,\"end_s\":null,\"run_s\":%d,\"attempts\":1,"
                    "\"allocation\":[%s],\"exit_code\":null,\"signal\":null,\"energy_j\":0}",
                    runs ? "1700000100.5" : "null", runs ? 3723 : 0,
                    runs ? "{\"gpu\":0,\"id\":\"GPU-0\",\"type\":\"v100\",\"node\":\"box\"},"
                           "{\"gpu\":1,\"id\":\"GPU-1\",\"type\":\"v100\",\"node\":\"box\"}"
                         : "");
}

static void double_list(void *context, struct adl_request *request)
{
    const struct service_double *service = context;
    const char *state = adl_request_query(request, "state"), *after = adl_request_query(request, "after");
    struct adl_text text = {0};
    int id = after ? atoi(after) + 1 : 1, count = 0;
    adl_text_put(&text, "{\"jobs\":[");
    for (; id <= DOUBLE_JOBS && count < 15; id++) { /* pages of 15, whatever was asked for */
        const char *is = double_state(service, id);
        const bool live = strcmp(is, "PD") == 0 || strcmp(is, "R") == 0;
        if (!double_has(id) || (state && strcmp(state, "live") == 0 && !live) ||
            (state && strlen(state) <= 2 && strcmp(state, is) != 0))
            continue;
        adl_text_put(&text, count++ ? "," : "");
        double_put_job(&text, service, id);
    }
    adl_text_put(&text, "],\"next\":");
    if (id <= DOUBLE_JOBS)
        adl_text_printf(&text, "%d", id - 1);
    else
        adl_text_put(&text, "null");
    adl_text_put(&text, ",\"counts\":{\"pending\":36,\"running\":2}}");
    adl_request_answer_json(request, 200, &text);
}

static bool double_find(struct service_double *service, struct adl_request *request, int *ret_id)
{
    const char *asked = adl_request_param(request, "id");
    char label[32], number[32];
    service->asked++;
    for (*ret_id = 1; *ret_id <= DOUBLE_JOBS; ++*ret_id) {
        snprintf(number, sizeof number, "%lld", double_number(*ret_id));
        if (strcmp(asked, number) == 0 || strcmp(asked, double_label(*ret_id, label)) == 0)
            break;
    }
    if (!double_has(*ret_id)) {
        adl_request_answer_problem(request, 404, "no_job", "there is no job with this number", NULL);
        return false;
    }
    return true;
}

static void double_answer_job(struct service_double *service, struct adl_request *request, int id)
{
    struct adl_text text = {0};
    double_put_job(&text, service, id);
    adl_request_answer_json(request, 200, &text);
}

static void double_job(void *context, struct adl_request *request)
{
    int id;
    if (double_find(context, request, &id))
        double_answer_job(context, request, id);
}

static void double_change(void *context, struct adl_request *request, const char *what)
{
    struct service_double *service = context;
    int id;
    if (!double_find(service, request, &id))
        return;
    if (strcmp(double_state(service, id), "F") == 0) {
        adl_request_answer_problem(request, 409, "ended", "it has ended", "Nothing is left to do.");
        return;
    }
    if (service->refuses) {
        adl_request_answer_problem(request, 409, "conflict", service->refuses, NULL);
        return;
    }
    const char *reason = adl_request_query(request, "reason");
    size_t size;
    const char *body = adl_request_body(request, &size);
    snprintf(service->last, sizeof service->last, "%s %d %s%.*s", what, id, reason ? reason : "", (int)size,
             body ? body : "");
    double_answer_job(service, request, id);
}

static void double_cancel(void *context, struct adl_request *request)
{
    double_change(context, request, "cancel");
}

static void double_hold(void *context, struct adl_request *request)
{
    double_change(context, request, "hold");
}

static void double_release(void *context, struct adl_request *request)
{
    double_change(context, request, "release");
}

static void double_patch(void *context, struct adl_request *request)
{
    double_change(context, request, "patch");
}

static void double_submit(void *context, struct adl_request *request)
{
    struct service_double *service = context;
    struct adl_text text = {0};
    size_t size;
    const char *body = adl_request_body(request, &size);
    assert_true(size < sizeof service->body);
    memcpy(service->body, body, size + 1);
    if (adl_request_query(request, "dry_run"))
        adl_text_put(&text, "{\"id\":null,\"count\":1,\"warnings\":[],\"reason\":\"would start at once\"}");
    else
        adl_text_put(&text, "{\"id\":5,\"count\":1,\"warnings\":[\"watch \\u001b[1mout\"]}");
    adl_request_answer_json(request, adl_request_query(request, "dry_run") ? 200 : 201, &text);
}

static void double_events(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "{\"events\":[{\"sequence\":1,\"time_s\":1.7e9,\"kind\":\"submit\",\"job\":1,\"data\":{}},"
                        "{\"sequence\":2,\"time_s\":1700000100,\"kind\":\"start\",\"job\":1,\"data\":{\"job\":1,"
                        "\"label\":\"1\",\"gpus\":[\"GPU-0\","
                        "\"GPU-1\"],\"why\":\"first in the queue\",\"speed\":1.5}}]}");
    adl_request_answer_json(request, 200, &text);
}

static void double_cluster(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "{\"engine\":\"local\",\"virtual\":false,\"speed\":1,\"policy\":{\"name\":\"easy\",\"summary\":"
                        "\"\"},\"version\":\"0\",\"now_s\":1700003823,\"started_s\":1.7e9,\"trouble\":null,\"counts\":{"
                        "\"gpus\":40,\"busy\":2,\"running\":2,\"pending\":36},\"power_w\":412.4,\"energy_j\":7.2e6,"
                        "\"nodes\":[{\"name\":\"box\",\"gpus\":[");
    for (int i = 0; i < 40; i++)
        adl_text_printf(
            &text,
            "%s{\"gpu\":%d,\"index\":%d,\"id\":\"GPU-%d\",\"type\":\"v100\",\"vendor\":\"nvidia\",\"state\":"
            "\"%s\",\"reason\":\"%s\",\"jobs\":[%s],\"memory_mib\":16384,\"memory_used_mib\":%s,"
            "\"utilization\":%s,\"temperature_c\":%s,\"power_w\":%s,\"max_w\":300}",
            i ? "," : "", i, i, i,
            i < 2    ? "busy"
            : i == 2 ? "drained"
                     : "idle",
            i == 2 ? "fan" : "",
            i == 0   ? "{\"id\":1,\"label\":\"1\",\"user\":\"ann\",\"name\":\"train\"}"
            : i == 1 ? "{\"id\":4294967366,\"label\":\"70_0\",\"user\":\"ann\",\"name\":\"task\"}"
                     : "",
            i < 2 ? "8000" : "null", i < 2 ? "0.53" : "null", i < 2 ? "91" : "null", i < 2 ? "206.2" : "null");
    adl_text_put(&text, "]}]}");
    adl_request_answer_json(request, 200, &text);
}

static void double_drain(void *context, struct adl_request *request)
{
    struct service_double *service = context;
    size_t size;
    const char *body = adl_request_body(request, &size);
    snprintf(service->last, sizeof service->last, "drain %s %.*s", adl_request_param(request, "what"), (int)size,
             body ? body : "");
    double_cluster(context, request);
}

static void double_resume(void *context, struct adl_request *request)
{
    struct service_double *service = context;
    snprintf(service->last, sizeof service->last, "resume %s", adl_request_param(request, "what"));
    double_cluster(context, request);
}

static void double_whoami(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "{\"user\":\"a&b\",\"uid\":1,\"admin\":false}");
    adl_request_answer_json(request, 200, &text);
}

static void double_huge(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_repeat(&text, ' ', ADL_ANSWER_SIZE_MAX + 1);
    adl_request_answer_json(request, 200, &text);
}

static void double_garbage(void *context, struct adl_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "<html>");
    adl_request_answer_text(request, 200, "text/html", &text);
}

static void double_problem(void *context, struct adl_request *request)
{
    (void)context;
    adl_request_answer_problem(request, 400, "bad", "the key \033]0;owned\a is not known", "Leave it out.");
}

static const struct adl_route double_routes[] = {
    {"GET", "/v1/jobs", double_list, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/jobs", double_submit, ADL_NEED_USER, ADL_BODY_JSON, 60000},
    {"GET", "/v1/jobs/{id}", double_job, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"DELETE", "/v1/jobs/{id}", double_cancel, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"PATCH", "/v1/jobs/{id}", double_patch, ADL_NEED_USER, ADL_BODY_JSON, 4096},
    {"POST", "/v1/jobs/{id}/hold", double_hold, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/jobs/{id}/release", double_release, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/jobs/{id}/events", double_events, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/cluster", double_cluster, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/gpus/{what}/drain", double_drain, ADL_NEED_USER, ADL_BODY_JSON, 4096},
    {"POST", "/v1/nodes/{what}/drain", double_drain, ADL_NEED_USER, ADL_BODY_JSON, 4096},
    {"POST", "/v1/gpus/{what}/resume", double_resume, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/whoami", double_whoami, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/huge", double_huge, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/garbage", double_garbage, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/problem", double_problem, ADL_NEED_USER, ADL_BODY_NONE, 0},
};

static inline struct service_double *double_open(void)
{
    struct service_double *service = calloc(1, sizeof *service);
    struct adl_error err = {{0}};
    assert_non_null(service);
    service->fixture = fixture_create();
    struct adl_http_config config = fixture_config(service->fixture);
    config.routes = double_routes;
    config.route_count = sizeof double_routes / sizeof *double_routes;
    config.context = service;
    config.events = NULL;
    if (adl_http_open(&config, &service->fixture->http, &err) < 0)
        fail_msg("%s", err.text);
    const struct adl_client_options options = {.socket = service->fixture->socket};
    assert_int_equal(adl_client_create(&options, &service->client, &err), 0);
    snprintf(service->output, sizeof service->output, "%s/out", service->fixture->folder);
    setenv("ADLRO_SOCKET", service->fixture->socket, 1);
    return service;
}

static inline void double_close(struct service_double *service)
{
    unlink(service->output);
    adl_client_destroy(service->client);
    fixture_close(service->fixture);
    free(service);
}

/* ---- running verbs ---- */

struct printed {
    char out[200000];
    char err[4000];
    int code;
};

static inline void double_take(FILE *file, char *ret, size_t size)
{
    rewind(file);
    const size_t got = fread(ret, 1, size - 1, file);
    ret[got] = '\0';
    fclose(file);
}

/* arguments end with NULL. What it prints is the caller's to free. */
static inline struct printed *double_run(const struct adl_command_verb *verb, const char *const *arguments)
{
    struct printed *printed = calloc(1, sizeof *printed);
    char *argv[32] = {0};
    int argc = 0;
    FILE *out = tmpfile(), *err = tmpfile();
    assert_non_null(printed);
    assert_non_null(out);
    assert_non_null(err);
    for (; arguments[argc]; argc++)
        assert_non_null(argv[argc] = strdup(arguments[argc]));
    char *copies[32];
    memcpy(copies, argv, sizeof argv);
    fflush(stdout);
    fflush(stderr);
    const int old_out = dup(STDOUT_FILENO), old_err = dup(STDERR_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    printed->code = verb->run(argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(old_out, STDOUT_FILENO);
    dup2(old_err, STDERR_FILENO);
    close(old_out);
    close(old_err);
    double_take(out, printed->out, sizeof printed->out);
    double_take(err, printed->err, sizeof printed->err);
    for (int i = 0; i < argc; i++)
        free(copies[i]);
    return printed;
}

#define RUN(verb, ...) double_run(&adl_verb_##verb, (const char *const[]){__VA_ARGS__, NULL})

#endif
