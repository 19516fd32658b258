/* routes_fixture: the REST interface over a desk made by hand: a small cluster, an engine on a toy world in which one
 * job runs and others wait, a store with jobs that have ended, and a thread that takes wishes as the service does. */
#ifndef ADLRO_TESTS_ROUTES_FIXTURE_H
#define ADLRO_TESTS_ROUTES_FIXTURE_H

#include "http_fixture.h"
#include "store_fixture.h"
#include "toy_world.h"

#include "jobs/submission.h"
#include "service/routes.h"

#include <stdatomic.h>

#define ROUTES_NOW_US INT64_C(1700000100500000)
#define ROUTES_INBOX  8
#define ROUTES_JOBS   4 /* in memory: 1 runs, 2 waits for GPUs, 3 for job 1, 4 is held */

struct routes_fixture {
    struct place place;
    struct adl_store *store; /* the service's */
    struct adl_inventory inventory;
    struct toy_world *world;
    struct adl_desk desk;
    struct adl_routes_context context;
    struct http_fixture *http;
    char stranger[ADL_TOKEN_SIZE]; /* a token of somebody who is no administrator */
    pthread_t thread;
    bool running;
    atomic_bool stop;
    atomic_int fail; /* status of every wish, instead of carrying it out */
    const char *fail_text;
};

static inline int64_t routes_now(const struct adl_desk *desk)
{
    (void)desk;
    return ROUTES_NOW_US;
}

/* ---- the thread of the service, as far as routes can tell ---- */

static inline void routes_remove(struct routes_fixture *f, struct adl_roster_job *job, struct adl_error *err)
{
    const struct adl_store_status status = {.state = ADL_STORE_CANCELLED,
                                            .priority = job->priority,
                                            .reason = "cancelled by a test",
                                            .end_us = ROUTES_NOW_US};
    assert_int_equal(adl_store_job_update(f->store, job->id, &status, err), ADL_OK);
    adl_roster_remove(&f->desk.roster, job);
}

static inline int routes_submit(struct routes_fixture *f, struct adl_wish *wish)
{
    struct adl_submission *submission = wish->submission;
    struct adl_alternative alternatives[ADL_ALTERNATIVES_MAX];
    uint32_t count = 0;
    const int status =
        adl_request_read(submission->job.request, &f->inventory.scenario.cluster, alternatives, &count, &wish->err);
    if (status < 0)
        return status;
    submission->job.spec.gpus = alternatives[0].gpus;
    submission->job.spec.types = alternatives[0].types;
    wish->job_count = submission->array_count ? submission->array_count : 1;
    for (uint32_t i = 0; i < wish->job_count && !wish->dry_run; i++) {
        uint64_t id = 0;
        submission->job.array_index = submission->array ? submission->array[i] : -1;
        submission->job.array_id = wish->first_job;
        assert_int_equal(adl_store_job_add(f->store, &submission->job, &id, &wish->err), ADL_OK);
        submission->job.spec.id = id;
        assert_non_null(adl_roster_add(&f->desk.roster, &submission->job));
        wish->first_job = wish->first_job ? wish->first_job : id;
    }
    return ADL_OK;
}

static inline int routes_change_job(struct routes_fixture *f, struct adl_wish *wish)
{
    struct adl_roster_job *job = adl_roster_find(&f->desk.roster, wish->job);
    if (!job)
        return wish->job <= 6 ? adl_fail(&wish->err, ADL_EREFUSED, "job %d has ended", (int)wish->job)
                              : adl_fail(&wish->err, ADL_EABSENT, "there is no job %d", (int)wish->job);
    if (!wish->caller.admin && wish->caller.account.uid != job->uid)
        return adl_fail(&wish->err, ADL_EDENIED, "job %d is another user's", (int)wish->job);
    if (wish->kind == ADL_WISH_PRIORITY) {
        job->priority = wish->priority;
    } else if (wish->kind == ADL_WISH_CANCEL && !adl_roster_holds_gpus(job)) {
        routes_remove(f, job, &wish->err);
    } else if (wish->kind == ADL_WISH_CANCEL) {
        adl_roster_set_stage(&f->desk.roster, job, ADL_STAGE_STOPPING);
        adl_roster_set_reason(job, wish->text);
    } else if (adl_roster_holds_gpus(job) != (wish->kind == ADL_WISH_REQUEUE)) {
        return adl_fail(&wish->err, ADL_EREFUSED, "job %d is not in that state", (int)wish->job);
    } else {
        job->hold = wish->kind == ADL_WISH_HOLD;
        adl_roster_set_stage(&f->desk.roster, job, job->hold ? ADL_STAGE_HELD : ADL_STAGE_QUEUED);
    }
    return ADL_OK;
}

static inline int routes_carry_out(struct routes_fixture *f, struct adl_wish *wish)
{
    if (atomic_load(&f->fail) < 0)
        return adl_fail(&wish->err, atomic_load(&f->fail), "%s", f->fail_text);
    if (wish->kind == ADL_WISH_SUBMIT)
        return routes_submit(f, wish);
    if (wish->kind == ADL_WISH_RELOAD) {
        snprintf(wish->text, sizeof wish->text, "policy: easy\nmodel: none");
        return ADL_OK;
    }
    if (wish->kind < ADL_WISH_DRAIN)
        return routes_change_job(f, wish);
    for (uint32_t g = 0; g < f->inventory.scenario.cluster.gpu_count; g++) {
        const uint32_t node = adl_gpu_node_of(&f->inventory.scenario.cluster, g);
        if (g != wish->gpu && strcmp(wish->node, f->inventory.scenario.cluster.nodes[node].name) != 0)
            continue;
        f->desk.gpus[g].drain = wish->kind == ADL_WISH_DRAIN;
        snprintf(f->desk.gpus[g].reason, sizeof f->desk.gpus[g].reason, "%s", wish->text);
    }
    return ADL_OK;
}

static inline void *routes_serve(void *memory)
{
    struct routes_fixture *f = memory;
    while (!atomic_load(&f->stop)) {
        fixture_readable(adl_inbox_fd(f->desk.inbox), 20);
        for (struct adl_wish *wish = adl_inbox_take(f->desk.inbox), *next; wish; wish = next) {
            next = wish->next;
            adl_desk_lock(&f->desk);
            wish->status = routes_carry_out(f, wish);
            adl_desk_unlock(&f->desk);
            wish->answer(wish);
        }
    }
    return NULL;
}

/* ---- the desk ---- */

static inline void routes_make_inventory(struct adl_inventory *inventory)
{
    static const struct adl_gpu_type types[] = {
        {.name = "v100", .memory_mib = 16384, .bandwidth_gbs = 900, .fp32_tflops = 14, .max_w = 300},
        {.name = "a100", .memory_mib = 40960, .bandwidth_gbs = 1500, .fp32_tflops = 19, .max_w = 400}};
    static const struct adl_node node = {.name = "box", .cpu_cores = 8, .memory_mib = 64000, .link_gbs = 10};
    static const struct adl_bank_spec banks[] = {{0, 2}, {1, 1}};
    struct adl_cluster *cluster = &inventory->scenario.cluster;
    struct adl_error err;
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_cluster_add_type(cluster, &types[i], &err), ADL_OK);
    assert_int_equal(adl_cluster_add_node(cluster, &node, banks, 2, &err), ADL_OK);
    inventory->scenario.classes = calloc(2, sizeof *inventory->scenario.classes);
    inventory->gpus = calloc(cluster->gpu_count, sizeof *inventory->gpus);
    assert_non_null(inventory->scenario.classes);
    assert_non_null(inventory->gpus);
    inventory->scenario.class_count = 2; /* the first is that of jobs that do not say one */
    snprintf(inventory->scenario.classes[0].name, ADL_NAME_SIZE, "job");
    snprintf(inventory->scenario.classes[1].name, ADL_NAME_SIZE, "resnet50-b64");
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const char *type = cluster->types[adl_gpu_type_of(cluster, g)].name;
        snprintf(inventory->gpus[g].id, sizeof inventory->gpus[g].id, "GPU-%u", g);
        snprintf(inventory->gpus[g].model, sizeof inventory->gpus[g].model, "virtual %s", type);
        inventory->gpus[g].index = g;
    }
    inventory->virtual = true;
}

static inline struct adl_store_job routes_store_job(uint64_t id)
{
    static const char *const argv[] = {"python", "train.py", "a b", NULL};
    static const char *const environment[] = {"SECRET=hunter2", NULL};
    static const struct adl_store_dependency after_one[] = {{.job = 1, .after = ADL_AFTER_OK}};
    return (struct adl_store_job){
        .spec = {.id = id,
                 .class_index = id == 1,
                 .gpus = id == 2 ? 2 : 1,
                 .types = 3,
                 .cpu_cores = 1,
                 .limit_us = 3600000000,
                 .priority = 0.5f},
        .uid = geteuid(),
        .user = fixture_user(),
        .name = "train",
        .request = id == 2 ? "v100:2" : "1",
        .argv = argv,
        .script = id == 6 ? "#!/bin/sh\necho hunter2\n" : "",
        .directory = "/home/ann",
        .environment = environment,
        .stdout_path = "adlro-%j.out",
        .stderr_path = "adlro-%j.out",
        .dependencies = id == 3 ? after_one : NULL,
        .dependency_count = id == 3 ? 1 : 0,
        .array_index = id == 4 ? 7 : -1,
        .submit_us = ROUTES_NOW_US - 100000000,
        .status = {.state = ADL_STORE_PENDING, .priority = 0.7f, .reason = "", .hold = id == 4}};
}

/* Jobs 1..4 live, 5 completed on a GPU that is still there, 6 was killed on one that is not. */
static inline void routes_make_jobs(struct routes_fixture *f)
{
    static const char *const there[] = {"GPU-2", NULL}, *const gone[] = {"GPU-gone", NULL};
    struct adl_error err = {{0}};
    for (uint64_t id = 1; id <= 6; id++) {
        struct adl_store_job job = routes_store_job(id);
        const struct adl_store_event event = {
            .time_us = ROUTES_NOW_US, .kind = "submit", .job = id, .payload = "{\"user\":\"ann\"}"};
        uint64_t given = 0;
        if (id == 5)
            job.status = (struct adl_store_status){.state = ADL_STORE_COMPLETED,
                                                   .reason = "",
                                                   .start_us = ROUTES_NOW_US - 50000000,
                                                   .end_us = ROUTES_NOW_US - 20000000,
                                                   .attempts = 1,
                                                   .gpus = there,
                                                   .energy_j = 1234.5};
        if (id == 6)
            job.status = (struct adl_store_status){.state = ADL_STORE_FAILED,
                                                   .reason = "signal 9",
                                                   .start_us = ROUTES_NOW_US - 40000000,
                                                   .end_us = ROUTES_NOW_US - 30000000,
                                                   .signal = 9,
                                                   .attempts = 2,
                                                   .gpus = gone};
        assert_int_equal(adl_store_job_add(f->store, &job, &given, &err), ADL_OK);
        assert_int_equal(given, id);
        assert_int_equal(adl_store_event_append(f->store, &event, NULL, &err), ADL_OK);
        if (id <= ROUTES_JOBS)
            assert_non_null(adl_roster_add(&f->desk.roster, &job));
    }
}

/* The engine starts job 1 and lets job 2 wait. */
static inline void routes_make_engine(struct routes_fixture *f)
{
    const struct adl_engine_config config = {.cluster = &f->inventory.scenario.cluster,
                                             .policy = adl_policy_find("easy"),
                                             .policy_config = {.backfill_depth = 1},
                                             .world_ops = &toy_world_ops,
                                             .world = f->world};
    struct adl_error err = {{0}};
    struct adl_roster *roster = &f->desk.roster;
    toy_add(f->world, 10, 1, 1000)->spec.types = 1;
    toy_add(f->world, 10, 2, 1000)->spec.types = 1;
    f->world->cluster = &f->inventory.scenario.cluster;
    toy_rewind(f->world);
    assert_int_equal(adl_engine_create(&config, &f->desk.engine, &err), ADL_OK);
    assert_int_equal(adl_engine_step(f->desk.engine, &err), 1);
    assert_int_equal(adl_engine_state(f->desk.engine)->running_jobs, 1);
    struct adl_roster_job *runs = adl_roster_find(roster, 1), *waits = adl_roster_find(roster, 2);
    for (struct adl_roster_job *job = roster->first; job; job = job->next) {
        job->alternatives[0] = (struct adl_alternative){job->spec.gpus, 1, ADL_NONE};
        job->alternative_count = 1;
    }
    runs->gpus = calloc(1, sizeof *runs->gpus);
    assert_non_null(runs->gpus);
    runs->gpus[0] = adl_engine_state(f->desk.engine)->jobs[0].first_gpu;
    runs->start_us = ROUTES_NOW_US - 2500000;
    runs->attempts = 1;
    adl_roster_set_stage(roster, runs, ADL_STAGE_RUNNING);
    adl_roster_set_stage(roster, waits, ADL_STAGE_QUEUED);
    adl_roster_set_stage(roster, adl_roster_find(roster, 3), ADL_STAGE_DEPENDENT);
    waits->eligible_us = ROUTES_NOW_US - 90000000;
    assert_int_equal(adl_roster_set_slot(roster, runs, 0, 0), 0);
    assert_int_equal(adl_roster_set_slot(roster, waits, 0, 1), 0);
}

static inline void routes_make_desk(struct routes_fixture *f)
{
    struct adl_desk *desk = &f->desk;
    struct adl_error err = {{0}};
    pthread_mutex_init(&desk->lock, NULL);
    pthread_mutex_init(&desk->turn, NULL);
    desk->inventory = &f->inventory;
    assert_int_equal(adl_roster_create(&desk->roster), 0);
    assert_int_equal(adl_inbox_create(ROUTES_INBOX, &desk->inbox, &err), ADL_OK);
    desk->gpus = calloc(f->inventory.scenario.cluster.gpu_count, sizeof *desk->gpus);
    desk->points = calloc(ADL_POINTS_MAX, sizeof *desk->points);
    desk->decisions = calloc(ADL_DECISIONS_MAX, sizeof *desk->decisions);
    assert_true(desk->gpus && desk->points && desk->decisions);
    desk->gpus[0].last = (struct adl_telemetry){.missing = ~(1u << ADL_READ_UTILIZATION | 1u << ADL_READ_POWER)};
    desk->gpus[0].last.value[ADL_READ_UTILIZATION] = 0.75f;
    desk->gpus[0].last.value[ADL_READ_POWER] = 200;
    desk->gpus[0].last_us = ROUTES_NOW_US - 1000000;
    desk->gpus[0].memory_used_mib = 1000;
    desk->gpus[0].energy_j = 5000;
    desk->gpus[2].memory_used_mib = -1;
    desk->policy = adl_policy_find("easy");
    desk->engine_name = "local";
    desk->speed = 1;
    desk->started_us = ROUTES_NOW_US - 3600000000;
    desk->now_us = routes_now;
    snprintf(desk->version, sizeof desk->version, "0.1.0");
    desk->events = f->http->events;
    desk->state_directory = f->place.path;
    desk->counts =
        (struct adl_desk_counts){.submitted = 6, .started = 3, .completed = 1, .failed = 1, .energy_j = 5000};
    f->world = calloc(1, sizeof *f->world);
    assert_non_null(f->world);
}

/* Two tokens: of whoever runs the test, and of nobody. */
static inline void routes_make_tokens(struct routes_fixture *f)
{
    char lines[2 * (ADL_TOKEN_LINE_SIZE + 1)], line[ADL_TOKEN_LINE_SIZE];
    struct adl_error err = {{0}};
    assert_int_equal(adl_token_create(fixture_user(), 0, f->http->token, line, &err), ADL_OK);
    snprintf(lines, sizeof lines, "%s\n", line);
    assert_int_equal(adl_token_create("nobody", 0, f->stranger, line, &err), ADL_OK);
    strcat(strcat(lines, line), "\n");
    fixture_write(f->http->tokens, lines, 0600);
    assert_int_equal(adl_auth_reload(f->http->auth, &err), ADL_OK);
}

/* serve: somebody takes wishes out of the inbox */
static inline struct routes_fixture *routes_open(bool serve)
{
    struct routes_fixture *f = calloc(1, sizeof *f);
    struct adl_error err = {{0}};
    assert_non_null(f);
    f->place = place_make_fast();
    f->store = store_open(&f->place);
    f->http = fixture_create();
    routes_make_inventory(&f->inventory);
    routes_make_desk(f);
    routes_make_jobs(f);
    routes_make_engine(f);
    routes_make_tokens(f);
    f->context.desk = &f->desk;
    struct adl_http_config config = fixture_config(f->http);
    config.routes = adl_routes(&config.route_count);
    config.context = &f->context;
    if (adl_http_open(&config, &f->http->http, &err) < 0)
        fail_msg("%s", err.text);
    atomic_store(&f->context.http, f->http->http);
    f->running = serve;
    if (serve)
        assert_int_equal(pthread_create(&f->thread, NULL, routes_serve, f), 0);
    return f;
}

static inline void routes_close(struct routes_fixture *f)
{
    atomic_store(&f->stop, true);
    if (f->running)
        pthread_join(f->thread, NULL);
    fixture_close(f->http);
    adl_inbox_destroy(f->desk.inbox);
    adl_routes_clear(&f->context);
    adl_roster_clear(&f->desk.roster);
    adl_engine_destroy(f->desk.engine);
    pthread_mutex_destroy(&f->desk.lock);
    pthread_mutex_destroy(&f->desk.turn);
    free(f->desk.gpus);
    free(f->desk.points);
    free(f->desk.decisions);
    free(f->world);
    free(f->inventory.gpus);
    adl_scenario_clear(&f->inventory.scenario);
    adl_store_close(f->store);
    place_remove(&f->place);
    free(f);
}

/* ---- the client ---- */

/* The status; the body, of which there is always one, is the caller's to clear. token NULL: by the Unix socket; "": by
 * TCP without any. */
static inline int routes_ask_as(const struct routes_fixture *f, const char *token, const char *method, const char *path,
                                const char *body, struct adl_text *ret_body)
{
    char request[1024];
    struct adl_text answer = {0}, empty = {0};
    snprintf(request, sizeof request, "%s %s HTTP/1.1%s%s%s", method, path,
             body ? "\r\nContent-Type: application/json" : "", token && token[0] ? "\r\nAuthorization: Bearer " : "",
             token ? token : "");
    const int status =
        fixture_ask(token ? fixture_connect_tcp(f->http) : fixture_connect_unix(f->http), request, body, &answer);
    const char *end = strstr(answer.data, "\r\n\r\n");
    adl_text_put(&empty, end ? end + 4 : "");
    adl_text_clear(&answer);
    if (ret_body)
        *ret_body = empty;
    else
        adl_text_clear(&empty);
    return status;
}

static inline int routes_ask(const struct routes_fixture *f, const char *method, const char *path, const char *body,
                             struct adl_text *ret_body)
{
    return routes_ask_as(f, NULL, method, path, body, ret_body);
}

/* The answer as JSON, which has to come with this status. */
static inline cJSON *routes_json(const struct routes_fixture *f, const char *method, const char *path, const char *body,
                                 int status)
{
    struct adl_text text;
    const int got = routes_ask(f, method, path, body, &text);
    if (got != status)
        fail_msg("%s %s: %d instead of %d: %s", method, path, got, status, text.data);
    cJSON *json = cJSON_Parse(text.data);
    if (!json)
        fail_msg("%s %s: not JSON: %s", method, path, text.data);
    adl_text_clear(&text);
    return json;
}

static inline const cJSON *routes_member(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!member)
        fail_msg("there is no %s", name);
    return member;
}

static inline const char *routes_string(const cJSON *object, const char *name)
{
    const cJSON *member = routes_member(object, name);
    if (!cJSON_IsString(member))
        fail_msg("%s is no string", name);
    return member->valuestring;
}

static inline double routes_number(const cJSON *object, const char *name)
{
    const cJSON *member = routes_member(object, name);
    if (!cJSON_IsNumber(member))
        fail_msg("%s is no number", name);
    return member->valuedouble;
}

#endif
