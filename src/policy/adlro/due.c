#include "policy/adlro/due.h"

#include "base/copy.h"
#include "base/error.h"
#include "base/index.h"

#include <stdlib.h>

/* Of the GPUs, that due jobs may fill, times the square of the weight. */
#define FILL 0.02

void adl_due_clear(struct adl_due *due)
{
    free(due->jobs);
    *due = (struct adl_due){0};
}

int adl_due_copy(struct adl_due *to, const struct adl_due *from)
{
    if (adl_grow((void **)&to->jobs, &to->capacity, from->capacity, sizeof *to->jobs))
        return ADL_ENOMEM;
    const struct adl_due own = *to;
    *to = *from;
    to->capacity = own.capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, from->capacity);
    return 0;
}

int adl_due_join(struct adl_due *due, const struct adl_state *state, uint32_t slot, double rest_us)
{
    if (adl_grow((void **)&due->jobs, &due->capacity, (size_t)slot + 1, sizeof *due->jobs))
        return ADL_ENOMEM;
    if (state->jobs[slot].attempts > 0) /* it was stopped, and keeps its turn */
        return 0;
    due->jobs[slot] = (struct adl_due_job){due->submitted_us, rest_us * state->jobs[slot].spec.gpus};
    due->submitted_us += due->jobs[slot].work_us;
    return 0;
}

/* Work of the jobs that have started, or left without a start. */
static double started_us(const struct adl_due *due, const struct adl_state *state)
{
    const struct adl_queue *queue = &state->queue;
    double waiting_us = 0;
    for (uint32_t i = 0; i < queue->heap_count; i++)
        for (uint32_t s = queue->lanes[queue->heap[i]].jobs.first; s != ADL_NONE; s = queue->nodes[s].next)
            waiting_us += state->jobs[s].attempts == 0 ? due->jobs[s].work_us : 0;
    return due->submitted_us - waiting_us;
}

/* Of one GPU; times the usual run time and that of a job: what may be started beyond its turn. */
static double slack_of(const struct adl_due *due, const struct adl_state *state)
{
    return (1 / due->tail - due->tail) * state->cluster->gpu_count;
}

static double slack_us(const struct adl_due *due, const struct adl_state *state, uint32_t slot)
{
    return slack_of(due, state) * (due->typical_us + due->jobs[slot].work_us / state->jobs[slot].spec.gpus);
}

void adl_due_list(struct adl_due *due, const struct adl_state *state, double typical_us)
{
    due->count = 0;
    due->typical_us = typical_us;
    if (due->tail <= 0 || typical_us <= 0)
        return;
    const double gpus = state->cluster->gpu_count, slack = slack_of(due, state);
    double filled = 0;
    due->started_us = started_us(due, state);
    adl_walk_begin(&state->queue);
    for (uint32_t slot; due->count < ADL_DUE_MAX && filled < FILL * due->tail * due->tail * gpus &&
                        (slot = adl_walk_job(&state->queue)) != ADL_NONE;
         adl_walk_next(&state->queue)) {
        const double late_us = due->started_us - due->jobs[slot].before_us;
        if (slack >= 0 && late_us <= slack * typical_us)
            break; /* and so is every job after it */
        if (late_us <= slack_us(due, state, slot))
            continue;
        due->late_us[due->count] = late_us;
        due->slack_us[due->count] = slack_us(due, state, slot);
        due->slots[due->count++] = slot;
        filled += state->jobs[slot].spec.gpus;
    }
}

bool adl_due_holds(const struct adl_due *due, const struct adl_state *state, uint32_t slot)
{
    return due->tail > 0 && due->typical_us > 0 &&
           due->started_us - due->jobs[slot].before_us > slack_us(due, state, slot);
}
