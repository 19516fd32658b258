/* arena_table: an arena for the terminal: each workload with the best peer and ours, all policies, and the totals. */
#ifndef ADLRO_REPORT_ARENA_TABLE_H
#define ADLRO_REPORT_ARENA_TABLE_H

#include "base/text.h"
#include "experiment/arena.h"

void adl_arena_table(struct adl_text *text, const struct adl_arena *arena);

#endif
