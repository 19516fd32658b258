/* las: Tiresias' discretized two-dimensional least attained service (Gu et al., NSDI 2019, section 3.2).
 *
 * Attained service of a job = GPUs * time it held them. Queues are bounded by limits of attained service; a lower queue
 * is served first, inside a queue jobs go by time of submission; a job that does not fit is passed over. A job leaves
 * its queue for the next at the very moment its service reaches the limit, and returns to the first, its service
 * forgotten, when it has waited K times as long as it ran (las_promote). Nothing is assumed of durations. Unless
 * las_limits_gpu_s has them, the limits are multiples of the median service that jobs had when they ended; until one
 * has ended there is one queue. They change when a tenth more jobs have ended, and jobs change their queues with them.
 *
 * las_running_first: inside a queue, jobs that run come before those that wait, each in the order they joined it, and
 * those just stopped come first among the waiting. Fewer jobs are stopped.
 *
 * las_lazy: demotions are noticed only when jobs come or end, and at whole seconds (limit - time held) / GPUs after the
 * last such moment, a job at most one queue at a time. This is what Tiresias' own simulator does: it forgets to
 * multiply the time by the GPUs. The next wake-up is then found by looking at all that run. */
#include "base/copy.h"
#include "base/median.h"
#include "policy/mechanism/preemptive_list.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#define LIMITS_MAX  8
#define QUEUE_SHIFT 58 /* key: queue, then whether it waits its turn behind those settled, then order inside */
#define TURN_SHIFT  57
#define MIDDLE      (INT64_C(1) << 56)
#define SECOND_US   INT64_C(1000000)

struct las_job {
    uint64_t arrival;
    int64_t submit_us;
    int64_t held_us;   /* since the last promotion, in earlier attempts */
    int64_t start_us;  /* of this attempt */
    int64_t waited_us; /* since it first ran after the last promotion */
    int64_t since_us;  /* waiting since */
    int64_t turn;      /* its order inside the queue, with las_running_first */
    uint16_t gpus;
    uint8_t queue;
    bool settled; /* was given GPUs in the last pass, or never had to ask */
    bool runs;
    bool has_turn;     /* where it will wait was set when it was ordered to stop */
    bool is_due;       /* it is in due */
    bool is_unsettled; /* it is in unsettled */
};

/* A table of order nodes and one order over it. */
struct index {
    struct adl_order_node *nodes; /* [slot] */
    size_t capacity;
    struct adl_order order;
    uint64_t sequence;
};

struct las {
    struct adl_preemptive_list list;
    struct las_job *jobs; /* [slot] */
    size_t job_capacity;
    struct index due;    /* jobs by the time at which they change their queue */
    uint32_t *unsettled; /* las_running_first: the few jobs that run, by key, to be settled at the next pass */
    size_t unsettled_capacity;
    uint32_t unsettled_count;
    int64_t limits_us[LIMITS_MAX]; /* GPU-microseconds */
    uint32_t limit_count;
    struct adl_policy_reals medians; /* limits as multiples of the median service; none = they are set */
    struct adl_median service;       /* GPU-microseconds that jobs had when they ended */
    uint32_t learned;                /* jobs that had ended when the limits were set */
    double promote;
    bool running_first, lazy;
    uint64_t arrivals;
    int64_t next_turn, front_turn;
    int64_t pass_us;  /* time of the last pass */
    int64_t woken_us; /* the last wake-up asked for */
    bool awake;       /* something happened since the last pass that a pass may follow */
    bool failed;      /* out of memory in observe() */
};

struct las_options {
    struct adl_policy_reals limits_gpu_s, limits_medians;
    double promote;
    bool running_first, lazy;
};

static const struct adl_policy_option options[] = {
    {.name = "las_limits_gpu_s",
     .type = ADL_POLICY_REALS,
     .offset = offsetof(struct las_options, limits_gpu_s),
     .value = "",
     .range = {.max = 1e15, .open = true},
     .most = LIMITS_MAX,
     .ascending = true,
     .help = "attained service in GPU seconds that ends each queue but the last, instead of las_limits_medians",
     .source = "3600,7200,18000: Gu et al., NSDI 2019"},
    {.name = "las_limits_medians",
     .type = ADL_POLICY_REALS,
     .offset = offsetof(struct las_options, limits_medians),
     .value = "4,8,20",
     .range = {.max = 1e6, .open = true},
     .most = LIMITS_MAX,
     .ascending = true,
     .help = "attained service that ends each queue but the last, in multiples of the median of the jobs that have "
             "ended"},
    {.name = "las_promote",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct las_options, promote),
     .value = "0",
     .range = {.min = 0.001, .max = 1e6, .or_zero = true},
     .help = "promote a job that has waited this many times what it ran; 0 = never",
     .source = "Gu et al., NSDI 2019, section 3.2"},
    {.name = "las_running_first",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct las_options, running_first),
     .value = "true",
     .help = "inside a queue jobs that run come before those that wait, else by submission"},
    {.name = "las_lazy",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct las_options, lazy),
     .value = "false",
     .help = "demotions at the times at which Tiresias' own simulator makes them",
     .source = "Tiresias' simulator"},
};

static void destroy(void *policy)
{
    struct las *self = policy;
    if (!self)
        return;
    adl_preemptive_list_clear(&self->list);
    free(self->jobs);
    free(self->due.nodes);
    free(self->unsettled);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    struct las *self = calloc(1, sizeof *self);
    if (!self || adl_preemptive_list_create(&self->list, cluster)) {
        free(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy las");
    }
    const struct las_options *own = config->options;
    self->limit_count = own->limits_gpu_s.count;
    for (uint32_t i = 0; i < self->limit_count; i++)
        self->limits_us[i] = (int64_t)(own->limits_gpu_s.items[i] * 1e6 + 0.5);
    if (self->limit_count == 0)
        self->medians = own->limits_medians;
    adl_order_init(&self->due.order);
    self->promote = own->promote;
    self->running_first = own->running_first;
    self->lazy = own->lazy;
    self->next_turn = self->front_turn = MIDDLE;
    self->pass_us = self->woken_us = INT64_MIN;
    *ret_policy = self;
    return 0;
}

static int copy_index(struct index *to, const struct index *from)
{
    if (adl_grow((void **)&to->nodes, &to->capacity, from->capacity, sizeof *to->nodes))
        return ADL_ENOMEM;
    const struct index own = *to;
    *to = *from;
    to->capacity = own.capacity;
    ADL_COPY_ARRAY(to, own, from, nodes, from->capacity);
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct las *self = policy;
    const struct las *other = from;
    if (adl_grow((void **)&self->jobs, &self->job_capacity, other->job_capacity, sizeof *self->jobs) ||
        adl_grow((void **)&self->unsettled, &self->unsettled_capacity, other->unsettled_capacity,
                 sizeof *self->unsettled) ||
        copy_index(&self->due, &other->due) || adl_preemptive_list_copy(&self->list, &other->list, self))
        return ADL_ENOMEM;
    const struct las own = *self;
    *self = *other;
    self->list = own.list;
    self->due = own.due;
    self->job_capacity = own.job_capacity;
    self->unsettled_capacity = own.unsettled_capacity;
    ADL_COPY_ARRAY(self, own, other, jobs, other->job_capacity);
    ADL_COPY_ARRAY(self, own, other, unsettled, other->unsettled_count);
    return 0;
}

static int64_t key_of(const struct las *self, const struct las_job *job)
{
    const int64_t queue = (int64_t)job->queue << QUEUE_SHIFT;
    if (!self->running_first)
        return queue + job->submit_us;
    return queue + ((int64_t)!job->settled << TURN_SHIFT) + job->turn;
}

static void drop_due(struct las *self, uint32_t slot)
{
    if (self->jobs[slot].is_due)
        adl_order_remove(self->due.nodes, &self->due.order, slot);
    self->jobs[slot].is_due = false;
}

static void put_due(struct las *self, uint32_t slot, int64_t time_us)
{
    adl_order_insert(self->due.nodes, &self->due.order, slot, time_us, self->due.sequence++, 0);
    self->jobs[slot].is_due = true;
}

static void drop_unsettled(struct las *self, uint32_t slot)
{
    if (!self->jobs[slot].is_unsettled)
        return;
    self->jobs[slot].is_unsettled = false;
    uint32_t at = 0;
    while (self->unsettled[at] != slot)
        at++;
    self->unsettled_count--;
    memmove(&self->unsettled[at], &self->unsettled[at + 1], (self->unsettled_count - at) * sizeof *self->unsettled);
}

static void put_unsettled(struct las *self, uint32_t slot)
{
    const int64_t key = key_of(self, &self->jobs[slot]);
    uint32_t at = self->unsettled_count++;
    for (; at > 0 && key_of(self, &self->jobs[self->unsettled[at - 1]]) > key; at--)
        self->unsettled[at] = self->unsettled[at - 1];
    self->unsettled[at] = slot;
    self->jobs[slot].is_unsettled = true;
}

/* Time held since the last promotion. */
static int64_t held_us(const struct las_job *job, int64_t now_us)
{
    return job->held_us + (job->runs ? now_us - job->start_us : 0);
}

/* Notes when a job will change its queue if it goes on as it does: by running, or by waiting. */
static void set_due(struct las *self, uint32_t slot)
{
    const struct las_job *job = &self->jobs[slot];
    drop_due(self, slot);
    if (job->runs && job->queue < self->limit_count) {
        const int64_t left_us = self->limits_us[job->queue] - job->held_us * job->gpus;
        const int64_t run_us = left_us > 0 ? (left_us + job->gpus - 1) / job->gpus : 0;
        put_due(self, slot, job->start_us + run_us);
    } else if (!job->runs && job->queue > 0 && self->promote > 0 && job->held_us > 0) {
        const double wait_us = self->promote * (double)job->held_us - (double)job->waited_us;
        if (wait_us < 9e15)
            put_due(self, slot, job->since_us + (wait_us > 0 ? (int64_t)wait_us : 0));
    }
}

static int grow(struct las *self, uint32_t slot)
{
    const size_t count = (size_t)slot + 1;
    return adl_grow((void **)&self->jobs, &self->job_capacity, count, sizeof *self->jobs) ||
                   adl_grow((void **)&self->due.nodes, &self->due.capacity, count, sizeof *self->due.nodes) ||
                   adl_grow((void **)&self->unsettled, &self->unsettled_capacity, count, sizeof *self->unsettled)
               ? ADL_ENOMEM
               : 0;
}

static int submitted(struct las *self, const struct adl_event *event)
{
    if (grow(self, event->job))
        return ADL_ENOMEM;
    struct las_job *job = &self->jobs[event->job];
    *job = (struct las_job){.arrival = self->arrivals++,
                            .submit_us = event->time_us,
                            .since_us = event->time_us,
                            .turn = self->next_turn++,
                            .gpus = event->submit.spec->gpus};
    return adl_preemptive_list_add(&self->list, event->job, event->submit.spec, key_of(self, job));
}

static void forget_marks(struct las *self, uint32_t slot)
{
    drop_due(self, slot);
    drop_unsettled(self, slot);
}

static int evicted(struct las *self, const struct adl_event *event, const struct adl_state *state)
{
    struct las_job *job = &self->jobs[event->job];
    forget_marks(self, event->job);
    job->held_us += event->time_us - state->jobs[event->job].start_us;
    job->runs = false;
    job->since_us = event->time_us;
    while (!self->lazy && job->queue < self->limit_count && job->held_us * job->gpus >= self->limits_us[job->queue])
        job->queue++;
    if (!job->has_turn)
        job->turn = --self->front_turn;
    job->settled = job->has_turn = false;
    set_due(self, event->job);
    return adl_preemptive_list_add(&self->list, event->job, &state->jobs[event->job].spec, key_of(self, job));
}

static void ended(struct las *self, const struct adl_event *event)
{
    const struct las_job *job = &self->jobs[event->job];
    if (job->runs)
        adl_median_add(&self->service, (double)held_us(job, event->time_us) * job->gpus);
    forget_marks(self, event->job);
    adl_preemptive_list_remove(&self->list, event->job);
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct las *self = policy;
    int status = 0;
    const bool known =
        event->kind == ADL_EVENT_SUBMIT || (event->kind <= ADL_EVENT_EVICT && event->job < self->list.job_capacity &&
                                            self->list.jobs[event->job].phase != ADL_PREEMPTIVE_ABSENT);
    self->awake |= event->kind < ADL_EVENT_TELEMETRY ||
                   (event->kind == ADL_EVENT_WAKE && (!self->lazy || event->time_us == self->woken_us));
    if (!known)
        return;
    if (event->kind == ADL_EVENT_SUBMIT) {
        status = submitted(self, event);
    } else if (event->kind == ADL_EVENT_EVICT) {
        status = evicted(self, event, state);
    } else {
        ended(self, event);
    }
    self->failed |= status != 0;
}

static void note_started(struct las *self, const struct adl_state *state)
{
    for (uint32_t slot; (slot = adl_preemptive_list_next_started(&self->list, state)) != ADL_NONE;) {
        struct las_job *job = &self->jobs[slot];
        job->runs = true;
        job->start_us = state->jobs[slot].start_us;
        if (job->held_us > 0)
            job->waited_us += job->start_us - job->since_us;
        set_due(self, slot);
        if (self->running_first)
            put_unsettled(self, slot);
    }
}

/* Those that got GPUs in the last pass, or kept them, come before those that did not. */
static void settle(struct las *self)
{
    for (uint32_t i = 0; i < self->unsettled_count; i++) {
        const uint32_t slot = self->unsettled[i];
        self->jobs[slot].is_unsettled = false;
        self->jobs[slot].settled = true;
        self->jobs[slot].turn = self->next_turn++;
        adl_preemptive_list_rerank(&self->list, slot, key_of(self, &self->jobs[slot]));
    }
    self->unsettled_count = 0;
}

/* Moves a job to the queue it belongs to now, behind all that are there. */
static void change_queue(struct las *self, uint32_t slot, int64_t now_us)
{
    struct las_job *job = &self->jobs[slot];
    drop_unsettled(self, slot);
    job->turn = self->next_turn++;
    job->settled = false;
    if (job->runs) {
        job->queue++;
    } else {
        job->queue = 0;
        job->held_us = job->waited_us = 0;
        job->since_us = now_us;
    }
    set_due(self, slot);
    adl_preemptive_list_rerank(&self->list, slot, key_of(self, job));
    if (self->running_first && job->runs)
        put_unsettled(self, slot);
}

/* Sets the limits by what jobs have had when they ended, and every job's queue by the limits. */
static void relearn(struct las *self, int64_t now_us)
{
    if (self->medians.count == 0 || self->service.count <= self->learned + self->learned / 10)
        return;
    self->learned = self->service.count;
    self->limit_count = self->medians.count;
    for (uint32_t i = 0; i < self->limit_count; i++)
        self->limits_us[i] = (int64_t)(self->medians.items[i] * adl_median_value(&self->service));
    for (uint32_t slot = 0; slot < self->list.job_capacity; slot++) {
        struct las_job *job = &self->jobs[slot];
        if (self->list.jobs[slot].phase == ADL_PREEMPTIVE_ABSENT)
            continue;
        job->queue = 0;
        while (job->queue < self->limit_count && held_us(job, now_us) * job->gpus >= self->limits_us[job->queue])
            job->queue++;
        set_due(self, slot);
        adl_preemptive_list_rerank(&self->list, slot, key_of(self, job));
    }
}

/* All that are due, in order of arrival: they are gathered in an order of their own first. */
static void change_queues(struct las *self, int64_t now_us)
{
    struct adl_order_node *nodes = self->due.nodes;
    do {
        struct adl_order gathered;
        adl_order_init(&gathered);
        for (uint32_t slot; (slot = self->due.order.first) != ADL_NONE && nodes[slot].key <= now_us;) {
            drop_due(self, slot);
            adl_order_insert(nodes, &gathered, slot, (int64_t)self->jobs[slot].arrival, slot, 0);
        }
        for (uint32_t slot; (slot = gathered.first) != ADL_NONE;) {
            adl_order_remove(nodes, &gathered, slot);
            change_queue(self, slot, now_us);
        }
    } while (!self->lazy && self->due.order.first != ADL_NONE && nodes[self->due.order.first].key <= now_us);
}

/* las_lazy: when Tiresias' simulator would look next. That is never more than a second (by which it rounds down) before
 * a job is due, so those due later than the earliest look found need not be asked. */
static int64_t lazy_wake_us(const struct las *self, int64_t now_us)
{
    int64_t wake_us = INT64_MAX;
    for (uint32_t slot = self->due.order.first; slot != ADL_NONE; slot = self->due.nodes[slot].next) {
        const struct las_job *job = &self->jobs[slot];
        int64_t at_us = self->due.nodes[slot].key;
        if (wake_us != INT64_MAX && at_us > wake_us + 2 * SECOND_US)
            break;
        if (job->runs)
            at_us = now_us + (self->limits_us[job->queue] - held_us(job, now_us)) / job->gpus / SECOND_US * SECOND_US;
        wake_us = at_us > now_us && at_us < wake_us ? at_us : wake_us;
    }
    return wake_us;
}

static int plan_wake(struct las *self, int64_t now_us, struct adl_plan *plan)
{
    const uint32_t first = self->due.order.first;
    if (first == ADL_NONE)
        return 0;
    const int64_t wake_us = self->lazy ? lazy_wake_us(self, now_us) : self->due.nodes[first].key;
    const bool asked = self->lazy ? wake_us == self->woken_us : self->woken_us > now_us && self->woken_us <= wake_us;
    if (asked || wake_us <= now_us || wake_us == INT64_MAX)
        return 0;
    self->woken_us = wake_us;
    return adl_plan_wake(plan, wake_us);
}

static double service_gpu_s(const struct las_job *job, int64_t now_us)
{
    return (double)held_us(job, now_us) * job->gpus * 1e-6;
}

/* The lower queue goes first; inside one, the job that was submitted first or whose turn it is. */
static struct adl_reason reason_of(const void *context, const struct adl_state *state, uint32_t slot, uint32_t other,
                                   bool stops)
{
    const struct las *self = context;
    const struct las_job *job = &self->jobs[slot], *against = other == ADL_NONE ? job : &self->jobs[other];
    const double had = service_gpu_s(job, state->now_us), had_other = service_gpu_s(against, state->now_us);
    /* Demotions that are noticed late can leave the job with more service in the lower queue: then it is its turn, no
     * more. */
    const bool late = self->lazy && (stops ? had < had_other : had > had_other);
    if (late || (job->queue == against->queue && self->running_first && other != ADL_NONE))
        return adl_reason_make(stops ? ADL_RULE_FOR_TURN : ADL_RULE_TURN, other, had, had_other);
    if (job->queue != against->queue || other == ADL_NONE)
        return adl_reason_make(stops ? ADL_RULE_FOR_LESS_HAD : ADL_RULE_LEAST_HAD, other, had, had_other);
    return adl_reason_make(stops ? ADL_RULE_FOR_OLDER : ADL_RULE_FIRST, other,
                           (double)(state->now_us - job->submit_us) * 1e-6,
                           (double)(state->now_us - against->submit_us) * 1e-6);
}

/* Those stopped now will come first among the waiting of their queue, in the order they have; but who had just joined
 * the queue stays behind those that were there. */
static void turn_to_front(struct las *self, const struct adl_plan *plan)
{
    for (uint32_t i = plan->command_count; i-- > 0;) {
        struct las_job *job = &self->jobs[plan->commands[i].job];
        if (plan->commands[i].kind != ADL_COMMAND_PREEMPT)
            continue;
        if (job->settled)
            job->turn = --self->front_turn;
        job->has_turn = true;
        drop_unsettled(self, plan->commands[i].job);
    }
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct las *self = policy;
    if (self->failed)
        return ADL_ENOMEM;
    note_started(self, state);
    if (!self->awake && self->pass_us != state->now_us)
        return 0;
    if (self->pass_us != state->now_us) {
        self->pass_us = state->now_us;
        settle(self);
        relearn(self, state->now_us);
        change_queues(self, state->now_us);
    }
    self->awake = false;
    self->list.reason = reason_of;
    self->list.reason_context = self;
    const int status = adl_preemptive_list_decide(&self->list, state, plan);
    turn_to_front(self, plan);
    return status || plan->command_count > 0 ? status : plan_wake(self, state->now_us, plan);
}

const struct adl_policy_ops adl_policy_las = {
    .name = "las",
    .blind = true,
    .summary = "Tiresias: least attained service (GPUs * time) first, in queues, preemptive, no durations used",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct las_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
};
