/* Taking: only younger jobs that may be stopped lose GPUs, the older one can start once they are gone, and no instant
 * turns in circles. By hand, and on random worlds whose preemptions cost time. */
#include "action_driver.h"
#include "engine/validate.h"
#include "policy/mechanism/preemption_victims.h"
#include "state_fixture.h"

#include <cmocka.h>

#define WORLDS 300
#define JOBS   60

enum { STOPS = ADL_JOB_PREEMPTIBLE };

/* ---- by hand: the waiting job is slot 0 and came at 10 us ---- */

static void run_at(struct adl_state *state, uint32_t slot, int64_t submit_us, uint16_t gpus, int flags,
                   uint32_t first_gpu)
{
    struct adl_job_spec spec = fixture_spec(100 + slot, gpus);
    spec.flags = (uint8_t)flags;
    state->now_us = submit_us;
    fixture_run(state, slot, &spec, 1000, first_gpu);
}

static void wait_at(struct adl_state *state, uint16_t gpus, int flags)
{
    struct adl_job_spec spec = fixture_spec(100, gpus);
    spec.flags = (uint8_t)flags;
    state->now_us = 10;
    fixture_queue(state, 0, &spec, 1000, 10);
}

static void only_a_younger_job_that_may_be_stopped_and_shares_with_nobody_loses_its_gpu(void **unused)
{
    (void)unused;
    static const struct {
        int64_t submit_us;
        int flags;
        bool stopping, shared, down, taken;
    } cases[] = {
        {11, STOPS, false, false, false, true}, {10, STOPS, false, false, false, false},
        {9, STOPS, false, false, false, false}, {11, 0, false, false, false, false},
        {11, STOPS, true, false, false, false}, {11, STOPS | ADL_JOB_SHARE, false, true, false, false},
        {11, STOPS, false, false, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adl_cluster cluster = fixture_plain(1);
        struct adl_state *state = fixture_state(&cluster);
        uint32_t gpu = 77;
        wait_at(state, 1, 0);
        run_at(state, 1, cases[i].submit_us, 1, cases[i].flags, 0);
        if (cases[i].shared)
            run_at(state, 2, 12, 1, STOPS | ADL_JOB_SHARE, 0);
        if (cases[i].stopping)
            adl_state_stopping(state, 1);
        state->gpus[0].down = cases[i].down;
        if (adl_preemption_victims_find(state, 0, 0, &gpu) != cases[i].taken)
            fail_msg("case %zu", i);
        assert_true(!cases[i].taken || gpu == 0);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

static void free_gpus_are_chosen_before_those_of_single_jobs_and_these_before_those_of_gangs(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(6);
    struct adl_state *state = fixture_state(&cluster);
    uint32_t gpus[6], victims[6];
    wait_at(state, 3, 0);
    run_at(state, 1, 11, 3, STOPS, 0);
    run_at(state, 2, 11, 1, STOPS, 3);
    run_at(state, 3, 11, 1, STOPS, 5);
    assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
    assert_true(gpus[0] == 4 && gpus[1] == 3 && gpus[2] == 5);
    assert_int_equal(adl_preemption_victims_list(state, gpus, 3, victims), 2);
    assert_true(victims[0] == 2 && victims[1] == 3);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_finish(state, 2);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_finish(state, 3);
    assert_true(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_gpu_down(state, 4);
    assert_false(adl_preemption_victims_ready(state, 0, gpus));
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void a_gang_that_holds_several_of_the_gpus_is_one_victim(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(5);
    struct adl_state *state = fixture_state(&cluster);
    uint32_t gpus[5], victims[5];
    wait_at(state, 5, 0);
    run_at(state, 1, 11, 2, STOPS, 0);
    run_at(state, 2, 11, 2, STOPS, 2);
    assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
    assert_int_equal(adl_preemption_victims_list(state, gpus, 5, victims), 2);
    assert_true(victims[0] == 1 && victims[1] == 2);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void one_node_is_enough_where_it_can_be_and_only_a_job_that_may_spans_several(void **unused)
{
    (void)unused;
    for (int spans = 0; spans < 2; spans++) {
        struct adl_cluster cluster = {0};
        fixture_types(&cluster, 1);
        fixture_node(&cluster, 0, 2);
        fixture_node(&cluster, 0, 2);
        fixture_node(&cluster, 0, 2);
        struct adl_state *state = fixture_state(&cluster);
        uint32_t gpus[6];
        wait_at(state, 2, spans ? ADL_JOB_SPAN : 0);
        run_at(state, 1, 9, 1, STOPS, 0); /* older: stays */
        run_at(state, 2, 9, 1, STOPS, 2);
        run_at(state, 3, 11, 2, STOPS, 4);
        assert_true(adl_preemption_victims_find(state, 0, 0, gpus));
        assert_true(gpus[0] == 4 && gpus[1] == 5);
        adl_state_finish(state, 3);
        run_at(state, 3, 9, 1, STOPS, 4);
        run_at(state, 4, 11, 1, STOPS, 5);
        run_at(state, 5, 11, 1, STOPS, 1);
        assert_int_equal(adl_preemption_victims_find(state, 0, 0, gpus), spans);
        assert_true(!spans || (gpus[0] == 1 && gpus[1] == 3));
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

static void cores_and_memory_count_as_they_will_be_once_the_holders_are_gone(void **unused)
{
    (void)unused;
    for (int32_t cores = 1; cores <= 8; cores++)
        for (int memory = 0; memory < 2; memory++) {
            struct adl_cluster cluster = {0};
            fixture_types(&cluster, 1);
            fixture_node_of(&cluster, &(struct adl_bank_spec){0, 3}, 1, 8, 8);
            struct adl_state *state = fixture_state(&cluster);
            struct adl_job_spec young = fixture_spec(1, 2), old = fixture_spec(2, 1), waits = fixture_spec(100, 2);
            uint32_t gpus[3];
            young.flags = STOPS;
            *(memory ? &young.memory_mib : &young.cpu_cores) = 2;
            *(memory ? &old.memory_mib : &old.cpu_cores) = 2;
            *(memory ? &waits.memory_mib : &waits.cpu_cores) = cores;
            state->now_us = 9;
            fixture_run(state, 1, &old, 1000, 2);
            state->now_us = 10;
            fixture_queue(state, 0, &waits, 1000, 10);
            state->now_us = 11;
            fixture_run(state, 2, &young, 1000, 0);
            /* 8 of the node, less 2 that stay with the old job: 3 for each of the two GPUs. */
            assert_int_equal(adl_preemption_victims_find(state, 0, 0, gpus), cores <= 3);
            adl_state_destroy(state);
            adl_cluster_clear(&cluster);
        }
}

/* ---- choices that take ---- */

static void a_job_may_take_once_it_has_waited_for_twenty_times_the_cost(void **unused)
{
    (void)unused;
    struct adl_cluster cluster = fixture_plain(2);
    struct adl_state *state = fixture_state(&cluster);
    struct adl_actions *actions;
    assert_int_equal(adl_actions_create(&cluster, false, 1000, &actions), 0);
    wait_at(state, 2, 0);
    run_at(state, 1, 11, 1, STOPS, 1);
    state->now_us = 10 + 19999;
    adl_actions_find(actions, state);
    assert_int_equal(actions->count, 0);
    state->now_us = 10 + 20000;
    adl_actions_find(actions, state);
    assert_true(actions->count == 1 && actions->list[0].preempts && actions->list[0].job == 0);
    adl_actions_destroy(actions);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
}

static void a_claim_waits_for_the_last_victim_and_is_given_up_when_a_gpu_fails(void **unused)
{
    (void)unused;
    for (int fails = 0; fails < 2; fails++) {
        struct adl_cluster cluster = fixture_plain(2);
        struct adl_state *state = fixture_state(&cluster);
        struct adl_actions *actions;
        struct adl_plan plan;
        assert_int_equal(adl_actions_create(&cluster, false, 0, &actions), 0);
        assert_int_equal(adl_plan_create(&plan, 2), 0);
        wait_at(state, 2, 0);
        run_at(state, 1, 11, 1, STOPS, 0);
        run_at(state, 2, 12, 1, STOPS, 1);
        adl_actions_find(actions, state);
        assert_true(actions->count == 1 && actions->list[0].preempts);
        assert_int_equal(adl_actions_execute(actions, state, &actions->list[0], actions->gpus, &plan), 0);
        assert_int_equal(plan.command_count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            assert_true(plan.commands[i].kind == ADL_COMMAND_PREEMPT && plan.commands[i].job == i + 1);
            adl_state_stopping(state, i + 1);
        }
        for (uint32_t slot = 1; slot <= 2; slot++) {
            adl_actions_find(actions, state);
            assert_true(actions->count == 0 && actions->reserved_job == 0);
            adl_state_evict(state, slot, 0.5);
            assert_int_equal(adl_state_enqueue(state, slot, 10 + slot), 0);
        }
        if (fails)
            adl_state_gpu_down(state, 0);
        adl_actions_find(actions, state);
        assert_int_equal(actions->reserved_job, ADL_NONE);
        assert_int_equal(actions->count, 1); /* fails: a younger job on the GPU that is left */
        assert_int_equal(actions->list[0].job == 0, !fails);
        assert_false(actions->list[0].preempts);
        adl_plan_clear(&plan);
        adl_actions_destroy(actions);
        adl_state_destroy(state);
        adl_cluster_clear(&cluster);
    }
}

/* ---- random worlds ---- */

/* Crowded, with costs small enough that jobs wait for twenty times as much; in one world of three, nothing at all. In
 * most, every job may be stopped. */
static struct adl_scenario crowded_scenario(uint64_t seed)
{
    struct adl_scenario s = random_scenario(seed, JOBS);
    const double scale = seed % 3 ? 0.2 : 0;
    s.workload.arrivals.rate_per_h *= 3;
    s.preemption.checkpoint_s *= scale;
    s.preemption.restart_s *= scale;
    for (uint32_t i = 0; i < s.workload.mix_count && seed % 5; i++)
        s.workload.mix[i].flags |= ADL_JOB_PREEMPTIBLE;
    return s;
}

static struct adl_validator *validator;
static uint64_t preempts, served, held_open;

/* What was claimed last, to be compared with what starts. */
static struct {
    bool open;
    uint32_t job, gpu_count, gpus[64];
} claim;

static void check_victims(const struct adl_state *state, const struct adl_actions *actions, const uint32_t *gpus,
                          uint32_t count)
{
    uint32_t victims[64];
    const uint32_t found = adl_preemption_victims_list(state, gpus, count, victims);
    const int64_t submit_us = state->jobs[actions->head].submit_us;
    assert_true(found > 0 && found <= count);
    for (uint32_t v = 0; v < found; v++) {
        const struct adl_job *victim = &state->jobs[victims[v]];
        assert_true(victim->submit_us > submit_us);
        assert_true(victim->phase == ADL_PHASE_RUNNING && victim->spec.flags & ADL_JOB_PREEMPTIBLE);
        for (uint32_t w = 0; w < v; w++)
            assert_int_not_equal(victims[w], victims[v]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_gpu_use *use = &state->gpus[gpus[i]];
        bool listed = use->job[0] == ADL_NONE;
        for (uint32_t v = 0; v < found && !listed; v++)
            listed = victims[v] == use->job[0];
        assert_true(listed && use->job[1] == ADL_NONE && !use->down);
    }
}

/* Nothing fails in these worlds: the list after the victims are gone is the start that was claimed for. */
static void check_claim(const struct adl_state *state, const struct adl_actions *actions)
{
    if (actions->reserved_job != ADL_NONE) {
        assert_int_equal(actions->count, 0);
        held_open++;
        return;
    }
    const struct adl_command start = {
        .kind = ADL_COMMAND_START, .gpu_count = (uint16_t)claim.gpu_count, .job = claim.job};
    struct adl_error err;
    if (adl_validate(validator, state, &start, claim.gpus, &err))
        fail_msg("what was taken does not do: %s", err.text);
    assert_int_equal(actions->count, 1);
    assert_true(actions->list[0].job == claim.job && !actions->list[0].preempts);
    assert_memory_equal(actions->gpus, claim.gpus, claim.gpu_count * sizeof *claim.gpus);
    claim.open = false;
    served++;
}

static void watch_claims(const struct adl_state *state, const struct adl_actions *actions, uint32_t chosen)
{
    if (claim.open) {
        check_claim(state, actions);
        return;
    }
    if (actions->count == 0 || !actions->list[chosen].preempts)
        return;
    const struct adl_action *action = &actions->list[chosen];
    preempts++;
    check_victims(state, actions, &actions->gpus[action->gpu_offset], action->gpu_count);
    claim.open = true;
    claim.job = action->job;
    claim.gpu_count = action->gpu_count;
    memcpy(claim.gpus, &actions->gpus[action->gpu_offset], action->gpu_count * sizeof *claim.gpus);
}

static void whoever_takes_starts_on_just_those_gpus_once_younger_jobs_are_gone(void **unused)
{
    (void)unused;
    preempts = served = held_open = 0;
    claim.open = false;
    driver_visit = watch_claims;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = crowded_scenario(seed);
        scenario.faults = (struct adl_faults){0};
        assert_int_equal(adl_validator_create(&scenario.cluster, &validator), 0);
        driver_run(&scenario, seed, NULL);
        assert_false(claim.open);
        adl_validator_destroy(validator);
        adl_scenario_clear(&scenario);
    }
    assert_true(preempts > 800 && served == preempts);
    assert_true(held_open > 400); /* checkpoints that take time */
}

#define SLOTS_MAX 1024

static struct {
    int64_t now_us, stopped_us[SLOTS_MAX];
    uint32_t now_count, most;
    uint64_t total;
} turns;

static int count_turn(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)self, (void)gpus;
    if (command->kind != ADL_COMMAND_PREEMPT)
        return 0;
    assert_true(command->job < SLOTS_MAX);
    turns.now_count = turns.now_us == state->now_us ? turns.now_count + 1 : 1;
    turns.now_us = state->now_us;
    turns.most = turns.now_count > turns.most ? turns.now_count : turns.most;
    turns.total++;
    if (turns.stopped_us[command->job] == state->now_us)
        fail_msg("slot %u was stopped twice at %lld us", command->job, (long long)state->now_us);
    turns.stopped_us[command->job] = state->now_us;
    return 0;
}

/* driver_run() fails if anything is refused, among that one preemption too many at an instant, or left over. */
static void no_job_is_stopped_twice_at_an_instant_and_all_end(void **unused)
{
    (void)unused;
    const struct adl_observer observer = {.command = count_turn};
    uint64_t total = 0;
    driver_visit = NULL;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct adl_scenario scenario = crowded_scenario(seed);
        memset(&turns, 0xff, sizeof turns);
        turns.most = turns.now_count = 0;
        turns.total = 0;
        driver_run(&scenario, seed, &observer);
        assert_true(turns.most <= scenario.cluster.gpu_count);
        total += turns.total;
        adl_scenario_clear(&scenario);
    }
    assert_true(total > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_younger_job_that_may_be_stopped_and_shares_with_nobody_loses_its_gpu),
        cmocka_unit_test(free_gpus_are_chosen_before_those_of_single_jobs_and_these_before_those_of_gangs),
        cmocka_unit_test(a_gang_that_holds_several_of_the_gpus_is_one_victim),
        cmocka_unit_test(one_node_is_enough_where_it_can_be_and_only_a_job_that_may_spans_several),
        cmocka_unit_test(cores_and_memory_count_as_they_will_be_once_the_holders_are_gone),
        cmocka_unit_test(a_job_may_take_once_it_has_waited_for_twenty_times_the_cost),
        cmocka_unit_test(a_claim_waits_for_the_last_victim_and_is_given_up_when_a_gpu_fails),
        cmocka_unit_test(whoever_takes_starts_on_just_those_gpus_once_younger_jobs_are_gone),
        cmocka_unit_test(no_job_is_stopped_twice_at_an_instant_and_all_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
