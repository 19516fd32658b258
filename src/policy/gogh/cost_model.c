#include "policy/gogh/cost_model.h"

#include "base/copy.h"
#include "base/real.h"
#include "predict/estimates.h"
#include "predict/loads.h"
#include "predict/power.h"
#include "predict/similar.h"
#include "state/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROFILES        128
#define REMEMBERED_JOBS 2048

/* Chosen on seeds 1000 to 1005 of mixed64, which no report uses; docs/gogh.md shows the effect of each. */
#define AGE_S     900.0 /* this long in the system counts as half the range of priorities */
#define HORIZON_S 600.0 /* a move has to pay off within this time, or within the job's remaining time */
#define MOVE_MARGIN                                                                                                    \
    0.03                  /* share of a job's worth that a move must gain beyond its cost, because estimates are noisy \
                           */
#define PIN_COSTS    5.0  /* a job that moved stays for this many times the duration of a move */
#define STOP_SHARE   0.5  /* share of a job's worth: the cost of preempting it, beyond that of its worst offer */
#define BREAK_SHARE  3.0  /* the same for a job that may not be stopped; such a plan cannot be executed */
#define SLA_MARGIN   1.05 /* target throughput, relative to the SLA's */
#define TIME_MARGIN  1.25 /* the same for deadlines, because the work left is an estimate */
#define TAIL         0.3  /* least work left, as a share of the work done: run times have long tails */
#define LIMIT_SHARE  0.1  /* share of the user's time limit: a job's estimated work while no job has completed */
#define LEFT_LEAST_S 10.0
#define LOST_LEAST_S 2.0 /* smaller losses count as none */
#define URGENCY_STEP 0.25
#define SLACK_STEP   0.25

struct memo {
    uint32_t profile, spanning;
    uint32_t types;  /* mask of those whose nodes could hold it if they were empty */
    int64_t work_us; /* estimate for the whole job on its best type */
};

struct adl_cost_model {
    const struct adl_cluster *cluster;
    double worth_w, sla_w, switch_s;
    bool promised_first; /* power is or was short: jobs with an SLA are served before the others */
    struct adl_estimates *estimates;
    struct adl_loads *loads;
    struct adl_similar *similar;
    struct memo *memos; /* [slot] */
    size_t memo_capacity;
    uint64_t keys[PROFILES];        /* [profile] the jobs that its loads were measured on */
    uint32_t widest[ADL_TYPES_MAX]; /* most GPUs of the type in one node */
    double drift[ADL_TYPES_MAX];    /* speed of the type relative to the estimates */
};

void adl_cost_model_destroy(struct adl_cost_model *cost_model)
{
    if (!cost_model)
        return;
    adl_estimates_destroy(cost_model->estimates);
    adl_loads_destroy(cost_model->loads);
    adl_similar_destroy(cost_model->similar);
    free(cost_model->memos);
    free(cost_model);
}

int adl_cost_model_create(const struct adl_policy_config *config, const struct adl_cluster *cluster,
                          struct adl_cost_model **ret, struct adl_error *err)
{
    const struct adl_gogh_options *own = config->options;
    struct adl_cost_model *cost_model = calloc(1, sizeof *cost_model);
    if (!cost_model)
        return adl_fail(err, ADL_ENOMEM, "out of memory for estimates about jobs");
    cost_model->cluster = cluster;
    cost_model->worth_w = own->worth_w;
    cost_model->sla_w = own->sla_w;
    cost_model->switch_s = (double)config->preemption_us * 1e-6;
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        cost_model->drift[t] = 1;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        uint32_t *widest = &cost_model->widest[cluster->banks[b].type];
        *widest = cluster->banks[b].gpu_count > *widest ? cluster->banks[b].gpu_count : *widest;
    }
    int status = adl_estimates_create(cluster, PROFILES, NULL, 0, &cost_model->estimates, err);
    if (status == 0)
        status = adl_similar_create(REMEMBERED_JOBS, &cost_model->similar, err);
    if (status == 0 && adl_loads_create(cluster, PROFILES, &cost_model->loads))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the loads of jobs");
    if (status)
        adl_cost_model_destroy(cost_model);
    else
        *ret = cost_model;
    return status;
}

void adl_cost_model_inherit(struct adl_cost_model *cost_model, struct adl_cost_model *from)
{
    const struct adl_cost_model mine = *cost_model;
    cost_model->estimates = from->estimates;
    cost_model->loads = from->loads;
    cost_model->similar = from->similar;
    memcpy(cost_model->keys, from->keys, sizeof cost_model->keys);
    from->estimates = mine.estimates;
    from->loads = mine.loads;
    from->similar = mine.similar;
    memcpy(from->keys, mine.keys, sizeof from->keys);
}

int adl_cost_model_copy(struct adl_cost_model *to, const struct adl_cost_model *from)
{
    if (adl_grow((void **)&to->memos, &to->memo_capacity, from->memo_capacity, sizeof *to->memos))
        return ADL_ENOMEM;
    const struct adl_cost_model own = *to;
    *to = *from;
    to->estimates = own.estimates;
    to->loads = own.loads;
    to->similar = own.similar;
    to->memo_capacity = own.memo_capacity;
    adl_estimates_copy(to->estimates, from->estimates);
    adl_loads_copy(to->loads, from->loads);
    adl_similar_copy(to->similar, from->similar);
    ADL_COPY_ARRAY(to, own, from, memos, from->memo_capacity);
    return 0;
}

/* ---- learning ---- */

static struct adl_estimate estimate(const struct adl_cost_model *cost_model, uint32_t profile, uint32_t type,
                                    uint32_t neighbour)
{
    struct adl_estimate ret;
    adl_estimates_find(cost_model->estimates, profile, type, neighbour, &ret);
    ret.steps_per_s *= cost_model->drift[type];
    ret.low *= cost_model->drift[type];
    ret.high *= cost_model->drift[type];
    return ret;
}

static double best_rate(const struct adl_cost_model *cost_model, uint32_t profile, uint32_t types)
{
    double best = 0;
    for (uint32_t left = types; left; left &= left - 1) {
        const double rate = estimate(cost_model, profile, (uint32_t)__builtin_ctz(left), ADL_NONE).steps_per_s;
        best = rate > best ? rate : best;
    }
    return best;
}

/* Leaves out types whose nodes never have enough cores or memory: the program would plan with them in vain. */
static uint32_t possible_types(const struct adl_cluster *cluster, const struct adl_job_spec *spec)
{
    struct adl_job_spec there = *spec;
    uint32_t types = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        there.types = spec->types & 1u << t;
        if (there.types && adl_demand_possible(cluster, &there, NULL))
            types |= there.types;
    }
    return types;
}

/* The profile of such jobs. If the profile was recycled from other jobs, their loads are forgotten. */
static uint32_t profile_of(struct adl_cost_model *cost_model, const struct adl_job_spec *spec, bool spans)
{
    const uint32_t profile = adl_estimates_profile(cost_model->estimates, spec, spans);
    const uint64_t key = adl_estimates_key(cost_model->estimates, profile);
    if (cost_model->keys[profile] != key)
        adl_loads_forget(cost_model->loads, profile);
    cost_model->keys[profile] = key;
    return profile;
}

static int add_job(struct adl_cost_model *cost_model, const struct adl_event *event)
{
    const struct adl_job_spec *spec = event->submit.spec;
    struct adl_traits traits;
    struct adl_similar_prediction answer;
    if (adl_grow((void **)&cost_model->memos, &cost_model->memo_capacity, (size_t)event->job + 1,
                 sizeof *cost_model->memos))
        return ADL_ENOMEM;
    struct memo *memo = &cost_model->memos[event->job];
    memo->types = possible_types(cost_model->cluster, spec);
    memo->profile = memo->spanning = profile_of(cost_model, spec, false);
    if (spec->gpus > 1 && spec->flags & ADL_JOB_SPAN)
        memo->spanning = profile_of(cost_model, spec, true);
    adl_traits_read(&traits, spec, event->time_us);
    memo->work_us = adl_similar_predict(cost_model->similar, &traits, &answer)
                        ? answer.run_us
                        : (int64_t)(LIMIT_SHARE * (double)spec->limit_us) + 1;
    return 0;
}

static void learn_work(struct adl_cost_model *cost_model, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const struct memo *memo = &cost_model->memos[event->job];
    const double best = best_rate(cost_model, memo->profile, job->eligible & memo->types);
    const double rate =
        job->phase < ADL_PHASE_RUNNING ? 0 : estimate(cost_model, memo->profile, job->type, ADL_NONE).steps_per_s;
    const double steps = event->outcome.steps > 0 ? event->outcome.steps : rate * (double)event->outcome.run_us * 1e-6;
    const double work_us = best > 0 ? steps / best * 1e6 : 0;
    struct adl_traits traits;
    if (event->outcome.end != ADL_END_COMPLETED || !(work_us >= 1) || !(work_us < ADL_REMAINING_MAX_US))
        return;
    adl_traits_read(&traits, &job->spec, job->submit_us);
    adl_similar_learn(cost_model->similar, &traits, (int64_t)work_us, job->spec.class_index);
}

/* The profile of the job that shares the job's GPU, or ADL_NONE. */
static uint32_t neighbour_of(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot)
{
    const uint32_t other = adl_state_neighbour(state, slot);
    return other == ADL_NONE ? ADL_NONE : cost_model->memos[other].profile;
}

/* The profile of a running job where it is. */
static uint32_t running_profile(const struct memo *memo, const struct adl_state *state, uint32_t slot)
{
    return memo->spanning != memo->profile && adl_state_spans_nodes(state, slot) ? memo->spanning : memo->profile;
}

/* Learns the speed on an uncapped GPU, alone or beside another job: the slowdown by a cap is removed. */
static void learn_speed(struct adl_cost_model *cost_model, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const struct memo *memo = &cost_model->memos[event->job];
    const double cap_w = state->gpus[job->first_gpu].cap_w;
    const uint32_t profile = running_profile(memo, state, event->job);
    const double load = adl_loads_find(cost_model->loads, memo->profile, job->type, job->spec.kind).load;
    const double slowed = adl_power_cap_speed(&state->cluster->types[job->type], load, cap_w);
    if (event->steps_per_s > 0 && slowed > 0)
        adl_estimates_measure(cost_model->estimates, profile, job->type, neighbour_of(cost_model, state, event->job),
                              event->steps_per_s / (slowed * adl_state_gang_speed(state, event->job)));
}

/* A GPU's draw tells the load of the only job on it, once the job has read its checkpoint. */
static void learn_load(struct adl_cost_model *cost_model, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_gpu_use *use = &state->gpus[event->gpu];
    if (event->telemetry.missing >> ADL_READ_POWER & 1 || use->job[0] == ADL_NONE || use->job[1] != ADL_NONE)
        return;
    const struct adl_job *job = &state->jobs[use->job[0]];
    if (job->phase == ADL_PHASE_RUNNING && (double)(event->time_us - job->start_us) * 1e-6 > cost_model->switch_s)
        adl_loads_measure(cost_model->loads, cost_model->memos[use->job[0]].profile, job->type,
                          (double)event->telemetry.value[ADL_READ_POWER], use->cap_w);
}

int adl_cost_model_observe(struct adl_cost_model *cost_model, const struct adl_event *event,
                           const struct adl_state *state)
{
    memcpy(cost_model->drift, state->type_speed, sizeof cost_model->drift);
    switch (event->kind) {
    case ADL_EVENT_SUBMIT:
        return add_job(cost_model, event);
    case ADL_EVENT_FINISH:
        learn_work(cost_model, event, state);
        return 0;
    case ADL_EVENT_PROGRESS:
        learn_speed(cost_model, event, state);
        return 0;
    case ADL_EVENT_TELEMETRY:
        learn_load(cost_model, event, state);
        return 0;
    default:
        return 0;
    }
}

/* ---- features ---- */

static uint8_t quantize(double quanta)
{
    return quanta < 0 ? 0 : quanta > ADL_URGENCY_MAX ? ADL_URGENCY_MAX : (uint8_t)quanta;
}

/* Work that a running job does in ran_us where it is, in seconds at its best speed. */
static double work_done_s(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                          uint32_t beside, int64_t ran_us)
{
    const struct adl_job *job = &state->jobs[slot];
    const struct memo *memo = &cost_model->memos[slot];
    const double rate = estimate(cost_model, running_profile(memo, state, slot), job->type, beside).steps_per_s,
                 best = best_rate(cost_model, memo->profile, job->eligible & memo->types);
    return best > 0 ? rate / best * (double)ran_us * 1e-6 : 0;
}

static double work_lost_s(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                          uint32_t beside)
{
    const int64_t lost_us = adl_stop_lost_us(state, slot);
    return lost_us > 0 ? work_done_s(cost_model, state, slot, beside, lost_us) : 0;
}

/* In seconds at the job's best speed. */
static double work_left_s(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                          uint32_t beside)
{
    const struct adl_job *job = &state->jobs[slot];
    const struct memo *memo = &cost_model->memos[slot];
    double left_s = (double)memo->work_us * 1e-6 * job->remaining;
    if (job->phase == ADL_PHASE_RUNNING) {
        const double done_s = work_done_s(cost_model, state, slot, beside, state->now_us - job->start_us);
        left_s = left_s - done_s > TAIL * done_s ? left_s - done_s : TAIL * done_s;
    }
    return left_s > LEFT_LEAST_S ? left_s : LEFT_LEAST_S;
}

void adl_cost_model_features(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                             struct adl_job_features *ret)
{
    const struct adl_job *job = &state->jobs[slot];
    const struct adl_job_spec *spec = &job->spec;
    const struct memo *memo = &cost_model->memos[slot];
    const bool runs = job->phase == ADL_PHASE_RUNNING;
    memset(ret, 0, sizeof *ret);
    ret->profile = memo->profile;
    ret->spanning = memo->spanning;
    const uint32_t other = runs ? adl_state_neighbour(state, slot) : ADL_NONE;
    if (other == ADL_NONE || state->jobs[other].phase == ADL_PHASE_STOPPING) /* it will soon have its GPU to itself */
        ret->beside = ADL_NONE;
    else
        ret->beside = cost_model->memos[other].profile;
    ret->types = job->eligible & memo->types;
    ret->min_steps_per_s = spec->min_steps_per_s;
    ret->share_slowdown = spec->share_slowdown;
    ret->gpu_memory_mib = spec->gpu_memory_mib;
    ret->gpus = spec->gpus;
    ret->current_type = runs ? (uint8_t)job->type : ADL_NOT_RUNNING;
    ret->flags = spec->flags;
    ret->kind = spec->kind;
    ret->across = runs && running_profile(memo, state, slot) != memo->profile;
    const bool moved_lately =
        job->attempts > 1 && (double)(state->now_us - job->start_us) * 1e-6 < PIN_COSTS * cost_model->switch_s;
    ret->pinned = runs && moved_lately;
    const double left_s = work_left_s(cost_model, state, slot, ret->beside);
    const double lost_s = runs ? work_lost_s(cost_model, state, slot, ret->beside) : 0;
    const double age_s = (double)(state->now_us - job->submit_us) * 1e-6;
    ret->work_left = quantize(2.0 * 1.4426950408889634 * adl_log(left_s));
    ret->work_lost = lost_s >= LOST_LEAST_S ? quantize(2.0 * 1.4426950408889634 * adl_log(lost_s)) : 0;
    ret->urgency = quantize(((double)spec->priority + 0.5 * age_s / AGE_S) / URGENCY_STEP);
    ret->slack = ADL_SLACK_NONE;
    if (spec->deadline_us > 0) {
        const double until_s = (double)(job->submit_us + spec->deadline_us - state->now_us) * 1e-6;
        /* Work left is predicted. Where power is short, a deadline is given up only when it has passed. */
        if (until_s > (cost_model->promised_first ? 0 : left_s))
            ret->slack = quantize((until_s / left_s - 1.0) / SLACK_STEP);
    }
}

void adl_cost_model_estimate(const struct adl_cost_model *cost_model, const struct adl_job_features *job,
                             struct adl_job_estimates *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->left_s = adl_exp(0.5 * 0.6931471805599453 * (job->work_left + 0.5));
    ret->lost_s = job->work_lost > 0 ? adl_exp(0.5 * 0.6931471805599453 * (job->work_lost + 0.5)) : 0;
    ret->worth_w = cost_model->worth_w * job->gpus * (0.75 + 0.5 * URGENCY_STEP * job->urgency);
    for (uint32_t left = job->types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        const bool spans = job->gpus > cost_model->widest[type];
        if (spans && !(job->flags & ADL_JOB_SPAN))
            continue;
        struct adl_estimate it = estimate(cost_model, spans ? job->spanning : job->profile, type, ADL_NONE);
        ret->best_steps_per_s = it.steps_per_s > ret->best_steps_per_s ? it.steps_per_s : ret->best_steps_per_s;
        ret->best_low = it.low > ret->best_low ? it.low : ret->best_low;
        if (job->across && type == job->current_type)
            it = estimate(cost_model, job->spanning, type, ADL_NONE);
        ret->on[type].steps_per_s = it.steps_per_s;
        ret->on[type].low = it.low;
        ret->on[type].load = adl_loads_find(cost_model->loads, job->profile, type, job->kind).load;
    }
}

/* ---- costs ---- */

/* Penalty of missing a target: one half at once, the rest in proportion to what is missing. */
static double shortfall(double has, double needs)
{
    return has >= needs ? 0 : 0.5 + 0.5 * (1.0 - has / needs);
}

/* If no type's lower bound reaches the required throughput, the highest lower bound is the target: otherwise no type
 * would pay and the job would wait for ever. */
static double sla_w(const struct adl_cost_model *cost_model, struct adl_candidate candidate, double low, double speed)
{
    const struct adl_job_features *job = candidate.job;
    const double required = SLA_MARGIN * (double)job->min_steps_per_s, best = candidate.estimates->best_low;
    double missed = 0;
    if (job->min_steps_per_s > 0)
        missed += shortfall(low, required < best ? required : best);
    if (job->slack != ADL_SLACK_NONE)
        missed += shortfall(speed * (1.0 + SLACK_STEP * job->slack), TIME_MARGIN);
    return missed * cost_model->sla_w * job->gpus;
}

/* The cost of a stop, a restart and the lost work, spread over the time in which the move has to pay off. */
static double moving_w(const struct adl_cost_model *cost_model, struct adl_candidate candidate, double speed,
                       double power_w)
{
    const double least = speed > 0.01 ? speed : 0.01;
    const double again_s = candidate.estimates->lost_s / least, there_s = candidate.estimates->left_s / least + again_s;
    const double cost_j = (cost_model->switch_s + again_s) * (candidate.estimates->worth_w * speed + power_w);
    return cost_j / (there_s < HORIZON_S ? there_s : HORIZON_S) + MOVE_MARGIN * candidate.estimates->worth_w;
}

static double draw_w(const struct adl_gpu_type *gpu, double load, double cap_w)
{
    return adl_power_draw_w(gpu, load, cap_w) - gpu->idle_w;
}

/* steps_per_s and low: its speed there. */
static void cost_at_speed(const struct adl_cost_model *cost_model, struct adl_candidate candidate, uint32_t type,
                          double cap_w, double steps_per_s, double low, struct adl_offer_cost *ret)
{
    const struct adl_job_features *job = candidate.job;
    const struct adl_job_estimates *estimates = candidate.estimates;
    const struct adl_gpu_type *gpu = &cost_model->cluster->types[type];
    const double slowed = adl_power_cap_speed(gpu, estimates->on[type].load, cap_w);
    const double speed = slowed * steps_per_s / estimates->best_steps_per_s;
    ret->power_w = job->gpus * draw_w(gpu, estimates->on[type].load, cap_w);
    ret->total_w = ret->power_w - estimates->worth_w * speed + sla_w(cost_model, candidate, slowed * low, speed);
    const bool moves = job->current_type != ADL_NOT_RUNNING && job->current_type != type;
    if (moves || job->beside != ADL_NONE) /* when a pair splits, one of the two moves */
        ret->total_w += (moves ? 1.0 : 0.5) * moving_w(cost_model, candidate, speed, ret->power_w);
}

bool adl_cost_model_alone(const struct adl_cost_model *cost_model, struct adl_candidate candidate, uint32_t type,
                          double cap_w, struct adl_offer_cost *ret)
{
    const double steps_per_s = candidate.estimates->on[type].steps_per_s;
    if (steps_per_s > 0)
        cost_at_speed(cost_model, candidate, type, cap_w, steps_per_s, candidate.estimates->on[type].low, ret);
    return steps_per_s > 0;
}

bool adl_cost_model_across(const struct adl_cost_model *cost_model, struct adl_candidate candidate, uint32_t type,
                           double cap_w, struct adl_offer_cost *ret)
{
    if (candidate.job->spanning == candidate.job->profile || candidate.estimates->on[type].steps_per_s <= 0)
        return false;
    const struct adl_estimate it = estimate(cost_model, candidate.job->spanning, type, ADL_NONE);
    cost_at_speed(cost_model, candidate, type, cap_w, it.steps_per_s, it.low, ret);
    return true;
}

/* Which of two jobs have to be moved so that they share a GPU of the type: bit i of the result. */
static unsigned jobs_to_move(struct adl_candidate a, struct adl_candidate b, uint32_t type)
{
    const bool a_there = a.job->current_type == type, b_there = b.job->current_type == type;
    if (adl_features_share_gpu(a.job, b.job, type))
        return 0;
    if (a_there && b_there) /* but not on the same GPU */
        return adl_features_fixed(a.job) ? 2 : 1;
    return (unsigned)(!a_there && a.job->current_type != ADL_NOT_RUNNING) |
           (unsigned)(!b_there && b.job->current_type != ADL_NOT_RUNNING) << 1;
}

bool adl_cost_model_pair(const struct adl_cost_model *cost_model, struct adl_candidate a, struct adl_candidate b,
                         uint32_t type, double cap_w, struct adl_offer_cost *ret)
{
    const struct adl_gpu_type *gpu = &cost_model->cluster->types[type];
    const struct adl_candidate candidates[2] = {a, b};
    const unsigned moving = jobs_to_move(a, b, type);
    struct adl_estimate shared[2];
    double kept[2];
    if (!(a.job->flags & b.job->flags & ADL_JOB_SHARE) || a.job->gpus != 1 || b.job->gpus != 1 ||
        (int64_t)a.job->gpu_memory_mib + b.job->gpu_memory_mib > gpu->memory_mib)
        return false;
    for (int i = 0; i < 2; i++) {
        const double alone = candidates[i].estimates->on[type].steps_per_s;
        if (alone <= 0)
            return false;
        shared[i] = estimate(cost_model, candidates[i].job->profile, type, candidates[1 - i].job->profile);
        kept[i] = shared[i].steps_per_s / alone;
        const double bound = (double)candidates[i].job->share_slowdown;
        if (shared[i].steps_per_s <= 0 || (bound > 0 && shared[i].low * bound < alone))
            return false;
    }
    const double load =
        adl_power_load_of_pair(a.estimates->on[type].load, kept[0], b.estimates->on[type].load, kept[1]);
    const double slowed = adl_power_cap_speed(gpu, load, cap_w);
    ret->power_w = ret->total_w = draw_w(gpu, load, cap_w);
    for (int i = 0; i < 2; i++) {
        /* A move to a neighbour counts with the lower bound only: the best of many estimates is too optimistic. */
        const double expected = moving ? shared[i].low : shared[i].steps_per_s;
        const double speed = slowed * expected / candidates[i].estimates->best_steps_per_s;
        ret->total_w +=
            sla_w(cost_model, candidates[i], slowed * shared[i].low, speed) - candidates[i].estimates->worth_w * speed;
        if (moving >> i & 1)
            ret->total_w += moving_w(cost_model, candidates[i], speed, ret->power_w);
    }
    return true;
}

double adl_cost_model_stopping_w(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot)
{
    return adl_cost_model_draw_w(cost_model, state, slot, state->gpus[state->jobs[slot].first_gpu].cap_w);
}

double adl_cost_model_draw_w(const struct adl_cost_model *cost_model, const struct adl_state *state, uint32_t slot,
                             double cap_w)
{
    const struct adl_job *job = &state->jobs[slot];
    const struct adl_gpu_type *gpu = &cost_model->cluster->types[job->type];
    const struct adl_gpu_use *use = &state->gpus[job->first_gpu];
    const double load =
        adl_loads_find(cost_model->loads, cost_model->memos[slot].profile, job->type, job->spec.kind).load;
    const double alone_w = draw_w(gpu, load, cap_w);
    return job->spec.gpus * (use->job[1] == ADL_NONE ? alone_w : alone_w + gpu->idle_w - gpu->context_w);
}

void adl_cost_model_put_promised_first(struct adl_cost_model *cost_model, bool first)
{
    cost_model->promised_first = first;
}

double adl_cost_model_wait(const struct adl_cost_model *cost_model, struct adl_candidate candidate)
{
    const struct adl_job_features *job = candidate.job;
    const bool spared = cost_model->promised_first && adl_features_promised(job);
    if (job->current_type != ADL_NOT_RUNNING)
        return (spared ? cost_model->sla_w * job->gpus : 0) +
               (adl_features_fixed(job) ? BREAK_SHARE : STOP_SHARE + candidate.estimates->lost_s / HORIZON_S) *
                   candidate.estimates->worth_w;
    const bool late = job->slack != ADL_SLACK_NONE && 1.0 + SLACK_STEP * job->slack < 1.25 * TIME_MARGIN;
    return late ? cost_model->sla_w * job->gpus : 0;
}
