#include "predict/belief_internal.h"

#include "base/copy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slopes of shapes where a prediction says nothing of its error. Any will do: residuals are learned relative to it. */
#define SLOPE_OF_WORLD 0.25
#define SLOPE_OF_LIMIT 1.0
#define SLOPE_OF_STEPS 0.25

/* Slots whose jobs' ages are learned from before a job is predicted, at most. */
#define VISITS 1024

int adl_belief_create(const struct adl_cluster *cluster, bool learned, struct adl_belief **ret)
{
    struct adl_belief *belief = calloc(1, sizeof *belief);
    if (!belief)
        return ADL_ENOMEM;
    belief->cluster = cluster;
    belief->whole = calloc(1, sizeof *belief->whole);
    belief->factors = calloc(1, sizeof *belief->factors);
    if (!belief->whole || !belief->factors) {
        adl_belief_destroy(belief);
        return ADL_ENOMEM;
    }
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        for (uint32_t t = 0; t < cluster->type_count; t++)
            belief->spec_speed[kind][t] = adl_speed_by_specification(&cluster->types[t], kind);
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        belief->type_speed[t] = 1;
    for (int b = 0; b < BASIS_COUNT; b++)
        adl_residuals_init(&belief->residuals[b]);
    adl_calibration_init(&belief->calibration);
    belief->world_shape = adl_shape_linear(SLOPE_OF_WORLD);
    belief->limit_shape = adl_shape_linear(SLOPE_OF_LIMIT);
    belief->steps_shape = adl_shape_linear(SLOPE_OF_STEPS);
    if ((learned && adl_similar_create(ADL_REMEMBERED_JOBS, &belief->similar, NULL)) ||
        (learned && adl_owner_residuals_create(&belief->owners)) ||
        (learned && cluster->type_count > 1 && adl_speeds_create(cluster, &belief->speeds, NULL))) {
        adl_belief_destroy(belief);
        return ADL_ENOMEM;
    }
    *ret = belief;
    return 0;
}

int adl_belief_take_reported(struct adl_belief *belief)
{
    belief->reported = true;
    return belief->speeds || belief->cluster->type_count < 2
               ? 0
               : adl_speeds_create(belief->cluster, &belief->speeds, NULL);
}

void adl_belief_take_points_only(struct adl_belief *belief)
{
    belief->points_only = true;
}

void adl_belief_destroy(struct adl_belief *belief)
{
    if (!belief)
        return;
    adl_similar_destroy(belief->similar);
    adl_owner_residuals_destroy(belief->owners);
    adl_speeds_destroy(belief->speeds);
    if (belief->factors) {
        free(belief->factors->of);
        free(belief->factors->known);
    }
    free(belief->factors);
    free(belief->whole);
    free(belief->jobs);
    free(belief->shapes);
    free(belief);
}

static void forget_factors(struct adl_belief *belief)
{
    if (belief->factors->known_capacity > 0)
        memset(belief->factors->known, 0, belief->factors->known_capacity * sizeof *belief->factors->known);
}

void adl_belief_reset(struct adl_belief *belief)
{
    forget_factors(belief);
    *belief->whole = (struct whole_mean){0};
    for (int b = 0; b < BASIS_COUNT; b++)
        adl_residuals_init(&belief->residuals[b]);
    if (belief->owners)
        adl_owner_residuals_reset(belief->owners);
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        belief->type_speed[t] = 1;
}

static int reserve_factors(struct adl_belief *belief, size_t jobs)
{
    struct type_factors *factors = belief->factors;
    const size_t had = factors->known_capacity;
    if (adl_grow((void **)&factors->of, &factors->of_capacity, jobs,
                 (size_t)2 * belief->cluster->type_count * sizeof *factors->of) ||
        adl_grow((void **)&factors->known, &factors->known_capacity, jobs, sizeof *factors->known))
        return ADL_ENOMEM;
    memset(factors->known + had, 0, (factors->known_capacity - had) * sizeof *factors->known);
    return 0;
}

int adl_belief_reserve(struct adl_belief *belief, size_t jobs)
{
    if (jobs <= belief->job_capacity)
        return 0;
    if (reserve_factors(belief, jobs) ||
        (belief->similar && adl_grow((void **)&belief->shapes, &belief->shape_capacity, jobs, sizeof *belief->shapes)))
        return ADL_ENOMEM;
    return adl_grow((void **)&belief->jobs, &belief->job_capacity, jobs, sizeof *belief->jobs);
}

void adl_belief_inherit(struct adl_belief *belief, struct adl_belief *from)
{
    memcpy(belief->residuals, from->residuals, sizeof belief->residuals);
    *belief->whole = (struct whole_mean){0};
    forget_factors(belief);
    forget_factors(from);
    belief->calibration = from->calibration;
    struct adl_similar *similar = belief->similar;
    struct adl_owner_residuals *owners = belief->owners;
    struct adl_speeds *speeds = belief->speeds;
    if (similar && from->similar) {
        belief->similar = from->similar;
        from->similar = similar;
        belief->owners = from->owners;
        from->owners = owners;
    }
    if (speeds && from->speeds) {
        belief->speeds = from->speeds;
        from->speeds = speeds;
    }
}

int adl_belief_copy(struct adl_belief *to, const struct adl_belief *from)
{
    assert(!to->similar == !from->similar);
    if (adl_belief_reserve(to, from->job_capacity) ||
        (from->speeds && !to->speeds && adl_speeds_create(to->cluster, &to->speeds, NULL)))
        return ADL_ENOMEM;
    if (!from->speeds) { /* of an engine whose policy takes none */
        forget_factors(to);
        adl_speeds_destroy(to->speeds);
        to->speeds = NULL;
    }
    const struct adl_belief own = *to;
    *to = *from;
    to->cluster = own.cluster;
    to->whole = own.whole;
    *to->whole = *from->whole;
    to->factors = own.factors;
    to->similar = own.similar;
    to->owners = own.owners;
    to->speeds = own.speeds;
    to->job_capacity = own.job_capacity;
    to->shape_capacity = own.shape_capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, from->job_capacity);
    ADL_COPY_ARRAY(to, own, from, shapes, from->similar ? from->job_capacity : 0);
    if (to->similar)
        adl_similar_copy(to->similar, from->similar);
    if (to->owners)
        adl_owner_residuals_copy(to->owners, from->owners);
    if (to->speeds)
        adl_speeds_copy(to->speeds, from->speeds); /* a change: factors are found again */
    return 0;
}

static const char *const basis_names[BASIS_COUNT] = {[BY_WORLD] = "world",
                                                     [BY_LIMIT] = "limit",
                                                     [BY_NEIGHBOURS] = "neighbours",
                                                     [BY_LIMITED_NEIGHBOURS] = "limited neighbours",
                                                     [BY_STEPS] = ADL_RESIDUAL_STEPS};

static struct adl_belief_parts parts_of(struct adl_belief *belief)
{
    struct adl_belief_parts parts = {.similar = belief->similar,
                                     .owners = belief->owners,
                                     .speeds = belief->speeds,
                                     .calibration = &belief->calibration};
    for (int b = 0; b < BASIS_COUNT; b++) {
        parts.residuals[b] = &belief->residuals[b];
        parts.residual_names[b] = basis_names[b];
    }
    return parts;
}

void adl_belief_encode(const struct adl_belief *belief, struct adl_drift *drift, const struct adl_belief_terms *terms,
                       struct adl_text *ret)
{
    struct adl_belief copy = *belief; /* parts are not const */
    assert(!belief->points_only);
    struct adl_belief_parts parts = parts_of(&copy);
    parts.drift = drift;
    adl_belief_parts_encode(&parts, terms, ret);
}

int adl_belief_decode(struct adl_belief *belief, struct adl_drift *drift, const void *bytes, size_t size,
                      const struct adl_belief_terms *terms, struct adl_belief_account *ret, struct adl_error *err)
{
    struct adl_belief *read = NULL;
    struct adl_drift *read_drift = NULL;
    int status = adl_belief_create(belief->cluster, belief->similar != NULL, &read);
    if (status == 0 && drift)
        status = adl_drift_create(belief->cluster, ADL_DRIFT_ALL, &read_drift);
    if (status)
        adl_fail(err, status, "out of memory for a belief");
    if (status == 0) {
        struct adl_belief_parts parts = parts_of(read);
        parts.drift = read_drift;
        status = adl_belief_parts_decode(bytes, size, terms, &parts, ret, err);
    }
    if (status == 0)
        adl_belief_inherit(belief, read);
    if (status == 0 && ret->drift.used)
        adl_drift_exchange(drift, read_drift);
    adl_belief_destroy(read);
    adl_drift_destroy(read_drift);
    return status;
}

void adl_belief_set_type_speed(struct adl_belief *belief, uint32_t type, double speed)
{
    if (belief->type_speed[type] != speed)
        forget_factors(belief);
    belief->type_speed[type] = speed;
}

/* ---- learning ---- */

/* A job that ended: what it would have taken on the best type that it accepts. */
static void learn_similar(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    struct adl_belief_speeds speeds;
    struct adl_traits traits;
    if (event->outcome.run_us <= 0)
        return;
    adl_belief_find_speeds(belief, &job->spec, &speeds);
    const bool spans = job->spec.gpus > 1 && adl_state_spans_nodes(state, event->job);
    const double speed = spans ? speeds.across[job->type] : speeds.here[job->type];
    adl_traits_read(&traits, &job->spec, job->submit_us);
    adl_similar_learn(belief->similar, &traits, (int64_t)((double)event->outcome.run_us * speed / speeds.best) + 1,
                      job->spec.class_index);
}

/* Time of the present attempt up to a time, and the same as time on the best type. */
static int64_t ran_us(const struct adl_job *job, int64_t now_us)
{
    const int64_t end_us = job->phase == ADL_PHASE_STOPPING ? job->stop_us : now_us;
    return job->phase >= ADL_PHASE_RUNNING && end_us > job->start_us ? end_us - job->start_us : 0;
}

double adl_belief_here_factor(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool spans = job->spec.gpus > 1 && adl_state_spans_nodes(state, slot);
    const double factor = adl_belief_type_factor(belief, state, slot, job->type, spans);
    return (factor > 0 ? factor : 1) / adl_state_slowest(state, slot);
}

static double at_best(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t time_us)
{
    return time_us > 0 ? (double)time_us / adl_belief_here_factor(belief, state, slot) : 0;
}

double adl_belief_age_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t now_us)
{
    return belief->jobs[slot].done_us + at_best(belief, state, slot, ran_us(&state->jobs[slot], now_us));
}

void adl_belief_enter(struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t time_us)
{
    const struct adl_job *job = &state->jobs[slot];
    struct adl_traits traits;
    if (!belief->similar || job->spec.limit_us > 0)
        return;
    adl_traits_read(&traits, &job->spec, job->submit_us);
    adl_similar_enter(belief->similar, &traits, &belief->jobs[slot].life,
                      adl_belief_age_us(belief, state, slot, time_us));
}

/* A job that runs is known to take longer than it has. */
static void learn_age(struct adl_belief *belief, const struct adl_state *state, uint32_t slot, int64_t now_us)
{
    struct believed *believed = &belief->jobs[slot];
    const double age = adl_belief_age_us(belief, state, slot, now_us);
    struct adl_traits traits;
    adl_traits_read(&traits, &state->jobs[slot].spec, state->jobs[slot].submit_us);
    adl_similar_age(belief->similar, &traits, &believed->life, age);
    const double left_us = (adl_life_next_us(&believed->life) - age) * adl_belief_here_factor(belief, state, slot);
    believed->due_us = now_us + (int64_t)(left_us < ADL_REMAINING_MAX_US ? left_us : ADL_REMAINING_MAX_US);
}

void adl_belief_age(struct adl_belief *belief, const struct adl_state *state, int64_t now_us)
{
    if (!belief->similar || belief->frozen)
        return;
    const uint32_t slots = belief->slots < state->job_capacity ? belief->slots : (uint32_t)state->job_capacity;
    for (uint32_t v = 0; v < slots && v < VISITS; v++) {
        const uint32_t slot = belief->next_visit < slots ? belief->next_visit : 0;
        const struct adl_job *job = &state->jobs[slot];
        belief->next_visit = slot + 1;
        if (job->phase >= ADL_PHASE_RUNNING && job->spec.limit_us <= 0 && belief->jobs[slot].due_us <= now_us)
            learn_age(belief, state, slot, now_us);
    }
}

static void learn_end(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const double took_us = adl_belief_age_us(belief, state, event->job, event->time_us);
    struct adl_traits traits;
    if (job->spec.limit_us > 0 || !(took_us > 0))
        return;
    adl_traits_read(&traits, &job->spec, job->submit_us);
    adl_similar_end(belief->similar, &traits, &belief->jobs[event->job].life, took_us);
}

const struct adl_residuals *adl_belief_residuals_of(const struct adl_belief *belief, const struct believed *job,
                                                    struct adl_residuals *room)
{
    const struct adl_residuals *all = &belief->residuals[job->basis];
    return job->owner_key ? adl_owner_residuals_find(belief->owners, job->owner_key, all, room) : all;
}

static void learn_residual(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    if (belief->points_only)
        return;
    const struct believed *job = &belief->jobs[event->job];
    const double took_us = adl_belief_age_us(belief, state, event->job, event->time_us);
    if (!(took_us > 0 && job->predicted_us > 0))
        return;
    struct adl_residuals room;
    const struct adl_shape *shape = adl_belief_shape_of(belief, event->job);
    const double ratio = took_us / job->predicted_us;
    if (job->basis != BY_WORLD)
        adl_calibration_learn(&belief->calibration,
                              adl_residuals_within(adl_belief_residuals_of(belief, job, &room), shape, 0, ratio), ratio,
                              event->time_us);
    adl_residuals_learn(&belief->residuals[job->basis], shape, ratio);
    if (job->owner_key)
        adl_owner_residuals_learn(belief->owners, job->owner_key, shape, ratio);
    if (job->told_us > 0 && took_us > job->told_at_us)
        adl_residuals_learn(&belief->residuals[BY_STEPS], &belief->steps_shape,
                            (took_us - job->told_at_us) / job->told_us);
}

/* A job says how many steps it has left, and its word counts until it turns out wrong: more is left than the last
 * report and the time since explain. */
static void learn_steps_left(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    struct believed *job = &belief->jobs[event->job];
    const int64_t limit_us = state->jobs[event->job].spec.limit_us;
    const double most_us = limit_us > 0 ? (double)limit_us : ADL_REMAINING_MAX_US;
    const double left_us = event->steps_left / event->steps_per_s * 1e6;
    const double rest_us = at_best(belief, state, event->job, (int64_t)(left_us < most_us ? left_us : most_us) + 1);
    const double done_us = adl_belief_age_us(belief, state, event->job, event->time_us);
    const double passed_us = done_us - job->told_at_us, expected_us = job->told_us - passed_us;
    job->doubted |= job->told_us > 0 && rest_us > 1.5 * (expected_us > 0 ? expected_us : 0) + fabs(passed_us);
    job->told_us = job->doubted ? 0 : rest_us;
    job->told_at_us = done_us;
}

/* A job that saves its work when it is told to stop has not saved it when it fails. */
static void keep(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const int64_t attempt_us = ran_us(job, event->time_us);
    const bool unsaved =
        event->evict.fault && job->phase != ADL_PHASE_STOPPING && job->spec.stop_loss == ADL_LOSS_NOTHING;
    const int64_t kept_us = unsaved ? 0 : attempt_us - adl_job_lost_us(&job->spec, attempt_us);
    belief->jobs[event->job].done_us += at_best(belief, state, event->job, kept_us);
    belief->jobs[event->job].due_us = 0;
}

void adl_belief_learn(struct adl_belief *belief, const struct adl_event *event, const struct adl_state *state)
{
    const bool held = state->jobs[event->job].phase >= ADL_PHASE_RUNNING;
    if (!adl_belief_keeps_jobs(belief) && !belief->speeds)
        return;
    if (event->kind == ADL_EVENT_FINISH && held && !belief->frozen) {
        learn_residual(belief, event, state);
        if (belief->similar) {
            learn_similar(belief, event, state);
            learn_end(belief, event, state);
        }
        if (belief->speeds && event->outcome.end == ADL_END_COMPLETED)
            adl_speeds_complete(belief->speeds, state, event->job, event->outcome.run_us,
                                belief->spec_speed[state->jobs[event->job].spec.kind]);
    } else if (event->kind == ADL_EVENT_EVICT && held && adl_belief_keeps_jobs(belief)) {
        keep(belief, event, state);
    } else if (event->kind == ADL_EVENT_PROGRESS) {
        if (belief->speeds)
            adl_speeds_measure(belief->speeds, state, event->job, event->steps_per_s);
        if (held && event->steps_left > 0 && event->steps_per_s > 0 && !belief->points_only)
            learn_steps_left(belief, event, state);
    }
}

void adl_belief_freeze(struct adl_belief *belief, bool frozen)
{
    belief->frozen = frozen;
}

bool adl_belief_is_frozen(const struct adl_belief *belief)
{
    return belief->frozen;
}

/* ---- reading ---- */

void adl_belief_set_done(struct adl_belief *belief, uint32_t slot, double done_us)
{
    assert(adl_belief_keeps_jobs(belief));
    belief->jobs[slot].done_us = done_us;
}

double adl_belief_done_us(const struct adl_belief *belief, const struct adl_state *state, uint32_t slot)
{
    assert(!belief->points_only);
    return adl_belief_age_us(belief, state, slot, state->now_us);
}

struct adl_calibration *adl_belief_calibration(struct adl_belief *belief)
{
    assert(!belief->points_only);
    return &belief->calibration;
}

uint64_t adl_belief_count(const struct adl_belief *belief)
{
    uint64_t count = 0;
    assert(!belief->points_only);
    for (int b = 0; b < BY_STEPS; b++) /* each job once */
        count += belief->residuals[b].count;
    return count;
}
