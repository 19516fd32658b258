/* sensing: what an agent sees of its own GPUs: which job runs on each, when it will leave, what is free or down. */
#include "policy/adlro/rest.h"
#include "policy/market/market.h"

static void sense_gpu(struct adl_market *market, uint32_t index)
{
    const struct adl_state *state = market->state;
    const struct adl_gpu_use *use = &state->gpus[index];
    struct adl_agent_gpu *gpu = &market->gpus[index];
    int64_t *end_us = &market->ends_us[index];
    const uint32_t job = use->job[0];
    const int64_t start_us = job == ADL_NONE ? 0 : state->jobs[job].start_us;
    if (use->down)
        *end_us = ADL_END_NEVER;
    else if (job == ADL_NONE)
        *end_us = ADL_END_IDLE;
    else if (gpu->job != job || gpu->start_us != start_us || *end_us <= market->now_us || *end_us == ADL_END_NEVER)
        *end_us = adl_rest_end_us(market->corrections, state, job, market->switch_us);
    if (gpu->job != job || gpu->start_us != start_us)
        *gpu = (struct adl_agent_gpu){job, gpu->job == job ? gpu->entry : ADL_NONE, start_us};
}

void adl_market_see_end(struct adl_market *market, uint32_t gpu, int64_t end_us)
{
    struct adl_market_agent *self = &market->agents[adl_market_stale(market, gpu)]; /* it may be down */
    market->ends_us[gpu] = end_us;
    if (end_us < self->next_end_us)
        self->next_end_us = end_us;
}

/* Looks at the GPUs where something may have changed, and at those whose jobs have outlived their believed end: rows of
 * the others, and of their jobs, are memory that would have to be fetched. */
static void sense_bank(struct adl_market *market, uint32_t bank, struct adl_market_agent *self)
{
    struct adl_agent_bank *own = &market->banks[bank];
    const uint32_t first = self->gpu_first + own->gpu_first;
    const int64_t *ends_us = &market->ends_us[first];
    for (uint64_t left = own->stale; left; left &= left - 1) {
        __builtin_prefetch(&market->state->gpus[first + (uint32_t)__builtin_ctzll(left)]);
        __builtin_prefetch(&market->gpus[first + (uint32_t)__builtin_ctzll(left)], 1);
    }
    for (uint32_t g = 0; g < own->gpus; g++)
        own->stale |= (uint64_t)(ends_us[g] != ADL_END_IDLE && ends_us[g] <= market->now_us) << g;
    for (uint64_t left = own->stale; left; left &= left - 1)
        sense_gpu(market, first + (uint32_t)__builtin_ctzll(left));
    uint32_t down = 0;
    for (uint32_t g = 0; g < own->gpus; g++) {
        down += ends_us[g] == ADL_END_NEVER;
        if (ends_us[g] != ADL_END_IDLE && ends_us[g] < self->next_end_us)
            self->next_end_us = ends_us[g];
    }
    own->up_gpus = (uint16_t)(own->gpus - down);
    own->stale = 0;
}

void adl_market_sense(struct adl_market *market, uint32_t agent)
{
    struct adl_market_agent *self = &market->agents[agent];
    if (self->sensed == market->decision || self->acted == market->decision)
        return;
    bool look = self->changed || self->next_end_us <= market->now_us;
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++) {
        struct adl_agent_bank *own = &market->banks[b];
        const uint64_t mask = market->state->pool.free_mask[b];
        const struct adl_node_use *use = &market->state->nodes_use[self->node_first + own->node];
        struct adl_agent_node *node = &market->nodes[self->node_first + own->node];
        look |= mask != own->free_mask;
        own->stale |= mask ^ own->free_mask;
        own->free_mask = mask;
        node->free_cores = use->free_cores;
        node->free_memory_mib = use->free_memory_mib;
    }
    self->sensed = market->decision;
    self->changed = false;
    if (!look)
        return;
    self->next_end_us = INT64_MAX;
    for (uint32_t b = self->bank_first; b < self->bank_first + self->bank_count; b++)
        sense_bank(market, b, self);
}
