#include "report/svg.h"

#include "report/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void html_put_character(struct adl_text *text, const char *at, size_t length)
{
    const unsigned char c = (unsigned char)*at;
    if (length == 0)
        adl_text_put(text, "\ufffd");
    else if (c == '&')
        adl_text_put(text, "&amp;");
    else if (c == '<')
        adl_text_put(text, "&lt;");
    else if (c == '>')
        adl_text_put(text, "&gt;");
    else if (c == '"')
        adl_text_put(text, "&quot;");
    else if (c == '\'')
        adl_text_put(text, "&#39;");
    else if (c < 0x20 || c == 0x7f)
        adl_text_char(text, ' ');
    else
        adl_text_bytes(text, at, length);
}

void adl_html_put(struct adl_text *text, const char *string)
{
    while (*string) {
        const size_t length = adl_utf8_length(string);
        html_put_character(text, string, length);
        string += length ? length : 1;
    }
}

void adl_html_put_cut(struct adl_text *text, const char *string, size_t columns)
{
    if (adl_utf8_count(string) <= columns) {
        adl_html_put(text, string);
        return;
    }
    for (size_t i = 0; i + 1 < columns; i++) {
        const size_t length = adl_utf8_length(string);
        html_put_character(text, string, length);
        string += length ? length : 1;
    }
    adl_text_put(text, "\u2026");
}

/* 1, 2 or 5 times a power of ten, so that about wanted steps cover the span. */
static double round_step(double span, int wanted)
{
    const double rough = span / wanted;
    const double power = pow(10, floor(log10(rough)));
    const double lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

struct adl_axis adl_axis_linear(double lo, double hi, double from_px, double to_px, int wanted_ticks)
{
    if (!isfinite(lo))
        lo = isfinite(hi) ? hi : 0;
    if (!isfinite(hi) || hi < lo)
        hi = lo;
    lo = fmax(lo, -1e290); /* so that the span is finite too */
    hi = fmin(hi, 1e290);
    if (hi - lo <= fabs(hi) * 1e-9) {
        const double room = fabs(hi) > 0 ? fabs(hi) * 0.1 : 1;
        lo = lo >= 0 && lo <= 0 ? 0 : lo - room;
        hi += room;
    }
    const double step = round_step(hi - lo, wanted_ticks);
    return (struct adl_axis){.step = step,
                             .lo = floor(lo / step + 1e-9) * step,
                             .hi = ceil(hi / step - 1e-9) * step,
                             .from_px = from_px,
                             .to_px = to_px};
}

struct adl_axis adl_axis_log_time(double lo_s, double hi_s, double from_px, double to_px)
{
    if (hi_s < lo_s * 2)
        hi_s = lo_s * 2;
    return (struct adl_axis){.lo = lo_s, .hi = hi_s, .from_px = from_px, .to_px = to_px, .log = true, .duration = true};
}

double adl_axis_px(const struct adl_axis *axis, double value)
{
    double share = axis->log ? log(fmax(value, axis->lo) / axis->lo) / log(axis->hi / axis->lo)
                             : (value - axis->lo) / (axis->hi - axis->lo);
    if (!(share > 0))
        share = 0;
    return axis->from_px + fmin(share, 1) * (axis->to_px - axis->from_px);
}

static void ticks_add(struct adl_ticks *ticks, const struct adl_axis *axis, double value)
{
    if (ticks->count < ADL_TICKS_MAX && value >= axis->lo * (1 - 1e-9) && value <= axis->hi * (1 + 1e-9))
        ticks->value[ticks->count++] = value;
}

/* Round times in common units, about a factor of ten apart, or with fine a factor of two to three. */
static struct adl_ticks ticks_log_time(const struct adl_axis *axis, bool fine)
{
    static const double coarse_s[] = {1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 21600, 86400, 864000, 8640000};
    static const double fine_s[] = {1e-3, 2e-3,  5e-3,  0.01,  0.02,   0.05,   0.1,    0.2,     0.5,     1,
                                    2,    5,     10,    20,    60,     120,    300,    600,     1200,    3600,
                                    7200, 18000, 36000, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000};
    const double *table_s = fine ? fine_s : coarse_s;
    const size_t count = fine ? sizeof fine_s / sizeof *fine_s : sizeof coarse_s / sizeof *coarse_s;
    struct adl_ticks ticks = {0};
    for (size_t i = 0; i < count; i++)
        ticks_add(&ticks, axis, table_s[i]);
    return ticks;
}

/* Powers of ten of a day or of a second, for ranges beyond the common units; thinned to about wanted. */
static struct adl_ticks ticks_log_powers(const struct adl_axis *axis, int wanted)
{
    struct adl_ticks ticks = {0};
    const double unit_s = axis->hi > 8640000 ? 86400 : 1;
    const double first = ceil(log10(axis->lo / unit_s) - 1e-9), last = floor(log10(axis->hi / unit_s) + 1e-9);
    const double stride = fmax(1, ceil((last - first) / wanted));
    for (double power = first; power <= last && ticks.count < ADL_TICKS_MAX; power += stride)
        ticks_add(&ticks, axis, unit_s * pow(10, power));
    return ticks;
}

struct adl_ticks adl_axis_ticks(const struct adl_axis *axis, int wanted)
{
    struct adl_ticks ticks = {0};
    if (axis->log) {
        ticks = ticks_log_time(axis, true);
        if (ticks.count > (size_t)wanted + 2)
            ticks = ticks_log_time(axis, false);
        if (axis->hi > 8640000.0 * 2 || axis->lo < 5e-4 || ticks.count > (size_t)wanted + 2 || ticks.count == 0)
            ticks = ticks_log_powers(axis, wanted);
        return ticks;
    }
    ticks.step = axis->step > 0 ? axis->step : round_step(axis->hi - axis->lo, wanted);
    const double first = ceil(axis->lo / ticks.step - 1e-6);
    for (int i = 0; i < ADL_TICKS_MAX; i++) {
        const double value = (first + i) * ticks.step;
        if (value > axis->hi + ticks.step * 1e-6)
            break;
        ticks.value[ticks.count++] = value;
    }
    return ticks;
}

static const char *tick_print(char ret[ADL_FIGURE_SIZE], const struct adl_axis *axis, const struct adl_ticks *ticks,
                              double value)
{
    char number[ADL_NUMBER_SIZE];
    if (axis->duration)
        return adl_figure_print_duration(ret, value);
    if (fabs(value) >= 9999.5 || (ticks->step > 0 && ticks->step < 1e-4))
        return adl_figure_print_short(ret, value);
    const int decimals = ticks->step >= 1 ? 0 : (int)ceil(-log10(ticks->step) - 1e-9);
    adl_number_print(number, 'f', decimals, fabs(value) < ticks->step / 2 ? 0 : value);
    snprintf(ret, ADL_FIGURE_SIZE, "%.20s", number);
    return ret;
}

void adl_svg_axis_x(struct adl_text *text, const struct adl_axis *axis, int wanted, double top_px, double bottom_px)
{
    const struct adl_ticks ticks = adl_axis_ticks(axis, wanted);
    char label[ADL_FIGURE_SIZE];
    for (size_t i = 0; i < ticks.count; i++) {
        const double x = adl_axis_px(axis, ticks.value[i]);
        adl_svg_line(text, "grid", x, top_px, x, bottom_px);
        adl_svg_label(text, "tick mid", x, bottom_px + 19, tick_print(label, axis, &ticks, ticks.value[i]));
    }
    adl_svg_line(text, "base", axis->from_px, bottom_px, axis->to_px, bottom_px);
}

void adl_svg_axis_y(struct adl_text *text, const struct adl_axis *axis, int wanted, double left_px, double right_px)
{
    const struct adl_ticks ticks = adl_axis_ticks(axis, wanted);
    char label[ADL_FIGURE_SIZE];
    for (size_t i = 0; i < ticks.count; i++) {
        const double y = adl_axis_px(axis, ticks.value[i]);
        adl_svg_line(text, "grid", left_px, y, right_px, y);
        adl_svg_label(text, "tick end", left_px - 8, y + 4.5, tick_print(label, axis, &ticks, ticks.value[i]));
    }
}

void adl_svg_open(struct adl_text *text, double width, double height, const char *label, const char *about,
                  const struct adl_axis *x, const char *x_unit)
{
    adl_text_put(text, "<svg viewBox=\"0 0 ");
    adl_svg_number(text, width);
    adl_text_char(text, ' ');
    adl_svg_number(text, height);
    adl_text_put(text, "\" role=\"img\" aria-label=\"");
    adl_html_put(text, label);
    adl_text_char(text, '"');
    if (x) {
        adl_text_put(text, " data-x=\"");
        adl_svg_number(text, x->from_px);
        adl_text_char(text, ' ');
        adl_svg_number(text, x->to_px);
        adl_text_char(text, ' ');
        adl_text_real(text, x->lo);
        adl_text_char(text, ' ');
        adl_text_real(text, x->hi);
        adl_text_printf(text, " %d\" data-u=\"", x->log ? 1 : 0);
        adl_html_put(text, x_unit);
        adl_text_char(text, '"');
    }
    adl_text_put(text, ">\n<desc>");
    adl_html_put(text, about);
    adl_text_put(text, "</desc>\n");
}

void adl_svg_close(struct adl_text *text)
{
    adl_text_put(text, "</svg>\n");
}

void adl_svg_number(struct adl_text *text, double px)
{
    char number[ADL_NUMBER_SIZE];
    if (!isfinite(px))
        px = 0;
    size_t length = adl_number_print(number, 'f', 1, fabs(px) < 0.05 ? 0 : px);
    if (length > 2 && number[length - 1] == '0')
        length -= 2;
    adl_text_bytes(text, number, length);
}

void adl_svg_attribute(struct adl_text *text, const char *name, double px)
{
    adl_text_printf(text, " %s=\"", name);
    adl_svg_number(text, px);
    adl_text_char(text, '"');
}

void adl_svg_line(struct adl_text *text, const char *class_names, double x1, double y1, double x2, double y2)
{
    adl_text_printf(text, "<line class=\"%s\"", class_names);
    adl_svg_attribute(text, "x1", x1);
    adl_svg_attribute(text, "y1", y1);
    adl_svg_attribute(text, "x2", x2);
    adl_svg_attribute(text, "y2", y2);
    adl_text_put(text, "/>\n");
}

void adl_svg_rect(struct adl_text *text, const char *class_names, double x, double y, double width, double height)
{
    adl_text_printf(text, "<rect class=\"%s\"", class_names);
    adl_svg_attribute(text, "x", x);
    adl_svg_attribute(text, "y", y);
    adl_svg_attribute(text, "width", fmax(width, 0));
    adl_svg_attribute(text, "height", fmax(height, 0));
    adl_text_put(text, "/>\n");
}

void adl_svg_circle(struct adl_text *text, const char *class_names, double x, double y, double radius)
{
    adl_text_printf(text, "<circle class=\"%s\"", class_names);
    adl_svg_attribute(text, "cx", x);
    adl_svg_attribute(text, "cy", y);
    adl_svg_attribute(text, "r", radius);
    adl_text_put(text, "/>\n");
}

void adl_svg_label(struct adl_text *text, const char *class_names, double x, double y, const char *label)
{
    adl_text_printf(text, "<text class=\"%s\"", class_names);
    adl_svg_attribute(text, "x", x);
    adl_svg_attribute(text, "y", y);
    adl_text_char(text, '>');
    adl_html_put(text, label);
    adl_text_put(text, "</text>\n");
}

const char *adl_svg_series(char ret[ADL_CLASS_SIZE], uint32_t policy, const char *kind)
{
    snprintf(ret, ADL_CLASS_SIZE, "k%" PRIu32 " s%" PRIu32 " d%" PRIu32 " %.16s", policy, policy % 8, policy / 8 % 4,
             kind);
    return ret;
}

void adl_svg_curve_open(struct adl_text *text, uint32_t series, const char *name, const struct adl_axis *y,
                        const char *unit)
{
    char names[ADL_CLASS_SIZE];
    adl_text_printf(text, "<polyline class=\"%s\" data-n=\"", adl_svg_series(names, series, "line"));
    adl_html_put(text, name);
    adl_text_put(text, "\" data-y=\"");
    adl_svg_number(text, y->from_px);
    adl_text_char(text, ' ');
    adl_svg_number(text, y->to_px);
    adl_text_char(text, ' ');
    adl_text_real(text, y->lo);
    adl_text_char(text, ' ');
    adl_text_real(text, y->hi);
    adl_text_printf(text, "\" data-u=\"%s\" points=\"", unit);
}

void adl_svg_point(struct adl_text *text, double x, double y)
{
    adl_svg_number(text, x);
    adl_text_char(text, ',');
    adl_svg_number(text, y);
    adl_text_char(text, ' ');
}

void adl_svg_curve_close(struct adl_text *text)
{
    adl_text_put(text, "\"/>\n");
}
