#include "executor/slurm/executor_slurm_internal.h"

#include <stdio.h>
#include <string.h>

#define STUCK_US   INT64_C(60000000) /* a job that was placed and does not begin is taken back */
#define CROWDED_US INT64_C(2000000)  /* the same, where Slurm has looked and found no room on its nodes */
#define FAILED_US  INT64_C(5000000)  /* before a job that could not be placed is tried again */
#define ASK_US     INT64_C(3000000)  /* before what was asked for, and did not happen, is asked for again */
#define CRAMPED_US                                                                                                     \
    INT64_C(600000000)           /* a job whose few nodes stay full so long is Slurm's, which can keep them free       \
                                  */
#define LEFT_US INT64_C(2000000) /* before a job that ran is placed again: its node may still be cleaned up */

/* Asks for what was asked for before, unless that was only just now. */
void adl_executor_slurm_ask(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *op,
                            const char *words)
{
    if (executor->config.mode != ADL_SLURM_ACT || (job->asked_us > 0 && executor->now_us < job->asked_us + ASK_US))
        return;
    job->asked_us = executor->now_us;
    adl_executor_slurm_say(executor, op, job, words);
}

void adl_executor_slurm_end_as(struct adl_executor_slurm *executor, struct adl_slurm_job *job, int end, const char *why)
{
    job->end = end;
    snprintf(job->why, sizeof job->why, "%s", why);
    adl_executor_slurm_post_end(executor, job);
}

void adl_executor_slurm_give_back(struct adl_executor_slurm *executor, struct adl_slurm_job *job, const char *why)
{
    char words[200];
    snprintf(words, sizeof words, "adlro: Slurm decides: %s", why);
    adl_executor_slurm_ask(executor, job, "giveback", words);
}

static bool has_just_left(const struct adl_executor_slurm *executor, const struct adl_slurm_job *job)
{
    return job->left_us > 0 && executor->now_us < job->left_us + LEFT_US;
}

/* Why it may not start now; "": it may. */
static const char *find_hindrance(const struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    if (has_just_left(executor, job))
        return "its last run has only just ended";
    if (!job->eligible) {
        job->refusals = 0; /* if there were any, it is known why */
        job->failed_us = 0;
        return job->why[0] ? job->why : "Slurm would not start it";
    }
    if (job->failed_us > 0 && executor->now_us < job->failed_us + FAILED_US)
        return job->bar[0] ? job->bar : "Slurm would not place it"; /* as it was told */
    job->cramped = job->cramped && !adl_slurm_mirror_has_room(&executor->mirror, job, executor->down);
    return job->cramped ? ADL_SLURM_CRAMPED : "";
}

/* One that the service does not know. */
static void receive(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    const bool act = executor->config.mode == ADL_SLURM_ACT, pending = job->state == ADL_SLURM_PENDING;
    if (job->state == ADL_SLURM_ENDED) {
        adl_executor_slurm_remove(executor, job);
    } else if (act && job->ours && pending && (job->unfit[0] != '\0' || job->beyond)) {
        /* Nobody waits for ever because of us. */
        adl_executor_slurm_give_back(executor, job, job->beyond ? job->why : job->unfit);
    } else if (act && job->ours && pending && job->released) { /* it had ended, and was requeued */
        job->left_us = executor->now_us;
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it is to be placed again");
    } else if ((job->ours || !act) && job->state != ADL_SLURM_ABSENT) {
        adl_executor_slurm_post_arrival(executor, job, pending ? find_hindrance(executor, job) : "");
    }
}

/* How long a job that was placed may take to begin. Slurm has said of one that is crowded that its nodes have no room:
 * somebody else was there first, and another node may be free. */
static int64_t patience_us(const struct adl_slurm_job *job)
{
    return job->crowded ? CROWDED_US : job->refused ? FAILED_US : STUCK_US;
}

static void settle_pending(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    const bool act = executor->config.mode == ADL_SLURM_ACT;
    if (act && !job->ours) {
        adl_executor_slurm_end_as(executor, job, ADL_END_CANCELLED,
                                  "given back to Slurm, whose own scheduler starts it");
        return;
    }
    if (job->changed && !job->placed && !job->seated && job->stopping == ADL_STOP_NONE) {
        adl_executor_slurm_end_as(executor, job, ADL_END_CANCELLED, "what it asks for was changed: it is queued anew");
        return;
    }
    if (job->stopping == ADL_STOP_CANCEL)
        adl_executor_slurm_ask(executor, job, "cancel", "");
    else if (job->placed && job->released && executor->now_us > job->placed_us + patience_us(job))
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it did not begin where it was placed");
    else if (!job->placed && job->released && act)
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it is to be placed again");
    else if (job->cramped && executor->now_us > job->cramped_us + CRAMPED_US)
        adl_executor_slurm_give_back(executor, job, ADL_SLURM_CRAMPED);
    if (job->seated)
        job->left_us = executor->now_us;
    const bool back = job->seated || (job->placed && job->answered && !job->released);
    if (back || !job->placed) /* before it is back in the queue: it would be started there at once */
        adl_executor_slurm_post_bar(executor, job, find_hindrance(executor, job));
    if (back)
        adl_executor_slurm_post_evict(executor, job,
                                      job->seated         ? "it ran, and is back in Slurm's queue"
                                      : job->asked_us > 0 ? "it did not begin where it was placed"
                                                          : "it is held in Slurm's queue");
}

static void settle_running(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    job->refusals = 0;
    job->cramped_us = 0;
    if (job->placed) {
        job->placed = false;
        job->seated = true;
        job->began_us = executor->now_us;
        adl_executor_slurm_post_job(executor, job, ADL_REPORT_STARTED);
    } else if (!job->seated && executor->config.mode == ADL_SLURM_ACT && !job->ours) {
        adl_executor_slurm_end_as(executor, job, ADL_END_CANCELLED,
                                  "given back to Slurm, whose own scheduler has started it");
        return;
    } else if (!job->seated) {
        adl_executor_slurm_post_seizure(executor, job);
    }
    if (job->stopping != ADL_STOP_NONE)
        adl_executor_slurm_ask(executor, job, job->stopping == ADL_STOP_CANCEL ? "cancel" : "requeue", "");
}

/* May remove the job. */
void adl_executor_slurm_settle(struct adl_executor_slurm *executor, struct adl_slurm_job *job)
{
    const bool gone = job->state == ADL_SLURM_ABSENT && executor->synced;
    if (job->dropped && (job->state == ADL_SLURM_ENDED || gone))
        adl_executor_slurm_remove(executor, job);
    else if (job->dropped)
        adl_executor_slurm_ask(executor, job, "cancel", "");
    else if (!job->arrived)
        receive(executor, job);
    else if (job->number == 0 || job->told)
        return; /* it is on its way to the service, or was told to have ended */
    else if (job->state == ADL_SLURM_ENDED)
        adl_executor_slurm_post_end(executor, job);
    else if (gone)
        adl_executor_slurm_end_as(executor, job, job->seated ? ADL_END_FAILED : ADL_END_CANCELLED,
                                  "Slurm does not know it any more: how it ended was not seen");
    else if (job->state == ADL_SLURM_PENDING)
        settle_pending(executor, job);
    else if (job->state == ADL_SLURM_RUNS)
        settle_running(executor, job);
}

void adl_executor_slurm_settle_all(struct adl_executor_slurm *executor)
{
    executor->restless = false;
    for (uint32_t i = executor->mirror.job_count; executor->synced && i-- > 0;)
        adl_executor_slurm_settle(executor, executor->mirror.jobs[i]);
}
