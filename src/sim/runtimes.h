/* runtimes: true run times of a job by GPU type and placement. */
#ifndef ADLRO_SIM_RUNTIMES_H
#define ADLRO_SIM_RUNTIMES_H

#include "model/scenario.h"
#include "sim/source.h"

/* Speed of a gang across nodes relative to one node: the communication share of a step takes longer over the network
 * than over the node's link. */
double adl_spanning_speed(const struct adl_scenario *scenario, uint32_t class_index, double link_gbs);

/* By type, alone on new GPUs: in the fastest placement that the cluster has, and across nodes. Nodes of a type that
 * differ in their links count as the one with the slowest link, where spanning costs least. */
void adl_runtimes_by_placement(const struct adl_scenario *scenario, const struct adl_true_job *job,
                               int64_t ret_fastest_us[ADL_TYPES_MAX], int64_t ret_spanning_us[ADL_TYPES_MAX]);

#endif
