/* test_slurm_energy: readings of nodes' meters, and the jobs that they are charged to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "executor/executor.h"
#include "executor/slurm/slurm_energy.h"

#include <math.h>
#include <string.h>

#define S INT64_C(1000000)

/* Node 0 has four GPUs of 300 W (20 W idle); node 1 one of 300 W and one of 100 W (10 W). */
static struct adl_cluster cluster;
static struct adl_slurm_energy *energy;

static int begin(void **state)
{
    (void)state;
    const struct adl_gpu_type large = {.name = "large", .idle_w = 20, .context_w = 30, .max_w = 300};
    const struct adl_gpu_type small = {.name = "small", .idle_w = 10, .context_w = 15, .max_w = 100};
    const struct adl_node nodes[] = {{.name = "n0"}, {.name = "n1"}};
    const struct adl_bank_spec four[] = {{0, 4}}, mixed[] = {{0, 1}, {1, 1}};
    memset(&cluster, 0, sizeof cluster);
    assert_int_equal(adl_cluster_add_type(&cluster, &large, NULL), 0);
    assert_int_equal(adl_cluster_add_type(&cluster, &small, NULL), 0);
    assert_int_equal(adl_cluster_add_node(&cluster, &nodes[0], four, 1, NULL), 0);
    assert_int_equal(adl_cluster_add_node(&cluster, &nodes[1], mixed, 2, NULL), 0);
    assert_int_equal(adl_slurm_energy_create(&cluster, &energy), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    adl_slurm_energy_destroy(energy);
    adl_cluster_clear(&cluster);
    return 0;
}

static void read_at(uint32_t node, double time_s, double joules, double watts)
{
    const struct adl_slurm_reading reading = {(int64_t)(time_s * 1e6), joules, watts, true};
    adl_slurm_energy_read(energy, node, &reading);
}

static void enter(double *account, uint32_t first, uint32_t count, double now_s)
{
    const uint32_t gpus[] = {first, first + 1, first + 2, first + 3};
    adl_slurm_energy_enter(energy, account, gpus, count, (int64_t)(now_s * 1e6));
}

static void leave(double *account, uint32_t first, uint32_t count, double now_s)
{
    const uint32_t gpus[] = {first, first + 1, first + 2, first + 3};
    adl_slurm_energy_leave(energy, account, gpus, count, (int64_t)(now_s * 1e6));
}

#define assert_joules(is, should) assert_about(__LINE__, is, should)
static void assert_about(int line, double is, double should)
{
    if (!(fabs(is - should) <= 1e-6 * (1 + fabs(should))))
        fail_msg("line %d: %.9g J, not %.9g", line, is, should);
}

static void assert_balance(uint32_t node)
{
    const struct adl_slurm_energy_sums sums = adl_slurm_energy_sum(energy, node);
    assert_joules(sums.jobs_j + sums.nobody_j - sums.predicted_j, sums.rise_j);
}

/* ---- what is whose ---- */

static void a_job_that_has_the_whole_node_gets_all_that_it_drew_while_it_ran(void **state)
{
    (void)state;
    double job = -1;
    read_at(0, 100, 5000, 80);
    read_at(0, 110, 5800, 80);
    enter(&job, 0, 4, 110);
    read_at(0, 120, 15800, 1000);
    assert_joules(job, 10000);
    leave(&job, 0, 4, 120);
    read_at(0, 130, 16600, 80);
    assert_joules(job, 10000);
    assert_joules(adl_slurm_energy_sum(energy, 0).nobody_j, 1600);
    assert_balance(0);
}

static void idle_power_of_free_gpus_is_charged_to_nobody(void **state)
{
    (void)state;
    double job = -1;
    read_at(0, 0, 0, 120);
    read_at(0, 10, 1200, 120); /* 30 W a GPU and not the catalogue's 20 */
    enter(&job, 1, 1, 10);
    read_at(0, 20, 1200 + 3 * 300 + 2500, 340);
    assert_joules(job, 2500);
    leave(&job, 1, 1, 20);
    assert_balance(0);
}

static void two_jobs_share_by_gpu_time(void **state)
{
    (void)state;
    double longer = -1, wider = -1;
    enter(&longer, 0, 1, 0);
    read_at(0, 0, 0, 1000);
    enter(&wider, 1, 3, 5);
    read_at(0, 10, 7000, 1000);
    /* One GPU for 10 s, three for 5 s; three were free for 5 s at 20 W. */
    assert_joules(longer, (7000 - 300) * 10 / 25.0);
    assert_joules(wider, (7000 - 300) * 15 / 25.0);
    assert_balance(0);
}

static void gpus_that_can_draw_more_count_for_more(void **state)
{
    (void)state;
    double large = -1, small = -1;
    enter(&large, 4, 1, 0);
    enter(&small, 5, 1, 0);
    read_at(1, 0, 0, 400);
    read_at(1, 10, 4000, 400);
    assert_joules(large, 3000);
    assert_joules(small, 1000);
}

static void energy_of_other_jobs_is_charged_to_nobody(void **state)
{
    (void)state;
    double job = -1;
    enter(&job, 0, 2, 0);
    adl_slurm_energy_others(energy, 0, 2, 0);
    read_at(0, 0, 0, 800);
    read_at(0, 10, 8000, 800);
    assert_joules(job, 4000);
    adl_slurm_energy_others(energy, 0, 0, 10 * S);
    read_at(0, 20, 8000 + 4000 + 400, 440);
    assert_joules(job, 8000);
    assert_balance(0);
}

static void a_gang_draws_on_all_its_nodes(void **state)
{
    (void)state;
    double gang = -1;
    const uint32_t gpus[] = {0, 1, 2, 3, 4, 5};
    adl_slurm_energy_enter(energy, &gang, gpus, 6, 0);
    read_at(0, 0, 0, 400);
    read_at(1, 0, 0, 100);
    read_at(0, 10, 4000, 400);
    read_at(1, 10, 1000, 100);
    adl_slurm_energy_leave(energy, &gang, gpus, 6, 12 * S);
    assert_joules(gang, 5000 + 2 * 500);
}

/* ---- between readings ---- */

static void energy_after_the_last_reading_is_extrapolated_and_not_counted_twice(void **state)
{
    (void)state;
    double ends = -1, stays = -1;
    enter(&ends, 0, 2, 0);
    enter(&stays, 2, 2, 0);
    read_at(0, 0, 0, 400);
    read_at(0, 10, 4000, 400);
    leave(&ends, 0, 2, 14);
    assert_joules(ends, 2000 + 4 * 200);
    assert_joules(adl_slurm_energy_sum(energy, 0).predicted_j, 800);
    /* 400 W until 14 s, then 200 W and two GPUs at 20 W. */
    read_at(0, 20, 4000 + 1600 + 6 * 240, 240);
    assert_joules(ends, 2800);
    assert_joules(stays, 2000 + 800 + 1200);
    assert_joules(adl_slurm_energy_sum(energy, 0).predicted_j, 0);
    assert_balance(0);
}

static void an_extrapolation_that_was_too_high_is_subtracted_from_the_next_rise(void **state)
{
    (void)state;
    double job = -1;
    enter(&job, 0, 4, 0);
    read_at(0, 0, 0, 1000);
    read_at(0, 10, 10000, 1000);
    leave(&job, 0, 4, 15);
    assert_joules(job, 15000);
    read_at(0, 20, 10100, 10); /* it had stopped drawing */
    assert_joules(adl_slurm_energy_sum(energy, 0).predicted_j, 4900);
    assert_balance(0);
    read_at(0, 30, 20100, 1000);
    assert_joules(adl_slurm_energy_sum(energy, 0).predicted_j, 0);
    assert_joules(adl_slurm_energy_sum(energy, 0).nobody_j, 5100);
    assert_balance(0);
}

static void a_job_between_two_readings_has_no_energy_and_is_charged_to_nobody(void **state)
{
    (void)state;
    double brief = -1, beside = -1;
    enter(&beside, 0, 2, 0);
    read_at(0, 0, 0, 440);
    read_at(0, 10, 4400, 440);
    enter(&brief, 2, 2, 12);
    leave(&brief, 2, 2, 17);
    assert_true(brief < 0);
    read_at(0, 20, 4400 + 4000 + 5 * 400 + 5 * 40, 440);
    assert_true(brief < 0);
    assert_joules(beside, 8000);
    assert_balance(0);
}

static void energy_is_extrapolated_for_at_most_two_gaps_between_readings(void **state)
{
    (void)state;
    double job = -1, beside = -1;
    enter(&job, 0, 2, 0);
    enter(&beside, 2, 2, 0);
    read_at(0, 0, 0, 400);
    read_at(0, 10, 4000, 400);
    leave(&job, 0, 2, 1010);
    assert_joules(job, 2000 + 20 * 200);
    read_at(0, 1010, 404000, 400); /* slurmctld is back */
    assert_joules(job, 6000);
    assert_joules(beside, 202000); /* and is not made to pay for the other */
    assert_balance(0);
}

/* ---- meters ---- */

static void a_job_that_ran_before_the_first_reading_counts_from_there(void **state)
{
    (void)state;
    double job = -1;
    enter(&job, 0, 4, 0);
    read_at(0, 5000, 1e6, 100);
    assert_true(job < 0);
    read_at(0, 5010, 1e6 + 1000, 100);
    assert_joules(job, 1000);
}

static void a_counter_that_decreases_or_jumps_starts_again(void **state)
{
    (void)state;
    double job = -1;
    enter(&job, 0, 4, 0);
    read_at(0, 0, 50000, 100);
    read_at(0, 10, 51000, 100);
    read_at(0, 20, 300, 100);
    assert_joules(job, 1000);
    read_at(0, 30, 1300, 100);
    assert_joules(job, 2000);
    read_at(0, 40, 1e12, 100);
    assert_joules(job, 2000);
    read_at(0, 50, 1e12 + 1000, 100);
    assert_joules(job, 3000);
    assert_balance(0);
}

static void a_reading_that_is_not_newer_changes_nothing(void **state)
{
    (void)state;
    double job = -1;
    enter(&job, 0, 4, 0);
    read_at(0, 0, 0, 100);
    read_at(0, 10, 1000, 100);
    read_at(0, 10, 1000, 100);
    read_at(0, 9, 900, 100);
    read_at(0, 20, 2000, 100);
    assert_joules(job, 2000);
}

static void without_a_meter_nothing_is_known(void **state)
{
    (void)state;
    double job = -1;
    struct adl_report report;
    enter(&job, 0, 4, 0);
    adl_slurm_energy_read(energy, 0, NULL);
    leave(&job, 0, 4, 10);
    assert_true(job < 0);
    assert_int_equal(adl_slurm_energy_next_sample(energy, &report), 0);
    enter(&job, 0, 4, 10);
    read_at(0, 10, 0, 100);
    read_at(0, 20, 1000, 100);
    adl_slurm_energy_read(energy, 0, NULL);
    leave(&job, 0, 4, 25);
    assert_joules(job, 1000);
    assert_balance(0);
}

static void allocations_do_not_wait_for_ever_for_a_reading(void **state)
{
    (void)state;
    double job = -1;
    read_at(0, 0, 0, 100);
    read_at(0, 10, 1000, 100);
    for (int i = 0; i < 5000; i++) {
        enter(&job, 0, 4, 11 + i);
        leave(&job, 0, 4, 12 + i);
    }
    assert_true(job < 0);
    enter(&job, 0, 4, 6000);
    read_at(0, 6000, 700000, 100); /* by now it is another beginning */
    assert_true(job < 0);
    read_at(0, 6010, 701000, 100);
    assert_joules(job, 1000);
    assert_balance(0);
}

/* ---- power ---- */

static void the_power_of_a_node_is_that_of_its_gpus(void **state)
{
    (void)state;
    double one = -1, two = -1;
    struct adl_report report;
    enter(&one, 0, 2, 0);
    read_at(0, 0, 0, 440);
    const double first[] = {200, 200, 20, 20};
    for (uint32_t g = 0; g < 4; g++) {
        assert_int_equal(adl_slurm_energy_next_sample(energy, &report), 1);
        assert_int_equal(report.kind, ADL_REPORT_SAMPLE);
        assert_int_equal(report.gpu, g);
        assert_int_equal(report.sample.readings.missing | 1u << ADL_READ_POWER, (1u << ADL_READ_COUNT) - 1);
        assert_joules((double)report.sample.readings.value[ADL_READ_POWER], first[g]);
        assert_false(report.sample.blurred);
        assert_true(report.sample.energy_j < 0 && report.sample.memory_used_mib < 0);
    }
    assert_int_equal(adl_slurm_energy_next_sample(energy, &report), 0);
    enter(&two, 2, 1, 1);
    read_at(0, 10, 4400, 620);
    assert_int_equal(adl_slurm_energy_next_sample(energy, &report), 1);
    assert_joules((double)report.sample.readings.value[ADL_READ_POWER], 200);
    assert_true(report.sample.blurred); /* what each of the two draws nobody knows */
}

static void meters_of_more_than_gpus_give_no_power_of_gpus(void **state)
{
    (void)state;
    struct adl_report report;
    const struct adl_slurm_reading reading = {.time_us = S, .joules = 5, .watts = 500, .gpus = false};
    adl_slurm_energy_read(energy, 0, &reading);
    assert_int_equal(adl_slurm_energy_next_sample(energy, &report), 0);
}

/* ---- whatever happens ---- */

#define JOBS 4
#define LONG 400

/* A node whose free GPUs draw 25 W and others as their jobs would have it; times in tenths of a second. */
struct world {
    double account[JOBS], truth[JOBS];
    int64_t since[JOBS]; /* 0 = it does not run; job j has GPU j */
    double watts[JOBS];
    double joules, given_before;
    int64_t read; /* the last reading */
    bool equal;   /* all jobs draw alike: then shares are exact */
};

static double watts_of(const struct world *world)
{
    double sum = 0;
    for (int j = 0; j < JOBS; j++)
        sum += world->since[j] > 0 ? world->watts[j] : 25;
    return sum;
}

static void finish(struct world *world, int j, int64_t now)
{
    const bool seen = world->since[j] <= world->read;
    leave(&world->account[j], (uint32_t)j, 1, (double)now * 0.1);
    world->since[j] = 0;
    if (world->equal && seen)
        assert_joules(world->account[j], world->truth[j]);
    else if (!seen)
        assert_true(world->account[j] < 0);
    world->given_before += world->account[j] > 0 ? world->account[j] : 0;
    world->account[j] = -1;
    world->truth[j] = 0;
}

static void run_world(struct world *world, struct adl_rng *rng)
{
    for (int64_t now = 1, due = 20; now < LONG * 10; now++) {
        world->joules += 0.1 * watts_of(world);
        for (int j = 0; j < JOBS; j++) {
            world->truth[j] += world->since[j] > 0 ? 0.1 * world->watts[j] : 0;
            if (now < 100 || adl_rng_below(rng, 40) > 0)
                continue; /* the node is seen idle first */
            if (world->since[j] > 0) {
                finish(world, j, now);
            } else {
                world->watts[j] = world->equal ? 240 : 50 + (double)adl_rng_below(rng, 250);
                world->since[j] = now;
                enter(&world->account[j], (uint32_t)j, 1, (double)now * 0.1);
            }
        }
        if (now < due)
            continue;
        read_at(0, (double)now * 0.1, world->joules, watts_of(world));
        world->read = now;
        due = now + 15 + adl_rng_below(rng, 14); /* less than twice as long as any other */
        const struct adl_slurm_energy_sums sums = adl_slurm_energy_sum(energy, 0);
        double jobs_j = world->given_before;
        for (int j = 0; j < JOBS; j++)
            jobs_j += world->account[j] > 0 ? world->account[j] : 0;
        assert_joules(jobs_j, sums.jobs_j);
        assert_balance(0);
    }
}

static void energy_of_jobs_and_of_nobody_sums_to_the_rise_of_the_meters(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world world = {.equal = seed % 2 == 0};
        struct adl_rng rng;
        adl_rng_seed(&rng, seed, "energy");
        for (int j = 0; j < JOBS; j++)
            world.account[j] = -1;
        run_world(&world, &rng);
        end(state);
        begin(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_job_that_has_the_whole_node_gets_all_that_it_drew_while_it_ran),
        TEST(idle_power_of_free_gpus_is_charged_to_nobody),
        TEST(two_jobs_share_by_gpu_time),
        TEST(gpus_that_can_draw_more_count_for_more),
        TEST(energy_of_other_jobs_is_charged_to_nobody),
        TEST(a_gang_draws_on_all_its_nodes),
        TEST(energy_after_the_last_reading_is_extrapolated_and_not_counted_twice),
        TEST(an_extrapolation_that_was_too_high_is_subtracted_from_the_next_rise),
        TEST(a_job_between_two_readings_has_no_energy_and_is_charged_to_nobody),
        TEST(energy_is_extrapolated_for_at_most_two_gaps_between_readings),
        TEST(a_job_that_ran_before_the_first_reading_counts_from_there),
        TEST(a_counter_that_decreases_or_jumps_starts_again),
        TEST(a_reading_that_is_not_newer_changes_nothing),
        TEST(without_a_meter_nothing_is_known),
        TEST(allocations_do_not_wait_for_ever_for_a_reading),
        TEST(the_power_of_a_node_is_that_of_its_gpus),
        TEST(meters_of_more_than_gpus_give_no_power_of_gpus),
        TEST(energy_of_jobs_and_of_nobody_sums_to_the_rise_of_the_meters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
