#include "model/job.h"

#include "base/hash.h"

#include <stddef.h>
#include <string.h>

static const char *const kind_names[ADL_KIND_COUNT] = {"training", "inference", "simulation", "data"};
static const char *const end_names[] = {"CD", "F", "CA", "TO"};

uint32_t adl_job_name_id(const char *name)
{
    const uint32_t id = *name ? (uint32_t)adl_hash_bytes(adl_hash_start(), name, strlen(name)) : 0;
    return *name && id == 0 ? 1 : id;
}

const char *adl_job_kind_name(int kind)
{
    return kind_names[kind];
}

int adl_job_kind_find(const char *name)
{
    for (int i = 0; i < ADL_KIND_COUNT; i++)
        if (strcmp(kind_names[i], name) == 0)
            return i;
    return -1;
}

const char *adl_job_end_name(int end)
{
    return end_names[end];
}
