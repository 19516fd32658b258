#include "predict/belief_bytes.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC        "ADLROBEL"
#define HEAD_SIZE    24
#define SEAL_SIZE    8
#define CLASSES_MAX  UINT16_MAX
#define SECTIONS_MAX 64
#define LIVES        "life tables by owner" /* "life tables" had other counts: they are not used */

/* Of all that predictions make of a type. */
static uint64_t digest_of(const struct adl_gpu_type *type)
{
    const double figures[] = {type->bandwidth_gbs, type->fp32_tflops, type->fp16_tflops, type->fp64_tflops};
    uint64_t hash = adl_hash_bytes(adl_hash_start(), figures, sizeof figures);
    hash = adl_hash_u64(hash, (uint64_t)type->memory_mib);
    return adl_hash_bytes(hash, type->vendor, strnlen(type->vendor, sizeof type->vendor));
}

/* ---- writing ---- */

static void encode_terms(const struct adl_belief_terms *terms, struct adl_text *ret)
{
    adl_text_char(ret, (char)terms->users);
    adl_text_char(ret, (char)terms->dated);
    adl_pack_name(ret, terms->origin ? terms->origin : "");
    adl_bytes_put_u32(ret, terms->cluster->type_count);
    for (uint32_t t = 0; t < terms->cluster->type_count; t++) {
        adl_pack_name(ret, terms->cluster->types[t].name);
        adl_bytes_put_u64(ret, digest_of(&terms->cluster->types[t]));
    }
    adl_bytes_put_u32(ret, terms->class_count);
    for (uint32_t c = 0; c < terms->class_count; c++)
        adl_pack_name(ret, terms->classes[c].name);
}

static void encode_residuals(const struct adl_belief_parts *parts, struct adl_text *ret)
{
    uint32_t count = 0;
    for (int i = 0; i < ADL_RESIDUAL_KINDS; i++)
        count += parts->residuals[i] != NULL;
    adl_bytes_put_u32(ret, ADL_RESIDUAL_BINS);
    adl_bytes_put_u32(ret, count);
    for (int i = 0; i < ADL_RESIDUAL_KINDS; i++) {
        const struct adl_residuals *residuals = parts->residuals[i];
        if (!residuals)
            continue;
        adl_pack_name(ret, parts->residual_names[i]);
        adl_bytes_put_u64(ret, residuals->count);
        for (int b = 0; b < ADL_RESIDUAL_BINS; b++)
            adl_pack_real(ret, residuals->weight[b]);
    }
}

/* Takes the section's bytes, and clears them. */
static void put_section(struct adl_text *ret, const char *name, struct adl_text *bytes)
{
    adl_pack_name(ret, name);
    adl_bytes_put_u64(ret, bytes->size);
    if (bytes->size > 0)
        adl_text_bytes(ret, bytes->data, bytes->size);
    ret->failed |= bytes->failed;
    adl_text_clear(bytes);
}

static void patch_u32(struct adl_text *text, size_t at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        text->data[at + (size_t)i] = (char)(value >> 8 * i & 0xff);
}

void adl_belief_parts_encode(const struct adl_belief_parts *parts, const struct adl_belief_terms *terms,
                             struct adl_text *ret)
{
    const size_t start = ret->size;
    struct adl_text section = {0};
    uint32_t sections = 0;
    adl_text_put(ret, MAGIC);
    adl_bytes_put_u32(ret, ADL_BELIEF_VERSION);
    adl_bytes_put_u32(ret, 0);
    adl_bytes_put_u64(ret, 0);
    encode_terms(terms, ret);
    encode_residuals(parts, &section);
    put_section(ret, "residuals", &section);
    sections++;
    if (parts->similar) {
        adl_similar_encode(parts->similar, &section);
        put_section(ret, "similar jobs", &section);
        adl_life_tables_encode(adl_similar_life_tables(parts->similar), &section);
        put_section(ret, LIVES, &section);
        sections += 2;
    }
    if (parts->owners) {
        adl_owner_residuals_encode(parts->owners, &section);
        put_section(ret, "residuals by owner", &section);
        sections++;
    }
    if (parts->speeds) {
        adl_speeds_encode(parts->speeds, &section);
        put_section(ret, "speeds", &section);
        sections++;
    }
    if (parts->calibration) {
        adl_calibration_encode(parts->calibration, &section);
        put_section(ret, "calibration", &section);
        sections++;
    }
    if (parts->drift && terms->dated) {
        adl_drift_encode(parts->drift, &section);
        put_section(ret, "drift", &section);
        sections++;
    }
    if (adl_text_status(ret))
        return;
    const uint64_t size = ret->size - start + SEAL_SIZE;
    patch_u32(ret, start + 12, sections);
    patch_u32(ret, start + 16, (uint32_t)(size & 0xffffffff));
    patch_u32(ret, start + 20, (uint32_t)(size >> 32));
    adl_bytes_put_u64(ret, adl_bytes_checksum(ret->data + start, ret->size - start));
}

/* ---- reading ---- */

static int check_frame(const unsigned char *bytes, size_t size, struct adl_error *err)
{
    if (size < HEAD_SIZE + SEAL_SIZE || memcmp(bytes, MAGIC, 8) != 0)
        return adl_fail(err, ADL_EINVAL, "not a belief: its bytes begin with %s (`adlro belief export` writes one)",
                        MAGIC);
    const uint32_t version = adl_bytes_u32(bytes + 8);
    if (version != ADL_BELIEF_VERSION)
        return adl_fail(err, ADL_EINVAL, "it is a belief of version %" PRIu32 "; this program reads version %d: %s",
                        version, ADL_BELIEF_VERSION,
                        version > ADL_BELIEF_VERSION ? "a newer adlro wrote it" : "learn it again");
    const uint64_t whole = adl_bytes_u64(bytes + 16);
    if (whole != size)
        return adl_fail(err, ADL_EINVAL, "it has %zu bytes and should have %" PRIu64 ": %s", size, whole,
                        size < whole ? "it was cut off" : "something was added");
    if (adl_bytes_checksum(bytes, size - SEAL_SIZE) != adl_bytes_u64(bytes + size - SEAL_SIZE))
        return adl_fail(err, ADL_EINVAL, "its checksum is wrong: bytes were changed after it was written");
    return 0;
}

static int decode_types(struct adl_unpack *from, const struct adl_cluster *cluster, struct adl_translation *to,
                        struct adl_belief_account *account, struct adl_error *err)
{
    to->type_count = account->types = adl_unpack_u32(from, ADL_TYPES_MAX);
    to->same = to->type_count == cluster->type_count;
    for (uint32_t t = 0; t < to->type_count; t++) {
        char *name = account->type_names[t];
        adl_unpack_name(from, name, ADL_NAME_SIZE);
        const uint64_t digest = adl_unpack_u64(from);
        const uint32_t type = adl_cluster_find_type(cluster, name);
        to->type_of[t] = type;
        to->types_of[t] = type == ADL_NONE ? 0 : UINT32_C(1) << type;
        if (type == ADL_NONE && strcmp(name, ADL_TYPE_ANY) == 0)
            to->types_of[t] = cluster->type_count < 32 ? (UINT32_C(1) << cluster->type_count) - 1 : UINT32_MAX;
        account->unknown_types += to->types_of[t] == 0;
        to->same &= type == t && digest == digest_of(&cluster->types[t]);
    }
    return from->failed ? adl_fail(err, ADL_EINVAL, "its names of GPU types are damaged") : 0;
}

static int decode_classes(struct adl_unpack *from, const struct adl_belief_terms *terms, struct adl_translation *to,
                          struct adl_belief_account *account, struct adl_error *err)
{
    to->class_count = account->classes = adl_unpack_u32(from, CLASSES_MAX);
    to->same &= to->class_count == terms->class_count;
    if (from->failed || (size_t)(from->end - from->at) < to->class_count)
        return adl_fail(err, ADL_EINVAL, "its names of classes are damaged");
    to->class_of = calloc((size_t)to->class_count + 1, sizeof *to->class_of);
    if (!to->class_of)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u classes", to->class_count);
    for (uint32_t c = 0; c < to->class_count; c++) {
        char name[ADL_NAME_SIZE];
        adl_unpack_name(from, name, sizeof name);
        to->class_of[c] = ADL_NONE;
        for (uint32_t i = 0; i < terms->class_count && to->class_of[c] == ADL_NONE; i++)
            if (strcmp(terms->classes[i].name, name) == 0)
                to->class_of[c] = i;
        account->unknown_classes += to->class_of[c] == ADL_NONE;
        to->same &= to->class_of[c] == c;
    }
    return from->failed ? adl_fail(err, ADL_EINVAL, "its names of classes are damaged") : 0;
}

static int decode_terms(struct adl_unpack *from, const struct adl_belief_terms *terms, struct adl_translation *to,
                        struct adl_belief_account *account, struct adl_error *err)
{
    const uint8_t users = adl_unpack_u8(from), dated = adl_unpack_u8(from);
    if (from->failed || users >= ADL_USERS_COUNT || dated > 1)
        return adl_fail(err, ADL_EINVAL, "its heading is damaged");
    account->users = users;
    account->dated = dated;
    adl_unpack_name(from, account->origin, sizeof account->origin);
    to->same_users = users == terms->users && users != ADL_USERS_DRAWN;
    to->same_time = dated && terms->dated;
    const int status = decode_types(from, terms->cluster, to, account, err);
    return status ? status : decode_classes(from, terms, to, account, err);
}

static struct adl_residuals *find_residuals(const struct adl_belief_parts *parts, const char *name)
{
    for (int i = 0; i < ADL_RESIDUAL_KINDS; i++)
        if (parts->residuals[i] && strcmp(parts->residual_names[i], name) == 0)
            return parts->residuals[i];
    return NULL;
}

static int decode_residuals(struct adl_unpack *from, const struct adl_belief_parts *parts,
                            struct adl_belief_account *account, struct adl_error *err)
{
    const uint32_t bins = adl_unpack_u32(from, UINT32_MAX), count = adl_unpack_u32(from, SECTIONS_MAX);
    if (from->failed || bins != ADL_RESIDUAL_BINS)
        return adl_fail(err, ADL_EINVAL, "its errors of predictions have %u bins, this program has %d: learn it again",
                        bins, ADL_RESIDUAL_BINS);
    for (uint32_t i = 0; i < count; i++) {
        char name[ADL_NAME_SIZE];
        struct adl_residuals read = {.count = 0};
        double sum = 0;
        adl_unpack_name(from, name, sizeof name);
        read.count = adl_unpack_u64(from);
        for (int b = 0; b < ADL_RESIDUAL_BINS; b++)
            sum += read.weight[b] = adl_unpack_real(from, 0, 1e9);
        if (from->failed || !(sum > 0))
            return adl_fail(err, ADL_EINVAL, "its errors of predictions '%s' are damaged", name);
        struct adl_residuals *place = find_residuals(parts, name);
        if (place) {
            adl_residuals_sum(&read);
            *place = read;
            account->ended += strcmp(name, ADL_RESIDUAL_STEPS) == 0 ? 0 : read.count;
        }
    }
    return 0;
}

static int decode_section(struct adl_unpack *from, const char *name, const struct adl_belief_parts *parts,
                          const struct adl_translation *to, struct adl_belief_account *account, struct adl_error *err)
{
    int status = 0;
    if (strcmp(name, "residuals") == 0) {
        status = decode_residuals(from, parts, account, err);
    } else if (strcmp(name, "similar jobs") == 0 && parts->similar) {
        status = adl_similar_decode(parts->similar, from, to, &account->jobs, err);
    } else if (strcmp(name, LIVES) == 0 && parts->similar) {
        adl_life_tables_decode(adl_similar_life_tables(parts->similar), from, to->same_users);
        status = from->failed ? adl_fail(err, ADL_EINVAL, "its life tables are damaged") : 0;
    } else if (strcmp(name, "residuals by owner") == 0 && parts->owners) {
        adl_owner_residuals_decode(parts->owners, from, to->same_users);
        status = from->failed ? adl_fail(err, ADL_EINVAL, "its errors of predictions by owner are damaged") : 0;
    } else if (strcmp(name, "speeds") == 0 && parts->speeds) {
        status = adl_speeds_decode(parts->speeds, from, to, &account->speeds, err);
    } else if (strcmp(name, "calibration") == 0) {
        struct adl_calibration unused;
        status = adl_calibration_decode(parts->calibration ? parts->calibration : &unused, from, err);
    } else if (strcmp(name, "drift") == 0) {
        status = adl_drift_decode(parts->drift, from, to, &account->drift, err);
    } else {
        account->ignored++;
        snprintf(account->last_ignored, sizeof account->last_ignored, "%s", name);
        return 0;
    }
    if (status == 0 && from->at != from->end)
        status = adl_fail(err, ADL_EINVAL, "bytes follow its section '%s'", name);
    return status;
}

static int decode_sections(struct adl_unpack *from, uint32_t count, const struct adl_belief_parts *parts,
                           const struct adl_translation *to, struct adl_belief_account *account, struct adl_error *err)
{
    if (count > SECTIONS_MAX)
        return adl_fail(err, ADL_EINVAL, "it has %" PRIu32 " sections: at most %d", count, SECTIONS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        char name[ADL_NAME_SIZE];
        adl_unpack_name(from, name, sizeof name);
        const uint64_t size = adl_unpack_u64(from);
        const unsigned char *at = adl_unpack_bytes(from, size);
        if (from->failed)
            return adl_fail(err, ADL_EINVAL, "its section %" PRIu32 " of %" PRIu32 " is cut off", i + 1, count);
        struct adl_unpack section = {at, at + size, false};
        const int status = decode_section(&section, name, parts, to, account, err);
        if (status)
            return status;
    }
    return from->at == from->end ? 0 : adl_fail(err, ADL_EINVAL, "bytes follow its last section");
}

int adl_belief_parts_decode(const void *bytes, size_t size, const struct adl_belief_terms *terms,
                            const struct adl_belief_parts *parts, struct adl_belief_account *ret, struct adl_error *err)
{
    struct adl_translation to = {0};
    const unsigned char *at = bytes;
    int status = check_frame(bytes, size, err);
    if (status)
        return status;
    struct adl_unpack from = {at + HEAD_SIZE, at + size - SEAL_SIZE, false};
    *ret = (struct adl_belief_account){
        .version = adl_bytes_u32(at + 8), .size = size, .seal = adl_bytes_u64(at + size - SEAL_SIZE)};
    status = decode_terms(&from, terms, &to, ret, err);
    if (status == 0)
        status = decode_sections(&from, adl_bytes_u32(at + 12), parts, &to, ret, err);
    free(to.class_of);
    return status;
}

int adl_belief_types(const void *bytes, size_t size, struct adl_cluster *ret, struct adl_error *err)
{
    const unsigned char *at = bytes;
    struct adl_belief_account account = {0};
    struct adl_translation to = {0};
    int status = check_frame(bytes, size, err);
    if (status)
        return status;
    struct adl_unpack from = {at + HEAD_SIZE + 2, at + size - SEAL_SIZE, false};
    adl_unpack_name(&from, account.origin, sizeof account.origin);
    status = decode_types(&from, ret, &to, &account, err);
    for (uint32_t t = 0; t < account.types && status == 0; t++) {
        struct adl_gpu_type type = {.memory_mib = 1, .bandwidth_gbs = 1, .fp32_tflops = 1, .max_w = 1};
        snprintf(type.name, sizeof type.name, "%s", account.type_names[t]);
        status = adl_cluster_add_type(ret, &type, err);
    }
    return status;
}

uint64_t adl_belief_seal(const void *bytes, size_t size)
{
    return size < SEAL_SIZE ? 0 : adl_bytes_u64((const unsigned char *)bytes + size - SEAL_SIZE);
}

/* ---- for people ---- */

void adl_belief_account_say(const struct adl_belief_account *account, struct adl_text *ret)
{
    const struct adl_belief_account *a = account;
    adl_text_printf(ret, "%u jobs, measured speeds of %u kinds of jobs", a->jobs.jobs, a->speeds.profiles);
    if (a->jobs.skipped > 0)
        adl_text_printf(ret, "; %u jobs ran on GPU types that this cluster does not have, and were skipped",
                        a->jobs.skipped);
    if (a->speeds.skipped > 0)
        adl_text_printf(ret, "; %u measured speeds were skipped for the same reason", a->speeds.skipped);
    if (a->unknown_classes > 0)
        adl_text_printf(ret, "; %u of its %u classes of jobs are not known here", a->unknown_classes, a->classes);
    if (a->drift.used)
        adl_text_printf(ret, "; speeds of %u GPUs", a->drift.gpus - a->drift.skipped);
    else if (a->drift.version > 0)
        adl_text_put(ret, "; its speeds of GPUs are of another cluster or version, and were not used");
    if (a->ignored > 0)
        adl_text_printf(ret, "; its section '%s' was not used", a->last_ignored);
}
