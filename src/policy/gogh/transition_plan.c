#include "policy/gogh/transition_plan.h"

#include <stdlib.h>

int adl_errands_create(struct adl_errands *ret, const struct adl_program *program)
{
    struct adl_errands it = {.starts = malloc(program->job_capacity * sizeof *it.starts),
                             .stops = malloc(program->job_capacity * sizeof *it.stops),
                             .stays = malloc(program->job_capacity * sizeof *it.stays),
                             .cursor = malloc(ADL_PROGRAM_GROUPS * sizeof *it.cursor)};
    if (!it.starts || !it.stops || !it.stays || !it.cursor) {
        adl_errands_clear(&it);
        return ADL_ENOMEM;
    }
    *ret = it;
    return 0;
}

void adl_errands_clear(struct adl_errands *errands)
{
    free(errands->starts);
    free(errands->stops);
    free(errands->stays);
    free(errands->cursor);
    *errands = (struct adl_errands){0};
}

/* The next job of a group, taken out of it, or ADL_NONE. */
static uint32_t take_next(struct adl_errands *errands, const struct adl_program *program, uint32_t group)
{
    const uint32_t member = errands->cursor[group];
    if (member == ADL_NONE)
        return ADL_NONE;
    errands->cursor[group] = program->next[member];
    return program->jobs[member];
}

/* What a job costs that shares its GPU: the two together, less what the neighbour would cost alone there. */
static double cost_beside(const struct adl_program *program, const struct adl_state *state, struct adl_party party,
                          uint32_t neighbour, double alone_w)
{
    struct adl_standing standing;
    struct adl_prospect prospect;
    struct adl_price both, other;
    const uint32_t type = party.job->place;
    adl_appraisal_stand(program->appraisal, state, neighbour, &standing);
    adl_appraisal_look(program->appraisal, &standing, &prospect);
    const struct adl_party theirs = {&standing, &prospect};
    if (!adl_appraisal_pair(program->appraisal, party, theirs, type, 0, &both))
        return alone_w;
    standing.beside = ADL_NONE;
    return adl_appraisal_alone(program->appraisal, theirs, type, 0, &other) ? both.cost_w - other.cost_w : alone_w;
}

/* What a job of the group costs as it is. */
static double cost_as_it_is(const struct adl_program *program, const struct adl_state *state, uint32_t group,
                            uint32_t job)
{
    const struct adl_program_group *it = &program->groups[group];
    struct adl_standing standing = it->standing;
    struct adl_price price;
    standing.beside = ADL_NONE;
    if (standing.place == ADL_PLACE_QUEUE ||
        !adl_appraisal_alone(program->appraisal, (struct adl_party){&standing, &it->prospect}, standing.place, 0,
                             &price))
        return program->wait_cost[group];
    if (it->standing.beside == ADL_NONE)
        return price.cost_w;
    return cost_beside(program, state, (struct adl_party){&it->standing, &it->prospect},
                       adl_state_neighbour(state, job), price.cost_w);
}

/* An offer that was taken, for its jobs in the order of its groups; the second is ADL_NONE where it has one group. */
static struct adl_errand errand_of(const struct adl_program *program, const struct adl_state *state, uint32_t o,
                                   uint32_t first, uint32_t second)
{
    const struct adl_offer *offer = &program->offers[o];
    struct adl_errand errand = {.job = first,
                                .beside = ADL_NONE,
                                .type = (uint16_t)offer->pool,
                                .cap_w = program->cap_w[o],
                                .cost_w = offer->cost};
    for (int i = 0; i < 2 && offer->group[i] != ADL_NONE; i++) {
        errand.else_w += cost_as_it_is(program, state, offer->group[i], i == 0 ? first : second);
        errand.wait_w += program->wait_cost[offer->group[i]];
    }
    return errand;
}

static void start(struct adl_errands *errands, const struct adl_state *state, struct adl_errand errand)
{
    const struct adl_job *job = &state->jobs[errand.job];
    if (job->phase == ADL_PHASE_PENDING)
        errands->starts[errands->start_count++] = errand;
    else if (job->phase == ADL_PHASE_RUNNING && job->spec.flags & ADL_JOB_PREEMPTIBLE)
        errands->stops[errands->stop_count++] = errand; /* it starts there once it waits */
}

static void stay(struct adl_errands *errands, uint32_t job, uint32_t type, double cap_w)
{
    errands->stays[errands->stay_count++] =
        (struct adl_errand){.job = job, .beside = ADL_NONE, .type = (uint16_t)type, .cap_w = cap_w};
}

/* Two that go on sharing. Who shares with whom was told by profiles alone, so of these two each may sit beside another
 * one like the other: all the same. */
static void keep_pair(struct adl_errands *errands, const struct adl_program *program, const struct adl_offer *offer,
                      double cap_w)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t job = take_next(errands, program, offer->group[i]);
        if (job != ADL_NONE)
            stay(errands, job, offer->pool, cap_w);
    }
}

/* One of the two is there already, or both come. */
static void form_pair(struct adl_errands *errands, struct adl_program *program, const struct adl_state *state,
                      uint32_t o)
{
    const struct adl_offer *offer = &program->offers[o];
    const double cap_w = program->cap_w[o];
    const uint32_t jobs[2] = {take_next(errands, program, offer->group[0]),
                              take_next(errands, program, offer->group[1])};
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
    struct adl_errand errand = errand_of(program, state, o, jobs[0], jobs[1]);
    errand.job = a;
    if (a_stays || b_stays)
        stay(errands, a, type, cap_w);
    else
        start(errands, state, errand);
    errand.job = b;
    errand.beside = a;
    start(errands, state, errand);
}

static void list_pairs(struct adl_errands *errands, struct adl_program *program, const struct adl_state *state,
                       bool together)
{
    for (uint32_t o = 0; o < program->offer_count; o++) {
        const struct adl_offer *offer = &program->offers[o];
        if (offer->group[1] == ADL_NONE)
            continue;
        const bool kept = adl_standing_together(&program->groups[offer->group[0]].standing,
                                                &program->groups[offer->group[1]].standing, offer->pool);
        for (uint32_t n = 0; kept == together && n < program->times[o]; n++)
            if (together)
                keep_pair(errands, program, offer, program->cap_w[o]);
            else
                form_pair(errands, program, state, o);
    }
}

/* A job that is to have its GPU for itself: of two that share one, both of which are, one has to go. */
static void stay_alone(struct adl_errands *errands, const struct adl_program *program, const struct adl_state *state,
                       uint32_t job, uint32_t o)
{
    const uint32_t other = adl_state_neighbour(state, job);
    for (uint32_t i = 0; i < errands->stay_count && other != ADL_NONE; i++)
        if (errands->stays[i].job == other && errands->stays[i].alone) {
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                errands->stops[errands->stop_count++] = errand_of(program, state, o, job, ADL_NONE);
            return;
        }
    stay(errands, job, program->offers[o].pool, program->cap_w[o]);
    errands->stays[errands->stay_count - 1].alone = true;
}

static void list_singles(struct adl_errands *errands, struct adl_program *program, const struct adl_state *state)
{
    for (uint32_t o = 0; o < program->offer_count; o++) {
        const struct adl_offer *offer = &program->offers[o];
        for (uint32_t n = 0; offer->group[1] == ADL_NONE && n < program->times[o]; n++) {
            const uint32_t job = take_next(errands, program, offer->group[0]);
            if (job == ADL_NONE)
                break;
            if (program->groups[offer->group[0]].standing.place == offer->pool)
                stay_alone(errands, program, state, job, o);
            else
                start(errands, state, errand_of(program, state, o, job, ADL_NONE));
        }
    }
}

/* Running jobs that got nothing: under a power limit there may not be enough for all. */
static void list_losers(struct adl_errands *errands, const struct adl_program *program, const struct adl_state *state)
{
    for (uint32_t g = 0; g < program->group_count; g++)
        for (uint32_t job; program->groups[g].standing.place != ADL_PLACE_QUEUE &&
                           (job = take_next(errands, program, g)) != ADL_NONE;)
            if (state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                errands->stops[errands->stop_count++] =
                    (struct adl_errand){.job = job,
                                        .beside = ADL_NONE,
                                        .type = ADL_TYPES_MAX,
                                        .else_w = cost_as_it_is(program, state, g, job)};
            else
                errands->unstoppable = true;
}

void adl_errands_list(struct adl_errands *errands, struct adl_program *program, const struct adl_state *state)
{
    errands->start_count = errands->stop_count = errands->stay_count = 0;
    errands->unstoppable = false;
    for (uint32_t g = 0; g < program->group_count; g++)
        errands->cursor[g] = program->groups[g].first;
    list_pairs(errands, program, state, true);
    list_pairs(errands, program, state, false);
    list_singles(errands, program, state);
    list_losers(errands, program, state);
    for (uint32_t i = 1; i < errands->start_count; i++) {
        const struct adl_errand it = errands->starts[i];
        uint32_t j = i;
        for (; j > 0 && state->jobs[errands->starts[j - 1].job].spec.gpus < state->jobs[it.job].spec.gpus; j--)
            errands->starts[j] = errands->starts[j - 1];
        errands->starts[j] = it;
    }
}
