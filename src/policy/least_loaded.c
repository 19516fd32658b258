/* least_loaded: in order of submission, each job to the node with the largest share of free GPUs; one that does not fit
 * does not block those behind it.
 *
 * What Kubernetes calls spreading, and the usual choice where nothing is known of the jobs. In a node of several GPU
 * types the fastest that fits is taken. What no single node can hold is spread over the emptiest, if it may. */
#include "policy/mechanism/placement.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <stdlib.h>

struct least_loaded_options {
    bool share;
};

static const struct adl_policy_option options[] = {ADL_POLICY_SHARE(struct least_loaded_options)};

struct least_loaded {
    struct adl_placement_request rest; /* for jobs that no single node has free GPUs for */
    bool
        uniform[ADL_TYPES_MAX]; /* all nodes with this type have it alone and as many of it: free GPUs tell the share */
};

/* The best bank so far, with what is free in its node. */
struct choice {
    uint32_t bank;
    uint32_t free_gpus, gpus;
    int64_t run_us;
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct least_loaded_options *own = config->options;
    struct least_loaded *self = calloc(1, sizeof *self);
    uint32_t gpus[ADL_TYPES_MAX] = {0};
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy least-loaded");
    self->rest = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true, .share = own->share};
    for (uint32_t t = 0; t < cluster->type_count; t++)
        self->uniform[t] = true;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        if (cluster->nodes[bank->node].bank_count > 1 || (gpus[bank->type] && gpus[bank->type] != bank->gpu_count))
            self->uniform[bank->type] = false;
        gpus[bank->type] = bank->gpu_count;
    }
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    *(struct least_loaded *)policy = *(const struct least_loaded *)from;
    return 0;
}

static bool fits(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t node)
{
    const struct adl_node_use *use = &state->nodes_use[node];
    return (int64_t)spec->gpus * spec->cpu_cores <= use->free_cores &&
           (int64_t)spec->gpus * spec->memory_mib <= use->free_memory_mib;
}

static struct choice look(const struct adl_state *state, uint32_t slot, uint32_t bank)
{
    const struct adl_bank *it = &state->cluster->banks[bank];
    const struct adl_node *node = &state->cluster->nodes[it->node];
    struct choice choice = {.bank = bank, .gpus = node->gpu_count, .run_us = adl_state_runtime(state, slot, it->type)};
    for (uint32_t b = node->bank_first; b < node->bank_first + node->bank_count; b++)
        choice.free_gpus += adl_pool_bank_free(&state->pool, b);
    return choice;
}

/* The larger share of free GPUs, then more of them, then the lower node; in one node the faster type. */
static bool better(const struct adl_state *state, const struct choice *a, const struct choice *b)
{
    const uint64_t share_a = (uint64_t)a->free_gpus * b->gpus, share_b = (uint64_t)b->free_gpus * a->gpus;
    if (b->bank == ADL_NONE || share_a != share_b)
        return b->bank == ADL_NONE || share_a > share_b;
    if (a->free_gpus != b->free_gpus)
        return a->free_gpus > b->free_gpus;
    const uint32_t node_a = state->cluster->banks[a->bank].node, node_b = state->cluster->banks[b->bank].node;
    return node_a != node_b ? node_a < node_b : a->run_us < b->run_us;
}

/* The banks of a type from those with most free GPUs down, as far as they can matter. */
static void choose_of_type(const struct least_loaded *self, const struct adl_state *state, uint32_t slot, uint32_t type,
                           struct choice *choice)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    for (uint32_t f = state->pool.widest[type]; f >= spec->gpus; f--) {
        const struct adl_bitmap *banks = &state->pool.banks[type][f];
        for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE; b = adl_bitmap_next(banks, b + 1)) {
            if (!fits(state, spec, state->cluster->banks[b].node))
                continue;
            const struct choice it = look(state, slot, b);
            if (better(state, &it, choice))
                *choice = it;
            if (self->uniform[type])
                return;
        }
    }
}

static bool place(const struct least_loaded *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    struct choice choice = {.bank = ADL_NONE};
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1)
        choose_of_type(self, state, slot, (uint32_t)__builtin_ctz(left), &choice);
    const bool rest = choice.bank == ADL_NONE;
    if (rest ? !adl_placement_start(state, slot, &self->rest, plan)
             : !adl_placement_start_in_bank(state, slot, choice.bank, plan))
        return false;
    struct adl_reason reason = adl_reason_ranked(state, &state->queue, slot, ADL_RULE_FIRST);
    if (!rest) {
        reason.rule = ADL_RULE_SPREAD;
        reason.value = (double)choice.free_gpus / choice.gpus;
        reason.against = 0;
    }
    adl_plan_because(plan, reason);
    return true;
}

/* Where one job of a lane does not fit none does. */
static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const struct least_loaded *self = policy;
    const struct adl_queue *queue = &state->queue;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE; adl_walk_leave(queue))
        if ((self->rest.share || adl_fit_room(state, slot)) && place(self, state, slot, plan))
            return 0;
    return 0;
}

const struct adl_policy_ops adl_policy_least_loaded = {
    .name = "least-loaded",
    .summary = "in order of submission to the node with most of its GPUs free; what does not fit does not block",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct least_loaded_options),
    .create = create,
    .destroy = free,
    .copy = copy,
    .decide = decide,
};
