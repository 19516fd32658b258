/* trace_cells: splits lines into cells, and converts cells to numbers, times and words. */
#include "base/suggest.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define US_PER_S    1000000.0
#define REAL_MAX    1e300
#define YEAR_MIN    1970
#define YEAR_MAX    2200
#define DAY_S       86400
#define DIGITS_FAST 15 /* that many decimal digits are exact in a double */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- splitting ---- */

/* The cell that starts at text, unquoted in place; returns where it ends: a separator or the end, or NULL. */
static char *cut_quoted(char *text, char separator, char **ret_cell)
{
    char *to = text;
    char *from = text + 1;
    *ret_cell = text;
    for (;; from++) {
        if (*from == '\0')
            return NULL;
        if (*from == '"') {
            if (from[1] != '"')
                break;
            from++;
        }
        *to++ = *from;
    }
    for (from++; is_blank(*from) && *from != separator; from++)
        ;
    if (*from != separator && *from != '\0')
        return NULL;
    *to = '\0'; /* before from, because the opening quote was removed */
    return from;
}

static char *cut_plain(char *text, char separator, char **ret_cell)
{
    char *end = strchr(text, separator);
    if (!end)
        end = text + strlen(text);
    while (is_blank(*text) && text < end)
        text++;
    *ret_cell = text;
    for (char *last = end; last > text && is_blank(last[-1]);)
        *--last = '\0';
    return end;
}

static bool cut_blanks(struct adl_cells *ret, char *text)
{
    ret->count = 0;
    for (;;) {
        while (is_blank(*text))
            *text++ = '\0';
        if (*text == '\0')
            return true;
        if (ret->count == ADL_CELLS_MAX)
            return false;
        ret->at[ret->count++] = text;
        while (*text != '\0' && !is_blank(*text))
            text++;
    }
}

bool adl_cells_cut(struct adl_cells *ret, char *text, char separator, bool quotes)
{
    if (separator == ' ')
        return cut_blanks(ret, text);
    ret->count = 0;
    for (;;) {
        if (ret->count == ADL_CELLS_MAX)
            return false;
        char *first = text;
        while (quotes && is_blank(*first) && *first != separator)
            first++;
        char **cell = &ret->at[ret->count++];
        char *end = quotes && *first == '"' ? cut_quoted(first, separator, cell) : cut_plain(text, separator, cell);
        if (!end)
            return false;
        const bool more = *end == separator;
        *end = '\0';
        if (!more)
            return true;
        text = end + 1;
    }
}

/* ---- values ---- */

bool adl_cell_is_none(const char *text)
{
    static const char *const words[] = {"", "none", "nan", "null", "n/a", "unknown", "nat"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Skips digits and appends them to the number; false if there are none. */
static bool skip_digits(const char **at, uint64_t *number, int *count)
{
    const char *from = *at;
    for (; is_digit(**at); (*at)++) {
        if (*number == 0 && **at == '0')
            continue;
        if (*count < DIGITS_FAST)
            *number = *number * 10 + (uint64_t)(**at - '0');
        (*count)++;
    }
    return *at != from;
}

bool adl_cell_real(const char *text, double *ret)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *at = text;
    const bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    uint64_t number = 0;
    int count = 0;
    bool digits = skip_digits(&at, &number, &count);
    long decimals = 0;
    if (*at == '.') {
        const char *from = ++at;
        digits = skip_digits(&at, &number, &count) || digits;
        decimals = at - from;
    }
    if (!digits)
        return false;
    if (*at == '\0' && count <= DIGITS_FAST && decimals <= DIGITS_FAST) {
        const double value = (double)number / powers[decimals]; /* both exact: rounded once */
        *ret = negative ? -value : value;
        return true;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '-' || at[1] == '+' ? 2 : 1;
        int ignored = 0;
        uint64_t exponent = 0;
        if (!skip_digits(&at, &exponent, &ignored))
            return false;
    }
    char *end;
    const double value = strtod(text, &end);
    if (*at != '\0' || *end != '\0' || !(fabs(value) <= REAL_MAX))
        return false;
    *ret = value;
    return true;
}

/* Exactly count digits. */
static bool take_digits(const char **at, int count, int *ret)
{
    int value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (!is_digit(**at))
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* ".25" as microseconds; nothing is 0. */
static bool take_fraction(const char **at, int64_t *ret_us)
{
    int64_t value = 0;
    if (take_char(at, '.')) {
        if (!is_digit(**at))
            return false;
        for (int64_t place = 100000; is_digit(**at); (*at)++, place /= 10)
            value += place * (**at - '0');
    }
    *ret_us = value;
    return true;
}

/* Days since 1970-01-01 of a date in the Gregorian calendar: months are counted from March, so that the leap day is the
 * last of a year. */
static int64_t days_since_1970(int year, int month, int day)
{
    const int64_t y = month > 2 ? year : year - 1;
    const int64_t m = month > 2 ? month - 3 : month + 9;
    const int64_t leaps = y / 4 - y / 100 + y / 400;
    return y * 365 + leaps + (m * 153 + 2) / 5 + day - 1 - 719468;
}

static bool take_date(const char **at, int64_t *ret_days)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year;
    int month;
    int day;
    if (!take_digits(at, 4, &year) || !take_char(at, '-') || !take_digits(at, 2, &month) || !take_char(at, '-') ||
        !take_digits(at, 2, &day))
        return false;
    if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1)
        return false;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > lengths[month - 1] + (month == 2 && leap))
        return false;
    *ret_days = days_since_1970(year, month, day);
    return true;
}

/* "Z", "+08:00", "+0800", "+08" or nothing, as seconds east of Greenwich. */
static bool take_zone(const char **at, int64_t *ret_s)
{
    *ret_s = 0;
    if (take_char(at, 'Z') || **at == '\0')
        return true;
    const char sign = *(*at)++;
    int hours = 0;
    int minutes = 0;
    if ((sign != '+' && sign != '-') || !take_digits(at, 2, &hours))
        return false;
    if (**at != '\0') {
        take_char(at, ':');
        if (!take_digits(at, 2, &minutes))
            return false;
    }
    if (hours > 15 || minutes > 59)
        return false;
    const int64_t east_s = INT64_C(3600) * hours + INT64_C(60) * minutes;
    *ret_s = sign == '-' ? -east_s : east_s;
    return true;
}

bool adl_cell_timestamp(const char *text, int64_t *ret_us)
{
    const char *at = text;
    int64_t days;
    int64_t fraction_us;
    int64_t zone_s;
    int hours;
    int minutes;
    int seconds;
    if (!take_date(&at, &days) || (*at != ' ' && *at != 'T'))
        return false;
    at++;
    if (!take_digits(&at, 2, &hours) || !take_char(&at, ':') || !take_digits(&at, 2, &minutes) ||
        !take_char(&at, ':') || !take_digits(&at, 2, &seconds) || !take_fraction(&at, &fraction_us) ||
        !take_zone(&at, &zone_s) || *at != '\0')
        return false;
    if (hours > 23 || minutes > 59 || seconds > 60)
        return false;
    const int64_t time_s = days * DAY_S + INT64_C(3600) * hours + INT64_C(60) * minutes + seconds - zone_s;
    *ret_us = time_s * 1000000 + fraction_us;
    return true;
}

/* A whole number of at most 6 digits. */
static bool take_number(const char **at, int64_t *ret)
{
    int64_t value = 0;
    int count = 0;
    for (; is_digit(**at); (*at)++, count++) {
        if (count == 6)
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return count > 0;
}

bool adl_cell_span(const char *text, int64_t *ret_us)
{
    const char *at = text;
    int64_t days = 0;
    int64_t part[3] = {0, 0, 0}; /* hours, minutes, seconds, from the right */
    int64_t fraction_us;
    if (strchr(text, '-') && (!take_number(&at, &days) || !take_char(&at, '-')))
        return false;
    int count = 0;
    do {
        if (count == 3 || !take_number(&at, &part[count++]))
            return false;
    } while (take_char(&at, ':'));
    if (count < 2 || !take_fraction(&at, &fraction_us) || *at != '\0')
        return false;
    const int64_t seconds = count == 3 ? part[0] * 3600 + part[1] * 60 + part[2] : part[0] * 60 + part[1];
    *ret_us = (days * DAY_S + seconds) * 1000000 + fraction_us;
    return *ret_us <= ADL_TRACE_TIME_MAX;
}

/* ---- into rows ---- */

const char *adl_trace_cell(const struct adl_trace_reading *reading, int column)
{
    const int16_t cell = reading->column[column];
    return cell < 0 ? "" : reading->cells->at[cell];
}

int adl_trace_refuse(const struct adl_trace_reading *reading, int reason, const char *fmt, ...)
{
    if (reading->why) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(reading->why->text, sizeof reading->why->text, fmt, args);
        va_end(args);
    }
    return reason;
}

static int refuse_text(const struct adl_trace_reading *reading, int reason, const char *what, const char *wanted,
                       const char *text)
{
    char shown[ADL_QUOTE_SIZE];
    return adl_trace_refuse(reading, reason, "%s has to be %s, not %s", what, wanted, adl_quote(text, shown));
}

int adl_trace_take_count(const struct adl_trace_reading *reading, const char *what, const char *text, uint32_t max,
                         uint32_t *ret)
{
    double value;
    if (!adl_cell_real(text, &value) || !(value >= 0 && value <= max) || value != floor(value))
        return refuse_text(reading, ADL_TRACE_MALFORMED, what, "a whole number in a plausible range", text);
    *ret = (uint32_t)value;
    return ADL_TRACE_USED;
}

int adl_trace_take_gpus(const struct adl_trace_reading *reading, const char *what, const char *text, uint32_t *ret)
{
    const int reason = adl_trace_take_count(reading, what, text, ADL_TRACE_GPUS_MAX, ret);
    if (reason == ADL_TRACE_USED && *ret == 0)
        return adl_trace_refuse(reading, ADL_TRACE_NO_GPU, "the job uses no GPU (%s is 0)", what);
    return reason;
}

int adl_trace_take_time(const struct adl_trace_reading *reading, const char *what, const char *text, double unit_s,
                        int64_t *ret_us)
{
    if (adl_cell_is_none(text))
        return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "%s is missing", what);
    double value;
    if (!adl_cell_real(text, &value))
        return refuse_text(reading, ADL_TRACE_MALFORMED, what, "a number", text);
    const double us = value * unit_s * US_PER_S;
    if (!(us >= 0 && us <= (double)ADL_TRACE_TIME_MAX))
        return refuse_text(reading, ADL_TRACE_BAD_TIME, what, "from 0 to 285 years", text);
    *ret_us = (int64_t)floor(us + 0.5);
    return ADL_TRACE_USED;
}

int adl_trace_take_timestamp(const struct adl_trace_reading *reading, const char *what, const char *text,
                             int64_t *ret_us)
{
    if (adl_cell_is_none(text))
        return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "%s is missing", what);
    if (!adl_cell_timestamp(text, ret_us))
        return refuse_text(reading, ADL_TRACE_MALFORMED, what, "a date and time as 2017-10-09 07:01:55", text);
    if (*ret_us < 0) /* the first hours of 1970, east of Greenwich */
        return refuse_text(reading, ADL_TRACE_BAD_TIME, what, "after 1970-01-01", text);
    return ADL_TRACE_USED;
}

int adl_trace_check_duration(const struct adl_trace_reading *reading, int64_t duration_us)
{
    if (duration_us > 0)
        return ADL_TRACE_USED;
    return adl_trace_refuse(reading, ADL_TRACE_BAD_TIME, "the run time is %s", duration_us < 0 ? "negative" : "0");
}

static void copy_word(char *ret, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ret[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    ret[size] = '\0';
}

void adl_trace_take_word(char ret[ADL_TRACE_WORD], const char *text)
{
    size_t size = strlen(text);
    if (size >= ADL_TRACE_WORD) {
        size = ADL_TRACE_WORD - 1;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80) /* not in the middle of a character */
            size--;
    }
    copy_word(ret, text, size);
}

/* Not truncated, because two ids could become equal, and types would change. */
static int take_whole(const struct adl_trace_reading *reading, const char *what, const char *text, char *ret,
                      size_t capacity)
{
    const size_t size = strlen(text);
    if (size >= capacity)
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "%s is longer than %zu bytes", what, capacity - 1);
    copy_word(ret, text, size);
    return ADL_TRACE_USED;
}

int adl_trace_take_id(const struct adl_trace_reading *reading, const char *what, const char *text,
                      char ret[ADL_TRACE_WORD])
{
    if (*text == '\0')
        return adl_trace_refuse(reading, ADL_TRACE_MALFORMED, "%s is empty", what);
    return take_whole(reading, what, text, ret, ADL_TRACE_WORD);
}

int adl_trace_take_types(const struct adl_trace_reading *reading, const char *what, const char *text,
                         char ret[2 * ADL_TRACE_WORD])
{
    return take_whole(reading, what, text, ret, (size_t)2 * ADL_TRACE_WORD);
}

void adl_trace_number_id(const struct adl_trace_reading *reading, char ret[ADL_TRACE_WORD])
{
    snprintf(ret, ADL_TRACE_WORD, "%" PRIu64, reading->line);
}
