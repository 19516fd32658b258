/* packing: what was learned as bytes, and back. A reader accepts any bytes: it never reads behind their end, and what
 * it could not read is 0 and remembered. */
#ifndef ADLRO_PREDICT_PACKING_H
#define ADLRO_PREDICT_PACKING_H

#include "base/error.h"
#include "model/cluster.h"
#include "nn/bytes.h"

#include <math.h>
#include <stdbool.h>

static inline void adl_pack_real(struct adl_text *text, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    adl_bytes_put_u64(text, bits);
}

/* At most 255 bytes of it. */
static inline void adl_pack_name(struct adl_text *text, const char *name)
{
    const size_t length = strnlen(name, 255);
    adl_text_char(text, (char)length);
    adl_text_bytes(text, name, length);
}

struct adl_unpack {
    const unsigned char *at, *end;
    bool failed; /* something was missing or out of its bounds */
};

static inline const unsigned char *adl_unpack_bytes(struct adl_unpack *from, size_t size)
{
    const unsigned char *at = from->at;
    if (from->failed || (size_t)(from->end - at) < size) {
        from->failed = true;
        return NULL;
    }
    from->at += size;
    return at;
}

static inline uint8_t adl_unpack_u8(struct adl_unpack *from)
{
    const unsigned char *at = adl_unpack_bytes(from, 1);
    return at ? *at : 0;
}

static inline uint64_t adl_unpack_u64(struct adl_unpack *from)
{
    const unsigned char *at = adl_unpack_bytes(from, 8);
    return at ? adl_bytes_u64(at) : 0;
}

/* At most `most`. */
static inline uint32_t adl_unpack_u32(struct adl_unpack *from, uint32_t most)
{
    const unsigned char *at = adl_unpack_bytes(from, 4);
    const uint32_t value = at ? adl_bytes_u32(at) : 0;
    from->failed |= value > most;
    return from->failed ? 0 : value;
}

static inline double adl_unpack_real(struct adl_unpack *from, double least, double most)
{
    const uint64_t bits = adl_unpack_u64(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    from->failed |= !(value >= least && value <= most);
    return from->failed ? 0 : value;
}

static inline float adl_unpack_float(struct adl_unpack *from, float bound)
{
    float value = 0;
    const unsigned char *at = adl_unpack_bytes(from, 4);
    if (at)
        adl_bytes_floats(at, 1, &value);
    from->failed |= !(value >= -bound && value <= bound);
    return from->failed ? 0 : value;
}

/* Of printable bytes, with its zero byte; empty on failure. */
static inline void adl_unpack_name(struct adl_unpack *from, char *ret, size_t size)
{
    const size_t length = adl_unpack_u8(from);
    const unsigned char *at = adl_unpack_bytes(from, length);
    ret[0] = '\0';
    from->failed |= length >= size;
    for (size_t i = 0; !from->failed && i < length; i++)
        from->failed |= at[i] < ' ' || at[i] == 0x7f;
    if (from->failed)
        return;
    memcpy(ret, at, length);
    ret[length] = '\0';
}

/* How the numbers that something was learned under translate into those of this cluster. */
struct adl_translation {
    bool same;       /* types and classes have the same numbers */
    bool same_users; /* the numbers of users mean the same */
    bool same_time;  /* times are of the same clock */
    uint32_t type_count;
    uint32_t type_of[ADL_TYPES_MAX];  /* ADL_NONE: this cluster does not have the type */
    uint32_t types_of[ADL_TYPES_MAX]; /* as a mask: one type, none, or all because no type was told */
    uint32_t class_count;
    uint32_t *class_of; /* ADL_NONE likewise; owned by the caller */
};

/* A mask of types; 0 if this cluster has none of them. */
static inline uint32_t adl_translate_types(const struct adl_translation *to, uint32_t types)
{
    uint32_t mask = 0;
    for (uint32_t t = 0; t < to->type_count; t++)
        mask |= types >> t & 1 ? to->types_of[t] : 0;
    return mask;
}

static inline uint32_t adl_translate_class(const struct adl_translation *to, uint32_t class_index)
{
    return class_index < to->class_count ? to->class_of[class_index] : ADL_NONE;
}

#endif
