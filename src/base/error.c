#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int adl_fail(struct adl_error *err, int status, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return status;
}
