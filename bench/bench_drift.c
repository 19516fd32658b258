/* bench_drift: how soon and how well drift is found (docs/drift.md): GPUs that lost a tenth, false alarms without
 * drift, what was localized right, and how soon a type's factor is right after an update; on wear64, 20 random wear
 * scenarios and 20 of the generator's, with seeds that nothing was chosen on. And CUSUM against Page-Hinkley. A bar
 * that is missed is marked and makes it exit 1. With a number: the first seed, to develop on. */
#include "drift_trial.h"

#include "base/rng.h"
#include "experiment/run.h"
#include "metrics/metrics.h"
#include "predict/drift/drift.h"
#include "predict/drift/track.h"
#include "scenario/scenario.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_SEED = 860000, SEEDS = 5, RANDOM = 20, STILL_SEEDS = 10, STILL_DRAWN = 100, DECISION_SEEDS = 6 };

static int missed;

static const char *judge(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

/* ---- which test ---- */

struct test {
    double sum, lowest, total, count;
};

/* CUSUM of the log likelihood ratio. */
static bool cusum(struct test *test, double x, double noise, double threshold)
{
    test->sum = fmax(test->sum, 0) + adl_drift_evidence(x, noise * noise);
    return test->sum >= threshold;
}

/* Page-Hinkley: against the mean so far, which it need not be told. */
static bool page_hinkley(struct test *test, double x, double noise, double threshold)
{
    test->total += x;
    test->count++;
    test->sum += (x - test->total / test->count - ADL_DRIFT_SHIFT / 2) / noise;
    test->lowest = fmin(test->lowest, test->sum);
    return test->sum - test->lowest >= threshold;
}

typedef bool add_fn(struct test *test, double x, double noise, double threshold);

static double alarms(add_fn *add, double noise, double threshold, uint32_t samples)
{
    struct adl_rng rng;
    struct test test = {0};
    double count = 0;
    adl_rng_seed(&rng, 1, "noise");
    for (uint32_t i = 0; i < samples; i++)
        if (add(&test, noise * adl_rng_normal(&rng), noise, threshold)) {
            test = (struct test){0};
            count++;
        }
    return count / samples;
}

/* The threshold that alarms once in 20,000 samples of noise. */
static double calibrated(add_fn *add, double noise)
{
    double low = 0, high = 60;
    for (int i = 0; i < 12; i++) {
        const double middle = (low + high) / 2;
        if (alarms(add, noise, middle, 400000) > 1.0 / 20000)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Samples from a change to the alarm, after 200 without: by a step, and each by that much. */
static double delay(add_fn *add, double noise, double threshold, double step, double each)
{
    struct adl_rng rng;
    double sum = 0;
    enum { RUNS = 400, BEFORE = 200, MOST = 5000 };
    adl_rng_seed(&rng, 2, "noise");
    for (int run = 0; run < RUNS; run++) {
        struct test test = {0};
        for (int i = 0; i < BEFORE; i++)
            if (add(&test, noise * adl_rng_normal(&rng), noise, threshold))
                test = (struct test){0};
        int i = 0;
        while (i < MOST && !add(&test, step + each * i + noise * adl_rng_normal(&rng), noise, threshold))
            i++;
        sum += i + 1;
    }
    return sum / RUNS;
}

static void compare_tests(void)
{
    static const double noises[] = {0.03, 0.06};
    printf("samples until an alarm, at one false alarm in 20,000 samples\n");
    printf("  noise %%  test            5 %% lower  10 %%   20 %%   0.02 %% lower each\n");
    for (int n = 0; n < 2; n++)
        for (int t = 0; t < 2; t++) {
            add_fn *add = t ? page_hinkley : cusum;
            const double h = calibrated(add, noises[n]);
            printf("  %6.0f   %-14s %9.1f %7.1f %6.1f %12.1f\n", 100 * noises[n], t ? "Page-Hinkley" : "CUSUM",
                   delay(add, noises[n], h, 0.051, 0), delay(add, noises[n], h, 0.105, 0),
                   delay(add, noises[n], h, 0.223, 0), delay(add, noises[n], h, 0, 0.0002));
        }
}

/* ---- detection ---- */

/* What is measured and told. Bars are judged where drivers say when they throttle, as they do. */
static const struct mode {
    const char *name;
    bool progress, versions, silent, bars;
    uint32_t sources;
} modes[] = {
    {"progress, clocks, versions", true, true, false, true, 7},
    {"clocks, versions", false, true, false, true, 6},
    {"progress, clocks", true, false, false, true, 7},
    {"clocks", false, false, false, true, 6},
    {"progress, clocks, versions, drivers silent", true, true, true, false, 7},
    {"progress alone", true, false, true, false, 1},
};

enum { MODES = sizeof modes / sizeof *modes };

static void trial(const struct adl_scenario *scenario, uint64_t seed, const struct mode *mode,
                  struct drift_figures *sum)
{
    struct adl_scenario changed = *scenario;
    struct drift_figures one;
    changed.telemetry.progress = mode->progress;
    for (uint32_t i = 0; mode->versions && i < changed.drift.update_count; i++)
        snprintf(changed.drift.updates[i].version, sizeof changed.drift.updates[i].version, "%u", (unsigned)i + 1);
    const struct drift_trial it = {.scenario = &changed,
                                   .policy = adl_policy_find("easy"),
                                   .seed = seed,
                                   .regime = ADL_REGIME_DECLARED,
                                   .sources = mode->sources,
                                   .silent = mode->silent};
    drift_trial_run(&it, &one);
    drift_figures_add(sum, &one);
}

static void rest(struct adl_scenario *scenario)
{
    scenario->drift = (struct adl_drift_model){.wear_floor = 1, .throttle_factor = 1, .throttle_period_s = 3600};
}

static void try_drawn(struct adl_scenario scenario, bool still, uint64_t seed, const struct mode *mode,
                      struct drift_figures *sum)
{
    if (still)
        rest(&scenario);
    trial(&scenario, seed, mode, sum);
    adl_scenario_clear(&scenario);
}

/* A row of the table. */
static void print(const char *what, const struct drift_figures *f, bool bars)
{
    const double in_time = f->lost ? 100.0 * f->in_time / f->lost : 100,
                 right = f->verdicts ? 100.0 * f->right / f->verdicts : 100;
    printf("  %-24s %5.1f %% of %4u %-7s %5.1f %% of %4u %-7s %3u of %3u %s\n", what, in_time, f->lost,
           bars ? judge(in_time >= 95) : "", right, f->verdicts, bars ? judge(right >= 95) : "", f->at_noise,
           f->updates, bars ? judge(f->at_noise == f->updates) : "");
}

static void print_still(const char *what, const struct drift_figures *f, bool bars)
{
    printf("  %-24s %u false alarms in %.0f GPU-days (bar: 1 in 1,000) %s\n", what, f->alarms, f->gpu_days,
           bars ? judge(f->alarms * 1000 <= f->gpu_days) : "");
}

static void detect(const struct adl_scenario *wear, uint64_t first)
{
    struct adl_scenario still = *wear;
    rest(&still);
    for (const struct mode *mode = modes; mode < modes + MODES; mode++) {
        struct drift_figures worn = {0}, drawn = {0}, generated = {0}, none = {0}, none_drawn = {0};
        for (uint64_t s = first; s < first + SEEDS; s++)
            trial(wear, s, mode, &worn);
        for (uint64_t s = first; s < first + RANDOM; s++) {
            try_drawn(drift_trial_scenario(s), false, s, mode, &drawn);
            try_drawn(drift_trial_generated(s), false, s, mode, &generated);
        }
        for (uint64_t s = first; s < first + STILL_SEEDS; s++)
            trial(&still, s, mode, &none);
        for (uint64_t s = first; s < first + STILL_DRAWN; s++)
            try_drawn(drift_trial_generated(s), true, s, mode, &none_drawn);
        printf("\n%s%s; seeds from %llu\n", mode->name, mode->bars ? "" : " (not judged)", (unsigned long long)first);
        printf("  %-24s %-24s %-24s %s\n", "", "in time (bar 95)", "localized (bar 95)",
               "updates at the noise (bar: all)");
        print("wear64", &worn, mode->bars);
        print("20 random", &drawn, mode->bars);
        print("20 generated", &generated, mode->bars);
        print_still("wear64, still", &none, mode->bars);
        print_still("100 generated, still", &none_drawn, mode->bars);
    }
}

/* ---- decisions ---- */

enum knowledge { UNCORRECTED, CORRECTED, TOLD, KNOWLEDGE };

/* The true factors of this moment, through the fields that the engine sets itself otherwise. */
static void tell_truth(struct adl_engine *engine, const struct adl_scenario *scenario, struct adl_world_sim *world)
{
    const struct adl_cluster *cluster = &scenario->cluster;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const uint32_t type = adl_gpu_type_of(cluster, g);
        const double of_type = world->drift.update_factor[type];
        adl_engine_set_gpu_speed(engine, g, adl_true_drift_speed(&world->drift, g, type) / of_type);
        adl_engine_set_type_speed(engine, type, of_type);
    }
}

static double mean_jct(const struct adl_scenario *scenario, const char *policy, uint64_t seed, enum knowledge knows)
{
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_metrics *metrics = NULL;
    struct adl_error err = {{0}};
    struct adl_result result;
    int status = adl_world_sim_create(scenario, seed, ADL_REGIME_DECLARED, &world, &err);
    if (status || adl_metrics_create(scenario->lambda, &metrics))
        exit(1);
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = adl_policy_find(policy),
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = seed,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .ignore_drift = knows != CORRECTED,
                                             .observers = {adl_metrics_observer(metrics)},
                                             .observer_count = 1};
    status = adl_engine_create(&config, &engine, &err);
    while (status == 0 && (status = adl_engine_step(engine, &err)) > 0) {
        if (knows == TOLD)
            tell_truth(engine, scenario, world);
        status = 0;
    }
    if (status) {
        fprintf(stderr, "bench_drift: %s\n", err.text);
        exit(1);
    }
    adl_metrics_result(metrics, engine, &(struct adl_lower_bound){0}, &result);
    adl_engine_destroy(engine);
    adl_metrics_destroy(metrics);
    adl_world_sim_destroy(world);
    return result.value[ADL_METRIC_JCT_MEAN];
}

static void decide(const struct adl_scenario *wear, uint64_t first)
{
    static const char *const policies[] = {"srtf", "allox", "gogh"};
    struct adl_scenario reports = *wear, still;
    reports.telemetry.progress = true;
    still = reports;
    rest(&still);
    printf("\nmean JCT in s on wear64 with progress, %d seeds from %llu\n", DECISION_SEEDS, (unsigned long long)first);
    printf("  policy  uncorrected  corrected  told the truth\n");
    for (int p = 0; p < 3; p++) {
        double jct[KNOWLEDGE] = {0}, without[2] = {0};
        for (uint64_t s = 0; s < DECISION_SEEDS; s++) {
            for (int k = 0; k < KNOWLEDGE; k++)
                jct[k] += mean_jct(&reports, policies[p], first + s, (enum knowledge)k) / DECISION_SEEDS;
            for (int k = 0; k < 2; k++)
                without[k] += mean_jct(&still, policies[p], first + s, (enum knowledge)k) / DECISION_SEEDS;
        }
        printf(
            "  %-7s %11.0f %10.0f %15.0f  corrected / told %.3f (bar 1.05) %s; without drift %+.2f %% (bar 0.5) %s\n",
            policies[p], jct[UNCORRECTED], jct[CORRECTED], jct[TOLD], jct[CORRECTED] / jct[TOLD],
            judge(jct[CORRECTED] <= 1.05 * jct[TOLD]), 100 * (without[1] / without[0] - 1),
            judge(without[1] <= 1.005 * without[0]));
    }
}

int main(int argc, char **argv)
{
    struct adl_error err = {{0}};
    struct adl_scenario wear;
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : TEST_SEED;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/wear64.yaml", &wear, NULL, &err)) {
        fprintf(stderr, "bench_drift: %s\n", err.text);
        return 1;
    }
    compare_tests();
    detect(&wear, first);
    decide(&wear, first);
    adl_scenario_clear(&wear);
    return missed > 0;
}
