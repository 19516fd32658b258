#include "predict/speeds.h"

#include "predict/speed_regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of jobs that are told apart; the least recently seen is forgotten. */
#define PROFILES 128

/* Kinds of jobs of which found speeds are kept while nothing changes; a power of 2. */
#define KEPT 64

struct adl_speeds {
    uint64_t change; /* number of the last one; first, for adl_speeds_change */
    const struct adl_cluster *cluster;
    struct adl_estimates *estimates;
    struct adl_speed_regression *regression;
    uint32_t widest[ADL_TYPES_MAX]; /* most GPUs of the type in one node */
    bool measured;                  /* anything at all */
    struct found {
        struct adl_job_spec spec;
        uint64_t change; /* after which it was found */
        bool known;
        struct adl_job_speeds speeds;
    } kept[KEPT]; /* [hash of what speeds are found by] */
};

/* What limits each kind by specification: training and inference by matrix units and bandwidth, simulation by FP32 and
 * bandwidth, data processing by bandwidth. The geometric mean of the two keeps one inflated figure from deciding alone.
 */
double adl_speed_by_specification(const struct adl_gpu_type *type, int kind)
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

int adl_speeds_create(const struct adl_cluster *cluster, struct adl_speeds **ret, struct adl_error *err)
{
    struct adl_speeds *speeds = calloc(1, sizeof *speeds);
    if (!speeds)
        return adl_fail(err, ADL_ENOMEM, "out of memory for measured speeds");
    speeds->cluster = cluster;
    speeds->change = 1;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        uint32_t *widest = &speeds->widest[cluster->banks[b].type];
        *widest = cluster->banks[b].gpu_count > *widest ? cluster->banks[b].gpu_count : *widest;
    }
    int status = adl_estimates_create(cluster, PROFILES, NULL, 0, &speeds->estimates, err);
    if (status == 0 && adl_speed_regression_create(cluster->type_count, &speeds->regression))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for speeds of completed jobs");
    if (status)
        adl_speeds_destroy(speeds);
    else
        *ret = speeds;
    return status;
}

void adl_speeds_destroy(struct adl_speeds *speeds)
{
    if (!speeds)
        return;
    adl_estimates_destroy(speeds->estimates);
    adl_speed_regression_destroy(speeds->regression);
    free(speeds);
}

void adl_speeds_copy(struct adl_speeds *to, const struct adl_speeds *from)
{
    adl_estimates_copy(to->estimates, from->estimates);
    adl_speed_regression_copy(to->regression, from->regression);
    to->measured = from->measured;
    to->change++;
}

void adl_speeds_measure(struct adl_speeds *speeds, const struct adl_state *state, uint32_t slot, double steps_per_s)
{
    const struct adl_job *job = &state->jobs[slot];
    const uint32_t other = adl_state_neighbour(state, slot);
    speeds->change++;
    if (!(steps_per_s > 0) || state->gpus[job->first_gpu].cap_w > 0)
        return;
    const uint32_t beside =
        other == ADL_NONE ? ADL_NONE : adl_estimates_profile(speeds->estimates, &state->jobs[other].spec, false);
    const bool spans = job->spec.gpus > 1 && adl_state_spans_nodes(state, slot);
    const uint32_t profile = adl_estimates_profile(speeds->estimates, &job->spec, spans);
    adl_estimates_measure(speeds->estimates, profile, job->type, beside,
                          steps_per_s / adl_state_gang_speed(state, slot));
    speeds->measured = true;
}

/* Of one kind of placement; false if it was never measured. */
static bool find_alone(struct adl_speeds *speeds, const struct adl_job_spec *spec, bool spans, double *ret)
{
    const uint32_t profile = adl_estimates_profile(speeds->estimates, spec, spans);
    for (uint32_t t = 0; t < speeds->cluster->type_count; t++) {
        struct adl_estimate estimate = {0};
        if (spec->types >> t & 1)
            adl_estimates_find(speeds->estimates, profile, t, ADL_NONE, &estimate);
        ret[t] = estimate.steps_per_s;
        if (spec->types >> t & 1 && (estimate.source == ADL_ESTIMATE_INITIAL || !(ret[t] > 0)))
            return false;
    }
    return true;
}

/* Of jobs that ran at once and alone: else the time says little of the type. */
void adl_speeds_complete(struct adl_speeds *speeds, const struct adl_state *state, uint32_t slot, int64_t run_us,
                         const double *specified)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool spans = job->spec.gpus > 1 && adl_state_spans_nodes(state, slot);
    speeds->change++;
    if (job->attempts == 1 && adl_state_neighbour(state, slot) == ADL_NONE && !(state->gpus[job->first_gpu].cap_w > 0))
        adl_speed_regression_learn(speeds->regression, &job->spec, job->type, spans, run_us, specified);
}

/* By P1 and P2. */
static bool find_measured(struct adl_speeds *speeds, const struct adl_job_spec *spec, bool may_span,
                          struct adl_job_speeds *ret)
{
    const size_t size = speeds->cluster->type_count * sizeof *ret->here;
    if (!speeds->measured)
        return false;
    const bool alone = find_alone(speeds, spec, false, ret->here);
    ret->across_known = may_span && find_alone(speeds, spec, true, ret->across);
    if (!alone && !ret->across_known)
        return false;
    if (!alone)
        memcpy(ret->here, ret->across, size);
    if (!ret->across_known)
        memcpy(ret->across, ret->here, size);
    return true;
}

static bool may_span(const struct adl_job_spec *spec)
{
    return spec->gpus > 1 && spec->flags & ADL_JOB_SPAN;
}

/* Where no node has enough GPUs a gang is always across nodes. */
static bool spread(const struct adl_speeds *speeds, const struct adl_job_spec *spec, double *ret,
                   const double *ret_across)
{
    for (uint32_t t = 0; may_span(spec) && t < speeds->cluster->type_count; t++)
        ret[t] = speeds->widest[t] < spec->gpus ? ret_across[t] : ret[t];
    return true;
}

static bool find_reported(struct adl_speeds *speeds, const struct adl_job_spec *spec, struct adl_job_speeds *ret)
{
    return find_measured(speeds, spec, may_span(spec), ret) && spread(speeds, spec, ret->here, ret->across);
}

static bool find(struct adl_speeds *speeds, const struct adl_job_spec *spec, const double *specified,
                 struct adl_job_speeds *ret)
{
    if (find_reported(speeds, spec, ret))
        return true;
    ret->across_known = true;
    return specified && adl_speed_regression_find(speeds->regression, spec, specified, ret->here, ret->across) &&
           spread(speeds, spec, ret->here, ret->across);
}

/* All that speeds are found by. */
static bool is_alike(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    return a->class_index == b->class_index && a->name_id == b->name_id && a->gpus == b->gpus && a->types == b->types &&
           a->flags == b->flags && a->kind == b->kind;
}

static uint32_t hash(const struct adl_job_spec *spec)
{
    const uint32_t mixed = (uint32_t)spec->class_index * 0x9e3779b1u + (uint32_t)spec->name_id * 0x85ebca6bu +
                           spec->gpus * 0xc2b2ae35u + spec->flags * 0x27d4eb2fu;
    return mixed >> 16 & (KEPT - 1);
}

const struct adl_job_speeds *adl_speeds_find(struct adl_speeds *speeds, const struct adl_job_spec *spec,
                                             const double *specified)
{
    struct found *kept = &speeds->kept[hash(spec)];
    if (kept->change != speeds->change || !is_alike(&kept->spec, spec)) {
        kept->known = find(speeds, spec, specified, &kept->speeds);
        kept->spec = *spec;
        kept->change = speeds->change;
    }
    return kept->known ? &kept->speeds : NULL;
}

void adl_speeds_encode(const struct adl_speeds *speeds, struct adl_text *ret)
{
    adl_text_char(ret, (char)speeds->measured);
    adl_speed_regression_encode(speeds->regression, ret);
    adl_estimates_encode(speeds->estimates, ret);
}

int adl_speeds_decode(struct adl_speeds *speeds, struct adl_unpack *from, const struct adl_translation *to,
                      struct adl_estimate_account *ret, struct adl_error *err)
{
    const uint8_t measured = adl_unpack_u8(from);
    if (from->failed || measured > 1)
        return adl_fail(err, ADL_EINVAL, "the heading of its measured speeds is damaged");
    speeds->measured = measured;
    speeds->change++;
    if (!adl_speed_regression_decode(speeds->regression, from, to))
        return adl_fail(err, ADL_EINVAL, "its speeds of completed jobs are damaged");
    return adl_estimates_decode(speeds->estimates, from, to, ret, err);
}
