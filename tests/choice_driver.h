/* choice_driver: a policy that starts one of the offered choices at random and shows a test every list of them first.
 */
#ifndef ADLRO_TESTS_CHOICE_DRIVER_H
#define ADLRO_TESTS_CHOICE_DRIVER_H

#include "base/rng.h"
#include "experiment/run.h"
#include "policy/dqn/actions.h"
#include "policy/policy.h"
#include "random_scenario.h"

#include <string.h>

struct driver {
    struct adl_choices *choices;
    struct adl_rng rng;
};

static bool driver_takes_first; /* not any choice but the first */

/* Policies have no argument of their own: what looks on in the run that is under way. chosen: the place in the list of
 * what will be started next; choices may be empty. */
static void (*driver_visit)(const struct adl_state *state, const struct adl_choices *choices, uint32_t chosen);

static inline int driver_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                                uint64_t seed, void **ret_policy, struct adl_error *err)
{
    (void)err;
    struct driver *driver = calloc(1, sizeof *driver);
    assert_non_null(driver);
    assert_int_equal(adl_choices_create(cluster, config, &driver->choices), 0);
    adl_rng_seed(&driver->rng, seed, "driver");
    *ret_policy = driver;
    return 0;
}

static inline void driver_destroy(void *policy)
{
    struct driver *driver = policy;
    if (driver)
        adl_choices_destroy(driver->choices);
    free(driver);
}

static inline int driver_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct driver *driver = policy;
    const struct adl_choices *choices = driver->choices;
    adl_choices_find(driver->choices, state);
    const uint32_t chosen = choices->count && !driver_takes_first ? adl_rng_below(&driver->rng, choices->count) : 0;
    if (driver_visit)
        driver_visit(state, choices, chosen);
    if (choices->count == 0)
        return 0;
    const struct adl_choice *choice = &choices->list[chosen];
    return adl_choices_carry_out(driver->choices, state, choice, &choices->gpus[choice->gpu_offset], plan);
}

static const struct adl_policy_ops driver_policy = {.name = "driver",
                                                    .summary = "starts any of the choices",
                                                    .track_running = true,
                                                    .create = driver_create,
                                                    .destroy = driver_destroy,
                                                    .decide = driver_decide};

/* A whole run of a scenario, in which nothing may be refused or left over. */
static inline struct adl_result driver_run(const struct adl_scenario *scenario, uint64_t seed,
                                           const struct adl_tap *tap)
{
    const struct adl_run run = {.scenario = scenario, .policy = &driver_policy, .seed = seed, .tap = tap};
    struct adl_result result;
    struct adl_error err = {.text = ""};
    if (adl_run(&run, &result, &err))
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    assert_int_equal(result.refused, 0);
    assert_int_equal(result.unfinished, 0);
    assert_int_equal(result.jobs, scenario->workload.jobs);
    return result;
}

#endif
