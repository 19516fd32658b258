/* service_crash: the service is killed at random moments while people submit, cancel, hold and requeue; whatever it
 * acknowledged must be there afterwards and run exactly once. Asserts nothing: says what it found. */
#ifndef SERVICE_CRASH_H
#define SERVICE_CRASH_H

#include "base/rng.h"
#include "service_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CRASH_CLIENTS = 4, CRASH_JOBS_MAX = 100000, CRASH_ROWS_MAX = 200000 };

/* A submission, of one job or an array. Written by its client, and by nobody once it is acknowledged. */
struct crash_job {
    uint64_t id;
    uint32_t count;
    int exit_code;
    uint64_t after_ok;    /* it may be cancelled because of this one */
    atomic_bool acked;    /* HTTP 201 was seen */
    atomic_bool cancels;  /* somebody asked for its end */
    atomic_bool requeues; /* somebody asked for it to run again */
};

struct crash_row { /* a job as the service shows it at the end */
    char name[16], state[4];
    uint32_t attempts, marks;
    int exit_code;
};

struct crash {
    struct crash_job jobs[CRASH_JOBS_MAX]; /* its index is its name: "k17" */
    atomic_uint job_count;
    struct crash_row rows[CRASH_ROWS_MAX]; /* [id] */
    atomic_bool done;
    uint64_t seed;
    char trouble[400]; /* the first thing that was wrong; "" = nothing */
    /* Tally: */
    uint32_t kills, acked, unacked, jobs_found, ran, cancelled, failed_as_told, requeued;
    double down_ms_max; /* from the kill until it listens again */
};

static struct crash crash;

__attribute__((format(printf, 1, 2))) static inline void crash_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (crash.trouble[0] == '\0')
        vsnprintf(crash.trouble, sizeof crash.trouble, fmt, args);
    va_end(args);
}

/* ---- clients ---- */

struct crash_client {
    struct service_client http;
    struct adl_rng rng;
    uint32_t own[CRASH_JOBS_MAX / CRASH_CLIENTS]; /* indices of its own submissions that were acknowledged */
    uint32_t own_count;
};

static inline uint32_t crash_draw(struct crash_client *client, uint32_t below)
{
    return adl_rng_below(&client->rng, below);
}

static inline void crash_submit(struct crash_client *client, uint32_t count, bool dependent)
{
    const uint32_t index = atomic_fetch_add(&crash.job_count, 1);
    if (index >= CRASH_JOBS_MAX || client->own_count >= sizeof client->own / sizeof *client->own)
        return;
    struct crash_job *job = &crash.jobs[index];
    char name[16], more[120] = "", sleep_s[16];
    job->count = count;
    job->exit_code = crash_draw(client, 4) == 0 ? 3 : 0;
    if (dependent && client->own_count > 0) {
        job->after_ok = crash.jobs[client->own[crash_draw(client, client->own_count)]].id;
        snprintf(more, sizeof more, ",\"after_ok\":[%llu]", (unsigned long long)job->after_ok);
    } else if (count > 1) {
        snprintf(more, sizeof more, ",\"array\":\"0-%u\"", count - 1);
    }
    snprintf(name, sizeof name, "k%u", index);
    snprintf(sleep_s, sizeof sleep_s, "0.%02u", crash_draw(client, 25));
    if (service_submit(&client->http, name, sleep_s, job->exit_code, more) != 201)
        return;
    job->id = (uint64_t)client_number(&client->http, "id", 0);
    client->own[client->own_count++] = index;
    atomic_store(&job->acked, true);
}

static inline void crash_change(struct crash_client *client, uint32_t what)
{
    if (client->own_count == 0)
        return;
    /* One of the latest: the others have ended. */
    const uint32_t back = crash_draw(client, client->own_count < 8 ? client->own_count : 8);
    struct crash_job *job = &crash.jobs[client->own[client->own_count - 1 - back]];
    const unsigned long long id = job->id + crash_draw(client, job->count);
    if (what == 0) {
        atomic_store(&job->cancels, true);
        client_askf(&client->http, NULL, "DELETE /v1/jobs/%llu", id);
    } else if (what == 1) {
        client_askf(&client->http, NULL, "POST /v1/jobs/%llu/hold", id);
        client_askf(&client->http, NULL, "POST /v1/jobs/%llu/release", id); /* what stays held is released at the end */
    } else if (what == 2) {
        atomic_store(&job->requeues, true);
        client_askf(&client->http, NULL, "POST /v1/jobs/%llu/requeue", id);
    } else {
        client_askf(&client->http, "{\"priority\":0.7}", "PATCH /v1/jobs/%llu", id);
    }
}

static inline void *crash_work(void *self)
{
    struct crash_client *client = self;
    while (!atomic_load(&crash.done)) {
        const uint32_t what = crash_draw(client, 20);
        if (what < 10)
            crash_submit(client, 1, false);
        else if (what < 11)
            crash_submit(client, 3, false);
        else if (what < 13)
            crash_submit(client, 1, true);
        else
            crash_change(client, what < 16 ? 0 : what < 18 ? 1 : what - 16);
        nap_ms(1 + (int)crash_draw(client, 6));
    }
    return NULL;
}

/* ---- what must be there ---- */

static inline void crash_see(void *context, const cJSON *job)
{
    (void)context;
    const uint64_t id = (uint64_t)json_number(job, "id", 0);
    if (id == 0 || id >= CRASH_ROWS_MAX)
        return;
    struct crash_row *row = &crash.rows[id];
    snprintf(row->name, sizeof row->name, "%s", json_string(job, "name"));
    snprintf(row->state, sizeof row->state, "%s", json_string(job, "state"));
    row->attempts = (uint32_t)json_number(job, "attempts", 0);
    row->exit_code = (int)json_number(job, "exit_code", -1);
    const char *reason = json_string(job, "reason");
    if (strcmp(row->state, "F") == 0 && strncmp(reason, "exit code", 9) != 0)
        crash_say("job %llu failed: %s", (unsigned long long)id, reason);
}

/* Every job that was acknowledged before a moment is known after it. */
static inline void crash_check_known(struct service_client *http, const bool *acked, uint32_t count)
{
    if (!client_jobs(http, "all", crash_see, NULL))
        crash_say("the jobs could not be listed (%d): %s", service_exit_status(500), service_said());
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; acked[i] && k < crash.jobs[i].count; k++)
            if (crash.rows[crash.jobs[i].id + k].name[0] == '\0')
                crash_say("job %llu was acknowledged and is not known", (unsigned long long)crash.jobs[i].id + k);
}

static inline void crash_kill(struct service_client *http, int wait_ms)
{
    static bool acked[CRASH_JOBS_MAX];
    nap_ms(wait_ms);
    const int64_t down_us = service_now_us();
    if (service_signal(SIGKILL) != 128 + SIGKILL)
        crash_say("the service had ended by itself: %s", service_said());
    const uint32_t count = atomic_load(&crash.job_count);
    for (uint32_t i = 0; i < count && i < CRASH_JOBS_MAX; i++)
        acked[i] = atomic_load(&crash.jobs[i].acked);
    if (!service_start())
        crash_say("the service does not start again: %s", service_said());
    const double down_ms = (double)(service_now_us() - down_us) * 1e-3;
    crash.down_ms_max = down_ms > crash.down_ms_max ? down_ms : crash.down_ms_max;
    crash.kills++;
    client_hang_up(http);
    crash_check_known(http, acked, count < CRASH_JOBS_MAX ? count : CRASH_JOBS_MAX);
}

static inline void crash_release(void *context, const cJSON *job)
{
    if (strcmp(json_string(job, "stage"), "held") == 0)
        client_askf(context, NULL, "POST /v1/jobs/%.0f/release", json_number(job, "id", 0));
}

static inline void crash_wait_for_all(struct service_client *http, int patience_s)
{
    const int64_t until_us = service_now_us() + (int64_t)patience_s * 1000000;
    struct service_client other = client_make(service.socket);
    client_jobs(http, "live", crash_release, &other);
    client_clear(&other);
    for (;;) {
        if (client_ask(http, "GET /v1/jobs?limit=1", NULL) != 200)
            crash_say("the service does not answer: %s", service_said());
        cJSON *json = client_json(http);
        const bool none = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "jobs")) == 0;
        char *first = cJSON_PrintUnformatted(json);
        if (!none && service_now_us() > until_us)
            crash_say("not all jobs end: %.300s", first);
        free(first);
        cJSON_Delete(json);
        if (none || crash.trouble[0] != '\0')
            return;
        service_reap();
        nap_ms(20);
    }
}

/* ---- what must have happened, once ---- */

/* The lines that jobs of a submission left: each attempt of each job one at most. */
static inline void crash_read_marks(uint32_t index)
{
    char name[32];
    unsigned long long seen[64][2];
    int count = 0, used;
    snprintf(name, sizeof name, "marks/k%u", index);
    const char *at = service_read(name);
    for (unsigned long long id, attempt; sscanf(at, "%llu %llu %*u%n", &id, &attempt, &used) == 2 && count < 64;
         at += used) {
        for (int i = 0; i < count; i++)
            if (seen[i][0] == id && seen[i][1] == attempt)
                crash_say("attempt %llu of job %llu ran twice", attempt, id);
        seen[count][0] = id;
        seen[count++][1] = attempt;
        if (id >= CRASH_ROWS_MAX || strcmp(crash.rows[id].name, name + 6) != 0)
            crash_say("job %llu ran as %s and the service does not know it", id, name + 6);
        else
            crash.rows[id].marks++;
    }
}

static inline void crash_check_row(uint64_t id, const struct crash_job *job)
{
    const struct crash_row *row = &crash.rows[id];
    const unsigned long long number = id;
    const bool cancelled = strcmp(row->state, "CA") == 0, failed = strcmp(row->state, "F") == 0;
    crash.jobs_found++;
    crash.ran += row->marks > 0;
    crash.cancelled += cancelled;
    crash.requeued += row->attempts > 1;
    crash.failed_as_told += failed;
    if (!cancelled && !failed && strcmp(row->state, "CD") != 0)
        crash_say("job %llu ended as %s", number, row->state);
    if (cancelled && !atomic_load(&job->cancels) && job->after_ok == 0)
        crash_say("job %llu was cancelled and nobody had asked for it", number);
    if (!cancelled && row->exit_code != job->exit_code)
        crash_say("job %llu exits with %d and is shown with %d", number, job->exit_code, row->exit_code);
    if (!cancelled && failed != (job->exit_code != 0))
        crash_say("job %llu exits with %d and is %s", number, job->exit_code, row->state);
    if (row->attempts > 1 && !atomic_load(&job->requeues))
        crash_say("job %llu has %u attempts and nobody had asked for them", number, row->attempts);
    /* An attempt that was stopped may have been stopped before it left its mark; one that ended was not. */
    if (row->marks > row->attempts || (!cancelled && (row->marks == 0 || (row->attempts == 1 && row->marks != 1))))
        crash_say("job %llu, %s, ran %u times in %u attempts", number, row->state, row->marks, row->attempts);
}

static inline void crash_check_end(struct service_client *http)
{
    const uint32_t count = atomic_load(&crash.job_count);
    static uint32_t found[CRASH_JOBS_MAX];
    memset(crash.rows, 0, sizeof crash.rows);
    memset(found, 0, sizeof found);
    if (!client_jobs(http, "all", crash_see, NULL))
        crash_say("the jobs could not be listed");
    for (uint32_t i = 0; i < count; i++)
        crash_read_marks(i);
    for (uint64_t id = 1; id < CRASH_ROWS_MAX; id++)
        if (crash.rows[id].name[0] == 'k') {
            const uint32_t index = (uint32_t)strtoul(crash.rows[id].name + 1, NULL, 10);
            found[index]++;
            crash_check_row(id, &crash.jobs[index]);
        }
    for (uint32_t i = 0; i < count; i++) {
        const struct crash_job *job = &crash.jobs[i];
        const bool acked = atomic_load(&job->acked);
        crash.acked += acked ? job->count : 0;
        crash.unacked += !acked && found[i] > 0 ? job->count : 0;
        if (found[i] != job->count && (acked || found[i] != 0))
            crash_say("k%u: %u of %u jobs are there%s", i, found[i], job->count, acked ? "" : ", not acknowledged");
    }
}

/* Nothing of ended jobs may stay behind in the state. */
static inline void crash_check_traces(const char *folder)
{
    DIR *dir = opendir(service_path(folder));
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            crash_say("%s/%s is left of a job that has ended", folder, entry->d_name);
    if (dir)
        closedir(dir);
}

/* So many kills; true if nothing was wrong. */
static inline bool crash_rounds(uint32_t kills, uint64_t seed)
{
    static struct crash_client clients[CRASH_CLIENTS];
    pthread_t threads[CRASH_CLIENTS];
    struct adl_rng rng;
    memset(&crash, 0, sizeof crash);
    adl_rng_seed(&rng, seed, "kills");
    if (!service_make(service_slots_yaml(16, "")) || !service_start())
        crash_say("the service does not start: %s", service_said());
    struct service_client http = client_make(service.socket);
    for (uint32_t i = 0; i < CRASH_CLIENTS; i++) {
        clients[i] = (struct crash_client){.http = client_make(service.socket)};
        adl_rng_seed(&clients[i].rng, seed + i, "client");
        if (pthread_create(&threads[i], NULL, crash_work, &clients[i]))
            abort();
    }
    for (uint32_t i = 0; i < kills && crash.trouble[0] == '\0'; i++)
        crash_kill(&http, 5 + (int)adl_rng_below(&rng, 200));
    atomic_store(&crash.done, true);
    for (uint32_t i = 0; i < CRASH_CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        client_clear(&clients[i].http);
    }
    if (crash.trouble[0] == '\0')
        crash_wait_for_all(&http, 120);
    if (crash.trouble[0] == '\0')
        crash_check_end(&http);
    if (service_signal(SIGTERM) != 0)
        crash_say("the service does not end as it should: %s", service_said());
    crash_check_traces("state/tasks");
    crash_check_traces("state/scripts");
    client_clear(&http);
    service_remove();
    return crash.trouble[0] == '\0';
}

#endif
