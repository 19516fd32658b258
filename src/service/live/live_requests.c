/* live_requests: requests of clients: checked and written, then applied. */
#include "jobs/warn_signal.h"
#include "service/live/live_internal.h"
#include "service/privacy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool adl_live_request_waits(const struct adl_live *live, const struct adl_request *request)
{
    const struct adl_job_entry *job =
        request->job > 0 ? adl_job_table_find(&live->shared->job_table, request->job) : NULL;
    return job ? job->group == live->group : request->job > 0 && live->rerun_group == live->group;
}

static int refuse(struct adl_request *request, int status, const char *fmt, unsigned long long number)
{
    char text[200];
    snprintf(text, sizeof text, fmt, number); // NOLINT(clang-diagnostic-format-nonliteral)
    return adl_fail(&request->err, status, "%s", text);
}

#define PURGED " ended so long ago that it was deleted (jobs.retention_days in the service's configuration)"

/* ---- submissions ---- */

/* Sets the class, and kind and memory of the class. */
static int read_class(const struct adl_live *live, struct adl_request *request)
{
    const struct adl_scenario *scenario = &live->shared->inventory->scenario;
    struct adl_submission *submission = request->submission;
    submission->job.spec.class_index = 0;
    if (!submission->class_name || submission->class_name[0] == '\0')
        return 0;
    for (uint32_t i = 0; i < scenario->class_count; i++)
        if (strcmp(scenario->classes[i].name, submission->class_name) == 0) {
            submission->job.spec.class_index = (uint16_t)i;
            submission->job.spec.kind = scenario->classes[i].kind;
            if (submission->job.spec.gpu_memory_mib == 0)
                submission->job.spec.gpu_memory_mib = scenario->classes[i].gpu_memory_mib;
            return 0;
        }
    return adl_fail(&request->err, ADL_EINVAL, "class: there is no job class '%.60s' in the catalogue",
                    submission->class_name);
}

static int see_uid(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    (void)err;
    *(uint32_t *)context = row->uid;
    return 0;
}

static int check_dependencies(struct adl_live *live, struct adl_request *request)
{
    const struct adl_store_job *job = &request->submission->job;
    for (uint32_t i = 0; i < job->dependency_count; i++) {
        const uint64_t on = job->dependencies[i].job;
        const struct adl_job_entry *other = on > 0 ? adl_job_table_find(&live->shared->job_table, on) : NULL;
        uint32_t uid = other ? other->uid : 0;
        const bool there = on == 0 || other || adl_store_job_read(live->config.store, on, see_uid, &uid, NULL) == 1;
        if (on > 0 && adl_privacy_hides(live->shared, &request->caller) &&
            !(there && uid == request->caller.account.uid))
            return refuse(request, ADL_EINVAL, "after: there is no job %llu", on);
        if (!there)
            return on > 0 && on <= adl_store_job_last(live->config.store)
                       ? refuse(request, ADL_EINVAL, "after: job %llu" PURGED "; leave it out if it completed", on)
                       : refuse(request, ADL_EINVAL, "after: there is no job %llu", on);
    }
    return 0;
}

/* Whether it could ever run on this cluster. The request is read into a copy. */
static int check_demand(struct adl_live *live, struct adl_request *request)
{
    struct adl_job_entry trial = {.spec = request->submission->job.spec, .request = request->submission->job.request};
    const int status = adl_live_request(live, &trial, &request->err);
    if (status == 0)
        request->submission->job.spec = trial.spec;
    return status;
}

static int check_warning(struct adl_request *request)
{
    const struct adl_store_job *job = &request->submission->job;
    struct adl_warn_signal warn;
    if (!job->warn_signal || job->warn_signal[0] == '\0')
        return 0;
    const int status = adl_warn_signal_read(job->warn_signal, "warn_signal", &warn, &request->err);
    if (status == 0 && warn.before_us >= job->spec.limit_us)
        return adl_fail(&request->err, ADL_EINVAL,
                        "warn_signal: %lld s before its time limit of %lld s would be before it starts",
                        (long long)(warn.before_us / 1000000), (long long)(job->spec.limit_us / 1000000));
    return status;
}

int adl_live_user_check(const struct adl_live *live, uint32_t uid, struct adl_error *err)
{
    if (!live->config.any_user && uid != geteuid())
        return adl_fail(
            err, ADL_EDENIED,
            "this service runs as uid %u and can run jobs of that user only; one for all users runs as root",
            (unsigned)geteuid());
    if (uid == 0 && !live->config.root_jobs)
        return adl_fail(err, ADL_EDENIED,
                        "jobs of root are not allowed here (jobs.root in the service's configuration)");
    return 0;
}

static int check_submission(struct adl_live *live, struct adl_request *request)
{
    struct adl_submission *submission = request->submission;
    if (live->config.no_submission)
        return adl_fail(&request->err, ADL_EREFUSED, "jobs come from the cluster underneath: submit it there (sbatch)");
    int status = adl_live_user_check(live, submission->job.uid, &request->err);
    if (status)
        return status;
    if (!request->caller.admin && submission->job.spec.priority > live->config.priority_max)
        return adl_fail(&request->err, ADL_EDENIED,
                        "priority: users may ask for at most %g here (jobs.priority_max in the service's "
                        "configuration); an administrator can raise it afterwards",
                        (double)live->config.priority_max);
    if (submission->job.spec.limit_us <= 0)
        submission->job.spec.limit_us = live->config.time_limit_us;
    status = check_warning(request);
    if (status == 0)
        status = read_class(live, request);
    if (status == 0)
        status = check_demand(live, request);
    if (status == 0)
        status = check_dependencies(live, request);
    return status ? status : adl_live_quota_check(live, request, &request->err);
}

static int log_submission(struct adl_live *live, const struct adl_store_job *job, uint64_t id, struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "user", job->user);
    adl_json_put_string(&json, "name", job->name);
    adl_json_put_string(&json, "request", job->request);
    adl_json_end(&json);
    return adl_live_log(live, "submit", id, &text, err);
}

static int prepare_submit(struct adl_live *live, struct adl_request *request)
{
    struct adl_submission *submission = request->submission;
    int status = check_submission(live, request);
    request->job_count = submission->array ? submission->array_count : 1;
    if (status || request->dry_run)
        return status;
    if (live->disk_full)
        return adl_fail(&request->err, ADL_EFULL, ADL_LIVE_DISK_FULL);
    submission->job.submit_us = live->now_us;
    submission->job.status.priority = submission->job.spec.priority;
    submission->job.status.hold = submission->hold ? ADL_HOLD_USER : ADL_HOLD_NONE;
    for (uint32_t i = 0; status == 0 && i < request->job_count; i++) {
        uint64_t id = 0;
        submission->job.array_index = submission->array ? submission->array[i] : -1;
        submission->job.array_id = submission->job.payload = i > 0 ? request->first_job : 0;
        status = adl_store_job_add(live->config.store, &submission->job, &id, &request->err);
        if (status == 0)
            status = log_submission(live, &submission->job, id, &request->err);
        if (i == 0)
            request->first_job = id;
    }
    return status ? status : adl_live_quota_room(live, submission->job.uid, &request->err);
}

static void expand_paths(struct adl_live *live, const struct adl_store_job *from, struct adl_job_entry *job)
{
    const char *node = live->shared->inventory->scenario.cluster.nodes[0].name;
    char *out = adl_path_expand(from->stdout_path, from, job->id, node);
    const bool same = from->stdout_path && from->stderr_path && strcmp(from->stdout_path, from->stderr_path) == 0;
    char *err = same ? NULL : adl_path_expand(from->stderr_path, from, job->id, node);
    if (out) {
        free((void *)job->stdout_path);
        job->stdout_path = out;
    }
    if (out && same) {
        free((void *)job->stderr_path);
        job->stderr_path = out;
    }
    if (err) {
        free((void *)job->stderr_path);
        job->stderr_path = err;
    }
}

struct adl_job_entry *adl_live_admit(struct adl_live *live, const struct adl_store_job *row, struct adl_error *err)
{
    struct adl_job_entry *job = adl_job_table_add(&live->shared->job_table, row);
    if (!job) {
        adl_fail(err, ADL_ENOMEM, "out of memory for job %llu", (unsigned long long)row->spec.id);
        return NULL;
    }
    expand_paths(live, row, job);
    if (job->external > 0 && live->config.executor.ops->introduce)
        live->config.executor.ops->introduce(live->config.executor.self, job);
    if (adl_live_request(live, job, err)) {
        /* The GPUs have changed since it was submitted. */
        char reason[240];
        snprintf(reason, sizeof reason, "GPUs: %.200s", err->text);
        if (job->hold == ADL_HOLD_NONE)
            job->hold = ADL_HOLD_USER;
        job->alternatives[0] = (struct adl_alternative){row->spec.gpus, row->spec.types, ADL_NONE};
        job->alternative_count = 1;
        if (row->status.state == ADL_STORE_PENDING)
            adl_job_table_set_reason(job, reason);
    }
    return job;
}

static void apply_submit(struct adl_live *live, struct adl_request *request)
{
    struct adl_submission *submission = request->submission;
    for (uint32_t i = 0; i < request->job_count; i++) {
        struct adl_error err;
        submission->job.spec.id = request->first_job + i;
        submission->job.array_index = submission->array ? submission->array[i] : -1;
        submission->job.array_id = submission->array ? request->first_job : 0;
        submission->job.payload = request->first_job;
        struct adl_job_entry *job = adl_live_admit(live, &submission->job, &err);
        if (!job || adl_live_place(live, job))
            continue; /* out of memory; it is in the store, and a restart finds it */
        live->shared->counts.submitted++;
        adl_live_publish_job(live, job, NULL);
    }
}

/* ---- requests about a job ---- */

static int refuse_job(struct adl_request *request, int status, const struct adl_job_entry *job, const char *why)
{
    char label[ADL_LABEL_SIZE];
    return adl_fail(&request->err, status, "job %s %s", adl_label_of_live(job, label), why);
}

static int see_label(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    (void)err;
    adl_label_of_stored(row, context);
    return 0;
}

/* It has ended, or never existed. */
int adl_live_refuse_absent(struct adl_live *live, struct adl_request *request)
{
    char label[ADL_LABEL_SIZE] = "";
    if (adl_store_job_read(live->config.store, request->job, see_label, label, NULL) != 1)
        return request->job > 0 && request->job <= adl_store_job_last(live->config.store)
                   ? refuse(request, ADL_EABSENT, "job %llu" PURGED, request->job)
                   : refuse(request, ADL_EABSENT, "there is no job %llu", request->job);
    return adl_fail(&request->err, ADL_EREFUSED, "job %s has ended", label);
}

static struct adl_job_entry *find_job(struct adl_live *live, struct adl_request *request, int *ret_status)
{
    struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, request->job);
    if (!job) {
        *ret_status = adl_live_refuse_absent(live, request);
    } else if (!request->caller.admin && job->uid != request->caller.account.uid) {
        *ret_status = refuse_job(request, ADL_EDENIED, job, "is another user's");
        return NULL;
    }
    return job;
}

int adl_live_log_request(struct adl_live *live, const struct adl_request *request, const char *kind,
                         struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "by", request->caller.account.name[0] != '\0' ? request->caller.account.name : "adlro");
    if (request->text[0] != '\0') {
        adl_json_put_string(&json, "why", request->text);
    }
    if (request->kind == ADL_REQUEST_PRIORITY) {
        adl_json_put_real(&json, "priority",
                          round((double)request->priority * 1e6) / 1e6); /* a float has no more digits */
    }
    if (request->kind == ADL_REQUEST_DRAIN || request->kind == ADL_REQUEST_RESUME) {
        adl_json_key(&json, "gpu");
        if (request->gpu == ADL_NONE)
            adl_json_string(&json, request->node);
        else
            adl_json_uint(&json, request->gpu);
    }
    adl_json_end(&json);
    return adl_live_log(live, kind, request->job, &text, err);
}

/* Who requests it, or why. */
static void phrase(const struct adl_request *request, const char *verb, char *ret, size_t size)
{
    const char *by = request->caller.account.name[0] != '\0' ? request->caller.account.name : "adlro";
    if (request->text[0] != '\0')
        snprintf(ret, size, "%s", request->text);
    else
        snprintf(ret, size, "%sby %s", verb, by);
}

static int prepare_cancel(struct adl_live *live, struct adl_request *request, struct adl_job_entry *job)
{
    char why[200], reason[240];
    struct adl_store_status status = adl_live_status(live, job);
    phrase(request, "", why, sizeof why);
    snprintf(reason, sizeof reason, ADL_REASON_CANCEL "%s", why);
    status.reason = reason;
    if (adl_stage_next(job->stage, ADL_ON_CANCEL) == ADL_STAGE_ENDED) {
        status.state = ADL_STORE_CANCELLED;
        status.end_us = live->now_us;
    }
    const int result = adl_store_job_update(live->config.store, job->id, &status, &request->err);
    return result ? result : adl_live_log_request(live, request, "cancel", &request->err);
}

/* Stops a job that holds GPUs. */
static void stop(struct adl_live *live, struct adl_job_entry *job, int event, const char *why)
{
    if (adl_live_transition(live, job, event))
        return;
    adl_live_say_stop(job, why);
    adl_live_execute(live, job, adl_stages[job->stage].order, job->alternatives[job->taken].slot, why, NULL);
    adl_live_publish_job(live, job, NULL);
}

static void apply_cancel(struct adl_live *live, struct adl_request *request, struct adl_job_entry *job)
{
    char why[200], reason[240];
    phrase(request, "", why, sizeof why);
    if (adl_stage_next(job->stage, ADL_ON_CANCEL) != ADL_STAGE_ENDED) {
        stop(live, job, ADL_ON_CANCEL, why);
        return;
    }
    snprintf(reason, sizeof reason, ADL_REASON_CANCEL "%s", why);
    adl_job_table_set_reason(job, reason);
    if (job->external > 0 && live->config.executor.ops->drop)
        live->config.executor.ops->drop(live->config.executor.self, job, why);
    adl_live_depart(live, job, ADL_ON_CANCEL, ADL_END_CANCELLED);
}

/* The hold that a job has after the request. A user's hold does not weaken an administrator's. */
static uint8_t next_hold(const struct adl_request *request, const struct adl_job_entry *job)
{
    if (request->kind != ADL_REQUEST_HOLD)
        return ADL_HOLD_NONE;
    const bool admin = request->caller.admin && request->caller.account.uid != job->uid;
    return admin || job->hold == ADL_HOLD_ADMIN ? ADL_HOLD_ADMIN : ADL_HOLD_USER;
}

static int prepare_hold(struct adl_live *live, struct adl_request *request, const struct adl_job_entry *job)
{
    struct adl_store_status status = adl_live_status(live, job);
    const bool hold = request->kind == ADL_REQUEST_HOLD;
    if (adl_stage_next(job->stage, ADL_ON_HOLD) < 0)
        return refuse_job(request, ADL_EREFUSED, job, adl_stage_refusal(job->stage, ADL_ON_HOLD));
    if (!hold && !job->hold)
        return refuse_job(request, ADL_EREFUSED, job, "is not held");
    if (!hold && job->hold == ADL_HOLD_ADMIN && !request->caller.admin)
        return refuse_job(request, ADL_EDENIED, job, "is held by an administrator, who alone can release it");
    if (!hold) { /* GPUs may have changed since it was submitted */
        struct adl_job_entry trial = *job;
        const int fits = adl_live_request(live, &trial, &request->err);
        if (fits)
            return fits == ADL_EINVAL ? ADL_EREFUSED : fits;
    }
    status.hold = next_hold(request, job);
    status.reason = "";
    const int result = adl_store_job_update(live->config.store, job->id, &status, &request->err);
    return result ? result : adl_live_log_request(live, request, hold ? "hold" : "release", &request->err);
}

static void apply_hold(struct adl_live *live, struct adl_request *request, struct adl_job_entry *job)
{
    char why[200], reason[240];
    const bool kept = job->hold == ADL_HOLD_ADMIN && !request->caller.admin; /* with its reason */
    job->hold = next_hold(request, job);
    if (job->hold) {
        phrase(request, "", why, sizeof why);
        snprintf(reason, sizeof reason, "%s: %s", adl_live_held(job->hold), why);
        if (!kept)
            adl_job_table_set_reason(job, reason);
    } else {
        adl_job_table_set_reason(job, "");
        job->eligible_us = 0;
        adl_live_request(live, job, NULL);
    }
    adl_live_place(live, job);
    adl_live_publish_job(live, job, NULL);
}

static int prepare_requeue(struct adl_live *live, struct adl_request *request, const struct adl_job_entry *job)
{
    char why[200], reason[240];
    struct adl_store_status status = adl_live_status(live, job);
    if (adl_stage_next(job->stage, ADL_ON_REQUEUE) < 0)
        return refuse_job(request, ADL_EREFUSED, job, adl_stage_refusal(job->stage, ADL_ON_REQUEUE));
    phrase(request, "", why, sizeof why);
    snprintf(reason, sizeof reason, ADL_REASON_REQUEUE "%s", why);
    status.reason = reason;
    const int result = adl_store_job_update(live->config.store, job->id, &status, &request->err);
    return result ? result : adl_live_log_request(live, request, "requeue", &request->err);
}

static void apply_requeue(struct adl_live *live, struct adl_request *request, struct adl_job_entry *job)
{
    char why[200];
    phrase(request, "", why, sizeof why);
    stop(live, job, ADL_ON_REQUEUE, why);
}

static int prepare_priority(struct adl_live *live, struct adl_request *request, const struct adl_job_entry *job)
{
    struct adl_store_status status = adl_live_status(live, job);
    if (!(request->priority >= 0 && request->priority <= 1))
        return refuse_job(request, ADL_EINVAL, job, "takes a priority between 0 and 1");
    if (request->priority > job->priority && !request->caller.admin) {
        char why[120];
        snprintf(why, sizeof why, "has priority %g: users may lower it, only administrators raise it",
                 (double)job->priority);
        return refuse_job(request, ADL_EDENIED, job, why);
    }
    status.priority = request->priority;
    const int result = adl_store_job_update(live->config.store, job->id, &status, &request->err);
    return result ? result : adl_live_log_request(live, request, "priority", &request->err);
}

static void apply_priority(struct adl_live *live, const struct adl_request *request, struct adl_job_entry *job)
{
    job->priority = request->priority;
    job->spec.priority = request->priority;
    if (job->stage == ADL_STAGE_QUEUED) { /* it joins the queue again, with the same age */
        adl_live_withdraw(live, job);
        adl_live_transition(live, job, ADL_ON_ENQUEUE);
    }
    adl_live_publish_job(live, job, NULL);
}

/* ---- dispatch ---- */

static int prepare_job_request(struct adl_live *live, struct adl_request *request)
{
    int status = 0;
    if (request->kind == ADL_REQUEST_REQUEUE && !adl_job_table_find(&live->shared->job_table, request->job))
        return adl_live_rerun_prepare(live, request); /* it has ended */
    struct adl_job_entry *job = find_job(live, request, &status);
    if (!job)
        return status;
    if (request->kind == ADL_REQUEST_PROGRESS)
        return adl_live_progress_prepare(live, request, job);
    if (request->kind != ADL_REQUEST_CANCEL && job->changes >= ADL_LIVE_CHANGES_MAX)
        return refuse_job(request, ADL_EREFUSED, job, "was changed a thousand times already: it can only be cancelled");
    switch (request->kind) {
    case ADL_REQUEST_CANCEL:
        status = prepare_cancel(live, request, job);
        break;
    case ADL_REQUEST_HOLD:
    case ADL_REQUEST_RELEASE:
        status = prepare_hold(live, request, job);
        break;
    case ADL_REQUEST_REQUEUE:
        status = prepare_requeue(live, request, job);
        break;
    default:
        status = prepare_priority(live, request, job);
        break;
    }
    if (status == 0) {
        job->group = live->group;
        job->changes++;
    }
    return status;
}

int adl_live_request_prepare(struct adl_live *live, struct adl_request *request)
{
    switch (request->kind) {
    case ADL_REQUEST_SUBMIT:
        return prepare_submit(live, request);
    case ADL_REQUEST_DRAIN:
    case ADL_REQUEST_RESUME:
        return adl_live_drain_prepare(live, request);
    case ADL_REQUEST_RELOAD:
        return request->caller.admin ? 0
                                     : adl_fail(&request->err, ADL_EDENIED, "only administrators reload the service");
    case ADL_REQUEST_BELIEF_READ:
    case ADL_REQUEST_BELIEF_WRITE:
        return adl_live_belief_prepare(live, request);
    case ADL_REQUEST_SHADOW_START:
    case ADL_REQUEST_SHADOW_STOP:
    case ADL_REQUEST_PROMOTE:
        return adl_live_shadow_prepare(live, request);
    case ADL_REQUEST_POWER_LIMIT:
        return adl_live_power_prepare(live, request);
    default:
        return prepare_job_request(live, request);
    }
}

void adl_live_request_apply(struct adl_live *live, struct adl_request *request)
{
    struct adl_job_entry *job = request->job > 0 ? adl_job_table_find(&live->shared->job_table, request->job) : NULL;
    if (request->kind == ADL_REQUEST_REQUEUE && !job) {
        adl_live_rerun_apply(live, request);
        return;
    }
    if (request->kind >= ADL_REQUEST_CANCEL && request->kind <= ADL_REQUEST_PROGRESS && !job)
        return; /* impossible: no job leaves between prepare and apply */
    switch (request->kind) {
    case ADL_REQUEST_SUBMIT:
        apply_submit(live, request);
        break;
    case ADL_REQUEST_DRAIN:
    case ADL_REQUEST_RESUME:
        adl_live_drain_apply(live, request);
        break;
    case ADL_REQUEST_RELOAD:
        request->status = live->config.reload(live->config.context, request->text, sizeof request->text, &request->err);
        live->moving = request->status > 0;
        request->status = request->status > 0 ? 0 : request->status;
        break;
    case ADL_REQUEST_BELIEF_READ:
    case ADL_REQUEST_BELIEF_WRITE:
        adl_live_belief_apply(live, request);
        break;
    case ADL_REQUEST_SHADOW_START:
    case ADL_REQUEST_SHADOW_STOP:
    case ADL_REQUEST_PROMOTE:
        adl_live_shadow_apply(live, request);
        break;
    case ADL_REQUEST_POWER_LIMIT:
        adl_live_power_apply(live, request);
        break;
    case ADL_REQUEST_CANCEL:
        apply_cancel(live, request, job);
        break;
    case ADL_REQUEST_HOLD:
    case ADL_REQUEST_RELEASE:
        apply_hold(live, request, job);
        break;
    case ADL_REQUEST_REQUEUE:
        apply_requeue(live, request, job);
        break;
    case ADL_REQUEST_PRIORITY:
        apply_priority(live, request, job);
        break;
    case ADL_REQUEST_PROGRESS:
        adl_live_progress_apply(live, request, job);
        break;
    default:
        break;
    }
}
