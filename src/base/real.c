#include "base/real.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: the high one has 32 trailing zero bits, so its product with any exponent is exact. */
static const double LN2_HIGH = 0x1.62e42feep-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); then log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716. */
double adl_log(double x)
{
    assert(x >= 0.0);
    if (x == 0.0)
        return -HUGE_VAL;
    uint64_t bits;
    int exponent = 0;
    if (x < 0x1.0p-1022) {
        x *= 0x1.0p54;
        exponent = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    exponent += (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double sum = 1.0 / 21;
    sum = sum * z + 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    const double tail = 2.0 * s * z * sum;
    return exponent * LN2_HIGH + (2.0 * s + (tail + exponent * LN2_LOW));
}

/* x = k ln 2 + r with |r| <= ln 2 / 2; exp r by its series, whose 14th term is below 2^-58 of the sum. */
double adl_exp(double x)
{
    if (x > 709.7)
        return HUGE_VAL;
    if (x < -745.0)
        return 0.0;
    const double scaled = x * 0x1.71547652b82fep+0;
    const int k = (int)(scaled + (scaled < 0 ? -0.5 : 0.5));
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1.0;
    for (int i = 13; i >= 1; i--)
        sum = 1.0 + sum * r / i;
    return ldexp(sum, k);
}
