/* live_reports: what the executor reports is written, then shown to the engine and to people. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether it changes what the store or the job table has of a job. */
static bool is_about_job(int kind)
{
    switch (kind) {
    case ADL_REPORT_ELIGIBLE:
    case ADL_REPORT_INELIGIBLE:
    case ADL_REPORT_START_PENDING:
    case ADL_REPORT_STARTED:
    case ADL_REPORT_CLUSTER_STARTED:
    case ADL_REPORT_ENDED:
    case ADL_REPORT_REQUEUED:
        return true;
    default:
        return false;
    }
}

/* By its number, if it has one: while a report waits its slot may go to another job. */
static struct adl_job_entry *job_of(const struct adl_live *live, const struct adl_report *report)
{
    if (!is_about_job(report->kind))
        return NULL;
    struct adl_job_entry *job = report->number == 0 ? adl_job_table_at(&live->shared->job_table, report->slot)
                                                    : adl_job_table_find(&live->shared->job_table, report->number);
    return job && report->kind == ADL_REPORT_REQUEUED && !adl_job_table_holds_gpus(job) ? NULL : job;
}

bool adl_live_report_waits(const struct adl_live *live, const struct adl_report *report)
{
    const struct adl_job_entry *job = job_of(live, report);
    return job && job->group == live->group;
}

/* ---- jobs that ended ---- */

static int event_of(const struct adl_report *report)
{
    return report->kind == ADL_REPORT_ENDED ? ADL_ON_ENDED : ADL_ON_EVICTED;
}

/* A job that is being cancelled has ended, whatever the executor reports. */
static bool is_end(const struct adl_report *report, const struct adl_job_entry *job)
{
    return adl_stage_next(job->stage, event_of(report)) == ADL_STAGE_ENDED;
}

static int end_of(const struct adl_report *report)
{
    return report->kind == ADL_REPORT_ENDED ? report->outcome.end : ADL_END_CANCELLED;
}

static void say_reason(const struct adl_report *report, const struct adl_job_entry *job, char *ret, size_t size)
{
    const int end = end_of(report);
    if (job->stage == ADL_STAGE_CANCELLING && end == ADL_END_CANCELLED)
        snprintf(ret, size, "%s", job->reason);
    else if (report->text[0] != '\0')
        snprintf(ret, size, "%s", report->text);
    else if (report->signal > 0)
        snprintf(ret, size, "ended by signal %d", report->signal);
    else if (end == ADL_END_FAILED)
        snprintf(ret, size, "exit code %d", report->exit_code);
    else
        snprintf(ret, size, "%s", end == ADL_END_TIMEOUT ? "reached its time limit" : "");
}

static int log_end(struct adl_live *live, const struct adl_report *report, const struct adl_job_entry *job,
                   const char *reason, struct adl_error *err)
{
    const bool ends = is_end(report, job);
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    if (ends) {
        adl_json_put_string(&json, "state", adl_store_state_name(ADL_STORE_ENDED + end_of(report)));
        adl_json_put_int(&json, "exit_code", report->exit_code);
        adl_json_put_int(&json, "signal", report->signal);
        if (report->kind == ADL_REPORT_ENDED && report->outcome.run_us > 0)
            adl_json_put_int(&json, "run_us", report->outcome.run_us);
    }
    adl_json_put_string(&json, "why", reason);
    adl_json_end(&json);
    return adl_live_log(live, ends ? "end" : "evict", job->id, &text, err);
}

/* By the executor's count of all its runs; else by the readings of its GPUs. */
static double energy_of(const struct adl_report *report, const struct adl_job_entry *job)
{
    const bool ended = report->kind == ADL_REPORT_ENDED;
    const double reported_j = ended ? report->outcome.energy_j : report->requeue.energy_j;
    return reported_j > 0 ? reported_j : job->energy_j;
}

/* Start and end as the executor measured them, perhaps while the service was down; else as the service knows them. */
static void set_times(const struct adl_live *live, const struct adl_report *report, struct adl_store_status *status)
{
    const bool reported = report->start_us > 0 && status->start_us > 0;
    const int64_t start_us = reported ? adl_live_wall_us(live, report->start_us) : status->start_us;
    status->end_us = report->time_us > 0 ? adl_live_wall_us(live, report->time_us) : live->now_us;
    status->start_us = start_us < status->end_us ? start_us : status->end_us;
}

/* A reading between the end and its report finds the GPUs unused, too: a job cannot lose more than it held. */
static void bound_idle(struct adl_store_status *status, uint32_t gpus)
{
    const int64_t held_us = (status->ran_us + status->end_us - status->start_us) * gpus;
    if (status->start_us > 0 && status->idle_us > held_us)
        status->idle_us = held_us;
}

static int prepare_end(struct adl_live *live, const struct adl_report *report, struct adl_job_entry *job,
                       struct adl_error *err)
{
    char reason[240];
    struct adl_store_status status = adl_live_status(live, job);
    if (is_end(report, job)) {
        say_reason(report, job, reason, sizeof reason);
        status.state = (uint8_t)(ADL_STORE_ENDED + end_of(report));
        set_times(live, report, &status);
        bound_idle(&status, job->spec.gpus);
        status.exit_code = report->exit_code;
        status.signal = report->signal;
    } else {
        snprintf(reason, sizeof reason, "%s", job->reason[0] != '\0' ? job->reason : report->text);
        status.state = ADL_STORE_PENDING;
        status.ran_us += adl_live_held_us(live, job);
        status.start_us = 0;
        status.gpus = NULL;
    }
    status.reason = is_end(report, job) ? reason : "";
    status.energy_j = energy_of(report, job);
    job->group = live->group;
    const int result = adl_store_job_update(live->config.store, job->id, &status, err);
    return result ? result : log_end(live, report, job, reason, err);
}

static void post(struct adl_live *live, const struct adl_event *event)
{
    const struct adl_live_item item = {.event = *event};
    adl_live_post(live, &item);
}

/* Runs of one name are similar, so their speeds show which GPUs suit them: a run counts as a step. Only if the job had
 * its GPUs alone from start to end, and did not report its speed itself (live_progress.c). */
static void post_speed(struct adl_live *live, const struct adl_job_entry *job, const struct adl_event *event)
{
    const struct adl_state *state = adl_engine_state(live->shared->engine);
    const int64_t run_us = event->outcome.run_us > 0 ? event->outcome.run_us : live->now_us - job->start_us;
    struct adl_event speed = {.kind = ADL_EVENT_PROGRESS, .job = event->job, .gpu = ADL_NONE};
    if (live->config.executor.ops->reports_speed || event->outcome.end != ADL_END_COMPLETED || job->spec.name_id == 0 ||
        job->spec.flags & ADL_JOB_SHARE || job->attempts > 1 || job->progress.posted || run_us < 1000 ||
        state->jobs[event->job].phase != ADL_PHASE_RUNNING)
        return;
    speed.steps_per_s = 1e6 / (double)run_us;
    post(live, &speed);
}

static void apply_end(struct adl_live *live, const struct adl_report *report, struct adl_job_entry *job)
{
    char reason[240];
    const struct adl_executor *executor = &live->config.executor;
    const bool by_number = report->number > 0 && adl_job_table_holds_gpus(job);
    const uint32_t slot = by_number ? job->alternatives[job->taken].slot : report->slot;
    const uint64_t id = job->id;
    const uint32_t attempt = job->attempts;
    job->energy_j = energy_of(report, job);
    if (is_end(report, job) && !adl_job_table_holds_gpus(job)) { /* it left the cluster's queue */
        say_reason(report, job, reason, sizeof reason);
        adl_job_table_set_reason(job, reason);
        adl_live_depart(live, job, event_of(report), end_of(report));
    } else if (is_end(report, job)) {
        const int end = end_of(report);
        say_reason(report, job, reason, sizeof reason);
        adl_job_table_set_reason(job, reason);
        struct adl_event event = {.kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE};
        if (report->kind == ADL_REPORT_ENDED) {
            event.outcome = report->outcome;
        } else {
            executor->ops->withdraw(executor->self, slot);
            event.outcome.end = ADL_END_CANCELLED;
            event.outcome.run_us = live->now_us - job->start_us;
        }
        event.outcome.energy_j = job->energy_j;
        if (adl_live_in_engine(live, slot)) {
            post_speed(live, job, &event);
            post(live, &event);
        }
        adl_live_depart(live, job, event_of(report), end);
    } else {
        adl_live_requeue(live, job, ADL_ON_EVICTED, slot, report->requeue.remaining);
        if (job->ineligible)
            adl_job_table_set_reason(job, report->text);
        adl_live_publish_job(live, job, NULL);
    }
    executor->ops->forget(executor->self, id, attempt);
}

/* ---- jobs that the cluster started by itself ---- */

static bool is_moved(const struct adl_live *live, const struct adl_live_report *report, const struct adl_job_entry *job)
{
    return (job->stage == ADL_STAGE_RUNNING || job->stage == ADL_STAGE_PLACED) &&
           adl_live_in_engine(live, report->base.slot) && job->alternatives[job->taken].slot == report->base.slot &&
           job->alternatives[job->taken].gpus == report->base.running.gpu_count;
}

/* The job of the report: queued under its slot, or placed by the service on other GPUs. */
static struct adl_job_entry *find_cluster_started(const struct adl_live *live, const struct adl_live_report *report)
{
    struct adl_job_entry *job = adl_job_table_at(&live->shared->job_table, report->base.slot);
    const bool same = job && (report->base.number == 0 || report->base.number == job->id);
    const bool waits = same && job->stage == ADL_STAGE_QUEUED;
    return waits || (same && is_moved(live, report, job)) ? job : NULL;
}

/* Writes that the cluster started the job; the engine takes it over afterwards. */
static int prepare_cluster_started(struct adl_live *live, struct adl_live_report *report, struct adl_error *err)
{
    struct adl_job_entry *job = find_cluster_started(live, report);
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    struct adl_text gpus = {0};
    if (!job)
        return 0;
    const bool moved = adl_job_table_holds_gpus(job);
    struct adl_store_status status = adl_live_status(live, job);
    uint32_t count = 0;
    for (; count < report->base.running.gpu_count; count++)
        live->names[count] = live->shared->inventory->gpus[report->gpus[count]].id;
    live->names[count] = NULL;
    adl_live_list_gpus(live, report->gpus, count, &gpus);
    status.state = ADL_STORE_RUNNING;
    status.start_us = moved && job->stage == ADL_STAGE_RUNNING ? status.start_us : live->now_us;
    status.attempts += !moved;
    status.gpus = live->names;
    job->group = live->group;
    const int result = adl_store_job_update(live->config.store, job->id, &status, err);
    adl_json_object(&json);
    adl_json_put_string(&json, "gpus", gpus.data ? gpus.data : "");
    adl_text_clear(&gpus);
    adl_json_put_string(&json, "why", report->base.text[0] ? report->base.text : "started by the cluster itself");
    adl_json_end(&json);
    if (result == 0)
        return adl_live_log(live, moved ? "move" : "start", job->id, &text, err);
    adl_text_clear(&text);
    return result;
}

static void apply_cluster_started(struct adl_live *live, struct adl_live_report *report)
{
    struct adl_job_entry *job = find_cluster_started(live, report);
    const uint32_t slot = report->base.slot;
    const bool moved = job && adl_job_table_holds_gpus(job);
    if (job && adl_grow((void **)&live->takeovers, &live->takeover_capacity, (size_t)live->takeover_count + 1,
                        sizeof *live->takeovers) == 0) {
        live->takeovers[live->takeover_count++] = (struct adl_live_takeover){job->id, slot, moved};
        if (moved)
            adl_live_post_evict(live, slot, 1.0);
        adl_live_transition(live, job, ADL_ON_CLUSTER_STARTED);
        job->gpus = report->gpus;
        report->gpus = NULL;
    }
    free(report->gpus);
    report->gpus = NULL;
}

/* The cluster has started a job that was placed: its run time counts from now. */
static int prepare_begin(struct adl_live *live, struct adl_job_entry *job, struct adl_error *err)
{
    struct adl_text text = {0};
    if (job->stage != ADL_STAGE_PLACED)
        return 0;
    struct adl_store_status status = adl_live_status(live, job);
    status.start_us = live->now_us;
    job->group = live->group;
    const int result = adl_store_job_update(live->config.store, job->id, &status, err);
    return result ? result : adl_live_log(live, "begin", job->id, &text, err);
}

static void apply_begin(struct adl_live *live, const struct adl_report *report, struct adl_job_entry *job)
{
    adl_live_transition(live, job, report->kind == ADL_REPORT_STARTED ? ADL_ON_STARTED : ADL_ON_START_PENDING);
    adl_live_publish_job(live, job, NULL);
}

/* Whether the cluster would start it. Not written: after a restart the executor reports it again. */
static void apply_eligibility(struct adl_live *live, const struct adl_report *report, struct adl_job_entry *job)
{
    job->ineligible = report->kind == ADL_REPORT_INELIGIBLE;
    if (adl_job_table_holds_gpus(job) || job->stage == ADL_STAGE_CLUSTER_STARTED || job->hold)
        return; /* it counts when it is back in the queue */
    if (!job->ineligible)
        job->eligible_us = 0;
    adl_live_place(live, job);
    if (job->ineligible)
        adl_job_table_set_reason(job, report->text);
    adl_live_publish_job(live, job, NULL);
}

/* ---- GPUs ---- */

void adl_live_gpu_changed(struct adl_live *live, uint32_t gpu)
{
    const struct adl_service_state_gpu *it = &live->shared->gpus[gpu];
    const bool down = it->drain || it->lost || it->foreign > 0;
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    if (down != live->down[gpu]) {
        const struct adl_event event = {
            .kind = down ? ADL_EVENT_GPU_DOWN : ADL_EVENT_GPU_UP, .job = ADL_NONE, .gpu = gpu};
        live->down[gpu] = down;
        post(live, &event);
    }
    adl_json_object(&json);
    adl_json_put_uint(&json, "gpu", gpu);
    adl_json_put_string(&json, "state", adl_gpu_state_name(adl_service_state_gpu_state(live->shared, gpu)));
    adl_json_put_string(&json, "reason", it->reason);
    adl_json_end(&json);
    if (adl_text_status(&text) == 0)
        adl_events_publish(live->shared->events, "gpu", text.data, NULL, NULL);
    adl_text_clear(&text);
}

static int log_gpu(struct adl_live *live, const struct adl_report *report, struct adl_error *err)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "gpu", live->shared->inventory->gpus[report->gpu].id);
    adl_json_put_string(&json, "why", report->text);
    adl_json_end(&json);
    return adl_live_log(live, report->kind == ADL_REPORT_GPU_DOWN ? "gpu_down" : "gpu_up", 0, &text, err);
}

static void alert(struct adl_live *live, const struct adl_report *report)
{
    char name[ADL_GPU_NAME_SIZE], text[ADL_GPU_NAME_SIZE + 220];
    const bool down = report->kind == ADL_REPORT_GPU_DOWN;
    adl_service_state_gpu_name(live->shared, report->gpu, name);
    snprintf(text, sizeof text, "%s: %s", name, down ? report->text : "it is back");
    adl_hooks_post(live->shared->hooks, &(struct adl_hook_note){.event = ADL_HOOK_ALERT,
                                                                .time_us = live->now_us,
                                                                .what = down ? "gpu_down" : "gpu_up",
                                                                .text = text});
}

static void apply_gpu(struct adl_live *live, const struct adl_report *report)
{
    struct adl_service_state_gpu *gpu = &live->shared->gpus[report->gpu];
    const bool down = report->kind == ADL_REPORT_GPU_DOWN, was_lost = gpu->lost;
    gpu->foreign = down ? report->foreign : 0;
    gpu->lost = down && report->foreign == 0;
    snprintf(gpu->reason, sizeof gpu->reason, "%s", down ? report->text : gpu->drain ? "drained" : "");
    adl_live_gpu_changed(live, report->gpu);
    if (gpu->lost || (was_lost && !down))
        alert(live, report);
}

/* ---- readings ---- */

/* Divides the energy of a GPU since its last reading among the jobs on it. */
static void share_energy(struct adl_live *live, uint32_t gpu, double power_w, int64_t since_us)
{
    const struct adl_gpu_use *use = &adl_engine_state(live->shared->engine)->gpus[gpu];
    const uint32_t jobs = (uint32_t)(use->job[0] != ADL_NONE) + (uint32_t)(use->job[1] != ADL_NONE);
    for (uint32_t i = 0; i < jobs; i++) {
        struct adl_job_entry *job = adl_job_table_at(&live->shared->job_table, use->job[i]);
        if (!job)
            continue;
        const int64_t from_us = since_us > job->start_us ? since_us : job->start_us;
        job->energy_j += power_w * (double)(live->now_us - from_us) * 1e-6 / jobs;
    }
}

static void apply_telemetry(struct adl_live *live, const struct adl_report *report)
{
    const uint32_t g = report->gpu;
    const struct adl_telemetry *readings = &report->sample.readings;
    struct adl_service_state_gpu *gpu = &live->shared->gpus[g];
    const bool power = !(readings->missing >> ADL_READ_POWER & 1);
    if (power && gpu->last_us > 0 && live->now_us - gpu->last_us < 10 * live->point_step_us)
        share_energy(live, g, (double)readings->value[ADL_READ_POWER], gpu->last_us);
    gpu->last = *readings;
    gpu->last_us = live->now_us;
    gpu->memory_used_mib = report->sample.memory_used_mib;
    if (report->sample.energy_j >= 0)
        gpu->energy_j = report->sample.energy_j;
    live->sampled = true;
    adl_live_idle_sample(live, g, readings);
    if (report->sample.blurred)
        return;
    post(live, &(struct adl_event){
                   .kind = ADL_EVENT_TELEMETRY, .job = ADL_NONE, .gpu = g, .telemetry = report->sample.readings});
}

static void apply_meter(struct adl_live *live, const struct adl_report *report)
{
    const struct adl_event event = {
        .kind = ADL_EVENT_METER, .job = ADL_NONE, .gpu = report->gpu, .energy_j = report->energy_j};
    live->shared->gpus[report->gpu].energy_j = report->energy_j;
    post(live, &event);
}

static void apply_version(struct adl_live *live, const struct adl_report *report)
{
    struct adl_event event = {.kind = ADL_EVENT_VERSION, .job = ADL_NONE, .gpu = report->gpu};
    memcpy(event.version, report->version, sizeof event.version);
    post(live, &event);
}

static void apply_progress(struct adl_live *live, const struct adl_report *report)
{
    const struct adl_event event = {.kind = ADL_EVENT_PROGRESS,
                                    .job = report->slot,
                                    .gpu = ADL_NONE,
                                    .steps_per_s = report->steps_per_s,
                                    .steps_left = report->steps_left};
    if (adl_engine_state(live->shared->engine)->jobs[report->slot].phase == ADL_PHASE_RUNNING)
        post(live, &event);
}

static int write_sample(struct adl_live *live, const struct adl_report *report, struct adl_error *err)
{
    const struct adl_store_sample sample = {.time_us = live->now_us,
                                            .gpu = live->shared->inventory->gpus[report->gpu].id,
                                            .readings = report->sample.readings};
    return adl_store_sample_append(live->config.store, &sample, err);
}

static void put_reading(struct adl_json *json, const char *key, const struct adl_telemetry *telemetry, int reading)
{
    adl_json_key(json, key);
    if (telemetry->missing >> reading & 1)
        adl_json_null(json);
    else
        adl_json_real(json, (double)telemetry->value[reading]);
}

void adl_live_publish_samples(struct adl_live *live)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    live->sampled = false;
    adl_json_object(&json);
    adl_json_put_real(&json, "time_s", (double)live->now_us * 1e-6);
    adl_json_key(&json, "gpus");
    adl_json_array(&json);
    /* Streams serve live views of a few hundred GPUs; /v1/cluster has all. */
    for (uint32_t g = 0; g < live->shared->inventory->scenario.cluster.gpu_count && text.size < 50000; g++) {
        const struct adl_service_state_gpu *gpu = &live->shared->gpus[g];
        if (gpu->last_us == 0)
            continue;
        adl_json_object(&json);
        adl_json_put_uint(&json, "gpu", g);
        put_reading(&json, "utilization", &gpu->last, ADL_READ_UTILIZATION);
        put_reading(&json, "temperature_c", &gpu->last, ADL_READ_TEMPERATURE);
        put_reading(&json, "power_w", &gpu->last, ADL_READ_POWER);
        adl_json_key(&json, "memory_used_mib");
        if (gpu->memory_used_mib < 0)
            adl_json_null(&json);
        else
            adl_json_int(&json, gpu->memory_used_mib);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_end(&json);
    if (adl_text_status(&text) == 0)
        adl_events_publish(live->shared->events, "sample", text.data, NULL, NULL);
    adl_text_clear(&text);
}

/* ---- dispatch ---- */

int adl_live_report_prepare(struct adl_live *live, struct adl_live_report *it, struct adl_error *err)
{
    const struct adl_report *report = &it->base;
    struct adl_job_entry *job = job_of(live, report);
    switch (report->kind) {
    case ADL_REPORT_ENDED:
    case ADL_REPORT_REQUEUED:
        return job ? prepare_end(live, report, job, err) : 0;
    case ADL_REPORT_ARRIVED:
    case ADL_REPORT_GENERATED:
        return adl_live_arrival_prepare(live, it, err);
    case ADL_REPORT_CLUSTER_STARTED:
        return prepare_cluster_started(live, it, err);
    case ADL_REPORT_STARTED:
        return job ? prepare_begin(live, job, err) : 0;
    case ADL_REPORT_GPU_DOWN:
    case ADL_REPORT_GPU_UP:
        return log_gpu(live, report, err);
    case ADL_REPORT_SAMPLE:
        return live->disk_full ? 0 : write_sample(live, report, err);
    default:
        return 0;
    }
}

/* Those of which nothing can be done unless the job is still in the job table. */
static void apply_to_job(struct adl_live *live, const struct adl_report *report, struct adl_job_entry *job)
{
    switch (report->kind) {
    case ADL_REPORT_ENDED:
    case ADL_REPORT_REQUEUED:
        apply_end(live, report, job);
        break;
    case ADL_REPORT_START_PENDING:
    case ADL_REPORT_STARTED:
        apply_begin(live, report, job);
        break;
    case ADL_REPORT_ELIGIBLE:
    case ADL_REPORT_INELIGIBLE:
        apply_eligibility(live, report, job);
        break;
    default:
        break;
    }
}

void adl_live_report_apply(struct adl_live *live, struct adl_live_report *it)
{
    const struct adl_report *report = &it->base;
    struct adl_job_entry *job = job_of(live, report);
    switch (report->kind) {
    case ADL_REPORT_ARRIVED:
    case ADL_REPORT_GENERATED:
        adl_live_arrival_apply(live, it);
        break;
    case ADL_REPORT_CLUSTER_STARTED:
        apply_cluster_started(live, it);
        break;
    case ADL_REPORT_GPU_DOWN:
    case ADL_REPORT_GPU_UP:
        apply_gpu(live, report);
        break;
    case ADL_REPORT_SAMPLE:
        apply_telemetry(live, report);
        break;
    case ADL_REPORT_METER:
        apply_meter(live, report);
        break;
    case ADL_REPORT_VERSION:
        apply_version(live, report);
        break;
    case ADL_REPORT_POWER_LIMIT:
        adl_live_power_scenario(live, report->limit_w);
        break;
    case ADL_REPORT_PROGRESS:
        apply_progress(live, report);
        break;
    default:
        if (job)
            apply_to_job(live, report, job);
    }
}
