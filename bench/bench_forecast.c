/* bench_forecast: when waiting jobs will start, foretold from futures (src/twin): coverage of p50 and p90, the error
 * beside the classic estimate (users' limits through the same policy), and what a forecast costs. Forecasts are made
 * when jobs are submitted and every simulated hour, from nothing but the past; of the instants, a sample. Those made
 * after the last submission of a run do not count: futures have submissions, and no service sees their end. What they
 * would change is printed. A bar that is missed is marked and makes it exit 1.
 *
 *     bench/run forecast                               all
 *     build/bench/bench_forecast mixed64 easy          one workload, one policy
 *     build/bench/bench_forecast mixed64 easy 700101   another seed
 *     build/bench/bench_forecast sacct srtf 500000 known=3 futures=32 events=16000 hours=48 runs=5
 *                                                      futures that know the truth (clairvoyant.h), on the dump
 *     build/bench/bench_forecast --quick               a few jobs: that it runs, not what forecasts are worth
 *     bench/forecast/reliability < OUTPUT > picture.svg         the reliability of all rows as a picture */
#include "clairvoyant.h"
#include "experiment/run.h"
#include "experiment/trace_supply.h"
#include "outcomes.h"
#include "sacct_dump.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"
#include "twin/starts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATA       ADL_SOURCE_DIR "/../shared/data/"
#define CLUSTERS   ADL_SOURCE_DIR "/scenarios/clusters/"
#define HOUR_US    (INT64_C(3600) * 1000000)
#define OTHER_SEED 550000 /* of other draws of the process of a run */

enum { FUTURES_MAX = 64, SAMPLED = 16, OTHERS = 32 };

static uint64_t seed = 700100;

/* From the command line, for trials; 0 = as the row says. */
static struct {
    uint64_t known; /* what futures know (clairvoyant.h) */
    uint64_t futures, events, runs;
    uint64_t hours; /* forecasts are made so many hours apart, and none at submission */
} asked;

static int missed;
static bool broken; /* a run failed */

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

/* Of this process, so that others on the machine do not count. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A forecast whose job has not started yet. */
struct open_forecast {
    uint64_t id;
    int kind;
    int64_t made_us, classic_us;
    uint64_t submissions; /* by then */
    struct adl_start_issue issue;
    int64_t times[FUTURES_MAX];
    double alike_us;
};

struct course {
    struct adl_scenario scenario;
    struct adl_engine *engine;
    struct adl_world_sim *world;
    struct adl_recent *recent;
    struct adl_starts *starts, *classic;
    struct clairvoyant *clairvoyant; /* NULL: futures know nothing */
    struct clairvoyant_jobs truth, others[OTHERS];
    struct adl_start_levels levels[KINDS];
    struct open_forecast *open;
    size_t open_count, open_capacity;
    struct outcomes *outcomes;
    double load;        /* factor of the rate of submissions */
    double per_h;       /* rate of submissions of a dump */
    uint32_t submitted; /* the slot of the last submission of this instant, or ADL_NONE */
    uint64_t submissions, stride, refreshes, events, unknown;
    uint32_t futures;
    int64_t hour, forecast_ns, hours_stride;
};

/* ---- the outcome of forecasts ---- */

static struct adl_start_times times_of(const struct open_forecast *it, uint32_t futures)
{
    return (struct adl_start_times){it->times, futures, it->made_us, it->alike_us};
}

/* Pinball loss of a quantile of the logarithm of the wait. */
static double loss_of(const struct open_forecast *it, uint32_t futures, double level, double q, int64_t actual_us)
{
    const struct adl_start_times times = times_of(it, futures);
    const int64_t said_us = adl_start_rank_time(&times, level);
    const double late = log((double)(actual_us - it->made_us + 1)) - log((double)(said_us - it->made_us + 1));
    return late > 0 ? q * late : (q - 1) * late;
}

static void resolve(struct course *course, size_t index, int64_t actual_us)
{
    struct open_forecast it = course->open[index];
    const struct adl_start_times times = times_of(&it, course->futures);
    const struct adl_start_rank rank = adl_start_rank(&times, actual_us);
    const double level50 = (double)it.issue.level[adl_start_level_index(0.5)];
    const double level90 = (double)it.issue.level[adl_start_level_index(0.9)];
    const int64_t p50_us = adl_start_rank_time(&times, level50);
    const int64_t raw_us = adl_start_rank_time(&times, 0.5);
    struct outcomes *outcomes = course->outcomes;
    course->open[index] = course->open[--course->open_count];
    struct outcome *outcome = outcomes_add(outcomes);
    if (!outcome)
        return;
    *outcome = (struct outcome){.kind = it.kind,
                                .submissions = it.submissions,
                                .raw50 = adl_start_within(rank, 0.5),
                                .raw90 = adl_start_within(rank, 0.9),
                                .loss = loss_of(&it, course->futures, level50, 0.5, actual_us) +
                                        loss_of(&it, course->futures, level90, 0.9, actual_us),
                                .raw_loss = loss_of(&it, course->futures, 0.5, 0.5, actual_us) +
                                            loss_of(&it, course->futures, 0.9, 0.9, actual_us),
                                .ours_s = fabs((double)(p50_us - actual_us)) * 1e-6,
                                .raw_s = fabs((double)(raw_us - actual_us)) * 1e-6,
                                .classic_s = fabs((double)(it.classic_us - actual_us)) * 1e-6};
    for (int i = 0; i < ADL_START_LEVELS; i++)
        outcome->within[i] = adl_start_within(rank, (double)it.issue.level[i]);
    adl_start_levels_learn(&course->levels[it.kind], &it.issue, rank);
}

/* Forecasts that were too early are known as such while their jobs still wait. */
static void judge_open(struct course *course, int64_t now_us)
{
    for (size_t i = 0; i < course->open_count; i++) {
        struct open_forecast *it = &course->open[i];
        const struct adl_start_times times = times_of(it, course->futures);
        if (now_us > it->made_us)
            adl_start_levels_wait(&course->levels[it->kind], &it->issue, adl_start_rank(&times, now_us));
    }
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    (void)gpus;
    struct course *course = self;
    for (size_t i = course->open_count; command->kind == ADL_COMMAND_START && i-- > 0;)
        if (course->open[i].id == state->jobs[command->job].spec.id)
            resolve(course, i, state->now_us);
    return 0;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    (void)state;
    struct course *course = self;
    if (event->kind == ADL_EVENT_SUBMIT) {
        course->submitted = event->job;
        course->submissions++;
    }
    return 0;
}

/* ---- forecasts ---- */

static void record(struct course *course, uint32_t slot, int kind)
{
    const int64_t *classic = adl_starts_of(course->classic, slot);
    const int64_t *times =
        course->clairvoyant ? clairvoyant_starts(course->clairvoyant, slot) : adl_starts_of(course->starts, slot);
    if (!times || !classic ||
        adl_grow((void **)&course->open, &course->open_capacity, course->open_count + 1, sizeof *course->open))
        return;
    if (times[0] == ADL_NEVER_US) { /* no future reached it: there is no forecast */
        course->unknown++;
        return;
    }
    struct open_forecast *it = &course->open[course->open_count++];
    *it = (struct open_forecast){.id = adl_engine_state(course->engine)->jobs[slot].spec.id,
                                 .kind = kind,
                                 .submissions = course->submissions,
                                 .made_us = adl_starts_made_us(course->classic),
                                 .issue = adl_start_levels_issue(&course->levels[kind]),
                                 .classic_us = classic[0],
                                 .alike_us = adl_recent_alike_us(course->recent)};
    memcpy(it->times, times, course->futures * sizeof *times);
    for (size_t i = 0; i + 1 < course->open_count; i++)
        if (course->open[i].id == it->id && course->open[i].kind == kind)
            it->issue.others = ++course->open[i].issue.others;
}

static int play(struct course *course, uint64_t from, uint32_t only, struct adl_error *err)
{
    int status;
    if (course->clairvoyant) {
        status = clairvoyant_refresh(course->clairvoyant, course->engine, course->recent, from, only, err);
        course->events += clairvoyant_events(course->clairvoyant);
    } else {
        status = adl_starts_refresh(course->starts, course->engine, course->recent, from, only, err);
        course->events += adl_starts_events(course->starts);
    }
    return status;
}

static void forecast(struct course *course, int kind, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(course->engine);
    const int64_t start_ns = cpu_ns();
    const uint32_t only = kind == AT_SUBMISSION ? course->submitted : ADL_NONE;
    judge_open(course, state->now_us);
    if (play(course, (uint64_t)state->now_us, only, err))
        return;
    course->forecast_ns += cpu_ns() - start_ns;
    course->refreshes++;
    if (adl_starts_refresh(course->classic, course->engine, NULL, 0, only, err))
        return;
    if (kind == AT_SUBMISSION) {
        record(course, course->submitted, kind);
        return;
    }
    const uint32_t step = 1 + state->queue.count / SAMPLED;
    uint32_t nth = 0;
    for (uint32_t slot = 0; slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_PENDING && nth++ % step == 0)
            record(course, slot, kind);
}

static int run(struct course *course, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(course->engine);
    int status;
    err->text[0] = '\0';
    for (;;) {
        course->submitted = ADL_NONE;
        if ((status = adl_engine_step(course->engine, err)) <= 0)
            return status;
        const int64_t hour = state->now_us / HOUR_US;
        if (hour >= course->hour && state->queue.count > 0) {
            course->hour = hour + course->hours_stride;
            forecast(course, EACH_HOUR, err);
        } else if (course->submitted != ADL_NONE && course->submissions % course->stride == 0 &&
                   state->jobs[course->submitted].phase == ADL_PHASE_PENDING) {
            forecast(course, AT_SUBMISSION, err);
        }
        if (err->text[0])
            return ADL_EINVAL;
    }
}

/* ---- one workload and policy ---- */

enum { POLICIES = 3 };

static const char *const policies[POLICIES] = {"easy", "srtf", "adlro"};

/* How much of a workload is played and looked at: for policies whose decisions take longer, less. */
struct sample {
    uint64_t jobs, stride; /* a forecast for every stride-th submission ... */
    int64_t hours;         /* ... and every that many hours */
    uint32_t futures;
    uint64_t runs; /* with seeds one after the other: few jobs wait for long, and one run is of a few dozen of them */
};

struct workload {
    const char *name, *scenario, *trace, *cluster;
    double load;
    struct sample samples[POLICIES];
};

static const struct workload workloads[] = {
    {.name = "campus512",
     .scenario = "campus512",
     .load = 1.1,
     .samples = {{30000, 8, 6, 8, 1}, {60000, 8, 6, 8, 3}, {30000, 16, 6, 4, 2}}},
    {.name = "mixed64",
     .scenario = "mixed64",
     .load = 1.2,
     .samples = {{24000, 4, 1, 16, 1}, {18000, 6, 2, 16, 1}, {12000, 12, 2, 8, 1}}},
    {.name = "philly",
     .trace = DATA "philly/philly_2017_sep_oct.csv",
     .cluster = CLUSTERS "philly.yaml",
     .samples = {{52849, 100, 12, 4, 1}, {52849, 50, 12, 4, 1}, {52849, 50, 12, 4, 1}}},
    {.name = "sacct",
     .cluster = CLUSTERS "nodes64.yaml",
     .samples = {{6000, 8, 6, 8, 1}, {12000, 4, 6, 8, 6}, {12000, 4, 6, 4, 2}}},
};

static int open_jobs(const struct workload *workload, uint64_t jobs, struct course *course,
                     struct adl_trace_supply **ret, struct adl_job_source *ret_source, struct adl_error *err)
{
    int status;
    if (workload->scenario) {
        status = adl_scenario_load(workload->scenario, &course->scenario, NULL, err);
        course->scenario.workload.jobs = jobs;
        course->scenario.workload.arrivals.rate_per_h *= course->load;
        return status ? status : adl_workload_open(&course->scenario, seed, ret_source, err);
    }
    char dump[] = SACCT_DUMP_TEMPLATE;
    status = adl_cluster_load(workload->cluster, &course->scenario, err);
    if (status == 0 && !workload->trace)
        status = sacct_dump_rate(jobs, seed, &course->per_h, err);
    if (status == 0 && !workload->trace)
        status = sacct_dump_write(dump, jobs, seed, course->per_h, err);
    const struct adl_trace_plan plan = {
        .path = workload->trace ? workload->trace : dump, .scenario = &course->scenario, .jobs_max = jobs};
    if (status == 0)
        status = adl_trace_supply_create(&plan, ret, err);
    if (status)
        return status;
    const struct adl_job_supply supply = adl_trace_supply_jobs(*ret);
    status = supply.open(supply.self, 0, ret_source, err);
    if (!workload->trace)
        unlink(dump);
    return status;
}

/* Jobs of the process of which those of the run are one draw. */
static int read_dump(struct course *course, uint64_t jobs, uint64_t from, struct clairvoyant_jobs *ret,
                     struct adl_error *err)
{
    char dump[] = SACCT_DUMP_TEMPLATE;
    struct adl_trace_supply *supply = NULL;
    struct adl_job_source source = {.self = NULL};
    int status = sacct_dump_write(dump, jobs, from, course->per_h, err);
    const struct adl_trace_plan plan = {.path = dump, .scenario = &course->scenario};
    if (status == 0)
        status = adl_trace_supply_create(&plan, &supply, err);
    if (status == 0)
        status = adl_trace_supply_jobs(supply).open(adl_trace_supply_jobs(supply).self, 0, &source, err);
    if (status == 0)
        status = clairvoyant_jobs_read(ret, &source, err);
    if (source.self)
        source.close(source.self);
    adl_trace_supply_destroy(supply);
    unlink(dump);
    return status;
}

static int open_clairvoyant(struct course *course, uint64_t jobs, const struct adl_starts_config *like,
                            struct adl_error *err)
{
    const struct clairvoyant_config config = {.engine = course->engine,
                                              .preemption = like->fork.preemption,
                                              .kill_at_limit = like->fork.kill_at_limit,
                                              .one_by_one = like->fork.one_by_one,
                                              .known = (int)asked.known,
                                              .futures = like->futures,
                                              .horizon_s = like->horizon_s,
                                              .events_max = like->events_max,
                                              .truth = &course->truth,
                                              .others = course->others,
                                              .other_count = OTHERS};
    int status = read_dump(course, jobs, seed, &course->truth, err);
    for (uint64_t i = 0; status == 0 && i < OTHERS; i++)
        status = read_dump(course, 2 * jobs, OTHER_SEED + i, &course->others[i], err);
    return status ? status : clairvoyant_create(&config, &course->clairvoyant, err);
}

static int open_course(const struct workload *workload, uint64_t jobs, const struct adl_policy_ops *policy,
                       struct course *course, struct adl_trace_supply **supply, struct adl_error *err)
{
    struct adl_job_source source;
    int status = open_jobs(workload, jobs, course, supply, &source, err);
    if (status == 0)
        status = adl_world_sim_create_from(&course->scenario, source, seed, ADL_REGIME_LEARNED, &course->world, err);
    if (status || adl_recent_create(&course->scenario.cluster, &course->recent))
        return status ? status : ADL_ENOMEM;
    const struct adl_engine_config config = {
        .cluster = &course->scenario.cluster,
        .policy = policy,
        .policy_config = adl_run_policy_config(&course->scenario),
        .seed = seed,
        .learned = true,
        .world_ops = &adl_world_sim_ops,
        .world = course->world,
        .observers = {adl_recent_observer(course->recent), {.self = course, .event = on_event, .command = on_command}},
        .observer_count = 2};
    status = adl_engine_create(&config, &course->engine, err);
    struct adl_starts_config starts = {.fork = {.engine = course->engine,
                                                .preemption = course->scenario.preemption,
                                                .kill_at_limit = course->scenario.kill_at_limit,
                                                .one_by_one = course->scenario.one_by_one},
                                       .futures = course->futures,
                                       .horizon_s = 30 * 86400.0,
                                       .events_max = asked.events ? asked.events : 4000};
    if (status == 0)
        status = adl_starts_create(&starts, &course->starts, err);
    if (status == 0 && asked.known)
        status = workload->scenario || workload->trace ? adl_fail(err, ADL_EINVAL, "known= is for the dump alone")
                                                       : open_clairvoyant(course, jobs, &starts, err);
    starts.futures = 1;
    starts.horizon_s = 1e9;
    starts.events_max = 40000;
    starts.fork.draw = ADL_FORK_LIMITS;
    return status ? status : adl_starts_create(&starts, &course->classic, err);
}

static void close_course(struct course *course, struct adl_trace_supply *supply)
{
    adl_starts_destroy(course->starts);
    adl_starts_destroy(course->classic);
    clairvoyant_destroy(course->clairvoyant);
    clairvoyant_jobs_clear(&course->truth);
    for (int i = 0; i < OTHERS; i++)
        clairvoyant_jobs_clear(&course->others[i]);
    adl_engine_destroy(course->engine);
    adl_recent_destroy(course->recent);
    adl_world_sim_destroy(course->world);
    adl_trace_supply_destroy(supply);
    adl_scenario_clear(&course->scenario);
    free(course->open);
}

/* Returns the number of forecasts that were tried. */
static uint64_t bench_run(const struct workload *workload, const struct sample *sample, const char *policy,
                          struct outcomes *outcomes)
{
    static struct course course;
    struct adl_trace_supply *supply = NULL;
    struct adl_error err = {.text = ""};
    const size_t first = outcomes->count;
    memset(&course, 0, sizeof course);
    course.load = workload->load;
    course.stride = asked.hours ? UINT64_MAX : sample->stride;
    course.hours_stride = asked.hours ? (int64_t)asked.hours : sample->hours;
    course.futures = asked.futures ? (uint32_t)asked.futures : sample->futures;
    course.outcomes = outcomes;
    int status = open_course(workload, sample->jobs, adl_policy_find(policy), &course, &supply, &err);
    if (status == 0)
        status = run(&course, &err);
    if (status)
        printf("%-10s %-6s %s: %s\n", workload->name, policy, verdict(false), err.text);
    broken |= status != 0;
    outcomes_mark_late(outcomes, first, course.submissions);
    printf("  %" PRIu64 " jobs, seed %" PRIu64 "; every %" PRIu64 "th submission, every %" PRId64 " h, %" PRIu32
           " futures; %" PRIu64 " rounds, %.1f ms each, %.2f us for each of %" PRIu64
           " events; no future reached %" PRIu64 " jobs, %zu never started\n",
           sample->jobs, seed, asked.hours ? 0 : course.stride, course.hours_stride, course.futures, course.refreshes,
           (double)course.forecast_ns * 1e-6 / (double)(course.refreshes + !course.refreshes),
           (double)course.forecast_ns * 1e-3 / (double)(course.events + !course.events), course.events, course.unknown,
           course.open_count);
    fflush(stdout);
    close_course(&course, supply);
    return course.refreshes;
}

static void bench(const struct workload *workload, const struct sample *sample, int number)
{
    const char *policy = policies[number];
    const uint64_t first = seed;
    struct outcomes outcomes = {0};
    uint64_t tried = 0;
    for (; seed < first + (asked.runs ? asked.runs : sample->runs); seed++)
        tried += bench_run(workload, sample, policy, &outcomes);
    seed = first;
    for (int kind = 0; kind < KINDS; kind++)
        missed += !outcomes_report(&outcomes, workload->name, policy, kind);
    if (tried == 0)
        printf("%-10s %-6s no job waited: nothing to foretell\n", workload->name, policy);
    else
        outcomes_report_reliability(&outcomes, workload->name, policy);
    free(outcomes.list);
}

/* ---- cost ---- */

/* Until many jobs wait: a backlog on campus512. */
static int fill(struct course *course, uint64_t waiting, double *ret_event_us, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(course->engine);
    const int64_t start_ns = cpu_ns();
    int status = 1;
    while (status > 0 && state->queue.count < waiting)
        status = adl_engine_step(course->engine, err);
    *ret_event_us = (double)(cpu_ns() - start_ns) * 1e-3 / (double)adl_engine_counts(course->engine)->events;
    return status < 0 ? status : 0;
}

/* 64 futures of 1,000 waiting jobs until all have started; and what an event costs in them and in the simulator, when
 * it plays on from the same state. */
static void bench_cost(const char *policy)
{
    static struct course course;
    const struct workload workload = {.scenario = "campus512"};
    struct adl_trace_supply *supply = NULL;
    struct adl_starts *starts = NULL;
    struct adl_error err = {.text = ""};
    double fill_us = 0;
    memset(&course, 0, sizeof course);
    course.load = 40;
    course.futures = 1;
    int status = open_course(&workload, 4000, adl_policy_find(policy), &course, &supply, &err);
    if (status == 0)
        status = fill(&course, 1000, &fill_us, &err);
    const struct adl_starts_config config = {
        .fork = {.engine = course.engine, .preemption = course.scenario.preemption},
        .futures = 64,
        .horizon_s = 30 * 86400.0};
    if (status == 0)
        status = adl_starts_create(&config, &starts, &err);
    int64_t start_ns = cpu_ns();
    if (status == 0)
        status = adl_starts_refresh(starts, course.engine, NULL, 1, ADL_NONE, &err);
    const double all_s = (double)(cpu_ns() - start_ns) * 1e-9;
    const uint64_t before = adl_engine_counts(course.engine)->events;
    start_ns = cpu_ns();
    for (int i = 0; i < 3000 && status == 0; i++)
        status = adl_engine_step(course.engine, &err) < 0 ? ADL_EINVAL : 0;
    const double sim_us =
        (double)(cpu_ns() - start_ns) * 1e-3 / (double)(adl_engine_counts(course.engine)->events - before);
    if (status == 0 && starts && adl_starts_events(starts) == 0)
        status = adl_fail(&err, ADL_EINVAL, "there was no backlog of 1,000 jobs");
    if (status) {
        printf("cost %s %s: %s\n", policy, verdict(false), err.text);
    } else {
        const double event_us = all_s * 1e6 / (double)adl_starts_events(starts);
        printf("cost %-6s 64 futures of 1,000 waiting jobs: %.2f s (bar 2 s): %s; an event %.2f us, of the simulator "
               "%.2f us, "
               "%.2fx (bar 2x): %s\n",
               policy, all_s, verdict(all_s <= 2), event_us, sim_us, event_us / sim_us,
               verdict(event_us <= 2 * sim_us));
    }
    fflush(stdout);
    adl_starts_destroy(starts);
    close_course(&course, supply);
}

static bool is_meant(int argc, char **argv, int at, const char *name)
{
    return argc <= at || strcmp(argv[at], name) == 0;
}

/* Of the workloads that need no file. Bars mean nothing for so few jobs; a run that fails does. */
static int bench_quick(void)
{
    static const struct sample sample = {1200, 4, 4, 4, 1};
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
        if (!workloads[w].trace)
            bench(&workloads[w], &sample, 0);
    return broken;
}

static bool ask(const char *text)
{
    static const struct {
        const char *name;
        uint64_t *value;
    } options[] = {{"known=", &asked.known},
                   {"futures=", &asked.futures},
                   {"events=", &asked.events},
                   {"hours=", &asked.hours},
                   {"runs=", &asked.runs}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const size_t length = strlen(options[i].name);
        if (strncmp(text, options[i].name, length) != 0)
            continue;
        *options[i].value = strtoull(text + length, NULL, 10);
        return asked.futures <= FUTURES_MAX;
    }
    fprintf(stderr, "%s: options are known=, futures=, events=, hours= and runs=, with a number\n", text);
    return false;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--quick") == 0)
        return bench_quick();
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++)
        if (!ask(argv[i]))
            return 2;
    for (int p = 0; p < POLICIES; p++)
        if (is_meant(argc, argv, 1, "cost") && is_meant(argc, argv, 2, policies[p]))
            bench_cost(policies[p]);
    printf("Coverage in %%, calibrated and as drawn; median absolute error in s; pinball loss relative to as drawn.\n");
    printf("%-10s %-6s %-10s %6s  %5s %5s   %5s %5s  %9s %9s %9s %7s  %5s\n", "workload", "policy", "made", "count",
           "p50", "p90", "raw50", "raw90", "error", "raw", "classic", "", "loss");
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
        for (int p = 0; p < POLICIES; p++)
            if (is_meant(argc, argv, 1, workloads[w].name) && is_meant(argc, argv, 2, policies[p]))
                bench(&workloads[w], &workloads[w].samples[p], p);
    return missed > 0;
}
