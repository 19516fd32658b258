/* The arena: the suite is frozen, shifts keep the load, the best peer is the best, and a win needs a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiment/arena_setup.h"
#include "experiment/arena_summary.h"
#include "scenario/generator.h"
#include "scenario/load.h"
#include "sim/world_sim.h"

#include <math.h>
#include <string.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, not %.9g", value, expected);
}

/* ---- the suite ---- */

static void the_suite_has_24_random_scenarios_and_no_name_twice(void **state)
{
    (void)state;
    struct adl_arena_entry entries[ADL_ARENA_ENTRIES_MAX];
    uint32_t randoms = 0;
    const uint32_t count = adl_arena_suite(false, entries);
    for (uint32_t i = 0; i < count; i++) {
        randoms += entries[i].group == ADL_ARENA_RANDOM;
        assert_true(entries[i].seeds > 0);
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(entries[i].name, entries[j].name);
    }
    assert_int_equal(randoms, 24);
}

static void the_quick_form_is_a_part_of_the_suite(void **state)
{
    (void)state;
    struct adl_arena_entry all[ADL_ARENA_ENTRIES_MAX], quick[ADL_ARENA_ENTRIES_MAX];
    const uint32_t count = adl_arena_suite(false, all), quick_count = adl_arena_suite(true, quick);
    assert_true(quick_count > 0 && quick_count < count);
    for (uint32_t i = 0; i < quick_count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < count; j++)
            found = found || strcmp(quick[i].name, all[j].name) == 0;
        assert_true(found);
        assert_true(quick[i].seeds > 0);
    }
}

static double load_of(const struct adl_arena_request *request, const struct adl_arena_entry *entry, uint64_t *ret_hash)
{
    struct adl_arena_setup setup;
    struct adl_arena_workload workload;
    struct adl_error err;
    double capacity = 0;
    if (adl_arena_setup(request, entry, &setup, &workload, &err))
        fail_msg("%s", err.text);
    assert_string_equal(workload.skipped, "");
    if (adl_scenario_capacity(&setup.scenario, &capacity, &err))
        fail_msg("%s", err.text);
    const double load = setup.scenario.workload.arrivals.rate_per_h / capacity;
    *ret_hash = setup.hash;
    adl_arena_setup_clear(&setup);
    return load;
}

/* All shifts are of paper16. */
static void a_shift_keeps_the_load_unless_it_shifts_the_load(void **state)
{
    (void)state;
    const struct adl_arena_request request = {.first_seed = 1, .regime = ADL_REGIME_DECLARED};
    struct adl_arena_entry entries[ADL_ARENA_ENTRIES_MAX];
    const uint32_t count = adl_arena_suite(false, entries);
    uint64_t hash = 0, first_hash = 0;
    const double load = load_of(&request, &entries[0], &first_hash);
    uint32_t shifts = 0;
    assert_string_equal(entries[0].name, "paper16");
    for (uint32_t i = 0; i < count; i++) {
        const double factor = entries[i].shift.load > 0 ? entries[i].shift.load : 1;
        if (entries[i].group != ADL_ARENA_SHIFT)
            continue;
        assert_near(load_of(&request, &entries[i], &hash), load * factor, 1e-6);
        assert_true(hash != first_hash);
        shifts++;
    }
    assert_true(shifts >= 5);
}

static void a_workload_without_its_data_is_skipped_with_the_reason(void **state)
{
    (void)state;
    const struct adl_arena_request request = {.first_seed = 1, .regime = ADL_REGIME_DECLARED};
    struct adl_arena_entry entries[ADL_ARENA_ENTRIES_MAX];
    const uint32_t count = adl_arena_suite(false, entries);
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct adl_arena_setup setup;
        struct adl_arena_workload workload;
        struct adl_error err;
        if (!entries[i].trace && !entries[i].measured)
            continue;
        assert_int_equal(adl_arena_setup(&request, &entries[i], &setup, &workload, &err), 0);
        assert_non_null(strstr(workload.skipped, "--data"));
        skipped++;
    }
    assert_true(skipped >= 4);
}

static void other_seeds_give_other_random_scenarios(void **state)
{
    (void)state;
    const struct adl_arena_request one = {.first_seed = 1}, other = {.first_seed = ADL_GENERATOR_VALIDATION_SEED};
    const struct adl_arena_entry entry = {
        .name = "small-1", .group = ADL_ARENA_RANDOM, .size = ADL_GENERATOR_SMALL, .seeds = 1};
    uint64_t hash, other_hash;
    load_of(&one, &entry, &hash);
    load_of(&other, &entry, &other_hash);
    assert_true(hash != other_hash);
}

/* ---- the summary: three policies, ours the last, on two workloads of four seeds and one of a single run ---- */

#define POLICIES  3
#define WORKLOADS 3
#define SEEDS     4

struct sample {
    struct adl_arena arena;
    struct adl_arena_policy policies[POLICIES];
    struct adl_arena_workload workloads[WORKLOADS];
    struct adl_arena_cell cells[WORKLOADS * POLICIES];
    struct adl_result runs[WORKLOADS * POLICIES][SEEDS];
};

/* Mean JCT of each seed: base, times a little that differs from seed to seed and policy to policy. */
static void fill(struct sample *sample, uint32_t workload, uint32_t policy, double base)
{
    struct adl_arena_cell *cell = &sample->cells[workload * POLICIES + policy];
    cell->state = ADL_ARENA_DONE;
    cell->runs = sample->runs[workload * POLICIES + policy];
    for (uint32_t s = 0; s < SEEDS; s++)
        cell->runs[s].value[ADL_METRIC_JCT_MEAN] = base * (1 + 0.01 * ((s * 7 + policy * 3) % 5));
}

static void make(struct sample *sample)
{
    static const double bases[WORKLOADS][POLICIES] = {{100, 80, 40}, {50, 60, 100}, {10, 20, 5}};
    memset(sample, 0, sizeof *sample);
    sample->arena = (struct adl_arena){.ours = 2,
                                       .policy_count = POLICIES,
                                       .workload_count = WORKLOADS,
                                       .policies = sample->policies,
                                       .workloads = sample->workloads,
                                       .cells = sample->cells};
    sample->policies[2].ours = true;
    for (uint32_t w = 0; w < WORKLOADS; w++) {
        sample->workloads[w].group = adl_arena_group_names[w == 2 ? ADL_ARENA_TRACE : ADL_ARENA_FROZEN];
        sample->workloads[w].seed_count = w == 2 ? 1 : SEEDS;
        for (uint32_t p = 0; p < POLICIES; p++)
            fill(sample, w, p, bases[w][p]);
    }
}

static void the_best_peer_of_each_workload_is_compared_with_ours(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    assert_int_equal(sample.workloads[0].best_peer, 1);
    assert_int_equal(sample.workloads[1].best_peer, 0);
    assert_near(sample.workloads[0].ours.ratio, 0.5, 0.02);
    assert_near(sample.workloads[1].ours.ratio, 2, 0.08);
    assert_true(sample.workloads[0].ours.lo < sample.workloads[0].ours.ratio);
    assert_true(sample.workloads[0].ours.hi > sample.workloads[0].ours.ratio);
    assert_int_equal(sample.workloads[0].verdict, ADL_ARENA_WIN);
    assert_int_equal(sample.workloads[1].verdict, ADL_ARENA_LOSS);
    assert_near(sample.cells[1].versus_peer.ratio, 1, 0);
    assert_near(sample.cells[0].versus_peer.ratio, 1.25, 0.05);
}

static void one_run_is_neither_won_nor_lost(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    assert_int_equal(sample.workloads[2].verdict, ADL_ARENA_DRAW);
    assert_true(sample.workloads[2].ours.ratio < 1);
}

static void totals_count_groups_and_have_the_geometric_mean(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    const struct adl_arena_total *frozen = &sample.arena.groups[ADL_ARENA_FROZEN], *all = &sample.arena.all;
    assert_int_equal(frozen->workloads, 2);
    assert_int_equal(frozen->wins, 1);
    assert_int_equal(frozen->losses, 1);
    assert_int_equal(all->draws, 1);
    assert_int_equal(all->below, 2);
    const double product = sample.workloads[0].ours.ratio * sample.workloads[1].ours.ratio;
    assert_near(frozen->ratio.ratio, sqrt(product), 1e-9);
    assert_int_equal(sample.arena.groups[ADL_ARENA_RANDOM].workloads, 0);
}

static void a_policy_that_leaves_jobs_unfinished_is_no_best_peer(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    sample.runs[1][0].unfinished = 3;
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    assert_int_equal(sample.workloads[0].best_peer, 0);
}

static void ours_loses_where_it_is_over_budget_or_leaves_jobs(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    sample.cells[2] = (struct adl_arena_cell){.state = ADL_ARENA_OVER_BUDGET};
    sample.runs[2 * POLICIES + 2][0].unfinished = 1;
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    assert_int_equal(sample.workloads[0].verdict, ADL_ARENA_LOSS);
    assert_int_equal(sample.workloads[2].verdict, ADL_ARENA_LOSS);
    assert_int_equal(sample.arena.all.losses, 3);
    assert_int_equal(sample.arena.all.workloads, 3);
}

static void a_variant_of_ours_is_no_peer(void **state)
{
    (void)state;
    struct sample sample;
    make(&sample);
    sample.policies[1].ours = true;
    assert_int_equal(adl_arena_summarize(&sample.arena), 0);
    assert_int_equal(sample.workloads[0].best_peer, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_suite_has_24_random_scenarios_and_no_name_twice),
        cmocka_unit_test(the_quick_form_is_a_part_of_the_suite),
        cmocka_unit_test(a_shift_keeps_the_load_unless_it_shifts_the_load),
        cmocka_unit_test(a_workload_without_its_data_is_skipped_with_the_reason),
        cmocka_unit_test(other_seeds_give_other_random_scenarios),
        cmocka_unit_test(the_best_peer_of_each_workload_is_compared_with_ours),
        cmocka_unit_test(one_run_is_neither_won_nor_lost),
        cmocka_unit_test(totals_count_groups_and_have_the_geometric_mean),
        cmocka_unit_test(a_policy_that_leaves_jobs_unfinished_is_no_best_peer),
        cmocka_unit_test(ours_loses_where_it_is_over_budget_or_leaves_jobs),
        cmocka_unit_test(a_variant_of_ours_is_no_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
