/* test_telemetry_nvml: the reader against a fake NVML library: exact values, failures, lost GPUs, old drivers. */
#include "stub_nvml.h"
#include "telemetry_fixture.h"

#include <dlfcn.h>

static const struct stub_gpu a100 = {
    .name = "NVIDIA A100-SXM4-80GB",
    .uuid = "GPU-5a6f1f6c-0c0f-4d0e-9d3c-000000000001",
    .bus = 0x3b,
    .memory_total = 81920ull << 20,
    .memory_used = 10240ull << 20,
    .busy = 87,
    .memory_busy = 41,
    .temperature_c = 63,
    .power_mw = 311500,
    .limit_mw = 400000,
    .clock_mhz = 1260,
    .clock_max_mhz = 1410,
    .sent_kbs = 2000000,
    .received_kbs = 500000,
    .energy_mj = 5000000000,
    .reference_us = 1000000,
    .process_count = 2,
    .pids = {4242, 77},
};

static struct {
    void *library;
    struct stub_nvml *script;
} stub;

static void load_stub(const char *path)
{
    stub.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(stub.library);
    stub.script = dlsym(stub.library, "stub_nvml_script");
    assert_non_null(stub.script);
    *stub.script = (struct stub_nvml){.count = 2, .gpus = {a100, a100}};
    stub.script->gpus[1].uuid = "GPU-5a6f1f6c-0c0f-4d0e-9d3c-000000000002";
    stub.script->gpus[1].name = "Tesla V100-SXM2-16GB";
    stub.script->gpus[1].bus = 0x86;
}

static int set_up(void **state)
{
    (void)state;
    load_stub(STUB_DIR "/stub_nvml.so");
    return 0;
}

static int set_up_old(void **state)
{
    (void)state;
    load_stub(STUB_DIR "/stub_nvml_old.so");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dlclose(stub.library);
    return 0;
}

static struct adl_telemetry_reader *open_stub(const char *path)
{
    return open_reader(&(struct adl_telemetry_options){.no_amd = true, .nvml_path = path});
}

static struct adl_telemetry_reader *open_new(void)
{
    return open_stub(STUB_DIR "/stub_nvml.so");
}

static void devices_are_described_as_the_driver_has_them(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    assert_int_equal(device_count(reader), 2);
    const struct adl_gpu_device *device = device_at(reader, 0);
    assert_string_equal(device->type, "a100");
    assert_string_equal(device->model, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(device->vendor, "nvidia");
    assert_string_equal(device->uuid, a100.uuid);
    assert_string_equal(device->pci, "0000:3b:00.0");
    assert_string_equal(device->node, "");
    assert_int_equal(device->index, 0);
    assert_int_equal(device->memory_mib, 81920);
    assert_true(device->limit_w == 400.0);
    assert_string_equal(device_at(reader, 1)->type, "v100-sxm2");
    assert_int_equal(device_at(reader, 1)->index, 1);
    assert_true(status_at(reader, 0)->up);
    /* Before the first sample nothing is known, and nothing is zero by agreement. */
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect_missing(reader, 0, r);
    adl_telemetry_close(reader);
    assert_int_equal(stub.script->shutdown_count, 1);
}

static void readings_come_in_the_units_of_the_model(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_UTILIZATION, 0.87);
    expect_reading(reader, 0, ADL_READ_BANDWIDTH, 0.41);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 63);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    expect_reading(reader, 0, ADL_READ_CLOCK, 1260.0 / 1410.0);
    expect_reading(reader, 0, ADL_READ_PCIE, 2.5);
    expect_missing(reader, 0, ADL_READ_SM);
    expect_missing(reader, 0, ADL_READ_TENSOR);
    expect_missing(reader, 0, ADL_READ_NVLINK); /* a rate needs two samples */
    const struct adl_gpu_sample *sample = adl_telemetry_samples(reader);
    assert_int_equal(sample->memory_used_mib, 10240);
    assert_true(sample->energy_j == 0); /* counted from the first sample */
    assert_int_equal(sample->time_us, SECOND);
    assert_false(sample->lost);
    adl_telemetry_close(reader);
}

static void counters_become_rates_between_samples(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    struct stub_gpu *gpu = &stub.script->gpus[0];
    take_sample(reader, SECOND);
    gpu->energy_mj += 600000; /* 600 J in 2 s */
    gpu->nvlink_tx_kib += 100000000;
    gpu->nvlink_rx_kib += 50000000;
    gpu->power_held_ns += 500000000;
    gpu->thermal_held_ns += 100000000;
    gpu->reference_us += 2000000;
    take_sample(reader, 3 * SECOND);
    expect_reading(reader, 0, ADL_READ_NVLINK, 150e6 * 1024 / 2 / 1e9);
    expect_reading(reader, 0, ADL_READ_THROTTLED, 0.25);
    assert_true(fabs(adl_telemetry_samples(reader)->energy_j - 600) < 1e-6);
    adl_telemetry_close(reader);
}

static void power_comes_from_the_energy_counter_where_the_sensor_is_silent(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    stub.script->gpus[0].status[STUB_POWER] = 3;
    take_sample(reader, SECOND);
    expect_missing(reader, 0, ADL_READ_POWER);
    stub.script->gpus[0].energy_mj += 500000;
    take_sample(reader, 3 * SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 250);
    adl_telemetry_close(reader);
}

static void an_energy_counter_that_restarts_or_leaps_adds_nothing(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    struct stub_gpu *gpu = &stub.script->gpus[0];
    take_sample(reader, SECOND);
    gpu->energy_mj += 100000;
    take_sample(reader, 2 * SECOND);
    gpu->energy_mj = 1000; /* the driver was loaded anew */
    take_sample(reader, 3 * SECOND);
    assert_true(fabs(adl_telemetry_samples(reader)->energy_j - 100) < 1e-6);
    gpu->energy_mj += 200000;
    take_sample(reader, 4 * SECOND);
    assert_true(fabs(adl_telemetry_samples(reader)->energy_j - 300) < 1e-6);
    const uint64_t before = fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE);
    gpu->energy_mj += 200000000; /* as if uJ were given for mJ: 200 kW */
    take_sample(reader, 5 * SECOND);
    assert_true(fabs(adl_telemetry_samples(reader)->energy_j - 300) < 1e-6);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE), before + 1);
    adl_telemetry_close(reader);
}

static void what_is_not_supported_or_fails_is_missing_and_counted(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    struct stub_gpu *gpu = &stub.script->gpus[0];
    const uint64_t absent = fault_count(reader, 0, ADL_FAULT_ABSENT), failed = fault_count(reader, 0, ADL_FAULT_FAILED);
    for (int i = 0; i < STUB_CALL_COUNT; i++)
        stub.script->gpus[1].status[i] = 3; /* not supported */
    gpu->status[STUB_UTILIZATION] = 999;
    gpu->status[STUB_PROCESSES] = 4; /* no permission */
    take_sample(reader, SECOND);
    expect_missing(reader, 0, ADL_READ_UTILIZATION);
    expect_missing(reader, 0, ADL_READ_BANDWIDTH);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    assert_false(adl_telemetry_samples(reader)[0].pids_known);
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect_missing(reader, 1, r);
    assert_false(adl_telemetry_samples(reader)[1].lost);
    assert_true(adl_telemetry_samples(reader)[1].energy_j < 0);
    assert_true(adl_telemetry_samples(reader)[1].memory_used_mib < 0);
    assert_true(fault_count(reader, 0, ADL_FAULT_ABSENT) > absent);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_FAILED), failed + 1);
    adl_telemetry_close(reader);
}

static void impossible_values_are_missing_and_never_clipped(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    struct stub_gpu *gpu = &stub.script->gpus[0];
    gpu->busy = 101;
    gpu->temperature_c = 4000;
    gpu->power_mw = 311500000; /* uW where mW belong */
    gpu->clock_mhz = 2000;     /* above its highest */
    const uint64_t before = fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE);
    take_sample(reader, SECOND);
    expect_missing(reader, 0, ADL_READ_UTILIZATION);
    expect_reading(reader, 0, ADL_READ_BANDWIDTH, 0.41);
    expect_missing(reader, 0, ADL_READ_TEMPERATURE);
    expect_missing(reader, 0, ADL_READ_POWER);
    expect_missing(reader, 0, ADL_READ_CLOCK);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE), before + 4);
    gpu->busy = 0xffffffff; /* all bits set says N/A */
    const uint64_t absent = fault_count(reader, 0, ADL_FAULT_ABSENT);
    gpu->status[STUB_VIOLATION] = 0;
    take_sample(reader, 2 * SECOND);
    expect_missing(reader, 0, ADL_READ_UTILIZATION);
    assert_true(fault_count(reader, 0, ADL_FAULT_ABSENT) > absent);
    adl_telemetry_close(reader);
}

static void a_lost_gpu_is_reported_and_its_neighbour_is_still_read(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    take_sample(reader, SECOND);
    stub.script->gpus[0].status[STUB_CLOCK] = 15; /* lost in the middle of being asked */
    take_sample(reader, 2 * SECOND);
    assert_true(adl_telemetry_samples(reader)[0].lost);
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect_missing(reader, 0, r);
    assert_false(adl_telemetry_samples(reader)[1].lost);
    expect_reading(reader, 1, ADL_READ_POWER, 311.5);
    stub.script->gpus[0].status[STUB_CLOCK] = 0; /* reset by its administrator */
    take_sample(reader, 3 * SECOND);
    assert_false(adl_telemetry_samples(reader)[0].lost);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    adl_telemetry_close(reader);
}

static void a_driver_that_is_unloaded_is_reported_and_found_again(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    take_sample(reader, SECOND);
    stub.script->gpus[0].all = 9; /* driver not loaded */
    stub.script->init_status = 9;
    take_sample(reader, 2 * SECOND);
    assert_false(status_at(reader, 0)->up);
    assert_non_null(strstr(status_at(reader, 0)->text, "Driver Not Loaded"));
    assert_false(adl_telemetry_samples(reader)[0].lost);
    expect_missing(reader, 1, ADL_READ_POWER);
    take_sample(reader, 3 * SECOND); /* tries once, then leaves it alone for a minute */
    const int tries = stub.script->init_count;
    take_sample(reader, 10 * SECOND);
    assert_int_equal(stub.script->init_count, tries);
    /* It comes back with its GPUs numbered the other way round and one more. */
    const struct stub_gpu first = stub.script->gpus[0];
    stub.script->gpus[0] = stub.script->gpus[1];
    stub.script->gpus[1] = first;
    stub.script->gpus[1].all = 0;
    stub.script->gpus[1].power_mw = 55000;
    stub.script->gpus[2] = first;
    stub.script->gpus[2].all = 0;
    stub.script->gpus[2].uuid = "GPU-new";
    stub.script->gpus[2].bus = 0xaf;
    stub.script->count = 3;
    stub.script->init_status = 0;
    take_sample(reader, 64 * SECOND);
    assert_true(status_at(reader, 0)->up);
    assert_int_equal(device_count(reader), 3);
    assert_string_equal(device_at(reader, 0)->uuid, a100.uuid);
    expect_reading(reader, 0, ADL_READ_POWER, 55);
    expect_reading(reader, 1, ADL_READ_POWER, 311.5);
    adl_telemetry_close(reader);
}

static void processes_of_both_kinds_count_once(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    stub.script->gpus[0].graphics_count = 2;
    stub.script->gpus[0].graphics_pids[0] = 77;
    stub.script->gpus[0].graphics_pids[1] = 9;
    stub.script->gpus[1].process_count = 70;
    for (unsigned i = 0; i < 70; i++)
        stub.script->gpus[1].pids[i] = 100 + i;
    take_sample(reader, SECOND);
    const struct adl_gpu_sample *samples = adl_telemetry_samples(reader);
    assert_true(samples[0].pids_known);
    assert_int_equal(samples[0].pid_count, 3);
    assert_int_equal(samples[0].pids[0], 4242);
    assert_int_equal(samples[0].pids[1], 77);
    assert_int_equal(samples[0].pids[2], 9);
    assert_int_equal(samples[1].pid_count, 70);
    assert_int_equal(samples[1].pids[ADL_GPU_PIDS_MAX - 1], 163);
    adl_telemetry_close(reader);
}

static void throttling_is_read_from_the_reasons_where_there_is_no_counter(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    for (int i = 0; i < 2; i++)
        stub.script->gpus[i].status[STUB_VIOLATION] = 3;
    stub.script->gpus[0].reasons = 0x4; /* power cap */
    stub.script->gpus[1].reasons = 0x1; /* idle is not being held back */
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_THROTTLED, 1);
    expect_reading(reader, 1, ADL_READ_THROTTLED, 0);
    adl_telemetry_close(reader);
}

static void an_old_driver_is_read_through_its_old_calls(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_stub(STUB_DIR "/stub_nvml_old.so");
    assert_int_equal(device_count(reader), 2);
    assert_string_equal(device_at(reader, 0)->pci, "0000:3b:00.0");
    stub.script->gpus[0].reasons = 0x20;
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    expect_reading(reader, 0, ADL_READ_THROTTLED, 1);
    expect_missing(reader, 0, ADL_READ_PCIE);
    assert_true(adl_telemetry_samples(reader)->energy_j < 0);
    assert_int_equal(adl_telemetry_samples(reader)->pid_count, 2);
    assert_int_equal(adl_telemetry_samples(reader)->pids[1], 77);
    adl_telemetry_close(reader);
}

static void a_machine_without_the_driver_has_no_devices_and_says_why(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_stub(STUB_DIR "/nowhere.so");
    assert_int_equal(device_count(reader), 0);
    assert_false(status_at(reader, 0)->up);
    assert_non_null(strstr(status_at(reader, 0)->text, "no NVIDIA driver here"));
    take_sample(reader, SECOND);
    adl_telemetry_close(reader);
    reader = open_stub(STUB_DIR "/stub_rocm_smi.so"); /* a library, but another one */
    assert_non_null(strstr(status_at(reader, 0)->text, "is not NVML: it has no nvmlInit_v2"));
    take_sample(reader, SECOND);
    adl_telemetry_close(reader);
}

static void the_version_of_the_driver_is_read_again_after_it_was_replaced(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_new();
    take_sample(reader, SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[0].version, ""); /* the call fails */
    adl_telemetry_close(reader);
    stub.script->version = "535.183.01";
    reader = open_new();
    take_sample(reader, SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[1].version, "535.183.01");
    stub.script->gpus[0].all = 9; /* driver not loaded */
    stub.script->version = "550.54.15";
    take_sample(reader, 2 * SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[0].version, "");
    stub.script->gpus[0].all = 0;
    for (int i = 3; i < 70; i++)
        take_sample(reader, i * SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[0].version, "550.54.15");
    adl_telemetry_close(reader);
}

static void a_driver_that_is_loaded_later_is_found(void **state)
{
    (void)state;
    stub.script->init_status = 9;
    struct adl_telemetry_reader *reader = open_new();
    assert_int_equal(device_count(reader), 0);
    take_sample(reader, SECOND);
    stub.script->init_status = 0;
    take_sample(reader, 2 * SECOND);
    assert_int_equal(device_count(reader), 0); /* not asked all the time */
    take_sample(reader, 62 * SECOND);
    assert_int_equal(device_count(reader), 2);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    adl_telemetry_close(reader);
}

static void a_gpu_without_a_handle_does_not_hide_the_others(void **state)
{
    (void)state;
    stub.script->gpus[0].no_handle = true;
    struct adl_telemetry_reader *reader = open_new();
    assert_int_equal(device_count(reader), 1);
    assert_int_equal(device_at(reader, 0)->index, 1);
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 311.5);
    adl_telemetry_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(devices_are_described_as_the_driver_has_them),
        TEST(readings_come_in_the_units_of_the_model),
        TEST(counters_become_rates_between_samples),
        TEST(power_comes_from_the_energy_counter_where_the_sensor_is_silent),
        TEST(an_energy_counter_that_restarts_or_leaps_adds_nothing),
        TEST(what_is_not_supported_or_fails_is_missing_and_counted),
        TEST(impossible_values_are_missing_and_never_clipped),
        TEST(a_lost_gpu_is_reported_and_its_neighbour_is_still_read),
        TEST(a_driver_that_is_unloaded_is_reported_and_found_again),
        TEST(processes_of_both_kinds_count_once),
        TEST(throttling_is_read_from_the_reasons_where_there_is_no_counter),
        cmocka_unit_test_setup_teardown(an_old_driver_is_read_through_its_old_calls, set_up_old, tear_down),
        TEST(a_machine_without_the_driver_has_no_devices_and_says_why),
        TEST(the_version_of_the_driver_is_read_again_after_it_was_replaced),
        TEST(a_driver_that_is_loaded_later_is_found),
        TEST(a_gpu_without_a_handle_does_not_hide_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
