/* Tests of hypervectors: the algebra that records rest on, and that the fast kernels give the bits of the plain ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "hdc/hypervector.h"

enum { VECTORS = 31 };

static void draw(uint64_t seed, uint32_t count, struct adl_hypervector *ret)
{
    for (uint32_t i = 0; i < count; i++)
        adl_hypervector_item(seed, i, &ret[i]);
}

static uint32_t distance(const struct adl_hypervector *a, const struct adl_hypervector *b)
{
    return adl_hypervector_distance(adl_hyper_ops_plain(), a, b);
}

static void vectors_of_different_symbols_are_unrelated(void **unused)
{
    (void)unused;
    struct adl_hypervector vectors[VECTORS], again, other;
    draw(1, VECTORS, vectors);
    for (uint32_t i = 0; i < VECTORS; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_in_range(distance(&vectors[i], &vectors[j]), 4096 - 226, 4096 + 226);
    adl_hypervector_item(1, 7, &again);
    adl_hypervector_item(2, 7, &other);
    assert_int_equal(distance(&vectors[7], &again), 0);
    assert_in_range(distance(&vectors[7], &other), 4096 - 226, 4096 + 226);
}

static void binding_is_undone_by_binding_and_keeps_distances(void **unused)
{
    (void)unused;
    struct adl_hypervector v[3], bound[2], back;
    draw(3, 3, v);
    adl_hypervector_bind(&v[0], &v[2], &bound[0]);
    adl_hypervector_bind(&v[1], &v[2], &bound[1]);
    assert_int_equal(distance(&bound[0], &bound[1]), distance(&v[0], &v[1]));
    assert_true(distance(&bound[0], &v[0]) > 4096 - 226);
    adl_hypervector_bind(&bound[0], &v[2], &back);
    assert_memory_equal(&back, &v[0], sizeof back);
}

static void rotation_keeps_distances_and_comes_round(void **unused)
{
    (void)unused;
    static const uint32_t by[] = {1, 63, 64, 65, 1021, 8191};
    struct adl_hypervector v[2], rotated[2], back;
    draw(4, 2, v);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        adl_hypervector_rotate(&v[0], by[i], &rotated[0]);
        adl_hypervector_rotate(&v[1], by[i], &rotated[1]);
        assert_int_equal(distance(&rotated[0], &rotated[1]), distance(&v[0], &v[1]));
        assert_true(distance(&rotated[0], &v[0]) > 4096 - 226);
        adl_hypervector_rotate(&rotated[0], ADL_HYPER_BITS - by[i], &back);
        assert_memory_equal(&back, &v[0], sizeof back);
    }
    adl_hypervector_rotate(&v[0], 0, &back);
    assert_memory_equal(&back, &v[0], sizeof back);
}

static int bit_of(const struct adl_hypervector *v, uint32_t bit)
{
    return (int)(v->words[bit / 64] >> bit % 64 & 1);
}

/* Counted bit by bit. With an even number of votes a tie must go to the vector that was put beside the others. */
static void a_bundle_is_the_weighted_majority_of_its_parts(void **unused)
{
    (void)unused;
    struct adl_hypervector v[VECTORS + 1], bundle;
    uint8_t weights[VECTORS + 1];
    for (uint32_t count = 1; count <= VECTORS; count++) {
        int votes = 0;
        draw(5, count, v);
        for (uint32_t i = 0; i < count; i++)
            votes += weights[i] = (uint8_t)(1 + (i * 5 + count) % 7);
        adl_hypervector_bundle(adl_hyper_ops_plain(), v, weights, count, &bundle);
        for (uint32_t bit = 0; bit < ADL_HYPER_BITS; bit++) {
            int ones = 0;
            for (uint32_t i = 0; i < count; i++)
                ones += bit_of(&v[i], bit) * weights[i];
            const int expected = 2 * ones == votes ? bit_of(&v[count], bit) : 2 * ones > votes;
            assert_int_equal(bit_of(&bundle, bit), expected);
        }
    }
}

static void a_bundle_is_nearest_to_what_has_most_weight(void **unused)
{
    (void)unused;
    struct adl_hypervector v[4], bundle;
    uint8_t weights[4] = {1, 2, 4, 0};
    draw(6, 3, v);
    adl_hypervector_bundle(adl_hyper_ops_plain(), v, weights, 3, &bundle);
    assert_int_equal(distance(&bundle, &v[2]), 0); /* it has the majority alone */
    weights[2] = 2;
    adl_hypervector_bundle(adl_hyper_ops_plain(), v, weights, 3, &bundle);
    assert_true(distance(&bundle, &v[1]) < distance(&bundle, &v[0]));
    assert_true(distance(&bundle, &v[0]) < 4096);
}

static void masks_grow_by_equal_steps_and_contain_each_other(void **unused)
{
    (void)unused;
    struct adl_hypervector masks[32], none = {{0}}, common;
    adl_hypervector_masks(9, 4096, 32, masks);
    for (uint32_t m = 0; m < 32; m++) {
        assert_int_equal(distance(&masks[m], &none), m * 128);
        for (uint32_t w = 0; m > 0 && w < ADL_HYPER_WORDS; w++)
            common.words[w] = masks[m].words[w] & masks[m - 1].words[w];
        if (m > 0)
            assert_memory_equal(&common, &masks[m - 1], sizeof common);
    }
}

/* Those that this processor has: the best, and those for AVX2 if there are better ones. */
static int fast_or_skip(const struct adl_hyper_ops *ret[2])
{
    if (adl_hyper_ops_best() == adl_hyper_ops_plain())
        skip(); /* this processor has no fast kernels */
    ret[0] = adl_hyper_ops_best();
    ret[1] = adl_hyper_ops_avx2();
    return ret[1] ? 2 : 1;
}

static void check_distances(const struct adl_hyper_ops *fast)
{
    const struct adl_hyper_ops *plain = adl_hyper_ops_plain();
    struct adl_hypervector v[VECTORS];
    uint32_t got[VECTORS], expected[VECTORS];
    draw(7, VECTORS, v);
    memset(&v[0], 0, sizeof v[0]);
    memset(&v[1], 0xff, sizeof v[1]); /* the two farthest: every counter at its most */
    for (uint32_t query = 0; query < VECTORS; query++) {
        fast->distances(v[query].words, v[0].words, VECTORS, got);
        plain->distances(v[query].words, v[0].words, VECTORS, expected);
        assert_memory_equal(got, expected, sizeof got);
        fast->distances_prefix(v[query].words, v[0].words, VECTORS, got);
        plain->distances_prefix(v[query].words, v[0].words, VECTORS, expected);
        assert_memory_equal(got, expected, sizeof got);
    }
    assert_int_equal(distance(&v[0], &v[1]), ADL_HYPER_BITS);
}

static void fast_distances_equal_plain_ones(void **unused)
{
    (void)unused;
    const struct adl_hyper_ops *fast[2];
    for (int i = fast_or_skip(fast); i-- > 0;)
        check_distances(fast[i]);
}

static void check_majorities(const struct adl_hyper_ops *fast)
{
    struct adl_hypervector v[VECTORS + 1], got, expected;
    uint8_t weights[VECTORS + 1];
    struct adl_rng rng;
    adl_rng_seed(&rng, 8, "weights");
    for (uint32_t count = 1; count <= VECTORS; count++) {
        draw(count, count, v);
        for (uint32_t i = 0; i < count; i++)
            weights[i] = (uint8_t)(1 + adl_rng_below(&rng, 254 / count));
        adl_hypervector_bundle(adl_hyper_ops_plain(), v, weights, count, &expected);
        adl_hypervector_bundle(fast, v, weights, count, &got);
        assert_memory_equal(&got, &expected, sizeof got);
    }
}

static void fast_majorities_equal_plain_ones(void **unused)
{
    (void)unused;
    const struct adl_hyper_ops *fast[2];
    for (int i = fast_or_skip(fast); i-- > 0;)
        check_majorities(fast[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_different_symbols_are_unrelated),
        cmocka_unit_test(binding_is_undone_by_binding_and_keeps_distances),
        cmocka_unit_test(rotation_keeps_distances_and_comes_round),
        cmocka_unit_test(a_bundle_is_the_weighted_majority_of_its_parts),
        cmocka_unit_test(a_bundle_is_nearest_to_what_has_most_weight),
        cmocka_unit_test(masks_grow_by_equal_steps_and_contain_each_other),
        cmocka_unit_test(fast_distances_equal_plain_ones),
        cmocka_unit_test(fast_majorities_equal_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
