/* peer_trace: a trace of columns id,submit,gpus,duration played in the simulated world, for results that other people's
 * simulators have given on it. */
#ifndef ADLRO_TESTS_PEER_TRACE_H
#define ADLRO_TESTS_PEER_TRACE_H

#include "engine/engine.h"
#include "sim/world_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEER_TRACES ADL_SOURCE_DIR "/../shared/peers/"

struct peer_job {
    int64_t id, submit_s, gpus, run_s;
};

struct peer_trace {
    struct peer_job *jobs;
    size_t count, next;
};

struct peer_answer {
    int64_t jct_us;
    int64_t last_end_us;
    uint64_t evictions;
    struct adl_engine_counts counts;
};

/* Skips the test if the trace is not there. */
static inline struct peer_trace peer_read(const char *name)
{
    char path[512], line[128];
    struct peer_trace trace = {0};
    size_t capacity = 0;
    snprintf(path, sizeof path, PEER_TRACES "%s.csv", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        print_message("%s is not there: nothing to compare with\n", path);
        skip();
    }
    while (fgets(line, sizeof line, file)) {
        long long field[4];
        char *at = line;
        int fields = 0;
        for (; fields < 4 && *at >= '0' && *at <= '9'; fields++) {
            field[fields] = strtoll(at, &at, 10);
            at += *at == ',';
        }
        if (fields < 4)
            continue; /* the names of the columns */
        assert_int_equal(adl_grow((void **)&trace.jobs, &capacity, trace.count + 1, sizeof *trace.jobs), 0);
        trace.jobs[trace.count++] = (struct peer_job){field[0], field[1], field[2], field[3]};
    }
    fclose(file);
    return trace;
}

static inline int peer_next(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct peer_trace *trace = self;
    if (trace->next == trace->count)
        return 0;
    const struct peer_job *job = &trace->jobs[trace->next++];
    const int64_t run_us = job->run_s * 1000000;
    ret->spec = (struct adl_job_spec){.id = (uint64_t)job->id,
                                      .gpus = (uint16_t)job->gpus,
                                      .types = 1,
                                      .flags = ADL_JOB_SPAN | ADL_JOB_PREEMPTIBLE,
                                      .limit_us = run_us};
    ret->submit_us = job->submit_s * 1000000;
    ret->steps = 1;
    ret->ideal_us = ret->runtime_us[0] = run_us;
    return 1;
}

static inline void peer_close(void *self)
{
    (void)self;
}

static inline int peer_count(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct peer_answer *answer = self;
    answer->evictions += event->kind == ADL_EVENT_EVICT;
    if (event->kind == ADL_EVENT_FINISH) {
        answer->jct_us += event->time_us - state->jobs[event->job].submit_us;
        answer->last_end_us = event->time_us;
    }
    return 0;
}

/* A scenario of nodes with equal GPUs that costs nothing and never fails; free classes with adl_scenario_clear. */
static inline struct adl_scenario peer_scenario(uint32_t nodes, uint32_t gpus)
{
    struct adl_scenario scenario = {.name = "peer", .class_count = 1};
    struct adl_error err;
    const struct adl_gpu_type type = {.name = "gpu", .memory_mib = 1024, .fp32_tflops = 1, .bandwidth_gbs = 1};
    const struct adl_node node = {.name = "node", .cpu_cores = 1, .memory_mib = 1, .link_gbs = 1};
    scenario.classes = calloc(1, sizeof *scenario.classes);
    assert_non_null(scenario.classes);
    scenario.cluster.network_gbs = 1;
    assert_int_equal(adl_cluster_add_type(&scenario.cluster, &type, &err), 0);
    for (uint32_t n = 0; n < nodes; n++)
        assert_int_equal(adl_cluster_add_node(&scenario.cluster, &node, &(struct adl_bank_spec){0, gpus}, 1, &err), 0);
    return scenario;
}

static inline struct peer_answer peer_run(const struct adl_scenario *scenario, struct peer_trace *trace,
                                          const struct adl_policy_ops *policy, const struct adl_policy_config *config,
                                          int regime)
{
    struct peer_answer answer = {0};
    struct adl_world_sim *world = NULL;
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    trace->next = 0;
    assert_int_equal(adl_world_sim_create_from(
                         scenario, (struct adl_job_source){.self = trace, .next = peer_next, .close = peer_close}, 1,
                         regime, &world, &err),
                     0);
    const struct adl_engine_config engine_config = {.cluster = &scenario->cluster,
                                                    .policy = policy,
                                                    .policy_config = *config,
                                                    .seed = 1,
                                                    .world_ops = &adl_world_sim_ops,
                                                    .world = world,
                                                    .taps = {{.self = &answer, .event = peer_count}},
                                                    .tap_count = 1};
    assert_int_equal(adl_engine_create(&engine_config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("%s: the run failed: %s", policy->name, err.text);
    answer.counts = *adl_engine_counts(engine);
    if (answer.counts.refused)
        fail_msg("%s: refused: %s", policy->name, answer.counts.last_refusal.text);
    adl_engine_destroy(engine);
    adl_world_sim_destroy(world);
    return answer;
}

#endif
