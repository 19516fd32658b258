#include "base/text.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adl_text_clear(struct adl_text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (struct adl_text){0};
}

int adl_text_status(const struct adl_text *text)
{
    return text->failed ? ADL_ENOMEM : ADL_OK;
}

/* Room for extra more bytes and the final zero. */
static bool text_reserve(struct adl_text *text, size_t extra)
{
    if (text->failed)
        return false;
    if (extra < text->capacity - text->size)
        return true;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity - text->size <= extra) {
        if (capacity > SIZE_MAX / 2) {
            text->failed = true;
            return false;
        }
        capacity *= 2;
    }
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void adl_text_bytes(struct adl_text *text, const char *data, size_t size)
{
    if (!text_reserve(text, size))
        return;
    if (size > 0)
        memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void adl_text_put(struct adl_text *text, const char *string)
{
    adl_text_bytes(text, string, strlen(string));
}

void adl_text_char(struct adl_text *text, char c)
{
    adl_text_bytes(text, &c, 1);
}

void adl_text_repeat(struct adl_text *text, char c, size_t count)
{
    if (!text_reserve(text, count))
        return;
    memset(text->data + text->size, c, count);
    text->size += count;
    text->data[text->size] = '\0';
}

void adl_text_truncate(struct adl_text *text, size_t size)
{
    assert(size <= text->size);
    text->size = size;
    if (text->data)
        text->data[size] = '\0';
}

void adl_text_printf(struct adl_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) {
        text->failed = true;
    } else if (text_reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->size, (size_t)length + 1, fmt, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

/* Puts a point where the locale put its own separator, which may be several bytes. */
static size_t number_set_point(char *number)
{
    char *out = number;
    bool in_separator = false;
    for (const char *in = number; *in; in++) {
        const bool plain = (*in >= '0' && *in <= '9') || (*in >= 'a' && *in <= 'z') || *in == '-' || *in == '+';
        if (plain)
            *out++ = *in;
        else if (!in_separator)
            *out++ = '.';
        in_separator = !plain;
    }
    *out = '\0';
    return (size_t)(out - number);
}

static void number_format(char ret[ADL_NUMBER_SIZE], char conversion, int digits, double value)
{
    assert(digits >= 0 && digits <= 60);
    if (conversion == 'f')
        snprintf(ret, ADL_NUMBER_SIZE, "%.*f", digits, value);
    else if (conversion == 'e')
        snprintf(ret, ADL_NUMBER_SIZE, "%.*e", digits, value);
    else
        snprintf(ret, ADL_NUMBER_SIZE, "%.*g", digits, value);
}

size_t adl_number_print(char ret[ADL_NUMBER_SIZE], char conversion, int digits, double value)
{
    number_format(ret, conversion, digits, value);
    return number_set_point(ret);
}

/* Most numbers are decimals of at most six places, which integer arithmetic prints in a tenth of the time: the quotient
 * of two integers is rounded as the decimal would be when read, so if it equals the value, so does the decimal. */
static bool print_decimal(struct adl_text *text, double value)
{
    const double size = fabs(value);
    if (!(size < 1e9) || (size < 1e-4 && (size > 0 || signbit(value))))
        return false;
    uint64_t millionths = (uint64_t)(size * 1e6 + 0.5);
    const double back = (double)millionths / 1e6;
    char digits[24];
    size_t at = sizeof digits, places = 6;
    if (back < size || back > size)
        return false;
    for (; places > 0 && millionths % 10 == 0; places--)
        millionths /= 10;
    for (size_t i = 0; i < places; i++, millionths /= 10)
        digits[--at] = (char)('0' + millionths % 10);
    if (places > 0)
        digits[--at] = '.';
    do
        digits[--at] = (char)('0' + millionths % 10);
    while ((millionths /= 10) > 0);
    if (value < 0)
        digits[--at] = '-';
    adl_text_bytes(text, digits + at, sizeof digits - at);
    return true;
}

void adl_text_real(struct adl_text *text, double value)
{
    if (print_decimal(text, value))
        return;
    char number[ADL_NUMBER_SIZE];
    for (int digits = 15; digits <= 17; digits++) {
        number_format(number, 'g', digits, value);
        const double back = strtod(number, NULL);
        if (!isfinite(value) || (back >= value && back <= value))
            break;
    }
    adl_text_bytes(text, number, number_set_point(number));
}

void adl_text_fixed(struct adl_text *text, double value, int decimals)
{
    char number[ADL_NUMBER_SIZE];
    adl_text_bytes(text, number, adl_number_print(number, 'f', decimals, value));
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t adl_utf8_length(const char *string)
{
    const unsigned char *s = (const unsigned char *)string;
    if (s[0] == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        return is_continuation(s[1]) ? 2 : 0;
    /* The second byte's range keeps out overlong forms, surrogates and what is beyond U+10FFFF. */
    if (s[0] >= 0xe0 && s[0] <= 0xef) {
        const unsigned char least = s[0] == 0xe0 ? 0xa0 : 0x80, most = s[0] == 0xed ? 0x9f : 0xbf;
        return s[1] >= least && s[1] <= most && is_continuation(s[2]) ? 3 : 0;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        const unsigned char least = s[0] == 0xf0 ? 0x90 : 0x80, most = s[0] == 0xf4 ? 0x8f : 0xbf;
        return s[1] >= least && s[1] <= most && is_continuation(s[2]) && is_continuation(s[3]) ? 4 : 0;
    }
    return 0;
}

bool adl_utf8_is_valid(const char *string)
{
    for (size_t length; *string; string += length) {
        length = adl_utf8_length(string);
        if (length == 0)
            return false;
    }
    return true;
}

size_t adl_utf8_count(const char *string)
{
    size_t count = 0;
    while (*string) {
        const size_t length = adl_utf8_length(string);
        string += length ? length : 1;
        count++;
    }
    return count;
}
