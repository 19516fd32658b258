/* live_clock: wall time and steady time of the live world. When the machine's clock is set, most often right after a
 * boot, the times of live jobs are shifted with it, so that their waits and run times stay true. Stored times of ended
 * jobs stay as they are. */
#include "service/live/live_internal.h"

#define STEP_US INT64_C(1000000) /* a smaller step changes no times */

static void move(int64_t *time_us, int64_t by_us)
{
    if (*time_us > 0)
        *time_us = *time_us + by_us > 1 ? *time_us + by_us : 1;
}

/* After the clock was set back, points and decisions would lie in the future. */
static void move_future(int64_t *time_us, int64_t now_us, int64_t by_us)
{
    if (*time_us > now_us)
        move(time_us, by_us);
}

static void move_times(struct adl_live *live, int64_t by_us)
{
    struct adl_service_state *shared = live->shared;
    for (struct adl_job_entry *job = shared->job_table.first; job; job = job->next) {
        move(&job->submit_us, by_us);
        move(&job->eligible_us, by_us);
        move(&job->start_us, by_us);
    }
    for (uint32_t g = 0; g < shared->inventory->scenario.cluster.gpu_count; g++)
        move(&shared->gpus[g].last_us, by_us);
    for (uint32_t i = 0; i < ADL_POINTS_MAX; i++)
        move_future(&shared->points[i].time_us, live->now_us, by_us);
    for (uint32_t i = 0; i < ADL_DECISIONS_MAX; i++)
        move_future(&shared->decisions[i].time_us, live->now_us, by_us);
    move(&shared->started_us, by_us);
    live->point_us += by_us;
    live->counted_us += by_us;
}

static void log_step(struct adl_live *live, int64_t by_us)
{
    struct adl_text text = {0};
    struct adl_json json = adl_json_start(&text, false);
    adl_json_object(&json);
    adl_json_put_real(&json, "by_s", (double)by_us * 1e-6);
    adl_json_end(&json);
    adl_service_state_unlock(live->shared);
    adl_live_log(live, "clock", 0, &text, NULL); /* the clock was set whether or not that can be written */
    adl_service_state_lock(live->shared);
}

/* Both at one moment: a thread that is descheduled in between would see a step. */
static void read_clock(const struct adl_service_clock *clock, int64_t *ret_wall_us, int64_t *ret_steady_us)
{
    int tries = 0;
    do {
        *ret_steady_us = adl_service_clock_steady(clock);
        *ret_wall_us = adl_service_clock_wall(clock);
    } while (!clock->twin && adl_service_clock_steady(clock) - *ret_steady_us > STEP_US / 1000 && ++tries < 10);
}

void adl_live_tick(struct adl_live *live)
{
    const struct adl_service_clock *clock = live->config.clock;
    int64_t wall_us, steady_us;
    read_clock(clock, &wall_us, &steady_us);
    const int64_t passed_us = steady_us > live->steady_us ? steady_us - live->steady_us : 0;
    const int64_t by_us = clock->twin ? 0 : wall_us - (live->now_us + passed_us);
    live->steady_us += passed_us;
    if (clock->twin)
        wall_us = live->steady_us;
    const bool set = by_us <= -STEP_US || by_us >= STEP_US;
    live->now_us = set || wall_us > live->now_us ? wall_us : live->now_us;
    live->shared->wall_ahead_us = live->now_us - live->steady_us;
    if (!set)
        return;
    move_times(live, by_us);
    log_step(live, by_us);
}

int64_t adl_live_wall_us(const struct adl_live *live, int64_t steady_us)
{
    return live->now_us - (live->steady_us - steady_us);
}

int64_t adl_live_steady_us(const struct adl_live *live, int64_t wall_us)
{
    return live->steady_us - (live->now_us - wall_us);
}
