#include "policy/adlro/effort.h"

#define PLANS_APART_MAX 16
#define GPUS_LOOKED_AT  64

static uint32_t square(uint32_t n)
{
    return n < 0xffff ? n * n : UINT32_MAX;
}

static uint32_t at_least(uint32_t n, uint32_t least)
{
    return n > least ? n : least;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

bool adl_effort_is_saved(const struct adl_cluster *cluster)
{
    return cluster->gpu_count >= ADL_EFFORT_GPUS;
}

uint32_t adl_effort_plans_apart(const struct adl_cluster *cluster)
{
    return at_most(at_least(square(cluster->gpu_count / ADL_EFFORT_GPUS), 1), PLANS_APART_MAX);
}

uint32_t adl_effort_looks_apart(const struct adl_cluster *cluster)
{
    const uint32_t looks = at_least(cluster->gpu_count / GPUS_LOOKED_AT, 1);
    return at_least(looks, at_most(square(cluster->gpu_count / ADL_EFFORT_GPUS), 2 * looks));
}
