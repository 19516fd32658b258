/* bench_http: what the HTTP server does a second and what a request costs it, with wrk over 64 connections: a few
 * bytes, 20 kB of JSON written anew for each, and an answer deferred to another thread. wrk runs on the same
 * processors; the processor time is the server's alone. */
#include "base/json.h"
#include "http/http.h"
#include "http/http_request.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SECONDS = 5, CONNECTIONS = 64, JOBS = 150 };

static void answer_hello(void *context, struct adl_http_request *request)
{
    struct adl_text text = {0};
    (void)context;
    adl_text_put(&text, "{\"ok\":true}\n");
    adl_http_request_answer_json(request, 200, &text);
}

static void answer_jobs(void *context, struct adl_http_request *request)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    (void)context;
    adl_json_array(&json);
    for (int i = 0; i < JOBS; i++) {
        adl_json_object(&json);
        adl_json_key(&json, "id");
        adl_json_int(&json, 100000 + i);
        adl_json_key(&json, "name");
        adl_json_string(&json, "train-resnet");
        adl_json_key(&json, "user");
        adl_json_string(&json, "somebody");
        adl_json_key(&json, "state");
        adl_json_string(&json, i % 3 ? "PD" : "R");
        adl_json_key(&json, "reason");
        adl_json_string(&json, "waits for 2 GPUs of type v100");
        adl_json_key(&json, "submitted_us");
        adl_json_int(&json, INT64_C(1700000000000000) + i);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_http_request_answer_json(request, 200, &text);
}

/* Requests on their way to the thread that answers them. */
static struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct adl_http_request *requests[CONNECTIONS * 2];
    size_t count;
    int done;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void defer(void *context, struct adl_http_request *request)
{
    (void)context;
    adl_http_request_defer(request);
    pthread_mutex_lock(&queue.mutex);
    queue.requests[queue.count++] = request;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.mutex);
}

static void *answer_deferred(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&queue.mutex);
    while (!queue.done) {
        while (queue.count > 0) {
            struct adl_http_request *request = queue.requests[--queue.count];
            pthread_mutex_unlock(&queue.mutex);
            answer_hello(NULL, request);
            pthread_mutex_lock(&queue.mutex);
        }
        if (!queue.done)
            pthread_cond_wait(&queue.filled, &queue.mutex);
    }
    pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int measure(struct adl_http *http, const char *path)
{
    char command[160], line[256], rate[64] = "?", latency[64] = "?", errors[128] = "none";
    snprintf(command, sizeof command, "wrk -t1 -c%d -d%ds --latency http://127.0.0.1:%d%s", CONNECTIONS, SECONDS,
             adl_http_port(http), path);
    const struct adl_http_counts before = adl_http_counts(http);
    const double start_s = cpu_s();
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe)) {
        sscanf(line, "Requests/sec: %63s", rate);
        sscanf(line, " 99%% %63s", latency);
        if (strstr(line, "errors") || strstr(line, "Non-2xx"))
            snprintf(errors, sizeof errors, "%.100s", line + strspn(line, " "));
    }
    if (!pipe || pclose(pipe) != 0)
        return -1;
    const double used_s = cpu_s() - start_s;
    const struct adl_http_counts after = adl_http_counts(http);
    const uint64_t count = after.answers[2] - before.answers[2];
    printf("%-10s %10s requests/s   p99 %8s   %6.1f us of processor a request   errors: %s\n", path, rate, latency,
           used_s * 1e6 / (double)(count ? count : 1), errors);
    return 0;
}

static int bench(struct adl_http *http)
{
    static const char *const paths[] = {"/hello", "/jobs", "/deferred"};
    pthread_t thread;
    int status = 0;
    if (pthread_create(&thread, NULL, answer_deferred, NULL) != 0)
        return -1;
    for (size_t i = 0; i < 3 && status == 0; i++)
        status = measure(http, paths[i]);
    pthread_mutex_lock(&queue.mutex);
    queue.done = 1;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.mutex);
    pthread_join(thread, NULL);
    return status;
}

int main(void)
{
    static const struct adl_route routes[] = {{"GET", "/hello", answer_hello, ADL_NEED_ANYONE, ADL_BODY_NONE, 0},
                                              {"GET", "/jobs", answer_jobs, ADL_NEED_ANYONE, ADL_BODY_NONE, 0},
                                              {"GET", "/deferred", defer, ADL_NEED_ANYONE, ADL_BODY_NONE, 0}};
    struct adl_http_config config = {
        .tcp = "127.0.0.1:0", .routes = routes, .route_count = 3, .limits = adl_http_limits_default()};
    struct adl_http *http = NULL;
    struct adl_error err = {{0}};
    char tokens[] = "/tmp/adlro-bench-XXXXXX"; /* empty: nobody needs a token here */
    config.limits.client.requests_per_s = 0;
    const int fd = mkstemp(tokens);
    if (fd >= 0)
        close(fd);
    int status = adl_auth_create(NULL, tokens, &config.auth, &err);
    unlink(tokens);
    if (status == 0)
        status = adl_http_open(&config, &http, &err);
    if (status < 0)
        fprintf(stderr, "bench_http: %s\n", err.text);
    else if (bench(http) < 0)
        fprintf(stderr, "bench_http: did not run; it takes wrk (Debian: wrk)\n");
    adl_http_close(http);
    adl_auth_destroy(config.auth);
    return status < 0;
}
