/* window: what happened to a cluster from one time, the anchor, on: who submitted what, how long it ran, which GPUs
 * were down. Futures of the state at the anchor can be played with it under any policy (twin/fork.h).
 *
 * An observer of the engine. A window has two halves of equal length. Jobs that were there at the anchor or that came
 * in the first half count; the second half follows them. The first half ends when enough jobs have come and it is long
 * enough for them: ADL_WINDOW_JOBS submissions, and ADL_WINDOW_RUNS usual run times. */
#ifndef ADLRO_TWIN_WINDOW_H
#define ADLRO_TWIN_WINDOW_H

#include "twin/recent.h"

#define ADL_WINDOW_JOBS 64
#define ADL_WINDOW_RUNS 8

struct adl_window_job {
    struct adl_recent_job past; /* work_us is known or drawn once the window is closed */
    int64_t end_us;             /* INT64_MAX = it has not ended in the window */
    bool counts;
    bool completed;
};

struct adl_window_fault {
    uint32_t gpu;
    int64_t from_us, to_us;
};

struct adl_window;

int adl_window_create(const struct adl_cluster *cluster, struct adl_window **ret); /* 0 or ADL_ENOMEM */
void adl_window_destroy(struct adl_window *window);                                /* accepts NULL */

/* Of the engine whose state begins it; nothing is recorded before begin and after close. */
struct adl_observer adl_window_observer(struct adl_window *window);

/* The anchor is now; what was recorded before is forgotten. 0 or ADL_ENOMEM. */
int adl_window_begin(struct adl_window *window, const struct adl_state *state);
bool adl_window_full(const struct adl_window *window, int64_t now_us); /* both halves are over */
/* It ends now. What is left of jobs that have not ended is drawn from the belief. */
void adl_window_close(struct adl_window *window, const struct adl_state *state, uint64_t seed);

/* The usual run time: a mean over ended jobs, most weight on the last; 0 = not known. Kept from window to window. */
double adl_window_typical_us(const struct adl_window *window);
void adl_window_set_typical_us(struct adl_window *window, double typical_us);

/* Of a closed window. */
int64_t adl_window_begin_us(const struct adl_window *window);
int64_t adl_window_end_us(const struct adl_window *window);
uint32_t adl_window_count(const struct adl_window *window); /* jobs: those of the anchor, then in order of submission */
const struct adl_window_job *adl_window_job(const struct adl_window *window, uint32_t index);
uint32_t adl_window_first(const struct adl_window *window);                  /* the first that came after the anchor */
uint32_t adl_window_at_slot(const struct adl_window *window, uint32_t slot); /* at the anchor; ADL_NONE = none */
uint32_t adl_window_faults(const struct adl_window *window, const struct adl_window_fault **ret);

#endif
