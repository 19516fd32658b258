/* live_recover: the live world from the store: jobs that wait and jobs that still run; and jobs that run already and
 * that an engine takes over. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The GPUs that a stored job holds, as numbers; NULL: some do not exist any more, or out of memory. */
static uint32_t *find_gpus(const struct adl_inventory *inventory, const char *const *names, uint32_t *ret_count)
{
    uint32_t count = 0;
    while (names && names[count])
        count++;
    uint32_t *gpus = calloc(count + 1, sizeof *gpus);
    for (uint32_t i = 0; gpus && i < count; i++) {
        gpus[i] = adl_inventory_find(inventory, names[i]);
        if (gpus[i] == ADL_NONE) {
            free(gpus);
            gpus = NULL;
        }
    }
    *ret_count = count;
    return gpus;
}

/* Which of its alternatives a job that runs on these GPUs has taken. */
static bool find_taken(const struct adl_live *live, struct adl_job_entry *job, const uint32_t *gpus, uint32_t count)
{
    const uint32_t type = adl_gpu_type_of(&live->shared->inventory->scenario.cluster, gpus[0]);
    for (uint32_t i = 0; i < job->alternative_count; i++)
        if (job->alternatives[i].gpus == count && job->alternatives[i].types >> type & 1) {
            job->taken = i;
            return true;
        }
    return false;
}

static int keep_job(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct adl_live *live = context;
    struct adl_job_entry *job = adl_live_admit(live, row, err);
    uint32_t count = 0;
    if (!job)
        return ADL_ENOMEM;
    job->eligible_us = row->status.hold ? 0 : row->status.eligible_us > 0 ? row->status.eligible_us : row->submit_us;
    job->ran_us = row->status.ran_us;
    /* The clock may have been ahead when these were written. */
    job->submit_us = job->submit_us < live->now_us ? job->submit_us : live->now_us;
    job->eligible_us = job->eligible_us < live->now_us ? job->eligible_us : live->now_us;
    if (row->status.state != ADL_STORE_RUNNING)
        return 0;
    job->start_us = row->status.start_us < live->now_us ? row->status.start_us : live->now_us;
    job->gpus = find_gpus(live->shared->inventory, row->status.gpus, &count);
    if (job->gpus && (count == 0 || !find_taken(live, job, job->gpus, count))) {
        free(job->gpus);
        job->gpus = NULL;
    }
    adl_live_transition(live, job, ADL_ON_RECOVER);
    if (strncmp(job->reason, ADL_REASON_CANCEL, strlen(ADL_REASON_CANCEL)) == 0)
        adl_live_transition(live, job, ADL_ON_CANCEL);
    else if (strncmp(job->reason, ADL_REASON_REQUEUE, strlen(ADL_REASON_REQUEUE)) == 0 || !job->gpus)
        adl_live_transition(live, job, ADL_ON_REQUEUE); /* not on the GPUs that it asked for */
    return 0;
}

static int keep_drain(void *context, const char *gpu, const char *reason, int64_t time_us, struct adl_error *err)
{
    (void)err;
    struct adl_live *live = context;
    const uint32_t g = adl_inventory_find(live->shared->inventory, gpu);
    if (g == ADL_NONE)
        return 0;
    live->shared->gpus[g].drain = true;
    live->shared->gpus[g].drain_us = time_us;
    live->shared->gpus[g].drained_slow = strncmp(reason, ADL_DRAINED_SLOW, strlen(ADL_DRAINED_SLOW)) == 0;
    snprintf(live->shared->gpus[g].reason, sizeof live->shared->gpus[g].reason, "%s", reason);
    return 0;
}

static int see_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    *(int64_t *)context = event->time_us;
    return 0;
}

int64_t adl_live_latest_us(struct adl_store *store)
{
    int64_t latest_us = 0;
    struct adl_error err;
    return adl_store_event_last(store, see_event, &latest_us, &err) == 1 ? latest_us : 0;
}

static int create_tables(struct adl_live *live, struct adl_error *err)
{
    struct adl_service_state *shared = live->shared;
    const uint32_t gpus = shared->inventory->scenario.cluster.gpu_count;
    live->names = calloc((size_t)gpus + 1, sizeof *live->names);
    live->down = calloc((size_t)gpus + 1, sizeof *live->down);
    live->health = calloc((size_t)gpus + 1, sizeof *live->health);
    shared->gpus = calloc((size_t)gpus + 1, sizeof *shared->gpus);
    shared->points = calloc(ADL_POINTS_MAX, sizeof *shared->points);
    shared->decisions = calloc(ADL_DECISIONS_MAX, sizeof *shared->decisions);
    if (!live->names || !live->down || !live->health || !shared->gpus || !shared->points || !shared->decisions ||
        adl_job_table_create(&shared->job_table))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u GPUs", gpus);
    for (uint32_t g = 0; g < gpus; g++) {
        shared->gpus[g].last.missing = (1u << ADL_READ_COUNT) - 1;
        shared->gpus[g].memory_used_mib = -1;
    }
    return 0;
}

int adl_live_create(const struct adl_live_config *config, struct adl_live **ret, struct adl_error *err)
{
    struct adl_live *live = calloc(1, sizeof *live);
    if (!live)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the live world");
    live->config = *config;
    live->shared = config->shared;
    atomic_init(&live->ending, false);
    live->now_us = adl_service_clock_wall(config->clock);
    live->steady_us = adl_service_clock_steady(config->clock);
    live->point_step_us = (int64_t)(ADL_POINT_STEP_US * config->clock->speed);
    live->counted_us = live->now_us;
    live->point_us = live->now_us + live->point_step_us;
    int status = create_tables(live, err);
    if (status == 0)
        status = adl_store_jobs_live(config->store, keep_job, live, err);
    if (status >= 0)
        status = adl_store_drains(config->store, keep_drain, live, err);
    if (status < 0) {
        adl_live_destroy(live);
        return status;
    }
    adl_live_find_points(live);
    adl_live_space_check(live);
    if (live->disk_full)
        snprintf(live->shared->trouble, sizeof live->shared->trouble, "%s", ADL_LIVE_DISK_FULL);
    *ret = live;
    return 0;
}

/* A job that runs is in the engine's queue for a moment, with the rest of its time limit. One that no longer fits this
 * cluster gets only a slot, under which its end is reported. */
static int queue_runner(struct adl_live *live, struct adl_job_entry *job)
{
    struct adl_live_item item = {.event = {.kind = ADL_EVENT_SUBMIT, .gpu = ADL_NONE}, .spec = job->spec};
    const struct adl_executor *executor = &live->config.executor;
    const int64_t ran_us = live->now_us - job->start_us, least_us = 1000000;
    item.spec.gpus = job->alternatives[job->taken].gpus;
    item.spec.types = job->alternatives[job->taken].types;
    item.event.submit.since_us = job->eligible_us;
    if (ran_us > 0)
        item.spec.limit_us = item.spec.limit_us - ran_us > least_us ? item.spec.limit_us - ran_us : least_us;
    if (executor->ops->admit(executor->self, &item.spec, &item.event.job, NULL) ||
        adl_job_table_set_slot(&live->shared->job_table, job, job->taken, item.event.job))
        return ADL_ENOMEM;
    return job->gpus ? adl_live_post(live, &item) : 0;
}

static int queue_all(struct adl_live *live, struct adl_error *err)
{
    for (struct adl_job_entry *job = live->shared->job_table.first; job; job = job->next)
        if (adl_job_table_holds_gpus(job) ? queue_runner(live, job) : adl_live_place(live, job))
            return adl_fail(err, ADL_ENOMEM, "out of memory for job %llu", (unsigned long long)job->id);
    return 0;
}

/* The engine takes over a job on its GPUs, or refuses. */
static int take_over(struct adl_engine *engine, struct adl_plan *plan, struct adl_job_entry *job, bool *ret_refused,
                     struct adl_error *err)
{
    char label[ADL_LABEL_SIZE];
    uint32_t *held = job->gpus;
    const uint32_t count = job->alternatives[job->taken].gpus;
    adl_plan_reset(plan);
    uint32_t *gpus = adl_plan_gpus(plan, count);
    if (!gpus)
        return adl_fail(err, ADL_EINVAL, "job %s holds more GPUs than there are", adl_label_of_live(job, label));
    memcpy(gpus, held, count * sizeof *gpus);
    if (adl_plan_start(plan, job->alternatives[job->taken].slot, count) == 0)
        adl_plan_because(plan, adl_reason_make(ADL_RULE_RUNS, ADL_NONE, 0, 0));
    job->gpus = NULL;
    const int status = adl_engine_act(engine, plan, ret_refused, err);
    free(held);
    return status;
}

static int adopt_job(struct adl_live *live, struct adl_engine *engine, struct adl_plan *plan, struct adl_job_entry *job,
                     struct adl_error *err)
{
    const struct adl_executor *executor = &live->config.executor;
    const uint32_t slot = job->alternatives[job->taken].slot;
    bool refused = true;
    int status = 0;
    if (job->gpus)
        status = take_over(engine, plan, job, &refused, err);
    if (status)
        return status;
    if (!refused)
        adl_engine_began(engine, slot, job->start_us);
    else if (job->stage == ADL_STAGE_RUNNING) /* its GPUs, cores or memory are not what they were */
        adl_live_transition(live, job, ADL_ON_REQUEUE);
    const char *why = strchr(job->reason, ':');
    if (!executor->ops->adopt(executor->self, job, slot,
                              job->gpus)) { /* a simulated cluster does not survive a restart */
        if (job->stage == ADL_STAGE_CANCELLING)
            adl_live_give_up(live, job, why ? why + 2 : "");
        return adl_live_requeue(live, job, ADL_ON_LOSE, slot, 1.0);
    }
    if (job->stage == ADL_STAGE_RUNNING)
        return 0;
    adl_live_say_stop(job, why ? why + 2 : "the GPUs it ran on are not the same any more");
    return adl_live_execute(live, job, adl_stages[job->stage].order, slot, job->reason, err);
}

int adl_live_adopt(struct adl_live *live, struct adl_engine *engine, struct adl_error *err)
{
    struct adl_plan plan = {0};
    struct adl_job_table *job_table = &live->shared->job_table;
    const struct adl_live_item wake = {.event = {.kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE}};
    int status = adl_plan_create(&plan, live->shared->inventory->scenario.cluster.gpu_count);
    if (status)
        return adl_fail(err, status, "out of memory for a plan");
    uint32_t ran = 0;
    uint64_t *numbers = calloc((size_t)adl_job_table_running(job_table) + 1, sizeof *numbers);
    for (struct adl_job_entry *job = job_table->first; numbers && job; job = job->next)
        if (adl_job_table_holds_gpus(job))
            numbers[ran++] = job->id;
    status = numbers ? queue_all(live, err) : adl_fail(err, ADL_ENOMEM, "out of memory for %u jobs", ran);
    if (status == 0)
        status = adl_live_post(live, &wake);
    live->adopting = true;
    if (status == 0)
        status = adl_engine_advance(engine, err) < 0 ? ADL_EIO : 0;
    for (uint32_t i = 0; status == 0 && i < ran; i++)
        status = adopt_job(live, engine, &plan, adl_job_table_find(job_table, numbers[i]), err);
    if (status == 0)
        status = adl_engine_settle(engine, err);
    live->adopting = false;
    live->act_count = 0;
    for (uint32_t g = 0; status == 0 && g < live->shared->inventory->scenario.cluster.gpu_count; g++)
        if (live->shared->gpus[g].drain)
            adl_live_gpu_changed(live, g);
    if (status == 0)
        status = adl_live_post(live, &wake); /* now it may decide */
    free(numbers);
    adl_plan_clear(&plan);
    return status;
}

/* Queues a job that the old engine had, under the same slots. */
static int queue_again(struct adl_live *live, struct adl_job_entry *job)
{
    const bool runs = adl_job_table_holds_gpus(job);
    for (uint32_t i = 0; i < job->alternative_count; i++) {
        struct adl_live_item item = {.event = {.kind = ADL_EVENT_SUBMIT, .gpu = ADL_NONE}, .spec = job->spec};
        item.event.job = job->alternatives[i].slot;
        if (item.event.job == ADL_NONE || (runs && !job->gpus))
            continue;
        item.spec.gpus = job->alternatives[i].gpus;
        item.spec.types = job->alternatives[i].types;
        item.spec.priority = job->priority;
        item.event.submit.since_us = job->eligible_us;
        if (adl_live_post(live, &item))
            return ADL_ENOMEM;
    }
    return 0;
}

/* The new engine takes over a job; the executor has it all the time. */
static int take_over_again(struct adl_engine *engine, struct adl_plan *plan, struct adl_job_entry *job,
                           struct adl_error *err)
{
    char label[ADL_LABEL_SIZE];
    bool refused = false;
    const int status = take_over(engine, plan, job, &refused, err);
    if (status == 0 && refused)
        return adl_fail(err, ADL_EREFUSED, "job %s does not fit the GPUs that it runs on",
                        adl_label_of_live(job, label));
    return status;
}

int adl_live_move(struct adl_live *live, struct adl_engine *engine, struct adl_error *err)
{
    struct adl_plan plan = {0};
    struct adl_job_table *job_table = &live->shared->job_table;
    const uint32_t gpus = live->shared->inventory->scenario.cluster.gpu_count;
    const struct adl_live_item wake = {.event = {.kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE}};
    int status = adl_plan_create(&plan, gpus);
    live->moving = false;
    live->adopting = true;
    live->outbox_first = live->outbox_count = 0; /* the job table has what the old engine did not get */
    for (struct adl_job_entry *job = job_table->first; status == 0 && job; job = job->next)
        status = queue_again(live, job);
    if (status == 0)
        status = adl_live_post(live, &wake);
    if (status)
        adl_fail(err, status, "out of memory for another engine");
    if (status == 0)
        status = adl_engine_advance(engine, err) < 0 ? ADL_EIO : 0;
    for (struct adl_job_entry *job = job_table->first; status == 0 && job; job = job->next)
        if (adl_job_table_holds_gpus(job) && job->gpus)
            status = take_over_again(engine, &plan, job, err);
    if (status == 0)
        status = adl_engine_settle(engine, err);
    live->adopting = false;
    live->act_count = 0;
    for (uint32_t g = 0; status == 0 && g < gpus; g++) {
        live->down[g] = false;
        adl_live_gpu_changed(live, g);
    }
    if (status == 0)
        status = adl_live_post(live, &wake);
    adl_plan_clear(&plan);
    return status;
}

/* ---- jobs that the cluster started ---- */

static int take_over_started(struct adl_live *live, const struct adl_live_takeover *it, struct adl_error *err)
{
    struct adl_job_table *job_table = &live->shared->job_table;
    struct adl_job_entry *job = adl_job_table_find(job_table, it->job);
    bool refused = false;
    if (!job || job->stage != ADL_STAGE_CLUSTER_STARTED)
        return 0;
    for (uint32_t i = 0; i < job->alternative_count; i++)
        if (job->alternatives[i].slot == it->slot)
            job->taken = i;
    uint32_t *kept = malloc(job->alternatives[job->taken].gpus * sizeof *kept);
    if (!kept)
        return adl_fail(err, ADL_ENOMEM, "out of memory for job %llu", (unsigned long long)job->id);
    memcpy(kept, job->gpus, job->alternatives[job->taken].gpus * sizeof *kept);
    const int status = take_over(live->shared->engine, &live->plan, job, &refused, err);
    if (refused) { /* it runs without the engine, and its GPUs are shown as used by others */
        adl_live_withdraw_but(live, job, it->slot);
        job->gpus = kept;
        adl_live_transition(live, job, ADL_ON_TAKE_OVER);
    } else {
        free(kept);
        adl_live_drop_alternatives(live, job);
    }
    live->shared->counts.started += !it->moved;
    adl_live_publish_job(live, job, NULL);
    return status;
}

int adl_live_take_over(struct adl_live *live, struct adl_error *err)
{
    int status =
        live->plan.commands ? 0 : adl_plan_create(&live->plan, live->shared->inventory->scenario.cluster.gpu_count);
    live->adopting = true;
    for (uint32_t i = 0; status == 0 && i < live->takeover_count; i++)
        status = take_over_started(live, &live->takeovers[i], err);
    live->adopting = false;
    live->act_count = 0;
    live->takeover_count = 0;
    return status;
}
