#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGITS_MAX = 9 };

/* Digits from *at on; how many there were. */
static uint32_t number_read(const char **at, uint32_t *ret)
{
    const char *from = *at;
    *ret = 0;
    for (; **at >= '0' && **at <= '9' && *at - from < DIGITS_MAX; (*at)++)
        *ret = *ret * 10 + (uint32_t)(**at - '0');
    return (uint32_t)(*at - from);
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

const char *adl_span_read(const char **at, struct adl_span *ret)
{
    *ret = (struct adl_span){.step = 1};
    ret->width = number_read(at, &ret->first);
    ret->last = ret->first;
    if (ret->width == 0)
        return "what should be a number or range is none";
    if (take(at, '-')) {
        if (number_read(at, &ret->last) == 0)
            return "a range lacks its end";
        if (take(at, ':') && (number_read(at, &ret->step) == 0 || ret->step == 0))
            return "a range lacks its step";
    }
    if (**at >= '0' && **at <= '9')
        return "a number has more than 9 digits";
    return ret->last < ret->first ? "a range goes down" : NULL;
}
