#include "policy/market/network.h"

#include "base/copy.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_BITS 24
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

/* An answer takes two latencies; half of them again for those that vary. */
#define PATIENCE 4

bool adl_network_perfect(const struct adl_network_model *model)
{
    return model->latency_ms == 0 && model->loss == 0 && model->duplicate == 0 && model->crash_mtbf_h == 0 &&
           model->partition_s == 0;
}

void adl_network_create(struct adl_network *ret, const struct adl_network_model *model, uint64_t seed)
{
    *ret = (struct adl_network){.model = *model};
    adl_rng_seed(&ret->rng, seed, "network");
}

void adl_network_clear(struct adl_network *network)
{
    adl_heap_clear(&network->heap);
    free(network->messages);
    free(network->vacant);
    free(network->in_turn);
    *network = (struct adl_network){0};
}

int adl_network_reserve(struct adl_network *network, size_t messages)
{
    const size_t had = network->capacity;
    if (messages <= had)
        return 0;
    if (messages > INDEX_MASK ||
        adl_grow((void **)&network->messages, &network->capacity, messages, sizeof *network->messages))
        return ADL_ENOMEM;
    if (adl_heap_reserve(&network->heap, network->capacity) ||
        adl_grow((void **)&network->vacant, &network->vacant_capacity, network->capacity, sizeof *network->vacant) ||
        adl_grow((void **)&network->in_turn, &network->turn_capacity, network->capacity, sizeof *network->in_turn)) {
        network->capacity = had;
        return ADL_ENOMEM;
    }
    for (size_t i = network->capacity; i > had; i--)
        network->vacant[network->vacant_count++] = (uint32_t)i - 1;
    return 0;
}

int adl_network_copy(struct adl_network *to, const struct adl_network *from)
{
    if (adl_network_reserve(to, from->capacity))
        return ADL_ENOMEM;
    const struct adl_network own = *to;
    *to = *from;
    to->heap = own.heap;
    to->heap.count = from->heap.count;
    adl_copy_bytes(to->heap.items, from->heap.items, from->heap.count * sizeof *to->heap.items);
    to->capacity = own.capacity;
    to->vacant_capacity = own.vacant_capacity;
    to->turn_capacity = own.turn_capacity;
    to->turn_first = 0;
    to->in_turn = own.in_turn;
    adl_copy_bytes(to->in_turn, from->in_turn + from->turn_first, from->turn_count * sizeof *to->in_turn);
    ADL_COPY_ARRAY(to, own, from, messages, from->capacity);
    /* The copy may have more room: those indices come last, so that both take the same ones first. */
    to->vacant = own.vacant;
    to->vacant_count = 0;
    for (size_t i = own.capacity; i > from->capacity; i--)
        to->vacant[to->vacant_count++] = (uint32_t)i - 1;
    adl_copy_bytes(to->vacant + to->vacant_count, from->vacant, from->vacant_count * sizeof *to->vacant);
    to->vacant_count += from->vacant_count;
    return 0;
}

int64_t adl_network_patience_us(const struct adl_network *network)
{
    const struct adl_network_model *model = &network->model;
    if (adl_network_perfect(model))
        return 0;
    return 1000 + (int64_t)(PATIENCE * 1000 * model->latency_ms * (1 + model->jitter));
}

/* Behind the others if it is not due before the last of them; false: it is. */
static bool put_in_turn(struct adl_network *network, struct adl_heap_item item)
{
    struct adl_heap_item *items = network->in_turn;
    if (network->turn_count == 0)
        network->turn_first = 0;
    else if (items[network->turn_first + network->turn_count - 1].time_us > item.time_us)
        return false;
    if (network->turn_first + network->turn_count == network->turn_capacity) {
        memmove(items, items + network->turn_first, network->turn_count * sizeof *items);
        network->turn_first = 0;
    }
    items[network->turn_first + network->turn_count++] = item;
    return true;
}

static const struct adl_heap_item *earliest(const struct adl_network *network, bool *ret_in_turn)
{
    const struct adl_heap_item *top = adl_heap_top(&network->heap);
    const struct adl_heap_item *head = network->turn_count > 0 ? &network->in_turn[network->turn_first] : NULL;
    *ret_in_turn = head && (!top || adl_heap_before(*head, *top));
    return *ret_in_turn ? head : top;
}

static struct adl_heap_item take(struct adl_network *network, bool in_turn)
{
    if (!in_turn)
        return adl_heap_pop(&network->heap);
    network->turn_count--;
    return network->in_turn[network->turn_first++];
}

/* A timer comes at a time of its own. */
static void put(struct adl_network *network, const struct adl_message *message, int64_t time_us)
{
    if (network->vacant_count == 0) {
        network->traffic.lost++;
        return;
    }
    const uint32_t index = network->vacant[--network->vacant_count];
    network->messages[index] = *message;
    const struct adl_heap_item item = {time_us, network->sequence++ << INDEX_BITS | index};
    if (adl_message_is_timer(message->kind) || !put_in_turn(network, item))
        adl_heap_push(&network->heap, item);
}

bool adl_network_cut(const struct adl_network *network, uint32_t agent, int64_t time_us)
{
    const struct adl_network_model *model = &network->model;
    if (model->partition_s == 0 || agent == ADL_AUCTIONEER)
        return false;
    const double time_s = (double)time_us * 1e-6 - model->partition_start_s;
    const double place = (double)(adl_hash_u64(adl_hash_start(), agent) >> 11) * 0x1.0p-53;
    return time_s >= 0 && time_s < model->partition_s && place < model->partition_share;
}

static int64_t draw_latency_us(struct adl_network *network)
{
    const struct adl_network_model *model = &network->model;
    const double varies = model->jitter > 0 ? 1 + model->jitter * (2 * adl_rng_uniform(&network->rng) - 1) : 1;
    return (int64_t)(model->latency_ms * 1000 * varies);
}

void adl_network_send(struct adl_network *network, const struct adl_message *message, int64_t now_us)
{
    const struct adl_network_model *model = &network->model;
    network->traffic.messages++;
    network->traffic.bytes += adl_message_bytes(message->kind);
    if ((model->loss > 0 && adl_rng_uniform(&network->rng) < model->loss) ||
        adl_network_cut(network, message->from, now_us) != adl_network_cut(network, message->to, now_us)) {
        network->traffic.lost++;
        return;
    }
    put(network, message, now_us + draw_latency_us(network));
    if (model->duplicate > 0 && adl_rng_uniform(&network->rng) < model->duplicate) {
        network->traffic.doubled++;
        put(network, message, now_us + draw_latency_us(network));
    }
}

void adl_network_remind(struct adl_network *network, const struct adl_message *message, int64_t time_us)
{
    put(network, message, time_us);
}

const struct adl_message *adl_network_receive(struct adl_network *network, int64_t now_us)
{
    if (network->received > 0)
        network->vacant[network->vacant_count++] = network->received - 1;
    network->received = 0;
    bool in_turn;
    const struct adl_heap_item *next = earliest(network, &in_turn);
    if (!next || next->time_us > now_us)
        return NULL;
    const uint32_t index = (uint32_t)(take(network, in_turn).tag & INDEX_MASK);
    network->received = index + 1;
    return &network->messages[index];
}

int64_t adl_network_next_us(const struct adl_network *network)
{
    bool in_turn;
    const struct adl_heap_item *next = earliest(network, &in_turn);
    return next ? next->time_us : INT64_MAX;
}

int64_t adl_network_draw_crash_us(struct adl_network *network, bool up)
{
    const struct adl_network_model *model = &network->model;
    const double mean_s = up ? model->crash_mtbf_h * 3600 : model->crash_s;
    return (int64_t)(adl_rng_exponential(&network->rng) * mean_s * 1e6) + 1;
}
