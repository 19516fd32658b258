#include "report/report_table.h"

#include "report/figure.h"
#include "report/headline.h"
#include "report/notes.h"
#include "report/paragraphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELL_SIZE   64
#define COLUMNS_MAX 9
#define NAME_LEAST  6

/* What a column shows of its metric. */
enum column_kind { COLUMN_MEAN, COLUMN_INTERVAL, COLUMN_CHANGE };

struct column {
    int column; /* enum adl_metric or adl_column */
    enum column_kind kind;
    const char *label;    /* at most 10 characters, so that the widest block leaves space for names */
    const char *sublabel; /* beside the unit; "" for none */
};

static const struct column service_columns[] = {
    {ADL_METRIC_JCT_MEAN, COLUMN_INTERVAL, "mean JCT", ""},
    {ADL_METRIC_JCT_MEAN, COLUMN_CHANGE, "", ""},
    {ADL_METRIC_JCT_P99, COLUMN_MEAN, "p99 JCT", ""},
    {ADL_METRIC_WAIT_MEAN, COLUMN_MEAN, "wait", ""},
    {ADL_METRIC_SLOWDOWN_MEAN, COLUMN_MEAN, "slowdown", ""},
    {ADL_METRIC_THROUGHPUT, COLUMN_MEAN, "finished", ""},
    {ADL_METRIC_SLA, COLUMN_MEAN, "SLA met", ""},
};

static const struct column machine_columns[] = {
    {ADL_METRIC_UTILIZATION, COLUMN_MEAN, "GPUs busy", ""},
    {ADL_METRIC_EFFICIENCY, COLUMN_MEAN, "alloc.eff", ""},
    {ADL_COLUMN_EVICTIONS, COLUMN_MEAN, "evictions", ""},
    {ADL_COLUMN_LOST, COLUMN_MEAN, "lost", ""},
    {ADL_METRIC_ENERGY, COLUMN_MEAN, "energy", ""},
    {ADL_METRIC_MAKESPAN, COLUMN_MEAN, "makespan", ""},
    {ADL_METRIC_HYPERSCORE, COLUMN_MEAN, "HyperScore", ""},
    {ADL_METRIC_DECISION_P50, COLUMN_MEAN, "decision", "p50 "},
    {ADL_METRIC_DECISION_P99, COLUMN_MEAN, "decision", "p99 "},
};

/* Truncates a name to columns characters, the last of them an ellipsis, and removes control characters. */
static void name_fit(char ret[CELL_SIZE], const char *name, size_t columns)
{
    const bool cut = adl_utf8_count(name) > columns;
    size_t size = 0;
    for (size_t left = cut ? columns - 1 : columns; left > 0 && *name; left--) {
        const size_t length = adl_utf8_length(name);
        if (size + 8 > CELL_SIZE)
            break;
        if (length == 0 || (unsigned char)*name < 0x20 || *name == 0x7f) {
            ret[size++] = '?';
        } else {
            memcpy(ret + size, name, length);
            size += length;
        }
        name += length ? length : 1;
    }
    snprintf(ret + size, CELL_SIZE - size, "%s", cut ? "\u2026" : "");
}

static void put_padded(struct adl_text *text, const char *cell, size_t columns, bool left)
{
    const size_t count = adl_utf8_count(cell);
    const size_t pad = columns > count ? columns - count : 0;
    adl_text_repeat(text, ' ', left ? 0 : pad);
    adl_text_put(text, cell);
    adl_text_repeat(text, ' ', left ? pad : 0);
}

static void cell_print(char ret[CELL_SIZE], const struct adl_comparison *comparison, const struct column *column,
                       uint32_t index)
{
    const struct adl_policy_result *policy = &comparison->policies[index];
    const struct adl_scale scale = adl_scale_metric(comparison, column->column);
    const double mean = adl_column_mean(comparison, index, column->column);
    char number[ADL_FIGURE_SIZE], half[ADL_FIGURE_SIZE];
    if (column->kind == COLUMN_CHANGE && index == 0) {
        snprintf(ret, CELL_SIZE, "   ");
    } else if (column->kind == COLUMN_CHANGE) {
        const double change = adl_change_percent(mean, adl_column_mean(comparison, 0, column->column));
        const double p = policy->versus_first[column->column].wilcoxon_p;
        snprintf(ret, CELL_SIZE, "%s %-3s", adl_figure_print_change(number, change),
                 comparison->seed_count > 1 ? adl_significance(p) : "");
    } else if (column->kind == COLUMN_INTERVAL && comparison->seed_count > 1) {
        const struct adl_summary *summary = &policy->metrics[column->column];
        const bool finite = isfinite(summary->hi - summary->lo);
        snprintf(ret, CELL_SIZE, "%s%s%s", adl_figure_print(number, mean, scale), finite ? " \u00b1 " : "",
                 finite ? adl_figure_print(half, (summary->hi - summary->lo) / 2, scale) : "");
    } else {
        snprintf(ret, CELL_SIZE, "%s", adl_figure_print(number, mean, scale));
    }
}

/* The two lines above a column. The first policy's name is above the changes against it. */
static void header_print(char ret_label[CELL_SIZE], char ret_unit[CELL_SIZE], const struct adl_comparison *comparison,
                         const struct column *column)
{
    const struct adl_scale scale = adl_scale_metric(comparison, column->column);
    char name[CELL_SIZE] = "";
    if (column->kind == COLUMN_CHANGE) {
        name_fit(name, comparison->policies[0].name, 6);
        snprintf(ret_label, CELL_SIZE, "vs %.24s   ", name);
        snprintf(ret_unit, CELL_SIZE, "%%    ");
    } else {
        snprintf(ret_label, CELL_SIZE, "%s", column->label);
        snprintf(ret_unit, CELL_SIZE, "%s%s", column->sublabel, scale.unit);
    }
}

static size_t column_width(const struct adl_comparison *comparison, const struct column *column)
{
    char cell[CELL_SIZE], label[CELL_SIZE];
    header_print(label, cell, comparison, column);
    size_t width = adl_utf8_count(label);
    if (adl_utf8_count(cell) > width)
        width = adl_utf8_count(cell);
    for (uint32_t i = 0; i < adl_comparison_rows(comparison); i++) {
        cell_print(cell, comparison, column, i);
        if (adl_utf8_count(cell) > width)
            width = adl_utf8_count(cell);
    }
    return width;
}

/* Ends the line without trailing blanks. */
static void put_line_end(struct adl_text *text)
{
    size_t size = text->size;
    while (size > 0 && text->data[size - 1] == ' ')
        size--;
    adl_text_truncate(text, size);
    adl_text_char(text, '\n');
}

/* Of the columns those that say something about these runs. */
static size_t columns_choose(struct column ret[COLUMNS_MAX], const struct adl_comparison *comparison,
                             const struct column *columns, size_t count)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (adl_column_shown(comparison, columns[i].column) &&
            (columns[i].kind != COLUMN_CHANGE || adl_comparison_rows(comparison) > 1))
            ret[chosen++] = columns[i];
    return chosen;
}

static void put_block(struct adl_text *text, const struct adl_comparison *comparison, const struct column *all,
                      size_t count)
{
    struct column columns[COLUMNS_MAX];
    const size_t column_count = columns_choose(columns, comparison, all, count);
    size_t width[COLUMNS_MAX], name_width = NAME_LEAST, rest = 0;
    char cell[CELL_SIZE], unit[CELL_SIZE];
    for (size_t i = 0; i < column_count; i++) {
        width[i] = column_width(comparison, &columns[i]);
        rest += 2 + width[i];
    }
    for (uint32_t i = 0; i < adl_comparison_rows(comparison); i++)
        if (adl_utf8_count(comparison->policies[i].name) > name_width)
            name_width = adl_utf8_count(comparison->policies[i].name);
    if (name_width + rest > ADL_TABLE_COLUMNS)
        name_width = ADL_TABLE_COLUMNS > rest + NAME_LEAST ? ADL_TABLE_COLUMNS - rest : NAME_LEAST;
    if (name_width > 48)
        name_width = 48;

    for (int line = 0; line < 2; line++) {
        put_padded(text, line == 0 ? "policy" : "", name_width, true);
        for (size_t i = 0; i < column_count; i++) {
            header_print(cell, unit, comparison, &columns[i]);
            adl_text_put(text, "  ");
            put_padded(text, line == 0 ? cell : unit, width[i], false);
        }
        put_line_end(text);
    }
    for (uint32_t row = 0; row < adl_comparison_rows(comparison); row++) {
        const uint32_t policy = adl_comparison_row(comparison, row);
        name_fit(cell, comparison->policies[policy].name, name_width);
        put_padded(text, cell, name_width, true);
        for (size_t i = 0; i < column_count; i++) {
            cell_print(cell, comparison, &columns[i], policy);
            adl_text_put(text, "  ");
            put_padded(text, cell, width[i], false);
        }
        put_line_end(text);
    }
}

static void put_headline(struct adl_text *text, const struct adl_comparison *comparison)
{
    struct adl_headline headline;
    struct adl_text words = {0};
    const int status = adl_headline_compute(comparison, &headline);
    text->failed = text->failed || status == ADL_ENOMEM;
    if (status)
        return;
    adl_headline_put(&words, comparison, &headline);
    adl_text_put(&words, ": ");
    adl_headline_put_details(&words, comparison, &headline);
    adl_text_put(&words, ".\n");
    adl_paragraphs_put(text, &words, 0);
    adl_text_char(text, '\n');
    adl_text_clear(&words);
}

void adl_report_table(struct adl_text *text, const struct adl_comparison *comparison)
{
    const struct adl_scenario *scenario = comparison->scenario;
    struct adl_text words = {0};
    adl_notes_put_name(&words, scenario->name);
    if (scenario->description[0]) {
        adl_text_put(&words, ": ");
        adl_notes_put_name(&words, scenario->description);
    }
    adl_text_char(&words, '\n');
    adl_notes_put_cluster(&words, &scenario->cluster);
    adl_text_printf(&words, "; %" PRIu64 " jobs%s\n", scenario->workload.jobs,
                    scenario->workload.mix_count > 0 ? " a seed" : " of a trace");
    adl_paragraphs_put(text, &words, 0);
    adl_text_clear(&words);

    adl_text_char(text, '\n');
    if (comparison->policy_count > 0) {
        put_block(text, comparison, service_columns, sizeof service_columns / sizeof *service_columns);
        adl_text_char(text, '\n');
        put_block(text, comparison, machine_columns, sizeof machine_columns / sizeof *machine_columns);
        adl_text_char(text, '\n');
        put_headline(text, comparison);
    }

    adl_notes_put(&words, comparison);
    adl_paragraphs_put(text, &words, 2);
    adl_text_clear(&words);
}
