/* cells: what jobs of each kind showed on each GPU type before anything changed: the speed, or the clock, that
 * drift is measured against.
 *
 * A cell is the mean of the logarithm, free of what the GPU and its type were known to lose. Each job counts with its
 * first few samples only, so that one long job on one slow GPU does not set the mean. Memory is fixed: the cell that
 * was not used for longest is forgotten. */
#ifndef ADLRO_PREDICT_DRIFT_CELLS_H
#define ADLRO_PREDICT_DRIFT_CELLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_DRIFT_CELLS 4096 /* 160 KiB for each channel */

struct adl_drift_cell {
    uint64_t key; /* 0 = unused */
    uint64_t used;
    double mean;   /* of the logarithm */
    double spread; /* median |deviation| of a job's first sample */
    uint32_t jobs;
};

struct adl_drift_cells {
    struct adl_drift_cell *list;
    uint64_t clock; /* uses so far; 0 = all cells are unused */
};

int adl_drift_cells_create(struct adl_drift_cells *ret);   /* 0 or ADL_ENOMEM */
void adl_drift_cells_clear(struct adl_drift_cells *cells); /* frees; accepts a zeroed one */

void adl_drift_cells_reset(struct adl_drift_cells *cells); /* as after create */
void adl_drift_cells_copy(struct adl_drift_cells *to, const struct adl_drift_cells *from);

bool adl_drift_cell_fits(uint64_t key, uint32_t place); /* whether a cell with this key can be there in the list */

/* The cell with this key, which is not 0; a new one has no jobs. */
struct adl_drift_cell *adl_drift_cells_find(struct adl_drift_cells *cells, uint64_t key);

/* Variance of what a cell with a job says about one more job on a healthy GPU. noise: variance of one sample. */
double adl_drift_cell_doubt(const struct adl_drift_cell *cell, double noise);

/* Variance of its mean if the jobs that it was learned from may have run on slow GPUs. */
double adl_drift_cell_width(const struct adl_drift_cell *cell);

/* Adds a sample of a job, its index-th: what the mean left unexplained, bounded by the caller. */
void adl_drift_cell_learn(struct adl_drift_cell *cell, uint32_t index, double innovation);

#endif
