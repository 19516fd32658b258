#include "service/metrics_page.h"

#include "http/openmetrics.h"
#include "service/view.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Upper bounds of the buckets of decision times. */
static const double bounds_s[] = {1e-6, 1e-5, 1e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 1e-1, 1};

enum { BOUNDS = sizeof bounds_s / sizeof *bounds_s };

struct gpu {
    uint8_t state;
    int64_t last_us;
    struct adl_telemetry last;
    int64_t memory_used_mib;
    double energy_j, cap_w;
    double speed; /* believed, relative to its type */
};

struct user {
    const char *name; /* lives as long as the service */
    double idle_s;
};

/* Copied under the lock; the page is written without it. */
struct snapshot {
    uint32_t by_stage[ADL_STAGE_COUNT];
    struct adl_service_state_counts counts;
    uint64_t events, decisions, commands, refused;
    uint64_t buckets[BOUNDS + 1];
    double decision_sum_s;
    double oldest_wait_s;
    size_t job_table_bytes;
    int64_t started_us;
    const struct adl_policy_ops *policy;
    bool trouble;
    double type_speed[ADL_TYPES_MAX];
    struct adl_calibration calibration;
    bool fallen_back;
    uint32_t idle_jobs, idle_gpus;
    struct user *users; /* that held GPUs in vain */
    uint32_t user_count;
    struct gpu *gpus;
};

static void count_decisions(struct snapshot *s, const struct adl_engine_counts *counts)
{
    for (size_t i = 0; i < counts->decision_count; i++) {
        const double time_s = (double)counts->decision_ns[i] * 1e-9;
        uint32_t bucket = 0;
        while (bucket < BOUNDS && time_s > bounds_s[bucket])
            bucket++;
        s->buckets[bucket]++;
        s->decision_sum_s += time_s;
    }
}

static double oldest_wait_s(const struct adl_service_state *shared)
{
    const int64_t now_us = shared->now_us(shared);
    int64_t oldest_us = now_us;
    for (const struct adl_job_entry *job = shared->job_table.first; job; job = job->next)
        if (job->stage == ADL_STAGE_QUEUED && job->eligible_us < oldest_us)
            oldest_us = job->eligible_us;
    return (double)(now_us - oldest_us) / 1e6;
}

static void count_idle(const struct adl_service_state *shared, struct snapshot *s)
{
    const struct adl_user_sums *sums = &shared->idle_users;
    for (const struct adl_job_entry *job = shared->job_table.first; job; job = job->next) {
        s->idle_jobs += job->stage == ADL_STAGE_RUNNING && job->idle.gpus > 0;
        s->idle_gpus += job->stage == ADL_STAGE_RUNNING ? job->idle.gpus : 0;
    }
    s->users = shared->private_jobs ? NULL : calloc(sums->count + (size_t)1, sizeof *s->users);
    for (uint32_t i = 0; s->users && i < sums->count; i++)
        s->users[s->user_count++] = (struct user){sums->users[i].user, sums->users[i].idle_us * 1e-6};
}

static void snapshot_take(const struct adl_service_state *shared, struct snapshot *s)
{
    const struct adl_engine_counts *engine = adl_engine_counts(shared->engine);
    const struct adl_state *state = adl_engine_state(shared->engine);
    for (int stage = 0; stage < ADL_STAGE_COUNT; stage++)
        s->by_stage[stage] = shared->job_table.by_stage[stage];
    s->counts = shared->counts;
    s->events = engine->events;
    s->decisions = engine->decisions;
    s->commands = engine->commands;
    s->refused = engine->refused;
    count_decisions(s, engine);
    s->oldest_wait_s = oldest_wait_s(shared);
    s->job_table_bytes = shared->job_table.bytes;
    s->started_us = shared->started_us;
    s->policy = shared->policy;
    s->trouble = shared->trouble[0] != '\0';
    for (uint32_t g = 0; g < shared->inventory->scenario.cluster.gpu_count; g++) {
        const struct adl_service_state_gpu *gpu = &shared->gpus[g];
        s->gpus[g] = (struct gpu){.state = (uint8_t)adl_service_state_gpu_state(shared, g),
                                  .last_us = gpu->last_us,
                                  .last = gpu->last,
                                  .memory_used_mib = gpu->memory_used_mib,
                                  .energy_j = gpu->energy_j,
                                  .cap_w = state->gpus[g].cap_w,
                                  .speed = state->gpu_speed[g]};
    }
    for (uint32_t t = 0; t < shared->inventory->scenario.cluster.type_count; t++)
        s->type_speed[t] = state->type_speed[t];
    s->calibration = *adl_belief_calibration(adl_engine_belief(shared->engine));
    s->fallen_back = shared->health.fallen_back;
    count_idle(shared, s);
}

/* ---- the page ---- */

static void put(struct adl_metrics_page *page, const char *name, int type, const char *unit, const char *help,
                double value)
{
    adl_metrics_family(page, name, type, unit, help);
    adl_metrics_value(page, NULL, 0, value);
}

static void put_labelled(struct adl_metrics_page *page, const char *label, const char *word, double value)
{
    adl_metrics_value(page, &(struct adl_metric_label){label, word}, 1, value);
}

static void put_jobs(struct adl_metrics_page *page, const struct snapshot *s)
{
    adl_metrics_family(page, "adlro_jobs", ADL_METRIC_GAUGE, NULL, "Jobs that wait or run, by stage.");
    for (int stage = 0, next; stage < ADL_STAGE_ENDED; stage = next) { /* stages with one name are neighbours */
        uint32_t jobs = 0;
        for (next = stage; strcmp(adl_stages[next].shown, adl_stages[stage].shown) == 0; next++)
            jobs += s->by_stage[next];
        put_labelled(page, "stage", adl_stages[stage].shown, jobs);
    }
    put(page, "adlro_jobs_submitted", ADL_METRIC_COUNTER, NULL, "Jobs submitted since the service began.",
        (double)s->counts.submitted);
    put(page, "adlro_jobs_started", ADL_METRIC_COUNTER, NULL, "Jobs started, each attempt counted.",
        (double)s->counts.started);
    put(page, "adlro_jobs_requeued", ADL_METRIC_COUNTER, NULL, "Running jobs that were put back into the queue.",
        (double)s->counts.requeued);
    adl_metrics_family(page, "adlro_jobs_ended", ADL_METRIC_COUNTER, NULL, "Jobs that ended, by how they did.");
    put_labelled(page, "end", "completed", (double)s->counts.completed);
    put_labelled(page, "end", "failed", (double)s->counts.failed);
    put_labelled(page, "end", "cancelled", (double)s->counts.cancelled);
    put_labelled(page, "end", "timed_out", (double)s->counts.timed_out);
    put(page, "adlro_queue_oldest_wait_seconds", ADL_METRIC_GAUGE, "seconds",
        "Longest wait of the queued jobs; 0 if none is queued.", s->oldest_wait_s);
}

static void put_gpu_counts(struct adl_metrics_page *page, const struct adl_cluster *cluster, const struct snapshot *s)
{
    adl_metrics_family(page, "adlro_gpus", ADL_METRIC_GAUGE, NULL, "GPUs, by type and state.");
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        uint32_t count[ADL_GPU_STATE_COUNT] = {0};
        for (uint32_t g = 0; g < cluster->gpu_count; g++)
            if (adl_gpu_type_of(cluster, g) == t)
                count[s->gpus[g].state]++;
        for (int state = 0; state < ADL_GPU_STATE_COUNT && cluster->type_gpus[t] > 0; state++) {
            const struct adl_metric_label labels[] = {{"type", cluster->types[t].name},
                                                      {"state", adl_gpu_state_name(state)}};
            adl_metrics_value(page, labels, 2, count[state]);
        }
    }
}

/* One family, of the GPUs that have a value. */
static void put_gpu_values(struct adl_metrics_page *page, const struct adl_inventory *inventory,
                           const struct snapshot *s, const char *name, int type, const char *unit, const char *help,
                           double (*value)(const struct gpu *gpu))
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    bool any = false;
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const double it = value(&s->gpus[g]);
        char number[16];
        if (isnan(it))
            continue;
        if (!any)
            adl_metrics_family(page, name, type, unit, help);
        any = true;
        snprintf(number, sizeof number, "%u", g);
        const struct adl_metric_label labels[] = {{"gpu", number},
                                                  {"id", inventory->gpus[g].id},
                                                  {"node", cluster->nodes[adl_gpu_node_of(cluster, g)].name},
                                                  {"type", cluster->types[adl_gpu_type_of(cluster, g)].name}};
        adl_metrics_value(page, labels, 4, it);
    }
}

static double reading(const struct gpu *gpu, int index)
{
    return gpu->last_us == 0 || (gpu->last.missing >> index & 1) ? NAN : (double)gpu->last.value[index];
}

static double utilization_of(const struct gpu *gpu)
{
    return reading(gpu, ADL_READ_UTILIZATION);
}

static double temperature_of(const struct gpu *gpu)
{
    return reading(gpu, ADL_READ_TEMPERATURE);
}

static double power_of(const struct gpu *gpu)
{
    return reading(gpu, ADL_READ_POWER);
}

static double energy_of(const struct gpu *gpu)
{
    return gpu->energy_j > 0 ? gpu->energy_j : NAN;
}

static double memory_of(const struct gpu *gpu)
{
    return gpu->last_us > 0 && gpu->memory_used_mib >= 0 ? (double)gpu->memory_used_mib * 1048576 : NAN;
}

static double cap_of(const struct gpu *gpu)
{
    return gpu->cap_w > 0 ? gpu->cap_w : NAN;
}

static double speed_of(const struct gpu *gpu)
{
    return gpu->speed;
}

static void put_speeds(struct adl_metrics_page *page, const struct adl_inventory *inventory, const struct snapshot *s)
{
    const struct adl_cluster *cluster = &inventory->scenario.cluster;
    put_gpu_values(page, inventory, s, "adlro_gpu_speed_ratio", ADL_METRIC_GAUGE, "ratio",
                   "Believed speed of a GPU relative to its type: 1 unless it was found slow.", speed_of);
    adl_metrics_family(page, "adlro_type_speed_ratio", ADL_METRIC_GAUGE, "ratio",
                       "Believed speed of a GPU type relative to when it was first seen.");
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (cluster->type_gpus[t] > 0)
            put_labelled(page, "type", cluster->types[t].name, s->type_speed[t]);
    adl_metrics_family(page, "adlro_drift_alarms", ADL_METRIC_COUNTER, NULL,
                       "Slow GPUs and changes of GPU types found since the service began.");
    put_labelled(page, "kind", "gpu", (double)s->counts.gpu_alarms);
    put_labelled(page, "kind", "type", (double)s->counts.type_alarms);
    put_labelled(page, "kind", "model", (double)s->counts.model_alarms);
}

static void put_predictions(struct adl_metrics_page *page, const struct snapshot *s)
{
    adl_metrics_family(page, "adlro_prediction_covered_ratio", ADL_METRIC_GAUGE, "ratio",
                       "Run times of recent ends inside of the predicted interval.");
    put_labelled(page, "interval", "50", adl_calibration_see(&s->calibration, ADL_COVERED_50).value);
    put_labelled(page, "interval", "90", adl_calibration_see(&s->calibration, ADL_COVERED_90).value);
    put(page, "adlro_prediction_log_bias", ADL_METRIC_GAUGE, NULL, "Mean of ln(run time / predicted) over recent ends.",
        adl_calibration_see(&s->calibration, ADL_LOG_BIAS).value);
    put(page, "adlro_prediction_log_spread", ADL_METRIC_GAUGE, NULL,
        "Mean distance of ln(run time / predicted) from its bias over recent ends.",
        adl_calibration_see(&s->calibration, ADL_LOG_SPREAD).value);
    put(page, "adlro_prediction_alarm", ADL_METRIC_GAUGE, NULL, "1 while predictions of run times do not hold, else 0.",
        s->calibration.alarm ? 1 : 0);
    put(page, "adlro_policy_fallback", ADL_METRIC_GAUGE, NULL, "1 while the fallback policy decides, else 0.",
        s->fallen_back ? 1 : 0);
}

static void put_idle(struct adl_metrics_page *page, const struct snapshot *s)
{
    put(page, "adlro_idle_jobs", ADL_METRIC_GAUGE, NULL, "Running jobs with GPUs that have been unused for long.",
        s->idle_jobs);
    put(page, "adlro_idle_gpus", ADL_METRIC_GAUGE, NULL, "GPUs that a job holds and has not used for long.",
        s->idle_gpus);
    put(page, "adlro_idle_jobs_stopped", ADL_METRIC_COUNTER, NULL, "Jobs stopped because they did not use their GPUs.",
        (double)s->counts.idle_stopped);
    if (s->user_count == 0)
        return;
    adl_metrics_family(page, "adlro_user_idle_gpu_seconds", ADL_METRIC_COUNTER, "seconds",
                       "GPU time that jobs of a user held and did not use, since the service began.");
    for (uint32_t i = 0; i < s->user_count; i++)
        put_labelled(page, "user", s->users[i].name, s->users[i].idle_s);
}

static void put_hooks(struct adl_metrics_page *page, struct adl_hooks *hooks)
{
    static const char *const results[] = {"sent", "failed", "dropped"};
    const struct adl_hooks_counts counts = adl_hooks_counts(hooks);
    adl_metrics_family(page, "adlro_hook_deliveries", ADL_METRIC_COUNTER, NULL,
                       "Messages of hooks: sent, given up after retries, or dropped because the queue was full.");
    for (int kind = 0; kind < ADL_HOOK_KINDS; kind++) {
        const uint64_t values[] = {counts.sent[kind], counts.failed[kind], counts.dropped[kind]};
        for (int i = 0; i < 3; i++) {
            const struct adl_metric_label labels[] = {{"kind", adl_hook_kind_names[kind]}, {"result", results[i]}};
            adl_metrics_value(page, labels, 2, (double)values[i]);
        }
    }
    adl_metrics_family(page, "adlro_hook_retries", ADL_METRIC_COUNTER, NULL, "Failed attempts that were repeated.");
    for (int kind = 0; kind < ADL_HOOK_KINDS; kind++)
        put_labelled(page, "kind", adl_hook_kind_names[kind], (double)counts.retried[kind]);
    put(page, "adlro_hook_queue", ADL_METRIC_GAUGE, NULL, "Messages of hooks that wait to be sent.", counts.queued);
}

static void put_shadow(struct adl_metrics_page *page, struct adl_service_state *shared)
{
    adl_service_state_lock(shared);
    const struct adl_shadowing_counts c = adl_shadowing_counts(shared->shadowing);
    adl_service_state_unlock(shared);
    put(page, "adlro_shadow_promotions", ADL_METRIC_COUNTER, NULL, "Policies that were promoted.",
        (double)c.promotions);
    put(page, "adlro_shadow_rollbacks", ADL_METRIC_COUNTER, NULL, "Policies that were rolled back by themselves.",
        (double)c.rollbacks);
    if (!c.on)
        return;
    put(page, "adlro_shadow_windows", ADL_METRIC_GAUGE, NULL, "Windows in which both policies were compared.",
        (double)c.windows);
    put(page, "adlro_shadow_stage", ADL_METRIC_GAUGE, NULL,
        "Of the gate: 0 closed, 1 open, 2 on trial, 3 confirmed, 4 rolled back.", c.stage);
    put(page, "adlro_shadow_jct_change_ratio", ADL_METRIC_GAUGE, "ratio",
        "Change of the mean completion time under the policy that shadows.", c.change.mean);
}

/* Without the lock: forecasts and copies of the engine have their own. */
static void put_forecasts(struct adl_metrics_page *page, const struct adl_service_state *shared)
{
    const struct adl_forecasts_counts c = adl_forecasts_counts(shared->forecasts);
    const struct adl_snapshots_counts copies = adl_snapshots_counts(shared->snapshots);
    if (c.made_us > 0)
        put(page, "adlro_forecast_age_seconds", ADL_METRIC_GAUGE, "seconds",
            "Time since the last forecast of start times was made.", c.age_s);
    put(page, "adlro_forecast_jobs", ADL_METRIC_GAUGE, NULL, "Waiting jobs with a forecast.", c.jobs);
    put(page, "adlro_forecast_cpu_seconds", ADL_METRIC_COUNTER, "seconds", "CPU time of forecasts.", c.cpu_s);
    put(page, "adlro_forecast_failures", ADL_METRIC_COUNTER, NULL,
        "Rounds of forecasts that failed, because the service was too busy or memory was short.", (double)c.failures);
    put(page, "adlro_forecast_from_limits", ADL_METRIC_GAUGE, NULL,
        "1 while forecasts rest on time limits, because too few jobs have ended, else 0.", c.limits ? 1 : 0);
    put(page, "adlro_forecast_judged", ADL_METRIC_COUNTER, NULL,
        "Jobs that have started after a forecast from the belief.", (double)c.started);
    adl_metrics_family(page, "adlro_forecast_within", ADL_METRIC_COUNTER, NULL,
                       "Of them, jobs that have started by the time that their first forecast said.");
    put_labelled(page, "quantile", "0.5", (double)c.in_p50);
    put_labelled(page, "quantile", "0.9", (double)c.in_p90);
    put(page, "adlro_engine_copies", ADL_METRIC_COUNTER, NULL, "Copies of the engine for other threads.",
        (double)copies.copies);
    put(page, "adlro_engine_copy_seconds", ADL_METRIC_COUNTER, "seconds",
        "Time that the deciding thread spent on copies of the engine.", copies.copy_s);
    put(page, "adlro_engine_copy_longest_seconds", ADL_METRIC_GAUGE, "seconds", "Of the longest of them.",
        copies.longest_s);
}

static void put_gpus(struct adl_metrics_page *page, const struct adl_inventory *inventory, const struct snapshot *s)
{
    put_gpu_counts(page, &inventory->scenario.cluster, s);
    put_gpu_values(page, inventory, s, "adlro_gpu_utilization_ratio", ADL_METRIC_GAUGE, "ratio",
                   "Share of time a GPU had work, by its driver.", utilization_of);
    put_gpu_values(page, inventory, s, "adlro_gpu_temperature_celsius", ADL_METRIC_GAUGE, "celsius",
                   "Temperature of a GPU.", temperature_of);
    put_gpu_values(page, inventory, s, "adlro_gpu_power_watts", ADL_METRIC_GAUGE, "watts", "What a GPU draws.",
                   power_of);
    put_gpu_values(page, inventory, s, "adlro_gpu_power_cap_watts", ADL_METRIC_GAUGE, "watts",
                   "Power cap of a GPU that has one.", cap_of);
    put_gpu_values(page, inventory, s, "adlro_gpu_memory_used_bytes", ADL_METRIC_GAUGE, "bytes",
                   "Memory of a GPU in use.", memory_of);
    put_gpu_values(page, inventory, s, "adlro_gpu_energy_joules", ADL_METRIC_COUNTER, "joules",
                   "Energy of a GPU since the service began, by its counter.", energy_of);
    put_speeds(page, inventory, s);
    if (s->counts.energy_j > 0) /* else nothing was measured */
        put(page, "adlro_energy_joules", ADL_METRIC_COUNTER, "joules", "Energy of all GPUs since the service began.",
            s->counts.energy_j);
}

static void put_engine(struct adl_metrics_page *page, const struct snapshot *s)
{
    put(page, "adlro_engine_events", ADL_METRIC_COUNTER, NULL, "Events that the engine has seen.", (double)s->events);
    put(page, "adlro_engine_decisions", ADL_METRIC_COUNTER, NULL, "Times that the policy was asked.",
        (double)s->decisions);
    put(page, "adlro_engine_commands", ADL_METRIC_COUNTER, NULL, "Commands that were carried out.",
        (double)s->commands);
    put(page, "adlro_engine_refused", ADL_METRIC_COUNTER, NULL, "Commands that did not validate.", (double)s->refused);
    adl_metrics_family(page, "adlro_decision_seconds", ADL_METRIC_HISTOGRAM, "seconds",
                       "Time of one decision in sixteen, of the first million or so.");
    adl_metrics_histogram(page, NULL, 0, bounds_s, s->buckets, BOUNDS, s->decision_sum_s);
}

static void put_http(struct adl_metrics_page *page, const struct adl_http_counts *http)
{
    put(page, "adlro_http_connections", ADL_METRIC_COUNTER, NULL, "Connections accepted.", (double)http->connections);
    put(page, "adlro_http_requests", ADL_METRIC_COUNTER, NULL, "Requests whose head was read.", (double)http->requests);
    adl_metrics_family(page, "adlro_http_answers", ADL_METRIC_COUNTER, NULL,
                       "Answers, by the first digit of their status.");
    for (int digit = 1; digit < 6; digit++)
        put_labelled(page, "class", (const char[]){(char)('0' + digit), 'x', 'x', '\0'}, (double)http->answers[digit]);
    put(page, "adlro_http_refused_connections", ADL_METRIC_COUNTER, NULL, "Connections over a limit.",
        (double)http->refused);
    put(page, "adlro_http_limited", ADL_METRIC_COUNTER, NULL, "Requests over their client's rate.",
        (double)http->limited);
    put(page, "adlro_http_timed_out", ADL_METRIC_COUNTER, NULL, "Clients too slow, and answers that did not come.",
        (double)http->timed_out);
    put(page, "adlro_http_dropped_streams", ADL_METRIC_COUNTER, NULL, "Event streams that fell behind.",
        (double)http->dropped);
    put(page, "adlro_http_open_connections", ADL_METRIC_GAUGE, NULL, "Connections open now.", (double)http->open);
    put(page, "adlro_http_streams", ADL_METRIC_GAUGE, NULL, "Event streams open now.", (double)http->streams);
}

/* Resident bytes of this process; negative if not known. */
static double resident_bytes(void)
{
    char text[128];
    long pages = -1;
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    char *at = text;
    (void)strtol(text, &at, 10); /* the first is the whole address space */
    if (*at == ' ')
        pages = strtol(at, NULL, 10);
    return pages < 0 ? -1 : (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_service(struct adl_metrics_page *page, const struct adl_service_state *shared, const struct snapshot *s)
{
    const double resident = resident_bytes();
    const struct adl_metric_label build[] = {{"version", shared->version}, {"engine", shared->engine_name}};
    put(page, "adlro_internal_errors", ADL_METRIC_COUNTER, NULL,
        "Impossible moves of jobs from stage to stage, which the service did not do.",
        (double)s->counts.impossible_moves);
    put(page, "adlro_store_failures", ADL_METRIC_COUNTER, NULL, "Groups of writes that failed.",
        (double)s->counts.store_failures);
    put(page, "adlro_trouble", ADL_METRIC_GAUGE, NULL, "1 while nothing can be written, else 0.", s->trouble ? 1 : 0);
    put(page, "adlro_job_table_bytes", ADL_METRIC_GAUGE, "bytes", "Memory of the jobs that wait or run, roughly.",
        (double)s->job_table_bytes);
    put(page, "adlro_start_time_seconds", ADL_METRIC_GAUGE, "seconds", "When the service began, since the epoch.",
        (double)s->started_us / 1e6);
    if (resident >= 0)
        put(page, "process_resident_memory_bytes", ADL_METRIC_GAUGE, "bytes", "Memory of the service's process.",
            resident);
    adl_metrics_family(page, "adlro_build_info", ADL_METRIC_GAUGE, NULL, "What runs: always 1.");
    adl_metrics_value(page, build, 2, 1);
    adl_metrics_family(page, "adlro_policy_info", ADL_METRIC_GAUGE, NULL, "The policy in force: always 1.");
    put_labelled(page, "policy", s->policy->name, 1);
}

int adl_metrics_page_write(struct adl_service_state *shared, const struct adl_http_counts *http, bool openmetrics,
                           struct adl_text *text, struct adl_error *err)
{
    struct adl_metrics_page page = {.text = text, .openmetrics = openmetrics};
    struct snapshot s = {.gpus = calloc(shared->inventory->scenario.cluster.gpu_count + 1u, sizeof *s.gpus)};
    if (!s.gpus)
        return adl_fail(err, ADL_ENOMEM, "no memory for the page of metrics");
    adl_service_state_lock(shared);
    snapshot_take(shared, &s);
    adl_service_state_unlock(shared);
    put_jobs(&page, &s);
    put_gpus(&page, shared->inventory, &s);
    put_engine(&page, &s);
    put_predictions(&page, &s);
    put_idle(&page, &s);
    if (shared->hooks)
        put_hooks(&page, shared->hooks);
    if (shared->forecasts)
        put_forecasts(&page, shared);
    if (shared->shadowing)
        put_shadow(&page, shared);
    if (http)
        put_http(&page, http);
    put_service(&page, shared, &s);
    free(s.users);
    free(s.gpus);
    return adl_metrics_end(&page, err);
}
