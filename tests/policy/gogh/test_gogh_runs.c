/* Tests of the policy gogh in the simulated world: everyone finishes whatever is asked for, limits hold all along,
 * equal runs decide equally, and the exact solver is never worse than the heuristic. */
#include "experiment/run.h"
#include "policy/gogh/ilp_model.h"
#include "predict/power.h"
#include "random_scenario.h"
#include "scenario/scenario.h"
#include "scripted_run.h"

#include <math.h>

#define ANY (ADL_JOB_SHARE | ADL_JOB_PREEMPTIBLE)

/* Runs it; nothing may be refused. */
static struct adl_result run_gogh(const struct adl_scenario *s, uint64_t seed, const struct adl_observer *observer)
{
    struct adl_result result;
    struct adl_error err = {.text = ""};
    const struct adl_run run = {.scenario = s, .policy = &adl_policy_gogh, .seed = seed, .observer = observer};
    if (adl_run(&run, &result, &err))
        fail_msg("the run failed: %s", err.text);
    assert_int_equal(result.refused, 0);
    return result;
}

/* Two nodes of four GPUs each, the second type half as fast and half as hungry; one class; reports every 30 s. */
static struct adl_scenario two_types(uint64_t jobs, double run_s, int flags)
{
    struct adl_scenario s = tiny_start(jobs);
    const uint32_t fast = tiny_type(&s), slow = tiny_type(&s);
    s.cluster.types[slow].fp32_tflops = 5;
    s.cluster.types[slow].max_w = 130;
    tiny_node(&s, fast, 4);
    tiny_node(&s, slow, 4);
    struct adl_job_class *class = tiny_class(&s, ADL_KIND_TRAINING, 0.6, 0.4);
    class->steps_per_s[slow] = 0.5;
    struct adl_mix *mix = tiny_mix(&s, 0, run_s, 1, flags);
    mix->sigma = 0.8;
    mix->min_s = run_s / 10;
    mix->max_s = run_s * 10;
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    s.workload.arrivals.rate_per_h = 3600 * 5 / run_s;
    s.preemption = (struct adl_preemption){.checkpoint_s = 5, .restart_s = 5, .interval_s = 60};
    s.telemetry = (struct adl_telemetry_model){.interval_s = 30, .noise = 0.02, .progress = true};
    return s;
}

/* ---- everyone finishes ---- */

static void slas_that_contradict_each_other_or_nobody_can_keep_drop_no_job(void **state)
{
    (void)state;
    struct adl_scenario s = two_types(80, 300, ANY);
    s.workload.mix[0].deadline_share = 0.8;
    s.workload.mix[0].deadline_slack = 0.3; /* of the work */
    s.workload.mix[0].throughput_share = 0.8;
    s.workload.mix[0].throughput_floor = 4; /* times what any type reaches */
    set_flag(&s, "share", true);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct adl_result result = run_gogh(&s, seed, NULL);
        assert_int_equal(result.unfinished, 0);
        assert_int_equal(result.jobs, 80);
    }
    adl_scenario_clear(&s);
}

static void jobs_that_come_and_go_at_the_same_instant_all_finish(void **state)
{
    (void)state;
    for (int share = 0; share < 2; share++) {
        struct adl_scenario s = tiny_plain(40, 4, 100, ANY);
        set_flag(&s, "share", share);
        const struct adl_result result = run_gogh(&s, 1, NULL);
        assert_int_equal(result.unfinished, 0);
        assert_int_equal(result.evictions, 0);
        adl_scenario_clear(&s);
    }
}

static void jobs_finish_though_gpus_and_nodes_fail(void **state)
{
    (void)state;
    struct adl_scenario s = two_types(120, 300, ANY);
    s.faults = (struct adl_faults){.gpu_mtbf_h = 1, .gpu_repair_h = 0.1, .node_mtbf_h = 2, .node_repair_h = 0.2};
    s.workload.mix[0].gang_count = 3;
    for (uint32_t i = 0; i < 3; i++) {
        s.workload.mix[0].gang_gpus[i] = (uint16_t)(1u << i);
        s.workload.mix[0].gang_weight[i] = 1;
    }
    set_flag(&s, "share", true);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct adl_result result = run_gogh(&s, seed, NULL);
        assert_int_equal(result.unfinished, 0);
        assert_true(result.evictions > 10);
    }
    adl_scenario_clear(&s);
}

/* Greedy alone, and with the exact solver; caps and a limit in some. */
static void everyone_finishes_in_random_worlds_and_equal_runs_decide_equally(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int greedy = 0; greedy < 2; greedy++) {
            struct adl_scenario s = random_scenario(5000 + seed, 40);
            set_flag(&s, "greedy", greedy);
            if (seed % 3 == 0)
                set_option(&s, "power_caps", "0.6");
            if (seed % 4 == 0)
                set_option(&s, "solver_nodes", "5");
            const struct adl_result first = run_gogh(&s, seed, NULL), again = run_gogh(&s, seed, NULL);
            if (first.unfinished)
                fail_msg("random scenario %llu: %llu jobs did not finish", (unsigned long long)seed + 5000,
                         (unsigned long long)first.unfinished);
            assert_true(first.plan_hash == again.plan_hash);
            assert_int_equal(first.events, again.events);
            adl_scenario_clear(&s);
        }
}

/* ---- power ---- */

/* Without readings of power, training is believed to put this load on a GPU. */
#define BELIEVED_LOAD 0.58

struct draw {
    double limit_w, most_w;
    uint64_t waited; /* decisions after which a job waits though a GPU is free */
};

static int watch_draw(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)hash;
    struct draw *draw = self;
    double power_w = 0;
    for (uint32_t gpu = 0; gpu < state->cluster->gpu_count; gpu++) {
        const struct adl_gpu_type *type = &state->cluster->types[adl_gpu_type_of(state->cluster, gpu)];
        const struct adl_gpu_use *use = &state->gpus[gpu];
        power_w += use->job[0] == ADL_NONE ? type->idle_w : adl_power_draw_w(type, BELIEVED_LOAD, use->cap_w);
    }
    draw->most_w = power_w > draw->most_w ? power_w : draw->most_w;
    draw->waited += state->queue.count > 0 && state->busy_gpus < state->cluster->gpu_count;
    return power_w > draw->limit_w + 1e-6 ? ADL_EINVAL : 0;
}

static void the_modelled_draw_stays_below_the_limit_and_everyone_finishes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct adl_scenario s = two_types(80, 300, seed % 2 ? ADL_JOB_PREEMPTIBLE : 0);
        s.telemetry.interval_s = 0;
        s.workload.mix[0].gang_count = 2;
        s.workload.mix[0].gang_gpus[1] = 3;
        s.workload.mix[0].gang_weight[1] = 1;
        struct draw draw = {.limit_w = 80 + 450}; /* idle, and three or four jobs more */
        set_option(&s, "power_limit_w", "%g", draw.limit_w);
        if (seed % 3 == 0)
            set_option(&s, "power_caps", "0.6");
        const struct adl_observer observer = {.self = &draw, .decided = watch_draw};
        const struct adl_result result = run_gogh(&s, seed, &observer);
        assert_int_equal(result.unfinished, 0);
        assert_true(draw.most_w > 0.7 * draw.limit_w);
        assert_true(draw.waited > 0);
        adl_scenario_clear(&s);
    }
}

static void a_limit_below_idle_power_starts_nothing_and_the_run_ends(void **state)
{
    (void)state;
    struct adl_scenario s = two_types(20, 300, ANY);
    set_option(&s, "power_limit_w", "70"); /* idle: 80 */
    s.workload.mix[0].deadline_share = 0.5;
    s.workload.mix[0].deadline_slack = 3;
    struct kept_run kept = run_kept(&s, 1, &adl_policy_gogh);
    assert_int_equal(kept.result.unfinished, 20);
    assert_int_equal(kept.counts.refused, 0);
    assert_int_equal(count_events(&kept, ADL_EVENT_FINISH), 0);
    free(kept.events);
    adl_scenario_clear(&s);
}

static void gpus_that_may_be_held_to_less_power_use_less_energy(void **state)
{
    (void)state;
    struct adl_result result[2];
    for (int capped = 0; capped < 2; capped++) {
        struct adl_scenario s = two_types(80, 300, ANY);
        set_option(&s, "worth_w", "250");
        if (capped)
            set_option(&s, "power_caps", "0.6");
        result[capped] = run_gogh(&s, 1, NULL);
        assert_int_equal(result[capped].unfinished, 0);
        adl_scenario_clear(&s);
    }
    if (!(result[1].value[ADL_METRIC_ENERGY] < 0.99 * result[0].value[ADL_METRIC_ENERGY]))
        fail_msg("%g J with caps, %g J without", result[1].value[ADL_METRIC_ENERGY],
                 result[0].value[ADL_METRIC_ENERGY]);
}

/* ---- exact against greedy, on the programs of a run ---- */

/* gogh, and beside it both ways to solve every state it is asked about. */
struct twin {
    void *gogh;
    struct adl_cost_model *cost_model;
    struct adl_ilp_model ilps[2]; /* greedy, exact */
    bool stale;
};

static struct {
    uint64_t solved, better;
    double gained;
} twin_counts;

static void twin_destroy(void *policy)
{
    struct twin *twin = policy;
    if (!twin)
        return;
    adl_policy_gogh.destroy(twin->gogh);
    for (int i = 0; i < 2; i++)
        adl_ilp_model_clear(&twin->ilps[i]);
    adl_cost_model_destroy(twin->cost_model);
    free(twin);
}

static int twin_create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                       void **ret_policy, struct adl_error *err)
{
    struct twin *twin = calloc(1, sizeof *twin);
    assert_non_null(twin);
    struct adl_gogh_options options;
    struct adl_policy_config own = *config;
    assert_int_equal(adl_policy_options_fill(&adl_policy_gogh, &own, cluster, &options, err), 0);
    own.options = &options;
    assert_int_equal(adl_policy_gogh.create(&own, cluster, seed, &twin->gogh, err), 0);
    assert_int_equal(adl_cost_model_create(&own, cluster, &twin->cost_model, err), 0);
    for (int i = 0; i < 2; i++) {
        options.greedy = i == 0;
        assert_int_equal(adl_ilp_model_create(&twin->ilps[i], &own, cluster, twin->cost_model), 0);
    }
    *ret_policy = twin;
    return 0;
}

static void twin_observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct twin *twin = policy;
    adl_policy_gogh.observe(twin->gogh, event, state);
    assert_int_equal(adl_cost_model_observe(twin->cost_model, event, state), 0);
    twin->stale |= event->kind == ADL_EVENT_SUBMIT || event->kind == ADL_EVENT_FINISH;
}

/* What the first stage has taken costs, with the waiting of jobs that it could have served. */
static double first_cost(const struct adl_ilp_model *ilp)
{
    uint32_t served[ADL_ILP_MODEL_GROUPS] = {0};
    bool concerned[ADL_ILP_MODEL_GROUPS] = {0};
    double sum = 0;
    for (uint32_t o = 0; o < ilp->first_count; o++) {
        sum += ilp->offers[o].cost * ilp->times[o];
        for (int i = 0; i < 2 && ilp->offers[o].group[i] != ADL_NONE; i++) {
            served[ilp->offers[o].group[i]] += ilp->times[o];
            concerned[ilp->offers[o].group[i]] = true;
        }
    }
    for (uint32_t g = 0; g < ilp->group_count; g++)
        if (concerned[g] || ilp->first_count == ilp->offer_count)
            sum += ilp->wait_cost[g] * (ilp->group_jobs[g] - served[g]);
    return sum;
}

/* No GPU, job or watt is given twice, and the answer's cost is that of what was taken. */
static void assert_fits(const struct adl_ilp_model *ilp, double cost, double spare_w)
{
    uint32_t served[ADL_ILP_MODEL_GROUPS] = {0}, gpus[ADL_TYPES_MAX] = {0};
    double power_w = 0;
    for (uint32_t o = 0; o < ilp->offer_count; o++) {
        const struct adl_offer *offer = &ilp->offers[o];
        gpus[offer->pool] += offer->gpus * ilp->times[o];
        power_w += offer->power_w * ilp->times[o];
        for (int i = 0; i < 2 && offer->group[i] != ADL_NONE; i++)
            served[offer->group[i]] += ilp->times[o];
    }
    for (uint32_t t = 0; t < ilp->cluster->type_count; t++)
        assert_true(gpus[t] <= ilp->pool_gpus[t]);
    for (uint32_t g = 0; g < ilp->group_count; g++)
        assert_true(served[g] <= ilp->group_jobs[g]);
    assert_true(power_w <= spare_w + 1e-6);
    const double sum = first_cost(ilp);
    if (!(fabs(sum - cost) <= 1e-6 * (1 + fabs(cost))))
        fail_msg("what was taken costs %.9g, the answer says %.9g", sum, cost);
}

static int twin_decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct twin *twin = policy;
    struct adl_allotment_answer answers[2];
    double spare_w = HUGE_VAL;
    for (int i = 0; i < 2 && twin->stale; i++) {
        struct adl_ilp_model *ilp = &twin->ilps[i];
        adl_ilp_model_set_limit(ilp, ilp->power_limit_w, ilp->power_limit_w > 0); /* both in as many stages */
        adl_ilp_model_solve(ilp, state, NULL, &answers[i]);
        if (ilp->power_limit_w > 0)
            spare_w = ilp->power_limit_w;
        for (uint32_t t = 0; t < ilp->cluster->type_count && ilp->power_limit_w > 0; t++)
            spare_w -= ilp->cluster->types[t].idle_w * ilp->cluster->type_gpus[t];
        assert_fits(ilp, answers[i].cost, spare_w);
    }
    if (twin->stale) {
        const double gained = answers[0].cost - answers[1].cost;
        if (gained < -1e-6 * (1 + fabs(answers[0].cost)))
            fail_msg("the exact answer costs %.9g, the greedy one %.9g", answers[1].cost, answers[0].cost);
        assert_true(answers[1].bound <= answers[1].cost);
        twin_counts.solved++;
        twin_counts.better += gained > 1e-6;
        twin_counts.gained += gained;
    }
    twin->stale = false;
    return adl_policy_gogh.decide(twin->gogh, state, plan);
}

static const struct adl_policy_ops twin_policy = {.name = "twin",
                                                  .summary = "gogh, solved in both ways",
                                                  .create = twin_create,
                                                  .destroy = twin_destroy,
                                                  .decide = twin_decide,
                                                  .observe = twin_observe};

static void the_exact_answer_costs_no_more_than_the_greedy_one_on_programs_of_real_states(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct adl_scenario s;
        struct adl_result result;
        struct adl_error err = {.text = ""};
        if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/mixed64.yaml", &s, NULL, &err))
            fail_msg("%s", err.text);
        s.workload.jobs = 250;
        s.workload.arrivals.rate_per_h *= 2;
        set_option(&s, "power_limit_w", limited ? "5000" : "0");
        const struct adl_run run = {.scenario = &s, .policy = &twin_policy, .seed = 1003};
        memset(&twin_counts, 0, sizeof twin_counts);
        if (adl_run(&run, &result, &err))
            fail_msg("%s", err.text);
        assert_int_equal(result.unfinished, 0);
        assert_true(twin_counts.solved > 400);
        assert_true(twin_counts.better > 0);
        adl_scenario_clear(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slas_that_contradict_each_other_or_nobody_can_keep_drop_no_job),
        cmocka_unit_test(jobs_that_come_and_go_at_the_same_instant_all_finish),
        cmocka_unit_test(jobs_finish_though_gpus_and_nodes_fail),
        cmocka_unit_test(everyone_finishes_in_random_worlds_and_equal_runs_decide_equally),
        cmocka_unit_test(the_modelled_draw_stays_below_the_limit_and_everyone_finishes),
        cmocka_unit_test(a_limit_below_idle_power_starts_nothing_and_the_run_ends),
        cmocka_unit_test(gpus_that_may_be_held_to_less_power_use_less_energy),
        cmocka_unit_test(the_exact_answer_costs_no_more_than_the_greedy_one_on_programs_of_real_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
