#include "predict/power.h"

const struct adl_power_law adl_power_law_fitted = {.bend = 2.14, .burst = 0.38, .least = 0.23};

enum { HALVINGS = 20 }; /* to a millionth */

static double clamp(double share)
{
    return share > 0 ? share < 1 ? share : 1 : 0;
}

static double span_w(const struct adl_gpu_type *type)
{
    return type->max_w - type->context_w;
}

static struct adl_power_point point(const struct adl_gpu_type *type, double load, double cap_w)
{
    const double held = clamp(load);
    if (cap_w <= 0 || cap_w >= type->max_w || span_w(type) <= 0)
        return (struct adl_power_point){1.0, held};
    return adl_power_law_point(&adl_power_law_fitted, held, (cap_w - type->context_w) / span_w(type));
}

double adl_power_draw_w(const struct adl_gpu_type *type, double load, double cap_w)
{
    return type->context_w + span_w(type) * point(type, load, cap_w).load;
}

double adl_power_cap_speed(const struct adl_gpu_type *type, double load, double cap_w)
{
    return point(type, load, cap_w).speed;
}

double adl_power_load(const struct adl_gpu_type *type, double power_w)
{
    return span_w(type) > 0 ? clamp((power_w - type->context_w) / span_w(type)) : 0;
}

/* Bisection: the draw does not decrease with the load. */
double adl_power_load_capped(const struct adl_gpu_type *type, double power_w, double cap_w)
{
    if (cap_w <= 0 || cap_w >= type->max_w)
        return adl_power_load(type, power_w);
    double low = 0, high = 1;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (adl_power_draw_w(type, middle, cap_w) < power_w)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double adl_power_load_of_pair(double load_a, double speed_a, double load_b, double speed_b)
{
    return clamp(load_a * speed_a + load_b * speed_b);
}
