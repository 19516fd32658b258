/* random_records: records of twelve fields drawn at random, six symbols of sixty-four each and six numbers, for the
 * tests and benches of what becomes of them in a hypervector. */
#ifndef ADLRO_BENCH_RANDOM_RECORDS_H
#define ADLRO_BENCH_RANDOM_RECORDS_H

#include "base/rng.h"
#include "hdc/encoder.h"

enum { RECORD_FIELDS = 12, RECORD_SYMBOLS = 64 };

extern const struct adl_field record_fields[RECORD_FIELDS];

void draw_record(struct adl_rng *rng, struct adl_value *ret);

struct recovery {
    uint32_t symbols, symbols_right;
    uint32_t numbers, numbers_right; /* right: within one level */
};

void recover_record(const struct adl_encoder *encoder, const struct adl_value *values,
                    const struct adl_hypervector *record, struct recovery *sum);

#endif
