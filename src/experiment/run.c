#include "experiment/run.h"

#include "predict/drift/report.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <time.h>

int64_t adl_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct adl_policy_config adl_run_policy_config(const struct adl_scenario *scenario)
{
    struct adl_policy_config config = scenario->policy;
    config.preemption_us = (int64_t)((scenario->preemption.checkpoint_s + scenario->preemption.restart_s) * 1e6);
    config.lambda = scenario->lambda;
    config.network = scenario->network;
    return config;
}

struct adl_belief_terms adl_run_terms(const struct adl_scenario *scenario, const struct adl_job_supply *supply)
{
    return (struct adl_belief_terms){.cluster = &scenario->cluster,
                                     .classes = scenario->classes,
                                     .class_count = scenario->class_count,
                                     .users = supply ? ADL_USERS_NAMED : ADL_USERS_DRAWN};
}

/* Another cluster's belief is taken as far as its GPU types are known here. */
static int warm_up(const struct adl_run *run, struct adl_engine *engine, struct adl_error *err)
{
    const struct adl_belief_terms terms = adl_run_terms(run->scenario, run->supply);
    struct adl_belief_account account;
    return run->belief ? adl_belief_decode(adl_engine_belief(engine), NULL, run->belief, run->belief_size, &terms,
                                           &account, err)
                       : 0;
}

static int write_learned(const struct adl_run *run, struct adl_engine *engine, struct adl_error *err)
{
    struct adl_belief_terms terms = adl_run_terms(run->scenario, run->supply);
    terms.origin = run->origin;
    if (!run->learned)
        return 0;
    adl_belief_encode(adl_engine_belief(engine), NULL, &terms, run->learned);
    return adl_text_status(run->learned) ? adl_fail(err, ADL_ENOMEM, "out of memory for a belief") : 0;
}

int adl_run(const struct adl_run *run, struct adl_result *ret, struct adl_error *err)
{
    struct adl_world_sim *world = NULL;
    struct adl_metrics *metrics = NULL;
    struct adl_run_quarters *quarters = NULL;
    struct adl_engine *engine = NULL;
    const int64_t start_ns = adl_clock_ns();
    const struct adl_job_supply supply = run->supply ? *run->supply : adl_workload_supply(run->scenario);
    struct adl_job_source source;
    if (run->scenario->power_limit_count > 0 && !run->policy->limits_power)
        return adl_fail(err, ADL_EREFUSED, "policy %s cannot follow the power_limit of scenario %s; gogh can",
                        run->policy->name, run->scenario->name);
    int status = supply.open(supply.self, run->seed, &source, err);
    if (status == 0)
        status = adl_world_sim_create_from(run->scenario, source, run->seed, run->regime, &world, err);
    if (status == 0 && (adl_metrics_create(run->scenario->lambda, &metrics) || adl_run_quarters_create(&quarters)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for metrics");
    if (status == 0) {
        adl_metrics_price_stops(metrics, &run->scenario->preemption);
        struct adl_engine_config config = {.cluster = &run->scenario->cluster,
                                           .policy = run->policy,
                                           .policy_config = adl_run_policy_config(run->scenario),
                                           .seed = run->seed,
                                           .learned = run->regime == ADL_REGIME_LEARNED,
                                           .world_ops = &adl_world_sim_ops,
                                           .world = world,
                                           .belief_unread = !run->observer && !run->learned && !run->health,
                                           .reasons_unread = !run->observer && !run->timeline,
                                           .clock_ns = adl_clock_ns};
        config.observers[config.observer_count++] = adl_metrics_observer(metrics);
        config.observers[config.observer_count++] = adl_run_quarters_observer(quarters);
        if (run->timeline)
            config.observers[config.observer_count++] = adl_timeline_observer(run->timeline);
        if (run->observer)
            config.observers[config.observer_count++] = *run->observer;
        status = adl_engine_create(&config, &engine, err);
    }
    if (status == 0)
        status = warm_up(run, engine, err);
    if (status == 0)
        status = adl_engine_run(engine, err);
    if (status == 0)
        status = write_learned(run, engine, err);
    if (status == 0 && run->health) {
        adl_drift_report(adl_engine_drift(engine), &run->scenario->cluster, run->health);
        adl_calibration_say(adl_belief_calibration(adl_engine_belief(engine)), run->health);
        adl_text_put(run->health, "\n");
    }
    if (status == 0) {
        adl_metrics_result(metrics, engine, &run->bound, ret);
        if (run->scenario->references.jct_s > 0)
            adl_result_score(ret, &run->scenario->references);
        adl_run_quarters_result(quarters, ret->quarters);
        ret->value[ADL_METRIC_WALL] = (double)(adl_clock_ns() - start_ns) * 1e-9;
    }
    adl_engine_destroy(engine);
    adl_metrics_destroy(metrics);
    adl_run_quarters_destroy(quarters);
    adl_world_sim_destroy(world);
    return status;
}
