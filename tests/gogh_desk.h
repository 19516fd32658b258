/* gogh_desk: the policy gogh on a state that a test changes event by event, as the engine would: it observes each event
 * before it is applied, and what it asks for is validated before it is done. */
#ifndef ADLRO_TESTS_GOGH_DESK_H
#define ADLRO_TESTS_GOGH_DESK_H

#include "engine/validate.h"
#include "policy/policy.h"
#include "state_fixture.h"

#include <string.h>

#define S 1000000 /* microseconds in a second */

enum { FAST, SLOW, DESK_TYPES }; /* by their specifications */

struct gogh_desk {
    struct adl_cluster cluster;
    struct adl_policy_config config;
    struct adl_state *state;
    struct adl_validator *validator;
    struct adl_plan plan;
    void *policy;
    int64_t now_us;
    uint32_t lessons; /* jobs that only taught, in slots from the top down */
    /* what was done since it was last cleared */
    uint32_t starts, stops, caps, wakes;
    uint32_t stopped; /* the slot stopped last */
};

/* A fast and a slow type of 16 GiB, 30 W idle, 60 W with a context; at full load the fast one draws 260 W, the slow one
 * 160 W. */
static inline void desk_types(struct adl_cluster *cluster)
{
    static const double fp32[DESK_TYPES] = {14, 4}, bandwidth[DESK_TYPES] = {900, 250}, max_w[DESK_TYPES] = {260, 160};
    for (int t = 0; t < DESK_TYPES; t++) {
        struct adl_error err;
        struct adl_gpu_type type = {.memory_mib = FIXTURE_GPU_MIB,
                                    .bandwidth_gbs = bandwidth[t],
                                    .fp32_tflops = fp32[t],
                                    .fp16_tflops = fp32[t],
                                    .fp64_tflops = fp32[t] / 2,
                                    .idle_w = 30,
                                    .context_w = 60,
                                    .max_w = max_w[t]};
        snprintf(type.name, sizeof type.name, "%s", t == FAST ? "fast" : "slow");
        snprintf(type.vendor, sizeof type.vendor, "nvidia");
        assert_int_equal(adl_cluster_add_type(cluster, &type, &err), 0);
    }
}

/* Once its cluster has nodes and its configuration is as wanted. */
static inline void desk_open(struct gogh_desk *desk)
{
    struct adl_error err;
    desk->state = fixture_state(&desk->cluster);
    assert_int_equal(adl_state_reserve(desk->state, 256), 0);
    assert_int_equal(adl_validator_create(&desk->cluster, &desk->validator), 0);
    assert_int_equal(adl_plan_create(&desk->plan, desk->cluster.gpu_count), 0);
    assert_int_equal(adl_policy_gogh.create(&desk->config, &desk->cluster, 1, &desk->policy, &err), 0);
}

/* One node of each type with so many GPUs; 0 = no such node. A move costs 20 s. */
static inline void desk_open_plain(struct gogh_desk *desk, uint32_t fast, uint32_t slow)
{
    *desk = (struct gogh_desk){.config = {.preemption_us = 20 * S}};
    desk_types(&desk->cluster);
    if (fast > 0)
        fixture_node(&desk->cluster, FAST, fast);
    if (slow > 0)
        fixture_node(&desk->cluster, SLOW, slow);
}

static inline void desk_close(struct gogh_desk *desk)
{
    adl_policy_gogh.destroy(desk->policy);
    adl_plan_clear(&desk->plan);
    adl_validator_destroy(desk->validator);
    adl_state_destroy(desk->state);
    adl_cluster_clear(&desk->cluster);
}

/* ---- events ---- */

static inline void desk_observe(struct gogh_desk *desk, struct adl_event event)
{
    event.time_us = desk->now_us;
    adl_policy_gogh.observe(desk->policy, &event, desk->state);
    desk->state->now_us = desk->now_us;
}

/* A job of so many seconds of work on its best type, as long as none has ended: a tenth of its limit is believed. */
static inline struct adl_job_spec desk_spec(uint16_t class_index, double work_s, int flags)
{
    return (struct adl_job_spec){.class_index = class_index,
                                 .gpus = 1,
                                 .types = UINT32_MAX,
                                 .flags = (uint8_t)flags,
                                 .gpu_memory_mib = 4096,
                                 .cpu_cores = 1,
                                 .limit_us = (int64_t)(10 * work_s * S)};
}

static inline void desk_submit(struct gogh_desk *desk, uint32_t slot, const struct adl_job_spec *spec)
{
    struct adl_job_spec it = *spec;
    it.id = slot + 1;
    struct adl_event event = {.kind = ADL_EVENT_SUBMIT, .job = slot};
    event.submit.spec = &it;
    desk_observe(desk, event);
    int64_t runtime_us[ADL_TYPES_MAX];
    for (int t = 0; t < ADL_TYPES_MAX; t++)
        runtime_us[t] = it.limit_us;
    assert_int_equal(adl_state_admit(desk->state, slot, &it, runtime_us), 0);
    assert_int_equal(adl_state_enqueue(desk->state, slot, desk->state->jobs[slot].submit_us), 0);
}

static inline void desk_progress(struct gogh_desk *desk, uint32_t slot, double steps_per_s)
{
    desk_observe(
        desk, (struct adl_event){.kind = ADL_EVENT_PROGRESS, .job = slot, .gpu = ADL_NONE, .steps_per_s = steps_per_s});
}

static inline void desk_power(struct gogh_desk *desk, uint32_t gpu, double power_w)
{
    struct adl_event event = {.kind = ADL_EVENT_TELEMETRY, .job = ADL_NONE, .gpu = gpu};
    event.telemetry.value[ADL_READ_POWER] = (float)power_w;
    desk_observe(desk, event);
}

static inline void desk_finish_as(struct gogh_desk *desk, uint32_t slot, int end, double steps)
{
    struct adl_event event = {.kind = ADL_EVENT_FINISH, .job = slot, .gpu = ADL_NONE};
    event.outcome = (struct adl_outcome){.end = (uint8_t)end, .steps = steps};
    desk_observe(desk, event);
    adl_state_finish(desk->state, slot);
}

/* Ended in a way that tells nothing of how long jobs like it take. */
static inline void desk_finish(struct gogh_desk *desk, uint32_t slot)
{
    desk_finish_as(desk, slot, ADL_END_CANCELLED, 0);
}

static inline void desk_evict(struct gogh_desk *desk, uint32_t slot, double remaining)
{
    struct adl_event event = {.kind = ADL_EVENT_EVICT, .job = slot, .gpu = ADL_NONE};
    event.evict.remaining = remaining;
    desk_observe(desk, event);
    adl_state_evict(desk->state, slot, remaining);
    assert_int_equal(adl_state_enqueue(desk->state, slot, desk->state->jobs[slot].submit_us), 0);
}

static inline void desk_down(struct gogh_desk *desk, uint32_t gpu)
{
    desk_observe(desk, (struct adl_event){.kind = ADL_EVENT_GPU_DOWN, .job = ADL_NONE, .gpu = gpu});
    adl_state_gpu_down(desk->state, gpu);
}

static inline void desk_wake(struct gogh_desk *desk)
{
    desk_observe(desk, (struct adl_event){.kind = ADL_EVENT_WAKE, .job = ADL_NONE, .gpu = ADL_NONE});
}

/* A queued job starts there whatever the policy thinks. */
static inline void desk_force(struct gogh_desk *desk, uint32_t slot, uint32_t first_gpu)
{
    uint32_t gpus[64];
    for (uint32_t i = 0; i < desk->state->jobs[slot].spec.gpus; i++)
        gpus[i] = first_gpu + i;
    adl_state_start(desk->state, slot, gpus);
}

/* ---- lessons ---- */

static inline uint32_t desk_gpu_of(const struct gogh_desk *desk, uint32_t type)
{
    for (uint32_t gpu = 0; gpu < desk->cluster.gpu_count; gpu++)
        if (adl_gpu_type_of(&desk->cluster, gpu) == type && desk->state->gpus[gpu].job[0] == ADL_NONE)
            return gpu;
    fail_msg("there is no free GPU to teach on");
    return ADL_NONE;
}

#define DESK_READINGS 20

/* A job of the class ran there and reported this speed and this load of each of its GPUs, then was cancelled. */
static inline void desk_teach(struct gogh_desk *desk, const struct adl_job_spec *spec, uint32_t type,
                              double steps_per_s, double load)
{
    const struct adl_gpu_type *gpu_type = &desk->cluster.types[type];
    const uint32_t slot = 255 - desk->lessons++, gpu = desk_gpu_of(desk, type);
    desk_submit(desk, slot, spec);
    desk_force(desk, slot, gpu);
    desk->now_us += desk->config.preemption_us + S;
    for (int i = 0; i < DESK_READINGS; i++) {
        desk_progress(desk, slot, steps_per_s);
        desk_power(desk, gpu, gpu_type->context_w + (gpu_type->max_w - gpu_type->context_w) * load);
    }
    desk_finish(desk, slot);
}

/* Two ran beside each other on such a GPU, at these speeds. */
static inline void desk_teach_pair(struct gogh_desk *desk, const struct adl_job_spec *a, const struct adl_job_spec *b,
                                   uint32_t type, double a_steps_per_s, double b_steps_per_s)
{
    const uint32_t slot = 255 - desk->lessons, other = slot - 1, gpu = desk_gpu_of(desk, type);
    struct adl_job_spec specs[2] = {*a, *b};
    desk->lessons += 2;
    for (uint32_t i = 0; i < 2; i++) {
        specs[i].flags |= ADL_JOB_SHARE;
        desk_submit(desk, slot - i, &specs[i]);
        desk_force(desk, slot - i, gpu);
    }
    for (int i = 0; i < DESK_READINGS; i++) {
        desk_progress(desk, slot, a_steps_per_s);
        desk_progress(desk, other, b_steps_per_s);
    }
    desk_finish(desk, slot);
    desk_finish(desk, other);
}

/* ---- decisions ---- */

static inline void desk_carry_out(struct gogh_desk *desk, const struct adl_command *command, const uint32_t *gpus)
{
    struct adl_error err = {{0}};
    if (adl_validate(desk->validator, desk->state, command, gpus, &err))
        fail_msg("refused: %s", err.text);
    switch (command->kind) {
    case ADL_COMMAND_START:
        adl_state_start(desk->state, command->job, gpus);
        desk->starts++;
        break;
    case ADL_COMMAND_PREEMPT:
        adl_state_stopping(desk->state, command->job);
        desk->stops++;
        desk->stopped = command->job;
        break;
    case ADL_COMMAND_CAP:
        adl_state_cap(desk->state, gpus, command->gpu_count, command->power_w);
        desk->caps++;
        break;
    default:
        desk->wakes++;
    }
}

/* Asks and carries out, as the engine does, until nothing is started or stopped. Counts what was done from 0. */
static inline void desk_decide(struct gogh_desk *desk)
{
    bool acted = true;
    desk->starts = desk->stops = desk->caps = desk->wakes = 0;
    desk->stopped = ADL_NONE;
    desk->state->now_us = desk->now_us;
    for (int rounds = 0; acted; rounds++) {
        assert_true(rounds < 1000);
        const uint32_t before = desk->starts + desk->stops;
        adl_plan_reset(&desk->plan);
        assert_int_equal(adl_policy_gogh.decide(desk->policy, desk->state, &desk->plan), 0);
        for (uint32_t i = 0; i < desk->plan.command_count; i++)
            desk_carry_out(desk, &desk->plan.commands[i], &desk->plan.gpus[desk->plan.commands[i].gpu_offset]);
        acted = desk->starts + desk->stops > before;
    }
}

static inline bool desk_runs(const struct gogh_desk *desk, uint32_t slot)
{
    return desk->state->jobs[slot].phase == ADL_PHASE_RUNNING;
}

static inline void assert_runs_on(const struct gogh_desk *desk, uint32_t slot, uint32_t type)
{
    if (!desk_runs(desk, slot))
        fail_msg("job %u does not run", slot);
    assert_int_equal(desk->state->jobs[slot].type, type);
}

static inline bool desk_together(const struct gogh_desk *desk, uint32_t a, uint32_t b)
{
    return desk_runs(desk, a) && desk_runs(desk, b) && desk->state->jobs[a].first_gpu == desk->state->jobs[b].first_gpu;
}

#endif
