/* GPUs that go down while jobs are on them, as when an administrator drains them: jobs run on, nothing new begins
 * there, and all is as before once they are up again. Under every policy, in small random worlds. */
#include "random_scenario.h"

#include "engine/engine.h"
#include "experiment/run.h"
#include "sim/world_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A simulated world whose GPUs are drained and resumed between its events. */
struct draining_world {
    struct adl_world_sim *sim;
    const struct adl_cluster *cluster;
    struct adl_rng rng;
    struct adl_event next; /* what the simulator said, while a drain goes before it */
    bool has_next, more_before;
    bool down[256];
    uint32_t busy_drains, starts_on_down;
    const struct adl_engine *engine;
};

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct draining_world *world = self;
    if (!world->has_next) {
        const int status = adl_world_sim_ops.next_event(world->sim, &world->next, err);
        if (status <= 0)
            return status;
    }
    const uint32_t gpu = (uint32_t)adl_rng_below(&world->rng, world->cluster->gpu_count);
    /* At the instant of the event that follows, and before the decision about it. */
    if (!world->has_next && !world->more_before && adl_rng_below(&world->rng, 3) == 0) {
        world->down[gpu] = !world->down[gpu];
        world->busy_drains += world->down[gpu] && adl_engine_state(world->engine)->gpus[gpu].job[0] != ADL_NONE;
        *ret = (struct adl_event){.time_us = world->next.time_us,
                                  .kind = world->down[gpu] ? ADL_EVENT_GPU_DOWN : ADL_EVENT_GPU_UP,
                                  .more = true,
                                  .job = ADL_NONE,
                                  .gpu = gpu};
        world->has_next = true;
        return 1;
    }
    *ret = world->next;
    world->has_next = false;
    world->more_before = ret->more;
    return 1;
}

static int submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct draining_world *world = self;
    for (uint32_t i = 0; command->kind == ADL_COMMAND_START && i < command->gpu_count; i++)
        world->starts_on_down += world->down[gpus[i]];
    return adl_world_sim_ops.submit(world->sim, command, gpus, err);
}

static const struct adl_world_ops draining_ops = {.name = "draining", .next_event = next_event, .submit = submit};

/* What the state keeps must be what one counts. */
static void check_counts(const struct adl_state *state)
{
    uint32_t busy = 0, down = 0, free_gpus = 0, pool = 0;
    for (uint32_t g = 0; g < state->cluster->gpu_count; g++) {
        const struct adl_gpu_use *use = &state->gpus[g];
        busy += use->job[0] != ADL_NONE;
        down += use->down && use->job[0] == ADL_NONE;
        free_gpus += !use->down && use->job[0] == ADL_NONE;
        const bool half = use->job[0] != ADL_NONE && use->job[1] == ADL_NONE && !use->down &&
                          (state->jobs[use->job[0]].spec.flags & ADL_JOB_SHARE);
        assert_int_equal(adl_bitmap_next(&state->pool.half[adl_gpu_type_of(state->cluster, g)], g) == g, half);
    }
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        pool += state->pool.free_gpus[t];
    assert_int_equal(state->busy_gpus, busy);
    assert_int_equal(state->down_gpus, down);
    assert_int_equal(pool, free_gpus);
}

static uint32_t play(const struct adl_scenario *scenario, const struct adl_policy_ops *policy, uint64_t seed)
{
    struct adl_error err = {""};
    struct draining_world world = {.cluster = &scenario->cluster};
    adl_rng_seed(&world.rng, seed, "drains");
    assert_int_equal(adl_world_sim_create(scenario, seed, ADL_REGIME_DECLARED, &world.sim, &err), 0);
    struct adl_engine *engine = NULL;
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = seed,
                                             .world_ops = &draining_ops,
                                             .world = &world};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    world.engine = engine;
    int status;
    while ((status = adl_engine_step(engine, &err)) > 0)
        check_counts(adl_engine_state(engine));
    if (status < 0)
        fail_msg("%s, seed %llu: %s", policy->name, (unsigned long long)seed, err.text);
    assert_int_equal(world.starts_on_down, 0);
    const struct adl_engine_counts *counts = adl_engine_counts(engine);
    if (counts->refused > 0)
        fail_msg("%s, seed %llu: refused %llu: %s", policy->name, (unsigned long long)seed,
                 (unsigned long long)counts->refused, counts->last_refusal.text);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world.sim);
    return world.busy_drains;
}

static void jobs_on_a_drained_gpu_run_on_and_nothing_starts_there(void **state)
{
    (void)state;
    uint32_t drains = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct adl_scenario scenario = random_scenario(seed, 60);
        scenario.faults = (struct adl_faults){0};
        for (uint32_t i = 0; i < adl_policy_count(); i++)
            drains += play(&scenario, adl_policy_at(i), seed);
        adl_scenario_clear(&scenario);
    }
    assert_true(drains > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_on_a_drained_gpu_run_on_and_nothing_starts_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
