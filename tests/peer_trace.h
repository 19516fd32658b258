/* peer_trace: a trace of columns id,submit,gpus,duration in whole seconds, played in a plain simulated world, for
 * results that other people's simulators have given on it. Run times are known to the policy in regime oracle. */
#ifndef ADLRO_TESTS_PEER_TRACE_H
#define ADLRO_TESTS_PEER_TRACE_H

#include "engine/engine.h"
#include "experiment/run.h"
#include "sim/world_sim.h"

#include <stdio.h>
#include <stdlib.h>

#define PEER_TRACES ADL_SOURCE_DIR "/../shared/peers/"

struct peer_job {
    int64_t id, submit_s, gpus, run_s;
};

struct peer_trace {
    struct peer_job *jobs; /* in order of submission */
    size_t count, next;
    int64_t late_s; /* what each job runs longer than it says */
};

struct peer_answer {
    int64_t jct_us;      /* sum over the jobs */
    int64_t makespan_us; /* from the first submission to the last end */
    uint64_t jobs, evictions;
    struct adl_engine_counts counts;
    double wall_s; /* of the simulation alone */
};

/* 0; 1 if there is no such file; negative if it is not such a trace. Free jobs. */
static inline int peer_read(const char *name, struct peer_trace *ret, struct adl_error *err)
{
    char path[512], line[128];
    size_t capacity = 0;
    struct peer_trace trace = {0};
    snprintf(path, sizeof path, PEER_TRACES "%s.csv", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    int status = 0;
    for (bool head = true; status == 0 && fgets(line, sizeof line, file); head = false) {
        long long id, submit_s, gpus, run_s;
        if (head)
            continue;
        if (sscanf(line, "%lld,%lld,%lld,%lld", &id, &submit_s, &gpus, &run_s) != 4)
            status = adl_fail(err, ADL_EINVAL, "%s: job %zu is not id,submit,gpus,duration", path, trace.count + 1);
        else if (adl_grow((void **)&trace.jobs, &capacity, trace.count + 1, sizeof *trace.jobs))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for %s", path);
        else
            trace.jobs[trace.count++] = (struct peer_job){id, submit_s, gpus, run_s};
    }
    fclose(file);
    if (status) {
        free(trace.jobs);
        return status;
    }
    *ret = trace;
    return 0;
}

static inline int peer_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct peer_trace *trace = self;
    if (trace->next == trace->count)
        return 0;
    const struct peer_job *job = &trace->jobs[trace->next++];
    ret->spec = (struct adl_job_spec){.id = (uint64_t)job->id,
                                      .gpus = (uint16_t)job->gpus,
                                      .types = 1,
                                      .flags = ADL_JOB_SPAN | ADL_JOB_PREEMPTIBLE,
                                      .limit_us = job->run_s * 1000000};
    ret->submit_us = job->submit_s * 1000000;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = (job->run_s + trace->late_s) * 1000000;
    return 1;
}

static inline void peer_close(void *self)
{
    (void)self;
}

/* Equal GPUs in equal nodes that cost nothing and never fail, a network as fast as the links, and one class of jobs.
 * Clear it. */
static inline int peer_scenario(uint32_t nodes, uint32_t gpus, struct adl_scenario *ret, struct adl_error *err)
{
    const struct adl_gpu_type type = {.name = "gpu", .memory_mib = 1024, .fp32_tflops = 1, .bandwidth_gbs = 1};
    const struct adl_node node = {.name = "node", .cpu_cores = 1, .memory_mib = 1, .link_gbs = 1};
    const struct adl_bank_spec bank = {0, gpus};
    *ret = (struct adl_scenario){.name = "peer", .class_count = 1};
    ret->cluster.network_gbs = 1;
    ret->classes = calloc(1, sizeof *ret->classes);
    int status = ret->classes ? adl_cluster_add_type(&ret->cluster, &type, err)
                              : adl_fail(err, ADL_ENOMEM, "out of memory for a job class");
    for (uint32_t n = 0; n < nodes && status == 0; n++)
        status = adl_cluster_add_node(&ret->cluster, &node, &bank, 1, err);
    if (status)
        adl_scenario_clear(ret);
    return status;
}

static inline int peer_count(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct peer_answer *answer = self;
    answer->evictions += event->kind == ADL_EVENT_EVICT;
    if (event->kind != ADL_EVENT_FINISH)
        return 0;
    answer->jct_us += event->time_us - state->jobs[event->job].submit_us;
    answer->makespan_us = event->time_us;
    answer->jobs++;
    return 0;
}

static inline int peer_run(const struct adl_scenario *scenario, struct peer_trace *trace,
                           const struct adl_policy_ops *policy, int regime, struct peer_answer *ret,
                           struct adl_error *err)
{
    const struct adl_job_source source = {.self = trace, .next = peer_next, .close = peer_close};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct peer_answer answer = {0};
    trace->next = 0;
    int status = adl_world_sim_create_from(scenario, source, 1, regime, &world, err);
    const struct adl_engine_config config = {.cluster = &scenario->cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(scenario),
                                             .seed = 1,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = world,
                                             .taps = {{.self = &answer, .event = peer_count}},
                                             .tap_count = 1};
    if (status == 0)
        status = adl_engine_create(&config, &engine, err);
    const int64_t start_ns = adl_clock_ns();
    if (status == 0)
        status = adl_engine_run(engine, err);
    answer.wall_s = (double)(adl_clock_ns() - start_ns) * 1e-9;
    if (status == 0) {
        answer.makespan_us -= trace->jobs[0].submit_s * 1000000;
        answer.counts = *adl_engine_counts(engine);
        *ret = answer;
    }
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return status;
}

#endif
