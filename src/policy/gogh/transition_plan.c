#include "policy/gogh/transition_plan.h"

#include <stdlib.h>

int adl_transition_plan_create(struct adl_transition_plan *ret, const struct adl_ilp_model *program)
{
    struct adl_transition_plan it = {.starts = malloc(program->job_capacity * sizeof *it.starts),
                                     .stops = malloc(program->job_capacity * sizeof *it.stops),
                                     .stays = malloc(program->job_capacity * sizeof *it.stays),
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

/* The next job of a group, taken out of it, or ADL_NONE. */
static uint32_t take_next(struct adl_transition_plan *transitions, const struct adl_ilp_model *program, uint32_t group)
{
    const uint32_t member = transitions->cursor[group];
    if (member == ADL_NONE)
        return ADL_NONE;
    transitions->cursor[group] = program->next[member];
    return program->jobs[member];
}

/* What a job costs that shares its GPU: the two together, less what the neighbour would cost alone there. */
static double cost_beside(const struct adl_ilp_model *program, const struct adl_state *state, struct adl_party party,
                          uint32_t neighbour, double alone_w)
{
    struct adl_standing standing;
    struct adl_prospect prospect;
    struct adl_price both, other;
    const uint32_t type = party.job->place;
    adl_cost_model_stand(program->cost_model, state, neighbour, &standing);
    adl_cost_model_look(program->cost_model, &standing, &prospect);
    const struct adl_party theirs = {&standing, &prospect};
    if (!adl_cost_model_pair(program->cost_model, party, theirs, type, 0, &both))
        return alone_w;
    standing.beside = ADL_NONE;
    return adl_cost_model_alone(program->cost_model, theirs, type, 0, &other) ? both.cost_w - other.cost_w : alone_w;
}

/* What a job of the group costs as it is. */
static double cost_as_it_is(const struct adl_ilp_model *program, const struct adl_state *state, uint32_t group,
                            uint32_t job)
{
    const struct adl_ilp_model_group *it = &program->groups[group];
    struct adl_standing standing = it->standing;
    struct adl_price price;
    standing.beside = ADL_NONE;
    if (standing.place == ADL_PLACE_QUEUE ||
        !adl_cost_model_alone(program->cost_model, (struct adl_party){&standing, &it->prospect}, standing.place, 0,
                              &price))
        return program->wait_cost[group];
    if (it->standing.beside == ADL_NONE)
        return price.cost_w;
    return cost_beside(program, state, (struct adl_party){&it->standing, &it->prospect},
                       adl_state_neighbour(state, job), price.cost_w);
}

/* An offer that was taken, for its jobs in the order of its groups; the second is ADL_NONE where it has one group. */
static struct adl_transition_step step_of(const struct adl_ilp_model *program, const struct adl_state *state,
                                          uint32_t o, uint32_t first, uint32_t second)
{
    const struct adl_offer *offer = &program->offers[o];
    struct adl_transition_step step = {.job = first,
                                       .beside = ADL_NONE,
                                       .type = (uint16_t)offer->pool,
                                       .cap_w = program->cap_w[o],
                                       .cost_w = offer->cost};
    for (int i = 0; i < 2 && offer->group[i] != ADL_NONE; i++) {
        step.else_w += cost_as_it_is(program, state, offer->group[i], i == 0 ? first : second);
        step.wait_w += program->wait_cost[offer->group[i]];
    }
    return step;
}

static void start(struct adl_transition_plan *transitions, const struct adl_state *state,
                  struct adl_transition_step step)
{
    const struct adl_job *job = &state->jobs[step.job];
    if (job->phase == ADL_PHASE_PENDING)
        transitions->starts[transitions->start_count++] = step;
    else if (job->phase == ADL_PHASE_RUNNING && job->spec.flags & ADL_JOB_PREEMPTIBLE)
        transitions->stops[transitions->stop_count++] = step; /* it starts there once it waits */
}

static void stay(struct adl_transition_plan *transitions, uint32_t job, uint32_t type, double cap_w)
{
    transitions->stays[transitions->stay_count++] =
        (struct adl_transition_step){.job = job, .beside = ADL_NONE, .type = (uint16_t)type, .cap_w = cap_w};
}

/* Two that go on sharing. Who shares with whom was told by profiles alone, so of these two each may sit beside another
 * one like the other: all the same. */
static void keep_pair(struct adl_transition_plan *transitions, const struct adl_ilp_model *program,
                      const struct adl_offer *offer, double cap_w)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t job = take_next(transitions, program, offer->group[i]);
        if (job != ADL_NONE)
            stay(transitions, job, offer->pool, cap_w);
    }
}

/* One of the two is there already, or both come. */
static void form_pair(struct adl_transition_plan *transitions, struct adl_ilp_model *program,
                      const struct adl_state *state, uint32_t o)
{
    const struct adl_offer *offer = &program->offers[o];
    const double cap_w = program->cap_w[o];
    const uint32_t jobs[2] = {take_next(transitions, program, offer->group[0]),
                              take_next(transitions, program, offer->group[1])};
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
    struct adl_transition_step step = step_of(program, state, o, jobs[0], jobs[1]);
    step.job = a;
    if (a_stays || b_stays)
        stay(transitions, a, type, cap_w);
    else
        start(transitions, state, step);
    step.job = b;
    step.beside = a;
    start(transitions, state, step);
}

static void list_pairs(struct adl_transition_plan *transitions, struct adl_ilp_model *program,
                       const struct adl_state *state, bool together)
{
    for (uint32_t o = 0; o < program->offer_count; o++) {
        const struct adl_offer *offer = &program->offers[o];
        if (offer->group[1] == ADL_NONE)
            continue;
        const bool kept = adl_standing_together(&program->groups[offer->group[0]].standing,
                                                &program->groups[offer->group[1]].standing, offer->pool);
        for (uint32_t n = 0; kept == together && n < program->times[o]; n++)
            if (together)
                keep_pair(transitions, program, offer, program->cap_w[o]);
            else
                form_pair(transitions, program, state, o);
    }
}

/* A job that is to have its GPU for itself: of two that share one, both of which are, one has to go. */
static void stay_alone(struct adl_transition_plan *transitions, const struct adl_ilp_model *program,
                       const struct adl_state *state, uint32_t job, uint32_t o)
{
    const uint32_t other = adl_state_neighbour(state, job);
    for (uint32_t i = 0; i < transitions->stay_count && other != ADL_NONE; i++)
        if (transitions->stays[i].job == other && transitions->stays[i].alone) {
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                transitions->stops[transitions->stop_count++] = step_of(program, state, o, job, ADL_NONE);
            return;
        }
    stay(transitions, job, program->offers[o].pool, program->cap_w[o]);
    transitions->stays[transitions->stay_count - 1].alone = true;
}

static void list_singles(struct adl_transition_plan *transitions, struct adl_ilp_model *program,
                         const struct adl_state *state)
{
    for (uint32_t o = 0; o < program->offer_count; o++) {
        const struct adl_offer *offer = &program->offers[o];
        for (uint32_t n = 0; offer->group[1] == ADL_NONE && n < program->times[o]; n++) {
            const uint32_t job = take_next(transitions, program, offer->group[0]);
            if (job == ADL_NONE)
                break;
            if (program->groups[offer->group[0]].standing.place == offer->pool)
                stay_alone(transitions, program, state, job, o);
            else
                start(transitions, state, step_of(program, state, o, job, ADL_NONE));
        }
    }
}

/* Running jobs that got nothing: under a power limit there may not be enough for all. */
static void list_losers(struct adl_transition_plan *transitions, const struct adl_ilp_model *program,
                        const struct adl_state *state)
{
    for (uint32_t g = 0; g < program->group_count; g++)
        for (uint32_t job; program->groups[g].standing.place != ADL_PLACE_QUEUE &&
                           (job = take_next(transitions, program, g)) != ADL_NONE;)
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                transitions->stops[transitions->stop_count++] =
                    (struct adl_transition_step){.job = job,
                                                 .beside = ADL_NONE,
                                                 .type = ADL_TYPES_MAX,
                                                 .else_w = cost_as_it_is(program, state, g, job)};
            else
                transitions->unstoppable = true;
}

void adl_transition_plan_list(struct adl_transition_plan *transitions, struct adl_ilp_model *program,
                              const struct adl_state *state)
{
    transitions->start_count = transitions->stop_count = transitions->stay_count = 0;
    transitions->unstoppable = false;
    for (uint32_t g = 0; g < program->group_count; g++)
        transitions->cursor[g] = program->groups[g].first;
    list_pairs(transitions, program, state, true);
    list_pairs(transitions, program, state, false);
    list_singles(transitions, program, state);
    list_losers(transitions, program, state);
    for (uint32_t i = 1; i < transitions->start_count; i++) {
        const struct adl_transition_step it = transitions->starts[i];
        uint32_t j = i;
        for (; j > 0 && state->jobs[transitions->starts[j - 1].job].spec.gpus < state->jobs[it.job].spec.gpus; j--)
            transitions->starts[j] = transitions->starts[j - 1];
        transitions->starts[j] = it;
    }
}
