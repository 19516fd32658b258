#include "predict/drift/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAYS    8
#define BUCKETS (ADL_DRIFT_CELLS / WAYS)

#define FIRST      4    /* samples of each job that count */
#define MEMORY     128  /* jobs that the mean remembers */
#define GPU_SPREAD 0.05 /* standard deviation of healthy GPUs of one type */
#define FAULTY     0.15 /* the same of all GPUs: the first job may have run on a slow one */
#define SPREAD     0.02 /* between jobs of one kind, before there are several */
#define MEDIAN     0.6745
#define STEP       0.15 /* relative step of the median of a cell's deviations with each job */

int adl_drift_cells_create(struct adl_drift_cells *ret)
{
    ret->clock = 0;
    ret->list = calloc((size_t)ADL_DRIFT_CELLS, sizeof *ret->list);
    return ret->list ? 0 : ADL_ENOMEM;
}

void adl_drift_cells_clear(struct adl_drift_cells *cells)
{
    free(cells->list);
    *cells = (struct adl_drift_cells){0};
}

void adl_drift_cells_reset(struct adl_drift_cells *cells)
{
    if (cells->clock == 0)
        return; /* none was ever used; most runs measure nothing, and this is more than a cache holds */
    memset(cells->list, 0, (size_t)ADL_DRIFT_CELLS * sizeof *cells->list);
    cells->clock = 0;
}

bool adl_drift_cell_fits(uint64_t key, uint32_t place)
{
    return (key >> 8) % BUCKETS == place / WAYS;
}

void adl_drift_cells_copy(struct adl_drift_cells *to, const struct adl_drift_cells *from)
{
    if (from->clock == 0) {
        adl_drift_cells_reset(to);
        return;
    }
    memcpy(to->list, from->list, (size_t)ADL_DRIFT_CELLS * sizeof *to->list);
    to->clock = from->clock;
}

struct adl_drift_cell *adl_drift_cells_find(struct adl_drift_cells *cells, uint64_t key)
{
    struct adl_drift_cell *bucket = &cells->list[(key >> 8) % BUCKETS * WAYS], *oldest = bucket;
    for (int i = 0; i < WAYS; i++) {
        if (bucket[i].key == key) {
            bucket[i].used = ++cells->clock;
            return &bucket[i];
        }
        oldest = bucket[i].used < oldest->used ? &bucket[i] : oldest;
    }
    *oldest = (struct adl_drift_cell){.key = key, .used = ++cells->clock, .spread = SPREAD * MEDIAN};
    return oldest;
}

double adl_drift_cell_doubt(const struct adl_drift_cell *cell, double noise)
{
    const double deviation = cell->spread / MEDIAN, between = deviation * deviation - noise;
    return (GPU_SPREAD * GPU_SPREAD + noise / FIRST) / cell->jobs + (between > 0 ? between : 0);
}

double adl_drift_cell_width(const struct adl_drift_cell *cell)
{
    return FAULTY * FAULTY / cell->jobs;
}

/* The first sample of a job shows how much jobs differ; a median, because some ran on slow GPUs. */
static void count_job(struct adl_drift_cell *cell, double innovation)
{
    if (cell->jobs > 0)
        cell->spread *= fabs(innovation) > cell->spread ? 1 + STEP : 1 - STEP;
    cell->spread = cell->spread < 1e-3 ? 1e-3 : cell->spread;
    cell->jobs++;
}

void adl_drift_cell_learn(struct adl_drift_cell *cell, uint32_t index, double innovation)
{
    if (index == 0 || cell->jobs == 0)
        count_job(cell, innovation);
    if (index >= FIRST)
        return;
    const uint32_t before = cell->jobs < MEMORY ? cell->jobs - 1 : MEMORY - 1;
    cell->mean += innovation / (FIRST * before + index + 1);
}
