/* bench_cut: a day of mixed64 under gogh in which the power of the cluster is cut by a quarter for three hours: whether
 * the limit is kept, whether jobs with SLAs are left alone, and what the cut costs in completion times. The limit is
 * 0.75 of what the same day draws in those hours without a cut. A bar that is missed is marked and makes it exit 1.
 * bench_cut [CAPS [FIRST_SEED]]: other power caps than 0.4,0.6,0.8, other seeds than 1 to 5. */
#include "experiment/run.h"
#include "policy/policy.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 5 };
#define FROM_S  36000.0 /* the cut: from the tenth hour */
#define UNTIL_S 46800.0
#define CUT     0.75
#define NOISE   0.01 /* of the sum of 64 readings, each off by 3 % */

static int missed;

static void die(const char *text)
{
    fprintf(stderr, "bench_cut: %s\n", text);
    exit(1);
}

static const char *judge(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

/* What happened between two times. */
struct watch {
    double power_w[64]; /* [gpu] as last read */
    double sum_w, most_w, limit_w;
    double late_s; /* the last sample above the limit, since the cut */
    uint32_t samples, above;
    uint32_t stops, sla_stops, sla_caps;
    uint32_t late[2][2]; /* jobs that ended after their deadline: [submitted in these hours][on several GPUs] */
};

static bool is_inside(int64_t time_us)
{
    return (double)time_us * 1e-6 >= FROM_S && (double)time_us * 1e-6 < UNTIL_S;
}

static void sample(struct watch *watch, int64_t time_us)
{
    double sum_w = 0;
    for (uint32_t g = 0; g < 64; g++)
        sum_w += watch->power_w[g];
    watch->samples++;
    watch->sum_w += sum_w;
    watch->most_w = sum_w > watch->most_w ? sum_w : watch->most_w;
    if (watch->limit_w > 0 && (double)time_us * 1e-6 > FROM_S && sum_w > watch->limit_w * (1 + NOISE)) {
        watch->above++;
        watch->late_s = (double)time_us * 1e-6 - FROM_S;
    }
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct watch *watch = self;
    if (event->kind == ADL_EVENT_FINISH) {
        const struct adl_job *job = &state->jobs[event->job];
        if (job->spec.deadline_us > 0 && event->time_us - job->submit_us > job->spec.deadline_us)
            watch->late[is_inside(job->submit_us)][job->spec.gpus > 1]++;
    }
    if (event->kind == ADL_EVENT_TELEMETRY) {
        if (!(event->telemetry.missing >> ADL_READ_POWER & 1))
            watch->power_w[event->gpu] = (double)event->telemetry.value[ADL_READ_POWER];
        if (event->gpu == 63 && is_inside(event->time_us))
            sample(watch, event->time_us);
    }
    return 0;
}

static int on_command(void *self, const struct adl_command *command, const uint32_t *gpus,
                      const struct adl_state *state)
{
    struct watch *watch = self;
    if (!is_inside(state->now_us))
        return 0;
    if (command->kind == ADL_COMMAND_PREEMPT) {
        watch->stops++;
        watch->sla_stops += adl_job_has_sla(&state->jobs[command->job].spec);
    }
    for (uint32_t i = 0; command->kind == ADL_COMMAND_CAP && command->power_w > 0 && i < command->gpu_count; i++) {
        const uint32_t job = state->gpus[gpus[i]].job[0];
        watch->sla_caps +=
            job != ADL_NONE && adl_job_has_sla(&state->jobs[job].spec) && state->jobs[job].first_gpu == gpus[i];
    }
    return 0;
}

static struct adl_result run(const struct adl_scenario *scenario, uint64_t seed, struct watch *watch)
{
    struct adl_result result;
    struct adl_error err = {{0}};
    const struct adl_observer observer = {.self = watch, .event = on_event, .command = on_command};
    const struct adl_run it = {.scenario = scenario,
                               .policy = adl_policy_find("gogh"),
                               .seed = seed,
                               .regime = ADL_REGIME_DECLARED,
                               .observer = &observer};
    if (adl_run(&it, &result, &err))
        die(err.text);
    return result;
}

static void judge_day(const struct watch *free_day, const struct watch *cut_day, const struct adl_result *free,
                      const struct adl_result *cut, uint64_t seed)
{
    const double mean_w = cut_day->sum_w / cut_day->samples, free_w = free_day->sum_w / free_day->samples;
    printf("%4llu %9.0f %9.0f %9.0f %9.0f %6.1f %7.0f %6u %6u %6u %7.1f %7.1f %7.0f %7.0f\n", (unsigned long long)seed,
           free_w, cut_day->limit_w, mean_w, cut_day->most_w, 100.0 * cut_day->above / cut_day->samples,
           cut_day->late_s, cut_day->stops, cut_day->sla_stops, cut_day->sla_caps, 100 * free->value[ADL_METRIC_SLA],
           100 * cut->value[ADL_METRIC_SLA], free->value[ADL_METRIC_JCT_MEAN], cut->value[ADL_METRIC_JCT_MEAN]);
}

int main(int argc, char **argv)
{
    struct adl_scenario scenario = {0};
    struct adl_error err = {{0}};
    double jct[2] = {0}, sla[2] = {0}, above = 0;
    uint32_t sla_stops[2] = {0}, late[2][2] = {{0}};
    const char *caps = argc > 1 ? argv[1] : "0.4,0.6,0.8";
    const uint64_t first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/mixed64.yaml", &scenario, NULL, &err) ||
        adl_scenario_add_setting(&scenario, "power_caps", caps))
        die(err.text);
    printf(
        "mixed64 under gogh, power_caps %s, limit in hours 10 to 13: %.0f %% of what the day draws there without it\n",
        caps, 100 * CUT);
    printf("seed   free W   limit W   mean W   most W  above%% late s  stops   SLA:  caps  SLA%%   SLA%%cut  JCT s  "
           "cut\n");
    for (uint64_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
        struct watch free_day = {0}, cut_day = {0};
        scenario.power_limit_count = 0;
        const struct adl_result free = run(&scenario, seed, &free_day);
        cut_day.limit_w = CUT * free_day.sum_w / free_day.samples;
        scenario.power_limits[0] = (struct adl_power_limit){FROM_S, cut_day.limit_w};
        scenario.power_limits[1] = (struct adl_power_limit){UNTIL_S, 0};
        scenario.power_limit_count = 2;
        const struct adl_result cut = run(&scenario, seed, &cut_day);
        judge_day(&free_day, &cut_day, &free, &cut, seed);
        jct[0] += free.value[ADL_METRIC_JCT_MEAN] / SEEDS, jct[1] += cut.value[ADL_METRIC_JCT_MEAN] / SEEDS;
        sla[0] += free.value[ADL_METRIC_SLA] / SEEDS, sla[1] += cut.value[ADL_METRIC_SLA] / SEEDS;
        above += (double)cut_day.above / cut_day.samples / SEEDS;
        sla_stops[0] += free_day.sla_stops, sla_stops[1] += cut_day.sla_stops;
        for (int i = 0; i < 4; i++)
            late[i / 2][i % 2] += cut_day.late[i / 2][i % 2];
    }
    printf("limit kept in %.1f %% of samples (bar 99) %s\n", 100 * (1 - above), judge(above <= 0.01));
    printf("SLA attained %.1f %% without and %.1f %% with the cut (bar: not lower) %s; jobs that have one were stopped "
           "%u and %u "
           "times in these hours\n",
           100 * sla[0], 100 * sla[1], judge(sla[1] >= sla[0] - 0.001), sla_stops[0], sla_stops[1]);
    printf("jobs that ended after their deadline on days with the cut: submitted during it %u on one GPU and %u on "
           "several, "
           "at other times %u and %u\n",
           late[1][0], late[1][1], late[0][0], late[0][1]);
    printf("mean JCT %.0f s without and %.0f s with the cut: %+.1f %%\n", jct[0], jct[1], 100 * (jct[1] / jct[0] - 1));
    adl_scenario_clear(&scenario);
    return missed > 0;
}
