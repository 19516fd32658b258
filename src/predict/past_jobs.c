#include "predict/past_jobs.h"

#include <stdlib.h>

struct adl_past_jobs {
    struct adl_belief *belief;
    struct adl_state *state;
    uint32_t gpus[ADL_JOB_GPUS_MAX]; /* of the job that ends */
};

int adl_past_jobs_create(const struct adl_cluster *cluster, struct adl_belief *belief, struct adl_past_jobs **ret)
{
    struct adl_past_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return ADL_ENOMEM;
    jobs->belief = belief;
    if (adl_state_create(cluster, &jobs->state)) {
        free(jobs);
        return ADL_ENOMEM;
    }
    jobs->state->belief = belief;
    *ret = jobs;
    return 0;
}

void adl_past_jobs_destroy(struct adl_past_jobs *jobs)
{
    if (!jobs)
        return;
    adl_state_destroy(jobs->state);
    free(jobs);
}

int adl_past_jobs_submit(struct adl_past_jobs *jobs, uint32_t slot, const struct adl_job_spec *spec, int64_t time_us)
{
    struct adl_state *state = jobs->state;
    struct adl_runtimes predicted;
    const struct adl_event event = {
        .kind = ADL_EVENT_SUBMIT, .time_us = time_us, .job = slot, .gpu = ADL_NONE, .submit = {.spec = spec}};
    state->now_us = time_us;
    int status = adl_belief_admit(jobs->belief, &event, &predicted);
    if (status == 0)
        status = adl_state_admit(state, slot, spec, predicted.best_us);
    if (status)
        return ADL_ENOMEM;
    if (!predicted.alike)
        adl_state_set_spanning(state, slot, predicted.across_us);
    return adl_state_enqueue(state, slot, 0);
}

/* The first GPUs of a type that one node has enough of, else the first of all nodes. */
static bool choose_gpus(const struct adl_cluster *cluster, uint32_t type, uint32_t count, uint32_t *ret)
{
    uint32_t found = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        if (bank->type != type)
            continue;
        if (bank->gpu_count >= count)
            found = 0;
        for (uint32_t g = 0; g < bank->gpu_count && found < count; g++)
            ret[found++] = bank->gpu_first + g;
        if (bank->gpu_count >= count)
            return true;
    }
    return found == count;
}

bool adl_past_jobs_end(struct adl_past_jobs *jobs, uint32_t slot, const struct adl_past_job *job)
{
    struct adl_state *state = jobs->state;
    struct adl_event event = {.kind = ADL_EVENT_FINISH, .time_us = job->end_us, .job = slot, .gpu = ADL_NONE};
    const struct adl_event progress = {.kind = ADL_EVENT_PROGRESS,
                                       .time_us = job->end_us,
                                       .job = slot,
                                       .gpu = ADL_NONE,
                                       .steps_per_s = job->steps_per_s};
    const bool chosen = job->type < state->cluster->type_count && job->spec->gpus <= ADL_JOB_GPUS_MAX &&
                        choose_gpus(state->cluster, job->type, job->spec->gpus, jobs->gpus);
    event.outcome = (struct adl_outcome){.end = job->end, .run_us = job->run_us};
    if (chosen) {
        state->now_us = job->end_us;
        adl_state_start(state, slot, jobs->gpus);
        adl_state_began(state, slot, job->end_us - job->run_us);
        if (job->seen_us > 0)
            adl_belief_enter(jobs->belief, state, slot, job->seen_us < job->end_us ? job->seen_us : job->end_us);
        if (job->steps_per_s > 0)
            adl_belief_learn(jobs->belief, &progress, state);
        adl_belief_learn(jobs->belief, &event, state);
    }
    adl_state_finish(state, slot);
    return chosen;
}
