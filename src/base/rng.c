#include "base/rng.h"

#include "base/hash.h"
#include "base/real.h"

#include <string.h>

/* splitmix64: spreads one word into the four that xoshiro needs, never all zero. */
static uint64_t spread(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void adl_rng_seed(struct adl_rng *rng, uint64_t seed, const char *purpose)
{
    uint64_t x = adl_hash_bytes(adl_hash_start() ^ seed, purpose, strlen(purpose));
    for (int i = 0; i < 4; i++)
        rng->s[i] = spread(&x);
}

double adl_rng_normal(struct adl_rng *rng)
{
    double point[2];
    const double square = adl_rng_disc(rng, point);
    return point[0] * adl_rng_normal_scale(square, adl_log(square));
}

double adl_rng_exponential(struct adl_rng *rng)
{
    return -adl_log(1.0 - adl_rng_uniform(rng));
}
