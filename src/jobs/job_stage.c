#include "jobs/job_stage.h"

const struct adl_stage_info adl_stages[ADL_STAGE_COUNT] = {
    [ADL_STAGE_NEW] = {"new", "held", .meaning = "it was submitted or read from the store a moment ago"},
    [ADL_STAGE_HELD] = {"held", "held",
                        .meaning = "a user, an administrator or the cluster underneath keeps it from starting"},
    [ADL_STAGE_AWAITS_JOBS] = {"awaits jobs", "dependent",
                               .meaning = "it waits until other jobs have ended or started"},
    [ADL_STAGE_AWAITS_TIME] = {"awaits time", "dependent", .meaning = "it waits for its begin time"},
    [ADL_STAGE_AWAITS_ARRAY] = {"awaits array", "dependent",
                                .meaning = "it waits until fewer jobs of its array are queued or run"},
    [ADL_STAGE_QUEUED] = {"queued", "queued", "the policy sees it", .in_queue = true},
    [ADL_STAGE_CLUSTER_STARTED] = {"cluster started", "queued",
                                   "the cluster started it by itself, and the engine does not know yet",
                                   .in_queue = true},
    [ADL_STAGE_PLACED] = {"placed", "placed", "it holds GPUs, and the cluster underneath has not started it yet", true,
                          true, .order = ADL_ORDER_START},
    [ADL_STAGE_RUNNING] = {"running", "running", "it holds GPUs and runs", true, true, true, ADL_ORDER_START},
    [ADL_STAGE_CANCELLING] = {"cancelling", "stopping", "it was told to end, and holds its GPUs until it has", true,
                              true, true, ADL_ORDER_STOP},
    [ADL_STAGE_REQUEUEING] = {"requeueing", "stopping", "the same, and then it goes back into the queue", true, true,
                              true, ADL_ORDER_STOP_AND_REQUEUE},
    [ADL_STAGE_ENDED] = {"ended", "ended", .meaning = "the store has its end, and it leaves the job table"},
};

#define OF(stage) (1u << ADL_STAGE_##stage)
#define AWAITING  (OF(NEW) | OF(HELD) | OF(AWAITS_JOBS) | OF(AWAITS_TIME) | OF(AWAITS_ARRAY))
#define WAITING   (AWAITING | OF(QUEUED) | OF(CLUSTER_STARTED))
#define ACTIVE    (OF(PLACED) | OF(RUNNING))
#define STOPPING  (OF(CANCELLING) | OF(REQUEUEING))
#define HOLDING   (ACTIVE | STOPPING)
#define STAYS     ADL_STAGE_COUNT

/* A move that no row has is impossible. ENDED is final: a job that is requeued after its end is a new entry of the job
 * table.
 */
const struct adl_stage_move adl_stage_moves[] = {
    {ADL_ON_HOLD, WAITING, ADL_STAGE_HELD, ADL_DO_LEAVE_QUEUE | ADL_DO_CLOSE_RUN | ADL_DO_FREE_GPUS},
    {ADL_ON_AWAIT_JOBS, AWAITING | OF(QUEUED), ADL_STAGE_AWAITS_JOBS, ADL_DO_LEAVE_QUEUE},
    {ADL_ON_AWAIT_TIME, AWAITING | OF(QUEUED), ADL_STAGE_AWAITS_TIME, ADL_DO_LEAVE_QUEUE},
    {ADL_ON_AWAIT_ARRAY, AWAITING, ADL_STAGE_AWAITS_ARRAY, 0},
    {ADL_ON_ENQUEUE, AWAITING | OF(QUEUED), ADL_STAGE_QUEUED, ADL_DO_JOIN_QUEUE},

    {ADL_ON_PLACE, OF(QUEUED), ADL_STAGE_PLACED, ADL_DO_OPEN_RUN},
    {ADL_ON_START, OF(QUEUED), ADL_STAGE_RUNNING, ADL_DO_OPEN_RUN},
    {ADL_ON_UNDO, ACTIVE, ADL_STAGE_QUEUED, ADL_DO_UNDO_RUN | ADL_DO_FREE_GPUS},
    {ADL_ON_PREEMPT, ACTIVE, ADL_STAGE_REQUEUEING, 0},

    {ADL_ON_CANCEL, WAITING, ADL_STAGE_ENDED, ADL_DO_LEAVE_QUEUE},
    {ADL_ON_CANCEL, HOLDING, ADL_STAGE_CANCELLING, 0},
    {ADL_ON_REQUEUE, OF(RUNNING), ADL_STAGE_REQUEUEING, 0},

    {ADL_ON_START_PENDING, OF(RUNNING), ADL_STAGE_PLACED, 0},
    {ADL_ON_START_PENDING, WAITING | OF(PLACED) | STOPPING, STAYS, 0},
    {ADL_ON_STARTED, OF(PLACED), ADL_STAGE_RUNNING, ADL_DO_TIME_RUN},
    {ADL_ON_STARTED, WAITING | OF(RUNNING) | STOPPING, STAYS, 0},
    {ADL_ON_CLUSTER_STARTED, OF(QUEUED) | OF(RUNNING), ADL_STAGE_CLUSTER_STARTED, ADL_DO_FREE_GPUS},
    {ADL_ON_CLUSTER_STARTED, OF(PLACED), ADL_STAGE_CLUSTER_STARTED, ADL_DO_TIME_RUN | ADL_DO_FREE_GPUS},
    {ADL_ON_EVICTED, ACTIVE | OF(REQUEUEING), ADL_STAGE_QUEUED, ADL_DO_CLOSE_RUN | ADL_DO_FREE_GPUS},
    {ADL_ON_EVICTED, OF(CANCELLING), ADL_STAGE_ENDED, 0},
    {ADL_ON_ENDED, WAITING, ADL_STAGE_ENDED, ADL_DO_LEAVE_QUEUE},
    {ADL_ON_ENDED, HOLDING, ADL_STAGE_ENDED, 0},

    {ADL_ON_TAKE_OVER, OF(CLUSTER_STARTED), ADL_STAGE_RUNNING, ADL_DO_OPEN_RUN},
    {ADL_ON_TAKE_OVER, HOLDING, STAYS, 0},
    {ADL_ON_RECOVER, OF(NEW), ADL_STAGE_RUNNING, 0},
    {ADL_ON_LOSE, HOLDING, ADL_STAGE_QUEUED, ADL_DO_CLOSE_RUN | ADL_DO_FREE_GPUS},
};

const size_t adl_stage_move_count = sizeof adl_stage_moves / sizeof *adl_stage_moves;

const struct adl_stage_event_info adl_stage_events[ADL_ON_COUNT] = {
    [ADL_ON_HOLD] = {"hold", "it is held, or the cluster underneath would not start it"},
    [ADL_ON_AWAIT_JOBS] = {"await jobs", "a dependency is not met"},
    [ADL_ON_AWAIT_TIME] = {"await time", "its begin time has not come"},
    [ADL_ON_AWAIT_ARRAY] = {"await array", "as many jobs of its array run as may at once"},
    [ADL_ON_ENQUEUE] = {"enqueue", "nothing keeps it from running"},
    [ADL_ON_PLACE] = {"place", "the policy starts it, and the executor will confirm the start"},
    [ADL_ON_START] = {"start", "the policy starts it, and the executor confirms nothing"},
    [ADL_ON_UNDO] = {"undo", "the start could not be written"},
    [ADL_ON_PREEMPT] = {"preempt", "the policy stops it"},
    [ADL_ON_CANCEL] = {"cancel", "a user, or a dependency that can never be met, cancels it"},
    [ADL_ON_REQUEUE] = {"requeue", "a user requeues it, or its GPUs are not there after a restart"},
    [ADL_ON_START_PENDING] = {"start pending", "the executor reports that the cluster has not started it yet"},
    [ADL_ON_STARTED] = {"started", "the executor reports that the cluster has started it"},
    [ADL_ON_CLUSTER_STARTED] = {"cluster started",
                                "the executor reports that it runs on GPUs that the service did not choose"},
    [ADL_ON_EVICTED] = {"evicted", "the executor reports that it was stopped and is to run again"},
    [ADL_ON_ENDED] = {"ended", "the executor reports that it has ended"},
    [ADL_ON_TAKE_OVER] = {"take over", "the engine takes over a job that runs already"},
    [ADL_ON_RECOVER] = {"recover", "the service started, and the store says that it runs"},
    [ADL_ON_LOSE] = {"lose", "after a restart the executor does not know it"},
};

const char *const adl_stage_actions[ADL_DO_COUNT] = {"leaves the queue",
                                                     "joins the queue",
                                                     "starts an attempt, unless one is open",
                                                     "sets its start time",
                                                     "ends the attempt and adds its run time",
                                                     "takes the attempt back",
                                                     "frees its GPUs"};

const struct adl_stage_move *adl_stage_move(int stage, int event)
{
    for (const struct adl_stage_move *move = adl_stage_moves; move < adl_stage_moves + adl_stage_move_count; move++)
        if (move->event == event && move->from >> stage & 1)
            return move;
    return NULL;
}

int adl_stage_next(int stage, int event)
{
    const struct adl_stage_move *move = adl_stage_move(stage, event);
    if (!move)
        return -1;
    return move->to == STAYS ? stage : move->to;
}

const char *adl_stage_refusal(int stage, int event)
{
    if (stage == ADL_STAGE_ENDED)
        return "has ended";
    if (STOPPING >> stage & 1)
        return event == ADL_ON_HOLD ? "runs: requeue it, then hold it" : "is being stopped";
    switch (event) {
    case ADL_ON_HOLD:
        return "runs: requeue it, then hold it";
    case ADL_ON_REQUEUE:
        return "does not run: it waits already";
    case ADL_ON_PLACE:
    case ADL_ON_START:
        return "is not to be started now";
    default:
        return adl_stages[stage].holds_gpus ? "runs" : "does not run";
    }
}
