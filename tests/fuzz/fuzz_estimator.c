/* fuzz_estimator: bytes as an estimator's model. Even first byte: the rest as they are. Odd: the rest are changes to
 * the shipped model, of three bytes each, two for the place and one for what goes there, sealed again afterwards, so
 * that what is behind the checksum is reached. What was read has to encode to the same bytes. */
#include "model_seal.h"
#include "predict/estimator.h"
#include "predict/shipped_estimator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void try_bytes(const unsigned char *bytes, size_t size)
{
    struct adl_estimator *estimator = NULL;
    struct adl_error err = {{0}};
    if (adl_estimator_decode(bytes, size, &estimator, &err) != 0) {
        must(err.text[0] != '\0' && !estimator);
        return;
    }
    struct adl_text again = {0};
    adl_estimator_encode(estimator, &again);
    must(adl_text_status(&again) == 0 && again.size == size && memcmp(again.data, bytes, size) == 0);
    adl_text_clear(&again);
    adl_estimator_destroy(estimator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0) {
        try_bytes(data + 1, size - 1);
        return 0;
    }
    unsigned char *bytes = malloc(adl_shipped_estimator_size);
    must(bytes != NULL);
    memcpy(bytes, adl_shipped_estimator, adl_shipped_estimator_size);
    for (size_t i = 1; i + 3 <= size; i += 3)
        bytes[((size_t)data[i] << 8 | data[i + 1]) % (adl_shipped_estimator_size - 8)] = data[i + 2];
    model_seal(bytes, adl_shipped_estimator_size);
    try_bytes(bytes, adl_shipped_estimator_size);
    free(bytes);
    return 0;
}
