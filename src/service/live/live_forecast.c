/* live_forecast: tells the cluster underneath when its waiting jobs are expected to start, where it can show that: in
 * mode advise Slurm has it in the comments of jobs. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <time.h>

#define CHECK_US  2000000 /* from one check to the next, real time */
#define LOOKS_MAX 256     /* jobs in one check ... */
#define TELLS_MAX 8       /* ... and comments: the cluster has other things to do */
#define LEAST_US  INT64_C(600000000)

/* Nothing was said, or it has moved by ten minutes and by a quarter of the wait. */
static bool has_moved(const struct adl_live *live, const struct adl_job_entry *job, int64_t start_us)
{
    const int64_t by_us = start_us > job->said_start_us ? start_us - job->said_start_us : job->said_start_us - start_us;
    return job->said_start_us == 0 || (by_us >= LEAST_US && by_us >= (start_us - live->steady_us) / 4);
}

static void put_time(const struct adl_live *live, int64_t time_us, char *ret, size_t size)
{
    const time_t moment = (time_t)(adl_live_wall_us(live, time_us) / 1000000);
    struct tm parts;
    if (!localtime_r(&moment, &parts) || strftime(ret, size, "%Y-%m-%d %H:%M", &parts) == 0)
        snprintf(ret, size, "?");
}

static bool tell(struct adl_live *live, struct adl_job_entry *job)
{
    struct adl_start_forecast forecast;
    char text[160], p50[32], p90[32];
    if (job->stage != ADL_STAGE_QUEUED || job->advised != 0 ||
        !adl_forecasts_find(live->shared->forecasts, job->id, &forecast) || forecast.start_p90_us == ADL_NEVER_US ||
        !has_moved(live, job, forecast.start_p50_us))
        return false;
    put_time(live, forecast.start_p50_us, p50, sizeof p50);
    put_time(live, forecast.start_p90_us, p90, sizeof p90);
    if (forecast.limits)
        snprintf(text, sizeof text, "adlro: expected to start %s, by time limits", p50);
    else
        snprintf(text, sizeof text, "adlro: expected to start %s, by %s in 9 of 10 cases", p50, p90);
    live->config.executor.ops->advise(live->config.executor.self, job, text);
    job->said_start_us = forecast.start_p50_us;
    return true;
}

void adl_live_forecast_tell(struct adl_live *live)
{
    uint32_t looks = 0, tells = 0;
    if (!live->config.advice_only || !live->config.executor.ops->advise || !live->shared->forecasts ||
        live->steady_us < live->forecast_us)
        return;
    live->forecast_us = live->steady_us + (int64_t)(CHECK_US * live->config.clock->speed);
    struct adl_job_entry *job = live->shared->job_table.first;
    while (job && job->id <= live->forecast_told)
        job = job->next;
    for (; job && looks < LOOKS_MAX && tells < TELLS_MAX; job = job->next, looks++) {
        tells += tell(live, job);
        live->forecast_told = job->id;
    }
    if (!job)
        live->forecast_told = 0;
}
