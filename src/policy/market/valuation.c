#include "policy/market/valuation.h"

const char *const adl_bid_feature_names[ADL_BID_FEATURES] = {
    [ADL_BID_WAIT] = "wait",         [ADL_BID_QUEUE] = "queue", [ADL_BID_BACKLOG] = "backlog",
    [ADL_BID_BUSY] = "busy",         [ADL_BID_WIDTH] = "width", [ADL_BID_PRICE] = "price",
    [ADL_BID_BEHIND] = "behind",     [ADL_BID_DELAY] = "delay", [ADL_BID_SIZE] = "size",
    [ADL_BID_CHEAPEST] = "cheapest", [ADL_BID_OTHER] = "other", [ADL_BID_WAITED] = "waited",
    [ADL_BID_FRAGMENT] = "fragment", [ADL_BID_MOVED] = "moved", [ADL_BID_LATE] = "late",
    [ADL_BID_NOW] = "now",
};

/* 0 and more to 0 .. 1. */
static float squash(double x)
{
    return (float)(x < 1e9 ? x / (1 + x) : 1);
}

/* Costs on the asked type, the cheapest of all and the cheapest of the others, as announced; 0 = there is none. */
struct told_costs {
    double here_us, least_us, other_us;
};

static struct told_costs told_costs(const struct adl_announced *job)
{
    struct told_costs costs = {0};
    for (uint32_t i = 0; i < ADL_TOLD_TYPES && job->others[i].type != ADL_NONE; i++) {
        const double cost_us = (double)job->others[i].cost_us;
        if (i == 0)
            costs.least_us = cost_us;
        if (job->others[i].type == job->type)
            costs.here_us = cost_us;
        else if (costs.other_us <= 0)
            costs.other_us = cost_us;
    }
    return costs;
}

static void observe_types(const struct adl_announced *job, float ret[ADL_BID_FEATURES])
{
    const struct told_costs costs = told_costs(job);
    ret[ADL_BID_CHEAPEST] = (float)(costs.here_us > 0 ? costs.least_us / costs.here_us : 1);
    ret[ADL_BID_OTHER] =
        (float)(costs.here_us > 0 && costs.other_us > 0 ? costs.other_us / (costs.other_us + costs.here_us) : 1);
}

void adl_bid_observe(const struct adl_agent_view *view, const struct adl_announced *job, const struct adl_bid *bid,
                     int64_t now_us, float ret[ADL_BID_FEATURES])
{
    const struct adl_market_agent *self = view->self;
    const double run_us = (double)job->run_us, pool = bid->pool_gpus, count = self->queue.count;
    const double work_us = run_us * job->gpus, mean_us = count > 0 ? self->queued_us / count : work_us;
    ret[ADL_BID_WAIT] = squash((double)(bid->start_us - now_us) / run_us);
    ret[ADL_BID_QUEUE] = squash(count / pool);
    ret[ADL_BID_BACKLOG] = squash(self->queued_us / (pool * run_us));
    ret[ADL_BID_BUSY] = (float)(1 - bid->free_gpus / pool);
    ret[ADL_BID_WIDTH] = (float)(job->gpus / pool);
    ret[ADL_BID_PRICE] = squash((double)job->price * job->gpus);
    ret[ADL_BID_BEHIND] = squash(bid->behind);
    ret[ADL_BID_DELAY] = squash(bid->behind * job->gpus / pool);
    ret[ADL_BID_SIZE] = (float)(work_us / (work_us + mean_us));
    observe_types(job, ret);
    ret[ADL_BID_WAITED] = squash(now_us > job->since_us ? (double)(now_us - job->since_us) / run_us : 0);
    ret[ADL_BID_FRAGMENT] = bid->fragment;
    ret[ADL_BID_MOVED] = (float)job->moved / ADL_MARKET_MOVES_MAX;
    ret[ADL_BID_LATE] = bid->start_us + job->run_us > job->due_us;
    ret[ADL_BID_NOW] = bid->start_us == now_us;
}
