#include "engine/engine_internal.h"

#include "base/hash.h"
#include "policy/mechanism/reason.h"
#include "predict/belief.h"
#include "state/stop.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decision times kept: enough for a stable 99th percentile, few enough not to matter for memory. */
#define TIMED_EVERY 16
#define TIMED_MAX   (1u << 16)

/* Clusters whose state does not fit into the caches of a core: what the next events need is fetched in time. */
#define FETCHED_GPUS 4096
#define FETCHED_JOBS 5 /* the first of the world's queue, and those of which one follows */

int adl_engine_create(const struct adl_engine_config *config, struct adl_engine **ret, struct adl_error *err)
{
    assert(config->observer_count <= ADL_OBSERVERS_MAX);
    struct adl_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the engine");
    engine->config = *config;
    int status = adl_state_create(config->cluster, &engine->state);
    if (status == 0)
        status = adl_validator_create(config->cluster, &engine->validator);
    if (status == 0)
        status = adl_plan_create(&engine->plan, config->cluster->gpu_count);
    if (status == 0 && config->clock_ns) {
        engine->decision_ns = malloc(TIMED_MAX * sizeof *engine->decision_ns);
        status = engine->decision_ns ? 0 : ADL_ENOMEM;
    }
    if (status == 0)
        status = adl_belief_create(config->cluster, config->learned, &engine->belief);
    if (status == 0 && config->policy->takes_reported)
        status = adl_belief_take_reported(engine->belief);
    if (status == 0 && config->belief_unread && config->policy->points_only)
        adl_belief_take_points_only(engine->belief);
    if (status == 0 && !config->ignore_drift)
        status = adl_drift_create(config->cluster, ADL_DRIFT_ALL, &engine->correction.drift);
    if (status)
        adl_fail(err, status, "out of memory for a cluster of %u GPUs", config->cluster->gpu_count);
    else
        status = adl_policy_create(config->policy, &engine->config.policy_config, config->cluster, config->seed,
                                   &engine->policy, err);
    if (status) {
        adl_engine_destroy(engine);
        return status;
    }
    engine->state->track_running =
        config->policy->tracks_running ? config->policy->tracks_running(engine->policy) : config->policy->track_running;
    engine->state->sorts_running = engine->state->track_running && config->policy->sorts_running;
    engine->state->learned = config->learned;
    engine->state->belief = engine->belief;
    engine->correction.state = engine->state;
    engine->correction.belief = engine->belief;
    engine->state->placement = (uint8_t)engine->config.policy_config.placement;
    engine->counts.plan_hash = adl_hash_start();
    engine->counts.decision_ns = engine->decision_ns;
    engine->plan.reasons_unread = config->reasons_unread;
    for (uint32_t i = 0; i < config->observer_count; i++)
        engine->observes_decisions |= config->observers[i].decided != NULL;
    engine->fetches = config->world_ops->upcoming && config->cluster->gpu_count >= FETCHED_GPUS;
    for (uint32_t i = 0; i < config->observer_count; i++)
        if (config->observers[i].bind)
            config->observers[i].bind(config->observers[i].self, engine);
    *ret = engine;
    return 0;
}

void adl_engine_destroy(struct adl_engine *engine)
{
    if (!engine)
        return;
    if (engine->policy)
        engine->config.policy->destroy(engine->policy);
    for (int i = 0; i < LEARNERS_MAX; i++)
        if (engine->learners[i].ops)
            engine->learners[i].ops->destroy(engine->learners[i].policy);
    adl_belief_destroy(engine->belief);
    adl_drift_destroy(engine->correction.drift);
    adl_plan_clear(&engine->plan);
    adl_validator_destroy(engine->validator);
    adl_state_destroy(engine->state);
    free(engine->decision_ns);
    free(engine);
}

int adl_engine_reset(struct adl_engine *engine, uint64_t seed, struct adl_error *err)
{
    void *policy;
    const struct adl_policy_ops *ops = engine->config.policy;
    const int status =
        adl_policy_create(ops, &engine->config.policy_config, engine->config.cluster, seed, &policy, err);
    if (status)
        return status;
    ops->destroy(engine->policy);
    engine->policy = policy;
    engine->config.seed = seed;
    adl_state_reset(engine->state);
    adl_belief_reset(engine->belief);
    adl_correction_reset(&engine->correction);
    engine->counts = (struct adl_engine_counts){.plan_hash = adl_hash_start(), .decision_ns = engine->decision_ns};
    engine->preempted_us = 0;
    engine->preempted_count = 0;
    engine->wake_count = 0;
    engine->observer_failed = false;
    return 0;
}

void adl_engine_set_gpu_speed(struct adl_engine *engine, uint32_t gpu, double speed)
{
    adl_correction_set_gpu(&engine->correction, gpu, speed);
}

void adl_engine_set_type_speed(struct adl_engine *engine, uint32_t type, double speed)
{
    adl_correction_set_type(&engine->correction, type, speed);
}

const struct adl_drift *adl_engine_drift(const struct adl_engine *engine)
{
    return engine->correction.drift;
}

struct adl_belief *adl_engine_belief(struct adl_engine *engine)
{
    return engine->belief;
}

int adl_engine_reserve(struct adl_engine *engine, size_t jobs)
{
    const int status = adl_belief_reserve(engine->belief, jobs);
    return status ? status : adl_state_reserve(engine->state, jobs);
}

double adl_engine_round_s(const struct adl_engine *engine)
{
    const struct adl_policy_ops *ops = engine->config.policy;
    return ops->round_s ? ops->round_s(engine->policy) : 0;
}

void adl_engine_explain(const struct adl_engine *engine, uint32_t slot, char *ret, size_t size)
{
    const struct adl_policy_ops *ops = engine->config.policy;
    assert(size > 0 && engine->state->jobs[slot].phase == ADL_PHASE_PENDING);
    if (ops->explain)
        ops->explain(engine->policy, engine->state, slot, ret, size);
    else
        adl_reason_waiting(engine->state, slot, ret, size);
}

const struct adl_state *adl_engine_state(const struct adl_engine *engine)
{
    return engine->state;
}

const struct adl_engine_counts *adl_engine_counts(const struct adl_engine *engine)
{
    return &engine->counts;
}

/* By time of submission, as if an urgent job had been submitted earlier. */
static int64_t rank_by_submission(const struct adl_engine *engine, uint32_t slot)
{
    const struct adl_job *job = &engine->state->jobs[slot];
    const double head_start_us = (double)job->spec.priority * engine->config.policy_config.priority_s * 1e6;
    return job->submit_us - (int64_t)head_start_us;
}

int adl_engine_enqueue(struct adl_engine *engine, uint32_t slot)
{
    const struct adl_policy_ops *ops = engine->config.policy;
    const int64_t rank = ops->rank ? ops->rank(engine->policy, engine->state, slot) : rank_by_submission(engine, slot);
    return adl_state_enqueue(engine->state, slot, rank);
}

/* A job that can never run is refused, not left waiting for ever. Jobs of a lane are alike, so one is checked. */
static int check_possible(struct adl_engine *engine, uint32_t slot, struct adl_error *err)
{
    const struct adl_job *job = &engine->state->jobs[slot];
    struct adl_lane *lane = &engine->state->queue.lanes[job->lane];
    const char *why = NULL;
    if (!lane->known_possible && adl_demand_possible(engine->config.cluster, &job->spec, &why))
        lane->known_possible = true;
    if (!why && job->eligible == 0)
        why = "its run time is unknown on every type it accepts";
    if (!why)
        return 0;
    return adl_fail(err, ADL_EINVAL, "job %llu can never run: %s", (unsigned long long)job->spec.id, why);
}

static int admit(struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    struct adl_runtimes predicted;
    const struct adl_job_spec *spec = event->submit.spec;
    if (spec->gpus < 1)
        return adl_fail(err, ADL_EINVAL, "job %llu asks for no GPU", (unsigned long long)spec->id);
    adl_belief_age(engine->belief, engine->state, event->time_us);
    int status = adl_belief_admit(engine->belief, event, &predicted);
    if (status == 0)
        status = adl_state_admit(engine->state, event->job, spec, predicted.best_us);
    if (status == ADL_EINVAL)
        return adl_fail(err, status, "the world gave slot %u to two live jobs", event->job);
    if (status == 0 && event->submit.since_us > 0 && event->submit.since_us < event->time_us)
        engine->state->jobs[event->job].submit_us = event->submit.since_us;
    if (status == 0 && !predicted.alike)
        adl_state_set_spanning(engine->state, event->job, predicted.across_us);
    if (status == 0)
        status = adl_engine_enqueue(engine, event->job);
    if (status)
        return adl_fail(err, status, "out of memory for job %llu", (unsigned long long)spec->id);
    return check_possible(engine, event->job, err);
}

/* An event about a job must name one that is live, and in a phase where it can happen. */
static int check_job(const struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    const struct adl_state *state = engine->state;
    const int phase = event->job < state->job_capacity ? state->jobs[event->job].phase : ADL_PHASE_NONE;
    if (phase == ADL_PHASE_NONE || (event->kind == ADL_EVENT_EVICT && phase == ADL_PHASE_PENDING) ||
        (event->kind == ADL_EVENT_PROGRESS && phase != ADL_PHASE_RUNNING))
        return adl_fail(err, ADL_EINVAL, "event %s names slot %u, which holds no such job",
                        adl_event_kind_name(event->kind), event->job);
    return 0;
}

static int check_gpu(const struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    const struct adl_state *state = engine->state;
    if (event->gpu >= state->cluster->gpu_count)
        return adl_fail(err, ADL_EINVAL, "event %s names GPU %u of %u", adl_event_kind_name(event->kind), event->gpu,
                        state->cluster->gpu_count);
    const struct adl_gpu_use *use = &state->gpus[event->gpu];
    if ((event->kind == ADL_EVENT_GPU_DOWN && use->down) || (event->kind == ADL_EVENT_GPU_UP && !use->down))
        return adl_fail(err, ADL_EINVAL, "event %s does not fit the state of GPU %u", adl_event_kind_name(event->kind),
                        event->gpu);
    return 0;
}

/* Checked before any observer sees it: the state does not store progress, and learners need not check again. */
static int check_progress(const struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    const int status = check_job(engine, event, err);
    if (status)
        return status;
    if (!(event->steps_per_s >= 0) || !isfinite(event->steps_per_s))
        return adl_fail(err, ADL_EINVAL, "event progress gives slot %u %g steps/s: it must be finite and at least 0",
                        event->job, event->steps_per_s);
    if (!(event->steps_left >= 0) || !isfinite(event->steps_left))
        return adl_fail(err, ADL_EINVAL, "event progress leaves slot %u %g steps: it must be finite and at least 0",
                        event->job, event->steps_left);
    return 0;
}

static int apply_job(struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    if (event->kind == ADL_EVENT_SUBMIT) {
        engine->preempted_count = 0;
        return admit(engine, event, err);
    }
    int status = check_job(engine, event, err);
    if (status)
        return status;
    adl_correction_learn(&engine->correction, event);
    if (event->kind == ADL_EVENT_FINISH) {
        adl_belief_learn(engine->belief, event, engine->state);
        adl_state_finish(engine->state, event->job);
        if (engine->fetches)
            adl_state_fetch_vacant(engine->state, event->job);
        return 0;
    }
    adl_belief_learn(engine->belief, event, engine->state);
    adl_state_evict(engine->state, event->job, event->evict.remaining);
    status = adl_engine_enqueue(engine, event->job);
    return status ? adl_fail(err, status, "out of memory for an evicted job") : 0;
}

static int apply_gpu(struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    const int status = check_gpu(engine, event, err);
    if (status)
        return status;
    if (event->kind == ADL_EVENT_GPU_DOWN) {
        adl_state_gpu_down(engine->state, event->gpu);
    } else if (event->kind == ADL_EVENT_GPU_UP) {
        adl_state_gpu_up(engine->state, event->gpu);
    } else if (event->kind == ADL_EVENT_TELEMETRY) {
        adl_correction_learn(&engine->correction, event);
        engine->state->telemetry[event->gpu] = event->telemetry;
        engine->state->telemetry_us[event->gpu] = event->time_us;
    } else if (event->kind == ADL_EVENT_VERSION) {
        adl_correction_learn(&engine->correction, event);
    }
    return 0;
}

/* If the world does not know how much of a job is left, everyone who sees the event gets the prediction. */
static int predict_remaining(const struct adl_engine *engine, struct adl_event *event, struct adl_error *err)
{
    const int status = check_job(engine, event, err);
    if (status == 0 && event->evict.remaining < 0)
        event->evict.remaining = adl_stop_remaining(engine->state, event->job, event->time_us, event->evict.fault);
    return status;
}

/* What the policy and the predictions learn of a job that ended: its steps if it reported progress, and not what it
 * would have taken elsewhere. Observers, who measure, have seen both. */
static void hide_truth(const struct adl_engine *engine, struct adl_event *event)
{
    const struct adl_state *state = engine->state;
    event->outcome.ideal_us = 0;
    if (event->job >= state->job_capacity || state->jobs[event->job].phase == ADL_PHASE_NONE ||
        !state->jobs[event->job].reports)
        event->outcome.steps = 0;
}

static int apply(struct adl_engine *engine, struct adl_event *event, struct adl_error *err)
{
    if (event->time_us < engine->state->now_us)
        return adl_fail(err, ADL_EINVAL, "time went back from %lld to %lld us", (long long)engine->state->now_us,
                        (long long)event->time_us);
    if ((event->kind == ADL_EVENT_PROGRESS && check_progress(engine, event, err)) ||
        (event->kind == ADL_EVENT_EVICT && predict_remaining(engine, event, err)))
        return ADL_EINVAL;
    if (engine->state->unrevised && event->time_us > engine->state->now_us)
        adl_state_revise_ends(engine->state);
    engine->counts.events++;
    for (uint32_t i = 0; i < engine->config.observer_count; i++) {
        const struct adl_observer *observer = &engine->config.observers[i];
        const int status = observer->event ? observer->event(observer->self, event, engine->state) : 0;
        if (status)
            return adl_fail(err, status, "an observer of events failed");
    }
    if (event->kind == ADL_EVENT_FINISH)
        hide_truth(engine, event);
    if (engine->config.policy->observe)
        engine->config.policy->observe(engine->policy, event, engine->state);
    engine->state->now_us = event->time_us;
    switch (event->kind) {
    case ADL_EVENT_SUBMIT:
    case ADL_EVENT_FINISH:
    case ADL_EVENT_EVICT:
        return apply_job(engine, event, err);
    case ADL_EVENT_PROGRESS:
        engine->state->jobs[event->job].reports = true;
        adl_correction_learn(&engine->correction, event);
        adl_belief_learn(engine->belief, event, engine->state);
        return 0;
    case ADL_EVENT_GPU_DOWN:
    case ADL_EVENT_GPU_UP:
    case ADL_EVENT_TELEMETRY:
    case ADL_EVENT_METER:
    case ADL_EVENT_VERSION:
        return apply_gpu(engine, event, err);
    default:
        return 0;
    }
}

int adl_engine_tell(struct adl_engine *engine, const struct adl_event *event, struct adl_error *err)
{
    struct adl_event own = *event;
    return apply(engine, &own, err);
}

static void hash_command(struct adl_engine *engine, const struct adl_command *command, const uint32_t *gpus)
{
    const uint32_t count = command->gpu_count;
    uint64_t hash = engine->instant_hash;
    hash = adl_hash_u64(hash, (uint64_t)command->kind << 56 | (uint64_t)count << 32 | command->job);
    if (command->kind == ADL_COMMAND_WAKE)
        hash = adl_hash_u64(hash, (uint64_t)command->time_us);
    else if (command->kind == ADL_COMMAND_CAP)
        hash = adl_hash_bytes(hash, &command->power_w, sizeof command->power_w);
    for (uint32_t i = 0; i < count; i += 2)
        hash = adl_hash_u64(hash, (uint64_t)gpus[i] << 32 | (i + 1 < count ? gpus[i + 1] : ADL_NONE));
    engine->instant_hash = hash;
}

/* Two jobs that preempt each other could livelock: between two submissions no instant needs more preemptions than there
 * are job places. */
static int count_preemption(struct adl_engine *engine, struct adl_error *err)
{
    if (engine->preempted_us != engine->state->now_us)
        engine->preempted_count = 0;
    engine->preempted_us = engine->state->now_us;
    if (engine->preempted_count == ADL_GPU_JOBS_MAX * engine->config.cluster->gpu_count)
        return adl_fail(err, ADL_EREFUSED, "too many preemptions at one instant");
    engine->preempted_count++;
    return 0;
}

static int execute(struct adl_engine *engine, const struct adl_command *command, const uint32_t *gpus,
                   struct adl_error *err)
{
    int status = adl_validate(engine->validator, engine->state, command, gpus, err);
    if (status == 0 && command->kind == ADL_COMMAND_PREEMPT)
        status = count_preemption(engine, err);
    if (status == 0)
        status = engine->config.world_ops->submit(engine->config.world, command, gpus, err);
    if (status)
        return status;
    if (command->kind == ADL_COMMAND_START)
        adl_state_start(engine->state, command->job, gpus);
    else if (command->kind == ADL_COMMAND_PREEMPT)
        adl_state_stopping(engine->state, command->job);
    else if (command->kind == ADL_COMMAND_CAP)
        adl_state_cap(engine->state, gpus, command->gpu_count, command->power_w);
    else if (command->kind == ADL_COMMAND_WAKE)
        engine->wakes_us[engine->wake_count++ % ADL_WAKES_MAX] = command->time_us;
    hash_command(engine, command, gpus);
    engine->counts.commands++;
    for (uint32_t i = 0; i < engine->config.observer_count; i++) {
        const struct adl_observer *observer = &engine->config.observers[i];
        if (observer->command && observer->command(observer->self, command, gpus, engine->state))
            engine->observer_failed = true;
    }
    return 0;
}

/* Calls decide, and measures its time if this call is sampled. */
static int call_policy(struct adl_engine *engine, const struct adl_policy_ops *ops)
{
    const uint64_t index = engine->counts.decisions++;
    const bool timed = index % TIMED_EVERY == 0 && engine->config.clock_ns && engine->counts.decision_count < TIMED_MAX;
    adl_plan_reset(&engine->plan);
    if (!timed)
        return ops->decide(engine->policy, engine->state, &engine->plan);
    const int64_t start_ns = engine->config.clock_ns();
    const int status = ops->decide(engine->policy, engine->state, &engine->plan);
    const int64_t end_ns = engine->config.clock_ns();
    engine->decision_ns[engine->counts.decision_count++] = (float)(end_ns - start_ns);
    return status;
}

/* A reason outlives the state: it gets the other job's number, and how long this one waited. */
static void complete_reason(const struct adl_state *state, struct adl_command *command)
{
    struct adl_reason *reason = &command->reason;
    const bool live = reason->other < state->job_capacity && state->jobs[reason->other].phase != ADL_PHASE_NONE;
    if (!live)
        reason->other = ADL_NONE;
    reason->other_id = live ? state->jobs[reason->other].spec.id : 0;
    if (command->kind == ADL_COMMAND_START && command->job < state->job_capacity)
        reason->waited_us = adl_state_waited_us(state, command->job);
}

/* Executes a plan up to the first command that is refused. */
static int act(struct adl_engine *engine, const struct adl_plan *plan, bool *ret_refused, bool *ret_acted,
               struct adl_error *err)
{
    *ret_refused = *ret_acted = false;
    for (uint32_t i = 0; i < plan->command_count && !*ret_refused; i++) {
        struct adl_command *command = &plan->commands[i];
        if (!engine->config.reasons_unread)
            complete_reason(engine->state, command);
        const int status = execute(engine, command, &plan->gpus[command->gpu_offset], &engine->counts.last_refusal);
        if (status == ADL_ENOMEM)
            return adl_fail(err, status, "out of memory while executing a plan");
        if (engine->observer_failed)
            return adl_fail(err, ADL_EIO, "an observer of commands failed");
        *ret_refused = status != 0;
        *ret_acted |= command->kind == ADL_COMMAND_START || command->kind == ADL_COMMAND_PREEMPT;
    }
    engine->counts.refused += *ret_refused;
    return 0;
}

/* The parts of a step become one function: a call of each takes as long as its work. */
#define PART __attribute__((always_inline)) static inline

/* Calls the policy and executes its plans until there is nothing more to do. After a refusal the guard decides for the
 * rest of the instant; what the guard cannot start waits. */
PART int decide(struct adl_engine *engine, struct adl_error *err)
{
    const struct adl_policy_ops *ops = engine->config.policy;
    for (;;) {
        const int decided = call_policy(engine, ops);
        if (decided == ADL_ENOMEM)
            return adl_fail(err, decided, "out of memory in policy %s", ops->name);
        if (decided == ADL_EIO) /* one from outside the program */
            return adl_fail(err, decided, "policy %s has failed, or gave no answer that can be understood", ops->name);
        if (decided == 0 && engine->plan.command_count == 0)
            return 0;
        bool refused = decided != 0, acted = false;
        if (!refused) {
            const int status = act(engine, &engine->plan, &refused, &acted, err);
            if (status)
                return status;
        }
        if (!refused && !acted) /* a wake-up or a power cap enables no further start */
            return 0;
        if (refused) {
            engine->counts.refused += decided != 0;
            if (ops == &adl_policy_guard)
                return 0;
            ops = &adl_policy_guard;
        }
    }
}

/* What the events after this one will touch. Which GPUs these are is read of the nearest job, whose row was fetched
 * some events ago. */
static void fetch_upcoming(const struct adl_engine *engine)
{
    const struct adl_state *state = engine->state;
    uint32_t jobs[FETCHED_JOBS];
    const uint32_t count = engine->config.world_ops->upcoming(engine->config.world, jobs, FETCHED_JOBS);
    for (uint32_t i = 0; i < count; i++) {
        if (jobs[i] < state->job_capacity)
            adl_state_fetch(state, jobs[i], i == 0);
    }
}

PART int advance(struct adl_engine *engine, struct adl_error *err)
{
    struct adl_event event;
    bool may_decide = false;
    while (!may_decide) {
        do {
            int status = engine->config.world_ops->next_event(engine->config.world, &event, err);
            if (status <= 0)
                return status;
            if (engine->fetches)
                fetch_upcoming(engine);
            status = apply(engine, &event, err);
            if (status)
                return status;
            may_decide |= event.kind != ADL_EVENT_METER && event.kind != ADL_EVENT_VERSION;
        } while (event.more);
    }
    engine->instant_hash = adl_hash_start();
    return 1;
}

int adl_engine_act(struct adl_engine *engine, const struct adl_plan *plan, bool *ret_refused, struct adl_error *err)
{
    bool acted;
    return act(engine, plan, ret_refused, &acted, err);
}

void adl_engine_began(struct adl_engine *engine, uint32_t slot, int64_t start_us)
{
    adl_state_began(engine->state, slot, start_us);
    adl_belief_enter(engine->belief, engine->state, slot, engine->state->now_us);
}

PART int settle(struct adl_engine *engine, struct adl_error *err)
{
    engine->counts.plan_hash = adl_hash_u64(engine->counts.plan_hash, engine->instant_hash);
    for (uint32_t i = 0; engine->observes_decisions && i < engine->config.observer_count; i++) {
        const struct adl_observer *observer = &engine->config.observers[i];
        const int status =
            observer->decided ? observer->decided(observer->self, engine->instant_hash, engine->state) : 0;
        if (status)
            return adl_fail(err, status, "an observer of decisions failed");
    }
    const struct adl_world_ops *world = engine->config.world_ops;
    return world->decided ? world->decided(engine->config.world, engine->instant_hash, err) : 0;
}

int adl_engine_advance(struct adl_engine *engine, struct adl_error *err)
{
    return advance(engine, err);
}

int adl_engine_settle(struct adl_engine *engine, struct adl_error *err)
{
    return settle(engine, err);
}

int adl_engine_step(struct adl_engine *engine, struct adl_error *err)
{
    const int due = advance(engine, err);
    if (due <= 0)
        return due;
    int status = decide(engine, err);
    if (status == 0)
        status = settle(engine, err);
    return status ? status : 1;
}

int adl_engine_run(struct adl_engine *engine, struct adl_error *err)
{
    int status;
    while ((status = adl_engine_step(engine, err)) > 0)
        ;
    return status;
}
