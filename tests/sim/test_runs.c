/* Whole runs: small random worlds under every policy and both regimes, watched by a checker that keeps its
 * own books. */
#include "capping_policy.h"
#include "random_scenario.h"
#include "run_checker.h"

#include "experiment/run.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

/* Scenarios per regime; more of them with RANDOM_SCENARIOS=N in the environment. */
static uint64_t scenarios = 40;

/* What is being run, for messages. */
static char label[120];

static void assert_same(double value, double expected, const char *what)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(fabs(value), fabs(expected)) + 1e-12))
        fail_msg("%s: %s is %.12g by the metrics and %.12g by the checker", label, what, value, expected);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double p99_s(const struct checker *checker)
{
    double *jct_s = malloc(checker->job_count * sizeof *jct_s);
    assert_non_null(jct_s);
    for (uint64_t i = 0; i < checker->job_count; i++)
        jct_s[i] = (double)checker->jobs[i].jct_us * 1e-6;
    qsort(jct_s, checker->job_count, sizeof *jct_s, by_value);
    const double at = 0.99 * (double)(checker->job_count - 1);
    const uint64_t below = (uint64_t)at;
    const uint64_t above = below + 1 < checker->job_count ? below + 1 : below;
    const double value = jct_s[below] + (jct_s[above] - jct_s[below]) * (at - (double)below);
    free(jct_s);
    return value;
}

static void check_metrics(const struct checker *checker, const struct adl_result *result)
{
    const double jobs = (double)checker->job_count, end_s = (double)checker->last_end_us * 1e-6;
    const double gpus = checker->scenario->cluster.gpu_count;
    const double *value = result->value;
    const double jct_sum_s = (double)checker->jct_us * 1e-6, idle_s = (double)checker->idle_us * 1e-6;
    assert_same(value[ADL_METRIC_JCT_MEAN], jct_sum_s / jobs, "mean JCT");
    assert_same(value[ADL_METRIC_JCT_P99], p99_s(checker), "p99 JCT");
    assert_same(value[ADL_METRIC_WAIT_MEAN], checker->wait_s / jobs, "mean wait");
    assert_same(value[ADL_METRIC_SLOWDOWN_MEAN], checker->slowdown / jobs, "slowdown");
    assert_same(value[ADL_METRIC_THROUGHPUT], jobs * 3600 / end_s, "throughput");
    assert_same(value[ADL_METRIC_UTILIZATION], (double)checker->busy_at_last_end_us * 1e-6 / (end_s * gpus),
                "utilization");
    assert_same(value[ADL_METRIC_MAKESPAN], end_s, "makespan");
    assert_same(value[ADL_METRIC_ENERGY], checker->meter_j, "energy");
    assert_same(value[ADL_METRIC_SLA], checker->sla_jobs ? (double)checker->sla_met / (double)checker->sla_jobs : 1,
                "SLA attainment");
    assert_same(value[ADL_METRIC_EFFICIENCY], checker->ideal_gpu_s / ((double)checker->busy_at_last_end_us * 1e-6),
                "efficiency");
    assert_same(value[ADL_METRIC_REWARD], -(jct_sum_s + checker->scenario->lambda * idle_s), "reward");
    assert_int_equal(result->timeouts, checker->timeouts);
    assert_int_equal(result->evictions, checker->evictions);
}

static void check_whole(const struct checker *checker, const struct adl_result *result,
                        const struct adl_timeline *timeline)
{
    if (checker->done != checker->job_count || checker->arrived != checker->job_count || result->unfinished > 0)
        fail_msg("%s: %llu of %llu jobs ended, %llu unfinished", label, (unsigned long long)checker->done,
                 (unsigned long long)checker->job_count, (unsigned long long)result->unfinished);
    if (result->refused > 0)
        fail_msg("%s: %llu refused", label, (unsigned long long)result->refused);
    assert_int_equal(checker->meters, checker->scenario->cluster.gpu_count);
    assert_int_equal(checker->now_us, checker->last_end_us);
    if (!(fabs(checker->meter_j - checker->job_energy_j - checker->idle_energy_j) <= 1e-7 * checker->meter_j))
        fail_msg("%s: GPUs drew %.9g J, jobs %.9g and idle GPUs %.9g", label, checker->meter_j, checker->job_energy_j,
                 checker->idle_energy_j);
    const double drawn_j = checker->drawn_j + checker->idle_energy_j;
    if (!(fabs(checker->meter_j - drawn_j) <= 1e-9 * drawn_j))
        fail_msg("%s: GPUs drew %.12g J and must have drawn %.12g", label, checker->meter_j, drawn_j);
    double drawn_gpu_s = 0;
    for (size_t i = 0; i < timeline->segment_count; i++)
        drawn_gpu_s += (double)(timeline->segments[i].end_us - timeline->segments[i].start_us) * 1e-6;
    assert_same(drawn_gpu_s, checker->held_gpu_s, "GPU time on the timeline");
}

static void check_bound(const struct adl_lower_bound *bound, const struct adl_result *result)
{
    const double slack = 1 + 1e-9;
    if (result->value[ADL_METRIC_JCT_MEAN] * slack + 2e-6 < bound->jct_mean_s || bound->jct_mean_s <= 0)
        fail_msg("%s: mean JCT %.9g s is below its bound %.9g", label, result->value[ADL_METRIC_JCT_MEAN],
                 bound->jct_mean_s);
    if (result->value[ADL_METRIC_MAKESPAN] * slack + 1e-3 < bound->makespan_s)
        fail_msg("%s: makespan %.9g s is below its bound %.9g", label, result->value[ADL_METRIC_MAKESPAN],
                 bound->makespan_s);
    if (result->value[ADL_METRIC_ENERGY] * slack < bound->energy_j)
        fail_msg("%s: energy %.9g J is below its bound %.9g", label, result->value[ADL_METRIC_ENERGY], bound->energy_j);
    assert_same(result->bound_jct_s, bound->jct_mean_s, "bound");
}

/* Returns how many power caps were set. */
static uint64_t run_once(const struct adl_scenario *s, uint64_t seed, const struct adl_policy_ops *policy, int regime)
{
    struct checker checker;
    struct adl_error err = {.text = ""};
    struct adl_result result, again;
    struct adl_run run = {.scenario = s, .policy = policy, .seed = seed, .regime = regime};
    const struct adl_job_supply supply = adl_workload_supply(s);
    assert_int_equal(checker_start(&checker, s, seed), 0);
    assert_int_equal(adl_lower_bound_compute(s, &supply, seed, &run.bound, NULL), 0);
    assert_int_equal(adl_timeline_create(s->cluster.gpu_count, &run.timeline), 0);
    const struct adl_observer observer = checker_observer(&checker);
    run.observer = &observer;
    if (adl_run(&run, &result, &err))
        fail_msg("%s: %s %s", label, err.text, checker.wrong);
    check_whole(&checker, &result, run.timeline);
    check_metrics(&checker, &result);
    check_bound(&run.bound, &result);
    adl_timeline_destroy(run.timeline);
    run.timeline = NULL;
    run.observer = NULL;
    assert_int_equal(adl_run(&run, &again, &err), 0);
    if (again.plan_hash != result.plan_hash || again.events != result.events)
        fail_msg("%s: a second run decided otherwise", label);
    checker_clear(&checker);
    return checker.caps;
}

static void run_regime(int regime)
{
    for (uint64_t n = 1; n <= scenarios; n++) {
        const uint64_t i = n * 2 + (uint64_t)regime;
        struct adl_scenario s = random_scenario(i, 30 + i * 37 % 60);
        for (uint32_t p = 0; p < adl_policy_count(); p++) {
            const struct adl_policy_ops *policy = adl_policy_at(p);
            snprintf(label, sizeof label, "random scenario %llu, %s, %s", (unsigned long long)i, policy->name,
                     adl_regime_name(regime));
            run_once(&s, i, policy, regime);
        }
        adl_scenario_clear(&s);
    }
}

static void every_policy_keeps_the_books_straight_with_declared_limits(void **state)
{
    (void)state;
    run_regime(ADL_REGIME_DECLARED);
}

static void every_policy_keeps_the_books_straight_with_true_run_times(void **state)
{
    (void)state;
    run_regime(ADL_REGIME_ORACLE);
}

/* Caps that come, change and go at any time, on idle GPUs, shared ones, gangs and GPUs that are down. */
static void energy_adds_up_and_stays_above_its_bound_under_random_power_caps(void **state)
{
    (void)state;
    uint64_t caps = 0;
    for (uint64_t i = 1; i <= 2 * scenarios; i++) {
        struct adl_scenario s = random_scenario(1000 + i, 30 + i * 37 % 60);
        snprintf(label, sizeof label, "random scenario %llu, random power caps", (unsigned long long)i + 1000);
        caps += run_once(&s, i, &capping_policy, (int)(i % 2));
        adl_scenario_clear(&s);
    }
    assert_true(caps > 20 * scenarios);
}

/* The random worlds must be worth running: all that can happen does happen in some of them. */
static void the_random_worlds_have_faults_kills_sharing_and_preemption(void **state)
{
    (void)state;
    uint64_t timeouts = 0, evictions = 0, spans = 0, shares = 0;
    for (uint64_t i = 1; i <= 40; i++) {
        struct adl_scenario s = random_scenario(i, 60);
        struct adl_error err;
        struct adl_result result;
        const struct adl_run run = {.scenario = &s, .policy = &adl_policy_srtf, .seed = i};
        assert_int_equal(adl_run(&run, &result, &err), 0);
        timeouts += result.timeouts;
        evictions += result.evictions;
        for (uint32_t m = 0; m < s.workload.mix_count; m++) {
            spans += (s.workload.mix[m].flags & ADL_JOB_SPAN) != 0;
            shares += strstr(s.policy.settings, "share=true") && s.workload.mix[m].flags & ADL_JOB_SHARE;
        }
        adl_scenario_clear(&s);
    }
    assert_true(timeouts > 20);
    assert_true(evictions > 100);
    assert_true(spans > 20);
    assert_true(shares > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_keeps_the_books_straight_with_declared_limits),
        cmocka_unit_test(every_policy_keeps_the_books_straight_with_true_run_times),
        cmocka_unit_test(energy_adds_up_and_stays_above_its_bound_under_random_power_caps),
        cmocka_unit_test(the_random_worlds_have_faults_kills_sharing_and_preemption),
    };
    if (getenv("RANDOM_SCENARIOS"))
        scenarios = strtoull(getenv("RANDOM_SCENARIOS"), NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
