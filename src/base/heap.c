#include "base/heap.h"

#include "base/error.h"
#include "base/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_HEAP 8192 /* items; the lower levels of such a heap are far from the processor */

void adl_heap_clear(struct adl_heap *heap)
{
    free(heap->block);
    *heap = (struct adl_heap){0};
}

static int set_capacity(struct adl_heap *heap, size_t capacity)
{
    char *block = malloc(capacity * sizeof *heap->items + (size_t)2 * ADL_LINE);
    if (!block)
        return ADL_ENOMEM;
    /* Item 1 is the first of a line. */
    char *line = block + ADL_LINE - (uintptr_t)block % ADL_LINE;
    struct adl_heap_item *items = (struct adl_heap_item *)(void *)(line + ADL_LINE - sizeof *items);
    if (heap->count > 0)
        memcpy(items, heap->items, heap->count * sizeof *items);
    free(heap->block);
    heap->block = block;
    heap->items = items;
    heap->capacity = capacity;
    return 0;
}

int adl_heap_reserve(struct adl_heap *heap, size_t count)
{
    return count > heap->capacity ? set_capacity(heap, count) : 0;
}

int adl_heap_push(struct adl_heap *heap, struct adl_heap_item item)
{
    if (heap->count == heap->capacity && set_capacity(heap, heap->capacity ? heap->capacity * 2 : 64))
        return ADL_ENOMEM;
    size_t hole = heap->count++;
    while (hole > 0) {
        const size_t parent = (hole - 1) / 4;
        if (!adl_heap_before(item, heap->items[parent]))
            break;
        heap->items[hole] = heap->items[parent];
        hole = parent;
    }
    heap->items[hole] = item;
    return 0;
}

struct adl_heap_item adl_heap_pop(struct adl_heap *heap)
{
    assert(heap->count > 0);
    struct adl_heap_item *items = heap->items;
    const struct adl_heap_item top = items[0];
    const size_t count = --heap->count;
    const struct adl_heap_item last = items[count];
    size_t hole = 0;
    for (size_t child; (child = 4 * hole + 1) < count;) {
        const size_t end = child + 4 < count ? child + 4 : count;
        for (size_t line = 0; count > LARGE_HEAP && line < 4; line++)
            __builtin_prefetch(&items[4 * (child + line) + 1], 1);
        size_t least = child;
        for (size_t other = child + 1; other < end; other++)
            if (adl_heap_before(items[other], items[least]))
                least = other;
        if (!adl_heap_before(items[least], last))
            break;
        items[hole] = items[least];
        hole = least;
    }
    items[hole] = last;
    return top;
}

void adl_heap_order(struct adl_heap *heap)
{
    const size_t count = heap->count;
    heap->count = 0;
    while (heap->count < count)
        adl_heap_push(heap, heap->items[heap->count]);
}
