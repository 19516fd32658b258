/* live_idle: jobs that hold GPUs and do not use them: an event of the job when that is found and when it ends, the GPU
 * time of each user that was lost so, and, if the configuration says so, a stop after notice.
 *
 * Only readings count: a GPU whose utilization is not known, or was not for a while, counts as used. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <string.h>

#define CHECK_US INT64_C(250000) /* of this machine's time */
#define GAP      4               /* readings that are further apart than this part of idle.after_s show nothing */

/* How long a GPU of the job has been unused while the job had it. */
static int64_t unused_us(const struct adl_live *live, const struct adl_job_entry *job, uint32_t gpu)
{
    const int64_t held_us = live->now_us - job->start_us, unused = live->shared->gpus[gpu].unused_us;
    return unused < held_us ? unused : held_us > 0 ? held_us : 0;
}

/* Adds to the job and its user what they held in vain, by_us more than at the reading before. */
static void charge(struct adl_live *live, struct adl_job_entry *job, uint32_t gpu, int64_t by_us, uint32_t jobs)
{
    const int64_t after_us = live->shared->idle.after_us, now_us = unused_us(live, job, gpu);
    if (now_us < after_us)
        return;
    const int64_t part_us = (now_us - by_us < after_us ? now_us : by_us) / jobs;
    job->idle_us += part_us;
    adl_user_sums_add_idle(&live->shared->idle_users, job->user, job->uid, (double)part_us);
}

void adl_live_idle_sample(struct adl_live *live, uint32_t gpu, const struct adl_telemetry *readings)
{
    const struct adl_idle_config *idle = &live->shared->idle;
    const struct adl_gpu_use *use = &adl_engine_state(live->shared->engine)->gpus[gpu];
    struct adl_service_state_gpu *it = &live->shared->gpus[gpu];
    const int64_t gap_us = live->steady_us - it->read_us;
    const bool first = it->read_us == 0;
    it->read_us = live->steady_us;
    if (first || idle->after_us == 0 || readings->missing >> ADL_READ_UTILIZATION & 1 ||
        (double)readings->value[ADL_READ_UTILIZATION] >= idle->below || gap_us > idle->after_us / GAP) {
        it->unused_us = 0;
        return;
    }
    it->unused_us += gap_us;
    const uint32_t jobs = (uint32_t)(use->job[0] != ADL_NONE) + (uint32_t)(use->job[1] != ADL_NONE);
    for (uint32_t i = 0; i < jobs; i++) {
        struct adl_job_entry *job = adl_job_table_at(&live->shared->job_table, use->job[i]);
        if (job && adl_job_table_runs(job))
            charge(live, job, gpu, gap_us, jobs);
    }
}

/* ---- what is said ---- */

static void publish(struct adl_live *live, const struct adl_job_entry *job, const char *kind, const char *why)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    char label[ADL_LABEL_SIZE];
    adl_json_object(&json);
    adl_json_put_uint(&json, "id", adl_job_table_shown(job));
    adl_json_put_string(&json, "label", adl_label_of_live(job, label));
    adl_json_put_string(&json, "what", kind);
    adl_json_put_string(&json, "user", job->user);
    adl_json_put_string(&json, "text", why);
    adl_json_end(&json);
    adl_live_publish_to(live, job->uid, "idle", &text);
    adl_live_publish_job(live, job, NULL);
}

/* To the store, the stream and the log; the lock is released while it writes. */
static int tell(struct adl_live *live, struct adl_job_entry *job, const char *kind, const char *why)
{
    struct adl_error err = {""};
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    char label[ADL_LABEL_SIZE], line[400];
    const struct adl_store_status status = adl_live_status(live, job);
    adl_json_object(&json);
    adl_json_put_string(&json, "why", why);
    adl_json_put_uint(&json, "idle_gpus", job->idle.gpus);
    adl_json_put_real(&json, "idle_gpu_s", (double)job->idle_us * 1e-6);
    adl_json_end(&json);
    publish(live, job, kind, why);
    adl_live_notify(live, job, ADL_HOOK_IDLE, kind, "R", why);
    adl_service_state_unlock(live->shared);
    int result = adl_store_job_update(live->config.store, job->id, &status, &err);
    if (result == 0)
        result = adl_live_log(live, kind, job->id, &text, &err);
    adl_text_clear(&text);
    adl_service_state_lock(live->shared);
    snprintf(line, sizeof line, "job %s of %.64s: %.250s", adl_label_of_live(job, label), job->user, why);
    if (live->config.say)
        live->config.say(result ? err.text : line);
    return result;
}

static void say_idle(const struct adl_live *live, const struct adl_job_entry *job, char *ret, size_t size)
{
    const struct adl_idle_config *idle = &live->shared->idle;
    const unsigned percent = (unsigned)(idle->below * 100 + 0.5);
    char span[ADL_IDLE_SPAN_SIZE];
    const int at = snprintf(ret, size, "%u of its %u GPUs were used less than %u %% for %s", job->idle.gpus,
                            job->spec.gpus, percent, adl_idle_span(job->idle.us, span));
    if (job->idle.stop_us > 0)
        snprintf(ret + at, size - (size_t)at, "; it will be stopped in %s unless it uses them",
                 adl_idle_span(idle->notice_us, span));
}

/* ---- the check ---- */

static void measure(const struct adl_live *live, const struct adl_job_entry *job, struct adl_job_idle *ret)
{
    for (uint32_t i = 0; i < job->spec.gpus; i++) {
        const int64_t us = unused_us(live, job, job->gpus[i]);
        if (us < live->shared->idle.after_us)
            continue;
        ret->us = ret->gpus == 0 || us < ret->us ? us : ret->us;
        ret->gpus++;
    }
}

/* Notice is given when all its GPUs are idle, and taken back when one is used again. */
static void decide_stop(struct adl_live *live, struct adl_job_entry *job)
{
    const struct adl_idle_config *idle = &live->shared->idle;
    char why[200], span[ADL_IDLE_SPAN_SIZE];
    if (!idle->stop || job->idle.gpus < job->spec.gpus) {
        job->idle.stop_us = 0;
    } else if (job->idle.stop_us == 0) {
        job->idle.stop_us = live->steady_us + idle->notice_us;
    } else if (live->steady_us >= job->idle.stop_us && !job->idle.asked) {
        snprintf(why, sizeof why, "its GPUs were used less than %u %% for %s, and notice was given",
                 (unsigned)(idle->below * 100 + 0.5), adl_idle_span(job->idle.us, span));
        job->idle.asked = true;
        live->shared->counts.idle_stopped++;
        adl_live_give_up(live, job, why);
    }
}

static void see_job(struct adl_live *live, struct adl_job_entry *job)
{
    const struct adl_job_idle before = job->idle;
    const bool noticed = before.stop_us > 0;
    struct adl_job_idle now = {.told = before.told, .stop_us = before.stop_us, .asked = before.asked};
    char why[240];
    measure(live, job, &now);
    job->idle = now;
    decide_stop(live, job);
    if (now.gpus > 0 && (!before.told || (job->idle.stop_us > 0 && !noticed))) {
        job->idle.told = true;
        say_idle(live, job, why, sizeof why);
        tell(live, job, "idle", why);
    } else if (now.gpus == 0 && before.told) {
        job->idle.told = false;
        tell(live, job, "idle_end", "its GPUs are used again");
    }
}

/* A job is looked at with its first GPU. */
void adl_live_idle_check(struct adl_live *live)
{
    const uint32_t gpus = live->shared->inventory->scenario.cluster.gpu_count;
    if (live->steady_us < live->idle_us || live->shared->idle.after_us == 0 || live->retry_us > 0 || live->disk_full)
        return;
    live->idle_us = live->steady_us + (int64_t)(CHECK_US * live->config.clock->speed);
    for (uint32_t g = 0; g < gpus; g++) {
        const struct adl_gpu_use *use = &adl_engine_state(live->shared->engine)->gpus[g];
        for (int i = 0; i < 2; i++) {
            struct adl_job_entry *job =
                use->job[i] == ADL_NONE ? NULL : adl_job_table_at(&live->shared->job_table, use->job[i]);
            if (job && job->stage == ADL_STAGE_RUNNING && job->gpus && job->gpus[0] == g)
                see_job(live, job);
        }
    }
}
