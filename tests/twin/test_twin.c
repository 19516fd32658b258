/* Futures of a state: they begin where it is, know nothing that the engine could not know, repeat, and draw the same
 * for the same job whatever else is changed. */
#include "random_scenario.h"

#include "base/hash.h"
#include "experiment/run.h"
#include "predict/belief.h"
#include "sim/world_sim.h"
#include "twin/starts.h"

#include <cmocka.h>
#include <math.h>

#define WORLDS  6
#define JOBS    60
#define FUTURES 8

/* A run that is stopped somewhere, with its recent past. What jobs will take after that may be changed: hidden truth.
 */
struct live {
    struct adl_scenario scenario;
    struct adl_job_source inner;
    uint64_t given, changed_from; /* jobs from this one on take ten times as long, and arrive later; 0 = none */
    struct adl_world_sim *world;
    struct adl_engine *engine;
    struct adl_recent *recent;
};

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct live *live = self;
    const int status = live->inner.next(live->inner.self, ret, err);
    if (status <= 0 || live->changed_from == 0 || ++live->given < live->changed_from)
        return status;
    for (uint32_t t = 0; t < live->scenario.cluster.type_count; t++)
        ret->runtime_us[t] *= 10;
    ret->steps *= 10;
    ret->submit_us += 1000;
    return status;
}

static void close_jobs(void *self)
{
    struct live *live = self;
    live->inner.close(live->inner.self);
}

static void open_live(struct live *live, uint64_t seed, const struct adl_policy_ops *policy, uint64_t changed_from)
{
    struct adl_error err = {.text = ""};
    *live = (struct live){.scenario = random_scenario(seed, JOBS), .changed_from = changed_from};
    live->scenario.workload.arrivals.rate_per_h *= 4;
    const struct adl_job_supply supply = adl_workload_supply(&live->scenario);
    const struct adl_job_source source = {.self = live, .next = next_job, .close = close_jobs};
    assert_int_equal(supply.open(supply.self, seed, &live->inner, &err), 0);
    if (adl_world_sim_create_from(&live->scenario, source, seed, ADL_REGIME_LEARNED, &live->world, &err) ||
        adl_recent_create(&live->scenario.cluster, &live->recent))
        fail_msg("%s", err.text);
    const struct adl_engine_config config = {.cluster = &live->scenario.cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(&live->scenario),
                                             .seed = seed,
                                             .learned = true,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = live->world,
                                             .observers = {adl_recent_observer(live->recent)},
                                             .observer_count = 1};
    if (adl_engine_create(&config, &live->engine, &err))
        fail_msg("%s", err.text);
}

static void close_live(struct live *live)
{
    adl_engine_destroy(live->engine);
    adl_recent_destroy(live->recent);
    adl_world_sim_destroy(live->world);
    adl_scenario_clear(&live->scenario);
}

/* Until this many jobs have been submitted and some wait; false if that never happens. */
static bool run_until(struct live *live, uint64_t jobs)
{
    struct adl_error err = {.text = ""};
    const struct adl_state *state = adl_engine_state(live->engine);
    uint64_t seen = 0;
    for (int status = 1; status > 0; status = adl_engine_step(live->engine, &err)) {
        for (uint32_t slot = 0; slot < state->job_capacity; slot++)
            seen = state->jobs[slot].phase != ADL_PHASE_NONE && state->jobs[slot].spec.id > seen
                       ? state->jobs[slot].spec.id
                       : seen;
        if (seen >= jobs && state->queue.count > 0)
            return true;
    }
    return false;
}

static struct adl_starts_config config_of(const struct live *live, uint32_t futures)
{
    return (struct adl_starts_config){.fork = {.engine = live->engine,
                                               .preemption = live->scenario.preemption,
                                               .kill_at_limit = live->scenario.kill_at_limit,
                                               .one_by_one = live->scenario.one_by_one},
                                      .futures = futures,
                                      .horizon_s = 1e6,
                                      .events_max = 20000};
}

static uint64_t forecast_hash(const struct live *live, uint64_t seed)
{
    struct adl_error err = {.text = ""};
    struct adl_starts *starts = NULL;
    const struct adl_starts_config config = config_of(live, FUTURES);
    uint64_t hash = adl_hash_start();
    if (adl_starts_create(&config, &starts, &err) ||
        adl_starts_refresh(starts, live->engine, live->recent, seed, ADL_NONE, &err))
        fail_msg("%s: %s", adl_engine_config(live->engine)->policy->name, err.text);
    for (uint32_t slot = 0; slot < adl_engine_state(live->engine)->job_capacity; slot++)
        if (adl_starts_of(starts, slot))
            hash = adl_hash_bytes(hash, adl_starts_of(starts, slot), FUTURES * sizeof(int64_t));
    adl_starts_destroy(starts);
    return hash;
}

/* Two worlds that differ only in what is to come have equal forecasts, and the run goes on as without one. */
static void a_forecast_reads_nothing_that_is_to_come(void **unused)
{
    (void)unused;
    uint32_t checked = 0;
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (uint64_t w = 0; w < 2; w++) {
            struct live a, b, c;
            open_live(&a, w + p, adl_policy_at(p), 0);
            open_live(&b, w + p, adl_policy_at(p), 22);
            open_live(&c, w + p, adl_policy_at(p), 0);
            if (run_until(&a, 20) && run_until(&b, 20) && run_until(&c, 20) &&
                adl_engine_counts(a.engine)->events == adl_engine_counts(b.engine)->events) {
                checked++;
                if (forecast_hash(&a, 7) != forecast_hash(&b, 7))
                    fail_msg("%s, world %d: a forecast depends on the future", adl_policy_at(p)->name, (int)w);
                assert_true(forecast_hash(&a, 7) == forecast_hash(&a, 7));
                assert_int_equal(adl_engine_run(a.engine, NULL), 0);
                assert_int_equal(adl_engine_run(c.engine, NULL), 0);
                assert_true(adl_engine_counts(a.engine)->plan_hash == adl_engine_counts(c.engine)->plan_hash);
            }
            close_live(&a);
            close_live(&b);
            close_live(&c);
        }
    print_message("%u forecasts\n", checked);
    assert_true(checked >= adl_policy_count());
}

/* Every job in a future: what it took. */
struct taken {
    int64_t run_us[4 * JOBS];
    uint32_t ended;
};

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct taken *taken = self;
    if (event->kind != ADL_EVENT_FINISH || event->outcome.end != ADL_END_COMPLETED)
        return 0;
    const struct adl_job *job = &state->jobs[event->job];
    if (job->spec.id < 4 * JOBS && job->phase == ADL_PHASE_RUNNING && job->attempts == 1 && job->spec.gpus == 1 &&
        (job->spec.flags & ADL_JOB_SHARE) == 0) {
        taken->run_us[job->spec.id] = event->outcome.run_us;
        taken->ended++;
    }
    return 0;
}

static void play(const struct live *live, uint64_t seed, uint32_t number, struct taken *ret)
{
    struct adl_error err = {.text = ""};
    struct adl_fork *fork = NULL;
    struct adl_fork_config config = config_of(live, 1).fork;
    config.observer = (struct adl_observer){.self = ret, .event = on_event};
    const struct adl_future future = {
        .base = live->engine, .seed = seed, .number = number, .count = FUTURES, .until_us = INT64_MAX / 2};
    memset(ret, 0, sizeof *ret);
    if (adl_fork_create(&config, &fork, &err) || adl_fork_begin(fork, &future, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 20000 && adl_engine_step(adl_fork_engine(fork), &err) > 0; i++)
        ;
    assert_string_equal(err.text, "");
    adl_fork_destroy(fork);
}

/* One GPU type: then a job's run time depends on nothing but its draw. */
static void the_same_job_draws_the_same_whatever_the_policy_does(void **unused)
{
    (void)unused;
    uint32_t equal = 0, differ = 0;
    for (uint64_t w = 0; w < 40; w++) {
        struct live a;
        struct taken first, other, again;
        open_live(&a, w, &adl_policy_sjf, 0);
        if (a.scenario.cluster.type_count == 1 && a.scenario.drift.wear_per_kh == 0 && run_until(&a, 25)) {
            play(&a, 3, 1, &first);
            play(&a, 3, 1, &again);
            play(&a, 3, 2, &other);
            assert_memory_equal(&first, &again, sizeof first);
            for (int id = 0; id < 4 * JOBS; id++) {
                equal += first.run_us[id] > 0 && first.run_us[id] == again.run_us[id];
                differ += first.run_us[id] > 0 && other.run_us[id] > 0 && first.run_us[id] != other.run_us[id];
            }
        }
        close_live(&a);
    }
    print_message("%u run times, %u others in another future\n", equal, differ);
    assert_true(equal > 20 && differ > 10);
}

/* With further types, too, it takes what it took on the others. */
static uint32_t accept_all(struct live *live, uint32_t slot, const int64_t *before_us)
{
    struct adl_error err = {.text = ""};
    const struct adl_state *state = adl_engine_state(live->engine);
    const uint32_t types = live->scenario.cluster.type_count;
    struct adl_job_spec spec = state->jobs[slot].spec;
    uint32_t further = 0;
    spec.types = (uint32_t)((UINT64_C(1) << types) - 1);
    assert_int_equal(adl_engine_change_job(live->engine, slot, &spec, &err), 0);
    for (uint32_t t = 0; t < types; t++) {
        const int64_t now_us = state->runtime_us[(size_t)slot * types + t];
        assert_true(before_us[t] > 0 ? now_us == before_us[t] : now_us > 1);
        further += before_us[t] == 0;
    }
    return further;
}

/* Jobs that have ended since would change its prediction if it was made now. */
static void a_job_that_joins_the_queue_again_is_believed_to_take_as_long_as_before(void **unused)
{
    (void)unused;
    uint32_t jobs = 0, further = 0;
    for (uint64_t w = 0; w < 40; w++) {
        struct live a;
        struct adl_error err = {.text = ""};
        open_live(&a, w, &adl_policy_adlro, 0);
        const struct adl_state *state = adl_engine_state(a.engine);
        const struct adl_belief *belief = adl_engine_belief(a.engine);
        const size_t types = a.scenario.cluster.type_count;
        const bool waits = run_until(&a, 40);
        for (uint32_t slot = 0; waits && slot < state->job_capacity; slot++) {
            int64_t before_us[2][ADL_TYPES_MAX];
            if (state->jobs[slot].phase != ADL_PHASE_PENDING)
                continue;
            const struct adl_job_spec spec = state->jobs[slot].spec;
            const double done_us = adl_belief_done_us(belief, state, slot);
            const double p90_us = adl_belief_quantile_us(belief, slot, done_us, 0.9);
            memcpy(before_us[0], &state->runtime_us[slot * types], types * sizeof **before_us);
            memcpy(before_us[1], &state->spanning_us[slot * types], types * sizeof **before_us);
            assert_int_equal(adl_engine_change_job(a.engine, slot, &spec, &err), 0);
            assert_memory_equal(before_us[0], &state->runtime_us[slot * types], types * sizeof **before_us);
            assert_memory_equal(before_us[1], &state->spanning_us[slot * types], types * sizeof **before_us);
            const double now_us = adl_belief_quantile_us(belief, slot, done_us, 0.9);
            if (!(fabs(now_us - p90_us) <= 1e-9 * p90_us))
                fail_msg("p90 was %g and is %g us", p90_us, now_us);
            further += accept_all(&a, slot, before_us[0]);
            jobs++;
        }
        close_live(&a);
    }
    print_message("%u jobs, %u further types\n", jobs, further);
    assert_true(jobs > 20 && further > 10);
}

/* What it believes of jobs stays what their run times were drawn from, to the end. */
static void a_future_learns_nothing_from_what_was_drawn(void **unused)
{
    (void)unused;
    uint64_t ended = 0;
    for (uint64_t w = 0; w < WORLDS; w++) {
        struct live live;
        struct adl_error err = {.text = ""};
        struct adl_fork *fork = NULL;
        struct taken taken = {.ended = 0};
        open_live(&live, w, &adl_policy_srtf, 0);
        struct adl_fork_config config = config_of(&live, 1).fork;
        config.observer = (struct adl_observer){.self = &taken, .event = on_event};
        if (run_until(&live, 25)) {
            const uint64_t learned = adl_belief_count(adl_engine_belief(live.engine));
            const struct adl_future future = {.base = live.engine, .count = 1, .until_us = INT64_MAX / 2};
            if (adl_fork_create(&config, &fork, &err) || adl_fork_begin(fork, &future, &err))
                fail_msg("%s", err.text);
            for (int i = 0; i < 20000 && adl_engine_step(adl_fork_engine(fork), &err) > 0; i++)
                ;
            assert_true(adl_belief_count(adl_engine_belief(adl_fork_engine(fork))) == learned);
            assert_int_equal(adl_engine_run(live.engine, NULL), 0); /* the original learns on */
            assert_true(adl_belief_count(adl_engine_belief(live.engine)) > learned);
            ended += taken.ended;
        }
        adl_fork_destroy(fork);
        close_live(&live);
    }
    assert_true(ended > 20);
}

static void a_rank_and_its_time_are_inverse(void **unused)
{
    (void)unused;
    const int64_t times[] = {2000, 3000, 5000, 9000, ADL_NEVER_US};
    int64_t last = 0;
    for (double rank = -1; rank < 2; rank += 0.01) {
        const int64_t time = adl_start_rank_time(&(struct adl_start_times){times, 5, 1000, 60e6}, rank);
        assert_true(time >= last);
        last = time;
    }
    for (int64_t actual = 1100; actual < 60000; actual += 300) {
        const struct adl_start_rank found = adl_start_rank(&(struct adl_start_times){times, 5, 1000, 60e6}, actual);
        const double rank = (found.low + found.high) / 2;
        const int64_t time = adl_start_rank_time(&(struct adl_start_times){times, 5, 1000, 60e6}, rank);
        if (llabs(time - actual) > 2 + actual / 1000)
            fail_msg("%lld has rank %g, which is %lld", (long long)actual, rank, (long long)time);
    }
    const int64_t never[] = {ADL_NEVER_US, ADL_NEVER_US};
    assert_true(adl_start_rank_time(&(struct adl_start_times){never, 2, 0, 60e6}, 0.5) == ADL_NEVER_US);
}

static void levels_are_as_drawn_until_forecasts_have_turned_out(void **unused)
{
    (void)unused;
    const struct adl_start_issue issue = adl_start_levels_issue(&(struct adl_start_levels){0});
    assert_true(fabs((double)issue.level[adl_start_level_index(0.5)] - 0.5) < 1e-6);
    assert_true(fabs((double)issue.level[adl_start_level_index(0.9)] - 0.9) < 1e-6);
}

/* Forecasts turn out the given number of forecasts later, or are known to be too early before. Returns the mean pinball
 * loss of all levels. */
static double expect_coverage(double (*rank_of)(int), int delay)
{
    static struct adl_start_issue issues[4000];
    double loss = 0;
    struct adl_start_levels levels = {.starts = 0};
    double within[ADL_START_LEVELS] = {0};
    const int count = 4000;
    for (int i = 0; i < count + delay; i++) {
        if (i < count)
            issues[i] = adl_start_levels_issue(&levels);
        if (i < delay)
            continue;
        const double actual = rank_of(i - delay);
        const struct adl_start_rank rank = {actual, actual}, before = {actual / 2, actual / 2};
        adl_start_levels_wait(&levels, &issues[i - delay], before);
        adl_start_levels_learn(&levels, &issues[i - delay], rank);
        for (int l = 0; l < ADL_START_LEVELS; l++) {
            const double late = actual - (double)issues[i - delay].level[l], q = (l + 1.0) / (ADL_START_LEVELS + 1);
            within[l] += adl_start_within(rank, (double)issues[i - delay].level[l]);
            loss += late > 0 ? q * late : (q - 1) * late;
        }
    }
    for (int l = 0; l < ADL_START_LEVELS; l++)
        if (fabs(within[l] / count - (l + 1.0) / (ADL_START_LEVELS + 1)) > 0.015)
            fail_msg("%.1f %% of starts came within level %d of %d", 100 * within[l] / count, l + 1, ADL_START_LEVELS);
    return loss / count / ADL_START_LEVELS;
}

static double uniform_rank(int i)
{
    return (double)(adl_hash_u64(adl_hash_start(), (uint64_t)i) >> 11) * 0x1.0p-53;
}

static double late_rank(int i)
{
    return 2 * uniform_rank(i) + 1;
}

static double drifting_rank(int i)
{
    return uniform_rank(i) + (i % 1000 < 500 ? 0 : 2);
}

static void as_many_starts_come_within_a_level_as_its_probability_says(void **unused)
{
    (void)unused;
    expect_coverage(uniform_rank, 0);
    expect_coverage(late_rank, 0);
    expect_coverage(late_rank, 10);
    expect_coverage(drifting_rank, 5);
}

/* Mean pinball loss of the exact quantiles of uniform ranks. */
static double least_loss(double (*rank_of)(int), double from, double to)
{
    double loss = 0;
    for (int i = 0; i < 4000; i++)
        for (int l = 0; l < ADL_START_LEVELS; l++) {
            const double q = (l + 1.0) / (ADL_START_LEVELS + 1), late = rank_of(i) - from - (to - from) * q;
            loss += late > 0 ? q * late : (q - 1) * late;
        }
    return loss / 4000 / ADL_START_LEVELS;
}

static void levels_stay_near_the_quantiles(void **unused)
{
    (void)unused;
    const double first = expect_coverage(uniform_rank, 0) / least_loss(uniform_rank, 0, 1),
                 late = expect_coverage(late_rank, 0) / least_loss(late_rank, 1, 3),
                 out = expect_coverage(late_rank, 100) / least_loss(late_rank, 1, 3), /* so many are out at any time */
        jumps = expect_coverage(drifting_rank, 5) / least_loss(uniform_rank, 0, 1);
    print_message("loss relative to exact quantiles: %.4f %.4f %.4f %.4f\n", first, late, out, jumps);
    assert_true(first < 1.02 && late < 1.022 && out < 1.3 && jumps < 1.45);
}

/* Where a level is after 50 jobs as drawn, and one that starts late, with so many forecasts; told which are of one job,
 * or not. */
static double level_after(double q, uint32_t forecasts, uint32_t others)
{
    struct adl_start_levels levels = {.starts = 0};
    for (uint32_t i = 0; i < 50 + forecasts; i++) {
        struct adl_start_issue issue = adl_start_levels_issue(&levels);
        const double rank = i < 50 ? (i * 7 % 50 + 0.5) / 50 : 2;
        issue.others = i < 50 ? 0 : others;
        adl_start_levels_learn(&levels, &issue, (struct adl_start_rank){rank, rank});
    }
    return (double)adl_start_levels_issue(&levels).level[adl_start_level_index(q)];
}

static void a_job_with_many_forecasts_does_not_move_p50_as_many_jobs_do(void **unused)
{
    (void)unused;
    const double before = level_after(0.5, 0, 0), one = level_after(0.5, 1, 0) - before;
    const double jobs = level_after(0.5, 100, 0) - before, job = level_after(0.5, 100, 99) - before;
    const double jobs90 = level_after(0.9, 100, 0), job90 = level_after(0.9, 100, 99);
    print_message("p50 moves by %.3f after one late start, %.3f after 100 jobs, %.3f after 100 forecasts of one; "
                  "p90 is then %.3f and %.3f\n",
                  one, jobs, job, jobs90, job90);
    assert_true(job > one && job < jobs / 3);
    assert_true(job90 > 0.9 * jobs90); /* there each forecast counts */
}

/* Futures that were cut say no more than that they start later. */
static void p90_is_later_the_fewer_futures_reached_the_start(void **unused)
{
    (void)unused;
    const int64_t hour_us = INT64_C(3600000000);
    int64_t times[8], before_us = INT64_MAX;
    for (uint32_t known = 1; known <= 8; known++) {
        for (uint32_t i = 0; i < 8; i++)
            times[i] = i < known ? hour_us : ADL_NEVER_US;
        const int64_t p90_us = adl_start_rank_time(&(struct adl_start_times){times, 8, 0, 60e6}, 0.9);
        assert_true(p90_us < before_us && p90_us > hour_us - 10);
        before_us = p90_us;
    }
    assert_true(before_us < 2 * hour_us);
}

/* By how much starts that are owed raise p50, relative to the mean distance. */
static double raised(double owed)
{
    const int p50 = adl_start_level_index(0.5);
    struct adl_start_levels levels = {.starts = 100};
    for (int i = 0; i < ADL_START_LEVELS; i++) {
        levels.distance[i] = 0.25F;
        levels.weight[0][i] = 1;
        levels.owed[i] = (float)owed;
    }
    return ((double)adl_start_levels_issue(&levels).level[p50] - 0.5) / 0.25;
}

/* One that is too high is off by e-folds, one that is too low by no more than the wait. */
static void starts_that_are_owed_raise_a_level_by_less_than_those_too_many_lower_it(void **unused)
{
    (void)unused;
    assert_true(fabs(raised(5) - 0.2) < 1e-6 && fabs(raised(-5) + 0.2) < 1e-6);
    assert_true(fabs(raised(100) - 0.5) < 1e-6 && fabs(raised(-100) + 1) < 1e-6);
}

/* After a burst: jobs that would have started at once start minutes late. */
static void starts_minutes_late_do_not_move_waits_of_hours_to_days(void **unused)
{
    (void)unused;
    const int64_t minute_us = INT64_C(60000000), hour_us = 60 * minute_us;
    const int64_t at_once[] = {0, 0, 0, 0}, hours[] = {hour_us, 2 * hour_us, 3 * hour_us, 4 * hour_us};
    struct adl_start_levels levels = {.starts = 0};
    for (int i = 0; i < 100; i++) {
        struct adl_start_issue issue = adl_start_levels_issue(&levels);
        adl_start_levels_learn(
            &levels, &issue, adl_start_rank(&(struct adl_start_times){at_once, 4, 0, 60e6}, i % 3 ? 0 : 5 * minute_us));
    }
    const struct adl_start_issue issue = adl_start_levels_issue(&levels);
    const int64_t p90_us = adl_start_rank_time(&(struct adl_start_times){hours, 4, 0, 60e6},
                                               (double)issue.level[adl_start_level_index(0.9)]);
    print_message("p90 of 4 hours: %.1f h\n", (double)p90_us / (double)hour_us);
    assert_true(p90_us >= 4 * hour_us && p90_us < 48 * hour_us);
}

static void a_start_at_a_time_that_many_futures_have_is_within_all_their_ranks_in_equal_parts(void **unused)
{
    (void)unused;
    const int64_t times[] = {2000, 3000, 3000, 3000};
    const struct adl_start_rank rank = adl_start_rank(&(struct adl_start_times){times, 4, 1000, 60e6}, 3000);
    assert_true(rank.low == 0.25 && rank.high == 1);
    assert_true(adl_start_within(rank, 0.25) == 0 && adl_start_within(rank, 1) == 1);
    assert_true(fabs(adl_start_within(rank, 0.625) - 0.5) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forecast_reads_nothing_that_is_to_come),
        cmocka_unit_test(the_same_job_draws_the_same_whatever_the_policy_does),
        cmocka_unit_test(a_job_that_joins_the_queue_again_is_believed_to_take_as_long_as_before),
        cmocka_unit_test(a_future_learns_nothing_from_what_was_drawn),
        cmocka_unit_test(a_rank_and_its_time_are_inverse),
        cmocka_unit_test(levels_are_as_drawn_until_forecasts_have_turned_out),
        cmocka_unit_test(as_many_starts_come_within_a_level_as_its_probability_says),
        cmocka_unit_test(levels_stay_near_the_quantiles),
        cmocka_unit_test(a_job_with_many_forecasts_does_not_move_p50_as_many_jobs_do),
        cmocka_unit_test(p90_is_later_the_fewer_futures_reached_the_start),
        cmocka_unit_test(starts_that_are_owed_raise_a_level_by_less_than_those_too_many_lower_it),
        cmocka_unit_test(starts_minutes_late_do_not_move_waits_of_hours_to_days),
        cmocka_unit_test(a_start_at_a_time_that_many_futures_have_is_within_all_their_ranks_in_equal_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
