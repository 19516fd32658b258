/* sampler: simulated telemetry of a GPU: true values with noise, a thermal lag, and gaps; and of a running job: its
 * speed, with noise. */
#ifndef ADLRO_SIM_SAMPLER_H
#define ADLRO_SIM_SAMPLER_H

#include "base/rng.h"
#include "model/event.h"
#include "model/scenario.h"

struct adl_gpu_truth {
    double activity;  /* 0..1 */
    double bandwidth; /* 0..1 */
    double power_w;
    double speed; /* relative to new */
    bool throttled;
};

struct adl_sampler {
    const struct adl_telemetry_model *model;
    struct adl_rng rng;
    struct adl_rng progress; /* separate, so that reports of jobs do not change those of GPUs */
    double *temperature_c;   /* [gpu] follows the power with a lag */
};

int adl_sampler_create(struct adl_sampler *ret, const struct adl_scenario *scenario, uint64_t seed);
void adl_sampler_reset(struct adl_sampler *sampler, const struct adl_scenario *scenario, uint64_t seed);
void adl_sampler_clear(struct adl_sampler *sampler); /* frees; accepts a zeroed one */
void adl_sampler_read(struct adl_sampler *sampler, uint32_t gpu, const struct adl_gpu_type *type,
                      const struct adl_gpu_truth *truth, struct adl_telemetry *ret);

/* A job's speed as reported. */
double adl_sampler_progress(struct adl_sampler *sampler, double steps_per_s);

#endif
