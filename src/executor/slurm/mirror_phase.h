/* mirror_phase: the state machine of a job in the mirror: how far the service has got with it. Where the job stands in
 * Slurm is another matter (enum adl_slurm_state); executor_slurm_reconcile.c decides from both. */
#ifndef ADLRO_EXECUTOR_SLURM_MIRROR_PHASE_H
#define ADLRO_EXECUTOR_SLURM_MIRROR_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adl_mirror_phase {
    ADL_MIRROR_NEW,      /* the service does not know it */
    ADL_MIRROR_REPORTED, /* its arrival was reported, and the service has not given it a number */
    ADL_MIRROR_QUEUED,   /* the service has it in its queue */
    ADL_MIRROR_PLACING,  /* the adapter has the order to place it, and has not answered */
    ADL_MIRROR_PLACED,   /* Slurm knows where to run it, and has not begun it */
    ADL_MIRROR_RUNNING,  /* the service has it running */
    ADL_MIRROR_OVER,     /* its end was reported, and the service has not forgotten it */
    ADL_MIRROR_DROPPED,  /* the service cancelled it before it ran, and Slurm has not yet */
    ADL_MIRROR_PHASE_COUNT,
};

enum adl_mirror_event {
    ADL_MIRROR_ON_REPORT,    /* its arrival is reported */
    ADL_MIRROR_ON_INTRODUCE, /* the service gives it a number */
    ADL_MIRROR_ON_PLACE,     /* the service starts it: the order goes to the adapter */
    ADL_MIRROR_ON_ANSWER,    /* the adapter has answered, or has ended: the next message about it decides */
    ADL_MIRROR_ON_AWAIT,     /* after a restart: it was placed before, and has not begun */
    ADL_MIRROR_ON_RUN,       /* it is reported as running */
    ADL_MIRROR_ON_REQUEUE,   /* it is reported as back in the queue */
    ADL_MIRROR_ON_END,       /* its end is reported */
    ADL_MIRROR_ON_DROP,      /* a user of the service cancels it while it waits */
    ADL_MIRROR_ON_FORGET,    /* the service has its end in the store */
    ADL_MIRROR_EVENT_COUNT,
};

/* Masks of phases. */
#define ADL_MIRROR_IN(phase)    (1u << ADL_MIRROR_##phase)
#define ADL_MIRROR_WITH_SLURM   (ADL_MIRROR_IN(PLACING) | ADL_MIRROR_IN(PLACED)) /* which may begin it any time */
#define ADL_MIRROR_WITH_SERVICE (ADL_MIRROR_IN(QUEUED) | ADL_MIRROR_WITH_SLURM | ADL_MIRROR_IN(RUNNING))

/* One row of the transition table. */
struct adl_mirror_move {
    uint8_t event; /* enum adl_mirror_event */
    uint16_t from; /* mask of phases */
    uint8_t to;    /* enum adl_mirror_phase */
};

extern const struct adl_mirror_move adl_mirror_moves[];
extern const size_t adl_mirror_move_count;

/* The transition function. An event that no row names for the phase changes nothing. */
uint8_t adl_mirror_next(uint8_t phase, int event);

#endif
