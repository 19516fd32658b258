/* Tests of the price of energy in adlro: what draws more costs more, relative to the typical job, as far as the
 * objective weighs energy. */
#include "policy/adlro/corrections.h"
#include "policy/adlro/energy.h"
#include "policy/adlro/options.h"
#include "policy/policy.h"
#include "state_fixture.h"

#include <math.h>

#define SECOND INT64_C(1000000)

enum { HUNGRY, FRUGAL, TYPES };

static struct adl_cluster cluster;

/* One node of two GPUs of each type. Beyond idle, at a load of 0.58, the hungry type draws 300 W, the frugal one 30 W.
 */
static void open_cluster(void)
{
    cluster = (struct adl_cluster){0};
    fixture_types(&cluster, TYPES);
    for (uint32_t t = 0; t < TYPES; t++) {
        const double beyond_w = t == HUNGRY ? 300 : 30;
        cluster.types[t].idle_w = cluster.types[t].context_w = 20;
        cluster.types[t].max_w = 20 + beyond_w / 0.58;
        fixture_node(&cluster, t, 2);
    }
}

static void assert_close(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-3 * fabs(wanted)))
        fail_msg("%g instead of %g", value, wanted);
}

/* Before any job has completed, the typical job has one GPU of any type: 165 W. */
static void energy_costs_what_its_draw_is_relative_to_the_typical_job(void **unused)
{
    (void)unused;
    static const double weights[] = {0, 1, 3};
    for (int i = 0; i < 3; i++) {
        struct adl_energy *energy;
        const struct adl_job_spec single = fixture_spec(1, 1), gang = fixture_spec(2, 4);
        open_cluster();
        assert_int_equal(adl_energy_create(&cluster, weights[i], 0, &energy), 0);
        const double unit = adl_energy_price(energy, &single, FRUGAL, 0);
        assert_close(unit, weights[i] * 0.95 * 30 / 165);
        assert_close(adl_energy_price(energy, &single, HUNGRY, 0), 10 * unit);
        assert_close(adl_energy_price(energy, &gang, FRUGAL, 0), 4 * unit);
        adl_energy_destroy(energy);
        adl_cluster_clear(&cluster);
    }
}

static void a_scarce_type_costs_more_energy_and_a_gang_pays_for_the_root_of_its_gpus(void **unused)
{
    (void)unused;
    struct adl_energy *energy;
    const struct adl_job_spec single = fixture_spec(1, 1), gang = fixture_spec(2, 4);
    open_cluster();
    assert_int_equal(adl_energy_create(&cluster, 1, 0, &energy), 0);
    const double one = adl_energy_price(energy, &single, FRUGAL, 3) - adl_energy_price(energy, &single, FRUGAL, 0);
    const double four = adl_energy_price(energy, &gang, FRUGAL, 3) - adl_energy_price(energy, &gang, FRUGAL, 0);
    assert_true(one > 3);
    assert_close(four, 2 * one);
    assert_close(adl_energy_price(energy, &single, FRUGAL, 6) - adl_energy_price(energy, &single, FRUGAL, 0), 2 * one);
    adl_energy_destroy(energy);
    adl_cluster_clear(&cluster);
}

static void power_readings_tell_what_jobs_of_a_class_draw(void **unused)
{
    (void)unused;
    struct adl_energy *energy;
    const int64_t run_us[TYPES] = {100 * SECOND, 100 * SECOND};
    struct adl_job_spec spec = fixture_spec(1, 1);
    const uint32_t gpu = 0;
    open_cluster();
    assert_int_equal(adl_energy_create(&cluster, 1, 0, &energy), 0);
    struct adl_state *state = fixture_state(&cluster);
    assert_int_equal(adl_state_admit(state, 0, &spec, run_us), 0);
    assert_int_equal(adl_state_enqueue(state, 0, 0), 0);
    adl_state_start(state, 0, &gpu);
    struct adl_event event = {.time_us = 10 * SECOND, .kind = ADL_EVENT_TELEMETRY, .job = ADL_NONE, .gpu = gpu};
    event.telemetry.value[ADL_READ_POWER] = 20 + 75; /* a quarter of what was assumed */
    const double before = adl_energy_price(energy, &spec, HUNGRY, 0);
    adl_energy_observe(energy, &event, state);
    assert_close(adl_energy_price(energy, &spec, HUNGRY, 0), before / 4);
    spec.class_index++;
    assert_close(adl_energy_price(energy, &spec, HUNGRY, 0), before);
    adl_state_destroy(state);
    adl_energy_destroy(energy);
    adl_cluster_clear(&cluster);
}

/* Adlro with these settings on the cluster, and what it decides on. */
struct bed {
    struct adl_state *state;
    struct adl_plan plan;
    void *policy;
};

static struct bed open_bed(const char *settings)
{
    struct adl_policy_config config = {.settings = settings};
    struct bed bed;
    open_cluster();
    bed.state = fixture_state(&cluster);
    assert_int_equal(adl_plan_create(&bed.plan, cluster.gpu_count), 0);
    assert_int_equal(adl_policy_create(&adl_policy_adlro, &config, &cluster, 1, &bed.policy, NULL), 0);
    return bed;
}

static void close_bed(struct bed *bed)
{
    adl_policy_adlro.destroy(bed->policy);
    adl_plan_clear(&bed->plan);
    adl_state_destroy(bed->state);
    adl_cluster_clear(&cluster);
}

/* The hungry type is faster by a quarter. */
static void a_frugal_objective_starts_a_job_where_it_draws_less(void **unused)
{
    (void)unused;
    for (int frugal = 0; frugal < 2; frugal++) {
        struct bed bed = open_bed(frugal ? "objective=frugal" : "objective=fast");
        const struct adl_job_spec spec = fixture_spec(1, 1);
        const int64_t run_us[TYPES] = {80 * SECOND, 100 * SECOND};
        assert_int_equal(adl_state_admit(bed.state, 0, &spec, run_us), 0);
        assert_int_equal(adl_state_enqueue(bed.state, 0, adl_policy_adlro.rank(bed.policy, bed.state, 0)), 0);
        assert_int_equal(adl_policy_adlro.decide(bed.policy, bed.state, &bed.plan), 0);
        assert_int_equal(bed.plan.command_count, 1);
        assert_int_equal(adl_gpu_type_of(&cluster, bed.plan.gpus[0]), frugal ? FRUGAL : HUNGRY);
        close_bed(&bed);
    }
}

/* Idle GPUs draw 20 W each, for as long as jobs are there. */
static void the_draw_of_idle_gpus_is_shared_by_the_jobs_that_are_there(void **unused)
{
    (void)unused;
    struct adl_energy *energy;
    const struct adl_job_spec spec = fixture_spec(1, 1);
    open_cluster();
    assert_int_equal(adl_energy_create(&cluster, 1, 0, &energy), 0);
    struct adl_state *state = fixture_state(&cluster);
    const double own = adl_energy_price(energy, &spec, FRUGAL, 0), watt = own / 30;
    fixture_run(state, 0, &spec, 100 * SECOND, 0);
    adl_energy_begin(energy, state);
    assert_close(adl_energy_price(energy, &spec, FRUGAL, 0), own + 3 * 20 * watt);
    assert_close(adl_energy_wait_price(energy), 3 * 20 * watt);
    fixture_run(state, 1, &spec, 100 * SECOND, 1);
    fixture_queue(state, 2, &spec, 100 * SECOND, 0);
    fixture_queue(state, 3, &spec, 100 * SECOND, 1);
    adl_energy_begin(energy, state);
    assert_close(adl_energy_wait_price(energy), 2 * 20 * watt / 4);
    fixture_run(state, 4, &spec, 100 * SECOND, 2);
    fixture_run(state, 5, &spec, 100 * SECOND, 3);
    adl_energy_begin(energy, state);
    assert_true(adl_energy_wait_price(energy) == 0); /* the cluster is full */
    assert_close(adl_energy_price(energy, &spec, FRUGAL, 0), own);
    adl_state_destroy(state);
    adl_energy_destroy(energy);
    adl_cluster_clear(&cluster);
}

enum { CROWD = 8, ALONE = CROWD, HOLDERS };

static void decide(struct bed *bed)
{
    bed->state->now_us += SECOND;
    adl_plan_reset(&bed->plan);
    assert_int_equal(adl_policy_adlro.decide(bed->policy, bed->state, &bed->plan), 0);
}

static void submit(struct bed *bed, uint32_t slot, uint32_t types, int64_t hungry_us)
{
    const int64_t run_us[TYPES] = {types >> HUNGRY & 1 ? hungry_us : 0, 100 * SECOND};
    struct adl_job_spec spec = fixture_spec(slot + 1, 1);
    spec.types = types;
    assert_int_equal(adl_state_admit(bed->state, slot, &spec, run_us), 0);
    assert_int_equal(adl_state_enqueue(bed->state, slot, adl_policy_adlro.rank(bed->policy, bed->state, slot)), 0);
}

/* Where a job starts that may run anywhere, and longer on the hungry type: after 40 decisions with eight jobs that wait
 * for the frugal type, and then some with an empty queue. */
static uint32_t starts_on(const char *settings, int empty)
{
    struct bed bed = open_bed(settings);
    struct adl_job_spec holder = fixture_spec(100, 1);
    for (uint32_t i = 0; i < 2; i++)
        fixture_run(bed.state, HOLDERS + i, &holder, 10000 * SECOND, 2 * FRUGAL + i);
    for (uint32_t slot = 0; slot < CROWD; slot++)
        submit(&bed, slot, 1u << FRUGAL, 0);
    for (int i = 0; i < 40; i++)
        decide(&bed);
    for (uint32_t slot = 0; slot < HOLDERS + 2; slot++)
        if (slot != ALONE)
            adl_state_finish(bed.state, slot);
    for (int i = 0; i < empty; i++)
        decide(&bed);
    submit(&bed, ALONE, 1u << HUNGRY | 1u << FRUGAL, 200 * SECOND);
    decide(&bed);
    assert_int_equal(bed.plan.command_count, 1);
    const uint32_t type = adl_gpu_type_of(&cluster, bed.plan.gpus[0]);
    close_bed(&bed);
    return type;
}

static void a_frugal_objective_forgets_prices_while_nobody_waits(void **unused)
{
    (void)unused;
    static const char *const frugal = "objective=tail:0,energy:0.01\nnetwork=false";
    assert_int_equal(starts_on(frugal, 0), HUNGRY);
    assert_int_equal(starts_on(frugal, 100), FRUGAL);
    assert_int_equal(starts_on("objective=tail:0\nnetwork=false", 100), HUNGRY);
}

/* The frugal GPUs are free in 100 s; on the hungry ones run jobs that could wait. */
static void a_stop_counts_the_energy_of_the_gpus_that_it_takes(void **unused)
{
    (void)unused;
    static const char *const settings[] = {"objective=fast\nnetwork=false", "objective=frugal"};
    for (int frugal = 0; frugal < 2; frugal++) {
        struct bed bed = open_bed(settings[frugal]);
        struct adl_job_spec holder = fixture_spec(100, 1);
        holder.flags |= ADL_JOB_PREEMPTIBLE;
        for (uint32_t gpu = 0; gpu < 4; gpu++)
            fixture_run(bed.state, HOLDERS + gpu, &holder, (gpu < 2 ? 2000 : 100) * SECOND, gpu);
        submit(&bed, 0, 1u << HUNGRY | 1u << FRUGAL, 100 * SECOND);
        decide(&bed);
        assert_int_equal(bed.plan.command_count, !frugal);
        assert_true(frugal || bed.plan.commands[0].kind == ADL_COMMAND_PREEMPT);
        close_bed(&bed);
    }
}

static void the_network_is_used_if_energy_has_no_weight(void **unused)
{
    (void)unused;
    struct adl_adlro_options options = {.objective = {.mean = 1}, .network = true};
    open_cluster();
    assert_true(adl_adlro_has_network(&options, &cluster));
    options.objective.energy = 1;
    assert_false(adl_adlro_has_network(&options, &cluster));
    options = (struct adl_adlro_options){.objective = {.mean = 1}, .network = false};
    assert_false(adl_adlro_has_network(&options, &cluster));
    adl_cluster_clear(&cluster);
}

/* Jobs took twice as long as predicted, and four times across nodes; most others as long as predicted. */
static void speeds_that_jobs_report_are_corrected_across_nodes_only(void **unused)
{
    (void)unused;
    struct adl_corrections *corrections;
    const struct adl_job_spec spec = fixture_spec(1, 2);
    struct adl_job_spec other = spec;
    open_cluster();
    other.class_index++;
    assert_int_equal(adl_corrections_create(&cluster, ADL_ACROSS_LEAST, &corrections), 0);
    for (int i = 0; i < 50; i++) {
        adl_corrections_learn(corrections, &spec, HUNGRY, false, log(2));
        adl_corrections_learn(corrections, &spec, HUNGRY, true, log(4));
        for (int n = 0; n < 8; n++)
            adl_corrections_learn(corrections, &other, HUNGRY, false, 0);
    }
    assert_true(adl_corrections_factor(corrections, &spec, HUNGRY, false) > 1.2);
    adl_corrections_measured(corrections, &spec);
    assert_close(adl_corrections_factor(corrections, &spec, HUNGRY, false), 1);
    assert_true(adl_corrections_factor(corrections, &spec, HUNGRY, true) > 1.2);
    adl_corrections_destroy(corrections);
    adl_cluster_clear(&cluster);
}

/* Links of 1 and 31 times the network: 1.2 times as long across nodes at least, 1.65 where energy counts; 1 + 0.2 * 30
 * times behind fast links. */
static void a_run_across_nodes_costs_more_where_links_are_much_faster_than_the_network(void **unused)
{
    (void)unused;
    struct adl_cluster links = {.network_gbs = 10};
    struct adl_corrections *corrections;
    fixture_types(&links, 2);
    fixture_node(&links, 0, 4);
    fixture_node(&links, 1, 4);
    links.nodes[0].link_gbs = 10;
    links.nodes[1].link_gbs = 310;
    assert_int_equal(adl_corrections_create(&links, ADL_ACROSS_LEAST, &corrections), 0);
    assert_close(adl_corrections_across(corrections, 0), 1.2);
    assert_close(adl_corrections_across(corrections, 1), 7);
    adl_corrections_destroy(corrections);
    assert_int_equal(adl_corrections_create(&links, ADL_ACROSS_LEAST_FRUGAL, &corrections), 0);
    assert_close(adl_corrections_across(corrections, 0), exp(0.5));
    assert_close(adl_corrections_across(corrections, 1), 7);
    adl_corrections_destroy(corrections);
    adl_cluster_clear(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_costs_what_its_draw_is_relative_to_the_typical_job),
        cmocka_unit_test(a_scarce_type_costs_more_energy_and_a_gang_pays_for_the_root_of_its_gpus),
        cmocka_unit_test(power_readings_tell_what_jobs_of_a_class_draw),
        cmocka_unit_test(a_frugal_objective_starts_a_job_where_it_draws_less),
        cmocka_unit_test(the_draw_of_idle_gpus_is_shared_by_the_jobs_that_are_there),
        cmocka_unit_test(a_frugal_objective_forgets_prices_while_nobody_waits),
        cmocka_unit_test(a_stop_counts_the_energy_of_the_gpus_that_it_takes),
        cmocka_unit_test(the_network_is_used_if_energy_has_no_weight),
        cmocka_unit_test(speeds_that_jobs_report_are_corrected_across_nodes_only),
        cmocka_unit_test(a_run_across_nodes_costs_more_where_links_are_much_faster_than_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
