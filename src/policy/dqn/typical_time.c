#include "policy/dqn/typical_time.h"

#include "base/copy.h"
#include "base/error.h"
#include "base/index.h"
#include "base/real.h"

#include <stdlib.h>

#define UNIT 0x1.0p-20 /* logarithms of 64-bit times are below 44 */

void adl_typical_time_clear(struct adl_typical_time *typical)
{
    free(typical->logarithms);
    *typical = (struct adl_typical_time){0};
}

int adl_typical_time_reserve(struct adl_typical_time *typical, size_t jobs)
{
    return adl_grow((void **)&typical->logarithms, &typical->capacity, jobs, sizeof *typical->logarithms);
}

int adl_typical_time_copy(struct adl_typical_time *to, const struct adl_typical_time *from)
{
    if (adl_typical_time_reserve(to, from->capacity))
        return ADL_ENOMEM;
    const struct adl_typical_time own = *to;
    *to = *from;
    to->capacity = own.capacity;
    ADL_COPY_ARRAY(to, own, from, logarithms, from->capacity);
    return 0;
}

void adl_typical_time_reset(struct adl_typical_time *typical)
{
    typical->sum = 0;
    typical->count = 0;
}

int adl_typical_time_join(struct adl_typical_time *typical, uint32_t slot, int64_t predicted_us)
{
    if (adl_typical_time_reserve(typical, (size_t)slot + 1))
        return ADL_ENOMEM;
    typical->logarithms[slot] = (int32_t)(adl_log((double)predicted_us + 1) / UNIT);
    typical->sum += typical->logarithms[slot];
    typical->count++;
    return 0;
}

void adl_typical_time_leave(struct adl_typical_time *typical, uint32_t slot)
{
    typical->sum -= typical->logarithms[slot];
    typical->count--;
}

double adl_typical_time_us(const struct adl_typical_time *typical)
{
    return typical->count > 0 ? adl_exp((double)typical->sum * UNIT / typical->count) : 1.0;
}
