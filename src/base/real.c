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
    const double z = s * s, zz = z * z;
    /* Two interleaved halves of the series 1/3 + z/5 + z^2/7 + ...: half the latency of one chain. */
    const double even = 1.0 / 3 + zz * (1.0 / 7 + zz * (1.0 / 11 + zz * (1.0 / 15 + zz * (1.0 / 19))));
    const double odd = 1.0 / 5 + zz * (1.0 / 9 + zz * (1.0 / 13 + zz * (1.0 / 17 + zz * (1.0 / 21))));
    const double sum = even + z * odd;
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
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW, rr = r * r;
    const double even =
        1.0 / 2 + rr * (1.0 / 24 + rr * (1.0 / 720 + rr * (1.0 / 40320 + rr * (1.0 / 3628800 + rr / 479001600))));
    const double odd =
        1.0 / 6 +
        rr * (1.0 / 120 + rr * (1.0 / 5040 + rr * (1.0 / 362880 + rr * (1.0 / 39916800 + rr / 6227020800.0))));
    const double sum = 1.0 + (r + rr * (even + r * odd));
    if (k < -1000 || k > 1023) /* what the product below cannot reach */
        return ldexp(sum, k);
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}
