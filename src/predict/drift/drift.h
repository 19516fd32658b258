/* drift: how much slower a GPU is than its type was when it was first seen (wear, a fault, throttling), and how much
 * the speed of a whole type changed (an update of its driver or libraries); from events alone.
 *
 * log(observed / expected) = change of the type + deviation of the GPU + noise. Expected is what such jobs showed
 * before (predict/drift/cells.h). A gang runs at the speed of its slowest GPU, so that a slow gang accuses one of its
 * GPUs. Clocks, where telemetry has them, are compared in the same way, apart from speeds. Changes are found by
 * sequential tests (predict/drift/track.h); until one alarms, every factor is exactly 1. What jobs report counts only
 * if two users (or, if the cluster has one, two jobs) or the clock agree. docs/drift.md has the method and what it
 * finds.
 *
 * Equal events give equal results. Memory is fixed; only create allocates. */
#ifndef ADLRO_PREDICT_DRIFT_DRIFT_H
#define ADLRO_PREDICT_DRIFT_DRIFT_H

#include "model/cluster.h"
#include "model/event.h"
#include "state/state.h"

enum adl_drift_source {
    ADL_DRIFT_PROGRESS, /* speeds of running jobs */
    ADL_DRIFT_FINISH,   /* mean speeds of jobs that ended after one run, alone */
    ADL_DRIFT_CLOCK,    /* clocks of busy GPUs */
    ADL_DRIFT_SOURCES,
};

#define ADL_DRIFT_ALL ((1u << ADL_DRIFT_SOURCES) - 1)

enum adl_drift_kind {
    ADL_DRIFT_NONE,
    ADL_DRIFT_SLOW,      /* below its type; wear or a fault */
    ADL_DRIFT_THROTTLED, /* now and then below its type */
};

/* About one GPU. */
struct adl_gpu_drift {
    uint8_t kind;     /* enum adl_drift_kind */
    bool confirmed;   /* by two users (or two jobs of the only one), or by the clock; else its factor stays 1 */
    bool impartial;   /* confirmed by two users or by the clock, not by two jobs of the only user */
    double factor;    /* speed relative to its type, on average */
    double error;     /* half its 90 % interval */
    double low;       /* THROTTLED: while it is */
    int64_t since_us; /* when it began */
    uint32_t jobs;    /* that ran on it since */
    double lost_s;    /* GPU seconds that they and their other GPUs lost */
    bool separable;   /* false: the only GPU of its type, so that the type may have changed */
};

/* About a type: its last change. */
struct adl_type_drift {
    double factor; /* speed relative to when it was first seen; 1 = unchanged */
    double step;   /* of the last change alone */
    double error;
    int64_t since_us;
    uint32_t changes;
};

struct adl_drift;

/* sources: mask of enum adl_drift_source that count. 0 or ADL_ENOMEM. */
int adl_drift_create(const struct adl_cluster *cluster, uint32_t sources, struct adl_drift **ret);
void adl_drift_destroy(struct adl_drift *drift);                         /* accepts NULL */
void adl_drift_copy(struct adl_drift *to, const struct adl_drift *from); /* of the same cluster */

void adl_drift_reset(struct adl_drift *drift);                             /* as after create */
void adl_drift_exchange(struct adl_drift *drift, struct adl_drift *other); /* what two of one cluster have seen */

/* Learns from an event, before the event changes the state. True if a factor may have changed. */
bool adl_drift_observe(struct adl_drift *drift, const struct adl_event *event, const struct adl_state *state);

/* Of a GPU relative to its type, and of a type relative to before. */
double adl_drift_gpu_factor(const struct adl_drift *drift, uint32_t gpu);
double adl_drift_type_factor(const struct adl_drift *drift, uint32_t type);

void adl_drift_gpu(const struct adl_drift *drift, uint32_t gpu, struct adl_gpu_drift *ret);
void adl_drift_type(const struct adl_drift *drift, uint32_t type, struct adl_type_drift *ret);

#endif
