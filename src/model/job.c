#include "model/job.h"

#include <stddef.h>
#include <string.h>

static const char *const kind_names[ADL_KIND_COUNT] = {"training", "inference", "simulation", "data"};
static const char *const end_names[] = {"CD", "F", "CA", "TO"};

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
