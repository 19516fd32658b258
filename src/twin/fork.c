#include "twin/fork.h"

#include "base/hash.h"
#include "base/index.h"
#include "sim/world_sim.h"
#include "twin/alternatives.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_US       (INT64_C(3600) * 1000000)
#define LIKE_ITS_USER UINT64_C(0x6c696b6500000000) /* beside ids of jobs: what else is drawn */
#define OF_THE_USER   UINT64_C(0x7573657200000000)
#define LEFT_MAX_US   (0.01 * ADL_REMAINING_MAX_US) /* almost three years */

/* Where a future's submissions come from: one past hour after the other. */
struct arrivals {
    int64_t hour_us; /* of the future */
    int64_t past_us; /* of the past */
    uint64_t next;
    uint32_t left;
    uint64_t issued;
    int64_t last_us; /* no job arrives before the one before it, though a clock was set back */
};

struct adl_fork {
    struct adl_fork_config config;
    struct adl_scenario scenario; /* what is believed of the cluster; its cluster is the engine's */
    struct adl_job_class classes[1];
    struct adl_world_sim *world;
    struct adl_engine *engine;
    struct adl_future future;
    struct arrivals arrivals;
    uint32_t *gpus; /* of one job */
    struct adl_alternatives alternatives;
    uint32_t *dropped; /* alternatives of jobs that have started, for the engine to be told */
    size_t dropped_capacity;
    uint32_t dropped_count;
};

/* ---- draws ---- */

/* Uniform in [0, 1), the same for the same job in the same future. Over 2^n futures each of as many equal parts gets
 * one. */
static double draw(const struct adl_future *future, uint64_t what)
{
    const uint64_t job = adl_hash_u64(adl_hash_u64(adl_hash_start(), future->seed), what);
    const uint64_t here = adl_hash_u64(job, future->number);
    const double jitter = (double)(here >> 11) * 0x1.0p-53;
    const bool even = future->count > 0 && (future->count & (future->count - 1)) == 0;
    if (!even)
        return jitter;
    const uint64_t part = ((job >> 32 | 1) * future->number + job) & (future->count - 1);
    return ((double)part + jitter) / future->count;
}

/* The same for the run time of a job: some have what is drawn for their user, because jobs of one user are alike. */
static double draw_rank(const struct adl_future *future, uint64_t id, uint32_t user)
{
    const double likeness = future->recent ? adl_recent_likeness(future->recent) : 0;
    if (likeness > 0 && draw(future, adl_hash_u64(LIKE_ITS_USER, id)) < likeness)
        return draw(future, adl_hash_u64(OF_THE_USER, user));
    return draw(future, id);
}

/* The work of a live job, as time on its best type: all of it, and what is left. */
struct work {
    double whole_us, left_us;
};

static struct work draw_work(const struct adl_future *future, uint32_t slot, double at)
{
    const struct adl_state *state = adl_engine_state(future->base);
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    double left_us = adl_recent_left_us(future->recent, state->belief, slot, done_us, at);
    left_us = left_us < LEFT_MAX_US ? left_us : LEFT_MAX_US; /* a tail may have no end */
    left_us = left_us > 1 ? left_us : 1;
    return (struct work){done_us + left_us, left_us};
}

static int64_t time_of(double us)
{
    return us < 1 ? 1 : us < ADL_REMAINING_MAX_US ? (int64_t)us : (int64_t)ADL_REMAINING_MAX_US;
}

static void set_runtimes(const struct adl_future *future, uint32_t slot, double whole_us, struct adl_true_job *ret)
{
    const struct adl_state *state = adl_engine_state(future->base);
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        const double here = adl_belief_type_factor(state->belief, state, slot, t, false);
        const double across = adl_belief_type_factor(state->belief, state, slot, t, true);
        ret->runtime_us[t] = here > 0 ? time_of(whole_us * here) : 0;
        ret->spanning_us[t] = across > 0 ? time_of(whole_us * across) : 0;
    }
}

static struct adl_true_job true_job(const struct adl_job_spec *spec)
{
    return (struct adl_true_job){.spec = *spec, .steps = 1, .without_limit = spec->limit_us <= 0, .ideal_us = 1};
}

/* ---- later submissions ---- */

static bool next_hour(struct adl_fork *fork)
{
    struct arrivals *arrivals = &fork->arrivals;
    arrivals->hour_us += HOUR_US;
    if (arrivals->hour_us > fork->future.until_us)
        return false;
    const double at = draw(&fork->future, ADL_FORK_FIRST_ID + (uint64_t)arrivals->hour_us);
    const uint32_t hour = adl_recent_hour(fork->future.recent, arrivals->hour_us, at);
    if (hour == ADL_NONE)
        return false;
    arrivals->left = adl_recent_jobs(fork->future.recent, hour, &arrivals->next, &arrivals->past_us);
    return true;
}

static void set_arrival(struct adl_fork *fork, const struct adl_recent_job *past, struct adl_true_job *ret)
{
    const struct adl_future *future = &fork->future;
    const struct adl_state *state = adl_engine_state(future->base);
    *ret = true_job(&past->spec);
    ret->spec.id = ADL_FORK_FIRST_ID + fork->arrivals.issued++;
    if (past->slot != ADL_NONE) { /* it waits or runs itself */
        set_runtimes(future, past->slot,
                     draw_work(future, past->slot, draw_rank(future, ret->spec.id, ret->spec.user)).whole_us, ret);
        return;
    }
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        ret->runtime_us[t] = past->here[t] > 0 ? time_of(past->work_us * (double)past->here[t]) : 0;
        ret->spanning_us[t] = past->across[t] > 0 ? time_of(past->work_us * (double)past->across[t]) : 0;
    }
}

/* A live service may replace its engine before the old one was told of an end. */
static bool is_lost(const struct adl_fork *fork, const struct adl_recent_job *past)
{
    const struct adl_state *state = adl_engine_state(fork->future.base);
    return past->slot != ADL_NONE &&
           (past->slot >= state->job_capacity || state->jobs[past->slot].phase == ADL_PHASE_NONE ||
            state->jobs[past->slot].spec.id != past->spec.id);
}

/* What is known of a job of a window. */
static void set_known(const struct adl_fork *fork, const struct adl_window_job *job, struct adl_true_job *ret)
{
    const uint32_t types = fork->scenario.cluster.type_count;
    *ret = true_job(&job->past.spec);
    ret->submit_us = job->past.submit_us;
    for (uint32_t t = 0; t < types; t++) {
        const double here = (double)job->past.here[t], across = (double)job->past.across[t];
        ret->runtime_us[t] = here > 0 ? time_of(job->past.work_us * here) : 0;
        ret->spanning_us[t] = across > 0 ? time_of(job->past.work_us * across) : 0;
    }
}

static int next_known(struct adl_fork *fork, struct adl_true_job *ret)
{
    const struct adl_window *window = fork->future.window;
    const uint32_t index = adl_window_first(window) + (uint32_t)fork->arrivals.issued++;
    if (index >= adl_window_count(window))
        return 0;
    set_known(fork, adl_window_job(window, index), ret);
    return 1;
}

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct adl_fork *fork = self;
    struct arrivals *arrivals = &fork->arrivals;
    if (fork->future.window)
        return next_known(fork, ret);
    if (!fork->future.recent || fork->config.draw == ADL_FORK_LIMITS)
        return 0;
    const int64_t now_us = adl_engine_state(fork->future.base)->now_us;
    for (;;) {
        while (arrivals->left == 0)
            if (!next_hour(fork))
                return 0;
        const struct adl_recent_job *past = adl_recent_job(fork->future.recent, arrivals->next++);
        const int64_t submit_us = arrivals->hour_us + past->submit_us - arrivals->past_us;
        arrivals->left--;
        if (submit_us <= now_us || is_lost(fork, past))
            continue;
        set_arrival(fork, past, ret);
        arrivals->last_us = submit_us > arrivals->last_us ? submit_us : arrivals->last_us;
        ret->submit_us = arrivals->last_us;
        return 1;
    }
}

static int rewind_jobs(void *self, uint64_t seed)
{
    (void)seed;
    struct adl_fork *fork = self;
    const int64_t now_us = adl_engine_state(fork->future.base)->now_us;
    fork->arrivals = (struct arrivals){.hour_us = now_us / HOUR_US * HOUR_US - HOUR_US};
    return 0;
}

static void close_jobs(void *self)
{
    (void)self;
}

/* ---- alternatives of one job ---- */

static bool is_dropped(const struct adl_fork *fork, uint32_t slot)
{
    for (uint32_t i = 0; i < fork->dropped_count; i++)
        if (fork->dropped[i] == slot)
            return true;
    return false;
}

/* A job starts in this slot: it leaves the queue in its others. */
static int drop_others(struct adl_fork *fork, uint32_t slot)
{
    struct adl_alternatives *alternatives = &fork->alternatives;
    if (slot >= alternatives->capacity)
        return 0;
    for (uint32_t other = alternatives->next[slot], next; other != slot; other = next) {
        next = alternatives->next[other];
        alternatives->next[other] = other;
        if (adl_grow((void **)&fork->dropped, &fork->dropped_capacity, (size_t)fork->dropped_count + 1,
                     sizeof *fork->dropped))
            return ADL_ENOMEM;
        fork->dropped[fork->dropped_count++] = other;
    }
    alternatives->next[slot] = slot;
    return 0;
}

static int next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    struct adl_fork *fork = self;
    if (fork->dropped_count == 0)
        return adl_world_sim_ops.next_event(fork->world, ret, err);
    const uint32_t slot = fork->dropped[--fork->dropped_count];
    adl_world_sim_withdraw(fork->world, slot);
    *ret = (struct adl_event){.time_us = adl_engine_state(fork->engine)->now_us,
                              .kind = ADL_EVENT_FINISH,
                              .more = fork->dropped_count > 0,
                              .job = slot,
                              .gpu = ADL_NONE,
                              .outcome = {.end = ADL_END_CANCELLED}};
    return 1;
}

static int submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    struct adl_fork *fork = self;
    const bool start = command->kind == ADL_COMMAND_START;
    if (start && is_dropped(fork, command->job))
        return adl_fail(err, ADL_EREFUSED, "the job has started in another slot");
    const int status = adl_world_sim_ops.submit(fork->world, command, gpus, err);
    if (status || !start)
        return status;
    return drop_others(fork, command->job) ? adl_fail(err, ADL_ENOMEM, "out of memory for alternatives of a job") : 0;
}

static int decided(void *self, uint64_t hash, struct adl_error *err)
{
    struct adl_fork *fork = self;
    return adl_world_sim_ops.decided ? adl_world_sim_ops.decided(fork->world, hash, err) : 0;
}

static const struct adl_world_ops fork_ops = {
    .name = "fork", .next_event = next_event, .submit = submit, .decided = decided};

/* ---- create ---- */

static int create_world(struct adl_fork *fork, struct adl_error *err)
{
    const struct adl_engine_config *from = adl_engine_config(fork->config.engine);
    const struct adl_job_source source = {.self = fork, .next = next_job, .close = close_jobs, .rewind = rewind_jobs};
    fork->classes[0] = (struct adl_job_class){.activity = 0.5, .bandwidth = 0.5, .sync_share = 1};
    fork->scenario = (struct adl_scenario){.name = "fork",
                                           .cluster = *from->cluster,
                                           .classes = fork->classes,
                                           .class_count = 1,
                                           .preemption = fork->config.preemption,
                                           .kill_at_limit = fork->config.kill_at_limit,
                                           .one_by_one = fork->config.one_by_one};
    fork->future.base = fork->config.engine;
    return adl_world_sim_create_from(&fork->scenario, source, 0, ADL_REGIME_DECLARED, &fork->world, err);
}

int adl_fork_create(const struct adl_fork_config *config, struct adl_fork **ret, struct adl_error *err)
{
    const struct adl_engine_config *from = adl_engine_config(config->engine);
    struct adl_fork *fork = calloc(1, sizeof *fork);
    if (fork)
        fork->gpus = calloc((size_t)from->cluster->gpu_count + 1, sizeof *fork->gpus);
    if (!fork || !fork->gpus) {
        adl_fork_destroy(fork);
        return adl_fail(err, ADL_ENOMEM, "out of memory for a fork of %u GPUs", from->cluster->gpu_count);
    }
    fork->config = *config;
    int status = create_world(fork, err);
    if (status == 0) {
        struct adl_engine_config engine = *from;
        engine.world_ops = &fork_ops;
        engine.world = fork;
        engine.policy = config->policy ? config->policy : from->policy;
        engine.policy_config = config->policy ? *config->policy_config : from->policy_config;
        engine.observers[0] = config->observer;
        engine.observer_count = 1;
        engine.clock_ns = NULL;
        engine.reasons_unread = true;
        status = adl_engine_create(&engine, &fork->engine, err);
    }
    if (status)
        adl_fork_destroy(fork);
    else
        *ret = fork;
    return status;
}

void adl_fork_destroy(struct adl_fork *fork)
{
    if (!fork)
        return;
    adl_engine_destroy(fork->engine);
    adl_world_sim_destroy(fork->world);
    adl_alternatives_clear(&fork->alternatives);
    free(fork->dropped);
    free(fork->gpus);
    free(fork);
}

struct adl_engine *adl_fork_engine(struct adl_fork *fork)
{
    return fork->engine;
}

int64_t adl_fork_end_us(const struct adl_fork *fork, uint32_t slot)
{
    return adl_world_sim_end_us(fork->world, slot);
}

/* ---- begin ---- */

static int adopt_gpus(struct adl_fork *fork, const struct adl_state *state)
{
    for (uint32_t g = 0; g < state->cluster->gpu_count; g++) {
        const struct adl_command cap = {
            .kind = ADL_COMMAND_CAP, .gpu_count = 1, .power_w = state->gpus[g].cap_w, .job = ADL_NONE};
        if (adl_world_sim_adopt_gpu(fork->world, g, state->gpu_speed[g], state->gpus[g].down) ||
            (cap.power_w > 0 && adl_world_sim_ops.submit(fork->world, &cap, &g, NULL)))
            return ADL_ENOMEM;
    }
    return 0;
}

/* What is left of a job until its limit, and all of it, on any type. */
static struct work limit_work(const struct adl_fork *fork, uint32_t slot, struct adl_true_job *truth)
{
    const struct adl_state *state = adl_engine_state(fork->future.base);
    const struct adl_job *job = &state->jobs[slot];
    const int64_t limit_us = job->spec.limit_us > 0 ? job->spec.limit_us : adl_state_shortest_us(state, slot);
    const int64_t ran_us = job->phase == ADL_PHASE_PENDING ? 0 : state->now_us - job->start_us;
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        truth->runtime_us[t] = truth->spanning_us[t] = adl_state_runtime(state, slot, t) > 0 ? limit_us : 0;
    return (struct work){(double)limit_us, limit_us > ran_us ? (double)(limit_us - ran_us) : 1};
}

/* Time until a job that was stopped before has read its checkpoint; it holds its GPUs meanwhile. */
static double restarting_us(const struct adl_fork *fork, const struct adl_job *job, int64_t now_us)
{
    const double restart_us = adl_preemption_restart_s(&fork->config.preemption, job->spec.gpus) * 1e6;
    const double left_us = (double)(job->start_us - now_us) + restart_us;
    return job->attempts > 1 && left_us > 0 ? left_us : 0;
}

static void list_gpus(struct adl_fork *fork, const struct adl_state *state, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t g = state->jobs[slot].first_gpu; g != ADL_NONE; g = adl_state_next_gpu(state, slot, g))
        fork->gpus[count++] = g;
}

static struct work known_work(const struct adl_fork *fork, uint32_t slot, struct adl_true_job *truth)
{
    const struct adl_state *state = adl_engine_state(fork->future.base);
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    const struct adl_window_job *job =
        adl_window_job(fork->future.window, adl_window_at_slot(fork->future.window, slot));
    const double left_us = job->past.work_us - done_us;
    set_known(fork, job, truth);
    truth->spec = state->jobs[slot].spec;
    return (struct work){job->past.work_us, left_us > 1 ? left_us : 1};
}

static int adopt_job(struct adl_fork *fork, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    struct adl_true_job truth = true_job(&job->spec);
    struct work work;
    if (fork->config.draw == ADL_FORK_LIMITS) {
        work = limit_work(fork, slot, &truth);
    } else if (fork->future.window) {
        work = known_work(fork, slot, &truth);
    } else {
        work = draw_work(&fork->future, slot, draw_rank(&fork->future, job->spec.id, job->spec.user));
        set_runtimes(&fork->future, slot, work.whole_us, &truth);
    }
    struct adl_adopted_job adopted = {.truth = &truth,
                                      .remaining = work.left_us / work.whole_us,
                                      .attempts = job->attempts,
                                      .run_us = job->attained_us,
                                      .stopping = job->phase == ADL_PHASE_STOPPING};
    adopted.saved = adopted.remaining;
    if (job->phase != ADL_PHASE_PENDING) {
        const double whole_us = (double)truth.runtime_us[job->type];
        list_gpus(fork, state, slot);
        adopted.gpus = fork->gpus;
        adopted.start_us = job->start_us;
        adopted.remaining += restarting_us(fork, job, state->now_us) / whole_us;
        adopted.saved += (double)(state->now_us - job->start_us) / whole_us;
        adopted.saved = adopted.saved > 1 ? 1 : adopted.saved;
    }
    return adl_world_sim_adopt(fork->world, slot, &adopted);
}

static int adopt_faults(struct adl_fork *fork)
{
    const struct adl_window_fault *faults;
    const uint32_t count = fork->future.window ? adl_window_faults(fork->future.window, &faults) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (adl_world_sim_adopt_fault(fork->world, faults[i].gpu, faults[i].from_us, faults[i].to_us))
            return ADL_ENOMEM;
    return 0;
}

static int adopt_all(struct adl_fork *fork)
{
    const struct adl_state *state = adl_engine_state(fork->future.base);
    int64_t wakes_us[ADL_WAKES_MAX];
    const uint32_t wakes = adl_engine_wakes(fork->future.base, wakes_us);
    fork->dropped_count = 0;
    if (adl_alternatives_list(&fork->alternatives, state) || adopt_gpus(fork, state))
        return ADL_ENOMEM;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && adopt_job(fork, state, slot))
            return ADL_ENOMEM;
    for (uint32_t i = 0; i < wakes && !fork->config.policy; i++)
        if (adl_world_sim_adopt_wake(fork->world, wakes_us[i]))
            return ADL_ENOMEM;
    if (fork->config.policy && adl_world_sim_adopt_wake(fork->world, state->now_us)) /* it decides at once */
        return ADL_ENOMEM;
    return adopt_faults(fork);
}

int adl_fork_begin(struct adl_fork *fork, const struct adl_future *future, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(future->base);
    const uint64_t seed = adl_hash_u64(adl_hash_u64(adl_hash_start(), future->seed), future->number);
    fork->future = *future;
    const bool fails = future->recent && !future->window && fork->config.draw == ADL_FORK_BELIEF;
    fork->scenario.faults = fails ? adl_recent_faults(future->recent) : (struct adl_faults){0};
    int status = fork->config.policy ? adl_engine_adopt(fork->engine, future->base, err)
                                     : adl_engine_copy(fork->engine, future->base, err);
    if (status == 0)
        status = adl_world_sim_begin_at(fork->world, state->now_us, seed, err);
    adl_belief_freeze(adl_engine_belief(fork->engine), !future->window);
    if (status == 0 && adopt_all(fork))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a fork with %u waiting jobs", state->queue.count);
    return status;
}

int adl_fork_wake(struct adl_fork *fork, int64_t time_us)
{
    return adl_world_sim_adopt_wake(fork->world, time_us);
}

int adl_fork_drain(struct adl_fork *fork, uint32_t gpu, int64_t time_us)
{
    return adl_world_sim_adopt_drain(fork->world, gpu, time_us);
}

double adl_fork_energy_j(struct adl_fork *fork)
{
    double energy_j = 0;
    for (uint32_t g = 0; g < fork->scenario.cluster.gpu_count; g++)
        energy_j += adl_world_sim_energy_j(fork->world, g);
    return energy_j;
}
