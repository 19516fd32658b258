/* live_waits: why jobs had to wait, kept with each of them until the event of its start says it. The policy says why
 * after the first decision that let the job wait. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <string.h>

void adl_live_waits_begin(struct adl_live *live, struct adl_job_entry *job)
{
    if (live->waiting_count < ADL_LIVE_WAITING_MAX) /* of more at once the others do not say why */
        live->waiting[live->waiting_count++] = job->id;
}

/* What it waited for before it was eligible comes first. */
static void explain(struct adl_live *live, struct adl_job_entry *job)
{
    char reason[240], both[500];
    adl_service_state_reason(live->shared, job, reason, sizeof reason);
    snprintf(both, sizeof both, "%.240s; then %s", job->waited ? job->waited : "", reason);
    adl_job_table_set_waited(job, job->waited ? both : reason);
}

void adl_live_waits_explain(struct adl_live *live)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < live->waiting_count; i++) {
        struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, live->waiting[i]);
        if (!job || job->stage != ADL_STAGE_QUEUED)
            continue;
        if (adl_service_state_in_queue(live->shared, job))
            explain(live, job);
        else
            live->waiting[kept++] = job->id; /* its event is on the way to the engine */
    }
    live->waiting_count = kept;
}
