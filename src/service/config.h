/* config: the service's configuration, YAML that one typed table describes. Every key has a default: without a file the
 * service runs real jobs on the GPUs that it finds. */
#ifndef ADLRO_SERVICE_CONFIG_H
#define ADLRO_SERVICE_CONFIG_H

#include "base/error.h"
#include "executor/inventory.h"
#include "executor/slurm/executor_slurm.h"
#include "http/http.h"
#include "scenario/yaml.h"
#include "service/forecast.h"
#include "service/hooks/hooks.h"
#include "service/idle.h"
#include "service/power.h"
#include "telemetry/telemetry.h"

enum adl_engine_kind { ADL_ENGINE_LOCAL, ADL_ENGINE_SIM, ADL_ENGINE_SLURM };

/* Strings live as long as the configuration. NULL = not given. */
struct adl_service_config {
    int engine; /* enum adl_engine_kind */
    const struct adl_policy_ops *policy;
    uint64_t seed;
    bool learned; /* run times are predicted from completed jobs, not only from time limits */

    const char *socket; /* NULL: adl_service_socket() */
    const char *socket_group;
    const char *tcp;
    const char *tls_cert, *tls_key;
    const char *tokens; /* file */
    const char *admin_group;
    double requests_per_s; /* of one client; 0 = no limit */

    const char *scenario; /* SIM: its file, relative to the configuration's folder */
    double speed;         /* SIM: of time */

    struct adl_executor_slurm_config slurm; /* SLURM */

    double telemetry_s;     /* between samples */
    double retention_days;  /* of samples */
    const char **exporters; /* addresses of exporters' pages, exporter_count */
    uint32_t exporter_count;
    const char *nvml, *rocm_smi,
        *sysfs;         /* where the drivers' libraries and files are; NULL: where the system has them */
    bool avoid_foreign; /* GPUs with processes from outside the queue take no jobs */

    const struct adl_policy_ops *fallback; /* decides while predictions do not hold; NULL: off */
    bool gate_auto;                        /* candidates are promoted by themselves unless they say otherwise */
    double drain_below;                    /* a GPU this share below its type is drained; 0: none is */

    struct adl_forecast_config forecast;
    struct adl_idle_config idle;
    struct adl_hooks_config hooks;
    struct adl_power_config power;

    double time_limit_s; /* of jobs that have none */
    double grace_s;      /* from TERM to KILL */
    uint32_t jobs_max;   /* live ones; more are refused */
    uint32_t jobs_per_user;
    double mib_per_user;        /* of the state */
    double jobs_retention_days; /* of ended jobs */
    float priority_max;         /* that users may submit with */
    bool private_jobs;          /* users see only their own */
    bool root_jobs;             /* root may submit jobs that run as root */
    const char *cgroup;         /* v2 folder for jobs' own; NULL: none */

    struct adl_inventory inventory; /* with the policy's own settings in inventory.scenario.policy */
    const char *model_path;         /* of a trained network; NULL: the one in the program */
    char *model;                    /* its bytes */
    size_t model_size;
    char *text; /* of the file, for the store; NULL: there is none */
    size_t text_size;
    const void *form;      /* the parsed file, for steps that follow later */
    struct adl_yaml *yaml; /* owns the strings; paths are relative to the folder in which the service was started */
};

extern const struct adl_yaml_table adl_service_table;

/* path NULL: defaults. Looks for GPUs if engine is local and the file declares none. On failure *ret is untouched. */
int adl_service_config_load(const char *path, struct adl_service_config *ret, struct adl_error *err);
/* From a text; name is used in messages, and paths in the text are relative to it. */
int adl_service_config_read(const char *name, const char *text, struct adl_service_config *ret, struct adl_error *err);
/* With engine slurm the GPUs are known only after the cluster has answered: opens the executor, which keeps the
 * configuration's inventory. A configuration that is read again while the executor runs is settled with its inventory.
 */
int adl_service_config_ask(struct adl_service_config *config, struct adl_executor *ret, struct adl_error *err);
int adl_service_config_settle(struct adl_service_config *config, const struct adl_inventory *have,
                              struct adl_error *err);
void adl_service_config_clear(struct adl_service_config *config); /* accepts a zeroed one */

/* For reading this machine's GPUs, and exporters' pages if configured; the strings are the configuration's. */
struct adl_telemetry_options adl_service_telemetry(const struct adl_service_config *config, bool with_exporters);

/* The default socket of a service of this user, where clients look first; /run/adlro/adlro.sock for root, where all
 * other clients look second. */
void adl_service_socket(char *ret, size_t size);

#endif
