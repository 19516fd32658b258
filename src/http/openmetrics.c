#include "http/openmetrics.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS  "0123456789"

bool adl_metrics_accepts(const char *accept)
{
    return accept && strstr(accept, "application/openmetrics-text") != NULL;
}

static bool is_name(const char *name)
{
    return strspn(name, LETTERS) > 0 && name[strspn(name, LETTERS DIGITS)] == '\0';
}

static bool ends_with(const char *name, const char *unit)
{
    const size_t name_size = strlen(name), size = strlen(unit);
    return name_size > size && name[name_size - size - 1] == '_' && strcmp(name + name_size - size, unit) == 0;
}

static bool is_repeated(struct adl_metrics_page *page, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (uint32_t i = 0; i < page->name_count; i++)
        if (page->name_hashes[i] == hash)
            return true;
    if (page->name_count < sizeof page->name_hashes / sizeof *page->name_hashes)
        page->name_hashes[page->name_count++] = hash;
    return false;
}

static void fail(struct adl_metrics_page *page, const char *why)
{
    if (page->status == ADL_OK)
        page->status = adl_fail(&page->err, ADL_EINVAL, "metric %.200s: %s", page->name ? page->name : "?", why);
}

static void write_escaped(struct adl_text *text, const char *string)
{
    while (*string) {
        const size_t length = adl_utf8_length(string);
        if (length == 0)
            adl_text_put(text, "\xef\xbf\xbd");
        else if (*string == '\n')
            adl_text_put(text, "\\n");
        else if (*string == '\\' || *string == '"')
            adl_text_printf(text, "\\%c", *string);
        else
            adl_text_bytes(text, string, length);
        string += length ? length : 1;
    }
}

/* The older format has no escaped quote in a help text. */
static void write_help(const struct adl_metrics_page *page, const char *help)
{
    for (const char *c = help; *c; c++) {
        const char plain[2] = {*c, '\0'};
        if (*c == '"' && !page->openmetrics)
            adl_text_char(page->text, '"');
        else if ((unsigned char)*c < 0x80)
            write_escaped(page->text, plain);
        else
            adl_text_char(page->text, *c);
    }
}

void adl_metrics_family(struct adl_metrics_page *page, const char *name, int type, const char *unit, const char *help)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    page->name = name;
    page->type = type;
    if (!is_name(name))
        fail(page, "a name is of letters, digits and '_' and starts with no digit");
    if (is_repeated(page, name))
        fail(page, "is on the page twice");
    if (ends_with(name, "total"))
        fail(page, "'_total' is added here");
    if (unit && !ends_with(name, unit))
        fail(page, "must end with its unit");
    /* In the older format a counter's name has the suffix, in OpenMetrics only its sample. */
    const char *suffix = type == ADL_METRIC_COUNTER && !page->openmetrics ? "_total" : "";
    adl_text_printf(page->text, "# HELP %s%s ", name, suffix);
    write_help(page, help);
    adl_text_printf(page->text, "\n# TYPE %s%s %s\n", name, suffix, types[type]);
    if (unit && page->openmetrics)
        adl_text_printf(page->text, "# UNIT %s %s\n", name, unit);
}

static void write_number(struct adl_text *text, double value)
{
    if (isnan(value))
        adl_text_put(text, "NaN");
    else if (isinf(value))
        adl_text_put(text, value > 0 ? "+Inf" : "-Inf");
    else
        adl_text_real(text, value);
}

static void write_labels(struct adl_metrics_page *page, const struct adl_metric_label *labels, size_t count,
                         const double *bound)
{
    struct adl_text *text = page->text;
    for (size_t i = 0; i < count; i++) {
        if (!is_name(labels[i].name) || strcmp(labels[i].name, "le") == 0)
            fail(page, "a label has a name that labels cannot have");
        adl_text_printf(text, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
        write_escaped(text, labels[i].value);
        adl_text_char(text, '"');
    }
    if (bound) {
        struct adl_text le = {0};
        write_number(&le, *bound);
        /* OpenMetrics requires a decimal point in a bucket's bound. */
        if (le.data && isfinite(*bound) && !strpbrk(le.data, ".e"))
            adl_text_put(&le, ".0");
        if (adl_text_status(&le) == ADL_OK)
            adl_text_printf(text, "%sle=\"%s\"", count ? "," : "{", le.data);
        else
            page->text->failed = true;
        adl_text_clear(&le);
    }
    if (count > 0 || bound)
        adl_text_char(text, '}');
}

static void write_sample(struct adl_metrics_page *page, const char *suffix, const struct adl_metric_label *labels,
                         size_t count, const double *bound, double value)
{
    adl_text_printf(page->text, "%s%s", page->name, suffix);
    write_labels(page, labels, count, bound);
    adl_text_char(page->text, ' ');
    write_number(page->text, value);
    adl_text_char(page->text, '\n');
}

void adl_metrics_value(struct adl_metrics_page *page, const struct adl_metric_label *labels, size_t label_count,
                       double value)
{
    if (!page->name || page->type == ADL_METRIC_HISTOGRAM) {
        fail(page, "a value needs a family of gauges or counters");
        return;
    }
    const bool counter = page->type == ADL_METRIC_COUNTER;
    if (counter && !(value >= 0))
        fail(page, "a counter is not negative");
    write_sample(page, counter ? "_total" : "", labels, label_count, NULL, value);
}

void adl_metrics_histogram(struct adl_metrics_page *page, const struct adl_metric_label *labels, size_t label_count,
                           const double *bounds, const uint64_t *counts, size_t bound_count, double sum)
{
    if (!page->name || page->type != ADL_METRIC_HISTOGRAM) {
        fail(page, "buckets need a family of histograms");
        return;
    }
    uint64_t count = 0;
    for (size_t i = 0; i <= bound_count; i++) {
        const double bound = i < bound_count ? bounds[i] : INFINITY;
        if (i < bound_count && (!isfinite(bound) || (i > 0 && !(bound > bounds[i - 1]))))
            fail(page, "bounds of buckets are finite and rise");
        count += counts[i];
        write_sample(page, "_bucket", labels, label_count, &bound, (double)count);
    }
    write_sample(page, "_count", labels, label_count, NULL, (double)count);
    write_sample(page, "_sum", labels, label_count, NULL, sum);
}

int adl_metrics_end(struct adl_metrics_page *page, struct adl_error *err)
{
    if (page->openmetrics)
        adl_text_put(page->text, "# EOF\n");
    if (page->status < 0)
        return adl_fail(err, page->status, "%s", page->err.text);
    const int status = adl_text_status(page->text);
    return status == ADL_OK ? ADL_OK : adl_fail(err, status, "no memory for a page of metrics");
}
