#include "policy/adlro/ranking.h"

#include "base/copy.h"
#include "base/index.h"

#include <math.h>
#include <stdlib.h>

/* What waiting as long as its run time adds to the rank of a job, relative to a new one, and the most that waiting
 * adds: without a bound long jobs pass all others in an overload that lasts. */
#define AGE_SHARE 2
#define AGE_MOST  50

/* Jobs of an order that may wait no more, beside as many as wait. */
#define REJOINED_MAX 64

/* Jobs that are planned at least while GPUs are free, however long the queue. */
#define PLANNED_LEAST 16

int adl_ranking_reserve(struct adl_ranking *ranking, size_t jobs)
{
    return adl_grow((void **)&ranking->jobs, &ranking->capacity, jobs, sizeof *ranking->jobs) ||
                   adl_grow((void **)&ranking->popped, &ranking->popped_capacity, jobs, sizeof *ranking->popped)
               ? ADL_ENOMEM
               : 0;
}

void adl_ranking_clear(struct adl_ranking *ranking)
{
    free(ranking->jobs);
    free(ranking->popped);
    *ranking = (struct adl_ranking){0};
}

int adl_ranking_copy(struct adl_ranking *to, const struct adl_ranking *from)
{
    if (adl_ranking_reserve(to, from->capacity))
        return ADL_ENOMEM;
    const struct adl_ranking own = *to;
    *to = *from;
    to->capacity = own.capacity;
    to->popped_capacity = own.popped_capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, from->count);
    ADL_COPY_ARRAY(to, own, from, popped, from->popped_count);
    return 0;
}

double adl_ranking_size(const struct adl_job_spec *spec)
{
    return spec->flags & ADL_JOB_SPAN ? spec->gpus : sqrt(spec->gpus);
}

double adl_ranking_score(double wait_us, double rest_us, double size)
{
    const double waits = wait_us / (rest_us + 1), age = AGE_SHARE * waits * sqrt(waits);
    return (1 + age / (1 + age / AGE_MOST)) / ((rest_us + 1) * size);
}

static bool before(const struct adl_state *state, const struct adl_ranked *a, const struct adl_ranked *b)
{
    return a->score > b->score ||
           (a->score == b->score && adl_order_before(&state->queue.nodes[a->slot], &state->queue.nodes[b->slot]));
}

static void sift(const struct adl_ranking *ranking, const struct adl_state *state, uint32_t at)
{
    struct adl_ranked *heap = ranking->jobs;
    const struct adl_ranked item = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < ranking->count; at = child) {
        child += child + 1 < ranking->count && before(state, &heap[child + 1], &heap[child]);
        if (!before(state, &heap[child], &item))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

void adl_ranking_begin(struct adl_ranking *ranking, uint64_t sequence)
{
    ranking->count = ranking->popped_count = ranking->next = 0;
    ranking->sequence = sequence;
}

void adl_ranking_add(struct adl_ranking *ranking, double score, uint32_t slot)
{
    ranking->jobs[ranking->count++] = (struct adl_ranked){score, slot};
}

void adl_ranking_sort(struct adl_ranking *ranking, const struct adl_state *state)
{
    for (uint32_t i = ranking->count / 2; i-- > 0;)
        sift(ranking, state, i);
}

/* Takes the place of its parents that have less. */
static void rise(const struct adl_ranking *ranking, uint32_t at)
{
    struct adl_ranked *heap = ranking->jobs;
    const struct adl_ranked item = heap[at];
    for (; at > 0 && heap[(at - 1) / 2].score < item.score; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

static void forget(struct adl_ranking *ranking, const struct adl_state *state, uint32_t slot)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ranking->popped_count; i++)
        if (ranking->popped[i] != slot)
            ranking->popped[kept++] = ranking->popped[i];
    ranking->popped_count = kept;
    for (uint32_t i = 0; i < ranking->count; i++)
        if (ranking->jobs[i].slot == slot) {
            ranking->jobs[i] = ranking->jobs[--ranking->count];
            if (i < ranking->count) {
                sift(ranking, state, i);
                rise(ranking, i);
            }
            return;
        }
}

bool adl_ranking_rejoin(struct adl_ranking *ranking, const struct adl_state *state, double score, uint32_t slot)
{
    const uint32_t size = ranking->count + ranking->popped_count;
    if (size > 2 * state->queue.count + REJOINED_MAX || adl_ranking_reserve(ranking, (size_t)size + 1))
        return false;
    forget(ranking, state, slot);
    adl_ranking_add(ranking, score, slot);
    rise(ranking, ranking->count - 1);
    return true;
}

static uint32_t pop(struct adl_ranking *ranking, const struct adl_state *state)
{
    const uint32_t slot = ranking->jobs[0].slot;
    ranking->jobs[0] = ranking->jobs[--ranking->count];
    if (ranking->count > 0)
        sift(ranking, state, 0);
    return slot;
}

uint32_t adl_ranking_next(struct adl_ranking *ranking, const struct adl_state *state)
{
    if (ranking->next == ranking->popped_count) {
        if (ranking->count == 0)
            return ADL_NONE;
        ranking->popped[ranking->popped_count++] = pop(ranking, state);
    }
    return ranking->popped[ranking->next++];
}

void adl_ranking_again(struct adl_ranking *ranking)
{
    ranking->next = 0;
}

uint32_t adl_ranking_left(const struct adl_ranking *ranking)
{
    return ranking->count + ranking->popped_count - ranking->next;
}

uint32_t adl_ranking_part(const struct adl_ranking *ranking, uint32_t planned_max)
{
    const uint64_t part = (uint64_t)2 * planned_max * planned_max / (adl_ranking_left(ranking) + 1);
    return part > PLANNED_LEAST ? (uint32_t)(part < planned_max ? part : planned_max) : PLANNED_LEAST;
}
