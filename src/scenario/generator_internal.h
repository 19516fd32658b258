/* generator_internal: what was drawn, between the generator's draws and the text that it writes. */
#ifndef ADLRO_SCENARIO_GENERATOR_INTERNAL_H
#define ADLRO_SCENARIO_GENERATOR_INTERNAL_H

#include "base/text.h"
#include "scenario/catalogue.h"

#define ADL_DRAWN_TYPES_MAX  6
#define ADL_DRAWN_GROUPS_MAX 8
#define ADL_DRAWN_LINES_MAX  8
#define ADL_DRAWN_GANGS_MAX  6

struct adl_drawn_group { /* equal nodes */
    const struct adl_gpu_type *type;
    uint32_t nodes, gpus; /* GPUs of each node */
    uint32_t cores, memory_mib;
    double link_gbs;
};

struct adl_drawn_line { /* of the mix */
    const struct adl_catalogue_class *class;
    const struct adl_gpu_type *reference;
    const struct adl_gpu_type *types[ADL_DRAWN_TYPES_MAX];
    uint32_t type_count; /* 0 = all on which the class runs */
    uint32_t weight;
    double median_s, sigma, min_s, max_s;
    uint32_t gang_count;
    uint32_t gangs[ADL_DRAWN_GANGS_MAX];
    double gang_weights[ADL_DRAWN_GANGS_MAX];
    uint32_t cores, memory_mib;
    double priority_min, priority_max;
    bool span, share, preemptible;
    int stop_loss; /* enum adl_stop_loss */
    double checkpoint_every_s;
    double deadline_share, deadline_slack, throughput_share, throughput_floor; /* share 0 = none */
};

struct adl_drawn {
    uint64_t seed;
    int size; /* enum adl_generator_size, not ANY */
    const struct adl_gpu_type *types[ADL_DRAWN_TYPES_MAX];
    uint32_t type_count, gpus;
    struct adl_drawn_group groups[ADL_DRAWN_GROUPS_MAX];
    uint32_t group_count;
    double network_gbs;
    struct adl_drawn_line lines[ADL_DRAWN_LINES_MAX];
    uint32_t line_count;
    double scale_s; /* typical run time */
    uint64_t jobs;
    uint32_t users;
    double load;
    double rate_per_h;                                                              /* mean, for that load */
    int process;                                                                    /* enum adl_arrival_process */
    double amplitude, periods, burst_jobs, surge_start, surge_length, surge_factor; /* times: shares of the run */
    struct adl_limits limits;
    bool kill_at_limit, sharing, faults, drift, telemetry, progress;
    double gpu_mtbf_runs, node_mtbf_runs, repair_runs; /* in lengths of the run */
    double wear_loss, throttle_share, throttle_factor; /* speed lost by a GPU that is busy for the whole run */
    const struct adl_gpu_type *update;                 /* NULL = none */
    double update_at, update_factor;                   /* share of the run */
    double checkpoint_s, restart_s, interval_s;
};

/* Three significant digits, so that people can read it. */
double adl_drawn_tidy(double value);

/* Appends the scenario's YAML. */
void adl_drawn_write(const struct adl_drawn *drawn, struct adl_text *text);

#endif
