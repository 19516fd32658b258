/* bench_performance: limits of this machine, ours beside them and peers beside that, from one run of about two
 * minutes. Writes docs/performance.md and docs/pictures/performance.svg, and says on standard output how far it is. */
#include "agree_gavel.h"
#include "cost_plot.h"
#include "decision_cost.h"
#include "environment_rate.h"
#include "experiment/run.h"
#include "sim_cost.h"

#include <adlro/adlro.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE      ADL_SOURCE_DIR "/docs/performance.md"
#define PICTURE   ADL_SOURCE_DIR "/docs/pictures/performance.svg"
#define SCENARIOS ADL_SOURCE_DIR "/scenarios/"
#define PHILLY    ADL_SOURCE_DIR "/../shared/data/philly/philly_2017_sep_oct.csv"

#define BUDGET_S 170 /* of processor time, after which no point of a curve and no row of a peer is begun */

static FILE *page;

static const char *const policies[COST_PLOT_LINES] = {"fcfs", "sjf", "easy"};

static double spent_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void die(const char *text)
{
    fprintf(stderr, "bench_performance: %s\n", text);
    exit(1);
}

/* To the page, and to whoever waits for it. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    static char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs(text, page);
    fputs(text, stdout);
    fflush(stdout);
}

static const char *verdict(bool met)
{
    return met ? "met" : "missed";
}

/* ---- events ---- */

static void say_events(void)
{
    struct adl_scenario scenario;
    struct adl_error err;
    if (adl_scenario_load(SCENARIOS "paper16.yaml", &scenario, NULL, &err))
        die(err.text);
    const double bare = sim_bare_rate(64, true), full = sim_bare_rate(65536, true);
    say("## Events\n\n"
        "The limit is the hold model: a loop that takes the earliest of 64 pending events and puts it back after an "
        "exponential\ntime, which is the least that any discrete-event simulator does. With 65,536 pending, about the "
        "jobs that run on\n100,000 GPUs, it does %.2f times as many.\n\n"
        "| loop | M events/s | of the limit | bar |\n|---|---|---|---|\n| hold model | %.2f | 1 | |\n",
        full / bare, bare * 1e-6);
    for (int p = 0; p < COST_PLOT_LINES; p++) {
        const double rate = 1e9 / sim_ns_per_event(&scenario, policies[p]);
        say("| `paper16` under `%s` | %.2f | %.2f | %s%s |\n", policies[p], rate * 1e-6, rate / bare,
            p == 0 ? "0.50: " : "", p == 0 ? verdict(rate >= 0.5 * bare) : "");
    }
    say("\n");
    adl_scenario_clear(&scenario);
}

/* ---- sizes ---- */

static double measure(bool gpus, double size, const char *policy)
{
    if (spent_s() > BUDGET_S)
        return 0;
    if (!gpus)
        return sim_cost_ns(8, (uint64_t)size, policy);
    return sim_cost_ns((uint32_t)(size / 8), size < 1e4 ? 200000 : 1000000, policy);
}

static void say_row(const struct cost_plot *plot, int line, double bar)
{
    const double *ns = plot->ns[line];
    double least = 1e18, most = 0;
    say("| `%s` |", plot->names[line]);
    for (uint32_t i = 0; i < plot->count; i++) {
        if (ns[i] > 0)
            say(" %.0f |", ns[i]);
        else
            say(" not measured |");
        least = ns[i] > 0 && ns[i] < least ? ns[i] : least;
        most = ns[i] > most ? ns[i] : most;
    }
    const double last = ns[plot->count - 1];
    if (ns[0] > 0 && last > 0) {
        const double ratio = bar < 2 ? most / least : last / ns[0];
        say(" %.2f | %.1f: %s |\n", ratio, bar, verdict(ratio <= bar));
    } else {
        say(" | %.1f: not measured |\n", bar);
    }
}

static void say_sizes(const char *axis, const char *ratio, bool gpus, double bar, struct cost_plot *plot)
{
    static const double gpu_sizes[] = {16, 96, 1008, 10000, 100000}, job_sizes[] = {1e4, 1e5, 1e6, 1e7};
    *plot = (struct cost_plot){.axis = axis, .count = gpus ? 5 : 4};
    say("| ns of an event, %s |", axis);
    for (uint32_t i = 0; i < plot->count; i++) {
        plot->size[i] = gpus ? gpu_sizes[i] : job_sizes[i];
        say(" %.0f |", plot->size[i]);
    }
    say(" %s | bar |\n|---|", ratio);
    for (uint32_t i = 0; i < plot->count + 2; i++)
        say("---|");
    say("\n");
    for (int p = 0; p < COST_PLOT_LINES; p++) {
        plot->names[p] = policies[p];
        for (uint32_t i = 0; i < plot->count; i++)
            plot->ns[p][i] = measure(gpus, plot->size[i], policies[p]);
        say_row(plot, p, bar);
    }
    say("\n");
}

static void say_scale(void)
{
    struct cost_plot plots[2];
    say("## Sizes\n\nNodes of eight GPUs of two types at a load that keeps the queue short; up to 1,000 GPUs 200,000 "
        "jobs, beyond a\nmillion. Numbers of jobs are those of 64 GPUs.\n\n");
    say_sizes("GPUs", "last / first", true, 2, &plots[0]);
    say_sizes("jobs", "most / least", false, 1.3, &plots[1]);
    say("![cost of an event against GPUs and jobs](pictures/performance.svg)\n\n");
    FILE *picture = fopen(PICTURE, "w");
    if (!picture)
        die("cannot write " PICTURE);
    cost_plot_write(picture, plots, 2);
    if (fclose(picture))
        die("cannot write " PICTURE);
}

/* ---- environments ---- */

static double say_rate(const char *scenario, bool plain, uint32_t count, uint64_t decisions, double one)
{
    char path[256];
    snprintf(path, sizeof path, SCENARIOS "%s.yaml", scenario);
    const double rate =
        environment_rate(path, plain ? ADLRO_OBSERVATION_PLAIN : ADLRO_OBSERVATION_ALL, count, decisions);
    say("| `%s` | %s | %u | %.0f | %.2f |", scenario, plain ? "plain" : "with the plan", count, rate,
        one > 0 ? rate / one : 1.0);
    return rate;
}

static void say_environments(void)
{
    static const uint32_t counts[] = {1, 8, 64, 256};
    double one = 0, rate = 0;
    say("## Environments\n\nDecisions of [environments](environment.md) for each second of processor time, by random "
        "actions. With the plan, a\ndecision comes with that of policy `adlro` for up to 64 waiting jobs, which is "
        "most of "
        "its cost. The bar of a million a\nsecond is that of the [plain](environment.md#the-plain-observation) "
        "observation, which has no plan.\n\n"
        "| scenario | observation | environments | decisions/s | relative | bar |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < 4; i++) {
        rate = say_rate("paper16", false, counts[i], i < 2 ? 20000 : 50000, one);
        one = i == 0 ? rate : one;
        say(" %s%s |\n", i == 3 ? "0.90: " : "", i == 3 ? verdict(rate >= 0.9 * one) : "");
    }
    rate = say_rate("mixed64", false, 1, 6000, one);
    say(" 0.33: %s |\n", verdict(3 * rate >= one));
    one = say_rate("paper16", true, 1, 300000, 0);
    say(" 1 M on two cores: %s |\n", verdict(2 * one >= 1e6));
    say_rate("paper16", true, 256, 300000, one);
    say("  |\n\n");
}

/* ---- peers ---- */

static const struct agree_peer_info *hardest_peer(const struct agree_row *row)
{
    const struct agree_peer_info *hardest = NULL;
    for (uint32_t p = 0; p < AGREE_PEERS; p++)
        if (row->peers >> p & 1 && (!hardest || agree_peers[p].jobs_per_s > hardest->jobs_per_s))
            hardest = &agree_peers[p];
    return hardest;
}

static double best_rate(const struct agree_row *row, struct peer_trace *trace)
{
    struct adl_scenario scenario;
    struct adl_error err;
    struct peer_answer answer;
    double best = 0, all_s = 0;
    if (agree_scenario(row, &scenario, &err))
        die(err.text);
    for (int run = 0; run == 0 || (run < 100 && all_s < 0.2); run++) {
        if (agree_run(row, &scenario, trace, &answer, &err))
            die(err.text);
        const double rate = (double)answer.jobs / answer.wall_s;
        all_s += answer.wall_s;
        best = rate > best ? rate : best;
    }
    adl_scenario_clear(&scenario);
    return best;
}

/* How many times as fast as the peer this row has to be; 0 = no bar. */
static double bar_of(const struct agree_row *row, const struct agree_peer_info *peer)
{
    const bool preemptive = strcmp(row->policy, "las") == 0 || strcmp(row->policy, "srtf") == 0;
    if (preemptive && strcmp(peer->name, "Tiresias") == 0)
        return 500;
    return strcmp(row->policy, "easy") == 0 && strcmp(peer->name, "RLScheduler") == 0 ? 100 : 0;
}

static void say_ratio(double rate, const char *peer, double theirs, double bar)
{
    say(" %.0f | %s %.0f | %.0f |", rate, peer, theirs, rate / theirs);
    if (bar > 0)
        say(" %.0f: %s |\n", bar, verdict(rate >= bar * theirs));
    else
        say(" |\n");
}

static void say_row_of_peer(const struct agree_row *row)
{
    struct peer_trace trace;
    struct adl_error err;
    const struct agree_peer_info *peer = hardest_peer(row);
    if (!peer || row->demand == AGREE_SHOWN || spent_s() > BUDGET_S || peer_read(row->trace, &trace, &err))
        return;
    const double rate = best_rate(row, &trace);
    say("| %s, %u × %u | `%s`, %s |", row->trace, row->nodes, row->gpus, row->policy, row->rule);
    say_ratio(rate, peer->name, peer->jobs_per_s, bar_of(row, peer));
    free(trace.jobs);
}

static void say_gavel(void)
{
    const double theirs = 60; /* the best seen of Gavel's simulator */
    struct agree_gavel gavel;
    struct adl_error err;
    if (spent_s() > BUDGET_S || agree_gavel_open(&gavel, &err))
        return;
    for (size_t i = 0; i < AGREE_GAVEL_ROWS; i++) {
        struct agree_gavel_row row = agree_gavel_rows[i];
        double best = 0, all_s = 0;
        row.seeds = 1;
        for (int run = 0; run == 0 || (run < 100 && all_s < 0.2); run++) {
            struct agree_gavel_answer ours = {0};
            if (agree_gavel_run(&gavel, &row, &ours, &err))
                die(err.text);
            const double rate = (double)ours.jobs / ours.wall_s;
            all_s += ours.wall_s;
            best = rate > best ? rate : best;
        }
        say("| g300, 108 | `gavel`, %s |", row.rule);
        say_ratio(best, "Gavel", theirs, 500);
    }
    agree_gavel_close(&gavel);
}

static void say_peers(void)
{
    struct peer_trace trace;
    struct adl_error err;
    say("## Peers\n\nThe traces of [agreement.md](agreement.md), on which ours gives their answers: jobs a second of "
        "ours, and the best\nthat was seen of the fastest of the simulators that answer the same. The bars are 500 × "
        "Tiresias for `las` and `srtf`,\n500 × Gavel, and 100 × RLScheduler for `easy`.\n\n");
    if (peer_read(agree_rows[0].trace, &trace, &err)) {
        say("The traces of peers are not here.\n\n");
        return;
    }
    free(trace.jobs);
    say("| trace, GPUs | policy and rule | jobs/s | peer, jobs/s | ratio | bar |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof agree_rows / sizeof *agree_rows; i++)
        say_row_of_peer(&agree_rows[i]);
    say_gavel();
    say("\n");
}

/* ---- decisions ---- */

/* Processor time of a replay of Philly's two months; 0 without the trace. */
static double philly_s(const char *policy)
{
    struct adl_scenario scenario;
    struct adl_trace_supply *supply = NULL;
    struct adl_error err;
    struct adl_result result;
    const double start_s = spent_s();
    if (access(PHILLY, R_OK) != 0)
        return 0;
    if (adl_cluster_load(SCENARIOS "clusters/philly.yaml", &scenario, &err))
        die(err.text);
    const struct adl_trace_plan plan = {.path = PHILLY, .scenario = &scenario};
    if (adl_trace_supply_create(&plan, &supply, &err))
        die(err.text);
    const struct adl_job_supply jobs = adl_trace_supply_jobs(supply);
    const struct adl_run run = {.scenario = &scenario,
                                .policy = adl_policy_find(policy),
                                .seed = 1,
                                .regime = ADL_REGIME_LEARNED,
                                .supply = &jobs};
    if (adl_run(&run, &result, &err))
        die(err.text);
    adl_trace_supply_destroy(supply);
    adl_scenario_clear(&scenario);
    return spent_s() - start_s;
}

static void say_decisions(void)
{
    static const char *const slow[] = {"conservative", "gogh"};
    const uint32_t place = DECISION_PLACES - 1;
    struct adl_scenario scenario;
    decision_place_load(place, &scenario);
    say("## Slow decisions\n\nThe two policies whose decisions cost most, on %s. Most calls of a\npolicy are the last "
        "of "
        "their instant and find nothing more to do, so the median says little.\n\n"
        "| policy | p50, ms | p99, ms | longest, ms | decisions | bar of p99 |\n|---|---|---|---|---|---|\n",
        decision_place_name(place));
    for (int i = 0; i < 2; i++) {
        const struct decision_cost cost = decision_cost(place, &scenario, adl_policy_find(slow[i]));
        const double bar_us = decision_bar_us(place, slow[i]);
        say("| `%s` | %.3f | %.1f | %.1f | %zu |", slow[i], cost.p50_us * 1e-3, cost.p99_us * 1e-3, cost.most_us * 1e-3,
            cost.count);
        if (bar_us > 0)
            say(" %.0f ms: %s |\n", bar_us * 1e-3, verdict(cost.p99_us <= bar_us));
        else
            say(" to be measurable: met |\n");
    }
    adl_scenario_clear(&scenario);
    const double replay_s = philly_s("conservative");
    if (replay_s > 0)
        say("\n`conservative` replays Philly's two months (52,849 jobs on 624 GPUs, regime `learned`) in %.1f s of "
            "processor time,\nreading included; the bar is 5 s: %s.\n\n",
            replay_s, verdict(replay_s < 5));
    else
        say("\nPhilly's trace is not here.\n\n");
}

int main(int argc, char **argv)
{
    page = fopen(PAGE, "w");
    if (!page)
        die("cannot write " PAGE);
    sim_warm_up();
    say("# Performance\n\n`bench/run all` measures and writes this page in one run of two minutes of processor time: "
        "each limit "
        "of\nthe machine, ours beside it, and peers beside that. Times are processor time, but those\nof peers' traces "
        "wall time. Figures of one run can be "
        "compared with each other; "
        "those of two runs cannot.\n\n");
    for (int i = 1; i < argc; i++)
        say("%s\n%s", argv[i], i + 1 == argc ? "\n" : "");
    say_events();
    say_peers();
    say_scale();
    say_decisions();
    say_environments();
    say("Where the instructions of an event go, and what was done about it, is in "
        "[architecture.md](architecture.md#what-makes-it-fast).\n");
    if (fclose(page))
        die("cannot write " PAGE);
    printf("\n%.0f s of processor time\n", spent_s());
    return 0;
}
