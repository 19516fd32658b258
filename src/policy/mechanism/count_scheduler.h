/* count_scheduler: preemptive list scheduling by GPU counts alone, as in the simulators of Helios and Lucid. Down the
 * order of preemptive_list.h each job takes its number of GPUs from those of its type while they last, regardless of
 * nodes. Running jobs that get none are preempted first. Then chosen jobs that wait are placed in order; one that does
 * not fit any node keeps waiting and keeps its count, so GPUs may stay idle.
 *
 * Among equals, waiting jobs rank above running ones, unless those started at this very instant. */
#ifndef ADLRO_POLICY_MECHANISM_COUNT_SCHEDULER_H
#define ADLRO_POLICY_MECHANISM_COUNT_SCHEDULER_H

#include "policy/mechanism/preemptive_list.h"

/* Adds one START, or PREEMPTs in order of keys, or nothing; nothing while jobs are stopping. */
int adl_count_scheduler_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan);

#endif
