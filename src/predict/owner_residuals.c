#include "predict/owner_residuals.h"

#include "base/hash.h"
#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#define BINS       ADL_RESIDUAL_BINS
#define SETS       64
#define WAYS       4
#define ALL_WEIGHT 200.0              /* jobs of an owner that all jobs weigh as much as */
#define SCALE      4.1588830833596719 /* ln(64) ... */
#define FIRST      13.0               /* ... from half a second on, ln(us) */
#define SCALES_MAX 40.0

struct adl_owner_residuals {
    uint64_t keys[SETS * WAYS]; /* 0 = none */
    struct adl_residuals residuals[SETS * WAYS];
};

int adl_owner_residuals_create(struct adl_owner_residuals **ret)
{
    return (*ret = calloc(1, sizeof **ret)) ? 0 : ADL_ENOMEM;
}

void adl_owner_residuals_destroy(struct adl_owner_residuals *owners)
{
    free(owners);
}

void adl_owner_residuals_copy(struct adl_owner_residuals *to, const struct adl_owner_residuals *from)
{
    for (uint32_t i = 0; i < SETS * WAYS; i++) {
        if (to->keys[i] != 0 || from->keys[i] != 0)
            to->residuals[i] = from->residuals[i];
        to->keys[i] = from->keys[i];
    }
}

void adl_owner_residuals_reset(struct adl_owner_residuals *owners)
{
    memset(owners, 0, sizeof *owners);
}

uint64_t adl_owner_residuals_key(uint64_t owner, const struct adl_shape *shape, double predicted_us)
{
    const double high = adl_log(predicted_us > 1 ? predicted_us : 1) + (double)shape->knots[ADL_SHAPE_KNOTS - 1];
    const double scale = (high - FIRST) / SCALE;
    const uint64_t key = adl_hash_u64(adl_hash_u64(adl_hash_start(), owner),
                                      scale > 0 ? (uint64_t)(scale < SCALES_MAX ? scale : SCALES_MAX) : 0);
    return key + (key == 0);
}

static uint32_t find_place(const struct adl_owner_residuals *owners, uint64_t key)
{
    const uint32_t first = (uint32_t)(key % SETS) * WAYS;
    uint32_t least = first;
    for (uint32_t i = first; i < first + WAYS; i++) {
        if (owners->keys[i] == key)
            return i;
        if (owners->residuals[i].above[0] < owners->residuals[least].above[0])
            least = i;
    }
    return least;
}

void adl_owner_residuals_learn(struct adl_owner_residuals *owners, uint64_t key, const struct adl_shape *shape,
                               double ratio)
{
    const uint32_t place = find_place(owners, key);
    if (owners->keys[place] != key)
        owners->residuals[place] = (struct adl_residuals){0};
    owners->keys[place] = key;
    adl_residuals_learn(&owners->residuals[place], shape, ratio);
}

const struct adl_residuals *adl_owner_residuals_find(const struct adl_owner_residuals *owners, uint64_t key,
                                                     const struct adl_residuals *all, struct adl_residuals *room)
{
    const uint32_t place = find_place(owners, key);
    const struct adl_residuals *own = &owners->residuals[place];
    if (owners->keys[place] != key)
        return all;
    const double part = ALL_WEIGHT / all->above[0];
    for (int i = 0; i < BINS; i++) {
        room->weight[i] = part * all->weight[i] + own->weight[i];
        room->above[i] = part * all->above[i] + own->above[i];
    }
    room->above[BINS] = 0;
    room->count = all->count;
    return room;
}

/* ---- bytes: by place ---- */

void adl_owner_residuals_encode(const struct adl_owner_residuals *owners, struct adl_text *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SETS * WAYS; i++)
        count += owners->keys[i] != 0;
    adl_bytes_put_u32(ret, BINS);
    adl_bytes_put_u32(ret, count);
    for (uint32_t i = 0; i < SETS * WAYS; i++) {
        if (owners->keys[i] == 0)
            continue;
        adl_bytes_put_u32(ret, i);
        adl_bytes_put_u64(ret, owners->keys[i]);
        adl_bytes_put_u64(ret, owners->residuals[i].count);
        for (int b = 0; b < BINS; b++)
            adl_pack_real(ret, owners->residuals[i].weight[b]);
    }
}

void adl_owner_residuals_decode(struct adl_owner_residuals *owners, struct adl_unpack *from, bool same_users)
{
    const uint32_t bins = adl_unpack_u32(from, BINS), count = adl_unpack_u32(from, SETS * WAYS);
    from->failed |= bins != BINS;
    for (uint32_t i = 0; i < count && !from->failed; i++) {
        struct adl_residuals read = {.count = 0};
        const uint32_t place = adl_unpack_u32(from, SETS * WAYS - 1);
        const uint64_t key = adl_unpack_u64(from);
        read.count = adl_unpack_u64(from);
        for (int b = 0; b < BINS; b++)
            read.weight[b] = adl_unpack_real(from, 0, 1e9);
        from->failed |= key == 0 || key % SETS != place / WAYS;
        if (!same_users || from->failed)
            continue;
        adl_residuals_sum(&read);
        owners->keys[place] = key;
        owners->residuals[place] = read;
    }
}
