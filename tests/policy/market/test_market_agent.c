/* Tests of policy/market/agent.h: what one agent decides, on memory made by hand; and that it reads no other memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "policy/market/valuation.h"

#define AGENTS  5
#define GPUS    4
#define ENTRIES 32
#define NOW     1000000

/* All that a market of five nodes with four GPUs each keeps. */
struct memory {
    struct adl_market_agent agents[AGENTS];
    struct adl_agent_bank banks[AGENTS];
    struct adl_agent_node nodes[AGENTS];
    struct adl_agent_gpu gpus[AGENTS * GPUS];
    int64_t ends_us[AGENTS * GPUS];
    struct adl_entry entries[ENTRIES];
    struct adl_order_node order[ENTRIES];
    uint32_t entry_count;
};

static const struct adl_bid_weights plain = {0};
static const float power[] = {1, 1.5F};

static void set_up(struct memory *m)
{
    memset(m, 0, sizeof *m);
    for (uint32_t a = 0; a < AGENTS; a++) {
        adl_order_init(&m->agents[a].queue);
        m->agents[a].others = ADL_NONE;
        m->agents[a].bank_first = m->agents[a].node_first = a;
        m->agents[a].gpu_first = a * GPUS;
        m->agents[a].bank_count = 1;
        m->banks[a] = (struct adl_agent_bank){.free_mask = 0xf, .gpus = GPUS, .up_gpus = GPUS};
        m->nodes[a] =
            (struct adl_agent_node){.free_cores = 32, .free_memory_mib = 4096, .cores = 32, .memory_mib = 4096};
        for (uint32_t g = 0; g < GPUS; g++) {
            m->gpus[a * GPUS + g] = (struct adl_agent_gpu){ADL_NONE, ADL_NONE, 0};
            m->ends_us[a * GPUS + g] = ADL_END_IDLE;
        }
    }
}

static struct adl_agent_view view_of(const struct memory *m, uint32_t agent, const struct adl_bid_weights *weights)
{
    return (struct adl_agent_view){.self = &m->agents[agent],
                                   .banks = &m->banks[agent],
                                   .nodes = &m->nodes[agent],
                                   .gpus = &m->gpus[agent * GPUS],
                                   .ends_us = &m->ends_us[agent * GPUS],
                                   .entries = m->entries,
                                   .order = m->order,
                                   .weights = weights,
                                   .power = power};
}

static struct adl_announced job_of(uint16_t gpus, int64_t run_us)
{
    return (struct adl_announced){
        .types = 1,
        .gpus = gpus,
        .bank = ADL_NONE,
        .cpu_cores = 1,
        .run_us = run_us,
        .key_us = run_us * gpus,
        .since_us = NOW,
        .due_us = INT64_MAX,
        .others = {{0, (float)run_us, (float)run_us}, {1, 2 * (float)run_us, 2 * (float)run_us}, {ADL_NONE, 0, 0}}};
}

static void run_on(struct memory *m, uint32_t agent, uint32_t gpu, int64_t end_us)
{
    m->banks[agent].free_mask &= ~(UINT64_C(1) << gpu);
    m->ends_us[agent * GPUS + gpu] = end_us;
}

static uint32_t queue_job(struct memory *m, uint32_t agent, struct adl_announced job)
{
    const uint32_t entry = m->entry_count++;
    m->entries[entry] = (struct adl_entry){.job = job, .phase = ADL_ENTRY_WAITS, .agent = agent};
    adl_order_insert(m->order, &m->agents[agent].queue, entry, job.key_us, entry, job.gpus);
    m->agents[agent].queued_us += (double)job.run_us * job.gpus;
    m->banks[agent].waiting++;
    return entry;
}

static double cost(const struct memory *m, uint32_t agent, const struct adl_bid_weights *weights,
                   struct adl_announced job)
{
    const struct adl_agent_view view = view_of(m, agent, weights);
    const struct adl_bid bid = adl_agent_bid(&view, &job, NOW);
    assert_true(bid.possible);
    return bid.cost_us;
}

/* ---- bids ---- */

static void an_idle_agent_bids_the_run_time(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    assert_true(cost(&m, 0, &plain, job_of(1, 500)) == 500);
}

static void a_busy_agent_adds_the_wait_for_the_gpus_that_the_job_needs(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    for (uint32_t g = 0; g < GPUS; g++)
        run_on(&m, 0, g, NOW + 100 * (g + 1));
    assert_true(cost(&m, 0, &plain, job_of(1, 500)) == 600);
    assert_true(cost(&m, 0, &plain, job_of(3, 500)) == 800);
}

static void jobs_before_it_in_the_queue_count_and_those_behind_it_are_delayed(void **state)
{
    (void)state;
    struct memory m;
    const struct adl_bid_weights delays = {.delay = 1};
    set_up(&m);
    for (uint32_t g = 0; g < GPUS; g++)
        run_on(&m, 0, g, NOW + 100);
    queue_job(&m, 0, job_of(4, 50));
    queue_job(&m, 0, job_of(4, 900));
    assert_true(cost(&m, 0, &plain, job_of(4, 200)) == 100 + 50 + 200);
    assert_true(cost(&m, 0, &delays, job_of(4, 200)) == 100 + 50 + 200 + 200);
}

static void price_energy_deadline_and_fragments_count_as_shares_of_the_run(void **state)
{
    (void)state;
    struct memory m;
    struct adl_announced job = job_of(1, 1000);
    set_up(&m);
    job.price = 0.25F;
    assert_true(cost(&m, 0, &(struct adl_bid_weights){.price = 2}, job) == 1500);
    assert_true(cost(&m, 0, &(struct adl_bid_weights){.fragment = 1}, job) == 1750);
    job.due_us = NOW + 999;
    assert_true(cost(&m, 0, &(struct adl_bid_weights){.sla = 0.5}, job) == 1500);
    job.due_us = NOW + 1000;
    assert_true(cost(&m, 0, &(struct adl_bid_weights){.sla = 0.5}, job) == 1000);
    m.banks[0].type = job.type = 1;
    assert_true(cost(&m, 0, &(struct adl_bid_weights){.energy = 1}, job) == 1500);
}

static void an_agent_does_not_bid_for_what_it_can_never_host(void **state)
{
    (void)state;
    struct memory m;
    struct adl_announced job = job_of(5, 100);
    set_up(&m);
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_false(adl_agent_bid(&view, &job, NOW).possible);
    assert_true(adl_agent_bid(&view, &job, NOW).cost_us == ADL_COST_NEVER);
    job.gpus = 4;
    assert_true(adl_agent_bid(&view, &job, NOW).possible);
    m.banks[0].up_gpus = 3; /* one is down */
    assert_false(adl_agent_bid(&view, &job, NOW).possible);
    job.gpus = 2;
    job.cpu_cores = 17;
    assert_false(adl_agent_bid(&view, &job, NOW).possible);
}

static void for_a_part_of_a_gang_it_says_what_it_has_now_and_what_later(void **state)
{
    (void)state;
    struct memory m;
    struct adl_announced job = job_of(16, 100);
    set_up(&m);
    job.part = true;
    job.bank = 0;
    run_on(&m, 0, 2, NOW + 300);
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    const struct adl_bid bid = adl_agent_bid(&view, &job, NOW);
    assert_true(bid.possible && bid.now_gpus == 3 && bid.gpus == 4 && bid.start_us == NOW + 300);
}

/* ---- starts ---- */

static void the_first_in_rank_that_fits_starts(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    run_on(&m, 0, 0, NOW + 300);
    queue_job(&m, 0, job_of(4, 10));
    const uint32_t second = queue_job(&m, 0, job_of(2, 100));
    queue_job(&m, 0, job_of(1, 900));
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_choose(&view, NOW).entry, second);
}

static void nobody_delays_a_job_that_has_waited_longer_than_it_runs(void **state)
{
    (void)state;
    struct memory m;
    struct adl_announced waits = job_of(4, 10);
    set_up(&m);
    run_on(&m, 0, 0, NOW + 300);
    waits.since_us = NOW - 10;
    queue_job(&m, 0, waits);
    queue_job(&m, 0, job_of(1, 301));
    struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_choose(&view, NOW).entry, ADL_NONE);
    const uint32_t shorter = queue_job(&m, 0, job_of(1, 300));
    view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_choose(&view, NOW).entry, shorter);
}

static void a_job_that_no_bank_can_run_any_more_is_hopeless(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    const uint32_t entry = queue_job(&m, 0, job_of(4, 10));
    m.banks[0].up_gpus = 3;
    m.banks[0].free_mask = 0x7;
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    const struct adl_agent_choice choice = adl_agent_choose(&view, NOW);
    assert_true(choice.entry == ADL_NONE && choice.hopeless == entry);
}

static void gpus_that_are_held_for_a_gang_are_nobody_elses(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    queue_job(&m, 0, job_of(2, 10));
    m.banks[0].held = 0x7;
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_choose(&view, NOW).entry, ADL_NONE);
    assert_int_equal(adl_agent_tell(&view, 0, NOW).free_gpus, 1);
    const struct adl_announced job = job_of(2, 10);
    const struct adl_bid bid = adl_agent_bid(&view, &job, NOW); /* it says that it may be able later */
    assert_true(!bid.possible && bid.cost_us == ADL_COST_HELD);
}

/* All GPUs are busy until NOW + 1000, so that every job waits at least as long. */
static void an_agent_gives_away_the_job_that_gains_most_for_its_gpu_time(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    for (uint32_t g = 0; g < GPUS; g++)
        run_on(&m, 0, g, NOW + 1000);
    queue_job(&m, 0, job_of(3, 10));
    const uint32_t shorter = queue_job(&m, 0, job_of(2, 100)), longer = queue_job(&m, 0, job_of(2, 900));
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_spare(&view, 1, 2, NOW), shorter);
    assert_int_equal(adl_agent_spare(&view, 1, 1, NOW), ADL_NONE); /* none is so small */
    assert_int_equal(adl_agent_spare(&view, 4, 2, NOW), ADL_NONE); /* none runs on that type */
    m.entries[shorter].job.moved = ADL_MARKET_MOVES_MAX;
    assert_int_equal(adl_agent_spare(&view, 1, 2, NOW), longer);
}

static void an_agent_keeps_a_job_that_would_be_done_later_elsewhere(void **state)
{
    (void)state;
    struct memory m;
    set_up(&m);
    for (uint32_t g = 0; g < GPUS; g++)
        run_on(&m, 0, g, NOW + 1000);
    const uint32_t longer = queue_job(&m, 0, job_of(1, 1001)); /* on the other type it takes twice as long */
    const struct adl_agent_view view = view_of(&m, 0, &plain);
    assert_int_equal(adl_agent_spare(&view, 2, 4, NOW), ADL_NONE);
    assert_int_equal(adl_agent_spare(&view, 1, 4, NOW), longer);
}

/* ---- running jobs that move ---- */

/* A job that the agent has started on type 1 for NOW - ran to NOW + rest; on type 0 it takes half of that. */
static uint32_t run_job(struct memory *m, uint32_t agent, uint32_t gpu, int64_t ran_us, int64_t rest_us)
{
    const uint32_t entry = m->entry_count++;
    struct adl_announced job = job_of(1, (ran_us + rest_us) / 2);
    job.type = 1;
    job.preemptible = true;
    job.checkpoint_us = 100;
    m->banks[agent].type = 1;
    m->entries[entry] = (struct adl_entry){
        .job = job, .phase = ADL_ENTRY_RUNS, .agent = agent, .to = ADL_NONE, .held = UINT64_C(1) << gpu};
    m->gpus[agent * GPUS + gpu] = (struct adl_agent_gpu){entry, entry, NOW - ran_us};
    run_on(m, agent, gpu, NOW + rest_us);
    return entry;
}

static const struct adl_wanted idle = {.bank = 0, .type = 0, .gpus = 4};

static void the_running_job_moves_that_gains_most_beyond_the_price_of_its_stop(void **state)
{
    (void)state;
    const struct adl_bid_weights weights = {.price = 1, .stop = 2, .stop_us = 10};
    struct memory m;
    set_up(&m);
    const struct adl_agent_view view = view_of(&m, 0, &weights);
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
    run_job(&m, 0, 0, 250, 800);
    const uint32_t longer = run_job(&m, 0, 2, 330, 1000);
    const struct adl_relief relief = adl_agent_relieve(&view, &idle, NOW);
    assert_int_equal(relief.entry, longer);
    assert_true(relief.here_us == 1000); /* there: the rest and 30 since the checkpoint at half, and the stop */
    assert_true(relief.there_us > 524.9 && relief.there_us < 525.1);
    assert_true(relief.gain_us > 344.9 && relief.gain_us < 345.1);
    m.entries[longer].job.attempts = 5; /* what a stop costs counts six times */
    assert_int_not_equal(adl_agent_relieve(&view, &idle, NOW).entry, longer);
}

static void a_running_job_stays_that_must_or_that_gains_nothing(void **state)
{
    (void)state;
    const struct adl_bid_weights weights = {.price = 1, .stop = 2, .stop_us = 10};
    struct memory m;
    set_up(&m);
    const uint32_t entry = run_job(&m, 0, 1, 300, 1000);
    const struct adl_entry before = m.entries[entry];
    const struct adl_agent_view view = view_of(&m, 0, &weights);
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, entry);
    m.entries[entry].job.preemptible = false;
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
    m.entries[entry] = before;
    m.entries[entry].job.moved = ADL_MARKET_MOVES_MAX;
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
    m.entries[entry] = before;
    m.entries[entry].stopped = true;
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
    m.entries[entry] = before;
    m.entries[entry].job.gpus = 5; /* more than are free there */
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
    m.entries[entry] = before;
    const struct adl_wanted dear = {.bank = 0, .type = 0, .gpus = 4, .price = 1}; /* as fast again, at twice the cost */
    assert_int_equal(adl_agent_relieve(&view, &dear, NOW).entry, ADL_NONE);
    m.ends_us[1] = NOW + 60; /* it saves less than its stop costs */
    assert_int_equal(adl_agent_relieve(&view, &idle, NOW).entry, ADL_NONE);
}

/* ---- locality ---- */

/* Garbage wherever the agent has nothing. */
static void poison(struct memory *m, uint32_t agent)
{
    const struct memory before = *m;
    memset(m, 0xff, sizeof *m);
    m->agents[agent] = before.agents[agent];
    m->banks[agent] = before.banks[agent];
    m->nodes[agent] = before.nodes[agent];
    memcpy(&m->ends_us[agent * GPUS], &before.ends_us[agent * GPUS], GPUS * sizeof *m->ends_us);
    memcpy(&m->gpus[agent * GPUS], &before.gpus[agent * GPUS], GPUS * sizeof *m->gpus);
    for (uint32_t g = 0; g < GPUS; g++) {
        const uint32_t e = before.gpus[agent * GPUS + g].entry;
        if (e != ADL_NONE)
            m->entries[e] = before.entries[e];
    }
    for (uint32_t e = before.agents[agent].queue.first; e != ADL_NONE; e = before.order[e].next) {
        m->entries[e] = before.entries[e];
        m->order[e] = before.order[e];
    }
}

struct decided {
    struct adl_bid bids[3];
    float features[2][ADL_BID_FEATURES], factors[2]; /* of the network, for what it may bid for */
    struct adl_agent_choice choice;
    struct adl_relief relief;
    uint32_t spare;
    double load;
    struct adl_bank_load told;
};

static float network[ADL_VALUATION_PARAMS];

static void draw_network(void)
{
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "network");
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        network[i] = (float)adl_rng_normal(&rng);
}

static void decide(const struct memory *m, uint32_t agent, struct decided *ret)
{
    const struct adl_bid_weights weights = {.price = 2, .energy = 0.1, .sla = 0.5, .fragment = 0.1, .delay = 0.3};
    const struct adl_agent_view view = view_of(m, agent, &weights);
    struct adl_announced asked[] = {job_of(1, 77), job_of(4, 300), job_of(9, 40)};
    memset(ret, 0, sizeof *ret);
    asked[2].part = true;
    asked[2].bank = agent;
    for (int i = 0; i < 3; i++) {
        const struct adl_bid bid = adl_agent_bid(&view, &asked[i], NOW);
        ret->bids[i].possible = bid.possible;
        ret->bids[i].cost_us = bid.cost_us;
        ret->bids[i].start_us = bid.start_us;
        ret->bids[i].gpus = bid.gpus;
        ret->bids[i].now_gpus = bid.now_gpus;
        if (asked[i].part)
            continue;
        adl_bid_observe(&view, &asked[i], &bid, NOW, ret->features[i]);
        ret->factors[i] = adl_valuation_log(network, ret->features[i], NULL);
    }
    ret->choice = adl_agent_choose(&view, NOW);
    const struct adl_wanted wanted = {.type = 1, .gpus = 4, .own_price = 10};
    const struct adl_relief relief = adl_agent_relieve(&view, &wanted, NOW);
    ret->relief.entry = relief.entry;
    ret->relief.gain_us = relief.gain_us;
    ret->relief.run_us = relief.run_us;
    ret->spare = adl_agent_spare(&view, 1, 2, NOW);
    ret->load = adl_agent_load(&view, 0);
    const struct adl_bank_load told = adl_agent_tell(&view, 0, NOW);
    ret->told.bank = told.bank;
    ret->told.free_gpus = told.free_gpus;
    ret->told.waiting = told.waiting;
    ret->told.open_us = told.open_us;
}

static void an_agent_decides_the_same_bits_when_all_other_memory_is_garbage(void **state)
{
    (void)state;
    struct memory m, poisoned;
    struct decided whole, alone;
    bool differ = false;
    float first = 0;
    draw_network();
    set_up(&m);
    for (uint32_t a = 0; a < AGENTS; a++)
        for (uint32_t g = 0; g < a; g++)
            run_job(&m, a, g, 50, 1000 * (a + 1) + 10 * g);
    for (uint32_t e = 0; e < m.entry_count; e++)
        m.entries[e].job.type = 0; /* as jobs that wait */
    for (uint32_t a = 0; a < AGENTS; a++)
        m.banks[a].type = 0;
    for (uint32_t i = 0; i < 16; i++)
        queue_job(&m, i % AGENTS, job_of((uint16_t)(1 + i % 4), 50 + 13 * i));
    for (uint32_t a = 0; a < AGENTS; a++) {
        poisoned = m;
        poison(&poisoned, a);
        decide(&m, a, &whole);
        assert_int_equal(whole.relief.entry != ADL_NONE, a > 0); /* it would move a job, if one runs */
        decide(&poisoned, a, &alone);
        assert_memory_equal(&whole, &alone, sizeof whole);
        differ |= a > 0 && (whole.factors[0] < first || whole.factors[0] > first);
        first = a == 0 ? whole.factors[0] : first;
    }
    assert_true(differ); /* the network does see the agent's own memory */
}

/* ---- the network ---- */

static void a_network_of_zeros_leaves_bids_alone_and_no_network_leaves_its_limits(void **state)
{
    (void)state;
    static const float none[ADL_VALUATION_PARAMS];
    float features[ADL_BID_FEATURES], large[ADL_VALUATION_PARAMS];
    for (int i = 0; i < ADL_BID_FEATURES; i++)
        features[i] = (float)(i % 2);
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        large[i] = 1e5F;
    assert_true(adl_valuation_log(none, features, NULL) == 0);
    assert_true(adl_valuation_log(large, features, NULL) <= ADL_VALUATION_LIMIT);
    for (int i = 0; i < ADL_VALUATION_PARAMS; i++)
        large[i] = -1e5F;
    assert_true(adl_valuation_log(large, features, NULL) >= -ADL_VALUATION_LIMIT);
}

static void a_network_is_read_back_and_a_damaged_file_is_refused(void **state)
{
    (void)state;
    struct adl_valuation it = {.seed = 7, .episodes = 9}, back = {0};
    struct adl_text bytes = {0};
    struct adl_error err;
    draw_network();
    memcpy(it.params, network, sizeof it.params);
    adl_valuation_encode(&it, &bytes);
    assert_int_equal(adl_text_status(&bytes), 0);
    assert_int_equal(adl_valuation_decode(bytes.data, bytes.size, &back, &err), 0);
    assert_true(back.seed == 7 && back.episodes == 9);
    assert_memory_equal(it.params, back.params, sizeof it.params);
    for (size_t i = 0; i < bytes.size; i++) { /* every byte counts, and so does the length */
        bytes.data[i] ^= 0x10;
        assert_true(adl_valuation_decode(bytes.data, bytes.size, &back, &err) < 0);
        bytes.data[i] ^= 0x10;
        assert_true(adl_valuation_decode(bytes.data, i, &back, &err) < 0);
    }
    adl_text_clear(&bytes);
    it.params[3] = 1e30F;
    adl_valuation_encode(&it, &bytes);
    assert_true(adl_valuation_decode(bytes.data, bytes.size, &back, &err) < 0);
    assert_non_null(strstr(err.text, "finite"));
    adl_text_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_agent_bids_the_run_time),
        cmocka_unit_test(a_busy_agent_adds_the_wait_for_the_gpus_that_the_job_needs),
        cmocka_unit_test(jobs_before_it_in_the_queue_count_and_those_behind_it_are_delayed),
        cmocka_unit_test(price_energy_deadline_and_fragments_count_as_shares_of_the_run),
        cmocka_unit_test(an_agent_does_not_bid_for_what_it_can_never_host),
        cmocka_unit_test(for_a_part_of_a_gang_it_says_what_it_has_now_and_what_later),
        cmocka_unit_test(the_first_in_rank_that_fits_starts),
        cmocka_unit_test(nobody_delays_a_job_that_has_waited_longer_than_it_runs),
        cmocka_unit_test(a_job_that_no_bank_can_run_any_more_is_hopeless),
        cmocka_unit_test(gpus_that_are_held_for_a_gang_are_nobody_elses),
        cmocka_unit_test(an_agent_gives_away_the_job_that_gains_most_for_its_gpu_time),
        cmocka_unit_test(an_agent_keeps_a_job_that_would_be_done_later_elsewhere),
        cmocka_unit_test(the_running_job_moves_that_gains_most_beyond_the_price_of_its_stop),
        cmocka_unit_test(a_running_job_stays_that_must_or_that_gains_nothing),
        cmocka_unit_test(an_agent_decides_the_same_bits_when_all_other_memory_is_garbage),
        cmocka_unit_test(a_network_of_zeros_leaves_bids_alone_and_no_network_leaves_its_limits),
        cmocka_unit_test(a_network_is_read_back_and_a_damaged_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
