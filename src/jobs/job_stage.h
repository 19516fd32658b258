/* job stage: the state machine of a live job. One table says which stages a job of the service has and one which event
 * moves it from which stage to which, and what that move does to the job. The transition function is pure; actions are
 * idempotent. docs/service.md shows both tables.
 *
 * The letters that users know (PD, R, CD ...) are the job's *state*; a stage is finer. */
#ifndef ADLRO_JOBS_JOB_STAGE_H
#define ADLRO_JOBS_JOB_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adl_stage {
    ADL_STAGE_NEW,
    ADL_STAGE_HELD,
    ADL_STAGE_AWAITS_JOBS,
    ADL_STAGE_AWAITS_TIME,
    ADL_STAGE_AWAITS_ARRAY,
    ADL_STAGE_QUEUED,
    ADL_STAGE_CLUSTER_STARTED,
    ADL_STAGE_PLACED,
    ADL_STAGE_RUNNING,
    ADL_STAGE_CANCELLING,
    ADL_STAGE_REQUEUEING,
    ADL_STAGE_ENDED,
    ADL_STAGE_COUNT,
};

enum adl_stage_event {
    /* conditions of a job that waits */
    ADL_ON_HOLD,
    ADL_ON_AWAIT_JOBS,
    ADL_ON_AWAIT_TIME,
    ADL_ON_AWAIT_ARRAY,
    ADL_ON_ENQUEUE,
    /* decisions of the policy */
    ADL_ON_PLACE,
    ADL_ON_START,
    ADL_ON_UNDO,
    ADL_ON_PREEMPT,
    /* requests of users; a hold is ADL_ON_HOLD */
    ADL_ON_CANCEL,
    ADL_ON_REQUEUE,
    /* reports of the executor */
    ADL_ON_START_PENDING,
    ADL_ON_STARTED,
    ADL_ON_CLUSTER_STARTED,
    ADL_ON_EVICTED,
    ADL_ON_ENDED,
    /* an engine takes over jobs that run; restarts */
    ADL_ON_TAKE_OVER,
    ADL_ON_RECOVER,
    ADL_ON_LOSE,
    ADL_ON_COUNT,
};

/* What a move does beside changing the stage, as a mask. The first two need the engine: the service does them. */
enum adl_stage_action {
    ADL_DO_LEAVE_QUEUE = 1 << 0,
    ADL_DO_JOIN_QUEUE = 1 << 1,
    ADL_DO_OPEN_RUN = 1 << 2,
    ADL_DO_TIME_RUN = 1 << 3,
    ADL_DO_CLOSE_RUN = 1 << 4,
    ADL_DO_UNDO_RUN = 1 << 5,
    ADL_DO_FREE_GPUS = 1 << 6,
    ADL_DO_COUNT = 7,
};

/* What the executor is to do with a job of a stage, once the stage is in the store. */
enum adl_stage_order { ADL_ORDER_NONE, ADL_ORDER_START, ADL_ORDER_STOP, ADL_ORDER_STOP_AND_REQUEUE };

struct adl_stage_info {
    const char *name;    /* of the stage itself */
    const char *shown;   /* to clients, as "stage" */
    const char *meaning; /* for docs/service.md */
    bool in_queue;       /* it counts against the limit of its array */
    bool holds_gpus;
    bool runs;     /* it has begun, as far as is known: R to clients, else PD */
    uint8_t order; /* enum adl_stage_order */
};

struct adl_stage_event_info {
    const char *name;
    const char *meaning;
};

/* One row of the transition table. */
struct adl_stage_move {
    uint8_t event; /* enum adl_stage_event */
    uint16_t from; /* mask of 1 << enum adl_stage */
    uint8_t to;    /* enum adl_stage; ADL_STAGE_COUNT: it stays where it is */
    uint8_t actions;
};

extern const struct adl_stage_info adl_stages[ADL_STAGE_COUNT];
extern const struct adl_stage_event_info adl_stage_events[ADL_ON_COUNT];
extern const char *const adl_stage_actions[ADL_DO_COUNT]; /* what 1 << [bit] does */
extern const struct adl_stage_move adl_stage_moves[];
extern const size_t adl_stage_move_count;

/* The transition function: the row that says what the event does to a job of this stage; NULL if it is impossible. */
const struct adl_stage_move *adl_stage_move(int stage, int event);
/* The stage after the event; -1 if it is impossible. */
int adl_stage_next(int stage, int event);
/* Why it is impossible, to be put after "job 7 ". */
const char *adl_stage_refusal(int stage, int event);

#endif
