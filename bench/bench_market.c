/* bench_market: whether policy market's cost of a job stays flat with the number of GPUs: the mix and the load of
 * scale100k on 1,000, 10,000 and 100,000 of them. Counts the time in the policy's own functions, less that of reading
 * the clock. Prints a table; a bar that is missed is marked and makes it exit 1. */
#include "experiment/run.h"
#include "policy/policy.h"
#include "scenario/scenario.h"
#include "scenario/shipped.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>

#define JOBS   400000 /* several for each GPU: the first ones also pay for memory that nobody has touched */
#define SIZES  3
#define ROUNDS 3

static int64_t spent_ns, calls;

static void die(const struct adl_error *err)
{
    fprintf(stderr, "bench_market: %s\n", err->text);
    exit(1);
}

static int64_t timed_rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    const int64_t start_ns = adl_clock_ns();
    const int64_t rank = adl_policy_market.rank(policy, state, slot);
    spent_ns += adl_clock_ns() - start_ns;
    calls++;
    return rank;
}

static int timed_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    const int64_t start_ns = adl_clock_ns();
    const int status = adl_policy_market.decide(policy, state, plan);
    spent_ns += adl_clock_ns() - start_ns;
    calls++;
    return status;
}

static void timed_observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    const int64_t start_ns = adl_clock_ns();
    adl_policy_market.observe(policy, event, state);
    spent_ns += adl_clock_ns() - start_ns;
    calls++;
}

static double clock_cost_ns(void)
{
    const int64_t start_ns = adl_clock_ns();
    for (int i = 0; i < 1000000; i++)
        (void)adl_clock_ns();
    return (double)(adl_clock_ns() - start_ns) * 1e-6;
}

/* scale100k with its nodes and arrivals divided. */
static void build(uint32_t divisor, const char *settings, struct adl_scenario *ret)
{
    const struct adl_scenario_source source = {.read = adl_shipped_read};
    struct adl_error err;
    struct adl_text text = {0};
    char *whole = NULL;
    size_t size = 0;
    if (adl_shipped_read(NULL, "scale100k.yaml", &whole, &size, &err))
        die(&err);
    for (const char *at = whole; *at;) {
        unsigned count;
        int length = 0;
        if (sscanf(at, "count: %u, cpu_cores%n", &count, &length) == 1 && length > 0) {
            adl_text_printf(&text, "count: %u, cpu_cores", count / divisor);
            at += length;
        } else {
            adl_text_char(&text, *at++);
        }
    }
    if (adl_text_status(&text) || adl_scenario_parse("scale100k.yaml", text.data, text.size, &source, ret, &err))
        die(&err);
    ret->workload.jobs = JOBS;
    ret->workload.arrivals.rate_per_h /= divisor;
    ret->policy.settings = settings;
    adl_text_clear(&text);
    free(whole);
}

/* Nanoseconds of a job, in one run. */
static double measure(const struct adl_scenario *scenario, double clock_ns)
{
    struct adl_policy_ops ops = adl_policy_market;
    ops.rank = timed_rank;
    ops.decide = timed_decide;
    ops.observe = timed_observe;
    const struct adl_run run = {.scenario = scenario, .policy = &ops, .seed = 1, .regime = ADL_REGIME_DECLARED};
    struct adl_result result;
    struct adl_error err;
    spent_ns = calls = 0;
    if (adl_run(&run, &result, &err))
        die(&err);
    return ((double)spent_ns - clock_ns * (double)calls) / (double)scenario->workload.jobs;
}

/* For a profiler: one run of plain bids. Under callgrind with --toggle-collect=timed_decide it counts the instructions
 * and the cache misses of decisions alone. */
static int run_once(uint32_t divisor, uint64_t jobs)
{
    struct adl_scenario scenario;
    build(divisor, "learned=false", &scenario);
    scenario.workload.jobs = jobs;
    printf("%.0f ns a job\n", measure(&scenario, 0));
    scenario.policy.settings = NULL;
    adl_scenario_clear(&scenario);
    return 0;
}

/* The least of several runs for each size, the sizes in turn: others use this machine too. */
static bool bench(const char *name, const char *settings, double clock_ns)
{
    static const uint32_t divisors[SIZES] = {100, 10, 1};
    double least[SIZES] = {0};
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SIZES; i++) {
            struct adl_scenario scenario;
            build(divisors[i], settings, &scenario);
            const double ns = measure(&scenario, clock_ns);
            least[i] = round == 0 || ns < least[i] ? ns : least[i];
            scenario.policy.settings = NULL;
            adl_scenario_clear(&scenario);
        }
    const double ratio = least[SIZES - 1] / least[0];
    printf("%-14s %12.0f %12.0f %12.0f   %.2f times (bar 1.3: %s)\n", name, least[0], least[1], least[2], ratio,
           ratio <= 1.3 ? "met" : "MISSED");
    return ratio <= 1.3;
}

/* bench_market [DIVISOR JOBS] */
int main(int argc, char **argv)
{
    if (argc == 3)
        return run_once((uint32_t)atoi(argv[1]), strtoull(argv[2], NULL, 10));
    const double clock_ns = clock_cost_ns();
    printf("%-14s %12s %12s %12s   ns a job, %d jobs, at this many GPUs\n", "market", "1,000", "10,000", "100,000",
           JOBS);
    const bool plain = bench("plain bids", "learned=false", clock_ns);
    const bool learned = bench("learned bids", "learned=true", clock_ns);
    return plain && learned ? 0 : 1;
}
