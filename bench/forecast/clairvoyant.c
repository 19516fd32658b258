#include "clairvoyant.h"

#include "base/hash.h"
#include "base/index.h"
#include "sim/world_sim.h"
#include "twin/starts.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_US INT64_C(3600000000)
#define ALIKE   40 /* jobs with the nearest limits that a run time is drawn from, if so many ran longer than it has */

/* A job of the process: what it declares, and how long it runs. */
struct kind {
    uint32_t name_id, gpus;
    int64_t limit_us, run_us;
};

struct arrivals {
    int64_t hour_us, past_us; /* of the future and of the past hour that is repeated */
    uint64_t next;            /* of the past, or in the list of jobs */
    uint32_t left;
    uint64_t issued;
    int64_t last_us;
};

struct clairvoyant {
    struct clairvoyant_config config;
    struct adl_scenario scenario;
    struct adl_job_class classes[1];
    struct adl_world_sim *world;
    struct adl_engine *engine;
    const struct adl_engine *base;
    const struct adl_recent *recent;
    struct arrivals arrivals;
    uint64_t seed, events;
    uint32_t future, left;
    int64_t until_us;
    uint32_t *gpus;    /* of one job */
    uint64_t *ids;     /* [slot] of a job that is meant + 1; 0 = none */
    int64_t *times_us; /* [slot][future] */
    size_t id_capacity, time_capacity;
    struct kind *kinds; /* of all draws of the process, ascending */
    size_t kind_count, kind_capacity;
};

/* ---- jobs ---- */

int clairvoyant_jobs_read(struct clairvoyant_jobs *ret, const struct adl_job_source *source, struct adl_error *err)
{
    struct adl_true_job job;
    int status;
    while ((status = source->next(source->self, &job, err)) > 0) {
        if (adl_grow((void **)&ret->list, &ret->capacity, ret->count + 1, sizeof *ret->list))
            return adl_fail(err, ADL_ENOMEM, "out of memory for true jobs");
        ret->list[ret->count++] = job;
    }
    return status;
}

void clairvoyant_jobs_clear(struct clairvoyant_jobs *jobs)
{
    free(jobs->list);
    *jobs = (struct clairvoyant_jobs){0};
}

/* ---- draws, as in src/twin/fork.c ---- */

static double draw(const struct clairvoyant *self, uint64_t what)
{
    const uint32_t count = self->config.futures;
    const uint64_t job = adl_hash_u64(adl_hash_u64(adl_hash_start(), self->seed), what);
    const double jitter = (double)(adl_hash_u64(job, self->future) >> 11) * 0x1.0p-53;
    if ((count & (count - 1)) != 0)
        return jitter;
    return ((double)(((job >> 32 | 1) * self->future + job) & (count - 1)) + jitter) / count;
}

static double draw_whole_us(const struct clairvoyant *self, uint32_t slot, uint64_t id)
{
    const struct adl_state *state = adl_engine_state(self->base);
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    const double left_us = adl_recent_left_us(self->recent, state->belief, slot, done_us, draw(self, id));
    return done_us + (left_us > 1 ? left_us : 1);
}

static int64_t time_of(double us)
{
    return us < 1 ? 1 : us < 1e14 ? (int64_t)us : (int64_t)1e14;
}

static void set_runtimes(const struct clairvoyant *self, uint32_t slot, double whole_us, struct adl_true_job *ret)
{
    const struct adl_state *state = adl_engine_state(self->base);
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        ret->runtime_us[t] = time_of(whole_us * adl_belief_type_factor(state->belief, state, slot, t, false));
        ret->spanning_us[t] = time_of(whole_us * adl_belief_type_factor(state->belief, state, slot, t, true));
    }
}

static struct adl_true_job true_job(const struct adl_job_spec *spec)
{
    return (struct adl_true_job){.spec = *spec, .steps = 1, .without_limit = spec->limit_us <= 0, .ideal_us = 1};
}

/* ---- how long jobs of a kind run ---- */

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    if (x->name_id != y->name_id)
        return x->name_id < y->name_id ? -1 : 1;
    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    return (x->limit_us > y->limit_us) - (x->limit_us < y->limit_us);
}

static int list_kinds(struct clairvoyant *self)
{
    for (uint32_t i = 0; i < self->config.other_count; i++) {
        const struct clairvoyant_jobs *jobs = &self->config.others[i];
        if (adl_grow((void **)&self->kinds, &self->kind_capacity, self->kind_count + jobs->count + 1,
                     sizeof *self->kinds))
            return ADL_ENOMEM;
        for (size_t j = 0; j < jobs->count; j++) {
            const struct adl_true_job *job = &jobs->list[j];
            self->kinds[self->kind_count++] =
                (struct kind){job->spec.name_id, job->spec.gpus, job->spec.limit_us, job->ideal_us};
        }
    }
    if (self->kind_count > 0)
        qsort(self->kinds, self->kind_count, sizeof *self->kinds, compare_kinds);
    return 0;
}

static bool is_candidate(const struct clairvoyant *self, size_t at, const struct kind *of, double done_us)
{
    const struct kind *kind = &self->kinds[at];
    return kind->name_id == of->name_id && kind->gpus == of->gpus && (double)kind->run_us > done_us;
}

/* One of the jobs of its kind with the nearest limits that ran longer than it has; 0: there is none. */
static double draw_alike_us(const struct clairvoyant *self, const struct adl_job_spec *spec, double done_us)
{
    const struct kind of = {spec->name_id, spec->gpus, spec->limit_us, 0};
    double found[ALIKE] = {0};
    size_t low = 0, high = self->kind_count, count = 0;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare_kinds(&self->kinds[middle], &of) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t above = low;
    for (size_t tried = 0; count < ALIKE && tried < self->kind_count; tried++) {
        const bool up = above<self->kind_count, down = low> 0;
        if (up && is_candidate(self, above, &of, done_us))
            found[count++] = (double)self->kinds[above].run_us;
        if (down && count < ALIKE && is_candidate(self, low - 1, &of, done_us))
            found[count++] = (double)self->kinds[low - 1].run_us;
        above += up;
        low -= down;
        if (tried > 100000 && count > 0)
            break;
    }
    return count ? found[(size_t)(draw(self, spec->id) * (double)count)] : 0;
}

/* ---- later submissions ---- */

static bool next_hour(struct clairvoyant *self)
{
    struct arrivals *arrivals = &self->arrivals;
    arrivals->hour_us += HOUR_US;
    if (arrivals->hour_us > self->until_us)
        return false;
    const double at = draw(self, ADL_FORK_FIRST_ID + (uint64_t)arrivals->hour_us);
    const uint32_t hour = adl_recent_hour(self->recent, arrivals->hour_us, at);
    if (hour == ADL_NONE)
        return false;
    arrivals->left = adl_recent_jobs(self->recent, hour, &arrivals->next, &arrivals->past_us);
    return true;
}

static void set_repeated(struct clairvoyant *self, const struct adl_recent_job *past, struct adl_true_job *ret)
{
    *ret = true_job(&past->spec);
    ret->spec.id = ADL_FORK_FIRST_ID + self->arrivals.issued++;
    if (past->slot != ADL_NONE) {
        set_runtimes(self, past->slot, draw_whole_us(self, past->slot, ret->spec.id), ret);
        return;
    }
    for (uint32_t t = 0; t < self->scenario.cluster.type_count; t++) {
        ret->runtime_us[t] = time_of(past->work_us * (double)past->here[t]);
        ret->spanning_us[t] = time_of(past->work_us * (double)past->across[t]);
    }
}

static int next_repeated(struct clairvoyant *self, struct adl_true_job *ret)
{
    struct arrivals *arrivals = &self->arrivals;
    const int64_t now_us = adl_engine_state(self->base)->now_us;
    for (;;) {
        while (arrivals->left == 0)
            if (!next_hour(self))
                return 0;
        const struct adl_recent_job *past = adl_recent_job(self->recent, arrivals->next++);
        const int64_t submit_us = arrivals->hour_us + past->submit_us - arrivals->past_us;
        arrivals->left--;
        if (submit_us <= now_us)
            continue;
        set_repeated(self, past, ret);
        arrivals->last_us = submit_us > arrivals->last_us ? submit_us : arrivals->last_us;
        ret->submit_us = arrivals->last_us;
        return 1;
    }
}

static const struct clairvoyant_jobs *listed(const struct clairvoyant *self)
{
    const struct clairvoyant_config *config = &self->config;
    if (config->known & CLAIRVOYANT_SUBMISSIONS)
        return config->truth;
    if (!(config->known & CLAIRVOYANT_PROCESS))
        return NULL;
    const uint64_t first = adl_hash_u64(adl_hash_start(), self->seed);
    return &config->others[(first + self->future) % config->other_count];
}

static int next_job(void *from, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct clairvoyant *self = from;
    const struct clairvoyant_jobs *jobs = listed(self);
    const int64_t now_us = adl_engine_state(self->base)->now_us;
    if (!jobs)
        return next_repeated(self, ret);
    uint64_t *next = &self->arrivals.next;
    while (*next < jobs->count && jobs->list[*next].submit_us <= now_us)
        ++*next;
    if (*next >= jobs->count || jobs->list[*next].submit_us > self->until_us)
        return 0;
    *ret = jobs->list[(*next)++];
    ret->spec.id = ADL_FORK_FIRST_ID + self->arrivals.issued++;
    for (uint32_t t = 0; t < self->scenario.cluster.type_count; t++)
        ret->spanning_us[t] = ret->runtime_us[t];
    return 1;
}

static int rewind_jobs(void *from, uint64_t seed)
{
    (void)seed;
    struct clairvoyant *self = from;
    const int64_t now_us = adl_engine_state(self->base)->now_us;
    self->arrivals = (struct arrivals){.hour_us = now_us / HOUR_US * HOUR_US - HOUR_US};
    return 0;
}

static void close_jobs(void *self)
{
    (void)self;
}

/* ---- a future ---- */

static int on_command(void *from, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct clairvoyant *self = from;
    const uint32_t slot = command->job;
    if (command->kind != ADL_COMMAND_START || slot >= self->id_capacity ||
        self->ids[slot] != state->jobs[slot].spec.id + 1)
        return 0;
    int64_t *time_us = &self->times_us[(size_t)slot * self->config.futures + self->future];
    self->left -= *time_us == ADL_NEVER_US;
    *time_us = *time_us == ADL_NEVER_US ? state->now_us : *time_us;
    return 0;
}

static void list_gpus(struct clairvoyant *self, const struct adl_state *state, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t g = state->jobs[slot].first_gpu; g != ADL_NONE; g = adl_state_next_gpu(state, slot, g))
        self->gpus[count++] = g;
}

static double restarting_us(const struct clairvoyant *self, const struct adl_job *job, int64_t now_us)
{
    const double restart_us = adl_preemption_restart_s(&self->config.preemption, job->spec.gpus) * 1e6;
    const double left_us = (double)(job->start_us - now_us) + restart_us;
    return job->attempts > 1 && left_us > 0 ? left_us : 0;
}

static int adopt_job(struct clairvoyant *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    const double done_us = adl_belief_done_us(state->belief, state, slot);
    struct adl_true_job truth = true_job(&job->spec);
    double whole_us;
    if (self->config.known & CLAIRVOYANT_RUNS)
        whole_us = (double)self->config.truth->list[job->spec.id].ideal_us;
    else if (!(self->config.known & CLAIRVOYANT_KINDS) || (whole_us = draw_alike_us(self, &job->spec, done_us)) <= 0)
        whole_us = draw_whole_us(self, slot, job->spec.id);
    set_runtimes(self, slot, whole_us, &truth);
    struct adl_adopted_job adopted = {.truth = &truth,
                                      .remaining = (whole_us - done_us > 1 ? whole_us - done_us : 1) / whole_us,
                                      .attempts = job->attempts,
                                      .run_us = job->attained_us,
                                      .stopping = job->phase == ADL_PHASE_STOPPING};
    adopted.saved = adopted.remaining;
    if (job->phase != ADL_PHASE_PENDING) {
        const double here_us = (double)truth.runtime_us[job->type];
        list_gpus(self, state, slot);
        adopted.gpus = self->gpus;
        adopted.start_us = job->start_us;
        adopted.remaining += restarting_us(self, job, state->now_us) / here_us;
        adopted.saved += (double)(state->now_us - job->start_us) / here_us;
        adopted.saved = adopted.saved > 1 ? 1 : adopted.saved;
    }
    return adl_world_sim_adopt(self->world, slot, &adopted);
}

static int begin(struct clairvoyant *self, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(self->base);
    int64_t wakes_us[ADL_WAKES_MAX];
    const uint32_t wakes = adl_engine_wakes(self->base, wakes_us);
    int status = adl_engine_copy(self->engine, self->base, err);
    if (status == 0)
        status = adl_world_sim_begin_at(self->world, state->now_us, self->seed + self->future, err);
    adl_belief_freeze(adl_engine_belief(self->engine), true);
    for (uint32_t g = 0; status == 0 && g < state->cluster->gpu_count; g++)
        status = adl_world_sim_adopt_gpu(self->world, g, state->gpu_speed[g], state->gpus[g].down);
    for (uint32_t slot = 0; status == 0 && slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE)
            status = adopt_job(self, state, slot);
    for (uint32_t i = 0; status == 0 && i < wakes; i++)
        status = adl_world_sim_adopt_wake(self->world, wakes_us[i]);
    return status;
}

static int play(struct clairvoyant *self, struct adl_error *err)
{
    int status = begin(self, err);
    const struct adl_state *state = adl_engine_state(self->engine);
    const struct adl_engine_counts *counts = adl_engine_counts(self->engine);
    const uint64_t before = counts->events;
    for (int more = 1; status == 0 && more > 0 && self->left > 0 && state->now_us < self->until_us &&
                       counts->events - before < self->config.events_max;) {
        more = adl_engine_step(self->engine, err);
        status = more < 0 ? more : 0;
    }
    self->events += counts->events - before;
    return status;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int clairvoyant_refresh(struct clairvoyant *self, const struct adl_engine *base, const struct adl_recent *recent,
                        uint64_t seed, uint32_t slot, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(base);
    const uint32_t futures = self->config.futures;
    uint32_t meant = 0;
    if (adl_grow((void **)&self->ids, &self->id_capacity, state->job_capacity + 1, sizeof *self->ids) ||
        adl_grow((void **)&self->times_us, &self->time_capacity, (size_t)(state->job_capacity + 1) * futures,
                 sizeof *self->times_us))
        return adl_fail(err, ADL_ENOMEM, "out of memory for clairvoyant futures");
    for (uint32_t s = 0; s < self->id_capacity; s++) {
        const bool waits = s < state->job_capacity && state->jobs[s].phase == ADL_PHASE_PENDING;
        self->ids[s] = waits && (slot == ADL_NONE || slot == s) ? state->jobs[s].spec.id + 1 : 0;
        meant += self->ids[s] != 0;
        for (uint32_t i = 0; self->ids[s] && i < futures; i++)
            self->times_us[(size_t)s * futures + i] = ADL_NEVER_US;
    }
    self->base = base;
    self->recent = recent;
    self->seed = seed;
    self->events = 0;
    self->until_us = state->now_us + (int64_t)(self->config.horizon_s * 1e6);
    for (self->future = 0; self->future < futures && meant > 0; self->future++) {
        self->left = meant;
        const int status = play(self, err);
        if (status)
            return status;
    }
    for (uint32_t s = 0; s < state->job_capacity; s++)
        if (self->ids[s])
            qsort(&self->times_us[(size_t)s * futures], futures, sizeof(int64_t), compare_times);
    return 0;
}

const int64_t *clairvoyant_starts(const struct clairvoyant *self, uint32_t slot)
{
    return slot < self->id_capacity && self->ids[slot] ? &self->times_us[(size_t)slot * self->config.futures] : NULL;
}

uint64_t clairvoyant_events(const struct clairvoyant *self)
{
    return self->events;
}

/* ---- create ---- */

int clairvoyant_create(const struct clairvoyant_config *config, struct clairvoyant **ret, struct adl_error *err)
{
    const struct adl_engine_config *from = adl_engine_config(config->engine);
    struct clairvoyant *self = calloc(1, sizeof *self);
    if (!self || !(self->gpus = calloc((size_t)from->cluster->gpu_count + 1, sizeof *self->gpus))) {
        free(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for clairvoyant futures");
    }
    self->config = *config;
    self->base = config->engine;
    self->classes[0] = (struct adl_job_class){.activity = 0.5, .bandwidth = 0.5, .sync_share = 1};
    self->scenario = (struct adl_scenario){.name = "clairvoyant",
                                           .cluster = *from->cluster,
                                           .classes = self->classes,
                                           .class_count = 1,
                                           .preemption = config->preemption,
                                           .kill_at_limit = config->kill_at_limit,
                                           .one_by_one = config->one_by_one};
    const struct adl_job_source source = {.self = self, .next = next_job, .close = close_jobs, .rewind = rewind_jobs};
    if ((config->known & CLAIRVOYANT_KINDS) && list_kinds(self)) {
        clairvoyant_destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for kinds of jobs");
    }
    int status = adl_world_sim_create_from(&self->scenario, source, 0, ADL_REGIME_DECLARED, &self->world, err);
    if (status == 0) {
        struct adl_engine_config engine = *from;
        engine.world_ops = &adl_world_sim_ops;
        engine.world = self->world;
        engine.observers[0] = (struct adl_observer){.self = self, .command = on_command};
        engine.observer_count = 1;
        engine.clock_ns = NULL;
        engine.reasons_unread = true;
        status = adl_engine_create(&engine, &self->engine, err);
    }
    if (status)
        clairvoyant_destroy(self);
    else
        *ret = self;
    return status;
}

void clairvoyant_destroy(struct clairvoyant *self)
{
    if (!self)
        return;
    adl_engine_destroy(self->engine);
    adl_world_sim_destroy(self->world);
    free(self->gpus);
    free(self->ids);
    free(self->kinds);
    free(self->times_us);
    free(self);
}
