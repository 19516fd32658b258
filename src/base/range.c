#include "base/range.h"

#include "base/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* -12, 0, 7: no plus sign, no leading zero (octal to some readers), no exponent. */
static bool is_whole(const char *text)
{
    const char *digits = text + (*text == '-');
    return *digits && *skip_digits(digits) == '\0' && (digits[0] != '0' || digits[1] == '\0');
}

static bool is_real(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    const char *rest = skip_digits(digits);
    bool any = rest > digits;
    if (*rest == '.') {
        const char *fraction = rest + 1;
        rest = skip_digits(fraction);
        any = any || rest > fraction;
    }
    if (any && (*rest == 'e' || *rest == 'E')) {
        const char *exponent = rest + 1 + (rest[1] == '-' || rest[1] == '+');
        rest = skip_digits(exponent);
        any = rest > exponent;
    }
    return any && *rest == '\0';
}

static bool within(double value, const struct adl_range *range)
{
    if (range->or_zero && value == 0)
        return true;
    return range->open ? value > range->min && value < range->max : value >= range->min && value <= range->max;
}

static bool refuse_range(const char *text, const struct adl_range *range, char reason[ADL_REFUSAL_SIZE])
{
    char bounds[ADL_REFUSAL_SIZE];
    snprintf(reason, ADL_REFUSAL_SIZE, "must be %.100s, got %.40s", adl_range_print(range, bounds), text);
    return false;
}

bool adl_range_read_int(const char *text, const struct adl_range *range, int64_t *ret_value,
                        char reason[ADL_REFUSAL_SIZE])
{
    char quoted[ADL_QUOTE_SIZE];
    if (!is_whole(text)) {
        const double meant = is_real(text) ? strtod(text, NULL) : NAN;
        if (fabs(meant) < 1e15 && meant == floor(meant))
            snprintf(reason, ADL_REFUSAL_SIZE, "must be a whole number in plain digits; write %.0f for %s", meant,
                     adl_quote(text, quoted));
        else
            snprintf(reason, ADL_REFUSAL_SIZE, "must be a whole number, got %s", adl_quote(text, quoted));
        return false;
    }
    errno = 0;
    const long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE || !within((double)value, range))
        return refuse_range(text, range, reason);
    *ret_value = value;
    return true;
}

bool adl_range_read_real(const char *text, const struct adl_range *range, double *ret_value,
                         char reason[ADL_REFUSAL_SIZE])
{
    char quoted[ADL_QUOTE_SIZE];
    char *end = NULL;
    const double value = is_real(text) ? strtod(text, &end) : NAN;
    if (!end || *end) {
        snprintf(reason, ADL_REFUSAL_SIZE, "must be a finite decimal number, got %s", adl_quote(text, quoted));
        return false;
    }
    if (!within(value, range))
        return refuse_range(text, range, reason);
    *ret_value = value;
    return true;
}

/* 1e+06 -> 1e6, 1e-05 -> 1e-5 */
static void trim_exponent(char *text)
{
    char *mark = strchr(text, 'e');
    if (!mark)
        return;
    char *to = mark + 1;
    const char *from = mark + 1;
    if (*from == '-')
        *to++ = *from++;
    else if (*from == '+')
        from++;
    while (*from == '0' && from[1])
        from++;
    memmove(to, from, strlen(from) + 1);
}

const char *adl_bound_print(double value, char buffer[ADL_BOUND_SIZE])
{
    snprintf(buffer, ADL_BOUND_SIZE, "%g", value);
    if (strtod(buffer, NULL) != value)
        snprintf(buffer, ADL_BOUND_SIZE, "%.15g", value);
    trim_exponent(buffer);
    return buffer;
}

const char *adl_range_print(const struct adl_range *range, char buffer[ADL_REFUSAL_SIZE])
{
    char low[ADL_BOUND_SIZE], high[ADL_BOUND_SIZE];
    snprintf(buffer, ADL_REFUSAL_SIZE, "%sbetween %s and %s%s", range->or_zero ? "0 or " : "",
             adl_bound_print(range->min, low), adl_bound_print(range->max, high), range->open ? ", both excluded" : "");
    return buffer;
}
