#include "policy/gogh/power_guard.h"

#include "policy/mechanism/reason.h"

#define KNOWN_LEAST 10         /* all but a tenth of the GPUs have to report their power */
#define OVER_KEPT   (63. / 64) /* of what predictions fell short, with each reading */
#define OVER_RISE                                                                                                      \
    8 /* readings until a new error counts, unless the limit is exceeded: some are of jobs that just left */

double adl_power_guard_limit_w(const struct adl_power_guard *guard)
{
    return guard->limit_w / (1 + guard->over);
}

/* What all GPUs draw by their last readings; those without one as the others do. 0: too few have one. */
static double measured_w(const struct adl_state *state)
{
    const uint32_t gpus = state->cluster->gpu_count;
    double sum_w = 0;
    uint32_t known = 0;
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        const struct adl_telemetry *it = &state->telemetry[gpu];
        if (state->telemetry_us[gpu] == INT64_MIN || it->missing >> ADL_READ_POWER & 1)
            continue;
        sum_w += (double)it->value[ADL_READ_POWER];
        known++;
    }
    return known * KNOWN_LEAST >= gpus * (KNOWN_LEAST - 1) ? sum_w * gpus / known : 0;
}

/* The cap that the GPU has once the plan is executed. */
static double cap_after(const struct adl_plan *plan, const struct adl_state *state, uint32_t gpu)
{
    double cap_w = state->gpus[gpu].cap_w;
    for (uint32_t i = 0; i < plan->command_count; i++) {
        const struct adl_command *it = &plan->commands[i];
        for (uint32_t g = 0; it->kind == ADL_COMMAND_CAP && g < it->gpu_count; g++)
            if (plan->gpus[it->gpu_offset + g] == gpu)
                cap_w = it->power_w;
    }
    return cap_w;
}

double adl_power_guard_drawn_w(const struct adl_cost_model *cost_model, const struct adl_state *state,
                               const struct adl_plan *plan)
{
    const struct adl_cluster *cluster = state->cluster;
    double sum_w = 0;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count; gpu++) {
        sum_w += cluster->types[adl_gpu_type_of(cluster, gpu)].idle_w;
        for (int place = 0; place < ADL_GPU_JOBS_MAX && state->gpus[gpu].job[place] != ADL_NONE; place++) {
            const uint32_t job = state->gpus[gpu].job[place];
            if (state->jobs[job].first_gpu == gpu)
                sum_w += adl_cost_model_draw_w(cost_model, state, job,
                                               plan ? cap_after(plan, state, gpu) : state->gpus[gpu].cap_w);
        }
    }
    return sum_w;
}

bool adl_power_guard_read(struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                          const struct adl_state *state)
{
    if (state->telemetry_us[state->cluster->gpu_count - 1] != state->now_us)
        return false;
    const double measured = measured_w(state), predicted = adl_power_guard_drawn_w(cost_model, state, NULL);
    if (measured <= 0 || predicted <= 0)
        return false;
    const double over = measured / predicted - 1, faded = guard->over * OVER_KEPT;
    const bool exceeded = guard->limit_w > 0 && measured > guard->limit_w;
    guard->over = over <= faded ? faded : exceeded ? over : faded + (over - faded) / OVER_RISE;
    return exceeded;
}

/* ---- what a plan lacks ---- */

/* True if the plan stops the job already. */
static bool is_stopped(const struct adl_plan *plan, uint32_t job)
{
    for (uint32_t i = 0; i < plan->command_count; i++)
        if (plan->commands[i].kind == ADL_COMMAND_PREEMPT && plan->commands[i].job == job)
            return true;
    return false;
}

/* How a job that runs can draw less. */
struct measure {
    uint32_t job;
    bool stops; /* else it is capped */
    double cap_w;
    double saved_w;
    double cost; /* worth of its progress for each watt; those of the later steps are compared only among each other */
};

static double least_cap_w(const struct adl_ilp_model *ilp, uint32_t type)
{
    double least = 0;
    for (uint32_t i = 0; i < ilp->cap_count; i++)
        least = least == 0 || ilp->caps[i] < least ? ilp->caps[i] : least;
    return least * ilp->cluster->types[type].max_w;
}

enum { STEPS_WITHOUT_SLA = 2, STEPS = 4 };

/* The best measure of one step: 0 and 1 cap and stop jobs without an SLA, 2 and 3 the others. */
static bool find_measure(const struct adl_cost_model *cost_model, const struct adl_ilp_model *ilp,
                         const struct adl_state *state, const struct adl_plan *plan, int step, struct measure *ret)
{
    *ret = (struct measure){.job = ADL_NONE};
    for (uint32_t gpu = 0; gpu < state->cluster->gpu_count; gpu++) {
        const uint32_t job = state->gpus[gpu].job[0];
        if (job == ADL_NONE || state->jobs[job].phase != ADL_PHASE_RUNNING || state->jobs[job].first_gpu != gpu ||
            adl_job_promised(state, job) != (step >= STEPS_WITHOUT_SLA) || is_stopped(plan, job))
            continue;
        const double cap_w = cap_after(plan, state, gpu), least_w = least_cap_w(ilp, state->jobs[job].type);
        const double now_w = adl_cost_model_draw_w(cost_model, state, job, cap_w);
        struct measure it = {.job = job, .stops = step % 2 == 1, .cap_w = least_w};
        if (it.stops ? !(state->jobs[job].spec.flags & ADL_JOB_PREEMPTIBLE)
                     : !(least_w > 0 && (cap_w <= 0 || cap_w > least_w)))
            continue;
        it.saved_w = it.stops ? now_w : now_w - adl_cost_model_draw_w(cost_model, state, job, least_w);
        if (!(it.saved_w > 0))
            continue;
        it.cost = (double)state->jobs[job].spec.gpus * (1 + (double)state->jobs[job].spec.priority) / it.saved_w;
        if (ret->job == ADL_NONE || it.cost < ret->cost)
            *ret = it;
    }
    return ret->job != ADL_NONE;
}

static int take_measure(const struct adl_state *state, struct adl_plan *plan, const struct measure *it)
{
    const uint32_t count = state->jobs[it->job].spec.gpus;
    uint32_t *room, n = 0;
    if (it->stops) {
        if (adl_plan_preempt(plan, it->job))
            return ADL_EREFUSED;
        adl_plan_because(plan, adl_reason_make(ADL_RULE_SAVING, it->job, it->saved_w, 0));
        return 0;
    }
    room = adl_plan_gpus(plan, count);
    if (!room)
        return ADL_EREFUSED;
    for (uint32_t gpu = state->jobs[it->job].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, it->job, gpu))
        room[n++] = gpu;
    return adl_plan_cap(plan, count, it->cap_w);
}

/* Predicted draw once the plan is executed and the jobs that it stops have left. */
static double planned_w(const struct adl_cost_model *cost_model, const struct adl_state *state,
                        const struct adl_plan *plan)
{
    const struct adl_cluster *cluster = state->cluster;
    double sum_w = 0;
    for (uint32_t gpu = 0; gpu < cluster->gpu_count; gpu++) {
        sum_w += cluster->types[adl_gpu_type_of(cluster, gpu)].idle_w;
        for (int place = 0; place < ADL_GPU_JOBS_MAX && state->gpus[gpu].job[place] != ADL_NONE; place++) {
            const uint32_t job = state->gpus[gpu].job[place];
            if (state->jobs[job].first_gpu == gpu && state->jobs[job].phase == ADL_PHASE_RUNNING &&
                !is_stopped(plan, job))
                sum_w += adl_cost_model_draw_w(cost_model, state, job, cap_after(plan, state, gpu));
        }
    }
    return sum_w;
}

/* Takes measures of the first steps until no more than limit_w is drawn. */
static void reduce(const struct adl_cost_model *cost_model, const struct adl_ilp_model *ilp,
                   const struct adl_state *state, int steps, double limit_w, struct adl_plan *plan)
{
    struct measure it;
    double left_w = planned_w(cost_model, state, plan);
    for (int step = 0; step < steps && left_w > limit_w; step++)
        while (left_w > limit_w && find_measure(cost_model, ilp, state, plan, step, &it)) {
            if (take_measure(state, plan, &it))
                return; /* the plan is full; the rest follows at the next decision */
            left_w -= it.saved_w;
        }
}

int adl_power_guard_enforce(const struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                            const struct adl_ilp_model *ilp, const struct adl_state *state, struct adl_plan *plan)
{
    const double limit_w = adl_power_guard_limit_w(guard);
    if (limit_w > 0)
        reduce(cost_model, ilp, state, STEPS, limit_w, plan);
    return 0;
}

void adl_power_guard_make_room(const struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                               const struct adl_ilp_model *ilp, const struct adl_state *state, double more_w,
                               struct adl_plan *plan)
{
    reduce(cost_model, ilp, state, STEPS_WITHOUT_SLA, adl_power_guard_limit_w(guard) - more_w, plan);
}
