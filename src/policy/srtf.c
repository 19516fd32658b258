/* srtf: the shortest remaining time first, preemptive list scheduling (preemptive_list.h): all live jobs by what
 * remains on their best type, times a power of their GPUs if so told, each given GPUs while they last. This is what
 * Tiresias' simulator calls `shortest` and, times GPUs, `shortest-gpu`. With by_count the same order is served as
 * Helios' simulator does (count_scheduler.h).
 *
 * Without first fit (srtf-strict) the first job in the queue is served or blocks the others; a longer job on the wanted
 * GPUs is preempted if the difference is worth it. */
#include "base/real.h"
#include "policy/mechanism/count_scheduler.h"
#include "policy/mechanism/placement.h"
#include "policy/mechanism/preemptive_list.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"
#include "state/stop.h"

#include <stdlib.h>

/* What a bank would have free after the preemptions considered so far. */
struct tally {
    uint64_t epoch;
    uint32_t gpus;
    int32_t cores;
    int32_t memory_mib;
};

struct srtf {
    struct adl_placement_request place;
    int64_t cost_us; /* of one preemption and the restart after it */
    double stop_margin;
    struct tally *banks; /* [bank] */
    uint64_t epoch;
    bool listed; /* by preemptive list scheduling */
    double gpus_exponent;
    bool by_count;
    bool failed;   /* out of memory when a job joined the list */
    uint32_t heir; /* the job that others were stopped for and that still waits, or ADL_NONE */
    uint64_t heir_id;
    uint32_t heir_bank;   /* where they leave room for it */
    int64_t refreshed_us; /* when the keys of those that run were last set */
    struct adl_preemptive_list list;
};

struct srtf_options {
    bool share, first_fit, by_gpu_time, by_count;
    double gpus_exponent, stop_margin;
};

static const struct adl_policy_option options[] = {
    ADL_POLICY_FIRST_FIT(struct srtf_options, "true"),
    {.name = "by_gpu_time",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct srtf_options, by_gpu_time),
     .value = "false",
     .help = "rank by remaining time * GPUs: short for gpus_exponent 1"},
    {.name = "gpus_exponent",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct srtf_options, gpus_exponent),
     .value = "0",
     .range = {.min = 0, .max = 4},
     .help = "rank by remaining time * GPUs^this; 0 = by time alone"},
    {.name = "by_count",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct srtf_options, by_count),
     .value = "false",
     .help = "choose which jobs run by the number of GPUs alone; a chosen job that finds no place waits and no other "
             "job gets its GPUs",
     .source = "Tiresias' simulator"},
    ADL_POLICY_STOP_MARGIN(struct srtf_options, "16"),
    ADL_POLICY_SHARE(struct srtf_options),
};

static void destroy(void *policy)
{
    struct srtf *self = policy;
    if (!self)
        return;
    adl_preemptive_list_clear(&self->list);
    free(self->banks);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct srtf_options *own = config->options;
    struct srtf *self = calloc(1, sizeof *self);
    if (!self || !(self->banks = calloc(cluster->bank_count + 1, sizeof *self->banks)) ||
        adl_preemptive_list_create(&self->list, cluster)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy srtf");
    }
    self->place = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true, .share = own->share};
    self->cost_us = config->preemption_us;
    self->stop_margin = own->stop_margin;
    self->list.bonus = (int64_t)(own->stop_margin * (double)config->preemption_us);
    self->list.ranked = true;
    self->gpus_exponent = own->by_gpu_time ? 1 : own->gpus_exponent;
    self->refreshed_us = INT64_MIN;
    self->heir = ADL_NONE;
    self->listed = own->first_fit || self->gpus_exponent > 0 || own->by_count;
    self->by_count = own->by_count;
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct srtf *self = policy;
    const struct srtf *other = from;
    if (adl_preemptive_list_copy(&self->list, &other->list, self))
        return ADL_ENOMEM;
    const struct srtf own = *self;
    *self = *other;
    self->list = own.list;
    self->banks = own.banks; /* of one decision, as is epoch */
    self->epoch = own.epoch;
    return 0;
}

/* Only the strict form goes through running jobs by their ends; the list has an order of its own. */
static bool tracks_running(const void *policy)
{
    return !((const struct srtf *)policy)->listed;
}

/* Time weighed by the GPUs of a job: exact where the power is 0 or 1. */
static int64_t weigh(const struct srtf *self, int64_t time_us, uint16_t gpus)
{
    if (self->gpus_exponent == 0 || gpus == 1)
        return time_us;
    if (self->gpus_exponent == 1)
        return time_us * gpus;
    return (int64_t)((double)time_us * adl_exp(self->gpus_exponent * adl_log(gpus)));
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct srtf *self = policy;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const int64_t key = weigh(self, adl_state_shortest_us(state, slot), spec->gpus);
    if (self->listed && adl_preemptive_list_add(&self->list, slot, spec, key))
        self->failed = true;
    return key;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct srtf *self = policy;
    if (self->listed && (event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT))
        adl_preemptive_list_remove(&self->list, event->job);
}

/* Time that a running job would take on its best type, of what it would take where it is. */
static int64_t on_best_type(const struct adl_state *state, uint32_t slot, int64_t left_us)
{
    const struct adl_job *job = &state->jobs[slot];
    const int64_t here_us = job->expected_us - job->start_us, best_us = adl_state_shortest_us(state, slot);
    return best_us == here_us ? left_us : (int64_t)((double)left_us / (double)here_us * (double)best_us);
}

/* What rank would say of a running job, were it stopped now and had it kept all its work. */
static inline int64_t left_now(const struct srtf *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool several_types = job->eligible & (job->eligible - 1);
    int64_t left_us = job->expected_us > state->now_us ? job->expected_us - state->now_us : 0;
    if (several_types)
        left_us = on_best_type(state, slot, left_us);
    return self->gpus_exponent == 0 ? left_us : weigh(self, left_us, job->spec.gpus);
}

static inline int64_t price_us(const struct srtf *self, const struct adl_state *state, uint32_t slot)
{
    return adl_stop_price_us(state, slot, self->cost_us, self->stop_margin);
}

/* Less the price of a stop: only a job that is shorter by that, too, is served before it. The list's bonus, which also
 * protects jobs that started at this instant, is part of the price. */
static inline int64_t key_now(const struct adl_state *state, uint32_t slot, const void *context)
{
    const struct srtf *self = context;
    const int64_t price = price_us(self, state, slot);
    return left_now(self, state, slot) - (price == 0 ? 0 : weigh(self, price, state->jobs[slot].spec.gpus)) +
           self->list.bonus;
}

/* By what the list is ordered by, but for the price of a stop: time left, or that times GPUs. */
static struct adl_reason reason_of(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                   bool stops)
{
    const struct srtf *self = context;
    const struct adl_preemptive_job *jobs = self->list.jobs;
    const int64_t own_us = stops ? left_now(self, state, slot) : jobs[slot].key;
    const enum adl_rule starts_by = self->gpus_exponent > 0 ? ADL_RULE_LEAST_WORK : ADL_RULE_SHORTEST,
                        stops_by = self->gpus_exponent > 0 ? ADL_RULE_FOR_LESS_WORK : ADL_RULE_FOR_SHORTER;
    return adl_reason_make(stops ? stops_by : starts_by, other, (double)own_us * 1e-6,
                           other == ADL_NONE ? 0 : (double)jobs[other].key * 1e-6);
}

static int decide_list(struct srtf *self, const struct adl_state *state, struct adl_plan *plan)
{
    if (self->failed)
        return ADL_ENOMEM;
    while (adl_preemptive_list_next_started(&self->list, state) != ADL_NONE)
        ;
    if (state->queue.count == 0)
        return 0;
    self->list.reason = reason_of;
    self->list.reason_context = self;
    self->list.weighs_loss = true;
    if (self->by_count || self->refreshed_us != state->now_us) /* who started since has the key it would get */
        adl_preemptive_list_refresh(&self->list, state, key_now, self);
    self->refreshed_us = state->now_us;
    return self->by_count ? adl_count_scheduler_decide(&self->list, state, plan)
                          : adl_preemptive_list_decide(&self->list, state, plan);
}

static struct tally *tally_of(struct srtf *self, const struct adl_state *state, uint32_t bank)
{
    struct tally *tally = &self->banks[bank];
    if (tally->epoch != self->epoch) {
        const struct adl_node_use *node = &state->nodes_use[state->cluster->banks[bank].node];
        *tally = (struct tally){.epoch = self->epoch,
                                .gpus = adl_pool_bank_free(&state->pool, bank),
                                .cores = node->free_cores,
                                .memory_mib = node->free_memory_mib};
    }
    return tally;
}

static bool suffices(const struct tally *tally, const struct adl_job_spec *spec)
{
    return tally->gpus >= spec->gpus && tally->cores >= (int64_t)spec->gpus * spec->cpu_cores &&
           tally->memory_mib >= (int64_t)spec->gpus * spec->memory_mib;
}

/* Adds what a running job holds to the tallies of its banks; returns a bank that now suffices, or ADL_NONE. A GPU that
 * is shared does not become free by one of the two leaving. */
static uint32_t give_back(struct srtf *self, const struct adl_state *state, uint32_t victim,
                          const struct adl_job_spec *wanted)
{
    const struct adl_job_spec *spec = &state->jobs[victim].spec;
    uint32_t found = ADL_NONE;
    for (uint32_t gpu = state->jobs[victim].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, victim, gpu)) {
        const uint32_t bank = state->cluster->gpu_bank[gpu];
        struct tally *tally = tally_of(self, state, bank);
        tally->gpus += state->gpus[gpu].job[1] == ADL_NONE;
        tally->cores += spec->cpu_cores;
        tally->memory_mib += spec->memory_mib;
        if (found == ADL_NONE && suffices(tally, wanted))
            found = bank;
    }
    return found;
}

/* True if a bank suffices without this job leaving it, which then counts as staying. */
static bool can_stay(struct srtf *self, const struct adl_state *state, uint32_t victim, uint32_t bank,
                     const struct adl_job_spec *wanted)
{
    const struct adl_job_spec *spec = &state->jobs[victim].spec;
    const struct tally before = *tally_of(self, state, bank);
    struct tally *tally = tally_of(self, state, bank);
    for (uint32_t gpu = state->jobs[victim].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, victim, gpu)) {
        if (state->cluster->gpu_bank[gpu] != bank)
            continue;
        tally->gpus -= state->gpus[gpu].job[1] == ADL_NONE;
        tally->cores -= spec->cpu_cores;
        tally->memory_mib -= spec->memory_mib;
    }
    if (suffices(tally, wanted))
        return true;
    *tally = before;
    return false;
}

/* Longer than the wanted job both on this type and, each on its best type, in rank: else the two would take turns. */
static bool worth_stopping(const struct srtf *self, const struct adl_state *state, uint32_t victim, uint32_t wanted)
{
    const struct adl_job *job = &state->jobs[victim];
    const int64_t left_us = job->expected_us - state->now_us, cost_us = price_us(self, state, victim);
    if (job->phase != ADL_PHASE_RUNNING || !(job->spec.flags & ADL_JOB_PREEMPTIBLE) ||
        left_us <= adl_state_remaining_us(state, wanted, job->type) + cost_us)
        return false;
    const double share = (double)left_us / (double)(job->expected_us - job->start_us);
    const double best_us = share * (double)adl_state_shortest_us(state, victim);
    return best_us > (double)(adl_state_shortest_us(state, wanted) + cost_us);
}

static bool holds_bank(const struct adl_state *state, uint32_t victim, uint32_t bank)
{
    for (uint32_t gpu = state->jobs[victim].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, victim, gpu))
        if (state->cluster->gpu_bank[gpu] == bank)
            return true;
    return false;
}

/* Jobs that are stopping already count as gone, so that nothing more is stopped while they leave. */
static uint32_t count_stopping(struct srtf *self, const struct adl_state *state, uint32_t type,
                               const struct adl_job_spec *wanted)
{
    uint32_t found = ADL_NONE;
    if (state->stopping_jobs == 0)
        return ADL_NONE;
    for (uint32_t v = state->running[type].last; v != ADL_NONE && found == ADL_NONE; v = state->nodes[v].previous)
        if (state->jobs[v].phase == ADL_PHASE_STOPPING)
            found = give_back(self, state, v, wanted);
    return found;
}

/* From the job that would run longest: the bank of this type that is first made free enough, or ADL_NONE. */
static uint32_t find_bank(struct srtf *self, const struct adl_state *state, uint32_t wanted, uint32_t type)
{
    const struct adl_job_spec *spec = &state->jobs[wanted].spec;
    const int64_t wanted_us = adl_state_remaining_us(state, wanted, type);
    self->epoch++;
    uint32_t found = count_stopping(self, state, type, spec);
    for (uint32_t v = state->running[type].last; v != ADL_NONE && found == ADL_NONE; v = state->nodes[v].previous) {
        if (state->jobs[v].expected_us - state->now_us <= wanted_us + self->list.bonus)
            break;
        if (worth_stopping(self, state, v, wanted))
            found = give_back(self, state, v, spec);
    }
    return found;
}

static int preempt_for(struct srtf *self, const struct adl_state *state, uint32_t wanted, uint32_t type, uint32_t bank,
                       struct adl_plan *plan)
{
    const struct adl_job_spec *spec = &state->jobs[wanted].spec;
    const uint32_t first = plan->command_count;
    self->epoch++;
    const struct tally *tally = tally_of(self, state, bank);
    count_stopping(self, state, type, spec);
    for (uint32_t v = state->running[type].last; v != ADL_NONE && !suffices(tally, spec);
         v = state->nodes[v].previous) {
        if (!worth_stopping(self, state, v, wanted) || !holds_bank(state, v, bank))
            continue;
        give_back(self, state, v, spec);
        const int status = adl_plan_preempt(plan, v);
        if (status)
            return status;
        adl_plan_because(plan, adl_reason_make(ADL_RULE_FOR_SHORTER, wanted,
                                               (double)(state->jobs[v].expected_us - state->now_us) * 1e-6,
                                               (double)adl_state_remaining_us(state, wanted, type) * 1e-6));
    }
    /* Those that hold more may make others that were found before them needless. */
    for (uint32_t i = first; i < plan->command_count;)
        if (can_stay(self, state, plan->commands[i].job, bank, spec))
            adl_plan_drop(plan, i);
        else
            i++;
    if (plan->command_count == first) /* those that are stopping already make room for it */
        return 0;
    self->heir = wanted;
    self->heir_id = state->jobs[wanted].spec.id;
    self->heir_bank = bank;
    return 0;
}

/* Who others were stopped for starts where they were, and before them, though it may turn out once they have stopped
 * that they have less left than was believed. True if nobody else is to be looked at. */
static bool serve_heir(struct srtf *self, const struct adl_state *state, uint32_t head, struct adl_plan *plan)
{
    if (self->heir == ADL_NONE)
        return false;
    const struct adl_job *job = &state->jobs[self->heir];
    const bool waits = job->phase == ADL_PHASE_PENDING && job->spec.id == self->heir_id;
    if (waits && adl_placement_try_bank(state, self->heir, self->heir_bank, plan)) {
        adl_plan_because(plan, adl_reason_make(ADL_RULE_CLEARED, ADL_NONE, 0, 0));
        self->heir = ADL_NONE;
        return true;
    }
    if (!waits || state->stopping_jobs == 0)
        self->heir = ADL_NONE;
    return self->heir != ADL_NONE && (head == self->heir || state->jobs[head].attempts > 0);
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct srtf *self = policy;
    if (self->listed)
        return decide_list(self, state, plan);
    const uint32_t head = adl_queue_head(&state->queue);
    if (head == ADL_NONE || serve_heir(self, state, head, plan))
        return 0;
    if (adl_placement_start(state, head, &self->place, plan)) {
        adl_plan_because(plan, adl_reason_ranked(state, &state->queue, head, ADL_RULE_SHORTEST));
        return 0;
    }
    uint32_t types[ADL_TYPES_MAX];
    const uint32_t count = adl_placement_order_types(state, head, UINT32_MAX, types);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bank = find_bank(self, state, head, types[i]);
        if (bank != ADL_NONE)
            return preempt_for(self, state, head, types[i], bank, plan);
    }
    return 0;
}

const struct adl_policy_ops adl_policy_srtf = {
    .name = "srtf",
    .summary = "shortest remaining time first, preempting longer jobs where it pays",
    .points_only = true,
    .tracks_running = tracks_running,
    ADL_POLICY_OPTIONS(options, struct srtf_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};

const struct adl_policy_ops adl_policy_srtf_strict = {
    .name = "srtf-strict",
    .summary = "srtf without first fit: the job with the shortest remaining time blocks the others",
    .points_only = true,
    .tracks_running = tracks_running,
    ADL_POLICY_OPTIONS(options, struct srtf_options),
    .settings = "first_fit=false\n",
    .variant_of = "srtf",
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};
