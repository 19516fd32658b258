/* test_telemetry_amd: the reader against a tree like /sys and a fake ROCm SMI library. */
#include "sysfs_tree.h"

#include <dlfcn.h>

static struct sysfs_tree tree;

static int set_up(void **state)
{
    (void)state;
    tree_make(&tree);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(&tree, ".");
    rmdir(tree.root);
    return 0;
}

static struct adl_telemetry_reader *open_tree(const char *rocm)
{
    return open_reader(&(struct adl_telemetry_options){.no_nvml = true, .sysfs_root = tree.root, .rocm_path = rocm});
}

static void cards_are_numbered_as_programs_see_them(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    assert_int_equal(device_count(reader), 2);
    const struct adl_gpu_device *device = device_at(reader, 0); /* amdkfd's first, though not the first address */
    assert_string_equal(device->type, "mi50");
    assert_string_equal(device->vendor, "amd");
    assert_string_equal(device->pci, "0000:83:00.0");
    assert_string_equal(device->uuid, "GPU-2135a6d5fbd82a1c");
    assert_int_equal(device->index, 0);
    assert_int_equal(device->memory_mib, 16368);
    device = device_at(reader, 1);
    assert_string_equal(device->type, "mi100"); /* by its PCI id */
    assert_string_equal(device->uuid, "");
    assert_int_equal(device->index, 1);
    assert_true(status_at(reader, 0)->up);
    adl_telemetry_close(reader);
}

static void files_become_readings_in_the_units_of_the_model(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    take_sample(reader, SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[0].version, ""); /* the kernel's own driver has none */
    tree_put(&tree, "module/amdgpu/version", "6.7.0\n");
    take_sample(reader, 2 * SECOND);
    assert_string_equal(adl_telemetry_samples(reader)[0].version, "6.7.0");
    tree_remove(&tree, "module");
    adl_telemetry_close(reader);
    reader = open_tree("");
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_UTILIZATION, 0.94);
    expect_reading(reader, 0, ADL_READ_BANDWIDTH, 0.38);
    expect_reading(reader, 0, ADL_READ_POWER, 187);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 61);
    expect_reading(reader, 0, ADL_READ_CLOCK, 1350.0 / 1725.0);
    expect_missing(reader, 0, ADL_READ_SM);
    expect_missing(reader, 0, ADL_READ_PCIE);
    const struct adl_gpu_sample *sample = adl_telemetry_samples(reader);
    assert_int_equal(sample->memory_used_mib, 4096);
    assert_true(sample->energy_j < 0);
    assert_true(device_at(reader, 0)->limit_w == 225);
    adl_telemetry_close(reader);
}

static void a_card_without_sensors_has_the_rest(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    take_sample(reader, SECOND);
    expect_reading(reader, 1, ADL_READ_UTILIZATION, 0);
    expect_missing(reader, 1, ADL_READ_BANDWIDTH);
    expect_missing(reader, 1, ADL_READ_POWER);
    expect_missing(reader, 1, ADL_READ_TEMPERATURE);
    expect_missing(reader, 1, ADL_READ_CLOCK);
    assert_true(adl_telemetry_samples(reader)[1].memory_used_mib < 0);
    assert_false(adl_telemetry_samples(reader)[1].lost);
    assert_true(fault_count(reader, 0, ADL_FAULT_ABSENT) >= 5);
    adl_telemetry_close(reader);
}

static void a_process_counts_where_it_has_memory_or_a_queue(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    take_sample(reader, SECOND);
    const struct adl_gpu_sample *samples = adl_telemetry_samples(reader);
    assert_true(samples[0].pids_known && samples[1].pids_known);
    assert_int_equal(samples[0].pid_count, 1);
    assert_int_equal(samples[0].pids[0], 3100);
    assert_int_equal(samples[1].pid_count, 1);
    assert_int_equal(samples[1].pids[0], 3200);
    tree_remove(&tree, "class/kfd/kfd/proc");
    take_sample(reader, 2 * SECOND);
    assert_false(adl_telemetry_samples(reader)[0].pids_known);
    adl_telemetry_close(reader);
}

static void rocm_smi_gives_what_sysfs_lacks(void **state)
{
    (void)state;
    void *library = dlopen(STUB_DIR "/stub_rocm_smi.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    uint64_t *ticks = dlsym(library, "stub_rocm_ticks");
    /* The fake has the card at 83 as an MI210 with power, the one at 03 with an energy counter. */
    tree_remove(&tree, MI50 "product_name");
    tree_remove(&tree, MI50 "hwmon");
    struct adl_telemetry_reader *reader = open_tree(STUB_DIR "/stub_rocm_smi.so");
    assert_string_equal(device_at(reader, 0)->type, "mi210");
    assert_string_equal(device_at(reader, 1)->type, "mi50");
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 91);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 47);
    expect_missing(reader, 1, ADL_READ_TEMPERATURE);
    *ticks += 20000000; /* times 15.3 uJ: 306 J in 2 s */
    take_sample(reader, 3 * SECOND);
    assert_true(fabs(adl_telemetry_samples(reader)[1].energy_j - 306) < 1e-3);
    expect_reading(reader, 1, ADL_READ_POWER, 153);
    adl_telemetry_close(reader);
    dlclose(library);
}

static void newer_cards_have_other_names_for_power_and_heat(void **state)
{
    (void)state;
    tree_remove(&tree, MI50 "hwmon/hwmon4/power1_average");
    tree_remove(&tree, MI50 "hwmon/hwmon4/temp1_input");
    tree_put(&tree, MI50 "hwmon/hwmon4/power1_input", "402000000\n");
    struct adl_telemetry_reader *reader = open_tree("");
    take_sample(reader, SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 402);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 68);
    /* The driver was loaded anew and counts its monitors on. */
    tree_remove(&tree, MI50 "hwmon");
    tree_put(&tree, MI50 "hwmon/hwmon7/power1_average", "100000000\n");
    take_sample(reader, 2 * SECOND);
    expect_reading(reader, 0, ADL_READ_POWER, 100);
    adl_telemetry_close(reader);
}

static void broken_and_impossible_files_are_missing_and_counted(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    tree_put(&tree, MI50 "gpu_busy_percent", "255\n");
    tree_put(&tree, MI50 "mem_busy_percent", "12 %\n");
    tree_put(&tree, MI50 "hwmon/hwmon4/power1_average", "187000000000\n"); /* nW where uW belong */
    tree_put(&tree, MI50 "hwmon/hwmon4/temp1_input", "");
    tree_remove(&tree, MI50 "hwmon/hwmon4/temp2_input");
    tree_put(&tree, MI50 "pp_dpm_sclk", "S: 19Mhz *\n0: fast\n");
    take_sample(reader, SECOND);
    expect_missing(reader, 0, ADL_READ_UTILIZATION);
    expect_missing(reader, 0, ADL_READ_BANDWIDTH);
    expect_missing(reader, 0, ADL_READ_POWER);
    expect_missing(reader, 0, ADL_READ_TEMPERATURE);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE), 2);
    assert_true(fault_count(reader, 0, ADL_FAULT_MALFORMED) >= 1);
    tree_put(&tree, MI50 "pp_dpm_sclk", "0: 925Mhz\n1: 1725Mhz\n"); /* no level in force */
    take_sample(reader, 2 * SECOND);
    expect_missing(reader, 0, ADL_READ_CLOCK);
    adl_telemetry_close(reader);
}

static void a_card_that_vanishes_is_lost(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = open_tree("");
    take_sample(reader, SECOND);
    tree_remove(&tree, "class/drm/card1");
    take_sample(reader, 2 * SECOND);
    assert_true(adl_telemetry_samples(reader)[0].lost);
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect_missing(reader, 0, r);
    assert_false(adl_telemetry_samples(reader)[1].lost);
    adl_telemetry_close(reader);
}

static void a_machine_without_amd_cards_says_so(void **state)
{
    (void)state;
    tree_remove(&tree, "class");
    struct adl_telemetry_reader *reader = open_tree("");
    assert_int_equal(device_count(reader), 0);
    assert_false(status_at(reader, 0)->up);
    assert_non_null(strstr(status_at(reader, 0)->text, "no AMD GPU"));
    take_sample(reader, SECOND);
    adl_telemetry_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cards_are_numbered_as_programs_see_them),
        TEST(files_become_readings_in_the_units_of_the_model),
        TEST(a_card_without_sensors_has_the_rest),
        TEST(a_process_counts_where_it_has_memory_or_a_queue),
        TEST(rocm_smi_gives_what_sysfs_lacks),
        TEST(newer_cards_have_other_names_for_power_and_heat),
        TEST(broken_and_impossible_files_are_missing_and_counted),
        TEST(a_card_that_vanishes_is_lost),
        TEST(a_machine_without_amd_cards_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
