/* test_gpu_name: drivers' names and addresses as we write them, and numbers with units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scenario/catalogue.h"
#include "telemetry/gpu_name.h"
#include "telemetry/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *model, *type;
    bool listed; /* in the catalogue under this name */
} names[] = {
    {"NVIDIA A100-SXM4-80GB", "a100", true},
    {"NVIDIA A100 80GB PCIe", "a100", true},
    {"A100-PCIE-40GB", "a100", true},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100-1g.5gb", true},
    {"a100_3g.20gb", "a100-3g.20gb", true},
    {"NVIDIA H100 80GB HBM3 MIG 2g.20gb", "h100-2g.20gb", true},
    {"NVIDIA A100-SXM4-80GB MIG 1g.20gb", "a100-1g.20gb", true},
    {"Tesla V100-SXM2-16GB", "v100-sxm2", true},
    {"Tesla V100-PCIE-32GB", "v100", true},
    {"Tesla T4", "t4", true},
    {"Tesla K80", "k80", true},
    {"Tesla P100-PCIE-16GB", "p100", true},
    {"NVIDIA H100 80GB HBM3", "h100-sxm5", true},
    {"NVIDIA H100 PCIe", "h100", true},
    {"NVIDIA H100 NVL", "h100-nvl", true},
    {"NVIDIA H200", "h200", true},
    {"NVIDIA GH200 480GB", "gh200", true},
    {"NVIDIA B200", "b200", true},
    {"Tesla P40", "p40", true},
    {"NVIDIA GeForce GTX 1080 Ti", "gtx1080ti", true},
    {"NVIDIA GeForce RTX 3090", "rtx3090", true},
    {"NVIDIA TITAN RTX", "titanrtx", true},
    {"Quadro RTX 8000", "rtx8000", true},
    {"NVIDIA A10", "a10", true},
    {"NVIDIA A16", "a16", true},
    {"NVIDIA L4", "l4", true},
    {"NVIDIA L40S", "l40s", true},
    {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti", true},
    {"NVIDIA GeForce RTX 4090", "rtx4090", true},
    {"Quadro RTX 6000", "rtx6000", true},
    {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada", true},
    {"NVIDIA RTX A6000", "a6000", true},
    {"AMD Instinct MI250X / MI250", "mi250x", true},
    {"AMD Instinct MI300X OAM", "mi300x", true},
    {"AMD Instinct MI300A", "mi300a", true},
    {"AMD Instinct MI325X", "mi325x", true},
    {"AMD Instinct MI250", "mi250", true},
    {"AMD Radeon RX 7900 XTX", "rx7900xtx", true},
    {"Radeon Instinct MI50", "mi50", true},
    {"AMD Radeon VII", "radeon-vii", true},
    {"AMD Radeon PRO W6800", "w6800", false},
    {"NVIDIA", "unknown", false},
    {"", "unknown", false},
    {"\x01\xff/../", "unknown", false},
};

static char *read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = malloc(1 << 20);
    assert_non_null(data);
    *ret_size = fread(data, 1, 1 << 20, file);
    fclose(file);
    return data;
}

static void drivers_names_become_the_catalogues(void **state)
{
    (void)state;
    size_t size;
    struct adl_catalogue catalogue = {0};
    struct adl_error err = {{0}};
    char *text = read_file(ADL_SOURCE_DIR "/scenarios/catalogue.yaml", &size);
    assert_int_equal(adl_catalogue_parse("catalogue", text, size, &catalogue, &err), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char type[ADL_NAME_SIZE];
        assert_string_equal(adl_gpu_name_shorten(names[i].model, type), names[i].type);
        if ((adl_catalogue_find_type(&catalogue, type) != NULL) != names[i].listed)
            fail_msg("%s is %sin the catalogue", type, names[i].listed ? "not " : "");
    }
    adl_catalogue_clear(&catalogue);
    free(text);
}

static void long_names_are_cut_and_stay_names(void **state)
{
    (void)state;
    char model[600], type[ADL_NAME_SIZE];
    memset(model, 'Z', sizeof model - 1);
    model[sizeof model - 1] = '\0';
    assert_true(strlen(adl_gpu_name_shorten(model, type)) == ADL_NAME_SIZE - 1);
    for (size_t i = 50; i < sizeof model - 1; i += 50)
        model[i] = ' ';
    assert_true(strlen(adl_gpu_name_shorten(model, type)) == ADL_NAME_SIZE - 1);
}

static void chips_of_one_id_are_told_apart_by_memory(void **state)
{
    (void)state;
    assert_string_equal(adl_gpu_name_amd(0x66a1, 16368), "Radeon Instinct MI50");
    assert_string_equal(adl_gpu_name_amd(0x66a1, 32752), "Radeon Instinct MI60");
    assert_string_equal(adl_gpu_name_amd(0x740f, 65520), "AMD Instinct MI210");
    assert_null(adl_gpu_name_amd(0x1234, 0));
}

static void addresses_have_one_spelling(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "3b:00.0",
                                      "0000:3b:00",
                                      "0000:3b:20.0",
                                      "0000:3b:00.8",
                                      "0000:100:00.0",
                                      "0000:3b:00.0 ",
                                      "g000:3b:00.0",
                                      "-1:3b:00.0",
                                      "0000: 3b:00.0"};
    char pci[ADL_PCI_SIZE] = "as before";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(adl_pci_normalize(bad[i], pci));
        assert_string_equal(pci, "as before");
    }
    assert_true(adl_pci_normalize("00000000:3B:00.0", pci));
    assert_string_equal(pci, "0000:3b:00.0");
    assert_true(adl_pci_normalize("00010000:AF:1f.7", pci));
    assert_string_equal(pci, "10000:af:1f.7");
}

static double convert(double raw, int unit)
{
    struct adl_reading_faults faults = {{0}};
    double value = NAN;
    if (!adl_reading_check(raw, unit, &faults, &value))
        assert_true(faults.count[ADL_FAULT_ABSENT] + faults.count[ADL_FAULT_IMPOSSIBLE] == 1);
    return value;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

static void units_are_converted(void **state)
{
    (void)state;
    assert_true(is_near(convert(250000, ADL_UNIT_MW), 250));
    assert_true(is_near(convert(250000000, ADL_UNIT_UW), 250));
    assert_true(is_near(convert(5000, ADL_UNIT_MJ), 5));
    assert_true(is_near(convert(5e6, ADL_UNIT_UJ), 5));
    assert_true(is_near(convert(1048576, ADL_UNIT_BYTE), 1));
    assert_true(is_near(convert(1000, ADL_UNIT_MB), 953.67431640625));
    assert_true(is_near(convert(37, ADL_UNIT_PERCENT), 0.37));
    assert_true(is_near(convert(8000, ADL_UNIT_MBIT_PER_S), 1));
    assert_true(is_near(convert(65535, ADL_UNIT_MW), 65.535)); /* not 16 set bits */
    assert_true(is_near(convert(0, ADL_UNIT_C), 0));
    assert_int_equal(adl_unit_find("mW", 2), ADL_UNIT_MW);
    assert_int_equal(adl_unit_find("MW", 2), ADL_UNIT_NONE); /* a GPU of megawatts */
    assert_int_equal(adl_unit_find("Watts", 5), ADL_UNIT_W);
    assert_int_equal(adl_unit_find("MiB)", 3), ADL_UNIT_MIB);
    assert_int_equal(adl_unit_find("", 0), ADL_UNIT_NONE);
}

static void what_means_no_value_is_no_value(void **state)
{
    (void)state;
    static const double blanks[] = {2147483632.0,
                                    2147483633.0,
                                    2147483634.0,
                                    2147483635.0,
                                    140737488355328.,
                                    140737488355331.,
                                    9223372036854775792.,
                                    9223372036854775807.,
                                    4294967295.0,
                                    18446744073709551615.,
                                    -1.0};
    struct adl_reading_faults faults = {{0}};
    double value = 42;
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        assert_false(adl_reading_check(blanks[i], ADL_UNIT_MJ, &faults, &value));
    assert_false(adl_reading_check(NAN, ADL_UNIT_W, &faults, &value));
    assert_false(adl_reading_check(INFINITY, ADL_UNIT_W, &faults, &value));
    assert_false(adl_reading_check(65535, ADL_UNIT_PERCENT, &faults, &value));
    assert_int_equal(faults.count[ADL_FAULT_ABSENT], sizeof blanks / sizeof *blanks + 3);
    assert_int_equal(faults.count[ADL_FAULT_IMPOSSIBLE], 0);
    assert_false(adl_reading_check(-2, ADL_UNIT_W, &faults, &value));
    assert_int_equal(faults.count[ADL_FAULT_IMPOSSIBLE], 1);
    assert_true(value == 42);
}

static void counters_that_go_back_or_stand_in_time_give_no_rate(void **state)
{
    (void)state;
    struct adl_counter counter = {0};
    double rate = -7;
    assert_false(adl_counter_rate(&counter, 100, 1000000, &rate));
    assert_true(adl_counter_rate(&counter, 150, 1500000, &rate));
    assert_true(is_near(rate, 100));
    assert_false(adl_counter_rate(&counter, 160, 1500000, &rate));
    assert_false(adl_counter_rate(&counter, 160, 1000000, &rate));
    assert_false(adl_counter_rate(&counter, 5, 2000000, &rate));
    assert_true(adl_counter_rate(&counter, 6, 3000000, &rate));
    assert_true(is_near(rate, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_names_become_the_catalogues),
        cmocka_unit_test(long_names_are_cut_and_stay_names),
        cmocka_unit_test(chips_of_one_id_are_told_apart_by_memory),
        cmocka_unit_test(addresses_have_one_spelling),
        cmocka_unit_test(units_are_converted),
        cmocka_unit_test(what_means_no_value_is_no_value),
        cmocka_unit_test(counters_that_go_back_or_stand_in_time_give_no_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
