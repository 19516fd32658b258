#include "cli/quantity.h"

#include "base/suggest.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELD_MAX    INT64_C(1000000000)
#define DURATION_MAX (INT64_C(100) * 366 * 86400)

/* Digits alone, at least one; moves past them. */
static bool read_field(const char **at, int64_t *ret)
{
    int64_t value = 0;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (**at - '0');
        if (value > FIELD_MAX)
            return false;
    }
    *ret = value;
    return true;
}

static int64_t unit_of(char letter)
{
    switch (letter) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 3600;
    case 'd':
        return 86400;
    default:
        return 0;
    }
}

/* The up to three numbers after the days, or all of them; seconds or -1. */
static int64_t read_clock(const char *at, bool with_days)
{
    int64_t field[3];
    int count = 0;
    do {
        if (count == 3 || !read_field(&at, &field[count++]))
            return -1;
        if (count == 1 && !with_days && unit_of(*at) && at[1] == '\0')
            return field[0] * unit_of(*at);
    } while (*at++ == ':');
    if (at[-1] != '\0')
        return -1;
    if (with_days)
        return field[0] * 3600 + (count > 1 ? field[1] * 60 : 0) + (count > 2 ? field[2] : 0);
    if (count == 3)
        return field[0] * 3600 + field[1] * 60 + field[2];
    return field[0] * 60 + (count > 1 ? field[1] : 0);
}

int adl_duration_read(const char *text, const char *what, int64_t *ret_s, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const char *at = text;
    int64_t days = 0, rest;
    if (read_field(&at, &days) && *at == '-') {
        rest = read_clock(at + 1, true);
    } else {
        days = 0;
        rest = read_clock(text, false);
    }
    if (rest < 0)
        return adl_fail(err, ADL_EINVAL, "%s must be a time such as 90 (minutes), 1:30:00, 2-12:00:00 or 45s, got %s",
                        what, adl_quote(text, quoted));
    if (days * 86400 + rest < 1 || days * 86400 + rest > DURATION_MAX)
        return adl_fail(err, ADL_EINVAL, "%s must be between a second and a hundred years, got %s", what,
                        adl_quote(text, quoted));
    *ret_s = days * 86400 + rest;
    return 0;
}

int adl_memory_read(const char *text, const char *what, int64_t *ret_mib, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const char *at = text;
    int64_t value = 0;
    bool good = read_field(&at, &value);
    static const char letters[] = "KMGTkmgt";
    const char *letter = *at ? strchr(letters, *at) : NULL;
    const int64_t power = letter ? (letter - letters) % 4 : 1;
    if (letter)
        at++;
    if (letter && (strcmp(at, "B") == 0 || strcmp(at, "iB") == 0))
        at += strlen(at);
    good = good && *at == '\0';
    if (power == 0)
        value = (value + 1023) / 1024;
    for (int64_t i = 1; i < power; i++)
        value *= 1024;
    if (!good || value < 1 || value > INT32_MAX)
        return adl_fail(err, ADL_EINVAL, "%s must be a size such as 8G, 512M or 512 (MiB), got %s", what,
                        adl_quote(text, quoted));
    *ret_mib = value;
    return 0;
}

const char *adl_duration_print(double seconds, char buffer[ADL_DURATION_SIZE])
{
    const int64_t all = isfinite(seconds) && seconds > 0 && seconds < 1e15 ? (int64_t)seconds : 0;
    const long long days = all / 86400;
    const int hours = (int)(all / 3600 % 24), minutes = (int)(all / 60 % 60), rest = (int)(all % 60);
    if (days > 0)
        snprintf(buffer, ADL_DURATION_SIZE, "%lld-%02d:%02d:%02d", days, hours, minutes, rest);
    else if (hours > 0)
        snprintf(buffer, ADL_DURATION_SIZE, "%d:%02d:%02d", hours, minutes, rest);
    else
        snprintf(buffer, ADL_DURATION_SIZE, "%d:%02d", minutes, rest);
    return buffer;
}

const char *adl_moment_print(double seconds, char buffer[ADL_DURATION_SIZE])
{
    struct tm parts;
    const time_t moment = isfinite(seconds) && fabs(seconds) < 1e14 ? (time_t)seconds : 0;
    if (!localtime_r(&moment, &parts) || strftime(buffer, ADL_DURATION_SIZE, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(buffer, ADL_DURATION_SIZE, "?");
    return buffer;
}
