/* train_market: one run of `adlro train market`: rounds, progress on stderr, checkpoints and results. */
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/train/training.h"
#include "experiment/run.h"
#include "nn/bytes.h"
#include "report/figure.h"
#include "report/training_report.h"
#include "rl/model_store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "ADLROBCK"
enum { MAGIC_SIZE = 8, HEAD_SIZE = MAGIC_SIZE + 8, TAIL_SIZE = 8 };

struct training {
    const struct adl_market_job *job;
    struct adl_market_trainer *trainer;
    struct adl_training_log log;
    int64_t start_ns;
    double start_episodes;
};

static double episodes_done(const struct training *t)
{
    return t->log.row_count ? t->log.rows[t->log.row_count - 1].value[ADL_TRAINING_EPISODES] : 0;
}

/* ---- checkpoints ----
 * "ADLROBCK", size of the trainer's bytes, these, rows of the log, checksum of all before it. */

static int save_checkpoint(const struct training *t, struct adl_error *err)
{
    struct adl_text inner = {0}, bytes = {0};
    adl_market_trainer_checkpoint(t->trainer, &inner);
    adl_text_bytes(&bytes, MAGIC, MAGIC_SIZE);
    adl_bytes_put_u64(&bytes, inner.size);
    adl_text_bytes(&bytes, inner.data, inner.size);
    adl_text_bytes(&bytes, (const char *)t->log.rows, t->log.row_count * sizeof *t->log.rows);
    int status = adl_text_status(&inner) || adl_text_status(&bytes) ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
    if (status == 0) {
        adl_bytes_put_u64(&bytes, adl_bytes_checksum(bytes.data, bytes.size));
        status = adl_model_store_write_bytes(t->job->checkpoint, &bytes, err);
    }
    adl_text_clear(&inner);
    adl_text_clear(&bytes);
    return status;
}

static int read_checkpoint(struct training *t, const char *bytes, size_t size, struct adl_error *err)
{
    const bool whole = size >= HEAD_SIZE + TAIL_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0 &&
                       adl_bytes_checksum(bytes, size - TAIL_SIZE) == adl_bytes_u64(bytes + size - TAIL_SIZE);
    const uint64_t inner = whole ? adl_bytes_u64(bytes + MAGIC_SIZE) : 0;
    if (!whole || inner > size - HEAD_SIZE - TAIL_SIZE ||
        (size - HEAD_SIZE - TAIL_SIZE - inner) % sizeof *t->log.rows != 0)
        return adl_fail(err, ADL_EINVAL, "this is not a complete checkpoint of `adlro train market`");
    const size_t rows = (size - HEAD_SIZE - TAIL_SIZE - inner) / sizeof *t->log.rows;
    const int status = adl_market_trainer_resume(t->trainer, bytes + HEAD_SIZE, inner, err);
    if (status)
        return status;
    struct adl_training_row row;
    for (size_t i = 0; i < rows; i++) {
        memcpy(&row, bytes + HEAD_SIZE + inner + i * sizeof row, sizeof row);
        if (adl_training_log_add(&t->log, &row, 1))
            return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    return 0;
}

static int resume(struct training *t, struct adl_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    struct adl_error inner = {{0}};
    if (adl_model_store_read_bytes(t->job->checkpoint, &bytes, &size, err))
        return ADL_EINVAL; /* a wrong file name */
    const int status = read_checkpoint(t, bytes, size, &inner);
    free(bytes);
    if (status)
        return adl_fail(err, status, "%.150s: %s", t->job->checkpoint, inner.text);
    fprintf(stderr, "resumes after episode %.0f\n", episodes_done(t));
    return 0;
}

/* ---- results ---- */

static int save_model(const struct training *t, struct adl_error *err)
{
    struct adl_valuation model;
    struct adl_text bytes = {0};
    adl_market_trainer_model(t->trainer, &model);
    adl_valuation_encode(&model, &bytes);
    const int status = adl_model_store_write_bytes(t->job->out, &bytes, err);
    adl_text_clear(&bytes);
    return status;
}

static void put_summary(struct adl_text *text, const struct training *t)
{
    if (!adl_training_log_best(&t->log)) {
        adl_text_printf(text, "No network was better than bids without learning; %s has no influence on them.\n",
                        t->job->out);
        return;
    }
    adl_training_summary(text, &t->log);
    adl_text_printf(text,
                    "\nThe model is in %s. To test it on seeds used neither for training nor for selection:\n\n"
                    "  adlro compare %s --policies market,least-loaded --model %s --set market.learned=true\n",
                    t->job->out, t->job->scenario_path, t->job->out);
}

static int write_reports(const struct training *t, struct adl_error *err)
{
    const struct adl_market_job *job = t->job;
    const bool taken =
        adl_output_is_stdout(job->csv) || adl_output_is_stdout(job->html) || adl_output_is_stdout(job->json);
    struct adl_text text = {0};
    int status = adl_training_write_reports(job->csv, job->html, job->json, &t->log, err);
    put_summary(&text, t);
    if (status == 0 && !taken)
        status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    return status;
}

/* The checkpoint is written last: if it is complete, so is the rest. */
static int finish(const struct training *t, bool interrupted, struct adl_error *err)
{
    int status = save_model(t, err);
    if (status == 0)
        status = write_reports(t, err);
    if (status == 0)
        status = save_checkpoint(t, err);
    if (status == 0 && interrupted)
        fprintf(stderr,
                "adlro train: interrupted after episode %.0f of %" PRIu64 "; the same command with --resume continues "
                "from %s\n",
                episodes_done(t), t->job->config.episodes, t->job->checkpoint);
    return status;
}

/* ---- the run ---- */

static struct adl_training_row row_of(const struct adl_market_report *report)
{
    const struct adlro_result *held = &report->validation;
    const bool validated = report->validated;
    return (struct adl_training_row){{
        [ADL_TRAINING_EPISODES] = (double)report->episodes,
        [ADL_TRAINING_DECISIONS] = (double)report->decisions,
        [ADL_TRAINING_UPDATES] = (double)report->updates,
        [ADL_TRAINING_LOSS] = report->loss,
        [ADL_TRAINING_BEST] = validated && report->best,
        [ADL_TRAINING_HELD_RETURN] = validated ? -report->relative : NAN,
        [ADL_TRAINING_HELD_JCT_MEAN] = validated ? held->jct_mean_s : NAN,
        [ADL_TRAINING_HELD_JCT_P99] = validated ? held->jct_p99_s : NAN,
        [ADL_TRAINING_HELD_THROUGHPUT] = validated ? held->throughput_jobs_per_h : NAN,
        [ADL_TRAINING_HELD_UTILIZATION] = validated ? held->gpu_utilization : NAN,
    }};
}

static void show_validation(const struct training *t, const struct adl_market_report *report)
{
    const double spent_s = (double)(adl_clock_ns() - t->start_ns) * 1e-9;
    const double left = (double)t->job->config.episodes - (double)report->episodes;
    char jct[ADL_FIGURE_SIZE], time[ADL_FIGURE_SIZE];
    fprintf(stderr,
            "%" PRIu64 " of %" PRIu64 " episodes: cost %.4f of that without learning, on %s %.4f; held-out mean JCT "
            "%s, loss %.3g%s",
            report->episodes, t->job->config.episodes, report->relative, t->job->config.scenario->name,
            report->own_relative, adl_figure_print_duration(jct, report->validation.jct_mean_s), report->loss,
            report->best ? ", the best so far" : "");
    if (left > 0)
        fprintf(stderr, "; %s left",
                adl_figure_print_duration(time, 1 + left * spent_s / ((double)report->episodes - t->start_episodes)));
    fputc('\n', stderr);
}

static int run_rounds(struct training *t, bool *ret_interrupted, struct adl_error *err)
{
    struct adl_market_report report;
    t->start_ns = adl_clock_ns();
    t->start_episodes = episodes_done(t);
    for (;;) {
        *ret_interrupted = adl_interrupt_received() && episodes_done(t) < (double)t->job->config.episodes;
        if (*ret_interrupted)
            return 0;
        const int more = adl_market_trainer_round(t->trainer, &report, err);
        if (more <= 0)
            return more;
        const struct adl_training_row row = row_of(&report);
        if (adl_training_log_add(&t->log, &row, 1))
            return adl_fail(err, ADL_ENOMEM, "out of memory for the log");
        if (!report.validated)
            continue;
        show_validation(t, &report);
        const int status = save_checkpoint(t, err);
        if (status)
            return status;
    }
}

static int prepare(struct training *t, struct adl_error *err)
{
    struct adlro_result plain;
    const int status = adl_market_trainer_prepare(t->trainer, &plain, err);
    if (status)
        return status;
    struct adl_training_baseline *baseline = &t->log.baselines[t->log.baseline_count++];
    *baseline = (struct adl_training_baseline){.name = "plain bids"};
    baseline->result.value[ADL_METRIC_JCT_MEAN] = plain.jct_mean_s;
    baseline->result.value[ADL_METRIC_JCT_P99] = plain.jct_p99_s;
    baseline->result.value[ADL_METRIC_THROUGHPUT] = plain.throughput_jobs_per_h;
    baseline->result.value[ADL_METRIC_UTILIZATION] = plain.gpu_utilization;
    char jct[ADL_FIGURE_SIZE];
    fprintf(stderr, "without learning: held-out mean JCT %s\n", adl_figure_print_duration(jct, plain.jct_mean_s));
    return 0;
}

static int train(struct training *t, bool *ret_interrupted, struct adl_error *err)
{
    int status = adl_market_trainer_create(&t->job->config, &t->trainer, err);
    if (status == 0 && t->job->resume)
        status = resume(t, err);
    adl_interrupt_install();
    if (status == 0)
        status = prepare(t, err);
    if (status == 0)
        status = run_rounds(t, ret_interrupted, err);
    return status ? status : finish(t, *ret_interrupted, err);
}

int adl_train_market(const struct adl_market_job *job, bool *ret_interrupted, struct adl_error *err)
{
    struct training t = {.job = job,
                         .log = {.scenario = job->config.scenario,
                                 .policy = "market",
                                 .network = adl_market_method_names[job->config.method],
                                 .seed = job->config.seed,
                                 .episodes = job->config.episodes,
                                 .validation_episodes = job->config.validation_episodes}};
    const int status = train(&t, ret_interrupted, err);
    adl_market_trainer_destroy(t.trainer);
    adl_training_log_clear(&t.log);
    return status;
}
