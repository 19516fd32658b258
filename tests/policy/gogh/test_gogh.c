/* Tests of the policy gogh on states made by hand: where jobs start, when they move, who shares a GPU, what SLAs do. */
#include "gogh_fixture.h"

#define ANY (ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE)

/* ---- where jobs start ---- */

static void with_nothing_known_a_job_starts_on_the_type_that_is_faster_by_its_specification(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    gogh_open_plain(&fixture, 1, 1);
    gogh_open(&fixture);
    const struct adl_job_spec spec = gogh_spec(1, 600, 0);
    gogh_submit(&fixture, 0, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, FAST);
    gogh_close(&fixture);
}

/* The second type is nearly as fast as the first, by its specification, and draws far less. */
static void with_nothing_known_a_job_starts_on_the_frugal_type_unless_progress_is_worth_much(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct gogh_fixture fixture;
        gogh_open_plain(&fixture, 1, 1);
        struct adl_gpu_type *frugal = &fixture.cluster.types[SLOW];
        frugal->fp32_tflops = frugal->fp16_tflops = 12;
        frugal->bandwidth_gbs = 800;
        frugal->max_w = 110;
        gogh_tell(&fixture, "worth_w=%d", much ? 7000 : 500);
        gogh_open(&fixture);
        const struct adl_job_spec spec = gogh_spec(1, 600, 0);
        gogh_submit(&fixture, 0, &spec);
        gogh_decide(&fixture);
        assert_runs_on(&fixture, 0, much ? FAST : SLOW);
        gogh_close(&fixture);
    }
}

static void a_job_starts_only_on_a_type_that_it_accepts(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < GOGH_TYPES; type++) {
        struct gogh_fixture fixture;
        gogh_open_plain(&fixture, 1, 1);
        gogh_open(&fixture);
        struct adl_job_spec spec = gogh_spec(1, 600, 0);
        spec.types = 1u << type;
        gogh_submit(&fixture, 0, &spec);
        gogh_submit(&fixture, 1, &spec);
        gogh_decide(&fixture);
        assert_runs_on(&fixture, 0, type);
        assert_int_equal(fixture.starts, 1);
        assert_int_equal(fixture.state->jobs[1].phase, ADL_PHASE_PENDING);
        gogh_close(&fixture);
    }
}

/* The fast GPUs are in a node with too few cores for the job, whoever else is there. */
static void a_job_does_not_wait_for_gpus_beside_which_it_never_has_room(void **state)
{
    (void)state;
    struct gogh_fixture fixture = {.config = {.preemption_us = 20 * S}};
    gogh_types(&fixture.cluster);
    fixture_node_of(&fixture.cluster, &(struct adl_bank_spec){FAST, 4}, 1, 4, 65536);
    fixture_node(&fixture.cluster, SLOW, 4);
    gogh_open(&fixture);
    struct adl_job_spec spec = gogh_spec(1, 600, 0);
    spec.gpus = 2;
    spec.cpu_cores = 3;
    gogh_submit(&fixture, 0, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, SLOW);
    gogh_close(&fixture);
}

static void after_measurements_that_contradict_the_specification_jobs_of_the_class_go_where_it_was_faster(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    gogh_open_plain(&fixture, 2, 2);
    gogh_open(&fixture);
    const struct adl_job_spec spec = gogh_spec(1, 600, 0), other = gogh_spec(2, 600, 0);
    gogh_submit(&fixture, 0, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, FAST);
    for (int i = 0; i < GOGH_READINGS; i++)
        gogh_progress(&fixture, 0, 1.0);
    gogh_finish(&fixture, 0);
    gogh_teach(&fixture, &spec, SLOW, 6.0, 0.5);
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 1, SLOW);
    gogh_submit(&fixture, 2, &other); /* of which nothing was measured */
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 2, FAST);
    gogh_close(&fixture);
}

/* ---- moves ---- */

/* Job 0 holds the one fast GPU and may not be stopped; job 1 runs on the one slow GPU, at half the speed. */
static void open_for_a_move(struct gogh_fixture *fixture, double cost_s)
{
    gogh_open_plain(fixture, 1, 1);
    fixture->config.preemption_us = (int64_t)(cost_s * S);
}

/* What a stop of job 1 loses. */
struct loss {
    int stop_loss;
    double checkpoint_s;
};

static void begin_with_loss(struct gogh_fixture *fixture, double work_s, int flags, struct loss loss)
{
    struct adl_job_spec spec = gogh_spec(1, work_s, flags);
    spec.stop_loss = (uint8_t)loss.stop_loss;
    spec.checkpoint_us = (int64_t)(loss.checkpoint_s * S);
    gogh_open(fixture);
    gogh_teach(fixture, &spec, FAST, 10, 0.5);
    gogh_teach(fixture, &spec, SLOW, 5, 0.5);
    const struct adl_job_spec holder = gogh_spec(2, 3600, 0);
    gogh_submit(fixture, 0, &holder);
    gogh_force(fixture, 0, 0);
    gogh_submit(fixture, 1, &spec);
    gogh_decide(fixture);
    assert_runs_on(fixture, 1, SLOW);
}

static void begin_for_a_move(struct gogh_fixture *fixture, double work_s, int flags)
{
    begin_with_loss(fixture, work_s, flags, (struct loss){ADL_LOSS_NOTHING, 0});
}

/* Whether job 1 is stopped when the fast GPU becomes free, after it has run for so long. */
static bool moves_at_loss(double cost_s, double work_s, double ran_s, int flags, bool stay, struct loss loss)
{
    struct gogh_fixture fixture;
    open_for_a_move(&fixture, cost_s);
    gogh_tell(&fixture, "stay=%s", stay ? "true" : "false");
    begin_with_loss(&fixture, work_s, flags, loss);
    fixture.now_us += (int64_t)(ran_s * S);
    gogh_finish(&fixture, 0);
    gogh_decide(&fixture);
    const bool stopped = fixture.stops > 0;
    if (stopped) {
        assert_int_equal(fixture.stops, 1);
        assert_int_equal(fixture.stopped, 1);
        fixture.now_us += fixture.config.preemption_us / 2;
        gogh_evict(&fixture, 1, 0.9);
        gogh_decide(&fixture);
        assert_runs_on(&fixture, 1, FAST);
        assert_int_equal(fixture.stops, 0);
    }
    gogh_close(&fixture);
    return stopped;
}

static bool moves(double cost_s, double work_s, double ran_s, int flags, bool stay)
{
    return moves_at_loss(cost_s, work_s, ran_s, flags, stay, (struct loss){ADL_LOSS_NOTHING, 0});
}

static void a_job_that_would_lose_much_of_its_work_stays_where_it_is(void **state)
{
    (void)state;
    const struct loss all = {ADL_LOSS_ALL, 0}, often = {ADL_LOSS_SINCE_CHECKPOINT, 30},
                      rarely = {ADL_LOSS_SINCE_CHECKPOINT, 700};
    assert_true(moves(20, 3600, 605, ADL_JOB_PREEMPTIBLE, false));
    assert_false(moves_at_loss(20, 3600, 605, ADL_JOB_PREEMPTIBLE, false, all));
    assert_true(moves_at_loss(20, 3600, 10, ADL_JOB_PREEMPTIBLE, false, all));
    assert_true(moves_at_loss(20, 3600, 605, ADL_JOB_PREEMPTIBLE, false, often));
    assert_false(moves_at_loss(20, 3600, 605, ADL_JOB_PREEMPTIBLE, false, rarely));
    assert_true(moves_at_loss(20, 3600, 705, ADL_JOB_PREEMPTIBLE, false, rarely));
}

static void a_job_with_long_work_left_and_a_cheap_checkpoint_moves_to_a_better_gpu(void **state)
{
    (void)state;
    assert_true(moves(20, 3600, 60, ADL_JOB_PREEMPTIBLE, false));
}

static void a_job_that_is_nearly_done_stays_where_it_is(void **state)
{
    (void)state;
    assert_false(moves(20, 40, 60, ADL_JOB_PREEMPTIBLE, false));
}

static void a_job_whose_checkpoint_is_expensive_stays_where_it_is(void **state)
{
    (void)state;
    assert_false(moves(400, 3600, 60, ADL_JOB_PREEMPTIBLE, false));
}

static void a_job_that_may_not_be_preempted_never_moves(void **state)
{
    (void)state;
    assert_false(moves(20, 3600, 60, 0, false));
    assert_false(moves(0, 36000, 60, 0, false));
}

static void no_job_moves_where_the_configuration_says_stay(void **state)
{
    (void)state;
    assert_false(moves(20, 3600, 60, ADL_JOB_PREEMPTIBLE, true));
    assert_false(moves(0, 36000, 60, ADL_JOB_PREEMPTIBLE, true));
}

/* Checkpoints take no time; the fast type turns out to be slow while job 1 is there, all at one instant. */
static void nobody_is_stopped_twice_at_one_instant(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_for_a_move(&fixture, 0);
    begin_for_a_move(&fixture, 3600, ADL_JOB_PREEMPTIBLE);
    fixture.now_us += 60 * S;
    gogh_finish(&fixture, 0);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stopped, 1);
    gogh_evict(&fixture, 1, 0.9);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 1, FAST);
    for (int i = 0; i < 3 * GOGH_READINGS; i++)
        gogh_progress(&fixture, 1, 1);
    gogh_wake(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    fixture.now_us += 1;
    gogh_wake(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 1);
    gogh_close(&fixture);
}

static void a_job_that_just_moved_stays_for_a_while(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    open_for_a_move(&fixture, 20);
    begin_for_a_move(&fixture, 36000, ADL_JOB_PREEMPTIBLE);
    fixture.now_us += 60 * S;
    gogh_evict(&fixture, 1, 0.99); /* its GPU failed for a moment */
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 1, SLOW);
    fixture.now_us += 30 * S;
    gogh_finish(&fixture, 0);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    fixture.now_us += 300 * S;
    gogh_wake(&fixture);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stopped, 1);
    gogh_close(&fixture);
}

static void a_job_that_runs_is_not_stopped_for_an_equal_one_that_waits(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        struct gogh_fixture fixture;
        gogh_open_plain(&fixture, 2, 0);
        gogh_open(&fixture);
        const struct adl_job_spec spec = gogh_spec(1, 3600, ADL_JOB_PREEMPTIBLE);
        for (uint32_t slot = 0; slot < 2; slot++)
            gogh_submit(&fixture, slot, &spec);
        gogh_decide(&fixture);
        assert_int_equal(fixture.starts, 2);
        fixture.now_us += old * 600 * S;
        for (uint32_t slot = 2; slot < 5; slot++)
            gogh_submit(&fixture, slot, &spec);
        gogh_decide(&fixture);
        assert_int_equal(fixture.stops, 0);
        gogh_close(&fixture);
    }
}

/* ---- company ---- */

/* Two classes that run at 10 steps/s alone on the fast type and at this share of it beside each other. */
struct couple {
    struct gogh_fixture fixture;
    struct adl_job_spec spec[2];
};

static void open_couple_if(struct couple *couple, bool sharing, uint32_t fast, double share, double worth_w)
{
    gogh_open_plain(&couple->fixture, fast, 0);
    gogh_tell(&couple->fixture, "share=%s", sharing ? "true" : "false");
    if (worth_w > 0)
        gogh_tell(&couple->fixture, "worth_w=%g", worth_w);
    gogh_open(&couple->fixture);
    for (uint16_t i = 0; i < 2; i++) {
        couple->spec[i] = gogh_spec((uint16_t)(i + 1), 3600, ANY);
        gogh_teach(&couple->fixture, &couple->spec[i], FAST, 10, 0.2);
    }
    gogh_teach_pair(&couple->fixture, &couple->spec[0], &couple->spec[1], FAST, 10 * share, 10 * share);
}

static void open_couple(struct couple *couple, uint32_t fast, double share, double worth_w)
{
    open_couple_if(couple, true, fast, share, worth_w);
}

/* Submits one of each to two free GPUs and says whether they share one. */
static bool share_one(struct couple *couple)
{
    for (uint32_t i = 0; i < 2; i++)
        gogh_submit(&couple->fixture, i, &couple->spec[i]);
    gogh_decide(&couple->fixture);
    const bool together = gogh_together(&couple->fixture, 0, 1);
    assert_true(gogh_runs(&couple->fixture, 0));
    assert_true(gogh_runs(&couple->fixture, 1));
    gogh_close(&couple->fixture);
    return together;
}

static void two_that_hardly_disturb_each_other_share_a_gpu_where_that_saves_energy(void **state)
{
    (void)state;
    struct couple couple;
    open_couple(&couple, 2, 0.99, 0);
    assert_true(share_one(&couple));
}

static void who_wants_to_keep_its_speed_shares_only_where_it_is_believed_to(void **state)
{
    (void)state;
    static const float bounds[] = {1.3f, 1.005f}; /* it is slowed to 0.99 */
    for (int i = 0; i < 2; i++) {
        struct couple couple;
        open_couple(&couple, 2, 0.99, 0);
        couple.spec[1].share_slowdown = bounds[i];
        assert_int_equal(share_one(&couple), i == 0);
    }
}

static void two_that_slow_each_other_down_get_a_gpu_each(void **state)
{
    (void)state;
    struct couple couple;
    open_couple(&couple, 2, 0.6, 0);
    assert_false(share_one(&couple));
}

static void a_job_joins_one_that_runs_already(void **state)
{
    (void)state;
    struct couple couple;
    open_couple(&couple, 2, 0.99, 0);
    gogh_submit(&couple.fixture, 0, &couple.spec[0]);
    gogh_decide(&couple.fixture);
    couple.fixture.now_us += 100 * S;
    gogh_submit(&couple.fixture, 1, &couple.spec[1]);
    gogh_decide(&couple.fixture);
    assert_true(gogh_together(&couple.fixture, 0, 1));
    assert_int_equal(couple.fixture.stops, 0);
    gogh_close(&couple.fixture);
}

/* They share a GPU, and another one is free. */
static void two_that_slow_each_other_down_part_when_there_is_a_gpu_for_each(void **state)
{
    (void)state;
    struct couple couple;
    open_couple(&couple, 2, 0.5, 0);
    for (uint32_t i = 0; i < 2; i++) {
        gogh_submit(&couple.fixture, i, &couple.spec[i]);
        gogh_force(&couple.fixture, i, 0);
    }
    couple.fixture.now_us += 300 * S;
    gogh_decide(&couple.fixture);
    assert_int_equal(couple.fixture.stops, 1);
    couple.fixture.now_us += 10 * S;
    gogh_evict(&couple.fixture, couple.fixture.stopped, 0.9);
    gogh_decide(&couple.fixture);
    assert_true(gogh_runs(&couple.fixture, 0) && gogh_runs(&couple.fixture, 1));
    assert_false(gogh_together(&couple.fixture, 0, 1));
    gogh_close(&couple.fixture);
}

/* Jobs 0 and 1 share the one fast GPU and hardly disturb each other; job 2 can only go beside job 0, job 1 also to the
 * slow GPU, where it loses by it. */
static void a_job_takes_the_place_of_a_neighbour_who_moves_for_it(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec[3];
    gogh_open_plain(&fixture, 1, 1);
    gogh_tell(&fixture, "share=true");
    gogh_open(&fixture);
    for (uint16_t i = 0; i < 3; i++) {
        spec[i] = gogh_spec((uint16_t)(i + 1), 36000, ANY);
        gogh_teach(&fixture, &spec[i], FAST, 10, 0.2);
    }
    gogh_teach(&fixture, &spec[1], SLOW, 8, 0.2);
    gogh_teach_pair(&fixture, &spec[0], &spec[1], FAST, 9.9, 9.9);
    gogh_teach_pair(&fixture, &spec[0], &spec[2], FAST, 9.9, 9.9);
    spec[0].types = spec[2].types = 1u << FAST;
    for (uint32_t i = 0; i < 2; i++) {
        gogh_submit(&fixture, i, &spec[i]);
        gogh_force(&fixture, i, 0);
    }
    fixture.now_us += 300 * S;
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 0);
    gogh_submit(&fixture, 2, &spec[2]);
    gogh_decide(&fixture);
    assert_int_equal(fixture.stops, 1);
    assert_int_equal(fixture.stopped, 1);
    fixture.now_us += 10 * S;
    gogh_evict(&fixture, 1, 0.99);
    gogh_decide(&fixture);
    assert_true(gogh_together(&fixture, 0, 2));
    assert_runs_on(&fixture, 1, SLOW);
    gogh_close(&fixture);
}

static void two_that_do_not_fit_into_the_memory_of_a_gpu_never_share_it(void **state)
{
    (void)state;
    for (int more_mib = 0; more_mib < 2; more_mib++) {
        struct couple couple;
        open_couple(&couple, 1, 0.99, 0);
        couple.spec[1].gpu_memory_mib = FIXTURE_GPU_MIB - couple.spec[0].gpu_memory_mib + more_mib;
        for (uint32_t i = 0; i < 2; i++)
            gogh_submit(&couple.fixture, i, &couple.spec[i]);
        gogh_decide(&couple.fixture);
        assert_int_equal(couple.fixture.starts, more_mib ? 1 : 2);
        gogh_close(&couple.fixture);
    }
}

static void two_of_which_one_does_not_share_never_share_a_gpu(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 2; which++) {
        struct couple couple;
        open_couple(&couple, 1, 0.99, 0);
        couple.spec[which].flags = ADL_JOB_PREEMPTIBLE;
        for (uint32_t i = 0; i < 2; i++)
            gogh_submit(&couple.fixture, i, &couple.spec[i]);
        gogh_decide(&couple.fixture);
        assert_int_equal(couple.fixture.starts, 1);
        gogh_close(&couple.fixture);
    }
}

static void nobody_shares_unless_the_configuration_says_so(void **state)
{
    (void)state;
    struct couple couple;
    open_couple_if(&couple, false, 2, 0.99, 0);
    assert_false(share_one(&couple));
}

/* Beside the other it was measured at 9.5 steps/s; how sure that is leaves a little less. */
static void a_least_throughput_keeps_a_neighbour_away_if_it_may_be_missed_beside_it(void **state)
{
    (void)state;
    const struct {
        float least;
        bool together;
    } cases[] = {{0, true}, {8, true}, {9, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct couple couple;
        open_couple(&couple, 2, 0.95, 200);
        couple.spec[1].min_steps_per_s = cases[i].least;
        if (share_one(&couple) != cases[i].together)
            fail_msg("with at least %g steps/s they %s", (double)cases[i].least,
                     cases[i].together ? "do not share" : "share");
    }
}

/* ---- SLAs ---- */

/* The slow type is frugal, and progress is worth little. */
static void open_frugal(struct gogh_fixture *fixture, struct adl_job_spec *spec)
{
    gogh_open_plain(fixture, 2, 2);
    gogh_tell(fixture, "worth_w=200");
    gogh_open(fixture);
    *spec = gogh_spec(1, 3600, ADL_JOB_PREEMPTIBLE);
    gogh_teach(fixture, spec, FAST, 10, 0.5);
    gogh_teach(fixture, spec, SLOW, 8, 0.2);
}

static void a_least_throughput_picks_a_type_that_reaches_it_even_if_that_costs_more_energy(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec;
    open_frugal(&fixture, &spec);
    gogh_submit(&fixture, 0, &spec);
    spec.min_steps_per_s = 9;
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, SLOW);
    assert_runs_on(&fixture, 1, FAST);
    gogh_close(&fixture);
}

static void a_deadline_picks_a_type_that_keeps_it_even_if_that_costs_more_energy(void **state)
{
    (void)state;
    struct gogh_fixture fixture;
    struct adl_job_spec spec;
    open_frugal(&fixture, &spec);
    spec.deadline_us = (int64_t)100 * 3600 * S;
    gogh_submit(&fixture, 0, &spec);
    spec.deadline_us = (int64_t)(1.3 * 3600 * S);
    gogh_submit(&fixture, 1, &spec);
    gogh_decide(&fixture);
    assert_runs_on(&fixture, 0, SLOW);
    assert_runs_on(&fixture, 1, FAST);
    gogh_close(&fixture);
}

static void a_least_throughput_that_no_gpu_reaches_does_not_keep_a_job_from_running(void **state)
{
    (void)state;
    const float least[] = {10.5f, 20, 1e6f};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++)
        for (int worth_w = 150; worth_w <= 700; worth_w += 550) {
            struct gogh_fixture fixture;
            gogh_open_plain(&fixture, 1, 1);
            gogh_tell(&fixture, "worth_w=%d", worth_w);
            gogh_open(&fixture);
            struct adl_job_spec spec = gogh_spec(1, 600, 0);
            spec.priority = 1;
            gogh_teach(&fixture, &spec, FAST, 10, 0.2);
            gogh_teach(&fixture, &spec, SLOW, 8, 0.2);
            spec.min_steps_per_s = least[i];
            gogh_submit(&fixture, 0, &spec);
            gogh_decide(&fixture);
            if (!gogh_runs(&fixture, 0))
                fail_msg("asking for %g steps/s it waits", (double)least[i]);
            gogh_close(&fixture);
        }
}

static void a_deadline_that_cannot_be_kept_does_not_keep_a_job_from_running(void **state)
{
    (void)state;
    const double deadline_s[] = {0.000001, 1, 300, 599, 601, 700};
    for (size_t i = 0; i < sizeof deadline_s / sizeof *deadline_s; i++) {
        struct gogh_fixture fixture;
        gogh_open_plain(&fixture, 1, 1);
        gogh_open(&fixture);
        struct adl_job_spec spec = gogh_spec(1, 600, 0);
        spec.deadline_us = (int64_t)(deadline_s[i] * S);
        gogh_submit(&fixture, 0, &spec);
        gogh_decide(&fixture);
        if (!gogh_runs(&fixture, 0))
            fail_msg("with a deadline of %g s it waits", deadline_s[i]);
        gogh_close(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_nothing_known_a_job_starts_on_the_type_that_is_faster_by_its_specification),
        cmocka_unit_test(with_nothing_known_a_job_starts_on_the_frugal_type_unless_progress_is_worth_much),
        cmocka_unit_test(a_job_starts_only_on_a_type_that_it_accepts),
        cmocka_unit_test(a_job_does_not_wait_for_gpus_beside_which_it_never_has_room),
        cmocka_unit_test(after_measurements_that_contradict_the_specification_jobs_of_the_class_go_where_it_was_faster),
        cmocka_unit_test(a_job_with_long_work_left_and_a_cheap_checkpoint_moves_to_a_better_gpu),
        cmocka_unit_test(a_job_that_would_lose_much_of_its_work_stays_where_it_is),
        cmocka_unit_test(a_job_that_is_nearly_done_stays_where_it_is),
        cmocka_unit_test(a_job_whose_checkpoint_is_expensive_stays_where_it_is),
        cmocka_unit_test(a_job_that_may_not_be_preempted_never_moves),
        cmocka_unit_test(no_job_moves_where_the_configuration_says_stay),
        cmocka_unit_test(nobody_is_stopped_twice_at_one_instant),
        cmocka_unit_test(a_job_that_just_moved_stays_for_a_while),
        cmocka_unit_test(a_job_that_runs_is_not_stopped_for_an_equal_one_that_waits),
        cmocka_unit_test(two_that_hardly_disturb_each_other_share_a_gpu_where_that_saves_energy),
        cmocka_unit_test(who_wants_to_keep_its_speed_shares_only_where_it_is_believed_to),
        cmocka_unit_test(two_that_slow_each_other_down_get_a_gpu_each),
        cmocka_unit_test(a_job_joins_one_that_runs_already),
        cmocka_unit_test(two_that_slow_each_other_down_part_when_there_is_a_gpu_for_each),
        cmocka_unit_test(a_job_takes_the_place_of_a_neighbour_who_moves_for_it),
        cmocka_unit_test(two_that_do_not_fit_into_the_memory_of_a_gpu_never_share_it),
        cmocka_unit_test(two_of_which_one_does_not_share_never_share_a_gpu),
        cmocka_unit_test(nobody_shares_unless_the_configuration_says_so),
        cmocka_unit_test(a_least_throughput_keeps_a_neighbour_away_if_it_may_be_missed_beside_it),
        cmocka_unit_test(a_least_throughput_picks_a_type_that_reaches_it_even_if_that_costs_more_energy),
        cmocka_unit_test(a_deadline_picks_a_type_that_keeps_it_even_if_that_costs_more_energy),
        cmocka_unit_test(a_least_throughput_that_no_gpu_reaches_does_not_keep_a_job_from_running),
        cmocka_unit_test(a_deadline_that_cannot_be_kept_does_not_keep_a_job_from_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
