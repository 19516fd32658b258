#include "sim/workload.h"

#include "base/hash.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>

/* One line of the mix with one number of GPUs. Drawn by Walker's alias method: one uniform number picks a row, and its
 * fraction decides between the row and the row's alias. */
struct adl_workload_choice {
    double keep; /* probability of this row rather than its alias */
    uint32_t alias;
    uint16_t mix;
    struct adl_job_spec spec; /* what all its jobs ask for; types: those that it runs on with that many GPUs */
    double speed;             /* steps/s of the gang on the reference type */
    double stretch;           /* how much longer it takes if it spans nodes, at least 1; users' limits allow for it */
};

static double stretch_of(const struct adl_cluster *cluster, const struct adl_job_class *class,
                         const struct adl_mix *mix, uint16_t gpus)
{
    double link_gbs = cluster->network_gbs;
    for (uint32_t n = 0; n < cluster->node_count; n++)
        link_gbs = cluster->nodes[n].link_gbs > link_gbs ? cluster->nodes[n].link_gbs : link_gbs;
    if (gpus == 1 || !(mix->flags & ADL_JOB_SPAN))
        return 1.0;
    return (1.0 - class->sync_share) + class->sync_share * link_gbs / cluster->network_gbs;
}

static struct adl_job_spec spec_of(const struct adl_scenario *scenario, const struct adl_mix *mix, uint16_t gpus)
{
    const struct adl_job_class *class = &scenario->classes[mix->class_index];
    return (struct adl_job_spec){
        .name_id = adl_job_name_id(class->name),
        .class_index = mix->class_index,
        .gpus = gpus,
        .kind = class->kind,
        .flags = mix->flags,
        .stop_loss = mix->stop_loss,
        .checkpoint_us = mix->checkpoint_us,
        .cpu_cores = mix->cpu_cores,
        .memory_mib = mix->memory_mib,
        .gpu_memory_mib = mix->gpu_memory_mib,
        .step_gflop = (float)class->step_gflop,
        .step_gb = (float)class->step_gb,
    };
}

/* How long a gang takes on each type, relative to the reference type. */
static void set_speeds(struct adl_workload_stream *stream, uint32_t at)
{
    const struct adl_scenario *scenario = stream->scenario;
    struct adl_workload_choice *choice = &stream->choices[at];
    const struct adl_mix *mix = &scenario->workload.mix[choice->mix];
    const uint32_t types = scenario->cluster.type_count;
    const double *one = scenario->classes[mix->class_index].steps_per_s;
    const double gang = adl_scenario_gang_speed(scenario, mix->class_index, mix->reference, choice->spec.gpus);
    choice->speed = one[mix->reference] * gang;
    for (uint32_t t = 0; t < types; t++) {
        const double there = adl_scenario_gang_speed(scenario, mix->class_index, t, choice->spec.gpus);
        if (!(mix->types >> t & 1) || there <= 0)
            continue;
        stream->ratio[(size_t)at * types + t] = one[mix->reference] / one[t] * (gang / there);
        choice->spec.types |= 1u << t;
    }
}

/* Appends the rows of all mix lines of a kind (-1: of any); keep holds their weights for now. */
static uint32_t add_choices(struct adl_workload_stream *stream, int kind, uint32_t at)
{
    const struct adl_scenario *scenario = stream->scenario;
    for (uint32_t m = 0; m < scenario->workload.mix_count; m++) {
        const struct adl_mix *mix = &scenario->workload.mix[m];
        const struct adl_job_class *class = &scenario->classes[mix->class_index];
        double sum = 0;
        for (uint32_t g = 0; g < mix->gang_count; g++)
            sum += mix->gang_weight[g];
        for (uint32_t g = 0; g < mix->gang_count && (kind < 0 || class->kind == kind); g++) {
            const uint16_t gpus = mix->gang_gpus[g];
            if (mix->weight <= 0 || mix->gang_weight[g] <= 0)
                continue;
            struct adl_workload_choice *choice = &stream->choices[at];
            choice->keep = mix->weight * mix->gang_weight[g] / sum;
            choice->mix = (uint16_t)m;
            choice->spec = spec_of(scenario, mix, gpus);
            choice->stretch = stretch_of(&scenario->cluster, class, mix, gpus);
            set_speeds(stream, at++);
        }
    }
    return at;
}

/* Vose's construction of the alias table: rows with less than their share are filled up from one with more. keep holds
 * the weights on entry. Tables are small, so the next poor and the next rich row are found by linear search. */
static void build_alias(struct adl_workload_choice *rows, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += rows[i].keep;
    for (uint32_t i = 0; i < count; i++) {
        rows[i].keep *= count / sum;
        rows[i].alias = ADL_NONE;
    }
    for (;;) {
        uint32_t poor = 0, rich = 0;
        while (poor < count && !(rows[poor].alias == ADL_NONE && rows[poor].keep < 1.0))
            poor++;
        while (rich < count && !(rows[rich].alias == ADL_NONE && rows[rich].keep > 1.0))
            rich++;
        if (poor == count || rich == count)
            break;
        rows[poor].alias = rich;
        rows[rich].keep -= 1.0 - rows[poor].keep;
    }
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].alias == ADL_NONE) {
            rows[i].alias = i;
            rows[i].keep = 1.0;
        }
}

void adl_workload_rewind(struct adl_workload_stream *stream, uint64_t seed)
{
    adl_rng_seed(&stream->arrivals, seed, "arrivals");
    adl_rng_seed(&stream->jobs, seed, "jobs");
    stream->now_s = 0;
    stream->issued = stream->drawn = stream->burst_left = 0;
}

int adl_workload_begin(struct adl_workload_stream *ret, const struct adl_scenario *scenario, uint64_t seed)
{
    const struct adl_workload *workload = &scenario->workload;
    const uint32_t types = scenario->cluster.type_count;
    struct adl_workload_stream stream = {.scenario = scenario};
    adl_workload_rewind(&stream, seed);
    const size_t rows = 2 * (size_t)workload->mix_count * ADL_GANGS_MAX;
    stream.choices = calloc(rows, sizeof *stream.choices);
    stream.ratio = calloc(rows * types, sizeof *stream.ratio);
    if (!stream.choices || !stream.ratio) {
        adl_workload_end(&stream);
        return ADL_ENOMEM;
    }
    stream.choice_count = add_choices(&stream, -1, 0);
    build_alias(stream.choices, stream.choice_count);
    stream.surge_first = stream.choice_count;
    if (workload->arrivals.process == ADL_ARRIVAL_SURGE && workload->arrivals.surge_kind >= 0)
        stream.surge_count =
            add_choices(&stream, workload->arrivals.surge_kind, stream.surge_first) - stream.surge_first;
    build_alias(stream.choices + stream.surge_first, stream.surge_count);
    *ret = stream;
    return 0;
}

void adl_workload_end(struct adl_workload_stream *stream)
{
    free(stream->choices);
    free(stream->ratio);
    *stream = (struct adl_workload_stream){0};
}

/* A day: two parabolas, one up and one down, approximate a sine. phase in 0..1, result in -1..1. */
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

/* Surge: inversion of the integrated rate, piece by piece. */
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
    /* Burst sizes are geometric with mean burst_jobs; bursts arrive so that jobs arrive at rate_per_h. */
    if (a->burst_jobs > 1.0)
        stream->burst_left = (uint64_t)(adl_rng_exponential(&stream->arrivals) / -adl_log(1.0 - 1.0 / a->burst_jobs));
    return stream->now_s + adl_rng_exponential(&stream->arrivals) * a->burst_jobs * 3600.0 / a->rate_per_h;
}

/* Of any process but Poisson's. */
static double next_arrival(struct adl_workload_stream *stream, const struct adl_arrivals *a)
{
    switch (a->process) {
    case ADL_ARRIVAL_DIURNAL:
        return next_diurnal(stream, a);
    case ADL_ARRIVAL_SURGE:
        return next_surge(stream, a);
    case ADL_ARRIVAL_BURSTY:
        return next_burst(stream, a);
    default: /* ADL_ARRIVAL_BACKLOG */
        return 0.0;
    }
}

/* Times of submission. Those of a Poisson process are drawn together. */
static void draw_arrivals(struct adl_workload_stream *stream, struct adl_workload_draw *draws, uint32_t count)
{
    const struct adl_arrivals *a = &stream->scenario->workload.arrivals;
    double logs[ADL_WORKLOAD_DRAWS];
    if (a->process != ADL_ARRIVAL_POISSON) {
        for (uint32_t i = 0; i < count; i++)
            draws[i].submit_s = stream->now_s = next_arrival(stream, a);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        logs[i] = 1.0 - adl_rng_uniform(&stream->arrivals);
    adl_log_each(logs, count);
    for (uint32_t i = 0; i < count; i++)
        draws[i].submit_s = stream->now_s += -logs[i] * 3600.0 / a->rate_per_h;
}

static uint32_t draw_choice(const struct adl_workload_stream *stream, struct adl_rng *rng, double now_s)
{
    const struct adl_arrivals *a = &stream->scenario->workload.arrivals;
    uint32_t first = 0, count = stream->choice_count;
    if (stream->surge_count > 0 && now_s >= a->surge_start_s && now_s < a->surge_start_s + a->surge_length_s &&
        adl_rng_uniform(rng) * a->surge_factor > 1.0) {
        first = stream->surge_first;
        count = stream->surge_count;
    }
    const double at = adl_rng_uniform(rng) * count;
    const uint32_t row = (uint32_t)at;
    const struct adl_workload_choice *drawn = &stream->choices[first + row];
    return first + (at - row < drawn->keep ? row : drawn->alias);
}

/* The next jobs, as far as they follow from chance. What a seed means is defined by the order of draws: one a
 * statement. All shares of SLAs are drawn for every job, so that changing one does not change the rest of the stream.
 */
static void draw_jobs(struct adl_workload_stream *stream)
{
    const struct adl_workload *workload = &stream->scenario->workload;
    const uint64_t left = workload->jobs - stream->drawn;
    const uint32_t count = left < ADL_WORKLOAD_DRAWS ? (uint32_t)left : ADL_WORKLOAD_DRAWS;
    struct adl_workload_draw *draws = stream->draws;
    double points[ADL_WORKLOAD_DRAWS][2], squares[ADL_WORKLOAD_DRAWS], logs[ADL_WORKLOAD_DRAWS],
        factors[2 * ADL_WORKLOAD_DRAWS];
    draw_arrivals(stream, draws, count);
    struct adl_rng rng = stream->jobs;
    for (uint32_t i = 0; i < count; i++) {
        draws[i].choice = draw_choice(stream, &rng, draws[i].submit_s);
        draws[i].user = adl_rng_below(&rng, workload->users);
        draws[i].urgency = adl_rng_uniform(&rng);
        logs[i] = squares[i] = adl_rng_disc(&rng, points[i]);
        draws[i].exact = adl_rng_uniform(&rng);
        draws[i].deadline = adl_rng_uniform(&rng);
        draws[i].throughput = adl_rng_uniform(&rng);
    }
    stream->jobs = rng;
    adl_log_each(logs, count);
    for (uint32_t i = 0; i < count; i++) {
        const double scale = adl_rng_normal_scale(squares[i], logs[i]);
        factors[2 * (size_t)i] = workload->mix[stream->choices[draws[i].choice].mix].sigma * (points[i][0] * scale);
        factors[2 * (size_t)i + 1] = workload->limits.sigma * (points[i][1] * scale);
    }
    adl_exp_each(factors, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        draws[i].duration = factors[2 * (size_t)i];
        draws[i].limit = factors[2 * (size_t)i + 1];
    }
    stream->drawn += count;
}

static double duration_s_of(const struct adl_mix *mix, double factor)
{
    const double drawn = mix->median_s * factor;
    return drawn < mix->min_s ? mix->min_s : drawn > mix->max_s ? mix->max_s : drawn;
}

/* The user's limit: the time on the slowest acceptable type times a factor, rounded up. */
static int64_t limit_us_of(const struct adl_workload_draw *draw, const struct adl_limits *limits, int64_t slowest_us)
{
    if (draw->exact < limits->exact_share)
        return slowest_us;
    const double factor = limits->median_factor * draw->limit;
    int64_t limit_us = factor > 1.0 ? (int64_t)((double)slowest_us * factor) : slowest_us;
    if (limits->round_s > 0) {
        const double round_us = limits->round_s * 1e6;
        limit_us = (int64_t)(ceil((double)limit_us / round_us) * round_us);
    }
    return limit_us;
}

bool adl_workload_next(struct adl_workload_stream *stream, struct adl_true_job *ret)
{
    const struct adl_scenario *scenario = stream->scenario;
    const struct adl_workload *workload = &scenario->workload;
    const uint32_t types = scenario->cluster.type_count;
    if (stream->issued == workload->jobs)
        return false;
    if (stream->issued == stream->drawn)
        draw_jobs(stream);
    const struct adl_workload_draw *draw = &stream->draws[stream->issued % ADL_WORKLOAD_DRAWS];
    const struct adl_workload_choice *choice = &stream->choices[draw->choice];
    const struct adl_mix *mix = &workload->mix[choice->mix];
    const double *ratio = &stream->ratio[(size_t)draw->choice * types];
    const double duration_s = duration_s_of(mix, draw->duration);
    ret->spec = choice->spec;
    ret->spec.user = draw->user;
    ret->spec.priority = (float)(mix->priority_min + (mix->priority_max - mix->priority_min) * draw->urgency);
    ret->spec.id = ++stream->issued;
    ret->without_limit = false;
    ret->submit_us = (int64_t)(draw->submit_s * 1e6);
    ret->steps = duration_s * choice->speed;
    int64_t slowest_us = 0, ideal_us = INT64_MAX;
    for (uint32_t t = 0; t < types; t++) {
        int64_t there_us = (int64_t)(duration_s * 1e6 * ratio[t] + 0.5);
        there_us = ratio[t] > 0 ? there_us + (there_us == 0) : 0;
        ret->runtime_us[t] = there_us;
        slowest_us = there_us > slowest_us ? there_us : slowest_us;
        ideal_us = there_us > 0 && there_us < ideal_us ? there_us : ideal_us;
    }
    ret->ideal_us = ideal_us;
    slowest_us = (int64_t)((double)slowest_us * choice->stretch);
    ret->spec.limit_us = limit_us_of(draw, &workload->limits, slowest_us);
    if (draw->deadline < mix->deadline_share)
        ret->spec.deadline_us = (int64_t)(duration_s * mix->deadline_slack * 1e6) + 1;
    if (draw->throughput < mix->throughput_share)
        ret->spec.min_steps_per_s = (float)(choice->speed * mix->throughput_floor);
    return true;
}

int adl_workload_hash(const struct adl_scenario *scenario, uint64_t seed, uint64_t count, uint64_t *ret)
{
    struct adl_workload_stream stream;
    struct adl_true_job job;
    uint64_t hash = adl_hash_start();
    if (adl_workload_begin(&stream, scenario, seed))
        return ADL_ENOMEM;
    while ((count == 0 || stream.issued < count) && adl_workload_next(&stream, &job)) {
        const struct adl_job_spec *spec = &job.spec;
        const uint64_t words[] = {spec->id,
                                  (uint64_t)job.submit_us,
                                  (uint64_t)spec->limit_us,
                                  (uint64_t)spec->deadline_us,
                                  (uint64_t)spec->class_index << 32 | spec->gpus,
                                  (uint64_t)spec->types << 32 | (uint64_t)spec->stop_loss << 16 |
                                      (uint64_t)spec->kind << 8 | spec->flags,
                                  (uint64_t)(uint32_t)spec->cpu_cores << 32 | (uint32_t)spec->memory_mib,
                                  (uint64_t)(uint32_t)spec->gpu_memory_mib << 32 | spec->user};
        hash = adl_hash_bytes(hash, words, sizeof words);
        hash = adl_hash_bytes(hash, job.runtime_us, scenario->cluster.type_count * sizeof *job.runtime_us);
    }
    adl_workload_end(&stream);
    *ret = hash;
    return 0;
}

static int source_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    return adl_workload_next(self, ret);
}

static int source_rewind(void *self, uint64_t seed)
{
    adl_workload_rewind(self, seed);
    return 0;
}

static int source_copy(void *self, const void *from)
{
    struct adl_workload_stream *stream = self;
    const struct adl_workload_stream own = *stream;
    *stream = *(const struct adl_workload_stream *)from;
    stream->choices = own.choices; /* of the scenario, as is ratio */
    stream->ratio = own.ratio;
    return 0;
}

static void source_close(void *self)
{
    if (self)
        adl_workload_end(self);
    free(self);
}

int adl_workload_open(void *scenario, uint64_t seed, struct adl_job_source *ret, struct adl_error *err)
{
    struct adl_workload_stream *stream = malloc(sizeof *stream);
    if (!stream || adl_workload_begin(stream, scenario, seed)) {
        free(stream);
        return adl_fail(err, ADL_ENOMEM, "out of memory for the workload");
    }
    *ret = (struct adl_job_source){stream, source_next, source_close, source_rewind, source_copy};
    return 0;
}

struct adl_job_supply adl_workload_supply(const struct adl_scenario *scenario)
{
    return (struct adl_job_supply){(void *)scenario, adl_workload_open};
}
