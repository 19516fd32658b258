#include "cli/whatif/pause.h"

#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/replay.h"
#include "engine/world_log.h"
#include "experiment/recording.h"
#include "experiment/run.h"
#include "experiment/trace_supply.h"
#include "scenario/scenario.h"
#include "sim/workload.h"
#include "sim/world_sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adl_pause {
    const struct adl_pause_request *request; /* while it is opened */
    struct adl_scenario scenario;
    struct adl_cli_choices choices;
    const struct adl_policy_ops *policy;
    struct adl_throughputs *throughputs;
    struct adl_trace_supply *supply;
    struct adl_job_source source; /* of a trace: the jobs, whose ids are compared */
    bool found;                   /* a row of a trace with the id that was asked for */
    struct adl_world_sim *world;
    FILE *file;
    struct adl_recording *recording;
    struct adl_world_log log;
    struct adl_engine *engine;
    struct adl_recent *recent;
    uint64_t job;
};

/* ---- jobs of a trace by their ids ---- */

static int next_row(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct adl_pause *pause = self;
    const int status = pause->source.next(pause->source.self, ret, err);
    const char *wanted = pause->request->job;
    if (status > 0 && wanted && !pause->found && strcmp(adl_trace_supply_row(&pause->source)->id, wanted) == 0) {
        pause->found = true;
        pause->job = ret->spec.id;
    }
    return status;
}

static void close_rows(void *self)
{
    struct adl_pause *pause = self;
    pause->source.close(pause->source.self);
}

/* ---- the world ---- */

static int open_policy(struct adl_pause *pause, struct adl_error *err)
{
    const struct adl_pause_request *request = pause->request;
    const int status =
        adl_cli_choices_make(&request->choice, request->policy, 1, &pause->scenario, &pause->choices, err);
    if (status == 0)
        pause->policy = pause->choices.choices.policies[0];
    return status;
}

static int open_trace(struct adl_pause *pause, struct adl_error *err)
{
    const struct adl_pause_request *request = pause->request;
    struct adl_job_source rows = {.self = pause, .next = next_row, .close = close_rows};
    int status = request->throughputs ? adl_throughputs_load(request->throughputs, &pause->throughputs, err) : 0;
    if (status == 0)
        status = adl_cluster_load(request->cluster, &pause->scenario, err);
    if (status == 0)
        status = open_policy(pause, err);
    const struct adl_trace_plan plan = {.path = request->path,
                                        .scenario = &pause->scenario,
                                        .throughputs = pause->throughputs,
                                        .jobs_max = (uint64_t)request->jobs};
    if (status == 0)
        status = adl_trace_supply_create(&plan, &pause->supply, err);
    if (status)
        return status;
    const struct adl_job_supply supply = adl_trace_supply_jobs(pause->supply);
    status = supply.open(supply.self, 0, &pause->source, err);
    return status ? status
                  : adl_world_sim_create_from(&pause->scenario, rows, (uint64_t)request->seed, request->regime,
                                              &pause->world, err);
}

static int open_scenario(struct adl_pause *pause, struct adl_error *err)
{
    const struct adl_pause_request *request = pause->request;
    int status = adl_scenario_load_measured(request->path, request->throughputs, &pause->scenario, NULL, err);
    if (status == 0)
        status = open_policy(pause, err);
    if (status == 0 && request->jobs > 0)
        adl_scenario_set_jobs(&pause->scenario, (uint64_t)request->jobs);
    return status
               ? status
               : adl_world_sim_create(&pause->scenario, (uint64_t)request->seed, request->regime, &pause->world, err);
}

static int open_recording(struct adl_pause *pause, bool *ret_learned, uint64_t *ret_seed, struct adl_error *err)
{
    struct adl_recording_head head;
    int status = adl_recording_open(pause->request->path, pause->file, &pause->recording, &head, err);
    if (status == 0)
        status = adl_replay_prepare(&head, pause->request->throughputs, NULL, &pause->policy, &pause->scenario, err);
    if (status)
        return status;
    if (head.belief || strcmp(head.regime, "oracle") == 0)
        return adl_fail(err, ADL_EINVAL, "%.150s: a recording %s cannot be forked", pause->request->path,
                        head.belief ? "that began with a belief" : "in regime oracle, which knows the future,");
    adl_recording_set_types(pause->recording, pause->scenario.cluster.type_count);
    pause->log = (struct adl_world_log){.source = {pause->recording, adl_recording_next}};
    *ret_learned = strcmp(head.regime, "learned") == 0;
    *ret_seed = head.seed;
    return 0;
}

/* A recording is lines of JSON; no trace or scenario begins with a brace. */
static bool is_recording(struct adl_pause *pause)
{
    FILE *file = fopen(pause->request->path, "rb");
    const int first = file ? getc(file) : EOF;
    if (first == '{') {
        ungetc(first, file);
        pause->file = file;
        return true;
    }
    if (file)
        fclose(file);
    return false;
}

static int open_engine(struct adl_pause *pause, struct adl_error *err)
{
    const struct adl_pause_request *request = pause->request;
    const bool recorded = is_recording(pause);
    bool learned = request->regime == ADL_REGIME_LEARNED;
    uint64_t seed = (uint64_t)request->seed;
    int status = recorded           ? open_recording(pause, &learned, &seed, err)
                 : request->cluster ? open_trace(pause, err)
                                    : open_scenario(pause, err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (status)
        return status;
    if (adl_recent_create(&pause->scenario.cluster, &pause->recent))
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    const struct adl_engine_config config = {.cluster = &pause->scenario.cluster,
                                             .policy = pause->policy,
                                             .policy_config = adl_run_policy_config(&pause->scenario),
                                             .seed = seed,
                                             .learned = learned,
                                             .world_ops = recorded ? &adl_world_log_ops : &adl_world_sim_ops,
                                             .world = recorded ? (void *)&pause->log : (void *)pause->world,
                                             .observers = {adl_recent_observer(pause->recent)},
                                             .observer_count = 1};
    return adl_engine_create(&config, &pause->engine, err);
}

/* ---- to the time ---- */

static bool is_there(const struct adl_pause *pause)
{
    const struct adl_state *state = adl_engine_state(pause->engine);
    const bool known = !pause->request->cluster || pause->recording || pause->found;
    for (uint32_t slot = 0; known && slot < state->job_capacity; slot++)
        if (state->jobs[slot].phase != ADL_PHASE_NONE && state->jobs[slot].spec.id == pause->job)
            return true;
    return false;
}

static int run_until(struct adl_pause *pause, struct adl_error *err)
{
    const struct adl_state *state = adl_engine_state(pause->engine);
    const int64_t at_us = pause->request->at_us;
    int more = 1;
    while (more > 0 && (at_us >= 0 ? state->now_us < at_us : !is_there(pause)))
        more = adl_engine_step(pause->engine, err);
    if (more > 0)
        return 0;
    if (more < 0)
        return more;
    if (at_us < 0)
        return adl_fail(err, ADL_EINVAL, "%.150s: there is no job %.60s in this run", pause->request->path,
                        pause->request->job);
    return adl_fail(err, ADL_EINVAL, "%.150s: the run ends after %.2f h: take an earlier --at", pause->request->path,
                    (double)state->now_us / 3.6e9);
}

static int read_job(struct adl_pause *pause, struct adl_error *err)
{
    const char *text = pause->request->job;
    char quoted[ADL_QUOTE_SIZE];
    char *end = NULL;
    if (!text || pause->supply)
        return 0;
    pause->job = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0'
               ? 0
               : adl_fail(err, ADL_EINVAL, "--job has to be the number of a job, not %s", adl_quote(text, quoted));
}

int adl_pause_open(const struct adl_pause_request *request, struct adl_pause **ret, struct adl_error *err)
{
    struct adl_pause *pause = calloc(1, sizeof *pause);
    if (!pause)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    pause->request = request;
    int status = open_engine(pause, err);
    if (status == 0)
        status = read_job(pause, err);
    if (status == 0)
        status = run_until(pause, err);
    if (status == 0 && request->job && !is_there(pause))
        status = adl_fail(err, ADL_EINVAL, "job %.60s neither waits nor runs at that time (%.2f h)", request->job,
                          (double)adl_engine_state(pause->engine)->now_us / 3.6e9);
    pause->request = NULL;
    if (status)
        adl_pause_close(pause);
    else
        *ret = pause;
    return status;
}

void adl_pause_close(struct adl_pause *pause)
{
    if (!pause)
        return;
    adl_engine_destroy(pause->engine);
    adl_recent_destroy(pause->recent);
    adl_world_sim_destroy(pause->world);
    adl_recording_close(pause->recording);
    if (pause->file)
        fclose(pause->file);
    adl_trace_supply_destroy(pause->supply);
    adl_throughputs_destroy(pause->throughputs);
    adl_cli_choices_clear(&pause->choices);
    adl_scenario_clear(&pause->scenario);
    free(pause);
}

struct adl_pause_view adl_pause_view(const struct adl_pause *pause)
{
    return (struct adl_pause_view){.fork = {.engine = pause->engine,
                                            .preemption = pause->scenario.preemption,
                                            .kill_at_limit = pause->scenario.kill_at_limit,
                                            .one_by_one = pause->scenario.one_by_one},
                                   .recent = pause->recent,
                                   .scenario = &pause->scenario,
                                   .job = pause->job};
}
