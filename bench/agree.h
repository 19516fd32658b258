/* agree: what other people's simulators answer on given traces, and the run of ours that is asked the same.
 *
 * The traces are columns id,submit,gpus,duration in whole seconds, sorted by submission; run times are known to the
 * policy. Theirs is a record of what their programs printed: none of them is needed. */
#ifndef ADLRO_BENCH_AGREE_H
#define ADLRO_BENCH_AGREE_H

#include "decide/policy.h"
#include "engine/engine.h"
#include "experiment/run.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREE_TRACES ADL_SOURCE_DIR "/../shared/peers/"

enum agree_demand {
    AGREE_EXACT,   /* the rule has one answer, or this is the reading of it that ours is told to take */
    AGREE_PERCENT, /* within 1 %: what they leave to chance is not ours to guess */
    AGREE_SHOWN,   /* another reading of the rule, which ours does not offer */
};

enum agree_peer {
    AGREE_RLSCHEDULER = 1 << 0,
    AGREE_TIRESIAS = 1 << 1,
    AGREE_BATSIM = 1 << 2,
    AGREE_ACCASIM = 1 << 3,
    AGREE_CQSIM = 1 << 4,
    AGREE_ALEA = 1 << 5,
    AGREE_HELIOS = 1 << 6,
    AGREE_LUCID = 1 << 7,
    AGREE_PEERS = 8,
};

struct agree_peer_info {
    const char *name;
    double jobs_per_s; /* the best that was seen of it, simulation time only */
    double bar;        /* how many times as fast ours has to be; 0 = no bar */
};

static const struct agree_peer_info agree_peers[AGREE_PEERS] = {
    {"RLScheduler", 20000, 100}, {"Tiresias", 2000, 1000}, {"Batsim", 1000, 1000}, {"AccaSim", 800, 0},
    {"CQSim", 500, 0},           {"Alea", 250, 0},         {"Helios", 60, 1000},   {"Lucid", 60, 0},
};

/* How a peer's world differs from the plain one. */
enum agree_world {
    AGREE_ONE_BY_ONE = 1, /* each event is decided on alone, also those of one instant */
    AGREE_HELIOS_REWORK,  /* a preemption adds 7 s (1 GPU), 30 s (2 to 8) or 60 s; each job ends a second late */
    AGREE_LUCID_REWORK,   /* the same with 40 s up to 8 GPUs */
};

struct agree_row {
    const char *trace;
    uint32_t nodes, gpus; /* of each; a pool does not care about nodes */
    const char *policy;   /* a row whose policy is not there is shown as such */
    const struct adl_policy_config *config;
    const char *rule;
    uint32_t peers;     /* enum agree_peer: those who answer this */
    uint8_t demand;     /* enum agree_demand */
    int64_t jct_s;      /* sum over the jobs */
    int64_t makespan_s; /* from the first submission to the last end */
    uint8_t world;      /* enum agree_world, or 0 */
    uint64_t evictions; /* preemptions, where they are on record; else 0 */
};

static const struct adl_policy_config agree_plain = {.share = false};
static const struct adl_policy_config agree_first_fit = {.first_fit = true};
static const struct adl_policy_config agree_spare = {.backfill_depth = 1};
static const struct adl_policy_config agree_before = {.backfill_depth = 1, .backfill_rule = ADL_BACKFILL_ENDS_BEFORE};
static const struct adl_policy_config agree_whole = {.placement = ADL_PLACEMENT_CONSOLIDATED};
static const struct adl_policy_config agree_whole_count = {.placement = ADL_PLACEMENT_CONSOLIDATED, .by_count = true};
static const struct adl_policy_config agree_las = {
    .las_limits_gpu_s = {3250, 7200}, .las_limit_count = 2, .las_running_first = true, .las_lazy = true};
static const struct adl_policy_config agree_gpu_time = {.by_gpu_time = true};

#define MOST (AGREE_TIRESIAS | AGREE_CQSIM | AGREE_BATSIM | AGREE_RLSCHEDULER | AGREE_ACCASIM)
#define TA   (AGREE_TIRESIAS | AGREE_ACCASIM)
#define AC   (AGREE_ACCASIM | AGREE_CQSIM)
#define BR   (AGREE_BATSIM | AGREE_RLSCHEDULER)
#define HL   (AGREE_HELIOS | AGREE_LUCID)
#define T    AGREE_TIRESIAS
#define A    AGREE_ACCASIM
#define C    AGREE_CQSIM
#define B    AGREE_BATSIM
#define L    AGREE_ALEA
#define H    AGREE_HELIOS
#define U    AGREE_LUCID

static const struct agree_row agree_rows[] = {
    {"synth1k", 1, 64, "fcfs", &agree_plain, "head blocks", MOST, AGREE_EXACT, 156257830, 917718, 0, 0},
    {"philly992", 1, 64, "fcfs", &agree_plain, "head blocks", MOST, AGREE_EXACT, 983237679, 8171961, 0, 0},
    {"synth10k", 8, 64, "fcfs", &agree_plain, "head blocks", T, AGREE_EXACT, 84424345, 1193193, 0, 0},
    {"synth1k", 1, 64, "fcfs", &agree_first_fit, "first fit", TA, AGREE_EXACT, 60786151, 840126, 0, 0},
    {"philly992", 1, 64, "fcfs", &agree_first_fit, "first fit", TA, AGREE_EXACT, 476263935, 8171961, 0, 0},
    {"synth10k", 8, 64, "fcfs", &agree_first_fit, "first fit", T, AGREE_EXACT, 84232873, 1193193, 0, 0},
    {"synth1k", 1, 64, "sjf", &agree_plain, "head blocks", A, AGREE_EXACT, 36243704, 958958, 0, 0},
    {"synth1k", 1, 64, "sjf", &agree_plain, "head blocks, other ties", C, AGREE_SHOWN, 36243837, 958958, 0, 0},
    {"philly992", 1, 64, "sjf", &agree_plain, "head blocks", AC, AGREE_EXACT, 260010004, 8171961, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "spare GPUs may be used", C, AGREE_EXACT, 90157033, 885486, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_before, "must end before", B, AGREE_EXACT, 83362717, 887303, AGREE_ONE_BY_ONE, 0},
    {"philly992", 1, 64, "easy", &agree_before, "must end before", BR, AGREE_EXACT, 439391901, 8171961, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "easy_bf", B, AGREE_SHOWN, 87200451, 889400, AGREE_ONE_BY_ONE, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "other order", L, AGREE_SHOWN, 92908668, 883218, 0, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "promises by submission", C, AGREE_EXACT, 102003973, 878217, 0, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "conservative_bf", B, AGREE_SHOWN, 95732916, 877460,
     AGREE_ONE_BY_ONE, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "other order", L, AGREE_SHOWN, 100856252, 878527, 0, 0},
    {"synth1k", 8, 8, "fcfs", &agree_whole, "consolidated", HL, AGREE_EXACT, 233108032, 1044312, 0, 0},
    {"synth1k", 8, 8, "sjf", &agree_whole, "consolidated", HL, AGREE_EXACT, 42397171, 990047, 0, 0},
    {"philly992", 8, 8, "fcfs", &agree_whole, "consolidated", H, AGREE_EXACT, 983285493, 8171961, 0, 0},
    {"synth1k", 1, 64, "las", &agree_las, "dlas-gpu", T, AGREE_EXACT, 42935928, 835540, 0, 2659},
    {"synth1k", 1, 64, "srtf", &agree_first_fit, "by time", T, AGREE_EXACT, 28087073, 930067, 0, 0},
    {"synth1k", 1, 64, "srtf", &agree_gpu_time, "by GPU-time", T, AGREE_EXACT, 21695512, 972249, 0, 0},
    {"synth1k", 8, 8, "srtf", &agree_whole_count, "consolidated, by count", H, AGREE_EXACT, 31942901, 984678,
     AGREE_HELIOS_REWORK, 1422},
    {"synth1k", 8, 8, "srtf", &agree_whole_count, "consolidated, by count", U, AGREE_EXACT, 32314073, 981981,
     AGREE_LUCID_REWORK, 1492},
};

#undef MOST
#undef TA
#undef AC
#undef BR
#undef HL
#undef T
#undef A
#undef C
#undef B
#undef L
#undef H
#undef U

struct agree_job {
    int64_t submit_us, run_us;
    uint64_t id;
    uint16_t gpus;
};

struct agree_trace {
    struct agree_job *jobs;
    size_t count, next;
    int64_t late_us; /* what each job runs longer than it says */
};

/* 0; 1 if there is no such file; negative if it is not such a trace. Free jobs. */
static inline int agree_read(const char *name, struct agree_trace *ret, struct adl_error *err)
{
    char path[512], line[128];
    size_t capacity = 0;
    struct agree_trace trace = {0};
    snprintf(path, sizeof path, AGREE_TRACES "%s.csv", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    int status = 0;
    while (status == 0 && fgets(line, sizeof line, file)) {
        unsigned long long id, submit_s, gpus, run_s;
        if (strncmp(line, "id,", 3) == 0)
            continue;
        if (sscanf(line, "%llu,%llu,%llu,%llu", &id, &submit_s, &gpus, &run_s) != 4)
            status = adl_fail(err, ADL_EINVAL, "%s: job %zu is not id,submit,gpus,duration", path, trace.count + 1);
        else if (adl_grow((void **)&trace.jobs, &capacity, trace.count + 1, sizeof *trace.jobs))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for %s", path);
        else
            trace.jobs[trace.count++] =
                (struct agree_job){(int64_t)submit_s * 1000000, (int64_t)run_s * 1000000, id, (uint16_t)gpus};
    }
    fclose(file);
    if (status) {
        free(trace.jobs);
        return status;
    }
    *ret = trace;
    return 0;
}

static inline int agree_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct agree_trace *trace = self;
    (void)err;
    if (trace->next == trace->count)
        return 0;
    const struct agree_job *job = &trace->jobs[trace->next++];
    ret->spec = (struct adl_job_spec){.id = job->id,
                                      .gpus = job->gpus,
                                      .types = 1,
                                      .flags = ADL_JOB_SPAN | ADL_JOB_PREEMPTIBLE,
                                      .limit_us = job->run_us};
    ret->submit_us = job->submit_us;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = job->run_us + trace->late_us;
    return 1;
}

static inline void agree_close(void *self)
{
    (void)self;
}

/* Equal GPUs in equal nodes, a network as fast as the links, and one class of jobs. Clear it. */
static inline int agree_scenario(const struct agree_row *row, struct adl_scenario *ret, struct adl_error *err)
{
    const struct adl_gpu_type type = {.name = "gpu", .memory_mib = 1024, .fp32_tflops = 1, .bandwidth_gbs = 1};
    const struct adl_bank_spec bank = {0, row->gpus};
    *ret = (struct adl_scenario){.name = "agree", .class_count = 1, .policy = *row->config};
    ret->cluster.network_gbs = 1;
    if (row->world == AGREE_HELIOS_REWORK)
        ret->preemption = (struct adl_preemption){.rework_by_gpus_s = {7, 30, 60}};
    if (row->world == AGREE_LUCID_REWORK)
        ret->preemption = (struct adl_preemption){.rework_by_gpus_s = {40, 40, 60}};
    ret->classes = calloc(1, sizeof *ret->classes);
    int status = ret->classes ? adl_cluster_add_type(&ret->cluster, &type, err)
                              : adl_fail(err, ADL_ENOMEM, "out of memory for a job class");
    for (uint32_t n = 0; n < row->nodes && status == 0; n++) {
        const struct adl_node node = {.name = "node", .cpu_cores = 1, .memory_mib = 1, .link_gbs = 1};
        status = adl_cluster_add_node(&ret->cluster, &node, &bank, 1, err);
    }
    if (status)
        adl_scenario_clear(ret);
    return status;
}

static inline int agree_next_alone(void *world, struct adl_event *ret, struct adl_error *err)
{
    const int status = adl_world_sim_ops.next_event(world, ret, err);
    ret->more = false;
    return status;
}

struct agree_answer {
    int64_t jct_us, last_end_us; /* sum of JCT; time of the last end */
    int64_t jct_s, makespan_s;
    uint64_t jobs, evictions, refused;
    double wall_s; /* of the simulation alone */
};

static inline int agree_count(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct agree_answer *answer = self;
    answer->evictions += event->kind == ADL_EVENT_EVICT;
    if (event->kind != ADL_EVENT_FINISH)
        return 0;
    answer->jct_us += event->time_us - state->jobs[event->job].submit_us;
    answer->last_end_us = event->time_us;
    answer->jobs++;
    return 0;
}

/* One run. The scenario is the row's, the trace as it was read. */
static inline int agree_run(const struct agree_row *row, const struct adl_scenario *scenario, struct agree_trace *trace,
                            struct agree_answer *ret, struct adl_error *err)
{
    const struct adl_job_source source = {trace, agree_next, agree_close};
    struct adl_world_ops ops = adl_world_sim_ops;
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct agree_answer answer = {0};
    if (row->world == AGREE_ONE_BY_ONE)
        ops.next_event = agree_next_alone;
    trace->next = 0;
    trace->late_us = row->world == AGREE_HELIOS_REWORK || row->world == AGREE_LUCID_REWORK ? 1000000 : 0;
    int status = adl_world_sim_create_from(scenario, source, 1, ADL_REGIME_ORACLE, &world, err);
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = adl_policy_find(row->policy),
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = 1,
                                             .world_ops = &ops,
                                             .world = world,
                                             .taps = {{&answer, agree_count, NULL, NULL}},
                                             .tap_count = 1};
    if (status == 0)
        status = adl_engine_create(&config, &engine, err);
    const int64_t start_ns = adl_clock_ns();
    if (status == 0)
        status = adl_engine_run(engine, err);
    answer.wall_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
    if (status == 0) {
        answer.jct_s = answer.jct_us / 1000000;
        answer.makespan_s = (answer.last_end_us - trace->jobs[0].submit_us) / 1000000;
        answer.refused = adl_engine_counts(engine)->refused;
        *ret = answer;
    }
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return status;
}

static inline bool agree_meets(const struct agree_row *row, const struct agree_answer *ours)
{
    const double jct = (double)llabs(ours->jct_s - row->jct_s),
                 makespan = (double)llabs(ours->makespan_s - row->makespan_s);
    if (row->demand == AGREE_PERCENT)
        return jct <= 0.01 * (double)row->jct_s && makespan <= 0.01 * (double)row->makespan_s;
    return jct == 0 && makespan == 0 && ours->jct_us % 1000000 == 0 &&
           (row->evictions == 0 || ours->evictions == row->evictions);
}

#endif
