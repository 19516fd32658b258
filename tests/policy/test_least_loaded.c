/* Tests of the policy least-loaded: where single jobs go, who waits for whom, and the choice against one that looks at
 * every node. */
#include "policy/policy.h"
#include "toy_world.h"

#include <string.h>

/* What is asked for first now: its slot and GPUs; false if nothing. */
static bool ask(const struct adl_state *state, bool share, uint32_t *ret_slot, uint32_t *ret_gpus)
{
    struct adl_policy_config config = {.settings = share ? "share=true" : NULL};
    struct adl_plan plan;
    struct adl_error err;
    void *policy = NULL;
    assert_int_equal(adl_policy_create(&adl_policy_least_loaded, &config, state->cluster, 1, &policy, &err), 0);
    assert_int_equal(adl_plan_create(&plan, state->cluster->gpu_count), 0);
    assert_int_equal(adl_policy_least_loaded.decide(policy, state, &plan), 0);
    const bool asked = plan.command_count > 0;
    if (asked) {
        *ret_slot = plan.commands[0].job;
        memcpy(ret_gpus, &plan.gpus[plan.commands[0].gpu_offset], plan.commands[0].gpu_count * sizeof *ret_gpus);
    }
    adl_plan_clear(&plan);
    adl_policy_least_loaded.destroy(policy);
    return asked;
}

static void assert_node(const struct adl_state *state, uint32_t slot, uint32_t node)
{
    uint32_t asked, gpus[64];
    assert_true(ask(state, false, &asked, gpus));
    assert_int_equal(asked, slot);
    assert_int_equal(adl_gpu_node_of(state->cluster, gpus[0]), node);
}

static void close_state(struct adl_state *state, struct adl_cluster *cluster)
{
    adl_state_destroy(state);
    adl_cluster_clear(cluster);
}

static void a_job_goes_to_the_node_with_the_largest_share_free(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 8); /* 5 of 8 free */
    fixture_node(&cluster, 0, 4); /* 3 of 4 */
    fixture_node(&cluster, 0, 8); /* 4 of 8 */
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec three = fixture_spec(0, 3), one = fixture_spec(1, 1), four = fixture_spec(2, 4);
    fixture_run(state, 0, &three, 1000, 0);
    fixture_run(state, 1, &one, 1000, 8);
    fixture_run(state, 2, &four, 1000, 12);
    fixture_queue(state, 3, &one, 1000, 0);
    assert_node(state, 3, 1);
    adl_state_start(state, 3, (const uint32_t[]){9}); /* 2 of 4: now 5 of 8 is most */
    fixture_queue(state, 4, &one, 1000, 0);
    assert_node(state, 4, 0);
    close_state(state, &cluster);
}

static void of_equal_shares_more_gpus_and_then_the_lower_node_win(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, 4);
    fixture_node(&cluster, 1, 8);
    fixture_node(&cluster, 0, 8);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec eight = fixture_spec(0, 8), one = fixture_spec(1, 1);
    fixture_queue(state, 1, &one, 1000, 0);
    assert_node(state, 1, 1);
    fixture_run(state, 0, &eight, 1000, 4);
    assert_node(state, 1, 2);
    close_state(state, &cluster);
}

static void in_one_node_the_faster_type_is_taken(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    uint32_t slot, gpus[64];
    fixture_types(&cluster, 2);
    fixture_node_of(&cluster, (const struct adl_bank_spec[]){{0, 2}, {1, 2}}, 2, 64, 65536);
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec one = fixture_spec(0, 1);
    assert_int_equal(adl_state_admit(state, 0, &one, (const int64_t[]){20, 10}), 0);
    assert_int_equal(adl_state_enqueue(state, 0, 0), 0);
    assert_true(ask(state, false, &slot, gpus));
    assert_int_equal(gpus[0], 2);
    close_state(state, &cluster);
}

static void a_job_that_does_not_fit_does_not_block_those_behind_it(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(4);
    uint32_t slot, gpus[64];
    struct adl_state *state = fixture_state(&cluster);
    const struct adl_job_spec two = fixture_spec(0, 2), three = fixture_spec(1, 3), one = fixture_spec(2, 1);
    fixture_run(state, 0, &two, 1000, 0);
    fixture_queue(state, 1, &three, 1000, 1);
    fixture_queue(state, 2, &one, 1000, 3);
    fixture_queue(state, 3, &two, 1000, 2);
    assert_true(ask(state, false, &slot, gpus));
    assert_int_equal(slot, 3); /* the first of those that fit */
    adl_state_start(state, 3, gpus);
    assert_false(ask(state, false, &slot, gpus));
    close_state(state, &cluster);
}

static void a_gang_that_may_span_is_spread_where_no_node_holds_it(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = {0};
    uint32_t slot, gpus[64];
    fixture_types(&cluster, 1);
    fixture_node(&cluster, 0, 2);
    fixture_node(&cluster, 0, 2);
    struct adl_state *state = fixture_state(&cluster);
    struct adl_job_spec gang = fixture_spec(0, 3);
    fixture_queue(state, 0, &gang, 1000, 0);
    assert_false(ask(state, false, &slot, gpus));
    gang.flags = ADL_JOB_SPAN;
    fixture_queue(state, 1, &gang, 1000, 0);
    assert_true(ask(state, false, &slot, gpus));
    assert_int_equal(slot, 1);
    close_state(state, &cluster);
}

static void jobs_share_a_gpu_only_where_none_is_free_and_only_if_told(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(2);
    uint32_t slot, gpus[64];
    struct adl_state *state = fixture_state(&cluster);
    struct adl_job_spec one = fixture_spec(0, 1);
    one.flags = ADL_JOB_SHARE;
    fixture_run(state, 0, &one, 1000, 0);
    fixture_queue(state, 1, &one, 1000, 0);
    assert_true(ask(state, true, &slot, gpus));
    assert_int_equal(gpus[0], 1);
    adl_state_start(state, 1, gpus);
    fixture_queue(state, 2, &one, 1000, 0);
    assert_false(ask(state, false, &slot, gpus));
    assert_true(ask(state, true, &slot, gpus));
    assert_int_equal(slot, 2);
    close_state(state, &cluster);
}

/* The node by the rule, looking at all of them; ADL_NONE if the job fits nowhere. */
static uint32_t node_by_rule(const struct adl_state *state, const struct adl_job_spec *spec)
{
    const struct adl_cluster *cluster = state->cluster;
    uint32_t best = ADL_NONE, best_free = 0;
    double best_share = -1;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        uint32_t free_gpus = 0;
        bool holds = false;
        for (uint32_t b = 0; b < cluster->bank_count; b++) {
            uint32_t in_bank = 0;
            for (uint32_t g = 0; g < cluster->gpu_count; g++)
                in_bank += cluster->gpu_bank[g] == b && cluster->banks[b].node == n && !state->gpus[g].down &&
                           state->gpus[g].job[0] == ADL_NONE;
            free_gpus += in_bank;
            holds |= in_bank >= spec->gpus && spec->types >> cluster->banks[b].type & 1;
        }
        holds = holds && state->nodes_use[n].free_cores >= spec->gpus * spec->cpu_cores &&
                state->nodes_use[n].free_memory_mib >= spec->gpus * spec->memory_mib;
        const double share = (double)free_gpus / cluster->nodes[n].gpu_count;
        if (holds && (share > best_share || (share >= best_share && free_gpus > best_free))) {
            best = n;
            best_share = share;
            best_free = free_gpus;
        }
    }
    return best;
}

static void the_choice_is_that_of_the_rule_on_random_clusters(void **unused)
{
    (void)unused;
    struct adl_rng rng;
    uint32_t given = 0, refused = 0;
    adl_rng_seed(&rng, 1, "least loaded");
    for (int round = 0; round < 400; round++) {
        struct adl_cluster cluster = {0};
        fixture_types(&cluster, 3);
        for (uint32_t n = fixture_between(&rng, 1, 6); n > 0; n--) {
            const struct adl_bank_spec banks[] = {{n % 3, round % 2 ? 4 : fixture_between(&rng, 1, 6)},
                                                  {(n + 1) % 3, fixture_between(&rng, 1, 4)}};
            fixture_node_of(&cluster, banks, round % 2 ? 1 : fixture_between(&rng, 1, 2), 12, 16);
        }
        struct adl_state *state = fixture_state(&cluster);
        if (round % 5 == 0)
            adl_state_gpu_down(state, adl_rng_below(&rng, cluster.gpu_count));
        for (uint32_t slot = 0; slot < 12; slot++) {
            uint32_t asked, gpus[64];
            struct adl_job_spec spec = fixture_spec(slot, (uint16_t)fixture_between(&rng, 1, 4));
            spec.types = fixture_between(&rng, 1, 7);
            spec.cpu_cores = (int32_t)adl_rng_below(&rng, 4);
            spec.memory_mib = (int32_t)adl_rng_below(&rng, 4);
            const uint32_t node = node_by_rule(state, &spec);
            fixture_queue(state, slot, &spec, 1000, 0);
            if (node == ADL_NONE) {
                assert_false(ask(state, false, &asked, gpus));
                adl_state_finish(state, slot);
                refused++;
                continue;
            }
            assert_true(ask(state, false, &asked, gpus));
            assert_int_equal(adl_gpu_node_of(&cluster, gpus[0]), node);
            adl_state_start(state, asked, gpus);
            given++;
        }
        close_state(state, &cluster);
    }
    assert_true(given > 1000 && refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_to_the_node_with_the_largest_share_free),
        cmocka_unit_test(of_equal_shares_more_gpus_and_then_the_lower_node_win),
        cmocka_unit_test(in_one_node_the_faster_type_is_taken),
        cmocka_unit_test(a_job_that_does_not_fit_does_not_block_those_behind_it),
        cmocka_unit_test(a_gang_that_may_span_is_spread_where_no_node_holds_it),
        cmocka_unit_test(jobs_share_a_gpu_only_where_none_is_free_and_only_if_told),
        cmocka_unit_test(the_choice_is_that_of_the_rule_on_random_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
