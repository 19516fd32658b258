#include "report/arena/arena_table.h"

#include "report/figure.h"
#include "report/paragraphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 12

/* ---- columns ---- */

/* Characters of the cell at a place of a line; *ret_size its bytes. Cells end with a tab, the last with the line. */
static size_t cell_at(const char *at, size_t *ret_size)
{
    size_t count = 0;
    *ret_size = strcspn(at, "\t\n");
    for (size_t i = 0; i < *ret_size; i++)
        count += ((unsigned char)at[i] & 0xc0) != 0x80;
    return count;
}

static void measure(const char *lines, size_t widths[COLUMNS_MAX])
{
    size_t column = 0, size;
    memset(widths, 0, COLUMNS_MAX * sizeof *widths);
    for (const char *at = lines; *at; at += size + 1) {
        const size_t count = cell_at(at, &size);
        if (count > widths[column])
            widths[column] = count;
        column = at[size] == '\n' ? 0 : column + 1;
    }
}

/* Lines of cells, aligned: bit c of left: column c is aligned to the left. Clears the lines. */
static void put_columns(struct adl_text *text, struct adl_text *lines, unsigned left)
{
    size_t widths[COLUMNS_MAX], column = 0, size;
    text->failed = text->failed || lines->failed;
    if (lines->size > 0 && !lines->failed) {
        measure(lines->data, widths);
        for (const char *at = lines->data; *at; at += size + 1) {
            const size_t pad = widths[column] - cell_at(at, &size);
            const bool last = at[size] == '\n';
            adl_text_put(text, column > 0 ? "  " : "");
            adl_text_repeat(text, ' ', left & 1u << column ? 0 : pad);
            adl_text_bytes(text, at, size);
            adl_text_repeat(text, ' ', left & 1u << column && !last ? pad : 0);
            adl_text_put(text, last ? "\n" : "");
            column = last ? 0 : column + 1;
        }
    }
    adl_text_clear(lines);
}

/* ---- figures ---- */

static void put_duration(struct adl_text *text, double time_s)
{
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, adl_figure_print_duration(number, time_s));
}

static void put_energy(struct adl_text *text, double energy_j)
{
    char number[ADL_FIGURE_SIZE];
    const struct adl_scale scale = adl_scale_energy(energy_j);
    adl_text_printf(text, "%s %s", adl_figure_print(number, energy_j, scale), scale.unit);
}

static void put_count(struct adl_text *text, double count)
{
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, adl_figure_print_short(number, count));
}

static void put_number(struct adl_text *text, double value, int decimals)
{
    if (isfinite(value))
        adl_text_fixed(text, value, decimals);
    else
        adl_text_char(text, '-');
}

/* "0.912 <tab> 0.88 to 0.95", the interval only if there is one. */
static void put_ratio(struct adl_text *text, const struct adl_arena_ratio *ratio, bool interval)
{
    put_number(text, ratio->ratio, 3);
    adl_text_char(text, '\t');
    if (!interval || !isfinite(ratio->ratio)) {
        adl_text_char(text, '-');
        return;
    }
    put_number(text, ratio->lo, 3);
    adl_text_put(text, " to ");
    put_number(text, ratio->hi, 3);
}

static const struct adl_arena_cell *cell_of(const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    return &arena->cells[(size_t)workload * arena->policy_count + policy];
}

static bool ran(const struct adl_arena *arena, uint32_t workload)
{
    return !arena->workloads[workload].skipped[0];
}

/* ---- blocks ---- */

static const char *verdict_of(const struct adl_arena *arena, uint32_t index)
{
    static const char *const names[] = {"draw", "win", "loss"};
    const struct adl_arena_cell *ours = cell_of(arena, index, arena->ours);
    if (ours->state == ADL_ARENA_OVER_BUDGET)
        return "over budget";
    if (ours->unfinished > 0)
        return "unfinished";
    return arena->workloads[index].seed_count > 1 ? names[arena->workloads[index].verdict] : "one run";
}

static double jct_of(const struct adl_arena_cell *cell)
{
    return cell->state == ADL_ARENA_DONE ? cell->metrics[ADL_METRIC_JCT_MEAN].mean : (double)NAN;
}

/* Of the peer and of ours, in one unit. */
static void put_jcts(struct adl_text *text, double peer_s, double ours_s)
{
    const double both_s[] = {peer_s, ours_s};
    const struct adl_scale scale = adl_scale_time(fmax(peer_s, ours_s));
    char number[ADL_FIGURE_SIZE];
    for (int i = 0; i < 2; i++)
        adl_text_printf(text, "%s%s%s\t", adl_figure_print(number, both_s[i], scale), isfinite(both_s[i]) ? " " : "",
                        isfinite(both_s[i]) ? scale.unit : "");
}

static void put_workload(struct adl_text *text, const struct adl_arena *arena, uint32_t index)
{
    const struct adl_arena_workload *workload = &arena->workloads[index];
    const bool peer = workload->best_peer != ADL_NONE, test = workload->seed_count > 1;
    char p[ADL_FIGURE_SIZE];
    adl_text_printf(text, "%s\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%s\t", workload->name, workload->gpus,
                    workload->jobs, workload->seed_count, peer ? arena->policies[workload->best_peer].name : "-");
    put_jcts(text, peer ? jct_of(cell_of(arena, index, workload->best_peer)) : (double)NAN,
             jct_of(cell_of(arena, index, arena->ours)));
    put_ratio(text, &workload->ours, test);
    adl_text_printf(text, "\t%s\t%s\n",
                    test && isfinite(workload->ours.ratio) ? adl_figure_print_p(p, workload->ours.p) : "-",
                    verdict_of(arena, index));
}

static void put_workloads(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_text lines = {0};
    adl_text_printf(&lines,
                    "\t\tjobs a\t\t\tmean JCT\tmean JCT\tratio to\t95 %%\t\t\n"
                    "workload\tGPUs\tseed\tseeds\tbest peer\tof it\tof %s\tbest peer\tinterval\tp\t\n",
                    arena->policies[arena->ours].name);
    for (uint32_t w = 0; w < arena->workload_count; w++)
        if (ran(arena, w))
            put_workload(&lines, arena, w);
    put_columns(text, &lines, 1u << 0 | 1u << 4 | 1u << 10);
}

static void put_costs(struct adl_text *text, const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    const struct adl_arena_cell *cell = cell_of(arena, workload, policy);
    adl_text_printf(text, "%s\t", arena->policies[policy].name);
    if (cell->state != ADL_ARENA_DONE) {
        adl_text_put(text, "-\t-\t-\t-\t-\t-\n");
        return;
    }
    put_duration(text, cell->metrics[ADL_METRIC_JCT_P99].mean);
    adl_text_char(text, '\t');
    put_count(text, cell->evictions);
    adl_text_char(text, '\t');
    put_duration(text, cell->lost_gpu_s);
    adl_text_char(text, '\t');
    put_energy(text, cell->metrics[ADL_METRIC_ENERGY].mean);
    adl_text_char(text, '\t');
    if (arena->workloads[workload].sla)
        put_number(text, 100 * cell->metrics[ADL_METRIC_SLA].mean, 1);
    else
        adl_text_char(text, '-');
    adl_text_put(text, arena->workloads[workload].sla ? " %\t" : "\t");
    put_number(text, cell->metrics[ADL_METRIC_DECISION_P99].mean, 2);
    adl_text_char(text, '\n');
}

/* Two lines a workload: the best peer and ours. */
static void put_all_costs(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_text lines = {0};
    adl_text_put(&lines, "\t\t\tevictions\tGPU time\tenergy\tSLA\tdecision\n"
                         "workload\tpolicy\tp99 JCT\ta run\tlost\ta run\tmet\tp99 \u00b5s\n");
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        const uint32_t peer = arena->workloads[w].best_peer;
        if (!ran(arena, w))
            continue;
        adl_text_printf(&lines, "%s\t", arena->workloads[w].name);
        if (peer != ADL_NONE) {
            put_costs(&lines, arena, w, peer);
            adl_text_char(&lines, '\t');
        }
        put_costs(&lines, arena, w, arena->ours);
    }
    put_columns(text, &lines, 1u << 0 | 1u << 1);
}

/* ---- all policies ---- */

/* The least ratio first; policies without one last. */
static void sort_policies(const struct adl_arena *arena, uint32_t *order)
{
    for (uint32_t i = 0; i < arena->policy_count; i++) {
        const double ratio = arena->policies[i].versus_peer.ratio;
        uint32_t at = i;
        for (; at > 0; at--) {
            const double before = arena->policies[order[at - 1]].versus_peer.ratio;
            if (!(ratio < before || (isfinite(ratio) && !isfinite(before))))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

static void put_policy(struct adl_text *text, const struct adl_arena *arena, uint32_t policy)
{
    uint32_t best = 0, over = 0;
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        best += arena->workloads[w].best_peer == policy;
        over += cell_of(arena, w, policy)->state == ADL_ARENA_OVER_BUDGET;
    }
    adl_text_printf(text, "%s%s\t%" PRIu32 "\t", arena->policies[policy].name, policy == arena->ours ? " (ours)" : "",
                    arena->policies[policy].workloads);
    put_ratio(text, &arena->policies[policy].versus_peer, arena->policies[policy].workloads > 1);
    adl_text_char(text, '\t');
    if (arena->policies[policy].ours)
        adl_text_char(text, '-');
    else
        adl_text_printf(text, "%" PRIu32, best);
    adl_text_printf(text, "\t%" PRIu32 "\n", over);
}

static void put_policies(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_text lines = {0};
    uint32_t *order = calloc(arena->policy_count, sizeof *order);
    if (!order) {
        text->failed = true;
        return;
    }
    sort_policies(arena, order);
    adl_text_put(&lines, "\t\tratio to\t95 %\tbest\tover\npolicy\tworkloads\tbest peers\tinterval\tpeer\tbudget\n");
    for (uint32_t i = 0; i < arena->policy_count; i++)
        put_policy(&lines, arena, order[i]);
    put_columns(text, &lines, 1u << 0);
    free(order);
}

/* ---- what did not run, and the totals ---- */

static void put_missing(struct adl_text *text, const struct adl_arena *arena)
{
    for (uint32_t w = 0; w < arena->workload_count; w++)
        if (!ran(arena, w))
            adl_text_printf(text, "skipped: %s, because it %s\n", arena->workloads[w].name,
                            arena->workloads[w].skipped);
    for (uint32_t w = 0; w < arena->workload_count; w++)
        for (uint32_t p = 0; p < arena->policy_count; p++)
            if (cell_of(arena, w, p)->state == ADL_ARENA_OVER_BUDGET)
                adl_text_printf(text, "over budget: %s on %s\n", arena->policies[p].name, arena->workloads[w].name);
    for (uint32_t w = 0; w < arena->workload_count; w++)
        for (uint32_t p = 0; p < arena->policy_count; p++)
            if (cell_of(arena, w, p)->unfinished + cell_of(arena, w, p)->refused > 0)
                adl_text_printf(text,
                                "faulty: %s on %s left %" PRIu64 " jobs unfinished, %" PRIu64
                                " of its commands were refused\n",
                                arena->policies[p].name, arena->workloads[w].name, cell_of(arena, w, p)->unfinished,
                                cell_of(arena, w, p)->refused);
}

static void put_total(struct adl_text *text, const struct adl_arena_total *total)
{
    if (total->workloads == 0)
        return;
    adl_text_printf(text, "%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t",
                    total->group ? total->group : "all", total->workloads, total->wins, total->draws, total->losses,
                    total->below);
    put_ratio(text, &total->ratio, total->workloads > 1);
    adl_text_char(text, '\n');
}

static void put_totals(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_text lines = {0};
    adl_text_put(&lines, "\t\t\t\t\tratio\tgeometric\t95 %\n"
                         "group\tworkloads\twins\tdraws\tlosses\tbelow 1\tmean ratio\tinterval\n");
    for (int g = 0; g < ADL_ARENA_GROUPS; g++)
        put_total(&lines, &arena->groups[g]);
    put_total(&lines, &arena->all);
    put_columns(text, &lines, 1u << 0);
}

/* Each regime once, with what it tells. */
static void put_regimes(struct adl_text *text, const struct adl_arena *arena)
{
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        bool known = !ran(arena, w);
        for (uint32_t before = 0; before < w && !known; before++)
            known = ran(arena, before) && strcmp(arena->workloads[before].regime, arena->workloads[w].regime) == 0;
        if (!known)
            adl_text_printf(text, "Information regime %s: %s.\n", arena->workloads[w].regime,
                            arena->workloads[w].told ? arena->workloads[w].told : "");
    }
}

/* Which share of the rows of each trace had limits. */
static void put_limits(struct adl_text *text, const struct adl_arena *arena)
{
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        const struct adl_arena_workload *workload = &arena->workloads[w];
        if (!ran(arena, w) || !workload->trace || workload->jobs == 0)
            continue;
        adl_text_printf(text, "%s runs in regime %s: ", workload->name, workload->regime);
        put_number(text, 100 - 100 * (double)workload->without_limit / (double)workload->jobs, 1);
        adl_text_put(text, " % of its jobs have a time limit of their user.\n");
    }
}

static void put_head(struct adl_text *text, const struct adl_arena *arena)
{
    uint32_t running = 0, first = 0;
    struct adl_text words = {0};
    for (uint32_t w = 0; w < arena->workload_count; w++)
        running += ran(arena, w);
    while (first + 1 < arena->workload_count && !ran(arena, first))
        first++;
    adl_text_printf(&words, "Arena: %" PRIu32 " policies on %" PRIu32 " workloads; ours is %s. (%s)\n",
                    arena->policy_count, running, arena->policies[arena->ours].name, arena->version);
    adl_text_printf(&words, "Seeds from %" PRIu64 " on, of the %s range, the same for every policy.\n",
                    arena->workloads[first].first_seed, arena->seeds);
    put_regimes(&words, arena);
    put_limits(&words, arena);
    if (arena->budget_s > 0) {
        adl_text_put(&words, "A policy may take ");
        put_duration(&words, arena->budget_s);
        adl_text_put(&words, " of processor time on a workload, all seeds together.\n");
    }
    adl_paragraphs_put(text, &words, 2);
    adl_text_clear(&words);
}

static void put_notes(struct adl_text *text, const struct adl_arena *arena)
{
    struct adl_text words = {0};
    put_missing(&words, arena);
    adl_text_put(&words,
                 "A ratio below 1 means a shorter mean JCT than that of the best peer of the workload, which is chosen "
                 "after the fact, in the peers' favour. Ratios are geometric means over seeds, p is a paired t test of "
                 "their logarithms, Holm-corrected over the workloads; a win or a loss has p < 0.05. docs/arena.md\n");
    adl_paragraphs_put(text, &words, 2);
    adl_text_clear(&words);
}

void adl_arena_table(struct adl_text *text, const struct adl_arena *arena)
{
    put_head(text, arena);
    adl_text_char(text, '\n');
    put_workloads(text, arena);
    adl_text_char(text, '\n');
    put_all_costs(text, arena);
    adl_text_char(text, '\n');
    put_policies(text, arena);
    adl_text_char(text, '\n');
    put_totals(text, arena);
    adl_text_char(text, '\n');
    put_notes(text, arena);
}
