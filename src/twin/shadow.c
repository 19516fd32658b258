#include "twin/shadow.h"

#include "base/index.h"
#include "metrics/statistics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_RUNS 16 /* usual run times that a trial looks ahead */

const char *const adl_shadow_figure_names[ADL_SHADOW_FIGURES] = {"jct_s", "p99_s", "energy_j", "sla_missed"};

/* What is recorded, and from where it began. */
struct stretch {
    struct adl_window *window;
    struct adl_engine *base; /* the engine at the anchor; it is never stepped */
};

enum { IN_FORCE, CANDIDATE, ARMS };

struct adl_shadow {
    struct adl_shadow_config config;
    struct adl_policy_config arm_config[ARMS];
    char *settings[ARMS]; /* what these point to */
    void *models[ARMS];
    atomic_bool halted;
    struct stretch recorded, played; /* played: waits for play, or is played */
    bool open, waits;
    double typical_us;
    struct adl_fork *forks[ARMS];
    uint64_t number;
    /* of the arm that is played */
    const struct adl_window *window; /* NULL: a trial */
    uint32_t *of_slot;               /* [slot] job of the window */
    size_t slot_capacity;
    uint32_t arrived;
    int64_t *ends_us; /* [job] INT64_MAX = not yet */
    double *times_s;  /* scratch of as many */
    size_t end_capacity, time_capacity;
    double area_us; /* a trial: time in the system, summed over jobs */
};

/* ---- observing ---- */

static int watch_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_shadow *shadow = self;
    const struct adl_observer window = adl_window_observer(shadow->recorded.window);
    return window.event(window.self, event, state);
}

struct adl_observer adl_shadow_observer(struct adl_shadow *shadow)
{
    return (struct adl_observer){.self = shadow, .event = watch_event};
}

/* ---- playing: who ends when ---- */

static int grow_slots(struct adl_shadow *shadow, size_t count)
{
    const size_t known = shadow->slot_capacity;
    if (adl_grow((void **)&shadow->of_slot, &shadow->slot_capacity, count, sizeof *shadow->of_slot))
        return ADL_ENOMEM;
    for (size_t i = known; i < shadow->slot_capacity; i++)
        shadow->of_slot[i] = ADL_NONE;
    return 0;
}

static int note_submission(struct adl_shadow *shadow, uint32_t slot)
{
    if (grow_slots(shadow, (size_t)slot + 1))
        return ADL_ENOMEM;
    shadow->of_slot[slot] = shadow->arrived++;
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_shadow *shadow = self;
    const double jobs = (double)state->running_jobs + state->queue.count;
    shadow->area_us += jobs * (double)(event->time_us - state->now_us);
    if (!shadow->window)
        return 0;
    if (event->kind == ADL_EVENT_SUBMIT)
        return note_submission(shadow, event->job);
    if (event->kind != ADL_EVENT_FINISH || event->job >= shadow->slot_capacity ||
        state->jobs[event->job].phase == ADL_PHASE_PENDING) /* an alternative that was not taken */
        return 0;
    const uint32_t index = shadow->of_slot[event->job];
    if (index != ADL_NONE)
        shadow->ends_us[index] = event->time_us;
    return 0;
}

/* ---- create ---- */

static int create_stretch(struct stretch *stretch, const struct adl_engine_config *from, struct adl_error *err)
{
    struct adl_engine_config config = *from;
    config.observer_count = 0;
    config.clock_ns = NULL;
    if (adl_window_create(from->cluster, &stretch->window))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a shadow");
    return adl_engine_create(&config, &stretch->base, err);
}

static int create_fork(struct adl_shadow *shadow, int arm, const struct adl_policy_ops *policy, struct adl_error *err)
{
    const struct adl_fork_config config = {.engine = shadow->config.engine,
                                           .observer = {.self = shadow, .event = on_event},
                                           .preemption = shadow->config.preemption,
                                           .kill_at_limit = shadow->config.kill_at_limit,
                                           .one_by_one = shadow->config.one_by_one,
                                           .policy = policy,
                                           .policy_config = &shadow->arm_config[arm]};
    return adl_fork_create(&config, &shadow->forks[arm], err);
}

static void *copy_bytes(const void *from, size_t size)
{
    void *bytes = malloc(size + 1);
    if (bytes)
        memcpy(bytes, from, size);
    return bytes;
}

/* The options and model of a policy may end before the shadow does. */
static int own_config(struct adl_shadow *shadow, int arm, const struct adl_policy_config *from)
{
    struct adl_policy_config *config = &shadow->arm_config[arm];
    *config = *from;
    if (from->settings)
        config->settings = shadow->settings[arm] = copy_bytes(from->settings, strlen(from->settings) + 1);
    if (from->model)
        config->model = shadow->models[arm] = copy_bytes(from->model, from->model_size);
    return (from->settings && !config->settings) || (from->model && !config->model) ? ADL_ENOMEM : 0;
}

int adl_shadow_create(const struct adl_shadow_config *config, struct adl_shadow **ret, struct adl_error *err)
{
    const struct adl_engine_config *engine = adl_engine_config(config->engine);
    struct adl_shadow *shadow = calloc(1, sizeof *shadow);
    if (!shadow)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a shadow");
    shadow->config = *config;
    struct adl_engine_config in_force = *engine;
    int status = 0;
    if (own_config(shadow, IN_FORCE, &engine->policy_config) ||
        own_config(shadow, CANDIDATE, &config->candidate_config))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a shadow");
    in_force.policy_config = shadow->arm_config[IN_FORCE];
    if (status == 0)
        status = create_stretch(&shadow->recorded, &in_force, err);
    if (status == 0)
        status = create_stretch(&shadow->played, &in_force, err);
    if (status == 0)
        status = create_fork(shadow, IN_FORCE, engine->policy, err);
    if (status == 0)
        status = create_fork(shadow, CANDIDATE, config->candidate, err);
    if (status)
        adl_shadow_destroy(shadow);
    else
        *ret = shadow;
    return status;
}

static void clear_stretch(struct stretch *stretch)
{
    adl_window_destroy(stretch->window);
    adl_engine_destroy(stretch->base);
}

void adl_shadow_destroy(struct adl_shadow *shadow)
{
    if (!shadow)
        return;
    clear_stretch(&shadow->recorded);
    clear_stretch(&shadow->played);
    for (int arm = 0; arm < ARMS; arm++)
        adl_fork_destroy(shadow->forks[arm]);
    for (int arm = 0; arm < ARMS; arm++) {
        free(shadow->settings[arm]);
        free(shadow->models[arm]);
    }
    free(shadow->of_slot);
    free(shadow->ends_us);
    free(shadow->times_s);
    free(shadow);
}

/* ---- windows ---- */

static int begin(struct adl_shadow *shadow, const struct adl_engine *engine, struct adl_error *err)
{
    const int status = adl_engine_copy(shadow->recorded.base, engine, err);
    if (status)
        return status;
    adl_window_set_typical_us(shadow->recorded.window, shadow->typical_us);
    if (adl_window_begin(shadow->recorded.window, adl_engine_state(engine)))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a window of a shadow");
    shadow->open = true;
    return 0;
}

int adl_shadow_watch(struct adl_shadow *shadow, const struct adl_engine *engine, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(engine);
    if (!shadow->open)
        return begin(shadow, engine, err);
    if (!adl_window_full(shadow->recorded.window, state->now_us) || shadow->waits)
        return 0;
    const struct stretch over = shadow->recorded;
    adl_window_close(over.window, state, shadow->config.seed);
    shadow->typical_us = adl_window_typical_us(over.window);
    shadow->recorded = shadow->played;
    shadow->played = over;
    shadow->waits = true;
    const int status = begin(shadow, engine, err);
    return status ? status : 1;
}

double adl_shadow_typical_us(const struct adl_shadow *shadow)
{
    return shadow->typical_us;
}

void adl_shadow_set_typical_us(struct adl_shadow *shadow, double typical_us)
{
    shadow->typical_us = typical_us;
}

/* ---- figures of a world ---- */

static int follow(struct adl_shadow *shadow, const struct adl_window *window)
{
    const uint32_t count = adl_window_count(window);
    if (grow_slots(shadow, adl_engine_state(shadow->played.base)->job_capacity) ||
        adl_grow((void **)&shadow->ends_us, &shadow->end_capacity, (size_t)count + 1, sizeof *shadow->ends_us) ||
        adl_grow((void **)&shadow->times_s, &shadow->time_capacity, (size_t)count + 1, sizeof *shadow->times_s))
        return ADL_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        shadow->ends_us[i] = INT64_MAX;
    shadow->window = window;
    shadow->arrived = adl_window_first(window);
    for (size_t slot = 0; slot < shadow->slot_capacity; slot++)
        shadow->of_slot[slot] = adl_window_at_slot(window, (uint32_t)slot);
    return 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From when the jobs ended; a job that has not counts up to the end of the window. */
static void count_times(struct adl_shadow *shadow, const struct adl_window *window, struct adl_shadow_arm *ret)
{
    const int64_t begin_us = adl_window_begin_us(window), end_us = adl_window_end_us(window);
    uint32_t count = 0, promised = 0, missed = 0;
    double sum_us = 0;
    for (uint32_t i = 0; i < adl_window_count(window); i++) {
        const struct adl_window_job *job = adl_window_job(window, i);
        const int64_t submit_us = job->past.submit_us, until_us = earlier(shadow->ends_us[i], end_us);
        if (!job->counts)
            continue;
        sum_us += (double)(until_us - (submit_us > begin_us ? submit_us : begin_us));
        shadow->times_s[count++] = (double)(until_us - submit_us) * 1e-6;
        promised += job->past.spec.deadline_us > 0;
        missed += job->past.spec.deadline_us > 0 && until_us - submit_us > job->past.spec.deadline_us;
    }
    ret->figures[ADL_SHADOW_JCT] = count ? sum_us * 1e-6 / count : 0;
    ret->figures[ADL_SHADOW_P99] = adl_quantile(shadow->times_s, count, 0.99);
    ret->figures[ADL_SHADOW_SLA] = promised ? (double)missed / promised : 0;
}

/* Work that was done in the world, in GPU-us on best types. */
static double work_of(const struct adl_shadow *shadow, const struct adl_state *state, const struct adl_state *base)
{
    double work_us = 0;
    for (uint32_t i = 0; i < adl_window_count(shadow->window); i++) {
        const struct adl_recent_job *job = &adl_window_job(shadow->window, i)->past;
        work_us += shadow->ends_us[i] < INT64_MAX ? job->work_us * job->spec.gpus : 0;
    }
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE)
            work_us += adl_belief_done_us(state->belief, state, slot) * state->jobs[slot].spec.gpus;
    for (uint32_t slot = 0; slot < base->job_capacity; slot++)
        if (base->jobs[slot].phase != ADL_PHASE_NONE)
            work_us -= adl_belief_done_us(base->belief, base, slot) * base->jobs[slot].spec.gpus;
    return work_us;
}

static double idle_w(const struct adl_cluster *cluster)
{
    double sum_w = 0;
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        sum_w += cluster->types[adl_gpu_type_of(cluster, g)].idle_w;
    return sum_w;
}

/* ---- playing ---- */

void adl_shadow_halt(struct adl_shadow *shadow)
{
    atomic_store(&shadow->halted, true);
}

static int step_until(struct adl_shadow *shadow, int arm, int64_t until_us, struct adl_error *err)
{
    struct adl_engine *engine = adl_fork_engine(shadow->forks[arm]);
    int more = 1;
    while (more > 0 && adl_engine_state(engine)->now_us < until_us) {
        if (atomic_load(&shadow->halted))
            return adl_fail(err, ADL_EREFUSED, "it was halted");
        more = adl_engine_step(engine, err);
    }
    return more < 0 ? more : 0;
}

static int play_arm(struct adl_shadow *shadow, int arm, struct adl_shadow_arm *ret, double *ret_work_us,
                    struct adl_error *err)
{
    const struct stretch *played = &shadow->played;
    struct adl_fork *fork = shadow->forks[arm];
    struct adl_engine *engine = adl_fork_engine(fork);
    const struct adl_future future = {.base = played->base,
                                      .window = played->window,
                                      .seed = shadow->config.seed,
                                      .count = 1,
                                      .until_us = adl_window_end_us(played->window)};
    if (follow(shadow, played->window))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a window of %u jobs", adl_window_count(played->window));
    int status = adl_fork_begin(fork, &future, err);
    const uint64_t refused = adl_engine_counts(engine)->refused;
    if (status == 0)
        status = step_until(shadow, arm, future.until_us, err);
    if (status)
        return status;
    const struct adl_state *state = adl_engine_state(engine);
    const int64_t idle_us = future.until_us - state->now_us;
    count_times(shadow, played->window, ret);
    ret->refused = adl_engine_counts(engine)->refused - refused;
    ret->figures[ADL_SHADOW_ENERGY] =
        adl_fork_energy_j(fork) + (idle_us > 0 ? idle_w(state->cluster) * (double)idle_us * 1e-6 : 0);
    *ret_work_us = work_of(shadow, state, adl_engine_state(played->base));
    return 0;
}

/* What really happened. */
static int read_real(struct adl_shadow *shadow, struct adl_shadow_sample *ret)
{
    const struct adl_window *window = shadow->played.window;
    if (follow(shadow, window))
        return ADL_ENOMEM;
    for (uint32_t i = 0; i < adl_window_count(window); i++)
        shadow->ends_us[i] = adl_window_job(window, i)->end_us;
    for (uint32_t i = 0; i < adl_window_count(window); i++)
        ret->jobs += adl_window_job(window, i)->counts;
    count_times(shadow, window, &ret->real);
    return 0;
}

int adl_shadow_play(struct adl_shadow *shadow, struct adl_shadow_sample *ret, struct adl_error *err)
{
    double work_us[ARMS] = {0};
    *ret = (struct adl_shadow_sample){.begin_us = adl_window_begin_us(shadow->played.window),
                                      .end_us = adl_window_end_us(shadow->played.window)};
    int status = play_arm(shadow, IN_FORCE, &ret->in_force, &work_us[IN_FORCE], err);
    if (status == 0)
        status = play_arm(shadow, CANDIDATE, &ret->candidate, &work_us[CANDIDATE], err);
    if (status == 0 && work_us[CANDIDATE] > 0 && work_us[IN_FORCE] > 0)
        ret->candidate.figures[ADL_SHADOW_ENERGY] *= work_us[IN_FORCE] / work_us[CANDIDATE];
    if (status == 0 && read_real(shadow, ret))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a window of a shadow");
    shadow->waits = false;
    return status;
}

/* ---- evidence ---- */

static void average(double *mean, double value, uint64_t count)
{
    *mean += (value - *mean) / (double)count;
}

void adl_shadow_learn(struct adl_shadow_evidence *evidence, const struct adl_shadow_sample *sample)
{
    const double *real = sample->real.figures, *in_force = sample->in_force.figures;
    const double *candidate = sample->candidate.figures;
    const uint64_t count = ++evidence->windows;
    evidence->span_s += (double)(sample->end_us - sample->begin_us) * 1e-6;
    evidence->jobs += sample->jobs;
    evidence->refused += sample->candidate.refused;
    for (int f = 0; f < ADL_SHADOW_FIGURES; f++) {
        average(&evidence->real[f], real[f], count);
        average(&evidence->in_force[f], in_force[f], count);
        average(&evidence->candidate[f], candidate[f], count);
        adl_confidence_add(&evidence->change[f], candidate[f] - in_force[f]);
    }
    adl_confidence_add(&evidence->bias, in_force[ADL_SHADOW_JCT] - real[ADL_SHADOW_JCT]);
}

struct adl_shadow_change adl_shadow_change_of(const struct adl_shadow_evidence *evidence, int figure, double alpha)
{
    const struct adl_interval interval = adl_confidence_interval(&evidence->change[figure], alpha);
    const double base = figure == ADL_SHADOW_SLA ? 1 : evidence->in_force[figure];
    const double scale = base > 0 ? 1 / base : 1;
    return (struct adl_shadow_change){scale * evidence->change[figure].mean,
                                      {scale * interval.lo, scale * interval.hi}};
}

/* ---- trials ---- */

static int try_arm(struct adl_shadow *shadow, int arm, const struct adl_future *future, double *ret,
                   struct adl_error *err)
{
    shadow->area_us = 0;
    shadow->window = NULL;
    int status = adl_fork_begin(shadow->forks[arm], future, err);
    if (status == 0)
        status = step_until(shadow, arm, future->until_us, err);
    *ret = shadow->area_us;
    return status;
}

int adl_shadow_try(struct adl_shadow *shadow, const struct adl_engine *engine, const struct adl_recent *recent,
                   struct adl_trial *ret, struct adl_error *err)
{
    const int64_t now_us = adl_engine_state(engine)->now_us;
    int status = 0;
    *ret = (struct adl_trial){0};
    for (uint32_t i = 0; i < ADL_TRIAL_FUTURES && status == 0; i++) {
        double in_force = 0, candidate = 0;
        const struct adl_future future = {.base = engine,
                                          .recent = recent,
                                          .seed = shadow->config.seed + shadow->number,
                                          .number = i,
                                          .count = ADL_TRIAL_FUTURES,
                                          .until_us = now_us + (int64_t)(TRIAL_RUNS * shadow->typical_us)};
        status = try_arm(shadow, IN_FORCE, &future, &in_force, err);
        if (status == 0)
            status = try_arm(shadow, CANDIDATE, &future, &candidate, err);
        adl_confidence_add(&ret->change, candidate - in_force);
        average(&ret->in_force, in_force, i + 1);
    }
    shadow->number++;
    return status;
}
