/* bench_replay: how long real traces take, reading included: Philly's two months under every policy and LCG-2005 under
 * easy. The traces are beside the project; without them it says so. A bar that is missed is marked and makes it exit 1.
 */
#include "experiment/run.h"
#include "experiment/trace_supply.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DATA     ADL_SOURCE_DIR "/../shared/data/"
#define CLUSTERS ADL_SOURCE_DIR "/scenarios/clusters/"

static int missed;

static void die(const struct adl_error *err)
{
    fprintf(stderr, "bench_replay: %s\n", err->text);
    exit(1);
}

static void time_policy(const struct adl_scenario *scenario, const struct adl_job_supply *supply, const char *trace,
                        const char *policy, double bar_s)
{
    const struct adl_run run = {.scenario = scenario,
                                .policy = adl_policy_find(policy),
                                .seed = 1,
                                .regime = ADL_REGIME_DECLARED,
                                .supply = supply};
    struct adl_result result;
    struct adl_error err;
    if (adl_run(&run, &result, &err))
        die(&err);
    const double wall_s = result.value[ADL_METRIC_WALL];
    missed += wall_s > bar_s;
    printf("%-10s %-13s %8.2f s  %10.0f jobs/s   mean JCT %9.0f s   (bar %.0f s: %s)\n", trace, policy, wall_s,
           (double)result.jobs / wall_s, result.value[ADL_METRIC_JCT_MEAN], bar_s, wall_s <= bar_s ? "met" : "MISSED");
    fflush(stdout);
}

static bool bench_trace(const char *trace, const char *path, const char *cluster, const char *only)
{
    static const char *const fast[] = {"fcfs", "sjf", "easy", "las", "qssf"};
    struct adl_scenario scenario;
    struct adl_trace_supply *supply = NULL;
    struct adl_error err;
    if (access(path, R_OK) != 0) {
        printf("%-10s skipped: %s is not there\n", trace, path);
        return false;
    }
    if (adl_cluster_load(cluster, &scenario, &err))
        die(&err);
    const struct adl_trace_plan plan = {.path = path, .scenario = &scenario};
    if (adl_trace_supply_create(&plan, &supply, &err))
        die(&err);
    const struct adl_job_supply jobs = adl_trace_supply_jobs(supply);
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const char *policy = adl_policy_at(p)->name;
        double bar_s = only ? 5 : 60;
        for (size_t i = 0; !only && i < sizeof fast / sizeof *fast; i++)
            bar_s = strcmp(policy, fast[i]) == 0 ? 3 : bar_s;
        if (!only || strcmp(policy, only) == 0)
            time_policy(&scenario, &jobs, trace, policy, bar_s);
    }
    adl_trace_supply_destroy(supply);
    adl_scenario_clear(&scenario);
    return true;
}

int main(void)
{
    struct rusage usage;
    bench_trace("LCG-2005", DATA "swf/LCG-2005-1.swf.gz", CLUSTERS "lcg2005.yaml", "easy");
    bench_trace("Philly", DATA "philly/philly_2017_sep_oct.csv", CLUSTERS "philly.yaml", NULL);
    getrusage(RUSAGE_SELF, &usage);
    printf("peak memory %.0f MiB\n", (double)usage.ru_maxrss / 1024);
    return missed > 0;
}
