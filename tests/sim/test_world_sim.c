/* What truly happens to jobs in the simulated world: speed, interference, checkpoints, limits, and the order
 * of events. */
#include "peer_check.h"
#include "scripted_run.h"
#include "tiny_scenario.h"

#include <math.h>

#define S       1000000 /* microseconds in a second */
#define ROWS(r) (r), (uint32_t)(sizeof(r) / sizeof *(r))

static void assert_near_us(int64_t value_us, double expected_s)
{
    if (fabs((double)value_us - expected_s * 1e6) > 2)
        fail_msg("%lld us is not %.6f s", (long long)value_us, expected_s);
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g is not %.9g", value, expected);
}

static void release(struct kept_run *kept, struct adl_scenario *s)
{
    free(kept->events);
    adl_scenario_clear(s);
}

/* ---- events ---- */

/* Two jobs end at 10; one of 4 GPUs and behind it one of 2 wait. */
static void events_of_one_instant_are_decided_on_together_unless_told_one_by_one(void **state)
{
    (void)state;
    struct peer_job jobs[] = {{0, 0, 2, 10}, {1, 0, 2, 10}, {2, 1, 4, 5}, {3, 2, 2, 7}};
    struct peer_trace trace = {.jobs = jobs, .count = 4};
    struct adl_scenario s = peer_check_scenario(1, 4);
    s.policy.settings = "first_fit=true";
    assert_int_equal(peer_check_run(&s, &trace, adl_policy_find("fcfs")).jct_us, (10 + 10 + 14 + 20) * S);
    s.one_by_one = true;
    assert_int_equal(peer_check_run(&s, &trace, adl_policy_find("fcfs")).jct_us, (10 + 10 + 21 + 15) * S);
    adl_scenario_clear(&s);
}

static int look_for_decision_between(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    uint32_t *decided = self;
    *decided += state->down_gpus == 1;
    return 0;
}

/* A node of two GPUs fails: after the first GPU is down the second is not given out. */
static void a_failure_is_one_event_also_one_by_one(void **state)
{
    (void)state;
    struct adl_scenario s = peer_check_scenario(1, 2);
    struct peer_job jobs[] = {{0, 0, 2, 100000}};
    struct peer_trace trace = {.jobs = jobs, .count = 1};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err;
    uint32_t decided = 0;
    s.one_by_one = true;
    s.faults = (struct adl_faults){.node_mtbf_h = 5, .node_repair_h = 0.1};
    s.preemption.interval_s = 10;
    const struct adl_job_source source = {.self = &trace, .next = peer_next, .close = peer_close};
    assert_int_equal(adl_world_sim_create_from(&s, source, 1, ADL_REGIME_ORACLE, &world, &err), 0);
    const struct adl_engine_config config = {.cluster = &s.cluster,
                                             .policy = adl_policy_find("fcfs"),
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &decided, .decided = look_for_decision_between}},
                                             .observer_count = 1};
    assert_int_equal(adl_engine_create(&config, &engine, &err), 0);
    assert_int_equal(adl_engine_run(engine, &err), 0);
    assert_true(adl_engine_counts(engine)->events > 10); /* it did fail */
    assert_int_equal(decided, 0);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    adl_scenario_clear(&s);
}

/* ---- speed ---- */

static void a_job_alone_takes_exactly_its_run_time_on_each_type(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1)->steps_per_s[1] = 0.4;
    tiny_mix(&s, 0, 12.345678, 1, 0);
    const struct script_row rows[] = {{3, SCRIPT_START, 1, 1, {0}}, {4, SCRIPT_START, 2, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept_end(&kept, 1), 3 * S + 12345678);
    assert_int_equal(kept_end(&kept, 2), 4 * S + 30864195);
    assert_int_equal(outcome_of(&kept, 2)->run_us, 30864195);
    assert_int_equal(outcome_of(&kept, 2)->ideal_us, 12345678);
    assert_int_equal(outcome_of(&kept, 2)->end, ADL_END_COMPLETED);
    assert_close(outcome_of(&kept, 2)->steps, 12.345678);
    release(&kept, &s);
}

/* A gang of two that spends a quarter of a step talking; 40 GB/s in a node. Its end on these GPUs. */
static int64_t end_of_gang(double network_gbs, uint32_t gpu_a, uint32_t gpu_b)
{
    struct adl_scenario s = tiny_start(1);
    const uint32_t type = tiny_type(&s);
    tiny_node(&s, type, 2);
    tiny_node(&s, type, 2);
    s.cluster.network_gbs = network_gbs;
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1)->sync_share = 0.25;
    tiny_mix(&s, 0, 100, 2, ADL_JOB_SPAN);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 2, {gpu_a, gpu_b}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const int64_t end_us = kept_end(&kept, 1);
    release(&kept, &s);
    return end_us;
}

static void a_gang_across_nodes_is_slower_by_its_share_of_talking(void **state)
{
    (void)state;
    assert_int_equal(end_of_gang(10, 2, 3), 100 * S);  /* one node */
    assert_int_equal(end_of_gang(10, 1, 2), 175 * S);  /* 0.75 + 0.25 * 40 / 10 */
    assert_int_equal(end_of_gang(400, 1, 2), 100 * S); /* a network faster than the link costs nothing */
}

/* Two classes whose demands on a GPU add up to 1.5 of its compute units or its bandwidth. */
static struct adl_scenario pair_scenario(double activity_a, double activity_b, double bandwidth)
{
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 2);
    tiny_class(&s, ADL_KIND_TRAINING, activity_a, bandwidth);
    tiny_class(&s, ADL_KIND_INFERENCE, activity_b, bandwidth);
    tiny_mix(&s, 0, 100, 1, ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE);
    tiny_mix(&s, 1, 30, 1, ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE);
    return s;
}

static const uint16_t first_then_second[] = {0, 1};

/* The second job joins the first at 20 s and needs 30 s of the GPU at this speed; then the first goes on
 * alone. */
static void check_pair(double activity_a, double activity_b, double bandwidth, double speed)
{
    struct adl_scenario s = pair_scenario(activity_a, activity_b, bandwidth);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {20, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, tiny_seed_for(&s, first_then_second, 2), ROWS(rows));
    assert_near_us(kept_end(&kept, 2), 20 + 30 / speed);
    assert_near_us(kept_end(&kept, 1), 20 + 30 / speed + (100 - 20 - 30));
    release(&kept, &s);
}

static void a_pair_on_one_gpu_slows_down_and_the_one_that_stays_speeds_up_again(void **state)
{
    (void)state;
    check_pair(0.9, 0.6, 0.2, 0.95 / 1.5); /* compute units are short */
    check_pair(0.3, 0.2, 0.8, 0.95 / 1.6); /* bandwidth is */
    check_pair(0.3, 0.2, 0.2, 0.95);       /* nothing is: only switching costs */
}

static void a_gang_goes_at_the_pace_of_its_one_shared_gpu(void **state)
{
    (void)state;
    struct adl_scenario s = pair_scenario(0.9, 0.6, 0.2);
    s.workload.mix[0].gang_gpus[0] = 2;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 2, {0, 1}}, {20, SCRIPT_START, 2, 1, {1}}};
    struct kept_run kept = run_script(&s, tiny_seed_for(&s, first_then_second, 2), ROWS(rows));
    const double speed = 0.95 / 1.5;
    assert_near_us(kept_end(&kept, 2), 20 + 30 / speed);
    assert_near_us(kept_end(&kept, 1), 20 + 30 / speed + 50);
    release(&kept, &s);
}

/* ---- preemption ---- */

static void a_preempted_job_pays_for_checkpoint_and_restart_and_keeps_its_work(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, ADL_JOB_PREEMPTIBLE);
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 3};
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 1, {0}}, {40, SCRIPT_PREEMPT, 1, 0, {0}}, {50, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const struct kept_event *evict = find_event(&kept, ADL_EVENT_EVICT, 1, 0);
    assert_non_null(evict);
    assert_int_equal(evict->event.time_us, 45 * S);
    assert_false(evict->event.evict.fault);
    assert_close(evict->event.evict.remaining, 0.6);
    assert_int_equal(kept_end(&kept, 1), (50 + 3 + 60) * S);
    assert_int_equal(outcome_of(&kept, 1)->run_us, (45 + 63) * S);
    assert_int_equal(kept.result.evictions, 1);
    release(&kept, &s);
}

/* Stopped after 40 of 100 s, with a checkpoint each 15 s, it goes on from the second: 30 s are kept, 10 lost. */
static void a_stopped_job_goes_on_from_its_last_checkpoint(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, ADL_JOB_PREEMPTIBLE);
    s.workload.mix[0].stop_loss = ADL_LOSS_SINCE_CHECKPOINT;
    s.workload.mix[0].checkpoint_us = 15 * S;
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 3};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}},
                                      {40, SCRIPT_PREEMPT, 1, 0, {0}},
                                      {50, SCRIPT_START, 1, 1, {1}},
                                      {60, SCRIPT_PREEMPT, 1, 0, {0}},
                                      {70, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_close(find_event(&kept, ADL_EVENT_EVICT, 1, 0)->event.evict.remaining, 0.7);
    assert_close(find_event(&kept, ADL_EVENT_EVICT, 1, 1)->event.evict.remaining, 0.7); /* before its next checkpoint */
    assert_int_equal(kept_end(&kept, 1), (70 + 3 + 70) * S);
    assert_int_equal(kept.result.lost_gpu_s, 10 + 10);
    release(&kept, &s);
}

static void a_job_that_loses_all_begins_at_its_beginning_after_a_stop(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 2, 100, ADL_JOB_PREEMPTIBLE);
    s.workload.mix[0].stop_loss = ADL_LOSS_ALL;
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 3, .interval_s = 10};
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 1, {0}}, {40, SCRIPT_PREEMPT, 1, 0, {0}}, {50, SCRIPT_START, 1, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_true(find_event(&kept, ADL_EVENT_EVICT, 1, 0)->event.evict.remaining == 1.0);
    assert_int_equal(kept_end(&kept, 1), (50 + 3 + 100) * S);
    assert_int_equal(kept.result.lost_gpu_s, 40);
    release(&kept, &s);
}

static void a_free_preemption_ends_at_its_own_instant(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 100, ADL_JOB_PREEMPTIBLE);
    const struct script_row rows[] = {
        {0, SCRIPT_START, 1, 1, {0}}, {40, SCRIPT_PREEMPT, 1, 0, {0}}, {40, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(find_event(&kept, ADL_EVENT_EVICT, 1, 0)->event.time_us, 40 * S);
    assert_int_equal(kept_end(&kept, 1), 100 * S);
    release(&kept, &s);
}

static void a_neighbour_runs_at_full_speed_while_the_other_saves_or_loads(void **state)
{
    (void)state;
    struct adl_scenario s = pair_scenario(0.9, 0.6, 0.2);
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 4};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}},
                                      {20, SCRIPT_START, 2, 1, {0}},
                                      {30, SCRIPT_PREEMPT, 2, 0, {0}},
                                      {40, SCRIPT_START, 2, 1, {0}}};
    struct kept_run kept = run_script(&s, tiny_seed_for(&s, first_then_second, 2), ROWS(rows));
    const double speed = 0.95 / 1.5;
    const double second_us = 44 + (30 - 10 * speed) / speed; /* together from 20 to 30, and from 44 to its end */
    assert_near_us(kept_end(&kept, 2), second_us);
    assert_near_us(kept_end(&kept, 1), second_us + (100 - 20 - 10 * speed - 14 - (second_us - 44) * speed));
    release(&kept, &s);
}

/* ---- drift ---- */

static void a_software_update_changes_the_speed_of_its_type_from_its_time_on(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_start(2);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_node(&s, tiny_type(&s), 1);
    tiny_class(&s, ADL_KIND_TRAINING, 1, 1);
    tiny_mix(&s, 0, 100, 1, 0);
    s.drift.update_count = 2;
    s.drift.updates[0].time_s = 40;
    s.drift.updates[0].type = 0;
    s.drift.updates[0].factor = 0.5;
    s.drift.updates[1].time_s = 80;
    s.drift.updates[1].type = 0;
    s.drift.updates[1].factor = 4;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}, {0, SCRIPT_START, 2, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept_end(&kept, 1), (80 + 20) * S); /* 40 s at 1, 40 s at 0.5, 40 s of work left at 2 */
    assert_int_equal(kept_end(&kept, 2), 100 * S);
    release(&kept, &s);
}

static void a_throttling_gpu_is_slow_for_half_of_each_period(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 1500, 0);
    s.drift.throttle_share = 1;
    s.drift.throttle_factor = 0.5;
    s.drift.throttle_period_s = 20;
    s.telemetry = (struct adl_telemetry_model){.interval_s = 1};
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    const double end_s = (double)kept_end(&kept, 1) * 1e-6;
    assert_true(fabs(end_s - 2000) <= 10); /* at 0.75 on average; half a period may be missing */
    uint32_t slow = 0, samples = 0;
    for (size_t i = 0; i < kept.count; i++)
        if (kept.events[i].event.kind == ADL_EVENT_TELEMETRY) {
            const float clock = kept.events[i].event.telemetry.value[ADL_READ_CLOCK];
            assert_true(clock == 0.5f || clock == 1.0f);
            assert_int_equal(kept.events[i].event.telemetry.missing >> ADL_READ_THROTTLED & 1, 0);
            assert_true(kept.events[i].event.telemetry.value[ADL_READ_THROTTLED] == (clock == 0.5f ? 1.0f : 0.0f));
            slow += clock == 0.5f;
            samples++;
        }
    assert_true(abs((int)samples - 2 * (int)slow) <= 20);
    release(&kept, &s);
}

static void gpus_that_do_not_throttle_keep_their_speed(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 1500, 0);
    s.drift.throttle_factor = 0.5;
    s.drift.throttle_period_s = 20;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept_end(&kept, 1), 1500 * (int64_t)S);
    release(&kept, &s);
}

/* Jobs of 1,000 hours, one after the other on each of 60 GPUs. */
static void a_gpu_wears_with_its_busy_hours_each_at_its_own_rate(void **state)
{
    (void)state;
    const double hours_1000 = 3.6e6;
    struct adl_scenario s = tiny_plain(120, 60, hours_1000, 0);
    s.drift.wear_per_kh = 0.1;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_fcfs);
    double lost = 0, least = 1, most = 0;
    for (uint64_t id = 1; id <= 60; id++)
        assert_int_equal(outcome_of(&kept, id)->run_us, (int64_t)(hours_1000 * 1e6)); /* new GPUs */
    for (uint64_t id = 61; id <= 120; id++) {
        const double rate = 1 - hours_1000 * 1e6 / (double)outcome_of(&kept, id)->run_us;
        assert_true(rate >= 0 && rate <= 0.2);
        least = rate < least ? rate : least;
        most = rate > most ? rate : most;
        lost += rate / 60;
    }
    assert_true(fabs(lost - 0.1) < 5 * 0.1 / sqrt(3 * 60));
    assert_true(most - least > 0.1);
    release(&kept, &s);
}

static void wear_stops_at_its_floor(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(4, 1, 3.6e7, 0); /* 10,000 h each: rates up to 2 per 1,000 h */
    s.drift.wear_per_kh = 1;
    s.drift.wear_floor = 0.8;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_fcfs);
    assert_near_us(outcome_of(&kept, 3)->run_us, 3.6e7 / 0.8);
    assert_near_us(outcome_of(&kept, 4)->run_us, 3.6e7 / 0.8);
    release(&kept, &s);
}

/* Two jobs of no weight share a GPU for 1,000 hours, or one has it alone: the job after them finds the same
 * GPU. */
static void an_hour_with_two_jobs_wears_a_gpu_like_an_hour_with_one(void **state)
{
    (void)state;
    int64_t third_us[2];
    for (int shared = 0; shared < 2; shared++) {
        struct adl_scenario s = tiny_plain(3, 2, 3.6e6 * 0.95, ADL_JOB_SHARE);
        s.classes[0].activity = s.classes[0].bandwidth = 0;
        s.drift.wear_per_kh = 0.1;
        const struct script_row rows[] = {
            {0, SCRIPT_START, 1, 1, {0}}, {0, SCRIPT_START, 2, 1, {shared ? 0u : 1u}}, {4e6, SCRIPT_START, 3, 1, {0}}};
        struct kept_run kept = run_script(&s, 1, ROWS(rows));
        assert_near_us(kept_end(&kept, 1), shared ? 3.6e6 : 3.6e6 * 0.95);
        third_us[shared] = outcome_of(&kept, 3)->run_us;
        release(&kept, &s);
    }
    const double alone = (double)third_us[0] / (3.6e6 * 0.95e6) - 1; /* about the rate, after 950 busy hours */
    const double pair = (double)third_us[1] / (3.6e6 * 0.95e6) - 1;  /* after 1,000 */
    assert_true(alone > 0);
    assert_true(pair > alone && pair < alone * 1.1);
}

/* ---- limits and ends ---- */

/* A job of 100 s with a limit of just that, on a GPU that turns half as fast at 40 s. */
static struct adl_scenario slowed_with_exact_limit(void)
{
    struct adl_scenario s = tiny_plain(1, 1, 100, 0);
    s.workload.limits = (struct adl_limits){.median_factor = 1};
    s.drift.update_count = 1;
    s.drift.updates[0].time_s = 40;
    s.drift.updates[0].factor = 0.5;
    return s;
}

static void a_job_that_reaches_its_limit_is_killed_there(void **state)
{
    (void)state;
    struct adl_scenario s = slowed_with_exact_limit();
    const struct script_row rows[] = {{10, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept_end(&kept, 1), 110 * S);
    assert_int_equal(outcome_of(&kept, 1)->end, ADL_END_TIMEOUT);
    assert_close(outcome_of(&kept, 1)->steps, 30 + 35); /* 30 s at 1, 70 s at 0.5 */
    assert_int_equal(kept.result.timeouts, 1);
    release(&kept, &s);
}

static void without_killing_the_job_runs_past_its_limit(void **state)
{
    (void)state;
    struct adl_scenario s = slowed_with_exact_limit();
    s.kill_at_limit = false;
    const struct script_row rows[] = {{10, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept_end(&kept, 1), (40 + 140) * S);
    assert_int_equal(outcome_of(&kept, 1)->end, ADL_END_COMPLETED);
    release(&kept, &s);
}

static void a_limit_of_exactly_the_run_time_does_not_kill(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 1, 12.345678, 0);
    s.workload.limits = (struct adl_limits){.median_factor = 1};
    const struct script_row rows[] = {{1, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(outcome_of(&kept, 1)->end, ADL_END_COMPLETED);
    release(&kept, &s);
}

static void the_world_ends_with_its_last_job_though_clocks_still_tick(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 3, 95, 0);
    s.telemetry.interval_s = 10;
    s.drift.throttle_share = 1;
    s.drift.throttle_period_s = 7;
    s.drift.update_count = 1;
    s.drift.updates[0].time_s = 1e6;
    s.drift.updates[0].factor = 2;
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    assert_int_equal(kept.events[kept.count - 1].event.kind, ADL_EVENT_METER);
    assert_int_equal(kept.events[kept.count - 1].event.time_us, 95 * S);
    assert_int_equal(count_events(&kept, ADL_EVENT_METER), 3);
    release(&kept, &s);
}

static void the_world_ends_with_its_last_job_though_a_gpu_is_in_repair(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(1, 40, 200, 0);
    s.faults = (struct adl_faults){.gpu_mtbf_h = 1, .gpu_repair_h = 1000};
    uint32_t in_repair = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct kept_run kept = run_kept(&s, seed, &adl_policy_fcfs);
        in_repair += count_events(&kept, ADL_EVENT_GPU_DOWN) > count_events(&kept, ADL_EVENT_GPU_UP);
        assert_int_equal(kept.events[kept.count - 1].event.time_us, kept_end(&kept, 1));
        free(kept.events);
    }
    assert_true(in_repair > 10);
    adl_scenario_clear(&s);
}

static void the_world_ends_though_nobody_ever_starts_a_job(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(3, 1, 10, 0);
    s.telemetry.interval_s = 1;
    struct kept_run kept = run_script(&s, 1, NULL, 0);
    assert_int_equal(kept.result.unfinished, 3);
    assert_int_equal(count_events(&kept, ADL_EVENT_METER), 1);
    release(&kept, &s);
}

/* ---- instants ---- */

static void events_of_one_instant_are_batched(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(4, 2, 10, 0);
    const struct script_row rows[] = {{0, SCRIPT_START, 1, 1, {0}},
                                      {0, SCRIPT_START, 2, 1, {1}},
                                      {10, SCRIPT_START, 3, 1, {0}},
                                      {20, SCRIPT_START, 4, 1, {1}}};
    struct kept_run kept = run_script(&s, 1, ROWS(rows));
    for (uint32_t i = 0; i < 4; i++) {
        const struct adl_event *submit = &kept.events[i].event;
        assert_int_equal(submit->kind, ADL_EVENT_SUBMIT);
        assert_int_equal(submit->more, i < 3);
    }
    assert_int_equal(find_event(&kept, ADL_EVENT_FINISH, 0, 0)->event.more, true);
    assert_int_equal(find_event(&kept, ADL_EVENT_FINISH, 0, 1)->event.time_us, 10 * S);
    /* The script's own wake-up of this instant is part of it too. */
    const struct kept_event *wake = find_event(&kept, ADL_EVENT_WAKE, 0, 0);
    assert_true(!wake || wake->event.time_us != 10 * S || find_event(&kept, ADL_EVENT_FINISH, 0, 1)->event.more);
    release(&kept, &s);
}

static void at_one_instant_ends_come_before_arrivals_in_one_batch(void **state)
{
    (void)state;
    struct adl_scenario s = tiny_plain(2, 1, 1, 0);
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    struct adl_workload_stream stream;
    struct adl_true_job first, second;
    assert_int_equal(adl_workload_begin(&stream, &s, 5), 0);
    assert_true(adl_workload_next(&stream, &first) && adl_workload_next(&stream, &second));
    adl_workload_end(&stream);
    const double run_s = (double)(second.submit_us - first.submit_us) * 1e-6;
    s.workload.mix[0].median_s = s.workload.mix[0].min_s = s.workload.mix[0].max_s = run_s;
    struct kept_run kept = run_kept(&s, 5, &adl_policy_fcfs);
    assert_int_equal(kept.events[1].event.kind, ADL_EVENT_FINISH);
    assert_int_equal(kept.events[2].event.kind, ADL_EVENT_SUBMIT);
    assert_int_equal(kept.events[1].event.time_us, kept.events[2].event.time_us);
    assert_true(kept.events[1].event.more);
    assert_false(kept.events[2].event.more);
    /* One decision for both: the second job starts where the first ended. */
    assert_int_equal(kept_end(&kept, 2), second.submit_us + (second.submit_us - first.submit_us));
    release(&kept, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_one_instant_are_decided_on_together_unless_told_one_by_one),
        cmocka_unit_test(a_failure_is_one_event_also_one_by_one),
        cmocka_unit_test(a_job_alone_takes_exactly_its_run_time_on_each_type),
        cmocka_unit_test(a_gang_across_nodes_is_slower_by_its_share_of_talking),
        cmocka_unit_test(a_pair_on_one_gpu_slows_down_and_the_one_that_stays_speeds_up_again),
        cmocka_unit_test(a_gang_goes_at_the_pace_of_its_one_shared_gpu),
        cmocka_unit_test(a_preempted_job_pays_for_checkpoint_and_restart_and_keeps_its_work),
        cmocka_unit_test(a_stopped_job_goes_on_from_its_last_checkpoint),
        cmocka_unit_test(a_job_that_loses_all_begins_at_its_beginning_after_a_stop),
        cmocka_unit_test(a_free_preemption_ends_at_its_own_instant),
        cmocka_unit_test(a_neighbour_runs_at_full_speed_while_the_other_saves_or_loads),
        cmocka_unit_test(a_software_update_changes_the_speed_of_its_type_from_its_time_on),
        cmocka_unit_test(a_throttling_gpu_is_slow_for_half_of_each_period),
        cmocka_unit_test(gpus_that_do_not_throttle_keep_their_speed),
        cmocka_unit_test(a_gpu_wears_with_its_busy_hours_each_at_its_own_rate),
        cmocka_unit_test(wear_stops_at_its_floor),
        cmocka_unit_test(an_hour_with_two_jobs_wears_a_gpu_like_an_hour_with_one),
        cmocka_unit_test(a_job_that_reaches_its_limit_is_killed_there),
        cmocka_unit_test(without_killing_the_job_runs_past_its_limit),
        cmocka_unit_test(a_limit_of_exactly_the_run_time_does_not_kill),
        cmocka_unit_test(the_world_ends_with_its_last_job_though_clocks_still_tick),
        cmocka_unit_test(the_world_ends_with_its_last_job_though_a_gpu_is_in_repair),
        cmocka_unit_test(the_world_ends_though_nobody_ever_starts_a_job),
        cmocka_unit_test(events_of_one_instant_are_batched),
        cmocka_unit_test(at_one_instant_ends_come_before_arrivals_in_one_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
