/* A copy of an engine and of its world decides as the original does, to the bit, for every policy, at any instant, and
 * whatever the copy did before. */
#include "random_scenario.h"

#include "experiment/run.h"
#include "sim/world_sim.h"

#define WORLDS 3
#define JOBS   40
#define CUTS   3

struct twin {
    struct adl_world_sim *world;
    struct adl_engine *engine;
};

static struct twin start(const struct adl_scenario *s, const struct adl_policy_ops *policy, int regime, uint64_t seed)
{
    struct adl_error err = {.text = ""};
    struct twin ret = {0};
    if (adl_world_sim_create(s, seed, regime, &ret.world, &err))
        fail_msg("%s", err.text);
    const struct adl_engine_config config = {.cluster = &s->cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(s),
                                             .seed = seed,
                                             .learned = regime == ADL_REGIME_LEARNED,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = ret.world};
    if (adl_engine_create(&config, &ret.engine, &err))
        fail_msg("%s", err.text);
    return ret;
}

static void end(struct twin twin)
{
    adl_engine_destroy(twin.engine);
    adl_world_sim_destroy(twin.world);
}

/* False at the end of the world. */
static bool step(struct twin twin)
{
    struct adl_error err = {.text = ""};
    const int status = adl_engine_step(twin.engine, &err);
    if (status < 0)
        fail_msg("%s", err.text);
    return status > 0;
}

static void copy(struct twin to, struct twin from)
{
    struct adl_error err = {.text = ""};
    if (adl_engine_copy(to.engine, from.engine, &err) || adl_world_sim_copy(to.world, from.world, &err))
        fail_msg("%s", err.text);
}

static void compare(const char *what, struct twin a, struct twin b)
{
    const struct adl_engine_counts *x = adl_engine_counts(a.engine), *y = adl_engine_counts(b.engine);
    if (x->plan_hash != y->plan_hash || x->events != y->events || x->decisions != y->decisions ||
        x->refused != y->refused)
        fail_msg("%s differs after %llu and %llu events: plans %llx and %llx", what, (unsigned long long)x->events,
                 (unsigned long long)y->events, (unsigned long long)x->plan_hash, (unsigned long long)y->plan_hash);
}

/* The copy is made at several instants, each time over one that has played on by itself or belonged to another seed. */
static void check(const struct adl_policy_ops *policy, int regime, uint64_t seed)
{
    char label[200];
    struct adl_scenario s = random_scenario(seed, JOBS);
    const struct twin whole = start(&s, policy, regime, seed), original = start(&s, policy, regime, seed);
    const struct twin clone = start(&s, policy, regime, seed + 1);
    snprintf(label, sizeof label, "a copy of %s, regime %s, world %d,", policy->name, adl_regime_name(regime),
             (int)seed);
    for (int i = 0; i < 30; i++)
        step(clone);
    for (int cut = 0; cut < CUTS; cut++) {
        for (uint64_t i = 0; i < 5 + seed * 7 + 20 * (uint64_t)cut && step(original); i++)
            assert_true(step(whole));
        copy(clone, original);
        for (int i = 0; i < 25; i++) { /* it plays on; the original does not notice */
            step(clone);
        }
        copy(clone, original);
        for (int i = 0; i < 15 && step(original); i++) {
            assert_true(step(clone) && step(whole));
            compare(label, clone, original);
        }
    }
    while (step(original))
        assert_true(step(clone) && step(whole));
    assert_false(step(clone) || step(whole));
    compare(label, clone, original);
    compare("a run that was copied", whole, original);
    end(clone);
    end(original);
    end(whole);
    adl_scenario_clear(&s);
}

static void a_copy_of_any_policy_decides_as_the_original(void **unused)
{
    (void)unused;
    static const int regimes[] = {ADL_REGIME_DECLARED, ADL_REGIME_LEARNED, ADL_REGIME_ORACLE};
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (uint64_t w = 0; w < WORLDS; w++)
            check(adl_policy_at(p), regimes[(w + p) % 3], w);
}

static void a_policy_without_copy_is_refused_with_its_name(void **unused)
{
    (void)unused;
    struct adl_policy_ops fixed = adl_policy_fcfs;
    struct adl_error err = {.text = ""};
    struct adl_scenario s = random_scenario(1, JOBS);
    fixed.name = "fixed";
    fixed.copy = NULL;
    const struct twin a = start(&s, &fixed, ADL_REGIME_DECLARED, 1), b = start(&s, &fixed, ADL_REGIME_DECLARED, 1);
    assert_int_equal(adl_engine_copy(a.engine, b.engine, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "policy fixed cannot be copied"));
    end(a);
    end(b);
    adl_scenario_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_any_policy_decides_as_the_original),
        cmocka_unit_test(a_policy_without_copy_is_refused_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
