#include "service/live/live_internal.h"
#include "service/privacy.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_US  INT64_C(1000000)
#define PRUNE_US  INT64_C(60000000)
#define PRUNE_MAX 5000 /* samples at once */
#define PURGE_MAX 50   /* ended jobs at once */
#define SAMPLES   20000000
#define WAIT_MS   1000 /* the longest wait: history is kept and an end is noticed without events too */

int adl_live_post(struct adl_live *live, const struct adl_live_item *item)
{
    if (live->outbox_first == live->outbox_count)
        live->outbox_first = live->outbox_count = 0;
    if (adl_grow((void **)&live->outbox, &live->outbox_capacity, live->outbox_count + 1, sizeof *live->outbox))
        return ADL_ENOMEM;
    struct adl_live_item *posted = &live->outbox[live->outbox_count++];
    *posted = *item;
    /* Times of jobs are wall time; the engine has steady time. Jobs that are posted together keep their order, because
     * both clocks are read once for all of them. */
    if (posted->event.kind == ADL_EVENT_SUBMIT && posted->event.submit.since_us > 0)
        posted->event.submit.since_us = adl_live_steady_us(live, posted->event.submit.since_us);
    return 0;
}

struct adl_store_status adl_live_status(struct adl_live *live, const struct adl_job_entry *job)
{
    const bool runs = adl_job_table_holds_gpus(job);
    uint32_t count = 0;
    for (; runs && job->gpus && count < job->spec.gpus; count++)
        live->names[count] = live->shared->inventory->gpus[job->gpus[count]].id;
    live->names[count] = NULL;
    return (struct adl_store_status){.state = runs ? ADL_STORE_RUNNING : ADL_STORE_PENDING,
                                     .hold = job->hold,
                                     .priority = job->priority,
                                     .reason = job->reason,
                                     .start_us = runs ? job->start_us : 0,
                                     .eligible_us = job->eligible_us,
                                     .ran_us = job->ran_us,
                                     .attempts = job->attempts,
                                     .gpus = live->names,
                                     .energy_j = job->energy_j,
                                     .requeue_us = job->requeue_us,
                                     .requeue_end = job->requeue_end,
                                     .idle_us = job->idle_us};
}

int adl_live_log(struct adl_live *live, const char *kind, uint64_t job, struct adl_text *payload, struct adl_error *err)
{
    int status = adl_text_status(payload) ? adl_fail(err, ADL_ENOMEM, "out of memory for an event") : 0;
    const struct adl_store_event event = {
        .time_us = live->now_us, .kind = kind, .job = job, .payload = payload->data ? payload->data : "{}"};
    if (status == 0)
        status = adl_store_event_append(live->config.store, &event, NULL, err);
    adl_text_clear(payload);
    return status;
}

/* Where listings are private, names of other jobs are removed from the text, for administrators too: they get the same
 * event as the job's user. Clears the text. */
void adl_live_publish_to(struct adl_live *live, uint32_t uid, const char *kind, struct adl_text *text)
{
    struct adl_text redacted = {0};
    if (live->shared->private_jobs && adl_text_status(text) == 0)
        adl_privacy_redact_text(&redacted, live->shared, uid, text->data);
    const struct adl_text *published = live->shared->private_jobs ? &redacted : text;
    if (adl_text_status(published) == 0 && published->data)
        adl_events_publish_to(live->shared->events, uid, kind, published->data, NULL);
    adl_text_clear(&redacted);
    adl_text_clear(text);
}

void adl_live_publish_job(struct adl_live *live, const struct adl_job_entry *job, const char *state)
{
    char label[ADL_LABEL_SIZE];
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_uint(&json, "id", adl_job_table_shown(job));
    adl_json_put_string(&json, "label", adl_label_of_live(job, label));
    adl_json_put_string(&json, "state", state ? state : adl_job_table_runs(job) ? "R" : "PD");
    adl_json_put_string(&json, "stage", adl_stages[job->stage].shown);
    adl_json_put_string(&json, "user", job->user);
    adl_json_put_string(&json, "name", job->name);
    adl_json_put_string(&json, "reason", job->reason);
    adl_json_end(&json);
    adl_live_publish_to(live, job->uid, "job", &text);
}

/* ---- groups: write, then act ---- */

static void set_trouble(struct adl_live *live, const char *text)
{
    struct adl_service_state *shared = live->shared;
    if (strcmp(shared->trouble, text) == 0)
        return;
    snprintf(shared->trouble, sizeof shared->trouble, "%s", text);
    adl_hooks_post(shared->hooks, &(struct adl_hook_note){.event = ADL_HOOK_ALERT,
                                                          .time_us = live->now_us,
                                                          .what = text[0] != '\0' ? "trouble" : "recovered",
                                                          .text = text[0] != '\0' ? text : "the state can be written"});
    struct adl_text payload = {0};
    struct adl_json json = adl_json_start(&payload, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "what", text[0] != '\0' ? "trouble" : "ok");
    adl_json_put_string(&json, "text", text);
    adl_json_end(&json);
    if (adl_text_status(&payload) == 0)
        adl_events_publish(shared->events, "service", payload.data, NULL, NULL);
    adl_text_clear(&payload);
}

/* Copies what the report points to. False: out of memory. */
static bool keep_report(struct adl_live_report *report)
{
    const struct adl_report *base = &report->base;
    const uint32_t gpus = base->kind == ADL_REPORT_CLUSTER_STARTED ? base->running.gpu_count : 0;
    switch (base->kind) {
    case ADL_REPORT_ARRIVED:
        report->arrival = *base->submit.arrival;
        report->spec = *base->submit.spec;
        return true;
    case ADL_REPORT_GENERATED:
        report->spec = *base->submit.spec;
        return true;
    case ADL_REPORT_CLUSTER_STARTED:
        report->gpus = malloc(gpus * sizeof *report->gpus);
        if (report->gpus)
            memcpy(report->gpus, base->running.gpus, gpus * sizeof *report->gpus);
        return report->gpus != NULL;
    default:
        return true;
    }
}

static void gather_reports(struct adl_live *live, struct adl_error *err)
{
    const struct adl_executor *executor = &live->config.executor;
    while (live->report_count < ADL_LIVE_REPORTS_MAX) {
        struct adl_live_report *report = &live->reports[live->report_count];
        *report = (struct adl_live_report){0};
        if (executor->ops->poll(executor->self, live->steady_us, &report->base, err) <= 0)
            return;
        if (!keep_report(report))
            return; /* the executor reports it again when it reconciles the whole cluster */
        live->report_count++;
    }
}

/* Readings are not retried. */
static void drop_readings(struct adl_live *live)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < live->report_count; i++) {
        const int kind = live->reports[i].base.kind;
        if (kind == ADL_REPORT_SAMPLE || kind == ADL_REPORT_METER || kind == ADL_REPORT_PROGRESS)
            continue;
        live->reports[kept++] = live->reports[i];
    }
    live->report_count = kept;
}

/* Requests up to the first that has to wait for another group; *ret_rest is what is left. A request that fails because
 * of the store or of memory may be half written: then nothing of the group is kept. */
static int prepare_requests(struct adl_live *live, int status, struct adl_request **ret_done,
                            struct adl_request **ret_rest, struct adl_error *err)
{
    struct adl_request *request = live->requests, **end = ret_done;
    *ret_done = NULL;
    for (; request && !adl_live_request_waits(live, request); request = request->next) {
        request->status = status ? 0 : adl_live_request_prepare(live, request);
        if (request->status == ADL_EIO || request->status == ADL_ENOMEM) {
            status = request->status;
            *err = request->err;
        }
        *end = request;
        end = &request->next;
    }
    *end = NULL;
    *ret_rest = request;
    return status;
}

/* The first event after a time in which nothing could be written says so. */
static int log_recovery(struct adl_live *live, struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "was", live->shared->trouble);
    adl_json_end(&json);
    return adl_live_log(live, "recovered", 0, &text, err);
}

/* Writes one group; 0 if it is in the store. */
static int write_group(struct adl_live *live, uint32_t *ret_reports, struct adl_request **ret_done,
                       struct adl_request **ret_rest, struct adl_error *err)
{
    int status = adl_store_begin(live->config.store, err);
    live->group++;
    *ret_reports = 0;
    while (status == 0 && *ret_reports < live->report_count &&
           !adl_live_report_waits(live, &live->reports[*ret_reports].base))
        status = adl_live_report_prepare(live, &live->reports[(*ret_reports)++], err);
    status = prepare_requests(live, status, ret_done, ret_rest, err);
    if (status == 0 && live->shared->trouble[0] != '\0' && !live->disk_full)
        status = log_recovery(live, err);
    if (status == 0)
        return adl_store_commit(live->config.store, err);
    adl_store_rollback(live->config.store);
    return status;
}

static void answer_all(struct adl_live *live, struct adl_request *done, int status, const struct adl_error *err)
{
    for (struct adl_request *request = done, *next; request; request = next) {
        next = request->next;
        if (status && request->status == 0) {
            request->status = ADL_EIO;
            request->err = *err;
        }
        if (request->status == 0 && !request->dry_run) {
            adl_service_state_lock(live->shared);
            adl_live_request_apply(live, request);
            adl_service_state_unlock(live->shared);
        }
        request->answer(request);
    }
}

/* Requests that were to be one group, and those behind them. */
static struct adl_request *join(struct adl_request *done, struct adl_request *rest)
{
    struct adl_request *first = done ? done : rest;
    while (done && done->next)
        done = done->next;
    if (done)
        done->next = rest;
    return first;
}

/* After a group with the first reports was written, or could not be. */
static void apply_reports(struct adl_live *live, int status, uint32_t written, const struct adl_error *err)
{
    const bool recovered = status == 0 && live->shared->trouble[0] != '\0' && !live->disk_full;
    set_trouble(live, status ? err->text : live->disk_full ? ADL_LIVE_DISK_FULL : "");
    if (status) {
        live->shared->counts.store_failures++;
        live->retry_us = live->steady_us + (int64_t)(RETRY_US * live->config.clock->speed);
        drop_readings(live);
        return;
    }
    live->retry_us = 0;
    for (uint32_t i = 0; i < written; i++)
        adl_live_report_apply(live, &live->reports[i]);
    if (live->sampled)
        adl_live_publish_samples(live);
    live->report_count -= written;
    memmove(live->reports, live->reports + written, live->report_count * sizeof *live->reports);
    if (recovered)
        adl_live_place_dependent(live);
}

/* Takes reports and requests, and writes and applies one group of them. The lock is held, and released while reading
 * and writing. False: there was nothing. */
static bool process_group(struct adl_live *live)
{
    struct adl_error err = {""};
    uint32_t written = 0;
    struct adl_request *done, *rest;
    adl_service_state_unlock(live->shared);
    if (live->retry_us == 0)
        gather_reports(live, &err);
    if (!live->requests)
        live->requests = adl_request_queue_take(live->shared->request_queue);
    const bool check = live->disk_full && live->steady_us >= live->space_us;
    /* An empty group shows whether the store can be written again. */
    const bool ask = check || (live->shared->trouble[0] != '\0' && live->retry_us == 0 && !live->disk_full);
    if (!live->requests && !ask && (live->report_count == 0 || live->retry_us > 0)) {
        adl_service_state_lock(live->shared);
        return false;
    }
    if (check)
        adl_live_space_check(live);
    int status = write_group(live, &written, &done, &rest, &err);
    while (status && adl_live_space_retry(live)) {
        live->requests = join(done, rest);
        status = write_group(live, &written, &done, &rest, &err);
    }
    adl_service_state_lock(live->shared);
    live->requests = rest;
    apply_reports(live, status, written, &err);
    adl_service_state_unlock(live->shared);
    answer_all(live, done, status, &err);
    adl_service_state_lock(live->shared);
    return true;
}

/* ---- the world ---- */

static void wait_for_event(struct adl_live *live)
{
    const struct adl_executor *executor = &live->config.executor;
    const struct adl_heap_item *wake = adl_heap_top(&live->wakes);
    int64_t until_us = live->retry_us > 0 ? live->retry_us : executor->ops->due_us(executor->self);
    const struct adl_heap_item *begin = adl_heap_top(&live->begins);
    const int64_t wall_us = begin && begin->time_us < live->point_us ? begin->time_us : live->point_us;
    const int64_t there_us = adl_live_steady_us(live, wall_us);
    if (there_us < until_us)
        until_us = there_us;
    const int64_t engine_us = live->pause_us > live->steady_us ? live->pause_us : wake ? wake->time_us : INT64_MAX;
    if (engine_us < until_us)
        until_us = engine_us;
    struct pollfd fds[2] = {{adl_request_queue_fd(live->shared->request_queue), POLLIN, 0},
                            {live->retry_us > 0 ? -1 : executor->ops->fd(executor->self), POLLIN, 0}};
    adl_service_state_unlock(live->shared);
    poll(fds, 2, adl_service_clock_wait_ms(live->config.clock, until_us, WAIT_MS));
    adl_service_state_lock(live->shared);
}

static void prune(struct adl_live *live)
{
    struct adl_store *store = live->config.store;
    if (live->steady_us < live->prune_us || live->retry_us > 0)
        return;
    adl_service_state_unlock(live->shared);
    const int pruned = adl_store_prune(store, live->now_us - live->config.retention_us, SAMPLES, PRUNE_MAX, NULL);
    const int purged = adl_store_purge(store, live->now_us - live->config.jobs_retention_us, PURGE_MAX, NULL);
    adl_service_state_lock(live->shared);
    if (pruned < PRUNE_MAX && purged < PURGE_MAX)
        live->prune_us = live->steady_us + (int64_t)(PRUNE_US * live->config.clock->speed);
}

/* Notices that the state folder was moved away, also while nothing is written. */
static void check_state_folder(struct adl_live *live)
{
    struct adl_error err = {""};
    if (live->steady_us < live->present_us || live->retry_us > 0 || live->shared->trouble[0] != '\0')
        return;
    live->present_us = live->steady_us + (int64_t)(RETRY_US * live->config.clock->speed);
    if (adl_store_present(live->config.store, &err) == 0)
        return;
    set_trouble(live, err.text);
    live->retry_us = live->present_us;
}

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct adl_live *live = self;
    for (;;) {
        adl_live_tick(live);
        if (live->steady_us >= live->retry_us)
            live->retry_us = 0;
        adl_live_count(live, live->now_us);
        adl_live_begin_due(live);
        /* After a decision that could not be written the engine gets no events for a while: it would decide the same.
         */
        const bool pause = live->steady_us < live->pause_us && !atomic_load(&live->ending) && !live->moving;
        if (live->outbox_first < live->outbox_count && !pause) {
            struct adl_live_item *item = &live->outbox[live->outbox_first++];
            *ret = item->event;
            ret->time_us = live->steady_us;
            ret->more = live->outbox_first < live->outbox_count || live->takeover_count > 0;
            if (ret->kind == ADL_EVENT_SUBMIT)
                ret->submit.spec = &item->spec;
            return 1;
        }
        if (live->takeover_count > 0 && !pause) {
            const int status = adl_live_take_over(live, err);
            *ret = (struct adl_event){
                .time_us = live->steady_us, .kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE};
            return status ? status : 1;
        }
        if (atomic_load(&live->ending) || live->moving)
            return 0;
        const struct adl_heap_item *wake = adl_heap_top(&live->wakes);
        if (wake && wake->time_us <= live->steady_us && !pause) {
            adl_heap_pop(&live->wakes);
            *ret = (struct adl_event){
                .time_us = live->steady_us, .kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE};
            return 1;
        }
        adl_snapshots_serve(live->shared->snapshots, live->shared->engine, live->steady_us,
                            live->shared->wall_ahead_us);
        adl_live_keep_point(live);
        adl_live_belief_save(live, false);
        adl_live_recent_save(live, false);
        adl_live_health_check(live);
        adl_live_idle_check(live);
        adl_live_power_check(live);
        adl_live_forecast_tell(live);
        adl_live_shadow_check(live);
        prune(live);
        check_state_folder(live);
        if (!process_group(live) && (live->outbox_first == live->outbox_count || pause))
            wait_for_event(live);
    }
}

/* ---- decisions that are complete ---- */

static struct adl_decision decision_of(const struct adl_live *live, const struct adl_live_act *act,
                                       const struct adl_job_entry *job)
{
    struct adl_decision decision = {.time_us = live->now_us, .job = adl_job_table_shown(job), .uid = job->uid};
    adl_label_of_live(job, decision.label);
    snprintf(decision.what, sizeof decision.what, "%s", act->start ? "start" : "preempt");
    snprintf(decision.why, sizeof decision.why, "%s", act->why);
    adl_live_name_gpus(live, job->gpus, job->spec.gpus, decision.gpus, sizeof decision.gpus);
    return decision;
}

static int write_acts(struct adl_live *live, struct adl_error *err)
{
    int status = adl_store_begin(live->config.store, err);
    live->group++;
    for (uint32_t i = 0; status == 0 && i < live->act_count; i++) {
        struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, live->acts[i].job);
        const struct adl_store_status now = adl_live_status(live, job);
        const struct adl_decision decision = decision_of(live, &live->acts[i], job);
        struct adl_text text = {0};
        struct adl_json json = adl_json_start(&text, false);
        adl_live_write_decision(live, &json, &decision, job);
        status = adl_store_job_update(live->config.store, job->id, &now, err);
        if (status == 0)
            status = adl_live_log(live, live->acts[i].start ? "start" : "preempt", job->id, &text, err);
        adl_text_clear(&text);
    }
    if (status == 0)
        return adl_store_commit(live->config.store, err);
    adl_store_rollback(live->config.store);
    return status;
}

/* Takes back decisions that could not be written. */
static void undo_acts(struct adl_live *live)
{
    for (uint32_t i = 0; i < live->act_count; i++) {
        struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, live->acts[i].job);
        if (!live->acts[i].start) { /* the engine waits for its end, so the executor is asked all the same */
            adl_live_execute(live, job, adl_stages[job->stage].order, live->acts[i].slot, live->acts[i].why, NULL);
            continue;
        }
        struct adl_live_item item = {.event = {.kind = ADL_EVENT_EVICT, .job = live->acts[i].slot}};
        item.event.evict.remaining = 1.0;
        item.event.evict.fault = true;
        adl_live_post(live, &item);
        adl_live_transition(live, job, ADL_ON_UNDO);
    }
}

static void record_decision(struct adl_live *live, const struct adl_live_act *act, const struct adl_job_entry *job)
{
    struct adl_service_state *shared = live->shared;
    const struct adl_decision decision = decision_of(live, act, job);
    shared->decisions[shared->decision_count % ADL_DECISIONS_MAX] = decision;
    shared->decisions[shared->decision_count % ADL_DECISIONS_MAX].sequence = shared->decision_count + 1;
    shared->decision_count++;
    adl_live_publish_decision(live, &decision);
    adl_live_publish_job(live, job, NULL);
}

/* A job that starts leaves the queue with its other alternatives. */
void adl_live_drop_alternatives(struct adl_live *live, struct adl_job_entry *job)
{
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        struct adl_alternative *other = &job->alternatives[i];
        if (i == job->taken || other->slot == ADL_NONE)
            continue;
        struct adl_live_item item = {.event = {.kind = ADL_EVENT_FINISH, .job = other->slot}};
        item.event.outcome.end = ADL_END_CANCELLED;
        adl_live_post(live, &item);
        live->config.executor.ops->withdraw(live->config.executor.self, other->slot);
        live->shared->job_table.slots[other->slot] = NULL;
        other->slot = ADL_NONE;
    }
}

static void carry_out(struct adl_live *live)
{
    for (uint32_t i = 0; i < live->act_count; i++) {
        const struct adl_live_act *act = &live->acts[i];
        struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, act->job);
        if (act->start)
            adl_live_drop_alternatives(live, job);
        adl_live_execute(live, job, act->start ? ADL_ORDER_START : adl_stages[job->stage].order, act->slot, act->why,
                         NULL);
        if (act->start) {
            adl_job_table_set_waited(job, NULL);
            live->shared->counts.started++;
            adl_live_started(live, job);
        }
        record_decision(live, act, job);
    }
}

static int on_decided(void *self, uint64_t hash, struct adl_error *err)
{
    (void)hash;
    (void)err;
    struct adl_live *live = self;
    struct adl_error trouble = {""};
    adl_live_waits_explain(live);
    if (live->act_count == 0 || live->adopting)
        return 0;
    adl_service_state_unlock(live->shared);
    const int status = live->disk_full ? adl_fail(&trouble, ADL_EFULL, ADL_LIVE_DISK_FULL) : write_acts(live, &trouble);
    adl_service_state_lock(live->shared);
    if (status) {
        set_trouble(live, trouble.text);
        live->shared->counts.store_failures++;
        undo_acts(live);
        /* Later: the same decision would fail the same way. Reports are still written if only starts have no room. */
        const int64_t again_us = live->steady_us + (int64_t)(RETRY_US * live->config.clock->speed);
        live->retry_us = live->disk_full ? live->retry_us : again_us;
        live->pause_us = again_us;
        adl_heap_push(&live->wakes, (struct adl_heap_item){again_us, 0});
        live->act_count = 0;
        return 0;
    }
    carry_out(live);
    live->act_count = 0;
    return 0;
}

const struct adl_world_ops adl_live_ops = {
    .name = "live", .next_event = next_event, .submit = adl_live_submit, .decided = on_decided};

void adl_live_end(struct adl_live *live)
{
    atomic_store(&live->ending, true);
    adl_request_queue_nudge(live->shared->request_queue);
}

bool adl_live_ending(const struct adl_live *live)
{
    return atomic_load(&live->ending);
}

void adl_live_destroy(struct adl_live *live)
{
    if (!live)
        return;
    for (struct adl_request *request = live->requests, *next; request; request = next) {
        next = request->next;
        request->status = adl_fail(&request->err, ADL_EREFUSED, "the service is ending");
        request->answer(request);
    }
    adl_heap_clear(&live->wakes);
    adl_heap_clear(&live->begins);
    free(live->outbox);
    free(live->acts);
    free(live->takeovers);
    free(live->claims);
    adl_plan_clear(&live->plan);
    for (uint32_t i = 0; i < live->report_count; i++)
        free(live->reports[i].gpus);
    free(live->names);
    free(live->down);
    free(live->health);
    free(live);
}
