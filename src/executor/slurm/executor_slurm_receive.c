#include "executor/slurm/executor_slurm_internal.h"

#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#define FOREIGN_US INT64_C(1500000) /* use by others counts once it has lasted so long */

/* Whether the alternative that the service started allows these GPUs. */
static bool is_wanted(const struct adl_executor_slurm *executor, const struct adl_mirror_job *job, const uint32_t *gpus,
                      uint32_t count)
{
    const uint32_t type = adl_gpu_type_of(&executor->mirror.inventory->scenario.cluster, gpus[0]);
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == job->run_slot && job->wants[i].gpus == count && job->wants[i].types >> type & 1)
            return true;
    return false;
}

/* Takes over the GPUs on which Slurm runs the job, if they are not those it was placed on. */
static void follow(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const cJSON *message)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    const bool ours = job->ours || executor->config.mode != ADL_SLURM_ACT;
    const bool placed = adl_mirror_job_in(job, ADL_MIRROR_WITH_SLURM);
    const uint32_t count = adl_slurm_mirror_find_gpus(&executor->mirror, job, message, gpus);
    if (count == 0 || !ours ||
        adl_mirror_job_in(job, ADL_MIRROR_IN(RUNNING) | ADL_MIRROR_IN(OVER) | ADL_MIRROR_IN(DROPPED)))
        return;
    if (placed && !job->moved && adl_slurm_mirror_alike(&executor->mirror, gpus, count, job->gpus, job->gpu_count))
        return;
    const bool wanted = placed && is_wanted(executor, job, gpus, count), moved = job->moved;
    if (placed && !wanted)
        adl_executor_slurm_post_requeued(executor, job, "Slurm has started it on GPUs that it did not ask for");
    const int status =
        adl_slurm_mirror_hold(&executor->mirror, job, gpus, count); /* out of memory: they count as used by others */
    if (wanted && status == 0)
        adl_executor_slurm_post_cluster_started(
            executor, job, moved ? "those that were chosen are on nodes it may not use" : "Slurm chose so");
}

/* A slurmctld that crashed may have lost its last jobs, and reuses their numbers. */
static void check_identity(struct adl_executor_slurm *executor, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_mirror_job *known = id > 0 && id < 1e15 ? adl_slurm_mirror_find(&executor->mirror, (int64_t)id) : NULL;
    if (!known || !adl_mirror_job_in(known, ADL_MIRROR_WITH_SERVICE) || adl_slurm_mirror_is_same(known, message))
        return;
    adl_executor_slurm_post_ended_as(executor, known,
                                     known->phase == ADL_MIRROR_RUNNING ? ADL_END_FAILED : ADL_END_CANCELLED,
                                     "Slurm has forgotten it, and given its number to another job");
    adl_executor_slurm_remove(executor, known);
}

static void receive_job(struct adl_executor_slurm *executor, const cJSON *message)
{
    check_identity(executor, message);
    struct adl_mirror_job *job = adl_slurm_mirror_read_job(&executor->mirror, message, executor->opening);
    if (!job)
        return;
    job->sync = executor->sync;
    if (job->state == ADL_SLURM_RUNS)
        follow(executor, job, message);
    if (!executor->opening)
        adl_executor_slurm_reconcile(executor, job);
}

static struct adl_mirror_job *find_seq(struct adl_executor_slurm *executor, uint64_t seq)
{
    for (uint32_t i = 0; i < executor->mirror.job_count; i++)
        if (executor->mirror.jobs[i]->seq == seq)
            return executor->mirror.jobs[i];
    return NULL;
}

static void receive_done(struct adl_executor_slurm *executor, const cJSON *message)
{
    const double seq = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "seq"));
    struct adl_mirror_job *job = seq > 0 ? find_seq(executor, (uint64_t)seq) : NULL;
    if (!job || !adl_mirror_job_in(job, ADL_MIRROR_WITH_SLURM))
        return;
    adl_mirror_job_apply(job, ADL_MIRROR_ON_ANSWER);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "ok"))) {
        if (job->state == ADL_SLURM_PENDING)
            job->state = ADL_SLURM_RELEASED; /* until the next message about it, which is from after that */
        return;
    }
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "error"));
    char text[160];
    snprintf(text, sizeof text, "Slurm would not place it: %s", why ? why : "no reason was given");
    job->refusals += executor->synced;
    if (job->refusals >= ADL_SLURM_REFUSALS_MAX)
        adl_executor_slurm_give_back(executor, job, text);
    job->failed_us = executor->now_us;
    adl_executor_slurm_post_eligibility(executor, job, text);
    adl_executor_slurm_post_requeued(executor, job, text);
}

/* The adapter has described every job: those that it did not name are gone. */
static void receive_synced(struct adl_executor_slurm *executor)
{
    for (uint32_t i = 0; i < executor->mirror.job_count; i++)
        if (executor->mirror.jobs[i]->sync != executor->sync && executor->mirror.jobs[i]->state != ADL_SLURM_ENDED)
            executor->mirror.jobs[i]->state = ADL_SLURM_ABSENT;
    executor->synced = executor->dirty = true;
}

static void receive_gone(struct adl_executor_slurm *executor, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_mirror_job *job = id > 0 ? adl_slurm_mirror_find(&executor->mirror, (int64_t)id) : NULL;
    if (job && job->state != ADL_SLURM_ENDED)
        job->state = ADL_SLURM_ABSENT;
    executor->dirty = true;
}

void adl_executor_slurm_receive(struct adl_executor_slurm *executor, const cJSON *message)
{
    const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
    if (!event)
        return;
    if (strcmp(event, "up") == 0) {
        executor->sync++;
        executor->synced = false;
    } else if (strcmp(event, "down") == 0) {
        executor->synced = false;
    } else if (strcmp(event, "job") == 0) {
        receive_job(executor, message);
    } else if (strcmp(event, "node") == 0) {
        adl_slurm_mirror_read_node(&executor->mirror, message);
        executor->checked_us = 0;
    } else if (strcmp(event, "done") == 0) {
        receive_done(executor, message);
    } else if (strcmp(event, "synced") == 0) {
        receive_synced(executor);
    } else if (strcmp(event, "gone") == 0) {
        receive_gone(executor, message);
    }
}

/* ---- GPUs that others use, or that cannot be used ---- */

static void report_gpu(struct adl_executor_slurm *executor, uint32_t gpu, bool down, uint32_t foreign, const char *why)
{
    struct adl_report report = {
        .kind = down ? ADL_REPORT_GPU_DOWN : ADL_REPORT_GPU_UP, .slot = ADL_NONE, .gpu = gpu, .foreign = foreign};
    if (executor->down[gpu] == down)
        return;
    executor->down[gpu] = down;
    executor->dirty = true;
    snprintf(report.text, sizeof report.text, "%s", why);
    adl_executor_slurm_post(executor, &report, NULL);
}

void adl_mirror_version_read(struct adl_mirror_version *version, const cJSON *features)
{
    static const char prefix[] = "driver=";
    const cJSON *feature;
    cJSON_ArrayForEach(feature, features)
    {
        const char *text = cJSON_GetStringValue(feature);
        if (!text || strncmp(text, prefix, sizeof prefix - 1) != 0)
            continue;
        version->fresh |= strncmp(version->text, text + sizeof prefix - 1, sizeof version->text - 1) != 0;
        snprintf(version->text, sizeof version->text, "%s", text + sizeof prefix - 1);
    }
}

/* The driver of a node was replaced, or is known now. */
static void report_version(struct adl_executor_slurm *executor, uint32_t n)
{
    const struct adl_node *node = &executor->mirror.inventory->scenario.cluster.nodes[n];
    struct adl_mirror_version *version = &executor->mirror.versions[n];
    for (uint32_t g = 0; version->fresh && g < node->gpu_count; g++) {
        struct adl_report report = {.kind = ADL_REPORT_VERSION, .slot = ADL_NONE, .gpu = node->gpu_first + g};
        memcpy(report.version, version->text, sizeof report.version);
        adl_executor_slurm_post(executor, &report, NULL);
    }
    version->fresh = false;
}

static void check_bank(struct adl_executor_slurm *executor, uint32_t b)
{
    const struct adl_bank *bank = &executor->mirror.inventory->scenario.cluster.banks[b];
    const bool usable = executor->mirror.usable[bank->node];
    uint32_t foreign = adl_slurm_mirror_foreign(&executor->mirror, b);
    if (foreign == 0)
        executor->foreign_us[b] = 0;
    else if (executor->foreign_us[b] == 0)
        executor->foreign_us[b] = executor->now_us;
    if (foreign > 0 && executor->now_us - executor->foreign_us[b] < FOREIGN_US)
        return; /* messages about jobs and nodes come one after the other: wait for both */
    for (uint32_t g = bank->gpu_first + bank->gpu_count; g-- > bank->gpu_first;) {
        const bool theirs = foreign > 0 && executor->mirror.holder[g] == 0;
        foreign -= theirs;
        report_gpu(executor, g, !usable || theirs, theirs && usable,
                   !usable  ? executor->mirror.why[bank->node]
                   : theirs ? "in use, and not by a job that adlro decides about"
                            : "");
    }
}

void adl_executor_slurm_check_gpus(struct adl_executor_slurm *executor)
{
    if (!executor->synced || (executor->checked_us > 0 && executor->now_us < executor->checked_us + 500000))
        return;
    executor->checked_us = executor->now_us;
    for (uint32_t b = 0; b < executor->mirror.inventory->scenario.cluster.bank_count; b++)
        check_bank(executor, b);
    for (uint32_t n = 0; n < executor->mirror.inventory->scenario.cluster.node_count; n++)
        report_version(executor, n);
}
