#include "scenario/type_speed.h"

#include <math.h>
#include <stdlib.h>

bool adl_type_has_speeds(const struct adl_catalogue *catalogue, const char *type)
{
    for (uint32_t i = 0; i < catalogue->class_count; i++)
        if (adl_catalogue_find_speed(&catalogue->classes[i], type))
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Matrix units count for a quarter of their rate, as in the formula for training (docs/catalogue.md). */
static double arithmetic_rate(const struct adl_gpu_type *type)
{
    return fmax(type->fp32_tflops, type->fp16_tflops / 4);
}

static double estimate(const struct adl_catalogue *catalogue, const struct adl_catalogue_class *class,
                       const struct adl_gpu_type *type)
{
    const struct adl_catalogue_speed *speeds = class->speeds.items;
    double found[ADL_CATALOGUE_TYPES_MAX];
    for (uint32_t i = 0; i < class->speeds.count; i++) {
        const struct adl_gpu_type *known = &adl_catalogue_find_type(catalogue, speeds[i].type.text)->gpu;
        const double ratio =
            fmin(arithmetic_rate(type) / arithmetic_rate(known), type->bandwidth_gbs / known->bandwidth_gbs);
        found[i] = speeds[i].steps_per_s * (ratio > 1 ? sqrt(ratio) : ratio);
    }
    if (class->speeds.count == 0)
        return 0;
    qsort(found, class->speeds.count, sizeof *found, compare);
    return found[class->speeds.count / 2];
}

double adl_type_speed(const struct adl_catalogue *catalogue, const struct adl_catalogue_class *class,
                      const struct adl_gpu_type *type, bool *ret_modelled)
{
    const struct adl_catalogue_type *own = adl_catalogue_find_type(catalogue, type->name);
    const char *name = own && own->like.text ? own->like.text : type->name;
    const struct adl_catalogue_speed *speed = adl_catalogue_find_speed(class, name);
    *ret_modelled = !speed || speed->modelled || type->modelled;
    if (speed)
        return speed->steps_per_s;
    return adl_type_has_speeds(catalogue, name) ? 0 : estimate(catalogue, class, type);
}
