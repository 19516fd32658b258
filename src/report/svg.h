/* svg: elements of plots: axes with round ticks, marks, lines, and text escaped for HTML. */
#ifndef ADLRO_REPORT_SVG_H
#define ADLRO_REPORT_SVG_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends a string as text or attribute value of HTML: escapes markup, replaces control characters and invalid
 * UTF-8. */
void adl_html_put(struct adl_text *text, const char *string);
/* The same, truncated to columns characters, the last of them an ellipsis. */
void adl_html_put_cut(struct adl_text *text, const char *string, size_t columns);

/* A scale from values to pixels. */
struct adl_axis {
    double lo, hi; /* lo < hi; both > 0 if log */
    double from_px, to_px;
    double step; /* between ticks; 0 = to be chosen */
    bool log;
    bool duration; /* values are seconds, labels have their own units */
};

#define ADL_TICKS_MAX 24

struct adl_ticks {
    double value[ADL_TICKS_MAX];
    size_t count;
    double step; /* between two ticks of a linear axis */
};

/* An axis over lo..hi, widened to round numbers; handles empty, reversed and non-finite ranges. */
struct adl_axis adl_axis_linear(double lo, double hi, double from_px, double to_px, int wanted_ticks);
/* A logarithmic axis for times; needs 0 < lo and finite hi. */
struct adl_axis adl_axis_log_time(double lo_s, double hi_s, double from_px, double to_px);
/* The pixel of a value, within the axis. */
double adl_axis_px(const struct adl_axis *axis, double value);
struct adl_ticks adl_axis_ticks(const struct adl_axis *axis, int wanted);

/* Grid lines and labels. The labels of an x axis stand below bottom_px, those of a y axis left of left_px. */
void adl_svg_axis_x(struct adl_text *text, const struct adl_axis *axis, int wanted, double top_px, double bottom_px);
void adl_svg_axis_y(struct adl_text *text, const struct adl_axis *axis, int wanted, double left_px, double right_px);

/* The element, with a text alternative: label says what it is, about what it shows. Close with adl_svg_close. The x
 * axis (may be NULL) is written as an attribute, for scripts that read values off the plot. */
void adl_svg_open(struct adl_text *text, double width, double height, const char *label, const char *about,
                  const struct adl_axis *x, const char *x_unit);
void adl_svg_close(struct adl_text *text);

void adl_svg_number(struct adl_text *text, double px);                      /* to 1/10 pixel */
void adl_svg_attribute(struct adl_text *text, const char *name, double px); /* name="px", a blank before it */
void adl_svg_line(struct adl_text *text, const char *class_names, double x1, double y1, double x2, double y2);
void adl_svg_rect(struct adl_text *text, const char *class_names, double x, double y, double width, double height);
void adl_svg_circle(struct adl_text *text, const char *class_names, double x, double y, double radius);
void adl_svg_label(struct adl_text *text, const char *class_names, double x, double y, const char *label);

#define ADL_CLASS_SIZE 48

/* The CSS classes of a policy's mark: "k12 s4 d1 KIND": number, colour, dash, kind. */
const char *adl_svg_series(char ret[ADL_CLASS_SIZE], uint32_t policy, const char *kind);

/* A line through points, with attributes for its policy and for reading values off it: open, points, close. */
void adl_svg_curve_open(struct adl_text *text, uint32_t series, const char *name, const struct adl_axis *y,
                        const char *unit);
void adl_svg_point(struct adl_text *text, double x, double y);
void adl_svg_curve_close(struct adl_text *text);

#endif
