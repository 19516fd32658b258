#include "serve/hands_slurm.h"

#include "base/index.h"
#include "base/json.h"
#include "ingest/scenario_form.h"
#include "serve/slurm_book.h"
#include "serve/slurm_link.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS     50
#define STUCK_US    INT64_C(60000000) /* a job that was placed and does not begin is taken back */
#define BEAT_US     INT64_C(2000000)  /* a heartbeat, for those who wait for ours */
#define RESTART_US  INT64_C(1000000)  /* before an adapter that ended is started again */
#define FOREIGN_US  INT64_C(1500000)  /* use by others that lasts so long is believed */
#define FAILED_US   INT64_C(5000000)  /* before a job that could not be placed is tried again */
#define LINK_GBS    16.0              /* between GPUs of a node: nothing is known */
#define NETWORK_GBS 1.25

/* A report that waits to be given out. */
struct waiting {
    struct adl_report report;
    struct adl_slurm_job *job; /* of an arrival or a seizure; the report points into it */
    int64_t due_us;
};

struct hands {
    struct adl_hands_slurm_config config;
    struct adl_slurm_link *link; /* NULL: the adapter is away */
    struct adl_slurm_book book;
    struct waiting *waiting;
    size_t waiting_capacity;
    uint32_t waiting_first, waiting_count;
    struct adl_slurm_job **slots; /* [slot] */
    size_t slot_capacity;
    uint32_t slot_count;
    uint32_t *free_slots;
    size_t free_capacity;
    uint32_t free_count;
    uint64_t seq;
    uint32_t sync; /* round of reconciliation */
    bool synced;   /* the last was completed */
    int64_t now_us, beat_us, restart_us, looked_us;
    bool *down;          /* [gpu] as reported */
    int64_t *foreign_us; /* [bank] since when others seem to use some; 0 = they do not */
};

static int hello(struct hands *hands, struct adl_error *err);

/* ---- sending ---- */

static struct adl_json begin(struct adl_text *text, const char *op)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    adl_json_key(&json, "op");
    adl_json_string(&json, op);
    return json;
}

static void put_job(struct hands *hands, struct adl_json *json, const struct adl_slurm_job *job)
{
    adl_json_key(json, "seq");
    adl_json_uint(json, ++hands->seq);
    adl_json_key(json, "job");
    adl_json_int(json, job->external);
}

static void lose_link(struct hands *hands)
{
    adl_slurm_link_close(hands->link);
    hands->link = NULL;
    hands->synced = false;
    hands->restart_us = hands->now_us + RESTART_US;
}

/* What cannot be sent is not lost: the whole cluster is looked at when the adapter is back. */
static void send(struct hands *hands, struct adl_text *text)
{
    if (!hands->link || adl_slurm_link_send(hands->link, text, NULL) == 0) {
        adl_text_clear(text);
        return;
    }
    lose_link(hands);
}

static void send_simple(struct hands *hands, const struct adl_slurm_job *job, const char *op, const char *key,
                        const char *value)
{
    struct adl_text text = {0};
    struct adl_json json = begin(&text, op);
    put_job(hands, &json, job);
    if (key) {
        adl_json_key(&json, key);
        adl_json_string(&json, value);
    }
    adl_json_end(&json);
    send(hands, &text);
}

static void send_place(struct hands *hands, struct adl_slurm_job *job, const char *comment)
{
    const struct adl_cluster *cluster = &hands->book.inventory->scenario.cluster;
    struct adl_text text = {0};
    struct adl_json json = begin(&text, "place");
    put_job(hands, &json, job);
    job->seq = hands->seq;
    adl_json_key(&json, "nodes");
    adl_json_array(&json);
    for (uint32_t i = 0, count; i < job->gpu_count; i += count) {
        const uint32_t node = adl_gpu_node_of(cluster, job->gpus[i]);
        for (count = 1; i + count < job->gpu_count && adl_gpu_node_of(cluster, job->gpus[i + count]) == node;)
            count++;
        adl_json_object(&json);
        adl_json_key(&json, "node");
        adl_json_string(&json, cluster->nodes[node].name);
        adl_json_key(&json, "gpus");
        adl_json_uint(&json, count);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_key(&json, "type");
    adl_json_string(&json, cluster->types[adl_gpu_type_of(cluster, job->gpus[0])].name);
    adl_json_key(&json, "comment");
    adl_json_string(&json, comment);
    adl_json_end(&json);
    send(hands, &text);
}

/* ---- reports ---- */

static void post(struct hands *hands, const struct adl_report *report, struct adl_slurm_job *job, int64_t due_us)
{
    if (hands->waiting_first == hands->waiting_count)
        hands->waiting_first = hands->waiting_count = 0;
    if (adl_grow((void **)&hands->waiting, &hands->waiting_capacity, (size_t)hands->waiting_count + 1,
                 sizeof *hands->waiting))
        return; /* the next reconciliation tells it again */
    hands->waiting[hands->waiting_count++] = (struct waiting){*report, job, due_us};
}

static void post_arrival(struct hands *hands, struct adl_slurm_job *job)
{
    struct adl_report report = {.event = {.kind = ADL_EVENT_SUBMIT, .gpu = ADL_NONE, .job = ADL_NONE}};
    job->arrived = true;
    report.event.submit.spec = &job->spec;
    report.arrival = &job->arrival;
    post(hands, &report, job, 0);
}

static void post_end(struct hands *hands, struct adl_slurm_job *job)
{
    struct adl_report report = {
        .event = {.kind = ADL_EVENT_FINISH}, .exit_code = job->exit_code, .signal = job->signal};
    uint32_t slot = job->taken;
    for (int i = 0; slot == ADL_NONE && i < ADL_ALTERNATIVES_MAX; i++)
        slot = job->slots[i];
    if (slot == ADL_NONE || job->told)
        return;
    job->told = true;
    report.event.job = slot;
    report.event.outcome.end = (uint8_t)job->end;
    report.event.outcome.energy_j = job->energy_j > 0 ? job->energy_j : 0;
    report.event.outcome.run_us = job->placed_us > 0 ? hands->now_us - job->placed_us : 0;
    snprintf(report.text, sizeof report.text, "%s", job->why);
    adl_slurm_book_leave(&hands->book, job);
    post(hands, &report, NULL, 0);
}

static void post_evict(struct hands *hands, struct adl_slurm_job *job, bool fault, const char *text, int64_t due_us)
{
    struct adl_report report = {.event = {.kind = ADL_EVENT_EVICT, .job = job->taken}};
    if (job->taken == ADL_NONE)
        return;
    report.event.evict.remaining = 1.0;
    report.event.evict.fault = fault;
    snprintf(report.text, sizeof report.text, "%s", text);
    job->seated = job->placed = false;
    job->taken = ADL_NONE;
    adl_slurm_book_leave(&hands->book, job);
    post(hands, &report, NULL, due_us);
}

/* It runs, and nobody here said so: under the slot of what it got. */
static void post_seizure(struct hands *hands, struct adl_slurm_job *job, const cJSON *message)
{
    const struct adl_cluster *cluster = &hands->book.inventory->scenario.cluster;
    struct adl_report report = {.event = {.kind = ADL_EVENT_WAKE, .gpu = ADL_NONE}};
    if (!adl_slurm_book_seat(&hands->book, job, message))
        return; /* its GPUs show as used by others */
    const uint32_t type = adl_gpu_type_of(cluster, job->gpus[0]);
    for (int i = 0; i < ADL_ALTERNATIVES_MAX && job->taken == ADL_NONE; i++)
        if (job->slots[i] != ADL_NONE && job->wants[i].gpus == job->gpu_count && job->wants[i].types >> type & 1)
            job->taken = job->slots[i];
    if (job->taken == ADL_NONE)
        return;
    job->seated = true;
    job->placed_us = hands->now_us;
    report.event.job = job->taken;
    report.gpus = job->gpus;
    report.gpu_count = job->gpu_count;
    post(hands, &report, job, 0);
}

/* ---- what the adapter says ---- */

static bool has_slot(const struct adl_slurm_job *job)
{
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            return true;
    return false;
}

static void hear_job(struct hands *hands, const cJSON *message)
{
    const struct adl_slurm_job *known = adl_slurm_book_find(
        &hands->book, (int64_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id")));
    const int before = known ? known->state : ADL_SLURM_ABSENT;
    struct adl_slurm_job *job = adl_slurm_book_read_job(&hands->book, message);
    if (!job)
        return;
    job->sync = hands->sync;
    if (!job->arrived && (job->state == ADL_SLURM_RUNS || (job->state == ADL_SLURM_PENDING && job->eligible)))
        post_arrival(hands, job);
    if (job->state == ADL_SLURM_ENDED) {
        post_end(hands, job);
    } else if (job->state == ADL_SLURM_RUNS) {
        if (job->placed) {
            job->placed = false;
            job->seated = true;
        } else if (!job->seated && has_slot(job)) {
            post_seizure(hands, job, message);
        }
    } else if (before == ADL_SLURM_RUNS && job->seated) {
        post_evict(hands, job, true, job->why[0] != '\0' ? job->why : "Slurm has put it back into its queue", 0);
    }
}

static struct adl_slurm_job *find_seq(struct hands *hands, uint64_t seq)
{
    for (uint32_t i = 0; i < hands->book.job_count; i++)
        if (hands->book.jobs[i]->seq == seq)
            return hands->book.jobs[i];
    return NULL;
}

static void hear_done(struct hands *hands, const cJSON *message)
{
    const double seq = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "seq"));
    struct adl_slurm_job *job = seq > 0 ? find_seq(hands, (uint64_t)seq) : NULL;
    if (!job || !job->placed || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "ok")))
        return;
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "error"));
    char text[160];
    snprintf(text, sizeof text, "Slurm would not place it: %s", why ? why : "no reason was given");
    post_evict(hands, job, true, text, hands->now_us + FAILED_US);
}

static void end_absent(struct hands *hands, struct adl_slurm_job *job, const char *why)
{
    job->end = job->state == ADL_SLURM_RUNS ? ADL_END_FAILED : ADL_END_CANCELLED;
    job->state = ADL_SLURM_ENDED;
    snprintf(job->why, sizeof job->why, "%s", why);
    post_end(hands, job);
}

/* Everything there is was told: what was not is gone. */
static void hear_synced(struct hands *hands)
{
    for (uint32_t i = 0; i < hands->book.job_count; i++) {
        struct adl_slurm_job *job = hands->book.jobs[i];
        if (job->sync != hands->sync && job->state != ADL_SLURM_ENDED)
            end_absent(hands, job, "Slurm does not know it any more: how it ended was not seen");
    }
    hands->synced = true;
}

static void hear(struct hands *hands, const cJSON *message)
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
        struct adl_slurm_job *job = adl_slurm_book_find(
            &hands->book, (int64_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id")));
        if (job && job->state != ADL_SLURM_ENDED)
            end_absent(hands, job, "it is gone from Slurm: how it ended was not seen");
    }
}

/* ---- GPUs that others use, or nobody can ---- */

static void report_gpu(struct hands *hands, uint32_t gpu, bool down, uint32_t foreign, const char *why)
{
    struct adl_report report = {.event = {.kind = down ? ADL_EVENT_GPU_DOWN : ADL_EVENT_GPU_UP, .gpu = gpu},
                                .foreign = foreign};
    if (hands->down[gpu] == down)
        return;
    hands->down[gpu] = down;
    snprintf(report.text, sizeof report.text, "%s", why);
    post(hands, &report, NULL, 0);
}

static void look_at_bank(struct hands *hands, uint32_t b)
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
                   : theirs ? "used by a job of another partition"
                            : "");
    }
}

static void look_at_gpus(struct hands *hands)
{
    if (!hands->synced || (hands->looked_us > 0 && hands->now_us < hands->looked_us + 500000))
        return;
    hands->looked_us = hands->now_us;
    for (uint32_t b = 0; b < hands->book.inventory->scenario.cluster.bank_count; b++)
        look_at_bank(hands, b);
}

/* ---- the interface ---- */

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct hands *hands = self;
    struct adl_slurm_job *job = NULL;
    for (uint32_t i = hands->book.job_count; i-- > 0 && !job;)
        if (hands->book.jobs[i]->number == spec->id)
            job = hands->book.jobs[i];
    if (adl_grow((void **)&hands->slots, &hands->slot_capacity, (size_t)hands->slot_count + 1,
                 sizeof(struct adl_slurm_job *)) ||
        adl_grow((void **)&hands->free_slots, &hands->free_capacity, (size_t)hands->slot_count + 1,
                 sizeof *hands->free_slots))
        return adl_fail(err, ADL_ENOMEM, "out of memory for one more job");
    const uint32_t slot = hands->free_count > 0 ? hands->free_slots[--hands->free_count] : hands->slot_count++;
    hands->slots[slot] = job;
    for (int i = 0; job && i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == ADL_NONE) {
            job->slots[i] = slot;
            job->wants[i] = (struct adl_alternative){spec->gpus, spec->types, slot};
            break;
        }
    *ret_slot = slot;
    return 0;
}

static void release(struct hands *hands, uint32_t slot)
{
    struct adl_slurm_job *job = hands->slots[slot];
    for (int i = 0; job && i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] == slot)
            job->slots[i] = ADL_NONE;
    hands->slots[slot] = NULL;
    hands->free_slots[hands->free_count++] = slot;
}

static void withdraw(void *self, uint32_t slot)
{
    release(self, slot);
}

static int start(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = hands->slots[slot];
    char comment[120];
    if (!it || adl_slurm_book_hold(&hands->book, it, gpus, job->spec.gpus))
        return adl_fail(err, ADL_ENOMEM, "out of memory to place job %llu", (unsigned long long)job->id);
    it->taken = slot;
    it->placed = true;
    it->placed_us = job->start_us;
    snprintf(comment, sizeof comment, "adlro: placed after %.0f s of waiting (adlro explain %lld)",
             (double)(job->start_us - job->eligible_us) * 1e-6, (long long)it->external);
    send_place(hands, it, comment);
    return 0;
}

static int stop(void *self, const struct adl_roster_job *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    struct hands *hands = self;
    (void)job, (void)err;
    if (hands->slots[slot])
        send_simple(hands, hands->slots[slot], requeue ? "requeue" : "cancel", "comment", reason);
    return 0;
}

static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    (void)self, (void)gpus, (void)gpu_count, (void)power_w;
    return adl_fail(err, ADL_EREFUSED, "power limits cannot be set through Slurm");
}

static struct adl_slurm_job *find_number(struct hands *hands, uint64_t number)
{
    for (uint32_t i = hands->book.job_count; i-- > 0;)
        if (hands->book.jobs[i]->number == number)
            return hands->book.jobs[i];
    return NULL;
}

static void introduce(void *self, const struct adl_roster_job *job)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = adl_slurm_book_find(&hands->book, job->external);
    if (!it) /* it went while we were away */
        it = adl_slurm_book_add(&hands->book, job->external);
    if (!it)
        return;
    it->number = job->id;
    it->arrived = true;
    for (uint32_t i = hands->waiting_first; i < hands->waiting_count; i++) /* it was about to be told as new */
        if (hands->waiting[i].job == it && hands->waiting[i].report.event.kind == ADL_EVENT_SUBMIT)
            hands->waiting[i].report.event.kind = ADL_EVENT_KIND_COUNT;
}

static void drop(void *self, const struct adl_roster_job *job, const char *reason)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = find_number(hands, job->id);
    if (it) {
        it->told = true;
        send_simple(hands, it, "cancel", "comment", reason);
    }
}

static void advise(void *self, const struct adl_roster_job *job, const char *text)
{
    struct hands *hands = self;
    const struct adl_slurm_job *it = find_number(hands, job->id);
    if (it && hands->config.mode == ADL_SLURM_ADVISE)
        send_simple(hands, it, "comment", "text", text);
}

static bool adopt(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = adl_slurm_book_find(&hands->book, job->external);
    if (!it)
        return false;
    it->taken = slot;
    it->placed_us = job->start_us;
    if (it->state == ADL_SLURM_ABSENT || it->state == ADL_SLURM_ENDED) {
        if (it->state == ADL_SLURM_ABSENT)
            end_absent(hands, it, "Slurm does not know it any more: how it ended was not seen");
        else
            post_end(hands, it);
        return true;
    }
    if (it->state == ADL_SLURM_PENDING || !gpus || adl_slurm_book_hold(&hands->book, it, gpus, job->spec.gpus)) {
        it->taken = ADL_NONE;
        return false; /* it was never told to start, or was put back */
    }
    it->seated = true;
    return true;
}

static void forget(void *self, uint64_t number, uint32_t attempt)
{
    struct hands *hands = self;
    struct adl_slurm_job *job = find_number(hands, number);
    (void)attempt;
    if (!job || !job->told)
        return;
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            release(hands, job->slots[i]);
    adl_slurm_book_remove(&hands->book, job);
}

/* Waiting jobs that Slurm has lost, jobs that wait to begin for too long, and those that began before they had a slot.
 */
static void look_at_jobs(struct hands *hands)
{
    for (uint32_t i = 0; hands->synced && i < hands->book.job_count; i++) {
        struct adl_slurm_job *job = hands->book.jobs[i];
        if (job->state == ADL_SLURM_ABSENT && has_slot(job) && !job->told) {
            end_absent(hands, job, "Slurm does not know it any more");
        } else if (job->placed && hands->now_us > job->placed_us + STUCK_US) {
            send_simple(hands, job, "requeue", "comment", "adlro: it did not begin where it was placed");
            post_evict(hands, job, true, "it did not begin where it was placed", 0);
        }
    }
}

static void keep_link(struct hands *hands)
{
    struct adl_text text = {0};
    if (!hands->link && hands->now_us >= hands->restart_us && hello(hands, NULL))
        hands->restart_us = hands->now_us + RESTART_US;
    if (hands->link && hands->now_us >= hands->beat_us) {
        struct adl_json json = begin(&text, "heartbeat");
        adl_json_end(&json);
        send(hands, &text);
        hands->beat_us = hands->now_us + BEAT_US;
        look_at_jobs(hands);
    }
}

static int give(struct hands *hands, struct adl_report *ret)
{
    for (uint32_t i = hands->waiting_first; i < hands->waiting_count; i++) {
        struct waiting *it = &hands->waiting[i];
        if (it->due_us > hands->now_us)
            continue;
        const bool real = it->report.event.kind != ADL_EVENT_KIND_COUNT;
        *ret = it->report;
        memmove(it, it + 1, (hands->waiting_count - i - 1) * sizeof *it);
        hands->waiting_count--;
        if (real)
            return 1;
        i--;
    }
    return 0;
}

static int poll_hands(void *self, int64_t now_us, struct adl_report *ret, struct adl_error *err)
{
    struct hands *hands = self;
    cJSON *message = NULL;
    hands->now_us = now_us;
    if (give(hands, ret))
        return 1;
    keep_link(hands);
    for (int status = 1; status > 0 && hands->link;) {
        status = adl_slurm_link_next(hands->link, &message, err);
        if (status < 0)
            lose_link(hands);
        if (status <= 0)
            break;
        hear(hands, message);
        cJSON_Delete(message);
        if (hands->waiting_first < hands->waiting_count && give(hands, ret))
            return 1;
    }
    look_at_gpus(hands);
    return give(hands, ret);
}

static int64_t due_us(void *self)
{
    const struct hands *hands = self;
    int64_t due_us = hands->link ? hands->beat_us : hands->restart_us;
    for (uint32_t i = hands->waiting_first; i < hands->waiting_count; i++)
        due_us = hands->waiting[i].due_us < due_us ? hands->waiting[i].due_us : due_us;
    return due_us;
}

static int descriptor(void *self)
{
    const struct hands *hands = self;
    return hands->link ? adl_slurm_link_fd(hands->link) : -1;
}

static void destroy(void *self)
{
    struct hands *hands = self;
    if (!hands)
        return;
    adl_slurm_link_close(hands->link);
    adl_slurm_book_clear(&hands->book);
    free(hands->waiting);
    free(hands->slots);
    free(hands->free_slots);
    free(hands->down);
    free(hands->foreign_us);
    free(hands);
}

static const struct adl_hands_ops ops = {
    .name = "slurm",
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
    .poll = poll_hands,
    .due_us = due_us,
    .fd = descriptor,
};

/* ---- opening ---- */

static int hello(struct hands *hands, struct adl_error *err)
{
    static const char *const modes[] = {"observe", "advise", "act"};
    struct adl_text text = {0};
    int status = adl_slurm_link_open(hands->config.adapter, hands->config.conf, &hands->link, err);
    if (status)
        return status;
    struct adl_json json = begin(&text, "hello");
    adl_json_key(&json, "partitions");
    adl_json_array(&json);
    for (uint32_t i = 0; i < hands->config.partition_count; i++)
        adl_json_string(&json, hands->config.partitions[i]);
    adl_json_end(&json);
    adl_json_key(&json, "mode");
    adl_json_string(&json, modes[hands->config.mode]);
    adl_json_key(&json, "poll_ms");
    adl_json_uint(&json, POLL_MS);
    adl_json_end(&json);
    status = adl_slurm_link_send(hands->link, &text, err);
    if (status)
        lose_link(hands);
    return status;
}

/* A type of the cluster for a name of gres.conf; its figures are the catalogue's if it has it. */
static int add_type(struct hands *hands, const struct adl_catalogue *catalogue, struct adl_cluster *cluster,
                    const char *gres, uint32_t *ret, struct adl_error *err)
{
    const char *name = gres;
    *ret = adl_cluster_find_type(cluster, gres);
    if (*ret != ADL_NONE)
        return 0;
    for (uint32_t i = 0; i < hands->config.alias_count; i++)
        if (strcmp(hands->config.aliases[i].gres, gres) == 0)
            name = hands->config.aliases[i].type;
    const struct adl_catalogue_type *known = adl_catalogue_find_type(catalogue, name);
    struct adl_gpu_type type = known ? known->gpu : adl_inventory_guess();
    snprintf(type.name, sizeof type.name, "%s", gres);
    *ret = cluster->type_count;
    return adl_cluster_add_type(cluster, &type, err);
}

static int add_node(struct hands *hands, const struct adl_catalogue *catalogue, struct adl_cluster *cluster,
                    const cJSON *message, struct adl_error *err)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "name"));
    struct adl_node node = {.link_gbs = LINK_GBS};
    struct adl_bank_spec banks[ADL_TYPES_MAX];
    uint32_t count = 0;
    const cJSON *gpu;
    int status = 0;
    snprintf(node.name, sizeof node.name, "%s", name ? name : "");
    for (uint32_t n = 0; n < cluster->node_count; n++)
        if (strcmp(cluster->nodes[n].name, node.name) == 0)
            return 0;
    node.cpu_cores = (int32_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "cpus"));
    node.memory_mib = (int32_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "memory_mib"));
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(message, "gpus"))
    {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gpu, "type"));
        const double gpus = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(gpu, "count"));
        if (!type || !*type || !(gpus >= 1 && gpus <= ADL_BANK_GPUS_MAX) || count == ADL_TYPES_MAX)
            continue;
        status = status ? status : add_type(hands, catalogue, cluster, type, &banks[count].type, err);
        banks[count++].gpu_count = (uint32_t)gpus;
    }
    return status || count == 0 ? status : adl_cluster_add_node(cluster, &node, banks, count, err);
}

/* Hears the cluster out. The messages are kept, for the book can be made only once the nodes are known. */
static int listen(struct hands *hands, cJSON *heard, struct adl_error *err)
{
    const int64_t steps = hands->config.wait_us / 100000;
    for (int64_t i = 0; i < steps;) {
        cJSON *message = NULL;
        const int status = adl_slurm_link_next(hands->link, &message, err);
        if (status < 0)
            return status;
        if (status == 0) {
            i += !adl_slurm_link_wait(hands->link, 100);
            continue;
        }
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
        const bool synced = event && strcmp(event, "synced") == 0;
        cJSON_AddItemToArray(heard, message);
        if (synced)
            return 0;
    }
    return adl_fail(err, ADL_EIO, "Slurm did not answer within %lld s", (long long)(hands->config.wait_us / 1000000));
}

static int take_inventory(struct hands *hands, const struct adl_catalogue *catalogue, struct adl_inventory *inventory,
                          const cJSON *heard, struct adl_error *err)
{
    struct adl_cluster *cluster = &inventory->scenario.cluster;
    const cJSON *message;
    int status = 0;
    cluster->network_gbs = NETWORK_GBS;
    cJSON_ArrayForEach(message, heard)
    {
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "ev"));
        if (status == 0 && event && strcmp(event, "node") == 0)
            status = add_node(hands, catalogue, cluster, message, err);
    }
    if (status == 0 && cluster->gpu_count == 0)
        status = adl_fail(err, ADL_EINVAL,
                          "no node of these partitions has GPUs with a type (`adlro slurm check` says "
                          "what to change)");
    if (status == 0)
        status = adl_inventory_name_gpus(inventory, "Slurm's", err);
    inventory->virtual = false;
    for (uint32_t g = 0; status == 0 && g < cluster->gpu_count; g++) {
        const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, g)];
        inventory->gpus[g].vendor = strcmp(type->vendor, "amd") == 0 ? ADL_GPU_AMD : ADL_GPU_NVIDIA;
    }
    return status;
}

int adl_hands_slurm_open(const struct adl_hands_slurm_config *config, const struct adl_catalogue *catalogue,
                         struct adl_inventory *inventory, struct adl_hands *ret, struct adl_error *err)
{
    struct hands *hands = calloc(1, sizeof *hands);
    cJSON *heard = cJSON_CreateArray();
    int status = hands && heard ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for Slurm");
    const cJSON *message;
    if (status == 0) {
        hands->config = *config;
        status = hello(hands, err);
    }
    if (status == 0)
        status = listen(hands, heard, err);
    if (status == 0)
        status = take_inventory(hands, catalogue, inventory, heard, err);
    const uint32_t gpus = inventory->scenario.cluster.gpu_count, banks = inventory->scenario.cluster.bank_count;
    if (status == 0) {
        hands->down = calloc((size_t)gpus + 1, sizeof *hands->down);
        hands->foreign_us = calloc((size_t)banks + 1, sizeof *hands->foreign_us);
        if (!hands->down || !hands->foreign_us || adl_slurm_book_create(&hands->book, inventory))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for %u GPUs", gpus);
    }
    if (status == 0)
        cJSON_ArrayForEach(message, heard) hear(hands, message);
    cJSON_Delete(heard);
    if (status) {
        destroy(hands);
        return status;
    }
    *ret = (struct adl_hands){&ops, hands};
    return 0;
}
