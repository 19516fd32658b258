/* toy_world: the simplest world: listed jobs, each with a true and a believed run time, on GPUs that never fail. */
#ifndef ADLRO_TESTS_TOY_WORLD_H
#define ADLRO_TESTS_TOY_WORLD_H

#include "engine/engine.h"
#include "state_fixture.h"

#define TOY_JOBS_MAX  400
#define TOY_TYPES_MAX 4

struct toy_job {
    struct adl_job_spec spec;
    int64_t submit_us; /* jobs are listed in order of submission */
    int64_t believed_us[TOY_TYPES_MAX];
    int64_t true_us[TOY_TYPES_MAX];
    /* what became of it */
    int64_t start_us, end_us; /* of the last attempt */
    int64_t next_us;          /* FINISH or EVICT to come; INT64_MAX = none */
    double left;              /* share of its work when this attempt began */
    uint32_t type;
    uint32_t evictions;
    bool stopping, finished;
};

struct toy_world {
    struct toy_job jobs[TOY_JOBS_MAX]; /* the slot is the index */
    uint32_t count;
    uint32_t submitted;
    int64_t now_us;
    int64_t checkpoint_us;
    const struct adl_cluster *cluster;
};

static inline struct toy_job *toy_add(struct toy_world *world, int64_t submit_us, uint16_t gpus, int64_t run_us)
{
    assert_true(world->count < TOY_JOBS_MAX);
    struct toy_job *job = &world->jobs[world->count];
    *job = (struct toy_job){.spec = fixture_spec(world->count, gpus), .submit_us = submit_us};
    for (int t = 0; t < TOY_TYPES_MAX; t++)
        job->believed_us[t] = job->true_us[t] = run_us;
    world->count++;
    return job;
}

/* Up to 120 jobs, of which one in six is believed to be shorter than it is. */
static inline void toy_random_jobs(struct toy_world *world, struct adl_rng *rng, uint32_t most_gpus)
{
    const uint32_t count = fixture_between(rng, 10, 120), gap = fixture_between(rng, 1, 30);
    const uint32_t classes = fixture_between(rng, 1, 4);
    int64_t submit_us = 0;
    world->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        submit_us += adl_rng_below(rng, gap);
        struct toy_job *job = toy_add(world, submit_us, (uint16_t)fixture_between(rng, 1, most_gpus), 0);
        job->spec.class_index = (uint16_t)adl_rng_below(rng, classes);
        for (int t = 0; t < TOY_TYPES_MAX; t++) {
            job->true_us[t] = fixture_between(rng, 1, 100);
            job->believed_us[t] = adl_rng_below(rng, 6) ? job->true_us[t] + adl_rng_below(rng, 60)
                                                        : fixture_between(rng, 1, (uint32_t)job->true_us[t]);
        }
    }
}

/* Random jobs that ask for all there is to ask for, on one to four nodes of two types; two rounds in three with
 * checkpoints that take time. The caller clears the cluster. */
static inline void toy_demanding_round(struct toy_world *world, struct adl_cluster *cluster, struct adl_rng *rng,
                                       int round)
{
    fixture_types(cluster, 2);
    for (uint32_t n = fixture_between(rng, 1, 4); n > 0; n--)
        fixture_node_of(cluster, &(struct adl_bank_spec){n % 2, 4}, 1, 12, 16);
    world->cluster = cluster;
    world->checkpoint_us = round % 3 ? adl_rng_below(rng, 20) : 0;
    toy_random_jobs(world, rng, 4);
    for (uint32_t i = 0; i < world->count; i++) {
        struct adl_job_spec *spec = &world->jobs[i].spec;
        spec->flags = (uint8_t)(adl_rng_below(rng, 8) & (ADL_JOB_PREEMPTIBLE | ADL_JOB_SPAN));
        spec->cpu_cores = (int32_t)adl_rng_below(rng, 4);
        spec->memory_mib = (int32_t)adl_rng_below(rng, 5);
    }
}

static inline void toy_rewind(struct toy_world *world)
{
    world->submitted = 0;
    world->now_us = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        struct toy_job *job = &world->jobs[i];
        job->start_us = job->end_us = -1;
        job->next_us = INT64_MAX;
        job->left = 1.0;
        job->evictions = 0;
        job->stopping = job->finished = false;
    }
}

/* The next thing to happen: the job and whether it is its submission. */
static inline uint32_t toy_next(const struct toy_world *world, int64_t *ret_time_us, bool *ret_submit)
{
    uint32_t found = ADL_NONE;
    *ret_time_us = INT64_MAX;
    *ret_submit = false;
    for (uint32_t i = 0; i < world->submitted; i++)
        if (world->jobs[i].next_us < *ret_time_us) {
            *ret_time_us = world->jobs[i].next_us;
            found = i;
        }
    if (world->submitted < world->count && world->jobs[world->submitted].submit_us < *ret_time_us) {
        *ret_time_us = world->jobs[world->submitted].submit_us;
        *ret_submit = true;
        found = world->submitted;
    }
    return found;
}

static inline int toy_next_event(void *self, struct adl_event *ret, struct adl_error *err)
{
    (void)err;
    struct toy_world *world = self;
    int64_t time_us, later_us;
    bool submit;
    const uint32_t slot = toy_next(world, &time_us, &submit);
    if (slot == ADL_NONE)
        return 0;
    struct toy_job *job = &world->jobs[slot];
    world->now_us = time_us;
    *ret = (struct adl_event){.time_us = time_us, .job = slot};
    if (submit) {
        ret->kind = ADL_EVENT_SUBMIT;
        ret->submit.spec = &job->spec;
        ret->submit.runtime_us = job->believed_us;
        world->submitted++;
    } else if (job->stopping) {
        const double done = (double)(time_us - world->checkpoint_us - job->start_us) / (double)job->true_us[job->type];
        job->left = job->left > done ? job->left - done : 0.0;
        job->stopping = false;
        job->evictions++;
        ret->kind = ADL_EVENT_EVICT;
        ret->evict.remaining = job->left;
    } else {
        job->finished = true;
        job->end_us = time_us;
        ret->kind = ADL_EVENT_FINISH;
        ret->outcome = (struct adl_outcome){.run_us = time_us - job->start_us};
    }
    if (!submit)
        job->next_us = INT64_MAX;
    toy_next(world, &later_us, &submit);
    ret->more = later_us == time_us;
    return 1;
}

static inline int toy_submit(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)err;
    struct toy_world *world = self;
    struct toy_job *job = &world->jobs[command->job];
    if (command->kind == ADL_COMMAND_START) {
        job->type = adl_gpu_type_of(world->cluster, gpus[0]);
        job->start_us = world->now_us;
        const int64_t left_us = (int64_t)(job->left * (double)job->true_us[job->type] + 0.5);
        job->next_us = world->now_us + (left_us > 0 ? left_us : 1);
    } else if (command->kind == ADL_COMMAND_PREEMPT) {
        job->stopping = true;
        job->next_us = world->now_us + world->checkpoint_us;
    }
    return 0;
}

static const struct adl_world_ops toy_world_ops = {.name = "toy", .next_event = toy_next_event, .submit = toy_submit};

/* Runs the world from its beginning; every job must have finished. Returns the sum of completion times. */
static inline int64_t toy_run(struct toy_world *world, const struct adl_policy_ops *policy,
                              const struct adl_policy_config *config, struct adl_engine_counts *ret_counts)
{
    struct adl_engine *engine = NULL;
    struct adl_error err = {.text = ""};
    const struct adl_engine_config engine_config = {.cluster = world->cluster,
                                                    .policy = policy,
                                                    .policy_config = *config,
                                                    .world_ops = &toy_world_ops,
                                                    .world = world};
    toy_rewind(world);
    assert_int_equal(adl_engine_create(&engine_config, &engine, &err), 0);
    if (adl_engine_run(engine, &err))
        fail_msg("%s: the run failed: %s", policy->name, err.text);
    if (ret_counts)
        *ret_counts = *adl_engine_counts(engine);
    adl_engine_destroy(engine);
    int64_t sum_us = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        if (!world->jobs[i].finished)
            fail_msg("%s: job %u never finished", policy->name, i);
        sum_us += world->jobs[i].end_us - world->jobs[i].submit_us;
    }
    return sum_us;
}

#endif
