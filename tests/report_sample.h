/* report_sample: comparisons that are made up for tests of reports, from a recipe each: plausible or extreme.
 */
#ifndef ADLRO_TESTS_REPORT_SAMPLE_H
#define ADLRO_TESTS_REPORT_SAMPLE_H

#include "base/rng.h"
#include "experiment/comparison.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POLICIES_MAX 12
#define NASTY        "<b>\"x\" & 'y'</b>,\n\xff \u00b5"

/* What a made-up comparison is made of. */
struct recipe {
    const char *label;
    uint32_t policies, seeds, nodes, gpus_per_node;
    uint32_t jobs;
    bool timelines;
    bool nasty; /* names full of markup */
    bool long_names;
    double scale; /* of times and energies */
};

struct sample {
    struct adl_scenario scenario;
    struct adl_comparison comparison;
    char names[POLICIES_MAX][64];
};

static void build_cluster(struct sample *sample, const struct recipe *recipe)
{
    static const char *const types[] = {"V100", "T4", "MI50"};
    struct adl_cluster *cluster = &sample->scenario.cluster;
    for (uint32_t i = 0; i < 3; i++) {
        struct adl_gpu_type type = {.modelled = i == 2, .idle_w = 30, .max_w = 250};
        snprintf(type.name, sizeof type.name, "%s%s", types[i], recipe->nasty ? "<i>&\"" : "");
        assert_int_equal(adl_cluster_add_type(cluster, &type, NULL), 0);
    }
    for (uint32_t i = 0; i < recipe->nodes; i++) {
        struct adl_node node = {.cpu_cores = 32, .memory_mib = 1 << 18, .link_gbs = 50};
        struct adl_bank_spec bank = {.type = i % 4 < 2 ? 0 : i % 4 - 1, .gpu_count = recipe->gpus_per_node};
        snprintf(node.name, sizeof node.name, "node-%02" PRIu32, i);
        assert_int_equal(adl_cluster_add_node(cluster, &node, &bank, 1, NULL), 0);
    }
}

/* The GPU that is free first, of those not yet taken by this job. */
static uint32_t first_free(const double *free_s, const bool *taken, uint32_t count)
{
    uint32_t best = ADL_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (!taken[i] && (best == ADL_NONE || free_s[i] < free_s[best]))
            best = i;
    return best;
}

struct change {
    double time_s;
    int busy, pending, running;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static void build_moments(struct adl_timeline *timeline, struct change *changes, size_t count)
{
    int busy = 0, pending = 0, running = 0;
    qsort(changes, count, sizeof *changes, compare_changes);
    timeline->moments = calloc(count, sizeof *timeline->moments);
    for (size_t i = 0; i < count; i++) {
        busy += changes[i].busy;
        pending += changes[i].pending;
        running += changes[i].running;
        timeline->moments[timeline->moment_count++] =
            (struct adl_moment){.time_us = (int64_t)(changes[i].time_s * 1e6),
                                .busy_gpus = (uint32_t)(busy > 0 ? busy : 0),
                                .pending_jobs = (uint32_t)(pending > 0 ? pending : 0),
                                .running_jobs = (uint32_t)(running > 0 ? running : 0)};
    }
}

/* Jobs in order of arrival on the GPUs that are free first; a better policy has them run faster. */
static struct adl_timeline *build_timeline(const struct recipe *recipe, uint32_t policy, uint32_t gpu_count)
{
    struct adl_timeline *timeline = calloc(1, sizeof *timeline);
    double *free_s = calloc(gpu_count, sizeof *free_s), now_s = 0;
    bool *taken = calloc(gpu_count, sizeof *taken);
    struct change *changes = calloc(3 * (size_t)recipe->jobs + 1, sizeof *changes);
    size_t change_count = 0;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "jobs");
    timeline->gpu_count = gpu_count;
    timeline->gpu_energy_j = calloc(gpu_count, sizeof *timeline->gpu_energy_j);
    timeline->jct_s = calloc((size_t)recipe->jobs + 1, sizeof *timeline->jct_s);
    timeline->segments = calloc(4 * (size_t)recipe->jobs + 1, sizeof *timeline->segments);
    for (uint32_t job = 0; job < recipe->jobs; job++) {
        const uint32_t gang = 1u << (adl_rng_below(&rng, 6) / 2 % 3);
        const double length_s = recipe->scale * 30 * exp(0.9 * adl_rng_normal(&rng)) * (1 - 0.09 * policy);
        const uint8_t kind = (uint8_t)adl_rng_below(&rng, ADL_KIND_COUNT);
        uint32_t gpus[4];
        now_s += recipe->scale * adl_rng_exponential(&rng) * 100 / gpu_count;
        double start_s = now_s;
        memset(taken, 0, gpu_count * sizeof *taken);
        for (uint32_t i = 0; i < gang; i++) {
            gpus[i] = first_free(free_s, taken, gpu_count);
            taken[gpus[i]] = true;
            start_s = fmax(start_s, free_s[gpus[i]]);
        }
        for (uint32_t i = 0; i < gang; i++) {
            free_s[gpus[i]] = start_s + length_s;
            timeline->gpu_energy_j[gpus[i]] += 200 * length_s;
            timeline->segments[timeline->segment_count++] =
                (struct adl_segment){.start_us = (int64_t)(start_s * 1e6),
                                     .end_us = (int64_t)((start_s + length_s) * 1e6),
                                     .job_id = job,
                                     .gpu = gpus[i],
                                     .kind = kind,
                                     .cut = job % 17 == 0};
        }
        changes[change_count++] = (struct change){now_s, 0, 1, 0};
        changes[change_count++] = (struct change){start_s, (int)gang, -1, 1};
        changes[change_count++] = (struct change){start_s + length_s, -(int)gang, 0, -1};
        timeline->jct_s[timeline->job_count++] = (float)(start_s + length_s - now_s);
        timeline->end_us = (int64_t)fmax((double)timeline->end_us, (start_s + length_s) * 1e6);
    }
    build_moments(timeline, changes, change_count);
    free(free_s);
    free(taken);
    free(changes);
    return timeline;
}

static void build_run(struct adl_result *run, const struct recipe *recipe, uint32_t policy, uint32_t seed)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, seed, "workload");
    const double load = 1 + 0.08 * adl_rng_normal(&rng), gain = policy == 4 ? -0.02 : policy * 0.08;
    adl_rng_seed(&rng, seed * 64 + policy, "noise");
    const double jct_s =
        recipe->jobs == 0 ? NAN : recipe->scale * 25.8 * load * (1 - gain) * (1 + 0.02 * adl_rng_normal(&rng));
    const double values[ADL_METRIC_COUNT] = {
        [ADL_METRIC_JCT_MEAN] = jct_s,
        [ADL_METRIC_JCT_P99] = jct_s * 5.1,
        [ADL_METRIC_WAIT_MEAN] = jct_s * 0.4 * (1 - gain),
        [ADL_METRIC_SLOWDOWN_MEAN] = 3.2 * load * (1 - gain),
        [ADL_METRIC_THROUGHPUT] = 412 * (1 + gain) / recipe->scale,
        [ADL_METRIC_UTILIZATION] = fmin(1, 0.58 * load * (1 + gain)),
        [ADL_METRIC_MAKESPAN] = 2800 * recipe->scale * (1 - gain / 2),
        [ADL_METRIC_ENERGY] = recipe->scale * 4.1e6 * load * (1 - gain / 2),
        [ADL_METRIC_SLA] = fmin(1, 0.8 + gain / 2),
        [ADL_METRIC_EFFICIENCY] = fmin(1, 0.62 * (1 + gain)),
        [ADL_METRIC_HYPERSCORE] = 106 + 30 * gain,
        [ADL_METRIC_REWARD] = -jct_s * 1.3,
        [ADL_METRIC_DECISION_P50] = 0.8 + policy * 3,
        [ADL_METRIC_DECISION_P99] = 4.2 + policy * 21,
        [ADL_METRIC_WALL] = 0.004 * (policy + 1),
    };
    memcpy(run->value, values, sizeof values);
    run->jobs = recipe->jobs;
    run->timeouts = policy == 0 ? 2 : 0;
    run->refused = policy == 3 && seed == 2 ? 1 : 0;
    run->events = 3 * run->jobs;
    run->decisions = 2 * run->jobs;
    run->plan_hash = 0xfedcba9876543210u + policy * 977 + seed;
    run->bound_jct_s = recipe->jobs == 0 ? NAN : recipe->scale * 17.3 * load;
}

static void build_statistics(struct adl_comparison *comparison)
{
    const uint32_t seeds = comparison->seed_count, policies = comparison->policy_count;
    double *x = calloc((size_t)seeds * (policies + 1) + 1, sizeof *x),
           *y = calloc((size_t)seeds * (policies + 1) + 1, sizeof *y);
    for (uint32_t p = 0; p < policies; p++) {
        struct adl_policy_result *policy = &comparison->policies[p];
        for (int metric = 0; metric < ADL_METRIC_COUNT; metric++) {
            for (uint32_t i = 0; i < seeds; i++) {
                x[i] = policy->runs[i].value[metric];
                y[i] = comparison->policies[0].runs[i].value[metric];
            }
            policy->metrics[metric] = adl_summarize(x, seeds);
            policy->versus_first[metric] = (struct adl_paired){.difference = NAN, .t_p = 1, .wilcoxon_p = 1};
            if (isfinite(policy->metrics[metric].mean))
                assert_int_equal(adl_compare_pairs(x, y, seeds, &policy->versus_first[metric]), 0);
        }
    }
    for (uint32_t i = 0; policies > 0 && i < seeds; i++)
        x[i] = comparison->policies[0].runs[i].bound_jct_s;
    comparison->bound_jct_s = adl_summarize(x, seeds);
    for (uint32_t i = 0; i < seeds * policies; i++) {
        x[i] = comparison->policies[i / seeds].runs[i % seeds].value[ADL_METRIC_UTILIZATION];
        y[i] = comparison->policies[i / seeds].runs[i % seeds].value[ADL_METRIC_JCT_MEAN];
    }
    comparison->jct_on_utilization = adl_regress(x, y, (size_t)seeds * policies);
    free(x);
    free(y);
}

static struct sample *sample_create(const struct recipe *recipe)
{
    static const char *const names[POLICIES_MAX] = {"fcfs",      "static", "srtf", "adlro",  "las",  "easy",
                                                    "gavel-jct", "dqn",    "gogh", "market", "qssf", "allox"};
    struct sample *sample = calloc(1, sizeof *sample);
    struct adl_comparison *comparison = &sample->comparison;
    snprintf(sample->scenario.name, sizeof sample->scenario.name, "%s", recipe->nasty ? NASTY : "paper16");
    snprintf(sample->scenario.description, sizeof sample->scenario.description, "%s",
             recipe->nasty
                 ? NASTY
                 : "Sixteen GPUs of three makes under a load of simulation, learning and data jobs that comes "
                   "close to what they can carry.");
    build_cluster(sample, recipe);
    sample->scenario.workload.jobs = recipe->jobs;
    *comparison = (struct adl_comparison){.scenario = &sample->scenario,
                                          .regime = recipe->nasty ? NASTY : "declared",
                                          .first_seed = 1,
                                          .seed_count = recipe->seeds,
                                          .policy_count = recipe->policies};
    comparison->policies = calloc(recipe->policies + 1, sizeof *comparison->policies);
    for (uint32_t p = 0; p < recipe->policies; p++) {
        struct adl_policy_result *policy = &comparison->policies[p];
        snprintf(sample->names[p], sizeof sample->names[p], "%s%s", recipe->nasty ? NASTY : "", names[p]);
        if (recipe->long_names)
            snprintf(sample->names[p], sizeof sample->names[p], "%s-with-\u00fcber-long-name-%s-that-goes-on-and-on",
                     names[p], names[p]);
        policy->name = sample->names[p];
        policy->summary = recipe->nasty ? NASTY : "What this policy does, in one line";
        policy->runs = calloc(recipe->seeds + 1, sizeof *policy->runs);
        for (uint32_t i = 0; i < recipe->seeds; i++)
            build_run(&policy->runs[i], recipe, p, i);
        if (recipe->timelines)
            policy->timeline = build_timeline(recipe, p, sample->scenario.cluster.gpu_count);
    }
    build_statistics(comparison);
    return sample;
}

static void sample_destroy(struct sample *sample)
{
    for (uint32_t i = 0; i < sample->comparison.policy_count; i++) {
        struct adl_timeline *timeline = sample->comparison.policies[i].timeline;
        if (timeline) {
            free(timeline->segments);
            free(timeline->moments);
            free(timeline->jct_s);
            free(timeline->gpu_energy_j);
            free(timeline);
        }
        free(sample->comparison.policies[i].runs);
    }
    free(sample->comparison.policies);
    adl_scenario_clear(&sample->scenario);
    free(sample);
}

#endif
