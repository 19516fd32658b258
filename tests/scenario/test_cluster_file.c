/* Cluster files: hardware for the jobs of a trace. */
#include "scenario_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char cluster_text[] = "name: bare\n"
                                   "description: hardware alone\n"
                                   "catalogue: catalogue.yaml\n"
                                   "cluster:\n"
                                   "  network_gbs: 10\n"
                                   "  nodes: [{name: n, count: 2, cpu_cores: 8, memory_mib: 1024, link_gbs: 10,\n"
                                   "           gpus: [{type: small, count: 4}, {type: big, count: 1}]}]\n";

static int parse_cluster(const char *text, struct adl_scenario *ret, struct adl_error *err)
{
    const struct adl_scenario_source source = {.read = fixture_read, .context = (void *)(uintptr_t)fixture_catalogue};
    return adl_cluster_parse("dir/t.yaml", text, strlen(text), &source, ret, err);
}

static void a_cluster_file_needs_no_workload_and_has_one_class_that_runs_on_every_type(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    if (parse_cluster(cluster_text, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.cluster.gpu_count, 10);
    assert_int_equal(s.workload.mix_count, 0);
    assert_int_equal(s.class_count, 1);
    assert_string_equal(s.classes[0].name, "trace");
    assert_int_equal(s.classes[0].kind, ADL_KIND_TRAINING);
    assert_true(s.classes[0].activity == 0.8 && s.classes[0].bandwidth == 0.5);
    assert_true(s.classes[0].sync_share == 0 && s.classes[0].scaling == 1);
    assert_true(s.classes[0].steps_per_s[0] == 1 && s.classes[0].steps_per_s[1] == 1);
    assert_null(s.policy.settings);
    adl_scenario_clear(&s);
}

static void a_scenario_is_a_cluster_file_whose_workload_is_not_used(void **state)
{
    (void)state;
    char text[1 << 14] = "";
    struct adl_scenario s;
    struct adl_error err = {{0}};
    FILE *file = fopen(ADL_SOURCE_DIR "/tests/corpus/scenario/full.yaml", "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    if (parse_cluster(text, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.workload.mix_count, 0);
    assert_int_equal(s.workload.jobs, 0);
    assert_int_equal(s.class_count, 1);
    assert_non_null(strstr(s.policy.settings, "backfill_depth=4\n"));
    adl_scenario_clear(&s);
}

static void a_cluster_file_is_no_scenario(void **state)
{
    (void)state;
    const struct adl_scenario_source source = {.read = fixture_read, .context = (void *)(uintptr_t)fixture_catalogue};
    struct adl_scenario s;
    struct adl_error err = {{0}};
    assert_int_equal(adl_scenario_parse("dir/t.yaml", cluster_text, strlen(cluster_text), &source, &s, &err),
                     ADL_EINVAL);
    assert_string_equal(err.text, "dir/t.yaml:1: missing key 'workload' (the jobs)");
}

static const char own_types[] = "name: own\n"
                                "description: GPUs that no catalogue has\n"
                                "catalogue: catalogue.yaml\n"
                                "gpu_types:\n"
                                "  - {name: odd, memory_mib: 20475, max_w: 70}\n"
                                "  - {name: big, memory_mib: 99, like: big, bandwidth_gbs: 7}\n"
                                "cluster:\n"
                                "  network_gbs: 10\n"
                                "  nodes: [{name: n, cpu_cores: 8, memory_mib: 1024, link_gbs: 10,\n"
                                "           gpus: [{type: odd, count: 4}, {type: big, count: 1}]}]\n";

static void a_type_that_the_file_describes_has_its_figures_and_cautious_ones_for_the_rest(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {{0}};
    if (parse_cluster(own_types, &s, &err))
        fail_msg("%s", err.text);
    const struct adl_gpu_type *odd = &s.cluster.types[0], *big = &s.cluster.types[1];
    assert_string_equal(odd->name, "odd");
    assert_int_equal(odd->memory_mib, 20475);
    assert_true(odd->max_w == 70 && odd->context_w < 70 && odd->idle_w < odd->context_w && odd->idle_w > 0);
    assert_true(odd->bandwidth_gbs > 0 && odd->fp32_tflops > 0 && odd->modelled);
    assert_int_equal(big->memory_mib, 99); /* in place of the catalogue's */
    assert_true(big->bandwidth_gbs == 7 && big->fp32_tflops == 14.5 && big->max_w == 250); /* and the rest of it */
    adl_scenario_clear(&s);
}

/* Writes over the first place where the text says so; both are of one length. */
static void overwrite(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);
    assert_non_null(at);
    for (; *to; to++)
        *at++ = *to;
}

static void a_type_that_the_file_describes_wrongly_is_refused_with_its_line(void **state)
{
    (void)state;
    char text[sizeof own_types + 32];
    struct adl_scenario s;
    struct adl_error err = {{0}};
    snprintf(text, sizeof text, "%s", own_types);
    overwrite(text, "name: big", "name: odd");
    assert_int_equal(parse_cluster(text, &s, &err), ADL_EINVAL);
    assert_string_equal(err.text, "dir/t.yaml:6: gpu_types[1].name: 'odd' is given twice; the first is on line 5");
    snprintf(text, sizeof text, "%s", own_types);
    overwrite(text, "max_w: 70", "idle_w: 7");
    overwrite(text, "like: big", "like: bag");
    assert_int_equal(parse_cluster(text, &s, &err), ADL_EINVAL);
    assert_string_equal(err.text,
                        "dir/t.yaml:6: gpu_types[1].like: the catalogue has no type 'bag'; did you mean 'big'?");
}

/* A new file there fails here if it does not load. */
static void every_cluster_of_the_project_loads(void **state)
{
    (void)state;
    DIR *folder = opendir(ADL_SOURCE_DIR "/scenarios/clusters");
    assert_non_null(folder);
    int loaded = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".yaml") != 0 || strstr(entry->d_name, "catalogue"))
            continue;
        char path[1024];
        struct adl_scenario scenario;
        struct adl_error err = {{0}};
        snprintf(path, sizeof path, "%s/scenarios/clusters/%s", ADL_SOURCE_DIR, entry->d_name);
        if (adl_cluster_load(path, &scenario, &err))
            fail_msg("%s", err.text);
        assert_int_equal(strlen(scenario.name), (size_t)(end - entry->d_name));
        assert_memory_equal(scenario.name, entry->d_name, strlen(scenario.name));
        adl_scenario_clear(&scenario);
        loaded++;
    }
    closedir(folder);
    assert_true(loaded > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_file_needs_no_workload_and_has_one_class_that_runs_on_every_type),
        cmocka_unit_test(a_scenario_is_a_cluster_file_whose_workload_is_not_used),
        cmocka_unit_test(a_cluster_file_is_no_scenario),
        cmocka_unit_test(a_type_that_the_file_describes_has_its_figures_and_cautious_ones_for_the_rest),
        cmocka_unit_test(a_type_that_the_file_describes_wrongly_is_refused_with_its_line),
        cmocka_unit_test(every_cluster_of_the_project_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
