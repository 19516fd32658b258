#include "predict/runtime.h"

#include "predict/similar.h"
#include "predict/speeds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Completed jobs that run times are predicted from: a larger history did not improve campus512. */
#define REMEMBERED_JOBS 4096

struct adl_runtime {
    const struct adl_cluster *cluster;
    double spec_speed[ADL_KIND_COUNT][ADL_TYPES_MAX]; /* relative speed by specification */
    struct adl_similar *similar;                      /* NULL unless run times are learned */
    struct adl_speeds *speeds;                        /* the same; NULL, too, if there is one type */
};

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

int adl_runtime_create(const struct adl_cluster *cluster, bool learned, struct adl_runtime **ret)
{
    struct adl_runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime)
        return ADL_ENOMEM;
    runtime->cluster = cluster;
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        for (uint32_t t = 0; t < cluster->type_count; t++)
            runtime->spec_speed[kind][t] = speed_by_specification(&cluster->types[t], kind);
    if ((learned && adl_similar_create(REMEMBERED_JOBS, &runtime->similar, NULL)) ||
        (learned && cluster->type_count > 1 && adl_speeds_create(cluster, &runtime->speeds, NULL))) {
        adl_runtime_destroy(runtime);
        return ADL_ENOMEM;
    }
    *ret = runtime;
    return 0;
}

void adl_runtime_destroy(struct adl_runtime *runtime)
{
    if (!runtime)
        return;
    adl_similar_destroy(runtime->similar);
    adl_speeds_destroy(runtime->speeds);
    free(runtime);
}

void adl_runtime_inherit(struct adl_runtime *runtime, struct adl_runtime *from)
{
    const struct adl_runtime mine = *runtime;
    if (!runtime->similar || !from->similar)
        return;
    runtime->similar = from->similar;
    runtime->speeds = from->speeds;
    from->similar = mine.similar;
    from->speeds = mine.speeds;
}

/* Speeds [type] of one kind of job, measured or by specification. */
struct job_speeds {
    double here[ADL_TYPES_MAX], across[ADL_TYPES_MAX]; /* on the best placement; across nodes */
    double best, slowest;                              /* of those here, on types that it accepts */
};

static void find_speeds(const struct adl_runtime *runtime, const struct adl_job_spec *spec, struct job_speeds *ret)
{
    const uint32_t types = runtime->cluster->type_count;
    if (!runtime->speeds || !adl_speeds_find(runtime->speeds, spec, ret->here, ret->across)) {
        memcpy(ret->here, runtime->spec_speed[spec->kind], sizeof ret->here);
        memcpy(ret->across, runtime->spec_speed[spec->kind], sizeof ret->across);
    }
    ret->best = 0;
    ret->slowest = HUGE_VAL;
    for (uint32_t t = 0; t < types; t++) {
        if (!(spec->types >> t & 1))
            continue;
        ret->best = ret->here[t] > ret->best ? ret->here[t] : ret->best;
        ret->slowest = ret->here[t] < ret->slowest ? ret->here[t] : ret->slowest;
    }
}

/* The truth, where the world tells it. */
static void copy_revealed(const struct adl_runtime *runtime, const struct adl_event *event, struct adl_runtimes *ret)
{
    const int64_t *best_us = event->submit.runtime_us;
    const int64_t *across_us = event->submit.spanning_us ? event->submit.spanning_us : best_us;
    for (uint32_t t = 0; t < runtime->cluster->type_count; t++) {
        const bool acceptable = event->submit.spec->types >> t & 1;
        ret->best_us[t] = acceptable ? best_us[t] : 0;
        ret->across_us[t] = acceptable ? across_us[t] : 0;
    }
}

/* Until the first job has completed there are only the users' limits. */
void adl_runtime_predict(struct adl_runtime *runtime, const struct adl_event *event, struct adl_runtimes *ret)
{
    const struct adl_job_spec *spec = event->submit.spec;
    struct job_speeds speeds;
    struct adl_traits traits;
    struct adl_similar_prediction prediction;
    if (event->submit.runtime_us) {
        copy_revealed(runtime, event, ret);
        return;
    }
    find_speeds(runtime, spec, &speeds);
    double work = (double)spec->limit_us * speeds.slowest; /* time * speed, the same on each type */
    if (runtime->similar) {
        adl_traits_read(&traits, spec, event->time_us);
        if (adl_similar_predict(runtime->similar, &traits, &prediction))
            work = (double)prediction.run_us * speeds.best;
    }
    for (uint32_t t = 0; t < runtime->cluster->type_count; t++) {
        const bool acceptable = spec->types >> t & 1;
        ret->best_us[t] = acceptable ? (int64_t)(work / speeds.here[t]) + 1 : 0;
        ret->across_us[t] = acceptable ? (int64_t)(work / speeds.across[t]) + 1 : 0;
    }
}

/* A job that ended: what it would have taken on the best type that it accepts. */
static void learn_run(struct adl_runtime *runtime, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    struct job_speeds speeds;
    struct adl_traits traits;
    if (job->phase < ADL_PHASE_RUNNING || event->outcome.run_us <= 0)
        return;
    find_speeds(runtime, &job->spec, &speeds);
    const bool spans = job->spec.gpus > 1 && adl_state_spans_nodes(state, event->job);
    const double speed = spans ? speeds.across[job->type] : speeds.here[job->type];
    adl_traits_read(&traits, &job->spec, job->submit_us);
    adl_similar_learn(runtime->similar, &traits, (int64_t)((double)event->outcome.run_us * speed / speeds.best) + 1,
                      job->spec.class_index);
}

void adl_runtime_learn(struct adl_runtime *runtime, const struct adl_event *event, const struct adl_state *state)
{
    if (event->kind == ADL_EVENT_FINISH && runtime->similar)
        learn_run(runtime, event, state);
    else if (event->kind == ADL_EVENT_PROGRESS && runtime->speeds)
        adl_speeds_measure(runtime->speeds, state, event->job, event->steps_per_s);
}
