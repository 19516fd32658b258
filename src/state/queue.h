/* queue: the waiting jobs, in the order of the policy's ranks, and in lanes of equal demand.
 *
 * Jobs of one lane have equal demands (class, GPUs, types, cores, memory, flags): if one of them does not fit,
 * none does, so a pass over the queue leaves a lane at its first job that does not fit instead of looking at every job.
 */
#ifndef ADLRO_STATE_QUEUE_H
#define ADLRO_STATE_QUEUE_H

#include "base/order.h"
#include "model/job.h"

#include <assert.h>
#include <stdbool.h>

/* What a pass over the queue reads of a lane is in its first line of the cache. */
struct adl_lane {
    struct adl_order jobs;
    uint32_t heap_position; /* in the heap of lanes that have jobs, or ADL_NONE */
    int64_t first_key;      /* of its first job, while it has one: a copy, because lanes are compared often */
    uint64_t first_sequence;
    int64_t first_weight;
    uint64_t hash;
    uint32_t next_vacant;      /* chain of unused lanes */
    bool known_possible;       /* the cluster can run such a job; set by the caller */
    struct adl_job_spec shape; /* of one of its jobs; only the demand counts */
    uint64_t padding[4];
};
static_assert(sizeof(struct adl_lane) % ADL_LINE == 0, "lanes are whole lines");

struct adl_queue {
    struct adl_order_node *nodes; /* [slot], shared with the running index; owned by the state */
    struct adl_lane *lanes;
    uint32_t lane_count;
    size_t lane_capacity;
    uint32_t *table; /* open hash of lanes, ADL_NONE = empty; a power of two */
    uint32_t table_size;
    uint32_t vacant; /* lanes that can be reused, or ADL_NONE */
    uint32_t *heap;  /* lanes with jobs, by their first job */
    size_t heap_capacity;
    uint32_t heap_count;
    uint32_t count; /* jobs */
    uint64_t next_sequence;
    struct adl_queue_walk *walk; /* scratch, grown with the lanes so that walking never allocates */
};

/* A lane of a pass over the queue, with its current job. */
struct adl_walk_lane {
    int64_t key; /* of the job: a copy, as is sequence, because lanes are compared often */
    uint64_t sequence;
    int64_t limit; /* only jobs whose weight is at most this */
    uint32_t job;
    uint32_t lane;
};

/* A pass over the queue in rank order. Lanes can be left for the rest of the pass, or narrowed to lighter jobs. */
struct adl_queue_walk {
    struct adl_walk_lane *heap; /* lanes still in the pass, by their jobs */
    size_t heap_capacity;
    uint32_t count;
};

int adl_queue_create(struct adl_queue *ret);   /* 0 or ADL_ENOMEM */
void adl_queue_clear(struct adl_queue *queue); /* frees; accepts a zeroed one */
void adl_queue_reset(struct adl_queue *queue); /* as after create, but memory and the table of nodes stay */
/* Becomes equal to another whose nodes were copied to these. A pass that is under way is not copied. 0 or ADL_ENOMEM.
 */
int adl_queue_copy(struct adl_queue *to, const struct adl_queue *from, struct adl_order_node *nodes);

/* Room for that many different demands since create or reset; 0 or ADL_ENOMEM. */
int adl_queue_reserve(struct adl_queue *queue, size_t lanes);

/* The lane of such a job, created if new: its index, or ADL_NONE if out of memory. Valid until the job leaves the
 * queue.
 */
uint32_t adl_queue_lane(struct adl_queue *queue, const struct adl_job_spec *spec);

void adl_queue_push(struct adl_queue *queue, uint32_t slot, uint32_t lane, int64_t rank, int64_t weight);
void adl_queue_remove(struct adl_queue *queue, uint32_t slot, uint32_t lane);

/* The first job of all, or ADL_NONE. */
static inline uint32_t adl_queue_head(const struct adl_queue *queue)
{
    return queue->heap_count > 0 ? queue->lanes[queue->heap[0]].jobs.first : ADL_NONE;
}

/* The job after the first, or ADL_NONE. */
uint32_t adl_queue_second(const struct adl_queue *queue);

/* The walk: begin, then read the current job (ADL_NONE = end) and go on in one of three ways. The queue must not change
 * meanwhile. It is const with respect to its jobs: the scratch is written. */
void adl_walk_begin(const struct adl_queue *queue);
static inline uint32_t adl_walk_job(const struct adl_queue *queue)
{
    const struct adl_queue_walk *walk = queue->walk;
    return walk->count > 0 ? walk->heap[0].job : ADL_NONE;
}
void adl_walk_next(const struct adl_queue *queue);                  /* to the next job in rank order */
void adl_walk_narrow(const struct adl_queue *queue, int64_t limit); /* the same, without this lane's jobs above limit */
void adl_walk_leave(const struct adl_queue *queue);                 /* the same, without this lane */
static inline void adl_walk_end(const struct adl_queue *queue)      /* past the last job */
{
    queue->walk->count = 0;
}

#endif
