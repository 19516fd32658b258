/* test_executor_sim: the twin under scripted and random commands: no event comes before its time, every job ends once.
 */
#include "random_scenario.h"

#include "executor/sim/executor_sim.h"

#include <math.h>
#include <string.h>

#define S     INT64_C(1000000)
#define BEGIN (INT64_C(1700000000) * S) /* the service's clock is not the simulation's */

static struct adl_inventory inventory;
static struct adl_executor executor;

static void open_twin(struct adl_scenario scenario, uint64_t seed)
{
    struct adl_error err = {{0}};
    inventory = (struct adl_inventory){.scenario = scenario};
    assert_int_equal(adl_inventory_add_plain_class(&inventory), 0);
    assert_int_equal(adl_inventory_name_gpus(&inventory, "simulated", &err), 0);
    if (adl_executor_sim_create(&inventory, seed, BEGIN, &executor, &err))
        fail_msg("%s", err.text);
}

static void close_twin(void)
{
    executor.ops->destroy(executor.self);
    adl_inventory_clear(&inventory);
}

static int poll_at(int64_t now_us, struct adl_report *ret)
{
    struct adl_error err = {{0}};
    const int status = executor.ops->poll(executor.self, now_us, ret, &err);
    if (status < 0)
        fail_msg("%s", err.text);
    return status;
}

static struct adl_job_entry job_on(uint64_t id, uint16_t gpus)
{
    return (struct adl_job_entry){.id = id, .spec = {.id = id, .gpus = gpus, .types = 1, .limit_us = 100 * S}};
}

static uint32_t admit(const struct adl_job_entry *job)
{
    uint32_t slot = ADL_NONE;
    assert_int_equal(executor.ops->admit(executor.self, &job->spec, &slot, NULL), 0);
    return slot;
}

static void start(const struct adl_job_entry *job, uint32_t slot, const uint32_t *gpus)
{
    struct adl_error err = {{0}};
    if (executor.ops->start(executor.self, job, slot, gpus, &err))
        fail_msg("%s", err.text);
}

static void stop(const struct adl_job_entry *job, uint32_t slot, bool requeue)
{
    assert_int_equal(executor.ops->stop(executor.self, job, slot, requeue, "why", NULL), 0);
}

/* The next report, which is due exactly then. */
static struct adl_report expect_report(int64_t at_us, int kind, uint32_t slot)
{
    struct adl_report report;
    assert_int_equal(executor.ops->due_us(executor.self), at_us);
    assert_int_equal(poll_at(at_us - 1, &report), 0);
    assert_int_equal(poll_at(at_us, &report), 1);
    assert_int_equal(report.kind, kind);
    assert_int_equal(report.slot, slot);
    assert_int_equal(report.time_us, at_us);
    return report;
}

/* A world of two GPUs whose own job comes first and is not of interest. */
static void open_plain(void)
{
    struct adl_report report;
    struct adl_scenario scenario = tiny_plain(1, 2, 10, ADL_JOB_PREEMPTIBLE);
    scenario.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 7};
    open_twin(scenario, 1);
    assert_int_equal(poll_at(BEGIN, &report), 1);
    assert_int_equal(report.kind, ADL_REPORT_GENERATED);
    assert_int_equal(report.submit.spec->class_index, 1);
    executor.ops->withdraw(executor.self, report.slot);
}

static void a_submitted_job_takes_its_share_of_its_limit_from_when_it_was_started(void **state)
{
    (void)state;
    struct adl_report report;
    const struct adl_job_entry job = job_on(7, 1);
    const uint32_t gpu = 1;
    open_plain();
    assert_true(executor.ops->due_us(executor.self) == INT64_MAX);
    assert_int_equal(poll_at(BEGIN + 3600 * S, &report), 0); /* an hour in which nothing happens */
    const uint32_t slot = admit(&job);
    assert_int_equal(poll_at(BEGIN + 3601 * S, &report), 0);
    start(&job, slot, &gpu);
    report = expect_report(BEGIN + 3661 * S, ADL_REPORT_ENDED, slot);
    assert_int_equal(report.outcome.end, ADL_END_COMPLETED);
    assert_int_equal(report.outcome.run_us, 60 * S);
    assert_int_equal(report.start_us, BEGIN + 3601 * S);
    assert_true(fabs(report.outcome.energy_j - 60 * 200.0) < 1e-6); /* 40 W + 0.8 * 200 W */
    close_twin();
}

static void on_a_faster_type_it_takes_less_and_on_one_without_a_speed_as_long(void **state)
{
    (void)state;
    struct adl_report report;
    struct adl_scenario scenario = tiny_start(1);
    for (int t = 0; t < 3; t++)
        tiny_node(&scenario, tiny_type(&scenario), 1);
    struct adl_job_class *class = tiny_class(&scenario, ADL_KIND_DATA, 1, 1);
    tiny_mix(&scenario, 0, 10, 1, 0);
    class->steps_per_s[0] = 2;
    class->steps_per_s[1] = 8;
    class->steps_per_s[2] = 0;
    scenario.workload.mix[0].types = 3;
    open_twin(scenario, 1);
    assert_int_equal(poll_at(BEGIN, &report), 1);
    for (uint32_t t = 0; t < 3; t++) {
        struct adl_job_entry job = job_on(t + 1, 1);
        job.spec.types = 7;
        job.spec.class_index = 1;
        start(&job, admit(&job), &t);
    }
    assert_int_equal(executor.ops->due_us(executor.self), BEGIN + 15 * S);
    assert_int_equal(poll_at(BEGIN + 15 * S, &report), 1);
    assert_int_equal(report.outcome.ideal_us, 15 * S);
    assert_true(report.outcome.steps == 120);
    assert_int_equal(executor.ops->due_us(executor.self), BEGIN + 60 * S);
    assert_int_equal(poll_at(BEGIN + 60 * S, &report), 1);
    assert_int_equal(poll_at(BEGIN + 60 * S, &report), 1);
    close_twin();
}

static void a_job_is_cancelled_in_every_phase(void **state)
{
    (void)state;
    struct adl_report report;
    const struct adl_job_entry job = job_on(7, 1);
    const uint32_t gpu = 0;
    open_plain();
    for (int phase = 0; phase < 4; phase++) {
        const uint32_t slot = admit(&job);
        int64_t now_us = BEGIN + (1000 * (phase + 1)) * S;
        assert_int_equal(poll_at(now_us, &report), 0);
        if (phase == 0) { /* it waits */
            executor.ops->withdraw(executor.self, slot);
            assert_true(executor.ops->due_us(executor.self) == INT64_MAX);
            continue;
        }
        start(&job, slot, &gpu);
        if (phase >= 2) {
            stop(&job, slot, true); /* it writes its checkpoint */
            stop(&job, slot, true); /* to ask twice changes nothing */
        }
        if (phase == 3) { /* it reads it */
            report = expect_report(now_us + 5 * S, ADL_REPORT_REQUEUED, slot);
            assert_false(report.requeue.fault);
            start(&job, slot, &gpu);
            now_us += 5 * S;
        }
        assert_int_equal(poll_at(now_us + S, &report), 0);
        stop(&job, slot, false);
        stop(&job, slot, false);
        report = expect_report(now_us + S, ADL_REPORT_ENDED, slot);
        assert_int_equal(report.outcome.end, ADL_END_CANCELLED);
        assert_int_equal(report.outcome.run_us, phase == 3 ? 6 * S : S);
        executor.ops->forget(executor.self, 7, 1);
        assert_true(executor.ops->due_us(executor.self) == INT64_MAX);
    }
    close_twin();
}

static void a_job_that_was_stopped_goes_on_where_it_was(void **state)
{
    (void)state;
    struct adl_report report;
    const struct adl_job_entry job = job_on(7, 2);
    const uint32_t gpus[] = {0, 1};
    open_plain();
    const uint32_t slot = admit(&job);
    start(&job, slot, gpus);
    assert_int_equal(poll_at(BEGIN + 45 * S, &report), 0);
    stop(&job, slot, true);
    report = expect_report(BEGIN + 50 * S, ADL_REPORT_REQUEUED, slot);
    assert_true(report.requeue.remaining < 0); /* as of a real cluster, nobody knows it */
    start(&job, slot, gpus);
    assert_int_equal(poll_at(BEGIN + 57 * S, &report), 0); /* its checkpoint is read: due, but nothing to tell */
    report = expect_report(BEGIN + (50 + 7 + 15) * S, ADL_REPORT_ENDED, slot);
    assert_int_equal(report.outcome.run_us, 72 * S);
    close_twin();
}

static void a_job_whose_limit_passes_while_it_reads_its_checkpoint_ends_then(void **state)
{
    (void)state;
    struct adl_report report;
    struct adl_job_entry job = job_on(7, 1);
    const uint32_t gpu = 0;
    open_plain();
    job.spec.limit_us = 6 * S;
    const uint32_t slot = admit(&job);
    start(&job, slot, &gpu);
    assert_int_equal(poll_at(BEGIN + 2 * S, &report), 0);
    stop(&job, slot, true);
    assert_int_equal(poll_at(BEGIN + 7 * S, &report), 1);
    start(&job, slot, &gpu);
    report = expect_report(BEGIN + 14 * S, ADL_REPORT_ENDED, slot);
    assert_int_equal(report.outcome.end, ADL_END_TIMEOUT);
    close_twin();
}

static void a_slot_is_not_used_again_before_its_job_is_forgotten(void **state)
{
    (void)state;
    struct adl_report report;
    const struct adl_job_entry job = job_on(7, 1), other = job_on(8, 1);
    const uint32_t gpu = 0;
    open_plain();
    const uint32_t slot = admit(&job);
    start(&job, slot, &gpu);
    assert_int_equal(poll_at(BEGIN + 60 * S, &report), 1);
    stop(&job, slot, false); /* by somebody who has not heard yet */
    assert_int_equal(poll_at(BEGIN + 60 * S, &report), 0);
    assert_true(admit(&other) != slot);
    executor.ops->forget(executor.self, 8, 1); /* another's */
    assert_true(admit(&other) != slot);
    executor.ops->forget(executor.self, 7, 1);
    assert_int_equal(admit(&other), slot);
    close_twin();
}

static void nothing_is_taken_over_from_before_a_restart(void **state)
{
    (void)state;
    const struct adl_job_entry job = job_on(7, 1);
    const uint32_t gpu = 0;
    open_plain();
    assert_false(executor.ops->adopt(executor.self, &job, admit(&job), &gpu));
    assert_int_equal(executor.ops->fd(executor.self), -1);
    close_twin();
}

static void a_cap_slows_a_job_down(void **state)
{
    (void)state;
    const struct adl_job_entry job = job_on(7, 1);
    const uint32_t gpu = 0;
    open_plain();
    start(&job, admit(&job), &gpu);
    assert_int_equal(executor.ops->due_us(executor.self), BEGIN + 60 * S);
    assert_int_equal(executor.ops->cap(executor.self, &gpu, 1, 120, NULL), 0);
    assert_true(executor.ops->due_us(executor.self) > BEGIN + 60 * S);
    close_twin();
}

/* ---- random lives ---- */

#define SLOTS_MAX 1000
#define GPUS_MAX  64

enum phase { NOWHERE, WAITS, RUNS, STOPS, ENDED }; /* ENDED: told, not forgotten */

struct model_job {
    struct adl_job_entry job;
    enum phase phase;
    bool cancelled, ran;
    uint32_t gpus[8];
};

static struct {
    struct adl_rng rng;
    struct model_job jobs[SLOTS_MAX];
    uint32_t slot_count;
    uint32_t on[GPUS_MAX]; /* jobs there, as far as was told */
    bool down[GPUS_MAX];
    uint64_t admitted, withdrawn, finished, cancels, evictions, faults, meters;
    double job_energy_j, gpu_energy_j[GPUS_MAX];
    uint64_t next_id;
    int64_t now_us, told_us;
} model;

static void add_job(uint32_t slot, const struct adl_job_spec *spec)
{
    assert_true(slot < SLOTS_MAX);
    struct model_job *it = &model.jobs[slot];
    assert_int_equal(it->phase, NOWHERE); /* no slot is given to two */
    *it = (struct model_job){.job = {.id = ++model.next_id, .spec = *spec}, .phase = WAITS};
    it->job.spec.id = it->job.id;
    model.slot_count = slot >= model.slot_count ? slot + 1 : model.slot_count;
    model.admitted++;
}

static void leave_gpus(const struct model_job *it)
{
    for (uint32_t i = 0; i < it->job.spec.gpus; i++)
        model.on[it->gpus[i]]--;
}

static void take_end(const struct adl_report *report)
{
    struct model_job *it = &model.jobs[report->slot];
    assert_true(it->phase == RUNS || it->phase == STOPS);
    leave_gpus(it);
    if (report->kind == ADL_REPORT_REQUEUED) {
        assert_true(report->requeue.fault || it->phase == STOPS);
        assert_false(it->cancelled); /* it has ended, then */
        model.evictions++;
        model.faults += report->requeue.fault;
        it->phase = WAITS;
        return;
    }
    assert_true(it->cancelled || report->outcome.end != ADL_END_CANCELLED);
    assert_true(report->outcome.run_us >= 0 && report->start_us >= BEGIN);
    model.finished++;
    model.job_energy_j += report->outcome.energy_j;
    it->phase = ENDED;
}

static void take_report(const struct adl_report *report)
{
    assert_true(report->time_us <= model.now_us && report->time_us >= model.told_us);
    model.told_us = report->time_us;
    switch (report->kind) {
    case ADL_REPORT_GENERATED:
        add_job(report->slot, report->submit.spec);
        break;
    case ADL_REPORT_ENDED:
    case ADL_REPORT_REQUEUED:
        take_end(report);
        break;
    case ADL_REPORT_GPU_DOWN:
        assert_int_equal(model.on[report->gpu], 0);
        assert_false(model.down[report->gpu]);
        model.down[report->gpu] = true;
        break;
    case ADL_REPORT_GPU_UP:
        assert_true(model.down[report->gpu]);
        model.down[report->gpu] = false;
        break;
    case ADL_REPORT_SAMPLE:
        assert_true(report->sample.energy_j >= model.gpu_energy_j[report->gpu] && report->sample.memory_used_mib >= 0);
        break;
    case ADL_REPORT_METER:
        assert_true(report->energy_j >= model.gpu_energy_j[report->gpu]);
        model.gpu_energy_j[report->gpu] = report->energy_j;
        model.meters++;
        break;
    default:
        assert_int_equal(report->kind, ADL_REPORT_PROGRESS);
        assert_int_equal(model.jobs[report->slot].phase, RUNS);
    }
}

/* Takes some of the reports that are due, or all. */
static void poll_some(bool all)
{
    struct adl_report report;
    const int64_t due_us = executor.ops->due_us(executor.self);
    for (uint32_t left = all ? UINT32_MAX : adl_rng_below(&model.rng, 4); left > 0; left--) {
        const int status = poll_at(model.now_us, &report);
        if (status == 0) {
            assert_true(executor.ops->due_us(executor.self) > model.now_us);
            return;
        }
        if (report.time_us < due_us || due_us > model.now_us)
            fail_msg("report %d at %lld was due at %lld, now %lld", report.kind, (long long)(report.time_us - BEGIN),
                     (long long)(due_us - BEGIN), (long long)(model.now_us - BEGIN));
        take_report(&report);
    }
}

/* GPUs of one acceptable type with room, as far as was told. */
static bool find_gpus(struct model_job *it)
{
    const struct adl_cluster *cluster = &inventory.scenario.cluster;
    const uint32_t most = it->job.spec.flags & ADL_JOB_SHARE ? 2 : 1;
    for (uint32_t type = 0; type < cluster->type_count; type++) {
        uint32_t count = 0;
        for (uint32_t gpu = 0; gpu < cluster->gpu_count && count < it->job.spec.gpus; gpu++)
            if (adl_gpu_type_of(cluster, gpu) == type && it->job.spec.types >> type & 1 && !model.down[gpu] &&
                model.on[gpu] < most)
                it->gpus[count++] = gpu;
        if (count == it->job.spec.gpus)
            return true;
    }
    return false;
}

static void try_start(uint32_t slot)
{
    struct model_job *it = &model.jobs[slot];
    if (it->phase != WAITS || !find_gpus(it))
        return;
    start(&it->job, slot, it->gpus);
    for (uint32_t i = 0; i < it->job.spec.gpus; i++)
        model.on[it->gpus[i]]++;
    it->phase = RUNS;
    it->ran = true;
}

static void admit_one(void)
{
    const struct adl_scenario *scenario = &inventory.scenario;
    const struct adl_job_spec spec = {.class_index = (uint16_t)adl_rng_below(&model.rng, scenario->class_count),
                                      .gpus = (uint16_t)(1 + adl_rng_below(&model.rng, 2)),
                                      .types = 1 + adl_rng_below(&model.rng, (1u << scenario->cluster.type_count) - 1),
                                      .flags = (uint8_t)adl_rng_below(&model.rng, 8),
                                      .limit_us = 1 + (int64_t)(draw_between(&model.rng, 0, 60) * 1e6)};
    uint32_t slot;
    assert_int_equal(executor.ops->admit(executor.self, &spec, &slot, NULL), 0);
    add_job(slot, &spec);
}

static void forget(uint32_t slot)
{
    struct model_job *it = &model.jobs[slot];
    if (it->phase != ENDED)
        return;
    executor.ops->forget(executor.self, it->job.id, 1);
    it->phase = NOWHERE;
}

static void command(void)
{
    if (adl_rng_below(&model.rng, 12) == 0)
        admit_one();
    if (model.slot_count == 0)
        return;
    const uint32_t slot = adl_rng_below(&model.rng, model.slot_count);
    struct model_job *it = &model.jobs[slot];
    const uint32_t whim = adl_rng_below(&model.rng, 12);
    if (it->phase == ENDED) {
        forget(slot);
    } else if (it->phase == WAITS && whim == 0 && !it->ran) {
        executor.ops->withdraw(executor.self, slot);
        it->phase = NOWHERE;
        model.withdrawn++;
    } else if (it->phase == WAITS) {
        try_start(slot);
    } else if (it->phase != NOWHERE && whim == 0) {
        stop(&it->job, slot, false);
        it->phase = STOPS;
        it->cancelled = true;
        model.cancels++;
    } else if (it->phase == RUNS && whim == 1) {
        stop(&it->job, slot, true);
        it->phase = STOPS;
    }
}

static void finish_all(void)
{
    for (int round = 0; round < 200000 && model.admitted > model.finished + model.withdrawn; round++) {
        for (uint32_t slot = 0; slot < model.slot_count; slot++) {
            forget(slot);
            struct model_job *it = &model.jobs[slot];
            if (it->phase == WAITS && !it->ran) {
                executor.ops->withdraw(executor.self, slot);
                it->phase = NOWHERE;
                model.withdrawn++;
            }
            try_start(slot);
        }
        const int64_t due_us = executor.ops->due_us(executor.self);
        assert_true(due_us < INT64_MAX);
        model.now_us = due_us > model.now_us ? due_us : model.now_us;
        poll_some(true);
    }
    assert_int_equal(model.admitted, model.finished + model.withdrawn);
}

static void live_through(uint64_t seed)
{
    struct adl_scenario scenario = random_scenario(seed, 40);
    for (uint32_t t = 0; t < scenario.cluster.type_count; t++)
        scenario.cluster.types[t].idle_w = 0; /* then GPUs draw for jobs alone */
    scenario.telemetry = (struct adl_telemetry_model){.interval_s = 20, .noise = 0.02, .progress = seed % 2};
    memset(&model, 0, sizeof model);
    adl_rng_seed(&model.rng, seed, "twin");
    assert_true(scenario.cluster.gpu_count <= GPUS_MAX);
    open_twin(scenario, seed);
    model.now_us = model.told_us = BEGIN;
    for (int i = 0; i < 4000; i++) {
        if (adl_rng_below(&model.rng, 3) == 0)
            model.now_us += (int64_t)(draw_between(&model.rng, 0, 0.5) * 1e6);
        poll_some(adl_rng_below(&model.rng, 2));
        command();
    }
    finish_all();
    const uint64_t meters = model.meters;
    model.now_us += 40 * S; /* counters once more, after the last job; submissions may go on */
    poll_some(true);
    assert_true(model.meters > meters);
}

static void whatever_is_commanded_every_job_ends_once_and_energy_adds_up(void **state)
{
    (void)state;
    uint64_t finished = 0, cancels = 0, evictions = 0, faults = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        double gpu_energy_j = 0;
        live_through(seed);
        for (uint32_t gpu = 0; gpu < inventory.scenario.cluster.gpu_count; gpu++)
            gpu_energy_j += model.gpu_energy_j[gpu];
        if (!(fabs(gpu_energy_j - model.job_energy_j) <= 1e-6 * (1 + gpu_energy_j)))
            fail_msg("seed %llu: GPUs drew %g J, jobs %g J", (unsigned long long)seed, gpu_energy_j,
                     model.job_energy_j);
        finished += model.finished;
        cancels += model.cancels;
        evictions += model.evictions;
        faults += model.faults;
        close_twin();
    }
    assert_true(finished > 1000 && cancels > 200 && evictions > 200 && faults > 20);
}

static void equal_seeds_and_commands_give_equal_lives(void **state)
{
    (void)state;
    live_through(3);
    const double energy_j = model.job_energy_j;
    const int64_t told_us = model.told_us;
    close_twin();
    live_through(3);
    assert_true(model.job_energy_j == energy_j && model.told_us == told_us);
    close_twin();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submitted_job_takes_its_share_of_its_limit_from_when_it_was_started),
        cmocka_unit_test(on_a_faster_type_it_takes_less_and_on_one_without_a_speed_as_long),
        cmocka_unit_test(a_job_is_cancelled_in_every_phase),
        cmocka_unit_test(a_job_that_was_stopped_goes_on_where_it_was),
        cmocka_unit_test(a_job_whose_limit_passes_while_it_reads_its_checkpoint_ends_then),
        cmocka_unit_test(a_slot_is_not_used_again_before_its_job_is_forgotten),
        cmocka_unit_test(nothing_is_taken_over_from_before_a_restart),
        cmocka_unit_test(a_cap_slows_a_job_down),
        cmocka_unit_test(whatever_is_commanded_every_job_ends_once_and_energy_adds_up),
        cmocka_unit_test(equal_seeds_and_commands_give_equal_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
