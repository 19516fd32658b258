/* fuzz_model: bytes as a model's file; an odd first byte has them sealed first, so that what is behind the checksum is
 * reached. What was read has to encode to the same bytes. */
#include "model_seal.h"
#include "nn/model_file.h"
#include "policy/adlro/rank_network.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_round_trip(const struct adl_model *model, const unsigned char *bytes, size_t size)
{
    struct adl_text again = {0};
    struct adl_error err = {{0}};
    must(adl_model_encode(model, &again, &err) == 0);
    must(again.size == size && memcmp(again.data, bytes, size) == 0);
    adl_text_clear(&again);
}

/* The same bytes as a network of policy adlro. */
static void check_rank_network(const unsigned char *bytes, size_t size)
{
    struct adl_rank_network network;
    struct adl_text again = {0};
    struct adl_error err = {{0}};
    if (adl_rank_network_decode(bytes, size, &network, &err) == 0) {
        adl_rank_network_encode(&network, &again);
        must(again.size == size && memcmp(again.data, bytes, size) == 0);
    } else {
        must(err.text[0] != '\0');
    }
    adl_text_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adl_model model = {.block = NULL};
    struct adl_error err = {{0}};
    if (size == 0)
        return 0;
    unsigned char *bytes = malloc(size);
    must(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] % 2 && size > 32)
        model_seal(bytes, size - 1);
    if (adl_model_decode(bytes, size - 1, 0, &model, &err) == 0)
        check_round_trip(&model, bytes, size - 1);
    else
        must(err.text[0] != '\0' && !model.block);
    check_rank_network(bytes, size - 1);
    adl_model_clear(&model);
    free(bytes);
    return 0;
}
