/* Tests of adlro: when a job waits for another type, whom it passes, what it delays, and what it says about it. */
#include "policy/mechanism/reason.h"
#include "policy/policy.h"
#include "state_fixture.h"

#include <string.h>

#define SECOND INT64_C(1000000)

static struct adl_cluster cluster;
static struct adl_state *now;
static struct adl_plan plan;
static void *policy;

static void open_policy(const char *settings)
{
    char all[200]; /* the rule alone */
    snprintf(all, sizeof all, "network=false\n%s", settings ? settings : "");
    struct adl_policy_config config = {.settings = all};
    now = fixture_state(&cluster);
    assert_int_equal(adl_plan_create(&plan, cluster.gpu_count), 0);
    assert_int_equal(adl_policy_create(&adl_policy_adlro, &config, &cluster, 1, &policy, NULL), 0);
}

static void close_policy(void)
{
    adl_policy_adlro.destroy(policy);
    adl_plan_clear(&plan);
    adl_state_destroy(now);
    adl_cluster_clear(&cluster);
}

/* One node of each type, so many GPUs in each. */
static void open_types(uint32_t types, uint32_t gpus, const char *settings)
{
    cluster = (struct adl_cluster){0};
    fixture_types(&cluster, types);
    for (uint32_t t = 0; t < types; t++)
        fixture_node(&cluster, t, gpus);
    open_policy(settings);
}

static void submit_with(uint32_t slot, double submit_s, uint16_t gpus, double run_s, double slow_s, uint8_t flags)
{
    struct adl_job_spec spec = fixture_spec(slot + 1, gpus);
    const int64_t run_us[2] = {(int64_t)(run_s * SECOND), (int64_t)(slow_s * SECOND)};
    spec.flags = (uint8_t)(spec.flags | flags);
    now->now_us = (int64_t)(submit_s * SECOND);
    assert_int_equal(adl_state_admit(now, slot, &spec, run_us), 0);
    assert_int_equal(adl_state_enqueue(now, slot, adl_policy_adlro.rank(policy, now, slot)), 0);
}

static void submit(uint32_t slot, double submit_s, uint16_t gpus, double run_s, double slow_s)
{
    submit_with(slot, submit_s, gpus, run_s, slow_s, 0);
}

/* Decides and carries out what was decided; the number of commands. */
static uint32_t decide_at(double time_s)
{
    now->now_us = (int64_t)(time_s * SECOND);
    adl_plan_reset(&plan);
    assert_int_equal(adl_policy_adlro.decide(policy, now, &plan), 0);
    for (uint32_t i = 0; i < plan.command_count; i++) {
        if (plan.commands[i].kind == ADL_COMMAND_PREEMPT)
            adl_state_stopping(now, plan.commands[i].job);
        else
            adl_state_start(now, plan.commands[i].job, &plan.gpus[plan.commands[i].gpu_offset]);
    }
    return plan.command_count;
}

static void finish(uint32_t slot, double time_s)
{
    const struct adl_event event = {
        .time_us = (int64_t)(time_s * SECOND), .kind = ADL_EVENT_FINISH, .job = slot, .outcome.end = ADL_END_COMPLETED};
    adl_policy_adlro.observe(policy, &event, now);
    now->now_us = event.time_us;
    adl_state_finish(now, slot);
}

static bool runs(uint32_t slot)
{
    return now->jobs[slot].phase == ADL_PHASE_RUNNING;
}

/* The fast GPU is free in 20 s or in 200 s; the job runs 10 s there and 100 s on the slow one. */
static void a_job_waits_for_the_fast_type_exactly_if_it_is_done_earlier_then(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        open_types(2, 1, "");
        submit(0, 0, 1, i ? 200 : 20, 1e6);
        assert_int_equal(decide_at(0), 1);
        submit(1, 0, 1, 10, 100);
        assert_int_equal(decide_at(0), i);
        assert_int_equal(runs(1), i);
        if (i)
            assert_int_equal(now->jobs[1].type, 1);
        close_policy();
    }
}

static void a_job_that_waited_for_a_type_starts_when_it_is_free(void **unused)
{
    (void)unused;
    open_types(2, 1, "");
    submit(0, 0, 1, 20, 1e6);
    decide_at(0);
    submit(1, 0, 1, 10, 100);
    decide_at(0);
    finish(0, 12);
    assert_int_equal(decide_at(12), 1);
    assert_int_equal(now->jobs[1].type, 0);
    close_policy();
}

/* The explanation names the type, when, and what is gained: 20 + 10 s against 100 s. */
static void a_waiting_job_says_what_it_waits_for(void **unused)
{
    (void)unused;
    char words[ADL_REASON_SIZE], wanted[ADL_REASON_SIZE];
    open_types(2, 1, "");
    submit(0, 0, 1, 20, 1e6);
    decide_at(0);
    submit(1, 0, 1, 10, 100);
    decide_at(0);
    adl_policy_adlro.explain(policy, now, 1, words, sizeof words);
    snprintf(wanted, sizeof wanted,
             "plan: it waits for %s, planned to start in 20 s if no other comes first: 60 s cheaper than to start on "
             "%s now; rank 1 of 1",
             cluster.types[0].name, cluster.types[1].name);
    assert_string_equal(words, wanted);
    close_policy();
}

static void a_start_carries_its_cost_and_that_of_the_next_best_type(void **unused)
{
    (void)unused;
    open_types(2, 2, "");
    submit(0, 0, 1, 10, 25);
    assert_int_equal(decide_at(0), 1);
    const struct adl_reason reason = plan.commands[0].reason;
    assert_int_equal(reason.rule, ADL_RULE_PLANNED);
    assert_true(reason.value > 9.99 && reason.value < 10.01);
    assert_true(reason.against > 24.99 && reason.against < 25.01);
    assert_true(reason.rank == 1 && reason.ranked == 1 && reason.delay_s == 0);
    close_policy();
}

/* A gang of 4 waits for the last GPU, free in 100 s. A job of 50 s is done by then; one of 1000 s costs 0.3 * 900 s of
 * delay, less than the 100 + 60 s that it would wait behind the gang only if delays weigh little. */
static void a_job_passes_a_planned_gang_as_far_as_the_delay_weighs(void **unused)
{
    (void)unused;
    static const char *const settings[] = {"", "delay_weight=0.1"};
    for (int i = 0; i < 2; i++) {
        open_types(1, 4, settings[i]);
        submit(0, 0, 1, 100, 0);
        decide_at(0);
        submit(1, 0, 4, 60, 0);
        assert_int_equal(decide_at(0), 0);
        submit(2, 0, 1, 50, 0);
        assert_int_equal(decide_at(1), 1);
        assert_true(runs(2));
        submit(3, 1, 1, 1000, 0);
        assert_int_equal(decide_at(2), i);
        if (i) {
            assert_int_equal(plan.commands[0].reason.rule, ADL_RULE_DELAYS);
            assert_int_equal(plan.commands[0].reason.other, 1);
            assert_true(plan.commands[0].reason.delay_s > 901 && plan.commands[0].reason.delay_s < 903);
        }
        close_policy();
    }
}

/* Two GPUs, one of them busy for long: a gang of two waits while jobs of one GPU pass it. Once due it holds a
 * reservation, so only what ends before starts. */
static void a_due_job_is_planned_first_and_nobody_delays_it(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        open_types(1, 2, i ? "delay_weight=0\nobjective=tail:1" : "delay_weight=0\nobjective=tail:0");
        submit(0, 0, 1, 10, 0);
        decide_at(0);
        finish(0, 10); /* a usual run time is known */
        submit(1, 10, 1, 1e4, 0);
        decide_at(10);
        submit(2, 10, 2, 100, 0);
        decide_at(10);
        submit(3, 11, 1, 50, 0); /* done before the gang can start */
        assert_int_equal(decide_at(11), 1);
        finish(3, 61); /* now more work has started than was submitted before the gang */
        submit(4, 61, 1, 1e5, 0);
        assert_int_equal(decide_at(61), i ? 0 : 1);
        if (i) {
            finish(1, 62);
            assert_true(decide_at(62) >= 1 && plan.commands[0].job == 2);
            assert_int_equal(plan.commands[0].reason.rule, ADL_RULE_DUE);
            assert_true(plan.commands[0].reason.value > 39 && plan.commands[0].reason.value < 61);
        }
        close_policy();
    }
}

/* Three wait for one GPU: the shortest is first in rank. */
static void a_start_carries_the_jobs_rank(void **unused)
{
    (void)unused;
    char words[ADL_REASON_SIZE];
    open_types(1, 1, "");
    for (uint32_t slot = 0; slot < 3; slot++)
        submit(slot, 0, 1, 30 - 10 * slot, 0);
    assert_int_equal(decide_at(0), 1);
    assert_int_equal(plan.commands[0].job, 2);
    assert_true(plan.commands[0].reason.rank == 1 && plan.commands[0].reason.ranked == 3);
    adl_reason_words(&plan.commands[0].reason, NULL, words, sizeof words);
    assert_non_null(strstr(words, "; rank 1 of 3; waited"));
    adl_policy_adlro.explain(policy, now, 0, words, sizeof words);
    assert_non_null(strstr(words, "; rank 3 of 3"));
    close_policy();
}

/* Types alike, nothing runs: whatever waits, something starts, until nothing that is left fits. */
static void no_gpu_idles_while_a_job_fits_that_all_types_serve_alike(void **unused)
{
    (void)unused;
    struct adl_rng rng;
    adl_rng_seed(&rng, 7, "adlro");
    for (int round = 0; round < 50; round++) {
        open_types(2, 4, "delay_weight=0");
        const uint32_t jobs = fixture_between(&rng, 1, 12);
        for (uint32_t slot = 0; slot < jobs; slot++)
            submit(slot, slot, 1, 100, 100);
        decide_at(jobs);
        assert_int_equal(now->running_jobs, jobs < 8 ? jobs : 8);
        assert_int_equal(decide_at(jobs), 0);
        close_policy();
    }
}

/* Soon done first; the other has waited (600 / 100)^2 = 36 times as much as it needs at the second time. */
static void one_type_serves_by_rank(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        open_types(1, 1, "");
        submit(0, 0, 1, 100, 0);
        submit(1, i ? 600 : 0, 1, 10, 0);
        assert_int_equal(decide_at(i ? 601 : 0), 1);
        assert_int_equal(plan.commands[0].job, i ? 0 : 1);
        close_policy();
    }
}

/* The gang needs 50 s on 4 GPUs, the other 120 s on one. By GPU time that is 200 and 120, and the other comes first; by
 * the root of GPUs it is 100 and 120, and the gang does: it cannot span nodes. */
static void a_gang_that_may_span_nodes_is_ranked_by_its_gpu_time(void **unused)
{
    (void)unused;
    for (int spans = 0; spans < 2; spans++) {
        open_types(1, 4, "");
        submit_with(0, 0, 4, 50, 0, spans ? ADL_JOB_SPAN : 0);
        submit(1, 0, 1, 120, 0);
        assert_int_equal(decide_at(0), 1);
        assert_int_equal(plan.commands[0].job, spans);
        close_policy();
    }
}

static void evict(uint32_t slot, double time_s, double remaining)
{
    const struct adl_event event = {
        .time_us = (int64_t)(time_s * SECOND), .kind = ADL_EVENT_EVICT, .job = slot, .evict.remaining = remaining};
    adl_policy_adlro.observe(policy, &event, now);
    now->now_us = event.time_us;
    adl_state_evict(now, slot, remaining);
    assert_int_equal(adl_state_enqueue(now, slot, adl_policy_adlro.rank(policy, now, slot)), 0);
}

/* It runs on the slow GPU because the fast one is taken for long. When that is free, 10 of 100 s are done, and 9 s are
 * left there. The job that comes meanwhile does not get the GPU that is held. */
static void a_running_job_moves_to_the_fast_type_and_its_target_is_held(void **unused)
{
    (void)unused;
    for (int moves = 0; moves < 2; moves++) {
        open_types(2, 1, moves ? "" : "moves=false");
        submit(0, 0, 1, 1000, 1e6);
        decide_at(0);
        submit(1, 0, 1, 10, 100);
        now->jobs[1].spec.flags |= ADL_JOB_PREEMPTIBLE;
        assert_int_equal(decide_at(0), 1);
        assert_int_equal(now->jobs[1].type, 1);
        finish(0, 10);
        assert_int_equal(decide_at(10), moves);
        if (moves) {
            assert_int_equal(plan.commands[0].kind, ADL_COMMAND_PREEMPT);
            assert_int_equal(plan.commands[0].reason.rule, ADL_RULE_MOVES_PLANNED);
            assert_true(plan.commands[0].reason.value > 89 && plan.commands[0].reason.value < 91);
            assert_true(plan.commands[0].reason.against > 8.9 && plan.commands[0].reason.against < 9.1);
            submit(2, 11, 1, 5, 1e6);
            assert_int_equal(decide_at(11), 0);
            evict(1, 12, 0.9);
            assert_int_equal(decide_at(12), 1);
            assert_int_equal(plan.commands[0].job, 1);
            assert_int_equal(now->jobs[1].type, 0);
        }
        close_policy();
    }
}

/* The first job runs on the fast GPU and takes a tenth longer on the slow one, which is free; the second takes a
 * hundred times as long there. */
static void a_running_job_moves_so_that_a_waiting_one_gets_its_gpu(void **unused)
{
    (void)unused;
    for (int moves = 0; moves < 2; moves++) {
        open_types(2, 1, moves ? "" : "moves=false");
        submit(0, 0, 1, 100, 110);
        now->jobs[0].spec.flags |= ADL_JOB_PREEMPTIBLE;
        assert_int_equal(decide_at(0), 1);
        assert_int_equal(now->jobs[0].type, 0);
        submit(1, 1, 1, 100, 10000);
        assert_int_equal(decide_at(1), moves);
        if (moves) {
            assert_int_equal(plan.commands[0].kind, ADL_COMMAND_PREEMPT);
            assert_int_equal(plan.commands[0].job, 0);
            assert_int_equal(plan.commands[0].reason.rule, ADL_RULE_MOVES_FOR);
            assert_int_equal(plan.commands[0].reason.other, 1);
            assert_true(plan.commands[0].reason.value > 80 && plan.commands[0].reason.against < 15);
            submit(2, 2, 1, 5, 5);
            assert_int_equal(decide_at(2), 0);
            evict(0, 3, 0.99);
            assert_int_equal(decide_at(3), 2);
            assert_true(runs(0) && runs(1));
            assert_int_equal(now->jobs[0].type, 1);
            assert_int_equal(now->jobs[1].type, 0);
        }
        close_policy();
    }
}

/* 900 s are left of the first job when one of 10 s comes, or one of 800 s. The GPU is held for the short one, also from
 * a shorter job that comes while the first stops. */
static void a_running_job_is_stopped_for_one_that_needs_much_less(void **unused)
{
    (void)unused;
    for (int stops = 0; stops < 3; stops++) {
        open_types(1, 1, stops == 0 ? "stops=false" : "");
        submit(0, 0, 1, 1000, 0);
        now->jobs[0].spec.flags |= ADL_JOB_PREEMPTIBLE;
        assert_int_equal(decide_at(0), 1);
        submit(1, 100, 1, stops == 2 ? 800 : 10, 0);
        assert_int_equal(decide_at(100), stops == 1);
        if (stops == 1) {
            assert_int_equal(plan.commands[0].kind, ADL_COMMAND_PREEMPT);
            assert_int_equal(plan.commands[0].reason.rule, ADL_RULE_FOR_SHORTER);
            assert_int_equal(plan.commands[0].reason.other, 1);
            submit(2, 101, 1, 5, 0);
            assert_int_equal(decide_at(101), 0);
            evict(0, 102, 0.9);
            assert_int_equal(decide_at(102), 1);
            assert_true(runs(1));
        }
        close_policy();
    }
}

/* Eight jobs that need 900 s more hold a node when a gang of 100 s comes. It takes nearly as much GPU time as each of
 * them has left, but would wait for all of them: 900 s against 100 s that each of them loses. */
static void running_jobs_are_stopped_for_a_short_gang(void **unused)
{
    (void)unused;
    for (int stops = 0; stops < 2; stops++) {
        open_types(1, 8, "");
        for (uint32_t slot = 0; slot < 8; slot++) {
            submit(slot, 0, 1, 1000, 0);
            now->jobs[slot].spec.flags |= ADL_JOB_PREEMPTIBLE;
        }
        assert_int_equal(decide_at(0), 8);
        submit(8, 100, 8, stops ? 100 : 500, 0);
        assert_int_equal(decide_at(100), stops ? 8 : 0);
        for (uint32_t i = 0; i < plan.command_count; i++)
            assert_int_equal(plan.commands[i].kind, ADL_COMMAND_PREEMPT);
        close_policy();
    }
}

/* Of the eight GPUs of a node all but two run at half speed: a job takes one of these two, then one the other. */
static void a_job_takes_gpus_that_are_not_slow(void **unused)
{
    (void)unused;
    open_types(1, 8, "");
    for (uint32_t gpu = 0; gpu < 8; gpu++)
        adl_state_set_gpu_speed(now, gpu, gpu == 3 || gpu == 6 ? 1 : 0.5);
    submit(0, 0, 1, 100, 0);
    submit(1, 0, 1, 100, 0);
    assert_int_equal(decide_at(0), 2);
    assert_int_equal(now->jobs[0].first_gpu, 3);
    assert_int_equal(now->jobs[1].first_gpu, 6);
    close_policy();
}

/* A stop that costs 200 s has to gain 5 times that: 900 s do not suffice, 1,900 s do. */
static void a_stop_has_to_gain_several_times_its_cost(void **unused)
{
    (void)unused;
    for (int pays = 0; pays < 2; pays++) {
        struct adl_policy_config config = {.settings = "", .preemption_us = 200 * SECOND};
        open_types(1, 1, "");
        adl_policy_adlro.destroy(policy);
        assert_int_equal(adl_policy_create(&adl_policy_adlro, &config, &cluster, 1, &policy, NULL), 0);
        submit(0, 0, 1, pays ? 2000 : 1000, 0);
        now->jobs[0].spec.flags |= ADL_JOB_PREEMPTIBLE;
        decide_at(0);
        submit(1, 100, 1, 10, 0);
        assert_int_equal(decide_at(100), pays);
        close_policy();
    }
}

/* 3 jobs of 4 GPUs wait for one node of 8: the jobs behind the planned ones take what is left. */
static void jobs_behind_the_planned_ones_take_gpus_that_are_left(void **unused)
{
    (void)unused;
    open_types(1, 8, "planned_jobs=1");
    for (uint32_t slot = 0; slot < 3; slot++)
        submit(slot, slot, 4, 100, 0);
    assert_int_equal(decide_at(3), 2);
    close_policy();
}

/* 8 of 100 jobs have a place on the fast GPUs, in 10 s. For the last of the others that would be in two minutes: they
 * take the slow ones, on which they run for one. With few jobs none does. */
static void idle_gpus_are_taken_where_many_wait_for_others(void **unused)
{
    (void)unused;
    for (uint32_t jobs = 10; jobs <= 100; jobs += 90) {
        open_types(2, 8, "planned_jobs=8");
        for (uint32_t i = 0; i < 8; i++)
            submit(i, 0, 1, 10, 1e6);
        assert_int_equal(decide_at(0), 8);
        for (uint32_t i = 0; i < jobs; i++)
            submit(8 + i, 0, 1, 10, 60);
        assert_int_equal(decide_at(0), jobs == 100 ? 8 : 0);
        assert_int_equal(adl_pool_bank_free(&now->pool, 1), jobs == 100 ? 0 : 8);
        close_policy();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_the_fast_type_exactly_if_it_is_done_earlier_then),
        cmocka_unit_test(a_job_that_waited_for_a_type_starts_when_it_is_free),
        cmocka_unit_test(a_waiting_job_says_what_it_waits_for),
        cmocka_unit_test(a_start_carries_its_cost_and_that_of_the_next_best_type),
        cmocka_unit_test(a_job_passes_a_planned_gang_as_far_as_the_delay_weighs),
        cmocka_unit_test(a_start_carries_the_jobs_rank),
        cmocka_unit_test(a_due_job_is_planned_first_and_nobody_delays_it),
        cmocka_unit_test(no_gpu_idles_while_a_job_fits_that_all_types_serve_alike),
        cmocka_unit_test(one_type_serves_by_rank),
        cmocka_unit_test(a_gang_that_may_span_nodes_is_ranked_by_its_gpu_time),
        cmocka_unit_test(a_running_job_moves_to_the_fast_type_and_its_target_is_held),
        cmocka_unit_test(a_running_job_moves_so_that_a_waiting_one_gets_its_gpu),
        cmocka_unit_test(a_running_job_is_stopped_for_one_that_needs_much_less),
        cmocka_unit_test(running_jobs_are_stopped_for_a_short_gang),
        cmocka_unit_test(a_job_takes_gpus_that_are_not_slow),
        cmocka_unit_test(a_stop_has_to_gain_several_times_its_cost),
        cmocka_unit_test(jobs_behind_the_planned_ones_take_gpus_that_are_left),
        cmocka_unit_test(idle_gpus_are_taken_where_many_wait_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
