/* live_history: the points of the charts, one for each step. The store keeps one in six, so that charts survive a
 * restart. */
#include "service/live/live_internal.h"

#include <cJSON.h>
#include <math.h>
#include <string.h>

#define KEPT_EVERY  6
#define EVENTS_READ 20000 /* the last ones, in which points are searched */

/* The last readings of GPUs, unless they are older than two steps. */
static void add_readings(const struct adl_live *live, struct adl_point *point)
{
    const struct adl_service_state *shared = live->shared;
    const uint32_t gpus = shared->inventory->scenario.cluster.gpu_count;
    double power_w = 0, utilization = 0;
    uint32_t powers = 0, utilizations = 0;
    for (uint32_t g = 0; g < gpus; g++) {
        const struct adl_service_state_gpu *gpu = &shared->gpus[g];
        if (gpu->last_us == 0 || gpu->last_us < live->now_us - 2 * live->point_step_us)
            continue;
        if (!(gpu->last.missing >> ADL_READ_POWER & 1)) {
            power_w += (double)gpu->last.value[ADL_READ_POWER];
            powers++;
        }
        if (!(gpu->last.missing >> ADL_READ_UTILIZATION & 1)) {
            utilization += (double)gpu->last.value[ADL_READ_UTILIZATION];
            utilizations++;
        }
    }
    point->power_w = powers > 0 ? (float)power_w : -1.0f;
    point->utilization = utilizations > 0 ? (float)(utilization / utilizations) : -1.0f;
    point->energy_j = powers > 0 ? power_w * (double)live->point_step_us * 1e-6 : -1.0;
}

static void end_step(struct adl_live *live)
{
    struct adl_service_state *shared = live->shared;
    struct adl_point *point = &live->point;
    point->time_us = live->point_us;
    point->busy_gpus = (float)(live->busy_gpu_us / (double)live->point_step_us);
    point->running = adl_job_table_running(&shared->job_table);
    point->pending = shared->job_table.count - point->running;
    add_readings(live, point);
    if (point->energy_j > 0)
        shared->counts.energy_j += point->energy_j;
    shared->points[shared->point_count++ % ADL_POINTS_MAX] = *point;
    *point = (struct adl_point){0};
    live->busy_gpu_us = 0;
}

void adl_live_count(struct adl_live *live, int64_t now_us)
{
    const double busy = live->shared->engine ? adl_engine_state(live->shared->engine)->busy_gpus : 0;
    /* After a day of suspension most steps would be empty. */
    if (now_us > live->point_us + ADL_POINTS_MAX * live->point_step_us)
        live->counted_us = live->point_us = now_us;
    while (live->point_us <= now_us) {
        live->busy_gpu_us += busy * (double)(live->point_us - live->counted_us);
        live->counted_us = live->point_us;
        end_step(live);
        live->point_us += live->point_step_us;
    }
    live->busy_gpu_us += busy * (double)(now_us - live->counted_us);
    live->counted_us = now_us;
}

/* ---- in the store ---- */

struct point_field {
    const char *name;
    double value;
};

void adl_live_keep_point(struct adl_live *live)
{
    struct adl_service_state *shared = live->shared;
    if (shared->point_count < live->kept_points + KEPT_EVERY)
        return;
    live->kept_points = shared->point_count;
    if (live->disk_full)
        return;
    const struct adl_point point = shared->points[(shared->point_count - 1) % ADL_POINTS_MAX];
    const struct point_field fields[] = {{"busy_gpus", (double)point.busy_gpus},
                                         {"utilization", (double)point.utilization},
                                         {"power_w", (double)point.power_w},
                                         {"pending", point.pending},
                                         {"running", point.running},
                                         {"ended", point.ended},
                                         {"completed", point.completed},
                                         {"jct_sum_s", point.jct_sum_s},
                                         {"energy_j", point.energy_j}};
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        adl_json_put_real(&json, fields[i].name, fields[i].value);
    }
    adl_json_end(&json);
    adl_service_state_unlock(shared);
    adl_live_log(live, "point", 0, &text, NULL); /* a failure is only a gap in a chart */
    adl_service_state_lock(shared);
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : -1;
}

static uint32_t count_of(const cJSON *object, const char *name)
{
    const double value = number_of(object, name);
    return value >= 0 && value < 4e9 ? (uint32_t)value : 0;
}

struct search {
    struct adl_service_state *shared;
    uint64_t last;  /* sequence */
    int64_t now_us; /* later points are from a clock that was ahead */
};

static int see_last(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    *(uint64_t *)context = event->sequence;
    return 0;
}

static int take_point(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    struct search *search = context;
    search->last = event->sequence;
    if (strcmp(event->kind, "point") != 0 || event->time_us > search->now_us)
        return 0;
    cJSON *object = cJSON_Parse(event->payload);
    const double jct_sum_s = number_of(object, "jct_sum_s");
    search->shared->points[search->shared->point_count++ % ADL_POINTS_MAX] =
        (struct adl_point){.time_us = event->time_us,
                           .busy_gpus = (float)number_of(object, "busy_gpus"),
                           .utilization = (float)number_of(object, "utilization"),
                           .power_w = (float)number_of(object, "power_w"),
                           .pending = count_of(object, "pending"),
                           .running = count_of(object, "running"),
                           .ended = count_of(object, "ended"),
                           .completed = count_of(object, "completed"),
                           .jct_sum_s = jct_sum_s > 0 ? jct_sum_s : 0,
                           .energy_j = number_of(object, "energy_j")};
    cJSON_Delete(object);
    return 0;
}

void adl_live_find_points(struct adl_live *live)
{
    struct adl_error err;
    uint64_t newest = 0;
    struct search search = {.shared = live->shared, .now_us = live->now_us};
    if (adl_store_event_last(live->config.store, see_last, &newest, &err) != 1)
        return;
    search.last = newest > EVENTS_READ ? newest - EVENTS_READ : 0;
    while (search.last < newest &&
           adl_store_events(live->config.store, search.last, 0, ADL_STORE_PAGE_MAX, take_point, &search, &err) > 0)
        ;
    live->kept_points = live->shared->point_count;
}
