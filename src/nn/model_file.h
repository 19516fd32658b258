/* model_file: a trained network as bytes, and back.
 *
 *     "ADLROMDL"  u32 version (1)  u32 sections  u64 size of the whole
 *     sections:   tag of 16 bytes, filled up with zeros, u64 size, bytes
 *     u64 FNV-1a of all before it
 *
 * Numbers are little-endian. Two sections must be there: "manifest", lines of key=value that say what the network is
 * and its provenance, and "parameters", 32-bit floats in the order of struct adl_qnet's layers. The others are the
 * caller's: the normalizer's table, held-out scores, an optimizer and a trainer to take up again. */
#ifndef ADLRO_NN_MODEL_FILE_H
#define ADLRO_NN_MODEL_FILE_H

#include "base/error.h"
#include "base/text.h"
#include "nn/qnet.h"

#include <stddef.h>
#include <stdint.h>

#define ADL_MODEL_MAGIC "ADLROMDL"

#define ADL_MODEL_VERSION      1
#define ADL_MODEL_TAG_MAX      16
#define ADL_MODEL_SECTIONS_MAX 16
#define ADL_MODEL_SIZE_MAX     ((size_t)1 << 30)

/* Tags of sections that several parts of the program use. */
#define ADL_MODEL_NORMALIZER "normalizer"
#define ADL_MODEL_SCORES     "scores"    /* text: results on held-out workloads */
#define ADL_MODEL_OPTIMIZER  "optimizer" /* adl_adam_write() */
#define ADL_MODEL_TRAINER    "trainer"

struct adl_model_section {
    char tag[ADL_MODEL_TAG_MAX + 1]; /* small letters, digits, - and _ */
    const void *bytes;
    size_t size;
};

struct adl_model {
    uint32_t schema; /* version of what the features mean */
    struct adl_qnet_shape shape;
    uint64_t scenario_hash; /* of the workloads it was trained on */
    uint64_t seed;
    uint64_t episodes;
    const float *params; /* (parameter_count) */
    size_t parameter_count;
    int section_count;
    struct adl_model_section sections[ADL_MODEL_SECTIONS_MAX - 2];
    void *block; /* owns params and the sections' bytes after decoding; NULL in a model that is only encoded */
};

/* Appends the bytes. ADL_EINVAL if the model contradicts itself. */
int adl_model_encode(const struct adl_model *model, struct adl_text *ret_bytes, struct adl_error *err);

bool adl_model_is(const void *bytes, size_t size); /* they begin as one does */

/* Reads what encode wrote; schema is that of the caller's features, 0 = any. Accepts any bytes: returns a complete
 * model or an error, and takes no more memory than they do. */
int adl_model_decode(const void *bytes, size_t size, uint32_t schema, struct adl_model *ret, struct adl_error *err);
void adl_model_clear(struct adl_model *model); /* of a decoded model; accepts a zeroed one */

/* NULL if there is none. */
const struct adl_model_section *adl_model_section_find(const struct adl_model *model, const char *tag);
/* Appends a section; bytes stay the caller's. The tag is a constant of the program: room for it is asserted. */
void adl_model_section_add(struct adl_model *model, const char *tag, const void *bytes, size_t size);

#endif
