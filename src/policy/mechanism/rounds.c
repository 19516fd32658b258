#include "policy/mechanism/rounds.h"

#include "base/copy.h"
#include "base/median.h"
#include "base/rng.h"
#include "model/scenario.h"
#include "policy/mechanism/round_placement.h"

#include <stdlib.h>
#include <string.h>

#define NEW_JOB_PRIORITY 1e9 /* times X: for a job that has not run on the type yet */

/* A job on a type, as it is ranked for a round. */
struct entry {
    double priority, deficit, share;
    uint32_t turn;  /* entries of a lower turn go before all others */
    uint32_t order; /* type by type, then by arrival: decides between equals */
    uint32_t slot;
};

struct adl_rounds {
    const struct adl_cluster *cluster;
    uint32_t types;
    struct adl_rounds_config config;
    struct adl_rng rng;           /* for the order of types */
    uint32_t turn[ADL_TYPES_MAX]; /* of each type in this round */
    struct adl_round_placement *round_placement;
    uint32_t *live; /* slots in order of arrival */
    uint32_t live_count;
    uint32_t seen_count;      /* of the live jobs, from the first on, those whose run time is in run_us */
    struct adl_median run_us; /* predicted, of all jobs so far */
    int64_t round_us;
    uint32_t *possible; /* [slot] types on which it fits when the cluster is empty */
    bool *shared;       /* [slot] shares were computed since it arrived */
    double *share;      /* [slot][type] X */
    double *received_s; /* [slot][type] time on the type since clocks restarted, including half a round */
    double *deficit_s;  /* [slot][type] time owed from earlier periods */
    struct entry *entries;
    size_t live_capacity, slot_capacity, entry_capacity;
    double type_s[ADL_TYPES_MAX]; /* sum of received_s */
    int64_t begun_us;             /* of the round */
    int64_t clocks_us;            /* when clocks last restarted */
    bool under_way, allocated, changed, out_of_memory;
};

int adl_rounds_create(const struct adl_cluster *cluster, const struct adl_rounds_config *config, uint64_t seed,
                      struct adl_rounds **ret)
{
    struct adl_rounds *self = calloc(1, sizeof *self);
    if (!self || adl_round_placement_create(cluster, &self->round_placement)) {
        free(self);
        return ADL_ENOMEM;
    }
    self->cluster = cluster;
    self->types = cluster->type_count;
    self->config = *config;
    self->round_us = config->round_us;
    adl_rng_seed(&self->rng, seed, "rounds");
    for (uint32_t t = 0; t < self->types; t++)
        self->turn[t] = t;
    *ret = self;
    return 0;
}

void adl_rounds_destroy(struct adl_rounds *self)
{
    if (!self)
        return;
    adl_round_placement_destroy(self->round_placement);
    free(self->live);
    free(self->possible);
    free(self->shared);
    free(self->share);
    free(self->received_s);
    free(self->deficit_s);
    free(self->entries);
    free(self);
}

/* ---- jobs and their clocks ---- */

static double half_round_s(const struct adl_rounds *self)
{
    return (double)self->round_us * 0.5e-6;
}

static int grow(struct adl_rounds *self, uint32_t slot)
{
    size_t possible = self->slot_capacity, shared = possible, share = possible, received = possible, deficit = possible;
    const size_t count = (size_t)slot + 1, row = self->types * sizeof(double);
    if (adl_grow((void **)&self->possible, &possible, count, sizeof *self->possible) ||
        adl_grow((void **)&self->shared, &shared, count, sizeof *self->shared) ||
        adl_grow((void **)&self->share, &share, count, row) ||
        adl_grow((void **)&self->received_s, &received, count, row) ||
        adl_grow((void **)&self->deficit_s, &deficit, count, row))
        return ADL_ENOMEM;
    self->slot_capacity = possible;
    const size_t live = (size_t)self->live_count + 1;
    if (adl_grow((void **)&self->live, &self->live_capacity, live, sizeof *self->live) ||
        adl_grow((void **)&self->entries, &self->entry_capacity, live * self->types, sizeof *self->entries))
        return ADL_ENOMEM;
    return adl_round_placement_grow(self->round_placement, slot, self->live_count + 1);
}

int adl_rounds_copy(struct adl_rounds *to, const struct adl_rounds *from)
{
    const size_t slots = from->slot_capacity, rows = slots * from->types;
    if ((slots > 0 && grow(to, (uint32_t)slots - 1)) ||
        adl_grow((void **)&to->live, &to->live_capacity, from->live_capacity, sizeof *to->live) ||
        adl_grow((void **)&to->entries, &to->entry_capacity, from->entry_capacity, sizeof *to->entries) ||
        adl_round_placement_copy(to->round_placement, from->round_placement, to->live))
        return ADL_ENOMEM;
    const struct adl_rounds own = *to;
    *to = *from;
    to->round_placement = own.round_placement;
    to->slot_capacity = own.slot_capacity;
    to->live_capacity = own.live_capacity;
    to->entry_capacity = own.entry_capacity;
    ADL_COPY_ARRAY(to, own, from, live, from->live_count);
    ADL_COPY_ARRAY(to, own, from, possible, slots);
    ADL_COPY_ARRAY(to, own, from, shared, slots);
    ADL_COPY_ARRAY(to, own, from, share, rows);
    ADL_COPY_ARRAY(to, own, from, received_s, rows);
    ADL_COPY_ARRAY(to, own, from, deficit_s, rows);
    to->entries = own.entries;
    return 0;
}

static void join(struct adl_rounds *self, uint32_t slot, const struct adl_job_spec *spec)
{
    if (grow(self, slot)) {
        self->out_of_memory = true;
        return;
    }
    struct adl_job_spec on_type = *spec;
    self->possible[slot] = 0;
    self->shared[slot] = false;
    for (uint32_t t = 0; t < self->types; t++) {
        on_type.types = spec->types & 1u << t;
        if (on_type.types && adl_demand_possible(self->cluster, &on_type, NULL))
            self->possible[slot] |= 1u << t;
        const size_t at = (size_t)slot * self->types + t;
        self->share[at] = self->deficit_s[at] = 0;
        self->received_s[at] = half_round_s(self);
        self->type_s[t] += self->received_s[at];
    }
    adl_round_placement_forget(self->round_placement, slot);
    self->live[self->live_count++] = slot;
    self->changed = true;
}

static void leave(struct adl_rounds *self, uint32_t slot)
{
    uint32_t at = 0;
    while (at < self->live_count && self->live[at] != slot)
        at++;
    if (at == self->live_count)
        return;
    memmove(&self->live[at], &self->live[at + 1], (self->live_count - at - 1) * sizeof *self->live);
    self->live_count--;
    self->seen_count -= at < self->seen_count;
    for (uint32_t t = 0; t < self->types; t++)
        self->type_s[t] -= self->received_s[(size_t)slot * self->types + t];
    adl_round_placement_forget(self->round_placement, slot);
    self->changed = true;
}

/* Counts the time that a job has held GPUs in this round. */
static void count_time(struct adl_rounds *self, const struct adl_job *job, uint32_t slot, int64_t now_us)
{
    const int64_t since_us = job->start_us > self->begun_us ? job->start_us : self->begun_us;
    const double ran_s = (double)(now_us - since_us) * 1e-6;
    self->received_s[(size_t)slot * self->types + job->type] += ran_s;
    self->type_s[job->type] += ran_s;
}

void adl_rounds_observe(struct adl_rounds *self, const struct adl_event *event, const struct adl_state *state)
{
    if (self->out_of_memory)
        return;
    if (event->kind == ADL_EVENT_SUBMIT)
        join(self, event->job, event->submit.spec);
    else if (event->kind == ADL_EVENT_FINISH)
        leave(self, event->job);
    else if (event->kind == ADL_EVENT_EVICT)
        count_time(self, &state->jobs[event->job], event->job, event->time_us);
    else if (event->kind == ADL_EVENT_GPU_DOWN || event->kind == ADL_EVENT_GPU_UP)
        self->changed = true;
}

/* Time owed to the job on the type: due minus received. */
static double owed_s(const struct adl_rounds *self, size_t at, double passed_s)
{
    return self->deficit_s[at] + self->share[at] * passed_s - (self->received_s[at] - half_round_s(self));
}

static void see_new_jobs(struct adl_rounds *self, const struct adl_state *state)
{
    for (; self->seen_count < self->live_count; self->seen_count++)
        if (state->jobs[self->live[self->seen_count]].eligible)
            adl_median_add(&self->run_us, (double)adl_state_shortest_us(state, self->live[self->seen_count]));
}

static int64_t round_from_work(const struct adl_rounds *self)
{
    const double round_us = self->config.round_part * adl_median_value(&self->run_us);
    const int64_t least_us = self->config.round_least_us > 0 ? self->config.round_least_us : 1;
    return round_us > (double)least_us ? (int64_t)round_us : least_us;
}

/* True if the work wants rounds of less than half the present length. */
static bool is_round_long(const struct adl_rounds *self)
{
    return self->config.round_us == 0 && self->changed && round_from_work(self) < self->round_us / 2;
}

/* Restarts all clocks; time owed until now is kept as deficit. */
static void start_clocks(struct adl_rounds *self, int64_t now_us)
{
    const double passed_s = (double)(now_us - self->clocks_us) * 1e-6;
    for (uint32_t t = 0; t < self->types; t++)
        for (uint32_t i = 0; i < self->live_count; i++) {
            const size_t at = (size_t)self->live[i] * self->types + t;
            self->deficit_s[at] = owed_s(self, at, passed_s);
            self->share[at] = 0;
        }
    if (self->config.round_us == 0)
        self->round_us = round_from_work(self);
    const double half_s = half_round_s(self);
    for (uint32_t t = 0; t < self->types; t++) {
        self->type_s[t] = half_s * self->live_count;
        for (uint32_t i = 0; i < self->live_count; i++)
            self->received_s[(size_t)self->live[i] * self->types + t] = half_s;
    }
    self->clocks_us = now_us;
}

/* ---- ranking ---- */

static bool before(const struct entry *a, const struct entry *b)
{
    if (a->turn != b->turn)
        return a->turn < b->turn;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->deficit != b->deficit)
        return a->deficit > b->deficit;
    if (a->share != b->share)
        return a->share > b->share;
    return a->order < b->order;
}

/* Restores the heap below an entry: each is before its children. */
static void sift(struct entry *entries, uint32_t at, uint32_t count)
{
    const struct entry moved = entries[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && before(&entries[child + 1], &entries[child]);
        if (!before(&entries[child], &moved))
            break;
        entries[at] = entries[child];
    }
    entries[at] = moved;
}

/* A heap, not a sorted list: with many waiting jobs the GPUs are assigned long before the last job is reached. */
static uint32_t rank(struct adl_rounds *self, const struct adl_state *state)
{
    const double passed_s = (double)(state->now_us - self->clocks_us) * 1e-6;
    uint32_t count = 0;
    for (uint32_t t = 0; t < self->types; t++)
        for (uint32_t i = 0; i < self->live_count; i++) {
            const uint32_t slot = self->live[i];
            if (!(state->jobs[slot].eligible & self->possible[slot] & 1u << t))
                continue;
            const size_t at = (size_t)slot * self->types + t;
            const double share = self->share[at], received = self->received_s[at], all = self->type_s[t];
            double priority = received > 0 && all > 0 ? share / (received / all) : share * NEW_JOB_PRIORITY;
            if (self->config.by_owed_time)
                priority = owed_s(self, at, passed_s + (double)self->round_us * 1e-6);
            self->entries[count++] = (struct entry){.priority = priority,
                                                    .deficit = self->deficit_s[at],
                                                    .share = share,
                                                    .turn = self->config.type_by_type ? self->turn[t] : 0,
                                                    .order = t * self->live_count + i,
                                                    .slot = slot};
        }
    for (uint32_t i = count / 2; i-- > 0;)
        sift(self->entries, i, count);
    return count;
}

/* ---- rounds ---- */

static void shuffle_types(struct adl_rounds *self)
{
    for (uint32_t left = self->types; left > 1; left--) {
        const uint32_t other = adl_rng_below(&self->rng, left), kept = self->turn[left - 1];
        self->turn[left - 1] = self->turn[other];
        self->turn[other] = kept;
    }
}

/* Jobs arrived or ended and the last allocation is old enough, or nothing could run otherwise. */
static bool is_allocation_due(const struct adl_rounds *self, const struct adl_state *state)
{
    return self->changed && (!self->allocated || (self->config.new_jobs_wait && state->running_jobs == 0) ||
                             state->now_us - self->clocks_us >= self->round_us / 3 * 16);
}

/* Chooses jobs in order of rank while GPUs are left. */
static void choose(struct adl_rounds *self, const struct adl_state *state)
{
    uint32_t count = rank(self, state);
    adl_round_placement_begin(self->round_placement, state, self->live, self->live_count);
    while (count > 0 && !adl_round_placement_full(self->round_placement)) {
        const uint32_t slot = self->entries[0].slot, type = self->entries[0].order / self->live_count;
        if (self->config.new_jobs_wait && !self->shared[slot])
            adl_round_placement_hold(self->round_placement, state, slot, type);
        else
            adl_round_placement_choose(self->round_placement, state, slot, type);
        self->entries[0] = self->entries[--count];
        sift(self->entries, 0, count);
    }
}

static int begin(struct adl_rounds *self, const struct adl_state *state, adl_rounds_allocate *allocate, void *context,
                 struct adl_plan *plan)
{
    const int64_t now_us = state->now_us;
    for (uint32_t i = 0; i < self->live_count; i++) {
        const struct adl_job *job = &state->jobs[self->live[i]];
        if (job->phase != ADL_PHASE_PENDING)
            count_time(self, job, self->live[i], now_us);
    }
    self->begun_us = now_us;
    self->under_way = true;
    if (is_allocation_due(self, state)) {
        start_clocks(self, now_us);
        self->allocated = true;
        self->changed = false;
        const struct adl_rounds_jobs jobs = {self->live, self->live_count, self->possible, self->share};
        const int status = allocate(context, state, &jobs);
        if (status)
            return status;
        for (uint32_t i = 0; i < self->live_count; i++)
            self->shared[self->live[i]] = true;
    }
    if (self->config.types_shuffled)
        shuffle_types(self);
    choose(self, state);
    const int status = adl_round_placement_preempt(self->round_placement, state, plan);
    return status ? status : adl_plan_wake(plan, now_us + self->round_us);
}

/* ---- reasons ---- */

/* What the round ranks by: the share of time on the type, or the time owed there at the end of the round. */
static double due(const struct adl_rounds *self, uint32_t slot, uint32_t type)
{
    const size_t at = (size_t)slot * self->types + type;
    const double until_s = (double)(self->begun_us + self->round_us - self->clocks_us) * 1e-6;
    return self->config.by_owed_time ? owed_s(self, at, until_s) : self->share[at];
}

static struct adl_reason start_reason(const struct adl_rounds *self, uint32_t slot, uint32_t type)
{
    const size_t at = (size_t)slot * self->types + type;
    const double received = self->type_s[type] > 0 ? self->received_s[at] / self->type_s[type] : 0;
    if (self->config.by_owed_time)
        return adl_reason_make(ADL_RULE_OWED, ADL_NONE, due(self, slot, type), 0);
    if (self->share[at] <= 0)
        return adl_reason_make(ADL_RULE_LEFTOVER, ADL_NONE, 0, 0);
    return adl_reason_make(ADL_RULE_SHARE, ADL_NONE, self->share[at], received);
}

static struct adl_reason stop_reason(const struct adl_rounds *self, const struct adl_state *state, uint32_t slot)
{
    const uint32_t successor = adl_round_placement_successor(self->round_placement, state, slot),
                   type = state->jobs[slot].type;
    const double here = due(self, slot, type);
    const enum adl_rule rule = self->config.by_owed_time ? ADL_RULE_FOR_OWED : ADL_RULE_FOR_SHARE;
    if (successor == slot)
        return adl_reason_make(self->config.by_owed_time ? ADL_RULE_MOVES_OWED : ADL_RULE_MOVES_SHARE, slot, here,
                               due(self, slot, adl_round_placement_type(self->round_placement, slot)));
    return adl_reason_make(rule, successor, here, successor == ADL_NONE ? 0 : due(self, successor, type));
}

static void give_reasons(const struct adl_rounds *self, const struct adl_state *state, struct adl_plan *plan)
{
    for (uint32_t i = 0; i < plan->command_count; i++) {
        struct adl_command *command = &plan->commands[i];
        if (command->kind == ADL_COMMAND_START)
            command->reason =
                start_reason(self, command->job, adl_gpu_type_of(state->cluster, plan->gpus[command->gpu_offset]));
        else if (command->kind == ADL_COMMAND_PREEMPT)
            command->reason = stop_reason(self, state, command->job);
    }
}

static int decide(struct adl_rounds *self, const struct adl_state *state, adl_rounds_allocate *allocate, void *context,
                  struct adl_plan *plan)
{
    if (self->out_of_memory)
        return ADL_ENOMEM;
    if (self->live_count == 0) {
        self->under_way = false;
        return 0;
    }
    see_new_jobs(self, state);
    if (is_round_long(self))
        self->under_way = self->allocated = false;
    const bool over = !self->under_way || state->now_us - self->begun_us >= self->round_us;
    if (!over) {
        const int status = adl_round_placement_start(self->round_placement, state, plan);
        if (status || plan->command_count > 0 || state->running_jobs > 0 || state->now_us == self->begun_us)
            return status;
    }
    const int status = begin(self, state, allocate, context, plan);
    return status ? status : adl_round_placement_start(self->round_placement, state, plan);
}

double adl_rounds_length_s(const struct adl_rounds *self)
{
    return (double)self->round_us * 1e-6;
}

int adl_rounds_decide(struct adl_rounds *self, const struct adl_state *state, adl_rounds_allocate *allocate,
                      void *context, struct adl_plan *plan)
{
    const int status = decide(self, state, allocate, context, plan);
    if (!plan->reasons_unread)
        give_reasons(self, state, plan);
    return status;
}
