#include "experiment/learning.h"

#include "base/heap.h"
#include "experiment/run.h"
#include "predict/past_jobs.h"

#include <stdio.h>
#include <stdlib.h>

/* A job that has not ended yet. */
struct going {
    struct adl_job_spec spec;
    int64_t submit_us, run_us;
    uint32_t type;
};

struct learner {
    struct adl_belief *belief;
    struct adl_past_jobs *past;
    struct adl_heap ends; /* tag: the job's slot */
    struct going *jobs;   /* [slot] */
    size_t capacity;
    uint32_t *free; /* slots that can be used again */
    size_t free_capacity;
    uint32_t count, free_count;
    uint64_t learned;
};

static int create_learner(const struct adl_learning *learning, struct learner *ret, struct adl_error *err)
{
    const struct adl_belief_terms terms = adl_run_terms(learning->scenario, learning->supply);
    struct adl_belief_account account;
    int status = adl_belief_create(&learning->scenario->cluster, true, &ret->belief);
    if (status == 0)
        status = adl_past_jobs_create(&learning->scenario->cluster, ret->belief, &ret->past);
    if (status)
        return adl_fail(err, status, "out of memory for a belief");
    return learning->belief
               ? adl_belief_decode(ret->belief, NULL, learning->belief, learning->belief_size, &terms, &account, err)
               : 0;
}

static void clear_learner(struct learner *learner)
{
    adl_heap_clear(&learner->ends);
    free(learner->jobs);
    free(learner->free);
    adl_past_jobs_destroy(learner->past);
    adl_belief_destroy(learner->belief);
}

static void end_until(struct learner *learner, int64_t time_us)
{
    while (learner->ends.count > 0 && adl_heap_top(&learner->ends)->time_us <= time_us) {
        const struct adl_heap_item end = adl_heap_pop(&learner->ends);
        const uint32_t slot = (uint32_t)end.tag;
        const struct going *job = &learner->jobs[slot];
        const struct adl_past_job ended = {.spec = &job->spec,
                                           .submit_us = job->submit_us,
                                           .end_us = end.time_us,
                                           .run_us = job->run_us,
                                           .type = job->type,
                                           .end = ADL_END_COMPLETED};
        learner->learned += adl_past_jobs_end(learner->past, slot, &ended);
        learner->free[learner->free_count++] = slot;
    }
}

static int take_slot(struct learner *learner, uint32_t *ret)
{
    if (learner->free_count > 0) {
        *ret = learner->free[--learner->free_count];
        return 0;
    }
    if (adl_grow((void **)&learner->jobs, &learner->capacity, (size_t)learner->count + 1, sizeof *learner->jobs) ||
        adl_grow((void **)&learner->free, &learner->free_capacity, (size_t)learner->count + 1, sizeof *learner->free))
        return ADL_ENOMEM;
    *ret = learner->count++;
    return 0;
}

static int submit(struct learner *learner, const struct adl_true_job *truth, uint32_t types)
{
    uint32_t slot = 0, type = 0;
    for (uint32_t t = 0; t < types; t++)
        if (truth->runtime_us[t] > 0 && truth->runtime_us[t] == truth->ideal_us) {
            type = t;
            break;
        }
    if (take_slot(learner, &slot))
        return ADL_ENOMEM;
    learner->jobs[slot] = (struct going){truth->spec, truth->submit_us, truth->ideal_us, type};
    if (adl_past_jobs_submit(learner->past, slot, &learner->jobs[slot].spec, truth->submit_us))
        return ADL_ENOMEM;
    return adl_heap_push(&learner->ends, (struct adl_heap_item){truth->submit_us + truth->ideal_us, slot});
}

int adl_learning_run(const struct adl_learning *learning, struct adl_text *ret, uint64_t *ret_jobs,
                     struct adl_error *err)
{
    struct learner learner = {0};
    struct adl_job_source source = {0};
    struct adl_true_job truth;
    int status = create_learner(learning, &learner, err), more = 0;
    if (status == 0)
        status = learning->supply->open(learning->supply->self, 0, &source, err);
    while (status == 0 && (more = source.next(source.self, &truth, err)) > 0) {
        end_until(&learner, truth.submit_us);
        if (submit(&learner, &truth, learning->scenario->cluster.type_count))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for the jobs of a trace");
    }
    status = status ? status : more;
    if (status == 0) {
        struct adl_belief_terms terms = adl_run_terms(learning->scenario, learning->supply);
        terms.origin = learning->origin;
        end_until(&learner, INT64_MAX);
        adl_belief_encode(learner.belief, NULL, &terms, ret);
        *ret_jobs = learner.learned;
        if (adl_text_status(ret))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for a belief");
    }
    if (source.close)
        source.close(source.self);
    clear_learner(&learner);
    return status;
}

int adl_learning_any_cluster(struct adl_cluster *ret, struct adl_error *err)
{
    const struct adl_gpu_type type = {.name = ADL_TYPE_ANY,
                                      .vendor = "none",
                                      .memory_mib = INT32_MAX / 2,
                                      .bandwidth_gbs = 1,
                                      .fp32_tflops = 1,
                                      .max_w = 1};
    const struct adl_bank_spec bank = {.type = 0, .gpu_count = ADL_BANK_GPUS_MAX};
    int status = adl_cluster_add_type(ret, &type, err);
    for (int i = 0; i < ADL_JOB_GPUS_MAX / ADL_BANK_GPUS_MAX && status == 0; i++) {
        struct adl_node node = {.cpu_cores = INT32_MAX / 2, .memory_mib = INT32_MAX / 2, .link_gbs = 1};
        snprintf(node.name, sizeof node.name, "any%d", i);
        status = adl_cluster_add_node(ret, &node, &bank, 1, err);
    }
    return status;
}
