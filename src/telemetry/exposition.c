#include "telemetry/exposition.h"

#include "base/range.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/* The end of the name that starts here; at itself if there is none. */
static char *skip_name(char *at)
{
    if (!is_letter(*at))
        return at;
    while (is_letter(*at) || (*at >= '0' && *at <= '9'))
        at++;
    return at;
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t");
}

void adl_exposition_start(struct adl_exposition *page, const char *data, size_t size)
{
    page->at = data;
    page->end = data + size;
    page->line = page->malformed_count = page->sample_count = 0;
    page->name = page->text = "";
    page->value = 0;
    page->label_count = 0;
}

/* Copies the next line into the buffer. False at the end; counts and skips a malformed line. */
static bool take_line(struct adl_exposition *page)
{
    while (page->at < page->end) {
        const char *start = page->at;
        const char *stop = memchr(start, '\n', (size_t)(page->end - start));
        page->line++;
        page->at = stop ? stop + 1 : page->end;
        size_t size = (size_t)((stop ? stop : page->end) - start);
        if (size > 0 && start[size - 1] == '\r')
            size--;
        const bool ends = size >= 5 && memcmp(start, "# EOF", 5) == 0; /* OpenMetrics may end without a line feed */
        if ((stop || ends) && size <= ADL_EXPOSITION_LINE_MAX && !memchr(start, '\0', size)) {
            memcpy(page->buffer, start, size);
            page->buffer[size] = '\0';
            return true;
        }
        page->malformed_count++;
    }
    return false;
}

/* Unescapes \\, \" and \n in place. at is after the opening quote; returns the position after the closing one, or
 * NULL. */
static char *take_quoted(char *at)
{
    char *to = at;
    for (; *at != '"'; at++) {
        if (*at == '\0')
            return NULL;
        if (*at == '\\') {
            at++;
            if (*at != '\\' && *at != '"' && *at != 'n')
                return NULL;
            *to++ = *at;
            if (*at == 'n')
                to[-1] = '\n';
            continue;
        }
        *to++ = *at;
    }
    *to = '\0';
    return at + 1;
}

/* at is after the opening brace; returns the position after the closing one, or NULL. */
static char *take_labels(struct adl_exposition *page, char *at)
{
    at = skip_blanks(at);
    while (*at != '}') {
        char *name = at, *end = skip_name(at);
        at = skip_blanks(end);
        if (end == name || *at != '=' || page->label_count == ADL_EXPOSITION_LABELS_MAX)
            return NULL;
        at = skip_blanks(at + 1);
        if (*at != '"')
            return NULL;
        char *value = at + 1;
        at = take_quoted(value);
        if (!at)
            return NULL;
        *end = '\0';
        for (uint32_t i = 0; i < page->label_count; i++)
            if (strcmp(page->labels[i].name, name) == 0)
                return NULL;
        page->labels[page->label_count++] = (struct adl_exposition_label){name, value};
        at = skip_blanks(at);
        if (*at == ',')
            at = skip_blanks(at + 1);
        else if (*at != '}')
            return NULL;
    }
    return at + 1;
}

/* NaN and infinity are values in this format; the caller interprets them. */
static bool take_value(char *text, double *ret)
{
    static const struct adl_range any = {-DBL_MAX, DBL_MAX, false, false};
    char reason[ADL_REFUSAL_SIZE];
    if (strcmp(text, "NaN") == 0)
        *ret = NAN;
    else if (strcmp(text, "+Inf") == 0 || strcmp(text, "Inf") == 0)
        *ret = INFINITY;
    else if (strcmp(text, "-Inf") == 0)
        *ret = -INFINITY;
    else
        return strlen(text) < 64 && adl_range_read_real(text, &any, ret, reason);
    return true;
}

/* NAME{LABEL="VALUE",...} NUMBER [TIME] [# EXEMPLAR] */
static bool take_sample(struct adl_exposition *page)
{
    char *end = skip_name(page->buffer), *at = skip_blanks(end);
    if (end == page->buffer || (*at != '{' && at == end))
        return false;
    page->name = page->buffer;
    if (*at == '{') {
        *end = '\0'; /* may be the brace itself */
        at = take_labels(page, at + 1);
        if (!at)
            return false;
    }
    char *number = skip_blanks(at);
    *end = '\0';
    at = number + strcspn(number, " \t");
    char *rest = skip_blanks(at);
    double unused;
    *at = '\0';
    if (!take_value(number, &page->value))
        return false;
    if (*rest == '\0' || *rest == '#')
        return true;
    char *time = rest;
    at = time + strcspn(time, " \t");
    rest = skip_blanks(at);
    *at = '\0';
    return take_value(time, &unused) && (*rest == '\0' || *rest == '#');
}

static bool take_word(char *at, const char *word, char **ret_rest)
{
    const size_t size = strlen(word);
    if (strncmp(at, word, size) != 0 || (at[size] != ' ' && at[size] != '\t'))
        return false;
    *ret_rest = skip_blanks(at + size);
    return true;
}

/* # HELP NAME TEXT and similar; ADL_EXPOSITION_END for any other comment. */
static int take_comment(struct adl_exposition *page)
{
    char *at = skip_blanks(page->buffer + 1), *name;
    const int kind = take_word(at, "HELP", &name)   ? ADL_EXPOSITION_HELP
                     : take_word(at, "TYPE", &name) ? ADL_EXPOSITION_TYPE
                     : take_word(at, "UNIT", &name) ? ADL_EXPOSITION_UNIT
                                                    : ADL_EXPOSITION_END;
    if (kind == ADL_EXPOSITION_END)
        return kind;
    char *end = skip_name(name);
    if (end == name || (*end != '\0' && *end != ' ' && *end != '\t')) {
        page->malformed_count++;
        return ADL_EXPOSITION_END;
    }
    page->name = name;
    page->text = skip_blanks(end);
    *end = '\0';
    return kind;
}

int adl_exposition_next(struct adl_exposition *page)
{
    while (take_line(page)) {
        page->label_count = 0;
        page->name = page->text = "";
        if (page->buffer[0] == '#') {
            if (strcmp(page->buffer, "# EOF") == 0) {
                page->at = page->end;
                return ADL_EXPOSITION_END;
            }
            const int kind = take_comment(page);
            if (kind != ADL_EXPOSITION_END)
                return kind;
        } else if (*skip_blanks(page->buffer) != '\0') {
            if (take_sample(page)) {
                page->sample_count++;
                return ADL_EXPOSITION_SAMPLE;
            }
            page->malformed_count++;
        }
    }
    return ADL_EXPOSITION_END;
}

const char *adl_exposition_label(const struct adl_exposition *page, const char *name)
{
    for (uint32_t i = 0; i < page->label_count; i++)
        if (strcmp(page->labels[i].name, name) == 0)
            return page->labels[i].value;
    return "";
}
