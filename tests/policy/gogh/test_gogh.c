/* Tests of the policy gogh on states made by hand: where jobs start, when they move, who shares a GPU, what SLAs do. */
#include "gogh_fixture.h"

#define ANY (ADL_JOB_PREEMPTIBLE | ADL_JOB_SHARE)

/* ---- where jobs start ---- */

static void with_nothing_known_a_job_starts_on_the_type_that_is_faster_by_its_specification(void **state)
{
    (void)state;
    struct gogh_desk shared;
    desk_open_plain(&shared, 1, 1);
    desk_open(&shared);
    const struct adl_job_spec spec = desk_spec(1, 600, 0);
    desk_submit(&shared, 0, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, FAST);
    desk_close(&shared);
}

/* The second type is nearly as fast as the first, by its specification, and draws far less. */
static void with_nothing_known_a_job_starts_on_the_frugal_type_unless_progress_is_worth_much(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct gogh_desk shared;
        desk_open_plain(&shared, 1, 1);
        struct adl_gpu_type *frugal = &shared.cluster.types[SLOW];
        frugal->fp32_tflops = frugal->fp16_tflops = 12;
        frugal->bandwidth_gbs = 800;
        frugal->max_w = 110;
        shared.config.worth_w = much ? 7000 : 500;
        desk_open(&shared);
        const struct adl_job_spec spec = desk_spec(1, 600, 0);
        desk_submit(&shared, 0, &spec);
        desk_decide(&shared);
        assert_runs_on(&shared, 0, much ? FAST : SLOW);
        desk_close(&shared);
    }
}

static void a_job_starts_only_on_a_type_that_it_accepts(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < DESK_TYPES; type++) {
        struct gogh_desk shared;
        desk_open_plain(&shared, 1, 1);
        desk_open(&shared);
        struct adl_job_spec spec = desk_spec(1, 600, 0);
        spec.types = 1u << type;
        desk_submit(&shared, 0, &spec);
        desk_submit(&shared, 1, &spec);
        desk_decide(&shared);
        assert_runs_on(&shared, 0, type);
        assert_int_equal(shared.starts, 1);
        assert_int_equal(shared.state->jobs[1].phase, ADL_PHASE_PENDING);
        desk_close(&shared);
    }
}

/* The fast GPUs are in a node with too few cores for the job, whoever else is there. */
static void a_job_does_not_wait_for_gpus_beside_which_it_never_has_room(void **state)
{
    (void)state;
    struct gogh_desk shared = {.config = {.preemption_us = 20 * S}};
    desk_types(&shared.cluster);
    fixture_node_of(&shared.cluster, &(struct adl_bank_spec){FAST, 4}, 1, 4, 65536);
    fixture_node(&shared.cluster, SLOW, 4);
    desk_open(&shared);
    struct adl_job_spec spec = desk_spec(1, 600, 0);
    spec.gpus = 2;
    spec.cpu_cores = 3;
    desk_submit(&shared, 0, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, SLOW);
    desk_close(&shared);
}

static void after_measurements_that_contradict_the_specification_jobs_of_the_class_go_where_it_was_faster(void **state)
{
    (void)state;
    struct gogh_desk shared;
    desk_open_plain(&shared, 2, 2);
    desk_open(&shared);
    const struct adl_job_spec spec = desk_spec(1, 600, 0), other = desk_spec(2, 600, 0);
    desk_submit(&shared, 0, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, FAST);
    for (int i = 0; i < DESK_READINGS; i++)
        desk_progress(&shared, 0, 1.0);
    desk_finish(&shared, 0);
    desk_teach(&shared, &spec, SLOW, 6.0, 0.5);
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 1, SLOW);
    desk_submit(&shared, 2, &other); /* of which nothing was measured */
    desk_decide(&shared);
    assert_runs_on(&shared, 2, FAST);
    desk_close(&shared);
}

/* ---- moves ---- */

/* Job 0 holds the one fast GPU and may not be stopped; job 1 runs on the one slow GPU, at half the speed. */
static void open_for_a_move(struct gogh_desk *shared, double cost_s)
{
    desk_open_plain(shared, 1, 1);
    shared->config.preemption_us = (int64_t)(cost_s * S);
}

/* What a stop of job 1 loses. */
struct loss {
    int stop_loss;
    double checkpoint_s;
};

static void begin_with_loss(struct gogh_desk *shared, double work_s, int flags, struct loss loss)
{
    struct adl_job_spec spec = desk_spec(1, work_s, flags);
    spec.stop_loss = (uint8_t)loss.stop_loss;
    spec.checkpoint_us = (int64_t)(loss.checkpoint_s * S);
    desk_open(shared);
    desk_teach(shared, &spec, FAST, 10, 0.5);
    desk_teach(shared, &spec, SLOW, 5, 0.5);
    const struct adl_job_spec holder = desk_spec(2, 3600, 0);
    desk_submit(shared, 0, &holder);
    desk_force(shared, 0, 0);
    desk_submit(shared, 1, &spec);
    desk_decide(shared);
    assert_runs_on(shared, 1, SLOW);
}

static void begin_for_a_move(struct gogh_desk *shared, double work_s, int flags)
{
    begin_with_loss(shared, work_s, flags, (struct loss){ADL_LOSS_NOTHING, 0});
}

/* Whether job 1 is stopped when the fast GPU becomes free, after it has run for so long. */
static bool moves_at_loss(double cost_s, double work_s, double ran_s, int flags, bool stay, struct loss loss)
{
    struct gogh_desk shared;
    open_for_a_move(&shared, cost_s);
    shared.config.stay = stay;
    begin_with_loss(&shared, work_s, flags, loss);
    shared.now_us += (int64_t)(ran_s * S);
    desk_finish(&shared, 0);
    desk_decide(&shared);
    const bool stopped = shared.stops > 0;
    if (stopped) {
        assert_int_equal(shared.stops, 1);
        assert_int_equal(shared.stopped, 1);
        shared.now_us += shared.config.preemption_us / 2;
        desk_evict(&shared, 1, 0.9);
        desk_decide(&shared);
        assert_runs_on(&shared, 1, FAST);
        assert_int_equal(shared.stops, 0);
    }
    desk_close(&shared);
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
    struct gogh_desk shared;
    open_for_a_move(&shared, 0);
    begin_for_a_move(&shared, 3600, ADL_JOB_PREEMPTIBLE);
    shared.now_us += 60 * S;
    desk_finish(&shared, 0);
    desk_decide(&shared);
    assert_int_equal(shared.stopped, 1);
    desk_evict(&shared, 1, 0.9);
    desk_decide(&shared);
    assert_runs_on(&shared, 1, FAST);
    for (int i = 0; i < 3 * DESK_READINGS; i++)
        desk_progress(&shared, 1, 1);
    desk_wake(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    shared.now_us += 1;
    desk_wake(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 1);
    desk_close(&shared);
}

static void a_job_that_just_moved_stays_for_a_while(void **state)
{
    (void)state;
    struct gogh_desk shared;
    open_for_a_move(&shared, 20);
    begin_for_a_move(&shared, 36000, ADL_JOB_PREEMPTIBLE);
    shared.now_us += 60 * S;
    desk_evict(&shared, 1, 0.99); /* its GPU failed for a moment */
    desk_decide(&shared);
    assert_runs_on(&shared, 1, SLOW);
    shared.now_us += 30 * S;
    desk_finish(&shared, 0);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    shared.now_us += 300 * S;
    desk_wake(&shared);
    desk_decide(&shared);
    assert_int_equal(shared.stopped, 1);
    desk_close(&shared);
}

static void a_job_that_runs_is_not_stopped_for_an_equal_one_that_waits(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        struct gogh_desk shared;
        desk_open_plain(&shared, 2, 0);
        desk_open(&shared);
        const struct adl_job_spec spec = desk_spec(1, 3600, ADL_JOB_PREEMPTIBLE);
        for (uint32_t slot = 0; slot < 2; slot++)
            desk_submit(&shared, slot, &spec);
        desk_decide(&shared);
        assert_int_equal(shared.starts, 2);
        shared.now_us += old * 600 * S;
        for (uint32_t slot = 2; slot < 5; slot++)
            desk_submit(&shared, slot, &spec);
        desk_decide(&shared);
        assert_int_equal(shared.stops, 0);
        desk_close(&shared);
    }
}

/* ---- company ---- */

/* Two classes that run at 10 steps/s alone on the fast type and at this share of it beside each other. */
struct couple {
    struct gogh_desk shared;
    struct adl_job_spec spec[2];
};

static void open_couple_if(struct couple *couple, bool sharing, uint32_t fast, double share, double worth_w)
{
    desk_open_plain(&couple->shared, fast, 0);
    couple->shared.config.share = sharing;
    couple->shared.config.worth_w = worth_w;
    desk_open(&couple->shared);
    for (uint16_t i = 0; i < 2; i++) {
        couple->spec[i] = desk_spec((uint16_t)(i + 1), 3600, ANY);
        desk_teach(&couple->shared, &couple->spec[i], FAST, 10, 0.2);
    }
    desk_teach_pair(&couple->shared, &couple->spec[0], &couple->spec[1], FAST, 10 * share, 10 * share);
}

static void open_couple(struct couple *couple, uint32_t fast, double share, double worth_w)
{
    open_couple_if(couple, true, fast, share, worth_w);
}

/* Submits one of each to two free GPUs and says whether they share one. */
static bool share_one(struct couple *couple)
{
    for (uint32_t i = 0; i < 2; i++)
        desk_submit(&couple->shared, i, &couple->spec[i]);
    desk_decide(&couple->shared);
    const bool together = desk_together(&couple->shared, 0, 1);
    assert_true(desk_runs(&couple->shared, 0));
    assert_true(desk_runs(&couple->shared, 1));
    desk_close(&couple->shared);
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
    desk_submit(&couple.shared, 0, &couple.spec[0]);
    desk_decide(&couple.shared);
    couple.shared.now_us += 100 * S;
    desk_submit(&couple.shared, 1, &couple.spec[1]);
    desk_decide(&couple.shared);
    assert_true(desk_together(&couple.shared, 0, 1));
    assert_int_equal(couple.shared.stops, 0);
    desk_close(&couple.shared);
}

/* They share a GPU, and another one is free. */
static void two_that_slow_each_other_down_part_when_there_is_a_gpu_for_each(void **state)
{
    (void)state;
    struct couple couple;
    open_couple(&couple, 2, 0.5, 0);
    for (uint32_t i = 0; i < 2; i++) {
        desk_submit(&couple.shared, i, &couple.spec[i]);
        desk_force(&couple.shared, i, 0);
    }
    couple.shared.now_us += 300 * S;
    desk_decide(&couple.shared);
    assert_int_equal(couple.shared.stops, 1);
    couple.shared.now_us += 10 * S;
    desk_evict(&couple.shared, couple.shared.stopped, 0.9);
    desk_decide(&couple.shared);
    assert_true(desk_runs(&couple.shared, 0) && desk_runs(&couple.shared, 1));
    assert_false(desk_together(&couple.shared, 0, 1));
    desk_close(&couple.shared);
}

/* Jobs 0 and 1 share the one fast GPU and hardly disturb each other; job 2 can only go beside job 0, job 1 also to the
 * slow GPU, where it loses by it. */
static void a_job_takes_the_place_of_a_neighbour_who_moves_for_it(void **state)
{
    (void)state;
    struct gogh_desk shared;
    struct adl_job_spec spec[3];
    desk_open_plain(&shared, 1, 1);
    shared.config.share = true;
    desk_open(&shared);
    for (uint16_t i = 0; i < 3; i++) {
        spec[i] = desk_spec((uint16_t)(i + 1), 36000, ANY);
        desk_teach(&shared, &spec[i], FAST, 10, 0.2);
    }
    desk_teach(&shared, &spec[1], SLOW, 8, 0.2);
    desk_teach_pair(&shared, &spec[0], &spec[1], FAST, 9.9, 9.9);
    desk_teach_pair(&shared, &spec[0], &spec[2], FAST, 9.9, 9.9);
    spec[0].types = spec[2].types = 1u << FAST;
    for (uint32_t i = 0; i < 2; i++) {
        desk_submit(&shared, i, &spec[i]);
        desk_force(&shared, i, 0);
    }
    shared.now_us += 300 * S;
    desk_decide(&shared);
    assert_int_equal(shared.stops, 0);
    desk_submit(&shared, 2, &spec[2]);
    desk_decide(&shared);
    assert_int_equal(shared.stops, 1);
    assert_int_equal(shared.stopped, 1);
    shared.now_us += 10 * S;
    desk_evict(&shared, 1, 0.99);
    desk_decide(&shared);
    assert_true(desk_together(&shared, 0, 2));
    assert_runs_on(&shared, 1, SLOW);
    desk_close(&shared);
}

static void two_that_do_not_fit_into_the_memory_of_a_gpu_never_share_it(void **state)
{
    (void)state;
    for (int more_mib = 0; more_mib < 2; more_mib++) {
        struct couple couple;
        open_couple(&couple, 1, 0.99, 0);
        couple.spec[1].gpu_memory_mib = FIXTURE_GPU_MIB - couple.spec[0].gpu_memory_mib + more_mib;
        for (uint32_t i = 0; i < 2; i++)
            desk_submit(&couple.shared, i, &couple.spec[i]);
        desk_decide(&couple.shared);
        assert_int_equal(couple.shared.starts, more_mib ? 1 : 2);
        desk_close(&couple.shared);
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
            desk_submit(&couple.shared, i, &couple.spec[i]);
        desk_decide(&couple.shared);
        assert_int_equal(couple.shared.starts, 1);
        desk_close(&couple.shared);
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
static void open_frugal(struct gogh_desk *shared, struct adl_job_spec *spec)
{
    desk_open_plain(shared, 2, 2);
    shared->config.worth_w = 200;
    desk_open(shared);
    *spec = desk_spec(1, 3600, ADL_JOB_PREEMPTIBLE);
    desk_teach(shared, spec, FAST, 10, 0.5);
    desk_teach(shared, spec, SLOW, 8, 0.2);
}

static void a_least_throughput_picks_a_type_that_reaches_it_even_if_that_costs_more_energy(void **state)
{
    (void)state;
    struct gogh_desk shared;
    struct adl_job_spec spec;
    open_frugal(&shared, &spec);
    desk_submit(&shared, 0, &spec);
    spec.min_steps_per_s = 9;
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, SLOW);
    assert_runs_on(&shared, 1, FAST);
    desk_close(&shared);
}

static void a_deadline_picks_a_type_that_keeps_it_even_if_that_costs_more_energy(void **state)
{
    (void)state;
    struct gogh_desk shared;
    struct adl_job_spec spec;
    open_frugal(&shared, &spec);
    spec.deadline_us = (int64_t)100 * 3600 * S;
    desk_submit(&shared, 0, &spec);
    spec.deadline_us = (int64_t)(1.3 * 3600 * S);
    desk_submit(&shared, 1, &spec);
    desk_decide(&shared);
    assert_runs_on(&shared, 0, SLOW);
    assert_runs_on(&shared, 1, FAST);
    desk_close(&shared);
}

static void a_least_throughput_that_no_gpu_reaches_does_not_keep_a_job_from_running(void **state)
{
    (void)state;
    const float least[] = {10.5f, 20, 1e6f};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++)
        for (int worth_w = 150; worth_w <= 700; worth_w += 550) {
            struct gogh_desk shared;
            desk_open_plain(&shared, 1, 1);
            shared.config.worth_w = worth_w;
            desk_open(&shared);
            struct adl_job_spec spec = desk_spec(1, 600, 0);
            spec.priority = 1;
            desk_teach(&shared, &spec, FAST, 10, 0.2);
            desk_teach(&shared, &spec, SLOW, 8, 0.2);
            spec.min_steps_per_s = least[i];
            desk_submit(&shared, 0, &spec);
            desk_decide(&shared);
            if (!desk_runs(&shared, 0))
                fail_msg("asking for %g steps/s it waits", (double)least[i]);
            desk_close(&shared);
        }
}

static void a_deadline_that_cannot_be_kept_does_not_keep_a_job_from_running(void **state)
{
    (void)state;
    const double deadline_s[] = {0.000001, 1, 300, 599, 601, 700};
    for (size_t i = 0; i < sizeof deadline_s / sizeof *deadline_s; i++) {
        struct gogh_desk shared;
        desk_open_plain(&shared, 1, 1);
        desk_open(&shared);
        struct adl_job_spec spec = desk_spec(1, 600, 0);
        spec.deadline_us = (int64_t)(deadline_s[i] * S);
        desk_submit(&shared, 0, &spec);
        desk_decide(&shared);
        if (!desk_runs(&shared, 0))
            fail_msg("with a deadline of %g s it waits", deadline_s[i]);
        desk_close(&shared);
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
