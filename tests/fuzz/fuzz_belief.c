/* fuzz_belief: bytes as a belief. Even first byte: the rest as they are. Odd: the rest are changes to a belief that was
 * taught a few jobs, of three bytes each, two for the place and one for what goes there, sealed again afterwards, so
 * that what is behind the checksum is reached. What was read has to be read again from what it encodes to. */
#include "model_seal.h"
#include "predict/past_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void make_cluster(struct adl_cluster *ret)
{
    for (int t = 0; t < 2; t++) {
        struct adl_gpu_type type = {.memory_mib = 16384, .bandwidth_gbs = 900, .fp32_tflops = 10 + t, .max_w = 300};
        struct adl_node node = {.cpu_cores = 64, .memory_mib = 65536, .link_gbs = 10};
        const struct adl_bank_spec bank = {.type = (uint32_t)t, .gpu_count = 4};
        snprintf(type.name, sizeof type.name, "type%d", t);
        snprintf(node.name, sizeof node.name, "node%d", t);
        must(adl_cluster_add_type(ret, &type, NULL) == 0 && adl_cluster_add_node(ret, &node, &bank, 1, NULL) == 0);
    }
}

static void teach(const struct adl_belief_terms *terms, struct adl_text *ret)
{
    struct adl_past_jobs *jobs = NULL;
    struct adl_belief *belief = NULL;
    struct adl_drift *drift = NULL;
    must(adl_belief_create(terms->cluster, true, &belief) == 0);
    must(adl_past_jobs_create(terms->cluster, belief, &jobs) == 0);
    for (uint32_t i = 0; i < 6; i++) {
        const struct adl_job_spec spec = {
            .user = i, .name_id = 1 + i % 2, .gpus = 1, .types = 3, .limit_us = 600000000, .cpu_cores = 4};
        const struct adl_past_job job = {.spec = &spec,
                                         .end_us = 1000000 * (int64_t)(i + 100),
                                         .run_us = 50000000,
                                         .type = i % 2,
                                         .steps_per_s = 0.1 + i};
        must(adl_past_jobs_submit(jobs, 0, &spec, 1000000 * (int64_t)i) == 0 && adl_past_jobs_end(jobs, 0, &job));
    }
    must(adl_drift_create(terms->cluster, ADL_DRIFT_ALL, &drift) == 0);
    adl_belief_encode(belief, drift, terms, ret);
    adl_drift_destroy(drift);
    must(adl_text_status(ret) == 0);
    adl_past_jobs_destroy(jobs);
    adl_belief_destroy(belief);
}

struct parts {
    struct adl_residuals residuals;
    struct adl_belief_parts parts;
};

/* Room for few jobs, because a fuzzer makes many. */
static void make_parts(const struct adl_belief_terms *terms, struct parts *ret)
{
    adl_residuals_init(&ret->residuals);
    ret->parts = (struct adl_belief_parts){.residuals = {&ret->residuals}, .residual_names = {"neighbours"}};
    must(adl_similar_create(8, &ret->parts.similar, NULL) == 0);
    must(adl_owner_residuals_create(&ret->parts.owners) == 0);
    must(adl_speeds_create(terms->cluster, &ret->parts.speeds, NULL) == 0);
    must(adl_drift_create(terms->cluster, ADL_DRIFT_ALL, &ret->parts.drift) == 0);
}

static void clear_parts(struct parts *parts)
{
    adl_similar_destroy(parts->parts.similar);
    adl_owner_residuals_destroy(parts->parts.owners);
    adl_speeds_destroy(parts->parts.speeds);
    adl_drift_destroy(parts->parts.drift);
}

static void try_bytes(const struct adl_belief_terms *terms, const void *bytes, size_t size)
{
    struct parts first, second;
    struct adl_belief_account account;
    struct adl_error err = {{0}};
    make_parts(terms, &first);
    if (adl_belief_parts_decode(bytes, size, terms, &first.parts, &account, &err) != 0) {
        must(err.text[0] != '\0');
    } else {
        struct adl_text text = {0}, again = {0};
        make_parts(terms, &second);
        adl_belief_parts_encode(&first.parts, terms, &text);
        must(adl_text_status(&text) == 0);
        must(adl_belief_parts_decode(text.data, text.size, terms, &second.parts, &account, &err) == 0);
        adl_belief_parts_encode(&second.parts, terms, &again);
        must(again.size == text.size && memcmp(again.data, text.data, text.size) == 0);
        adl_text_clear(&text);
        adl_text_clear(&again);
        clear_parts(&second);
    }
    clear_parts(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct adl_cluster cluster;
    static struct adl_text taught;
    const struct adl_belief_terms terms = {.cluster = &cluster, .users = ADL_USERS_NAMED, .dated = true};
    if (cluster.type_count == 0) {
        make_cluster(&cluster);
        teach(&terms, &taught);
    }
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0) {
        try_bytes(&terms, data + 1, size - 1);
        return 0;
    }
    unsigned char *bytes = malloc(taught.size);
    must(bytes != NULL);
    memcpy(bytes, taught.data, taught.size);
    for (size_t i = 1; i + 3 <= size; i += 3)
        bytes[((size_t)data[i] << 8 | data[i + 1]) % (taught.size - 8)] = data[i + 2];
    model_seal(bytes, taught.size);
    try_bytes(&terms, bytes, taught.size);
    free(bytes);
    return 0;
}
