/* tiny_scenario: scenarios built in memory, whose jobs have run times that a test can state exactly. */
#ifndef ADLRO_TESTS_TINY_SCENARIO_H
#define ADLRO_TESTS_TINY_SCENARIO_H

#include "model/scenario.h"
#include "sim/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TINY_MIX_MAX   8
#define TINY_CLASS_MAX 8

/* All jobs at time 0, limits of ten times the run time, nothing fails or drifts. */
static inline struct adl_scenario tiny_start(uint64_t jobs)
{
    struct adl_scenario s = {.name = "tiny", .lambda = 0.1, .kill_at_limit = true};
    s.cluster.network_gbs = 10;
    s.classes = calloc(TINY_CLASS_MAX, sizeof *s.classes);
    s.workload.mix = calloc(TINY_MIX_MAX, sizeof *s.workload.mix);
    assert_non_null(s.classes);
    assert_non_null(s.workload.mix);
    s.workload.jobs = jobs;
    s.workload.users = 1;
    s.workload.arrivals = (struct adl_arrivals){
        .process = ADL_ARRIVAL_BACKLOG, .rate_per_h = 3600, .burst_jobs = 1, .period_s = 86400, .surge_kind = -1};
    s.workload.limits = (struct adl_limits){.median_factor = 10};
    for (int k = 0; k < ADL_KIND_COUNT; k++)
        s.policy.affinity[k] = UINT32_MAX;
    s.policy.backfill_depth = 1;
    s.drift = (struct adl_drift){.wear_floor = 0.5, .throttle_factor = 1, .throttle_period_s = 3600};
    return s;
}

/* 16 GiB; 10 W idle, 40 W with a context, 240 W at full activity. */
static inline uint32_t tiny_type(struct adl_scenario *s)
{
    struct adl_gpu_type type = {
        .memory_mib = 16384, .bandwidth_gbs = 500, .fp32_tflops = 10, .idle_w = 10, .context_w = 40, .max_w = 240};
    struct adl_error err;
    snprintf(type.name, sizeof type.name, "type-%u", s->cluster.type_count);
    assert_int_equal(adl_cluster_add_type(&s->cluster, &type, &err), 0);
    return s->cluster.type_count - 1;
}

/* 8 cores and 64 GiB a GPU, 40 GB/s between its GPUs. */
static inline uint32_t tiny_node(struct adl_scenario *s, uint32_t type, uint32_t gpus)
{
    struct adl_node node = {.cpu_cores = (int32_t)gpus * 8, .memory_mib = (int32_t)gpus * 65536, .link_gbs = 40};
    struct adl_error err;
    snprintf(node.name, sizeof node.name, "node-%u", s->cluster.node_count);
    assert_int_equal(adl_cluster_add_node(&s->cluster, &node, &(struct adl_bank_spec){type, gpus}, 1, &err), 0);
    return s->cluster.node_count - 1;
}

/* One step a second on every type until the test says otherwise. */
static inline struct adl_job_class *tiny_class(struct adl_scenario *s, uint8_t kind, double activity, double bandwidth)
{
    assert_true(s->class_count < TINY_CLASS_MAX);
    struct adl_job_class *class = &s->classes[s->class_count++];
    *class = (struct adl_job_class){.kind = kind, .activity = activity, .bandwidth = bandwidth, .scaling = 1};
    snprintf(class->name, sizeof class->name, "class-%u", s->class_count - 1);
    for (int t = 0; t < ADL_TYPES_MAX; t++)
        class->steps_per_s[t] = 1.0;
    return class;
}

/* Jobs of the class, each of exactly run_s on type 0. All types of the cluster so far are acceptable. */
static inline struct adl_mix *tiny_mix(struct adl_scenario *s, uint32_t class_index, double run_s, uint16_t gpus,
                                       int flags)
{
    assert_true(s->workload.mix_count < TINY_MIX_MAX);
    struct adl_mix *mix = &s->workload.mix[s->workload.mix_count++];
    *mix = (struct adl_mix){.class_index = (uint16_t)class_index,
                            .weight = 1,
                            .median_s = run_s,
                            .min_s = run_s,
                            .max_s = run_s,
                            .types = (1u << s->cluster.type_count) - 1,
                            .gang_count = 1,
                            .gang_gpus = {gpus},
                            .gang_weight = {1},
                            .cpu_cores = 1,
                            .memory_mib = 1024,
                            .gpu_memory_mib = 4096,
                            .flags = (uint8_t)flags};
    return mix;
}

/* One type, one node with these GPUs, one class at full activity: the smallest world. */
static inline struct adl_scenario tiny_plain(uint64_t jobs, uint32_t gpus, double run_s, int flags)
{
    struct adl_scenario s = tiny_start(jobs);
    tiny_node(&s, tiny_type(&s), gpus);
    tiny_class(&s, ADL_KIND_TRAINING, 1.0, 0.5);
    tiny_mix(&s, 0, run_s, 1, flags);
    return s;
}

/* A seed under which the jobs come in this order of classes. */
static inline uint64_t tiny_seed_for(const struct adl_scenario *s, const uint16_t *classes, uint32_t count)
{
    for (uint64_t seed = 1; seed < 100000; seed++) {
        struct adl_workload_stream stream;
        struct adl_true_job job;
        uint32_t right = 0;
        assert_int_equal(adl_workload_begin(&stream, s, seed), 0);
        while (right < count && adl_workload_next(&stream, &job) && job.spec.class_index == classes[right])
            right++;
        adl_workload_end(&stream);
        if (right == count)
            return seed;
    }
    fail_msg("no seed gives this order of classes");
    return 0;
}

#endif
