/* Tests of adlro's fair shares: usage against shares, its decay, and what a user gets beside one that floods. */
#include "engine/engine.h"
#include "peer_check.h"
#include "policy/adlro/fairness.h"
#include "policy/policy.h"
#include "state_fixture.h"

#include <string.h>

#define SECOND INT64_C(1000000)

/* ---- factors ---- */

static struct adl_fairness fair;
static struct adl_cluster cluster;
static struct adl_state *now;

static void begin(double weight, double half_life_s)
{
    fair = (struct adl_fairness){.weight = weight, .half_life_s = half_life_s};
    cluster = fixture_plain(8);
    now = fixture_state(&cluster);
    for (uint32_t user = 1; user <= 2; user++) {
        struct adl_job_spec spec = fixture_spec(user, 1);
        spec.user = user;
        fixture_queue(now, user, &spec, 10 * SECOND, user);
        assert_int_equal(adl_fairness_join(&fair, user), 0);
    }
}

static void end(void)
{
    adl_fairness_clear(&fair);
    adl_state_destroy(now);
    adl_cluster_clear(&cluster);
}

/* The user's job held so many GPUs for so long. */
static void use(uint32_t user, uint16_t gpus, double time_s)
{
    const struct adl_job job = {.spec = {.user = user, .gpus = gpus}, .phase = ADL_PHASE_RUNNING};
    adl_fairness_charge(&fair, &job, (int64_t)(time_s * SECOND));
}

static double factor(uint32_t user)
{
    adl_fairness_update(&fair, now, 10 * SECOND);
    return adl_fairness_factor(&fair, user);
}

static void usage_at_the_share_halves_the_rank_and_no_usage_keeps_it(void **state)
{
    (void)state;
    begin(1, 0);
    use(1, 2, 100);
    use(2, 4, 50);
    assert_true(factor(1) > 0.499 && factor(1) < 0.501 && factor(2) > 0.499 && factor(2) < 0.501);
    end();
    begin(1, 0);
    use(1, 2, 100); /* all of it: twice its share */
    assert_true(factor(1) > 0.249 && factor(1) < 0.251 && factor(2) == 1);
    end();
}

static void a_user_with_a_larger_share_may_use_more(void **state)
{
    (void)state;
    begin(1, 0);
    end();
    fair = (struct adl_fairness){.weight = 1};
    assert_int_equal(adl_fairness_read_shares(&fair, "1:3,bob:0.5", NULL), 0);
    assert_true(fair.share_count == 2 && fair.shares[0].user == 1 && fair.shares[1].user == adl_job_name_id("bob"));
    const struct adl_fairness told = fair;
    begin(1, 0);
    adl_fairness_clear(&fair);
    fair = told;
    for (uint32_t user = 1; user <= 2; user++)
        assert_int_equal(adl_fairness_join(&fair, user), 0);
    use(1, 3, 100);
    use(2, 1, 100);
    assert_true(factor(1) > 0.499 && factor(1) < 0.501 && factor(2) > 0.499 && factor(2) < 0.501);
    end();
}

static void usage_counts_half_after_the_half_life(void **state)
{
    (void)state;
    begin(1, 50);
    use(1, 1, 100);
    factor(1);
    now->now_us = 50 * SECOND; /* 100 have become 50, as many as the other uses now */
    factor(1);
    use(2, 1, 50);
    assert_true(factor(1) > 0.499 && factor(1) < 0.501);
    end();
}

static void without_weight_or_with_one_user_nothing_changes(void **state)
{
    (void)state;
    begin(0, 0);
    use(1, 1, 100);
    assert_true(factor(1) == 1 && factor(2) == 1);
    end();
    fair = (struct adl_fairness){.weight = 1};
    assert_int_equal(adl_fairness_join(&fair, 7), 0);
    use(7, 1, 100);
    assert_true(adl_fairness_factor(&fair, 7) == 1);
    adl_fairness_clear(&fair);
}

static void a_copy_has_the_same_factors_and_usage_of_its_own(void **state)
{
    (void)state;
    struct adl_fairness copy = {0};
    begin(1, 0);
    use(1, 2, 100);
    use(2, 1, 100);
    const double one = factor(1);
    for (int i = 0; i < 2; i++) /* into an empty one, and again */
        assert_int_equal(adl_fairness_copy(&copy, &fair), 0);
    assert_true(adl_fairness_factor(&copy, 1) == one && one < adl_fairness_factor(&copy, 2));
    use(1, 8, 100);
    assert_true(factor(1) < one && adl_fairness_factor(&copy, 1) == one);
    adl_fairness_clear(&copy);
    end();
}

static void shares_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"alice", "alice:", "alice:0", "alice:-1", ":2", "a:1,b", "a:nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct adl_error err = {.text = ""};
        fair = (struct adl_fairness){0};
        assert_int_equal(adl_fairness_read_shares(&fair, wrong[i], &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, "policy adlro: user_shares: "));
    }
}

/* ---- two users, one floods ---- */

#define FLOOD 200
#define OTHER 20

struct load {
    uint32_t next;
    double jct_s[2]; /* sum by user */
};

/* User 0 submits all its jobs at once; user 1 submits one every 10 s. All are alike, 2 GPUs for 10 s. */
static int load_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct load *load = self;
    if (load->next == FLOOD + OTHER)
        return 0;
    const bool floods = load->next < FLOOD;
    ret->spec =
        (struct adl_job_spec){.id = ++load->next, .user = !floods, .gpus = 2, .types = 1, .limit_us = 10 * SECOND};
    ret->submit_us = floods ? 0 : (load->next - FLOOD) * 10 * SECOND;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = 10 * SECOND;
    return 1;
}

static int note_end(void *self, const struct adl_event *event, const struct adl_state *state)
{
    if (event->kind != ADL_EVENT_FINISH)
        return 0;
    const struct adl_job *job = &state->jobs[event->job];
    ((struct load *)self)->jct_s[job->spec.user] += (double)(event->time_us - job->submit_us) * 1e-6;
    return 0;
}

static struct load run(const char *settings)
{
    struct adl_scenario scenario = peer_check_scenario(1, 4);
    struct load load = {0};
    const struct adl_job_source source = {.self = &load, .next = load_next, .close = peer_close};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    scenario.policy.settings = settings;
    assert_int_equal(adl_world_sim_create_from(&scenario, source, 1, ADL_REGIME_ORACLE, &world, NULL), 0);
    const struct adl_engine_config config = {.cluster = &scenario.cluster,
                                             .policy = &adl_policy_adlro,
                                             .policy_config = adl_run_policy_config(&scenario),
                                             .seed = 1,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &load, .event = note_end}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, NULL), 0);
    assert_int_equal(adl_engine_run(engine, NULL), 0);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&scenario);
    return load;
}

/* Half of the GPUs serve what user 1 submits: with fair shares its jobs hardly wait. */
static void a_user_beside_one_that_floods_gets_its_share(void **state)
{
    (void)state;
    const struct load without = run("objective=fast"), some = run("objective=fast,fairness:1"),
                      fairly = run("objective=fast,fairness:3");
    assert_true(some.jct_s[1] < 0.2 * without.jct_s[1]);
    assert_true(fairly.jct_s[1] < 3 * 10 * OTHER && without.jct_s[1] > 50 * 10 * OTHER);
    assert_true(fairly.jct_s[0] < 1.2 * without.jct_s[0]); /* and the flood is served as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_at_the_share_halves_the_rank_and_no_usage_keeps_it),
        cmocka_unit_test(a_user_with_a_larger_share_may_use_more),
        cmocka_unit_test(usage_counts_half_after_the_half_life),
        cmocka_unit_test(without_weight_or_with_one_user_nothing_changes),
        cmocka_unit_test(a_copy_has_the_same_factors_and_usage_of_its_own),
        cmocka_unit_test(shares_that_are_none_are_refused),
        cmocka_unit_test(a_user_beside_one_that_floods_gets_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
