/* power: what a GPU draws, and the counter that adds it up. Three states: nobody has it open, a process holds it idle,
 * it works. */
#ifndef ADLRO_SIM_POWER_H
#define ADLRO_SIM_POWER_H

#include "model/cluster.h"

struct adl_power_meter {
    double power_w;  /* since since_us */
    double energy_j; /* up to since_us */
    int64_t since_us;
};

/* Draw of a GPU on which processes keep this share of the compute units busy; open: at least one has a context. */
static inline double adl_power_w(const struct adl_gpu_type *type, bool open, double activity)
{
    if (!open)
        return type->idle_w;
    return type->context_w + (type->max_w - type->context_w) * (activity < 1.0 ? activity : 1.0);
}

/* Counts up to now_us; returns what was drawn since the last call. */
static inline double adl_power_count(struct adl_power_meter *meter, int64_t now_us)
{
    const double drawn_j = meter->power_w * (double)(now_us - meter->since_us) * 1e-6;
    meter->energy_j += drawn_j;
    meter->since_us = now_us;
    return drawn_j;
}

#endif
