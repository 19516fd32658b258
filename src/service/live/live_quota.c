/* live_quota: how much of the state one user may use: live jobs by number and by bytes. Ended jobs count too, but never
 * cause a refusal: the oldest of them are deleted early when their user needs the room. */
#include "service/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

/* The claims of submissions of this group, which the job table does not have yet. NULL: out of memory. */
static struct adl_job_table_user *claim_of(struct adl_live *live, uint32_t uid)
{
    if (live->claim_group != live->group)
        live->claim_count = 0;
    live->claim_group = live->group;
    for (uint32_t i = 0; i < live->claim_count; i++)
        if (live->claims[i].uid == uid)
            return &live->claims[i];
    if (adl_grow((void **)&live->claims, &live->claim_capacity, (size_t)live->claim_count + 1, sizeof *live->claims))
        return NULL;
    live->claims[live->claim_count] = (struct adl_job_table_user){.uid = uid};
    return &live->claims[live->claim_count++];
}

static uint64_t claimed_jobs(const struct adl_live *live)
{
    uint64_t jobs = 0;
    for (uint32_t i = 0; i < live->claim_count; i++)
        jobs += live->claims[i].jobs;
    return jobs;
}

static int check_array(const struct adl_request *request, uint64_t jobs, uint64_t size, struct adl_error *err)
{
    if (!request->submission->array || size == 0 || jobs <= ADL_ARRAY_BYTES_MAX / size)
        return 0;
    return adl_fail(err, ADL_EINVAL,
                    "array: %llu jobs of %.1f MiB come to %.0f MiB, and at most %.0f are possible; keep large data in "
                    "files that the jobs read",
                    (unsigned long long)jobs, (double)size / MIB, (double)jobs * (double)size / MIB,
                    (double)ADL_ARRAY_BYTES_MAX / MIB);
}

static int check_user(const struct adl_live *live, const struct adl_job_table_user *has,
                      const struct adl_job_table_user *adds, struct adl_error *err)
{
    if ((uint64_t)has->jobs + adds->jobs > live->config.jobs_per_user)
        return adl_fail(err, ADL_EREFUSED,
                        "uid %u has %u jobs that wait or run, this submission has %u, and at most %u are allowed "
                        "(jobs.max_per_user in the service's configuration)",
                        has->uid, has->jobs, adds->jobs, live->config.jobs_per_user);
    if (has->bytes + adds->bytes > live->config.bytes_per_user)
        return adl_fail(err, ADL_EREFUSED,
                        "the jobs of uid %u that wait or run take %.1f MiB of the state, this submission takes %.1f, "
                        "and at most %.0f MiB are allowed (jobs.mib_per_user in the service's configuration)",
                        has->uid, (double)has->bytes / MIB, (double)adds->bytes / MIB,
                        (double)live->config.bytes_per_user / MIB);
    return 0;
}

int adl_live_quota_claim(struct adl_live *live, uint32_t uid, uint32_t jobs, uint64_t bytes, bool dry_run,
                         struct adl_error *err)
{
    const struct adl_job_table *job_table = &live->shared->job_table;
    const struct adl_job_table_user adds = {uid, jobs, bytes};
    struct adl_job_table_user *claim = claim_of(live, uid), has = adl_job_table_user(job_table, uid);
    if (!claim)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a submission");
    has.jobs += claim->jobs;
    has.bytes += claim->bytes;
    if (job_table->count + claimed_jobs(live) + jobs > live->config.jobs_max)
        return adl_fail(err, ADL_EREFUSED,
                        "%u jobs wait or run here, this submission has %u, and at most %u are allowed (jobs.max in the "
                        "service's configuration)",
                        job_table->count, jobs, live->config.jobs_max);
    const int status = check_user(live, &has, &adds, err);
    if (status == 0 && !dry_run) {
        claim->jobs += adds.jobs;
        claim->bytes += adds.bytes;
    }
    return status;
}

int adl_live_quota_check(struct adl_live *live, const struct adl_request *request, struct adl_error *err)
{
    const struct adl_submission *submission = request->submission;
    const uint32_t jobs = submission->array ? submission->array_count : 1;
    const uint64_t size = adl_store_payload_size(&submission->job);
    const int status = check_array(request, jobs, size, err);
    return status ? status
                  : adl_live_quota_claim(live, submission->job.uid, jobs, size + (uint64_t)jobs * ADL_STORE_JOB_SIZE,
                                         request->dry_run, err);
}

int adl_live_quota_room(struct adl_live *live, uint32_t uid, struct adl_error *err)
{
    int64_t used = 0;
    int status = adl_store_usage(live->config.store, uid, &used, err);
    if (status == 0 && used > 0 && (uint64_t)used > live->config.bytes_per_user)
        status = adl_store_purge_user(live->config.store, uid, ADL_STORE_PURGE_MAX, err);
    return status < 0 ? status : 0;
}
