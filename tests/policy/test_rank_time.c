/* Tests of rank_time: what share users' limits have in the run time that a waiting job is ranked by. */
#include "policy/adlro/rank_time.h"
#include "predict/belief.h"
#include "state_fixture.h"

#include <math.h>

#define SECOND INT64_C(1000000)

static struct adl_cluster cluster;
static struct adl_state *now;
static struct adl_belief *belief;
static struct adl_rank_time rank_time;

static void open_bed(void)
{
    cluster = fixture_plain(4);
    now = fixture_state(&cluster);
    rank_time = (struct adl_rank_time){0};
    assert_int_equal(adl_belief_create(&cluster, true, &belief), 0);
    now->belief = belief;
}

static void close_bed(void)
{
    adl_belief_destroy(belief);
    adl_state_destroy(now);
    adl_cluster_clear(&cluster);
}

/* truth_us: told by the world; NULL: the job is predicted. */
static void run_job(uint16_t class_index, double limit_s, const int64_t *truth_us)
{
    struct adl_job_spec spec = fixture_spec(1, 1);
    struct adl_runtimes told;
    spec.class_index = class_index;
    spec.limit_us = (int64_t)(limit_s * (double)SECOND);
    const struct adl_event submit = {
        .time_us = now->now_us, .kind = ADL_EVENT_SUBMIT, .submit = {.spec = &spec, .runtime_us = truth_us}};
    assert_int_equal(adl_belief_admit(belief, &submit, &told), 0);
    fixture_run(now, 0, &spec, told.best_us[0], 0);
}

static void finish_after(double run_s)
{
    const int64_t run_us = (int64_t)(run_s * (double)SECOND);
    now->now_us = now->jobs[0].start_us + run_us;
    const struct adl_event finish = {
        .time_us = now->now_us, .kind = ADL_EVENT_FINISH, .outcome = {.end = ADL_END_COMPLETED, .run_us = run_us}};
    adl_rank_time_learn(&rank_time, now, 0, (double)run_us);
    adl_belief_learn(belief, &finish, now);
    adl_state_finish(now, 0);
}

/* Of a job with that limit, of which rest_s is expected, in seconds. */
static double ranked_by(uint16_t class_index, double limit_s, const int64_t *truth_us, double rest_s)
{
    run_job(class_index, limit_s, truth_us);
    const double rank_us = adl_rank_time_us(&rank_time, now, 0, rest_s * (double)SECOND);
    adl_state_finish(now, 0);
    return rank_us / (double)SECOND;
}

static void before_a_job_has_completed_the_expected_rest_counts_alone(void **unused)
{
    (void)unused;
    open_bed();
    assert_true(ranked_by(0, 600, NULL, 100) == 100);
    close_bed();
}

/* Ten to one, and as many completed jobs as the first share counts for: at least a third of the limits' logarithm. */
static void of_two_jobs_expected_to_take_as_long_the_one_with_the_longer_limit_ranks_as_the_longer(void **unused)
{
    (void)unused;
    open_bed();
    for (int i = 0; i < 64; i++) {
        run_job(0, i % 2 ? 200 : 400, NULL);
        finish_after(i % 2 ? 100 : 200);
    }
    assert_true(ranked_by(0, 1000, NULL, 100) > ranked_by(0, 100, NULL, 100) * pow(10, 0.33));
    close_bed();
}

/* Classes tell short jobs from long ones, and the limit is the site's default. */
static void limits_that_are_all_alike_lose_their_share(void **unused)
{
    (void)unused;
    open_bed();
    for (int i = 0; i < 400; i++) {
        run_job((uint16_t)(i % 2), 7200, NULL);
        finish_after(i % 2 ? 1000 : 10);
    }
    assert_true(ranked_by(1, 7200, NULL, 1000) > 50 * ranked_by(0, 7200, NULL, 10));
    close_bed();
}

static void where_the_world_tells_run_times_limits_do_not_count(void **unused)
{
    (void)unused;
    const int64_t truth_us[ADL_TYPES_MAX] = {100 * SECOND};
    open_bed();
    for (int i = 0; i < 10; i++) {
        run_job(0, i % 2 ? 200 : 400, NULL);
        finish_after(i % 2 ? 100 : 200);
    }
    assert_true(ranked_by(0, 1000, truth_us, 100) == 100);
    close_bed();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_a_job_has_completed_the_expected_rest_counts_alone),
        cmocka_unit_test(of_two_jobs_expected_to_take_as_long_the_one_with_the_longer_limit_ranks_as_the_longer),
        cmocka_unit_test(limits_that_are_all_alike_lose_their_share),
        cmocka_unit_test(where_the_world_tells_run_times_limits_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
