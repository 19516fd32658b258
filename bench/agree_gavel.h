/* agree_gavel: what Gavel's simulator answers on a trace of its own generator, and the run of ours that is asked the
 * same: measured throughputs, 36 GPUs of each of three types, rounds of 360 s. */
#ifndef ADLRO_BENCH_AGREE_GAVEL_H
#define ADLRO_BENCH_AGREE_GAVEL_H

#include "agree.h"
#include "experiment/trace_supply.h"
#include "scenario/scenario.h"

#include <math.h>

#define AGREE_GAVEL_TRACE       PEER_TRACES "g300.trace"
#define AGREE_GAVEL_THROUGHPUTS ADL_SOURCE_DIR "/../shared/data/gavel/simulation_throughputs.json"
#define AGREE_GAVEL_CLUSTER     ADL_SOURCE_DIR "/scenarios/clusters/gavel108.yaml"

struct agree_gavel_row {
    const char *rule; /* theirs */
    const char *settings;
    uint8_t demand;    /* enum agree_demand */
    uint32_t seeds;    /* ours is the mean over so many; more than 1 where they draw lots */
    double jct_s;      /* mean */
    double makespan_s; /* 0 = not recorded */
};

#define AGREE_GAVEL(objective)                                                                                         \
    "round_s=360\ngavel_type_by_type=true\ngavel_new_jobs_wait=true\ngavel_objective=" objective

static const struct agree_gavel_row agree_gavel_rows[] = {
    {"max_min_fairness_perf", AGREE_GAVEL("max_min"), AGREE_PERCENT, 1, 9280.6, 105481},
    {"max_min_fairness", AGREE_GAVEL("agnostic"), AGREE_SHOWN, 40, 12500.7, 0},
    {"finish_time_fairness_perf", AGREE_GAVEL("finish_time"), AGREE_PERCENT, 1, 9449.6, 0},
    {"min_total_duration_perf", AGREE_GAVEL("makespan"), AGREE_SHOWN, 1, 9958.2, 0},
};
#define AGREE_GAVEL_ROWS (sizeof agree_gavel_rows / sizeof *agree_gavel_rows)

struct agree_gavel_answer {
    double jct_s, spread_s; /* mean; standard deviation over the seeds */
    double makespan_s;
    uint64_t jobs, refused;
    double wall_s; /* of one run */
};

struct agree_gavel {
    struct adl_scenario scenario;
    struct adl_throughputs *throughputs;
    struct adl_trace_supply *supply;
};

static inline void agree_gavel_close(struct agree_gavel *gavel)
{
    adl_trace_supply_destroy(gavel->supply);
    adl_throughputs_destroy(gavel->throughputs);
    adl_scenario_clear(&gavel->scenario);
}

/* 0; 1 if the trace or the throughputs are not there; negative if they cannot be used. Close it if 0. */
static inline int agree_gavel_open(struct agree_gavel *ret, struct adl_error *err)
{
    struct agree_gavel gavel = {0};
    const char *const files[] = {AGREE_GAVEL_TRACE, AGREE_GAVEL_THROUGHPUTS};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(files[i], "r");
        if (!file)
            return 1;
        fclose(file);
    }
    int status = adl_cluster_load(AGREE_GAVEL_CLUSTER, &gavel.scenario, err);
    if (status)
        return status;
    gavel.scenario.cluster.network_gbs = 1e6; /* theirs does not ask whether a gang shares a node */
    status = adl_throughputs_load(AGREE_GAVEL_THROUGHPUTS, &gavel.throughputs, err);
    if (status == 0)
        *ret = gavel;
    const struct adl_trace_plan plan = {
        .path = AGREE_GAVEL_TRACE, .scenario = &ret->scenario, .throughputs = gavel.throughputs};
    if (status == 0)
        status = adl_trace_supply_create(&plan, &ret->supply, err);
    if (status)
        agree_gavel_close(&gavel);
    return status;
}

static inline int agree_gavel_run_one(const struct agree_gavel *gavel, const struct agree_gavel_row *row, uint64_t seed,
                                      struct peer_answer *ret, struct adl_error *err)
{
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_job_source source;
    struct peer_answer answer = {0};
    struct adl_policy_config policy = adl_run_policy_config(&gavel->scenario);
    const struct adl_job_supply supply = adl_trace_supply_jobs(gavel->supply);
    policy.settings = row->settings;
    int status = supply.open(supply.self, seed, &source, err);
    if (status == 0)
        status = adl_world_sim_create_from(&gavel->scenario, source, seed, ADL_REGIME_ORACLE, &world, err);
    const struct adl_engine_config config = {.cluster = &gavel->scenario.cluster,
                                             .policy = adl_policy_find("gavel"),
                                             .policy_config = policy,
                                             .seed = seed,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .observers = {{.self = &answer, .event = peer_count}},
                                             .observer_count = 1,
                                             .belief_unread = true,
                                             .reasons_unread = true};
    if (status == 0)
        status = adl_engine_create(&config, &engine, err);
    const int64_t start_ns = adl_clock_ns();
    if (status == 0)
        status = adl_engine_run(engine, err);
    answer.wall_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
    if (status == 0) {
        answer.counts = *adl_engine_counts(engine);
        *ret = answer;
    }
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return status;
}

static inline int agree_gavel_run(const struct agree_gavel *gavel, const struct agree_gavel_row *row,
                                  struct agree_gavel_answer *ret, struct adl_error *err)
{
    struct agree_gavel_answer mean = {0};
    double squares = 0;
    for (uint32_t seed = 1; seed <= row->seeds; seed++) {
        struct peer_answer answer;
        const int status = agree_gavel_run_one(gavel, row, seed, &answer, err);
        if (status)
            return status;
        const double jct_s = (double)answer.jct_us * 1e-6 / (double)answer.jobs;
        mean.jct_s += jct_s / row->seeds;
        squares += jct_s * jct_s / row->seeds;
        mean.makespan_s += (double)answer.makespan_us * 1e-6 / row->seeds;
        mean.wall_s += answer.wall_s / row->seeds;
        mean.jobs = answer.jobs;
        mean.refused += answer.counts.refused;
    }
    const double variance = squares - mean.jct_s * mean.jct_s;
    mean.spread_s = variance > 0 ? sqrt(variance) : 0;
    *ret = mean;
    return 0;
}

static inline bool agree_gavel_meets(const struct agree_gavel_row *row, const struct agree_gavel_answer *ours)
{
    return fabs(ours->jct_s / row->jct_s - 1) <= 0.01 &&
           (row->makespan_s == 0 || fabs(ours->makespan_s / row->makespan_s - 1) <= 0.01);
}

#endif
