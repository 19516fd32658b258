/* Shares of time: against the simplex method, known optima, what a centre is, and the bounds that always hold. */
#include "base/rng.h"
#include "solve/lp.h"
#include "solve/shares_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define KINDS 40
#define TYPES 4

struct world {
    struct adl_shares_problem problem;
    double capacity[TYPES];
    struct adl_shares_kind kinds[KINDS];
};

/* The basis to start cold with: all columns at their lower bound, all rows basic. */
static void basis_reset(unsigned char *basis, int columns, int rows)
{
    memset(basis, ADL_LP_AT_LOWER, (size_t)columns);
    memset(basis + columns, ADL_LP_BASIC, (size_t)rows);
}

/* Crowded or empty, types that some or all cannot use, speeds that differ by orders. */
static void draw(struct adl_rng *rng, struct world *ret)
{
    *ret = (struct world){.problem = {.types = 1 + adl_rng_below(rng, TYPES), .count = 1 + adl_rng_below(rng, KINDS)}};
    ret->problem.capacity = ret->capacity;
    ret->problem.kinds = ret->kinds;
    for (uint32_t a = 0; a < ret->problem.types; a++)
        ret->capacity[a] = a > 0 && adl_rng_below(rng, 8) == 0 ? 0 : 1 + adl_rng_below(rng, 64);
    const double wide = adl_rng_below(rng, 2) ? 5 : 1;
    for (uint32_t k = 0; k < ret->problem.count; k++) {
        struct adl_shares_kind *kind = &ret->kinds[k];
        kind->jobs = 1 + adl_rng_below(rng, 3);
        kind->gpus = 1 << adl_rng_below(rng, 4);
        kind->weight = kind->gpus * (0.5 + adl_rng_uniform(rng));
        kind->age = 10 * adl_rng_uniform(rng);
        kind->left = exp(wide * (adl_rng_uniform(rng) - 0.5));
        for (uint32_t a = 0; a < ret->problem.types; a++)
            kind->speed[a] = a > 0 && adl_rng_below(rng, 5) == 0 ? 0 : exp(-wide * adl_rng_uniform(rng));
    }
}

static struct adl_shares_answer solve(struct world *world, int goal)
{
    struct adl_shares *shares = NULL;
    assert_int_equal(adl_shares_create(KINDS, ADL_SHARES_TYPES_MAX, &shares), 0);
    world->problem.goal = goal;
    const struct adl_shares_answer answer = adl_shares_solve(shares, &world->problem);
    adl_shares_destroy(shares);
    return answer;
}

static double pace(const struct world *world, uint32_t k)
{
    double u = 0;
    for (uint32_t a = 0; a < world->problem.types; a++)
        u += world->kinds[k].speed[a] * world->kinds[k].share[a];
    return u;
}

static void check_bounds(const struct world *world)
{
    double taken[TYPES] = {0};
    for (uint32_t k = 0; k < world->problem.count; k++) {
        const struct adl_shares_kind *kind = &world->kinds[k];
        double time = 0;
        for (uint32_t a = 0; a < world->problem.types; a++) {
            assert_true(kind->share[a] >= 0);
            assert_true(kind->share[a] == 0 || (kind->speed[a] > 0 && world->capacity[a] > 0));
            time += kind->share[a];
            taken[a] += kind->jobs * kind->gpus * kind->share[a];
        }
        assert_true(time <= 1 + 1e-12);
    }
    for (uint32_t a = 0; a < world->problem.types; a++)
        assert_true(taken[a] <= world->capacity[a] * (1 + 1e-12));
}

/* The largest t with weight_k u_k >= t, by the simplex method. Columns: t, then kind by kind its types. */
static double simplex_max_min(const struct world *world, const double *weight)
{
    static int start[2 + KINDS * TYPES], index[KINDS + 3 * KINDS * TYPES];
    static double value[KINDS + 3 * KINDS * TYPES], lower[1 + KINDS * TYPES], upper[1 + KINDS * TYPES];
    static double cost[1 + KINDS * TYPES], row_lower[TYPES + 2 * KINDS], row_upper[TYPES + 2 * KINDS];
    static double answer[1 + KINDS * TYPES];
    static unsigned char basis[1 + KINDS * TYPES + TYPES + 2 * KINDS];
    const int types = (int)world->problem.types, count = (int)world->problem.count;
    int columns = 1, entries = 0;
    start[0] = 0;
    cost[0] = -1;
    upper[0] = HUGE_VAL;
    for (int k = 0; k < count; k++) {
        index[entries] = types + 2 * k + 1;
        value[entries++] = -1;
        row_lower[types + 2 * k] = -HUGE_VAL;
        row_upper[types + 2 * k] = 1;
        row_lower[types + 2 * k + 1] = 0;
        row_upper[types + 2 * k + 1] = HUGE_VAL;
    }
    for (int a = 0; a < types; a++) {
        row_lower[a] = -HUGE_VAL;
        row_upper[a] = world->capacity[a];
    }
    for (int k = 0; k < count; k++)
        for (int a = 0; a < types; a++) {
            const struct adl_shares_kind *kind = &world->kinds[k];
            start[columns] = entries;
            cost[columns] = 0;
            upper[columns++] = 1;
            index[entries] = a;
            value[entries++] = kind->jobs * kind->gpus;
            index[entries] = types + 2 * k;
            value[entries++] = 1;
            index[entries] = types + 2 * k + 1;
            value[entries++] = weight[k] * kind->speed[a];
        }
    start[columns] = entries;
    memset(lower, 0, sizeof lower);
    const struct adl_lp_problem problem = {types + 2 * count, columns,  start, index, value, lower, upper, cost,
                                           row_lower,         row_upper};
    struct adl_lp *lp = NULL;
    assert_int_equal(adl_lp_create(&lp), 0);
    basis_reset(basis, columns, problem.rows);
    const struct adl_lp_answer result = adl_lp_solve(lp, &problem, 100000, basis, answer);
    adl_lp_destroy(lp);
    assert_int_equal(result.outcome, ADL_LP_OPTIMAL);
    return -result.objective;
}

static void max_min_is_what_the_simplex_method_finds(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "shares");
    for (int i = 0; i < 300; i++) {
        struct world world;
        double weight[KINDS];
        draw(&rng, &world);
        for (uint32_t k = 0; k < world.problem.count; k++)
            weight[k] = world.kinds[k].weight;
        const struct adl_shares_answer answer = solve(&world, ADL_SHARES_MAX_MIN);
        const double best = simplex_max_min(&world, weight);
        if (!answer.solved || fabs(answer.goal / best - 1) > 1e-5)
            fail_msg("world %d: %.9g after %u steps, the simplex method %.9g", i, answer.goal, answer.steps, best);
        check_bounds(&world);
        for (uint32_t k = 0; k < world.problem.count; k++)
            assert_true(weight[k] * pace(&world, k) >= answer.goal * (1 - 1e-9));
    }
}

/* If t is the least possible, paces of left / (t - age) are just possible: their max-min with these weights is 1. */
static void fair_finish_times_are_just_possible(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "shares");
    for (int i = 0; i < 300; i++) {
        struct world world;
        double weight[KINDS];
        draw(&rng, &world);
        const struct adl_shares_answer answer = solve(&world, ADL_SHARES_FINISH);
        check_bounds(&world);
        for (uint32_t k = 0; k < world.problem.count; k++) {
            const struct adl_shares_kind *kind = &world.kinds[k];
            weight[k] = (answer.goal - kind->age) / kind->left;
            assert_true(kind->age + kind->left / pace(&world, k) <= answer.goal * (1 + 1e-9));
        }
        const double possible = simplex_max_min(&world, weight);
        if (!answer.solved || fabs(possible - 1) > 1e-4)
            fail_msg("world %d: t = %.9g after %u steps leaves a factor of %.9g", i, answer.goal, answer.steps,
                     possible);
    }
}

/* sum left / u under sum gpus u = N: u grows with the root of left / gpus. */
static void the_least_sum_divides_by_roots(void **state)
{
    (void)state;
    struct world world = {.capacity = {1}, .problem = {.types = 1, .count = 3}};
    const double left[] = {1, 100, 10000}, gpus[] = {1, 4, 1};
    double roots = 0;
    world.problem.capacity = world.capacity;
    world.problem.kinds = world.kinds;
    for (int k = 0; k < 3; k++) {
        world.kinds[k] = (struct adl_shares_kind){.jobs = 1, .gpus = gpus[k], .left = left[k], .speed = {1}};
        roots += sqrt(left[k] * gpus[k]);
    }
    const struct adl_shares_answer answer = solve(&world, ADL_SHARES_SUM);
    assert_true(answer.solved);
    assert_true(fabs(answer.goal / (roots * roots) - 1) < 1e-5);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(world.kinds[k].share[0] / (sqrt(left[k] / gpus[k]) / roots) - 1) < 1e-3);
}

/* Small moves that keep the bounds do not lower the sum. */
static void no_exchange_lowers_the_sum(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "shares");
    for (int i = 0; i < 200; i++) {
        struct world world;
        draw(&rng, &world);
        const struct adl_shares_answer answer = solve(&world, ADL_SHARES_SUM);
        assert_true(answer.solved);
        check_bounds(&world);
        for (int try = 0; try < 50 && world.problem.count > 1; try++) {
            const uint32_t a = adl_rng_below(&rng, world.problem.types);
            struct adl_shares_kind *from = &world.kinds[adl_rng_below(&rng, world.problem.count)];
            struct adl_shares_kind *to = &world.kinds[adl_rng_below(&rng, world.problem.count)];
            double time = 1, sum = 0;
            for (uint32_t b = 0; b < world.problem.types; b++)
                time -= to->share[b];
            const double move = 0.1 * fmin(from->share[a] * from->jobs * from->gpus, time * to->jobs * to->gpus);
            if (from == to || to->speed[a] == 0 || !(move > 0))
                continue;
            const double kept[] = {from->share[a], to->share[a]};
            from->share[a] -= move / (from->jobs * from->gpus);
            to->share[a] += move / (to->jobs * to->gpus);
            for (uint32_t k = 0; k < world.problem.count; k++)
                sum += world.kinds[k].jobs * world.kinds[k].left / pace(&world, k);
            assert_true(sum > answer.goal * (1 - 1e-6));
            from->share[a] = kept[0];
            to->share[a] = kept[1];
        }
    }
}

/* A floor that leaves room: no job loses against another, jobs that are alike get alike however they are counted. */
static void the_centre_treats_equals_equally(void **state)
{
    (void)state;
    struct world apart = {.capacity = {4, 4}, .problem = {.types = 2, .count = 4}};
    apart.problem.capacity = apart.capacity;
    apart.problem.kinds = apart.kinds;
    for (int k = 0; k < 4; k++)
        apart.kinds[k] = (struct adl_shares_kind){.jobs = 1, .gpus = 1, .weight = 1, .speed = {1, k == 0 ? 0.5 : 1}};
    struct world together = apart;
    together.problem.capacity = together.capacity;
    together.problem.kinds = together.kinds;
    together.problem.count = 2;
    together.kinds[1].jobs = 3;
    struct world *const both[] = {&apart, &together};
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(solve(both[i], ADL_SHARES_MAX_MIN).goal - 1) < 1e-5);
        both[i]->problem.floor = 0.5;
        assert_true(solve(both[i], ADL_SHARES_FLOOR).solved);
        check_bounds(both[i]);
        for (uint32_t k = 0; k < both[i]->problem.count; k++)
            assert_true(pace(both[i], k) > 0.55);
        /* Both types are as good for it, so it has as much of each as the loads of the types allow. */
        assert_true(both[i]->kinds[1].share[0] > 0.3 && both[i]->kinds[1].share[1] > 0.3);
    }
    for (int a = 0; a < 2; a++) {
        assert_true(fabs(apart.kinds[1].share[a] - apart.kinds[3].share[a]) < 1e-12);
        assert_true(fabs(apart.kinds[0].share[a] - together.kinds[0].share[a]) < 1e-2);
        assert_true(fabs(apart.kinds[2].share[a] - together.kinds[1].share[a]) < 1e-2);
    }
}

/* Bodies for long and for short vectors do the same operations on each kind. */
static void any_processor_gives_the_same_bits(void **state)
{
    (void)state;
    struct adl_rng rng;
    struct adl_shares *shares = NULL;
    adl_rng_seed(&rng, 3, "shares");
    assert_int_equal(adl_shares_create(KINDS, ADL_SHARES_TYPES_MAX, &shares), 0);
    const bool has_long_vectors = shares->wide;
    for (int i = 0; i < 200 && has_long_vectors; i++) {
        struct world one, other;
        draw(&rng, &one);
        one.problem.types = i % 2 ? one.problem.types : 3;
        one.problem.goal = i % 4 < 2 ? ADL_SHARES_MAX_MIN : i % 4 == 2 ? ADL_SHARES_FINISH : ADL_SHARES_SUM;
        other = one;
        one.problem.capacity = one.capacity;
        one.problem.kinds = one.kinds;
        other.problem.capacity = other.capacity;
        other.problem.kinds = other.kinds;
        shares->wide = false;
        const struct adl_shares_answer plain = adl_shares_solve(shares, &one.problem);
        shares->wide = true;
        const struct adl_shares_answer wide = adl_shares_solve(shares, &other.problem);
        assert_int_equal(plain.steps, wide.steps);
        assert_memory_equal(&plain.goal, &wide.goal, sizeof plain.goal);
        assert_memory_equal(one.kinds, other.kinds, sizeof one.kinds);
    }
    adl_shares_destroy(shares);
    if (!has_long_vectors) {
        print_message("skipped: this processor has no AVX2\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_min_is_what_the_simplex_method_finds),
        cmocka_unit_test(fair_finish_times_are_just_possible),
        cmocka_unit_test(the_least_sum_divides_by_roots),
        cmocka_unit_test(no_exchange_lowers_the_sum),
        cmocka_unit_test(the_centre_treats_equals_equally),
        cmocka_unit_test(any_processor_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
