/* arena_json: an arena as JSON: every figure of every policy on every workload and seed. */
#ifndef ADLRO_REPORT_ARENA_JSON_H
#define ADLRO_REPORT_ARENA_JSON_H

#include "base/text.h"
#include "experiment/arena.h"

void adl_arena_json(struct adl_text *text, const struct adl_arena *arena);

#endif
