#include "sim/runtimes.h"

#include <math.h>

double adl_spanning_speed(const struct adl_scenario *scenario, uint32_t class_index, double link_gbs)
{
    const double network_gbs = scenario->cluster.network_gbs;
    const double share = scenario->classes[class_index].sync_share;
    return network_gbs >= link_gbs ? 1.0 : 1.0 / ((1.0 - share) + share * link_gbs / network_gbs);
}

void adl_runtimes_by_placement(const struct adl_scenario *scenario, const struct adl_true_job *job,
                               int64_t ret_fastest_us[ADL_TYPES_MAX], int64_t ret_spanning_us[ADL_TYPES_MAX])
{
    const struct adl_cluster *cluster = &scenario->cluster;
    const struct adl_job_spec *spec = &job->spec;
    const bool spans = spec->gpus > 1 && spec->flags & ADL_JOB_SPAN;
    double link_gbs[ADL_TYPES_MAX];
    uint32_t one_node = spans ? 0 : UINT32_MAX; /* types of which one node can hold the gang */
    for (uint32_t t = 0; t < cluster->type_count; t++)
        link_gbs[t] = HUGE_VAL;
    for (uint32_t b = 0; b < cluster->bank_count && spans; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        const double there_gbs = cluster->nodes[bank->node].link_gbs;
        link_gbs[bank->type] = there_gbs < link_gbs[bank->type] ? there_gbs : link_gbs[bank->type];
        one_node |= (uint32_t)(adl_bank_usable_gpus(cluster, bank, spec) >= spec->gpus) << bank->type;
    }
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        const int64_t alone_us = job->runtime_us[t];
        const bool there = spans && cluster->type_gpus[t] > 0;
        const double speed = there ? adl_spanning_speed(scenario, spec->class_index, link_gbs[t]) : 1.0;
        ret_spanning_us[t] = (int64_t)((double)alone_us / speed + 0.5);
        ret_fastest_us[t] = one_node >> t & 1 ? alone_us : ret_spanning_us[t];
    }
}
