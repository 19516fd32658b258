/* allox: the placement and order of one-GPU jobs that minimize the sum of completion times, by matching.
 *
 * T. N. Le, X. Sun, M. Chowdhury and Z. Liu, "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020, section 4:
 * job j at the k-th place from the END of a GPU's queue delays itself and k - 1 others by its run time there, so the
 * pair costs k * remaining_j(type) + ready(GPU), where ready is the time until the GPU's running job ends (eq. 5 with
 * their d_i). What a job has waited already is a constant of its row and changes no matching. Whenever something
 * happened the matching is made again; only the first job of a free GPU's queue starts, and nothing is preempted.
 *
 * Columns: of the GPUs of one type, those ready earlier are used at least as deep, and place k only after place k - 1;
 * so with n jobs the k-th place is used on at most n / k GPUs, the earliest ones. Leaving out the others changes
 * nothing and keeps n log n columns a type instead of n * GPUs. Beyond ADL_ALLOX_WINDOW jobs only those with the least
 * remaining time are matched; the longer ones would stand behind them and are counted so, k from the number of them for
 * each GPU of the type on, spread over the types in proportion to GPUs * speed. adl_allox_counts tells how often.
 *
 * Extension beyond the paper, which knows one-GPU jobs alone: a gang takes GPUs of one type as a unit, in order of
 * remaining time, if it fits beside as many one-GPU jobs as are shorter, and else takes what they leave. A gang that is
 * the shortest of all jobs that wait, or has waited allox_patience times its remaining time and the mean of all jobs so
 * far, gets a reservation, the earliest place and time that it can have, and no other start may delay that: gangs do
 * not starve. GPUs idle for such a reservation, so a short patience costs most where run times are predicted well,
 * which is to say shorter than limits. */
#include "policy/allox.h"

#include "base/copy.h"
#include "policy/mechanism/forecast.h"
#include "policy/mechanism/placement.h"
#include "policy/mechanism/reason.h"
#include "solve/assignment.h"

#include <math.h>
#include <stdlib.h>

#define WINDOW ADL_ALLOX_WINDOW

struct column {
    double ready_us;
    uint32_t type;
    uint32_t gpu; /* among the GPUs of the type, the earliest ready first; those below the free count are free */
    uint32_t k;   /* place from the end of its queue, from 1 */
};

struct start {
    uint32_t slot, type;
};

struct allox_options {
    double patience;
};

static const struct adl_policy_option options[] = {
    {.name = "allox_patience",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct allox_options, patience),
     .value = "32",
     .range = {.min = 1, .max = 1e6},
     .help =
         "a gang gets a reservation when it has waited this many times its remaining run time and the mean run time "
         "of all jobs so far"},
};

struct allox {
    const struct adl_cluster *cluster;
    double patience;
    double seen_us; /* predicted run times of the jobs so far, on their best types */
    uint64_t seen;
    struct adl_placement_request place;
    struct adl_forecast *forecast;
    struct adl_assignment *assignment;
    double *cost; /* [row][column] */
    struct column *columns;
    uint32_t *after; /* [column] the column of the same type that every job would rather have */
    uint32_t column_count, columns_max;
    uint32_t rows[WINDOW];      /* slots, the most remaining time first */
    uint32_t fits[WINDOW];      /* [row] types on which it could start now */
    uint32_t matched[WINDOW];   /* [row] column */
    uint32_t first_row[WINDOW]; /* [gpu] of one type: the row at its deepest place */
    uint32_t row_count;
    double behind[ADL_TYPES_MAX]; /* [type] jobs beyond the window for each GPU */
    struct start starts[WINDOW];  /* what the last matching wants started, from start_next on still to be tried */
    uint32_t start_next, start_count;
    bool stale;      /* something happened since the last matching */
    bool unfinished; /* the last matching left jobs out that could start beside those it started */
    bool acted;      /* something was started since the last matching */
    bool out_of_memory;
    struct adl_order
        gangs; /* that wait, by the end of their patience; one that started is taken out when it comes up */
    struct adl_order_node *gang_nodes; /* [slot] */
    uint8_t *is_gang;                  /* [slot] in gangs */
    size_t node_capacity, flag_capacity;
    uint64_t sequence;
    struct adl_allox_counts counts;
};

static void destroy(void *policy)
{
    struct allox *self = policy;
    if (!self)
        return;
    adl_forecast_destroy(self->forecast);
    adl_assignment_destroy(self->assignment);
    free(self->cost);
    free(self->columns);
    free(self->after);
    free(self->gang_nodes);
    free(self->is_gang);
    free(self);
}

/* How many GPUs of a type have a k-th place with n jobs. */
static uint32_t width(uint32_t gpus, uint32_t jobs, uint32_t k)
{
    return jobs / k < gpus ? jobs / k : gpus;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct allox_options *own = config->options;
    struct allox *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy allox");
    for (uint32_t t = 0; t < cluster->type_count; t++)
        for (uint32_t k = 1; k <= WINDOW; k++)
            self->columns_max += width(cluster->type_gpus[t], WINDOW, k);
    self->cost = malloc(((size_t)self->columns_max * WINDOW + 1) * sizeof *self->cost);
    self->columns = malloc(((size_t)self->columns_max + 1) * sizeof *self->columns);
    self->after = malloc(((size_t)self->columns_max + 1) * sizeof *self->after);
    if (!self->cost || !self->columns || !self->after || adl_forecast_create(cluster, 1, &self->forecast) ||
        adl_assignment_create(WINDOW, self->columns_max, &self->assignment)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy allox");
    }
    self->cluster = cluster;
    self->patience = own->patience;
    self->place = (struct adl_placement_request){.types = UINT32_MAX, .fastest = true};
    adl_order_init(&self->gangs);
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct allox *self = policy;
    const struct allox *other = from;
    if (adl_grow((void **)&self->gang_nodes, &self->node_capacity, other->node_capacity, sizeof *self->gang_nodes) ||
        adl_grow((void **)&self->is_gang, &self->flag_capacity, other->flag_capacity, sizeof *self->is_gang))
        return ADL_ENOMEM;
    const struct allox own = *self;
    *self = *other;
    self->forecast = own.forecast;
    self->assignment = own.assignment; /* of one decision, as is cost */
    self->cost = own.cost;
    self->node_capacity = own.node_capacity;
    self->flag_capacity = own.flag_capacity;
    adl_forecast_copy(self->forecast, other->forecast);
    ADL_COPY_ARRAY(self, own, other, columns, other->columns_max);
    ADL_COPY_ARRAY(self, own, other, after, other->columns_max);
    ADL_COPY_ARRAY(self, own, other, gang_nodes, other->node_capacity);
    ADL_COPY_ARRAY(self, own, other, is_gang, other->flag_capacity);
    for (size_t i = other->flag_capacity; i < self->flag_capacity; i++)
        self->is_gang[i] = false;
    return 0;
}

const struct adl_allox_counts *adl_allox_counts(const void *policy)
{
    return &((const struct allox *)policy)->counts;
}

/* ---- gangs by patience ---- */

static void note_gang(struct allox *self, uint32_t slot, int64_t patient_until_us)
{
    const size_t before = self->flag_capacity;
    if (adl_grow((void **)&self->gang_nodes, &self->node_capacity, (size_t)slot + 1, sizeof *self->gang_nodes) ||
        adl_grow((void **)&self->is_gang, &self->flag_capacity, (size_t)slot + 1, sizeof *self->is_gang)) {
        self->out_of_memory = true;
        return;
    }
    for (size_t i = before; i < self->flag_capacity; i++)
        self->is_gang[i] = false;
    if (self->is_gang[slot])
        return;
    self->is_gang[slot] = true;
    adl_order_insert(self->gang_nodes, &self->gangs, slot, patient_until_us, self->sequence++, 0);
}

static void forget_gang(struct allox *self, uint32_t slot)
{
    if (slot >= self->flag_capacity || !self->is_gang[slot])
        return;
    self->is_gang[slot] = false;
    adl_order_remove(self->gang_nodes, &self->gangs, slot);
}

/* The gang to be served before all others, or ADL_NONE. */
static uint32_t urgent_gang(struct allox *self, const struct adl_state *state)
{
    while (self->gangs.first != ADL_NONE && state->jobs[self->gangs.first].phase != ADL_PHASE_PENDING)
        forget_gang(self, self->gangs.first);
    if (self->gangs.first != ADL_NONE && self->gang_nodes[self->gangs.first].key <= state->now_us)
        return self->gangs.first;
    const uint32_t head = adl_queue_head(&state->queue);
    return head != ADL_NONE && state->jobs[head].spec.gpus > 1 ? head : ADL_NONE;
}

/* How long a gang waits before it gets a reservation. */
static double patience_us(const struct allox *self, int64_t shortest_us)
{
    return self->patience * ((double)shortest_us + (self->seen > 0 ? self->seen_us / (double)self->seen : 0));
}

/* Asked whenever a job joins the queue: the place to note gangs, because here their run times are known. */
static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct allox *self = policy;
    const struct adl_job *job = &state->jobs[slot];
    const int64_t shortest_us = adl_state_shortest_us(state, slot);
    if (job->attempts == 0) {
        self->seen_us += (double)shortest_us;
        self->seen++;
    }
    const double patient_us = patience_us(self, shortest_us);
    if (job->spec.gpus > 1 && patient_us < ADL_REMAINING_MAX_US)
        note_gang(self, slot, job->submit_us + (int64_t)patient_us);
    return shortest_us;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct allox *self = policy;
    if (event->kind == ADL_EVENT_TELEMETRY || event->kind == ADL_EVENT_METER || event->kind == ADL_EVENT_PROGRESS ||
        event->kind == ADL_EVENT_VERSION)
        return;
    self->stale = true;
    if (event->kind == ADL_EVENT_SUBMIT || event->kind == ADL_EVENT_FINISH || event->kind == ADL_EVENT_EVICT)
        forget_gang(self, event->job);
}

/* ---- the matching ---- */

static struct adl_hold hold_until(const struct allox *self, const struct adl_state *state, uint32_t slot, uint32_t type)
{
    return (struct adl_hold){.reservations = self->place.reservations,
                             .count = self->place.reservation_count,
                             .end_us = state->now_us + adl_state_remaining_us(state, slot, type)};
}

static uint32_t types_that_fit(const struct allox *self, const struct adl_state *state, uint32_t slot)
{
    uint32_t fits = 0, gpu;
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const struct adl_hold hold = hold_until(self, state, slot, type);
        if (state->pool.free_gpus[type] > 0 && adl_fit_find(state, slot, type, &hold, &gpu))
            fits |= 1u << type;
    }
    return fits;
}

/* Time until each of the earliest GPUs of a type is ready, free ones first; how many there are, at most `most`. */
static uint32_t list_ready(const struct adl_state *state, uint32_t type, uint32_t most, double *ret_ready_us)
{
    uint32_t count = 0;
    while (count < most && count < state->pool.free_gpus[type])
        ret_ready_us[count++] = 0;
    for (uint32_t v = state->running[type].first; v != ADL_NONE && count < most; v = state->nodes[v].next) {
        const int64_t left_us = state->jobs[v].expected_us - state->now_us;
        for (uint32_t i = 0; i < state->jobs[v].spec.gpus && count < most; i++)
            ret_ready_us[count++] = left_us > 1 ? (double)left_us : 1.0;
    }
    return count;
}

static void add_columns(struct allox *self, const struct adl_state *state, uint32_t type)
{
    double ready_us[WINDOW];
    uint32_t jobs = 0;
    for (uint32_t r = 0; r < self->row_count; r++)
        jobs += state->jobs[self->rows[r]].eligible >> type & 1;
    const uint32_t gpus = list_ready(state, type, jobs, ready_us);
    for (uint32_t k = 1, shallower = ADL_NONE; k <= jobs && gpus > 0; k++) {
        const uint32_t first = self->column_count;
        for (uint32_t g = 0; g < width(gpus, jobs, k); g++) {
            self->after[self->column_count] = g > 0 ? self->column_count - 1 : shallower;
            self->columns[self->column_count++] = (struct column){ready_us[g], type, g, k};
        }
        shallower = first;
    }
}

/* A job that could not start on a type though GPUs of it are free must wait there for something to end. */
static double forced_wait_us(const struct adl_state *state, uint32_t type)
{
    const uint32_t next = state->running[type].first;
    if (next == ADL_NONE)
        return HUGE_VAL;
    const int64_t left_us = state->jobs[next].expected_us - state->now_us;
    return left_us > 1 ? (double)left_us : 1.0;
}

static void fill_row(struct allox *self, const struct adl_state *state, uint32_t row, double *ret_cost)
{
    const uint32_t slot = self->rows[row];
    double run_us[ADL_TYPES_MAX] = {0}, wait_us[ADL_TYPES_MAX] = {0};
    for (uint32_t t = 0; t < self->cluster->type_count; t++) {
        const bool eligible = state->jobs[slot].eligible >> t & 1;
        run_us[t] = eligible ? (double)adl_state_remaining_us(state, slot, t) : HUGE_VAL;
        wait_us[t] = self->fits[row] >> t & 1 ? 0 : forced_wait_us(state, t);
    }
    for (uint32_t c = 0; c < self->column_count; c++) {
        const struct column *column = &self->columns[c];
        const double ready_us = column->ready_us > 0 ? column->ready_us : wait_us[column->type];
        ret_cost[c] = (self->behind[column->type] + column->k) * run_us[column->type] + ready_us;
    }
}

/* The first job in the queue of each free GPU of a type is the one at the deepest place. */
static void list_starts(struct allox *self, const struct adl_state *state, uint32_t type)
{
    const uint32_t free_gpus = state->pool.free_gpus[type] < WINDOW ? state->pool.free_gpus[type] : WINDOW;
    uint32_t depth[WINDOW] = {0};
    for (uint32_t r = 0; r < self->row_count; r++) {
        if (self->matched[r] == ADL_NONE)
            continue;
        const struct column *column = &self->columns[self->matched[r]];
        if (column->type == type && column->gpu < free_gpus && column->k > depth[column->gpu]) {
            depth[column->gpu] = column->k;
            self->first_row[column->gpu] = r;
        }
    }
    for (uint32_t g = 0; g < free_gpus; g++)
        if (depth[g] > 0 && self->fits[self->first_row[g]] >> type & 1)
            self->starts[self->start_count++] = (struct start){self->rows[self->first_row[g]], type};
}

/* How many of the jobs beyond the window stand behind those in it on each GPU of a type. Whole numbers, so that costs
 * are. */
static void spread_behind(struct allox *self, const struct adl_state *state, uint32_t beyond)
{
    double speed[ADL_TYPES_MAX] = {0}, all = 0;
    for (uint32_t r = 0; r < self->row_count; r++)
        for (uint32_t left = state->jobs[self->rows[r]].eligible; left; left &= left - 1) {
            const uint32_t type = (uint32_t)__builtin_ctz(left);
            speed[type] += (double)adl_state_shortest_us(state, self->rows[r]) /
                           (double)adl_state_remaining_us(state, self->rows[r], type);
        }
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        all += speed[t] * self->cluster->type_gpus[t];
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        self->behind[t] = all > 0 ? floor(beyond * speed[t] / all) : 0;
}

static void match(struct allox *self, const struct adl_state *state, bool windowed)
{
    uint32_t somewhere = 0;
    self->start_next = self->start_count = 0;
    for (uint32_t r = 0; r < self->row_count; r++)
        somewhere |= self->fits[r] = types_that_fit(self, state, self->rows[r]);
    if (!somewhere)
        return;
    spread_behind(self, state, windowed ? state->queue.count - self->row_count : 0);
    self->column_count = 0;
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        add_columns(self, state, t);
    for (uint32_t r = 0; r < self->row_count; r++)
        fill_row(self, state, r, &self->cost[(size_t)r * self->column_count]);
    adl_assignment_solve(self->assignment, self->cost, self->row_count, self->column_count, self->after, self->matched);
    self->counts.matchings++;
    self->counts.windowed += windowed;
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        if (somewhere >> t & 1)
            list_starts(self, state, t);
}

/* ---- decisions ---- */

/* Starts the gang that comes before all others or reserves a place for it. True if it starts. */
static bool serve_urgent_gang(struct allox *self, const struct adl_state *state, struct adl_plan *plan)
{
    adl_forecast_clear(self->forecast);
    self->place.reservation_count = 0;
    const uint32_t urgent = urgent_gang(self, state);
    if (urgent == ADL_NONE)
        return false;
    if (adl_placement_start(state, urgent, &self->place, plan)) {
        const double age_s = (double)(state->now_us - state->jobs[urgent].submit_us) * 1e-6;
        const double most_s = (double)(self->gang_nodes[urgent].key - state->jobs[urgent].submit_us) * 1e-6;
        adl_plan_because(plan, urgent == adl_queue_head(&state->queue)
                                   ? adl_reason_ranked(state, &state->queue, urgent, ADL_RULE_SHORTEST)
                                   : adl_reason_make(ADL_RULE_OVERDUE, ADL_NONE, age_s, most_s));
        return true;
    }
    if (adl_forecast_reserve(self->forecast, state, urgent))
        self->place.reservations = adl_forecast_reservations(self->forecast, &self->place.reservation_count);
    return false;
}

/* GPUs free on the types that a job may use. */
static uint32_t free_for(const struct adl_state *state, uint32_t slot)
{
    uint32_t gpus = 0;
    for (uint32_t left = state->jobs[slot].eligible; left; left &= left - 1)
        gpus += state->pool.free_gpus[__builtin_ctz(left)];
    return gpus;
}

/* Starts a gang in its turn, which is by remaining time. */
static bool start_gang(struct allox *self, const struct adl_state *state, uint32_t slot, struct adl_plan *plan)
{
    if (!adl_placement_start(state, slot, &self->place, plan))
        return false;
    adl_plan_because(plan,
                     adl_reason_make(ADL_RULE_GANG, ADL_NONE, (double)adl_state_shortest_us(state, slot) * 1e-6, 0));
    return true;
}

/* Starts the first gang that fits into what one-GPU jobs have left. Lanes are in order of remaining time: where the
 * first gang of one does not fit, neither do the longer ones after it. */
static bool start_leftover(struct allox *self, const struct adl_state *state, struct adl_plan *plan)
{
    const struct adl_queue *queue = &state->queue;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE; adl_walk_leave(queue))
        if (state->jobs[slot].spec.gpus > 1 && start_gang(self, state, slot, plan))
            return true;
    return false;
}

/* The longest first: shorter ones then go to deeper places and push few of them aside, which the matching is quick at.
 */
static void reverse_rows(struct allox *self)
{
    for (uint32_t i = 0, j = self->row_count; i + 1 < j; i++) {
        const uint32_t slot = self->rows[i];
        self->rows[i] = self->rows[--j];
        self->rows[j] = slot;
    }
}

/* Starts the first gang that fits beside the shorter one-GPU jobs (true), or gathers the window of these. */
static bool walk(struct allox *self, const struct adl_state *state, struct adl_plan *plan, bool *ret_windowed)
{
    const struct adl_queue *queue = &state->queue;
    self->row_count = 0;
    adl_walk_begin(queue);
    for (uint32_t slot; (slot = adl_walk_job(queue)) != ADL_NONE;) {
        if (state->jobs[slot].spec.gpus > 1) {
            if (free_for(state, slot) >= self->row_count + state->jobs[slot].spec.gpus &&
                start_gang(self, state, slot, plan))
                return true;
            adl_walk_leave(queue);
        } else if (self->row_count == WINDOW) {
            *ret_windowed = true;
            adl_walk_leave(queue);
        } else {
            self->rows[self->row_count++] = slot;
            adl_walk_next(queue);
        }
    }
    reverse_rows(self);
    return false;
}

static struct adl_reason reason_of(const struct adl_state *state, const struct start *start)
{
    int64_t other_us = INT64_MAX;
    for (uint32_t left = state->jobs[start->slot].eligible & ~(1u << start->type); left; left &= left - 1) {
        const int64_t there_us = adl_state_remaining_us(state, start->slot, (uint32_t)__builtin_ctz(left));
        other_us = there_us < other_us ? there_us : other_us;
    }
    return adl_reason_make(ADL_RULE_MATCHING, ADL_NONE,
                           (double)adl_state_remaining_us(state, start->slot, start->type) * 1e-6,
                           other_us == INT64_MAX ? 0 : (double)other_us * 1e-6);
}

/* The next start of the last matching; one that no longer fits beside those before it is left for another matching. */
static bool start_next(struct allox *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t *gpu = adl_plan_gpus(plan, 1);
    while (gpu && self->start_next < self->start_count) {
        const struct start *start = &self->starts[self->start_next++];
        const struct adl_hold hold = hold_until(self, state, start->slot, start->type);
        if (state->jobs[start->slot].phase != ADL_PHASE_PENDING)
            continue;
        if (adl_fit_find(state, start->slot, start->type, &hold, gpu)) {
            if (adl_plan_start(plan, start->slot, 1))
                return false;
            adl_plan_because(plan, reason_of(state, start));
            return true;
        }
        self->unfinished = true;
    }
    return false;
}

static bool any_free(const struct adl_state *state)
{
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        if (state->pool.free_gpus[t] > 0)
            return true;
    return false;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct allox *self = policy;
    if (self->out_of_memory)
        return ADL_ENOMEM;
    if (self->stale)
        self->start_next = self->start_count = 0;
    while (state->queue.count > 0 && any_free(state)) {
        if (start_next(self, state, plan)) {
            self->acted = true;
            return 0;
        }
        if (!self->stale && !(self->acted && self->unfinished)) {
            self->stale = start_leftover(self, state, plan);
            return 0;
        }
        self->stale = true;
        if (serve_urgent_gang(self, state, plan))
            return 0;
        bool windowed = false;
        if (walk(self, state, plan, &windowed))
            return 0;
        self->stale = self->acted = false;
        self->unfinished = windowed;
        match(self, state, windowed);
    }
    return 0;
}

const struct adl_policy_ops adl_policy_allox = {
    .name = "allox",
    .summary = "AlloX: one-GPU jobs to GPU types and places in line by minimum-cost matching",
    .points_only = true,
    .track_running = true,
    ADL_POLICY_OPTIONS(options, struct allox_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = decide,
    .observe = observe,
};
