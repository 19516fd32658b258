#include "serve/hands_slurm.h"

#include "base/index.h"
#include "serve/slurm_book.h"
#include "serve/slurm_link.h"
#include "serve/slurm_nodes.h"
#include "serve/slurm_say.h"

#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS      50
#define STUCK_US     INT64_C(60000000) /* a job that was placed and does not begin is taken back */
#define BEAT_US      INT64_C(2000000)  /* a heartbeat, for those who wait for ours */
#define RESTART_US   INT64_C(1000000)  /* before an adapter that ended is started again */
#define FOREIGN_US   INT64_C(1500000)  /* use by others that lasts so long is believed */
#define FAILED_US    INT64_C(5000000)  /* before a job that could not be placed is tried again */
#define ASK_US       INT64_C(3000000)  /* before what was asked for, and did not happen, is asked for again */
#define LEFT_US      INT64_C(2000000)  /* before a job that ran is placed again: its node may still be cleaned up */
#define SETTLED_US   INT64_C(1000000)  /* after a placement: what is told of the job then is true */
#define REFUSALS_MAX 3                 /* placements in a row: then Slurm may have it */

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
    uint32_t waiting_count;
    struct adl_slurm_job **slots; /* [slot] */
    size_t slot_capacity;
    uint32_t slot_count;
    uint32_t *free_slots;
    size_t free_capacity;
    uint32_t free_count;
    uint64_t seq;
    uint32_t sync; /* round of reconciliation */
    bool synced;   /* the last was completed */
    bool restless; /* jobs have changed from the service's side: they are to be settled */
    int64_t now_us, beat_us, restart_us, looked_us;
    bool *down;          /* [gpu] as reported */
    int64_t *foreign_us; /* [bank] since when others seem to use some; 0 = they do not */
};

/* ---- sending ---- */

/* What was on its way when the adapter ended may or may not have been done: the next word about a job tells. */
static void lose_link(struct hands *hands)
{
    adl_slurm_link_close(hands->link);
    hands->link = NULL;
    hands->synced = false;
    hands->restart_us = hands->now_us + RESTART_US;
    for (uint32_t i = 0; i < hands->book.job_count; i++)
        hands->book.jobs[i]->answered = true;
}

/* What cannot be sent is not lost: the whole cluster is looked at when the adapter is back. */
static void send(struct hands *hands, struct adl_text *text)
{
    if (!hands->link)
        adl_text_clear(text);
    else if (adl_slurm_link_send(hands->link, text, NULL))
        lose_link(hands);
}

static void say(struct hands *hands, const char *op, const struct adl_slurm_job *job, const char *words)
{
    struct adl_text text = {0};
    adl_slurm_say_job(&text, op, ++hands->seq, job, words);
    send(hands, &text);
}

static int hello(struct hands *hands, struct adl_error *err)
{
    struct adl_text text = {0};
    int status = adl_slurm_link_open(hands->config.adapter, hands->config.conf, &hands->link, err);
    if (status)
        return status;
    adl_slurm_say_hello(&text, &hands->config, POLL_MS);
    status = adl_slurm_link_send(hands->link, &text, err);
    if (status)
        lose_link(hands);
    return status;
}

/* Asks for what was asked for before, unless that was only just now. */
static void ask(struct hands *hands, struct adl_slurm_job *job, const char *op, const char *words)
{
    if (hands->config.mode != ADL_SLURM_ACT || (job->asked_us > 0 && hands->now_us < job->asked_us + ASK_US))
        return;
    job->asked_us = hands->now_us;
    say(hands, op, job, words);
}

/* ---- reports ---- */

static void post(struct hands *hands, const struct adl_report *report, struct adl_slurm_job *job, int64_t due_us)
{
    if (adl_grow((void **)&hands->waiting, &hands->waiting_capacity, (size_t)hands->waiting_count + 1,
                 sizeof *hands->waiting))
        return; /* the next reconciliation tells it again */
    hands->waiting[hands->waiting_count++] = (struct waiting){*report, job, due_us};
}

static void remove_job(struct hands *hands, struct adl_slurm_job *job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < hands->waiting_count; i++)
        if (hands->waiting[i].job != job)
            hands->waiting[kept++] = hands->waiting[i];
    hands->waiting_count = kept;
    for (uint32_t i = 0; i < hands->slot_count; i++)
        if (hands->slots[i] == job)
            hands->slots[i] = NULL;
    adl_slurm_book_remove(&hands->book, job);
}

static void post_arrival(struct hands *hands, struct adl_slurm_job *job)
{
    struct adl_report report = {.event = {.kind = ADL_EVENT_SUBMIT, .gpu = ADL_NONE, .job = ADL_NONE}};
    job->arrived = true;
    snprintf(job->bar, sizeof job->bar, "%s", job->state == ADL_SLURM_PENDING && !job->eligible ? job->why : "");
    memcpy(job->arrival.bar, job->bar, sizeof job->bar);
    report.event.submit.spec = &job->spec;
    report.arrival = &job->arrival;
    post(hands, &report, job, 0);
}

static struct adl_report about(const struct adl_slurm_job *job, int kind)
{
    return (struct adl_report){.event = {.kind = (uint8_t)kind, .job = job->taken, .gpu = ADL_NONE},
                               .number = job->number};
}

static void post_end(struct hands *hands, struct adl_slurm_job *job)
{
    struct adl_report report = about(job, ADL_EVENT_FINISH);
    job->told = true;
    report.exit_code = job->exit_code;
    report.signal = job->signal;
    report.event.outcome.end = (uint8_t)job->end;
    report.event.outcome.energy_j = job->energy_j > 0 ? job->energy_j : 0;
    report.event.outcome.run_us = job->began_us > 0 ? hands->now_us - job->began_us : 0;
    snprintf(report.text, sizeof report.text, "%s", job->why);
    adl_slurm_book_leave(&hands->book, job);
    post(hands, &report, NULL, 0);
}

static void post_evict(struct hands *hands, struct adl_slurm_job *job, const char *text, int64_t due_us)
{
    struct adl_report report = about(job, ADL_EVENT_EVICT);
    report.event.evict.remaining = 1.0;
    report.event.evict.fault = true;
    snprintf(report.text, sizeof report.text, "%s", text);
    job->seated = job->placed = false;
    job->stopping = ADL_STOP_NONE;
    job->began_us = 0;
    job->taken = ADL_NONE;
    adl_slurm_book_leave(&hands->book, job);
    post(hands, &report, NULL, due_us);
}

/* Whether it may start, and why not. */
static void post_bar(struct hands *hands, struct adl_slurm_job *job, const char *why)
{
    struct adl_report report = about(job, ADL_EVENT_WAKE);
    char bar[sizeof job->bar];
    snprintf(bar, sizeof bar, "%s", why);
    if (strcmp(job->bar, bar) == 0)
        return;
    memcpy(job->bar, bar, sizeof bar);
    memcpy(report.text, bar, sizeof bar);
    post(hands, &report, NULL, 0);
}

static bool has_slot(const struct adl_slurm_job *job)
{
    for (int i = 0; i < ADL_ALTERNATIVES_MAX; i++)
        if (job->slots[i] != ADL_NONE)
            return true;
    return false;
}

/* It runs, and nobody here said so: under the slot of what it got. */
static void post_seizure(struct hands *hands, struct adl_slurm_job *job)
{
    const struct adl_cluster *cluster = &hands->book.inventory->scenario.cluster;
    const uint32_t type = job->gpu_count > 0 ? adl_gpu_type_of(cluster, job->gpus[0]) : 0;
    if (job->gpu_count > 0 && !has_slot(job)) {
        post_bar(hands, job, ""); /* it gets one */
        return;
    }
    for (int i = 0; i < ADL_ALTERNATIVES_MAX && job->taken == ADL_NONE; i++)
        if (job->slots[i] != ADL_NONE && job->wants[i].gpus == job->gpu_count && job->wants[i].types >> type & 1)
            job->taken = job->slots[i];
    if (job->taken == ADL_NONE) { /* its GPUs show as used by others */
        adl_slurm_book_leave(&hands->book, job);
        post_bar(hands, job, "it runs on other GPUs than it was thought to ask for");
        return;
    }
    struct adl_report report = about(job, ADL_EVENT_WAKE);
    job->seated = true;
    job->began_us = hands->now_us;
    report.gpus = job->gpus;
    report.gpu_count = job->gpu_count;
    post(hands, &report, job, 0);
}

/* ---- what follows from where a job stands there, and here ---- */

static void end_as(struct hands *hands, struct adl_slurm_job *job, int end, const char *why)
{
    job->end = end;
    snprintf(job->why, sizeof job->why, "%s", why);
    post_end(hands, job);
}

static void give_back(struct hands *hands, struct adl_slurm_job *job, const char *why)
{
    char words[200];
    snprintf(words, sizeof words, "adlro: Slurm decides: %s", why);
    ask(hands, job, "giveback", words);
}

/* The adapter says that adlro cannot do it justice. */
static bool is_beyond(const struct adl_slurm_job *job)
{
    return strstr(job->why, "beyond us") != NULL;
}

/* A limit of a QOS or an association, known before anything is placed: it may start once others have ended. */
static bool is_limit(const char *why)
{
    return strncmp(why, "limit of ", 9) == 0;
}

static void receive(struct hands *hands, struct adl_slurm_job *job)
{
    const bool act = hands->config.mode == ADL_SLURM_ACT;
    const bool may =
        job->state == ADL_SLURM_RUNS || (job->state == ADL_SLURM_PENDING && (job->eligible || is_limit(job->why)));
    if (job->state == ADL_SLURM_ENDED)
        remove_job(hands, job);
    else if (act && job->ours && job->state == ADL_SLURM_PENDING && (job->unfit[0] != '\0' || is_beyond(job)))
        give_back(hands, job, is_beyond(job) ? job->why : job->unfit); /* nobody waits for ever because of us */
    else if (may && (job->ours || !act))
        post_arrival(hands, job);
}

/* Placed, and Slurm has a reason of its own not to start it, a limit of its QOS say. */
static bool is_refused(const struct adl_slurm_job *job)
{
    return strstr(job->why, "Slurm says") != NULL;
}

static void settle_pending(struct hands *hands, struct adl_slurm_job *job)
{
    const bool act = hands->config.mode == ADL_SLURM_ACT;
    if (act && !job->ours) {
        end_as(hands, job, ADL_END_CANCELLED, "given back to Slurm, whose own scheduler starts it");
        return;
    }
    if (job->stopping == ADL_STOP_CANCEL)
        ask(hands, job, "cancel", "");
    else if (job->placed && job->released && hands->now_us > job->placed_us + (is_refused(job) ? FAILED_US : STUCK_US))
        ask(hands, job, "hold", "adlro: it did not begin where it was placed");
    else if (!job->placed && job->released && act)
        ask(hands, job, "hold", "adlro: it is to be placed again");
    if (job->seated)
        job->left_us = hands->now_us;
    /* Not at once: word of a job from before it was placed has been seen to come after the answer. */
    const bool back =
        job->seated || (job->placed && job->answered && !job->released && hands->now_us > job->placed_us + SETTLED_US);
    const bool fresh = job->left_us > 0 && hands->now_us < job->left_us + LEFT_US;
    if (back || !job->placed) /* before it is back in the queue: it would be started there at once */
        post_bar(hands, job,
                 fresh           ? "its last run has only just ended"
                 : job->eligible ? ""
                 : job->why[0]   ? job->why
                                 : "Slurm would not start it");
    if (back)
        post_evict(hands, job, job->seated ? "it ran, and is back in Slurm's queue" : "it is held in Slurm's queue", 0);
}

static void settle_running(struct hands *hands, struct adl_slurm_job *job)
{
    job->refusals = 0;
    if (job->placed) {
        job->placed = false;
        job->seated = true;
        job->began_us = hands->now_us;
    } else if (!job->seated && hands->config.mode == ADL_SLURM_ACT && !job->ours) {
        end_as(hands, job, ADL_END_CANCELLED, "given back to Slurm, whose own scheduler has started it");
        return;
    } else if (!job->seated) {
        post_seizure(hands, job);
    }
    if (job->stopping != ADL_STOP_NONE)
        ask(hands, job, job->stopping == ADL_STOP_CANCEL ? "cancel" : "requeue", "");
}

/* May remove the job. */
static void settle(struct hands *hands, struct adl_slurm_job *job)
{
    const bool gone = job->state == ADL_SLURM_ABSENT && hands->synced;
    if (job->dropped && (job->state == ADL_SLURM_ENDED || gone))
        remove_job(hands, job);
    else if (job->dropped)
        ask(hands, job, "cancel", "");
    else if (!job->arrived)
        receive(hands, job);
    else if (job->number == 0 || job->told)
        return; /* it is on its way to the service, or was told to have ended */
    else if (job->state == ADL_SLURM_ENDED)
        post_end(hands, job);
    else if (gone)
        end_as(hands, job, job->seated ? ADL_END_FAILED : ADL_END_CANCELLED,
               "Slurm does not know it any more: how it ended was not seen");
    else if (job->state == ADL_SLURM_PENDING)
        settle_pending(hands, job);
    else if (job->state == ADL_SLURM_RUNS)
        settle_running(hands, job);
}

static void settle_all(struct hands *hands)
{
    hands->restless = false;
    for (uint32_t i = hands->book.job_count; hands->synced && i-- > 0;)
        settle(hands, hands->book.jobs[i]);
}

/* ---- what the adapter says ---- */

/* Where it runs, if that is not where it was to. */
static void follow(struct hands *hands, struct adl_slurm_job *job, const cJSON *message)
{
    uint32_t gpus[ADL_JOB_GPUS_MAX];
    const bool ours = job->ours || hands->config.mode != ADL_SLURM_ACT;
    const uint32_t count = adl_slurm_book_find_gpus(&hands->book, job, message, gpus);
    if (count == 0 || !ours || job->seated || job->told)
        return;
    if (job->placed && !job->moved && adl_slurm_book_alike(&hands->book, gpus, count, job->gpus, job->gpu_count))
        return;
    if (job->placed)
        post_evict(hands, job,
                   job->moved ? "it runs on GPUs of its type that Slurm can give it" : "Slurm has started it elsewhere",
                   0);
    job->moved = false;
    (void)adl_slurm_book_hold(&hands->book, job, gpus, count); /* without memory they show as used by others */
}

/* A slurmctld that crashed has forgotten the last jobs, and gives their numbers to others. */
static void check_identity(struct hands *hands, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_slurm_job *known = id > 0 && id < 1e15 ? adl_slurm_book_find(&hands->book, (int64_t)id) : NULL;
    if (!known || known->number == 0 || known->told || adl_slurm_book_is_same(known, message))
        return;
    end_as(hands, known, known->seated ? ADL_END_FAILED : ADL_END_CANCELLED,
           "Slurm has forgotten it, and given its number to another job");
    remove_job(hands, known);
}

static void hear_job(struct hands *hands, const cJSON *message)
{
    check_identity(hands, message);
    struct adl_slurm_job *job = adl_slurm_book_read_job(&hands->book, message);
    if (!job)
        return;
    job->sync = hands->sync;
    if (job->state == ADL_SLURM_RUNS)
        follow(hands, job, message);
    settle(hands, job);
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
    if (!job || !job->placed)
        return;
    job->answered = true;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(message, "ok")))
        return;
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "error"));
    char text[160];
    snprintf(text, sizeof text, "Slurm would not place it: %s", why ? why : "no reason was given");
    if (why && is_limit(why)) { /* others were placed meanwhile: nobody is at fault, and it waits for the next word */
        job->eligible = false;
        snprintf(job->why, sizeof job->why, "%s", why);
        post_bar(hands, job, why);
        post_evict(hands, job, why, 0);
        return;
    }
    job->refusals += hands->synced;
    if (job->refusals >= REFUSALS_MAX)
        give_back(hands, job, text);
    post_evict(hands, job, text, hands->now_us + FAILED_US);
}

/* Everything there is was told: what was not is gone. */
static void hear_synced(struct hands *hands)
{
    for (uint32_t i = 0; i < hands->book.job_count; i++)
        if (hands->book.jobs[i]->sync != hands->sync && hands->book.jobs[i]->state != ADL_SLURM_ENDED)
            hands->book.jobs[i]->state = ADL_SLURM_ABSENT;
    hands->synced = hands->restless = true;
}

static void hear_gone(struct hands *hands, const cJSON *message)
{
    const double id = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(message, "id"));
    struct adl_slurm_job *job = id > 0 ? adl_slurm_book_find(&hands->book, (int64_t)id) : NULL;
    if (job && job->state != ADL_SLURM_ENDED)
        job->state = ADL_SLURM_ABSENT;
    hands->restless = true;
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
        hear_gone(hands, message);
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

/* By its number here; most often it is among the last. */
static struct adl_slurm_job *find_number(struct hands *hands, uint64_t number)
{
    for (uint32_t i = hands->book.job_count; i-- > 0;)
        if (hands->book.jobs[i]->number == number)
            return hands->book.jobs[i];
    return NULL;
}

static int admit(void *self, const struct adl_job_spec *spec, uint32_t *ret_slot, struct adl_error *err)
{
    struct hands *hands = self;
    struct adl_slurm_job *job = find_number(hands, spec->id);
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
    hands->restless = true;
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

/* As Slurm can give them: as many on each of the nodes it wants, and on none that it may not use. NULL, or why not. */
static const char *find_flaw(const struct hands *hands, const struct adl_slurm_job *job)
{
    const struct adl_cluster *cluster = &hands->book.inventory->scenario.cluster;
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

/* To other GPUs of the same type that are free, where Slurm would not give those that were chosen. */
static bool move(struct hands *hands, struct adl_slurm_job *job)
{
    const struct adl_cluster *cluster = &hands->book.inventory->scenario.cluster;
    const uint32_t type = adl_gpu_type_of(cluster, job->gpus[0]), share = job->gpu_count / job->nodes;
    uint32_t gpus[ADL_JOB_GPUS_MAX], count = 0;
    for (uint32_t b = 0; b < cluster->bank_count && count < job->gpu_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        const uint32_t before = count;
        if (bank->type != type || (job->excluded && job->excluded[bank->node]))
            continue;
        for (uint32_t g = bank->gpu_first; g < bank->gpu_first + bank->gpu_count && count < before + share; g++)
            if (!hands->down[g] && (hands->book.holder[g] == 0 || hands->book.holder[g] == job->external))
                gpus[count++] = g;
        if (count < before + share)
            count = before;
    }
    job->moved = count == job->gpu_count && adl_slurm_book_hold(&hands->book, job, gpus, count) == 0;
    return job->moved;
}

static void place(struct hands *hands, struct adl_slurm_job *job, const char *why)
{
    char comment[300];
    struct adl_text text = {0};
    job->placed = true;
    job->answered = false;
    job->asked_us = 0;
    job->seq = ++hands->seq;
    snprintf(comment, sizeof comment, "adlro: %s", why ? why : "placed");
    adl_slurm_say_place(&text, job->seq, &hands->book.inventory->scenario.cluster, job, comment);
    send(hands, &text);
    job->answered = !hands->link; /* it was not sent: the next word about it tells */
}

static int start(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus,
                 struct adl_error *err)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = hands->slots[slot];
    if (!it || adl_slurm_book_hold(&hands->book, it, gpus, job->spec.gpus))
        return adl_fail(err, ADL_ENOMEM, "out of memory to place job %llu", (unsigned long long)job->id);
    it->taken = slot;
    it->placed_us = job->start_us;
    hands->restless = true;
    if (it->state == ADL_SLURM_RUNS) { /* meanwhile Slurm has started it: here it counts as running where we thought */
        it->seated = true;
        it->began_us = hands->now_us;
    } else if (it->state == ADL_SLURM_PENDING && !it->eligible) {
        post_evict(hands, it, it->why, 0);
    } else if (it->state == ADL_SLURM_PENDING) {
        const char *flaw = find_flaw(hands, it);
        it->moved = false;
        if (!flaw || move(hands, it)) {
            place(hands, it, job->why);
            return 0;
        }
        /* The policy would choose the same again: once for a node it has just left, then it is for Slurm to choose. */
        if (++it->refusals >= REFUSALS_MAX || it->nodes > 1)
            give_back(hands, it, flaw);
        post_evict(hands, it, flaw, hands->now_us + FAILED_US);
    }
    return 0;
}

static int stop(void *self, const struct adl_roster_job *job, uint32_t slot, bool requeue, const char *reason,
                struct adl_error *err)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = hands->slots[slot];
    (void)job, (void)err;
    if (!it)
        return 0;
    it->stopping = requeue ? ADL_STOP_REQUEUE : ADL_STOP_CANCEL;
    it->asked_us = 0;
    ask(hands, it, requeue ? "requeue" : "cancel", reason);
    return 0;
}

static int cap(void *self, const uint32_t *gpus, uint32_t gpu_count, double power_w, struct adl_error *err)
{
    (void)self, (void)gpus, (void)gpu_count, (void)power_w;
    return adl_fail(err, ADL_EREFUSED, "power limits cannot be set through Slurm");
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
    it->arrived = hands->restless = true;
    for (uint32_t i = 0; i < hands->waiting_count; i++) /* it was about to be told as new */
        if (hands->waiting[i].job == it && hands->waiting[i].report.event.kind == ADL_EVENT_SUBMIT)
            hands->waiting[i].report.event.kind = ADL_EVENT_KIND_COUNT;
}

static void drop(void *self, const struct adl_roster_job *job, const char *reason)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = find_number(hands, job->id);
    if (!it)
        return;
    it->dropped = it->told = true;
    it->asked_us = 0;
    ask(hands, it, "cancel", reason);
}

static void advise(void *self, const struct adl_roster_job *job, const char *text)
{
    struct hands *hands = self;
    const struct adl_slurm_job *it = find_number(hands, job->id);
    if (it && hands->config.mode == ADL_SLURM_ADVISE)
        say(hands, "comment", it, text);
}

static bool adopt(void *self, const struct adl_roster_job *job, uint32_t slot, const uint32_t *gpus)
{
    struct hands *hands = self;
    struct adl_slurm_job *it = adl_slurm_book_find(&hands->book, job->external);
    if (!it)
        return false;
    hands->restless = true;
    const bool over = it->state == ADL_SLURM_ABSENT || it->state == ADL_SLURM_ENDED;
    const bool there = it->state == ADL_SLURM_RUNS && gpus &&
                       adl_slurm_book_alike(&hands->book, gpus, job->spec.gpus, it->gpus, it->gpu_count);
    const bool released = it->state == ADL_SLURM_PENDING && it->released && gpus;
    if (!over && ((!there && !released) || adl_slurm_book_hold(&hands->book, it, gpus, job->spec.gpus)))
        return false; /* it was never told to start, was put back, or runs elsewhere */
    it->taken = slot;
    it->placed_us = it->began_us = job->start_us;
    it->seated = !released;
    it->placed = it->answered = released;
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
    if (job->state == ADL_SLURM_ENDED || job->state == ADL_SLURM_ABSENT) {
        remove_job(hands, job);
        return;
    }
    /* Slurm has it still, as its own: it is nobody's here. */
    job->number = 0;
    job->arrived = job->told = job->seated = job->placed = false;
    job->bar[0] = '\0';
    job->taken = ADL_NONE;
    hands->restless = true;
}

static void keep_link(struct hands *hands)
{
    struct adl_text text = {0};
    if (!hands->link && hands->now_us >= hands->restart_us && hello(hands, NULL))
        hands->restart_us = hands->now_us + RESTART_US;
    if (hands->link && hands->now_us >= hands->beat_us) {
        adl_slurm_say_heartbeat(&text);
        send(hands, &text);
        hands->beat_us = hands->now_us + BEAT_US;
        hands->restless = true;
    }
}

static int give(struct hands *hands, struct adl_report *ret)
{
    for (uint32_t i = 0; i < hands->waiting_count;) {
        const struct waiting it = hands->waiting[i];
        if (it.due_us > hands->now_us) {
            i++;
            continue;
        }
        hands->waiting_count--;
        memmove(&hands->waiting[i], &hands->waiting[i + 1], (hands->waiting_count - i) * sizeof it);
        const bool stale = it.report.gpu_count > 0 && it.report.gpus != it.job->gpus; /* it has left them */
        if (it.report.event.kind == ADL_EVENT_KIND_COUNT || stale)
            continue;
        *ret = it.report;
        return 1;
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
        if (give(hands, ret))
            return 1;
    }
    if (hands->restless)
        settle_all(hands);
    look_at_gpus(hands);
    return give(hands, ret);
}

static int64_t due_us(void *self)
{
    const struct hands *hands = self;
    int64_t due_us = hands->restless && hands->synced ? 0 : hands->link ? hands->beat_us : hands->restart_us;
    for (uint32_t i = 0; i < hands->waiting_count; i++)
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

int adl_hands_slurm_open(const struct adl_hands_slurm_config *config, const struct adl_catalogue *catalogue,
                         struct adl_inventory *inventory, struct adl_hands *ret, struct adl_error *err)
{
    struct hands *hands = calloc(1, sizeof *hands);
    cJSON *heard = cJSON_CreateArray();
    const cJSON *message;
    if (!hands || !heard) {
        free(hands);
        cJSON_Delete(heard);
        return adl_fail(err, ADL_ENOMEM, "out of memory for Slurm");
    }
    hands->config = *config;
    int status = hello(hands, err);
    if (status == 0)
        status = listen(hands, heard, err);
    if (status == 0)
        status = adl_slurm_nodes_take(config, catalogue, heard, inventory, err);
    const uint32_t gpus = inventory->scenario.cluster.gpu_count, banks = inventory->scenario.cluster.bank_count;
    if (status == 0) {
        hands->down = calloc((size_t)gpus + 1, sizeof *hands->down);
        hands->foreign_us = calloc((size_t)banks + 1, sizeof *hands->foreign_us);
        if (!hands->down || !hands->foreign_us || adl_slurm_book_create(&hands->book, inventory))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for %u GPUs", gpus);
    }
    if (status == 0) {
        cJSON_ArrayForEach(message, heard)
        {
            hear(hands, message);
        }
    }
    cJSON_Delete(heard);
    if (status) {
        destroy(hands);
        return status;
    }
    *ret = (struct adl_hands){&ops, hands};
    return 0;
}
