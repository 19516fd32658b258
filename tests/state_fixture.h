/* state_fixture: clusters, jobs and states built in memory, by hand or at random, for tests of what decides. */
#ifndef ADLRO_TESTS_STATE_FIXTURE_H
#define ADLRO_TESTS_STATE_FIXTURE_H

#include "base/rng.h"
#include "state/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define FIXTURE_GPU_MIB  16384
#define FIXTURE_CORES    64
#define FIXTURE_NODE_MIB 65536

/* Types of 16 GiB, all alike but for their names. */
static inline void fixture_types(struct adl_cluster *cluster, uint32_t count)
{
    struct adl_error err;
    for (uint32_t i = 0; i < count; i++) {
        struct adl_gpu_type type = {
            .memory_mib = FIXTURE_GPU_MIB, .bandwidth_gbs = 100, .fp32_tflops = 10, .fp16_tflops = 20};
        snprintf(type.name, sizeof type.name, "type-%u", cluster->type_count);
        assert_int_equal(adl_cluster_add_type(cluster, &type, &err), 0);
    }
}

static inline void fixture_node_of(struct adl_cluster *cluster, const struct adl_bank_spec *banks, uint32_t bank_count,
                                   int32_t cores, int32_t memory_mib)
{
    struct adl_node node = {.cpu_cores = cores, .memory_mib = memory_mib, .link_gbs = 10};
    struct adl_error err;
    snprintf(node.name, sizeof node.name, "node-%u", cluster->node_count);
    assert_int_equal(adl_cluster_add_node(cluster, &node, banks, bank_count, &err), 0);
}

/* A node of one type with more cores and memory than jobs ask for unless they mean to. */
static inline void fixture_node(struct adl_cluster *cluster, uint32_t type, uint32_t gpus)
{
    fixture_node_of(cluster, &(struct adl_bank_spec){type, gpus}, 1, FIXTURE_CORES, FIXTURE_NODE_MIB);
}

/* One type, one node: n equal GPUs. */
static inline struct adl_cluster fixture_plain(uint32_t gpus)
{
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, gpus);
    return cluster;
}

/* Asks for GPUs of any type and nothing else. */
static inline struct adl_job_spec fixture_spec(uint64_t id, uint16_t gpus)
{
    return (struct adl_job_spec){.id = id, .gpus = gpus, .types = UINT32_MAX, .limit_us = 1000};
}

static inline struct adl_state *fixture_state(const struct adl_cluster *cluster)
{
    struct adl_state *state = NULL;
    assert_int_equal(adl_state_create(cluster, &state), 0);
    state->track_running = true;
    return state;
}

/* A queued job with the same believed run time on every type. */
static inline void fixture_queue(struct adl_state *state, uint32_t slot, const struct adl_job_spec *spec,
                                 int64_t runtime_us, int64_t rank)
{
    int64_t row[ADL_TYPES_MAX];
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        row[t] = runtime_us;
    assert_int_equal(adl_state_admit(state, slot, spec, row), 0);
    assert_int_equal(adl_state_enqueue(state, slot, rank), 0);
}

/* The same, started at once on the GPUs that follow the first. */
static inline void fixture_run(struct adl_state *state, uint32_t slot, const struct adl_job_spec *spec,
                               int64_t runtime_us, uint32_t first_gpu)
{
    uint32_t gpus[64];
    for (uint32_t i = 0; i < spec->gpus; i++)
        gpus[i] = first_gpu + i;
    fixture_queue(state, slot, spec, runtime_us, 0);
    adl_state_start(state, slot, gpus);
}

/* Uniform in least..most. */
static inline uint32_t fixture_between(struct adl_rng *rng, uint32_t least, uint32_t most)
{
    return least + adl_rng_below(rng, most - least + 1);
}

/* One of 0..count-1 counted round from first; both below count. */
static inline uint32_t fixture_round(uint32_t first, uint32_t steps, uint32_t count)
{
    return first + steps < count ? first + steps : first + steps - count;
}

#endif
