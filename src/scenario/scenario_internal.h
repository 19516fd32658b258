/* scenario_internal: a scenario as written in the file, before names become indices. For scenario*.c, and for the
 * service, whose configuration describes clusters and policies in the same way. */
#ifndef ADLRO_SCENARIO_SCENARIO_INTERNAL_H
#define ADLRO_SCENARIO_SCENARIO_INTERNAL_H

#include "model/scenario.h"
#include "scenario/catalogue.h"
#include "scenario/throughputs.h"
#include "scenario/yaml.h"

#define ADL_NODES_MAX 262144u /* in one cluster, with counts expanded */

struct adl_form_bank {
    const struct adl_yaml_node *at;
    struct adl_yaml_link type;
    int64_t count;
};

struct adl_form_node {
    const struct adl_yaml_node *at;
    char name[ADL_NAME_SIZE];
    int64_t count;
    int32_t cpu_cores;
    int32_t memory_mib;
    double link_gbs;
    struct adl_yaml_list gpus; /* struct adl_form_bank */
};

struct adl_form_gang {
    const struct adl_yaml_node *at;
    int64_t count;
    double weight;
};

struct adl_form_duration {
    const struct adl_yaml_node *at;
    double median, sigma, min, max;
};

struct adl_form_priority {
    const struct adl_yaml_node *at;
    double min, max;
};

/* A share of the jobs has a deadline or a minimum throughput, given relative to the reference type. */
struct adl_form_promise {
    double share, size;
};

struct adl_form_mix {
    const struct adl_yaml_node *at;
    struct adl_yaml_link class;
    double weight;
    struct adl_form_duration duration_s;
    struct adl_yaml_link reference;
    struct adl_yaml_list types; /* struct adl_yaml_link */
    struct adl_yaml_list gpus;  /* struct adl_form_gang */
    int32_t cpu_cores;
    int32_t memory_mib;
    int32_t gpu_memory_mib; /* -1 = the class's */
    struct adl_form_priority priority;
    bool share, preemptible, span;
    int stop_loss;             /* enum adl_stop_loss */
    double checkpoint_every_s; /* 0 = not given */
    struct adl_form_promise deadline;
    struct adl_form_promise throughput;
};

struct adl_form_arrivals {
    const struct adl_yaml_node *at;
    struct adl_arrivals model; /* surge_start_s and surge_length_s -1, rate_per_h 0 = not given */
};

struct adl_form_workload {
    const struct adl_yaml_node *at;
    int64_t jobs;
    int64_t users;
    struct adl_form_arrivals arrivals;
    struct adl_limits limits;
    struct adl_yaml_list mix; /* struct adl_form_mix */
};

struct adl_form_update {
    const struct adl_yaml_node *at;
    double time_s;
    struct adl_yaml_link type;
    double factor;
    char version[ADL_VERSION_SIZE];
};

struct adl_form_cluster {
    double network_gbs;
    struct adl_yaml_list nodes; /* struct adl_form_node */
};

struct adl_form_drift {
    struct adl_drift_model model;
    struct adl_yaml_list updates; /* struct adl_form_update */
};

struct adl_form_power_limit {
    const struct adl_yaml_node *at;
    struct adl_power_limit limit;
};

struct adl_form_preemption {
    struct adl_preemption model;
    struct adl_yaml_list restart_by_gpus_s; /* struct adl_yaml_real, 3 or none */
    struct adl_yaml_list rework_by_gpus_s;  /* the same */
};

/* A group of a scenario file that the service's configuration has too; and how many types a file may describe. */
extern const struct adl_yaml_table adl_form_cluster_table;
#define ADL_OWN_TYPES_MAX 32

struct adl_scenario_form {
    char name[ADL_NAME_SIZE];
    char description[400];
    struct adl_yaml_link catalogue;
    double lambda;
    bool kill_at_limit;
    int events;
    struct adl_yaml_list gpu_types; /* struct adl_catalogue_type */
    struct adl_form_cluster cluster;
    struct adl_form_workload workload;
    struct adl_faults faults;
    struct adl_network_model network;
    struct adl_form_drift drift;
    struct adl_yaml_list power_limit; /* struct adl_form_power_limit */
    struct adl_telemetry_model telemetry;
    struct adl_form_preemption preemption;
    struct adl_score_figures references;
    const struct adl_yaml_node *policy, *variants; /* NULL = not given */
};

/* State of the steps below. */
struct adl_scenario_reader {
    struct adl_yaml *yaml;
    const struct adl_scenario_form *form;
    const struct adl_catalogue *catalogue;
    const struct adl_throughputs *throughputs; /* NULL = none were given */
    struct adl_scenario *scenario;             /* being built */
    bool named_policy;                         /* the group `policy` has a name: in the service's configuration */
    struct adl_error *err;
};

/* Each step needs the ones before it. */
int adl_scenario_read_cluster(struct adl_scenario_reader *reader);
int adl_scenario_read_workload(struct adl_scenario_reader *reader);
int adl_scenario_make_class(
    struct adl_scenario_reader *reader); /* instead of a workload: one class for the jobs of a trace */
/* Instead of a workload: the class "job" for jobs without one, and all classes of the catalogue. */
int adl_scenario_read_classes(struct adl_scenario_reader *reader);
int adl_scenario_read_drift(struct adl_scenario_reader *reader);

int adl_scenario_read_variants(struct adl_scenario_reader *reader, const struct adl_yaml_node *node,
                               struct adl_variant **ret, uint32_t *ret_count);

/* Adds what the group `policy` says to the scenario's settings. */
int adl_scenario_read_policy(struct adl_scenario_reader *reader);

/* A class that runs equally fast on every type of the cluster. */
struct adl_job_class adl_scenario_plain_class(const char *name, const struct adl_cluster *cluster);

/* The measured speeds of a class on the cluster's types; link is the key that names it. And, once all classes exist,
 * the measurements of gangs and of co-located pairs. */
int adl_scenario_measure_class(const struct adl_scenario_reader *reader, const struct adl_catalogue_class *from,
                               const struct adl_yaml_link *link, struct adl_job_class *class);
int adl_scenario_measure(struct adl_scenario_reader *reader);

/* The index of a GPU type of the cluster; where is the key's path in messages. */
int adl_scenario_find_type(const struct adl_scenario_reader *reader, const struct adl_yaml_link *link,
                           const char *where, uint32_t *ret_type);

/* True if the jobs of this entry of the mix can run on an empty cluster with only these types; if false, the first size
 * that cannot, and why. */
bool adl_mix_possible(const struct adl_scenario *scenario, const struct adl_mix *mix, uint32_t types,
                      uint32_t *ret_gang, const char **ret_why);

#endif
