/* agree: what other people's simulators answer on given traces, and the run of ours that is asked the same.
 * Theirs is a record of what their programs printed: none of them is needed. */
#ifndef ADLRO_BENCH_AGREE_H
#define ADLRO_BENCH_AGREE_H

#include "peer_trace.h"
#include "policy/policy.h"

#include <string.h>

enum agree_demand {
    AGREE_EXACT,   /* the rule has one answer, or this is the reading of it that ours is told to take */
    AGREE_PERCENT, /* the rule draws lots or leaves the optimum open: within 1 % */
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

static const struct adl_policy_config agree_plain = {0};
static const struct adl_policy_config agree_first_fit = {.settings = "first_fit=true"};
static const struct adl_policy_config agree_strict = {.settings = "first_fit=false"};
static const struct adl_policy_config agree_spare = {.settings = "backfill_depth=1"};
static const struct adl_policy_config agree_before = {.settings = "backfill_rule=ends_before"};
static const struct adl_policy_config agree_whole = {.settings = "placement=consolidated"};
static const struct adl_policy_config agree_whole_strict = {.settings = "placement=consolidated\nfirst_fit=false"};
static const struct adl_policy_config agree_whole_count = {.settings = "placement=consolidated\nby_count=true"};
static const struct adl_policy_config agree_las = {
    .settings = "las_limits_gpu_s=3250,7200\nlas_running_first=true\nlas_lazy=true"};
static const struct adl_policy_config agree_gpu_time = {.settings = "by_gpu_time=true"};

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
    {"synth1k", 1, 64, "sjf", &agree_strict, "head blocks", A, AGREE_EXACT, 36243704, 958958, 0, 0},
    {"synth1k", 1, 64, "sjf", &agree_strict, "head blocks, one by one", C, AGREE_EXACT, 36243837, 958958,
     AGREE_ONE_BY_ONE, 0},
    {"philly992", 1, 64, "sjf", &agree_strict, "head blocks", AC, AGREE_EXACT, 260010004, 8171961, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "spare GPUs may be used", C, AGREE_EXACT, 90157033, 885486, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_before, "must end before", B, AGREE_EXACT, 83362717, 887303, AGREE_ONE_BY_ONE, 0},
    {"philly992", 1, 64, "easy", &agree_before, "must end before", BR, AGREE_EXACT, 439391901, 8171961, 0, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "easy_bf", B, AGREE_SHOWN, 87200451, 889400, AGREE_ONE_BY_ONE, 0},
    {"synth1k", 1, 64, "easy", &agree_spare, "other order", L, AGREE_SHOWN, 92908668, 883218, AGREE_ONE_BY_ONE, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "promises by submission", C, AGREE_EXACT, 102003973, 878217, 0, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "conservative_bf", B, AGREE_SHOWN, 95732916, 877460,
     AGREE_ONE_BY_ONE, 0},
    {"synth1k", 1, 64, "conservative", &agree_plain, "other order", L, AGREE_SHOWN, 100856252, 878527, 0, 0},
    {"synth1k", 8, 8, "fcfs", &agree_whole, "consolidated", HL, AGREE_EXACT, 233108032, 1044312, 0, 0},
    {"synth1k", 8, 8, "sjf", &agree_whole_strict, "consolidated", HL, AGREE_EXACT, 42397171, 990047, 0, 0},
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

/* The world of a row; clear it. */
static inline int agree_scenario(const struct agree_row *row, struct adl_scenario *ret, struct adl_error *err)
{
    const int status = peer_scenario(row->nodes, row->gpus, ret, err);
    if (status)
        return status;
    ret->policy = *row->config;
    ret->one_by_one = row->world == AGREE_ONE_BY_ONE;
    if (row->world == AGREE_HELIOS_REWORK)
        ret->preemption = (struct adl_preemption){.rework_by_gpus_s = {7, 30, 60}};
    if (row->world == AGREE_LUCID_REWORK)
        ret->preemption = (struct adl_preemption){.rework_by_gpus_s = {40, 40, 60}};
    return 0;
}

/* One run. The scenario is the row's, the trace as it was read. */
static inline int agree_run(const struct agree_row *row, const struct adl_scenario *scenario, struct peer_trace *trace,
                            struct peer_answer *ret, struct adl_error *err)
{
    trace->late_s = row->world == AGREE_HELIOS_REWORK || row->world == AGREE_LUCID_REWORK;
    return peer_run(scenario, trace, adl_policy_find(row->policy), ADL_REGIME_ORACLE, ret, err);
}

static inline bool agree_meets(const struct agree_row *row, const struct peer_answer *ours)
{
    return ours->jct_us == row->jct_s * 1000000 && ours->makespan_us == row->makespan_s * 1000000 &&
           (row->evictions == 0 || ours->evictions == row->evictions);
}

#endif
