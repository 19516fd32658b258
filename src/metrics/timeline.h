/* timeline: what ran where and when, and how long each job took: the data of plots. */
#ifndef ADLRO_METRICS_TIMELINE_H
#define ADLRO_METRICS_TIMELINE_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One job on one GPU for one interval. */
struct adl_segment {
    int64_t start_us;
    int64_t end_us;
    uint64_t job_id;
    uint32_t gpu;
    uint16_t class_index;
    uint8_t kind; /* enum adl_job_kind */
    uint8_t cut;  /* 1 = ended by preemption or failure */
};

/* The cluster at one instant; a step function, each point holds until the next. */
struct adl_moment {
    int64_t time_us;
    uint32_t busy_gpus;
    uint32_t down_gpus;
    uint32_t pending_jobs;
    uint32_t running_jobs;
};

struct adl_timeline {
    struct adl_segment *segments; /* in order of their end */
    size_t segment_count;
    struct adl_moment *moments; /* in order of time; thinned to a bounded number */
    size_t moment_count;
    float *jct_s; /* one per finished job, in order of finishing */
    size_t job_count;
    double *gpu_energy_j; /* [gpu] */
    uint32_t gpu_count;
    int64_t end_us;
    bool cut_short; /* some segments were dropped */

    /* Private: capacities, and the least distance of moments. */
    size_t segment_capacity, moment_capacity, jct_capacity;
    int64_t moment_gap_us;
};

int adl_timeline_create(uint32_t gpu_count, struct adl_timeline **ret); /* 0 or ADL_ENOMEM */
void adl_timeline_destroy(struct adl_timeline *timeline);               /* accepts NULL */
struct adl_observer adl_timeline_observer(struct adl_timeline *timeline);

#endif
