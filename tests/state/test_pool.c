/* Tests of state/pool: every index over what is free says the same as a plain array of flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "state/pool.h"
#include "state_fixture.h"

#define GPUS_MAX 1024

static struct adl_cluster random_cluster(struct adl_rng *rng)
{
    struct adl_cluster cluster = {0};
    const uint32_t types = fixture_between(rng, 1, 3), nodes = fixture_between(rng, 1, 6);
    fixture_types(&cluster, types);
    for (uint32_t n = 0; n < nodes; n++) {
        struct adl_bank_spec banks[3];
        const uint32_t count = fixture_between(rng, 1, types), first = adl_rng_below(rng, types);
        for (uint32_t b = 0; b < count; b++)
            banks[b] = (struct adl_bank_spec){fixture_round(first, b, types),
                                              adl_rng_below(rng, 4) ? fixture_between(rng, 1, 8) : 64};
        fixture_node_of(&cluster, banks, count, 1, 1);
    }
    assert_true(cluster.gpu_count <= GPUS_MAX);
    return cluster;
}

static uint32_t count_bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

static void check_pool(const struct adl_pool *pool, const struct adl_cluster *cluster, const bool *free_gpu)
{
    uint32_t by_type[ADL_TYPES_MAX] = {0};
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        uint64_t mask = 0;
        for (uint32_t i = 0; i < bank->gpu_count; i++)
            mask |= (uint64_t)free_gpu[bank->gpu_first + i] << i;
        assert_true(pool->free_mask[b] == mask);
        assert_int_equal(adl_pool_bank_free(pool, b), count_bits(mask));
        by_type[bank->type] += count_bits(mask);
        for (uint32_t f = 1; f <= pool->widest[bank->type]; f++) {
            const bool listed = adl_bitmap_next(&pool->banks[bank->type][f], b) == b;
            assert_int_equal(listed, f == count_bits(mask));
        }
    }
    for (uint32_t t = 0; t < cluster->type_count; t++)
        assert_int_equal(pool->free_gpus[t], by_type[t]);
}

static void a_new_pool_has_every_gpu_free(void **state)
{
    (void)state;
    struct adl_rng rng;
    static bool all[GPUS_MAX];
    for (uint32_t i = 0; i < GPUS_MAX; i++)
        all[i] = true;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct adl_pool pool = {0};
        adl_rng_seed(&rng, seed, "pool");
        struct adl_cluster cluster = random_cluster(&rng);
        assert_int_equal(adl_pool_create(&pool, &cluster), 0);
        check_pool(&pool, &cluster, all);
        for (uint32_t t = 0; t < cluster.type_count; t++) {
            assert_int_equal(pool.free_gpus[t], cluster.type_gpus[t]);
            assert_int_equal(adl_bitmap_next(&pool.half[t], 0), ADL_NONE);
        }
        adl_pool_clear(&pool);
        adl_cluster_clear(&cluster);
    }
}

static void taking_and_giving_keep_all_indexes_in_step(void **state)
{
    (void)state;
    struct adl_rng rng;
    static bool free_gpu[GPUS_MAX];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct adl_pool pool = {0};
        adl_rng_seed(&rng, seed, "pool");
        struct adl_cluster cluster = random_cluster(&rng);
        for (uint32_t i = 0; i < GPUS_MAX; i++)
            free_gpu[i] = true;
        assert_int_equal(adl_pool_create(&pool, &cluster), 0);
        for (int step = 0; step < 150; step++) {
            const uint32_t b = adl_rng_below(&rng, cluster.bank_count);
            const struct adl_bank *bank = &cluster.banks[b];
            const bool take = adl_rng_below(&rng, 2);
            const uint64_t request = adl_rng_next(&rng), rarer = request & adl_rng_next(&rng);
            uint64_t mask = 0;
            for (uint32_t i = 0; i < bank->gpu_count; i++)
                if ((rarer >> i & 1) && free_gpu[bank->gpu_first + i] == take) {
                    mask |= UINT64_C(1) << i;
                    free_gpu[bank->gpu_first + i] = !take;
                }
            if (take)
                adl_pool_take(&pool, b, mask);
            else
                adl_pool_give(&pool, b, mask);
            check_pool(&pool, &cluster, free_gpu);
        }
        adl_pool_clear(&pool);
        adl_cluster_clear(&cluster);
    }
}

static void a_bank_of_64_gpus_can_be_emptied_and_filled(void **state)
{
    (void)state;
    struct adl_pool pool = {0};
    struct adl_cluster cluster = fixture_plain(64);
    assert_int_equal(adl_pool_create(&pool, &cluster), 0);
    assert_int_equal(adl_bitmap_next(&pool.banks[0][64], 0), 0);
    adl_pool_take(&pool, 0, UINT64_MAX);
    assert_int_equal(pool.free_gpus[0], 0);
    assert_int_equal(adl_bitmap_next(&pool.banks[0][64], 0), ADL_NONE);
    adl_pool_give(&pool, 0, UINT64_C(1) << 63);
    assert_int_equal(adl_bitmap_next(&pool.banks[0][1], 0), 0);
    adl_pool_give(&pool, 0, UINT64_MAX >> 1);
    assert_int_equal(pool.free_gpus[0], 64);
    adl_pool_clear(&pool);
    adl_cluster_clear(&cluster);
}

static void a_zeroed_pool_can_be_cleared(void **state)
{
    (void)state;
    struct adl_pool pool = {0};
    adl_pool_clear(&pool);
    assert_null(pool.free_mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_pool_has_every_gpu_free),
        cmocka_unit_test(taking_and_giving_keep_all_indexes_in_step),
        cmocka_unit_test(a_bank_of_64_gpus_can_be_emptied_and_filled),
        cmocka_unit_test(a_zeroed_pool_can_be_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
