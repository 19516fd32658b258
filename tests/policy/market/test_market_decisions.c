/* Tests of policy market on one state, by hand: what agents and the auctioneer decide on some nodes, with and without
 * failures, when nothing else happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "state_fixture.h"

#include "policy/market/market.h"
#include "policy/policy.h"

struct bench {
    struct adl_cluster cluster;
    struct adl_state *state;
    struct adl_plan plan;
    struct adl_market *market;
};

/* Nodes of one type and with so many cores join a cluster that is not complete yet. */
static void add_nodes(struct bench *b, uint32_t nodes, uint32_t gpus, int32_t cores)
{
    if (b->cluster.type_count == 0)
        fixture_types(&b->cluster, 1);
    for (uint32_t n = 0; n < nodes; n++)
        fixture_node_of(&b->cluster, &(struct adl_bank_spec){0, gpus}, 1, cores, FIXTURE_NODE_MIB);
}

static void complete_bench(struct bench *b, const char *settings, const struct adl_network_model *network)
{
    struct adl_policy_config config = {.settings = settings};
    if (network)
        config.network = *network;
    b->state = fixture_state(&b->cluster);
    assert_int_equal(adl_plan_create(&b->plan, b->cluster.gpu_count), 0);
    void *policy;
    assert_int_equal(adl_policy_create(&adl_policy_market, &config, &b->cluster, 1, &policy, NULL), 0);
    b->market = policy;
}

static void open_bench(struct bench *b, uint32_t nodes, uint32_t gpus)
{
    *b = (struct bench){.state = NULL};
    add_nodes(b, nodes, gpus, FIXTURE_CORES);
    complete_bench(b, NULL, NULL);
}

static void close_bench(struct bench *b)
{
    adl_policy_market.destroy(b->market);
    adl_plan_clear(&b->plan);
    adl_state_destroy(b->state);
    adl_cluster_clear(&b->cluster);
}

static void submit_with(struct bench *b, uint32_t slot, uint16_t gpus, int32_t cores, int64_t run_us, int flags)
{
    struct adl_job_spec spec = fixture_spec(slot + 1, gpus);
    spec.flags = (uint8_t)flags;
    spec.cpu_cores = cores;
    assert_int_equal(adl_state_admit(b->state, slot, &spec, (int64_t[]){run_us}), 0);
    assert_int_equal(adl_state_enqueue(b->state, slot, adl_policy_market.rank(b->market, b->state, slot)), 0);
}

static void submit(struct bench *b, uint32_t slot, uint16_t gpus, int64_t run_us, int flags)
{
    submit_with(b, slot, gpus, 0, run_us, flags);
}

/* A GPU fails, or returns. */
static void change(struct bench *b, uint32_t gpu, int kind)
{
    const struct adl_event event = {.time_us = b->state->now_us, .kind = (uint8_t)kind, .job = ADL_NONE, .gpu = gpu};
    adl_policy_market.observe(b->market, &event, b->state);
    if (kind == ADL_EVENT_GPU_DOWN)
        adl_state_gpu_down(b->state, gpu);
    else
        adl_state_gpu_up(b->state, gpu);
}

static void finish(struct bench *b, uint32_t slot)
{
    const struct adl_event event = {.time_us = b->state->now_us, .kind = ADL_EVENT_FINISH, .job = slot};
    adl_policy_market.observe(b->market, &event, b->state);
    adl_state_finish(b->state, slot);
}

/* Carries out what is decided at that time; returns how many jobs start. */
static uint32_t decide_at(struct bench *b, int64_t now_us)
{
    uint32_t starts = 0, before;
    b->state->now_us = now_us;
    do {
        before = starts;
        adl_plan_reset(&b->plan);
        assert_int_equal(adl_policy_market.decide(b->market, b->state, &b->plan), 0);
        for (uint32_t i = 0; i < b->plan.command_count; i++)
            if (b->plan.commands[i].kind == ADL_COMMAND_START) {
                adl_state_start(b->state, b->plan.commands[i].job, &b->plan.gpus[b->plan.commands[i].gpu_offset]);
                starts++;
            }
    } while (starts > before);
    return starts;
}

static void an_agent_that_becomes_idle_gets_a_job_that_waits_for_another(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, 2, 1);
    submit(&b, 0, 1, 100, 0);
    submit(&b, 1, 1, 200, 0);
    assert_int_equal(decide_at(&b, 0), 2);
    submit(&b, 2, 1, 50, 0);
    assert_int_equal(decide_at(&b, 10), 0); /* it waits for the GPU that is free at 100 */
    b.state->now_us = 20;
    const uint32_t gpu = b.state->jobs[1].first_gpu;
    finish(&b, 1); /* earlier than believed */
    assert_int_equal(decide_at(&b, 20), 1);
    assert_int_equal(b.state->jobs[2].first_gpu, gpu);
    close_bench(&b);
}

static void a_job_that_was_cancelled_leaves_its_agents_queue(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, 1, 1);
    submit(&b, 0, 1, 100, 0);
    assert_int_equal(decide_at(&b, 0), 1);
    submit(&b, 1, 1, 10, 0);
    submit(&b, 2, 1, 50, 0);
    assert_int_equal(decide_at(&b, 1), 0);
    assert_int_equal(b.market->agents[0].queue.count, 2);
    finish(&b, 1);
    assert_int_equal(b.market->agents[0].queue.count, 1);
    close_bench(&b);
}

static void a_waiting_jobs_explanation_has_the_bids(void **state)
{
    (void)state;
    struct bench b;
    char text[300];
    open_bench(&b, 3, 1);
    for (uint32_t slot = 0; slot < 4; slot++)
        submit(&b, slot, 1, 100000000 * (slot + 1), 0);
    assert_int_equal(decide_at(&b, 0), 3);
    adl_policy_market.explain(b.market, b.state, 3, text, sizeof text);
    assert_non_null(strstr(text, "place 1 of 1 in the queue of "));
    assert_non_null(strstr(text, ", whose bid was least of 3 asked: "));
    for (uint32_t n = 0; n < b.cluster.node_count; n++) /* the bid of each agent, under its node's name */
        assert_non_null(strstr(text, b.cluster.nodes[n].name));
    assert_non_null(strstr(text, "; others: "));
    close_bench(&b);
}

/* Two nodes of two GPUs. A job on the second node runs longer than believed, so a gang of four waits for it: the first
 * node holds its GPUs from the planned time on, and lets them go when that has lasted too long. */
static void a_gang_that_does_not_come_together_lets_its_gpus_go(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, 2, 2);
    struct adl_job_spec one = fixture_spec(9, 1);
    fixture_run(b.state, 8, &one, 100, 2);
    submit(&b, 0, 4, 80, ADL_JOB_SPAN);
    assert_int_equal(decide_at(&b, 0), 0);
    assert_true(b.market->auctions[0].phase == ADL_AUCTION_PARTS && b.market->banks[0].held == 0);
    assert_int_equal(decide_at(&b, 100), 0);
    assert_int_equal(b.market->banks[0].held, 3);
    submit(&b, 1, 2, 5, 0);
    assert_int_equal(decide_at(&b, 101), 0); /* GPUs 0 and 1 are free, but held */
    const int64_t until_us = 100 + b.market->auctions[0].won.hold_us;
    assert_true(until_us > 101 && until_us <= 100 + 80);
    assert_int_equal(decide_at(&b, until_us), 1);
    assert_int_equal(b.state->jobs[1].phase, ADL_PHASE_RUNNING);
    assert_int_equal(b.state->jobs[1].first_gpu, 0);
    finish(&b, 1);
    finish(&b, 8);
    decide_at(&b, until_us + 1);
    for (int64_t now_us = until_us; b.state->jobs[0].phase == ADL_PHASE_PENDING; now_us += 1000) {
        assert_true(now_us < 1000000);
        decide_at(&b, now_us);
    }
    assert_true(adl_state_spans_nodes(b.state, 0));
    assert_true(b.market->banks[0].held == 0 && b.market->banks[1].held == 0);
    close_bench(&b);
}

/* ---- no job is lost ---- */

/* Decides whenever the policy wants to, until the job runs; without anything else that happens. */
static void run_by_timers(struct bench *b, uint32_t slot)
{
    for (uint32_t decisions = 0; decide_at(b, b->state->now_us) == 0; decisions++) {
        const int64_t next_us = adl_network_next_us(&b->market->network);
        if (next_us == INT64_MAX || decisions > 100000)
            fail_msg("the job waits for ever after %u decisions, %u announcements in vain", decisions,
                     b->market->auctions[slot].tries);
        b->state->now_us = next_us;
    }
    assert_int_equal(b->state->jobs[slot].phase, ADL_PHASE_RUNNING);
}

/* A node has GPUs enough for the gang and no cores, so that it runs only across both nodes; but a GPU of the other one
 * has failed. Others fail and return meanwhile. */
static void a_gang_starts_once_it_can_however_often_it_was_announced_in_vain(void **state)
{
    (void)state;
    for (uint32_t vain = 0; vain <= 240; vain++) {
        struct bench b = {.state = NULL};
        add_nodes(&b, 1, 3, 7);
        add_nodes(&b, 1, 2, FIXTURE_CORES);
        complete_bench(&b, NULL, NULL);
        change(&b, 4, ADL_EVENT_GPU_DOWN);
        submit_with(&b, 0, 3, 4, 1000000, ADL_JOB_SPAN);
        while (decide_at(&b, b.state->now_us) == 0 && b.market->auctions[0].tries < vain) {
            const int64_t next_us = adl_network_next_us(&b.market->network);
            if (next_us != INT64_MAX) {
                b.state->now_us = next_us;
                continue;
            }
            change(&b, 2, ADL_EVENT_GPU_DOWN);
            change(&b, 2, ADL_EVENT_GPU_UP);
        }
        assert_int_equal(b.state->jobs[0].phase, ADL_PHASE_PENDING);
        change(&b, 4, ADL_EVENT_GPU_UP);
        run_by_timers(&b, 0);
        assert_true(adl_state_spans_nodes(b.state, 0));
        close_bench(&b);
    }
}

static void a_job_finds_the_only_node_that_can_run_it(void **state)
{
    (void)state;
    const uint32_t nodes = 600, able[] = {0, 257, nodes - 1};
    for (size_t i = 0; i < sizeof able / sizeof *able; i++) {
        struct bench b = {.state = NULL};
        add_nodes(&b, nodes, 1, FIXTURE_CORES);
        complete_bench(&b, "gossip=false", NULL);
        for (uint32_t gpu = 0; gpu < nodes; gpu++)
            if (gpu != able[i])
                change(&b, gpu, ADL_EVENT_GPU_DOWN);
        submit(&b, 0, 1, 1000000, 0);
        run_by_timers(&b, 0);
        assert_int_equal(b.state->jobs[0].first_gpu, able[i]);
        close_bench(&b);
    }
}

/* A job that cannot run has a limit of announcements: else a run would never end. */
static void a_job_that_no_node_can_run_waits_for_a_change(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, 20, 1);
    for (uint32_t gpu = 0; gpu < 20; gpu++)
        change(&b, gpu, ADL_EVENT_GPU_DOWN);
    submit(&b, 0, 1, 1000000, 0);
    for (int64_t next_us = 0; next_us != INT64_MAX; next_us = adl_network_next_us(&b.market->network)) {
        assert_int_equal(decide_at(&b, next_us), 0);
        assert_true(b.market->auctions[0].tries < 100);
    }
    change(&b, 7, ADL_EVENT_GPU_UP);
    run_by_timers(&b, 0);
    close_bench(&b);
}

static void nodes_without_cores_do_not_keep_a_gang_from_those_that_have_them(void **state)
{
    (void)state;
    struct bench b = {.state = NULL};
    add_nodes(&b, 40, 2, 1);
    add_nodes(&b, 2, 1, FIXTURE_CORES);
    complete_bench(&b, NULL, NULL);
    submit_with(&b, 0, 2, 4, 1000000, ADL_JOB_SPAN);
    run_by_timers(&b, 0);
    assert_true(adl_state_spans_nodes(b.state, 0));
    close_bench(&b);
}

/* A job of one GPU, and a gang that runs only across both nodes. */
static void a_job_outlasts_a_partition_though_nothing_else_happens(void **state)
{
    (void)state;
    const struct adl_network_model cut = {.latency_ms = 50, .loss = 0.05, .partition_s = 600, .partition_share = 1};
    for (uint16_t gpus = 1; gpus <= 3; gpus += 2) {
        struct bench b = {.state = NULL};
        add_nodes(&b, 1, 3, 7);
        add_nodes(&b, 1, 2, FIXTURE_CORES);
        complete_bench(&b, NULL, &cut);
        submit_with(&b, 0, gpus, 4, 1000000, ADL_JOB_SPAN);
        run_by_timers(&b, 0);
        assert_true(b.state->now_us >= 600000000 && b.state->now_us < 610000000);
        close_bench(&b);
    }
}

/* The first node holds its GPUs for a gang that waits for a job on the second one; the next job can run on no other. */
static void a_job_outlasts_gpus_that_are_held_for_others(void **state)
{
    (void)state;
    struct bench b = {.state = NULL};
    add_nodes(&b, 1, 2, FIXTURE_CORES);
    add_nodes(&b, 1, 2, 1);
    complete_bench(&b, NULL, NULL);
    struct adl_job_spec one = fixture_spec(9, 1);
    fixture_run(b.state, 8, &one, 100, 2);
    submit(&b, 0, 4, 8000000, ADL_JOB_SPAN);
    assert_int_equal(decide_at(&b, 0) + decide_at(&b, 100), 0);
    assert_int_equal(b.market->banks[0].held, 3);
    submit_with(&b, 1, 2, 4, 5, 0);
    run_by_timers(&b, 1);
    assert_true(b.state->now_us >= 1000000 && b.state->jobs[1].first_gpu == 0);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_becomes_idle_gets_a_job_that_waits_for_another),
        cmocka_unit_test(a_job_that_was_cancelled_leaves_its_agents_queue),
        cmocka_unit_test(a_waiting_jobs_explanation_has_the_bids),
        cmocka_unit_test(a_gang_that_does_not_come_together_lets_its_gpus_go),
        cmocka_unit_test(a_gang_starts_once_it_can_however_often_it_was_announced_in_vain),
        cmocka_unit_test(a_job_finds_the_only_node_that_can_run_it),
        cmocka_unit_test(a_job_that_no_node_can_run_waits_for_a_change),
        cmocka_unit_test(nodes_without_cores_do_not_keep_a_gang_from_those_that_have_them),
        cmocka_unit_test(a_job_outlasts_a_partition_though_nothing_else_happens),
        cmocka_unit_test(a_job_outlasts_gpus_that_are_held_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
