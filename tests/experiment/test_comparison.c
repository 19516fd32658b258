/* Comparisons: every figure comes from its own runs, does not depend on threads, and a failure is told. */
#include "random_scenario.h"

#include "experiment/comparison.h"
#include "experiment/run.h"
#include "report/report_json.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <math.h>
#include <string.h>

#define SEEDS 5

static const struct adl_policy_ops *const three[] = {&adl_policy_fcfs, &adl_policy_sjf, &adl_policy_easy};

static struct adl_comparison_request request_for(const struct adl_scenario *s, uint32_t threads)
{
    return (struct adl_comparison_request){
        .scenario = s, .policies = three, .policy_count = 3, .first_seed = 4, .seed_count = SEEDS, .threads = threads};
}

static struct adl_comparison compare(const struct adl_comparison_request *request)
{
    struct adl_comparison comparison = {0};
    struct adl_error err;
    if (adl_comparison_run(request, &comparison, &err))
        fail_msg("%s", err.text);
    return comparison;
}

static const struct adl_score_figures some_references = {
    .jct_s = 3000, .p99_s = 20000, .jobs_per_h = 20, .energy_mj = 50, .slowdown = 4};

static void json_without_timing_does_not_depend_on_threads(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(7, 60);
    struct adl_text texts[3] = {{0}};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        const struct adl_comparison_request request = request_for(&s, threads);
        struct adl_comparison comparison = compare(&request);
        adl_report_json(&texts[threads - 1], &comparison, false, NULL);
        adl_comparison_clear(&comparison);
        assert_int_equal(adl_text_status(&texts[threads - 1]), 0);
    }
    assert_string_equal(texts[0].data, texts[1].data);
    assert_string_equal(texts[0].data, texts[2].data);
    for (int i = 0; i < 3; i++)
        adl_text_clear(&texts[i]);
    adl_scenario_clear(&s);
}

static void each_result_is_that_of_its_own_policy_and_seed(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(8, 60);
    s.references = some_references;
    const struct adl_comparison_request request = request_for(&s, 2);
    struct adl_comparison c = compare(&request);
    for (uint32_t p = 0; p < 3; p++) {
        assert_string_equal(c.policies[p].name, three[p]->name);
        assert_null(c.policies[p].timeline);
        for (uint32_t i = 0; i < SEEDS; i++) {
            struct adl_run run = {.scenario = &s, .policy = three[p], .seed = 4 + i};
            struct adl_result alone;
            struct adl_error err;
            const struct adl_job_supply supply = adl_workload_supply(&s);
            assert_int_equal(adl_lower_bound_compute(&s, &supply, run.seed, &run.bound, NULL), 0);
            assert_int_equal(adl_run(&run, &alone, &err), 0);
            const struct adl_result *here = &c.policies[p].runs[i];
            assert_true(here->plan_hash == alone.plan_hash);
            assert_true(here->bound_jct_s == run.bound.jct_mean_s);
            for (int m = 0; m < ADL_METRIC_FIRST_TIMING; m++)
                assert_true(here->value[m] == alone.value[m]);
        }
    }
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

static void column(const struct adl_comparison *c, uint32_t policy, int metric, double *ret)
{
    for (uint32_t i = 0; i < c->seed_count; i++)
        ret[i] = c->policies[policy].runs[i].value[metric];
}

static void summaries_are_of_the_metric_and_policy_they_stand_under(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(9, 60);
    const struct adl_comparison_request request = request_for(&s, 1);
    struct adl_comparison c = compare(&request);
    double x[SEEDS], bound[SEEDS];
    for (uint32_t p = 0; p < 3; p++)
        for (int m = 0; m < ADL_METRIC_COUNT; m++) {
            column(&c, p, m, x);
            const struct adl_summary expected = adl_summarize(x, SEEDS);
            const struct adl_summary *got = &c.policies[p].metrics[m];
            assert_true(got->mean == expected.mean && got->sd == expected.sd);
            assert_true(got->lo == expected.lo && got->hi == expected.hi);
        }
    for (uint32_t i = 0; i < SEEDS; i++)
        bound[i] = c.policies[2].runs[i].bound_jct_s;
    assert_true(c.bound_jct_s.mean == adl_summarize(bound, SEEDS).mean);
    assert_true(c.policies[0].metrics[ADL_METRIC_JCT_MEAN].sd > 0);
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

static void p_values_against_the_first_policy_are_one_family_for_holm(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(7, 60);
    const struct adl_comparison_request request = request_for(&s, 1);
    struct adl_comparison c = compare(&request);
    double first[SEEDS], other[SEEDS], t_p[2 * ADL_METRIC_COUNT], wilcoxon_p[2 * ADL_METRIC_COUNT];
    struct adl_paired raw[2][ADL_METRIC_COUNT];
    size_t family = 0;
    bool moved = false;
    for (uint32_t p = 1; p < 3; p++)
        for (int m = 0; m < ADL_METRIC_COUNT; m++) {
            column(&c, 0, m, first);
            column(&c, p, m, other);
            assert_int_equal(adl_compare_pairs(other, first, SEEDS, &raw[p - 1][m]), 0);
            assert_true(c.policies[p].versus_first[m].difference == raw[p - 1][m].difference);
            if (m >= ADL_METRIC_FIRST_TIMING) { /* clocks stand outside the family, as they were measured */
                assert_true(c.policies[p].versus_first[m].t_p == raw[p - 1][m].t_p);
                continue;
            }
            t_p[family] = raw[p - 1][m].t_p;
            wilcoxon_p[family++] = raw[p - 1][m].wilcoxon_p;
        }
    assert_int_equal(adl_holm(t_p, family), 0);
    assert_int_equal(adl_holm(wilcoxon_p, family), 0);
    for (size_t i = 0; i < family; i++) {
        const struct adl_paired *got =
            &c.policies[1 + i / ADL_METRIC_FIRST_TIMING].versus_first[i % ADL_METRIC_FIRST_TIMING];
        assert_true(got->t_p == t_p[i] && got->wilcoxon_p == wilcoxon_p[i]);
        moved |= got->t_p > raw[i / ADL_METRIC_FIRST_TIMING][i % ADL_METRIC_FIRST_TIMING].t_p;
    }
    assert_true(moved);
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

static void jct_is_regressed_on_utilization_and_not_the_other_way(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(8, 60);
    const struct adl_comparison_request request = request_for(&s, 1);
    struct adl_comparison c = compare(&request);
    double x[3 * SEEDS], y[3 * SEEDS];
    for (uint32_t p = 0; p < 3; p++) {
        column(&c, p, ADL_METRIC_UTILIZATION, x + p * SEEDS);
        column(&c, p, ADL_METRIC_JCT_MEAN, y + p * SEEDS);
        const struct adl_regression expected = adl_regress(x + p * SEEDS, y + p * SEEDS, SEEDS);
        assert_true(c.policies[p].jct_on_utilization.slope == expected.slope);
        assert_true(c.policies[p].jct_on_utilization.intercept == expected.intercept);
    }
    const struct adl_regression all = adl_regress(x, y, 3 * SEEDS);
    assert_true(c.jct_on_utilization.slope == all.slope && c.jct_on_utilization.r2 == all.r2);
    assert_int_equal(c.jct_on_utilization.count, 3 * SEEDS);
    assert_true(all.slope != 0);
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

static void later_first_seeds_give_the_later_runs(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(10, 40);
    struct adl_comparison_request request = request_for(&s, 1);
    struct adl_comparison all = compare(&request);
    request.first_seed = 6;
    request.seed_count = 2;
    struct adl_comparison some = compare(&request);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(some.policies[1].runs[i].plan_hash == all.policies[1].runs[i + 2].plan_hash);
    adl_comparison_clear(&all);
    adl_comparison_clear(&some);
    adl_scenario_clear(&s);
}

static void timelines_are_of_the_first_seed_and_only_on_request(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(11, 40);
    struct adl_comparison_request request = request_for(&s, 2);
    request.timelines = true;
    struct adl_comparison c = compare(&request);
    for (uint32_t p = 0; p < 3; p++) {
        assert_non_null(c.policies[p].timeline);
        assert_int_equal(c.policies[p].timeline->job_count, 40);
        assert_true(fabs((double)c.policies[p].timeline->end_us * 1e-6 -
                         c.policies[p].runs[0].value[ADL_METRIC_MAKESPAN]) < 1e-9);
    }
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

struct heard {
    uint64_t calls, last, total;
};

static void hear(void *self, uint64_t done, uint64_t total)
{
    struct heard *heard = self;
    assert_int_equal(done, heard->last + 1);
    *heard = (struct heard){heard->calls + 1, done, total};
}

static void progress_counts_every_run_once(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(12, 30);
    struct heard heard = {0};
    struct adl_comparison_request request = request_for(&s, 2);
    request.progress = hear;
    request.progress_self = &heard;
    struct adl_comparison c = compare(&request);
    assert_int_equal(heard.calls, 3 * SEEDS);
    assert_int_equal(heard.total, 3 * SEEDS);
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

/* ---- failures ---- */

static int refuse_to_exist(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                           void **ret_policy, struct adl_error *err)
{
    (void)config, (void)cluster, (void)ret_policy;
    return adl_fail(err, ADL_EINVAL, "this policy does not like seed %llu", (unsigned long long)seed);
}

static int run_dry(void *policy, const struct adl_state *s, struct adl_plan *plan)
{
    (void)policy, (void)s, (void)plan;
    return ADL_ENOMEM;
}

static int create_nothing(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                          void **ret_policy, struct adl_error *err)
{
    (void)config, (void)cluster, (void)seed, (void)err;
    *ret_policy = NULL;
    return 0;
}

static void destroy_nothing(void *policy)
{
    (void)policy;
}

static void expect_failure(struct adl_comparison_request *request, int expected, const char *words)
{
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct adl_comparison untouched = {.seed_count = 99};
        struct adl_error err = {.text = ""};
        request->threads = threads;
        assert_int_equal(adl_comparison_run(request, &untouched, &err), expected);
        if (!strstr(err.text, words))
            fail_msg("'%s' is not in: %s", words, err.text);
        assert_int_equal(untouched.seed_count, 99);
        assert_null(untouched.policies);
    }
}

static void a_policy_that_cannot_be_created_fails_the_comparison(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(13, 30);
    const struct adl_policy_ops picky = {
        .name = "picky", .summary = "", .create = refuse_to_exist, .destroy = destroy_nothing, .decide = run_dry};
    const struct adl_policy_ops *const policies[] = {&adl_policy_fcfs, &picky};
    struct adl_comparison_request request = request_for(&s, 1);
    request.policies = policies;
    request.policy_count = 2;
    expect_failure(&request, ADL_EINVAL, "does not like seed");
    adl_scenario_clear(&s);
}

static void a_policy_that_runs_out_of_memory_fails_the_comparison(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(13, 30);
    const struct adl_policy_ops dry = {
        .name = "dry", .summary = "", .create = create_nothing, .destroy = destroy_nothing, .decide = run_dry};
    const struct adl_policy_ops *const policies[] = {&adl_policy_fcfs, &dry};
    struct adl_comparison_request request = request_for(&s, 1);
    request.policies = policies;
    request.policy_count = 2;
    request.timelines = true;
    expect_failure(&request, ADL_ENOMEM, "dry");
    adl_scenario_clear(&s);
}

static void a_job_that_can_never_run_fails_the_comparison(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(3, 2, 10, 0);
    s.workload.mix[0].gpu_memory_mib = 16385;
    struct adl_comparison_request request = request_for(&s, 1);
    expect_failure(&request, ADL_EINVAL, "job 1 can never run");
    adl_scenario_clear(&s);
}

static int object(void *self, uint64_t hash, const struct adl_state *s)
{
    (void)self, (void)hash, (void)s;
    return ADL_EIO;
}

static void an_observer_that_fails_fails_the_comparison(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(13, 30);
    const struct adl_observer observer = {.decided = object};
    struct adl_comparison_request request = request_for(&s, 1);
    request.policy_count = request.seed_count = 1;
    request.observer = &observer;
    expect_failure(&request, ADL_EIO, "observer");
    adl_scenario_clear(&s);
}

static double score(const struct adl_comparison *c, uint32_t policy, uint32_t seed)
{
    return c->policies[policy].runs[seed].value[ADL_METRIC_HYPERSCORE];
}

static void a_policy_more_changes_nobodys_score(void **state)
{
    (void)state;
    for (int pinned = 0; pinned < 2; pinned++) {
        struct adl_scenario s = random_scenario(11, 60);
        s.references = pinned ? some_references : (struct adl_score_figures){0};
        struct adl_comparison_request request = request_for(&s, 1);
        struct adl_comparison all = compare(&request);
        request.policy_count = 2;
        struct adl_comparison two = compare(&request);
        for (uint32_t p = 0; p < 2; p++)
            for (uint32_t i = 0; i < SEEDS; i++)
                assert_true(score(&two, p, i) == score(&all, p, i));
        adl_comparison_clear(&all);
        adl_comparison_clear(&two);
        adl_scenario_clear(&s);
    }
}

static void pinned_references_score_a_policy_the_same_in_any_order(void **state)
{
    (void)state;
    static const struct adl_policy_ops *const other_way[] = {&adl_policy_easy, &adl_policy_sjf, &adl_policy_fcfs};
    struct adl_scenario s = random_scenario(12, 60);
    s.references = some_references;
    struct adl_comparison_request request = request_for(&s, 1);
    struct adl_comparison one = compare(&request);
    request.policies = other_way;
    struct adl_comparison other = compare(&request);
    assert_null(one.references_from);
    for (uint32_t p = 0; p < 3; p++)
        for (uint32_t i = 0; i < SEEDS; i++)
            assert_true(score(&one, p, i) == score(&other, 2 - p, i));
    adl_comparison_clear(&one);
    adl_comparison_clear(&other);
    adl_scenario_clear(&s);
}

/* A stop costs 1 s and a restart 1 s, on each GPU of the job; jobs checkpoint when told, so no work is repeated. */
static void gpu_time_lost_includes_the_time_to_stop_and_restart(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {.text = ""};
    struct adl_result result;
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/paper16p.yaml", &s, NULL, &err))
        fail_msg("%s", err.text);
    const struct adl_run run = {.scenario = &s, .policy = &adl_policy_srtf, .seed = 1};
    assert_int_equal(adl_run(&run, &result, &err), 0);
    assert_true(result.evictions > 0);
    assert_true(result.lost_gpu_s >= 2 * result.evictions && result.lost_gpu_s <= 2 * 8 * result.evictions);
    s.preemption.checkpoint_s = s.preemption.restart_s = 0;
    assert_int_equal(adl_run(&run, &result, &err), 0);
    assert_true(result.evictions > 0);
    assert_int_equal(result.lost_gpu_s, 0);
    adl_scenario_clear(&s);
}

static void without_references_the_first_policy_is_the_reference(void **state)
{
    (void)state;
    struct adl_scenario s = random_scenario(13, 60);
    struct adl_comparison_request request = request_for(&s, 1);
    request.seed_count = 1;
    struct adl_comparison c = compare(&request);
    assert_string_equal(c.references_from, "fcfs");
    assert_true(fabs(c.references.jct_s - c.policies[0].runs[0].value[ADL_METRIC_JCT_MEAN]) < 1e-9);
    assert_true(fabs(score(&c, 0, 0) - 109.9551) < 5e-5);
    adl_comparison_clear(&c);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_without_timing_does_not_depend_on_threads),
        cmocka_unit_test(each_result_is_that_of_its_own_policy_and_seed),
        cmocka_unit_test(summaries_are_of_the_metric_and_policy_they_stand_under),
        cmocka_unit_test(p_values_against_the_first_policy_are_one_family_for_holm),
        cmocka_unit_test(jct_is_regressed_on_utilization_and_not_the_other_way),
        cmocka_unit_test(later_first_seeds_give_the_later_runs),
        cmocka_unit_test(timelines_are_of_the_first_seed_and_only_on_request),
        cmocka_unit_test(a_policy_more_changes_nobodys_score),
        cmocka_unit_test(pinned_references_score_a_policy_the_same_in_any_order),
        cmocka_unit_test(without_references_the_first_policy_is_the_reference),
        cmocka_unit_test(gpu_time_lost_includes_the_time_to_stop_and_restart),
        cmocka_unit_test(progress_counts_every_run_once),
        cmocka_unit_test(a_policy_that_cannot_be_created_fails_the_comparison),
        cmocka_unit_test(a_policy_that_runs_out_of_memory_fails_the_comparison),
        cmocka_unit_test(a_job_that_can_never_run_fails_the_comparison),
        cmocka_unit_test(an_observer_that_fails_fails_the_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
