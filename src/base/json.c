#include "base/json.h"

#include <assert.h>
#include <math.h>

struct adl_json adl_json_start(struct adl_text *text, bool pretty)
{
    return (struct adl_json){.text = text, .pretty = pretty};
}

static bool has_bit(uint64_t bits, uint32_t index)
{
    return (bits >> index & 1) != 0;
}

static bool is_flat(const struct adl_json *json)
{
    return !json->pretty || (json->flat_depth != 0 && json->depth >= json->flat_depth);
}

static void json_break(struct adl_json *json)
{
    adl_text_char(json->text, '\n');
    adl_text_repeat(json->text, ' ', 2 * (size_t)json->depth);
    json->broken |= UINT64_C(1) << json->depth;
}

/* Comma and white space before a member of the innermost container. */
static void json_next(struct adl_json *json, bool own_line)
{
    if (json->depth == 0)
        return;
    const bool filled = has_bit(json->filled, json->depth);
    if (filled)
        adl_text_char(json->text, ',');
    json->filled |= UINT64_C(1) << json->depth;
    if (!is_flat(json) && own_line)
        json_break(json);
    else if (filled && json->pretty)
        adl_text_char(json->text, ' ');
}

static void json_before_value(struct adl_json *json, bool container)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    assert(json->depth == 0 || !has_bit(json->objects, json->depth));
    json_next(json, container);
}

static void json_open(struct adl_json *json, bool object)
{
    json_before_value(json, true);
    assert(json->depth < ADL_JSON_DEPTH_MAX);
    json->depth++;
    const uint64_t bit = UINT64_C(1) << json->depth;
    json->objects = object ? json->objects | bit : json->objects & ~bit;
    json->filled &= ~bit;
    json->broken &= ~bit;
    if (json->flat_next && json->flat_depth == 0)
        json->flat_depth = json->depth;
    json->flat_next = false;
    adl_text_char(json->text, object ? '{' : '[');
}

void adl_json_object(struct adl_json *json)
{
    json_open(json, true);
}

void adl_json_array(struct adl_json *json)
{
    json_open(json, false);
}

void adl_json_end(struct adl_json *json)
{
    assert(json->depth > 0 && !json->after_key);
    const uint32_t depth = json->depth;
    json->depth--;
    if (has_bit(json->broken, depth))
        json_break(json);
    if (json->flat_depth == depth)
        json->flat_depth = 0;
    adl_text_char(json->text, has_bit(json->objects, depth) ? '}' : ']');
}

void adl_json_flat(struct adl_json *json)
{
    json->flat_next = true;
}

/* Bytes that need no escape: nearly all, so they are copied together. */
static size_t plain_length(const char *string)
{
    size_t length = 0;
    while (string[length] >= 0x20 && string[length] < 0x7f && string[length] != '"' && string[length] != '\\')
        length++;
    return length;
}

static void json_quote(struct adl_text *text, const char *string)
{
    adl_text_char(text, '"');
    while (*string) {
        const size_t plain = plain_length(string);
        if (plain > 0) {
            adl_text_bytes(text, string, plain);
            string += plain;
            continue;
        }
        const unsigned char c = (unsigned char)*string;
        const size_t length = adl_utf8_length(string);
        if (length == 0)
            adl_text_put(text, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            adl_text_printf(text, "\\%c", c);
        else if (c == '\n')
            adl_text_put(text, "\\n");
        else if (c == '\t')
            adl_text_put(text, "\\t");
        else if (c < 0x20 || c == 0x7f)
            adl_text_printf(text, "\\u%04x", (unsigned)c);
        else
            adl_text_bytes(text, string, length);
        string += length ? length : 1;
    }
    adl_text_char(text, '"');
}

void adl_json_key(struct adl_json *json, const char *key)
{
    assert(json->depth > 0 && has_bit(json->objects, json->depth) && !json->after_key);
    json_next(json, true);
    json_quote(json->text, key);
    adl_text_put(json->text, json->pretty ? ": " : ":");
    json->after_key = true;
}

void adl_json_string(struct adl_json *json, const char *string)
{
    if (!string) {
        adl_json_null(json);
        return;
    }
    json_before_value(json, false);
    json_quote(json->text, string);
}

void adl_json_real(struct adl_json *json, double value)
{
    if (!isfinite(value)) {
        adl_json_null(json);
        return;
    }
    json_before_value(json, false);
    adl_text_real(json->text, value);
}

static void json_digits(struct adl_text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    adl_text_bytes(text, digits + at, sizeof digits - at);
}

void adl_json_int(struct adl_json *json, int64_t value)
{
    json_before_value(json, false);
    if (value < 0)
        adl_text_char(json->text, '-');
    json_digits(json->text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void adl_json_uint(struct adl_json *json, uint64_t value)
{
    json_before_value(json, false);
    json_digits(json->text, value);
}

void adl_json_bool(struct adl_json *json, bool value)
{
    json_before_value(json, false);
    adl_text_put(json->text, value ? "true" : "false");
}

void adl_json_null(struct adl_json *json)
{
    json_before_value(json, false);
    adl_text_put(json->text, "null");
}

void adl_json_raw(struct adl_json *json, const char *value)
{
    json_before_value(json, false);
    adl_text_put(json->text, value);
}

void adl_json_put_string(struct adl_json *json, const char *key, const char *value)
{
    adl_json_key(json, key);
    adl_json_string(json, value);
}

void adl_json_put_real(struct adl_json *json, const char *key, double value)
{
    adl_json_key(json, key);
    adl_json_real(json, value);
}

void adl_json_put_int(struct adl_json *json, const char *key, int64_t value)
{
    adl_json_key(json, key);
    adl_json_int(json, value);
}

void adl_json_put_uint(struct adl_json *json, const char *key, uint64_t value)
{
    adl_json_key(json, key);
    adl_json_uint(json, value);
}

void adl_json_put_bool(struct adl_json *json, const char *key, bool value)
{
    adl_json_key(json, key);
    adl_json_bool(json, value);
}
