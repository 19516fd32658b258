#include "decision_cost.h"

#include "catalogue.h"
#include "metrics/statistics.h"
#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 1 << 20, SAMPLES_ENOUGH = 100, REPEATS = 5, ENOUGH_S = 15 };

static void die(const char *text)
{
    fprintf(stderr, "decision_cost: %s\n", text);
    exit(1);
}

/* ---- the probe: a policy's ops with decide timed ---- */

static struct {
    const struct adl_policy_ops *inner;
    uint32_t pending_min, pending_max; /* only such moments count */
    double *us;                        /* [SAMPLES_MAX] */
    size_t count;
    double end_s; /* of processor time, after which enough such moments are enough */
    bool cut;     /* a run that takes long was ended then */
} probe;

static double spent_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int timed_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const uint32_t pending = state->queue.count;
    const int64_t start_ns = adl_clock_ns();
    const int status = probe.inner->decide(policy, state, plan);
    const int64_t end_ns = adl_clock_ns();
    if (pending >= probe.pending_min && pending <= probe.pending_max && probe.count < SAMPLES_MAX)
        probe.us[probe.count++] = (double)(end_ns - start_ns) * 1e-3;
    probe.cut = probe.count >= SAMPLES_ENOUGH && spent_s() > probe.end_s;
    return probe.cut ? ADL_ENOMEM : status;
}

/* ---- places to decide in ---- */

static const struct place {
    const char *name;
    uint32_t pending_min, pending_max;
    uint64_t seeds; /* runs to a repeat */
    double p99_max; /* us, of dqn and adlro */
    double gogh_max;
    int nodes[3], jobs;
} places[DECISION_PLACES] = {
    {"paper16: 16 GPUs", 1, UINT32_MAX, 20, 100, 0, {0}, 0},
    {"256 GPUs, 400 to 512 jobs waiting", 400, 512, 4, 50000, 0, {16, 10, 6}, 640},
    {"10,000 GPUs, 500 to 1,500 jobs waiting", 500, 1500, 1, 2000, 50000, {625, 375, 250}, 7200},
};

const char *decision_place_name(uint32_t place)
{
    return places[place].name;
}

double decision_bar_us(uint32_t place, const char *policy)
{
    const bool learned = strcmp(policy, "dqn") == 0 || strcmp(policy, "adlro") == 0;
    return learned ? places[place].p99_max : strcmp(policy, "gogh") == 0 ? places[place].gogh_max : 0;
}

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

void decision_place_load(uint32_t place, struct adl_scenario *ret)
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

/* The best of several, each over the same runs: the machine has other work. */
struct decision_cost decision_cost(uint32_t at, const struct adl_scenario *scenario, const struct adl_policy_ops *ops)
{
    const struct place *place = &places[at];
    struct adl_policy_ops timed = *ops;
    struct decision_cost best = {1e18, 1e18, 1e18, 0};
    struct adl_error err = {{0}};
    probe.inner = ops;
    probe.pending_min = place->pending_min;
    probe.pending_max = place->pending_max;
    probe.cut = false;
    probe.end_s = spent_s() + ENOUGH_S;
    probe.us = malloc(SAMPLES_MAX * sizeof *probe.us);
    if (!probe.us)
        die("out of memory");
    timed.decide = timed_decide;
    const int64_t start_ns = adl_clock_ns();
    for (int r = 0; r < REPEATS && !probe.cut && (r == 0 || adl_clock_ns() - start_ns < INT64_C(3000000000)); r++) {
        probe.count = 0;
        for (uint64_t seed = 1; seed <= place->seeds && !probe.cut; seed++) {
            struct adl_result result;
            const struct adl_run run = {.scenario = scenario, .policy = &timed, .seed = seed};
            if (adl_run(&run, &result, &err) && !probe.cut)
                die(err.text);
        }
        if (probe.count == 0)
            die("no decision with so many jobs waiting");
        const double p50 = adl_quantile(probe.us, probe.count, 0.5);
        const double p99 = adl_quantile(probe.us, probe.count, 0.99), most = adl_quantile(probe.us, probe.count, 1);
        best.p50_us = p50 < best.p50_us ? p50 : best.p50_us;
        best.p99_us = p99 < best.p99_us ? p99 : best.p99_us;
        best.most_us = most < best.most_us ? most : best.most_us;
        best.count = probe.count;
    }
    free(probe.us);
    return best;
}
