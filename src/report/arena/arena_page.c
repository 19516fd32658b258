#include "report/arena/arena_page.h"

#include "report/arena/arena_chart.h"
#include "report/figure.h"
#include "report/page_frame.h"
#include "report/page_table.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct adl_arena_cell *cell_at(const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    return &arena->cells[(size_t)workload * arena->policy_count + policy];
}

static const char *our_name(const struct adl_arena *arena)
{
    return arena->ours < arena->policy_count ? arena->policies[arena->ours].name : "";
}

/* A ratio in at most five characters. */
static const char *ratio_print(char ret[ADL_FIGURE_SIZE], double ratio)
{
    return adl_figure_print(ret, ratio,
                            (struct adl_scale){.factor = 1,
                                               .decimals = ratio >= 99.95   ? 0
                                                           : ratio >= 9.995 ? 1
                                                                            : 2});
}

static void put_ratio(struct adl_text *text, double ratio)
{
    char number[ADL_FIGURE_SIZE];
    adl_page_put_figure(text, ratio_print(number, ratio));
}

/* "1.15 to 1.35" */
static void put_interval(struct adl_text *text, const struct adl_arena_ratio *ratio)
{
    put_ratio(text, ratio->lo);
    adl_text_put(text, " to ");
    put_ratio(text, ratio->hi);
}

static void put_p(struct adl_text *text, double p)
{
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, p < 0.001 ? "p " : "p = ");
    adl_html_put(text, adl_figure_print_p(number, p));
}

/* ---- head ---- */

static uint32_t workloads_run(const struct adl_arena *arena)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < arena->workload_count; i++)
        count += arena->workloads[i].skipped[0] == '\0';
    return count;
}

static void put_fact(struct adl_text *text, const char *before, const char *fact, const char *after)
{
    if (!fact || !*fact)
        return;
    adl_text_printf(text, "<li>%s", before);
    adl_html_put(text, fact);
    adl_text_printf(text, "%s</li>", after);
}

static void put_header(struct adl_text *text, const struct adl_arena *arena)
{
    adl_text_put(text, "<header>\n<p class=\"kicker\">Arena of scheduling policies</p>\n<h1>");
    adl_html_put(text, our_name(arena));
    adl_text_put(text,
                 " against the best peer of each workload</h1>\n<p class=\"lead\">Every policy on every workload, "
                 "on the same seeds and with the same information. The bar is the peer that happens to be best on "
                 "each workload, not one fixed rival.</p>\n");
    adl_text_printf(text, "<ul class=\"facts\"><li>%" PRIu32 " policies</li><li>%" PRIu32 " workloads</li>",
                    arena->policy_count, workloads_run(arena));
    put_fact(text, "regime ", arena->regime, "");
    put_fact(text, "", arena->seeds, " seeds");
    put_fact(text, "", arena->version, "");
    adl_text_put(text, "</ul>\n</header>\n");
}

static void put_headline(struct adl_text *text, const struct adl_arena *arena)
{
    const struct adl_arena_total *all = &arena->all;
    const double percent = (all->ratio.ratio - 1) * 100;
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, "<p class=\"headline\">");
    adl_html_put(text, our_name(arena));
    if (all->workloads == 0 || !isfinite(percent)) {
        adl_text_put(text, " has no workload in common with a peer</p>\n");
        return;
    }
    adl_text_printf(text, " takes %s %% %s than the best peer of each workload",
                    adl_figure_print(number, fabs(percent), (struct adl_scale){.factor = 1, .decimals = 1}),
                    percent < 0 ? "less time" : "longer");
    adl_text_put(text, all->ratio.p < 0.05 ? "</p>\n<p class=\"details\">"
                                           : ", which may be chance</p>\n<p class=\"details\">");
    adl_text_put(text, "Geometric mean of the ratios of mean JCT ");
    put_ratio(text, all->ratio.ratio);
    adl_text_put(text, ", 95 % interval ");
    put_interval(text, &all->ratio);
    adl_text_put(text, ", ");
    put_p(text, all->ratio.p);
    adl_text_printf(text, "; below 1 on %" PRIu32 " of %" PRIu32 " workloads. Below 1 is in favour of ", all->below,
                    all->workloads);
    adl_html_put(text, our_name(arena));
    adl_text_put(text, ".</p>\n");
}

static void put_count_card(struct adl_text *text, const char *title, uint32_t count, uint32_t total, const char *about)
{
    adl_text_printf(text,
                    "<div class=\"card\"><h3>%s</h3><p class=\"big\">%" PRIu32 " <small>of %" PRIu32
                    "</small></p><p class=\"dim\">%s</p></div>\n",
                    title, count, total, about);
}

static void put_cards(struct adl_text *text, const struct adl_arena *arena)
{
    const struct adl_arena_total *all = &arena->all;
    adl_text_put(text, "<div class=\"cards\">\n<div class=\"card\"><h3>ratio to the best peers</h3><p class=\"big\">");
    put_ratio(text, all->ratio.ratio);
    adl_text_put(text, " <small>\u00d7</small></p><p class=\"dim\">95 % interval ");
    put_interval(text, &all->ratio);
    adl_text_put(text, "</p></div>\n");
    put_count_card(text, "wins", all->wins, all->workloads, "better, p &lt; 0.05");
    put_count_card(text, "losses", all->losses, all->workloads, "worse, p &lt; 0.05");
    put_count_card(text, "draws", all->draws, all->workloads, "neither is shown");
    adl_text_put(text, "</div>\n");
}

static void put_total(struct adl_text *text, const char *name, const struct adl_arena_total *total)
{
    adl_text_put(text, "<tr><th scope=\"row\">");
    adl_html_put(text, name);
    adl_text_printf(text,
                    "</th><td>%" PRIu32 "</td><td>%" PRIu32 "</td><td>%" PRIu32 "</td><td>%" PRIu32 "</td><td>%" PRIu32
                    "</td><td><b>",
                    total->workloads, total->wins, total->losses, total->draws, total->below);
    put_ratio(text, total->ratio.ratio);
    adl_text_put(text, "</b></td><td>");
    put_interval(text, &total->ratio);
    adl_text_put(text, "</td><td>");
    put_p(text, total->ratio.p);
    adl_text_put(text, "</td></tr>\n");
}

static void put_totals(struct adl_text *text, const struct adl_arena *arena)
{
    adl_text_put(text, "<figure>");
    adl_page_put_caption(text, "Wins and losses",
                         "against the best peer of each workload; the ratio is a geometric mean over workloads");
    adl_text_put(text,
                 "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">workloads</th><th scope=\"col\">number"
                 "</th><th scope=\"col\">wins</th><th scope=\"col\">losses</th><th scope=\"col\">draws</th><th "
                 "scope=\"col\">ratio below 1</th><th scope=\"col\">ratio</th><th scope=\"col\">95 % interval</th>"
                 "<th scope=\"col\">t test</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < ADL_ARENA_GROUPS; i++)
        if (arena->groups[i].workloads > 0)
            put_total(text, arena->groups[i].group ? arena->groups[i].group : "", &arena->groups[i]);
    put_total(text, "all", &arena->all);
    adl_text_put(text, "</tbody></table></div></figure>\n");
}

/* ---- heat map ---- */

/* Upper ends of the classes of colours: 3 is even, below it is better, above it worse. */
static const double heat_ends[] = {0.8, 0.9, 0.98, 1.02, 1.1, 1.25, 1.5, 2, 4};
#define HEAT_CLASSES (sizeof heat_ends / sizeof *heat_ends + 1)

static unsigned heat_class(double ratio)
{
    unsigned class_number = 0;
    while (class_number + 1 < HEAT_CLASSES && ratio >= heat_ends[class_number])
        class_number++;
    return class_number;
}

static void put_heat_key(struct adl_text *text)
{
    char from[ADL_FIGURE_SIZE], to[ADL_FIGURE_SIZE];
    adl_text_put(text, "<div class=\"keys\">");
    for (unsigned i = 0; i < HEAT_CLASSES; i++) {
        adl_text_printf(text, "<span class=\"key q q%u\">", i);
        if (i == 0)
            adl_text_printf(text, "below %s", adl_figure_print_short(to, heat_ends[0]));
        else if (i + 1 == HEAT_CLASSES)
            adl_text_printf(text, "%s or more", adl_figure_print_short(from, heat_ends[i - 1]));
        else
            adl_text_printf(text, "%s\u2013%s", adl_figure_print_short(from, heat_ends[i - 1]),
                            adl_figure_print_short(to, heat_ends[i]));
        adl_text_put(text, "</span>");
    }
    adl_text_put(text, "<span class=\"key q q3 peer\">best peer</span></div>\n");
}

/* The tooltip of a cell. */
static void put_heat_title(struct adl_text *text, const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    const struct adl_arena_cell *cell = cell_at(arena, workload, policy);
    const uint32_t peer = arena->workloads[workload].best_peer;
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, " title=\"");
    adl_html_put(text, arena->policies[policy].name);
    adl_text_put(text, " on ");
    adl_html_put(text, arena->workloads[workload].name);
    if (cell->state == ADL_ARENA_OVER_BUDGET) {
        adl_text_printf(text, ": stopped after %s of processor time\"", adl_figure_print_duration(number, cell->cpu_s));
        return;
    }
    if (cell->state != ADL_ARENA_DONE) {
        adl_text_put(text, ": did not run\"");
        return;
    }
    adl_text_printf(text, ": mean JCT %s", adl_figure_print_duration(number, cell->metrics[ADL_METRIC_JCT_MEAN].mean));
    if (peer != ADL_NONE && peer != policy) {
        adl_text_put(text, ", ");
        put_ratio(text, cell->versus_peer.ratio);
        adl_text_put(text, " times that of ");
        adl_html_put(text, arena->policies[peer].name);
    }
    if (peer != ADL_NONE && peer != policy && arena->workloads[workload].seed_count > 1) {
        adl_text_put(text, " (95 % interval ");
        put_interval(text, &cell->versus_peer);
        adl_text_put(text, ", ");
        put_p(text, cell->versus_peer.p);
        adl_text_char(text, ')');
    }
    if (cell->unfinished > 0)
        adl_text_printf(text, "; %" PRIu64 " jobs unfinished, which are in no mean", cell->unfinished);
    adl_text_char(text, '"');
}

static void put_heat_cell(struct adl_text *text, const struct adl_arena *arena, uint32_t workload, uint32_t policy)
{
    const struct adl_arena_cell *cell = cell_at(arena, workload, policy);
    const double ratio = cell->versus_peer.ratio;
    const char *own = policy == arena->ours ? " own" : "";
    if (cell->state == ADL_ARENA_DONE && isfinite(ratio) && ratio > 0)
        adl_text_printf(text, "<td class=\"q q%u%s%s\"", heat_class(ratio), own,
                        policy == arena->workloads[workload].best_peer ? " peer" : "");
    else
        adl_text_printf(text, "<td class=\"q none%s\"", own);
    put_heat_title(text, arena, workload, policy);
    adl_text_char(text, '>');
    if (cell->state == ADL_ARENA_OVER_BUDGET)
        adl_text_put(text, "over");
    else
        put_ratio(text, cell->state == ADL_ARENA_DONE ? ratio : NAN);
    adl_text_put(text, cell->unfinished > 0 ? "\u2020</td>" : "</td>");
}

/* A policy and what the columns are ordered by. */
struct rank {
    uint32_t policy;
    double ratio;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *p = a, *q = b;
    if (p->ratio < q->ratio || p->ratio > q->ratio)
        return p->ratio < q->ratio ? -1 : 1;
    return p->policy < q->policy ? -1 : 1;
}

/* The policies, the best over all workloads first. NULL if there is no memory. */
static struct rank *ranks_make(const struct adl_arena *arena)
{
    struct rank *ranks = calloc((size_t)arena->policy_count + 1, sizeof *ranks);
    for (uint32_t i = 0; ranks && i < arena->policy_count; i++) {
        const double ratio = arena->policies[i].versus_peer.ratio;
        ranks[i] = (struct rank){i, isfinite(ratio) && arena->policies[i].workloads > 0 ? ratio : INFINITY};
    }
    if (ranks)
        qsort(ranks, arena->policy_count, sizeof *ranks, compare_ranks);
    return ranks;
}

static void put_heat_head(struct adl_text *text, const struct adl_arena *arena, const struct rank *ranks)
{
    adl_text_put(text, "<thead><tr><th scope=\"col\">workload</th>");
    for (uint32_t i = 0; i < arena->policy_count; i++) {
        adl_text_printf(text, "<th scope=\"col\"%s><span>", ranks[i].policy == arena->ours ? " class=\"own\"" : "");
        adl_html_put(text, arena->policies[ranks[i].policy].name);
        adl_text_put(text, "</span></th>");
    }
    adl_text_put(text, "</tr></thead>\n");
}

static void put_heat_means(struct adl_text *text, const struct adl_arena *arena, const struct rank *ranks)
{
    const uint32_t total = workloads_run(arena);
    adl_text_put(text, "<tr class=\"mean\"><th scope=\"row\">geometric mean</th>");
    for (uint32_t i = 0; i < arena->policy_count; i++) {
        const struct adl_arena_policy *policy = &arena->policies[ranks[i].policy];
        const char *own = ranks[i].policy == arena->ours ? " own" : "";
        if (isfinite(ranks[i].ratio))
            adl_text_printf(text, "<td class=\"q q%u%s\" title=\"", heat_class(ranks[i].ratio), own);
        else
            adl_text_printf(text, "<td class=\"q none%s\" title=\"", own);
        adl_html_put(text, policy->name);
        adl_text_printf(text, " on %" PRIu32 " of %" PRIu32 " workloads\">", policy->workloads, total);
        put_ratio(text, ranks[i].ratio);
        adl_text_put(text, policy->workloads < total ? "*</td>" : "</td>");
    }
    adl_text_put(text, "</tr>\n");
}

/* A row with the name of a group before its first workload. */
static void put_group(struct adl_text *text, const struct adl_arena *arena, uint32_t workload, uint32_t columns)
{
    const char *group = arena->workloads[workload].group;
    if (!group || (workload > 0 && arena->workloads[workload - 1].group &&
                   strcmp(arena->workloads[workload - 1].group, group) == 0))
        return;
    adl_text_put(text, "<tr class=\"group\"><th scope=\"rowgroup\">");
    adl_html_put(text, group);
    adl_text_printf(text, "</th><td colspan=\"%" PRIu32 "\"></td></tr>\n", columns);
}

static void put_workload_head(struct adl_text *text, const struct adl_arena_workload *workload)
{
    adl_text_put(text, "<tr><th scope=\"row\" title=\"");
    adl_html_put(text, workload->about);
    adl_text_put(text, "\"><span class=\"n\">");
    adl_html_put(text, workload->name);
    adl_text_put(text, "</span></th>");
}

static void put_skipped(struct adl_text *text, const struct adl_arena_workload *workload, uint32_t columns)
{
    adl_text_printf(text, "<td class=\"skipped\" colspan=\"%" PRIu32 "\">skipped: ", columns);
    adl_html_put(text, workload->skipped);
    adl_text_put(text, "</td>");
}

static void put_heat(struct adl_text *text, const struct adl_arena *arena)
{
    struct rank *ranks = ranks_make(arena);
    if (!ranks) {
        text->failed = true;
        return;
    }
    adl_text_put(text, "<h2>Every policy on every workload</h2>\n<figure>");
    adl_page_put_caption(text, "Mean JCT relative to the best peer of the workload",
                         "1 is the best peer, below 1 is better; policies from left to right by their geometric mean. "
                         "\u2020 left jobs unfinished; * not done on every workload; over: stopped at the limit of "
                         "processor time");
    put_heat_key(text);
    adl_text_put(text, "<div class=\"scroll\"><table class=\"heat\">\n");
    put_heat_head(text, arena, ranks);
    adl_text_put(text, "<tbody>\n");
    put_heat_means(text, arena, ranks);
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        put_group(text, arena, w, arena->policy_count);
        put_workload_head(text, &arena->workloads[w]);
        if (arena->workloads[w].skipped[0])
            put_skipped(text, &arena->workloads[w], arena->policy_count);
        else
            for (uint32_t i = 0; i < arena->policy_count; i++)
                put_heat_cell(text, arena, w, ranks[i].policy);
        adl_text_put(text, "</tr>\n");
    }
    adl_text_put(text, "</tbody></table></div></figure>\n");
    free(ranks);
}

/* ---- Pareto plots ---- */

static void put_pareto(struct adl_text *text, const struct adl_arena *arena, int metric, uint32_t workload,
                       const char *title, const char *about)
{
    const size_t before = text->size;
    adl_text_put(text, "<figure>");
    adl_page_put_caption(text, title, about);
    if (adl_arena_chart_pareto(text, arena, metric, workload))
        adl_text_put(text, "</figure>\n");
    else
        adl_text_truncate(text, before);
}

static bool is_main(const struct adl_arena_workload *workload)
{
    return workload->skipped[0] == '\0' && workload->group && strcmp(workload->group, "frozen") == 0;
}

static void put_small(struct adl_text *text, const struct adl_arena *arena, int metric, const char *title)
{
    const size_t before = text->size;
    bool any = false;
    adl_text_printf(text, "<h3>%s</h3>\n<div class=\"minis\">\n", title);
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        if (!is_main(&arena->workloads[w]))
            continue;
        put_pareto(text, arena, metric, w, arena->workloads[w].name, "");
        any = true;
    }
    adl_text_put(text, "</div>\n");
    if (!any)
        adl_text_truncate(text, before);
}

static void put_paretos(struct adl_text *text, const struct adl_arena *arena)
{
    adl_text_put(text,
                 "<h2>What a short mean costs</h2>\n<p class=\"dim\">Each figure is relative to the best policy of "
                 "the workload, so 1 is the best that any policy reached, and nearer to the lower left corner is "
                 "better. The dashed line joins the policies that no other beats in both. A hollow point is not "
                 "done on every workload; one beyond 2.5 times the best is drawn at the edge.</p>\n"
                 "<div class=\"grid\">\n");
    put_pareto(text, arena, ADL_METRIC_JCT_P99, ADL_NONE, "Mean against tail",
               "p99 of job completion times; geometric means over workloads");
    put_pareto(text, arena, ADL_METRIC_ENERGY, ADL_NONE, "Mean against energy",
               "energy of all GPUs; geometric means over workloads");
    adl_text_put(text, "</div>\n");
    put_small(text, arena, ADL_METRIC_JCT_P99, "Mean against tail, by workload");
    put_small(text, arena, ADL_METRIC_ENERGY, "Mean against energy, by workload");
}

/* ---- table ---- */

enum quantity { QUANTITY_TIME, QUANTITY_COUNT, QUANTITY_ENERGY, QUANTITY_SHARE, QUANTITY_MICROSECONDS };

/* One scale for both figures of a pair. */
static struct adl_scale scale_for(double largest, enum quantity quantity)
{
    switch (quantity) {
    case QUANTITY_TIME:
        return adl_scale_time(largest);
    case QUANTITY_ENERGY:
        return adl_scale_energy(largest);
    case QUANTITY_SHARE:
        return (struct adl_scale){.factor = 100, .unit = "%", .decimals = 1};
    case QUANTITY_MICROSECONDS:
        return (struct adl_scale){.factor = 1, .unit = "\u00b5s", .decimals = 1};
    default:
        return (struct adl_scale){.factor = 1, .unit = "", .decimals = largest > 0 && largest < 99.95 ? 1 : 0};
    }
}

static void put_quantity(struct adl_text *text, double value, struct adl_scale scale)
{
    char number[ADL_FIGURE_SIZE];
    adl_page_put_figure(text, adl_figure_print(number, value, scale));
    if (*scale.unit && isfinite(value))
        adl_text_printf(text, "\u00a0%s", scale.unit);
}

/* Ours, and the peer's below it. */
static void put_pair(struct adl_text *text, double ours, double peers, enum quantity quantity)
{
    const struct adl_scale scale = scale_for(fmax(ours, peers), quantity);
    adl_text_put(text, "<td>");
    put_quantity(text, ours, scale);
    adl_text_put(text, "<small>");
    put_quantity(text, peers, scale);
    adl_text_put(text, "</small></td>");
}

static void put_verdict(struct adl_text *text, const struct adl_arena_workload *workload)
{
    static const char *const words[] = {"draw", "win", "loss"}, *const classes[] = {"dim", "up", "down"};
    const int verdict = workload->verdict >= 0 && workload->verdict < 3 ? workload->verdict : 0;
    adl_text_printf(text, "<td class=\"change %s\">", classes[verdict]);
    put_ratio(text, workload->ours.ratio);
    adl_text_printf(text, "<small>%s</small></td><td>", words[verdict]);
    if (workload->seed_count < 2) {
        adl_text_put(text, "\u2013<small>one run</small></td>");
        return;
    }
    put_interval(text, &workload->ours);
    adl_text_put(text, "<small>");
    put_p(text, workload->ours.p);
    adl_text_put(text, "</small></td>");
}

#define FIGURE_COLUMNS 11

static void put_figures(struct adl_text *text, const struct adl_arena *arena, uint32_t w)
{
    const struct adl_arena_workload *workload = &arena->workloads[w];
    const bool complete = arena->ours < arena->policy_count && workload->best_peer < arena->policy_count &&
                          cell_at(arena, w, arena->ours)->state == ADL_ARENA_DONE;
    if (!complete) {
        adl_text_printf(text, "<td class=\"skipped\" colspan=\"%d\">ours or every peer is not done</td>",
                        FIGURE_COLUMNS);
        return;
    }
    const struct adl_arena_cell *own = cell_at(arena, w, arena->ours), *peer = cell_at(arena, w, workload->best_peer);
    const double *no_sla = workload->sla ? NULL : &(double){NAN};
    adl_text_put(text, "<td class=\"word\">");
    adl_html_put(text, arena->policies[workload->best_peer].name);
    adl_text_put(text, "</td>");
    put_verdict(text, workload);
    put_pair(text, own->metrics[ADL_METRIC_JCT_MEAN].mean, peer->metrics[ADL_METRIC_JCT_MEAN].mean, QUANTITY_TIME);
    put_pair(text, own->metrics[ADL_METRIC_JCT_P99].mean, peer->metrics[ADL_METRIC_JCT_P99].mean, QUANTITY_TIME);
    put_pair(text, own->evictions, peer->evictions, QUANTITY_COUNT);
    put_pair(text, own->lost_gpu_s, peer->lost_gpu_s, QUANTITY_TIME);
    put_pair(text, own->metrics[ADL_METRIC_ENERGY].mean, peer->metrics[ADL_METRIC_ENERGY].mean, QUANTITY_ENERGY);
    put_pair(text, no_sla ? *no_sla : own->metrics[ADL_METRIC_SLA].mean,
             no_sla ? *no_sla : peer->metrics[ADL_METRIC_SLA].mean, QUANTITY_SHARE);
    put_pair(text, own->metrics[ADL_METRIC_DECISION_P99].mean, peer->metrics[ADL_METRIC_DECISION_P99].mean,
             QUANTITY_MICROSECONDS);
    adl_text_printf(text, "<td>%" PRIu32 "<small>%" PRIu64 " jobs</small></td>", workload->seed_count, workload->jobs);
}

static void put_table(struct adl_text *text, const struct adl_arena *arena)
{
    static const char *const heads[FIGURE_COLUMNS] = {"best peer", "ratio",        "95 % interval", "mean JCT",
                                                      "p99 JCT",   "evictions",    "GPU time lost", "energy",
                                                      "SLA met",   "decision p99", "seeds"};
    adl_text_put(text, "<h2>The figures</h2>\n<figure>");
    struct adl_text about = {0};
    adl_text_put(&about, "for each workload ");
    adl_text_put(&about, our_name(arena));
    adl_text_put(&about, ", and below it the best peer; evictions and GPU time lost to preemptions are means of a run");
    text->failed = text->failed || about.failed;
    adl_page_put_caption(text, "Ours against the best peer, workload by workload", about.data ? about.data : "");
    adl_text_clear(&about);
    adl_text_put(text, "<div class=\"scroll\"><table class=\"pairs\">\n<thead><tr><th scope=\"col\">workload</th>");
    for (size_t i = 0; i < FIGURE_COLUMNS; i++)
        adl_text_printf(text, "<th scope=\"col\"%s>%s</th>", i == 0 ? " class=\"word\"" : "", heads[i]);
    adl_text_put(text, "</tr></thead>\n<tbody>\n");
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        put_group(text, arena, w, FIGURE_COLUMNS);
        put_workload_head(text, &arena->workloads[w]);
        if (arena->workloads[w].skipped[0])
            put_skipped(text, &arena->workloads[w], FIGURE_COLUMNS);
        else
            put_figures(text, arena, w);
        adl_text_put(text, "</tr>\n");
    }
    adl_text_put(text, "</tbody></table></div></figure>\n");
}

/* ---- foot ---- */

static void put_notes(struct adl_text *text, const struct adl_arena *arena)
{
    char number[ADL_FIGURE_SIZE];
    adl_text_put(
        text, "<h2>Notes</h2>\n<ul class=\"notes\">\n<li>A ratio is the geometric mean over the seeds of one policy's "
              "mean JCT over another's on the same seed; interval and p are of Student's t on the logarithms, paired. "
              "p of the workloads is Holm-corrected over them; p of the heat map's cells is not.</li>\n<li>The best "
              "peer is the one that turned out best on the same seeds: a bar that no single peer reaches on every "
              "workload.</li>\n<li>GPU time lost is work to repeat and the time to stop and restart. Decision times "
              "depend on the machine.</li>\n");
    if (arena->budget_s > 0)
        adl_text_printf(text, "<li>A policy may take %s of processor time on a workload, over all seeds.</li>\n",
                        adl_figure_print_duration(number, arena->budget_s));
    adl_text_put(text, "</ul>\n<h2>Workloads</h2>\n<dl>\n");
    for (uint32_t w = 0; w < arena->workload_count; w++) {
        const struct adl_arena_workload *workload = &arena->workloads[w];
        adl_text_put(text, "<dt>");
        adl_html_put(text, workload->name);
        adl_text_put(text, "</dt><dd>");
        adl_html_put(text, workload->about);
        if (workload->skipped[0] == '\0')
            adl_text_printf(text, " (%" PRIu32 " GPUs, seeds %" PRIu64 " to %" PRIu64 ", regime %s)", workload->gpus,
                            workload->first_seed,
                            workload->first_seed + (workload->seed_count ? workload->seed_count - 1 : 0),
                            workload->regime ? workload->regime : "not said");
        adl_text_put(text, "</dd>\n");
    }
    adl_text_put(text, "</dl>\n");
}

void adl_arena_page(struct adl_text *text, const struct adl_arena *arena)
{
    adl_page_open(text, our_name(arena), "arena of scheduling policies");
    put_header(text, arena);
    adl_text_put(text, "<main>\n");
    put_headline(text, arena);
    if (arena->all.workloads > 0)
        put_cards(text, arena);
    put_heat(text, arena);
    if (arena->all.workloads > 0)
        put_totals(text, arena);
    put_paretos(text, arena);
    put_table(text, arena);
    put_notes(text, arena);
    adl_text_put(text, "</main>\n");
    adl_page_close(text);
}
