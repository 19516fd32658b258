#include "sim/sampler.h"

#include <stdlib.h>

/* A board at its power limit settles near 83 C in a 30 C room; it covers half the way in one sample. */
static const double ROOM_C = 30.0, RISE_C = 53.0, LAG = 0.5;

void adl_sampler_reset(struct adl_sampler *sampler, const struct adl_scenario *scenario, uint64_t seed)
{
    adl_rng_seed(&sampler->rng, seed, "telemetry");
    adl_rng_seed(&sampler->progress, seed, "progress");
    for (uint32_t g = 0; sampler->temperature_c && g < scenario->cluster.gpu_count; g++)
        sampler->temperature_c[g] = ROOM_C;
}

int adl_sampler_create(struct adl_sampler *ret, const struct adl_scenario *scenario, uint64_t seed)
{
    struct adl_sampler sampler = {.model = &scenario->telemetry};
    if (scenario->telemetry.interval_s > 0) {
        sampler.temperature_c = malloc(scenario->cluster.gpu_count * sizeof *sampler.temperature_c);
        if (!sampler.temperature_c)
            return ADL_ENOMEM;
    }
    adl_sampler_reset(&sampler, scenario, seed);
    *ret = sampler;
    return 0;
}

void adl_sampler_clear(struct adl_sampler *sampler)
{
    free(sampler->temperature_c);
    *sampler = (struct adl_sampler){0};
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

void adl_sampler_read(struct adl_sampler *sampler, uint32_t gpu, const struct adl_gpu_type *type,
                      const struct adl_gpu_truth *truth, struct adl_telemetry *ret)
{
    double *temperature = &sampler->temperature_c[gpu];
    *temperature += LAG * (ROOM_C + RISE_C * truth->power_w / type->max_w - *temperature);
    const double values[ADL_READ_COARSE] = {
        [ADL_READ_UTILIZATION] = truth->activity, [ADL_READ_BANDWIDTH] = truth->bandwidth,
        [ADL_READ_TEMPERATURE] = *temperature,    [ADL_READ_POWER] = truth->power_w,
        [ADL_READ_CLOCK] = truth->speed,
    };
    const double tops[ADL_READ_COARSE] = {1.0, 1.0, 120.0, type->max_w * 1.1, 1.0};
    *ret = (struct adl_telemetry){.missing = (1u << ADL_READ_COUNT) - (1u << ADL_READ_COARSE)};
    for (int i = 0; i < ADL_READ_COARSE; i++) {
        /* Both draws are made for every reading, so that a gap does not change later draws. */
        const double noise = 1.0 + sampler->model->noise * adl_rng_normal(&sampler->rng);
        if (adl_rng_uniform(&sampler->rng) < sampler->model->dropout)
            ret->missing |= 1u << i;
        ret->value[i] = (float)clamp(values[i] * noise, 0.0, tops[i]);
    }
    if (!(ret->missing >> ADL_READ_CLOCK & 1)) { /* read with the clock: a draw of its own would change all others */
        ret->missing &= ~(1u << ADL_READ_THROTTLED);
        ret->value[ADL_READ_THROTTLED] = truth->throttled;
    }
}

double adl_sampler_progress(struct adl_sampler *sampler, double steps_per_s)
{
    const double noise = 1.0 + sampler->model->noise * adl_rng_normal(&sampler->progress);
    return noise > 0 ? steps_per_s * noise : 0.0;
}
