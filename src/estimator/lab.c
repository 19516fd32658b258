#include "estimator/lab.h"

#include "base/real.h"

#include <string.h>

/* Published specifications: MiB, GB/s, TFLOP/s in FP32, FP16 (matrix units if present), FP64. */
static const struct card {
    const char *vendor;
    int memory_gb;
    double bandwidth_gbs, fp32, fp16, fp64;
} cards[] = {
    {"NVIDIA", 12, 240, 4.1, 4.1, 1.4},    {"NVIDIA", 16, 732, 10.6, 21.2, 5.3}, {"NVIDIA", 16, 900, 14.0, 112, 7.0},
    {"NVIDIA", 16, 320, 8.1, 65, 0.25},    {"NVIDIA", 11, 616, 13.5, 108, 0.42}, {"NVIDIA", 24, 672, 16.3, 130, 0.51},
    {"NVIDIA", 24, 933, 10.3, 165, 5.2},   {"NVIDIA", 48, 696, 37.4, 150, 0.58}, {"NVIDIA", 40, 1555, 19.5, 312, 9.7},
    {"NVIDIA", 24, 300, 30.3, 121, 0.47},  {"NVIDIA", 48, 864, 90.5, 181, 1.4},  {"NVIDIA", 80, 2039, 51.2, 756, 25.6},
    {"NVIDIA", 80, 3352, 66.9, 989, 33.5}, {"AMD", 16, 484, 12.3, 24.6, 0.77},   {"AMD", 16, 1024, 13.4, 26.9, 3.4},
    {"AMD", 32, 1229, 23.1, 185, 11.5},    {"AMD", 64, 1638, 22.6, 181, 22.6},   {"AMD", 192, 5300, 163, 1307, 81.7},
};
#define CARD_COUNT (sizeof cards / sizeof *cards)

static double between(struct adl_rng *rng, double low, double high)
{
    return low + (high - low) * adl_rng_uniform(rng);
}

/* Log-normal. */
static double around(struct adl_rng *rng, double median, double sigma)
{
    return median * adl_exp(sigma * adl_rng_normal(rng));
}

static bool chance(struct adl_rng *rng, double p)
{
    return adl_rng_uniform(rng) < p;
}

static double power(double x, double exponent)
{
    return x > 0 ? adl_exp(exponent * adl_log(x)) : 0;
}

/* (a^p + b^p)^(1/p): p = 1 is sequential, large p parallel. */
static double overlap(double a, double b, double p)
{
    return power(power(a, p) + power(b, p), 1.0 / p);
}

/* ---- types ---- */

/* Properties of a type that are not in its specification. */
struct hidden_type {
    double compute, memory; /* fractions of the peak that software reaches */
    double host;            /* speed of its hosts */
    double launch;
    double interference_spread; /* how much jobs differ in their interference there */
};

static void draw_type(struct adl_rng *rng, struct adl_gpu_type *type, struct hidden_type *hidden)
{
    struct card card = cards[adl_rng_below(rng, CARD_COUNT)];
    if (chance(rng, 0.5)) {
        static const double gains[] = {1, 2, 2, 4, 8, 8, 12, 16};
        const bool amd = chance(rng, 0.25), doubles = chance(rng, 0.5);
        card.vendor = amd ? "AMD" : "NVIDIA";
        card.fp32 = adl_exp(between(rng, adl_log(3), adl_log(100)));
        card.fp16 = card.fp32 * gains[adl_rng_below(rng, 8)];
        card.fp64 = card.fp32 * (doubles ? 0.5 : 1.0 / 32);
        card.bandwidth_gbs = card.fp32 * around(rng, 50, 0.5);
        card.memory_gb = 8 << adl_rng_below(rng, 4);
    }
    *type = (struct adl_gpu_type){.memory_mib = card.memory_gb * 1024,
                                  .bandwidth_gbs = card.bandwidth_gbs,
                                  .fp32_tflops = card.fp32,
                                  .fp16_tflops = card.fp16,
                                  .fp64_tflops = card.fp64};
    memcpy(type->vendor, card.vendor, strlen(card.vendor) + 1);
    const double vendor = card.vendor[0] == 'A' ? around(rng, 0.75, 0.25) : 1.0;
    *hidden = (struct hidden_type){.compute = vendor * around(rng, 0.38, 0.35),
                                   .memory = vendor * around(rng, 0.6, 0.25),
                                   .host = around(rng, 1, 0.4),
                                   .launch = around(rng, 1, 0.4),
                                   .interference_spread = adl_rng_uniform(rng)};
}

/* ---- jobs ---- */

struct family {
    int kind;
    double gflop, intensity; /* of a sample; flop/byte */
    double fixed_gb;         /* of a step, independent of the batch */
    double launch_s, host_s, host_sample_s;
    double gpu_overlap, host_overlap; /* exponents */
    double matrix;                    /* fraction of the matrix units' gain that it gets */
    double misstatement;              /* factor by which its users misstate work */
    double declared;                  /* probability that its jobs declare their work */
    double sensitivity, pressure;
    double own_noise; /* of a job on a type */
    double on[ADL_LAB_TYPES];
};

static void draw_family(struct adl_rng *rng, double declared, double noise, struct family *ret)
{
    static const double intensity[ADL_KIND_COUNT] = {40, 40, 15, 3};
    const double u = adl_rng_uniform(rng);
    const int kind = u < 0.65  ? ADL_KIND_TRAINING
                     : u < 0.8 ? ADL_KIND_INFERENCE
                     : u < 0.9 ? ADL_KIND_SIMULATION
                               : ADL_KIND_DATA;
    *ret = (struct family){.kind = kind,
                           .gflop = around(rng, kind == ADL_KIND_DATA ? 0.3 : 3, 1.5),
                           .intensity = around(rng, intensity[kind], 0.7),
                           .fixed_gb = around(rng, 0.3, 1.0),
                           .launch_s = around(rng, 8e-3, 0.8),
                           .host_s = around(rng, 5e-3, 1.0),
                           .host_sample_s = chance(rng, 0.3) ? around(rng, 1e-3, 1.0) : around(rng, 5e-5, 1.0),
                           .gpu_overlap = between(rng, 1, 4),
                           .host_overlap = between(rng, 1, 4),
                           .matrix = chance(rng, 0.6) ? 0 : adl_rng_uniform(rng),
                           .misstatement = around(rng, 1, 0.3),
                           .declared = declared,
                           .sensitivity = 0.08 * adl_rng_normal(rng),
                           .pressure = 0.08 * adl_rng_normal(rng),
                           .own_noise = 0.4 * noise};
    for (int t = 0; t < ADL_LAB_TYPES; t++)
        ret->on[t] = noise * adl_rng_normal(rng);
}

/* The fractions of a step's time, 0..1, that keep each resource of a type busy. */
struct duty {
    double gpu, compute, memory, host;
    double kernel_s; /* mean length of its kernels */
};

struct draft {
    double gflop, gb, batch;
    struct duty duty[ADL_LAB_TYPES];
};

static void draw_speeds(struct adl_rng *rng, const struct family *family, const struct hidden_type *hidden,
                        struct adl_lab *lab, uint32_t job, struct draft *draft)
{
    for (uint32_t t = 0; t < lab->type_count; t++) {
        const struct adl_gpu_type *type = &lab->types[t];
        const double gain = type->fp16_tflops > type->fp32_tflops ? type->fp16_tflops / type->fp32_tflops : 1;
        const double flops = type->fp32_tflops * power(gain, 0.5 * family->matrix) * 1000 * hidden[t].compute;
        const double compute = draft->gflop / flops, memory = draft->gb / (type->bandwidth_gbs * hidden[t].memory);
        const double gpu = overlap(compute, memory, family->gpu_overlap) + family->launch_s * hidden[t].launch * 0.3;
        const double host = (family->host_s + family->launch_s + family->host_sample_s * draft->batch) / hidden[t].host;
        const double all = overlap(gpu, host, family->host_overlap);
        double log_rate = -adl_log(all) + family->on[t] + family->own_noise * adl_rng_normal(rng);
        if (chance(rng, 0.04))
            log_rate += 0.6 * adl_rng_normal(rng);
        lab->rate[job][t] = log_rate;
        draft->duty[t] = (struct duty){gpu / all < 1 ? gpu / all : 1, compute / all, memory / all, host / all,
                                       gpu / family->launch_s};
    }
}

static void draw_spec(struct adl_rng *rng, const struct family *family, const struct draft *draft,
                      const struct adl_lab *lab, uint32_t job, struct adl_job_spec *ret)
{
    const bool host = family->host_sample_s > 5e-4;
    double memory = around(rng, 1500 + 200 * draft->gb, 0.5);
    *ret = (struct adl_job_spec){.id = job + 1,
                                 .class_index = (uint16_t)job,
                                 .name_id = (uint32_t)(adl_rng_next(rng) >> 33) | 1,
                                 .gpus = 1,
                                 .kind = (uint8_t)family->kind,
                                 .cpu_cores = 1 << (adl_rng_below(rng, 4) + host),
                                 .gpu_memory_mib = (int32_t)(memory < 40000 ? memory : 40000)};
    if (chance(rng, family->declared))
        ret->step_gflop = (float)(draft->gflop * family->misstatement * around(rng, 1, 0.15));
    if (chance(rng, family->declared * 0.5))
        ret->step_gb = (float)(draft->gb * around(rng, 1, 0.35));
    if (chance(rng, 0.25))
        ret->min_steps_per_s =
            (float)(between(rng, 0.3, 0.9) * adl_exp(lab->rate[job][adl_rng_below(rng, lab->type_count)]));
}

/* The same job on several GPUs: a profile of its own. */
static void draw_gang(struct adl_rng *rng, struct adl_lab *lab, uint32_t from, struct draft *drafts)
{
    const uint32_t job = lab->job_count;
    const int doublings = 1 + (int)adl_rng_below(rng, 3);
    const double kept = -0.25 * adl_rng_uniform(rng);
    lab->jobs[job] = lab->jobs[from];
    lab->jobs[job].id = job + 1;
    lab->jobs[job].gpus = (uint16_t)(1 << doublings);
    lab->jobs[job].min_steps_per_s = 0;
    lab->spans[job] = chance(rng, 0.3);
    lab->family[job] = lab->family[from];
    drafts[job] = drafts[from];
    for (uint32_t t = 0; t < lab->type_count; t++)
        lab->rate[job][t] = lab->rate[from][t] + doublings * (0.6931471805599453 + kept) + 0.1 * adl_rng_normal(rng) -
                            (lab->spans[job] ? 0.6 * adl_rng_uniform(rng) : 0);
    lab->job_count++;
}

/* ---- two jobs on one GPU ---- */

struct sharing {
    double overhead, long_kernels, together, queueing, host;
};

static double draw_share(struct adl_rng *rng, const struct sharing *sharing, const struct duty *a, const struct duty *b)
{
    const double weight_a = power(a->kernel_s, sharing->long_kernels),
                 weight_b = power(b->kernel_s, sharing->long_kernels);
    const double fair = weight_a / (weight_a + weight_b), left = 1 - b->gpu;
    const double turn = a->gpu > (fair > left ? fair : left) ? (fair > left ? fair : left) / a->gpu : 1;
    const double queue = 1 - sharing->queueing * b->gpu * (1 - a->gpu);
    const double units = a->compute + b->compute, bytes = a->memory + b->memory;
    const double crowd = units > bytes ? units : bytes;
    const double beside = crowd > 1 ? 1 / crowd : 1;
    const double hosts = 1 / (1 + sharing->host * a->host * b->host);
    return (1 - sharing->together) * adl_log(turn * queue) + sharing->together * adl_log(beside) + adl_log(hosts) +
           adl_log(1 - sharing->overhead) + 0.06 * adl_rng_normal(rng);
}

static void draw_shares(struct adl_rng *rng, struct adl_lab *lab, const struct family *families,
                        const struct hidden_type *hidden, const struct draft *drafts)
{
    struct sharing on[ADL_LAB_TYPES];
    double sensitivity[ADL_LAB_JOBS][ADL_LAB_TYPES], pressure[ADL_LAB_JOBS][ADL_LAB_TYPES];
    const double overhead = between(rng, 0.0, 0.12), together = 0.6 * adl_rng_uniform(rng), host = adl_rng_uniform(rng);
    const double long_kernels = between(rng, -0.05, 0.6), queueing = 0.5 * adl_rng_uniform(rng);
    for (uint32_t t = 0; t < lab->type_count; t++) {
        const double more = together + 0.15 * adl_rng_normal(rng);
        on[t] = (struct sharing){overhead * adl_rng_uniform(rng), long_kernels + 0.05 * adl_rng_normal(rng),
                                 more < 0   ? 0
                                 : more > 1 ? 1
                                            : more,
                                 queueing, host};
    }
    for (uint32_t j = 0; j < lab->job_count; j++)
        for (uint32_t t = 0; t < lab->type_count; t++) {
            const struct family *family = &families[lab->family[j]];
            const double variance = hidden[t].interference_spread * hidden[t].interference_spread;
            sensitivity[j][t] = family->sensitivity + (0.02 + 0.25 * variance) * adl_rng_normal(rng);
            pressure[j][t] = family->pressure + (0.02 + 0.12 * variance) * adl_rng_normal(rng);
        }
    for (uint32_t a = 0; a < lab->job_count; a++)
        for (uint32_t b = 0; b < lab->job_count; b++)
            for (uint32_t t = 0; t < lab->type_count; t++) {
                const double share = draw_share(rng, &on[t], &drafts[a].duty[t], &drafts[b].duty[t]) +
                                     sensitivity[a][t] + pressure[b][t];
                lab->share[a][b][t] = share > 0 ? 0 : share < -3 ? -3 : share;
            }
}

void adl_lab_draw(struct adl_rng *rng, struct adl_lab *ret)
{
    enum { FAMILIES = 7 };
    struct hidden_type hidden[ADL_LAB_TYPES];
    struct family families[FAMILIES];
    struct draft drafts[ADL_LAB_JOBS];
    const uint32_t family_count = 3 + adl_rng_below(rng, FAMILIES - 2);
    const double declared = 0.5 * adl_rng_below(rng, 3), noise = between(rng, 0.1, 0.45);
    ret->type_count = 3 + adl_rng_below(rng, 5);
    ret->job_count = 0;
    for (uint32_t t = 0; t < ret->type_count; t++)
        draw_type(rng, &ret->types[t], &hidden[t]);
    for (uint32_t f = 0; f < family_count; f++) {
        draw_family(rng, declared, noise, &families[f]);
        const uint32_t members = 1 + adl_rng_below(rng, 4);
        double batch = 1 << adl_rng_below(rng, 9);
        for (uint32_t m = 0; m < members && ret->job_count < ADL_LAB_JOBS; m++, batch *= 2) {
            const uint32_t job = ret->job_count;
            drafts[job] = (struct draft){.gflop = families[f].gflop * batch, .batch = batch};
            drafts[job].gb = drafts[job].gflop / families[f].intensity + families[f].fixed_gb;
            ret->family[job] = f;
            ret->spans[job] = false;
            draw_speeds(rng, &families[f], hidden, ret, job, &drafts[job]);
            draw_spec(rng, &families[f], &drafts[job], ret, job, &ret->jobs[job]);
            ret->job_count++;
            if (chance(rng, 0.2) && ret->job_count < ADL_LAB_JOBS)
                draw_gang(rng, ret, job, drafts);
        }
    }
    draw_shares(rng, ret, families, hidden, drafts);
}
