#include "executor/slurm/executor_slurm_internal.h"

#include "base/index.h"
#include "executor/slurm/slurm_messages.h"
#include "executor/slurm/slurm_nodes.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS      50
#define HEARTBEAT_US INT64_C(2000000) /* between heartbeats to the adapter */
#define RESTART_US   INT64_C(1000000) /* before an adapter that ended is started again */

/* ---- sending ---- */

/* Orders that the adapter had not answered may or may not have been carried out: the next message about a job tells. */
static void lose_link(struct adl_executor_slurm *executor)
{
    adl_slurm_link_close(executor->link);
    executor->link = NULL;
    executor->synced = false;
    executor->restart_us = executor->now_us + RESTART_US;
    for (uint32_t i = 0; i < executor->mirror.job_count; i++)
        adl_mirror_job_apply(executor->mirror.jobs[i], ADL_MIRROR_ON_ANSWER);
}

/* A message that cannot be sent is dropped: the executor reconciles with the whole cluster once the adapter is back. */
static void send_text(struct adl_executor_slurm *executor, struct adl_text *text)
{
    if (!executor->link)
        adl_text_clear(text);
    else if (adl_slurm_link_send(executor->link, text, NULL))
        lose_link(executor);
}

void adl_executor_slurm_send(struct adl_executor_slurm *executor, const char *op, const struct adl_mirror_job *job,
                             const char *comment)
{
    struct adl_text text = {0};
    adl_slurm_message_job(&text, op, ++executor->seq, job, comment);
    send_text(executor, &text);
}

static int hello(struct adl_executor_slurm *executor, struct adl_error *err)
{
    struct adl_text text = {0};
    int status = adl_slurm_link_open(executor->config.adapter, executor->config.conf, &executor->link, err);
    if (status)
        return status;
    adl_slurm_message_hello(&text, &executor->config, POLL_MS);
    status = adl_slurm_link_send(executor->link, &text, err);
    if (status)
        lose_link(executor);
    return status;
}

/* ---- the interface ---- */

/* By its number in the service; most often it is among the last. */
static struct adl_mirror_job *find_number(struct adl_executor_slurm *executor, uint64_t number)
{
    for (uint32_t i = executor->mirror.job_count; i-- > 0;)
        if (executor->mirror.jobs[i]->number == number)
            return executor->mirror.jobs[i];
    return NULL;
}

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *job = find_number(executor, spec->id);
    if (adl_grow((void **)&executor->slots, &executor->slot_capacity, (size_t)executor->slot_count + 1,
                 sizeof(struct adl_mirror_job *)) ||
        adl_grow((void **)&executor->free_slots, &executor->free_capacity, (size_t)executor->slot_count + 1,
                 sizeof *executor->free_slots))
        return adl_fail(err, ADL_ENOMEM, "out of memory for one more job");
    const uint32_t slot =
        executor->free_count > 0 ? executor->free_slots[--executor->free_count] : executor->slot_count++;
    executor->slots[slot] = job;
    for (int i = 0; job && i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == ADL_NONE) {
            job->slots[i] = slot;
            job->wants[i] = (struct adl_alternative){spec->gpus, spec->types, slot};
            break;
        }
    *ret_slot = slot;
    executor->dirty = true;
    return 0;
}

static void release(struct adl_executor_slurm *executor, uint32_t slot)
{
    struct adl_mirror_job *job = executor->slots[slot];
    for (int i = 0; job && i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == slot)
            job->slots[i] = ADL_NONE;
    executor->slots[slot] = NULL;
    executor->free_slots[executor->free_count++] = slot;
}

static void withdraw(void *self, uint32_t slot)
{
    release(self, slot);
}

/* Why Slurm could not give the job the GPUs it holds: each of its nodes must have as many, and be one it may use. NULL:
 * it could. */
static const char *find_flaw(const struct adl_executor_slurm *executor, const struct adl_mirror_job *job)
{
    const struct adl_cluster *cluster = &executor->mirror.inventory->scenario.cluster;
    uint32_t nodes = 0, here = 0;
    for (uint32_t i = 0; i < job->gpu_count; i++, here++) {
        const uint32_t node = adl_gpu_node_of(cluster, job->gpus[i]);
        if (job->excluded && job->excluded[node])
            return "it may not use a node that was chosen for it";
        if (i > 0 && node == adl_gpu_node_of(cluster, job->gpus[i - 1]))
            continue;
        if (i > 0 && here != job->gpu_count / job->nodes)
            return "its GPUs have to be as many on each of its nodes";
        nodes++;
        here = 0;
    }
    return nodes != job->nodes ? "it wants another number of nodes than was chosen for it" : NULL;
}

/* To other free GPUs, if Slurm could not give the chosen ones: of the same type, or of another type that the job
 * accepts as many of. */
static bool move(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    const uint32_t chosen = adl_gpu_type_of(&executor->mirror.inventory->scenario.cluster, job->gpus[0]);
    uint32_t gpus[ADL_JOB_GPUS_MAX], types = 0;
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == job->run_slot && job->wants[i].gpus == job->gpu_count)
            types = job->wants[i].types & ~(1u << chosen);
    uint32_t count = adl_slurm_mirror_find_free(&executor->mirror, job, chosen, job->gpu_count, executor->down, gpus);
    for (; count == 0 && types; types &= types - 1)
        count = adl_slurm_mirror_find_free(&executor->mirror, job, (uint32_t)__builtin_ctz(types), job->gpu_count,
                                           executor->down, gpus);
    job->moved = count > 0 && adl_slurm_mirror_hold(&executor->mirror, job, gpus, count) == 0;
    return job->moved;
}

static void place(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why)
{
    char comment[300];
    struct adl_text text = {0};
    adl_mirror_job_apply(job, ADL_MIRROR_ON_PLACE);
    job->asked_us = 0;
    job->seq = ++executor->seq;
    snprintf(comment, sizeof comment, "adlro: %s", why ? why : "placed");
    adl_slurm_message_place(&text, job->seq, &executor->mirror.inventory->scenario.cluster, job, comment);
    send_text(executor, &text);
    if (!executor->link) /* it was not sent */
        adl_mirror_job_apply(job, ADL_MIRROR_ON_ANSWER);
}

static int start(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *it = executor->slots[slot];
    if (it && !adl_mirror_job_in(it, ADL_MIRROR_WITH_SERVICE))
        return 0;                                                             /* its end was reported */
    const bool runs = it && it->state == ADL_SLURM_RUNS && it->gpu_count > 0; /* Slurm has started it meanwhile */
    if (!it || (!runs && adl_slurm_mirror_hold(&executor->mirror, it, gpus, job->spec.gpus)))
        return adl_fail(err, ADL_ENOMEM, "out of memory to place job %llu", (unsigned long long)job->id);
    it->run_slot = slot;
    it->placed_us = job->start_us;
    executor->dirty = true;
    if (runs) {
        adl_executor_slurm_post_cluster_started(executor, it, "Slurm had started it there");
    } else if (it->state == ADL_SLURM_RUNS) { /* where is not known: it counts as running on the chosen GPUs */
        adl_mirror_job_apply(it, ADL_MIRROR_ON_RUN);
        it->began_us = executor->now_us;
        adl_executor_slurm_post_job(executor, it, ADL_REPORT_STARTED);
    } else if (adl_mirror_job_waits(it) && it->eligibility != ADL_SLURM_ELIGIBLE) {
        adl_executor_slurm_post_requeued(executor, it, it->why);
    } else if (adl_mirror_job_waits(it)) {
        const char *flaw = find_flaw(executor, it);
        it->moved = false;
        if (!flaw || move(executor, it)) {
            place(executor, it, job->why);
            return 0;
        }
        /* Policies choose types and not nodes: the policy would choose the same again, so the job waits for room. */
        it->nodes_full = true;
        it->full_us = it->full_us > 0 ? it->full_us : executor->now_us;
        adl_executor_slurm_post_eligibility(executor, it, ADL_SLURM_NODES_FULL);
        adl_executor_slurm_post_requeued(executor, it, flaw);
    }
    return 0;
}

static int stop(void *self, const struct adl_job_entry *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *it = executor->slots[slot];
    (void)job, (void)err;
    if (!it)
        return 0;
    it->stopping = requeue ? ADL_ORDER_STOP_AND_REQUEUE : ADL_ORDER_STOP;
    it->asked_us = 0;
    adl_executor_slurm_ask(executor, it, requeue ? "requeue" : "cancel", reason);
    return 0;
}

static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    (void)self, (void)gpus, (void)gpu_count, (void)power_w;
    return adl_fail(err, ADL_EREFUSED, "power limits cannot be set through Slurm");
}

static bool is_same_demand(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    return a->gpus == b->gpus && a->cpu_cores == b->cpu_cores && a->memory_mib == b->memory_mib &&
           a->limit_us == b->limit_us;
}

static void introduce(void *self, const struct adl_job_entry *job)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *it = adl_slurm_mirror_find(&executor->mirror, job->external);
    const bool others = it && it->number != 0 && it->number != job->id;
    const bool renumbered = others || (it && it->arrival.external != 0 && !adl_slurm_mirror_is_known(it, job));
    if (renumbered) /* Slurm has forgotten this job and reused its number: it gets one that Slurm never uses
                     */
        it = adl_slurm_mirror_add(&executor->mirror, -(int64_t)job->id);
    else if (!it) /* it left Slurm while the service was down */
        it = adl_slurm_mirror_add(&executor->mirror, job->external);
    if (!it)
        return;
    /* While the service was down. What was reported since then is up to date. */
    it->changed = it->phase == ADL_MIRROR_NEW && it->arrival.external != 0 && it->state == ADL_SLURM_PENDING &&
                  !is_same_demand(&it->spec, &job->spec);
    it->number = job->id;
    adl_mirror_job_apply(it, ADL_MIRROR_ON_INTRODUCE);
    executor->dirty = true;
    if (job->energy_j > 0) /* in runs before a restart */
        it->energy_j = job->energy_j + (it->energy_j > 0 ? it->energy_j : 0);
    for (uint32_t i = executor->report_first; i < executor->report_count; i++) /* do not report it as new */
        if (executor->reports[i].job == it && executor->reports[i].report.kind == ADL_REPORT_ARRIVED)
            executor->reports[i].report.kind = ADL_REPORT_NONE;
}

static void drop(void *self, const struct adl_job_entry *job, const char *reason)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *it = find_number(executor, job->id);
    if (!it)
        return;
    adl_mirror_job_apply(it, ADL_MIRROR_ON_DROP);
    it->asked_us = 0;
    adl_executor_slurm_ask(executor, it, "cancel", reason);
}

static void advise(void *self, const struct adl_job_entry *job, const char *text)
{
    struct adl_executor_slurm *executor = self;
    const struct adl_mirror_job *it = find_number(executor, job->id);
    if (it && executor->config.mode == ADL_SLURM_ADVISE)
        adl_executor_slurm_send(executor, "comment", it, text);
}

static bool adopt(void *self, const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *it = find_number(executor, job->id);
    if (!it)
        return false;
    executor->dirty = true;
    const bool over = it->state == ADL_SLURM_ABSENT || it->state == ADL_SLURM_ENDED;
    const bool there = it->state == ADL_SLURM_RUNS && gpus &&
                       adl_slurm_mirror_alike(&executor->mirror, gpus, job->spec.gpus, it->gpus, it->gpu_count);
    const bool released = it->state == ADL_SLURM_RELEASED && gpus;
    if (!over && ((!there && !released) || adl_slurm_mirror_hold(&executor->mirror, it, gpus, job->spec.gpus)))
        return false; /* it was never placed, was requeued, or runs elsewhere */
    it->run_slot = slot;
    it->placed_us = it->began_us = job->start_us;
    adl_mirror_job_apply(it, released ? ADL_MIRROR_ON_AWAIT : ADL_MIRROR_ON_RUN);
    if (released)
        adl_executor_slurm_post_job(executor, it, ADL_REPORT_START_PENDING);
    return true;
}

static void forget(void *self, uint64_t number, uint32_t attempt)
{
    struct adl_executor_slurm *executor = self;
    struct adl_mirror_job *job = find_number(executor, number);
    (void)attempt;
    if (!job || !adl_mirror_job_in(job, ADL_MIRROR_IN(OVER) | ADL_MIRROR_IN(DROPPED)))
        return;
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            release(executor, job->slots[i]);
    if (job->state == ADL_SLURM_ENDED || job->state == ADL_SLURM_ABSENT) {
        adl_executor_slurm_remove(executor, job);
        return;
    }
    /* Slurm still has it: it starts again as a job that the service does not know. */
    job->number = 0;
    adl_mirror_job_apply(job, ADL_MIRROR_ON_FORGET);
    job->changed = false;
    job->reported_why[0] = '\0';
    job->run_slot = ADL_NONE;
    memset(job->wants, 0, sizeof job->wants);
    executor->dirty = true;
}

static void keep_link(struct adl_executor_slurm *executor)
{
    struct adl_text text = {0};
    if (!executor->link && executor->now_us >= executor->restart_us && hello(executor, NULL))
        executor->restart_us = executor->now_us + RESTART_US;
    if (executor->link && executor->now_us >= executor->heartbeat_us) {
        adl_slurm_message_heartbeat(&text);
        send_text(executor, &text);
        executor->heartbeat_us = executor->now_us + HEARTBEAT_US;
        executor->dirty = true;
    }
}

static int poll_executor(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    struct adl_executor_slurm *executor = self;
    cJSON *message = NULL;
    executor->now_us = executor->mirror.now_us = now_us;
    if (adl_executor_slurm_next_report(executor, ret))
        return 1;
    keep_link(executor);
    for (int status = 1; status > 0 && executor->link;) {
        status = adl_slurm_link_next(executor->link, &message, err);
        if (status < 0)
            lose_link(executor);
        if (status <= 0)
            break;
        adl_executor_slurm_receive(executor, message);
        cJSON_Delete(message);
        if (adl_executor_slurm_next_report(executor, ret))
            return 1;
    }
    if (executor->dirty)
        adl_executor_slurm_reconcile_all(executor);
    adl_executor_slurm_check_gpus(executor);
    return adl_executor_slurm_next_report(executor, ret) ? 1
                                                         : adl_slurm_energy_next_sample(executor->mirror.energy, ret);
}

static int64_t due_us(void *self)
{
    const struct adl_executor_slurm *executor = self;
    const bool due = executor->report_first < executor->report_count || (executor->dirty && executor->synced);
    return due ? 0 : executor->link ? executor->heartbeat_us : executor->restart_us;
}

static int descriptor(void *self)
{
    const struct adl_executor_slurm *executor = self;
    return executor->link ? adl_slurm_link_fd(executor->link) : -1;
}

static void destroy(void *self)
{
    struct adl_executor_slurm *executor = self;
    if (!executor)
        return;
    adl_slurm_link_close(executor->link);
    adl_slurm_mirror_clear(&executor->mirror);
    free(executor->reports);
    free(executor->slots);
    free(executor->free_slots);
    free(executor->down);
    free(executor->foreign_us);
    free(executor);
}

static const struct adl_executor_ops ops = {
    .name = "slurm",
    .confirms_start = true,
    .destroy = destroy,
    .admit = admit,
    .withdraw = withdraw,
    .start = start,
    .stop = stop,
    .introduce = introduce,
    .drop = drop,
    .advise = advise,
    .cap = cap,
    .adopt = adopt,
    .forget = forget,
    .poll = poll_executor,
    .due_us = due_us,
    .fd = descriptor,
};

/* ---- connecting ---- */

/* Collects messages until the adapter has described the whole cluster: the mirror needs its nodes first. */
static int await_sync(struct adl_executor_slurm *executor, cJSON *messages, struct adl_error *err)
{
    const int64_t steps = executor->config.wait_us / 100000;
    for (int64_t i = 0; i < steps;) {
        cJSON *message = NULL;
        const int status = adl_slurm_link_next(executor->link, &message, err);
        if (status < 0)
            return status;
        if (status == 0) {
            i += !adl_slurm_link_wait(executor->link, 100);
            continue;
        }
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
        const bool synced = event && strcmp(event, "synced") == 0;
        cJSON_AddItemToArray(messages, message);
        if (synced)
            return 0;
    }
    return adl_fail(err, ADL_EIO, "Slurm did not answer within %lld s",
                    (long long)(executor->config.wait_us / 1000000));
}

int adl_executor_slurm_open(const struct adl_executor_slurm_config *config, const struct adl_catalogue *catalogue,
                            struct adl_inventory *inventory, struct adl_executor *ret, struct adl_error *err)
{
    struct adl_executor_slurm *executor = calloc(1, sizeof *executor);
    cJSON *messages = cJSON_CreateArray();
    const cJSON *message;
    if (!executor || !messages) {
        free(executor);
        cJSON_Delete(messages);
        return adl_fail(err, ADL_ENOMEM, "out of memory for Slurm");
    }
    executor->config = *config;
    int status = hello(executor, err);
    if (status == 0)
        status = await_sync(executor, messages, err);
    if (status == 0)
        status = adl_slurm_nodes_add(config, catalogue, messages, inventory, err);
    const uint32_t gpus = inventory->scenario.cluster.gpu_count, banks = inventory->scenario.cluster.bank_count;
    if (status == 0) {
        executor->down = calloc((size_t)gpus + 1, sizeof *executor->down);
        executor->foreign_us = calloc((size_t)banks + 1, sizeof *executor->foreign_us);
        if (!executor->down || !executor->foreign_us || adl_slurm_mirror_create(&executor->mirror, inventory))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for %u GPUs", gpus);
    }
    if (status == 0) {
        executor->opening = true;
        executor->mirror.preempts = config->requeue && config->mode == ADL_SLURM_ACT;
        cJSON_ArrayForEach(message, messages)
        {
            adl_executor_slurm_receive(executor, message);
        }
        executor->opening = false;
    }
    cJSON_Delete(messages);
    if (status) {
        destroy(executor);
        return status;
    }
    *ret = (struct adl_executor){&ops, executor};
    return 0;
}
