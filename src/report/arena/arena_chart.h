/* arena_chart: the Pareto plots of an arena's page. */
#ifndef ADLRO_REPORT_ARENA_CHART_H
#define ADLRO_REPORT_ARENA_CHART_H

#include "base/text.h"
#include "experiment/arena.h"

/* A point for each policy: mean JCT and another metric, each relative to the best policy of a workload, as geometric
 * means over the workloads on which the policy is done; with workload, on that one alone and smaller. ADL_NONE: on all.
 * Returns false if there is nothing to show; the caller removes what was appended. */
bool adl_arena_chart_pareto(struct adl_text *text, const struct adl_arena *arena, int metric, uint32_t workload);

#endif
