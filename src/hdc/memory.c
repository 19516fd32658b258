#include "hdc/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
#define DIGIT_BITS 7 /* a distance has two such digits */
#define DIGITS     (1u << DIGIT_BITS)
#define BLOCK      8  /* distances that are compared together */
#define BATCH      64 /* rows whose distances are computed together: they stay in the first-level cache */

struct adl_memory {
    const struct adl_hyper_ops *ops;
    unsigned char *bytes;            /* owned; holds the two tables below from the start of a cache line on */
    struct adl_hypervector *vectors; /* [capacity] */
    uint64_t *prefixes;              /* [capacity][ADL_HYPER_PREFIX] */
    uint32_t capacity;
    uint32_t count;
    uint32_t next;   /* where the next one goes: the oldest, once the ring is full */
    uint32_t *rough; /* [capacity] distances of prefixes */
    struct adl_neighbour candidates[ADL_NEIGHBOURS_MAX], sorted[ADL_NEIGHBOURS_MAX]; /* while it searches */
};

int adl_memory_create(uint32_t capacity, const struct adl_hyper_ops *ops, struct adl_memory **ret,
                      struct adl_error *err)
{
    if (capacity < 1)
        return adl_fail(err, ADL_EINVAL, "a memory holds at least 1 vector, not %u", capacity);
    struct adl_memory *memory = calloc(1, sizeof *memory);
    if (memory) {
        memory->bytes = malloc(CACHE_LINE + (size_t)capacity * 8 * (ADL_HYPER_WORDS + ADL_HYPER_PREFIX));
        memory->rough = malloc(capacity * sizeof *memory->rough);
    }
    if (!memory || !memory->bytes || !memory->rough) {
        adl_memory_destroy(memory);
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u hypervectors", capacity);
    }
    memory->ops = ops ? ops : adl_hyper_ops_best();
    memory->capacity = capacity;
    memory->vectors = (void *)(memory->bytes + CACHE_LINE - (uintptr_t)memory->bytes % CACHE_LINE);
    memory->prefixes = (void *)(memory->vectors + capacity);
    *ret = memory;
    return 0;
}

void adl_memory_destroy(struct adl_memory *memory)
{
    if (!memory)
        return;
    free(memory->bytes);
    free(memory->rough);
    free(memory);
}

void adl_memory_copy(struct adl_memory *to, const struct adl_memory *from)
{
    assert(to->capacity == from->capacity);
    memcpy(to->vectors, from->vectors, from->count * sizeof *to->vectors);
    memcpy(to->prefixes, from->prefixes, (size_t)from->count * ADL_HYPER_PREFIX * sizeof *to->prefixes);
    to->count = from->count;
    to->next = from->next;
}

uint32_t adl_memory_add(struct adl_memory *memory, const struct adl_hypervector *vector)
{
    const uint32_t place = memory->next;
    memory->vectors[place] = *vector;
    memcpy(memory->prefixes + (size_t)place * ADL_HYPER_PREFIX, vector->words, ADL_HYPER_PREFIX_BITS / 8);
    memory->next = place + 1 < memory->capacity ? place + 1 : 0;
    memory->count += memory->count < memory->capacity;
    return place;
}

uint32_t adl_memory_count(const struct adl_memory *memory)
{
    return memory->count;
}

uint32_t adl_memory_oldest(const struct adl_memory *memory)
{
    return memory->count < memory->capacity ? 0 : memory->next;
}

static uint32_t age_of(const struct adl_memory *memory, uint32_t place)
{
    return place < memory->next ? memory->next - place : memory->next + memory->capacity - place;
}

static bool is_nearer(const struct adl_memory *memory, struct adl_neighbour a, struct adl_neighbour b)
{
    return a.distance != b.distance ? a.distance < b.distance : age_of(memory, a.place) < age_of(memory, b.place);
}

/* A heap with the farthest on top. */
struct nearest {
    const struct adl_memory *memory;
    struct adl_neighbour *heap;
    uint32_t count, most;
};

static void sift_down(struct nearest *nearest, struct adl_neighbour item)
{
    struct adl_neighbour *heap = nearest->heap;
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < nearest->count; at = child) {
        if (child + 1 < nearest->count && is_nearer(nearest->memory, heap[child], heap[child + 1]))
            child++;
        if (!is_nearer(nearest->memory, item, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static void add_candidate(struct nearest *nearest, struct adl_neighbour item)
{
    struct adl_neighbour *heap = nearest->heap;
    if (nearest->count == nearest->most) {
        if (is_nearer(nearest->memory, item, heap[0]))
            sift_down(nearest, item);
        return;
    }
    uint32_t at = nearest->count++;
    for (; at > 0 && is_nearer(nearest->memory, heap[(at - 1) / 2], item); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

/* Heapsort, so that the order does not depend on the C library's sort. */
static void sort(struct nearest *nearest)
{
    const uint32_t all = nearest->count;
    while (nearest->count > 1) {
        const struct adl_neighbour farthest = nearest->heap[0], last = nearest->heap[--nearest->count];
        sift_down(nearest, last);
        nearest->heap[nearest->count] = farthest;
    }
    nearest->count = all;
}

uint32_t adl_memory_nearest(struct adl_memory *memory, const struct adl_hypervector *query, uint32_t most,
                            struct adl_neighbour *ret)
{
    assert(most > 0 && most <= ADL_NEIGHBOURS_MAX);
    struct nearest nearest = {memory, ret, 0, most};
    uint32_t found[BATCH];
    for (uint32_t first = 0; first < memory->count; first += BATCH) {
        const uint32_t left = memory->count - first, count = left < BATCH ? left : BATCH;
        memory->ops->distances(query->words, memory->vectors[first].words, count, found);
        for (uint32_t i = 0; i < count; i++)
            if (nearest.count < most || found[i] <= ret[0].distance)
                add_candidate(&nearest, (struct adl_neighbour){first + i, found[i]});
    }
    sort(&nearest);
    return nearest.count;
}

/* ---- in two stages ---- */

/* The distance of the last candidate, and how many are that far: all nearer ones are candidates, too. */
struct threshold {
    uint32_t distance, count;
};

static struct threshold find_threshold(struct adl_memory *memory, const struct adl_hypervector *query,
                                       uint32_t candidates)
{
    uint32_t counts[ADL_HYPER_PREFIX_BITS + 1] = {0}, others[ADL_HYPER_PREFIX_BITS + 1] = {0}, distance = 0, nearer = 0;
    memory->ops->distances_prefix(query->words, memory->prefixes, memory->count, memory->rough);
    for (uint32_t i = 0; i + 1 < memory->count; i += 2) { /* apart, because equal distances often follow each other */
        counts[memory->rough[i]]++;
        others[memory->rough[i + 1]]++;
    }
    if (memory->count % 2 == 1)
        counts[memory->rough[memory->count - 1]]++;
    while (distance < ADL_HYPER_PREFIX_BITS && nearer + counts[distance] + others[distance] < candidates) {
        nearer += counts[distance] + others[distance];
        distance++;
    }
    return (struct threshold){distance, candidates - nearer};
}

/* True if one of the next BLOCK distances is at most that. */
static bool has_near(const uint32_t *rough, uint32_t distance)
{
    uint32_t near = 0;
    for (int i = 0; i < BLOCK; i++)
        near |= rough[i] <= distance;
    return near != 0;
}

/* Appends the candidates among the places from..to - 1, newest first. */
static uint32_t collect(struct adl_memory *memory, struct threshold *threshold, uint32_t from, uint32_t to,
                        uint32_t count)
{
    for (uint32_t place = to; place > from;) {
        if (place - from >= BLOCK && !has_near(memory->rough + place - BLOCK, threshold->distance)) {
            place -= BLOCK;
            continue;
        }
        for (const uint32_t end = place - from > BLOCK ? place - BLOCK : from; place-- > end;) {
            const uint32_t rough = memory->rough[place];
            if (rough > threshold->distance || (rough == threshold->distance && threshold->count == 0))
                continue;
            threshold->count -= rough == threshold->distance;
            memory->candidates[count++].place = place;
            for (uint32_t w = 0; w < ADL_HYPER_WORDS; w += 8) /* its distance is wanted soon */
                __builtin_prefetch(&memory->vectors[place].words[w]);
        }
        place++;
    }
    return count;
}

/* By one digit of the distance; keeps the order of equal ones. */
static void sort_digit(const struct adl_neighbour *from, uint32_t count, uint32_t shift, struct adl_neighbour *to)
{
    uint32_t starts[DIGITS + 1] = {0};
    for (uint32_t i = 0; i < count; i++)
        starts[(from[i].distance >> shift) % DIGITS + 1]++;
    for (uint32_t d = 1; d < DIGITS; d++)
        starts[d] += starts[d - 1];
    for (uint32_t i = 0; i < count; i++)
        to[starts[(from[i].distance >> shift) % DIGITS]++] = from[i];
}

uint32_t adl_memory_nearest_quickly(struct adl_memory *memory, const struct adl_hypervector *query, uint32_t candidates,
                                    uint32_t most, struct adl_neighbour *ret)
{
    assert(most > 0 && candidates >= most && candidates <= ADL_NEIGHBOURS_MAX);
    struct threshold threshold = find_threshold(memory, query, candidates);
    uint32_t count = collect(memory, &threshold, 0, memory->next, 0);
    if (memory->next < memory->count)
        count = collect(memory, &threshold, memory->next, memory->count, count);
    for (uint32_t i = 0; i < count; i++)
        memory->candidates[i].distance =
            adl_hypervector_distance(memory->ops, query, &memory->vectors[memory->candidates[i].place]);
    sort_digit(memory->candidates, count, 0, memory->sorted);
    sort_digit(memory->sorted, count, DIGIT_BITS, memory->candidates);
    const uint32_t found = count < most ? count : most;
    memcpy(ret, memory->candidates, found * sizeof *ret);
    return found;
}
