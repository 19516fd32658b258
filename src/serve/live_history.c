/* live_history: what charts are drawn from, counted step by step. */
#include "serve/live_form.h"

/* What GPUs said last, unless that is older than two steps. */
static void add_readings(const struct adl_live *live, struct adl_point *point)
{
    const struct adl_desk *desk = live->desk;
    const uint32_t gpus = desk->inventory->scenario.cluster.gpu_count;
    double power_w = 0, utilization = 0;
    uint32_t powers = 0, utilizations = 0;
    for (uint32_t g = 0; g < gpus; g++) {
        const struct adl_desk_gpu *gpu = &desk->gpus[g];
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
    struct adl_desk *desk = live->desk;
    struct adl_point *point = &live->point;
    const uint32_t *stages = desk->roster.by_stage;
    point->time_us = live->point_us;
    point->busy_gpus = (float)(live->busy_gpu_us / (double)live->point_step_us);
    point->pending = stages[ADL_STAGE_HELD] + stages[ADL_STAGE_DEPENDENT] + stages[ADL_STAGE_QUEUED];
    point->running = stages[ADL_STAGE_RUNNING] + stages[ADL_STAGE_STOPPING];
    add_readings(live, point);
    if (point->energy_j > 0)
        desk->counts.energy_j += point->energy_j;
    desk->points[desk->point_count++ % ADL_POINTS_MAX] = *point;
    *point = (struct adl_point){0};
    live->busy_gpu_us = 0;
}

void adl_live_count(struct adl_live *live, int64_t now_us)
{
    const double busy = live->desk->engine ? adl_engine_state(live->desk->engine)->busy_gpus : 0;
    /* A machine that slept for a day has nothing to say of most of it. */
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
