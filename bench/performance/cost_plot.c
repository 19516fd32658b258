#include "cost_plot.h"

#include <math.h>

enum { WIDTH = 400, HEIGHT = 260, LEFT = 60, TOP = 30, RIGHT = 10, BOTTOM = 45 };
#define LEAST_NS 100.0
#define MOST_NS  10000.0

static const char *const colours[COST_PLOT_LINES] = {"#0072b2", "#d55e00", "#009e73"};

static double part(double value, double least, double most)
{
    const double at = log(value / least) / log(most / least);
    return at < 0 ? 0 : at > 1 ? 1 : at;
}

static double x_of(const struct cost_plot *plot, double size)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * part(size, plot->size[0], plot->size[plot->count - 1]);
}

static double y_of(double ns)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part(ns, LEAST_NS, MOST_NS);
}

static void write_axes(FILE *file, const struct cost_plot *plot)
{
    for (int decade = 0; decade <= 2; decade++) {
        const double ns = LEAST_NS * pow(10, decade);
        fprintf(file,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ccc\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f ns</text>\n",
                LEFT, y_of(ns), WIDTH - RIGHT, y_of(ns), LEFT - 6, y_of(ns) + 4, ns);
    }
    for (uint32_t i = 0; i < plot->count; i++) {
        const double size = plot->size[i], unit = size >= 1e6 ? 1e6 : size >= 1e3 ? 1e3 : 1;
        fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f%s</text>\n", x_of(plot, size),
                HEIGHT - BOTTOM + 16, size / unit,
                unit == 1e6   ? " M"
                : unit == 1e3 ? " k"
                              : "");
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8,
            plot->axis);
}

static void write_line(FILE *file, const struct cost_plot *plot, int line)
{
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[line]);
    for (uint32_t i = 0; i < plot->count; i++)
        if (plot->ns[line][i] > 0)
            fprintf(file, "%.1f,%.1f ", x_of(plot, plot->size[i]), y_of(plot->ns[line][i]));
    fprintf(file, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", LEFT + 10 + 70 * line, TOP - 10,
            colours[line], plot->names[line]);
}

void cost_plot_write(FILE *file, const struct cost_plot *panels, uint32_t count)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH * count, HEIGHT);
    for (uint32_t p = 0; p < count; p++) {
        fprintf(file, "<g transform=\"translate(%u,0)\">\n", WIDTH * p);
        write_axes(file, &panels[p]);
        for (int line = 0; line < COST_PLOT_LINES; line++)
            write_line(file, &panels[p], line);
        fprintf(file, "</g>\n");
    }
    fprintf(file, "</svg>\n");
}
