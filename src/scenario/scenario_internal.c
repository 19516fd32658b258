/* scenario_internal: the typed tables of a scenario file: every key, its range, its default and what it means. */
#include "scenario/scenario_internal.h"

#include "scenario/scenario.h"

#define COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define TABLE(array, type) .fields = (array), .field_count = COUNT(array), .size = sizeof(type)

#define LONG_S 1e9    /* 31 years: longer than any run */
#define TASK_S 8.64e6 /* 100 days: longer than any job */

static const char *const process_names[] = {"poisson", "diurnal", "bursty", "surge", "backlog", NULL};
static const char *const events_names[] = {"together", "one_by_one", NULL};
_Static_assert(COUNT(process_names) == ADL_ARRIVAL_BACKLOG + 2, "an arrival process without a name");

#define BANK(member) ADL_YAML_AT(struct adl_form_bank, member)
static const struct adl_yaml_field bank_fields[] = {
    {"type", ADL_YAML_LINK, BANK(type), .required = true, .help = "a GPU type of `gpu_types` or of the catalogue"},
    {"count", ADL_YAML_INT, BANK(count), .min = 1, .max = ADL_BANK_GPUS_MAX, .required = true,
     .help = "GPUs of that type in each such node"},
};
static const struct adl_yaml_table bank_table = {TABLE(bank_fields, struct adl_form_bank), .located = true};

#define NODE(member) ADL_YAML_AT(struct adl_form_node, member)
static const struct adl_yaml_field node_fields[] = {
    {"name", ADL_YAML_WORD, NODE(name), .required = true, .help = "a `count` above 1 gives name-0, name-1, ..."},
    {"count", ADL_YAML_INT, NODE(count), .min = 1, .max = ADL_NODES_MAX, .help = "equal nodes"},
    {"cpu_cores", ADL_YAML_INT, NODE(cpu_cores), .min = 1, .max = 65536, .required = true, .help = "of each node"},
    {"memory_mib", ADL_YAML_INT, NODE(memory_mib), .min = 1, .max = 1e9, .required = true,
     .help = "host memory of each node"},
    {"link_gbs", ADL_YAML_REAL, NODE(link_gbs), .min = 0.001, .max = 1e6, .required = true,
     .help = "between two GPUs of the node, in GB/s"},
    {"gpus", ADL_YAML_LIST, NODE(gpus), .min = 1, .max = ADL_TYPES_MAX, .table = &bank_table, .required = true,
     .help = "its GPUs, each type once"},
};
static const struct adl_yaml_table node_table = {TABLE(node_fields, struct adl_form_node), .located = true,
                                                 .defaults = &(const struct adl_form_node){.count = 1}};

#define CLUSTER(member) ADL_YAML_AT(struct adl_form_cluster, member)
static const struct adl_yaml_field cluster_fields[] = {
    {"network_gbs", ADL_YAML_REAL, CLUSTER(network_gbs), .min = 0.001, .max = 1e6, .required = true,
     .help = "between two nodes, in GB/s"},
    {"nodes", ADL_YAML_LIST, CLUSTER(nodes), .min = 1, .max = 65536, .table = &node_table, .required = true,
     .help = "groups of equal nodes; 262144 nodes and 4194304 GPUs at most in all"},
};
const struct adl_yaml_table adl_form_cluster_table = {TABLE(cluster_fields, struct adl_form_cluster)};

#define ARRIVALS(member) ADL_YAML_AT(struct adl_form_arrivals, model.member)
static const struct adl_yaml_field arrivals_fields[] = {
    {"process", ADL_YAML_NAME, ARRIVALS(process), .names = process_names, .required = true,
     .help = "how jobs arrive; `backlog`: all at time 0"},
    {"rate_per_h", ADL_YAML_REAL, ARRIVALS(rate_per_h), .min = 1e-6, .max = 1e9,
     .otherwise = "required except for `backlog`",
     .help = "jobs per hour: mean over the run (poisson, bursty), over a period (diurnal), outside the surge "
             "(surge)"},
    {"amplitude", ADL_YAML_REAL, ARRIVALS(amplitude), .min = 0, .max = 1,
     .help = "diurnal: the rate swings by this share"},
    {"period_s", ADL_YAML_REAL, ARRIVALS(period_s), .min = 1, .max = LONG_S, .help = "diurnal: length of the wave"},
    {"burst_jobs", ADL_YAML_REAL, ARRIVALS(burst_jobs), .min = 1, .max = 1e6,
     .help = "bursty: mean jobs that arrive together"},
    {"surge_start_s", ADL_YAML_REAL, ARRIVALS(surge_start_s), .min = 0, .max = LONG_S,
     .otherwise = "required for `surge`", .help = "surge: when it begins"},
    {"surge_length_s", ADL_YAML_REAL, ARRIVALS(surge_length_s), .min = 0.001, .max = LONG_S,
     .otherwise = "required for `surge`", .help = "surge: how long it lasts"},
    {"surge_factor", ADL_YAML_REAL, ARRIVALS(surge_factor), .min = 0.001, .max = 1e4,
     .help = "surge: the rate inside it, as a multiple of `rate_per_h`"},
    {"surge_kind", ADL_YAML_NAME, ARRIVALS(surge_kind), .names = adl_kind_names, .otherwise = "any kind",
     .help = "surge: only this kind of job arrives in it; the mix must have one"},
};
static const struct adl_yaml_table arrivals_table = {TABLE(arrivals_fields, struct adl_form_arrivals), .located = true};

#define LIMITS(member) ADL_YAML_AT(struct adl_limits, member)
static const struct adl_yaml_field limits_fields[] = {
    {"median_factor", ADL_YAML_REAL, LIMITS(median_factor), .min = 1, .max = 1000,
     .help = "median of limit / true run time on the slowest acceptable type"},
    {"sigma", ADL_YAML_REAL, LIMITS(sigma), .min = 0, .max = 5,
     .help = "standard deviation of the logarithm of that factor"},
    {"exact_share", ADL_YAML_REAL, LIMITS(exact_share), .min = 0, .max = 1,
     .help = "share of jobs whose limit is the exact run time"},
    {"round_s", ADL_YAML_REAL, LIMITS(round_s), .min = 0.001, .max = TASK_S, .or_zero = true,
     .help = "limits are rounded up to a multiple of this; 0 = not rounded"},
};
static const struct adl_yaml_table limits_table = {TABLE(limits_fields, struct adl_limits)};

#define DURATION(member) ADL_YAML_AT(struct adl_form_duration, member)
static const struct adl_yaml_field duration_fields[] = {
    {"median", ADL_YAML_REAL, DURATION(median), .min = 0.001, .max = TASK_S, .required = true,
     .help = "of the log-normal run time on the reference type; between `min` and `max`"},
    {"sigma", ADL_YAML_REAL, DURATION(sigma), .min = 0, .max = 5, .help = "standard deviation of its logarithm"},
    {"min", ADL_YAML_REAL, DURATION(min), .min = 0.001, .max = TASK_S, .help = "no job is shorter"},
    {"max", ADL_YAML_REAL, DURATION(max), .min = 0.001, .max = TASK_S, .help = "no job is longer"},
};
static const struct adl_yaml_table duration_table = {TABLE(duration_fields, struct adl_form_duration), .located = true};

#define GANG(member) ADL_YAML_AT(struct adl_form_gang, member)
static const struct adl_yaml_field gang_fields[] = {
    {"count", ADL_YAML_INT, GANG(count), .min = 1, .max = ADL_JOB_GPUS_MAX, .required = true,
     .help = "GPUs that the job needs together"},
    {"weight", ADL_YAML_REAL, GANG(weight), .min = 0, .max = 1e6, .help = "how often, relative to the others"},
};
static const struct adl_yaml_table gang_table = {TABLE(gang_fields, struct adl_form_gang), .located = true,
                                                 .defaults = &(const struct adl_form_gang){.weight = 1}};

#define PRIORITY(member) ADL_YAML_AT(struct adl_form_priority, member)
static const struct adl_yaml_field priority_fields[] = {
    {"min", ADL_YAML_REAL, PRIORITY(min), .min = 0, .max = 1, .help = "least"},
    {"max", ADL_YAML_REAL, PRIORITY(max), .min = 0, .max = 1, .help = "greatest; at least `min`"},
};
static const struct adl_yaml_table priority_table = {TABLE(priority_fields, struct adl_form_priority), .located = true};

#define PROMISE(member) ADL_YAML_AT(struct adl_form_promise, member)
static const struct adl_yaml_field deadline_fields[] = {
    {"share", ADL_YAML_REAL, PROMISE(share), .min = 0, .max = 1, .required = true,
     .help = "share of the jobs that carry a deadline"},
    {"slack", ADL_YAML_REAL, PROMISE(size), .min = 0.01, .max = 1e6, .required = true,
     .help = "deadline as a multiple of the run time on the reference type"},
};
static const struct adl_yaml_table deadline_table = {TABLE(deadline_fields, struct adl_form_promise)};
static const struct adl_yaml_field throughput_fields[] = {
    {"share", ADL_YAML_REAL, PROMISE(share), .min = 0, .max = 1, .required = true,
     .help = "share of the jobs that ask for a least throughput"},
    {"floor", ADL_YAML_REAL, PROMISE(size), .min = 0.001, .max = 100, .required = true,
     .help = "that least, relative to the reference type"},
};
static const struct adl_yaml_table throughput_table = {TABLE(throughput_fields, struct adl_form_promise)};

static const char *const loss_names[] = {"nothing", "since_checkpoint", "all", NULL}; /* enum adl_stop_loss */

#define MIX(member) ADL_YAML_AT(struct adl_form_mix, member)
static const struct adl_yaml_field mix_fields[] = {
    {"class", ADL_YAML_LINK, MIX(class), .required = true, .help = "a job class of the catalogue"},
    {"weight", ADL_YAML_REAL, MIX(weight), .min = 0, .max = 1e6, .help = "how often, relative to the others"},
    {"duration_s", ADL_YAML_GROUP, MIX(duration_s), .table = &duration_table, .required = true,
     .help = "run time on the reference type with the job's own number of GPUs"},
    {"reference", ADL_YAML_LINK, MIX(reference), .required = true,
     .help = "GPU type of the cluster that `duration_s` refers to; the class must have a speed on it"},
    {"types", ADL_YAML_LINKS, MIX(types), .min = 1, .max = ADL_TYPES_MAX,
     .otherwise = "all that have a speed and the memory", .help = "acceptable GPU types"},
    {"gpus", ADL_YAML_LIST, MIX(gpus), .min = 1, .max = ADL_GANGS_MAX, .table = &gang_table, .otherwise = "1 GPU each",
     .help = "how many GPUs the jobs need"},
    {"cpu_cores", ADL_YAML_INT, MIX(cpu_cores), .min = 0, .max = 65536, .help = "per GPU"},
    {"memory_mib", ADL_YAML_INT, MIX(memory_mib), .min = 0, .max = 1e9, .help = "host memory per GPU"},
    {"gpu_memory_mib", ADL_YAML_INT, MIX(gpu_memory_mib), .min = 0, .max = 1e8, .otherwise = "the class's",
     .help = "on each GPU"},
    {"priority", ADL_YAML_GROUP, MIX(priority), .table = &priority_table, .otherwise = "optional",
     .help = "drawn evenly between two bounds"},
    {"share", ADL_YAML_BOOL, MIX(share), .help = "may run beside one other job on the same GPU"},
    {"preemptible", ADL_YAML_BOOL, MIX(preemptible), .help = "may be stopped and run again"},
    {"stop_loses", ADL_YAML_NAME, MIX(stop_loss), .names = loss_names, .otherwise = "nothing",
     .help = "what a stop loses: `nothing` (the job saves its work when told to stop), the work `since_checkpoint`, or "
             "`all` of it"},
    {"checkpoint_every_s", ADL_YAML_REAL, MIX(checkpoint_every_s), .min = 0.01, .max = TASK_S,
     .otherwise = "required for `since_checkpoint`", .help = "run time from one checkpoint to the next"},
    {"span", ADL_YAML_BOOL, MIX(span), .help = "the GPUs of one job may be on several nodes"},
    {"deadline", ADL_YAML_GROUP, MIX(deadline), .table = &deadline_table, .otherwise = "optional",
     .help = "jobs that must finish in time"},
    {"throughput", ADL_YAML_GROUP, MIX(throughput), .table = &throughput_table, .otherwise = "optional",
     .help = "jobs that must run fast enough"},
};
static const struct adl_form_mix mix_defaults = {.weight = 1,
                                                 .duration_s = {.min = 0.001, .max = TASK_S},
                                                 .cpu_cores = 1,
                                                 .memory_mib = 1024,
                                                 .gpu_memory_mib = -1,
                                                 .priority = {.min = 0.5, .max = 0.5},
                                                 .preemptible = true};
static const struct adl_yaml_table mix_table = {TABLE(mix_fields, struct adl_form_mix), .located = true,
                                                .defaults = &mix_defaults};

#define WORKLOAD(member) ADL_YAML_AT(struct adl_form_workload, member)
static const struct adl_yaml_field workload_fields[] = {
    {"jobs", ADL_YAML_INT, WORKLOAD(jobs), .min = 1, .max = 1e9, .required = true, .help = "jobs in one run"},
    {"users", ADL_YAML_INT, WORKLOAD(users), .min = 1, .max = 1e6, .help = "users who submit them"},
    {"arrivals", ADL_YAML_GROUP, WORKLOAD(arrivals), .table = &arrivals_table, .required = true,
     .help = "when jobs arrive; keys of other processes are ignored"},
    {"limits", ADL_YAML_GROUP, WORKLOAD(limits), .table = &limits_table, .otherwise = "optional",
     .help = "how much more time users ask for than they need"},
    {"mix", ADL_YAML_LIST, WORKLOAD(mix), .min = 1, .max = 256, .table = &mix_table, .required = true,
     .help = "classes of jobs"},
};
static const struct adl_yaml_table workload_table = {TABLE(workload_fields, struct adl_form_workload), .located = true};

#define FAULTS(member) ADL_YAML_AT(struct adl_faults, member)
static const struct adl_yaml_field faults_fields[] = {
    {"gpu_mtbf_h", ADL_YAML_REAL, FAULTS(gpu_mtbf_h), .min = 0.01, .max = 1e9, .or_zero = true,
     .help = "mean time between failures of one GPU; 0 = never fails"},
    {"gpu_repair_h", ADL_YAML_REAL, FAULTS(gpu_repair_h), .min = 1e-4, .max = 1e5, .help = "mean time to repair it"},
    {"node_mtbf_h", ADL_YAML_REAL, FAULTS(node_mtbf_h), .min = 0.01, .max = 1e9, .or_zero = true,
     .help = "mean time between failures of one node; 0 = never fails"},
    {"node_repair_h", ADL_YAML_REAL, FAULTS(node_repair_h), .min = 1e-4, .max = 1e5, .help = "mean time to repair it"},
};
static const struct adl_yaml_table faults_table = {TABLE(faults_fields, struct adl_faults)};

#define UPDATE(member) ADL_YAML_AT(struct adl_form_update, member)
static const struct adl_yaml_field update_fields[] = {
    {"time_s", ADL_YAML_REAL, UPDATE(time_s), .min = 0, .max = LONG_S, .required = true, .help = "when"},
    {"type", ADL_YAML_LINK, UPDATE(type), .required = true, .help = "GPU type of the cluster whose speed it changes"},
    {"factor", ADL_YAML_REAL, UPDATE(factor), .min = 0.01, .max = 100, .required = true,
     .help = "speed afterwards / before"},
    {"version", ADL_YAML_TEXT, UPDATE(version), .otherwise = "not reported",
     .help = "version that the GPUs report afterwards"},
};
static const struct adl_yaml_table update_table = {TABLE(update_fields, struct adl_form_update), .located = true};

#define DRIFT(member) ADL_YAML_AT(struct adl_form_drift, member)
static const struct adl_yaml_field drift_fields[] = {
    {"wear_per_kh", ADL_YAML_REAL, DRIFT(model.wear_per_kh), .min = 0, .max = 1,
     .help = "share of speed that a GPU loses per 1000 busy hours"},
    {"wear_floor", ADL_YAML_REAL, DRIFT(model.wear_floor), .min = 0.01, .max = 1, .help = "never below this"},
    {"throttle_share", ADL_YAML_REAL, DRIFT(model.throttle_share), .min = 0, .max = 1,
     .help = "share of GPUs that throttle"},
    {"throttle_factor", ADL_YAML_REAL, DRIFT(model.throttle_factor), .min = 0.01, .max = 1,
     .help = "their speed while hot"},
    {"throttle_period_s", ADL_YAML_REAL, DRIFT(model.throttle_period_s), .min = 1, .max = LONG_S,
     .help = "they are hot for half of each period"},
    {"updates", ADL_YAML_LIST, DRIFT(updates), .min = 0, .max = ADL_UPDATES_MAX, .table = &update_table,
     .otherwise = "none", .help = "software updates that change speeds"},
};
static const struct adl_yaml_table drift_table = {TABLE(drift_fields, struct adl_form_drift)};

#define POWER_LIMIT(member) ADL_YAML_AT(struct adl_form_power_limit, member)
static const struct adl_yaml_field power_limit_fields[] = {
    {"time_s", ADL_YAML_REAL, POWER_LIMIT(limit.time_s), .min = 0, .max = LONG_S, .required = true,
     .help = "from when"},
    {"limit_w", ADL_YAML_REAL, POWER_LIMIT(limit.limit_w), .min = 1, .max = 1e9, .or_zero = true, .required = true,
     .help = "what all GPUs together may draw; 0 = no limit"},
};
static const struct adl_yaml_table power_limit_table = {TABLE(power_limit_fields, struct adl_form_power_limit),
                                                        .located = true};

#define TELEMETRY(member) ADL_YAML_AT(struct adl_telemetry_model, member)
static const struct adl_yaml_field telemetry_fields[] = {
    {"interval_s", ADL_YAML_REAL, TELEMETRY(interval_s), .min = 0.01, .max = 1e6, .or_zero = true,
     .help = "between two readings of a GPU; 0 = no telemetry"},
    {"noise", ADL_YAML_REAL, TELEMETRY(noise), .min = 0, .max = 1, .help = "relative standard deviation of a reading"},
    {"dropout", ADL_YAML_REAL, TELEMETRY(dropout), .min = 0, .max = 1, .help = "share of readings that are missing"},
    {"progress", ADL_YAML_BOOL, TELEMETRY(progress),
     .help = "running jobs report their speed as often, with the same noise"},
    {"steps_left", ADL_YAML_BOOL, TELEMETRY(steps_left),
     .help = "with `progress`: they report how many steps they have left, too"},
};
static const struct adl_yaml_table telemetry_table = {TABLE(telemetry_fields, struct adl_telemetry_model)};

#define PREEMPTION(member) ADL_YAML_AT(struct adl_form_preemption, member)
static const struct adl_yaml_field preemption_fields[] = {
    {"checkpoint_s", ADL_YAML_REAL, PREEMPTION(model.checkpoint_s), .min = 0, .max = 1e5,
     .help = "from the order to stop until the GPUs are free"},
    {"restart_s", ADL_YAML_REAL, PREEMPTION(model.restart_s), .min = 0, .max = 1e5,
     .help = "to read it back, GPUs held"},
    {"restart_by_gpus_s", ADL_YAML_REALS, PREEMPTION(restart_by_gpus_s), .min = 3, .max = 3,
     .otherwise = "`restart_s` for every job", .help = "instead, for jobs with 1, with 2 to 8 and with more GPUs"},
    {"rework_by_gpus_s", ADL_YAML_REALS, PREEMPTION(rework_by_gpus_s), .min = 3, .max = 3, .otherwise = "nothing",
     .help =
         "run time that each preemption adds to what is left to do, for jobs with 1, with 2 to 8 and with more GPUs"},
    {"interval_s", ADL_YAML_REAL, PREEMPTION(model.interval_s), .min = 0.01, .max = TASK_S, .or_zero = true,
     .help = "a failure loses at most this much work; 0 = all of it"},
};
static const struct adl_yaml_table preemption_table = {TABLE(preemption_fields, struct adl_form_preemption)};

#define NETWORK(member) ADL_YAML_AT(struct adl_network_model, member)
static const struct adl_yaml_field network_fields[] = {
    {"latency_ms", ADL_YAML_REAL, NETWORK(latency_ms), .min = 0, .max = 1e6, .help = "of a message"},
    {"jitter", ADL_YAML_REAL, NETWORK(jitter), .min = 0, .max = 1,
     .help = "share of the latency by which that of a message varies, so that one may overtake another"},
    {"loss", ADL_YAML_REAL, NETWORK(loss), .min = 0, .max = 0.5, .help = "share of messages that are lost"},
    {"duplicate", ADL_YAML_REAL, NETWORK(duplicate), .min = 0, .max = 0.5, .help = "share of messages that come twice"},
    {"crash_mtbf_h", ADL_YAML_REAL, NETWORK(crash_mtbf_h), .min = 0.01, .max = 1e9, .or_zero = true,
     .help = "mean time between crashes of one agent, which forgets its queue; jobs that run go on; 0 = none crashes"},
    {"crash_s", ADL_YAML_REAL, NETWORK(crash_s), .min = 0.001, .max = 1e6, .help = "mean time until it is back"},
    {"partition_start_s", ADL_YAML_REAL, NETWORK(partition_start_s), .min = 0, .max = LONG_S,
     .help = "from then on some agents reach only each other, not the auctioneer"},
    {"partition_s", ADL_YAML_REAL, NETWORK(partition_s), .min = 0, .max = LONG_S,
     .help = "how long that lasts; 0 = it never happens"},
    {"partition_share", ADL_YAML_REAL, NETWORK(partition_share), .min = 0, .max = 1, .help = "share of the agents"},
};
static const struct adl_yaml_table network_table = {TABLE(network_fields, struct adl_network_model)};

#define REFERENCES(member) ADL_YAML_AT(struct adl_score_figures, member)
#define REFERENCE          .min = 1e-9, .max = 1e12
static const struct adl_yaml_field references_fields[] = {
    {"jct_s", ADL_YAML_REAL, REFERENCES(jct_s), REFERENCE, .required = true, .help = "mean JCT"},
    {"p99_s", ADL_YAML_REAL, REFERENCES(p99_s), REFERENCE, .required = true, .help = "99th percentile of JCT"},
    {"jobs_per_h", ADL_YAML_REAL, REFERENCES(jobs_per_h), REFERENCE, .required = true, .help = "throughput"},
    {"energy_mj", ADL_YAML_REAL, REFERENCES(energy_mj), REFERENCE, .or_zero = true,
     .help = "energy in MJ; 0 = it does not count"},
    {"slowdown", ADL_YAML_REAL, REFERENCES(slowdown), REFERENCE, .required = true, .help = "mean slowdown"},
    {"sla", ADL_YAML_REAL, REFERENCES(sla), .min = 1e-9, .max = 1, .or_zero = true,
     .help = "SLA attainment; 0 = it does not count"},
};
static const struct adl_yaml_table references_table = {TABLE(references_fields, struct adl_score_figures)};

#define FORM(member) ADL_YAML_AT(struct adl_scenario_form, member)
static const struct adl_yaml_field form_fields[] = {
    {"name", ADL_YAML_WORD, FORM(name), .required = true, .help = "what reports call it"},
    {"description", ADL_YAML_TEXT, FORM(description), .required = true, .help = "one or two sentences"},
    {"catalogue", ADL_YAML_LINK, FORM(catalogue), .required = true,
     .help = "file with GPU types and job classes, relative to this file"},
    {"lambda", ADL_YAML_REAL, FORM(lambda), .min = 0, .max = 1, .open = true,
     .help = "weight of idle GPU time in the reward"},
    {"kill_at_limit", ADL_YAML_BOOL, FORM(kill_at_limit), .help = "a job that reaches its time limit is ended"},
    {"events", ADL_YAML_NAME, FORM(events), .names = events_names, .otherwise = "together",
     .help = "ends and submissions of one instant: one decision after all of them; `one_by_one`: one after each"},
    {"gpu_types", ADL_YAML_LIST, FORM(gpu_types), .max = ADL_OWN_TYPES_MAX, .table = &adl_gpu_type_table,
     .otherwise = "optional", .help = "GPU types that the catalogue does not have, or that differ from it, as there"},
    {"cluster", ADL_YAML_GROUP, FORM(cluster), .table = &adl_form_cluster_table, .required = true,
     .help = "the hardware"},
    {"workload", ADL_YAML_GROUP, FORM(workload), .table = &workload_table,
     .otherwise = "required; a cluster file for traces needs none", .help = "the jobs"},
    {"faults", ADL_YAML_GROUP, FORM(faults), .table = &faults_table, .otherwise = "optional",
     .help = "hardware that fails"},
    {"drift", ADL_YAML_GROUP, FORM(drift), .table = &drift_table, .otherwise = "optional",
     .help = "hardware that changes; speed = wear * throttle * updates"},
    {"power_limit", ADL_YAML_LIST, FORM(power_limit), .min = 0, .max = ADL_POWER_LIMITS_MAX,
     .table = &power_limit_table, .otherwise = "none",
     .help = "what all GPUs may draw, as it changes over time; policies that cannot follow it are refused "
             "([power.md](power.md#a-limit-for-the-cluster))"},
    {"telemetry", ADL_YAML_GROUP, FORM(telemetry), .table = &telemetry_table, .otherwise = "optional",
     .help = "readings of each GPU"},
    {"preemption", ADL_YAML_GROUP, FORM(preemption), .table = &preemption_table, .otherwise = "optional",
     .help = "what stopping and resuming a job costs"},
    {"network", ADL_YAML_GROUP, FORM(network), .table = &network_table, .otherwise = "a perfect one",
     .help = "between the agents of policy `market` ([market.md](market.md))"},
    {"references", ADL_YAML_GROUP, FORM(references), .table = &references_table,
     .otherwise = "the first policy's figures",
     .help = "what HyperScore compares with ([metrics.md](metrics.md)); `--jobs` and traces ignore them"},
    {"policy", ADL_YAML_NODE, FORM(policy), .otherwise = "optional",
     .help = "options of policies ([policies.md](policies.md)); each goes to every policy that has it"},
    {"variants", ADL_YAML_NODE, FORM(variants), .otherwise = "none",
     .help = "policies with options of their own, by name: `{sjf-shared: {policy: sjf, share: true}}`"},
};

static const struct adl_scenario_form form_defaults = {
    .lambda = 0.1,
    .kill_at_limit = true,
    .workload = {.users = 1,
                 .arrivals = {.model = {.amplitude = 0.5,
                                        .period_s = 86400,
                                        .burst_jobs = 8,
                                        .surge_start_s = -1,
                                        .surge_length_s = -1,
                                        .surge_factor = 4,
                                        .surge_kind = -1}},
                 .limits = {.median_factor = 2.5, .sigma = 0.8, .exact_share = 0.1}},
    .faults = {.gpu_repair_h = 1, .node_repair_h = 1},
    .drift = {.model = {.wear_floor = 0.5, .throttle_factor = 1, .throttle_period_s = 3600}},
    .telemetry = {.noise = 0.02, .dropout = 0.01},
    .network = {.crash_s = 60, .partition_share = 0.5},
};

const struct adl_yaml_table adl_scenario_table = {TABLE(form_fields, struct adl_scenario_form),
                                                  .defaults = &form_defaults};
