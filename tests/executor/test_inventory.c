/* test_inventory: what the GPUs of a machine become for the core and for people. */
#include "telemetry_fixture.h"

#include "executor/inventory.h"

#include <stdio.h>
#include <unistd.h>

static const struct adl_gpu_device devices[] = {
    {.type = "t4",
     .model = "Tesla T4",
     .vendor = "nvidia",
     .uuid = "GPU-a",
     .pci = "0000:01:00.0",
     .index = 0,
     .memory_mib = 15109},
    {.type = "mi50", .model = "Instinct MI50", .vendor = "amd", .pci = "0000:02:00.0", .index = 0, .memory_mib = 16368},
    {.type = "t4",
     .model = "Tesla T4",
     .vendor = "nvidia",
     .uuid = "GPU-b",
     .pci = "0000:03:00.0",
     .index = 1,
     .memory_mib = 15100},
    {.type = "rtx9999",
     .model = "NVIDIA RTX 9999",
     .vendor = "nvidia",
     .index = 2,
     .memory_mib = 98304,
     .limit_w = 700},
    {.type = "t4", .model = "Tesla T4", .vendor = "nvidia", .uuid = "GPU-c", .node = "elsewhere", .memory_mib = 10},
};

static struct adl_inventory found;
static struct adl_catalogue catalogue;

static int set_up(void **state)
{
    (void)state;
    struct adl_error err = {{0}};
    assert_int_equal(adl_inventory_catalogue(NULL, &catalogue, &err), 0);
    if (adl_inventory_add_devices(&found, &catalogue, devices, 5, &err))
        fail_msg("%s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    adl_inventory_clear(&found);
    adl_catalogue_clear(&catalogue);
    return 0;
}

static void gpus_of_a_type_stand_together_and_those_elsewhere_are_left_out(void **state)
{
    (void)state;
    const struct adl_cluster *cluster = &found.scenario.cluster;
    assert_false(found.virtual);
    assert_int_equal(cluster->gpu_count, 4);
    assert_int_equal(cluster->node_count, 1);
    assert_int_equal(cluster->type_count, 3);
    assert_string_equal(found.gpus[0].id, "GPU-a");
    assert_string_equal(found.gpus[1].id, "GPU-b");
    assert_string_equal(found.gpus[2].id, "0000:02:00.0");
    assert_string_equal(cluster->types[adl_gpu_type_of(cluster, 1)].name, "t4");
    assert_int_equal(adl_inventory_find(&found, "GPU-b"), 1);
    assert_int_equal(adl_inventory_find(&found, "GPU-c"), ADL_NONE);
}

static void runtimes_get_the_name_that_they_know(void **state)
{
    (void)state;
    assert_string_equal(found.gpus[1].device, "GPU-b");
    assert_int_equal(found.gpus[1].vendor, ADL_GPU_NVIDIA);
    assert_string_equal(found.gpus[2].device, "0"); /* AMD's runtime counts AMD's GPUs alone */
    assert_int_equal(found.gpus[2].vendor, ADL_GPU_AMD);
    assert_int_equal(found.gpus[2].index, 2);
    assert_string_equal(found.gpus[3].device, "2");
}

static void a_gpu_without_any_id_is_named_by_its_place(void **state)
{
    (void)state;
    char wanted[ADL_GPU_ID_SIZE];
    snprintf(wanted, sizeof wanted, "%s/rtx9999/0", found.scenario.cluster.nodes[0].name);
    assert_string_equal(found.gpus[3].id, wanted);
    assert_int_equal(adl_inventory_device_gpu(&found, devices, 3), 3);
}

static void devices_are_found_again(void **state)
{
    (void)state;
    assert_int_equal(adl_inventory_device_gpu(&found, devices, 0), 0);
    assert_int_equal(adl_inventory_device_gpu(&found, devices, 1), 2);
    assert_int_equal(adl_inventory_device_gpu(&found, devices, 2), 1);
    assert_int_equal(adl_inventory_device_gpu(&found, devices, 4), ADL_NONE);
}

static void the_driver_knows_memory_better_than_the_catalogue(void **state)
{
    (void)state;
    assert_int_equal(found.scenario.cluster.types[0].memory_mib, 15100); /* the least that both have */
    assert_true(found.scenario.cluster.types[0].fp32_tflops ==
                adl_catalogue_find_type(&catalogue, "t4")->gpu.fp32_tflops);
}

static void a_type_that_nobody_knows_is_modelled_with_caution(void **state)
{
    (void)state;
    const struct adl_gpu_type *type = &found.scenario.cluster.types[2];
    assert_string_equal(type->name, "rtx9999");
    assert_string_equal(type->vendor, "nvidia");
    assert_true(type->modelled && type->max_w == 700);
    assert_int_equal(type->memory_mib, 98304);
    assert_true(type->fp32_tflops <= adl_catalogue_find_type(&catalogue, "k80")->gpu.fp32_tflops * 2);
    assert_true(type->idle_w <= type->context_w && type->context_w <= type->max_w);
}

static void the_node_is_this_machine(void **state)
{
    (void)state;
    const struct adl_node *node = &found.scenario.cluster.nodes[0];
    assert_int_equal(node->cpu_cores, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(node->memory_mib >= 64);
    assert_true(node->name[0] && !strchr(node->name, '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_of_a_type_stand_together_and_those_elsewhere_are_left_out),
        cmocka_unit_test(runtimes_get_the_name_that_they_know),
        cmocka_unit_test(a_gpu_without_any_id_is_named_by_its_place),
        cmocka_unit_test(devices_are_found_again),
        cmocka_unit_test(the_driver_knows_memory_better_than_the_catalogue),
        cmocka_unit_test(a_type_that_nobody_knows_is_modelled_with_caution),
        cmocka_unit_test(the_node_is_this_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
