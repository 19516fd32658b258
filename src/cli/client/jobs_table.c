#include "cli/client/jobs_table.h"

#include "cli/client/start_time.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *adl_job_label(const struct cJSON *job, char buffer[ADL_JOB_LABEL_SIZE])
{
    const char *label = adl_member_text(job, "label");
    snprintf(buffer, ADL_JOB_LABEL_SIZE, "%.*s", (int)strspn(label, "0123456789_"), label);
    return buffer;
}

bool adl_job_has_ended(const struct cJSON *job)
{
    const char *state = adl_member_text(job, "state");
    return strcmp(state, "PD") != 0 && strcmp(state, "R") != 0;
}

const char *adl_job_state_word(const char *state)
{
    static const char *const words[][2] = {{"PD", "pending"}, {"R", "running"},    {"CD", "completed"},
                                           {"F", "failed"},   {"CA", "cancelled"}, {"TO", "timed out"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(state, words[i][0]) == 0)
            return words[i][1];
    return state;
}

void adl_job_say_end(struct adl_text *text, const struct cJSON *job)
{
    static const char *const bases[][2] = {{"steps", ", by the steps that it reports"},
                                           {"similar_jobs", ", as similar jobs did"},
                                           {"time_limit", ", by its time limit"}};
    const char *basis = adl_member_text(job, "end_basis");
    char moment[ADL_DURATION_SIZE];
    adl_text_printf(text, "about %s", adl_moment_print(adl_member_number(job, "end_p50", 0), moment));
    if (adl_member_number(job, "end_p90", 0) > 0)
        adl_text_printf(text, ", by %s in 9 of 10 cases",
                        adl_moment_print(adl_member_number(job, "end_p90", 0), moment));
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strcmp(basis, bases[i][0]) == 0)
            adl_text_put(text, bases[i][1]);
}

void adl_job_say_progress(struct adl_text *text, const struct cJSON *progress)
{
    const double steps = adl_member_number(progress, "steps", 0), speed = adl_member_number(progress, "steps_per_s", 0);
    const char *note = adl_member_text(progress, "note");
    adl_text_printf(text, "step %.0f", adl_member_number(progress, "step", 0));
    if (steps > 0)
        adl_text_printf(text, " of %.0f", steps);
    if (speed > 0)
        adl_text_printf(text, ", %.3g steps/s", speed);
    adl_text_put(text, *note ? ", " : "");
    adl_display_put(text, note, ADL_DISPLAY_ALL);
}

/* Whether an earlier element of the list has the same text under this name. */
static bool is_repeated(const cJSON *list, const cJSON *item, const char *name)
{
    for (const cJSON *before = list->child; before != item; before = before->next)
        if (strcmp(adl_member_text(before, name), adl_member_text(item, name)) == 0)
            return true;
    return false;
}

void adl_job_gpus(struct adl_text *text, const struct cJSON *job)
{
    const cJSON *held = cJSON_GetObjectItemCaseSensitive(job, "allocation");
    const cJSON *gpu, *other;
    bool first = true;
    if (!held || !held->child) {
        adl_display_put(text, adl_member_text(job, "request"), ADL_DISPLAY_ALL);
        return;
    }
    cJSON_ArrayForEach(gpu, held)
    {
        int count = 0;
        if (is_repeated(held, gpu, "type"))
            continue;
        cJSON_ArrayForEach(other, held)
        {
            count += strcmp(adl_member_text(gpu, "type"), adl_member_text(other, "type")) == 0;
        }
        adl_text_put(text, first ? "" : ",");
        adl_display_put(text, adl_member_text(gpu, "type"), ADL_DISPLAY_ALL);
        adl_text_printf(text, ":%d", count);
        first = false;
    }
}

void adl_job_nodes(struct adl_text *text, const struct cJSON *job)
{
    const cJSON *held = cJSON_GetObjectItemCaseSensitive(job, "allocation");
    const cJSON *gpu;
    bool first = true;
    cJSON_ArrayForEach(gpu, held)
    {
        if (is_repeated(held, gpu, "node"))
            continue;
        adl_text_put(text, first ? "" : ",");
        adl_display_put(text, adl_member_text(gpu, "node"), ADL_DISPLAY_ALL);
        first = false;
    }
}

void adl_job_place(struct adl_text *text, const struct cJSON *job)
{
    const size_t before = text->size;
    const char *reason = adl_member_text(job, "reason");
    const bool pending = strcmp(adl_member_text(job, "state"), "PD") == 0;
    if (!pending)
        adl_job_nodes(text, job);
    if (pending || *reason) {
        adl_text_put(text, text->size > before ? " (" : "(");
        adl_display_put(text, *reason ? reason : "no reason given", ADL_DISPLAY_ALL);
        adl_text_char(text, ')');
    }
}

enum { JOBID, NAME, USER, ST, TIME, START, GPUS, PLACE, COLUMN_COUNT };

static const struct adl_table_column columns[COLUMN_COUNT] = {
    [JOBID] = {.title = "JOBID", .right = 1},
    [NAME] = {.title = "NAME", .most = 32, .least = 8},
    [USER] = {.title = "USER", .most = 16, .least = 6},
    [ST] = {.title = "ST"},
    [TIME] = {.title = "TIME", .right = 1},
    [START] = {.title = "START"},
    [GPUS] = {.title = "GPUS", .most = 30, .least = 6},
    [PLACE] = {.title = "NODELIST(REASON)", .least = 16},
};

/* A cell's offset in the arena. The arena may move while it grows, so pointers are made last. */
static size_t keep(struct adl_text *arena, size_t from)
{
    adl_text_char(arena, '\0');
    return from;
}

static void fill_row(struct adl_text *arena, const cJSON *job, size_t *cells)
{
    char label[ADL_JOB_LABEL_SIZE], time[ADL_DURATION_SIZE], start[ADL_START_SIZE];
    size_t at = arena->size;
    adl_text_put(arena, adl_job_label(job, label));
    cells[JOBID] = keep(arena, at);
    at = arena->size;
    adl_display_put(arena, adl_member_text(job, "name"), ADL_DISPLAY_ALL);
    cells[NAME] = keep(arena, at);
    at = arena->size;
    adl_display_put(arena, adl_member_text(job, "user"), ADL_DISPLAY_ALL);
    cells[USER] = keep(arena, at);
    at = arena->size;
    adl_display_put(arena, adl_member_text(job, "state"), ADL_DISPLAY_ALL);
    cells[ST] = keep(arena, at);
    at = arena->size;
    adl_text_put(arena, adl_duration_print(adl_member_number(job, "run_s", 0), time));
    cells[TIME] = keep(arena, at);
    at = arena->size;
    adl_text_put(arena, adl_start_short(job, start));
    cells[START] = keep(arena, at);
    at = arena->size;
    adl_job_gpus(arena, job);
    cells[GPUS] = keep(arena, at);
    at = arena->size;
    adl_job_place(arena, job);
    cells[PLACE] = keep(arena, at);
}

void adl_jobs_table(struct adl_text *text, const struct cJSON *jobs, size_t width)
{
    const size_t count = (size_t)cJSON_GetArraySize(jobs), cell_count = (count + 1) * COLUMN_COUNT;
    size_t *offsets = calloc(cell_count, sizeof *offsets);
    const char **cells = calloc(cell_count, sizeof *cells);
    struct adl_text arena = {0};
    const cJSON *job;
    size_t row = 0;
    if (offsets && cells) {
        cJSON_ArrayForEach(job, jobs)
        {
            fill_row(&arena, job, &offsets[COLUMN_COUNT * row++]);
        }
        if (adl_text_status(&arena) == 0) {
            for (size_t i = 0; i < count * COLUMN_COUNT; i++)
                cells[i] = arena.data + offsets[i];
            adl_table_print(text, columns, COLUMN_COUNT, cells, count, width);
        }
    }
    if (!offsets || !cells || adl_text_status(&arena))
        text->failed = true;
    adl_text_clear(&arena);
    free(cells);
    free(offsets);
}
