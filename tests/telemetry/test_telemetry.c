/* test_telemetry: sources together: one device for one GPU, readings from whoever has them, and the rate bounded. */
#include "http_server.h"
#include "stub_nvml.h"
#include "sysfs_tree.h"

#include <dlfcn.h>

static struct http_server server;
static struct sysfs_tree tree;
static void *library;
static struct stub_nvml *script;

static const struct stub_gpu gpu = {
    .name = "NVIDIA A100-SXM4-80GB",
    .uuid = "GPU-0001",
    .bus = 0x3b,
    .memory_total = 81920ull << 20,
    .busy = 87,
    .temperature_c = 63,
    .power_mw = 311500,
    .clock_mhz = 1260,
    .clock_max_mhz = 1410,
};

static int set_up(void **state)
{
    (void)state;
    server_start(&server);
    tree_make(&tree);
    library = dlopen(STUB_DIR "/stub_nvml.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    script = dlsym(library, "stub_nvml_script");
    assert_non_null(script);
    *script = (struct stub_nvml){.count = 1, .gpus = {gpu}};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server_stop(&server);
    tree_remove(&tree, ".");
    rmdir(tree.root);
    dlclose(library);
    return 0;
}

static struct adl_telemetry_reader *open_all(void)
{
    static const char *url;
    url = server.url;
    return open_reader(&(struct adl_telemetry_options){
        .nvml_path = STUB_DIR "/stub_nvml.so", .sysfs_root = tree.root, .rocm_path = "", .urls = &url, .url_count = 1});
}

static void serve(const char *body)
{
    server_set(&server, NULL, body, strlen(body), 1);
}

static void a_gpu_that_two_sources_know_is_one_device(void **state)
{
    (void)state;
    serve("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-0001\",Hostname=\"h\"} 200\n"
          "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-0001\",Hostname=\"h\"} 0.5\n"
          "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-elsewhere\",Hostname=\"other\"} 0.25\n"
          "gpu_gfx_activity{gpu_id=\"0\",serial_number=\"S1\"} 10\n"
          "gpu_junction_temperature{gpu_id=\"1\",serial_number=\"S2\"} 55\n");
    struct adl_telemetry_reader *reader = open_all();
    assert_int_equal(device_count(reader), 3); /* one of NVIDIA, two of AMD */
    take_sample(reader, SECOND);
    assert_int_equal(device_count(reader), 4);        /* and the one elsewhere, at the end */
    expect_reading(reader, 0, ADL_READ_POWER, 311.5); /* NVML before the exporter */
    expect_reading(reader, 0, ADL_READ_SM, 0.5);      /* which has what NVML has not */
    expect_reading(reader, 1, ADL_READ_UTILIZATION, 0.94);
    expect_reading(reader, 2, ADL_READ_TEMPERATURE, 55); /* by AMD's number, for want of better */
    expect_reading(reader, 3, ADL_READ_SM, 0.25);
    assert_string_equal(device_at(reader, 3)->uuid, "GPU-elsewhere");
    assert_string_equal(device_at(reader, 2)->uuid, "S2"); /* filled in from who knows it */
    uint32_t count;
    adl_telemetry_status(reader, &count);
    assert_int_equal(count, 3);
    assert_string_equal(status_at(reader, 0)->name, "nvml");
    assert_string_equal(status_at(reader, 1)->name, "amd");
    assert_string_equal(status_at(reader, 2)->name, server.url);
    assert_int_equal(status_at(reader, 1)->device_count, 2);
    assert_int_equal(status_at(reader, 2)->device_count, 4);
    adl_telemetry_close(reader);
}

static void a_lost_gpu_has_no_readings_from_anyone(void **state)
{
    (void)state;
    serve("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-0001\"} 200\n"); /* the last it heard */
    struct adl_telemetry_reader *reader = open_all();
    script->gpus[0].all = 15;
    take_sample(reader, SECOND);
    assert_true(adl_telemetry_samples(reader)[0].lost);
    expect_missing(reader, 0, ADL_READ_POWER);
    adl_telemetry_close(reader);
}

static void the_rate_of_sampling_is_bounded(void **state)
{
    (void)state;
    struct adl_error err = {{0}};
    struct adl_telemetry_reader *reader = open_all();
    take_sample(reader, 10 * SECOND);
    script->gpus[0].power_mw = 100000;
    for (int64_t now_us = 10 * SECOND; now_us < 11 * SECOND; now_us += 50000)
        assert_int_equal(adl_telemetry_sample(reader, now_us, &err), 0);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    assert_int_equal(atomic_load(&server.served), 1);
    assert_int_equal(status_at(reader, 0)->sample_count, 1);
    take_sample(reader, 11 * SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 100);
    assert_int_equal(adl_telemetry_samples(reader)[0].time_us, 11 * SECOND);
    adl_telemetry_close(reader);
}

static void options_out_of_range_are_refused_with_what_would_be_right(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = NULL;
    struct adl_error err = {{0}};
    const struct {
        struct adl_telemetry_options options;
        const char *text;
    } bad[] = {
        {{.interval_us = 1000}, "between 0.1 s and 1 h"},
        {{.interval_us = -1}, "between 0.1 s and 1 h"},
        {{.timeout_us = 10}, "between 1 ms and 60 s"},
        {{.url_count = ADL_TELEMETRY_URLS_MAX + 1}, "at most 64 exporters"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(adl_telemetry_open(&bad[i].options, &reader, &err), ADL_EINVAL);
        assert_null(reader);
        assert_non_null(strstr(err.text, bad[i].text));
    }
}

static void a_machine_with_nothing_is_no_error(void **state)
{
    (void)state;
    uint32_t count;
    struct adl_telemetry_reader *reader = open_reader(&(struct adl_telemetry_options){.no_nvml = true, .no_amd = true});
    take_sample(reader, 0);
    assert_int_equal(device_count(reader), 0);
    adl_telemetry_status(reader, &count);
    assert_int_equal(count, 0);
    adl_telemetry_close(reader);
    adl_telemetry_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_that_two_sources_know_is_one_device),
        TEST(a_lost_gpu_has_no_readings_from_anyone),
        TEST(the_rate_of_sampling_is_bounded),
        TEST(options_out_of_range_are_refused_with_what_would_be_right),
        TEST(a_machine_with_nothing_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
