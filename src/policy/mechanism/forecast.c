/* One pass in time over the future changes on the GPUs of one type: running jobs end, reserved jobs start and end. A
 * bank that has enough capacity for as long as the job runs is a place for it. */
#include "policy/mechanism/forecast.h"

#include "policy/mechanism/endings.h"
#include "policy/mechanism/placement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Start or end of a reservation. */
struct edge {
    int64_t time_us;
    uint32_t reservation;
    bool start;
};

/* A bank and its node, which has no other bank of the type of a pass. */
struct bank_capacity {
    uint64_t epoch;
    uint32_t gpus;
    int32_t cores;
    int32_t memory_mib;
    int64_t since_us;   /* it suffices from this time on, regardless of the type as a whole; INT64_MAX = not now */
    int64_t then_us;    /* when the job could begin: the later of that and of the time since when the type suffices */
    uint32_t gpus_then; /* capacity at that time */
    int32_t cores_then;
    int32_t memory_then_mib;
};

struct adl_forecast {
    struct adl_reservation *reservations;
    struct edge *edges; /* by time */
    uint32_t count, capacity;
    struct bank_capacity *banks; /* [bank] */
    uint64_t *leaving;           /* [gpu] epoch in which one of two jobs on it has left */
    uint32_t *touched;           /* banks with a capacity in this pass */
    uint32_t touched_count;
    uint64_t epoch;
    struct adl_endings endings[ADL_TYPES_MAX]; /* [type] of a pass over this type */
    uint32_t neighbours[ADL_TYPES_MAX];        /* mask of the types that share a node with it, itself among them */
    uint32_t types;
};

/* Cores and memory belong to the node: jobs on one type of a node affect the other types there. */
static void find_neighbours(struct adl_forecast *forecast, const struct adl_cluster *cluster)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct adl_node *node = &cluster->nodes[n];
        uint32_t types = 0;
        for (uint32_t b = node->bank_first; b < node->bank_first + node->bank_count; b++)
            types |= 1u << cluster->banks[b].type;
        for (uint32_t left = types; left; left &= left - 1)
            forecast->neighbours[__builtin_ctz(left)] |= types;
    }
}

static int create_endings(struct adl_forecast *forecast, const struct adl_cluster *cluster)
{
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        size_t gpus = 0;
        for (uint32_t left = forecast->neighbours[t]; left; left &= left - 1)
            gpus += cluster->type_gpus[__builtin_ctz(left)];
        forecast->endings[t].list = malloc((ADL_GPU_JOBS_MAX * gpus + 1) * sizeof *forecast->endings[t].list);
        if (!forecast->endings[t].list)
            return ADL_ENOMEM;
    }
    return 0;
}

int adl_forecast_create(const struct adl_cluster *cluster, uint32_t reservations_max, struct adl_forecast **ret)
{
    struct adl_forecast *forecast = calloc(1, sizeof *forecast);
    if (!forecast)
        return ADL_ENOMEM;
    forecast->capacity = reservations_max;
    forecast->types = cluster->type_count;
    forecast->reservations = calloc(reservations_max, sizeof *forecast->reservations);
    forecast->edges = calloc(2 * (size_t)reservations_max, sizeof *forecast->edges);
    forecast->banks = calloc(cluster->bank_count + 1, sizeof *forecast->banks);
    forecast->leaving = calloc(cluster->gpu_count + 1, sizeof *forecast->leaving);
    forecast->touched = calloc(cluster->bank_count + 1, sizeof *forecast->touched);
    find_neighbours(forecast, cluster);
    if (!forecast->reservations || !forecast->edges || !forecast->banks || !forecast->leaving || !forecast->touched ||
        create_endings(forecast, cluster)) {
        adl_forecast_destroy(forecast);
        return ADL_ENOMEM;
    }
    *ret = forecast;
    return 0;
}

void adl_forecast_destroy(struct adl_forecast *forecast)
{
    if (!forecast)
        return;
    free(forecast->reservations);
    free(forecast->edges);
    free(forecast->banks);
    free(forecast->leaving);
    free(forecast->touched);
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        free(forecast->endings[t].list);
    free(forecast);
}

static void forget_endings(struct adl_forecast *forecast)
{
    for (uint32_t t = 0; t < forecast->types; t++)
        forecast->endings[t].types = 0;
}

void adl_forecast_copy(struct adl_forecast *to, const struct adl_forecast *from)
{
    memcpy(to->reservations, from->reservations, from->count * sizeof *to->reservations);
    memcpy(to->edges, from->edges, (size_t)2 * from->count * sizeof *to->edges);
    to->count = from->count;
    forget_endings(to);
}

void adl_forecast_clear(struct adl_forecast *forecast)
{
    forecast->count = 0;
    forget_endings(forecast);
}

const struct adl_reservation *adl_forecast_reservations(const struct adl_forecast *forecast, uint32_t *ret_count)
{
    *ret_count = forecast->count;
    return forecast->reservations;
}

/* The demand of a pass and its progress. */
struct pass {
    struct adl_forecast *forecast;
    const struct adl_state *state;
    const struct adl_job_spec *spec;
    uint32_t type;
    int64_t run_us;
    bool final;                  /* no reservation starts any more: what has become free stays free */
    bool spanning;               /* GPUs of the type are counted as one, regardless of banks */
    bool beside_spanning;        /* a reservation on this type has no bank: bank and type must both suffice */
    struct bank_capacity whole;  /* capacity of the type: if spanning or beside_spanning */
    struct adl_reservation best; /* start_us INT64_MAX = none yet */
};

static bool suffices_for_job(const struct pass *pass, const struct bank_capacity *capacity)
{
    const struct adl_job_spec *spec = pass->spec;
    return capacity->gpus >= spec->gpus && capacity->cores >= (int64_t)spec->gpus * spec->cpu_cores &&
           capacity->memory_mib >= (int64_t)spec->gpus * spec->memory_mib;
}

/* Since when the job could begin in a place, as things stand; INT64_MAX = it cannot. */
static int64_t open_since(const struct pass *pass, const struct bank_capacity *capacity)
{
    return pass->beside_spanning && pass->whole.since_us > capacity->since_us ? pass->whole.since_us
                                                                              : capacity->since_us;
}

/* Remembers the capacity that a place has now as that at the time since when it is open. */
static void remember(struct bank_capacity *capacity, int64_t since_us)
{
    capacity->then_us = since_us;
    capacity->gpus_then = capacity->gpus;
    capacity->cores_then = capacity->cores;
    capacity->memory_then_mib = capacity->memory_mib;
}

/* What the best place so far has beside the job; set again if more changes at its first instant follow. */
static void set_spare(struct pass *pass, const struct bank_capacity *capacity)
{
    const struct adl_job_spec *spec = pass->spec;
    pass->best.spare = capacity->gpus_then - spec->gpus;
    pass->best.spare_cores = capacity->cores_then - spec->gpus * spec->cpu_cores;
    pass->best.spare_memory_mib = capacity->memory_then_mib - spec->gpus * spec->memory_mib;
}

/* Takes a place that is open until until_us if that is long enough and earlier than the best so far. */
static void consider(struct pass *pass, struct bank_capacity *capacity, int64_t until_us, uint32_t bank)
{
    const int64_t since_us = open_since(pass, capacity);
    if (since_us >= pass->best.start_us)
        return;
    if (until_us != INT64_MAX && until_us - since_us < pass->run_us)
        return;
    if (capacity->then_us != since_us) /* the type began to suffice later than the place, which did not change since */
        remember(capacity, since_us);
    pass->best = (struct adl_reservation){.start_us = since_us,
                                          .end_us = since_us + pass->run_us,
                                          .type = pass->type,
                                          .bank = bank,
                                          .gpus = pass->spec->gpus};
    set_spare(pass, capacity);
}

/* Notes whether the place suffices at time_us, and its capacity when it opened. */
static void note(struct pass *pass, struct bank_capacity *capacity, int64_t time_us, uint32_t bank, bool suffices)
{
    if (!suffices) {
        consider(pass, capacity, time_us, bank);
        capacity->since_us = INT64_MAX;
        return;
    }
    if (capacity->since_us == INT64_MAX)
        capacity->since_us = time_us;
    if (open_since(pass, capacity) == time_us) {
        remember(capacity, time_us);
        if (pass->best.start_us == time_us && pass->best.bank == bank)
            set_spare(pass, capacity);
    }
    if (pass->final)
        consider(pass, capacity, INT64_MAX, bank);
}

static struct bank_capacity *bank_of(struct pass *pass, uint32_t bank)
{
    struct adl_forecast *forecast = pass->forecast;
    struct bank_capacity *capacity = &forecast->banks[bank];
    if (capacity->epoch != forecast->epoch) {
        const struct adl_node_use *node = &pass->state->nodes_use[pass->state->cluster->banks[bank].node];
        *capacity = (struct bank_capacity){
            .epoch = forecast->epoch,
            .gpus = adl_pool_bank_free(&pass->state->pool, bank),
            .cores = node->free_cores,
            .memory_mib = node->free_memory_mib,
            .since_us = INT64_MAX,
            .then_us = INT64_MAX,
        };
        forecast->touched[forecast->touched_count++] = bank;
        note(pass, capacity, pass->state->now_us, bank, suffices_for_job(pass, capacity));
    }
    return capacity;
}

/* A change of gpus, cores and memory in one bank at one time. */
static void change(struct pass *pass, int64_t time_us, uint32_t bank, int32_t gpus, int32_t cores, int32_t memory_mib)
{
    struct bank_capacity *capacity = bank_of(pass, bank);
    const int64_t since_us = open_since(pass, capacity);
    if (since_us < time_us && capacity->then_us != since_us)
        remember(capacity, since_us);
    capacity->gpus = (uint32_t)((int32_t)capacity->gpus + gpus);
    capacity->cores += cores;
    capacity->memory_mib += memory_mib;
    note(pass, capacity, time_us, bank, suffices_for_job(pass, capacity));
}

/* The type begins or ceases to suffice for a job that needs a bank, too. No place was open longer than the type
 * sufficed. */
static void note_type(struct pass *pass, int64_t time_us, bool suffices)
{
    struct adl_forecast *forecast = pass->forecast;
    if (suffices)
        pass->whole.since_us = time_us;
    const int64_t until_us = suffices ? INT64_MAX : time_us;
    const bool may_begin = suffices ? pass->final : time_us - pass->whole.since_us >= pass->run_us;
    for (uint32_t i = 0; may_begin && i < forecast->touched_count; i++)
        consider(pass, &forecast->banks[forecast->touched[i]], until_us, forecast->touched[i]);
    if (!suffices)
        pass->whole.since_us = INT64_MAX;
}

/* A change of the GPUs of the type as a whole. */
static void change_type(struct pass *pass, int64_t time_us, int32_t gpus)
{
    const bool sufficed = pass->whole.gpus >= pass->spec->gpus;
    pass->whole.gpus = (uint32_t)((int32_t)pass->whole.gpus + gpus);
    const bool suffices = pass->whole.gpus >= pass->spec->gpus;
    if (pass->spanning && (sufficed || suffices))
        note(pass, &pass->whole, time_us, ADL_NONE, suffices);
    else if (!pass->spanning && sufficed != suffices)
        note_type(pass, time_us, suffices);
}

/* A job starts or ends in a bank of the pass's type (own), or beside it on the node. */
static void change_in(struct pass *pass, int64_t time_us, uint32_t bank, bool own, int32_t gpus, int32_t cores,
                      int32_t memory_mib)
{
    if (own && (pass->spanning || pass->beside_spanning))
        change_type(pass, time_us, gpus);
    if (!pass->spanning)
        change(pass, time_us, bank, own ? gpus : 0, cores, memory_mib);
}

/* The same in any bank. */
static void change_at(struct pass *pass, int64_t time_us, uint32_t at, int32_t gpus, int32_t cores, int32_t memory_mib)
{
    const bool own = pass->state->cluster->banks[at].type == pass->type;
    const uint32_t bank = own ? at : adl_endings_bank_beside(pass->state->cluster, at, pass->type);
    if (bank != ADL_NONE)
        change_in(pass, time_us, bank, own, gpus, cores, memory_mib);
}

/* Bank by bank: of two jobs that share a GPU, the first to leave frees only its cores and memory. */
static void leave_banks(struct pass *pass, int64_t time_us, uint32_t slot)
{
    const struct adl_state *state = pass->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t bank = ADL_NONE;
    int32_t gpus = 0, freed = 0;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
        uint64_t *leaving = &pass->forecast->leaving[gpu];
        if (gpus > 0 && state->cluster->gpu_bank[gpu] != bank) {
            change_at(pass, time_us, bank, freed, gpus * spec->cpu_cores, gpus * spec->memory_mib);
            gpus = freed = 0;
        }
        bank = state->cluster->gpu_bank[gpu];
        gpus++;
        freed += state->gpus[gpu].job[1] == ADL_NONE || *leaving == pass->forecast->epoch;
        *leaving = pass->forecast->epoch;
    }
    if (gpus > 0)
        change_at(pass, time_us, bank, freed, gpus * spec->cpu_cores, gpus * spec->memory_mib);
}

static void job_ends(struct pass *pass, int64_t time_us, const struct adl_ending *ending)
{
    if (ending->shares)
        leave_banks(pass, time_us, ending->slot);
    else if (ending->bank != ADL_NONE)
        change_in(pass, time_us, ending->bank, ending->own, ending->gpus, ending->cores, ending->memory_mib);
}

static void apply_edge(struct pass *pass, const struct edge *edge)
{
    const struct adl_reservation *r = &pass->forecast->reservations[edge->reservation];
    const struct adl_job_spec *spec = &pass->state->jobs[r->job].spec;
    const int32_t sign = edge->start ? -1 : 1, gpus = (int32_t)r->gpus;
    if (r->bank != ADL_NONE)
        change_at(pass, edge->time_us, r->bank, sign * gpus, sign * gpus * spec->cpu_cores,
                  sign * gpus * spec->memory_mib);
    else if (r->type == pass->type)
        change_type(pass, edge->time_us, sign * gpus);
}

/* From here on capacity only grows: a place that suffices keeps sufficing. */
static void finalize(struct pass *pass)
{
    pass->final = true;
    if (pass->spanning)
        consider(pass, &pass->whole, INT64_MAX, ADL_NONE);
    for (uint32_t i = 0; !pass->spanning && i < pass->forecast->touched_count; i++) {
        const uint32_t bank = pass->forecast->touched[i];
        consider(pass, &pass->forecast->banks[bank], INT64_MAX, bank);
    }
}

/* Tracks the banks that can be places from now on: those of reservations, or all if a reservation has no bank. */
static void begin(struct pass *pass)
{
    struct adl_forecast *forecast = pass->forecast;
    const struct adl_cluster *cluster = pass->state->cluster;
    forecast->epoch++;
    forecast->touched_count = 0;
    pass->whole = (struct bank_capacity){
        .gpus = pass->state->pool.free_gpus[pass->type], .since_us = INT64_MAX, .then_us = INT64_MAX};
    if (pass->spanning) {
        change_type(pass, pass->state->now_us, 0);
        return;
    }
    if (pass->whole.gpus >= pass->spec->gpus)
        pass->whole.since_us = pass->state->now_us;
    for (uint32_t i = 0; i < forecast->count; i++) {
        const struct adl_reservation *r = &forecast->reservations[i];
        pass->beside_spanning |= r->bank == ADL_NONE && r->type == pass->type;
    }
    for (uint32_t i = 0; !pass->beside_spanning && i < forecast->count; i++) {
        const uint32_t at = forecast->reservations[i].bank;
        const uint32_t bank = at == ADL_NONE ? ADL_NONE : adl_endings_bank_beside(pass->state->cluster, at, pass->type);
        if (bank != ADL_NONE)
            bank_of(pass, bank);
    }
    for (uint32_t b = 0; pass->beside_spanning && b < cluster->bank_count; b++)
        if (cluster->banks[b].type == pass->type)
            bank_of(pass, b);
}

/* Simulates the future of one type until the job has a place, and on to the end of that instant. */
static void simulate(struct pass *pass)
{
    const struct adl_state *state = pass->state;
    const struct adl_forecast *forecast = pass->forecast;
    struct adl_endings *endings = &pass->forecast->endings[pass->type];
    adl_endings_begin(endings, state, pass->spanning ? 1u << pass->type : forecast->neighbours[pass->type]);
    uint32_t edge = 0, ended = 0;
    begin(pass);
    for (;;) {
        if (edge == 2 * forecast->count && !pass->final)
            finalize(pass);
        const struct adl_ending *ending = adl_endings_at(endings, state, pass->type, ended);
        int64_t end_us = INT64_MAX, edge_us = INT64_MAX;
        if (ending) /* a job that has outlived its prediction may end at any moment */
            end_us = ending->end_us > state->now_us ? ending->end_us : state->now_us + 1;
        if (edge < 2 * forecast->count)
            edge_us = forecast->edges[edge].time_us;
        const int64_t next_us = end_us < edge_us ? end_us : edge_us;
        if (next_us == INT64_MAX || (pass->final && pass->best.start_us < next_us))
            return;
        if (end_us <= edge_us) {
            job_ends(pass, end_us, ending);
            ended++;
        } else {
            apply_edge(pass, &forecast->edges[edge++]);
        }
    }
}

static int64_t end_of(const struct adl_state *state, uint32_t slot)
{
    if (slot == ADL_NONE)
        return INT64_MAX;
    const int64_t end_us = state->jobs[slot].expected_us;
    return end_us > state->now_us ? end_us : state->now_us + 1; /* as in simulate() */
}

/* GPUs of the pass's type that an edge frees; negative if it takes them. */
static int32_t freed_by(const struct pass *pass, const struct edge *edge)
{
    const struct adl_reservation *r = &pass->forecast->reservations[edge->reservation];
    const int32_t gpus = r->type == pass->type ? (int32_t)r->gpus : 0;
    return edge->start ? -gpus : gpus;
}

/* What simulate() finds for a job that may span nodes: for it GPUs are a number that changes from instant to instant.
 * False if a job that may share its GPUs ends meanwhile, which may not free them. */
static bool simulate_by_count(struct pass *pass)
{
    const struct adl_state *state = pass->state;
    const struct edge *edge = pass->forecast->edges, *last = edge + (size_t)2 * pass->forecast->count;
    const int32_t wanted = pass->spec->gpus;
    uint32_t slot = state->running[pass->type].first;
    int32_t gpus = (int32_t)state->pool.free_gpus[pass->type], then = gpus;
    int64_t since_us = gpus >= wanted ? state->now_us : INT64_MAX, end_us = end_of(state, slot);
    for (;;) {
        const int64_t edge_us = edge < last ? edge->time_us : INT64_MAX, time_us = end_us < edge_us ? end_us : edge_us;
        if (time_us == INT64_MAX || (edge == last && since_us < time_us))
            break;
        for (; end_us == time_us; end_us = end_of(state, slot)) {
            if (state->jobs[slot].spec.flags & ADL_JOB_SHARE)
                return false;
            gpus += state->jobs[slot].spec.gpus;
            slot = state->nodes[slot].next;
        }
        for (; edge < last && edge->time_us == time_us; edge++)
            gpus += freed_by(pass, edge);
        if (gpus < wanted && since_us != INT64_MAX && time_us - since_us >= pass->run_us)
            break;
        since_us = gpus < wanted ? INT64_MAX : since_us < time_us ? since_us : time_us;
        then = since_us == time_us ? gpus : then;
    }
    pass->whole = (struct bank_capacity){.gpus = (uint32_t)then, .since_us = since_us, .then_us = INT64_MAX};
    consider(pass, &pass->whole, INT64_MAX, ADL_NONE);
    return true;
}

/* Among edges at one time ends come first; otherwise a bank would seem too full for an instant. */
static bool edge_before(struct edge a, struct edge b)
{
    return a.time_us < b.time_us || (a.time_us == b.time_us && !a.start && b.start);
}

static void add_edge(struct adl_forecast *forecast, struct edge edge, uint32_t count)
{
    uint32_t at = count;
    for (; at > 0 && edge_before(edge, forecast->edges[at - 1]); at--)
        forecast->edges[at] = forecast->edges[at - 1];
    forecast->edges[at] = edge;
}

/* Reduces what an earlier reservation can spare that starts while the new one runs. */
static void take_from(struct adl_reservation *r, const struct adl_state *state,
                      const struct adl_reservation *reservation)
{
    const struct adl_bank *banks = state->cluster->banks;
    const struct adl_job_spec *spec = &state->jobs[reservation->job].spec;
    if (reservation->type == r->type && (reservation->bank == r->bank || r->bank == ADL_NONE))
        r->spare -= reservation->gpus < r->spare ? reservation->gpus : r->spare;
    if (r->bank == ADL_NONE || reservation->bank == ADL_NONE || banks[r->bank].node != banks[reservation->bank].node)
        return;
    r->spare_cores -= (int32_t)reservation->gpus * spec->cpu_cores;
    r->spare_memory_mib -= (int32_t)reservation->gpus * spec->memory_mib;
}

static void add_reservation(struct adl_forecast *forecast, const struct adl_state *state,
                            const struct adl_reservation *reservation)
{
    for (uint32_t i = 0; i < forecast->count; i++) {
        struct adl_reservation *r = &forecast->reservations[i];
        if (r->start_us >= reservation->start_us && r->start_us < reservation->end_us)
            take_from(r, state, reservation);
    }
    const uint32_t edges = 2 * forecast->count, index = forecast->count;
    forecast->reservations[forecast->count++] = *reservation;
    add_edge(forecast, (struct edge){reservation->start_us, index, true}, edges);
    add_edge(forecast, (struct edge){reservation->end_us, index, false}, edges + 1);
}

bool adl_forecast_reserve(struct adl_forecast *forecast, const struct adl_state *state, uint32_t slot)
{
    if (forecast->count == forecast->capacity)
        return false;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    struct adl_reservation best = {.start_us = INT64_MAX};
    uint32_t types[ADL_TYPES_MAX];
    const uint32_t count = adl_placement_order_types(state, slot, UINT32_MAX, types);
    adl_state_sort_running(state);
    for (uint32_t i = 0; i < count; i++) {
        struct pass pass = {.forecast = forecast,
                            .state = state,
                            .spec = spec,
                            .type = types[i],
                            .run_us = adl_state_remaining_us(state, slot, types[i]),
                            .spanning = (spec->flags & ADL_JOB_SPAN) && spec->gpus > 1,
                            .best = {.start_us = INT64_MAX}};
        if (!pass.spanning || !simulate_by_count(&pass))
            simulate(&pass);
        if (pass.best.start_us < best.start_us)
            best = pass.best;
    }
    if (best.start_us == INT64_MAX)
        return false;
    best.job = slot;
    add_reservation(forecast, state, &best);
    return true;
}

void adl_forecast_remove(struct adl_forecast *forecast, uint32_t index)
{
    assert(index < forecast->count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 2 * forecast->count; i++) {
        const struct edge edge = forecast->edges[i];
        if (edge.reservation != index)
            forecast->edges[kept++] =
                (struct edge){edge.time_us, edge.reservation - (edge.reservation > index), edge.start};
    }
    forecast->count--;
    memmove(&forecast->reservations[index], &forecast->reservations[index + 1],
            (forecast->count - index) * sizeof *forecast->reservations);
}
