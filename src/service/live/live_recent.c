/* live_recent: who submitted what lately (twin/recent.h), kept in the store: written now and then and when the service
 * stops, so that forecasts after a restart draw later submissions from the same past. */
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

void adl_live_recent_save(struct adl_live *live, bool due)
{
    const double since_us = (double)(live->steady_us - live->recent_us) / live->config.clock->speed;
    struct adl_error err = {""};
    struct adl_text text = {0};
    if ((!due && since_us < SAVED_EVERY_US) || live->disk_full)
        return;
    adl_snapshots_encode(live->shared->snapshots, live->now_us - live->steady_us, &text);
    live->recent_us = live->steady_us;
    const struct adl_store_belief stored = {.time_us = live->now_us, .content = text.data, .size = text.size};
    adl_service_state_unlock(live->shared);
    const int status = adl_text_status(&text)
                           ? adl_fail(&err, ADL_ENOMEM, "out of memory")
                           : adl_store_belief_set(live->config.store, ADL_STORE_RECENT, &stored, &err);
    adl_text_clear(&text);
    adl_service_state_lock(live->shared);
    if (status)
        say(live, "recent submissions could not be written", err.text);
}

static int take_stored(void *context, const struct adl_store_belief *stored, struct adl_error *err)
{
    const struct adl_live *live = context;
    return adl_snapshots_decode(live->shared->snapshots, stored->content, stored->size, live->now_us - live->steady_us,
                                live->steady_us, err);
}

void adl_live_recent_load(struct adl_live *live)
{
    struct adl_error err = {""};
    live->recent_us = live->steady_us;
    if (adl_store_belief_read(live->config.store, ADL_STORE_RECENT, take_stored, live, &err) < 0)
        say(live, "recent submissions were not read, and forecasts learn them again", err.text);
}
