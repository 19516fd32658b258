/* config_table: the typed tables of the service's configuration: every key, its range, its default and what it means.
 */
#include "service/config_internal.h"

#define COUNT(array)       (sizeof(array) / sizeof *(array))
#define TABLE(array, type) .fields = (array), .field_count = COUNT(array), .size = sizeof(type)

const char *const adl_gate_names[] = {"manual", "auto", NULL};
const char *const adl_engine_names[] = {"local", "sim", "slurm", NULL};
_Static_assert(COUNT(adl_engine_names) == ADL_ENGINE_SLURM + 2, "an engine without a name");
static const char *const mode_names[] = {"observe", "advise", "act", NULL};
_Static_assert(COUNT(mode_names) == ADL_SLURM_ACT + 2, "a mode without a name");

#define LISTEN(member) ADL_YAML_AT(struct form_listen, member)
static const struct adl_yaml_field listen_fields[] = {
    {"socket", ADL_YAML_LINK, LISTEN(socket),
     .otherwise = "`/run/adlro/adlro.sock` for root, else in the user's runtime folder",
     .help = "Unix socket on which the service listens"},
    {"socket_group", ADL_YAML_LINK, LISTEN(socket_group), .otherwise = "everybody who may enter its folder",
     .help = "group whose members may connect to it"},
    {"tcp", ADL_YAML_LINK, LISTEN(tcp), .otherwise = "no TCP",
     .help = "address and port, `127.0.0.1:8080` or `[::]:8443`; clients need a token, and TLS unless it is loopback"},
    {"tls_cert", ADL_YAML_LINK, LISTEN(tls_cert), .otherwise = "no TLS", .help = "certificate chain in PEM, a file"},
    {"tls_key", ADL_YAML_LINK, LISTEN(tls_key), .otherwise = "no TLS", .help = "its key in PEM, a file"},
    {"tokens", ADL_YAML_LINK, LISTEN(tokens), .otherwise = "no tokens",
     .help = "file with the hashed tokens of TCP clients"},
    {"admin_group", ADL_YAML_LINK, LISTEN(admin_group), .otherwise = "only root and the service's own user",
     .help = "group whose members may change every job and every GPU"},
    {"requests_per_s", ADL_YAML_REAL, LISTEN(requests_per_s), .min = 0.1, .max = 1e6, .or_zero = true,
     .help = "limit for one client, with bursts of twice as many; 0 = no limit"},
};
static const struct adl_yaml_table listen_table = {TABLE(listen_fields, struct form_listen)};

#define TELEMETRY(member) ADL_YAML_AT(struct form_telemetry, member)
static const struct adl_yaml_field telemetry_fields[] = {
    {"interval_s", ADL_YAML_REAL, TELEMETRY(interval_s), .min = 0.1, .max = 3600,
     .help = "between two samples of a GPU"},
    {"retention_days", ADL_YAML_REAL, TELEMETRY(retention_days), .min = 0.01, .max = 36500,
     .help = "how long samples are kept"},
    {"exporters", ADL_YAML_LINKS, TELEMETRY(exporters), .min = 0, .max = ADL_TELEMETRY_URLS_MAX, .otherwise = "none",
     .help = "URLs of exporters (http or https) that measure more of these GPUs than the driver"},
    {"avoid_foreign", ADL_YAML_BOOL, TELEMETRY(avoid_foreign),
     .help = "a GPU takes no jobs while processes from outside the queue run on it"},
    {"nvml", ADL_YAML_LINK, TELEMETRY(nvml), .otherwise = "where the system has it", .help = "NVIDIA's libnvidia-ml"},
    {"rocm_smi", ADL_YAML_LINK, TELEMETRY(rocm_smi), .otherwise = "where the system has it",
     .help = "AMD's librocm_smi64"},
    {"sysfs", ADL_YAML_LINK, TELEMETRY(sysfs), .otherwise = "`/sys`",
     .help = "folder of the kernel's files on AMD GPUs"},
};
static const struct adl_yaml_table telemetry_table = {TABLE(telemetry_fields, struct form_telemetry)};

#define JOBS(member) ADL_YAML_AT(struct form_jobs, member)
static const struct adl_yaml_field jobs_fields[] = {
    {"time_limit_s", ADL_YAML_REAL, JOBS(time_limit_s), .min = 1, .max = 8.64e6,
     .help = "time limit of jobs without one"},
    {"grace_s", ADL_YAML_REAL, JOBS(grace_s), .min = 0, .max = 3600,
     .help = "time between TERM and KILL for a job that has to end"},
    {"max", ADL_YAML_INT, JOBS(max), .min = 1, .max = 1e7, .help = "jobs that wait or run; more are refused"},
    {"max_per_user", ADL_YAML_INT, JOBS(max_per_user), .min = 1, .max = 1e7,
     .help = "of one user, administrators included; more are refused"},
    {"mib_per_user", ADL_YAML_REAL, JOBS(mib_per_user), .min = 0.001, .max = 1e9,
     .help = "MiB of the state for the jobs of one user. Beyond it submissions are refused, and the oldest of the "
             "user's ended jobs are deleted early"},
    {"retention_days", ADL_YAML_REAL, JOBS(retention_days), .min = 1e-6, .max = 36500,
     .help = "how long ended jobs and events are kept"},
    {"priority_max", ADL_YAML_REAL, JOBS(priority_max), .min = 0, .max = 1,
     .help = "the highest priority that users may submit with; administrators may use any"},
    {"private", ADL_YAML_BOOL, JOBS(private),
     .help = "users see only their own jobs, wherever jobs are shown; administrators see all"},
    {"root", ADL_YAML_BOOL, JOBS(root), .help = "root may submit jobs, which then run as root"},
    {"cgroup", ADL_YAML_LINK, JOBS(cgroup), .otherwise = "no limits on memory and cores",
     .help = "folder of a cgroup v2 that is delegated to the service; each job gets its own cgroup in it"},
};
static const struct adl_yaml_table jobs_table = {TABLE(jobs_fields, struct form_jobs)};

#define FORECAST(member) ADL_YAML_AT(struct form_forecast, member)
static const struct adl_yaml_field forecast_fields[] = {
    {"futures", ADL_YAML_INT, FORECAST(futures), .min = 0, .max = 256,
     .help = "futures that are played for a forecast, best a power of two; 0 = no forecasts"},
    {"interval_s", ADL_YAML_REAL, FORECAST(interval_s), .min = 0.1, .max = 3600,
     .help = "least time from one round of forecasts to the next"},
    {"cpu_share", ADL_YAML_REAL, FORECAST(cpu_share), .min = 0.001, .max = 1,
     .help = "share of one core that forecasts may take; if they need more, they are made less often"},
};
static const struct adl_yaml_table forecast_table = {TABLE(forecast_fields, struct form_forecast)};

#define IDLE(member) ADL_YAML_AT(struct form_idle, member)
static const struct adl_yaml_field idle_fields[] = {
    {"below_percent", ADL_YAML_REAL, IDLE(below_percent), .min = 0.1, .max = 100,
     .help = "a GPU of lower utilization is not used"},
    {"after_s", ADL_YAML_REAL, IDLE(after_s), .min = 1, .max = 8.64e6, .or_zero = true,
     .help = "unused for so long, it is idle: the job is shown as such and its owner is told; at least four times "
             "`telemetry.interval_s`; 0 = nothing is looked for"},
    {"stop", ADL_YAML_BOOL, IDLE(stop), .help = "a job all of whose GPUs are idle is given notice and then stopped"},
    {"notice_s", ADL_YAML_REAL, IDLE(notice_s), .min = 1, .max = 8.64e6,
     .help = "time from the notice to the stop, in which the job can use a GPU and stay"},
};
static const struct adl_yaml_table idle_table = {TABLE(idle_fields, struct form_idle)};

#define HOOK(member) ADL_YAML_AT(struct form_hook, member)
static const struct adl_yaml_field hook_fields[] = {
    {"events", ADL_YAML_LINKS, HOOK(events), .min = 1, .max = ADL_HOOK_EVENTS, .required = true,
     .help = "of `job_end`, `idle`, `alert`, `drift`, `gate`"},
    {"webhook", ADL_YAML_LINK, HOOK(webhook), .otherwise = "`mail`", .help = "URL (http or https) that gets a POST"},
    {"secret_file", ADL_YAML_LINK, HOOK(secret_file), .otherwise = "no secret",
     .help = "for `webhook`: file whose first line is sent in a header; read for each delivery"},
    {"secret_header", ADL_YAML_LINK, HOOK(secret_header), .otherwise = "`X-Adlro-Secret`",
     .help = "name of that header"},
    {"mail", ADL_YAML_LINK, HOOK(mail), .otherwise = "`webhook`",
     .help = "address that gets a mail; `owner`: the user of the job"},
};
static const struct adl_yaml_table hook_table = {TABLE(hook_fields, struct form_hook), .located = true};

#define SENDMAIL(member) ADL_YAML_AT(struct form_sendmail, member)
static const struct adl_yaml_field sendmail_fields[] = {
    {"program", ADL_YAML_LINK, SENDMAIL(program), .otherwise = "`/usr/sbin/sendmail`",
     .help = "program that sends mail, called as `PROGRAM -i -- ADDRESS`"},
    {"from", ADL_YAML_LINK, SENDMAIL(from), .otherwise = "`adlro`", .help = "sender of mails"},
};
static const struct adl_yaml_table sendmail_table = {TABLE(sendmail_fields, struct form_sendmail)};

#define LIMIT(member) ADL_YAML_AT(struct form_limit, member)
static const struct adl_yaml_field limit_fields[] = {
    {"at", ADL_YAML_LINK, LIMIT(time), .required = true, .help = "time of the day, local: `08:00`"},
    {"limit_w", ADL_YAML_REAL, LIMIT(limit_w), .min = 1, .max = 1e9, .or_zero = true, .required = true,
     .help = "what all GPUs together may draw from then on; 0 = no limit"},
};
static const struct adl_yaml_table limit_table = {TABLE(limit_fields, struct form_limit), .located = true};

#define POWER(member) ADL_YAML_AT(struct form_power, member)
static const struct adl_yaml_field power_fields[] = {
    {"helper", ADL_YAML_LINK, POWER(helper), .otherwise = "none: `power_caps` is refused",
     .help = "for `local`: the program `adlro-powercap`, or the socket of the one that systemd starts"},
    {"allow", ADL_YAML_LINK, POWER(allow), .otherwise = "required if `helper` is a program",
     .help = "its allow list, a file: lines of `GPU LEAST_W MOST_W`"},
    {"limits", ADL_YAML_LIST, POWER(limits), .min = 0, .max = ADL_POWER_LIMITS_MAX, .table = &limit_table,
     .otherwise = "no limit", .help = "every day, in order of time; for a policy that follows it (`gogh`)"},
};
static const struct adl_yaml_table power_table = {TABLE(power_fields, struct form_power)};

#define ALIAS(member) ADL_YAML_AT(struct form_alias, member)
static const struct adl_yaml_field alias_fields[] = {
    {"gres", ADL_YAML_LINK, .required = true, ALIAS(gres), .help = "name of the type in `gres.conf`"},
    {"type", ADL_YAML_LINK, .required = true, ALIAS(type), .help = "its name in the catalogue"},
};
static const struct adl_yaml_table alias_table = {TABLE(alias_fields, struct form_alias), .located = true};

#define SLURM(member) ADL_YAML_AT(struct form_slurm, member)
static const struct adl_yaml_field slurm_fields[] = {
    {"partitions", ADL_YAML_LINKS, SLURM(partitions), .min = 1, .max = 64, .otherwise = "required",
     .help = "the partitions whose GPU jobs adlro schedules; it touches no other"},
    {"mode", ADL_YAML_NAME, SLURM(mode), .names = mode_names, .otherwise = "observe",
     .help = "`observe` decides and records, `advise` also writes decisions into the comment of the job, `act` places "
             "jobs"},
    {"conf", ADL_YAML_LINK, SLURM(conf), .otherwise = "where Slurm has it", .help = "slurm.conf"},
    {"adapter", ADL_YAML_LINK, SLURM(adapter), .otherwise = "`adlro-slurm` beside the program",
     .help = "the adapter program"},
    {"types", ADL_YAML_LIST, SLURM(types), .min = 0, .max = ADL_TYPES_MAX, .table = &alias_table,
     .otherwise = "the same names", .help = "GPU types with other names than in the catalogue"},
    {"requeue", ADL_YAML_BOOL, SLURM(requeue),
     .help = "policies may preempt a job that Slurm may requeue; it later starts from the beginning"},
    {"wait_s", ADL_YAML_REAL, SLURM(wait_s), .min = 1, .max = 600,
     .help = "how long the service waits for Slurm when it starts"},
};
static const struct adl_yaml_table slurm_table = {TABLE(slurm_fields, struct form_slurm)};

#define FORM(member) ADL_YAML_AT(struct service_form, member)
static const struct adl_yaml_field form_fields[] = {
    {"engine", ADL_YAML_NAME, FORM(engine), .names = adl_engine_names, .otherwise = "local",
     .help = "`local` runs jobs on this machine, `sim` runs a scenario as a live twin, `slurm` schedules a Slurm "
             "cluster"},
    {"scenario", ADL_YAML_LINK, FORM(scenario), .otherwise = "required for `sim`",
     .help = "file of the twin's scenario, relative to this file"},
    {"speed", ADL_YAML_REAL, FORM(speed), .min = 0.001, .max = 1e6,
     .help = "speed of the twin's time: 60 = a minute each second"},
    {"seed", ADL_YAML_INT, FORM(seed), .min = 0, .max = 9e15, .help = "seed of the policy and of the twin"},
    {"catalogue", ADL_YAML_LINK, FORM(catalogue), .otherwise = "the one in the program",
     .help = "for `local` and `slurm`: file with GPU types and job classes, relative to this file"},
    {"gpu_types", ADL_YAML_LIST, FORM(parts.gpu_types), .max = ADL_OWN_TYPES_MAX, .table = &adl_gpu_type_table,
     .otherwise = "optional",
     .help = "for `local` and `slurm`: GPU types that the catalogue does not have, or that differ from it, as there"},
    {"virtual", ADL_YAML_BOOL, FORM(virtual),
     .help = "for `local`: GPUs are not detected, jobs run on the slots of `cluster`, or on 4 slots if it is absent"},
    {"cluster", ADL_YAML_GROUP, FORM(parts.cluster), .table = &adl_form_cluster_table,
     .otherwise = "the GPUs of this machine; 4 virtual slots if it has none",
     .help = "for `local`: virtual slots in place of GPUs, as in a scenario; `type: virtual` is a slot without a type. "
             "On a "
             "machine with GPUs it needs `virtual: true`"},
    {"model", ADL_YAML_LINK, FORM(model), .otherwise = "the one in the program",
     .help = "for policies `dqn` and `adlro`: file of a trained network (`adlro train`), relative to this file"},
    {"learned", ADL_YAML_BOOL, FORM(learned),
     .help = "run times are predicted from completed jobs, not only from time limits"},
    {"drain_slow_gpus", ADL_YAML_LINK, FORM(drain_slow_gpus), .otherwise = "`off`",
     .help = "`off`, or a percentage between 5 and 90: a GPU that runs so far below its type is drained "
             "([drift.md](drift.md))"},
    {"fallback_policy", ADL_YAML_LINK, FORM(fallback_policy), .otherwise = "`easy`",
     .help = "`off`, or the policy that decides while predictions of run times do not hold, if `policy` rests on them "
             "([health.md](health.md))"},
    {"gate", ADL_YAML_NAME, FORM(gate), .names = adl_gate_names, .otherwise = "manual",
     .help = "whether a policy that shadows is promoted by an administrator (`manual`) or by itself once its gain is "
             "shown (`auto`), if `adlro shadow start` does not say ([shadow.md](shadow.md))"},
    {"policy", ADL_YAML_NODE, FORM(parts.policy), .otherwise = "`easy`",
     .help = "the scheduling policy: `name` (`adlro policies` lists them) and options of policies "
             "([policies.md](policies.md)); "
             "`priority_s` is 86400 if absent. For `sim` only these two, the rest is the scenario's"},
    {"listen", ADL_YAML_GROUP, FORM(listen), .table = &listen_table, .otherwise = "optional",
     .help = "where clients connect, and who may"},
    {"telemetry", ADL_YAML_GROUP, FORM(telemetry), .table = &telemetry_table, .otherwise = "optional",
     .help = "readings of the GPUs"},
    {"jobs", ADL_YAML_GROUP, FORM(jobs), .table = &jobs_table, .otherwise = "optional", .help = "limits for jobs"},
    {"forecast", ADL_YAML_GROUP, FORM(forecast), .table = &forecast_table, .otherwise = "optional",
     .help = "when waiting jobs will start ([twin.md](twin.md#in-the-service))"},
    {"idle", ADL_YAML_GROUP, FORM(idle), .table = &idle_table, .otherwise = "optional",
     .help = "jobs that hold GPUs and do not use them ([service.md](service.md#idle-gpus))"},
    {"hooks", ADL_YAML_LIST, FORM(hooks), .min = 0, .max = ADL_HOOKS_MAX, .table = &hook_table, .otherwise = "none",
     .help = "who is told what, by HTTP or mail ([hooks.md](hooks.md)); a change needs a restart"},
    {"sendmail", ADL_YAML_GROUP, FORM(sendmail), .table = &sendmail_table, .otherwise = "optional",
     .help = "how `hooks` send mail"},
    {"power", ADL_YAML_GROUP, FORM(power), .table = &power_table, .otherwise = "optional",
     .help = "limits on what GPUs draw ([power.md](power.md))"},
    {"slurm", ADL_YAML_GROUP, FORM(slurm), .table = &slurm_table, .otherwise = "required for `slurm`",
     .help = "the cluster underneath ([slurm.md](slurm.md))"},
};

static const struct service_form form_defaults = {
    .speed = 1,
    .seed = 1,
    .learned = true,
    .parts = {.lambda = 0.1, .kill_at_limit = true},
    .listen = {.requests_per_s = 1000},
    .telemetry = {.interval_s = 2, .retention_days = 30, .avoid_foreign = true},
    .jobs = {.time_limit_s = 86400,
             .grace_s = 30,
             .priority_max = 0.5,
             .max = 200000,
             .max_per_user = 100000,
             .mib_per_user = 1024,
             .retention_days = 365,
             .root = true},
    .forecast = {.futures = 32, .interval_s = 2, .cpu_share = 0.2},
    .idle = {.below_percent = 5, .after_s = 3600, .notice_s = 1800},
    .slurm = {.wait_s = 30},
};

const struct adl_yaml_table adl_service_table = {TABLE(form_fields, struct service_form), .defaults = &form_defaults};
