/* bench_offline: how far adlro is from a schedule made with all arrivals and run times known. Hill climbing over an
 * order of jobs, the type that a job waits for, and whether a job that does not fit keeps others from its types; each
 * schedule is played by the simulator, so it is feasible, and its mean JCT is above the optimum's. Beside it the lower
 * bound of the linear program. A bar that is missed is marked and makes it exit 1.
 *
 * bench_offline [SEED...]: seeds of paper16; by default three of the validation range. */
#include "base/rng.h"
#include "experiment/run.h"
#include "metrics/lp_bound.h"
#include "policy/mechanism/placement.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCENARIO   ADL_SOURCE_DIR "/scenarios/paper16.yaml"
#define GOAL       1.25 /* adlro with exact run times, relative to the best schedule found */
#define STEPS      60000
#define RANK_SCALE 1e6

struct choice {
    double key;
    uint32_t type; /* it waits for this one; ADL_NONE: it takes the fastest that is free */
    bool blocks;   /* while it does not fit, jobs after it get none of its types */
};

/* A schedule: a choice for each job, by its number. */
struct schedule {
    struct choice *jobs;
    size_t count;
};

static void die_on(int status, const char *text)
{
    if (status >= 0)
        return;
    fprintf(stderr, "bench_offline: %s\n", text);
    exit(1);
}

/* ---- the policy that carries a schedule out ---- */

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    const struct schedule **self = malloc(sizeof *self);
    (void)cluster, (void)seed, (void)err;
    if (!self)
        return ADL_ENOMEM;
    *self = config->ops->context;
    *ret_policy = self;
    return 0;
}

static const struct choice *choice_of(void *policy, const struct adl_state *state, uint32_t slot)
{
    const struct schedule *schedule = *(const struct schedule **)policy;
    return &schedule->jobs[state->jobs[slot].spec.id % schedule->count];
}

static int64_t rank(void *policy, const struct adl_state *state, uint32_t slot)
{
    return (int64_t)(choice_of(policy, state, slot)->key * RANK_SCALE);
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t open = UINT32_MAX;
    adl_walk_begin(&state->queue);
    for (uint32_t slot; open && (slot = adl_walk_job(&state->queue)) != ADL_NONE; adl_walk_next(&state->queue)) {
        const struct choice *choice = choice_of(policy, state, slot);
        const uint32_t eligible = state->jobs[slot].eligible,
                       wanted = choice->type == ADL_NONE ? 0 : 1u << choice->type;
        const uint32_t types = eligible & wanted ? eligible & wanted : eligible;
        const struct adl_placement_request place = {.types = types & open, .fastest = true};
        if ((types & open) && adl_placement_start(state, slot, &place, plan))
            return 0;
        if (choice->blocks)
            open &= ~types;
    }
    return 0;
}

/* ---- hill climbing ---- */

struct climb {
    const struct adl_scenario *scenario;
    struct schedule schedule;
    struct adl_policy_ops ops;
    uint64_t seed;
};

static struct adl_result play(const struct adl_scenario *scenario, const struct adl_policy_ops *ops, uint64_t seed)
{
    struct adl_error err = {{0}};
    struct adl_result result;
    const struct adl_run run = {.scenario = scenario, .policy = ops, .seed = seed, .regime = ADL_REGIME_ORACLE};
    die_on(adl_run(&run, &result, &err), err.text);
    return result;
}

static double cost_of(const struct climb *climb)
{
    const struct adl_result result = play(climb->scenario, &climb->ops, climb->seed);
    return result.unfinished > 0 || result.timeouts > 0 ? INFINITY : result.value[ADL_METRIC_JCT_MEAN];
}

static struct choice *job_at(struct climb *climb, struct adl_rng *rng)
{
    return &climb->schedule.jobs[adl_rng_below(rng, (uint32_t)climb->schedule.count)];
}

/* Changes one or two jobs; ret_at and ret_was tell what to restore. */
static void change(struct climb *climb, struct adl_rng *rng, struct choice *ret_at[2], struct choice ret_was[2])
{
    struct choice *a = job_at(climb, rng), *b = job_at(climb, rng);
    const uint32_t kind = adl_rng_below(rng, 8), types = climb->scenario->cluster.type_count;
    ret_at[0] = a, ret_at[1] = b, ret_was[0] = *a, ret_was[1] = *b;
    if (kind < 3)
        a->key *= exp(0.6 * (adl_rng_uniform(rng) - 0.5));
    else if (kind < 5)
        a->key = b->key * (1 + 1e-3 * (adl_rng_uniform(rng) - 0.5));
    else if (kind < 7)
        a->type = adl_rng_below(rng, 3) ? adl_rng_below(rng, types) : ADL_NONE;
    else
        a->blocks = !a->blocks;
}

/* Worse schedules are accepted less and less often: 1 % worse at the beginning, none at the end. */
static double climb_from(struct climb *climb, uint64_t steps)
{
    struct adl_rng rng;
    double now = cost_of(climb), best = now;
    adl_rng_seed(&rng, climb->seed, "offline");
    for (uint64_t step = 0; step < steps; step++) {
        const double heat = 0.003 * now * (1 - (double)step / (double)steps);
        struct choice *at[2], was[2];
        change(climb, &rng, at, was);
        const double then = cost_of(climb);
        if (then <= now || adl_rng_uniform(&rng) < exp((now - then) / (heat + 1e-12))) {
            now = then;
            best = now < best ? now : best;
        } else {
            *at[1] = was[1];
            *at[0] = was[0];
        }
    }
    return best;
}

/* Begins with the shortest first, weighted by the root of the GPUs. */
static void begin(struct climb *climb)
{
    struct adl_workload_stream stream;
    struct adl_true_job job;
    const size_t count = climb->scenario->workload.jobs + 1;
    climb->schedule = (struct schedule){calloc(count, sizeof *climb->schedule.jobs), count};
    if (!climb->schedule.jobs || adl_workload_begin(&stream, climb->scenario, climb->seed))
        die_on(ADL_ENOMEM, "out of memory");
    while (adl_workload_next(&stream, &job))
        climb->schedule.jobs[job.spec.id % count] =
            (struct choice){.key = (double)job.ideal_us * 1e-6 * sqrt(job.spec.gpus) + 1e-3, .type = ADL_NONE};
    adl_workload_end(&stream);
    climb->ops = (struct adl_policy_ops){.name = "offline",
                                         .summary = "a schedule made offline",
                                         .context = &climb->schedule,
                                         .create = create,
                                         .destroy = free,
                                         .rank = rank,
                                         .decide = decide};
}

struct row {
    double lp_s, offline_s, adlro_s;
};

static struct row measure(const struct adl_scenario *scenario, uint64_t seed)
{
    struct climb climb = {.scenario = scenario, .seed = seed};
    const struct adl_job_supply jobs = adl_workload_supply(scenario);
    struct adl_lower_bound bound;
    struct adl_error err = {{0}};
    struct row row = {0};
    begin(&climb);
    die_on(adl_lower_bound_compute(scenario, &jobs, seed, &bound, &err), err.text);
    die_on(adl_lp_bound_raise(scenario, &jobs, seed, &bound, &err), err.text);
    row.lp_s = bound.jct_mean_s;
    row.offline_s = climb_from(&climb, STEPS);
    row.adlro_s = play(scenario, adl_policy_find("adlro"), seed).value[ADL_METRIC_JCT_MEAN];
    free(climb.schedule.jobs);
    return row;
}

static void print(const char *what, const struct row *row)
{
    printf("%10s  %8.2f s  %8.2f s  %8.2f s  %8.3f  %8.3f\n", what, row->lp_s, row->offline_s, row->adlro_s,
           row->adlro_s / row->lp_s, row->adlro_s / row->offline_s);
}

int main(int argc, char **argv)
{
    static const uint64_t usual[] = {700000, 700001, 700002};
    const size_t count = argc > 1 ? (size_t)(argc - 1) : sizeof usual / sizeof *usual;
    struct adl_scenario scenario;
    struct adl_error err = {{0}};
    struct row sum = {0};
    die_on(adl_scenario_load(SCENARIO, &scenario, NULL, &err), err.text);
    printf("paper16, exact run times, mean JCT; goal: adlro at most %.2f times the schedule made offline\n\n", GOAL);
    printf("%10s  %10s  %10s  %10s  %8s  %8s\n", "seed", "LP bound", "offline", "adlro", "/ LP", "/ offline");
    for (size_t i = 0; i < count; i++) {
        const uint64_t seed = argc > 1 ? strtoull(argv[i + 1], NULL, 10) : usual[i];
        const struct row row = measure(&scenario, seed);
        char name[24];
        snprintf(name, sizeof name, "%llu", (unsigned long long)seed);
        print(name, &row);
        sum = (struct row){sum.lp_s + row.lp_s, sum.offline_s + row.offline_s, sum.adlro_s + row.adlro_s};
    }
    print("all", &sum);
    const bool met = sum.adlro_s <= GOAL * sum.offline_s;
    printf("\n%s\n", met ? "met" : "MISSED");
    adl_scenario_clear(&scenario);
    return !met;
}
