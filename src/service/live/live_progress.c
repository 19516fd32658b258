/* live_progress: what a running job says of its steps, as the engine's events of progress. The engine counts in whole
 * runs, as it does for jobs that say nothing (post_speed in live_reports.c), so that jobs of one name compare. Nothing
 * is written: after a restart the job's next report begins again. */
#include "service/live/live_internal.h"

#include <stdio.h>

#define LEAST_US INT64_C(1000000) /* between two counts: more often, speeds are noise */
#define JUMP     10               /* a speed so many times another is none: the job skipped steps, or stood still */

static int refuse(struct adl_request *request, int status, const struct adl_job_entry *job, const char *why)
{
    char label[ADL_LABEL_SIZE];
    return adl_fail(&request->err, status, "job %s %s", adl_label_of_live(job, label), why);
}

int adl_live_progress_prepare(const struct adl_live *live, struct adl_request *request, const struct adl_job_entry *job)
{
    const struct adl_job_progress *last = adl_job_table_progress(job);
    const uint64_t steps = request->steps == 0 && last ? last->steps : 0;
    char why[120];
    if (live->config.executor.ops->reports_speed)
        return refuse(request, ADL_EREFUSED, job, "is simulated: the simulation reports its progress");
    if (job->stage != ADL_STAGE_RUNNING)
        return refuse(request, ADL_EREFUSED, job, "does not run: only running jobs report progress");
    if (steps == 0 || request->step <= steps)
        return 0;
    snprintf(why, sizeof why, "has said that it has %llu steps, and now reports step %llu: send steps with it",
             (unsigned long long)steps, (unsigned long long)request->step);
    return refuse(request, ADL_EINVAL, job, why);
}

static void post(struct adl_live *live, const struct adl_job_entry *job, const struct adl_job_progress *progress)
{
    const double unit = (double)progress->unit;
    const struct adl_live_item item = {.event = {.kind = ADL_EVENT_PROGRESS,
                                                 .job = job->alternatives[job->taken].slot,
                                                 .gpu = ADL_NONE,
                                                 .steps_per_s = progress->steps_per_s / unit,
                                                 .steps_left = (double)(progress->steps - progress->step) / unit}};
    adl_live_post(live, &item);
}

/* Whether the engine can hear of it: it compares speeds of jobs of one name, in whole runs. */
static bool is_comparable(const struct adl_live *live, const struct adl_job_entry *job)
{
    const uint32_t slot = job->alternatives[job->taken].slot;
    return job->spec.name_id != 0 && job->progress.unit > 0 && adl_live_in_engine(live, slot) &&
           adl_engine_state(live->shared->engine)->jobs[slot].phase == ADL_PHASE_RUNNING;
}

/* Why speeds are measured from here and not from the last report; "": they are measured from that. */
static void find_note(const struct adl_job_progress *last, uint64_t step, double steps_per_s, char *ret, size_t size)
{
    const double before = last->steps_per_s;
    *ret = '\0';
    if (step < last->step)
        snprintf(ret, size, "step went back from %llu: speed is measured from here", (unsigned long long)last->step);
    else if (before > 0 && (steps_per_s > before * JUMP || steps_per_s < before / JUMP))
        snprintf(ret, size, "%.3g steps/s after %.3g is a jump: speed is measured from here", steps_per_s, before);
}

void adl_live_progress_apply(struct adl_live *live, const struct adl_request *request, struct adl_job_entry *job)
{
    struct adl_job_progress *last = &job->progress;
    const bool first = !adl_job_table_progress(job);
    const int64_t passed_us = live->steady_us - last->steady_us;
    if (job->stage != ADL_STAGE_RUNNING || (!first && passed_us < LEAST_US))
        return;
    if (first)
        *last = (struct adl_job_progress){.attempt = job->attempts};
    last->steps = request->steps > 0 ? request->steps : last->steps;
    last->unit = last->unit > 0 ? last->unit : last->steps;
    if (!first && request->step == last->step)
        return; /* it counts from the last step */
    const double steps_per_s = first ? 0 : ((double)request->step - (double)last->step) / (double)passed_us * 1e6;
    find_note(last, request->step, steps_per_s, last->note, sizeof last->note);
    last->steps_per_s = last->note[0] == '\0' ? steps_per_s : 0;
    last->step = request->step;
    last->time_us = live->now_us;
    last->steady_us = live->steady_us;
    if (last->steps_per_s > 0 && last->steps >= last->step && is_comparable(live, job)) {
        post(live, job, last);
        last->posted = true;
    }
}
