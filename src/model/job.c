#include "model/job.h"

#include "base/hash.h"

#include <stddef.h>
#include <string.h>

const char *const adl_kind_names[ADL_KIND_COUNT + 1] = {"training", "inference", "simulation", "data", NULL};
static const char *const loss_names[ADL_LOSS_COUNT] = {"nothing", "since_checkpoint", "all"};
static const char *const end_names[] = {"CD", "F", "CA", "TO"};

uint32_t adl_job_name_id(const char *name)
{
    const uint32_t id = *name ? (uint32_t)adl_hash_bytes(adl_hash_start(), name, strlen(name)) : 0;
    return *name && id == 0 ? 1 : id;
}

const char *adl_stop_loss_name(int loss)
{
    return loss_names[loss];
}

const char *adl_job_kind_name(int kind)
{
    return adl_kind_names[kind];
}

int adl_job_kind_find(const char *name)
{
    for (int i = 0; i < ADL_KIND_COUNT; i++)
        if (strcmp(adl_kind_names[i], name) == 0)
            return i;
    return -1;
}

const char *adl_job_end_name(int end)
{
    return end_names[end];
}
