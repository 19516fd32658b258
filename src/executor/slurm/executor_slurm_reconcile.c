#include "executor/slurm/executor_slurm_internal.h"

#include <stdio.h>
#include <string.h>

#define STUCK_US   INT64_C(60000000)  /* a job that was placed and does not start is taken back */
#define CROWDED_US INT64_C(2000000)   /* the same, if Slurm says that its nodes have no room */
#define FAILED_US  INT64_C(5000000)   /* before a job that could not be placed is placed again */
#define ASK_US     INT64_C(3000000)   /* before an order without effect is sent again */
#define FULL_US    INT64_C(600000000) /* if a job's nodes stay full so long Slurm gets it, which can reserve them */
#define LEFT_US    INT64_C(2000000)   /* before a job that ran is placed again: its node may still be cleaned up */

void adl_executor_slurm_ask(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *op,
                            const char *comment)
{
    if (executor->config.mode != ADL_SLURM_ACT || (job->asked_us > 0 && executor->now_us < job->asked_us + ASK_US))
        return;
    job->asked_us = executor->now_us;
    adl_executor_slurm_send(executor, op, job, comment);
}

void adl_executor_slurm_post_ended_as(struct adl_executor_slurm *executor, struct adl_mirror_job *job, int end,
                                      const char *why)
{
    job->end = end;
    snprintf(job->why, sizeof job->why, "%s", why);
    adl_executor_slurm_post_ended(executor, job);
}

void adl_executor_slurm_give_back(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why)
{
    char comment[200];
    snprintf(comment, sizeof comment, "adlro: Slurm decides: %s", why);
    adl_executor_slurm_ask(executor, job, "giveback", comment);
}

static bool has_just_left(const struct adl_executor_slurm *executor, const struct adl_mirror_job *job)
{
    return job->left_us > 0 && executor->now_us < job->left_us + LEFT_US;
}

/* Why it may not start now; "": it may. */
static const char *find_obstacle(const struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (has_just_left(executor, job))
        return "its last run has only just ended";
    if (job->eligibility != ADL_SLURM_ELIGIBLE) {
        job->refusals = 0; /* their reason is known now */
        job->failed_us = 0;
        return job->why[0] ? job->why : "Slurm would not start it";
    }
    if (job->failed_us > 0 && executor->now_us < job->failed_us + FAILED_US)
        return job->reported_why[0] ? job->reported_why : "Slurm would not place it"; /* as it was reported */
    job->nodes_full = job->nodes_full && !adl_slurm_mirror_has_room(&executor->mirror, job, executor->down);
    return job->nodes_full ? ADL_SLURM_NODES_FULL : "";
}

static bool acts(const struct adl_executor_slurm *executor)
{
    return executor->config.mode == ADL_SLURM_ACT;
}

/* ---- jobs that the service does not know ---- */

static void receive_waiting(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    const bool beyond = job->eligibility == ADL_SLURM_BEYOND;
    if (acts(executor) && !job->ours)
        return;
    if (acts(executor) && (beyond || job->unfit[0] != '\0')) { /* or it would wait for ever */
        adl_executor_slurm_give_back(executor, job, beyond ? job->why : job->unfit);
    } else if (acts(executor) && job->state == ADL_SLURM_RELEASED) { /* it had ended, and was requeued */
        job->left_us = executor->now_us;
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it is to be placed again");
    } else {
        adl_executor_slurm_post_arrived(executor, job, find_obstacle(executor, job));
    }
}

static void receive_running(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (job->ours || !acts(executor))
        adl_executor_slurm_post_arrived(executor, job, "");
}

/* ---- jobs that wait in Slurm ---- */

/* True: Slurm's own scheduler has the job now. */
static bool is_given_back(struct adl_executor_slurm *executor, struct adl_mirror_job *job, const char *why)
{
    const bool given = acts(executor) && !job->ours;
    if (given)
        adl_executor_slurm_post_ended_as(executor, job, ADL_END_CANCELLED, why);
    return given;
}

/* How long a job that was placed may take to start. A crowded one does not wait long: another job has taken its nodes,
 * and others may be free. */
static int64_t patience_us(const struct adl_mirror_job *job)
{
    return job->eligibility == ADL_SLURM_CROWDED   ? CROWDED_US
           : job->eligibility == ADL_SLURM_REFUSED ? FAILED_US
                                                   : STUCK_US;
}

/* Orders about a pending job that are still to be sent, or sent again. */
static void ask_of_waiting(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    const bool placed = adl_mirror_job_in(job, ADL_MIRROR_WITH_SLURM), released = job->state == ADL_SLURM_RELEASED;
    if (job->stopping == ADL_ORDER_STOP)
        adl_executor_slurm_ask(executor, job, "cancel", "");
    else if (placed && released && executor->now_us > job->placed_us + patience_us(job))
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it did not begin where it was placed");
    else if (!placed && released && acts(executor))
        adl_executor_slurm_ask(executor, job, "hold", "adlro: it is to be placed again");
    else if (job->nodes_full && executor->now_us > job->full_us + FULL_US)
        adl_executor_slurm_give_back(executor, job, ADL_SLURM_NODES_FULL);
}

#define GIVEN_BACK "given back to Slurm, whose own scheduler starts it"

static void wait_queued(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (is_given_back(executor, job, GIVEN_BACK))
        return;
    if (job->changed && job->stopping == ADL_ORDER_NONE) {
        adl_executor_slurm_post_ended_as(executor, job, ADL_END_CANCELLED,
                                         "what it asks for was changed: it is queued again");
        return;
    }
    ask_of_waiting(executor, job);
    adl_executor_slurm_post_eligibility(executor, job, find_obstacle(executor, job));
}

static void wait_placing(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (!is_given_back(executor, job, GIVEN_BACK))
        ask_of_waiting(executor, job);
}

static void wait_placed(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (is_given_back(executor, job, GIVEN_BACK))
        return;
    ask_of_waiting(executor, job);
    if (job->state == ADL_SLURM_RELEASED)
        return;
    /* Eligibility first: the policy may start the job as soon as it is back in the service's queue. */
    adl_executor_slurm_post_eligibility(executor, job, find_obstacle(executor, job));
    adl_executor_slurm_post_requeued(
        executor, job, job->asked_us > 0 ? "it did not begin where it was placed" : "it is held in Slurm's queue");
}

static void wait_after_run(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (is_given_back(executor, job, GIVEN_BACK))
        return;
    ask_of_waiting(executor, job);
    job->left_us = executor->now_us;
    adl_executor_slurm_post_eligibility(executor, job, find_obstacle(executor, job)); /* first, as above */
    adl_executor_slurm_post_requeued(executor, job, "it ran, and is back in Slurm's queue");
}

/* ---- jobs that run in Slurm ---- */

static void note_run(struct adl_mirror_job *job)
{
    job->refusals = 0;
    job->full_us = 0;
}

static void run_running(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    note_run(job);
    if (job->stopping != ADL_ORDER_NONE)
        adl_executor_slurm_ask(executor, job, job->stopping == ADL_ORDER_STOP ? "cancel" : "requeue", "");
}

static void run_queued(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    note_run(job);
    if (is_given_back(executor, job, "given back to Slurm, whose own scheduler has started it"))
        return;
    adl_executor_slurm_post_found_running(executor, job);
    run_running(executor, job);
}

static void run_placed(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    adl_mirror_job_apply(job, ADL_MIRROR_ON_RUN);
    job->began_us = executor->now_us;
    adl_executor_slurm_post_job(executor, job, ADL_REPORT_STARTED);
    run_running(executor, job);
}

/* ---- jobs that have left Slurm ---- */

static void end_unseen(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    adl_executor_slurm_post_ended_as(executor, job,
                                     job->phase == ADL_MIRROR_RUNNING ? ADL_END_FAILED : ADL_END_CANCELLED,
                                     "Slurm does not know it any more: how it ended was not seen");
}

static void cancel_dropped(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    adl_executor_slurm_ask(executor, job, "cancel", "");
}

/* ---- all of them ---- */

#define IN        ADL_MIRROR_IN
#define OF(state) (1u << ADL_SLURM_##state)
#define WAITS     (OF(PENDING) | OF(RELEASED))

/* What the executor does with a job in this phase and state; if no row matches, nothing. */
static const struct {
    uint16_t phases; /* mask of enum adl_mirror_phase */
    uint8_t states;  /* mask of enum adl_slurm_state */
    void (*act)(struct adl_executor_slurm *executor, struct adl_mirror_job *job);
} rules[] = {
    {IN(NEW), WAITS, receive_waiting},
    {IN(NEW), OF(RUNS), receive_running},
    {IN(NEW), OF(ENDED), adl_executor_slurm_remove},
    {IN(QUEUED), WAITS, wait_queued},
    {IN(QUEUED), OF(RUNS), run_queued},
    {IN(PLACING), WAITS, wait_placing},
    {IN(PLACED), WAITS, wait_placed},
    {IN(PLACING) | IN(PLACED), OF(RUNS), run_placed},
    {IN(RUNNING), WAITS, wait_after_run},
    {IN(RUNNING), OF(RUNS), run_running},
    {ADL_MIRROR_WITH_SERVICE, OF(ENDED), adl_executor_slurm_post_ended},
    {ADL_MIRROR_WITH_SERVICE, OF(ABSENT), end_unseen},
    {IN(DROPPED), WAITS | OF(RUNS), cancel_dropped},
    {IN(DROPPED), OF(ENDED) | OF(ABSENT), adl_executor_slurm_remove},
};

void adl_executor_slurm_reconcile(struct adl_executor_slurm *executor, struct adl_mirror_job *job)
{
    if (job->state == ADL_SLURM_ABSENT && !executor->synced)
        return; /* the adapter may not have named it yet */
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (adl_mirror_job_in(job, rules[i].phases) && rules[i].states >> job->state & 1) {
            rules[i].act(executor, job);
            return;
        }
}

void adl_executor_slurm_reconcile_all(struct adl_executor_slurm *executor)
{
    executor->dirty = false;
    for (uint32_t i = executor->mirror.job_count; executor->synced && i-- > 0;)
        adl_executor_slurm_reconcile(executor, executor->mirror.jobs[i]);
}
