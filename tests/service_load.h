/* service_load: many jobs at once: how long a submission takes, how much memory the service needs, and that each job
 * runs once. Asserts nothing: says what it found. */
#ifndef SERVICE_LOAD_H
#define SERVICE_LOAD_H

#include "service_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LOAD_JOBS_MAX = 40000, LOAD_CONNECTIONS_MAX = 16 };

struct load_plan {
    uint32_t slots, jobs, connections;
    const char *sleep_s; /* each job */
    bool read;           /* somebody looks at all pages meanwhile */
};

struct load {
    struct load_plan plan;
    double submit_ms[LOAD_JOBS_MAX]; /* sorted once all are there */
    uint8_t acked[LOAD_JOBS_MAX];    /* [id] */
    uint8_t ran[LOAD_JOBS_MAX];
    uint8_t completed[LOAD_JOBS_MAX];
    double submit_s, all_s; /* from the first submission to the last acknowledgement, and to the last end */
    uint32_t pending_max, running_max;
    long service_kib, shepherd_kib; /* the service at its most; a shepherd's own, on average */
    atomic_bool done;               /* readers may go */
    uint32_t pages;                 /* that they have seen */
    char trouble[400];              /* the first thing that was wrong; "" = nothing */
};

static struct load load;

__attribute__((format(printf, 1, 2))) static inline void load_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (load.trouble[0] == '\0')
        vsnprintf(load.trouble, sizeof load.trouble, fmt, args);
    va_end(args);
}

static inline int load_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of sorted values. */
static inline double load_quantile(const double *values, uint32_t count, double share)
{
    const uint32_t at = (uint32_t)(share * count);
    return count > 0 ? values[at < count ? at : count - 1] : 0;
}

static inline int load_submit(struct service_client *client)
{
    char body[800];
    snprintf(body, sizeof body,
             "{\"name\":\"load\",\"directory\":\"%s\",\"stdout\":\"/dev/null\",\"time_limit_s\":3600,"
             "\"environment\":[\"PATH=/usr/bin:/bin\",\"HOME=/\",\"LANG=C.UTF-8\"],\"command\":[\"/bin/sh\",\"-c\","
             "\"echo $SLURM_JOB_ID >> \\\"$1\\\"; exec sleep $2\",\"sh\",\"%s/marks/all\",\"%s\"]}",
             service.home, service.home, load.plan.sleep_s);
    return client_ask(client, "POST /v1/jobs", body);
}

static inline void *load_work(void *self)
{
    struct service_client client = client_make(service.socket);
    const uint32_t first = (uint32_t)(uintptr_t)self;
    for (uint32_t i = first; i < load.plan.jobs && load.trouble[0] == '\0'; i += load.plan.connections) {
        const int64_t start_us = service_now_us();
        const int status = load_submit(&client);
        load.submit_ms[i] = (double)(service_now_us() - start_us) * 1e-3;
        const double id = status == 201 ? client_number(&client, "id", 0) : 0;
        if (id < 1 || id >= LOAD_JOBS_MAX)
            load_say("a submission was answered with %d: %.200s", status, status > 0 ? client.body : service_said());
        else
            load.acked[(uint32_t)id]++;
    }
    client_clear(&client);
    return NULL;
}

static inline void *load_read(void *self)
{
    static const char *const pages[] = {"/v1/jobs",         "/v1/jobs?state=all", "/v1/cluster", "/metrics",
                                        "/v1/jobs/1",       "/v1/jobs/1/events",  "/v1/history", "/v1/decisions",
                                        "/v1/jobs?state=R", "/healthz",           "/v1/whoami"};
    struct service_client client = client_make(service.socket);
    (void)self;
    for (uint32_t i = 0; !atomic_load(&load.done); i++) {
        const char *page = pages[i % (sizeof pages / sizeof *pages)];
        const int status = client_askf(&client, NULL, "GET %s", page);
        if (status != 200 && !(status == 404 && strstr(page, "/jobs/1")))
            load_say("%s was answered with %d: %s", page, status, service_said());
        load.pages++;
        nap_ms(2);
    }
    client_clear(&client);
    return NULL;
}

/* A line of /proc/PID/FILE that begins so, in kB; lines that begin so are added up. */
static inline long load_memory_kib(pid_t pid, const char *file, const char *line)
{
    char path[64], text[256];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *from = fopen(path, "r");
    while (from && fgets(text, sizeof text, from))
        if (strncmp(text, line, strlen(line)) == 0)
            sum += strtol(strchr(text, ':') + 1, NULL, 10);
    if (from)
        fclose(from);
    return sum;
}

static long load_shepherds_kib;
static int load_shepherds_seen;

static inline void load_weigh(pid_t pid)
{
    const long kib = load_memory_kib(pid, "smaps_rollup", "Private_");
    if (kib > 0 && load_shepherds_seen < 100) {
        load_shepherds_kib += kib;
        load_shepherds_seen++;
    }
}

static inline void load_see(void *context, const cJSON *job)
{
    (void)context;
    const uint32_t id = (uint32_t)json_number(job, "id", 0);
    const bool good = strcmp(json_string(job, "state"), "CD") == 0 && json_number(job, "attempts", 0) == 1;
    if (!good)
        load_say("job %u: %s, %s", id, json_string(job, "state"), json_string(job, "reason"));
    else if (id < LOAD_JOBS_MAX)
        load.completed[id]++;
}

static inline void load_watch(struct service_client *client, int64_t start_us)
{
    for (uint32_t pending = 1, running = 1; pending + running > 0 && load.trouble[0] == '\0'; nap_ms(50)) {
        if (client_ask(client, "GET /v1/jobs?limit=1", NULL) != 200) {
            load_say("the service does not answer: %s", service_said());
            return;
        }
        cJSON *json = client_json(client);
        const cJSON *counts = cJSON_GetObjectItemCaseSensitive(json, "counts");
        pending = (uint32_t)json_number(counts, "pending", 0);
        running = (uint32_t)json_number(counts, "running", 0);
        cJSON_Delete(json);
        load.pending_max = pending > load.pending_max ? pending : load.pending_max;
        load.running_max = running > load.running_max ? running : load.running_max;
        if (load_shepherds_seen == 0 && running >= load.plan.slots)
            service_shepherds(load_weigh);
        if (service_now_us() - start_us > INT64_C(1200000000))
            load_say("%u wait and %u run after 20 minutes", pending, running);
        service_reap();
    }
}

static inline void load_check(struct service_client *client)
{
    unsigned long id;
    FILE *marks = fopen(service_path("marks/all"), "r");
    while (marks && fscanf(marks, "%lu", &id) == 1)
        if (id < LOAD_JOBS_MAX)
            load.ran[id]++;
    if (marks)
        fclose(marks);
    if (!client_jobs(client, "all", load_see, NULL))
        load_say("the jobs could not be listed");
    for (uint32_t i = 1; i <= load.plan.jobs; i++)
        if (load.acked[i] != 1 || load.ran[i] != 1 || load.completed[i] != 1)
            load_say("job %u: acknowledged %u, ran %u, completed %u times", i, load.acked[i], load.ran[i],
                     load.completed[i]);
}

/* True if nothing was wrong. The service runs on. */
static inline bool load_run(const struct load_plan *plan)
{
    pthread_t threads[LOAD_CONNECTIONS_MAX], reader;
    memset(&load, 0, sizeof load);
    load.plan = *plan;
    service_make(service_slots_yaml(plan->slots, ""));
    service.args[0] = "--no-limits";
    if (!service_start()) {
        load_say("the service does not start: %s", service_said());
        return false;
    }
    struct service_client client = client_make(service.socket);
    const int64_t start_us = service_now_us();
    if (plan->read && pthread_create(&reader, NULL, load_read, NULL))
        abort();
    for (uintptr_t i = 0; i < plan->connections; i++)
        if (pthread_create(&threads[i], NULL, load_work, (void *)i)) // NOLINT(performance-no-int-to-ptr)
            abort();
    for (uint32_t i = 0; i < plan->connections; i++)
        pthread_join(threads[i], NULL);
    load.submit_s = (double)(service_now_us() - start_us) * 1e-6;
    qsort(load.submit_ms, plan->jobs, sizeof *load.submit_ms, load_compare);
    load_watch(&client, start_us);
    load.all_s = (double)(service_now_us() - start_us) * 1e-6;
    atomic_store(&load.done, true);
    if (plan->read)
        pthread_join(reader, NULL);
    load.service_kib = load_memory_kib(service.pid, "status", "VmHWM");
    load.shepherd_kib = load_shepherds_seen > 0 ? load_shepherds_kib / load_shepherds_seen : 0;
    if (load.trouble[0] == '\0')
        load_check(&client);
    client_clear(&client);
    return load.trouble[0] == '\0';
}

#endif
