/* scenario: a cluster, a workload, faults and drift: all that a run needs beside a policy and a seed. Plain data;
 * scenario/scenario.c reads it from YAML, sim/ simulates it. */
#ifndef ADLRO_MODEL_SCENARIO_H
#define ADLRO_MODEL_SCENARIO_H

#include "model/cluster.h"
#include "model/event.h"
#include "model/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A class of jobs that behave alike. Speeds are indexed by the cluster's GPU types. */
struct adl_job_class {
    char name[ADL_NAME_SIZE];
    uint8_t kind;
    int32_t gpu_memory_mib; /* what it occupies on each GPU */
    double activity;        /* share of the compute units it keeps busy, 0..1 */
    double bandwidth;       /* share of the memory bandwidth it keeps busy, 0..1 */
    double sync_share;      /* share of a step spent in communication over the node's link, with several GPUs */
    double scaling;         /* efficiency kept at each doubling of GPUs, 0..1 */
    double step_gflop;      /* declared arithmetic of a step on one GPU; 0 = not given */
    double step_gb;         /* likewise, GB to and from the GPU's memory */
    double steps_per_s[ADL_TYPES_MAX]; /* on one GPU; 0 = does not run there */
    bool modelled[ADL_TYPES_MAX];      /* that figure is modelled from specifications */
};

enum adl_arrival_process {
    ADL_ARRIVAL_POISSON,
    ADL_ARRIVAL_DIURNAL,
    ADL_ARRIVAL_BURSTY,
    ADL_ARRIVAL_SURGE,
    ADL_ARRIVAL_BACKLOG
};

struct adl_arrivals {
    int process;          /* enum adl_arrival_process */
    double rate_per_h;    /* mean over a run (poisson, bursty), over a day (diurnal), outside the surge (surge) */
    double amplitude;     /* diurnal: rate = rate_per_h * (1 + amplitude * wave), 0..1 */
    double period_s;      /* diurnal */
    double burst_jobs;    /* bursty: mean jobs that arrive together */
    double surge_start_s; /* surge */
    double surge_length_s;
    double surge_factor; /* rate inside the surge, as a multiple */
    int surge_kind;      /* only this kind of job arrives in the surge; -1 = any */
};

#define ADL_GANGS_MAX 12

/* One line of the job mix. */
struct adl_mix {
    uint16_t class_index;
    double weight;
    double median_s; /* log-normal run time on one reference GPU type with the job's own number of GPUs */
    double sigma;
    double min_s;
    double max_s;
    uint32_t reference; /* GPU type */
    uint32_t types;     /* mask of acceptable types */
    uint32_t gang_count;
    uint16_t gang_gpus[ADL_GANGS_MAX];
    double gang_weight[ADL_GANGS_MAX];
    int32_t cpu_cores;  /* per GPU */
    int32_t memory_mib; /* per GPU */
    int32_t gpu_memory_mib;
    double priority_min;
    double priority_max;
    uint8_t flags;           /* enum adl_job_flag */
    uint8_t stop_loss;       /* enum adl_stop_loss */
    int64_t checkpoint_us;   /* as in struct adl_job_spec */
    double deadline_share;   /* share of jobs with a deadline */
    double deadline_slack;   /* deadline = slack * run time on the reference type */
    double throughput_share; /* share of jobs with a least throughput */
    double throughput_floor; /* that throughput, relative to the reference type */
};

/* Users ask for more time than they need: limit = factor * true run time on the slowest acceptable type (across nodes,
 * if it may span them), factor log-normal and at least 1, rounded up as people do. A share of users gives the exact
 * figure. */
struct adl_limits {
    double median_factor;
    double sigma;
    double exact_share;
    double round_s; /* round up to a multiple of this */
};

struct adl_workload {
    uint64_t jobs;
    uint32_t users;
    struct adl_arrivals arrivals;
    struct adl_limits limits;
    struct adl_mix *mix;
    uint32_t mix_count;
};

struct adl_faults {
    double gpu_mtbf_h; /* mean time between failures of one GPU; 0 = never fails */
    double gpu_repair_h;
    double node_mtbf_h;
    double node_repair_h;
};

#define ADL_UPDATES_MAX 8

/* Speed of a GPU relative to new = wear * throttle * product of updates. */
struct adl_drift_model {
    double wear_per_kh;       /* share of speed lost per 1,000 busy hours */
    double wear_floor;        /* never below this */
    double throttle_share;    /* share of GPUs that throttle */
    double throttle_factor;   /* their speed while hot */
    double throttle_period_s; /* hot for half of each period */
    uint32_t update_count;
    struct {
        double time_s;
        uint32_t type; /* GPU type that the software update changes */
        double factor;
        char version[ADL_VERSION_SIZE]; /* that GPUs report from then on; "" = they report none */
    } updates[ADL_UPDATES_MAX];
};

#define ADL_POWER_LIMITS_MAX 48

/* From this time on all GPUs together may draw so much. */
struct adl_power_limit {
    double time_s;
    double limit_w; /* 0 = there is no limit */
};

struct adl_telemetry_model {
    double interval_s; /* 0 = no telemetry */
    double noise;      /* relative standard deviation of a reading */
    double dropout;    /* share of readings that are missing */
    bool progress;     /* running jobs report their speed at the same interval, with the same noise */
    bool steps_left;   /* and how many steps they have left */
};

/* The cost of every stop; how much work it loses depends on the job (enum adl_stop_loss). */
struct adl_preemption {
    double checkpoint_s;         /* from the order to stop until the GPUs are free: to write a checkpoint */
    double restart_s;            /* to restart, holding the GPUs: to read a checkpoint back */
    double interval_s;           /* of jobs that checkpoint when told to stop, a failure loses at most this much
                                  * work; 0 = all of it */
    double restart_by_gpus_s[3]; /* restart_s of a job with 1, 2 to 8, more GPUs; all 0 = restart_s for every job */
    double rework_by_gpus_s[3];  /* run time that each preemption adds to the work left of such a job */
};

/* Time to restart a job of that many GPUs, and run time that a preemption adds to its work. */
double adl_preemption_restart_s(const struct adl_preemption *preemption, uint32_t gpus);
double adl_preemption_rework_s(const struct adl_preemption *preemption, uint32_t gpus);

/* The network between the agents of policy market; a perfect one by default. */
struct adl_network_model {
    double latency_ms;        /* of a message */
    double jitter;            /* share of it by which the latency of a message varies: one may overtake another */
    double loss;              /* share of messages that are lost */
    double duplicate;         /* share that comes twice */
    double crash_mtbf_h;      /* mean time between crashes of an agent; 0 = none crashes. Jobs that run go on */
    double crash_s;           /* mean time until it comes back */
    double partition_start_s; /* from then on some agents reach only each other ... */
    double partition_s;       /* ... for this long; 0 = never */
    double partition_share;   /* share of the agents */
};

/* How the GPUs of a job are chosen among those that fit. */
enum adl_placement {
    ADL_PLACEMENT_BEST_FIT,     /* the fullest bank that suffices; a job that may span nodes takes the emptiest banks */
    ADL_PLACEMENT_CONSOLIDATED, /* the same, but only what no node can hold spans: empty nodes whole, one more for the
                                   rest */
};

struct adl_policy_ops;

/* What a policy gets beside the state. Its options are in a struct of its own: policy/option.h. */
struct adl_policy_config {
    const char *settings;             /* lines of OPTION=VALUE, the last of equal ones wins; NULL = none. Not owned */
    int64_t preemption_us;            /* what a preemption and the restart after it cost; follows from adl_preemption */
    double lambda;                    /* weight of idle GPU time in the reward */
    struct adl_network_model network; /* market: between its agents */
    const void *model; /* dqn, adlro: a trained network's bytes, used by the one it is of; NULL = the shipped ones */
    size_t model_size;
    /* adl_policy_create() fills in what follows, from the settings and the tables of options. */
    const struct adl_policy_ops *ops;
    double priority_s;   /* policies that rank by submission: what priority 1 is worth before 0, in waiting time */
    int placement;       /* enum adl_placement */
    const void *options; /* the policy's own struct, during ops->create() */
};

/* A policy with options of its own, under a name of its own. */
struct adl_variant {
    char name[ADL_NAME_SIZE];
    char policy[ADL_NAME_SIZE];
    char *settings; /* lines of OPTION=VALUE */
    uint32_t line;  /* of the file that has it */
};

/* A run's figures that HyperScore uses, and the references that they are compared with. 0 = there is no such figure. */
struct adl_score_figures {
    double jct_s; /* mean */
    double p99_s;
    double jobs_per_h;
    double energy_mj;
    double slowdown; /* mean */
    double sla;      /* share attained */
};

struct adl_scenario {
    char name[ADL_NAME_SIZE];
    char description[400];
    struct adl_cluster cluster;
    struct adl_job_class *classes;
    uint32_t class_count;
    struct adl_workload workload;
    struct adl_faults faults;
    struct adl_drift_model drift;
    struct adl_power_limit power_limits[ADL_POWER_LIMITS_MAX]; /* in order of time */
    uint32_t power_limit_count;
    struct adl_telemetry_model telemetry;
    struct adl_preemption preemption;
    struct adl_network_model network;
    struct adl_policy_config policy;
    char *settings; /* owned text of policy.settings; NULL = none */
    struct adl_variant *variants;
    uint32_t variant_count;
    bool kill_at_limit;                  /* a job that reaches its limit is killed, as on a real cluster */
    bool one_by_one;                     /* a decision after each end and each submission, even within one instant */
    double lambda;                       /* weight of idle GPU time in the reward */
    struct adl_score_figures references; /* of HyperScore, for this workload; jct_s 0 = none are given */
    /* Measurements of the classes; NULL or 0 = not measured, the simulator's model applies. */
    double *pair_speed; /* [class][class beside it][type] speed relative to alone, at most 1 */
    double *gang_speed; /* [class][type][ADL_GANG_SPEEDS] speed of 2, 4, 8 GPUs relative to one; negative = not there */
};

#define ADL_GANG_SPEEDS 3

/* Speed of a class beside another on a GPU of the type, relative to alone; 0 = not measured. */
static inline double adl_scenario_pair_speed(const struct adl_scenario *scenario, uint32_t class_index, uint32_t other,
                                             uint32_t type)
{
    const size_t pair = (size_t)class_index * scenario->class_count + other;
    return scenario->pair_speed ? scenario->pair_speed[pair * scenario->cluster.type_count + type] : 0;
}

/* Speed of a gang of the class on GPUs of one node, all of the type, relative to one of them; 0 = it does not run
 * there. */
double adl_scenario_gang_speed(const struct adl_scenario *scenario, uint32_t class_index, uint32_t type, uint32_t gpus);

void adl_scenario_clear(struct adl_scenario *scenario);                /* accepts a zeroed or half-built one */
void adl_variants_clear(struct adl_variant *variants, uint32_t count); /* frees; accepts NULL with a count of 0 */

/* Another number of jobs; the references, which were measured with the file's, no longer hold. */
void adl_scenario_set_jobs(struct adl_scenario *scenario, uint64_t jobs);

/* Adds a line to the settings of policies. 0 or ADL_ENOMEM. */
int adl_scenario_add_setting(struct adl_scenario *scenario, const char *name, const char *value);

/* The policy's configuration of one scenario goes to another, which loses its own. */
void adl_scenario_move_policy(struct adl_scenario *to, struct adl_scenario *from);

/* True if a job with this demand can run on this cluster when it is empty and no GPU is down; on false, *ret_why (a
 * static text, may be NULL) says which demand cannot be met. */
bool adl_demand_possible(const struct adl_cluster *cluster, const struct adl_job_spec *spec, const char **ret_why);

/* GPUs of the bank that the node's cores and memory can serve, for this demand alone. */
uint32_t adl_bank_usable_gpus(const struct adl_cluster *cluster, const struct adl_bank *bank,
                              const struct adl_job_spec *spec);

#endif
