/* Recent submissions as bytes: they come back, move with the clock, and are found again by the ids of jobs; bytes that
 * are not usable change nothing. */
#include "learned_run.h"

#include "base/rng.h"
#include "sim/world_sim.h"
#include "twin/recent.h"
#include "twin/user_likeness.h"

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define HOUR_US INT64_C(3600000000)
#define JOBS    80

struct live {
    struct learned_run run;
    struct adl_recent *recent;
};

static void open_live(struct live *live)
{
    live->run.scenario = random_scenario(5, JOBS);
    assert_int_equal(adl_recent_create(&live->run.scenario.cluster, &live->recent), 0);
    const struct adl_observer observer = adl_recent_observer(live->recent);
    learned_run_play(&live->run, JOBS, &observer);
}

static void close_live(struct live *live)
{
    learned_run_end(&live->run);
    adl_recent_destroy(live->recent);
}

static int64_t now_us(const struct live *live)
{
    return adl_engine_state(live->run.engine)->now_us;
}

/* Its submissions as bytes, and from these. */
static struct adl_recent *restore(const struct live *live, int64_t ahead_us, int64_t later_ahead_us, int64_t later_us)
{
    struct adl_text text = {0};
    struct adl_error err = {.text = ""};
    struct adl_recent *ret = NULL;
    adl_recent_encode(live->recent, ahead_us, &text);
    assert_int_equal(adl_recent_create(&live->run.scenario.cluster, &ret), 0);
    if (adl_recent_decode(ret, text.data, text.size, later_ahead_us, later_us, &err))
        fail_msg("%s", err.text);
    adl_text_clear(&text);
    return ret;
}

static void see(struct adl_recent *recent, const struct live *live, int64_t time_us, uint64_t id, uint32_t slot)
{
    const struct adl_job_spec spec = {.id = id, .gpus = 1, .types = 1};
    struct adl_event event = {.time_us = time_us, .kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE};
    if (id > 0) {
        event.kind = ADL_EVENT_SUBMIT;
        event.job = slot;
        event.submit.spec = &spec;
    }
    const struct adl_observer observer = adl_recent_observer(recent);
    assert_int_equal(observer.event(observer.self, &event, adl_engine_state(live->run.engine)), 0);
}

/* Member by member: what lies between them is not set. */
static bool is_same_spec(const struct adl_job_spec *a, const struct adl_job_spec *b)
{
    return a->id == b->id && a->user == b->user && a->name_id == b->name_id && a->class_index == b->class_index &&
           a->gpus == b->gpus && a->types == b->types && a->kind == b->kind && a->flags == b->flags &&
           a->stop_loss == b->stop_loss && a->cpu_cores == b->cpu_cores && a->memory_mib == b->memory_mib &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->priority == b->priority &&
           a->share_slowdown == b->share_slowdown && a->min_steps_per_s == b->min_steps_per_s &&
           a->step_gflop == b->step_gflop && a->step_gb == b->step_gb && a->limit_us == b->limit_us &&
           a->deadline_us == b->deadline_us && a->checkpoint_us == b->checkpoint_us;
}

/* All hours that a future may draw from, and all their submissions, are the same but for the time. */
static uint64_t expect_same(const struct adl_recent *a, const struct adl_recent *b, int64_t time_us, int64_t by_us)
{
    uint64_t jobs = 0;
    for (int i = 0; i < 16; i++) {
        const uint32_t hour_a = adl_recent_hour(a, time_us, i / 16.0);
        const uint32_t hour_b = adl_recent_hour(b, time_us + by_us, i / 16.0);
        uint64_t first_a, first_b;
        int64_t us_a, us_b;
        assert_true(hour_a != ADL_NONE && hour_b != ADL_NONE);
        const uint32_t count = adl_recent_jobs(a, hour_a, &first_a, &us_a);
        assert_int_equal(adl_recent_jobs(b, hour_b, &first_b, &us_b), count);
        assert_int_equal(us_b, us_a + by_us);
        for (uint32_t j = 0; j < count; j++, jobs++) {
            const struct adl_recent_job *x = adl_recent_job(a, first_a + j), *y = adl_recent_job(b, first_b + j);
            assert_true(is_same_spec(&x->spec, &y->spec));
            assert_int_equal(y->submit_us, x->submit_us + by_us);
            assert_true(x->work_us == y->work_us && x->rank == y->rank);
            assert_memory_equal(x->here, y->here, sizeof x->here);
        }
    }
    return jobs;
}

static void submissions_come_back_and_move_with_the_clock_by_whole_hours(void **state)
{
    (void)state;
    struct live live;
    open_live(&live);
    const int64_t later_us = now_us(&live) / HOUR_US * HOUR_US + HOUR_US;
    see(live.recent, &live, later_us, 0, 0); /* the last hour with jobs is whole */
    struct adl_recent *same = restore(&live, 0, 0, later_us);
    assert_true(expect_same(live.recent, same, later_us, 0) > 0);
    /* A machine that was booted: its steady clock is 500 hours and 10 minutes behind. */
    const int64_t by_us = -500 * HOUR_US, off_us = HOUR_US / 6;
    struct adl_recent *moved = restore(&live, 0, 500 * HOUR_US + off_us, later_us + by_us - off_us);
    assert_true(expect_same(live.recent, moved, later_us, by_us) > 0);
    adl_recent_destroy(moved);
    adl_recent_destroy(same);
    close_live(&live);
}

static uint64_t count_last_hour(const struct adl_recent *recent, int64_t time_us)
{
    uint64_t first, most = 0;
    int64_t us;
    for (int i = 0; i < 64; i++) {
        const uint32_t hour = adl_recent_hour(recent, time_us, i / 64.0);
        if (hour != ADL_NONE && adl_recent_jobs(recent, hour, &first, &us) > 0 &&
            us == time_us / HOUR_US * HOUR_US - HOUR_US)
            most = adl_recent_jobs(recent, hour, &first, &us);
    }
    return most;
}

static void a_job_that_lives_on_is_no_new_submission_and_ends_where_it_was_submitted(void **state)
{
    (void)state;
    struct live live;
    open_live(&live);
    const struct adl_state *world = adl_engine_state(live.run.engine);
    uint64_t id = 0;
    for (uint32_t slot = 0; slot < world->job_capacity; slot++)
        if (world->jobs[slot].phase != ADL_PHASE_NONE)
            id = world->jobs[slot].spec.id;
    assert_true(id > 0);
    const int64_t later_us = now_us(&live) / HOUR_US * HOUR_US + 10 * HOUR_US;
    struct adl_recent *recent = restore(&live, 0, 0, later_us);
    see(recent, &live, later_us, 0, 0);
    see(recent, &live, later_us + HOUR_US, id, 900); /* in a slot of another engine, and as an alternative */
    see(recent, &live, later_us + HOUR_US, id, 901);
    assert_int_equal(count_last_hour(recent, later_us + 2 * HOUR_US), 0);
    see(recent, &live, later_us + HOUR_US, 1000000, 902);
    see(recent, &live, later_us + 2 * HOUR_US, 0, 0);
    assert_int_equal(count_last_hour(recent, later_us + 2 * HOUR_US), 1);
    uint32_t found = 0;
    for (uint64_t number = 0; number < JOBS; number++)
        found += adl_recent_job(recent, number)->spec.id == id && adl_recent_job(recent, number)->slot == 900;
    assert_int_equal(found, 1);
    adl_recent_destroy(recent);
    close_live(&live);
}

static void hours_that_nobody_looked_at_are_not_hours_without_submissions(void **state)
{
    (void)state;
    struct live live;
    open_live(&live);
    const int64_t later_us = now_us(&live) + 100 * HOUR_US;
    struct adl_recent *recent = restore(&live, 0, 0, later_us);
    see(recent, &live, later_us, 0, 0);
    see(recent, &live, later_us + HOUR_US, 0, 0);
    for (int i = 0; i < 64; i++) {
        uint64_t first;
        int64_t us;
        const uint32_t hour = adl_recent_hour(recent, later_us + HOUR_US, i / 64.0);
        if (hour == ADL_NONE)
            continue;
        adl_recent_jobs(recent, hour, &first, &us);
        assert_true(us < now_us(&live) / HOUR_US * HOUR_US); /* a whole hour of before */
    }
    adl_recent_destroy(recent);
    close_live(&live);
}

/* The clock of a twin is set to whole hours of before: what is submitted then may be earlier in its hour. */
static void an_hour_in_which_the_program_was_started_again_is_not_whole(void **state)
{
    (void)state;
    struct live live;
    open_live(&live);
    const int64_t hour_us = now_us(&live) / HOUR_US * HOUR_US;
    struct adl_recent *recent = restore(&live, 0, 0, hour_us);
    see(recent, &live, hour_us, 900, 900);
    see(recent, &live, hour_us + HOUR_US, 901, 901);
    see(recent, &live, hour_us + 2 * HOUR_US, 0, 0); /* the hour before is whole */
    uint32_t others = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t first;
        int64_t us;
        const uint32_t hour = adl_recent_hour(recent, hour_us + 25 * HOUR_US, i / 64.0);
        if (hour == ADL_NONE)
            continue;
        adl_recent_jobs(recent, hour, &first, &us);
        assert_true(us != hour_us);
        others++;
    }
    assert_true(others > 0);
    adl_recent_destroy(recent);
    close_live(&live);
}

static void bytes_that_are_not_usable_are_refused_with_a_text_and_change_nothing(void **state)
{
    (void)state;
    struct live live;
    struct adl_text text = {0}, before = {0}, after = {0};
    struct adl_error err;
    open_live(&live);
    adl_recent_encode(live.recent, 0, &text);
    adl_recent_encode(live.recent, 0, &before);
    for (size_t i = 0; i < text.size; i += 1 + text.size / 97) {
        text.data[i] ^= 0x20;
        err.text[0] = '\0';
        assert_true(adl_recent_decode(live.recent, text.data, text.size, 0, 0, &err) < 0);
        assert_true(err.text[0] != '\0');
        assert_true(adl_recent_decode(live.recent, text.data, i, 0, 0, &err) < 0);
        text.data[i] ^= 0x20;
    }
    const uint32_t types = live.run.scenario.cluster.type_count;
    live.run.scenario.cluster.type_count = types - 1;
    assert_true(adl_recent_decode(live.recent, text.data, text.size, 0, 0, &err) < 0);
    assert_non_null(strstr(err.text, "other GPU types"));
    live.run.scenario.cluster.type_count = types;
    adl_recent_encode(live.recent, 0, &after);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    adl_text_clear(&text);
    adl_text_clear(&before);
    adl_text_clear(&after);
    close_live(&live);
}

/* Jobs of 20 users in turn, of which a share has the rank of its user. */
static double estimated_likeness(double share, uint64_t seed)
{
    struct adl_user_likeness likeness = {.pairs = 0};
    struct adl_rng rng;
    double of_user[20] = {0};
    adl_rng_seed(&rng, seed, "likeness");
    for (int job = 0; job < 4000; job++) {
        const uint32_t user = (uint32_t)job % 20;
        if (job % 200 < 20) /* what makes a user's jobs alike changes */
            of_user[user] = adl_rng_uniform(&rng);
        const double own = adl_rng_uniform(&rng);
        adl_user_likeness_add(&likeness, user, (float)(adl_rng_uniform(&rng) < share ? of_user[user] : own) + 1e-6f);
    }
    return adl_user_likeness_share(&likeness);
}

static void likeness_of_a_users_jobs_is_found_where_it_is_and_nowhere_else(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(estimated_likeness(0, seed) < 0.25);
        const double half = estimated_likeness(0.6, seed);
        assert_true(half > 0.45 && half < 0.7);
        assert_true(estimated_likeness(0.9, seed) > 0.75);
    }
}

/* What waits are alike follows from how long jobs run, so that it is right for jobs of seconds and of weeks. */
static void waits_are_alike_that_are_short_beside_the_run_times_of_jobs(void **state)
{
    (void)state;
    struct live live;
    struct adl_error err = {.text = ""};
    open_live(&live);
    assert_true(adl_recent_alike_us(NULL) == 60e6 && adl_recent_alike_us(live.recent) == 60e6); /* few have ended */
    while (adl_engine_step(live.run.engine, &err) > 0)
        ;
    double sum = 0;
    int count = 0;
    for (uint64_t i = 0; i < JOBS; i++) {
        const struct adl_recent_job *job = adl_recent_job(live.recent, i);
        sum += job->rank > 0 ? log(job->work_us) : 0;
        count += job->rank > 0;
    }
    const double typical_us = exp(sum / count);
    struct adl_recent *same = restore(&live, 0, 0, now_us(&live));
    print_message("%d jobs ran for %.0f s, waits of %.1f s are alike\n", count, typical_us * 1e-6,
                  adl_recent_alike_us(same) * 1e-6);
    assert_true(count >= 64 && fabs(adl_recent_alike_us(same) / typical_us * 16 - 1) < 1e-6);
    assert_true(fabs(adl_recent_alike_us(live.recent) / adl_recent_alike_us(same) - 1) < 0.5); /* of the first 64 */
    adl_recent_destroy(same);
    close_live(&live);
}

static void what_jobs_showed_of_run_times_by_age_comes_back(void **state)
{
    (void)state;
    struct live live;
    struct adl_error err = {.text = ""};
    struct adl_text text = {0};
    struct adl_recent *again = NULL;
    int changed = 0;
    open_live(&live);
    struct adl_recent *recent = restore(&live, 0, 0, now_us(&live));
    adl_recent_encode(recent, 0, &text);
    assert_int_equal(adl_recent_create(&live.run.scenario.cluster, &again), 0);
    if (adl_recent_decode(again, text.data, text.size, 0, now_us(&live), &err))
        fail_msg("%s", err.text);
    const struct adl_state *world = adl_engine_state(live.run.engine);
    for (uint32_t slot = 0; slot < world->job_capacity; slot++)
        for (double rank = 0.1; rank < 1 && world->jobs[slot].phase != ADL_PHASE_NONE; rank += 0.2) {
            const double left_us = adl_recent_left_us(recent, world->belief, slot, 0, rank);
            assert_true(adl_recent_left_us(again, world->belief, slot, 0, rank) == left_us);
            changed += fabs(left_us / adl_recent_left_us(NULL, world->belief, slot, 0, rank) - 1) > 0.01;
        }
    assert_true(changed > 0);
    adl_text_clear(&text);
    adl_recent_destroy(again);
    adl_recent_destroy(recent);
    close_live(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jobs_showed_of_run_times_by_age_comes_back),
        cmocka_unit_test(waits_are_alike_that_are_short_beside_the_run_times_of_jobs),
        cmocka_unit_test(submissions_come_back_and_move_with_the_clock_by_whole_hours),
        cmocka_unit_test(a_job_that_lives_on_is_no_new_submission_and_ends_where_it_was_submitted),
        cmocka_unit_test(hours_that_nobody_looked_at_are_not_hours_without_submissions),
        cmocka_unit_test(an_hour_in_which_the_program_was_started_again_is_not_whole),
        cmocka_unit_test(likeness_of_a_users_jobs_is_found_where_it_is_and_nowhere_else),
        cmocka_unit_test(bytes_that_are_not_usable_are_refused_with_a_text_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
