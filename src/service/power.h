/* power: the limit on what all GPUs together may draw, and its schedule. */
#ifndef ADLRO_SERVICE_POWER_H
#define ADLRO_SERVICE_POWER_H

#include "model/scenario.h"

/* Every day; the entry before the first is the last. */
struct adl_power_schedule {
    struct {
        int32_t minute; /* of the day, local time */
        double limit_w; /* 0 = there is no limit */
    } entries[ADL_POWER_LIMITS_MAX];
    uint32_t count;
};

struct adl_power_config {
    const char *helper; /* program or socket that sets power limits of GPUs; NULL: none */
    const char *allow;  /* its allow list */
    double caps[8];     /* shares of the highest power that the policy may hold GPUs to, cap_count */
    uint32_t cap_count;
    struct adl_power_schedule schedule;
};

enum adl_power_source { ADL_POWER_SCHEDULE, ADL_POWER_REQUEST, ADL_POWER_SCENARIO };

/* Shared by the threads of the service. */
struct adl_service_state_power {
    struct adl_power_schedule schedule;
    int source;     /* enum adl_power_source: whose limit counts */
    double limit_w; /* in force; 0 = none */
    double requested_w, scenario_w;
    int64_t until_us; /* REQUEST: wall time; 0 = until another request */
};

#endif
