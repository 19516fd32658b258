#include "service/view.h"

#include "jobs/submission.h"
#include "service/privacy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_SIZE  400
#define COMMAND_SIZE 201

/* What a job's JSON is made from, wherever it is known from. */
struct job {
    uint64_t id;
    const struct adl_job_spec *spec;
    const char *name, *user, *state, *stage, *reason, *request, *command, *directory;
    const char *stdout_path, *stderr_path;
    bool hold;
    float priority;
    const struct adl_store_dependency *dependencies;
    uint32_t dependency_count;
    bool dependency_any;
    const char *warn_signal;
    uint64_t array_id; /* 0 = none */
    int32_t array_index;
    struct adl_store_array array;
    int64_t begin_us;
    int64_t submit_us, eligible_us, start_us, end_us, run_us;
    uint32_t attempts;
    const uint32_t *gpus; /* gpu_count of them, or by name: */
    uint32_t gpu_count;
    const char *const *gpu_names;
    bool ran; /* and ended, so that there is an exit code */
    int32_t exit_code, signal;
    double energy_j;
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

/* Decimals by whole numbers: exact, and a tenth of the time that a double's shortest form takes. */
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

static void put_types(struct adl_json *json, const struct adl_cluster *cluster, uint32_t types)
{
    adl_json_key(json, "types");
    adl_json_array(json);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (types >> t & 1)
            adl_json_string(json, cluster->types[t].name);
    adl_json_end(json);
}

static void put_demand(struct adl_json *json, const struct adl_scenario *scenario, const struct job *job)
{
    const struct adl_job_spec *spec = job->spec;
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

static void put_dependencies(struct adl_json *json, const struct job *job)
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

/* name: of a GPU that may not be there any more. */
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

static void put_allocation(struct adl_json *json, const struct adl_inventory *inventory, const struct job *job)
{
    adl_json_key(json, "allocation");
    adl_json_array(json);
    for (uint32_t i = 0; i < job->gpu_count; i++)
        put_gpu(json, inventory, job->gpus[i], NULL);
    for (const char *const *name = job->gpu_names; name && *name; name++)
        put_gpu(json, inventory, adl_inventory_find(inventory, *name), *name);
    adl_json_end(json);
}

static void put_job(struct adl_json *json, const struct adl_inventory *inventory, const struct job *job)
{
    char label[ADL_LABEL_SIZE];
    adl_json_object(json);
    adl_json_put_int(json, "id", (int64_t)job->id);
    adl_json_put_string(json, "label", adl_label_print(job->id, job->array_id, job->array_index, label));
    adl_json_put_string(json, "name", job->name);
    adl_json_put_string(json, "user", job->user);
    adl_json_put_string(json, "state", job->state);
    adl_json_put_string(json, "reason", job->reason);
    adl_json_put_string(json, "stage", job->stage);
    adl_json_put_bool(json, "hold", job->hold);
    put_real_or_null(json, "priority", (double)(int64_t)((double)job->priority * 1e6 + 0.5) / 1e6, true);
    put_demand(json, &inventory->scenario, job);
    adl_json_put_string(json, "command", job->command);
    adl_json_put_string(json, "directory", job->directory);
    adl_json_put_string(json, "stdout", job->stdout_path);
    adl_json_put_string(json, "stderr", job->stderr_path);
    put_dependencies(json, job);
    put_int_or_null(json, "array_id", (int64_t)job->array_id, job->array_id > 0);
    put_int_or_null(json, "array_index", job->array_index, job->array_id > 0);
    put_int_or_null(json, "array_count", job->array.count, job->array.count > 0);
    put_int_or_null(json, "array_limit", job->array.limit, job->array.limit > 0);
    adl_view_time(json, "begin_s", job->begin_us);
    adl_json_put_string(json, "warn_signal", job->warn_signal && job->warn_signal[0] ? job->warn_signal : NULL);
    adl_view_time(json, "submit_s", job->submit_us);
    adl_view_time(json, "eligible_s", job->eligible_us);
    adl_view_time(json, "start_s", job->start_us);
    adl_view_time(json, "end_s", job->end_us);
    put_seconds(json, "run_s", job->run_us);
    adl_json_put_int(json, "attempts", job->attempts);
    put_allocation(json, inventory, job);
    put_int_or_null(json, "exit_code", job->exit_code, job->ran && job->signal == 0);
    put_int_or_null(json, "signal", job->signal, job->ran && job->signal > 0);
    adl_json_key(json, "energy_j");
    if (job->energy_j > 0)
        adl_json_real(json, job->energy_j);
    else
        adl_json_null(json); /* nothing was measured, which does not mean that it drew nothing */
    adl_json_end(json);
}

void adl_view_live_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                       const struct adl_job_entry *job)
{
    const bool holds = adl_job_table_holds_gpus(job), runs = adl_job_table_runs(job);
    const int64_t ran_us = shared->now_us(shared) - job->start_us;
    char reason[REASON_SIZE] = "";
    if (job->stage != ADL_STAGE_RUNNING)
        adl_service_state_reason(shared, job, reason, sizeof reason);
    adl_veil_draw(shared, viewer, reason, sizeof reason);
    put_job(json, shared->inventory,
            &(struct job){.id = adl_job_table_shown(job),
                          .spec = &job->spec,
                          .name = job->name,
                          .user = job->user,
                          .state = runs ? "R" : "PD",
                          .stage = adl_stages[job->stage].shown,
                          .reason = reason,
                          .request = job->request,
                          .command = job->command,
                          .directory = job->directory,
                          .stdout_path = job->stdout_path,
                          .stderr_path = job->stderr_path,
                          .hold = job->hold,
                          .priority = job->priority,
                          .dependencies = job->dependencies,
                          .dependency_count = job->dependency_count,
                          .dependency_any = job->dependency_any,
                          .warn_signal = job->warn_signal,
                          .begin_us = job->begin_us,
                          .array = job->shared->array,
                          .array_id = job->array_id,
                          .array_index = job->array_index,
                          .submit_us = job->submit_us,
                          .eligible_us = adl_stages[job->stage].in_queue ? job->eligible_us : 0,
                          .start_us = runs ? job->start_us : 0,
                          .run_us = runs && ran_us > 0 ? ran_us : 0,
                          .attempts = job->attempts,
                          .gpus = job->gpus,
                          .gpu_count = holds && job->gpus ? job->spec.gpus : 0,
                          .energy_j = job->energy_j});
}

static const char *node_of(const struct adl_inventory *inventory, const char *const *gpu_names)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    const uint32_t gpu = gpu_names && *gpu_names ? adl_inventory_find(inventory, *gpu_names) : ADL_NONE;
    return gpu < cluster->gpu_count ? cluster->nodes[adl_gpu_node_of(cluster, gpu)].name : NULL;
}

void adl_view_stored_job(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                         const struct adl_store_job *job)
{
    const struct adl_store_status *status = &job->status;
    const bool ended = status->state >= ADL_STORE_ENDED;
    const char *node = node_of(shared->inventory, status->gpus);
    char *out = adl_path_expand(job->stdout_path, job, job->spec.id, node);
    char *err = adl_path_expand(job->stderr_path, job, job->spec.id, node);
    char command[COMMAND_SIZE], reason[ADL_STORE_REASON_MAX + 1];
    adl_command_text(job, command, sizeof command);
    snprintf(reason, sizeof reason, "%s",
             status->state == ADL_STORE_PENDING && status->reason[0] == '\0' ? "submitted: it is about to be queued"
                                                                             : status->reason);
    adl_veil_draw(shared, viewer, reason, sizeof reason);
    put_job(json, shared->inventory,
            &(struct job){.id = job->external > 0 ? (uint64_t)job->external : job->spec.id,
                          .spec = &job->spec,
                          .name = job->name,
                          .user = job->user,
                          .state = adl_store_state_name(status->state),
                          .stage = ended                                ? "ended"
                                   : status->state == ADL_STORE_RUNNING ? "running"
                                   : status->hold                       ? "held"
                                                                        : "queued",
                          .reason = reason,
                          .request = job->request,
                          .command = command,
                          .directory = job->directory,
                          .stdout_path = out ? out : job->stdout_path,
                          .stderr_path = err ? err : job->stderr_path,
                          .hold = status->hold,
                          .priority = status->priority,
                          .dependencies = job->dependencies,
                          .dependency_count = job->dependency_count,
                          .dependency_any = job->dependency_any,
                          .warn_signal = job->warn_signal,
                          .begin_us = job->begin_us,
                          .array = job->array,
                          .array_id = job->array_index < 0 ? 0
                                      : job->array_id      ? job->array_id
                                                           : job->spec.id,
                          .array_index = job->array_index,
                          .submit_us = job->submit_us,
                          .start_us = status->start_us,
                          .end_us = status->end_us,
                          .run_us = ended && status->start_us > 0 ? status->end_us - status->start_us : 0,
                          .attempts = status->attempts,
                          .gpu_names = status->gpus,
                          .ran = ended && status->start_us > 0,
                          .exit_code = status->exit_code,
                          .signal = status->signal,
                          .energy_j = status->energy_j});
    free(out);
    free(err);
}
