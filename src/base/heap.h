/* heap: the event queue, a 4-ary minimum heap of 16-byte items in one array.
 *
 * Items are ordered by (time_us, tag). The tag has the kind of the event, in order of precedence in the high bits, and
 * its object, so equal times have one order on every machine. There is no removal: a caller that reschedules leaves the
 * old item behind and recognizes it as stale when it comes up, or drops all such items and orders the rest again. */
#ifndef ADLRO_BASE_HEAP_H
#define ADLRO_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_heap_item {
    int64_t time_us;
    uint64_t tag;
};

struct adl_heap {
    struct adl_heap_item *items; /* the four children of an item share a line of the cache */
    size_t count;
    size_t capacity;
    void *block; /* that items lie in */
};

void adl_heap_clear(struct adl_heap *heap);                          /* frees; a zeroed heap is an empty one */
int adl_heap_push(struct adl_heap *heap, struct adl_heap_item item); /* 0 or ADL_ENOMEM */
int adl_heap_reserve(struct adl_heap *heap, size_t count);           /* room for that many; 0 or ADL_ENOMEM */
struct adl_heap_item adl_heap_pop(struct adl_heap *heap);            /* the heap must not be empty */
void adl_heap_order(struct adl_heap *heap);                          /* a heap again, after its items were changed */

static inline bool adl_heap_before(struct adl_heap_item a, struct adl_heap_item b)
{
    return a.time_us < b.time_us || (a.time_us == b.time_us && a.tag < b.tag);
}

static inline const struct adl_heap_item *adl_heap_top(const struct adl_heap *heap)
{
    return heap->count > 0 ? &heap->items[0] : NULL;
}

#endif
