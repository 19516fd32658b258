#include "sim/workload.h"

#include "base/hash.h"
#include "base/real.h"

#include <math.h>

void adl_workload_begin(struct adl_workload_stream *ret, const struct adl_scenario *scenario, uint64_t seed)
{
    *ret = (struct adl_workload_stream){.scenario = scenario};
    adl_rng_seed(&ret->arrivals, seed, "arrivals");
    adl_rng_seed(&ret->jobs, seed, "jobs");
    for (uint32_t i = 0; i < scenario->workload.mix_count; i++) {
        const struct adl_mix *mix = &scenario->workload.mix[i];
        ret->weight_sum += mix->weight;
        if (scenario->classes[mix->class_index].kind == scenario->workload.arrivals.surge_kind)
            ret->surge_weight_sum += mix->weight;
    }
}

/* A day: two parabolas, one up and one down, close to a sine and without one. phase in 0..1, result in -1..1. */
static double day_wave(double phase)
{
    const double x = phase < 0.5 ? phase * 2.0 : phase * 2.0 - 1.0;
    const double hump = 4.0 * x * (1.0 - x);
    return phase < 0.5 ? hump : -hump;
}

/* Diurnal arrivals by thinning a Poisson process at the highest rate. */
static double next_diurnal(struct adl_workload_stream *stream, const struct adl_arrivals *a)
{
    const double top = a->rate_per_h / 3600.0 * (1.0 + a->amplitude);
    double t = stream->now_s;
    for (;;) {
        t += adl_rng_exponential(&stream->arrivals) / top;
        const double phase = t / a->period_s - floor(t / a->period_s);
        const double rate = a->rate_per_h / 3600.0 * (1.0 + a->amplitude * day_wave(phase));
        if (adl_rng_uniform(&stream->arrivals) * top < rate)
            return t;
    }
}

/* Surge: a unit of exponential "area" is used up at the rate in force, piece by piece. */
static double next_surge(struct adl_workload_stream *stream, const struct adl_arrivals *a)
{
    double area = adl_rng_exponential(&stream->arrivals);
    double t = stream->now_s;
    const double base = a->rate_per_h / 3600.0;
    const double edges[2] = {a->surge_start_s, a->surge_start_s + a->surge_length_s};
    const double rates[2] = {base, base * a->surge_factor};
    for (int piece = 0; piece < 2; piece++) {
        if (t >= edges[piece])
            continue;
        if (area <= (edges[piece] - t) * rates[piece])
            return t + area / rates[piece];
        area -= (edges[piece] - t) * rates[piece];
        t = edges[piece];
    }
    return t + area / base;
}

static double next_burst(struct adl_workload_stream *stream, const struct adl_arrivals *a)
{
    if (stream->burst_left > 0) {
        stream->burst_left--;
        return stream->now_s;
    }
    /* Burst sizes are geometric with mean burst_jobs; bursts come so that jobs come at rate_per_h. */
    if (a->burst_jobs > 1.0)
        stream->burst_left =
            (uint64_t)(adl_rng_exponential(&stream->arrivals) / -adl_log(1.0 - 1.0 / a->burst_jobs));
    return stream->now_s + adl_rng_exponential(&stream->arrivals) * a->burst_jobs * 3600.0 / a->rate_per_h;
}

static double next_arrival(struct adl_workload_stream *stream)
{
    const struct adl_arrivals *a = &stream->scenario->workload.arrivals;
    switch (a->process) {
    case ADL_ARRIVAL_DIURNAL:
        return next_diurnal(stream, a);
    case ADL_ARRIVAL_SURGE:
        return next_surge(stream, a);
    case ADL_ARRIVAL_BURSTY:
        return next_burst(stream, a);
    case ADL_ARRIVAL_BACKLOG:
        return 0.0;
    default:
        return stream->now_s + adl_rng_exponential(&stream->arrivals) * 3600.0 / a->rate_per_h;
    }
}

static const struct adl_mix *draw_mix(struct adl_workload_stream *stream)
{
    const struct adl_scenario *scenario = stream->scenario;
    const struct adl_arrivals *a = &scenario->workload.arrivals;
    int only_kind = -1;
    if (a->process == ADL_ARRIVAL_SURGE && a->surge_kind >= 0 && stream->now_s >= a->surge_start_s &&
        stream->now_s < a->surge_start_s + a->surge_length_s &&
        adl_rng_uniform(&stream->jobs) * a->surge_factor > 1.0)
        only_kind = a->surge_kind;
    double at = adl_rng_uniform(&stream->jobs) * (only_kind < 0 ? stream->weight_sum : stream->surge_weight_sum);
    const struct adl_mix *last = NULL;
    for (uint32_t i = 0; i < scenario->workload.mix_count; i++) {
        const struct adl_mix *mix = &scenario->workload.mix[i];
        if (mix->weight <= 0 || (only_kind >= 0 && scenario->classes[mix->class_index].kind != only_kind))
            continue;
        last = mix;
        at -= mix->weight;
        if (at < 0)
            break;
    }
    return last;
}

static uint16_t draw_gang(struct adl_rng *rng, const struct adl_mix *mix)
{
    double sum = 0;
    for (uint32_t i = 0; i < mix->gang_count; i++)
        sum += mix->gang_weight[i];
    double at = adl_rng_uniform(rng) * sum;
    uint32_t last = 0;
    for (uint32_t i = 0; i < mix->gang_count; i++) {
        if (mix->gang_weight[i] <= 0)
            continue;
        last = i;
        at -= mix->gang_weight[i];
        if (at < 0)
            break;
    }
    return mix->gang_gpus[last];
}

static double draw_duration_s(struct adl_rng *rng, const struct adl_mix *mix)
{
    const double drawn = mix->median_s * adl_exp(mix->sigma * adl_rng_normal(rng));
    return drawn < mix->min_s ? mix->min_s : drawn > mix->max_s ? mix->max_s : drawn;
}

/* What the user asks for: more than the slowest acceptable type needs, by a factor, rounded up. */
static int64_t draw_limit_us(struct adl_rng *rng, const struct adl_limits *limits, int64_t slowest_us)
{
    const double exact = adl_rng_uniform(rng);
    double factor = limits->median_factor * adl_exp(limits->sigma * adl_rng_normal(rng));
    if (factor < 1.0 || exact < limits->exact_share)
        factor = 1.0;
    int64_t limit_us = (int64_t)ceil((double)slowest_us * factor);
    if (limits->round_s > 0 && exact >= limits->exact_share) {
        const double round_us = limits->round_s * 1e6;
        limit_us = (int64_t)(ceil((double)limit_us / round_us) * round_us);
    }
    return limit_us;
}

/* SLAs: both shares are drawn for every job, so that changing one does not move the rest of the stream. */
static void draw_sla(struct adl_rng *rng, const struct adl_mix *mix, double duration_s, double reference_steps_per_s,
                     struct adl_job_spec *spec)
{
    const double deadline = adl_rng_uniform(rng), throughput = adl_rng_uniform(rng);
    if (deadline < mix->deadline_share)
        spec->deadline_us = (int64_t)(duration_s * mix->deadline_slack * 1e6) + 1;
    if (throughput < mix->throughput_share)
        spec->min_steps_per_s = (float)(reference_steps_per_s * mix->throughput_floor);
}

bool adl_workload_next(struct adl_workload_stream *stream, struct adl_true_job *ret)
{
    const struct adl_scenario *scenario = stream->scenario;
    const struct adl_workload *workload = &scenario->workload;
    if (stream->issued == workload->jobs)
        return false;
    stream->now_s = next_arrival(stream);
    struct adl_rng *rng = &stream->jobs;
    const struct adl_mix *mix = draw_mix(stream);
    const struct adl_job_class *class = &scenario->classes[mix->class_index];
    /* One draw a statement: the order of draws is part of what a seed means. */
    const uint32_t user = adl_rng_below(rng, workload->users);
    const uint16_t gpus = draw_gang(rng, mix);
    const double urgency = adl_rng_uniform(rng);
    *ret = (struct adl_true_job){
        .submit_us = (int64_t)(stream->now_s * 1e6),
        .spec = {.id = ++stream->issued,
                 .user = user,
                 .class_index = mix->class_index,
                 .gpus = gpus,
                 .types = mix->types,
                 .kind = class->kind,
                 .flags = mix->flags,
                 .cpu_cores = mix->cpu_cores,
                 .memory_mib = mix->memory_mib,
                 .gpu_memory_mib = mix->gpu_memory_mib,
                 .priority = (float)(mix->priority_min + (mix->priority_max - mix->priority_min) * urgency)}};
    const double duration_s = draw_duration_s(rng, mix);
    const double reference = class->steps_per_s[mix->reference];
    ret->gang_speed = ret->spec.gpus;
    for (uint32_t n = 1; n < ret->spec.gpus; n *= 2)
        ret->gang_speed *= class->scaling;
    ret->steps = duration_s * reference * ret->gang_speed;
    int64_t slowest_us = 0;
    for (uint32_t left = mix->types; left; left &= left - 1) {
        const uint32_t t = (uint32_t)__builtin_ctz(left);
        ret->runtime_us[t] = (int64_t)ceil(duration_s * 1e6 * (reference / class->steps_per_s[t]));
        slowest_us = ret->runtime_us[t] > slowest_us ? ret->runtime_us[t] : slowest_us;
    }
    ret->spec.limit_us = draw_limit_us(rng, &workload->limits, slowest_us);
    draw_sla(rng, mix, duration_s, reference * ret->gang_speed, &ret->spec);
    return true;
}

int64_t adl_true_job_ideal_us(const struct adl_true_job *job, uint32_t type_count)
{
    int64_t ideal_us = INT64_MAX;
    for (uint32_t t = 0; t < type_count; t++)
        if (job->runtime_us[t] > 0 && job->runtime_us[t] < ideal_us)
            ideal_us = job->runtime_us[t];
    return ideal_us;
}

uint64_t adl_workload_hash(const struct adl_scenario *scenario, uint64_t seed, uint64_t count)
{
    struct adl_workload_stream stream;
    struct adl_true_job job;
    uint64_t hash = adl_hash_start();
    adl_workload_begin(&stream, scenario, seed);
    while ((count == 0 || stream.issued < count) && adl_workload_next(&stream, &job)) {
        const struct adl_job_spec *spec = &job.spec;
        const uint64_t words[] = {spec->id,
                                  (uint64_t)job.submit_us,
                                  (uint64_t)spec->limit_us,
                                  (uint64_t)spec->deadline_us,
                                  (uint64_t)spec->class_index << 32 | spec->gpus,
                                  (uint64_t)spec->types << 32 | (uint64_t)spec->kind << 8 | spec->flags,
                                  (uint64_t)(uint32_t)spec->cpu_cores << 32 | (uint32_t)spec->memory_mib,
                                  (uint64_t)(uint32_t)spec->gpu_memory_mib << 32 | spec->user};
        hash = adl_hash_bytes(hash, words, sizeof words);
        hash = adl_hash_bytes(hash, job.runtime_us, scenario->cluster.type_count * sizeof *job.runtime_us);
    }
    return hash;
}
