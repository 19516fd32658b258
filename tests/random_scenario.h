/* random_scenario: small random worlds in which every job can run: clusters, mixes, faults, drift, sharing,
 * preemption. */
#ifndef ADLRO_TESTS_RANDOM_SCENARIO_H
#define ADLRO_TESTS_RANDOM_SCENARIO_H

#include "tiny_scenario.h"

static inline double draw_between(struct adl_rng *rng, double lo, double hi)
{
    return lo + (hi - lo) * adl_rng_uniform(rng);
}

static inline void random_cluster(struct adl_rng *rng, struct adl_scenario *s)
{
    const uint32_t types = 1 + adl_rng_below(rng, 3), nodes = types + adl_rng_below(rng, 3);
    struct adl_error err;
    for (uint32_t t = 0; t < types; t++) {
        const double idle_w = draw_between(rng, 5, 40), context_w = draw_between(rng, 40, 80);
        struct adl_gpu_type type = {.memory_mib = 8192 << adl_rng_below(rng, 3),
                                    .bandwidth_gbs = draw_between(rng, 200, 1000),
                                    .fp32_tflops = draw_between(rng, 5, 20),
                                    .idle_w = idle_w,
                                    .context_w = context_w,
                                    .max_w = draw_between(rng, 100, 400)};
        snprintf(type.name, sizeof type.name, "type-%u", t);
        assert_int_equal(adl_cluster_add_type(&s->cluster, &type, &err), 0);
    }
    for (uint32_t n = 0; n < nodes; n++) {
        struct adl_bank_spec banks[2] = {{n % types, 1 + adl_rng_below(rng, 5)},
                                         {(n + 1) % types, 1 + adl_rng_below(rng, 3)}};
        const uint32_t bank_count = types > 1 && adl_rng_below(rng, 3) == 0 ? 2 : 1;
        struct adl_node node = {.cpu_cores = 4 + (int32_t)adl_rng_below(rng, 30),
                                .memory_mib = 16384 + (int32_t)adl_rng_below(rng, 200000),
                                .link_gbs = draw_between(rng, 8, 100)};
        snprintf(node.name, sizeof node.name, "node-%u", n);
        assert_int_equal(adl_cluster_add_node(&s->cluster, &node, banks, bank_count, &err), 0);
    }
    s->cluster.network_gbs = draw_between(rng, 1, 50);
}

static inline bool gang_possible(const struct adl_scenario *s, const struct adl_mix *mix, uint32_t types, uint16_t gpus)
{
    const struct adl_job_spec spec = {.gpus = gpus,
                                      .types = mix->types & types,
                                      .flags = mix->flags,
                                      .cpu_cores = mix->cpu_cores,
                                      .memory_mib = mix->memory_mib,
                                      .gpu_memory_mib = mix->gpu_memory_mib};
    return adl_demand_possible(&s->cluster, &spec, NULL);
}

static inline void random_gangs(struct adl_rng *rng, const struct adl_scenario *s, struct adl_mix *mix)
{
    static const uint16_t sizes[] = {1, 2, 3, 4, 6};
    mix->gang_count = 0;
    for (int i = 0; i < 5; i++)
        if (gang_possible(s, mix, UINT32_MAX, sizes[i])) {
            mix->gang_gpus[mix->gang_count] = sizes[i];
            mix->gang_weight[mix->gang_count++] = draw_between(rng, 0.1, 1) / sizes[i];
        }
    assert_true(mix->gang_count > 0);
}

/* Two to four classes, one line of the mix each. */
static inline void random_mix(struct adl_rng *rng, struct adl_scenario *s, uint64_t seed)
{
    const uint32_t lines = 2 + adl_rng_below(rng, 3), types = s->cluster.type_count;
    for (uint32_t i = 0; i < lines; i++) {
        const double activity = adl_rng_uniform(rng), bandwidth = adl_rng_uniform(rng);
        const uint32_t reference = adl_rng_below(rng, types);
        struct adl_job_class *class = tiny_class(s, (uint8_t)adl_rng_below(rng, ADL_KIND_COUNT), activity, bandwidth);
        class->sync_share = draw_between(rng, 0, 0.5);
        class->scaling = draw_between(rng, 0.7, 1);
        struct adl_mix *mix = tiny_mix(s, i, draw_between(rng, 5, 40), 1, (int)adl_rng_below(rng, 8));
        for (uint32_t t = 0; t < types; t++) {
            class->steps_per_s[t] = t != reference && adl_rng_below(rng, 5) == 0 ? 0 : draw_between(rng, 0.5, 4);
            if (class->steps_per_s[t] <= 0)
                mix->types &= ~(1u << t);
        }
        mix->weight = draw_between(rng, 0.2, 1);
        mix->sigma = draw_between(rng, 0, 1.2);
        mix->min_s = 0.5;
        mix->max_s = 200;
        mix->reference = reference;
        mix->cpu_cores = (int32_t)adl_rng_below(rng, 5);
        mix->memory_mib = (int32_t)adl_rng_below(rng, 16384);
        mix->gpu_memory_mib = (int32_t)adl_rng_below(rng, 8193);
        mix->priority_max = 1;
        if (mix->flags & ADL_JOB_PREEMPTIBLE)
            mix->stop_loss = (uint8_t)(seed / 2 + i) % ADL_LOSS_COUNT;
        if (mix->stop_loss == ADL_LOSS_SINCE_CHECKPOINT)
            mix->checkpoint_us = (int64_t)(2 + seed % 7) * 1000000;
        mix->deadline_share = adl_rng_uniform(rng);
        mix->deadline_slack = draw_between(rng, 1, 5);
        mix->throughput_share = draw_between(rng, 0, 0.5);
        mix->throughput_floor = draw_between(rng, 0.3, 1);
        random_gangs(rng, s, mix);
    }
}

static inline void random_mishaps(struct adl_rng *rng, struct adl_scenario *s)
{
    s->preemption = (struct adl_preemption){.checkpoint_s = adl_rng_below(rng, 2) * draw_between(rng, 0, 3),
                                            .restart_s = adl_rng_below(rng, 2) * draw_between(rng, 0, 3),
                                            .interval_s = draw_between(rng, 2, 20)};
    if (adl_rng_below(rng, 2))
        s->faults = (struct adl_faults){.gpu_mtbf_h = adl_rng_below(rng, 2) * draw_between(rng, 0.2, 1),
                                        .gpu_repair_h = draw_between(rng, 0.001, 0.1),
                                        .node_mtbf_h = adl_rng_below(rng, 2) * draw_between(rng, 0.2, 1),
                                        .node_repair_h = draw_between(rng, 0.001, 0.1)};
    if (adl_rng_below(rng, 3) == 0)
        s->telemetry = (struct adl_telemetry_model){
            .interval_s = draw_between(rng, 5, 30), .noise = 0.05, .dropout = draw_between(rng, 0, 0.3)};
    if (adl_rng_below(rng, 2)) {
        s->drift.wear_per_kh = adl_rng_uniform(rng);
        s->drift.throttle_share = adl_rng_uniform(rng);
        s->drift.throttle_factor = draw_between(rng, 0.3, 1);
        s->drift.throttle_period_s = draw_between(rng, 1, 100);
        s->drift.update_count = adl_rng_below(rng, 3);
        for (uint32_t i = 0; i < s->drift.update_count; i++) {
            s->drift.updates[i].time_s = draw_between(rng, 0, 300);
            s->drift.updates[i].type = adl_rng_below(rng, s->cluster.type_count);
            s->drift.updates[i].factor = draw_between(rng, 0.5, 1.5);
        }
    }
}

/* An affinity narrower than all types, where it leaves every job of the kind a place. */
static inline void random_affinity(struct adl_rng *rng, struct adl_scenario *s)
{
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++) {
        const uint32_t wanted = 1u << adl_rng_below(rng, s->cluster.type_count);
        bool possible = adl_rng_below(rng, 2);
        for (uint32_t i = 0; i < s->workload.mix_count; i++) {
            const struct adl_mix *mix = &s->workload.mix[i];
            for (uint32_t g = 0; s->classes[mix->class_index].kind == kind && g < mix->gang_count; g++)
                possible = possible && gang_possible(s, mix, wanted, mix->gang_gpus[g]);
        }
        if (possible)
            s->policy.affinity[kind] = wanted;
    }
}

static inline struct adl_scenario random_scenario(uint64_t seed, uint64_t jobs)
{
    struct adl_rng rng;
    struct adl_scenario s = tiny_start(jobs);
    adl_rng_seed(&rng, seed, "random scenario");
    random_cluster(&rng, &s);
    random_mix(&rng, &s, seed);
    random_mishaps(&rng, &s);
    random_affinity(&rng, &s);
    s.workload.users = 5;
    s.workload.arrivals = (struct adl_arrivals){.process = (int)adl_rng_below(&rng, 5),
                                                .rate_per_h = s.cluster.gpu_count * draw_between(&rng, 30, 120),
                                                .amplitude = adl_rng_uniform(&rng),
                                                .period_s = 300,
                                                .burst_jobs = 1 + adl_rng_below(&rng, 12),
                                                .surge_start_s = 50,
                                                .surge_length_s = 100,
                                                .surge_factor = 5,
                                                .surge_kind = -1};
    s.workload.limits = (struct adl_limits){.median_factor = draw_between(&rng, 1, 4),
                                            .sigma = draw_between(&rng, 0, 1),
                                            .exact_share = draw_between(&rng, 0, 0.5),
                                            .round_s = adl_rng_below(&rng, 2) * 10.0};
    s.kill_at_limit = adl_rng_below(&rng, 2);
    s.one_by_one = seed % 4 == 0;
    s.telemetry.progress = seed % 2 == 0;
    s.lambda = draw_between(&rng, 0.01, 0.99);
    s.policy.share = adl_rng_below(&rng, 2);
    s.policy.backfill_depth = 1 + adl_rng_below(&rng, 6);
    return s;
}

#endif
