#include "service/hooks/hooks.h"

#include "base/json.h"
#include "http/fetch.h"
#include "service/hooks/hooks_internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE             400 /* bytes of a line for the log */
#define FIRST_RETRY_US   INT64_C(1000000)
#define LONGEST_RETRY_US INT64_C(300000000)

const char *const adl_hook_event_names[] = {"job_end", "idle", "alert", "drift", "gate", NULL};
_Static_assert(sizeof adl_hook_event_names / sizeof *adl_hook_event_names == ADL_HOOK_EVENTS + 1, "an event's name");
const char *const adl_hook_kind_names[] = {"webhook", "mail"};

struct delivery {
    uint32_t hook;
    uint32_t attempts;
    char *to, *subject, *body; /* owned; to and subject of mails alone */
};

/* What is known of one hook. After a failure all its deliveries wait, and those of others do not. */
struct hook_state {
    uint32_t failures; /* in a row */
    int64_t due_us;    /* it is tried again then */
};

struct adl_hooks {
    struct adl_hooks_config config;
    void (*say)(const char *text);
    pthread_t thread;
    bool running;
    atomic_bool ending;
    pthread_mutex_t lock;
    pthread_cond_t change;
    /* With the lock: */
    struct delivery queue[ADL_HOOK_QUEUE]; /* in order of their notes, count */
    uint32_t count;
    struct hook_state states[ADL_HOOKS_MAX];
    struct adl_hooks_counts counts;
};

static int64_t now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void delivery_clear(struct delivery *it)
{
    free(it->to);
    free(it->subject);
    free(it->body);
    *it = (struct delivery){0};
}

/* ---- messages ---- */

static void write_json(struct adl_text *text, const struct adl_hook_note *note)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    adl_json_put_string(&json, "event", adl_hook_event_names[note->event]);
    adl_json_put_string(&json, "what", note->what);
    adl_json_put_real(&json, "time_s", (double)note->time_us * 1e-6);
    adl_json_put_string(&json, "text", note->text);
    if (note->job > 0) {
        adl_json_put_uint(&json, "job", note->job);
        adl_json_put_string(&json, "label", note->label);
        adl_json_put_string(&json, "name", note->name);
        adl_json_put_string(&json, "user", note->user);
        adl_json_put_string(&json, "state", note->state);
    }
    adl_json_end(&json);
}

/* Untrusted text for a mail: no control characters, so that it stays in its line. */
static void put_plain(struct adl_text *text, const char *untrusted)
{
    for (const char *at = untrusted ? untrusted : ""; *at; at++)
        adl_text_char(text, (unsigned char)*at < ' ' || *at == 127 ? ' ' : *at);
}

static void write_mail(struct adl_text *text, const struct adl_hook_note *note)
{
    char moment[40] = "";
    const time_t time_s = (time_t)(note->time_us / 1000000);
    struct tm parts;
    if (localtime_r(&time_s, &parts))
        strftime(moment, sizeof moment, "%Y-%m-%d %H:%M:%S %Z", &parts);
    put_plain(text, note->text);
    adl_text_printf(text, "\n\nWhen: %s\n", moment);
    if (note->job > 0) {
        adl_text_printf(text, "Job: %s\nName: ", note->label ? note->label : "");
        put_plain(text, note->name);
        adl_text_put(text, "\nUser: ");
        put_plain(text, note->user);
        adl_text_put(text, "\nState: ");
        put_plain(text, note->state);
        adl_text_put(text, "\n");
    }
}

static void write_subject(struct adl_text *text, const struct adl_hook_note *note)
{
    if (note->job > 0)
        adl_text_printf(text, "adlro: job %s: %s", note->label ? note->label : "", note->what);
    else
        adl_text_printf(text, "adlro: %s: %s", adl_hook_event_names[note->event], note->what);
}

/* Takes the text; NULL if memory was short. */
static char *keep(struct adl_text *text)
{
    char *data = adl_text_status(text) ? NULL : text->data;
    if (!data)
        adl_text_clear(text);
    return data;
}

/* False: nobody gets it, or out of memory. */
static bool make_delivery(const struct adl_hook *hook, const struct adl_hook_note *note, struct delivery *ret)
{
    struct adl_text body = {0}, subject = {0};
    const bool owner = hook->kind == ADL_HOOK_MAIL && strcmp(hook->target, ADL_HOOK_OWNER) == 0;
    const char *to = owner ? (note->job > 0 ? note->user : NULL) : hook->target;
    if (hook->kind == ADL_HOOK_WEBHOOK) {
        write_json(&body, note);
        ret->body = keep(&body);
        return ret->body;
    }
    if (!to || !adl_hook_address_ok(to))
        return false;
    write_mail(&body, note);
    write_subject(&subject, note);
    ret->to = strdup(to);
    ret->body = keep(&body);
    ret->subject = keep(&subject);
    if (ret->to && ret->body && ret->subject)
        return true;
    delivery_clear(ret);
    return false;
}

void adl_hooks_post(struct adl_hooks *hooks, const struct adl_hook_note *note)
{
    for (uint32_t h = 0; hooks && h < hooks->config.count; h++) {
        const struct adl_hook *hook = &hooks->config.hooks[h];
        struct delivery it = {.hook = h};
        if (!(hook->events >> note->event & 1) || !make_delivery(hook, note, &it))
            continue;
        pthread_mutex_lock(&hooks->lock);
        if (hooks->count < ADL_HOOK_QUEUE) {
            hooks->queue[hooks->count++] = it;
            pthread_cond_signal(&hooks->change);
        } else {
            delivery_clear(&it);
            hooks->counts.dropped[hook->kind]++;
        }
        pthread_mutex_unlock(&hooks->lock);
    }
}

struct adl_hooks_counts adl_hooks_counts(struct adl_hooks *hooks)
{
    struct adl_hooks_counts counts = {0};
    if (!hooks)
        return counts;
    pthread_mutex_lock(&hooks->lock);
    counts = hooks->counts;
    counts.queued = hooks->count;
    pthread_mutex_unlock(&hooks->lock);
    return counts;
}

/* ---- the thread ---- */

/* The oldest delivery whose hook may be tried; else when one may be. */
static uint32_t find_due(const struct adl_hooks *hooks, int64_t time_us, int64_t *ret_due_us)
{
    *ret_due_us = INT64_MAX;
    for (uint32_t i = 0; i < hooks->count; i++) {
        const int64_t due_us = hooks->states[hooks->queue[i].hook].due_us;
        if (due_us <= time_us)
            return i;
        *ret_due_us = due_us < *ret_due_us ? due_us : *ret_due_us;
    }
    return UINT32_MAX;
}

static void wait_until(struct adl_hooks *hooks, int64_t due_us)
{
    if (due_us == INT64_MAX) {
        pthread_cond_wait(&hooks->change, &hooks->lock);
        return;
    }
    const struct timespec until = {(time_t)(due_us / 1000000), (long)(due_us % 1000000) * 1000};
    pthread_cond_timedwait(&hooks->change, &hooks->lock, &until);
}

static void remove_at(struct adl_hooks *hooks, uint32_t at)
{
    delivery_clear(&hooks->queue[at]);
    hooks->count--;
    memmove(&hooks->queue[at], &hooks->queue[at + 1], (hooks->count - at) * sizeof *hooks->queue);
}

static int deliver(struct adl_hooks *hooks, const struct delivery *it, struct adl_error *err)
{
    const struct adl_hook *hook = &hooks->config.hooks[it->hook];
    if (hook->kind == ADL_HOOK_WEBHOOK)
        return adl_hook_webhook_send(hook, it->body, &hooks->ending, err);
    return adl_hook_mail_send(hooks->config.sendmail, hooks->config.from, it->to, it->subject, it->body, &hooks->ending,
                              err);
}

/* For the log: the first failure in a row, the end of it, and each delivery that is given up. */
static void report(const struct adl_hooks *hooks, uint32_t hook, const char *what, const char *why, char line[LINE])
{
    snprintf(line, LINE, "hook %u (%s): %s%s%s", hook + 1, adl_hook_kind_names[hooks->config.hooks[hook].kind], what,
             *why ? ": " : "", why);
}

/* Deliveries of one hook stay in their order. The lock is held. */
static void settle(struct adl_hooks *hooks, uint32_t at, int status, const char *why, char line[LINE])
{
    struct delivery *it = &hooks->queue[at];
    struct hook_state *state = &hooks->states[it->hook];
    const uint32_t hook = it->hook, kind = hooks->config.hooks[hook].kind;
    if (status == 0) {
        if (state->failures > 0)
            report(hooks, hook, "delivers again", "", line);
        *state = (struct hook_state){0};
        hooks->counts.sent[kind]++;
        remove_at(hooks, at);
        return;
    }
    int64_t pause_us = hooks->config.first_retry_us;
    for (uint32_t i = 0; i < state->failures && pause_us < LONGEST_RETRY_US; i++)
        pause_us *= 2;
    state->due_us = now_us() + (pause_us < LONGEST_RETRY_US ? pause_us : LONGEST_RETRY_US);
    if (state->failures++ == 0)
        report(hooks, hook, "cannot deliver and will retry", why, line);
    if (++it->attempts < ADL_HOOK_ATTEMPTS) {
        hooks->counts.retried[kind]++;
        return;
    }
    report(hooks, hook, "gave a message up", why, line);
    hooks->counts.failed[kind]++;
    remove_at(hooks, at);
}

static void *run(void *self)
{
    struct adl_hooks *hooks = self;
    pthread_mutex_lock(&hooks->lock);
    while (!atomic_load(&hooks->ending)) {
        struct adl_error err = {""};
        int64_t due_us;
        const uint32_t at = find_due(hooks, now_us(), &due_us);
        if (at == UINT32_MAX) {
            wait_until(hooks, due_us);
            continue;
        }
        const struct delivery it = hooks->queue[at]; /* only this thread removes, so its place stays */
        pthread_mutex_unlock(&hooks->lock);
        const int status = deliver(hooks, &it, &err);
        pthread_mutex_lock(&hooks->lock);
        char line[LINE] = "";
        if (!atomic_load(&hooks->ending)) /* else it was aborted */
            settle(hooks, at, status, err.text, line);
        if (!line[0] || !hooks->say)
            continue;
        pthread_mutex_unlock(&hooks->lock);
        hooks->say(line);
        pthread_mutex_lock(&hooks->lock);
    }
    pthread_mutex_unlock(&hooks->lock);
    return NULL;
}

/* ---- construction ---- */

/* Signals go to the main thread. */
static bool begin_thread(struct adl_hooks *hooks)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    hooks->running = pthread_create(&hooks->thread, NULL, run, hooks) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return hooks->running;
}

int adl_hooks_create(const struct adl_hooks_config *config, void (*say)(const char *text), struct adl_hooks **ret,
                     struct adl_error *err)
{
    pthread_condattr_t attributes;
    *ret = NULL;
    if (config->count == 0)
        return 0;
    struct adl_hooks *hooks = calloc(1, sizeof *hooks);
    if (!hooks)
        return adl_fail(err, ADL_ENOMEM, "out of memory for hooks");
    hooks->config = *config;
    hooks->config.first_retry_us = config->first_retry_us > 0 ? config->first_retry_us : FIRST_RETRY_US;
    hooks->say = say;
    pthread_mutex_init(&hooks->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&hooks->change, &attributes);
    pthread_condattr_destroy(&attributes);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !begin_thread(hooks)) {
        adl_hooks_destroy(hooks);
        return adl_fail(err, ADL_EIO, "the thread of the hooks cannot be started");
    }
    *ret = hooks;
    return 0;
}

void adl_hooks_destroy(struct adl_hooks *hooks)
{
    if (!hooks)
        return;
    pthread_mutex_lock(&hooks->lock);
    atomic_store(&hooks->ending, true);
    pthread_cond_signal(&hooks->change);
    pthread_mutex_unlock(&hooks->lock);
    if (hooks->running)
        pthread_join(hooks->thread, NULL);
    for (uint32_t i = 0; i < hooks->count; i++)
        delivery_clear(&hooks->queue[i]);
    pthread_cond_destroy(&hooks->change);
    pthread_mutex_destroy(&hooks->lock);
    curl_global_cleanup();
    free(hooks);
}
