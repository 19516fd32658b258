/* cost_plot: a picture of costs against sizes as SVG, both axes logarithmic. */
#ifndef ADLRO_BENCH_COST_PLOT_H
#define ADLRO_BENCH_COST_PLOT_H

#include <stdint.h>
#include <stdio.h>

#define COST_PLOT_LINES  3
#define COST_PLOT_POINTS 8

/* One panel: a line for each policy. */
struct cost_plot {
    const char *axis; /* "GPUs" */
    const char *names[COST_PLOT_LINES];
    uint32_t count; /* points of each line */
    double size[COST_PLOT_POINTS];
    double ns[COST_PLOT_LINES][COST_PLOT_POINTS]; /* 0 = not measured */
};

void cost_plot_write(FILE *file, const struct cost_plot *panels, uint32_t count);

#endif
