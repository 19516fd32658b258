#include "metrics/timeline.h"

#include <stdlib.h>

#define SEGMENTS_MAX 200000u
#define MOMENTS_MAX  8192u

int adl_timeline_create(uint32_t gpu_count, struct adl_timeline **ret)
{
    struct adl_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return ADL_ENOMEM;
    timeline->gpu_count = gpu_count;
    timeline->gpu_energy_j = calloc(gpu_count + 1, sizeof *timeline->gpu_energy_j);
    if (!timeline->gpu_energy_j) {
        adl_timeline_destroy(timeline);
        return ADL_ENOMEM;
    }
    *ret = timeline;
    return 0;
}

void adl_timeline_destroy(struct adl_timeline *timeline)
{
    if (!timeline)
        return;
    free(timeline->segments);
    free(timeline->moments);
    free(timeline->jct_s);
    free(timeline->gpu_energy_j);
    free(timeline);
}

static int add_segments(struct adl_timeline *timeline, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    if (job->phase == ADL_PHASE_PENDING)
        return 0;
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, event->job, gpu)) {
        if (timeline->segment_count == SEGMENTS_MAX) {
            timeline->cut_short = true;
            return 0;
        }
        if (adl_grow((void **)&timeline->segments, &timeline->segment_capacity, timeline->segment_count + 1,
                     sizeof *timeline->segments))
            return ADL_ENOMEM;
        timeline->segments[timeline->segment_count++] = (struct adl_segment){.start_us = job->start_us,
                                                                             .end_us = event->time_us,
                                                                             .job_id = job->spec.id,
                                                                             .gpu = gpu,
                                                                             .class_index = job->spec.class_index,
                                                                             .kind = job->spec.kind,
                                                                             .cut = event->kind == ADL_EVENT_EVICT};
    }
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_timeline *timeline = self;
    if (event->kind == ADL_EVENT_METER) {
        timeline->gpu_energy_j[event->gpu] = event->energy_j;
        return 0;
    }
    if (event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return 0;
    const int status = add_segments(timeline, event, state);
    if (status || event->kind == ADL_EVENT_EVICT)
        return status;
    if (adl_grow((void **)&timeline->jct_s, &timeline->jct_capacity, timeline->job_count + 1, sizeof *timeline->jct_s))
        return ADL_ENOMEM;
    timeline->jct_s[timeline->job_count++] =
        (float)((double)(event->time_us - state->jobs[event->job].submit_us) * 1e-6);
    timeline->end_us = event->time_us;
    return 0;
}

/* Drops every other moment and doubles their distance. */
static void thin(struct adl_timeline *timeline)
{
    size_t kept = 0;
    for (size_t i = 0; i < timeline->moment_count; i += 2)
        timeline->moments[kept++] = timeline->moments[i];
    timeline->moment_count = kept;
    const int64_t span_us = timeline->moments[kept - 1].time_us - timeline->moments[0].time_us;
    timeline->moment_gap_us = span_us / (int64_t)kept;
}

static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    struct adl_timeline *timeline = self;
    (void)hash;
    if (timeline->moment_count > 0 &&
        state->now_us - timeline->moments[timeline->moment_count - 1].time_us < timeline->moment_gap_us)
        return 0;
    if (timeline->moment_count == MOMENTS_MAX)
        thin(timeline);
    if (adl_grow((void **)&timeline->moments, &timeline->moment_capacity, timeline->moment_count + 1,
                 sizeof *timeline->moments))
        return ADL_ENOMEM;
    timeline->moments[timeline->moment_count++] = (struct adl_moment){.time_us = state->now_us,
                                                                      .busy_gpus = state->busy_gpus,
                                                                      .down_gpus = state->down_gpus,
                                                                      .pending_jobs = state->queue.count,
                                                                      .running_jobs = state->running_jobs};
    return 0;
}

struct adl_observer adl_timeline_observer(struct adl_timeline *timeline)
{
    return (struct adl_observer){.self = timeline, .event = on_event, .decided = on_decided};
}
