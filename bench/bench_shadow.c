/* bench_shadow: simulated years with a shadow and its gate (src/twin): how often and how soon a better policy is
 * promoted, how often a worse one is, and what an injected bad model costs before it is rolled back. Prints whether
 * each bar is met, and exits 1 if one is missed.
 *
 *     bench/run shadow                 all
 *     build/bench/bench_shadow 4       a quarter of the runs: every fourth seed */
#include "year.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 700300, BETTER_DAYS = 90, WORSE_DAYS = 365, FORCE_RUNS = 100 };

static const double force_day = 30.4; /* in the morning */

static int missed;
static uint64_t stride = 1;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static bool run_year(const struct year_plan *plan, struct year_result *ret)
{
    struct adl_error err = {.text = ""};
    if (year_run(plan, ret, &err) == 0)
        return true;
    printf("%s against %s, seed %" PRIu64 ": %s: %s\n", plan->candidate->name, plan->in_force->name, plan->seed,
           verdict(false), err.text);
    return false;
}

struct tally {
    uint64_t runs, promoted, rolled_back;
    double days, longest; /* until it was promoted */
    double change, bias;  /* relative, of the mean time in the system; and the model's */
};

/* Promoted by the gate itself, within so many days. */
static struct tally promote_pair(const char *in_force, const char *candidate, uint64_t runs, double days)
{
    struct tally tally = {0};
    for (uint64_t i = 0; i < runs; i += stride) {
        struct year_result result;
        const struct year_plan plan = {.in_force = adl_policy_find(in_force),
                                       .candidate = adl_policy_find(candidate),
                                       .seed = SEED + i,
                                       .days = days,
                                       .automatic = true,
                                       .until_promoted = true};
        if (!run_year(&plan, &result))
            continue;
        tally.runs++;
        tally.promoted += result.promoted_day > 0;
        tally.days += result.promoted_day;
        tally.longest = result.promoted_day > tally.longest ? result.promoted_day : tally.longest;
        tally.change += result.evidence.candidate[ADL_SHADOW_JCT] / result.evidence.in_force[ADL_SHADOW_JCT] - 1;
        tally.bias += result.evidence.bias.mean / result.evidence.real[ADL_SHADOW_JCT];
    }
    tally.days /= (double)(tally.promoted + !tally.promoted);
    tally.change /= (double)(tally.runs + !tally.runs);
    tally.bias /= (double)(tally.runs + !tally.runs);
    return tally;
}

/* What the change really is: each policy for a year. */
static double true_change(const char *in_force, const char *candidate)
{
    struct year_result a, b;
    struct year_plan plan = {
        .in_force = adl_policy_find(in_force), .seed = SEED, .days = WORSE_DAYS, .without_shadow = true};
    const bool first = run_year(&plan, &a);
    plan.in_force = adl_policy_find(candidate);
    return first && run_year(&plan, &b) ? b.jct_s / a.jct_s - 1 : 0;
}

static const struct pair {
    const char *in_force, *candidate;
    uint64_t runs;
} better[] = {{"easy", "adlro", 60}, {"fcfs", "easy", 60}, {"fcfs", "sjf", 60}},
  worse[] = {{"adlro", "easy", 40}, {"sjf", "fcfs", 40}, {"easy", "conservative", 40}};

static void print_pair(const struct pair *pair, const struct tally *tally)
{
    printf("%-8s -> %-12s promoted %3" PRIu64 " of %3" PRIu64
           ", after %4.1f days (longest %4.1f); mean JCT %+.1f %%, in "
           "truth %+.1f %%; model %+.2f %%\n",
           pair->in_force, pair->candidate, tally->promoted, tally->runs, tally->days, tally->longest,
           100 * tally->change, 100 * true_change(pair->in_force, pair->candidate), 100 * tally->bias);
    fflush(stdout);
}

static void bench_promotion(void)
{
    uint64_t runs = 0, promoted = 0;
    for (size_t i = 0; i < sizeof better / sizeof *better; i++) {
        const struct tally tally = promote_pair(better[i].in_force, better[i].candidate, better[i].runs, BETTER_DAYS);
        print_pair(&better[i], &tally);
        runs += tally.runs;
        promoted += tally.promoted;
    }
    printf("better within %d days: %.1f %% of %" PRIu64 " runs (bar 95 %%): %s\n", BETTER_DAYS,
           100 * (double)promoted / (double)runs, runs, verdict((double)promoted >= 0.95 * (double)runs));
    runs = promoted = 0;
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
        const struct tally tally = promote_pair(worse[i].in_force, worse[i].candidate, worse[i].runs, WORSE_DAYS);
        print_pair(&worse[i], &tally);
        runs += tally.runs;
        promoted += tally.promoted;
    }
    printf("worse in a year: %.1f %% of %" PRIu64 " runs (bar 1 %%): %s\n", 100 * (double)promoted / (double)runs, runs,
           verdict((double)promoted <= 0.01 * (double)runs));
}

/* A model whose predictions are upside down decides from a morning on, by force. */
static void bench_injection(void)
{
    const struct adl_policy_ops bad = year_bad_policy();
    struct year_plan plan = {
        .in_force = adl_policy_find("easy"), .candidate = &bad, .days = force_day + 4, .force_day = force_day};
    double cost = 0, stays = 0, hours = 0;
    uint64_t runs = 0, rolled_back = 0;
    for (uint64_t i = 0; i < FORCE_RUNS; i += stride) {
        struct year_result with, without, left;
        plan.seed = SEED + i;
        plan.without_shadow = plan.stays = false;
        const bool done = run_year(&plan, &with);
        plan.stays = true;
        const bool left_done = done && run_year(&plan, &left);
        plan.without_shadow = true;
        if (!left_done || !run_year(&plan, &without))
            continue;
        runs++;
        rolled_back += with.rolled_back_day > 0;
        hours += with.rolled_back_day > 0 ? 24 * (with.rolled_back_day - with.promoted_day) : 0;
        cost += with.day_jct_s / without.day_jct_s - 1;
        stays += left.day_jct_s / without.day_jct_s - 1;
    }
    cost /= (double)(runs + !runs);
    stays /= (double)(runs + !runs);
    printf("bad model: rolled back in %" PRIu64 " of %" PRIu64
           " runs, after %.1f h; it costs %.2f %% of the day's mean "
           "JCT (bar 2 %%), %.1f %% if it stays: %s\n",
           rolled_back, runs, hours / (double)(rolled_back + !rolled_back), 100 * cost, 100 * stays,
           verdict(cost <= 0.02 && rolled_back == runs));
}

int main(int argc, char **argv)
{
    stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    stride = stride > 0 ? stride : 1;
    bench_injection();
    bench_promotion();
    return missed > 0;
}
