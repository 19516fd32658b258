#include "random_records.h"

const struct adl_field record_fields[RECORD_FIELDS] = {
    {"gpu model", ADL_FIELD_SYMBOL, 1, 0, 0},   {"user", ADL_FIELD_SYMBOL, 1, 0, 0},
    {"name", ADL_FIELD_SYMBOL, 1, 0, 0},        {"kind", ADL_FIELD_SYMBOL, 1, 0, 0},
    {"cluster", ADL_FIELD_SYMBOL, 1, 0, 0},     {"partition", ADL_FIELD_SYMBOL, 1, 0, 0},
    {"utilization", ADL_FIELD_NUMBER, 1, 0, 1}, {"priority", ADL_FIELD_NUMBER, 1, 0, 1},
    {"bandwidth", ADL_FIELD_NUMBER, 1, 0, 1},   {"temperature", ADL_FIELD_NUMBER, 1, 20, 100},
    {"power", ADL_FIELD_NUMBER, 1, 0, 700},     {"memory", ADL_FIELD_NUMBER, 1, 0, 192},
};

void draw_record(struct adl_rng *rng, struct adl_value *ret)
{
    for (uint32_t f = 0; f < RECORD_FIELDS; f++) {
        const struct adl_field *field = &record_fields[f];
        ret[f] = (struct adl_value){.known = true};
        if (field->kind == ADL_FIELD_SYMBOL)
            ret[f].symbol = adl_rng_below(rng, RECORD_SYMBOLS);
        else
            ret[f].number = field->low + (field->high - field->low) * adl_rng_uniform(rng);
    }
}

void recover_record(const struct adl_encoder *encoder, const struct adl_value *values,
                    const struct adl_hypervector *record, struct recovery *sum)
{
    uint64_t symbols[RECORD_SYMBOLS];
    for (uint32_t s = 0; s < RECORD_SYMBOLS; s++)
        symbols[s] = s;
    for (uint32_t f = 0; f < RECORD_FIELDS; f++) {
        if (record_fields[f].kind == ADL_FIELD_SYMBOL) {
            sum->symbols++;
            sum->symbols_right +=
                adl_encoder_find_symbol(encoder, record, f, symbols, RECORD_SYMBOLS) == values[f].symbol;
            continue;
        }
        const uint32_t found = adl_encoder_find_level(encoder, record, f);
        const uint32_t true_level = adl_encoder_level_of(encoder, f, values[f].number);
        sum->numbers++;
        sum->numbers_right += found != ADL_FIELD_UNKNOWN && found + 1 >= true_level && found <= true_level + 1;
    }
}
