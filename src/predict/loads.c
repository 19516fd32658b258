#include "predict/loads.h"

#include "predict/power.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Readings in the mean: enough to average out noise, few enough to follow drift. */
#define READINGS_KEPT 64

/* Training: the median of Zeus's 218 settings. The others have no measurements: the catalogue's assumptions. */
static const double usual[ADL_KIND_COUNT] = {
    [ADL_KIND_TRAINING] = 0.58,
    [ADL_KIND_INFERENCE] = 0.60,
    [ADL_KIND_SIMULATION] = 0.75,
    [ADL_KIND_DATA] = 0.38,
};

struct cell {
    double mean;
    uint32_t readings;
};

struct adl_loads {
    const struct adl_cluster *cluster;
    uint32_t profiles;
    struct cell cells[]; /* [profile][type] */
};

int adl_loads_create(const struct adl_cluster *cluster, uint32_t profiles, struct adl_loads **ret)
{
    struct adl_loads *loads =
        calloc(1, sizeof *loads + (size_t)profiles * cluster->type_count * sizeof loads->cells[0]);
    if (!loads)
        return ADL_ENOMEM;
    loads->cluster = cluster;
    loads->profiles = profiles;
    *ret = loads;
    return 0;
}

void adl_loads_destroy(struct adl_loads *loads)
{
    free(loads);
}

void adl_loads_copy(struct adl_loads *to, const struct adl_loads *from)
{
    memcpy(to->cells, from->cells, (size_t)from->profiles * from->cluster->type_count * sizeof from->cells[0]);
}

void adl_loads_measure(struct adl_loads *loads, uint32_t profile, uint32_t type, double power_w, double cap_w)
{
    assert(profile < loads->profiles && type < loads->cluster->type_count);
    struct cell *cell = &loads->cells[(size_t)profile * loads->cluster->type_count + type];
    const double load = adl_power_load_capped(&loads->cluster->types[type], power_w, cap_w);
    cell->readings += cell->readings < UINT32_MAX;
    cell->mean += (load - cell->mean) / (cell->readings < READINGS_KEPT ? cell->readings : READINGS_KEPT);
}

struct adl_load adl_loads_find(const struct adl_loads *loads, uint32_t profile, uint32_t type, int kind)
{
    assert(profile < loads->profiles && type < loads->cluster->type_count && kind >= 0 && kind < ADL_KIND_COUNT);
    const uint32_t type_count = loads->cluster->type_count;
    const struct cell *row = &loads->cells[(size_t)profile * type_count];
    struct adl_load found = {.load = usual[kind], .readings = row[type].readings};
    double sum = 0;
    for (uint32_t t = 0; t < type_count; t++) {
        found.types += row[t].readings > 0;
        sum += row[t].mean;
    }
    if (row[type].readings > 0)
        found.load = row[type].mean;
    else if (found.types > 0)
        found.load = sum / found.types;
    return found;
}

void adl_loads_forget(struct adl_loads *loads, uint32_t profile)
{
    assert(profile < loads->profiles);
    const uint32_t type_count = loads->cluster->type_count;
    for (uint32_t t = 0; t < type_count; t++)
        loads->cells[(size_t)profile * type_count + t] = (struct cell){0};
}
