#include "state/queue.h"

#include "base/copy.h"
#include "base/error.h"
#include "base/hash.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* Three independent products, then one mix. */
static uint64_t shape_hash(const struct adl_job_spec *s)
{
    const uint64_t what = (uint64_t)s->class_index << 32 | (uint64_t)s->gpus << 16 | (uint64_t)s->kind << 8 | s->flags;
    const uint64_t where = (uint64_t)s->types << 32 | (uint32_t)s->cpu_cores;
    const uint64_t memory = (uint64_t)(uint32_t)s->memory_mib << 32 | (uint32_t)s->gpu_memory_mib;
    return adl_hash_u64(what * 0x9e3779b97f4a7c15u, where * 0xc2b2ae3d27d4eb4fu + memory * 0x165667b19e3779f9u);
}

static bool shape_equal(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    return a->class_index == b->class_index && a->gpus == b->gpus && a->kind == b->kind && a->flags == b->flags &&
           a->types == b->types && a->cpu_cores == b->cpu_cores && a->memory_mib == b->memory_mib &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->share_slowdown == b->share_slowdown;
}

int adl_queue_create(struct adl_queue *ret)
{
    struct adl_queue queue = {.table_size = 64, .vacant = ADL_NONE};
    queue.table = malloc(queue.table_size * sizeof *queue.table);
    queue.walk = calloc(1, sizeof *queue.walk);
    if (!queue.table || !queue.walk) {
        adl_queue_clear(&queue);
        return ADL_ENOMEM;
    }
    for (uint32_t i = 0; i < queue.table_size; i++)
        queue.table[i] = ADL_NONE;
    *ret = queue;
    return 0;
}

void adl_queue_clear(struct adl_queue *queue)
{
    if (queue->walk)
        free(queue->walk->heap);
    free(queue->walk);
    free(queue->lanes);
    free(queue->table);
    free(queue->heap);
    *queue = (struct adl_queue){0};
}

static void table_put(uint32_t *table, uint32_t size, uint64_t hash, uint32_t lane)
{
    uint32_t at = (uint32_t)hash & (size - 1);
    while (table[at] != ADL_NONE)
        at = (at + 1) & (size - 1);
    table[at] = lane;
}

/* Makes room in the table: a larger one, or one of the same size without empty lanes. So the number of lanes is bounded
 * by the different demands that wait at one time. */
static int table_renew(struct adl_queue *queue, uint32_t size)
{
    const bool drop_empty = size == queue->table_size;
    uint32_t *table = malloc(size * sizeof *table);
    if (!table)
        return ADL_ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        table[i] = ADL_NONE;
    queue->vacant = ADL_NONE;
    for (uint32_t l = 0; l < queue->lane_count; l++) {
        struct adl_lane *lane = &queue->lanes[l];
        if (!drop_empty || lane->jobs.count > 0) {
            table_put(table, size, lane->hash, l);
        } else {
            lane->next_vacant = queue->vacant;
            queue->vacant = l;
        }
    }
    free(queue->table);
    queue->table = table;
    queue->table_size = size;
    return 0;
}

static int grow_lanes(struct adl_queue *queue, size_t count)
{
    struct adl_queue_walk *walk = queue->walk;
    if (adl_grow((void **)&queue->lanes, &queue->lane_capacity, count, sizeof *queue->lanes) ||
        adl_grow((void **)&queue->heap, &queue->heap_capacity, count, sizeof *queue->heap) ||
        adl_grow((void **)&walk->heap, &walk->heap_capacity, count, sizeof *walk->heap))
        return ADL_ENOMEM;
    return 0;
}

static int copy_table(struct adl_queue *to, const struct adl_queue *from)
{
    if (to->table_size < from->table_size) {
        uint32_t *table = realloc(to->table, from->table_size * sizeof *table);
        if (!table)
            return ADL_ENOMEM;
        to->table = table;
        to->table_size = from->table_size;
    }
    return 0;
}

int adl_queue_copy(struct adl_queue *to, const struct adl_queue *from, struct adl_order_node *nodes)
{
    if (grow_lanes(to, from->lane_capacity) || copy_table(to, from))
        return ADL_ENOMEM;
    const struct adl_queue own = *to;
    *to = *from;
    to->nodes = nodes;
    to->walk = own.walk;
    to->lane_capacity = own.lane_capacity;
    to->heap_capacity = own.heap_capacity;
    ADL_COPY_ARRAY(to, own, from, lanes, from->lane_count);
    ADL_COPY_ARRAY(to, own, from, table, from->table_size);
    ADL_COPY_ARRAY(to, own, from, heap, from->heap_count);
    return 0;
}

static uint32_t take_lane(struct adl_queue *queue)
{
    const size_t count = queue->lane_count + 1;
    const bool many_empty = queue->heap_count < queue->lane_count / 2;
    if (queue->vacant == ADL_NONE && count * 2 > queue->table_size &&
        table_renew(queue, many_empty ? queue->table_size : queue->table_size * 2))
        return ADL_NONE;
    if (queue->vacant != ADL_NONE) {
        const uint32_t lane = queue->vacant;
        queue->vacant = queue->lanes[lane].next_vacant;
        return lane;
    }
    if (grow_lanes(queue, count))
        return ADL_NONE;
    return queue->lane_count++;
}

void adl_queue_reset(struct adl_queue *queue)
{
    for (uint32_t i = 0; i < queue->table_size; i++)
        queue->table[i] = ADL_NONE;
    queue->vacant = ADL_NONE;
    queue->lane_count = queue->heap_count = queue->count = 0;
    queue->next_sequence = 0;
}

int adl_queue_reserve(struct adl_queue *queue, size_t lanes)
{
    while (queue->table_size < 2 * lanes + 2)
        if (queue->table_size > UINT32_MAX / 4 || table_renew(queue, queue->table_size * 2))
            return ADL_ENOMEM;
    return grow_lanes(queue, lanes);
}

static uint32_t lane_add(struct adl_queue *queue, const struct adl_job_spec *spec, uint64_t hash)
{
    const uint32_t index = take_lane(queue);
    if (index == ADL_NONE)
        return ADL_NONE;
    struct adl_lane *lane = &queue->lanes[index];
    lane->shape = *spec;
    lane->hash = hash;
    lane->heap_position = ADL_NONE;
    lane->known_possible = false;
    adl_order_init(&lane->jobs);
    table_put(queue->table, queue->table_size, hash, index);
    return index;
}

uint32_t adl_queue_lane(struct adl_queue *queue, const struct adl_job_spec *spec)
{
    const uint64_t hash = shape_hash(spec);
    for (uint32_t at = (uint32_t)hash & (queue->table_size - 1); queue->table[at] != ADL_NONE;
         at = (at + 1) & (queue->table_size - 1)) {
        const struct adl_lane *lane = &queue->lanes[queue->table[at]];
        if (lane->hash == hash && shape_equal(&lane->shape, spec))
            return queue->table[at];
    }
    return lane_add(queue, spec, hash);
}

static bool lane_before(const struct adl_queue *queue, uint32_t a, uint32_t b)
{
    const struct adl_lane *x = &queue->lanes[a], *y = &queue->lanes[b];
    return x->first_key < y->first_key || (x->first_key == y->first_key && x->first_sequence < y->first_sequence);
}

/* Updates the copy of the first job's key, after that changed. */
static void lane_update_first(struct adl_queue *queue, struct adl_lane *lane)
{
    const struct adl_order_node *first = &queue->nodes[lane->jobs.first];
    lane->first_key = first->key;
    lane->first_sequence = first->sequence;
    lane->first_weight = first->weight;
}

static void lane_place(struct adl_queue *queue, uint32_t position, uint32_t lane)
{
    queue->heap[position] = lane;
    queue->lanes[lane].heap_position = position;
}

/* Restores the heap around a position whose lane has a new first job. */
static void lane_sift(struct adl_queue *queue, uint32_t position)
{
    const uint32_t lane = queue->heap[position];
    while (position > 0 && lane_before(queue, lane, queue->heap[(position - 1) / 2])) {
        lane_place(queue, position, queue->heap[(position - 1) / 2]);
        position = (position - 1) / 2;
    }
    for (uint32_t child; (child = 2 * position + 1) < queue->heap_count; position = child) {
        if (child + 1 < queue->heap_count && lane_before(queue, queue->heap[child + 1], queue->heap[child]))
            child++;
        if (!lane_before(queue, queue->heap[child], lane))
            break;
        lane_place(queue, position, queue->heap[child]);
    }
    lane_place(queue, position, lane);
}

void adl_queue_push(struct adl_queue *queue, uint32_t slot, uint32_t lane_index, int64_t rank, int64_t weight)
{
    struct adl_lane *lane = &queue->lanes[lane_index];
    adl_order_insert(queue->nodes, &lane->jobs, slot, rank, queue->next_sequence++, weight);
    queue->count++;
    if (lane->jobs.first != slot)
        return;
    lane_update_first(queue, lane);
    if (lane->heap_position == ADL_NONE)
        lane_place(queue, queue->heap_count++, lane_index);
    lane_sift(queue, lane->heap_position);
}

void adl_queue_remove(struct adl_queue *queue, uint32_t slot, uint32_t lane_index)
{
    struct adl_lane *lane = &queue->lanes[lane_index];
    const bool was_first = lane->jobs.first == slot;
    adl_order_remove(queue->nodes, &lane->jobs, slot);
    queue->count--;
    if (!was_first)
        return;
    const uint32_t position = lane->heap_position;
    if (lane->jobs.count == 0) {
        lane->heap_position = ADL_NONE;
        const uint32_t last = queue->heap[--queue->heap_count];
        if (last == lane_index)
            return;
        lane_place(queue, position, last);
    } else {
        lane_update_first(queue, lane);
    }
    lane_sift(queue, position);
}

uint32_t adl_queue_second(const struct adl_queue *queue)
{
    const uint32_t head = adl_queue_head(queue);
    uint32_t second = head == ADL_NONE ? ADL_NONE : queue->nodes[head].next;
    for (uint32_t i = 1; i < queue->heap_count && i <= 2; i++) {
        const uint32_t first = queue->lanes[queue->heap[i]].jobs.first;
        if (second == ADL_NONE || adl_order_before(&queue->nodes[first], &queue->nodes[second]))
            second = first;
    }
    return second;
}

static bool walk_before(const struct adl_walk_lane *a, const struct adl_walk_lane *b)
{
    return a->key < b->key || (a->key == b->key && a->sequence < b->sequence);
}

/* The lane below a place of the heap whose job comes first; not before count: there is none. */
static uint32_t walk_child(const struct adl_queue_walk *walk, uint32_t place)
{
    const uint32_t child = 2 * place + 1;
    return child + (child + 1 < walk->count && walk_before(&walk->heap[child + 1], &walk->heap[child]));
}

/* Restores the heap after its first lane has changed, which often stays the first. */
static void walk_sink(struct adl_queue_walk *walk)
{
    struct adl_walk_lane *heap = walk->heap;
    uint32_t hole = 0, child = walk_child(walk, 0);
    if (child >= walk->count || !walk_before(&heap[child], &heap[0]))
        return;
    const struct adl_walk_lane lane = heap[0];
    do {
        heap[hole] = heap[child];
        hole = child;
        child = walk_child(walk, hole);
    } while (child < walk->count && walk_before(&heap[child], &lane));
    heap[hole] = lane;
}

void adl_walk_begin(const struct adl_queue *queue)
{
    struct adl_queue_walk *walk = queue->walk;
    walk->count = queue->heap_count;
    /* The lanes' own heap is in order of their first jobs: a copy of it is a heap of these. */
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        const struct adl_lane *lane = &queue->lanes[queue->heap[i]];
        walk->heap[i] = (struct adl_walk_lane){.key = lane->first_key,
                                               .sequence = lane->first_sequence,
                                               .limit = INT64_MAX,
                                               .job = lane->jobs.first,
                                               .lane = queue->heap[i]};
    }
}

void adl_walk_leave(const struct adl_queue *queue)
{
    struct adl_queue_walk *walk = queue->walk;
    assert(walk->count > 0);
    walk->heap[0] = walk->heap[--walk->count];
    walk_sink(walk);
}

void adl_walk_next(const struct adl_queue *queue)
{
    struct adl_walk_lane *first = &queue->walk->heap[0];
    const uint32_t next =
        first->limit == INT64_MAX
            ? queue->nodes[first->job].next
            : adl_order_next_light(queue->nodes, &queue->lanes[first->lane].jobs, first->job, first->limit);
    if (next == ADL_NONE) {
        adl_walk_leave(queue);
        return;
    }
    first->job = next;
    first->key = queue->nodes[next].key;
    first->sequence = queue->nodes[next].sequence;
    walk_sink(queue->walk);
}

void adl_walk_narrow(const struct adl_queue *queue, int64_t limit)
{
    struct adl_walk_lane *first = &queue->walk->heap[0];
    first->limit = limit < first->limit ? limit : first->limit;
    adl_walk_next(queue);
}
