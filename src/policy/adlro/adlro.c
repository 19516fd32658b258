/* adlro: planned places for waiting jobs, prices for GPU types, and learned speeds.
 *
 * At each decision the first waiting jobs in order of rank are planned onto the profile of what is believed to be free
 * (policy/adlro/profile.h). Each goes where its cost is least:
 *   1.5 * wait + rest of the run + price_weight * price(type) * GPUs * rest + delay_weight * delay of planned jobs.
 * If that place is free now the job starts, else it waits and keeps its place: it waits for the right type if that is
 * cheaper, however many GPUs of other types are idle. Later jobs may start on GPUs that are left (docs/flagship.md). */
#include "base/copy.h"
#include "policy/adlro/adlro_internal.h"
#include "policy/adlro/effort.h"
#include "policy/adlro/options.h"
#include "predict/belief.h"

#include <stdlib.h>
#include <string.h>

#define TYPICAL_SHARE 0.01 /* of a new run time, in the average of run times */

static void destroy(void *policy)
{
    struct adlro *self = policy;
    if (!self)
        return;
    adl_free_profile_destroy(self->profile);
    adl_corrections_destroy(self->corrections);
    adl_energy_destroy(self->energy);
    adl_chains_clear(&self->chains);
    adl_stops_clear(&self->stops);
    adl_ranking_clear(&self->ranking);
    adl_due_clear(&self->due);
    adl_fairness_clear(&self->fairness);
    adl_job_factors_clear(&self->factors);
    free(self->places);
    free(self->lane_left);
    free(self->planned);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct adl_adlro_options *own = config->options;
    struct adlro *self = calloc(1, sizeof *self);
    if (self)
        self->planned = calloc((size_t)own->planned_jobs + ADL_STOPS_WAITING, sizeof *self->planned);
    const double across_least = own->objective.energy > 0 ? ADL_ACROSS_LEAST_FRUGAL : ADL_ACROSS_LEAST;
    if (!self || !self->planned || adl_corrections_create(cluster, across_least, &self->corrections) ||
        adl_chains_create(&self->chains, cluster) || adl_stops_create(&self->stops, cluster) ||
        adl_free_profile_create(cluster, self->corrections, config->preemption_us, &self->profile) ||
        adl_energy_create(cluster, own->objective.energy / own->objective.mean, config->preemption_us, &self->energy)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy adlro");
    }
    self->objective = own->objective;
    self->price_weight = own->price_weight;
    self->delay_weight = own->delay_weight;
    self->due.tail = own->objective.tail / own->objective.mean;
    self->fairness.weight = own->objective.fairness / own->objective.mean;
    self->fairness.half_life_s = own->fair_half_life_s;
    self->may_move = own->moves;
    self->may_stop = own->stops;
    self->stop_margin = own->stop_margin;
    self->switch_us = config->preemption_us;
    self->planned_max = (uint32_t)own->planned_jobs;
    self->settled_us = INT64_MIN;
    int status = adl_fairness_read_shares(&self->fairness, own->user_shares, err);
    if (status == 0)
        status = adl_job_factors_load(&self->factors, adl_adlro_has_network(own, cluster), config->model,
                                      config->model_size, err);
    if (status) {
        destroy(self);
        return status;
    }
    *ret_policy = self;
    return 0;
}

static int copy(void *policy, const void *from)
{
    struct adlro *self = policy;
    const struct adlro *other = from;
    if (adl_ranking_copy(&self->ranking, &other->ranking) || adl_due_copy(&self->due, &other->due) ||
        adl_job_factors_copy(&self->factors, &other->factors) ||
        adl_grow((void **)&self->places, &self->place_capacity, other->place_capacity, sizeof *self->places) ||
        adl_grow((void **)&self->lane_left, &self->lane_capacity, other->lane_capacity, sizeof *self->lane_left))
        return ADL_ENOMEM;
    adl_corrections_copy(self->corrections, other->corrections);
    adl_free_profile_copy(self->profile, other->profile);
    adl_energy_copy(self->energy, other->energy);
    adl_stops_copy(&self->stops, &other->stops);
    const struct adlro own = *self;
    *self = *other;
    self->corrections = own.corrections;
    self->profile = own.profile;
    self->energy = own.energy;
    self->ranking = own.ranking;
    self->chains = own.chains; /* of one decision */
    self->stops = own.stops;
    self->due = own.due;
    self->factors = own.factors;
    self->place_capacity = own.place_capacity;
    self->lane_capacity = own.lane_capacity;
    ADL_COPY_ARRAY(self, own, other, places, other->place_capacity);
    ADL_COPY_ARRAY(self, own, other, lane_left, other->lane_capacity);
    for (size_t i = other->lane_capacity; i < self->lane_capacity; i++)
        self->lane_left[i] = 0;
    ADL_COPY_ARRAY(self, own, other, planned, other->planned_count);
    self->fairness = own.fairness;
    return adl_fairness_copy(&self->fairness, &other->fairness);
}

/* How long jobs take, not who used what: shares may differ. */
static void inherit(void *policy, void *from)
{
    struct adlro *self = policy;
    const struct adlro *other = from;
    adl_corrections_copy(self->corrections, other->corrections);
    self->rank_time = other->rank_time;
    self->typical_us = other->typical_us;
}

static int grow_lanes(struct adlro *self, size_t count)
{
    const size_t had = self->lane_capacity;
    if (adl_grow((void **)&self->lane_left, &self->lane_capacity, count, sizeof *self->lane_left))
        return ADL_ENOMEM;
    memset(self->lane_left + had, 0, (self->lane_capacity - had) * sizeof *self->lane_left);
    return 0;
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    struct adlro *self = policy;
    if (adl_ranking_reserve(&self->ranking, (size_t)state->queue.count + 1) ||
        adl_grow((void **)&self->places, &self->place_capacity, (size_t)slot + 1, sizeof *self->places) ||
        grow_lanes(self, (size_t)state->queue.lane_count + 1))
        self->failed = true;
    else
        self->places[slot] = adl_place_begin(&self->rank_time, state, slot);
    if (!self->failed && adl_job_factors_join(&self->factors, state, slot))
        self->failed = true;
    if (!self->failed && state->jobs[slot].attempts > 0 && adl_effort_is_saved(state->cluster) &&
        self->ranking.sequence == adl_adlro_sequence(self, state))
        self->rejoined += adl_ranking_rejoin(&self->ranking, state, adl_adlro_score(self, state, slot), slot);
    if (!self->failed && (adl_due_join(&self->due, state, slot, self->places[slot].rest_us) ||
                          adl_fairness_join(&self->fairness, state->jobs[slot].spec.user)))
        self->failed = true;
    return state->jobs[slot].submit_us;
}

/* Learns from a job that completed in its first attempt. */
static void learn(struct adlro *self, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const double limits = state->belief ? adl_rank_time_log(&self->rank_time, state, event->job,
                                                            adl_belief_mean_us(state->belief, event->job, 0))
                                        : 0;
    const double run_us = adl_rest_learn(self->corrections, event, state, limits);
    if (run_us == 0)
        return;
    const bool across = job->spec.gpus > 1 && adl_state_spans_nodes(state, event->job);
    if (state->belief) {
        const double factor = adl_belief_type_factor(state->belief, state, event->job, job->type, across);
        if (factor > 0)
            adl_rank_time_learn(&self->rank_time, state, event->job, run_us / factor);
    }
    self->typical_us = self->typical_us > 0 ? self->typical_us + TYPICAL_SHARE * (run_us - self->typical_us) : run_us;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct adlro *self = policy;
    adl_energy_observe(self->energy, event, state);
    if (event->kind == ADL_EVENT_PROGRESS && state->belief && event->steps_per_s > 0)
        adl_corrections_measured(self->corrections, &state->jobs[event->job].spec);
    if (event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return;
    if (event->kind == ADL_EVENT_FINISH) {
        if (!state->belief || !adl_belief_is_frozen(state->belief))
            learn(self, event, state);
        adl_moves_forget(&self->moves, event->job);
    }
    adl_fairness_charge(&self->fairness, &state->jobs[event->job], event->time_us);
    adl_free_profile_forget_job(self->profile, state, event->job);
}

static void explain(void *policy, const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct adlro *self = policy;
    adl_place_explain(&self->places[slot], self->ranked, state, slot, ret, size);
}

const struct adl_policy_ops adl_policy_adlro = {
    .name = "adlro",
    .summary = "planned places, prices for GPU types and learned speeds: a job waits for the right GPUs if that pays",
    .track_running = true,
    .takes_reported = true,
    ADL_POLICY_OPTIONS(adl_adlro_table, struct adl_adlro_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .rank = rank,
    .decide = adl_adlro_decide,
    .observe = observe,
    .inherit = inherit,
    .explain = explain,
};
