#include "http/target.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

struct cursor {
    const char *in;
    char *out;
};

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes up to one of the stop characters or the end and terminates the piece. */
static int decode(struct cursor *at, const char *stops, bool query, struct adl_error *err)
{
    char *const start = at->out;
    for (; *at->in && !strchr(stops, *at->in); at->in++) {
        char c = *at->in;
        if (c == '%') {
            const int high = hex_value(at->in[1]), low = high < 0 ? -1 : hex_value(at->in[2]);
            if (low < 0)
                return adl_fail(err, ADL_EINVAL, "a %% in the address must be followed by two hexadecimal digits");
            c = (char)(unsigned char)(high * 16 + low);
            at->in += 2;
            if (c == '/' && !query)
                return adl_fail(err, ADL_EINVAL, "a part of the path must not hold an escaped slash");
        } else if (c == '+' && query) {
            c = ' ';
        } else if (!is_letter_or_digit(c) && !strchr(query ? "-._~!$&'()*+,;=:@/?" : "-._~!$&'()*+,;=:@", c)) {
            return adl_fail(err, ADL_EINVAL, "the address holds the byte 0x%02x, which must be written as %%%02X",
                            (unsigned)(unsigned char)c, (unsigned)(unsigned char)c);
        }
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return adl_fail(err, ADL_EINVAL, "the address holds a control character");
        *at->out++ = c;
    }
    *at->out++ = '\0';
    for (const char *c = start; *c;) {
        const size_t length = adl_utf8_length(c);
        if (length == 0)
            return adl_fail(err, ADL_EINVAL, "the address is not UTF-8");
        c += length;
    }
    return ADL_OK;
}

static int parse_path(struct adl_target *target, struct cursor *at, struct adl_error *err)
{
    if (*at->in != '/')
        return adl_fail(err, ADL_EINVAL, "the address must start with a slash");
    if (at->in[1] == '\0' || at->in[1] == '?') {
        at->in++;
        return ADL_OK;
    }
    while (*at->in == '/') {
        at->in++;
        if (target->segment_count == ADL_TARGET_SEGMENT_MAX)
            return adl_fail(err, ADL_EINVAL, "the path has more than %d parts", ADL_TARGET_SEGMENT_MAX);
        const char *segment = at->out;
        const int status = decode(at, "/?", false, err);
        if (status < 0)
            return status;
        if (segment[0] == '\0' || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
            return adl_fail(err, ADL_EINVAL, "no part of the path may be empty, '.' or '..'");
        target->segments[target->segment_count++] = segment;
    }
    return ADL_OK;
}

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!is_letter_or_digit(*c) && !strchr("_-.", *c))
            return false;
    return name[0] != '\0';
}

static int parse_pair(struct adl_target *target, struct cursor *at, struct adl_error *err)
{
    if (target->pair_count == ADL_TARGET_PAIR_MAX)
        return adl_fail(err, ADL_EINVAL, "the query has more than %d parameters", ADL_TARGET_PAIR_MAX);
    struct adl_target_pair pair = {.name = at->out, .value = ""};
    int status = decode(at, "&=", true, err);
    if (status == ADL_OK && *at->in == '=') {
        at->in++;
        pair.value = at->out;
        status = decode(at, "&", true, err);
    }
    if (status < 0)
        return status;
    if (!is_name(pair.name))
        return adl_fail(err, ADL_EINVAL, "a query parameter's name is of letters, digits, '_', '-' and '.'");
    if (adl_target_query(target, pair.name))
        return adl_fail(err, ADL_EINVAL, "the query parameter '%.64s' is given twice", pair.name);
    target->pairs[target->pair_count++] = pair;
    return ADL_OK;
}

static int parse(struct adl_target *target, struct cursor *at, struct adl_error *err)
{
    int status = parse_path(target, at, err);
    if (status < 0 || *at->in == '\0')
        return status;
    at->in++; /* the question mark */
    while (status == ADL_OK && *at->in) {
        status = parse_pair(target, at, err);
        if (status == ADL_OK && *at->in == '&' && *++at->in == '\0')
            return adl_fail(err, ADL_EINVAL, "the query ends with an '&'");
    }
    return status;
}

int adl_target_parse(struct adl_target *target, const char *raw, struct adl_error *err)
{
    target->segment_count = target->pair_count = 0;
    if (strlen(raw) >= ADL_TARGET_SIZE_MAX)
        return adl_fail(err, ADL_EINVAL, "the address has %zu bytes; at most %d are read", strlen(raw),
                        ADL_TARGET_SIZE_MAX - 1);
    struct cursor at = {.in = raw, .out = target->text};
    const int status = parse(target, &at, err);
    if (status < 0)
        target->segment_count = target->pair_count = 0;
    return status;
}

const char *adl_target_query(const struct adl_target *target, const char *name)
{
    for (uint32_t i = 0; i < target->pair_count; i++)
        if (strcmp(target->pairs[i].name, name) == 0)
            return target->pairs[i].value;
    return NULL;
}
