/* fgd: fragmentation gradient descent (Weng et al., "Beware of fragmentation", USENIX ATC 2023, section 4): jobs by
 * time of submission, each placed where the fragmentation it causes is least.
 *
 * Fragmentation of a node: F_n = sum over m of p_m F_n(m), where m is what a job may ask for and p_m how often jobs do.
 * F_n(m) is all that is idle in the node if m cannot run there, else what m could not use. GPUs are whole here, so that
 * is idle GPUs for which cores or memory are missing, and only for jobs that may span nodes. p_m comes from what was
 * submitted, the latest weighing most; the MIX_MAX most frequent demands are kept.
 *
 * Nodes with the same GPUs, cores and memory free are worth the same, so of these the first alone is looked at; no more
 * than CANDIDATES_MAX nodes are, for each type and number of free GPUs. A job that no node can hold goes where fit.h
 * puts it. */
#include "policy/mechanism/placement.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <math.h>
#include <stdlib.h>

#define MIX_MAX        32
#define MIX_DECAY      0.999 /* of a demand's weight, per submission */
#define CANDIDATES_MAX 256
#define SEEN_MAX       16 /* different nodes with one number of free GPUs that are remembered */

struct demand {
    double weight;
    uint32_t types;
    int32_t cores, memory_mib; /* per GPU */
    uint16_t gpus;
    bool span;
};

struct fgd {
    struct adl_placement_request rest; /* for jobs that no node can hold */
    bool first_fit;
    struct demand mix[MIX_MAX];
    uint32_t mix_count;
    double unit;              /* weight of the newest submission: grows instead of the others shrinking */
    uint32_t blocked_job;     /* did not fit ... */
    uint64_t blocked_release; /* ... and nothing became free since */
};

/* What is free in a node, with some of it taken from one bank. */
struct taken {
    uint32_t bank;
    uint32_t gpus;
    int32_t cores, memory_mib;
};

struct fgd_options {
    bool share, first_fit;
};

static const struct adl_policy_option options[] = {
    ADL_POLICY_FIRST_FIT(struct fgd_options, "true"),
    ADL_POLICY_SHARE(struct fgd_options),
};

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster, (void)seed;
    const struct fgd_options *own = config->options;
    struct fgd *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy fgd");
    self->rest = (struct adl_placement_request){.types = UINT32_MAX, .share = own->share};
    self->first_fit = own->first_fit;
    self->unit = 1.0;
    self->blocked_job = ADL_NONE;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    *(struct fgd *)policy = *(const struct fgd *)from;
    return 0;
}

/* The types it accepts and whose memory it fits. */
static uint32_t types_of(const struct adl_cluster *cluster, const struct adl_job_spec *spec)
{
    uint32_t types = spec->types;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (cluster->types[t].memory_mib < spec->gpu_memory_mib)
            types &= ~(UINT32_C(1) << t);
    return types;
}

static bool is_demand(const struct demand *demand, const struct adl_job_spec *spec, uint32_t types)
{
    return demand->gpus == spec->gpus && demand->types == types && demand->cores == spec->cpu_cores &&
           demand->memory_mib == spec->memory_mib && demand->span == ((spec->flags & ADL_JOB_SPAN) != 0);
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct fgd *self = policy;
    if (event->kind != ADL_EVENT_SUBMIT)
        return;
    const struct adl_job_spec *spec = event->submit.spec;
    const uint32_t types = types_of(state->cluster, spec);
    uint32_t at = 0, least = 0;
    for (; at < self->mix_count && !is_demand(&self->mix[at], spec, types); at++)
        least = self->mix[at].weight < self->mix[least].weight ? at : least;
    if (at == self->mix_count) {
        at = self->mix_count < MIX_MAX ? self->mix_count++ : least;
        self->mix[at] = (struct demand){.types = types,
                                        .cores = spec->cpu_cores,
                                        .memory_mib = spec->memory_mib,
                                        .gpus = spec->gpus,
                                        .span = (spec->flags & ADL_JOB_SPAN) != 0};
    }
    self->unit /= MIX_DECAY;
    self->mix[at].weight += self->unit;
    if (self->unit > 1e12) {
        for (uint32_t i = 0; i < self->mix_count; i++)
            self->mix[i].weight /= self->unit;
        self->unit = 1.0;
    }
}

/* F_n, but for the sum of the weights, which is the same for all that are compared. */
static double fragmentation(const struct fgd *self, const struct adl_state *state, uint32_t node,
                            const struct taken *taken)
{
    const struct adl_node *it = &state->cluster->nodes[node];
    const int64_t cores = state->nodes_use[node].free_cores - (taken ? taken->cores : 0);
    const int64_t memory_mib = state->nodes_use[node].free_memory_mib - (taken ? taken->memory_mib : 0);
    double sum = 0;
    for (uint32_t b = it->bank_first; b < it->bank_first + it->bank_count; b++) {
        const uint32_t type = state->cluster->banks[b].type;
        int64_t idle = adl_pool_bank_free(&state->pool, b);
        idle -= taken && taken->bank == b ? taken->gpus : 0;
        for (uint32_t i = 0; i < self->mix_count; i++) {
            const struct demand *demand = &self->mix[i];
            int64_t usable = demand->types >> type & 1 ? idle : 0;
            if (demand->cores > 0 && cores / demand->cores < usable)
                usable = cores / demand->cores;
            if (demand->memory_mib > 0 && memory_mib / demand->memory_mib < usable)
                usable = memory_mib / demand->memory_mib;
            if (usable < demand->gpus && !demand->span)
                usable = 0;
            else if (usable >= demand->gpus)
                usable = idle;
            sum += demand->weight * (double)(idle - usable);
        }
    }
    return sum;
}

/* The best place so far. */
struct choice {
    uint32_t bank;
    double growth;
    double next; /* growth in the next best place; HUGE_VAL = there is none */
};

/* Nodes alike in cores and memory, of one type and number of free GPUs, that were looked at. */
struct seen {
    uint32_t count;
    int32_t cores[SEEN_MAX], memory_mib[SEEN_MAX];
};

/* True if it was there already. A node of several banks is like no other. */
static bool seen_before(struct seen *seen, const struct adl_state *state, uint32_t node)
{
    const struct adl_node_use *use = &state->nodes_use[node];
    if (state->cluster->nodes[node].bank_count > 1)
        return false;
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->cores[i] == use->free_cores && seen->memory_mib[i] == use->free_memory_mib)
            return true;
    if (seen->count < SEEN_MAX) {
        seen->cores[seen->count] = use->free_cores;
        seen->memory_mib[seen->count++] = use->free_memory_mib;
    }
    return false;
}

static void choose_among(const struct fgd *self, const struct adl_state *state, const struct adl_job_spec *spec,
                         const struct adl_bitmap *banks, struct choice *choice)
{
    const int64_t cores = (int64_t)spec->gpus * spec->cpu_cores, memory_mib = (int64_t)spec->gpus * spec->memory_mib;
    struct seen seen = {0};
    uint32_t looked = 0;
    for (uint32_t b = adl_bitmap_next(banks, 0); b != ADL_NONE && looked < CANDIDATES_MAX;
         b = adl_bitmap_next(banks, b + 1), looked++) {
        const uint32_t node = state->cluster->banks[b].node;
        const struct adl_node_use *use = &state->nodes_use[node];
        if (use->free_cores < cores || use->free_memory_mib < memory_mib || seen_before(&seen, state, node))
            continue;
        const struct taken taken = {b, spec->gpus, (int32_t)cores, (int32_t)memory_mib};
        const double growth = fragmentation(self, state, node, &taken) - fragmentation(self, state, node, NULL);
        if (choice->bank == ADL_NONE || growth < choice->growth)
            *choice = (struct choice){b, growth, choice->bank == ADL_NONE ? HUGE_VAL : choice->growth};
        else if (growth < choice->next)
            choice->next = growth;
    }
}

/* Of one place alone nothing can be compared. */
static struct adl_reason reason_of(const struct fgd *self, const struct adl_state *state, uint32_t slot,
                                   const struct choice *choice)
{
    struct adl_reason reason = adl_reason_ranked(state, &state->queue, slot, ADL_RULE_FIRST);
    double weights = 0;
    for (uint32_t i = 0; i < self->mix_count; i++)
        weights += self->mix[i].weight;
    if (choice->bank == ADL_NONE || choice->next == HUGE_VAL || weights <= 0)
        return reason;
    reason.rule = ADL_RULE_FRAGMENTS;
    reason.value = choice->growth / weights;
    reason.against = choice->next / weights;
    return reason;
}

static bool place(const struct fgd *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct adl_job *job = &state->jobs[slot];
    const uint32_t count = job->spec.gpus;
    struct choice choice = {.bank = ADL_NONE};
    for (uint32_t left = job->eligible; left && count <= ADL_BANK_GPUS_MAX; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        uint64_t numbers = state->pool.counts[type] & (UINT64_MAX << (count - 1));
        for (; numbers; numbers &= numbers - 1)
            choose_among(self, state, &job->spec, &state->pool.banks[type][__builtin_ctzll(numbers) + 1], &choice);
    }
    if (choice.bank == ADL_NONE ? !adl_placement_start(state, slot, &self->rest, plan)
                                : !adl_placement_start_in_bank(state, slot, choice.bank, plan))
        return false;
    adl_plan_because(plan, reason_of(self, state, slot, &choice));
    return true;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct fgd *self = policy;
    const struct adl_queue *queue = &state->queue;
    if (self->first_fit) {
        adl_walk_begin(queue);
        for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE; adl_walk_leave(queue))
            if (place(self, state, slot, plan))
                return 0;
        return 0;
    }
    const uint32_t head = adl_queue_head(queue);
    if (head == ADL_NONE || (head == self->blocked_job && state->releases == self->blocked_release))
        return 0;
    if (!place(self, state, head, plan)) {
        self->blocked_job = head;
        self->blocked_release = state->releases;
    }
    return 0;
}

const struct adl_policy_ops adl_policy_fgd = {
    .name = "fgd",
    .blind = true,
    .summary = "in order of submission, placed where the GPUs left idle stay most useful",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct fgd_options),
    .create = create,
    .destroy = free,
    .copy = copy,
    .decide = decide,
    .observe = observe,
};
