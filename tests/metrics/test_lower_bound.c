/* Tests of feedback/bound: by hand, against the best schedule of small workloads, and against a slow
 * reference. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/rng.h"
#include "metrics/lower_bound.h"

#define assert_near(actual, expected, tolerance) assert_true(fabs((actual) - (expected)) <= (tolerance))

#define SECOND   1000000
#define JOBS_MAX 6

/* Times in whole seconds. */
struct small_job {
    int submit, run, gpus;
};

static struct adl_jct_bound_result bound_of(double gpus, const struct adl_jct_bound_job *jobs, size_t count)
{
    struct adl_jct_bound *bound = NULL;
    assert_int_equal(adl_jct_bound_create(gpus, &bound), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(adl_jct_bound_add(bound, &jobs[i]), 0);
    const struct adl_jct_bound_result result = adl_jct_bound_finish(bound);
    adl_jct_bound_destroy(bound);
    assert_int_equal(result.jobs, count);
    return result;
}

static struct adl_jct_bound_job in_seconds(int submit, double run, double gpu)
{
    return (struct adl_jct_bound_job){(int64_t)submit * SECOND, (int64_t)(run * SECOND), gpu * SECOND};
}

static struct adl_jct_bound_result bound_of_small(int gpus, const struct small_job *jobs, size_t count)
{
    struct adl_jct_bound_job converted[JOBS_MAX];
    for (size_t i = 0; i < count; i++)
        converted[i] = in_seconds(jobs[i].submit, jobs[i].run, jobs[i].run * jobs[i].gpus);
    return bound_of(gpus, converted, count);
}

static void no_jobs_take_no_time(void **state)
{
    (void)state;
    const struct adl_jct_bound_result result = bound_of(4, NULL, 0);
    assert_true(result.jct_mean_s == 0.0 && result.makespan_s == 0.0);
    adl_jct_bound_destroy(NULL);
}

static void one_job_takes_its_run(void **state)
{
    (void)state;
    const struct adl_jct_bound_job job = in_seconds(3, 10, 20);
    const struct adl_jct_bound_result result = bound_of(8, &job, 1);
    assert_near(result.jct_mean_s, 10.0, 1e-12);
    assert_near(result.makespan_s, 13.0, 1e-12);
}

static void a_job_without_gpu_time_still_takes_its_run(void **state)
{
    (void)state;
    const struct adl_jct_bound_job jobs[] = {in_seconds(0, 10, 0), in_seconds(2, 4, 0)};
    const struct adl_jct_bound_result result = bound_of(8, jobs, 2);
    assert_near(result.jct_mean_s, 7.0, 1e-12);
    assert_near(result.makespan_s, 10.0, 1e-12);
}

static void two_jobs_on_one_gpu_go_shortest_first(void **state)
{
    (void)state;
    const struct small_job jobs[] = {{0, 10, 1}, {0, 4, 1}};
    const struct adl_jct_bound_result result = bound_of_small(1, jobs, 2);
    assert_near(result.jct_mean_s, (4.0 + 14.0) / 2, 1e-12);
    assert_near(result.makespan_s, 14.0, 1e-12);
}

static void a_short_job_may_interrupt_and_a_long_one_with_less_left_goes_on(void **state)
{
    (void)state;
    const struct small_job interrupts[] = {{0, 10, 1}, {2, 2, 1}};
    assert_near(bound_of_small(1, interrupts, 2).jct_mean_s, (12.0 + 2.0) / 2, 1e-12);
    const struct small_job waits[] = {{0, 10, 1}, {7, 5, 1}};
    assert_near(bound_of_small(1, waits, 2).jct_mean_s, (10.0 + 8.0) / 2, 1e-12);
}

static void makespan_covers_an_idle_gap_and_the_work_after_it(void **state)
{
    (void)state;
    const struct small_job jobs[] = {{0, 3, 1}, {10, 4, 1}, {11, 4, 2}, {12, 4, 2}};
    assert_near(bound_of_small(2, jobs, 4).makespan_s, 10.0 + (4 + 8 + 8) / 2.0, 1e-12);
    const struct small_job late[] = {{0, 3, 1}, {9, 9, 1}};
    assert_near(bound_of_small(2, late, 2).makespan_s, 18.0, 1e-12);
}

/* Three jobs of 10 s on two GPUs: run 30, shortest remaining 5 + 10 + 15 = 30, mean busy 2.5 + 7.5 + 12.5
 * + 15. */
static void mean_busy_time_is_the_stronger_bound_for_many_narrow_jobs(void **state)
{
    (void)state;
    const struct small_job jobs[] = {{0, 10, 1}, {0, 10, 1}, {0, 10, 1}};
    assert_near(bound_of_small(2, jobs, 3).jct_mean_s, 37.5 / 3, 1e-12);
}

/* On the one machine A has [0, 2] and [4, 12], B [2, 4]: M_A = (2 * 1 + 8 * 8) / 10, M_B - 2 = 1; the run
 * gives 15, shortest remaining 12 + 2. */
static void mean_busy_time_counts_an_interrupted_job_by_its_parts(void **state)
{
    (void)state;
    const struct adl_jct_bound_job jobs[] = {in_seconds(0, 10, 20), in_seconds(2, 5, 4)};
    assert_near(bound_of(2, jobs, 2).jct_mean_s, (6.6 + 1.0 + 7.5) / 2, 1e-12);
}

static void a_job_that_is_out_of_order_or_senseless_is_refused_and_leaves_no_trace(void **state)
{
    (void)state;
    struct adl_jct_bound *bound = NULL;
    assert_int_equal(adl_jct_bound_create(0.0, &bound), ADL_EINVAL);
    assert_int_equal(adl_jct_bound_create(NAN, &bound), ADL_EINVAL);
    assert_null(bound);
    assert_int_equal(adl_jct_bound_create(1.0, &bound), 0);
    const struct adl_jct_bound_job good = in_seconds(5, 1, 1);
    const struct adl_jct_bound_job bad[] = {in_seconds(4, 1, 1), in_seconds(5, 0, 1), in_seconds(5, 1, -1),
                                            in_seconds(5, 1, NAN), in_seconds(5, 1, HUGE_VAL)};
    assert_int_equal(adl_jct_bound_add(bound, &good), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(adl_jct_bound_add(bound, &bad[i]), ADL_EINVAL);
    const struct adl_jct_bound_result result = adl_jct_bound_finish(bound);
    adl_jct_bound_destroy(bound);
    assert_int_equal(result.jobs, 1);
    assert_near(result.jct_mean_s, 1.0, 1e-12);
    assert_near(result.makespan_s, 6.0, 1e-12);
}

/* ---- the best schedule of a small workload ---- */

struct best {
    int flow;     /* least sum of JCT, seconds */
    int makespan; /* least end */
};

/* Every order of the jobs, each started as early as the GPUs left by those before it allow: that holds a best
 * schedule among those without preemption. */
static void try_orders(int gpus, const struct small_job *jobs, int count, unsigned done, const int *used, int flow,
                       int end, struct best *best)
{
    if (done == (1u << count) - 1) {
        best->flow = flow < best->flow ? flow : best->flow;
        best->makespan = end < best->makespan ? end : best->makespan;
        return;
    }
    for (int j = 0; j < count; j++) {
        if (done >> j & 1)
            continue;
        int start = jobs[j].submit;
        for (int t = start; t < start + jobs[j].run; t++)
            if (used[t] + jobs[j].gpus > gpus)
                start = t + 1;
        int next[64];
        memcpy(next, used, sizeof next);
        const int finish = start + jobs[j].run;
        for (int t = start; t < finish; t++)
            next[t] += jobs[j].gpus;
        try_orders(gpus, jobs, count, done | 1u << j, next, flow + finish - jobs[j].submit, finish > end ? finish : end,
                   best);
    }
}

static struct best best_without_preemption(int gpus, const struct small_job *jobs, int count)
{
    const int used[64] = {0};
    struct best best = {INT_MAX, INT_MAX};
    try_orders(gpus, jobs, count, 0, used, 0, 0, &best);
    return best;
}

#define PREEMPT_JOBS 4
#define PREEMPT_RUN  3 /* longest run: what is left of a job fits two bits */

struct preempt_search {
    const struct small_job *jobs;
    int gpus;
    int memo[32][1 << (2 * PREEMPT_JOBS)]; /* [second][what is left], 0 = unknown */
    int by_flow;
};

/* Least cost from second t on; each second costs one per live job (by_flow), or one until all is done. */
static int best_from(struct preempt_search *search, int t, unsigned left)
{
    if (left == 0)
        return 0;
    if (search->memo[t][left])
        return search->memo[t][left] - 1;
    unsigned live = 0;
    int live_count = 0;
    for (int j = 0; j < PREEMPT_JOBS; j++)
        if ((left >> 2 * j & 3) && search->jobs[j].submit <= t) {
            live |= 1u << j;
            live_count++;
        }
    int least = INT_MAX;
    for (unsigned serve = 0; serve < 1u << PREEMPT_JOBS; serve++) {
        if ((serve & ~live) || (live && !serve))
            continue;
        int gpus = 0;
        unsigned next = left;
        for (int j = 0; j < PREEMPT_JOBS; j++)
            if (serve >> j & 1) {
                gpus += search->jobs[j].gpus;
                next -= 1u << 2 * j;
            }
        if (gpus > search->gpus)
            continue;
        const int cost = best_from(search, t + 1, next);
        least = cost < least ? cost : least;
    }
    least += search->by_flow ? live_count : 1;
    search->memo[t][left] = least + 1;
    return least;
}

static struct best best_with_preemption(int gpus, const struct small_job *jobs)
{
    static struct preempt_search search;
    unsigned left = 0;
    for (int j = 0; j < PREEMPT_JOBS; j++)
        left |= (unsigned)jobs[j].run << 2 * j;
    struct best best;
    search = (struct preempt_search){.jobs = jobs, .gpus = gpus, .by_flow = 1};
    best.flow = best_from(&search, 0, left);
    search = (struct preempt_search){.jobs = jobs, .gpus = gpus};
    best.makespan = best_from(&search, 0, left);
    return best;
}

static void draw_jobs(struct adl_rng *rng, int gpus, int run_max, struct small_job *jobs, int count)
{
    int submit = 0;
    for (int j = 0; j < count; j++) {
        submit += j > 0 ? (int)adl_rng_below(rng, 3) : 0;
        jobs[j].submit = submit;
        jobs[j].run = 1 + (int)adl_rng_below(rng, (uint32_t)run_max);
        jobs[j].gpus = 1 + (int)adl_rng_below(rng, (uint32_t)gpus);
    }
}

static void no_schedule_without_preemption_beats_the_bound(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 11, "orders");
    int reached = 0;
    for (int trial = 0; trial < 300; trial++) {
        struct small_job jobs[JOBS_MAX];
        const int gpus = 1 + trial % 3;
        const int count = 2 + (int)adl_rng_below(&rng, JOBS_MAX - 1);
        draw_jobs(&rng, gpus, 6, jobs, count);
        const struct best best = best_without_preemption(gpus, jobs, count);
        const struct adl_jct_bound_result result = bound_of_small(gpus, jobs, (size_t)count);
        assert_true(result.jct_mean_s * count <= best.flow + 1e-9);
        assert_true(result.makespan_s <= best.makespan + 1e-9);
        assert_true(result.jct_mean_s * count >= 0.5 * best.flow);
        reached += result.jct_mean_s * count >= best.flow - 1e-9;
    }
    assert_true(reached > 30);
}

static void no_preemptive_schedule_beats_the_bound(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 12, "preemptive");
    for (int trial = 0; trial < 400; trial++) {
        struct small_job jobs[PREEMPT_JOBS];
        const int gpus = 2 + trial % 2;
        draw_jobs(&rng, gpus, PREEMPT_RUN, jobs, PREEMPT_JOBS);
        const struct best best = best_with_preemption(gpus, jobs);
        const struct adl_jct_bound_result result = bound_of_small(gpus, jobs, PREEMPT_JOBS);
        assert_true(result.jct_mean_s * PREEMPT_JOBS <= best.flow + 1e-9);
        assert_true(result.makespan_s <= best.makespan + 1e-9);
    }
}

static void on_one_gpu_the_bound_is_the_best_preemptive_schedule(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 13, "one");
    for (int trial = 0; trial < 400; trial++) {
        struct small_job jobs[PREEMPT_JOBS];
        draw_jobs(&rng, 1, PREEMPT_RUN, jobs, PREEMPT_JOBS);
        const struct best best = best_with_preemption(1, jobs);
        const struct adl_jct_bound_result result = bound_of_small(1, jobs, PREEMPT_JOBS);
        assert_near(result.jct_mean_s * PREEMPT_JOBS, best.flow, 1e-9);
        assert_near(result.makespan_s, best.makespan, 1e-9);
    }
}

/* ---- the heaps against a scan of all jobs ---- */

#define MANY 1500

struct reference {
    double flow, mean_busy, end;
};

/* Always serves the live job of the least key until it is done or the next one is submitted. */
static struct reference serve_by_scan(double gpus, const struct adl_jct_bound_job *jobs, size_t count, int by_left)
{
    static double left[MANY];
    struct reference result = {0};
    for (size_t i = 0; i < count; i++)
        left[i] = jobs[i].gpu_us / gpus;
    double now = 0.0;
    for (size_t submitted = 0;;) {
        size_t least = count;
        while (submitted < count && (double)jobs[submitted].submit_us <= now)
            submitted++;
        for (size_t i = 0; i < submitted; i++) {
            if (left[i] <= 0.0)
                continue;
            if (least == count || (by_left ? left[i] < left[least] : jobs[i].gpu_us < jobs[least].gpu_us))
                least = i;
        }
        const double next = submitted < count ? (double)jobs[submitted].submit_us : HUGE_VAL;
        if (least == count) {
            if (submitted == count)
                return result;
            now = next;
            continue;
        }
        const int done = now + left[least] <= next;
        const double served = done ? left[least] : next - now;
        const double submit = (double)jobs[least].submit_us;
        result.mean_busy += served / (jobs[least].gpu_us / gpus) * (now + served / 2 - submit);
        left[least] = done ? 0.0 : left[least] - served;
        now = done ? now + served : next;
        result.end = now;
        if (done)
            result.flow += now - submit;
    }
}

static void streaming_equals_a_scan_of_all_jobs_and_each_bound_decides_somewhere(void **state)
{
    (void)state;
    static struct adl_jct_bound_job jobs[MANY];
    struct adl_rng rng;
    adl_rng_seed(&rng, 14, "stream");
    int decided[3] = {0};
    for (int trial = 0; trial < 12; trial++) {
        const double gpus = 16;
        const int64_t gap_us = (trial % 3 + 1) * 4 * SECOND;
        const double stretch = trial % 4 < 2 ? 0.05 : 1.0; /* run time per GPU time */
        double run_us = 0.0, end_us = 0.0;
        int64_t submit_us = 0;
        for (size_t i = 0; i < MANY; i++) {
            submit_us += (int64_t)(adl_rng_exponential(&rng) * (double)gap_us);
            jobs[i].submit_us = submit_us;
            jobs[i].gpu_us = adl_rng_exponential(&rng) * 100 * SECOND;
            jobs[i].run_us = 1 + (int64_t)(jobs[i].gpu_us * stretch);
            run_us += (double)jobs[i].run_us;
            end_us = fmax(end_us, (double)(submit_us + jobs[i].run_us));
        }
        const double flow = serve_by_scan(gpus, jobs, MANY, 1).flow;
        const struct reference least = serve_by_scan(gpus, jobs, MANY, 0);
        const double bounds[3] = {run_us, flow, least.mean_busy + run_us / 2};
        int which = bounds[1] > bounds[0];
        which = bounds[2] > bounds[which] ? 2 : which;
        decided[which]++;
        const struct adl_jct_bound_result result = bound_of(gpus, jobs, MANY);
        assert_near(result.jct_mean_s * MANY * SECOND, bounds[which], 1e-9 * bounds[which]);
        assert_near(result.makespan_s * SECOND, fmax(end_us, least.end), 1e-9 * end_us);
    }
    assert_true(decided[0] > 0 && decided[1] > 0 && decided[2] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_jobs_take_no_time),
        cmocka_unit_test(one_job_takes_its_run),
        cmocka_unit_test(a_job_without_gpu_time_still_takes_its_run),
        cmocka_unit_test(two_jobs_on_one_gpu_go_shortest_first),
        cmocka_unit_test(a_short_job_may_interrupt_and_a_long_one_with_less_left_goes_on),
        cmocka_unit_test(makespan_covers_an_idle_gap_and_the_work_after_it),
        cmocka_unit_test(mean_busy_time_is_the_stronger_bound_for_many_narrow_jobs),
        cmocka_unit_test(mean_busy_time_counts_an_interrupted_job_by_its_parts),
        cmocka_unit_test(a_job_that_is_out_of_order_or_senseless_is_refused_and_leaves_no_trace),
        cmocka_unit_test(no_schedule_without_preemption_beats_the_bound),
        cmocka_unit_test(no_preemptive_schedule_beats_the_bound),
        cmocka_unit_test(on_one_gpu_the_bound_is_the_best_preemptive_schedule),
        cmocka_unit_test(streaming_equals_a_scan_of_all_jobs_and_each_bound_decides_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
