#include "cli/client/start_time.h"

#include "cli/client/jobs_table.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *print(double seconds, const char *form, char *buffer, size_t size)
{
    struct tm parts;
    const time_t moment = isfinite(seconds) && seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    if (moment == 0 || !localtime_r(&moment, &parts) || strftime(buffer, size, form, &parts) == 0)
        snprintf(buffer, size, "N/A");
    return buffer;
}

const char *adl_start_short(const struct cJSON *job, char buffer[ADL_START_SIZE])
{
    const bool pending = strcmp(adl_member_text(job, "state"), "PD") == 0;
    return print(adl_member_number(job, pending ? "start_p50" : "start_s", 0), "%m-%dT%H:%M", buffer, ADL_START_SIZE);
}

void adl_start_say(struct adl_text *text, const struct cJSON *job)
{
    const double p50 = adl_member_number(job, "start_p50", 0), p90 = adl_member_number(job, "start_p90", 0);
    char moment[ADL_DURATION_SIZE];
    if (p50 <= 0)
        return;
    adl_text_printf(text, "expected %s", adl_moment_print(p50, moment));
    if (strcmp(adl_member_text(job, "start_basis"), "time_limit") == 0)
        adl_text_put(text, ", if all jobs run until their time limits");
    else if (p90 > 0)
        adl_text_printf(text, ", by %s in 9 of 10 cases", adl_moment_print(p90, moment));
}

/* ---- the table ---- */

enum { JOBID, NAME, USER, ST, START_TIME, START_P90, GPUS, PLACE, COLUMN_COUNT };

static const struct adl_table_column columns[COLUMN_COUNT] = {
    [JOBID] = {.title = "JOBID", .right = 1},
    [NAME] = {.title = "NAME", .most = 32, .least = 8},
    [USER] = {.title = "USER", .most = 16, .least = 6},
    [ST] = {.title = "ST"},
    [START_TIME] = {.title = "START_TIME"},
    [START_P90] = {.title = "START_P90"},
    [GPUS] = {.title = "GPUS", .most = 30, .least = 6},
    [PLACE] = {.title = "NODELIST(REASON)", .least = 16},
};

static int compare_starts(const void *a, const void *b)
{
    const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
    const double s = adl_member_number(x, "start_p50", INFINITY), t = adl_member_number(y, "start_p50", INFINITY);
    const double i = adl_member_number(x, "id", 0), j = adl_member_number(y, "id", 0);
    return s < t ? -1 : s > t ? 1 : (i > j) - (i < j);
}

/* Cells are offsets into the arena, which may move while it grows. */
static void fill_row(struct adl_text *arena, const cJSON *job, size_t cells[COLUMN_COUNT])
{
    static const char form[] = "%Y-%m-%dT%H:%M:%S";
    char label[ADL_JOB_LABEL_SIZE], time[ADL_START_SIZE];
    for (int column = 0; column < COLUMN_COUNT; column++) {
        cells[column] = arena->size;
        switch (column) {
        case JOBID:
            adl_text_put(arena, adl_job_label(job, label));
            break;
        case NAME:
            adl_display_put(arena, adl_member_text(job, "name"), ADL_DISPLAY_ALL);
            break;
        case USER:
            adl_display_put(arena, adl_member_text(job, "user"), ADL_DISPLAY_ALL);
            break;
        case ST:
            adl_display_put(arena, adl_member_text(job, "state"), ADL_DISPLAY_ALL);
            break;
        case START_TIME:
            adl_text_put(arena, print(adl_member_number(job, "start_p50", 0), form, time, sizeof time));
            break;
        case START_P90:
            adl_text_put(arena, print(adl_member_number(job, "start_p90", 0), form, time, sizeof time));
            break;
        case GPUS:
            adl_job_gpus(arena, job);
            break;
        default:
            adl_job_place(arena, job);
        }
        adl_text_char(arena, '\0');
    }
}

static size_t list_waiting(const cJSON *jobs, const cJSON **ret)
{
    size_t count = 0;
    const cJSON *job;
    cJSON_ArrayForEach(job, jobs)
    {
        if (strcmp(adl_member_text(job, "state"), "PD") == 0)
            ret[count++] = job;
    }
    qsort(ret, count, sizeof *ret, compare_starts);
    return count;
}

void adl_starts_table(struct adl_text *text, const struct cJSON *jobs, size_t width)
{
    const size_t most = (size_t)cJSON_GetArraySize(jobs) + 1;
    const cJSON **waiting = calloc(most, sizeof *waiting);
    size_t *offsets = calloc(most * COLUMN_COUNT, sizeof *offsets);
    const char **cells = calloc(most * COLUMN_COUNT, sizeof *cells);
    struct adl_text arena = {0};
    if (waiting && offsets && cells) {
        const size_t count = list_waiting(jobs, waiting);
        for (size_t i = 0; i < count; i++)
            fill_row(&arena, waiting[i], &offsets[COLUMN_COUNT * i]);
        for (size_t i = 0; i < count * COLUMN_COUNT && adl_text_status(&arena) == 0; i++)
            cells[i] = arena.data + offsets[i];
        if (adl_text_status(&arena) == 0)
            adl_table_print(text, columns, COLUMN_COUNT, cells, count, width);
    }
    if (!waiting || !offsets || !cells || adl_text_status(&arena))
        text->failed = true;
    adl_text_clear(&arena);
    free(waiting);
    free(offsets);
    free(cells);
}

void adl_starts_say_basis(struct adl_text *text, const struct cJSON *cluster)
{
    const cJSON *forecast = cJSON_GetObjectItemCaseSensitive(cluster, "forecast");
    const double made_s = adl_member_number(forecast, "made_s", 0), judged = adl_member_number(forecast, "judged", 0);
    const bool limits = strcmp(adl_member_text(forecast, "basis"), "time_limit") == 0;
    char moment[ADL_DURATION_SIZE];
    if (!cJSON_IsObject(forecast)) {
        adl_text_put(text, "the service makes no forecasts: forecast.futures of its configuration is 0");
        return;
    }
    if (made_s <= 0) {
        adl_text_put(text, "no forecast was made yet: the first follows a few seconds after a job began to wait");
        return;
    }
    adl_text_printf(text, "as of %s", adl_moment_print(made_s, moment));
    if (limits)
        adl_text_printf(text, "; from time limits: %.0f jobs have ended so far",
                        adl_member_number(forecast, "ended_jobs", 0));
    else if (judged >= 20)
        adl_text_printf(text, "; of %.0f jobs so far %.0f %% started by the median, %.0f %% by START_P90", judged,
                        100 * adl_member_number(forecast, "within_p50", 0),
                        100 * adl_member_number(forecast, "within_p90", 0));
}
