#include "policy/dqn/bottleneck.h"

/* Found on training seeds of paper16, with lambda 0.1. */
#define LONGER_LAMBDA 0.05
#define DELAYED_JOBS  25

void adl_bottleneck_add(struct adl_bottleneck *bottleneck, uint32_t types, double work_us, uint32_t jobs)
{
    uint32_t i = 0;
    bottleneck->all.work_us += work_us;
    bottleneck->all.jobs += jobs;
    while (i < bottleneck->count && bottleneck->sets[i].types != types)
        i++;
    if (i == ADL_BOTTLENECK_SETS)
        return;
    if (i == bottleneck->count)
        bottleneck->sets[bottleneck->count++] = (struct adl_type_set){.types = types};
    bottleneck->sets[i].work_us += work_us;
    bottleneck->sets[i].jobs += jobs;
}

static double gpus_of(const struct adl_cluster *cluster, uint32_t types)
{
    double gpus = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        gpus += types >> t & 1 ? cluster->type_gpus[t] : 0;
    return gpus;
}

/* What can run on no other types. */
static struct adl_type_set within(const struct adl_bottleneck *bottleneck, uint32_t types)
{
    struct adl_type_set sum = {.types = types};
    for (uint32_t i = 0; i < bottleneck->count; i++)
        if ((bottleneck->sets[i].types & ~types) == 0) {
            sum.work_us += bottleneck->sets[i].work_us;
            sum.jobs += bottleneck->sets[i].jobs;
        }
    return sum;
}

uint32_t adl_bottleneck_types(const struct adl_bottleneck *bottleneck, const struct adl_cluster *cluster, double lambda)
{
    struct adl_type_set most = {.types = 0};
    double longest_us = 0;
    for (uint32_t i = 0; i < bottleneck->count; i++) {
        const struct adl_type_set it = within(bottleneck, bottleneck->sets[i].types);
        const double gpus = gpus_of(cluster, it.types);
        if (it.work_us <= longest_us * gpus)
            continue;
        most = it;
        longest_us = it.work_us / gpus;
    }
    const double other_gpus = (double)cluster->gpu_count - gpus_of(cluster, most.types);
    const double other_us = bottleneck->all.work_us - most.work_us, other_jobs = bottleneck->all.jobs - most.jobs;
    const bool longer = lambda * longest_us * other_gpus > (lambda + LONGER_LAMBDA) * other_us;
    return longer && other_gpus > 0 && other_jobs <= DELAYED_JOBS * lambda * most.jobs ? most.types : 0;
}
