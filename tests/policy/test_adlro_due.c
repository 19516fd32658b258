/* Tests of what adlro guarantees to jobs that wait: with weight `tail` above 0 no job is passed without end. Random
 * jobs with exact predictions arrive faster than they are served. */
#include "engine/engine.h"
#include "peer_check.h"
#include "policy/policy.h"

#include "base/rng.h"

#include <string.h>

#define JOBS    300
#define NODES   2
#define GPUS    4 /* of a node */
#define LONGEST 200

struct job {
    int64_t submit_s, gpus, run_s;
    int64_t start_us, end_us;
};

struct load {
    struct job jobs[JOBS];
    uint32_t next;
    uint8_t flags;
    uint32_t stops;
};

static int load_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct load *load = self;
    if (load->next == JOBS)
        return 0;
    const struct job *job = &load->jobs[load->next++];
    ret->spec = (struct adl_job_spec){.id = load->next,
                                      .gpus = (uint16_t)job->gpus,
                                      .types = 1,
                                      .flags = load->flags,
                                      .limit_us = job->run_s * 1000000};
    ret->submit_us = job->submit_s * 1000000;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = job->run_s * 1000000;
    return 1;
}

static int note_end(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct load *load = self;
    load->stops += event->kind == ADL_EVENT_EVICT;
    if (event->kind != ADL_EVENT_FINISH)
        return 0;
    struct job *job = &load->jobs[state->jobs[event->job].spec.id - 1];
    job->start_us = state->jobs[event->job].start_us;
    job->end_us = event->time_us;
    return 0;
}

/* Nine of ten are short and small; together twice what the cluster can do. */
static void draw(struct load *load, uint64_t seed)
{
    struct adl_rng rng;
    int64_t time_s = 0;
    adl_rng_seed(&rng, seed, "due");
    memset(load, 0, sizeof *load);
    for (int i = 0; i < JOBS; i++) {
        const bool wide = adl_rng_uniform(&rng) < 0.1;
        const int64_t gpus = 1 + (int64_t)(adl_rng_uniform(&rng) * 2),
                      run_s = 1 + (int64_t)(adl_rng_uniform(&rng) * 30);
        const int64_t longer_s = (int64_t)(adl_rng_uniform(&rng) * LONGEST / 2);
        time_s += (int64_t)(adl_rng_uniform(&rng) * 6);
        load->jobs[i] = (struct job){time_s, wide ? GPUS : gpus, wide ? LONGEST / 2 + longer_s : run_s, -1, -1};
    }
}

static void run(struct load *load, const char *settings)
{
    struct adl_scenario scenario = peer_check_scenario(NODES, GPUS);
    const struct adl_job_source source = {.self = load, .next = load_next, .close = peer_close};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    char all[100]; /* the rule alone */
    snprintf(all, sizeof all, "network=false\n%s", settings);
    scenario.policy.settings = all;
    assert_int_equal(adl_world_sim_create_from(&scenario, source, 1, ADL_REGIME_ORACLE, &world, &err), 0);
    const struct adl_engine_config config = {.cluster = &scenario.cluster,
                                             .policy = &adl_policy_adlro,
                                             .policy_config = adl_run_policy_config(&scenario),
                                             .seed = 1,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = load, .event = note_end}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    assert_int_equal(adl_engine_run(engine, &err), 0);
    assert_int_equal(adl_engine_counts(engine)->refused, 0);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&scenario);
}

static double work_s(const struct job *job)
{
    return (double)(job->gpus * job->run_s);
}

/* Work of all jobs that started up to a time. */
static double started_s(const struct load *load, int64_t time_us)
{
    double sum = 0;
    for (int i = 0; i < JOBS; i++)
        sum += load->jobs[i].start_us <= time_us ? work_s(&load->jobs[i]) : 0;
    return sum;
}

/* When job j was due at the latest: the longest run time stands for the usual one. INT64_MAX: not before it started. */
static int64_t due_us(const struct load *load, int j, double tail)
{
    double reaches_s = (1 / tail - tail) * NODES * GPUS * (double)(LONGEST + load->jobs[j].run_s);
    int64_t first_us = INT64_MAX;
    for (int i = 0; i < j; i++)
        reaches_s += work_s(&load->jobs[i]);
    for (int i = 0; i < JOBS; i++) {
        const int64_t time_us = load->jobs[i].start_us;
        if (time_us < first_us && time_us >= load->jobs[j].submit_s * 1000000 && time_us < load->jobs[j].start_us &&
            started_s(load, time_us) > reaches_s)
            first_us = time_us;
    }
    return first_us;
}

/* Jobs that ended later than the guarantee allows: each due job before it, and the job itself, is served within twice
 * the longest run time. */
static uint32_t broken(const struct load *load, double tail, uint32_t *ret_due)
{
    uint32_t count = 0;
    for (int j = 0; j < JOBS; j++) {
        const int64_t due = due_us(load, j, tail);
        int64_t turns = 1;
        if (due == INT64_MAX)
            continue;
        for (int i = 0; i < j; i++)
            turns += load->jobs[i].start_us > due;
        count += load->jobs[j].end_us > due + turns * 2 * LONGEST * 1000000;
        ++*ret_due;
    }
    return count;
}

static void a_due_job_ends_within_twice_the_longest_run_time_for_each_due_job_up_to_it(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        double tail;
    } cases[] = {{"objective=tail:0.2\nmoves=false", 0.2},
                 {"objective=tail:0.5\nmoves=false", 0.5},
                 {"objective=tail:1\nmoves=false", 1},
                 {"objective=mean:2,tail:6\nmoves=false", 3}};
    static struct load load;
    uint32_t due = 0, without = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            draw(&load, seed);
            run(&load, cases[i].settings);
            assert_int_equal(broken(&load, cases[i].tail, &due), 0);
        }
        draw(&load, seed);
        run(&load, "objective=tail:0\nmoves=false");
        uint32_t unused = 0;
        without += broken(&load, 1, &unused);
    }
    assert_true(due > 50);    /* it was put to the test */
    assert_true(without > 0); /* and means something */
}

/* The longest wait falls as the weight rises, and the mean rises. */
static void a_higher_weight_of_the_tail_shortens_the_longest_wait(void **state)
{
    (void)state;
    static const char *const settings[] = {"objective=tail:0", "objective=tail:0.3", "objective=tail:10"};
    static struct load load;
    double longest_s[3] = {0}, mean_s[3] = {0};
    for (int i = 0; i < 3; i++)
        for (uint64_t seed = 11; seed <= 15; seed++) {
            double longest = 0;
            draw(&load, seed);
            run(&load, settings[i]);
            for (int j = 0; j < JOBS; j++) {
                const double jct_s = (double)load.jobs[j].end_us * 1e-6 - (double)load.jobs[j].submit_s;
                longest = jct_s > longest ? jct_s : longest;
                mean_s[i] += jct_s;
            }
            longest_s[i] += longest;
        }
    assert_true(longest_s[1] < longest_s[0] && longest_s[2] < longest_s[1]);
    assert_true(mean_s[0] < mean_s[1] && mean_s[1] < mean_s[2]);
}

/* With that weight every job is due from the beginning, as soon as the usual run time is known. */
static void a_running_job_that_is_due_is_not_stopped(void **state)
{
    (void)state;
    static struct load load;
    uint32_t stops[2] = {0};
    for (int i = 0; i < 2; i++)
        for (uint64_t seed = 21; seed <= 23; seed++) {
            draw(&load, seed);
            load.flags = ADL_JOB_PREEMPTIBLE;
            run(&load, i == 0 ? "objective=tail:20" : "objective=tail:0");
            stops[i] += load.stops;
        }
    assert_true(stops[0] <= 3); /* before the first job of a run has completed */
    assert_true(stops[1] > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_due_job_ends_within_twice_the_longest_run_time_for_each_due_job_up_to_it),
        cmocka_unit_test(a_higher_weight_of_the_tail_shortens_the_longest_wait),
        cmocka_unit_test(a_running_job_that_is_due_is_not_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
