#include "cli/client/gpus_table.h"

#include "cli/client/jobs_table.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void adl_policy_line(struct adl_text *text, const struct cJSON *cluster)
{
    adl_display_put(text, adl_member_text(cJSON_GetObjectItemCaseSensitive(cluster, "policy"), "name"),
                    ADL_DISPLAY_ALL);
    if (strcmp(adl_member_text(cluster, "engine"), "sim") == 0) {
        adl_text_put(text, ", simulated at ");
        adl_text_real(text, adl_member_number(cluster, "speed", 1));
        adl_text_put(text, "x");
    }
    if (*adl_member_text(cluster, "trouble")) {
        adl_text_put(text, ", TROUBLE: ");
        adl_display_put(text, adl_member_text(cluster, "trouble"), ADL_DISPLAY_ALL);
    }
    if (*adl_member_text(cluster, "notice")) {
        adl_text_put(text, ", NOTICE: ");
        adl_display_put(text, adl_member_text(cluster, "notice"), ADL_DISPLAY_ALL);
    }
}

static void put_cluster_line(struct adl_text *text, const cJSON *cluster)
{
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(cluster, "counts");
    const double power_w = adl_member_number(cluster, "power_w", -1);
    adl_policy_line(text, cluster);
    adl_text_printf(text, ", %.0f of %.0f GPUs busy, %.0f running, %.0f pending", adl_member_number(counts, "busy", 0),
                    adl_member_number(counts, "gpus", 0), adl_member_number(counts, "running", 0),
                    adl_member_number(counts, "pending", 0));
    if (power_w >= 0)
        adl_text_printf(text, ", %.0f W", power_w);
    adl_text_char(text, '\n');
}

void adl_gpu_users(struct adl_text *text, const struct cJSON *gpu)
{
    char label[ADL_JOB_LABEL_SIZE];
    const cJSON *job;
    bool first = true;
    cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(gpu, "jobs"))
    {
        adl_text_printf(text, "%s%s ", first ? "" : ", ", adl_job_label(job, label));
        adl_display_put(text, adl_member_text(job, "user"), ADL_DISPLAY_ALL);
        adl_text_char(text, ' ');
        adl_display_put(text, adl_member_text(job, "name"), ADL_DISPLAY_ALL);
        first = false;
    }
    if (*adl_member_text(gpu, "reason")) {
        adl_text_put(text, first ? "(" : " (");
        adl_display_put(text, adl_member_text(gpu, "reason"), ADL_DISPLAY_ALL);
        adl_text_char(text, ')');
    }
}

enum { NODE, GPU, TYPE, STATE, UTIL, MEMORY, TEMP, POWER, JOBS, COLUMN_COUNT };

static const struct adl_table_column columns[COLUMN_COUNT] = {
    [NODE] = {.title = "NODE", .most = 24, .least = 6},
    [GPU] = {.title = "GPU", .right = 1},
    [TYPE] = {.title = "TYPE", .most = 20, .least = 6},
    [STATE] = {.title = "STATE"},
    [UTIL] = {.title = "UTIL", .right = 1},
    [MEMORY] = {.title = "MEMORY MiB", .right = 1},
    [TEMP] = {.title = "TEMP", .right = 1},
    [POWER] = {.title = "POWER", .right = 1},
    [JOBS] = {.title = "JOBS(REASON)", .least = 12},
};

/* "-" for what is not known. */
static void put_number(struct adl_text *arena, const cJSON *gpu, const char *name, double scale, const char *unit)
{
    const double value = adl_member_number(gpu, name, -1);
    if (value < 0)
        adl_text_char(arena, '-');
    else
        adl_text_printf(arena, "%.0f%s", value * scale, unit);
}

static void put_cell(struct adl_text *arena, int column, const cJSON *node, const cJSON *gpu)
{
    switch (column) {
    case NODE:
        adl_display_put(arena, adl_member_text(node, "name"), ADL_DISPLAY_ALL);
        break;
    case GPU:
        adl_text_printf(arena, "%.0f", adl_member_number(gpu, "gpu", 0));
        break;
    case TYPE:
        adl_display_put(arena, adl_member_text(gpu, "type"), ADL_DISPLAY_ALL);
        if (strcmp(adl_member_text(gpu, "vendor"), "virtual") == 0 &&
            strcmp(adl_member_text(gpu, "type"), "virtual") != 0)
            adl_text_put(arena, " virtual");
        break;
    case STATE:
        adl_display_put(arena, adl_member_text(gpu, "state"), ADL_DISPLAY_ALL);
        break;
    case UTIL:
        put_number(arena, gpu, "utilization", 100, "%");
        break;
    case MEMORY:
        put_number(arena, gpu, "memory_used_mib", 1, "");
        adl_text_char(arena, '/');
        put_number(arena, gpu, "memory_mib", 1, "");
        break;
    case TEMP:
        put_number(arena, gpu, "temperature_c", 1, "C");
        break;
    case POWER:
        put_number(arena, gpu, "power_w", 1, "W");
        break;
    default:
        adl_gpu_users(arena, gpu);
    }
    adl_text_char(arena, '\0');
}

static void fill(struct adl_text *arena, const cJSON *nodes, size_t *ret_rows)
{
    const cJSON *node, *gpu;
    size_t rows = 0;
    cJSON_ArrayForEach(node, nodes){cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus")){
        for (int column = 0; column < COLUMN_COUNT; column++) put_cell(arena, column, node, gpu);
    rows++;
}
}
*ret_rows = rows;
}

void adl_gpus_table(struct adl_text *text, const struct cJSON *cluster, size_t width)
{
    struct adl_text arena = {0};
    size_t rows = 0;
    put_cluster_line(text, cluster);
    fill(&arena, cJSON_GetObjectItemCaseSensitive(cluster, "nodes"), &rows);
    const char **cells = calloc(rows * COLUMN_COUNT + 1, sizeof *cells);
    if (cells && adl_text_status(&arena) == 0) {
        const char *at = arena.data;
        for (size_t i = 0; i < rows * COLUMN_COUNT; i++, at += strlen(at) + 1)
            cells[i] = at;
        adl_table_print(text, columns, COLUMN_COUNT, cells, rows, width);
    } else {
        text->failed = true;
    }
    free(cells);
    adl_text_clear(&arena);
}
