#include "cli/recorded_speeds.h"

#include "cli/replay.h"
#include "engine/engine.h"
#include "engine/world_log.h"
#include "experiment/recording.h"
#include "experiment/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const struct adl_scenario *scenario;
    void (*take)(void *self, const struct adl_recorded_speed *);
    void *self;
};

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    const struct reader *reader = self;
    if (event->kind != ADL_EVENT_PROGRESS || !(event->steps_per_s > 0))
        return 0;
    const struct adl_job *job = &state->jobs[event->job];
    const uint32_t other = adl_state_neighbour(state, event->job);
    const struct adl_job_class *classes = reader->scenario->classes;
    if (state->gpus[job->first_gpu].cap_w > 0)
        return 0;
    const struct adl_recorded_speed reported = {
        .type = state->cluster->types[job->type].name,
        .class = classes[job->spec.class_index].name,
        .beside = other == ADL_NONE ? NULL : classes[state->jobs[other].spec.class_index].name,
        .gpus = job->spec.gpus,
        .spans = adl_state_spans_nodes(state, event->job),
        .steps_per_s = event->steps_per_s,
    };
    reader->take(reader->self, &reported);
    return 0;
}

static int replay(struct adl_recording *recording, const struct adl_recording_head *head, struct reader reader,
                  struct adl_error *err)
{
    struct adl_scenario scenario = {0};
    struct adl_engine *engine = NULL;
    const struct adl_policy_ops *policy = NULL;
    struct adl_world_log world = {.source = {recording, adl_recording_next}};
    int status = head->belief ? adl_fail(err, ADL_EINVAL,
                                         "the recorded run started with a belief (--belief): speeds are read from "
                                         "recordings of runs without one")
                              : adl_replay_prepare(head, NULL, NULL, &policy, &scenario, err);
    if (status == 0) {
        const struct adl_engine_config config = {.cluster = &scenario.cluster,
                                                 .policy = policy,
                                                 .policy_config = adl_run_policy_config(&scenario),
                                                 .seed = head->seed,
                                                 .learned = strcmp(head->regime, "learned") == 0,
                                                 .world_ops = &adl_world_log_ops,
                                                 .world = &world,
                                                 .observers = {{.self = &reader, .event = on_event}},
                                                 .observer_count = 1};
        reader.scenario = &scenario;
        adl_recording_set_types(recording, scenario.cluster.type_count);
        status = adl_engine_create(&config, &engine, err);
    }
    if (engine) {
        status = adl_engine_run(engine, err);
        if (status)
            adl_recording_blame(recording, status, err);
    }
    adl_engine_destroy(engine);
    adl_scenario_clear(&scenario);
    return status;
}

int adl_recorded_speeds_read(const char *path, void (*take)(void *self, const struct adl_recorded_speed *), void *self,
                             struct adl_error *err)
{
    struct reader reader = {.take = take, .self = self};
    struct adl_recording *recording = NULL;
    struct adl_recording_head head;
    FILE *file = fopen(path, "rb");
    if (!file)
        return adl_fail(err, ADL_EINVAL, "%.200s: %s", path, strerror(errno));
    int status = adl_recording_open(path, file, &recording, &head, err);
    if (status == 0)
        status = replay(recording, &head, reader, err);
    adl_recording_close(recording);
    fclose(file);
    return status;
}
