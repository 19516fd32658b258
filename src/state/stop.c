#include "state/stop.h"

bool adl_stop_pays_loss(const struct adl_state *state, uint32_t victim, uint32_t wanted, int64_t lost_us)
{
    const struct adl_job *job = &state->jobs[wanted], *runs = &state->jobs[victim];
    const int64_t waited_us = state->now_us - job->submit_us - job->attained_us;
    const uint32_t before = runs->attempts > 1 ? runs->attempts - 1 : 0;
    const double times = (double)(UINT64_C(1) << (before < 40 ? before : 40));
    return times * (double)lost_us * runs->spec.gpus <= (double)waited_us * (double)job->spec.gpus;
}

double adl_stop_remaining(const struct adl_state *state, uint32_t slot, int64_t now_us, bool fault)
{
    const struct adl_job *job = &state->jobs[slot];
    const int64_t attempt_us = job->phase < ADL_PHASE_RUNNING ? 0 : job->expected_us - job->start_us;
    const bool told = job->phase == ADL_PHASE_STOPPING;
    if (attempt_us <= 0 || (fault && !told && job->spec.stop_loss == ADL_LOSS_NOTHING))
        return job->remaining;
    const int64_t end_us = told ? job->stop_us : now_us;
    const int64_t ran_us = end_us > job->start_us ? end_us - job->start_us : 0;
    const int64_t kept_us = ran_us - adl_job_lost_us(&job->spec, ran_us);
    const double left = job->remaining * (1.0 - (double)kept_us / (double)attempt_us);
    return kept_us == 0 || left > ADL_STOP_REMAINING_LEAST ? left : ADL_STOP_REMAINING_LEAST;
}
