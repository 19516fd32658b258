/* view_cluster: the cluster, its history and the last decisions as JSON. */
#include "service/privacy.h"
#include "service/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* null if it is not finite or below least; with the digits of a float. */
static void put_real(struct adl_json *json, const char *key, double value, double least)
{
    adl_json_key(json, key);
    if (!isfinite(value) || value < least)
        adl_json_null(json);
    else
        adl_json_real(json, round(value * 1000) / 1000);
}

static double reading(const struct adl_service_state_gpu *gpu, int index)
{
    return gpu->last_us == 0 || (gpu->last.missing >> index & 1) ? NAN : (double)gpu->last.value[index];
}

static void put_gpu_jobs(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                         const struct adl_gpu_use *use)
{
    adl_json_key(json, "jobs");
    adl_json_array(json);
    for (int place = 0; place < ADL_GPU_JOBS_MAX; place++) {
        const struct adl_job_entry *job =
            use->job[place] == ADL_NONE ? NULL : adl_job_table_at(&shared->job_table, use->job[place]);
        if (job && !adl_privacy_shows(shared, viewer, job->uid))
            continue;
        if (!job || !adl_job_table_holds_gpus(job)) /* its slot has another job, and the engine does not know yet */
            continue;
        char label[ADL_LABEL_SIZE];
        adl_json_object(json);
        adl_json_put_uint(json, "id", adl_job_table_shown(job));
        adl_json_put_string(json, "label", adl_label_of_live(job, label));
        adl_json_put_string(json, "user", job->user);
        adl_json_put_string(json, "name", job->name);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static void put_gpu(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                    uint32_t gpu)
{
    static const char *const vendors[] = {
        [ADL_GPU_VIRTUAL] = "virtual", [ADL_GPU_NVIDIA] = "nvidia", [ADL_GPU_AMD] = "amd"};
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    const struct adl_inventory_gpu *known = &shared->inventory->gpus[gpu];
    const struct adl_gpu_type *type = &cluster->types[adl_gpu_type_of(cluster, gpu)];
    const struct adl_gpu_use *use = &adl_engine_state(shared->engine)->gpus[gpu];
    const struct adl_service_state_gpu *it = &shared->gpus[gpu];
    const int state = adl_service_state_gpu_state(shared, gpu);
    char health[ADL_HEALTH_SIZE];
    adl_json_object(json);
    adl_json_put_uint(json, "gpu", gpu);
    adl_json_put_uint(json, "index", known->index);
    adl_json_put_string(json, "id", known->id);
    adl_json_put_string(json, "type", type->name);
    adl_json_put_string(json, "model", known->model);
    adl_json_put_string(json, "vendor", vendors[known->vendor]);
    adl_json_put_string(json, "state", adl_gpu_state_name(state));
    adl_json_put_string(json, "reason", state == ADL_GPU_STATE_IDLE || state == ADL_GPU_STATE_BUSY ? "" : it->reason);
    adl_view_say_gpu(shared, gpu, health, sizeof health);
    put_real(json, "speed", adl_engine_state(shared->engine)->gpu_speed[gpu], 0);
    adl_json_put_string(json, "health", health);
    put_gpu_jobs(json, shared, viewer, use);
    adl_json_put_int(json, "memory_mib", type->memory_mib);
    put_real(json, "memory_used_mib", it->last_us > 0 ? (double)it->memory_used_mib : -1, 0);
    put_real(json, "utilization", reading(it, ADL_READ_UTILIZATION), 0);
    put_real(json, "temperature_c", reading(it, ADL_READ_TEMPERATURE), -273.15);
    put_real(json, "power_w", reading(it, ADL_READ_POWER), 0);
    put_real(json, "max_w", type->max_w, 1e-3);
    put_real(json, "cap_w", use->cap_w, 1e-3);
    adl_view_time(json, "sample_s", it->last_us);
    adl_json_end(json);
}

static void put_nodes(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer)
{
    const struct adl_cluster *cluster = &shared->inventory->scenario.cluster;
    const struct adl_state *state = adl_engine_state(shared->engine);
    adl_json_key(json, "nodes");
    adl_json_array(json);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct adl_node *node = &cluster->nodes[n];
        adl_json_object(json);
        adl_json_put_string(json, "name", node->name);
        adl_json_put_int(json, "cpu_cores", node->cpu_cores);
        adl_json_put_int(json, "memory_mib", node->memory_mib);
        adl_json_put_int(json, "free_cores", state->nodes_use[n].free_cores);
        adl_json_put_int(json, "free_memory_mib", state->nodes_use[n].free_memory_mib);
        adl_json_key(json, "gpus");
        adl_json_array(json);
        for (uint32_t g = 0; g < node->gpu_count; g++)
            put_gpu(json, shared, viewer, node->gpu_first + g);
        adl_json_end(json);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static void put_counts(struct adl_json *json, const struct adl_service_state *shared)
{
    static const int order[] = {ADL_GPU_STATE_BUSY,    ADL_GPU_STATE_IDLE,     ADL_GPU_STATE_DRAINING,
                                ADL_GPU_STATE_DRAINED, ADL_GPU_STATE_OCCUPIED, ADL_GPU_STATE_LOST};
    const uint32_t gpus = shared->inventory->scenario.cluster.gpu_count;
    const uint32_t running = adl_job_table_running(&shared->job_table);
    const struct adl_service_state_counts *counts = &shared->counts;
    uint32_t by_state[ADL_GPU_STATE_COUNT] = {0};
    for (uint32_t g = 0; g < gpus; g++)
        by_state[adl_service_state_gpu_state(shared, g)]++;
    adl_json_key(json, "counts");
    adl_json_object(json);
    adl_json_put_uint(json, "gpus", gpus);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        adl_json_put_uint(json, adl_gpu_state_name(order[i]), by_state[order[i]]);
    adl_json_put_uint(json, "pending", shared->job_table.count - running);
    adl_json_put_uint(json, "running", running);
    adl_json_put_uint(json, "submitted", counts->submitted);
    adl_json_put_uint(json, "started", counts->started);
    adl_json_put_uint(json, "completed", counts->completed);
    adl_json_put_uint(json, "failed", counts->failed);
    adl_json_put_uint(json, "cancelled", counts->cancelled);
    adl_json_put_uint(json, "timed_out", counts->timed_out);
    adl_json_put_uint(json, "requeued", counts->requeued);
    adl_json_end(json);
}

/* Of the GPUs with a reading; negative if none has one. */
static double power_w(const struct adl_service_state *shared)
{
    double sum = -1;
    for (uint32_t g = 0; g < shared->inventory->scenario.cluster.gpu_count; g++) {
        const double power = reading(&shared->gpus[g], ADL_READ_POWER);
        if (isfinite(power))
            sum = (sum < 0 ? 0 : sum) + power;
    }
    return sum;
}

/* How forecasts of start times are made, and how they turned out so far. */
static void put_forecast(struct adl_json *json, const struct adl_service_state *shared)
{
    adl_json_key(json, "forecast");
    const struct adl_forecasts_counts c =
        shared->forecasts ? adl_forecasts_counts(shared->forecasts) : (struct adl_forecasts_counts){0};
    if (!c.on) {
        adl_json_null(json);
        return;
    }
    adl_json_object(json);
    adl_view_time(json, "made_s", c.made_us > 0 ? c.made_us + shared->wall_ahead_us : 0);
    adl_json_put_string(json, "basis", c.made_us == 0 ? NULL : c.limits ? "time_limit" : "futures");
    adl_json_put_uint(json, "jobs", c.jobs);
    adl_json_put_uint(json, "ended_jobs", c.ended);
    adl_json_put_uint(json, "ended_jobs_needed", ADL_FORECAST_ENDS);
    adl_json_put_uint(json, "judged", c.started);
    put_real(json, "within_p50", c.started > 0 ? (double)c.in_p50 / (double)c.started : -1, 0);
    put_real(json, "within_p90", c.started > 0 ? (double)c.in_p90 / (double)c.started : -1, 0);
    adl_json_end(json);
}

void adl_view_cluster(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer)
{
    adl_json_object(json);
    adl_json_put_string(json, "engine", shared->engine_name);
    adl_json_put_bool(json, "virtual", shared->inventory->virtual);
    adl_json_put_real(json, "speed", shared->speed);
    adl_json_key(json, "policy");
    adl_json_object(json);
    adl_json_put_string(json, "name", shared->policy->name);
    adl_json_put_string(json, "summary", shared->policy->summary);
    adl_json_end(json);
    adl_json_put_string(json, "version", shared->version);
    adl_view_time(json, "now_s", shared->now_us(shared));
    adl_view_time(json, "started_s", shared->started_us);
    adl_json_put_string(json, "trouble", shared->trouble[0] ? shared->trouble : NULL);
    adl_json_put_string(json, "notice", shared->notice[0] ? shared->notice : NULL);
    put_counts(json, shared);
    put_real(json, "power_w", power_w(shared), 0);
    put_real(json, "energy_j", shared->counts.energy_j, 1e-9); /* null: nothing was measured */
    put_forecast(json, shared);
    put_nodes(json, shared, viewer);
    adl_json_end(json);
}

static void put_decision(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                         const struct adl_decision *decision)
{
    char why[sizeof decision->why];
    memcpy(why, decision->why, sizeof why);
    adl_privacy_redact(shared, viewer, why, sizeof why);
    adl_json_object(json);
    adl_json_put_uint(json, "sequence", decision->sequence);
    adl_view_time(json, "time_s", decision->time_us);
    adl_json_put_uint(json, "job", decision->job);
    adl_json_put_string(json, "label", decision->label);
    adl_json_put_string(json, "what", decision->what);
    adl_json_put_string(json, "gpus", decision->gpus);
    adl_json_put_string(json, "why", why);
    adl_json_end(json);
}

void adl_view_decisions(struct adl_json *json, const struct adl_service_state *shared, const struct adl_caller *viewer,
                        uint32_t limit)
{
    const uint64_t kept = shared->decision_count < ADL_DECISIONS_MAX ? shared->decision_count : ADL_DECISIONS_MAX;
    uint32_t shown = 0;
    adl_json_object(json);
    adl_json_key(json, "decisions");
    adl_json_array(json);
    for (uint64_t i = 0; i < kept && shown < limit; i++) {
        const struct adl_decision *decision = &shared->decisions[(shared->decision_count - 1 - i) % ADL_DECISIONS_MAX];
        if (!adl_privacy_shows(shared, viewer, decision->uid))
            continue;
        put_decision(json, shared, viewer, decision);
        shown++;
    }
    adl_json_end(json);
    adl_json_end(json);
}

/* ---- history ---- */

uint32_t adl_view_points(const struct adl_service_state *shared, struct adl_point *ret, uint32_t max)
{
    const uint64_t kept = shared->point_count < ADL_POINTS_MAX ? shared->point_count : ADL_POINTS_MAX;
    const uint32_t count = kept < max ? (uint32_t)kept : max;
    for (uint32_t i = 0; i < count; i++)
        ret[i] = shared->points[(shared->point_count - count + i) % ADL_POINTS_MAX];
    return count;
}

/* A mean of what is known; negative if nothing is. */
struct mean {
    double sum;
    uint32_t count;
};

static void mean_add(struct mean *mean, double value)
{
    if (isfinite(value) && value >= 0) {
        mean->sum += value;
        mean->count++;
    }
}

static double mean_of(const struct mean *mean)
{
    return mean->count ? mean->sum / mean->count : -1;
}

static void put_point(struct adl_json *json, const struct adl_point *points, uint32_t count)
{
    struct mean busy = {0}, utilization = {0}, power = {0}, pending = {0}, running = {0}, energy = {0};
    double jct_s = 0;
    uint64_t ended = 0, completed = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean_add(&busy, (double)points[i].busy_gpus);
        mean_add(&utilization, (double)points[i].utilization);
        mean_add(&power, (double)points[i].power_w);
        mean_add(&pending, points[i].pending);
        mean_add(&running, points[i].running);
        mean_add(&energy, points[i].energy_j);
        ended += points[i].ended;
        completed += points[i].completed;
        jct_s += points[i].jct_sum_s;
    }
    adl_json_object(json);
    adl_view_time(json, "time_s", points[count - 1].time_us);
    put_real(json, "busy_gpus", mean_of(&busy), 0);
    put_real(json, "utilization", mean_of(&utilization), 0);
    put_real(json, "power_w", mean_of(&power), 0);
    put_real(json, "pending", mean_of(&pending), 0);
    put_real(json, "running", mean_of(&running), 0);
    adl_json_put_uint(json, "ended", ended);
    put_real(json, "jct_mean_s", completed ? jct_s / (double)completed : -1, 0);
    put_real(json, "energy_j", energy.count ? energy.sum : -1, 0);
    adl_json_end(json);
}

void adl_view_history(struct adl_json *json, const struct adl_point *points, uint32_t count)
{
    const uint32_t each = (count + ADL_VIEW_POINTS_MAX - 1) / ADL_VIEW_POINTS_MAX;
    /* A twin's steps are longer, because its time is faster. */
    const int64_t step_us =
        count > 1 ? (points[count - 1].time_us - points[0].time_us) / (int64_t)(count - 1) : ADL_POINT_STEP_US;
    adl_json_object(json);
    put_real(json, "step_s", (double)step_us / 1e6 * (each ? each : 1), 0);
    adl_json_key(json, "points");
    adl_json_array(json);
    for (uint32_t i = 0; i < count; i += each)
        put_point(json, points + i, count - i < each ? count - i : each);
    adl_json_end(json);
    adl_json_end(json);
}
