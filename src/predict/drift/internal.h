/* internal: private header of drift.c (events and answers) and sample.c (what one measurement says). */
#ifndef ADLRO_PREDICT_DRIFT_INTERNAL_H
#define ADLRO_PREDICT_DRIFT_INTERNAL_H

#include "predict/drift/cells.h"
#include "predict/drift/drift.h"
#include "predict/drift/track.h"

enum adl_drift_channel { ADL_DRIFT_SPEEDS, ADL_DRIFT_CLOCKS, ADL_DRIFT_CHANNELS };

#define ADL_DRIFT_RECENT   16                        /* samples in which a change of a type is looked for */
#define ADL_DRIFT_MEASURED 16                        /* samples from which an announced change is measured */
#define ADL_DRIFT_LIKELY   3                         /* of them that may show it */
#define ADL_DRIFT_WITNESS  (ADL_DRIFT_THRESHOLD / 4) /* evidence of the clock that confirms what jobs say */

/* What a GPU's driver says about its clock. */
enum adl_drift_reason { ADL_DRIFT_SILENT, ADL_DRIFT_FREE, ADL_DRIFT_HELD };

/* What a sample of a type showed against what its job showed before. */
struct adl_drift_moved {
    double x, variance;
    double sure; /* the part of x that is beyond doubt, if the job was not seen before; else x */
    uint64_t witness;
    int64_t time_us;
    uint32_t gpu;
};

struct adl_drift_type_track {
    double change; /* of the logarithm, since the type was first seen */
    double variance;
    double step;                                     /* of the last change */
    double before;                                   /* change with the version before */
    bool announced;                                  /* by a new version, and being measured ... */
    bool clear;                                      /* ... and it is beyond the noise */
    struct adl_drift_moved recent[ADL_DRIFT_RECENT]; /* the last samples, since the last change */
    uint32_t count;                                  /* of them so far */
    int64_t since_us;
    uint32_t changes;
    uint32_t speeds; /* of a clock: samples of speeds on the type since then */
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
    struct adl_drift_type_track types[ADL_DRIFT_CHANNELS][ADL_TYPES_MAX];
    double noise[ADL_DRIFT_SOURCES]; /* standard deviation of a sample */
    int64_t *shared_us;              /* [gpu] when a job last left it that was not alone */
    struct adl_drift_loss *losses;   /* [gpu] */
    double *hot;                     /* [gpu] share of its low clocks that its driver explained by throttling */
    uint8_t *reasons;                /* [gpu] enum adl_drift_reason */
    double usual[ADL_TYPES_MAX];     /* share of readings that say it throttles: boards at their power limit do so */
    uint64_t *versions;              /* [gpu] hash of its driver's and libraries' version; 0 = not known */
    bool *behind;                    /* [gpu] others of its type have a newer version */
    uint64_t newest[ADL_TYPES_MAX];  /* version of the type that was seen first on a GPU last; 0 = none changed */
    uint32_t first_user;             /* that was seen, + 1 */
    bool users;                      /* there are several */
    bool sampled;                    /* something was measured: until then every GPU is as it was */
};

/* One measurement. */
struct adl_drift_sample {
    const struct adl_state *state;
    int64_t time_us;
    uint64_t key, job, witness;
    uint64_t all; /* of a clock: key of all kinds of jobs on the type, until enough of this kind were seen */
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

/* Its driver says that it throttles; of a speed: that of one of its GPUs. */
bool adl_drift_is_held(const struct adl_drift *drift, const struct adl_drift_sample *sample);

bool adl_drift_throttles(const struct adl_drift *drift, uint32_t gpu); /* it does now, or may */
bool adl_drift_any_throttles(const struct adl_drift *drift, const struct adl_drift_sample *sample);

/* The change of a GPU's type, for the version that the GPU has. */
static inline double adl_drift_level(const struct adl_drift *drift, int channel, uint32_t gpu)
{
    const struct adl_drift_type_track *type = &drift->types[channel][adl_gpu_type_of(drift->cluster, gpu)];
    return drift->behind[gpu] ? type->before : type->change;
}

/* True if the type has changed with this sample, which then says nothing about its GPU. */
bool adl_drift_type_test(struct adl_drift *drift, const struct adl_drift_sample *sample,
                         const struct adl_drift_moved *moved, bool well);
/* After a change that was found samples say how large it was. */
void adl_drift_type_follow(struct adl_drift_type_track *type, double innovation, double noise);
/* After a change that was announced they do, too, and whether there was one. */
void adl_drift_type_measure(struct adl_drift *drift, const struct adl_drift_sample *sample,
                            const struct adl_drift_moved *moved);

/* Whether a type's change is believed; of one that is still being measured, that is a bet. */
static inline bool adl_drift_type_known(const struct adl_drift_type_track *type)
{
    return !type->announced || type->clear ||
           (type->count >= ADL_DRIFT_LIKELY && type->step * type->step > type->variance);
}

/* A GPU has a version. True if that is a change. */
bool adl_drift_take_version(struct adl_drift *drift, uint32_t gpu, uint64_t version, int64_t time_us);

#endif
