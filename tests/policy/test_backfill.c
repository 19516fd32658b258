/* Tests of decide/easy and first fit: runs of small worlds against naive simulations of the same rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/policy.h"
#include "state_fixture.h"
#include "toy_world.h"

/* A naive cluster of n equal GPUs and a queue in order of submission, for jobs that run where they are put.
 */
struct naive {
    const struct toy_job *jobs;
    uint32_t count;
    int64_t free_gpus;
    int64_t now_us;
    int64_t start_us[TOY_JOBS_MAX]; /* -1 = not yet */
    int64_t end_us[TOY_JOBS_MAX];
};

static bool naive_waits(const struct naive *naive, uint32_t i)
{
    return naive->start_us[i] < 0 && naive->jobs[i].submit_us <= naive->now_us;
}

static bool naive_runs(const struct naive *naive, uint32_t i)
{
    return naive->start_us[i] >= 0 && naive->end_us[i] > naive->now_us;
}

/* A job that has outlived what was believed of it may end any moment. */
static int64_t naive_believed_end(const struct naive *naive, uint32_t i)
{
    const int64_t end_us = naive->start_us[i] + naive->jobs[i].believed_us[0];
    return end_us > naive->now_us ? end_us : naive->now_us + 1;
}

static int64_t naive_free_at(const struct naive *naive, int64_t time_us)
{
    int64_t gpus = naive->free_gpus;
    for (uint32_t i = 0; i < naive->count; i++)
        if (naive_runs(naive, i) && naive_believed_end(naive, i) <= time_us)
            gpus += naive->jobs[i].spec.gpus;
    return gpus;
}

static void naive_start(struct naive *naive, uint32_t i)
{
    naive->start_us[i] = naive->now_us;
    naive->end_us[i] = naive->now_us + naive->jobs[i].true_us[0];
    naive->free_gpus -= naive->jobs[i].spec.gpus;
}

/* EASY: true if something started. */
static bool naive_easy_by(struct naive *naive, bool sparing)
{
    int64_t shadow_us = -1, extra = 0;
    for (uint32_t i = 0; i < naive->count; i++) {
        const int64_t gpus = naive->jobs[i].spec.gpus;
        if (!naive_waits(naive, i))
            continue;
        const bool may =
            shadow_us < 0 || naive->now_us + naive->jobs[i].believed_us[0] <= shadow_us || (sparing && gpus <= extra);
        if (gpus <= naive->free_gpus && may) {
            naive_start(naive, i);
            return true;
        }
        if (shadow_us >= 0)
            continue;
        shadow_us = INT64_MAX;
        for (uint32_t j = 0; j < naive->count; j++)
            if (naive_runs(naive, j) && naive_believed_end(naive, j) < shadow_us &&
                naive_free_at(naive, naive_believed_end(naive, j)) >= gpus)
                shadow_us = naive_believed_end(naive, j);
        extra = naive_free_at(naive, shadow_us) - gpus;
    }
    return false;
}

static bool naive_easy(struct naive *naive)
{
    return naive_easy_by(naive, true);
}

static bool naive_ends_before(struct naive *naive)
{
    return naive_easy_by(naive, false);
}

/* First fit in order of submission. */
static bool naive_first_fit(struct naive *naive)
{
    for (uint32_t i = 0; i < naive->count; i++)
        if (naive_waits(naive, i) && naive->jobs[i].spec.gpus <= naive->free_gpus) {
            naive_start(naive, i);
            return true;
        }
    return false;
}

struct slot {
    int64_t start_us, end_us, gpus;
};

static int64_t slots_at(const struct slot *slots, uint32_t count, int64_t time_us)
{
    int64_t gpus = 0;
    for (uint32_t i = 0; i < count; i++)
        gpus += slots[i].start_us <= time_us && time_us < slots[i].end_us ? slots[i].gpus : 0;
    return gpus;
}

/* Enough GPUs through all of [start, start + run)? They grow fewer only where a slot begins. */
static bool naive_lasts(const struct naive *naive, const struct slot *slots, uint32_t count, int64_t gpus,
                        int64_t start_us, int64_t run_us)
{
    if (naive_free_at(naive, start_us) - slots_at(slots, count, start_us) < gpus)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].start_us > start_us && slots[i].start_us < start_us + run_us &&
            naive_free_at(naive, slots[i].start_us) - slots_at(slots, count, slots[i].start_us) < gpus)
            return false;
    return true;
}

static int64_t naive_earliest(const struct naive *naive, const struct slot *slots, uint32_t count, uint32_t job)
{
    const int64_t gpus = naive->jobs[job].spec.gpus, run_us = naive->jobs[job].believed_us[0];
    int64_t best_us = INT64_MAX;
    if (naive_lasts(naive, slots, count, gpus, naive->now_us, run_us))
        return naive->now_us;
    for (uint32_t i = 0; i < naive->count; i++)
        if (naive_runs(naive, i) && naive_believed_end(naive, i) < best_us &&
            naive_lasts(naive, slots, count, gpus, naive_believed_end(naive, i), run_us))
            best_us = naive_believed_end(naive, i);
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].end_us < best_us && naive_lasts(naive, slots, count, gpus, slots[i].end_us, run_us))
            best_us = slots[i].end_us;
    return best_us;
}

/* Conservative, with all promises made again: true if something started. */
static bool naive_conservative(struct naive *naive)
{
    static struct slot slots[TOY_JOBS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < naive->count; i++) {
        if (!naive_waits(naive, i))
            continue;
        const int64_t start_us = naive_earliest(naive, slots, count, i);
        if (start_us == naive->now_us) {
            naive_start(naive, i);
            return true;
        }
        slots[count++] = (struct slot){start_us, start_us + naive->jobs[i].believed_us[0], naive->jobs[i].spec.gpus};
    }
    return false;
}

static void naive_run(struct naive *naive, const struct toy_world *world, uint32_t gpus, bool (*decide)(struct naive *))
{
    *naive = (struct naive){.jobs = world->jobs, .count = world->count, .free_gpus = gpus, .now_us = -1};
    for (uint32_t i = 0; i < naive->count; i++)
        naive->start_us[i] = naive->end_us[i] = -1;
    for (;;) {
        int64_t next_us = INT64_MAX;
        for (uint32_t i = 0; i < naive->count; i++) {
            const int64_t submit_us = naive->jobs[i].submit_us;
            if (submit_us > naive->now_us && submit_us < next_us)
                next_us = submit_us;
            if (naive->end_us[i] > naive->now_us && naive->end_us[i] < next_us)
                next_us = naive->end_us[i];
        }
        if (next_us == INT64_MAX)
            return;
        naive->now_us = next_us;
        for (uint32_t i = 0; i < naive->count; i++)
            naive->free_gpus += naive->end_us[i] == next_us ? naive->jobs[i].spec.gpus : 0;
        while (decide(naive))
            ;
    }
}

static void check_backfill(const struct adl_policy_ops *policy, const struct adl_policy_config *config, bool exact,
                           bool (*decide)(struct naive *), uint64_t seeds)
{
    static struct toy_world world;
    static struct naive naive;
    struct adl_rng rng;
    uint64_t overtaken = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        adl_rng_seed(&rng, seed, policy->name);
        const uint32_t gpus = fixture_between(&rng, 2, 12);
        struct adl_cluster cluster = fixture_plain(gpus);
        struct adl_engine_counts counts;
        world = (struct toy_world){.cluster = &cluster};
        toy_random_jobs(&world, &rng, gpus);
        for (uint32_t i = 0; exact && i < world.count; i++)
            world.jobs[i].believed_us[0] = world.jobs[i].true_us[0];
        naive_run(&naive, &world, gpus, decide);
        const int64_t sum_us = toy_run(&world, policy, config, &counts);
        assert_int_equal(counts.refused, 0);
        int64_t naive_us = 0;
        for (uint32_t i = 0; i < world.count; i++) {
            if (naive.start_us[i] != world.jobs[i].start_us)
                fail_msg("%s, seed %llu: job %u starts at %lld, the naive version has %lld", policy->name,
                         (unsigned long long)seed, i, (long long)world.jobs[i].start_us, (long long)naive.start_us[i]);
            naive_us += naive.end_us[i] - world.jobs[i].submit_us;
            overtaken += i > 0 && world.jobs[i].start_us < world.jobs[i - 1].start_us;
        }
        assert_int_equal(sum_us, naive_us);
        adl_cluster_clear(&cluster);
    }
    assert_true(overtaken > seeds);
}

static void easy_is_the_easy_of_a_naive_simulation(void **state)
{
    (void)state;
    check_backfill(&adl_policy_easy, &(struct adl_policy_config){0}, false, naive_easy, 200);
}

static void easy_that_spares_nothing_starts_only_what_ends_before_the_promise(void **state)
{
    (void)state;
    const struct adl_policy_config config = {.settings = "backfill_rule=ends_before"};
    check_backfill(&adl_policy_easy, &config, false, naive_ends_before, 200);
}

static void first_fit_starts_the_first_that_fits(void **state)
{
    (void)state;
    check_backfill(&adl_policy_fcfs, &(struct adl_policy_config){.settings = "first_fit=true"}, false, naive_first_fit,
                   200);
}

static void conservative_is_the_conservative_of_a_naive_simulation(void **state)
{
    (void)state;
    const struct adl_policy_config config = {0};
    check_backfill(&adl_policy_conservative, &config, false, naive_conservative, 25);
}

/* Then promises can be kept from one decision to the next: it must not show. */
static void backfill_of_jobs_that_end_as_believed_is_that_of_a_naive_simulation(void **state)
{
    (void)state;
    const struct adl_policy_config config = {0};
    check_backfill(&adl_policy_easy, &config, true, naive_easy, 100);
    check_backfill(&adl_policy_conservative, &config, true, naive_conservative, 50);
}

static void an_urgent_job_comes_before_those_that_came_a_little_earlier(void **state)
{
    (void)state;
    static struct toy_world world;
    struct adl_cluster cluster = fixture_plain(1);
    const struct adl_policy_ops *policies[] = {&adl_policy_fcfs, &adl_policy_easy, &adl_policy_conservative};
    world = (struct toy_world){.cluster = &cluster};
    toy_add(&world, 0, 1, 1000000); /* runs while the others come */
    toy_add(&world, 10, 1, 10)->spec.priority = 0.25f;
    toy_add(&world, 60009, 1, 10)->spec.priority = 0.5f;
    toy_add(&world, 60011, 1, 10)->spec.priority = 0.5f;
    toy_add(&world, 110010, 1, 10)->spec.priority = 0.75f;
    for (int i = 0; i < 3; i++) {
        const struct adl_policy_config urgent = {.settings = "priority_s=0.2"}, none = {0};
        toy_run(&world, policies[i], &urgent, NULL);
        /* By submission less 0.2 s * priority: -49990, -39991, -39989, -39990. */
        assert_int_equal(world.jobs[1].start_us, 1000000);
        assert_int_equal(world.jobs[2].start_us, 1000010);
        assert_int_equal(world.jobs[4].start_us, 1000020);
        assert_int_equal(world.jobs[3].start_us, 1000030);
        toy_run(&world, policies[i], &none, NULL);
        for (uint32_t j = 1; j < 5; j++)
            assert_int_equal(world.jobs[j].start_us, 1000000 + 10 * (j - 1));
    }
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_urgent_job_comes_before_those_that_came_a_little_earlier),
        cmocka_unit_test(easy_is_the_easy_of_a_naive_simulation),
        cmocka_unit_test(easy_that_spares_nothing_starts_only_what_ends_before_the_promise),
        cmocka_unit_test(first_fit_starts_the_first_that_fits),
        cmocka_unit_test(conservative_is_the_conservative_of_a_naive_simulation),
        cmocka_unit_test(backfill_of_jobs_that_end_as_believed_is_that_of_a_naive_simulation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
