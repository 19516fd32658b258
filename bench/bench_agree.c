/* bench_agree: what other people's simulators answer beside what ours does, and how fast each is. A row that must agree
 * and does not makes it exit 1; a bar of speed that is missed is marked. */
#include "agree_gavel.h"

#define ROWS (sizeof agree_rows / sizeof *agree_rows)

/* Freeing a block of this size tells the C library to keep that much of what is freed later: the kernel's work of
 * handing out the same pages for each run anew is not simulation. */
#define WARM_BYTES (24u << 20)

static int failed, slow;

static void die(const struct adl_error *err)
{
    fprintf(stderr, "bench_agree: %s\n", err->text);
    exit(1);
}

/* The best of some runs, all of which must answer alike. */
static struct peer_answer ask(const struct agree_row *row, const struct adl_scenario *scenario,
                              struct peer_trace *trace)
{
    struct peer_answer best = {0};
    struct adl_error err;
    double spent_s = 0;
    for (int run = 0; run == 0 || (run < 1000 && spent_s < 0.3); run++) {
        struct peer_answer answer;
        if (agree_run(row, scenario, trace, &answer, &err))
            die(&err);
        spent_s += answer.wall_s;
        if (run == 0 || answer.wall_s < best.wall_s)
            best = answer;
    }
    return best;
}

static void name_peers(uint32_t peers, char *ret, size_t size)
{
    size_t length = 0;
    ret[0] = '\0';
    for (uint32_t p = 0; p < AGREE_PEERS && length < size; p++)
        if (peers >> p & 1)
            length += (size_t)snprintf(ret + length, size - length, "%s%s", length ? ", " : "", agree_peers[p].name);
}

static const char *verdict(const struct agree_row *row, const struct peer_answer *ours)
{
    const bool met = agree_meets(row, ours);
    if (row->demand == AGREE_SHOWN)
        return met ? "exact" : "other reading";
    failed += !met;
    if (!met)
        return "DIFFERS";
    return "exact";
}

/* Against the peer of the row with the highest bar: the one that is hardest to be so many times as fast as. */
static void print_speed(const struct agree_row *row, const struct peer_answer *ours)
{
    const struct agree_peer_info *hardest = NULL;
    for (uint32_t p = 0; p < AGREE_PEERS; p++)
        if (row->peers >> p & 1 &&
            (!hardest || agree_peers[p].jobs_per_s * agree_peers[p].bar > hardest->jobs_per_s * hardest->bar))
            hardest = &agree_peers[p];
    if (!hardest)
        return;
    const double rate = (double)ours->jobs / ours->wall_s, ratio = rate / hardest->jobs_per_s;
    const bool missed = ratio<hardest->bar, demanded = hardest->bar> 0 && row->demand != AGREE_SHOWN;
    printf("%9.2f ms %9.2f ms %9.0f %11s %6.0f %7.0f x", (double)ours->jobs / hardest->jobs_per_s * 1e3,
           ours->wall_s * 1e3, rate, hardest->name, hardest->jobs_per_s, ratio);
    if (demanded)
        printf(" (bar %.0f: %s)", hardest->bar, missed ? "MISSED" : "met");
    slow += demanded && missed;
}

static void print_row(const struct agree_row *row)
{
    struct peer_trace trace;
    struct adl_scenario scenario;
    struct adl_error err;
    char who[80];
    name_peers(row->peers, who, sizeof who);
    printf("%-9s %u x %-2u %-12s %-23s %-46s ", row->trace, row->nodes, row->gpus, row->policy, row->rule, who);
    if (!adl_policy_find(row->policy)) {
        printf("there is no policy %s\n", row->policy);
        return;
    }
    const int status = peer_read(row->trace, &trace, &err);
    if (status > 0)
        adl_fail(&err, ADL_EIO, "there is no " PEER_TRACES "%s.csv", row->trace);
    if (status || agree_scenario(row, &scenario, &err))
        die(&err);
    const struct peer_answer ours = ask(row, &scenario, &trace);
    const double jct_s = (double)ours.jct_us * 1e-6, makespan_s = (double)ours.makespan_us * 1e-6;
    printf("%9lld %9.0f %+8.3f %%  %7lld %7.0f %-13s ", (long long)row->jct_s, jct_s,
           100.0 * (jct_s - (double)row->jct_s) / (double)row->jct_s, (long long)row->makespan_s, makespan_s,
           verdict(row, &ours));
    print_speed(row, &ours);
    printf("\n");
    fflush(stdout);
    adl_scenario_clear(&scenario);
    free(trace.jobs);
}

/* Gavel's own trace; their simulator takes 10 to 60 jobs a second. */
static void print_gavel(void)
{
    struct agree_gavel gavel;
    struct adl_error err;
    const int status = agree_gavel_open(&gavel, &err);
    if (status > 0) {
        printf("SKIPPED: " AGREE_GAVEL_TRACE " or its throughputs are not there\n");
        return;
    }
    if (status < 0)
        die(&err);
    printf("%-9s %-7s %-27s %11s %9s %9s %10s %9s %9s %-13s %9s\n", "trace", "policy", "Gavel's rule", "mean JCT s",
           "ours", "+-", "difference", "span s", "ours", "", "jobs/s");
    const double theirs_per_s = 60; /* the best seen of Gavel's simulator */
    for (size_t i = 0; i < AGREE_GAVEL_ROWS; i++) {
        const struct agree_gavel_row *row = &agree_gavel_rows[i];
        struct agree_gavel_answer ours = {0};
        if (agree_gavel_run(&gavel, row, &ours, &err))
            die(&err);
        const bool met = agree_gavel_meets(row, &ours);
        failed += !met && row->demand == AGREE_PERCENT;
        const double ours_per_s = (double)ours.jobs / ours.wall_s;
        const bool missed = ours_per_s < 1000 * theirs_per_s;
        slow += missed;
        printf("%-9s %-7s %-27s %11.1f %9.1f %9.1f %+8.2f %%  %8.0f %9.0f %-13s %9.0f %6.0f x%s\n", "g300", "gavel",
               row->rule, row->jct_s, ours.jct_s, ours.spread_s, 100 * (ours.jct_s / row->jct_s - 1), row->makespan_s,
               ours.makespan_s,
               met                            ? "within 1 %"
               : row->demand == AGREE_PERCENT ? "DIFFERS"
                                              : "not within",
               ours_per_s, ours_per_s / theirs_per_s, missed ? " (bar 1000: MISSED)" : " (bar 1000: met)");
    }
    agree_gavel_close(&gavel);
}

int main(void)
{
    struct peer_trace trace;
    struct adl_error err;
    const int status = peer_read(agree_rows[0].trace, &trace, &err);
    if (status > 0) {
        printf("SKIPPED: the peers' traces are not in " PEER_TRACES "\n");
        return 0;
    }
    if (status < 0)
        die(&err);
    free(trace.jobs);
    void *volatile warm = malloc(WARM_BYTES); /* else the compiler sees that nobody needs it */
    free(warm);
    printf("%-9s %-6s %-12s %-23s %-46s %9s %9s %10s  %7s %7s %-13s %12s %12s %9s %18s %9s\n", "trace", "GPUs",
           "policy", "rule", "who", "sum JCT s", "ours", "difference", "span s", "ours", "", "their wall", "ours",
           "jobs/s", "their jobs/s", "ratio");
    for (size_t i = 0; i < ROWS; i++)
        print_row(&agree_rows[i]);
    print_gavel();
    printf("%d rows that must agree do not; %d bars of speed are missed\n", failed, slow);
    return failed > 0;
}
