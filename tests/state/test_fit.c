/* Tests of state/fit: against trying every set of GPUs on small random clusters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/scenario.h"
#include "state/fit.h"
#include "state_fixture.h"

#define GPUS_MAX  14
#define NODES_MAX 4
#define RUNNING   8 /* slots 0..7 run, the next one waits */
#define HOLDS_MAX 3

static struct adl_cluster random_cluster(struct adl_rng *rng)
{
    struct adl_cluster cluster = {0};
    const uint32_t types = fixture_between(rng, 1, 2), nodes = fixture_between(rng, 1, NODES_MAX);
    fixture_types(&cluster, types);
    for (uint32_t n = 0; n < nodes && cluster.gpu_count + 2 <= GPUS_MAX; n++) {
        struct adl_bank_spec banks[2];
        const uint32_t count = fixture_between(rng, 1, types), first = adl_rng_below(rng, types);
        uint32_t left = GPUS_MAX - cluster.gpu_count;
        for (uint32_t b = 0; b < count; b++) {
            const uint32_t most = left - (count - 1 - b);
            banks[b] =
                (struct adl_bank_spec){fixture_round(first, b, types), fixture_between(rng, 1, most < 5 ? most : 5)};
            left -= banks[b].gpu_count;
        }
        fixture_node_of(&cluster, banks, count, (int32_t)fixture_between(rng, 4, 16),
                        (int32_t)fixture_between(rng, 40, 160));
    }
    return cluster;
}

static struct adl_job_spec random_spec(struct adl_rng *rng, uint64_t id)
{
    struct adl_job_spec spec = fixture_spec(id, (uint16_t)fixture_between(rng, 1, 5));
    spec.cpu_cores = (int32_t)adl_rng_below(rng, 5);
    spec.memory_mib = (int32_t)adl_rng_below(rng, 40);
    spec.gpu_memory_mib = (int32_t)fixture_between(rng, 1, FIXTURE_GPU_MIB);
    spec.flags = (uint8_t)adl_rng_below(rng, 8);
    if (adl_rng_below(rng, 3) == 0)
        spec.gpus = 1;
    return spec;
}

static uint32_t in_set(uint32_t set, const struct adl_cluster *cluster, uint32_t node, uint32_t bank)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        count += (set >> g & 1) && (node == ADL_NONE || adl_gpu_node_of(cluster, g) == node) &&
                 (bank == ADL_NONE || cluster->gpu_bank[g] == bank);
    return count;
}

static bool within(uint32_t gpus, int32_t each, int32_t have)
{
    return each == 0 || (int64_t)gpus * each <= have;
}

static bool holds_allow(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type,
                        const struct adl_hold *hold, uint32_t set)
{
    for (uint32_t i = 0; hold && i < hold->count; i++) {
        const struct adl_reservation *r = &hold->reservations[i];
        if (r->start_us >= hold->end_us)
            continue;
        if (r->bank == ADL_NONE) {
            if (r->type == type && spec->gpus > r->spare)
                return false;
            continue;
        }
        const uint32_t on_node = in_set(set, state->cluster, state->cluster->banks[r->bank].node, ADL_NONE);
        if (in_set(set, state->cluster, ADL_NONE, r->bank) > r->spare ||
            (on_node && (!within(on_node, spec->cpu_cores, r->spare_cores) ||
                         !within(on_node, spec->memory_mib, r->spare_memory_mib))))
            return false;
    }
    return true;
}

/* Is this very set of GPUs a place for the job? Straight from the tables. */
static bool set_fits(const struct adl_state *state, uint32_t slot, uint32_t type, const struct adl_hold *hold,
                     uint32_t set)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t nodes = 0;
    if (in_set(set, cluster, ADL_NONE, ADL_NONE) != spec->gpus)
        return false;
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        if ((set >> g & 1) &&
            (state->gpus[g].down || state->gpus[g].job[0] != ADL_NONE || adl_gpu_type_of(cluster, g) != type))
            return false;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const uint32_t here = in_set(set, cluster, n, ADL_NONE);
        nodes += here > 0;
        if (here && (!within(here, spec->cpu_cores, state->nodes_use[n].free_cores) ||
                     !within(here, spec->memory_mib, state->nodes_use[n].free_memory_mib)))
            return false;
    }
    return (nodes == 1 || (spec->flags & ADL_JOB_SPAN)) && holds_allow(state, spec, type, hold, set);
}

struct truth {
    bool fits;
    bool in_one_node;
    uint32_t least_free; /* of the banks that can take it alone: the fewest free GPUs ... */
    uint32_t bank;       /* ... and the first such bank */
};

static struct truth try_all_sets(const struct adl_state *state, uint32_t slot, uint32_t type,
                                 const struct adl_hold *hold)
{
    const struct adl_cluster *cluster = state->cluster;
    struct truth truth = {.least_free = ADL_NONE, .bank = ADL_NONE};
    for (uint32_t set = 1; set < 1u << cluster->gpu_count; set++) {
        if (__builtin_popcount(set) != state->jobs[slot].spec.gpus || !set_fits(state, slot, type, hold, set))
            continue;
        truth.fits = true;
        const uint32_t bank = cluster->gpu_bank[__builtin_ctz(set)];
        if (in_set(set, cluster, ADL_NONE, bank) != state->jobs[slot].spec.gpus)
            continue;
        truth.in_one_node = true;
        uint32_t free_gpus = 0;
        for (uint32_t i = 0; i < cluster->banks[bank].gpu_count; i++) {
            const struct adl_gpu_use *use = &state->gpus[cluster->banks[bank].gpu_first + i];
            free_gpus += !use->down && use->job[0] == ADL_NONE;
        }
        if (free_gpus < truth.least_free || (free_gpus == truth.least_free && bank < truth.bank)) {
            truth.least_free = free_gpus;
            truth.bank = bank;
        }
    }
    return truth;
}

static void place_at_random(struct adl_state *state, uint32_t slot, struct adl_rng *rng)
{
    const struct adl_cluster *cluster = state->cluster;
    for (int attempt = 0; attempt < 60; attempt++) {
        const uint32_t type = adl_rng_below(rng, cluster->type_count);
        uint32_t set = (uint32_t)adl_rng_next(rng) & ((1u << cluster->gpu_count) - 1);
        while (__builtin_popcount(set) > state->jobs[slot].spec.gpus)
            set &= set - 1;
        if (!set_fits(state, slot, type, NULL, set))
            continue;
        uint32_t gpus[GPUS_MAX], count = 0;
        for (uint32_t g = 0; g < cluster->gpu_count; g++)
            if (set >> g & 1)
                gpus[count++] = g;
        adl_state_start(state, slot, gpus);
        return;
    }
    adl_state_finish(state, slot);
}

/* Some run, some GPUs are down, and the slot after the running ones waits. */
static struct adl_state *random_state(const struct adl_cluster *cluster, struct adl_rng *rng)
{
    struct adl_state *state = fixture_state(cluster);
    for (uint32_t slot = 0; slot < RUNNING; slot++) {
        const struct adl_job_spec spec = random_spec(rng, slot);
        fixture_queue(state, slot, &spec, 100, 0);
        place_at_random(state, slot, rng);
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        if (state->gpus[g].job[0] == ADL_NONE && adl_rng_below(rng, 8) == 0)
            adl_state_gpu_down(state, g);
    const struct adl_job_spec spec = random_spec(rng, RUNNING);
    fixture_queue(state, RUNNING, &spec, 100, 0);
    return state;
}

static struct adl_hold random_hold(const struct adl_cluster *cluster, struct adl_rng *rng,
                                   struct adl_reservation *reservations)
{
    struct adl_hold hold = {
        .reservations = reservations, .count = adl_rng_below(rng, HOLDS_MAX + 1), .end_us = adl_rng_below(rng, 10)};
    for (uint32_t i = 0; i < hold.count; i++) {
        const uint32_t bank = adl_rng_below(rng, cluster->bank_count);
        reservations[i] = (struct adl_reservation){.start_us = adl_rng_below(rng, 10),
                                                   .type = cluster->banks[bank].type,
                                                   .bank = adl_rng_below(rng, 3) ? bank : ADL_NONE,
                                                   .gpus = 1,
                                                   .spare = adl_rng_below(rng, 5),
                                                   .spare_cores = (int32_t)adl_rng_below(rng, 16),
                                                   .spare_memory_mib = (int32_t)adl_rng_below(rng, 160)};
    }
    return hold;
}

/* What was found is a place, and the place that the header promises. */
static void check_found(const struct adl_state *state, uint32_t type, const struct adl_hold *hold,
                        const struct truth *truth, const uint32_t *gpus)
{
    const struct adl_cluster *cluster = state->cluster;
    const uint32_t count = state->jobs[RUNNING].spec.gpus;
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(gpus[i] < cluster->gpu_count);
        assert_false(set >> gpus[i] & 1);
        set |= 1u << gpus[i];
    }
    assert_true(set_fits(state, RUNNING, type, hold, set));
    if (!truth->in_one_node)
        return;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(cluster->gpu_bank[gpus[i]], truth->bank);
    const struct adl_bank *bank = &cluster->banks[truth->bank];
    uint32_t taken = 0;
    for (uint32_t g = bank->gpu_first; taken < count; g++)
        if (!state->gpus[g].down && state->gpus[g].job[0] == ADL_NONE)
            assert_int_equal(gpus[taken++], g);
}

static void check_fits(uint64_t seeds, bool with_holds)
{
    struct adl_rng rng;
    uint32_t found = 0, spanning = 0, missed = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        adl_rng_seed(&rng, seed, with_holds ? "held fit" : "fit");
        struct adl_cluster cluster = random_cluster(&rng);
        struct adl_state *state = random_state(&cluster, &rng);
        struct adl_reservation reservations[HOLDS_MAX];
        const struct adl_hold hold = random_hold(&cluster, &rng, reservations);
        for (uint32_t type = 0; type < cluster.type_count; type++) {
            uint32_t gpus[GPUS_MAX];
            const struct adl_hold *held = with_holds ? &hold : NULL;
            const struct truth truth = try_all_sets(state, RUNNING, type, held);
            const bool fits = adl_fit_find(state, RUNNING, type, held, gpus);
            if (fits != truth.fits)
                fail_msg("seed %llu, type %u: a place %s, but adl_fit_find says otherwise", (unsigned long long)seed,
                         type, truth.fits ? "exists" : "does not exist");
            found += fits;
            spanning += fits && !truth.in_one_node;
            missed += !fits;
            if (fits)
                check_found(state, type, held, &truth, gpus);
        }
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
    /* Each kind of answer was asked for often enough to mean something. */
    assert_true(found > seeds / 10 && missed > seeds / 10 && spanning > seeds / 100);
}

static void a_place_is_found_if_and_only_if_some_set_of_gpus_is_one(void **state)
{
    (void)state;
    check_fits(1500, false);
}

static void reservations_are_left_what_they_need_and_no_more(void **state)
{
    (void)state;
    check_fits(2000, true);
}

static void the_tightest_bank_is_taken_and_the_lowest_numbered_of_equals(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    for (uint32_t gpus = 5; gpus-- > 2;)
        fixture_node(&cluster, 0, gpus); /* GPUs 0-3, 4-6, 7-8 */
    fixture_node(&cluster, 0, 2);        /* 9-10 */
    struct adl_state *it = fixture_state(&cluster);
    const struct adl_job_spec two = fixture_spec(1, 2), three = fixture_spec(2, 3);
    uint32_t gpus[4];
    fixture_queue(it, 0, &two, 10, 0);
    fixture_queue(it, 1, &three, 10, 0);
    assert_true(adl_fit_find(it, 0, 0, NULL, gpus));
    assert_int_equal(gpus[0], 7);
    assert_int_equal(gpus[1], 8);
    assert_true(adl_fit_find(it, 1, 0, NULL, gpus));
    assert_int_equal(gpus[0], 4);
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

/* Consolidated, straight from the tables: what the rule says may be taken, without holds. */
static bool consolidated_exists(const struct adl_state *state, uint32_t slot, uint32_t type)
{
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t missing = spec->gpus, most = 0, empty[GPUS_MAX] = {0}, empties = 0;
    bool one_could = false;
    for (uint32_t size = GPUS_MAX; size > 0; size--)
        for (uint32_t b = 0; b < cluster->bank_count; b++) {
            const struct adl_bank *bank = &cluster->banks[b];
            uint32_t idle = 0;
            if (bank->type != type || bank->gpu_count != size)
                continue;
            for (uint32_t g = bank->gpu_first; g < bank->gpu_first + size; g++)
                idle += !state->gpus[g].down && state->gpus[g].job[0] == ADL_NONE;
            one_could |= size >= spec->gpus;
            if (idle >= spec->gpus)
                return true;
            if (idle == size)
                empty[empties++] = size;
            else
                most = idle > most ? idle : most;
        }
    for (uint32_t i = 0; i < empties; i++) {
        if (empty[i] <= missing)
            missing -= empty[i];
        else
            most = empty[i] > most ? empty[i] : most;
    }
    return !one_could && (spec->flags & ADL_JOB_SPAN) && missing <= most;
}

/* Jobs that ask for GPUs alone, so that the rule is about GPUs alone. */
static void consolidated_jobs_take_whole_empty_nodes_and_one_more(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t found = 0, spanning = 0, missed = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        adl_rng_seed(&rng, seed, "consolidated");
        struct adl_cluster cluster = random_cluster(&rng);
        struct adl_state *it = random_state(&cluster, &rng);
        struct adl_job_spec *spec = &it->jobs[RUNNING].spec;
        it->placement = ADL_PLACEMENT_CONSOLIDATED;
        for (uint32_t slot = 0; slot < RUNNING; slot++)
            if (it->jobs[slot].phase == ADL_PHASE_RUNNING && adl_rng_below(&rng, 4))
                adl_state_finish(it, slot);
        spec->gpus = (uint16_t)fixture_between(&rng, 1, 9);
        spec->cpu_cores = spec->memory_mib = 0;
        for (uint32_t type = 0; type < cluster.type_count; type++) {
            uint32_t gpus[GPUS_MAX], set = 0, partly = 0;
            const bool fits = adl_fit_find(it, RUNNING, type, NULL, gpus);
            assert_int_equal(fits, consolidated_exists(it, RUNNING, type));
            for (uint32_t i = 0; fits && i < spec->gpus; i++) {
                assert_int_equal(adl_gpu_type_of(&cluster, gpus[i]), type);
                assert_true(it->gpus[gpus[i]].job[0] == ADL_NONE && !it->gpus[gpus[i]].down);
                assert_false(set >> gpus[i] & 1);
                set |= 1u << gpus[i];
            }
            for (uint32_t b = 0; b < cluster.bank_count; b++) {
                const uint32_t taken = in_set(set, &cluster, ADL_NONE, b);
                partly += taken > 0 && taken < cluster.banks[b].gpu_count;
                spanning += taken > 0 && taken < spec->gpus;
            }
            assert_true(partly <= 1);
            found += fits;
            missed += !fits;
        }
        adl_state_destroy(it);
        adl_cluster_clear(&cluster);
    }
    assert_true(found > 1000 && missed > 1000 && spanning > 100);
}

static void a_job_that_no_node_has_cores_for_spans_although_it_has_gpus(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    for (int n = 0; n < 2; n++)
        fixture_node_of(&cluster, &(struct adl_bank_spec){0, 4}, 1, 4, 100);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_job_spec spec = fixture_spec(1, 4);
    uint32_t gpus[4];
    it->placement = ADL_PLACEMENT_CONSOLIDATED;
    spec.cpu_cores = 2;
    spec.flags = ADL_JOB_SPAN;
    fixture_queue(it, 0, &spec, 10, 0);
    assert_true(adl_fit_find(it, 0, 0, NULL, gpus));
    assert_int_equal(gpus[1], 1);
    assert_int_equal(gpus[2], 4);
    const struct adl_reservation promise = {.start_us = 5, .bank = 1, .spare = 1, .spare_cores = 2};
    assert_true(adl_fit_find(it, 0, 0, &(struct adl_hold){&promise, 1, 5}, gpus));
    assert_false(adl_fit_find(it, 0, 0, &(struct adl_hold){&promise, 1, 6}, gpus));
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

static void a_job_that_ends_by_the_promised_start_may_use_all_that_is_free(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(4);
    struct adl_state *it = fixture_state(&cluster);
    const struct adl_job_spec spec = fixture_spec(1, 3);
    const struct adl_reservation promise = {
        .start_us = 50, .end_us = 90, .spare = 2, .spare_cores = 9, .spare_memory_mib = 9};
    uint32_t gpus[4];
    fixture_queue(it, 0, &spec, 10, 0);
    assert_true(adl_fit_find(it, 0, 0, &(struct adl_hold){&promise, 1, 50}, gpus));
    assert_false(adl_fit_find(it, 0, 0, &(struct adl_hold){&promise, 1, 51}, gpus));
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

/* Fills GPUs with sharing and other jobs; what a scan of the tables finds is what adl_fit_share must find. */
static void sharing_finds_the_first_gpu_whose_one_job_is_willing(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t found = 0, missed = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        adl_rng_seed(&rng, seed, "share");
        struct adl_cluster cluster = random_cluster(&rng);
        struct adl_state *it = random_state(&cluster, &rng);
        const struct adl_job_spec *spec = &it->jobs[RUNNING].spec;
        for (uint32_t slot = 0; slot <= RUNNING; slot++) /* some want to keep more than half their speed */
            it->jobs[slot].spec.share_slowdown = (float[]){0, 0, 2, 1.5f}[adl_rng_below(&rng, 4)];
        for (uint32_t type = 0; type < cluster.type_count; type++) {
            uint32_t expected = ADL_NONE, gpu = ADL_NONE;
            for (uint32_t g = cluster.gpu_count; g-- > 0;) {
                const struct adl_gpu_use *use = &it->gpus[g];
                const struct adl_node_use *node = &it->nodes_use[adl_gpu_node_of(&cluster, g)];
                if (adl_gpu_type_of(&cluster, g) == type && use->job[0] != ADL_NONE && use->job[1] == ADL_NONE &&
                    (it->jobs[use->job[0]].spec.flags & ADL_JOB_SHARE) && (spec->flags & ADL_JOB_SHARE) &&
                    it->jobs[use->job[0]].spec.share_slowdown != 1.5f && spec->share_slowdown != 1.5f &&
                    spec->gpus == 1 && use->free_memory_mib >= spec->gpu_memory_mib &&
                    node->free_cores >= spec->cpu_cores && node->free_memory_mib >= spec->memory_mib)
                    expected = g;
            }
            assert_int_equal(adl_fit_share(it, RUNNING, type, NULL, &gpu), expected != ADL_NONE);
            assert_int_equal(gpu, expected);
            found += expected != ADL_NONE;
            missed += expected == ADL_NONE;
        }
        adl_state_destroy(it);
        adl_cluster_clear(&cluster);
    }
    assert_true(found > 100 && missed > 100);
}

/* One GPU, whose job ends at 100 us and which is promised from then on. */
static void sharing_does_not_keep_a_gpu_that_was_to_become_free_for_a_promise(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_job_spec spec = fixture_spec(1, 1);
    spec.flags = ADL_JOB_SHARE;
    fixture_run(it, 0, &spec, 100, 0);
    fixture_queue(it, 1, &spec, 50, 1);
    struct adl_reservation promise = {.start_us = 100, .job = 2, .gpus = 1, .spare_cores = 8, .spare_memory_mib = 8};
    struct adl_hold hold = {&promise, 1, 101};
    uint32_t gpu;
    for (uint32_t bank = 0; bank < 2; bank++) {
        promise.bank = bank ? ADL_NONE : 0;
        promise.spare = 0;
        hold.end_us = 101;
        assert_false(adl_fit_share(it, 1, 0, &hold, &gpu));
        promise.spare = 1;
        assert_true(adl_fit_share(it, 1, 0, &hold, &gpu));
        promise.spare = 0;
        hold.end_us = 100;
        assert_true(adl_fit_share(it, 1, 0, &hold, &gpu));
    }
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

static void a_gpu_takes_a_second_job_but_no_third(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_job_spec spec = fixture_spec(1, 1);
    uint32_t gpu = ADL_NONE;
    spec.flags = ADL_JOB_SHARE;
    fixture_run(it, 0, &spec, 100, 0);
    fixture_queue(it, 1, &spec, 100, 0);
    fixture_queue(it, 2, &spec, 100, 0);
    assert_true(adl_fit_share(it, 1, 0, NULL, &gpu));
    adl_state_start(it, 1, &gpu);
    assert_false(adl_fit_share(it, 2, 0, NULL, &gpu));
    adl_state_finish(it, 0);
    assert_true(adl_fit_share(it, 2, 0, NULL, &gpu));
    assert_int_equal(it->busy_gpus, 1);
    adl_state_finish(it, 1);
    assert_false(adl_fit_share(it, 2, 0, NULL, &gpu));
    assert_int_equal(it->busy_gpus, 0);
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_if_and_only_if_some_set_of_gpus_is_one),
        cmocka_unit_test(reservations_are_left_what_they_need_and_no_more),
        cmocka_unit_test(the_tightest_bank_is_taken_and_the_lowest_numbered_of_equals),
        cmocka_unit_test(consolidated_jobs_take_whole_empty_nodes_and_one_more),
        cmocka_unit_test(a_job_that_no_node_has_cores_for_spans_although_it_has_gpus),
        cmocka_unit_test(a_job_that_ends_by_the_promised_start_may_use_all_that_is_free),
        cmocka_unit_test(sharing_finds_the_first_gpu_whose_one_job_is_willing),
        cmocka_unit_test(sharing_does_not_keep_a_gpu_that_was_to_become_free_for_a_promise),
        cmocka_unit_test(a_gpu_takes_a_second_job_but_no_third),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
