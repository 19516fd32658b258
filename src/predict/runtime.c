#include "predict/runtime.h"

#include <math.h>

/* What limits each kind by specification: training and inference by matrix units and bandwidth, simulation by FP32 and
 * bandwidth, data processing by bandwidth. The geometric mean of the two keeps one inflated figure from deciding alone.
 */
static double speed_by_specification(const struct adl_gpu_type *type, int kind)
{
    const double matrix = type->fp16_tflops > 0 ? sqrt(type->fp32_tflops * type->fp16_tflops) : type->fp32_tflops;
    switch (kind) {
    case ADL_KIND_TRAINING:
    case ADL_KIND_INFERENCE:
        return sqrt(matrix * type->bandwidth_gbs);
    case ADL_KIND_SIMULATION:
        return sqrt(type->fp32_tflops * type->bandwidth_gbs);
    default:
        return type->bandwidth_gbs;
    }
}

void adl_runtime_init(struct adl_runtime *ret, const struct adl_cluster *cluster)
{
    *ret = (struct adl_runtime){.cluster = cluster};
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        for (uint32_t t = 0; t < cluster->type_count; t++)
            ret->spec_speed[kind][t] = speed_by_specification(&cluster->types[t], kind);
}

/* work: time * speed by specification, the same on each type. */
static void divide(const struct adl_runtime *runtime, const struct adl_job_spec *spec, double work, int64_t *ret)
{
    const double *spec_speed = runtime->spec_speed[spec->kind];
    for (uint32_t t = 0; t < runtime->cluster->type_count; t++)
        ret[t] = spec->types >> t & 1 ? (int64_t)(work / spec_speed[t]) + 1 : 0;
}

void adl_runtime_estimate(const struct adl_runtime *runtime, const struct adl_job_spec *spec, const int64_t *true_us,
                          int64_t *ret)
{
    const double *spec_speed = runtime->spec_speed[spec->kind];
    const uint32_t types = runtime->cluster->type_count;
    if (true_us) {
        for (uint32_t t = 0; t < types; t++)
            ret[t] = spec->types >> t & 1 ? true_us[t] : 0;
        return;
    }
    double slowest = HUGE_VAL;
    for (uint32_t t = 0; t < types; t++) {
        const double speed = spec->types >> t & 1 ? spec_speed[t] : HUGE_VAL;
        slowest = speed < slowest ? speed : slowest;
    }
    divide(runtime, spec, (double)spec->limit_us * slowest, ret);
}

static double best_spec_speed(const struct adl_runtime *runtime, const struct adl_job_spec *spec)
{
    double best = 0;
    for (uint32_t t = 0; t < runtime->cluster->type_count; t++)
        if (spec->types >> t & 1 && runtime->spec_speed[spec->kind][t] > best)
            best = runtime->spec_speed[spec->kind][t];
    return best;
}

void adl_runtime_from_best(const struct adl_runtime *runtime, const struct adl_job_spec *spec, int64_t best_us,
                           int64_t *ret)
{
    divide(runtime, spec, (double)best_us * best_spec_speed(runtime, spec), ret);
}

int64_t adl_runtime_on_best(const struct adl_runtime *runtime, const struct adl_job_spec *spec, uint32_t type,
                            int64_t run_us)
{
    return (int64_t)((double)run_us * runtime->spec_speed[spec->kind][type] / best_spec_speed(runtime, spec)) + 1;
}
