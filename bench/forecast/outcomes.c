#include "outcomes.h"

#include "base/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT_S 1.0 /* forecasts are told to the second: two errors below that cannot be compared */

/* Whose error. */
enum error { OURS, RAW, CLASSIC };

struct outcome *outcomes_add(struct outcomes *outcomes)
{
    if (adl_grow((void **)&outcomes->list, &outcomes->capacity, outcomes->count + 1, sizeof *outcomes->list))
        return NULL;
    return &outcomes->list[outcomes->count++];
}

void outcomes_mark_late(struct outcomes *outcomes, size_t first, uint64_t submissions)
{
    for (size_t i = first; i < outcomes->count; i++)
        outcomes->list[i].late = outcomes->list[i].submissions == submissions;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count ? values[count / 2] : 0;
}

/* What the outcomes of one kind, or of both (KINDS), amount to. */
struct summary {
    double count, raw50, raw90, within[ADL_START_LEVELS], loss, raw_loss, ours_s, raw_s, classic_s;
};

static double median_of(const struct outcomes *outcomes, int kind, bool with_late, enum error which)
{
    double *values = calloc(outcomes->count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < outcomes->count; i++) {
        const struct outcome *it = &outcomes->list[i];
        if ((kind == KINDS || it->kind == kind) && (with_late || !it->late))
            values[count++] = which == CLASSIC ? it->classic_s : which == RAW ? it->raw_s : it->ours_s;
    }
    const double ret = values ? median(values, count) : 0;
    free(values);
    return ret;
}

static struct summary summarize(const struct outcomes *outcomes, int kind, bool with_late)
{
    struct summary sum = {.ours_s = median_of(outcomes, kind, with_late, OURS),
                          .raw_s = median_of(outcomes, kind, with_late, RAW),
                          .classic_s = median_of(outcomes, kind, with_late, CLASSIC)};
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct outcome *it = &outcomes->list[i];
        if ((kind != KINDS && it->kind != kind) || (!with_late && it->late))
            continue;
        sum.count++;
        sum.raw50 += it->raw50;
        sum.raw90 += it->raw90;
        sum.loss += it->loss;
        sum.raw_loss += it->raw_loss;
        for (int l = 0; l < ADL_START_LEVELS; l++)
            sum.within[l] += it->within[l];
    }
    return sum;
}

static double covered(const struct summary *sum, double q)
{
    return 100 * sum->within[adl_start_level_index(q)] / sum->count;
}

bool outcomes_report(const struct outcomes *outcomes, const char *name, const char *policy, int kind)
{
    const struct summary sum = summarize(outcomes, kind, false), all = summarize(outcomes, kind, true);
    if (sum.count == 0)
        return true;
    const double p50 = covered(&sum, 0.5), p90 = covered(&sum, 0.9);
    const bool met = p50 >= 47 && p50 <= 53 && p90 >= 87 && p90 <= 93;
    const bool exact = sum.ours_s < EXACT_S && sum.classic_s < EXACT_S;
    const bool good = met && (exact || sum.ours_s * 3 <= sum.classic_s);
    printf("%-10s %-6s %-10s %6.0f  %5.1f %5.1f   %5.1f %5.1f  %9.0f %9.0f %9.0f %6.1fx  %5.2f  %s\n", name, policy,
           kind == AT_SUBMISSION ? "submission" : "each hour", sum.count, p50, p90, 100 * sum.raw50 / sum.count,
           100 * sum.raw90 / sum.count, sum.ours_s, sum.raw_s, sum.classic_s,
           sum.classic_s / (sum.ours_s > 0 ? sum.ours_s : 1e-9), sum.loss / (sum.raw_loss > 0 ? sum.raw_loss : 1),
           met && exact ? "covered, errors not compared"
           : good       ? "met"
                        : "MISSED");
    if (all.count > sum.count)
        printf("  with %.0f made after the last submission: %.1f %.1f, error %.0f s, %.1fx\n", all.count - sum.count,
               covered(&all, 0.5), covered(&all, 0.9), all.ours_s,
               all.classic_s / (all.ours_s > 0 ? all.ours_s : 1e-9));
    fflush(stdout);
    return good;
}

void outcomes_report_reliability(const struct outcomes *outcomes, const char *name, const char *policy)
{
    const struct summary sum = summarize(outcomes, KINDS, false);
    printf("  reliability %s %s:", name, policy);
    for (int i = 0; i < ADL_START_LEVELS; i++)
        printf(" %d:%.1f", 100 * (i + 1) / (ADL_START_LEVELS + 1), 100 * sum.within[i] / fmax(sum.count, 1));
    printf("\n");
}
