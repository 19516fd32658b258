/* The time-indexed bound on small problems, against the best schedule that an exhaustive search finds. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "solve/time_index.h"

enum { JOBS_MAX = 5, TYPES = 2, TIMES = 64, POINTS = 17 };

static const struct adl_time_index_limits limits = {.rounds = 40, .iterations = 5000, .gap = 1e-4};

/* Whole seconds, GPUs and cores. Cores belong to all types together. */
struct small_job {
    int submit, gpus, cores;
    int run[TYPES];
};

struct small_problem {
    int count;
    struct small_job jobs[JOBS_MAX];
    int gpus[TYPES], cores;
};

static double bound_within(const struct small_problem *small, bool fixed, double end,
                           const struct adl_time_index_limits *within)
{
    struct adl_time_index_job jobs[JOBS_MAX];
    struct adl_time_index_mode modes[JOBS_MAX * TYPES];
    double mesh[POINTS], flow = NAN;
    for (int i = 0; i < POINTS; i++)
        mesh[i] = end * i / (POINTS - 1);
    struct adl_time_index_problem problem = {
        .jobs = jobs, .modes = modes, .mesh = mesh, .pool_count = TYPES + 1, .points = POINTS};
    for (int j = 0; j < small->count; j++) {
        const struct small_job *job = &small->jobs[j];
        jobs[problem.job_count++] =
            (struct adl_time_index_job){.release = job->submit, .mode_first = problem.mode_count, .fixed = fixed};
        for (uint32_t t = 0; t < TYPES; t++) {
            if (job->gpus > small->gpus[t])
                continue;
            modes[problem.mode_count++] = (struct adl_time_index_mode){
                .run = job->run[t],
                .use_count = 2,
                .pool = {t, TYPES},
                .share = {(double)job->gpus / small->gpus[t], (double)job->cores / small->cores}};
            jobs[j].mode_count++;
        }
    }
    assert_int_equal(adl_time_index_bound(&problem, within, &flow), 0);
    return flow;
}

static double bound_of(const struct small_problem *small, bool fixed, double end)
{
    return bound_within(small, fixed, end, &limits);
}

/* Runs on the second type take twice as long; all are even there, so that a second on either is whole progress. */
static struct small_problem draw_problem(struct adl_rng *rng, int count, int run_max)
{
    struct small_problem small = {.count = count, .gpus = {2, 1 + (int)adl_rng_below(rng, 2)}};
    int submit = 0;
    small.cores = 3 + (int)adl_rng_below(rng, 3);
    for (int j = 0; j < count; j++) {
        const int run = 1 + (int)adl_rng_below(rng, (uint32_t)run_max);
        submit += j > 0 ? (int)adl_rng_below(rng, 3) : 0;
        small.jobs[j] = (struct small_job){.submit = submit,
                                           .gpus = 1 + (int)adl_rng_below(rng, 2),
                                           .cores = 1 + (int)adl_rng_below(rng, 3),
                                           .run = {run, 2 * run}};
    }
    return small;
}

/* ---- the best schedule without preemption ---- */

struct usage {
    int gpus[TYPES][TIMES], cores[TIMES];
};

static bool fits(const struct small_problem *small, const struct usage *usage, int j, int type, int start)
{
    const struct small_job *job = &small->jobs[j];
    for (int t = start; t < start + job->run[type]; t++)
        if (usage->gpus[type][t] + job->gpus > small->gpus[type] || usage->cores[t] + job->cores > small->cores)
            return false;
    return true;
}

/* Every order and every choice of types, each job as early as those before it allow: that holds a best schedule. */
static void try_orders(const struct small_problem *small, unsigned done, const struct usage *usage, int flow, int *best)
{
    if (done == (1u << small->count) - 1)
        *best = flow < *best ? flow : *best;
    for (int j = 0; j < small->count; j++)
        for (int type = 0; type < TYPES && !(done >> j & 1); type++) {
            const struct small_job *job = &small->jobs[j];
            struct usage next = *usage;
            int start = job->submit;
            if (job->gpus > small->gpus[type])
                continue;
            while (!fits(small, usage, j, type, start))
                start++;
            const int end = start + job->run[type];
            for (int t = start; t < end; t++) {
                next.gpus[type][t] += job->gpus;
                next.cores[t] += job->cores;
            }
            if (flow + end - job->submit < *best)
                try_orders(small, done | 1u << j, &next, flow + end - job->submit, best);
        }
}

static int best_without_preemption(const struct small_problem *small)
{
    const struct usage none = {0};
    int best = INT_MAX;
    try_orders(small, 0, &none, 0, &best);
    return best;
}

static void no_schedule_without_preemption_beats_the_bound(void **state)
{
    (void)state;
    struct adl_rng rng;
    double bounds = 0, bests = 0;
    adl_rng_seed(&rng, 21, "fixed");
    for (int trial = 0; trial < 150; trial++) {
        const struct small_problem small = draw_problem(&rng, 2 + trial % 4, 4);
        const int best = best_without_preemption(&small);
        const double bound = bound_of(&small, true, 24);
        if (bound > best + 1e-6)
            fail_msg("trial %d: the bound %.6f is above a schedule of %d", trial, bound, best);
        bounds += bound;
        bests += best;
    }
    assert_true(bounds > 0.8 * bests);
}

/* ---- the best preemptive schedule that changes at whole seconds ---- */

enum { PREEMPT_JOBS = 4, PREEMPT_RUN = 3, LEFT = 2 * PREEMPT_RUN + 1, STATES = LEFT * LEFT * LEFT * LEFT };

struct preempt_search {
    const struct small_problem *small;
    int memo[TIMES / 2][STATES]; /* [second][what is left, in halves of a second on the first type], 0 = unknown */
};

static int best_from(struct preempt_search *search, int now, const int left[PREEMPT_JOBS]);

/* Chooses a type or none for jobs from j on. */
static int best_choice(struct preempt_search *search, int now, int j, const int left[PREEMPT_JOBS],
                       struct small_problem free)
{
    if (j == PREEMPT_JOBS)
        return best_from(search, now + 1, left);
    const struct small_job *job = &search->small->jobs[j];
    int best = best_choice(search, now, j + 1, left, free);
    for (int type = 0; type < TYPES; type++) {
        if (left[j] == 0 || job->submit > now || job->gpus > free.gpus[type] || job->cores > free.cores)
            continue;
        int next[PREEMPT_JOBS];
        struct small_problem rest = free;
        memcpy(next, left, sizeof next);
        next[j] = left[j] > 2 - type ? left[j] - (2 - type) : 0;
        rest.gpus[type] -= job->gpus;
        rest.cores -= job->cores;
        const int there = best_choice(search, now, j + 1, next, rest);
        best = there < best ? there : best;
    }
    return best;
}

static int best_from(struct preempt_search *search, int now, const int left[PREEMPT_JOBS])
{
    int state = 0, live = 0;
    for (int j = 0; j < PREEMPT_JOBS; j++) {
        state = state * LEFT + left[j];
        live += left[j] > 0 && search->small->jobs[j].submit <= now;
    }
    if (state == 0)
        return 0;
    if (now == TIMES / 2)
        return INT_MAX / 2;
    if (search->memo[now][state] == 0)
        search->memo[now][state] = 1 + live + best_choice(search, now, 0, left, *search->small);
    return search->memo[now][state] - 1;
}

static int best_with_preemption(const struct small_problem *small)
{
    static struct preempt_search search;
    int left[PREEMPT_JOBS];
    search = (struct preempt_search){.small = small};
    for (int j = 0; j < PREEMPT_JOBS; j++)
        left[j] = 2 * small->jobs[j].run[0];
    return best_from(&search, 0, left);
}

static void no_preemptive_schedule_beats_the_bound_of_preemptive_jobs(void **state)
{
    (void)state;
    struct adl_rng rng;
    double bounds = 0, bests = 0;
    adl_rng_seed(&rng, 22, "preemptive");
    for (int trial = 0; trial < 40; trial++) {
        const struct small_problem small = draw_problem(&rng, PREEMPT_JOBS, PREEMPT_RUN);
        const int best = best_with_preemption(&small);
        const double bound = bound_of(&small, false, 24);
        if (bound > best + 1e-6)
            fail_msg("trial %d: the bound %.6f is above a schedule of %d", trial, bound, best);
        assert_true(bound <= bound_of(&small, true, 24) * 1.001);
        bounds += bound;
        bests += best;
    }
    assert_true(bounds > 0.75 * bests);
}

/* ---- limits and meshes ---- */

static void a_search_that_stops_early_gives_a_weaker_bound_and_no_wrong_one(void **state)
{
    (void)state;
    struct adl_rng rng;
    int weaker = 0;
    adl_rng_seed(&rng, 23, "early");
    for (int trial = 0; trial < 60; trial++) {
        const struct small_problem small = draw_problem(&rng, 4, 4);
        const struct adl_time_index_limits few = {.rounds = 3, .iterations = (uint32_t)(trial % 12), .gap = 1e-4};
        const bool fixed = trial % 2;
        const double all = bound_of(&small, fixed, 24), early = bound_within(&small, fixed, 24, &few);
        int runs = 0;
        for (int j = 0; j < small.count; j++)
            runs += small.jobs[j].run[0];
        assert_true(early >= runs - 1e-6);
        assert_true(early <= best_without_preemption(&small) + 1e-6);
        weaker += early < all - 1e-3;
    }
    assert_true(weaker > 10);
}

static void a_mesh_that_ends_before_the_jobs_gives_a_weaker_bound_and_no_wrong_one(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 24, "short");
    for (int trial = 0; trial < 60; trial++) {
        const struct small_problem small = draw_problem(&rng, 4, 4);
        const double bound = bound_of(&small, trial % 2, 0.5 + trial % 7);
        assert_true(bound <= best_without_preemption(&small) + 1e-6);
    }
}

/* Two GPUs and three jobs that need both: on each second of the mesh one job, so 2 + 4 + 6. */
static void jobs_that_need_all_gpus_wait_for_each_other(void **state)
{
    (void)state;
    const struct small_job job = {.gpus = 2, .cores = 1, .run = {2, 4}};
    const struct small_problem small = {.count = 3, .jobs = {job, job, job}, .gpus = {2, 1}, .cores = 9};
    for (int fixed = 0; fixed < 2; fixed++) {
        const double bound = bound_of(&small, fixed, 8);
        assert_true(bound > 11.7 && bound <= 12 + 1e-9);
    }
}

/* One pool of cores for both types: two jobs of two cores each do not run at once where there are three. */
static void cores_bind_jobs_on_different_types(void **state)
{
    (void)state;
    const struct small_job job = {.gpus = 1, .cores = 2, .run = {2, 2}};
    struct small_problem small = {.count = 2, .jobs = {job, job}, .gpus = {2, 2}, .cores = 4};
    const double loose = bound_of(&small, true, 8);
    small.cores = 2;
    const double tight = bound_of(&small, true, 8);
    assert_true(fabs(loose - 4) < 1e-6);
    assert_true(tight > 5.8 && tight <= 6 + 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_schedule_without_preemption_beats_the_bound),
        cmocka_unit_test(no_preemptive_schedule_beats_the_bound_of_preemptive_jobs),
        cmocka_unit_test(a_search_that_stops_early_gives_a_weaker_bound_and_no_wrong_one),
        cmocka_unit_test(a_mesh_that_ends_before_the_jobs_gives_a_weaker_bound_and_no_wrong_one),
        cmocka_unit_test(jobs_that_need_all_gpus_wait_for_each_other),
        cmocka_unit_test(cores_bind_jobs_on_different_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
