/* live_requeue: jobs that have ended and go back into the queue, under the same number. Their events stay, attempts and
 * energy continue to count, and jobs that depended on their end do not wait again. */
#include "service/live/live_internal.h"

#include <string.h>

/* The part of a stored job that decides whether it may be requeued. */
struct ended {
    struct adl_store_status status; /* without its strings */
    uint32_t uid;
    int64_t external;
    uint64_t bytes;
    char label[ADL_LABEL_SIZE];
};

static int see_ended(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    struct ended *ended = context;
    (void)err;
    *ended = (struct ended){.status = row->status,
                            .uid = row->uid,
                            .external = row->external,
                            .bytes = adl_store_payload_size(row) + ADL_STORE_JOB_SIZE};
    ended->status.reason = ended->status.boot = "";
    ended->status.gpus = NULL;
    adl_label_of_stored(row, ended->label);
    return 0;
}

static int check(struct adl_live *live, struct adl_request *request, const struct ended *job)
{
    if (!request->caller.admin && job->uid != request->caller.account.uid)
        return adl_fail(&request->err, ADL_EDENIED, "job %s is another user's", job->label);
    if (job->status.state < ADL_STORE_ENDED)
        return adl_fail(&request->err, ADL_EREFUSED, "job %s is in the queue already", job->label);
    if (job->external > 0 || live->config.no_submission)
        return adl_fail(&request->err, ADL_EREFUSED,
                        "job %s came from the cluster underneath: requeue it there (scontrol requeue)", job->label);
    const int status = adl_live_user_check(live, job->uid, &request->err);
    return status ? status : adl_live_quota_claim(live, job->uid, 1, job->bytes, false, &request->err);
}

int adl_live_rerun_prepare(struct adl_live *live, struct adl_request *request)
{
    struct ended job = {.uid = 0};
    if (adl_store_job_read(live->config.store, request->job, see_ended, &job, &request->err) != 1)
        return adl_live_refuse_absent(live, request);
    int status = check(live, request, &job);
    if (status)
        return status;
    if (live->disk_full)
        return adl_fail(&request->err, ADL_EFULL, ADL_LIVE_DISK_FULL);
    job.status.requeue_us = live->now_us;
    job.status.requeue_end = (uint8_t)(job.status.state - ADL_STORE_ENDED);
    job.status.state = ADL_STORE_PENDING;
    job.status.start_us = job.status.end_us = job.status.pid = 0;
    job.status.exit_code = job.status.signal = 0;
    job.status.pid_ticks = 0;
    live->rerun_group = live->group;
    status = adl_store_job_update(live->config.store, request->job, &job.status, &request->err);
    return status ? status : adl_live_log_request(live, request, "requeue", &request->err);
}

static int admit(void *context, const struct adl_store_job *row, struct adl_error *err)
{
    return adl_live_admit(context, row, err) ? 0 : ADL_ENOMEM;
}

void adl_live_rerun_apply(struct adl_live *live, const struct adl_request *request)
{
    struct adl_error err;
    if (adl_store_job_read(live->config.store, request->job, admit, live, &err) != 1)
        return; /* out of memory; it is in the store, and a restart finds it */
    struct adl_job_entry *job = adl_job_table_find(&live->shared->job_table, request->job);
    adl_live_place(live, job);
    live->shared->counts.requeued++;
    adl_live_publish_job(live, job, NULL);
}
