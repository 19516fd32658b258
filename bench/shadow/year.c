#include "year.h"

#include "experiment/run.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <stdlib.h>
#include <string.h>

#define DAY_US      86400e6
#define TRIAL_EVERY 2 /* submissions from one look ahead to the next */

struct year {
    const struct year_plan *plan;
    struct year_result *result;
    struct adl_scenario scenario;
    struct adl_world_sim *world;
    struct adl_engine *engine;
    struct adl_recent *recent;
    struct adl_shadow *shadow;
    struct adl_shadow_evidence evidence;
    struct adl_gate gate;
    uint64_t submissions, next_trial;
    double sum_s, day_sum_s;
    uint64_t ended, day_ended;
};

static double day_of(const struct year *year)
{
    return (double)adl_engine_state(year->engine)->now_us / DAY_US;
}

/* ---- observers: the shadow changes, the engine's list does not ---- */

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct year *year = self;
    if (event->kind == ADL_EVENT_SUBMIT)
        year->submissions++;
    if (event->kind == ADL_EVENT_FINISH) {
        const int64_t submit_us = state->jobs[event->job].submit_us;
        const double jct_s = (double)(event->time_us - submit_us) * 1e-6;
        const double day = (double)submit_us / DAY_US - year->plan->force_day;
        year->sum_s += jct_s;
        year->ended++;
        year->day_sum_s += day >= 0 && day < 1 ? jct_s : 0;
        year->day_ended += day >= 0 && day < 1;
    }
    if (!year->shadow)
        return 0;
    const struct adl_observer shadow = adl_shadow_observer(year->shadow);
    return shadow.event(shadow.self, event, state);
}

/* ---- policies ---- */

static int create_engine(struct year *year, const struct adl_policy_ops *policy, struct adl_engine **ret,
                         struct adl_error *err)
{
    const struct adl_engine_config config = {
        .cluster = &year->scenario.cluster,
        .policy = policy,
        .policy_config = adl_run_policy_config(&year->scenario),
        .seed = year->plan->seed,
        .learned = true,
        .world_ops = &adl_world_sim_ops,
        .world = year->world,
        .observers = {adl_recent_observer(year->recent), {.self = year, .event = on_event}},
        .observer_count = 2};
    return adl_engine_create(&config, ret, err);
}

static int begin_shadow(struct year *year, const struct adl_policy_ops *candidate, struct adl_error *err)
{
    const struct adl_shadow_config config = {.engine = year->engine,
                                             .candidate = candidate,
                                             .candidate_config = adl_run_policy_config(&year->scenario),
                                             .preemption = year->scenario.preemption,
                                             .kill_at_limit = year->scenario.kill_at_limit,
                                             .one_by_one = year->scenario.one_by_one,
                                             .seed = year->plan->seed};
    const double typical_us = year->shadow ? adl_shadow_typical_us(year->shadow) : 0;
    adl_shadow_destroy(year->shadow);
    year->shadow = NULL;
    year->evidence = (struct adl_shadow_evidence){0};
    const int status = adl_shadow_create(&config, &year->shadow, err);
    if (status == 0)
        adl_shadow_set_typical_us(year->shadow, typical_us);
    return status;
}

/* Another policy decides; the one before shadows it if it is to. */
static int change_policy(struct year *year, const struct adl_policy_ops *policy, const struct adl_policy_ops *shadow,
                         struct adl_error *err)
{
    struct adl_engine *engine = NULL;
    int status = create_engine(year, policy, &engine, err);
    if (status == 0)
        status = adl_engine_adopt(engine, year->engine, err);
    if (status) {
        adl_engine_destroy(engine);
        return status;
    }
    struct adl_engine *before = year->engine;
    year->engine = engine;
    if (shadow)
        status = begin_shadow(year, shadow, err);
    adl_engine_destroy(before);
    return status;
}

static int promote(struct year *year, bool force, struct adl_error *err)
{
    const int status = adl_gate_promote(&year->gate, &year->evidence, force, err);
    if (status)
        return status;
    year->result->promoted_day = day_of(year);
    year->result->evidence = year->evidence;
    year->next_trial = year->submissions;
    return change_policy(year, year->plan->candidate, year->plan->in_force, err);
}

static int follow(struct year *year, int action, struct adl_error *err)
{
    if (action == ADL_GATE_MAY_PROMOTE && year->plan->automatic)
        return promote(year, false, err);
    if (action == ADL_GATE_CONFIRM)
        year->result->confirmed_day = day_of(year);
    if (action != ADL_GATE_ROLL_BACK || year->plan->stays)
        return 0;
    year->result->rolled_back_day = day_of(year);
    year->result->after = year->evidence;
    const int status = change_policy(year, year->plan->in_force, NULL, err);
    adl_shadow_destroy(year->shadow);
    year->shadow = NULL;
    return status;
}

/* ---- the loop ---- */

static int look_ahead(struct year *year, struct adl_error *err)
{
    struct adl_trial trial;
    if (year->plan->stays || year->gate.stage != ADL_GATE_ON_TRIAL || year->submissions < year->next_trial ||
        adl_shadow_typical_us(year->shadow) <= 0)
        return 0;
    year->next_trial = year->submissions + TRIAL_EVERY;
    const int status = adl_shadow_try(year->shadow, year->engine, year->recent, &trial, err);
    if (status)
        return status;
    const int action = adl_gate_try(&year->gate, &trial);
    year->result->trials++;
    return follow(year, action, err);
}

static int watch(struct year *year, struct adl_error *err)
{
    struct adl_shadow_sample sample;
    int status = adl_shadow_watch(year->shadow, year->engine, err);
    if (status <= 0)
        return status;
    status = adl_shadow_play(year->shadow, &sample, err);
    if (status)
        return status;
    adl_shadow_learn(&year->evidence, &sample);
    return follow(year, adl_gate_judge(&year->gate, &year->evidence), err);
}

static int run(struct year *year, struct adl_error *err)
{
    const struct year_plan *plan = year->plan;
    int status = 1;
    while (status > 0 && day_of(year) < plan->days && !(plan->until_promoted && year->result->promoted_day > 0)) {
        status = adl_engine_step(year->engine, err);
        if (status > 0 && year->shadow && !plan->without_shadow) {
            int next = watch(year, err);
            if (next == 0 && year->shadow)
                next = look_ahead(year, err);
            if (next == 0 && plan->force_day > 0 && day_of(year) >= plan->force_day &&
                year->gate.stage <= ADL_GATE_OPEN)
                next = promote(year, true, err);
            status = next < 0 ? next : status;
        }
    }
    return status < 0 ? status : 0;
}

static int open_year(struct year *year, struct adl_error *err)
{
    const struct year_plan *plan = year->plan;
    const struct adl_gate_terms terms = ADL_GATE_TERMS;
    int status = adl_scenario_load(ADL_SOURCE_DIR "/bench/shadow/year8.yaml", &year->scenario, NULL, err);
    if (status)
        return status;
    year->scenario.workload.jobs = (uint64_t)(year->scenario.workload.arrivals.rate_per_h * 24 * (plan->days + 10));
    adl_gate_begin(&year->gate, &terms);
    status = adl_world_sim_create(&year->scenario, plan->seed, ADL_REGIME_LEARNED, &year->world, err);
    if (status == 0 && adl_recent_create(&year->scenario.cluster, &year->recent))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for a year");
    if (status == 0)
        status = create_engine(year, plan->in_force, &year->engine, err);
    return status || plan->without_shadow ? status : begin_shadow(year, plan->candidate, err);
}

int year_run(const struct year_plan *plan, struct year_result *ret, struct adl_error *err)
{
    struct year *year = calloc(1, sizeof *year);
    *ret = (struct year_result){0};
    if (!year)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a year");
    year->plan = plan;
    year->result = ret;
    int status = open_year(year, err);
    if (status == 0)
        status = run(year, err);
    if (ret->promoted_day == 0)
        ret->evidence = year->evidence;
    else if (ret->rolled_back_day == 0)
        ret->after = year->evidence;
    ret->gate = year->gate;
    ret->jct_s = year->ended ? year->sum_s / (double)year->ended : 0;
    ret->day_jct_s = year->day_ended ? year->day_sum_s / (double)year->day_ended : 0;
    adl_shadow_destroy(year->shadow);
    adl_engine_destroy(year->engine);
    adl_recent_destroy(year->recent);
    adl_world_sim_destroy(year->world);
    adl_scenario_clear(&year->scenario);
    free(year);
    return status;
}

/* ---- a bad model ---- */

static int64_t longest_first(void *policy, const struct adl_state *state, uint32_t slot)
{
    (void)policy;
    return -adl_state_shortest_us(state, slot);
}

struct adl_policy_ops year_bad_policy(void)
{
    struct adl_policy_ops ops = adl_policy_sjf_strict;
    ops.name = "longest-first";
    ops.rank = longest_first;
    return ops;
}
