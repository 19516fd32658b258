/* Tests of fragmentation gradient descent: where single jobs go, and the choice against one that looks at every node.
 */
#include "policy/policy.h"
#include "toy_world.h"

#include <stdlib.h>

extern const struct adl_policy_ops adl_policy_fgd;

/* A policy that has seen these submissions, at a state that already is what it is. */
static void *policy_after(const struct adl_state *state, const struct adl_job_spec *specs, uint32_t count)
{
    struct adl_policy_config config = {0};
    struct adl_error err;
    void *policy = NULL;
    assert_int_equal(adl_policy_create(&adl_policy_fgd, &config, state->cluster, 1, &policy, &err), 0);
    for (uint32_t i = 0; i < count; i++) {
        struct adl_event event = {.kind = ADL_EVENT_SUBMIT, .job = i};
        event.submit.spec = &specs[i];
        adl_policy_fgd.observe(policy, &event, state);
    }
    return policy;
}

/* The first GPU that the policy gives to the head of the queue, or ADL_NONE. */
static uint32_t first_gpu_given(void *policy, const struct adl_state *state)
{
    struct adl_plan plan;
    assert_int_equal(adl_plan_create(&plan, state->cluster->gpu_count), 0);
    assert_int_equal(adl_policy_fgd.decide(policy, state, &plan), 0);
    const uint32_t gpu = plan.command_count ? plan.gpus[plan.commands[0].gpu_offset] : ADL_NONE;
    adl_plan_clear(&plan);
    return gpu;
}

static void a_small_job_leaves_the_whole_node_to_large_ones(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 4);
    fixture_node(&cluster, 0, 4);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec specs[] = {fixture_spec(0, 1), fixture_spec(1, 4), fixture_spec(2, 1)};
    void *policy = policy_after(state, specs, 3);
    fixture_run(state, 0, &specs[0], 1000, 4); /* the second node has 3 left */
    fixture_queue(state, 2, &specs[2], 1000, 0);
    assert_int_equal(adl_gpu_node_of(&cluster, first_gpu_given(policy, state)), 1);
    adl_policy_fgd.destroy(policy);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* Best fit would fill the node with two GPUs left. Jobs of two are what mostly comes, so the one with three is better.
 */
static void it_keeps_what_jobs_mostly_ask_for(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 2);
    fixture_node(&cluster, 0, 3);
    struct adl_state *state = fixture_state(&cluster);
    struct adl_job_spec specs[10];
    for (uint16_t i = 0; i < 10; i++)
        specs[i] = fixture_spec(i, i < 9 ? 2 : 1);
    void *policy = policy_after(state, specs, 10);
    fixture_queue(state, 9, &specs[9], 1000, 0);
    assert_int_equal(adl_gpu_node_of(&cluster, first_gpu_given(policy, state)), 1);
    adl_policy_fgd.destroy(policy);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* GPUs whose node has no cores left for what mostly comes are lost to it anyway. */
static void a_job_without_cores_goes_where_cores_are_missing(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node_of(&cluster, &(struct adl_bank_spec){0, 4}, 1, 64, 1000);
    fixture_node_of(&cluster, &(struct adl_bank_spec){0, 4}, 1, 2, 1000);
    struct adl_state *state = fixture_state(&cluster);
    struct adl_job_spec specs[] = {fixture_spec(0, 1), fixture_spec(1, 1), fixture_spec(2, 1)};
    specs[0].cpu_cores = specs[1].cpu_cores = 4;
    void *policy = policy_after(state, specs, 3);
    fixture_queue(state, 2, &specs[2], 1000, 0);
    assert_int_equal(adl_gpu_node_of(&cluster, first_gpu_given(policy, state)), 1);
    adl_policy_fgd.destroy(policy);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

/* F_n(m) of one node with one bank, as the paper has it, for jobs that may not span. */
static double idle_lost(const struct adl_state *state, uint32_t node, const struct adl_job_spec *m,
                        const struct adl_job_spec *placed)
{
    int64_t gpus = adl_pool_bank_free(&state->pool, node), cores = state->nodes_use[node].free_cores;
    if (placed) {
        gpus -= placed->gpus;
        cores -= placed->gpus * placed->cpu_cores;
    }
    return gpus >= m->gpus && cores >= (int64_t)m->gpus * m->cpu_cores ? 0.0 : (double)gpus;
}

static double growth_of(const struct adl_state *state, uint32_t node, const struct adl_job_spec *specs, uint32_t count,
                        const struct adl_job_spec *placed)
{
    double sum = 0, weight = 1.0;
    for (uint32_t i = 0; i < count; i++) {
        weight /= 0.999;
        sum += weight * (idle_lost(state, node, &specs[i], placed) - idle_lost(state, node, &specs[i], NULL));
    }
    return sum;
}

#define MIX_JOBS 40

static void no_node_would_have_grown_less(void **unused)
{
    (void)unused;
    struct adl_rng rng;
    uint32_t placed = 0;
    adl_rng_seed(&rng, 11, "fgd");
    for (int round = 0; round < 500; round++) {
        struct adl_cluster cluster = {0};
        struct adl_job_spec specs[MIX_JOBS];
        fixture_types(&cluster, 1);
        const uint32_t nodes = fixture_between(&rng, 2, 12);
        for (uint32_t n = 0; n < nodes; n++)
            fixture_node_of(&cluster, &(struct adl_bank_spec){0, 4}, 1, (int32_t)fixture_between(&rng, 4, 12), 1000);
        struct adl_state *state = fixture_state(&cluster);
        for (uint32_t i = 0; i < MIX_JOBS; i++) {
            specs[i] = fixture_spec(i, (uint16_t)fixture_between(&rng, 1, 3));
            specs[i].cpu_cores = (int32_t)adl_rng_below(&rng, 3);
        }
        void *policy = policy_after(state, specs, MIX_JOBS);
        for (uint32_t i = 0; i + 1 < MIX_JOBS && i < 2 * nodes; i++) {
            fixture_queue(state, i, &specs[i], 1000, i);
            const uint32_t gpu = first_gpu_given(policy, state);
            if (gpu == ADL_NONE)
                break;
            const uint32_t node = adl_gpu_node_of(&cluster, gpu);
            const double chosen = growth_of(state, node, specs, MIX_JOBS, &specs[i]);
            for (uint32_t n = 0; n < nodes; n++) {
                if (adl_pool_bank_free(&state->pool, n) >= specs[i].gpus &&
                    state->nodes_use[n].free_cores >= specs[i].gpus * specs[i].cpu_cores)
                    assert_true(chosen <= growth_of(state, n, specs, MIX_JOBS, &specs[i]) + 1e-6);
            }
            uint32_t gpus[4], found = 0;
            for (uint32_t g = gpu; found < specs[i].gpus; g++)
                if (state->gpus[g].job[0] == ADL_NONE)
                    gpus[found++] = g;
            adl_state_start(state, i, gpus);
            placed++;
        }
        adl_policy_fgd.destroy(policy);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
    assert_true(placed > 3000);
}

static void every_job_ends_and_nothing_is_refused(void **unused)
{
    (void)unused;
    struct toy_world *world = calloc(1, sizeof *world);
    struct adl_rng rng;
    assert_non_null(world);
    adl_rng_seed(&rng, 12, "fgd");
    for (int round = 0; round < 200; round++) {
        struct adl_cluster cluster = {0};
        fixture_types(&cluster, 2);
        for (uint32_t n = fixture_between(&rng, 1, 4); n > 0; n--)
            fixture_node_of(&cluster, (struct adl_bank_spec[]){{0, 4}, {1, 4}}, 2, 24, 64);
        world->cluster = &cluster;
        toy_random_jobs(world, &rng, 4);
        for (uint32_t i = 0; i < world->count; i++) {
            world->jobs[i].spec.cpu_cores = (int32_t)adl_rng_below(&rng, 4);
            world->jobs[i].spec.flags = adl_rng_below(&rng, 2) ? ADL_JOB_SPAN : 0;
        }
        struct adl_engine_counts counts;
        const struct adl_policy_config config = {.settings = round % 2 ? "first_fit=true" : NULL};
        toy_run(world, &adl_policy_fgd, &config, &counts);
        assert_int_equal(counts.refused, 0);
        adl_cluster_clear(&cluster);
    }
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_job_leaves_the_whole_node_to_large_ones),
        cmocka_unit_test(it_keeps_what_jobs_mostly_ask_for),
        cmocka_unit_test(a_job_without_cores_goes_where_cores_are_missing),
        cmocka_unit_test(no_node_would_have_grown_less),
        cmocka_unit_test(every_job_ends_and_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
