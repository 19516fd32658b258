/* model_file: see model_file.h; one table of the manifest's keys serves writer and reader. */
#include "nn/model_file.h"

#include "nn/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE    24
#define SECTION_HEAD (ADL_MODEL_TAG_MAX + 8)
#define SEAL_SIZE    8
#define MANIFEST     "manifest"
#define PARAMETERS   "parameters"

/* ---- sections ---- */

const struct adl_model_section *adl_model_section_find(const struct adl_model *model, const char *tag)
{
    for (int i = 0; i < model->section_count; i++)
        if (strcmp(model->sections[i].tag, tag) == 0)
            return &model->sections[i];
    return NULL;
}

void adl_model_section_add(struct adl_model *model, const char *tag, const void *bytes, size_t size)
{
    assert(model->section_count < ADL_MODEL_SECTIONS_MAX - 2 && strlen(tag) <= ADL_MODEL_TAG_MAX);
    struct adl_model_section *section = &model->sections[model->section_count++];
    *section = (struct adl_model_section){.bytes = bytes, .size = size};
    memcpy(section->tag, tag, strlen(tag));
}

static bool is_tag(const char *tag)
{
    const size_t length = strspn(tag, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return length > 0 && length <= ADL_MODEL_TAG_MAX && tag[length] == '\0';
}

/* ---- the manifest ---- */

/* Numbers of the manifest, in its order; the name of the kind of network comes before them. */
enum {
    SCHEMA,
    GPU_FEATURES,
    STATE_FEATURES,
    ACTION_FEATURES,
    GPU_WIDTH,
    HEAD_WIDTH,
    PAPER_GPUS,
    PARAMETER_COUNT,
    SCENARIO,
    SEED,
    EPISODES,
    KEY_COUNT
};

static const struct manifest_key {
    const char *name;
    uint64_t max;
} keys[KEY_COUNT] = {
    [SCHEMA] = {"schema", UINT32_MAX},
    [GPU_FEATURES] = {"gpu_features", ADL_QNET_FEATURES_MAX},
    [STATE_FEATURES] = {"state_features", ADL_QNET_FEATURES_MAX},
    [ACTION_FEATURES] = {"action_features", ADL_QNET_FEATURES_MAX},
    [GPU_WIDTH] = {"gpu_width", ADL_QNET_WIDTH_MAX},
    [HEAD_WIDTH] = {"head_width", ADL_QNET_WIDTH_MAX},
    [PAPER_GPUS] = {"paper_gpus", ADL_QNET_GPUS_MAX},
    [PARAMETER_COUNT] = {"parameters", ADL_MODEL_SIZE_MAX / sizeof(float)},
    [SCENARIO] = {"scenario", UINT64_MAX},
    [SEED] = {"seed", UINT64_MAX},
    [EPISODES] = {"episodes", UINT64_MAX},
};

static void write_manifest(const struct adl_model *model, struct adl_text *text)
{
    const struct adl_qnet_shape *shape = &model->shape;
    const uint64_t values[KEY_COUNT] = {
        [SCHEMA] = model->schema,
        [GPU_FEATURES] = (uint64_t)shape->gpu_features,
        [STATE_FEATURES] = (uint64_t)shape->state_features,
        [ACTION_FEATURES] = (uint64_t)shape->action_features,
        [GPU_WIDTH] = (uint64_t)shape->gpu_width,
        [HEAD_WIDTH] = (uint64_t)shape->head_width,
        [PAPER_GPUS] = (uint64_t)shape->paper_gpus,
        [PARAMETER_COUNT] = model->parameter_count,
        [SCENARIO] = model->scenario_hash,
        [SEED] = model->seed,
        [EPISODES] = model->episodes,
    };
    adl_text_printf(text, "kind=%s\n", adl_qnet_kind_name(shape->kind));
    for (int k = 0; k < KEY_COUNT; k++)
        adl_text_printf(text, "%s=%" PRIu64 "\n", keys[k].name, values[k]);
}

/* One line "name=value\n" at *at, which moves behind it; the value is copied. */
static int read_line(const char **at, const char *end, const char *name, char ret_value[32], struct adl_error *err)
{
    const size_t length = strlen(name), left = (size_t)(end - *at);
    const char *stop = left > 0 ? memchr(*at, '\n', left) : NULL;
    if (!stop || (size_t)(stop - *at) < length + 2 || memcmp(*at, name, length) != 0 || (*at)[length] != '=')
        return adl_fail(err, ADL_EINVAL, "its manifest must say %s=... next, and does not", name);
    const size_t size = (size_t)(stop - *at) - length - 1;
    if (size > 31)
        return adl_fail(err, ADL_EINVAL, "its manifest has a value of %s that is too long", name);
    memcpy(ret_value, *at + length + 1, size);
    ret_value[size] = '\0';
    *at = stop + 1;
    return 0;
}

static int read_number(const char *text, const struct manifest_key *key, uint64_t *ret, struct adl_error *err)
{
    uint64_t value = 0;
    bool good = text[0] != '0' || text[1] == '\0'; /* one way to write a number: what was read writes the same bytes */
    for (const char *c = text; good && *c; c++) {
        const unsigned digit = (unsigned)(*c - '0');
        good = digit < 10 && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (!good || value > key->max)
        return adl_fail(err, ADL_EINVAL, "its manifest says %s=%.31s, which must be a whole number up to %" PRIu64,
                        key->name, text, key->max);
    *ret = value;
    return 0;
}

static int read_manifest(const struct adl_model_section *section, struct adl_model *ret, struct adl_error *err)
{
    const char *at = section->bytes, *end = at + section->size;
    char value[32] = "";
    uint64_t values[KEY_COUNT] = {0};
    int status = read_line(&at, end, "kind", value, err);
    if (status)
        return status;
    const int kind = adl_qnet_kind_find(value);
    if (kind < 0)
        return adl_fail(err, ADL_EINVAL, "its manifest says kind=%s; there are %s and %s", value,
                        adl_qnet_kind_name(ADL_QNET_SHARED), adl_qnet_kind_name(ADL_QNET_PAPER));
    for (int k = 0; k < KEY_COUNT; k++) {
        status = read_line(&at, end, keys[k].name, value, err);
        if (!status)
            status = read_number(value, &keys[k], &values[k], err);
        if (status)
            return status;
    }
    if (at != end)
        return adl_fail(err, ADL_EINVAL, "its manifest goes on behind episodes, where it must end");
    ret->schema = (uint32_t)values[SCHEMA];
    ret->shape = (struct adl_qnet_shape){
        (enum adl_qnet_kind)kind, (int)values[GPU_FEATURES], (int)values[STATE_FEATURES], (int)values[ACTION_FEATURES],
        (int)values[GPU_WIDTH],   (int)values[HEAD_WIDTH],   (int)values[PAPER_GPUS]};
    ret->parameter_count = (size_t)values[PARAMETER_COUNT];
    ret->scenario_hash = values[SCENARIO];
    ret->seed = values[SEED];
    ret->episodes = values[EPISODES];
    return 0;
}

/* Checks that the shape has that many parameters, and that all are finite. */
static int check_model(const struct adl_model *model, struct adl_error *err)
{
    struct adl_qnet net;
    const int status = adl_qnet_make(&model->shape, NULL, &net, err);
    if (status)
        return status;
    if (net.parameter_count != model->parameter_count)
        return adl_fail(err, ADL_EINVAL, "a network of this shape has %zu parameters, not %zu", net.parameter_count,
                        model->parameter_count);
    for (size_t i = 0; i < model->parameter_count; i++)
        if (!isfinite(model->params[i]))
            return adl_fail(err, ADL_EINVAL, "its parameter %zu is not a finite number", i);
    return 0;
}

/* ---- encoding ---- */

static void put_section_head(struct adl_text *text, const char *tag, size_t size)
{
    adl_text_put(text, tag);
    adl_text_repeat(text, '\0', ADL_MODEL_TAG_MAX - strlen(tag));
    adl_bytes_put_u64(text, size);
}

static int check_sections(const struct adl_model *model, size_t *ret_size, struct adl_error *err)
{
    size_t size = HEAD_SIZE + SEAL_SIZE + 2 * SECTION_HEAD + model->parameter_count * sizeof(float);
    for (int i = 0; i < model->section_count; i++) {
        const struct adl_model_section *section = &model->sections[i];
        if (!is_tag(section->tag) || strcmp(section->tag, MANIFEST) == 0 || strcmp(section->tag, PARAMETERS) == 0 ||
            adl_model_section_find(model, section->tag) != section)
            return adl_fail(err, ADL_EINVAL, "model: no section can be called \"%s\", or there are two", section->tag);
        if (section->size > ADL_MODEL_SIZE_MAX - size - SECTION_HEAD)
            return adl_fail(err, ADL_EINVAL, "model: larger than %zu bytes", ADL_MODEL_SIZE_MAX);
        size += SECTION_HEAD + section->size;
    }
    *ret_size = size;
    return 0;
}

int adl_model_encode(const struct adl_model *model, struct adl_text *ret_bytes, struct adl_error *err)
{
    size_t size = 0;
    int status = check_model(model, err);
    if (!status)
        status = check_sections(model, &size, err);
    if (status)
        return status;
    struct adl_text manifest = {0};
    const size_t start = ret_bytes->size;
    write_manifest(model, &manifest);
    adl_text_put(ret_bytes, ADL_MODEL_MAGIC);
    adl_bytes_put_u32(ret_bytes, ADL_MODEL_VERSION);
    adl_bytes_put_u32(ret_bytes, (uint32_t)model->section_count + 2);
    adl_bytes_put_u64(ret_bytes, size + manifest.size);
    put_section_head(ret_bytes, MANIFEST, manifest.size);
    adl_text_bytes(ret_bytes, manifest.data, manifest.size);
    put_section_head(ret_bytes, PARAMETERS, model->parameter_count * sizeof(float));
    adl_bytes_put_floats(ret_bytes, model->params, model->parameter_count);
    for (int i = 0; i < model->section_count; i++) {
        put_section_head(ret_bytes, model->sections[i].tag, model->sections[i].size);
        if (model->sections[i].size > 0)
            adl_text_bytes(ret_bytes, model->sections[i].bytes, model->sections[i].size);
    }
    if (adl_text_status(&manifest) == 0 && adl_text_status(ret_bytes) == 0) {
        adl_bytes_put_u64(ret_bytes, adl_bytes_checksum(ret_bytes->data + start, ret_bytes->size - start));
        status = adl_text_status(ret_bytes);
    } else {
        status = ADL_ENOMEM;
    }
    adl_text_clear(&manifest);
    if (status) {
        adl_text_truncate(ret_bytes, start);
        return adl_fail(err, status, "model: no memory for its bytes");
    }
    return 0;
}

/* ---- decoding ---- */

static int check_frame(const unsigned char *bytes, size_t size, struct adl_error *err)
{
    if (size < HEAD_SIZE + SEAL_SIZE || !adl_model_is(bytes, size))
        return adl_fail(err, ADL_EINVAL, "not a model: a model's file begins with %s", ADL_MODEL_MAGIC);
    const uint32_t version = adl_bytes_u32(bytes + 8), sections = adl_bytes_u32(bytes + 12);
    if (version != ADL_MODEL_VERSION)
        return adl_fail(err, ADL_EINVAL, "it is a model's file of version %" PRIu32 "; this program reads version %d",
                        version, ADL_MODEL_VERSION);
    const uint64_t whole = adl_bytes_u64(bytes + 16);
    if (whole != size)
        return adl_fail(err, ADL_EINVAL, "it has %zu bytes and should have %" PRIu64 ": %s", size, whole,
                        size < whole ? "it was cut off" : "something was added");
    if (size > ADL_MODEL_SIZE_MAX || sections < 2 || sections > ADL_MODEL_SECTIONS_MAX)
        return adl_fail(err, ADL_EINVAL, "%" PRIu32 " sections in %zu bytes: there are 2 to %d in at most %zu",
                        sections, size, ADL_MODEL_SECTIONS_MAX, ADL_MODEL_SIZE_MAX);
    if (adl_bytes_checksum(bytes, size - SEAL_SIZE) != adl_bytes_u64(bytes + size - SEAL_SIZE))
        return adl_fail(err, ADL_EINVAL, "its checksum is wrong: bytes were changed after it was written");
    return 0;
}

/* The section at *at, which moves behind it. */
static int read_section(const unsigned char *bytes, size_t end, size_t *at, struct adl_model_section *ret,
                        struct adl_error *err)
{
    if (end - *at < SECTION_HEAD)
        return adl_fail(err, ADL_EINVAL, "a section is missing at byte %zu", *at);
    struct adl_model_section section = {.bytes = bytes + *at + SECTION_HEAD};
    memcpy(section.tag, bytes + *at, ADL_MODEL_TAG_MAX);
    const uint64_t size = adl_bytes_u64(bytes + *at + ADL_MODEL_TAG_MAX);
    for (size_t i = strlen(section.tag); i < ADL_MODEL_TAG_MAX; i++)
        if (section.tag[i] != '\0')
            section.tag[0] = '\0';
    if (!is_tag(section.tag))
        return adl_fail(err, ADL_EINVAL, "the section at byte %zu has no proper name", *at);
    if (size > end - *at - SECTION_HEAD)
        return adl_fail(err, ADL_EINVAL, "section %s claims %" PRIu64 " bytes where %zu are left", section.tag, size,
                        end - *at - SECTION_HEAD);
    section.size = (size_t)size;
    *at += SECTION_HEAD + section.size;
    *ret = section;
    return 0;
}

static int read_sections(const unsigned char *bytes, size_t size, struct adl_model *ret,
                         struct adl_model_section *ret_params, struct adl_error *err)
{
    const uint32_t count = adl_bytes_u32(bytes + 12);
    struct adl_model_section manifest = {.size = 0};
    size_t at = HEAD_SIZE;
    int status = read_section(bytes, size - SEAL_SIZE, &at, &manifest, err);
    if (!status)
        status = read_section(bytes, size - SEAL_SIZE, &at, ret_params, err);
    if (status)
        return status;
    if (strcmp(manifest.tag, MANIFEST) != 0 || strcmp(ret_params->tag, PARAMETERS) != 0)
        return adl_fail(err, ADL_EINVAL, "its first sections are %s and %s; they must be %s and %s", manifest.tag,
                        ret_params->tag, MANIFEST, PARAMETERS);
    status = read_manifest(&manifest, ret, err);
    for (uint32_t i = 2; i < count && !status; i++) {
        struct adl_model_section *section = &ret->sections[ret->section_count];
        status = read_section(bytes, size - SEAL_SIZE, &at, section, err);
        if (!status && (adl_model_section_find(ret, section->tag) || strcmp(section->tag, MANIFEST) == 0 ||
                        strcmp(section->tag, PARAMETERS) == 0))
            status = adl_fail(err, ADL_EINVAL, "there are two sections %s", section->tag);
        if (!status)
            ret->section_count++;
    }
    if (!status && at != size - SEAL_SIZE)
        status = adl_fail(err, ADL_EINVAL, "bytes follow its last section");
    return status;
}

/* One block for the parameters and, behind them, the sections' bytes. */
static int take_over(struct adl_model *model, const struct adl_model_section *params, struct adl_error *err)
{
    size_t size = params->size;
    assert(params->bytes);
    for (int i = 0; i < model->section_count; i++)
        size += model->sections[i].size;
    if (params->size != model->parameter_count * sizeof(float))
        return adl_fail(err, ADL_EINVAL, "%zu parameters take %zu bytes, and there are %zu", model->parameter_count,
                        model->parameter_count * sizeof(float), params->size);
    char *block = malloc(size + 1);
    if (!block)
        return adl_fail(err, ADL_ENOMEM, "no memory for a model of %zu bytes", size);
    adl_bytes_floats(params->bytes, model->parameter_count, (float *)(void *)block);
    char *at = block + params->size;
    for (int i = 0; i < model->section_count; i++) {
        struct adl_model_section *section = &model->sections[i];
        memcpy(at, section->bytes, section->size);
        section->bytes = at;
        at += section->size;
    }
    model->block = block;
    model->params = (const float *)(const void *)block;
    return 0;
}

bool adl_model_is(const void *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, ADL_MODEL_MAGIC, 8) == 0;
}

int adl_model_decode(const void *bytes, size_t size, uint32_t schema, struct adl_model *ret, struct adl_error *err)
{
    struct adl_model model = {.block = NULL};
    struct adl_model_section params = {.size = 0};
    int status = check_frame(bytes, size, err);
    if (!status)
        status = read_sections(bytes, size, &model, &params, err);
    if (!status && schema != 0 && model.schema != schema)
        status = adl_fail(err, ADL_EINVAL,
                          "it was trained on features of schema %" PRIu32 "; this program has schema %" PRIu32
                          ": train it again",
                          model.schema, schema);
    if (!status)
        status = take_over(&model, &params, err);
    if (!status)
        status = check_model(&model, err);
    if (status) {
        adl_model_clear(&model);
        return status;
    }
    *ret = model;
    return 0;
}

void adl_model_clear(struct adl_model *model)
{
    free(model->block);
    *model = (struct adl_model){.block = NULL};
}
