#include "rl/trace_episodes.h"

#include "base/hash.h"
#include "base/index.h"
#include "experiment/trace_supply.h"

#include <stdlib.h>

struct adl_trace_episodes {
    struct adl_true_job *jobs;
    size_t capacity;
    uint64_t count, episode; /* jobs of the trace and of an episode */
    double load;
    bool limited;
};

struct source {
    const struct adl_trace_episodes *episodes;
    uint64_t first, issued;
};

static int add_job(struct adl_trace_episodes *episodes, const struct adl_true_job *job, struct adl_error *err)
{
    if (episodes->count == ADL_TRACE_EPISODES_JOBS_MAX)
        return adl_fail(err, ADL_EINVAL, "more than %llu jobs; cut the trace",
                        (unsigned long long)ADL_TRACE_EPISODES_JOBS_MAX);
    if (adl_grow((void **)&episodes->jobs, &episodes->capacity, episodes->count + 1, sizeof *episodes->jobs))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %llu jobs", (unsigned long long)episodes->count);
    episodes->jobs[episodes->count++] = *job;
    episodes->limited |= !job->without_limit;
    return 0;
}

static int read_jobs(struct adl_trace_episodes *episodes, const struct adl_job_supply *supply, struct adl_error *err)
{
    struct adl_job_source source;
    struct adl_true_job job;
    int status = supply->open(supply->self, 0, &source, err);
    if (status)
        return status;
    while ((status = source.next(source.self, &job, err)) > 0)
        if ((status = add_job(episodes, &job, err)) != 0)
            break;
    source.close(source.self);
    return status;
}

static int read_trace(struct adl_trace_episodes *episodes, const struct adl_trace_episodes_config *config,
                      const struct adl_throughputs *throughputs, struct adl_error *err)
{
    const struct adl_trace_plan plan = {.path = config->trace,
                                        .scenario = config->scenario,
                                        .throughputs = throughputs,
                                        .options.format = ADL_TRACE_AUTO};
    struct adl_trace_supply *supply = NULL;
    int status = adl_trace_supply_create(&plan, &supply, err);
    if (status == 0) {
        const struct adl_job_supply jobs = adl_trace_supply_jobs(supply);
        status = read_jobs(episodes, &jobs, err);
    }
    adl_trace_supply_destroy(supply);
    return status;
}

static int check_count(const struct adl_trace_episodes *episodes, const struct adl_trace_episodes_config *config,
                       struct adl_error *err)
{
    if (episodes->count == 0)
        return adl_fail(err, ADL_EINVAL, "%.200s: the cluster can run no job of it", config->trace);
    if (config->jobs > episodes->count)
        return adl_fail(err, ADL_EINVAL, "%.200s: an episode of %llu jobs, but the cluster can run %llu of the trace",
                        config->trace, (unsigned long long)config->jobs, (unsigned long long)episodes->count);
    return 0;
}

int adl_trace_episodes_create(const struct adl_trace_episodes_config *config, struct adl_trace_episodes **ret,
                              struct adl_error *err)
{
    struct adl_throughputs *throughputs = NULL;
    struct adl_trace_episodes *episodes = calloc(1, sizeof *episodes);
    if (!episodes)
        return adl_fail(err, ADL_ENOMEM, "%.200s: out of memory", config->trace);
    int status = config->throughputs ? adl_throughputs_load(config->throughputs, &throughputs, err) : 0;
    if (status == 0)
        status = read_trace(episodes, config, throughputs, err);
    if (status == 0)
        status = check_count(episodes, config, err);
    adl_throughputs_destroy(throughputs);
    if (status) {
        adl_trace_episodes_destroy(episodes);
        return status;
    }
    episodes->episode = config->jobs ? config->jobs : episodes->count;
    episodes->load = config->load > 0 ? config->load : 1;
    *ret = episodes;
    return 0;
}

void adl_trace_episodes_destroy(struct adl_trace_episodes *episodes)
{
    if (!episodes)
        return;
    free(episodes->jobs);
    free(episodes);
}

uint64_t adl_trace_episodes_jobs(const struct adl_trace_episodes *episodes)
{
    return episodes->episode;
}

bool adl_trace_episodes_limited(const struct adl_trace_episodes *episodes)
{
    return episodes->limited;
}

/* ---- an episode ---- */

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    (void)err;
    struct source *source = self;
    const struct adl_trace_episodes *episodes = source->episodes;
    if (source->issued == episodes->episode)
        return 0;
    const struct adl_true_job *first = &episodes->jobs[source->first];
    *ret = first[source->issued++];
    ret->submit_us = (int64_t)((double)(ret->submit_us - first->submit_us) / episodes->load);
    return 1;
}

static int rewind_jobs(void *self, uint64_t seed)
{
    struct source *source = self;
    const uint64_t places = source->episodes->count - source->episodes->episode + 1;
    source->first = adl_hash_u64(adl_hash_start(), seed) % places;
    source->issued = 0;
    return 0;
}

static int copy_source(void *self, const void *from)
{
    *(struct source *)self = *(const struct source *)from;
    return 0;
}

int adl_trace_episodes_open(const struct adl_trace_episodes *episodes, uint64_t seed, struct adl_job_source *ret,
                            struct adl_error *err)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return adl_fail(err, ADL_ENOMEM, "out of memory for an episode of a trace");
    source->episodes = episodes;
    rewind_jobs(source, seed);
    *ret = (struct adl_job_source){
        .self = source, .next = next_job, .close = free, .rewind = rewind_jobs, .copy = copy_source};
    return 0;
}
