/* schedule: the events to come of a simulated world. */
#include "sim/sim.h"

#define CROWDED_LEAST 64 /* events; in fewer, stale ones cost nothing */

/* Stopped jobs leave their ends behind, far in the future: they are dropped before they are half of the heap. */
static void drop_stale(struct adl_world_sim *world)
{
    struct adl_heap *heap = &world->heap;
    size_t kept = 0;
    for (size_t i = 0; i < heap->count; i++)
        if (!adl_sim_stale(world, &heap->items[i]))
            heap->items[kept++] = heap->items[i];
    heap->count = kept;
    adl_heap_order(heap);
    world->crowded = 2 * kept + CROWDED_LEAST;
}

int adl_sim_schedule(struct adl_world_sim *world, int64_t time_us, enum sim_event what, uint32_t ref,
                     uint32_t generation)
{
    if (world->heap.count >= world->crowded)
        drop_stale(world);
    const struct adl_heap_item item = {time_us,
                                       (uint64_t)what << 60 | (uint64_t)(generation & GENERATION_MASK) << 32 | ref};
    return adl_heap_push(&world->heap, item);
}
