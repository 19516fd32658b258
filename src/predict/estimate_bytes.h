/* estimate_bytes: a table of profiles and measurements as bytes, and back. */
#ifndef ADLRO_PREDICT_ESTIMATE_BYTES_H
#define ADLRO_PREDICT_ESTIMATE_BYTES_H

#include "predict/estimate_table.h"
#include "predict/packing.h"

struct adl_estimate_account {
    uint32_t profiles;  /* kinds of jobs */
    uint32_t cells;     /* measured */
    uint32_t skipped;   /* cells of GPU types or profiles that this cluster does not have */
    uint32_t forgotten; /* profiles of classes that this scenario does not have */
};

void adl_estimate_table_encode(const struct adl_estimate_table *table, struct adl_text *ret);

/* Reads into a table without profiles. If numbers translate, the caller has to compute rates and duties again. On
 * failure the table is to be destroyed. */
int adl_estimate_table_decode(struct adl_estimate_table *table, struct adl_unpack *from,
                              const struct adl_translation *to, struct adl_estimate_account *ret,
                              struct adl_error *err);

#endif
