/* live_recent: what forecasts rest on, kept in the store: who submitted what lately (twin/recent.h), and how forecasts
 * turned out. Written now and then and when the service stops. */
#include "service/live/live_internal.h"

#include <stdio.h>

#define SAVED_EVERY_US INT64_C(300000000) /* real time */

static void say(const struct adl_live *live, const char *what, const char *why)
{
    char text[480];
    if (!live->config.say)
        return;
    snprintf(text, sizeof text, "%s: %.380s", what, why);
    live->config.say(text);
}

static int put(struct adl_live *live, const char *name, const struct adl_text *text, struct adl_error *err)
{
    const struct adl_store_belief stored = {.time_us = live->now_us, .content = text->data, .size = text->size};
    return adl_text_status(text) ? adl_fail(err, ADL_ENOMEM, "out of memory")
                                 : adl_store_belief_set(live->config.store, name, &stored, err);
}

void adl_live_recent_save(struct adl_live *live, bool due)
{
    const double since_us = (double)(live->steady_us - live->recent_us) / live->config.clock->speed;
    struct adl_error err = {""};
    struct adl_text recent = {0}, levels = {0};
    if ((!due && since_us < SAVED_EVERY_US) || live->disk_full)
        return;
    adl_snapshots_encode(live->shared->snapshots, live->now_us - live->steady_us, &recent);
    adl_forecasts_encode(live->shared->forecasts, &levels);
    live->recent_us = live->steady_us;
    adl_service_state_unlock(live->shared);
    int status = put(live, ADL_STORE_RECENT, &recent, &err);
    if (status == 0)
        status = put(live, ADL_STORE_LEVELS, &levels, &err);
    adl_text_clear(&recent);
    adl_text_clear(&levels);
    adl_service_state_lock(live->shared);
    if (status)
        say(live, "recent submissions could not be written", err.text);
}

static int take_recent(void *context, const struct adl_store_belief *stored, struct adl_error *err)
{
    const struct adl_live *live = context;
    return adl_snapshots_decode(live->shared->snapshots, stored->content, stored->size, live->now_us - live->steady_us,
                                live->steady_us, err);
}

static int take_levels(void *context, const struct adl_store_belief *stored, struct adl_error *err)
{
    const struct adl_live *live = context;
    return adl_forecasts_decode(live->shared->forecasts, stored->content, stored->size, err);
}

void adl_live_recent_load(struct adl_live *live)
{
    struct adl_error err = {""};
    live->recent_us = live->steady_us;
    if (adl_store_belief_read(live->config.store, ADL_STORE_RECENT, take_recent, live, &err) < 0)
        say(live, "recent submissions were not read, and forecasts learn them again", err.text);
    if (adl_store_belief_read(live->config.store, ADL_STORE_LEVELS, take_levels, live, &err) < 0)
        say(live, "how forecasts turned out was not read, and is learned again", err.text);
}
