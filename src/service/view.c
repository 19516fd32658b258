#include "service/view.h"

#include "jobs/submission.h"
#include "predict/belief.h"
#include "service/privacy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_SIZE  400
#define COMMAND_SIZE 201

/* When a running job ends: the median, and the time by which 9 of 10 such jobs end; 0 = not known. */
struct expected_end {
    int64_t p50_us, p90_us;
    const char *basis;
};

struct expected_start {
    int64_t p50_us, p90_us, made_us;
    const char *basis;
};

/* What the JSON of a job has beside its row. */
struct extra {
    struct expected_start start;
    struct expected_end end;
    const struct adl_job_progress *progress; /* NULL: it said nothing of its steps */
    struct adl_job_idle idle;
    int64_t idle_stop_us; /* wall time; 0 = no notice was given */
    const char *stage, *command;
    int64_t run_us;
    const uint32_t *gpus; /* gpu_count of them; else the row has their names */
    uint32_t gpu_count;
};

static void put_real_or_null(struct adl_json *json, const char *key, double value, bool known)
{
    adl_json_key(json, key);
    if (known)
        adl_json_real(json, value);
    else
        adl_json_null(json);
}

static void put_int_or_null(struct adl_json *json, const char *key, int64_t value, bool known)
{
    adl_json_key(json, key);
    if (known)
        adl_json_int(json, value);
    else
        adl_json_null(json);
}

/* Integer arithmetic: exact, and ten times as fast as the shortest form of a double. */
static void put_seconds(struct adl_json *json, const char *key, int64_t us)
{
    const int64_t rest = us % 1000000;
    char text[48];
    adl_json_key(json, key);
    if (us <= 0 || rest == 0) {
        adl_json_int(json, us < 0 ? 0 : us / 1000000);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64 ".%06" PRId64, us / 1000000, rest);
    adl_json_raw(json, text);
}

void adl_view_time(struct adl_json *json, const char *key, int64_t time_us)
{
    if (time_us > 0) {
        put_seconds(json, key, time_us);
    } else {
        adl_json_key(json, key);
        adl_json_null(json);
    }
}

static struct expected_end expect_end(const struct adl_service_state *shared, const struct adl_job_entry *job)
{
    const struct adl_state *state = adl_engine_state(shared->engine);
    const uint32_t slot = job->alternatives[job->taken].slot;
    if (job->stage != ADL_STAGE_RUNNING || slot >= state->job_capacity || state->jobs[slot].phase != ADL_PHASE_RUNNING)
        return (struct expected_end){0};
    const struct adl_certainty certainty = adl_belief_certainty(state->belief, slot);
    if (!certainty.steps && certainty.neighbours == 0 && job->spec.limit_us <= 0)
        return (struct expected_end){0};
    const int64_t ahead_us = shared->wall_ahead_us, now_us = shared->now_us(shared) - ahead_us;
    return (struct expected_end){adl_belief_end_us(state->belief, state, slot, now_us, 0.5) + ahead_us,
                                 adl_belief_end_us(state->belief, state, slot, now_us, 0.9) + ahead_us,
                                 certainty.steps            ? "steps"
                                 : certainty.neighbours > 0 ? "similar_jobs"
                                                            : "time_limit"};
}

/* A time of a forecast as wall time, not before now; 0: it is beyond what was played. */
static int64_t show_forecast(int64_t time_us, int64_t now_us, int64_t ahead_us)
{
    return time_us == ADL_NEVER_US ? 0 : (time_us > now_us ? time_us : now_us) + ahead_us;
}

/* Of a job that waits in the queue and has a forecast that is not outdated, its start and its end. */
static void expect_start(const struct adl_service_state *shared, const struct adl_job_entry *job, struct extra *ret)
{
    struct adl_start_forecast forecast;
    const int64_t ahead_us = shared->wall_ahead_us, now_us = shared->now_us(shared) - ahead_us;
    if (job->stage != ADL_STAGE_QUEUED || !shared->forecasts ||
        !adl_forecasts_find(shared->forecasts, job->id, &forecast) || forecast.start_p90_us < now_us)
        return;
    const char *basis = forecast.limits ? "time_limit" : "futures";
    ret->start = (struct expected_start){show_forecast(forecast.start_p50_us, now_us, ahead_us),
                                         show_forecast(forecast.start_p90_us, now_us, ahead_us),
                                         forecast.made_us + ahead_us, basis};
    ret->end = (struct expected_end){show_forecast(forecast.end_p50_us, now_us, ahead_us),
                                     show_forecast(forecast.end_p90_us, now_us, ahead_us),
                                     forecast.end_p50_us == ADL_NEVER_US ? NULL : basis};
}

static void put_progress(struct adl_json *json, const struct adl_job_progress *progress)
{
    adl_json_key(json, "progress");
    if (!progress) {
        adl_json_null(json);
        return;
    }
    adl_json_object(json);
    adl_json_put_uint(json, "step", progress->step);
    put_int_or_null(json, "steps", (int64_t)progress->steps, progress->steps > 0);
    put_real_or_null(json, "steps_per_s", progress->steps_per_s, progress->steps_per_s > 0);
    adl_view_time(json, "time_s", progress->time_us);
    adl_json_put_string(json, "note", progress->note[0] != '\0' ? progress->note : NULL);
    adl_json_end(json);
}

static void put_types(struct adl_json *json, const struct adl_cluster *cluster, uint32_t types)
{
    adl_json_key(json, "types");
    adl_json_array(json);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (types >> t & 1)
            adl_json_string(json, cluster->types[t].name);
    adl_json_end(json);
}

static void put_demand(struct adl_json *json, const struct adl_scenario *scenario, const struct adl_store_job *job)
{
    const struct adl_job_spec *spec = &job->spec;
    adl_json_put_string(json, "kind", adl_job_kind_name(spec->kind));
    const bool classed = spec->class_index > 0 && spec->class_index < scenario->class_count; /* 0: it does not say */
    adl_json_put_string(json, "class", classed ? scenario->classes[spec->class_index].name : NULL);
    adl_json_put_string(json, "request", job->request);
    adl_json_put_int(json, "gpus", spec->gpus);
    put_types(json, &scenario->cluster, spec->types);
    adl_json_put_int(json, "cpus_per_gpu", spec->cpu_cores);
    adl_json_put_int(json, "memory_mib_per_gpu", spec->memory_mib);
    adl_json_put_int(json, "gpu_memory_mib", spec->gpu_memory_mib);
    adl_json_put_bool(json, "share", (spec->flags & ADL_JOB_SHARE) != 0);
    const bool stops = spec->flags & ADL_JOB_PREEMPTIBLE;
    adl_json_put_bool(json, "requeue", stops);
    adl_json_put_string(json, "stop_loses", stops ? adl_stop_loss_name(spec->stop_loss) : NULL);
    adl_view_time(json, "checkpoint_every_s", spec->checkpoint_us);
    put_seconds(json, "time_limit_s", spec->limit_us);
    adl_view_time(json, "deadline_s", spec->deadline_us);
    put_real_or_null(json, "min_steps_per_s", (double)spec->min_steps_per_s, spec->min_steps_per_s > 0);
}

static void put_dependencies(struct adl_json *json, const struct adl_store_job *job)
{
    static const char *const kinds[] = {[ADL_AFTER_ANY] = "afterany",
                                        [ADL_AFTER_OK] = "afterok",
                                        [ADL_AFTER_NOT_OK] = "afternotok",
                                        [ADL_AFTER_START] = "after"};
    bool singleton = false;
    adl_json_key(json, "after");
    adl_json_array(json);
    for (uint32_t i = 0; i < job->dependency_count; i++) {
        const struct adl_store_dependency *on = &job->dependencies[i];
        singleton = singleton || on->after == ADL_AFTER_SINGLETON;
        if (on->after == ADL_AFTER_SINGLETON)
            continue;
        adl_json_object(json);
        adl_json_put_int(json, "job", (int64_t)on->job);
        adl_json_put_bool(json, "ok", on->after == ADL_AFTER_OK);
        adl_json_put_string(json, "kind", kinds[on->after]);
        adl_json_end(json);
    }
    adl_json_end(json);
    adl_json_put_bool(json, "singleton", singleton);
    adl_json_put_bool(json, "dependency_any", job->dependency_any);
}

/* name: of a GPU that may not exist any more. */
static void put_gpu(struct adl_json *json, const struct adl_inventory *inventory, uint32_t gpu, const char *name)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    const bool known = gpu < cluster->gpu_count;
    adl_json_object(json);
    put_int_or_null(json, "gpu", gpu, known);
    adl_json_put_string(json, "id", known ? inventory->gpus[gpu].id : name);
    adl_json_put_string(json, "type", known ? cluster->types[adl_gpu_type_of(cluster, gpu)].name : NULL);
    adl_json_put_string(json, "node", known ? cluster->nodes[adl_gpu_node_of(cluster, gpu)].name : NULL);
    adl_json_end(json);
}

static void put_allocation(struct adl_json *json, const struct adl_inventory *inventory,
                           const struct adl_store_job *job, const struct extra *extra)
{
    adl_json_key(json, "allocation");
    adl_json_array(json);
    for (uint32_t i = 0; i < extra->gpu_count; i++)
        put_gpu(json, inventory, extra->gpus[i], NULL);
    for (const char *const *name = job->status.gpus; name && *name; name++)
        put_gpu(json, inventory, adl_inventory_find(inventory, *name), *name);
    adl_json_end(json);
}

static void put_array(struct adl_json *json, const struct adl_store_job *job, uint64_t array_id)
{
    put_int_or_null(json, "array_id", (int64_t)array_id, array_id > 0);
    put_int_or_null(json, "array_index", job->array_index, array_id > 0);
    put_int_or_null(json, "array_count", job->array.count, job->array.count > 0);
    put_int_or_null(json, "array_limit", job->array.limit, job->array.limit > 0);
}

static void put_job(struct adl_json *json, const struct adl_inventory *inventory, const struct adl_store_job *job,
                    const struct extra *extra)
{
    const struct adl_store_status *status = &job->status;
    const uint64_t id = job->external > 0 ? (uint64_t)job->external : job->spec.id;
    const uint64_t array_id = job->array_index < 0 ? 0 : job->array_id ? job->array_id : job->spec.id;
    const bool ran = status->state >= ADL_STORE_ENDED && status->start_us > 0;
    char label[ADL_LABEL_SIZE];
    adl_json_object(json);
    adl_json_put_int(json, "id", (int64_t)id);
    adl_json_put_string(json, "label", adl_label_print(id, array_id, job->array_index, label));
    adl_json_put_string(json, "name", job->name);
    adl_json_put_string(json, "user", job->user);
    adl_json_put_string(json, "state", adl_store_state_name(status->state));
    adl_json_put_string(json, "reason", status->reason);
    adl_json_put_string(json, "stage", extra->stage);
    adl_json_put_bool(json, "hold", status->hold);
    put_real_or_null(json, "priority", (double)(int64_t)((double)status->priority * 1e6 + 0.5) / 1e6, true);
    put_demand(json, &inventory->scenario, job);
    adl_json_put_string(json, "command", extra->command);
    adl_json_put_string(json, "directory", job->directory);
    adl_json_put_string(json, "stdout", job->stdout_path);
    adl_json_put_string(json, "stderr", job->stderr_path);
    put_dependencies(json, job);
    put_array(json, job, array_id);
    adl_view_time(json, "begin_s", job->begin_us);
    adl_json_put_string(json, "warn_signal", job->warn_signal && job->warn_signal[0] ? job->warn_signal : NULL);
    adl_view_time(json, "submit_s", job->submit_us);
    adl_view_time(json, "eligible_s", status->eligible_us);
    adl_view_time(json, "start_s", status->start_us);
    adl_view_time(json, "end_s", status->end_us);
    adl_view_time(json, "start_p50", extra->start.p50_us);
    adl_view_time(json, "start_p90", extra->start.p90_us);
    adl_json_put_string(json, "start_basis", extra->start.basis);
    adl_view_time(json, "forecast_at", extra->start.made_us);
    adl_view_time(json, "end_p50", extra->end.p50_us);
    adl_view_time(json, "end_p90", extra->end.p90_us);
    adl_json_put_string(json, "end_basis", extra->end.basis);
    put_progress(json, extra->progress);
    put_seconds(json, "run_s", extra->run_us);
    adl_json_put_int(json, "attempts", status->attempts);
    put_allocation(json, inventory, job, extra);
    put_int_or_null(json, "exit_code", status->exit_code, ran && status->signal == 0);
    put_int_or_null(json, "signal", status->signal, ran && status->signal > 0);
    /* null: not measured, which is not 0 */
    put_real_or_null(json, "energy_j", status->energy_j, status->energy_j > 0);
    adl_json_put_uint(json, "idle_gpus", extra->idle.gpus);
    put_seconds(json, "idle_s", extra->idle.us);
    adl_view_time(json, "idle_stop_s", extra->idle_stop_us);
    adl_json_put_real(json, "idle_gpu_hours", (double)status->idle_us / 3.6e9);
    adl_json_end(json);
}

/* Why people should look at a job that runs; empty: it uses its GPUs. */
static void say_idle(const struct adl_job_entry *job, char *ret, size_t size)
{
    char span[ADL_IDLE_SPAN_SIZE];
    if (job->idle.gpus > 0)
        snprintf(ret, size, "%u of %u GPU%s idle for %s%s", job->idle.gpus, job->spec.gpus,
                 job->spec.gpus == 1 ? "" : "s", adl_idle_span(job->idle.us, span),
                 job->idle.stop_us > 0 ? ", will be stopped" : "");
}

void adl_view_live_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                       const struct adl_job_entry *job)
{
    const bool holds = adl_job_table_holds_gpus(job), runs = adl_job_table_runs(job);
    const int64_t ran_us = shared->now_us(shared) - job->start_us;
    char reason[REASON_SIZE] = "";
    if (job->stage == ADL_STAGE_RUNNING)
        say_idle(job, reason, sizeof reason);
    else
        adl_service_state_reason(shared, job, reason, sizeof reason);
    adl_privacy_redact(shared, viewer, reason, sizeof reason);
    const struct adl_store_job row = {.spec = job->spec,
                                      .name = job->name,
                                      .user = job->user,
                                      .request = job->request,
                                      .directory = job->directory,
                                      .stdout_path = job->stdout_path,
                                      .stderr_path = job->stderr_path,
                                      .dependencies = job->dependencies,
                                      .dependency_count = job->dependency_count,
                                      .dependency_any = job->dependency_any,
                                      .warn_signal = job->warn_signal,
                                      .begin_us = job->begin_us,
                                      .array = job->shared->array,
                                      .array_id = job->array_id,
                                      .array_index = job->array_id > 0 ? job->array_index : -1,
                                      .external = job->external,
                                      .submit_us = job->submit_us,
                                      .status = {.state = runs ? ADL_STORE_RUNNING : ADL_STORE_PENDING,
                                                 .reason = reason,
                                                 .hold = job->hold,
                                                 .priority = job->priority,
                                                 .eligible_us = adl_stages[job->stage].in_queue ? job->eligible_us : 0,
                                                 .start_us = runs ? job->start_us : 0,
                                                 .attempts = job->attempts,
                                                 .energy_j = job->energy_j,
                                                 .idle_us = job->idle_us}};
    struct extra extra = {.stage = adl_stages[job->stage].shown,
                          .command = job->command,
                          .end = expect_end(shared, job),
                          .progress = runs ? adl_job_table_progress(job) : NULL,
                          .idle = runs ? job->idle : (struct adl_job_idle){0},
                          .idle_stop_us = runs && job->idle.stop_us ? job->idle.stop_us + shared->wall_ahead_us : 0,
                          .run_us = runs && ran_us > 0 ? ran_us : 0,
                          .gpus = job->gpus,
                          .gpu_count = holds && job->gpus ? job->spec.gpus : 0};
    expect_start(shared, job, &extra);
    put_job(json, shared->inventory, &row, &extra);
}

static const char *node_of(const struct adl_inventory *inventory, const char *const *gpu_names)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    const uint32_t gpu = gpu_names && *gpu_names ? adl_inventory_find(inventory, *gpu_names) : ADL_NONE;
    return gpu < cluster->gpu_count ? cluster->nodes[adl_gpu_node_of(cluster, gpu)].name : NULL;
}

static const char *stored_stage(const struct adl_store_status *status)
{
    if (status->state >= ADL_STORE_ENDED)
        return "ended";
    return status->state == ADL_STORE_RUNNING ? "running" : status->hold ? "held" : "queued";
}

void adl_view_stored_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                         const struct adl_store_job *job)
{
    struct adl_store_job row = *job;
    const char *node = node_of(shared->inventory, row.status.gpus);
    char *out = adl_path_expand(job->stdout_path, job, job->spec.id, node);
    char *err = adl_path_expand(job->stderr_path, job, job->spec.id, node);
    char command[COMMAND_SIZE], reason[ADL_STORE_REASON_MAX + 1];
    const bool ran = row.status.state >= ADL_STORE_ENDED && row.status.start_us > 0;
    const bool fresh = row.status.state == ADL_STORE_PENDING && row.status.reason[0] == '\0';
    adl_command_text(job, command, sizeof command);
    snprintf(reason, sizeof reason, "%s", fresh ? "submitted: it is about to be queued" : row.status.reason);
    adl_privacy_redact(shared, viewer, reason, sizeof reason);
    row.stdout_path = out ? out : job->stdout_path;
    row.stderr_path = err ? err : job->stderr_path;
    row.status.reason = reason;
    row.status.eligible_us = 0; /* only of jobs that wait or run */
    put_job(json, shared->inventory, &row,
            &(struct extra){.stage = stored_stage(&row.status),
                            .command = command,
                            .run_us = ran ? row.status.end_us - row.status.start_us : 0});
    free(out);
    free(err);
}
