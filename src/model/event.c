#include "model/event.h"

#include <string.h>

static const char *const kind_names[ADL_EVENT_KIND_COUNT] = {"submit", "finish",    "evict",      "gpu_down",
                                                             "gpu_up", "telemetry", "meter",      "progress",
                                                             "wake",   "version",   "power_limit"};
static const char *const reading_names[ADL_READ_COUNT] = {"utilization", "bandwidth",  "temperature_c", "power_w",
                                                          "clock",       "sm_active",  "tensor_active", "dram_active",
                                                          "pcie_gbs",    "nvlink_gbs", "throttled"};

const char *adl_event_kind_name(int kind)
{
    return kind_names[kind];
}

int adl_event_kind_find(const char *name)
{
    for (int i = 0; i < ADL_EVENT_KIND_COUNT; i++)
        if (strcmp(kind_names[i], name) == 0)
            return i;
    return -1;
}

const char *adl_reading_name(int reading)
{
    return reading_names[reading];
}
