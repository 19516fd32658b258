#include "policy/gogh/transition_plan.h"
#include "base/copy.h"

#include <stdlib.h>

int adl_transition_plan_create(struct adl_transition_plan *ret, const struct adl_ilp_model *ilp)
{
    struct adl_transition_plan it = {.starts = malloc(ilp->job_capacity * sizeof *it.starts),
                                     .stops = malloc(ilp->job_capacity * sizeof *it.stops),
                                     .stays = malloc(ilp->job_capacity * sizeof *it.stays),
                                     .cursor = malloc(ADL_ILP_MODEL_GROUPS * sizeof *it.cursor)};
    if (!it.starts || !it.stops || !it.stays || !it.cursor) {
        adl_transition_plan_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_transition_plan_clear(struct adl_transition_plan *transitions)
{
    free(transitions->starts);
    free(transitions->stops);
    free(transitions->stays);
    free(transitions->cursor);
    *transitions = (struct adl_transition_plan){0};
}

void adl_transition_plan_copy(struct adl_transition_plan *to, const struct adl_transition_plan *from)
{
    const struct adl_transition_plan own = *to;
    *to = *from;
    to->cursor = own.cursor; /* while it is made */
    ADL_COPY_ARRAY(to, own, from, starts, from->start_count);
    ADL_COPY_ARRAY(to, own, from, stops, from->stop_count);
    ADL_COPY_ARRAY(to, own, from, stays, from->stay_count);
}

/* The next job of a group, taken out of it, or ADL_NONE. */
static uint32_t take_next(struct adl_transition_plan *transitions, const struct adl_ilp_model *ilp, uint32_t group)
{
    const uint32_t member = transitions->cursor[group];
    if (member == ADL_NONE)
        return ADL_NONE;
    transitions->cursor[group] = ilp->next[member];
    return ilp->jobs[member];
}

/* The cost of a job that shares its GPU: the cost of the pair, minus that of the neighbour alone. */
static double cost_beside(const struct adl_ilp_model *ilp, const struct adl_state *state,
                          struct adl_candidate candidate, uint32_t neighbour, double alone_w)
{
    struct adl_job_features features;
    struct adl_job_estimates estimates;
    struct adl_offer_cost both, other;
    const uint32_t type = candidate.job->current_type;
    adl_cost_model_features(ilp->cost_model, state, neighbour, &features);
    adl_cost_model_estimate(ilp->cost_model, &features, &estimates);
    const struct adl_candidate theirs = {&features, &estimates};
    if (!adl_cost_model_pair(ilp->cost_model, candidate, theirs, type, 0, &both))
        return alone_w;
    features.beside = ADL_NONE;
    return adl_cost_model_alone(ilp->cost_model, theirs, type, 0, &other) ? both.total_w - other.total_w : alone_w;
}

/* The cost of a job of the group where it is now. */
static double current_cost_w(const struct adl_ilp_model *ilp, const struct adl_state *state, uint32_t group,
                             uint32_t job)
{
    const struct adl_ilp_model_group *it = &ilp->groups[group];
    struct adl_job_features features = it->features;
    struct adl_offer_cost cost;
    features.beside = ADL_NONE;
    if (features.current_type == ADL_NOT_RUNNING ||
        !adl_cost_model_alone(ilp->cost_model, (struct adl_candidate){&features, &it->estimates}, features.current_type,
                              0, &cost))
        return ilp->wait_cost[group];
    if (it->features.beside == ADL_NONE)
        return cost.total_w;
    return cost_beside(ilp, state, (struct adl_candidate){&it->features, &it->estimates},
                       adl_state_neighbour(state, job), cost.total_w);
}

/* True if a gang pays on GPUs of several nodes, too. The program counts on one node wherever a node of the type can
 * hold the gang. */
static bool pays_across(const struct adl_ilp_model *ilp, const struct adl_offer *offer,
                        const struct adl_transition_step *step)
{
    const struct adl_ilp_model_group *it = &ilp->groups[offer->group[0]];
    struct adl_offer_cost cost;
    return adl_cost_model_across(ilp->cost_model, (struct adl_candidate){&it->features, &it->estimates}, step->type,
                                 step->cap_w, &cost) &&
           (cost.total_w < step->current_w || cost.total_w <= step->cost_w);
}

/* The step of an offer that was taken, with its jobs in the order of its groups; second is ADL_NONE for a single. */
static struct adl_transition_step step_of(const struct adl_ilp_model *ilp, const struct adl_state *state, uint32_t o,
                                          uint32_t first, uint32_t second)
{
    const struct adl_offer *offer = &ilp->offers[o];
    struct adl_transition_step step = {
        .job = first, .beside = ADL_NONE, .type = (uint16_t)offer->pool, .cap_w = ilp->cap_w[o], .cost_w = offer->cost};
    for (int i = 0; i < 2 && offer->group[i] != ADL_NONE; i++) {
        step.current_w += current_cost_w(ilp, state, offer->group[i], i == 0 ? first : second);
        step.wait_w += ilp->wait_cost[offer->group[i]];
    }
    step.may_span = pays_across(ilp, offer, &step);
    return step;
}

static void start(struct adl_transition_plan *transitions, const struct adl_state *state,
                  struct adl_transition_step step)
{
    const struct adl_job *job = &state->jobs[step.job];
    if (job->phase == ADL_PHASE_PENDING)
        transitions->starts[transitions->start_count++] = step;
    else if (job->phase == ADL_PHASE_RUNNING && job->spec.flags & ADL_JOB_PREEMPTIBLE)
        transitions->stops[transitions->stop_count++] = step; /* it starts there once it is back in the queue */
}

static void stay(struct adl_transition_plan *transitions, uint32_t job, uint32_t type, double cap_w)
{
    transitions->stays[transitions->stay_count++] =
        (struct adl_transition_step){.job = job, .beside = ADL_NONE, .type = (uint16_t)type, .cap_w = cap_w};
}

/* Two jobs that go on sharing. Features tell only the neighbour's profile, so each of the two may in fact share with
 * another job of the other's group; the result is the same. */
static void keep_pair(struct adl_transition_plan *transitions, const struct adl_ilp_model *ilp,
                      const struct adl_offer *offer, double cap_w)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t job = take_next(transitions, ilp, offer->group[i]);
        if (job != ADL_NONE)
            stay(transitions, job, offer->pool, cap_w);
    }
}

/* A new pair: one job runs there already, or both start. */
static void form_pair(struct adl_transition_plan *transitions, struct adl_ilp_model *ilp, const struct adl_state *state,
                      uint32_t o)
{
    const struct adl_offer *offer = &ilp->offers[o];
    const double cap_w = ilp->cap_w[o];
    const uint32_t jobs[2] = {take_next(transitions, ilp, offer->group[0]),
                              take_next(transitions, ilp, offer->group[1])};
    uint32_t a = jobs[0], b = jobs[1];
    const uint32_t type = offer->pool;
    if (a == ADL_NONE || b == ADL_NONE)
        return;
    const bool b_stays = state->jobs[b].phase == ADL_PHASE_RUNNING && state->jobs[b].type == type;
    const bool a_stays = state->jobs[a].phase == ADL_PHASE_RUNNING && state->jobs[a].type == type;
    if (b_stays && (!a_stays || state->jobs[a].spec.flags & ADL_JOB_PREEMPTIBLE)) {
        const uint32_t swap = a;
        a = b;
        b = swap;
    }
    struct adl_transition_step step = step_of(ilp, state, o, jobs[0], jobs[1]);
    step.job = a;
    if (a_stays || b_stays)
        stay(transitions, a, type, cap_w);
    else
        start(transitions, state, step);
    step.job = b;
    step.beside = a;
    start(transitions, state, step);
}

static void list_pairs(struct adl_transition_plan *transitions, struct adl_ilp_model *ilp,
                       const struct adl_state *state, bool together)
{
    for (uint32_t o = 0; o < ilp->offer_count; o++) {
        const struct adl_offer *offer = &ilp->offers[o];
        if (offer->group[1] == ADL_NONE)
            continue;
        const bool kept = adl_features_share_gpu(&ilp->groups[offer->group[0]].features,
                                                 &ilp->groups[offer->group[1]].features, offer->pool);
        for (uint32_t n = 0; kept == together && n < ilp->times[o]; n++)
            if (together)
                keep_pair(transitions, ilp, offer, ilp->cap_w[o]);
            else
                form_pair(transitions, ilp, state, o);
    }
}

/* A job that gets its GPU to itself. If its neighbour does too, one of the two has to move. */
static void stay_alone(struct adl_transition_plan *transitions, const struct adl_ilp_model *ilp,
                       const struct adl_state *state, uint32_t job, uint32_t o)
{
    const uint32_t other = adl_state_neighbour(state, job);
    for (uint32_t i = 0; i < transitions->stay_count && other != ADL_NONE; i++)
        if (transitions->stays[i].job == other && transitions->stays[i].alone) {
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                transitions->stops[transitions->stop_count++] = step_of(ilp, state, o, job, ADL_NONE);
            return;
        }
    stay(transitions, job, ilp->offers[o].pool, ilp->cap_w[o]);
    transitions->stays[transitions->stay_count - 1].alone = true;
}

static void list_singles(struct adl_transition_plan *transitions, struct adl_ilp_model *ilp,
                         const struct adl_state *state)
{
    for (uint32_t o = 0; o < ilp->offer_count; o++) {
        const struct adl_offer *offer = &ilp->offers[o];
        for (uint32_t n = 0; offer->group[1] == ADL_NONE && n < ilp->times[o]; n++) {
            const uint32_t job = take_next(transitions, ilp, offer->group[0]);
            if (job == ADL_NONE)
                break;
            if (ilp->groups[offer->group[0]].features.current_type == offer->pool)
                stay_alone(transitions, ilp, state, job, o);
            else
                start(transitions, state, step_of(ilp, state, o, job, ADL_NONE));
        }
    }
}

/* Running jobs without an offer: under a power limit some may have to stop. */
static void list_unserved(struct adl_transition_plan *transitions, const struct adl_ilp_model *ilp,
                          const struct adl_state *state)
{
    for (uint32_t g = 0; g < ilp->group_count; g++)
        for (uint32_t job; ilp->groups[g].features.current_type != ADL_NOT_RUNNING &&
                           (job = take_next(transitions, ilp, g)) != ADL_NONE;)
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                transitions->stops[transitions->stop_count++] =
                    (struct adl_transition_step){.job = job,
                                                 .beside = ADL_NONE,
                                                 .type = ADL_TYPES_MAX,
                                                 .current_w = current_cost_w(ilp, state, g, job)};
            else
                transitions->unstoppable = true;
}

static bool has_more_gpus(const struct adl_state *state, uint32_t a, uint32_t b)
{
    return state->jobs[a].spec.gpus > state->jobs[b].spec.gpus;
}

static bool is_promised_alone(const struct adl_state *state, uint32_t a, uint32_t b)
{
    return adl_job_promised(state, a) && !adl_job_promised(state, b);
}

/* Jobs that compare equal keep their order. */
static void sort_starts(struct adl_transition_plan *transitions, const struct adl_state *state,
                        bool (*before)(const struct adl_state *, uint32_t, uint32_t))
{
    for (uint32_t i = 1; i < transitions->start_count; i++) {
        const struct adl_transition_step it = transitions->starts[i];
        uint32_t j = i;
        for (; j > 0 && before(state, it.job, transitions->starts[j - 1].job); j--)
            transitions->starts[j] = transitions->starts[j - 1];
        transitions->starts[j] = it;
    }
}

void adl_transition_plan_list(struct adl_transition_plan *transitions, struct adl_ilp_model *ilp,
                              const struct adl_state *state)
{
    transitions->start_count = transitions->stop_count = transitions->stay_count = 0;
    transitions->unstoppable = false;
    for (uint32_t g = 0; g < ilp->group_count; g++)
        transitions->cursor[g] = ilp->groups[g].first;
    list_pairs(transitions, ilp, state, true);
    list_pairs(transitions, ilp, state, false);
    list_singles(transitions, ilp, state);
    list_unserved(transitions, ilp, state);
    sort_starts(transitions, state, has_more_gpus);
}

void adl_transition_plan_put_promised_first(struct adl_transition_plan *transitions, const struct adl_state *state)
{
    sort_starts(transitions, state, is_promised_alone);
}
