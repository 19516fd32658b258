/* What-if answers on queues made by hand: each is what comes out if the change is really made. */
#include "experiment/run.h"
#include "scenario_fixture.h"
#include "sim/world_sim.h"
#include "twin/starts.h"
#include "twin/whatif.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND  INT64_C(1000000)
#define FUTURES 16
#define SMALL   1u
#define BIG     2u

/* One node with two small GPUs, one with a big one. */
static const char cluster_text[] = "name: bare\n"
                                   "description: hardware alone\n"
                                   "catalogue: catalogue.yaml\n"
                                   "kill_at_limit: false\n"
                                   "cluster:\n"
                                   "  network_gbs: 10\n"
                                   "  nodes: [{name: s, cpu_cores: 8, memory_mib: 8192, link_gbs: 10,\n"
                                   "           gpus: [{type: small, count: 2}]},\n"
                                   "          {name: b, cpu_cores: 8, memory_mib: 8192, link_gbs: 10,\n"
                                   "           gpus: [{type: big, count: 1}]}]\n";

struct request {
    uint16_t gpus;
    uint32_t types;
    int64_t limit_s;
    float priority;
};

/* A run of these jobs, submitted a second apart, which is stopped when all of them have been. */
struct live {
    struct adl_scenario scenario;
    const struct request *requests;
    uint32_t count, given;
    struct adl_world_sim *world;
    struct adl_engine *engine;
};

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct live *live = self;
    if (live->given == live->count)
        return 0;
    const struct request *request = &live->requests[live->given];
    *ret = (struct adl_true_job){.submit_us = live->given * SECOND, .steps = 1, .ideal_us = SECOND};
    ret->spec = (struct adl_job_spec){.id = ++live->given,
                                      .gpus = request->gpus,
                                      .types = request->types,
                                      .limit_us = request->limit_s * SECOND,
                                      .priority = request->priority};
    for (uint32_t t = 0; t < live->scenario.cluster.type_count; t++)
        ret->runtime_us[t] = request->types >> t & 1 ? request->limit_s * SECOND / 2 : 0;
    return 1;
}

static void close_jobs(void *self)
{
    (void)self;
}

static void open_live(struct live *live, const struct request *requests, uint32_t count, const char *policy)
{
    const struct adl_scenario_source catalogue = {.read = fixture_read,
                                                  .context = (void *)(uintptr_t)fixture_catalogue};
    struct adl_error err = {.text = ""};
    *live = (struct live){.requests = requests, .count = count};
    if (adl_cluster_parse("c.yaml", cluster_text, strlen(cluster_text), &catalogue, &live->scenario, &err))
        fail_msg("%s", err.text);
    const struct adl_job_source source = {.self = live, .next = next_job, .close = close_jobs};
    if (adl_world_sim_create_from(&live->scenario, source, 1, ADL_REGIME_DECLARED, &live->world, &err))
        fail_msg("%s", err.text);
    const struct adl_engine_config config = {.cluster = &live->scenario.cluster,
                                             .policy = adl_policy_find(policy),
                                             .policy_config = adl_run_policy_config(&live->scenario),
                                             .seed = 1,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = live->world};
    if (adl_engine_create(&config, &live->engine, &err))
        fail_msg("%s", err.text);
    while (adl_engine_state(live->engine)->now_us < (count - 1) * SECOND)
        if (adl_engine_step(live->engine, &err) <= 0)
            fail_msg("the jobs did not come: %s", err.text);
}

static void close_live(struct live *live)
{
    adl_engine_destroy(live->engine);
    adl_world_sim_destroy(live->world);
    adl_scenario_clear(&live->scenario);
}

static struct adl_whatif_config config_of(const struct live *live, uint64_t job)
{
    return (struct adl_whatif_config){.fork = {.engine = live->engine, .preemption = live->scenario.preemption},
                                      .seed = 7,
                                      .futures = FUTURES,
                                      .horizon_s = 1e6,
                                      .of_job = job > 0,
                                      .job = job};
}

static struct adl_whatif ask(const struct live *live, uint64_t job, struct adl_answer *alternatives, uint32_t count)
{
    struct adl_error err = {.text = ""};
    struct adl_whatif whatif;
    const struct adl_whatif_config config = config_of(live, job);
    if (adl_whatif_play(&config, alternatives, count, &whatif, &err))
        fail_msg("%s", err.text);
    assert_int_equal(whatif.futures, FUTURES);
    return whatif;
}

/* The median start of a job in the futures of a run, in seconds from now, by another part of the twin. */
static double forecast_s(const struct live *live, uint64_t job)
{
    struct adl_error err = {.text = ""};
    struct adl_starts *starts = NULL;
    const struct adl_state *state = adl_engine_state(live->engine);
    const struct adl_starts_config config = {.fork = {.engine = live->engine, .preemption = live->scenario.preemption},
                                             .futures = FUTURES,
                                             .horizon_s = 1e6};
    const size_t middle = FUTURES / 2;
    double start_s = -1;
    if (adl_starts_create(&config, &starts, &err) || adl_starts_refresh(starts, live->engine, NULL, 7, ADL_NONE, &err))
        fail_msg("%s", err.text);
    for (uint32_t slot = 0; slot < state->job_capacity; slot++) {
        const int64_t *times_us = adl_starts_of(starts, slot);
        if (times_us && state->jobs[slot].spec.id == job)
            start_s = (double)(times_us[middle - 1] + times_us[middle] - 2 * state->now_us) * 0.5e-6;
    }
    adl_starts_destroy(starts);
    return start_s;
}

static void another_type_with_a_free_gpu_starts_the_job_at_once(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {1, SMALL, 1800, 0}};
    struct live live;
    struct adl_answer alternative = {.change = {.add_types = BIG, .text = "allowing big"}};
    struct adl_text words = {0};
    open_live(&live, requests, 2, "fcfs");
    const struct adl_whatif whatif = ask(&live, 2, &alternative, 1);
    assert_true(alternative.possible);
    assert_float_equal(whatif.job.start_s.p50, forecast_s(&live, 2), 1e-3);
    assert_true(whatif.job.start_s.p10 > 0);
    assert_float_equal(alternative.job.start_s.p90, 0, 1e-6);
    assert_float_equal(alternative.sooner, 1, 1e-9);
    assert_true(alternative.start_s.lo <= alternative.start_s.mean &&
                alternative.start_s.mean <= alternative.start_s.hi);
    assert_true(alternative.start_s.hi < 0);
    assert_true(adl_answer_helps(&alternative, &whatif));
    assert_int_equal(adl_whatif_cheapest(&alternative, 1, &whatif), 0);
    assert_float_equal(alternative.others_s.mean, 0, 1e-6); /* it takes nothing from the job that runs */
    adl_answer_say(&alternative, &whatif, true, &words);
    assert_non_null(strstr(words.data, "allowing big: starts "));
    assert_non_null(strstr(words.data, " sooner ("));
    adl_text_clear(&words);
    close_live(&live);
}

/* The same queue with the request changed from the beginning has the start that was promised. */
static void an_answer_is_what_comes_out_if_the_change_is_made(void **unused)
{
    (void)unused;
    static const struct request before[] = {{2, SMALL, 3600, 0}, {1, BIG, 7200, 0}, {2, SMALL, 1800, 0}};
    static const struct request types[] = {{2, SMALL, 3600, 0}, {1, BIG, 7200, 0}, {2, SMALL | BIG, 1800, 0}};
    static const struct request fewer[] = {{2, SMALL, 3600, 0}, {1, BIG, 7200, 0}, {1, SMALL | BIG, 1800, 0}};
    static const struct request limit[] = {{2, SMALL, 3600, 0}, {1, BIG, 7200, 0}, {2, SMALL, 900, 0}};
    const struct request *const made[] = {types, fewer, limit};
    struct adl_answer alternatives[] = {{.change = {.add_types = BIG}},
                                        {.change = {.gpus = 1, .set_types = SMALL | BIG}},
                                        {.change = {.limit_us = 900 * SECOND}}};
    struct live live, changed;
    open_live(&live, before, 3, "sjf");
    ask(&live, 3, alternatives, 3);
    for (int i = 0; i < 3; i++) {
        open_live(&changed, made[i], 3, "sjf");
        assert_true(alternatives[i].possible);
        assert_float_equal(alternatives[i].job.start_s.p50, forecast_s(&changed, 3), 1e-3);
        close_live(&changed);
    }
    close_live(&live);
}

static void a_change_that_cannot_help_says_so(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {2, SMALL, 1800, 0}};
    struct live live;
    struct adl_answer alternatives[] = {
        {.change = {.has_priority = true, .priority = 1, .text = "with priority 1"}},
        {.change = {.add_types = BIG, .text = "allowing big"}}, /* which has one GPU */
        {.change = {.gpus = 3, .text = "with 3 GPUs"}},
    };
    struct adl_text words = {0};
    open_live(&live, requests, 2, "fcfs");
    const struct adl_whatif whatif = ask(&live, 2, alternatives, 3);
    for (int i = 0; i < 2; i++) {
        assert_true(alternatives[i].possible);
        assert_float_equal(alternatives[i].start_s.mean, 0, 1e-9);
        assert_false(adl_answer_helps(&alternatives[i], &whatif));
    }
    assert_false(alternatives[2].possible);
    assert_non_null(strstr(alternatives[2].why_not, "can never run"));
    assert_int_equal(adl_whatif_cheapest(alternatives, 3, &whatif), ADL_NONE);
    adl_answer_say(&alternatives[0], &whatif, true, &words);
    assert_non_null(strstr(words.data, "starts at the same time"));
    adl_text_clear(&words);
    close_live(&live);
}

static void a_change_that_ends_the_job_later_does_not_help(void **unused)
{
    (void)unused;
    const struct adl_whatif whatif = {.job = {.start_s = {.p50 = 660}}, .futures = FUTURES};
    struct adl_answer slower = {.possible = true,
                                .change = {.add_types = BIG, .text = "allowing k80"},
                                .sooner = 1,
                                .start_s = {.mean = -840, .lo = -1800, .hi = 180},
                                .end_s = {.mean = 2160, .lo = 93, .hi = 4680},
                                .others_s = {.mean = -37}};
    struct adl_answer equal = slower;
    struct adl_text words = {0};
    assert_false(adl_answer_helps(&slower, &whatif));
    equal.end_s.mean = 13;
    equal.others_s.mean = -24;
    assert_true(adl_answer_helps(&equal, &whatif));
    const struct adl_answer both[] = {slower, equal};
    assert_int_equal(adl_whatif_cheapest(both, 2, &whatif), 1);
    slower.change = (struct adl_change){.limit_us = SECOND, .text = "with a time limit of 1 s"};
    assert_true(adl_answer_helps(&slower, &whatif)); /* a limit says when it starts, not when it ends */
    adl_answer_say(&equal, &whatif, true, &words);
    assert_non_null(
        strstr(words.data, "starts 14 min sooner (3 min later to 30 min sooner), ends 13 s later (93 s to"));
    adl_text_clear(&words);
}

static void a_job_that_runs_or_is_not_there_cannot_be_changed(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {1, SMALL, 1800, 0}};
    struct live live;
    struct adl_answer alternative = {.change = {.add_types = BIG}};
    struct adl_whatif whatif;
    struct adl_error err = {.text = ""};
    open_live(&live, requests, 2, "fcfs");
    whatif = ask(&live, 1, &alternative, 1);
    assert_true(whatif.runs);
    assert_false(alternative.possible);
    assert_non_null(strstr(alternative.why_not, "runs already"));
    const struct adl_whatif_config config = config_of(&live, 99);
    assert_int_equal(adl_whatif_play(&config, &alternative, 1, &whatif, &err), ADL_EABSENT);
    close_live(&live);
}

/* Two jobs wait for the pair of small GPUs; sjf lets the shorter one pass. */
static void another_policy_gives_its_own_order(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {2, SMALL, 36000, 0}, {2, SMALL, 600, 0}};
    struct live live, other;
    struct adl_answer alternatives[2] = {{.change = {.policy = adl_policy_find("sjf")}},
                                         {.change = {.policy = adl_policy_find("fcfs")}}};
    open_live(&live, requests, 3, "fcfs");
    open_live(&other, requests, 3, "sjf");
    alternatives[0].change.policy_config = alternatives[1].change.policy_config = adl_run_policy_config(&live.scenario);
    const struct adl_whatif whatif = ask(&live, 3, alternatives, 2);
    assert_true(alternatives[0].possible && alternatives[1].possible);
    assert_float_equal(alternatives[0].job.start_s.p50, forecast_s(&other, 3), 1e-3);
    assert_true(alternatives[0].start_s.hi < 0 && alternatives[0].jct_s.mean < 0);
    assert_float_equal(alternatives[1].job.start_s.p50, whatif.job.start_s.p50, 1e-9); /* the same policy */
    assert_float_equal(alternatives[1].jct_s.mean, 0, 1e-9);
    close_live(&live);
    close_live(&other);
}

static void more_nodes_start_what_waits_and_a_drained_one_starts_nothing(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {2, SMALL, 1800, 0}};
    struct live live;
    struct adl_answer alternatives[] = {{.change = {.nodes = 1, .node_type = 0, .node_gpus = 2}},
                                        {.change = {.drains = true, .drain_node = 0, .drain_us = 60 * SECOND}},
                                        {.change = {.drains = true, .drain_node = 1, .drain_us = 60 * SECOND}}};
    open_live(&live, requests, 2, "easy");
    const struct adl_whatif whatif = ask(&live, 2, alternatives, 3);
    assert_float_equal(alternatives[0].job.start_s.p90, 0, 1e-6);
    assert_true(alternatives[0].jct_s.hi < 0);
    assert_int_equal(alternatives[1].job.never, FUTURES);
    assert_float_equal(alternatives[2].start_s.mean, 0, 1e-9);
    assert_true(whatif.job.never < FUTURES / 4);
    for (int i = 1; i < 3; i++)
        alternatives[i].change.drain_us = 100 * 3600 * SECOND;
    assert_true(ask(&live, 2, alternatives, 3).played_s > 100 * 3600.0); /* else it would seem to make no difference */
    assert_true(whatif.played_s < 100 * 3600.0);
    close_live(&live);
}

static void a_job_before_its_submission_has_a_start_for_each_choice(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0}, {1, BIG, 1800, 0}};
    const struct adl_job_spec spec = {.gpus = 2, .types = SMALL, .limit_us = 600 * SECOND, .priority = 0.5f};
    struct live live;
    struct adl_answer choices[ADL_CHANGES_MAX];
    struct adl_whatif whatif;
    struct adl_error err = {.text = ""};
    open_live(&live, requests, 2, "fcfs");
    struct adl_whatif_config config = config_of(&live, 0);
    config.submit = &spec;
    const uint32_t count = adl_whatif_choices(&config, 0.5, choices);
    assert_int_equal(count, 3); /* the other type, one GPU, half the limit */
    assert_string_equal(choices[0].change.text, "allowing big");
    assert_string_equal(choices[1].change.text, "with 1 GPU");
    if (adl_whatif_play(&config, choices, count, &whatif, &err))
        fail_msg("%s", err.text);
    assert_true(whatif.job.start_s.p10 > 0 && whatif.job.end_s.p10 > whatif.job.start_s.p10);
    assert_int_equal(whatif.jobs, 3);
    assert_null(strstr(choices[0].why_not, "never"));
    close_live(&live);
}

/* Every policy goes on from a state that another one made, and what it then knows gives the same future again. */
static void every_policy_takes_over_a_state(void **unused)
{
    (void)unused;
    static const struct request requests[] = {{2, SMALL, 3600, 0},       {1, BIG, 1800, 0.5f}, {1, SMALL, 900, 0.2f},
                                              {1, SMALL | BIG, 600, 0},  {2, SMALL, 7200, 1},  {1, BIG, 300, 0},
                                              {1, SMALL | BIG, 4000, 0}, {1, SMALL, 60, 0}};
    struct live live;
    open_live(&live, requests, 8, "easy");
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        struct adl_answer alternatives[2] = {{.change = {.policy = adl_policy_at(p)}},
                                             {.change = {.policy = adl_policy_at(p)}}};
        struct adl_whatif whatif;
        struct adl_error err = {.text = ""};
        struct adl_whatif_config config = config_of(&live, 8);
        config.futures = 4;
        alternatives[0].change.policy_config = alternatives[1].change.policy_config =
            adl_run_policy_config(&live.scenario);
        if (adl_whatif_play(&config, alternatives, 2, &whatif, &err))
            fail_msg("%s: %s", adl_policy_at(p)->name, err.text);
        if (!alternatives[0].possible)
            fail_msg("%s: %s", adl_policy_at(p)->name, alternatives[0].why_not);
        assert_true(alternatives[0].job.end_s.p50 > alternatives[0].job.start_s.p50);
        assert_float_equal(alternatives[0].jct_s.mean, alternatives[1].jct_s.mean, 1e-9);
        assert_float_equal(alternatives[0].energy_j.mean, alternatives[1].energy_j.mean, 1e-3);
    }
    close_live(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_type_with_a_free_gpu_starts_the_job_at_once),
        cmocka_unit_test(an_answer_is_what_comes_out_if_the_change_is_made),
        cmocka_unit_test(a_change_that_cannot_help_says_so),
        cmocka_unit_test(a_change_that_ends_the_job_later_does_not_help),
        cmocka_unit_test(a_job_that_runs_or_is_not_there_cannot_be_changed),
        cmocka_unit_test(another_policy_gives_its_own_order),
        cmocka_unit_test(more_nodes_start_what_waits_and_a_drained_one_starts_nothing),
        cmocka_unit_test(a_job_before_its_submission_has_a_start_for_each_choice),
        cmocka_unit_test(every_policy_takes_over_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
