#include "foresight.h"

#include "base/heap.h"
#include "predict/belief.h"
#include "predict/history.h"
#include "trace/trace.h"

#include <string.h>

#define USERS 1024

struct user_past {
    double sum_us, sum_log, count;
    double last_us[2];
};

static void remember(struct user_past *past, double run_us)
{
    past->sum_us += run_us;
    past->sum_log += log(run_us);
    past->last_us[1] = past->count > 0 ? past->last_us[0] : run_us;
    past->last_us[0] = run_us;
    past->count += 1;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count ? values[count / 2] : 0;
}

/* What each foreteller says of a job, 0 = nothing. */
static void foretell(const struct past_job *job, const struct user_past *users, const struct adl_history *history,
                     const struct adl_similar_prediction *answer, double *ret)
{
    const struct user_past *past = users[job->user].count > 0 ? &users[job->user] : &users[USERS];
    ret[BY_LIMIT] = (double)job->told_us;
    ret[BY_MEAN] = past->sum_us / past->count;
    ret[BY_GEOMETRIC_MEAN] = exp(past->sum_log / past->count);
    ret[BY_LAST_TWO] = (past->last_us[0] + past->last_us[1]) / 2;
    ret[BY_HISTORY] = job->spec.gpus > 0 ? (double)adl_history_predict(history, &job->spec) : 0;
    ret[BY_SIMILAR] = (double)answer->run_us;
}

struct foresight look_ahead(const struct past_job *jobs, size_t count, size_t first, bool told_only,
                            struct adl_similar *similar)
{
    struct user_past *users = calloc(USERS + 1, sizeof *users);
    double *errors = calloc(FORETELLERS * (count + 1), sizeof *errors);
    struct adl_heap ends = {0};
    struct adl_history history;
    struct foresight ret = {0};
    size_t covered = 0, classes = 0;
    if (!users || !errors || adl_history_create(&history))
        exit(1);
    for (size_t j = 0; j < count; j++) {
        const struct past_job *job = &jobs[j];
        while (adl_heap_top(&ends) && adl_heap_top(&ends)->time_us < job->submit_us) {
            const struct past_job *ended = &jobs[adl_heap_pop(&ends).tag];
            remember(&users[ended->user], (double)ended->run_us);
            remember(&users[USERS], (double)ended->run_us);
            adl_similar_learn(similar, &ended->traits, ended->run_us, ended->class_index);
            if (ended->spec.gpus > 0)
                adl_history_learn(&history, &ended->spec, ended->run_us);
        }
        struct adl_similar_prediction answer;
        if (j >= first && (job->told_us > 0 || !told_only) && adl_similar_predict(similar, &job->traits, &answer)) {
            double said_us[FORETELLERS];
            const double truth = log((double)job->run_us);
            foretell(job, users, &history, &answer, said_us);
            for (int f = 0; f < FORETELLERS; f++)
                if (said_us[f] > 0)
                    errors[(size_t)f * count + ret.count[f]++] = fabs(log(said_us[f]) - truth);
            covered += fabs(log((double)answer.run_us) - truth) <= answer.spread;
            classes += job->class_index != ADL_CLASS_UNKNOWN && answer.class_index == job->class_index;
            ret.class_count += job->class_index != ADL_CLASS_UNKNOWN;
        }
        if (adl_heap_push(&ends, (struct adl_heap_item){job->submit_us + job->run_us, j}))
            exit(1);
    }
    for (int f = 0; f < FORETELLERS; f++)
        ret.error[f] = median(errors + (size_t)f * count, ret.count[f]);
    ret.spread_covers = (double)covered / (double)ret.count[BY_SIMILAR];
    ret.class_share = ret.class_count ? (double)classes / (double)ret.class_count : 0;
    adl_history_clear(&history);
    adl_heap_clear(&ends);
    free(users);
    free(errors);
    return ret;
}

struct past_job *jobs_of_scenario(const struct adl_scenario *scenario, uint64_t seed, size_t *ret_count)
{
    struct past_job *jobs = calloc(scenario->workload.jobs, sizeof *jobs);
    struct adl_workload_stream stream;
    struct adl_belief *belief = NULL;
    struct adl_true_job job;
    if (!jobs || adl_workload_begin(&stream, scenario, seed) || adl_belief_create(&scenario->cluster, false, &belief))
        exit(1);
    *ret_count = 0;
    while (adl_workload_next(&stream, &job)) {
        struct past_job *to = &jobs[(*ret_count)++];
        const struct adl_event submit = {.kind = ADL_EVENT_SUBMIT, .submit.spec = &job.spec};
        struct adl_runtimes told;
        if (adl_belief_admit(belief, &submit, &told))
            exit(1);
        adl_traits_read(&to->traits, &job.spec, job.submit_us);
        to->spec = job.spec;
        to->submit_us = job.submit_us;
        to->run_us = job.ideal_us;
        to->user = job.spec.user % USERS;
        to->class_index = job.spec.class_index;
        for (uint32_t t = 0; t < scenario->cluster.type_count; t++)
            if (told.best_us[t] > 0 && (to->told_us == 0 || told.best_us[t] < to->told_us))
                to->told_us = told.best_us[t];
    }
    adl_workload_end(&stream);
    adl_belief_destroy(belief);
    return jobs;
}

static int compare_submissions(const void *a, const void *b)
{
    const struct past_job *x = a, *y = b;
    if (x->submit_us != y->submit_us)
        return x->submit_us < y->submit_us ? -1 : 1;
    return (x->spec.id > y->spec.id) - (x->spec.id < y->spec.id);
}

static uint64_t hash_word(const char *word)
{
    uint64_t hash = 14695981039346656037u;
    while (*word)
        hash = (hash ^ (unsigned char)*word++) * 1099511628211u;
    return hash;
}

struct past_job *jobs_of_chronus(const char *path, bool with_deadlines, size_t *ret_count)
{
    enum { MOST = 40000, MINUTE_US = 60000000 };
    char line[512], group[64], model[64], kind[16];
    long gpus, submit, duration, deadline;
    struct past_job *jobs = calloc(MOST, sizeof *jobs);
    FILE *file = fopen(path, "r");
    *ret_count = 0;
    if (!file || !jobs) {
        free(jobs);
        return NULL;
    }
    while (*ret_count < MOST && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%*d,%63[^,],%ld,%ld,%*d,%63[^,],%ld,%*d,%ld,%*d,%*d,%15s", group, &gpus, &submit, model,
                   &duration, &deadline, kind) != 7)
            continue;
        struct past_job *job = &jobs[(*ret_count)++];
        const bool best_effort = strcmp(kind, "best") == 0;
        const struct adl_job_spec spec = {.gpus = (uint16_t)gpus};
        job->spec.id = *ret_count; /* the order of the file */
        adl_traits_read(&job->traits, &spec, submit * MINUTE_US);
        struct adl_value *values = job->traits.values;
        values[ADL_TRAIT_CLASS].known = values[ADL_TRAIT_USER].known = values[ADL_TRAIT_KIND].known =
            values[ADL_TRAIT_TYPES].known = values[ADL_TRAIT_PRIORITY].known = false;
        values[ADL_TRAIT_NAME] = (struct adl_value){.known = true, .symbol = hash_word(model)};
        values[ADL_TRAIT_GROUP] = (struct adl_value){.known = true, .symbol = hash_word(group)};
        values[ADL_TRAIT_FLAGS].symbol = best_effort;
        job->submit_us = submit * MINUTE_US;
        job->run_us = duration * MINUTE_US;
        job->told_us = best_effort ? 0 : deadline * MINUTE_US;
        if (job->told_us > 0 && with_deadlines)
            values[ADL_TRAIT_LIMIT_US] = (struct adl_value){.known = true, .number = log((double)job->told_us)};
        job->user = (uint32_t)(hash_word(group) % USERS);
        job->class_index = ADL_CLASS_UNKNOWN;
    }
    fclose(file);
    qsort(jobs, *ret_count, sizeof *jobs, compare_submissions);
    return jobs;
}

struct past_job *jobs_of_philly(const char *path, size_t *ret_count)
{
    enum { MOST = 60000 };
    struct adl_trace *trace = NULL;
    struct adl_trace_row row;
    struct past_job *jobs = calloc(MOST, sizeof *jobs);
    *ret_count = 0;
    if (!jobs || adl_trace_open(path, &(struct adl_trace_options){.format = ADL_TRACE_PHILLY}, &trace, NULL)) {
        free(jobs);
        return NULL;
    }
    while (*ret_count < MOST && adl_trace_next(trace, &row, NULL) > 0) {
        struct past_job *job = &jobs[(*ret_count)++];
        job->spec = (struct adl_job_spec){.user = adl_job_name_id(row.user),
                                          .gpus = (uint16_t)row.gpus,
                                          .types = 1,
                                          .flags = ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN,
                                          .priority = 0.5f};
        job->submit_us = row.submit_us;
        job->run_us = row.duration_us;
        job->user = job->spec.user % USERS;
        adl_traits_read(&job->traits, &job->spec, job->submit_us);
    }
    adl_trace_close(trace);
    return jobs;
}
