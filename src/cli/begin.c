#include "cli/begin.h"

#include "base/suggest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define AHEAD_MAX_S (INT64_C(100) * 366 * 86400)

/* Exactly that many digits, or 1 to -digits if negative; -1 if there are none. */
static int field_read(const char **at, int digits)
{
    const int most = digits < 0 ? -digits : digits;
    int value = 0, count = 0;
    for (; count < most && **at >= '0' && **at <= '9'; count++)
        value = value * 10 + (*(*at)++ - '0');
    return count == most || (digits < 0 && count > 0) ? value : -1;
}

/* "HH:MM[:SS]", optionally followed by "am" or "pm". */
static bool clock_read(const char *at, struct tm *ret)
{
    ret->tm_hour = field_read(&at, -2);
    if (*at++ != ':')
        return false;
    ret->tm_min = field_read(&at, 2);
    ret->tm_sec = 0;
    if (*at == ':') {
        at++;
        ret->tm_sec = field_read(&at, 2);
    }
    const bool am = strcasecmp(at, "am") == 0, pm = strcasecmp(at, "pm") == 0;
    if ((am || pm) && (ret->tm_hour < 1 || ret->tm_hour > 12))
        return false;
    if (am || pm)
        ret->tm_hour = ret->tm_hour % 12 + (pm ? 12 : 0);
    return (*at == '\0' || am || pm) && ret->tm_hour >= 0 && ret->tm_hour < 24 && ret->tm_min >= 0 &&
           ret->tm_min < 60 && ret->tm_sec >= 0 && ret->tm_sec < 60;
}

/* "YYYY-MM-DD[THH:MM[:SS]]" */
static bool date_read(const char *at, struct tm *ret)
{
    const int year = field_read(&at, 4);
    if (year < 1970 || *at++ != '-')
        return false;
    const int month = field_read(&at, 2);
    if (*at++ != '-')
        return false;
    const int day = field_read(&at, 2);
    *ret = (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1};
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    struct tm same = *ret;
    mktime(&same);
    return same.tm_mday == day && (*at == '\0' || (*at == 'T' && clock_read(at + 1, ret)));
}

/* What follows "now": "", "+90", "+1hour", "+2days"; -1 if it is anything else. */
static int64_t ahead_read(const char *at)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"", 1}, {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};
    if (*at == '\0')
        return 0;
    if (*at++ != '+' || *at < '0' || *at > '9')
        return -1;
    int64_t count = 0;
    for (; *at >= '0' && *at <= '9' && count < AHEAD_MAX_S; at++)
        count = count * 10 + (*at - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t size = strlen(units[i].name);
        if (strncasecmp(at, units[i].name, size) == 0 &&
            (at[size] == '\0' || (size > 0 && strcasecmp(at + size, "s") == 0)))
            return count * units[i].seconds;
    }
    return -1;
}

/* The hour that a word such as "noon" stands for; -1 if it is none. */
static int word_read(const char *text)
{
    static const struct {
        const char *word;
        int hour;
    } words[] = {{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i].word) == 0)
            return words[i].hour;
    return -1;
}

/* The next time that the clock shows this. */
static int64_t next_clock(struct tm when, int64_t now_s)
{
    struct tm today = when;
    const int64_t at_s = (int64_t)mktime(&today);
    if (at_s >= now_s)
        return at_s;
    when.tm_mday++;
    return (int64_t)mktime(&when);
}

int adl_begin_read(const char *text, const char *option, int64_t now_s, int64_t *ret_s, struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    const time_t now = (time_t)now_s;
    struct tm when;
    if (!localtime_r(&now, &when))
        return adl_fail(err, ADL_EINVAL, "%s: the current time cannot be read", option);
    when.tm_isdst = -1;
    int64_t begin_s = -1;
    if (strncasecmp(text, "now", 3) == 0) {
        const int64_t ahead_s = ahead_read(text + 3);
        begin_s = ahead_s < 0 || ahead_s > AHEAD_MAX_S ? -1 : now_s + ahead_s;
    } else if (strcasecmp(text, "today") == 0 || strcasecmp(text, "tomorrow") == 0) {
        when.tm_mday += strcasecmp(text, "tomorrow") == 0;
        when.tm_hour = when.tm_min = when.tm_sec = 0;
        begin_s = (int64_t)mktime(&when);
        begin_s = begin_s < now_s ? now_s : begin_s;
    } else if (word_read(text) >= 0) {
        when.tm_hour = word_read(text);
        when.tm_min = when.tm_sec = 0;
        begin_s = next_clock(when, now_s);
    } else if (clock_read(text, &when)) {
        begin_s = next_clock(when, now_s);
    } else if (date_read(text, &when)) {
        begin_s = (int64_t)mktime(&when);
        if (begin_s < now_s)
            return adl_fail(err, ADL_EINVAL, "%s must be in the future, and %s is past", option,
                            adl_quote(text, quoted));
    }
    if (begin_s < 0)
        return adl_fail(
            err, ADL_EINVAL,
            "%s must be such as 16:00, 2026-11-20T16:00, now+1hour, now+90 (seconds), tomorrow or noon, got %s", option,
            adl_quote(text, quoted));
    *ret_s = begin_s;
    return 0;
}
