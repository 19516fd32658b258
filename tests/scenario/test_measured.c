/* Speeds that were measured, from the file to the simulated world: alone, as gangs, and beside each other. */
#include "experiment/run.h"
#include "scenario/catalogue.h"
#include "scenario/scenario.h"
#include "scripted_run.h"
#include "shared_data.h"
#include "tiny_scenario.h"

#include <math.h>

#define S        1000000 /* microseconds in a second */
#define ROWS(r)  (r), (uint32_t)(sizeof(r) / sizeof *(r))
#define GAVEL    SHARED_DATA "data/gavel/simulation_throughputs.json"
#define GAVEL108 ADL_SOURCE_DIR "/scenarios/gavel108.yaml"

static const char throughput_text[] =
    "{\"Big\": {\"('A', 1)\": {\"null\": 4, \"('A', 1)\": [2, 2], \"('B', 1)\": [3, 1], \"('C', 1)\": [1, 1]},\n"
    "          \"('A', 2)\": {\"null\": 6, \"('B', 1)\": [5, 5]}, \"('A', 4)\": {\"null\": 10},\n"
    "          \"('B', 1)\": {\"null\": 2, \"('B', 1)\": [0, 0]}},\n"
    " \"small\": {\"('A', 1)\": {\"null\": 1, \"('B', 1)\": [1.5, 0.25]}, \"('A', 2)\": {\"null\": 1.5},\n"
    "           \"('A', 4)\": {\"null\": 0}, \"('B', 1)\": {\"null\": 0.5, \"('A', 1)\": [0.25, 0.5]}}}\n";

static const char catalogue_text[] =
    "gpu_types:\n"
    "  - {name: big, vendor: x, memory_mib: 16384, bandwidth_gbs: 900, fp32_tflops: 14, fp16_tflops: 0,\n"
    "     fp64_tflops: 0, idle_w: 10, context_w: 20, max_w: 100, source: s}\n"
    "  - {name: small, vendor: x, memory_mib: 16384, bandwidth_gbs: 900, fp32_tflops: 14, fp16_tflops: 0,\n"
    "     fp64_tflops: 0, idle_w: 10, context_w: 20, max_w: 100, source: s}\n"
    "job_classes:\n"
    "  - {name: a, kind: training, gpu_memory_mib: 100, activity: 0.5, bandwidth: 0.5, sync_share: 0,\n"
    "     scaling: 0.9, source: s, measured: A}\n"
    "  - {name: b, kind: data, gpu_memory_mib: 100, activity: 0.5, bandwidth: 0.5, sync_share: 0,\n"
    "     scaling: 0.9, source: s, measured: B}\n"
    "  - {name: lost, kind: data, gpu_memory_mib: 100, activity: 0.5, bandwidth: 0.5, sync_share: 0,\n"
    "     scaling: 0.9, source: s, measured: 'D (batch size 4)'}\n"
    "  - {name: plain, kind: data, gpu_memory_mib: 100, activity: 0.5, bandwidth: 0.5, sync_share: 0,\n"
    "     scaling: 0.9, source: s, speeds: [{type: big, steps_per_s: 7, source: s}]}\n";

static const char scenario_text[] = "name: t\n"
                                    "description: d\n"
                                    "catalogue: c.yaml\n"
                                    "cluster:\n"
                                    "  network_gbs: 10\n"
                                    "  nodes: [{name: n, cpu_cores: 64, memory_mib: 65536, link_gbs: 10,\n"
                                    "           gpus: [{type: small, count: 8}, {type: big, count: 8}]}]\n"
                                    "workload:\n"
                                    "  jobs: 40\n"
                                    "  arrivals: {process: backlog}\n"
                                    "  mix:\n"
                                    "    - {class: %s, duration_s: {median: 100, sigma: 0}, reference: %s,\n"
                                    "       gpus: [{count: %d}]}\n"
                                    "    - {class: b, duration_s: {median: 100, sigma: 0}, reference: big}\n";

static struct adl_throughputs *read_throughputs(const char *text)
{
    struct adl_throughputs *throughputs = NULL;
    struct adl_error err = {{0}};
    if (adl_throughputs_parse("t.json", text, strlen(text), &throughputs, &err))
        fail_msg("%s", err.text);
    return throughputs;
}

static int read_catalogue(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    (void)context, (void)path, (void)err;
    *ret_text = strdup(catalogue_text);
    *ret_size = strlen(catalogue_text);
    return 0;
}

static int parse(const char *class, const char *reference, int gpus, bool measured, struct adl_scenario *ret,
                 struct adl_error *err)
{
    char text[2048];
    snprintf(text, sizeof text, scenario_text, class, reference, gpus);
    struct adl_throughputs *throughputs = measured ? read_throughputs(throughput_text) : NULL;
    const struct adl_scenario_source source = {.read = read_catalogue, .throughputs = throughputs};
    const int status = adl_scenario_parse("t.yaml", text, strlen(text), &source, ret, err);
    adl_throughputs_destroy(throughputs);
    return status;
}

/* ---- the file ---- */

static void pairs_are_found_from_both_sides(void **state)
{
    (void)state;
    struct adl_throughputs *t = read_throughputs(throughput_text);
    assert_true(adl_throughputs_find_pair(t, "big", "A", "A") == 2);
    assert_true(adl_throughputs_find_pair(t, "BIG", "A", "B") == 3);
    assert_true(adl_throughputs_find_pair(t, "big", "B", "A") == 1);
    assert_true(adl_throughputs_find_pair(t, "small", "B", "A") == 0.25);
    assert_true(adl_throughputs_find_pair(t, "small", "A", "B") == 1.5);
    assert_true(adl_throughputs_find(t, "big", "A", 2) == 6);
    adl_throughputs_destroy(t);
}

static void a_pair_that_did_not_run_is_as_one_that_was_not_measured(void **state)
{
    (void)state;
    struct adl_throughputs *t = read_throughputs(throughput_text);
    assert_true(adl_throughputs_find_pair(t, "big", "B", "B") == 0); /* [0, 0] */
    assert_true(adl_throughputs_find_pair(t, "small", "A", "A") == 0);
    assert_true(adl_throughputs_find_pair(t, "big", "A", "C") == 0); /* C has no row of its own */
    assert_true(adl_throughputs_find_pair(t, "huge", "A", "A") == 0);
    adl_throughputs_destroy(t);
}

static void pairs_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"v\": {\"('A', 1)\": {\"null\": 1, \"B\": [1, 1]}}}",
         "t.json: 'v', \"('A', 1)\": a neighbour must be named like ('NAME', 1), got 'B'"},
        {"{\"v\": {\"('A', 1)\": {\"null\": 1, \"('B', 1)\": 1}}}",
         "t.json: 'v', \"('A', 1)\" beside \"('B', 1)\" must be two numbers of at least 0, steps/s of each"},
        {"{\"v\": {\"('A', 1)\": {\"null\": 1, \"('B', 1)\": [1]}}}",
         "t.json: 'v', \"('A', 1)\" beside \"('B', 1)\" must be two numbers of at least 0, steps/s of each"},
        {"{\"v\": {\"('A', 1)\": {\"null\": 1, \"('B', 1)\": {\"a\": 1, \"b\": 1}}}}",
         "t.json: 'v', \"('A', 1)\" beside \"('B', 1)\" must be two numbers of at least 0, steps/s of each"},
        {"{\"v\": {\"('A', 1)\": {\"null\": 1, \"('B', 1)\": [1, -1]}}}",
         "t.json: 'v', \"('A', 1)\" beside \"('B', 1)\" must be two numbers of at least 0, steps/s of each"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_throughputs *throughputs = NULL;
        struct adl_error err = {{0}};
        assert_int_equal(adl_throughputs_parse("t.json", cases[i].text, strlen(cases[i].text), &throughputs, &err),
                         ADL_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_null(throughputs);
    }
}

/* ---- the scenario ---- */

static void measured_classes_have_the_speeds_of_the_file(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    if (parse("a", "big", 2, true, &s, &err))
        fail_msg("%s", err.text);
    const uint32_t small = 0, big = 1;
    assert_true(s.classes[0].steps_per_s[big] == 4 && s.classes[0].steps_per_s[small] == 1);
    assert_true(s.classes[1].steps_per_s[big] == 2 && s.classes[1].steps_per_s[small] == 0.5);
    assert_false(s.classes[0].modelled[big]);
    assert_true(adl_scenario_gang_speed(&s, 0, big, 1) == 1);
    assert_true(adl_scenario_gang_speed(&s, 0, big, 2) == 1.5);
    assert_true(adl_scenario_gang_speed(&s, 0, big, 4) == 2.5);
    assert_true(adl_scenario_gang_speed(&s, 0, small, 4) == 0);                     /* it was measured on big alone */
    assert_true(fabs(adl_scenario_gang_speed(&s, 0, small, 8) - 8 * 0.729) < 1e-9); /* nowhere measured: the model */
    assert_true(fabs(adl_scenario_gang_speed(&s, 1, big, 2) - 1.8) < 1e-9);
    assert_true(adl_scenario_pair_speed(&s, 0, 1, big) == 0.75);
    assert_true(adl_scenario_pair_speed(&s, 1, 0, big) == 0.5);
    assert_true(adl_scenario_pair_speed(&s, 0, 0, big) == 0.5);
    assert_true(adl_scenario_pair_speed(&s, 1, 1, big) == 0);
    assert_true(adl_scenario_pair_speed(&s, 0, 1, small) == 1); /* 1.5 by the file: no neighbour helps */
    adl_scenario_clear(&s);
}

static void a_gang_runs_where_its_size_was_measured_and_as_fast(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    struct adl_workload_stream stream;
    struct adl_true_job job;
    static const struct {
        int gpus;
        uint32_t types;
        int64_t small_s; /* 0 = it does not run there */
        double steps;
    } cases[] = {{1, 3, 400, 400}, {2, 3, 400, 600}, {4, 2, 0, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (parse("a", "big", cases[i].gpus, true, &s, &err))
            fail_msg("%s", err.text);
        assert_int_equal(adl_workload_begin(&stream, &s, 1), 0);
        uint32_t seen = 0;
        while (adl_workload_next(&stream, &job))
            if (job.spec.class_index == 0) {
                assert_int_equal(job.spec.types, cases[i].types);
                assert_int_equal(job.runtime_us[1], 100 * S);
                assert_int_equal(job.runtime_us[0], cases[i].small_s * S);
                assert_true(fabs(job.steps - cases[i].steps) < 1e-9);
                seen++;
            }
        assert_true(seen > 5);
        adl_workload_end(&stream);
        adl_scenario_clear(&s);
    }
}

static void refused(const char *class, const char *reference, int gpus, bool measured, const char *message)
{
    struct adl_scenario s;
    struct adl_error err = {{0}};
    assert_int_equal(parse(class, reference, gpus, measured, &s, &err), ADL_EINVAL);
    assert_string_equal(err.text, message);
}

static void what_the_measurements_do_not_give_is_refused_with_its_line(void **state)
{
    (void)state;
    refused("a", "big", 1, false,
            "t.yaml:12: class 'a' has the measured speeds of \"A\": --throughputs FILE must give the measurements, "
            "such as simulation_throughputs.json of Gavel (github.com/stanford-futuredata/gavel)");
    refused(
        "lost", "big", 1, true,
        "t.yaml:12: class 'lost': the throughputs have no \"D (batch size 4)\" on one GPU of a type of this cluster");
    refused("a", "small", 4, true,
            "t.yaml:12: workload.mix[0].reference: class 'a' was not measured with 4 GPUs of 'small'");
}

/* The catalogue with one piece of it replaced by another. */
static void refused_with(const char *piece, const char *other, const char *message)
{
    struct adl_catalogue catalogue;
    struct adl_error err = {{0}};
    char text[sizeof catalogue_text + 64];
    const char *at = strstr(catalogue_text, piece);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - catalogue_text), catalogue_text, other, at + strlen(piece));
    assert_int_equal(adl_catalogue_parse("c.yaml", text, strlen(text), &catalogue, &err), ADL_EINVAL);
    assert_string_equal(err.text, message);
}

static void a_class_has_either_speeds_or_is_measured(void **state)
{
    (void)state;
    refused_with(", measured: B", "", "c.yaml:9: job_classes[1] must have either speeds or measured, it has neither");
    refused_with(", speeds", ", measured: A, speeds",
                 "c.yaml:13: job_classes[3] must have either speeds or measured, it has both");
}

/* ---- the world ---- */

/* Two classes on one GPU, with measured speeds beside each other that no model of theirs would give. */
static void neighbours_are_as_fast_as_was_measured_and_each_as_it_was(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 2);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1);
    tiny_class(&s, ADL_KIND_INFERENCE, 1, 1);
    tiny_mix(&s, 0, 100, 1, ADL_JOB_SHARE);
    tiny_mix(&s, 1, 30, 1, ADL_JOB_SHARE);
    s.pair_speed = calloc(4, sizeof *s.pair_speed);
    assert_non_null(s.pair_speed);
    s.pair_speed[0 * 2 + 1] = 0.8;
    s.pair_speed[1 * 2 + 0] = 0.6;
    const uint64_t seed = tiny_seed_for(&s, (const uint16_t[]){0, 1}, 2);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {0, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, seed, ROWS(rows));
    assert_int_equal(kept_end(&kept, 2), 50 * S);        /* 30 s at 0.6 */
    assert_int_equal(kept_end(&kept, 1), (50 + 60) * S); /* 50 s at 0.8, the rest alone */
    free(kept.events);
    s.pair_speed[1 * 2 + 0] = 0; /* not measured: 0.95 / 2 */
    kept = run_script(&s, seed, ROWS(rows));
    assert_true(llabs(kept_end(&kept, 2) - (int64_t)(30 / 0.475 * S)) <= 1);
    free(kept.events);
    adl_scenario_clear(&s);
}

/* ---- Gavel's measurements, where they are ---- */

static void load_gavel(struct adl_scenario *ret)
{
    struct adl_error err = {{0}};
    if (adl_scenario_load_measured(GAVEL108, GAVEL, ret, NULL, &err))
        fail_msg("%s", err.text);
}

static void gavel108_says_what_it_lacks_without_the_measurements(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    assert_int_equal(adl_scenario_load(GAVEL108, &s, NULL, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "gavel108.yaml:"));
    assert_non_null(strstr(err.text, "--throughputs FILE"));
    assert_non_null(strstr(err.text, "simulation_throughputs.json"));
}

static bool never_shares(const struct adl_scenario *s, uint32_t class_index)
{
    for (uint32_t m = 0; m < s->workload.mix_count; m++)
        if (s->workload.mix[m].class_index == class_index)
            return !(s->workload.mix[m].flags & ADL_JOB_SHARE);
    return true;
}

/* Not all that did not run was too large: on V100 more pairs are missing than on P100, whose memory is the same. */
static void memory_says_which_of_gavels_pairs_fit_but_for_the_stated_ones(void **state)
{
    (void)state;
    struct adl_scenario s;
    load_gavel(&s);
    assert_int_equal(s.class_count, 26);
    uint32_t pairs = 0, odd = 0, odd_sharing = 0;
    for (uint32_t t = 0; t < 3; t++)
        for (uint32_t a = 0; a < 26; a++)
            for (uint32_t b = a; b < 26; b++) {
                const bool fits =
                    s.classes[a].gpu_memory_mib + s.classes[b].gpu_memory_mib <= s.cluster.types[t].memory_mib;
                const bool ran = adl_scenario_pair_speed(&s, a, b, t) > 0;
                assert_int_equal(ran, adl_scenario_pair_speed(&s, b, a, t) > 0);
                if (ran && !fits)
                    fail_msg("%s and %s ran on one %s", s.classes[a].name, s.classes[b].name, s.cluster.types[t].name);
                odd += fits && !ran;
                odd_sharing += fits && !ran && !never_shares(&s, a) && !never_shares(&s, b);
                pairs++;
            }
    assert_int_equal(pairs, 3 * 351);
    assert_int_equal(odd, 16);
    assert_int_equal(odd_sharing, 2);
    adl_scenario_clear(&s);
}

static void gavel108_runs_to_its_end_and_loads_the_cluster_as_it_says(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    load_gavel(&s);
    double busy = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const struct adl_run run = {.scenario = &s, .policy = adl_policy_find("easy"), .seed = seed};
        struct adl_result result;
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        assert_int_equal(result.unfinished, 0);
        assert_int_equal(result.refused, 0);
        busy += result.value[ADL_METRIC_UTILIZATION] / 10;
    }
    assert_true(busy > 0.60 && busy < 0.75);
    adl_scenario_clear(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_found_from_both_sides),
        cmocka_unit_test(a_pair_that_did_not_run_is_as_one_that_was_not_measured),
        cmocka_unit_test(pairs_that_make_no_sense_are_refused),
        cmocka_unit_test(measured_classes_have_the_speeds_of_the_file),
        cmocka_unit_test(a_gang_runs_where_its_size_was_measured_and_as_fast),
        cmocka_unit_test(what_the_measurements_do_not_give_is_refused_with_its_line),
        cmocka_unit_test(a_class_has_either_speeds_or_is_measured),
        cmocka_unit_test(neighbours_are_as_fast_as_was_measured_and_each_as_it_was),
        cmocka_unit_test(gavel108_says_what_it_lacks_without_the_measurements),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(memory_says_which_of_gavels_pairs_fit_but_for_the_stated_ones),
        cmocka_unit_test(gavel108_runs_to_its_end_and_loads_the_cluster_as_it_says),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, tests, shared);
}
