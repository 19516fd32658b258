/* encoder: a record of fields as one hypervector, and back.
 *
 *     H = majority over the known fields k of (KEY_k xor VALUE_k), each with the weight of its field
 *
 * H xor KEY_k is similar to VALUE_k, and to nothing else, so a field is read back by finding the value nearest to it. A
 * field that is unknown is left out: records without it are compared by the fields that they have. */
#ifndef ADLRO_HDC_ENCODER_H
#define ADLRO_HDC_ENCODER_H

#include "base/error.h"
#include "hdc/hypervector.h"

#include <stdbool.h>

#define ADL_FIELDS_MAX 31
#define ADL_LEVELS     32

enum adl_field_kind {
    ADL_FIELD_SYMBOL, /* equal or not */
    ADL_FIELD_NUMBER, /* one of 32 levels from low to high: the vectors of the two ends are unrelated, and between them
                       * distance grows with the difference */
    ADL_FIELD_MOMENT, /* a number without bounds, e.g. a time: distance grows up to a difference of one span (high) and
                       * is that of unrelated vectors from there on; low > 0: it repeats after low spans, e.g. a day */
};

struct adl_field {
    const char *name;
    uint8_t kind;   /* enum adl_field_kind */
    uint8_t weight; /* at least 1; ADL_HYPER_VOTES_MAX - 1 for all fields together */
    double low, high;
};

struct adl_value {
    bool known;
    uint64_t symbol; /* SYMBOL */
    double number;   /* NUMBER, outside of low and high it counts as these; MOMENT, at least 0 */
};

struct adl_encoder;

/* The caller owns fields, which outlive the encoder; ops NULL: the best for this processor. */
int adl_encoder_create(const struct adl_field *fields, uint32_t count, uint64_t seed, const struct adl_hyper_ops *ops,
                       struct adl_encoder **ret, struct adl_error *err);
void adl_encoder_destroy(struct adl_encoder *encoder); /* accepts NULL */

/* values: [count]. A record without known fields is a fixed vector, unrelated to all others. Keeps the last values of
 * each field encoded. */
void adl_encoder_encode(struct adl_encoder *encoder, const struct adl_value *values, struct adl_hypervector *ret);

/* The index, among those given, of the record's symbol in a field; ADL_FIELD_UNKNOWN if none is near. */
#define ADL_FIELD_UNKNOWN UINT32_MAX
uint32_t adl_encoder_find_symbol(const struct adl_encoder *encoder, const struct adl_hypervector *record,
                                 uint32_t field, const uint64_t *symbols, uint32_t count);

/* The level, 0 to ADL_LEVELS - 1, of a number; ADL_FIELD_UNKNOWN if the record has none there. */
uint32_t adl_encoder_find_level(const struct adl_encoder *encoder, const struct adl_hypervector *record,
                                uint32_t field);
uint32_t adl_encoder_level_of(const struct adl_encoder *encoder, uint32_t field, double number);

#endif
