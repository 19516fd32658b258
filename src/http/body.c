#include "http/body.h"

#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *start, *at, *end;
    uint32_t depth;
    uint64_t objects; /* bit d: the container at depth d is an object */
    struct adl_error *err;
};

static int wrong(const struct scan *scan, const char *what)
{
    return adl_fail(scan->err, ADL_EINVAL, "JSON, byte %zu: %s", (size_t)(scan->at - scan->start) + 1, what);
}

static char peek(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static void skip_space(struct scan *scan)
{
    while (peek(scan) == ' ' || peek(scan) == '\t' || peek(scan) == '\r' || peek(scan) == '\n')
        scan->at++;
}

static size_t skip_digits(struct scan *scan)
{
    const char *start = scan->at;
    while (peek(scan) >= '0' && peek(scan) <= '9')
        scan->at++;
    return (size_t)(scan->at - start);
}

static int scan_number(struct scan *scan)
{
    if (peek(scan) == '-')
        scan->at++;
    const bool zero = peek(scan) == '0';
    const size_t digits = skip_digits(scan);
    if (digits == 0 || (zero && digits > 1))
        return wrong(scan, "a number starts with one digit, and with 0 only if that is all before the point");
    if (peek(scan) == '.') {
        scan->at++;
        if (skip_digits(scan) == 0)
            return wrong(scan, "a point is followed by digits");
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->at++;
        if (skip_digits(scan) == 0)
            return wrong(scan, "an exponent has digits");
    }
    return ADL_OK;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX, or -1. */
static int32_t scan_unit(struct scan *scan)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        const int value = hex_value(peek(scan));
        if (value < 0)
            return -1;
        unit = unit * 16 + value;
        scan->at++;
    }
    return unit;
}

static int scan_escape(struct scan *scan)
{
    scan->at++;
    const char c = peek(scan);
    if (c == '\0' || !strchr("\"\\/bfnrtu", c))
        return wrong(scan, "no such escape");
    scan->at++;
    if (c != 'u')
        return ADL_OK;
    const int32_t unit = scan_unit(scan);
    if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return wrong(scan, "an escape must be a character, and not \\u0000");
    if (unit < 0xd800 || unit > 0xdbff)
        return ADL_OK;
    if (scan->end - scan->at < 6 || scan->at[0] != '\\' || scan->at[1] != 'u')
        return wrong(scan, "half a surrogate pair");
    scan->at += 2;
    const int32_t low = scan_unit(scan);
    return low >= 0xdc00 && low <= 0xdfff ? ADL_OK : wrong(scan, "half a surrogate pair");
}

/* A zero follows the bytes, so that adl_utf8_length() may look ahead. */
static int scan_string(struct scan *scan)
{
    if (peek(scan) != '"')
        return wrong(scan, "a string was expected");
    scan->at++;
    while (peek(scan) != '"') {
        const unsigned char c = (unsigned char)peek(scan);
        if (c < 0x20)
            return wrong(scan, scan->at == scan->end ? "a string does not end" : "a control character in a string");
        if (c == '\\') {
            const int status = scan_escape(scan);
            if (status < 0)
                return status;
            continue;
        }
        const size_t length = adl_utf8_length(scan->at);
        if (length == 0)
            return wrong(scan, "not UTF-8");
        scan->at += length;
    }
    scan->at++;
    return ADL_OK;
}

static int scan_word(struct scan *scan, const char *word)
{
    const size_t size = strlen(word);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
        return wrong(scan, "a value was expected");
    scan->at += size;
    return ADL_OK;
}

static int scan_key(struct scan *scan)
{
    skip_space(scan);
    const int status = scan_string(scan);
    if (status < 0)
        return status;
    skip_space(scan);
    if (peek(scan) != ':')
        return wrong(scan, "a colon was expected");
    scan->at++;
    return ADL_OK;
}

/* A value, or the opening of a container and the key of its first member. *ret_open: a member has to follow. */
static int scan_start(struct scan *scan, bool *ret_open)
{
    skip_space(scan);
    *ret_open = false;
    const char c = peek(scan);
    if (c == '{' || c == '[') {
        if (scan->depth == ADL_BODY_DEPTH_MAX)
            return wrong(scan, "nested too deep");
        scan->at++;
        skip_space(scan);
        if (peek(scan) == (c == '{' ? '}' : ']')) {
            scan->at++;
            return ADL_OK;
        }
        const uint64_t bit = UINT64_C(1) << scan->depth++;
        scan->objects = c == '{' ? scan->objects | bit : scan->objects & ~bit;
        *ret_open = true;
        return c == '{' ? scan_key(scan) : ADL_OK;
    }
    if (c == '"')
        return scan_string(scan);
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(scan);
    return scan_word(scan, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

/* After a value: closes containers up to one with more members. */
static int scan_close(struct scan *scan)
{
    while (scan->depth > 0) {
        const bool object = scan->objects >> (scan->depth - 1) & 1;
        skip_space(scan);
        const char c = peek(scan);
        if (c == ',') {
            scan->at++;
            return object ? scan_key(scan) : ADL_OK;
        }
        if (c != (object ? '}' : ']'))
            return wrong(scan, "a comma or the end of the container was expected");
        scan->at++;
        scan->depth--;
    }
    return ADL_OK;
}

static int scan_all(struct scan *scan)
{
    int status;
    do {
        bool open;
        status = scan_start(scan, &open);
        while (status == ADL_OK && open)
            status = scan_start(scan, &open);
        if (status == ADL_OK)
            status = scan_close(scan);
    } while (status == ADL_OK && scan->depth > 0);
    if (status < 0)
        return status;
    skip_space(scan);
    return scan->at == scan->end ? ADL_OK : wrong(scan, "something follows the value");
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_keys(const cJSON *object, struct adl_error *err)
{
    const char *keys[ADL_BODY_KEY_MAX];
    size_t count = 0;
    for (const cJSON *child = object->child; child; child = child->next) {
        if (count == ADL_BODY_KEY_MAX)
            return adl_fail(err, ADL_EINVAL, "JSON: an object has more than %d keys", ADL_BODY_KEY_MAX);
        keys[count++] = child->string;
    }
    if (count < 2)
        return ADL_OK;
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            return adl_fail(err, ADL_EINVAL, "JSON: the key '%.64s' is given twice", keys[i]);
    return ADL_OK;
}

/* Recursion is bounded by the depth checked above. */
static int check_all_keys(const cJSON *value, struct adl_error *err)
{
    int status = cJSON_IsObject(value) ? check_keys(value, err) : ADL_OK;
    for (const cJSON *child = value->child; status == ADL_OK && child; child = child->next)
        if (child->child)
            status = check_all_keys(child, err);
    return status;
}

int adl_body_parse(const char *data, size_t size, struct cJSON **ret, struct adl_error *err)
{
    struct adl_text text = {0};
    adl_text_bytes(&text, data, size);
    if (adl_text_status(&text) < 0)
        return adl_fail(err, ADL_ENOMEM, "no memory for a body of %zu bytes", size);
    struct scan scan = {.start = text.data, .at = text.data, .end = text.data + size, .err = err};
    int status = scan_all(&scan);
    cJSON *value = status == ADL_OK ? cJSON_ParseWithLength(text.data, size) : NULL;
    adl_text_clear(&text);
    if (status < 0)
        return status;
    if (!value)
        return adl_fail(err, ADL_ENOMEM, "no memory for a body of %zu bytes", size);
    status = check_all_keys(value, err);
    if (status == ADL_OK)
        *ret = value;
    else
        cJSON_Delete(value);
    return status;
}
