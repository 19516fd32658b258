#include "sim/true_drift.h"

#include <stdlib.h>

void adl_true_drift_reset(struct adl_true_drift *drift, const struct adl_scenario *scenario, uint64_t seed)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "drift");
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        drift->update_factor[t] = 1.0;
    for (uint32_t g = 0; drift->gpus && g < scenario->cluster.gpu_count; g++) {
        const bool throttles = adl_rng_uniform(&rng) < drift->model->throttle_share;
        const double wear_rate = drift->model->wear_per_kh * 2.0 * adl_rng_uniform(&rng);
        drift->gpus[g] = (struct adl_true_drift_gpu){.given = 1, .throttles = throttles, .wear_rate = wear_rate};
    }
}

int adl_true_drift_create(struct adl_true_drift *ret, const struct adl_scenario *scenario, uint64_t seed)
{
    struct adl_true_drift drift = {.model = &scenario->drift};
    if (drift.model->wear_per_kh > 0 || drift.model->throttle_share > 0) {
        drift.gpus = calloc(scenario->cluster.gpu_count, sizeof *drift.gpus);
        if (!drift.gpus)
            return ADL_ENOMEM;
    }
    adl_true_drift_reset(&drift, scenario, seed);
    *ret = drift;
    return 0;
}

void adl_true_drift_clear(struct adl_true_drift *drift)
{
    free(drift->gpus);
    *drift = (struct adl_true_drift){0};
}

double adl_true_drift_speed(const struct adl_true_drift *drift, uint32_t gpu, uint32_t type)
{
    double speed = drift->update_factor[type];
    if (!drift->gpus)
        return speed;
    const struct adl_true_drift_gpu *it = &drift->gpus[gpu];
    const double worn = 1.0 - it->wear_rate * it->busy_s / 3.6e6;
    speed *= it->given * (worn > drift->model->wear_floor ? worn : drift->model->wear_floor);
    return it->hot ? speed * drift->model->throttle_factor : speed;
}

double adl_true_drift_ceiling(const struct adl_scenario *scenario, uint32_t type)
{
    double factor = 1.0, highest = 1.0;
    for (uint32_t i = 0; i < scenario->drift.update_count; i++)
        if (scenario->drift.updates[i].type == type) {
            factor *= scenario->drift.updates[i].factor;
            highest = factor > highest ? factor : highest;
        }
    return highest;
}
