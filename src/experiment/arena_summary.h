/* arena_summary: figures, ratios and verdicts from the runs of an arena. */
#ifndef ADLRO_EXPERIMENT_ARENA_SUMMARY_H
#define ADLRO_EXPERIMENT_ARENA_SUMMARY_H

#include "experiment/arena.h"

/* Fills in what follows from the runs of cells: 0 or ADL_ENOMEM. */
int adl_arena_summarize(struct adl_arena *arena);

#endif
