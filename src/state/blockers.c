#include "state/blockers.h"

#include "state/fit.h"

#include <stdlib.h>

struct running {
    int64_t end_us;
    uint32_t slot;
};

static int compare_ends(const void *a, const void *b)
{
    const struct running *x = a, *y = b;
    if (x->end_us != y->end_us)
        return x->end_us < y->end_us ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* The jobs that hold GPUs, by their predicted end; one that is overdue or being stopped may end at any moment. */
static uint32_t list_running(const struct adl_state *state, struct running *ret)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < state->job_capacity && count < state->running_jobs; slot++) {
        const struct adl_job *job = &state->jobs[slot];
        if (job->phase < ADL_PHASE_RUNNING)
            continue;
        const bool soon = job->phase == ADL_PHASE_STOPPING || job->expected_us <= state->now_us;
        ret[count++] = (struct running){soon ? state->now_us + 1 : job->expected_us, slot};
    }
    qsort(ret, count, sizeof *ret, compare_ends);
    return count;
}

/* The first type on which the job fits, and its GPUs there. */
static bool find_room(const struct adl_state *state, uint32_t slot, uint32_t types, uint32_t *ret_type,
                      uint32_t *ret_gpus)
{
    for (uint32_t left = types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        if (state->pool.free_gpus[type] >= state->jobs[slot].spec.gpus &&
            adl_fit_find(state, slot, type, NULL, ret_gpus)) {
            *ret_type = type;
            return true;
        }
    }
    return false;
}

static void add(struct adl_blockers *blockers, uint32_t slot)
{
    if (blockers->count < ADL_BLOCKERS_MAX)
        blockers->jobs[blockers->count] = slot;
    blockers->count++;
}

static bool holds_one(const struct adl_state *state, uint32_t slot, const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (state->gpus[gpus[i]].job[0] == slot || state->gpus[gpus[i]].job[1] == slot)
            return true;
    return false;
}

/* Of the jobs that ended first, those that hold GPUs of the place; and the last, without whose end there was none. */
static void list_blockers(const struct adl_state *state, const struct running *ended, uint32_t ended_count,
                          const uint32_t *gpus, uint32_t count, struct adl_blockers *ret)
{
    ret->node = adl_gpu_node_of(state->cluster, gpus[0]);
    for (uint32_t i = 1; i < count; i++)
        if (adl_gpu_node_of(state->cluster, gpus[i]) != ret->node)
            ret->node = ADL_NONE;
    for (uint32_t i = ended_count; i-- > 0;)
        if (i + 1 == ended_count || holds_one(state, ended[i].slot, gpus, count))
            add(ret, ended[i].slot);
}

struct search {
    const struct adl_state *state;
    struct adl_state *copy; /* in which running jobs end one after the other */
    struct running *running;
    uint32_t *gpus;
    uint32_t slot;
};

/* Whether the demand finds room once this many jobs have ended. */
static bool answer(const struct search *search, const struct adl_blockers_demand *demand, uint32_t ended,
                   struct adl_blockers *ret)
{
    const struct adl_state *state = search->state;
    struct adl_job *job = &search->copy->jobs[search->slot];
    job->spec.gpus = (uint16_t)(demand->gpus ? demand->gpus : state->jobs[search->slot].spec.gpus);
    if (!find_room(search->copy, search->slot, demand->types ? demand->types : job->eligible, &ret->type, search->gpus))
        return false;
    ret->room_us = ended > 0 ? search->running[ended - 1].end_us : state->now_us;
    list_blockers(state, search->running, ended, search->gpus, job->spec.gpus, ret);
    return true;
}

static void play(const struct search *search, const struct adl_blockers_demand *demands, uint32_t count,
                 struct adl_blockers *ret, bool *ret_found)
{
    const uint32_t running_count = list_running(search->state, search->running);
    uint32_t open = count;
    for (uint32_t ended = 0;; ended++) {
        for (uint32_t i = 0; i < count; i++)
            if (!ret_found[i] && answer(search, &demands[i], ended, &ret[i])) {
                ret_found[i] = true;
                open--;
            }
        if (open == 0 || ended == running_count)
            return;
        adl_state_finish(search->copy, search->running[ended].slot);
    }
}

int adl_blockers_find(const struct adl_state *state, uint32_t slot, const struct adl_blockers_demand *demands,
                      uint32_t count, struct adl_blockers *ret, bool *ret_found)
{
    struct search search = {.state = state,
                            .running = calloc((size_t)state->running_jobs + 1, sizeof *search.running),
                            .gpus = calloc((size_t)state->cluster->gpu_count + 1, sizeof *search.gpus),
                            .slot = slot};
    int status = search.running && search.gpus ? adl_state_create(state->cluster, &search.copy) : ADL_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = (struct adl_blockers){.node = ADL_NONE};
        ret_found[i] = false;
    }
    if (status == 0)
        status = adl_state_copy(search.copy, state);
    if (status == 0)
        play(&search, demands, count, ret, ret_found);
    adl_state_destroy(search.copy);
    free(search.gpus);
    free(search.running);
    return status;
}
