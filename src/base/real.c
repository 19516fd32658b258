#include "base/real.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Into the loops below, too: a call for each number would keep the processor from working on several. */
#define INLINE __attribute__((always_inline)) static inline

/* ln 2 in two parts: the high one has 32 trailing zero bits, so its product with any exponent is exact. */
static const double LN2_HIGH = 0x1.62e42feep-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); then log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716. */
INLINE double log_of(double x)
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
    /* Halving subtracts one from the exponent field; no branch, because it would be unpredictable. */
    const uint64_t large = bits > 0x3ff6a09e667f3bcdu;
    bits -= large << 52;
    exponent += (int)large;
    double m;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s, z2 = z * z, z4 = z2 * z2;
    /* 1/3 + z/5 + z^2/7 + ... + z^9/21, by pairs, to shorten the dependency chain. */
    const double sum =
        ((1.0 / 3 + z * (1.0 / 5)) + z2 * (1.0 / 7 + z * (1.0 / 9))) +
        z4 * (((1.0 / 11 + z * (1.0 / 13)) + z2 * (1.0 / 15 + z * (1.0 / 17))) + z4 * (1.0 / 19 + z * (1.0 / 21)));
    const double tail = 2.0 * s * z * sum;
    return exponent * LN2_HIGH + (2.0 * s + (tail + exponent * LN2_LOW));
}

/* x = k ln 2 + r with |r| <= ln 2 / 2; exp r by its series, whose 14th term is below 2^-58 of the sum. */
INLINE double exp_of(double x)
{
    if (x > 709.78)
        return HUGE_VAL;
    if (x < -745.0)
        return 0.0;
    /* Adding and subtracting 1.5 * 2^52 rounds to the nearest integer. */
    const double whole = (x * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
    const int k = (int)whole;
    const double r = (x - whole * LN2_HIGH) - whole * LN2_LOW, r2 = r * r, r4 = r2 * r2;
    /* r^2/2! + r^3/3! + ... + r^13/13!, by pairs, to shorten the dependency chain. */
    const double low = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double high =
        ((1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880))) +
        r4 * ((1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0)));
    const double sum = 1.0 + (r + r2 * (low + r4 * high));
    if (k < -1000 || k > 1023) /* what the product below cannot reach */
        return ldexp(sum, k);
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

double adl_log(double x)
{
    return log_of(x);
}

double adl_exp(double x)
{
    return exp_of(x);
}

void adl_log_each(double *x, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        x[i] = log_of(x[i]);
}

void adl_exp_each(double *x, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        x[i] = exp_of(x[i]);
}
