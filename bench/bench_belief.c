/* bench_belief: run times as distributions: coverage of intervals, error of the median, pinball loss of the 90th
 * percentile against users' limits and means, and the time of a prediction. Each job is predicted when it is submitted,
 * from nothing but jobs that had ended by then. A bar that is missed is marked and makes it exit 1. */
#include "base/heap.h"
#include "experiment/run.h"
#include "foresight.h"
#include "predict/owner_residuals.h"

#include <string.h>

#define DATA ADL_SOURCE_DIR "/../shared/data/"

enum { CAPACITY = 4096, USERS = 1024, HISTORY = 1000000 };

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile_of(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count ? values[(size_t)(q * (double)(count - 1))] : 0;
}

/* What is kept of a prediction until its job ends. */
struct guess {
    struct adl_shape shape;
    double predicted_us;
    bool limited, made;
    struct adl_life life; /* what life tables have counted of it */
    int64_t due_us;       /* when they are to count it next */
    uint64_t owner_key;   /* of its owner's residuals, without a limit */
};

struct mean {
    double sum, count;
};

struct course {
    struct adl_similar *similar;
    struct adl_residuals residuals[2]; /* without and with a limit */
    struct adl_owner_residuals *owners;
    struct guess *guesses;  /* [job] */
    size_t *live, *live_at; /* jobs that run, and [job] where it is in there */
    size_t live_count;
    struct mean users[USERS + 1]; /* the last: everybody */
    size_t count, half, most, limits;
    double ours, of_mean, ours_limited, of_limit; /* pinball losses */
    double ours_log, of_mean_log;                 /* the same of the logarithm */
    double *errors, *times_us;
};

static double pinball(double actual, double said)
{
    return actual > said ? 0.9 * (actual - said) : 0.1 * (said - actual);
}

static void learn(struct course *course, const struct past_job *job, const struct guess *guess)
{
    struct mean *means[] = {&course->users[job->user], &course->users[USERS]};
    for (int i = 0; i < 2; i++) {
        means[i]->sum += (double)job->run_us;
        means[i]->count += 1;
    }
    adl_similar_learn(course->similar, &job->traits, job->run_us, job->class_index);
    if (!guess->made)
        return;
    const double ratio = (double)job->run_us / guess->predicted_us;
    adl_residuals_learn(&course->residuals[guess->limited], &guess->shape, ratio);
    if (!guess->limited)
        adl_owner_residuals_learn(course->owners, guess->owner_key, &guess->shape, ratio);
}

static void end_life(struct course *course, const struct past_job *jobs, size_t ended)
{
    const size_t at = course->live_at[ended], last = course->live[--course->live_count];
    course->live[at] = last;
    course->live_at[last] = at;
    if (!jobs[ended].traits.values[ADL_TRAIT_LIMIT_US].known)
        adl_similar_end(course->similar, &jobs[ended].traits, &course->guesses[ended].life, (double)jobs[ended].run_us);
}

/* As the belief does: jobs that run are known to take longer than they have. */
static void visit_lives(struct course *course, const struct past_job *jobs, int64_t now_us)
{
    for (size_t v = 0; v < course->live_count; v++) {
        const size_t j = course->live[v];
        struct guess *guess = &course->guesses[j];
        if (jobs[j].traits.values[ADL_TRAIT_LIMIT_US].known || guess->due_us > now_us)
            continue;
        adl_similar_age(course->similar, &jobs[j].traits, &guess->life, (double)(now_us - jobs[j].submit_us));
        guess->due_us = jobs[j].submit_us + (int64_t)adl_life_next_us(&guess->life);
    }
}

static bool within(const struct adl_residuals *residuals, const struct guess *guess, double ratio, double low,
                   double high)
{
    return ratio >= adl_residuals_quantile(residuals, &guess->shape, 0, low) &&
           ratio <= adl_residuals_quantile(residuals, &guess->shape, 0, high);
}

static void judge(struct course *course, const struct past_job *job, const struct guess *guess)
{
    struct adl_residuals room;
    const struct adl_residuals *all = &course->residuals[guess->limited];
    const struct adl_residuals *residuals =
        guess->limited ? all : adl_owner_residuals_find(course->owners, guess->owner_key, all, &room);
    const struct mean *mean = course->users[job->user].count > 0 ? &course->users[job->user] : &course->users[USERS];
    const double run_us = (double)job->run_us, ratio = run_us / guess->predicted_us, mean_us = mean->sum / mean->count;
    const double high_us = guess->predicted_us * adl_residuals_quantile(residuals, &guess->shape, 0, 0.9);
    course->half += within(residuals, guess, ratio, 0.25, 0.75);
    course->most += within(residuals, guess, ratio, 0.05, 0.95);
    course->ours += pinball(run_us, high_us);
    course->of_mean += pinball(run_us, mean_us);
    course->ours_log += pinball(log(run_us), log(high_us));
    course->of_mean_log += pinball(log(run_us), log(mean_us));
    if (job->told_us > 0 && guess->limited) {
        course->limits++;
        course->ours_limited += pinball(run_us, high_us);
        course->of_limit += pinball(run_us, (double)job->told_us);
    }
    course->errors[course->count++] = fabs(log(ratio));
}

static void predict(struct course *course, const struct past_job *job, struct guess *ret)
{
    struct adl_similar_prediction prediction;
    const int64_t start_ns = adl_clock_ns();
    ret->made = adl_similar_predict(course->similar, &job->traits, &prediction);
    if (!ret->made)
        return;
    course->times_us[course->count] = (double)(adl_clock_ns() - start_ns) * 1e-3;
    ret->shape = adl_shape_of_deciles(prediction.deciles);
    ret->predicted_us = (double)prediction.run_us;
    ret->limited = job->traits.values[ADL_TRAIT_LIMIT_US].known;
    ret->owner_key = adl_owner_residuals_key(adl_traits_owner(&job->traits), &ret->shape, ret->predicted_us);
    judge(course, job, ret);
}

static void run_course(struct course *course, const struct past_job *jobs, size_t count)
{
    struct adl_heap ends = {0};
    course->guesses = calloc(count + 1, sizeof *course->guesses);
    course->live = calloc(count + 1, sizeof *course->live);
    course->live_at = calloc(count + 1, sizeof *course->live_at);
    course->errors = calloc(count + 1, sizeof *course->errors);
    course->times_us = calloc(count + 1, sizeof *course->times_us);
    if (!course->guesses || !course->live || !course->live_at || !course->errors || !course->times_us ||
        adl_similar_create(CAPACITY, &course->similar, NULL) || adl_owner_residuals_create(&course->owners))
        exit(1);
    for (int r = 0; r < 2; r++)
        adl_residuals_init(&course->residuals[r]);
    for (size_t j = 0; j < count; j++) {
        while (adl_heap_top(&ends) && adl_heap_top(&ends)->time_us < jobs[j].submit_us) {
            const size_t ended = adl_heap_pop(&ends).tag;
            learn(course, &jobs[ended], &course->guesses[ended]);
            end_life(course, jobs, ended);
        }
        visit_lives(course, jobs, jobs[j].submit_us);
        predict(course, &jobs[j], &course->guesses[j]);
        course->live_at[j] = course->live_count;
        course->live[course->live_count++] = j;
        if (adl_heap_push(&ends, (struct adl_heap_item){jobs[j].submit_us + jobs[j].run_us, j}))
            exit(1);
    }
    adl_heap_clear(&ends);
}

static void clear_course(struct course *course)
{
    adl_similar_destroy(course->similar);
    adl_owner_residuals_destroy(course->owners);
    free(course->guesses);
    free(course->live);
    free(course->live_at);
    free(course->errors);
    free(course->times_us);
}

/* before: the median error of the weighted mean, which was the prediction until distributions came (docs/belief.md). */
static void show(const char *what, const struct past_job *jobs, size_t count, double before)
{
    struct course course = {0};
    run_course(&course, jobs, count);
    const double n = (double)course.count, half = 100 * (double)course.half / n, most = 100 * (double)course.most / n;
    const double error = quantile_of(course.errors, course.count, 0.5);
    printf("%s, %zu jobs\n", what, course.count);
    printf("  50 %% intervals cover %.1f %% (bar 47 to 53: %s), 90 %% intervals %.1f %% (bar 87 to 93: %s)\n", half,
           verdict(fabs(half - 50) <= 3), most, verdict(fabs(most - 90) <= 3));
    printf("  median |ln(predicted / true)| %.3f, before %.3f (bar no worse than by 0.002: %s)\n", error, before,
           verdict(error <= before + 0.002));
    printf("  pinball loss at 90 %%: %+.0f %% of the user's mean (bar -25: %s)",
           100 * (course.ours / course.of_mean - 1), verdict(course.ours <= 0.75 * course.of_mean));
    if (course.limits)
        printf(", %+.0f %% of limits (bar -25: %s)", 100 * (course.ours_limited / course.of_limit - 1),
               verdict(course.ours_limited <= 0.75 * course.of_limit));
    printf("; of logarithms %+.0f %% of the user's mean\n", 100 * (course.ours_log / course.of_mean_log - 1));
    printf("  a prediction takes %.1f us (median), %.1f us (90 %%)\n", quantile_of(course.times_us, course.count, 0.5),
           quantile_of(course.times_us, course.count, 0.9));
    fflush(stdout);
    clear_course(&course);
}

static double time_of(struct adl_similar *similar, const struct past_job *jobs, size_t count)
{
    static double times_us[2000];
    size_t timed = 0;
    for (size_t j = 0; j < count && timed < 2000; j += 5) {
        struct adl_similar_prediction prediction;
        const int64_t start_ns = adl_clock_ns();
        adl_similar_predict(similar, &jobs[j].traits, &prediction);
        times_us[timed++] = (double)(adl_clock_ns() - start_ns) * 1e-3;
    }
    return quantile_of(times_us, timed, 0.5);
}

/* The memory is full after 4,096 jobs, and stays as large after a million. */
static void show_scale(const struct past_job *jobs, size_t count)
{
    struct adl_similar *similar = NULL;
    double first_us = 0;
    if (adl_similar_create(CAPACITY, &similar, NULL))
        exit(1);
    for (size_t j = 0; j < HISTORY; j++) {
        const struct past_job *job = &jobs[j % count];
        adl_similar_learn(similar, &job->traits, job->run_us, job->class_index);
        if (j + 1 == CAPACITY)
            first_us = time_of(similar, jobs, count);
    }
    const double last_us = time_of(similar, jobs, count);
    printf("a prediction after %d jobs takes %.1f us (bar 20: %s), after %d %.1f us (bar 1.2 times as much: %s); "
           "kernels %s\n",
           CAPACITY, first_us, verdict(first_us <= 20), HISTORY, last_us, verdict(last_us <= 1.2 * first_us),
           adl_hyper_ops_best()->name);
    adl_similar_destroy(similar);
}

int main(void)
{
    struct adl_scenario scenario;
    struct adl_error err;
    size_t count = 0;
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/campus512.yaml", &scenario, NULL, &err)) {
        fprintf(stderr, "bench_belief: %s\n", err.text);
        return 1;
    }
    struct past_job *jobs = jobs_of_scenario(&scenario, 700001, &count);
    show("campus512, seed 700001", jobs, count, 0.353);
    show_scale(jobs, count);
    free(jobs);
    adl_scenario_clear(&scenario);
    for (int with = 1; with >= 0; with--) {
        jobs = jobs_of_chronus(DATA "chronus/trace_job_Philly_MIX1.csv", with, &count);
        if (jobs)
            show(with ? "Chronus, deadlines as limits" : "Chronus, deadlines unused", jobs, count,
                 with ? 0.198 : 0.444);
        else
            printf("Chronus skipped: the file is not there\n");
        free(jobs);
    }
    jobs = jobs_of_philly(DATA "philly/philly_2017_sep_oct.csv", &count);
    if (jobs)
        show("Philly", jobs, count, 0.466);
    else
        printf("Philly skipped: the file is not there\n");
    free(jobs);
    return missed > 0;
}
