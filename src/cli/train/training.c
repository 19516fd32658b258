#include "cli/train/training.h"

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "experiment/run.h"
#include "nn/onnx.h"
#include "policy/dqn/normalize.h"
#include "report/figure.h"
#include "report/training_report.h"
#include "rl/model_store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sections that we add to the trainer's checkpoint. */
#define OPTIONS_TAG "options" /* lines of key=value: the options that determine the result */
#define LOG_TAG     "log"     /* rows of the training's log so far */

struct training {
    const struct adl_training_job *job;
    struct adl_dqn_trainer *trainer;
    struct adl_training_log log;
    struct adl_text options;
    /* At the start of this process, and at the last line that it printed. */
    int64_t start_ns, shown_ns;
    double start_episodes, shown_decisions;
};

/* ---- progress ---- */

static void say(const char *text)
{
    fprintf(stderr, "adlro train: %s\n", text);
}

static double last_of(const struct adl_training_log *log, enum adl_training_column column)
{
    return log->row_count ? log->rows[log->row_count - 1].value[column] : 0;
}

static void show_validation(struct training *t, const struct adl_training_row *row)
{
    const double *value = row->value;
    const int64_t now_ns = adl_clock_ns();
    const double spent_s = (double)(now_ns - t->shown_ns) * 1e-9, all_s = (double)(now_ns - t->start_ns) * 1e-9;
    const double episodes = value[ADL_TRAINING_EPISODES], left = (double)t->job->config.episodes - episodes;
    char jct[ADL_FIGURE_SIZE], baseline[ADL_FIGURE_SIZE], time[ADL_FIGURE_SIZE], rate[ADL_FIGURE_SIZE];
    fprintf(stderr, "%.0f of %" PRIu64 " episodes: return %.4g (warm start -1), loss %.3g; held-out mean JCT %s",
            episodes, t->job->config.episodes, value[ADL_TRAINING_HELD_RETURN], value[ADL_TRAINING_LOSS],
            adl_figure_print_duration(jct, value[ADL_TRAINING_HELD_JCT_MEAN]));
    for (uint32_t i = 0; i < 2 && i < t->log.baseline_count; i++)
        fprintf(stderr, "%s%s %s", i ? ", " : " (", t->log.baselines[i].name,
                adl_figure_print_duration(baseline, t->log.baselines[i].result.value[ADL_METRIC_JCT_MEAN]));
    fprintf(stderr, ")%s; %s decisions/s", value[ADL_TRAINING_BEST] > 0 ? ", the best so far" : "",
            adl_figure_print_short(rate, (value[ADL_TRAINING_DECISIONS] - t->shown_decisions) / spent_s));
    if (left > 0)
        fprintf(stderr, ", %s left",
                adl_figure_print_duration(time, 1 + left * all_s / (episodes - t->start_episodes)));
    fputc('\n', stderr);
    t->shown_ns = now_ns;
    t->shown_decisions = value[ADL_TRAINING_DECISIONS];
}

/* ---- checkpoints ---- */

static int write_options(struct training *t, struct adl_error *err)
{
    const struct adl_dqn_config *c = &t->job->config;
    const struct {
        const char *name;
        double value;
    } reals[] = {{"lambda", c->scenario->lambda},
                 {"tail", c->tail},
                 {"horizon", c->horizon},
                 {"learning-rate", c->learning_rate}};
    adl_text_printf(&t->options, "network=%s\nseed=%" PRIu64 "\nepisodes=%" PRIu64 "\njobs=%" PRIu64 "\n",
                    adl_qnet_kind_name(c->network), c->seed, c->episodes, c->scenario->workload.jobs);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        adl_text_printf(&t->options, "%s=", reals[i].name);
        adl_text_real(&t->options, reals[i].value);
        adl_text_char(&t->options, '\n');
    }
    return adl_text_status(&t->options) ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
}

static int decode(const struct adl_text *bytes, struct adl_model *ret, struct adl_error *err)
{
    if (adl_text_status(bytes))
        return adl_fail(err, ADL_ENOMEM, "out of memory for a model");
    return adl_model_decode(bytes->data, bytes->size, ADL_SCHEMA_VERSION, ret, err);
}

static int save_checkpoint(const struct training *t, struct adl_error *err)
{
    struct adl_text bytes = {0};
    struct adl_model model = {0};
    int status = adl_dqn_trainer_checkpoint(t->trainer, &bytes, err);
    if (status == 0)
        status = decode(&bytes, &model, err);
    if (status == 0) {
        adl_model_section_add(&model, OPTIONS_TAG, t->options.data, t->options.size);
        adl_model_section_add(&model, LOG_TAG, t->log.rows, t->log.row_count * sizeof *t->log.rows);
        status = adl_model_store_write(t->job->checkpoint, &model, err);
    }
    adl_model_clear(&model);
    adl_text_clear(&bytes);
    return status;
}

/* Fails with the option that differs and both values; 0 if none does. */
static int compare_options(const char *path, const struct adl_model_section *section, const char *ours,
                           struct adl_error *err)
{
    const char *theirs = section->bytes, *end = theirs + section->size;
    while (theirs < end && *ours) {
        const char *stop = memchr(theirs, '\n', (size_t)(end - theirs));
        const size_t their_length = (size_t)((stop ? stop : end) - theirs), our_length = strcspn(ours, "\n");
        const size_t name = strcspn(ours, "=");
        if (their_length != our_length || memcmp(theirs, ours, our_length) != 0)
            return adl_fail(err, ADL_EINVAL,
                            "%.150s was made with --%.*s, now it is --%.*s; resume with the same options", path,
                            (int)(their_length < 60 ? their_length : 60), theirs,
                            (int)(our_length > name ? our_length : name), ours);
        theirs += their_length + 1;
        ours += our_length + (ours[our_length] == '\n');
    }
    return theirs == end && !*ours ? 0 : adl_fail(err, ADL_EINVAL, "%.200s was made with other options", path);
}

static int read_sections(struct training *t, const struct adl_model *model, struct adl_error *err)
{
    const char *path = t->job->checkpoint;
    const struct adl_model_section *options = adl_model_section_find(model, OPTIONS_TAG);
    const struct adl_model_section *log = adl_model_section_find(model, LOG_TAG);
    const size_t row = sizeof(struct adl_training_row);
    if (!options || !log || log->size % row != 0)
        return adl_fail(err, ADL_EINVAL, "%.200s is not a checkpoint of `adlro train`", path);
    const int status = compare_options(path, options, t->options.data, err);
    if (status)
        return status;
    return adl_training_log_add(&t->log, log->bytes, log->size / row) ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
}

static int resume(struct training *t, struct adl_error *err)
{
    const char *path = t->job->checkpoint;
    struct adl_model model = {0};
    struct adl_error inner = {{0}};
    char *bytes = NULL;
    size_t size = 0;
    int status = adl_model_store_read_bytes(path, &bytes, &size, err);
    if (status)
        return ADL_EINVAL; /* a wrong file name */
    status = adl_model_decode(bytes, size, ADL_SCHEMA_VERSION, &model, &inner);
    if (status == 0) {
        status = read_sections(t, &model, err);
        if (status == 0)
            status = adl_dqn_trainer_resume(t->trainer, bytes, size, &inner);
    }
    if (inner.text[0])
        adl_fail(err, status, "%.150s: %s", path, inner.text);
    adl_model_clear(&model);
    free(bytes);
    if (status == 0)
        fprintf(stderr, "resumes after episode %.0f\n", last_of(&t->log, ADL_TRAINING_EPISODES));
    return status;
}

/* ---- results ---- */

static int save_model(const struct training *t, struct adl_error *err)
{
    struct adl_text bytes = {0}, onnx = {0};
    struct adl_model model = {0};
    struct adl_qnet net;
    int status = adl_dqn_trainer_model(t->trainer, &bytes, err);
    if (status == 0)
        status = decode(&bytes, &model, err);
    if (status == 0)
        status = adl_model_store_write(t->job->out, &model, err);
    if (status == 0 && t->job->onnx) {
        status = adl_qnet_make(&model.shape, adl_kernels_choose(true), &net, err);
        if (status == 0)
            status = adl_onnx_write(&net, model.params, &onnx, err);
        if (status == 0)
            status = adl_output_write(t->job->onnx, &onnx, err);
    }
    adl_model_clear(&model);
    adl_text_clear(&onnx);
    adl_text_clear(&bytes);
    return status;
}

static void put_summary(struct adl_text *text, const struct training *t)
{
    adl_training_summary(text, &t->log);
    adl_text_printf(text,
                    "\nThe model is in %s. To test it on seeds used neither for training nor for selection:\n\n"
                    "  adlro compare %s --policies fcfs,sjf,easy,dqn --model %s",
                    t->job->out, t->job->scenario_path, t->job->out);
    if (t->job->jobs > 0)
        adl_text_printf(text, " --jobs %" PRIu64, t->job->jobs);
    adl_text_char(text, '\n');
}

int adl_training_write_reports(const char *csv, const char *html, const char *json, const struct adl_training_log *log,
                               struct adl_error *err)
{
    const struct {
        const char *path;
        void (*put)(struct adl_text *, const struct adl_training_log *);
    } reports[] = {{csv, adl_training_csv}, {html, adl_training_html}, {json, adl_training_json}};
    struct adl_text text = {0};
    int status = 0;
    for (size_t i = 0; i < sizeof reports / sizeof *reports && status == 0; i++) {
        if (!reports[i].path)
            continue;
        adl_text_truncate(&text, 0);
        reports[i].put(&text, log);
        status = adl_output_write(reports[i].path, &text, err);
    }
    adl_text_clear(&text);
    return status;
}

static int write_reports(const struct training *t, struct adl_error *err)
{
    const struct adl_training_job *job = t->job;
    const bool taken = adl_output_is_stdout(job->csv) || adl_output_is_stdout(job->html) ||
                       adl_output_is_stdout(job->json) || adl_output_is_stdout(job->onnx);
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
    const bool any = adl_training_log_best(&t->log) != NULL;
    int status = any ? save_model(t, err) : 0;
    if (status == 0 && any)
        status = write_reports(t, err);
    if (status == 0)
        status = save_checkpoint(t, err);
    if (status == 0 && interrupted) {
        if (!any)
            say("interrupted before the first validation, so there is no model yet");
        fprintf(stderr,
                "adlro train: interrupted after episode %.0f of %" PRIu64 "; the same command with --resume continues "
                "from %s\n",
                last_of(&t->log, ADL_TRAINING_EPISODES), t->job->config.episodes, t->job->checkpoint);
    }
    return status;
}

/* ---- the run ---- */

static struct adl_training_row row_of(const struct adl_dqn_report *report)
{
    const double *held = report->validation.value;
    const bool validated = report->validated;
    return (struct adl_training_row){{
        [ADL_TRAINING_EPISODES] = (double)report->episodes,
        [ADL_TRAINING_DECISIONS] = (double)report->decisions,
        [ADL_TRAINING_UPDATES] = (double)report->updates,
        [ADL_TRAINING_RETURN] = report->mean_return,
        [ADL_TRAINING_LOSS] = report->loss,
        [ADL_TRAINING_BEST] = validated && report->best,
        [ADL_TRAINING_HELD_RETURN] = validated ? report->validation_return : NAN,
        [ADL_TRAINING_HELD_JCT_MEAN] = validated ? held[ADL_METRIC_JCT_MEAN] : NAN,
        [ADL_TRAINING_HELD_JCT_P99] = validated ? held[ADL_METRIC_JCT_P99] : NAN,
        [ADL_TRAINING_HELD_THROUGHPUT] = validated ? held[ADL_METRIC_THROUGHPUT] : NAN,
        [ADL_TRAINING_HELD_UTILIZATION] = validated ? held[ADL_METRIC_UTILIZATION] : NAN,
    }};
}

static int run_baselines(struct training *t, struct adl_error *err)
{
    static const char *const names[ADL_TRAINING_BASELINES] = {"fcfs", "sjf", "easy"};
    for (uint32_t i = 0; i < ADL_TRAINING_BASELINES; i++) {
        struct adl_training_baseline *baseline = &t->log.baselines[i];
        baseline->name = names[i];
        const int status = adl_dqn_trainer_baseline(t->trainer, names[i], &baseline->result, err);
        if (status)
            return status;
        t->log.baseline_count = i + 1;
    }
    return 0;
}

static int prepare(struct training *t, struct adl_error *err)
{
    if (access(t->job->checkpoint, F_OK) == 0)
        fprintf(stderr, "adlro train: starts from scratch and will replace %s; --resume would continue from it\n",
                t->job->checkpoint);
    fprintf(stderr, "normalizer: runs a few episodes to measure the ranges of features\n");
    struct adl_result warm_start;
    const int status = adl_dqn_trainer_prepare(t->trainer, &warm_start, err);
    char jct[ADL_FIGURE_SIZE];
    if (status == 0)
        fprintf(stderr, "warm start: held-out mean JCT %s\n",
                adl_figure_print_duration(jct, warm_start.value[ADL_METRIC_JCT_MEAN]));
    return status;
}

/* Runs rounds until all episodes are done or a signal asks to stop. */
static int run_rounds(struct training *t, bool *ret_interrupted, struct adl_error *err)
{
    struct adl_dqn_report report;
    t->start_ns = t->shown_ns = adl_clock_ns();
    t->start_episodes = last_of(&t->log, ADL_TRAINING_EPISODES);
    t->shown_decisions = last_of(&t->log, ADL_TRAINING_DECISIONS);
    for (;;) {
        *ret_interrupted =
            adl_interrupt_received() && last_of(&t->log, ADL_TRAINING_EPISODES) < (double)t->job->config.episodes;
        if (*ret_interrupted)
            return 0;
        const int more = adl_dqn_trainer_round(t->trainer, &report, err);
        if (more <= 0)
            return more;
        const struct adl_training_row row = row_of(&report);
        if (adl_training_log_add(&t->log, &row, 1))
            return adl_fail(err, ADL_ENOMEM, "out of memory for the log");
        if (!report.validated)
            continue;
        show_validation(t, &row);
        const int status = save_checkpoint(t, err);
        if (status)
            return status;
    }
}

static int train(struct training *t, bool *ret_interrupted, struct adl_error *err)
{
    int status = write_options(t, err);
    if (status == 0)
        status = adl_dqn_trainer_create(&t->job->config, &t->trainer, err);
    if (status == 0 && t->job->resume)
        status = resume(t, err);
    adl_interrupt_install();
    if (status == 0)
        status = run_baselines(t, err);
    if (status == 0 && !t->job->resume)
        status = prepare(t, err);
    if (status)
        return status;
    if (!t->job->resume && adl_interrupt_received()) {
        say("interrupted before the first round; nothing is saved");
        *ret_interrupted = true;
        return 0;
    }
    status = run_rounds(t, ret_interrupted, err);
    return status ? status : finish(t, *ret_interrupted, err);
}

int adl_training_run(const struct adl_training_job *job, bool *ret_interrupted, struct adl_error *err)
{
    struct training t = {.job = job,
                         .log = {.scenario = job->config.scenario,
                                 .policy = "dqn",
                                 .network = adl_qnet_kind_name(job->config.network),
                                 .seed = job->config.seed,
                                 .episodes = job->config.episodes,
                                 .validation_episodes = job->config.validation_episodes}};
    const int status = train(&t, ret_interrupted, err);
    adl_dqn_trainer_destroy(t.trainer);
    adl_training_log_clear(&t.log);
    adl_text_clear(&t.options);
    return status;
}
