/* true_drift: how fast a GPU is compared with a new one of its type: wear, throttling, software updates. */
#ifndef ADLRO_SIM_TRUE_DRIFT_H
#define ADLRO_SIM_TRUE_DRIFT_H

#include "base/rng.h"
#include "model/scenario.h"

struct adl_true_drift_gpu {
    double busy_s;    /* wear grows with it */
    double wear_rate; /* of this GPU: GPUs age at different rates */
    double given;     /* speed that the world began with, 1 unless it adopts GPUs */
    bool throttles;
    bool hot;
};

struct adl_true_drift {
    const struct adl_drift_model *model;
    struct adl_true_drift_gpu *gpus;     /* [gpu] NULL when nothing drifts */
    double update_factor[ADL_TYPES_MAX]; /* product of the updates so far */
};

int adl_true_drift_create(struct adl_true_drift *ret, const struct adl_scenario *scenario, uint64_t seed);
void adl_true_drift_reset(struct adl_true_drift *drift, const struct adl_scenario *scenario, uint64_t seed);
void adl_true_drift_clear(struct adl_true_drift *drift); /* frees; accepts a zeroed one */

/* Speed relative to new, > 0. */
double adl_true_drift_speed(const struct adl_true_drift *drift, uint32_t gpu, uint32_t type);

/* The highest speed any GPU of the type can reach in this scenario, as lower bounds must assume. */
double adl_true_drift_ceiling(const struct adl_scenario *scenario, uint32_t type);

#endif
