#include "policy/market/valuation.h"

#include "nn/bytes.h"

#include <string.h>

#define MAGIC   "ADLROBID"
#define VERSION 1
enum { MAGIC_SIZE = 8, HEAD_SIZE = MAGIC_SIZE + 12 + 16, FILE_SIZE = HEAD_SIZE + 4 * ADL_VALUATION_PARAMS + 8 };

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

/* ---- the network ---- */

static float soft_sign(float x)
{
    return x / (1 + (x < 0 ? -x : x));
}

float adl_valuation_log(const float params[ADL_VALUATION_PARAMS], const float features[ADL_BID_FEATURES],
                        float hidden[ADL_VALUATION_HIDDEN])
{
    const float *bias = &params[(size_t)ADL_BID_FEATURES * ADL_VALUATION_HIDDEN], *out = bias + ADL_VALUATION_HIDDEN;
    float sums[ADL_VALUATION_HIDDEN], total = out[ADL_VALUATION_HIDDEN];
    memcpy(sums, bias, sizeof sums);
    for (int i = 0; i < ADL_BID_FEATURES; i++)
        for (int j = 0; j < ADL_VALUATION_HIDDEN; j++)
            sums[j] += params[i * ADL_VALUATION_HIDDEN + j] * features[i];
    for (int j = 0; j < ADL_VALUATION_HIDDEN; j++) {
        sums[j] = soft_sign(sums[j]);
        total += out[j] * sums[j];
    }
    if (hidden)
        memcpy(hidden, sums, sizeof sums);
    return ADL_VALUATION_LIMIT * soft_sign(total / ADL_VALUATION_LIMIT);
}

/* ---- its file ---- */

bool adl_valuation_is(const void *bytes, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0;
}

void adl_valuation_encode(const struct adl_valuation *valuation, struct adl_text *ret_bytes)
{
    const size_t start = ret_bytes->size;
    adl_text_bytes(ret_bytes, MAGIC, MAGIC_SIZE);
    adl_bytes_put_u32(ret_bytes, VERSION);
    adl_bytes_put_u32(ret_bytes, ADL_BID_FEATURES);
    adl_bytes_put_u32(ret_bytes, ADL_VALUATION_HIDDEN);
    adl_bytes_put_u64(ret_bytes, valuation->seed);
    adl_bytes_put_u64(ret_bytes, valuation->episodes);
    adl_bytes_put_floats(ret_bytes, valuation->params, ADL_VALUATION_PARAMS);
    if (adl_text_status(ret_bytes) == 0)
        adl_bytes_put_u64(ret_bytes, adl_bytes_checksum(ret_bytes->data + start, ret_bytes->size - start));
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > -1e6F && values[i] < 1e6F))
            return false;
    return true;
}

int adl_valuation_decode(const void *bytes, size_t size, struct adl_valuation *ret, struct adl_error *err)
{
    const unsigned char *at = bytes;
    struct adl_valuation it;
    if (!adl_valuation_is(bytes, size))
        return adl_fail(err, ADL_EINVAL, "this is not a model of policy market; `adlro train market` makes one");
    if (size != FILE_SIZE || adl_bytes_checksum(bytes, size - 8) != adl_bytes_u64(at + size - 8))
        return adl_fail(err, ADL_EINVAL,
                        "the model of policy market is damaged, or of another version: it has %zu bytes", size);
    if (adl_bytes_u32(at + 8) != VERSION || adl_bytes_u32(at + 12) != ADL_BID_FEATURES ||
        adl_bytes_u32(at + 16) != ADL_VALUATION_HIDDEN)
        return adl_fail(err, ADL_EINVAL,
                        "the model of policy market is of version %u with %u features; %u and %u are read",
                        adl_bytes_u32(at + 8), adl_bytes_u32(at + 12), VERSION, ADL_BID_FEATURES);
    it.seed = adl_bytes_u64(at + 20);
    it.episodes = adl_bytes_u64(at + 28);
    adl_bytes_floats(at + HEAD_SIZE, ADL_VALUATION_PARAMS, it.params);
    if (!all_finite(it.params, ADL_VALUATION_PARAMS))
        return adl_fail(err, ADL_EINVAL, "the model of policy market has parameters that are not finite numbers");
    *ret = it;
    return 0;
}
