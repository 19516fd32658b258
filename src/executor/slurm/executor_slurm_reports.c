#include "executor/slurm/executor_slurm_internal.h"

#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#define FOREIGN_US INT64_C(1500000) /* use by others that lasts so long is believed */

/* Whether the service may have it there under the slot by which it started it. */
static bool is_wanted(const struct adl_hands_slurm *hands, const struct adl_slurm_job *job, const uint32_t *gpus,
                      uint32_t count)
{
    const uint32_t type = adl_gpu_type_of(&hands->book.inventory->scenario.cluster, gpus[0]);
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == job->taken && job->wants[i].gpus == count && job->wants[i].types >> type & 1)
            return true;
    return false;
}

/* Where it runs, if that is not where it was to. */
static void follow(struct adl_hands_slurm *hands, struct adl_slurm_job *job, const cJSON *message)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    const bool ours = job->ours || hands->config.mode != ADL_SLURM_ACT;
    const uint32_t count = adl_slurm_book_find_gpus(&hands->book, job, message, gpus);
    if (count == 0 || !ours || job->seated || job->told)
        return;
    if (job->placed && !job->moved && adl_slurm_book_alike(&hands->book, gpus, count, job->gpus, job->gpu_count))
        return;
    const bool wanted = job->placed && is_wanted(hands, job, gpus, count), moved = job->moved;
    if (job->placed && !wanted)
        adl_hands_slurm_post_evict(hands, job, "Slurm has started it on GPUs that it was not thought to take");
    const int status = adl_slurm_book_hold(&hands->book, job, gpus, count); /* without memory: used by others */
    if (wanted && status == 0)
        adl_hands_slurm_post_place(hands, job,
                                   moved ? "those that were chosen are on nodes it may not use" : "Slurm chose so");
}

/* A slurmctld that crashed has forgotten the last jobs, and gives their numbers to others. */
static void check_identity(struct adl_hands_slurm *hands, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_slurm_job *known = id > 0 && id < 1e15 ? adl_slurm_book_find(&hands->book, (int64_t)id) : NULL;
    if (!known || known->number == 0 || known->told || adl_slurm_book_is_same(known, message))
        return;
    adl_hands_slurm_end_as(hands, known, known->seated ? ADL_END_FAILED : ADL_END_CANCELLED,
                           "Slurm has forgotten it, and given its number to another job");
    adl_hands_slurm_remove(hands, known);
}

static void hear_job(struct adl_hands_slurm *hands, const cJSON *message)
{
    check_identity(hands, message);
    struct adl_slurm_job *job = adl_slurm_book_read_job(&hands->book, message, hands->opening);
    if (!job)
        return;
    job->sync = hands->sync;
    if (job->state == ADL_SLURM_RUNS)
        follow(hands, job, message);
    if (!hands->opening)
        adl_hands_slurm_settle(hands, job);
}

static struct adl_slurm_job *find_seq(struct adl_hands_slurm *hands, uint64_t seq)
{
    for (uint32_t i = 0; i < hands->book.job_count; i++)
        if (hands->book.jobs[i]->seq == seq)
            return hands->book.jobs[i];
    return NULL;
}

static void hear_done(struct adl_hands_slurm *hands, const cJSON *message)
{
    const double seq = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "seq"));
    struct adl_slurm_job *job = seq > 0 ? find_seq(hands, (uint64_t)seq) : NULL;
    if (!job || !job->placed)
        return;
    job->answered = true;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "ok"))) {
        job->released = true; /* until the next word about it, which is from after that */
        return;
    }
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "error"));
    char text[160];
    snprintf(text, sizeof text, "Slurm would not place it: %s", why ? why : "no reason was given");
    job->refusals += hands->synced;
    if (job->refusals >= ADL_SLURM_REFUSALS_MAX)
        adl_hands_slurm_give_back(hands, job, text);
    job->failed_us = hands->now_us;
    adl_hands_slurm_post_bar(hands, job, text);
    adl_hands_slurm_post_evict(hands, job, text);
}

/* Everything there is was told: what was not is gone. */
static void hear_synced(struct adl_hands_slurm *hands)
{
    for (uint32_t i = 0; i < hands->book.job_count; i++)
        if (hands->book.jobs[i]->sync != hands->sync && hands->book.jobs[i]->state != ADL_SLURM_ENDED)
            hands->book.jobs[i]->state = ADL_SLURM_ABSENT;
    hands->synced = hands->restless = true;
}

static void hear_gone(struct adl_hands_slurm *hands, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_slurm_job *job = id > 0 ? adl_slurm_book_find(&hands->book, (int64_t)id) : NULL;
    if (job && job->state != ADL_SLURM_ENDED)
        job->state = ADL_SLURM_ABSENT;
    hands->restless = true;
}

void adl_hands_slurm_hear(struct adl_hands_slurm *hands, const cJSON *message)
{
    const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
    if (!event)
        return;
    if (strcmp(event, "up") == 0) {
        hands->sync++;
        hands->synced = false;
    } else if (strcmp(event, "down") == 0) {
        hands->synced = false;
    } else if (strcmp(event, "job") == 0) {
        hear_job(hands, message);
    } else if (strcmp(event, "node") == 0) {
        adl_slurm_book_read_node(&hands->book, message);
        hands->looked_us = 0;
    } else if (strcmp(event, "done") == 0) {
        hear_done(hands, message);
    } else if (strcmp(event, "synced") == 0) {
        hear_synced(hands);
    } else if (strcmp(event, "gone") == 0) {
        hear_gone(hands, message);
    }
}

/* ---- GPUs that others use, or nobody can ---- */

static void report_gpu(struct adl_hands_slurm *hands, uint32_t gpu, bool down, uint32_t foreign, const char *why)
{
    struct adl_report report = {.event = {.kind = down ? ADL_EVENT_GPU_DOWN : ADL_EVENT_GPU_UP, .gpu = gpu},
                                .foreign = foreign};
    if (hands->down[gpu] == down)
        return;
    hands->down[gpu] = down;
    hands->restless = true;
    snprintf(report.text, sizeof report.text, "%s", why);
    adl_hands_slurm_post(hands, &report, NULL);
}

static void look_at_bank(struct adl_hands_slurm *hands, uint32_t b)
{
    const struct adl_bank *bank = &hands->book.inventory->scenario.cluster.banks[b];
    const bool usable = hands->book.usable[bank->node];
    uint32_t foreign = adl_slurm_book_foreign(&hands->book, b);
    if (foreign == 0)
        hands->foreign_us[b] = 0;
    else if (hands->foreign_us[b] == 0)
        hands->foreign_us[b] = hands->now_us;
    if (foreign > 0 && hands->now_us - hands->foreign_us[b] < FOREIGN_US)
        return; /* jobs and nodes are told one after the other: wait until both were */
    for (uint32_t g = bank->gpu_first + bank->gpu_count; g-- > bank->gpu_first;) {
        const bool theirs = foreign > 0 && hands->book.holder[g] == 0;
        foreign -= theirs;
        report_gpu(hands, g, !usable || theirs, theirs && usable,
                   !usable  ? hands->book.why[bank->node]
                   : theirs ? "in use, and not by a job that adlro decides about"
                            : "");
    }
}

void adl_hands_slurm_look_at_gpus(struct adl_hands_slurm *hands)
{
    if (!hands->synced || (hands->looked_us > 0 && hands->now_us < hands->looked_us + 500000))
        return;
    hands->looked_us = hands->now_us;
    for (uint32_t b = 0; b < hands->book.inventory->scenario.cluster.bank_count; b++)
        look_at_bank(hands, b);
}
