#include "hdc/encoder.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* How many bits nearer than half of them the best match has to be: five standard deviations. */
#define CHANCE_BITS 226

#define KEY_SALT   UINT64_C(1)
#define ITEM_SALT  UINT64_C(2)
#define LEVEL_SALT UINT64_C(3)
#define MASK_SALT  UINT64_C(4)

/* Which rotation of the base vector represents the n-th span of time: odd, so that none of 8,192 repeats. */
#define SPAN_STRIDE 1021

/* Values of one field that are kept encoded; most jobs repeat those of jobs before them. */
#define KEPT_BITS 3
#define KEPT      (1u << KEPT_BITS)

/* KEY xor VALUE of a field. */
struct part {
    uint64_t code; /* of the value */
    bool used;
    struct adl_hypervector vector;
};

struct adl_encoder {
    const struct adl_field *fields;
    uint32_t count;
    uint64_t seed;
    const struct adl_hyper_ops *ops;
    struct adl_hypervector base; /* of moments */
    struct adl_hypervector keys[ADL_FIELDS_MAX];
    struct adl_hypervector levels[ADL_LEVELS];
    struct adl_hypervector masks[ADL_LEVELS]; /* how far into its span a moment is */
    struct part parts[];                      /* [field][KEPT], a value by its hash */
};

static int check_fields(const struct adl_field *fields, uint32_t count, struct adl_error *err)
{
    uint32_t votes = 0;
    if (count < 1 || count > ADL_FIELDS_MAX)
        return adl_fail(err, ADL_EINVAL, "a record has 1 to %d fields, not %u", ADL_FIELDS_MAX, count);
    for (uint32_t f = 0; f < count; f++) {
        const struct adl_field *field = &fields[f];
        votes += field->weight;
        if (field->weight < 1)
            return adl_fail(err, ADL_EINVAL, "field %s: the weight must be at least 1", field->name);
        if (field->kind == ADL_FIELD_NUMBER && !(field->high > field->low))
            return adl_fail(err, ADL_EINVAL, "field %s: high must be more than low", field->name);
        if (field->kind == ADL_FIELD_MOMENT && !(field->high > 0 && field->low >= 0))
            return adl_fail(err, ADL_EINVAL, "field %s: the span must be more than 0", field->name);
    }
    if (votes >= ADL_HYPER_VOTES_MAX)
        return adl_fail(err, ADL_EINVAL, "the weights of all fields must be below %d together, they are %u",
                        ADL_HYPER_VOTES_MAX, votes);
    return 0;
}

int adl_encoder_create(const struct adl_field *fields, uint32_t count, uint64_t seed, const struct adl_hyper_ops *ops,
                       struct adl_encoder **ret, struct adl_error *err)
{
    const int status = check_fields(fields, count, err);
    if (status)
        return status;
    struct adl_encoder *encoder = calloc(1, sizeof *encoder + (size_t)count * KEPT * sizeof *encoder->parts);
    if (!encoder)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an encoder");
    encoder->fields = fields;
    encoder->count = count;
    encoder->seed = seed;
    encoder->ops = ops ? ops : adl_hyper_ops_best();
    for (uint32_t f = 0; f < count; f++)
        adl_hypervector_item(seed ^ KEY_SALT, f, &encoder->keys[f]);
    adl_hypervector_item(seed ^ LEVEL_SALT, 0, &encoder->base);
    adl_hypervector_masks(seed ^ LEVEL_SALT, ADL_HYPER_BITS / 2, ADL_LEVELS, encoder->levels);
    for (uint32_t l = 0; l < ADL_LEVELS; l++)
        adl_hypervector_bind(&encoder->base, &encoder->levels[l], &encoder->levels[l]);
    adl_hypervector_masks(seed ^ MASK_SALT, ADL_HYPER_BITS, ADL_LEVELS, encoder->masks);
    *ret = encoder;
    return 0;
}

void adl_encoder_destroy(struct adl_encoder *encoder)
{
    free(encoder);
}

uint32_t adl_encoder_level_of(const struct adl_encoder *encoder, uint32_t field, double number)
{
    const struct adl_field *f = &encoder->fields[field];
    const double at = (number - f->low) / (f->high - f->low) * ADL_LEVELS;
    return at >= ADL_LEVELS - 1 ? ADL_LEVELS - 1 : at > 0 ? (uint32_t)at : 0;
}

/* After how many spans a moment repeats. */
static uint64_t period_of(const struct adl_field *field)
{
    return field->low >= 1 ? (uint64_t)field->low : ADL_HYPER_BITS;
}

/* Values of equal codes have equal vectors. */
static uint64_t code_of(const struct adl_encoder *encoder, uint32_t field, const struct adl_value *value)
{
    const struct adl_field *f = &encoder->fields[field];
    if (f->kind == ADL_FIELD_SYMBOL)
        return value->symbol;
    if (f->kind == ADL_FIELD_NUMBER)
        return adl_encoder_level_of(encoder, field, value->number);
    const double spans = value->number / f->high, whole = floor(spans);
    return (uint64_t)fmod(whole, (double)period_of(f)) * ADL_LEVELS + (uint64_t)((spans - whole) * ADL_LEVELS);
}

/* Between the vectors of its span and of the next one, as far as the moment is into its span. */
static void encode_moment(const struct adl_encoder *encoder, const struct adl_field *field, uint64_t code,
                          struct adl_hypervector *ret)
{
    const uint64_t here = code / ADL_LEVELS, next = (here + 1) % period_of(field);
    struct adl_hypervector a, b;
    adl_hypervector_rotate(&encoder->base, (uint32_t)(here * SPAN_STRIDE % ADL_HYPER_BITS), &a);
    adl_hypervector_rotate(&encoder->base, (uint32_t)(next * SPAN_STRIDE % ADL_HYPER_BITS), &b);
    adl_hypervector_mix(&a, &b, &encoder->masks[code % ADL_LEVELS], ret);
}

static void encode_value(const struct adl_encoder *encoder, uint32_t field, uint64_t code, struct adl_hypervector *ret)
{
    switch (encoder->fields[field].kind) {
    case ADL_FIELD_SYMBOL:
        adl_hypervector_item(encoder->seed ^ ITEM_SALT, code, ret);
        break;
    case ADL_FIELD_NUMBER:
        *ret = encoder->levels[code];
        break;
    default:
        encode_moment(encoder, &encoder->fields[field], code, ret);
    }
}

static const struct adl_hypervector *find_part(struct adl_encoder *encoder, uint32_t field, uint64_t code)
{
    const uint64_t hash = code * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEPT_BITS);
    struct part *part = &encoder->parts[(size_t)field * KEPT + hash];
    if (!part->used || part->code != code) {
        encode_value(encoder, field, code, &part->vector);
        adl_hypervector_bind(&part->vector, &encoder->keys[field], &part->vector);
        part->code = code;
        part->used = true;
    }
    return &part->vector;
}

void adl_encoder_encode(struct adl_encoder *encoder, const struct adl_value *values, struct adl_hypervector *ret)
{
    struct adl_hypervector bound[ADL_FIELDS_MAX + 1];
    uint8_t weights[ADL_FIELDS_MAX + 1];
    uint32_t known = 0;
    for (uint32_t f = 0; f < encoder->count; f++) {
        if (!values[f].known)
            continue;
        bound[known] = *find_part(encoder, f, code_of(encoder, f, &values[f]));
        weights[known++] = encoder->fields[f].weight;
    }
    if (known > 0)
        adl_hypervector_bundle(encoder->ops, bound, weights, known, ret);
    else
        adl_hypervector_item(encoder->seed, 0, ret);
}

uint32_t adl_encoder_find_symbol(const struct adl_encoder *encoder, const struct adl_hypervector *record,
                                 uint32_t field, const uint64_t *symbols, uint32_t count)
{
    assert(field < encoder->count && encoder->fields[field].kind == ADL_FIELD_SYMBOL);
    struct adl_hypervector value, item;
    uint32_t best = ADL_FIELD_UNKNOWN, least = ADL_HYPER_BITS / 2 - CHANCE_BITS;
    adl_hypervector_bind(record, &encoder->keys[field], &value);
    for (uint32_t s = 0; s < count; s++) {
        adl_hypervector_item(encoder->seed ^ ITEM_SALT, symbols[s], &item);
        const uint32_t distance = adl_hypervector_distance(encoder->ops, &value, &item);
        best = distance < least ? s : best;
        least = distance < least ? distance : least;
    }
    return best;
}

uint32_t adl_encoder_find_level(const struct adl_encoder *encoder, const struct adl_hypervector *record, uint32_t field)
{
    assert(field < encoder->count && encoder->fields[field].kind == ADL_FIELD_NUMBER);
    struct adl_hypervector value;
    uint32_t distances[ADL_LEVELS], best = ADL_FIELD_UNKNOWN, least = ADL_HYPER_BITS / 2 - CHANCE_BITS;
    adl_hypervector_bind(record, &encoder->keys[field], &value);
    encoder->ops->distances(value.words, encoder->levels[0].words, ADL_LEVELS, distances);
    for (uint32_t l = 0; l < ADL_LEVELS; l++) {
        best = distances[l] < least ? l : best;
        least = distances[l] < least ? distances[l] : least;
    }
    return best;
}
