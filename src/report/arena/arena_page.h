/* arena_page: an arena as one HTML page: wins and losses, a heat map of policies and workloads, Pareto plots, and a
 * table of the figures. The page fetches nothing. */
#ifndef ADLRO_REPORT_ARENA_PAGE_H
#define ADLRO_REPORT_ARENA_PAGE_H

#include "base/text.h"
#include "experiment/arena.h"

void adl_arena_page(struct adl_text *text, const struct adl_arena *arena);

#endif
