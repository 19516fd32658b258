#include "predict/power.h"

const struct adl_power_law adl_power_law_believed = {.bend = 2.14, .burst = 0.38, .least = 0.23};

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
    return adl_power_law_point(&adl_power_law_believed, held, (cap_w - type->context_w) / span_w(type));
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

double adl_power_load_of_pair(double load_a, double speed_a, double load_b, double speed_b)
{
    return clamp(load_a * speed_a + load_b * speed_b);
}
