/* Tests of policy market as a whole: runs on networks that lose messages, with agents that crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_scenario.h"
#include "settings.h"

#include "engine/engine.h"
#include "experiment/run.h"
#include "policy/market/market.h"
#include "policy/policy.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#define JOBS 700

static struct adl_scenario load(double rate_per_h)
{
    struct adl_scenario scenario;
    struct adl_error err = {.text = ""};
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/campus512.yaml", &scenario, NULL, &err))
        fail_msg("%s", err.text);
    scenario.workload.jobs = JOBS;
    scenario.workload.arrivals.rate_per_h = rate_per_h;
    return scenario;
}

/* 50 ms, 5 % lost, and each agent is down for a tenth of the time. */
static const struct adl_network_model bad = {
    .latency_ms = 50, .jitter = 0.5, .loss = 0.05, .duplicate = 0.05, .crash_mtbf_h = 0.9, .crash_s = 360};

/* What happens to each job, and where jobs start during a partition. */
struct diary {
    uint32_t starts[JOBS + 1], stops[JOBS + 1], ends[JOBS + 1];
    uint32_t type[JOBS + 1];           /* on which a job started last */
    uint32_t twice;                    /* starts of a job that had not left its GPUs */
    uint32_t moves, changes;           /* stops, and starts after one on another type */
    uint64_t cut_starts, other_starts; /* on nodes of agents that are cut off, and of others meanwhile */
};

static struct adl_market *made; /* by the last run */

static int create_and_note(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                           void **ret_policy, struct adl_error *err)
{
    const int status = adl_policy_market.create(config, cluster, seed, ret_policy, err);
    made = status ? NULL : *ret_policy;
    return status;
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    struct diary *diary = self;
    const uint64_t id = state->jobs[command->job].spec.id;
    diary->moves += command->kind == ADL_COMMAND_PREEMPT;
    if (command->kind != ADL_COMMAND_START)
        return 0;
    const uint32_t type = adl_gpu_type_of(state->cluster, gpus[0]);
    diary->twice += diary->starts[id] != diary->stops[id];
    diary->changes += diary->starts[id] > 0 && type != diary->type[id];
    diary->type[id] = type;
    const struct adl_network *network = &made->network;
    const double since_s = (double)state->now_us * 1e-6 - network->model.partition_start_s;
    const uint32_t agent = made->node_agent[adl_gpu_node_of(state->cluster, gpus[0])];
    diary->starts[id]++;
    if (adl_network_cut(network, agent, state->now_us))
        diary->cut_starts++;
    else if (since_s >= 0 && since_s < network->model.partition_s)
        diary->other_starts++;
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct diary *diary = self;
    if (event->kind == ADL_EVENT_FINISH)
        diary->ends[state->jobs[event->job].spec.id]++;
    if (event->kind == ADL_EVENT_EVICT)
        diary->stops[state->jobs[event->job].spec.id]++;
    return 0;
}

/* Every job that the auctioneer believes to be an agent's is in that agent's queue. */
static void check_agreement(const struct adl_market *market, const struct adl_state *state)
{
    for (uint32_t slot = 0; slot < market->auction_count; slot++) {
        const struct adl_auction *auction = &market->auctions[slot];
        if (auction->phase != ADL_AUCTION_OWNED || state->jobs[slot].phase != ADL_PHASE_PENDING)
            continue;
        assert_int_not_equal(auction->entry, ADL_NONE);
        assert_int_equal(market->entries[auction->entry].agent, auction->winner);
    }
}

struct world {
    struct adl_world_sim *sim;
    struct adl_engine *engine;
};

static struct adl_policy_ops ops; /* the policy, with a create that notes what it makes */

static void begin(struct world *w, const struct adl_scenario *scenario, uint64_t seed, struct diary *diary)
{
    struct adl_error err = {.text = ""};
    ops = adl_policy_market;
    ops.create = create_and_note;
    if (adl_world_sim_create(scenario, seed, ADL_REGIME_DECLARED, &w->sim, &err))
        fail_msg("%s", err.text);
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = &ops,
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = seed,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = w->sim,
                                             .observers = {{.self = diary, .event = on_event, .command = on_command}},
                                             .observer_count = diary ? 1 : 0};
    if (adl_engine_create(&config, &w->engine, &err))
        fail_msg("%s", err.text);
}

static bool step(struct world *w)
{
    struct adl_error err = {.text = ""};
    const int status = adl_engine_step(w->engine, &err);
    if (status < 0)
        fail_msg("%s", err.text);
    return status > 0;
}

static void end(struct world *w)
{
    adl_engine_destroy(w->engine);
    adl_world_sim_destroy(w->sim);
}

/* No agent holds GPUs, and none remembers a job that runs: all have ended. */
static void check_rest(const struct adl_market *market)
{
    for (uint32_t b = 0; b < market->cluster->bank_count; b++)
        assert_int_equal(market->banks[b].held, 0);
    for (uint32_t g = 0; g < market->cluster->gpu_count; g++)
        assert_int_equal(market->gpus[g].entry, ADL_NONE);
}

/* Runs to the end: nothing is refused, each job ends once, and starts once and again after each stop. Returns the hash
 * of all plans. */
static uint64_t run_whole(const struct adl_scenario *scenario, uint64_t seed, struct diary *diary,
                          struct adl_traffic *ret_traffic)
{
    struct world w;
    memset(diary, 0, sizeof *diary);
    begin(&w, scenario, seed, diary);
    while (step(&w))
        ;
    const struct adl_engine_counts *counts = adl_engine_counts(w.engine);
    const uint64_t hash = counts->plan_hash;
    if (counts->refused > 0)
        fail_msg("%d refused: %s", (int)counts->refused, counts->last_refusal.text);
    for (uint32_t id = 1; id <= JOBS; id++)
        if (diary->starts[id] != 1 + diary->stops[id] || diary->ends[id] != 1)
            fail_msg("job %u: %u starts, %u stops, %u ends", id, diary->starts[id], diary->stops[id], diary->ends[id]);
    assert_int_equal(diary->twice, 0);
    check_rest(made);
    check_agreement(made, adl_engine_state(w.engine));
    *ret_traffic = made->network.traffic;
    end(&w);
    return hash;
}

static void every_job_runs_once_though_messages_are_lost_and_agents_crash(void **state)
{
    (void)state;
    static struct diary diary;
    struct adl_traffic traffic;
    struct adl_scenario scenario = load(400);
    scenario.network = bad;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const uint64_t hash = run_whole(&scenario, seed, &diary, &traffic);
        assert_true(traffic.lost > 100 && traffic.doubled > 100);
        assert_true(diary.moves > 0);
        if (seed == 1)
            assert_true(hash == run_whole(&scenario, seed, &diary, &traffic)); /* equal seeds, equal plans */
    }
    adl_scenario_clear(&scenario);
}

static void running_jobs_move_to_gpus_where_they_end_earlier(void **state)
{
    (void)state;
    static struct diary diary;
    struct adl_traffic traffic;
    struct adl_scenario scenario = load(200);
    uint32_t moves = 0, changes = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        run_whole(&scenario, seed, &diary, &traffic);
        assert_true(diary.moves > 10);
        moves += diary.moves;
        changes += diary.changes;
    }
    assert_true(changes > moves * 8 / 10); /* GPUs of the other type are held meanwhile, but both bid */
    set_option(&scenario, "moves", "false");
    run_whole(&scenario, 1, &diary, &traffic);
    assert_int_equal(diary.moves, 0);
    adl_scenario_clear(&scenario);
}

static void during_a_partition_both_halves_start_jobs_and_afterwards_they_agree(void **state)
{
    (void)state;
    static struct diary diary;
    struct adl_traffic traffic;
    struct adl_scenario scenario = load(1500);
    scenario.network = (struct adl_network_model){
        .latency_ms = 50, .loss = 0.05, .partition_start_s = 1500, .partition_s = 600, .partition_share = 0.5};
    run_whole(&scenario, 1, &diary, &traffic);
    assert_true(diary.cut_starts > 5 && diary.other_starts > 5);
    adl_scenario_clear(&scenario);
}

static void a_copy_decides_alike_with_messages_on_their_way(void **state)
{
    (void)state;
    struct world original, copy;
    struct adl_error err = {.text = ""};
    struct adl_scenario scenario = load(800);
    scenario.network = bad;
    scenario.workload.jobs = 200;
    begin(&original, &scenario, 1, NULL);
    begin(&copy, &scenario, 2, NULL);
    for (int i = 0; i < 2000; i++)
        assert_true(step(&original) && step(&copy));
    if (adl_engine_copy(copy.engine, original.engine, &err) || adl_world_sim_copy(copy.sim, original.sim, &err))
        fail_msg("%s", err.text);
    while (step(&original))
        assert_true(step(&copy));
    assert_false(step(&copy));
    assert_true(adl_engine_counts(original.engine)->plan_hash == adl_engine_counts(copy.engine)->plan_hash);
    end(&original);
    end(&copy);
    adl_scenario_clear(&scenario);
}

/* Bytes about a job that runs in one node, by asked agents and the number of announcements: a move is of a waiting job,
 * which is returned, or of a running one, which is offered. */
static uint64_t bytes_at_most(uint64_t asked)
{
    const uint64_t each = asked * (adl_message_bytes(ADL_MESSAGE_ASK) + adl_message_bytes(ADL_MESSAGE_BID)) +
                          adl_message_bytes(ADL_MESSAGE_AWARD) + adl_message_bytes(ADL_MESSAGE_ACK) +
                          adl_message_bytes(ADL_MESSAGE_RETURN) + adl_message_bytes(ADL_MESSAGE_SETTLED) +
                          adl_message_bytes(ADL_MESSAGE_OFFER) + adl_message_bytes(ADL_MESSAGE_TAKE) +
                          adl_message_bytes(ADL_MESSAGE_LEAVES);
    return each * (1 + ADL_MARKET_MOVES_MAX);
}

static void what_a_job_costs_in_messages_is_bounded(void **state)
{
    (void)state;
    static struct diary diary;
    struct adl_traffic traffic, few;
    struct adl_scenario scenario = load(2000);
    for (uint32_t m = 0; m < scenario.workload.mix_count; m++) {
        struct adl_mix *mix = &scenario.workload.mix[m];
        mix->flags &= (uint8_t)~ADL_JOB_SPAN;
        for (uint32_t g = 0; g < mix->gang_count; g++)
            mix->gang_gpus[g] = mix->gang_gpus[g] < 8 ? mix->gang_gpus[g] : 8;
    }
    run_whole(&scenario, 1, &diary, &traffic);
    print_message("%.1f messages and %.0f bytes a job, at most %.0f bytes\n", (double)traffic.messages / JOBS,
                  (double)traffic.bytes / JOBS, (double)traffic.most_bytes);
    assert_int_equal(traffic.lost, 0);
    assert_true(traffic.most_bytes <= bytes_at_most(6));
    assert_true(traffic.bytes <= 2 * bytes_at_most(6) * JOBS); /* with what agents tell of their loads */
    set_option(&scenario, "asked", "2");
    run_whole(&scenario, 1, &diary, &few);
    assert_true(few.most_bytes <= bytes_at_most(2) && few.messages < traffic.messages);
    adl_scenario_clear(&scenario);
}

static void racks_random_samples_and_agents_without_bids_finish_all_jobs(void **state)
{
    (void)state;
    static const char *const readings[][2] = {
        {"agent_nodes", "8"}, {"agent_nodes", "64"}, {"bids", "false"}, {"gossip", "false"}, {"asked", "1"}};
    static struct diary diary;
    struct adl_traffic traffic;
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        struct adl_scenario scenario = load(600);
        set_option(&scenario, readings[i][0], "%s", readings[i][1]);
        run_whole(&scenario, 1, &diary, &traffic);
        adl_scenario_clear(&scenario);
    }
}

/* Small clusters where GPUs fail, gangs span nodes and nodes differ; some agents are cut off for longer than a job that
 * nobody could take is announced at random. */
static void every_job_of_random_worlds_ends_on_bad_networks(void **state)
{
    (void)state;
    const struct adl_network_model networks[] = {
        bad,
        {.latency_ms = 50, .loss = 0.05, .partition_start_s = 100, .partition_s = 3000, .partition_share = 0.7},
    };
    for (uint64_t i = 1; i <= 80; i++) {
        struct adl_scenario scenario = random_scenario(i, 30 + i * 37 % 60);
        struct adl_error err = {.text = ""};
        struct adl_result result;
        scenario.network = networks[i % 2];
        const struct adl_run run = {.scenario = &scenario, .policy = &adl_policy_market, .seed = i};
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        if (result.unfinished > 0 || result.refused > 0)
            fail_msg("random scenario %u: %u jobs unfinished, %u refused", (unsigned)i, (unsigned)result.unfinished,
                     (unsigned)result.refused);
        adl_scenario_clear(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once_though_messages_are_lost_and_agents_crash),
        cmocka_unit_test(every_job_of_random_worlds_ends_on_bad_networks),
        cmocka_unit_test(running_jobs_move_to_gpus_where_they_end_earlier),
        cmocka_unit_test(during_a_partition_both_halves_start_jobs_and_afterwards_they_agree),
        cmocka_unit_test(a_copy_decides_alike_with_messages_on_their_way),
        cmocka_unit_test(what_a_job_costs_in_messages_is_bounded),
        cmocka_unit_test(racks_random_samples_and_agents_without_bids_finish_all_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
