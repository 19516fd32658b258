/* The generated jobs: when they come, what they are, and what a seed fixes. */
#include "tiny_scenario.h"

#include "base/real.h"

#include <math.h>
#include <string.h>

#define HOUR_US 3600e6

/* Two types, the second half as fast; two classes of different kinds. */
static struct adl_scenario two_by_two(uint64_t jobs)
{
    struct adl_scenario s = tiny_start(jobs);
    tiny_node(&s, tiny_type(&s), 8);
    tiny_node(&s, tiny_type(&s), 8);
    tiny_class(&s, ADL_KIND_TRAINING, 0.9, 0.5)->steps_per_s[1] = 0.5;
    tiny_class(&s, ADL_KIND_DATA, 0.3, 0.8)->steps_per_s[1] = 0.5;
    tiny_mix(&s, 0, 100, 1, 0);
    tiny_mix(&s, 1, 50, 1, 0);
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    return s;
}

static struct adl_true_job *draw_all(const struct adl_scenario *s, uint64_t seed)
{
    struct adl_workload_stream stream;
    struct adl_true_job *jobs = calloc(s->workload.jobs, sizeof *jobs);
    assert_non_null(jobs);
    assert_int_equal(adl_workload_begin(&stream, s, seed), 0);
    for (uint64_t i = 0; i < s->workload.jobs; i++)
        assert_true(adl_workload_next(&stream, &jobs[i]));
    struct adl_true_job none;
    assert_false(adl_workload_next(&stream, &none));
    adl_workload_end(&stream);
    return jobs;
}

static double mean_rate_per_h(const struct adl_true_job *jobs, uint64_t count)
{
    return (double)count / ((double)jobs[count - 1].submit_us / HOUR_US);
}

/* Within five standard errors of a mean whose relative standard error is given. */
static void assert_about(double value, double expected, double relative_error)
{
    if (!(fabs(value - expected) <= 5 * relative_error * expected))
        fail_msg("%g is not within 5 x %g of %g", value, relative_error * expected, expected);
}

static void submissions_never_go_back_in_time_and_ids_count_from_one(void **state)
{
    (void)state;
    for (int process = ADL_ARRIVAL_POISSON; process <= ADL_ARRIVAL_BACKLOG; process++) {
        struct adl_scenario s = two_by_two(2000);
        s.workload.arrivals = (struct adl_arrivals){.process = process,
                                                    .rate_per_h = 600,
                                                    .amplitude = 0.9,
                                                    .period_s = 3600,
                                                    .burst_jobs = 5,
                                                    .surge_start_s = 100,
                                                    .surge_length_s = 1000,
                                                    .surge_factor = 10,
                                                    .surge_kind = -1};
        struct adl_true_job *jobs = draw_all(&s, 3);
        for (uint64_t i = 0; i < s.workload.jobs; i++) {
            assert_int_equal(jobs[i].spec.id, i + 1);
            assert_true(jobs[i].submit_us >= (i ? jobs[i - 1].submit_us : 0));
        }
        free(jobs);
        adl_scenario_clear(&s);
    }
}

static void poisson_gaps_have_the_mean_and_the_spread_of_the_rate(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    s.workload.arrivals.rate_per_h = 720;
    struct adl_true_job *jobs = draw_all(&s, 1);
    const double n = (double)s.workload.jobs, mean_s = 5;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        const double gap_s = (double)(jobs[i].submit_us - (i ? jobs[i - 1].submit_us : 0)) * 1e-6;
        sum += gap_s;
        squares += gap_s * gap_s;
    }
    assert_about(sum / n, mean_s, 1 / sqrt(n));
    assert_about(squares / n, 2 * mean_s * mean_s, sqrt(5 / n)); /* E x^2 = 2 m^2, E x^4 = 24 m^4 */
    free(jobs);
    adl_scenario_clear(&s);
}

static void diurnal_arrivals_keep_their_mean_and_crowd_the_first_half_of_the_day(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(24000);
    s.workload.arrivals = (struct adl_arrivals){
        .process = ADL_ARRIVAL_DIURNAL, .rate_per_h = 1200, .amplitude = 0.6, .period_s = 7200, .surge_kind = -1};
    struct adl_true_job *jobs = draw_all(&s, 2);
    const double n = (double)s.workload.jobs;
    assert_about(mean_rate_per_h(jobs, s.workload.jobs), 1200, 1 / sqrt(n));
    double first_half = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        first_half += jobs[i].submit_us / 3600000000 % 2 == 0;
    /* The wave is two parabolas of mean 2/3: the first half has 1 + 0.6 * 2/3 of the mean rate. */
    assert_about(first_half / n, 0.7, sqrt(0.3 / 0.7 / n));
    free(jobs);
    adl_scenario_clear(&s);
}

static void bursts_have_their_mean_size_and_jobs_keep_their_rate(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(40000);
    s.workload.arrivals.process = ADL_ARRIVAL_BURSTY;
    s.workload.arrivals.rate_per_h = 900;
    s.workload.arrivals.burst_jobs = 8;
    struct adl_true_job *jobs = draw_all(&s, 4);
    double bursts = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        bursts += i == 0 || jobs[i].submit_us != jobs[i - 1].submit_us;
    assert_about((double)s.workload.jobs / bursts, 8, 1 / sqrt(bursts));
    assert_about(mean_rate_per_h(jobs, s.workload.jobs), 900, sqrt(2 / bursts));
    free(jobs);
    adl_scenario_clear(&s);
}

static void bursts_of_one_are_a_plain_stream(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(10000);
    s.workload.arrivals.process = ADL_ARRIVAL_BURSTY;
    s.workload.arrivals.burst_jobs = 1;
    struct adl_true_job *jobs = draw_all(&s, 4);
    assert_about(mean_rate_per_h(jobs, s.workload.jobs), 3600, 0.01);
    adl_scenario_clear(&s);
    free(jobs);
}

static void a_backlog_is_there_at_time_zero(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(100);
    s.workload.arrivals.process = ADL_ARRIVAL_BACKLOG;
    struct adl_true_job *jobs = draw_all(&s, 5);
    assert_int_equal(jobs[99].submit_us, 0);
    free(jobs);
    adl_scenario_clear(&s);
}

/* Three hours at 2,000 jobs an hour, the second at ten times the rate. */
static struct adl_scenario surging(int kind)
{
    struct adl_scenario s = two_by_two(24000);
    s.workload.arrivals = (struct adl_arrivals){.process = ADL_ARRIVAL_SURGE,
                                                .rate_per_h = 2000,
                                                .surge_start_s = 3600,
                                                .surge_length_s = 3600,
                                                .surge_factor = 10,
                                                .surge_kind = kind};
    return s;
}

static void a_surge_multiplies_the_rate_inside_it_and_only_there(void **state)
{
    (void)state;
    struct adl_scenario s = surging(-1);
    struct adl_true_job *jobs = draw_all(&s, 6);
    double in_hour[3] = {0};
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        if (jobs[i].submit_us < 3 * 3600000000)
            in_hour[jobs[i].submit_us / 3600000000]++;
    assert_about(in_hour[0], 2000, 1 / sqrt(2000));
    assert_about(in_hour[1], 20000, 1 / sqrt(20000));
    assert_about(in_hour[2], 2000, 1 / sqrt(2000));
    free(jobs);
    adl_scenario_clear(&s);
}

static void a_surge_of_one_kind_adds_that_kind_to_the_usual_mix(void **state)
{
    (void)state;
    struct adl_scenario s = surging(ADL_KIND_DATA);
    struct adl_true_job *jobs = draw_all(&s, 7);
    double all = 0, data = 0, all_before = 0, data_before = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        const bool is_data = jobs[i].spec.kind == ADL_KIND_DATA;
        if (jobs[i].submit_us < 3600000000) {
            all_before++;
            data_before += is_data;
        } else if (jobs[i].submit_us < 2 * 3600000000) {
            all++;
            data += is_data;
        }
    }
    assert_about(data_before / all_before, 0.5, 1 / sqrt(all_before));
    /* A tenth of the surge's jobs are the usual half and half; the rest are data. */
    assert_about(1 - data / all, 0.05, sqrt(1 / (0.05 * all)));
    free(jobs);
    adl_scenario_clear(&s);
}

static void mix_and_gangs_come_in_their_shares(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    s.workload.mix[0].weight = 3;
    s.workload.mix[1].weight = 1;
    s.workload.mix[0].gang_count = 3;
    const uint16_t gangs[3] = {1, 2, 8};
    const double weights[3] = {5, 0, 15};
    memcpy(s.workload.mix[0].gang_gpus, gangs, sizeof gangs);
    memcpy(s.workload.mix[0].gang_weight, weights, sizeof weights);
    struct adl_true_job *jobs = draw_all(&s, 8);
    double of_class[2] = {0}, eights = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        of_class[jobs[i].spec.class_index]++;
        eights += jobs[i].spec.gpus == 8;
        assert_int_not_equal(jobs[i].spec.gpus, 2);
    }
    const double n = (double)s.workload.jobs;
    assert_about(of_class[0] / n, 0.75, sqrt(1 / 3.0 / n));
    assert_about(eights / of_class[0], 0.75, sqrt(1 / 3.0 / of_class[0]));
    free(jobs);
    adl_scenario_clear(&s);
}

static void a_line_of_weight_zero_never_comes(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(5000);
    s.workload.mix[1].weight = 0;
    struct adl_true_job *jobs = draw_all(&s, 9);
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        assert_int_equal(jobs[i].spec.class_index, 0);
    free(jobs);
    adl_scenario_clear(&s);
}

static void run_times_are_log_normal_within_their_bounds(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    struct adl_mix *mix = &s.workload.mix[0];
    s.workload.mix[1].weight = 0;
    mix->sigma = 0.7;
    mix->min_s = 0.001;
    mix->max_s = 1e6;
    struct adl_true_job *jobs = draw_all(&s, 10);
    double sum = 0, squares = 0;
    const double n = (double)s.workload.jobs;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        const double x = adl_log((double)jobs[i].runtime_us[0] * 1e-6 / 100);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / n) < 5 * 0.7 / sqrt(n));
    assert_about(squares / n, 0.49, sqrt(2 / n));
    free(jobs);
    mix->min_s = 60;
    mix->max_s = 200;
    jobs = draw_all(&s, 10);
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        assert_in_range(jobs[i].runtime_us[0], 60000000, 200000000);
    free(jobs);
    adl_scenario_clear(&s);
}

static void the_truth_about_a_job_agrees_with_its_class(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(500);
    s.classes[0].scaling = 0.9;
    s.workload.mix[0].gang_gpus[0] = 4;
    s.workload.mix[0].types = 3;
    s.workload.mix[1].types = 1;
    struct adl_true_job *jobs = draw_all(&s, 11);
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        const struct adl_true_job *job = &jobs[i];
        if (job->spec.class_index == 0) {
            assert_int_equal(job->runtime_us[0], 100000000);
            assert_int_equal(job->runtime_us[1], 200000000);            /* half as fast */
            assert_true(fabs(job->steps - 100 * 4 * 0.9 * 0.9) < 1e-9); /* two doublings */
        } else {
            assert_int_equal(job->runtime_us[0], 50000000);
            assert_int_equal(job->runtime_us[1], 0); /* not acceptable */
        }
        assert_int_equal(job->ideal_us, job->runtime_us[0]);
    }
    free(jobs);
    adl_scenario_clear(&s);
}

static int64_t slowest_us(const struct adl_true_job *job)
{
    return job->runtime_us[1] > job->runtime_us[0] ? job->runtime_us[1] : job->runtime_us[0];
}

static void no_limit_lies_below_the_run_time_on_the_slowest_acceptable_type(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    s.workload.limits = (struct adl_limits){.median_factor = 1.1, .sigma = 1.5, .exact_share = 0.2, .round_s = 60};
    struct adl_true_job *jobs = draw_all(&s, 12);
    double exact = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        assert_true(jobs[i].spec.limit_us >= slowest_us(&jobs[i]));
        exact += jobs[i].spec.limit_us == slowest_us(&jobs[i]);
        assert_true(jobs[i].spec.limit_us == slowest_us(&jobs[i]) || jobs[i].spec.limit_us % 60000000 == 0);
    }
    assert_about(exact / (double)s.workload.jobs, 0.2, sqrt(4 / (double)s.workload.jobs));
    free(jobs);
    adl_scenario_clear(&s);
}

static void the_median_limit_is_the_stated_multiple_of_the_run_time(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    s.workload.limits = (struct adl_limits){.median_factor = 3, .sigma = 0.8};
    struct adl_true_job *jobs = draw_all(&s, 13);
    double above = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++)
        above += (double)jobs[i].spec.limit_us > 3 * (double)slowest_us(&jobs[i]);
    assert_about(above / (double)s.workload.jobs, 0.5, 1 / sqrt((double)s.workload.jobs));
    free(jobs);
    adl_scenario_clear(&s);
}

static void promises_come_in_their_shares_and_sizes(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    struct adl_mix *mix = &s.workload.mix[0];
    s.workload.mix[1].weight = 0;
    mix->deadline_share = 0.3;
    mix->deadline_slack = 4;
    mix->throughput_share = 0.6;
    mix->throughput_floor = 0.5;
    struct adl_true_job *jobs = draw_all(&s, 14);
    const double n = (double)s.workload.jobs;
    double deadlines = 0, floors = 0, both = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        const struct adl_job_spec *spec = &jobs[i].spec;
        deadlines += spec->deadline_us > 0;
        floors += spec->min_steps_per_s > 0;
        both += spec->deadline_us > 0 && spec->min_steps_per_s > 0;
        assert_true(spec->deadline_us == 0 || llabs(spec->deadline_us - 400000000) <= 1);
        assert_true(spec->min_steps_per_s == 0.0f || fabsf(spec->min_steps_per_s - 0.5f) < 1e-6f);
    }
    assert_about(deadlines / n, 0.3, sqrt(0.7 / 0.3 / n));
    assert_about(floors / n, 0.6, sqrt(0.4 / 0.6 / n));
    assert_about(both / n, 0.18, sqrt(0.82 / 0.18 / n));
    free(jobs);
    adl_scenario_clear(&s);
}

static void users_and_priorities_cover_their_range_evenly(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(20000);
    s.workload.users = 4;
    for (int i = 0; i < 2; i++) {
        s.workload.mix[i].priority_min = 0.2;
        s.workload.mix[i].priority_max = 0.6;
    }
    struct adl_true_job *jobs = draw_all(&s, 15);
    double of_user[4] = {0}, priority = 0;
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        assert_true(jobs[i].spec.user < 4);
        assert_true(jobs[i].spec.priority >= 0.2f && jobs[i].spec.priority <= 0.6f);
        of_user[jobs[i].spec.user]++;
        priority += (double)jobs[i].spec.priority;
    }
    const double n = (double)s.workload.jobs;
    for (int u = 0; u < 4; u++)
        assert_about(of_user[u] / n, 0.25, sqrt(3 / n));
    assert_about(priority / n, 0.4, 0.4 / sqrt(12) / 0.4 / sqrt(n));
    free(jobs);
    adl_scenario_clear(&s);
}

static uint64_t fingerprint(const struct adl_scenario *s, uint64_t seed, uint64_t count)
{
    uint64_t hash = 0;
    assert_int_equal(adl_workload_hash(s, seed, count, &hash), 0);
    return hash;
}

/* Field by field: what lies between the fields is nobody's. */
static void assert_same_job(const struct adl_true_job *a, const struct adl_true_job *b)
{
    const struct adl_job_spec *x = &a->spec, *y = &b->spec;
    assert_true(x->id == y->id && x->user == y->user && x->class_index == y->class_index && x->gpus == y->gpus);
    assert_true(x->types == y->types && x->kind == y->kind && x->flags == y->flags);
    assert_true(x->cpu_cores == y->cpu_cores && x->memory_mib == y->memory_mib);
    assert_true(x->gpu_memory_mib == y->gpu_memory_mib && x->limit_us == y->limit_us);
    assert_true(x->priority == y->priority && x->min_steps_per_s == y->min_steps_per_s);
    assert_true(x->deadline_us == y->deadline_us && a->steps == b->steps && a->ideal_us == b->ideal_us);
    assert_true(a->runtime_us[0] == b->runtime_us[0] && a->runtime_us[1] == b->runtime_us[1]);
}

static void equal_seeds_give_equal_jobs_and_others_do_not(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(1000);
    s.workload.mix[0].sigma = 0.5;
    s.workload.mix[0].min_s = 1;
    s.workload.mix[0].max_s = 1e4;
    struct adl_true_job *a = draw_all(&s, 77), *b = draw_all(&s, 77);
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        assert_same_job(&a[i], &b[i]);
        assert_int_equal(a[i].submit_us, b[i].submit_us);
    }
    const uint64_t all = fingerprint(&s, 77, 0);
    assert_true(fingerprint(&s, 77, 0) == all);
    assert_true(fingerprint(&s, 77, 1000) == all);
    assert_true(fingerprint(&s, 77, 999) != all);
    assert_true(fingerprint(&s, 78, 0) != all);
    free(a);
    free(b);
    adl_scenario_clear(&s);
}

static void another_rate_or_process_brings_the_same_jobs_at_other_times(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(1000);
    s.workload.mix[0].deadline_share = 0.5;
    s.workload.mix[0].deadline_slack = 2;
    struct adl_true_job *slow = draw_all(&s, 21);
    s.workload.arrivals.rate_per_h *= 4;
    struct adl_true_job *fast = draw_all(&s, 21);
    s.workload.arrivals.process = ADL_ARRIVAL_BURSTY;
    s.workload.arrivals.burst_jobs = 6;
    struct adl_true_job *bursty = draw_all(&s, 21);
    for (uint64_t i = 0; i < s.workload.jobs; i++) {
        assert_true(llabs(slow[i].submit_us - 4 * fast[i].submit_us) <= 4);
        assert_same_job(&slow[i], &fast[i]);
        assert_same_job(&slow[i], &bursty[i]);
    }
    free(slow);
    free(fast);
    free(bursty);
    adl_scenario_clear(&s);
}

static void a_longer_workload_begins_with_the_shorter_one(void **state)
{
    (void)state;
    struct adl_scenario s = two_by_two(300);
    struct adl_true_job *few = draw_all(&s, 30);
    s.workload.jobs = 600;
    struct adl_true_job *many = draw_all(&s, 30);
    for (int i = 0; i < 300; i++) {
        assert_same_job(&few[i], &many[i]);
        assert_int_equal(few[i].submit_us, many[i].submit_us);
    }
    free(few);
    free(many);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submissions_never_go_back_in_time_and_ids_count_from_one),
        cmocka_unit_test(poisson_gaps_have_the_mean_and_the_spread_of_the_rate),
        cmocka_unit_test(diurnal_arrivals_keep_their_mean_and_crowd_the_first_half_of_the_day),
        cmocka_unit_test(bursts_have_their_mean_size_and_jobs_keep_their_rate),
        cmocka_unit_test(bursts_of_one_are_a_plain_stream),
        cmocka_unit_test(a_backlog_is_there_at_time_zero),
        cmocka_unit_test(a_surge_multiplies_the_rate_inside_it_and_only_there),
        cmocka_unit_test(a_surge_of_one_kind_adds_that_kind_to_the_usual_mix),
        cmocka_unit_test(mix_and_gangs_come_in_their_shares),
        cmocka_unit_test(a_line_of_weight_zero_never_comes),
        cmocka_unit_test(run_times_are_log_normal_within_their_bounds),
        cmocka_unit_test(the_truth_about_a_job_agrees_with_its_class),
        cmocka_unit_test(no_limit_lies_below_the_run_time_on_the_slowest_acceptable_type),
        cmocka_unit_test(the_median_limit_is_the_stated_multiple_of_the_run_time),
        cmocka_unit_test(promises_come_in_their_shares_and_sizes),
        cmocka_unit_test(users_and_priorities_cover_their_range_evenly),
        cmocka_unit_test(equal_seeds_give_equal_jobs_and_others_do_not),
        cmocka_unit_test(another_rate_or_process_brings_the_same_jobs_at_other_times),
        cmocka_unit_test(a_longer_workload_begins_with_the_shorter_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
