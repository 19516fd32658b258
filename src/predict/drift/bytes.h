/* bytes: what was found about drift as bytes, and back: what is expected of jobs, what GPUs and types deviate, and the
 * evidence so far. A drift that was read goes on bit for bit as the one that was written.
 *
 * GPUs are known by node and place in it. Those that the cluster does not have, or that are of another type now, are
 * skipped and counted. */
#ifndef ADLRO_PREDICT_DRIFT_BYTES_H
#define ADLRO_PREDICT_DRIFT_BYTES_H

#include "predict/drift/drift.h"
#include "predict/packing.h"

#define ADL_DRIFT_BYTES_VERSION 4

/* What bytes have told. */
struct adl_drift_account {
    uint32_t version;       /* 0: there are none */
    uint32_t gpus, skipped; /* of them */
    bool used;              /* false: another version, or of other types or classes, so that it means nothing here */
};

void adl_drift_encode(const struct adl_drift *drift, struct adl_text *ret);

/* Into one that has seen nothing; NULL: only the account. Accepts any bytes: on failure the text says what is wrong
 * with them, and the drift is to be destroyed. */
int adl_drift_decode(struct adl_drift *drift, struct adl_unpack *from, const struct adl_translation *to,
                     struct adl_drift_account *ret, struct adl_error *err);

#endif
