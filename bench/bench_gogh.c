/* bench_gogh: results of the policy gogh: energy, allocation efficiency, SLAs and completion times against fcfs,
 * static, easy and least-loaded on seeds that nothing was tuned on, each policy with its own estimates, from a cold
 * start; whether it improves within a run; what each part contributes; the curve between energy and time; and decision
 * times with 512 jobs on 256 GPUs. gavel108 needs measurements beside the project and is skipped without them. A bar
 * that is missed is marked and makes it exit 1. The bars of energy and efficiency stand in a summary of GOGH, not in
 * its abstract (docs/references.md). */
#include "experiment/comparison.h"
#include "experiment/run.h"
#include "metrics/statistics.h"
#include "policy/gogh/gogh.h"
#include "predict/estimates.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEASUREMENTS ADL_SOURCE_DIR "/../shared/data/gavel/simulation_throughputs.json"

enum { SEEDS = 30, CURVE_SEEDS = 10, FIRST_SEED = 1, PROFILES = 128, QUARTERS = 4 };

static int missed;

static void die(const char *text)
{
    fprintf(stderr, "bench_gogh: %s\n", text);
    exit(1);
}

static const char *judge(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static bool load(const char *name, struct adl_scenario *ret)
{
    char path[512];
    struct adl_error err = {{0}};
    const bool measured = strcmp(name, "gavel108") == 0;
    if (measured && access(MEASUREMENTS, R_OK) != 0) {
        printf("\n%s: SKIPPED, its measurements are not beside the project\n", name);
        return false;
    }
    snprintf(path, sizeof path, "%s/scenarios/%s.yaml", ADL_SOURCE_DIR, name);
    if (adl_scenario_load_measured(path, measured ? MEASUREMENTS : NULL, ret, NULL, &err))
        die(err.text);
    return true;
}

static void compare(const struct adl_scenario *scenario, const char *const *names, uint32_t count, uint32_t seeds,
                    struct adl_comparison *ret)
{
    const struct adl_policy_ops *policies[8];
    struct adl_error err = {{0}};
    for (uint32_t i = 0; i < count; i++)
        policies[i] = adl_policy_find(names[i]);
    const struct adl_comparison_request request = {.scenario = scenario,
                                                   .policies = policies,
                                                   .policy_count = count,
                                                   .first_seed = FIRST_SEED,
                                                   .seed_count = seeds,
                                                   .regime = ADL_REGIME_DECLARED,
                                                   .threads = 2};
    if (adl_comparison_run(&request, ret, &err))
        die(err.text);
}

/* ---- quality ---- */

static double mean(const struct adl_policy_result *policy, int metric)
{
    return policy->metrics[metric].mean;
}

static void print_policies(const struct adl_comparison *all)
{
    printf("  %-13s %14s %9s %12s %12s %9s %9s\n", "policy", "energy MJ", "+-", "efficiency %", "SLA met %", "JCT s",
           "+-");
    for (uint32_t p = 0; p < all->policy_count; p++) {
        const struct adl_policy_result *it = &all->policies[p];
        const struct adl_summary *energy = &it->metrics[ADL_METRIC_ENERGY], *jct = &it->metrics[ADL_METRIC_JCT_MEAN];
        printf("  %-13s %14.1f %9.1f %12.1f %12.1f %9.0f %9.0f\n", it->name, energy->mean * 1e-6,
               (energy->hi - energy->mean) * 1e-6, 100 * mean(it, ADL_METRIC_EFFICIENCY),
               100 * mean(it, ADL_METRIC_SLA), jct->mean, jct->hi - jct->mean);
    }
}

static void print_bars(const struct adl_comparison *all)
{
    const struct adl_policy_result *gogh = &all->policies[all->policy_count - 1];
    for (uint32_t p = 0; p + 1 < all->policy_count; p++) {
        const struct adl_policy_result *other = &all->policies[p];
        const double energy = mean(gogh, ADL_METRIC_ENERGY) / mean(other, ADL_METRIC_ENERGY) - 1,
                     efficiency = mean(gogh, ADL_METRIC_EFFICIENCY) / mean(other, ADL_METRIC_EFFICIENCY) - 1,
                     sla = mean(gogh, ADL_METRIC_SLA) - mean(other, ADL_METRIC_SLA);
        double a[SEEDS], b[SEEDS];
        for (uint32_t s = 0; s < all->seed_count; s++) {
            a[s] = gogh->runs[s].value[ADL_METRIC_ENERGY];
            b[s] = other->runs[s].value[ADL_METRIC_ENERGY];
        }
        struct adl_paired paired;
        if (adl_compare_pairs(a, b, all->seed_count, &paired))
            die("out of memory");
        printf("  against %-13s energy %+6.1f %% (bar -19.3) %s, p = %.2g;  efficiency %+6.1f %% (bar +27.6) %s;  SLA "
               "%+5.1f points %s\n",
               other->name, 100 * energy, judge(energy <= -0.193), paired.wilcoxon_p, 100 * efficiency,
               judge(efficiency >= 0.276), 100 * sla, judge(sla >= 0));
        if (strcmp(other->name, "easy") == 0) {
            const double jct = mean(gogh, ADL_METRIC_JCT_MEAN) / mean(other, ADL_METRIC_JCT_MEAN) - 1;
            printf("  against %-13s mean JCT %+6.1f %% (bar +10) %s\n", other->name, 100 * jct, judge(jct <= 0.10));
        }
    }
    printf("  SLA attainment %.1f %% (bar 95) %s\n", 100 * mean(gogh, ADL_METRIC_SLA),
           judge(mean(gogh, ADL_METRIC_SLA) >= 0.95));
}

/* ---- within a run ---- */

/* What the estimates said before each measurement, by quarter of the run: a second set of estimates that sees the same
 * events as the policy's own. */
struct watch {
    struct adl_estimates *estimates;
    uint32_t *profile, *spanning; /* [slot] */
    size_t profile_capacity, spanning_capacity;
    struct {
        int64_t time_us;
        double error;
        bool first; /* of its cell */
    } * seen;
    size_t count, capacity;
};

static void note_progress(struct watch *watch, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const uint32_t other = adl_state_neighbour(state, event->job);
    const uint32_t profile =
        adl_state_spans_nodes(state, event->job) ? watch->spanning[event->job] : watch->profile[event->job];
    const uint32_t neighbour = other == ADL_NONE ? ADL_NONE : watch->profile[other];
    struct adl_estimate before;
    adl_estimates_find(watch->estimates, profile, job->type, neighbour, &before);
    if (before.steps_per_s > 0 && event->steps_per_s > 0) {
        if (adl_grow((void **)&watch->seen, &watch->capacity, watch->count + 1, sizeof *watch->seen))
            die("out of memory");
        watch->seen[watch->count].time_us = event->time_us;
        watch->seen[watch->count].error = fabs(log(event->steps_per_s / before.steps_per_s));
        watch->seen[watch->count++].first = before.measurements == 0;
    }
    adl_estimates_measure(watch->estimates, profile, job->type, neighbour, event->steps_per_s);
}

static int watch_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct watch *watch = self;
    if (event->kind == ADL_EVENT_SUBMIT) {
        const struct adl_job_spec *spec = event->submit.spec;
        if (adl_grow((void **)&watch->profile, &watch->profile_capacity, event->job + 1u, sizeof *watch->profile) ||
            adl_grow((void **)&watch->spanning, &watch->spanning_capacity, event->job + 1u, sizeof *watch->spanning))
            return ADL_ENOMEM;
        watch->profile[event->job] = adl_estimates_profile(watch->estimates, spec, false);
        watch->spanning[event->job] = spec->gpus > 1 && spec->flags & ADL_JOB_SPAN
                                          ? adl_estimates_profile(watch->estimates, spec, true)
                                          : watch->profile[event->job];
    } else if (event->kind == ADL_EVENT_PROGRESS) {
        note_progress(watch, event, state);
    }
    return 0;
}

static void print_learning(const struct adl_scenario *scenario)
{
    double sum[2][QUARTERS] = {{0}}, count[2][QUARTERS] = {{0}};
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + CURVE_SEEDS; seed++) {
        struct watch watch = {0};
        struct adl_error err = {{0}};
        struct adl_result result;
        const struct adl_observer observer = {.self = &watch, .event = watch_event};
        const struct adl_run run = {.scenario = scenario,
                                    .policy = &adl_policy_gogh,
                                    .seed = seed,
                                    .regime = ADL_REGIME_DECLARED,
                                    .observer = &observer};
        if (adl_estimates_create(&scenario->cluster, PROFILES, NULL, 0, &watch.estimates, &err) ||
            adl_run(&run, &result, &err))
            die(err.text);
        for (size_t i = 0; i < watch.count; i++) {
            const int q = (int)(4e-6 * (double)watch.seen[i].time_us / result.value[ADL_METRIC_MAKESPAN]);
            const int quarter = q < QUARTERS ? q : QUARTERS - 1;
            sum[0][quarter] += watch.seen[i].error;
            count[0][quarter] += 1;
            sum[1][quarter] += watch.seen[i].first ? watch.seen[i].error : 0;
            count[1][quarter] += watch.seen[i].first;
        }
        adl_estimates_destroy(watch.estimates);
        free(watch.profile);
        free(watch.spanning);
        free(watch.seen);
    }
    const char *const names[2] = {"of all measurements", "of cells never measured before"};
    for (int kind = 0; kind < 2; kind++) {
        printf("  mean |ln(measured / estimated)| %-31s", names[kind]);
        for (int q = 0; q < QUARTERS; q++)
            printf(" %.3f (%.0f)", count[kind][q] > 0 ? sum[kind][q] / count[kind][q] : 0.0, count[kind][q]);
        printf("%s\n",
               kind == 0 ? (sum[0][2] / count[0][2] < sum[0][0] / count[0][0] ? "  falls: met" : "  MISSED") : "");
    }
    missed += !(sum[0][2] / count[0][2] < sum[0][0] / count[0][0]);
}

static void print_quarters(const struct adl_comparison *all)
{
    static const char *const names[ADL_RUN_QUARTER_FIGURES] = {"J for a useful GPU-s", "allocation efficiency %"};
    static const double scale[ADL_RUN_QUARTER_FIGURES] = {1, 100};
    for (int f = 0; f < ADL_RUN_QUARTER_FIGURES; f++)
        for (uint32_t p = 0; p < all->policy_count; p++) {
            const struct adl_policy_result *it = &all->policies[p];
            const bool gogh = p + 1 == all->policy_count;
            if (!gogh && strcmp(it->name, "easy") != 0)
                continue;
            printf("  %-24s %-6s", names[f], it->name);
            for (int q = 0; q < ADL_RUN_QUARTERS; q++)
                printf(" %7.1f", scale[f] * it->quarters[q][f].mean);
            const double first = it->quarters[0][f].mean, third = it->quarters[2][f].mean;
            if (gogh)
                printf("  third against first %+5.1f %%, p = %.2g: %s", 100 * (third / first - 1),
                       it->third_versus_first[f].wilcoxon_p, judge(f == 0 ? third < first : third > first));
            printf("\n");
        }
}

static void quality(const char *name)
{
    static const char *const names[] = {"fcfs", "static", "easy", "least-loaded", "gogh"};
    struct adl_scenario scenario = {0};
    struct adl_comparison all = {0};
    if (!load(name, &scenario))
        return;
    printf("\n%s, seeds %d to %d, each policy with what it knows itself, starting cold\n", name, FIRST_SEED,
           FIRST_SEED + SEEDS - 1);
    compare(&scenario, names, 5, SEEDS, &all);
    print_policies(&all);
    print_bars(&all);
    printf("  quarters of a run                    first  second   third  fourth\n");
    print_quarters(&all);
    print_learning(&scenario);
    adl_comparison_clear(&all);
    adl_scenario_clear(&scenario);
}

/* ---- the curve, and the parts ---- */

static void one(const struct adl_scenario *scenario, const char *text)
{
    static const char *const names[] = {"gogh"};
    struct adl_comparison all = {0};
    compare(scenario, names, 1, CURVE_SEEDS, &all);
    const struct adl_policy_result *it = &all.policies[0];
    printf("  %-26s %9.1f %12.1f %9.1f %9.0f\n", text, mean(it, ADL_METRIC_ENERGY) * 1e-6,
           100 * mean(it, ADL_METRIC_EFFICIENCY), 100 * mean(it, ADL_METRIC_SLA), mean(it, ADL_METRIC_JCT_MEAN));
    adl_comparison_clear(&all);
}

static void curve(void)
{
    static const double worths[] = {200, 300, 450, 700, 1000, 1500, 3000};
    struct adl_scenario scenario = {0};
    char text[64], settings[64];
    load("mixed64", &scenario);
    printf("\nmixed64, seeds %d to %d           energy MJ efficiency %%  SLA met     JCT s\n", FIRST_SEED,
           FIRST_SEED + CURVE_SEEDS - 1);
    for (size_t i = 0; i < sizeof worths / sizeof *worths; i++) {
        snprintf(settings, sizeof settings, "share=true\nworth_w=%g", worths[i]);
        scenario.policy.settings = settings;
        snprintf(text, sizeof text, "worth_w %g", worths[i]);
        one(&scenario, text);
    }
    scenario.policy.settings = "share=true\ngreedy=true";
    one(&scenario, "without the exact solver");
    scenario.policy.settings = "share=true\nstay=true";
    one(&scenario, "without moving jobs");
    scenario.policy.settings = "share=false";
    one(&scenario, "without sharing GPUs");
    scenario.policy.settings = "share=true\npower_caps=0.6,0.8";
    one(&scenario, "with power caps 0.6, 0.8");
    scenario.policy.settings = "share=true\npower_limit_w=8000";
    one(&scenario, "with a limit of 8 kW");
    adl_scenario_clear(&scenario);
}

/* ---- decisions at 256 GPUs and 512 jobs ---- */

static struct {
    double us[1 << 16];
    size_t count;
    uint64_t solved;
    struct adl_ilp_model_counts counts;
} probe;

/* Only calls that solved a program count: the others carry out what it said. */
static int timed_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const uint32_t live = state->queue.count + state->running_jobs;
    const int64_t start_ns = adl_clock_ns();
    const int status = adl_policy_gogh.decide(policy, state, plan);
    const int64_t end_ns = adl_clock_ns();
    const uint64_t solved = adl_gogh_counts(policy).solved;
    if (solved > probe.solved && live >= 384 && live <= 640 && probe.count < sizeof probe.us / sizeof *probe.us)
        probe.us[probe.count++] = (double)(end_ns - start_ns) * 1e-3;
    probe.solved = solved;
    return status;
}

static void keep_counts(void *policy)
{
    if (policy)
        probe.counts = adl_gogh_counts(policy);
    adl_policy_gogh.destroy(policy);
}

/* mixed64 four times over, with a backlog of 640 jobs that runs down. */
static void decisions(void)
{
    struct adl_scenario scenario = {0};
    struct adl_cluster cluster = {0};
    struct adl_error err = {{0}};
    struct adl_result result;
    load("mixed64", &scenario);
    for (uint32_t t = 0; t < scenario.cluster.type_count; t++)
        if (adl_cluster_add_type(&cluster, &scenario.cluster.types[t], &err))
            die(err.text);
    cluster.network_gbs = scenario.cluster.network_gbs;
    for (uint32_t copy = 0; copy < 4; copy++)
        for (uint32_t n = 0; n < scenario.cluster.node_count; n++) {
            const struct adl_node *node = &scenario.cluster.nodes[n];
            const struct adl_bank *bank = &scenario.cluster.banks[node->bank_first];
            if (adl_cluster_add_node(&cluster, node, &(struct adl_bank_spec){bank->type, bank->gpu_count}, 1, &err))
                die(err.text);
        }
    adl_cluster_clear(&scenario.cluster);
    scenario.cluster = cluster;
    scenario.workload.jobs = 640;
    scenario.workload.arrivals.process = ADL_ARRIVAL_BACKLOG;
    struct adl_policy_ops timed = adl_policy_gogh;
    timed.decide = timed_decide;
    timed.destroy = keep_counts;
    const struct adl_run run = {
        .scenario = &scenario, .policy = &timed, .seed = FIRST_SEED, .regime = ADL_REGIME_DECLARED};
    if (adl_run(&run, &result, &err))
        die(err.text);
    const double p50 = adl_quantile(probe.us, probe.count, 0.5), p99 = adl_quantile(probe.us, probe.count, 0.99);
    printf("\n%u GPUs, 384 to 640 jobs: %zu decisions, p50 %.1f ms, p99 %.1f ms (bar 50) %s\n", cluster.gpu_count,
           probe.count, p50 * 1e-3, p99 * 1e-3, judge(p99 < 50000));
    printf("  of %llu programs of the run %.1f %% proved best within 0.1 %%, in %.1f %% the greedy plan stood\n",
           (unsigned long long)probe.counts.solved, 100.0 * (double)probe.counts.proved / (double)probe.counts.solved,
           100.0 * (double)probe.counts.greedy / (double)probe.counts.solved);
    adl_scenario_clear(&scenario);
}

/* Without a name all parts, else the one named. */
int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!part || strcmp(part, "mixed64") == 0)
        quality("mixed64");
    if (!part || strcmp(part, "gavel108") == 0)
        quality("gavel108");
    if (!part || strcmp(part, "curve") == 0)
        curve();
    if (!part || strcmp(part, "decisions") == 0)
        decisions();
    return missed > 0;
}
