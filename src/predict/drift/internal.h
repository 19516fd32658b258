/* internal: private header of drift.c (events and answers) and sample.c (what one measurement says). */
#ifndef ADLRO_PREDICT_DRIFT_INTERNAL_H
#define ADLRO_PREDICT_DRIFT_INTERNAL_H

#include "predict/drift/cells.h"
#include "predict/drift/drift.h"
#include "predict/drift/track.h"

enum adl_drift_channel { ADL_DRIFT_SPEEDS, ADL_DRIFT_CLOCKS, ADL_DRIFT_CHANNELS };

#define ADL_DRIFT_RECENT  8                         /* samples from which the size of a change is estimated */
#define ADL_DRIFT_WITNESS (ADL_DRIFT_THRESHOLD / 4) /* evidence of the clock that confirms what jobs say */

struct adl_drift_type_track {
    double change; /* of the logarithm, since the type was first seen */
    double variance;
    double step; /* of the last change */
    struct adl_drift_test fall, rise;
    uint32_t excursion[2];             /* number of times that fall and rise began at 0 */
    uint64_t witness[2];               /* the first in this one; 0 = none */
    bool witnesses[2];                 /* there was another */
    uint32_t jobs[2];                  /* that ran on the type when it began */
    double moved[2][ADL_DRIFT_RECENT]; /* the last samples that spoke for it */
    uint32_t moved_count[2];
    int64_t since_us;
    uint32_t changes;
    uint32_t speeds; /* of a clock: samples of speeds on the type since then */
};

/* What a GPU has added to the present excursions of its type's tests. */
struct adl_drift_added {
    uint32_t excursion[2];
    double evidence[2];
};

struct adl_drift_loss {
    uint32_t jobs;
    double lost_s;
};

struct adl_drift {
    const struct adl_cluster *cluster;
    uint32_t sources;
    struct adl_drift_cells cells[ADL_DRIFT_CHANNELS];
    struct adl_drift_track *tracks[ADL_DRIFT_CHANNELS]; /* [gpu] */
    struct adl_drift_added *added[ADL_DRIFT_CHANNELS];
    struct adl_drift_type_track types[ADL_DRIFT_CHANNELS][ADL_TYPES_MAX];
    double noise[ADL_DRIFT_SOURCES]; /* standard deviation of a sample */
    int64_t *shared_us;              /* [gpu] when a job last left it that was not alone */
    struct adl_drift_loss *losses;   /* [gpu] */
    uint32_t first_user;             /* that was seen, + 1 */
    bool users;                      /* there are several */
};

/* One measurement. */
struct adl_drift_sample {
    const struct adl_state *state;
    int64_t time_us;
    uint64_t key, job, witness;
    double value; /* logarithm */
    uint32_t slot, gpu, type;
    uint8_t channel, source;
};

/* Slow, or throttled now and then. */
static inline bool adl_drift_track_flagged(const struct adl_drift_track *track)
{
    return track->slow || (track->certain && adl_drift_track_throttled(track));
}

/* The clock is no job's to lie about. */
static inline bool adl_drift_clock_agrees(const struct adl_drift *drift, uint32_t gpu)
{
    const struct adl_drift_track *clock = &drift->tracks[ADL_DRIFT_CLOCKS][gpu];
    return clock->slow || clock->below.sum >= ADL_DRIFT_WITNESS;
}

/* The next GPU that a measurement is about, or ADL_NONE: a clock is of one GPU, a speed of all GPUs of the job. */
static inline uint32_t adl_drift_next_gpu(const struct adl_drift_sample *sample, uint32_t gpu)
{
    return sample->channel == ADL_DRIFT_CLOCKS ? ADL_NONE : adl_state_next_gpu(sample->state, sample->slot, gpu);
}

void adl_drift_take(struct adl_drift *drift, const struct adl_drift_sample *sample);

#endif
