/* bottleneck: the GPU types on which the cluster would still work when all others are idle, if nothing more arrived.
 *
 * Work that waits or runs is summed by the set of types on which it can run. The types of a set have to do all work
 * that can run on no other type; the set with the most of it for each of its GPUs determines when the last job ends. */
#ifndef ADLRO_POLICY_DQN_BOTTLENECK_H
#define ADLRO_POLICY_DQN_BOTTLENECK_H

#include "model/cluster.h"

#define ADL_BOTTLENECK_SETS 64 /* work of further sets counts as if it could run anywhere */

struct adl_bottleneck {
    struct adl_type_set {
        uint32_t types; /* a bit for each */
        double work_us; /* GPUs * run time */
        uint32_t jobs;  /* that wait */
    } sets[ADL_BOTTLENECK_SETS], all;
    uint32_t count;
};

/* Adds work that can run on these types, of that many jobs that wait for it, to a zeroed one. */
void adl_bottleneck_add(struct adl_bottleneck *bottleneck, uint32_t types, double work_us, uint32_t jobs);

/* The types that are the bottleneck, or 0. They would be busy more than 1 + 0.05 / lambda times as long as the others
 * with all other work, and at most 25 * lambda times as many jobs wait for others as for these: serving these first
 * delays those. */
uint32_t adl_bottleneck_types(const struct adl_bottleneck *bottleneck, const struct adl_cluster *cluster,
                              double lambda);

#endif
