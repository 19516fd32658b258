/* live_jobs: moves of jobs from stage to stage, in memory, after they were written. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int adl_live_request(struct adl_live *live, struct adl_job_entry *job, struct adl_error *err)
{
    const struct adl_cluster *cluster = &live->shared->inventory->scenario.cluster;
    struct adl_alternative found[ADL_ALTERNATIVES_MAX];
    uint32_t count = 0, kept = 0;
    const char *why = "";
    const int status = adl_gpu_request_read(job->request, cluster, found, &count, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        struct adl_job_spec spec = job->spec;
        spec.gpus = found[i].gpus;
        spec.types = found[i].types;
        if (!adl_demand_possible(cluster, &spec, &why))
            continue;
        found[i].slot = ADL_NONE;
        job->alternatives[kept++] = found[i];
    }
    if (kept == 0)
        return adl_fail(err, ADL_EINVAL, "no node here can ever run it: %s", why);
    job->alternative_count = kept;
    job->spec.gpus = job->alternatives[0].gpus;
    job->spec.types = job->alternatives[0].types;
    return 0;
}

/* ---- moves ---- */

/* Each of its alternatives that is not in the policy's queue yet. */
static int join_queue(struct adl_live *live, struct adl_job_entry *job)
{
    const struct adl_executor *executor = &live->config.executor;
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        struct adl_live_item item = {.event = {.kind = ADL_EVENT_SUBMIT, .gpu = ADL_NONE}, .spec = job->spec};
        uint32_t slot;
        if (job->alternatives[i].slot != ADL_NONE)
            continue; /* the engine still has it, after an eviction */
        item.spec.gpus = job->alternatives[i].gpus;
        item.spec.types = job->alternatives[i].types;
        item.spec.priority = job->priority;
        item.event.submit.since_us = job->eligible_us;
        if (executor->ops->admit(executor->self, &item.spec, &slot, NULL))
            return ADL_ENOMEM;
        item.event.job = slot;
        if (adl_job_table_set_slot(&live->shared->job_table, job, i, slot) || adl_live_post(live, &item))
            return ADL_ENOMEM;
    }
    return 0;
}

/* Counts events that are on their way: one group may put a job into the queue and take it out again. */
bool adl_live_in_engine(const struct adl_live *live, uint32_t slot)
{
    const struct adl_state *state = adl_engine_state(live->shared->engine);
    for (size_t i = live->outbox_count; i > live->outbox_first; i--) {
        const struct adl_event *event = &live->outbox[i - 1].event;
        if (event->job == slot && (event->kind == ADL_EVENT_SUBMIT || event->kind == ADL_EVENT_FINISH))
            return event->kind == ADL_EVENT_SUBMIT;
    }
    return slot < state->job_capacity && state->jobs[slot].phase != ADL_PHASE_NONE;
}

int adl_live_post_evict(struct adl_live *live, uint32_t slot, double remaining)
{
    struct adl_live_item item = {.event = {.kind = ADL_EVENT_EVICT, .job = slot}};
    const struct adl_state *state = adl_engine_state(live->shared->engine);
    item.event.evict.remaining = remaining;
    return state->jobs[slot].phase >= ADL_PHASE_RUNNING ? adl_live_post(live, &item) : 0;
}

int adl_live_requeue(struct adl_live *live, struct adl_job_entry *job, int event, uint32_t slot, double remaining)
{
    const bool unknown = !adl_live_in_engine(live, slot); /* it ran without the engine */
    const int status = adl_live_transition(live, job, event);
    if (status)
        return status;
    live->shared->counts.requeued++;
    adl_job_table_set_reason(job, "");
    if (!unknown && adl_live_post_evict(live, slot, remaining))
        return ADL_ENOMEM;
    if (!unknown && !job->ineligible && !job->hold)
        return adl_live_transition(live, job, ADL_ON_ENQUEUE);
    adl_live_withdraw(live, job);
    return adl_live_place(live, job);
}

void adl_live_withdraw_but(struct adl_live *live, struct adl_job_entry *job, uint32_t kept)
{
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        struct adl_live_item item = {.event = {.kind = ADL_EVENT_FINISH, .job = job->alternatives[i].slot}};
        if (item.event.job == ADL_NONE)
            continue;
        item.event.outcome.end = ADL_END_CANCELLED;
        if (adl_live_in_engine(live, item.event.job))
            adl_live_post(live, &item);
        if (item.event.job == kept)
            continue;
        live->config.executor.ops->withdraw(live->config.executor.self, item.event.job);
        live->shared->job_table.slots[item.event.job] = NULL;
        job->alternatives[i].slot = ADL_NONE;
    }
}

void adl_live_withdraw(struct adl_live *live, struct adl_job_entry *job)
{
    adl_live_withdraw_but(live, job, ADL_NONE);
}

/* An error of the service itself. */
static int refuse_transition(struct adl_live *live, const struct adl_job_entry *job, int event)
{
    char label[ADL_LABEL_SIZE], text[200];
    snprintf(text, sizeof text, "internal error: job %s: '%s' is impossible in stage '%s'; the job stays as it is",
             adl_label_of_live(job, label), adl_stage_events[event].name, adl_stages[job->stage].name);
    live->shared->counts.impossible_moves++;
    if (live->config.say)
        live->config.say(text);
    return ADL_EREFUSED;
}

int adl_live_transition(struct adl_live *live, struct adl_job_entry *job, int event)
{
    const struct adl_stage_move *move = adl_job_table_move(&live->shared->job_table, job, event, live->now_us);
    if (!move)
        return refuse_transition(live, job, event);
    if (move->actions & ADL_DO_LEAVE_QUEUE)
        adl_live_withdraw(live, job);
    if (move->actions & ADL_DO_JOIN_QUEUE)
        adl_live_waits_begin(live, job);
    return move->actions & ADL_DO_JOIN_QUEUE ? join_queue(live, job) : 0;
}

int adl_live_execute(struct adl_live *live, struct adl_job_entry *job, int order, uint32_t slot, const char *why,
                     struct adl_error *err)
{
    const struct adl_executor *executor = &live->config.executor;
    int status = 0;
    if (order == ADL_ORDER_START) {
        job->why = why;
        status = executor->ops->start(executor->self, job, slot, job->gpus, err);
        job->why = NULL;
    } else if (order != ADL_ORDER_NONE) {
        status = executor->ops->stop(executor->self, job, slot, order == ADL_ORDER_STOP_AND_REQUEUE, why, err);
    }
    return status;
}

/* ---- ends of other jobs ---- */

struct ending {
    int end;
    uint64_t array_id;
    int32_t array_index;
};

static int read_end(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    (void)err;
    /* Of a job that is in the queue again, its earlier end counts. */
    const bool again = row->status.state < ADL_STORE_ENDED && row->status.requeue_us > 0;
    *(struct ending *)context = (struct ending){again ? row->status.requeue_end : row->status.state - ADL_STORE_ENDED,
                                                row->array_id, row->array_index};
    return 0;
}

/* How a job ended that is not in the job table, or is in it again; negative: there is none. */
static int end_of(void *self, uint64_t id)
{
    struct adl_live *live = self;
    struct ending first = {.end = -1}, next;
    const struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, id);
    if (id > 0 && id == live->departed_id && !job)
        return live->departed_end;
    if (job && job->array_id == 0 && job->requeue_us > 0)
        return job->requeue_end;
    if (adl_store_job_read(live->config.store, id, read_end, &first, NULL) != 1)
        return id > 0 && id <= adl_store_job_last(live->config.store) ? ADL_JOB_TABLE_PURGED : -1;
    /* The jobs of an array have consecutive numbers. */
    for (uint64_t member = id + 1; first.end == ADL_END_COMPLETED && first.array_index >= 0 && first.array_id == id;
         member++) {
        if (adl_store_job_read(live->config.store, member, read_end, &next, NULL) != 1 || next.array_id != id)
            break;
        if (next.end >= 0 && next.end != ADL_END_COMPLETED)
            return next.end;
    }
    return first.end;
}

/* Nobody waits for the answer to a request of the service itself. */
static void answer_nobody(struct adl_request *request)
{
    free(request);
}

void adl_live_give_up(struct adl_live *live, const struct adl_job_entry *job, const char *why)
{
    struct adl_request *request = calloc(1, sizeof *request), **end = &live->requests;
    if (!request)
        return; /* it continues to wait, and its reason says for what */
    request->kind = ADL_REQUEST_CANCEL;
    request->caller.known = request->caller.admin = true;
    request->job = job->id;
    request->answer = answer_nobody;
    snprintf(request->text, sizeof request->text, "%s", why);
    while (*end)
        end = &(*end)->next;
    *end = request;
}

const char *adl_live_held(int hold)
{
    return hold == ADL_HOLD_ADMIN ? "held by an administrator" : "held";
}

/* "dependency: waits for job 3", or why it can never be met. */
static void say_dependency(const struct adl_job_entry *job, const struct adl_store_dependency *on, bool never,
                           char *ret, size_t size)
{
    const unsigned long long id = on->job;
    if (never)
        snprintf(ret, size, "dependency never satisfied: job %llu %s", id,
                 on->after == ADL_AFTER_NOT_OK ? "completed" : "did not complete");
    else if (on->after == ADL_AFTER_SINGLETON)
        snprintf(ret, size, "dependency: singleton, waits for other jobs of the name %.100s", job->name);
    else
        snprintf(ret, size, "dependency: waits for job %llu%s", id,
                 on->after == ADL_AFTER_START    ? " to start"
                 : on->after == ADL_AFTER_NOT_OK ? " to fail"
                                                 : "");
}

static int wait_for_jobs(struct adl_live *live, struct adl_job_entry *job, const struct adl_store_dependency *on,
                         bool never)
{
    char reason[200];
    say_dependency(job, on, false, reason, sizeof reason);
    adl_job_table_set_reason(job, reason);
    if (never) {
        say_dependency(job, on, true, reason, sizeof reason);
        adl_live_give_up(live, job, reason);
    }
    return adl_live_transition(live, job, ADL_ON_AWAIT_JOBS);
}

static int wait_for_begin(struct adl_live *live, struct adl_job_entry *job)
{
    const time_t begin = (time_t)(job->begin_us / 1000000);
    char reason[80] = "begins later";
    struct tm parts;
    if (localtime_r(&begin, &parts))
        strftime(reason, sizeof reason, "begins at %Y-%m-%d %H:%M:%S %Z", &parts);
    adl_job_table_set_reason(job, reason);
    job->eligible_us = 0;
    const int status = adl_live_transition(live, job, ADL_ON_AWAIT_TIME);
    return status ? status : adl_heap_push(&live->begins, (struct adl_heap_item){job->begin_us, job->id});
}

static int wait_for_array(struct adl_live *live, struct adl_job_entry *job)
{
    char reason[120];
    snprintf(reason, sizeof reason, "array throttle: at most %u of the jobs of array %llu run at once",
             job->shared->array.limit, (unsigned long long)job->array_id);
    adl_job_table_set_reason(job, reason);
    return adl_live_transition(live, job, ADL_ON_AWAIT_ARRAY);
}

void adl_live_fill_array(struct adl_live *live, struct adl_job_entry *member)
{
    const struct adl_job_table_shared *array = member ? member->shared : NULL;
    if (!array || array->array.limit == 0)
        return;
    while (member->previous && member->previous->shared == array)
        member = member->previous;
    for (struct adl_job_entry *next; member && member->shared == array && array->active < array->array.limit;
         member = next) {
        next = member->next;
        if (member->stage == ADL_STAGE_AWAITS_ARRAY) {
            adl_live_place(live, member);
            adl_live_publish_job(live, member, NULL);
        }
    }
}

int adl_live_place(struct adl_live *live, struct adl_job_entry *job)
{
    const struct adl_store_dependency *culprit = NULL;
    struct adl_job_table *job_table = &live->shared->job_table;
    if (job->hold || job->ineligible) {
        if (job->hold && job->reason[0] == '\0')
            adl_job_table_set_reason(job, job->hold == ADL_HOLD_ADMIN ? adl_live_held(job->hold)
                                                                      : "held: release it to let it run");
        const int status = adl_live_transition(live, job, ADL_ON_HOLD);
        adl_live_fill_array(live, job);
        return status;
    }
    const int may = adl_job_table_dependencies(job_table, job, end_of, live, &culprit);
    if (may <= 0)
        return wait_for_jobs(live, job, culprit, may < 0);
    if (job->begin_us > live->now_us)
        return wait_for_begin(live, job);
    if (job->eligible_us == 0) {
        job->eligible_us = live->now_us;
        job->ran_us = 0;
    }
    const uint32_t limit = job->shared->array.limit;
    if (limit > 0 && !adl_stages[job->stage].in_queue && job->shared->active >= limit)
        return wait_for_array(live, job);
    if (job->reason[0] != '\0' && !adl_job_table_holds_gpus(job))
        adl_job_table_set_waited(job, job->reason);
    adl_job_table_set_reason(job, "");
    return adl_live_transition(live, job, ADL_ON_ENQUEUE);
}

void adl_live_begin_due(struct adl_live *live)
{
    for (const struct adl_heap_item *top; (top = adl_heap_top(&live->begins)) && top->time_us <= live->now_us;) {
        struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, adl_heap_pop(&live->begins).tag);
        if (!job || job->stage != ADL_STAGE_AWAITS_TIME)
            continue;
        adl_live_place(live, job);
        adl_live_publish_job(live, job, NULL);
    }
}

void adl_live_place_dependent(struct adl_live *live)
{
    for (struct adl_job_entry *job = live->shared->job_table.first, *next; job; job = next) {
        next = job->next;
        if (job->stage >= ADL_STAGE_AWAITS_JOBS && job->stage <= ADL_STAGE_AWAITS_ARRAY)
            adl_live_place(live, job);
    }
}

/* Places jobs that wait for one which has started or ended. Of the singletons of its name and user only the first job,
 * or the first array, is placed. */
static void place_dependants(struct adl_live *live, uint64_t id, uint64_t array_id, uint32_t uid, const char *name)
{
    struct adl_job_table *job_table = &live->shared->job_table;
    const struct adl_job_entry *single = NULL;
    for (struct adl_job_entry *job = job_table->first, *next; job && job_table->by_stage[ADL_STAGE_AWAITS_JOBS] > 0;
         job = next) {
        next = job->next;
        if (job->stage != ADL_STAGE_AWAITS_JOBS)
            continue;
        const bool turn = name && job->uid == uid && strcmp(job->name, name) == 0 && adl_job_table_is_singleton(job) &&
                          (!single || (single->array_id > 0 && single->array_id == job->array_id));
        single = turn ? job : single;
        if (turn || adl_job_table_depends(job, id, array_id)) {
            adl_live_place(live, job);
            adl_live_publish_job(live, job, NULL);
        }
    }
}

void adl_live_started(struct adl_live *live, const struct adl_job_entry *job)
{
    if (live->shared->job_table.start_waiters > 0)
        place_dependants(live, job->id, job->array_id, 0, NULL);
}

void adl_live_notify(struct adl_live *live, const struct adl_job_entry *job, int event, const char *what,
                     const char *state, const char *why)
{
    char label[ADL_LABEL_SIZE], text[400];
    snprintf(text, sizeof text, "job %s of %.64s %s%s%.250s", adl_label_of_live(job, label), job->user,
             event == ADL_HOOK_JOB_END ? "ended" : "", *why ? ": " : "", why);
    adl_hooks_post(live->shared->hooks, &(struct adl_hook_note){.event = event,
                                                                .time_us = live->now_us,
                                                                .what = what,
                                                                .text = text,
                                                                .job = adl_job_table_shown(job),
                                                                .label = label,
                                                                .name = job->name,
                                                                .user = job->user,
                                                                .state = state});
}

void adl_live_depart(struct adl_live *live, struct adl_job_entry *job, int event, int end)
{
    if (adl_live_transition(live, job, event))
        return;
    struct adl_job_table *job_table = &live->shared->job_table;
    struct adl_service_state_counts *counts = &live->shared->counts;
    const uint64_t id = job->id, array_id = job->array_id;
    const uint32_t uid = job->uid;
    struct adl_job_entry *beside = job->previous && job->previous->shared == job->shared ? job->previous : job->next;
    char name[ADL_STORE_WORD_MAX + 1];
    snprintf(name, sizeof name, "%s", job->name);
    live->departed_id = array_id > 0 ? 0 : id;
    live->departed_end = end;
    beside = beside && beside->shared == job->shared ? beside : NULL;
    uint64_t *const by_end[] = {&counts->completed, &counts->failed, &counts->cancelled, &counts->timed_out};
    ++*by_end[end];
    live->point.ended++;
    if (end == ADL_END_COMPLETED) {
        live->point.completed++;
        live->point.jct_sum_s += (double)(live->now_us - job->submit_us) * 1e-6;
    }
    adl_live_publish_job(live, job, adl_store_state_name(ADL_STORE_ENDED + end));
    adl_live_notify(live, job, ADL_HOOK_JOB_END, "end", adl_store_state_name(ADL_STORE_ENDED + end), job->reason);
    adl_job_table_remove(job_table, job);
    adl_live_fill_array(live, beside);
    place_dependants(live, id, array_id, uid, name);
    live->departed_id = 0;
}

void adl_live_say_stop(struct adl_job_entry *job, const char *why)
{
    char reason[240];
    snprintf(reason, sizeof reason, "%s%s", job->stage == ADL_STAGE_CANCELLING ? ADL_REASON_CANCEL : ADL_REASON_REQUEUE,
             why);
    adl_job_table_set_reason(job, reason);
}
