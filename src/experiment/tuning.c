#include "experiment/tuning.h"

#include "base/real.h"
#include "base/rng.h"
#include "experiment/comparison.h"
#include "experiment/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TUNED_MAX 16
#define STEP      0.25 /* of an option's range: how far a candidate near the best one lies from it, at most */

/* ---- parts of a history ---- */

struct part {
    struct adl_job_source jobs;
    uint64_t left;
    int64_t first_us;
    bool begun;
};

static int part_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct part *part = self;
    if (part->left == 0)
        return 0;
    const int status = part->jobs.next(part->jobs.self, ret, err);
    if (status != 1)
        return status;
    part->left--;
    if (!part->begun)
        part->first_us = ret->submit_us;
    part->begun = true;
    ret->submit_us -= part->first_us;
    return 1;
}

static void part_close(void *self)
{
    struct part *part = self;
    if (part)
        part->jobs.close(part->jobs.self);
    free(part);
}

static int part_open(void *self, uint64_t seed, struct adl_job_source *ret, struct adl_error *err)
{
    const struct adl_parts *parts = self;
    const uint64_t begin = parts->count * seed / parts->parts, end = parts->count * (seed + 1) / parts->parts;
    struct part *part = calloc(1, sizeof *part);
    if (!part)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a part of the jobs");
    int status = parts->jobs->open(parts->jobs->self, 1, &part->jobs, err);
    if (status) {
        free(part);
        return status;
    }
    struct adl_true_job skipped;
    for (uint64_t i = 0; i < begin && status >= 0; i++)
        status = part->jobs.next(part->jobs.self, &skipped, err);
    if (status < 0) {
        part_close(part);
        return status;
    }
    part->left = end - begin;
    *ret = (struct adl_job_source){.self = part, .next = part_next, .close = part_close};
    return 0;
}

struct adl_job_supply adl_parts_supply(struct adl_parts *parts)
{
    return (struct adl_job_supply){.self = parts, .open = part_open};
}

int adl_parts_count(struct adl_parts *parts, struct adl_error *err)
{
    struct adl_job_source jobs;
    struct adl_true_job job;
    int status = parts->jobs->open(parts->jobs->self, 1, &jobs, err);
    if (status)
        return status;
    parts->count = 0;
    while ((status = jobs.next(jobs.self, &job, err)) == 1)
        parts->count++;
    jobs.close(jobs.self);
    return status;
}

/* ---- candidates ---- */

struct search {
    const struct adl_tuning_request *request;
    const struct adl_policy_option *tuned[TUNED_MAX];
    uint32_t tuned_count;
    struct adl_rng rng;
    uint32_t half;                         /* seeds of each part */
    double *before;                        /* [half] of the policy as it is, on the first part */
    double *cost;                          /* [half] */
    double at[TUNED_MAX], best[TUNED_MAX]; /* places in the ranges, 0..1; below 0: as it is */
    double best_gain;
};

static bool is_tuned(const struct adl_policy_option *option)
{
    return option->tune.max > option->tune.min || (option->type == ADL_POLICY_BOOL && option->tune.max > 0);
}

static void list_tuned(struct search *search)
{
    const struct adl_policy_ops *ops = search->request->policy;
    for (uint32_t i = 0; i < ops->option_count && search->tuned_count < TUNED_MAX; i++)
        if (is_tuned(&ops->options[i]))
            search->tuned[search->tuned_count++] = &ops->options[i];
}

/* The value at a place of an option's range: between positive bounds in proportion, else in even steps. */
static void print_value(const struct adl_policy_option *option, double at, char *ret, size_t size)
{
    const double low = option->tune.min, high = option->tune.max;
    const double value = low > 0 ? low * adl_exp(at * adl_log(high / low)) : low + at * (high - low);
    if (option->type == ADL_POLICY_BOOL)
        snprintf(ret, size, "%s", at < 0.5 ? "false" : "true");
    else if (option->type == ADL_POLICY_INTEGER)
        snprintf(ret, size, "%.0f", value);
    else
        snprintf(ret, size, "%.3g", value);
}

static void print_settings(const struct search *search, const double *at, char ret[ADL_TUNING_SETTINGS_SIZE])
{
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < search->tuned_count; i++) {
        char value[32];
        if (at[i] < 0)
            continue;
        print_value(search->tuned[i], at[i], value, sizeof value);
        used += (size_t)snprintf(ret + used, ADL_TUNING_SETTINGS_SIZE - used, "%s=%s\n", search->tuned[i]->name, value);
    }
}

/* The first half of the trials draws new values of some options; the second changes the best candidate a little. */
static void draw(struct search *search, bool near)
{
    bool any = false;
    for (uint32_t i = 0; i < search->tuned_count; i++) {
        const bool change = adl_rng_uniform(&search->rng) < 0.5;
        const double drawn = adl_rng_uniform(&search->rng);
        double at = near ? search->best[i] : -1;
        if (change) {
            at = near && at >= 0 ? at + STEP * (2 * drawn - 1) : drawn;
            at = at < 0 ? 0 : at > 1 ? 1 : at;
        }
        search->at[i] = at;
        any |= at >= 0;
    }
    if (!any)
        search->at[0] = adl_rng_uniform(&search->rng);
}

/* ---- playing ---- */

static double cost_of(const struct adl_objective *objective, const struct adl_result *run)
{
    const double sum = objective->mean + objective->tail + objective->energy;
    const double jct = run->value[ADL_METRIC_JCT_MEAN], p99 = run->value[ADL_METRIC_JCT_P99];
    const double energy = run->value[ADL_METRIC_ENERGY];
    double cost = objective->mean * adl_log(jct > 1e-6 ? jct : 1e-6);
    cost += objective->tail * adl_log(p99 > 1e-6 ? p99 : 1e-6);
    cost += objective->energy * adl_log(energy > 1e-6 ? energy : 1e-6);
    return cost / sum;
}

/* Costs of the policy with these settings over a part; figures may be NULL. */
static int play(const struct search *search, const char *settings, uint64_t first_seed, double *ret_cost,
                double *figures, struct adl_error *err)
{
    const struct adl_tuning_request *r = search->request;
    static const int metrics[ADL_TUNING_FIGURES] = {ADL_METRIC_JCT_MEAN, ADL_METRIC_JCT_P99, ADL_METRIC_ENERGY};
    struct adl_policy_ops ops = *r->policy;
    const struct adl_policy_ops *const policies[] = {&ops};
    char both[2 * ADL_TUNING_SETTINGS_SIZE];
    snprintf(both, sizeof both, "%s%s", ops.settings ? ops.settings : "", settings);
    ops.settings = both;
    struct adl_comparison comparison = {0};
    const struct adl_comparison_request request = {.scenario = r->scenario,
                                                   .supply = r->supply,
                                                   .policies = policies,
                                                   .policy_count = 1,
                                                   .first_seed = first_seed,
                                                   .seed_count = search->half,
                                                   .regime = r->regime,
                                                   .threads = r->threads};
    const int status = adl_comparison_run(&request, &comparison, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < search->half; i++)
        ret_cost[i] = cost_of(&r->objective, &comparison.policies[0].runs[i]);
    for (int f = 0; figures && f < ADL_TUNING_FIGURES; f++)
        figures[f] = comparison.policies[0].metrics[metrics[f]].mean;
    adl_comparison_clear(&comparison);
    return 0;
}

/* 1 - after / before of each seed. */
static struct adl_summary gain_of(const double *before, double *after, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        after[i] = 1 - adl_exp(after[i] - before[i]);
    return adl_summarize(after, count);
}

static int try_candidate(struct search *search, struct adl_tuning *tuning, struct adl_error *err)
{
    char settings[ADL_TUNING_SETTINGS_SIZE];
    print_settings(search, search->at, settings);
    const int status = play(search, settings, search->request->first_seed, search->cost, NULL, err);
    if (status)
        return status;
    const struct adl_summary gain = gain_of(search->before, search->cost, search->half);
    if (gain.mean > search->best_gain) {
        search->best_gain = gain.mean;
        tuning->searched = gain;
        memcpy(search->best, search->at, sizeof search->best);
        memcpy(tuning->settings, settings, sizeof settings);
    }
    return 0;
}

static int find_best(struct search *search, struct adl_tuning *tuning, struct adl_error *err)
{
    const struct adl_tuning_request *r = search->request;
    const int64_t start_ns = adl_clock_ns();
    int status = play(search, "", r->first_seed, search->before, NULL, err);
    for (uint32_t t = 0; t < r->trials && status == 0; t++) {
        if (r->budget_s > 0 && (double)(adl_clock_ns() - start_ns) * 1e-9 > r->budget_s)
            break;
        draw(search, 2 * t >= r->trials && search->best_gain > 0);
        status = try_candidate(search, tuning, err);
        tuning->trials++;
        if (r->progress)
            r->progress(r->progress_self, t + 1, r->trials);
    }
    return status;
}

static int check(struct search *search, struct adl_tuning *tuning, struct adl_error *err)
{
    const uint64_t first = search->request->first_seed + search->half;
    int status = play(search, "", first, search->before, tuning->before, err);
    if (status == 0)
        status = play(search, tuning->settings, first, search->cost, tuning->after, err);
    if (status == 0) {
        tuning->gain = gain_of(search->before, search->cost, search->half);
        tuning->better = tuning->settings[0] && tuning->gain.lo > 0;
    }
    return status;
}

int adl_tuning_run(const struct adl_tuning_request *request, struct adl_tuning *ret, struct adl_error *err)
{
    struct search search = {.request = request, .half = request->seed_count / 2};
    struct adl_tuning tuning = {.trials = 0};
    list_tuned(&search);
    if (search.tuned_count == 0)
        return adl_fail(err, ADL_EINVAL, "policy %s has no option to tune", request->policy->name);
    for (uint32_t i = 0; i < TUNED_MAX; i++)
        search.best[i] = -1;
    adl_rng_seed(&search.rng, request->seed, "tuning");
    search.before = calloc(search.half, sizeof *search.before);
    search.cost = calloc(search.half, sizeof *search.cost);
    int status =
        search.before && search.cost ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for %u seeds", request->seed_count);
    if (status == 0)
        status = find_best(&search, &tuning, err);
    if (status == 0)
        status = check(&search, &tuning, err);
    free(search.before);
    free(search.cost);
    if (status == 0)
        *ret = tuning;
    return status;
}
