/* easy: backfill. Jobs are taken in order of submission; the first `depth` that do not fit get a
 * reservation: the earliest place and time they can have. A later job may start if it delays no reservation. Depth 1 is
 * EASY; a reservation for every job is conservative backfill.
 *
 * Readings taken where the name leaves one open: reservations are made again at each decision; candidates go in queue
 * order or, with backfill_order shortest (easy-sjf), by predicted run time; each start counts against what the
 * reservations spare; a job that is predicted to end exactly at a reserved start is in time. Whether GPUs that a
 * reservation spares may be used beyond its start is enum backfill_rule; that they may is the default, as the authors
 * of EASY have it. docs/agreement.md tells which simulators read it which way. */
#include "base/copy.h"
#include "policy/mechanism/forecast.h"
#include "policy/mechanism/placement.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

/* Reservations of conservative backfill. In one bank they are kept from decision to decision and cost little; over
 * several banks they are made again each time, so fewer jobs get one, as in production schedulers. */
#define CONSERVATIVE_DEPTH_ONE_BANK 1024
#define CONSERVATIVE_DEPTH          64

struct easy {
    struct adl_placement_request place;
    struct adl_forecast *forecast;
    struct adl_reservation *unsparing; /* the reservations as they stand if they spare nothing; NULL = they spare */
    uint32_t *owed;                    /* jobs whose reservation is put off */
    uint32_t owed_count;
    uint32_t depth;
    bool shortest;             /* later jobs are tried in order of their run times */
    bool settled;              /* no job that waited at the last decision could start ... */
    uint64_t settled_releases; /* ... and that holds until something becomes free */
    uint64_t settled_sequence; /* of the next job to join the queue then */
    uint32_t settled_count;    /* jobs that wait if what was decided is carried out */
    bool goes_on;              /* the last pass stopped at a start and can go on from there ... */
    int64_t pass_us;           /* ... at the same time */
    uint32_t arrived;          /* the job submitted since then, if arrived_count is 1 */
    uint32_t arrived_count;
    bool kept;      /* conservative: every waiting job has its reservation or is owed one, and all went as planned */
    bool surprised; /* since then something did not */
    uint64_t kept_revisions; /* of expected ends until then */
};

/* When a later job may start before one that holds a reservation; docs/agreement.md says who reads EASY which way. */
enum backfill_rule {
    BACKFILL_QUEUE_ORDER, /* it ends by the reserved start, or uses only GPUs that the reservation spares */
    BACKFILL_ENDS_BEFORE, /* it ends by the reserved start; nothing is spared on GPUs of the reserved type */
};

/* In which order later jobs are tried. */
enum backfill_order { BACKFILL_BY_SUBMISSION, BACKFILL_SHORTEST };

static const char *const order_words[] = {"submission", "shortest", NULL};    /* of enum backfill_order */
static const char *const rule_words[] = {"queue_order", "ends_before", NULL}; /* of enum backfill_rule */

struct easy_options {
    int64_t depth;
    int rule, order;
    bool share;
};

static const struct adl_policy_option easy_table[] = {
    {.name = "backfill_depth",
     .type = ADL_POLICY_INTEGER,
     .offset = offsetof(struct easy_options, depth),
     .value = "1",
     .range = {.min = 1, .max = 1e6},
     .help = "queued jobs that hold a reservation",
     .source = "1: EASY (Lifka, JSSPP 1995)"},
    {.name = "backfill_rule",
     .type = ADL_POLICY_WORD,
     .offset = offsetof(struct easy_options, rule),
     .value = "queue_order",
     .words = rule_words,
     .help = "a later job may start if it ends before a reserved start or uses GPUs that the reservation spares; "
             "`ends_before`: only if it ends before"},
    {.name = "backfill_order",
     .type = ADL_POLICY_WORD,
     .offset = offsetof(struct easy_options, order),
     .value = "submission",
     .words = order_words,
     .help = "order in which later jobs are tried beside reservations: by submission or by predicted run time",
     .source = "shortest: SJBF (Tsafrir, Etsion, Feitelson, IEEE TPDS 2007)"},
    ADL_POLICY_SHARE(struct easy_options),
};

static const struct adl_policy_option conservative_table[] = {ADL_POLICY_SHARE(struct easy_options)};

static void destroy(void *policy)
{
    struct easy *self = policy;
    if (self) {
        adl_forecast_destroy(self->forecast);
        free(self->unsparing);
        free(self->owed);
    }
    free(self);
}

static int create_depth(uint32_t depth, bool sparing, bool share, const struct adl_cluster *cluster, void **ret_policy,
                        struct adl_error *err)
{
    struct easy *self = calloc(1, sizeof *self);
    if (self)
        self->owed = calloc((size_t)depth + 1, sizeof *self->owed);
    if (self && !sparing)
        self->unsparing = calloc((size_t)depth + 1, sizeof *self->unsparing);
    if (!self || !self->owed || (!sparing && !self->unsparing) ||
        adl_forecast_create(cluster, depth, &self->forecast)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for backfill with %u reservations", depth);
    }
    self->depth = depth;
    self->place = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true, .share = share};
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct easy *self = policy;
    const struct easy *other = from, own = *self;
    *self = *other;
    self->forecast = own.forecast;
    adl_forecast_copy(self->forecast, other->forecast);
    ADL_COPY_ARRAY(self, own, other, owed, other->owed_count);
    ADL_COPY_ARRAY(self, own, other, unsparing, own.unsparing ? other->depth : 0);
    return 0;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct easy_options *own = config->options;
    const bool sparing = own->rule != BACKFILL_ENDS_BEFORE;
    const int status = create_depth((uint32_t)own->depth, sparing, own->share, cluster, ret_policy, err);
    if (status == 0)
        ((struct easy *)*ret_policy)->shortest = own->order == BACKFILL_SHORTEST;
    return status;
}

static int create_conservative(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                               void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct easy_options *own = config->options;
    const uint32_t depth = cluster->bank_count == 1 ? CONSERVATIVE_DEPTH_ONE_BANK : CONSERVATIVE_DEPTH;
    return create_depth(depth, true, own->share, cluster, ret_policy, err);
}

static bool something_free(const struct adl_state *state)
{
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        if (state->pool.free_gpus[t] > 0)
            return true;
    return false;
}

/* True if some GPUs would take the job were there no reservations. */
static bool fits_at_all(const struct adl_state *state, uint32_t slot, bool share, struct adl_plan *plan)
{
    const bool room = adl_fit_room(state, slot);
    if (!share && (!room || adl_fit_counts_alone(state, &state->jobs[slot].spec)))
        return room;
    const struct adl_placement_request bare = {.types = UINT32_MAX, .share = share};
    const bool fits = adl_placement_start(state, slot, &bare, plan);
    adl_plan_reset(plan);
    return fits;
}

static void forget(struct easy *self)
{
    adl_forecast_clear(self->forecast);
    self->place.reservation_count = self->owed_count = 0;
}

/* Reserves a place for the job, and lets what follows respect it; false if it can have none. */
static bool reserve(struct easy *self, const struct adl_state *state, uint32_t slot)
{
    struct adl_placement_request *place = &self->place;
    if (place->reservation_count == self->depth || !adl_forecast_reserve(self->forecast, state, slot))
        return false;
    place->reservations = adl_forecast_reservations(self->forecast, &place->reservation_count);
    if (self->unsparing) {
        struct adl_reservation *last = &self->unsparing[place->reservation_count - 1];
        *last = place->reservations[place->reservation_count - 1];
        last->bank = ADL_NONE;
        last->spare = 0;
        place->reservations = self->unsparing;
    }
    return true;
}

/* True if the job could start beside the reservations made so far. */
static bool is_free_to_start(const struct easy *self, const struct adl_state *state, uint32_t slot,
                             struct adl_plan *plan)
{
    const bool starts = adl_placement_start(state, slot, &self->place, plan);
    adl_plan_reset(plan);
    return starts;
}

/* Makes the reservations that were put off, in their order, until one is in the way of the job that wants to start: a
 * further one would take no constraint away. False if one cannot be made. */
static bool keep_word(struct easy *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    uint32_t made = 0;
    bool kept = true;
    while (made < self->owed_count && kept &&
           (self->place.reservation_count == 0 || is_free_to_start(self, state, slot, plan)))
        kept = reserve(self, state, self->owed[made++]);
    self->owed_count -= made;
    memmove(self->owed, self->owed + made, self->owed_count * sizeof *self->owed);
    return kept;
}

/* How long an equal of a job that disturbs a reservation may run at most to disturb none: shorter than it, and not
 * beyond the last reserved start, for else it would be in the way of the same reservations. */
static int64_t limit_of_equals(const struct adl_placement_request *place, const struct adl_state *state, uint32_t slot)
{
    const int64_t own_us = adl_state_shortest_us(state, slot) - 1;
    int64_t last_us = state->now_us;
    for (uint32_t i = 0; i < place->reservation_count; i++)
        last_us = place->reservations[i].start_us > last_us ? place->reservations[i].start_us : last_us;
    return last_us - state->now_us < own_us ? last_us - state->now_us : own_us;
}

/* A job starts beside reservations. Where there is one bank they keep their times, and only if it may still be there at
 * one of these do they spare less: then all are put off until they are asked for again. Elsewhere they may move to
 * other places. True if nobody passed over can start because of it. */
static bool note_start(struct easy *self, const struct adl_state *state, const struct adl_plan *plan)
{
    const struct adl_command *start = &plan->commands[plan->command_count - 1];
    const uint32_t type = adl_gpu_type_of(state->cluster, plan->gpus[start->gpu_offset]);
    const int64_t end_us = state->now_us + adl_state_remaining_us(state, start->job, type);
    bool stand = true;
    if (self->place.reservation_count > 0 && state->cluster->bank_count > 1)
        return false;
    for (uint32_t i = 0; i < self->place.reservation_count; i++)
        stand &= self->place.reservations[i].start_us >= end_us;
    if (stand)
        return true;
    for (uint32_t i = 0; i < self->place.reservation_count; i++)
        self->owed[i] = self->place.reservations[i].job;
    self->owed_count = self->place.reservation_count;
    self->place.reservation_count = 0;
    adl_forecast_clear(self->forecast);
    return true;
}

/* Starts a job beside the reservations made so far, if it can. */
static bool start(struct easy *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    const struct adl_placement_request *place = &self->place;
    if (!adl_placement_start(state, slot, place, plan))
        return false;
    if (plan->reasons_unread)
        return true;
    if (place->reservation_count == 0) {
        adl_plan_because(plan, adl_reason_ranked(state, &state->queue, slot, ADL_RULE_FIRST));
        return true;
    }
    const struct adl_command *command = &plan->commands[plan->command_count - 1];
    const uint32_t type = adl_gpu_type_of(state->cluster, plan->gpus[command->gpu_offset]);
    const struct adl_reservation *first = &place->reservations[0];
    /* One whose time has passed is due: jobs that were predicted to have ended hold its GPUs. */
    const int64_t until_us = first->start_us > state->now_us ? first->start_us - state->now_us : 0;
    adl_plan_because(plan, adl_reason_make(ADL_RULE_BACKFILL, first->job,
                                           (double)adl_state_remaining_us(state, slot, type) * 1e-6,
                                           (double)until_us * 1e-6));
    return true;
}

/* One pass down the queue from where the walk stands, until something starts. Reservations matter only to a later job
 * that would fit, so with put_off they are made when the first such job turns up. False if one could not be made then:
 * who comes after would have got it, which only a pass that does not put off finds out. */
static bool pass(struct easy *self, const struct adl_state *state, bool put_off, struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    const struct adl_placement_request *place = &self->place;
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE;) {
        const bool asked = self->owed_count > 0;
        const bool may_fit = !asked || fits_at_all(state, slot, place->share, plan);
        if (asked && may_fit && !keep_word(self, state, slot, plan))
            return false;
        if (may_fit && (place->share || adl_fit_room(state, slot)) && start(self, state, slot, plan)) {
            adl_walk_next(queue);
            self->goes_on = note_start(self, state, plan) && put_off;
            return true;
        }
        if (put_off && place->reservation_count + self->owed_count < self->depth) {
            self->owed[self->owed_count++] = slot;
            adl_walk_next(queue);
        } else if (!put_off && reserve(self, state, slot)) {
            adl_walk_next(queue);
        } else if (asked && !place->share ? may_fit : fits_at_all(state, slot, false, plan)) {
            adl_walk_narrow(queue, limit_of_equals(place, state, slot));
        } else {
            adl_walk_leave(queue);
        }
    }
    return true;
}

/* A pass from the head of the queue. */
static void repeat_pass(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    forget(self);
    adl_walk_begin(&state->queue);
    if (pass(self, state, true, plan))
        return;
    forget(self);
    adl_walk_begin(&state->queue);
    pass(self, state, false, plan);
}

/* A job that outlives its prediction moves reservations. */
static bool some_overdue(const struct adl_state *state)
{
    adl_state_sort_running(state);
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        const uint32_t first = state->running[t].first;
        if (first != ADL_NONE && state->jobs[first].expected_us <= state->now_us)
            return true;
    }
    return false;
}

/* While nothing becomes free, time only makes it harder to end before a reservation, unless reservations move. There
 * are none where nobody waited. */
static bool still_settled(const struct easy *self, const struct adl_state *state)
{
    return self->settled && self->settled_releases == state->releases &&
           state->queue.next_sequence == self->settled_sequence + self->arrived_count &&
           state->queue.count == self->settled_count + self->arrived_count &&
           (self->settled_count == 0 || !some_overdue(state));
}

/* What a pass would do were the last of the queue the only one that is new to it; false if it takes a pass to tell. */
static bool decide_arrived(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    const bool fits = fits_at_all(state, self->arrived, self->place.share, plan);
    if (fits && !keep_word(self, state, self->arrived, plan))
        return false;
    if (fits && start(self, state, self->arrived, plan))
        self->settled = note_start(self, state, plan);
    else if (self->place.reservation_count + self->owed_count < self->depth)
        self->owed[self->owed_count++] = self->arrived;
    return true;
}

/* ---- shortest first ---- */

/* Starts the first job of the queue that fits, or reserves places for the first `depth` jobs. True if one starts. */
static bool serve_first(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE && self->place.reservation_count < self->depth;
         adl_walk_next(queue)) {
        if (start(self, state, slot, plan))
            return true;
        reserve(self, state, slot);
    }
    return false;
}

static bool shorter(const struct adl_order_node *nodes, uint32_t a, uint32_t b)
{
    return nodes[a].weight < nodes[b].weight ||
           (nodes[a].weight == nodes[b].weight && adl_order_before(&nodes[a], &nodes[b]));
}

/* The shortest job of the lane whose shortest job comes next after the given one (ADL_NONE: from the start), by run
 * time and then by submission. */
static uint32_t next_shortest(const struct adl_queue *queue, uint32_t after)
{
    const struct adl_order_node *nodes = queue->nodes;
    uint32_t best = ADL_NONE;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        const struct adl_order *jobs = &queue->lanes[queue->heap[i]].jobs;
        const uint32_t slot = adl_order_next_light(nodes, jobs, ADL_NONE, nodes[jobs->root].least);
        if (after != ADL_NONE && (slot == after || shorter(nodes, slot, after)))
            continue;
        if (best == ADL_NONE || shorter(nodes, slot, best))
            best = slot;
    }
    return best;
}

/* Where the shortest job of a lane disturbs a reservation, so do the longer ones: each lane is tried once. */
static void decide_shortest(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    forget(self);
    if ((!self->place.share && !something_free(state)) || serve_first(self, state, plan))
        return;
    for (uint32_t slot = next_shortest(&state->queue, ADL_NONE); slot != ADL_NONE;
         slot = next_shortest(&state->queue, slot))
        if ((self->place.share || adl_fit_room(state, slot)) && start(self, state, slot, plan))
            return;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct easy *self = policy;
    if (self->shortest) {
        decide_shortest(self, state, plan);
        return 0;
    }
    const bool settled = still_settled(self, state);
    const uint32_t arrived_count = self->arrived_count;
    self->settled_sequence = state->queue.next_sequence;
    self->arrived_count = 0;
    if (settled && (arrived_count == 0 || (arrived_count == 1 && decide_arrived(self, state, plan)))) {
        self->settled_count = state->queue.count - plan->command_count;
        return 0;
    }
    const bool goes_on = self->goes_on && arrived_count == 0 && self->pass_us == state->now_us &&
                         self->settled_releases == state->releases && self->settled_count == state->queue.count;
    self->goes_on = false;
    if (!self->place.share && !something_free(state))
        forget(self);
    else if (!goes_on || !pass(self, state, true, plan))
        repeat_pass(self, state, plan);
    self->pass_us = state->now_us;
    self->settled = plan->command_count == 0;
    self->settled_count = state->queue.count - plan->command_count;
    self->settled_releases = state->releases;
    return 0;
}

/* Starts the first job whose reserved time has come; false if it came and went, or the job does not fit after all. */
static bool start_due(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t due = 0, count = 0;
    const struct adl_reservation *reservations = adl_forecast_reservations(self->forecast, &count);
    while (due < count && reservations[due].start_us > state->now_us)
        due++;
    if (due == count)
        return true;
    const struct adl_placement_request bare = {.types = UINT32_MAX};
    if (reservations[due].start_us < state->now_us || !adl_placement_start(state, reservations[due].job, &bare, plan))
        return false;
    adl_plan_because(plan, adl_reason_make(ADL_RULE_RESERVED, ADL_NONE, 0, 0));
    adl_forecast_remove(self->forecast, due);
    self->place.reservation_count--;
    return true;
}

/* Makes all reservations that were put off; false if one cannot be made. */
static bool keep_all(struct easy *self, const struct adl_state *state)
{
    bool kept = true;
    for (uint32_t i = 0; i < self->owed_count && kept; i++)
        kept = reserve(self, state, self->owed[i]);
    self->owed_count = 0;
    return kept;
}

/* As long as all goes as predicted, reservations made again would be the same: the jobs that started did not disturb
 * them, and nothing was free earlier. So only jobs that came since need one. True where all GPUs are in one bank;
 * elsewhere the place matters beside the time. False if reservations have to be made again. */
static bool follow_reservations(struct easy *self, const struct adl_state *state, struct adl_plan *plan)
{
    if (self->surprised || some_overdue(state) || self->kept_revisions != state->revisions ||
        self->place.reservation_count + self->owed_count != state->queue.count)
        return false;
    if (!something_free(state))
        return true;
    return keep_all(self, state) && start_due(self, state, plan);
}

static int decide_conservative(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct easy *self = policy;
    if (self->kept) {
        if (follow_reservations(self, state, plan))
            return 0;
        self->settled = false;
    }
    decide(policy, state, plan);
    self->kept = self->settled && state->cluster->bank_count == 1 && !self->place.share && !some_overdue(state) &&
                 self->place.reservation_count > 0 &&
                 self->place.reservation_count + self->owed_count == state->queue.count;
    self->surprised = false;
    self->kept_revisions = state->revisions;
    return 0;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct easy *self = policy;
    switch (event->kind) {
    case ADL_EVENT_SUBMIT:
        self->arrived = event->job;
        self->arrived_count++;
        if (self->kept && self->place.reservation_count + self->owed_count < self->depth)
            self->owed[self->owed_count++] = event->job;
        break;
    case ADL_EVENT_FINISH:
        self->surprised |= state->jobs[event->job].expected_us != event->time_us;
        break;
    case ADL_EVENT_GPU_DOWN: /* reservations move */
        self->settled = false;
        self->surprised = true;
        break;
    case ADL_EVENT_EVICT:
    case ADL_EVENT_GPU_UP:
        self->surprised = true;
        break;
    default:
        break;
    }
}

const struct adl_policy_ops adl_policy_easy = {
    .name = "easy",
    .summary = "EASY backfill: later jobs may overtake if they do not delay the first that waits",
    .points_only = true,
    .track_running = true,
    .sorts_running = true,
    ADL_POLICY_OPTIONS(easy_table, struct easy_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
};

const struct adl_policy_ops adl_policy_easy_sjf = {
    .name = "easy-sjf",
    .summary = "easy with the shortest jobs first among those that may overtake",
    .points_only = true,
    .track_running = true,
    .sorts_running = true,
    ADL_POLICY_OPTIONS(easy_table, struct easy_options),
    .settings = "backfill_order=shortest\n",
    .variant_of = "easy",
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
};

const struct adl_policy_ops adl_policy_conservative = {
    .name = "conservative",
    .summary = "conservative backfill: later jobs may overtake if they delay no job before them",
    .points_only = true,
    .track_running = true,
    .sorts_running = true,
    ADL_POLICY_OPTIONS(conservative_table, struct easy_options),
    .create = create_conservative,
    .destroy = destroy,
    .copy = copy,
    .decide = decide_conservative,
    .observe = observe,
};
