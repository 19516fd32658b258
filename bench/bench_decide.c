/* bench_decide: how long a decision takes, for each policy: on paper16, on 256 GPUs with 512 jobs waiting, and on
 * 10,000 GPUs with 1,000 jobs waiting. dqn and adlro have bars. Only calls that had jobs to decide on count. Each
 * policy runs in a process of its own, so that a policy that takes too long is reported and the others are still
 * measured. A bar that is missed is marked and makes it exit 1. `bench_decide POLICY...` measures these only.
 */
#include "catalogue.h"
#include "experiment/run.h"
#include "metrics/statistics.h"
#include "policy/policy.h"
#include "scenario/scenario.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES_MAX = 1 << 20, REPEATS = 5, PATIENCE_S = 20 };

static void die(const char *text)
{
    fprintf(stderr, "bench_decide: %s\n", text);
    exit(1);
}

/* ---- the probe: a policy's ops with decide timed ---- */

static struct {
    const struct adl_policy_ops *inner;
    uint32_t pending_min, pending_max; /* only such moments count */
    double *us;                        /* [SAMPLES_MAX] */
    size_t count;
} probe;

static int timed_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const uint32_t pending = state->queue.count;
    const int64_t start_ns = adl_clock_ns();
    const int status = probe.inner->decide(policy, state, plan);
    const int64_t end_ns = adl_clock_ns();
    if (pending >= probe.pending_min && pending <= probe.pending_max && probe.count < SAMPLES_MAX)
        probe.us[probe.count++] = (double)(end_ns - start_ns) * 1e-3;
    return status;
}

/* ---- places to decide in ---- */

struct place {
    const char *name;
    uint32_t pending_min, pending_max;
    uint64_t seeds; /* runs to a repeat */
    double p99_max; /* us, of dqn and adlro */
    int nodes[3], jobs;
};

static const struct place places[] = {
    {"paper16: 16 GPUs", 1, UINT32_MAX, 20, 100, {0}, 0},
    {"256 GPUs, 400 to 512 jobs waiting", 400, 512, 4, 50000, {16, 10, 6}, 640},
    {"10,000 GPUs, 500 to 1,500 jobs waiting", 500, 1500, 1, 2000, {625, 375, 250}, 7200},
};

/* All jobs are there from the start: when 10,000 GPUs are full some 1,700 wait, and their number falls to none. */
static const char large[] =
    "name: large\ndescription: large\ncatalogue: catalogue.yaml\n"
    "cluster: {network_gbs: 10, nodes: [\n"
    "  {name: a, count: %d, cpu_cores: 64, memory_mib: 524288, link_gbs: 32, gpus: [{type: v100, count: 8}]},\n"
    "  {name: b, count: %d, cpu_cores: 64, memory_mib: 524288, link_gbs: 32, gpus: [{type: a100, count: 8}]},\n"
    "  {name: c, count: %d, cpu_cores: 64, memory_mib: 524288, link_gbs: 32, gpus: [{type: rtx6000, count: 8}]}]}\n"
    "workload: {jobs: %d, users: 100, arrivals: {process: backlog}, mix: [\n"
    "  {class: resnet50-b64, weight: 2, reference: v100, duration_s: {median: 600, sigma: 1, max: 3600},\n"
    "   cpu_cores: 4, gpus: [{count: 1, weight: 5}, {count: 2, weight: 2}, {count: 4, weight: 2}, {count: 8, weight: "
    "1}]},\n"
    "  {class: transformer-b64, weight: 1, reference: v100, duration_s: {median: 900, sigma: 1, max: 3600},\n"
    "   cpu_cores: 4, gpus: [{count: 1, weight: 8}, {count: 2, weight: 2}]},\n"
    "  {class: md-sim, weight: 1, reference: v100, duration_s: {median: 300, sigma: 1, max: 3600},\n"
    "   cpu_cores: 4, gpus: [{count: 1, weight: 8}, {count: 2, weight: 2}]}]}\n";

static void load(size_t place, struct adl_scenario *ret)
{
    const struct adl_scenario_source source = {.read = read_catalogue};
    const int *nodes = places[place].nodes;
    struct adl_error err = {{0}};
    char text[sizeof large + 64];
    const int size = snprintf(text, sizeof text, large, nodes[0], nodes[1], nodes[2], places[place].jobs);
    const int status = place == 0 ? adl_scenario_load(ADL_SOURCE_DIR "/scenarios/paper16.yaml", ret, NULL, &err)
                                  : adl_scenario_parse("large", text, (size_t)size, &source, ret, &err);
    if (status)
        die(err.text);
}

/* ---- a policy's line ---- */

struct figures {
    double p50_us, p99_us;
    size_t count;
};

/* The best of several, each over the same runs: the machine has other work. */
static struct figures measure(const struct place *place, const struct adl_scenario *scenario,
                              const struct adl_policy_ops *ops)
{
    struct adl_policy_ops timed = *ops;
    struct figures best = {1e18, 1e18, 0};
    struct adl_error err = {{0}};
    timed.decide = timed_decide;
    const int64_t start_ns = adl_clock_ns();
    for (int r = 0; r < REPEATS && (r == 0 || adl_clock_ns() - start_ns < INT64_C(3000000000)); r++) {
        probe.count = 0;
        for (uint64_t seed = 1; seed <= place->seeds; seed++) {
            struct adl_result result;
            const struct adl_run run = {.scenario = scenario, .policy = &timed, .seed = seed};
            if (adl_run(&run, &result, &err))
                die(err.text);
        }
        if (probe.count == 0)
            die("no decision with so many jobs waiting");
        const double p50 = adl_quantile(probe.us, probe.count, 0.5);
        const double p99 = adl_quantile(probe.us, probe.count, 0.99);
        best.p50_us = p50 < best.p50_us ? p50 : best.p50_us;
        best.p99_us = p99 < best.p99_us ? p99 : best.p99_us;
        best.count = probe.count;
    }
    return best;
}

static bool has_bar(const struct adl_policy_ops *ops)
{
    return strcmp(ops->name, "dqn") == 0 || strcmp(ops->name, "adlro") == 0;
}

/* In the child: prints the line; 0, or 1 if a bar is missed. */
static int show(const struct place *place, const struct adl_scenario *scenario, const struct adl_policy_ops *ops)
{
    probe.inner = ops;
    probe.pending_min = place->pending_min;
    probe.pending_max = place->pending_max;
    probe.us = malloc(SAMPLES_MAX * sizeof *probe.us);
    if (!probe.us)
        die("out of memory");
    const struct figures seen = measure(place, scenario, ops);
    const bool barred = has_bar(ops), met = seen.p99_us < place->p99_max;
    printf("  %-14s p50 %9.2f us   p99 %9.2f us   of %zu decisions", ops->name, seen.p50_us, seen.p99_us, seen.count);
    if (barred)
        printf("   (bar p99 %.0f us: %s)", place->p99_max, met ? "met" : "MISSED");
    putchar('\n');
    free(probe.us);
    return barred && !met;
}

/* True if a bar was missed. */
static bool bench_policy(const struct place *place, const struct adl_scenario *scenario,
                         const struct adl_policy_ops *ops)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        die("cannot start a process");
    if (child == 0) {
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = PATIENCE_S}, NULL); /* of processor time */
        exit(show(place, scenario, ops));
    }
    if (waitpid(child, &status, 0) != child)
        die("a process is lost");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
        const bool barred = has_bar(ops);
        printf("  %-14s not measured: one run takes more than %d s%s\n", ops->name, PATIENCE_S,
               barred ? " MISSED" : "");
        return barred;
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static bool is_asked(const char *policy, int argc, char **argv)
{
    bool asked = argc < 2;
    for (int i = 1; i < argc; i++)
        asked |= strcmp(argv[i], policy) == 0;
    return asked;
}

int main(int argc, char **argv)
{
    int missed = 0;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        struct adl_scenario scenario = {0};
        load(p, &scenario);
        printf("%s%s\n", p ? "\n" : "", places[p].name);
        for (uint32_t i = 0; i < adl_policy_count(); i++)
            if (is_asked(adl_policy_at(i)->name, argc, argv))
                missed += bench_policy(&places[p], &scenario, adl_policy_at(i));
        if (!adl_policy_find("dqn"))
            printf("  %-14s SKIPPED: this version has no such policy\n", "dqn");
        adl_scenario_clear(&scenario);
    }
    return missed > 0;
}
