#include "service/shadowing.h"

#include "base/hash.h"
#include "experiment/run.h"
#include "service/service_state.h"
#include "service/view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TRIAL_EVERY 2 /* submissions from one look ahead to the next */
#define COPY_WAIT_S 10.0
#define NICE        10
#define VERSION     2

enum task { IDLE, PLAY, TRY, DONE };

struct adl_shadowing {
    struct adl_service_state *shared;
    struct adl_shadow_candidate candidate; /* policy "": there is none */
    struct adl_shadow_policy policy;
    bool promoted; /* it is in force */
    bool stale;    /* the shadow is of another engine */
    bool unsaved;
    struct adl_gate gate;
    struct adl_shadow_evidence evidence;
    struct adl_shadow *shadow; /* NULL: there is none, or the policy in force is not the one that it compares with */
    double typical_us;
    int64_t started_us; /* wall time: since when it shadows */
    uint64_t submissions, next_trial, promotions, rollbacks;
    char trouble[200];
    /* The thread's: */
    pthread_t thread;
    pthread_mutex_t lock; /* of the task and its result */
    pthread_cond_t wake;
    enum task task, done_task;
    bool stopping;
    int status;
    struct adl_error err;
    struct adl_shadow_sample sample;
    struct adl_trial trial;
    struct adl_snapshot *snapshot;
};

/* ---- the thread ---- */

static int look_ahead(struct adl_shadowing *shadowing)
{
    int status = 0;
    if (!shadowing->snapshot)
        status = adl_snapshot_create(shadowing->shared->snapshots, &shadowing->snapshot, &shadowing->err);
    if (status == 0)
        status = adl_snapshot_take(shadowing->snapshot, COPY_WAIT_S, &shadowing->err);
    if (status)
        return status;
    const struct adl_snapshot_view view = adl_snapshot_view(shadowing->snapshot);
    return adl_shadow_try(shadowing->shadow, view.engine, view.recent, &shadowing->trial, &shadowing->err);
}

static void *run(void *self)
{
    struct adl_shadowing *shadowing = self;
    setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
    pthread_mutex_lock(&shadowing->lock);
    while (!shadowing->stopping) {
        const enum task task = shadowing->task;
        if (task != PLAY && task != TRY) {
            pthread_cond_wait(&shadowing->wake, &shadowing->lock);
            continue;
        }
        pthread_mutex_unlock(&shadowing->lock);
        const int status = task == PLAY ? adl_shadow_play(shadowing->shadow, &shadowing->sample, &shadowing->err)
                                        : look_ahead(shadowing);
        pthread_mutex_lock(&shadowing->lock);
        shadowing->status = status;
        shadowing->done_task = task;
        shadowing->task = DONE;
        adl_request_queue_nudge(shadowing->shared->request_queue);
    }
    pthread_mutex_unlock(&shadowing->lock);
    return NULL;
}

static enum task task_of(struct adl_shadowing *shadowing)
{
    pthread_mutex_lock(&shadowing->lock);
    const enum task task = shadowing->task;
    pthread_mutex_unlock(&shadowing->lock);
    return task;
}

static void set_task(struct adl_shadowing *shadowing, enum task task)
{
    pthread_mutex_lock(&shadowing->lock);
    shadowing->task = task;
    pthread_cond_signal(&shadowing->wake);
    pthread_mutex_unlock(&shadowing->lock);
}

int adl_shadowing_create(struct adl_service_state *shared, struct adl_shadowing **ret, struct adl_error *err)
{
    struct adl_shadowing *shadowing = calloc(1, sizeof *shadowing);
    if (!shadowing)
        return adl_fail(err, ADL_ENOMEM, "out of memory for shadows");
    shadowing->shared = shared;
    pthread_mutex_init(&shadowing->lock, NULL);
    pthread_cond_init(&shadowing->wake, NULL);
    if (pthread_create(&shadowing->thread, NULL, run, shadowing)) {
        pthread_cond_destroy(&shadowing->wake);
        pthread_mutex_destroy(&shadowing->lock);
        free(shadowing);
        return adl_fail(err, ADL_ENOMEM, "no thread can be started for shadows");
    }
    *ret = shadowing;
    return 0;
}

static void forget_candidate(struct adl_shadowing *shadowing)
{
    adl_shadow_policy_clear(&shadowing->policy);
    shadowing->candidate = (struct adl_shadow_candidate){.policy = ""};
    shadowing->promoted = false;
    shadowing->stale = true;
    shadowing->unsaved = true;
}

void adl_shadowing_destroy(struct adl_shadowing *shadowing)
{
    if (!shadowing)
        return;
    adl_snapshots_end(shadowing->shared->snapshots);
    pthread_mutex_lock(&shadowing->lock);
    shadowing->stopping = true;
    if (shadowing->task == PLAY || shadowing->task == TRY)
        adl_shadow_halt(shadowing->shadow);
    pthread_cond_signal(&shadowing->wake);
    pthread_mutex_unlock(&shadowing->lock);
    pthread_join(shadowing->thread, NULL);
    adl_snapshot_destroy(shadowing->snapshot);
    adl_shadow_destroy(shadowing->shadow);
    forget_candidate(shadowing);
    pthread_cond_destroy(&shadowing->wake);
    pthread_mutex_destroy(&shadowing->lock);
    free(shadowing);
}

/* ---- events ---- */

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_shadowing *shadowing = self;
    shadowing->submissions += event->kind == ADL_EVENT_SUBMIT;
    if (!shadowing->shadow || shadowing->stale)
        return 0;
    const struct adl_observer shadow = adl_shadow_observer(shadowing->shadow);
    return shadow.event(shadow.self, event, state);
}

struct adl_observer adl_shadowing_observer(struct adl_shadowing *shadowing)
{
    return (struct adl_observer){.self = shadowing, .event = on_event};
}

void adl_shadowing_change(struct adl_shadowing *shadowing, bool read)
{
    shadowing->stale = true;
    if (read && shadowing->policy.ops)
        forget_candidate(shadowing);
}

/* ---- candidates ---- */

static struct adl_policy_config config_of(const struct adl_shadowing *shadowing, bool candidate)
{
    struct adl_policy_config config = adl_run_policy_config(&shadowing->shared->inventory->scenario);
    if (!candidate)
        return config;
    config.settings = shadowing->policy.settings ? shadowing->policy.settings : config.settings;
    config.model = shadowing->policy.model ? shadowing->policy.model : config.model;
    config.model_size = shadowing->policy.model ? shadowing->policy.model_size : config.model_size;
    return config;
}

static int read_candidate(struct adl_shadowing *shadowing, const struct adl_shadow_candidate *candidate,
                          struct adl_error *err)
{
    struct adl_shadow_policy policy;
    const int status = adl_shadow_candidate_read(candidate, &shadowing->shared->inventory->scenario, &policy, err);
    if (status)
        return status;
    forget_candidate(shadowing);
    shadowing->candidate = *candidate;
    shadowing->policy = policy;
    return 0;
}

/* The engine in force still has its options: it is about to be replaced. */
static bool is_used(const struct adl_shadowing *shadowing, struct adl_error *err)
{
    const struct adl_policy_config *config = &adl_engine_config(shadowing->shared->engine)->policy_config;
    const bool used = shadowing->policy.settings && config->settings == shadowing->policy.settings;
    if (used)
        adl_fail(err, ADL_EREFUSED, "policy %s still decides: try again in a moment", shadowing->candidate.policy);
    return used;
}

int adl_shadowing_start(struct adl_shadowing *shadowing, const struct adl_shadow_candidate *candidate,
                        struct adl_error *err)
{
    struct adl_gate_terms terms = ADL_GATE_TERMS;
    if (shadowing->promoted)
        return adl_fail(err, ADL_EREFUSED, "policy %s was promoted and is %s: stop that first (`adlro shadow stop`)",
                        shadowing->candidate.policy, adl_gate_stage_names[shadowing->gate.stage]);
    if (is_used(shadowing, err))
        return ADL_EREFUSED;
    const int status = read_candidate(shadowing, candidate, err);
    if (status)
        return status;
    terms.time_s = candidate->days > 0 ? candidate->days * 86400 : terms.time_s;
    terms.trial_s = 4 * terms.time_s;
    adl_gate_begin(&shadowing->gate, &terms);
    shadowing->evidence = (struct adl_shadow_evidence){0};
    shadowing->started_us = shadowing->shared->now_us(shadowing->shared);
    shadowing->trouble[0] = '\0';
    return 0;
}

int adl_shadowing_stop(struct adl_shadowing *shadowing, bool *ret_changes, struct adl_error *err)
{
    *ret_changes = shadowing->promoted;
    if (!shadowing->policy.ops)
        return adl_fail(err, ADL_EREFUSED, "no policy shadows");
    if (!shadowing->promoted) {
        if (is_used(shadowing, err))
            return ADL_EREFUSED;
        forget_candidate(shadowing);
        return 0;
    }
    shadowing->promoted = false;
    shadowing->unsaved = true;
    shadowing->gate.stage = ADL_GATE_ROLLED_BACK;
    snprintf(shadowing->gate.reason, sizeof shadowing->gate.reason, "an administrator stopped it");
    return 0;
}

int adl_shadowing_promote(struct adl_shadowing *shadowing, bool force, struct adl_error *err)
{
    if (!shadowing->policy.ops)
        return adl_fail(err, ADL_EREFUSED, "no policy shadows: `adlro shadow start POLICY` first");
    if (shadowing->shared->power.limit_w > 0 && !shadowing->policy.ops->limits_power)
        return adl_fail(err, ADL_EREFUSED, "policy %s cannot follow the power limit that is in force",
                        shadowing->policy.ops->name);
    const int status = adl_gate_promote(&shadowing->gate, &shadowing->evidence, force, err);
    if (status)
        return status;
    shadowing->promoted = true;
    shadowing->evidence = (struct adl_shadow_evidence){0};
    shadowing->next_trial = shadowing->submissions;
    shadowing->promotions++;
    shadowing->unsaved = true;
    return 0;
}

bool adl_shadowing_automatic(const struct adl_shadowing *shadowing)
{
    return shadowing->candidate.automatic;
}

const struct adl_policy_ops *adl_shadowing_promoted(const struct adl_shadowing *shadowing,
                                                    struct adl_policy_config *ret_config)
{
    if (!shadowing->promoted)
        return NULL;
    if (ret_config)
        *ret_config = config_of(shadowing, true);
    return shadowing->policy.ops;
}

/* ---- between two decisions ---- */

/* The shadow of the engine in force, if that runs the policy that it is to be compared with. */
static int renew(struct adl_shadowing *shadowing, struct adl_error *err)
{
    struct adl_service_state *shared = shadowing->shared;
    const struct adl_policy_ops *configured = shared->health.configured;
    const struct adl_scenario *scenario = &shared->inventory->scenario;
    shadowing->typical_us = shadowing->shadow ? adl_shadow_typical_us(shadowing->shadow) : shadowing->typical_us;
    adl_shadow_destroy(shadowing->shadow);
    shadowing->shadow = NULL;
    shadowing->stale = false;
    if (!shadowing->policy.ops || shared->health.fallen_back || shadowing->gate.stage > ADL_GATE_ON_TRIAL)
        return 0;
    const struct adl_shadow_config config = {.engine = shared->engine,
                                             .candidate = shadowing->promoted ? configured : shadowing->policy.ops,
                                             .candidate_config = config_of(shadowing, !shadowing->promoted),
                                             .preemption = scenario->preemption,
                                             .kill_at_limit =
                                                 strcmp(shared->engine_name, "sim") != 0 || scenario->kill_at_limit,
                                             .one_by_one = scenario->one_by_one,
                                             .seed = 1};
    const int status = adl_shadow_create(&config, &shadowing->shadow, err);
    if (status == 0)
        adl_shadow_set_typical_us(shadowing->shadow, shadowing->typical_us);
    return status;
}

static int judge(struct adl_shadowing *shadowing)
{
    if (shadowing->stale || !shadowing->policy.ops)
        return ADL_GATE_NOTHING;
    if (shadowing->done_task == TRY)
        return adl_gate_try(&shadowing->gate, &shadowing->trial);
    adl_shadow_learn(&shadowing->evidence, &shadowing->sample);
    shadowing->unsaved = true;
    return adl_gate_judge(&shadowing->gate, &shadowing->evidence);
}

static void give_up(struct adl_shadowing *shadowing, const struct adl_error *err)
{
    snprintf(shadowing->trouble, sizeof shadowing->trouble, "%.190s", err->text);
}

static void next_task(struct adl_shadowing *shadowing)
{
    struct adl_error err = {.text = ""};
    int status = shadowing->stale ? renew(shadowing, &err) : 0;
    if (status == 0 && shadowing->shadow)
        status = adl_shadow_watch(shadowing->shadow, shadowing->shared->engine, &err);
    if (status < 0) {
        give_up(shadowing, &err);
        adl_shadow_destroy(shadowing->shadow);
        shadowing->shadow = NULL;
    } else if (status > 0) {
        set_task(shadowing, PLAY);
    } else if (shadowing->shadow && shadowing->gate.stage == ADL_GATE_ON_TRIAL &&
               shadowing->submissions >= shadowing->next_trial && adl_shadow_typical_us(shadowing->shadow) > 0) {
        shadowing->next_trial = shadowing->submissions + TRIAL_EVERY;
        set_task(shadowing, TRY);
    }
}

/* What follows from a judgement for the service's own state. */
static int act(struct adl_shadowing *shadowing, int action, char *ret_text, size_t size)
{
    const char *name = shadowing->candidate.policy, *reason = shadowing->gate.reason;
    shadowing->unsaved |= action != ADL_GATE_NOTHING;
    if (action == ADL_GATE_MAY_PROMOTE) {
        snprintf(ret_text, size, "policy %s may be promoted: %s", name, reason);
    } else if (action == ADL_GATE_CONFIRM) {
        snprintf(ret_text, size, "policy %s is confirmed: %s", name, reason);
        shadowing->stale = true;
    } else if (action == ADL_GATE_ROLL_BACK) {
        snprintf(ret_text, size, "policy %s is rolled back: %s", name, reason);
        shadowing->promoted = false;
        shadowing->rollbacks++;
    }
    return action;
}

int adl_shadowing_watch(struct adl_shadowing *shadowing, char *ret_text, size_t size)
{
    int action = ADL_GATE_NOTHING;
    const enum task task = task_of(shadowing);
    ret_text[0] = '\0';
    if (task == PLAY || task == TRY)
        return action;
    if (task == DONE) {
        if (shadowing->status)
            give_up(shadowing, &shadowing->err);
        else
            action = judge(shadowing);
        set_task(shadowing, IDLE);
    } else if (shadowing->shadow || shadowing->stale) {
        next_task(shadowing);
    }
    return act(shadowing, action, ret_text, size);
}

/* ---- bytes ---- */

struct stored {
    struct adl_shadow_candidate candidate;
    bool promoted;
    struct adl_gate gate;
    struct adl_shadow_evidence evidence;
    double typical_us;
    int64_t started_us; /* since version 2 */
};

struct head {
    char magic[8];
    uint32_t version, size;
    uint64_t checksum;
};

static size_t size_of(uint32_t version)
{
    return version > 1 ? sizeof(struct stored) : offsetof(struct stored, started_us);
}

static struct head head_of(const struct stored *stored, uint32_t version)
{
    return (struct head){.magic = "adlshdw",
                         .version = version,
                         .size = (uint32_t)size_of(version),
                         .checksum = adl_hash_bytes(adl_hash_start(), stored, size_of(version))};
}

bool adl_shadowing_encode(struct adl_shadowing *shadowing, struct adl_text *ret)
{
    struct stored stored;
    if (!shadowing->unsaved)
        return false;
    memset(&stored, 0, sizeof stored);
    stored.candidate = shadowing->candidate;
    stored.promoted = shadowing->promoted;
    stored.gate = shadowing->gate;
    stored.evidence = shadowing->evidence;
    stored.typical_us = shadowing->shadow ? adl_shadow_typical_us(shadowing->shadow) : shadowing->typical_us;
    stored.started_us = shadowing->started_us;
    const struct head head = head_of(&stored, VERSION);
    adl_text_bytes(ret, (const char *)&head, sizeof head);
    adl_text_bytes(ret, (const char *)&stored, sizeof stored);
    shadowing->unsaved = false;
    return true;
}

int adl_shadowing_decode(struct adl_shadowing *shadowing, const void *bytes, size_t size, struct adl_error *err)
{
    struct head head = {.version = 0}, expected;
    struct stored stored;
    memset(&stored, 0, sizeof stored);
    memcpy(&head, bytes, size < sizeof head ? 0 : sizeof head);
    if (size < sizeof head || head.version < 1 || head.version > VERSION)
        return adl_fail(err, ADL_EINVAL, "it has %zu bytes and version %u; versions 1 to %d can be read", size,
                        size < sizeof head ? 0 : head.version, VERSION);
    if (size != sizeof head + size_of(head.version))
        return adl_fail(err, ADL_EINVAL, "it has %zu bytes in place of %zu", size, sizeof head + size_of(head.version));
    memcpy(&stored, (const char *)bytes + sizeof head, size_of(head.version));
    expected = head_of(&stored, head.version);
    if (memcmp(head.magic, expected.magic, sizeof head.magic) != 0 || head.checksum != expected.checksum)
        return adl_fail(err, ADL_EINVAL, "its checksum is wrong (version %u of %d)", head.version, VERSION);
    if (stored.candidate.policy[0] == '\0')
        return 0;
    const int status = read_candidate(shadowing, &stored.candidate, err);
    if (status)
        return status;
    shadowing->promoted = stored.promoted;
    shadowing->gate = stored.gate;
    shadowing->evidence = stored.evidence;
    shadowing->typical_us = stored.typical_us;
    shadowing->started_us = stored.started_us;
    shadowing->unsaved = false;
    return 0;
}

/* ---- views ---- */

static void put_figure(struct adl_json *json, const struct adl_shadowing *shadowing, int figure)
{
    const struct adl_shadow_evidence *evidence = &shadowing->evidence;
    const struct adl_shadow_change change = adl_shadow_change_of(evidence, figure, shadowing->gate.terms.alpha);
    adl_json_key(json, adl_shadow_figure_names[figure]);
    adl_json_object(json);
    if (figure != ADL_SHADOW_ENERGY) {
        adl_json_put_real(json, "real", evidence->real[figure]);
        adl_json_put_real(json, "estimate", evidence->real[figure] + evidence->change[figure].mean);
    }
    adl_json_put_real(json, "in_force", evidence->in_force[figure]);
    adl_json_put_real(json, "shadow", evidence->candidate[figure]);
    adl_json_put_real(json, "change", change.mean);
    adl_json_put_real(json, "change_lo", change.interval.lo);
    adl_json_put_real(json, "change_hi", change.interval.hi);
    adl_json_end(json);
}

static void put_evidence(struct adl_json *json, const struct adl_shadowing *shadowing)
{
    const struct adl_shadow_evidence *evidence = &shadowing->evidence;
    const double real = evidence->real[ADL_SHADOW_JCT];
    adl_json_put_uint(json, "windows", evidence->windows);
    adl_json_put_uint(json, "jobs", evidence->jobs);
    adl_json_put_real(json, "days", evidence->span_s / 86400);
    adl_json_put_real(json, "days_needed", shadowing->gate.terms.time_s / 86400);
    adl_json_put_real(json, "model_bias", real > 0 ? evidence->bias.mean / real : 0);
    adl_json_key(json, "figures");
    adl_json_object(json);
    for (int f = 0; f < ADL_SHADOW_FIGURES; f++)
        put_figure(json, shadowing, f);
    adl_json_end(json);
}

void adl_shadowing_view(struct adl_json *json, const struct adl_service_state *shared)
{
    const struct adl_shadowing *shadowing = shared->shadowing;
    adl_json_object(json);
    adl_json_put_string(json, "in_force", shared->policy->name);
    if (!shadowing || !shadowing->policy.ops) {
        adl_json_put_string(json, "state", "none");
        adl_json_end(json);
        return;
    }
    adl_json_put_string(json, "state", adl_gate_stage_names[shadowing->gate.stage]);
    adl_json_put_string(json, "candidate", shadowing->policy.ops->name);
    adl_json_put_string(json, "options", shadowing->candidate.options);
    adl_json_put_string(json, "model", shadowing->candidate.model);
    adl_json_put_string(json, "gate", shadowing->candidate.automatic ? "auto" : "manual");
    adl_view_time(json, "started_at", shadowing->started_us);
    adl_json_put_string(json, "reason", shadowing->gate.reason);
    adl_json_put_string(json, "trouble", shadowing->trouble);
    put_evidence(json, shadowing);
    adl_json_end(json);
}

struct adl_shadowing_counts adl_shadowing_counts(const struct adl_shadowing *shadowing)
{
    return (struct adl_shadowing_counts){
        .on = shadowing->policy.ops != NULL,
        .stage = shadowing->gate.stage,
        .windows = shadowing->evidence.windows,
        .promotions = shadowing->promotions,
        .rollbacks = shadowing->rollbacks,
        .change = adl_shadow_change_of(&shadowing->evidence, ADL_SHADOW_JCT,
                                       shadowing->policy.ops ? shadowing->gate.terms.alpha : 0.01)};
}
