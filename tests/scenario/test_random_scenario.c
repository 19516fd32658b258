/* The random scenarios of the fixture, which many tests run. */
#include "random_scenario.h"

#include "base/hash.h"

static uint64_t add(uint64_t hash, double value)
{
    return adl_hash_bytes(hash, &value, sizeof value);
}

static uint64_t hash_cluster(uint64_t hash, const struct adl_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->type_count; i++)
        hash = add(add(add(hash, cluster->types[i].memory_mib), cluster->types[i].idle_w), cluster->types[i].max_w);
    for (uint32_t i = 0; i < cluster->node_count; i++)
        hash =
            add(add(add(hash, cluster->nodes[i].cpu_cores), cluster->nodes[i].memory_mib), cluster->nodes[i].link_gbs);
    return add(add(hash, cluster->gpu_count), cluster->network_gbs);
}

static uint64_t hash_workload(uint64_t hash, const struct adl_workload *workload)
{
    for (uint32_t i = 0; i < workload->mix_count; i++) {
        const struct adl_mix *mix = &workload->mix[i];
        hash = add(add(add(hash, mix->weight), mix->sigma), mix->flags);
        hash = add(add(add(hash, mix->memory_mib), mix->deadline_slack), mix->throughput_floor);
        for (uint32_t g = 0; g < mix->gang_count; g++)
            hash = add(add(hash, mix->gang_gpus[g]), mix->gang_weight[g]);
    }
    hash =
        add(add(add(hash, workload->arrivals.process), workload->arrivals.rate_per_h), workload->arrivals.burst_jobs);
    return add(add(add(hash, workload->limits.median_factor), workload->limits.sigma), workload->limits.round_s);
}

static uint64_t hash_scenario(uint64_t hash, const struct adl_scenario *s)
{
    hash = hash_workload(hash_cluster(hash, &s->cluster), &s->workload);
    hash = add(add(hash, s->faults.gpu_mtbf_h), s->faults.node_repair_h);
    hash = add(add(hash, s->preemption.checkpoint_s), s->preemption.interval_s);
    hash = add(add(hash, s->drift.wear_per_kh), s->drift.throttle_period_s);
    return add(add(hash, s->telemetry.dropout), s->lambda);
}

/* Also from another compiler: the suite runs with two of them. A change of the fixture changes the number. */
static void equal_seeds_give_equal_scenarios_from_every_compiler(void **state)
{
    (void)state;
    uint64_t hash = adl_hash_start();
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct adl_scenario s = random_scenario(seed, 50);
        hash = hash_scenario(hash, &s);
        adl_scenario_clear(&s);
    }
    assert_int_equal(hash, UINT64_C(0xdec4a129ea85d9c2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_scenarios_from_every_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
