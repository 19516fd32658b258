/* due: waiting jobs that FCFS would have started by now, so that others cannot pass them without end.
 *
 * Work is predicted run time * GPUs. In order of submission a job would start when the work that was started reaches
 * the work that was submitted before it. It is due when the work started is above that by slack * all GPUs *
 * (typical run time + its own). This counts work, not time: it holds in an overload, too, where every job waits long.
 *
 * slack = 1 / tail - tail: with tail 0 no job is ever due, with 1 a job is due when FCFS would have started it, and
 * with more before that. The first due jobs in order of submission go first, as many as fill tail^2 / 50 of the GPUs,
 * and the first of all holds a reservation: no start may delay it. docs/flagship.md has what that guarantees. */
#ifndef ADLRO_POLICY_ADLRO_DUE_H
#define ADLRO_POLICY_ADLRO_DUE_H

#include "state/state.h"

#define ADL_DUE_MAX 64

struct adl_due {
    double tail;
    double submitted_us; /* work of all jobs so far, GPU-us */
    double started_us;   /* work of those that had started, and the usual run time, when due jobs were last listed */
    double typical_us;
    struct adl_due_job {
        double before_us; /* work submitted before it */
        double work_us;
    } * jobs; /* [slot] */
    size_t capacity;
    uint32_t slots[ADL_DUE_MAX];  /* those that go first, in order of submission */
    double late_us[ADL_DUE_MAX];  /* [those] work started beyond its turn ... */
    double slack_us[ADL_DUE_MAX]; /* ... and what is allowed */
    uint32_t count;
};

void adl_due_clear(struct adl_due *due);                          /* frees */
int adl_due_copy(struct adl_due *to, const struct adl_due *from); /* 0 or ADL_ENOMEM */

/* A job joins the queue; rest_us: its predicted run time. 0 or ADL_ENOMEM. */
int adl_due_join(struct adl_due *due, const struct adl_state *state, uint32_t slot, double rest_us);

/* Lists the due jobs that go first. typical_us: the usual run time; 0 = not known, then none is due. */
void adl_due_list(struct adl_due *due, const struct adl_state *state, double typical_us);

/* True if a running job would be due if it waited: it is not stopped. */
bool adl_due_holds(const struct adl_due *due, const struct adl_state *state, uint32_t slot);

#endif
