/* live_space: what the service does when the disk is full. It first refuses submissions and starts, then frees the
 * store's reserve, so that cancels, holds, drains and ends of jobs can still be written. When there is space again it
 * rebuilds the reserve before it accepts anything. */
#include "service/live/live_internal.h"

#define LOOK_US INT64_C(1000000)

bool adl_live_space_retry(struct adl_live *live)
{
    struct adl_store *store = live->config.store;
    if (!adl_store_is_full(store))
        return false;
    if (!live->disk_full) {
        live->disk_full = true;
        live->space_us = live->steady_us + (int64_t)(LOOK_US * live->config.clock->speed);
        adl_store_limit_wal(store);
        return true;
    }
    return adl_store_reserve_spend(store);
}

void adl_live_space_check(struct adl_live *live)
{
    live->space_us = live->steady_us + (int64_t)(LOOK_US * live->config.clock->speed);
    live->disk_full = !adl_store_reserve_build(live->config.store);
}
