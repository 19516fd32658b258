/* live_shadow: a policy that shadows the one in force: requests about it, what follows from its gate, and its state in
 * the store. */
#include "service/live/live_internal.h"
#include "service/shadowing.h"

#include <stdio.h>
#include <string.h>

/* Changes to the policy that shadowing says is in force now. */
static int change_policy(struct adl_live *live, struct adl_error *err)
{
    if (!live->config.switch_policy)
        return 0;
    const int status = live->config.switch_policy(live->config.context, live->shared->health.fallen_back, err);
    live->moving |= status > 0;
    return status < 0 ? status : 0;
}

int adl_live_shadow_prepare(struct adl_live *live, struct adl_request *request)
{
    (void)live;
    return request->caller.admin
               ? 0
               : adl_fail(&request->err, ADL_EDENIED, "only administrators change which policy shadows or decides");
}

static int promote(struct adl_live *live, bool force, struct adl_error *err)
{
    const int status = adl_shadowing_promote(live->shared->shadowing, force, err);
    return status ? status : change_policy(live, err);
}

/* The log says later what was done, outside of the group of requests. */
static void note(struct adl_live *live, const struct adl_request *request)
{
    const char *user = request->caller.account.name;
    if (request->kind == ADL_REQUEST_SHADOW_START)
        snprintf(live->shadow_note, sizeof live->shadow_note, "policy %s shadows (%s)", request->candidate.policy,
                 user);
    else if (request->kind == ADL_REQUEST_SHADOW_STOP)
        snprintf(live->shadow_note, sizeof live->shadow_note, "the shadow was stopped (%s)", user);
    else
        snprintf(live->shadow_note, sizeof live->shadow_note, "the policy that shadowed was promoted%s (%s)",
                 request->force ? " by force" : "", user);
}

void adl_live_shadow_apply(struct adl_live *live, struct adl_request *request)
{
    struct adl_shadowing *shadowing = live->shared->shadowing;
    struct adl_error *err = &request->err;
    bool changes = false;
    if (request->kind == ADL_REQUEST_SHADOW_START)
        request->status = adl_shadowing_start(shadowing, &request->candidate, err);
    else if (request->kind == ADL_REQUEST_PROMOTE)
        request->status = promote(live, request->force, err);
    else
        request->status = adl_shadowing_stop(shadowing, &changes, err);
    if (request->status == 0 && changes)
        request->status = change_policy(live, err);
    if (request->status == 0)
        note(live, request);
}

static void save(struct adl_live *live)
{
    struct adl_error err = {""};
    struct adl_text text = {0};
    if (!adl_shadowing_encode(live->shared->shadowing, &text))
        return;
    adl_service_state_unlock(live->shared);
    const struct adl_store_belief stored = {.time_us = live->now_us, .content = text.data, .size = text.size};
    const int status = adl_text_status(&text)
                           ? adl_fail(&err, ADL_ENOMEM, "out of memory")
                           : adl_store_belief_set(live->config.store, ADL_STORE_SHADOW, &stored, &err);
    adl_text_clear(&text);
    adl_service_state_lock(live->shared);
    if (status && live->config.say)
        live->config.say(err.text);
}

void adl_live_shadow_check(struct adl_live *live)
{
    struct adl_shadowing *shadowing = live->shared->shadowing;
    struct adl_error err = {""};
    char text[400];
    if (!shadowing || live->retry_us > 0 || live->disk_full || live->moving)
        return;
    const int action = adl_shadowing_watch(shadowing, text, sizeof text);
    int status = 0;
    if (action == ADL_GATE_ROLL_BACK)
        status = change_policy(live, &err);
    else if (action == ADL_GATE_MAY_PROMOTE && adl_shadowing_automatic(shadowing))
        status = promote(live, false, &err);
    if (status && live->config.say)
        live->config.say(err.text);
    if (action != ADL_GATE_NOTHING)
        adl_live_tell(live, "shadow", ADL_NONE, text);
    if (live->shadow_note[0]) {
        snprintf(text, sizeof text, "%s", live->shadow_note);
        live->shadow_note[0] = '\0';
        adl_live_tell(live, "shadow", ADL_NONE, text);
    }
    save(live);
}

struct stored {
    struct adl_shadowing *shadowing;
    int status;
};

static int take_stored(void *context, const struct adl_store_belief *belief, struct adl_error *err)
{
    struct stored *stored = context;
    stored->status = adl_shadowing_decode(stored->shadowing, belief->content, belief->size, err);
    return 0;
}

void adl_live_shadow_load(struct adl_live *live)
{
    struct adl_error err = {""};
    struct stored stored = {.shadowing = live->shared->shadowing};
    char text[400];
    const int found = adl_store_belief_read(live->config.store, ADL_STORE_SHADOW, take_stored, &stored, &err);
    if ((found < 0 || stored.status) && live->config.say) {
        snprintf(text, sizeof text, "what was known of the policy that shadows cannot be read: %.300s", err.text);
        live->config.say(text);
    }
}
