/* Tests of decide/: each policy on states made by hand and in small worlds, and the guard.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/policy.h"
#include "state_fixture.h"
#include "toy_world.h"

static const struct adl_policy_config plain_config;

/* ---- decisions on one state ---- */

struct shared {
    struct adl_cluster cluster;
    struct adl_state *state;
    struct adl_plan plan;
    const struct adl_policy_ops *ops;
    void *policy;
};

static struct shared desk_open(const struct adl_policy_ops *ops, struct adl_cluster cluster,
                               const struct adl_policy_config *config)
{
    static struct adl_cluster kept;
    struct shared shared = {.cluster = cluster, .ops = ops};
    kept = cluster; /* states point to their cluster; one service state is open at a time */
    shared.state = fixture_state(&kept);
    assert_int_equal(adl_plan_create(&shared.plan, cluster.gpu_count), 0);
    struct adl_policy_config own = *config;
    assert_int_equal(adl_policy_create(ops, &own, &kept, 1, &shared.policy, NULL), 0);
    return shared;
}

static void desk_close(struct shared *shared)
{
    shared->ops->destroy(shared->policy);
    adl_plan_clear(&shared->plan);
    adl_state_destroy(shared->state);
    adl_cluster_clear(&shared->cluster);
}

static void desk_submit(struct shared *shared, uint32_t slot, const struct adl_job_spec *spec,
                        const int64_t *runtime_us)
{
    assert_int_equal(adl_state_admit(shared->state, slot, spec, runtime_us), 0);
    const int64_t rank =
        shared->ops->rank ? shared->ops->rank(shared->policy, shared->state, slot) : shared->state->now_us;
    assert_int_equal(adl_state_enqueue(shared->state, slot, rank), 0);
}

static void desk_submit_plain(struct shared *shared, uint32_t slot, uint16_t gpus, int64_t run_us, int flags)
{
    struct adl_job_spec spec = fixture_spec(slot, gpus);
    spec.flags = (uint8_t)flags;
    desk_submit(shared, slot, &spec, (int64_t[]){run_us, run_us, run_us, run_us});
}

static const struct adl_plan *desk_ask(struct shared *shared)
{
    adl_plan_reset(&shared->plan);
    assert_int_equal(shared->ops->decide(shared->policy, shared->state, &shared->plan), 0);
    return &shared->plan;
}

/* Carries out what is proposed until nothing is: the slots started, in order, end with ADL_NONE. */
static void desk_settle(struct shared *shared, uint32_t *ret_started)
{
    uint32_t count = 0;
    while (desk_ask(shared)->command_count > 0)
        for (uint32_t i = 0; i < shared->plan.command_count; i++) {
            const struct adl_command *command = &shared->plan.commands[i];
            assert_int_equal(command->kind, ADL_COMMAND_START);
            adl_state_start(shared->state, command->job, &shared->plan.gpus[command->gpu_offset]);
            ret_started[count++] = command->job;
        }
    ret_started[count] = ADL_NONE;
}

#define assert_started(list, ...)                                                                                      \
    do {                                                                                                               \
        const uint32_t expected_[] = {__VA_ARGS__, ADL_NONE};                                                          \
        for (size_t i_ = 0; i_ < sizeof expected_ / sizeof *expected_; i_++)                                           \
            assert_int_equal((list)[i_], expected_[i_]);                                                               \
    } while (0)

static void fcfs_lets_the_head_block_all_behind_it(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_fcfs, fixture_plain(4), &plain_config);
    desk_submit_plain(&shared, 0, 3, 100, 0);
    desk_submit_plain(&shared, 1, 2, 1, 0);
    desk_submit_plain(&shared, 2, 1, 1, 0);
    desk_settle(&shared, started);
    assert_started(started, 0);
    adl_state_finish(shared.state, 0);
    desk_settle(&shared, started);
    assert_started(started, 1, 2);
    desk_close(&shared);
}

static void fcfs_notices_that_the_head_it_found_blocked_was_cancelled(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_fcfs, fixture_plain(2), &plain_config);
    desk_submit_plain(&shared, 0, 1, 100, 0);
    desk_submit_plain(&shared, 1, 2, 1, 0);
    desk_submit_plain(&shared, 2, 1, 1, 0);
    desk_settle(&shared, started);
    assert_started(started, 0);
    adl_state_finish(shared.state, 1);
    desk_submit_plain(&shared, 1, 2, 1, 0); /* the slot is used again, behind slot 2 */
    desk_settle(&shared, started);
    assert_started(started, 2);
    desk_close(&shared);
}

static void static_lines_of_other_kinds_do_not_block_each_other(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 4);
    for (uint32_t t = 0; t < 4; t++)
        fixture_node(&cluster, t, 1);
    const struct adl_policy_config config = {
        .settings = "affinity=training:type-0,inference:type-1,simulation:type-2,data:type-3"};
    struct shared shared = desk_open(&adl_policy_static, cluster, &config);
    for (uint32_t slot = 0; slot < 8; slot++) {
        struct adl_job_spec spec = fixture_spec(slot, 1);
        spec.kind = slot < 4 ? ADL_KIND_TRAINING : slot % 4;
        spec.class_index = (uint16_t)slot;
        desk_submit(&shared, slot, &spec, (int64_t[]){10, 10, 10, 10});
    }
    desk_settle(&shared, started);
    assert_started(started, 0, 5, 6, 7);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(shared.state->jobs[started[i]].type, shared.state->jobs[started[i]].spec.kind);
    adl_state_finish(shared.state, 0);
    desk_settle(&shared, started);
    assert_started(started, 1);
    desk_close(&shared);
}

static void static_first_comes_first_within_a_kind_even_if_a_later_job_would_fit(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_static, fixture_plain(4), &plain_config);
    desk_submit_plain(&shared, 0, 3, 10, 0);
    desk_submit_plain(&shared, 1, 2, 10, 0);
    desk_submit_plain(&shared, 2, 1, 10, 0);
    desk_settle(&shared, started);
    assert_started(started, 0);
    desk_close(&shared);
}

static void sjf_starts_the_shortest_first_and_on_its_fastest_type(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct adl_cluster cluster = {0};
    fixture_types(&cluster, 2);
    fixture_node(&cluster, 0, 2);
    fixture_node(&cluster, 1, 2);
    struct shared shared = desk_open(&adl_policy_sjf, cluster, &plain_config);
    const struct adl_job_spec one = fixture_spec(1, 1);
    desk_submit(&shared, 0, &one, (int64_t[]){50, 90});
    desk_submit(&shared, 1, &one, (int64_t[]){40, 20});
    desk_submit(&shared, 2, &one, (int64_t[]){30, 60});
    desk_submit(&shared, 3, &one, (int64_t[]){45, 35});
    desk_submit(&shared, 4, &one, (int64_t[]){200, 45});
    desk_settle(&shared, started);
    assert_started(started, 1, 2, 3, 4);
    assert_int_equal(shared.state->jobs[1].type, 1);
    assert_int_equal(shared.state->jobs[2].type, 0);
    assert_int_equal(shared.state->jobs[3].type, 1);
    assert_int_equal(shared.state->jobs[4].type, 0); /* its own type is full */
    desk_close(&shared);
}

static void sjf_strict_lets_the_shortest_block_even_if_a_longer_one_would_fit(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_sjf_strict, fixture_plain(2), &plain_config);
    desk_submit_plain(&shared, 0, 1, 100, 0);
    desk_settle(&shared, started);
    desk_submit_plain(&shared, 1, 1, 50, 0);
    desk_submit_plain(&shared, 2, 2, 10, 0);
    desk_settle(&shared, started);
    assert_int_equal(started[0], ADL_NONE);
    desk_close(&shared);
}

static void sharing_is_used_where_no_gpu_is_free_and_only_if_it_is_on(void **state)
{
    (void)state;
    for (int share = 0; share < 2; share++) {
        uint32_t started[16] = {0};
        struct adl_policy_config config = plain_config;
        config.settings = share ? "share=true" : NULL;
        struct shared shared = desk_open(&adl_policy_fcfs, fixture_plain(2), &config);
        for (uint32_t slot = 0; slot < 3; slot++)
            desk_submit_plain(&shared, slot, 1, 100, ADL_JOB_SHARE);
        desk_settle(&shared, started);
        assert_int_equal(started[1], 1);
        assert_int_equal(shared.state->jobs[1].first_gpu, 1);
        assert_int_equal(started[2], share ? 2 : ADL_NONE);
        desk_close(&shared);
    }
}

/* Two GPUs: slots 0 and 1 run preemptible jobs that would end at 1000 and 900. */
static struct shared srtf_desk(int64_t cost_us, int flags)
{
    uint32_t started[16] = {0};
    struct adl_policy_config config = plain_config;
    config.preemption_us = cost_us;
    config.settings = "stop_margin=3";
    struct shared shared = desk_open(&adl_policy_srtf_strict, fixture_plain(2), &config);
    desk_submit_plain(&shared, 0, 1, 1000, flags);
    desk_submit_plain(&shared, 1, 1, 900, flags);
    desk_settle(&shared, started);
    return shared;
}

static void srtf_stops_the_job_with_the_most_left_for_a_shorter_one(void **state)
{
    (void)state;
    struct shared shared = srtf_desk(0, ADL_JOB_PREEMPTIBLE);
    desk_submit_plain(&shared, 2, 1, 100, 0);
    const struct adl_plan *plan = desk_ask(&shared);
    assert_int_equal(plan->command_count, 1);
    assert_int_equal(plan->commands[0].kind, ADL_COMMAND_PREEMPT);
    assert_int_equal(plan->commands[0].job, 0);
    desk_close(&shared);
}

static void srtf_stops_nothing_more_while_what_it_needs_is_stopping(void **state)
{
    (void)state;
    struct shared shared = srtf_desk(0, ADL_JOB_PREEMPTIBLE);
    desk_submit_plain(&shared, 2, 1, 100, 0);
    adl_state_stopping(shared.state, desk_ask(&shared)->commands[0].job);
    assert_int_equal(desk_ask(&shared)->command_count, 0);
    adl_state_evict(shared.state, 0, 0.5);
    assert_int_equal(adl_state_enqueue(shared.state, 0, shared.ops->rank(shared.policy, shared.state, 0)), 0);
    assert_int_equal(desk_ask(&shared)->commands[0].kind, ADL_COMMAND_START);
    assert_int_equal(shared.plan.commands[0].job, 2);
    desk_close(&shared);
}

static void srtf_stops_several_for_a_gang_and_no_more_than_it_needs(void **state)
{
    (void)state;
    struct shared shared = srtf_desk(0, ADL_JOB_PREEMPTIBLE);
    desk_submit_plain(&shared, 2, 2, 100, 0);
    const struct adl_plan *plan = desk_ask(&shared);
    assert_int_equal(plan->command_count, 2);
    assert_int_equal(plan->commands[0].job, 0);
    assert_int_equal(plan->commands[1].job, 1);
    desk_close(&shared);
}

static void srtf_stops_nothing_where_it_does_not_pay(void **state)
{
    (void)state;
    const struct {
        int64_t cost_us, run_us;
        int flags;
        bool stops;
    } cases[] = {
        {0, 999, ADL_JOB_PREEMPTIBLE, true},
        {0, 1000, ADL_JOB_PREEMPTIBLE, false},
        {100, 699, ADL_JOB_PREEMPTIBLE, true},
        {100, 700, ADL_JOB_PREEMPTIBLE, false},
        {100, 1, 0, false},
        {0, 1, ADL_JOB_SHARE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shared shared = srtf_desk(cases[i].cost_us, cases[i].flags);
        desk_submit_plain(&shared, 2, 1, cases[i].run_us, 0);
        assert_int_equal(desk_ask(&shared)->command_count, cases[i].stops ? 1 : 0);
        desk_close(&shared);
    }
}

static void srtf_stops_nothing_for_a_gang_that_it_could_not_make_room_for(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_srtf_strict, fixture_plain(2), &plain_config);
    desk_submit_plain(&shared, 0, 1, 1000, ADL_JOB_PREEMPTIBLE);
    desk_submit_plain(&shared, 1, 1, 900, 0);
    desk_settle(&shared, started);
    desk_submit_plain(&shared, 2, 2, 100, 0);
    assert_int_equal(desk_ask(&shared)->command_count, 0);
    desk_close(&shared);
}

/* The head needs both GPUs, which are free at 100: what ends by then may overtake it, what does not may not.
 */
static void easy_lets_overtake_only_what_does_not_delay_the_head(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_easy, fixture_plain(2), &plain_config);
    desk_submit_plain(&shared, 0, 1, 100, 0);
    desk_settle(&shared, started);
    desk_submit_plain(&shared, 1, 2, 10, 0);
    desk_submit_plain(&shared, 2, 1, 101, 0);
    desk_submit_plain(&shared, 3, 1, 100, 0);
    desk_submit_plain(&shared, 4, 1, 1, 0);
    desk_settle(&shared, started);
    assert_started(started, 3);
    desk_close(&shared);
}

static void a_longer_job_may_overtake_on_gpus_that_the_head_spares(void **state)
{
    (void)state;
    uint32_t started[16] = {0};
    struct shared shared = desk_open(&adl_policy_easy, fixture_plain(4), &plain_config);
    desk_submit_plain(&shared, 0, 3, 100, 0);
    desk_settle(&shared, started);
    desk_submit_plain(&shared, 1, 3, 10, 0);
    desk_submit_plain(&shared, 2, 1, 5000, 0);
    desk_settle(&shared, started);
    assert_started(started, 2);
    desk_close(&shared);
}

/* Several types, gangs, preemption with and without cost: every run ends, with few preemptions and none
 * refused. */
static void srtf_never_loops(void **state)
{
    (void)state;
    static struct toy_world world;
    struct adl_rng rng;
    uint64_t evictions = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        adl_rng_seed(&rng, seed, "srtf");
        struct adl_cluster cluster = {0};
        struct adl_policy_config config = plain_config;
        struct adl_engine_counts counts;
        fixture_types(&cluster, fixture_between(&rng, 1, TOY_TYPES_MAX));
        for (uint32_t n = 0; n < 4; n++)
            fixture_node(&cluster, adl_rng_below(&rng, cluster.type_count), fixture_between(&rng, 2, 4));
        world = (struct toy_world){.cluster = &cluster, .checkpoint_us = adl_rng_below(&rng, 3)};
        config.preemption_us = adl_rng_below(&rng, 2) ? 0 : 5;
        config.settings = adl_rng_below(&rng, 2) ? "share=true" : NULL;
        toy_random_jobs(&world, &rng, 2);
        for (uint32_t i = 0; i < world.count; i++)
            world.jobs[i].spec.flags = (uint8_t)((adl_rng_below(&rng, 4) ? ADL_JOB_PREEMPTIBLE : 0) |
                                                 (adl_rng_below(&rng, 4) ? 0 : ADL_JOB_SHARE));
        toy_run(&world, &adl_policy_srtf_strict, &config, &counts);
        if (counts.refused)
            fail_msg("seed %llu: %s", (unsigned long long)seed, counts.last_refusal.text);
        uint64_t here = 0;
        for (uint32_t i = 0; i < world.count; i++)
            here += world.jobs[i].evictions;
        assert_true(here <= (uint64_t)4 * world.count);
        evictions += here;
        adl_cluster_clear(&cluster);
    }
    assert_true(evictions > 150);
}

static void every_policy_finishes_every_job_with_nothing_refused(void **state)
{
    (void)state;
    static struct toy_world world;
    struct adl_rng rng;
    struct adl_policy_config config = {.settings = "backfill_depth=3"};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        adl_rng_seed(&rng, seed, "every policy");
        struct adl_cluster cluster = {0};
        fixture_types(&cluster, 2);
        for (uint32_t n = 0; n < 3; n++)
            fixture_node_of(&cluster, (struct adl_bank_spec[]){{n % 2, 4}, {1 - n % 2, 2}}, 1 + n % 2, 16, 100);
        world = (struct toy_world){.cluster = &cluster};
        toy_random_jobs(&world, &rng, 4);
        for (uint32_t i = 0; i < world.count; i++) {
            struct adl_job_spec *spec = &world.jobs[i].spec;
            spec->flags = (uint8_t)adl_rng_below(&rng, 8);
            spec->kind = (uint8_t)adl_rng_below(&rng, ADL_KIND_COUNT);
            spec->cpu_cores = (int32_t)adl_rng_below(&rng, 4);
            spec->memory_mib = (int32_t)adl_rng_below(&rng, 25);
            spec->gpu_memory_mib = (int32_t)adl_rng_below(&rng, FIXTURE_GPU_MIB);
        }
        config.settings = seed % 2 ? "backfill_depth=3\nshare=true" : "backfill_depth=3";
        for (uint32_t p = 0; p < adl_policy_count(); p++) {
            struct adl_engine_counts counts;
            toy_run(&world, adl_policy_at(p), &config, &counts);
            if (counts.refused)
                fail_msg("%s, seed %llu: %s", adl_policy_at(p)->name, (unsigned long long)seed,
                         counts.last_refusal.text);
        }
        adl_cluster_clear(&cluster);
    }
}

/* ---- the registry and the guard ---- */

static void every_policy_is_found_by_its_own_name(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < adl_policy_count(); i++) {
        assert_ptr_equal(adl_policy_find(adl_policy_at(i)->name), adl_policy_at(i));
        assert_true(strlen(adl_policy_at(i)->summary) > 10);
    }
    assert_null(adl_policy_find("guard"));
    assert_null(adl_policy_find("fcf"));
    assert_null(adl_policy_find(""));
}

static int bad_create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                      void **ret_policy, struct adl_error *err)
{
    (void)config, (void)cluster, (void)seed, (void)err;
    *ret_policy = NULL;
    return 0;
}

static void bad_destroy(void *policy)
{
    (void)policy;
}

static int start_on(const struct adl_state *state, struct adl_plan *plan, uint32_t first_gpu)
{
    const uint32_t head = adl_queue_head(&state->queue);
    if (head == ADL_NONE)
        return 0;
    const uint32_t count = state->jobs[head].spec.gpus;
    uint32_t *gpus = adl_plan_gpus(plan, count);
    for (uint32_t i = 0; i < count; i++)
        gpus[i] = first_gpu + i;
    return adl_plan_start(plan, head, count);
}

/* Always GPU 0 and those after it, busy or not. */
static int bad_busy(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    return start_on(state, plan, 0);
}

static int bad_absent(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    return start_on(state, plan, state->cluster->gpu_count);
}

static int bad_status(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy, (void)state, (void)plan;
    return ADL_EINVAL;
}

static int bad_past(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    return adl_plan_wake(plan, state->now_us);
}

/* A good start, and the same once more in the same plan. */
static int bad_twice(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    if (state->busy_gpus > 0)
        return 0;
    const int status = start_on(state, plan, 0);
    return status ? status : start_on(state, plan, 0);
}

/* Starts what waits and stops what runs, without end. */
static int bad_restless(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    (void)policy;
    if (state->running_jobs == 0)
        return start_on(state, plan, 0);
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING)
            return adl_plan_preempt(plan, slot);
    return 0;
}

static void the_guard_takes_over_when_a_policy_proposes_nonsense(void **state)
{
    (void)state;
    static struct toy_world world;
    static const struct {
        int (*decide)(void *, const struct adl_state *, struct adl_plan *);
        const char *text; /* the last refusal starts with it; NULL = it has none */
    } bad[] = {
        {bad_busy, "GPU 0 is busy"},
        {bad_absent, "GPU 4 does not exist"},
        {bad_status, ""},
        {bad_past, "a wake-up must lie in the future"},
        {bad_twice, NULL},
        {bad_restless, NULL},
    };
    struct adl_cluster cluster = fixture_plain(4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct adl_policy_ops ops = {.name = "bad",
                                           .summary = "nonsense",
                                           .create = bad_create,
                                           .destroy = bad_destroy,
                                           .decide = bad[i].decide};
        struct adl_engine_counts counts;
        world = (struct toy_world){.cluster = &cluster};
        for (uint32_t j = 0; j < 40; j++)
            toy_add(&world, (int64_t)3 * j, (uint16_t)(1 + j % 4), 10 + j % 7)->spec.flags = ADL_JOB_PREEMPTIBLE;
        toy_run(&world, &ops, &plain_config, &counts);
        assert_true(counts.refused > 0);
        assert_true(counts.commands >= 40);
        if (bad[i].text && strncmp(counts.last_refusal.text, bad[i].text, strlen(bad[i].text)) != 0)
            fail_msg("refused for another reason than '%s': %s", bad[i].text, counts.last_refusal.text);
    }
    adl_cluster_clear(&cluster);
}

/* What was right before the refused command in the same plan is done and stays done. */
static void what_comes_before_a_refused_command_is_carried_out(void **state)
{
    (void)state;
    static struct toy_world world;
    struct adl_cluster cluster = fixture_plain(4);
    const struct adl_policy_ops ops = {
        .name = "bad", .summary = "nonsense", .create = bad_create, .destroy = bad_destroy, .decide = bad_twice};
    struct adl_engine_counts counts;
    world = (struct toy_world){.cluster = &cluster};
    toy_add(&world, 0, 2, 10);
    toy_run(&world, &ops, &plain_config, &counts);
    assert_int_equal(counts.refused, 1);
    assert_int_equal(counts.commands, 1);
    assert_string_equal(counts.last_refusal.text, "job slot 0 is not pending");
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fcfs_lets_the_head_block_all_behind_it),
        cmocka_unit_test(fcfs_notices_that_the_head_it_found_blocked_was_cancelled),
        cmocka_unit_test(static_lines_of_other_kinds_do_not_block_each_other),
        cmocka_unit_test(static_first_comes_first_within_a_kind_even_if_a_later_job_would_fit),
        cmocka_unit_test(sjf_starts_the_shortest_first_and_on_its_fastest_type),
        cmocka_unit_test(sjf_strict_lets_the_shortest_block_even_if_a_longer_one_would_fit),
        cmocka_unit_test(sharing_is_used_where_no_gpu_is_free_and_only_if_it_is_on),
        cmocka_unit_test(srtf_stops_the_job_with_the_most_left_for_a_shorter_one),
        cmocka_unit_test(srtf_stops_nothing_more_while_what_it_needs_is_stopping),
        cmocka_unit_test(srtf_stops_several_for_a_gang_and_no_more_than_it_needs),
        cmocka_unit_test(srtf_stops_nothing_where_it_does_not_pay),
        cmocka_unit_test(srtf_stops_nothing_for_a_gang_that_it_could_not_make_room_for),
        cmocka_unit_test(easy_lets_overtake_only_what_does_not_delay_the_head),
        cmocka_unit_test(a_longer_job_may_overtake_on_gpus_that_the_head_spares),
        cmocka_unit_test(srtf_never_loops),
        cmocka_unit_test(every_policy_finishes_every_job_with_nothing_refused),
        cmocka_unit_test(every_policy_is_found_by_its_own_name),
        cmocka_unit_test(the_guard_takes_over_when_a_policy_proposes_nonsense),
        cmocka_unit_test(what_comes_before_a_refused_command_is_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
