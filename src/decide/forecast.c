/* One pass in time over what will change on the GPUs of one type: running jobs end, promised jobs start and end. A bank
 * that stays wide enough for as long as the job runs is a place for it. */
#include "decide/forecast.h"

#include "decide/place.h"

#include <stdlib.h>

/* A promised job's start or end. */
struct edge {
    int64_t time_us;
    uint32_t reservation;
    bool start;
};

struct bank_outlook {
    uint64_t epoch;
    uint32_t gpus;
    int64_t since_us;  /* wide enough from this time on; INT64_MAX = not now */
    uint32_t gpus_then; /* and what there was at that time */
    int32_t cores_then;
    int32_t memory_then_mib;
};

struct node_outlook {
    uint64_t epoch;
    int32_t cores;
    int32_t memory_mib;
};

struct adl_forecast {
    struct adl_reservation *reservations;
    struct edge *edges;              /* by time */
    uint32_t count, capacity;
    struct bank_outlook *banks;      /* [bank] */
    struct node_outlook *nodes;      /* [node] */
    uint64_t *leaving;               /* [gpu] epoch in which one of two jobs on it has left */
    uint32_t *touched;               /* banks with an outlook in this pass */
    uint32_t touched_count;
    uint64_t epoch;
};

int adl_forecast_create(const struct adl_cluster *cluster, uint32_t reservations_max, struct adl_forecast **ret)
{
    struct adl_forecast *forecast = calloc(1, sizeof *forecast);
    if (!forecast)
        return ADL_ENOMEM;
    forecast->capacity = reservations_max;
    forecast->reservations = calloc(reservations_max, sizeof *forecast->reservations);
    forecast->edges = calloc(2 * (size_t)reservations_max, sizeof *forecast->edges);
    forecast->banks = calloc(cluster->bank_count + 1, sizeof *forecast->banks);
    forecast->nodes = calloc(cluster->node_count + 1, sizeof *forecast->nodes);
    forecast->leaving = calloc(cluster->gpu_count + 1, sizeof *forecast->leaving);
    forecast->touched = calloc(cluster->bank_count + 1, sizeof *forecast->touched);
    if (!forecast->reservations || !forecast->edges || !forecast->banks || !forecast->nodes || !forecast->leaving ||
        !forecast->touched) {
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
    free(forecast->nodes);
    free(forecast->leaving);
    free(forecast->touched);
    free(forecast);
}

void adl_forecast_clear(struct adl_forecast *forecast)
{
    forecast->count = 0;
}

const struct adl_reservation *adl_forecast_reservations(const struct adl_forecast *forecast, uint32_t *ret_count)
{
    *ret_count = forecast->count;
    return forecast->reservations;
}

/* What a pass looks for and where it stands. */
struct pass {
    struct adl_forecast *forecast;
    const struct adl_state *state;
    const struct adl_job_spec *spec;
    uint32_t type;
    int64_t run_us;
    bool final;                  /* no promise can take away any more what has become free */
    bool spanning;               /* GPUs of the type are counted as one, regardless of banks */
    struct bank_outlook whole;   /* spanning: the outlook of the type */
    struct adl_reservation best; /* start_us INT64_MAX = none yet */
};

static struct node_outlook *node_of(struct pass *pass, uint32_t bank)
{
    const uint32_t index = pass->state->cluster->banks[bank].node;
    struct node_outlook *node = &pass->forecast->nodes[index];
    if (node->epoch != pass->forecast->epoch)
        *node = (struct node_outlook){pass->forecast->epoch, pass->state->nodes_use[index].free_cores,
                                      pass->state->nodes_use[index].free_memory_mib};
    return node;
}

static bool wide_enough(struct pass *pass, uint32_t bank)
{
    const struct node_outlook *node = node_of(pass, bank);
    const struct adl_job_spec *spec = pass->spec;
    return pass->forecast->banks[bank].gpus >= spec->gpus && node->cores >= spec->gpus * spec->cpu_cores &&
           node->memory_mib >= spec->gpus * spec->memory_mib;
}

/* Takes a place that lasts from since_us until until_us if it is long enough and earlier than the best so far. */
static void consider(struct pass *pass, const struct bank_outlook *outlook, int64_t until_us, uint32_t bank)
{
    if (outlook->since_us >= pass->best.start_us)
        return;
    if (until_us != INT64_MAX && until_us - outlook->since_us < pass->run_us)
        return;
    pass->best = (struct adl_reservation){.start_us = outlook->since_us,
                                          .end_us = outlook->since_us + pass->run_us,
                                          .type = pass->type,
                                          .bank = bank,
                                          .gpus = pass->spec->gpus};
}

/* Notes at time_us whether the place is wide enough now, and what it had when it became so. */
static void note(struct pass *pass, struct bank_outlook *outlook, int64_t time_us, uint32_t bank, bool wide)
{
    if (!wide) {
        consider(pass, outlook, time_us, bank);
        outlook->since_us = INT64_MAX;
        return;
    }
    if (outlook->since_us == INT64_MAX)
        outlook->since_us = time_us;
    if (outlook->since_us == time_us) {
        outlook->gpus_then = outlook->gpus;
        if (bank != ADL_NONE) {
            outlook->cores_then = node_of(pass, bank)->cores;
            outlook->memory_then_mib = node_of(pass, bank)->memory_mib;
        }
    }
    if (pass->final)
        consider(pass, outlook, INT64_MAX, bank);
}

static struct bank_outlook *bank_of(struct pass *pass, uint32_t bank)
{
    struct adl_forecast *forecast = pass->forecast;
    struct bank_outlook *outlook = &forecast->banks[bank];
    if (outlook->epoch != forecast->epoch) {
        *outlook = (struct bank_outlook){.epoch = forecast->epoch,
                                         .gpus = adl_pool_bank_free(&pass->state->pool, bank),
                                         .since_us = INT64_MAX};
        forecast->touched[forecast->touched_count++] = bank;
        note(pass, outlook, pass->state->now_us, bank, wide_enough(pass, bank));
    }
    return outlook;
}

/* A change of gpus, cores and memory in one bank at one time. */
static void change(struct pass *pass, int64_t time_us, uint32_t bank, int32_t gpus, int32_t cores, int32_t memory_mib)
{
    struct bank_outlook *outlook = bank_of(pass, bank);
    struct node_outlook *node = node_of(pass, bank);
    outlook->gpus = (uint32_t)((int32_t)outlook->gpus + gpus);
    node->cores += cores;
    node->memory_mib += memory_mib;
    note(pass, outlook, time_us, bank, wide_enough(pass, bank));
}

static void change_type(struct pass *pass, int64_t time_us, int32_t gpus)
{
    pass->whole.gpus = (uint32_t)((int32_t)pass->whole.gpus + gpus);
    note(pass, &pass->whole, time_us, ADL_NONE, pass->whole.gpus >= pass->spec->gpus);
}

static void job_ends(struct pass *pass, int64_t time_us, uint32_t slot)
{
    const struct adl_state *state = pass->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
        uint64_t *leaving = &pass->forecast->leaving[gpu];
        const bool freed = state->gpus[gpu].job[1] == ADL_NONE || *leaving == pass->forecast->epoch;
        *leaving = pass->forecast->epoch;
        if (pass->spanning)
            change_type(pass, time_us, freed);
        else
            change(pass, time_us, state->cluster->gpu_bank[gpu], freed, spec->cpu_cores, spec->memory_mib);
    }
}

static void promise_turns(struct pass *pass, const struct edge *edge)
{
    const struct adl_reservation *r = &pass->forecast->reservations[edge->reservation];
    const struct adl_job_spec *spec = &pass->state->jobs[r->job].spec;
    const int32_t sign = edge->start ? -1 : 1, gpus = (int32_t)r->gpus;
    if (r->type != pass->type)
        return;
    if (pass->spanning)
        change_type(pass, edge->time_us, sign * gpus);
    else if (r->bank != ADL_NONE)
        change(pass, edge->time_us, r->bank, sign * gpus, sign * gpus * spec->cpu_cores,
               sign * gpus * spec->memory_mib);
}

/* From here on nothing is taken away: whatever is wide enough stays so. */
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

static void begin(struct pass *pass)
{
    struct adl_forecast *forecast = pass->forecast;
    forecast->epoch++;
    forecast->touched_count = 0;
    pass->whole = (struct bank_outlook){.gpus = pass->state->pool.free_gpus[pass->type], .since_us = INT64_MAX};
    if (pass->spanning)
        change_type(pass, pass->state->now_us, 0);
    for (uint32_t i = 0; !pass->spanning && i < forecast->count; i++)
        if (forecast->reservations[i].type == pass->type && forecast->reservations[i].bank != ADL_NONE)
            bank_of(pass, forecast->reservations[i].bank);
}

/* Plays the future of one type until the job has a place, and on to the end of that instant. */
static void play(struct pass *pass)
{
    const struct adl_state *state = pass->state;
    const struct adl_forecast *forecast = pass->forecast;
    uint32_t edge = 0, running = state->running[pass->type].first;
    begin(pass);
    for (;;) {
        if (edge == 2 * forecast->count && !pass->final)
            finalize(pass);
        int64_t end_us = INT64_MAX, edge_us = INT64_MAX;
        if (running != ADL_NONE) /* a job that has outlived what was believed ends any moment now */
            end_us = state->jobs[running].expected_us > state->now_us ? state->jobs[running].expected_us
                                                                      : state->now_us + 1;
        if (edge < 2 * forecast->count)
            edge_us = forecast->edges[edge].time_us;
        const int64_t next_us = end_us < edge_us ? end_us : edge_us;
        if (next_us == INT64_MAX || (pass->final && pass->best.start_us < next_us))
            return;
        if (end_us <= edge_us) {
            job_ends(pass, end_us, running);
            running = state->nodes[running].next;
        } else {
            promise_turns(pass, &forecast->edges[edge++]);
        }
    }
}

static void add_edge(struct adl_forecast *forecast, struct edge edge, uint32_t count)
{
    uint32_t at = count;
    for (; at > 0 && forecast->edges[at - 1].time_us > edge.time_us; at--)
        forecast->edges[at] = forecast->edges[at - 1];
    forecast->edges[at] = edge;
}

/* Keeps the promise, and takes it from what those that start while it runs could spare. */
static void keep(struct adl_forecast *forecast, const struct adl_state *state, const struct adl_reservation *promise)
{
    const struct adl_job_spec *spec = &state->jobs[promise->job].spec;
    for (uint32_t i = 0; i < forecast->count; i++) {
        struct adl_reservation *r = &forecast->reservations[i];
        if (r->type != promise->type || r->bank != promise->bank || r->start_us < promise->start_us ||
            r->start_us >= promise->end_us)
            continue;
        r->spare -= promise->gpus < r->spare ? promise->gpus : r->spare;
        r->spare_cores -= (int32_t)promise->gpus * spec->cpu_cores;
        r->spare_memory_mib -= (int32_t)promise->gpus * spec->memory_mib;
    }
    const uint32_t edges = 2 * forecast->count, index = forecast->count;
    forecast->reservations[forecast->count++] = *promise;
    add_edge(forecast, (struct edge){promise->start_us, index, true}, edges);
    add_edge(forecast, (struct edge){promise->end_us, index, false}, edges + 1);
}

bool adl_forecast_promise(struct adl_forecast *forecast, const struct adl_state *state, uint32_t slot)
{
    if (forecast->count == forecast->capacity)
        return false;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    struct adl_reservation best = {.start_us = INT64_MAX};
    uint32_t types[ADL_TYPES_MAX];
    const uint32_t count = adl_place_order(state, slot, UINT32_MAX, types);
    for (uint32_t i = 0; i < count; i++) {
        struct pass pass = {.forecast = forecast,
                            .state = state,
                            .spec = spec,
                            .type = types[i],
                            .run_us = adl_state_remaining_us(state, slot, types[i]),
                            .spanning = (spec->flags & ADL_JOB_SPAN) && spec->gpus > 1,
                            .best = {.start_us = INT64_MAX}};
        play(&pass);
        if (pass.best.start_us >= best.start_us)
            continue;
        best = pass.best;
        const struct bank_outlook *then = pass.spanning ? &pass.whole : &forecast->banks[best.bank];
        best.spare = then->gpus_then - spec->gpus;
        best.spare_cores = then->cores_then - spec->gpus * spec->cpu_cores;
        best.spare_memory_mib = then->memory_then_mib - spec->gpus * spec->memory_mib;
    }
    if (best.start_us == INT64_MAX)
        return false;
    best.job = slot;
    keep(forecast, state, &best);
    return true;
}
