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

static void teach(const struct adl_cluster *cluster, struct adl_belief *belief)
{
    struct adl_past_jobs *jobs = NULL;
    must(adl_past_jobs_create(cluster, belief, &jobs) == 0);
    for (uint32_t i = 0; i < 6; i++) {
        const struct adl_job_spec spec = {
            .user = i, .name_id = 1 + i % 2, .gpus = 1, .types = 3, .limit_us = 600000000, .cpu_cores = 4};
        const struct adl_past_job job = {
            .spec = &spec, .end_us = 1000000 * (int64_t)(i + 100), .run_us = 50000000, .type = i % 2};
        must(adl_past_jobs_submit(jobs, 0, &spec, 1000000 * (int64_t)i) == 0 && adl_past_jobs_end(jobs, 0, &job));
    }
    adl_past_jobs_destroy(jobs);
}

static void try_bytes(const struct adl_belief_terms *terms, const void *bytes, size_t size)
{
    struct adl_belief *belief = NULL;
    struct adl_belief_account account;
    struct adl_error err = {{0}};
    must(adl_belief_create(terms->cluster, true, &belief) == 0);
    if (adl_belief_decode(belief, bytes, size, terms, &account, &err) != 0) {
        must(err.text[0] != '\0');
    } else {
        struct adl_text again = {0};
        adl_belief_encode(belief, terms, &again);
        must(adl_text_status(&again) == 0);
        if (adl_belief_decode(belief, again.data, again.size, terms, &account, &err) != 0)
            abort();
        adl_text_clear(&again);
    }
    adl_belief_destroy(belief);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adl_cluster cluster = {0};
    struct adl_belief *taught = NULL;
    struct adl_text text = {0};
    if (size == 0)
        return 0;
    make_cluster(&cluster);
    const struct adl_belief_terms terms = {.cluster = &cluster, .users = ADL_USERS_NAMED, .dated = true};
    if (data[0] % 2 == 0) {
        try_bytes(&terms, data + 1, size - 1);
    } else {
        must(adl_belief_create(&cluster, true, &taught) == 0);
        teach(&cluster, taught);
        adl_belief_encode(taught, &terms, &text);
        must(adl_text_status(&text) == 0);
        for (size_t i = 1; i + 3 <= size; i += 3)
            text.data[((size_t)data[i] << 8 | data[i + 1]) % (text.size - 8)] = (char)data[i + 2];
        model_seal((unsigned char *)text.data, text.size);
        try_bytes(&terms, text.data, text.size);
        adl_belief_destroy(taught);
        adl_text_clear(&text);
    }
    adl_cluster_clear(&cluster);
    return 0;
}
