/* bench_sim: how fast the simulator is, as ratios to a bare event loop measured in the same run, and whether its cost
 * per event stays flat with the number of GPUs and of jobs. Prints a table; a bar that is missed is marked and makes it
 * exit 1. */
#include "scenario/scenario.h"
#include "sim_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static void die(const struct adl_error *err)
{
    fprintf(stderr, "bench_sim: %s\n", err->text);
    exit(1);
}

static void bench_rate(void)
{
    struct adl_scenario scenario;
    struct adl_error err;
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/paper16.yaml", &scenario, NULL, &err))
        die(&err);
    const double uniform = sim_bare_rate(64, false), bare = sim_bare_rate(64, true);
    const double rate = 1e9 / sim_ns_per_event(&scenario, "fcfs");
    printf("bare heap loop, 64 pending         %8.2f M events/s   (%.2f with uniform times)\n", bare * 1e-6,
           uniform * 1e-6);
    printf("paper16 under fcfs                 %8.2f M events/s   %.2f of the bare loop (bar 0.50: %s)\n\n",
           rate * 1e-6, rate / bare, verdict(rate >= 0.5 * bare));
    adl_scenario_clear(&scenario);
}

static void bench_scale(const char *policy)
{
    const double small = sim_cost_ns(2, 200000, policy), large = sim_cost_ns(12500, 1000000, policy);
    printf("%-5s  16 GPUs %6.0f ns/event   100,000 GPUs %6.0f ns/event   ratio %.2f (bar 2: %s)\n", policy, small,
           large, large / small, verdict(large <= 2 * small));
    double least = 1e18, most = 0;
    printf("       jobs:");
    for (uint64_t jobs = 10000; jobs <= 10000000; jobs *= 10) {
        const double ns = sim_cost_ns(8, jobs, policy);
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
        printf("  %llu %.0f ns", (unsigned long long)jobs, ns);
        fflush(stdout);
    }
    printf("   spread %.0f %% (bar 30: %s)\n", 100 * (most / least - 1), verdict(most <= 1.3 * least));
}

int main(void)
{
    static const char *const policies[] = {"fcfs", "sjf", "easy"};
    sim_warm_up();
    bench_rate();
    for (int i = 0; i < 3; i++)
        bench_scale(policies[i]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("\npeak memory %.0f MiB\n", (double)usage.ru_maxrss / 1024);
    return missed > 0;
}
