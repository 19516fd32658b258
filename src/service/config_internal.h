/* config_internal: the service's configuration as the file has it. Only for config.c and config_table.c. */
#ifndef ADLRO_SERVICE_CONFIG_INTERNAL_H
#define ADLRO_SERVICE_CONFIG_INTERNAL_H

#include "scenario/scenario_internal.h"
#include "service/config.h"

struct form_listen {
    struct adl_yaml_link socket, socket_group, tcp, tls_cert, tls_key, tokens, admin_group;
    double requests_per_s;
};

struct form_telemetry {
    double interval_s, retention_days;
    struct adl_yaml_list exporters; /* struct adl_yaml_link */
    bool avoid_foreign;
    struct adl_yaml_link nvml, rocm_smi, sysfs;
};

struct form_jobs {
    double retention_days, mib_per_user, time_limit_s, grace_s, priority_max;
    int32_t max, max_per_user;
    bool root, private;
    struct adl_yaml_link cgroup;
};

struct form_forecast {
    int32_t futures;
    double interval_s, cpu_share;
};

struct form_idle {
    double below_percent, after_s, notice_s;
    bool stop;
};

struct form_hook {
    const struct adl_yaml_node *at;
    struct adl_yaml_list events; /* struct adl_yaml_link */
    struct adl_yaml_link webhook, secret_file, secret_header, mail;
};

struct form_sendmail {
    struct adl_yaml_link program, from;
};

struct form_limit {
    const struct adl_yaml_node *at;
    struct adl_yaml_link time;
    double limit_w;
};

struct form_power {
    struct adl_yaml_link helper, allow;
    struct adl_yaml_list limits; /* struct form_limit */
};

struct form_alias {
    const struct adl_yaml_node *at;
    struct adl_yaml_link gres, type;
};

struct form_slurm {
    struct adl_yaml_list partitions; /* struct adl_yaml_link */
    int mode;
    struct adl_yaml_link conf, adapter;
    struct adl_yaml_list types; /* struct form_alias */
    bool requeue;
    double wait_s;
};

struct service_form {
    int engine;
    struct adl_yaml_link scenario, catalogue, model;
    double speed;
    int64_t seed;
    bool virtual, learned;
    struct adl_yaml_link drain_slow_gpus, fallback_policy;
    int gate;                       /* of adl_gate_names */
    struct adl_scenario_form parts; /* only cluster and policy */
    struct form_listen listen;
    struct form_telemetry telemetry;
    struct form_jobs jobs;
    struct form_forecast forecast;
    struct form_idle idle;
    struct adl_yaml_list hooks; /* struct form_hook */
    struct form_sendmail sendmail;
    struct form_power power;
    struct form_slurm slurm;
};

extern const char *const adl_engine_names[];
extern const char *const adl_gate_names[];

/* config.c: the path of a file that the configuration names, kept by the document; untouched if it names none. */
int adl_service_config_path(struct adl_yaml *yaml, const struct adl_yaml_link *link, const char **ret,
                            struct adl_error *err);

/* config_hooks.c: checks them, files of secrets and the mail program included. */
int adl_service_config_hooks(struct adl_yaml *yaml, const struct service_form *form, struct adl_hooks_config *ret,
                             struct adl_error *err);

/* config_power.c: once the GPUs are known. Caps that nothing would carry out are refused. */
int adl_service_config_power(struct adl_yaml *yaml, const struct service_form *form,
                             const struct adl_service_config *config, struct adl_power_config *ret,
                             struct adl_error *err);

#endif
