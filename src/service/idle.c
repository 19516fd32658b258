#include "service/idle.h"

#include <stdio.h>

const char *adl_idle_span(int64_t us, char ret[ADL_IDLE_SPAN_SIZE])
{
    const long long s = (long long)(us / 1000000), minutes = s / 60;
    if (s < 120)
        snprintf(ret, ADL_IDLE_SPAN_SIZE, "%lld s", s);
    else if (minutes < 120)
        snprintf(ret, ADL_IDLE_SPAN_SIZE, "%lld min", minutes);
    else
        snprintf(ret, ADL_IDLE_SPAN_SIZE, "%lld h %02lld min", minutes / 60, minutes % 60);
    return ret;
}
