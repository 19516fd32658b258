#include "report/report_html.h"

#include "report/chart.h"
#include "report/figure.h"
#include "report/headline.h"
#include "report/notes.h"
#include "report/page_frame.h"
#include "report/page_table.h"
#include "report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* One policy on one seed is a run, and its page is about what happened in it. */
static bool is_run(const struct adl_comparison *comparison)
{
    return comparison->policy_count == 1 && comparison->seed_count == 1;
}

static const char *kind_of(const struct adl_comparison *comparison)
{
    return is_run(comparison) ? "One run of a scheduling policy" : "Comparison of scheduling policies";
}

static void put_header(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_scenario *scenario = comparison->scenario;
    struct adl_text cluster = {0};
    adl_text_put(text, "<header>\n<p class=\"kicker\">");
    adl_text_put(text, kind_of(comparison));
    adl_text_put(text, "</p>\n<h1>");
    adl_html_put(text, scenario->name);
    adl_text_put(text, "</h1>\n");
    if (scenario->description[0]) {
        adl_text_put(text, "<p class=\"lead\">");
        adl_html_put(text, scenario->description);
        adl_text_put(text, "</p>\n");
    }
    adl_notes_put_cluster(&cluster, &scenario->cluster);
    text->failed = text->failed || cluster.failed;
    adl_text_put(text, "<ul class=\"facts\"><li>");
    adl_html_put(text, cluster.data ? cluster.data : "");
    adl_text_printf(text,
                    "</li><li>%" PRIu64 " jobs a seed</li><li>%" PRIu32 " seed%s</li><li>%" PRIu32 " polic%s</li>",
                    scenario->workload.jobs, comparison->seed_count, comparison->seed_count == 1 ? "" : "s",
                    comparison->policy_count, comparison->policy_count == 1 ? "y" : "ies");
    if (comparison->regime) {
        adl_text_put(text, "<li>regime ");
        adl_html_put(text, comparison->regime);
        adl_text_put(text, "</li>");
    }
    adl_text_put(text, "</ul>\n</header>\n");
    adl_text_clear(&cluster);
}

/* The figure of one policy, large, and its change against the peer: in percentage points for ratios, as the peer's
 * figure alone for counts, else in percent. */
static void put_card(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy, uint32_t peer,
                     int column)
{
    const struct adl_scale scale = adl_scale_metric(comparison, column);
    const double mean = adl_column_mean(comparison, policy, column);
    const double base = peer == ADL_NONE ? NAN : adl_column_mean(comparison, peer, column);
    const bool points = strcmp(scale.unit, "%") == 0;
    const double change = points ? (mean - base) * 100 : adl_change_percent(mean, base);
    const int gain = fabs(change) < 0.05 ? 0 : (change > 0) == (adl_column_info(column)->better > 0) ? 1 : -1;
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, "<div class=\"card\"><h3>");
    adl_html_put(text, adl_column_info(column)->label);
    adl_text_put(text, "</h3><p class=\"big\">");
    adl_page_put_figure(text, adl_figure_print(number, mean, scale));
    adl_text_put(text, " <small>");
    adl_html_put(text, scale.unit);
    adl_text_put(text, "</small></p>");
    if (isfinite(base)) {
        adl_text_put(text, "<p>");
        if (isfinite(change)) {
            adl_text_printf(text, "<span class=\"change %s\">", gain > 0 ? "up" : gain < 0 ? "down" : "dim");
            adl_page_put_figure(text, adl_figure_print_change(number, change));
            adl_text_printf(text, "%s</span> ", points ? " points" : " %");
        }
        adl_text_put(text, "<span class=\"dim\">against ");
        adl_page_put_figure(text, adl_figure_print(number, base, scale));
        adl_text_put(text, "</span></p>");
    }
    adl_text_put(text, "</div>\n");
}

/* Plain text that was appended to words, as a paragraph. */
static void put_words(struct adl_text *text, const char *class_name, struct adl_text *words)
{
    text->failed = text->failed || words->failed;
    adl_text_printf(text, "<p class=\"%s\">", class_name);
    adl_html_put(text, words->data ? words->data : "");
    adl_text_put(text, "</p>\n");
    adl_text_clear(words);
}

static void put_headline(struct adl_text *text, const struct adl_comparison *comparison,
                         const struct adl_headline *headline)
{
    struct adl_text words = {0};
    if (headline->peer == ADL_NONE) {
        adl_text_printf(&words, "%s in figures", comparison->policies[headline->policy].name);
        put_words(text, "headline", &words);
        return;
    }
    adl_headline_put(&words, comparison, headline);
    put_words(text, "headline", &words);
    adl_headline_put_details(&words, comparison, headline);
    put_words(text, "details", &words);
}

static void put_cards(struct adl_text *text, const struct adl_comparison *comparison,
                      const struct adl_headline *headline)
{
    const int columns[] = {ADL_METRIC_JCT_MEAN, ADL_METRIC_JCT_P99,
                           adl_column_shown(comparison, ADL_METRIC_ENERGY) ? (int)ADL_METRIC_ENERGY
                                                                           : (int)ADL_METRIC_UTILIZATION,
                           ADL_COLUMN_EVICTIONS};
    put_headline(text, comparison, headline);
    adl_text_put(text, "<div class=\"cards\">\n");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        put_card(text, comparison, headline->policy, headline->peer, columns[i]);
    adl_text_put(text, "</div>\n");
}

static void put_legend(struct adl_text *text, const struct adl_comparison *comparison)
{
    adl_text_put(text, "<div class=\"legend\" role=\"group\" aria-label=\"policies\">\n");
    for (uint32_t i = 0; i < comparison->policy_count; i++) {
        adl_text_printf(text,
                        "<label class=\"s%" PRIu32 " d%" PRIu32
                        "\"><input type=\"checkbox\" checked autocomplete=\"off\" "
                        "data-k=\"%" PRIu32 "\"><span class=\"swatch\"></span>",
                        i % 8, i / 8 % 4, i);
        adl_html_put(text, comparison->policies[i].name);
        adl_text_put(text, "</label>\n");
    }
    adl_text_put(text, "</div>\n");
}

typedef bool chart_function(struct adl_text *text, const struct adl_comparison *comparison);

struct panel {
    chart_function *chart;
    const char *title;
    const char *about;
};

/* A chart with its caption, or nothing if it has nothing to show. */
static bool put_chart(struct adl_text *text, const struct adl_comparison *comparison, chart_function *chart, bool wide,
                      const char *title, const char *about)
{
    const size_t before = text->size;
    adl_text_put(text, "<figure>");
    adl_page_put_caption(text, title, about);
    adl_text_put(text, wide ? "<div class=\"scroll\">\n" : "<div>\n");
    if (!chart(text, comparison)) {
        adl_text_truncate(text, before);
        return false;
    }
    adl_text_put(text, "</div></figure>\n");
    return true;
}

static void put_kind_keys(struct adl_text *text)
{
    adl_text_put(text, "<div class=\"keys\">");
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++) {
        adl_text_printf(text, "<span class=\"key g%d\"><span class=\"swatch\"></span>", kind);
        adl_html_put(text, adl_job_kind_name(kind));
        adl_text_put(text, "</span>");
    }
    adl_text_put(text, "<span class=\"key dim\">paler: ended by preemption or failure</span></div>\n");
}

static void put_gantt(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy)
{
    const size_t before = text->size;
    uint32_t banks_per_row;
    const bool heat = adl_chart_gantt_is_heat(&comparison->scenario->cluster, &banks_per_row);
    adl_text_put(text, "<figure><figcaption><b>");
    adl_html_put(text, comparison->policies[policy].name);
    adl_text_put(text, ": what ran where</b><span>first seed; ");
    if (heat && banks_per_row > 1)
        adl_text_printf(text, "a strip for every %" PRIu32 " banks of GPUs, named after the first; darker: busier",
                        banks_per_row);
    else if (heat)
        adl_text_put(text, "a strip for each bank of GPUs (one type in one node); darker: more of them busy");
    else
        adl_text_put(text, "a row for each GPU, a bar for each job on it; a lower half bar shares the GPU");
    adl_text_put(text, "</span></figcaption>\n");
    if (!heat)
        put_kind_keys(text);
    adl_text_put(text, "<div class=\"scroll\">\n");
    if (adl_chart_gantt(text, comparison, policy))
        adl_text_put(text, "</div></figure>\n");
    else
        adl_text_truncate(text, before);
}

static void put_time_sections(struct adl_text *text, const struct adl_comparison *comparison,
                              const struct adl_headline *headline)
{
    if (!(adl_chart_end_s(comparison) > 0)) {
        adl_text_put(text, "<p class=\"dim\">Without timelines there are no charts over time.</p>\n");
        return;
    }
    adl_text_put(text, "<h2>Over time</h2>\n");
    put_chart(text, comparison, adl_chart_utilization, true, "GPUs busy",
              "first seed; each strip runs from 0 to 100 %, its mean over the run at the right");
    put_chart(text, comparison, adl_chart_queue, true, "Jobs waiting",
              "first seed; jobs that were submitted and have not started");
    if (headline->peer != ADL_NONE)
        put_gantt(text, comparison, headline->peer);
    if (!is_run(comparison))
        put_gantt(text, comparison, headline->policy);
}

/* Charts side by side under a heading; nothing if there is no chart. */
static void put_panels(struct adl_text *text, const struct adl_comparison *comparison, const char *heading,
                       const struct panel *panels, size_t count)
{
    const size_t before = text->size;
    bool any = false;
    adl_text_printf(text, "<h2>%s</h2>\n<div class=\"grid\">\n", heading);
    for (size_t i = 0; i < count; i++)
        any |= put_chart(text, comparison, panels[i].chart, false, panels[i].title, panels[i].about);
    if (any)
        adl_text_put(text, "</div>\n");
    else
        adl_text_truncate(text, before);
}

static void put_sections(struct adl_text *text, const struct adl_comparison *comparison,
                         const struct adl_headline *headline)
{
    static const struct panel service[] = {
        {adl_chart_jct, "Mean job completion time",
         "mean over seeds with its 95 % confidence interval; further left is better"},
        {adl_chart_cdf, "Share of jobs completed within a time, %", "first seed; further left and up is better"},
    };
    static const struct panel machine[] = {
        {adl_chart_energy, "Energy", "mean over seeds with its 95 % confidence interval"},
        {adl_chart_energy_by_type, "Energy of one GPU, by type",
         "first seed; mean over the GPUs of a type, idle time included"},
        {adl_chart_scatter, "Completion time against utilization",
         "a point for each policy and seed; dashed, from 30 points on: regression over all of them"},
        {adl_chart_change, "The last policy against the best of the others, metric by metric",
         "green is better, orange is worse; pale if not significant (Wilcoxon, Holm-corrected over the metrics)"},
    };
    put_panels(text, comparison, "How long jobs take", service, sizeof service / sizeof *service);
    adl_text_put(text, "<h2>All figures</h2>\n<figure>");
    adl_page_put_figures(text, comparison);
    adl_text_put(text, "</figure>\n");
    put_time_sections(text, comparison, headline);
    put_panels(text, comparison, "Energy, utilization and everything else", machine, sizeof machine / sizeof *machine);
}

static void put_notes(struct adl_text *text, const struct adl_comparison *comparison)
{
    struct adl_text notes = {0};
    adl_notes_put(&notes, comparison);
    text->failed = text->failed || notes.failed;
    adl_text_put(text, "<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for (char *line = notes.data; line && *line;) {
        char *end = strchr(line, '\n');
        if (!end)
            break;
        *end = '\0';
        adl_text_put(text, "<li>");
        adl_html_put(text, line);
        adl_text_put(text, "</li>\n");
        line = end + 1;
    }
    adl_text_put(text, "</ul>\n");
    adl_text_clear(&notes);
}

void adl_report_html(struct adl_text *text, const struct adl_comparison *comparison)
{
    struct adl_headline headline = {.policy = comparison->policy_count - 1, .peer = ADL_NONE};
    text->failed = text->failed || adl_headline_compute(comparison, &headline) == ADL_ENOMEM;
    adl_page_open(text, comparison->scenario->name, "comparison of scheduling policies");
    put_header(text, comparison);
    adl_text_put(text, "<main>\n");
    if (is_run(comparison) && adl_chart_end_s(comparison) > 0) {
        adl_text_put(text, "<h2>The run</h2>\n");
        put_gantt(text, comparison, 0);
    }
    if (comparison->policy_count > 0) {
        put_cards(text, comparison, &headline);
        if (!is_run(comparison))
            put_legend(text, comparison);
        put_sections(text, comparison, &headline);
    }
    put_notes(text, comparison);
    adl_text_put(text, "<h2>Counts over all seeds</h2>\n<figure>");
    adl_page_put_counts(text, comparison);
    adl_text_put(text, "</figure>\n<h2>Policies</h2>\n");
    adl_page_put_policies(text, comparison);
    adl_text_put(text, "<h2>What the figures mean</h2>\n");
    adl_page_put_metrics(text, comparison);
    adl_text_put(text, "</main>\n");
    adl_page_close(text);
}
