/* live_space: a disk that is full. Submissions and starts are refused first, then the store's reserve is given up, so
 * that cancels, holds, drains and ends of jobs can still be written. When there is room again, the reserve is built
 * before anything is accepted. */
#include "service/live_internal.h"

#define LOOK_US INT64_C(1000000)

bool adl_live_space_yield(struct adl_live *live)
{
    struct adl_store *store = live->config.store;
    if (!adl_store_is_full(store))
        return false;
    if (!live->tight) {
        live->tight = true;
        live->space_us = live->steady_us + (int64_t)(LOOK_US * live->config.clock->speed);
        adl_store_save_room(store);
        return true;
    }
    return adl_store_reserve_spend(store);
}

void adl_live_space_look(struct adl_live *live)
{
    live->space_us = live->steady_us + (int64_t)(LOOK_US * live->config.clock->speed);
    live->tight = !adl_store_reserve_build(live->config.store);
}
