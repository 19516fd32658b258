/* Allotments against all there are: the exact answer is the least, the greedy one fits and is never less, limits and
 * odd problems are answered, equal calls give equal bits, also in two threads. */
#include "base/rng.h"
#include "solve/allotment.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GROUPS 4
#define POOLS  3
#define OFFERS 8

struct instance {
    struct adl_allotment_problem problem;
    uint32_t jobs[GROUPS], gpus[POOLS];
    double wait[GROUPS];
    struct adl_offer offers[OFFERS];
};

enum flavour { PLAIN, WHOLE_COSTS, NEGATIVE, CAPPED, FLAVOURS };

static struct adl_offer random_offer(struct adl_rng *rng, const struct adl_allotment_problem *problem, int flavour)
{
    struct adl_offer offer = {.group = {adl_rng_below(rng, problem->group_count), ADL_NONE},
                              .pool = adl_rng_below(rng, problem->pool_count),
                              .gpus = adl_rng_below(rng, 8) ? 1 + adl_rng_below(rng, 2) : 0,
                              .power_w = 50 * (1 + adl_rng_below(rng, 6))};
    if (adl_rng_below(rng, 2))
        offer.group[1] = adl_rng_below(rng, problem->group_count);
    offer.cost = flavour == WHOLE_COSTS ? adl_rng_below(rng, 4) : 10 * adl_rng_uniform(rng);
    if (flavour == NEGATIVE)
        offer.cost -= 8;
    return offer;
}

static void random_instance(struct adl_rng *rng, int flavour, struct instance *ret)
{
    struct adl_allotment_problem *problem = &ret->problem;
    *problem = (struct adl_allotment_problem){.group_count = 1 + adl_rng_below(rng, GROUPS),
                                              .pool_count = 1 + adl_rng_below(rng, POOLS),
                                              .offer_count = adl_rng_below(rng, OFFERS + 1),
                                              .group_jobs = ret->jobs,
                                              .wait_cost = ret->wait,
                                              .pool_gpus = ret->gpus,
                                              .offers = ret->offers,
                                              .power_cap_w = HUGE_VAL};
    for (uint32_t g = 0; g < problem->group_count; g++) {
        ret->jobs[g] = adl_rng_below(rng, 4);
        ret->wait[g] = flavour == WHOLE_COSTS ? adl_rng_below(rng, 5) : 10 * adl_rng_uniform(rng);
        if (flavour == NEGATIVE)
            ret->wait[g] -= 5;
    }
    for (uint32_t p = 0; p < problem->pool_count; p++)
        ret->gpus[p] = adl_rng_below(rng, 5);
    for (uint32_t o = 0; o < problem->offer_count; o++)
        ret->offers[o] = random_offer(rng, problem, flavour);
    if (flavour == CAPPED)
        problem->power_cap_w = 50 * adl_rng_below(rng, 16);
}

/* ---- what the code under test is held to; it shares nothing with it ---- */

/* The cost of a plan, summed plainly; HUGE_VAL if it does not fit. */
static double cost_of(const struct adl_allotment_problem *problem, const uint32_t *times)
{
    double cost = 0, power = 0;
    for (uint32_t o = 0; o < problem->offer_count; o++) {
        cost += times[o] * problem->offers[o].cost;
        power += times[o] * problem->offers[o].power_w;
    }
    for (uint32_t g = 0; g < problem->group_count; g++) {
        uint64_t served = 0;
        for (uint32_t o = 0; o < problem->offer_count; o++)
            for (int i = 0; i < 2; i++)
                served += problem->offers[o].group[i] == g ? times[o] : 0;
        if (served > problem->group_jobs[g])
            return HUGE_VAL;
        cost += (double)(problem->group_jobs[g] - served) * problem->wait_cost[g];
    }
    for (uint32_t p = 0; p < problem->pool_count; p++) {
        uint64_t gpus = 0;
        for (uint32_t o = 0; o < problem->offer_count; o++)
            gpus += problem->offers[o].pool == p ? (uint64_t)times[o] * problem->offers[o].gpus : 0;
        if (gpus > problem->pool_gpus[p])
            return HUGE_VAL;
    }
    return power <= problem->power_cap_w ? cost : HUGE_VAL;
}

/* The least cost of all plans that agree with times[0 .. from - 1]. Taking more never helps a plan to fit. */
static double least_cost(const struct adl_allotment_problem *problem, uint32_t *times, uint32_t from)
{
    if (from == problem->offer_count)
        return cost_of(problem, times);
    double least = HUGE_VAL;
    memset(&times[from], 0, (problem->offer_count - from) * sizeof *times);
    for (; cost_of(problem, times) < HUGE_VAL; times[from]++) {
        const uint32_t kept = times[from];
        least = fmin(least, least_cost(problem, times, from + 1));
        memset(&times[from], 0, (problem->offer_count - from) * sizeof *times);
        times[from] = kept;
    }
    times[from] = 0;
    return least;
}

static struct adl_allotment *allotment_of(uint32_t groups, uint32_t pools, uint32_t offers)
{
    struct adl_allotment *allotment = NULL;
    assert_int_equal(adl_allotment_create(groups, pools, offers, &allotment), 0);
    return allotment;
}

static const struct adl_allotment_limits exactly = {.swaps = 100, .nodes = 10000, .iterations = 100000};

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        fail_msg("%.9g is not %.9g", a, b);
}

static void the_exact_answer_is_the_least_of_all_plans(void **state)
{
    (void)state;
    struct adl_allotment *allotment = allotment_of(GROUPS, POOLS, OFFERS);
    struct adl_rng rng;
    uint32_t branched = 0;
    adl_rng_seed(&rng, 1, "allotment");
    for (int round = 0; round < 6000; round++) {
        struct instance in;
        struct adl_allotment_answer answer;
        uint32_t times[OFFERS] = {0}, scratch[OFFERS];
        random_instance(&rng, round % FLAVOURS, &in);
        const double least = least_cost(&in.problem, scratch, 0);
        adl_allotment_solve(allotment, &in.problem, &exactly, times, &answer);
        assert_near(answer.cost, cost_of(&in.problem, times));
        assert_near(answer.cost, least);
        assert_near(answer.bound, least);
        assert_true(answer.optimal);
        assert_int_equal(answer.by, ADL_ALLOTMENT_EXACT);
        branched += answer.nodes > 0;
    }
    assert_true(branched > 20); /* else the tree was not tested */
    adl_allotment_destroy(allotment);
}

static void the_greedy_answer_fits_and_is_not_better_than_the_least(void **state)
{
    (void)state;
    struct adl_allotment *allotment = allotment_of(GROUPS, POOLS, OFFERS);
    struct adl_rng rng;
    double excess = 0, saved = 0;
    adl_rng_seed(&rng, 2, "allotment");
    for (int round = 0; round < 4000; round++) {
        struct instance in;
        struct adl_allotment_answer answer;
        uint32_t times[OFFERS] = {0}, zeros[OFFERS] = {0}, scratch[OFFERS];
        random_instance(&rng, round % FLAVOURS, &in);
        for (uint32_t o = 0; o < OFFERS && round % 3 == 0; o++)
            times[o] = adl_rng_below(&rng, 4) ? adl_rng_below(&rng, 3) : UINT32_MAX; /* plans that do not fit */
        const double least = least_cost(&in.problem, scratch, 0);
        adl_allotment_solve(allotment, &in.problem, &(struct adl_allotment_limits){.swaps = 200}, times, &answer);
        assert_near(answer.cost, cost_of(&in.problem, times));
        assert_true(answer.cost > least - 1e-9);
        assert_true(answer.bound == -HUGE_VAL && !answer.optimal && answer.nodes == 0);
        assert_int_equal(answer.by, ADL_ALLOTMENT_GREEDY);
        assert_true(answer.swaps <= 200);
        excess += answer.cost - least;
        saved += cost_of(&in.problem, zeros) - least;
    }
    assert_true(excess < 0.01 * saved); /* nearly always the least */
    adl_allotment_destroy(allotment);
}

static void a_plan_to_begin_with_is_never_made_worse(void **state)
{
    (void)state;
    struct adl_allotment *allotment = allotment_of(GROUPS, POOLS, OFFERS);
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "allotment");
    for (int round = 0; round < 2000; round++) {
        struct instance in;
        struct adl_allotment_answer answer;
        uint32_t times[OFFERS] = {0};
        random_instance(&rng, round % FLAVOURS, &in);
        for (uint32_t o = 0; o < in.problem.offer_count; o++) {
            times[o] = adl_rng_below(&rng, 3);
            if (cost_of(&in.problem, times) == HUGE_VAL)
                times[o] = 0;
        }
        const double before = cost_of(&in.problem, times);
        adl_allotment_solve(allotment, &in.problem, &(struct adl_allotment_limits){0}, times, &answer);
        assert_true(answer.cost <= before + 1e-9);
        assert_int_equal(answer.swaps, 0);
    }
    adl_allotment_destroy(allotment);
}

/* ---- problems of note ---- */

static struct adl_allotment_answer solve(const struct adl_allotment_problem *problem, uint32_t nodes, uint32_t *times)
{
    struct adl_allotment *allotment = allotment_of(problem->group_count, problem->pool_count, problem->offer_count);
    struct adl_allotment_answer answer;
    struct adl_allotment_limits limits = exactly;
    limits.nodes = nodes;
    adl_allotment_solve(allotment, problem, &limits, times, &answer);
    adl_allotment_destroy(allotment);
    return answer;
}

static void nothing_to_decide_is_decided(void **state)
{
    (void)state;
    const double wait = 3;
    const uint32_t jobs = 7, gpus = 0;
    uint32_t times[1] = {4};
    struct adl_allotment_problem problem = {.group_count = 0, .power_cap_w = HUGE_VAL};
    struct adl_allotment_answer answer = solve(&problem, 100, times);
    assert_true(answer.cost == 0 && answer.optimal && answer.bound == 0);
    problem = (struct adl_allotment_problem){
        .group_count = 1, .group_jobs = &jobs, .wait_cost = &wait, .power_cap_w = HUGE_VAL};
    answer = solve(&problem, 100, times);
    assert_true(answer.cost == 21 && answer.optimal && answer.bound == 21);
    const struct adl_offer offer = {.group = {0, ADL_NONE}, .gpus = 1, .cost = 1};
    problem.pool_count = problem.offer_count = 1;
    problem.pool_gpus = &gpus;
    problem.offers = &offer;
    answer = solve(&problem, 100, times);
    assert_true(answer.cost == 21 && answer.optimal && times[0] == 0);
}

static void what_costs_more_than_waiting_waits(void **state)
{
    (void)state;
    const double wait[2] = {3, -4};
    const uint32_t jobs[2] = {2, 2}, gpus = 9;
    const struct adl_offer offers[] = {{.group = {0, ADL_NONE}, .gpus = 1, .cost = 3.5},
                                       {.group = {1, ADL_NONE}, .gpus = 1, .cost = 0},
                                       {.group = {0, 1}, .gpus = 1, .cost = -0.9}};
    const struct adl_allotment_problem problem = {2, 1, 3, jobs, wait, &gpus, offers, HUGE_VAL};
    uint32_t times[3] = {1, 1, 1};
    const struct adl_allotment_answer answer = solve(&problem, 100, times);
    assert_near(answer.cost, -2);
    assert_true(answer.optimal && times[0] == 0 && times[1] == 0 && times[2] == 0);
}

static void alike_jobs_pair_up_and_the_odd_one_runs_alone(void **state)
{
    (void)state;
    const double wait = 100;
    const uint32_t jobs = 5, gpus = 3;
    const struct adl_offer offers[] = {{.group = {0, ADL_NONE}, .gpus = 1, .cost = 1},
                                       {.group = {0, 0}, .gpus = 1, .cost = 5}};
    const struct adl_allotment_problem problem = {1, 1, 2, &jobs, &wait, &gpus, offers, HUGE_VAL};
    for (uint32_t nodes = 0; nodes < 2000; nodes += 1000) {
        uint32_t times[2] = {3, 0};
        const struct adl_allotment_answer answer = solve(&problem, nodes, times);
        assert_near(answer.cost, 11);
        assert_int_equal(times[0], 1);
        assert_int_equal(times[1], 2);
    }
}

static void a_power_cap_is_kept_to_the_watt(void **state)
{
    (void)state;
    const double wait = 10;
    const uint32_t jobs = 8, gpus[2] = {8, 8};
    const struct adl_offer offers[] = {{.group = {0, ADL_NONE}, .pool = 0, .gpus = 1, .cost = 1, .power_w = 300},
                                       {.group = {0, ADL_NONE}, .pool = 1, .gpus = 1, .cost = 4, .power_w = 100}};
    struct adl_allotment_problem problem = {1, 2, 2, &jobs, &wait, gpus, offers, HUGE_VAL};
    static const struct {
        double cap_w, cost;
    } cases[] = {{HUGE_VAL, 8}, {2400, 8}, {2399, 11}, {1000, 29}, {800, 32}, {99.9, 80}, {0, 80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t nodes = 0; nodes < 2000; nodes += 1000) {
            uint32_t times[2] = {0};
            problem.power_cap_w = cases[i].cap_w;
            assert_near(solve(&problem, nodes, times).cost, cases[i].cost);
            assert_near(cost_of(&problem, times), cases[i].cost);
        }
}

/* ---- large ones ---- */

#define BIG_GROUPS 60
#define BIG_POOLS  6
#define BIG_OFFERS 4000

struct big {
    struct adl_allotment_problem problem;
    uint32_t jobs[BIG_GROUPS], gpus[BIG_POOLS];
    double wait[BIG_GROUPS];
    struct adl_offer offers[BIG_OFFERS];
};

static struct big *big_of(uint64_t seed)
{
    struct big *big = calloc(1, sizeof *big);
    struct adl_rng rng;
    assert_non_null(big);
    adl_rng_seed(&rng, seed, "big");
    for (uint32_t g = 0; g < BIG_GROUPS; g++) {
        big->jobs[g] = 1 + adl_rng_below(&rng, 9);
        big->wait[g] = 2 + 3 * adl_rng_uniform(&rng);
    }
    for (uint32_t p = 0; p < BIG_POOLS; p++)
        big->gpus[p] = 10 + adl_rng_below(&rng, 30);
    for (uint32_t o = 0; o < BIG_OFFERS; o++) {
        const bool pair = o >= BIG_GROUPS * BIG_POOLS;
        big->offers[o] = (struct adl_offer){.group = {pair ? adl_rng_below(&rng, BIG_GROUPS) : o / BIG_POOLS, ADL_NONE},
                                            .pool = pair ? adl_rng_below(&rng, BIG_POOLS) : o % BIG_POOLS,
                                            .gpus = pair ? 1 : 1 + adl_rng_below(&rng, 2),
                                            .cost = (pair ? 2 : 1) * (0.5 + adl_rng_uniform(&rng)),
                                            .power_w = 100 + 200 * adl_rng_uniform(&rng)};
        if (pair)
            big->offers[o].group[1] = adl_rng_below(&rng, BIG_GROUPS);
    }
    big->problem = (struct adl_allotment_problem){BIG_GROUPS, BIG_POOLS, BIG_OFFERS,  big->jobs,
                                                  big->wait,  big->gpus, big->offers, seed % 2 ? HUGE_VAL : 15000};
    return big;
}

static void larger_problems_are_bounded_and_near_the_bound(void **state)
{
    (void)state;
    static uint32_t times[BIG_OFFERS];
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct big *big = big_of(seed);
        struct adl_allotment *allotment = allotment_of(BIG_GROUPS, BIG_POOLS, BIG_OFFERS);
        struct adl_allotment_answer greedy, exact;
        const bool capped = big->problem.power_cap_w < HUGE_VAL; /* one knapsack over all is hard to round */
        memset(times, 0, sizeof times);
        adl_allotment_solve(allotment, &big->problem, &(struct adl_allotment_limits){.swaps = 2000}, times, &greedy);
        assert_near(cost_of(&big->problem, times), greedy.cost);
        const struct adl_allotment_limits limits = {.swaps = 2000, .nodes = 300, .iterations = 10000, .gap = 0.002};
        memset(times, 0, sizeof times);
        adl_allotment_solve(allotment, &big->problem, &limits, times, &exact);
        assert_near(cost_of(&big->problem, times), exact.cost);
        assert_true(exact.cost <= greedy.cost && exact.bound <= exact.cost);
        assert_true(exact.cost < (capped ? 1.025 : 1.005) * exact.bound);
        assert_true(greedy.cost < (capped ? 1.1 : 1.05) * exact.bound);
        assert_true(exact.optimal == (exact.cost - exact.bound <= 0.002 * exact.cost + 1e-6));
        adl_allotment_destroy(allotment);
        free(big);
    }
}

static void limits_are_kept_and_leave_the_greedy_answer(void **state)
{
    (void)state;
    static uint32_t times[2][BIG_OFFERS];
    struct big *big = big_of(5);
    struct adl_allotment *allotment = allotment_of(BIG_GROUPS, BIG_POOLS, BIG_OFFERS);
    struct adl_allotment_answer greedy, stopped;
    memset(times, 0, sizeof times);
    adl_allotment_solve(allotment, &big->problem, &(struct adl_allotment_limits){.swaps = 50}, times[0], &greedy);
    for (uint32_t most = 0; most < 60; most++) {
        struct adl_allotment_answer few;
        memset(times[0], 0, sizeof times[0]);
        const struct adl_allotment_limits limits = {.swaps = most, .nodes = most % 2, .iterations = 500};
        adl_allotment_solve(allotment, &big->problem, &limits, times[0], &few);
        assert_true(few.swaps <= most);
    }
    const struct adl_allotment_limits limits = {.swaps = 50, .nodes = 100, .iterations = 1};
    adl_allotment_solve(allotment, &big->problem, &limits, times[1], &stopped);
    assert_false(stopped.optimal);
    assert_int_equal(stopped.nodes, 0);
    assert_true(stopped.bound < stopped.cost && stopped.cost <= greedy.cost);
    assert_true(stopped.bound > 0.5 * stopped.cost); /* what the prices say without the solver */
    assert_near(cost_of(&big->problem, times[1]), stopped.cost);
    adl_allotment_destroy(allotment);
    free(big);
}

struct outcome {
    uint32_t times[BIG_OFFERS];
    struct adl_allotment_answer answer;
};

static void solve_some(struct outcome *outcomes, bool used_before)
{
    struct adl_allotment *allotment = NULL;
    if (adl_allotment_create(BIG_GROUPS, BIG_POOLS, BIG_OFFERS, &allotment) < 0)
        return;
    const struct adl_allotment_limits limits = {.swaps = 500, .nodes = 40, .iterations = 3000};
    if (used_before) {
        struct big *other = big_of(99);
        adl_allotment_solve(allotment, &other->problem, &limits, outcomes[0].times, &outcomes[0].answer);
        memset(outcomes[0].times, 0, sizeof outcomes[0].times);
        free(other);
    }
    for (int i = 0; i < 4; i++) {
        struct big *big = big_of((uint64_t)i);
        adl_allotment_solve(allotment, &big->problem, &limits, outcomes[i].times, &outcomes[i].answer);
        free(big);
    }
    adl_allotment_destroy(allotment);
}

static void *solve_in_thread(void *outcomes)
{
    solve_some(outcomes, false);
    return NULL;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    for (int i = 0; i < 4; i++) {
        assert_memory_equal(a[i].times, b[i].times, sizeof a[i].times);
        assert_memory_equal(&a[i].answer.cost, &b[i].answer.cost, sizeof a[i].answer.cost);
        assert_memory_equal(&a[i].answer.bound, &b[i].answer.bound, sizeof a[i].answer.bound);
        assert_int_equal(a[i].answer.nodes, b[i].answer.nodes);
        assert_int_equal(a[i].answer.swaps, b[i].answer.swaps);
    }
}

static void equal_calls_give_equal_bits_also_in_two_threads(void **state)
{
    (void)state;
    struct outcome *outcomes[4];
    pthread_t threads[2];
    for (int i = 0; i < 4; i++)
        assert_non_null(outcomes[i] = calloc(4, sizeof **outcomes));
    solve_some(outcomes[0], false);
    solve_some(outcomes[1], true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, solve_in_thread, outcomes[2 + i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(outcomes[0][0].answer.cost > 0);
    for (int i = 1; i < 4; i++)
        assert_same(outcomes[0], outcomes[i]);
    for (int i = 0; i < 4; i++)
        free(outcomes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_answer_is_the_least_of_all_plans),
        cmocka_unit_test(the_greedy_answer_fits_and_is_not_better_than_the_least),
        cmocka_unit_test(a_plan_to_begin_with_is_never_made_worse),
        cmocka_unit_test(nothing_to_decide_is_decided),
        cmocka_unit_test(what_costs_more_than_waiting_waits),
        cmocka_unit_test(alike_jobs_pair_up_and_the_odd_one_runs_alone),
        cmocka_unit_test(a_power_cap_is_kept_to_the_watt),
        cmocka_unit_test(larger_problems_are_bounded_and_near_the_bound),
        cmocka_unit_test(limits_are_kept_and_leave_the_greedy_answer),
        cmocka_unit_test(equal_calls_give_equal_bits_also_in_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
