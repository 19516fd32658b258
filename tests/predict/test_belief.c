/* Tests of the belief: how it counts what jobs have run, and what it learns when they end. */
#include "state_fixture.h"

#include "predict/belief.h"

#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define WHOLE  (100 * SECOND) /* predicted run time of all jobs */

struct bed {
    struct adl_cluster cluster;
    struct adl_state *state;
    struct adl_belief *belief;
};

static struct bed make_bed(void)
{
    struct bed bed = {.cluster = fixture_plain(4)};
    return bed;
}

/* After the bed has its place: the state keeps a pointer to its cluster. */
static void open_bed(struct bed *bed)
{
    bed->state = fixture_state(&bed->cluster);
    assert_int_equal(adl_belief_create(&bed->cluster, false, &bed->belief), 0);
}

static void close_bed(struct bed *bed)
{
    adl_belief_destroy(bed->belief);
    adl_state_destroy(bed->state);
    adl_cluster_clear(&bed->cluster);
}

/* Submits a job and starts it now, on GPU 0. */
static void run_job(struct bed *bed, uint8_t stop_loss)
{
    const int64_t runtime_us[ADL_TYPES_MAX] = {WHOLE};
    struct adl_job_spec spec = fixture_spec(1, 1);
    struct adl_runtimes told;
    spec.limit_us = WHOLE;
    spec.flags |= ADL_JOB_PREEMPTIBLE;
    spec.stop_loss = stop_loss;
    spec.checkpoint_us = stop_loss == ADL_LOSS_SINCE_CHECKPOINT ? 30 * SECOND : 0;
    const struct adl_event submit = {
        .time_us = bed->state->now_us, .kind = ADL_EVENT_SUBMIT, .submit = {.spec = &spec, .runtime_us = runtime_us}};
    assert_int_equal(adl_belief_admit(bed->belief, &submit, &told), 0);
    assert_int_equal(told.best_us[0], WHOLE);
    fixture_run(bed->state, 0, &spec, WHOLE, 0);
}

static void finish_after(struct bed *bed, int64_t run_us)
{
    bed->state->now_us = bed->state->jobs[0].start_us + run_us;
    const struct adl_event finish = {.time_us = bed->state->now_us,
                                     .kind = ADL_EVENT_FINISH,
                                     .outcome = {.end = ADL_END_COMPLETED, .run_us = run_us}};
    adl_belief_learn(bed->belief, &finish, bed->state);
    adl_state_finish(bed->state, 0);
}

static double done_after_stop(uint8_t stop_loss, bool fault)
{
    struct bed bed = make_bed();
    open_bed(&bed);
    run_job(&bed, stop_loss);
    bed.state->now_us += 70 * SECOND;
    const struct adl_event evict = {
        .time_us = bed.state->now_us, .kind = ADL_EVENT_EVICT, .evict = {.remaining = 1, .fault = fault}};
    assert_true(adl_belief_done_us(bed.belief, bed.state, 0) == (double)(70 * SECOND));
    adl_belief_learn(bed.belief, &evict, bed.state);
    adl_state_evict(bed.state, 0, 1);
    const double done_us = adl_belief_done_us(bed.belief, bed.state, 0);
    close_bed(&bed);
    return done_us / (double)SECOND;
}

static void a_stop_keeps_what_the_job_saved(void **unused)
{
    (void)unused;
    assert_true(done_after_stop(ADL_LOSS_NOTHING, false) == 70);
    assert_true(done_after_stop(ADL_LOSS_SINCE_CHECKPOINT, false) == 60);
    assert_true(done_after_stop(ADL_LOSS_ALL, false) == 0);
    assert_true(done_after_stop(ADL_LOSS_NOTHING, true) == 0); /* it was not told to save */
    assert_true(done_after_stop(ADL_LOSS_SINCE_CHECKPOINT, true) == 60);
}

static void the_median_becomes_what_jobs_take(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    for (int i = 0; i < 200; i++) {
        run_job(&bed, ADL_LOSS_NOTHING);
        finish_after(&bed, WHOLE / 2);
    }
    run_job(&bed, ADL_LOSS_NOTHING);
    const double median_us = adl_belief_quantile_us(bed.belief, 0, 0, 0.5);
    assert_true(fabs(log(median_us / (0.5 * (double)WHOLE))) < 0.05);
    assert_true(adl_belief_quantile_us(bed.belief, 0, 0, 0.9) < 0.6 * (double)WHOLE);
    assert_true(adl_belief_cost_us(bed.belief, 0, 0) < 0.6 * (double)WHOLE);
    assert_true(adl_belief_mean_us(bed.belief, 0, (double)WHOLE) > 0); /* it outlived all others */
    assert_int_equal(adl_belief_count(bed.belief), 200);
    assert_int_equal(adl_belief_certainty(bed.belief, 0).learned, 200);
    close_bed(&bed);
}

static void runs_of_no_time_and_of_centuries_are_borne(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    const int64_t absurd_us[] = {0, -5 * SECOND, 1, INT64_C(1) << 60};
    for (int i = 0; i < 4; i++) {
        run_job(&bed, ADL_LOSS_NOTHING);
        finish_after(&bed, absurd_us[i]);
        bed.state->now_us = 0;
    }
    run_job(&bed, ADL_LOSS_NOTHING);
    assert_int_equal(adl_belief_count(bed.belief), 2); /* those that ran at all */
    for (double done_us = 0; done_us < 1e20; done_us = done_us * 100 + 1) {
        assert_true(isfinite(adl_belief_cost_us(bed.belief, 0, done_us)));
        assert_true(isfinite(adl_belief_quantile_us(bed.belief, 0, done_us, 0.9)));
    }
    close_bed(&bed);
}

/* Of the job in slot 0, after it has run that long in all. */
static void report(struct bed *bed, int64_t ran_us, double steps_per_s, double steps_left)
{
    bed->state->now_us = bed->state->jobs[0].start_us + ran_us;
    const struct adl_event event = {.time_us = bed->state->now_us,
                                    .kind = ADL_EVENT_PROGRESS,
                                    .steps_per_s = steps_per_s,
                                    .steps_left = steps_left};
    adl_belief_learn(bed->belief, &event, bed->state);
}

static double median_rest_s(const struct bed *bed)
{
    const double done_us = adl_belief_done_us(bed->belief, bed->state, 0);
    return adl_belief_quantile_us(bed->belief, 0, done_us, 0.5) * 1e-6;
}

static void a_job_that_says_its_steps_is_known_to_end_when_they_are_done(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    run_job(&bed, ADL_LOSS_NOTHING);
    report(&bed, 60 * SECOND, 2, 20); /* predicted: 40 s more */
    assert_true(fabs(median_rest_s(&bed) - 10) < 1);
    bed.state->now_us += 5 * SECOND;
    assert_true(fabs(median_rest_s(&bed) - 5) < 1);
    assert_true(adl_belief_quantile_us(bed.belief, 0, (double)(65 * SECOND), 0.9) < 20e6);
    assert_true(adl_belief_mean_us(bed.belief, 0, (double)(30 * SECOND)) > 35e6); /* stopped, it runs 30 s again */
    close_bed(&bed);
}

static double median_end_s(const struct bed *bed)
{
    return (double)adl_belief_end_us(bed->belief, bed->state, 0, bed->state->now_us, 0.5) * 1e-6;
}

static void a_job_on_a_slow_gpu_ends_later_unless_its_steps_say_so_already(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    for (int i = 0; i < 200; i++) {
        run_job(&bed, ADL_LOSS_NOTHING);
        finish_after(&bed, WHOLE / 2);
        bed.state->now_us = 0;
    }
    run_job(&bed, ADL_LOSS_NOTHING);
    assert_true(fabs(median_end_s(&bed) - 50) < 3);
    adl_state_set_gpu_speed(bed.state, 0, 0.8);
    assert_true(fabs(median_end_s(&bed) - 62.5) < 3);
    bed.state->now_us = 20 * SECOND; /* it has done what takes 16 s */
    assert_true(fabs(median_end_s(&bed) - 62.5) < 3);
    report(&bed, 20 * SECOND, 2, 60);
    assert_true(fabs(median_end_s(&bed) - 50) < 3);
    report(&bed, 30 * SECOND, 2, 500); /* more than its limit leaves room for */
    assert_true(median_end_s(&bed) <= 100);
    close_bed(&bed);
}

static void steps_left_that_do_not_fall_are_believed_no_longer(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    run_job(&bed, ADL_LOSS_NOTHING);
    report(&bed, 10 * SECOND, 1, 1);
    assert_true(median_rest_s(&bed) < 2);
    report(&bed, 20 * SECOND, 0.1, 2); /* by its own word it had ended 9 s ago */
    assert_true(median_rest_s(&bed) > 50);
    report(&bed, 21 * SECOND, 1, 1);
    assert_true(median_rest_s(&bed) > 50);
    close_bed(&bed);
}

static void no_job_says_more_than_its_limit(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    run_job(&bed, ADL_LOSS_NOTHING);
    report(&bed, 10 * SECOND, 1e-300, 1e300);
    assert_true(median_rest_s(&bed) < 110);
    close_bed(&bed);
}

static void who_lies_of_steps_does_not_move_what_is_believed_of_others(void **unused)
{
    (void)unused;
    double rest_s[2];
    for (int lie = 0; lie < 2; lie++) {
        struct bed bed = make_bed();
        open_bed(&bed);
        for (int i = 0; i < 50; i++) {
            run_job(&bed, ADL_LOSS_NOTHING);
            report(&bed, 10 * SECOND, 1, lie && i % 5 == 0 ? 1 : 90);
            finish_after(&bed, 100 * SECOND);
        }
        run_job(&bed, ADL_LOSS_NOTHING);
        report(&bed, 10 * SECOND, 1, 90);
        rest_s[lie] = median_rest_s(&bed);
        close_bed(&bed);
    }
    assert_true(fabs(rest_s[0] - 90) < 5);
    assert_true(fabs(rest_s[1] - rest_s[0]) < 5);
}

static void equal_events_give_equal_bits(void **unused)
{
    (void)unused;
    double reads[2][3];
    for (int round = 0; round < 2; round++) {
        struct bed bed = make_bed();
        struct adl_rng rng;
        open_bed(&bed);
        adl_rng_seed(&rng, 1, "ends");
        for (int i = 0; i < 300; i++) {
            run_job(&bed, ADL_LOSS_NOTHING);
            finish_after(&bed, SECOND * (1 + adl_rng_below(&rng, 1000)));
        }
        run_job(&bed, ADL_LOSS_NOTHING);
        reads[round][0] = adl_belief_quantile_us(bed.belief, 0, 1e6, 0.9);
        reads[round][1] = adl_belief_mean_us(bed.belief, 0, 1e6);
        reads[round][2] = adl_belief_cost_us(bed.belief, 0, 1e6);
        close_bed(&bed);
    }
    assert_memory_equal(reads[0], reads[1], sizeof reads[0]);
}

/* ---- jobs without a limit, which life tables count while they run ---- */

static const struct adl_job_spec unlimited = {.id = 1, .user = 3, .gpus = 1, .types = 1, .priority = 0.5f};

static void begin_unlimited(struct bed *bed, uint32_t slot, uint32_t gpu)
{
    struct adl_runtimes told;
    const struct adl_event submit = {
        .time_us = bed->state->now_us, .kind = ADL_EVENT_SUBMIT, .job = slot, .submit = {.spec = &unlimited}};
    assert_int_equal(adl_belief_admit(bed->belief, &submit, &told), 0);
    fixture_run(bed->state, slot, &unlimited, told.best_us[0], gpu);
}

static void end_unlimited(struct bed *bed, uint32_t slot, double steps_left)
{
    const struct adl_event report = {.time_us = bed->state->now_us,
                                     .kind = ADL_EVENT_PROGRESS,
                                     .job = slot,
                                     .steps_per_s = 1,
                                     .steps_left = steps_left};
    bed->state->now_us += 10 * SECOND;
    const struct adl_event finish = {.time_us = bed->state->now_us,
                                     .kind = ADL_EVENT_FINISH,
                                     .job = slot,
                                     .outcome = {.end = ADL_END_COMPLETED, .run_us = 10 * SECOND}};
    if (steps_left > 0)
        adl_belief_learn(bed->belief, &report, bed->state);
    adl_belief_learn(bed->belief, &finish, bed->state);
    adl_state_finish(bed->state, slot);
}

static struct adl_text bytes_of(const struct bed *bed, struct adl_belief_terms *terms)
{
    struct adl_text text = {0};
    *terms = (struct adl_belief_terms){.cluster = &bed->cluster, .users = ADL_USERS_UID, .dated = true};
    adl_belief_encode(bed->belief, NULL, terms, &text);
    return text;
}

static void open_learning_bed(struct bed *bed)
{
    bed->state = fixture_state(&bed->cluster);
    assert_int_equal(adl_belief_create(&bed->cluster, true, &bed->belief), 0);
}

/* The other belief reads what the first has learned, as after a restart, and the job that runs goes on. */
static void a_job_that_runs_through_a_restart_is_counted_once(void **unused)
{
    (void)unused;
    struct bed bed = make_bed(), other = make_bed();
    struct adl_belief_terms terms;
    struct adl_belief_account account;
    struct adl_error err;
    open_learning_bed(&bed);
    open_learning_bed(&other);
    begin_unlimited(&bed, 1, 1);
    for (int i = 0; i < 20; i++) {
        begin_unlimited(&bed, 0, 0);
        end_unlimited(&bed, 0, 0);
    }
    struct adl_text before = bytes_of(&bed, &terms);
    assert_int_equal(adl_belief_decode(other.belief, NULL, before.data, before.size, &terms, &account, &err), 0);
    other.state->now_us = bed.state->now_us;
    begin_unlimited(&other, 1, 1);
    adl_state_began(other.state, 1, 0);
    adl_belief_enter(other.belief, other.state, 1, other.state->now_us);
    for (int i = 0; i < 20; i++) {
        begin_unlimited(&bed, 0, 0);
        begin_unlimited(&other, 0, 0);
        end_unlimited(&bed, 0, 0);
        end_unlimited(&other, 0, 0);
    }
    struct adl_text a = bytes_of(&bed, &terms), b = bytes_of(&other, &terms);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    adl_text_clear(&before);
    adl_text_clear(&a);
    adl_text_clear(&b);
    close_bed(&bed);
    close_bed(&other);
}

static void a_job_that_reports_steps_counts_as_one_that_ended(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    struct adl_belief_terms terms;
    struct adl_belief_account account;
    struct adl_error err;
    open_learning_bed(&bed);
    for (int i = 0; i < 5; i++) {
        begin_unlimited(&bed, 0, 0);
        end_unlimited(&bed, 0, 10);
    }
    struct adl_text text = bytes_of(&bed, &terms);
    assert_int_equal(adl_belief_decode(bed.belief, NULL, text.data, text.size, &terms, &account, &err), 0);
    assert_int_equal(account.ended, 5);
    adl_text_clear(&text);
    close_bed(&bed);
}

/* One that nobody reads the distributions of predicts the same run times, and goes on doing so when jobs end. */
static void points_are_the_same_without_distributions(void **unused)
{
    (void)unused;
    struct bed whole = make_bed(), bare = make_bed();
    open_bed(&whole);
    open_bed(&bare);
    adl_belief_take_points_only(bare.belief);
    for (int i = 0; i < 5; i++) {
        struct adl_job_spec spec = fixture_spec(1 + (uint64_t)i % 2, 1);
        struct adl_runtimes told, same;
        memset(&told, 0, sizeof told);
        memset(&same, 0, sizeof same);
        spec.limit_us = (i + 1) * WHOLE;
        const struct adl_event submit = {
            .time_us = whole.state->now_us, .kind = ADL_EVENT_SUBMIT, .job = 1, .submit = {.spec = &spec}};
        assert_int_equal(adl_belief_admit(whole.belief, &submit, &told), 0);
        assert_int_equal(adl_belief_admit(bare.belief, &submit, &same), 0);
        assert_true(told.best_us[0] > 0);
        assert_memory_equal(&told, &same, sizeof told);
        run_job(&whole, ADL_LOSS_NOTHING);
        run_job(&bare, ADL_LOSS_NOTHING);
        finish_after(&whole, 40 * SECOND);
        finish_after(&bare, 40 * SECOND);
    }
    assert_int_equal(adl_belief_count(whole.belief), 5);
    close_bed(&whole);
    close_bed(&bare);
}

/* The mean of a whole job is kept between two ends: what is learned must change it. */
static void the_mean_of_a_whole_job_follows_what_is_learned(void **unused)
{
    (void)unused;
    struct bed bed = make_bed();
    open_bed(&bed);
    run_job(&bed, ADL_LOSS_NOTHING);
    const double before_us = adl_belief_mean_us(bed.belief, 0, 0);
    assert_true(adl_belief_mean_us(bed.belief, 0, 0) == before_us);
    finish_after(&bed, 300 * SECOND);
    run_job(&bed, ADL_LOSS_NOTHING);
    assert_true(adl_belief_mean_us(bed.belief, 0, 0) > 1.2 * before_us);
    assert_true(fabs(adl_belief_mean_us(bed.belief, 0, 0) / adl_belief_mean_us(bed.belief, 0, 1e-9) - 1) < 1e-6);
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_keeps_what_the_job_saved),
        cmocka_unit_test(the_median_becomes_what_jobs_take),
        cmocka_unit_test(runs_of_no_time_and_of_centuries_are_borne),
        cmocka_unit_test(a_job_that_says_its_steps_is_known_to_end_when_they_are_done),
        cmocka_unit_test(a_job_on_a_slow_gpu_ends_later_unless_its_steps_say_so_already),
        cmocka_unit_test(steps_left_that_do_not_fall_are_believed_no_longer),
        cmocka_unit_test(no_job_says_more_than_its_limit),
        cmocka_unit_test(who_lies_of_steps_does_not_move_what_is_believed_of_others),
        cmocka_unit_test(equal_events_give_equal_bits),
        cmocka_unit_test(a_job_that_runs_through_a_restart_is_counted_once),
        cmocka_unit_test(a_job_that_reports_steps_counts_as_one_that_ended),
        cmocka_unit_test(points_are_the_same_without_distributions),
        cmocka_unit_test(the_mean_of_a_whole_job_follows_what_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
