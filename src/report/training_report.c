#include "report/training_report.h"

#include "base/json.h"
#include "report/figure.h"

#include <inttypes.h>
#include <math.h>

void adl_training_csv(struct adl_text *text, const struct adl_training_log *log)
{
    for (int c = 0; c < ADL_TRAINING_COLUMNS; c++)
        adl_text_printf(text, "%s%s", c ? "," : "", adl_training_column_names[c]);
    adl_text_put(text, "\r\n");
    for (size_t i = 0; i < log->row_count; i++) {
        for (int c = 0; c < ADL_TRAINING_COLUMNS; c++) {
            if (c)
                adl_text_char(text, ',');
            if (isfinite(log->rows[i].value[c]))
                adl_text_real(text, log->rows[i].value[c]);
        }
        adl_text_put(text, "\r\n");
    }
}

static const enum adl_training_column held[] = {ADL_TRAINING_HELD_JCT_MEAN, ADL_TRAINING_HELD_JCT_P99,
                                                ADL_TRAINING_HELD_UTILIZATION, ADL_TRAINING_HELD_THROUGHPUT};
#define HELD_COUNT (sizeof held / sizeof *held)

static void put_json_figures(struct adl_json *json, const char *name, const double figures[HELD_COUNT])
{
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_string(json, "name", name);
    for (size_t i = 0; i < HELD_COUNT; i++) {
        adl_json_key(json, adl_metric_table[adl_training_column_metric(held[i])].name);
        adl_json_real(json, figures[i]);
    }
    adl_json_end(json);
}

/* The best model, if there is one, and the baselines. */
static void put_json_validation(struct adl_json *json, const struct adl_training_log *log)
{
    const struct adl_training_row *best = adl_training_log_best(log);
    double figures[HELD_COUNT];
    adl_json_array(json);
    for (size_t f = 0; best && f < HELD_COUNT; f++)
        figures[f] = best->value[held[f]];
    if (best)
        put_json_figures(json, log->policy, figures);
    for (uint32_t i = 0; i < log->baseline_count; i++) {
        for (size_t f = 0; f < HELD_COUNT; f++)
            figures[f] = log->baselines[i].result.value[adl_training_column_metric(held[f])];
        put_json_figures(json, log->baselines[i].name, figures);
    }
    adl_json_end(json);
}

static void put_json_rows(struct adl_json *json, const struct adl_training_log *log)
{
    adl_json_array(json);
    for (size_t i = 0; i < log->row_count; i++) {
        adl_json_flat(json);
        adl_json_object(json);
        for (int c = 0; c < ADL_TRAINING_COLUMNS; c++) {
            adl_json_put_real(json, adl_training_column_names[c], log->rows[i].value[c]);
        }
        adl_json_end(json);
    }
    adl_json_end(json);
}

void adl_training_json(struct adl_text *text, const struct adl_training_log *log)
{
    struct adl_json json = adl_json_start(text, true);
    adl_json_object(&json);
    adl_json_put_string(&json, "scenario", log->scenario->name);
    adl_json_put_string(&json, "network", log->network);
    adl_json_put_uint(&json, "seed", log->seed);
    adl_json_put_uint(&json, "episodes", log->episodes);
    adl_json_put_uint(&json, "validation_episodes", log->validation_episodes);
    adl_json_key(&json, "validation");
    put_json_validation(&json, log);
    adl_json_key(&json, "rounds");
    put_json_rows(&json, log);
    adl_json_end(&json);
    adl_text_char(text, '\n');
}

static void put_summary_row(struct adl_text *text, const char *policy, const char *name, double jct_s, double p99_s,
                            double use, double than_s)
{
    char mean[ADL_FIGURE_SIZE], p99[ADL_FIGURE_SIZE], busy[ADL_FIGURE_SIZE], change[ADL_FIGURE_SIZE];
    const struct adl_scale percent = {.factor = 100, .unit = "%", .decimals = 1};
    adl_text_printf(text, "  %-8s %10s %10s %8s %%", name, adl_figure_print_duration(mean, jct_s),
                    adl_figure_print_duration(p99, p99_s), adl_figure_print(busy, use, percent));
    const double less = adl_change_percent(than_s, jct_s);
    if (than_s > 0 && isfinite(less))
        adl_text_printf(text, "   %s takes %s %% %s", policy,
                        adl_figure_print_change(change, fabs(less)) + (fabs(less) >= 0.05), less < 0 ? "less" : "more");
    adl_text_char(text, '\n');
}

void adl_training_summary(struct adl_text *text, const struct adl_training_log *log)
{
    const struct adl_training_row *best = adl_training_log_best(log);
    if (!best)
        return;
    adl_text_printf(text,
                    "Held out: %" PRIu32 " seeds of %s that were not used for training; the model of episode %" PRIu64
                    ".\n\n",
                    log->validation_episodes, log->scenario->name, (uint64_t)best->value[ADL_TRAINING_EPISODES]);
    adl_text_printf(text, "  %-8s %10s %10s %10s\n", "policy", "mean JCT", "p99 JCT", "GPUs busy");
    put_summary_row(text, log->policy, log->policy, best->value[ADL_TRAINING_HELD_JCT_MEAN],
                    best->value[ADL_TRAINING_HELD_JCT_P99], best->value[ADL_TRAINING_HELD_UTILIZATION], 0);
    for (uint32_t i = 0; i < log->baseline_count; i++) {
        const double *value = log->baselines[i].result.value;
        put_summary_row(text, log->policy, log->baselines[i].name, value[ADL_METRIC_JCT_MEAN],
                        value[ADL_METRIC_JCT_P99], value[ADL_METRIC_UTILIZATION],
                        best->value[ADL_TRAINING_HELD_JCT_MEAN]);
    }
}
