/* Random scenarios as YAML: all valid, the same from every compiler, as loaded as they say. */
#include "tiny_scenario.h"

#include "base/hash.h"
#include "scenario/generator.h"
#include "scenario/load.h"
#include "scenario/scenario.h"
#include "scenario/shipped.h"

#include <math.h>
#include <string.h>

#define SEEDS 200

static int read_catalogue(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    (void)context, (void)path, (void)err;
    const struct adl_shipped_file *file = adl_shipped_at("catalogue.yaml");
    char *text = malloc(file->size);
    assert_non_null(text);
    memcpy(text, file->text, file->size);
    *ret_text = text;
    *ret_size = file->size;
    return 0;
}

static struct adl_scenario parsed(const struct adl_text *text)
{
    const struct adl_scenario_source source = {.read = read_catalogue};
    struct adl_scenario scenario;
    struct adl_error err = {{0}};
    if (adl_scenario_parse("random", text->data, text->size, &source, &scenario, &err))
        fail_msg("%s", err.text);
    return scenario;
}

static struct adl_text generated(uint64_t seed, int size)
{
    struct adl_text text = {0};
    struct adl_error err = {{0}};
    if (adl_scenario_generate(seed, size, false, &text, &err))
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    return text;
}

static void a_worn_scenario_is_that_of_its_seed_with_drift_and_telemetry(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct adl_text plain = generated(seed, ADL_GENERATOR_SMALL), worn = {0};
        struct adl_error err = {{0}};
        assert_int_equal(adl_scenario_generate(seed, ADL_GENERATOR_SMALL, true, &worn, &err), 0);
        struct adl_scenario a = parsed(&plain), b = parsed(&worn);
        assert_true(b.drift.wear_per_kh > 0 && b.drift.throttle_share > 0 && b.telemetry.interval_s > 0);
        assert_int_equal(a.cluster.gpu_count, b.cluster.gpu_count);
        assert_int_equal(a.workload.jobs, b.workload.jobs);
        assert_true(a.workload.arrivals.rate_per_h == b.workload.arrivals.rate_per_h);
        adl_scenario_clear(&a);
        adl_scenario_clear(&b);
        adl_text_clear(&plain);
        adl_text_clear(&worn);
    }
}

/* All of them, by size (small, medium, large) and seed. */
static struct adl_text texts[3][SEEDS];
static struct adl_scenario scenarios[3][SEEDS];

static int generate_all(void **state)
{
    (void)state;
    for (int size = 0; size < 3; size++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            texts[size][seed] = generated(seed, ADL_GENERATOR_SMALL + size);
            scenarios[size][seed] = parsed(&texts[size][seed]);
        }
    return 0;
}

static int clear_all(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * SEEDS; i++) {
        adl_text_clear(&texts[i / SEEDS][i % SEEDS]);
        adl_scenario_clear(&scenarios[i / SEEDS][i % SEEDS]);
    }
    return 0;
}

/* That it is valid is what parsed() asserts. */
static void every_scenario_is_valid_and_of_the_size_that_was_asked_for(void **state)
{
    (void)state;
    static const uint32_t lo[] = {8, 64, 512}, hi[] = {64, 512, 2048};
    for (int size = 0; size < 3; size++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct adl_cluster *cluster = &scenarios[size][seed].cluster;
            assert_in_range(cluster->type_count, 1, 6);
            assert_in_range(cluster->gpu_count, 8, hi[size]);
            assert_in_range(cluster->gpu_count, lo[size] - 7, hi[size]); /* whole nodes of up to 8 GPUs */
        }
}

static void without_a_size_the_seed_chooses_one(void **state)
{
    (void)state;
    uint32_t chosen[3] = {0};
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct adl_text text = generated(seed, ADL_GENERATOR_ANY);
        for (int size = 0; size < 3; size++)
            chosen[size] +=
                text.size == texts[size][seed].size && memcmp(text.data, texts[size][seed].data, text.size) == 0;
        adl_text_clear(&text);
    }
    assert_int_equal(chosen[0] + chosen[1] + chosen[2], 30);
    assert_true(chosen[0] > 3 && chosen[1] > 3 && chosen[2] > 3);
}

/* Also from another compiler: the suite runs with two of them. A change of the generator or of the shipped catalogue
 * changes the number, and with it what earlier results on random scenarios mean: say so in CHANGELOG.md. */
static void equal_seeds_give_equal_bytes_from_every_compiler(void **state)
{
    (void)state;
    uint64_t hash = adl_hash_start();
    for (int i = 0; i < 3 * SEEDS; i++)
        hash = adl_hash_bytes(hash, texts[i / SEEDS][i % SEEDS].data, texts[i / SEEDS][i % SEEDS].size);
    assert_int_equal(hash, UINT64_C(0x50634ded27bf2a53));
}

struct coverage {
    uint32_t types[7], processes[5], sharing, gangs, wear, faults, slas, without_stops;
    double least_load, most_load;
};

static void cover(struct coverage *all, const struct adl_scenario *s)
{
    struct adl_error err;
    double capacity_per_h = 0;
    bool preemptible = false, share = false, sla = false, gang = false;
    for (uint32_t i = 0; i < s->workload.mix_count; i++) {
        const struct adl_mix *mix = &s->workload.mix[i];
        preemptible |= (mix->flags & ADL_JOB_PREEMPTIBLE) != 0;
        share |= (mix->flags & ADL_JOB_SHARE) != 0;
        sla |= mix->deadline_share + mix->throughput_share > 0;
        gang |= mix->gang_count > 1;
    }
    assert_int_equal(adl_scenario_capacity(s, &capacity_per_h, &err), 0);
    if (s->workload.arrivals.process != ADL_ARRIVAL_SURGE) {
        all->least_load = fmin(all->least_load, s->workload.arrivals.rate_per_h / capacity_per_h);
        all->most_load = fmax(all->most_load, s->workload.arrivals.rate_per_h / capacity_per_h);
    }
    all->types[s->cluster.type_count]++;
    all->processes[s->workload.arrivals.process]++;
    all->sharing += share;
    all->gangs += gang;
    all->slas += sla;
    all->without_stops += !preemptible;
    all->wear += s->drift.wear_per_kh > 0;
    all->faults += s->faults.gpu_mtbf_h > 0;
}

static void seeds_cover_types_arrivals_sharing_gangs_wear_and_loads(void **state)
{
    (void)state;
    struct coverage all = {.least_load = HUGE_VAL};
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        cover(&all, &scenarios[0][seed]);
    for (int i = 1; i <= 6; i++)
        assert_in_range(all.types[i], SEEDS / 12, SEEDS / 3);
    for (int i = ADL_ARRIVAL_POISSON; i <= ADL_ARRIVAL_SURGE; i++)
        assert_in_range(all.processes[i], SEEDS / 10, SEEDS / 2);
    assert_in_range(all.sharing, SEEDS / 10, SEEDS / 2);
    assert_in_range(all.gangs, SEEDS / 2, SEEDS);
    assert_in_range(all.slas, SEEDS / 2, SEEDS);
    assert_in_range(all.without_stops, SEEDS / 10, SEEDS / 2);
    assert_in_range(all.wear, SEEDS / 10, SEEDS / 2);
    assert_in_range(all.faults, SEEDS / 10, SEEDS / 2);
    assert_true(all.least_load > 0.49 && all.least_load < 0.55);
    assert_true(all.most_load > 1.25 && all.most_load < 1.31);
}

/* GPU seconds of the jobs of one seed over those that the cluster has until the last arrives. */
static double measured_load(const struct adl_scenario *s, uint64_t seed)
{
    struct adl_workload_stream stream;
    struct adl_true_job job = {0};
    double gpu_s = 0, last_s = 0;
    assert_int_equal(adl_workload_begin(&stream, s, seed), 0);
    while (adl_workload_next(&stream, &job)) {
        gpu_s += job.spec.gpus * (double)job.runtime_us[0] * 1e-6;
        last_s = (double)job.submit_us * 1e-6;
    }
    adl_workload_end(&stream);
    return gpu_s / (last_s * s->cluster.gpu_count);
}

static double drawn_load(const struct adl_text *text)
{
    const char *at = strstr(text->data, "at a load of ");
    assert_non_null(at);
    return strtod(at + strlen("at a load of "), NULL);
}

/* With one type the load is plain arithmetic. Jobs that span nodes are slower than their run time says. */
static void the_jobs_of_a_scenario_with_one_type_load_it_as_drawn(void **state)
{
    (void)state;
    double logs = 0;
    uint32_t count = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct adl_scenario *s = &scenarios[1][seed];
        const struct adl_text *text = &texts[1][seed];
        if (s->cluster.type_count > 1 || strstr(text->data, "span: true"))
            continue;
        const double sum = measured_load(s, 1) + measured_load(s, 2) + measured_load(s, 3);
        const double ratio = sum / 3 / drawn_load(text);
        if (ratio < 0.75 || ratio > 1.33)
            fail_msg("seed %llu: the load is %.2f of the drawn one", (unsigned long long)seed, ratio);
        logs += log(ratio);
        count++;
    }
    assert_true(count >= 5);
    assert_true(fabs(logs / count) < 0.05);
}

/* Two GPUs of type 0 and one of type 1. Class 0 takes 10 s on either; class 1 takes 10 s on type 0 and does not run on
 * type 1. With equal shares the rate r of both together is bounded by 3 GPUs for 10 s each (r = 0.3/s), and type 0 has
 * room: 0.15 * 10 = 1.5 of its 2 GPUs. */
static void capacity_is_the_rate_that_fills_the_cluster(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(10);
    struct adl_error err;
    double per_h = 0;
    tiny_type(&s), tiny_type(&s);
    tiny_node(&s, 0, 2), tiny_node(&s, 1, 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1), tiny_class(&s, ADL_KIND_TRAINING, 1, 1);
    tiny_mix(&s, 0, 10, 1, 0), tiny_mix(&s, 1, 10, 1, 0);
    s.workload.mix[1].types = 1;
    s.workload.mix[0].weight = s.workload.mix[1].weight = 1;
    assert_int_equal(adl_scenario_capacity(&s, &per_h, &err), 0);
    assert_true(fabs(per_h - 0.3 * 3600) < 1e-6);
    /* nine of ten jobs need type 0: 0.9 r * 10 s = 2 GPUs */
    s.workload.mix[1].weight = 9;
    assert_int_equal(adl_scenario_capacity(&s, &per_h, &err), 0);
    assert_true(fabs(per_h - 2 / 9.0 * 3600) < 1e-6);
    /* class 0 is twice as fast on type 1: it goes there, and 0.5 r * 10 s = 2 GPUs is what type 0 can do; the rest of
     * type 1, 1 - 0.5 r * 5 s = 0, is just used up */
    s.workload.mix[1].weight = 1;
    s.classes[0].steps_per_s[1] = 2;
    assert_int_equal(adl_scenario_capacity(&s, &per_h, &err), 0);
    assert_true(fabs(per_h - 0.4 * 3600) < 1e-6);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scenario_is_valid_and_of_the_size_that_was_asked_for),
        cmocka_unit_test(without_a_size_the_seed_chooses_one),
        cmocka_unit_test(a_worn_scenario_is_that_of_its_seed_with_drift_and_telemetry),
        cmocka_unit_test(equal_seeds_give_equal_bytes_from_every_compiler),
        cmocka_unit_test(seeds_cover_types_arrivals_sharing_gangs_wear_and_loads),
        cmocka_unit_test(the_jobs_of_a_scenario_with_one_type_load_it_as_drawn),
        cmocka_unit_test(capacity_is_the_rate_that_fills_the_cluster),
    };
    return cmocka_run_group_tests(tests, generate_all, clear_all);
}
