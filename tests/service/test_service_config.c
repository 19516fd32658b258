/* test_service_config: what a configuration of the service becomes, and what is said of one that makes no sense. */
#include "stub_nvml.h"
#include "telemetry_fixture.h"
#include "yaml_describe.h"

#include "policy/policy.h"
#include "service/config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VIRTUAL "virtual: true\n"

static char folder[] = "/tmp/adlro-config-XXXXXX";
static char file[64];

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/adlro.yaml", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    rmdir(folder);
    return 0;
}

static void write_file(const char *text)
{
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static struct adl_service_config load(const char *text)
{
    struct adl_service_config config;
    struct adl_error err = {{0}};
    write_file(text);
    if (adl_service_config_load(file, &config, &err))
        fail_msg("%s", err.text);
    return config;
}

/* The message after the file's folder. */
static void expect_refused(const char *text, const char *wanted)
{
    struct adl_service_config config = {.jobs_max = 7};
    struct adl_error err = {{0}};
    char message[256];
    write_file(text);
    snprintf(message, sizeof message, "%s/%s", folder, wanted);
    assert_true(adl_service_config_load(file, &config, &err) < 0);
    if (strncmp(err.text, message, strlen(message)) != 0)
        fail_msg("got  %s\nwant %s", err.text, message);
    assert_int_equal(config.jobs_max, 7);
}

static void without_a_key_everything_has_its_default(void **state)
{
    (void)state;
    struct adl_service_config config = load(VIRTUAL);
    assert_int_equal(config.engine, ADL_ENGINE_LOCAL);
    assert_ptr_equal(config.policy, &adl_policy_easy);
    assert_true(config.learned && config.avoid_foreign && config.root_jobs);
    assert_null(config.socket);
    assert_null(config.tcp);
    assert_null(config.cgroup);
    assert_true(config.requests_per_s == adl_http_limits_default().client.requests_per_s);
    assert_true(config.retention_days == 30 && config.time_limit_s == 86400 && config.grace_s == 30);
    assert_true(config.telemetry_s >= 1 && config.telemetry_s <= 5 && config.speed == 1);
    assert_int_equal(config.jobs_max, 200000);
    const struct adl_policy_config *policy = &config.inventory.scenario.policy;
    assert_string_equal(policy->settings, "priority_s=86400\n");
    assert_int_equal(policy->preemption_us, 30000000);
    assert_string_equal(config.text, VIRTUAL);
    adl_service_config_clear(&config);
}

static void a_machine_without_gpus_and_without_a_file_has_four_virtual_slots(void **state)
{
    (void)state;
    struct adl_service_config config = {0};
    struct adl_error err = {{0}};
    assert_int_equal(adl_service_config_load(NULL, &config, &err), 0);
    assert_null(config.text);
    if (config.inventory.virtual) { /* there are none here */
        const struct adl_cluster *cluster = &config.inventory.scenario.cluster;
        assert_int_equal(cluster->gpu_count, 4);
        assert_int_equal(cluster->node_count, 1);
        assert_string_equal(cluster->types[0].name, "virtual");
        assert_int_equal(cluster->types[0].memory_mib, 16384);
        assert_string_equal(config.inventory.gpus[3].model, "virtual slot");
    }
    adl_service_config_clear(&config);
}

static void a_file_of_comments_is_one_of_defaults(void **state)
{
    (void)state;
    struct adl_service_config config = load("# nothing\n");
    assert_int_equal(config.jobs_max, 200000);
    adl_service_config_clear(&config);
}

static void every_key_arrives(void **state)
{
    (void)state;
    struct adl_service_config config =
        load("engine: local\nseed: 9\nvirtual: true\nlearned: false\n"
             "policy: {name: sjf, first_fit: true, priority_s: 60, affinity: [{kind: data, types: [t4]}]}\n"
             "cluster:\n  network_gbs: 6\n  nodes:\n"
             "    - {name: box, count: 2, cpu_cores: 8, memory_mib: 4096, link_gbs: 16,"
             " gpus: [{type: t4, count: 2}, {type: virtual, count: 1}]}\n"
             "listen: {socket: run/a.sock, socket_group: gpu, tcp: '127.0.0.1:0', tls_cert: /c.pem, tls_key: k.pem,"
             " tokens: tokens, admin_group: admin, requests_per_s: 5}\n"
             "telemetry: {interval_s: 0.5, retention_days: 2, exporters: ['http://a/metrics', 'https://b/'],"
             " avoid_foreign: false, nvml: libx.so, rocm_smi: liby.so, sysfs: /s}\n"
             "jobs: {time_limit_s: 600, grace_s: 3, max: 12, root: true, cgroup: /sys/fs/cgroup/adlro}\n");
    char path[128];
    assert_int_equal(config.seed, 9);
    assert_false(config.learned);
    assert_ptr_equal(config.policy, &adl_policy_sjf);
    assert_string_equal(config.inventory.scenario.policy.settings,
                        "priority_s=86400\nfirst_fit=true\npriority_s=60\naffinity=data:t4\n");
    snprintf(path, sizeof path, "%s/run/a.sock", folder);
    assert_string_equal(config.socket, path);
    assert_string_equal(config.socket_group, "gpu");
    assert_string_equal(config.tcp, "127.0.0.1:0");
    assert_string_equal(config.tls_cert, "/c.pem");
    snprintf(path, sizeof path, "%s/k.pem", folder);
    assert_string_equal(config.tls_key, path);
    snprintf(path, sizeof path, "%s/tokens", folder);
    assert_string_equal(config.tokens, path);
    assert_string_equal(config.admin_group, "admin");
    assert_true(config.requests_per_s == 5 && config.telemetry_s == 0.5 && config.retention_days == 2);
    assert_int_equal(config.exporter_count, 2);
    assert_string_equal(config.exporters[1], "https://b/");
    assert_false(config.avoid_foreign);
    const struct adl_telemetry_options options = adl_service_telemetry(&config, true);
    assert_string_equal(options.nvml_path, "libx.so");
    assert_string_equal(options.rocm_path, "liby.so");
    assert_string_equal(options.sysfs_root, "/s");
    assert_int_equal(options.url_count, 2);
    assert_int_equal(options.interval_us, 500000);
    assert_true(config.time_limit_s == 600 && config.grace_s == 3 && config.root_jobs);
    assert_int_equal(config.jobs_max, 12);
    assert_string_equal(config.cgroup, "/sys/fs/cgroup/adlro");
    adl_service_config_clear(&config);
}

static void declared_slots_are_virtual_and_named_by_their_place(void **state)
{
    (void)state;
    struct adl_service_config config =
        load(VIRTUAL "cluster:\n  network_gbs: 6\n  nodes:\n"
                     "    - {name: box, count: 2, cpu_cores: 8, memory_mib: 4096, link_gbs: 16,"
                     " gpus: [{type: t4, count: 2}, {type: virtual, count: 1}]}\n");
    const struct adl_inventory *inventory = &config.inventory;
    assert_true(inventory->virtual);
    assert_int_equal(inventory->scenario.cluster.gpu_count, 6);
    assert_string_equal(inventory->gpus[1].id, "box-0/t4/1");
    assert_string_equal(inventory->gpus[1].model, "virtual t4");
    assert_string_equal(inventory->gpus[5].id, "box-1/virtual/0");
    assert_string_equal(inventory->gpus[5].model, "virtual slot");
    assert_int_equal(inventory->gpus[5].index, 2);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(inventory->gpus[i].vendor, ADL_GPU_VIRTUAL);
        assert_int_equal(adl_inventory_find(inventory, inventory->gpus[i].id), i);
    }
    assert_int_equal(adl_inventory_find(inventory, "box-2/t4/0"), ADL_NONE);
    adl_service_config_clear(&config);
}

static uint32_t find_class(const struct adl_scenario *scenario, const char *name)
{
    for (uint32_t i = 0; i < scenario->class_count; i++)
        if (strcmp(scenario->classes[i].name, name) == 0)
            return i;
    fail_msg("there is no class %s", name);
    return 0;
}

static void jobs_may_be_of_every_class_of_the_catalogue_and_of_none(void **state)
{
    (void)state;
    struct adl_service_config config =
        load(VIRTUAL "cluster: {network_gbs: 6, nodes: [{name: box, cpu_cores: 8, memory_mib: 4096, link_gbs: 16,"
                     " gpus: [{type: k80, count: 2}, {type: virtual, count: 1}]}]}\n");
    const struct adl_scenario *scenario = &config.inventory.scenario;
    assert_string_equal(scenario->classes[0].name, "job");
    assert_true(scenario->classes[0].steps_per_s[0] == 1 && scenario->classes[0].steps_per_s[1] == 1);
    const struct adl_job_class *scan = &scenario->classes[find_class(scenario, "etl-scan")];
    assert_true(scan->steps_per_s[0] == 2.88);
    assert_true(scan->steps_per_s[1] > 1 && scan->steps_per_s[1] < 6 && scan->modelled[1]); /* estimated, cautiously */
    /* A type that the catalogue knows, but not for this class: its jobs do not run there. */
    assert_true(scenario->classes[find_class(scenario, "feature-join")].steps_per_s[0] == 0);
    adl_service_config_clear(&config);
}

static void the_twin_is_its_scenario_with_one_class_more(void **state)
{
    (void)state;
    struct adl_service_config config =
        load("engine: sim\nscenario: " ADL_SOURCE_DIR "/scenarios/mixed64.yaml\nspeed: 60\n"
             "policy: {name: gavel, priority_s: 5}\n");
    const struct adl_scenario *scenario = &config.inventory.scenario;
    assert_int_equal(config.engine, ADL_ENGINE_SIM);
    assert_true(config.speed == 60 && config.inventory.virtual);
    assert_ptr_equal(config.policy, &adl_policy_gavel);
    assert_string_equal(scenario->name, "mixed64");
    assert_int_equal(scenario->cluster.gpu_count, 64);
    assert_non_null(strstr(scenario->policy.settings, "share=true\n"));
    assert_non_null(strstr(scenario->policy.settings, "priority_s=86400\npriority_s=5\n"));
    assert_int_equal(scenario->policy.preemption_us, 25000000);
    assert_string_equal(scenario->classes[0].name, "job");
    assert_string_equal(scenario->classes[scenario->workload.mix[0].class_index].name, "resnet50-b64");
    assert_string_equal(config.inventory.gpus[0].id, "kepler-0/k80/0");
    assert_string_equal(config.inventory.gpus[0].model, "simulated k80");
    adl_service_config_clear(&config);
}

static void what_makes_no_sense_is_refused_with_its_line(void **state)
{
    (void)state;
    expect_refused("engine: pbs\n", "adlro.yaml:1: engine must be one of local, sim, slurm, got 'pbs'");
    expect_refused("engine: slurm\n", "adlro.yaml:1: missing key 'slurm.partitions'");
    expect_refused("slurm: {partitions: [gpu]}\n", "adlro.yaml:1: 'slurm' is for 'engine: slurm'; the engine is local");
    expect_refused("\npolicy: {name: esay}\n",
                   "adlro.yaml:2: policy.name: unknown policy 'esay'; did you mean 'easy'? (policies: ");
    expect_refused("polcy: {}\n", "adlro.yaml:1: unknown key 'polcy'; did you mean 'policy'?");
    expect_refused("engine: sim\n", "adlro.yaml:1: missing key 'scenario' (the file that 'engine: sim' plays)");
    expect_refused("speed: 2\n", "adlro.yaml:1: 'speed' is for 'engine: sim'; the engine is local");
    expect_refused("engine: sim\nscenario: x\nvirtual: true\n",
                   "adlro.yaml:3: 'virtual' is for 'engine: local'; the engine is sim, whose scenario says it");
    expect_refused("engine: sim\nscenario: none.yaml\n", "adlro.yaml:2: scenario: cannot open ");
    expect_refused("engine: sim\nscenario: " ADL_SOURCE_DIR "/scenarios/mixed64.yaml\npolicy:\n  share: true\n",
                   "adlro.yaml:4: policy.share: with 'engine: sim' the scenario's settings hold; give it there");
    expect_refused("listen: {tcp: ':1', tls_key: x}\n", "adlro.yaml:1: listen: tls_cert and tls_key must be given");
    expect_refused("listen: {tls_cert: y, tls_key: x}\n", "adlro.yaml:1: listen.tls_cert: there is no 'tcp'");
    expect_refused("telemetry:\n  exporters:\n    - 'ftp://a'\n", "adlro.yaml:3: telemetry.exporters[0] must begin");
    expect_refused("catalogue: none.yaml\n", "adlro.yaml:1: catalogue: cannot open ");
    expect_refused("hooks:\n  - {events: [job_ends], mail: owner}\n",
                   "adlro.yaml:2: hooks: events: unknown event 'job_ends'; did you mean 'job_end'?");
    expect_refused("hooks:\n  - {events: [idle]}\n", "adlro.yaml:2: hooks: an element has either a 'webhook' or");
    expect_refused("hooks:\n  - {events: [idle], webhook: 'ftp://x'}\n", "adlro.yaml:2: hooks: webhook must be");
    expect_refused("hooks:\n  - {events: [idle], webhook: 'http://a:b@c/'}\n", "adlro.yaml:2: hooks: webhook may not");
    expect_refused("hooks:\n  - {events: [idle], webhook: 'http://c/', secret_file: s}\n",
                   "adlro.yaml:2: hooks: webhook: a secret needs https");
    expect_refused("hooks:\n  - {events: [idle], webhook: 'https://c/', secret_file: none}\n",
                   "adlro.yaml:2: hooks: secret_file: ");
    expect_refused("hooks:\n  - {events: [idle], webhook: 'https://c/', secret_header: 'a: b'}\n",
                   "adlro.yaml:2: hooks: secret_header needs a 'secret_file'");
    expect_refused("hooks:\n  - {events: [idle], mail: '-x'}\n", "adlro.yaml:2: hooks: mail: '-x' is neither");
    expect_refused("hooks:\n  - {events: [idle], mail: a}\nsendmail: {program: none}\n", "adlro.yaml:2: hooks: mail: ");
    expect_refused("virtual: true\npolicy:\n  name: gogh\n  power_caps: [0.5]\n",
                   "adlro.yaml:4: policy.power_caps: virtual slots have no power");
    expect_refused("engine: slurm\nslurm: {partitions: [gpu]}\npolicy: {name: gogh, power_caps: [0.5]}\n",
                   "adlro.yaml:3: policy.power_caps: power limits cannot be set through Slurm");
    expect_refused("virtual: true\npower: {limits: [{at: '08:00', limit_w: 5}]}\n",
                   "adlro.yaml:2: power.limits: policy easy cannot follow them; gogh can");
    expect_refused("virtual: true\npolicy: {name: gogh}\npower: {limits: [{at: '8', limit_w: 5}]}\n",
                   "adlro.yaml:3: power.limits[0].at: '8' is no time of the day");
    expect_refused("virtual: true\npower: {helper: none}\n", "adlro.yaml:2: power.helper is for GPUs of this machine");
    expect_refused("idle:\n  after_s: 3\n", "adlro.yaml:2: idle.after_s: 3 s is less than four readings");
    expect_refused("idle: {after_s: 0, stop: true}\n", "adlro.yaml:1: idle.stop needs an 'after_s' above 0");
    expect_refused("idle: {below_percent: 0}\n", "adlro.yaml:1: idle.below_percent must be ");
    expect_refused("jobs: {max: 0}\n", "adlro.yaml:1: jobs.max must be ");
    expect_refused("virtual: true\npolicy: {affinity: [{kind: data, types: [t4]}]}\n",
                   "adlro.yaml:2: policy.affinity[0].types[0]: no node has a GPU of type 't4' (types: virtual)");
    expect_refused("cluster: {network_gbs: 1, nodes: [{name: a, cpu_cores: 1, memory_mib: 1, link_gbs: 1, gpus: "
                   "[{type: v10, count: 1}]}]}\nvirtual: true\n",
                   "adlro.yaml:1: cluster.nodes[0].gpus[0].type: unknown GPU type 'v10'; did you mean 'v100'?");
}

static void declared_slots_do_not_hide_real_gpus_by_mistake(void **state)
{
    (void)state;
    void *library = dlopen(STUB_DIR "/stub_nvml.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    struct stub_nvml *script = dlsym(library, "stub_nvml_script");
    assert_non_null(script);
    *script =
        (struct stub_nvml){.count = 1, .gpus = {{.name = "Tesla T4", .uuid = "GPU-1", .memory_total = 15360ull << 20}}};
#define SLOTS                                                                                                          \
    "cluster: {network_gbs: 1, nodes: [{name: a, cpu_cores: 1, memory_mib: 1, link_gbs: 1, gpus: [{type: t4, "         \
    "count: 3}]}]}\n"
#define STUB "telemetry: {nvml: " STUB_DIR "/stub_nvml.so, sysfs: /nowhere}\n"
    expect_refused(STUB "policy: {name: gogh, power_caps: [0.5]}\n",
                   "adlro.yaml:2: policy.power_caps would have no effect: setting power limits needs a helper");
    expect_refused(STUB "power: {helper: none}\n", "adlro.yaml:2: power.helper: ");
    expect_refused(SLOTS STUB, "adlro.yaml:1: cluster: this machine has 1 GPU (Tesla T4)");
    struct adl_service_config config = load(SLOTS STUB VIRTUAL);
    assert_true(config.inventory.virtual);
    assert_int_equal(config.inventory.scenario.cluster.gpu_count, 3);
    adl_service_config_clear(&config);
    config = load(STUB);
    assert_false(config.inventory.virtual);
    assert_int_equal(config.inventory.scenario.cluster.gpu_count, 1);
    assert_string_equal(config.inventory.gpus[0].id, "GPU-1");
    adl_service_config_clear(&config);
    dlclose(library);
}

static void the_example_is_read_and_says_the_defaults(void **state)
{
    (void)state;
    struct adl_service_config config = {0};
    struct adl_error err = {{0}};
    if (adl_service_config_load(ADL_SOURCE_DIR "/packaging/adlro.yaml", &config, &err))
        fail_msg("%s", err.text);
    assert_ptr_equal(config.policy, &adl_policy_easy);
    adl_service_config_clear(&config);
    /* What it shows in comments is right too. */
    FILE *stream = fopen(ADL_SOURCE_DIR "/packaging/adlro.yaml", "r");
    assert_non_null(stream);
    static char text[1 << 14];
    char line[512];
    text[0] = '\0';
    while (fgets(line, sizeof line, stream))
        strncat(text, strncmp(line, "#:", 2) == 0 ? line + 2 : line, sizeof text - strlen(text) - 1);
    fclose(stream);
    config = load(text);
    assert_int_equal(config.inventory.scenario.cluster.gpu_count, 12);
    assert_string_equal(config.tcp, "127.0.0.1:8080");
    adl_service_config_clear(&config);
}

struct page {
    char text[1 << 16];
    size_t size;
};

static void append(void *context, const char *text)
{
    struct page *page = context;
    const size_t size = strlen(text);
    assert_true(page->size + size < sizeof page->text);
    memcpy(page->text + page->size, text, size + 1);
    page->size += size;
}

static void the_reference_says_what_the_table_says(void **state)
{
    (void)state;
    static struct page page, document;
    yaml_describe(&adl_service_table, append, &page);
    FILE *stream = fopen(ADL_SOURCE_DIR "/docs/service.md", "r");
    assert_non_null(stream);
    document.size = fread(document.text, 1, sizeof document.text - 1, stream);
    fclose(stream);
    if (!strstr(document.text, page.text))
        fail_msg("docs/service.md differs from the table; `test_service_config tables` prints what belongs there");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "tables") == 0) {
        static struct page page;
        yaml_describe(&adl_service_table, append, &page);
        printf("%s", page.text);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_key_everything_has_its_default),
        cmocka_unit_test(a_machine_without_gpus_and_without_a_file_has_four_virtual_slots),
        cmocka_unit_test(a_file_of_comments_is_one_of_defaults),
        cmocka_unit_test(every_key_arrives),
        cmocka_unit_test(declared_slots_are_virtual_and_named_by_their_place),
        cmocka_unit_test(jobs_may_be_of_every_class_of_the_catalogue_and_of_none),
        cmocka_unit_test(the_twin_is_its_scenario_with_one_class_more),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_line),
        cmocka_unit_test(declared_slots_do_not_hide_real_gpus_by_mistake),
        cmocka_unit_test(the_example_is_read_and_says_the_defaults),
        cmocka_unit_test(the_reference_says_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
