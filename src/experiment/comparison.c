#include "experiment/comparison.h"

#include "base/text.h"
#include "experiment/run.h"
#include "experiment/thread_pool.h"
#include "metrics/lp_bound.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* Every (seed, policy) is one task of the thread pool. Where a result goes depends on the task and not on the thread
 * that ran it. */
struct tasks {
    const struct adl_comparison_request *request;
    struct adl_comparison *comparison;
    struct adl_lower_bound *bounds; /* [seed] */
    bool bounds_done;               /* first the bounds are computed, then the runs */
    pthread_mutex_t lock;           /* guards what follows */
    uint32_t done, total;
    int status; /* of the first task that failed; tasks after it do nothing */
    struct adl_error error;
};

static int do_run(struct tasks *tasks, uint32_t task, struct adl_error *err)
{
    const struct adl_comparison_request *request = tasks->request;
    const uint32_t seed = task / request->policy_count, policy = task % request->policy_count;
    struct adl_policy_result *result = &tasks->comparison->policies[policy];
    const struct adl_run run = {.scenario = request->scenario,
                                .policy = request->policies[policy],
                                .seed = request->first_seed + seed,
                                .regime = request->regime,
                                .supply = request->supply,
                                .bound = tasks->bounds[seed],
                                .timeline = seed == 0 ? result->timeline : NULL,
                                .observer = request->observer,
                                .belief = request->belief,
                                .belief_size = request->belief_size,
                                .learned = request->learned,
                                .health = request->health,
                                .origin = request->origin};
    return adl_run(&run, &result->runs[seed], err);
}

static int do_task(struct tasks *tasks, uint32_t task, struct adl_error *err)
{
    if (tasks->bounds_done)
        return do_run(tasks, task, err);
    const struct adl_comparison_request *request = tasks->request;
    const struct adl_job_supply supply = request->supply ? *request->supply : adl_workload_supply(request->scenario);
    const uint64_t seed = request->first_seed + task;
    const int status = adl_lower_bound_compute(request->scenario, &supply, seed, &tasks->bounds[task], err);
    if (status || request->bound != ADL_BOUND_LP)
        return status;
    return adl_lp_bound_raise(request->scenario, &supply, seed, &tasks->bounds[task], err);
}

static bool may_start(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    const bool ok = tasks->status == 0;
    pthread_mutex_unlock(&tasks->lock);
    return ok;
}

static void run_task(void *self, uint32_t task)
{
    struct tasks *tasks = self;
    struct adl_error error = {0};
    if (!may_start(tasks))
        return;
    const int status = do_task(tasks, task, &error);
    pthread_mutex_lock(&tasks->lock);
    if (status && tasks->status == 0) {
        tasks->status = status;
        tasks->error = error;
    }
    const bool counts = tasks->bounds_done || tasks->request->bound == ADL_BOUND_LP; /* the other bound takes no time */
    tasks->done += counts;
    if (counts && tasks->request->progress)
        tasks->request->progress(tasks->request->progress_self, tasks->done, tasks->total);
    pthread_mutex_unlock(&tasks->lock);
}

/* First the bounds of all seeds, then all runs. */
static int run_tasks(struct tasks *tasks, struct adl_error *err)
{
    const struct adl_comparison_request *request = tasks->request;
    const uint32_t total = request->seed_count * request->policy_count;
    struct adl_thread_pool *pool;
    int status = adl_thread_pool_create(request->threads < total ? request->threads : total, &pool, err);
    if (status)
        return status;
    tasks->total = total + (request->bound == ADL_BOUND_LP ? request->seed_count : 0);
    adl_thread_pool_run(pool, request->seed_count, run_task, tasks);
    tasks->bounds_done = true;
    if (tasks->status == 0)
        adl_thread_pool_run(pool, total, run_task, tasks);
    adl_thread_pool_destroy(pool);
    return tasks->status ? adl_fail(err, tasks->status, "%s", tasks->error.text) : 0;
}

/* Options that differ from their defaults. */
static int list_options(const struct adl_policy_ops *ops, const char *settings, char **ret)
{
    struct adl_policy_setting setting;
    struct adl_text text = {0};
    for (uint32_t i = 0; i < adl_policy_option_count(ops); i++)
        if (adl_policy_option_changed(ops, i, settings, &setting))
            adl_text_printf(&text, "%s=%s\n", setting.name, setting.value);
    if (adl_text_status(&text)) {
        adl_text_clear(&text);
        return ADL_ENOMEM;
    }
    *ret = text.data;
    return 0;
}

static int allocate(const struct adl_comparison_request *request, struct adl_comparison *comparison)
{
    comparison->policies = calloc((size_t)request->policy_count + 1, sizeof *comparison->policies);
    if (!comparison->policies)
        return ADL_ENOMEM;
    comparison->policy_count = request->policy_count;
    for (uint32_t p = 0; p < request->policy_count; p++) {
        struct adl_policy_result *result = &comparison->policies[p];
        result->name = request->policies[p]->name;
        result->summary = request->policies[p]->summary;
        result->variant_of = request->policies[p]->variant_of;
        if (list_options(request->policies[p], request->scenario->policy.settings, &result->options))
            return ADL_ENOMEM;
        result->runs = calloc(request->seed_count, sizeof *result->runs);
        if (!result->runs)
            return ADL_ENOMEM;
        if (request->timelines && adl_timeline_create(request->scenario->cluster.gpu_count, &result->timeline))
            return ADL_ENOMEM;
    }
    return 0;
}

/* What happened, after the policies. */
static int read_actual(const struct adl_comparison_request *request, struct adl_comparison *comparison,
                       struct adl_error *err)
{
    struct adl_policy_result *result = &comparison->policies[request->policy_count];
    if (!request->actual)
        return 0;
    assert(request->seed_count == 1 && request->supply);
    result->runs = calloc(1, sizeof *result->runs);
    if (!result->runs)
        return adl_fail(err, ADL_ENOMEM, "out of memory for what happened");
    result->name = ADL_ACTUAL_NAME;
    result->summary = "no policy: what happened, by the start and end times in the trace";
    return adl_actual_read(request->scenario, request->supply, &comparison->actual, result->runs, err);
}

uint32_t adl_comparison_rows(const struct adl_comparison *comparison)
{
    return comparison->policy_count + (comparison->actual.jobs > 0);
}

static void column(const struct adl_policy_result *result, int metric, uint32_t seeds, double *ret)
{
    for (uint32_t s = 0; s < seeds; s++)
        ret[s] = result->runs[s].value[metric];
}

/* Paired tests against the first policy; the p-values of all policies and all metrics without a clock are one family.
 */
static int compare_with_first(struct adl_comparison *c, double *first, double *other)
{
    const size_t family = (size_t)(c->policy_count - 1) * ADL_METRIC_FIRST_TIMING;
    double *t_p = malloc((family + 1) * sizeof *t_p), *wilcoxon_p = malloc((family + 1) * sizeof *wilcoxon_p);
    int status = t_p && wilcoxon_p ? 0 : ADL_ENOMEM;
    for (uint32_t p = 1; p < c->policy_count && status == 0; p++)
        for (int m = 0; m < ADL_METRIC_COUNT && status == 0; m++) {
            struct adl_paired *paired = &c->policies[p].versus_first[m];
            column(&c->policies[0], m, c->seed_count, first);
            column(&c->policies[p], m, c->seed_count, other);
            status = adl_compare_pairs(other, first, c->seed_count, paired);
            if (m < ADL_METRIC_FIRST_TIMING) {
                t_p[(size_t)(p - 1) * ADL_METRIC_FIRST_TIMING + (size_t)m] = paired->t_p;
                wilcoxon_p[(size_t)(p - 1) * ADL_METRIC_FIRST_TIMING + (size_t)m] = paired->wilcoxon_p;
            }
        }
    if (status == 0 && family > 0)
        status = adl_holm(t_p, family) || adl_holm(wilcoxon_p, family) ? ADL_ENOMEM : 0;
    for (size_t i = 0; i < family && status == 0; i++) {
        struct adl_paired *paired =
            &c->policies[1 + i / ADL_METRIC_FIRST_TIMING].versus_first[i % ADL_METRIC_FIRST_TIMING];
        paired->t_p = t_p[i];
        paired->wilcoxon_p = wilcoxon_p[i];
    }
    free(t_p);
    free(wilcoxon_p);
    return status;
}

static void quarter_column(const struct adl_policy_result *result, int quarter, int figure, uint32_t seeds, double *ret)
{
    for (uint32_t s = 0; s < seeds; s++)
        ret[s] = adl_run_quarter_figure(&result->runs[s].quarters[quarter], figure);
}

static int summarize_quarters(struct adl_policy_result *result, uint32_t seeds, double *x, double *y)
{
    int status = 0;
    for (int f = 0; f < ADL_RUN_QUARTER_FIGURES && status == 0; f++) {
        for (int q = 0; q < ADL_RUN_QUARTERS; q++) {
            quarter_column(result, q, f, seeds, x);
            result->quarters[q][f] = adl_summarize(x, seeds);
        }
        quarter_column(result, 2, f, seeds, x);
        quarter_column(result, 0, f, seeds, y);
        status = adl_compare_pairs(x, y, seeds, &result->third_versus_first[f]);
    }
    return status;
}

/* Means over the seeds. */
static struct adl_score_figures mean_figures(const struct adl_policy_result *result, uint32_t seeds)
{
    struct adl_score_figures mean = {0};
    for (uint32_t s = 0; s < seeds; s++) {
        const struct adl_score_figures figures = adl_result_figures(&result->runs[s]);
        mean.jct_s += figures.jct_s / seeds;
        mean.p99_s += figures.p99_s / seeds;
        mean.jobs_per_h += figures.jobs_per_h / seeds;
        mean.energy_mj += figures.energy_mj / seeds;
        mean.slowdown += figures.slowdown / seeds;
        mean.sla += figures.sla / seeds;
    }
    return mean;
}

/* If the scenario has no references, the first policy is the reference. */
static void score_runs(struct adl_comparison *c)
{
    c->references = c->scenario->references;
    if (c->references.jct_s > 0)
        return;
    c->references = mean_figures(&c->policies[0], c->seed_count);
    c->references_from = c->policies[0].name;
    for (uint32_t p = 0; p < c->policy_count; p++)
        for (uint32_t s = 0; s < c->seed_count; s++)
            adl_result_score(&c->policies[p].runs[s], &c->references);
}

static int summarize(struct adl_comparison *c)
{
    const size_t all = (size_t)c->policy_count * c->seed_count;
    double *x = malloc((all + 1) * sizeof *x), *y = malloc((all + 1) * sizeof *y);
    int status = x && y ? 0 : ADL_ENOMEM;
    for (uint32_t p = 0; p < adl_comparison_rows(c) && status == 0; p++) {
        struct adl_policy_result *result = &c->policies[p];
        for (int m = 0; m < ADL_METRIC_COUNT; m++) {
            column(result, m, c->seed_count, x);
            result->metrics[m] = adl_summarize(x, c->seed_count);
        }
        column(result, ADL_METRIC_UTILIZATION, c->seed_count, x);
        column(result, ADL_METRIC_JCT_MEAN, c->seed_count, y);
        result->jct_on_utilization = adl_regress(x, y, c->seed_count);
        status = summarize_quarters(result, c->seed_count, x, y);
    }
    if (status == 0)
        status = compare_with_first(c, x, y);
    if (status == 0) {
        for (uint32_t s = 0; s < c->seed_count; s++)
            x[s] = c->policies[0].runs[s].bound_jct_s;
        c->bound_jct_s = adl_summarize(x, c->seed_count);
        for (uint32_t p = 0; p < c->policy_count; p++) {
            column(&c->policies[p], ADL_METRIC_UTILIZATION, c->seed_count, x + (size_t)p * c->seed_count);
            column(&c->policies[p], ADL_METRIC_JCT_MEAN, c->seed_count, y + (size_t)p * c->seed_count);
        }
        c->jct_on_utilization = adl_regress(x, y, all);
    }
    free(x);
    free(y);
    return status;
}

int adl_comparison_run(const struct adl_comparison_request *request, struct adl_comparison *ret, struct adl_error *err)
{
    struct adl_comparison comparison = {.scenario = request->scenario,
                                        .regime = adl_regime_name(request->regime),
                                        .told = adl_regime_told(request->regime),
                                        .bound = request->bound,
                                        .first_seed = request->first_seed,
                                        .seed_count = request->seed_count};
    struct tasks tasks = {.request = request, .comparison = &comparison};
    assert((!request->observer && !request->learned && !request->health) ||
           (request->policy_count == 1 && request->seed_count == 1));
    tasks.bounds = calloc(request->seed_count, sizeof *tasks.bounds);
    int status = tasks.bounds ? allocate(request, &comparison) : ADL_ENOMEM;
    if (status)
        adl_fail(err, status, "out of memory for %u policies on %u seeds", request->policy_count, request->seed_count);
    pthread_mutex_init(&tasks.lock, NULL);
    if (status == 0)
        status = run_tasks(&tasks, err);
    if (status == 0)
        status = read_actual(request, &comparison, err);
    if (status == 0)
        score_runs(&comparison);
    if (status == 0 && summarize(&comparison))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for statistics");
    pthread_mutex_destroy(&tasks.lock);
    free(tasks.bounds);
    if (status)
        adl_comparison_clear(&comparison);
    else
        *ret = comparison;
    return status;
}

void adl_comparison_clear(struct adl_comparison *comparison)
{
    for (uint32_t p = 0; comparison->policies && p <= comparison->policy_count; p++) {
        free(comparison->policies[p].runs);
        free(comparison->policies[p].options);
        adl_timeline_destroy(comparison->policies[p].timeline);
    }
    free(comparison->policies);
    *comparison = (struct adl_comparison){0};
}
