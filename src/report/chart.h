/* chart: the plots of a comparison's page. Each appends one <svg> and returns true, or false if there is nothing to
 * show; it may then have appended a part, which the caller removes. If memory runs out, the text has failed. */
#ifndef ADLRO_REPORT_CHART_H
#define ADLRO_REPORT_CHART_H

#include "base/text.h"
#include "experiment/comparison.h"

#include <stdbool.h>

#define ADL_CHART_PANEL_PX  560  /* half a page wide */
#define ADL_CHART_WIDE_PX   1160 /* a page wide */
#define ADL_CHART_BINS      240  /* of time */
#define ADL_CHART_ROWS_MAX  64   /* of GPUs; more are shown by bank */
#define ADL_CHART_RECTS_MAX 6000

/* A row for each policy, GPU type or metric. */
bool adl_chart_jct(struct adl_text *text, const struct adl_comparison *comparison);
bool adl_chart_energy(struct adl_text *text, const struct adl_comparison *comparison);
bool adl_chart_energy_by_type(struct adl_text *text, const struct adl_comparison *comparison);
/* The last policy against the best of the others, metric by metric. */
bool adl_chart_change(struct adl_text *text, const struct adl_comparison *comparison);

/* A curve or a cloud for each policy. */
bool adl_chart_cdf(struct adl_text *text, const struct adl_comparison *comparison);
bool adl_chart_scatter(struct adl_text *text, const struct adl_comparison *comparison);
bool adl_chart_utilization(struct adl_text *text, const struct adl_comparison *comparison);
bool adl_chart_queue(struct adl_text *text, const struct adl_comparison *comparison);

/* Gantt chart of one policy: a row for each GPU, or a heat strip for each bank if there are too many. */
bool adl_chart_gantt(struct adl_text *text, const struct adl_comparison *comparison, uint32_t policy);
/* True if adl_chart_gantt draws heat strips; then *ret_banks_per_row of them share a row. */
bool adl_chart_gantt_is_heat(const struct adl_cluster *cluster, uint32_t *ret_banks_per_row);

/* The end of the longest timeline, 0 if there is none. Charts over time share it, so that they are comparable. */
double adl_chart_end_s(const struct adl_comparison *comparison);

#endif
