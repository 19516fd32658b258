/* power: the draw of a GPU, the effect of a cap, and the energy counter. Three states: no process has it open, a
 * process holds it idle, it works. */
#ifndef ADLRO_SIM_POWER_H
#define ADLRO_SIM_POWER_H

#include "model/cluster.h"
#include "model/power_law.h"

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

/* The world's true law of power caps: the fit to Zeus's measurements (docs/power.md), for every type of GPU. */
static const struct adl_power_law adl_power_law_true = {.bend = 2.14, .burst = 0.38, .least = 0.23};

/* The effect of a cap on such a GPU: its speed relative to no cap, and the activity that determines its draw. */
static inline struct adl_power_point adl_power_capped(const struct adl_gpu_type *type, double activity, double cap_w)
{
    const double load = activity < 1.0 ? activity : 1.0, span_w = type->max_w - type->context_w;
    if (cap_w <= 0 || span_w <= 0)
        return (struct adl_power_point){1.0, load};
    return adl_power_law_point(&adl_power_law_true, load, (cap_w - type->context_w) / span_w);
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
