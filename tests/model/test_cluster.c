/* Tests of model/cluster: numbering, refusals that change nothing, growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/cluster.h"

static void add_types(struct adl_cluster *cluster, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct adl_gpu_type type = {.memory_mib = 1024};
        snprintf(type.name, sizeof type.name, "type-%u", i);
        assert_int_equal(adl_cluster_add_type(cluster, &type, NULL), 0);
    }
}

static void assert_node_refused(struct adl_cluster *cluster, const struct adl_bank_spec *banks, uint32_t count,
                                const char *text)
{
    const struct adl_cluster before = *cluster;
    const struct adl_node node = {.name = "odd"};
    struct adl_error err = {.text = ""};
    assert_int_equal(adl_cluster_add_node(cluster, &node, banks, count, &err), ADL_EINVAL);
    assert_string_equal(err.text, text);
    assert_memory_equal(cluster, &before, sizeof before);
}

static void gpus_are_numbered_node_by_node_and_type_by_type(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    add_types(&cluster, 3);
    const struct adl_node node = {.name = "n", .cpu_cores = 7, .memory_mib = 9};
    assert_int_equal(adl_cluster_add_node(&cluster, &node, (struct adl_bank_spec[]){{2, 3}, {0, 2}}, 2, NULL), 0);
    assert_int_equal(adl_cluster_add_node(&cluster, &node, (struct adl_bank_spec[]){{1, 4}}, 1, NULL), 0);
    const uint32_t types[] = {2, 2, 2, 0, 0, 1, 1, 1, 1}, nodes[] = {0, 0, 0, 0, 0, 1, 1, 1, 1};
    assert_int_equal(cluster.gpu_count, 9);
    for (uint32_t g = 0; g < 9; g++) {
        assert_int_equal(adl_gpu_type_of(&cluster, g), types[g]);
        assert_int_equal(adl_gpu_node_of(&cluster, g), nodes[g]);
    }
    assert_int_equal(cluster.type_gpus[0], 2);
    assert_int_equal(cluster.type_gpus[1], 4);
    assert_int_equal(cluster.type_gpus[2], 3);
    assert_int_equal(cluster.nodes[1].bank_first, 2);
    assert_int_equal(cluster.nodes[1].gpu_first, 5);
    assert_int_equal(cluster.nodes[1].cpu_cores, 7);
    adl_cluster_clear(&cluster);
}

static void a_type_is_found_by_its_name_alone(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    assert_int_equal(adl_cluster_find_type(&cluster, "type-0"), ADL_NONE);
    add_types(&cluster, 3);
    assert_int_equal(adl_cluster_find_type(&cluster, "type-2"), 2);
    assert_int_equal(adl_cluster_find_type(&cluster, "type-"), ADL_NONE);
    assert_int_equal(adl_cluster_find_type(&cluster, "type-22"), ADL_NONE);
    adl_cluster_clear(&cluster);
}

static void a_type_given_twice_is_refused(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    struct adl_error err = {.text = ""};
    add_types(&cluster, 2);
    assert_int_equal(adl_cluster_add_type(&cluster, &(struct adl_gpu_type){.name = "type-1"}, &err), ADL_EINVAL);
    assert_string_equal(err.text, "GPU type 'type-1' is given twice");
    assert_int_equal(cluster.type_count, 2);
    adl_cluster_clear(&cluster);
}

static void one_type_more_than_a_mask_holds_is_refused(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    struct adl_error err = {.text = ""};
    add_types(&cluster, ADL_TYPES_MAX);
    assert_int_equal(adl_cluster_add_type(&cluster, &(struct adl_gpu_type){.name = "last"}, &err), ADL_EINVAL);
    assert_string_equal(err.text, "more than 32 GPU types in one cluster");
    assert_int_equal(adl_cluster_find_type(&cluster, "type-31"), 31);
    adl_cluster_clear(&cluster);
}

static void a_node_that_cannot_be_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    add_types(&cluster, 2);
    const struct adl_node node = {.name = "n"};
    assert_int_equal(adl_cluster_add_node(&cluster, &node, (struct adl_bank_spec[]){{0, 64}}, 1, NULL), 0);
    assert_node_refused(&cluster, (struct adl_bank_spec[]){{0, 1}, {2, 1}}, 2,
                        "node 'odd' has a GPU type that is not in the catalogue");
    assert_node_refused(&cluster, (struct adl_bank_spec[]){{0, 0}}, 1,
                        "node 'odd' has 0 GPUs of one type; 1 to 64 are possible");
    assert_node_refused(&cluster, (struct adl_bank_spec[]){{1, 1}, {0, 65}}, 2,
                        "node 'odd' has 65 GPUs of one type; 1 to 64 are possible");
    assert_node_refused(&cluster, (struct adl_bank_spec[]){{0, 1}, {1, 1}, {0, 1}}, 3,
                        "node 'odd' lists GPU type 'type-0' twice");
    adl_cluster_clear(&cluster);
}

static void one_gpu_more_than_the_largest_cluster_is_refused(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    add_types(&cluster, 1);
    const struct adl_node node = {.name = "n"};
    for (uint32_t i = 0; i < ADL_CLUSTER_GPUS_MAX / 64; i++)
        assert_int_equal(adl_cluster_add_node(&cluster, &node, (struct adl_bank_spec[]){{0, 64}}, 1, NULL), 0);
    assert_int_equal(cluster.gpu_count, ADL_CLUSTER_GPUS_MAX);
    assert_node_refused(&cluster, (struct adl_bank_spec[]){{0, 1}}, 1, "more than 4194304 GPUs in one cluster");
    adl_cluster_clear(&cluster);
}

/* Every table says the same about every GPU, however the cluster grew. */
static void banks_nodes_and_gpus_agree_in_a_random_cluster(void **state)
{
    (void)state;
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct adl_cluster cluster = {0};
        adl_rng_seed(&rng, seed, "cluster");
        const uint32_t types = 1 + adl_rng_below(&rng, 8), nodes = adl_rng_below(&rng, 60);
        add_types(&cluster, types);
        for (uint32_t n = 0; n < nodes; n++) {
            struct adl_bank_spec banks[8];
            const uint32_t count = adl_rng_below(&rng, types + 1), first = adl_rng_below(&rng, types);
            for (uint32_t b = 0; b < count; b++)
                banks[b] = (struct adl_bank_spec){first + b < types ? first + b : first + b - types,
                                                  1 + adl_rng_below(&rng, 64)};
            const struct adl_node node = {.name = "n", .cpu_cores = (int32_t)n};
            assert_int_equal(adl_cluster_add_node(&cluster, &node, banks, count, NULL), 0);
        }
        uint32_t gpu = 0, by_type[ADL_TYPES_MAX] = {0};
        for (uint32_t b = 0; b < cluster.bank_count; b++) {
            assert_int_equal(cluster.banks[b].gpu_first, gpu);
            for (uint32_t i = 0; i < cluster.banks[b].gpu_count; i++)
                assert_int_equal(cluster.gpu_bank[gpu++], b);
            by_type[cluster.banks[b].type] += cluster.banks[b].gpu_count;
            const struct adl_node *node = &cluster.nodes[cluster.banks[b].node];
            assert_int_equal(node->cpu_cores, cluster.banks[b].node);
            assert_in_range(b, node->bank_first, node->bank_first + node->bank_count - 1);
        }
        assert_int_equal(gpu, cluster.gpu_count);
        assert_memory_equal(by_type, cluster.type_gpus, sizeof by_type);
        adl_cluster_clear(&cluster);
    }
}

static void a_zeroed_and_a_cleared_cluster_can_be_cleared(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    adl_cluster_clear(&cluster);
    add_types(&cluster, 1);
    adl_cluster_clear(&cluster);
    adl_cluster_clear(&cluster);
    assert_int_equal(cluster.type_count, 0);
    assert_null(cluster.types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_numbered_node_by_node_and_type_by_type),
        cmocka_unit_test(a_type_is_found_by_its_name_alone),
        cmocka_unit_test(a_type_given_twice_is_refused),
        cmocka_unit_test(one_type_more_than_a_mask_holds_is_refused),
        cmocka_unit_test(a_node_that_cannot_be_is_refused_and_changes_nothing),
        cmocka_unit_test(one_gpu_more_than_the_largest_cluster_is_refused),
        cmocka_unit_test(banks_nodes_and_gpus_agree_in_a_random_cluster),
        cmocka_unit_test(a_zeroed_and_a_cleared_cluster_can_be_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
