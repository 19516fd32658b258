/* track: the deviation of one GPU from its type in one channel (speeds or clocks), and what it means: slow, or
 * now and then slow. */
#ifndef ADLRO_PREDICT_DRIFT_TRACK_H
#define ADLRO_PREDICT_DRIFT_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* A sequential test of whether a series of log speeds has moved by a given shift: CUSUM of the log likelihood ratio.
 * The sum grows with evidence for the shift and never falls below 0. Without a shift the mean time between two alarms
 * is at least exp(threshold) samples, whatever the noise (Lorden 1971). */
#define ADL_DRIFT_SHIFT 0.08 /* of the logarithm, that is tested for */
#define ADL_DRIFT_THRESHOLD                                                                                            \
    14.5 /* alarms are at least 2 million samples apart: 2,700 GPU-days of one in two minutes                          \
          */

#define ADL_DRIFT_FRESH 4 /* samples of a job that it is not compared with yet */

struct adl_drift_test {
    double sum;
    double moved;     /* sum of the deviations since since_us that speak for it */
    double agree;     /* their number ... */
    double count;     /* ... of all since then */
    int64_t since_us; /* when the sum left 0 */
};

/* The evidence of one sample for the shift: x is its deviation in the direction that is tested. */
double adl_drift_evidence(double x, double variance);

/* Adds it; x is only remembered. True: alarm. */
bool adl_drift_test_add(struct adl_drift_test *test, double evidence, double x, int64_t time_us);

/* Who brings evidence: a job counts through its user. */
struct adl_drift_witness {
    uint64_t now;  /* who brought the last evidence; 0 = nobody */
    double weight; /* of it */
    uint64_t past; /* who brought enough of it before */
};

struct adl_drift_track {
    double deviation; /* of the logarithm, below or near 0; follows slowly, and at once after a jump */
    double variance;
    double average; /* speed relative to the type, over many samples */
    double low;     /* the deviation after the last fall */
    double before;  /* the deviation before the last jump, which began: */
    int64_t jumped_us;
    uint32_t samples, jumped_at;       /* so far; at the last jump */
    struct adl_drift_test below, back; /* slow at all; no longer slow */
    struct adl_drift_test fall, rise;  /* jumps of the deviation */
    struct adl_drift_test held;        /* slower still while its driver says that it throttles */
    struct adl_drift_witness witness;
    bool slow;
    bool certain;       /* two witnesses agree */
    bool told;          /* it throttles: its driver says when, and it is slower then */
    uint32_t told_at;   /* samples, the last time */
    uint32_t speeds;    /* of a clock: samples of speeds on this GPU since it is slow */
    int64_t since_us;   /* slow, or throttled */
    uint32_t turns;     /* jumps in turns down and up */
    int8_t direction;   /* of the last jump */
    uint32_t turned_at; /* samples at the last turn, and at the first */
    uint32_t first_turn;
    int64_t first_fall_us;
    double last; /* the last sample, and of which job */
    uint64_t last_job;
    uint64_t last_key;             /* of what was expected of it: beside another job, another */
    double fresh[ADL_DRIFT_FRESH]; /* that job's last samples, without changes of the type ... */
    uint32_t fresh_count;
    double own;           /* ... and the mean of those before, in which a change does not show yet */
    uint32_t own_samples; /* in it */
    uint32_t job_samples; /* of that job */
};

/* What one sample says about a GPU. */
struct adl_drift_reading {
    int64_t time_us;
    double relative; /* log(observed / expected of its type) */
    double moved;    /* against what its job showed before or, if that is new, against what the GPU showed */
    double sure;     /* the part of moved that is beyond doubt */
    double doubt;    /* standard deviation of what is expected */
    double noise;    /* variance of a sample */
    uint64_t witness;
    bool mean;    /* over a whole run: no jump is seen in it */
    bool trusted; /* needs no second witness */
};

void adl_drift_track_begin(struct adl_drift_track *track);

/* Evidence that it is slow, for or against. */
double adl_drift_track_evidence(const struct adl_drift_reading *reading);
void adl_drift_track_accuse(struct adl_drift_track *track, const struct adl_drift_reading *reading, double evidence);

/* Follows the sample; true if it jumped. */
bool adl_drift_track_follow(struct adl_drift_track *track, const struct adl_drift_reading *reading);

/* A sample while its driver says that it throttles: nothing else about the GPU follows from it. */
void adl_drift_track_hold(struct adl_drift_track *track, const struct adl_drift_reading *reading);

/* Its type has changed since then: what was taken for a change of the GPU was none. */
void adl_drift_track_forgive(struct adl_drift_track *track, int64_t since_us);

/* It fell and rose of late: it probably will again. */
bool adl_drift_track_turns(const struct adl_drift_track *track);

static inline bool adl_drift_track_throttled(const struct adl_drift_track *track)
{
    return track->told || track->turns >= 4;
}

#endif
