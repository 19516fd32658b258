/* exposition: a page of metrics in Prometheus's text format or OpenMetrics, read line by line.
 *
 * The page is untrusted: lines, labels and their sizes are bounded, and malformed lines are skipped and counted. A last
 * line without line feed is not used, because its number may be truncated. */
#ifndef ADLRO_TELEMETRY_EXPOSITION_H
#define ADLRO_TELEMETRY_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#define ADL_EXPOSITION_LINE_MAX   8192
#define ADL_EXPOSITION_LABELS_MAX 64

enum adl_exposition_kind {
    ADL_EXPOSITION_END,
    ADL_EXPOSITION_SAMPLE,
    ADL_EXPOSITION_HELP, /* text: what it is */
    ADL_EXPOSITION_TYPE, /* text: gauge, counter, ... */
    ADL_EXPOSITION_UNIT, /* text: its unit */
};

struct adl_exposition_label {
    const char *name;
    const char *value;
};

/* The data of a line are valid until the next one. */
struct adl_exposition {
    const char *at; /* rest of the page */
    const char *end;
    uint64_t line; /* from 1 */
    uint64_t malformed_count;
    uint64_t sample_count;
    const char *name; /* of the metric */
    const char *text; /* HELP, TYPE, UNIT */
    double value;     /* SAMPLE; may be NaN or infinite */
    uint32_t label_count;
    struct adl_exposition_label labels[ADL_EXPOSITION_LABELS_MAX];
    char buffer[ADL_EXPOSITION_LINE_MAX + 1]; /* the line, parsed in place */
};

/* The caller owns the bytes. */
void adl_exposition_start(struct adl_exposition *page, const char *data, size_t size);
int adl_exposition_next(struct adl_exposition *page); /* enum adl_exposition_kind */

/* The label's value, "" if there is none of this name. */
const char *adl_exposition_label(const struct adl_exposition *page, const char *name);

#endif
