/* gogh: the policy of GOGH, as reconstructed here (docs/gogh.md): initial estimates for each new job (P1), an optimizer
 * that serves all jobs at least energy within the SLAs, and estimates refined by measurements (P2).
 *
 * Whenever a job arrives, ends or returns to the queue, the policy solves an integer program of the current state,
 * starting from what runs, and executes the solution: jobs start alone or beside another, running jobs move where that
 * pays, GPUs get power caps. A job is preempted only for a reservation (policy/gogh/gpu_reservations.h). For a gang
 * that has waited long and finds enough GPUs only in scattered nodes, younger jobs are preempted. */
#include "policy/gogh/gogh.h"

#include "policy/gogh/gpu_reservations.h"
#include "policy/gogh/power_guard.h"
#include "policy/gogh/step_placement.h"
#include "policy/gogh/transition_plan.h"
#include "policy/mechanism/preemption_victims.h"
#include "policy/mechanism/reason.h"
#include "policy/policy.h"
#include "state/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAN_US 60000000 /* the urgency of waiting jobs grows */
/* Others are preempted for a gang once it has waited this many times the duration of a preemption. */
#define PREEMPT_AFTER_COSTS 10

struct gogh {
    struct adl_cost_model *cost_model;
    struct adl_ilp_model ilp;
    struct adl_transition_plan transitions;
    uint32_t next_start;
    bool stay;   /* running jobs are never moved */
    bool stale;  /* events since the program was last solved */
    bool failed; /* out of memory in observe */
    int64_t wake_us;
    int64_t stopped_us; /* when jobs were last stopped: at most once per instant */
    int64_t preempt_after_us;
    struct adl_gpu_reservations reservations;
    struct adl_step_placement placement;
    struct adl_power_guard guard; /* of the power limit */
    bool awaits_power;            /* jobs without an SLA wait until jobs have left, or one with an SLA has started */
    double awaited_w;             /* of jobs with an SLA that wait for power */
    int64_t eased_us;             /* the end of the last limit, while jobs that it delayed are there, or INT64_MIN */
    bool placed;                  /* placement has the GPUs of the current plan's steps */
    uint32_t *gpus;               /* [GPUs of the cluster] scratch */
};

static const struct adl_policy_option options[] = {
    {.name = "worth_w",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_gogh_options, worth_w),
     .value = "700",
     .range = {.min = 1, .max = 1e6},
     .help = "what progress at a job's best speed is worth for each of its GPUs, in W: high = soon, low = frugal"},
    {.name = "sla_w",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_gogh_options, sla_w),
     .value = "1500",
     .range = {.min = 1, .max = 1e6},
     .help = "what missing an SLA costs meanwhile, for each GPU of the job, in W"},
    {.name = "power_limit_w",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct adl_gogh_options, power_limit_w),
     .value = "0",
     .range = {.min = 1, .max = 1e9, .or_zero = true},
     .help = "plans keep what all GPUs together draw below this; 0 = no limit"},
    {.name = "power_caps",
     .type = ADL_POLICY_REALS,
     .offset = offsetof(struct adl_gogh_options, power_caps),
     .value = "",
     .range = {.min = ADL_CAP_LEAST, .max = 1},
     .most = ADL_POWER_CAPS_MAX,
     .help = "shares of a GPU's highest power that it may be held to"},
    {.name = "solver_nodes",
     .type = ADL_POLICY_INTEGER,
     .offset = offsetof(struct adl_gogh_options, solver_nodes),
     .value = "200",
     .range = {.min = 1, .max = 1000000},
     .help = "nodes that the exact solver may look at in each decision; then the best so far stands"},
    {.name = "greedy",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct adl_gogh_options, greedy),
     .value = "false",
     .help = "the exact solver is never asked"},
    {.name = "stay",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct adl_gogh_options, stay),
     .value = "false",
     .help = "running jobs are never moved"},
    ADL_POLICY_SHARE(struct adl_gogh_options),
};

static void destroy(void *policy)
{
    struct gogh *self = policy;
    if (!self)
        return;
    adl_transition_plan_clear(&self->transitions);
    adl_ilp_model_clear(&self->ilp);
    adl_cost_model_destroy(self->cost_model);
    adl_step_placement_clear(&self->placement);
    adl_gpu_reservations_clear(&self->reservations);
    free(self->gpus);
    free(self);
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    const struct adl_gogh_options *own = config->options;
    struct gogh *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gogh");
    self->stopped_us = self->eased_us = INT64_MIN;
    self->stay = own->stay;
    self->guard.limit_w = own->power_limit_w;
    self->preempt_after_us = PREEMPT_AFTER_COSTS * config->preemption_us;
    self->gpus = malloc(((size_t)2 * cluster->gpu_count + 1) * sizeof *self->gpus);
    int status = adl_cost_model_create(config, cluster, &self->cost_model, err);
    if (status == 0 && (!self->gpus || adl_gpu_reservations_create(&self->reservations, cluster) ||
                        adl_ilp_model_create(&self->ilp, config, cluster, self->cost_model) ||
                        adl_transition_plan_create(&self->transitions, &self->ilp) ||
                        adl_step_placement_create(&self->placement, &self->ilp)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for policy gogh");
    if (status) {
        destroy(self);
        return status;
    }
    *ret_policy = self;
    return 0;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct gogh *self = policy;
    self->failed |= adl_cost_model_observe(self->cost_model, event, state) != 0;
    if (event->kind == ADL_EVENT_WAKE)
        self->wake_us = 0;
    if (event->kind == ADL_EVENT_POWER_LIMIT) {
        if (event->limit_w <= 0 && self->guard.limit_w > 0)
            self->eased_us = event->time_us;
        self->guard.limit_w = event->limit_w;
    }
    self->stale |= event->kind != ADL_EVENT_TELEMETRY && event->kind != ADL_EVENT_METER &&
                   event->kind != ADL_EVENT_PROGRESS && event->kind != ADL_EVENT_VERSION;
}

static void inherit(void *policy, void *from)
{
    adl_cost_model_inherit(((struct gogh *)policy)->cost_model, ((struct gogh *)from)->cost_model);
}

static int copy(void *policy, const void *from)
{
    struct gogh *self = policy;
    const struct gogh *other = from;
    if (adl_cost_model_copy(self->cost_model, other->cost_model))
        return ADL_ENOMEM;
    adl_ilp_model_copy(&self->ilp, &other->ilp);
    adl_transition_plan_copy(&self->transitions, &other->transitions);
    adl_gpu_reservations_copy(&self->reservations, &other->reservations);
    adl_step_placement_copy(&self->placement, &other->placement);
    const struct gogh own = *self;
    *self = *other;
    self->cost_model = own.cost_model;
    self->ilp = own.ilp;
    self->transitions = own.transitions;
    self->reservations = own.reservations;
    self->placement = own.placement;
    self->gpus = own.gpus; /* of one decision */
    return 0;
}

/* ---- reservations ---- */

static double reserved_draw_w(const struct gogh *self, const struct adl_state *state,
                              const struct adl_transition_step *step)
{
    struct adl_job_features features;
    struct adl_job_estimates estimates;
    struct adl_offer_cost cost = {0};
    adl_cost_model_features(self->cost_model, state, step->job, &features);
    adl_cost_model_estimate(self->cost_model, &features, &estimates);
    adl_cost_model_alone(self->cost_model, (struct adl_candidate){&features, &estimates}, step->type, step->cap_w,
                         &cost);
    return cost.power_w;
}

static void reservation(struct gogh *self, const struct adl_state *state, const struct adl_transition_step *step,
                        const uint32_t *gpus, bool by_preemption)
{
    const struct adl_job_spec *spec = &state->jobs[step->job].spec;
    const struct adl_gpu_reservation it = {.job = step->job,
                                           .id = spec->id,
                                           .beside = step->beside,
                                           .gpu_count = spec->gpus,
                                           .cap_w = step->cap_w,
                                           .power_w = reserved_draw_w(self, state, step),
                                           .cost_w = step->cost_w,
                                           .wait_w = step->wait_w,
                                           .by_preemption = by_preemption};
    adl_gpu_reservations_add(&self->reservations, it, gpus);
}

/* True if the GPUs are in one node, or the job may span. */
static bool may_hold(const struct adl_state *state, const struct adl_transition_step *step, const uint32_t *gpus)
{
    const struct adl_cluster *cluster = state->cluster;
    const uint32_t node = adl_gpu_node_of(cluster, gpus[0]);
    bool together = true;
    for (uint32_t i = 1; i < state->jobs[step->job].spec.gpus; i++)
        together &= adl_gpu_node_of(cluster, gpus[i]) == node;
    return together || step->may_span;
}

/* Preempts younger jobs for one that has waited long and finds no GPUs in one node. */
static void reserve_by_preemption(struct gogh *self, const struct adl_state *state,
                                  const struct adl_transition_step *step, struct adl_plan *plan)
{
    const struct adl_job *job = &state->jobs[step->job];
    uint32_t *victims = self->gpus + state->cluster->gpu_count;
    if (self->reservations.count > 0 || job->spec.gpus == 1 || self->stopped_us == state->now_us ||
        state->now_us - job->submit_us < self->preempt_after_us ||
        !adl_preemption_victims_find(state, step->job, step->type, self->gpus) || !may_hold(state, step, self->gpus))
        return;
    const uint32_t count = adl_preemption_victims_list(state, self->gpus, job->spec.gpus, victims);
    for (uint32_t i = 0; i < count; i++) {
        if (adl_plan_preempt(plan, victims[i]))
            return;
        adl_plan_because(plan, adl_preemption_victims_reason(state, victims[i], step->job));
    }
    self->stopped_us = state->now_us;
    reservation(self, state, step, self->gpus, true);
    self->next_start =
        self->transitions.start_count; /* other starts must not take the reservation's cores and memory */
    self->stale = true;
}

/* ---- executing the plan ---- */

/* True if the job can share this GPU with the one that runs there. */
static bool has_room_beside(const struct adl_state *state, uint32_t slot, uint32_t gpu)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const struct adl_gpu_use *use = &state->gpus[gpu];
    const struct adl_node_use *node = &state->nodes_use[adl_gpu_node_of(state->cluster, gpu)];
    return use->job[0] != ADL_NONE && use->job[1] == ADL_NONE && !use->down &&
           use->free_memory_mib >= spec->gpu_memory_mib && node->free_cores >= spec->cpu_cores &&
           node->free_memory_mib >= spec->memory_mib;
}

/* True if nothing is reserved on the nodes of these GPUs: a reservation needs the node's cores and memory too. */
static bool none_reserved(const struct gogh *self, const struct adl_state *state, const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_node *node = &state->cluster->nodes[adl_gpu_node_of(state->cluster, gpus[i])];
        for (uint32_t gpu = node->gpu_first; gpu < node->gpu_first + node->gpu_count; gpu++)
            if (self->reservations.reserved[gpu])
                return false;
    }
    return true;
}

static bool find_gpus(const struct gogh *self, const struct adl_state *state, const struct adl_transition_step *step,
                      uint32_t *ret_gpus)
{
    if (step->beside != ADL_NONE) {
        const struct adl_job *other = &state->jobs[step->beside];
        if (other->phase == ADL_PHASE_RUNNING && other->type == step->type &&
            none_reserved(self, state, &other->first_gpu, 1) && has_room_beside(state, step->job, other->first_gpu)) {
            *ret_gpus = other->first_gpu;
            return true;
        }
        if (self->ilp.power_limit_w > 0) /* a GPU to itself would draw more than planned */
            return false;
    }
    return adl_fit_find(state, step->job, step->type, NULL, ret_gpus) && may_hold(state, step, ret_gpus) &&
           none_reserved(self, state, ret_gpus, state->jobs[step->job].spec.gpus);
}

/* Caps GPUs unless they have that cap; 0 or ADL_EREFUSED. */
static int set_cap(const struct adl_state *state, struct adl_plan *plan, const uint32_t *gpus, uint32_t count,
                   double cap_w)
{
    bool differs = false;
    for (uint32_t i = 0; i < count; i++)
        differs |= state->gpus[gpus[i]].cap_w != cap_w;
    uint32_t *room = differs ? adl_plan_gpus(plan, count) : NULL;
    if (!room)
        return 0;
    memmove(room, gpus, count * sizeof *room);
    return adl_plan_cap(plan, count, cap_w);
}

static int start_on(const struct adl_state *state, struct adl_plan *plan, uint32_t job, const uint32_t *gpus,
                    double cap_w)
{
    const uint32_t count = state->jobs[job].spec.gpus;
    const int status = set_cap(state, plan, gpus, count, cap_w);
    uint32_t *room = status ? NULL : adl_plan_gpus(plan, count);
    if (!room)
        return ADL_EREFUSED;
    memmove(room, gpus, count * sizeof *room);
    return adl_plan_start(plan, job, count);
}

/* The GPUs that the step placement found for a job; false if it has to wait for some of them. */
static bool find_placed(const struct gogh *self, const struct adl_state *state, uint32_t job, uint32_t *ret_gpus)
{
    for (uint32_t i = 0; i < self->placement.count; i++) {
        const struct adl_placed_step *it = &self->placement.list[i];
        uint32_t count = 0;
        if (it->step.job != job || !it->now)
            continue;
        for (uint32_t gpu = it->first_gpu; gpu != ADL_NONE; gpu = self->placement.next_gpu[gpu])
            ret_gpus[count++] = gpu;
        return it->step.beside != ADL_NONE ? has_room_beside(state, job, ret_gpus[0])
                                           : adl_preemption_victims_ready(state, job, ret_gpus);
    }
    return false;
}

/* Finds GPUs for a start. A job that joins one that starts just now was not placed with the others. */
static bool find_start(const struct gogh *self, const struct adl_state *state, const struct adl_transition_step *step,
                       uint32_t *ret_gpus)
{
    return (self->placed && find_placed(self, state, step->job, ret_gpus)) ||
           ((!self->placed || step->beside != ADL_NONE) && find_gpus(self, state, step, ret_gpus));
}

/* The plan may count on power that its moves have not freed yet. */
static bool has_power(const struct gogh *self, const struct adl_state *state, double more_w,
                      const struct adl_plan *plan)
{
    return adl_power_guard_drawn_w(self->cost_model, state, plan) + more_w <= adl_power_guard_limit_w(&self->guard);
}

/* True if a job may start within the power limit. For one with an SLA that has GPUs but no power, others are capped or
 * stopped; until it has started, no job without an SLA takes the power that becomes free. */
static bool find_power(struct gogh *self, const struct adl_state *state, const struct adl_transition_step *step,
                       struct adl_plan *plan)
{
    if (self->guard.limit_w <= 0)
        return true;
    const double more_w = reserved_draw_w(self, state, step);
    if (!adl_job_promised(state, step->job))
        return !self->awaits_power && has_power(self, state, more_w, plan);
    if (has_power(self, state, more_w, plan))
        return true;
    if (!find_start(self, state, step, self->gpus))
        return false;
    self->awaited_w += more_w;
    adl_power_guard_make_room(&self->guard, self->cost_model, &self->ilp, state, self->awaited_w, plan);
    const bool found = has_power(self, state, self->awaited_w, plan);
    self->awaits_power |= !found;
    self->awaited_w -= found ? more_w : 0;
    return found;
}

static int start_next(struct gogh *self, const struct adl_state *state, struct adl_plan *plan)
{
    while (self->next_start < self->transitions.start_count) {
        const struct adl_transition_step *step = &self->transitions.starts[self->next_start++];
        if (state->jobs[step->job].phase != ADL_PHASE_PENDING ||
            adl_gpu_reservations_has(&self->reservations, step->job) || !find_power(self, state, step, plan))
            continue;
        if (find_start(self, state, step, self->gpus)) {
            if (start_on(state, plan, step->job, self->gpus, step->cap_w))
                return ADL_EREFUSED;
            const uint32_t beside = state->gpus[self->gpus[0]].job[0];
            adl_plan_because(plan, adl_reason_make(ADL_RULE_COST, beside, step->cost_w, step->wait_w));
            return 0;
        }
        if (step->beside == ADL_NONE)
            reserve_by_preemption(self, state, step, plan);
    }
    return 0;
}

/* Power caps of jobs that stay. */
static bool is_raised(double cap_w, double now_w)
{
    return now_w > 0 && !(cap_w > 0 && cap_w <= now_w);
}

/* lower: none is raised. */
static int set_caps(struct gogh *self, const struct adl_state *state, struct adl_plan *plan, bool lower)
{
    int status = 0;
    for (uint32_t i = 0; i < self->transitions.stay_count && status == 0; i++) {
        const struct adl_transition_step *step = &self->transitions.stays[i];
        uint32_t count = 0;
        if (lower && is_raised(step->cap_w, state->gpus[state->jobs[step->job].first_gpu].cap_w))
            continue;
        for (uint32_t gpu = state->jobs[step->job].first_gpu; gpu != ADL_NONE;
             gpu = adl_state_next_gpu(state, step->job, gpu))
            self->gpus[count++] = gpu;
        status = set_cap(state, plan, self->gpus, count, step->cap_w);
    }
    return status;
}

static struct adl_reason stop_reason(const struct gogh *self, const struct adl_state *state,
                                     const struct adl_transition_step *step)
{
    const bool moves = step->type < ADL_TYPES_MAX;
    const struct adl_transition_step *successor =
        moves && step->cost_w < step->current_w ? NULL
                                                : adl_step_placement_successor(&self->placement, state, step->job);
    if (successor)
        return adl_reason_make(ADL_RULE_FOR_COST, successor->job, step->current_w, successor->cost_w);
    if (moves)
        return adl_reason_make(ADL_RULE_MOVES, step->job, step->current_w, step->cost_w);
    return adl_reason_make(ADL_RULE_SAVING, step->job, adl_cost_model_stopping_w(self->cost_model, state, step->job),
                           0);
}

/* Stops the jobs that move or make room, and reserves GPUs for the jobs that start afterwards. */
static int stop_and_reserve(struct gogh *self, const struct adl_state *state, struct adl_plan *plan)
{
    for (uint32_t i = 0; i < self->transitions.stop_count; i++) {
        if (adl_plan_preempt(plan, self->transitions.stops[i].job))
            return ADL_EREFUSED;
        adl_plan_because(plan, stop_reason(self, state, &self->transitions.stops[i]));
    }
    for (uint32_t i = 0; i < self->placement.count; i++) {
        const struct adl_placed_step *it = &self->placement.list[i];
        uint32_t count = 0;
        for (uint32_t gpu = it->first_gpu; gpu != ADL_NONE; gpu = self->placement.next_gpu[gpu])
            self->gpus[count++] = gpu;
        if (!it->now)
            reservation(self, state, &it->step, self->gpus, false);
    }
    self->stopped_us = state->now_us;
    return 0;
}

/* Starts a job whose reserved GPUs are free now: true if there was one. */
static bool start_reserved(struct gogh *self, const struct adl_state *state, struct adl_plan *plan, int *ret_status)
{
    struct adl_gpu_reservation it;
    adl_gpu_reservations_drop_broken(&self->reservations, state);
    if ((self->ilp.power_limit_w > 0 && state->stopping_jobs > 0) ||
        !adl_gpu_reservations_take_ready(&self->reservations, state, &it, self->gpus))
        return false;
    *ret_status = start_on(state, plan, it.job, self->gpus, it.cap_w);
    if (*ret_status == 0)
        adl_plan_because(plan, it.by_preemption ? adl_reason_make(ADL_RULE_CLEARED, ADL_NONE, 0, 0)
                                                : adl_reason_make(ADL_RULE_COST, it.beside, it.cost_w, it.wait_w));
    return true;
}

/* True for a job that was submitted before the last limit ended and did not run at its end. */
static bool is_backlog(const struct gogh *self, const struct adl_state *state, uint32_t slot)
{
    if (slot == ADL_NONE || state->jobs[slot].submit_us >= self->eased_us)
        return false;
    return state->jobs[slot].phase == ADL_PHASE_PENDING || state->jobs[slot].start_us >= self->eased_us;
}

/* True while there are such jobs: they keep the cluster busier than it would have been without the limit. */
static bool has_backlog(struct gogh *self, const struct adl_state *state)
{
    if (self->eased_us == INT64_MIN)
        return false;
    for (uint32_t gpu = 0; gpu < state->cluster->gpu_count; gpu++)
        if (is_backlog(self, state, state->gpus[gpu].job[0]) || is_backlog(self, state, state->gpus[gpu].job[1]))
            return true;
    adl_walk_begin(&state->queue);
    for (uint32_t slot; (slot = adl_walk_job(&state->queue)) != ADL_NONE; adl_walk_next(&state->queue))
        if (is_backlog(self, state, slot))
            return true;
    self->eased_us = INT64_MIN;
    return false;
}

static int replan(struct gogh *self, const struct adl_state *state, struct adl_plan *plan)
{
    struct adl_allotment_answer answer;
    const bool limited = self->guard.limit_w > 0;
    int status = 0;
    adl_ilp_model_set_limit(&self->ilp, adl_power_guard_limit_w(&self->guard), has_backlog(self, state));
    if (start_reserved(self, state, plan, &status))
        return status;
    self->stale = false;
    self->ilp.stay = self->stay || self->stopped_us == state->now_us;
    adl_ilp_model_solve(&self->ilp, state, &self->reservations, &answer);
    adl_transition_plan_list(&self->transitions, &self->ilp, state);
    self->next_start = 0;
    if (self->stopped_us == state->now_us)
        self->transitions.stop_count = 0;
    self->placed = self->transitions.stop_count > 0 || self->reservations.count > 0;
    const bool wants_stops = self->transitions.stop_count > 0;
    if (self->placed)
        adl_step_placement_find(&self->placement, state, &self->reservations, &self->transitions, limited);
    if (self->transitions.stop_count > 0)
        status = stop_and_reserve(self, state, plan);
    /* The power of stopping jobs is available only once they have left. */
    self->awaits_power = limited && (wants_stops || self->transitions.unstoppable);
    self->awaited_w = 0;
    if (limited)
        adl_transition_plan_put_promised_first(&self->transitions, state);
    status = status ? status : set_caps(self, state, plan, self->awaits_power);
    return status ? status : adl_power_guard_enforce(&self->guard, self->cost_model, &self->ilp, state, plan);
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct gogh *self = policy;
    int status = self->failed ? ADL_ENOMEM : 0;
    if (status == 0)
        self->stale |= adl_power_guard_read(&self->guard, self->cost_model, state);
    if (status == 0 && self->stale)
        status = replan(self, state, plan);
    if (status == 0)
        status = start_next(self, state, plan);
    if (status || plan->command_count > 0 || state->queue.count == 0 || self->wake_us > 0 ||
        !self->ilp.changes_with_time)
        return status;
    self->wake_us = state->now_us + REPLAN_US;
    return adl_plan_wake(plan, self->wake_us);
}

/* On which types it would run, and why it does not take free GPUs. */
static void explain(void *policy, const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct gogh *self = policy;
    struct adl_job_features job;
    struct adl_job_estimates estimates;
    uint32_t wanted = 0, rejected = 0;
    char names[96], free_names[64];
    adl_cost_model_features(self->cost_model, state, slot, &job);
    adl_cost_model_estimate(self->cost_model, &job, &estimates);
    const struct adl_candidate candidate = {&job, &estimates};
    const double wait_w = adl_cost_model_wait(self->cost_model, candidate);
    for (uint32_t left = job.types; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        struct adl_offer_cost cost;
        const bool worth = adl_cost_model_alone(self->cost_model, candidate, type, 0, &cost) && cost.total_w < wait_w;
        if (worth)
            wanted |= 1u << type;
        else if (state->pool.free_gpus[type] >= job.gpus)
            rejected |= 1u << type;
    }
    adl_reason_types(state, wanted, names, sizeof names);
    adl_reason_types(state, rejected, free_names, sizeof free_names);
    if (!wanted)
        snprintf(
            ret, size,
            "energy: its progress is not yet worth the power of any GPU; the longer it waits, the more it is worth");
    else if (rejected)
        snprintf(ret, size, "energy: it waits for %s; on %s, which %s free, it would be too slow for the power", names,
                 free_names, rejected & (rejected - 1) ? "are" : "is");
    else
        adl_reason_waiting(state, slot, ret, size);
}

struct adl_ilp_model_counts adl_gogh_counts(const void *policy)
{
    const struct gogh *self = policy;
    return self->ilp.counts;
}

const struct adl_policy_ops adl_policy_gogh = {
    .name = "gogh",
    .limits_power = true,
    .summary = "estimates refined by measurements, and an optimizer for least energy within the SLAs",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct adl_gogh_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
    .inherit = inherit,
    .explain = explain,
};
