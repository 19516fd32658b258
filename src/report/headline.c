#include "report/headline.h"

#include "report/figure.h"
#include "report/notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SEEDS_MIN 6 /* fewer cannot show a difference by the signed rank test */

static double mean_of(const struct adl_comparison *comparison, uint32_t policy)
{
    return comparison->policies[policy].metrics[ADL_METRIC_JCT_MEAN].mean;
}

static int compare_metrics(const struct adl_comparison *comparison, struct adl_headline *headline, double *own,
                           double *peers)
{
    const double base = mean_of(comparison, headline->peer);
    for (int metric = 0; metric < ADL_METRIC_FIRST_TIMING; metric++) {
        struct adl_paired paired;
        for (uint32_t i = 0; i < comparison->seed_count; i++) {
            own[i] = comparison->policies[headline->policy].runs[i].value[metric];
            peers[i] = comparison->policies[headline->peer].runs[i].value[metric];
        }
        if (adl_compare_pairs(own, peers, comparison->seed_count, &paired))
            return ADL_ENOMEM;
        headline->metric_p[metric] = isfinite(paired.difference) ? paired.wilcoxon_p : 1;
        if (metric != ADL_METRIC_JCT_MEAN)
            continue;
        headline->p = paired.wilcoxon_p;
        for (uint32_t i = 0; i < comparison->seed_count; i++)
            own[i] = (own[i] - peers[i]) / base * 100;
        headline->change = adl_summarize(own, comparison->seed_count);
    }
    return adl_holm(headline->metric_p, ADL_METRIC_FIRST_TIMING) ? ADL_ENOMEM : 0;
}

int adl_headline_compute(const struct adl_comparison *comparison, struct adl_headline *ret)
{
    if (comparison->policy_count < 2)
        return ADL_EABSENT;
    struct adl_headline headline = {.policy = comparison->policy_count - 1};
    headline.peer = adl_comparison_best(comparison, headline.policy);
    if (headline.peer == ADL_NONE || !(mean_of(comparison, headline.peer) > 0) ||
        !isfinite(mean_of(comparison, headline.policy) / mean_of(comparison, headline.peer)))
        return ADL_EABSENT;
    double *own = malloc((comparison->seed_count + 1) * sizeof *own);
    double *peers = malloc((comparison->seed_count + 1) * sizeof *peers);
    const int status = own && peers ? compare_metrics(comparison, &headline, own, peers) : ADL_ENOMEM;
    free(own);
    free(peers);
    if (status == 0)
        *ret = headline;
    return status;
}

static void put_peer(struct adl_text *text, const struct adl_comparison *comparison,
                     const struct adl_headline *headline)
{
    adl_notes_put_name(text, comparison->policies[headline->peer].name);
    if (comparison->policy_count > 2)
        adl_text_put(text, ", the best of the others");
}

void adl_headline_put(struct adl_text *text, const struct adl_comparison *comparison,
                      const struct adl_headline *headline)
{
    const double change = headline->change.mean;
    const bool tested = comparison->seed_count >= SEEDS_MIN;
    const struct adl_scale scale = {.factor = 1, .decimals = 1};
    char number[ADL_FIGURE_SIZE];
    adl_notes_put_name(text, comparison->policies[headline->policy].name);
    if (fabs(change) < 0.05 || (tested && !(headline->p < 0.05))) {
        adl_text_put(text, " and ");
        put_peer(text, comparison, headline);
        adl_text_put(text, comparison->policy_count > 2 ? ", differ by " : " differ by ");
        adl_text_printf(text, "%s %% in mean JCT%s", adl_figure_print(number, fabs(change), scale),
                        tested ? ", which may be chance" : "");
        return;
    }
    adl_text_printf(text, " finishes jobs %s %% %s than ", adl_figure_print(number, fabs(change), scale),
                    change < 0 ? "sooner" : "later");
    put_peer(text, comparison, headline);
}

static void put_test(struct adl_text *text, const struct adl_comparison *comparison,
                     const struct adl_headline *headline)
{
    char number[ADL_FIGURE_SIZE];
    if (comparison->seed_count < 2) {
        adl_text_put(text, " (one seed: no interval, no test)");
        return;
    }
    adl_text_printf(text, " (change %s %%", adl_figure_print_change(number, headline->change.mean));
    adl_text_printf(text, ", 95 %% interval %s", adl_figure_print_change(number, headline->change.lo));
    adl_text_printf(text, " to %s %%", adl_figure_print_change(number, headline->change.hi));
    if (comparison->seed_count < SEEDS_MIN)
        adl_text_put(text, "; fewer than 6 seeds are too few for the test)");
    else
        adl_text_printf(text, ", p %s%s)", headline->p < 0.001 ? "" : "= ", adl_figure_print_p(number, headline->p));
}

/* "58.4 against 41.2 s" */
static void put_both(struct adl_text *text, const struct adl_comparison *comparison,
                     const struct adl_headline *headline, int column)
{
    const struct adl_scale scale = adl_scale_metric(comparison, column);
    char number[ADL_FIGURE_SIZE];
    adl_text_put(text, adl_figure_print(number, adl_column_mean(comparison, headline->policy, column), scale));
    adl_text_printf(text, " against %s %s",
                    adl_figure_print(number, adl_column_mean(comparison, headline->peer, column), scale), scale.unit);
}

static void put_evictions(struct adl_text *text, const struct adl_comparison *comparison,
                          const struct adl_headline *headline)
{
    if (!(adl_column_mean(comparison, headline->policy, ADL_COLUMN_EVICTIONS) +
              adl_column_mean(comparison, headline->peer, ADL_COLUMN_EVICTIONS) >
          0)) {
        adl_text_put(text, "no evictions in either");
        return;
    }
    adl_text_put(text, "evictions ");
    put_both(text, comparison, headline, ADL_COLUMN_EVICTIONS);
    adl_text_put(text, ", GPU time lost to preemptions ");
    put_both(text, comparison, headline, ADL_COLUMN_LOST);
}

static void put_unfinished(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy)
{
    const uint64_t count = adl_policy_totals(&comparison->policies[policy], comparison->seed_count).unfinished;
    if (count == 0)
        return;
    adl_text_put(text, "; ");
    adl_notes_put_name(text, comparison->policies[policy].name);
    adl_text_printf(text, " left %" PRIu64 " jobs unfinished, which are in no mean", count);
}

void adl_headline_put_details(struct adl_text *text, const struct adl_comparison *comparison,
                              const struct adl_headline *headline)
{
    adl_text_put(text, "mean JCT ");
    put_both(text, comparison, headline, ADL_METRIC_JCT_MEAN);
    put_test(text, comparison, headline);
    adl_text_put(text, "; p99 JCT ");
    put_both(text, comparison, headline, ADL_METRIC_JCT_P99);
    adl_text_put(text, "; ");
    put_evictions(text, comparison, headline);
    put_unfinished(text, comparison, headline->policy);
    put_unfinished(text, comparison, headline->peer);
}
