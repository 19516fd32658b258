/* live_commands: commands of the engine, with the policy's reason in words. They change the job table at once, or are
 * only published in mode advise; live.c writes and executes them when the decision is complete. */
#include "base/hash.h"
#include "policy/mechanism/reason.h"
#include "service/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without the time that it ran. */
static int64_t waited_us(const struct adl_live *live, const struct adl_job_entry *job)
{
    return live->now_us - job->eligible_us - job->ran_us;
}

int64_t adl_live_held_us(const struct adl_live *live, const struct adl_job_entry *job)
{
    return job->start_us > 0 && live->now_us > job->start_us ? live->now_us - job->start_us : 0;
}

void adl_live_say_why(const struct adl_live *live, const struct adl_job_entry *job, const struct adl_reason *reason,
                      char *ret, size_t size)
{
    const struct adl_job_entry *other =
        reason->other_id > 0 ? adl_job_table_find(&live->shared->job_table, reason->other_id) : NULL;
    struct adl_reason here = *reason;
    char label[ADL_LABEL_SIZE], words[ADL_REASON_SIZE];
    here.waited_us = waited_us(live, job); /* the engine does not know of attempts before it was created */
    adl_reason_words(&here, other ? adl_label_of_live(other, label) : NULL, words, sizeof words);
    snprintf(ret, size, "%s: %s", live->shared->policy->name, words);
}

void adl_live_list_gpus(const struct adl_live *live, const uint32_t *gpus, uint32_t count, struct adl_text *text)
{
    char name[ADL_GPU_NAME_SIZE];
    for (uint32_t i = 0; gpus && i < count; i++) {
        adl_service_state_gpu_name(live->shared, gpus[i], name);
        adl_text_printf(text, "%s%s", i > 0 ? " " : "", name);
    }
}

void adl_live_name_gpus(const struct adl_live *live, const uint32_t *gpus, uint32_t count, char *ret, size_t size)
{
    struct adl_text text = {0};
    adl_live_list_gpus(live, gpus, count, &text);
    snprintf(ret, size, "%s", adl_text_status(&text) == 0 && text.data ? text.data : "");
    adl_text_clear(&text);
}

static void put_decision(struct adl_json *json, const struct adl_decision *decision, const char *gpus)
{
    adl_json_put_real(json, "time_s", (double)decision->time_us * 1e-6);
    adl_json_put_uint(json, "job", decision->job);
    adl_json_put_string(json, "label", decision->label);
    adl_json_put_string(json, "what", decision->what);
    adl_json_put_string(json, "gpus", gpus);
    adl_json_put_string(json, "why", decision->why);
}

void adl_live_write_decision(struct adl_live *live, struct adl_json *json, const struct adl_decision *decision,
                             struct adl_job_entry *job)
{
    struct adl_text gpus = {0};
    adl_live_list_gpus(live, job->gpus, job->spec.gpus, &gpus);
    adl_json_object(json);
    put_decision(json, decision, adl_text_status(&gpus) == 0 && gpus.data ? gpus.data : "");
    if (job->waited)
        adl_json_put_string(json, "waited", job->waited);
    adl_json_end(json);
    adl_text_clear(&gpus);
}

void adl_live_publish_decision(struct adl_live *live, const struct adl_decision *decision)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    put_decision(&json, decision, decision->gpus);
    adl_json_end(&json);
    adl_live_publish_to(live, decision->uid, "decision", &text);
}

/* Publishes each decision once and refuses the command. The engine then asks the guard, whose decisions are not
 * published. */
static int advise(struct adl_live *live, struct adl_job_entry *job, const struct adl_command *command,
                  const uint32_t *gpus, struct adl_error *err)
{
    struct adl_service_state *shared = live->shared;
    struct adl_decision decision = {
        .time_us = live->now_us, .job = adl_job_table_shown(job), .uid = job->uid, .what = "advise"};
    const uint64_t hash = adl_hash_bytes(adl_hash_start(), gpus, command->gpu_count * sizeof *gpus);
    if (hash != job->advised && command->reason.rule != ADL_RULE_GUARD) {
        job->advised = hash;
        adl_label_of_live(job, decision.label);
        adl_live_say_why(live, job, &command->reason, decision.why, sizeof decision.why);
        adl_live_name_gpus(live, gpus, command->gpu_count, decision.gpus, sizeof decision.gpus);
        decision.sequence = ++shared->decision_count;
        shared->decisions[(shared->decision_count - 1) % ADL_DECISIONS_MAX] = decision;
        adl_live_publish_decision(live, &decision);
        if (live->config.executor.ops->advise) {
            char text[420];
            snprintf(text, sizeof text, "adlro: would start it on %s (%s)", decision.gpus, decision.why);
            live->config.executor.ops->advise(live->config.executor.self, job, text);
        }
    }
    return adl_fail(err, ADL_EREFUSED, "in this mode nothing is executed");
}

/* The job holds its GPUs in memory; live.c writes it and tells the executor when the decision is complete. */
static int begin_start(struct adl_live *live, struct adl_job_entry *job, const struct adl_command *command,
                       const uint32_t *gpus, struct adl_error *err)
{
    if (live->retry_us > 0 && !live->adopting)
        return adl_fail(err, ADL_EREFUSED, "nothing is started while the state cannot be written");
    const int event = live->adopting                              ? ADL_ON_TAKE_OVER
                      : live->config.executor.ops->confirms_start ? ADL_ON_PLACE
                                                                  : ADL_ON_START;
    if (adl_stage_next(job->stage, event) < 0)
        return adl_fail(err, ADL_EREFUSED, "job %llu %s", (unsigned long long)job->id,
                        adl_stage_refusal(job->stage, event));
    if (live->config.advice_only && !live->adopting)
        return advise(live, job, command, gpus, err);
    if (adl_grow((void **)&live->acts, &live->act_capacity, (size_t)live->act_count + 1, sizeof *live->acts))
        return adl_fail(err, ADL_ENOMEM, "out of memory to start job %llu", (unsigned long long)job->id);
    job->gpus = calloc(command->gpu_count, sizeof *job->gpus);
    if (!job->gpus)
        return adl_fail(err, ADL_ENOMEM, "out of memory to start job %llu", (unsigned long long)job->id);
    memcpy(job->gpus, gpus, command->gpu_count * sizeof *gpus);
    struct adl_live_act *act = &live->acts[live->act_count++];
    *act = (struct adl_live_act){.job = job->id, .slot = command->job, .start = true};
    if (!live->adopting)
        adl_live_say_why(live, job, &command->reason, act->why, sizeof act->why);
    for (uint32_t i = 0; i < job->alternative_count; i++)
        if (job->alternatives[i].slot == command->job)
            job->taken = i;
    job->spec.gpus = job->alternatives[job->taken].gpus;
    job->spec.types = job->alternatives[job->taken].types;
    return adl_live_transition(live, job, event);
}

int adl_live_submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct adl_live *live = self;
    if (command->kind == ADL_COMMAND_WAKE) {
        const struct adl_heap_item item = {command->time_us, 0};
        return adl_heap_push(&live->wakes, item) ? adl_fail(err, ADL_ENOMEM, "out of memory for a wake-up") : 0;
    }
    if (command->kind == ADL_COMMAND_CAP)
        return live->config.executor.ops->cap(live->config.executor.self, gpus, command->gpu_count, command->power_w,
                                              err);
    struct adl_job_entry *job = adl_job_table_at(&live->shared->job_table, command->job);
    if (!job)
        return adl_fail(err, ADL_EREFUSED, "slot %u was just freed", command->job);
    if (command->kind == ADL_COMMAND_START)
        return begin_start(live, job, command, gpus, err);
    if (adl_stage_next(job->stage, ADL_ON_PREEMPT) < 0)
        return adl_fail(err, ADL_EREFUSED, "job %llu %s", (unsigned long long)job->id,
                        adl_stage_refusal(job->stage, ADL_ON_PREEMPT));
    if (adl_grow((void **)&live->acts, &live->act_capacity, (size_t)live->act_count + 1, sizeof *live->acts))
        return adl_fail(err, ADL_ENOMEM, "out of memory to stop job %llu", (unsigned long long)job->id);
    struct adl_live_act *act = &live->acts[live->act_count++];
    *act = (struct adl_live_act){.job = job->id, .slot = command->job};
    adl_live_say_why(live, job, &command->reason, act->why, sizeof act->why);
    adl_live_transition(live, job, ADL_ON_PREEMPT);
    adl_live_say_stop(job, act->why);
    return 0;
}
