#include "cli/belief_file.h"

#include "rl/model_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe(const char *path, struct adl_belief_file *file)
{
    const char *slash = strrchr(path, '/');
    adl_text_printf(&file->note, "%s (checksum %016" PRIx64 ")", slash ? slash + 1 : path, file->account.seal);
    if (file->account.origin[0] != '\0')
        adl_text_printf(&file->note, ", learned from %s", file->account.origin);
    adl_text_put(&file->note, ": ");
    adl_belief_account_say(&file->account, &file->note);
}

int adl_belief_file_read(const char *path, const struct adl_belief_terms *terms, bool learned,
                         struct adl_belief_file *ret, struct adl_error *err)
{
    struct adl_belief *belief = NULL;
    struct adl_error inner = {{0}};
    if (!path)
        return 0;
    if (!learned)
        return adl_fail(err, ADL_EINVAL, "--belief needs --regime learned: in other regimes nothing is learned");
    int status = adl_model_store_read_bytes(path, &ret->bytes, &ret->size, err);
    if (status)
        return status == ADL_EIO ? ADL_EINVAL : status; /* a wrong file name */
    if (adl_belief_create(terms->cluster, true, &belief))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a belief");
    status = adl_belief_decode(belief, NULL, ret->bytes, ret->size, terms, &ret->account, &inner);
    adl_belief_destroy(belief);
    if (status)
        return adl_fail(err, status, "%.150s: %.200s", path, inner.text);
    describe(path, ret);
    return adl_text_status(&ret->note) ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
}

void adl_belief_file_clear(struct adl_belief_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
    adl_text_clear(&file->note);
}

void adl_belief_file_warn_seeds(struct adl_belief_file *file, const char *scenario, uint64_t first, uint64_t count)
{
    char words[ADL_NAME_SIZE + 8];
    const int length = snprintf(words, sizeof words, "%.47s seed ", scenario);
    for (const char *at = file->account.origin; file->bytes && (at = strstr(at, words)); at += length) {
        const uint64_t seed = strtoull(at + length, NULL, 10);
        if (seed >= first && seed - first < count)
            adl_text_printf(&file->note,
                            "; WARNING: it was learned from the jobs of seed %" PRIu64 ", which is among these", seed);
    }
}

void adl_belief_file_warn_trace(struct adl_belief_file *file, const char *name)
{
    char words[ADL_NAME_SIZE + 8];
    const int length = snprintf(words, sizeof words, "trace %.47s", name);
    const char *at = file->bytes ? strstr(file->account.origin, words) : NULL;
    if (at && (at[length] == '\0' || at[length] == ';'))
        adl_text_put(&file->note,
                     "; WARNING: it was learned from a trace of this name, so that it may know these jobs");
}

void adl_belief_file_origin(const struct adl_belief_file *file, const char *run, char ret[ADL_ORIGIN_SIZE])
{
    const bool more = file->bytes && file->account.origin[0] != '\0';
    snprintf(ret, ADL_ORIGIN_SIZE, "%.100s%s%.140s", run, more ? "; " : "", more ? file->account.origin : "");
}

void adl_belief_file_seal(const struct adl_belief_file *file, char ret[20])
{
    ret[0] = '\0';
    if (file->bytes)
        snprintf(ret, 20, "%016" PRIx64, file->account.seal);
}
