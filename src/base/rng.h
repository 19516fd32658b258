/* rng: seeded random streams (xoshiro256++). A stream is a value that its owner can copy.
 *
 * Streams for different purposes are made from one seed by name, so that drawing more from one never shifts another:
 * every policy then faces the same jobs, the same failures and the same telemetry noise. */
#ifndef ADLRO_BASE_RNG_H
#define ADLRO_BASE_RNG_H

#include <math.h>
#include <stdint.h>

struct adl_rng {
    uint64_t s[4];
};

void adl_rng_seed(struct adl_rng *rng, uint64_t seed, const char *purpose);

double adl_rng_normal(struct adl_rng *rng);      /* mean 0, variance 1 */
double adl_rng_exponential(struct adl_rng *rng); /* mean 1 */

static inline uint64_t adl_rotl64(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t adl_rng_next(struct adl_rng *rng)
{
    uint64_t *s = rng->s;
    const uint64_t out = adl_rotl64(s[0] + s[3], 23) + s[0];
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = adl_rotl64(s[3], 45);
    return out;
}

/* Uniform in [0, 1) with 53 random bits. */
static inline double adl_rng_uniform(struct adl_rng *rng)
{
    return (double)(adl_rng_next(rng) >> 11) * 0x1.0p-53;
}

/* Uniform in 0..count-1; count > 0. The bias, below 2^-32 for any count we use, is smaller than what a run can show. */
static inline uint32_t adl_rng_below(struct adl_rng *rng, uint32_t count)
{
    return (uint32_t)(((adl_rng_next(rng) >> 32) * (uint64_t)count) >> 32);
}

/* Marsaglia's polar method, which needs no trigonometry, in two steps: a point of the unit disc, whose squared distance
 * from the centre is returned; and by how much its coordinates are to be multiplied, given the logarithm of that. */
static inline double adl_rng_disc(struct adl_rng *rng, double ret[2])
{
    double square;
    do {
        ret[0] = 2.0 * adl_rng_uniform(rng) - 1.0;
        ret[1] = 2.0 * adl_rng_uniform(rng) - 1.0;
        square = ret[0] * ret[0] + ret[1] * ret[1];
    } while (square >= 1.0 || square == 0.0);
    return square;
}

static inline double adl_rng_normal_scale(double square, double log_square)
{
    return sqrt(-2.0 * log_square / square);
}

#endif
