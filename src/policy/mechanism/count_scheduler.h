/* count_scheduler: preemptive list scheduling by count alone, as Helios' and Lucid's simulators do it. Down the order
 * of preempt.h each job takes its number of GPUs from what its type has while that lasts; where they lie is not asked.
 * Running jobs left out are stopped first. Then those chosen that wait are placed in order; one that finds no place
 * goes on waiting and keeps its count, so that GPUs may stay idle.
 *
 * Of equals, those that wait come before those that run, unless these started at this very instant. */
#ifndef ADLRO_POLICY_MECHANISM_COUNT_SCHEDULER_H
#define ADLRO_POLICY_MECHANISM_COUNT_SCHEDULER_H

#include "policy/mechanism/preemptive_list.h"

/* Adds one START, or PREEMPTs in order of keys, or nothing; nothing while jobs are stopping. */
int adl_count_scheduler_decide(struct adl_preemptive_list *list, const struct adl_state *state, struct adl_plan *plan);

#endif
